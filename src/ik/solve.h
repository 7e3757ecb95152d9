/* The frame of every iterative method: lanes that finish are filled again at once.
 *
 * Iteration counts have a long tail, so lanes that wait for the slowest of their vector would waste four fifths of the
 * work. Here every lane of a bundle (GROUPS vectors, worked on together to hide the latency of root and division) holds
 * one item, and when that item is done takes the next:
 *
 *   load     a group of items: forward kinematics of the nodes, then the method makes a record of each
 *   take     a record -> a lane of the bundle
 *   iterate  the method's step, on all lanes
 *   put      a lane that is done -> a record of results
 *   finish   a group of results, parents first: the method turns each node, the result is judged by forward kinematics
 *            and stored
 *   again    where uneven scales made bones longer or shorter as joints turned, from the pose that was found
 *
 * A record is a column of numbers an item: first those of the frame (enum record), then the method's own, of which the
 * first `results` are what its finish needs. Lengths in a record are scaled by the power of two that brings the reach
 * near 1, and positions are relative to the first node. A lane never looks at another, so the bits of an item do not
 * depend on its neighbours. */

#if LANES == 1
#define GROUPS 1
#else
#define GROUPS 4
#endif

/* The columns every method has. */
enum record {
    ERROR,      /* the method sets it in begin and in every step; scaled */
    TOLERANCE,  /* at which the item is done; scaled */
    UNSCALE,    /* the length in the world of 1 */
    ITERATIONS, /* so far */
    SAID,       /* status flags; any ends the item */
    OWN,        /* the method's columns start here */
};

/* A group of items in the world, node by node. */
typedef struct {
    vec3 *positions;      /* scale * (position - origin) */
    quat *rotations;      /* the products of the local ones, whatever the scales: what a method turns */
    scaled_joint *scaled; /* NULL where no scales are given */
    vec3 origin;          /* where the first node is that turns */
    real scale;
    real reach; /* of the longest chain; scaled */
    mask given; /* whether the rotations that came in are numbers: a limit makes a rotation of anything */
} pose;

typedef struct {
    int columns; /* of a record, with those of the frame */
    int results; /* of those, how many finish needs */
    int work;    /* columns that only a bundle has, behind those: what a step keeps is not an item's */
} record_size;

/* The columns of one vector of lanes: of a record, or of a bundle, where a column has GROUPS vectors. */
typedef struct {
    real *first;
    int step;
} columns;

ik_inline columns columns_of_record(real *record) { return (columns){record, 1}; }
ik_inline columns columns_of_bundle(real *bundle, int g) { return (columns){bundle + g, GROUPS}; }
ik_inline real *column(columns c, int i) { return c.first + (ptrdiff_t)i * c.step; }
ik_inline vec3 column_vec3(columns c, int i) {
    const real *x = column(c, i);
    return (vec3){x[0], x[c.step], x[2 * c.step]};
}
ik_inline void column_set_vec3(columns c, int i, vec3 a) {
    real *x = column(c, i);
    x[0] = a.x, x[c.step] = a.y, x[2 * c.step] = a.z;
}

ik_inline quat column_quat(columns c, int i) { return (quat){*column(c, i), column_vec3(c, i + 1)}; }
ik_inline void column_set_quat(columns c, int i, quat q) {
    *column(c, i) = q.w;
    column_set_vec3(c, i + 1, q.v);
}

/* Columns are allocated, and moved from lane to lane, so many at a time. */
enum { COLUMNS_AT_ONCE = 4 };

