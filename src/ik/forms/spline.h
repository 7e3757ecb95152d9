/* A chain laid along a curve. The contract is at ik_spline_job in ik.h.
 *
 * Idea. Each joint is placed where the curve first leaves a sphere about the previous joint; the radius is the bone
 * length. The curve is searched in steps from the previous joint until the end of a step is outside the sphere.
 * Newton's method, bracketed by the ends of this step, finds the point. Each bone, carried by the previous one, then
 * turns by the shortest arc, so no joint twists. The requested roll is added last.
 *
 * A chain stretched over the curve is placed in the same way. The arc length so far replaces the distance from the
 * previous joint (Gauss-Legendre quadrature with three points per step).
 *
 * Source: the frame of least rotation along a curve (Bishop, "There is more than one way to frame a curve", 1975).
 * Between straight bones it is the shortest arc.
 *
 * Memory: registers hold one joint. Until the bones turn, the joint's point on the curve is stored in its position row
 * and its tilt in its stretch row.
 *
 * Space: relative to the final root position. A power of two scales the larger of chain and curve to nearly 1. */

/* Relative to the larger of chain and curve. */
#define SPLINE_TOLERANCE (number)(IK_BITS == 64 ? 1e-12 : 1e-5)

/* State of a search along the curve. */
typedef struct {
    vec3 here;                /* the previous joint */
    real step, t;             /* index of the step, and the parameter in its piece at which the remaining part begins */
    real reached;             /* distance from the previous joint, or arc length so far, at t */
    real until, reached_then; /* the same at the end of the step, once it is far enough */
    spline_piece piece;       /* the piece of this step */
    ptrdiff_t first;          /* the first step in which any lane still is */
} spline_walk;

/* --- placing the joints ------------------------------------------------------------------------------------------- */

/* The distance or arc length at t, and its derivative. */
ik_inline real spline_reach(const spline_walk *walk, const spline_piece *piece, int measured, real t, real *growth) {
    vec3 slope = spline_slope(piece, t);
    if (measured) {
        *growth = vec3_length(slope);
        return walk->reached + spline_length(piece, walk->t, t);
    }
    vec3 way = vec3_sub(spline_point(piece, t), walk->here);
    real distance = vec3_length(way);
    *growth = vec3_dot(way, slope) / distance;
    return distance;
}

/* Advances step by step until the end of a step is far enough. Returns the lanes in which no step is. */
ik_inline mask spline_seek(const ik_spline_job *job, const spline_plan *plan, group at, real wanted, mask seeking,
                           spline_walk *walk) {
    const int measured = job->shares.count != 0;
    spline_piece piece = walk->piece;
    for (ptrdiff_t step = walk->first; step < plan->steps && mask_any(seeking); step++) {
        const int in_piece = (int)(step % SPLINE_STEPS), is_last = in_piece + 1 == SPLINE_STEPS;
        if (in_piece == 0 || step == walk->first) piece = spline_piece_at(job, plan, at, step / SPLINE_STEPS);
        real until = real_splat((number)(in_piece + 1) / SPLINE_STEPS), growth;
        mask on = seeking & mask_equal(walk->step, real_splat((number)step));
        real reach = spline_reach(walk, &piece, measured, until, &growth);
        mask passes = on & mask_less(reach, wanted), found = on & ~passes;
        walk->piece = spline_piece_select(found, &piece, &walk->piece);
        walk->until = real_select(found, until, walk->until);
        walk->reached_then = real_select(found, reach, walk->reached_then);
        walk->step = real_select(passes, real_splat((number)(step + 1)), walk->step);
        walk->t = real_select(passes, is_last ? real_splat(0) : until, walk->t);
        walk->reached = real_select(passes, reach, walk->reached);
        seeking &= ~found;
    }
    while (walk->first < plan->steps && !mask_any(mask_equal(walk->step, real_splat((number)walk->first))))
        walk->first++;
    return seeking;
}

/* Finds the parameter within the step, usually in five rounds. It takes more where the derivative of the curve is 0 (a
 * handle on its point). */
