/* Twist shared along a chain. The contract is at ik_spread_twist_job in ik.h.
 *
 * Idea. Each rotation is q = swing twist about the joint's own bone a; twist angles add up along collinear bones. Joint
 * k rolls about its bone by phi: the sum of the twists assigned to it and the joints above, minus the sum of the twists
 * they had.
 *
 *   q_k <- R(a_above, -phi_above) q_k R(a_k, phi_k)
 *
 * No bone changes its direction. phi is 0 again at the last joint, which therefore keeps its world rotation. */

/* Data of a joint: its rotation, its bone, and its twist about the bone in radians. */
typedef struct {
    quat rotation;
    vec3 bone;
    real twist, weight, poison;
} twist_joint;

/* The twist angle about an axis, in (-pi, pi]. */
ik_inline real twist_about(quat q, vec3 axis) {
    q = quat_short(q);
    real along = vec3_dot(q.v, axis);
    mask defined = mask_less(real_splat(4 * EPSILON), real_sqrt(q.w * q.w + along * along));
    real half = real_atan2(along, q.w);
    return real_select(defined, half + half, real_splat(0));
}

/* Loads joint k; `above` is the bone of the previous joint. */
ik_inline twist_joint twist_load(const ik_spread_twist_job *job, group at, ptrdiff_t k, vec3 above) {
    const real zero = real_splat(0);
    ik_rows rotation = lanes_list_row(&job->rotations, k), rest = lanes_list_row(&job->rests, k);
    ik_rows axis = lanes_list_row(&job->axes, k), share = lanes_list_row(&job->weights, k);
    quat came = lanes_load_quat(&rotation, at), still = lanes_load_quat(&rest, at);
    vec3 given = lanes_load_vec3(&axis, at);
    real weight = job->weights.count ? lanes_load_real(&share, at) : real_splat(1);
    real poison = quat_poison(came) + quat_poison(still) + vec3_poison(given) + real_poison(weight);
    quat back = quat_conjugate(quat_unit(still));
    direction own = vec3_direction_of_any(given);
    vec3 bone = vec3_select(mask_less(zero, own.length), own.unit, quat_rotate(back, above));
    came = quat_unit(came);
    real twist = twist_about(quat_multiply(back, came), bone);
    return (twist_joint){came, bone, twist, real_max(weight, zero), poison};
}

/* The total twist, and the total weight of the joints that share it. */
typedef struct {
    real twist, weight, poison;
    mask has_bones;
} twist_sum;

ik_inline twist_sum twist_survey(const ik_spread_twist_job *job, group at) {
    const real zero = real_splat(0);
    twist_sum sum = {zero, zero, zero, mask_splat(0)};
    vec3 above = vec3_splat(0, 0, 0);
    for (ptrdiff_t k = 0; k < job->rotations.count; k++) {
        twist_joint joint = twist_load(job, at, k, above);
        above = joint.bone;
        sum.poison = sum.poison + joint.poison;
        sum.has_bones |= mask_less(zero, vec3_dot(joint.bone, joint.bone));
        if (k == 0) continue;
        sum.twist = sum.twist + joint.twist;
        sum.weight = sum.weight + joint.weight;
    }
    sum.poison = sum.poison + real_poison(sum.weight);
    return sum;
}

/* A rotation about the bone by an angle. */
ik_inline quat twist_by(vec3 bone, real angle) { return quat_of_turn((turn){bone, real_splat(0.5f) * angle}); }

ik_inline void twist_hand_out(const ik_spread_twist_job *job, group at, const twist_sum *sum, mask usable) {
    const real zero = real_splat(0), one = real_splat(1);
    mask shares = usable & mask_less(zero, sum->weight);
    real total = real_select(shares, sum->weight, one), weights = zero, had = zero, roll = zero;
    vec3 above = vec3_splat(0, 0, 0);
    for (ptrdiff_t k = 0; k < job->rotations.count; k++) {
        ik_rows from = lanes_list_row(&job->rotations, k), to = lanes_list_row(&job->solved, k);
        ik_rows twists = lanes_list_row(&job->twists, k);
        const int is_last = k + 1 == job->rotations.count;
        twist_joint joint = twist_load(job, at, k, above);
        quat came = lanes_load_quat(&from, at), turned = came;
        real twist = zero;
        if (k > 0) {
            quat back = twist_by(above, -roll);
            weights = weights + joint.weight;
            had = had + joint.twist;
            twist = real_select(shares, sum->twist * (joint.weight / total), joint.twist);
            roll = is_last ? zero : sum->twist * (weights / total) - had;
            turned = quat_unit(quat_multiply(quat_multiply(back, joint.rotation), twist_by(joint.bone, roll)));
        }
        turned = quat_select(shares, turned, came);
        quat written = {real_canonical_nan(turned.w), vec3_canonical_nan(turned.v)};
        lanes_store_quat(&to, at, written);
        if (job->twists.rows.data) lanes_store_real(&twists, at, real_select(usable, twist, real_nan()));
        above = joint.bone;
    }
}

static void spread_twist_rows(const ik_spread_twist_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        twist_sum sum = twist_survey(job, at);
        mask finite = mask_is_finite(sum.poison), usable = finite & sum.has_bones;
        twist_hand_out(job, at, &sum, usable);
        mask nobody = ~mask_less(real_splat(0), sum.weight) & mask_splat(IK_PARTIAL_INFLUENCE);
        mask why = mask_select(finite, mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE));
        lanes_store_status(&job->status, at, mask_select(usable, nobody, why));
    }
}
