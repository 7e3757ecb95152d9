/* The interior step of smooth_kernel.h: Mehrotra's predictor-corrector method, until the active bounds are known. */

#define EACH_BOUND(k, b, side, clip)                                                                                   \
    for (ptrdiff_t k = 0; k < (clip)->count; k++)                                                                      \
        for (smooth_bounds *b = &(clip)->bounds[k], *once = b; once; once = NULL)                                      \
            for (int side = 0; side < 2; side++)

/* Distance of a frame from a bound. */
ik_inline real smooth_room(const smooth_frame *f, const smooth_bounds *b, int side, real least) {
    return real_max(side ? b->at[1] - f->moved : f->moved - b->at[0], least);
}

/* The rate at which a step moves away from a bound. */
ik_inline real smooth_leaves(const smooth_frame *f, int side) { return side ? -f->step : f->step; }

/* Change of the pressure in the predictor step. */
ik_inline real smooth_predicted(const smooth_frame *f, const smooth_bounds *b, int side) {
    return -b->press[side] - b->press[side] * (smooth_leaves(f, side) * b->inverse[side]);
}

ik_inline void smooth_see_pulled(smooth_clip *clip, ptrdiff_t k, real force, number diagonal, void *pulled) {
    real *most = pulled;
    *most = real_max(*most, real_abs(force) * clip->frames[k].free);
    (void)diagonal;
}

/* Sets a curve within the bounds, near to the free one, and the initial pressure of all bounds. Returns the mean
 * product of pressure and distance. */
static real smooth_begin(smooth *s, mask busy, real violation, real least) {
    const real share = real_splat(SMOOTH_SHARE), one = real_splat(1);
    smooth_clip *clip = &s->clip;
    real pulled = violation * real_splat(1e-20);
    EACH_FRAME(k, f, clip) {
        const real *at = clip->bounds[k].at;
        real room = real_min(violation, share * (at[1] - at[0]));
        real inside = real_min(real_max(f->moved, at[0] + room), at[1] - room);
        f->moved = real_select(busy, inside, f->moved);
        clip->states[k] &= ~busy | mask_splat(PINNED);
        f->free = real_select(smooth_is(clip->states[k], PINNED), real_splat(0), one);
    }
    smooth_each(clip, smooth_see_pulled, &pulled);
    real product = real_splat(SMOOTH_PRESS) * pulled * violation;
    EACH_BOUND(k, b, side, clip) b->press[side] = product * (one / smooth_room(&clip->frames[k], b, side, least));
    return product;
}

/* Input of a step: smallest distance to a bound, target product of the corrector, weight of the second-order term.
 * Measures of a step: its excess length relative to the bounds, and the sum of the products of the changes of pressure
 * and distance. */
typedef struct {
    real least, centre, curvature, most, second;
} smooth_seen;

/* The right-hand side of the predictor step. It is also stored in more[0] for the corrector. */
ik_inline void smooth_set_outward(smooth_clip *clip, ptrdiff_t k, real force, number diagonal, void *context) {
    smooth_seen *seen = context;
    smooth_frame *f = &clip->frames[k];
    smooth_bounds *b = &clip->bounds[k];
    f->step = b->more[0] = force;
    f->pivot = real_splat(diagonal) + f->pull;
    for (int side = 0; side < 2; side++) {
        b->inverse[side] = real_splat(1) / smooth_room(f, b, side, seen->least);
        f->pivot = f->pivot + b->press[side] * b->inverse[side];
    }
}

/* The length of the predictor step relative to the bounds. */
ik_inline void smooth_outward(smooth_clip *clip, ptrdiff_t k, void *context) {
    smooth_seen *seen = context;
    const smooth_frame *f = &clip->frames[k];
    const smooth_bounds *b = &clip->bounds[k];
    for (int side = 0; side < 2; side++) {
        real leaves = smooth_leaves(f, side), change = leaves * b->inverse[side];
        seen->most = real_max(seen->most, real_max(-change, real_splat(1) + change));
        seen->second = seen->second + leaves * smooth_predicted(f, b, side);
    }
}

/* The share of the predictor step that keeps the bounds, and the mean product after it. */
typedef struct {
    real part, product;
} smooth_prediction;

