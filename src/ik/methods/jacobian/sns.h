/* Saturation in the null space. F. Flacco, A. De Luca, O. Khatib, "Control of redundant robots under hard joint
 * constraints: saturation in the null space", IEEE Transactions on Robotics 31 (2015).
 *
 * Idea. The pseudo-inverse gives rotations d that remove the error e. If joints would pass their limits, consider the
 * rotations d = s a + b that remove s e; for small s they are within limits. The joint that allows the smallest s is
 * set to its limit. The others compensate for it, until no joint passes its limit:
 *
 *   a = J_f^+ e            for the joints that are still free
 *   b = d_h - J_f^+ J d_h  where d_h is the motion of the joints at their limits
 *
 * If too few joints are free, the result with the largest s yet is taken: the tips move less, but straight towards
 * their targets. Without `scaling` they move as near as the joints allow in that step, in any direction. This variant
 * is named IKTC, and dls does the same.
 *
 * If no joint can move straight towards the target, s is nearly 0 and the other answer is taken. Except with
 * `textbook`, it is also taken if the straight motion leaves twice as much error. Joint speeds are not among these
 * limits: as for all methods, the loop clamps them afterwards and reports it.
 *
 * The pseudo-inverse has slight damping, and more if steps fail, as pinv has (eigen_answer.h). */

/* Relative to the largest diagonal element: singular values below its root have little effect. Guards against
 * round-off. */
#define SNS_DAMPING (number)(IK_BITS == 64 ? 1e-10 : 1e-6)

/* The straight motion is preferred, unless s is below this. */
#define SNS_STRAIGHT (number)0.02

/* Error left when too few joints are free, relative to all of it and beyond that left by damping with all joints
 * free. */
#define SNS_LOST (number)0.01

/* Motions of a node: a rotation or a slide may be lost separately. All rotations come first, by slot, then slides. */
ik_inline int sns_moves(const ik_plan *plan) { return plan->slots + plan->columns_of_slides; }
ik_inline int sns_own(const ik_plan *plan, int i) {
    return i < plan->slots ? step_own(plan, i) : step_slide(plan, i - plan->slots);
}
ik_inline int sns_held(const ik_plan *plan, int i) {
    return i < plan->slots ? dls_held(plan, i) : dls_pinned_by(plan, i - plan->slots);
}

/* Columns of a step, after those of dls: the errors, b, the best rotations and slides so far, and their s. */
ik_inline int sns_wanted(const ik_plan *plan) { return dls_columns(plan); }
ik_inline int sns_rest(const ik_plan *plan, int i) { return sns_wanted(plan) + plan->rows + 3 * i; }
ik_inline int sns_best(const ik_plan *plan, int i) { return sns_rest(plan, sns_moves(plan)) + 3 * i; }
ik_inline int sns_share(const ik_plan *plan) { return sns_best(plan, sns_moves(plan)); }

static record_size sns_size(const ik_plan *plan) {
    record_size size = dls_size(plan);
    size.work = sns_share(plan) + 1 - plan->work;
    return size;
}

/* ---- a round: a and b of the free joints */

/* Converts pulls of the rows to rotations and slides. */
static void sns_move(const ik_plan *plan, columns c, const real *y, int step) {
    rows_pull(plan, c, y, step);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot], own = step_own(plan, slot);
        if (plan->nodes[k].turns) column_set_vec3(c, own, rows_turn(plan, c, k, column_vec3(c, own)));
        if (!plan->nodes[k].slides) continue;
        const int slide = step_slide(plan, slot);
        column_set_vec3(c, slide, rows_slide_by(plan, c, k, column_vec3(c, slide)));
    }
}

/* Computes b: the motion of joints at their limits, and the compensation by the free joints. */
static void sns_find_rest(const ik_plan *plan, columns c, rows_system s) {
    for (int i = 0; i < s.rows; i++)
        s.z[i * s.step] = real_splat(0);
    rows_take_off(plan, c, dls_kept_back, s.z, s.step);
    if (plan->one_sided) rows_drop_inactive(plan, c, s.z, s.step);
    ldl_solve(s.matrix, s.step, s.rows, s.z);
    sns_move(plan, c, s.z, s.step);
    for (int i = 0; i < sns_moves(plan); i++) {
        vec3 held = column_vec3(c, sns_held(plan, i));
        column_set_vec3(c, sns_rest(plan, i), vec3_add(held, column_vec3(c, sns_own(plan, i))));
    }
}

