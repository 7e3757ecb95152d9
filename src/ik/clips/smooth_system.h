/* The energy of curves, lanes being channels, and its Newton steps.
 *
 * Curves are base + moved: what is wanted and by how much it is departed from, so that a curve which is not asked to
 * change has steps of zero, exactly, and rounding is of the departure. In steps of a frame, with h = 1 / fps and times
 * h^3, the energy is
 *
 *   sum (x[k-1] - 2 x[k] + x[k+1])^2 + tension h^2 sum (x[k+1] - x[k])^2 + sum pull[k] h^4 (x[k] - wanted[k])^2
 *
 * so the matrix of its second derivatives has five diagonals. Frames that are held do not move in a step: their rows
 * are those of the identity, and their columns are zero. In a loop the last two frames meet the first: those two are a
 * border, the dense last rows of the matrix.
 *
 *   smooth_gradient      half the derivative of the energy
 *   smooth_solve         L D L^T of the matrix, in place, and with that from right-hand sides to steps
 *   smooth_solve_again   from others, with the same L and D
 *
 * A long clip is more than a cache holds, so each goes through it as rarely as can be: right-hand sides are found on
 * the way there, and what follows from steps on the way back. */

/* What is kept of a frame of all channels: a line of the cache of a scalar, as is what is kept of its bounds, which
 * solving goes without. */
typedef struct {
    real base, moved, pull, step;
    real pivot, below[2]; /* D, then its reciprocals; L one frame and two frames on */
    mask state;           /* of enum smooth_state; 0: between the bounds */
} smooth_frame;

/* Of both: the lowest and the highest that `moved` may be; how hard each presses, and a step of that; the reciprocal of
 * how far each is away. */
typedef struct {
    real at[2], press[2], more[2], inverse[2];
} smooth_bounds;

/* Of an element of the diagonal, what is left of it at least: less is rounding. */
static const number SMOOTH_PIVOT = 0x1p-49;

enum smooth_state { AT_LOWER = 1, AT_UPPER = 2, PINNED = 4, WRONG = 8 };

typedef struct {
    smooth_frame *frames;
    smooth_bounds *bounds; /* as many */
    real (*border)[2];     /* of a loop as many: L in the border below each frame */
    ptrdiff_t count;
    int loop;
    number tension;
    mask vague;     /* where rounding has left nothing of an element of D: what little holds a curve is lost */
    real corner[3]; /* of a loop D of the last two frames, as reciprocals, and L between them */
} smooth_clip;

ik_inline mask smooth_is(const smooth_frame *f, integer state) { return ~mask_zero(f->state & mask_splat(state)); }

ik_inline smooth_bounds *smooth_bounds_of(const smooth_clip *clip, const smooth_frame *f) {
    return &clip->bounds[f - clip->frames];
}

#define EACH_FRAME(f, clip) for (smooth_frame *f = (clip)->frames; f < (clip)->frames + (clip)->count; f++)

/* Of any frame near the clip, in a loop the one that it is. */
ik_inline smooth_frame *smooth_at(const smooth_clip *clip, ptrdiff_t k) {
    return &clip->frames[k < 0 ? k + clip->count : k < clip->count ? k : k - clip->count];
}

/* Whether curves bend at a frame: at the ends of a clip there is nothing to bend from. */
ik_inline number smooth_bends(const smooth_clip *clip, ptrdiff_t k) {
    return clip->loop || (k > 0 && k < clip->count - 1);
}

/* Whether there is a frame after this one. */
ik_inline number smooth_goes_on(const smooth_clip *clip, ptrdiff_t k) {
    return clip->loop || (k >= 0 && k < clip->count - 1);
}

/* --- gradient ----------------------------------------------------------------------------------------------------- */

/* From a frame to the next, of what is wanted and of the departure. */
typedef struct {
    real base, moved;
} smooth_slope;

ik_inline smooth_slope smooth_slope_at(const smooth_clip *clip, ptrdiff_t k) {
    if (smooth_goes_on(clip, k) == 0) return (smooth_slope){real_splat(0), real_splat(0)};
    const smooth_frame *here = smooth_at(clip, k), *next = smooth_at(clip, k + 1);
    return (smooth_slope){next->base - here->base, next->moved - here->moved};
}

