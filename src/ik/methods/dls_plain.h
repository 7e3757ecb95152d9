/* dls of a plain case: one chain of joints that turn freely, and one place to reach. It has three rows, all of it is in
 * registers, and no turn is kept but what all of them do to each joint. */

static int dls_is_plain(const ik_plan *plan) {
    if (plan->task_count != 1 || !joint_task_is_simple(plan->tasks) || plan->tasks[0].kind != IK_PLACE) return 0;
    if (plan->rigid || plan->limited || plan->slides || plan->postures) return 0;
    for (int k = 0; k < plan->count; k++)
        if (plan->nodes[k].axes) return 0;
    return plan->job->options.posture == 0;
}

/* ---- the start */

/* A plain chain is laid towards a target out of its reach, and its end is the target from now on: all bones forwards,
 * or where the target is too near, all but a longest one backwards. */
static void dls_answer(const ik_plan *plan, const pose *start, columns record) {
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

/* ---- a step */

ik_inline int dls_tip(const ik_plan *plan) { return plan->nodes[plan->tasks[0].node].slot; }

/* As errors_measure. */
ik_inline errors dls_measure_plain(const ik_plan *plan, columns c, vec3 tip, vec3 *row) {
    const int task = joint_task(plan, 0);
    vec3 off = vec3_sub(column_vec3(c, task + TASK_TARGET), tip);
    *row = vec3_scale(*column(c, task + TASK_WEIGHT), off);
    real square = vec3_dot(*row, *row);
    real largest = real_max(vec3_length(off) * *column(c, task + TASK_UNIT), real_splat(0)) + real_poison(square);
    return (errors){square, square, largest};
}

/* The block of the place with itself. */
ik_inline mat3 dls_block_plain(const ik_plan *plan, columns c) {
    vec3 tip = column_vec3(c, joint_position(plan, dls_tip(plan)));
    mat3 sum = mat3_zero();
    for (int k = plan->tasks[0].node; k >= 0; k = joint_next(plan, k)) {
        if (!plan->nodes[k].turns) continue;
        vec3 r = vec3_sub(tip, column_vec3(c, joint_position(plan, plan->nodes[k].slot)));
        sum = mat3_add(sum, rows_all_axes(r, 0, r, 0));
    }
    real scale = *column(c, joint_task(plan, 0) + TASK_WEIGHT);
    return mat3_scale(scale * scale, sum);
}

/* Where damping is given all turns are cut alike, by cutting the pull. */
ik_inline vec3 dls_shorten(const ik_plan *plan, columns c, vec3 pull) {
    if (plan->job->options.damping == 0) return pull;
    vec3 tip = column_vec3(c, joint_position(plan, dls_tip(plan)));
    real largest = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 r = vec3_sub(tip, column_vec3(c, joint_position(plan, slot)));
        largest = real_max(vec3_length(vec3_cross(r, pull)), largest);
    }
    real most = real_splat((number)plan->job->options.max_step);
    return vec3_scale(real_min(real_splat(1), most / (largest + real_splat(TINY_LENGTH))), pull);
}

/* What pulls at the tip. */
ik_inline dls_outlook dls_solve_plain(const ik_plan *plan, columns c, vec3 *pull) {
    vec3 row;
    errors e = dls_measure_plain(plan, c, column_vec3(c, joint_position(plan, dls_tip(plan))), &row);
    real y[3] = {row.x, row.y, row.z}, a[6];
    dls_cut_error(plan, c, y, 1);
    mat3 block = dls_block_plain(plan, c);
    rows_set_block(a, 1, 0, 0, block.x, 1);
    rows_set_block(a, 1, 1, 0, block.y, 2);
    rows_set_block(a, 1, 2, 0, block.z, 3);
    real damping = dls_damping(plan, c, diagonal_of(a, 1, 3));
    ldl_factor_by_rows(3, a, 1, damping);
    ldl_solve_by_rows(3, a, 1, y);
    *pull = vec3_scale(*column(c, joint_task(plan, 0) + TASK_WEIGHT), (vec3){y[0], y[1], y[2]});
    *pull = dls_shorten(plan, c, *pull);
    return (dls_outlook){e, damping * damping * square_of(y, 1, 3)};
}

/* As turns_try. */
ik_inline void dls_try_plain(const ik_plan *plan, real *bundle, int groups, const vec3 *pulls) {
    const real most = real_splat((number)plan->job->options.max_step);
    for (int slot = 0; slot < plan->slots; slot++)
        for (int g = 0; g < groups; g++) {
            columns c = columns_of_bundle(bundle, g);
            vec3 place = column_vec3(c, joint_position(plan, slot));
            vec3 tip = column_vec3(c, joint_position(plan, dls_tip(plan)));
            turns_carry(plan, c, slot, place, quat_of_vector(vec3_cross(vec3_sub(tip, place), pulls[g]), most));
        }
}

ik_inline void dls_pass_plain(const ik_plan *plan, real *bundle, int groups) {
    dls_outlook outlook[GROUPS];
    vec3 pulls[GROUPS], row;
    for (int g = 0; g < groups; g++)
        outlook[g] = dls_solve_plain(plan, columns_of_bundle(bundle, g), &pulls[g]);
    dls_try_plain(plan, bundle, groups, pulls);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        errors e = dls_measure_plain(plan, c, column_vec3(c, step_place(plan, dls_tip(plan))), &row);
        dls_conclude(plan, bundle, g, mask_splat(0), outlook[g], e);
    }
}

/* The compiler unrolls the whole bundle. */
static void dls_step_plain(const ik_plan *plan, real *bundle, int groups) {
    if (groups == GROUPS)
        dls_pass_plain(plan, bundle, GROUPS);
    else
        dls_pass_plain(plan, bundle, 1);
}
