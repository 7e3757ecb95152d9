/* A method on the columns of joints.h as the finish of another: that one loads records, and where it stalls, this one
 * takes over. Its own columns are behind those of joints, these first of them; columns of the other start behind
 * FINISH_MOST. Lanes in which the other is at work are idle: the finish leaves their records as they are. */

enum {
    FINISH_IDLE,  /* 1: the other method is at work; 2: the finish is; 0: there is no other */
    FINISH_WATCH, /* its watch and its kicks, by which the other knows that joints were shaken */
    FINISH_COLUMNS = FINISH_WATCH + KICKS_COLUMNS,
    FINISH_MOST = FINISH_COLUMNS + 4
};

ik_inline int finish_state(const ik_plan *plan, int what) { return joint_columns(plan) + what; }

ik_inline mask finish_idle(const ik_plan *plan, columns c) {
    return mask_equal(*column(c, finish_state(plan, FINISH_IDLE)), real_splat(1));
}

/* The finish is at work, after which the other method may begin anew. */
ik_inline mask finish_may_end(const ik_plan *plan, columns c) {
    return mask_equal(*column(c, finish_state(plan, FINISH_IDLE)), real_splat(2));
}
