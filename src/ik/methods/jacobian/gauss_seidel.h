/* Gauss-Seidel, projected onto bounds. B. Kenwright, "Real-time character inverse kinematics using the Gauss-Seidel
 * iterative approximation method", CONTENT (2012).
 *
 * Idea. The equations of dls (dls.h) for the rotations themselves, (J^T J + damping) d = J^T e, are never assembled.
 * One component of d after the other is set to its optimum given the others. Its effect is subtracted from the
 * remaining error:
 *   r = e - J d                          updated after each change
 *   d_i += (w J_i . r - damping d_i) / (w |J_i|^2 + damping)
 *
 * where w is 1 - stiffness, for a slide the square of the mean bone length. A bounded component is then projected
 * onto its bounds. The sweeps therefore converge to the optimum within the box, and no step passes a limit. A ball
 * joint is projected onto its limit after its three components.
 *
 * Damping is chosen as in dls, by Nielsen's rule unless it is given. The first sweeps come near the solution and later
 * ones converge slowly. The rest is left to the next iteration. */

/* Writes the change of the rows by a small rotation of a node about an axis, or a slide along it, to z. Returns its
 * squared length. */
static real gauss_seidel_column(const ik_plan *plan, columns c, int k, const rows_way *way, rows_system s) {
    real square = real_splat(0);
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        if (!task_side(plan, t, plan->nodes[k].slot) || !rows_count(plan, c, t)) continue;
        vec3 change;
        if (!joint_task_is_simple(task)) {
            rows_task seen = rows_see(plan, c, t);
            change = rows_change_by(plan, c, &seen, k, way);
        } else if (task->kind == IK_TURN)
            change = way->slides ? vec3_splat(0, 0, 0) : way->axis;
        else if (way->slides)
            change = way->axis;
        else {
            vec3 p = column_vec3(c, joint_position(plan, plan->nodes[task->node].slot));
            vec3 arm = vec3_sub(p, column_vec3(c, joint_position(plan, plan->nodes[k].slot)));
            change = vec3_cross(way->axis, arm);
        }
        change = vec3_scale(rows_scale(plan, c, t), change);
        rows_set(s.z, s.step, task->row, ik_task_rows(task), change);
        square = square + square_of(s.z + task->row * s.step, s.step, ik_task_rows(task));
    }
    return square;
}

/* Subtracts a multiple of it from the remaining error. */
static void gauss_seidel_take_off(const ik_plan *plan, columns c, int k, real much, rows_system s) {
    for (int t = 0; t < plan->task_count; t++) {
        if (!task_side(plan, t, plan->nodes[k].slot) || !rows_count(plan, c, t)) continue;
        const int first = plan->tasks[t].row, count = ik_task_rows(&plan->tasks[t]);
        for (int i = first; i < first + count; i++)
            s.y[i * s.step] = s.y[i * s.step] - much * s.z[i * s.step];
    }
}

/* Dot product of it with the remaining error. */
static real gauss_seidel_along(const ik_plan *plan, columns c, int k, rows_system s) {
    real sum = real_splat(0);
    for (int t = 0; t < plan->task_count; t++) {
        if (!task_side(plan, t, plan->nodes[k].slot) || !rows_count(plan, c, t)) continue;
        const int first = plan->tasks[t].row, count = ik_task_rows(&plan->tasks[t]);
        for (int i = first; i < first + count; i++)
            sum = sum + s.y[i * s.step] * s.z[i * s.step];
    }
    return sum;
}

/* Component of the current rotation about one of its axes; for a hinge, the angle. */
static real gauss_seidel_angle(const ik_plan *plan, columns c, int k, vec3 axis) {
    vec3 turn = column_vec3(c, step_own(plan, plan->nodes[k].slot));
    return joint_is_hinge(plan, k) ? turn.x : vec3_dot(axis, turn);
}

/* Adds to it; a hinge stays within its bounds. Returns the change. */
static real gauss_seidel_turn(const ik_plan *plan, columns c, int k, vec3 axis, real more) {
    const int own = step_own(plan, plan->nodes[k].slot);
    const real most = real_splat((number)plan->job->options.max_step);
    if (!joint_is_hinge(plan, k)) {
        rows_add(c, own, vec3_scale(more, axis));
        return more;
    }
    real now = *column(c, own);
    vec3 turn = {real_max(real_min(now + more, most), -most), real_splat(0), real_splat(0)};
    IK_NAME(turns_allow)(plan, c, k, &turn);
    column_set_vec3(c, own, turn);
    return turn.x - now;
}

