/* The rotation that a joint of a look needs: towards the target, within the clamp, and with up towards the pole. */

typedef struct {
    vec3 origin, target, forward, offset, up, pole, reference;
    quat rotation;
    real scale, clamp, clamp_start, influence;
    int pole_given, clamp_given;
} look_in;

/* The current chain, seen from the joint that a sweep has reached. */
typedef struct {
    vec3 joint;            /* its position */
    quat turned;           /* by all joints before it */
    vec3 seat;             /* the last joint that has a weight */
    vec3 start, along, up; /* the ray */
} look_pose;

#if IK_BITS == 64
static const double decay_terms[14] = {
    1,         1,          1. / 2,      1. / 6,       1. / 24,       1. / 120,       1. / 720,
    1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800};
static const double ln2[2] = {0x1.62e42feep-1, 0x1.a39ef35793c76p-33};
#else
static const float decay_terms[8] = {1, 1, 1.f / 2, 1.f / 6, 1.f / 24, 1.f / 120, 1.f / 720, 1.f / 5040};
static const float ln2[2] = {0x1.62e4p-1f, 0x1.7f7d1cp-20f};
#endif

/* e^-x for x >= 0. Beyond 64, the result is that of 64, about 1e-28. It is computed as 2^-n e^r: r is
 * between -ln 2 / 2 and ln 2 / 2, and e^r is its series. */
ik_inline real real_decay(real x) {
    const real rounder = real_splat(IK_BITS == 64 ? (number)0x1.8p52 : (number)0x1.8p23);
    x = real_min(real_max(x, real_splat(0)), real_splat(64));
    real shifted = x * real_splat((number)0x1.71547652b82fep+0) + rounder, n = shifted - rounder;
    real r = (n * real_splat(ln2[0]) - x) + n * real_splat(ln2[1]);
    mask halvings = (real_bits(shifted) - real_bits(rounder)) << EXPONENT_SHIFT;
    real power = real_from_bits(real_bits(real_splat(1)) - halvings);
    return power * real_polynomial(decay_terms, COUNT_OF(decay_terms), r);
}

typedef struct {
    vec3 along;  /* the allowed direction */
    mask acts;   /* lanes where it differs from the wanted one */
    mask beyond; /* lanes where the wanted one is outside the cone */
} look_clamped;

/* Clamps a direction to the cone about the reference. The cone's angle `most` is approached as most - rest e^(-(angle -
 * start) / rest). */
ik_outline void look_cone(const look_in *in, const vec3 *up, look_clamped *clamped) {
    const real zero = real_splat(0), one = real_splat(1);
    vec3 axis = in->reference, along = clamped->along;
    real forwards = vec3_dot(axis, along);
    direction side = vec3_direction(vec3_sub(along, vec3_scale(forwards, axis)));
    mask opposite = mask_less(side.length, real_splat(TINY_SINE));
    if (mask_any(opposite)) {
        vec3 sideways = vec3_cross(vec3_perpendicular_near(*up, axis), axis);
        side.unit = vec3_select(opposite, sideways, side.unit);
    }
    side.unit = vec3_across(side.unit, axis);
    real angle = real_atan2(vec3_length(vec3_cross(axis, along)), forwards);
    real most = real_splat(HALF_TURN) * (one - in->clamp), start = in->clamp_start * most, rest = most - start;
    mask hard = ~mask_less(zero, rest);
    real decay = real_decay((angle - start) / real_select(hard, one, rest));
    real allowed = most - real_select(hard, zero, rest * decay);
    cosine_sine turned = real_sincos(allowed);
    vec3 kept = vec3_add(vec3_scale(turned.cosine, axis), vec3_scale(turned.sine, side.unit));
    mask has_axis = ~mask_equal(vec3_dot(axis, axis), zero), acts = has_axis & mask_less(start, angle);
    *clamped = (look_clamped){vec3_select(acts, kept, along), acts, has_axis & mask_less(most, angle)};
}

ik_inline look_clamped look_clamp(const look_in *in, vec3 along, vec3 up) {
    look_clamped clamped = {along, mask_splat(0), mask_splat(0)};
    if (in->clamp_given) look_cone(in, &up, &clamped);
    return clamped;
}

ik_inline vec3 look_direction(vec3 from, vec3 to, vec3 otherwise) {
    direction d = vec3_direction_of_any(vec3_sub(to, from));
    return vec3_select(mask_less(real_splat(0), d.length), d.unit, otherwise);
}

/* The shortest arc. Half a turn goes about `axis`, made perpendicular to `from`, or about another axis if that is
 * undefined. */
