/* Kusudamas (Egan Jones, Everything Will Be IK): the allowed directions of a joint's axis are a sequence of cones.
 * Paths join neighbouring cones. A direction is judged by its angles to the centres of circles.
 *
 * Let the axes of two cones be at a half angle h to each side of their midpoint m. The direction from the second axis
 * to the first is p, and n is the normal. The angles of the cones are a and b. A circle of radius r = (pi - a - b) / 2
 * that touches both is a + r from the first axis and b + r from the second. These add up to half a turn, so its centre
 * t is a quarter turn from m:
 *
 *     t = tp p + tn n,   tp = sin((b - a) / 2) / sin(h),   tp^2 + tn^2 = 1
 *
 * There is one circle for either sign of tn. Seen from t, let m be ahead and k = tn p - tp n to the side. The axes are
 * then in the directions (cos(h), sin(h) tn) and (cos(h), -sin(h) tn). Consider the sector between these, on the
 * circle's side of the great circle through both axes. It holds the part of the circle that is not allowed, and beyond
 * it the path.
 *
 * For a direction outside, the nearest one inside is the nearest point on the edge of a cone. Inside the forbidden part
 * of a circle, it may also be straight away from t. An edge that ends continues as the edge of a cone, so all
 * candidates are tried and the nearest is taken. */

/* Half a swing: its cosine, and its sine times the direction of y + i z. */
typedef struct {
    real cosine;
    cosine_sine lean;
} half_swing;

/* --- once for a limit --------------------------------------------------------------------------------------------- */

ik_inline number number_of(real x) {
    number first;
    memcpy(&first, &x, sizeof first);
    return first;
}

ik_inline half_angle half_angle_of(number angle) {
    cosine_sine half = real_sincos(real_splat((number)0.5 * angle));
    return (half_angle){number_of(half.cosine), number_of(half.sine)};
}

ik_inline void numbers_of(vec3 v, number to[3]) {
    to[0] = number_of(v.x), to[1] = number_of(v.y), to[2] = number_of(v.z);
}
ik_inline whole_angle whole_angle_of(cosine_sine a) { return (whole_angle){number_of(a.cosine), number_of(a.sine)}; }

ik_inline vec3 cone_axis(const ik_cone *cone) {
    vec3 axis = vec3_of(cone->axis);
    return vec3_direction(vec3_scale(real_unit_scale(vec3_size(axis)), axis)).unit;
}

/* A path exists if a circle can touch both cones and neither cone contains the other. */
static void kusudama_prepare_path(limit_cone *to, const ik_cone *first, const ik_cone *second) {
    vec3 a = cone_axis(first), b = cone_axis(second);
    direction sum = vec3_direction(vec3_add(a, b)), difference = vec3_direction(vec3_sub(a, b));
    mask opposite = mask_less(sum.length, real_splat(TINY_SINE));
    vec3 middle = vec3_select(opposite, vec3_perpendicular(difference.unit), sum.unit);
    number cosine = number_of(sum.length) / 2, sine = number_of(difference.length) / 2;
    half_angle wider = half_angle_of((number)(second->angle - first->angle));
    half_angle together = half_angle_of((number)(second->angle + first->angle));
    to->joined = wider.sine < sine && -wider.sine < sine && together.cosine > 0;
    if (!to->joined) return;
    number along = wider.sine / sine;
    to->centre = (whole_angle){along, number_of(real_sqrt(real_splat(1 - along * along)))};
    to->radius = (whole_angle){together.sine, together.cosine};
    to->direction = (whole_angle){cosine, sine * to->centre.sine};
    numbers_of(middle, to->frame[0]);
    numbers_of(difference.unit, to->frame[1]);
    numbers_of(vec3_cross(middle, difference.unit), to->frame[2]);
}

static void kusudama_prepare(limit_cone *to, const ik_cone *from, int count) {
    for (int i = 0; i < count; i++) {
        to[i] = (limit_cone){.angle = whole_angle_of(real_sincos(real_splat((number)from[i].angle)))};
        numbers_of(cone_axis(&from[i]), to[i].axis);
        if (i + 1 < count) kusudama_prepare_path(&to[i], &from[i], &from[i + 1]);
    }
}

/* --- a direction -------------------------------------------------------------------------------------------------- */

/* The nearest direction yet found, its distance, and the lanes whose direction is allowed already. */
typedef struct {
    vec3 at;
    real distance;
    mask allowed;
} nearest_direction;

ik_inline vec3 vec3_of_numbers(const number v[3]) { return vec3_splat(v[0], v[1], v[2]); }

/* Signed distance of a point beyond the edge of a circle, from the angles of both to its centre. The tangent of half
 * the difference keeps its resolution for near and far points. */
