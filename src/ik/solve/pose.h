/* The pose as all iterative methods see it: forward kinematics, reach of chains, wanted values of goals, and allowed
 * rotations. */

#include "tasks.h"
#include "history.h"
#include "random.h"
#include "restarts.h"

/* A group of items in world space, node by node. */
typedef struct {
    vec3 *positions;      /* scale * (position - origin); unscaled while a pose is rebuilt */
    quat *rotations;      /* products of the local ones, without scales; methods turn these */
    scaled_joint *scaled; /* NULL where no scales are given */
    vec3 origin;          /* position of the first node that turns */
    real scale;
    real reach;     /* of the longest chain; scaled */
    real heaviest;  /* solve_heaviest of the first level; in a start pose */
    mask given;     /* whether the input rotations are numbers: limits turn anything into a rotation */
    mask undefined; /* a pole lies on the line of its chain */
    mask held;      /* some joint would have moved faster than it may */
} pose;

/* ---- forward kinematics of the nodes */

ik_inline quat solve_rest(const ik_plan *plan, int k) {
    const double *rest = plan->job->skeleton->rests + 4 * plan->nodes[k].joint;
    return (quat){real_splat((number)rest[0]), vec3_of(rest + 1)};
}

/* The local rotation that node k prefers. */
ik_inline quat solve_preferred(const ik_plan *plan, int k) {
    const ik_joint *joints = plan->job->skeleton->joints;
    if (!joints) return solve_rest(plan, k);
    const double *preferred = joints[plan->nodes[k].joint].preferred;
    return (quat){real_splat((number)preferred[0]), vec3_of(preferred + 1)};
}

/* The rotation of a locked joint: the given one if it is at rest, otherwise the rest rotation with its sign. A NaN
 * stays. */
ik_inline quat solve_locked(const ik_plan *plan, int k, quat given) {
    const real tolerance = real_splat(LIMIT_TOLERANCE);
    quat rest = solve_rest(plan, k);
    rest = quat_negate_if(mask_less(quat_dot(rest, given), real_splat(0)), rest);
    quat off = {rest.w - given.w, vec3_sub(rest.v, given.v)};
    return quat_select(mask_less(tolerance * tolerance, quat_dot(off, off)), rest, given);
}

/* The lowest (0) or highest (1) translation that a sliding node may have. */
ik_inline vec3 solve_end_of_travel(const ik_plan *plan, int k, int end) {
    const int joint = plan->nodes[k].joint;
    const double *offset = plan->job->skeleton->offsets + 3 * (ptrdiff_t)joint;
    const double (*range)[2] = plan->nodes[k].travel;
    const double all[3] = {offset[0] + range[0][end], offset[1] + range[1][end], offset[2] + range[2][end]};
    return vec3_of(all);
}

/* The nearest translation that a sliding node may have. A NaN stays. */
ik_inline vec3 solve_slid(const ik_plan *plan, int k, vec3 translation) {
    const vec3 low = solve_end_of_travel(plan, k, 0), high = solve_end_of_travel(plan, k, 1);
    const real lows[3] = {low.x, low.y, low.z}, highs[3] = {high.x, high.y, high.z};
    real *moved[3] = {&translation.x, &translation.y, &translation.z};
    for (int i = 0; i < 3; i++) {
        *moved[i] = real_select(mask_less(*moved[i], lows[i]), lows[i], *moved[i]);
        *moved[i] = real_select(mask_less(highs[i], *moved[i]), highs[i], *moved[i]);
    }
    return translation;
}

/* Its position only. */
ik_inline vec3 solve_came(const ik_plan *plan, group at, int k) {
    const ik_node *node = &plan->nodes[k];
    if (node->joint < 0) return vec3_of(node->offset);
    vec3 offset = given_translation(plan->job, at, node->joint);
    return node->slides && plan->past.follows ? past_slid(plan, at, node->joint, offset) : offset;
}

/* The start rotation of a random attempt. */
ik_inline mask solve_is_random(const ik_plan *plan) {
    return attempt_is_random(plan->attempts, plan->job->options.restarts);
}