ik_inline int columns_allocated(int count) { return (count + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE * COLUMNS_AT_ONCE; }

typedef struct {
    record_size (*size)(const ik_plan *plan);
    /* From the pose that comes in to records. */
    void (*begin)(const ik_plan *plan, group at, const pose *start, columns record);
    /* One iteration of the first `groups` vectors of a bundle. */
    void (*step)(const ik_plan *plan, real *bundle, int groups);
    /* The local rotation of node k, which turns, by its result; nodes above it are in their places in `world` by then,
     * and `given` is what came in. */
    quat (*turn)(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint given);
} method;

/* A solve under way. */
typedef struct {
    const ik_solve_job *job;
    ik_plan *plan;
    const method *how;
    record_size size;
    int round;            /* 0, and then from the poses that were found */
    int wants;            /* some item gains by another */
    ptrdiff_t next, last; /* items not loaded yet */
    pose world;
    quat *solved; /* local rotations of the group that ends */
    real *ready;  /* records of the group loaded last */
    group loaded;
    integer wanted[LANES]; /* which of those gain, in rounds after the first */
    int taken;             /* of those */
    real *bundle;
    ptrdiff_t item[GROUPS * LANES]; /* in every lane; NONE */
    real *results;
    ptrdiff_t result_item[LANES];
    int result_count;
} solve;

enum { NONE = -1 };

/* ---- forward kinematics of the nodes */

ik_inline vec3 vec3_of(const double v[3]) { return vec3_splat((number)v[0], (number)v[1], (number)v[2]); }

ik_inline quat solve_rest(const ik_plan *plan, int k) {
    const double *rest = plan->job->skeleton->rests + 4 * plan->nodes[k].joint;
    return (quat){real_splat((number)rest[0]), vec3_of(rest + 1)};
}

/* A locked joint where it is at rest, else its rest, on the same side. A NaN stays. */
ik_inline quat solve_locked(const ik_plan *plan, int k, quat given) {
    const real tolerance = real_splat(LIMIT_TOLERANCE);
    quat rest = solve_rest(plan, k);
    rest = quat_negate_if(mask_less(quat_dot(rest, given), real_splat(0)), rest);
    quat off = {rest.w - given.w, vec3_sub(rest.v, given.v)};
    return quat_select(mask_less(tolerance * tolerance, quat_dot(off, off)), rest, given);
}

/* A node relative to its parent, in the pose that comes in; a locked one as its limit has it. */
ik_inline local_joint solve_local(const ik_plan *plan, group at, int k) {
    const ik_solve_job *job = plan->job;
    const ik_node *node = &plan->nodes[k];
    if (node->joint < 0)
        return (local_joint){quat_identity(), vec3_of(job->goals[node->point].offset), vec3_splat(1, 1, 1)};
    const ik_forward_job from = {.skeleton = job->skeleton,
                                 .rotations = job->rotations,
                                 .translations = job->translations,
                                 .scales = job->scales};
    local_joint local = forward_load(&from, at, node->joint);
    if (node->locked) local.rotation = solve_locked(plan, k, local.rotation);
    return local;
}

/* A node's rotation in the world, as it counts. */
ik_inline quat solve_rotation(const pose *world, int k) {
    return world->scaled ? world->scaled[k].joint.rotation : world->rotations[k];
}

/* A direction in the world as the parent of node k has it; of any length. */
ik_inline vec3 solve_direction(const ik_plan *plan, const pose *world, int k, vec3 way) {
    int parent = plan->nodes[k].parent;
    if (parent < 0) return way;
    if (!world->scaled) return quat_rotate(quat_conjugate(world->rotations[parent]), way);
    mat3 columns = mat3_transposed(world->scaled[parent].matrix);
    mat3 inverse = {vec3_cross(columns.y, columns.z), vec3_cross(columns.z, columns.x),
                    vec3_cross(columns.x, columns.y)}; /* times the determinant */
    mask mirrored = mask_less(vec3_dot(columns.x, inverse.x), real_splat(0));
    way = mat3_apply(inverse, way);
    return vec3_select(mirrored, vec3_scale(real_splat(-1), way), way);
}

/* Only where it is. */
ik_inline vec3 solve_offset(const ik_plan *plan, group at, int k) {
    const ik_solve_job *job = plan->job;
    int joint = plan->nodes[k].joint;
    if (joint < 0) return vec3_of(job->goals[plan->nodes[k].point].offset);
    if (!job->translations.rows.data) return vec3_of(job->skeleton->offsets + 3 * (ptrdiff_t)joint);
    return lanes_load_joint_vec3(&job->translations, at, joint);
}

/* Node k in the world, from its local rotation and its parent. */
ik_inline void solve_place(const ik_plan *plan, int k, local_joint local, pose *world) {
    int parent = plan->nodes[k].parent;
    if (world->scaled) {
        quat rotation = local.rotation;
        if (parent >= 0) rotation = quat_polished(quat_multiply(world->rotations[parent], rotation));
        world->scaled[k] = scaled_of_local(parent < 0 ? NULL : &world->scaled[parent], local);
        world->positions[k] = world->scaled[k].joint.position;
        world->rotations[k] = rotation;
    } else {
        world_joint above;
        if (parent >= 0) above = (world_joint){world->rotations[parent], world->positions[parent]};
        world_joint placed = world_of_local(parent < 0 ? NULL : &above, local);
        world->positions[k] = placed.position;
        world->rotations[k] = placed.rotation;
    }
}

/* Asks for node k of the next group: rows of one joint lie far apart, so the processor does not see what comes. */
ik_inline void solve_prefetch(const ik_plan *plan, group at, int k) {
#ifdef __GNUC__
    const ik_lists *lists = &plan->job->rotations;
    if (plan->nodes[k].joint < 0 || !lists->rows.stride) return;
    for (int lane = LANES; lane < 2 * LANES; lane++)
        __builtin_prefetch(lanes_row(&lists->rows, at, lane) + plan->nodes[k].joint * lists->next);
#endif
}

static void solve_pose(const ik_plan *plan, group at, pose *world) {
    for (int k = 0; k < plan->count; k++) {
        solve_prefetch(plan, at, k);
        solve_place(plan, k, solve_local(plan, at, k), world);
    }
}

/* ---- chains */

/* The node from which the chain that ends at node k starts: the highest that turns for it. */
ik_inline int solve_base(const ik_plan *plan, int k) {
    while (plan->nodes[k].moves)
        k = plan->nodes[k].parent;
    return k;
}

ik_inline vec3 solve_bone(const ik_plan *plan, const pose *world, int k) {
    return vec3_sub(world->positions[k], world->positions[plan->nodes[k].parent]);
}

typedef struct {
    real sum, longest;
} chain_reach;

/* Of the chain that ends at node k. */
ik_inline chain_reach solve_reach(const ik_plan *plan, const pose *world, int k) {
    chain_reach reach = {real_splat(0), real_splat(0)};
    for (; plan->nodes[k].moves; k = plan->nodes[k].parent) {
        real length = vec3_length(solve_bone(plan, world, k));
        reach.sum = reach.sum + length;
        reach.longest = real_max(reach.longest, length);
    }
    return reach;
}

/* Of the longest chain to a goal's point. */
static real solve_longest(const ik_plan *plan, const pose *world) {
    real longest = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->nodes[k].point >= 0) longest = real_max(longest, solve_reach(plan, world, k).sum);
    }
    return longest;
}