ik_inline real smooth_bent(const smooth_clip *clip, ptrdiff_t k, smooth_slope before, smooth_slope after) {
    real bent = (after.base - before.base) + (after.moved - before.moved);
    return bent * real_splat(smooth_bends(clip, k));
}

/* What is known where gradients are found, frame after frame: the slopes beside a frame, and how much the curve bends
 * in the one before and in that one. */
typedef struct {
    smooth_slope before, after;
    real bent[2];
} smooth_course;

static smooth_course smooth_course_of(const smooth_clip *clip, ptrdiff_t k) {
    smooth_course at = {.before = smooth_slope_at(clip, k - 1), .after = smooth_slope_at(clip, k)};
    at.bent[0] = smooth_bent(clip, k - 1, smooth_slope_at(clip, k - 2), at.before);
    at.bent[1] = smooth_bent(clip, k, at.before, at.after);
    return at;
}

/* Of frame k, whose course is known; then that of the next one is. */
ik_inline real smooth_gradient(const smooth_clip *clip, ptrdiff_t k, smooth_course *at) {
    const smooth_frame *f = &clip->frames[k];
    smooth_slope next = smooth_slope_at(clip, k + 1);
    real bent = smooth_bent(clip, k + 1, at->after, next);
    real drawn = (at->before.base - at->after.base) + (at->before.moved - at->after.moved);
    real curved = (at->bent[0] - at->bent[1]) - (at->bent[1] - bent);
    at->before = at->after, at->after = next;
    at->bent[0] = at->bent[1], at->bent[1] = bent;
    return (curved + real_splat(clip->tension) * drawn) + f->pull * f->moved;
}

/* What pulls at a frame the other way, where frames come as systems take them: those of the border before all others.
 */
ik_inline real smooth_force(const smooth_clip *clip, ptrdiff_t k, smooth_course *at) {
    if (k == 0 || k == clip->count - 2) *at = smooth_course_of(clip, k);
    return -smooth_gradient(clip, k, at);
}

/* --- matrix ------------------------------------------------------------------------------------------------------- */

/* On the diagonal, without the pull. */
ik_inline number smooth_diagonal(const smooth_clip *clip, ptrdiff_t k) {
    number bends = smooth_bends(clip, k - 1) + 4 * smooth_bends(clip, k) + smooth_bends(clip, k + 1);
    return bends + clip->tension * (smooth_goes_on(clip, k - 1) + smooth_goes_on(clip, k));
}

/* Between a frame and the next. */
ik_inline number smooth_to_next(const smooth_clip *clip, ptrdiff_t k) {
    return -2 * smooth_bends(clip, k) - 2 * smooth_bends(clip, k + 1) - clip->tension * smooth_goes_on(clip, k);
}

/* Between a frame and the next but one. */
ik_inline number smooth_to_second(const smooth_clip *clip, ptrdiff_t k) { return smooth_bends(clip, k + 1); }

/* An element of the matrix off its diagonal. */
ik_inline real smooth_element(const smooth_frame *a, const smooth_frame *b, number x, mask holds) {
    return real_select(mask_zero((a->state | b->state) & holds), real_splat(x), real_splat(0));
}

/* Element `row` (0 or 1) of the border below frame k. */
static real smooth_border(const smooth_clip *clip, ptrdiff_t k, int row, mask holds) {
    const ptrdiff_t last = clip->count - 1, mine = last - 1 + row;
    const smooth_frame *f = &clip->frames[k], *b = &clip->frames[mine];
    const number next = smooth_to_next(clip, k), second = smooth_to_second(clip, k);
    ptrdiff_t apart = mine - k < clip->count - (mine - k) ? mine - k : clip->count - (mine - k);
    return smooth_element(f, b, apart == 1 ? next : apart == 2 ? second : 0, holds);
}

/* Frames that are not of the border. */
ik_inline ptrdiff_t smooth_band(const smooth_clip *clip) { return clip->loop ? clip->count - 2 : clip->count; }

