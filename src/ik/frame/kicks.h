/* Joints (joints.h) that are stuck (watch.h): they are shaken, the same way for every item, and the best pose found is
 * what stays. */

enum { KICKS = 8 };

/* Or so many, each from the best pose; the last of them is none: that pose goes on. */
ik_inline int kicks_many(const ik_plan *plan) { return plan->rows > 6 ? 48 : 24; }

/* By which share a pose that comes of a kick must be better, in squares, to take the place of the best; in frames that
 * follow each other it must be half as far off. Out of reach many poses are nearly as good, of arms that are drawn out
 * and may turn about themselves, or of bodies that limits hold: they would come and go, joints turning to and fro. What
 * is within tolerance counts as ever. */
ik_inline number kicks_gain(const ik_plan *plan) { return plan->past.follows ? (number)0.75 : 0; }

/* Behind the columns of the watch: how good the pose is that is kept aside. */
enum { KICKS_BEST = WATCH_COLUMNS, KICKS_COLUMNS };

ik_inline void kicks_start(columns c, int watch) {
    watch_start(c, watch);
    *column(c, watch + KICKS_BEST) = real_splat(LARGEST);
}

/* Of lanes that are `off` their targets: kicks those that are stuck, and gives up those that were kicked often, or that
 * are in a hurry. With the pose goes what says how good it is, the less the better. Returns the lanes that were kicked;
 * ERROR is that of the pose they have now. The last that a step does. */
ik_hidden mask IK_NAME(kicks_for_stuck)(const ik_plan *plan, real *bundle, int g, int watch, mask off, mask stuck,
                                        mask hurried, mask many, real value);
