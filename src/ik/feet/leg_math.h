/* Vector and quaternion helpers of the foot kernels over `real`, with rotations.h. Zeros of rotations are positive, as
 * in the public functions.
 *
 *   bake_clip share eased             a number within bounds, 0 to 1, and from one of these to the other
 *   bake_over                         a quotient by what may be 0
 *   bake_unit                         a direction
 *   bake_rotate multiply conjugate arc slerp between normalize   rotations; slerp from none */

static const number BAKE_TINY = 1e-12;

ik_inline real bake_clip(real x, real low, real high) { return real_min(real_max(x, low), high); }
ik_inline real bake_share(real x) { return bake_clip(x, real_splat(0), real_splat(1)); }
ik_inline real bake_over(real a, real b) { return a / real_max(b, real_splat(BAKE_TINY)); }
ik_inline real bake_eased(real share) { return share * share * (real_splat(3) - real_splat(2) * share); }

/* Zero has no direction and stays. */
ik_inline vec3 bake_unit(vec3 a) {
    const real length = vec3_length(a);
    const real by = real_select(mask_less(real_splat(0), length), length, real_splat(1));
    return (vec3){a.x / by, a.y / by, a.z / by};
}

ik_inline vec3 bake_rotate(quat q, vec3 a) {
    return vec3_written(quat_rotate(quat_unit(q), a), quat_poison(q) + vec3_poison(a));
}
ik_inline quat bake_multiply(quat a, quat b) {
    return quat_written(quat_multiply(a, b), quat_poison(a) + quat_poison(b));
}
ik_inline quat bake_conjugate(quat q) { return quat_written(quat_conjugate(q), quat_poison(q)); }
ik_inline quat bake_arc(vec3 from, vec3 to) {
    const vec3 none = vec3_sub(from, from); /* zero; of one that it knows gcc 12 takes roots by half a vector */
    return quat_written(quat_shortest_arc(from, to, none), vec3_poison(from) + vec3_poison(to));
}
ik_inline quat bake_slerp(quat q, real share) {
    return quat_written(quat_slerp(quat_identity(), quat_unit(q), share), quat_poison(q) + real_poison(share));
}
ik_inline quat bake_between(quat a, quat b, real share) {
    return quat_written(quat_slerp(quat_unit(a), quat_unit(b), share),
                        quat_poison(a) + quat_poison(b) + real_poison(share));
}
ik_inline quat bake_normalize(quat q) { return quat_written(quat_unit(q), quat_poison(q)); }
