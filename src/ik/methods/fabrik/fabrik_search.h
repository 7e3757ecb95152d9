/* FABRIK with frames, what is done after its passes: momentum and strides, and kicks for what is stuck.
 * fabrik_frames.h has the idea. */

/* Poor progress takes less than this share off the error in so many iterations. In fewer of them where goals are
 * several, and fewer still where all joints turn together more than once in each. */
#define FRAMES_POOR (number)0.1
enum { FRAMES_PATIENCE = 7, FRAMES_PATIENCE_OF_SEVERAL = 5, FRAMES_PATIENCE_TOGETHER = 3 };

/* The number of kicks. Short patience leaves time for more of them, which begin with small ones again. */
enum { FRAMES_KICKS = 12, FRAMES_KICKS_TOGETHER = 24 };

/* Passes are taken back that make the sum of squares this many times as large. */
#define FRAMES_HARM (number)4

/* The longest stride, in steps. */
#define FRAMES_STRIDE (number)256

/* The number of good steps before momentum. */
#define FRAMES_WAITS (number)5

/* A better pose has a sum of squares of no more than this times the best so far. */
#define FRAMES_BETTER (number)(1 - 1e-6)

/* The tangent of half the angle by which the first kick turns a joint, at most, about each of three axes; the next ones
 * turn by more. Items that start near their targets have smaller kicks (frames_free). */
#define FRAMES_KICK (number)0.5

/* The factor by which the weight of a level, relative to the level before, falls in lanes that are stuck. */
#define FRAMES_STRICTER (number)0.01

/* ---- harm */

/* Lanes in which some joint has turned by more than is allowed since `before`. */
static mask frames_turned_far(const ik_plan *plan, columns c) {
    const real one = real_splat(1);
    real largest = *column(c, frames_largest(plan)), least = one;
    mask held = mask_less(largest, one);
    if (!mask_any(held)) return held;
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!plan->nodes[plan->node_of_slot[slot]].turns) continue;
        quat now = column_quat(c, frames_rotation(plan, slot)), before = column_quat(c, frames_before(plan, slot));
        least = real_min(least, real_abs(quat_dot(now, before)));
    }
    real rounding = real_splat(64 * EPSILON);
    return held & mask_less(largest * largest + rounding, one - least * least);
}

static number frames_patience(const ik_plan *plan) {
    if (!frames_several(plan)) return FRAMES_PATIENCE;
    return together_times(plan) > 1 ? FRAMES_PATIENCE_TOGETHER : FRAMES_PATIENCE_OF_SEVERAL;
}

static int frames_kicks(const ik_plan *plan) { return together_times(plan) > 1 ? FRAMES_KICKS_TOGETHER : FRAMES_KICKS; }

/* Lanes in which all kicks were made: they go on from the best pose. */
static mask frames_is_last(const ik_plan *plan, columns c) {
    return watch_is_spent(c, frames_watched(plan), frames_kicks(plan) + 1);
}

/* Takes back passes that moved the ends much farther away, or turned joints farther than is allowed. Near the targets
 * "much" is relative to the least error since the last kick: otherwise many passes, each a little worse than the one
 * before, lead away. At the end any worse pass is taken back if there are several goals: passes do not converge to the
 * least error of goals in conflict. */
static void frames_take_back(const ik_plan *plan, columns c) {
    real squared = *column(c, frames_squared(plan)),
         least = real_min(squared, *column(c, frames_watched(plan) + WATCH_LEAST));
    mask near = mask_equal(*column(c, frames_lowest(plan)), real_splat(0));
    real harm = real_splat(FRAMES_HARM);
    if (frames_several(plan)) harm = real_select(frames_is_last(plan, c), real_splat(1), harm);
    real most = harm * real_select(near, least, squared);
    mask worse = ~mask_less(frames_square(plan, c), most) | frames_turned_far(plan, c);
    if (mask_any(worse)) frames_return(plan, c, frames_before(plan, 0), worse);
}

/* ---- momentum and strides */

/* Turned so many times as far, and by no more than `largest` says; of small turns, that is. */
ik_inline quat frames_farther(quat turn, real times, real largest) {
    real by = real_negate_if(mask_less(turn.w, real_splat(0)), times);
    return frames_shortened(quat_unit((quat){real_abs(turn.w), vec3_scale(by, turn.v)}), largest);
}

/* Every joint goes on, by so many times what it has turned and slid since `before`. How it was until now is kept in
 * `after`. */
static void frames_turn_on(const ik_plan *plan, columns c, real times) {
    const int before = frames_before(plan, 0), after = frames_after(plan, 0);
    const real largest = *column(c, frames_largest(plan));
    frames_copy(plan, c, after, frames_rotation(plan, 0), ~mask_splat(0));
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->nodes[k].slides) {
            vec3 slid = column_vec3(c, frames_slid(plan, slot));
            vec3 by = vec3_scale(times, vec3_sub(slid, column_vec3(c, frames_slid_in(plan, before, slot))));
            column_set_vec3(c, frames_slid(plan, slot), frames_within_travel(plan, c, k, vec3_add(slid, by)));
        }
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        quat local = frames_local(plan, c, after, k), turned = quat_conjugate(frames_local(plan, c, before, k));
        turned = frames_farther(quat_multiply(turned, local), times, largest);
        frames_take_local(plan, c, k, quat_multiply(local, turned));
    }
}

