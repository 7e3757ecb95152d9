/* The loop of every iterative method: lanes that finish are filled again at once.
 *
 * Iteration counts have a long tail, so lanes that wait for the slowest lane of their vector would waste four fifths of
 * the work. Here every lane of a bundle holds one item, and takes the next one when that is done. A bundle has GROUPS
 * vectors, whose instructions alternate to hide the latency of root and division.
 *
 *   load     a group of items: forward kinematics of the nodes, then the method makes a record of each
 *   take     a record -> a lane of the bundle
 *   iterate  the method's step, on all lanes
 *   put      a lane that is done -> a record of results. An item that misses its goals and has restarts left goes
 *            back to load, with its best attempt.
 *   finish   a group of results, parents first: the method turns each node, the result is judged by forward kinematics
 *            and stored
 *   again    from the found pose, if uneven scales changed bones as joints turned
 *   frames   all of it for every frame of a sequence
 *
 * A record is a column of numbers an item: first those of the loop (enum record), then the method's own, of which the
 * first `results` are what its finish needs. Lengths in a record are scaled by the power of two that brings the reach
 * near 1, and positions are relative to the first node. A lane never looks at another, so the bits of an item do not
 * depend on its neighbours. */

#include "loop_state.h"
#include "store.h"

#include "refill.h"

/* A build for benchmarks counts lanes times steps. */
#ifdef IK_LANE_STEPS
extern long long IK_LANE_STEPS;
#define SOLVE_COUNT(lanes) (IK_LANE_STEPS += (lanes))
#else
#define SOLVE_COUNT(lanes) ((void)0)
#endif

/* Moves the last lanes at work, LANES at most, into the first vector. The other vectors need no more steps. */
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

/* Solves all items; then, from the found poses, those whose bones have changed. */
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
    again.options.start_from_tail = 0; /* otherwise chains curl up, and their bones change most */
    s->job = s->plan->job = &again;
    s->plan->past.follows = s->plan->elsewhere = 0;
    for (s->round = 1; s->round < SOLVE_ROUNDS && s->wants && !s->stop.stopped; s->round++) {
        s->next = first;
        s->taken = s->loaded.count = s->wants = 0;
        solve_items(s, groups);
    }
    s->job = s->plan->job = job;
}

/* ---- sequences of frames */

/* The number of items that go through all frames together. */
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

/* Stores the frame of every usable item, for later frames to look back to. */
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

/* Numbers of a node in a pose: position and rotation, local rotation and translation, and the scaled joint. */
enum { POSE_REALS = 14 + sizeof(scaled_joint) / sizeof(real) };

ik_inline size_t solve_plan_part(const ik_solve_job *job) { return (ik_plan_bytes(job) + 63) / 64 * 64; }

/* Goals, earlier frames of items, and the state that a method keeps of them. */
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

/* The plan is at the start of the scratch memory. */
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
