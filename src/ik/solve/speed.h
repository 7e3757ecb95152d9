/* Limits of speed: how far joints move from one solution to the next. Every joint goes towards the method's answer as
 * far as its speed and its acceleration allow, and such that it can come to rest there.
 *
 * V is the longest step, and A the largest difference between two steps. c is the last step. The motion from the last
 * solution to the answer is d: a rotation vector for a ball, the angle about the axis for a hinge, a translation for a
 * slide. It is changed in this order:
 *
 *   rest    In n steps, each by A shorter than the one before and the last by A at most, a joint moves n (n + 1) / 2 A.
 *           For a distance r below that, but above that of n - 1 steps, the first step is r / n + (n - 1) / 2 A.
 *           d is cut to that step, so that joints do not overshoot the answer.
 *   ball    d is brought within A of c.
 *   ball    d is brought within V of 0. It is still within A of c, because c is within V.
 *   room    d becomes a step that leaves room to come to rest within the limit, whatever the next target is. There is
 *           always such a step, because the last one left room for braking.
 *
 * About one axis the first of these implies the last: a joint that can come to rest at its answer can do so within its
 * limit. Room for slides with several axes, and for turns that limits lead aside, is described there.
 *
 * An answer that satisfies all of these keeps its bits. */

/* Turns within limits other than hinges brake with this share of their acceleration, so that three fifths of it remain
 * for being led aside. */
#define SPEED_BRAKE 0.8f

/* They turn no faster than they can brake in this number of frames. */
enum { SPEED_FRAMES = 512 };

/* Number of bisections between a step with room and a step without. */
enum { SPEED_TRIES = 8 };

typedef struct {
    number step, change; /* V and A; LARGEST: none */
    number brake;        /* by which it brakes: A, or less */
} speed_bound;

/* Whether a limit may lead a turn aside. */
ik_inline int speed_is_led(const ik_limit *limit) {
    return limit->kind == IK_BALL || limit->kind == IK_KUSUDAMA || limit->kind == IK_EULER;
}

/* The bounds of turns (0) or slides (1). */
ik_inline speed_bound speed_bound_of(const ik_plan *plan, int k, int slides) {
    const ik_limit *limit = &plan->job->skeleton->limits[plan->nodes[k].joint];
    const double fps = plan->job->fps, speed = limit->speed[slides], acceleration = limit->acceleration[slides];
    const number step = speed > 0 ? (number)(speed / fps) : LARGEST;
    const number change = acceleration > 0 ? (number)(acceleration / (fps * fps)) : LARGEST;
    if (slides || !speed_is_led(limit) || !(change < LARGEST)) return (speed_bound){step, change, change};
    const number brake = (number)SPEED_BRAKE * change, most = SPEED_FRAMES * brake;
    return (speed_bound){step < most ? step : most, change, brake};
}

ik_inline int speed_is_bound(speed_bound bound) { return bound.step < LARGEST || bound.change < LARGEST; }

/* The longest step towards a target at this distance. */
static real speed_to_rest(real way, number brake) {
    const real one = real_splat(1), half = real_splat(0.5f), most = real_splat(brake);
    const real rounder = real_splat(IK_BITS == 64 ? (number)0x1.8p52 : (number)0x1.8p23);
    real x = half * (real_sqrt(one + real_splat(8) * (way / most)) - one), steps = (x + rounder) - rounder;
    steps = real_max(real_select(mask_less(steps, x), steps + one, steps), one);
    return way / steps + half * (steps - one) * most;
}

ik_inline vec3 speed_cut(vec3 way, real most, mask *held) {
    direction d = vec3_direction_of_any(way);
    mask over = mask_less(most, d.length);
    *held |= over;
    return vec3_select(over, vec3_scale(most, d.unit), way);
}

/* The step if there is room: `before` is the last one, in lanes that know it. */
static vec3 speed_step(speed_bound bound, vec3 way, vec3 before, mask known, mask *held) {
    if (bound.change < LARGEST) {
        way = speed_cut(way, speed_to_rest(vec3_direction_of_any(way).length, bound.brake), held);
        mask changes = mask_splat(0);
        vec3 change = speed_cut(vec3_sub(way, before), real_splat(bound.change), &changes);
        way = vec3_select(known & changes, vec3_add(before, change), way);
        *held |= known & changes;
    }
    return speed_cut(way, real_splat(bound.step), held);
}

/* ---- turns */

/* A hinge with ends. */
ik_inline int speed_has_ends(const ik_limit *limit) {
    return limit->kind == IK_HINGE && !range_is_whole((number)limit->twist[0], (number)limit->twist[1]);
}

ik_inline vec3 speed_axis(const ik_plan *plan, int k) {
    const limit *limits = plan->limits;
    return limit_axis(&limits[k], 0);
}

