/* One linear solve of dls: the rows, the damping, levels after each other, and the turns that come of it. */

/* What a step comes from and should come to. */
typedef struct {
    real before, foreseen; /* the squared error, and what should be left of it */
    real strict;           /* dls_error */
    vec3 pull;             /* of the plain case */
} dls_outlook;

/* The damping of this step; the first is chosen by the matrix. */
ik_inline real dls_damping(const ik_plan *plan, columns c, dls_diagonal d) {
    real *damping = column(c, dls_state(plan, DLS_DAMPING));
    *damping = real_select(mask_less(*damping, real_splat(0)), real_splat(0.1f) * d.largest, *damping);
    return real_max(*damping, real_splat(8 * EPSILON) * d.sum + real_splat(TINY_LENGTH));
}

/* The error of every task by itself: one that is far makes no other pull less. */
ik_inline void dls_cut_error(const ik_plan *plan, columns c, real *rows, int step, dls_shape shape) {
    if (plan->job->options.max_error <= 0) return;
    real most = real_splat((number)plan->job->options.max_error) * *column(c, dls_state(plan, DLS_BONE));
    for (int t = 0; t < dls_tasks(plan, shape); t++) {
        int first = shape.plain ? 0 : plan->tasks[t].row, count = shape.plain ? 3 : ik_task_rows(&plan->tasks[t]);
        dls_set_row(rows, step, first, count, dls_cut(dls_row(rows, step, first, count), most));
    }
}

ik_inline real dls_square(const real *rows, int step, int count) {
    real sum = real_splat(0);
    for (int i = 0; i < count; i++)
        sum = sum + rows[i * step] * rows[i * step];
    return sum;
}

/* One place to reach, and joints that turn freely. */
ik_inline dls_outlook dls_solve_plain(const ik_plan *plan, columns c) {
    const dls_shape shape = {1};
    real y[3], a[6];
    dls_error e = dls_measure(plan, c, DLS_POSE, y, 1, shape);
    dls_cut_error(plan, c, y, 1, shape);
    dls_assemble(plan, c, a, 1, shape);
    real damping = dls_damping(plan, c, dls_diagonal_of(a, 1, 3));
    ldl_factor(a, 1, 3, damping);
    ldl_solve(a, 1, 3, y);
    real foreseen = damping * damping * dls_square(y, 1, 3);
    return (dls_outlook){.before = e.square,
                         .foreseen = foreseen,
                         .pull = vec3_scale(dls_scale(plan, c, 0, shape), dls_row(y, 1, 0, 3))};
}

/* J^+ J z is taken off y, with hardly any damping: what singular values below a thousandth of the largest would add. */
static void dls_project(const ik_plan *plan, columns c, real *y, const real *a, dls_diagonal d, real square) {
    int rows = plan->rows, size = rows * (rows + 1) / 2;
    real *z = y + rows * c.step, *again = z + (rows + size) * c.step;
    for (int i = 0; i < rows; i++)
        z[i * c.step] = real_splat(0);
    for (int i = 0; i < size; i++)
        again[i * c.step] = a[i * c.step];
    dls_turn_to_postures(plan, c, real_sqrt(square));
    dls_take_off(plan, c, dls_wished, z, c.step);
    ldl_factor(again, c.step, rows, real_splat((number)1e-6) * d.largest + real_splat(TINY_LENGTH));
    ldl_solve(again, c.step, rows, z);
}

/* What a step solves: the rows, what is wished for beside them, the matrix, and room for another one. */
typedef struct {
    real *y, *z, *matrix, *again;
    int rows, step;
} dls_system;

static dls_system dls_system_of(const ik_plan *plan, columns c) {
    int rows = plan->rows, step = c.step;
    real *y = column(c, dls_rows(plan)), *z = y + rows * step, *matrix = z + rows * step;
    return (dls_system){y, z, matrix, matrix + rows * (rows + 1) / 2 * step, rows, step};
}

/* One level: returns what should be left of the squared error. */
static real dls_solve_level(const ik_plan *plan, columns c, dls_system s, real square) {
    const int posture = dls_has_posture(plan);
    dls_diagonal d = dls_diagonal_of(s.matrix, s.step, s.rows);
    real damping = dls_damping(plan, c, d);
    if (posture) dls_project(plan, c, s.y, s.matrix, d, square);
    ldl_factor(s.matrix, s.step, s.rows, damping);
    ldl_solve(s.matrix, s.step, s.rows, s.y);
    real foreseen = damping * damping * dls_square(s.y, s.step, s.rows);
    for (int i = 0; i < s.rows && posture; i++)
        s.y[i * s.step] = s.y[i * s.step] + s.z[i * s.step];
    return foreseen;
}

