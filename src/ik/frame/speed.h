/* How fast joints move from one solution to the next. What a method has found is a wish: every joint goes as far
 * towards it as its speed and its acceleration let it, and so that it can come to rest there.
 *
 * With V the longest step, A the most by which one may differ from the one before, c that one and d the way from the
 * last solution to the wish (of a ball a rotation vector, of a hinge its angle about the axis, of a slide a
 * translation):
 *
 *   rest    in n steps, each by A shorter than the one before and the last by A at most, a joint comes n (n + 1) / 2 A
 *           far. For a way r that is less, but more than n - 1 steps would do, the first is r / n + (n - 1) / 2 A: d is
 *           cut to that, so that joints neither pass their wish nor, as the wish is within it, their limit
 *   ball    then brought within A of c,
 *   ball    then within V of 0. That keeps the one before, as c is within V
 *
 * What is within all three stays what it is, to the bit. */

/* Times that a way which limits make longer is halved. */
enum { SPEED_TRIES = 8 };

typedef struct {
    number step, change; /* V and A; LARGEST: none */
} speed_bound;

/* Of turns (0) or slides (1). */
ik_inline speed_bound speed_bound_of(const ik_plan *plan, int k, int slides) {
    const ik_limit *limit = &plan->job->skeleton->limits[plan->nodes[k].joint];
    const double fps = plan->job->fps, speed = limit->speed[slides], acceleration = limit->acceleration[slides];
    return (speed_bound){speed > 0 ? (number)(speed / fps) : LARGEST,
                         acceleration > 0 ? (number)(acceleration / (fps * fps)) : LARGEST};
}

ik_inline int speed_is_bound(speed_bound bound) { return bound.step < LARGEST || bound.change < LARGEST; }

/* How long a step towards what is that far away may be. */
static real speed_to_rest(real way, number change) {
    const real one = real_splat(1), half = real_splat(0.5f), most = real_splat(change);
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

/* The step that is made: `before` is the last one, of lanes that know it. */
static vec3 speed_step(speed_bound bound, vec3 way, vec3 before, mask known, mask *held) {
    if (bound.change < LARGEST) {
        way = speed_cut(way, speed_to_rest(vec3_direction_of_any(way).length, bound.change), held);
        mask changes = mask_splat(0);
        vec3 change = speed_cut(vec3_sub(way, before), real_splat(bound.change), &changes);
        way = vec3_select(known & changes, vec3_add(before, change), way);
        *held |= known & changes;
    }
    return speed_cut(way, real_splat(bound.step), held);
}

/* ---- turns */

/* A hinge that has ends. */
ik_inline int speed_has_ends(const ik_limit *limit) {
    return limit->kind == IK_HINGE && !range_is_whole((number)limit->twist[0], (number)limit->twist[1]);
}

ik_inline vec3 speed_axis(const ik_plan *plan, int k) {
    const limit *limits = plan->limits;
    return limit_axis(&limits[k], 0);
}

/* The angle of such a hinge in its range. */
static real speed_angle(const ik_plan *plan, int k, quat local) {
    const ik_limit *limit = &plan->job->skeleton->limits[plan->nodes[k].joint];
    const real turn = real_splat(8 * eighth_turn[0]), slack = real_splat(LIMIT_TOLERANCE);
    quat q = quat_multiply(quat_conjugate(solve_rest(plan, k)), local);
    real half = real_atan2(vec3_dot(speed_axis(plan, k), q.v), q.w);
    real angle = half + half, high = real_splat((number)limit->twist[1]), low = real_splat((number)limit->twist[0]);
    angle = real_select(mask_less(high + slack, angle), angle - turn, angle);
    return real_select(mask_less(angle, low - slack), angle + turn, angle);
}

/* From one local rotation to another: about its axis, where it is a hinge that has ends, and else the shorter way. */
static vec3 speed_way(const ik_plan *plan, int k, quat from, quat to) {
    if (!speed_has_ends(&plan->job->skeleton->limits[plan->nodes[k].joint]))
        return rotation_vector(quat_multiply(quat_conjugate(from), to));
    return vec3_scale(speed_angle(plan, k, to) - speed_angle(plan, k, from), speed_axis(plan, k));
}

/* Where such a way leads, within the limit. That may take it aside, and make it longer than it may be: then it is made
 * shorter, for where it starts is allowed. */
static quat speed_turned(const ik_plan *plan, int k, quat from, vec3 way, number most) {
    const real slack = real_splat(most < LARGEST ? most + 64 * EPSILON : most), half = real_splat(0.5f);
    for (int tries = 0;; tries++) {
        direction d = vec3_direction_of_any(way);
        quat turned = quat_polished(quat_multiply(from, quat_of_turn((turn){d.unit, half * d.length})));
        turned = quat_polished(solve_allowed(plan, k, turned));
        mask over = mask_less(slack, vec3_length(speed_way(plan, k, from, turned)));
        if (!mask_any(over)) return turned;
        if (tries == SPEED_TRIES) return quat_select(over, from, turned);
        way = vec3_select(over, vec3_scale(half, way), way);
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
    quat turned = speed_turned(plan, k, last, step, bound.step);
    turned = quat_negate_if(mask_less(quat_dot(turned, *solved), real_splat(0)), turned);
    *solved = quat_select(held, turned, *solved);
    return held;
}

/* ---- slides */

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
    *moved = vec3_select(held, solve_slid(plan, k, vec3_add(last, step)), *moved);
    return held;
}

/* Brings rotations and translations that were found to what speeds allow; returns the lanes in which one was held. */
static mask speed_hold(const ik_plan *plan, group at, quat *solved, vec3 *moved) {
    const ik_past *past = &plan->past;
    const mask known = past_known(past, at, PAST_LAST), known_before = past_known(past, at, PAST_BEFORE);
    mask held = mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        if (plan->nodes[k].turns && plan->job->skeleton->limits)
            held |= speed_hold_turn(plan, at, k, known, known_before, &solved[k]);
        if (plan->nodes[k].slides) held |= speed_hold_slide(plan, at, k, known, known_before, &moved[k]);
    }
    return held;
}
