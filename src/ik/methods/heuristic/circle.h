/* Circular alignment: the joints of a chain lie on an arc from its base to the target. Known for equal bones in a plane
 * (A. Aristidou, J. Lasenby, Y. Chrysanthou, A. Shamir, "Inverse kinematics techniques in computer graphics: a survey",
 * Computer Graphics Forum 37, 2018, section 3); here for bones of any lengths, near and far, and in space.
 *
 * Idea. The bones and the line from the base to the target are the sides of a polygon whose corners lie on a circle.
 * The inscribed angle over a side s of a circle of diameter D is asin(s / D). The inscribed angles of all sides add up
 * to pi. The angle of the longest side L can be acute or obtuse. Let it be pi - g, so that D = L / sin g. Then g in (0,
 * pi) is the only unknown:
 *
 *   h(g) = sum over all other sides of asin(s / L sin g) - g = 0
 *
 * h is concave, because L is the longest side. It is 0 at g = 0 (the chain on a line), rises there if the target is in
 * reach, and is -pi at pi. Therefore it has one other root, and Newton's method descends to it from the right. It
 * starts at pi and works on h / g as a function of g^2, which is linear near full reach, where h is cubic. The sum of
 * angles is the angle of a product of complex numbers sqrt(1 - x^2) + i x. It takes one root and one division for each
 * bone, and one arc tangent.
 *
 * Bones are then laid one after the other, in the plane of the line and the side to which the chain is bent; a pole
 * turns it on. A target out of reach has g = 0: the straight chain, or the one folded along its longest bone.
 *
 * It iterates until the polygon is closed to rounding, whatever `tolerance` is, because little time would be saved. A
 * step of Newton's method squares the error, so the step that finds an error below CIRCLE_CLOSED is the last. */

/* The gap of the polygon at which the last step is made, as a share of the reach. */
#define CIRCLE_CLOSED (number)(IK_BITS == 64 ? 0x1p-34 : 0x1p-14)

/* The columns of a record; lengths are scaled. */
enum circle {
    CIRCLE_ANGLE,                  /* g */
    CIRCLE_LONGEST,                /* L */
    CIRCLE_CHORD,                  /* from the base to the target, as far as it can be reached */
    CIRCLE_LINE,                   /* the same way, a unit vector */
    CIRCLE_SIDE = CIRCLE_LINE + 3, /* a unit vector across, to where the chain is bent */
    CIRCLE_COLUMNS = CIRCLE_SIDE + 3,
};
ik_inline int circle_column(const ik_plan *plan, enum circle i) { return chain_columns(plan) + (int)i; }

static record_size circle_size(const ik_plan *plan) {
    const int columns = chain_columns(plan) + CIRCLE_COLUMNS;
    return (record_size){.columns = columns, .results = columns};
}

/* ---- angles as complex numbers: cosine and sine */

ik_inline cosine_sine circle_sum(cosine_sine a, cosine_sine b) {
    return (cosine_sine){a.cosine * b.cosine - a.sine * b.sine, a.cosine * b.sine + a.sine * b.cosine};
}
ik_inline cosine_sine circle_difference(cosine_sine a, cosine_sine b) {
    return circle_sum(a, (cosine_sine){b.cosine, real_splat(0) - b.sine});
}
/* Normalised; otherwise the rounding of many bones adds up. */
ik_inline cosine_sine circle_unit(cosine_sine a) {
    const real half = real_splat(0.5f);
    real scale = real_splat(1.5f) - half * (a.cosine * a.cosine + a.sine * a.sine);
    return (cosine_sine){scale * a.cosine, scale * a.sine};
}

/* ---- the polygon */

/* A polygon at some g. */
typedef struct {
    cosine_sine angle; /* g */
    real longest, per_diameter;
    cosine_sine sum; /* of the inscribed angles of the sides so far, as if all were acute */
    real change;     /* derivative of `sum` by 1 / D */
} circle_polygon;

ik_inline circle_polygon circle_of(const ik_plan *plan, columns c) {
    const real one = real_splat(1), zero = real_splat(0);
    cosine_sine at = real_sincos(*column(c, circle_column(plan, CIRCLE_ANGLE)));
    real longest = *column(c, circle_column(plan, CIRCLE_LONGEST));
    return (circle_polygon){at, longest, at.sine / longest, {one, zero}, zero};
}

