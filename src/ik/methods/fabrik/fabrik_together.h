/* FABRIK with frames: all joints turn together. fabrik_frames.h explains the method.
 *
 * Damped least squares for small turns of all joints. There is a row for each number to be met; the matrix has the
 * change of every number by the turns along the gradient of each. Conjugate gradients need no matrix, but lose accuracy
 * if ends hold each other, as on wide trees. A turn is a vector in the world, relative to the body that carries the
 * joint. Levels of goals are treated as in solve/levels.h. */

/* Limits are probed by a turn of TOGETHER_PROBE radians. An excluded part below the share TOGETHER_CUT of it is 0. */
#define TOGETHER_PROBE (number)0.02
#define TOGETHER_CUT   (number)0.1

/* The damping as a share of the sum of squares, least and most. It is less after a step that helps, and more after one
 * that does not. */
#define TOGETHER_LEAST (number)0.03
#define TOGETHER_MOST  (number)1024
#define TOGETHER_LESS  (number)0.25
#define TOGETHER_MORE  (number)4

/* The least damping as a share of the sum of the diagonal. If ends hold each other, as on wide trees, more damping
 * would allow tiny steps only, and less would be below rounding. */
#define TOGETHER_ROUNDING (number)(0.125 * EPSILON)

/* The number of solves in an iteration: two more solves cost less than the iterations that they save. */
enum { TOGETHER_TIMES = 3 };

/* Whether goals are about several nodes, or tie them, which the papers do not treat otherwise. */
static int frames_several(const ik_plan *plan) {
    if (plan->job->options.textbook) return 0;
    if (plan->ties || plan->levels > 1) return 1;
    for (int t = 1; t < plan->task_count; t++)
        if (plan->tasks[t].node != plan->tasks[0].node) return 1;
    return 0;
}

/* How often all joints turn together in an iteration: not at all for one node, and once where some slide, of which
 * turns do not know. */
static int together_times(const ik_plan *plan) {
    if (!frames_several(plan)) return 0;
    return plan->slides ? 1 : TOGETHER_TIMES;
}

ik_inline vec3 together_of(const ik_plan *plan, columns c, int vector, int slot) {
    return column_vec3(c, frames_joint(plan, vector, slot));
}

/* ---- what turns do */

/* Which end of a task a joint turns: 1, the own, -1, the far one; 0: none. */
ik_inline int together_carries(const ik_plan *plan, int slot, int task) {
    const int k = plan->node_of_slot[slot];
    return plan->nodes[k].turns ? ends_turned_side(plan, task, k) : 0;
}

/* From a joint to the end that it carries; turned round for the far one, which goes the opposite way. */
ik_inline vec3 together_arm(const ik_plan *plan, columns c, int slot, int task) {
    vec3 from = column_vec3(c, frames_point(plan, slot));
    if (task_side(plan, task, slot) < 0) return vec3_sub(from, column_vec3(c, ends_place(frames_far(plan), task)));
    if (plan->tasks[task].kind == IK_OUTSIDE)
        return vec3_sub(column_vec3(c, ends_place(frames_ends(plan), task)), from);
    int end = plan->nodes[plan->tasks[task].node].slot;
    return vec3_sub(column_vec3(c, frames_point(plan, end)), from);
}

/* A turn as a task sees it. */
ik_inline vec3 together_seen(const ik_plan *plan, int slot, int task, vec3 turn) {
    return task_side(plan, task, slot) < 0 ? vec3_scale(real_splat(-1), turn) : turn;
}

/* How far a task is off. */
static vec3 together_off(const ik_plan *plan, columns c, int t) {
    const ik_task *task = &plan->tasks[t];
    if (frames_is_tie(task)) return frames_tie_off(plan, c, t);
    ends_wanted to = frames_wanted(plan, c, t);
    if (task->kind == IK_TURN)
        return frames_vector(quat_multiply(to.rotation, quat_conjugate(frames_now(plan, c, task->node))));
    return vec3_sub(to.place, column_vec3(c, frames_point(plan, plan->nodes[task->node].slot)));
}

/* How far all of them are, by their weights. */
static void together_find_off(const ik_plan *plan, columns c) {
    if (plan->ties) frames_find_ends(plan, c);
    for (int t = 0; t < plan->task_count; t++) {
        real weight = frames_weight_of(plan, c, &plan->tasks[t]);
        column_set_vec3(c, frames_off(plan, t), vec3_scale(weight, together_off(plan, c, t)));
    }
}

/* The change of an end by a turn of a joint that carries it. */
ik_inline vec3 together_change(const ik_plan *plan, columns c, int slot, int task, vec3 turn) {
    if (plan->tasks[task].kind == IK_TURN) return together_seen(plan, slot, task, turn);
    return vec3_cross(turn, together_arm(plan, c, slot, task));
}