/* The tolerance is of the longest chain: how much more the distance to the target of node k counts. */
ik_inline real solve_per_distance(const ik_plan *plan, const pose *world, int k) {
    const real one = real_splat(1);
    real reach = solve_reach(plan, world, k).sum;
    return real_select(mask_less(real_splat(0), reach), world->reach / reach, one);
}

/* What is left of the longest bone when all others fold back along it. */
ik_inline real chain_inner(chain_reach reach) {
    return real_max(reach.longest + reach.longest - reach.sum, real_splat(0));
}

/* Of all that moves, the mean length; 1 where there is none. */
static real solve_mean_bone(const ik_plan *plan, const pose *world) {
    const real one = real_splat(1);
    real sum = real_splat(0), count = sum;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].moves) continue;
        sum = sum + vec3_length(solve_bone(plan, world, k));
        count = count + one;
    }
    return real_select(mask_equal(sum, real_splat(0)), one, sum / real_max(count, one));
}

/* A node that turns and does not move: the same before and after. */
ik_inline vec3 solve_origin(const ik_plan *plan, const pose *world) {
    return plan->slots ? world->positions[plan->node_of_slot[0]] : vec3_splat(0, 0, 0);
}

/* Positions scaled and about the origin, from then on: of the nodes that a method works on or that are judged. */
ik_inline void solve_center(const ik_plan *plan, pose *world) {
    for (int k = 0; k < plan->count; k++) {
        if (plan->nodes[k].slot < 0 && plan->nodes[k].point < 0) continue;
        world->positions[k] = vec3_scale(world->scale, vec3_sub(world->positions[k], world->origin));
    }
}

/* The pose that comes in. */
static void solve_load_pose(const ik_plan *plan, group at, pose *world) {
    solve_pose(plan, at, world);
    real size = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->nodes[k].moves) size = size + vec3_size(solve_bone(plan, world, k));
    }
    world->scale = real_select(mask_equal(size, real_splat(0)), real_splat(1), real_unit_scale(size));
    world->origin = solve_origin(plan, world);
    solve_center(plan, world);
    world->reach = solve_longest(plan, world);
}

/* ---- goals */

/* How much a goal counts: a negative weight as none, one that is not finite as NaN. */
ik_inline real solve_weight(const ik_rows *weights, group at) {
    real weight = lanes_load_option(weights, at, 1);
    return real_select(mask_less(weight, real_splat(0)), real_splat(0), weight) + (weight - weight);
}

/* Where node k should be, scaled; where its goal counts for nothing (weight 0), `otherwise`, so that a NaN there does
 * not matter. */
ik_inline vec3 solve_target(const ik_plan *plan, group at, const pose *world, int k, vec3 otherwise, real *weight) {
    const ik_goal *goal = &plan->job->goals[plan->nodes[k].point];
    *weight = solve_weight(&goal->weight, at);
    vec3 target = vec3_scale(world->scale, vec3_sub(lanes_load_vec3(&goal->position, at), world->origin));
    return vec3_select(mask_equal(*weight, real_splat(0)), otherwise, target);
}

/* A target that is far away, nearer, to where squares are still numbers: what matters is the direction. */
#define SOLVE_FAR (number)1e3 /* of the reach */
ik_inline vec3 solve_nearer(const ik_plan *plan, const pose *start, int k, vec3 target) {
    vec3 base = start->positions[solve_base(plan, k)];
    direction off = vec3_direction_of_any(vec3_sub(target, base));
    real most = real_splat(SOLVE_FAR) * solve_reach(plan, start, k).sum;
    mask far = mask_less(most, off.length);
    return vec3_select(far, vec3_add(base, vec3_scale(most, off.unit)), target);
}

