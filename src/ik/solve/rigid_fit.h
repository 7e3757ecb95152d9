/* Rigid fit: a body whose points, relative to its centre of rotation, and rotations are pulled to targets. Everything
 * reduces to one 3 x 3 matrix, which gives the best turn: about a given axis directly, in general by steps. (The polar
 * factor of the matrix, as in W. Kabsch, "A solution for the best rotation to relate two sets of vectors", Acta
 * Crystallographica A32 (1976); for a single point a step is exact.) */

/* The pull at a body: the sum of weight * a b^T, where a is pulled to b. A column for each coordinate of b. */
typedef struct {
    vec3 x, y, z;
} pull;

/* A sum that is a smaller share of its parts counts as rounding. */
#define PULL_ROUNDING (number)(256 * EPSILON)

/* The axis of a torque: none for one so small that its square underflows, as the axis would be far longer than 1. */
ik_inline direction pull_axis(vec3 torque) {
    direction axis = vec3_direction(torque);
    axis.unit = vec3_select(mask_less(real_splat(0), axis.length), axis.unit, vec3_splat(0, 0, 0));
    return axis;
}

ik_inline pull pull_none(void) { return (pull){vec3_splat(0, 0, 0), vec3_splat(0, 0, 0), vec3_splat(0, 0, 0)}; }

ik_inline void pull_add(pull *s, real weight, vec3 a, vec3 b) {
    a = vec3_scale(weight, a);
    s->x = vec3_add(s->x, vec3_scale(b.x, a));
    s->y = vec3_add(s->y, vec3_scale(b.y, a));
    s->z = vec3_add(s->z, vec3_scale(b.z, a));
}

ik_inline vec3 pull_torque(const pull *s) { return (vec3){s->z.y - s->y.z, s->x.z - s->z.x, s->y.x - s->x.y}; }

/* A rotation that is pulled to another one. */
ik_inline void pull_add_rotation(pull *s, real weight, quat from, quat to) {
    mat3 a = mat3_of_quat(from), b = mat3_of_quat(to); /* their columns are the axes */
    pull_add(s, weight, (vec3){a.x.x, a.y.x, a.z.x}, (vec3){b.x.x, b.y.x, b.z.x});
    pull_add(s, weight, (vec3){a.x.y, a.y.y, a.z.y}, (vec3){b.x.y, b.y.y, b.z.y});
    pull_add(s, weight, (vec3){a.x.z, a.y.z, a.z.z}, (vec3){b.x.z, b.y.z, b.z.z});
}

/* The best turn about the axis of `torque`; `along` is the sum of all dot products in the plane at right angles to it.
 * Without a torque and beyond a right angle, about an axis across `bone`. */
ik_inline quat pull_turn_by(vec3 torque, real along, vec3 bone) {
    const real zero = real_splat(0), least = real_splat(TINY_LENGTH);
    real across = vec3_length(torque), size = real_sqrt(across * across + along * along);
    mask beyond = mask_less(along, zero);
    quat turn = {size + real_abs(along) + least, torque};
    if (mask_any(beyond)) {
        direction axis = pull_axis(torque);
        mask opposite = ~mask_less(real_splat(TINY_SINE) * size, across); /* also if squares underflow */
        axis.unit = vec3_select(opposite, vec3_perpendicular(vec3_direction(bone).unit), axis.unit);
        turn = quat_select(beyond, (quat){across, vec3_scale(turn.w, axis.unit)}, turn);
    }
    return quat_scale(real_splat(1) / real_sqrt(quat_dot(turn, turn)), turn);
}

/* The sum of the dot products at right angles to a unit vector. */
ik_inline real pull_along(const pull *s, vec3 axis) {
    vec3 about = {vec3_dot(s->x, axis), vec3_dot(s->y, axis), vec3_dot(s->z, axis)};
    return s->x.x + s->y.y + s->z.z - vec3_dot(about, axis);
}

