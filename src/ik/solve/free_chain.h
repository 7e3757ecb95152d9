/* The plain case: one chain of joints that turn freely, and one position to reach. If that is out of reach, the answer
 * is known: the chain is laid straight towards it, and its end is then the target. Otherwise a method would converge
 * slowly and report a stall although only the distance is to blame. */

static inline int plain_is(const ik_plan *plan) {
    if (plan->task_count != 1 || !joint_task_is_simple(plan->tasks) || plan->tasks[0].kind != IK_PLACE) return 0;
    if (plan->rigid || plan->limited || plan->slides || plan->postures) return 0;
    for (int k = 0; k < plan->count; k++)
        if (plan->nodes[k].axes) return 0;
    return plan->job->options.posture == 0 && plan->job->options.manipulability == 0;
}

/* All bones forwards; or, for a target that is too near, all bones backwards except a longest one. After joint_load; it
 * does nothing in other cases. Compiled once (shared.h). */
ik_hidden void IK_NAME(plain_answer)(const ik_plan *plan, const pose *start, columns record);
