/* Strict priorities, as in P. Baerlocher, R. Boulic, "An inverse kinematics architecture enforcing an arbitrary number
 * of strict priority levels", The Visual Computer 20 (2004): rows of a level use what the levels before leave free.
 *
 * Rows are ordered by levels. J_i P is the motion of level i that does not change earlier levels. Its matrix is the
 * Schur complement of their block, which is the result of elimination. One back substitution then corrects the earlier
 * rows for the answer y of the level. This applies the paper's projectors to rows instead of joints. */

/* The present view of a level's rows, after everything that y does. */
static inline void levels_left(rows_system s, const real *e, int first, int last, real *left) {
    for (int i = first; i < last; i++) {
        real sum = e[i * s.step];
        for (int j = 0; j < s.rows; j++)
            sum = sum - s.matrix[(i > j ? packed(i, j) : packed(j, i)) * s.step] * s.y[j * s.step];
        left[i * s.step] = sum;
    }
}

/* The equations of one level: its motion without the levels before. */
typedef struct {
    real *y;      /* its errors, of which an answer comes in place */
    real *matrix; /* may be lost */
    int rows, step;
    int first;    /* of all rows */
    real damping; /* as the method means it; more from level to level */
    real size; /* the sum of the diagonal that the matrix would have without the levels before: rounding is of that */
} levels_part;

/* How a method answers them. */
typedef void (*levels_answer)(const ik_plan *plan, columns c, const levels_part *part);

/* Damped least squares. */
static inline void levels_damped(const ik_plan *plan, columns c, const levels_part *part) {
    (void)plan, (void)c;
    ldl_factor(part->matrix, part->step, part->rows, part->damping);
    ldl_solve(part->matrix, part->step, part->rows, part->y);
}

/* The view of an answer in a level by the rows before it, into z; its numbers are `apart`. */
static inline void levels_back(rows_system s, int first, int count, const real *answer, int apart) {
    const real *factor = s.again;
    for (int k = first - 1; k >= 0; k--) {
        real sum = real_splat(0);
        for (int i = 0; i < count; i++)
            sum = sum + factor[packed(first + i, k) * s.step] * answer[i * apart];
        for (int j = k + 1; j < first; j++)
            sum = sum - factor[packed(j, k) * s.step] * s.z[j * s.step];
        s.z[k * s.step] = sum;
    }
}

/* Adds the answer of a level, and subtracts its view from the rows before. */
static inline void levels_add(rows_system s, const levels_part *part) {
    for (int i = 0; i < part->rows; i++) {
        real *y = &s.y[(part->first + i) * s.step];
        *y = *y + part->y[i * part->step];
    }
    levels_back(s, part->first, part->rows, part->y, part->step);
    for (int k = 0; k < part->first; k++)
        s.y[k * s.step] = s.y[k * s.step] - s.z[k * s.step];
}

/* The end of the rows of the level that starts there. */
static inline int levels_end(const ik_plan *plan, int first) {
    int end = first, level = -1;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        if (task->row == first) level = task->level;
        if (task->level == level) end = task->row + ik_task_rows(task);
    }
    return end;
}

/* The motion of a level; its errors are already in `part->y`. */
static inline void levels_take_block(rows_system s, levels_part *part) {
    part->size = real_splat(0);
    for (int i = 0; i < part->rows; i++) {
        const int row = part->first + i;
        for (int j = 0; j <= i; j++)
            part->matrix[packed(i, j) * s.step] = s.again[packed(row, part->first + j) * s.step];
        part->size = part->size + s.matrix[packed(row, row) * s.step];
    }
}

/* The square of the residual, with the factor `beside` of a level relative to the one before. */
static inline real levels_square(const ik_plan *plan, const real *left, int step, real beside) {
    real sum = real_splat(0);
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        real square = square_of(left + task->row * step, step, ik_task_rows(task));
        sum = sum + level_counts(beside, task->level) * square;
    }
    return sum;
}

/* Right sides become answers, level by level, or that of one alone: the level before `stage`, unless that is 0. The
 * damping grows from one to the next by `apart`. Returns the square of what should be left, with a level counting so
 * much `beside` the one before. Afterwards `again` has the factors of all rows, without damping: what joints may do
 * that no row sees is what ldl_solve with them takes off. */
static inline real levels_solve(const ik_plan *plan, columns c, rows_system s, levels_answer answer, real damping,
                                real apart, real beside, real stage) {
    const int rows = s.rows, step = s.step, size = packed(rows, 0);
    real *factor = s.again, *block = factor + size * step, *e = block + size * step, *left = e + rows * step;
    for (int i = 0; i < size; i++)
        factor[i * step] = s.matrix[i * step];
    for (int i = 0; i < rows; i++)
        e[i * step] = s.y[i * step], s.y[i * step] = real_splat(0);
    for (int first = 0, last, level = 1; first < rows; first = last, level++) {
        const mask asked = mask_equal(stage, real_splat(0)) | mask_equal(stage, real_splat((number)level));
        last = levels_end(plan, first);
        levels_part part = {left + first * step, block, last - first, step, first, damping, damping};
        ldl_eliminate(factor, step, first, last);
        levels_left(s, e, first, last, left);
        levels_take_block(s, &part);
        for (int i = 0; i < part.rows; i++)
            part.y[i * step] = real_select(asked, part.y[i * step], real_splat(0));
        answer(plan, c, &part);
        damping = damping * apart;
        levels_add(s, &part);
        ldl_truncate(factor, step, first, last, s.matrix);
    }
    levels_left(s, e, 0, rows, left);
    return levels_square(plan, left, step, beside);
}
