/* Postures: which way joints turn to what they prefer, as far as no row of the Jacobian (rows.h) objects. */

/* The column of a step, behind those of rows.h: the turn that a joint wishes for. */
ik_inline int posture_wish(const ik_plan *plan, int slot) { return rows_columns(plan) + 3 * slot; }
ik_inline int posture_columns(const ik_plan *plan) { return posture_wish(plan, plan->slots); }

static const rows_moves posture_moves = {posture_wish, NULL};

/* Whether any joint wishes for one: by a goal, or by the option for all. */
ik_inline int posture_is_any(const ik_plan *plan) { return plan->postures || plan->job->options.posture > 0; }

/* Which way node k turns to the posture that is wished for, and by which share. */
static inline vec3 posture_turn(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    const int slot = node->slot;
    const real zero = real_splat(0);
    real share = real_splat((number)plan->job->options.posture);
    quat wanted = solve_preferred(plan, k);
    if (node->posture >= 0) {
        share = *column(c, joint_posture(plan, slot) + 4);
        wanted = column_quat(c, joint_posture(plan, slot));
    }
    quat posture = quat_multiply(joint_parent(plan, c, k), solve_allowed(plan, k, wanted));
    vec3 turn = rotation_vector(quat_multiply(posture, quat_conjugate(column_quat(c, joint_rotation(slot)))));
    if (joint_is_hinge(plan, k)) {
        int rests = node->posture < 0 && !plan->job->skeleton->joints; /* at an angle of 0, to the bit */
        real angle = rests ? joint_within(plan->nodes[k].limit, zero) : joint_angle_of(plan, k, wanted);
        turn = (vec3){angle - *column(c, joint_angle(plan, slot)), zero, zero};
    }
    return turns_vector(plan, c, k, vec3_scale(share, turn));
}

/* The turns towards them into the column, cut so that what they do to the error beyond the first order is at most half
 * of it. */
static inline void posture_find(const ik_plan *plan, columns c, real error) {
    real sum = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        vec3 turn = rows_turn(plan, c, k, posture_turn(plan, c, k));
        sum = sum + vec3_length(turn);
        column_set_vec3(c, posture_wish(plan, slot), turn);
    }
    real length = *column(c, joint_lever(plan)) * real_splat((number)plan->slots);
    real most = real_sqrt(error / (length + real_splat(TINY_LENGTH)));
    real cut = real_min(real_splat(1), most / (sum + real_splat(TINY_LENGTH)));
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 turn = column_vec3(c, posture_wish(plan, slot));
        column_set_vec3(c, posture_wish(plan, slot), vec3_scale(cut, turn));
    }
}
