/* Aiming over several joints: spine, neck and head share a rotation. The contract is at ik_look_job in ik.h.
 *
 * Idea. A pass goes from the root to the tip. Each joint takes a share of the rotation that still separates the ray
 * from the target: its weight divided by the sum of the weights from here to the tip. Later joints therefore share what
 * an earlier one leaves. In log space, the share is a share of the angle about the same axis. If up and pole are given,
 * a second sweep shares the roll about the line to the target in the same way. Turning a joint moves the start of the
 * ray, so passes are repeated; each reduces the error by a factor of about fifty. Finally the last joint with a weight
 * takes the residual in closed form, as aim does. A joint that has all the weight does only this.
 *
 * Two rules restrain the passes. They never aim closer to a joint than the start of the ray is from it, because the
 * chain would curl up. Only the final step aims at the target itself. A direction outside the clamp is replaced by the
 * allowed one.
 *
 * Source: cyclic coordinate descent (Wang and Chen, 1991), from the root and in shares. The clamp softens by the
 * exponential that animators know from soft IK.
 *
 * Memory: registers hold one joint. Each sweep recomputes forward kinematics along the chain. The delta of every joint
 * is kept between sweeps in the output rows.
 *
 * Space: relative to the last joint. A power of two scales the largest length to nearly 1. */

enum { LOOK_PASSES = 4 };

/* The work of one group, and measures of its input. */
typedef struct {
    real total;       /* sum of the weights */
    real first, last; /* indices of the first and last joint with a weight */
    real size;        /* of the chain, scaled */
    vec3 far;         /* the target, or its substitute during the passes */
    mask active;      /* lanes in which passes continue */
    mask still;       /* lanes in which nothing may move */
    mask has_axis;
    mask status;
    real poison;
} look_plan;

/* --- along the chain ---------------------------------------------------------------------------------------------- */

/* Input position of joint k, in the kernel's space. */
ik_inline vec3 look_joint(const ik_look_job *job, const look_in *in, group at, ptrdiff_t k) {
    ik_rows row = lanes_list_row(&job->joints, k);
    return vec3_scale(in->scale, vec3_sub(lanes_load_vec3(&row, at), in->origin));
}

/* Input vector from joint k to the next; zero for the last joint. */
ik_inline vec3 look_bone(const ik_look_job *job, const look_in *in, group at, ptrdiff_t k) {
    ptrdiff_t next = k + 1 < job->joints.count ? k + 1 : k;
    return vec3_sub(look_joint(job, in, at, next), look_joint(job, in, at, k));
}

ik_inline real look_weight(const ik_look_job *job, group at, ptrdiff_t k) {
    if (!job->weights.count) return real_splat(1);
    ik_rows row = lanes_list_row(&job->weights, k);
    real given = lanes_load_real(&row, at);
    return real_max(given, real_splat(0)) + real_poison(given);
}

ik_inline quat look_delta(const ik_look_job *job, group at, ptrdiff_t k) {
    ik_rows row = lanes_list_row(&job->deltas, k);
    return lanes_load_quat(&row, at);
}

ik_inline void look_keep(const ik_look_job *job, group at, ptrdiff_t k, quat delta) {
    ik_rows row = lanes_list_row(&job->deltas, k);
    lanes_store_quat(&row, at, delta);
}

/* At influence 0, a target, pole or reference that is not a number is ignored. */
ik_inline void look_ignore(look_in *in, mask still) {
    in->target = vec3_select(still & ~vec3_is_finite(in->target), in->origin, in->target);
    in->pole = vec3_select(still & ~vec3_is_finite(in->pole), in->origin, in->pole);
    in->reference = vec3_select(still & ~vec3_is_finite(in->reference), vec3_splat(0, 0, 0), in->reference);
}

/* NaN if an input, except the lists, is not finite. */
ik_inline real look_poison(const look_in *in) {
    return quat_poison(in->rotation) + vec3_poison(in->target) + vec3_poison(in->forward) + vec3_poison(in->offset) +
           vec3_poison(in->up) + vec3_poison(in->pole) + vec3_poison(in->reference) + real_poison(in->clamp) +
           real_poison(in->clamp_start) + real_poison(in->influence);
}

