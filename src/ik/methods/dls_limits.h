/* What holds a step of dls: limits of turns and slides, and what is one-sided. Some hold from the first solve of a step
 * on; where its answer would go over others it is no step as yet: of these the nearest holds, too, in the next solve.
 *
 * Of several levels it is solved by stages where limits may hold, or where it would be longer than max_step, since what
 * holds a lower level must change nothing for those before: the first level alone, until nothing goes over; then what
 * the second adds to that, which no row of the first sees, as far as the first joint that would go over; that one stays
 * where it is, the others go on without it; and so on, postures last. So a level has exactly the step that it has
 * without those after it; but where only these keep it from being too long.
 *
 * Unless `textbook`, a ball that a lower level would take over its limit may still turn along it: only across is it
 * held, and where two bounds meet (swing and twist) along their edge. The limit bends, so the step of levels before
 * changes by the square of that turn. */

/* Whether a step may have to be solved by stages. */
ik_inline int dls_has_stages(const ik_plan *plan) { return plan->levels > 1 && !plan->job->options.project; }

/* What is held, by which turn or slide, and the turn that its limit would allow. With stages all turns and slides are,
 * by what levels before have made of them; and the stage: 0: all levels together, 1: the first alone, 2: the second;
 * -1: together, and that was too long. */
ik_inline int dls_held(const ik_plan *plan, int slot) { return posture_columns(plan) + 3 * slot; }
ik_inline int dls_allowed(const ik_plan *plan, int slot) { return dls_held(plan, plan->slots) + 3 * slot; }
ik_inline int dls_pinned_by(const ik_plan *plan, int slot) { return dls_allowed(plan, plan->slots) + 3 * slot; }
ik_inline int dls_stage(const ik_plan *plan) { return dls_pinned_by(plan, plan->columns_of_slides); }

/* Directions in which balls at their limits are held: across the limit that was met first, and across a second one. */
ik_inline int dls_normal(const ik_plan *plan, int slot) { return dls_stage(plan) + 1 + 3 * slot; }
ik_inline int dls_second(const ik_plan *plan, int slot) { return dls_normal(plan, plan->slots) + 3 * slot; }
ik_inline int dls_columns(const ik_plan *plan) {
    return dls_has_stages(plan) ? dls_second(plan, plan->slots) : dls_stage(plan);
}

/* Whether a ball at its limit may still turn along it: where all axes are alike. */
ik_inline int dls_may_follow(const ik_plan *plan, int k) {
    if (!dls_has_stages(plan) || plan->job->options.textbook) return 0;
    if (!joint_is_limited(plan, k) || joint_is_hinge(plan, k)) return 0;
    const double *stiffness = plan->nodes[k].limit->stiffness;
    return stiffness[0] == stiffness[1] && stiffness[1] == stiffness[2];
}

/* Lanes in which it does: rows_fixed is 2 or 3. */
ik_inline mask dls_follows(const ik_plan *plan, columns c, int slot) {
    return mask_less(real_splat(1), *column(c, rows_fixed(plan, slot)));
}

/* Axes of balls that turn along their limits: the first (and second) is across. After turns_start. */
static void dls_set_axes(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!dls_may_follow(plan, plan->node_of_slot[slot])) continue;
        const mask follows = dls_follows(plan, c, slot);
        const vec3 normal = column_vec3(c, dls_normal(plan, slot)), second = column_vec3(c, dls_second(plan, slot));
        const vec3 beside = vec3_select(mask_equal(*column(c, rows_fixed(plan, slot)), real_splat(3)), second,
                                        vec3_perpendicular(normal));
        const vec3 axes[3] = {normal, beside, vec3_cross(normal, beside)};
        for (int i = 0; i < 3; i++) {
            const int axis = step_axis(plan, slot) + 3 * i;
            column_set_vec3(c, axis, vec3_select(follows, axes[i], column_vec3(c, axis)));
        }
    }
}

static const rows_moves dls_all = {step_own, step_slide}, dls_kept_back = {dls_held, dls_pinned_by};

/* Whether some solves of a step are not its last. */
ik_inline int dls_may_wait(const ik_plan *plan) {
    return plan->limited || plan->slides || plan->one_sided || dls_has_stages(plan);
}

/* Whether turns and slides are held. */
ik_inline int dls_may_hold(const ik_plan *plan) { return plan->limited || plan->slides || dls_has_stages(plan); }

/* Of the joints that would go over their limits, the one with the least way to go. */
typedef struct {
    real way, which; /* a slot; behind those, three numbers a slot for slides. -1: none */
} dls_nearest;

