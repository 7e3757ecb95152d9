/* Jacobian transpose. W. A. Wolovich, H. Elliott, "A computational technique for inverse kinematics", IEEE Conference
 * on Decision and Control (1984).
 *
 * Idea. Errors pull at joints like forces, and joints give way: d = a J^T e. Nothing is solved. Of all lengths take the
 * one after which, if motion were linear, least would be left: a = e . A e / A e . A e, with A = J J^T.
 *
 * With `loops` the same is done again with what is left of the error, and again, before any joint turns: a control loop
 * inside of the step, which drives J d to e and has nothing to invert. Its end is the pseudo-inverse, and a few turns
 * of it are as good as damping, which keep the step small near singular poses: A. N. Pechev, "Inverse kinematics
 * without matrix inversion", ICRA (2008), here with the best length for each turn of the loop instead of a designed
 * filter.
 *
 * It never explodes, and creeps wherever A stretches some directions much more than others, as gradient descent does.
 */

/* Columns of a step, behind those of dls: what is left of the error, and A times that. */
ik_inline int transpose_left(const ik_plan *plan) { return dls_columns(plan); }

static record_size transpose_room(const ik_plan *plan) {
    record_size size = dls_size(plan);
    size.work = transpose_left(plan) + 2 * plan->rows - plan->work;
    return size;
}

/* How far along what is left is best; `seen` is A times that. */
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
    real rounding = real_splat(64 * EPSILON) * level->size; /* else nothing that can turn is pulled at */
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
