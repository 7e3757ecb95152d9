/* The frame of every iterative method: lanes that finish are filled again at once.
 *
 * Iteration counts have a long tail, so lanes that wait for the slowest lane of their vector would waste four fifths of
 * the work. Here every lane of a bundle (GROUPS vectors, worked on together to hide the latency of root and division)
 * holds one item, and when that item is done takes the next:
 *
 *   load     a group of items: forward kinematics of the nodes, then the method makes a record of each
 *   take     a record -> a lane of the bundle
 *   iterate  the method's step, on all lanes
 *   put      a lane that is done -> a record of results; or, where it has not arrived and restarts are left, back to
 *            load, with the best so far
 *   finish   a group of results, parents first: the method turns each node, the result is judged by forward kinematics
 *            and stored
 *   again    from the found pose, if uneven scales changed bones as joints turned
 *   frames   all of it for every frame of a sequence
 *
 * A record is a column of numbers an item: first those of the frame (enum record), then the method's own, of which the
 * first `results` are what its finish needs. Lengths in a record are scaled by the power of two that brings the reach
 * near 1, and positions are relative to the first node. A lane never looks at another, so the bits of an item do not
 * depend on its neighbours. */

/* Data of an item that starts again: its best attempt. */
enum kept {
    KEPT_ERROR,      /* in the world */
    KEPT_ITERATIONS, /* of all attempts */
    KEPT_ATTEMPT,    /* the number of the one at work, from 0 */
    KEPT_RESULTS = COLUMNS_AT_ONCE,
};

/* Those that wait while fewer than LANES do, and those that come while a loaded group is taken. */
enum { MOST_WAITING = 3 * LANES };

/* A solve under way. */
typedef struct {
    const ik_solve_job *job; /* of the frame at work, */
    ik_plan *plan;
    const method *how;
    record_size size;
    int round;            /* 0, and then from the poses that were found */
    int wants;            /* some item gains by another */
    ptrdiff_t next, last; /* items not loaded yet */
    ik_stop stop;
    pose world;
    quat *solved;  /* local rotations of the group that ends */
    vec3 *moved;   /* and translations, of nodes that slide */
    number *state; /* what a method keeps of items from frame to frame, size.state of each; NULL: nothing */
    real *ready;   /* records of the group loaded last */
    group loaded;
    integer wanted[LANES]; /* which of those gain, in rounds after the first */
    int taken;             /* of those */
    real *bundle;
    ptrdiff_t item[GROUPS * LANES]; /* in every lane; NONE */
    real *results;
    ptrdiff_t result_item[LANES];
    int result_count;
    int kept;      /* columns that restarts add to a record, see enum kept */
    real *waiting; /* of items that start again, as soon as there are LANES of them or no others */
    ptrdiff_t waiting_item[MOST_WAITING];
    int waiting_count;
    int attempts[LANES];           /* of the group loaded last, */
    ptrdiff_t loaded_items[LANES]; /* where that is of items that start again */
} solve;

enum { NONE = -1 };

/* ---- the end of an item */

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

/* From the rotations in the world that a method found to local ones, and to where they put the nodes. */
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

/* Uneven scales above a joint that turns: its bones change as it does. */
static mask solve_is_uneven(const ik_plan *plan, const pose *world) {
    mask uneven = mask_splat(0);
    for (int k = 0; k < plan->count; k++) {
        int parent = plan->nodes[k].parent;
        if (plan->nodes[k].turns && parent >= 0) uneven |= ~world->scaled[parent].even;
    }
    return uneven;
}

/* Where another round may help, if the bones change. */
static mask solve_gains(const ik_plan *plan, const verdict *v, real iterations) {
    mask may = mask_less(iterations, real_splat((number)plan->job->options.iterations));
    return may & v->missed & v->finite & v->has_length;
}

/* Where a round has brought nothing. */
static mask solve_is_no_better(const solve *s, group at, const verdict *v) {
    real error = lanes_load_option(&s->job->error, at, LARGEST) / s->results[UNSCALE];
    real angle = lanes_load_option(&s->job->rotation_error, at, 0);
    return ~mask_less(v->error + v->rotation_error, error + angle);
}

/* Whether the pose that came in has node k outside its limit, by more than the tolerances and rounding. */
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

/* The same of all nodes. A later round starts from what the first has found, which has said it. */
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

/* Of every goal its own error; of a posture the angle. */
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

