/* Damped least squares. C. W. Wampler, "Manipulator inverse kinematic solutions based on vector formulations and damped
 * least-squares methods", IEEE Trans. SMC 16 (1986); the choice of damping: H. B. Nielsen, "Damping parameter in
 * Marquardt's method", report IMM-REP-1999-05 (1999); limits as in P. Baerlocher, R. Boulic, "An inverse kinematics
 * architecture enforcing an arbitrary number of strict priority levels", The Visual Computer 20 (2004).
 *
 * Idea. A small turn d of a joint moves a point at r from it by d x r, and turns what hangs from the joint by d. These
 * are the columns of the Jacobian J. Of all turns that would take away the error e, if motion were linear, take short
 * ones, since it is not: those that make |e - J d|^2 + damping |d|^2 least.
 *
 *   A = J W J^T            symmetric, three rows for a place or a rotation; other tasks: see frame/tasks.h
 *   (A + damping) y = e    L D L^T
 *   d = W J^T y            for every joint: W (r x y), summed over what hangs from it
 *
 * J is never stored. A block of A for two tasks is a sum over the joints that move both; of a ball joint, with r and s
 * from it to the two points, (r . s) I - s r^T. W is how willingly a joint turns, 1 - stiffness.
 *
 * All joints turn at once, each about where it was: with D the turns, S[j] = S[parent] D[j] is what all of them do to
 * joint j, and a bone from j turns by S[j].
 *
 *   damping   Nielsen's trust region: starts at a tenth of A's largest diagonal element; falls as far as the error fell
 *             as foreseen, to a third at most; a step that makes it worse is taken back, and damping grows. With the
 *             option `damping` it is constant, every step is kept, and shortened as a whole to max_step.
 *   limits    Of the joints that a step would take over their limits the one with the least way to go is set to its
 *             limit, what that does is taken off the error, and the rest is solved again without it, until no more are
 *             over. One such solve is one step of the frame, which does not count as an iteration.
 *   posture   d = J^+ e + (I - J^+ J) z, where z turns joints to what they prefer, as a rule rest: as J^+ (e - J z) + z
 *   weights   of goals: rows are multiplied by their roots; angles count by the mean bone as length.
 *   levels    strict priorities, as in the same paper: see dls_solve.h
 *   slides    are columns like turns, of a mean bone for a radian
 *
 * Unless `textbook`: a joint chain without limits whose only target is out of reach is laid towards it at once; one
 * that makes no progress is shaken, the same way for every item, and the best pose found is what stays. */

#include "dls_columns.h"
#include "dls_rows.h"
#include "dls_limits.h"
#include "dls_solve.h"

/* A step that takes less than this share off the error is no progress; after so many of them the chain is shaken, and
 * after so many times given up. */
#define DLS_PROGRESS (number)1e-3
#define DLS_HOPELESS (number)1e-8 /* foreseen to take less: it is at rest, and need not wait */
enum { DLS_PATIENCE = 5, DLS_SHAKES = 8 };
/* The same with restarts: what is slow is given up, for another start is better. On arms of six and
 * seven hinges that takes a third off the work until the last item has arrived. */
#define DLS_PROGRESS_OR_RESTART (number)0.05
#define DLS_HOPELESS_OR_RESTART (number)0.01
enum { DLS_PATIENCE_OR_RESTART = 2 };

/* ---- a step: try and judge */

ik_inline quat dls_turn_of(const ik_plan *plan, columns c, int slot, vec3 pull, dls_shape shape) {
    real most = real_splat((number)plan->job->options.max_step);
    if (!shape.plain) {
        vec3 turn = column_vec3(c, dls_delta(plan, slot));
        return dls_exp(dls_as_vector(plan, c, plan->node_of_slot[slot], turn), real_splat(LARGEST));
    }
    vec3 tip = column_vec3(c, dls_position(plan, plan->nodes[plan->tasks[0].node].slot));
    return dls_exp(vec3_cross(vec3_sub(tip, column_vec3(c, dls_position(plan, slot))), pull), most);
}

