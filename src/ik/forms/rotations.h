/* Rotations as public batched functions (rotation_rows.h has the loops). The contracts are at the jobs in ik.h.
 *
 * Sections: shared helpers (normalisation, half angles, output), one small function per job that quat.h lacks, then
 * best_fit. Angles are computed by real_atan2 of two lengths, never by an arc cosine. They are as exact at 0 and at pi
 * as in between. */

/* Squared lengths this near to 1 differ from it by round-off. A normalised quaternion is within it, so normalising
 * again changes no bit. */
#define UNIT_TOLERANCE (4 * EPSILON)

/* --- shared ------------------------------------------------------------------------------------------------------- */

/* 0, or NaN if an input is not finite. It is added to all results, which also makes every zero positive. */
ik_inline real real_poison(real x) { return x - x; }
ik_inline real vec3_poison(vec3 a) { return real_poison(a.x) + real_poison(a.y) + real_poison(a.z); }
ik_inline real quat_poison(quat q) { return real_poison(q.w) + vec3_poison(q.v); }
ik_inline real mat3_poison(mat3 m) { return vec3_poison(m.x) + vec3_poison(m.y) + vec3_poison(m.z); }

ik_inline vec3 vec3_poisoned(vec3 a, real poison) { return (vec3){a.x + poison, a.y + poison, a.z + poison}; }
ik_inline real real_written(real x, real poison) { return real_canonical_nan(x + poison); }
ik_inline vec3 vec3_written(vec3 a, real poison) {
    return (vec3){real_written(a.x, poison), real_written(a.y, poison), real_written(a.z, poison)};
}
ik_inline quat quat_written(quat q, real poison) {
    return (quat){real_written(q.w, poison), vec3_written(q.v, poison)};
}

/* Largest absolute coordinate. Unlike their sum, it cannot overflow. */
ik_inline real vec3_largest(vec3 a) { return real_max(real_max(real_abs(a.x), real_abs(a.y)), real_abs(a.z)); }

ik_inline quat quat_scale(real s, quat q) { return (quat){s * q.w, vec3_scale(s, q.v)}; }
ik_inline real quat_dot(quat a, quat b) { return a.w * b.w + vec3_dot(a.v, b.v); }
ik_inline quat quat_negate_if(mask choose, quat q) {
    return (quat){real_negate_if(choose, q.w),
                  {real_negate_if(choose, q.v.x), real_negate_if(choose, q.v.y), real_negate_if(choose, q.v.z)}};
}

/* vec3_direction for a vector of any length. */
ik_inline direction vec3_direction_of_any(vec3 a) {
    real scale = real_unit_scale(vec3_largest(a));
    direction d = vec3_direction(vec3_scale(scale, a));
    return (direction){d.unit, d.length * real_unscale(scale), d.inverse * scale};
}

ik_inline quat quat_unit(quat q) {
    mask unit = mask_less(real_abs(quat_dot(q, q) - real_splat(1)), real_splat(UNIT_TOLERANCE));
    if (!mask_any(~unit)) return q;
    real largest = real_max(vec3_largest(q.v), real_abs(q.w));
    quat scaled = quat_scale(real_unit_scale(largest), q);
    scaled.w = real_select(mask_equal(largest, real_splat(0)), real_splat(1), scaled.w);
    return quat_select(unit, q, quat_scale(real_splat(1) / real_sqrt(quat_dot(scaled, scaled)), scaled));
}

/* q or -q: the one with w > 0. If w is 0, the one whose first nonzero component is positive. */
ik_inline quat quat_short(quat q) {
    const real zero = real_splat(0);
    mask negative = mask_less(q.v.z, zero);
    negative = mask_select(mask_equal(q.v.y, zero), negative, mask_less(q.v.y, zero));
    negative = mask_select(mask_equal(q.v.x, zero), negative, mask_less(q.v.x, zero));
    negative = mask_select(mask_equal(q.w, zero), negative, mask_less(q.w, zero));
    return quat_negate_if(negative, q);
}

/* A rotation as its axis, zero for the identity, and half its angle in radians. */
typedef struct {
    vec3 axis;
    real half;
} turn;

