/* What a step does to joints (joints.h): each turns, about where it was, and slides; and all that hangs from it goes
 * along. With D the turn of every joint, S[j] = S[parent] D[j] is what all of them do to joint j, and a bone from j
 * turns by S[j]. The same holds where joints turn one after the other from the tips, since what is above one has not
 * turned yet.
 *
 *   turns_start    first of all: the axes of joints in the world
 *   turns_allow    what limits leave of a joint's own turn or slide
 *   turns_try      where all own turns and slides take the nodes
 *   turns_accept   the pose becomes that, in the lanes that want it; others keep theirs to the bit
 *   turns_kick     the chosen lanes are shaken
 *   turns_aside    the chosen lanes keep their pose aside, or take it back
 *
 * An own turn is a rotation vector in the world; of a hinge the angle alone. A slide is along the axes of the parent.
 */

/* Columns of a step: what all turns together do to a joint, and where they take it; its own turn and slide; about which
 * axes it turns, if these differ; and a pose that is kept aside, which outlives the step. */
ik_inline int step_turn(const ik_plan *plan, int slot) { return plan->work + 4 * slot; }
ik_inline int step_place(const ik_plan *plan, int slot) { return step_turn(plan, plan->slots) + 3 * slot; }
ik_inline int step_own(const ik_plan *plan, int slot) { return step_place(plan, plan->slots) + 3 * slot; }
ik_inline int step_axis(const ik_plan *plan, int slot) { return step_own(plan, plan->slots) + 9 * slot; }
ik_inline int step_slide(const ik_plan *plan, int slot) { return step_axis(plan, plan->slots) + 3 * slot; }
ik_inline int step_aside(const ik_plan *plan) { return step_slide(plan, plan->columns_of_slides); }
ik_inline int step_columns(const ik_plan *plan) {
    int pose = joint_task(plan, 0) - joint_rotation(0);
    return step_aside(plan) + pose + (plan->limited ? plan->slots : 0);
}

ik_inline void turns_start(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        if (!node->axes) continue;
        mat3 m = mat3_of_quat(quat_multiply(column_quat(c, joint_rotation(slot)), joint_frame(node->limit)));
        column_set_vec3(c, step_axis(plan, slot), (vec3){m.x.x, m.y.x, m.z.x});
        column_set_vec3(c, step_axis(plan, slot) + 3, (vec3){m.x.y, m.y.y, m.z.y});
        column_set_vec3(c, step_axis(plan, slot) + 6, (vec3){m.x.z, m.y.z, m.z.z});
    }
}

/* An own turn as a rotation vector. */
ik_inline vec3 turns_vector(const ik_plan *plan, columns c, int k, vec3 turn) {
    return joint_is_hinge(plan, k) ? vec3_scale(turn.x, column_vec3(c, step_axis(plan, plan->nodes[k].slot))) : turn;
}

ik_inline quat turns_own(const ik_plan *plan, columns c, int k) {
    vec3 turn = column_vec3(c, step_own(plan, plan->nodes[k].slot));
    return quat_of_vector(turns_vector(plan, c, k, turn), real_splat(LARGEST));
}

/* ---- limits */

/* The own turn that the limit of node k allows, nearest to the one it wants; and whether they differ. */
static inline mask turns_allow(const ik_plan *plan, columns c, int k, vec3 *turn) {
    const ik_limit *limit = plan->nodes[k].limit;
    if (!joint_is_limited(plan, k)) return mask_splat(0);
    if (limit->kind == IK_HINGE) {
        if (joint_is_round(limit)) return mask_splat(0);
        real angle = *column(c, joint_angle(plan, plan->nodes[k].slot));
        real wanted = angle + turn->x, allowed = joint_within(limit, wanted);
        turn->x = allowed - angle;
        return mask_less(real_splat(LIMIT_TOLERANCE), real_abs(wanted - allowed));
    }
    quat now = column_quat(c, joint_rotation(plan->nodes[k].slot)), above = joint_parent(plan, c, k);
    quat wanted = quat_multiply(quat_of_vector(*turn, real_splat(LARGEST)), now);
    quat local = quat_unit(quat_multiply(quat_conjugate(above), wanted)), allowed = solve_allowed(plan, k, local);
    quat off = {allowed.w - local.w, vec3_sub(allowed.v, local.v)};
    mask over = mask_less(real_splat(LIMIT_TOLERANCE), real_max(real_abs(off.w), vec3_largest(off.v)));
    vec3 instead = rotation_vector(quat_multiply(quat_multiply(above, allowed), quat_conjugate(now)));
    *turn = vec3_select(over, instead, *turn);
    return over;
}