ik_inline void dls_nearer(dls_nearest *nearest, mask over, real way, int which) {
    mask first = over & mask_less(way, nearest->way);
    nearest->way = real_select(first, way, nearest->way);
    nearest->which = real_select(first, real_splat((number)which), nearest->which);
}

/* The share of a way at which it comes to a bound that its end is over by `off`; `along` is how far it goes over there.
 */
ik_inline real dls_share(real off, real along) {
    real share = real_splat(1) - off / real_select(mask_less(real_splat(0), along), along, off);
    return real_max(share, real_splat(0));
}

/* Lanes in which a level adds to what those before it have found. */
ik_inline mask dls_adds(const ik_plan *plan, columns c) {
    return mask_less(real_splat(1), *column(c, dls_stage(plan)));
}

/* What a turn is, a share of the way from what is held to what is wanted. */
ik_inline vec3 dls_on_way(const ik_plan *plan, columns c, int slot, real share) {
    vec3 from = column_vec3(c, dls_held(plan, slot)), to = column_vec3(c, step_own(plan, slot));
    return vec3_add(from, vec3_scale(share, vec3_sub(to, from)));
}

/* A ball that turns along its limit is led aside by this share of its way at most: a limit bends; but where two meet,
 * at the end of a twist as well, there is no more to be had. */
#define DLS_LED (number)0.1

/* Where a ball is `out` of its limit, by a way in that direction: it is across the first bound, or a second one. */
static void dls_note_normals(const ik_plan *plan, columns c, int slot, mask out, vec3 off) {
    const real fixed = *column(c, rows_fixed(plan, slot));
    const int first = dls_normal(plan, slot), second = dls_second(plan, slot);
    const vec3 normal = vec3_select(out & mask_equal(fixed, real_splat(0)), off, column_vec3(c, first));
    const vec3 rest = vec3_direction(vec3_sub(off, vec3_scale(vec3_dot(off, normal), normal))).unit;
    column_set_vec3(c, first, normal);
    column_set_vec3(c, second, vec3_select(out & mask_less(fixed, real_splat(3)), rest, column_vec3(c, second)));
}

/* Over limits after that share of the way, which is for stages; others go all of it. */
static void dls_find_over(const ik_plan *plan, columns c, real share, dls_nearest *nearest) {
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!joint_is_limited(plan, k)) continue;
        vec3 wanted = column_vec3(c, step_own(plan, slot));
        if (dls_has_stages(plan)) wanted = dls_on_way(plan, c, slot, share);
        vec3 turn = wanted;
        const real fixed = *column(c, rows_fixed(plan, slot));
        mask out = IK_NAME(turns_allow)(plan, c, k, &turn), over = out & mask_equal(fixed, real_splat(0));
        column_set_vec3(c, dls_allowed(plan, slot), turn);
        real way = vec3_length(turn);
        if (dls_has_stages(plan)) {
            direction off = vec3_direction(vec3_sub(wanted, turn));
            const vec3 added = vec3_sub(wanted, column_vec3(c, dls_held(plan, slot)));
            dls_note_normals(plan, c, slot, out, off.unit);
            const mask too_far = mask_less(real_splat(DLS_LED) * vec3_length(added), off.length);
            over |= out & mask_less(real_splat(1), fixed) & too_far;
            real along = vec3_dot(off.unit, added);
            way = real_select(dls_adds(plan, c), dls_share(off.length, along), way);
        }
        dls_nearer(nearest, over, way, slot);
    }
}

static void dls_find_slid_over(const ik_plan *plan, columns c, dls_nearest *nearest) {
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        for (int axis = 0; axis < 3 && plan->nodes[k].slides; axis++) {
            real wanted = *column(c, step_slide(plan, slot) + axis), slide = wanted;
            mask over = turns_allow_slide(plan, c, k, axis, &slide);
            over &= mask_equal(*column(c, rows_pinned(plan, slot) + axis), real_splat(0));
            real way = real_abs(slide) / *column(c, joint_lever(plan));
            if (dls_has_stages(plan)) {
                real off = wanted - slide, along = wanted - *column(c, dls_pinned_by(plan, slot) + axis);
                along = real_negate_if(mask_less(off, real_splat(0)), along);
                way = real_select(dls_adds(plan, c), dls_share(real_abs(off), along), way);
            }
            dls_nearer(nearest, over, way, plan->slots + 3 * slot + axis);
        }
    }
}

