/* Manipulability. T. Yoshikawa, "Manipulability of robotic mechanisms", International Journal of Robotics Research 4
 * (1985).
 *
 * Idea. The manipulability w, the root of det J W J^T, measures the volume through which all rotations of length 1 move
 * the goals, to first order. It is 0 in a singular pose. Joints are drawn to larger w in the null space of the goals
 * (solve/postures.h). Let J_j be the derivative of the rows by coordinate j, and y_j = (J W J^T)^-1 W J_j. The gradient
 * of log w then sums the changes of all J_j by rotation i:
 *
 *   g_i = sum over j of y_j . (a_i x J_j)    for coordinates j of the same joint, or of one below
 *                     + y_j . (a_j x J_i)    for rotations j above; position tasks only
 *
 * Two sweeps compute it: moments J_j x y_j from the tips, and y_j x a_j from the root. Only position and rotation tasks
 * in world space contribute. */

/* Columns of a step, after those of the posture: the moments below each joint; for every task, the sum over the
 * rotations above. */
ik_inline int manipulability_moment(const ik_plan *plan, int slot) {
    return posture_draw(plan, plan->slots) + 3 * slot;
}
ik_inline int manipulability_above(const ik_plan *plan, int task) {
    return manipulability_moment(plan, plan->slots) + 3 * task;
}

/* The derivative of task t by a coordinate, scaled. */
static vec3 manipulability_seen(const ik_plan *plan, columns c, int task, int k, const rows_way *way) {
    if (!task_side(plan, task, plan->nodes[k].slot)) return vec3_splat(0, 0, 0);
    rows_task seen = rows_see(plan, c, task);
    return vec3_scale(rows_scale(plan, c, task), rows_change_by(plan, c, &seen, k, way));
}

/* Adds a coordinate to the moments of its joint, and to the sums for joints below. `s.again` has the factors. */
static void manipulability_add(const ik_plan *plan, columns c, int k, const rows_way *way, rows_system s) {
    for (int t = 0; t < plan->task_count; t++)
        rows_set(s.z, s.step, plan->tasks[t].row, ik_task_rows(&plan->tasks[t]),
                 manipulability_seen(plan, c, t, k, way));
    ldl_solve(s.again, s.step, s.rows, s.z);
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        if (!joint_task_is_simple(task) || !task_side(plan, t, plan->nodes[k].slot)) continue;
        vec3 y = vec3_scale(way->willing, rows_at(s.z, s.step, task->row, 3));
        vec3 moment = vec3_cross(manipulability_seen(plan, c, t, k, way), y);
        rows_add(c, manipulability_moment(plan, plan->nodes[k].slot), moment);
        if (task->kind == IK_PLACE && !way->slides)
            rows_add(c, manipulability_above(plan, t), vec3_cross(y, way->axis));
    }
}

/* The change of node k's derivatives by rotations above it. */
static vec3 manipulability_by_above(const ik_plan *plan, columns c, int k) {
    vec3 sum = vec3_splat(0, 0, 0);
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        if (!joint_task_is_simple(task) || task->kind != IK_PLACE || !task_side(plan, t, plan->nodes[k].slot)) continue;
        vec3 p = column_vec3(c, joint_position(plan, plan->nodes[task->node].slot));
        vec3 arm = vec3_sub(p, column_vec3(c, joint_position(plan, plan->nodes[k].slot)));
        vec3 draw = vec3_cross(arm, column_vec3(c, manipulability_above(plan, t)));
        sum = vec3_add(sum, vec3_scale(rows_scale(plan, c, t), draw));
    }
    return sum;
}

/* Writes the gradient of log w to the posture's draw columns. */
ik_outline void manipulability_find(const ik_plan *plan, columns c, rows_system s) {
    for (int slot = 0; slot < plan->slots; slot++)
        column_set_vec3(c, manipulability_moment(plan, slot), vec3_splat(0, 0, 0));
    for (int t = 0; t < plan->task_count; t++)
        column_set_vec3(c, manipulability_above(plan, t), vec3_splat(0, 0, 0));
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        rows_way ways[ROWS_WAYS];
        const int count = rows_ways(plan, c, k, ways);
        column_set_vec3(c, posture_draw(plan, slot), manipulability_by_above(plan, c, k));
        for (int i = 0; i < count; i++)
            manipulability_add(plan, c, k, &ways[i], s);
    }
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        const vec3 moment = column_vec3(c, manipulability_moment(plan, slot));
        rows_add(c, posture_draw(plan, slot), moment);
        if (node->moves) rows_add(c, manipulability_moment(plan, plan->nodes[node->parent].slot), moment);
    }
}
