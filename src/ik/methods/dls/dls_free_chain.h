/* dls of a plain case: one chain of joints that turn freely, and one place to reach. It has three rows, all of it is in
 * registers, and no turn is kept but what all of them do to each joint. */

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

/* Constant damping: all turns are scaled down alike, by scaling the pull. */
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

/* The pull at the tip: the solution of the three equations. */
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
    return (dls_outlook){e, dls_foreseen(plan, e.square, damping * damping * square_of(y, 1, 3))};
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