/* Mass times place of what every node carries. */
static void dls_weigh(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++)
        column_set_vec3(c, dls_moment(plan, slot), vec3_splat(0, 0, 0));
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        real share = real_splat((number)(node->mass / plan->mass));
        dls_add(c, dls_moment(plan, slot), vec3_scale(share, column_vec3(c, dls_position(plan, slot))));
        int above = node->parent < 0 ? -1 : plan->nodes[node->parent].slot;
        if (above >= 0) dls_add(c, dls_moment(plan, above), column_vec3(c, dls_moment(plan, slot)));
    }
}

/* Rows of what does not count are 0. */
static void dls_drop_inactive(const ik_plan *plan, columns c, real *y, int step) {
    for (int t = 0; t < plan->task_count; t++) {
        if (plan->tasks[t].kind != IK_INSIDE) continue;
        real *row = &y[plan->tasks[t].row * step];
        *row = real_select(dls_is_active(plan, c, t), *row, real_splat(0));
    }
}

/* ---- levels
 *
 * With the rows by levels, what a level may do without the levels before it, J_i P, has the Schur complement of their
 * block as its matrix: what elimination leaves. Its answer y then pulls back at the rows before by what they would see
 * of it, which is one substitution (Baerlocher and Boulic's projectors, but of rows, not of joints). */

/* What rows of a level still see, after all that y does so far. */
static void dls_left(dls_system s, const real *e, int first, int last, real *left) {
    for (int i = first; i < last; i++) {
        real sum = e[i * s.step];
        for (int j = 0; j < s.rows; j++)
            sum = sum - s.matrix[(i > j ? packed(i, j) : packed(j, i)) * s.step] * s.y[j * s.step];
        left[i * s.step] = sum;
    }
}

/* Adds the answer of a level, and takes from the rows before what they see of it. */
static void dls_add_answer(dls_system s, const real *factor, int first, int last, const real *answer) {
    for (int i = first; i < last; i++)
        s.y[i * s.step] = s.y[i * s.step] + answer[i * s.step];
    real *back = s.z;
    for (int k = first - 1; k >= 0; k--) {
        real sum = real_splat(0);
        for (int i = first; i < last; i++)
            sum = sum + factor[packed(i, k) * s.step] * answer[i * s.step];
        for (int j = k + 1; j < first; j++)
            sum = sum - factor[packed(j, k) * s.step] * back[j * s.step];
        back[k * s.step] = sum;
    }
    for (int k = 0; k < first; k++)
        s.y[k * s.step] = s.y[k * s.step] - back[k * s.step];
}

/* The end of the rows of the level that starts there. */
static int dls_end_of_level(const ik_plan *plan, int first) {
    int end = first, level = -1;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        if (task->row == first) level = task->level;
        if (task->level == level) end = task->row + ik_task_rows(task);
    }
    return end;
}

/* Postures last, of what all levels leave. */
static void dls_add_postures(const ik_plan *plan, columns c, dls_system s, const real *factor, real square) {
    for (int i = 0; i < s.rows; i++)
        s.z[i * s.step] = real_splat(0);
    dls_turn_to_postures(plan, c, real_sqrt(square));
    dls_take_off(plan, c, dls_wished, s.z, s.step);
    ldl_solve(factor, s.step, s.rows, s.z);
    for (int i = 0; i < s.rows; i++)
        s.y[i * s.step] = s.y[i * s.step] + s.z[i * s.step];
}

static real dls_solve_levels(const ik_plan *plan, columns c, dls_system s, real square) {
    const int rows = s.rows, step = s.step, size = rows * (rows + 1) / 2;
    real *factor = s.again, *block = factor + size * step, *e = block + size * step, *left = e + rows * step;
    real damping = dls_damping(plan, c, dls_diagonal_of(s.matrix, step, rows)), foreseen = real_splat(0);
    const real apart = real_splat(DLS_LEVEL_FIRST) / *column(c, dls_state(plan, DLS_LEVEL));
    for (int i = 0; i < size; i++)
        factor[i * step] = s.matrix[i * step];
    for (int i = 0; i < rows; i++)
        e[i * step] = s.y[i * step], s.y[i * step] = real_splat(0);
    for (int first = 0, last; first < rows; first = last) {
        last = dls_end_of_level(plan, first);
        ldl_eliminate(factor, step, first, last);
        for (int i = first; i < last; i++)
            for (int j = first; j <= i; j++)
                block[packed(i - first, j - first) * step] = factor[packed(i, j) * step];
        dls_left(s, e, first, last, left);
        ldl_factor(block, step, last - first, damping);
        damping = damping * apart; /* the less a level counts, the shorter are its steps, which bend */
        ldl_solve(block, step, last - first, left + first * step);
        dls_add_answer(s, factor, first, last, left);
        ldl_truncate(factor, step, first, last, s.matrix);
    }
    dls_left(s, e, 0, rows, left);
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        real counts = dls_power(*column(c, dls_state(plan, DLS_LEVEL)), task->level);
        foreseen = foreseen + counts * dls_square(left + task->row * step, step, ik_task_rows(task));
    }
    if (dls_has_posture(plan)) dls_add_postures(plan, c, s, factor, square);
    return foreseen;
}