static smooth_prediction smooth_predict(smooth *s, real product, real least) {
    const real one = real_splat(1);
    smooth_clip *clip = &s->clip;
    smooth_seen seen = {.least = least, .most = one, .second = real_splat(0)};
    smooth_solve(clip, smooth_set_outward, (smooth_then){.follow = smooth_outward, .context = &seen});
    real part = one / seen.most;
    real after = product * (one - part) + part * part * seen.second / real_splat(2 * (number)clip->count);
    return (smooth_prediction){part, after};
}

ik_inline void smooth_set_inward(smooth_clip *clip, ptrdiff_t k, real force, number diagonal, void *context) {
    (void)force, (void)diagonal;
    const smooth_seen *seen = context;
    smooth_frame *f = &clip->frames[k];
    smooth_bounds *b = &clip->bounds[k];
    real right = b->more[0];
    for (int side = 0; side < 2; side++) {
        b->more[side] = seen->centre - seen->curvature * smooth_leaves(f, side) * smooth_predicted(f, b, side);
        real pressed = b->more[side] * b->inverse[side];
        right = side ? right - pressed : right + pressed;
    }
    f->step = right;
}

/* The change of pressure in the corrector step. */
ik_inline void smooth_press(smooth_clip *clip, ptrdiff_t k, void *context) {
    smooth_seen *seen = context;
    const smooth_frame *f = &clip->frames[k];
    smooth_bounds *b = &clip->bounds[k];
    for (int side = 0; side < 2; side++) {
        real leaves = smooth_leaves(f, side);
        b->more[side] = (b->more[side] - b->press[side] * leaves) * b->inverse[side] - b->press[side];
        seen->most = real_max(seen->most, -leaves * b->inverse[side]);
        seen->most = real_max(seen->most, -b->more[side] / b->press[side]);
    }
}

/* The corrector step, with a weighted second-order term of the predictor. The weight is small if little of the
 * predictor step was possible; otherwise the two may cycle. C. Cartis, "Some disadvantages of a Mehrotra-type
 * primal-dual corrector interior point algorithm for linear programming", 2009. Returns the share of the step that
 * keeps the bounds. */
static real smooth_correct(smooth *s, real centre, real curvature) {
    smooth_seen seen = {.centre = centre, .curvature = curvature, .most = real_splat(SMOOTH_STEP)};
    smooth_solve_again(&s->clip, smooth_set_inward, (smooth_then){.follow = smooth_press, .context = &seen});
    return real_splat(SMOOTH_STEP) / seen.most;
}

/* The mean product after a step, and the largest pressure. */
typedef struct {
    real product, hardest;
} smooth_reached;

/* Takes a share `part` of the step. */
static smooth_reached smooth_go(smooth *s, mask busy, real part, real least) {
    real sum = real_splat(0), hardest = sum;
    EACH_FRAME(k, f, &s->clip) {
        smooth_bounds *b = &s->clip.bounds[k];
        f->moved = real_select(busy, f->moved + part * f->step, f->moved);
        for (int side = 0; side < 2; side++) {
            b->press[side] = real_select(busy, b->press[side] + part * b->more[side], b->press[side]);
            sum = sum + b->press[side] * smooth_room(f, b, side, least);
            hardest = real_max(hardest, b->press[side]);
        }
    }
    return (smooth_reached){sum / real_splat(2 * (number)s->clip.count), hardest};
}

/* Makes a bound active if its pressure, relative to the largest, exceeds its distance relative to the largest
 * violation. */
static void smooth_guess(smooth *s, mask busy, real violation, real hardest, real least) {
    EACH_BOUND(k, b, side, &s->clip) {
        mask *state = &s->clip.states[k];
        real room = smooth_room(&s->clip.frames[k], b, side, least);
        mask pressed = busy & mask_zero(*state) & mask_less(room * hardest, b->press[side] * violation);
        *state = mask_select(pressed, mask_splat(side ? AT_UPPER : AT_LOWER), *state);
    }
}

static void smooth_interior(smooth *s, mask busy) {
    const real zero = real_splat(0), one = real_splat(1), near = real_splat(SMOOTH_NEAR);
    const mask all = busy;
    real violation = real_splat(SMALLEST), hardest = zero;
    EACH_FRAME(k, f, &s->clip) {
        const real *at = s->clip.bounds[k].at;
        violation = real_max(violation, real_max(at[0] - f->moved, f->moved - at[1]));
    }
    const real least = violation * real_splat(SMOOTH_SLACK);
    real product = smooth_begin(s, busy, violation, least);
    real pulled = product / violation; /* the largest unbalanced force */
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
