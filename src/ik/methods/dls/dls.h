/* Damped least squares. C. W. Wampler, "Manipulator inverse kinematic solutions based on vector formulations and damped
 * least-squares methods", IEEE Trans. SMC 16 (1986); the choice of damping: H. B. Nielsen, "Damping parameter in
 * Marquardt's method", report IMM-REP-1999-05 (1999); limits as in P. Baerlocher, R. Boulic, "An inverse kinematics
 * architecture enforcing an arbitrary number of strict priority levels", The Visual Computer 20 (2004).
 *
 * Idea. A small rotation d of a joint moves a point at r from it by d x r and rotates everything below the joint by d.
 * These are the columns of the Jacobian J. Many steps remove the error e to first order. Motion is not linear, so the
 * step should be short: it minimizes |e - J d|^2 + damping |d|^2.
 *
 *   A = J W J^T            symmetric; one row per number of a task (solve/tasks.h)
 *   (A + damping) y = e    L D L^T
 *   d = W J^T y            for every joint: W (r x y), summed over the tasks below it
 *
 * W is a joint's mobility, 1 - stiffness. solve/jacobian.h computes A without J, and solve/turns.h applies all
 * rotations together.
 *
 *   damping   Nielsen's trust region. It starts at a tenth of A's largest diagonal element. The better the error's
 *             decrease was predicted, the more it falls, at most to a third. A step that increases the error is
 *             undone, and the damping grows. The option `damping` makes it constant; every step is then kept, and
 *             scaled down to max_step as a whole.
 *
 *   limits    Consider the joints that a step would take past their limits. The nearest of them is set to its
 *             limit and its effect is subtracted from the error. The system is then solved again without it, until no
 *             joint is past its limit. Each such solve is one step of the loop but does not count as an iteration. The
 *             option `project` stops each joint at its limit, and the others do not compensate.
 *
 *   posture   d = J^+ e + (I - J^+ J) z, where z turns joints to their preferred pose, usually rest; computed as
 *             J^+ (e - J z) + z.
 *
 *   weights   Rows are multiplied by the square roots of the goals' weights. Angles are multiplied by the mean bone
 *             length.
 *
 *   levels    Strict priorities, as in the same paper: see solve/levels.h.
 *
 *   slides    Columns like those of rotations; a mean bone length counts as one radian.
 *
 * Except with `textbook`, a chain without limits whose only target is out of reach is pointed at it at once. A chain
 * that makes no progress is perturbed, as in solve/kicks.h. */

enum dls_state {
    DLS_DAMPING, /* negative: not chosen yet, and this share of the largest diagonal element at first */
    DLS_GROWTH,  /* factor of the damping after a rejected step */
    DLS_LEVEL,   /* weight of a level relative to the previous one in the acceptance test */
    DLS_HURRIES, /* 1: slow solves are abandoned in favour of another start; negative: see full_body.h */
    DLS_WATCH,
    DLS_STATE = DLS_WATCH + KICKS_COLUMNS
};

ik_inline int dls_state(const ik_plan *plan, enum dls_state what) { return joint_columns(plan) + what; }

/* Lanes whose steps are all kept, and that are not stuck: the first phases of full_body. The first of these, hasty,
 * holds all joints past their limits at once, which takes fewer solves but makes poses beyond reach jump. */
ik_inline mask dls_is_calm(const ik_plan *plan, columns c) {
    return mask_less(*column(c, dls_state(plan, DLS_HURRIES)), real_splat((number)-1.5));
}

ik_inline mask dls_is_hasty(const ik_plan *plan, columns c) {
    return mask_less(*column(c, dls_state(plan, DLS_HURRIES)), real_splat((number)-2.5));
}

#include "dls_limits.h"
#include "manipulability.h"
#include "dls_step.h"

/* A step that reduces the squared error by less than this share counts as stalled. After DLS_PATIENCE such steps the
 * joints are perturbed. */
#define DLS_PROGRESS (number)1e-3
#define DLS_HOPELESS (number)1e-8 /* predicted to reduce it by less: at rest, perturbed without waiting */
enum { DLS_PATIENCE = 5 };
/* The same while a restart is left. A slow solve is abandoned earlier, because another start is better. On arms of six
 * and seven hinges this saves a third of the work until the last item has converged. */
#define DLS_PROGRESS_HURRIED (number)0.05
#define DLS_HOPELESS_HURRIED (number)0.01
enum { DLS_PATIENCE_HURRIED = 2 };

