/* Curves over whole clips with least bending, near to the wanted values and within bounds (ik_smooth_job).
 *
 * The energy is strictly convex, so the minimum is unique. The unknown is the set of frames at which a bound is active.
 * Given that set, the curve is the solution of one banded system (smooth_system.h).
 *
 *   free        no bound is active at first. If the result keeps the bounds, it is the answer.
 *
 *   start       a curve given as similar to the answer: frames that it has at a bound, or beyond, start as active
 * there.
 *
 *   interior    otherwise Mehrotra's predictor-corrector method moves a curve within the bounds towards the answer:
 *               S. Mehrotra, "On the implementation of a primal-dual interior point method", 1992. The number of steps
 *               is nearly independent of the number of frames. It ends once the active bounds can be identified.
 *
 *   settle      then frames become active or inactive as the exact solution requires: M. Hintermueller, K. Ito and
 *               K. Kunisch, "The primal-dual active set strategy as a semismooth Newton method", 2002. It often cycles
 *               from the free curve, but takes one or two rounds after the interior method. Without progress, one frame
 *               changes at a time, which always terminates: J. J. Judice and F. M. Pires, "A block principal pivoting
 *               algorithm for large-scale strictly monotone linear complementarity problems", 1994.
 *
 * Numbers are scaled by a power of two. A lane that is finished stays unchanged until all lanes of its vector are. */

static const number SMOOTH_FAR = 1e100; /* larger numbers are not computed with; bounds beyond count as none */
static const number SMOOTH_NEAR =
    1e-9; /* complementarity gap, relative to its scale, at which the interior method ends */
static const number SMOOTH_SHARE =
    0.25; /* share of the distance between bounds that the interior start keeps from them */
static const number SMOOTH_PRESS = 0.1;   /* pressure of the bounds at the start, relative to the largest force there */
static const number SMOOTH_STEP = 0.995;  /* longest step, relative to the distance to the nearest bound */
static const number SMOOTH_SLACK = 1e-14; /* smallest distance to a bound, relative to the largest violation */
static const number SMOOTH_OFF = 0x1p-40; /* tolerance of a bound, relative to the largest departure */
static const number SMOOTH_LOOSE = 0x1p-44; /* tolerance of the sign of a force at a bound, relative to the same */
enum {
    SMOOTH_INTERIOR = 60, /* largest number of steps; a third of it suffices */
    SMOOTH_SETTLE = 100,  /* largest number of rounds; two suffice */
    SMOOTH_START = 12,  /* rounds within which a useful start is settled; the interior method solves as many systems */
    SMOOTH_CHANCES = 4, /* rounds without a new minimum of wrong frames before one frame changes at a time */
    SMOOTH_LEAST = 6,   /* frames of a loop; a shorter one is repeated */
};

/* A group of channels in progress. */
typedef struct {
    const ik_smooth_job *job;
    smooth_clip clip;
    ptrdiff_t period; /* frames after which a loop repeats */
    real scale;
    mask usable, crossed, vague;
    real rounds;
    int stopped;
} smooth;

/* Asks the job whether to stop; called before every system. */
static int smooth_stops(smooth *s) {
    if (!s->stopped && s->job->stop) s->stopped = s->job->stop(s->job->context) != 0;
    return s->stopped;
}

/* --- loading and storing ------------------------------------------------------------------------------------------ */

static ptrdiff_t smooth_period(const ik_smooth_job *job) {
    return job->loop && job->frames > 1 ? job->frames - 1 : job->frames;
}

/* Number of frames solved. A short loop is repeated until it has enough. */
static ptrdiff_t smooth_frames(const ik_smooth_job *job) {
    ptrdiff_t period = smooth_period(job);
    return job->loop && period > 0 ? (SMOOTH_LEAST + period - 1) / period * period : period;
}

static size_t smooth_bytes(const ik_smooth_job *job) { return smooth_bytes_of(smooth_frames(job), job->loop); }

static real smooth_load(const ik_lists *lists, group at, ptrdiff_t frame, number otherwise) {
    ik_rows rows = lanes_list_row(lists, frame);
    return lists->rows.data ? lanes_load_real(&rows, at) : real_splat(otherwise);
}

/* The bounds of a frame. In a loop, those of the last frame apply to the first as well. */
static void smooth_load_bounds(const smooth *s, group at, ptrdiff_t frame, real bounds[2]) {
    const ik_smooth_job *job = s->job;
    bounds[0] = smooth_load(&job->lower, at, frame, -(number)INFINITY);
    bounds[1] = smooth_load(&job->upper, at, frame, (number)INFINITY);
    if (frame == 0 && s->period < job->frames) {
        bounds[0] = real_max(bounds[0], smooth_load(&job->lower, at, s->period, -(number)INFINITY));
        bounds[1] = real_min(bounds[1], smooth_load(&job->upper, at, s->period, (number)INFINITY));
    }
}

