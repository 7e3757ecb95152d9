/* The numbers of goals, scaled: wanted positions and rotations, errors, and the reach and tolerance of a task; and the
 * allowed rotations of a joint. */

/* The wanted position of node k, scaled; if its goal has weight 0, `otherwise`, so that a NaN in it does not matter. */
ik_inline vec3 solve_target(const ik_plan *plan, group at, const pose *world, int k, vec3 otherwise, real *weight) {
    const ik_goal *goal = &plan->job->goals[plan->nodes[k].point];
    *weight = solve_weight(&goal->weight, at);
    vec3 target = vec3_scale(world->scale, vec3_sub(lanes_load_vec3(&goal->position, at), world->origin));
    return vec3_select(mask_equal(*weight, real_splat(0)), otherwise, target);
}

/* How far the chain that ends at node k may slide; scaled. */
static inline real solve_travel(const ik_plan *plan, const pose *start, int k) {
    real sum = real_splat(0);
    for (int end = plan->nodes[solve_base(plan, k)].parent; k != end; k = plan->nodes[k].parent) {
        if (!plan->nodes[k].slides) continue;
        vec3 way = vec3_sub(solve_end_of_travel(plan, k, 1), solve_end_of_travel(plan, k, 0));
        sum = sum + start->scale * (way.x + way.y + way.z);
    }
    return sum;
}

/* The longest distance from nodes to their targets. */
static inline real solve_way(const ik_plan *plan, group at, const pose *world) {
    real longest = real_splat(0), weight;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        if (task->kind != IK_PLACE || task->other >= 0) continue;
        vec3 now = world->positions[task->node];
        vec3 target = solve_target(plan, at, world, task->node, now, &weight);
        longest = real_max(longest, vec3_direction_of_any(vec3_sub(target, now)).length);
    }
    return longest;
}

/* Moves a far target nearer, so that squares do not overflow: only its direction matters. */
#define SOLVE_FAR  (number)1e3 /* of the reach */
#define SOLVE_AWAY 0x1p30f     /* scaled: what slides may go far */
ik_inline vec3 solve_nearer(const ik_plan *plan, const pose *start, int k, vec3 target) {
    vec3 base = start->positions[solve_base(plan, k)];
    direction off = vec3_direction_of_any(vec3_sub(target, base));
    real most = real_splat(SOLVE_FAR) * solve_reach(plan, start, k).sum;
    if (plan->slides)
        most = real_min(most + real_splat(SOLVE_FAR) * solve_travel(plan, start, k), real_splat(SOLVE_AWAY));
    mask far = mask_less(most, off.length);
    return vec3_select(far, vec3_add(base, vec3_scale(most, off.unit)), target);
}

/* The wanted rotation; likewise. */
ik_inline quat solve_wanted_rotation(const ik_plan *plan, group at, int k, quat otherwise, real *weight) {
    const ik_goal *goal = &plan->job->goals[plan->nodes[k].rotation];
    *weight = solve_weight(&goal->weight, at);
    quat target = quat_unit(lanes_load_quat(&goal->rotation, at));
    return quat_select(mask_equal(*weight, real_splat(0)), otherwise, target);
}

/* The same for the rotations that a method uses: with scales, as far from the target as the two are apart now. */
ik_inline quat solve_target_rotation(const ik_plan *plan, group at, int k, quat otherwise, real *weight) {
    const pose *now = plan->pose;
    quat target = solve_wanted_rotation(plan, at, k, otherwise, weight);
    if (!solve_scaled(now)) return target;
    quat apart = quat_multiply(quat_conjugate(solve_rotation(now, k)), now->rotations[k]);
    return quat_select(mask_equal(*weight, real_splat(0)), otherwise, quat_multiply(target, apart));
}

/* The wanted values of a task, scaled; harmless ones for a goal with weight 0. */
static inline task_wanted solve_wanted(const ik_plan *plan, group at, const pose *world, const ik_task *task,
                                       real *weight) {
    const ik_goal *goal = &plan->job->goals[task->goal];
    const real zero = real_splat(0);
    task_assume_plain(task);
    *weight = solve_weight(&goal->weight, at);
    const mask counts = ~mask_equal(*weight, zero);
    task_wanted wanted = {.place = vec3_splat(0, 0, 0), .number = zero};
    if (task->kind == IK_TURN) {
        wanted.rotation = quat_select(counts, quat_unit(lanes_load_quat(&goal->rotation, at)), quat_identity());
        return wanted;
    }
    if (IS_WIDE) {
        vec3 place = vec3_scale(world->scale, vec3_sub(lanes_load_vec3(&goal->position, at), world->origin));
        wanted.place = vec3_select(counts, place, wanted.place);
        return wanted;
    }
    real distance = world->scale * lanes_load_option(&goal->distance, at, 0);
    if (goal->position.data) {
        vec3 from = task->other >= 0 ? vec3_splat(0, 0, 0) : world->origin;
        wanted.place = vec3_scale(world->scale, vec3_sub(lanes_load_vec3(&goal->position, at), from));
    }
    wanted.number = distance;
    if (task->kind == IK_INSIDE) {
        vec3 given = lanes_load_vec3(&goal->normal, at), normal = vec3_direction_of_any(given).unit;
        wanted.number = vec3_dot(normal, wanted.place) + distance + vec3_poison(given);
        wanted.place = normal;
    }
    if (task->kind == IK_OUTSIDE) {
        wanted.end = wanted.place;
        if (goal->end.data)
            wanted.end = vec3_scale(world->scale, vec3_sub(lanes_load_vec3(&goal->end, at), world->origin));
        wanted.number = distance + vec3_poison(wanted.end);
        wanted.end = vec3_select(counts, wanted.end, vec3_splat(0, 0, 0));
    }
    wanted.place = vec3_select(counts, wanted.place, vec3_splat(0, 0, 0));
    wanted.number = real_select(counts, wanted.number, zero);
    return wanted;
}

