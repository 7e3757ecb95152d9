/* What is to say of a solved pose, and nobody but its forward kinematics decides: how far off it is, whether its
 * targets were in reach, and whether a limit is in the way. */

/* What is to say of a group. */
typedef struct {
    real error, rotation_error; /* the largest of all goals */
    real reach;                 /* of the longest chain */
    mask missed;
    mask said;
    mask finite, has_length;
} verdict;

/* By how much rounding may put a node elsewhere. */
ik_inline real solve_rounding(const pose *world, int k) {
    real size = vec3_size(world->positions[k]) + world->scale * vec3_size(world->origin);
    return real_splat(16 * EPSILON) * size;
}

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
    if (mask_any(still)) slack = real_select(still, real_max(slack, solve_rounding(world, k)), slack);
    mask missed = mask_less(slack, error);
    mask far = mask_less(reach.sum + slack, distance), near = mask_less(distance, chain_inner(reach) - slack);
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

/* By forward kinematics of the pose that is returned, after so many iterations, of which a method says `flags`. */
ik_inline verdict solve_judge(const ik_plan *plan, group at, const pose *world, real iterations, mask flags) {
    const real zero = real_splat(0);
    verdict v = {zero, zero, zero, mask_splat(0), mask_splat(0), world->given, ~mask_splat(0)};
    int has_point = 0, has_rotation = 0;
    for (int k = 0; k < plan->count; k++) {
        v.finite &= mask_is_finite(vec3_size(world->positions[k]) + solve_rotation(world, k).w);
        if (plan->nodes[k].point >= 0) solve_judge_position(plan, at, world, k, &v), has_point = 1;
        if (plan->nodes[k].rotation >= 0) solve_judge_rotation(plan, at, world, k, &v), has_rotation = 1;
    }
    if (has_point && !has_rotation) v.has_length = mask_less(zero, v.reach) | ~v.missed;
    real most = real_splat((number)plan->job->options.iterations);
    mask ended = ~mask_less(iterations, most) & mask_splat(IK_ITERATION_LIMIT);
    mask said = v.said | flags;
    said |= mask_zero(said) & ended;
    said |= mask_zero(said) & mask_splat(IK_STALLED);
    v.said = (v.missed & said) | (world->undefined & mask_splat(IK_POLE_UNDEFINED));
    return v;
}

/* ---- whether a limit is in the way */

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
static mask solve_at_limit(const ik_plan *plan, group at, const pose *world, const quat *solved) {
    const real share = real_splat(SOLVE_SHARE);
    mask found = mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        if (!plan->nodes[k].turns || ((const limit *)plan->limits)[k].kind == IK_FREE) continue;
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