/* How it should be turned; likewise. */
ik_inline quat solve_wanted_rotation(const ik_plan *plan, group at, int k, quat otherwise, real *weight) {
    const ik_goal *goal = &plan->job->goals[plan->nodes[k].rotation];
    *weight = solve_weight(&goal->rotation_weight, at);
    quat target = quat_unit(lanes_load_quat(&goal->rotation, at));
    return quat_select(mask_equal(*weight, real_splat(0)), otherwise, target);
}

/* The same for what a method turns: with scales, as far from that as the two are apart now. */
ik_inline quat solve_target_rotation(const ik_plan *plan, group at, int k, quat otherwise, real *weight) {
    const pose *now = plan->pose;
    quat target = solve_wanted_rotation(plan, at, k, otherwise, weight);
    if (!now->scaled) return target;
    quat apart = quat_multiply(quat_conjugate(solve_rotation(now, k)), now->rotations[k]);
    return quat_select(mask_equal(*weight, real_splat(0)), otherwise, quat_multiply(target, apart));
}

/* ---- what is to say */

/* What is to say of a group. */
typedef struct {
    real error, rotation_error; /* the largest of all goals */
    real reach;                 /* of the longest chain */
    mask missed;
    mask said;
    mask finite, has_length;
} verdict;

ik_inline void solve_judge_position(const ik_plan *plan, group at, const pose *world, int k, verdict *v) {
    real weight;
    vec3 target = solve_target(plan, at, world, k, world->positions[k], &weight);
    vec3 root = world->positions[solve_base(plan, k)];
    real error = vec3_length(vec3_sub(target, world->positions[k])), distance = vec3_length(vec3_sub(target, root));
    chain_reach reach = solve_reach(plan, world, k);
    v->reach = real_max(v->reach, reach.sum);
    mask still = mask_equal(reach.sum, real_splat(0));
    real within = reach.sum;
    if (mask_any(still)) within = real_select(still, solve_longest(plan, world), within);
    real slack = real_splat((number)plan->job->options.tolerance) * within;
    mask missed = mask_less(slack, error);
    mask far = mask_less(reach.sum, distance), near = mask_less(distance, chain_inner(reach));
    v->missed |= missed;
    v->said |= missed & ((far & mask_splat(IK_TOO_FAR)) | (near & mask_splat(IK_TOO_NEAR)));
    v->finite &= mask_is_finite(error) & mask_is_number(weight);
    v->error = real_max(v->error, error);
}

ik_inline void solve_judge_rotation(const ik_plan *plan, group at, const pose *world, int k, verdict *v) {
    real weight;
    quat now = solve_rotation(world, k), target = solve_wanted_rotation(plan, at, k, now, &weight);
    quat off = quat_multiply(target, quat_conjugate(now));
    real half = real_atan2(vec3_length(off.v), real_abs(off.w)), error = half + half;
    v->missed |= mask_less(real_splat((number)plan->job->options.rotation_tolerance), error);
    v->finite &= mask_is_finite(error) & mask_is_number(weight);
    v->rotation_error = real_max(v->rotation_error, error);
}

/* By forward kinematics of the pose that is returned. */
ik_inline verdict solve_judge(const ik_plan *plan, group at, const pose *world, const real *record) {
    const real zero = real_splat(0);
    verdict v = {zero, zero, zero, mask_splat(0), mask_splat(0), world->given, ~mask_splat(0)};
    int has_point = 0, has_rotation = 0;
    for (int k = 0; k < plan->count; k++) {
        v.finite &= mask_is_finite(vec3_size(world->positions[k]) + solve_rotation(world, k).w);
        if (plan->nodes[k].point >= 0) solve_judge_position(plan, at, world, k, &v), has_point = 1;
        if (plan->nodes[k].rotation >= 0) solve_judge_rotation(plan, at, world, k, &v), has_rotation = 1;
    }
    if (has_point && !has_rotation) v.has_length = mask_less(zero, v.reach);
    real most = real_splat((number)plan->job->options.iterations);
    mask ended = ~mask_less(record[ITERATIONS], most) & mask_splat(IK_ITERATION_LIMIT);
    mask said = v.said | real_bits(record[SAID]);
    said |= mask_zero(said) & ended;
    said |= mask_zero(said) & mask_splat(IK_STALLED);
    v.said = v.missed & said;
    return v;
}

