/* Preparation of limits, and projection onto them. The derivation is in limit.h. */

/* Smallest sine of a swing that enters a cotangent, far below round-off. */
#define LEAST_SINE ((number)(IK_BITS == 64 ? 0x1p-60f : 0x1p-30f))

/* Newton steps. They leave no error above round-off for a million ellipses of all shapes, with near and far points. */
enum { ELLIPSE_STEPS = IK_BITS == 64 ? 9 : 7 };

/* --- once for a limit --------------------------------------------------------------------------------------------- */

ik_inline angle_range angle_range_of(number low, number high) {
    number middle = (number)0.5 * (low + high), width = (number)0.5 * (high - low);
    half_angle all = {0, 1};
    return (angle_range){half_angle_of(middle), range_is_whole(low, high) ? all : half_angle_of(width)};
}

ik_inline void limit_prepare_swing(limit *to, const ik_limit *from) {
    for (int i = 0; i < 4; i++) {
        half_angle lean = half_angle_of((number)from->swing[i]);
        to->swing[i] = lean;
        to->cotangents[i] = lean.cosine / (lean.sine > LEAST_SINE ? lean.sine : LEAST_SINE);
    }
}

ik_inline whole_angle half_angle_doubled(half_angle a) {
    return (whole_angle){a.cosine * a.cosine - a.sine * a.sine, 2 * a.cosine * a.sine};
}

/* Numbers for euler_is_inside, from the lowest and highest middle angle as stored. */
ik_inline void limit_prepare_inside(limit *to, number low, number high) {
    const number half = 4 * eighth_turn[0];
    const int never = low >= half || high <= 0;
    for (int i = 0; i < 2; i++) {
        to->whole[i].middle = half_angle_doubled(to->ranges[2 * i].middle);
        to->whole[i].width = half_angle_doubled(to->ranges[2 * i].width);
    }
    to->one_set = low >= -LIMIT_TOLERANCE && high <= half + LIMIT_TOLERANCE;
    to->cosines[0] = never ? 2 : high < half ? half_angle_of(2 * high).cosine : -2;
    to->cosines[1] = low > 0 ? half_angle_of(2 * low).cosine : 2;
}

/* The first fixed axis to turn is the innermost. The middle angle is stored as a quarter turn minus itself. The inner
 * angle changes its sign if its axis is opposite to the normal of the other two. */
ik_inline void limit_prepare_euler(limit *to, const ik_limit *from, number frame[3][3]) {
    const number quarter = 2 * eighth_turn[0];
    int inner = from->axes[0], middle = from->axes[1], outer = from->axes[2];
    int handed = (middle - outer + 3) % 3 == 1 ? 1 : -1;
    for (int i = 0; i < 3; i++) {
        to->axes[0][i] = frame[outer][i];
        to->axes[1][i] = frame[middle][i];
        to->axes[2][i] = (number)handed * frame[inner][i];
    }
    number low[3], high[3];
    for (int i = 0; i < 3; i++)
        low[i] = (number)from->angles[i][0], high[i] = (number)from->angles[i][1];
    to->ranges[0] = angle_range_of(low[2], high[2]);
    to->ranges[1] = angle_range_of(quarter - high[1], quarter - low[1]);
    to->ranges[2] = handed > 0 ? angle_range_of(low[0], high[0]) : angle_range_of(-high[0], -low[0]);
    limit_prepare_inside(to, quarter - high[1], quarter - low[1]);
}

void IK_NAME(limit_prepare)(limit *to, const ik_limit *from, const ik_cone *cones, limit_cone *ready) {
    const double *f = from->frame;
    quat frame = quat_unit((quat){real_splat((number)f[0]), vec3_splat((number)f[1], (number)f[2], (number)f[3])});
    mat3 m = mat3_of_quat(frame);
    number axes[3][3] = {{number_of(m.x.x), number_of(m.y.x), number_of(m.z.x)},
                         {number_of(m.x.y), number_of(m.y.y), number_of(m.z.y)},
                         {number_of(m.x.z), number_of(m.y.z), number_of(m.z.z)}};
    *to = (limit){.kind = from->kind};
    memcpy(to->axes, axes, sizeof axes);
    if (from->kind == IK_HINGE || from->kind == IK_BALL || from->kind == IK_KUSUDAMA)
        to->ranges[0] = angle_range_of((number)from->twist[0], (number)from->twist[1]);
    if (from->kind == IK_BALL) limit_prepare_swing(to, from);
    if (from->kind == IK_EULER) limit_prepare_euler(to, from, axes);
    if (from->kind == IK_KUSUDAMA) {
        to->cones = ready + from->first_cone, to->cone_count = from->cones;
        kusudama_prepare(ready + from->first_cone, cones + from->first_cone, from->cones);
    }
}