/* Where all turns take the nodes. */
ik_inline void dls_try(const ik_plan *plan, real *bundle, int groups, const dls_outlook *outlook, dls_shape shape) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        int parent = node->moves ? plan->nodes[node->parent].slot : -1;
        for (int g = 0; g < groups; g++) {
            columns c = columns_of_bundle(bundle, g);
            quat turn = quat_identity();
            vec3 moved = column_vec3(c, dls_position(plan, slot));
            if (!shape.plain && node->slides) {
                vec3 slide = column_vec3(c, dls_shift(plan, slot));
                moved = vec3_add(moved, quat_rotate(dls_parent(plan, c, plan->node_of_slot[slot]), slide));
            }
            if (parent >= 0) {
                turn = column_quat(c, dls_turn(plan, parent));
                vec3 bone = vec3_sub(moved, column_vec3(c, dls_position(plan, parent)));
                moved = vec3_add(column_vec3(c, dls_moved(plan, parent)), quat_rotate(turn, bone));
            }
            if (node->turns) {
                quat own = dls_turn_of(plan, c, slot, outlook[g].pull, shape);
                turn = quat_polished(quat_multiply(turn, own));
            }
            column_set_vec3(c, dls_moved(plan, slot), moved);
            column_set_quat(c, dls_turn(plan, slot), turn);
        }
    }
}

/* Never over the ends of a travel, to the bit. */
ik_outline void dls_accept_slides(const ik_plan *plan, columns c, mask accept) {
    for (int slot = 0; slot < plan->slots; slot++)
        for (int axis = 0; axis < 3 && plan->nodes[plan->node_of_slot[slot]].slides; axis++) {
            real slide = *column(c, dls_shift(plan, slot) + axis), *slid = column(c, dls_slid(plan, slot) + axis);
            dls_allow_slide(plan, c, plan->node_of_slot[slot], axis, &slide);
            *slid = real_select(accept, *slid + slide, *slid);
        }
}

ik_inline void dls_accept(const ik_plan *plan, columns c, mask accept) {
    for (int slot = 0; slot < plan->slots; slot++) {
        quat before = column_quat(c, dls_rotation(slot));
        quat turned = quat_polished(quat_multiply(column_quat(c, dls_turn(plan, slot)), before));
        column_set_quat(c, dls_rotation(slot), quat_select(accept, turned, before));
        vec3 p = column_vec3(c, dls_position(plan, slot)), moved = column_vec3(c, dls_moved(plan, slot));
        column_set_vec3(c, dls_position(plan, slot), vec3_select(accept, moved, p));
        int k = plan->node_of_slot[slot];
        if (!plan->limited || !dls_is_hinge(plan, k)) continue;
        real *angle = column(c, dls_angle(plan, slot)), turn = *column(c, dls_delta(plan, slot));
        *angle = real_select(accept, dls_within(dls_limit(plan, k), *angle + turn), *angle);
    }
}

/* Nielsen's rule: the damping falls as far as the error fell as foreseen. */
ik_inline void dls_adapt(const ik_plan *plan, columns c, mask waits, mask better, real gain) {
    const real one = real_splat(1), two = real_splat(2);
    real *damping = column(c, dls_state(plan, DLS_DAMPING)), *growth = column(c, dls_state(plan, DLS_GROWTH));
    real x = two * gain - one, less = real_max(real_splat((number)(1.0 / 3)), one - x * x * x);
    *damping = real_select(waits, *damping, *damping * real_select(better, less, *growth));
    *growth = real_select(waits, *growth, real_select(better, two, two * *growth));
}

/* ---- what is stuck */

/* The same sequence for every item: between -1 and 1, and every other time the opposite. */
static number dls_random(int shake, int slot, int axis) {
    uint32_t x = (uint32_t)(shake / 2 * 8191 + slot * 127 + axis + 1);
    for (int i = 0; i < 3; i++) {
        x = (x ^ (x >> 15)) * 0x2c1b3c6du;
        x = (x ^ (x >> 12)) * 0x297a2d39u;
    }
    number random = (number)((double)(x >> 8) / 8388608.0 - 1);
    return shake % 2 ? -random : random;
}

/* By up to as much as a turn counts, within its travel. */
static void dls_shake_slide(const ik_plan *plan, columns c, int k, vec3 by) {
    const int slot = plan->nodes[k].slot;
    column_set_vec3(c, dls_shift(plan, slot), vec3_scale(dls_slide_unit(plan, c), by));
    for (int axis = 0; axis < 3; axis++)
        dls_allow_slide(plan, c, k, axis, column(c, dls_shift(plan, slot) + axis));
}