/* Joints that do not turn keep their rotation to the bit. */
static void solve_copy(const ik_plan *plan, group at) {
    const ik_lists *from = &plan->job->rotations, *to = &plan->job->solved;
    const ptrdiff_t size = sizeof(number);
    if (from->rows.data == to->rows.data) return;
    int packed = from->rows.step == size && to->rows.step == size && from->next == 4 * size && to->next == 4 * size;
    for (const ik_still *run = plan->still; run < plan->still + plan->still_count; run++)
        for (int lane = 0; lane < at.count; lane++) {
            const char *source = lanes_row(&from->rows, at, lane) + run->first * from->next;
            char *copy = lanes_row(&to->rows, at, lane) + run->first * to->next;
            if (packed) {
                memcpy(copy, source, 4 * sizeof(number) * (size_t)run->count);
                continue;
            }
            for (int joint = 0; joint < run->count; joint++)
                for (int i = 0; i < 4; i++)
                    memcpy(copy + joint * to->next + i * to->rows.step,
                           source + joint * from->next + i * from->rows.step, sizeof(number));
        }
}

/* ---- limits */

/* The nearest local rotation that node k may have. */
ik_inline quat solve_allowed(const ik_plan *plan, int k, quat local) {
    const limit *limits = plan->limits;
    if (!limits || limits[k].kind == IK_FREE) return local;
    quat rest = solve_rest(plan, k);
    return quat_multiply(rest, limit_project(&limits[k], quat_multiply(quat_conjugate(rest), local)));
}

static void solve_prepare_limits(ik_plan *plan, limit *limits) {
    const ik_limit free = {.kind = IK_FREE};
    for (int k = 0; k < plan->count; k++) {
        const ik_node *node = &plan->nodes[k];
        limit_prepare(&limits[k], node->turns ? &plan->job->skeleton->limits[node->joint] : &free);
    }
    plan->limits = limits;
}

/* ---- whether a limit is in the way */

ik_inline int solve_carries(const ik_plan *plan, int k, int below) {
    while (below > k)
        below = plan->nodes[below].parent;
    return below == k;
}

/* Which way about node k brings what it carries nearer to its goals, in the world; of length 1 where all that is to go
 * is square to the way there, near 0 where turning is of no use. */
static vec3 solve_pull(const ik_plan *plan, group at, const pose *world, int k) {
    vec3 pull = vec3_splat(0, 0, 0);
    real most = real_splat(SMALLEST), weight;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        if (!solve_carries(plan, k, task->node)) continue;
        if (task->rotation) {
            quat now = solve_rotation(world, task->node);
            quat off = quat_multiply(solve_wanted_rotation(plan, at, task->node, now, &weight), quat_conjugate(now));
            vec3 turn = vec3_select(mask_less(off.w, real_splat(0)), vec3_scale(real_splat(-1), off.v), off.v);
            pull = vec3_add(pull, vec3_scale(weight, turn));
            most = most + weight * vec3_length(turn);
        } else {
            vec3 now = world->positions[task->node], arm = vec3_sub(now, world->positions[k]);
            vec3 off = vec3_sub(solve_target(plan, at, world, task->node, now, &weight), now);
            pull = vec3_add(pull, vec3_scale(weight, vec3_cross(arm, off)));
            most = most + weight * vec3_length(arm) * vec3_length(off);
        }
    }
    return vec3_scale(real_splat(1) / most, pull);
}

/* Half a small turn (0.45 degrees), and the share of one that counts. */
#define SOLVE_TURN  0x1p-8f
#define SOLVE_SHARE 0x1p-6f

/* The share of a small turn that the limit of node k lets through. */
static real solve_freedom(const ik_plan *plan, int k, quat local, vec3 turn) {
    quat turned = quat_unit(quat_multiply((quat){real_splat(1), turn}, local));
    quat done = quat_multiply(solve_allowed(plan, k, turned), quat_conjugate(local));
    return vec3_dot(done.v, turn) * real_splat(1 / (SOLVE_TURN * SOLVE_TURN));
}

/* Where a limit is in the way: it forbids some joint to turn towards the goals, but not to turn away from them. */
static mask solve_at_limit(const solve *s, group at) {
    const ik_plan *plan = s->plan;
    const real share = real_splat(SOLVE_SHARE);
    mask found = mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        if (!plan->nodes[k].turns || ((const limit *)plan->limits)[k].kind == IK_FREE) continue;
        direction pull = vec3_direction(solve_pull(plan, at, &s->world, k));
        vec3 turn = pull.unit;
        int parent = plan->nodes[k].parent;
        if (parent >= 0) turn = quat_rotate(quat_conjugate(s->world.rotations[parent]), turn);
        turn = vec3_scale(real_splat(SOLVE_TURN), turn);
        real towards = solve_freedom(plan, k, s->solved[k], turn);
        real away = solve_freedom(plan, k, s->solved[k], vec3_scale(real_splat(-1), turn));
        found |= mask_less(share, pull.length) & mask_less(share, away) & mask_less(towards + towards, away);
    }
    return found;
}

/* ---- the end of an item */