/* Into the record that is loaded: that of a frame before, or none. */
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

/* ---- lanes of the bundle */

/* The first columns of one item, from its lane to another. */
ik_inline void solve_move(columns to, int to_lane, columns from, int from_lane, int count) {
    const ptrdiff_t step = to.step * LANES, from_step = from.step * LANES;
    number *target = (number *)to.first + to_lane;
    const number *source = (const number *)from.first + from_lane;
    for (int i = 0; i < count;
         i += COLUMNS_AT_ONCE, target += COLUMNS_AT_ONCE * step, source += COLUMNS_AT_ONCE * from_step)
        for (int k = 0; k < COLUMNS_AT_ONCE; k++)
            target[k * step] = source[k * from_step];
}

/* Which of the group loaded another round is for: it goes by nothing but the item. */
static void solve_choose(solve *s) {
    mask wanted = solve_is_uneven(s->plan, &s->world);
    if (s->round && mask_any(wanted)) {
        verdict v = solve_judge(s->plan, s->loaded, &s->world, s->ready[ITERATIONS], mask_splat(0));
        wanted &= solve_gains(s->plan, &v, s->ready[ITERATIONS]);
    }
    s->wants |= mask_any(wanted);
    memcpy(s->wanted, &wanted, sizeof wanted);
}

/* ---- restarts */

ik_inline columns solve_kept_of_record(const solve *s) {
    return columns_of_record(s->ready + columns_allocated(s->size.columns));
}
ik_inline columns solve_kept_of_bundle(const solve *s, int g) {
    return columns_of_bundle(s->bundle + (ptrdiff_t)GROUPS * columns_allocated(s->size.columns + s->size.work), g);
}
ik_inline columns solve_kept_of_waiting(const solve *s, int at) {
    return columns_of_record(s->waiting + (ptrdiff_t)(at / LANES) * s->kept);
}
ik_inline number *solve_in_lane(columns c, int i, int lane) { return (number *)column(c, i) + lane; }

/* An attempt has ended; the best one is kept. Returns whether there is to be another. */
static int solve_tries_again(solve *s, int g, int lane) {
    columns c = columns_of_bundle(s->bundle, g), kept = solve_kept_of_bundle(s, g);
    const number error = *solve_in_lane(c, ERROR, lane), off = error * *solve_in_lane(c, UNSCALE, lane);
    const int missed = *solve_in_lane(c, TOLERANCE, lane) < error;
    number *best = solve_in_lane(kept, KEPT_ERROR, lane), *attempt = solve_in_lane(kept, KEPT_ATTEMPT, lane);
    *solve_in_lane(kept, KEPT_ITERATIONS, lane) += *solve_in_lane(c, ITERATIONS, lane);
    if (!missed || *attempt == 0 || off < *best) {
        columns results = {column(kept, KEPT_RESULTS), kept.step};
        solve_move(results, lane, c, lane, s->size.results);
        *best = off;
    }
    if (!missed || *attempt == (number)(s->job->options.restarts + s->how->hurries)) return 0;
    *attempt += 1;
    if (s->stop.stopped) return 1; /* nobody waits for it */
    solve_move(solve_kept_of_waiting(s, s->waiting_count), s->waiting_count % LANES, kept, lane, s->kept);
    s->waiting_item[s->waiting_count++] = s->item[g * LANES + lane];
    return 1;
}

/* The best attempt is the result. */
static void solve_put_best(solve *s, int g, int lane) {
    columns kept = solve_kept_of_bundle(s, g), results = columns_of_record(s->results);
    solve_move(results, s->result_count, (columns){column(kept, KEPT_RESULTS), kept.step}, lane, s->size.results);
    *solve_in_lane(results, ITERATIONS, s->result_count) = *solve_in_lane(kept, KEPT_ITERATIONS, lane);
}

/* A group of those that wait, into the record of what is loaded. */
static void solve_load_waiting(solve *s) {
    columns kept = solve_kept_of_record(s);
    const int count = s->waiting_count < LANES ? s->waiting_count : LANES;
    for (int lane = 0; lane < LANES; lane++) {
        const int from = s->waiting_count - 1 - (lane < count ? lane : 0);
        solve_move(kept, lane, solve_kept_of_waiting(s, from), from % LANES, s->kept);
        s->loaded_items[lane] = s->waiting_item[from];
        s->attempts[lane] = (int)*solve_in_lane(kept, KEPT_ATTEMPT, lane);
    }
    s->waiting_count -= count;
    s->loaded = (group){0, count, s->loaded_items};
    s->plan->attempts = s->attempts;
    s->plan->elsewhere = 1;
}