static dls_outlook dls_solve(const ik_plan *plan, columns c) {
    const dls_shape shape = {0};
    dls_system s = dls_system_of(plan, c);
    dls_turn_axes(plan, c);
    if (plan->weighed) dls_weigh(plan, c);
    if (plan->inside) dls_activate(plan, c);
    dls_error e = dls_measure(plan, c, DLS_POSE, s.y, s.step, shape);
    dls_cut_error(plan, c, s.y, s.step, shape);
    if (plan->limited || plan->slides) dls_take_off(plan, c, dls_kept_back, s.y, s.step);
    if (plan->inside) dls_drop_inactive(plan, c, s.y, s.step);
    dls_assemble(plan, c, s.matrix, s.step, shape);
    real foreseen = plan->levels > 1 ? dls_solve_levels(plan, c, s, e.square) : dls_solve_level(plan, c, s, e.square);
    for (int slot = 0; slot < plan->slots; slot++) {
        column_set_vec3(c, dls_delta(plan, slot), vec3_splat(0, 0, 0));
        if (plan->slides) column_set_vec3(c, dls_shift(plan, slot), vec3_splat(0, 0, 0));
    }
    for (int t = 0; t < plan->task_count; t++)
        dls_pull(plan, c, t, dls_row(s.y, s.step, plan->tasks[t].row, ik_task_rows(&plan->tasks[t])));
    return (dls_outlook){.before = e.square, .foreseen = foreseen, .strict = e.strict};
}

/* From pulls to turns and slides; the way to postures comes on top. Returns the largest, as an angle. */
static real dls_move_by_pulls(const ik_plan *plan, columns c) {
    const ik_options *options = &plan->job->options;
    const real most = real_splat((number)options->max_step);
    real largest = real_splat(0), unit = dls_slide_unit(plan, c);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->nodes[k].slides) {
            vec3 slide = dls_slide_by(plan, c, k, column_vec3(c, dls_shift(plan, slot)));
            largest = real_max(vec3_length(slide) / unit, largest);
            column_set_vec3(c, dls_shift(plan, slot), slide);
        }
        if (!plan->nodes[k].turns) continue;
        vec3 turn = dls_turn_by(plan, c, k, column_vec3(c, dls_delta(plan, slot)));
        if (dls_has_posture(plan)) turn = vec3_add(turn, column_vec3(c, dls_wish(plan, slot)));
        if (options->damping == 0) turn = dls_cut(turn, most);
        largest = real_max(vec3_length(turn), largest);
        column_set_vec3(c, dls_delta(plan, slot), turn);
    }
    return largest;
}

/* All of them shortened alike where the damping is given. Those that are held come on top. */
static void dls_turns(const ik_plan *plan, columns c) {
    const ik_options *options = &plan->job->options;
    const real one = real_splat(1), most = real_splat((number)options->max_step);
    real largest = dls_move_by_pulls(plan, c), cut = real_min(one, most / (largest + real_splat(TINY_LENGTH)));
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 turn = column_vec3(c, dls_delta(plan, slot));
        if (options->damping > 0) turn = vec3_scale(cut, turn);
        if (plan->limited) turn = vec3_add(turn, column_vec3(c, dls_held(plan, slot)));
        column_set_vec3(c, dls_delta(plan, slot), turn);
        if (!plan->nodes[plan->node_of_slot[slot]].slides) continue;
        vec3 slide = column_vec3(c, dls_shift(plan, slot));
        if (options->damping > 0) slide = vec3_scale(cut, slide);
        column_set_vec3(c, dls_shift(plan, slot), vec3_add(slide, column_vec3(c, dls_pinned_by(plan, slot))));
    }
}

/* The plain case: all turns are cut alike by cutting the pull. */
ik_inline vec3 dls_shorten(const ik_plan *plan, columns c, vec3 pull) {
    if (plan->job->options.damping == 0) return pull;
    vec3 tip = column_vec3(c, dls_position(plan, plan->nodes[plan->tasks[0].node].slot));
    real largest = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 r = vec3_sub(tip, column_vec3(c, dls_position(plan, slot)));
        largest = real_max(vec3_length(vec3_cross(r, pull)), largest);
    }
    real most = real_splat((number)plan->job->options.max_step);
    return vec3_scale(real_min(real_splat(1), most / (largest + real_splat(TINY_LENGTH))), pull);
}