/* From the rotations in the world that a method found to local ones, and to where they put the nodes. */
static void solve_rebuild(const solve *s, group at, pose *world) {
    const ik_plan *plan = s->plan;
    columns record = columns_of_record(s->results);
    world->scale = real_unscale(*column(record, UNSCALE));
    world->given = ~mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        local_joint local = solve_local(plan, at, k);
        world->given &= mask_is_finite(quat_dot(local.rotation, local.rotation));
        if (plan->nodes[k].turns) {
            if (world->scaled) solve_place(plan, k, local, world); /* for solve_target_rotation */
            quat turned = solve_allowed(plan, k, s->how->turn(plan, at, record, world, k, local));
            mask other_side = mask_less(quat_dot(turned, local.rotation), real_splat(0));
            local.rotation = quat_polished(quat_negate_if(other_side, turned));
        }
        s->solved[k] = local.rotation;
        solve_place(plan, k, local, world);
    }
    world->origin = solve_origin(plan, world);
    solve_center(plan, world);
}

/* Uneven scales above a joint that turns: its bones change as it does. */
static mask solve_is_uneven(const ik_plan *plan, const pose *world) {
    mask uneven = mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        int parent = plan->nodes[k].parent;
        if (plan->nodes[k].turns && parent >= 0) uneven |= ~world->scaled[parent].even;
    }
    return uneven;
}

/* Where another round may help, if the bones change. */
static mask solve_gains(const ik_plan *plan, const verdict *v, real iterations) {
    mask may = mask_less(iterations, real_splat((number)plan->job->options.iterations));
    return may & v->missed & v->finite & v->has_length;
}

/* Where a round has brought nothing. */
static mask solve_is_no_better(const solve *s, group at, const verdict *v) {
    real error = lanes_load_option(&s->job->error, at, LARGEST) / s->results[UNSCALE];
    real angle = lanes_load_option(&s->job->rotation_error, at, 0);
    return ~mask_less(v->error + v->rotation_error, error + angle);
}

static void solve_store(const solve *s, group at, const verdict *v) {
    const ik_solve_job *job = s->job;
    const ik_plan *plan = s->plan;
    mask usable = v->finite & v->has_length, keep = mask_splat(0);
    if (s->round) keep = solve_is_no_better(s, at, v);
    const int all_usable = !mask_any(~usable | keep);
    solve_copy(plan, at);
    for (int k = 0; k < plan->count; k++) {
        const int joint = plan->nodes[k].joint;
        if (!plan->nodes[k].turns && !plan->nodes[k].locked) continue;
        quat solved = s->solved[k];
        if (!all_usable)
            solved = quat_select(usable & ~keep, solved, lanes_load_joint_quat(&job->rotations, at, joint));
        lanes_store_joint_quat(&job->solved, at, joint, solved);
    }
    mask why = mask_select(v->finite, mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE));
    mask status = mask_select(usable, v->said, why);
    real error = real_select(v->finite, v->error * s->results[UNSCALE], real_nan());
    real angle = real_select(v->finite, v->rotation_error, real_nan());
    if (s->round) {
        status = mask_select(keep, lanes_load_status(&job->status, at), status);
        error = real_select(keep, lanes_load_option(&job->error, at, 0), error);
        angle = real_select(keep, lanes_load_option(&job->rotation_error, at, 0), angle);
    }
    lanes_store_status(&job->status, at, status);
    lanes_store_real(&job->error, at, error);
    lanes_store_real(&job->rotation_error, at, angle);
    lanes_store_count(&job->iterations, at, s->results[ITERATIONS]);
}

static void solve_finish(solve *s) {
    group at = {0, s->result_count, s->result_item};
    for (int lane = s->result_count; lane < LANES; lane++)
        s->result_item[lane] = s->result_item[0];
    solve_rebuild(s, at, &s->world);
    verdict v = solve_judge(s->plan, at, &s->world, s->results);
    if (s->plan->limited && mask_any(v.missed)) v.said |= v.missed & solve_at_limit(s, at) & mask_splat(IK_AT_LIMIT);
    solve_store(s, at, &v);
    s->result_count = 0;
}

/* ---- lanes of the bundle */

/* The first columns of one item, from its lane to another. */
ik_inline void solve_move(columns to, int to_lane, columns from, int from_lane, int count) {
    const ptrdiff_t step = to.step * LANES, from_step = from.step * LANES;
    number *target = (number *)to.first + to_lane;
    const number *source = (const number *)from.first + from_lane;
    for (int i = 0; i < count;
         i += COLUMNS_AT_ONCE, target += COLUMNS_AT_ONCE * step, source += COLUMNS_AT_ONCE * from_step)
        for (int k = 0; k < COLUMNS_AT_ONCE; k++)
            target[k * step] = source[k * from_step];
}

/* A little less than what is judged by, for the rounding on the way there. */
ik_inline number solve_within(const ik_plan *plan, double tolerance) {
    number given = (number)tolerance, rounding = 4 * plan->slots * EPSILON;
    return given - (rounding < given / 4 ? rounding : given / 4);
}

