/* Limb: two bones in closed form. The contract is at ik_two_bone_job in ik.h.
 *
 * Idea. The two bones and the distance to the target are the sides of a triangle, which determines the angles. The
 * target determines one direction and the pole the plane. The knee is placed by the law of cosines. Each bone, with the
 * hinge, is then rotated from its input direction to its new one.
 *
 *   l1, l2   bone lengths                       e   unit vector from root to target
 *   r        distance from root to end          n   unit vector of the hinge: turning about it takes bone 1 to bone 2
 *   n, e     perpendicular                      m = e x n, the side of the knee
 *
 *   knee = x e + h m,   x = (r + (l1 - l2)(l1 + l2) / r) / 2,   h = sqrt((l1+l2+r)(l1+l2-r)(r-l1+l2)(r+l1-l2)) / (2 r)
 *
 * The products under the root are Heron's, after W. Kahan, "Miscalculating area and angles of a needle-like triangle".
 * Each factor is a difference of measured lengths. Nothing cancels near the straight or the folded limb, where l1^2 -
 * x^2 would. No trigonometric functions are needed: each angle is represented by a pair of perpendicular directions.
 *
 * Space: relative to the root. A power of two scales the longest bone to nearly 1. */

/* Relative to the reach. Round-off is five hundred times smaller in doubles, nine times in floats. */
#define TWO_BONE_TOLERANCE (number)(IK_BITS == 64 ? 1e-12 : 1e-5)

/* Sine of a bend angle below which a given hinge takes precedence over the bend itself: 0.06 degrees. */
#define STRAIGHT_SINE 0.001f

/* Relative to the reach: a shorter bone may be lost in the round-off of the other. */
#define LOPSIDED 0x1p-8f

#define HALF_TURN (number)3.14159265358979323846

/* Whether an input is given is the same for all items of a batch. */
typedef struct {
    vec3 root, mid, end, target, pole, bend, hinge;
    real twist, influence, soften, stretch_start, stretch_max, min_bend, max_bend;
    int pole_given, bend_given, hinge_given, twist_given, influence_given, soften_given, stretch_given, limits_given;
    int flip_wanted;
    int ordinary; /* lanes that need rare work are recorded in `rare`, and that work is skipped */
    mask rare;
} two_bone_in;

/* True if a lane needs rare work. An ordinary run has no code for such work. Its caller checks `rare` and solves the
 * group again in full if it is not empty. */
ik_inline int two_bone_any(two_bone_in *in, mask lanes) {
    if (!in->ordinary) return mask_any(lanes);
    in->rare |= lanes;
    return 0;
}

typedef struct {
    quat root, mid;
    vec3 positions[3];
    mask status;
    real error, flip, stretch;
} two_bone_out;

/* The input pose: bones as directions and lengths, and the hinge. */
typedef struct {
    real scale, unscale; /* factors from world to limb space, and back */
    vec3 bone1, bone2;   /* scaled */
    real length1, length2;
    real inverse1, inverse2; /* 1 / length; huge for a bone without length */
    vec3 unit1, unit2;       /* a bone without length has the direction of the other */
    vec3 hinge;              /* unit, perpendicular to bone 1; for a straight or folded limb, the given one or any */
    real cosine, sine;       /* of the angle about the hinge from bone 1 to bone 2 */
    mask has_bone1, has_bone2;
    mask has_hinge; /* from the bend of the limb, or given */
    mask is_bent;   /* the hinge is perpendicular to bone 2 as well */
} limb;

/* Wanted directions of the bones, in the frame e, m, n: z is 0. */
typedef struct {
    vec3 unit1, unit2;
} two_bone_goal;