/* Computes a + b into the step. No joints are `held` in the first round. Returns the size of the remaining error. */
static real sns_find(const ik_plan *plan, columns c, rows_system s, real damping, int held) {
    const vec3 none = vec3_splat(0, 0, 0);
    for (int i = 0; i < s.rows; i++)
        s.y[i * s.step] = *column(c, sns_wanted(plan) + i);
    if (held) rows_assemble(plan, c, s.matrix, s.step);
    ldl_factor(s.matrix, s.step, s.rows, damping);
    ldl_solve(s.matrix, s.step, s.rows, s.y);
    if (held) sns_find_rest(plan, c, s);
    for (int i = 0; i < sns_moves(plan) && !held; i++)
        column_set_vec3(c, sns_rest(plan, i), none);
    sns_move(plan, c, s.y, s.step);
    for (int i = 0; i < sns_moves(plan); i++)
        rows_add(c, sns_own(plan, i), column_vec3(c, sns_rest(plan, i)));
    return damping * real_sqrt(square_of(s.y, s.step, s.rows));
}

/* ---- the joint that allows the smallest s */

/* Slides past their limits, separately along each axis. */
static void sns_find_slid_over(const ik_plan *plan, columns c, dls_nearest *least) {
    for (int slot = 0; slot < plan->slots; slot++)
        for (int axis = 0; axis < 3 && plan->nodes[plan->node_of_slot[slot]].slides; axis++) {
            real wanted = *column(c, step_slide(plan, slot) + axis), slide = wanted;
            mask over = turns_allow_slide(plan, c, plan->node_of_slot[slot], axis, &slide);
            over &= mask_equal(*column(c, rows_pinned(plan, slot) + axis), real_splat(0));
            real off = wanted - slide, along = wanted - *column(c, sns_rest(plan, plan->slots + slot) + axis);
            along = real_negate_if(mask_less(off, real_splat(0)), along);
            real share = real_select(over, dls_share(real_abs(off), along), real_splat(1));
            dls_nearer(least, over, share, plan->slots + 3 * slot + axis);
        }
}

/* The smallest s and its joint, as in dls_nearest; -1 if none is past its limit. */
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
        dls_nearer(&least, over, real_select(over, dls_share(off.length, along), real_splat(1)), slot);
    }
    if (plan->slides) sns_find_slid_over(plan, c, &least);
    return least;
}

/* Keeps s a + b in lanes where s is the largest so far. */
static void sns_keep(const ik_plan *plan, columns c, real share, mask counts) {
    const real back = real_splat(1) - share;
    real *best = column(c, sns_share(plan));
    mask better = counts & mask_less(*best, share);
    *best = real_select(better, share, *best);
    for (int i = 0; i < sns_moves(plan); i++) {
        vec3 all = column_vec3(c, sns_own(plan, i)), rest = column_vec3(c, sns_rest(plan, i));
        all = vec3_add(vec3_scale(share, all), vec3_scale(back, rest));
        column_set_vec3(c, sns_best(plan, i), vec3_select(better, all, column_vec3(c, sns_best(plan, i))));
    }
}

/* ---- a step */

/* Remaining error after the unscaled motion; overwrites z. */
static real sns_left(const ik_plan *plan, columns c, rows_system s) {
    for (int i = 0; i < s.rows; i++)
        s.z[i * s.step] = *column(c, sns_wanted(plan) + i);
    rows_take_off(plan, c, dls_all, s.z, s.step);
    if (plan->one_sided) rows_drop_inactive(plan, c, s.z, s.step);
    return real_sqrt(square_of(s.z, s.step, s.rows));
}

/* Chooses the straight motion or the unscaled one. The latter is chosen if s is nearly 0 or, except with `textbook`,
 * the straight motion leaves twice as much error. */
static void sns_choose(const ik_plan *plan, columns c, rows_system s) {
    const real share = *column(c, sns_share(plan)), one = real_splat(1);
    mask straight = ~mask_less(share, real_splat(SNS_STRAIGHT));
    if (!plan->job->options.scaling) straight = mask_splat(0);
    if (!plan->job->options.textbook && mask_any(straight & mask_less(share, one))) {
        real left = real_splat(2) * sns_left(plan, c, s), size = real_splat(0);
        for (int i = 0; i < s.rows; i++)
            size = size + *column(c, sns_wanted(plan) + i) * *column(c, sns_wanted(plan) + i);
        straight &= ~mask_less(left, (one - share) * real_sqrt(size));
    }
    for (int i = 0; i < sns_moves(plan); i++) {
        vec3 best = column_vec3(c, sns_best(plan, i)), own = column_vec3(c, sns_own(plan, i));
        column_set_vec3(c, sns_own(plan, i), vec3_select(straight, best, own));
    }
}