/* As in fabrik_go_on. A chain with one thing to reach is fast enough without at first;
 * where several pull against each other it is never too early. */
static void frames_go_on(const ik_plan *plan, columns c) {
    const real zero = real_splat(0), waits = real_splat(plan->task_count > 1 ? 0 : FRAMES_WAITS);
    real run = real_max(*column(c, frames_run(plan)) - waits, zero);
    frames_turn_on(plan, c, fabrik_momentum(run));
    frames_copy(plan, c, frames_before(plan, 0), frames_after(plan, 0), ~mask_splat(0));
}

/* After a step all turn on by a stride, which doubles where that brings the ends nearer; where it does not, they stay.
 * Steps that creep along a valley, each a little shorter than the last, are made at once. */
static void frames_walk_on(const ik_plan *plan, columns c) {
    real *stride = column(c, frames_stride(plan)), *squared = column(c, frames_squared(plan));
    *squared = frames_square(plan, c);
    frames_turn_on(plan, c, *stride);
    real walked = frames_square(plan, c);
    mask nearer = mask_less(walked, *squared);
    if (mask_any(~nearer)) frames_return(plan, c, frames_after(plan, 0), ~nearer);
    *squared = real_select(nearer, walked, *squared);
    real longer = real_min(*stride + *stride, real_splat(FRAMES_STRIDE));
    *stride = real_select(nearer, longer, real_max(*stride * real_splat((number)0.25), real_splat((number)0.5)));
}

/* How many steps in a row brought the ends nearer. */
static void frames_count(const ik_plan *plan, columns c) {
    real *run = column(c, frames_run(plan)), *previous = column(c, frames_previous(plan));
    real squared = *column(c, frames_squared(plan));
    *run = real_select(mask_less(squared, *previous), *run + real_splat(1), real_splat(0));
    *previous = squared;
}

/* Restarts the momentum of the chosen lanes. */
static void frames_stop(const ik_plan *plan, columns c, mask chosen) {
    real *run = column(c, frames_run(plan)), *previous = column(c, frames_previous(plan));
    *run = real_select(chosen, real_splat(0), *run);
    *previous = real_select(chosen, real_splat(LARGEST), *previous);
    frames_copy(plan, c, frames_before(plan, 0), frames_rotation(plan, 0), chosen);
}

/* The stages after the passes. */
static void frames_search(const ik_plan *plan, columns c) {
    frames_take_back(plan, c);
    frames_sweep(plan, c);
    for (int time = 0; time < together_times(plan); time++)
        frames_turn_together(plan, c);
    if (!plan->outside) frames_walk_on(plan, c); /* out of a capsule any stride helps, however long */
    frames_count(plan, c);
}

/* ---- what is stuck */

/* From -1 to 1, always the same ones. */
typedef struct {
    uint32_t state;
} frames_dice;

static real frames_throw(frames_dice *dice) {
    dice->state = 1664525u * dice->state + 1013904223u;
    return real_splat((number)(int32_t)(dice->state >> 8) * (number)0x1p-23f - 1);
}

static void frames_kick_slide(const ik_plan *plan, columns c, mask chosen, int k, real half, frames_dice *dice) {
    const int i = frames_slid(plan, plan->nodes[k].slot);
    real x = frames_throw(dice), y = frames_throw(dice), z = frames_throw(dice);
    vec3 slid = column_vec3(c, i), by = vec3_scale(half * *column(c, frames_lever(plan)), (vec3){x, y, z});
    chosen &= mask_less(real_splat(0), *column(c, frames_drawn(plan, plan->nodes[k].slot)));
    column_set_vec3(c, i, vec3_select(chosen, frames_within_travel(plan, c, k, vec3_add(slid, by)), slid));
}

/* All joints of the chosen lanes turn a little, for the given time; half the angle has at most this tangent. Slides
 * move by as much at the lever. */
static void frames_kick(const ik_plan *plan, columns c, mask chosen, int time, real most) {
    const real half = real_min(real_splat(FRAMES_KICK * (number)(1 + time % FRAMES_KICKS)), most);
    frames_dice dice = {(uint32_t)time};
    for (int slot = plan->slots - 1; slot >= 0; slot--) { /* rotations become local ones */
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        int i = frames_rotation(plan, slot);
        quat rotation = column_quat(c, i);
        quat local = quat_multiply(quat_conjugate(frames_above(plan, c, k)), rotation);
        column_set_quat(c, i, quat_select(chosen, local, rotation));
    }
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], i = frames_rotation(plan, slot);
        if (plan->nodes[k].slides) frames_kick_slide(plan, c, chosen, k, half, &dice);
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        real x = frames_throw(&dice), y = frames_throw(&dice), z = frames_throw(&dice);
        quat local = column_quat(c, i), by = quat_unit((quat){real_splat(1), vec3_scale(half, (vec3){x, y, z})});
        quat above = frames_above(plan, c, k);
        quat turned = quat_multiply(above, solve_allowed(plan, k, quat_multiply(local, by)));
        column_set_quat(c, i, quat_select(chosen, quat_unit(turned), local));
    }
}

