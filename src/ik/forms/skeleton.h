/* Forward kinematics of one joint: the data that its children need. Without scales these are a rotation and a position,
 *
 *   W = W_parent L,   p = p_parent + W_parent t;
 *
 * with scales there is also the 3x3 matrix M = M_parent R S, and p = p_parent + M_parent t. The rotation nearest to M
 * is the product of rotations if all scales above the joint are uniform and its own are not negative. Otherwise it is
 * the top eigenvector of a 4x4 matrix, as in best_fit, found relative to that product.
 *
 * Space: the pose's own, unscaled. */

/* A joint in world space. */
typedef struct {
    quat rotation;
    vec3 position;
} world_joint;

typedef struct {
    world_joint joint;
    mat3 matrix;
    mask even; /* lanes in which the matrix is the rotation times a number that is not negative */
} scaled_joint;

_Static_assert(sizeof(scaled_joint) <= IK_FORWARD_NUMBERS * sizeof(real) && sizeof(real) <= IK_WIDEST,
               "ik_forward_scratch asks for too little");

/* --- one joint ---------------------------------------------------------------------------------------------------- */

/* A product of unit quaternions, normalised by one step of Newton's method: its error is only round-off. */
ik_inline quat quat_polished(quat q) { return quat_scale(real_splat(1.5f) - real_splat(0.5f) * quat_dot(q, q), q); }

ik_inline mat3 mat3_multiply(mat3 a, mat3 b) {
    return (mat3){mat3_unapply(b, a.x), mat3_unapply(b, a.y), mat3_unapply(b, a.z)};
}

ik_inline mat3 mat3_transposed(mat3 m) {
    return (mat3){{m.x.x, m.y.x, m.z.x}, {m.x.y, m.y.y, m.z.y}, {m.x.z, m.y.z, m.z.z}};
}

/* Scales the three columns. */
ik_inline mat3 mat3_scaled(mat3 m, vec3 s) {
    return (mat3){{m.x.x * s.x, m.x.y * s.y, m.x.z * s.z},
                  {m.y.x * s.x, m.y.y * s.y, m.y.z * s.z},
                  {m.z.x * s.x, m.z.y * s.y, m.z.z * s.z}};
}

/* The rotation nearest to a matrix; if several are equally near, the smallest. */
ik_inline quat quat_nearest(mat3 m) {
    real scale = real_unit_scale(real_max(real_max(vec3_largest(m.x), vec3_largest(m.y)), vec3_largest(m.z)));
    m = (mat3){vec3_scale(scale, m.x), vec3_scale(scale, m.y), vec3_scale(scale, m.z)};
    real size = vec3_dot(m.x, m.x) + vec3_dot(m.y, m.y) + vec3_dot(m.z, m.z) + real_splat(3);
    return quat_of_correlation(mat3_transposed(m), real_splat(32 * EPSILON) * size);
}

/* The rotation of a scaled joint, given the product of the rotations, which is corrected where it is not the
 * nearest. */
ik_outline void quat_turn_to_nearest(quat *product, const mat3 *matrix, mask elsewhere) {
    mat3 back = mat3_transposed(mat3_of_quat(*product));
    quat turned = quat_polished(quat_multiply(*product, quat_nearest(mat3_multiply(back, *matrix))));
    *product = quat_select(elsewhere, turned, *product);
}

/* A joint relative to its parent. */
typedef struct {
    quat rotation;
    vec3 translation;
    vec3 scale;
} local_joint;

ik_inline world_joint world_of_local(const world_joint *parent, local_joint local) {
    if (!parent) return (world_joint){local.rotation, local.translation};
    return (world_joint){quat_polished(quat_multiply(parent->rotation, local.rotation)),
                         vec3_add(parent->position, quat_rotate(parent->rotation, local.translation))};
}

ik_outline scaled_joint scaled_of_local(const scaled_joint *parent, const local_joint *local) {
    const vec3 s = local->scale;
    mask not_negative =
        ~(mask_less(s.x, real_splat(0)) | mask_less(s.y, real_splat(0)) | mask_less(s.z, real_splat(0)));
    mask even = not_negative & mask_equal(s.x, s.y) & mask_equal(s.y, s.z);
    scaled_joint found = {{local->rotation, local->translation}, mat3_scaled(mat3_of_quat(local->rotation), s), even};
    mask is_product = not_negative;
    if (parent) {
        found.joint.rotation = quat_polished(quat_multiply(parent->joint.rotation, local->rotation));
        found.joint.position = vec3_add(parent->joint.position, mat3_apply(parent->matrix, local->translation));
        found.matrix = mat3_multiply(parent->matrix, found.matrix);
        found.even &= parent->even;
        is_product &= parent->even;
    }
    if (mask_any(~is_product)) quat_turn_to_nearest(&found.joint.rotation, &found.matrix, ~is_product);
    return found;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

ik_inline quat quat_poisoned(quat q, real poison) { return (quat){q.w + poison, vec3_poisoned(q.v, poison)}; }

ik_inline local_joint forward_load(const ik_forward_job *job, group at, int joint) {
    const double *offset = job->skeleton->offsets + 3 * (ptrdiff_t)joint;
    local_joint local = {.scale = vec3_splat(1, 1, 1)};
    quat rotation = lanes_load_joint_quat(&job->rotations, at, joint);
    local.rotation = quat_poisoned(quat_unit(rotation), quat_poison(rotation));
    local.translation = vec3_splat((number)offset[0], (number)offset[1], (number)offset[2]);
    if (job->translations.rows.data) {
        vec3 translation = lanes_load_joint_vec3(&job->translations, at, joint);
        local.translation = vec3_poisoned(translation, vec3_poison(translation));
    }
    if (job->scales.rows.data) {
        vec3 scale = lanes_load_joint_vec3(&job->scales, at, joint);
        local.scale = vec3_poisoned(scale, vec3_poison(scale));
    }
    return local;
}