/* The given axis defines which bend is forwards. It is also the hinge of a limb that is too straight to define one. */
ik_inline void limb_follow_hinge(limb *l, vec3 axis) {
    axis = vec3_scale(real_unit_scale(vec3_size(axis)), axis);
    direction across = vec3_direction(vec3_sub(axis, vec3_scale(vec3_dot(axis, l->unit1), l->unit1)));
    mask defined = mask_less(real_splat(TINY_SINE), across.length);
    mask straight = ~l->is_bent | mask_less(l->sine, real_splat(STRAIGHT_SINE));
    mask backwards = defined & mask_less(vec3_dot(l->hinge, across.unit), real_splat(0));
    vec3 turned = vec3_scale(real_negate_if(backwards, real_splat(1)), l->hinge);
    l->sine = real_negate_if(backwards, l->sine);
    l->hinge = vec3_select(defined, vec3_select(straight, vec3_across(across.unit, l->unit1), turned), l->hinge);
    l->has_hinge |= defined;
    l->is_bent &= ~(defined & straight);
}

ik_inline limb limb_of(two_bone_in *in) {
    limb l;
    vec3 bone1 = vec3_sub(in->mid, in->root), bone2 = vec3_sub(in->end, in->mid);
    l.scale = real_unit_scale(vec3_size(bone1) + vec3_size(bone2));
    l.unscale = real_unscale(l.scale);
    l.bone1 = vec3_scale(l.scale, bone1);
    l.bone2 = vec3_scale(l.scale, bone2);

    direction first = vec3_direction(l.bone1), second = vec3_direction(l.bone2);
    direction hinge = vec3_direction(vec3_cross(first.unit, second.unit));
    l.length1 = first.length, l.length2 = second.length;
    l.inverse1 = first.inverse, l.inverse2 = second.inverse;
    l.unit1 = first.unit, l.unit2 = second.unit;
    l.hinge = vec3_across(hinge.unit, first.unit);
    l.cosine = vec3_dot(first.unit, second.unit), l.sine = hinge.length;
    l.has_bone1 = mask_less(real_splat(TINY_LENGTH), l.length1);
    l.has_bone2 = mask_less(real_splat(TINY_LENGTH), l.length2);
    l.has_hinge = l.has_bone1 & l.has_bone2 & mask_less(real_splat(TINY_SINE), hinge.length);
    l.is_bent = l.has_hinge;
    if (two_bone_any(in, ~l.has_hinge)) {
        vec3 second_or_any = vec3_select(l.has_bone2, l.unit2, vec3_splat(1, 0, 0));
        l.unit1 = vec3_select(l.has_bone1, l.unit1, second_or_any);
        l.unit2 = vec3_select(l.has_bone2, l.unit2, l.unit1);
        l.hinge = vec3_select(l.has_hinge, l.hinge, vec3_perpendicular(l.unit1));
    }
    if (in->hinge_given) limb_follow_hinge(&l, in->hinge);
    return l;
}

/* The unit vector from root to end. If these coincide, the vector that puts the knee perpendicular to the line. */
ik_inline vec3 limb_line(const limb *l) {
    direction line = vec3_direction(vec3_add(l->bone1, l->bone2));
    mask folded = mask_less(line.length, real_splat(TINY_SINE) * (l->length1 + l->length2));
    return vec3_select(folded, vec3_cross(l->hinge, l->unit1), line.unit);
}

/* The new hinge, and the input that determined it. */
typedef struct {
    vec3 n;
    mask decided;      /* by pole or bend */
    mask undefined;    /* the first input given did not determine it */
    real across, line; /* components of the determining direction across and along the line, for the flip angle */
} two_bone_choice;

/* The hinge that bends the limb towards a direction of any length. It is set in lanes not yet decided, if the direction
 * is not along e. */
ik_inline void two_bone_choose(two_bone_choice *c, vec3 towards, vec3 e) {
    towards = vec3_scale(real_unit_scale(vec3_size(towards)), towards);
    direction hinge = vec3_direction(vec3_cross(towards, e));
    real least = real_splat(TINY_SINE * TINY_SINE) * vec3_dot(towards, towards);
    c->n = vec3_select(c->decided, c->n, hinge.unit);
    c->across = real_select(c->decided, c->across, hinge.length);
    c->line = real_select(c->decided, c->line, real_abs(vec3_dot(towards, e)));
    c->decided |= mask_less(least, hinge.length * hinge.length);
}