/* Finds the joints that can turn and the size of the chain. It then transforms the input to the kernel's space. */
ik_inline look_plan look_survey(const ik_look_job *job, look_in *in, group at) {
    const real zero = real_splat(0), one = real_splat(1);
    look_plan plan = {.total = zero, .first = real_splat(-1), .last = zero};
    real size = vec3_size(in->offset), poison = zero;
    for (ptrdiff_t k = 0; k < job->joints.count; k++) {
        ik_rows row = lanes_list_row(&job->joints, k);
        vec3 joint = vec3_sub(lanes_load_vec3(&row, at), in->origin);
        real weight = look_weight(job, at, k), which = real_splat((number)k);
        mask turns = mask_less(zero, weight);
        plan.first = real_select(turns & mask_less(plan.first, zero), which, plan.first);
        plan.last = real_select(turns, which, plan.last);
        plan.total = plan.total + weight;
        size = real_max(size, vec3_size(joint));
        poison = poison + vec3_poison(joint);
    }
    mask none = ~mask_less(zero, in->influence) & mask_is_number(in->influence);
    plan.still = none | mask_equal(plan.total, zero);
    if (mask_any(plan.still)) look_ignore(in, plan.still);

    direction forward = vec3_direction_of_any(in->forward);
    vec3 target = vec3_sub(in->target, in->origin), pole = vec3_sub(in->pole, in->origin);
    plan.poison = poison + real_poison(plan.total) + vec3_poison(target) + vec3_poison(pole) + look_poison(in);
    plan.has_axis = mask_less(zero, forward.length);
    in->scale = real_unit_scale(real_max(size, vec3_size(target)));
    plan.size = in->scale * size;
    in->rotation = quat_unit(in->rotation);
    in->forward = forward.unit;
    in->reference = vec3_direction_of_any(in->reference).unit;
    in->target = vec3_scale(in->scale, target);
    in->pole = vec3_scale(in->scale, pole);
    in->clamp = real_min(real_max(in->clamp, zero), one);
    in->clamp_start = real_min(real_max(in->clamp_start, zero), one);
    in->influence = real_min(real_max(in->influence, zero), one);
    return plan;
}

/* The input pose, identity deltas, and the smallest distance at which the passes may aim. */
ik_inline look_pose look_begin(const ik_look_job *job, const look_in *in, group at, look_plan *plan) {
    const real zero = real_splat(0);
    look_pose pose = {.along = quat_rotate(in->rotation, in->forward),
                      .up = quat_rotate(in->rotation, in->up),
                      .start = vec3_scale(in->scale, quat_rotate(in->rotation, in->offset)),
                      .seat = vec3_splat(0, 0, 0)};
    real nearest = zero;
    for (ptrdiff_t k = 0; k < job->joints.count; k++) {
        vec3 joint = look_joint(job, in, at, k);
        mask turns = mask_less(zero, look_weight(job, at, k));
        real off = vec3_length(vec3_sub(pose.start, joint));
        nearest = real_select(turns, real_max(nearest, off), nearest);
        pose.seat = vec3_select(mask_equal(plan->last, real_splat((number)k)), joint, pose.seat);
        look_keep(job, at, k, quat_identity());
    }
    vec3 to_target = vec3_sub(in->target, pose.start);
    vec3 there = look_direction(pose.start, in->target, pose.along);
    mask near = mask_less(vec3_length(to_target), nearest);
    plan->far = vec3_select(near, vec3_add(pose.start, vec3_scale(nearest, there)), in->target);
    return pose;
}

typedef enum { LOOK_GAZE, LOOK_ROLL, LOOK_FINISH } look_step;

/* From the root to the tip. In a pass every joint takes its share; in the final sweep the last joint takes the
 * residual. A joint that has all the weight always takes the residual. Turning the chain at a joint by `turn` in the
 * current world,
 *
 *   W <- turn W,   W = turned delta W0,
 *
 * changes the delta relative to the input pose to (turned^-1 turn turned) delta. */