/* True if a number is finite and not too large. A bound may be infinite. */
ik_inline mask smooth_is_plain(real x) { return mask_less(real_abs(x), real_splat(SMOOTH_FAR)); }
ik_inline mask smooth_may_bound(real lower, real upper) {
    const real far = real_splat(SMOOTH_FAR);
    return mask_less(lower, far) & mask_less(-far, upper);
}

/* The frame of the job that a frame of the clip repeats. */
ik_inline ptrdiff_t smooth_source(const smooth *s, ptrdiff_t k) { return k < s->period ? k : k % s->period; }

/* Finds the scale and the channels that can be computed. It stores the wanted values in `moved` and the pull in `step`,
 * so that the first gradient is that of the wanted curve. Bounds are stored as given. */
static void smooth_measure(smooth *s, group at) {
    const ik_smooth_job *job = s->job;
    const number frame = 1 / (number)job->fps, squared = frame * frame;
    real largest = real_splat(0), bounds[2];
    s->usable = smooth_is_plain(real_splat(s->clip.tension));
    EACH_FRAME(k, f, &s->clip) {
        const ptrdiff_t from = smooth_source(s, k);
        real wanted = smooth_load(&job->wanted, at, from, 0), pull = smooth_load(&job->pull, at, from, 0);
        smooth_load_bounds(s, at, from, bounds);
        s->usable &= smooth_is_plain(wanted) & smooth_is_plain(pull * real_splat(squared * squared)) &
                     smooth_may_bound(bounds[0], bounds[1]);
        largest = real_max(largest, real_abs(wanted));
        for (int side = 0; side < 2; side++)
            largest = real_select(smooth_is_plain(bounds[side]), real_max(largest, real_abs(bounds[side])), largest);
        s->clip.bounds[k].at[0] = bounds[0], s->clip.bounds[k].at[1] = bounds[1];
        *f = (smooth_frame){.moved = wanted, .step = real_max(pull * real_splat(squared * squared), real_splat(0))};
    }
    s->scale = real_unit_scale(real_select(s->usable, largest, real_splat(1)));
}

ik_inline void smooth_keep_curved(smooth_clip *clip, ptrdiff_t k, real force, number diagonal, void *context) {
    (void)diagonal, (void)context;
    clip->frames[k].curved = -force;
}

/* Sets the bounds of the departure. If they meet or cross, the frame is pinned. */
static void smooth_set_bounds(smooth *s, ptrdiff_t k, real base, real bounds[2]) {
    const real far = real_splat(SMOOTH_FAR), zero = real_splat(0), half = real_splat(0.5);
    real scaled[2];
    for (int side = 0; side < 2; side++)
        scaled[side] = real_select(smooth_is_plain(bounds[side]), bounds[side] * s->scale, zero);
    mask pinned = s->usable & ~mask_less(bounds[0], bounds[1]);
    real pin = real_select(mask_equal(scaled[0], scaled[1]), scaled[0], half * scaled[0] + half * scaled[1]);
    s->crossed |= s->usable & mask_less(bounds[1], bounds[0]);
    for (int side = 0; side < 2; side++) {
        mask bounded = s->usable & ~pinned & smooth_is_plain(bounds[side]);
        s->clip.bounds[k].at[side] = real_select(bounded, scaled[side] - base, side ? far : -far);
    }
    s->clip.states[k] = pinned & mask_splat(PINNED);
    s->clip.frames[k].moved = real_select(pinned, pin - base, zero);
}

/* Marks a frame as active at a bound if the given start is at it or beyond. */
static void smooth_set_start(smooth *s, ptrdiff_t k, real x, const real bounds[2]) {
    const mask free = s->usable & mask_zero(s->clip.states[k]);
    const mask lower = free & smooth_is_plain(bounds[0]) & (mask_less(x, bounds[0]) | mask_equal(x, bounds[0]));
    const mask upper = free & smooth_is_plain(bounds[1]) & (mask_less(bounds[1], x) | mask_equal(x, bounds[1]));
    s->clip.states[k] |= (lower & mask_splat(AT_LOWER)) | (upper & mask_splat(AT_UPPER));
}