/* The start translation of an attempt. */
ik_inline vec3 solve_offset(const ik_plan *plan, group at, int k) {
    vec3 came = solve_came(plan, at, k);
    if (!plan->nodes[k].slides || !plan->attempts) return came;
    vec3 low = solve_end_of_travel(plan, k, 0), high = solve_end_of_travel(plan, k, 1);
    vec3 random = attempt_slid(plan->attempts, plan->nodes[k].joint, low, high, came);
    return vec3_select(solve_is_random(plan), random, came);
}

/* The given pose, if a solve starts from another: of the frame before, or at random. */
ik_outline local_joint solve_elsewhere(const ik_plan *plan, group at, int k, local_joint local) {
    const ik_node *node = &plan->nodes[k];
    if (node->turns && plan->past.follows) local.rotation = past_turned(plan, at, node->joint, local.rotation);
    if (node->slides && plan->past.follows) local.translation = past_slid(plan, at, node->joint, local.translation);
    if (node->turns && plan->attempts) {
        quat random = attempt_turned(plan->attempts, plan->job->skeleton, node->joint);
        local.rotation = quat_select(solve_is_random(plan), random, local.rotation);
    }
    if (node->slides && plan->attempts) local.translation = solve_offset(plan, at, k);
    return local;
}

/* A node relative to its parent, in the start pose; a locked or sliding one is moved into its limit. */
ik_inline local_joint solve_local(const ik_plan *plan, group at, int k) {
    const ik_solve_job *job = plan->job;
    const ik_node *node = &plan->nodes[k];
    if (node->joint < 0) return (local_joint){quat_identity(), vec3_of(node->offset), vec3_splat(1, 1, 1)};
    const ik_forward_job from = {.skeleton = job->skeleton,
                                 .rotations = job->rotations,
                                 .translations = job->translations,
                                 .scales = IS_WIDE ? (ik_lists){{0}} : job->scales};
    local_joint local = forward_load(&from, at, node->joint);
    if (plan->elsewhere) local = solve_elsewhere(plan, at, k, local);
    if (node->locked) local.rotation = solve_locked(plan, k, local.rotation);
    if (node->slides) local.translation = solve_slid(plan, k, local.translation);
    return local;
}

/* The joints of a pose with scales; else NULL. */
ik_inline scaled_joint *solve_scaled(const pose *world) { return IS_WIDE ? NULL : world->scaled; }

/* The world rotation of a node, as it is judged. */
ik_inline quat solve_rotation(const pose *world, int k) {
    return solve_scaled(world) ? world->scaled[k].joint.rotation : world->rotations[k];
}

/* A world direction in the space of the parent of node k; of any length. */
ik_inline vec3 solve_direction(const ik_plan *plan, const pose *world, int k, vec3 way) {
    int parent = plan->nodes[k].parent;
    if (parent < 0) return way;
    if (!solve_scaled(world)) return quat_rotate(quat_conjugate(world->rotations[parent]), way);
    mat3 columns = mat3_transposed(world->scaled[parent].matrix);
    mat3 inverse = {vec3_cross(columns.y, columns.z), vec3_cross(columns.z, columns.x),
                    vec3_cross(columns.x, columns.y)}; /* times the determinant */
    mask mirrored = mask_less(vec3_dot(columns.x, inverse.x), real_splat(0));
    way = mat3_apply(inverse, way);
    return vec3_select(mirrored, vec3_scale(real_splat(-1), way), way);
}

ik_outline void solve_place_scaled(const ik_plan *plan, int k, const local_joint *local, pose *world) {
    int parent = plan->nodes[k].parent;
    quat rotation = local->rotation;
    if (parent >= 0) rotation = quat_polished(quat_multiply(world->rotations[parent], rotation));
    world->scaled[k] = scaled_of_local(parent < 0 ? NULL : &world->scaled[parent], local);
    world->positions[k] = world->scaled[k].joint.position;
    world->rotations[k] = rotation;
}