ik_outline void look_sweep(const ik_look_job *job, const look_in *in, group at, look_plan *plan, look_pose *pose,
                           look_step step) {
    const real zero = real_splat(0);
    mask none = mask_splat(0), alone = mask_equal(plan->first, plan->last);
    mask shared = step == LOOK_FINISH ? none : plan->active & ~alone;
    mask finished = step == LOOK_FINISH ? ~plan->still : step == LOOK_GAZE ? plan->active & alone : none;
    real left = plan->total;
    pose->joint = look_joint(job, in, at, 0);
    pose->turned = quat_identity();
    for (ptrdiff_t k = 0; k < job->joints.count; k++) {
        real weight = look_weight(job, at, k), share = weight / real_max(left, weight);
        left = left - weight;
        mask finish = finished & mask_equal(plan->last, real_splat((number)k)), part = shared & mask_less(zero, weight);
        quat delta = look_delta(job, at, k), by = quat_identity();
        if (mask_any(part)) {
            turn whole = step == LOOK_GAZE ? look_gaze(in, pose, &plan->far) : look_roll(in, pose, &plan->far, &none);
            by = look_share(whole, share);
        }
        if (mask_any(finish)) {
            mask status;
            by = quat_select(finish, look_finish(in, *pose, &status), by);
            plan->status = mask_select(finish, status, plan->status);
        }
        if (mask_any(part | finish)) {
            look_pose turned = *pose;
            look_turn(&turned, by);
            quat there = quat_multiply(quat_conjugate(pose->turned), quat_multiply(by, pose->turned));
            delta = quat_select(part | finish, quat_unit(quat_multiply(there, delta)), delta);
            *pose = look_pose_select(part | finish, turned, *pose);
            look_keep(job, at, k, delta);
        }
        pose->turned = quat_unit(quat_multiply(pose->turned, delta));
        pose->joint = vec3_add(pose->joint, quat_rotate(pose->turned, look_bone(job, in, at, k)));
    }
}

/* Lanes that another pass would change. */
ik_inline mask look_unfinished(const look_in *in, const look_plan *plan, const look_pose *pose) {
    const real tolerance = real_splat(AIM_TOLERANCE);
    mask off = mask_less(tolerance, look_gaze(in, pose, &plan->far).half), undefined;
    if (in->pole_given) off |= mask_less(tolerance, real_abs(look_roll(in, pose, &plan->far, &undefined).half));
    return off;
}

ik_inline void look_passes(const ik_look_job *job, const look_in *in, group at, look_plan *plan, look_pose *pose) {
    plan->active = ~plan->still & ~(mask_equal(plan->first, plan->last) & mask_splat(in->clamp_given ? 0 : -1));
    for (int pass = 0; pass < LOOK_PASSES; pass++) {
        plan->active &= look_unfinished(in, plan, pose);
        if (!mask_any(plan->active)) break;
        look_sweep(job, in, at, plan, pose, LOOK_GAZE);
        if (in->pole_given) look_sweep(job, in, at, plan, pose, LOOK_ROLL);
    }
    look_sweep(job, in, at, plan, pose, LOOK_FINISH);
}

/* Applies the influence. Forward kinematics then gives the resulting ray. */
ik_inline look_pose look_settle(const ik_look_job *job, const look_in *in, group at) {
    mask part = mask_less(in->influence, real_splat(1));
    look_pose pose = {.joint = look_joint(job, in, at, 0), .turned = quat_identity()};
    for (ptrdiff_t k = 0; k < job->joints.count; k++) {
        quat delta = quat_canonical(look_delta(job, at, k));
        delta = quat_select(part, quat_weighted(delta, in->influence), delta);
        look_keep(job, at, k, delta);
        pose.turned = quat_unit(quat_multiply(pose.turned, delta));
        pose.joint = vec3_add(pose.joint, quat_rotate(pose.turned, look_bone(job, in, at, k)));
    }
    vec3 offset = vec3_scale(in->scale, quat_rotate(in->rotation, in->offset));
    pose.start = vec3_add(pose.joint, quat_rotate(pose.turned, offset));
    pose.along = quat_rotate(pose.turned, quat_rotate(in->rotation, in->forward));
    pose.up = quat_rotate(pose.turned, quat_rotate(in->rotation, in->up));
    return pose;
}

