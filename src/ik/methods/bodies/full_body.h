/* Full body: rigid bodies with masses, drawn by goals (sweeps.h), then a finish by damped least squares (dls.h).
 *
 *   begin   the pose becomes bodies, which are moved as a whole and limb by limb (first.h), then by the sweeps. They
 *           become a pose with bones of their old lengths, within limits. ERROR is of that pose
 *   step    one of dls, which meets goals exactly where they can be met. At first every step is kept, so that the pose
 *           is a continuous function of the goals. The damping follows the error, as in T. Sugihara,
 *           "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", IEEE Trans. Robotics 27
 *           (2011). It is proportional to the error, not to its square, so that no step overshoots beyond reach.
 *             HASTY   With a small factor, a few steps. All joints past their limits are held at once.
 *             CALM    Again from the bodies, with a larger one. The nearest such joint is held first.
 *           A pose that is not within the tolerance by then is stored, and dls continues.
 *             KEEPS   From there, then from the start pose. A result counts only within the tolerance.
 *
 * Problems with several levels of goals, or with slides below joints that turn, are solved by dls alone. */

#include "bodies.h"
#include "sweeps.h"
#include "first.h"

enum full_body_phase { HASTY = -3, CALM = -2, KEEPS = -1 }; /* values of DLS_HURRIES */

/* The iterations at which the first two end. */
enum { HASTY_UNTIL = 8, CALM_UNTIL = 28 };

enum { KICKED_NEVER = 1 }; /* WATCH_KICKS of stored lanes: later poses count only within the tolerance */

/* Factors of the damping. It is the error times HASTY_BONES or CALM_BONES mean bones, which bounds the second-order
 * effect of a turn on an end. Its lower bound is a share of the squared mean bone. */
#define HASTY_BONES  (number)1
#define CALM_BONES   (number)4
#define CALM_DAMPING (number)1e-3

/* Two poses, as joints.h has them and with the angles of hinges: the one that came in, and that of the bodies. */
ik_inline int full_body_pose(const ik_plan *plan) { return joint_task(plan, 0) - joint_rotation(0); }
ik_inline int full_body_came(const ik_plan *plan) { return bodies_columns(plan); }
ik_inline int full_body_swept(const ik_plan *plan) {
    return full_body_came(plan) + full_body_pose(plan) + (plan->rests ? plan->slots : 0);
}
ik_inline int full_body_columns(const ik_plan *plan) {
    return full_body_swept(plan) + (full_body_swept(plan) - full_body_came(plan));
}

static record_size full_body_size(const ik_plan *plan) {
    return (record_size){full_body_columns(plan), joint_results(plan), dls_columns(plan) - plan->work};
}

static void full_body_copy(columns c, int from, int to, int count, mask chosen) {
    for (int i = 0; i < count; i++)
        *column(c, to + i) = real_select(chosen, *column(c, from + i), *column(c, to + i));
}

static void full_body_keep(const ik_plan *plan, columns c, int to) {
    const int pose = full_body_pose(plan);
    full_body_copy(c, joint_rotation(0), to, pose, mask_splat(~0));
    if (plan->rests) full_body_copy(c, joint_angle(plan, 0), to + pose, plan->slots, mask_splat(~0));
}

static real full_body_error(const ik_plan *plan, columns c) {
    real error = IK_NAME(errors_measure)(plan, c, IN_POSE, real_splat(LEVEL_FIRST), NULL, 1).largest;
    if (posture_settles(plan)) error = error + real_splat(2) * *column(c, TOLERANCE); /* not yet measured */
    return error;
}

static void full_body_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    IK_NAME(joint_load)(plan, at, start, record);
    full_body_keep(plan, record, full_body_came(plan));
    bodies_load(plan, record);
    first_move(plan, record);
    for (int sweep = 0; sweep < plan->job->options.sweeps; sweep++)
        sweep_once(plan, record);
    bodies_store(plan, record);
    full_body_keep(plan, record, full_body_swept(plan));
    dls_start(plan, record, ~mask_splat(0));
    *column(record, dls_state(plan, DLS_HURRIES)) = real_splat(HASTY);
    kicks_start(record, dls_state(plan, DLS_WATCH));
    *column(record, ERROR) = full_body_error(plan, record);
}

ik_inline real *full_body_kicks(const ik_plan *plan, columns c) {
    return column(c, dls_state(plan, DLS_WATCH) + WATCH_KICKS);
}