/* The half angle in a range nearest to that of `a`. `a` may have any length and either sign: both are the same
 * rotation. If both bounds are equally near, the upper is returned. */
ik_inline cosine_sine range_nearest(const angle_range *range, cosine_sine a) {
    const real zero = real_splat(0);
    cosine_sine middle = half_angle_splat(range->middle), width = half_angle_splat(range->width);
    cosine_sine off = turn_divide(turn_unit(a), middle);
    mask flip = mask_less(off.cosine, zero);
    real side = real_negate_if(flip, off.sine), cosine = real_abs(off.cosine);
    mask below = mask_less(side, zero) & mask_less(zero, cosine);
    mask outside = mask_less(cosine * width.sine, real_abs(side) * width.cosine);
    cosine_sine bound = {width.cosine, real_negate_if(below, width.sine)};
    return turn_multiply(turn_select(outside, bound, (cosine_sine){cosine, side}), middle);
}

/* --- hinge, ball and kusudama ------------------------------------------------------------------------------------- */

/* The point of an ellipse nearest to (u, v) outside it, as a parameter (x, y): the point is (a x, b y) with
 * x^2 + y^2 = 1. Everything is in the first quadrant, and a <= b. For some t, x = a u / (t + a^2) and
 * y = b v / (t + b^2). Eliminating t gives
 *     y = b v x / (a u + (b^2 - a^2) x).
 * Newton's method solves x^2 + y^2 - 1 = 0 for x^2. The function is linear for a circle and for a line, else concave,
 * so all steps after the first approach the root from below. The start is where y or x is 1. */
ik_inline cosine_sine ellipse_nearest(real u, real v, real a, real b) {
    const real one = real_splat(1), least = real_splat(LEAST_SINE * LEAST_SINE);
    real au = real_max(a * u, least), bv = b * v, d = b * b - a * a;
    real start = au / real_max(bv - d, au), square = start * start, lowest = au * au / (au * au + bv * bv);
    for (int step = 0; step < ELLIPSE_STEPS; step++) {
        real over = one / (au + d * real_sqrt(square)), ratio = bv * over, rr = ratio * ratio;
        square = real_max(square - (square * (one + rr) - one) / (one + rr * (au * over)), lowest);
    }
    real x = real_sqrt(square);
    return turn_unit((cosine_sine){x, bv * x / (au + d * x)});
}

/* A point is outside the cone by about the excess divided by the length of its gradient. */
ik_inline mask swing_outside(real cosine, real u, real v, real u_cotangent, real v_cotangent) {
    real x = u * u_cotangent, y = v * v_cotangent, square = x * x + y * y, size = real_sqrt(square);
    real dx = x * u_cotangent, dy = y * v_cotangent, gradient = real_sqrt(dx * dx + dy * dy + square);
    return mask_less(real_splat(LIMIT_TOLERANCE) * gradient, (size - cosine) * size);
}

/* Leaning towards +y is a rotation about +z; leaning towards +z is a rotation about -y. */
ik_inline half_swing swing_nearest(const limit *l, half_swing s) {
    const real zero = real_splat(0);
    real u = s.lean.sine, v = -s.lean.cosine;
    mask minus_u = mask_less(u, zero), minus_v = mask_less(v, zero);
    real u_cotangent = real_select(minus_u, real_splat(l->cotangents[1]), real_splat(l->cotangents[0]));
    real v_cotangent = real_select(minus_v, real_splat(l->cotangents[3]), real_splat(l->cotangents[2]));
    mask outside = swing_outside(s.cosine, u, v, u_cotangent, v_cotangent);
    if (!mask_any(outside)) return s;

    cosine_sine a = turn_select(minus_u, half_angle_splat(l->swing[1]), half_angle_splat(l->swing[0]));
    cosine_sine b = turn_select(minus_v, half_angle_splat(l->swing[3]), half_angle_splat(l->swing[2]));
    mask swap = mask_less(b.sine, a.sine);
    real small = real_abs(real_select(swap, v, u)), large = real_abs(real_select(swap, u, v));
    cosine_sine at = ellipse_nearest(small, large, real_min(a.sine, b.sine), real_max(a.sine, b.sine));
    real x = real_select(swap, at.sine, at.cosine), y = real_select(swap, at.cosine, at.sine);
    real cosine = turn_length((cosine_sine){a.cosine * x, b.cosine * y});
    cosine_sine lean = {-real_negate_if(minus_v, b.sine * y), real_negate_if(minus_u, a.sine * x)};
    return (half_swing){real_select(outside, cosine, s.cosine), turn_select(outside, lean, s.lean)};
}