/* Nielsen's rule: the damping falls the more, the better the decrease of the error was predicted. */
ik_inline void dls_adapt(const ik_plan *plan, columns c, mask waits, mask better, real gain) {
    const real one = real_splat(1), two = real_splat(2);
    real *damping = column(c, dls_state(plan, DLS_DAMPING)), *growth = column(c, dls_state(plan, DLS_GROWTH));
    real x = two * gain - one, less = real_max(real_splat((number)(1.0 / 3)), one - x * x * x);
    *damping = real_select(waits, *damping, *damping * real_select(better, less, *growth));
    *growth = real_select(waits, *growth, real_select(better, two, two * *growth));
}

/* Reduces the weight of each level relative to the previous one in lanes that are blocked. Returns the lanes in which
 * that was possible. */
ik_outline mask dls_be_strict(const ik_plan *plan, columns c, mask held_up) {
    real *level = column(c, dls_state(plan, DLS_LEVEL)), last = real_splat(LEVEL_LAST);
    mask could = held_up & mask_less(last, *level);
    *level = real_select(could, real_max(real_splat((number)0.01) * *level, last), *level);
    return could;
}

/* Resets the state of chosen lanes, whose joints were perturbed. */
static void dls_start(const ik_plan *plan, columns c, mask chosen) {
    const real given = real_splat((number)plan->job->options.damping) * *column(c, joint_lever(plan));
    real *damping = column(c, dls_state(plan, DLS_DAMPING)), *growth = column(c, dls_state(plan, DLS_GROWTH));
    real *level = column(c, dls_state(plan, DLS_LEVEL));
    *damping =
        real_select(chosen, plan->job->options.damping > 0 ? given * given : real_splat(-DLS_FIRST_DAMPING), *damping);
    *growth = real_select(chosen, real_splat(2), *growth);
    *level = real_select(chosen, real_splat(LEVEL_FIRST), *level);
}

static void dls_watch(const ik_plan *plan, real *bundle, int g, mask waits, errors e, const dls_outlook *o) {
    columns c = columns_of_bundle(bundle, g);
    const int watch = dls_state(plan, DLS_WATCH);
    mask off = mask_less(*column(c, TOLERANCE), *column(c, ERROR)) & ~waits;
    if (posture_settles(plan)) off &= mask_less(real_splat(0), e.square); /* else the error is within the tolerance */
    mask hurried = mask_less(real_splat(0), *column(c, dls_state(plan, DLS_HURRIES)));
    real hope = real_select(hurried, real_splat(DLS_HOPELESS_HURRIED), real_splat(DLS_HOPELESS));
    real share = real_select(hurried, real_splat(1 - DLS_PROGRESS_HURRIED), real_splat(1 - DLS_PROGRESS));
    real patience = real_select(hurried, real_splat(DLS_PATIENCE_HURRIED), real_splat(DLS_PATIENCE));
    mask hopeless = mask_less(o->now.square - o->foreseen, hope * o->now.square);
    mask stuck = watch_is_stuck(c, watch, off, e.square, share, patience, hopeless);
    stuck &= ~dls_is_calm(plan, c);
    if (plan_has_levels(plan)) stuck &= ~dls_be_strict(plan, c, stuck);
    const mask keeps = mask_less(*column(c, dls_state(plan, DLS_HURRIES)), real_splat(0)) &
                       mask_less(real_splat(0), *column(c, watch + WATCH_KICKS));
    const real value = real_select(keeps, real_splat(LARGEST), e.strict);
    mask kicked = IK_NAME(kicks_for_stuck)(plan, bundle, g, watch, off, stuck, hurried, value);
    if (mask_any(kicked)) dls_start(plan, c, kicked);
}

/* End of a step. Until the preferred pose is reached as nearly as possible, the error includes the distance from it. */
ik_inline void dls_settle(const ik_plan *plan, columns c, mask waits) {
    real *error = column(c, ERROR);
    if (posture_settles(plan)) *error = real_select(waits, *error, *error + posture_unsettled(plan, c));
}

/* Accepts or rejects the trial pose, whose errors are e, in lanes that do not wait for another solve. */
ik_inline void dls_conclude(const ik_plan *plan, real *bundle, int g, mask waits, dls_outlook o, errors e) {
    columns c = columns_of_bundle(bundle, g);
    real *error = column(c, ERROR), *iterations = column(c, ITERATIONS);
    if (posture_settles(plan)) *error = real_select(waits, *error, o.now.largest);
    e.square = posture_forgiven(plan, c, e.square);
    real gained = o.now.square - e.square, gain = gained / real_max(o.now.square - o.foreseen, real_splat(SMALLEST));
    mask better = mask_less(real_splat(0), gained) | dls_is_calm(plan, c), accept = ~waits & mask_is_number(e.square);
    if (plan->job->options.damping == 0) {
        if (posture_settles(plan)) better |= mask_equal(gained, real_splat(0)), gain = real_max(real_splat(0.5f), gain);
        accept &= better;
        dls_adapt(plan, c, waits, better, gain);
    }
    if (plan_has_levels(plan)) dls_be_strict(plan, c, ~(waits | accept) & mask_less(e.strict, o.now.strict));
    *error = real_select(accept, e.largest, *error);
    IK_NAME(turns_accept)(plan, c, accept);
    if (dls_may_wait(plan)) {
        dls_release(plan, c, ~waits);
        *iterations = real_select(waits, *iterations - real_splat(1), *iterations);
    }
    if (!plan->job->options.textbook) {
        e.square = real_select(accept, e.square, o.now.square);
        e.strict = real_select(accept, e.strict, o.now.strict);
        dls_watch(plan, bundle, g, waits, e, &o);
    }
    dls_settle(plan, c, waits);
}