/* The end of its travel along an axis of its parent, scaled. */
ik_inline real turns_end_of_slide(const ik_plan *plan, columns c, int k, int axis, int end) {
    const ik_limit *limit = &plan->job->skeleton->limits[plan->nodes[k].joint];
    return real_splat((number)limit->position[axis][end]) / *column(c, UNSCALE);
}

/* How far a node may slide along an axis of those that it would, and whether that is less. */
static inline mask turns_allow_slide(const ik_plan *plan, columns c, int k, int axis, real *slide) {
    const int slot = plan->nodes[k].slot;
    real now = *column(c, joint_slid(plan, slot) + axis), wanted = now + *slide;
    real most = turns_end_of_slide(plan, c, k, axis, 1), least = turns_end_of_slide(plan, c, k, axis, 0);
    real allowed = real_max(real_min(most, wanted), least);
    *slide = real_select(mask_equal(allowed, wanted), *slide, allowed - now);
    return mask_less(real_splat(LIMIT_TOLERANCE), real_abs(wanted - allowed));
}

/* ---- try and accept */

/* Where what is above takes a node that would be at `place` without, and turns by `own`. Parents first. */
ik_inline void turns_carry(const ik_plan *plan, columns c, int slot, vec3 place, quat own) {
    const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
    quat turn = quat_identity();
    if (node->moves) {
        int parent = plan->nodes[node->parent].slot;
        turn = column_quat(c, step_turn(plan, parent));
        vec3 bone = vec3_sub(place, column_vec3(c, joint_position(plan, parent)));
        place = vec3_add(column_vec3(c, step_place(plan, parent)), quat_rotate(turn, bone));
    }
    if (node->turns) turn = quat_polished(quat_multiply(turn, own));
    column_set_vec3(c, step_place(plan, slot), place);
    column_set_quat(c, step_turn(plan, slot), turn);
}

/* Likewise, by the turn and slide of its own. */
ik_inline void turns_try_slot(const ik_plan *plan, columns c, int slot) {
    const int k = plan->node_of_slot[slot];
    vec3 place = column_vec3(c, joint_position(plan, slot));
    if (plan->nodes[k].slides) {
        vec3 slide = column_vec3(c, step_slide(plan, slot));
        place = vec3_add(place, quat_rotate(joint_parent(plan, c, k), slide));
    }
    turns_carry(plan, c, slot, place, plan->nodes[k].turns ? turns_own(plan, c, k) : quat_identity());
}

ik_inline void turns_try(const ik_plan *plan, real *bundle, int groups) {
    for (int slot = 0; slot < plan->slots; slot++)
        for (int g = 0; g < groups; g++)
            turns_try_slot(plan, columns_of_bundle(bundle, g), slot);
}

/* Never over the ends of a travel, to the bit. */
ik_outline void turns_accept_slides(const ik_plan *plan, columns c, mask accept) {
    for (int slot = 0; slot < plan->slots; slot++)
        for (int axis = 0; axis < 3 && plan->nodes[plan->node_of_slot[slot]].slides; axis++) {
            real slide = *column(c, step_slide(plan, slot) + axis), *slid = column(c, joint_slid(plan, slot) + axis);
            turns_allow_slide(plan, c, plan->node_of_slot[slot], axis, &slide);
            *slid = real_select(accept, *slid + slide, *slid);
        }
}

