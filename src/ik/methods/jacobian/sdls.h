/* Selectively damped least squares. S. R. Buss, J.-S. Kim, "Selectively damped least squares for inverse kinematics",
 * Journal of Graphics Tools 10 (2005).
 *
 * Idea. The pseudo-inverse, with the joint rotation along each singular vector limited by its effect. Along one vector
 * the tips move by N in total. Each joint separately would move them by M in total, of which most may cancel. Joints
 * may turn by N / M of max_step for it: fully where they work together, and little where they oppose each other, as
 * near singular poses.
 *
 *   N      = sum of |u_l| over the tasks l
 *   M      = sum of |J_lj (W J^T u)_j| / eigenvalue over tasks and joints j: motion of each task by each joint, >= N
 *   phi    = (u . e) W J^T u / eigenvalue, the step along u; |phi| is the largest rotation of a joint
 *   may    = N / M max_step
 *   step   = phi min(1, may / |phi|), as published; with `soft`, the smooth phi may / (may + |phi|)
 *
 * A ball joint counts as one joint with the length of its rotation, independent of axes. Its slides count as another
 * joint, with mean bone lengths as radians. The paper also clamps errors, to .8 of a bone: option max_error. */

/* Eigenvalues closer than this, relatively, count as equal. */
#define SDLS_ALIKE (number)1e-3

/* Sum of the motions of a task by the rotations and slides of each joint. */
static real sdls_moved(const ik_plan *plan, columns c, int task) {
    const vec3 none = vec3_splat(0, 0, 0);
    real sum = real_splat(0);
    rows_task seen = rows_see(plan, c, task);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (!task_side(plan, task, slot)) continue;
        if (plan->nodes[k].turns) {
            vec3 turn = turns_vector(plan, c, k, column_vec3(c, step_own(plan, slot)));
            sum = sum + vec3_length(rows_change(plan, c, &seen, k, turn, none));
        }
        if (plan->nodes[k].slides) {
            vec3 slide = quat_rotate(joint_parent(plan, c, k), column_vec3(c, step_slide(plan, slot)));
            sum = sum + vec3_length(rows_change(plan, c, &seen, k, none, slide));
        }
    }
    return rows_scale(plan, c, task) * sum;
}

ik_inline int sdls_is_of_level(const spectral_part *part, const ik_task *task) {
    return task->row >= part->level->first && task->row < part->level->first + part->level->rows;
}

/* N; the rows include their weights. */
static real sdls_worth(const ik_plan *plan, const spectral_part *part) {
    real sum = real_splat(0);
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        if (!sdls_is_of_level(part, task)) continue;
        sum = sum + vec3_length(rows_at(part->vector, part->step, task->row - part->level->first, ik_task_rows(task)));
    }
    return sum;
}

/* The pulls of the vector on joints, minus their effect on the levels above. */
static void sdls_pull(const ik_plan *plan, columns c, const spectral_part *part) {
    const levels_part *level = part->level;
    if (level->rows == plan->rows) {
        rows_pull(plan, c, part->vector, part->step);
        return;
    }
    rows_system s = rows_system_of(plan, c);
    levels_back(s, level->first, level->rows, part->vector, part->step);
    for (int i = 0; i < s.rows; i++) {
        const int own = i - level->first;
        if (own < 0)
            s.z[i * s.step] = -s.z[i * s.step];
        else
            s.z[i * s.step] = own < level->rows ? part->vector[own * part->step] : real_splat(0);
    }
    rows_pull(plan, c, s.z, s.step);
}

static real sdls_gain(const ik_plan *plan, columns c, const spectral_part *part) {
    const real one = real_splat(1), tiny = real_splat(TINY_LENGTH),
               most = real_splat((number)plan->job->options.max_step);
    sdls_pull(plan, c, part);
    real size = dls_move_by_pulls(plan, c, 0, 1) * real_abs(part->along) / part->value, moved = real_splat(0);
    for (int t = 0; t < plan->task_count; t++)
        if (sdls_is_of_level(part, &plan->tasks[t])) moved = moved + sdls_moved(plan, c, t);
    real may = real_min(one, sdls_worth(plan, part) * part->value / (moved + tiny)) * most;
    if (plan->job->options.soft) return may / ((may + size + tiny) * part->value);
    return real_min(one, may / (size + tiny)) / part->value;
}

/* Rotates two vectors of nearly equal eigenvalues in their plane: one receives all of e, the other none. Their
 * eigenvalues are mixed accordingly. */
static void sdls_pair(real *values, real *vectors, real *along, int rows, int step, int i, int j, mask alike) {
    const real one = real_splat(1), zero = real_splat(0), a = along[i * step], b = along[j * step];
    real *first = &values[packed(i, i) * step], *second = &values[packed(j, j) * step], apart = *second - *first;
    real size = real_sqrt(a * a + b * b);
    mask turns = alike & mask_less(zero, size);
    size = real_select(turns, size, one);
    real cosine = a / size, sine = b / size;
    apart = real_select(turns, sine * sine * apart, zero);
    *first = *first + apart, *second = *second - apart;
    along[i * step] = real_select(turns, size, a), along[j * step] = real_select(turns, zero, b);
    for (int k = 0; k < rows; k++) {
        real *u = &vectors[(k * rows + i) * step], *v = &vectors[(k * rows + j) * step], before = *u;
        *u = real_select(turns, cosine * before + sine * *v, before);
        *v = real_select(turns, cosine * *v - sine * before, *v);
    }
}

/* Chooses the vectors of equal eigenvalues by e. Otherwise round-off would choose them, and the damping would depend on
 * it. */
static void sdls_pair_alike(const ik_plan *plan, columns c, const levels_part *level) {
    const int step = level->step;
    for (int j = 1; j < level->rows; j++)
        for (int i = 0; i < j; i++) {
            real a = level->matrix[packed(i, i) * step], b = level->matrix[packed(j, j) * step];
            mask alike = mask_less(real_abs(a - b), real_splat(SDLS_ALIKE) * real_max(a, b));
            if (!mask_any(alike)) continue;
            real *vectors = column(c, spectral_vectors(plan)), *along = column(c, spectral_along(plan));
            sdls_pair(level->matrix, vectors, along, level->rows, step, i, j, alike);
        }
}

static void sdls_answer(const ik_plan *plan, columns c, const levels_part *level) {
    spectral_find(plan, c, level);
    sdls_pair_alike(plan, c, level);
    spectral_sum(plan, c, level, sdls_gain);
}

ANSWER_METHOD(sdls, spectral_size)