/* The shorter of the two equivalent rotations: half in [0, pi / 2]. */
ik_inline turn turn_of_quat(quat q) {
    q = quat_short(q);
    direction v = vec3_direction_of_any(q.v);
    return (turn){v.unit, real_atan2(v.length, q.w)};
}

ik_inline quat quat_of_turn(turn t) {
    cosine_sine at = real_sincos(t.half);
    return (quat){at.cosine, vec3_scale(at.sine, t.axis)};
}

ik_inline mat3 mat3_of_quat(quat q) {
    const real one = real_splat(1);
    vec3 twice = vec3_add(q.v, q.v);
    vec3 w = vec3_scale(q.w, twice), x = vec3_scale(q.v.x, twice);
    real yy = q.v.y * twice.y, yz = q.v.y * twice.z, zz = q.v.z * twice.z;
    return (mat3){{one - (yy + zz), x.y - w.z, x.z + w.y},
                  {x.y + w.z, one - (x.x + zz), yz - w.x},
                  {x.z - w.y, yz + w.x, one - (x.x + yy)}};
}

/* A unit vector perpendicular to the unit vector `from`: the one nearest to `near`, or any if that is undefined. */
ik_inline vec3 vec3_perpendicular_near(vec3 near, vec3 from) {
    near = vec3_direction_of_any(near).unit;
    direction off = vec3_direction(vec3_sub(near, vec3_scale(vec3_dot(near, from), from)));
    mask defined = mask_less(real_splat(TINY_SINE), off.length);
    return vec3_across(vec3_select(defined, off.unit, vec3_perpendicular(from)), from);
}

/* --- one for every job -------------------------------------------------------------------------------------------- */

/* quat_arc with the axis it needs beyond a right angle: the cross product, or the given one near opposite vectors. */
ik_inline quat quat_shortest_arc(vec3 a, vec3 b, vec3 axis) {
    vec3 from = vec3_direction_of_any(a).unit, to = vec3_direction_of_any(b).unit;
    direction normal = vec3_direction_of_any(vec3_cross(from, to));
    mask parallel = mask_less(normal.length, real_splat(TINY_SINE));
    if (mask_any(parallel)) normal.unit = vec3_select(parallel, vec3_perpendicular_near(axis, from), normal.unit);
    return quat_unit(quat_arc(from, to, normal.unit));
}

/* The same for vectors of lengths near 1, in fewer operations. The full computation is used only for nearly opposite
 * vectors and for those without a direction. */
ik_inline quat quat_arc_between(vec3 a, vec3 b) {
    real sizes = real_sqrt(vec3_dot(a, a) * vec3_dot(b, b)), cosine = vec3_dot(a, b);
    quat arc = {sizes + cosine, vec3_cross(a, b)};
    mask hard = ~mask_less(real_splat(0.1f) * sizes, arc.w);
    if (mask_any(hard)) arc = quat_select(hard, quat_shortest_arc(a, b, vec3_perpendicular(b)), arc);
    return quat_scale(real_splat(1) / real_sqrt(quat_dot(arc, arc)), arc);
}

ik_inline quat quat_slerp(quat a, quat b, real t) {
    turn whole = turn_of_quat(quat_multiply(quat_conjugate(a), b));
    quat q = quat_multiply(a, quat_of_turn((turn){whole.axis, t * whole.half}));
    b = quat_negate_if(mask_less(quat_dot(q, b), real_splat(0)), b);
    return quat_unit(quat_select(mask_equal(t, real_splat(1)), b, q));
}

/* p is the component of q's vector along the axis, u the rest, and c the length of (w, p). The twist is (w, p axis) /
 * c. q times its conjugate is the swing, (c, (w u + p axis x u) / c). */
