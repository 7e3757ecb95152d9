/* Constraints of a step of dls: limits of rotations and slides, and one-sided tasks. Some are active from the first
 * solve of a step. If a solve violates others, it is not yet a step: the nearest becomes active too, and the step is
 * solved again.
 *
 * Several levels are solved in stages if limits may become active or the step would exceed max_step, because
 * constraints of a lower level must not change those above it. The first level is solved alone until no joint is past
 * its limit. The second then adds motion in the null space of the first, up to the first joint that would pass its
 * limit. The motion continues without that
 * joint, and so on; postures come last. A level therefore
 * has exactly the step it would have without the lower ones, except where only these make the step too long.
 *
 * A ball joint that a lower level would take past its limit may still turn along it, except with `textbook`. It is held
 * only across the limit and, where two bounds meet (swing and twist), along their edge. The limit is curved, so this
 * changes the step of the levels above by the square of that rotation. */

/* True if a step may have to be solved in stages. */
ik_inline int dls_has_stages(const ik_plan *plan) { return plan_has_levels(plan) && !plan->job->options.project; }

/* Columns of the held rotation or slide, and the rotation that the limit would allow. In stages all rotations and
 * slides are held at the result of earlier levels. Values of the stage: 0 all levels together; 1 the first alone; 2 the
 * second; -1 together, and too long. */
ik_inline int dls_held(const ik_plan *plan, int slot) { return posture_columns(plan) + 3 * slot; }
ik_inline int dls_allowed(const ik_plan *plan, int slot) { return dls_held(plan, plan->slots) + 3 * slot; }
ik_inline int dls_pinned_by(const ik_plan *plan, int slot) { return dls_allowed(plan, plan->slots) + 3 * slot; }
ik_inline int dls_stage(const ik_plan *plan) { return dls_pinned_by(plan, plan->columns_of_slides); }

/* Directions in which ball joints at their limits are held: across the limit met first, and across a second one. */
ik_inline int dls_normal(const ik_plan *plan, int slot) { return dls_stage(plan) + 1 + 3 * slot; }
ik_inline int dls_second(const ik_plan *plan, int slot) { return dls_normal(plan, plan->slots) + 3 * slot; }
ik_inline int dls_columns(const ik_plan *plan) {
    return dls_has_stages(plan) ? dls_second(plan, plan->slots) : dls_stage(plan);
}

/* True if a ball joint at its limit may turn along it: if its stiffness is equal about all axes. */
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

/* Sets the axes of ball joints that turn along their limits: the first (and second) is across. Called after
 * turns_start. */
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

/* True if a step may take more than one solve. */
ik_inline int dls_may_wait(const ik_plan *plan) {
    return plan->limited || plan->slides || plan->one_sided || dls_has_stages(plan);
}

/* True if rotations and slides may be held. */
ik_inline int dls_may_hold(const ik_plan *plan) { return plan->limited || plan->slides || dls_has_stages(plan); }

/* The first joint to reach its limit, among those that would pass theirs. */
typedef struct {
    real way, which; /* a slot; then three numbers per slot for slides. -1: none */
} dls_nearest;

ik_inline void dls_nearer(dls_nearest *nearest, mask over, real way, int which) {
    mask first = over & mask_less(way, nearest->way);
    nearest->way = real_select(first, way, nearest->way);
    nearest->which = real_select(first, real_splat((number)which), nearest->which);
}

/* The share of a motion at which it meets a bound. Its end exceeds the bound by `off`, and `along` is its component in
 * that direction. */
ik_inline real dls_share(real off, real along) {
    real share = real_splat(1) - off / real_select(mask_less(real_splat(0), along), along, off);
    return real_max(share, real_splat(0));
}

/* Lanes in which a level adds to the motion of earlier ones. */
ik_inline mask dls_adds(const ik_plan *plan, columns c) {
    return mask_less(real_splat(1), *column(c, dls_stage(plan)));
}

/* The rotation at a share of the motion from the held one to the wanted one. */
ik_inline vec3 dls_on_way(const ik_plan *plan, columns c, int slot, real share) {
    vec3 from = column_vec3(c, dls_held(plan, slot)), to = column_vec3(c, step_own(plan, slot));
    return vec3_add(from, vec3_scale(share, vec3_sub(to, from)));
}

