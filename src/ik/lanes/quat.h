/* Quaternions (w, x, y, z) over real, Hamilton: quat_multiply(a, b) applies b first.
 *
 *   quat_multiply conjugate rotate    the usual operations
 *   quat_canonical                    unit length, w >= 0
 *   mat3, mat3_apply, mat3_unapply    a rotation matrix, and its inverse
 *   mat3_zero add scale outer         any matrix
 *   mat3_between_frames               the rotation that takes two perpendicular directions to two others
 *   quat_of_matrix
 *   quat_about                        the rotation about an axis by an angle of given cosine and sine
 *   quat_of_vector                    the rotation by a rotation vector, with the angle clamped
 *   quat_arc                          the shortest rotation from one direction to another */

typedef struct {
    real w;
    vec3 v;
} quat;

ik_inline quat quat_identity(void) { return (quat){real_splat(1), vec3_splat(0, 0, 0)}; }
ik_inline quat quat_conjugate(quat a) { return (quat){a.w, {-a.v.x, -a.v.y, -a.v.z}}; }
ik_inline quat quat_select(mask choose, quat a, quat b) {
    return (quat){real_select(choose, a.w, b.w), vec3_select(choose, a.v, b.v)};
}

ik_inline quat quat_multiply(quat a, quat b) {
    vec3 v = vec3_add(vec3_add(vec3_scale(a.w, b.v), vec3_scale(b.w, a.v)), vec3_cross(a.v, b.v));
    return (quat){a.w * b.w - vec3_dot(a.v, b.v), v};
}

ik_inline vec3 quat_rotate(quat q, vec3 a) {
    vec3 t = vec3_cross(q.v, a);
    t = vec3_add(t, t);
    return vec3_add(a, vec3_add(vec3_scale(q.w, t), vec3_cross(q.v, t)));
}

/* The same rotation with unit length and w >= 0: the shorter way round. */
ik_inline quat quat_canonical(quat q) {
    real inverse = real_splat(1) / real_sqrt(q.w * q.w + vec3_dot(q.v, q.v));
    inverse = real_negate_if(mask_less(q.w, real_splat(0)), inverse);
    return (quat){inverse * q.w, vec3_scale(inverse, q.v)};
}

/* A matrix by its rows. */
typedef struct {
    vec3 x, y, z;
} mat3;

ik_inline vec3 mat3_apply(mat3 m, vec3 a) { return (vec3){vec3_dot(m.x, a), vec3_dot(m.y, a), vec3_dot(m.z, a)}; }
ik_inline vec3 mat3_unapply(mat3 m, vec3 a) {
    return vec3_add(vec3_add(vec3_scale(a.x, m.x), vec3_scale(a.y, m.y)), vec3_scale(a.z, m.z));
}

ik_inline mat3 mat3_zero(void) { return (mat3){vec3_splat(0, 0, 0), vec3_splat(0, 0, 0), vec3_splat(0, 0, 0)}; }
ik_inline mat3 mat3_add(mat3 a, mat3 b) { return (mat3){vec3_add(a.x, b.x), vec3_add(a.y, b.y), vec3_add(a.z, b.z)}; }
ik_inline mat3 mat3_scale(real s, mat3 m) { return (mat3){vec3_scale(s, m.x), vec3_scale(s, m.y), vec3_scale(s, m.z)}; }
/* a b^T. */
ik_inline mat3 mat3_outer(vec3 a, vec3 b) { return (mat3){vec3_scale(a.x, b), vec3_scale(a.y, b), vec3_scale(a.z, b)}; }

/* The rotation that takes the unit vectors x0, y0 (at right angles) to x1, y1. */
ik_inline mat3 mat3_between_frames(vec3 x0, vec3 y0, vec3 x1, vec3 y1) {
    vec3 z0 = vec3_cross(x0, y0), z1 = vec3_cross(x1, y1);
    return (mat3){vec3_add(vec3_add(vec3_scale(x1.x, x0), vec3_scale(y1.x, y0)), vec3_scale(z1.x, z0)),
                  vec3_add(vec3_add(vec3_scale(x1.y, x0), vec3_scale(y1.y, y0)), vec3_scale(z1.y, z0)),
                  vec3_add(vec3_add(vec3_scale(x1.z, x0), vec3_scale(y1.z, y0)), vec3_scale(z1.z, z0))};
}

