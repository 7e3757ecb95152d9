/* One linear solve of dls: the rows, the damping, and the resulting rotations and slides. */

/* The errors before a step, and the prediction for after it. */
typedef struct {
    errors now;
    real foreseen; /* predicted squared error */
} dls_outlook;

/* The share with which dls starts. */
#define DLS_FIRST_DAMPING 0.1f

/* The damping of this step. The matrix determines the first one. */
ik_inline real dls_damping(const ik_plan *plan, columns c, diagonal d) {
    real *damping = column(c, dls_state(plan, DLS_DAMPING));
    *damping = real_select(mask_less(*damping, real_splat(0)), -*damping * d.largest, *damping);
    return real_max(*damping, real_splat(8 * EPSILON) * d.sum + real_splat(TINY_LENGTH));
}

/* The share of the errors that a step aims to remove. */
ik_inline number dls_gain(const ik_plan *plan) {
    const number gain = (number)plan->job->options.gain;
    return gain > 0 ? gain : 1;
}

/* Clamps the error of every task separately, so a distant target does not weaken the others. */
ik_inline void dls_cut_error(const ik_plan *plan, columns c, real *rows, int step) {
    for (int i = 0; i < plan->rows && dls_gain(plan) < 1; i++)
        rows[i * step] = real_splat(dls_gain(plan)) * rows[i * step];
    if (plan->job->options.max_error <= 0) return;
    real most = real_splat((number)plan->job->options.max_error) * *column(c, joint_lever(plan));
    for (int t = 0; t < plan->task_count; t++) {
        int first = plan->tasks[t].row, count = ik_task_rows(&plan->tasks[t]);
        rows_set(rows, step, first, count, vec3_cut(rows_at(rows, step, first, count), most));
    }
}

/* Predicted squared error if a step removes all but `left` of its share. */
ik_inline real dls_foreseen(const ik_plan *plan, real square, real left) {
    const real rest = real_splat(1 - dls_gain(plan));
    if (!(dls_gain(plan) < 1)) return left;
    real size = rest * real_sqrt(square) + real_sqrt(left);
    return size * size;
}

/* Finds the posture motion z and the pulls that cancel its effect on the rows. `s.again` holds the factors. */
static void dls_find_posture(const ik_plan *plan, columns c, rows_system s, real square) {
    if (plan->job->options.manipulability > 0) manipulability_find(plan, c, s);
    for (int i = 0; i < s.rows; i++)
        s.z[i * s.step] = real_splat(0);
    posture_find(plan, c, real_sqrt(square));
    rows_take_off(plan, c, posture_moves, s.z, s.step);
    ldl_solve(s.again, s.step, s.rows, s.z);
    if (posture_settles(plan)) posture_measure(plan, c, s.z, s.step);
}

static void dls_add_wish(rows_system s) {
    for (int i = 0; i < s.rows; i++)
        s.y[i * s.step] = s.y[i * s.step] + s.z[i * s.step];
}

/* Damping of the projection relative to the largest diagonal element: singular values below its root are left to
 * postures. For postures that settle it is smaller, because their leakage would remain as an error. */
#define DLS_OPEN    (number)1e-6
#define DLS_SETTLED (number)(IK_BITS == 64 ? 1e-12 : 1e-6)

/* Subtracts J^+ J z from y, with minimal damping. */
static void dls_project(const ik_plan *plan, columns c, rows_system s, diagonal d, real square) {
    for (int i = 0; i < packed(s.rows, 0); i++)
        s.again[i * s.step] = s.matrix[i * s.step];
    const number share = posture_settles(plan) ? DLS_SETTLED : DLS_OPEN;
    ldl_factor(s.again, s.step, s.rows, real_splat(share) * d.largest + real_splat(TINY_LENGTH));
    dls_find_posture(plan, c, s, square);
}

