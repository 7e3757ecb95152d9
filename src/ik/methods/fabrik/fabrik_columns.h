/* FABRIK with frames: what a record holds. fabrik_frames.h has the idea. */

/* Columns of a pose: rotations of all joints; then the offset of every sliding joint from its first place, in the space
 * of its parent. */
ik_inline int frames_pose(const ik_plan *plan) { return (plan->slides ? 7 : 4) * plan->slots; }
ik_inline int frames_slid_in(const ik_plan *plan, int first, int slot) { return first + 4 * plan->slots + 3 * slot; }

/* The columns of a record. The best pose comes first: it is the result. */
ik_inline int frames_best(int slot) { return OWN + 4 * slot; }
ik_inline int frames_rotation(const ik_plan *plan, int slot) { return OWN + frames_pose(plan) + 4 * slot; }
ik_inline int frames_slid(const ik_plan *plan, int slot) {
    return frames_slid_in(plan, frames_rotation(plan, 0), slot);
}
/* The rotation of its parent, in the space of what carries it; of what does not turn, its own. */
ik_inline int frames_socket(const ik_plan *plan, int slot) { return OWN + 2 * frames_pose(plan) + 4 * slot; }
ik_inline int frames_point(const ik_plan *plan, int slot) { return frames_socket(plan, plan->slots) + 3 * slot; }
/* Its position in the space of the body that carries it; in the world if no body that turns carries it. */
ik_inline int frames_bone(const ik_plan *plan, int slot) { return frames_point(plan, plan->slots) + 3 * slot; }
ik_inline int frames_share(const ik_plan *plan, int slot) { return frames_bone(plan, plan->slots) + slot; }
/* For plans with slides. In the space of the body that carries a node: the vector from its parent at the start, the
 * rotation of its parent, and its least and largest slide. Then the weight of all goal positions at and below it. */
ik_inline int frames_link(const ik_plan *plan, int slot) { return frames_share(plan, plan->slots) + 14 * slot; }
ik_inline int frames_track(const ik_plan *plan, int slot) { return frames_link(plan, slot) + 3; }
ik_inline int frames_travel(const ik_plan *plan, int slot) { return frames_link(plan, slot) + 7; }
ik_inline int frames_drawn(const ik_plan *plan, int slot) { return frames_link(plan, slot) + 13; }
ik_inline int frames_target(const ik_plan *plan, int goal) {
    return frames_link(plan, plan->slides ? plan->slots : 0) + 11 * goal;
}
ik_inline int frames_target_share(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 3; }
ik_inline int frames_target_weight(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 4; }
ik_inline int frames_turned(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 5; }
ik_inline int frames_turned_weight(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 9; }
/* The weight of the distance to the target: larger for chains that are shorter than the longest. */
ik_inline int frames_per_distance(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 10; }
ik_inline int frames_per_radian(const ik_plan *plan) { return frames_target(plan, plan->job->goal_count); }
ik_inline int frames_least(const ik_plan *plan) { return frames_per_radian(plan) + 1; }
ik_inline int frames_watched(const ik_plan *plan) { return frames_per_radian(plan) + 2; }
ik_inline int frames_squared(const ik_plan *plan) { return frames_watched(plan) + WATCH_COLUMNS; }
/* The length that makes angles distances: the mean bone. */
ik_inline int frames_lever(const ik_plan *plan) { return frames_squared(plan) + 1; }
/* Steps in a row that brought the ends nearer, what the last one came to, the stride, and the pose before it. */
ik_inline int frames_run(const ik_plan *plan) { return frames_squared(plan) + 2; }
ik_inline int frames_previous(const ik_plan *plan) { return frames_squared(plan) + 3; }
ik_inline int frames_stride(const ik_plan *plan) { return frames_squared(plan) + 4; }
/* The sine of half the largest turn of a joint in a step; 1 where that is any, and what it never falls below. */
ik_inline int frames_largest(const ik_plan *plan) { return frames_squared(plan) + 5; }
ik_inline int frames_lowest(const ik_plan *plan) { return frames_squared(plan) + 6; }
ik_inline int frames_per_reach(const ik_plan *plan) { return frames_squared(plan) + 7; }
/* 1 as long as all goals weigh alike; how much turns of all joints together are damped; and what a level counts beside
 * the one before. */
ik_inline int frames_alike(const ik_plan *plan) { return frames_squared(plan) + 8; }
ik_inline int frames_damping(const ik_plan *plan) { return frames_squared(plan) + 9; }
ik_inline int frames_beside(const ik_plan *plan) { return frames_squared(plan) + 10; }
ik_inline int frames_before(const ik_plan *plan, int slot) { return frames_squared(plan) + 11 + 4 * slot; }
/* For plans with ties: the weight of all goals below a node and of its own position to reach. */
ik_inline int frames_below(const ik_plan *plan, int slot) { return frames_before(plan, 0) + frames_pose(plan) + slot; }
ik_inline int frames_columns(const ik_plan *plan) { return frames_below(plan, plan->ties ? plan->slots : 0); }

