/* The Jacobian J of joints (joints.h): the derivatives of all tasks, scaled as by errors.h, by turns and slides. A
 * small turn d of a joint moves a point at r from it by d x r, and rotates its descendants by d. Positions and
 * rotations in the world have closed forms; other tasks use their derivatives (tasks.h). J is never stored. W is the
 * mobility of a joint: 1 - stiffness; 0 if the step holds it.
 *
 *   rows_start      first of all, after turns_start: preparation
 *   rows_assemble   J W J^T, symmetric: a block for two tasks is a sum over the joints that move both. For a ball
 * joint, with r and s from it to the two positions, (r . s) I - s r^T rows_seen       J d: the change of a task by
 * turns and slides rows_take_off   rows minus that rows_pull       J^T y into the columns of own turns and slides
 *   rows_turn, rows_slide_by   W times the pull at a joint
 *   rows_release    last of all: releases what the step has held */

/* Columns of a step, after those of turns.h: whether a joint is held, and whether along each axis of its slide; mass
 * times position of what every node carries, as a share of the whole; for one-sided tasks 1: it counts in this step, 2:
 * it does not any more; and the rows: right sides, additional wanted values, the matrix, and room for another one. */
ik_inline int rows_fixed(const ik_plan *plan, int slot) { return step_columns(plan) + slot; }
ik_inline int rows_pinned(const ik_plan *plan, int slot) { return rows_fixed(plan, plan->slots) + 3 * slot; }
ik_inline int rows_moment(const ik_plan *plan, int slot) {
    return rows_pinned(plan, plan->columns_of_slides) + 3 * slot;
}
ik_inline int rows_active(const ik_plan *plan, int task) {
    return rows_moment(plan, plan->weighed ? plan->slots : 0) + task;
}
ik_inline int rows_first(const ik_plan *plan) { return rows_active(plan, plan->one_sided ? plan->task_count : 0); }
ik_inline int rows_system_columns(const ik_plan *plan) {
    int rows = plan->rows, levels = plan->levels > 1;
    return (levels ? 4 : 2) * rows + (levels ? 3 : 2) * packed(rows, 0);
}
ik_inline int rows_columns(const ik_plan *plan) { return rows_first(plan) + rows_system_columns(plan); }

/* The equations of a step: A y = e, both in place. */
typedef struct {
    real *y, *z, *matrix, *again;
    int rows, step;
} rows_system;

ik_inline rows_system rows_system_at(const ik_plan *plan, columns c, int first) {
    int rows = plan->rows, step = c.step;
    real *y = column(c, first), *z = y + rows * step, *matrix = z + rows * step;
    return (rows_system){y, z, matrix, matrix + packed(rows, 0) * step, rows, step};
}
ik_inline rows_system rows_system_of(const ik_plan *plan, columns c) {
    return rows_system_at(plan, c, rows_first(plan));
}

/* ---- mobility */

/* Node k turns about an axis. It is free (0), held (1), or held about its first axis (2) or two (3) alone. */
ik_inline real rows_willing(const ik_plan *plan, columns c, int k, int axis) {
    const real fixed = *column(c, rows_fixed(plan, plan->nodes[k].slot)), zero = real_splat(0);
    mask held = mask_less(zero, fixed);
    if (axis == 1) held &= ~mask_equal(fixed, real_splat(2));
    if (axis == 2) held &= mask_equal(fixed, real_splat(1));
    return real_select(held, zero, real_splat(1 - (number)plan->nodes[k].limit->stiffness[axis]));
}

/* A node slides along an axis of its parent. */
ik_inline real rows_slides(const ik_plan *plan, columns c, int slot, int axis) {
    real unit = *column(c, joint_lever(plan));
    return unit * unit * (real_splat(1) - *column(c, rows_pinned(plan, slot) + axis));
}

/* A one-sided task counts if it is violated, or would be by the step; but not if it would hold back. */
ik_inline mask rows_is_active(const ik_plan *plan, columns c, int task) {
    return mask_equal(*column(c, rows_active(plan, task)), real_splat(1));
}

/* Whether a task counts in any lane; otherwise its rows are 0. */
ik_inline int rows_count(const ik_plan *plan, columns c, int task) {
    return !task_is_one_sided(&plan->tasks[task]) || mask_any(rows_is_active(plan, c, task));
}

/* The factor of a task's rows in the equations. */
ik_inline real rows_scale(const ik_plan *plan, columns c, int task) {
    real scale = errors_scale(plan, c, task);
    if (!task_is_one_sided(&plan->tasks[task])) return scale;
    return real_select(rows_is_active(plan, c, task), scale, real_splat(0));
}

/* ---- the start of a step */

ik_inline void rows_add(columns c, int at, vec3 v) { column_set_vec3(c, at, vec3_add(column_vec3(c, at), v)); }

