/* Pseudo-inverse. D. E. Whitney, "Resolved motion rate control of manipulators and human prostheses", IEEE Trans.
 * Man-Machine Systems 10 (1969); postures: A. Liegeois, "Automatic supervisory control of the configuration and
 * behavior of multibody mechanisms", IEEE Trans. SMC 7 (1977).
 *
 * Idea. Of all turns that would take away the error, if motion were linear, the least: d = J^+ e. Near a singular pose,
 * a stretched arm say, some J^+ is huge: singular values below a share of the largest count for nothing, and what is
 * left is shortened to max_step. Where that is not enough the joints swing to and fro (docs/pinv.md has a picture).
 */

static real pinv_gain(const ik_plan *plan, columns c, const spectral_part *part) {
    const real share = real_splat((number)plan->job->options.truncation);
    (void)c;
    mask counts = ~mask_less(part->value, share * share * part->largest);
    return real_select(counts, real_splat(1) / part->value, real_splat(0));
}

static void pinv_answer(const ik_plan *plan, columns c, rows_system s) { spectral_answer(plan, c, s, pinv_gain); }

ANSWER_METHOD(pinv, spectral_size)