/* Solves one level. Returns the predicted squared error. */
static real dls_solve_level(const ik_plan *plan, columns c, rows_system s, real square) {
    const int posture = posture_is_any(plan);
    diagonal d = diagonal_of(s.matrix, s.step, s.rows);
    real damping = dls_damping(plan, c, d);
    if (posture) dls_project(plan, c, s, d, square);
    ldl_factor(s.matrix, s.step, s.rows, damping);
    ldl_solve(s.matrix, s.step, s.rows, s.y);
    real foreseen = damping * damping * square_of(s.y, s.step, s.rows);
    if (posture) dls_add_wish(s);
    return foreseen;
}

/* Clears the posture motion in lanes whose levels are not finished. */
static void dls_drop_posture(const ik_plan *plan, columns c, rows_system s, mask waits) {
    for (int i = 0; i < s.rows; i++)
        s.z[i * s.step] = real_select(waits, real_splat(0), s.z[i * s.step]);
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 wish = column_vec3(c, posture_wish(plan, slot));
        column_set_vec3(c, posture_wish(plan, slot), vec3_select(waits, vec3_splat(0, 0, 0), wish));
    }
}

/* Solves several levels. A level of lower weight takes shorter steps, because they disturb those above it to second
 * order. Postures come last, in the null space of all levels. */
static real dls_solve_levels(const ik_plan *plan, columns c, rows_system s, levels_answer answer, real damping,
                             real square) {
    const real beside = *column(c, dls_state(plan, DLS_LEVEL)), apart = real_splat(LEVEL_FIRST) / beside;
    const real zero = real_splat(0), stage = dls_has_stages(plan) ? dls_stage_now(plan, c) : zero;
    real foreseen = levels_solve(plan, c, s, answer, damping, apart, beside, stage);
    if (!posture_is_any(plan)) return foreseen;
    dls_find_posture(plan, c, s, square);
    const mask waits = mask_less(zero, stage) & mask_less(stage, real_splat((number)(plan->levels + 1)));
    if (dls_has_stages(plan)) dls_drop_posture(plan, c, s, waits);
    dls_add_wish(s);
    return foreseen;
}

/* Measures all errors. The right-hand side receives those that the step aims to remove, minus the effect of held
 * joints. */
ik_inline errors dls_look(const ik_plan *plan, columns c, rows_system s) {
    IK_NAME(turns_start)(plan, c);
    if (dls_has_stages(plan)) dls_set_axes(plan, c);
    rows_start(plan, c);
    errors e = IK_NAME(errors_measure)(plan, c, IN_POSE, *column(c, dls_state(plan, DLS_LEVEL)), s.y, s.step);
    dls_cut_error(plan, c, s.y, s.step);
    if (dls_may_hold(plan)) rows_take_off(plan, c, dls_kept_back, s.y, s.step);
    if (plan->one_sided) rows_drop_inactive(plan, c, s.y, s.step);
    return e;
}

/* Largest rotation of a joint when each is clamped separately. In stages only the first level is clamped so, as if it
 * were alone. */
ik_inline real dls_most_of_each(const ik_plan *plan, columns c) {
    const real most = real_splat((number)plan->job->options.max_step);
    if (!dls_has_stages(plan)) return most;
    return real_select(mask_equal(*column(c, dls_stage(plan)), real_splat(1)), most, real_splat(LARGEST));
}

/* Converts pulls to rotations and slides, and adds the posture motion if there is one. Rotations are clamped
 * separately, unless `whole`. Returns the largest motion, as an angle. */
static real dls_move_by_pulls(const ik_plan *plan, columns c, int posture, int whole) {
    const real each = dls_most_of_each(plan, c);
    real largest = real_splat(0), unit = *column(c, joint_lever(plan));
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->nodes[k].slides) {
            vec3 slide = rows_slide_by(plan, c, k, column_vec3(c, step_slide(plan, slot)));
            largest = real_max(vec3_length(slide) / unit, largest);
            column_set_vec3(c, step_slide(plan, slot), slide);
        }
        if (!plan->nodes[k].turns) continue;
        vec3 turn = rows_turn(plan, c, k, column_vec3(c, step_own(plan, slot)));
        if (posture) turn = vec3_add(turn, column_vec3(c, posture_wish(plan, slot)));
        if (!whole) turn = vec3_cut(turn, each);
        largest = real_max(vec3_length(turn), largest);
        column_set_vec3(c, step_own(plan, slot), turn);
    }
    return largest;
}