/* The inscribed angle of a side if it is acute. Its cosine comes from that of the longest side, because sqrt(1 - x^2)
 * is inaccurate for x near 1. */
ik_inline cosine_sine circle_half(const circle_polygon *p, real side) {
    real shorter = (p->longest - side) * (p->longest + side) * (p->per_diameter * p->per_diameter);
    return (cosine_sine){real_sqrt(p->angle.cosine * p->angle.cosine + shorter), side * p->per_diameter};
}

/* The derivative of that angle by 1 / D. */
ik_inline real circle_change(real side, cosine_sine half) { return side / (half.cosine + real_splat(EPSILON)); }

ik_inline void circle_add(circle_polygon *p, real side) {
    cosine_sine half = circle_half(p, side);
    p->sum = circle_sum(p->sum, half);
    p->change = p->change + circle_change(side, half);
}

/* How far the polygon is from being closed, when all sides are added, and the next g. */
ik_inline void circle_newton(const ik_plan *plan, columns c, circle_polygon *p) {
    const real one = real_splat(1);
    real *g = column(c, circle_column(plan, CIRCLE_ANGLE));
    cosine_sine longest = circle_half(p, p->longest); /* it is in `sum`, but not in h */
    cosine_sine open = circle_difference(circle_difference(p->sum, longest), p->angle);
    real h = real_atan2(open.sine, open.cosine), change = p->change - circle_change(p->longest, longest);
    real slope = change * p->angle.cosine / p->longest - one;
    *column(c, ERROR) = p->longest * real_abs(h) / (p->angle.sine + real_splat(TINY_LENGTH));
    real by = slope * *g - h, share = (by - h - h) / by;
    share = real_min(real_max(share, real_splat(0x1p-6f)), one + one); /* for steps that are only rounding */
    *g = *g * real_sqrt(share);
}

ik_inline void circle_pass(const ik_plan *plan, real *bundle, int groups) {
    circle_polygon p[GROUPS];
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        p[g] = circle_of(plan, c);
        circle_add(&p[g], *column(c, circle_column(plan, CIRCLE_CHORD)));
    }
    for (int slot = 1; slot < plan->slots; slot++)
        for (int g = 0; g < groups; g++)
            circle_add(&p[g], *column(columns_of_bundle(bundle, g), chain_length(plan, slot)));
    for (int g = 0; g < groups; g++)
        circle_newton(plan, columns_of_bundle(bundle, g), &p[g]);
}

/* The compiler unrolls the whole bundle. */
static void circle_step(const ik_plan *plan, real *bundle, int groups) {
    if (groups == GROUPS)
        circle_pass(plan, bundle, GROUPS);
    else
        circle_pass(plan, bundle, 1);
}

/* ---- begin */

/* Two vectors of a chain as it is bent: the sum of its joints, and the area between it and the line to its end. */
typedef struct {
    vec3 joints, area;
} circle_bent;

static circle_bent circle_bent_of(const ik_plan *plan, columns record) {
    vec3 at = vec3_splat(0, 0, 0);
    circle_bent bent = {at, at};
    for (int slot = 1; slot < plan->slots; slot++) {
        vec3 bone = column_vec3(record, chain_bone(slot));
        bent.area = vec3_add(bent.area, vec3_cross(at, bone));
        at = vec3_add(at, bone);
        bent.joints = vec3_add(bent.joints, at);
    }
    return bent;
}

/* The unit vector to the target; where that is the base, as the chain now ends: or if it is closed, as a circle. */
static vec3 circle_line(const circle_bent *bent, vec3 end, direction target, real reach) {
    const real rounding = real_splat(4 * EPSILON) * reach;
    direction now = vec3_direction(end), ring = vec3_direction(vec3_cross(bent->area, bent->joints));
    vec3 otherwise = vec3_select(mask_less(rounding, now.length), now.unit, ring.unit);
    return vec3_select(mask_less(rounding, target.length), target.unit, otherwise);
}