/* The sum of squares as it says which pose is best. */
static real frames_strictly(const ik_plan *plan, columns c) {
    if (plan->levels < 2) return *column(c, frames_squared(plan));
    return frames_square_beside(plan, c, real_splat(LEVEL_LAST));
}

/* Keeps the best pose so far. A pose within tolerance is the best and the last. A gain below rounding does not count:
 * a kicked pose, which is twisted everywhere, replaces another only for a real gain. */
static void frames_keep_best(const ik_plan *plan, columns c) {
    real squared = frames_strictly(plan, c), *least = column(c, frames_least(plan));
    const mask kicked = watch_is_spent(c, frames_watched(plan), 1) & ~frames_is_last(plan, c);
    real share = real_splat(FRAMES_BETTER);
    if (kicks_gain(plan) > 0) share = real_select(kicked, real_splat(1 - kicks_gain(plan)), share);
    mask better = mask_less(squared, share * *least) | ~mask_less(*column(c, TOLERANCE), *column(c, ERROR));
    *least = real_select(better, squared, *least);
    frames_copy(plan, c, frames_best(0), frames_rotation(plan, 0), better);
}

/* The next kick of stuck lanes. It starts from the best pose, so that rounding after one kick is not the start of the
 * next. After the last kick the best pose goes on. In items that start near their targets the first kick turns a joint
 * by no more than a step may, and each later one by twice as much. */
static void frames_free(const ik_plan *plan, columns c, mask stuck) {
    const int watch = frames_watched(plan);
    if (mask_any(stuck)) frames_return(plan, c, frames_best(0), stuck);
    real most = frames_turn_for_error(plan, c);
    for (int time = 0; time < frames_kicks(plan); time++, most = most + most) {
        mask chosen = watch_kick(c, watch, stuck, time);
        if (mask_any(chosen)) frames_kick(plan, c, chosen, time, most);
    }
    watch_kicked(c, watch, stuck);
    real *squared = column(c, frames_squared(plan)), *beside = column(c, frames_beside(plan));
    *beside = real_select(stuck, real_splat(LEVEL_FIRST), *beside);
    *squared = real_select(stuck, frames_square(plan, c), *squared);
    frames_stop(plan, c, stuck);
}

/* Ends equal weights in those of the chosen lanes that have them, and returns these lanes: their goals may be in
 * conflict. The best pose so far is then not comparable any more. */
static mask frames_weigh(const ik_plan *plan, columns c, mask chosen) {
    real *alike = column(c, frames_alike(plan)), *squared = column(c, frames_squared(plan));
    mask now = chosen & mask_equal(*alike, real_splat(1));
    if (!mask_any(now)) return now;
    *alike = real_select(now, real_splat(0), *alike);
    *squared = real_select(now, frames_square(plan, c), *squared);
    *column(c, frames_least(plan)) = real_select(now, frames_strictly(plan, c), *column(c, frames_least(plan)));
    frames_copy(plan, c, frames_best(0), frames_rotation(plan, 0), now);
    frames_stop(plan, c, now);
    return now;
}

/* Lowers the weight of levels relative to the level before, in chosen lanes where it is not yet the lowest. Returns the
 * lanes that it changed. */
static mask frames_be_strict(const ik_plan *plan, columns c, mask chosen) {
    real *beside = column(c, frames_beside(plan)), *squared = column(c, frames_squared(plan));
    const real last = real_splat(LEVEL_LAST);
    mask now = chosen & mask_less(last, *beside);
    if (plan->levels < 2 || !mask_any(now)) return mask_splat(0);
    *beside = real_select(now, real_max(real_splat(FRAMES_STRICTER) * *beside, last), *beside);
    *squared = real_select(now, frames_square(plan, c), *squared);
    frames_stop(plan, c, now);
    return now;
}

/* Kicks lanes that make poor progress, and gives up those that were kicked often and make none. */
static void frames_watch(const ik_plan *plan, columns c) {
    const int watch = frames_watched(plan);
    const real one = real_splat(1), none = real_splat(FABRIK_PROGRESS);
    mask last = frames_is_last(plan, c), off = mask_less(*column(c, TOLERANCE), *column(c, ERROR));
    int free = !frames_several(plan) && !plan->limited && !plan->slides; /* such chains are slow only near full reach */
    real poor = free ? none : real_splat(FRAMES_POOR), less = one - real_select(last, none, poor);
    real squared = *column(c, frames_squared(plan));
    mask stuck = watch_is_stuck(c, watch, off, squared, less * less, real_splat(frames_patience(plan)), mask_splat(0));
    if (!mask_any(stuck)) return;
    stuck &= ~frames_weigh(plan, c, stuck);
    stuck &= ~frames_be_strict(plan, c, stuck);
    watch_give_up(c, stuck & last);
    frames_free(plan, c, stuck);
}