/* The share of a motion at which its sum with the held motion has the length `most`; 1 if all of it is shorter. */
ik_inline real dls_share_of_length(vec3 held, vec3 way, real most) {
    const real one = real_splat(1), zero = real_splat(0), square = vec3_dot(way, way), along = vec3_dot(held, way);
    vec3 end = vec3_add(held, way);
    real room = real_max(most * most - vec3_dot(held, held), zero), root = real_sqrt(along * along + square * room);
    real share = real_select(mask_less(zero, along), room / (along + root), (root - along) / square);
    return real_select(mask_less(most * most, vec3_dot(end, end)), real_min(share, one), one);
}

/* The share of a level's motion that takes no joint beyond max_step, on top of the motion of earlier levels. */
static real dls_share_of_level(const ik_plan *plan, columns c) {
    const real most = real_splat((number)plan->job->options.max_step), unit = *column(c, joint_lever(plan));
    real share = real_splat(1);
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 held = column_vec3(c, dls_held(plan, slot)), way = column_vec3(c, step_own(plan, slot));
        share = real_min(share, dls_share_of_length(held, way, most));
        if (!plan->nodes[plan->node_of_slot[slot]].slides) continue;
        held = column_vec3(c, dls_pinned_by(plan, slot)), way = column_vec3(c, step_slide(plan, slot));
        share = real_min(share, dls_share_of_length(held, way, most * unit));
    }
    return share;
}

/* The scale factor of the rotations. If levels solved together exceed max_step, the step is solved by stages
 * instead. */
static real dls_cut_stage(const ik_plan *plan, columns c, mask over, real cut) {
    real *stage = column(c, dls_stage(plan));
    mask together = mask_equal(*stage, real_splat(0));
    *stage = real_select(together & over, real_splat(-1), *stage);
    return real_select(dls_adds(plan, c), dls_share_of_level(plan, c), cut);
}

/* Scales all rotations alike if the step is clamped as a whole. The held motion is then added. */
static void dls_shorten_turns(const ik_plan *plan, columns c, real largest, int whole) {
    const real one = real_splat(1), most = real_splat((number)plan->job->options.max_step);
    const int stages = dls_has_stages(plan);
    real cut = real_min(one, most / (largest + real_splat(TINY_LENGTH)));
    if (stages) {
        if (!whole) cut = one;
        cut = dls_cut_stage(plan, c, mask_less(most, largest), cut);
        whole = 1;
    }
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 turn = column_vec3(c, step_own(plan, slot));
        if (whole) turn = vec3_scale(cut, turn);
        if (plan->limited || stages) turn = vec3_add(turn, column_vec3(c, dls_held(plan, slot)));
        column_set_vec3(c, step_own(plan, slot), turn);
        if (!plan->nodes[plan->node_of_slot[slot]].slides) continue;
        vec3 slide = column_vec3(c, step_slide(plan, slot));
        if (whole) slide = vec3_scale(cut, slide);
        column_set_vec3(c, step_slide(plan, slot), vec3_add(slide, column_vec3(c, dls_pinned_by(plan, slot))));
    }
}

static void dls_turns(const ik_plan *plan, columns c, int whole) {
    dls_shorten_turns(plan, c, dls_move_by_pulls(plan, c, posture_is_any(plan), whole), whole);
}

static dls_outlook dls_solve(const ik_plan *plan, columns c) {
    rows_system s = rows_system_of(plan, c);
    errors e = dls_look(plan, c, s);
    rows_assemble(plan, c, s.matrix, s.step);
    real foreseen;
    if (plan_has_levels(plan)) {
        real damping = dls_damping(plan, c, diagonal_of(s.matrix, s.step, s.rows));
        foreseen = dls_solve_levels(plan, c, s, levels_damped, damping, e.square);
    } else
        foreseen = dls_solve_level(plan, c, s, e.square);
    rows_pull(plan, c, s.y, s.step);
    dls_turns(plan, c, plan->job->options.damping > 0);
    return (dls_outlook){e, dls_foreseen(plan, e.square, foreseen)};
}