/* The hinge from the pole, else from the bend direction, else the input hinge carried along. */
ik_inline two_bone_choice two_bone_hinge(two_bone_in *in, const limb *l, vec3 e) {
    two_bone_choice c = {vec3_splat(0, 0, 0), mask_splat(0), ~l->has_hinge, real_splat(1), real_splat(0)};
    if (in->pole_given) {
        two_bone_choose(&c, vec3_sub(in->pole, in->root), e);
        c.undefined = ~c.decided;
    }
    if (in->bend_given && two_bone_any(in, ~c.decided)) {
        two_bone_choose(&c, in->bend, e);
        c.undefined = in->pole_given ? c.undefined : ~c.decided;
    }
    if (two_bone_any(in, ~c.decided)) c.n = vec3_select(c.decided, c.n, vec3_carried(l->hinge, limb_line(l), e));
    c.n = vec3_across(c.n, e);
    return c;
}

/* Distance from root to end, and the reasons it differs from the target's distance. All scaled. */
typedef struct {
    real distance, r;
    mask softened, limited;
} two_bone_reach;

/* Lengthens the bones by a factor that grows linearly with the distance: from 1 at stretch_start of the reach to
 * stretch_max at stretch_max. */
ik_inline real two_bone_stretch(const two_bone_in *in, limb *l, real distance) {
    real one = real_splat(1), zero = real_splat(0), sum = l->length1 + l->length2;
    real most = real_max(in->stretch_max, one), start = real_max(in->stretch_start, zero);
    real span = real_max(most - start, real_splat(EPSILON));
    real share = real_min(real_max((distance / real_max(sum, real_splat(TINY_LENGTH)) - start) / span, zero), one);
    real factor = one + (most - one) * share;
    l->bone1 = vec3_scale(factor, l->bone1);
    l->bone2 = vec3_scale(factor, l->bone2);
    l->length1 = factor * l->length1;
    l->length2 = factor * l->length2;
    l->inverse1 = l->inverse1 / factor;
    l->inverse2 = l->inverse2 / factor;
    return factor;
}

/* Beyond a share s of the reach S, the distance d becomes s S + (1 - s) S (1 - (3 / (x + 3))^3), with x = (d - s S) /
 * ((1 - s) S). Its slope at the join is 1, and its limit is S. (ozz-animation has a fourth power there, with slope
 * 4/3.) */
ik_inline real two_bone_soften(const two_bone_in *in, real sum, two_bone_reach *reach) {
    real zero = real_splat(0), one = real_splat(1), three = real_splat(3);
    real start = real_min(real_max(in->soften, zero), one) * sum, rest = sum - start;
    reach->softened = mask_less(start, reach->distance) & mask_less(zero, rest);
    real x = (reach->distance - start) / real_select(reach->softened, rest, one);
    real y = three / (x + three);
    return real_select(reach->softened, start + rest * (one - y * y * y), reach->distance);
}

/* The distance from root to end that the bend limits allow, by the law of cosines at half angles. */
ik_inline real two_bone_limit(const two_bone_in *in, const limb *l, real r, two_bone_reach *reach) {
    real half = real_splat(0.5f), zero = real_splat(0), straight = real_splat(HALF_TURN);
    real sum = l->length1 + l->length2, difference = l->length1 - l->length2,
         product = real_splat(4) * l->length1 * l->length2;
    real least = real_min(real_max(in->min_bend, zero), straight),
         most = real_min(real_max(in->max_bend, least), straight);
    real sine = real_sincos(half * least).sine, cosine = real_sincos(half * most).cosine;
    real outer = real_sqrt(real_max(sum * sum - product * (sine * sine), zero));
    real inner = real_min(real_sqrt(difference * difference + product * (cosine * cosine)), sum); /* limits round-off */
    outer = real_select(mask_less(zero, least), outer, sum);
    inner = real_select(mask_less(most, straight), inner, real_abs(difference));
    real slack = real_splat(TWO_BONE_TOLERANCE) * sum, limited = real_max(real_min(r, outer), inner);
    reach->limited = mask_less(slack, real_abs(r - limited));
    return limited;
}