ik_inline real spline_refine(const spline_walk *walk, int measured, real wanted, mask active) {
    const real zero = real_splat(0), one = real_splat(1), half = real_splat(0.5f), tolerance = real_splat(32 * EPSILON);
    real low = walk->t, high = walk->until;
    real share = (wanted - walk->reached) / (walk->reached_then - walk->reached);
    real t = low + (high - low) * real_min(real_max(share, zero), one);
    for (int round = 0; round < SPLINE_ROUNDS && mask_any(active); round++) {
        real growth, reach = spline_reach(walk, &walk->piece, measured, t, &growth), off = wanted - reach;
        mask is_short = mask_less(zero, off);
        low = real_select(is_short, t, low);
        high = real_select(is_short, high, t);
        real next = t + off / growth;
        mask inside = ~mask_less(next, low) & ~mask_less(high, next) & mask_is_number(next);
        mask goes_on = mask_less(tolerance, real_abs(off));
        real otherwise = real_select(goes_on, half * (low + high), t);
        t = real_select(active, real_select(inside, next, otherwise), t);
        active &= goes_on;
    }
    return t;
}

/* The point at distance `length` from the previous joint on the straight line beyond the end. */
ik_inline vec3 spline_beyond(const spline_plan *plan, const spline_walk *walk, real length) {
    const real zero = real_splat(0);
    vec3 way = vec3_sub(plan->end, walk->here);
    real back = vec3_dot(way, plan->along);
    vec3 across = vec3_sub(way, vec3_scale(back, plan->along));
    real forwards = real_sqrt(real_max(length * length - vec3_dot(across, across), zero)) - back;
    return vec3_add(plan->end, vec3_scale(real_max(forwards, zero), plan->along));
}

ik_inline void spline_keep(const ik_spline_job *job, group at, ptrdiff_t k, vec3 place, real tilt) {
    ik_rows places = lanes_list_row(&job->positions, k), tilts = lanes_list_row(&job->stretches, k);
    lanes_store_vec3(&places, at, place);
    lanes_store_real(&tilts, at, tilt);
}

/* Gives every joint its point and tilt. Returns the largest distance beyond the end, and the lanes with such joints. */
ik_outline real spline_march(const ik_spline_job *job, const spline_plan *plan, group at, mask *beyond) {
    const int measured = job->shares.count != 0;
    const real zero = real_splat(0), least = real_splat(SMALLEST);
    const real last_tilt = spline_number(&job->tilts, at, plan->steps / SPLINE_STEPS);
    spline_walk walk = {.here = vec3_splat(0, 0, 0), .step = zero, .t = zero, .reached = zero, .until = zero};
    walk.reached_then = zero;
    walk.piece = spline_piece_at(job, plan, at, 0);
    real shares = zero, over = zero, tilt = walk.piece.tilts[0];
    *beyond = mask_splat(0);
    spline_keep(job, at, 0, walk.here, tilt);
    for (ptrdiff_t k = 0; k + 1 < job->joints.count; k++) {
        real length = vec3_length(spline_bone(job, plan, at, k)), wanted = length;
        mask seeking = mask_less(zero, length);
        if (measured) {
            shares = shares + spline_share(job, at, k);
            wanted = plan->curve * (shares / real_max(plan->total, least));
            seeking = mask_splat(-1);
        } else {
            walk.reached = zero;
        }
        mask off = spline_seek(job, plan, at, wanted, seeking, &walk), found = seeking & ~off;
        real t = spline_refine(&walk, measured, wanted, found);
        vec3 place = vec3_select(found, spline_point(&walk.piece, t), walk.here);
        vec3 ahead = measured ? plan->end : spline_beyond(plan, &walk, length);
        place = vec3_select(off, ahead, place);
        real between = walk.piece.tilts[0] + t * (walk.piece.tilts[1] - walk.piece.tilts[0]);
        tilt = real_select(found, between, real_select(off, last_tilt, tilt));
        spline_keep(job, at, k + 1, place, tilt);
        if (measured) {
            walk.here = place;
            continue;
        }
        walk.t = real_select(found, t, walk.t);
        *beyond |= off;
        over = real_select(off, real_max(over, vec3_length(vec3_sub(place, plan->end))), over);
        vec3 bone = vec3_scale(length, vec3_direction(vec3_sub(place, walk.here)).unit);
        walk.here = vec3_add(walk.here, bone);
    }
    return over;
}

/* --- rotations of the bones --------------------------------------------------------------------------------------- */

