/* The energy of curves and its Newton steps. Lanes are channels.
 *
 * Curves are base + moved: the wanted values and the departure from them. A curve without reason to change has steps of
 * exactly zero, and round-off is relative to the departure. In steps of a frame, with h = 1 / fps, the energy times h^3
 * is
 *
 *   sum (x[k-1] - 2 x[k] + x[k+1])^2 + tension h^2 sum (x[k+1] - x[k])^2 + sum pull[k] h^4 (x[k] - wanted[k])^2
 *
 * The matrix of its second derivatives has five diagonals. Frames that are held do not move in a step: their rows are
 * those of the identity, and their columns are zero.
 *
 * The system is eliminated from both ends towards a pair of frames in the middle. Each frame depends on the previous
 * one, so this keeps two frames in progress. In a loop, where the last two frames meet the first, the pair are the last
 * two: a border, the dense last rows of the matrix.
 *
 *   smooth_gradient      half the derivative of the energy
 *   smooth_solve         L D L^T of the matrix, in place; with it, right-hand sides become steps
 *   smooth_solve_again   the same for other right-hand sides, with the same L and D
 *
 * A long clip exceeds the cache, so each function passes through it as rarely as possible. Right-hand sides are
 * computed in the forward pass, and the consequences of steps in the backward pass. */

/* Data of a frame of all channels. It fills one cache line in scalar code, as do its bounds, which elimination does not
 * read. */
typedef struct {
    real moved, step;
    real curved;          /* gradient of the wanted curve's own bending */
    real pull, free;      /* free: 1, or 0 if the frame is held */
    real pivot, below[2]; /* D, later its reciprocal; L one frame and two frames towards the pair */
} smooth_frame;

/* For the lower and the upper bound: its value in `moved`, its pressure, the pressure's step, and the reciprocal of its
 * distance. */
typedef struct {
    real at[2], press[2], more[2], inverse[2];
} smooth_bounds;

/* Smallest remainder of a diagonal element during elimination, relative to it: less is round-off. */
static const number SMOOTH_PIVOT = 0x1p-49;

enum smooth_state { AT_LOWER = 1, AT_UPPER = 2, PINNED = 4, WRONG = 8 }; /* 0: between the bounds */

/* Elements of the matrix at a frame: the diagonal without the pull, and one and two frames after it. */
typedef struct {
    number diagonal, next, second;
} smooth_row;

typedef struct {
    smooth_frame *frames;
    smooth_bounds *bounds; /* one per frame */
    mask *states;          /* one per frame, of enum smooth_state */
    real (*border)[2];     /* in a loop, one per frame: L in the border below it */
    ptrdiff_t count, pair; /* the number of frames, and the first frame of the pair */
    int loop;
    number tension;
    smooth_row inner; /* elements of frames that are not near an end */
    mask vague; /* lanes in which round-off left nothing of an element of D: a weak constraint of the curve is lost */
    real corner[3]; /* D of the pair, as reciprocals, and L between the two */
} smooth_clip;

ik_inline mask smooth_is(mask state, integer wanted) { return ~mask_zero(state & mask_splat(wanted)); }

#define EACH_FRAME(k, f, clip)                                                                                         \
    for (ptrdiff_t k = 0; k < (clip)->count; k++)                                                                      \
        for (smooth_frame *f = &(clip)->frames[k], *once = f; once; once = NULL)

/* The frame at index k near the clip; in a loop, modulo its length. */
ik_inline smooth_frame *smooth_at(const smooth_clip *clip, ptrdiff_t k) {
    return &clip->frames[k < 0 ? k + clip->count : k < clip->count ? k : k - clip->count];
}

/* 1 if curves bend at a frame; 0 at the ends of a clip, which have one neighbour. */
ik_inline number smooth_bends(const smooth_clip *clip, ptrdiff_t k) {
    return clip->loop || (k > 0 && k < clip->count - 1);
}

/* 1 if there is a frame after this one. */
ik_inline number smooth_goes_on(const smooth_clip *clip, ptrdiff_t k) {
    return clip->loop || (k >= 0 && k < clip->count - 1);
}

/* --- gradient ----------------------------------------------------------------------------------------------------- */

