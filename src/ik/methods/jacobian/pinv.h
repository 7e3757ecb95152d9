/* Pseudo-inverse. D. E. Whitney, "Resolved motion rate control of manipulators and human prostheses", IEEE Trans.
 * Man-Machine Systems 10 (1969); postures: A. Liegeois, "Automatic supervisory control of the configuration and
 * behavior of multibody mechanisms", IEEE Trans. SMC 7 (1977).
 *
 * Idea. Many rotations remove the error if motion were linear; the smallest is d = J^+ e. Near a singular pose, such as
 * a stretched arm, J^+ is huge. Singular values below a share of the largest are dropped, and the step is scaled down
 * to max_step. If that is not enough, the joints oscillate (docs/methods/jacobians.md has a picture).
 *
 *   filtering small singular values are not dropped but damped, each separately; the others are undamped. The damping
 * is (1 - x) filtering^2, where x is the ratio of an eigenvalue to the largest filtered one (A. A. Maciejewski, C. A.
 * Klein, "Numerical filtering for the operation of robotic manipulators through kinematically singular configurations",
 * Journal of Robotic Systems 5, 1988). Extended SDLS (Bensalah and others, 2013, for hands) has one such value for each
 * small singular vector.
 *
 *   gain      with 1 - exp(-K dt), the first-order map of closed loops, d/dt q = J^+ K e
 */

static real pinv_gain(const ik_plan *plan, columns c, const spectral_part *part) {
    const ik_options *options = &plan->job->options;
    const real one = real_splat(1), share = real_splat((number)options->truncation);
    const real filtering = real_splat((number)options->filtering) * *column(c, joint_lever(plan));
    const real bound = share * share * part->largest;
    mask counts = ~mask_less(part->value, bound);
    real small = part->value + (one - part->value / real_select(counts, one, bound)) * filtering * filtering;
    if (options->filtering > 0) return one / real_select(counts, part->value, small);
    return real_select(counts, one / part->value, real_splat(0));
}

static void pinv_answer(const ik_plan *plan, columns c, const levels_part *level) {
    spectral_answer(plan, c, level, pinv_gain);
}

ANSWER_METHOD(pinv, spectral_size)
