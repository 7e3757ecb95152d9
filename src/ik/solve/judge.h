/* Judges a solved pose by its forward kinematics alone: errors, whether targets were in reach, and whether a limit
 * prevents a goal. */

/* The verdict on a group. */
typedef struct {
    real error, rotation_error; /* the largest of all goals */
    real reach;                 /* of the longest chain */
    real level;                 /* the first level with a missed goal; LARGEST: none */
    mask missed;                /* some goal, */
    mask open;                  /* and some that is not known to be out of reach */
    mask said;
    mask finite, has_length;
} verdict;

/* A position in the space in which a sliding node moves. */
static vec3 solve_in_travel(const ik_plan *plan, const pose *world, int k, vec3 place) {
    const int parent = plan->nodes[k].parent;
    if (parent < 0) return vec3_add(place, vec3_scale(world->scale, world->origin));
    return quat_rotate(quat_conjugate(world->rotations[parent]), vec3_sub(place, world->positions[parent]));
}

/* The range of a distance. */
typedef struct {
    real least, most;
} span;

/* The vector from a position in that space to the nearest one in the node's travel. */
static span solve_travel_span(const ik_plan *plan, const pose *world, int k, vec3 place) {
    const vec3 low = vec3_sub(vec3_scale(world->scale, solve_end_of_travel(plan, k, 0)), place);
    const vec3 high = vec3_sub(vec3_scale(world->scale, solve_end_of_travel(plan, k, 1)), place);
    const vec3 beyond = {real_max(low.x, -high.x), real_max(low.y, -high.y), real_max(low.z, -high.z)};
    const real zero = real_splat(0);
    const vec3 near = {real_max(beyond.x, zero), real_max(beyond.y, zero), real_max(beyond.z, zero)};
    const vec3 far = {real_max(-low.x, high.x), real_max(-low.y, high.y), real_max(-low.z, high.z)};
    return (span){vec3_length(near), vec3_length(far)};
}

/* Whether the chain to node k cannot reach a target with any positions of its slides. A polygon of its bones and the
 * line to the target exists if no side is longer than all others together. */
static mask solve_beyond_slides(const ik_plan *plan, const pose *world, int k, vec3 target, real slack) {
    span reach = {real_splat(0), real_splat(0)}, bone, way;
    for (; plan->nodes[k].moves; k = plan->nodes[k].parent) {
        bone.least = bone.most = vec3_length(solve_bone(plan, world, k));
        if (plan->nodes[k].slides) bone = solve_travel_span(plan, world, k, vec3_splat(0, 0, 0));
        reach.least = real_max(reach.least - bone.most, bone.least - reach.most);
        reach.most = reach.most + bone.most;
    }
    way.least = way.most = vec3_length(vec3_sub(target, world->positions[k]));
    if (plan->nodes[k].slides) way = solve_travel_span(plan, world, k, solve_in_travel(plan, world, k, target));
    mask far = mask_less(reach.most + slack, way.least), near = mask_less(way.most, reach.least - slack);
    return (far & mask_splat(IK_TOO_FAR)) | (near & mask_splat(IK_TOO_NEAR));
}

ik_inline mask solve_judge_position(const ik_plan *plan, group at, const pose *world, const ik_task *task, verdict *v) {
    const int k = task->node;
    real weight;
    vec3 target = solve_target(plan, at, world, k, world->positions[k], &weight);
    vec3 root = world->positions[solve_base(plan, k)];
    real error = vec3_length(vec3_sub(target, world->positions[k])), distance = vec3_length(vec3_sub(target, root));
    chain_reach reach = solve_reach(plan, world, k);
    real within = task->held < 0 ? reach.sum : solve_held_reach(plan, world, task);
    v->reach = real_max(v->reach, within);
    mask still = mask_equal(within, real_splat(0));
    if (mask_any(still)) within = real_select(still, solve_longest(plan, world), within);
    real slack = real_splat((number)plan->job->options.tolerance) * within;
    if (mask_any(still)) slack = real_select(still, real_max(slack, solve_rounding(world, k)), slack);
    mask missed = mask_less(slack, error);
    mask far = mask_less(reach.sum + slack, distance), near = mask_less(distance, chain_inner(reach) - slack);
    mask said = missed & ((far & mask_splat(IK_TOO_FAR)) | (near & mask_splat(IK_TOO_NEAR)));
    if (plan->slides && mask_any(said)) said &= solve_beyond_slides(plan, world, k, target, slack);
    v->said |= said;
    v->finite &= mask_is_finite(error) & mask_is_number(weight);
    v->error = real_max(v->error, error);
    return missed;
}

