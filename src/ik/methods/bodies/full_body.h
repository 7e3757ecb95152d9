/* Full body: rigid bodies with masses, drawn by goals (sweeps.h), then a finish by damped least squares (dls.h).
 *
 *   begin   the pose becomes bodies, which are moved as a whole and limb by limb (first.h), then by the sweeps. They
 *           become a pose with bones of their old lengths, within limits. ERROR is of that pose
 *   step    one of dls, which meets goals exactly where they can be met. The first pose that makes no more progress
 *           is what stays unless one found later is within the tolerance: so where goals cannot be met the result is
 *           a continuous function of them */

/* The finish starts near its goals: the damping is this share of what dls starts with, or less. */
#define FULL_BODY_DAMPING (number)1e-3

#include "bodies.h"
#include "sweeps.h"
#include "first.h"

static record_size full_body_size(const ik_plan *plan) {
    return (record_size){bodies_columns(plan), joint_results(plan), dls_columns(plan) - plan->work};
}

static void full_body_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    IK_NAME(joint_load)(plan, at, start, record);
    bodies_load(plan, record);
    first_move(plan, record);
    for (int sweep = 0; sweep < plan->job->options.sweeps; sweep++)
        sweep_once(plan, record);
    bodies_store(plan, record);
    *column(record, finish_state(plan, FINISH_WHO)) = real_splat(FINISH_ALONE);
    dls_start(plan, record, ~mask_splat(0));
    real *damping = column(record, dls_state(plan, DLS_DAMPING));
    *damping = real_max(*damping, real_splat(-FULL_BODY_DAMPING));
    *column(record, dls_state(plan, DLS_HURRIES)) = real_splat(-1);
    kicks_start(record, dls_state(plan, DLS_WATCH));
    real error = IK_NAME(errors_measure)(plan, record, IN_POSE, real_splat(LEVEL_FIRST), NULL, 1).largest;
    if (posture_settles(plan)) error = error + real_splat(2) * *column(record, TOLERANCE);
    *column(record, ERROR) = error;
}

static const method full_body_any = {full_body_size, full_body_begin, dls_step, IK_NAME(joint_place), 0};
static const method *full_body_method(const ik_plan *plan) { return (void)plan, &full_body_any; }

SOLVE_METHOD(full_body)