/* The turns of one shake: of a hinge to somewhere in its range, of others by up to a radian. */
static void dls_shake_turns(const ik_plan *plan, columns c, int shake) {
    number share = shake ? 1 : (number)0.1;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        vec3 turn = vec3_splat(share * dls_random(shake, slot, 0), share * dls_random(shake, slot, 1),
                               share * dls_random(shake, slot, 2));
        if (plan->nodes[k].slides) dls_shake_slide(plan, c, k, turn);
        if (!plan->nodes[k].turns) continue;
        if (dls_is_hinge(plan, k)) {
            const double half = 4 * eighth_turn[0], round[2] = {-half, half};
            const double *range = dls_is_round(dls_limit(plan, k)) ? round : dls_limit(plan, k)->twist;
            real to =
                real_splat((number)(0.5 * (range[0] + range[1] + (range[1] - range[0]) * dls_random(shake, slot, 0))));
            turn.x = real_splat(share) * (to - *column(c, dls_angle(plan, slot)));
        }
        if (dls_is_limited(plan, k)) dls_allow(plan, c, k, &turn);
        column_set_vec3(c, dls_delta(plan, slot), turn);
    }
}

static void dls_exchange(columns c, int here, int aside, int count, mask keep, mask back) {
    for (int i = 0; i < count; i++) {
        real *now = column(c, here + i), *kept = column(c, aside + i), before = *now;
        *now = real_select(back, *kept, before);
        *kept = real_select(keep, before, *kept);
    }
}

/* The pose is kept aside in lanes `keep`, and what was kept is taken back in lanes `back`. */
static void dls_aside(const ik_plan *plan, columns c, mask keep, mask back) {
    int numbers = dls_task(plan, 0) - dls_rotation(0);
    dls_exchange(c, dls_rotation(0), dls_kept(plan), numbers, keep, back);
    if (plan->limited) dls_exchange(c, dls_angle(plan, 0), dls_kept(plan) + numbers, plan->slots, keep, back);
}

/* A shaken chain starts anew. */
static void dls_shake(const ik_plan *plan, real *bundle, int g, mask stuck) {
    columns c = columns_of_bundle(bundle, g);
    const dls_outlook none = {0};
    real *shaken = column(c, dls_state(plan, DLS_SHAKEN)), *error = column(c, ERROR);
    real *damping = column(c, dls_state(plan, DLS_DAMPING)), *growth = column(c, dls_state(plan, DLS_GROWTH));
    real *level = column(c, dls_state(plan, DLS_LEVEL));
    dls_turn_axes(plan, c);
    for (int shake = 0; shake < DLS_SHAKES; shake++) {
        mask now = stuck & mask_equal(*shaken, real_splat((number)shake));
        if (!mask_any(now)) continue;
        dls_shake_turns(plan, c, shake);
        dls_try(plan, bundle + g, 1, &none, (dls_shape){0});
        dls_accept(plan, c, now);
        if (plan->slides) dls_accept_slides(plan, c, now);
    }
    *shaken = real_select(stuck, *shaken + real_splat(1), *shaken);
    if (plan->job->options.damping == 0) *damping = real_select(stuck, real_splat(-1), *damping);
    *growth = real_select(stuck, real_splat(2), *growth);
    *level = real_select(stuck, real_splat(DLS_LEVEL_FIRST), *level);
    *error = real_select(stuck, dls_measure(plan, c, DLS_POSE, NULL, 1, (dls_shape){0}).largest, *error);
}

/* Lanes that have made no progress for long; they get time again. */
static mask dls_is_stuck(const ik_plan *plan, columns c, mask counts, real square, dls_outlook o) {
    const real zero = real_splat(0), one = real_splat(1);
    const int restarts = plan->job->options.restarts > 0;
    const number least_hope = restarts ? DLS_HOPELESS_OR_RESTART : DLS_HOPELESS;
    const number least_progress = restarts ? DLS_PROGRESS_OR_RESTART : DLS_PROGRESS;
    const number patience = restarts ? DLS_PATIENCE_OR_RESTART : DLS_PATIENCE;
    mask hopeless = mask_less(o.before - o.foreseen, real_splat(least_hope) * o.before);
    real *idle = column(c, dls_state(plan, DLS_IDLE)), *least = column(c, dls_state(plan, DLS_LEAST));
    mask progress = mask_less(square, real_splat(1 - least_progress) * *least);
    real waited = real_select(progress, zero, *idle + one);
    mask stuck = counts & (hopeless | ~mask_less(waited, real_splat(patience)));
    *idle = real_select(counts, real_select(stuck, zero, waited), *idle);
    *least = real_select(counts & progress, square, *least);
    *least = real_select(stuck, real_splat(LARGEST), *least);
    return stuck;
}