/* What becomes of rows_fixed of a ball that may turn along its limit: for a first level it is held, as it counts on
 * what that does. */
static real dls_held_as(const ik_plan *plan, columns c, real fixed) {
    const real one = real_splat(1);
    const real more = real_select(mask_equal(fixed, real_splat(0)), real_splat(2), fixed + one);
    return real_select(dls_adds(plan, c) & mask_less(fixed, real_splat(3)), more, one);
}

static void dls_hold_turns(const ik_plan *plan, columns c, real which) {
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!joint_is_limited(plan, plan->node_of_slot[slot])) continue;
        mask held = mask_equal(which, real_splat((number)slot));
        real *fixed = column(c, rows_fixed(plan, slot)), as = real_splat(1);
        if (dls_may_follow(plan, plan->node_of_slot[slot])) as = dls_held_as(plan, c, *fixed);
        *fixed = real_select(held, as, *fixed);
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

/* A turn of a ball; in chosen lanes where it turns along its limit, which is round, as that allows. */
static vec3 dls_led(const ik_plan *plan, columns c, int slot, vec3 turn, mask chosen) {
    const mask follows = chosen & dls_follows(plan, c, slot);
    vec3 led = turn;
    if (!mask_any(follows)) return turn;
    IK_NAME(turns_allow)(plan, c, plan->node_of_slot[slot], &led);
    return vec3_select(follows, led, turn);
}

/* Turns and slides go that share of the way from what is held to what is wanted, in chosen lanes, and are held there.
 */
static void dls_go(const ik_plan *plan, columns c, real share, mask chosen) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot], held = dls_held(plan, slot);
        vec3 from = column_vec3(c, held), to = dls_on_way(plan, c, slot, share);
        if (joint_is_hinge(plan, k)) IK_NAME(turns_allow)(plan, c, k, &to);
        if (dls_may_follow(plan, k)) to = dls_led(plan, c, slot, to, ~mask_splat(0));
        to = vec3_select(chosen, to, from);
        column_set_vec3(c, held, to);
        column_set_vec3(c, dls_allowed(plan, slot), vec3_select(chosen, to, column_vec3(c, dls_allowed(plan, slot))));
        for (int axis = 0; axis < 3 && plan->nodes[k].slides; axis++) {
            real *by = column(c, dls_pinned_by(plan, slot) + axis), wanted = *column(c, step_slide(plan, slot) + axis);
            wanted = *by + share * (wanted - *by);
            turns_allow_slide(plan, c, k, axis, &wanted);
            *by = real_select(chosen, wanted, *by);
        }
    }
}

/* The share of its way that a level goes. Limits of balls are round: after the share at which a flat bound would hold
 * one may still be over, so that it takes a little less than that anew; nothing, where that does not help either. The
 * joint that holds it is the nearest then. */
enum { DLS_ROUNDS = 4 };
#define DLS_WITHIN (number)(63.0 / 64)

static real dls_share_within(const ik_plan *plan, columns c, mask adds, dls_nearest *nearest) {
    real share = real_select(adds, nearest->way, real_splat(1));
    mask over = adds;
    for (int round = 0; round < DLS_ROUNDS && mask_any(over); round++) {
        dls_nearest then = {real_splat(LARGEST), real_splat(-1)};
        dls_find_over(plan, c, share, &then);
        over = adds & ~mask_less(then.which, real_splat(0));
        share = real_select(over, real_splat(DLS_WITHIN) * then.way * share, share);
        nearest->which = real_select(over, then.which, nearest->which);
    }
    return real_select(over, real_splat(0), share);
}

/* The stage. Where limits may hold, levels are never solved together: a lower one could keep joints from limits that
 * hold those before it. */
static real dls_stage_now(const ik_plan *plan, columns c) {
    real *stage = column(c, dls_stage(plan));
    if (plan->limited || plan->slides) *stage = real_max(*stage, real_splat(1));
    return *stage;
}

/* Balls that are held turn along their limits from now on: levels that follow add to what has been found. */
static void dls_loosen(const ik_plan *plan, columns c, mask chosen) {
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!dls_may_follow(plan, plan->node_of_slot[slot])) continue;
        real *fixed = column(c, rows_fixed(plan, slot));
        *fixed = real_select(chosen & mask_equal(*fixed, real_splat(1)), real_splat(2), *fixed);
    }
}

