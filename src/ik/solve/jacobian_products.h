/* Products with the Jacobian J and the mobilities W: J W J^T, J^T y and J d. */

/* ---- J W J^T */

/* The lowest node that is an ancestor of both, or one of them; parents come first. */
static inline int rows_common(const ik_plan *plan, int a, int b) {
    while (a != b)
        if (a > b)
            a = joint_next(plan, a);
        else
            b = joint_next(plan, b);
    return a;
}

/* The contribution of a joint at the origin to the block of two tasks, at a and b, or anywhere for rotations: about all
 * axes, or one. */
ik_inline mat3 rows_all_axes(vec3 a, int a_turns, vec3 b, int b_turns) {
    const real zero = real_splat(0), one = real_splat(1);
    if (a_turns && b_turns) return (mat3){{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
    if (a_turns) return (mat3){{zero, -b.z, b.y}, {b.z, zero, -b.x}, {-b.y, b.x, zero}};
    if (b_turns) return (mat3){{zero, a.z, -a.y}, {-a.z, zero, a.x}, {a.y, -a.x, zero}};
    real dot = vec3_dot(a, b);
    return (mat3){{dot - b.x * a.x, -(b.x * a.y), -(b.x * a.z)},
                  {-(b.y * a.x), dot - b.y * a.y, -(b.y * a.z)},
                  {-(b.z * a.x), -(b.z * a.y), dot - b.z * a.z}};
}

ik_inline mat3 rows_one_axis(vec3 axis, vec3 a, int a_turns, vec3 b, int b_turns) {
    vec3 s = a_turns ? axis : vec3_cross(axis, a), t = b_turns ? axis : vec3_cross(axis, b);
    return mat3_outer(s, t);
}

/* The contribution of sliding to the block of two positions. */
static inline mat3 rows_slide_block(const ik_plan *plan, columns c, int k) {
    const real one = real_splat(1), zero = real_splat(0);
    const vec3 axes[3] = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
    quat above = joint_parent(plan, c, k);
    mat3 sum = mat3_zero();
    for (int i = 0; i < 3; i++) {
        vec3 axis = quat_rotate(above, axes[i]);
        sum = mat3_add(sum, mat3_outer(vec3_scale(rows_slides(plan, c, plan->nodes[k].slot, i), axis), axis));
    }
    return sum;
}

/* The block of two simple tasks, over all joints that move both. */
ik_inline mat3 rows_block(const ik_plan *plan, columns c, int task, int other) {
    const ik_task *s = &plan->tasks[task], *t = &plan->tasks[other];
    int a_turns = s->kind == IK_TURN, b_turns = t->kind == IK_TURN;
    vec3 p = column_vec3(c, joint_position(plan, plan->nodes[s->node].slot));
    vec3 q = column_vec3(c, joint_position(plan, plan->nodes[t->node].slot));
    mat3 sum = mat3_zero();
    for (int k = rows_common(plan, s->node, t->node); k >= 0; k = joint_next(plan, k)) {
        const ik_node *node = &plan->nodes[k];
        if (node->slides && !a_turns && !b_turns) sum = mat3_add(sum, rows_slide_block(plan, c, k));
        if (!node->turns) continue;
        vec3 at = column_vec3(c, joint_position(plan, node->slot)), a = vec3_sub(p, at), b = vec3_sub(q, at);
        if (!node->axes) sum = mat3_add(sum, rows_all_axes(a, a_turns, b, b_turns));
        for (int i = 0; i < node->axes; i++) {
            mat3 one = rows_one_axis(column_vec3(c, step_axis(plan, node->slot) + 3 * i), a, a_turns, b, b_turns);
            sum = mat3_add(sum, mat3_scale(rows_willing(plan, c, k, i), one));
        }
    }
    return sum;
}

/* The block of any two tasks. */
static inline mat3 rows_any_block(const ik_plan *plan, columns c, int task, int other) {
    rows_task s = rows_see(plan, c, task), t = rows_see(plan, c, other);
    mat3 sum = mat3_zero();
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!task_side(plan, task, slot) || !task_side(plan, other, slot)) continue;
        rows_way ways[ROWS_WAYS];
        int k = plan->node_of_slot[slot], count = rows_ways(plan, c, k, ways);
        for (int i = 0; i < count; i++) {
            vec3 a = rows_change_by(plan, c, &s, k, &ways[i]), b = rows_change_by(plan, c, &t, k, &ways[i]);
            sum = mat3_add(sum, mat3_outer(vec3_scale(ways[i].willing, a), b));
        }
    }
    return sum;
}