/* In lanes that are held up a level counts less than before beside the one before it. Returns those where it could. */
ik_outline mask dls_be_strict(const ik_plan *plan, columns c, mask held_up) {
    real *level = column(c, dls_state(plan, DLS_LEVEL)), last = real_splat(DLS_LEVEL_LAST);
    mask could = held_up & mask_less(last, *level);
    *level = real_select(could, real_max(real_splat((number)0.01) * *level, last), *level);
    return could;
}

/* Shakes lanes that are stuck; gives up those that were shaken often. At the end, the best pose is what stays. */
static void dls_watch(const ik_plan *plan, real *bundle, int g, mask waits, real square, real strict, dls_outlook o) {
    columns c = columns_of_bundle(bundle, g);
    real *best = column(c, dls_state(plan, DLS_BEST)), *said = column(c, SAID);
    mask off = mask_less(*column(c, TOLERANCE), *column(c, ERROR)) & ~waits;
    mask stuck = dls_is_stuck(plan, c, off, square, o);
    if (plan->levels > 1) stuck &= ~dls_be_strict(plan, c, stuck);
    const number shakes = plan->job->options.restarts > 0 ? 0 : DLS_SHAKES;
    mask often = ~mask_less(*column(c, dls_state(plan, DLS_SHAKEN)), real_splat(shakes));
    real iterations = *column(c, ITERATIONS) + real_splat(1), most = real_splat((number)plan->job->options.iterations);
    mask ends = (stuck & often) | (off & ~mask_less(iterations, most)), better = mask_less(strict, *best);
    if (!mask_any(stuck | ends)) return;
    *said = real_from_bits(real_bits(*said) | (stuck & often & mask_splat(IK_STALLED)));
    stuck &= ~ends;
    dls_aside(plan, c, stuck & better, ends & ~better);
    *best = real_select(stuck & better, strict, *best);
    if (mask_any(stuck)) dls_shake(plan, bundle, g, stuck);
}

/* ---- a step */

/* Whether some solves of a step are not its last. */
ik_inline int dls_may_wait(const ik_plan *plan) { return plan->limited || plan->slides || plan->inside; }

ik_inline void dls_conclude(const ik_plan *plan, real *bundle, int g, mask waits, dls_outlook o, dls_shape shape) {
    columns c = columns_of_bundle(bundle, g);
    dls_error e = dls_measure(plan, c, DLS_TRIAL, NULL, 1, shape);
    real gained = o.before - e.square;
    mask better = mask_less(real_splat(0), gained), accept = ~waits;
    if (plan->job->options.damping == 0) {
        accept &= better;
        dls_adapt(plan, c, waits, better, gained / real_max(o.before - o.foreseen, real_splat(SMALLEST)));
    }
    if (!shape.plain && plan->levels > 1) dls_be_strict(plan, c, ~(waits | accept) & mask_less(e.strict, o.strict));
    real *error = column(c, ERROR);
    *error = real_select(accept, e.largest, *error);
    dls_accept(plan, c, accept);
    if (!shape.plain && plan->slides) dls_accept_slides(plan, c, accept);
    if (!shape.plain && dls_may_wait(plan)) {
        real *iterations = column(c, ITERATIONS);
        dls_release(plan, c, ~waits);
        *iterations = real_select(waits, *iterations - real_splat(1), *iterations);
    }
    if (plan->job->options.textbook) return;
    real square = real_select(accept, e.square, o.before), strict = square;
    if (!shape.plain && plan->levels > 1) strict = real_select(accept, e.strict, o.strict);
    dls_watch(plan, bundle, g, waits, square, strict, o);
}

