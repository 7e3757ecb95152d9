/* The limb in a plane, as joint angles. The contract is at ik_two_bone_2d_job in ik.h.
 *
 * The triangle is that of two_bone.h. Its angles come from tangents of quantities that do not cancel:
 *
 *   tan(bend / 2) = sqrt((S - r)(S + r)) / sqrt((r - D)(r + D))     S = l1 + l2, D = |l1 - l2|, r the distance reached
 *   tan(A)        = heron / (r^2 + (l1 - l2) S)                     A the angle at the root, heron the product of roots
 *
 * The branches are (direction - A, bend) and (direction + A, -bend). Space: scaled so that S is near 1. */

typedef struct {
    real length1, length2, x, y;
} two_bone_2d_in;

typedef struct {
    real first[2], second[2]; /* the angles, by branch */
    mask status;
    real error;
} two_bone_2d_out;

/* The position error of the end, by forward kinematics. */
ik_inline real two_bone_2d_error(two_bone_2d_in in, real first, real second) {
    cosine_sine one = real_sincos(first), both = real_sincos(first + second);
    real x = in.length1 * one.cosine + in.length2 * both.cosine - in.x;
    real y = in.length1 * one.sine + in.length2 * both.sine - in.y;
    return real_sqrt(x * x + y * y);
}

ik_inline two_bone_2d_out two_bone_2d(two_bone_2d_in in) {
    real zero = real_splat(0), one = real_splat(1);
    real scale = real_unit_scale(real_abs(in.length1) + real_abs(in.length2));
    real target_scale = real_min(scale, real_unit_scale(real_abs(in.x) + real_abs(in.y)));
    real l1 = scale * real_abs(in.length1), l2 = scale * real_abs(in.length2);
    real sum = l1 + l2, difference = l1 - l2, inner = real_abs(difference);
    vec3 target = {target_scale * in.x, target_scale * in.y, zero};
    real distance = vec3_length(target) * (scale * real_unscale(target_scale));
    real r = real_max(real_min(distance, sum), inner);

    /* S - r and r - D in Kahan's order, so that no round-off of S or D remains in a small difference. */
    real longer = real_max(l1, l2), shorter = real_min(l1, l2);
    real to_straight = shorter - (r - longer), to_folded = real_min(shorter, r) - (longer - real_max(shorter, r));
    to_straight = real_select(mask_less(distance, sum), real_max(to_straight, zero), zero);
    to_folded = real_select(mask_less(inner, distance), real_max(to_folded, zero), zero);
    real outside = real_sqrt(to_straight * (sum + r)), inside = real_sqrt(to_folded * (r + inner));
    real bend = real_splat(2) * real_atan2(outside, inside);
    mask apart = mask_less(zero, r); /* else folded onto the root, with bone 1 perpendicular to the direction */
    real at_root =
        real_atan2(real_select(apart, outside * inside, one), real_select(apart, r * r + difference * sum, zero));
    real direction = real_atan2(target.y, target.x);
    two_bone_2d_out out = {{direction - at_root, direction + at_root}, {bend, -bend}, mask_splat(0), zero};

    two_bone_2d_in near = {l1, l2, scale * in.x, scale * in.y};
    out.error = real_select(mask_less(sum + sum, distance), distance - r, two_bone_2d_error(near, out.first[0], bend));
    mask missed = mask_less(real_splat(TWO_BONE_TOLERANCE) * sum, out.error);
    mask side = mask_select(mask_less(distance, r), mask_splat(IK_TOO_NEAR), mask_splat(IK_TOO_FAR));
    out.error = out.error * real_unscale(scale);
    out.status = missed & side;

    mask finite = mask_is_finite(in.length1 + in.length2 + in.x + in.y) & mask_is_finite(out.error);
    mask usable = finite & mask_less(zero, sum);
    mask why = mask_select(finite, mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE));
    out.status = mask_select(usable, out.status, why);
    out.error = real_select(usable, out.error, real_nan());
    for (int branch = 0; branch < 2; branch++) {
        out.first[branch] = real_select(usable, out.first[branch], real_nan());
        out.second[branch] = real_select(usable, out.second[branch], real_nan());
    }
    return out;
}

static void two_bone_2d_rows(const ik_two_bone_2d_job *job, ptrdiff_t first, ptrdiff_t last) {
    const ik_rows x = lanes_column(&job->target, 0), y = lanes_column(&job->target, 1);
    EACH_GROUP (at, first, last) {
        two_bone_2d_out out = two_bone_2d((two_bone_2d_in){
            lanes_load_real(&job->length1, at),
            lanes_load_real(&job->length2, at),
            lanes_load_real(&x, at),
            lanes_load_real(&y, at),
        });
        for (int branch = 0; branch < 2; branch++)
            lanes_store_pair(&job->angles[branch], at, out.first[branch], out.second[branch]);
        lanes_store_status(&job->status, at, out.status);
        lanes_store_real(&job->error, at, out.error);
    }
}