/* Mass times position of what every node carries. */
static inline void rows_weigh(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++)
        column_set_vec3(c, rows_moment(plan, slot), vec3_splat(0, 0, 0));
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        real share = real_splat((number)(node->mass / plan->mass));
        rows_add(c, rows_moment(plan, slot), vec3_scale(share, column_vec3(c, joint_position(plan, slot))));
        int above = node->parent < 0 ? -1 : plan->nodes[node->parent].slot;
        if (above >= 0) rows_add(c, rows_moment(plan, above), column_vec3(c, rows_moment(plan, slot)));
    }
}

/* Violated sides of planes count from now on. */
static inline void rows_activate(const ik_plan *plan, columns c) {
    const real zero = real_splat(0), one = real_splat(1);
    for (int t = 0; t < plan->task_count; t++) {
        if (!task_is_one_sided(&plan->tasks[t])) continue;
        real *active = column(c, rows_active(plan, t)), off = errors_off(plan, c, IN_POSE, t).x;
        *active = real_select(mask_equal(*active, zero) & mask_less(zero, off), one, *active);
    }
}

ik_inline void rows_start(const ik_plan *plan, columns c) {
    if (plan->weighed) rows_weigh(plan, c);
    if (plan->one_sided) rows_activate(plan, c);
}

/* Releases all joints in lanes where `done`. */
static inline void rows_let_go(const ik_plan *plan, columns c, mask done) {
    const real zero = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        real *fixed = column(c, rows_fixed(plan, slot));
        if (node->turns) *fixed = real_select(done, zero, *fixed);
        if (!node->slides) continue;
        vec3 pinned = column_vec3(c, rows_pinned(plan, slot));
        column_set_vec3(c, rows_pinned(plan, slot), vec3_select(done, vec3_splat(0, 0, 0), pinned));
    }
}

/* Releases all sides too. */
static inline void rows_deactivate(const ik_plan *plan, columns c, mask done) {
    for (int t = 0; t < plan->task_count && plan->one_sided; t++) {
        real *active = column(c, rows_active(plan, t));
        *active = real_select(done, real_splat(0), *active);
    }
}

/* The end of a step, in lanes where it is `done`. */
static inline void rows_release(const ik_plan *plan, columns c, mask done) {
    rows_let_go(plan, c, done);
    rows_deactivate(plan, c, done);
}

/* ---- the view of a task */

/* The motions of a node: a turn about an axis, or a slide along it, with its mobility. */
typedef struct {
    vec3 axis;
    real willing;
    int slides;
} rows_way;

enum { ROWS_WAYS = 6 };

static inline int rows_ways(const ik_plan *plan, columns c, int k, rows_way *ways) {
    const ik_node *node = &plan->nodes[k];
    const real one = real_splat(1), zero = real_splat(0);
    const vec3 world[3] = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
    int count = 0;
    for (int i = 0; i < node->axes; i++)
        ways[count++] = (rows_way){column_vec3(c, step_axis(plan, node->slot) + 3 * i), rows_willing(plan, c, k, i), 0};
    for (int i = 0; i < 3 && node->turns && !node->axes; i++)
        ways[count++] = (rows_way){world[i], one, 0};
    for (int i = 0; i < 3 && node->slides; i++)
        ways[count++] =
            (rows_way){quat_rotate(joint_parent(plan, c, k), world[i]), rows_slides(plan, c, node->slot, i), 1};
    return count;
}

/* The present state of a task. */
typedef struct {
    const ik_task *task;
    int index;
    task_wanted wanted;
    task_view view;
} rows_task;

static inline rows_task rows_see(const ik_plan *plan, columns c, int task) {
    const ik_task *t = &plan->tasks[task];
    rows_task seen = {t, task, joint_wanted(plan, c, task), errors_view(plan, c, IN_POSE, t)};
    task_meet(t, &seen.wanted, &seen.view);
    return seen;
}

/* The change of a task by a turn about, and by a slide along axes of node k. */
static inline vec3 rows_change(const ik_plan *plan, columns c, const rows_task *seen, int k, vec3 turn, vec3 slide) {
    const int slot = plan->nodes[k].slot, side = task_side(plan, seen->index, slot);
    vec3 at = column_vec3(c, joint_position(plan, slot));
    vec3 arm = vec3_sub(task_lever(seen->task, &seen->wanted, &seen->view, side), at);
    if (seen->task->node < 0) {
        real share = real_splat((number)(plan->nodes[k].heavy / plan->mass));
        arm = vec3_sub(column_vec3(c, rows_moment(plan, slot)), vec3_scale(share, at));
        slide = vec3_scale(share, slide);
    }
    if (seen->task->kind == IK_OUTSIDE && k == seen->task->node) /* the end of its bone */
        arm = vec3_splat(0, 0, 0), slide = vec3_scale(seen->view.share, slide);
    motion by = {vec3_add(vec3_cross(turn, arm), slide), turn};
    return task_change(plan, seen->task, &seen->wanted, &seen->view, side, by);
}

static inline vec3 rows_change_by(const ik_plan *plan, columns c, const rows_task *seen, int k, const rows_way *way) {
    const vec3 none = vec3_splat(0, 0, 0);
    return rows_change(plan, c, seen, k, way->slides ? none : way->axis, way->slides ? way->axis : none);
}

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