ik_inline mask solve_judge_rotation(const ik_plan *plan, group at, const pose *world, const ik_task *task, verdict *v) {
    const int k = task->node;
    real weight;
    quat now = solve_rotation(world, k), target = solve_wanted_rotation(plan, at, k, now, &weight);
    quat off = quat_multiply(target, quat_conjugate(now));
    real half = real_atan2(vec3_length(off.v), real_abs(off.w)), error = half + half;
    v->finite &= mask_is_finite(error) & mask_is_number(weight);
    v->rotation_error = real_max(v->rotation_error, error);
    return mask_less(real_splat((number)plan->job->options.rotation_tolerance), error);
}

/* Whether the plane of an INSIDE has two sides: its normal has a length. */
static mask solve_has_side(const ik_plan *plan, group at, const ik_task *task) {
    vec3 normal = lanes_load_vec3(&plan->job->goals[task->goal].normal, at);
    return ~mask_equal(vec3_size(normal), real_splat(0));
}

/* Climbs from node k to the start of its chain, or to the joint that also carries the chain to another node. Adds the
 * bones on the way. */
static int solve_climb(const ik_plan *plan, const pose *world, int k, int other, chain_reach *bones) {
    while (plan->nodes[k].moves && !(other >= 0 && ik_carries(plan, plan->nodes[k].parent, other))) {
        real length = vec3_length(solve_bone(plan, world, k));
        bones->sum = bones->sum + length;
        bones->longest = real_max(bones->longest, length);
        k = plan->nodes[k].parent;
    }
    return k;
}

/* Whether no pose can bring the ends of a task as far apart as it wants, decided by bones only. The bones between the
 * ends, the line between their starts, and the wanted distance form a polygon if no side is longer than all others
 * together. Slides and scales change bones, so they are excluded. */
static mask solve_judge_lengths(const ik_plan *plan, group at, const pose *world, const ik_task *task, real slack) {
    if (plan->slides || solve_scaled(world) || (task->kind != IK_DISTANCE && task->kind != IK_PLACE))
        return mask_splat(0);
    real weight;
    const task_wanted wanted = solve_wanted(plan, at, world, task, &weight);
    const real apart = task->kind == IK_PLACE ? vec3_length(wanted.place) : wanted.number;
    chain_reach bones = {real_splat(0), real_splat(0)};
    vec3 from = world->positions[solve_climb(plan, world, task->node, task->other, &bones)], to = wanted.place;
    if (task->other >= 0) to = world->positions[solve_climb(plan, world, task->other, task->node, &bones)];
    const real between = vec3_length(vec3_sub(from, to)), sides = bones.sum + between + apart + slack;
    const real most = real_max(between, apart), longest = bones.longest;
    mask far = mask_less(sides, most + most), near = mask_less(sides, longest + longest);
    return (far & mask_splat(IK_TOO_FAR)) | (near & mask_splat(IK_TOO_NEAR));
}