/* A step: the pose before its extrapolation, and the positions of the ends in its sweep. */
ik_inline int frames_after(const ik_plan *plan, int slot) { return frames_columns(plan) + 4 * slot; }
ik_inline int frames_ends(const ik_plan *plan) { return frames_after(plan, 0) + frames_pose(plan); }
/* Turns of all joints together. For each joint: its turn, and the part that its limit excludes. For each task, times
 * its weight: its error or its pull, and the change of that by turns. */
enum { JOINT_TURN, JOINT_BARRED, JOINT_VECTORS };
ik_inline int frames_joint(const ik_plan *plan, int vector, int slot) {
    return ends_place(frames_ends(plan), plan->task_count) + 3 * (vector * plan->slots + slot);
}
ik_inline int frames_off(const ik_plan *plan, int task) { return frames_joint(plan, JOINT_VECTORS, 0) + 3 * task; }
ik_inline int frames_change(const ik_plan *plan, int task) { return frames_off(plan, plan->task_count) + 3 * task; }

/* The equations of all joints together (jacobian.h, levels.h). */
ik_inline int frames_rows(const ik_plan *plan) { return frames_change(plan, plan->task_count); }

/* A tie: the position of its far end, and the direction along which its number changes. In the passes: the wanted
 * positions of its own end and of its far end, and their weight. */
ik_inline int frames_far(const ik_plan *plan) { return frames_rows(plan) + rows_system_columns(plan); }
ik_inline int frames_along(const ik_plan *plan, int task) {
    return ends_place(frames_far(plan), plan->task_count) + 3 * task;
}
ik_inline int frames_tied_to(const ik_plan *plan, int task, int side) {
    return frames_along(plan, plan->task_count) + 7 * task + (side < 0 ? 3 : 0);
}
ik_inline int frames_tie_counts(const ik_plan *plan, int task) { return frames_tied_to(plan, task, 1) + 6; }

static record_size frames_size(const ik_plan *plan) {
    int columns = frames_columns(plan), end = frames_far(plan);
    if (plan->ties) end = frames_tied_to(plan, plan->task_count, 1);
    return (record_size){columns, frames_rotation(plan, 0), end - columns};
}

/* ---- what is read of them */

/* How node k is turned. */
ik_inline quat frames_now(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    if (node->turns) return column_quat(c, frames_rotation(plan, node->slot));
    if (node->owner < 0) return column_quat(c, frames_socket(plan, node->slot));
    quat owner = column_quat(c, frames_rotation(plan, plan->nodes[node->owner].slot));
    return quat_multiply(owner, column_quat(c, frames_socket(plan, node->slot)));
}

/* The weight that counts: 1 for any weight while all goals weigh alike. */
ik_inline real frames_counted(const ik_plan *plan, columns c, real weight) {
    const real zero = real_splat(0), one = real_splat(1);
    if (plan->task_count < 2) return weight;
    mask alike = mask_equal(*column(c, frames_alike(plan)), one);
    return real_select(alike & ~mask_equal(weight, zero), one, weight);
}

/* The weight of a task within its level; a rotation counts as a point at the lever. */
ik_inline real frames_weight_in_level(const ik_plan *plan, columns c, const ik_task *task) {
    if (task->kind != IK_TURN) return frames_counted(plan, c, *column(c, frames_target_weight(plan, task->goal)));
    real lever = *column(c, frames_lever(plan));
    return lever * lever * frames_counted(plan, c, *column(c, frames_turned_weight(plan, task->goal)));
}

/* Beside all others, where a level counts so much beside the one before. */
static real frames_weight_beside(const ik_plan *plan, columns c, const ik_task *task, real beside) {
    real weight = frames_weight_in_level(plan, c, task);
    return task->level > 0 ? level_counts(beside, task->level) * weight : weight;
}
ik_inline real frames_weight_of(const ik_plan *plan, columns c, const ik_task *task) {
    return frames_weight_beside(plan, c, task, *column(c, frames_beside(plan)));
}

/* A small turn as a vector, twice the sine of half its angle long, and back. */
ik_inline vec3 frames_vector(quat turn) {
    return vec3_scale(real_negate_if(mask_less(turn.w, real_splat(0)), real_splat(2)), turn.v);
}
ik_inline quat frames_small_turn(vec3 vector) {
    return quat_unit((quat){real_splat(1), vec3_scale(real_splat((number)0.5), vector)});
}
