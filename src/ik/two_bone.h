/* The limb: two bones in closed form. The contract is at ik_two_bone_job in ik.h.
 *
 * Idea. The bones and the distance to the target are the sides of a triangle, which fixes the angles; the target fixes
 * one direction, the pole the plane. So place the knee by the law of cosines, then turn each bone, and the hinge with
 * it, from where it was to where it should be.
 *
 *   l1, l2   the bones                          e   unit vector from root to target
 *   r        the distance from root to end      n   unit vector of the hinge: turning about it takes bone 1 to bone 2
 *   n, e     perpendicular                      m = e x n, the side the knee is on
 *
 *   knee = x e + h m,   x = (r + (l1 - l2)(l1 + l2) / r) / 2,   h = sqrt((l1+l2+r)(l1+l2-r)(r-l1+l2)(r+l1-l2)) / (2 r)
 *
 * The products under the root are Heron's, after W. Kahan, "Miscalculating area and angles of a needle-like triangle":
 * each factor is a difference of measured lengths, so nothing cancels near the straight or the folded limb, where
 * l1^2 - x^2 would. There is no trigonometry: angles only ever appear as pairs of perpendicular directions.
 *
 * Space: everything is relative to the root, and scaled by the power of two that brings the longest bone near 1. */

/* Of the reach. Rounding stays a hundred times below it. */
#define TWO_BONE_TOLERANCE (IK_BITS == 64 ? 1e-12 : 1e-5)

typedef struct {
    vec3 root, mid, end, target, pole, bend;
    int pole_given, bend_given; /* the same for all items of a batch */
} two_bone_in;

typedef struct {
    quat root, mid;
    vec3 positions[3];
    mask status;
    real error;
} two_bone_out;

/* What the input pose is: bones as directions and lengths, and the hinge. */
typedef struct {
    real scale, unscale; /* world to limb, and back */
    vec3 bone1, bone2;   /* scaled */
    real length1, length2;
    vec3 unit1, unit2; /* a bone without length takes the direction of the other */
    vec3 hinge;        /* unit, across bone 1; where the limb is straight or folded, any */
    mask has_bone1, has_bone2, has_hinge;
} limb;

/* Where the bones should point, and the hinge with them. */
typedef struct {
    vec3 unit1, unit2, hinge;
} two_bone_goal;

ik_inline limb limb_of(const two_bone_in *in) {
    limb l;
    vec3 bone1 = vec3_sub(in->mid, in->root), bone2 = vec3_sub(in->end, in->mid);
    l.scale = real_unit_scale(vec3_size(bone1) + vec3_size(bone2));
    l.unscale = real_unscale(l.scale);
    l.bone1 = vec3_scale(l.scale, bone1);
    l.bone2 = vec3_scale(l.scale, bone2);

    direction first = vec3_direction(l.bone1), second = vec3_direction(l.bone2);
    direction hinge = vec3_direction(vec3_cross(first.unit, second.unit));
    l.length1 = first.length, l.length2 = second.length;
    l.unit1 = first.unit, l.unit2 = second.unit;
    l.hinge = vec3_across(hinge.unit, first.unit);
    l.has_bone1 = mask_less(real_splat(TINY_LENGTH), l.length1);
    l.has_bone2 = mask_less(real_splat(TINY_LENGTH), l.length2);
    l.has_hinge = l.has_bone1 & l.has_bone2 & mask_less(real_splat(TINY_SINE), hinge.length);
    if (mask_any(~l.has_hinge)) {
        vec3 second_or_any = vec3_select(l.has_bone2, l.unit2, vec3_splat(1, 0, 0));
        l.unit1 = vec3_select(l.has_bone1, l.unit1, second_or_any);
        l.unit2 = vec3_select(l.has_bone2, l.unit2, l.unit1);
        l.hinge = vec3_select(l.has_hinge, l.hinge, vec3_perpendicular(l.unit1));
    }
    return l;
}

/* The unit vector from root to end. Where they coincide, the one that has the knee stand straight off the line. */
ik_inline vec3 limb_line(const limb *l) {
    direction line = vec3_direction(vec3_add(l->bone1, l->bone2));
    mask folded = mask_less(line.length, real_splat(TINY_SINE) * (l->length1 + l->length2));
    return vec3_select(folded, vec3_cross(l->hinge, l->unit1), line.unit);
}

