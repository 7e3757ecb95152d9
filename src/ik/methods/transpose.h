/* Jacobian transpose. W. A. Wolovich, H. Elliott, "A computational technique for inverse kinematics", IEEE Conference
 * on Decision and Control (1984).
 *
 * Idea. Errors pull at joints like forces, and joints give way: d = a J^T e. Nothing is solved. Of all lengths take the
 * one after which, if motion were linear, least would be left: a = e . A e / A e . A e, with A = J J^T.
 *
 * It never explodes, and creeps wherever A stretches some directions much more than others, as gradient descent does.
 */

static void transpose_answer(const ik_plan *plan, columns c, rows_system s) {
    real along = real_splat(0), square = real_splat(0);
    for (int i = 0; i < s.rows; i++) {
        real sum = real_splat(0);
        for (int j = 0; j < s.rows; j++)
            sum = sum + s.matrix[(i > j ? packed(i, j) : packed(j, i)) * s.step] * s.y[j * s.step];
        along = along + s.y[i * s.step] * sum, square = square + sum * sum;
    }
    mask some = mask_less(real_splat(SMALLEST), square); /* else nothing that can turn is pulled at */
    real length = real_select(some, along / real_select(some, square, real_splat(1)), real_splat(0));
    length = answer_damped(length, answer_damping(plan, c) * diagonal_of(s.matrix, s.step, s.rows).largest);
    for (int i = 0; i < s.rows; i++)
        s.y[i * s.step] = length * s.y[i * s.step];
}

ANSWER_METHOD(transpose, dls_size)