static void circle_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    const real zero = real_splat(0), one = real_splat(1);
    mask counts;
    real *error = column(record, ERROR), *tolerance = column(record, TOLERANCE);
    *error = zero;
    if (plan->slots < 2) return;
    chain_load_bones(plan, start, record);
    const int k = plan->node_of_slot[plan->slots - 1];
    const chain_reach reach = solve_reach(plan, start, k);
    const real sum = reach.sum, inner = chain_inner(reach);
    vec3 target = chain_target(plan, at, start, &counts);
    vec3 end = vec3_sub(start->positions[k], start->positions[solve_base(plan, k)]);
    direction way = vec3_direction(target);
    real chord = real_max(real_min(way.length, sum), inner);
    mask out = ~mask_less(way.length, sum) | (mask_less(zero, inner) & ~mask_less(inner, way.length));
    circle_bent bent = circle_bent_of(plan, record);
    vec3 line = circle_line(&bent, end, way, sum);
    mask none = mask_equal(sum, zero);
    real longest = real_select(none, one, real_max(reach.longest, chord)), others = (sum + chord) / longest - one;
    real first = real_splat(4 * eighth_turn[0]) / (one + one / others); /* where the tangent at pi is 0 */
    *column(record, circle_column(plan, CIRCLE_ANGLE)) = real_select(out | none, zero, first);
    *column(record, circle_column(plan, CIRCLE_LONGEST)) = longest;
    *column(record, circle_column(plan, CIRCLE_CHORD)) = chord;
    column_set_vec3(record, circle_column(plan, CIRCLE_LINE), line);
    column_set_vec3(record, circle_column(plan, CIRCLE_SIDE), chain_side(plan, bent.joints, end, sum, line));
    *tolerance = real_splat(CIRCLE_CLOSED) * sum;
    real off = vec3_length(vec3_sub(target, end)); /* the bones are not on an arc yet, however near the end is */
    *error = real_select(counts, real_max(off, *tolerance + *tolerance), zero);
}

/* ---- the bones on the circle */

/* The inscribed angle of a side; that of the longest may be obtuse. */
ik_inline cosine_sine circle_half_of(const circle_polygon *p, real side, mask is_longest) {
    cosine_sine half = circle_half(p, side);
    half.cosine = real_select(is_longest, real_splat(0) - p->angle.cosine, half.cosine);
    return half;
}

/* Bones from the base on. The first bone starts along the tangent of the circle. The angle from the line to the tangent
 * is pi minus the inscribed angle of the chord. A bone turns off the tangent at its start by its inscribed angle; the
 * tangent at its end is off the bone by the same angle. */
static void circle_lay(const ik_plan *plan, columns c) {
    const vec3 line = column_vec3(c, circle_column(plan, CIRCLE_LINE));
    const vec3 side = column_vec3(c, circle_column(plan, CIRCLE_SIDE));
    const real chord = *column(c, circle_column(plan, CIRCLE_CHORD));
    const circle_polygon p = circle_of(plan, c);
    const mask solved = mask_less(real_splat(0), *column(c, ITERATIONS));
    mask bone_is_longest = mask_less(chord, p.longest); /* one of them */
    cosine_sine heading = circle_half_of(&p, chord, ~bone_is_longest);
    heading.cosine = real_splat(0) - heading.cosine;
    for (int slot = 1; slot < plan->slots; slot++) {
        const real length = *column(c, chain_length(plan, slot));
        mask is_longest = bone_is_longest & ~mask_less(length, p.longest);
        bone_is_longest &= ~is_longest;
        cosine_sine half = circle_half_of(&p, length, is_longest);
        cosine_sine way = circle_difference(heading, half);
        heading = circle_unit(circle_difference(way, half));
        vec3 unit = vec3_add(vec3_scale(way.cosine, line), vec3_scale(way.sine, side));
        vec3 before = column_vec3(c, chain_bone(slot));
        column_set_vec3(c, chain_bone(slot), vec3_select(solved, vec3_scale(length, unit), before));
    }
}

static void circle_place(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local) {
    if (plan->nodes[k].slot == 0) circle_lay(plan, record);
    chain_place(plan, at, record, world, k, local);
}

static const method circle_arc = {circle_size, circle_begin, circle_step, circle_place};

static const method *circle_method(const ik_plan *plan) {
    (void)plan;
    return &circle_arc;
}

SOLVE_METHOD(circle)