ik_inline two_bone_reach two_bone_reach_of(const two_bone_in *in, const limb *l, real distance) {
    real sum = l->length1 + l->length2, inner = real_abs(l->length1 - l->length2);
    two_bone_reach reach = {distance, distance, mask_splat(0), mask_splat(0)};
    if (in->soften_given) reach.r = two_bone_soften(in, sum, &reach);
    reach.r = real_max(real_min(reach.r, sum), inner);
    if (in->limits_given) reach.r = two_bone_limit(in, l, reach.r, &reach);
    reach.r = real_select(mask_less(reach.r, real_splat(TINY_LENGTH)), real_splat(0), reach.r);
    return reach;
}

/* The triangle: bone directions for an end at distance r along e. */
ik_inline two_bone_goal two_bone_triangle(two_bone_in *in, const limb *l, real r) {
    real half = real_splat(0.5f), zero = real_splat(0), sum = l->length1 + l->length2;
    real difference = l->length1 - l->length2, inner = real_abs(difference);
    real inverse = half / (r + real_splat(0x1p-120f));
    real heron = real_sqrt((sum + r) * (sum - r) * ((r - inner) * (r + inner)));
    real x = half * r + difference * sum * inverse, h = heron * inverse;
    mask apart = mask_less(zero, r);
    if (two_bone_any(in, ~apart)) /* folded onto its root; the knee is perpendicular to the line */
        h = real_select(apart, h, l->length1);

    /* The lengths are known, so one Newton step removes round-off, which is relative to the longer bone. */
    vec3 knee = {x, h, zero}, forearm = {r - x, -h, zero};
    two_bone_goal goal = {vec3_scale(l->inverse1, knee), vec3_scale(l->inverse2, forearm)};
    real square = goal.unit1.x * goal.unit1.x + goal.unit1.y * goal.unit1.y;
    goal.unit1 = vec3_scale(real_splat(1.5f) - half * square, goal.unit1);

    mask even = mask_less(real_splat(LOPSIDED) * sum, real_min(l->length1, l->length2));
    if (two_bone_any(in, ~even)) { /* no bone, or one that may be lost in that round-off */
        direction bone1 = vec3_direction(knee), bone2 = vec3_direction(forearm);
        mask has1 = even | (l->has_bone1 & mask_less(real_splat(TINY_LENGTH), bone1.length));
        mask has2 = even | (l->has_bone2 & mask_less(real_splat(TINY_LENGTH), bone2.length));
        goal.unit1 = vec3_select(even, goal.unit1, bone1.unit);
        goal.unit2 = vec3_select(even, goal.unit2, bone2.unit);
        goal.unit1 = vec3_select(has1, goal.unit1, vec3_select(has2, goal.unit2, vec3_splat(1, 0, 0)));
        goal.unit2 = vec3_select(has2, goal.unit2, goal.unit1);
    }
    return goal;
}

/* World-space deltas. The root rotates bone 1 and the hinge; the mid joint rotates bone 2 about the hinge by the new
 * bend minus the old one. A limb without a hinge uses the one that makes the root's delta the shortest arc. Bone 2 need
 * not be perpendicular to that, nor to the given hinge of a straight limb. */
ik_inline void two_bone_deltas(two_bone_in *in, limb *l, two_bone_goal goal, vec3 e, vec3 n, mat3 *root, quat *mid) {
    vec3 m = vec3_cross(e, n), unit1 = vec3_add(vec3_scale(goal.unit1.x, e), vec3_scale(goal.unit1.y, m));
    if (two_bone_any(in, ~l->has_hinge)) {
        vec3 unbent = vec3_across(vec3_carried(n, unit1, l->unit1), l->unit1);
        l->hinge = vec3_select(l->has_hinge, l->hinge, unbent);
    }
    *root = mat3_between_frames(l->unit1, l->hinge, unit1, n);
    real cosine = goal.unit1.x * goal.unit2.x + goal.unit1.y * goal.unit2.y;
    real sine = goal.unit1.y * goal.unit2.x - goal.unit1.x * goal.unit2.y;
    *mid = quat_about(cosine * l->cosine + sine * l->sine, sine * l->cosine - cosine * l->sine, l->hinge);
    if (two_bone_any(in, ~l->is_bent)) {
        vec3 unit2 = vec3_add(vec3_scale(goal.unit2.x, e), vec3_scale(goal.unit2.y, m));
        *mid = quat_select(l->is_bent, *mid, quat_arc(l->unit2, mat3_unapply(*root, unit2), l->hinge));
    }
}