ik_inline void dls_pass(const ik_plan *plan, real *bundle, int groups, dls_shape shape) {
    dls_outlook outlook[GROUPS];
    mask waits[GROUPS] = {mask_splat(0)};
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        if (shape.plain) {
            outlook[g] = dls_solve_plain(plan, c);
            outlook[g].pull = dls_shorten(plan, c, outlook[g].pull);
            continue;
        }
        outlook[g] = dls_solve(plan, c);
        dls_turns(plan, c);
        if (plan->limited || plan->slides) waits[g] = dls_hold(plan, c);
        if (plan->inside) waits[g] |= ~waits[g] & dls_reconsider(plan, c, column(c, dls_rows(plan)));
    }
    dls_try(plan, bundle, groups, outlook, shape);
    for (int g = 0; g < groups; g++)
        dls_conclude(plan, bundle, g, waits[g], outlook[g], shape);
}

/* The compiler unrolls the whole bundle. */
static void dls_plain_step(const ik_plan *plan, real *bundle, int groups) {
    if (groups == GROUPS)
        dls_pass(plan, bundle, GROUPS, (dls_shape){1});
    else
        dls_pass(plan, bundle, 1, (dls_shape){1});
}
static void dls_step(const ik_plan *plan, real *bundle, int groups) { dls_pass(plan, bundle, groups, (dls_shape){0}); }

/* ---- the method */

static vec3 dls_load_slid(const ik_plan *plan, group at, const pose *start, int k) {
    if (!plan->nodes[k].slides) return vec3_splat(0, 0, 0);
    vec3 offset = vec3_of(plan->job->skeleton->offsets + 3 * (ptrdiff_t)plan->nodes[k].joint);
    return vec3_scale(start->scale, vec3_sub(solve_slid(plan, k, solve_offset(plan, at, k)), offset));
}

static void dls_load_posture(const ik_plan *plan, group at, int k, columns record) {
    const real zero = real_splat(0), one = real_splat(1);
    const ik_node *node = &plan->nodes[k];
    real share = zero;
    quat wanted = quat_identity();
    if (node->posture >= 0) {
        share = solve_weight(&plan->job->goals[node->posture].weight, at);
        share = real_select(mask_less(one, share), one, share);
        wanted = quat_select(mask_equal(share, zero), wanted, solve_posture(plan, at, k));
    }
    column_set_quat(record, dls_posture(plan, node->slot), wanted);
    *column(record, dls_posture(plan, node->slot) + 4) = share;
}

/* The pose that comes in, made legal. */
static void dls_load_pose(const ik_plan *plan, group at, const pose *start, columns record) {
    int base = 0;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], parent = plan->nodes[k].parent;
        quat above = parent < 0 ? quat_identity() : start->rotations[parent], rotation = start->rotations[k];
        vec3 position = start->positions[k];
        if (plan->rests) {
            if (!plan->nodes[k].moves) column_set_quat(record, dls_above(plan, base++), above);
            quat local = quat_multiply(quat_conjugate(above), rotation);
            if (plan->nodes[k].moves) {
                int slot_above = plan->nodes[parent].slot;
                quat turned = column_quat(record, dls_rotation(slot_above));
                vec3 bone = quat_rotate(quat_conjugate(above), vec3_sub(position, start->positions[parent]));
                position = vec3_add(column_vec3(record, dls_position(plan, slot_above)), quat_rotate(turned, bone));
                above = turned;
            }
            if (plan->nodes[k].turns) local = quat_unit(solve_allowed(plan, k, local));
            rotation = quat_unit(quat_multiply(above, local));
            *column(record, dls_angle(plan, slot)) =
                dls_is_hinge(plan, k) ? dls_angle_of(plan, k, local) : real_splat(0);
        }
        if (plan->slides) column_set_vec3(record, dls_slid(plan, slot), dls_load_slid(plan, at, start, k));
        if (plan->postures) dls_load_posture(plan, at, k, record);
        column_set_quat(record, dls_rotation(slot), rotation);
        column_set_vec3(record, dls_position(plan, slot), position);
    }
}

/* A target that is far away, nearer: squares of it must be numbers. */
static void dls_tame(const ik_task *task, task_wanted *wanted, real reach) {
    real most = real_splat(SOLVE_FAR * SOLVE_FAR) * real_select(mask_equal(reach, real_splat(0)), real_splat(1), reach);
    if (task->kind == IK_TURN) return;
    if (task->kind != IK_INSIDE) {
        direction off = vec3_direction_of_any(wanted->place);
        wanted->place = vec3_select(mask_less(most, off.length), vec3_scale(most, off.unit), wanted->place);
    }
    real number = real_select(mask_less(most, wanted->number), most, wanted->number);
    wanted->number = real_select(mask_less(number, -most), -most, number);
}