/* Loads all frames of a group. Channels that cannot be computed are set to 0. */
static void smooth_take(smooth *s, group at) {
    const real zero = real_splat(0), one = real_splat(1);
    const int starts = s->job->start.rows.data != NULL;
    real held = zero;
    s->crossed = s->vague = mask_splat(0);
    smooth_measure(s, at);
    smooth_each(&s->clip, smooth_keep_curved, NULL);
    EACH_FRAME(k, f, &s->clip) {
        const real base = real_select(s->usable, f->moved * s->scale, zero);
        f->curved = real_select(s->usable, f->curved * s->scale, zero);
        f->pull = real_select(s->usable, f->step, zero);
        real bounds[2] = {s->clip.bounds[k].at[0], s->clip.bounds[k].at[1]};
        smooth_set_bounds(s, k, base, bounds);
        mask holds = mask_less(zero, f->pull) | ~mask_zero(s->clip.states[k]);
        if (starts) smooth_set_start(s, k, smooth_load(&s->job->start, at, smooth_source(s, k), 0), bounds);
        held = held + real_select(holds, one, zero);
    }
    /* bending energy alone leaves the shift and the slope of a straight line undetermined */
    const int least = s->clip.loop || s->clip.tension > 0 || s->clip.count == 1 ? 1 : 2;
    const number whole = 1 / (number)s->clip.count, faint = whole * whole * (whole * whole);
    const mask loose = mask_less(held, real_splat((number)least));
    if (mask_any(loose)) EACH_FRAME(k, f, &s->clip) f->pull = real_select(loose, real_splat(faint), f->pull);
}

/* Makes all bounds inactive. */
static void smooth_let_go(smooth *s, mask busy) {
    for (ptrdiff_t k = 0; k < s->clip.count; k++)
        s->clip.states[k] &= ~busy | mask_splat(PINNED);
}

/* The value of a frame: at a bound exactly the given number, and never beyond. */
static real smooth_value(const smooth *s, ptrdiff_t k, real wanted, const real bounds[2], real unscale) {
    const real half = real_splat(0.5), moved = s->clip.frames[k].moved;
    const mask state = s->clip.states[k];
    real x = real_select(mask_equal(moved, real_splat(0)), wanted, (wanted * s->scale + moved) * unscale);
    real pin = real_select(mask_equal(bounds[0], bounds[1]), bounds[0], half * bounds[0] + half * bounds[1]);
    x = real_select(mask_less(x, bounds[0]) | smooth_is(state, AT_LOWER), bounds[0], x);
    x = real_select(mask_less(bounds[1], x) | smooth_is(state, AT_UPPER), bounds[1], x);
    return real_select(smooth_is(state, PINNED), pin, x);
}

static void smooth_store(const smooth *s, group at, mask unsettled) {
    const ik_smooth_job *job = s->job;
    const real unscale = real_unscale(s->scale);
    real first = real_splat(0), bounds[2];
    for (ptrdiff_t k = 0; k < job->frames; k++) {
        ik_rows to = lanes_list_row(&job->values, k);
        real wanted = smooth_load(&job->wanted, at, k, 0);
        smooth_load_bounds(s, at, smooth_source(s, k), bounds);
        real x = smooth_value(s, smooth_source(s, k), wanted, bounds, unscale);
        if (k == 0) first = x;
        if (k == s->period) x = first;
        lanes_store_real(&to, at, real_select(s->usable, x, wanted));
    }
    mask status = s->crossed & mask_splat(IK_CONFLICT);
    status |= (unsettled | s->vague) & mask_splat(IK_ITERATION_LIMIT);
    lanes_store_status(&job->status, at, mask_select(s->usable, status, mask_splat(IK_NOT_FINITE)));
    lanes_store_count(&job->iterations, at, s->rounds);
}

/* --- settle ------------------------------------------------------------------------------------------------------- */

ik_inline void smooth_set_plain(smooth_clip *clip, ptrdiff_t k, real force, number diagonal, void *context) {
    (void)context;
    clip->frames[k].pivot = real_splat(diagonal) + clip->frames[k].pull;
    clip->frames[k].step = force;
}

/* For pivots that are already reciprocals. */
ik_inline void smooth_set_force(smooth_clip *clip, ptrdiff_t k, real force, number diagonal, void *context) {
    (void)diagonal, (void)context;
    clip->frames[k].step = force;
}

/* Moves these lanes to the equilibrium: one step, and a second one that removes round-off. */
static void smooth_relax(smooth *s, mask busy) {
    smooth_solve(&s->clip, smooth_set_plain, (smooth_then){.move = &busy});
    smooth_solve_again(&s->clip, smooth_set_force, (smooth_then){.move = &busy});
}

/* Frames on the wrong side of a bound: their number, the last of them, and the tolerances of the test. */
typedef struct {
    mask *states;
    real off, loose, count, last;
} smooth_wrong;