/* The direction of a pass over frames. "before", "after" and "next" are relative to it. */
enum smooth_way { AHEAD = 1, BACK = -1 };

/* Difference of the curve to the next frame. */
ik_inline real smooth_slope(const smooth_clip *clip, ptrdiff_t k, int way) {
    if (smooth_goes_on(clip, way == AHEAD ? k : k - 1) == 0) return real_splat(0);
    return smooth_at(clip, k + way)->moved - smooth_at(clip, k)->moved;
}

ik_inline real smooth_bent(const smooth_clip *clip, ptrdiff_t k, real before, real after) {
    return (after - before) * real_splat(smooth_bends(clip, k));
}

/* State of a pass that computes gradients: the slopes at a frame, and the bending at the previous frame and at this
 * one. */
typedef struct {
    real before, after, bent[2];
} smooth_course;

static smooth_course smooth_course_of(const smooth_clip *clip, ptrdiff_t k, int way) {
    smooth_course at = {.before = smooth_slope(clip, k - way, way), .after = smooth_slope(clip, k, way)};
    at.bent[0] = smooth_bent(clip, k - way, smooth_slope(clip, k - 2 * way, way), at.before);
    at.bent[1] = smooth_bent(clip, k, at.before, at.after);
    return at;
}

/* Half the gradient at a frame, given its state and the slope and bending at the next frame. Advances the state to that
 * frame. */
ik_inline real smooth_gradient(const smooth_clip *clip, const smooth_frame *f, real slope, real bent,
                               smooth_course *at) {
    real drawn = at->before - at->after;
    real curved = (at->bent[0] - at->bent[1]) - (at->bent[1] - bent);
    at->before = at->after, at->after = slope;
    at->bent[0] = at->bent[1], at->bent[1] = bent;
    return ((curved + real_splat(clip->tension) * drawn) + f->curved) + f->pull * f->moved;
}

/* Towards the pair, two more frames always follow. */
ik_inline real smooth_gradient_at(const smooth_clip *clip, ptrdiff_t k, int way, smooth_course *at) {
    const smooth_frame *f = &clip->frames[k];
    const real slope = f[2 * way].moved - f[way].moved;
    return smooth_gradient(clip, f, slope, slope - at->after, at);
}

ik_inline real smooth_gradient_of_pair(const smooth_clip *clip, ptrdiff_t k, smooth_course *at) {
    const real slope = smooth_slope(clip, k + 1, AHEAD);
    return smooth_gradient(clip, &clip->frames[k], slope, smooth_bent(clip, k + 1, at->after, slope), at);
}

/* --- matrix ------------------------------------------------------------------------------------------------------- */

/* The matrix element between a frame and the next. */
ik_inline number smooth_to_next(const smooth_clip *clip, ptrdiff_t k) {
    return -2 * smooth_bends(clip, k) - 2 * smooth_bends(clip, k + 1) - clip->tension * smooth_goes_on(clip, k);
}

static smooth_row smooth_row_near_end(const smooth_clip *clip, ptrdiff_t k, int way) {
    number bends = smooth_bends(clip, k - 1) + 4 * smooth_bends(clip, k) + smooth_bends(clip, k + 1);
    number drawn = clip->tension * (smooth_goes_on(clip, k - 1) + smooth_goes_on(clip, k));
    return (smooth_row){bends + drawn, smooth_to_next(clip, way == AHEAD ? k : k - 1), smooth_bends(clip, k + way)};
}

ik_inline smooth_row smooth_row_of(const smooth_clip *clip, ptrdiff_t k, int way) {
    if (clip->loop || (k >= 2 && k < clip->count - 2)) return clip->inner;
    return smooth_row_near_end(clip, k, way);
}

/* Bytes for so many frames. */
static size_t smooth_bytes_of(ptrdiff_t count, int loop) {
    const size_t border = loop ? 2 * sizeof(real) : 0;
    return (size_t)count * (sizeof(smooth_frame) + sizeof(smooth_bounds) + sizeof(mask) + border);
}

