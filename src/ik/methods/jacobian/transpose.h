/* Jacobian transpose. W. A. Wolovich, H. Elliott, "A computational technique for inverse kinematics", IEEE Conference
 * on Decision and Control (1984).
 *
 * Idea. Errors act on joints like forces, and joints yield: d = a J^T e. No system is solved. The step length a
 * minimizes the remaining error if motion were linear: a = e . A e / A e . A e, with A = J J^T.
 *
 * The option `loops` repeats this for the remaining error before any joint turns. This inner control loop drives J d to
 * e without an inverse. It converges to the pseudo-inverse. A few loops act as damping, which keeps the step small near
 * singular poses: A. N. Pechev, "Inverse kinematics without matrix inversion", ICRA (2008). Here each loop has the best
 * length instead of a designed filter.
 *
 * It never diverges, but is slow where A scales some directions much more than others, as gradient descent is. */

/* Columns of a step, after those of dls: the remaining error, and A times it. */
ik_inline int transpose_left(const ik_plan *plan) { return dls_columns(plan); }

static record_size transpose_room(const ik_plan *plan) {
    record_size size = dls_size(plan);
    size.work = transpose_left(plan) + 2 * plan->rows - plan->work;
    return size;
}

/* The best step length along the remaining error; `seen` receives A times it. */
static real transpose_length(const levels_part *level, const real *left, real *seen) {
    const int step = level->step;
    real along = real_splat(0), square = real_splat(0), size = real_splat(0);
    for (int i = 0; i < level->rows; i++) {
        real sum = real_splat(0);
        for (int j = 0; j < level->rows; j++)
            sum = sum + level->matrix[(i > j ? packed(i, j) : packed(j, i)) * step] * left[j * step];
        seen[i * step] = sum;
        along = along + left[i * step] * sum, square = square + sum * sum,
        size = size + left[i * step] * left[i * step];
    }
    real rounding = real_splat(64 * EPSILON) * level->size; /* smaller: no joint that can turn is pulled */
    mask some = mask_less(real_splat(SMALLEST) + rounding * rounding * size, square);
    return real_select(some, along / real_select(some, square, real_splat(1)), real_splat(0));
}

static void transpose_answer(const ik_plan *plan, columns c, const levels_part *level) {
    const int rows = level->rows, step = level->step;
    real *left = column(c, transpose_left(plan)), *seen = left + rows * step;
    const real damping = level->damping * diagonal_of(level->matrix, step, rows).largest;
    for (int i = 0; i < rows; i++)
        left[i * step] = level->y[i * step], level->y[i * step] = real_splat(0);
    for (int loop = 0; loop < plan->job->options.loops && !solve_stops(plan, 1); loop++) {
        real length = answer_damped(transpose_length(level, left, seen), damping);
        for (int i = 0; i < rows; i++) {
            level->y[i * step] = level->y[i * step] + length * left[i * step];
            left[i * step] = left[i * step] - length * seen[i * step];
        }
    }
}

ANSWER_METHOD(transpose, transpose_room)
