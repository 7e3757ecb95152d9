/* The columns of a method that works on joints, all at once or one after the other. They hold rotations, slides and
 * positions of joints, wanted values of tasks, and the length that converts angles to distances.
 *
 *   joint_load       from the start pose and the tasks to the columns
 *   joint_place      from the columns to the results
 *   joint_columns    start of a method's own columns */

/* Per item: world rotations and slides come first; they are the result. */
ik_inline int joint_rotation(int slot) { return OWN + 4 * slot; }
/* The slide of a node relative to its offset, in the space of its parent. */
ik_inline int joint_slid(const ik_plan *plan, int slot) { return joint_rotation(plan->slots) + 3 * slot; }
ik_inline int joint_results(const ik_plan *plan) { return joint_slid(plan, plan->columns_of_slides); }
ik_inline int joint_position(const ik_plan *plan, int slot) { return joint_results(plan) + 3 * slot; }

/* For a task: its wanted values (see joint_wanted), the square root of its weight, and the factor of its error compared
 * with TOLERANCE; both are 0 if its goal has weight 0. */
enum { TASK_TARGET, TASK_WEIGHT = 4, TASK_UNIT, TASK_COLUMNS };
ik_inline int joint_task(const ik_plan *plan, int task) {
    return joint_position(plan, plan->slots) + TASK_COLUMNS * task;
}

/* For an OUTSIDE also the end of its capsule's axis. */
ik_inline int joint_end(const ik_plan *plan, int task) { return joint_task(plan, plan->task_count) + 3 * task; }

/* The mean bone: an angle counts as an arc of it, and sliding by it counts like turning by a radian. */
ik_inline int joint_lever(const ik_plan *plan) { return joint_end(plan, plan->outside ? plan->task_count : 0); }

/* Columns of plans with limits, slides or postures.
 *   joint_angle     the angle of a hinge from rest
 *   joint_above     the world rotation of a fixed parent, in the order of such slots
 *   joint_posture   the wanted local rotation and its share */
ik_inline int joint_angle(const ik_plan *plan, int slot) { return joint_lever(plan) + 1 + slot; }
ik_inline int joint_above(const ik_plan *plan, int base) { return joint_angle(plan, plan->slots) + 4 * base; }
ik_inline int joint_posture(const ik_plan *plan, int slot) { return joint_above(plan, plan->bases) + 5 * slot; }

/* The number of columns, including those of the loop. */
ik_inline int joint_columns(const ik_plan *plan) {
    return plan->rests ? joint_posture(plan, plan->columns_of_postures) : joint_angle(plan, 0);
}

/* ---- allowed motion */

ik_inline int joint_is_limited(const ik_plan *plan, int k) {
    const ik_limit *limit = plan->nodes[k].limit;
    return limit && limit->kind != IK_FREE;
}

ik_inline int joint_is_hinge(const ik_plan *plan, int k) {
    const ik_limit *limit = plan->nodes[k].limit;
    return limit && limit->kind == IK_HINGE;
}

/* A hinge that turns all the way round has no ends. */
static inline int joint_is_round(const ik_limit *limit) {
    return range_is_whole((number)limit->twist[0], (number)limit->twist[1]);
}

/* The next node up whose turn or slide moves the descendants of k; -1: none. */
ik_inline int joint_next(const ik_plan *plan, int k) { return plan->nodes[k].moves ? plan->nodes[k].parent : -1; }

/* The world rotation of the parent of node k. */
static inline quat joint_parent(const ik_plan *plan, columns c, int k) {
    if (plan->nodes[k].moves) return column_quat(c, joint_rotation(plan->nodes[plan->nodes[k].parent].slot));
    int base = 0;
    for (int slot = 0; slot < plan->nodes[k].slot; slot++)
        base += !plan->nodes[plan->node_of_slot[slot]].moves;
    return column_quat(c, joint_above(plan, base));
}

/* The space of a limit, relative to its joint. */
ik_inline quat joint_frame(const ik_limit *limit) {
    quat frame = {real_splat((number)limit->frame[0]), vec3_of(limit->frame + 1)};
    return quat_unit(frame);
}