/* A clip whose frames are not yet set. */
static smooth_clip smooth_clip_of(void *memory, ptrdiff_t count, int loop, number tension) {
    smooth_clip clip = {.frames = memory, .count = count, .loop = loop, .tension = tension};
    clip.bounds = (smooth_bounds *)(clip.frames + count);
    clip.states = (mask *)(clip.bounds + count);
    clip.border = (real(*)[2])(clip.states + count);
    clip.pair = count < 2 ? 0 : loop ? count - 2 : (count - 2) / 2;
    clip.inner = (smooth_row){6 + tension * 2, -4 - tension, 1};
    return clip;
}

/* Number of frames of the pair: 1 for a clip of one frame. */
ik_inline int smooth_paired(const smooth_clip *clip) { return clip->count < 2 ? (int)clip->count : 2; }

/* Frames after the pair. */
ik_inline ptrdiff_t smooth_behind(const smooth_clip *clip) { return clip->count - clip->pair - smooth_paired(clip); }

/* An off-diagonal element of the matrix. */
ik_inline real smooth_element(const smooth_frame *a, const smooth_frame *b, number x) {
    return a->free * b->free * real_splat(x);
}

/* A diagonal element: `pivot`, or 1 if the frame is held. */
ik_inline real smooth_diagonal(const smooth_frame *f) { return f->pivot * f->free + (real_splat(1) - f->free); }

/* In a loop, element `row` (0 or 1) of the border below frame k. */
static real smooth_border(const smooth_clip *clip, ptrdiff_t k, int row) {
    const ptrdiff_t mine = clip->pair + row;
    ptrdiff_t apart = mine - k < clip->count - (mine - k) ? mine - k : clip->count - (mine - k);
    const number x = apart == 1 ? clip->inner.next : apart == 2 ? clip->inner.second : 0;
    return smooth_element(&clip->frames[k], &clip->frames[mine], x);
}

/* The factors of a frame that later frames and the pair need; all 0 before the first. L one and two frames on is
 * `below`, the same times D is `whole`, and in a loop L in the border is `border`. */
typedef struct {
    real below[2], whole[2], border[2];
} smooth_factored;

/* State of the factorization: the previous frame and the one before it, the sums subtracted from the border, and lanes
 * with a vague pivot. */
typedef struct {
    smooth_factored last, before;
    real corner[3];
    mask vague;
} smooth_factors;

/* Computes D and L of frame k. */
ik_inline void smooth_factor(smooth_clip *clip, ptrdiff_t k, int way, smooth_row row, smooth_factors *at) {
    const real one = real_splat(1), none = real_splat(0), least = real_splat(SMOOTH_PIVOT);
    const smooth_factored last = at->last, before = at->before;
    const int ends = clip->loop ? (k + 1 >= clip->pair) + (k + 2 >= clip->pair)
                                : 0; /* number of the next two frames that are in the border */
    smooth_frame *f = &clip->frames[k];
    smooth_factored here = {{none, none}, {none, none}, {none, none}};
    if (ends < 2) here.whole[0] = smooth_element(f, f + way, row.next) - last.below[1] * last.whole[0];
    if (ends < 1) here.whole[1] = smooth_element(f, f + 2 * way, row.second);
    const real whole = smooth_diagonal(f), few = whole * least;
    const real pivot = (whole - before.below[1] * before.whole[1]) - last.below[0] * last.whole[0];
    at->vague |= mask_less(pivot, few);
    f->pivot = one / real_max(pivot, few);
    f->below[0] = here.below[0] = here.whole[0] * f->pivot;
    f->below[1] = here.below[1] = here.whole[1] * f->pivot;
    if (clip->loop) {
        real left[2];
        for (int r = 0; r < 2; r++) {
            left[r] = smooth_border(clip, k, r);
            left[r] = (left[r] - before.border[r] * before.whole[1]) - last.border[r] * last.whole[0];
            clip->border[k][r] = here.border[r] = left[r] * f->pivot;
            at->corner[r] = at->corner[r] + left[r] * here.border[r];
        }
        at->corner[2] = at->corner[2] + left[0] * here.border[1];
    }
    at->before = last, at->last = here;
}