/* Node k in the world, from its local rotation and its parent. */
ik_inline void solve_place(const ik_plan *plan, int k, local_joint local, pose *world) {
    int parent = plan->nodes[k].parent;
    if (solve_scaled(world)) {
        solve_place_scaled(plan, k, &local, world);
    } else {
        world_joint above;
        if (parent >= 0) above = (world_joint){world->rotations[parent], world->positions[parent]};
        world_joint placed = world_of_local(parent < 0 ? NULL : &above, local);
        world->positions[k] = placed.position;
        world->rotations[k] = placed.rotation;
    }
}

/* Prefetches node k of the next group: rows of one joint lie far apart, so the processor cannot predict them. The next
 * group of items that start again is not known. */
ik_inline void solve_prefetch(const ik_plan *plan, group at, int k) {
#ifdef __GNUC__
    const ik_lists *lists = &plan->job->rotations;
    if (at.items || plan->nodes[k].joint < 0 || !lists->rows.stride) return;
    for (int lane = LANES; lane < 2 * LANES; lane++)
        __builtin_prefetch(lanes_row(&lists->rows, at, lane) + plan->nodes[k].joint * lists->next);
#endif
}

/* Node k of a pose that was solved. */
ik_outline void solve_place_solved(const ik_plan *plan, group at, int k, const quat *solved, const vec3 *moved,
                                   pose *world) {
    local_joint local = solve_local(plan, at, k);
    local.rotation = solved[k];
    if (plan->nodes[k].slides) local.translation = moved[k];
    solve_place(plan, k, local, world);
}

static inline void solve_pose(const ik_plan *plan, group at, pose *world) {
    for (int k = 0; k < plan->count; k++) {
        solve_prefetch(plan, at, k);
        solve_place(plan, k, solve_local(plan, at, k), world);
    }
}

/* ---- positions of nodes */

/* The source of positions and rotations: a pose, or the columns of a method. Code for both is written once. */
typedef struct {
    vec3 (*place)(const void *of, const ik_plan *plan, int k);
    quat (*rotation)(const void *of, const ik_plan *plan, int k);
    const void *of;
} whereabouts;

ik_inline vec3 solve_place_of(const void *of, const ik_plan *plan, int k) {
    (void)plan;
    return ((const pose *)of)->positions[k];
}
ik_inline quat solve_rotation_of(const void *of, const ik_plan *plan, int k) {
    (void)plan;
    return solve_rotation(of, k);
}
ik_inline whereabouts solve_whereabouts(const pose *world) {
    return (whereabouts){solve_place_of, solve_rotation_of, world};
}

/* The centre of mass. */
ik_inline vec3 centre_of(whereabouts at, const ik_plan *plan) {
    vec3 sum = vec3_splat(0, 0, 0);
    for (int k = 0; k < plan->count; k++) {
        double mass = plan->nodes[k].mass;
        if (mass == 0) continue;
        sum = vec3_add(sum, vec3_scale(real_splat((number)(mass / plan->mass)), at.place(at.of, plan, k)));
    }
    return sum;
}

/* The joints of a task; those that its kind does not need are left out. */
ik_inline task_view view_of(whereabouts at, const ik_plan *plan, const ik_task *task) {
    const int k = task->node;
    task_assume_plain(task);
    task_view view = {.place = vec3_splat(0, 0, 0)};
    if (task->kind != IK_TURN) view.place = k < 0 ? centre_of(at, plan) : at.place(at.of, plan, k);
    if (task->kind == IK_TURN || task->kind == IK_LOOK) view.rotation = at.rotation(at.of, plan, k);
    if (task->kind == IK_OUTSIDE) view.other_place = at.place(at.of, plan, ik_task_start(plan, task));
    if (task->other < 0) return view;
    view.other_place = at.place(at.of, plan, task->other);
    view.other_rotation = at.rotation(at.of, plan, task->other);
    return view;
}
static inline task_view solve_view(const ik_plan *plan, const pose *world, const ik_task *task) {
    return view_of(solve_whereabouts(world), plan, task);
}