/* A hinge's angle in its range; without ends, the same rotation within half a turn. */
ik_inline real joint_within(const ik_limit *limit, real angle) {
    if (joint_is_round(limit)) {
        const real half = real_splat(4 * eighth_turn[0]), turn = half + half;
        angle = real_select(mask_less(half, angle), angle - turn, angle);
        return real_select(mask_less(angle, -half), angle + turn, angle);
    }
    return real_max(real_min(real_splat((number)limit->twist[1]), angle), real_splat((number)limit->twist[0]));
}

/* A hinge's angle: among the two or three equivalents within two turns, one in its range. */
static inline real joint_angle_of(const ik_plan *plan, int k, quat local) {
    const ik_limit *limit = plan->nodes[k].limit;
    const real turn = real_splat(16 * eighth_turn[0] / 2);
    quat q = quat_multiply(quat_conjugate(solve_rest(plan, k)), local);
    vec3 axis = quat_rotate(joint_frame(limit), vec3_splat(1, 0, 0));
    real half = real_atan2(vec3_dot(axis, q.v), q.w), angle = half + half;
    if (joint_is_round(limit)) return joint_within(limit, angle);
    angle = real_select(mask_less(real_splat((number)limit->twist[1]) + real_splat(LIMIT_TOLERANCE), angle),
                        angle - turn, angle);
    angle = real_select(mask_less(angle, real_splat((number)limit->twist[0]) - real_splat(LIMIT_TOLERANCE)),
                        angle + turn, angle);
    return joint_within(limit, angle);
}

/* ---- tasks */

/* Tasks whose record has only a position or a rotation. */
ik_inline int joint_task_is_simple(const ik_task *task) { return IS_WIDE || task_is_plain(task); }

ik_inline task_wanted joint_wanted(const ik_plan *plan, columns c, int task) {
    quat all = column_quat(c, joint_task(plan, task) + TASK_TARGET);
    if (plan->tasks[task].kind == IK_TURN) return (task_wanted){.rotation = all};
    task_wanted wanted = {.place = {all.w, all.v.x, all.v.y}, .number = all.v.z};
    if (!IS_WIDE && plan->tasks[task].kind == IK_OUTSIDE) wanted.end = column_vec3(c, joint_end(plan, task));
    return wanted;
}

ik_inline void joint_set_wanted(columns record, int at, const ik_task *task, const task_wanted *wanted) {
    quat all = {wanted->place.x, {wanted->place.y, wanted->place.z, wanted->number}};
    column_set_quat(record, at, task->kind == IK_TURN ? wanted->rotation : all);
}

/* The wanted values of a task that is not simple, and its tolerance as a distance or angle. Compiled once
 * (shared.h). */
ik_hidden real IK_NAME(joint_load_any)(const ik_plan *plan, group at, const pose *start, const ik_task *task,
                                       task_wanted *wanted, real *weight);

/* Positions of the effectors (effectors.h) before any joint has turned. */
static inline void joint_find_ends(const ik_plan *plan, columns c, int ends) {
    for (int t = 0; t < plan->task_count; t++) {
        const int slot = plan->nodes[plan->tasks[t].node].slot;
        if (ends_turns(&plan->tasks[t]))
            column_set_quat(c, ends_rotation(ends, t), column_quat(c, joint_rotation(slot)));
        if (ends_moves(&plan->tasks[t]))
            column_set_vec3(c, ends_place(ends, t), column_vec3(c, joint_position(plan, slot)));
    }
}

/* ---- input and output */

/* The start pose, moved into its limits, and the wanted values of all tasks: the first call of a method's `begin`. It
 * also sets TOLERANCE if there are only rotations. Compiled once (shared.h). */
ik_hidden void IK_NAME(joint_load)(const ik_plan *plan, group at, const pose *start, columns record);

/* A method's `place`. */
ik_hidden void IK_NAME(joint_place)(const ik_plan *plan, group at, columns record, const pose *world, int k,
                                    local_joint *local);