ik_inline turn look_arc(vec3 from, vec3 to, vec3 axis) {
    direction normal = vec3_direction_of_any(vec3_cross(from, to));
    real cosine = vec3_dot(from, to);
    mask opposite = mask_less(normal.length, real_splat(TINY_SINE)) & mask_less(cosine, real_splat(0));
    if (mask_any(opposite)) normal.unit = vec3_select(opposite, vec3_perpendicular_near(axis, from), normal.unit);
    return (turn){normal.unit, real_splat(0.5f) * real_atan2(normal.length, cosine)};
}

/* From the ray to the direction it should have. */
ik_outline turn look_gaze(const look_in *in, const look_pose *pose, const vec3 *to) {
    vec3 wanted = look_direction(pose->start, *to, pose->along);
    return look_arc(pose->along, look_clamp(in, wanted, pose->up).along, pose->up);
}

/* The rotation about the ray that takes up to the pole's side of the line from the seat to the point the ray should
 * meet, as in aim. It is about the ray, so the ray keeps its direction. */
ik_outline turn look_roll(const look_in *in, const look_pose *pose, const vec3 *to, mask *undefined) {
    vec3 target = *to, wanted = look_direction(pose->start, target, pose->along);
    look_clamped clamped = look_clamp(in, wanted, pose->up);
    real distance = vec3_length(vec3_sub(target, pose->start));
    vec3 met = vec3_select(clamped.acts, vec3_add(pose->start, vec3_scale(distance, clamped.along)), target);
    vec3 line = look_direction(pose->seat, met, pose->along);
    direction up = aim_side(pose->up, line), pole = aim_side(vec3_sub(in->pole, pose->seat), line);
    *undefined = ~(mask_less(real_splat(TINY_SINE), up.length) & mask_less(real_splat(TINY_SINE), pole.length));
    real angle = real_atan2(vec3_dot(line, vec3_cross(up.unit, pole.unit)), vec3_dot(up.unit, pole.unit));
    return (turn){pose->along, real_select(*undefined, real_splat(0), real_splat(0.5f) * angle)};
}

ik_inline quat look_share(turn whole, real share) { return quat_of_turn((turn){whole.axis, share * whole.half}); }

ik_inline look_pose look_pose_select(mask choose, look_pose a, look_pose b) {
    return (look_pose){vec3_select(choose, a.joint, b.joint), quat_select(choose, a.turned, b.turned),
                       vec3_select(choose, a.seat, b.seat),   vec3_select(choose, a.start, b.start),
                       vec3_select(choose, a.along, b.along), vec3_select(choose, a.up, b.up)};
}

ik_inline vec3 look_about(vec3 point, vec3 joint, quat by) {
    return vec3_add(joint, quat_rotate(by, vec3_sub(point, joint)));
}

/* Rotates everything below the joint. */
ik_inline void look_turn(look_pose *pose, quat by) {
    pose->seat = look_about(pose->seat, pose->joint, by);
    pose->start = look_about(pose->start, pose->joint, by);
    pose->along = quat_rotate(by, pose->along);
    pose->up = quat_rotate(by, pose->up);
}

/* The residual rotation at the seat joint: in closed form, except where the clamp acts. If the closed form ends outside
 * the cone, it is brought back. */
ik_inline quat look_finish(const look_in *in, look_pose pose, mask *status) {
    aim_in rest = {.position = pose.joint,
                   .target = in->target,
                   .forward = pose.along,
                   .offset = vec3_sub(pose.start, pose.joint),
                   .up = pose.up,
                   .pole = in->pole,
                   .rotation = quat_identity(),
                   .offset_given = 1,
                   .pole_given = in->pole_given};
    aim_out aimed = aim(&rest);
    *status = aimed.status & mask_splat(IK_POLE_UNDEFINED);
    if (!in->clamp_given) return aimed.delta;

    vec3 wanted = look_direction(pose.start, in->target, pose.along);
    mask acts = look_clamp(in, wanted, pose.up).acts, undefined = mask_splat(0);
    quat by = quat_select(acts, quat_identity(), aimed.delta);
    look_turn(&pose, by);
    wanted = vec3_select(acts, wanted, pose.along);
    quat kept = look_share(look_arc(pose.along, look_clamp(in, wanted, pose.up).along, pose.up), real_splat(1));
    look_turn(&pose, kept);
    by = quat_multiply(kept, by);
    if (in->pole_given) {
        quat roll = look_share(look_roll(in, &pose, &in->target, &undefined), real_splat(1));
        by = quat_select(acts, quat_multiply(roll, by), by);
        *status = mask_select(acts, undefined & mask_splat(IK_POLE_UNDEFINED), *status);
    }
    return by;
}