/* The state of a bone while it turns. */
typedef struct {
    vec3 here;    /* its joint */
    quat carried; /* its rotation, without the roll */
    vec3 along;   /* its direction */
    real stretch;
} spline_turned;

ik_inline spline_turned spline_straight(const spline_plan *plan) {
    return (spline_turned){vec3_splat(0, 0, 0), quat_identity(), plan->chain, real_splat(1)};
}

/* Rotates bone k with the previous one, then by the shortest arc towards the point of joint k + 1. */
ik_inline void spline_turn(const ik_spline_job *job, const spline_plan *plan, group at, ptrdiff_t k,
                           spline_turned *bone) {
    ik_rows row = lanes_list_row(&job->positions, k + 1);
    direction came = vec3_direction(spline_bone(job, plan, at, k));
    direction goes = vec3_direction(vec3_sub(lanes_load_vec3(&row, at), bone->here));
    const real least = real_splat(TINY_LENGTH);
    mask has_length = mask_less(least, came.length), turns = has_length & mask_less(least, goes.length);
    vec3 from = quat_rotate(bone->carried, came.unit);
    quat arc = quat_shortest_arc(from, goes.unit, vec3_perpendicular(from));
    bone->carried = quat_select(turns, quat_unit(quat_multiply(arc, bone->carried)), bone->carried);
    bone->along = vec3_select(turns, goes.unit, vec3_select(has_length, from, bone->along));
    bone->stretch = real_splat(1);
    if (job->shares.count) bone->stretch = real_select(has_length, goes.length * came.inverse, bone->stretch);
}

/* Advances to the next joint. */
ik_inline void spline_step(const ik_spline_job *job, const spline_plan *plan, group at, ptrdiff_t k,
                           spline_turned *bone, quat turned) {
    vec3 arm = quat_rotate(turned, spline_bone(job, plan, at, k));
    bone->here = vec3_add(bone->here, vec3_scale(bone->stretch, arm));
}

/* The angle about the bone from the axis to the direction of up. */
ik_inline real spline_roll(const spline_turned *bone, vec3 axis, vec3 up, mask *undefined) {
    direction has = aim_side(quat_rotate(bone->carried, axis), bone->along), wants = aim_side(up, bone->along);
    *undefined = ~(mask_less(real_splat(TINY_SINE), has.length) & mask_less(real_splat(TINY_SINE), wants.length));
    vec3 normal = vec3_cross(has.unit, wants.unit);
    real angle = real_atan2(vec3_dot(bone->along, normal), vec3_dot(has.unit, wants.unit));
    return real_select(*undefined, real_splat(0), angle);
}

/* The roll of the first bone, and the additional roll of the last. */
typedef struct {
    real first, more;
    mask undefined;
} spline_rolls;

/* The equivalent angle of at most half a turn. */
ik_inline real spline_wrapped(real angle) {
    const real half = real_splat(HALF_TURN), whole = real_splat(2 * HALF_TURN);
    angle = real_select(mask_less(half, angle), angle - whole, angle);
    return real_select(mask_less(angle, -half), angle + whole, angle);
}