/* For poses with scales: the rotation from the judged rotation of a node to the product of local rotations, which
 * methods turn. */
ik_inline quat solve_apart(const pose *world, int k) {
    return quat_multiply(quat_conjugate(solve_rotation(world, k)), world->rotations[k]);
}

/* The local rotation that a posture wants for node k. */
static inline quat solve_posture(const ik_plan *plan, group at, int k) {
    const ik_node *node = &plan->nodes[k];
    const ik_rows *given = node->posture < 0 ? NULL : &plan->job->goals[node->posture].rotation;
    if (given && given->data) return quat_unit(lanes_load_quat(given, at));
    return solve_preferred(plan, k);
}

/* The error of a pose for a task: a distance in the scale of the pose, or an angle. */
static inline real solve_miss(const ik_plan *plan, group at, const pose *world, const ik_task *task, real *weight) {
    task_wanted wanted = solve_wanted(plan, at, world, task, weight);
    task_view view = solve_view(plan, world, task);
    task_meet(task, &wanted, &view);
    real miss = vec3_length(task_miss(task, task_error(plan, task, &wanted, &view)));
    return real_select(mask_equal(*weight, real_splat(0)), real_splat(0), miss);
}

/* For a task that limits lock: the longest chain from the first locked joint to its subject. */
static inline real solve_held_reach(const ik_plan *plan, const pose *world, const ik_task *task) {
    real longest = real_splat(0);
    for (int end = task->held; end < plan->count; end++) {
        if (!ik_is_about(plan, task, end) || !ik_carries(plan, task->held, end)) continue;
        real sum = real_splat(0);
        for (int k = end; k != task->held; k = plan->nodes[k].parent)
            sum = sum + vec3_length(solve_bone(plan, world, k));
        longest = real_max(longest, sum);
    }
    return longest;
}

/* The reach on which the tolerance of a task is based. */
static inline real solve_task_reach(const ik_plan *plan, const pose *world, const ik_task *task) {
    real reach = real_splat(0);
    if (task->held >= 0) return solve_held_reach(plan, world, task);
    if (task->node >= 0) reach = solve_reach(plan, world, task->node).sum;
    if (task->other >= 0) reach = real_max(reach, solve_reach(plan, world, task->other).sum);
    return real_select(mask_less(real_splat(0), reach), reach, solve_longest(plan, world));
}

/* The position error of a node from rounding. */
ik_inline real solve_rounding(const pose *world, int k) {
    real size = vec3_size(world->positions[k]) + world->scale * vec3_size(world->origin);
    return real_splat(16 * EPSILON) * size;
}

/* The tolerance of a task: a share of its reach; without a reach, rounding. */
static inline real solve_task_slack(const pose *world, const ik_task *task, double tolerance, real reach) {
    real rounding = task->node >= 0 ? solve_rounding(world, task->node) : real_splat(0);
    if (task->other >= 0) rounding = rounding + solve_rounding(world, task->other);
    return real_select(mask_equal(reach, real_splat(0)), rounding, real_splat((number)tolerance) * reach);
}

/* From node k to the centre of the mass that it carries, times the share of that mass: the centre of mass moves by this
 * much as the node turns. */
static inline vec3 solve_carried_arm(const ik_plan *plan, const pose *world, int k) {
    vec3 sum = vec3_splat(0, 0, 0);
    for (int below = k; below < plan->count; below++) {
        if (plan->nodes[below].mass == 0 || !ik_carries(plan, k, below)) continue;
        vec3 arm = vec3_sub(world->positions[below], world->positions[k]);
        sum = vec3_add(sum, vec3_scale(real_splat((number)(plan->nodes[below].mass / plan->mass)), arm));
    }
    return sum;
}

/* ---- limits */

/* The nearest allowed local rotation of node k. */
ik_inline quat solve_allowed(const ik_plan *plan, int k, quat local) {
    const limit *limits = plan->limits;
    if (!limits || limits[k].kind == IK_FREE) return local;
    quat rest = solve_rest(plan, k);
    return quat_multiply(rest, IK_NAME(limit_project)(&limits[k], quat_multiply(quat_conjugate(rest), local)));
}

/* An allowed rotation near to one of node k relative to rest, by limit_clamp. */
ik_inline quat solve_clamped(const ik_plan *plan, int k, quat turned) {
    const limit *limits = plan->limits;
    return limits ? IK_NAME(limit_clamp)(&limits[k], turned) : turned;
}

/* The limits are followed by room for all cones. */
static inline void solve_prepare_limits(ik_plan *plan, limit *limits) {
    const ik_limit free = {.kind = IK_FREE};
    const ik_skeleton *skeleton = plan->job->skeleton;
    limit_cone *cones = (limit_cone *)(limits + plan->count);
    for (int k = 0; k < plan->count; k++) {
        const ik_node *node = &plan->nodes[k];
        const ik_limit *limit = node->turns ? &skeleton->limits[node->joint] : &free;
        IK_NAME(limit_prepare)(&limits[k], limit, skeleton->cones, cones);
    }
    plan->limits = limits;
}
