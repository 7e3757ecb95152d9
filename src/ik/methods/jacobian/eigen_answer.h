/* Common part of transpose, pinv, svf and sdls. They share the rows, limits, levels, postures and perturbations of dls
 * (dls.h). Each has its own answer y to A y = e, for each level separately. The step is scaled down to max_step as a
 * whole. As published (`textbook`), every step is kept. Otherwise a step that increases the error is undone, and the
 * following ones are damped until they succeed again. The gain g along an eigenvector of A becomes
 * 1 / (1 / g + damping). For g = 1 / eigenvalue, this is Levenberg's damping. */

/* Relative to the largest eigenvalue; 0 while steps succeed. A failed step sets it to ANSWER_DAMPING, or multiplies it
 * by four. A successful one divides it by four, and below ANSWER_LEAST it becomes 0. */
#define ANSWER_DAMPING (number)0.1
#define ANSWER_LEAST   (number)1e-5

/* Several levels are treated as in dls: a lower one always has more damping, because its steps disturb those above.
 * They are not damped with `textbook`. */
ik_outline void answer_choose_damping(const ik_plan *plan, columns c) {
    real *damping = column(c, dls_state(plan, DLS_DAMPING));
    if (plan->levels < 2 || plan->job->options.textbook) return;
    *damping = real_select(mask_less(*damping, real_splat(0)), real_splat(ANSWER_DAMPING), *damping);
}

ik_inline real answer_damping(const ik_plan *plan, columns c) {
    return real_max(real_splat(0), *column(c, dls_state(plan, DLS_DAMPING)));
}

static void answer_adapt(const ik_plan *plan, columns c, mask waits, mask better) {
    const real zero = real_splat(0), least = real_splat(ANSWER_LEAST), was = answer_damping(plan, c);
    real less = real_select(mask_less(least, was), real_splat(0.25f) * was, zero);
    real more = real_select(mask_less(zero, was), real_splat(4) * was, real_splat(ANSWER_DAMPING));
    *column(c, dls_state(plan, DLS_DAMPING)) = real_select(waits, was, real_select(better, less, more));
}

ik_inline real answer_damped(real gain, real damping) { return gain / (real_splat(1) + gain * damping); }

/* Solves all goals of one level. */
static void answer_level(const ik_plan *plan, columns c, rows_system s, levels_answer answer, real square) {
    const int posture = posture_is_any(plan);
    const diagonal d = diagonal_of(s.matrix, s.step, s.rows);
    const levels_part part = {s.y, s.matrix, s.rows, s.step, 0, answer_damping(plan, c), d.sum};
    if (posture) dls_project(plan, c, s, d, square);
    answer(plan, c, &part);
    if (posture) dls_add_wish(s);
}

/* Measures the errors, and converts the answers to pulls on joints. The decrease is predicted for several levels
 * only. */
static dls_outlook answer_solve(const ik_plan *plan, columns c, levels_answer answer) {
    rows_system s = rows_system_of(plan, c);
    dls_outlook o = {dls_look(plan, c, s), real_splat(0)};
    rows_assemble(plan, c, s.matrix, s.step);
    answer_choose_damping(plan, c);
    if (plan->levels > 1)
        o.foreseen = dls_solve_levels(plan, c, s, answer, answer_damping(plan, c), o.now.square);
    else
        answer_level(plan, c, s, answer, o.now.square);
    rows_pull(plan, c, s.y, s.step);
    return o;
}

/* Accepts or rejects the trial pose in lanes that do not wait for another solve; `now` is the error before the step. */
static void answer_conclude(const ik_plan *plan, real *bundle, int g, mask waits, dls_outlook o, errors e) {
    columns c = columns_of_bundle(bundle, g);
    const errors now = o.now;
    mask accept = ~waits & mask_is_number(e.square);
    real *error = column(c, ERROR), *iterations = column(c, ITERATIONS);
    if (posture_settles(plan)) *error = real_select(waits, *error, now.largest);
    e.square = posture_forgiven(plan, c, e.square);
    if (!plan->job->options.textbook) {
        mask better = mask_less(e.square, now.square);
        if (posture_settles(plan)) better |= mask_equal(e.square, now.square);
        accept &= better;
        if (plan->levels > 1) {
            real foreseen = real_max(now.square - o.foreseen, real_splat(SMALLEST));
            dls_adapt(plan, c, waits, better, (now.square - e.square) / foreseen);
            dls_be_strict(plan, c, ~(waits | accept) & mask_less(e.strict, now.strict));
        } else
            answer_adapt(plan, c, waits, better);
    }
    *error = real_select(accept, e.largest, *error);
    IK_NAME(turns_accept)(plan, c, accept);
    if (dls_may_wait(plan)) {
        dls_release(plan, c, ~waits);
        *iterations = real_select(waits, *iterations - real_splat(1), *iterations);
    }
    if (!plan->job->options.textbook) {
        e.square = real_select(accept, e.square, now.square);
        e.strict = real_select(accept, e.strict, now.strict);
        dls_watch(plan, bundle, g, waits, e, &o);
    }
    dls_settle(plan, c, waits);
}

ik_outline void answer_step(const ik_plan *plan, real *bundle, int groups, levels_answer answer) {
    dls_outlook outlook[GROUPS];
    mask waits[GROUPS] = {mask_splat(0)};
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        outlook[g] = answer_solve(plan, c, answer);
        dls_turns(plan, c, 1);
        waits[g] = dls_mind(plan, c, rows_system_of(plan, c).y);
    }
    IK_NAME(turns_try)(plan, bundle, groups, 0, plan->slots);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        errors e = IK_NAME(errors_measure)(plan, c, AFTER_STEP, *column(c, dls_state(plan, DLS_LEVEL)), NULL, 1);
        answer_conclude(plan, bundle, g, waits[g], outlook[g], e);
    }
}

/* Defines a method from its answer, `name_answer`. */
#define ANSWER_METHOD(name, size)                                                                                      \
    static record_size name##_size(const ik_plan *plan) { return size(plan); }                                         \
    static void name##_step(const ik_plan *plan, real *bundle, int groups) {                                           \
        answer_step(plan, bundle, groups, name##_answer);                                                              \
    }                                                                                                                  \
    static const method name##_any = {name##_size, dls_begin, name##_step, IK_NAME(joint_place), 1};                   \
    static const method *name##_method(const ik_plan *plan) { return (void)plan, &name##_any; }                        \
    SOLVE_METHOD(name)
