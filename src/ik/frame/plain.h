/* The plain case: one chain of joints that turn freely, and one place to reach. Where that is out of reach the answer
 * is known: the chain is laid towards it, and where its end is then is the target from now on. Without that a method
 * creeps towards what it cannot reach, and says that it has stalled where nothing but the distance is to blame. */

static inline int plain_is(const ik_plan *plan) {
    if (plan->task_count != 1 || !joint_task_is_simple(plan->tasks) || plan->tasks[0].kind != IK_PLACE) return 0;
    if (plan->rigid || plan->limited || plan->slides || plan->postures) return 0;
    for (int k = 0; k < plan->count; k++)
        if (plan->nodes[k].axes) return 0;
    return plan->job->options.posture == 0;
}

/* All bones forwards; or, where the target is too near, all but a longest one backwards. After joint_load; where the
 * case is not plain, nothing. */
static inline void plain_answer(const ik_plan *plan, const pose *start, columns record) {
    if (!plain_is(plan)) return;
    const real one = real_splat(1);
    int end = plan->tasks[0].node, base = solve_base(plan, end), target = joint_task(plan, 0) + TASK_TARGET;
    chain_reach reach = solve_reach(plan, start, end);
    vec3 tip = start->positions[base], along = vec3_direction(vec3_sub(start->positions[end], tip)).unit;
    direction to_target = vec3_direction_of_any(vec3_sub(column_vec3(record, target), tip));
    mask near = mask_less(to_target.length, chain_inner(reach)), out = near | mask_less(reach.sum, to_target.length);
    if (!mask_any(out)) return;
    mask apart = mask_less(real_splat(TINY_SINE) * reach.sum, to_target.length), waiting = near;
    vec3 line = vec3_select(apart, to_target.unit, along);
    quat turn = quat_identity();
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], child = plan->nodes[k].child, rotation = joint_rotation(slot);
        int position = joint_position(plan, slot);
        column_set_vec3(record, position, vec3_select(out, tip, column_vec3(record, position)));
        if (child < 0) break;
        vec3 bone = quat_rotate(turn, solve_bone(plan, start, child));
        real length = vec3_length(solve_bone(plan, start, child));
        mask longest = waiting & ~mask_less(length, reach.longest);
        real way = real_select(near & ~longest, -one, one);
        waiting &= ~longest;
        turn = quat_multiply(quat_shortest_arc(bone, vec3_scale(way, line), vec3_perpendicular(line)), turn);
        quat before = column_quat(record, rotation);
        column_set_quat(record, rotation, quat_select(out, quat_multiply(turn, before), before));
        tip = vec3_add(tip, vec3_scale(way * length, line));
    }
    column_set_vec3(record, target, vec3_select(out, tip, column_vec3(record, target)));
}
