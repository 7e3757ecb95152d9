/* Strict priorities, as in P. Baerlocher, R. Boulic, "An inverse kinematics architecture enforcing an arbitrary number
 * of strict priority levels", The Visual Computer 20 (2004): rows of a level have what the levels before it leave.
 *
 * With the rows by levels, what a level may do without the levels before it, J_i P, has the Schur complement of their
 * block as its matrix: what elimination leaves. Its answer y then pulls back at the rows before by what they would see
 * of it, which is one substitution (the paper's projectors, but of rows, not of joints). */

/* What rows of a level still see, after all that y does so far. */
static inline void levels_left(rows_system s, const real *e, int first, int last, real *left) {
    for (int i = first; i < last; i++) {
        real sum = e[i * s.step];
        for (int j = 0; j < s.rows; j++)
            sum = sum - s.matrix[(i > j ? packed(i, j) : packed(j, i)) * s.step] * s.y[j * s.step];
        left[i * s.step] = sum;
    }
}

/* Adds the answer of a level, and takes from the rows before what they see of it. */
static inline void levels_add(rows_system s, const real *factor, int first, int last, const real *answer) {
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
static inline int levels_end(const ik_plan *plan, int first) {
    int end = first, level = -1;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        if (task->row == first) level = task->level;
        if (task->level == level) end = task->row + ik_task_rows(task);
    }
    return end;
}

/* Right sides become answers, level by level; the damping grows from one to the next by `apart`. Returns the square of
 * what should be left, with a level counting so much `beside` the one before. Afterwards `again` has the factors of all
 * rows, without damping: what joints may do that no row sees is what ldl_solve with them takes off. */
static inline real levels_solve(const ik_plan *plan, rows_system s, real damping, real apart, real beside) {
    const int rows = s.rows, step = s.step, size = packed(rows, 0);
    real *factor = s.again, *block = factor + size * step, *e = block + size * step, *left = e + rows * step;
    real foreseen = real_splat(0);
    for (int i = 0; i < size; i++)
        factor[i * step] = s.matrix[i * step];
    for (int i = 0; i < rows; i++)
        e[i * step] = s.y[i * step], s.y[i * step] = real_splat(0);
    for (int first = 0, last; first < rows; first = last) {
        last = levels_end(plan, first);
        ldl_eliminate(factor, step, first, last);
        for (int i = first; i < last; i++)
            for (int j = first; j <= i; j++)
                block[packed(i - first, j - first) * step] = factor[packed(i, j) * step];
        levels_left(s, e, first, last, left);
        ldl_factor(block, step, last - first, damping);
        damping = damping * apart;
        ldl_solve(block, step, last - first, left + first * step);
        levels_add(s, factor, first, last, left);
        ldl_truncate(factor, step, first, last, s.matrix);
    }
    levels_left(s, e, 0, rows, left);
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        real square = square_of(left + task->row * step, step, ik_task_rows(task));
        foreseen = foreseen + level_counts(beside, task->level) * square;
    }
    return foreseen;
}