/* The hinge that has the limb bend towards a direction of any length, where that decides it: lanes not yet decided. */
ik_inline void two_bone_hinge_towards(vec3 towards, vec3 e, vec3 *n, mask *decided) {
    towards = vec3_scale(real_unit_scale(vec3_size(towards)), towards);
    direction hinge = vec3_direction(vec3_cross(towards, e));
    real least = real_splat(TINY_SINE * TINY_SINE) * vec3_dot(towards, towards);
    *n = vec3_select(*decided, *n, hinge.unit);
    *decided |= mask_less(least, hinge.length * hinge.length);
}

/* The new hinge: from the pole, else the bend direction, else the present one carried along. */
ik_inline vec3 two_bone_hinge(const two_bone_in *in, const limb *l, vec3 e, mask *undefined) {
    vec3 n = vec3_splat(0, 0, 0);
    mask decided = mask_splat(0);
    *undefined = ~l->has_hinge;
    if (in->pole_given) {
        two_bone_hinge_towards(vec3_sub(in->pole, in->root), e, &n, &decided);
        *undefined = ~decided;
    }
    if (in->bend_given && mask_any(~decided)) {
        two_bone_hinge_towards(in->bend, e, &n, &decided);
        *undefined = in->pole_given ? *undefined : ~decided;
    }
    if (mask_any(~decided)) n = vec3_select(decided, n, vec3_carried(l->hinge, limb_line(l), e));
    return vec3_across(n, e);
}

/* The triangle: bone directions for an end at distance r along e, with the knee on the side m. */
ik_inline two_bone_goal two_bone_triangle(const limb *l, real r, vec3 e, vec3 n) {
    real half = real_splat(0.5f), sum = l->length1 + l->length2, difference = l->length1 - l->length2;
    real inner = real_abs(difference);
    real inverse = half / (r + real_splat(0x1p-120f));
    real heron = real_sqrt((sum + r) * (sum - r) * ((r - inner) * (r + inner)));
    real x = half * r + difference * sum * inverse, h = heron * inverse;
    mask apart = mask_less(real_splat(0), r);
    if (mask_any(~apart)) /* folded onto its root, the knee standing straight off */
        h = real_select(apart, h, l->length1);

    vec3 m = vec3_cross(e, n);
    vec3 knee = vec3_add(vec3_scale(x, e), vec3_scale(h, m));
    direction bone1 = vec3_direction(knee), bone2 = vec3_direction(vec3_sub(vec3_scale(r, e), knee));
    mask has1 = l->has_bone1 & mask_less(real_splat(TINY_LENGTH), bone1.length);
    mask has2 = l->has_bone2 & mask_less(real_splat(TINY_LENGTH), bone2.length);
    if (mask_any(~(has1 & has2))) { /* no bone, or one lost in the rounding of the other */
        bone1.unit = vec3_select(has1, bone1.unit, vec3_select(has2, bone2.unit, e));
        bone2.unit = vec3_select(has2, bone2.unit, bone1.unit);
    }
    return (two_bone_goal){bone1.unit, bone2.unit, n};
}

/* World deltas. The root takes bone 1 and the hinge along; the mid joint turns bone 2 about the hinge. A limb without a
 * hinge gets the one that makes the root's delta the shortest arc, to which bone 2 need not be at right angles. */
ik_inline void two_bone_deltas(limb *l, two_bone_goal goal, mat3 *root, quat *mid) {
    int odd = mask_any(~l->has_hinge);
    if (odd) {
        vec3 unbent = vec3_across(vec3_carried(goal.hinge, goal.unit1, l->unit1), l->unit1);
        l->hinge = vec3_select(l->has_hinge, l->hinge, unbent);
    }
    *root = mat3_between_frames(l->unit1, l->hinge, goal.unit1, goal.hinge);
    vec3 unit2 = mat3_unapply(*root, goal.unit2);
    *mid = quat_turn(l->unit2, unit2, l->hinge);
    if (odd) *mid = quat_select(l->has_hinge, *mid, quat_arc(l->unit2, unit2, l->hinge));
}

/* Lanes whose answer would not be finite, or that have no bones, cannot be used: their pose stays the input's. */
ik_inline void two_bone_reject(const two_bone_in *in, mask has_length, two_bone_out *out) {
    mask finite = vec3_is_finite(in->root) & vec3_is_finite(in->mid) & vec3_is_finite(in->end) &
                  vec3_is_finite(in->target) & vec3_is_finite(out->positions[1]) & vec3_is_finite(out->positions[2]) &
                  mask_is_finite(out->error);
    if (in->pole_given) finite &= vec3_is_finite(vec3_sub(in->pole, in->root));
    if (in->bend_given) finite &= vec3_is_finite(in->bend);
    mask usable = finite & has_length;
    out->root = quat_select(usable, out->root, quat_identity());
    out->mid = quat_select(usable, out->mid, quat_identity());
    out->positions[0] = vec3_canonical_nan(in->root);
    out->positions[1] = vec3_canonical_nan(vec3_select(usable, out->positions[1], in->mid));
    out->positions[2] = vec3_canonical_nan(vec3_select(usable, out->positions[2], in->end));
    out->error = real_select(finite, out->error, real_nan());
    mask why = mask_select(finite, mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE));
    out->status = mask_select(usable, out->status, why);
}