/* Updates the pull after the body has turned. */
ik_inline pull pull_turned(quat by, const pull *s) {
    return (pull){quat_rotate(by, s->x), quat_rotate(by, s->y), quat_rotate(by, s->z)};
}

/* The change of the sum of dot products by a turn. */
ik_inline real pull_gain(const pull *s, quat turn) {
    pull after = pull_turned(turn, s);
    real sum = s->x.x + s->y.y + s->z.z;
    return after.x.x + after.y.y + after.z.z - sum;
}

/* Whether a turn brings the body nearer. Distances from the centre do not change, so the sum of dot products has to
 * grow. An angle off the best turn reduces the sum by its square. For angles below the square root of its rounding
 * error the sum therefore says nothing, and the turn is accepted. */
ik_inline mask pull_is_nearer(const pull *s, quat turn) {
    real gain = pull_gain(s, turn);
    real rounding = real_splat(4 * EPSILON) * (vec3_size(s->x) + vec3_size(s->y) + vec3_size(s->z));
    mask small = mask_less(vec3_dot(turn.v, turn.v), real_splat(64 * EPSILON));
    return mask_less(real_splat(0), gain) | (small & mask_less(-rounding, gain));
}

/* The decrease of the torque along v by a small turn u. */
ik_inline real pull_stiffness(const pull *s, vec3 u, vec3 v) {
    vec3 su = vec3_add(vec3_add(vec3_scale(u.x, s->x), vec3_scale(u.y, s->y)), vec3_scale(u.z, s->z));
    vec3 sv = vec3_add(vec3_add(vec3_scale(v.x, s->x), vec3_scale(v.y, s->y)), vec3_scale(v.z, s->z));
    real sum = s->x.x + s->y.y + s->z.z;
    return sum * vec3_dot(u, v) - real_splat((number)0.5) * (vec3_dot(v, su) + vec3_dot(u, sv));
}

/* After a small turn `from`, the best small turn x a + y b. A little damping gives an answer where a and b are
 * parallel, or along a direction without effect. */
ik_inline vec3 pull_best_in_plane(const pull *s, vec3 from, vec3 a, vec3 b) {
    vec3 torque = pull_torque(s);
    real x = vec3_dot(torque, a) - pull_stiffness(s, from, a), y = vec3_dot(torque, b) - pull_stiffness(s, from, b);
    real aa = pull_stiffness(s, a, a), ab = pull_stiffness(s, a, b), bb = pull_stiffness(s, b, b);
    real least = real_splat((number)1e-6) * (real_abs(aa) + real_abs(bb)) + real_splat(TINY_LENGTH);
    aa = real_max(aa, real_splat(0)) + least, bb = real_max(bb, real_splat(0)) + least;
    real over = real_splat(1) / real_max(aa * bb - ab * ab, least * least);
    return vec3_add(vec3_scale(over * (bb * x - ab * y), a), vec3_scale(over * (aa * y - ab * x), b));
}

/* One step towards the best turn: about the axis of the torque, by the best angle. */
ik_inline quat pull_turn(const pull *s, vec3 bone) {
    vec3 torque = pull_torque(s);
    return pull_turn_by(torque, pull_along(s, pull_axis(torque).unit), bone);
}

/* The best turn about a unit vector; none if the whole body lies along it, so that only rounding would decide. */
ik_inline quat pull_turn_about(const pull *s, vec3 axis) {
    real sine = vec3_dot(pull_torque(s), axis), cosine = pull_along(s, axis);
    real least = real_splat(PULL_ROUNDING) * (vec3_size(s->x) + vec3_size(s->y) + vec3_size(s->z));
    mask none = mask_less(real_abs(sine) + real_abs(cosine), least);
    sine = real_select(none, real_splat(0), sine), cosine = real_select(none, real_splat(1), cosine);
    return pull_turn_by(vec3_scale(sine, axis), cosine, vec3_perpendicular(axis));
}