/* Which of the group loaded another round is for: it goes by nothing but the item. */
static void solve_choose(solve *s) {
    mask wanted = solve_is_uneven(s->plan, &s->world);
    if (s->round && mask_any(wanted)) {
        verdict v = solve_judge(s->plan, s->loaded, &s->world, s->ready);
        wanted &= solve_gains(s->plan, &v, s->ready[ITERATIONS]);
    }
    s->wants |= mask_any(wanted);
    memcpy(s->wanted, &wanted, sizeof wanted);
}

static void solve_load(solve *s) {
    s->loaded = lanes_group(s->next, s->last);
    s->next += s->loaded.count;
    s->taken = 0;
    solve_load_pose(s->plan, s->loaded, &s->world);
    s->ready[TOLERANCE] = real_splat(solve_within(s->plan, s->job->options.tolerance)) * s->world.reach;
    s->ready[UNSCALE] = real_unscale(s->world.scale);
    s->ready[ITERATIONS] = s->round ? lanes_load_count(&s->job->iterations, s->loaded) : real_splat(0);
    s->ready[SAID] = real_splat(0);
    if (s->world.scaled) solve_choose(s);
    s->how->begin(s->plan, s->loaded, &s->world, columns_of_record(s->ready));
}

/* A lane with no item never works. */
static void solve_empty(solve *s, int g, int lane) {
    const number largest = LARGEST;
    memcpy((number *)column(columns_of_bundle(s->bundle, g), TOLERANCE) + lane, &largest, sizeof largest);
    s->item[g * LANES + lane] = NONE;
}

/* Whether there is another item to do, which is loaded then. */
static int solve_has_next(solve *s) {
    for (;; s->taken++) {
        if (s->taken == s->loaded.count) {
            if (s->next == s->last) return 0;
            solve_load(s);
        }
        if (!s->round || s->wanted[s->taken]) return 1;
    }
}

/* The next item into a lane; false where there is none. */
static int solve_take(solve *s, int g, int lane) {
    if (!solve_has_next(s)) {
        solve_empty(s, g, lane);
        return 0;
    }
    solve_move(columns_of_bundle(s->bundle, g), lane, columns_of_record(s->ready), s->taken, s->size.columns);
    s->item[g * LANES + lane] = s->loaded.first + s->taken++;
    return 1;
}

static void solve_put(solve *s, int g, int lane) {
    columns results = columns_of_record(s->results);
    solve_move(results, s->result_count, columns_of_bundle(s->bundle, g), lane, s->size.results);
    s->result_item[s->result_count++] = s->item[g * LANES + lane];
    if (s->result_count == LANES) solve_finish(s);
}

/* Lanes that still work on their item. */
ik_inline mask solve_works(const solve *s, int g) {
    columns c = columns_of_bundle(s->bundle, g);
    real most = real_splat((number)s->job->options.iterations);
    return mask_less(*column(c, TOLERANCE), *column(c, ERROR)) & mask_less(*column(c, ITERATIONS), most) &
           mask_zero(real_bits(*column(c, SAID)));
}

/* The error of every item at work, as often as it is asked for. */
static void solve_record(const solve *s, int g) {
    columns c = columns_of_bundle(s->bundle, g);
    real in_world = *column(c, ERROR) * *column(c, UNSCALE);
    number error[LANES], iterations[LANES];
    memcpy(error, &in_world, sizeof error);
    memcpy(iterations, column(c, ITERATIONS), sizeof iterations);
    for (int k = 0; k < LANES; k++) {
        ptrdiff_t item = s->item[g * LANES + k];
        if (item == NONE) continue;
        const ik_lists *history = &s->job->history;
        char *row = (char *)history->rows.data + item * history->rows.stride;
        memcpy(row + (ptrdiff_t)iterations[k] * history->next, &error[k], sizeof(number));
    }
}

/* Lists the lanes that do not work, without a branch on any of them; returns how many. */
ik_inline int solve_list_idle(mask at_work, int *idle) {
    integer works[LANES];
    int count = 0;
    memcpy(works, &at_work, sizeof works);
    for (int lane = 0; lane < LANES; lane++) {
        idle[count] = lane;
        count += works[lane] == 0;
    }
    return count;
}

/* Puts what is done and takes what is next, until every lane has work or there is none. Returns how many work. */
static int solve_refill(solve *s, int g) {
    for (;;) {
        mask at_work = solve_works(s, g);
        if (!mask_any(~at_work)) return LANES;
        int idle[LANES], count = solve_list_idle(at_work, idle), taken = 0;
        for (int i = 0; i < count; i++) {
            if (s->item[g * LANES + idle[i]] == NONE) continue;
            solve_put(s, g, idle[i]);
            taken |= solve_take(s, g, idle[i]);
        }
        if (!taken) return LANES - count;
        if (s->job->history.rows.data) solve_record(s, g);
    }
}

static void solve_start(solve *s, int groups) {
    for (int lane = 0; lane < groups * LANES; lane++)
        solve_take(s, lane / LANES, lane % LANES);
    for (int g = 0; g < groups && s->job->history.rows.data; g++)
        solve_record(s, g);
}