/* The angle of such a hinge, within half a turn of the middle of its range. */
static real speed_angle(const ik_plan *plan, int k, quat local) {
    const ik_limit *limit = &plan->job->skeleton->limits[plan->nodes[k].joint];
    const real turn = real_splat(8 * eighth_turn[0]);
    const real rounder = real_splat(IK_BITS == 64 ? (number)0x1.8p52 : (number)0x1.8p23);
    quat q = quat_multiply(quat_conjugate(solve_rest(plan, k)), local);
    real half = real_atan2(vec3_dot(speed_axis(plan, k), q.v), q.w), angle = half + half;
    real off = angle - real_splat((number)(0.5 * (limit->twist[0] + limit->twist[1])));
    return angle - ((off / turn + rounder) - rounder) * turn;
}

/* From one local rotation to another: about its axis for a hinge with ends, otherwise along the shorter arc. */
static vec3 speed_way(const ik_plan *plan, int k, quat from, quat to) {
    if (!speed_has_ends(&plan->job->skeleton->limits[plan->nodes[k].joint]))
        return rotation_vector(quat_multiply(quat_conjugate(from), to));
    return vec3_scale(speed_angle(plan, k, to) - speed_angle(plan, k, from), speed_axis(plan, k));
}

/* The end of such a motion, within the limit. */
static quat speed_turned(const ik_plan *plan, int k, quat from, vec3 way) {
    direction d = vec3_direction_of_any(way);
    turn by = {d.unit, real_splat(0.5f) * d.length};
    return quat_polished(solve_allowed(plan, k, quat_polished(quat_multiply(from, quat_of_turn(by)))));
}

/* The step that follows a step if a joint brakes. */
ik_inline vec3 speed_braked(speed_bound bound, vec3 step) {
    direction d = vec3_direction_of_any(step);
    return vec3_scale(real_max(d.length - real_splat(bound.brake), real_splat(0)), d.unit);
}

/* The lanes in which a step may follow another, to rounding. */
ik_inline mask speed_may_follow(speed_bound bound, vec3 step, vec3 before, mask known) {
    const number slack = LIMIT_TOLERANCE;
    mask changes = mask_less(real_splat(bound.change + slack), vec3_length(vec3_sub(step, before)));
    return ~((known & changes) | mask_less(real_splat(bound.step + slack), vec3_length(step)));
}

/* The lanes in which a joint that has come to `at` by a step comes to rest if it brakes, and keeps its bounds while its
 * limit leads it aside. */
ik_outline mask speed_has_room(const ik_plan *plan, int k, speed_bound bound, quat at, vec3 step, mask lanes) {
    for (int frame = 0;; frame++) {
        mask moves = lanes & mask_less(real_splat(bound.brake), vec3_length(step));
        if (!mask_any(moves)) return lanes;
        if (frame == 2 * SPEED_FRAMES) return lanes & ~moves;
        quat next = speed_turned(plan, k, at, speed_braked(bound, step));
        vec3 way = speed_way(plan, k, at, next);
        lanes &= ~moves | speed_may_follow(bound, way, step, lanes);
        at = next;
        step = way;
    }
}

/* The end of a step that leaves room: the given one, or one between braking and the last step. */
ik_outline quat speed_led(const ik_plan *plan, int k, speed_bound bound, quat last, vec3 step, vec3 before, mask known,
                          mask lanes) {
    vec3 room = speed_braked(bound, before), tried = step;
    quat led = speed_turned(plan, k, last, room);
    for (int tries = 0;; tries++) {
        quat turned = speed_turned(plan, k, last, tried);
        vec3 way = speed_way(plan, k, last, turned);
        mask has = lanes & speed_may_follow(bound, way, before, known);
        has = speed_has_room(plan, k, bound, turned, way, has);
        led = quat_select(has, turned, led);
        room = vec3_select(has, tried, room);
        step = vec3_select(has, step, tried);
        if (tries == SPEED_TRIES || (tries == 0 && !mask_any(lanes & ~has))) return led;
        tried = vec3_scale(real_splat(0.5f), vec3_add(room, step));
    }
}

static mask speed_hold_turn(const ik_plan *plan, group at, int k, mask known, mask known_before, quat *solved) {
    const ik_lists *rotations = &plan->job->solved;
    const int joint = plan->nodes[k].joint;
    const speed_bound bound = speed_bound_of(plan, k, 0);
    if (!speed_is_bound(bound)) return mask_splat(0);
    mask held = mask_splat(0);
    quat last = past_quat(&plan->past, rotations, at, joint, PAST_LAST);
    vec3 before = vec3_splat(0, 0, 0);
    if (mask_any(known_before) && bound.change < LARGEST)
        before = speed_way(plan, k, past_quat(&plan->past, rotations, at, joint, PAST_BEFORE), last);
    vec3 step = speed_step(bound, speed_way(plan, k, last, *solved), before, known_before, &held);
    held &= known;
    if (!mask_any(held)) return held;
    quat turned = speed_is_led(&plan->job->skeleton->limits[joint])
                      ? speed_led(plan, k, bound, last, step, before, known_before, held)
                      : speed_turned(plan, k, last, step);
    turned = quat_negate_if(mask_less(quat_dot(turned, *solved), real_splat(0)), turned);
    *solved = quat_select(held, turned, *solved);
    return held;
}