static void solve_load_next(solve *s) {
    s->loaded = lanes_group(s->next, s->last);
    s->next += s->loaded.count;
    s->plan->attempts = NULL;
    s->plan->elsewhere = s->plan->past.follows;
    if (s->kept) memset(s->ready + columns_allocated(s->size.columns), 0, KEPT_RESULTS * sizeof(real));
}

/* ---- load */

static void solve_load(solve *s) {
    if (s->waiting_count >= LANES || s->next == s->last)
        solve_load_waiting(s);
    else
        solve_load_next(s);
    s->taken = 0;
    if (s->plan->past.frame) past_look(&s->plan->past, s->loaded);
    solve_load_pose(s->plan, s->loaded, &s->world);
    s->ready[TOLERANCE] = real_splat(solve_within(s->plan, s->job->options.tolerance)) * s->world.reach;
    if (s->plan->slides) {
        real way = solve_way(s->plan, s->loaded, &s->world), zero = real_splat(0);
        s->ready[TOLERANCE] =
            real_select(mask_equal(s->world.reach, zero), real_splat(4 * EPSILON) * way, s->ready[TOLERANCE]);
    }
    s->ready[UNSCALE] = real_unscale(s->world.scale);
    s->ready[ITERATIONS] = s->round ? lanes_load_count(&s->job->iterations, s->loaded) : real_splat(0);
    s->ready[SAID] = real_splat(0);
    if (solve_scaled(&s->world)) solve_choose(s);
    if (s->size.state) solve_load_state(s);
    s->how->begin(s->plan, s->loaded, &s->world, columns_of_record(s->ready));
    s->plan->attempts = NULL;
    s->plan->elsewhere = s->plan->past.follows;
}

/* A lane with no item never works. */
static void solve_empty(solve *s, int g, int lane) {
    const number largest = LARGEST;
    memcpy((number *)column(columns_of_bundle(s->bundle, g), TOLERANCE) + lane, &largest, sizeof largest);
    s->item[g * LANES + lane] = NONE;
}

/* The work of a step on one vector: what goals have in common goes by pairs. */
static long long solve_work(const ik_plan *plan) {
    long long tasks = plan->task_count > 1 ? plan->task_count : 1;
    return (plan->slots + 1) * tasks * tasks;
}

/* Whether there is another item to do, which is loaded then. */
static int solve_has_next(solve *s) {
    for (;; s->taken++) {
        if (s->taken == s->loaded.count) {
            if ((s->next == s->last && !s->waiting_count) || solve_stops(s->plan, s->plan->count)) return 0;
            solve_load(s);
        }
        if (!s->round || s->wanted[s->taken]) return 1;
    }
}

/* The next item into a lane; false where there is none. */
static int solve_take(solve *s, int g, int lane) {
    if (!solve_has_next(s)) {
        solve_empty(s, g, lane);
        return 0;
    }
    solve_move(columns_of_bundle(s->bundle, g), lane, columns_of_record(s->ready), s->taken, s->size.columns);
    if (s->kept) solve_move(solve_kept_of_bundle(s, g), lane, solve_kept_of_record(s), s->taken, s->kept);
    s->item[g * LANES + lane] = lanes_item(s->loaded, s->taken++);
    return 1;
}

static void solve_put(solve *s, int g, int lane) {
    if (s->kept && solve_tries_again(s, g, lane)) return;
    if (s->kept)
        solve_put_best(s, g, lane);
    else
        solve_move(columns_of_record(s->results), s->result_count, columns_of_bundle(s->bundle, g), lane,
                   s->size.results);
    s->result_item[s->result_count++] = s->item[g * LANES + lane];
    if (s->result_count == LANES) solve_finish(s);
}

/* Lanes that still work on their item. */
ik_inline mask solve_works(const solve *s, int g) {
    columns c = columns_of_bundle(s->bundle, g);
    real most = real_splat((number)s->job->options.iterations);
    return mask_less(*column(c, TOLERANCE), *column(c, ERROR)) & mask_less(*column(c, ITERATIONS), most) &
           mask_zero(real_bits(*column(c, SAID)));
}

