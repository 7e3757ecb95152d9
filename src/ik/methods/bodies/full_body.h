/* Full body: rigid bodies with masses, drawn by goals (sweeps.h), then a finish by damped least squares (dls.h).
 *
 *   begin   the pose becomes bodies; those under a root that slides are moved as their goals ask on average; the
 *           sweeps; bodies become a pose with bones of their old lengths, within limits. ERROR is of that pose
 *   step    one of dls, which meets goals exactly where they can be met. It is never kicked: where goals cannot be
 *           met the pose stays a continuous function of them */

#include "bodies.h"
#include "sweeps.h"

/* All bodies under a base that slides move by the mean of what their goals ask. */
static void full_body_pull(const ik_plan *plan, columns c, int base) {
    vec3 sum = vec3_splat(0, 0, 0);
    real count = real_splat(0);
    for (int task = 0; task < plan->task_count; task++) {
        const ik_task *t = &plan->tasks[task];
        if (!joint_task_is_simple(t) || t->kind != IK_PLACE || !ik_carries(plan, base, t->node)) continue;
        const real strength = sweep_strength(plan, c, task);
        const vec3 off = vec3_sub(joint_wanted(plan, c, task).place, bodies_frame(plan, c, t->node).place);
        sum = vec3_add(sum, vec3_scale(strength, off));
        count = count + strength;
    }
    const real share = real_splat((number)plan->job->options.pre_pull);
    const vec3 by = vec3_scale(share / real_max(count, real_splat(SMALLEST)), sum);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot], place = body_column(plan, slot, BODY_PLACE);
        if (body_is(plan, k) && ik_carries(plan, base, k))
            column_set_vec3(c, place, vec3_add(column_vec3(c, place), by));
    }
}

static record_size full_body_size(const ik_plan *plan) {
    return (record_size){bodies_columns(plan), joint_results(plan), dls_columns(plan) - plan->work};
}

static void full_body_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    IK_NAME(joint_load)(plan, at, start, record);
    bodies_load(plan, record);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (plan->nodes[k].slides && !plan->nodes[k].moves) full_body_pull(plan, record, k);
    }
    for (int sweep = 0; sweep < plan->job->options.sweeps; sweep++)
        sweep_once(plan, record);
    bodies_store(plan, record);
    dls_start(plan, record, ~mask_splat(0));
    const int watch = dls_state(plan, DLS_WATCH);
    *column(record, dls_state(plan, DLS_HURRIES)) = real_splat(0);
    kicks_start(record, watch);
    *column(record, watch + WATCH_KICKS) = real_splat(KICKS); /* none is left */
    real error = IK_NAME(errors_measure)(plan, record, IN_POSE, real_splat(LEVEL_FIRST), NULL, 1).largest;
    if (posture_settles(plan)) error = error + real_splat(2) * *column(record, TOLERANCE);
    *column(record, ERROR) = error;
}

static const method full_body_any = {full_body_size, full_body_begin, dls_step, IK_NAME(joint_place), 0};
static const method *full_body_method(const ik_plan *plan) { return (void)plan, &full_body_any; }

SOLVE_METHOD(full_body)
