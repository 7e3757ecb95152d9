/* Detects stalls: after some steps without progress an item is stuck, and is perturbed (kicked); after some kicks it is
 * given up. Progress is measured by a number that the method reduces. A watch has columns of a record, from one on. */

enum {
    WATCH_LEAST, /* since the last kick */
    WATCH_IDLE,  /* steps without progress on that */
    WATCH_KICKS, /* how often */
    WATCH_COLUMNS
};

ik_inline void watch_start(columns c, int watch) {
    *column(c, watch + WATCH_LEAST) = real_splat(LARGEST);
    *column(c, watch + WATCH_IDLE) = *column(c, watch + WATCH_KICKS) = real_splat(0);
}

/* Stuck lanes among those that count: hopeless ones, and those whose value `patience` steps have not brought below this
 * share of the least. Their counts are reset. */
ik_inline mask watch_is_stuck(columns c, int watch, mask counts, real value, real share, real patience, mask hopeless) {
    const real zero = real_splat(0), one = real_splat(1);
    real *idle = column(c, watch + WATCH_IDLE), *least = column(c, watch + WATCH_LEAST);
    mask progress = mask_less(value, share * *least);
    real waited = real_select(progress, zero, *idle + one);
    mask stuck = counts & (hopeless | ~mask_less(waited, patience));
    *idle = real_select(counts, real_select(stuck, zero, waited), *idle);
    *least = real_select(counts & progress, value, *least);
    *least = real_select(stuck, real_splat(LARGEST), *least);
    return stuck;
}

/* Lanes that were kicked this often. */
ik_inline mask watch_is_spent(columns c, int watch, int kicks) {
    return ~mask_less(*column(c, watch + WATCH_KICKS), real_splat((number)kicks));
}

/* Gives up the chosen lanes. */
ik_inline void watch_give_up(columns c, mask chosen) {
    real *said = column(c, SAID);
    *said = real_from_bits(real_bits(*said) | (chosen & mask_splat(IK_STALLED)));
}

/* The chosen lanes whose next kick is number `time`. Call watch_kicked after all numbers. */
ik_inline mask watch_kick(columns c, int watch, mask chosen, int time) {
    return chosen & mask_equal(*column(c, watch + WATCH_KICKS), real_splat((number)time));
}
ik_inline void watch_kicked(columns c, int watch, mask chosen) {
    real *kicks = column(c, watch + WATCH_KICKS);
    *kicks = real_select(chosen, *kicks + real_splat(1), *kicks);
}