/* Of a frame what those after it need; all 0 before the first. */
typedef struct {
    real d, below[2], border[2];
} smooth_factored;

/* What is known where frames are factored, one after the other: one frame back, and two; and of the border what is left
 * of its matrix, and what was its diagonal. */
typedef struct {
    smooth_factored last, before;
    real corner[3], whole[2];
} smooth_factors;

/* What is done at frame k, on the way from the first to the last or back. */
typedef void smooth_visit(smooth_clip *clip, ptrdiff_t k, void *context);

/* Frames of the border are prepared first, as all others take from them. */
ik_inline void smooth_prepare_border(smooth_clip *clip, smooth_visit *prepare, void *context) {
    for (ptrdiff_t k = smooth_band(clip); k < clip->count; k++)
        prepare(clip, k, context);
}

static smooth_factors smooth_factors_of(const smooth_clip *clip, mask holds) {
    const real one = real_splat(1), none = real_splat(0);
    smooth_factors at = {{.d = one}, {.d = one}, {one, one, none}, {one, one}};
    const smooth_frame *border = &clip->frames[smooth_band(clip)];
    for (int row = 0; clip->loop && row < 2; row++)
        at.whole[row] = at.corner[row] = real_select(mask_zero(border[row].state & holds), border[row].pivot, one);
    if (clip->loop) at.corner[2] = smooth_element(border, border + 1, smooth_to_next(clip, smooth_band(clip)), holds);
    return at;
}

/* D and L of frame k. */
ik_inline void smooth_factor(smooth_clip *clip, ptrdiff_t k, mask holds, smooth_factors *at) {
    const real one = real_splat(1), least = real_splat(SMOOTH_PIVOT);
    const smooth_factored last = at->last, before = at->before;
    const ptrdiff_t band = smooth_band(clip);
    smooth_frame *f = &clip->frames[k];
    smooth_factored here = {0};
    const real whole = real_select(mask_zero(f->state & holds), f->pivot, one);
    real next = real_splat(0), second = next;
    if (k + 1 < band) next = smooth_element(f, f + 1, smooth_to_next(clip, k), holds);
    if (k + 2 < band) second = smooth_element(f, f + 2, smooth_to_second(clip, k), holds);
    real pivot = whole - last.below[0] * last.below[0] * last.d;
    pivot = pivot - before.below[1] * before.below[1] * before.d;
    next = next - last.below[0] * last.below[1] * last.d;
    clip->vague |= mask_less(pivot, whole * least);
    here.d = real_max(pivot, whole * least);
    f->pivot = one / here.d;
    f->below[0] = here.below[0] = next * f->pivot;
    f->below[1] = here.below[1] = second * f->pivot;
    if (clip->loop) {
        real left[2];
        for (int row = 0; row < 2; row++) {
            left[row] = smooth_border(clip, k, row, holds);
            left[row] = left[row] - last.below[0] * last.border[row] * last.d;
            left[row] = left[row] - before.below[1] * before.border[row] * before.d;
            clip->border[k][row] = here.border[row] = left[row] * f->pivot;
            at->corner[row] = at->corner[row] - left[row] * here.border[row];
        }
        at->corner[2] = at->corner[2] - left[0] * here.border[1];
    }
    at->before = last, at->last = here;
}

/* Of the border, after all others. */
static void smooth_factor_border(smooth_clip *clip, const smooth_factors *at) {
    const real one = real_splat(1), least = real_splat(SMOOTH_PIVOT);
    const real few[2] = {at->whole[0] * least, at->whole[1] * least};
    clip->vague |= mask_less(at->corner[0], few[0]);
    clip->corner[0] = one / real_max(at->corner[0], few[0]);
    clip->corner[2] = at->corner[2] * clip->corner[0];
    const real second = at->corner[1] - at->corner[2] * clip->corner[2];
    clip->vague |= mask_less(second, few[1]);
    clip->corner[1] = one / real_max(second, few[1]);
}

/* What is known where frames are substituted, one after the other: what those before take off the right-hand side of a
 * frame and of the one after it; and what is left of those of the border. */