/* All other tasks: a distance is compared with the reach of the chains to its joints, or the longest chain. */
static mask solve_judge_any(const ik_plan *plan, group at, const pose *world, const ik_task *task, verdict *v) {
    const ik_options *options = &plan->job->options;
    real weight, miss = solve_miss(plan, at, world, task, &weight), reach = real_splat(0);
    v->finite &= mask_is_finite(miss) & mask_is_number(weight);
    if (task_is_angle(task)) {
        v->rotation_error = real_max(v->rotation_error, miss);
        return mask_less(real_splat((number)options->rotation_tolerance), miss);
    }
    reach = solve_task_reach(plan, world, task);
    v->reach = real_max(v->reach, reach);
    v->error = real_max(v->error, miss);
    const real slack = solve_task_slack(world, task, options->tolerance, reach);
    mask missed = mask_less(slack, miss);
    if (mask_any(missed)) v->said |= missed & solve_judge_lengths(plan, at, world, task, slack);
    if (task->kind == IK_INSIDE && task->node < 0) v->said |= missed & mask_splat(IK_OFF_BALANCE);
    if (task->kind == IK_INSIDE) v->has_length &= mask_equal(weight, real_splat(0)) | solve_has_side(plan, at, task);
    return missed;
}

/* A posture cannot be missed, but its wanted values must be numbers. */
static mask solve_postures_are_finite(const ik_plan *plan, group at) {
    mask finite = ~mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        if (plan->nodes[k].posture < 0) continue;
        real weight = solve_weight(&plan->job->goals[plan->nodes[k].posture].weight, at);
        quat wanted = solve_posture(plan, at, k);
        mask counts = ~mask_equal(weight, real_splat(0));
        finite &= mask_is_number(weight) & (mask_is_finite(quat_dot(wanted, wanted)) | ~counts);
    }
    return finite;
}

static mask solve_judge_task(const ik_plan *plan, group at, const pose *world, const ik_task *task, verdict *v) {
    if (task->kind == IK_PLACE && task->other < 0) return solve_judge_position(plan, at, world, task, v);
    if (task->kind == IK_TURN && task->other < 0) return solve_judge_rotation(plan, at, world, task, v);
    return IS_WIDE ? mask_splat(0) : solve_judge_any(plan, at, world, task, v);
}

/* Judges the returned pose by forward kinematics, after some iterations that ended with `flags` of the method. */
static verdict solve_judge(const ik_plan *plan, group at, const pose *world, real iterations, mask flags) {
    const real zero = real_splat(0);
    verdict v = {.level = real_splat(LARGEST), .finite = world->given, .has_length = ~mask_splat(0)};
    v.error = v.rotation_error = v.reach = zero, v.missed = v.open = v.said = mask_splat(0);
    int angles = 0, distances = 0;
    for (int k = 0; k < plan->count; k++)
        v.finite &= mask_is_finite(vec3_size(world->positions[k]) + solve_rotation(world, k).w);
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->judged; task++) {
        const mask said = v.said;
        v.said = mask_splat(0);
        mask missed = solve_judge_task(plan, at, world, task, &v);
        if (task->held >= 0) v.said = missed & ((v.said & mask_splat(IK_OFF_BALANCE)) | mask_splat(IK_AT_LIMIT));
        v.missed |= missed;
        v.open |= missed & mask_zero(v.said & mask_splat(IK_TOO_FAR | IK_TOO_NEAR));
        v.said |= said;
        if (task < plan->tasks + plan->task_count)
            v.level = real_select(missed, real_min(v.level, real_splat((number)task->level)), v.level);
        *(task_is_angle(task) ? &angles : &distances) += 1;
    }
    if (!IS_WIDE && plan->postures) v.finite &= solve_postures_are_finite(plan, at);
    if (distances && !angles && !plan->slides) v.has_length &= mask_less(zero, v.reach) | ~v.missed;
    real most = real_splat((number)plan->job->options.iterations);
    mask ended = ~mask_less(iterations, most) & mask_splat(IK_ITERATION_LIMIT);
    /* Bones that are too short explain every miss, unless limits or slides restrict a chain. */
    if (!plan->limited && !plan->slides) flags &= v.open | mask_splat(~IK_STALLED);
    mask said = v.said | flags, why = mask_splat(~IK_OFF_BALANCE); /* it names the missed goal, not the reason */
    said |= mask_zero(said & why) & ended;
    said |= mask_zero(said & why) & mask_splat(IK_STALLED);
    v.said = (v.missed & said) | (world->undefined & mask_splat(IK_POLE_UNDEFINED));
    return v;
}