/* Largest correction of a ball joint that turns along its limit, relative to its motion, because a limit is curved.
 * A larger one cannot
 * be corrected where two bounds meet, at the end of the twist range for instance. */
#define DLS_LED (number)0.1

/* Records the direction in which a ball joint violates its limit, as the normal of the first bound or of a second
 * one. */
static void dls_note_normals(const ik_plan *plan, columns c, int slot, mask out, vec3 off) {
    const real fixed = *column(c, rows_fixed(plan, slot));
    const int first = dls_normal(plan, slot), second = dls_second(plan, slot);
    const vec3 normal = vec3_select(out & mask_equal(fixed, real_splat(0)), off, column_vec3(c, first));
    const vec3 rest = vec3_direction(vec3_sub(off, vec3_scale(vec3_dot(off, normal), normal))).unit;
    column_set_vec3(c, first, normal);
    column_set_vec3(c, second, vec3_select(out & mask_less(fixed, real_splat(3)), rest, column_vec3(c, second)));
}

/* Holds a joint at its limit in chosen lanes. */
ik_inline void dls_hold_turn(const ik_plan *plan, columns c, int slot, mask chosen, real as) {
    real *fixed = column(c, rows_fixed(plan, slot));
    *fixed = real_select(chosen, as, *fixed);
    vec3 allowed = column_vec3(c, dls_allowed(plan, slot)), before = column_vec3(c, dls_held(plan, slot));
    column_set_vec3(c, dls_held(plan, slot), vec3_select(chosen, allowed, before));
}

/* Finds joints past their limits after a share of the motion, in stages; otherwise after all of it. */
static void dls_find_over(const ik_plan *plan, columns c, real share, dls_nearest *nearest) {
    const mask hasty = dls_is_hasty(plan, c);
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
        if (mask_any(over & hasty)) dls_hold_turn(plan, c, slot, over & hasty, real_splat(1));
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

/* The new rows_fixed of a ball joint that may turn along its limit. In the first level it is held, because that level
 * accounts for the effect. */
static real dls_held_as(const ik_plan *plan, columns c, real fixed) {
    const real one = real_splat(1);
    const real more = real_select(mask_equal(fixed, real_splat(0)), real_splat(2), fixed + one);
    return real_select(dls_adds(plan, c) & mask_less(fixed, real_splat(3)), more, one);
}

static void dls_hold_turns(const ik_plan *plan, columns c, real which) {
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!joint_is_limited(plan, plan->node_of_slot[slot])) continue;
        real as = real_splat(1);
        if (dls_may_follow(plan, plan->node_of_slot[slot]))
            as = dls_held_as(plan, c, *column(c, rows_fixed(plan, slot)));
        dls_hold_turn(plan, c, slot, mask_equal(which, real_splat((number)slot)), as);
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

/* The rotation of a ball joint; in chosen lanes where it turns along its limit, projected onto the curved limit. */
static vec3 dls_led(const ik_plan *plan, columns c, int slot, vec3 turn, mask chosen) {
    const mask follows = chosen & dls_follows(plan, c, slot);
    vec3 led = turn;
    if (!mask_any(follows)) return turn;
    IK_NAME(turns_allow)(plan, c, plan->node_of_slot[slot], &led);
    return vec3_select(follows, led, turn);
}

/* Advances rotations and slides in chosen lanes by a share of the motion from the held to the wanted ones, and holds
 * them there. */
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

/* The share of a level's motion that is taken. Limits of ball joints are curved, so the share at which a flat bound
 * would be met may still violate one. It is then reduced slightly, and set to 0 if that does not help. The joint that
 * violated its limit is reported as the nearest. */
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

/* The current stage. If limits may become active, levels are never solved together: a lower level could keep joints
 * from limits that constrain the levels above. */
static real dls_stage_now(const ik_plan *plan, columns c) {
    real *stage = column(c, dls_stage(plan));
    if (plan->limited || plan->slides) *stage = real_max(*stage, real_splat(1));
    return *stage;
}

/* Lets held ball joints turn along their limits, since the following levels only add to the motion found. */
static void dls_loosen(const ik_plan *plan, columns c, mask chosen) {
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!dls_may_follow(plan, plan->node_of_slot[slot])) continue;
        real *fixed = column(c, rows_fixed(plan, slot));
        *fixed = real_select(chosen & mask_equal(*fixed, real_splat(1)), real_splat(2), *fixed);
    }
}