/* The residual angle and the status flags. Returns the lanes with usable input. */
ik_inline mask look_judge(const look_in *in, const look_plan *plan, const look_pose *pose, real *error, mask *status) {
    const real one = real_splat(1);
    vec3 left = vec3_sub(in->target, pose->start);
    vec3 wanted = look_direction(pose->start, in->target, pose->along);
    *error = real_atan2(vec3_length(vec3_cross(pose->along, wanted)), vec3_dot(pose->along, wanted));
    look_clamped clamped = look_clamp(in, wanted, pose->up);
    mask part = plan->still | mask_less(in->influence, one);
    real leverage = one + plan->size / (vec3_length(left) + real_splat(0x1p-120f));
    mask missed = ~part & ~clamped.acts & mask_less(real_splat(AIM_TOLERANCE) * leverage, *error);
    *status = plan->status | (part & mask_splat(IK_PARTIAL_INFLUENCE)) | (missed & mask_splat(IK_TOO_NEAR)) |
              (clamped.beyond & mask_splat(IK_AT_LIMIT)) | (clamped.acts & ~clamped.beyond & mask_splat(IK_SOFTENED));

    mask finite = mask_is_finite(plan->poison) & mask_is_finite(*error), usable = finite & plan->has_axis;
    *error = real_select(usable, *error, real_nan());
    mask why = mask_select(finite, mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE));
    *status = mask_select(usable, *status, why);
    return usable;
}

/* World positions of the joints; the input pose where nothing may move. */
ik_inline void look_place(const ik_look_job *job, group at, mask moves) {
    vec3 before = vec3_splat(0, 0, 0), here = before;
    quat turned = quat_identity();
    for (ptrdiff_t k = 0; k < job->joints.count; k++) {
        ik_rows from = lanes_list_row(&job->joints, k), to = lanes_list_row(&job->positions, k);
        vec3 joint = lanes_load_vec3(&from, at);
        here = k ? vec3_add(here, quat_rotate(turned, vec3_sub(joint, before))) : joint;
        quat delta = quat_select(moves, look_delta(job, at, k), quat_identity());
        look_keep(job, at, k, delta);
        if (job->positions.rows.data) lanes_store_vec3(&to, at, vec3_canonical_nan(vec3_select(moves, here, joint)));
        turned = quat_unit(quat_multiply(turned, delta));
        before = joint;
    }
}

ik_inline void look_load(const ik_look_job *job, group at, look_in *in) {
    ik_rows tip = lanes_list_row(&job->joints, job->joints.count - 1);
    in->origin = lanes_load_vec3(&tip, at);
    in->rotation = lanes_load_quat(&job->rotation, at);
    in->target = lanes_load_vec3(&job->target, at);
    in->forward = lanes_load_vec3(&job->forward, at);
    in->offset = in->up = in->reference = vec3_splat(0, 0, 0);
    in->pole = in->origin;
    if (job->offset.data) in->offset = lanes_load_vec3(&job->offset, at);
    if (in->pole_given) {
        in->up = lanes_load_vec3(&job->up, at);
        in->pole = lanes_load_vec3(&job->pole, at);
    }
    if (in->clamp_given) in->reference = lanes_load_vec3(&job->reference, at);
    in->clamp = lanes_load_option(&job->clamp, at, 0);
    in->clamp_start = lanes_load_option(&job->clamp_start, at, 1);
    in->influence = lanes_load_option(&job->influence, at, 1);
}

static void look_rows(const ik_look_job *job, ptrdiff_t first, ptrdiff_t last) {
    look_in in = {
        .pole_given = job->up.data != NULL && job->pole.data != NULL,
        .clamp_given = job->reference.data != NULL,
    };
    EACH_GROUP (at, first, last) {
        real error = real_nan();
        mask status = mask_splat(IK_NO_LENGTH);
        if (job->joints.count > 0) {
            look_load(job, at, &in);
            look_plan plan = look_survey(job, &in, at);
            look_pose pose = look_begin(job, &in, at, &plan);
            look_passes(job, &in, at, &plan, &pose);
            pose = look_settle(job, &in, at);
            mask usable = look_judge(&in, &plan, &pose, &error, &status);
            look_place(job, at, usable & ~plan.still);
        }
        lanes_store_status(&job->status, at, status);
        lanes_store_real(&job->error, at, error);
    }
}