/* ---- whether a limit is in the way */

/* The pull of a task on a node: a torque, and a force along the world axes. */
typedef struct {
    vec3 turn, shift;
    real most; /* the length of the turn if the whole error were at right angles to the lever */
    real size; /* of the whole error */
} pulled;

/* Only ratios of weights within a level count. */
static real solve_ratio(const ik_plan *plan, group at, const ik_task *task, real weight) {
    return weight / solve_heaviest(plan, at, task->level);
}

static pulled solve_pulled(const ik_plan *plan, group at, const pose *world, const ik_task *task, int k, int side) {
    const real zero = real_splat(0), one = real_splat(1);
    const vec3 axes[3] = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}}, none = {zero, zero, zero};
    real weight, turn[3], shift[3];
    task_wanted wanted = solve_wanted(plan, at, world, task, &weight);
    task_view view = solve_view(plan, world, task);
    task_meet(task, &wanted, &view);
    vec3 error = task_miss(task, task_error(plan, task, &wanted, &view));
    error = vec3_select(mask_equal(weight, zero), none, vec3_scale(solve_ratio(plan, at, task, weight), error));
    vec3 arm = vec3_sub(task_lever(task, &wanted, &view, side), world->positions[k]);
    real share = one;
    if (task->node < 0) {
        arm = solve_carried_arm(plan, world, k);
        share = real_splat((number)(plan->nodes[k].heavy / plan->mass));
    }
    if (task->kind == IK_OUTSIDE && k == task->node) arm = none, share = view.share; /* the end of its bone */
    for (int i = 0; i < 3; i++) {
        motion by = {vec3_cross(axes[i], arm), axes[i]}, along = {vec3_scale(share, axes[i]), none};
        turn[i] = vec3_dot(error, task_change(plan, task, &wanted, &view, side, by));
        shift[i] = vec3_dot(error, task_change(plan, task, &wanted, &view, side, along));
    }
    real lever = task_is_angle(task) ? one : vec3_length(arm), size = vec3_length(error);
    return (pulled){{turn[0], turn[1], turn[2]}, {shift[0], shift[1], shift[2]}, lever * size, size};
}

/* The turn direction about node k, in world axes, that brings its descendants nearer to their goals. Its length is 1 if
 * all errors are at right angles to their levers, and near 0 if turning does not help. */
static vec3 solve_pull(const ik_plan *plan, group at, const pose *world, int k) {
    vec3 pull = vec3_splat(0, 0, 0);
    real most = real_splat(SMALLEST), weight;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        int side = task_side(plan, (int)(task - plan->tasks), plan->nodes[k].slot);
        if (!side) continue;
        if (task->kind == IK_TURN && task->other < 0) {
            quat now = solve_rotation(world, task->node);
            quat off = quat_multiply(solve_wanted_rotation(plan, at, task->node, now, &weight), quat_conjugate(now));
            vec3 turn = vec3_select(mask_less(off.w, real_splat(0)), vec3_scale(real_splat(-1), off.v), off.v);
            weight = solve_ratio(plan, at, task, weight);
            pull = vec3_add(pull, vec3_scale(weight, turn));
            most = most + weight * vec3_length(turn);
        } else if (task->kind == IK_PLACE && task->other < 0) {
            vec3 now = world->positions[task->node], arm = vec3_sub(now, world->positions[k]);
            vec3 off = vec3_sub(solve_target(plan, at, world, task->node, now, &weight), now);
            weight = solve_ratio(plan, at, task, weight);
            pull = vec3_add(pull, vec3_scale(weight, vec3_cross(arm, off)));
            most = most + weight * vec3_length(arm) * vec3_length(off);
        } else if (!IS_WIDE) {
            pulled by = solve_pulled(plan, at, world, task, k, side);
            pull = vec3_add(pull, by.turn);
            most = most + by.most;
        }
    }
    return vec3_scale(real_splat(1) / most, pull);
}

