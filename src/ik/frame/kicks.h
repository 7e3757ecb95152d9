/* Joints (joints.h) that are stuck (watch.h): they are shaken, the same way for every item, and the best pose found is
 * what stays. */

enum { KICKS = 8 };

/* Behind the columns of the watch: how good the pose is that is kept aside. */
enum { KICKS_BEST = WATCH_COLUMNS, KICKS_COLUMNS };

ik_inline void kicks_start(columns c, int watch) {
    watch_start(c, watch);
    *column(c, watch + KICKS_BEST) = real_splat(LARGEST);
}

/* Of lanes that are `off` their targets: kicks those that are stuck, and gives up those that were kicked often, or that
 * are in a hurry. With
 * the pose goes what says how good it is, the less the better. Returns the lanes that were kicked; ERROR is that of the
 * pose they have now. The last that a step does. */
static inline mask kicks_for_stuck(const ik_plan *plan, real *bundle, int g, int watch, mask off, mask stuck,
                                   mask hurried, real value) {
    columns c = columns_of_bundle(bundle, g);
    real *best = column(c, watch + KICKS_BEST), *error = column(c, ERROR);
    mask often = watch_is_spent(c, watch, KICKS) | hurried;
    real iterations = *column(c, ITERATIONS) + real_splat(1), most = real_splat((number)plan->job->options.iterations);
    mask ends = (stuck & often) | (off & ~mask_less(iterations, most)), better = mask_less(value, *best);
    if (!mask_any(stuck | ends)) return mask_splat(0);
    watch_give_up(c, stuck & often);
    stuck &= ~ends;
    turns_aside(plan, c, stuck & better, ends & ~better);
    *best = real_select(stuck & better, value, *best);
    if (!mask_any(stuck)) return stuck;
    for (int time = 0; time < KICKS; time++) {
        mask now = watch_kick(c, watch, stuck, time);
        if (mask_any(now)) turns_kick(plan, bundle, g, now, time);
    }
    watch_kicked(c, watch, stuck);
    *error = real_select(stuck, errors_measure(plan, c, IN_POSE, real_splat(1), NULL, 1).largest, *error);
    return stuck;
}