/* One linear solve: the rotations and slides of a step, with the errors before it and those predicted after it. */
typedef dls_outlook (*dls_solver)(const ik_plan *plan, columns c);

ik_inline void dls_step_by(const ik_plan *plan, real *bundle, int groups, dls_solver solve) {
    dls_outlook outlook[GROUPS];
    mask waits[GROUPS] = {mask_splat(0)};
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        outlook[g] = solve(plan, c);
        waits[g] = dls_mind(plan, c, rows_system_of(plan, c).y);
    }
    IK_NAME(turns_try)(plan, bundle, groups, 0, plan->slots);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        errors e = IK_NAME(errors_measure)(plan, c, AFTER_STEP, *column(c, dls_state(plan, DLS_LEVEL)), NULL, 1);
        dls_conclude(plan, bundle, g, waits[g], outlook[g], e);
    }
}

/* Begins a plain step: assembles the rows for the errors of the pose, which it returns. */
ik_inline errors dls_plain_start(const ik_plan *plan, columns c, rows_system s) {
    IK_NAME(turns_start)(plan, c);
    rows_start(plan, c);
    errors now = IK_NAME(errors_measure)(plan, c, IN_POSE, real_splat(1), s.y, s.step);
    dls_cut_error(plan, c, s.y, s.step);
    if (plan->one_sided) rows_drop_inactive(plan, c, s.y, s.step);
    return now;
}

/* The end of a step, after the joints have turned: it keeps the better pose and detects stalls. */
typedef void (*dls_ending)(const ik_plan *plan, real *bundle, int g, mask waits, dls_outlook outlook, errors e);

/* The same for methods whose steps wait for nothing and have no level of their own. */
ik_inline void dls_plain_step_by(const ik_plan *plan, real *bundle, int groups, dls_solver solve, dls_ending conclude) {
    dls_outlook outlook[GROUPS];
    for (int g = 0; g < groups; g++)
        outlook[g] = solve(plan, columns_of_bundle(bundle, g));
    IK_NAME(turns_try)(plan, bundle, groups, 0, plan->slots);
    for (int g = 0; g < groups; g++) {
        errors e = IK_NAME(errors_measure)(plan, columns_of_bundle(bundle, g), AFTER_STEP, real_splat(1), NULL, 1);
        conclude(plan, bundle, g, mask_splat(0), outlook[g], e);
    }
}

static void dls_step(const ik_plan *plan, real *bundle, int groups) { dls_step_by(plan, bundle, groups, dls_solve); }

#include "dls_free_chain.h"

/* ---- the method */

static record_size dls_size(const ik_plan *plan) {
    return (record_size){joint_columns(plan) + DLS_STATE, joint_results(plan), dls_columns(plan) - plan->work};
}

static void dls_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    IK_NAME(joint_load)(plan, at, start, record);
    if (!plan->job->options.textbook) IK_NAME(plain_answer)(plan, start, record);
    dls_start(plan, record, ~mask_splat(0));
    const int restarts = plan->job->options.restarts;
    mask hurried = plan->attempts ? solve_is_random(plan) : mask_splat(restarts > 0 ? -1 : 0);
    *column(record, dls_state(plan, DLS_HURRIES)) = real_select(hurried, real_splat(1), real_splat(0));
    kicks_start(record, dls_state(plan, DLS_WATCH));
    real error = IK_NAME(errors_measure)(plan, record, IN_POSE, real_splat(LEVEL_FIRST), NULL, 1).largest;
    if (posture_settles(plan))
        error = error + real_splat(2) * *column(record, TOLERANCE); /* the posture is not yet measured */
    *column(record, ERROR) = error;
}

static const method dls_plain = {dls_size, dls_begin, dls_step_plain, IK_NAME(joint_place), 1};
static const method dls_any = {dls_size, dls_begin, dls_step, IK_NAME(joint_place), 1};

static const method *dls_method(const ik_plan *plan) { return plain_is(plan) ? &dls_plain : &dls_any; }

SOLVE_METHOD(dls)