/* ---- slides
 *
 * A joint brakes along each axis separately, with A over the square root of the number of axes that have walls. It can
 * then brake along all of them at once. The steps with room form a box, which contains one that may follow the last
 * step: the last step, cut to the box. */

/* How much such a joint brakes before walls. */
static number speed_of_walls(const ik_plan *plan, int k, number change) {
    const double (*range)[2] = plan->nodes[k].travel;
    int walls = 0;
    for (int i = 0; i < 3; i++)
        walls += range[i][0] < range[i][1] && (range[i][0] > -HUGE_VAL || range[i][1] < HUGE_VAL);
    const number shares[] = {1, 1, (number)0.70710678118654752440, (number)0.57735026918962576451}; /* 1 / root */
    return change * shares[walls];
}

/* A NaN, from a wall at infinity, cuts nothing. */
ik_inline vec3 speed_in_box(vec3 step, const real low[3], const real high[3]) {
    real *along[3] = {&step.x, &step.y, &step.z};
    for (int i = 0; i < 3; i++) {
        *along[i] = real_select(mask_less(high[i], *along[i]), high[i], *along[i]);
        *along[i] = real_select(mask_less(*along[i], low[i]), low[i], *along[i]);
    }
    return step;
}

/* The farthest point from one step towards another that is within A of the step before. */
static vec3 speed_between(vec3 from, vec3 to, vec3 before, number change) {
    const real zero = real_splat(0), one = real_splat(1), inverse = one / real_splat(change);
    vec3 off = vec3_scale(inverse, vec3_sub(from, before)), way = vec3_scale(inverse, vec3_sub(to, from));
    real square = vec3_dot(way, way), along = vec3_dot(off, way), left = real_max(one - vec3_dot(off, off), zero);
    real share = (real_sqrt(along * along + square * left) - along) / square;
    return vec3_select(mask_less(share, one), vec3_add(from, vec3_scale(share, vec3_sub(to, from))), to);
}

static vec3 speed_slid(const ik_plan *plan, int k, speed_bound bound, vec3 last, vec3 step, vec3 before, mask known) {
    const number brake = speed_of_walls(plan, k, bound.change);
    vec3 down = vec3_sub(last, solve_end_of_travel(plan, k, 0)), up = vec3_sub(solve_end_of_travel(plan, k, 1), last);
    real low[3] = {-speed_to_rest(down.x, brake), -speed_to_rest(down.y, brake), -speed_to_rest(down.z, brake)};
    real high[3] = {speed_to_rest(up.x, brake), speed_to_rest(up.y, brake), speed_to_rest(up.z, brake)};
    vec3 room = speed_in_box(step, low, high);
    return vec3_select(known, speed_between(speed_in_box(before, low, high), room, before, bound.change), room);
}

static mask speed_hold_slide(const ik_plan *plan, group at, int k, mask known, mask known_before, vec3 *moved) {
    const ik_lists *translations = &plan->job->moved;
    const int joint = plan->nodes[k].joint;
    const speed_bound bound = speed_bound_of(plan, k, 1);
    if (!speed_is_bound(bound)) return mask_splat(0);
    mask held = mask_splat(0);
    vec3 last = past_vec3(&plan->past, translations, at, joint, PAST_LAST), before = vec3_splat(0, 0, 0);
    if (mask_any(known_before) && bound.change < LARGEST)
        before = vec3_sub(last, past_vec3(&plan->past, translations, at, joint, PAST_BEFORE));
    vec3 step = speed_step(bound, vec3_sub(*moved, last), before, known_before, &held);
    held &= known;
    if (bound.change < LARGEST) step = speed_slid(plan, k, bound, last, step, before, known_before);
    *moved = vec3_select(held, solve_slid(plan, k, vec3_add(last, step)), *moved);
    return held;
}

/* Brings found rotations and translations within limits of speed; returns the lanes in which one was changed. */
static mask speed_hold(const ik_plan *plan, group at, quat *solved, vec3 *moved) {
    const ik_past *past = &plan->past;
    const mask known = past_known(past, at, PAST_LAST), known_before = past_known(past, at, PAST_BEFORE);
    mask held = mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        if (plan->nodes[k].turns && plan->job->skeleton->limits)
            held |= speed_hold_turn(plan, at, k, known, known_before, &solved[k]);
        if (plan->nodes[k].slides && plan->job->skeleton->limits)
            held |= speed_hold_slide(plan, at, k, known, known_before, &moved[k]);
    }
    return held;
}
