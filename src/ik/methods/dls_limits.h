/* What holds a step of dls: limits of turns and slides, sides of planes; and postures, to which it turns where it may.
 */

/* ---- limits */

/* A hinge that turns all the way round has no ends. */
static int dls_is_round(const ik_limit *limit) {
    return range_is_whole((number)limit->twist[0], (number)limit->twist[1]);
}

/* A hinge's angle in its range; of one without ends, the same rotation by half a turn or less. */
ik_inline real dls_within(const ik_limit *limit, real angle) {
    if (dls_is_round(limit)) {
        const real half = real_splat(4 * eighth_turn[0]), turn = half + half;
        angle = real_select(mask_less(half, angle), angle - turn, angle);
        return real_select(mask_less(angle, -half), angle + turn, angle);
    }
    return real_max(real_min(real_splat((number)limit->twist[1]), angle), real_splat((number)limit->twist[0]));
}

/* A hinge's angle: of the two or three within two turns, one in its range. */
ik_inline real dls_angle_of(const ik_plan *plan, int k, quat local) {
    const ik_limit *limit = dls_limit(plan, k);
    const real turn = real_splat(16 * eighth_turn[0] / 2);
    quat q = quat_multiply(quat_conjugate(solve_rest(plan, k)), local);
    vec3 axis = quat_rotate(dls_frame(limit), vec3_splat(1, 0, 0));
    real half = real_atan2(vec3_dot(axis, q.v), q.w), angle = half + half;
    if (dls_is_round(limit)) return dls_within(limit, angle);
    angle = real_select(mask_less(real_splat((number)limit->twist[1]) + real_splat(LIMIT_TOLERANCE), angle),
                        angle - turn, angle);
    angle = real_select(mask_less(angle, real_splat((number)limit->twist[0]) - real_splat(LIMIT_TOLERANCE)),
                        angle + turn, angle);
    return dls_within(limit, angle);
}

/* The allowed turn nearest to the one node k wants, and whether they differ. */
static mask dls_allow(const ik_plan *plan, columns c, int k, vec3 *turn) {
    const ik_limit *limit = dls_limit(plan, k);
    if (limit->kind == IK_HINGE) {
        if (dls_is_round(limit)) return mask_splat(0);
        real angle = *column(c, dls_angle(plan, plan->nodes[k].slot));
        real wanted = angle + turn->x, allowed = dls_within(limit, wanted);
        turn->x = allowed - angle;
        return mask_less(real_splat(LIMIT_TOLERANCE), real_abs(wanted - allowed));
    }
    quat now = column_quat(c, dls_rotation(plan->nodes[k].slot)), above = dls_parent(plan, c, k);
    quat wanted = quat_multiply(dls_exp(*turn, real_splat(LARGEST)), now);
    quat local = quat_unit(quat_multiply(quat_conjugate(above), wanted)), allowed = solve_allowed(plan, k, local);
    quat off = {allowed.w - local.w, vec3_sub(allowed.v, local.v)};
    mask over = mask_less(real_splat(LIMIT_TOLERANCE), real_max(real_abs(off.w), vec3_largest(off.v)));
    vec3 instead = rotation_vector(quat_multiply(quat_multiply(above, allowed), quat_conjugate(now)));
    *turn = vec3_select(over, instead, *turn);
    return over;
}

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
        if (!dls_is_limited(plan, k)) continue;
        vec3 turn = column_vec3(c, dls_delta(plan, slot));
        mask over = dls_allow(plan, c, k, &turn) & mask_equal(*column(c, dls_fixed(plan, slot)), real_splat(0));
        column_set_vec3(c, dls_allowed(plan, slot), turn);
        dls_nearer(nearest, over, vec3_length(turn), slot);
    }
}

/* The end of its travel along an axis of its parent, scaled. */
ik_inline real dls_end_of_slide(const ik_plan *plan, columns c, int k, int axis, int end) {
    const ik_limit *limit = &plan->job->skeleton->limits[plan->nodes[k].joint];
    return real_splat((number)limit->position[axis][end]) / *column(c, UNSCALE);
}

/* How far a node may slide along an axis of those that it would, and whether that is less. */
static mask dls_allow_slide(const ik_plan *plan, columns c, int k, int axis, real *slide) {
    const int slot = plan->nodes[k].slot;
    real now = *column(c, dls_slid(plan, slot) + axis), wanted = now + *slide;
    real most = dls_end_of_slide(plan, c, k, axis, 1), least = dls_end_of_slide(plan, c, k, axis, 0);
    real allowed = real_max(real_min(most, wanted), least);
    *slide = real_select(mask_equal(allowed, wanted), *slide, allowed - now);
    return mask_less(real_splat(LIMIT_TOLERANCE), real_abs(wanted - allowed));
}

static void dls_find_slid_over(const ik_plan *plan, columns c, dls_nearest *nearest) {
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        for (int axis = 0; axis < 3 && plan->nodes[k].slides; axis++) {
            real slide = *column(c, dls_shift(plan, slot) + axis);
            mask over = dls_allow_slide(plan, c, k, axis, &slide);
            over &= mask_equal(*column(c, dls_pinned(plan, slot) + axis), real_splat(0));
            dls_nearer(nearest, over, real_abs(slide) / dls_slide_unit(plan, c), plan->slots + 3 * slot + axis);
        }
    }
}

static void dls_hold_turns(const ik_plan *plan, columns c, real which) {
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!dls_is_limited(plan, plan->node_of_slot[slot])) continue;
        mask held = mask_equal(which, real_splat((number)slot));
        real *fixed = column(c, dls_fixed(plan, slot));
        *fixed = real_select(held, real_splat(1), *fixed);
        vec3 allowed = column_vec3(c, dls_allowed(plan, slot)), before = column_vec3(c, dls_held(plan, slot));
        column_set_vec3(c, dls_held(plan, slot), vec3_select(held, allowed, before));
    }
}

