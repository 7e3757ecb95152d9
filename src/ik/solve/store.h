/* The end of an item: the found pose is judged and stored, and state is kept for the next frame. */

/* Joints that do not turn keep their rotation to the bit. */
static void solve_copy(const ik_plan *plan, group at) {
    const ik_lists *from = &plan->job->rotations, *to = &plan->job->solved;
    const ptrdiff_t size = sizeof(number);
    if (from->rows.data == to->rows.data) return;
    const ptrdiff_t from_step = lanes_step(&from->rows), to_step = lanes_step(&to->rows);
    int packed = from_step == size && to_step == size && from->next == 4 * size && to->next == 4 * size;
    for (const ik_still *run = plan->still; run < plan->still + plan->still_count; run++)
        for (int lane = 0; lane < at.count; lane++) {
            const char *source = lanes_row(&from->rows, at, lane) + run->first * from->next;
            char *copy = lanes_row(&to->rows, at, lane) + run->first * to->next;
            if (packed) {
                memcpy(copy, source, 4 * sizeof(number) * (size_t)run->count);
                continue;
            }
            for (int joint = 0; joint < run->count; joint++)
                for (int i = 0; i < 4; i++)
                    memcpy(copy + joint * to->next + i * to_step, source + joint * from->next + i * from_step,
                           sizeof(number));
        }
}

/* Joints that do not slide keep their translation to the bit. */
static void solve_copy_translations(const ik_plan *plan, group at) {
    const ik_solve_job *job = plan->job;
    const int joints = job->skeleton->count;
    if (!job->moved.rows.data || job->translations.rows.data == job->moved.rows.data) return;
    for (int joint = 0; joint < joints; joint++)
        lanes_store_joint_vec3(&job->moved, at, joint, given_translation(job, at, joint));
}

/* To what speeds allow. */
static void solve_slow_down(const solve *s, group at, pose *world) {
    const ik_plan *plan = s->plan;
    world->held = speed_hold(plan, at, s->solved, s->moved);
    if (!mask_any(world->held)) return;
    for (int k = 0; k < plan->count; k++)
        solve_place_solved(plan, at, k, s->solved, s->moved, world);
}

/* Converts the world rotations of the method to local ones, and computes the resulting pose. */
static void solve_rebuild(const solve *s, group at, pose *world) {
    const ik_plan *plan = s->plan;
    columns record = columns_of_record(s->results);
    world->scale = real_unscale(*column(record, UNSCALE));
    world->given = ~mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        local_joint local = solve_local(plan, at, k);
        world->given &= mask_is_finite(quat_dot(local.rotation, local.rotation));
        if (plan->nodes[k].turns || plan->nodes[k].slides) {
            if (solve_scaled(world)) solve_place(plan, k, local, world); /* for solve_target_rotation */
            quat came = local.rotation;
            s->how->place(plan, at, record, world, k, &local);
            if (plan->nodes[k].turns) {
                quat turned = solve_allowed(plan, k, local.rotation);
                mask other_side = mask_less(quat_dot(turned, came), real_splat(0));
                local.rotation = quat_polished(quat_negate_if(other_side, turned));
            }
            if (plan->nodes[k].slides) s->moved[k] = local.translation = solve_slid(plan, k, local.translation);
        }
        s->solved[k] = local.rotation;
        solve_place(plan, k, local, world);
    }
    if (!IS_WIDE && !s->job->judge) solve_to_poles(plan, at, s->solved, s->moved, world);
    world->held = mask_splat(0);
    if (!IS_WIDE && plan->timed && plan->past.frame) solve_slow_down(s, at, world);
    world->origin = solve_origin(plan, at, world);
    solve_center(plan, world);
}

/* Lanes with uneven scales above a joint that turns, which change its bones. */
static mask solve_is_uneven(const ik_plan *plan, const pose *world) {
    mask uneven = mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        int parent = plan->nodes[k].parent;
        if (plan->nodes[k].turns && parent >= 0) uneven |= ~world->scaled[parent].even;
    }
    return uneven;
}

