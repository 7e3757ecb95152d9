/* Lanes of the bundle: loads and takes records, puts results, and fills lanes that are done again. */

/* ---- lanes of the bundle */

/* Copies the first columns of one item from its lane to another. */
ik_inline void solve_move(columns to, int to_lane, columns from, int from_lane, int count) {
    const ptrdiff_t step = to.step * LANES, from_step = from.step * LANES;
    number *target = (number *)to.first + to_lane;
    const number *source = (const number *)from.first + from_lane;
    for (int i = 0; i < count;
         i += COLUMNS_AT_ONCE, target += COLUMNS_AT_ONCE * step, source += COLUMNS_AT_ONCE * from_step)
        for (int k = 0; k < COLUMNS_AT_ONCE; k++)
            target[k * step] = source[k * from_step];
}

/* The lanes of the loaded group that need another round. This depends on the item alone. */
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

/* Keeps the best attempt after one has ended. Returns whether there is another one. */
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

/* Loads a group of waiting items. */
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

/* The work of a step on one vector. Terms that goals share grow with the number of pairs. */
static long long solve_work(const ik_plan *plan) {
    long long tasks = plan->task_count > 1 ? plan->task_count : 1;
    return (plan->slots + 1) * tasks * tasks;
}

/* Whether there is another item; if so, it is loaded. */
static int solve_has_next(solve *s) {
    for (;; s->taken++) {
        if (s->taken == s->loaded.count) {
            if ((s->next == s->last && !s->waiting_count) || solve_stops(s->plan, s->plan->count)) return 0;
            solve_load(s);
        }
        if (!s->round || s->wanted[s->taken]) return 1;
    }
}

/* The next item into a lane; false if there is none. */
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

/* Writes the error of every item at work to its history. */
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

/* Puts finished items and takes the next ones, until every lane has work or no item is left. Returns the number of
 * lanes with work. */
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

/* Fills all lanes. The work columns of lanes without an item may hold values of an earlier round or frame, so they
 * start from 0. */
static void solve_start(solve *s, int groups) {
    memset(s->bundle + (ptrdiff_t)GROUPS * s->size.columns, 0, (size_t)s->size.work * GROUPS * sizeof(real));
    for (int lane = 0; lane < groups * LANES; lane++)
        solve_take(s, lane / LANES, lane % LANES);
    for (int g = 0; g < groups && s->job->history.rows.data; g++)
        solve_record(s, g);
}
