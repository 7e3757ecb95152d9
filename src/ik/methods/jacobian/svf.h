/* Singular value filtering. A. Colome, C. Torras, "Redundant inverse kinematics: experimental comparative review and
 * two enhancements", IROS (2012).
 *
 * Idea. The pseudo-inverse uses h(x) = (x^3 + nu x^2 + 2 x + 2 sigma0) / (x^2 + nu x + 2) in place of every singular
 * value x. Its value is sigma0 at 0, grows with x, and approaches x for large x. The matrix therefore has full rank
 * everywhere, and no error far from singular poses. Singular values are in mean bones. */

static real svf_gain(const ik_plan *plan, columns c, const spectral_part *part) {
    const real two = real_splat(2), nu = real_splat((number)plan->job->options.nu),
               unit = *column(c, joint_lever(plan));
    const real least = real_splat((number)plan->job->options.sigma0), size = real_sqrt(part->value), x = size / unit;
    real above = ((x + nu) * x + two) * x + two * least, below = (x + nu) * x + two;
    return below / (above * unit * size);
}

static void svf_answer(const ik_plan *plan, columns c, const levels_part *level) {
    spectral_answer(plan, c, level, svf_gain);
}

ANSWER_METHOD(svf, spectral_size)