/* Lanes in which another round may help, if the bones change. */
static mask solve_gains(const ik_plan *plan, const verdict *v, real iterations) {
    mask may = mask_less(iterations, real_splat((number)plan->job->options.iterations));
    return may & v->missed & v->finite & v->has_length;
}

/* Lanes that the last round has not improved. */
static mask solve_is_no_better(const solve *s, group at, const verdict *v) {
    real error = lanes_load_option(&s->job->error, at, LARGEST) / s->results[UNSCALE];
    real angle = lanes_load_option(&s->job->rotation_error, at, 0);
    return ~mask_less(v->error + v->rotation_error, error + angle);
}

/* Whether node k of the input pose is outside its limit by more than the tolerances and rounding. */
static mask solve_came_outside_at(const solve *s, group at, int k, real slack) {
    const ik_plan *plan = s->plan;
    const ik_node *node = &plan->nodes[k];
    mask outside = mask_splat(0);
    if (node->locked || joint_is_limited(plan, k)) {
        const quat came = quat_unit(lanes_load_joint_quat(&s->job->rotations, at, node->joint));
        const quat allowed = node->locked ? solve_locked(plan, k, came) : solve_allowed(plan, k, came);
        const quat off = {allowed.w - came.w, vec3_sub(allowed.v, came.v)}; /* as long as half the angle */
        const real most = real_splat((number)(0.5 * s->job->options.rotation_tolerance) + LIMIT_TOLERANCE);
        outside |= mask_less(most * most, quat_dot(off, off));
    }
    if (node->slides) {
        const vec3 came = given_translation(s->job, at, node->joint), off = vec3_sub(came, solve_slid(plan, k, came));
        const real rounding = real_splat(LIMIT_TOLERANCE) * vec3_length(came);
        outside |= mask_less(slack + rounding, vec3_length(off));
    }
    return outside;
}

/* The same for all nodes. A later round starts from a solved pose, so it keeps the flag of the first. */
static mask solve_came_outside(const solve *s, group at, const verdict *v) {
    const ik_plan *plan = s->plan;
    mask outside = mask_splat(0);
    if (s->round) return lanes_load_status(&s->job->status, at) & mask_splat(IK_INPUT_OUTSIDE);
    const real slack = real_splat((number)s->job->options.tolerance) * v->reach * s->results[UNSCALE];
    for (int k = 0; k < plan->count; k++)
        outside |= solve_came_outside_at(s, at, k, slack);
    return outside & mask_splat(IK_INPUT_OUTSIDE);
}

/* Returns the lanes that keep what an earlier round has stored. */
static mask solve_store(const solve *s, group at, const verdict *v) {
    const ik_solve_job *job = s->job;
    const ik_plan *plan = s->plan;
    mask usable = v->finite & v->has_length, keep = mask_splat(0);
    if (s->round) keep = solve_is_no_better(s, at, v);
    const int all_usable = !mask_any(~usable | keep);
    solve_copy(plan, at);
    solve_copy_translations(plan, at);
    for (int k = 0; k < plan->count; k++) {
        const int joint = plan->nodes[k].joint;
        if (!plan->nodes[k].turns && !plan->nodes[k].locked) continue;
        quat solved = s->solved[k];
        if (!all_usable)
            solved = quat_select(usable & ~keep, solved, lanes_load_joint_quat(&job->rotations, at, joint));
        lanes_store_joint_quat(&job->solved, at, joint, solved);
    }
    for (int k = 0; k < plan->count && plan->slides; k++) {
        if (!plan->nodes[k].slides) continue;
        vec3 moved = vec3_select(usable & ~keep, s->moved[k], given_translation(job, at, plan->nodes[k].joint));
        lanes_store_joint_vec3(&job->moved, at, plan->nodes[k].joint, moved);
    }
    mask why = mask_select(v->finite, mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE));
    mask status = mask_select(usable, v->said, why);
    mask known = v->finite;
    if (plan->one_sided)
        known &= v->has_length; /* a plane without sides: others of its goals may have moved the pose */
    real error = real_select(known, v->error * s->results[UNSCALE], real_nan());
    real angle = real_select(known, v->rotation_error, real_nan());
    if (s->round) {
        status = mask_select(keep, lanes_load_status(&job->status, at), status);
        error = real_select(keep, lanes_load_option(&job->error, at, 0), error);
        angle = real_select(keep, lanes_load_option(&job->rotation_error, at, 0), angle);
    }
    lanes_store_status(&job->status, at, status);
    lanes_store_real(&job->error, at, error);
    lanes_store_real(&job->rotation_error, at, angle);
    lanes_store_count(&job->iterations, at, s->results[ITERATIONS]);
    return keep;
}