ik_outline spline_rolls spline_rolls_of(const ik_spline_job *job, const spline_plan *plan, group at, real *poison) {
    const int starts = job->start_axis.data && job->start_up.data, ends = job->end_axis.data && job->end_up.data;
    spline_rolls rolls = {real_splat(0), real_splat(0), mask_splat(0)};
    if (!starts && !ends) return rolls;
    vec3 start_axis = spline_option(&job->start_axis, at, poison), start_up = spline_option(&job->start_up, at, poison);
    vec3 end_axis = spline_option(&job->end_axis, at, poison), end_up = spline_option(&job->end_up, at, poison);
    spline_turned bone = spline_straight(plan);
    const ptrdiff_t last = job->joints.count - 2;
    for (ptrdiff_t k = 0; k <= (ends ? last : 0); k++) {
        mask undefined = mask_splat(0);
        spline_turn(job, plan, at, k, &bone);
        if (k == 0 && starts) rolls.first = spline_roll(&bone, start_axis, start_up, &undefined);
        rolls.undefined |= undefined;
        if (k == last && ends) {
            real roll = spline_roll(&bone, end_axis, end_up, &undefined);
            rolls.more = real_select(undefined, real_splat(0), spline_wrapped(roll - rolls.first));
            rolls.undefined |= undefined;
        }
        spline_step(job, plan, at, k, &bone, bone.carried);
    }
    return rolls;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

ik_inline void spline_write(const ik_spline_job *job, const spline_plan *plan, group at, ptrdiff_t k, quat delta,
                            vec3 here, real stretch, mask usable) {
    ik_rows deltas = lanes_list_row(&job->deltas, k), places = lanes_list_row(&job->positions, k),
            stretches = lanes_list_row(&job->stretches, k);
    vec3 world = vec3_add(plan->root, vec3_scale(real_unscale(plan->scale), here));
    vec3 place = vec3_select(usable, world, spline_joint(job, at, k));
    lanes_store_quat(&deltas, at, quat_select(usable, delta, quat_identity()));
    lanes_store_vec3(&places, at, vec3_canonical_nan(place));
    lanes_store_real(&stretches, at, real_select(usable, stretch, real_splat(1)));
}

/* Turns the bones and writes the resulting joint positions. Returns the largest distance of a joint from its point. */
ik_inline real spline_settle(const ik_spline_job *job, const spline_plan *plan, group at, const spline_rolls *rolls,
                             mask usable) {
    const real zero = real_splat(0), one = real_splat(1), half = real_splat(0.5f);
    spline_turned bone = spline_straight(plan);
    quat before = quat_identity();
    real length = zero, most = zero;
    mask has_lasts = mask_less(zero, plan->until_last);
    for (ptrdiff_t k = 0; k < job->joints.count; k++) {
        ik_rows places = lanes_list_row(&job->positions, k), tilts = lanes_list_row(&job->stretches, k);
        vec3 here = bone.here, off = vec3_sub(lanes_load_vec3(&places, at), here);
        most = real_max(vec3_length(off), most);
        if (k + 1 == job->joints.count) {
            spline_write(job, plan, at, k, quat_identity(), here, one, usable);
            break;
        }
        real share = real_select(has_lasts, length / real_select(has_lasts, plan->until_last, one), one);
        real angle = rolls->first + share * rolls->more + lanes_load_real(&tilts, at);
        spline_turn(job, plan, at, k, &bone);
        quat turned = quat_multiply(quat_of_turn((turn){bone.along, half * angle}), bone.carried);
        quat delta = quat_canonical(quat_multiply(quat_conjugate(before), turned));
        spline_step(job, plan, at, k, &bone, turned);
        spline_write(job, plan, at, k, delta, here, bone.stretch, usable);
        length = length + vec3_length(spline_bone(job, plan, at, k));
        before = turned;
    }
    return most;
}

static void spline_rows(const ik_spline_job *job, ptrdiff_t first, ptrdiff_t last) {
    const real zero = real_splat(0);
    const int has_all = job->joints.count > 1 && job->curve.count > 3;
    EACH_GROUP (at, first, last) {
        real error = real_nan();
        mask status = mask_splat(IK_NO_LENGTH);
        if (has_all) {
            mask beyond;
            spline_plan plan = spline_survey(job, at);
            real over = spline_march(job, &plan, at, &beyond);
            spline_rolls rolls = spline_rolls_of(job, &plan, at, &plan.poison);
            mask finite = mask_is_finite(plan.poison), usable = finite & mask_less(zero, plan.length);
            if (job->shares.count) usable &= mask_less(zero, plan.curve);
            error = spline_settle(job, &plan, at, &rolls, usable);
            mask missed = mask_less(real_splat(SPLINE_TOLERANCE) * plan.size, error);
            status = (beyond & mask_splat(IK_TOO_SHORT)) | (rolls.undefined & mask_splat(IK_POLE_UNDEFINED)) |
                     (missed & mask_splat(IK_STALLED));
            mask why = mask_select(finite, mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE));
            status = mask_select(usable, status, why);
            error = real_select(usable, real_unscale(plan.scale) * real_max(error, over), real_nan());
        } else {
            for (ptrdiff_t k = 0; k < job->joints.count; k++)
                spline_write(job, &(spline_plan){.scale = real_splat(1)}, at, k, quat_identity(), vec3_splat(0, 0, 0),
                             real_splat(1), mask_splat(0));
        }
        lanes_store_status(&job->status, at, status);
        lanes_store_real(&job->error, at, error);
    }
}
