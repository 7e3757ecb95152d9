/* FABRIK with frames, its sweep: one joint after the other turns and slides as is best for the ends below it.
 * fabrik_frames.h has the idea. */

/* Positions of all ends, from now on apart from their nodes. */
static void frames_find_ends(const ik_plan *plan, columns c) {
    const int ends = frames_ends(plan);
    for (int t = 0; t < plan->task_count; t++) {
        const int k = plan->tasks[t].node;
        if (plan->tasks[t].kind == IK_TURN)
            column_set_quat(c, ends_rotation(ends, t), frames_now(plan, c, k));
        else if (plan->tasks[t].kind == IK_OUTSIDE)
            column_set_vec3(c, ends_place(ends, t), frames_tie_ends(plan, c, t).own);
        else
            column_set_vec3(c, ends_place(ends, t), column_vec3(c, frames_point(plan, plan->nodes[k].slot)));
    }
    if (plan->ties) frames_find_far(plan, c);
}

/* The target of an end. */
ik_inline ends_wanted frames_wanted(const ik_plan *plan, columns c, int task) {
    const ik_task *t = &plan->tasks[task];
    if (frames_is_tie(t)) return frames_end_wanted(plan, c, task, 1);
    real weight = frames_weight_of(plan, c, t);
    if (t->kind == IK_TURN)
        return (ends_wanted){.rotation = column_quat(c, frames_turned(plan, t->goal)), .weight = weight};
    return (ends_wanted){.place = column_vec3(c, frames_target(plan, t->goal)), .weight = weight};
}

/* One joint turns with all that is below it; what is above has not turned yet. Its rotation becomes a local one. */
static void frames_sweep_joint(const ik_plan *plan, columns c, int k) {
    int i = frames_rotation(plan, plan->nodes[k].slot);
    quat before = column_quat(c, i), above = frames_above(plan, c, k);
    frames_body body = frames_body_of(plan, c, k, before);
    body.s = ends_pull(plan, c, frames_ends(plan), k, body.place, frames_wanted);
    if (plan->ties) ends_add_pull(plan, c, frames_far(plan), -1, k, body.place, frames_far_wanted, &body.s);
    frames_follow(plan, c, k, *column(c, frames_largest(plan)), &body);
    quat turn = quat_multiply(body.rotation, quat_conjugate(before));
    ends_carry(plan, c, frames_ends(plan), k, body.place, turn);
    if (plan->ties) ends_carry_side(plan, c, frames_far(plan), -1, k, body.place, turn);
    column_set_quat(c, i, quat_multiply(quat_conjugate(above), body.rotation));
}

/* One node slides with all ends at or below it, as is best for them. */
static void frames_sweep_slide(const ik_plan *plan, columns c, int k) {
    const int owner = plan->nodes[k].owner, ends = frames_ends(plan);
    quat above = quat_identity();
    if (owner >= 0) above = column_quat(c, frames_rotation(plan, plan->nodes[owner].slot));
    vec3 sum = vec3_splat(0, 0, 0);
    real all = real_splat(0);
    for (int t = 0; t < plan->task_count; t++) {
        const int side = task_side(plan, t, plan->nodes[k].slot);
        if (plan->tasks[t].kind == IK_TURN || !side) continue;
        ends_wanted to = side < 0 ? frames_far_wanted(plan, c, t) : frames_wanted(plan, c, t);
        vec3 end = column_vec3(c, ends_place(side < 0 ? frames_far(plan) : ends, t));
        sum = vec3_add(sum, vec3_scale(to.weight, vec3_sub(to.place, end)));
        all = all + to.weight;
    }
    vec3 by = quat_rotate(quat_conjugate(above), frames_mean(sum, all));
    by = quat_rotate(above, frames_slide(plan, c, k, by));
    ends_slide(plan, c, ends, k, by);
    if (plan->ties) ends_slide_side(plan, c, frames_far(plan), -1, k, by);
}

/* From the tips to the base. */
static void frames_sweep(const ik_plan *plan, columns c) {
    frames_find_ends(plan, c);
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        if (plan->nodes[plan->node_of_slot[slot]].turns) frames_sweep_joint(plan, c, plan->node_of_slot[slot]);
        if (plan->nodes[plan->node_of_slot[slot]].slides) frames_sweep_slide(plan, c, plan->node_of_slot[slot]);
    }
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], i = frames_rotation(plan, slot);
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        column_set_quat(c, i, quat_polished(quat_multiply(frames_above(plan, c, k), column_quat(c, i))));
    }
}

/* Moves each slide to the optimum for all ends below it, one after the other from the tips. */
static void frames_just_slide(const ik_plan *plan, columns c) {
    frames_find_ends(plan, c);
    for (int slot = plan->slots - 1; slot >= 0; slot--)
        if (plan->nodes[plan->node_of_slot[slot]].slides) frames_sweep_slide(plan, c, plan->node_of_slot[slot]);
    for (int slot = 0; slot < plan->slots; slot++)
        frames_hang(plan, c, plan->node_of_slot[slot]);
}

/* ---- what the sweep makes less */

/* The sum of the squares of all distances, by weight, where a level counts so much beside the one before; angles count
 * as at the lever. */
static real frames_square_beside(const ik_plan *plan, columns c, real beside) {
    real sum = real_splat(0);
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        real weight = frames_weight_beside(plan, c, task, beside);
        real off = frames_miss(plan, c, task);
        sum = sum + weight * (off * off);
    }
    return sum;
}
static real frames_square(const ik_plan *plan, columns c) {
    return frames_square_beside(plan, c, *column(c, frames_beside(plan)));
}

/* A slot of the pose from column `from` on becomes that of another, in the chosen lanes. */
ik_inline void frames_copy_slot(const ik_plan *plan, columns c, int to, int from, int slot, mask chosen) {
    const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
    if (node->turns) {
        quat now = column_quat(c, to + 4 * slot), other = column_quat(c, from + 4 * slot);
        column_set_quat(c, to + 4 * slot, quat_select(chosen, other, now));
    }
    if (node->slides) {
        int i = frames_slid_in(plan, to, slot);
        vec3 now = column_vec3(c, i), other = column_vec3(c, frames_slid_in(plan, from, slot));
        column_set_vec3(c, i, vec3_select(chosen, other, now));
    }
}

static void frames_copy(const ik_plan *plan, columns c, int to, int from, mask chosen) {
    for (int slot = 0; slot < plan->slots; slot++)
        frames_copy_slot(plan, c, to, from, slot, chosen);
}

/* The pose that is kept from a column on, in the chosen lanes; all joints hang from it. */
static void frames_return(const ik_plan *plan, columns c, int kept, mask chosen) {
    for (int slot = 0; slot < plan->slots; slot++) {
        frames_copy_slot(plan, c, frames_rotation(plan, 0), kept, slot, chosen);
        frames_hang(plan, c, plan->node_of_slot[slot]);
    }
}
