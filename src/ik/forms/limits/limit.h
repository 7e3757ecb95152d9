/* Joint limits: the allowed rotation nearest to a given one. The contract is at ik_limit in ik.h.
 *
 * A rotation q relative to rest is expressed in the limit's own space, where x is the twist axis. Its components form
 * two complex numbers; t and s are half the angles of twist and swing.
 *
 *     w + i x = cos(s) e^(i t),   y + i z = sin(s) e^(i lean) e^(-i t)
 *
 * The twist alone is the direction of the first. Ranges of angles are arcs of half angles, so products compare them.
 * Sines and cosines are computed of the limit only, once, in limit_prepare.
 *
 *   hinge   the nearest twist in the range, no swing
 *   ball    the nearest twist in the range, then the nearest swing in the ellipse through sin(a / 2) on each half axis.
 *           On the sphere of half angles that ellipse is a cone, u^2 cot^2(a / 2) + v^2 cot^2(b / 2) <= cos^2(s), so
 *           no accuracy is lost near half a turn. Equal angles in all directions make it a round cone, and the answer
 *           is exact along the great circle.
 *   euler   the nearest of all rotations in the box, see limit_nearest.h
 *   kusudama   the nearest twist in the range, then the nearest direction of the axis, see limit_kusudama.h
 *
 * All are continuous, except where two answers are equally near. After a swing of half a turn the twist counts as 0.
 * A rotation outside by at most LIMIT_TOLERANCE is unchanged, so a second projection changes no bit. */
#define LIMIT_TOLERANCE (16 * EPSILON)

/* A complex number shorter than this has no defined direction. */
#define TINY_TURN (4 * EPSILON)

/* Cosine and sine of half an angle, or of the whole angle, equal in all lanes. */
typedef struct {
    number cosine, sine;
} half_angle, whole_angle;

/* From middle - width to middle + width; width is half a turn if all angles are allowed. */
typedef struct {
    half_angle middle, width;
} angle_range;

/* One cone of a kusudama and the path to the next one. The path is mirror symmetric about the great circle through the
 * two axes, so one bounding circle is enough. */
typedef struct {
    number axis[3];
    whole_angle angle;
    int joined;            /* 1 if a path exists */
    number frame[3][3];    /* midpoint of the axes, direction from second to first, normal */
    whole_angle centre;    /* of the circle, in the plane of the second and third frame vectors */
    whole_angle radius;    /* of the circle */
    whole_angle direction; /* of the first axis seen from the centre, 0 at the midpoint; not of unit length */
} limit_cone;

/* An ik_limit prepared for projection. */
typedef struct {
    enum ik_limit_kind kind;
    number axes[3][3];     /* x, y, z of the limit's space. EULER: outer, middle, their normal */
    angle_range ranges[3]; /* the first is the twist range. EULER: outer, middle, inner, see limit_prepare_euler */
    angle_range whole[2];  /* EULER: the ranges of the outer and the inner angle in whole angles, not halves */
    number cosines[2];     /* EULER: of the range of the middle angle, as stored; for the test of euler_is_inside */
    int one_set;           /* EULER: the middle range is within a quarter turn either way */
    half_angle swing[4];   /* BALL: towards +y, -y, +z, -z */
    number cotangents[4];  /* of the half angles in `swing` */
    const limit_cone *cones;
    int cone_count; /* KUSUDAMA */
} limit;

/* True if a range allows every angle: a whole turn, except for round-off. */
ik_inline int range_is_whole(number low, number high) { return high - low > 8 * eighth_turn[0] - LIMIT_TOLERANCE; }

/* --- half angles -------------------------------------------------------------------------------------------------- */

ik_inline cosine_sine half_angle_splat(half_angle a) { return (cosine_sine){real_splat(a.cosine), real_splat(a.sine)}; }
ik_inline cosine_sine turn_conjugate(cosine_sine a) { return (cosine_sine){a.cosine, -a.sine}; }
ik_inline cosine_sine turn_multiply(cosine_sine a, cosine_sine b) {
    return (cosine_sine){a.cosine * b.cosine - a.sine * b.sine, a.sine * b.cosine + a.cosine * b.sine};
}
/* a times the conjugate of b: the angle from b to a. */
ik_inline cosine_sine turn_divide(cosine_sine a, cosine_sine b) { return turn_multiply(a, turn_conjugate(b)); }
ik_inline cosine_sine turn_add(cosine_sine a, cosine_sine b) {
    return (cosine_sine){a.cosine + b.cosine, a.sine + b.sine};
}
ik_inline cosine_sine turn_scale(real s, cosine_sine a) { return (cosine_sine){s * a.cosine, s * a.sine}; }
ik_inline cosine_sine turn_select(mask choose, cosine_sine a, cosine_sine b) {
    return (cosine_sine){real_select(choose, a.cosine, b.cosine), real_select(choose, a.sine, b.sine)};
}
ik_inline real turn_length(cosine_sine a) { return real_sqrt(a.cosine * a.cosine + a.sine * a.sine); }

/* Scaled to length 1; angle 0 if its length is round-off. */
ik_inline cosine_sine turn_unit(cosine_sine a) {
    const real one = real_splat(1);
    real length = turn_length(a);
    mask defined = mask_less(real_splat(TINY_TURN), length);
    cosine_sine unit = turn_scale(one / real_select(defined, length, one), a);
    return turn_select(defined, unit, (cosine_sine){one, real_splat(0)});
}

/* Half of an angle: the direction midway between a and 1, computed from the sum that does not cancel. */
ik_inline cosine_sine turn_half(cosine_sine a) {
    real length = turn_length(a), zero = real_splat(0);
    mask backwards = mask_less(a.cosine, zero);
    real along = length + real_abs(a.cosine), across = real_abs(a.sine);
    cosine_sine half = {real_select(backwards, across, along), real_select(backwards, along, across)};
    return turn_unit((cosine_sine){half.cosine, real_negate_if(mask_less(a.sine, zero), half.sine)});
}

ik_inline vec3 limit_axis(const limit *l, int i) { return vec3_splat(l->axes[i][0], l->axes[i][1], l->axes[i][2]); }

/* --- compiled with the closed forms ------------------------------------------------------------------------------- */

/* `cones` are those of the skeleton. `ready` receives the prepared cones at the same indices. */
ik_hidden void IK_NAME(limit_prepare)(limit *to, const ik_limit *from, const ik_cone *cones, limit_cone *ready);

/* The nearest allowed rotation to the unit quaternion q. Both are relative to rest and have the same sign: the identity
 * is returned with w of the sign of q's w. */
ik_hidden quat IK_NAME(limit_project)(const limit *l, quat q);

/* A fast approximation for iterations. Euler box: the rotation has two sets of angles; each is moved into its ranges,
 * and the nearer rotation is returned. If the middle range is within a quarter turn either way, only the set there is
 * moved. All other kinds: limit_project. */
ik_hidden quat IK_NAME(limit_clamp)(const limit *l, quat q);
