/* A method on the columns of joints.h as the finish of another: that one loads records, and where it stalls, this one
 * takes over. Its own columns are behind those of joints, these first of them; columns of the other start behind
 * FINISH_MOST. Lanes in which the other is at work are idle: the finish leaves what counts of their records as it is.
 */

enum {
    FINISH_WHO,   /* enum finish_who */
    FINISH_WATCH, /* its watch and its kicks, by which the other knows that joints were shaken */
    FINISH_COLUMNS = FINISH_WATCH + KICKS_COLUMNS,
    FINISH_MOST = FINISH_COLUMNS + 4
};

/* Who is at work: a method that is no finish, the other, or the finish, which takes over first. */
enum finish_who { FINISH_ALONE, FINISH_IDLES, FINISH_BEGINS, FINISH_WORKS };

ik_inline int finish_state(const ik_plan *plan, int what) { return joint_columns(plan) + what; }

ik_inline mask finish_is(const ik_plan *plan, columns c, enum finish_who who) {
    return mask_equal(*column(c, finish_state(plan, FINISH_WHO)), real_splat((number)who));
}
ik_inline mask finish_idle(const ik_plan *plan, columns c) { return finish_is(plan, c, FINISH_IDLES); }
ik_inline mask finish_begins(const ik_plan *plan, columns c) { return finish_is(plan, c, FINISH_BEGINS); }
ik_inline mask finish_works(const ik_plan *plan, columns c) { return finish_is(plan, c, FINISH_WORKS); }

ik_inline void finish_set(const ik_plan *plan, columns c, enum finish_who who, mask chosen) {
    real *now = column(c, finish_state(plan, FINISH_WHO));
    *now = real_select(chosen, real_splat((number)who), *now);
}