ik_inline void rows_set_block(real *a, int step, int row, int column, vec3 v, int count) {
    a[packed(row, column) * step] = v.x;
    if (count > 1) a[packed(row, column + 1) * step] = v.y;
    if (count > 2) a[packed(row, column + 2) * step] = v.z;
}

ik_inline void rows_assemble(const ik_plan *plan, columns c, real *a, int step) {
    for (int t = 0; t < plan->task_count; t++)
        for (int u = 0; u <= t; u++) {
            const ik_task *task = &plan->tasks[t], *other = &plan->tasks[u];
            int simple = joint_task_is_simple(task) && joint_task_is_simple(other);
            mat3 block = mat3_zero();
            if (simple)
                block = rows_block(plan, c, t, u);
            else if (rows_count(plan, c, t) && rows_count(plan, c, u))
                block = rows_any_block(plan, c, t, u);
            block = mat3_scale(rows_scale(plan, c, t) * rows_scale(plan, c, u), block);
            int row = task->row, column = other->row;
            int rows = simple ? 3 : ik_task_rows(task), numbers = simple ? 3 : ik_task_rows(other);
            rows_set_block(a, step, row, column, block.x, t == u ? 1 : numbers);
            if (rows > 1) rows_set_block(a, step, row + 1, column, block.y, t == u ? 2 : numbers);
            if (rows > 2) rows_set_block(a, step, row + 2, column, block.z, numbers);
        }
}

/* ---- J^T y */

/* The pull of y at every joint that moves a simple task. */
ik_inline void rows_pull_simple(const ik_plan *plan, columns c, int task, vec3 y) {
    const ik_task *t = &plan->tasks[task];
    vec3 p = column_vec3(c, joint_position(plan, plan->nodes[t->node].slot));
    for (int k = t->node; k >= 0; k = joint_next(plan, k)) {
        int slot = plan->nodes[k].slot;
        if (plan->nodes[k].slides && t->kind == IK_PLACE) rows_add(c, step_slide(plan, slot), y);
        if (!plan->nodes[k].turns) continue;
        vec3 r = vec3_sub(p, column_vec3(c, joint_position(plan, slot)));
        rows_add(c, step_own(plan, slot), t->kind == IK_TURN ? y : vec3_cross(r, y));
    }
}

static inline void rows_pull_any(const ik_plan *plan, columns c, int task, vec3 y) {
    const real one = real_splat(1), zero = real_splat(0);
    const vec3 axes[3] = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}}, none = {zero, zero, zero};
    rows_task seen = rows_see(plan, c, task);
    for (int slot = 0; slot < plan->slots; slot++) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        real turn[3], slide[3];
        if (!task_side(plan, task, slot) || (!node->turns && !node->slides)) continue;
        for (int i = 0; i < 3; i++) {
            turn[i] = vec3_dot(y, rows_change(plan, c, &seen, plan->node_of_slot[slot], axes[i], none));
            slide[i] = vec3_dot(y, rows_change(plan, c, &seen, plan->node_of_slot[slot], none, axes[i]));
        }
        if (node->turns) rows_add(c, step_own(plan, slot), (vec3){turn[0], turn[1], turn[2]});
        if (node->slides) rows_add(c, step_slide(plan, slot), (vec3){slide[0], slide[1], slide[2]});
    }
}

/* The pull of all rows at all joints, still in world axes. */
ik_inline void rows_pull(const ik_plan *plan, columns c, const real *y, int step) {
    for (int slot = 0; slot < plan->slots; slot++) {
        column_set_vec3(c, step_own(plan, slot), vec3_splat(0, 0, 0));
        if (plan->slides) column_set_vec3(c, step_slide(plan, slot), vec3_splat(0, 0, 0));
    }
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        vec3 row = vec3_scale(rows_scale(plan, c, t), rows_at(y, step, task->row, ik_task_rows(task)));
        if (joint_task_is_simple(task))
            rows_pull_simple(plan, c, t, row);
        else if (rows_count(plan, c, t))
            rows_pull_any(plan, c, t, row);
    }
}