static void solve_store_goal_error(const solve *s, group at, int goal, const verdict *v, mask keep, real error) {
    ik_rows rows = lanes_list_row(&s->job->goal_errors, goal);
    error = real_select(v->finite & v->has_length, error, real_nan());
    if (s->round) error = real_select(keep, lanes_load_real(&rows, at), error);
    lanes_store_real(&rows, at, error);
}

/* The error of every goal; for a posture the angle. */
static void solve_store_goal_errors(const solve *s, group at, const verdict *v, mask keep) {
    const ik_plan *plan = s->plan;
    real weight;
    if (!s->job->goal_errors.rows.data) return;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->judged; task++) {
        real miss = solve_miss(plan, at, &s->world, task, &weight);
        if (!task_is_angle(task)) miss = miss * s->results[UNSCALE];
        solve_store_goal_error(s, at, task->goal, v, keep, miss);
    }
    for (int k = 0; !IS_WIDE && k < plan->count; k++) {
        if (plan->nodes[k].posture < 0) continue;
        const int goal = plan->nodes[k].posture;
        mask counts = ~mask_equal(solve_weight(&plan->job->goals[goal].weight, at), real_splat(0));
        quat off = quat_multiply(solve_posture(plan, at, k), quat_conjugate(s->solved[k]));
        real angle = real_select(counts, vec3_length(rotation_vector(off)), real_splat(0));
        solve_store_goal_error(s, at, goal, v, keep, angle);
    }
}

/* ---- what a method keeps from frame to frame */

ik_inline real *solve_state_of(const solve *s, real *record) { return record + s->size.results - s->size.state; }
ik_inline number *solve_kept_state(const solve *s, ptrdiff_t item) {
    return s->state + (item - s->plan->past.first) * s->size.state;
}

/* Into the loaded record: the state of an earlier frame, or 0. */
static void solve_load_state(solve *s) {
    real *into = solve_state_of(s, s->ready);
    memset(into, 0, (size_t)s->size.state * sizeof(real));
    if (!s->state) return;
    for (int lane = 0; lane < s->loaded.count; lane++) {
        const number *from = solve_kept_state(s, lanes_item(s->loaded, lane));
        for (int i = 0; i < s->size.state; i++)
            ((number *)&into[i])[lane] = from[i];
    }
}

/* From results, of items that could be used. */
static void solve_keep_state(const solve *s, group at, mask usable) {
    const real *from = solve_state_of(s, s->results);
    integer keeps[LANES];
    memcpy(keeps, &usable, sizeof keeps);
    for (int lane = 0; s->state && lane < at.count; lane++) {
        number *into = solve_kept_state(s, lanes_item(at, lane));
        for (int i = 0; keeps[lane] && i < s->size.state; i++)
            into[i] = ((const number *)&from[i])[lane];
    }
}

static void solve_finish(solve *s) {
    group at = {0, s->result_count, s->result_item};
    for (int lane = s->result_count; lane < LANES; lane++)
        s->result_item[lane] = s->result_item[0];
    if (s->plan->past.frame) past_look(&s->plan->past, at);
    solve_rebuild(s, at, &s->world);
    mask said = real_bits(s->results[SAID]) | (s->world.held & mask_splat(IK_TOO_FAST));
    verdict v = solve_judge(s->plan, at, &s->world, s->results[ITERATIONS], said);
    if (mask_any(v.missed)) v.said = solve_why(s->plan, at, &s->world, s->solved, &v);
    if (s->plan->limited || s->plan->slides) v.said |= solve_came_outside(s, at, &v);
    solve_store_goal_errors(s, at, &v, solve_store(s, at, &v));
    if (s->size.state) solve_keep_state(s, at, v.finite & v.has_length);
    s->result_count = 0;
}