/* The error of every item at work, as often as it is asked for. */
static void solve_record(const solve *s, int g) {
    columns c = columns_of_bundle(s->bundle, g);
    real in_world = *column(c, ERROR) * *column(c, UNSCALE);
    number error[LANES], iterations[LANES];
    memcpy(error, &in_world, sizeof error);
    memcpy(iterations, column(c, ITERATIONS), sizeof iterations);
    for (int k = 0; k < LANES; k++) {
        ptrdiff_t item = s->item[g * LANES + k];
        if (item == NONE) continue;
        const ik_lists *history = &s->job->history;
        char *row = (char *)history->rows.data + item * history->rows.stride;
        memcpy(row + (ptrdiff_t)iterations[k] * history->next, &error[k], sizeof(number));
    }
}

/* Lists the lanes that do not work, without a branch on any of them; returns how many. */
ik_inline int solve_list_idle(mask at_work, int *idle) {
    integer works[LANES];
    int count = 0;
    memcpy(works, &at_work, sizeof works);
    for (int lane = 0; lane < LANES; lane++) {
        idle[count] = lane;
        count += works[lane] == 0;
    }
    return count;
}

/* Puts what is done and takes what is next, until every lane has work or there is none. Returns how many work. */
static int solve_refill(solve *s, int g) {
    for (;;) {
        mask at_work = solve_works(s, g);
        if (!mask_any(~at_work)) return LANES;
        int idle[LANES], count = solve_list_idle(at_work, idle), taken = 0;
        for (int i = 0; i < count; i++) {
            if (s->item[g * LANES + idle[i]] == NONE) continue;
            solve_put(s, g, idle[i]);
            taken |= solve_take(s, g, idle[i]);
        }
        if (!taken) return LANES - count;
        if (s->job->history.rows.data) solve_record(s, g);
    }
}

/* What an earlier round or frame has left in lanes that went on without an item is no item's: work starts from 0. */
static void solve_start(solve *s, int groups) {
    memset(s->bundle + (ptrdiff_t)GROUPS * s->size.columns, 0, (size_t)s->size.work * GROUPS * sizeof(real));
    for (int lane = 0; lane < groups * LANES; lane++)
        solve_take(s, lane / LANES, lane % LANES);
    for (int g = 0; g < groups && s->job->history.rows.data; g++)
        solve_record(s, g);
}

/* A build for benchmarks counts lanes times steps. */
#ifdef IK_LANE_STEPS
extern long long IK_LANE_STEPS;
#define SOLVE_COUNT(lanes) (IK_LANE_STEPS += (lanes))
#else
#define SOLVE_COUNT(lanes) ((void)0)
#endif

/* The last lanes at work, LANES at most, into the first vector: the others need no more steps. */
static void solve_close_up(solve *s, int groups) {
    const int all = columns_allocated(s->size.columns + s->size.work) + s->kept;
    for (int lane = 0, from = LANES; lane < LANES; lane++) {
        if (s->item[lane] != NONE) continue;
        while (from < groups * LANES && s->item[from] == NONE)
            from++;
        if (from == groups * LANES) return;
        solve_move(columns_of_bundle(s->bundle, 0), lane, columns_of_bundle(s->bundle, from / LANES), from % LANES,
                   all);
        s->item[lane] = s->item[from];
        s->item[from] = NONE;
    }
}

static void solve_items(solve *s, int groups) {
    solve_start(s, groups);
    for (;;) {
        int working = 0;
        for (int g = 0; g < groups; g++)
            working += solve_refill(s, g);
        if (!working || solve_stops(s->plan, groups * solve_work(s->plan))) break;
        if (groups > 1 && working <= LANES) {
            solve_close_up(s, groups);
            groups = 1;
        }
        s->how->step(s->plan, s->bundle, groups);
        SOLVE_COUNT(groups * LANES);
        if (s->stop.stopped) break; /* maybe in the middle of the step */
        for (int g = 0; g < groups; g++) {
            real *iterations = column(columns_of_bundle(s->bundle, g), ITERATIONS);
            *iterations = *iterations + real_splat(1);
            if (s->job->history.rows.data) solve_record(s, g);
        }
    }
    if (s->result_count) solve_finish(s);
}

