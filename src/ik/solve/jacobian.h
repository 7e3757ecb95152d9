/* The Jacobian J of joints (joints.h): the derivatives of all tasks, scaled as by errors.h, by turns and slides. A
 * small turn d of a joint moves a point at r from it by d x r, and rotates its descendants by d. Positions and
 * rotations in the world have closed forms; other tasks use their derivatives (tasks.h). J is never stored. W is the
 * mobility of a joint: 1 - stiffness; 0 if the step holds it.
 *
 *   rows_start      first of all, after turns_start: preparation
 *   rows_assemble   J W J^T, symmetric: a block for two tasks is a sum over the joints that move both. The term of a
 *                   ball joint is (r . s) I - s r^T, with r and s from it to the two positions.
 *   rows_seen       J d: the change of a task by turns and slides
 *   rows_take_off   rows minus that
 *   rows_pull       J^T y into the columns of own turns and slides
 *   rows_turn, rows_slide_by   W times the pull at a joint
 *   rows_release    last of all: releases what the step has held */

/* Columns of a step, after those of turns.h. The system comes last: right sides, additional wanted values, the matrix,
 * and room for another one.
 *   rows_fixed    1 if a joint is held
 *   rows_pinned   the same for each axis of its slide
 *   rows_moment   mass times position of the descendants of every node, as a share of the total mass
 *   rows_active   of one-sided tasks: 1 if the task counts in this step, 2 if it no longer does */
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

/* The mobility of node k about an axis. rows_fixed is 0 if it is free, 1 if held, 2 or 3 if only its first axis or
 * first two axes are held. */
ik_inline real rows_willing(const ik_plan *plan, columns c, int k, int axis) {
    const real fixed = *column(c, rows_fixed(plan, plan->nodes[k].slot)), zero = real_splat(0);
    mask held = mask_less(zero, fixed);
    if (axis == 1) held &= ~mask_equal(fixed, real_splat(2));
    if (axis == 2) held &= mask_equal(fixed, real_splat(1));
    return real_select(held, zero, real_splat(1 - (number)plan->nodes[k].limit->stiffness[axis]));
}

/* The mobility of a node's slide along an axis of its parent. */
ik_inline real rows_slides(const ik_plan *plan, columns c, int slot, int axis) {
    real unit = *column(c, joint_lever(plan));
    return unit * unit * (real_splat(1) - *column(c, rows_pinned(plan, slot) + axis));
}

/* Whether a one-sided task counts: it is violated, or the step would violate it, and its pull does not point away from
 * the allowed side. */
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

/* Mass times position of the descendants of every node. */
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

#include "jacobian_products.h"