static void dls_hold_slides(const ik_plan *plan, columns c, real which) {
    for (int slot = 0; slot < plan->slots; slot++)
        for (int axis = 0; axis < 3 && plan->nodes[plan->node_of_slot[slot]].slides; axis++) {
            mask held = mask_equal(which, real_splat((number)(plan->slots + 3 * slot + axis)));
            real slide = *column(c, dls_shift(plan, slot) + axis), *pinned = column(c, dls_pinned(plan, slot) + axis);
            real *by = column(c, dls_pinned_by(plan, slot) + axis);
            dls_allow_slide(plan, c, plan->node_of_slot[slot], axis, &slide);
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

/* In lanes where `done`, no joint is held from now on. */
static void dls_release(const ik_plan *plan, columns c, mask done) {
    const real zero = real_splat(0);
    const vec3 none = vec3_splat(0, 0, 0);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (plan->nodes[k].slides) {
            vec3 pinned = column_vec3(c, dls_pinned(plan, slot)), by = column_vec3(c, dls_pinned_by(plan, slot));
            column_set_vec3(c, dls_pinned(plan, slot), vec3_select(done, none, pinned));
            column_set_vec3(c, dls_pinned_by(plan, slot), vec3_select(done, none, by));
        }
        if (!dls_is_limited(plan, k)) continue;
        real *fixed = column(c, dls_fixed(plan, slot));
        *fixed = real_select(done, zero, *fixed);
        vec3 held = column_vec3(c, dls_held(plan, slot));
        column_set_vec3(c, dls_held(plan, slot), vec3_select(done, none, held));
    }
    for (int t = 0; t < plan->task_count && plan->inside; t++) {
        real *active = column(c, dls_active(plan, t));
        *active = real_select(done, zero, *active);
    }
}

/* ---- sides of planes */

/* Those that are violated count from the first solve of a step on. */
static void dls_activate(const ik_plan *plan, columns c) {
    const real zero = real_splat(0), one = real_splat(1);
    for (int t = 0; t < plan->task_count; t++) {
        if (plan->tasks[t].kind != IK_INSIDE) continue;
        real *active = column(c, dls_active(plan, t)), off = dls_off(plan, c, DLS_POSE, t, (dls_shape){0}).x;
        *active = real_select(mask_equal(*active, zero) & mask_less(zero, off), one, *active);
    }
}

/* Lanes in which others count from now on: those that the step would violate; and those that hold back, y, no more. */
static mask dls_reconsider(const ik_plan *plan, columns c, const real *y) {
    const real zero = real_splat(0), one = real_splat(1), least = real_splat(0.5f) * *column(c, TOLERANCE);
    mask changed = mask_splat(0);
    for (int t = 0; t < plan->task_count; t++) {
        if (plan->tasks[t].kind != IK_INSIDE) continue;
        real *active = column(c, dls_active(plan, t)), off = dls_off(plan, c, DLS_POSE, t, (dls_shape){0}).x;
        real left = off - dls_sum(plan, c, t, dls_all).x;
        mask violated = mask_equal(*active, zero) & mask_less(least, left);
        mask back = dls_is_active(plan, c, t) & mask_less(y[plan->tasks[t].row * c.step], zero);
        *active = real_select(violated, one, real_select(back, real_splat(2), *active));
        changed |= violated | back;
    }
    return changed;
}

/* ---- posture */

/* Which way node k turns to the posture that is wished for, and by which share. */
static vec3 dls_turn_to_posture(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    const int slot = node->slot;
    const real zero = real_splat(0);
    real share = real_splat((number)plan->job->options.posture);
    quat wanted = solve_preferred(plan, k);
    if (node->posture >= 0) {
        share = *column(c, dls_posture(plan, slot) + 4);
        wanted = column_quat(c, dls_posture(plan, slot));
    }
    quat posture = quat_multiply(dls_parent(plan, c, k), solve_allowed(plan, k, wanted));
    vec3 turn = rotation_vector(quat_multiply(posture, quat_conjugate(column_quat(c, dls_rotation(slot)))));
    if (dls_is_hinge(plan, k)) {
        int rests = node->posture < 0 && !plan->job->skeleton->joints; /* at an angle of 0, to the bit */
        real angle = rests ? dls_within(dls_limit(plan, k), zero) : dls_angle_of(plan, k, wanted);
        turn = (vec3){angle - *column(c, dls_angle(plan, slot)), zero, zero};
    }
    return dls_as_vector(plan, c, k, vec3_scale(share, turn));
}

/* The turns towards it, cut so that what they do to the error beyond the first order is at most half of it. */
static void dls_turn_to_postures(const ik_plan *plan, columns c, real error) {
    real sum = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        vec3 turn = dls_turn_by(plan, c, k, dls_turn_to_posture(plan, c, k));
        sum = sum + vec3_length(turn);
        column_set_vec3(c, dls_wish(plan, slot), turn);
    }
    real length = *column(c, dls_state(plan, DLS_BONE)) * real_splat((number)plan->slots);
    real most = real_sqrt(error / (length + real_splat(TINY_LENGTH)));
    real cut = real_min(real_splat(1), most / (sum + real_splat(TINY_LENGTH)));
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 turn = column_vec3(c, dls_wish(plan, slot));
        column_set_vec3(c, dls_wish(plan, slot), vec3_scale(cut, turn));
    }
}