/* Lanes that two_bone_reject has to look at: a sum is not finite if a part of it is not (or if it overflows). */
ik_inline mask two_bone_suspect(const two_bone_in *in, const limb *l, const two_bone_out *out) {
    vec3 sum = vec3_add(vec3_add(vec3_add(in->root, in->mid), vec3_add(in->end, in->target)),
                        vec3_add(out->positions[1], out->positions[2]));
    if (in->pole_given) sum = vec3_add(sum, vec3_sub(in->pole, in->root));
    if (in->bend_given) sum = vec3_add(sum, in->bend);
    return ~(mask_is_finite(sum.x + sum.y + sum.z + out->error) & (l->has_bone1 | l->has_bone2));
}

ik_inline two_bone_out two_bone(const two_bone_in *in) {
    limb l = limb_of(in);
    vec3 to_target = vec3_sub(in->target, in->root);
    real target_scale = real_unit_scale(vec3_size(to_target));
    direction target = vec3_direction(vec3_scale(target_scale, to_target));
    mask at_root = ~mask_less(real_splat(0), target.length);
    if (mask_any(at_root)) target.unit = vec3_select(at_root, limb_line(&l), target.unit);

    real sum = l.length1 + l.length2, inner = real_abs(l.length1 - l.length2);
    real distance = target.length * (l.scale * real_unscale(target_scale));
    real r = real_max(real_min(distance, sum), inner);
    r = real_select(mask_less(r, real_splat(TINY_LENGTH)), real_splat(0), r);

    mask undefined;
    vec3 n = two_bone_hinge(in, &l, target.unit, &undefined);
    mat3 root;
    two_bone_out out;
    two_bone_deltas(&l, two_bone_triangle(&l, r, target.unit, n), &root, &out.mid);
    out.root = quat_of_matrix(root);

    vec3 mid = mat3_apply(root, l.bone1);
    vec3 end = vec3_add(mid, mat3_apply(root, quat_rotate(out.mid, l.bone2)));
    out.positions[0] = in->root;
    out.positions[1] = vec3_add(in->root, vec3_scale(l.unscale, mid));
    out.positions[2] = vec3_add(in->root, vec3_scale(l.unscale, end));

    real scale = real_min(l.scale, target_scale); /* so that neither side of the difference overflows */
    real error = vec3_length(vec3_sub(vec3_scale(scale, to_target), vec3_scale(scale * l.unscale, end)));
    mask missed = mask_less(real_splat(TWO_BONE_TOLERANCE) * sum * (scale * l.unscale), error);
    mask side = mask_select(mask_less(distance, r), mask_splat(IK_TOO_NEAR), mask_splat(IK_TOO_FAR));
    out.error = error * real_unscale(scale);
    out.status = (missed & side) | (undefined & mask_splat(IK_POLE_UNDEFINED));
    if (mask_any(two_bone_suspect(in, &l, &out))) two_bone_reject(in, l.has_bone1 | l.has_bone2, &out);
    return out;
}

static void two_bone_rows(const ik_two_bone_job *job, ptrdiff_t first, ptrdiff_t last) {
    two_bone_in in = {.pole_given = job->pole.data != NULL, .bend_given = job->bend.data != NULL};
    EACH_GROUP (at, first, last) {
        in.root = lanes_load_vec3(&job->root, at);
        in.mid = lanes_load_vec3(&job->mid, at);
        in.end = lanes_load_vec3(&job->end, at);
        in.target = lanes_load_vec3(&job->target, at);
        if (in.pole_given) in.pole = lanes_load_vec3(&job->pole, at);
        if (in.bend_given) in.bend = lanes_load_vec3(&job->bend, at);
        two_bone_out out = two_bone(&in);
        lanes_store_quat(&job->root_delta, at, out.root);
        lanes_store_quat(&job->mid_delta, at, out.mid);
        lanes_store_3_vec3(job->positions, at, out.positions);
        lanes_store_status(&job->status, at, out.status);
        lanes_store_real(&job->error, at, out.error);
    }
}
