/* What transpose, pinv, svf and sdls share. They are dls (dls.h), with its rows, limits and postures, and are
 * shaken as it is where they are stuck; but each has its own answer y to A y = e. The step is shortened as a whole to
 * max_step. As published (`textbook`) every step is kept. Otherwise one that makes the error larger is taken back, and
 * the next ones are damped until they get on again: what an answer takes of e along an eigenvector of A is not gain but
 * 1 / (1 / gain + damping). With gain = 1 / eigenvalue that is Levenberg's damping. */

/* A share of the largest eigenvalue; 0 as long as steps get on. After one that does not, ANSWER_DAMPING or four times
 * as much as before; after one that does a quarter, until that is less. */
#define ANSWER_DAMPING (number)0.1

ik_inline real answer_damping(const ik_plan *plan, columns c) {
    return real_max(real_splat(0), *column(c, dls_state(plan, DLS_DAMPING)));
}

static void answer_adapt(const ik_plan *plan, columns c, mask waits, mask better) {
    const real zero = real_splat(0), first = real_splat(ANSWER_DAMPING), was = answer_damping(plan, c);
    real less = real_select(mask_less(first, was), real_splat(0.25f) * was, zero);
    real more = real_max(first, real_splat(4) * was);
    *column(c, dls_state(plan, DLS_DAMPING)) = real_select(waits, was, real_select(better, less, more));
}

ik_inline real answer_damped(real gain, real damping) { return gain / (real_splat(1) + gain * damping); }

/* The answer, in place of the error in s.y; the matrix may be lost. */
typedef void (*answer_of)(const ik_plan *plan, columns c, rows_system s);

static errors answer_solve(const ik_plan *plan, columns c, answer_of answer) {
    const int posture = posture_is_any(plan);
    rows_system s = rows_system_of(plan, c);
    IK_NAME(turns_start)(plan, c);
    rows_start(plan, c);
    errors e = IK_NAME(errors_measure)(plan, c, IN_POSE, real_splat(1), s.y, s.step);
    dls_cut_error(plan, c, s.y, s.step);
    if (plan->limited || plan->slides) rows_take_off(plan, c, dls_kept_back, s.y, s.step);
    if (plan->one_sided) rows_drop_inactive(plan, c, s.y, s.step);
    rows_assemble(plan, c, s.matrix, s.step);
    if (posture) dls_project(plan, c, s, diagonal_of(s.matrix, s.step, s.rows), e.square);
    answer(plan, c, s);
    if (posture) dls_add_wish(s);
    rows_pull(plan, c, s.y, s.step);
    return e;
}

/* Lanes that do not wait for another solve take what was tried, if it is to be kept; `now` is what they come from. */
static void answer_conclude(const ik_plan *plan, real *bundle, int g, mask waits, errors now, errors e) {
    columns c = columns_of_bundle(bundle, g);
    const dls_outlook outlook = {now, real_splat(0)};
    mask accept = ~waits;
    real *error = column(c, ERROR), *iterations = column(c, ITERATIONS);
    if (!plan->job->options.textbook) {
        mask better = mask_less(e.square, now.square);
        answer_adapt(plan, c, waits, better);
        accept &= better;
    }
    *error = real_select(accept, e.largest, *error);
    IK_NAME(turns_accept)(plan, c, accept);
    if (dls_may_wait(plan)) {
        dls_release(plan, c, ~waits);
        *iterations = real_select(waits, *iterations - real_splat(1), *iterations);
    }
    if (plan->job->options.textbook) return;
    e.square = real_select(accept, e.square, now.square);
    e.strict = real_select(accept, e.strict, now.strict);
    dls_watch(plan, bundle, g, waits, e, &outlook);
}

ik_outline void answer_step(const ik_plan *plan, real *bundle, int groups, answer_of answer) {
    errors now[GROUPS];
    mask waits[GROUPS] = {mask_splat(0)};
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        now[g] = answer_solve(plan, c, answer);
        dls_turns(plan, c, 1);
        if (plan->limited || plan->slides) waits[g] = dls_mind_limits(plan, c);
        if (plan->one_sided) waits[g] |= ~waits[g] & dls_reconsider(plan, c, rows_system_of(plan, c).y);
    }
    IK_NAME(turns_try)(plan, bundle, groups, 0, plan->slots);
    for (int g = 0; g < groups; g++) {
        errors e = IK_NAME(errors_measure)(plan, columns_of_bundle(bundle, g), AFTER_STEP, real_splat(1), NULL, 1);
        answer_conclude(plan, bundle, g, waits[g], now[g], e);
    }
}

/* A method of an answer, `name_answer`. */
#define ANSWER_METHOD(name, size)                                                                                      \
    static record_size name##_size(const ik_plan *plan) { return size(plan); }                                         \
    static void name##_step(const ik_plan *plan, real *bundle, int groups) {                                           \
        answer_step(plan, bundle, groups, name##_answer);                                                              \
    }                                                                                                                  \
    static const method name##_any = {name##_size, dls_begin, name##_step, IK_NAME(joint_place), 1};                   \
    static const method *name##_method(const ik_plan *plan) { return (void)plan, &name##_any; }                        \
    SOLVE_METHOD(name)