/* What is seen from another joint, as seen from the product of rotations there. */
static void dls_see_product(const pose *start, const ik_task *task, task_wanted *wanted) {
    quat back = quat_conjugate(solve_apart(start, task->other));
    if (task->kind == IK_PLACE) wanted->place = quat_rotate(back, wanted->place);
    if (task->kind == IK_TURN)
        wanted->rotation = quat_multiply(quat_multiply(back, wanted->rotation), solve_apart(start, task->node));
}

/* What a task wants that is neither a place nor a rotation in the world, and the distance or angle that counts as
 * reached. */
static real dls_load_any(const ik_plan *plan, group at, const pose *start, const ik_task *task, task_wanted *wanted,
                         real *weight) {
    const ik_options *options = &plan->job->options;
    *wanted = solve_wanted(plan, at, start, task, weight);
    if (start->scaled && task->other >= 0) dls_see_product(start, task, wanted);
    dls_tame(task, wanted, start->reach);
    if (task_is_angle(task)) return real_splat(solve_within(plan, options->rotation_tolerance));
    return real_splat(solve_within(plan, options->tolerance)) * solve_task_reach(plan, start, task);
}

static void dls_set_wanted(columns record, int at, const ik_task *task, const task_wanted *wanted) {
    quat all = {wanted->place.x, {wanted->place.y, wanted->place.z, wanted->number}};
    column_set_quat(record, at, task->kind == IK_TURN ? wanted->rotation : all);
}

static void dls_load_task(const ik_plan *plan, group at, const pose *start, int task, columns record) {
    const ik_task *t = &plan->tasks[task];
    int to = dls_task(plan, task), slot = t->node < 0 ? -1 : plan->nodes[t->node].slot;
    real weight, most = *column(record, TOLERANCE), own;
    if (!dls_is_simple(t)) {
        task_wanted wanted;
        own = dls_load_any(plan, at, start, t, &wanted, &weight);
        dls_set_wanted(record, to + DLS_TARGET, t, &wanted);
    } else if (t->kind == IK_TURN) {
        quat now = column_quat(record, dls_rotation(slot));
        column_set_quat(record, to + DLS_TARGET, solve_target_rotation(plan, at, t->node, now, &weight));
        own = real_splat(solve_within(plan, plan->job->options.rotation_tolerance));
    } else {
        vec3 now = column_vec3(record, dls_position(plan, slot));
        column_set_quat(record, to + DLS_TARGET, (quat){real_splat(0), now});
        real reach = solve_reach(plan, start, t->node).sum;
        vec3 target = solve_target(plan, at, start, t->node, now, &weight);
        column_set_vec3(record, to + DLS_TARGET, solve_nearer(plan, start, t->node, target));
        own = real_splat(solve_within(plan, plan->job->options.tolerance)) * reach;
        own = real_select(mask_equal(reach, real_splat(0)), most, own);
    }
    const real zero = real_splat(0);
    mask counts = ~mask_equal(weight, zero);
    weight = weight / (t->level ? solve_heaviest(plan, at, t->level) : start->heaviest);
    real unit = most / real_max(own, real_splat(SMALLEST) + most * real_splat(EPSILON));
    *column(record, to + DLS_WEIGHT) = real_select(counts, real_sqrt(weight), zero);
    *column(record, to + DLS_UNIT) = real_select(counts, unit, zero);
}

/* One chain of joints that turn freely, and one place to reach. */
static int dls_is_plain(const ik_plan *plan) {
    if (plan->task_count != 1 || !dls_is_simple(plan->tasks) || plan->tasks[0].kind != IK_PLACE) return 0;
    if (plan->rigid || plan->limited || plan->slides || plan->postures) return 0;
    for (int k = 0; k < plan->count; k++)
        if (plan->nodes[k].turns && dls_axes(plan, k)) return 0;
    return plan->job->options.posture == 0;
}

/* A plain chain is laid towards a target out of its reach, and its end is the target from now on: all bones forwards,
 * or where the target is too near, all but a longest one backwards. */