/* There are four ways to read a quaternion from a matrix (Shepperd 1978). The one with the largest leading term is
 * used, so nothing cancels at any angle. */
ik_inline quat quat_of_matrix(mat3 m) {
    real one = real_splat(1), trace = m.x.x + m.y.y + m.z.z;
    vec3 difference = {m.z.y - m.y.z, m.x.z - m.z.x, m.y.x - m.x.y};
    vec3 sum = {m.z.y + m.y.z, m.x.z + m.z.x, m.y.x + m.x.y};
    quat by_w = {one + trace, difference};
    quat by_x = {difference.x, {one + m.x.x - m.y.y - m.z.z, sum.z, sum.y}};
    quat by_y = {difference.y, {sum.z, one + m.y.y - m.x.x - m.z.z, sum.x}};
    quat by_z = {difference.z, {sum.y, sum.x, one + m.z.z - m.x.x - m.y.y}};

    mask x_over_y = mask_less(m.y.y, m.x.x);
    real larger = real_select(x_over_y, m.x.x, m.y.y);
    mask z_over_both = mask_less(larger, m.z.z);
    real largest = real_select(z_over_both, m.z.z, larger);
    quat by_axis = quat_select(z_over_both, by_z, quat_select(x_over_y, by_x, by_y));
    return quat_canonical(quat_select(mask_less(trace, largest), by_axis, by_w));
}

/* The rotation about the unit vector `axis` by the angle with this cosine and sine. The half angle is computed from
 * whichever of the two does not cancel. */
ik_inline quat quat_about(real cosine, real sine, vec3 axis) {
    real zero = real_splat(0);
    mask acute = mask_less(zero, cosine), backwards = mask_less(sine, zero);
    real along = real_splat(1) + real_abs(cosine), across = real_abs(sine);
    real w = real_select(acute, along, across), v = real_select(acute, across, along);
    real inverse = real_splat(1) / real_sqrt(w * w + v * v);
    return (quat){inverse * w, vec3_scale(real_negate_if(backwards, inverse * v), axis)};
}

/* The rotation about vector v by its length in radians, at most `most`. */
ik_inline quat quat_of_vector(vec3 v, real most) {
    const real half = real_splat(0.5f);
    real angle = vec3_length(v);
    cosine_sine at = real_sincos(half * real_min(angle, most));
    return (quat){at.cosine, vec3_scale(at.sine / (angle + real_splat(TINY_LENGTH)), v)};
}

/* The shortest rotation from the unit vector `from` to `to`. Beyond a right angle, it first turns by half a turn about
 * `axis`, which should be perpendicular to both. The remaining arc is then below a right angle. Nearly opposite vectors
 * lose no accuracy, and exactly opposite ones have a defined answer. */
ik_inline quat quat_arc(vec3 from, vec3 to, vec3 axis) {
    mask beyond = mask_less(vec3_dot(from, to), real_splat(0));
    real along = vec3_dot(axis, from);
    vec3 turned = vec3_sub(vec3_scale(along + along, axis), from);
    vec3 near = vec3_select(beyond, turned, from);
    quat rest = {real_splat(1) + vec3_dot(near, to), vec3_cross(near, to)};
    quat both = {-vec3_dot(rest.v, axis), vec3_add(vec3_scale(rest.w, axis), vec3_cross(rest.v, axis))};
    return quat_canonical(quat_select(beyond, both, rest));
}

/* Part of a rotation with w >= 0: normalised linear interpolation from the identity, weight in [0, 1]. */
ik_inline quat quat_weighted(quat q, real weight) {
    return quat_canonical((quat){real_splat(1) - weight + weight * q.w, vec3_scale(weight, q.v)});
}

/* Rotates a vector about a unit vector perpendicular to it. The angle is in radians. */
ik_inline vec3 vec3_turned(vec3 a, vec3 axis, real angle) {
    cosine_sine turn = real_sincos(angle);
    return vec3_add(vec3_scale(turn.cosine, a), vec3_scale(turn.sine, vec3_cross(axis, a)));
}
