/* Postures: the turns of joints towards their preferred rotations, in the null space of the Jacobian (jacobian.h).
 */

/* Columns of a step, after those of jacobian.h. First come the wanted turn of each joint, and the second-order effect
 * of all wanted turns on the error. Then follow the largest turn in the null space, and other pulls at joints, as turns
 * in world axes. */
ik_inline int posture_wish(const ik_plan *plan, int slot) { return rows_columns(plan) + 3 * slot; }
ik_inline int posture_bends(const ik_plan *plan) { return posture_wish(plan, plan->slots); }
ik_inline int posture_left(const ik_plan *plan) { return posture_bends(plan) + 1; }
ik_inline int posture_draw(const ik_plan *plan, int slot) { return posture_left(plan) + 1 + 3 * slot; }
ik_inline int posture_columns(const ik_plan *plan) {
    return posture_draw(plan, plan->job->options.manipulability > 0 ? 2 * plan->slots + plan->task_count : 0);
}

static const rows_moves posture_moves = {posture_wish, NULL};

/* The total turn of joints per iteration in radians that is always allowed, however small the remaining error is. */
#define POSTURE_SETTLES (number)0.2

/* Whether a posture pulls at any joint: by a goal, or by the option for all; and whether anything pulls at any. */
ik_inline int posture_is_wanted(const ik_plan *plan) { return plan->postures || plan->job->options.posture > 0; }
ik_inline int posture_is_any(const ik_plan *plan) {
    if (IS_WIDE) return 0;
    return posture_is_wanted(plan) || plan->job->options.manipulability > 0;
}

/* Whether goals count as reached only when postures have nothing left to turn. */
ik_inline int posture_settles(const ik_plan *plan) { return plan->job->options.settle && posture_is_any(plan); }

/* The direction in which node k turns to its wanted posture, and the share. */
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
        int rests = node->posture < 0 && !plan->job->skeleton->joints; /* it rests at an angle of 0, to the bit */
        real angle = rests ? joint_within(plan->nodes[k].limit, zero) : joint_angle_of(plan, k, wanted);
        turn = (vec3){angle - *column(c, joint_angle(plan, slot)), zero, zero};
    }
    return turns_vector(plan, c, k, vec3_scale(share, turn));
}

/* All pulls at node k. */
static inline vec3 posture_pull(const ik_plan *plan, columns c, int k) {
    const real much = real_splat((number)plan->job->options.manipulability);
    vec3 pull = vec3_splat(0, 0, 0);
    if (posture_is_wanted(plan)) pull = posture_turn(plan, c, k);
    if (!(plan->job->options.manipulability > 0)) return pull;
    return vec3_add(pull, vec3_scale(much, column_vec3(c, posture_draw(plan, plan->nodes[k].slot))));
}

/* Writes the wanted turns, shortened so that their second-order effect is at most half of the error. If postures have
 * to converge, a total turn of POSTURE_SETTLES is always allowed. */
static inline void posture_find(const ik_plan *plan, columns c, real error) {
    real sum = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        vec3 turn = rows_turn(plan, c, k, posture_pull(plan, c, k));
        sum = sum + vec3_length(turn);
        column_set_vec3(c, posture_wish(plan, slot), turn);
    }
    real length = *column(c, joint_lever(plan)) * real_splat((number)plan->slots);
    real most = real_sqrt(error / (length + real_splat(TINY_LENGTH)));
    if (posture_settles(plan)) most = real_max(most, real_splat(POSTURE_SETTLES));
    const mask finite = mask_is_finite(sum); /* the slope of manipulability grows without bound near singular poses */
    real cut = real_min(real_splat(1), most / (sum + real_splat(TINY_LENGTH)));
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 turn = vec3_scale(cut, column_vec3(c, posture_wish(plan, slot)));
        column_set_vec3(c, posture_wish(plan, slot), vec3_select(finite, turn, vec3_splat(0, 0, 0)));
    }
    sum = real_select(finite, cut * sum, real_splat(0));
    *column(c, posture_bends(plan)) = real_splat(0.5f) * length * sum * sum;
}

/* Measures the largest wanted turn in the null space; z has the part that rows subtract. Overwrites own turns and
 * slides.
 */
static inline void posture_measure(const ik_plan *plan, columns c, const real *z, int step) {
    real *left = column(c, posture_left(plan));
    *left = real_splat(0);
    rows_pull(plan, c, z, step);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        vec3 turn = rows_turn(plan, c, k, column_vec3(c, step_own(plan, slot)));
        *left = real_max(vec3_length(vec3_add(turn, column_vec3(c, posture_wish(plan, slot)))), *left);
    }
}

/* A squared error after a step, minus the possible effect of postures on it. */
ik_inline real posture_forgiven(const ik_plan *plan, columns c, real square) {
    if (!posture_settles(plan)) return square;
    real left = real_max(real_sqrt(square) - *column(c, posture_bends(plan)), real_splat(0));
    return left * left;
}

/* An addition to ERROR while postures have something left to turn. */
ik_inline real posture_unsettled(const ik_plan *plan, columns c) {
    const real within = real_splat((number)plan->job->options.rotation_tolerance),
               left = *column(c, posture_left(plan));
    mask turns = mask_less(within, left);
    return real_select(turns, *column(c, TOLERANCE) * (left / within), real_splat(0));
}