ik_inline real circle_excess(cosine_sine at, cosine_sine edge) {
    const real zero = real_splat(0);
    cosine_sine off = turn_divide(at, edge);
    mask far = mask_less(off.cosine, zero);
    real along = real_splat(1) + real_abs(off.cosine), across = real_abs(off.sine);
    real size = real_select(far, along, across) / real_select(far, real_max(across, real_splat(TINY_LENGTH)), along);
    mask inside = mask_select(far, ~mask_less(at.cosine, edge.cosine), mask_less(off.sine, zero));
    return real_negate_if(inside, size);
}

ik_inline void nearest_consider(nearest_direction *nearest, vec3 at, real distance, mask chosen) {
    chosen &= mask_less(distance, nearest->distance);
    nearest->at = vec3_select(chosen, at, nearest->at);
    nearest->distance = real_select(chosen, distance, nearest->distance);
}

/* The nearest direction in a cone. From opposite its axis, all directions are equally near; a fixed one is used. */
ik_inline void cone_consider(const limit_cone *cone, vec3 towards, nearest_direction *nearest) {
    const real tolerance = real_splat(LIMIT_TOLERANCE);
    vec3 axis = vec3_of_numbers(cone->axis);
    direction normal = vec3_direction(vec3_cross(axis, towards));
    vec3 side = vec3_cross(normal.unit, axis);
    side = vec3_select(mask_less(normal.length, real_splat(TINY_TURN)), vec3_perpendicular(axis), side);
    cosine_sine edge = half_angle_splat(cone->angle);
    real excess = circle_excess((cosine_sine){vec3_dot(axis, towards), normal.length}, edge);
    vec3 at = vec3_add(vec3_scale(edge.cosine, axis), vec3_scale(edge.sine, side));
    nearest_consider(nearest, at, excess, ~mask_splat(0));
    nearest->allowed |= ~mask_less(tolerance, excess);
}

ik_inline void path_consider(const limit_cone *cone, vec3 towards, nearest_direction *nearest) {
    const real zero = real_splat(0), tolerance = real_splat(LIMIT_TOLERANCE);
    vec3 middle = vec3_of_numbers(cone->frame[0]), p = vec3_of_numbers(cone->frame[1]);
    vec3 n = vec3_of_numbers(cone->frame[2]);
    cosine_sine centre = half_angle_splat(cone->centre), edge = half_angle_splat(cone->radius);
    cosine_sine last = half_angle_splat(cone->direction);
    real across = vec3_dot(n, towards);
    mask mirrored = mask_less(across, zero);
    cosine_sine off = turn_divide(centre, (cosine_sine){vec3_dot(p, towards), real_abs(across)});
    cosine_sine way = {vec3_dot(middle, towards), off.sine};
    mask between = ~mask_less(way.cosine * last.sine, real_abs(way.sine) * last.cosine);
    real excess = circle_excess((cosine_sine){off.cosine, turn_length(way)}, edge);
    mask free = ~mask_less(excess, -tolerance);
    way = turn_scale(edge.sine, turn_unit(way));
    cosine_sine flat = turn_multiply(centre, (cosine_sine){edge.cosine, -way.sine});
    vec3 at = vec3_add(vec3_scale(way.cosine, middle), vec3_scale(flat.cosine, p));
    at = vec3_add(at, vec3_scale(real_negate_if(mirrored, flat.sine), n));
    nearest_consider(nearest, at, -excess, between & ~free);
    nearest->allowed |= between & free;
}

/* The swing that takes x to a direction; half a turn goes towards +y. */
ik_inline half_swing swing_to(vec3 towards) {
    cosine_sine side = {towards.y, towards.z};
    cosine_sine half = turn_half((cosine_sine){towards.x, turn_length(side)});
    side = turn_unit(side);
    return (half_swing){half.cosine, {-half.sine * side.sine, half.sine * side.cosine}};
}

ik_outline half_swing kusudama_nearest(const limit *l, half_swing s) {
    real y = s.lean.cosine, z = s.lean.sine, twice = s.cosine + s.cosine;
    vec3 towards = {s.cosine * s.cosine - (y * y + z * z), twice * z, -twice * y};
    nearest_direction nearest = {towards, real_splat(LARGEST), mask_splat(0)};
    for (int i = 0; i < l->cone_count; i++) {
        cone_consider(&l->cones[i], towards, &nearest);
        if (l->cones[i].joined) path_consider(&l->cones[i], towards, &nearest);
    }
    half_swing to = swing_to(nearest.at);
    return (half_swing){real_select(nearest.allowed, s.cosine, to.cosine),
                        turn_select(nearest.allowed, s.lean, to.lean)};
}