/* All items, and then, from the poses that were found, those of which the bones have changed. */
enum { SOLVE_ROUNDS = 40 };
static void solve_rounds(solve *s, ptrdiff_t first, int groups) {
    s->round = 0;
    s->next = first;
    s->taken = s->loaded.count = s->wants = 0;
    s->plan->past.follows = s->plan->elsewhere = s->plan->past.frame > 0 && !s->job->judge;
    solve_items(s, groups);
    if (!s->wants || s->job->judge) return;
    const ik_solve_job *job = s->job;
    ik_solve_job again = *job;
    again.rotations = again.solved;
    again.options.start_from_tail = 0; /* so that chains do not curl up, whose bones change most */
    s->job = s->plan->job = &again;
    s->plan->past.follows = s->plan->elsewhere = 0;
    for (s->round = 1; s->round < SOLVE_ROUNDS && s->wants && !s->stop.stopped; s->round++) {
        s->next = first;
        s->taken = s->loaded.count = s->wants = 0;
        solve_items(s, groups);
    }
    s->job = s->plan->job = job;
}

/* ---- frames that follow each other */

/* So many items at a time are taken through all frames. */
enum { SOLVE_ITEMS = 4096 };

static int solve_has_frames(const ik_solve_job *job) { return job->frames > 1; }

static void solve_go_to(ik_rows *rows, const ik_rows *first, int frame) {
    if (first->data) rows->data = (char *)first->data + frame * first->frame;
}

/* The job of a frame; its goals are in memory of their own. */
static void solve_go_to_frame(ik_solve_job *now, ik_goal *goals, const ik_solve_job *job, int frame) {
    ik_lists *lists[] = {&now->rotations, &now->translations, &now->scales, &now->solved,
                         &now->moved,     &now->goal_errors,  &now->history};
    const ik_lists *first[] = {&job->rotations, &job->translations, &job->scales, &job->solved,
                               &job->moved,     &job->goal_errors,  &job->history};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        solve_go_to(&lists[i]->rows, &first[i]->rows, frame);
    solve_go_to(&now->status, &job->status, frame);
    solve_go_to(&now->error, &job->error, frame);
    solve_go_to(&now->rotation_error, &job->rotation_error, frame);
    solve_go_to(&now->iterations, &job->iterations, frame);
    for (int g = 0; g < job->goal_count; g++) {
#define SOLVE_GO_TO(name, columns, doc) solve_go_to(&goals[g].name, &job->goals[g].name, frame);
        IK_GOAL_ROWS(SOLVE_GO_TO)
#undef SOLVE_GO_TO
    }
}

/* What later frames look back to. */
static void solve_remember(const solve *s, ptrdiff_t first, ptrdiff_t last) {
    const ik_past *past = &s->plan->past;
    for (ptrdiff_t item = first; item < last; item++) {
        int *frames = past->frames[item - first];
        if (*(const int32_t *)((const char *)s->job->status.data + item * s->job->status.stride) >= IK_UNUSABLE)
            continue;
        frames[PAST_BEFORE] = frames[PAST_LAST];
        frames[PAST_LAST] = past->frame;
    }
}

/* All frames of some items. */
static void solve_frames(solve *s, const ik_solve_job *job, ik_goal *goals, ptrdiff_t first, ptrdiff_t last) {
    const int groups = last - first <= LANES ? 1 : GROUPS, follow = solve_has_frames(job);
    ik_past *past = &s->plan->past;
    ik_solve_job now = *job;
    s->job = s->plan->job = &now;
    s->last = last;
    past->first = first;
    past->frame = 0;
    if (follow) {
        now.goals = memcpy(goals, job->goals, (size_t)job->goal_count * sizeof *goals);
        memset(past->frames, -1, (size_t)(last - first) * sizeof *past->frames);
        if (s->state) memset(s->state, 0, (size_t)((last - first) * s->size.state) * sizeof *s->state);
    }
    for (;;) {
        solve_rounds(s, first, groups);
        if (s->stop.stopped || past->frame + 1 >= job->frames) break;
        solve_remember(s, first, last);
        solve_go_to_frame(&now, goals, job, ++past->frame);
    }
    s->job = s->plan->job = job;
}

/* ---- scratch memory: the plan, what frames need, then lanes */

/* Of a node: position and rotation, local rotation and translation, and the scaled joint. */
enum { POSE_REALS = 14 + sizeof(scaled_joint) / sizeof(real) };

ik_inline size_t solve_plan_part(const ik_solve_job *job) { return (ik_plan_bytes(job) + 63) / 64 * 64; }