/* Factors the pair, which the frames before and after it have reached. */
static void smooth_factor_pair(smooth_clip *clip, const smooth_factors *ahead, const smooth_factors *back) {
    const real one = real_splat(1), least = real_splat(SMOOTH_PIVOT);
    const smooth_frame *pair = &clip->frames[clip->pair];
    const smooth_factors *near[2] = {ahead, back};
    real whole[2] = {one, one}, left[2], between = real_splat(0);
    for (int r = 0; r < smooth_paired(clip); r++)
        whole[r] = smooth_diagonal(pair + r);
    if (smooth_paired(clip) == 2) between = smooth_element(pair, pair + 1, smooth_row_of(clip, clip->pair, AHEAD).next);
    for (int r = 0; r < 2; r++) {
        const smooth_factors *own = near[r], *other = near[1 - r];
        left[r] = whole[r] - (own->last.below[0] * own->last.whole[0] + own->before.below[1] * own->before.whole[1]);
        left[r] = left[r] - other->last.below[1] * other->last.whole[1];
        left[r] = left[r] - ahead->corner[r];
        between = between - own->last.below[1] * own->last.whole[0];
    }
    between = between - ahead->corner[2];
    clip->corner[0] = one / real_max(left[0], whole[0] * least);
    clip->corner[2] = between * clip->corner[0];
    const real second = left[1] - between * clip->corner[2];
    clip->corner[1] = one / real_max(second, whole[1] * least);
    clip->vague = mask_less(left[0], whole[0] * least) | mask_less(second, whole[1] * least);
    clip->vague |= ahead->vague | back->vague;
}

/* --- solution ----------------------------------------------------------------------------------------------------- */

/* State of the forward substitution: what earlier frames subtract from the right-hand side of a frame and of the next
 * one; in a loop, also from those of the border. */
typedef struct {
    real next, second, later, end[2];
} smooth_sums;

ik_inline void smooth_sum(const smooth_clip *clip, ptrdiff_t k, smooth_sums *at) {
    smooth_frame *f = &clip->frames[k];
    const real sum = (f->step * f->free - at->second) - at->next;
    at->next = f->below[0] * sum, at->second = at->later, at->later = f->below[1] * sum;
    f->step = sum;
    for (int row = 0; clip->loop && row < 2; row++)
        at->end[row] = at->end[row] + clip->border[k][row] * sum;
}

/* The steps of the pair, from its right-hand sides after elimination of the frames before and after it. */
static void smooth_meet(smooth_clip *clip, const smooth_sums *ahead, const smooth_sums *back) {
    smooth_frame *pair = &clip->frames[clip->pair];
    const smooth_sums *near[2] = {ahead, back};
    real end[2] = {real_splat(0), real_splat(0)};
    for (int row = 0; row < smooth_paired(clip); row++) {
        end[row] = pair[row].step * pair[row].free - (near[row]->next + near[row]->second);
        end[row] = (end[row] - near[1 - row]->later) - ahead->end[row];
    }
    end[1] = (end[1] - clip->corner[2] * end[0]) * clip->corner[1];
    end[0] = end[0] * clip->corner[0] - clip->corner[2] * end[1];
    for (int row = 0; row < smooth_paired(clip); row++)
        pair[row].step = end[row];
}

/* Called at a frame with the force on it, and with the diagonal of the matrix there without the pull. */
typedef void smooth_visit(smooth_clip *clip, ptrdiff_t k, real force, number diagonal, void *context);

/* Called after the step of a frame is known. */
typedef void smooth_follow(smooth_clip *clip, ptrdiff_t k, void *context);

/* The forward pass over all frames: first the pair, which all others change, then frames in turn from the first and
 * from the last. Holds the factors and sums of both directions. */
typedef struct {
    smooth_factors factors[2];
    smooth_sums sums[2];
} smooth_found;

ik_inline void smooth_come(smooth_clip *clip, ptrdiff_t k, int way, smooth_course *course, int factor, int sum,
                           smooth_visit *visit, void *context, smooth_found *found) {
    const int from = way == AHEAD ? 0 : 1;
    const smooth_row row = smooth_row_of(clip, k, way);
    visit(clip, k, -smooth_gradient_at(clip, k, way, course), row.diagonal, context);
    if (factor) smooth_factor(clip, k, way, row, &found->factors[from]);
    if (sum) smooth_sum(clip, k, &found->sums[from]);
}