ik_inline void smooth_mark_at(smooth_clip *clip, ptrdiff_t k, real force, number diagonal, void *context) {
    const real zero = real_splat(0), one = real_splat(1);
    smooth_wrong *seen = context;
    const smooth_frame *f = &clip->frames[k];
    const smooth_bounds *b = &clip->bounds[k];
    const mask state = seen->states[k];
    mask beyond = mask_less(f->moved, b->at[0] - seen->off) | mask_less(b->at[1] + seen->off, f->moved);
    mask wrong = mask_zero(state) & beyond;
    wrong |= smooth_is(state, AT_LOWER) & mask_less(seen->loose, force);
    wrong |= smooth_is(state, AT_UPPER) & mask_less(force, -seen->loose);
    seen->states[k] = state | (wrong & mask_splat(WRONG));
    seen->count = seen->count + real_select(wrong, one, zero);
    seen->last = real_max(seen->last, real_select(wrong, real_splat((number)k), zero));
    (void)diagonal;
}

/* Marks frames on the wrong side of a bound: those out of bounds, and those whose bound is active but pulls them
 * back. */
static smooth_wrong smooth_mark(smooth *s) {
    const real zero = real_splat(0);
    real largest = zero;
    EACH_FRAME(k, f, &s->clip) largest = real_max(largest, real_abs(f->moved));
    smooth_wrong seen = {s->clip.states, real_splat(SMOOTH_OFF) * largest, real_splat(SMOOTH_LOOSE) * largest, zero,
                         zero};
    smooth_each(&s->clip, smooth_mark_at, &seen);
    return seen;
}

/* Makes marked frames active or inactive; in the lanes of `alone` only the last one. */
static void smooth_change(smooth *s, mask busy, mask alone, real last) {
    EACH_FRAME(k, f, &s->clip) {
        mask *state = &s->clip.states[k];
        mask changes = busy & smooth_is(*state, WRONG) & (~alone | mask_equal(last, real_splat((number)k)));
        mask lower = mask_less(f->moved, s->clip.bounds[k].at[0]);
        mask side = mask_select(lower, mask_splat(AT_LOWER), mask_splat(AT_UPPER));
        *state &= ~mask_splat(WRONG);
        *state = mask_select(changes, mask_zero(*state) & side, *state);
    }
}

/* Sets frames at active bounds to the bounds and holds them; other frames start from their wanted values. */
static void smooth_place(smooth *s, mask busy) {
    EACH_FRAME(k, f, &s->clip) {
        const real *at = s->clip.bounds[k].at;
        const mask state = s->clip.states[k], free = mask_zero(state);
        real moved = real_select(free, real_splat(0), f->moved);
        moved = real_select(smooth_is(state, AT_LOWER), at[0], moved);
        moved = real_select(smooth_is(state, AT_UPPER), at[1], moved);
        f->moved = real_select(busy, moved, f->moved);
        f->free = real_select(free, real_splat(1), real_splat(0));
    }
}

/* Returns the lanes that are not settled after `rounds`. All wrong frames change while their number falls, or has not
 * fallen for at most SMOOTH_CHANCES rounds. After that only the last one changes, until the number falls. */
static mask smooth_settle(smooth *s, mask busy, int rounds) {
    const real zero = real_splat(0), one = real_splat(1), chances = real_splat(SMOOTH_CHANCES);
    real fewest = real_splat(SMOOTH_FAR), left = chances;
    for (int round = 0; round < rounds && mask_any(busy) && !smooth_stops(s); round++) {
        smooth_place(s, busy);
        smooth_relax(s, busy);
        s->rounds = s->rounds + real_select(busy, one, zero);
        s->vague = mask_select(busy, s->clip.vague, s->vague);
        const smooth_wrong wrong = smooth_mark(s);
        mask fewer = mask_less(wrong.count, fewest);
        left = real_select(fewer, chances, left - one);
        fewest = real_min(wrong.count, fewest);
        smooth_change(s, busy, mask_less(left, zero), wrong.last);
        busy &= mask_less(zero, wrong.count);
    }
    return busy;
}

#include "smooth_interior.h"

/* --- whole jobs --------------------------------------------------------------------------------------------------- */

static void smooth_rows(const ik_smooth_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    const number frame = 1 / (number)job->fps, tension = (number)job->tension * (frame * frame);
    const int loop = job->loop && job->frames > 0;
    smooth s = {.job = job, .period = smooth_period(job)};
    s.clip = smooth_clip_of(scratch, smooth_frames(job), loop, tension);
    EACH_GROUP (at, first, last) {
        s.rounds = real_splat(0);
        smooth_take(&s, at);
        mask unsettled = s.clip.count > 0 ? s.usable : mask_splat(0);
        if (job->start.rows.data) {
            unsettled = smooth_settle(&s, unsettled, SMOOTH_START);
            smooth_let_go(&s, unsettled);
        }
        unsettled = smooth_settle(&s, unsettled, 1);
        if (mask_any(unsettled)) smooth_interior(&s, unsettled);
        unsettled = smooth_settle(&s, unsettled, SMOOTH_SETTLE);
        if (s.stopped) return;
        smooth_store(&s, at, unsettled);
    }
}
