/* Quaternions (w, x, y, z) over real, Hamilton: quat_multiply(a, b) applies b first.
 *
 *   quat_multiply conjugate rotate    the usual ones
 *   quat_between_frames               the rotation that takes two perpendicular directions to two others */

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

/* The rotation that takes the unit vectors x0, y0 (at right angles) to x1, y1. Of the four ways to read a quaternion
 * from a matrix (Shepperd 1978) it takes the one with the largest leading term, hence no cancellation at any angle. */
ik_inline quat quat_between_frames(vec3 x0, vec3 y0, vec3 x1, vec3 y1) {
    vec3 z0 = vec3_cross(x0, y0), z1 = vec3_cross(x1, y1);
    real xx = x1.x * x0.x + y1.x * y0.x + z1.x * z0.x, xy = x1.x * x0.y + y1.x * y0.y + z1.x * z0.y;
    real xz = x1.x * x0.z + y1.x * y0.z + z1.x * z0.z, yx = x1.y * x0.x + y1.y * y0.x + z1.y * z0.x;
    real yy = x1.y * x0.y + y1.y * y0.y + z1.y * z0.y, yz = x1.y * x0.z + y1.y * y0.z + z1.y * z0.z;
    real zx = x1.z * x0.x + y1.z * y0.x + z1.z * z0.x, zy = x1.z * x0.y + y1.z * y0.y + z1.z * z0.y;
    real zz = x1.z * x0.z + y1.z * y0.z + z1.z * z0.z;

    real one = real_splat(1), trace = xx + yy + zz;
    quat by_w = {one + trace, {zy - yz, xz - zx, yx - xy}};
    quat by_x = {zy - yz, {one + xx - yy - zz, xy + yx, xz + zx}};
    quat by_y = {xz - zx, {xy + yx, one + yy - xx - zz, yz + zy}};
    quat by_z = {yx - xy, {xz + zx, yz + zy, one + zz - xx - yy}};

    mask x_over_y = mask_less(yy, xx);
    quat by_xy = quat_select(x_over_y, by_x, by_y);
    quat by_xyz = quat_select(mask_less(real_select(x_over_y, xx, yy), zz), by_z, by_xy);
    real largest = real_max(real_max(xx, yy), zz);
    return quat_canonical(quat_select(mask_less(trace, largest), by_xyz, by_w));
}
