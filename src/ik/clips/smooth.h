/* Curves over whole clips that bend as little as may be, near to what is wanted and within bounds (ik_smooth_job).
 *
 * The energy is strictly convex, so there is one best curve; what is to be found is the frames where a bound presses
 * it. With these known it is the solution of one banded system (smooth_system.h).
 *
 *   free        first nothing is at a bound. Where that keeps the bounds, it is the answer
 *   interior    else a curve within the bounds goes to the answer by Mehrotra's predictor and corrector: S. Mehrotra,
 *               "On the implementation of a primal-dual interior point method", 1992. How many steps that takes hardly
 *               depends on the number of frames; it ends near enough to see which bounds press
 *   settle      from there on frames change sides as the exact solution says: M. Hintermueller, K. Ito and K. Kunisch,
 *               "The primal-dual active set strategy as a semismooth Newton method", 2002. From the start that often
 *               cycles, from the end of the interior it is done in a round or two. Where even so it makes no progress,
 *               one frame at a time: J. J. Judice and F. M. Pires, "A block principal pivoting algorithm for
 *               large-scale strictly monotone linear complementarity problems", 1994, which must come to an end
 *
 * Numbers are scaled by a power of two. A lane that is done waits, unchanged, for the others of its vector. */

static const number SMOOTH_FAR = 1e100;   /* what no number reaches: bounds beyond are none */
static const number SMOOTH_NEAR = 1e-9;   /* what is left of the distance when the interior ends; the rest is settled */
static const number SMOOTH_SHARE = 0.25;  /* of the room between bounds: how far from these the interior begins */
static const number SMOOTH_PRESS = 0.1;   /* of the largest force there: how hard bounds press then */
static const number SMOOTH_STEP = 0.995;  /* of the way to the nearest bound, the most of a step */
static const number SMOOTH_SLACK = 1e-14; /* of the largest violation: what a bound is away at least */
static const number SMOOTH_OFF = 0x1p-40; /* of the largest departure: what is not out of bounds yet */
static const number SMOOTH_LOOSE = 0x1p-44; /* likewise, what pulls at a bound and does not lift it */
enum {
    SMOOTH_INTERIOR = 60, /* steps at most; a third is enough */
    SMOOTH_SETTLE = 100,  /* rounds at most; two are enough */
    SMOOTH_CHANCES = 4,   /* rounds in which no fewer frames are on the wrong side than ever before */
    SMOOTH_LEAST = 6,     /* frames of a loop; one of fewer goes round several times */
};

/* A group of channels under way. */
typedef struct {
    const ik_smooth_job *job;
    smooth_clip clip;
    ptrdiff_t period; /* frames before they come again */
    real scale;
    mask usable, crossed, vague;
    real rounds;
    int stopped;
} smooth;

/* Asked before every system. */
static int smooth_stops(smooth *s) {
    if (!s->stopped && s->job->stop) s->stopped = s->job->stop(s->job->context) != 0;
    return s->stopped;
}

/* --- from memory, and back ---------------------------------------------------------------------------------------- */

static ptrdiff_t smooth_period(const ik_smooth_job *job) {
    return job->loop && job->frames > 1 ? job->frames - 1 : job->frames;
}

/* A loop of few frames goes round until it has enough. */
static ptrdiff_t smooth_frames(const ik_smooth_job *job) {
    ptrdiff_t period = smooth_period(job);
    return job->loop && period > 0 ? (SMOOTH_LEAST + period - 1) / period * period : period;
}

static size_t smooth_bytes(const ik_smooth_job *job) {
    const size_t border = job->loop ? 2 * sizeof(real) : 0;
    return (size_t)smooth_frames(job) * (sizeof(smooth_frame) + sizeof(smooth_bounds) + border);
}

static real smooth_load(const ik_lists *lists, group at, ptrdiff_t frame, number otherwise) {
    ik_rows rows = lanes_list_row(lists, frame);
    return lists->rows.data ? lanes_load_real(&rows, at) : real_splat(otherwise);
}

