/* Where the ends are, what places and rotations in the world are about, while joints turn one after the other from the
 * tips: apart from the nodes, which are moved once at the end (turns.h), so that a sweep costs a turn a joint. An end
 * is at, or turned as, what a method has in columns from some one on, ENDS_COLUMNS a task. */

enum { ENDS_COLUMNS = 7 };
ik_inline int ends_place(int ends, int task) { return ends + ENDS_COLUMNS * task; }
ik_inline int ends_rotation(int ends, int task) { return ends_place(ends, task) + 3; }

/* What an end is drawn to, and how strongly; a rotation as a point at a lever is. */
typedef struct {
    vec3 place;
    quat rotation;
    real weight;
} ends_wanted;

/* What draws at node k as at a rigid body that turns about a place. */
ik_inline pull ends_pull(const ik_plan *plan, columns c, int ends, int k, vec3 about,
                         ends_wanted (*wanted)(const ik_plan *plan, columns c, int task)) {
    pull sum = pull_none();
    for (int t = 0; t < plan->task_count; t++) {
        if (!task_side(plan, t, plan->nodes[k].slot)) continue;
        ends_wanted to = wanted(plan, c, t);
        if (plan->tasks[t].kind == IK_TURN)
            pull_add_rotation(&sum, to.weight, column_quat(c, ends_rotation(ends, t)), to.rotation);
        else
            pull_add(&sum, to.weight, vec3_sub(column_vec3(c, ends_place(ends, t)), about), vec3_sub(to.place, about));
    }
    return sum;
}

/* Node k turns about a place, with all ends at it or below. */
ik_inline void ends_carry(const ik_plan *plan, columns c, int ends, int k, vec3 about, quat turn) {
    for (int t = 0; t < plan->task_count; t++) {
        if (!task_side(plan, t, plan->nodes[k].slot)) continue;
        int place = ends_place(ends, t), rotation = ends_rotation(ends, t);
        if (plan->tasks[t].kind == IK_TURN)
            column_set_quat(c, rotation, quat_multiply(turn, column_quat(c, rotation)));
        else
            column_set_vec3(c, place, vec3_add(about, quat_rotate(turn, vec3_sub(column_vec3(c, place), about))));
    }
}

/* It slides. */
ik_inline void ends_slide(const ik_plan *plan, columns c, int ends, int k, vec3 by) {
    for (int t = 0; t < plan->task_count; t++) {
        if (plan->tasks[t].kind == IK_TURN || !task_side(plan, t, plan->nodes[k].slot)) continue;
        int place = ends_place(ends, t);
        column_set_vec3(c, place, vec3_add(column_vec3(c, place), by));
    }
}
