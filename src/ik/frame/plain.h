/* The plain case: one chain of joints that turn freely, and one place to reach. Where that is out of reach the answer
 * is known: the chain is laid towards it, and where its end is then is the target from now on. Without that a method
 * creeps towards what it cannot reach, and says that it has stalled where nothing but the distance is to blame. */

static inline int plain_is(const ik_plan *plan) {
    if (plan->task_count != 1 || !joint_task_is_simple(plan->tasks) || plan->tasks[0].kind != IK_PLACE) return 0;
    if (plan->rigid || plan->limited || plan->slides || plan->postures) return 0;
    for (int k = 0; k < plan->count; k++)
        if (plan->nodes[k].axes) return 0;
    return plan->job->options.posture == 0 && plan->job->options.manipulability == 0;
}

/* All bones forwards; or, where the target is too near, all but a longest one backwards. After joint_load; where the
 * case is not plain, nothing. Compiled with the frame (shared.h). */
ik_hidden void IK_NAME(plain_answer)(const ik_plan *plan, const pose *start, columns record);