/* Goals, what items look back to, and what a method keeps of them. */
ik_inline size_t solve_frames_part(const ik_solve_job *job, int state) {
    const size_t of_item = sizeof(int[2]) + (size_t)state * sizeof(number);
    if (!solve_has_frames(job)) return 0;
    return ((size_t)job->goal_count * sizeof(ik_goal) + SOLVE_ITEMS * of_item + 63) / 64 * 64;
}

/* Columns that restarts add. */
ik_inline int solve_kept(const ik_solve_job *job, record_size size) {
    return job->options.restarts > 0 ? KEPT_RESULTS + columns_allocated(size.results) : 0;
}

/* For the largest plan there can be. */
static size_t solve_scratch(const ik_solve_job *job, record_size (*size_of)(const ik_plan *plan)) {
    const ik_plan most = ik_plan_largest(job);
    record_size size = size_of(&most);
    size_t kept = (size_t)solve_kept(job, size);
    size_t records = (size_t)columns_allocated(size.columns) + (size_t)columns_allocated(size.results) + 4 * kept;
    size_t bundle = ((size_t)columns_allocated(size.columns + size.work) + kept) * GROUPS;
    size_t reals = (size_t)most.count * POSE_REALS + records + bundle;
    size_t cones = (size_t)job->skeleton->cone_count * sizeof(limit_cone);
    return solve_plan_part(job) + solve_frames_part(job, size.state) + reals * sizeof(real) +
           (size_t)most.count * sizeof(limit) + cones;
}

ik_inline real *solve_cut(real **free, int count) {
    real *cut = *free;
    *free += count;
    return cut;
}

/* The plan is where scratch memory starts. */
static void solve_run(const method *how, ik_plan *plan, ptrdiff_t first, ptrdiff_t last) {
    const ik_solve_job *job = plan->job;
    solve s = {.plan = plan, .how = how};
    ik_goal *goals = (ik_goal *)((char *)plan + solve_plan_part(job));
    s.size = how->size(plan);
    real *free = (real *)((char *)goals + solve_frames_part(job, s.size.state));
    plan->work = s.size.columns;
    s.world.positions = (vec3 *)solve_cut(&free, 3 * plan->count);
    s.world.rotations = (quat *)solve_cut(&free, 4 * plan->count);
    s.solved = (quat *)solve_cut(&free, 4 * plan->count);
    s.moved = (vec3 *)solve_cut(&free, 3 * plan->count);
    if (job->scales.rows.data) {
        const int numbers = (int)(sizeof(scaled_joint) / sizeof(real));
        s.world.scaled = (scaled_joint *)solve_cut(&free, numbers * plan->count);
    }
    s.kept = solve_kept(job, s.size);
    s.ready = solve_cut(&free, columns_allocated(s.size.columns) + s.kept);
    s.results = solve_cut(&free, columns_allocated(s.size.results));
    s.waiting = solve_cut(&free, s.kept * (MOST_WAITING / LANES));
    s.bundle = solve_cut(&free, (columns_allocated(s.size.columns + s.size.work) + s.kept) * GROUPS);
    memset(s.ready, 0, (size_t)(free - s.ready) * sizeof(real));
    if (plan->limited) solve_prepare_limits(plan, (limit *)free);
    plan->past.frames = (int (*)[2])(goals + job->goal_count);
    s.state = solve_has_frames(job) && s.size.state ? (number *)(plan->past.frames + SOLVE_ITEMS) : NULL;
    plan->pose = &s.world;
    plan->stop = &s.stop;
    const ptrdiff_t most = solve_has_frames(job) ? SOLVE_ITEMS : last - first;
    for (; first < last && !s.stop.stopped; first += most)
        solve_frames(&s, job, goals, first, last - first < most ? last : first + most);
    plan->pose = NULL, plan->stop = NULL;
}

/* ---- the method that solves nothing: ik_solve_job.judge */

static record_size nothing_size(const ik_plan *plan) {
    return (void)plan, (record_size){.columns = OWN, .results = OWN};
}

static void nothing_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    (void)plan, (void)at, (void)start;
    *column(record, ERROR) = real_splat(0);
}

static void nothing_step(const ik_plan *plan, real *bundle, int groups) { (void)plan, (void)bundle, (void)groups; }

static void nothing_place(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local) {
    (void)plan, (void)at, (void)record, (void)world, (void)k, (void)local;
}

static const method solve_nothing = {nothing_size, nothing_begin, nothing_step, nothing_place, 0};