/* The sum of the options: not finite if one of them is not. */
ik_inline real two_bone_options(const two_bone_in *in) {
    real sum = real_splat(0);
    if (in->twist_given) sum = sum + in->twist;
    if (in->influence_given) sum = sum + in->influence;
    if (in->soften_given) sum = sum + in->soften;
    if (in->stretch_given) sum = sum + in->stretch_start + in->stretch_max;
    if (in->limits_given) sum = sum + in->min_bend + in->max_bend;
    return sum;
}

/* Marks lanes as unusable if their answer is not finite or they have no bones. Their pose remains the input's. */
ik_inline void two_bone_reject(const two_bone_in *in, mask has_length, two_bone_out *out) {
    mask finite = vec3_is_finite(in->root) & vec3_is_finite(in->mid) & vec3_is_finite(in->end) &
                  vec3_is_finite(in->target) & vec3_is_finite(out->positions[1]) & vec3_is_finite(out->positions[2]) &
                  mask_is_finite(out->error);
    if (in->pole_given) finite &= vec3_is_finite(vec3_sub(in->pole, in->root));
    if (in->bend_given) finite &= vec3_is_finite(in->bend);
    if (in->hinge_given) finite &= vec3_is_finite(in->hinge);
    finite &= mask_is_finite(two_bone_options(in));
    mask usable = finite & has_length;
    out->root = quat_select(usable, out->root, quat_identity());
    out->mid = quat_select(usable, out->mid, quat_identity());
    out->positions[0] = vec3_canonical_nan(in->root);
    out->positions[1] = vec3_canonical_nan(vec3_select(usable, out->positions[1], in->mid));
    out->positions[2] = vec3_canonical_nan(vec3_select(usable, out->positions[2], in->end));
    out->error = real_select(finite, out->error, real_nan());
    out->flip = real_select(finite, out->flip, real_nan());
    out->stretch = real_select(usable, out->stretch, real_splat(1));
    mask why = mask_select(finite, mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE));
    out->status = mask_select(usable, out->status, why);
}

/* Lanes that two_bone_reject must check. A sum is not finite if one of its terms is not, or if it overflows. */
ik_inline mask two_bone_suspect(const two_bone_in *in, const limb *l, const two_bone_out *out) {
    vec3 sum = vec3_add(out->positions[1], out->positions[2]);
    if (in->pole_given) sum = vec3_add(sum, vec3_sub(in->pole, in->root));
    if (in->bend_given) sum = vec3_add(sum, in->bend);
    if (in->hinge_given) sum = vec3_add(sum, in->hinge);
    real all = sum.x + sum.y + sum.z + out->error + two_bone_options(in);
    return ~(mask_is_finite(all) & (l->has_bone1 | l->has_bone2));
}

/* Blends lanes with an influence below 1 from the input pose towards the solution, bone lengths included. */
ik_inline void two_bone_weigh(const two_bone_in *in, const limb *l, two_bone_out *out, vec3 *mid, vec3 *end) {
    const real one = real_splat(1);
    mask part = mask_less(in->influence, one);
    if (!mask_any(part)) return;
    real share = real_max(in->influence, real_splat(0));
    out->root = quat_select(part, quat_weighted(out->root, share), out->root);
    out->mid = quat_select(part, quat_weighted(out->mid, share), out->mid);
    vec3 weighted = quat_rotate(out->root, l->bone1);
    vec3 tip = vec3_add(weighted, quat_rotate(out->root, quat_rotate(out->mid, l->bone2)));
    if (in->stretch_given) {
        real stretch = one + share * (out->stretch - one), longer = stretch / out->stretch;
        weighted = vec3_scale(longer, weighted);
        tip = vec3_scale(longer, tip);
        out->stretch = real_select(part, stretch, out->stretch);
    }
    *mid = vec3_select(part, weighted, *mid);
    *end = vec3_select(part, tip, *end);
}