/* In lanes where a stage is done the next follows, or the first, if all levels together will not do. Returns those. */
static mask dls_next_stage(const ik_plan *plan, columns c, mask waits) {
    const real zero = real_splat(0), one = real_splat(1);
    real *stage = column(c, dls_stage(plan));
    mask done = ~waits & mask_less(zero, *stage), fails = mask_less(*stage, zero);
    if (!mask_any(done | fails)) return done;
    *stage = real_select(fails, one, real_select(done, *stage + one, *stage));
    mask more = done & mask_less(*stage, real_splat((number)(plan->levels + posture_is_any(plan) + 1)));
    if (!mask_any(more)) return fails;
    dls_go(plan, c, one, more);
    dls_loosen(plan, c, more);
    return fails | more;
}

/* Balls that turn along their limits stay on them. */
static void dls_lead(const ik_plan *plan, columns c, mask chosen) {
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!dls_may_follow(plan, plan->node_of_slot[slot])) continue;
        vec3 turn = column_vec3(c, step_own(plan, slot));
        column_set_vec3(c, step_own(plan, slot), dls_led(plan, c, slot, turn, chosen));
    }
}

/* In lanes where joints would go over their limits, the one with the least way to go is held from now on. Returns
 * those lanes. */
static mask dls_hold(const ik_plan *plan, columns c) {
    dls_nearest nearest = {real_splat(LARGEST), real_splat(-1)};
    dls_find_over(plan, c, real_splat(1), &nearest);
    if (plan->slides) dls_find_slid_over(plan, c, &nearest);
    mask waits = ~mask_less(nearest.which, real_splat(0));
    if (dls_has_stages(plan)) dls_lead(plan, c, ~waits);
    if (!mask_any(waits)) return waits;
    mask adds = dls_has_stages(plan) ? waits & dls_adds(plan, c) : mask_splat(0);
    if (mask_any(adds)) dls_go(plan, c, dls_share_within(plan, c, adds, &nearest), adds);
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
static void dls_let_go(const ik_plan *plan, columns c, mask done) {
    const vec3 none = vec3_splat(0, 0, 0);
    rows_let_go(plan, c, done);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (plan->nodes[k].slides) {
            vec3 by = column_vec3(c, dls_pinned_by(plan, slot));
            column_set_vec3(c, dls_pinned_by(plan, slot), vec3_select(done, none, by));
        }
        if (!joint_is_limited(plan, k) && !dls_has_stages(plan)) continue;
        vec3 held = column_vec3(c, dls_held(plan, slot));
        column_set_vec3(c, dls_held(plan, slot), vec3_select(done, none, held));
    }
}

/* In lanes where `done`, the next step begins. */
static void dls_release(const ik_plan *plan, columns c, mask done) {
    dls_let_go(plan, c, done);
    rows_deactivate(plan, c, done);
    if (!dls_has_stages(plan)) return;
    real *stage = column(c, dls_stage(plan));
    *stage = real_select(done, real_splat(0), *stage);
}

/* In lanes where others count and levels went by stages, the first begins anew. */
static mask dls_first_stage(const ik_plan *plan, columns c, mask others) {
    real *stage = column(c, dls_stage(plan));
    others &= mask_less(real_splat(0), *stage);
    if (mask_any(others)) dls_let_go(plan, c, others);
    *stage = real_select(others, real_splat(1), *stage);
    return others;
}

/* ---- what is one-sided */

/* Whether a task has its answer in this solve. */
ik_inline mask dls_is_asked(const ik_plan *plan, columns c, int task) {
    if (!dls_has_stages(plan)) return ~mask_splat(0);
    const real stage = *column(c, dls_stage(plan));
    return mask_equal(stage, real_splat(0)) | mask_equal(stage, real_splat((number)(plan->tasks[task].level + 1)));
}

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
        if (plan->levels > 1) back &= dls_is_asked(plan, c, t);
        *active = real_select(violated, one, real_select(back, real_splat(2), *active));
        changed |= violated | back;
    }
    return changed;
}

/* What limits and one side do to a step, whose answer is y: returns the lanes in which it has to be solved once more.
 */
static mask dls_mind(const ik_plan *plan, columns c, const real *y) {
    const int stages = dls_has_stages(plan);
    mask waits = mask_splat(0), others = waits;
    if (plan->limited || plan->slides) waits = dls_mind_limits(plan, c);
    if (stages) waits |= mask_less(*column(c, dls_stage(plan)), real_splat(0));
    if (plan->one_sided) others = ~waits & dls_reconsider(plan, c, y);
    if (stages) waits |= dls_next_stage(plan, c, waits | others) | dls_first_stage(plan, c, others);
    return waits | others;
}