/* The turn of a joint along which a pull at an end that it carries does most. */
ik_inline vec3 together_lever(const ik_plan *plan, columns c, int slot, int task, vec3 pull) {
    if (plan->tasks[task].kind == IK_TURN) return together_seen(plan, slot, task, pull);
    return vec3_cross(together_arm(plan, c, slot, task), pull);
}

/* ---- which turns there are */

/* The part of a turn that a joint can make: about the axis of a hinge, and without what its limit excludes. */
ik_inline vec3 together_possible(const ik_plan *plan, columns c, int slot, vec3 turn) {
    const int k = plan->node_of_slot[slot];
    vec3 barred = together_of(plan, c, JOINT_BARRED, slot);
    if (frames_is_hinge(plan, k)) {
        vec3 axis = frames_axis(plan, k, column_quat(c, frames_rotation(plan, slot)));
        turn = vec3_scale(vec3_dot(axis, turn), axis);
    }
    return vec3_sub(turn, vec3_scale(vec3_dot(barred, turn), barred));
}

/* To what turns all ends together pull their joints. */
static void together_pull(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 sum = vec3_splat(0, 0, 0);
        for (int t = 0; t < plan->task_count; t++)
            if (together_carries(plan, slot, t))
                sum = vec3_add(sum, together_lever(plan, c, slot, t, column_vec3(c, frames_off(plan, t))));
        column_set_vec3(c, frames_joint(plan, JOINT_TURN, slot), together_possible(plan, c, slot, sum));
    }
}

/* If the limit of a node cuts off a turn along its gradient, it excludes the direction across it; of a hinge the turn.
 */
static void together_find_barred(const ik_plan *plan, columns c, int k) {
    const int slot = plan->nodes[k].slot;
    if (!frames_is_limited(plan, k)) return;
    frames_body body = frames_body_of(plan, c, k, column_quat(c, frames_rotation(plan, slot)));
    vec3 slope = together_of(plan, c, JOINT_TURN, slot);
    vec3 wanted = vec3_scale(real_splat(TOGETHER_PROBE), vec3_direction(slope).unit);
    vec3 left = frames_vector(frames_cut(plan, c, k, &body, frames_small_turn(wanted)));
    direction out = vec3_direction(vec3_sub(wanted, left));
    mask barred = mask_less(real_splat(TOGETHER_PROBE * TOGETHER_CUT), out.length);
    vec3 across = frames_is_hinge(plan, k) ? frames_axis(plan, k, body.rotation) : out.unit;
    vec3 none = vec3_splat(0, 0, 0);
    column_set_vec3(c, frames_joint(plan, JOINT_BARRED, slot), vec3_select(barred, across, none));
}

/* The parts that limits exclude from the turns by which all ends pull. */
static void together_bar(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++)
        column_set_vec3(c, frames_joint(plan, JOINT_BARRED, slot), vec3_splat(0, 0, 0));
    together_find_off(plan, c);
    together_pull(plan, c);
    for (int slot = 0; slot < plan->slots; slot++)
        together_find_barred(plan, c, plan->node_of_slot[slot]);
}

/* ---- the equations */

/* The root of what a task counts for in its level. */
ik_inline real together_root(const ik_plan *plan, columns c, int t) {
    return real_sqrt(frames_weight_in_level(plan, c, &plan->tasks[t]));
}

/* Along what number i of a task is. */
static vec3 together_along(const ik_plan *plan, columns c, int t, int i) {
    if (ik_task_rows(&plan->tasks[t]) == 1) return column_vec3(c, frames_along(plan, t));
    return vec3_splat(i == 0, i == 1, i == 2);
}

/* Numbers of rows as pulls of tasks. */
static void together_pull_by_rows(const ik_plan *plan, columns c, rows_system s, const real *rows) {
    for (int t = 0; t < plan->task_count; t++) {
        const int first = plan->tasks[t].row, count = ik_task_rows(&plan->tasks[t]);
        vec3 sum = vec3_splat(0, 0, 0);
        for (int i = 0; i < count; i++)
            sum = vec3_add(sum, vec3_scale(rows[(first + i) * s.step], together_along(plan, c, t, i)));
        column_set_vec3(c, frames_off(plan, t), vec3_scale(together_root(plan, c, t), sum));
    }
    together_pull(plan, c);
}

/* A vector of a task as numbers of rows. */
static void together_set_rows(const ik_plan *plan, columns c, int t, vec3 v, real *rows, int step) {
    const real root = together_root(plan, c, t);
    for (int i = 0; i < ik_task_rows(&plan->tasks[t]); i++)
        rows[(plan->tasks[t].row + i) * step] = root * vec3_dot(together_along(plan, c, t, i), v);
}

