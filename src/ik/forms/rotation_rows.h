/* The public rotation functions over rows: rotations.h has each for one item. */

static void quat_multiply_rows(const ik_quat_multiply_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat a = lanes_load_quat(&job->a, at), b = lanes_load_quat(&job->b, at);
        lanes_store_quat(&job->product, at, quat_written(quat_multiply(a, b), quat_poison(a) + quat_poison(b)));
    }
}

static void quat_conjugate_rows(const ik_quat_conjugate_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat q = lanes_load_quat(&job->q, at);
        lanes_store_quat(&job->out, at, quat_written(quat_conjugate(q), quat_poison(q)));
    }
}

static void quat_normalize_rows(const ik_quat_normalize_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat q = lanes_load_quat(&job->q, at);
        lanes_store_quat(&job->out, at, quat_written(quat_unit(q), quat_poison(q)));
    }
}

static void quat_canonical_rows(const ik_quat_canonical_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat q = lanes_load_quat(&job->q, at);
        lanes_store_quat(&job->out, at, quat_written(quat_short(quat_unit(q)), quat_poison(q)));
    }
}

static void quat_rotate_rows(const ik_quat_rotate_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat q = lanes_load_quat(&job->q, at);
        vec3 v = lanes_load_vec3(&job->v, at);
        lanes_store_vec3(&job->out, at, vec3_written(quat_rotate(quat_unit(q), v), quat_poison(q) + vec3_poison(v)));
    }
}

static void quat_shortest_arc_rows(const ik_quat_shortest_arc_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        vec3 a = lanes_load_vec3(&job->a, at), b = lanes_load_vec3(&job->b, at), axis = vec3_splat(0, 0, 0);
        if (job->axis.data) axis = lanes_load_vec3(&job->axis, at);
        real poison = vec3_poison(a) + vec3_poison(b) + vec3_poison(axis);
        lanes_store_quat(&job->q, at, quat_written(quat_shortest_arc(a, b, axis), poison));
    }
}

static void quat_exp_rows(const ik_quat_exp_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        vec3 v = lanes_load_vec3(&job->v, at);
        direction angle = vec3_direction_of_any(v);
        quat q = quat_of_turn((turn){angle.unit, real_splat(0.5f) * angle.length});
        lanes_store_quat(&job->q, at, quat_written(q, vec3_poison(v)));
    }
}

static void quat_log_rows(const ik_quat_log_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat q = lanes_load_quat(&job->q, at);
        turn t = turn_of_quat(quat_unit(q));
        lanes_store_vec3(&job->v, at, vec3_written(vec3_scale(t.half + t.half, t.axis), quat_poison(q)));
    }
}

static void quat_slerp_rows(const ik_quat_slerp_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat a = lanes_load_quat(&job->a, at), b = lanes_load_quat(&job->b, at);
        real t = lanes_load_real(&job->t, at), poison = quat_poison(a) + quat_poison(b) + real_poison(t);
        lanes_store_quat(&job->q, at, quat_written(quat_slerp(quat_unit(a), quat_unit(b), t), poison));
    }
}

static void quat_swing_twist_rows(const ik_quat_swing_twist_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat q = lanes_load_quat(&job->q, at), swing, twist;
        vec3 axis = lanes_load_vec3(&job->axis, at);
        real poison = quat_poison(q) + vec3_poison(axis);
        quat_swing_twist(quat_unit(q), axis, &swing, &twist);
        lanes_store_quat(&job->swing, at, quat_written(swing, poison));
        lanes_store_quat(&job->twist, at, quat_written(twist, poison));
    }
}

static void quat_to_matrix_rows(const ik_quat_to_matrix_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat q = lanes_load_quat(&job->q, at);
        mat3 m = mat3_of_quat(quat_unit(q));
        real poison = quat_poison(q);
        vec3 rows[3] = {vec3_written(m.x, poison), vec3_written(m.y, poison), vec3_written(m.z, poison)};
        lanes_store_3_vec3(job->matrix, at, rows);
    }
}