/* Half a small turn (0.45 degrees), and the share of one that counts. */
#define SOLVE_TURN  0x1p-8f
#define SOLVE_SHARE 0x1p-6f

/* The share of a small turn that the limit of node k allows. */
static real solve_freedom(const ik_plan *plan, int k, quat local, vec3 turn) {
    quat turned = quat_unit(quat_multiply((quat){real_splat(1), turn}, local));
    quat done = quat_multiply(solve_allowed(plan, k, turned), quat_conjugate(local));
    return vec3_dot(done.v, turn) * real_splat(1 / (SOLVE_TURN * SOLVE_TURN));
}

/* Whether a sliding node is at an end of its travel and pulled beyond it. */
static mask solve_slid_out(const ik_plan *plan, group at, const pose *world, int k) {
    const int parent = plan->nodes[k].parent;
    vec3 pull = vec3_splat(0, 0, 0);
    real most = real_splat(SMALLEST), weight;
    for (int t = 0; t < plan->task_count; t++) {
        int side = task_side(plan, t, plan->nodes[k].slot);
        if (!side) continue;
        pull = vec3_add(pull, solve_pulled(plan, at, world, &plan->tasks[t], k, side).shift);
        most = most + solve_miss(plan, at, world, &plan->tasks[t], &weight);
    }
    quat above = parent < 0 ? quat_identity() : world->rotations[parent];
    pull = quat_rotate(quat_conjugate(above), vec3_scale(real_splat(1) / most, pull));
    vec3 moved = solve_in_travel(plan, world, k, world->positions[k]);
    real reach = solve_longest(plan, world); /* without any bone length, slides are scaled by their errors */
    reach = real_select(mask_less(real_splat(0), reach), reach, most);
    vec3 on = vec3_add(moved, vec3_scale(real_splat(SOLVE_TURN) * reach, pull));
    real unscale = real_unscale(world->scale);
    vec3 kept = vec3_scale(world->scale, solve_slid(plan, k, vec3_scale(unscale, on)));
    real lost = vec3_length(vec3_sub(on, kept)), least = real_splat(SOLVE_SHARE * SOLVE_TURN) * reach;
    return mask_less(least, lost);
}

/* The largest pull of a level's goals at any joint, as a share of the largest possible pull. `together`: the sum of
 * their pulls, as far as limits let the joint follow. `apart`: the sum of the lengths of their pulls. */
typedef struct {
    real together, apart;
} drawn;

static void solve_draw(drawn *d, vec3 sum, real through, real apart, real most) {
    real all = real_splat(1) / (most + real_splat(SMALLEST));
    d->together = real_max(d->together, all * through * vec3_length(sum));
    d->apart = real_max(d->apart, all * apart);
}

static void solve_draw_at(const ik_plan *plan, group at, const pose *world, const quat *solved, int level, int k,
                          drawn *d) {
    const ik_node *node = &plan->nodes[k];
    const real zero = real_splat(0), one = real_splat(1);
    vec3 turn = vec3_splat(0, 0, 0), shift = turn;
    real turns = zero, shifts = zero, most = zero, size = zero, through = one;
    for (int t = 0; t < plan->task_count; t++) {
        int side = task_side(plan, t, node->slot);
        if (plan->tasks[t].level != level || !side) continue;
        pulled by = solve_pulled(plan, at, world, &plan->tasks[t], k, side);
        turn = vec3_add(turn, by.turn), shift = vec3_add(shift, by.shift);
        turns = turns + vec3_length(by.turn), shifts = shifts + vec3_length(by.shift);
        most = most + by.most, size = size + by.size;
    }
    if (node->slides) solve_draw(d, shift, one, shifts, size);
    if (!node->turns) return;
    if (plan->limits && ((const limit *)plan->limits)[k].kind != IK_FREE) {
        vec3 way = vec3_scale(real_splat(SOLVE_TURN), vec3_direction(turn).unit);
        if (node->parent >= 0) way = quat_rotate(quat_conjugate(world->rotations[node->parent]), way);
        through = real_max(zero, solve_freedom(plan, k, solved[k], way));
    }
    solve_draw(d, turn, through, turns, most);
}

