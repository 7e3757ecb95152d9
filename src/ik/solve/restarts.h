/* Start poses of further attempts: random poses within limits, another one for every attempt, and the same for every
 * item. A method that hurries (method.h) gets one more attempt after the last restart, from the given pose. */

/* A number between 0 and 1, always the same for the same arguments. */
static inline number attempt_share(int attempt, int joint, int axis) {
    uint32_t x = (uint32_t)attempt * 0x9e3779b9u ^ ((uint32_t)joint * 4 + (uint32_t)axis + 1) * 0x85ebca6bu;
    return (number)random_share_of(x);
}

/* Lanes that start from a random pose, and not from the given one again. */
static mask attempt_is_random(const int *attempts, int restarts) {
    number attempt[LANES];
    for (int lane = 0; lane < LANES; lane++)
        attempt[lane] = (number)attempts[lane];
    return mask_less(real_load(attempt), real_splat((number)restarts + (number)0.5));
}

/* The attempts of all lanes. */
static real attempt_shares(const int *attempts, int joint, int axis) {
    number share[LANES];
    for (int lane = 0; lane < LANES; lane++)
        share[lane] = attempt_share(attempts[lane], joint, axis);
    return real_load(share);
}

/* A hinge's angle. */
static quat attempt_hinge(const int *attempts, int joint, const ik_limit *limit) {
    const double *f = limit->frame;
    quat frame = quat_unit((quat){real_splat((number)f[0]), vec3_of(f + 1)});
    real low = real_splat((number)limit->twist[0]), high = real_splat((number)limit->twist[1]);
    real angle = low + attempt_shares(attempts, joint, 0) * (high - low);
    return quat_of_turn((turn){quat_rotate(frame, vec3_splat(1, 0, 0)), real_splat(0.5f) * angle});
}

/* Any rotation, uniformly distributed (K. Shoemake, "Uniform random rotations", Graphics Gems III, 1992). */
static quat attempt_rotation(const int *attempts, int joint) {
    const real turn = real_splat(8 * eighth_turn[0]), one = real_splat(1);
    real share = attempt_shares(attempts, joint, 0), a = real_sqrt(one - share), b = real_sqrt(share);
    cosine_sine first = real_sincos(turn * attempt_shares(attempts, joint, 1));
    cosine_sine second = real_sincos(turn * attempt_shares(attempts, joint, 2));
    return (quat){a * first.sine, {a * first.cosine, b * second.sine, b * second.cosine}};
}

/* The local rotation of a joint, not yet moved into its limit. Most of these rotations end at the edge of the limit,
 * from where methods reach nearly as many targets as from inside it. Chains with seven kusudamas and two restarts reach
 * at least 99.5 % with dls (99.85 % from inside), 98.95 % with ccd (99.2 %), and all with fabrik. */
static quat attempt_turned(const int *attempts, const ik_skeleton *skeleton, int joint) {
    const ik_limit *limit = skeleton->limits ? &skeleton->limits[joint] : NULL;
    const double *r = skeleton->rests + 4 * (ptrdiff_t)joint;
    if (!limit || limit->kind != IK_HINGE) return attempt_rotation(attempts, joint);
    quat rest = {real_splat((number)r[0]), vec3_of(r + 1)};
    return quat_multiply(rest, attempt_hinge(attempts, joint, limit));
}

/* Its translation: anywhere on its travel if that has two ends, otherwise unchanged. */
static vec3 attempt_slid(const int *attempts, int joint, vec3 low, vec3 high, vec3 now) {
    const real lows[3] = {low.x, low.y, low.z}, highs[3] = {high.x, high.y, high.z};
    real *moved[3] = {&now.x, &now.y, &now.z};
    for (int i = 0; i < 3; i++) {
        real at = lows[i] + attempt_shares(attempts, joint, i) * (highs[i] - lows[i]);
        *moved[i] = real_select(mask_is_finite(at), at, *moved[i]);
    }
    return now;
}