ik_inline quat hinge_nearest(const limit *l, quat p) {
    const real zero = real_splat(0);
    cosine_sine twist = range_nearest(&l->ranges[0], (cosine_sine){p.w, p.v.x});
    return (quat){twist.cosine, {twist.sine, zero, zero}};
}

/* The swing of a rotation. After half a turn it has no defined twist and the opposite swing is equivalent: the one
 * towards +y, or +z, is returned. */
ik_inline half_swing swing_of(quat p, cosine_sine twist) {
    const real zero = real_splat(0);
    half_swing s = {turn_length((cosine_sine){p.w, p.v.x}), turn_multiply((cosine_sine){p.v.y, p.v.z}, twist)};
    mask flip = mask_less(s.lean.sine, zero) | (mask_equal(s.lean.sine, zero) & mask_less(zero, s.lean.cosine));
    flip = flip & ~mask_less(real_splat(TINY_TURN), s.cosine);
    s.lean = turn_scale(real_negate_if(flip, real_splat(1)), s.lean);
    return s;
}

ik_inline quat ball_nearest(const limit *l, quat p) {
    cosine_sine twist = turn_unit((cosine_sine){p.w, p.v.x});
    half_swing swing = swing_of(p, twist);
    swing = l->kind == IK_KUSUDAMA ? kusudama_nearest(l, swing) : swing_nearest(l, swing);
    twist = range_nearest(&l->ranges[0], twist);
    cosine_sine along = turn_scale(swing.cosine, twist), across = turn_divide(swing.lean, twist);
    return (quat){along.cosine, {along.sine, across.cosine, across.sine}};
}

/* --- euler box ----------------------------------------------------------------------------------------------------
 *
 * Let f, m, l be complex numbers of length 1: the halves of the outer angle, of a quarter turn minus the middle angle,
 * and of the inner angle. Then (Bernardes and Viollet, as in quat_to_euler)
 *
 *     p = w + y + i (x + z) = sqrt(2) Re(m) f l,   q = w - y + i (x - z) = sqrt(2) Im(m) f / l
 *
 * The closeness of a rotation (p, q) is Re(p / (f l)) Re(m) + Re(q l / f) Im(m). In each of the three angles, given the
 * others, this is a cosine of half of it. The best angle therefore has a closed form, and the best in a range is the
 * allowed angle nearest to it. The nearest rotation in a box is one of these candidates, after every angle is brought
 * into its range:
 *
 *   - the rotation's own two sets of angles;
 *   - the best inner and outer angles for each bound of the middle one;
 *   - the best inner and middle angles for each bound of the outer one, and vice versa;
 *   - the best inner, or outer, angle for each pair of bounds of the other two.
 *
 * Gimbal lock needs no special case: the angle that is free there is used. */
typedef struct {
    cosine_sine p, q;
} turn_pair;

typedef struct {
    cosine_sine outer, middle, inner;
} euler_halves;

/* The nearest rotation yet found. */
typedef struct {
    turn_pair at;
    real distance; /* squared */
} nearest_pair;

ik_inline real pair_distance(turn_pair a, turn_pair b, real sign) {
    real x = a.p.cosine - sign * b.p.cosine, y = a.p.sine - sign * b.p.sine;
    real z = a.q.cosine - sign * b.q.cosine, w = a.q.sine - sign * b.q.sine;
    return (x * x + y * y) + (z * z + w * w);
}

/* Brings all angles into their ranges. The result is kept if it is nearer to `of` than the best yet found. */
ik_outline void euler_consider(const limit *l, const turn_pair *of, const euler_halves *angles, nearest_pair *best) {
    const real root2 = real_splat((number)1.4142135623730950488);
    cosine_sine outer = range_nearest(&l->ranges[0], angles->outer);
    cosine_sine middle = range_nearest(&l->ranges[1], angles->middle);
    cosine_sine inner = range_nearest(&l->ranges[2], angles->inner);
    turn_pair at = {turn_scale(root2 * middle.cosine, turn_multiply(outer, inner)),
                    turn_scale(root2 * middle.sine, turn_divide(outer, inner))};
    real plus = pair_distance(*of, at, real_splat(1)), minus = pair_distance(*of, at, real_splat(-1));
    mask flip = mask_less(minus, plus), nearer = mask_less(real_min(minus, plus), best->distance);
    real sign = real_negate_if(flip, real_splat(1));
    best->at.p = turn_select(nearer, turn_scale(sign, at.p), best->at.p);
    best->at.q = turn_select(nearer, turn_scale(sign, at.q), best->at.q);
    best->distance = real_select(nearer, real_min(minus, plus), best->distance);
}

