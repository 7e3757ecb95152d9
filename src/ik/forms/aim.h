/* Aiming: one joint turns one of its axes towards a point. The contract is at ik_aim_job in ik.h.
 *
 * Idea. The ray starts at the offset o and points along the axis f. It meets the sphere about the joint that passes
 * through the target at
 *
 *   x = o + s f,   s = -o.f + sqrt((o.f)^2 - o.o + d^2),   d the distance to the target.
 *
 * A rotation about the joint takes x anywhere on that sphere, so it can take x to the target. It is the shortest arc
 * or, with an up axis, takes the frame (x, up) to the frame (target, pole). If the root is not real, the ray passes
 * outside the sphere. Its point nearest to the joint, at s = -o.f, is then turned to the target's direction.
 *
 * Space: relative to the joint. A power of two scales the target's distance or the offset, whichever is larger, to
 * nearly 1. */

/* Radians, for a ray without offset. */
#define AIM_TOLERANCE (number)(IK_BITS == 64 ? 1e-12 : 1e-5)

typedef struct {
    vec3 position, target, forward, offset, up, pole;
    quat rotation;
    real twist, influence;
    int offset_given, pole_given, twist_given, influence_given;
} aim_in;

typedef struct {
    quat delta;
    mask status;
    real error;
} aim_out;

/* The ray of the input pose in world axes, relative to the joint, scaled. */
typedef struct {
    vec3 start, along;
    vec3 hit; /* unit direction of the ray point that is brought to the target */
} aim_ray;

ik_inline aim_ray aim_ray_of(const aim_in *in, real scale, real distance) {
    aim_ray ray;
    ray.along = quat_rotate(in->rotation, in->forward);
    ray.start = in->offset_given ? vec3_scale(scale, quat_rotate(in->rotation, in->offset)) : vec3_splat(0, 0, 0);
    ray.hit = ray.along;
    if (in->offset_given) {
        real back = vec3_dot(ray.start, ray.along), zero = real_splat(0);
        vec3 nearest = vec3_sub(ray.start, vec3_scale(back, ray.along));
        real reach = (distance * distance) - vec3_dot(nearest, nearest);
        real s = real_sqrt(real_max(reach, zero));
        direction hit = vec3_direction(vec3_add(nearest, vec3_scale(s, ray.along)));
        ray.hit = vec3_select(mask_less(real_splat(TINY_LENGTH), hit.length), hit.unit, ray.along);
    }
    return ray;
}

/* The component of a vector of any length perpendicular to a unit vector, as a direction. */
ik_inline direction aim_side(vec3 towards, vec3 axis) {
    direction side = vec3_direction_of_any(towards);
    real length = side.length;
    side = vec3_direction(vec3_sub(side.unit, vec3_scale(vec3_dot(side.unit, axis), axis)));
    side.length = real_select(mask_less(real_splat(0), length), side.length, real_splat(0));
    side.unit = vec3_across(side.unit, axis);
    return side;
}

/* Rotates the frame (hit, up) to (target, pole). */
ik_inline quat aim_upright(const aim_in *in, vec3 hit, vec3 e, quat shortest, mask *undefined) {
    direction up = aim_side(quat_rotate(in->rotation, in->up), hit),
              pole = aim_side(vec3_sub(in->pole, in->position), e);
    *undefined = ~(mask_less(real_splat(TINY_SINE), up.length) & mask_less(real_splat(TINY_SINE), pole.length));
    quat upright = quat_of_matrix(mat3_between_frames(hit, up.unit, e, pole.unit));
    return quat_select(*undefined, shortest, upright);
}

/* The residual angle and the status flags. `apart`: the target does not coincide with the joint. */
ik_inline void aim_judge(const aim_in *in, const aim_ray *ray, vec3 target, mask apart, aim_out *out) {
    vec3 along = quat_rotate(out->delta, ray->along);
    vec3 left = vec3_sub(target, quat_rotate(out->delta, ray->start));
    out->error = real_atan2(vec3_length(vec3_cross(along, left)), vec3_dot(along, left));
    real leverage = real_splat(1);
    if (in->offset_given) leverage = leverage + vec3_length(ray->start) / (vec3_length(left) + real_splat(0x1p-120f));
    mask missed = mask_less(real_splat(AIM_TOLERANCE) * leverage, out->error) & apart;
    out->error = real_select(apart, out->error, real_splat(0));
    if (in->influence_given) {
        mask part = mask_less(in->influence, real_splat(1));
        out->status |= part & mask_splat(IK_PARTIAL_INFLUENCE);
        missed &= ~part;
    }
    out->status |= missed & mask_splat(IK_TOO_NEAR);
}