typedef struct {
    real next, second, later, end[2];
} smooth_sums;

static smooth_sums smooth_sums_of(const smooth_clip *clip, mask holds) {
    const real none = real_splat(0);
    const smooth_frame *border = &clip->frames[smooth_band(clip)];
    smooth_sums at = {none, none, none, {none, none}};
    for (int row = 0; clip->loop && row < 2; row++)
        at.end[row] = real_select(mask_zero(border[row].state & holds), border[row].step, none);
    return at;
}

ik_inline void smooth_sum(const smooth_clip *clip, ptrdiff_t k, mask holds, smooth_sums *at) {
    smooth_frame *f = &clip->frames[k];
    const real sum = real_select(mask_zero(f->state & holds), f->step, real_splat(0)) - at->next - at->second;
    at->next = f->below[0] * sum, at->second = at->later, at->later = f->below[1] * sum;
    f->step = sum;
    for (int row = 0; clip->loop && row < 2; row++)
        at->end[row] = at->end[row] - clip->border[k][row] * sum;
}

/* Back from the last frame to the first; frames that `move` and are not held go there. follow: NULL, or what is done
 * with the step of each. */
ik_inline void smooth_go_back(smooth_clip *clip, const smooth_sums *sums, const mask *move, smooth_visit *follow,
                              void *context) {
    const ptrdiff_t band = smooth_band(clip);
    real end[2] = {sums->end[0], sums->end[1]};
    if (clip->loop) {
        end[1] = (end[1] - clip->corner[2] * end[0]) * clip->corner[1];
        end[0] = end[0] * clip->corner[0] - clip->corner[2] * end[1];
    }
    real one_on = real_splat(0), two_on = one_on; /* the steps of the frames after */
    for (ptrdiff_t k = clip->count - 1; k >= 0; k--) {
        smooth_frame *f = &clip->frames[k];
        real sum;
        if (k >= band) {
            sum = end[k - band];
        } else {
            sum = f->step * f->pivot;
            sum = sum - f->below[0] * one_on;
            sum = sum - f->below[1] * two_on;
            for (int row = 0; clip->loop && row < 2; row++)
                sum = sum - clip->border[k][row] * end[row];
            two_on = one_on, one_on = sum;
        }
        f->step = sum;
        if (move) f->moved = real_select(*move & mask_zero(f->state), f->moved + sum, f->moved);
        if (follow) follow(clip, k, context);
    }
}

/* From right-hand sides to steps. Of frames whose state is among `held` the step is nothing. prepare: sets `step` to
 * the right-hand side and `pivot` to the diagonal, with whatever is to be added. move: NULL, or the lanes that go the
 * step, but for frames that are at a bound. follow: as in smooth_go_back. */
ik_inline void smooth_solve(smooth_clip *clip, int held, const mask *move, smooth_visit *prepare, smooth_visit *follow,
                            void *context) {
    const mask holds = mask_splat(held);
    clip->vague = mask_splat(0);
    smooth_prepare_border(clip, prepare, context);
    smooth_factors factors = smooth_factors_of(clip, holds);
    smooth_sums sums = smooth_sums_of(clip, holds);
    for (ptrdiff_t k = 0; k < smooth_band(clip); k++) {
        prepare(clip, k, context);
        smooth_factor(clip, k, holds, &factors);
        smooth_sum(clip, k, holds, &sums);
    }
    if (clip->loop) smooth_factor_border(clip, &factors);
    smooth_go_back(clip, &sums, move, follow, context);
}

/* The same once more, of other right-hand sides. */
ik_inline void smooth_solve_again(smooth_clip *clip, int held, const mask *move, smooth_visit *prepare,
                                  smooth_visit *follow, void *context) {
    const mask holds = mask_splat(held);
    smooth_prepare_border(clip, prepare, context);
    smooth_sums sums = smooth_sums_of(clip, holds);
    for (ptrdiff_t k = 0; k < smooth_band(clip); k++) {
        prepare(clip, k, context);
        smooth_sum(clip, k, holds, &sums);
    }
    smooth_go_back(clip, &sums, move, follow, context);
}
