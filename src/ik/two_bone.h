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
    mask pole_given, bend_given;
} two_bone_in;

typedef struct {
    quat root, mid;
    vec3 positions[3];
    mask status;
    real error;
} two_bone_out;

/* What the input pose is: bones as directions and lengths, the line from root to end, the hinge. */
typedef struct {
    real scale, unscale; /* world to limb, and back */
    vec3 bone1, bone2;   /* scaled */
    real length1, length2;
    vec3 unit1, unit2; /* a bone without length takes the direction of the other */
    vec3 line;         /* unit vector from root to end; where they coincide, across bone 1 */
    vec3 hinge;        /* unit, across the line; where the limb is straight or folded, any that keeps the knee's side */
    mask has_hinge, has_length;
} limb;

/* Where the bones should point and the hinge with them. */
typedef struct {
    vec3 unit1, unit2, hinge;
} two_bone_goal;

ik_inline limb limb_of(two_bone_in in) {
    limb l;
    vec3 bone1 = vec3_sub(in.mid, in.root), bone2 = vec3_sub(in.end, in.mid);
    l.scale = real_unit_scale(real_max(vec3_largest(bone1), vec3_largest(bone2)));
    l.unscale = real_unit_scale(l.scale);
    l.bone1 = vec3_scale(l.scale, bone1);
    l.bone2 = vec3_scale(l.scale, bone2);

    direction first = vec3_direction(l.bone1, vec3_splat(1, 0, 0));
    direction second = vec3_direction(l.bone2, first.unit);
    l.length1 = first.length;
    l.length2 = second.length;
    l.unit1 = vec3_select(first.defined, first.unit, second.unit);
    l.unit2 = second.unit;
    l.has_length = first.defined | second.defined;

    vec3 any = vec3_perpendicular(l.unit1);
    direction line = vec3_direction_near_one(vec3_add(l.bone1, l.bone2), any);
    direction hinge = vec3_direction_near_one(vec3_cross(l.unit1, l.unit2), any);
    mask folded = mask_less(line.length, real_splat(TINY_SINE) * (l.length1 + l.length2)); /* end on root */
    l.line = vec3_select(folded, any, line.unit);
    l.has_hinge = ~folded & mask_less(real_splat(TINY_SINE), hinge.length);
    l.hinge = vec3_select(l.has_hinge, hinge.unit, vec3_select(folded, vec3_cross(l.unit1, any), any));
    return l;
}

/* The new hinge: from the pole, else the bend direction, else the present one carried along. */
ik_inline vec3 two_bone_hinge(two_bone_in in, const limb *l, vec3 e, mask *undefined) {
    vec3 none = vec3_splat(0, 0, 0);
    direction to_pole = vec3_direction(vec3_sub(in.pole, in.root), none);
    direction bend = vec3_direction(in.bend, none);
    direction by_pole = vec3_direction_near_one(vec3_cross(to_pole.unit, e), none);
    direction by_bend = vec3_direction_near_one(vec3_cross(bend.unit, e), none);
    mask pole_decides = in.pole_given & mask_less(real_splat(TINY_SINE), by_pole.length);
    mask bend_decides = in.bend_given & mask_less(real_splat(TINY_SINE), by_bend.length);

    vec3 n = vec3_select(bend_decides, by_bend.unit, vec3_carried(l->hinge, l->line, e));
    n = vec3_select(pole_decides, by_pole.unit, n);

    mask nothing_given = ~in.pole_given & ~in.bend_given;
    *undefined = (in.pole_given & ~pole_decides) | (~in.pole_given & in.bend_given & ~bend_decides) |
                 (nothing_given & ~l->has_hinge);
    return vec3_across(n, e);
}

/* The triangle: bone directions for an end at distance r along e, with the knee on the side m. */
ik_inline two_bone_goal two_bone_triangle(const limb *l, real r, vec3 e, vec3 n) {
    real zero = real_splat(0), half = real_splat(0.5f);
    real sum = l->length1 + l->length2, difference = l->length1 - l->length2, inner = real_abs(difference);
    mask apart = mask_less(zero, r); /* else the limb is folded onto its root and the knee stands straight off */
    real inverse = real_splat(1) / real_select(apart, r, real_splat(1));
    real heron = real_sqrt((sum + r) * (sum - r) * ((r - inner) * (r + inner)));
    real x = half * (r + difference * sum * inverse);
    real h = real_select(apart, half * heron * inverse, l->length1);

    vec3 m = vec3_cross(e, n);
    vec3 knee = vec3_add(vec3_scale(x, e), vec3_scale(h, m));
    direction second = vec3_direction_near_one(vec3_sub(vec3_scale(r, e), knee), e);
    direction first = vec3_direction_near_one(knee, second.unit);
    mask one_bone = mask_equal(l->length1, zero), other_bone = mask_equal(l->length2, zero);
    return (two_bone_goal){vec3_select(one_bone, second.unit, first.unit),
                           vec3_select(other_bone, first.unit, second.unit), n};
}