/* ---- chains */

/* The first node of the chain that ends at node k: the highest one that turns or slides for it. */
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

/* The reach of the chain that ends at node k. */
ik_inline chain_reach reach_of(whereabouts at, const ik_plan *plan, int k) {
    chain_reach reach = {real_splat(0), real_splat(0)};
    for (; plan->nodes[k].moves; k = plan->nodes[k].parent) {
        real length = vec3_length(vec3_sub(at.place(at.of, plan, k), at.place(at.of, plan, plan->nodes[k].parent)));
        reach.sum = reach.sum + length;
        reach.longest = real_max(reach.longest, length);
    }
    return reach;
}
ik_inline chain_reach solve_reach(const ik_plan *plan, const pose *world, int k) {
    return reach_of(solve_whereabouts(world), plan, k);
}

/* The reach of the longest chain to the subject of a task. */
static inline real solve_longest(const ik_plan *plan, const pose *world) {
    real longest = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->nodes[k].place) longest = real_max(longest, solve_reach(plan, world, k).sum);
    }
    return longest;
}

/* The tolerance is relative to the longest chain: this is the factor of the distance to the target of node k. */
ik_inline real solve_per_distance(const ik_plan *plan, const pose *world, int k) {
    const real one = real_splat(1);
    real reach = solve_reach(plan, world, k).sum;
    return real_select(mask_less(real_splat(0), reach), world->reach / reach, one);
}

/* The inner radius: the rest of the longest bone when all others fold back along it. */
ik_inline real chain_inner(chain_reach reach) {
    return real_max(reach.longest + reach.longest - reach.sum, real_splat(0));
}

/* The mean bone length of all that moves; 1 if there is none. */
static inline real solve_mean_bone(const ik_plan *plan, const pose *world) {
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

/* Position of the first node that turns or slides, in the start pose: it is the same before and after. */
ik_inline vec3 solve_origin(const ik_plan *plan, group at, const pose *world) {
    if (!plan->slots) return vec3_splat(0, 0, 0);
    int k = plan->node_of_slot[0], parent = plan->nodes[k].parent;
    if (!plan->nodes[k].slides) return world->positions[k];
    vec3 offset = solve_came(plan, at, k);
    return parent < 0 ? offset : vec3_add(world->positions[parent], quat_rotate(world->rotations[parent], offset));
}

/* Scales positions and makes them relative to the origin: for the nodes that a method moves, or that are judged. */
ik_inline void solve_center(const ik_plan *plan, pose *world) {
    for (int k = 0; k < plan->count; k++) {
        if (plan->nodes[k].slot < 0 && !plan->nodes[k].place) continue;
        world->positions[k] = vec3_scale(world->scale, vec3_sub(world->positions[k], world->origin));
    }
}

/* The weight of a goal: a negative one as 0, one that is not finite as NaN. */
ik_inline real solve_weight(const ik_rows *weights, group at) {
    real weight = lanes_load_option(weights, at, 1);
    return real_select(mask_less(weight, real_splat(0)), real_splat(0), weight) + (weight - weight);
}

/* The largest weight of a level, in which only ratios count; 1 if all are 0. */
static inline real solve_heaviest(const ik_plan *plan, group at, int level) {
    real most = real_splat(0);
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++)
        if (task->level == level) most = real_max(most, solve_weight(&plan->job->goals[task->goal].weight, at));
    return real_select(mask_less(real_splat(0), most), most, real_splat(1));
}

/* The start pose. */
static inline void solve_load_pose(const ik_plan *plan, group at, pose *world) {
    solve_pose(plan, at, world);
    real size = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->nodes[k].moves) size = size + vec3_size(solve_bone(plan, world, k));
    }
    world->scale = real_select(mask_equal(size, real_splat(0)), real_splat(1), real_unit_scale(size));
    world->origin = solve_origin(plan, at, world);
    solve_center(plan, world);
    world->reach = solve_longest(plan, world);
    world->heaviest = solve_heaviest(plan, at, 0);
}

#include "targets.h"