ik_inline void turns_accept(const ik_plan *plan, columns c, mask accept) {
    for (int slot = 0; slot < plan->slots; slot++) {
        quat before = column_quat(c, joint_rotation(slot));
        quat turned = quat_polished(quat_multiply(column_quat(c, step_turn(plan, slot)), before));
        column_set_quat(c, joint_rotation(slot), quat_select(accept, turned, before));
        vec3 place = column_vec3(c, joint_position(plan, slot)), moved = column_vec3(c, step_place(plan, slot));
        column_set_vec3(c, joint_position(plan, slot), vec3_select(accept, moved, place));
        int k = plan->node_of_slot[slot];
        if (!plan->limited || !joint_is_hinge(plan, k)) continue;
        real *angle = column(c, joint_angle(plan, slot)), turn = *column(c, step_own(plan, slot));
        *angle = real_select(accept, joint_within(plan->nodes[k].limit, *angle + turn), *angle);
    }
    if (plan->slides) turns_accept_slides(plan, c, accept);
}

/* ---- kicks */

/* A slide by up to as much as a turn counts, within its travel. */
static inline void turns_shake_slide(const ik_plan *plan, columns c, int k, vec3 by) {
    const int slot = plan->nodes[k].slot;
    column_set_vec3(c, step_slide(plan, slot), vec3_scale(*column(c, joint_lever(plan)), by));
    for (int axis = 0; axis < 3; axis++)
        turns_allow_slide(plan, c, k, axis, column(c, step_slide(plan, slot) + axis));
}

/* A hinge turns to somewhere in its range. */
static inline real turns_shake_hinge(const ik_plan *plan, columns c, int k, int time) {
    const double half = 4 * eighth_turn[0], round[2] = {-half, half};
    const ik_limit *limit = plan->nodes[k].limit;
    const double *range = joint_is_round(limit) ? round : limit->twist;
    const int slot = plan->nodes[k].slot;
    double to = 0.5 * (range[0] + range[1] + (range[1] - range[0]) * random_number(time, slot, 0));
    return real_splat((number)to) - *column(c, joint_angle(plan, slot));
}

/* Others turn by up to a radian; the first time all by a tenth of that. */
static inline void turns_shake(const ik_plan *plan, columns c, int time) {
    number share = time ? 1 : (number)0.1;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        vec3 turn = vec3_splat(share * random_number(time, slot, 0), share * random_number(time, slot, 1),
                               share * random_number(time, slot, 2));
        if (plan->nodes[k].slides) turns_shake_slide(plan, c, k, turn);
        if (!plan->nodes[k].turns) continue;
        if (joint_is_hinge(plan, k)) turn.x = real_splat(share) * turns_shake_hinge(plan, c, k, time);
        turns_allow(plan, c, k, &turn);
        column_set_vec3(c, step_own(plan, slot), turn);
    }
}

/* The chosen lanes of a group are shaken for the given time, each time otherwise, but the same way for every item. */
static inline void turns_kick(const ik_plan *plan, real *bundle, int g, mask chosen, int time) {
    columns c = columns_of_bundle(bundle, g);
    turns_start(plan, c);
    turns_shake(plan, c, time);
    turns_try(plan, bundle + g, 1);
    turns_accept(plan, c, chosen);
}

/* ---- a pose aside */

static inline void turns_exchange(columns c, int here, int aside, int count, mask keep, mask back) {
    for (int i = 0; i < count; i++) {
        real *now = column(c, here + i), *kept = column(c, aside + i), before = *now;
        *now = real_select(back, *kept, before);
        *kept = real_select(keep, before, *kept);
    }
}

/* The pose is kept aside in lanes `keep`, and what was kept is taken back in lanes `back`. */
static inline void turns_aside(const ik_plan *plan, columns c, mask keep, mask back) {
    int numbers = joint_task(plan, 0) - joint_rotation(0), aside = step_aside(plan);
    turns_exchange(c, joint_rotation(0), aside, numbers, keep, back);
    if (plan->limited) turns_exchange(c, joint_angle(plan, 0), aside + numbers, plan->slots, keep, back);
}