/* What the last frame of a loop says of the first holds too. */
static void smooth_load_bounds(const smooth *s, group at, ptrdiff_t frame, real bounds[2]) {
    const ik_smooth_job *job = s->job;
    bounds[0] = smooth_load(&job->lower, at, frame, -(number)INFINITY);
    bounds[1] = smooth_load(&job->upper, at, frame, (number)INFINITY);
    if (frame == 0 && s->period < job->frames) {
        bounds[0] = real_max(bounds[0], smooth_load(&job->lower, at, s->period, -(number)INFINITY));
        bounds[1] = real_min(bounds[1], smooth_load(&job->upper, at, s->period, (number)INFINITY));
    }
}

/* Whether it can be computed with; a bound may be infinite. */
ik_inline mask smooth_is_plain(real x) { return mask_less(real_abs(x), real_splat(SMOOTH_FAR)); }
ik_inline mask smooth_may_bound(real lower, real upper) {
    const real far = real_splat(SMOOTH_FAR);
    return mask_less(lower, far) & mask_less(-far, upper);
}

/* The power of two, and whether a channel can be computed with. */
static void smooth_measure(smooth *s, group at) {
    const ik_smooth_job *job = s->job;
    const number frame = 1 / (number)job->fps, squared = frame * frame;
    real largest = real_splat(0), bounds[2];
    s->usable = smooth_is_plain(real_splat(s->clip.tension));
    for (ptrdiff_t k = 0; k < s->period; k++) {
        real wanted = smooth_load(&job->wanted, at, k, 0), pull = smooth_load(&job->pull, at, k, 0);
        smooth_load_bounds(s, at, k, bounds);
        s->usable &= smooth_is_plain(wanted) & smooth_is_plain(pull * real_splat(squared * squared)) &
                     smooth_may_bound(bounds[0], bounds[1]);
        largest = real_max(largest, real_abs(wanted));
        for (int side = 0; side < 2; side++)
            largest = real_select(smooth_is_plain(bounds[side]), real_max(largest, real_abs(bounds[side])), largest);
    }
    s->scale = real_unit_scale(real_select(s->usable, largest, real_splat(1)));
}

/* The bounds of the departure; where they meet, or cross, it is pinned. */
static void smooth_set_bounds(smooth *s, smooth_frame *f, real bounds[2]) {
    const real far = real_splat(SMOOTH_FAR), zero = real_splat(0), half = real_splat(0.5);
    real scaled[2];
    for (int side = 0; side < 2; side++)
        scaled[side] = real_select(smooth_is_plain(bounds[side]), bounds[side] * s->scale, zero);
    mask pinned = s->usable & ~mask_less(bounds[0], bounds[1]);
    real pin = real_select(mask_equal(scaled[0], scaled[1]), scaled[0], half * scaled[0] + half * scaled[1]);
    s->crossed |= s->usable & mask_less(bounds[1], bounds[0]);
    for (int side = 0; side < 2; side++) {
        mask bounded = s->usable & ~pinned & smooth_is_plain(bounds[side]);
        smooth_bounds_of(&s->clip, f)->at[side] = real_select(bounded, scaled[side] - f->base, side ? far : -far);
    }
    f->state = pinned & mask_splat(PINNED);
    f->moved = real_select(pinned, pin - f->base, zero);
}

/* All frames of a group. What cannot be computed with is as if it were nothing. */
static void smooth_take(smooth *s, group at) {
    const ik_smooth_job *job = s->job;
    const number frame = 1 / (number)job->fps, squared = frame * frame;
    const real zero = real_splat(0), one = real_splat(1);
    real held = zero, bounds[2];
    s->crossed = s->vague = mask_splat(0);
    smooth_measure(s, at);
    for (ptrdiff_t k = 0; k < s->clip.count; k++) {
        smooth_frame *f = &s->clip.frames[k];
        ptrdiff_t from = k % s->period;
        real pull = smooth_load(&job->pull, at, from, 0) * real_splat(squared * squared);
        smooth_load_bounds(s, at, from, bounds);
        f->base = real_select(s->usable, smooth_load(&job->wanted, at, from, 0) * s->scale, zero);
        f->pull = real_select(s->usable, real_max(pull, zero), zero);
        smooth_set_bounds(s, f, bounds);
        mask holds = mask_less(zero, f->pull) | ~mask_zero(f->state);
        held = held + real_select(holds, one, zero);
    }
    /* nothing but bending leaves a straight line free to shift and to turn */
    const int least = s->clip.loop || s->clip.tension > 0 || s->clip.count == 1 ? 1 : 2;
    const number whole = 1 / (number)s->clip.count, faint = whole * whole * (whole * whole);
    const mask loose = mask_less(held, real_splat((number)least));
    if (mask_any(loose)) EACH_FRAME(f, &s->clip) f->pull = real_select(loose, real_splat(faint), f->pull);
}

