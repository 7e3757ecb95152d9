/* The effect of a step on joints (joints.h): each joint turns about its present position and slides, and its
 * descendants move along. Let D be the turn of every joint. Then S[j] = S[parent] D[j] is the effect of all turns on
 * joint j, and a bone from j turns by S[j]. The same holds if joints turn one after the other from the tips, because
 * the ancestors of a joint have not turned yet.
 *
 *   turns_start    first of all: the world axes of joints
 *   turns_allow    the part of a joint's own turn or slide that limits allow
 *   turns_try      the positions of nodes after all own turns and slides
 *   turns_accept   the pose becomes that, in the lanes that want it; others keep theirs to the bit
 *
 * These are compiled once (shared.h), where perturbations (kicks.h) use them as well. An own turn is a rotation vector
 * in the world; of a hinge the angle alone. A slide is along the axes of the parent.
 */

/* Columns of a step, per joint: the effect of all turns on its rotation and its position, then its own turn and slide.
 * Axes of rotation follow if they are not those of the world. Last is a stored pose, which outlives the step. */
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

ik_hidden void IK_NAME(turns_start)(const ik_plan *plan, columns c);

/* An own turn as a rotation vector. */
ik_inline vec3 turns_vector(const ik_plan *plan, columns c, int k, vec3 turn) {
    return joint_is_hinge(plan, k) ? vec3_scale(turn.x, column_vec3(c, step_axis(plan, plan->nodes[k].slot))) : turn;
}

/* ---- limits */

/* The own turn that the limit of node k allows, nearest to the one it wants; and whether they differ. */
ik_hidden mask IK_NAME(turns_allow)(const ik_plan *plan, columns c, int k, vec3 *turn);

/* The end of its travel along an axis of its parent, scaled. */
ik_inline real turns_end_of_slide(const ik_plan *plan, columns c, int k, int axis, int end) {
    return real_splat((number)plan->nodes[k].travel[axis][end]) / *column(c, UNSCALE);
}

/* The part of a slide along an axis that the travel of node k allows, and whether that is less. */
static inline mask turns_allow_slide(const ik_plan *plan, columns c, int k, int axis, real *slide) {
    const int slot = plan->nodes[k].slot;
    real now = *column(c, joint_slid(plan, slot) + axis), wanted = now + *slide;
    real most = turns_end_of_slide(plan, c, k, axis, 1), least = turns_end_of_slide(plan, c, k, axis, 0);
    real allowed = real_max(real_min(most, wanted), least);
    *slide = real_select(mask_equal(allowed, wanted), *slide, allowed - now);
    return mask_less(real_splat(LIMIT_TOLERANCE), real_abs(wanted - allowed));
}

/* ---- try and accept */

/* Moves a node, at `place` and with the turn `own`, along with the turns of its ancestors. Parents first. */
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

/* All of them, or those of slots [first, last), by turns and slides of their own. */
ik_hidden void IK_NAME(turns_try)(const ik_plan *plan, real *bundle, int groups, int first, int last);
ik_hidden void IK_NAME(turns_accept)(const ik_plan *plan, columns c, mask accept);