static void dls_answer(const ik_plan *plan, const pose *start, columns record) {
    const real one = real_splat(1);
    int end = plan->tasks[0].node, base = solve_base(plan, end), target = dls_task(plan, 0) + DLS_TARGET;
    chain_reach reach = solve_reach(plan, start, end);
    vec3 tip = start->positions[base], along = vec3_direction(vec3_sub(start->positions[end], tip)).unit;
    direction to_target = vec3_direction_of_any(vec3_sub(column_vec3(record, target), tip));
    mask near = mask_less(to_target.length, chain_inner(reach)), out = near | mask_less(reach.sum, to_target.length);
    if (!mask_any(out)) return;
    mask apart = mask_less(real_splat(TINY_SINE) * reach.sum, to_target.length), waiting = near;
    vec3 line = vec3_select(apart, to_target.unit, along);
    quat turn = quat_identity();
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], child = plan->nodes[k].child, rotation = dls_rotation(slot);
        int position = dls_position(plan, slot);
        column_set_vec3(record, position, vec3_select(out, tip, column_vec3(record, position)));
        if (child < 0) break;
        vec3 bone = quat_rotate(turn, solve_bone(plan, start, child));
        real length = vec3_length(solve_bone(plan, start, child));
        mask longest = waiting & ~mask_less(length, reach.longest);
        real way = real_select(near & ~longest, -one, one);
        waiting &= ~longest;
        turn = quat_multiply(quat_shortest_arc(bone, vec3_scale(way, line), vec3_perpendicular(line)), turn);
        quat before = column_quat(record, rotation);
        column_set_quat(record, rotation, quat_select(out, quat_multiply(turn, before), before));
        tip = vec3_add(tip, vec3_scale(way * length, line));
    }
    column_set_vec3(record, target, vec3_select(out, tip, column_vec3(record, target)));
}

static void dls_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    const real zero = real_splat(0);
    const ik_options *options = &plan->job->options;
    dls_load_pose(plan, at, start, record);
    real bone = solve_mean_bone(plan, start), damping = real_splat((number)options->damping) * bone;
    *column(record, dls_state(plan, DLS_BONE)) = bone;
    *column(record, dls_state(plan, DLS_DAMPING)) = options->damping > 0 ? damping * damping : real_splat(-1);
    *column(record, dls_state(plan, DLS_GROWTH)) = real_splat(2);
    *column(record, dls_state(plan, DLS_LEVEL)) = real_splat(DLS_LEVEL_FIRST);
    *column(record, dls_state(plan, DLS_BEST)) = *column(record, dls_state(plan, DLS_LEAST)) = real_splat(LARGEST);
    *column(record, dls_state(plan, DLS_IDLE)) = *column(record, dls_state(plan, DLS_SHAKEN)) = zero;
    real *most = column(record, TOLERANCE);
    real turned = real_splat(solve_within(plan, options->rotation_tolerance));
    *most = real_max(real_select(mask_equal(start->reach + *most, zero), turned, *most), real_splat(SMALLEST));
    for (int t = 0; t < plan->task_count; t++)
        dls_load_task(plan, at, start, t, record);
    if (dls_is_plain(plan) && !options->textbook) dls_answer(plan, start, record);
    *column(record, ERROR) = dls_measure(plan, record, DLS_POSE, NULL, 1, (dls_shape){0}).largest;
}

static void dls_place(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local) {
    const ik_node *node = &plan->nodes[k];
    quat above = node->parent < 0 ? quat_identity() : world->rotations[node->parent];
    (void)at;
    if (node->turns)
        local->rotation =
            quat_unit(quat_multiply(quat_conjugate(above), column_quat(record, dls_rotation(node->slot))));
    if (!node->slides) return;
    vec3 offset = vec3_of(plan->job->skeleton->offsets + 3 * (ptrdiff_t)node->joint);
    vec3 slid = column_vec3(record, dls_slid(plan, node->slot));
    local->translation = vec3_add(offset, vec3_scale(*column(record, UNSCALE), slid));
}

static const method dls_plain = {dls_size, dls_begin, dls_plain_step, dls_place};
static const method dls_any = {dls_size, dls_begin, dls_step, dls_place};

static const method *dls_method(const ik_plan *plan) { return dls_is_plain(plan) ? &dls_plain : &dls_any; }

SOLVE_METHOD(dls)