/* Positions of the joints, residual error and status. `scale` keeps both sides of the difference from overflow. */
ik_inline void two_bone_judge(const two_bone_in *in, const limb *l, const two_bone_reach *reach, vec3 to_target,
                              real scale, vec3 mid, vec3 end, two_bone_out *out) {
    out->positions[0] = in->root;
    out->positions[1] = vec3_add(in->root, vec3_scale(l->unscale, mid));
    out->positions[2] = vec3_add(in->root, vec3_scale(l->unscale, end));
    real error = vec3_length(vec3_sub(vec3_scale(scale, to_target), vec3_scale(scale * l->unscale, end)));
    real sum = l->length1 + l->length2, inner = real_abs(l->length1 - l->length2);
    mask missed = mask_less(real_splat(TWO_BONE_TOLERANCE) * sum * (scale * l->unscale), error);
    mask near = mask_less(reach->distance, inner), explained = reach->softened | reach->limited;
    if (in->influence_given) {
        mask part = mask_less(in->influence, real_splat(1));
        explained |= part;
        out->status |= part & mask_splat(IK_PARTIAL_INFLUENCE);
    }
    mask far = ~near & (~explained | mask_less(sum, reach->distance));
    out->error = error * real_unscale(scale);
    out->status |= missed & ((near & mask_splat(IK_TOO_NEAR)) | (far & mask_splat(IK_TOO_FAR)));
    out->status |= missed & reach->softened & mask_splat(IK_SOFTENED);
    out->status |= missed & reach->limited & mask_splat(IK_AT_LIMIT);
}

/* At influence 0, a target, pole or bend that is not a number is ignored. */
ik_inline void two_bone_ignore(two_bone_in *in) {
    mask none = ~mask_less(real_splat(0), in->influence) & mask_is_number(in->influence);
    vec3 zero = vec3_splat(0, 0, 0);
    in->target = vec3_select(none & ~vec3_is_finite(in->target), in->end, in->target);
    in->pole = vec3_select(none & ~vec3_is_finite(in->pole), in->root, in->pole);
    in->bend = vec3_select(none & ~vec3_is_finite(in->bend), zero, in->bend);
}

ik_inline two_bone_out two_bone(two_bone_in *in) {
    two_bone_out out;
    if (in->influence_given) two_bone_ignore(in);
    vec3 to_target = vec3_sub(in->target, in->root);
    real target_scale = real_unit_scale(vec3_size(to_target));
    direction target = vec3_direction(vec3_scale(target_scale, to_target));
    limb l = limb_of(in);
    mask at_root = ~mask_less(real_splat(0), target.length);
    if (two_bone_any(in, at_root)) target.unit = vec3_select(at_root, limb_line(&l), target.unit);

    real distance = target.length * (l.scale * real_unscale(target_scale));
    out.stretch = in->stretch_given ? two_bone_stretch(in, &l, distance) : real_splat(1);
    two_bone_reach reach = two_bone_reach_of(in, &l, distance);
    two_bone_choice choice = two_bone_hinge(in, &l, target.unit);
    out.status = choice.undefined & mask_splat(IK_POLE_UNDEFINED);
    out.flip = in->flip_wanted ? real_atan2(choice.across, choice.line) : real_splat(0);
    if (in->twist_given) choice.n = vec3_turned(choice.n, target.unit, in->twist);

    mat3 root;
    two_bone_deltas(in, &l, two_bone_triangle(in, &l, reach.r), target.unit, choice.n, &root, &out.mid);
    out.root = quat_of_matrix(root);
    vec3 mid = mat3_apply(root, l.bone1);
    vec3 end = vec3_add(mid, mat3_apply(root, quat_rotate(out.mid, l.bone2)));
    if (in->influence_given) two_bone_weigh(in, &l, &out, &mid, &end);
    two_bone_judge(in, &l, &reach, to_target, real_min(l.scale, target_scale), mid, end, &out);
    if (two_bone_any(in, two_bone_suspect(in, &l, &out))) two_bone_reject(in, l.has_bone1 | l.has_bone2, &out);
    return out;
}