ik_inline smooth_found smooth_go_there(smooth_clip *clip, int factor, int sum, smooth_visit *visit, void *context) {
    smooth_found found = {0};
    const ptrdiff_t last = clip->count - 1, ahead = clip->pair, behind = smooth_behind(clip);
    smooth_course from_first = smooth_course_of(clip, 0, AHEAD), from_last = smooth_course_of(clip, last, BACK);
    smooth_course from_pair = smooth_course_of(clip, ahead, AHEAD);
    for (ptrdiff_t k = ahead; k < ahead + smooth_paired(clip); k++)
        visit(clip, k, -smooth_gradient_of_pair(clip, k, &from_pair), smooth_row_of(clip, k, AHEAD).diagonal, context);
    for (ptrdiff_t k = 0; k < ahead || k < behind; k++) {
        if (k < ahead) smooth_come(clip, k, AHEAD, &from_first, factor, sum, visit, context, &found);
        if (k < behind) smooth_come(clip, last - k, BACK, &from_last, factor, sum, visit, context, &found);
    }
    return found;
}

/* Calls `visit` with the force at each frame. */
ik_inline void smooth_each(smooth_clip *clip, smooth_visit *visit, void *context) {
    smooth_go_there(clip, 0, 0, visit, context);
}

/* Lanes that take their step, and the function called after it. */
typedef struct {
    const mask *move;      /* NULL: none */
    smooth_follow *follow; /* NULL: nothing */
    void *context;
} smooth_then;

ik_inline void smooth_go_on(smooth_clip *clip, ptrdiff_t k, smooth_then then) {
    smooth_frame *f = &clip->frames[k];
    if (then.move) f->moved = real_select(*then.move, f->moved + f->step, f->moved);
    if (then.follow) then.follow(clip, k, then.context);
}

/* Back substitution at frame k, given the steps of the two frames nearer to the pair. */
ik_inline void smooth_step(smooth_clip *clip, ptrdiff_t k, real before[2], smooth_then then) {
    smooth_frame *f = &clip->frames[k];
    real sum = f->step * f->pivot;
    for (int row = 0; clip->loop && row < 2; row++)
        sum = sum - clip->border[k][row] * clip->frames[clip->pair + row].step;
    sum = (sum - f->below[1] * before[1]) - f->below[0] * before[0];
    before[1] = before[0], before[0] = sum;
    f->step = sum;
    smooth_go_on(clip, k, then);
}

ik_inline void smooth_go_back(smooth_clip *clip, smooth_then then) {
    const int paired = smooth_paired(clip);
    const ptrdiff_t ahead = clip->pair, behind = smooth_behind(clip);
    const real end[2] = {clip->frames[ahead].step, clip->frames[ahead + paired - 1].step};
    real to_first[2] = {end[0], end[1]}, to_last[2] = {end[1], end[0]};
    for (int row = 0; row < paired; row++)
        smooth_go_on(clip, ahead + row, then);
    for (ptrdiff_t k = 0; k < ahead || k < behind; k++) {
        if (k < ahead) smooth_step(clip, ahead - 1 - k, to_first, then);
        if (k < behind) smooth_step(clip, ahead + paired + k, to_last, then);
    }
}

/* Solves for the steps; those of held frames are 0. `prepare` sets `step` to the right-hand side, and `pivot` to the
 * diagonal, with any additions. */
ik_inline void smooth_solve(smooth_clip *clip, smooth_visit *prepare, smooth_then then) {
    const smooth_found found = smooth_go_there(clip, 1, 1, prepare, then.context);
    smooth_factor_pair(clip, &found.factors[0], &found.factors[1]);
    smooth_meet(clip, &found.sums[0], &found.sums[1]);
    smooth_go_back(clip, then);
}

/* Solves again for other right-hand sides, with the same factors. */
ik_inline void smooth_solve_again(smooth_clip *clip, smooth_visit *prepare, smooth_then then) {
    const smooth_found found = smooth_go_there(clip, 0, 1, prepare, then.context);
    smooth_meet(clip, &found.sums[0], &found.sums[1]);
    smooth_go_back(clip, then);
}
