/* Effectors, the subjects of positions, rotations and looks in the world, while joints turn one after the other. They
 * are kept apart from the nodes, which are moved once at the end (turns.h), so that a sweep costs one turn per joint.
 * The position or rotation of an effector is in columns of the method, ENDS_COLUMNS per task. joint_find_ends
 * (joints.h) fills them before any joint has turned.
 *
 * A goal relative to another joint has two effectors: its subject on side 1, and its reference on side -1 (task_side).
 * Each has its own columns; functions without a side are for side 1. */

enum { ENDS_COLUMNS = 7 };
ik_inline int ends_place(int ends, int task) { return ends + ENDS_COLUMNS * task; }
ik_inline int ends_rotation(int ends, int task) { return ends_place(ends, task) + 3; }

/* The target of an effector, and its strength; a rotation is pulled like a point at a lever. */
typedef struct {
    vec3 place;
    quat rotation;
    real weight;
} ends_wanted;

/* Whether a task is about the rotation of its effector, and about its position. */
ik_inline int ends_turns(const ik_task *task) { return task->kind == IK_TURN || task->kind == IK_LOOK; }
ik_inline int ends_moves(const ik_task *task) { return task->kind != IK_TURN; }

/* The axis of a look in the world. */
ik_inline vec3 ends_axis(const ik_plan *plan, columns c, int ends, int task) {
    vec3 axis = vec3_direction_of_any(vec3_of(plan->job->goals[plan->tasks[task].goal].axis)).unit;
    return quat_rotate(column_quat(c, ends_rotation(ends, task)), axis);
}

/* Which effector of a task node k turns; none at the end of its own bone. */
ik_inline int ends_turned_side(const ik_plan *plan, int task, int k) {
    const ik_task *t = &plan->tasks[task];
    return t->kind == IK_OUTSIDE && t->node == k ? 0 : task_side(plan, task, plan->nodes[k].slot);
}

/* A look is pulled at the point of its ray that is as far from the centre of rotation as the target is. One turn can
 * bring that point to the target. If there is no such point, the nearest one is used. Both are scaled to a distance of
 * 1: the weight is that of an angle. */
ik_inline void ends_pull_look(const ik_plan *plan, columns c, int ends, int task, vec3 about, ends_wanted to, pull *s) {
    vec3 axis = ends_axis(plan, c, ends, task), arm = vec3_sub(column_vec3(c, ends_place(ends, task)), about);
    vec3 way = vec3_sub(to.place, about);
    real along = vec3_dot(arm, axis), aside = real_max(vec3_dot(arm, arm) - along * along, real_splat(0));
    real farther = real_sqrt(real_max(vec3_dot(way, way) - aside, real_splat(0))) - along;
    arm = vec3_add(arm, vec3_scale(real_max(farther, real_splat(0)), axis));
    pull_add(s, to.weight, vec3_direction(arm).unit, vec3_direction(way).unit);
}

/* Adds the pulls at node k by the effectors of a side, as at a rigid body that turns about a point. */
ik_inline void ends_add_pull(const ik_plan *plan, columns c, int ends, int side, int k, vec3 about,
                             ends_wanted (*wanted)(const ik_plan *plan, columns c, int task), pull *sum) {
    for (int t = 0; t < plan->task_count; t++) {
        if (ends_turned_side(plan, t, k) != side) continue;
        ends_wanted to = wanted(plan, c, t);
        if (plan->tasks[t].kind == IK_TURN)
            pull_add_rotation(sum, to.weight, column_quat(c, ends_rotation(ends, t)), to.rotation);
        else if (plan->tasks[t].kind == IK_LOOK)
            ends_pull_look(plan, c, ends, t, about, to, sum);
        else
            pull_add(sum, to.weight, vec3_sub(column_vec3(c, ends_place(ends, t)), about), vec3_sub(to.place, about));
    }
}
ik_inline pull ends_pull(const ik_plan *plan, columns c, int ends, int k, vec3 about,
                         ends_wanted (*wanted)(const ik_plan *plan, columns c, int task)) {
    pull sum = pull_none();
    ends_add_pull(plan, c, ends, 1, k, about, wanted, &sum);
    return sum;
}

/* Turns node k about a point, with all effectors of a side at it or below. */
ik_inline void ends_carry_side(const ik_plan *plan, columns c, int ends, int side, int k, vec3 about, quat turn) {
    for (int t = 0; t < plan->task_count; t++) {
        if (ends_turned_side(plan, t, k) != side) continue;
        int place = ends_place(ends, t), rotation = ends_rotation(ends, t);
        if (ends_turns(&plan->tasks[t])) column_set_quat(c, rotation, quat_multiply(turn, column_quat(c, rotation)));
        if (ends_moves(&plan->tasks[t]))
            column_set_vec3(c, place, vec3_add(about, quat_rotate(turn, vec3_sub(column_vec3(c, place), about))));
    }
}

ik_inline void ends_carry(const ik_plan *plan, columns c, int ends, int k, vec3 about, quat turn) {
    ends_carry_side(plan, c, ends, 1, k, about, turn);
}

/* Slides it. */
ik_inline void ends_slide_side(const ik_plan *plan, columns c, int ends, int side, int k, vec3 by) {
    for (int t = 0; t < plan->task_count; t++) {
        if (!ends_moves(&plan->tasks[t]) || task_side(plan, t, plan->nodes[k].slot) != side) continue;
        int place = ends_place(ends, t);
        column_set_vec3(c, place, vec3_add(column_vec3(c, place), by));
    }
}
ik_inline void ends_slide(const ik_plan *plan, columns c, int ends, int k, vec3 by) {
    ends_slide_side(plan, c, ends, 1, k, by);
}