/* The sum of all inputs: not finite if any input is not. */
ik_inline real aim_sum(const aim_in *in) {
    vec3 sum = vec3_add(vec3_add(in->position, in->target), vec3_add(in->forward, in->rotation.v));
    if (in->offset_given) sum = vec3_add(sum, in->offset);
    if (in->pole_given) sum = vec3_add(sum, vec3_add(in->up, in->pole));
    real all = sum.x + sum.y + sum.z + in->rotation.w;
    if (in->twist_given) all = all + in->twist;
    return in->influence_given ? all + in->influence : all;
}

/* At influence 0, a target or pole that is not a number is ignored. */
ik_inline void aim_ignore(aim_in *in) {
    mask none = ~mask_less(real_splat(0), in->influence) & mask_is_number(in->influence);
    in->target = vec3_select(none & ~vec3_is_finite(in->target), in->position, in->target);
    in->pole = vec3_select(none & ~vec3_is_finite(in->pole), in->position, in->pole);
}

ik_inline aim_out aim(aim_in *in) {
    aim_out out = {.status = mask_splat(0)};
    if (in->influence_given) aim_ignore(in);
    in->rotation = quat_unit(in->rotation);
    direction forward = vec3_direction_of_any(in->forward);
    in->forward = forward.unit;
    vec3 to_target = vec3_sub(in->target, in->position);
    real target_scale = real_unit_scale(vec3_size(to_target)), scale = target_scale;
    if (in->offset_given) scale = real_min(scale, real_unit_scale(vec3_size(in->offset)));
    direction target = vec3_direction(vec3_scale(target_scale, to_target));
    mask apart = mask_less(real_splat(0), target.length);
    aim_ray ray = aim_ray_of(in, scale, target.length * (scale * real_unscale(target_scale)));
    ray.hit = vec3_select(apart, ray.hit, ray.along);
    vec3 e = vec3_select(apart, target.unit, ray.hit);

    out.delta = quat_canonical(quat_shortest_arc(ray.hit, e, vec3_perpendicular(ray.hit)));
    if (in->pole_given) {
        mask undefined;
        out.delta = aim_upright(in, ray.hit, e, out.delta, &undefined);
        out.status = undefined & mask_splat(IK_POLE_UNDEFINED);
    }
    if (in->twist_given) {
        cosine_sine half = real_sincos(real_splat(0.5f) * in->twist);
        out.delta = quat_canonical(quat_multiply((quat){half.cosine, vec3_scale(half.sine, e)}, out.delta));
    }
    if (in->influence_given) {
        real share = real_min(real_max(in->influence, real_splat(0)), real_splat(1));
        mask part = mask_less(share, real_splat(1));
        out.delta = quat_select(part, quat_weighted(out.delta, share), out.delta);
    }
    aim_judge(in, &ray, vec3_scale(scale, to_target), apart, &out);

    mask has_axis = mask_less(real_splat(0), forward.length);
    mask finite = mask_is_finite(aim_sum(in)) & mask_is_finite(out.error), usable = finite & has_axis;
    if (mask_any(~usable)) {
        mask why = mask_select(finite, mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE));
        out.delta = quat_select(usable, out.delta, quat_identity());
        out.error = real_select(usable, out.error, real_nan());
        out.status = mask_select(usable, out.status, why);
    }
    return out;
}

ik_inline void aim_load(const ik_aim_job *job, group at, aim_in *in) {
    in->position = lanes_load_vec3(&job->position, at);
    in->rotation = lanes_load_quat(&job->rotation, at);
    in->target = lanes_load_vec3(&job->target, at);
    in->forward = lanes_load_vec3(&job->forward, at);
    if (in->offset_given) in->offset = lanes_load_vec3(&job->offset, at);
    if (in->pole_given) {
        in->up = lanes_load_vec3(&job->up, at);
        in->pole = lanes_load_vec3(&job->pole, at);
    }
    if (in->twist_given) in->twist = lanes_load_option(&job->twist, at, 0);
    if (in->influence_given) in->influence = lanes_load_option(&job->influence, at, 1);
}

static void aim_rows(const ik_aim_job *job, ptrdiff_t first, ptrdiff_t last) {
    aim_in in = {
        .offset_given = job->offset.data != NULL,
        .pole_given = job->up.data != NULL && job->pole.data != NULL,
        .twist_given = job->twist.data != NULL,
        .influence_given = job->influence.data != NULL,
    };
    EACH_GROUP (at, first, last) {
        aim_load(job, at, &in);
        aim_out out = aim(&in);
        lanes_store_quat(&job->delta, at, out.delta);
        lanes_store_status(&job->status, at, out.status);
        lanes_store_real(&job->error, at, out.error);
    }
}