/* Lanes whose first set of angles is in the box, by more than round-off. The outer and the inner angle are those of p q
 * and of p times the conjugate of q; the cosine of the middle one, as stored, is (|p|^2 - |q|^2) / (|p|^2 + |q|^2). The
 * test therefore takes products alone. */
ik_inline mask range_has(const angle_range *whole, cosine_sine a, real room) {
    const cosine_sine off = turn_divide(a, half_angle_splat(whole->middle));
    const real along = off.cosine * real_splat(whole->width.sine);
    return mask_less(real_abs(off.sine) * real_splat(whole->width.cosine) + room, along);
}

ik_inline mask euler_is_inside(const limit *l, turn_pair of) {
    const real p = of.p.cosine * of.p.cosine + of.p.sine * of.p.sine;
    const real q = of.q.cosine * of.q.cosine + of.q.sine * of.q.sine;
    const real sum = p + q, difference = p - q, room = real_splat(LIMIT_TOLERANCE) * sum;
    const mask above = mask_less(real_splat(l->cosines[0]) * sum + room, difference);
    const mask below = mask_less(difference + room, real_splat(l->cosines[1]) * sum);
    return above & below & range_has(&l->whole[0], turn_multiply(of.p, of.q), room) &
           range_has(&l->whole[1], turn_divide(of.p, of.q), room);
}

/* The best angle given the other two. */
ik_inline cosine_sine best_middle(turn_pair of, cosine_sine outer, cosine_sine inner) {
    return (cosine_sine){turn_divide(of.p, turn_multiply(outer, inner)).cosine,
                         turn_multiply(turn_divide(of.q, outer), inner).cosine};
}
ik_inline cosine_sine best_inner(turn_pair of, cosine_sine outer, cosine_sine middle) {
    return turn_add(turn_scale(middle.cosine, turn_divide(of.p, outer)),
                    turn_conjugate(turn_scale(middle.sine, turn_divide(of.q, outer))));
}
ik_inline cosine_sine best_outer(turn_pair of, cosine_sine inner, cosine_sine middle) {
    return turn_add(turn_scale(middle.cosine, turn_divide(of.p, inner)),
                    turn_scale(middle.sine, turn_multiply(of.q, inner)));
}

/* The outer and inner angles, given the middle one. */
ik_inline euler_halves best_of_middle(turn_pair of, cosine_sine middle) {
    const real zero = real_splat(0);
    cosine_sine sum = turn_unit(turn_scale(real_negate_if(mask_less(middle.cosine, zero), real_splat(1)), of.p));
    cosine_sine difference = turn_unit(turn_scale(real_negate_if(mask_less(middle.sine, zero), real_splat(1)), of.q));
    cosine_sine outer = turn_half(turn_multiply(sum, difference));
    return (euler_halves){outer, middle, turn_divide(sum, outer)};
}

/* The inner and middle angles, given the outer one: the squares add up to a cosine of the whole inner angle. */
ik_inline euler_halves best_of_outer(const limit *l, turn_pair of, cosine_sine outer) {
    cosine_sine p = turn_divide(of.p, outer), q = turn_conjugate(turn_divide(of.q, outer));
    cosine_sine inner = range_nearest(&l->ranges[2], turn_half(turn_add(turn_multiply(p, p), turn_multiply(q, q))));
    return (euler_halves){outer, best_middle(of, outer, inner), inner};
}
ik_inline euler_halves best_of_inner(const limit *l, turn_pair of, cosine_sine inner) {
    cosine_sine p = turn_divide(of.p, inner), q = turn_multiply(of.q, inner);
    cosine_sine outer = range_nearest(&l->ranges[0], turn_half(turn_add(turn_multiply(p, p), turn_multiply(q, q))));
    return (euler_halves){outer, best_middle(of, outer, inner), inner};
}