/* The changes of all tasks up to one by the turns that a pull of that one causes. */
static void together_find_changes(const ik_plan *plan, columns c, int task, vec3 pull) {
    for (int t = 0; t <= task; t++)
        column_set_vec3(c, frames_change(plan, t), vec3_splat(0, 0, 0));
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!together_carries(plan, slot, task)) continue;
        vec3 turn = together_possible(plan, c, slot, together_lever(plan, c, slot, task, pull));
        for (int t = 0; t <= task; t++) {
            if (!together_carries(plan, slot, t)) continue;
            vec3 change = together_change(plan, c, slot, t, turn);
            column_set_vec3(c, frames_change(plan, t), vec3_add(column_vec3(c, frames_change(plan, t)), change));
        }
    }
}

/* Tasks are in the order of their rows. */
static void together_assemble(const ik_plan *plan, columns c, rows_system s) {
    for (int task = 0; task < plan->task_count; task++)
        for (int i = 0; i < ik_task_rows(&plan->tasks[task]); i++) {
            const int row = plan->tasks[task].row + i;
            real root = together_root(plan, c, task);
            together_find_changes(plan, c, task, vec3_scale(root, together_along(plan, c, task, i)));
            for (int t = 0; t <= task; t++)
                together_set_rows(plan, c, t, column_vec3(c, frames_change(plan, t)), s.z, s.step);
            for (int j = 0; j <= row; j++)
                s.matrix[packed(row, j) * s.step] = s.z[j * s.step];
        }
}

static void together_find_turns(const ik_plan *plan, columns c, real damping) {
    const real beside = *column(c, frames_beside(plan)), apart = real_splat(LEVEL_FIRST) / beside;
    rows_system s = rows_system_at(plan, c, frames_rows(plan));
    together_bar(plan, c);
    together_assemble(plan, c, s);
    for (int t = 0; t < plan->task_count; t++)
        together_set_rows(plan, c, t, together_off(plan, c, t), s.y, s.step);
    real rounding = real_splat(TOGETHER_ROUNDING) * diagonal_of(s.matrix, s.step, s.rows).sum;
    damping = damping + rounding + real_splat(TINY_LENGTH);
    if (plan->levels > 1)
        levels_solve(plan, c, s, levels_damped, damping, apart, beside, real_splat(0));
    else {
        ldl_factor(s.matrix, s.step, s.rows, damping);
        ldl_solve(s.matrix, s.step, s.rows, s.y);
    }
    together_pull_by_rows(plan, c, s, s.y);
}

/* ---- the step */

/* The share of the turns that is made. It is the same for all joints: cut off one by one at their bounds, the turns
 * would no longer fit each other. Sliding joints do not slide here, and others may turn too far instead: the share then
 * keeps every joint below its largest turn. */
static real together_share(const ik_plan *plan, columns c) {
    const real one = real_splat(1), largest = *column(c, frames_largest(plan));
    real most = real_splat(TINY_LENGTH);
    if (!plan->slides) return one;
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 turn = together_of(plan, c, JOINT_TURN, slot);
        most = real_max(most, vec3_dot(turn, turn));
    }
    return real_select(mask_less(largest, one), real_min(largest / real_sqrt(real_splat((number)0.25) * most), one),
                       one);
}

/* How the pose was until now is kept in `after`. */
static void together_make_turns(const ik_plan *plan, columns c) {
    const int after = frames_after(plan, 0);
    const real share = together_share(plan, c);
    frames_copy(plan, c, after, frames_rotation(plan, 0), ~mask_splat(0));
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        quat back = quat_conjugate(column_quat(c, after + 4 * slot));
        quat turn = frames_small_turn(quat_rotate(back, vec3_scale(share, together_of(plan, c, JOINT_TURN, slot))));
        frames_take_local(plan, c, k, quat_multiply(frames_local(plan, c, after, k), turn));
    }
}

/* All joints turn, in the lanes that this brings nearer. */
static void frames_turn_together(const ik_plan *plan, columns c) {
    real *squared = column(c, frames_squared(plan)), *share = column(c, frames_damping(plan));
    *squared = frames_square(plan, c);
    together_find_turns(plan, c, *share * *squared);
    together_make_turns(plan, c);
    real turned = frames_square(plan, c);
    mask nearer = mask_less(turned, *squared);
    frames_return(plan, c, frames_after(plan, 0), ~nearer);
    *squared = real_select(nearer, turned, *squared);
    *share = real_select(nearer, real_max(real_splat(TOGETHER_LESS) * *share, real_splat(TOGETHER_LEAST)),
                         real_min(real_splat(TOGETHER_MORE) * *share, real_splat(TOGETHER_MOST)));
}