ik_inline void quat_swing_twist(quat q, vec3 axis, quat *swing, quat *twist) {
    axis = vec3_direction_of_any(axis).unit;
    real p = vec3_dot(q.v, axis), c = real_sqrt(q.w * q.w + p * p);
    mask defined = mask_less(real_splat(4 * EPSILON), c);
    real inverse = real_splat(1) / real_select(defined, c, real_splat(1));
    vec3 u = vec3_sub(q.v, vec3_scale(p, axis));
    vec3 across = vec3_add(vec3_scale(q.w, u), vec3_scale(p, vec3_cross(axis, u)));
    *swing = quat_select(defined, (quat){c, vec3_scale(inverse, across)}, quat_short(q));
    *twist = quat_select(defined, (quat){inverse * q.w, vec3_scale(inverse * p, axis)}, quat_identity());
    *twist = quat_short(*twist);
}

ik_inline quat quat_from_axis_angle(vec3 axis, real angle) {
    direction unit = vec3_direction_of_any(axis);
    quat q = quat_of_turn((turn){unit.unit, real_splat(0.5f) * angle});
    return quat_select(mask_equal(unit.length, real_splat(0)), quat_identity(), q);
}

ik_inline quat quat_from_columns(vec3 a, vec3 b) {
    direction x = vec3_direction_of_any(a);
    x.unit = vec3_select(mask_equal(x.length, real_splat(0)), vec3_splat(1, 0, 0), x.unit);
    vec3 y = vec3_perpendicular_near(b, x.unit), z = vec3_cross(x.unit, y);
    return quat_short(quat_of_matrix((mat3){{x.unit.x, y.x, z.x}, {x.unit.y, y.y, z.y}, {x.unit.z, y.z, z.z}}));
}

/* After Bernardes and Viollet, "Quaternion to Euler angles conversion", 2022. In the frame of the first two axes and
 * their normal, let a, b, c, d be the components of the quaternion. For rotations whose last axis is the first,
 *
 *     a + i b = cos(middle / 2) exp(i (first + last) / 2),   c + i d = sin(middle / 2) exp(i (first - last) / 2)
 *
 * If the last axis is the normal, a quarter turn about the second axis takes it to the first; the formulas then hold
 * with middle + pi / 2. All angles come from products of these two numbers. Near gimbal lock one of them is short, and
 * its round-off cancels between the first and last angle. */
ik_inline vec3 quat_to_euler(quat q, mat3 axes) {
    const real zero = real_splat(0);
    vec3 normal = vec3_cross(axes.x, axes.y);
    real x = vec3_dot(q.v, axes.x), y = vec3_dot(q.v, axes.y), z = vec3_dot(q.v, normal);
    real handed = vec3_dot(axes.z, normal);
    mask same = mask_less(real_abs(handed), real_splat(0.5f));
    real a = real_select(same, q.w, q.w + y), b = real_select(same, x, x + z);
    real c = real_select(same, y, q.w - y), d = real_select(same, z, x - z);

    real ab = a * a + b * b, cd = c * c + d * d, both = real_sqrt(ab) * real_sqrt(cd);
    real sine = real_select(same, both + both, real_splat(2) * (q.w * y + x * z));
    real middle = real_atan2(sine, real_select(same, ab - cd, both));

    real tiny = real_splat(16 * EPSILON * EPSILON);
    mask no_cd = mask_less(cd, tiny), no_ab = mask_less(ab, tiny);
    c = real_select(no_cd, a, c), d = real_select(no_cd, b, d);
    a = real_select(no_ab, c, a), b = real_select(no_ab, d, b);
    real first = real_atan2(a * d + b * c, a * c - b * d), last = real_atan2(b * c - a * d, a * c + b * d);
    return (vec3){first, middle, real_negate_if(~same & mask_less(handed, zero), last)};
}

ik_inline quat quat_from_euler(vec3 angles, mat3 axes) {
    const real half = real_splat(0.5f);
    quat first = quat_of_turn((turn){axes.x, half * angles.x}), middle = quat_of_turn((turn){axes.y, half * angles.y});
    quat last = quat_of_turn((turn){axes.z, half * angles.z});
    return quat_unit(quat_multiply(quat_multiply(first, middle), last));
}

