/* 3-vectors over real.
 *
 *   vec3_add sub scale dot cross length select     the usual ones
 *   vec3_largest                                   largest absolute coordinate
 *   vec3_direction                                 unit vector of any vector, however tiny or huge
 *   vec3_perpendicular, vec3_across, vec3_carried  unit vectors at right angles to a given one */

/* A sine below this is rounding: the direction it belongs to is not defined by the data. */
#define TINY_SINE (1024 * EPSILON)

typedef struct {
    real x, y, z;
} vec3;

ik_inline vec3 vec3_splat(number x, number y, number z) { return (vec3){real_splat(x), real_splat(y), real_splat(z)}; }
ik_inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
ik_inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }
ik_inline vec3 vec3_scale(real s, vec3 a) { return (vec3){s * a.x, s * a.y, s * a.z}; }
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

ik_inline real vec3_largest(vec3 a) { return real_max(real_max(real_abs(a.x), real_abs(a.y)), real_abs(a.z)); }

/* A vector as unit direction and length; where it is zero, `unit` is the fallback. */
typedef struct {
    vec3 unit;
    real length;
    mask defined;
} direction;

/* For vectors whose squares neither overflow nor underflow. */
ik_inline direction vec3_direction_near_one(vec3 a, vec3 fallback) {
    real length = vec3_length(a);
    mask defined = mask_less(real_splat(0), length);
    vec3 unit = vec3_scale(real_splat(1) / real_select(defined, length, real_splat(1)), a);
    return (direction){vec3_select(defined, unit, fallback), length, defined};
}

ik_inline direction vec3_direction(vec3 a, vec3 fallback) {
    real scale = real_unit_scale(vec3_largest(a));
    direction scaled = vec3_direction_near_one(vec3_scale(scale, a), fallback);
    scaled.length = scaled.length * real_unit_scale(scale);
    return scaled;
}

/* Some unit vector at right angles to a unit vector, always the same one. */
ik_inline vec3 vec3_perpendicular(vec3 a) {
    real x = real_abs(a.x), y = real_abs(a.y), z = real_abs(a.z);
    mask smallest_x = ~mask_less(y, x) & ~mask_less(z, x);
    mask smallest_y = ~smallest_x & ~mask_less(z, y);
    vec3 zero = vec3_splat(0, 0, 0);
    vec3 of_x = {zero.x, -a.z, a.y}, of_y = {a.z, zero.y, -a.x}, of_z = {-a.y, a.x, zero.z};
    return vec3_direction_near_one(vec3_select(smallest_x, of_x, vec3_select(smallest_y, of_y, of_z)), zero).unit;
}

/* A unit vector that is at right angles to `axis` but for rounding, made exactly so. One Newton step restores its
 * length: it is off by the square of a small angle only. */
ik_inline vec3 vec3_across(vec3 a, vec3 axis) {
    vec3 b = vec3_sub(a, vec3_scale(vec3_dot(a, axis), axis));
    return vec3_scale(real_splat(1.5f) - real_splat(0.5f) * vec3_dot(b, b), b);
}

/* `a`, at right angles to the unit vector `from`, turned along by the shortest arc from `from` to `to`. Where they are
 * opposite the arc may go either way round and `a` itself is the answer: turned half about itself. */
ik_inline vec3 vec3_carried(vec3 a, vec3 from, vec3 to) {
    real closeness = real_splat(1) + vec3_dot(from, to);
    mask opposite = mask_less(closeness, real_splat(TINY_SINE));
    real shear = vec3_dot(a, to) / real_select(opposite, real_splat(1), closeness);
    vec3 turned = vec3_sub(a, vec3_scale(shear, vec3_add(from, to)));
    return vec3_select(opposite, a, turned);
}
