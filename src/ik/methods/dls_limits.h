/* What holds a step of dls: limits of turns and slides, and what is one-sided. Some hold from the first solve of a step
 * on; where its answer would go over others it is no step as yet: of these the nearest holds, too, in the next solve.
 */

/* What is held, by which turn or slide, and the turn that its limit would allow. */
ik_inline int dls_held(const ik_plan *plan, int slot) { return posture_columns(plan) + 3 * slot; }
ik_inline int dls_allowed(const ik_plan *plan, int slot) { return dls_held(plan, plan->slots) + 3 * slot; }
ik_inline int dls_pinned_by(const ik_plan *plan, int slot) { return dls_allowed(plan, plan->slots) + 3 * slot; }
ik_inline int dls_columns(const ik_plan *plan) { return dls_pinned_by(plan, plan->columns_of_slides); }

static const rows_moves dls_all = {step_own, step_slide}, dls_kept_back = {dls_held, dls_pinned_by};

/* Whether some solves of a step are not its last. */
ik_inline int dls_may_wait(const ik_plan *plan) { return plan->limited || plan->slides || plan->one_sided; }

/* Of the joints that would go over their limits, the one with the least way to go. */
typedef struct {
    real way, which; /* a slot; behind those, three numbers a slot for slides. -1: none */
} dls_nearest;

ik_inline void dls_nearer(dls_nearest *nearest, mask over, real way, int which) {
    mask first = over & mask_less(way, nearest->way);
    nearest->way = real_select(first, way, nearest->way);
    nearest->which = real_select(first, real_splat((number)which), nearest->which);
}

static void dls_find_over(const ik_plan *plan, columns c, dls_nearest *nearest) {
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!joint_is_limited(plan, k)) continue;
        vec3 turn = column_vec3(c, step_own(plan, slot));
        mask over =
            IK_NAME(turns_allow)(plan, c, k, &turn) & mask_equal(*column(c, rows_fixed(plan, slot)), real_splat(0));
        column_set_vec3(c, dls_allowed(plan, slot), turn);
        dls_nearer(nearest, over, vec3_length(turn), slot);
    }
}

static void dls_find_slid_over(const ik_plan *plan, columns c, dls_nearest *nearest) {
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        for (int axis = 0; axis < 3 && plan->nodes[k].slides; axis++) {
            real slide = *column(c, step_slide(plan, slot) + axis);
            mask over = turns_allow_slide(plan, c, k, axis, &slide);
            over &= mask_equal(*column(c, rows_pinned(plan, slot) + axis), real_splat(0));
            dls_nearer(nearest, over, real_abs(slide) / *column(c, joint_lever(plan)), plan->slots + 3 * slot + axis);
        }
    }
}

static void dls_hold_turns(const ik_plan *plan, columns c, real which) {
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!joint_is_limited(plan, plan->node_of_slot[slot])) continue;
        mask held = mask_equal(which, real_splat((number)slot));
        real *fixed = column(c, rows_fixed(plan, slot));
        *fixed = real_select(held, real_splat(1), *fixed);
        vec3 allowed = column_vec3(c, dls_allowed(plan, slot)), before = column_vec3(c, dls_held(plan, slot));
        column_set_vec3(c, dls_held(plan, slot), vec3_select(held, allowed, before));
    }
}

static void dls_hold_slides(const ik_plan *plan, columns c, real which) {
    for (int slot = 0; slot < plan->slots; slot++)
        for (int axis = 0; axis < 3 && plan->nodes[plan->node_of_slot[slot]].slides; axis++) {
            mask held = mask_equal(which, real_splat((number)(plan->slots + 3 * slot + axis)));
            real slide = *column(c, step_slide(plan, slot) + axis), *pinned = column(c, rows_pinned(plan, slot) + axis);
            real *by = column(c, dls_pinned_by(plan, slot) + axis);
            turns_allow_slide(plan, c, plan->node_of_slot[slot], axis, &slide);
            *pinned = real_select(held, real_splat(1), *pinned);
            *by = real_select(held, slide, *by);
        }
}

/* In lanes where joints would go over their limits, the one with the least way to go is held from now on. Returns
 * those lanes. */
static mask dls_hold(const ik_plan *plan, columns c) {
    dls_nearest nearest = {real_splat(LARGEST), real_splat(-1)};
    dls_find_over(plan, c, &nearest);
    if (plan->slides) dls_find_slid_over(plan, c, &nearest);
    mask waits = ~mask_less(nearest.which, real_splat(0));
    if (!mask_any(waits)) return waits;
    dls_hold_turns(plan, c, nearest.which);
    if (plan->slides) dls_hold_slides(plan, c, nearest.which);
    return waits;
}

/* Whatever would go over its limit stops there. */
static void dls_project_on_limits(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        for (int axis = 0; axis < 3 && plan->nodes[k].slides; axis++)
            turns_allow_slide(plan, c, k, axis, column(c, step_slide(plan, slot) + axis));
        if (!joint_is_limited(plan, k)) continue;
        vec3 turn = column_vec3(c, step_own(plan, slot));
        IK_NAME(turns_allow)(plan, c, k, &turn);
        column_set_vec3(c, step_own(plan, slot), turn);
    }
}

/* What limits do to a step: returns the lanes in which it has to be solved once more. */
static mask dls_mind_limits(const ik_plan *plan, columns c) {
    if (!plan->job->options.project) return dls_hold(plan, c);
    dls_project_on_limits(plan, c);
    return mask_splat(0);
}

/* In lanes where `done`, no joint is held from now on. */
static void dls_release(const ik_plan *plan, columns c, mask done) {
    const vec3 none = vec3_splat(0, 0, 0);
    rows_release(plan, c, done);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (plan->nodes[k].slides) {
            vec3 by = column_vec3(c, dls_pinned_by(plan, slot));
            column_set_vec3(c, dls_pinned_by(plan, slot), vec3_select(done, none, by));
        }
        if (!joint_is_limited(plan, k)) continue;
        vec3 held = column_vec3(c, dls_held(plan, slot));
        column_set_vec3(c, dls_held(plan, slot), vec3_select(done, none, held));
    }
}

/* ---- what is one-sided */

/* Lanes in which others count from now on: those that the step would violate; and those that hold back, y, no more. */
static mask dls_reconsider(const ik_plan *plan, columns c, const real *y) {
    const real zero = real_splat(0), one = real_splat(1), least = real_splat(0.5f) * *column(c, TOLERANCE);
    mask changed = mask_splat(0);
    for (int t = 0; t < plan->task_count; t++) {
        if (!task_is_one_sided(&plan->tasks[t])) continue;
        real *active = column(c, rows_active(plan, t)), off = errors_off(plan, c, IN_POSE, t).x;
        real left = off - rows_seen(plan, c, t, dls_all).x;
        mask violated = mask_equal(*active, zero) & mask_less(least, left);
        mask back = rows_is_active(plan, c, t) & mask_less(y[plan->tasks[t].row * c.step], zero);
        *active = real_select(violated, one, real_select(back, real_splat(2), *active));
        changed |= violated | back;
    }
    return changed;
}