ik_inline cosine_sine range_bound(const angle_range *range, int upper) {
    cosine_sine width = half_angle_splat(range->width);
    return turn_multiply(upper ? width : turn_conjugate(width), half_angle_splat(range->middle));
}

ik_outline void euler_consider_bounds(const limit *l, const turn_pair *of, nearest_pair *best) {
    for (int i = 0; i < 2; i++) {
        cosine_sine outer = range_bound(&l->ranges[0], i), inner = range_bound(&l->ranges[2], i);
        euler_halves angles = best_of_outer(l, *of, outer);
        euler_consider(l, of, &angles, best);
        angles = best_of_inner(l, *of, inner);
        euler_consider(l, of, &angles, best);
        angles = best_of_middle(*of, range_bound(&l->ranges[1], i));
        euler_consider(l, of, &angles, best);
        for (int k = 0; k < 2; k++) {
            cosine_sine middle = range_bound(&l->ranges[1], k);
            angles = (euler_halves){outer, middle, best_inner(*of, outer, middle)};
            euler_consider(l, of, &angles, best);
            angles = (euler_halves){best_outer(*of, inner, middle), middle, inner};
            euler_consider(l, of, &angles, best);
        }
    }
}

ik_inline quat euler_nearest(const limit *l, turn_pair of, int exactly) {
    const real half = real_splat(0.5f), tolerance = real_splat(LIMIT_TOLERANCE);
    nearest_pair best = {of, real_splat(LARGEST)};
    for (int sign = 1; sign >= -1; sign -= 2) {
        cosine_sine middle = {real_splat((number)sign) * turn_length(of.p), turn_length(of.q)};
        euler_halves angles = best_of_middle(of, middle);
        euler_consider(l, &of, &angles, &best);
        if (!mask_any(~mask_less(best.distance, tolerance * tolerance))) break; /* all are allowed as they are */
        if (!exactly && l->one_set) break;
    }
    if (exactly && mask_any(mask_less(tolerance * tolerance, best.distance))) euler_consider_bounds(l, &of, &best);
    turn_pair at = best.at;
    return (quat){half * (at.p.cosine + at.q.cosine),
                  {half * (at.p.sine + at.q.sine), half * (at.p.cosine - at.q.cosine), half * (at.p.sine - at.q.sine)}};
}

/* --- any kind ----------------------------------------------------------------------------------------------------- */

ik_inline quat limit_nearest(const limit *l, quat q, int exactly) {
    if (l->kind == IK_FREE) return q;
    quat nearest = quat_identity();
    mask inside = mask_splat(0);
    if (l->kind != IK_LOCKED) {
        vec3 x = limit_axis(l, 0), y = limit_axis(l, 1), z = limit_axis(l, 2);
        quat p = {q.w, {vec3_dot(q.v, x), vec3_dot(q.v, y), vec3_dot(q.v, z)}};
        if (l->kind == IK_HINGE) p = hinge_nearest(l, p);
        if (l->kind == IK_BALL || l->kind == IK_KUSUDAMA) p = ball_nearest(l, p);
        if (l->kind == IK_EULER) {
            const turn_pair of = {{p.w + p.v.y, p.v.x + p.v.z}, {p.w - p.v.y, p.v.x - p.v.z}};
            inside = euler_is_inside(l, of);
            if (!mask_any(~inside)) return q;
            p = euler_nearest(l, of, exactly);
        }
        vec3 v = vec3_add(vec3_add(vec3_scale(p.v.x, x), vec3_scale(p.v.y, y)), vec3_scale(p.v.z, z));
        nearest = quat_unit((quat){p.w, v});
    }
    nearest = quat_negate_if(mask_less(quat_dot(nearest, q), real_splat(0)), nearest);
    quat off = {nearest.w - q.w, vec3_sub(nearest.v, q.v)};
    real largest = real_max(real_abs(off.w), vec3_largest(off.v));
    return quat_select(inside | mask_less(largest, real_splat(LIMIT_TOLERANCE)), q, nearest);
}

quat IK_NAME(limit_project)(const limit *l, quat q) { return limit_nearest(l, q, 1); }
quat IK_NAME(limit_clamp)(const limit *l, quat q) { return limit_nearest(l, q, 0); }

/* Violation in radians: the angle from a rotation to its projection. Exactly 0 inside. */
ik_inline real limit_violation(quat q, quat projected) {
    quat off = quat_multiply(quat_conjugate(q), projected);
    real half = real_atan2(vec3_length(off.v), real_abs(off.w));
    return half + half;
}
