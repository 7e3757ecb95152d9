/* Saturation in the null space. F. Flacco, A. De Luca, O. Khatib, "Control of redundant robots under hard joint
 * constraints: saturation in the null space", IEEE Transactions on Robotics 31 (2015).
 *
 * Idea. The pseudo-inverse wants turns d that take the error e away. Where joints would go over their limits, of the
 * turns that take s e away, d = s a + b, some stay within as long as s is small enough. The joint that allows the least
 * s goes to its limit and stays there, and the others take over what it does less, until nothing goes over:
 *
 *   a = J_f^+ e            of the joints that are still free,
 *   b = d_h - J_f^+ J d_h  where d_h is what those do that are at their limits
 *
 * Where too few are free for that the best s so far is taken: the tips go less far, but straight to their targets.
 * Without `scaling` they go as near as the joints let them in that step, by whatever way, which has the name IKTC and
 * is what dls does.
 *
 * Where no joint may move straight at all, s is next to 0: the other answer is taken then. Speeds of joints are not
 * among these limits: the frame holds joints to them afterwards, as with all methods.
 *
 * The pseudo-inverse has a little damping, and more where steps do not get on, as that of pinv (answer.h). */

/* Of the largest element on the diagonal: singular values of less than its root do little. For rounding. */
#define SNS_DAMPING (number)(IK_BITS == 64 ? 1e-10 : 1e-6)

/* Straight on is better than on, unless it is less than this share of the way. */
#define SNS_STRAIGHT (number)0.02

/* What is left of an error where joints are too few, beside what damping leaves with all of them. */
#define SNS_LOST (number)0.01

/* Columns of a step, behind those of dls: the errors, b, the best turns so far, and their s. */
ik_inline int sns_wanted(const ik_plan *plan) { return dls_columns(plan); }
ik_inline int sns_rest(const ik_plan *plan, int slot) { return sns_wanted(plan) + plan->rows + 3 * slot; }
ik_inline int sns_best(const ik_plan *plan, int slot) { return sns_rest(plan, plan->slots) + 3 * slot; }
ik_inline int sns_share(const ik_plan *plan) { return sns_best(plan, plan->slots); }

static record_size sns_size(const ik_plan *plan) {
    record_size size = dls_size(plan);
    size.work = sns_share(plan) + 1 - plan->work;
    return size;
}

/* ---- a round: a and b of the joints that are free */

/* From pulls to turns, in place. */
static void sns_turn(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        column_set_vec3(c, step_own(plan, slot), rows_turn(plan, c, k, column_vec3(c, step_own(plan, slot))));
    }
}

/* a + b into the step's own. Returns the size of what is left of the error. */
static real sns_find(const ik_plan *plan, columns c, rows_system s, real damping) {
    for (int i = 0; i < s.rows; i++) {
        s.y[i * s.step] = *column(c, sns_wanted(plan) + i);
        s.z[i * s.step] = real_splat(0);
    }
    rows_take_off(plan, c, dls_kept_back, s.z, s.step);
    if (plan->one_sided) rows_drop_inactive(plan, c, s.z, s.step);
    rows_assemble(plan, c, s.matrix, s.step);
    ldl_factor(s.matrix, s.step, s.rows, damping);
    ldl_solve(s.matrix, s.step, s.rows, s.y);
    ldl_solve(s.matrix, s.step, s.rows, s.z);
    rows_pull(plan, c, s.z, s.step);
    sns_turn(plan, c);
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 held = column_vec3(c, dls_held(plan, slot));
        column_set_vec3(c, sns_rest(plan, slot), vec3_add(held, column_vec3(c, step_own(plan, slot))));
    }
    rows_pull(plan, c, s.y, s.step);
    sns_turn(plan, c);
    for (int slot = 0; slot < plan->slots; slot++)
        rows_add(c, step_own(plan, slot), column_vec3(c, sns_rest(plan, slot)));
    return damping * real_sqrt(square_of(s.y, s.step, s.rows));
}

/* ---- which joint allows the least */

/* The s at which a turn from b by s a, that is over at s = 1, is at its bound: `off` is how far it is over, `along` how
 * far a goes that way. */
ik_inline real sns_share_of(real off, real along) {
    real share = real_splat(1) - off / real_select(mask_less(real_splat(0), along), along, off);
    return real_max(share, real_splat(0));
}

/* Its s, and its slot; -1: none is over. */
static dls_nearest sns_least(const ik_plan *plan, columns c) {
    dls_nearest least = {real_splat(LARGEST), real_splat(-1)};
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (!joint_is_limited(plan, k)) continue;
        vec3 wanted = column_vec3(c, step_own(plan, slot)), turn = wanted;
        mask over =
            IK_NAME(turns_allow)(plan, c, k, &turn) & mask_equal(*column(c, rows_fixed(plan, slot)), real_splat(0));
        column_set_vec3(c, dls_allowed(plan, slot), turn);
        direction off = vec3_direction(vec3_sub(wanted, turn));
        real along = vec3_dot(off.unit, vec3_sub(wanted, column_vec3(c, sns_rest(plan, slot))));
        dls_nearer(&least, over, real_select(over, sns_share_of(off.length, along), real_splat(1)), slot);
    }
    return least;
}

