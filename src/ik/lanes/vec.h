/* 3-vectors over real.
 *
 *   vec3_add sub scale dot cross length select     the usual operations
 *   vec3_size                                      sum of absolute coordinates
 *   vec3_cut                                       the vector, shortened to a largest length
 *   vec3_direction                                 unit vector and length
 *   vec3_perpendicular, vec3_across, vec3_carried  unit vectors perpendicular to a given one */

/* A sine below this is round-off: the data do not define its direction. */
#define TINY_SINE   (1024 * EPSILON)
#define TINY_LENGTH 0x1p-60f

typedef struct {
    real x, y, z;
} vec3;

ik_inline vec3 vec3_splat(number x, number y, number z) { return (vec3){real_splat(x), real_splat(y), real_splat(z)}; }
ik_inline vec3 vec3_of(const double v[3]) { return vec3_splat((number)v[0], (number)v[1], (number)v[2]); }
ik_inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
ik_inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }
ik_inline vec3 vec3_scale(real s, vec3 a) { return (vec3){s * a.x, s * a.y, s * a.z}; }
ik_inline vec3 vec3_multiply(vec3 a, vec3 b) { return (vec3){a.x * b.x, a.y * b.y, a.z * b.z}; }
ik_inline real vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
ik_inline real vec3_length(vec3 a) { return real_sqrt(vec3_dot(a, a)); }

ik_inline vec3 vec3_cross(vec3 a, vec3 b) {
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

ik_inline vec3 vec3_select(mask choose, vec3 a, vec3 b) {
    return (vec3){real_select(choose, a.x, b.x), real_select(choose, a.y, b.y), real_select(choose, a.z, b.z)};
}

ik_inline mask vec3_is_finite(vec3 a) { return mask_is_finite(a.x) & mask_is_finite(a.y) & mask_is_finite(a.z); }

ik_inline vec3 vec3_canonical_nan(vec3 a) {
    return (vec3){real_canonical_nan(a.x), real_canonical_nan(a.y), real_canonical_nan(a.z)};
}

/* Sum of absolute coordinates: a size that does not underflow, used for scaling. */
ik_inline real vec3_size(vec3 a) { return real_abs(a.x) + real_abs(a.y) + real_abs(a.z); }

/* The vector, shortened to length `most` if it is longer. */
ik_inline vec3 vec3_cut(vec3 v, real most) {
    real length = vec3_length(v);
    return vec3_scale(real_min(real_splat(1), most / (length + real_splat(TINY_LENGTH))), v);
}

/* A vector as unit direction and length, for sizes near 1. A vector below TINY_LENGTH counts as zero because its square
 * is close to underflow. The unit direction of zero is zero. */
typedef struct {
    vec3 unit;
    real length, inverse;
} direction;

ik_inline direction vec3_direction(vec3 a) {
    real length = vec3_length(a), inverse = real_splat(1) / (length + real_splat(0x1p-120f));
    return (direction){vec3_scale(inverse, a), length, inverse};
}

/* A unit vector perpendicular to a unit vector, always the same one (Duff et al., "Building an orthonormal basis,
 * revisited", 2017). */
ik_inline vec3 vec3_perpendicular(vec3 a) {
    real t = a.x / (real_splat(1) + real_abs(a.z));
    return (vec3){real_splat(1) - t * a.x, -t * a.y, real_negate_if(~mask_less(a.z, real_splat(0)), a.x)};
}

/* Makes a unit vector exactly perpendicular to the unit vector `axis`, given that it is so except for round-off. */
ik_inline vec3 vec3_across(vec3 a, vec3 axis) {
    real off = vec3_dot(a, axis); /* small, so the first-order term approximates 1 / sqrt(1 - off^2): */
    return vec3_scale(real_splat(1) + real_splat(0.5f) * (off * off), vec3_sub(a, vec3_scale(off, axis)));
}

/* Rotates `a` by the shortest arc from the unit vector `from` to `to`; `a` is perpendicular to `from`. If these are
 * opposite, the arc is ambiguous: half a turn about `a` is used, which leaves `a` unchanged. */
ik_inline vec3 vec3_carried(vec3 a, vec3 from, vec3 to) {
    real closeness = real_splat(1) + vec3_dot(from, to);
    mask opposite = mask_less(closeness, real_splat(TINY_SINE));
    real shear = vec3_dot(a, to) / real_select(opposite, real_splat(1), closeness);
    vec3 turned = vec3_sub(a, vec3_scale(shear, vec3_add(from, to)));
    return vec3_direction(vec3_select(opposite, a, turned)).unit; /* round-off is amplified near opposite directions */
}