/* Lanes that miss the tolerance after the phase CALM: their pose is stored, and dls continues from it. */
static void full_body_put_aside(const ik_plan *plan, columns c, mask chosen) {
    const int pose = full_body_pose(plan), watch = dls_state(plan, DLS_WATCH), aside = step_aside(plan);
    real *best = column(c, watch + KICKS_BEST), *kicks = column(c, watch + WATCH_KICKS);
    real *phase = column(c, dls_state(plan, DLS_HURRIES));
    const real strict = IK_NAME(errors_measure)(plan, c, IN_POSE, real_splat(LEVEL_FIRST), NULL, 1).strict;
    full_body_copy(c, joint_rotation(0), aside, pose, chosen);
    if (plan->limited) full_body_copy(c, joint_angle(plan, 0), aside + pose, plan->slots, chosen);
    dls_start(plan, c, chosen);
    *best = real_select(chosen, strict, *best);
    *kicks = real_select(chosen, real_splat(KICKED_NEVER), *kicks);
    *column(c, watch + WATCH_LEAST) = real_select(chosen, real_splat(LARGEST), *column(c, watch + WATCH_LEAST));
    *column(c, watch + WATCH_IDLE) = real_select(chosen, real_splat(0), *column(c, watch + WATCH_IDLE));
    *phase = real_select(chosen, real_splat(KEEPS), *phase);
}

/* The chosen lanes start from a stored pose. */
static void full_body_start_from(const ik_plan *plan, columns c, int from, mask chosen) {
    const int pose = full_body_pose(plan);
    real *error = column(c, ERROR);
    full_body_copy(c, from, joint_rotation(0), pose, chosen);
    if (plan->rests) full_body_copy(c, from + pose, joint_angle(plan, 0), plan->slots, chosen);
    *error = real_select(chosen, full_body_error(plan, c), *error);
}

static void full_body_choose_damping(const ik_plan *plan, columns c, mask hasty) {
    const real lever = *column(c, joint_lever(plan)), least = real_splat(CALM_DAMPING) * lever;
    const real square = IK_NAME(errors_measure)(plan, c, IN_POSE, real_splat(LEVEL_FIRST), NULL, 1).square;
    const real bones = real_select(hasty, real_splat(HASTY_BONES), real_splat(CALM_BONES));
    const real wanted = lever * (bones * real_sqrt(square) + least);
    real *damping = column(c, dls_state(plan, DLS_DAMPING));
    *damping = real_select(dls_is_calm(plan, c), wanted, *damping);
}

/* The phase of every lane, before a step. */
static void full_body_choose_phase(const ik_plan *plan, columns c) {
    real *phase = column(c, dls_state(plan, DLS_HURRIES));
    const real iterations = *column(c, ITERATIONS);
    const mask hasty = mask_equal(*phase, real_splat(HASTY));
    const mask ends = hasty & ~mask_less(iterations, real_splat(HASTY_UNTIL));
    *phase = real_select(ends, real_splat(CALM), *phase);
    if (mask_any(ends)) full_body_start_from(plan, c, full_body_swept(plan), ends);
    const mask over = ~mask_less(iterations, real_splat(CALM_UNTIL)) & dls_is_calm(plan, c);
    if (mask_any(over)) full_body_put_aside(plan, c, over);
    if (mask_any(dls_is_calm(plan, c))) full_body_choose_damping(plan, c, hasty & ~ends);
}

static void full_body_step(const ik_plan *plan, real *bundle, int groups) {
    mask never[GROUPS];
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        full_body_choose_phase(plan, c);
        never[g] = mask_equal(*full_body_kicks(plan, c), real_splat(KICKED_NEVER));
    }
    dls_step(plan, bundle, groups);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        const mask first = never[g] & mask_less(real_splat(KICKED_NEVER), *full_body_kicks(plan, c));
        if (mask_any(first)) full_body_start_from(plan, c, full_body_came(plan), first);
    }
}

static const method full_body_any = {full_body_size, full_body_begin, full_body_step, IK_NAME(joint_place), 0};

/* Whether bodies describe the problem: one level of goals, and slides only above all joints that turn. Other problems
 * are solved by dls alone. */
static int full_body_fits(const ik_plan *plan) {
    if (plan_has_levels(plan)) return 0;
    for (int k = 0; k < plan->count; k++)
        for (int above = plan->nodes[k].parent; plan->nodes[k].slides && above >= 0; above = plan->nodes[above].parent)
            if (plan->nodes[above].turns) return 0;
    return 1;
}

static const method *full_body_method(const ik_plan *plan) {
    return full_body_fits(plan) ? &full_body_any : dls_method(plan);
}

SOLVE_METHOD(full_body)
