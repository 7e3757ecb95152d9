/* Joints (joints.h) that are stuck (progress.h) are perturbed, in the same way for every item, and the best pose found
 * is the result. */

enum { KICKS = 8 };

/* How much better, in squares, a pose after a kick must be to replace the best one. In sequences it must have half the
 * error. Out of reach many poses are nearly as good: stretched arms may turn about themselves, and bodies may be held
 * by limits. Joints would jump between such poses from frame to frame. Poses within tolerance always count. */
ik_inline number kicks_gain(const ik_plan *plan) { return plan->past.follows ? (number)0.75 : 0; }

/* After the columns of the watch: the error of the stored pose. */
enum { KICKS_BEST = WATCH_COLUMNS, KICKS_COLUMNS };

ik_inline void kicks_start(columns c, int watch) {
    watch_start(c, watch);
    *column(c, watch + KICKS_BEST) = real_splat(LARGEST);
}

/* For lanes that are `off` their targets: kicks those that are stuck, and gives up those that were kicked often, or
 * that are in a hurry. The quality of the pose is kept with it; less is better. Returns the lanes that were kicked;
 * ERROR is that of their present pose. The last call of a step. */
ik_hidden mask IK_NAME(kicks_for_stuck)(const ik_plan *plan, real *bundle, int g, int watch, mask off, mask stuck,
                                        mask hurried, real value);