/* Advances lanes whose stage is finished to the next one, or to the first if all levels together failed. Returns the
 * lanes that need another solve. */
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

/* Keeps ball joints that turn along their limits on them. */
static void dls_lead(const ik_plan *plan, columns c, mask chosen) {
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!dls_may_follow(plan, plan->node_of_slot[slot])) continue;
        vec3 turn = column_vec3(c, step_own(plan, slot));
        column_set_vec3(c, step_own(plan, slot), dls_led(plan, c, slot, turn, chosen));
    }
}

/* Holds, in lanes with joints past their limits, the one that reaches its limit first. Returns those lanes. */
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

/* Projects every joint past its limit onto it. */
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

/* Applies the limits to a step. Returns the lanes that must be solved again. */
static mask dls_mind_limits(const ik_plan *plan, columns c) {
    if (!plan->job->options.project) return dls_hold(plan, c);
    dls_project_on_limits(plan, c);
    return mask_splat(0);
}

/* Releases all held joints in lanes where `done`. */
static void dls_free_joints(const ik_plan *plan, columns c, mask done) {
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

/* Prepares the next step in lanes where `done`. */
static void dls_release(const ik_plan *plan, columns c, mask done) {
    dls_free_joints(plan, c, done);
    rows_deactivate(plan, c, done);
    if (!dls_has_stages(plan)) return;
    real *stage = column(c, dls_stage(plan));
    *stage = real_select(done, real_splat(0), *stage);
}

/* Restarts from the first stage in lanes whose active tasks have changed. */
static mask dls_first_stage(const ik_plan *plan, columns c, mask others) {
    real *stage = column(c, dls_stage(plan));
    others &= mask_less(real_splat(0), *stage);
    if (mask_any(others)) dls_free_joints(plan, c, others);
    *stage = real_select(others, real_splat(1), *stage);
    return others;
}

/* ---- one-sided tasks */

/* Lanes in which a task takes part in this solve. */
ik_inline mask dls_is_asked(const ik_plan *plan, columns c, int task) {
    if (!dls_has_stages(plan)) return ~mask_splat(0);
    const real stage = *column(c, dls_stage(plan));
    return mask_equal(stage, real_splat(0)) | mask_equal(stage, real_splat((number)(plan->tasks[task].level + 1)));
}

/* Lanes whose set of active tasks changes: tasks that the step would violate become active, and those whose pull y is
 * negative become inactive. */
static mask dls_reconsider(const ik_plan *plan, columns c, const real *y) {
    const real zero = real_splat(0), one = real_splat(1), least = real_splat(0.5f) * *column(c, TOLERANCE);
    mask changed = mask_splat(0);
    for (int t = 0; t < plan->task_count; t++) {
        if (!task_is_one_sided(&plan->tasks[t])) continue;
        real *active = column(c, rows_active(plan, t)), off = errors_off(plan, c, IN_POSE, t).x;
        real left = off - rows_seen(plan, c, t, dls_all).x;
        mask violated = mask_equal(*active, zero) & mask_less(least, left);
        mask back = rows_is_active(plan, c, t) & mask_less(y[plan->tasks[t].row * c.step], zero);
        if (plan_has_levels(plan)) back &= dls_is_asked(plan, c, t);
        *active = real_select(violated, one, real_select(back, real_splat(2), *active));
        changed |= violated | back;
    }
    return changed;
}

/* Applies limits and one-sided tasks to a step with the answer y. Returns the lanes that must be solved again. */
static mask dls_mind(const ik_plan *plan, columns c, const real *y) {
    const int stages = dls_has_stages(plan);
    mask waits = mask_splat(0), others = waits;
    if (plan->limited || plan->slides) waits = dls_mind_limits(plan, c);
    if (stages) waits |= mask_less(*column(c, dls_stage(plan)), real_splat(0));
    if (plan->one_sided) others = ~waits & dls_reconsider(plan, c, y);
    if (stages) waits |= dls_next_stage(plan, c, waits | others) | dls_first_stage(plan, c, others);
    return waits | others;
}
