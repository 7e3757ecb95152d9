/* A rival for benchmarks/run.py: the limb of two bones as it is usually written, with angles. One item at a time, law
 * of cosines by acos, each turn as axis and angle, pole by atan2, results in the meaning of ik_two_bone_job (ik.h).
 * Compiled once with -DNUMBER=float and once with -DNUMBER=double; <tgmath.h> takes the functions of that type. */
#include <stddef.h>
#include <stdint.h>
#include <tgmath.h>

typedef NUMBER number;
typedef struct {
    number x, y, z;
} vec;
typedef struct {
    number w;
    vec v;
} quat;

static vec add(vec a, vec b) { return (vec){a.x + b.x, a.y + b.y, a.z + b.z}; }
static vec sub(vec a, vec b) { return (vec){a.x - b.x, a.y - b.y, a.z - b.z}; }
static vec scale(number s, vec a) { return (vec){s * a.x, s * a.y, s * a.z}; }
static number dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static number length(vec a) { return sqrt(dot(a, a)); }
static vec unit(vec a) { return scale(1 / fmax(length(a), (number)1e-20), a); }
static vec cross(vec a, vec b) { return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static number clamp(number x, number low, number high) { return fmin(fmax(x, low), high); }
static number angle_of(number cosine) { return acos(clamp(cosine, -1, 1)); }
/* The angle between the sides a and b of a triangle with the third side c. */
static number corner(number a, number b, number c) { return angle_of((a * a + b * b - c * c) / (2 * a * b)); }

static quat about(vec axis, number angle) { return (quat){cos(angle / 2), scale(sin(angle / 2), axis)}; }
static quat multiply(quat a, quat b) {
    vec v = add(add(scale(a.w, b.v), scale(b.w, a.v)), cross(a.v, b.v));
    return (quat){a.w * b.w - dot(a.v, b.v), v};
}
static vec rotate(quat q, vec a) {
    vec t = scale(2, cross(q.v, a));
    return add(a, add(scale(q.w, t), cross(q.v, t)));
}
static quat shorter(quat q) { return q.w < 0 ? (quat){-q.w, scale(-1, q.v)} : q; }

/* Arrays without gaps: positions are three points an item. */
void conventional(ptrdiff_t count, const vec *root, const vec *mid, const vec *end, const vec *target, const vec *pole,
                  quat *root_delta, quat *mid_delta, vec (*positions)[3], int32_t *status, number *error) {
    for (ptrdiff_t i = 0; i < count; i++) {
        vec bone1 = sub(mid[i], root[i]), bone2 = sub(end[i], mid[i]), line = sub(end[i], root[i]);
        vec to_target = sub(target[i], root[i]);
        number l1 = length(bone1), l2 = length(bone2), wanted = length(to_target);
        number r = clamp(wanted, fabs(l1 - l2), l1 + l2);
        vec hinge = unit(cross(bone1, bone2)), u = unit(line), e = unit(to_target);

        number turn1 = angle_of(dot(u, unit(bone1))) - corner(l1, r, l2);
        number turn2 = corner(l1, l2, length(line)) - corner(l1, l2, r);
        quat swing = about(unit(cross(u, e)), angle_of(dot(u, e)));
        quat q = multiply(swing, about(hinge, turn1));
        vec side = rotate(q, bone1), to_pole = sub(pole[i], root[i]);
        side = sub(side, scale(dot(side, e), e));
        to_pole = sub(to_pole, scale(dot(to_pole, e), e));
        q = multiply(about(e, atan2(dot(cross(side, to_pole), e), dot(side, to_pole))), q);

        root_delta[i] = shorter(q);
        mid_delta[i] = shorter(about(hinge, turn2));
        positions[i][0] = root[i];
        positions[i][1] = add(root[i], rotate(q, bone1));
        positions[i][2] = add(positions[i][1], rotate(q, rotate(mid_delta[i], bone2)));
        status[i] = (wanted > l1 + l2) | (wanted < fabs(l1 - l2)) << 1;
        error[i] = length(sub(positions[i][2], target[i]));
    }
}