/* World deltas. A limb without a hinge gets the one that makes the root's delta the shortest arc. */
ik_inline void two_bone_deltas(const limb *l, two_bone_goal goal, quat *root, quat *mid) {
    vec3 unbent = vec3_carried(goal.hinge, goal.unit1, l->unit1);
    vec3 hinge1 = vec3_across(vec3_select(l->has_hinge, l->hinge, unbent), l->unit1);
    vec3 hinge2 = vec3_across(hinge1, l->unit2);
    quat bone1 = quat_between_frames(l->unit1, hinge1, goal.unit1, goal.hinge);
    quat bone2 = quat_between_frames(l->unit2, hinge2, goal.unit2, goal.hinge);
    *root = bone1;
    *mid = quat_canonical(quat_multiply(quat_conjugate(bone1), bone2));
}

/* What cannot be used: lanes whose answer would not be finite. Their pose stays the input's. */
ik_inline void two_bone_reject(two_bone_in in, const limb *l, two_bone_out *out) {
    mask finite = vec3_is_finite(in.root) & vec3_is_finite(in.mid) & vec3_is_finite(in.end) &
                  vec3_is_finite(in.target) & vec3_is_finite(out->positions[1]) & vec3_is_finite(out->positions[2]) &
                  mask_is_finite(out->error) & (~in.pole_given | vec3_is_finite(vec3_sub(in.pole, in.root))) &
                  (~in.bend_given | vec3_is_finite(in.bend));
    mask usable = finite & l->has_length;
    out->root = quat_select(usable, out->root, quat_identity());
    out->mid = quat_select(usable, out->mid, quat_identity());
    out->positions[1] = vec3_canonical_nan(vec3_select(usable, out->positions[1], in.mid));
    out->positions[2] = vec3_canonical_nan(vec3_select(usable, out->positions[2], in.end));
    out->positions[0] = vec3_canonical_nan(in.root);
    out->error = real_select(finite, out->error, real_nan());
    out->status =
        mask_select(usable, out->status, mask_select(finite, mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE)));
}

ik_inline two_bone_out two_bone(two_bone_in in) {
    limb l = limb_of(in);
    direction target = vec3_direction(vec3_sub(in.target, in.root), l.line);
    real distance = target.length * l.scale;
    real sum = l.length1 + l.length2, inner = real_abs(l.length1 - l.length2);
    /* below 2^-60 of the limb a distance is zero: its square must not underflow */
    real reached = real_max(real_min(distance, sum), inner);
    reached = real_select(mask_less(reached, real_splat(0x1p-60f)), real_splat(0), reached);

    mask undefined;
    vec3 e = target.unit;
    vec3 n = two_bone_hinge(in, &l, e, &undefined);
    two_bone_goal goal = two_bone_triangle(&l, reached, e, n);

    two_bone_out out;
    two_bone_deltas(&l, goal, &out.root, &out.mid);
    vec3 mid = quat_rotate(out.root, l.bone1);
    vec3 end = vec3_add(mid, quat_rotate(out.root, quat_rotate(out.mid, l.bone2)));
    out.positions[0] = in.root;
    out.positions[1] = vec3_add(in.root, vec3_scale(l.unscale, mid));
    out.positions[2] = vec3_add(in.root, vec3_scale(l.unscale, end));

    vec3 left = vec3_sub(vec3_sub(in.target, in.root), vec3_scale(l.unscale, end));
    out.error = vec3_direction(left, e).length;
    mask missed = mask_less(real_splat(TWO_BONE_TOLERANCE) * sum * l.unscale, out.error);
    mask too_near = mask_less(distance, reached);
    out.status = (missed & mask_select(too_near, mask_splat(IK_TOO_NEAR), mask_splat(IK_TOO_FAR))) |
                 (undefined & mask_splat(IK_POLE_UNDEFINED));
    two_bone_reject(in, &l, &out);
    return out;
}

static void two_bone_rows(const ik_two_bone_job *job, ptrdiff_t first, ptrdiff_t last) {
    for (; first < last; first += LANES) {
        group at = {first, last - first < LANES ? (int)(last - first) : LANES};
        two_bone_out out = two_bone((two_bone_in){
            .root = lanes_load_vec3(&job->root, at),
            .mid = lanes_load_vec3(&job->mid, at),
            .end = lanes_load_vec3(&job->end, at),
            .target = lanes_load_vec3(&job->target, at),
            .pole = lanes_load_vec3(&job->pole, at),
            .bend = lanes_load_vec3(&job->bend, at),
            .pole_given = lanes_given(&job->pole),
            .bend_given = lanes_given(&job->bend),
        });
        lanes_store_quat(&job->root_delta, at, out.root);
        lanes_store_quat(&job->mid_delta, at, out.mid);
        for (int joint = 0; joint < 3; joint++)
            lanes_store_vec3(&job->positions[joint], at, out.positions[joint]);
        lanes_store_status(&job->status, at, out.status);
        lanes_store_real(&job->error, at, out.error);
    }
}
