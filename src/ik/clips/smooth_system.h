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
 *   smooth_factor        L D L^T of the matrix, in place
 *   smooth_substitute    with that, from right-hand sides to steps */

/* What is kept of a frame of all channels. */
typedef struct {
    real base, moved;
    real bounds[2]; /* the lowest and the highest that moved may be */
    real pull;
    real gradient, step;
    real pivot, below[2], border[2]; /* D, then its reciprocals; L one frame and two frames on, and in the border */
    real press[2], more[2];          /* how hard each bound presses, and a step of that */
    real inverse[2];                 /* of how far each bound is away */
    mask state;                      /* of enum smooth_state; 0: between the bounds */
} smooth_frame;

/* Of an element of the diagonal, what is left of it at least: less is rounding. */
static const number SMOOTH_PIVOT = 0x1p-49;

enum smooth_state { AT_LOWER = 1, AT_UPPER = 2, PINNED = 4, WRONG = 8 };

typedef struct {
    smooth_frame *frames;
    ptrdiff_t count;
    int loop;
    number tension;
    mask vague;     /* where rounding has left nothing of an element of D: what little holds a curve is lost */
    real corner[3]; /* of a loop D of the last two frames, as reciprocals, and L between them */
} smooth_clip;

ik_inline mask smooth_is(const smooth_frame *f, integer state) { return ~mask_zero(f->state & mask_splat(state)); }

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

static void smooth_gradient(const smooth_clip *clip) {
    smooth_slope before = smooth_slope_at(clip, -1), after = smooth_slope_at(clip, 0);
    real bent[3] = {smooth_bent(clip, -1, smooth_slope_at(clip, -2), before), smooth_bent(clip, 0, before, after)};
    for (ptrdiff_t k = 0; k < clip->count; k++) {
        smooth_frame *f = &clip->frames[k];
        smooth_slope next = smooth_slope_at(clip, k + 1);
        bent[2] = smooth_bent(clip, k + 1, after, next);
        real drawn = (before.base - after.base) + (before.moved - after.moved);
        real curved = (bent[0] - bent[1]) - (bent[1] - bent[2]);
        f->gradient = (curved + real_splat(clip->tension) * drawn) + f->pull * f->moved;
        before = after, after = next;
        bent[0] = bent[1], bent[1] = bent[2];
    }
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

/* Of a frame what those after it need; all 0 before the first. */
typedef struct {
    real d, below[2], border[2];
} smooth_factored;

/* Of frames whose state is among `holds` the step is nothing. pivot: the diagonal, with whatever is to be added. */
static void smooth_factor(smooth_clip *clip, int held) {
    const mask holds = mask_splat(held);
    const ptrdiff_t count = clip->count, band = clip->loop ? count - 2 : count;
    const real one = real_splat(1), least = real_splat(SMOOTH_PIVOT);
    real corner[3] = {one, one, real_splat(0)}, whole[2] = {one, one};
    smooth_frame *border[2] = {&clip->frames[band], &clip->frames[band + 1]};
    for (int row = 0; clip->loop && row < 2; row++)
        whole[row] = corner[row] = real_select(mask_zero(border[row]->state & holds), border[row]->pivot, one);
    if (clip->loop) corner[2] = smooth_element(border[0], border[1], smooth_to_next(clip, band), holds);
    mask vague = mask_splat(0);
    smooth_factored last = {.d = one}, before = {.d = one}; /* one frame back, and two */
    for (ptrdiff_t k = 0; k < band; k++) {
        smooth_frame *f = &clip->frames[k];
        smooth_factored here = {0};
        const real whole = real_select(mask_zero(f->state & holds), f->pivot, one);
        real next = real_splat(0), second = next;
        if (k + 1 < band) next = smooth_element(f, f + 1, smooth_to_next(clip, k), holds);
        if (k + 2 < band) second = smooth_element(f, f + 2, smooth_to_second(clip, k), holds);
        real pivot = whole - last.below[0] * last.below[0] * last.d;
        pivot = pivot - before.below[1] * before.below[1] * before.d;
        next = next - last.below[0] * last.below[1] * last.d;
        vague |= mask_less(pivot, whole * least);
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
                f->border[row] = here.border[row] = left[row] * f->pivot;
                corner[row] = corner[row] - left[row] * here.border[row];
            }
            corner[2] = corner[2] - left[0] * here.border[1];
        }
        before = last, last = here;
    }
    clip->vague = vague;
    if (!clip->loop) return;
    for (int row = 0; row < 2; row++)
        whole[row] = whole[row] * least;
    clip->vague |= mask_less(corner[0], whole[0]);
    clip->corner[0] = one / real_max(corner[0], whole[0]);
    clip->corner[2] = corner[2] * clip->corner[0];
    corner[1] = corner[1] - corner[2] * clip->corner[2];
    clip->vague |= mask_less(corner[1], whole[1]);
    clip->corner[1] = one / real_max(corner[1], whole[1]);
}

/* step: of frames that are not held the right-hand side. */
static void smooth_substitute(const smooth_clip *clip, int held) {
    const mask holds = mask_splat(held);
    const real zero = real_splat(0);
    const ptrdiff_t count = clip->count, band = clip->loop ? count - 2 : count;
    real end[2] = {zero, zero};
    for (int row = 0; clip->loop && row < 2; row++) {
        smooth_frame *f = &clip->frames[band + row];
        end[row] = real_select(mask_zero(f->state & holds), f->step, zero);
    }
    real next = zero, second = zero, later = zero; /* what frames before take off this one, and of the next one */
    for (ptrdiff_t k = 0; k < band; k++) {
        smooth_frame *f = &clip->frames[k];
        const real sum = real_select(mask_zero(f->state & holds), f->step, zero) - next - second;
        next = f->below[0] * sum, second = later, later = f->below[1] * sum;
        f->step = sum;
        for (int row = 0; clip->loop && row < 2; row++)
            end[row] = end[row] - f->border[row] * sum;
    }
    if (clip->loop) {
        end[1] = (end[1] - clip->corner[2] * end[0]) * clip->corner[1];
        end[0] = end[0] * clip->corner[0] - clip->corner[2] * end[1];
        clip->frames[band].step = end[0];
        clip->frames[band + 1].step = end[1];
    }
    real one_on = zero, two_on = zero; /* the steps of the frames after */
    for (ptrdiff_t k = band - 1; k >= 0; k--) {
        smooth_frame *f = &clip->frames[k];
        real sum = f->step * f->pivot;
        sum = sum - f->below[0] * one_on;
        sum = sum - f->below[1] * two_on;
        for (int row = 0; clip->loop && row < 2; row++)
            sum = sum - f->border[row] * end[row];
        f->step = sum;
        two_on = one_on, one_on = sum;
    }
}