/* s a + b is the best so far, in lanes where it is. */
static void sns_keep(const ik_plan *plan, columns c, real share, mask counts) {
    const real back = real_splat(1) - share;
    real *best = column(c, sns_share(plan));
    mask better = counts & mask_less(*best, share);
    *best = real_select(better, share, *best);
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 all = column_vec3(c, step_own(plan, slot)), rest = column_vec3(c, sns_rest(plan, slot));
        all = vec3_add(vec3_scale(share, all), vec3_scale(back, rest));
        column_set_vec3(c, sns_best(plan, slot), vec3_select(better, all, column_vec3(c, sns_best(plan, slot))));
    }
}

/* ---- a step */

/* The turns to make, straight on, or on. Returns the largest. */
static real sns_choose(const ik_plan *plan, columns c) {
    mask straight = ~mask_less(*column(c, sns_share(plan)), real_splat(SNS_STRAIGHT));
    if (!plan->job->options.scaling) straight = mask_splat(0);
    real largest = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        vec3 turn = vec3_select(straight, column_vec3(c, sns_best(plan, slot)), column_vec3(c, step_own(plan, slot)));
        column_set_vec3(c, step_own(plan, slot), turn);
        if (plan->nodes[k].turns) largest = real_max(largest, vec3_length(turn));
    }
    return largest;
}

/* Shortened to max_step as a whole, and within bounds to the bit. */
static void sns_cut(const ik_plan *plan, columns c, real largest) {
    const real most = real_splat((number)plan->job->options.max_step);
    const real cut = real_min(real_splat(1), most / (largest + real_splat(TINY_LENGTH)));
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        vec3 turn = vec3_scale(cut, column_vec3(c, step_own(plan, slot)));
        if (joint_is_limited(plan, k)) IK_NAME(turns_allow)(plan, c, k, &turn);
        column_set_vec3(c, step_own(plan, slot), turn);
    }
}

/* Rounds until nothing goes over; lanes that are done find the same again. */
static void sns_rounds(const ik_plan *plan, columns c, rows_system s) {
    real damping = real_splat(0), all = real_splat(0);
    for (int i = 0; i < s.rows; i++)
        *column(c, sns_wanted(plan) + i) = s.y[i * s.step];
    real size = real_sqrt(square_of(s.y, s.step, s.rows));
    *column(c, sns_share(plan)) = real_splat(-1);
    rows_assemble(plan, c, s.matrix, s.step);
    diagonal d = diagonal_of(s.matrix, s.step, s.rows);
    damping = (real_splat(SNS_DAMPING) + answer_damping(plan, c)) * d.largest + real_splat(TINY_LENGTH);
    for (int round = 0; round <= plan->slots; round++) {
        real left = sns_find(plan, c, s, damping);
        if (!round) all = real_splat(2) * left + real_splat(SNS_LOST) * size;
        dls_nearest least = sns_least(plan, c);
        mask over = ~mask_less(least.which, real_splat(0));
        sns_keep(plan, c, real_select(over, least.way, real_splat(1)), ~mask_less(all, left));
        if (!mask_any(over)) break;
        dls_hold_turns(plan, c, least.which);
    }
}

static errors sns_solve(const ik_plan *plan, columns c) {
    rows_system s = rows_system_of(plan, c);
    IK_NAME(turns_start)(plan, c);
    rows_start(plan, c);
    errors now = IK_NAME(errors_measure)(plan, c, IN_POSE, real_splat(1), s.y, s.step);
    dls_cut_error(plan, c, s.y, s.step);
    if (plan->one_sided) rows_drop_inactive(plan, c, s.y, s.step);
    sns_rounds(plan, c, s);
    sns_cut(plan, c, sns_choose(plan, c));
    return now;
}

static void sns_step(const ik_plan *plan, real *bundle, int groups) {
    errors now[GROUPS];
    for (int g = 0; g < groups; g++)
        now[g] = sns_solve(plan, columns_of_bundle(bundle, g));
    IK_NAME(turns_try)(plan, bundle, groups, 0, plan->slots);
    for (int g = 0; g < groups; g++) {
        errors e = IK_NAME(errors_measure)(plan, columns_of_bundle(bundle, g), AFTER_STEP, real_splat(1), NULL, 1);
        answer_conclude(plan, bundle, g, mask_splat(0), now[g], e);
    }
}

static const method sns_any = {sns_size, dls_begin, sns_step, IK_NAME(joint_place), 1};
static const method *sns_method(const ik_plan *plan) { return (void)plan, &sns_any; }

SOLVE_METHOD(sns)