/* The same for a slide along an axis; max_step is then in mean bone lengths. */
static real gauss_seidel_slide(const ik_plan *plan, columns c, int k, int axis, real more) {
    real *slide = column(c, step_slide(plan, plan->nodes[k].slot) + axis), now = *slide;
    const real most = real_splat((number)plan->job->options.max_step) * *column(c, joint_lever(plan));
    *slide = real_max(real_min(now + more, most), -most);
    turns_allow_slide(plan, c, k, axis, slide);
    return *slide - now;
}

/* Projects a ball joint onto its limit and max_step. */
static void gauss_seidel_project(const ik_plan *plan, columns c, int k, rows_system s) {
    const int own = step_own(plan, plan->nodes[k].slot);
    vec3 wanted = column_vec3(c, own), turn = vec3_cut(wanted, real_splat((number)plan->job->options.max_step));
    IK_NAME(turns_allow)(plan, c, k, &turn);
    vec3 off = vec3_sub(turn, wanted);
    if (!mask_any(~mask_equal(vec3_size(off), real_splat(0)))) return;
    column_set_vec3(c, own, turn);
    const rows_way by = {off, real_splat(1), 0};
    gauss_seidel_column(plan, c, k, &by, s);
    gauss_seidel_take_off(plan, c, k, real_splat(1), s);
}

/* Sets one component to its optimum given the others. Slides are the last components of a node. */
static void gauss_seidel_better(const ik_plan *plan, columns c, int k, const rows_way *way, int axis, rows_system s,
                                real damping) {
    const real square = gauss_seidel_column(plan, c, k, way, s);
    real now = way->slides ? *column(c, step_slide(plan, plan->nodes[k].slot) + axis)
                           : gauss_seidel_angle(plan, c, k, way->axis);
    real pull = way->willing * gauss_seidel_along(plan, c, k, s) - damping * now;
    real more = pull / (way->willing * square + damping);
    more = way->slides ? gauss_seidel_slide(plan, c, k, axis, more) : gauss_seidel_turn(plan, c, k, way->axis, more);
    gauss_seidel_take_off(plan, c, k, more, s);
}

/* One sweep over all components, from the tips. */
static void gauss_seidel_sweep(const ik_plan *plan, columns c, rows_system s, real damping) {
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const int k = plan->node_of_slot[slot];
        rows_way ways[ROWS_WAYS];
        const int count = rows_ways(plan, c, k, ways), turns = count - 3 * plan->nodes[k].slides;
        for (int i = 0; i < count; i++)
            gauss_seidel_better(plan, c, k, &ways[i], i - turns, s, damping);
        if (turns && !joint_is_hinge(plan, k)) gauss_seidel_project(plan, c, k, s);
    }
}

/* Clears the step. Returns measures of J W J^T for the damping: its trace, and the largest contribution of one axis. */
static diagonal gauss_seidel_start(const ik_plan *plan, columns c, rows_system s) {
    diagonal d = {real_splat(0), real_splat(0)};
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        rows_way ways[ROWS_WAYS];
        const int count = rows_ways(plan, c, k, ways);
        column_set_vec3(c, step_own(plan, slot), vec3_splat(0, 0, 0));
        if (plan->slides) column_set_vec3(c, step_slide(plan, slot), vec3_splat(0, 0, 0));
        for (int i = 0; i < count; i++) {
            real square = ways[i].willing * gauss_seidel_column(plan, c, k, &ways[i], s);
            d.sum = d.sum + square, d.largest = real_max(d.largest, square);
        }
    }
    return d;
}

static dls_outlook gauss_seidel_solve(const ik_plan *plan, columns c) {
    rows_system s = rows_system_of(plan, c);
    errors now = dls_plain_start(plan, c, s);
    real damping = dls_damping(plan, c, gauss_seidel_start(plan, c, s));
    for (int sweep = 0; sweep < plan->job->options.sweeps && !solve_stops(plan, plan->slots); sweep++)
        gauss_seidel_sweep(plan, c, s, damping);
    return (dls_outlook){now, square_of(s.y, s.step, s.rows)};
}

static void gauss_seidel_step(const ik_plan *plan, real *bundle, int groups) {
    dls_plain_step_by(plan, bundle, groups, gauss_seidel_solve, dls_conclude);
}

static record_size gauss_seidel_size(const ik_plan *plan) { return dls_size(plan); }

static const method gauss_seidel_any = {gauss_seidel_size, dls_begin, gauss_seidel_step, IK_NAME(joint_place), 1};
static const method *gauss_seidel_method(const ik_plan *plan) { return (void)plan, &gauss_seidel_any; }

SOLVE_METHOD(gauss_seidel)
