/* One linear solve of dls: the rows, the damping, and the turns and slides that come of it. */

enum dls_state {
    DLS_DAMPING, /* negative: not chosen yet */
    DLS_GROWTH,  /* of the damping when a step is taken back */
    DLS_LEVEL,   /* what a level counts beside the one before, in whether a step is better */
    DLS_HURRIES, /* 1: what is slow is given up, for another start is better */
    DLS_WATCH,
    DLS_STATE = DLS_WATCH + KICKS_COLUMNS
};

ik_inline int dls_state(const ik_plan *plan, enum dls_state what) { return joint_columns(plan) + what; }

/* What a step comes from and should come to. */
typedef struct {
    errors now;
    real foreseen; /* what should be left of the squared error */
} dls_outlook;

/* The damping of this step; the first is chosen by the matrix. */
ik_inline real dls_damping(const ik_plan *plan, columns c, diagonal d) {
    real *damping = column(c, dls_state(plan, DLS_DAMPING));
    *damping = real_select(mask_less(*damping, real_splat(0)), real_splat(0.1f) * d.largest, *damping);
    return real_max(*damping, real_splat(8 * EPSILON) * d.sum + real_splat(TINY_LENGTH));
}

/* The share of the errors that a step goes for. */
ik_inline number dls_gain(const ik_plan *plan) {
    const number gain = (number)plan->job->options.gain;
    return gain > 0 ? gain : 1;
}

/* The error of every task by itself: one that is far makes no other pull less. */
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

/* What should be left of the squared error, at most, if a step takes away all but `left` of its share. */
ik_inline real dls_foreseen(const ik_plan *plan, real square, real left) {
    const real rest = real_splat(1 - dls_gain(plan));
    if (!(dls_gain(plan) < 1)) return left;
    real size = rest * real_sqrt(square) + real_sqrt(left);
    return size * size;
}

/* What z wishes for, beside the rows: y takes off what they would see of it. */
static void dls_find_wish(const ik_plan *plan, columns c, rows_system s, real square) {
    for (int i = 0; i < s.rows; i++)
        s.z[i * s.step] = real_splat(0);
    posture_find(plan, c, real_sqrt(square));
    rows_take_off(plan, c, posture_moves, s.z, s.step);
}

static void dls_add_wish(rows_system s) {
    for (int i = 0; i < s.rows; i++)
        s.y[i * s.step] = s.y[i * s.step] + s.z[i * s.step];
}

/* J^+ J z is taken off y, with hardly any damping: what singular values below a thousandth of the largest would add. */
static void dls_project(const ik_plan *plan, columns c, rows_system s, diagonal d, real square) {
    for (int i = 0; i < packed(s.rows, 0); i++)
        s.again[i * s.step] = s.matrix[i * s.step];
    dls_find_wish(plan, c, s, square);
    ldl_factor(s.again, s.step, s.rows, real_splat((number)1e-6) * d.largest + real_splat(TINY_LENGTH));
    ldl_solve(s.again, s.step, s.rows, s.z);
}

/* One level: returns what should be left of the squared error. */
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

/* Several: the less a level counts, the shorter are its steps, which bend. Postures last, of what all levels leave. */
static real dls_solve_levels(const ik_plan *plan, columns c, rows_system s, real square) {
    const real beside = *column(c, dls_state(plan, DLS_LEVEL)), apart = real_splat(LEVEL_FIRST) / beside;
    real damping = dls_damping(plan, c, diagonal_of(s.matrix, s.step, s.rows));
    real foreseen = levels_solve(plan, s, damping, apart, beside);
    if (!posture_is_any(plan)) return foreseen;
    dls_find_wish(plan, c, s, square);
    ldl_solve(s.again, s.step, s.rows, s.z);
    dls_add_wish(s);
    return foreseen;
}

static dls_outlook dls_solve(const ik_plan *plan, columns c) {
    rows_system s = rows_system_of(plan, c);
    IK_NAME(turns_start)(plan, c);
    rows_start(plan, c);
    errors e = IK_NAME(errors_measure)(plan, c, IN_POSE, *column(c, dls_state(plan, DLS_LEVEL)), s.y, s.step);
    dls_cut_error(plan, c, s.y, s.step);
    if (plan->limited || plan->slides) rows_take_off(plan, c, dls_kept_back, s.y, s.step);
    if (plan->one_sided) rows_drop_inactive(plan, c, s.y, s.step);
    rows_assemble(plan, c, s.matrix, s.step);
    real foreseen = plan->levels > 1 ? dls_solve_levels(plan, c, s, e.square) : dls_solve_level(plan, c, s, e.square);
    rows_pull(plan, c, s.y, s.step);
    return (dls_outlook){e, dls_foreseen(plan, e.square, foreseen)};
}

/* From pulls to turns and slides; where there is a posture, the way to it comes on top. Turns are cut each by itself,
 * unless `whole`. Returns the largest, as an angle. */
static real dls_move_by_pulls(const ik_plan *plan, columns c, int posture, int whole) {
    const real most = real_splat((number)plan->job->options.max_step);
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
        if (!whole) turn = vec3_cut(turn, most);
        largest = real_max(vec3_length(turn), largest);
        column_set_vec3(c, step_own(plan, slot), turn);
    }
    return largest;
}

/* All of them shortened alike, if the step is cut as a whole. Those that are held come on top. */
static void dls_turns(const ik_plan *plan, columns c, int whole) {
    const real one = real_splat(1), most = real_splat((number)plan->job->options.max_step);
    real largest = dls_move_by_pulls(plan, c, posture_is_any(plan), whole);
    real cut = real_min(one, most / (largest + real_splat(TINY_LENGTH)));
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 turn = column_vec3(c, step_own(plan, slot));
        if (whole) turn = vec3_scale(cut, turn);
        if (plan->limited) turn = vec3_add(turn, column_vec3(c, dls_held(plan, slot)));
        column_set_vec3(c, step_own(plan, slot), turn);
        if (!plan->nodes[plan->node_of_slot[slot]].slides) continue;
        vec3 slide = column_vec3(c, step_slide(plan, slot));
        if (whole) slide = vec3_scale(cut, slide);
        column_set_vec3(c, step_slide(plan, slot), vec3_add(slide, column_vec3(c, dls_pinned_by(plan, slot))));
    }
}