/* At a bound the number that was given, and never beyond. */
static real smooth_value(const smooth_frame *f, real wanted, const real bounds[2], real unscale) {
    const real half = real_splat(0.5);
    mask still = mask_equal(f->moved, real_splat(0)), pinned = ~mask_zero(f->state & mask_splat(PINNED));
    real x = real_select(still, wanted, (f->base + f->moved) * unscale);
    real pin = real_select(mask_equal(bounds[0], bounds[1]), bounds[0], half * bounds[0] + half * bounds[1]);
    x = real_select(mask_less(x, bounds[0]) | ~mask_zero(f->state & mask_splat(AT_LOWER)), bounds[0], x);
    x = real_select(mask_less(bounds[1], x) | ~mask_zero(f->state & mask_splat(AT_UPPER)), bounds[1], x);
    return real_select(pinned, pin, x);
}

static void smooth_store(const smooth *s, group at, mask unsettled) {
    const ik_smooth_job *job = s->job;
    const real unscale = real_unscale(s->scale);
    real first = real_splat(0), bounds[2];
    for (ptrdiff_t k = 0; k < job->frames; k++) {
        ik_rows to = lanes_list_row(&job->values, k);
        real wanted = smooth_load(&job->wanted, at, k, 0);
        smooth_load_bounds(s, at, k % s->period, bounds);
        real x = smooth_value(&s->clip.frames[k % s->period], wanted, bounds, unscale);
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

ik_inline void smooth_set_force(smooth_clip *clip, ptrdiff_t k, void *course) {
    clip->frames[k].step = smooth_force(clip, k, course);
}

ik_inline void smooth_set_plain(smooth_clip *clip, ptrdiff_t k, void *course) {
    clip->frames[k].pivot = real_splat(smooth_diagonal(clip, k)) + clip->frames[k].pull;
    smooth_set_force(clip, k, course);
}

/* A step to where nothing pulls, of these lanes; twice, for what rounding has left. */
static void smooth_relax(smooth *s, mask busy) {
    const int held = AT_LOWER | AT_UPPER | PINNED;
    smooth_course at = {0};
    smooth_solve(&s->clip, held, &busy, smooth_set_plain, NULL, &at);
    smooth_solve_again(&s->clip, held, &busy, smooth_set_force, NULL, &at);
}

/* Frames that are out of bounds, and those that a bound holds back from the other side, are on the wrong side of it.
 * Marks them; returns how many there are, and which is the last. */
static real smooth_mark(smooth *s, real *last) {
    const real zero = real_splat(0), one = real_splat(1);
    real largest = zero, count = zero;
    EACH_FRAME(f, &s->clip) largest = real_max(largest, real_abs(f->moved));
    const real off = real_splat(SMOOTH_OFF) * largest, loose = real_splat(SMOOTH_LOOSE) * largest;
    smooth_course at = smooth_course_of(&s->clip, 0);
    for (ptrdiff_t k = 0; k < s->clip.count; k++) {
        smooth_frame *f = &s->clip.frames[k];
        const smooth_bounds *b = &s->clip.bounds[k];
        real gradient = smooth_gradient(&s->clip, k, &at);
        mask beyond = mask_less(f->moved, b->at[0] - off) | mask_less(b->at[1] + off, f->moved);
        mask wrong = mask_zero(f->state) & beyond;
        wrong |= smooth_is(f, AT_LOWER) & mask_less(gradient, -loose);
        wrong |= smooth_is(f, AT_UPPER) & mask_less(loose, gradient);
        f->state |= wrong & mask_splat(WRONG);
        count = count + real_select(wrong, one, zero);
        *last = real_select(wrong, real_splat((number)k), *last);
    }
    return count;
}

/* Frames that are marked change sides, of some lanes the last of them alone. */
static void smooth_change(smooth *s, mask busy, mask alone, real last) {
    for (ptrdiff_t k = 0; k < s->clip.count; k++) {
        smooth_frame *f = &s->clip.frames[k];
        mask changes = busy & smooth_is(f, WRONG) & (~alone | mask_equal(last, real_splat((number)k)));
        mask side =
            mask_select(mask_less(f->moved, s->clip.bounds[k].at[0]), mask_splat(AT_LOWER), mask_splat(AT_UPPER));
        f->state &= ~mask_splat(WRONG);
        f->state = mask_select(changes, mask_zero(f->state) & side, f->state);
    }
}

/* Frames at bounds are there, others where they are wanted. */
static void smooth_place(smooth *s, mask busy) {
    EACH_FRAME(f, &s->clip) {
        const smooth_bounds *b = smooth_bounds_of(&s->clip, f);
        real moved = real_select(mask_zero(f->state), real_splat(0), f->moved);
        moved = real_select(smooth_is(f, AT_LOWER), b->at[0], moved);
        moved = real_select(smooth_is(f, AT_UPPER), b->at[1], moved);
        f->moved = real_select(busy, moved, f->moved);
    }
}

/* Returns the lanes that so many rounds do not settle. All wrong frames change sides while that makes them fewer, or
 * has not for a few rounds only; then the last one alone, until they are fewer. */
static mask smooth_settle(smooth *s, mask busy, int rounds) {
    const real zero = real_splat(0), one = real_splat(1), chances = real_splat(SMOOTH_CHANCES);
    real fewest = real_splat(SMOOTH_FAR), left = chances;
    for (int round = 0; round < rounds && mask_any(busy) && !smooth_stops(s); round++) {
        real last = zero;
        smooth_place(s, busy);
        smooth_relax(s, busy);
        s->rounds = s->rounds + real_select(busy, one, zero);
        s->vague = mask_select(busy, s->clip.vague, s->vague);
        real wrong = smooth_mark(s, &last);
        mask fewer = mask_less(wrong, fewest);
        left = real_select(fewer, chances, left - one);
        fewest = real_min(wrong, fewest);
        smooth_change(s, busy, mask_less(left, zero), last);
        busy &= mask_less(zero, wrong);
    }
    return busy;
}

/* --- interior ----------------------------------------------------------------------------------------------------- */

#define EACH_BOUND(f, b, side, clip)                                                                                   \
    EACH_FRAME(f, clip)                                                                                                \
    for (smooth_bounds *b = smooth_bounds_of(clip, f), *once = b; once; once = NULL)                                   \
        for (int side = 0; side < 2; side++)

/* How far a bound is away from a frame. */
ik_inline real smooth_room(const smooth_frame *f, const smooth_bounds *b, int side, real least) {
    return real_max(side ? b->at[1] - f->moved : f->moved - b->at[0], least);
}

/* How fast a step leaves a bound. */
ik_inline real smooth_leaves(const smooth_frame *f, int side) { return side ? -f->step : f->step; }

/* What a step without a centre changes the pressure by. */
ik_inline real smooth_predicted(const smooth_frame *f, const smooth_bounds *b, int side) {
    return -b->press[side] - b->press[side] * smooth_leaves(f, side) * b->inverse[side];
}

/* A curve within the bounds, not far from the free one, and how hard all bounds press. Returns the mean product of
 * pressure and room. */
static real smooth_begin(smooth *s, mask busy, real violation, real least) {
    const real share = real_splat(SMOOTH_SHARE);
    real pulled = violation * real_splat(1e-20);
    EACH_FRAME(f, &s->clip) {
        const smooth_bounds *b = smooth_bounds_of(&s->clip, f);
        real room = real_min(violation, share * (b->at[1] - b->at[0]));
        real inside = real_min(real_max(f->moved, b->at[0] + room), b->at[1] - room);
        f->moved = real_select(busy, inside, f->moved);
        f->state = f->state & (~busy | mask_splat(PINNED));
    }
    smooth_course at = smooth_course_of(&s->clip, 0);
    for (ptrdiff_t k = 0; k < s->clip.count; k++) {
        real pull = real_abs(smooth_gradient(&s->clip, k, &at));
        pulled = real_select(mask_zero(s->clip.frames[k].state), real_max(pulled, pull), pulled);
    }
    real product = real_splat(SMOOTH_PRESS) * pulled * violation;
    EACH_BOUND(f, b, side, &s->clip) b->press[side] = product * (real_splat(1) / smooth_room(f, b, side, least));
    return product;
}

/* What steps are made of: how far bounds are away at least; of the step to the centre how far that is, and how much of
 * the curvature it goes by. And what is seen of a step: how much too long it is for the bounds, and the sum of products
 * of the changes of pressure and room. */
typedef struct {
    smooth_course course;
    real least, centre, curvature, most, second;
} smooth_way;

/* The step that ignores the centre. Leaves the right-hand side for the next one in more[0], where room is. */
ik_inline void smooth_set_outward(smooth_clip *clip, ptrdiff_t k, void *context) {
    smooth_way *way = context;
    smooth_frame *f = &clip->frames[k];
    smooth_bounds *b = &clip->bounds[k];
    f->step = b->more[0] = smooth_force(clip, k, &way->course);
    f->pivot = real_splat(smooth_diagonal(clip, k)) + f->pull;
    for (int side = 0; side < 2; side++) {
        b->inverse[side] = real_splat(1) / smooth_room(f, b, side, way->least);
        f->pivot = f->pivot + b->press[side] * b->inverse[side];
    }
}

/* How long that step is. */
ik_inline void smooth_outward(smooth_clip *clip, ptrdiff_t k, void *context) {
    smooth_way *way = context;
    const smooth_frame *f = &clip->frames[k];
    const smooth_bounds *b = &clip->bounds[k];
    for (int side = 0; side < 2; side++) {
        real leaves = smooth_leaves(f, side), change = leaves * b->inverse[side];
        way->most = real_max(way->most, real_max(-change, real_splat(1) + change));
        way->second = way->second + leaves * smooth_predicted(f, b, side);
    }
}

/* How much of that keeps the bounds, and the mean product after it. */
typedef struct {
    real part, product;
} smooth_prediction;

static smooth_prediction smooth_predict(smooth *s, real product, real least) {
    const real one = real_splat(1);
    smooth_clip *clip = &s->clip;
    smooth_way way = {.least = least, .most = one, .second = real_splat(0)};
    smooth_solve(clip, PINNED, NULL, smooth_set_outward, smooth_outward, &way);
    real part = one / way.most;
    real after = product * (one - part) + part * part * way.second / real_splat(2 * (number)clip->count);
    return (smooth_prediction){part, after};
}

ik_inline void smooth_set_inward(smooth_clip *clip, ptrdiff_t k, void *context) {
    const smooth_way *way = context;
    smooth_frame *f = &clip->frames[k];
    smooth_bounds *b = &clip->bounds[k];
    real right = b->more[0];
    for (int side = 0; side < 2; side++) {
        b->more[side] = way->centre - way->curvature * smooth_leaves(f, side) * smooth_predicted(f, b, side);
        real pressed = b->more[side] * b->inverse[side];
        right = side ? right - pressed : right + pressed;
    }
    f->step = right;
}

/* What that step changes the pressure by. */
ik_inline void smooth_press(smooth_clip *clip, ptrdiff_t k, void *context) {
    smooth_way *way = context;
    const smooth_frame *f = &clip->frames[k];
    smooth_bounds *b = &clip->bounds[k];
    for (int side = 0; side < 2; side++) {
        real leaves = smooth_leaves(f, side);
        b->more[side] = (b->more[side] - b->press[side] * leaves) * b->inverse[side] - b->press[side];
        way->most = real_max(way->most, -leaves * b->inverse[side]);
        way->most = real_max(way->most, -b->more[side] / b->press[side]);
    }
}

/* The step to the centre that is meant, with so much of the curvature that the first one has shown: of a step that is
 * hardly possible little, else the two lead in circles. C. Cartis, "Some disadvantages of a Mehrotra-type primal-dual
 * corrector interior point algorithm for linear programming", 2009. Returns how much of it keeps the bounds. */
static real smooth_correct(smooth *s, real centre, real curvature) {
    smooth_way way = {.centre = centre, .curvature = curvature, .most = real_splat(SMOOTH_STEP)};
    smooth_solve_again(&s->clip, PINNED, NULL, smooth_set_inward, smooth_press, &way);
    return real_splat(SMOOTH_STEP) / way.most;
}

/* The mean product after a step, and how hard the bound presses that does so the most. */
typedef struct {
    real product, hardest;
} smooth_reached;

/* Goes so much of the step. */
static smooth_reached smooth_go(smooth *s, mask busy, real part, real least) {
    real sum = real_splat(0), hardest = sum;
    EACH_FRAME(f, &s->clip) {
        f->moved = real_select(busy & mask_zero(f->state), f->moved + part * f->step, f->moved);
        smooth_bounds *b = smooth_bounds_of(&s->clip, f);
        for (int side = 0; side < 2; side++) {
            b->press[side] = real_select(busy, b->press[side] + part * b->more[side], b->press[side]);
            sum = sum + b->press[side] * smooth_room(f, b, side, least);
            hardest = real_max(hardest, b->press[side]);
        }
    }
    return (smooth_reached){sum / real_splat(2 * (number)s->clip.count), hardest};
}

/* A bound counts as pressing where its pressure, of the largest, is more than its room of the largest violation. */
static void smooth_guess(smooth *s, mask busy, real violation, real hardest, real least) {
    EACH_BOUND(f, b, side, &s->clip) {
        real room = smooth_room(f, b, side, least);
        mask pressed = busy & mask_zero(f->state) & mask_less(room * hardest, b->press[side] * violation);
        f->state = mask_select(pressed, mask_splat(side ? AT_UPPER : AT_LOWER), f->state);
    }
}

static void smooth_interior(smooth *s, mask busy) {
    const real zero = real_splat(0), one = real_splat(1), near = real_splat(SMOOTH_NEAR);
    const mask all = busy;
    real violation = real_splat(SMALLEST), hardest = zero;
    EACH_FRAME(f, &s->clip) {
        const smooth_bounds *b = smooth_bounds_of(&s->clip, f);
        violation = real_max(violation, real_max(b->at[0] - f->moved, f->moved - b->at[1]));
    }
    const real least = violation * real_splat(SMOOTH_SLACK);
    real product = smooth_begin(s, busy, violation, least);
    real pulled = product / violation; /* the largest force that is not balanced */
    for (int round = 0; round < SMOOTH_INTERIOR && mask_any(busy) && !smooth_stops(s); round++) {
        smooth_prediction first = smooth_predict(s, product, least);
        real share = first.product / product;
        real part = smooth_correct(s, share * share * share * product, first.part);
        const smooth_reached there = smooth_go(s, busy, part, least);
        product = real_select(busy, there.product, product);
        hardest = there.hardest;
        pulled = real_select(busy, pulled * (one - part), pulled);
        const real enough = near * hardest;
        s->rounds = s->rounds + real_select(busy, one, zero);
        busy &= mask_less(enough * violation, product) | mask_less(enough, pulled);
    }
    smooth_guess(s, all, violation, hardest, least);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static void smooth_rows(const ik_smooth_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    const number frame = 1 / (number)job->fps;
    smooth s = {.job = job, .period = smooth_period(job)};
    const ptrdiff_t count = smooth_frames(job);
    smooth_bounds *bounds = (smooth_bounds *)((smooth_frame *)scratch + count);
    s.clip = (smooth_clip){.frames = scratch,
                           .bounds = bounds,
                           .border = (real(*)[2])(bounds + count),
                           .count = count,
                           .loop = job->loop && job->frames > 0,
                           .tension = (number)job->tension * (frame * frame)};
    EACH_GROUP (at, first, last) {
        s.rounds = real_splat(0);
        smooth_take(&s, at);
        mask unsettled = smooth_settle(&s, s.usable, 1);
        if (mask_any(unsettled)) smooth_interior(&s, unsettled);
        unsettled = smooth_settle(&s, unsettled, SMOOTH_SETTLE);
        if (s.stopped) return;
        smooth_store(&s, at, unsettled);
    }
}