/* A build for benchmarks counts lanes times steps. */
#ifdef IK_LANE_STEPS
extern long long IK_LANE_STEPS;
#define SOLVE_COUNT(lanes) (IK_LANE_STEPS += (lanes))
#else
#define SOLVE_COUNT(lanes) ((void)0)
#endif

static void solve_items(solve *s, int groups) {
    solve_start(s, groups);
    for (;;) {
        int working = 0;
        for (int g = 0; g < groups; g++)
            working += solve_refill(s, g);
        if (!working) break;
        s->how->step(s->plan, s->bundle, groups);
        SOLVE_COUNT(groups * LANES);
        for (int g = 0; g < groups; g++) {
            real *iterations = column(columns_of_bundle(s->bundle, g), ITERATIONS);
            *iterations = *iterations + real_splat(1);
            if (s->job->history.rows.data) solve_record(s, g);
        }
    }
    if (s->result_count) solve_finish(s);
}

/* All items, and then, from the poses that were found, those of which the bones have changed. */
enum { SOLVE_ROUNDS = 40 };
static void solve_rounds(solve *s, ptrdiff_t first, int groups) {
    solve_items(s, groups);
    const ik_solve_job *job = s->job;
    ik_solve_job again = *job;
    again.rotations = again.solved;
    s->job = s->plan->job = &again;
    for (s->round = 1; s->round < SOLVE_ROUNDS && s->wants; s->round++) {
        s->next = first;
        s->taken = s->loaded.count = s->wants = 0;
        solve_items(s, groups);
    }
    s->job = s->plan->job = job;
}

/* ---- scratch memory: the plan, then lanes */

/* Of a node: position and rotation, local rotation, and the scaled joint. */
enum { POSE_REALS = 11 + sizeof(scaled_joint) / sizeof(real) };

/* Where the lanes' part starts. */
ik_inline size_t solve_plan_part(const ik_solve_job *job) { return (ik_plan_bytes(job) + 63) / 64 * 64; }
ik_inline void *solve_lanes(const ik_solve_job *job, void *scratch) { return (char *)scratch + solve_plan_part(job); }

/* For the largest plan there can be. */
static size_t solve_scratch(const ik_solve_job *job, record_size (*size_of)(const ik_plan *plan)) {
    int nodes = job->skeleton->count + job->goal_count;
    ik_plan most = {.job = job, .count = nodes, .slots = nodes, .bases = nodes, .limited = 1};
    most.task_count = 2 * job->goal_count;
    record_size size = size_of(&most);
    size_t records = (size_t)columns_allocated(size.columns) + (size_t)columns_allocated(size.results);
    size_t bundle = (size_t)columns_allocated(size.columns + size.work) * GROUPS;
    size_t reals = (size_t)nodes * POSE_REALS + records + bundle;
    return solve_plan_part(job) + reals * sizeof(real) + (size_t)nodes * sizeof(limit);
}

ik_inline real *solve_cut(real **free, int count) {
    real *cut = *free;
    *free += count;
    return cut;
}

static void solve_run(const method *how, ik_plan *plan, ptrdiff_t first, ptrdiff_t last, void *lanes) {
    solve s = {.job = plan->job, .plan = plan, .how = how, .next = first, .last = last};
    real *free = lanes;
    s.size = how->size(plan);
    s.world.positions = (vec3 *)solve_cut(&free, 3 * plan->count);
    s.world.rotations = (quat *)solve_cut(&free, 4 * plan->count);
    s.solved = (quat *)solve_cut(&free, 4 * plan->count);
    if (plan->job->scales.rows.data) {
        const int numbers = (int)(sizeof(scaled_joint) / sizeof(real));
        s.world.scaled = (scaled_joint *)solve_cut(&free, numbers * plan->count);
    }
    s.ready = solve_cut(&free, columns_allocated(s.size.columns));
    s.results = solve_cut(&free, columns_allocated(s.size.results));
    s.bundle = solve_cut(&free, columns_allocated(s.size.columns + s.size.work) * GROUPS);
    memset(s.ready, 0, (size_t)(free - s.ready) * sizeof(real));
    if (plan->limited) solve_prepare_limits(plan, (limit *)free);
    plan->pose = &s.world;
    solve_rounds(&s, first, last - first <= LANES ? 1 : GROUPS);
    plan->pose = NULL;
}

/* The functions of a method `name` that solvers.h lists. */
#define SOLVE_METHOD(name)                                                                                             \
    static size_t name##_scratch(const ik_solve_job *job) { return solve_scratch(job, name##_size); }                  \
    static void name##_items(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {                \
        ik_plan *plan = ik_plan_make(job, scratch);                                                                    \
        solve_run(name##_method(plan), plan, first, last, solve_lanes(job, scratch));                                  \
    }