/* --- best fit -----------------------------------------------------------------------------------------------------
 *
 * The sum of w (R a) . b over all points is q' K q. The matrix K is linear in the sums S of w a b' (Horn 1987; the
 * matrix of QCP, Theobald 2005). The eigenvector of its largest eigenvalue is the best rotation. QCP finds it by
 * Newton's method on the characteristic polynomial, and from cofactors. These vanish if the largest eigenvalue is
 * double, as for points on a line, and lose digits nearby. Jacobi's method costs more and loses no accuracy. If a whole
 * space of rotations is equally good, the smallest is the projection of the identity onto it. */

typedef struct {
    real row[4][4];
} mat4;

/* The slowest of 800 000 matrices, of full, deficient and nearly deficient rank, needed one sweep less. */
enum { JACOBI_SWEEPS = IK_BITS == 64 ? 6 : 5 };

/* Rotates rows and columns p, q of the symmetric m so that m[p][q] becomes 0 and m[p][p] the larger; the columns of
 * `vectors` turn with them. Without that order, pairs of equal eigenvalues that are not adjacent only halve the
 * off-diagonal entries per sweep. */
ik_inline void mat4_rotate(mat4 *m, mat4 *vectors, int p, int q) {
    const real one = real_splat(1), zero = real_splat(0);
    real off = m->row[p][q], twice = off + off, gap = m->row[q][q] - m->row[p][p];
    real root = real_max(real_sqrt(gap * gap + twice * twice), real_abs(twice));
    real t = real_negate_if(mask_less(gap, zero), twice) / (real_abs(gap) + root + real_splat(SMALLEST));
    real c = one / real_sqrt(one + t * t), s = t * c;
    mask rising = mask_less(zero, gap);
    real cosine = real_select(rising, s, c), sine = real_select(rising, -c, s);
    real pp = m->row[p][p] - t * off, qq = m->row[q][q] + t * off;
    m->row[p][p] = real_select(rising, qq, pp);
    m->row[q][q] = real_select(rising, pp, qq);
    m->row[p][q] = m->row[q][p] = zero;
    for (int k = 0; k < 4; k++) {
        real vp = vectors->row[k][p], vq = vectors->row[k][q];
        vectors->row[k][p] = cosine * vp - sine * vq;
        vectors->row[k][q] = sine * vp + cosine * vq;
        if (k == p || k == q) continue;
        real mp = m->row[k][p], mq = m->row[k][q];
        m->row[k][p] = m->row[p][k] = cosine * mp - sine * mq;
        m->row[k][q] = m->row[q][k] = sine * mp + cosine * mq;
    }
}

/* The sum of the columns of `vectors` whose eigenvalue equals the first except for `rounding`, each multiplied by its
 * w. The eigenvalues are on the diagonal of m. If the sum is zero, the first column. */
ik_inline quat quat_of_top_space(const mat4 *m, const mat4 *vectors, real rounding) {
    const real zero = real_splat(0);
    quat sum = {zero, {zero, zero, zero}}, column = sum;
    for (int i = 3; i >= 0; i--) {
        column = (quat){vectors->row[0][i], {vectors->row[1][i], vectors->row[2][i], vectors->row[3][i]}};
        mask chosen = ~mask_less(m->row[i][i], m->row[0][0] - rounding);
        quat part = quat_scale(real_select(chosen, column.w, zero), column);
        sum = (quat){sum.w + part.w, vec3_add(sum.v, part.v)};
    }
    mask defined = mask_less(real_splat(TINY_SINE * TINY_SINE), quat_dot(sum, sum));
    return quat_short(quat_unit(quat_select(defined, sum, column)));
}

ik_inline quat quat_of_correlation(mat3 s, real rounding) {
    const real zero = real_splat(0), one = real_splat(1);
    real wx = s.y.z - s.z.y, wy = s.z.x - s.x.z, wz = s.x.y - s.y.x;
    real xy = s.x.y + s.y.x, xz = s.z.x + s.x.z, yz = s.y.z + s.z.y;
    mat4 m = {{{s.x.x + s.y.y + s.z.z, wx, wy, wz},
               {wx, s.x.x - s.y.y - s.z.z, xy, xz},
               {wy, xy, s.y.y - s.x.x - s.z.z, yz},
               {wz, xz, yz, s.z.z - s.x.x - s.y.y}}};
    mat4 vectors = {
        {{one, zero, zero, zero}, {zero, one, zero, zero}, {zero, zero, one, zero}, {zero, zero, zero, one}}};
    for (int sweep = 0; sweep < JACOBI_SWEEPS; sweep++)
        for (int p = 0; p < 3; p++)
            for (int q = p + 1; q < 4; q++)
                mat4_rotate(&m, &vectors, p, q);
    return quat_of_top_space(&m, &vectors, rounding);
}