/* Adds the posture motion in the null space of the rows, for free joints, and as far as all limits allow. */
static void sns_add_posture(const ik_plan *plan, columns c, rows_system s, real square) {
    const real one = real_splat(1);
    for (int i = 0; i < sns_moves(plan); i++)
        column_set_vec3(c, sns_rest(plan, i), column_vec3(c, sns_own(plan, i)));
    rows_assemble(plan, c, s.matrix, s.step);
    dls_project(plan, c, s, diagonal_of(s.matrix, s.step, s.rows), square);
    rows_pull(plan, c, s.z, s.step);
    dls_move_by_pulls(plan, c, 1, 1);
    for (int i = 0; i < sns_moves(plan); i++)
        rows_add(c, sns_own(plan, i), column_vec3(c, sns_rest(plan, i)));
    dls_nearest least = sns_least(plan, c);
    real share = real_select(mask_less(least.which, real_splat(0)), one, least.way);
    for (int i = 0; i < sns_moves(plan); i++) {
        vec3 all = vec3_scale(share, column_vec3(c, sns_own(plan, i)));
        column_set_vec3(c, sns_own(plan, i), vec3_add(all, vec3_scale(one - share, column_vec3(c, sns_rest(plan, i)))));
    }
}

/* Scales the step down to max_step, and projects it onto the limits exactly. */
static void sns_cut(const ik_plan *plan, columns c) {
    const real most = real_splat((number)plan->job->options.max_step), one = real_splat(1);
    real largest = real_splat(0), unit = *column(c, joint_lever(plan));
    for (int slot = 0; slot < plan->slots; slot++) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        if (node->turns) largest = real_max(largest, vec3_length(column_vec3(c, step_own(plan, slot))));
        if (node->slides) largest = real_max(largest, vec3_length(column_vec3(c, step_slide(plan, slot))) / unit);
    }
    const real cut = real_min(one, most / (largest + real_splat(TINY_LENGTH)));
    for (int i = 0; i < sns_moves(plan); i++)
        column_set_vec3(c, sns_own(plan, i), vec3_scale(cut, column_vec3(c, sns_own(plan, i))));
    dls_project_on_limits(plan, c);
}

/* Repeats rounds until no joint passes its limit. Finished lanes compute the same again. Returns whether any did. */
static int sns_rounds(const ik_plan *plan, columns c, rows_system s) {
    real damping = real_splat(0), all = real_splat(0);
    for (int i = 0; i < s.rows; i++)
        *column(c, sns_wanted(plan) + i) = s.y[i * s.step];
    real size = real_sqrt(square_of(s.y, s.step, s.rows));
    *column(c, sns_share(plan)) = real_splat(-1);
    rows_assemble(plan, c, s.matrix, s.step);
    diagonal d = diagonal_of(s.matrix, s.step, s.rows);
    damping = (real_splat(SNS_DAMPING) + answer_damping(plan, c)) * d.largest + real_splat(TINY_LENGTH);
    for (int round = 0; round <= plan->slots + 3 * plan->columns_of_slides; round++) {
        real left = sns_find(plan, c, s, damping, round);
        if (!round) all = real_splat(2) * left + real_splat(SNS_LOST) * size;
        dls_nearest least = sns_least(plan, c);
        mask over = ~mask_less(least.which, real_splat(0));
        if (!round && !mask_any(over)) return 0;
        sns_keep(plan, c, real_select(over, least.way, real_splat(1)), ~mask_less(all, left));
        if (!mask_any(over)) break;
        dls_hold_turns(plan, c, least.which);
        if (plan->slides) dls_hold_slides(plan, c, least.which);
    }
    return 1;
}

static dls_outlook sns_solve(const ik_plan *plan, columns c) {
    rows_system s = rows_system_of(plan, c);
    errors now = dls_plain_start(plan, c, s);
    if (sns_rounds(plan, c, s)) sns_choose(plan, c, s);
    if (posture_is_any(plan)) sns_add_posture(plan, c, s, now.square);
    sns_cut(plan, c);
    return (dls_outlook){now, real_splat(0)};
}

static void sns_step(const ik_plan *plan, real *bundle, int groups) {
    dls_plain_step_by(plan, bundle, groups, sns_solve, answer_conclude);
}

static const method sns_any = {sns_size, dls_begin, sns_step, IK_NAME(joint_place), 1};
static const method *sns_method(const ik_plan *plan) { return (void)plan, &sns_any; }

SOLVE_METHOD(sns)