static drawn solve_drawn(const ik_plan *plan, group at, const pose *world, const quat *solved, int level) {
    drawn d = {real_splat(0), real_splat(0)};
    for (int k = 0; k < plan->count; k++)
        if (plan->nodes[k].slot >= 0 && (plan->nodes[k].turns || plan->nodes[k].slides))
            solve_draw_at(plan, at, world, solved, level, k, &d);
    return d;
}

/* Whether a limit prevents a goal: it forbids some joint to turn towards the goals, but not away from them. */
static mask solve_at_limit(const ik_plan *plan, group at, const pose *world, const quat *solved) {
    const real share = real_splat(SOLVE_SHARE);
    mask found = mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        if (plan->nodes[k].slides) found |= solve_slid_out(plan, at, world, k);
        if (!plan->nodes[k].turns || !plan->limits || ((const limit *)plan->limits)[k].kind == IK_FREE) continue;
        direction pull = vec3_direction(solve_pull(plan, at, world, k));
        vec3 turn = pull.unit;
        int parent = plan->nodes[k].parent;
        if (parent >= 0) turn = quat_rotate(quat_conjugate(world->rotations[parent]), turn);
        turn = vec3_scale(real_splat(SOLVE_TURN), turn);
        real towards = solve_freedom(plan, k, solved[k], turn);
        real away = solve_freedom(plan, k, solved[k], vec3_scale(real_splat(-1), turn));
        found |= mask_less(share, pull.length) & mask_less(share, away) & mask_less(towards + towards, away);
    }
    return found;
}

/* The first level that misses is as near as possible, though its goals pull: they contradict each other. If they still
 * pull together, earlier levels prevent them. */
static mask solve_contradiction(const ik_plan *plan, group at, const pose *world, const quat *solved,
                                const verdict *v) {
    const real share = real_splat(SOLVE_SHARE);
    mask said = mask_splat(0);
    for (int level = 0; level < plan->levels; level++) {
        mask here = v->missed & mask_equal(v->level, real_splat((number)level));
        if (!mask_any(here)) continue;
        drawn d = solve_drawn(plan, at, world, solved, level);
        mask still = mask_less(d.together, share), conflict = here & still & mask_less(share, d.apart);
        said |= conflict & mask_splat(IK_CONFLICT);
        if (level) said |= here & ~still & mask_splat(IK_LEVEL);
    }
    return said;
}

/* The reasons why usable items miss, besides those of single goals. */
static mask solve_why(const ik_plan *plan, group at, const pose *world, const quat *solved, const verdict *v) {
    const mask beyond = mask_splat(IK_TOO_FAR | IK_TOO_NEAR | IK_AT_LIMIT), stalled = mask_splat(IK_STALLED);
    mask said = v->said;
    if (plan->limited || plan->slides)
        said |= v->missed & solve_at_limit(plan, at, world, solved) & mask_splat(IK_AT_LIMIT);
    if (plan->task_count < 2) return said;
    mask found = solve_contradiction(plan, at, world, solved, v);
    found &= mask_select(mask_zero(said & mask_splat(IK_TOO_FAST)), ~mask_splat(0), mask_splat(0));
    found = mask_select(mask_zero(said & beyond), found, found & mask_splat(IK_LEVEL));
    return mask_select(mask_zero(found), said, (said & ~stalled) | found);
}