/* The same, compiled with the closed forms. */
ik_hidden quat IK_NAME(quat_of_correlation)(const mat3 *s, const real *rounding);

/* A pair of points and its weight. */
typedef struct {
    vec3 point, target;
    real weight;
} fit_pair;

ik_inline fit_pair fit_load(const ik_quat_best_fit_job *job, group at, ptrdiff_t k) {
    ik_rows point = lanes_list_row(&job->points, k), target = lanes_list_row(&job->targets, k);
    fit_pair pair = {lanes_load_vec3(&point, at), lanes_load_vec3(&target, at), real_splat(1)};
    if (job->weights.count) {
        ik_rows weight = lanes_list_row(&job->weights, k);
        real given = lanes_load_real(&weight, at);
        pair.weight = real_max(given, real_splat(0)) + real_poison(given);
    }
    return pair;
}

/* Powers of two that bring the largest of points, targets and weights near 1, so that no product overflows. `poison` is
 * NaN if an input of the item is not finite. */
typedef struct {
    real point, target, weight, poison;
} fit_scales;

ik_inline fit_scales fit_scales_of(const ik_quat_best_fit_job *job, group at) {
    const real zero = real_splat(0);
    fit_scales largest = {zero, zero, zero, zero};
    for (ptrdiff_t k = 0; k < job->points.count; k++) {
        fit_pair pair = fit_load(job, at, k);
        largest.point = real_max(largest.point, vec3_largest(pair.point));
        largest.target = real_max(largest.target, vec3_largest(pair.target));
        largest.weight = real_max(largest.weight, pair.weight);
        largest.poison = largest.poison + vec3_poison(pair.point) + vec3_poison(pair.target) + real_poison(pair.weight);
    }
    return (fit_scales){real_unit_scale(largest.point), real_unit_scale(largest.target),
                        real_unit_scale(largest.weight), largest.poison};
}

ik_inline quat fit_rotation(const ik_quat_best_fit_job *job, group at, fit_scales scale) {
    const vec3 nothing = vec3_splat(0, 0, 0);
    mat3 s = {nothing, nothing, nothing};
    real size = real_splat(0);
    for (ptrdiff_t k = 0; k < job->points.count; k++) {
        fit_pair pair = fit_load(job, at, k);
        vec3 b = vec3_scale(scale.target, pair.target), a = vec3_scale(scale.point, pair.point);
        real weight = scale.weight * pair.weight;
        size = size + weight * (vec3_dot(a, a) + vec3_dot(b, b));
        a = vec3_scale(weight, a);
        s.x = vec3_add(s.x, vec3_scale(a.x, b));
        s.y = vec3_add(s.y, vec3_scale(a.y, b));
        s.z = vec3_add(s.z, vec3_scale(a.z, b));
    }
    return quat_of_correlation(s, real_splat(32 * EPSILON) * size);
}

/* Weighted root mean square distance, computed from the distances: the eigenvalue would lose half of the digits. */
ik_inline real fit_rmsd(const ik_quat_best_fit_job *job, group at, fit_scales scale, quat q) {
    real common = real_min(scale.point, scale.target), squares = real_splat(0), weights = squares;
    for (ptrdiff_t k = 0; k < job->points.count; k++) {
        fit_pair pair = fit_load(job, at, k);
        vec3 turned = quat_rotate(q, vec3_scale(common, pair.point));
        vec3 off = vec3_sub(turned, vec3_scale(common, pair.target));
        real weight = scale.weight * pair.weight;
        squares = squares + weight * vec3_dot(off, off);
        weights = weights + weight;
    }
    weights = real_select(mask_equal(weights, real_splat(0)), real_splat(1), weights);
    return real_sqrt(squares / weights) * real_unscale(common);
}