/* The own turn of a joint with a pull: W pull. */
ik_inline vec3 rows_turn(const ik_plan *plan, columns c, int k, vec3 pull) {
    int axes = plan->nodes[k].axes, axis = step_axis(plan, plan->nodes[k].slot);
    vec3 sum = vec3_splat(0, 0, 0);
    if (!axes) return pull;
    for (int i = 0; i < axes; i++) {
        vec3 u = column_vec3(c, axis + 3 * i);
        real by = rows_willing(plan, c, k, i) * vec3_dot(u, pull);
        if (axes == 1) return (vec3){by, real_splat(0), real_splat(0)};
        sum = vec3_add(sum, vec3_scale(by, u));
    }
    return sum;
}

/* Its slide. */
static inline vec3 rows_slide_by(const ik_plan *plan, columns c, int k, vec3 pull) {
    const int slot = plan->nodes[k].slot;
    pull = quat_rotate(quat_conjugate(joint_parent(plan, c, k)), pull);
    return (vec3){rows_slides(plan, c, slot, 0) * pull.x, rows_slides(plan, c, slot, 1) * pull.y,
                  rows_slides(plan, c, slot, 2) * pull.z};
}

/* ---- J d */

/* The columns of turns and slides; some or all of them are own ones. */
typedef struct {
    int (*turns)(const ik_plan *plan, int slot);
    int (*slides)(const ik_plan *plan, int slot); /* NULL: none */
} rows_moves;

/* The change of a simple task by them. */
static inline vec3 rows_seen_simple(const ik_plan *plan, columns c, const ik_task *task, rows_moves moves) {
    vec3 p = column_vec3(c, joint_position(plan, plan->nodes[task->node].slot)), sum = vec3_splat(0, 0, 0);
    for (int k = task->node; k >= 0; k = joint_next(plan, k)) {
        int slot = plan->nodes[k].slot;
        if (plan->nodes[k].slides && moves.slides && task->kind == IK_PLACE)
            sum = vec3_add(sum, quat_rotate(joint_parent(plan, c, k), column_vec3(c, moves.slides(plan, slot))));
        if (!plan->nodes[k].turns) continue;
        vec3 by = column_vec3(c, moves.turns(plan, slot));
        mask some = ~mask_equal(vec3_size(by), real_splat(0));
        if (!mask_any(some)) continue;
        by = turns_vector(plan, c, k, by);
        vec3 r = vec3_sub(p, column_vec3(c, joint_position(plan, slot)));
        sum = vec3_add(sum, task->kind == IK_TURN ? by : vec3_cross(by, r));
    }
    return sum;
}

static inline vec3 rows_seen_any(const ik_plan *plan, columns c, int task, rows_moves moves) {
    vec3 sum = vec3_splat(0, 0, 0);
    rows_task seen = rows_see(plan, c, task);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        vec3 turn = vec3_splat(0, 0, 0), slide = turn;
        if (!task_side(plan, task, slot)) continue;
        if (plan->nodes[k].turns) turn = turns_vector(plan, c, k, column_vec3(c, moves.turns(plan, slot)));
        if (plan->nodes[k].slides && moves.slides)
            slide = quat_rotate(joint_parent(plan, c, k), column_vec3(c, moves.slides(plan, slot)));
        sum = vec3_add(sum, rows_change(plan, c, &seen, k, turn, slide));
    }
    return sum;
}

static inline vec3 rows_seen(const ik_plan *plan, columns c, int task, rows_moves moves) {
    const ik_task *t = &plan->tasks[task];
    return joint_task_is_simple(t) ? rows_seen_simple(plan, c, t, moves) : rows_seen_any(plan, c, task, moves);
}

static inline void rows_take_off(const ik_plan *plan, columns c, rows_moves moves, real *rows, int step) {
    for (int t = 0; t < plan->task_count; t++) {
        int first = plan->tasks[t].row, count = ik_task_rows(&plan->tasks[t]);
        vec3 row = vec3_scale(errors_scale(plan, c, t), rows_seen(plan, c, t, moves));
        rows_set(rows, step, first, count, vec3_sub(rows_at(rows, step, first, count), row));
    }
}

/* Rows of tasks that do not count are 0. */
static inline void rows_drop_inactive(const ik_plan *plan, columns c, real *y, int step) {
    for (int t = 0; t < plan->task_count; t++) {
        if (!task_is_one_sided(&plan->tasks[t])) continue;
        real *row = &y[plan->tasks[t].row * step];
        *row = real_select(rows_is_active(plan, c, t), *row, real_splat(0));
    }
}