/* A matrix far from a rotation, scaled so that its squares do not overflow. */
ik_inline mat3 mat3_bounded(mat3 m) {
    real largest = real_max(real_max(vec3_largest(m.x), vec3_largest(m.y)), vec3_largest(m.z));
    real scale = real_min(real_splat(0x1p40f) * real_unit_scale(largest), real_splat(1));
    return (mat3){vec3_scale(scale, m.x), vec3_scale(scale, m.y), vec3_scale(scale, m.z)};
}

static void quat_from_matrix_rows(const ik_quat_from_matrix_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        mat3 m = lanes_load_mat3(job->matrix, at);
        lanes_store_quat(&job->q, at, quat_written(quat_short(quat_of_matrix(mat3_bounded(m))), mat3_poison(m)));
    }
}

static void quat_to_axis_angle_rows(const ik_quat_to_axis_angle_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat q = lanes_load_quat(&job->q, at);
        real poison = quat_poison(q);
        turn t = turn_of_quat(quat_unit(q));
        t.axis = vec3_select(mask_equal(t.half, real_splat(0)), vec3_splat(1, 0, 0), t.axis);
        lanes_store_vec3(&job->axis, at, vec3_written(t.axis, poison));
        lanes_store_real(&job->angle, at, real_written(t.half + t.half, poison));
    }
}

static void quat_from_axis_angle_rows(const ik_quat_from_axis_angle_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        vec3 axis = lanes_load_vec3(&job->axis, at);
        real angle = lanes_load_real(&job->angle, at), poison = vec3_poison(axis) + real_poison(angle);
        lanes_store_quat(&job->q, at, quat_written(quat_from_axis_angle(axis, angle), poison));
    }
}

static void quat_to_6d_rows(const ik_quat_to_6d_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat q = lanes_load_quat(&job->q, at);
        mat3 m = mat3_of_quat(quat_unit(q));
        ik_rows second = lanes_column(&job->columns, 3);
        lanes_store_vec3(&job->columns, at, vec3_written((vec3){m.x.x, m.y.x, m.z.x}, quat_poison(q)));
        lanes_store_vec3(&second, at, vec3_written((vec3){m.x.y, m.y.y, m.z.y}, quat_poison(q)));
    }
}

static void quat_from_6d_rows(const ik_quat_from_6d_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        ik_rows second = lanes_column(&job->columns, 3);
        vec3 a = lanes_load_vec3(&job->columns, at), b = lanes_load_vec3(&second, at);
        lanes_store_quat(&job->q, at, quat_written(quat_from_columns(a, b), vec3_poison(a) + vec3_poison(b)));
    }
}

static void quat_to_euler_rows(const ik_quat_to_euler_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        quat q = lanes_load_quat(&job->q, at);
        mat3 axes = lanes_load_mat3(job->axes, at);
        real poison = quat_poison(q) + mat3_poison(axes);
        lanes_store_vec3(&job->angles, at, vec3_written(quat_to_euler(quat_unit(q), axes), poison));
    }
}

static void quat_from_euler_rows(const ik_quat_from_euler_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        vec3 angles = lanes_load_vec3(&job->angles, at);
        mat3 axes = lanes_load_mat3(job->axes, at);
        real poison = vec3_poison(angles) + mat3_poison(axes);
        lanes_store_quat(&job->q, at, quat_written(quat_from_euler(angles, axes), poison));
    }
}

quat IK_NAME(quat_of_correlation)(const mat3 *s, const real *rounding) { return quat_of_correlation(*s, *rounding); }

static void quat_best_fit_rows(const ik_quat_best_fit_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        fit_scales scale = fit_scales_of(job, at);
        quat q = fit_rotation(job, at, scale);
        lanes_store_quat(&job->q, at, quat_written(q, scale.poison));
        lanes_store_real(&job->rmsd, at, real_written(fit_rmsd(job, at, scale, q), scale.poison));
    }
}
