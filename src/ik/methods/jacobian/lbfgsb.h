/* Limited-memory BFGS within bounds. D. C. Liu, J. Nocedal, "On the limited memory BFGS method for large scale
 * optimization", Mathematical Programming 45 (1989); bounds as in D. P. Bertsekas, "Projected Newton methods for
 * optimization problems with simple constraints", SIAM J. Control and Optimization 20 (1982).
 *
 * Idea. The squared error falls fastest along the pulls g = J^T e. One sweep from the tips to the root computes them as
 * the force and torque on each joint. The changes of the pulls between steps contain the curvature. The last `memory`
 * steps s, and the decreases y of the pulls over them, give a quasi-Newton direction without a matrix. If the memory
 * holds all steps, this is BFGS.
 *
 *   coordinates  the angle of a hinge, and small rotations of a ball joint about its own axes, relative to its current
 *                rotation. This chart moves with the joint, and old steps keep their components in it. Stiffness scales
 *                them by the root of W. A joint seen by n tasks is scaled by 1 / sqrt(n); otherwise a spine, which
 * moves all ends of a body, would dominate the first steps. `textbook` has plain angles.
 *
 *   bounds       a direction is closed if the pull would take the joint out of its limit along it. There the joint
 *                follows its pull alone, and the memory works in the open subspace. Then every joint is projected onto
 *                its limit. A bound is therefore met exactly, and left as soon as the pull points inwards.
 *
 *   length       1. If the error does not fall by a share of the predicted decrease (Armijo), the pose is kept. The
 * next iteration tries the shorter length at the minimum of a parabola. Each trial is an iteration.
 *
 *   scale        of the direction in which the memory has no data: the optimal length along the pulls for linear
 * motion, as in transpose.h. The published scale, from the last pair, takes a seventh more iterations.
 *
 * Pairs over which the pulls grew are ignored: only positive curvature gives a descent direction. L-BFGS-B by Byrd, Lu,
 * Nocedal and Zhu (1995) has the same bounds, but finds the active ones along a projected path. */

/* Rotation, in radians, that tests whether a bound is active. */
#define LBFGSB_NEAR (number)1e-3
/* Share of the predicted decrease that suffices; and the step length below which the memory is discarded. */
#define LBFGSB_ENOUGH (number)1e-4
#define LBFGSB_FORGET (number)0.1

/* Columns of an item, three numbers per slot each: the previous pulls, the step after them, then the pairs, the latest
 * first. DLS_DAMPING is the trial length: 1 after an accepted step, negative at the start. */
enum lbfgsb_vector { LBFGSB_PULL, LBFGSB_STEP, LBFGSB_PAIR };

ik_inline int lbfgsb_vector(const ik_plan *plan, int vector, int slot) {
    return joint_columns(plan) + DLS_STATE + 3 * (vector * plan->slots + slot);
}
ik_inline int lbfgsb_end(const ik_plan *plan) {
    return lbfgsb_vector(plan, LBFGSB_PAIR + 2 * plan->job->options.memory, 0);
}
ik_inline int lbfgsb_s(int pair) { return LBFGSB_PAIR + 2 * pair; }
ik_inline int lbfgsb_y(int pair) { return LBFGSB_PAIR + 2 * pair + 1; }

/* Columns of a step: forces below a joint; the pulls; each joint's closed direction, of length 1 or 0; and the search
 * direction. All but the forces are in coordinates. */
enum lbfgsb_work { LBFGSB_FORCE, LBFGSB_NOW, LBFGSB_CLOSED, LBFGSB_TOWARDS, LBFGSB_WORK };

ik_inline int lbfgsb_work(const ik_plan *plan, enum lbfgsb_work what, int slot) {
    return rows_columns(plan) + 3 * (what * plan->slots + slot);
}

/* After those: the unit of a joint's coordinates in radians; for each pair the reciprocal of its product, and its
 * coefficient. */
ik_inline int lbfgsb_unit(const ik_plan *plan, int slot) { return lbfgsb_work(plan, LBFGSB_WORK, 0) + slot; }
ik_inline int lbfgsb_over_of(const ik_plan *plan, int pair) { return lbfgsb_unit(plan, plan->slots) + 2 * pair; }

/* ---- pulls */

/* Accumulates the forces below each joint as a torque about it, from the tips to the root. */
static void lbfgsb_sweep(const ik_plan *plan, columns c) {
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        if (!node->moves) continue;
        const int above = plan->nodes[node->parent].slot;
        vec3 force = column_vec3(c, lbfgsb_work(plan, LBFGSB_FORCE, slot));
        vec3 arm = vec3_sub(column_vec3(c, joint_position(plan, slot)), column_vec3(c, joint_position(plan, above)));
        rows_add(c, lbfgsb_work(plan, LBFGSB_FORCE, above), force);
        rows_add(c, step_own(plan, above), vec3_add(column_vec3(c, step_own(plan, slot)), vec3_cross(arm, force)));
    }
}

/* Writes J^T e to the own rotations, in world axes. */
static void lbfgsb_pull(const ik_plan *plan, columns c, const real *rows, int step) {
    for (int slot = 0; slot < plan->slots; slot++) {
        column_set_vec3(c, step_own(plan, slot), vec3_splat(0, 0, 0));
        column_set_vec3(c, lbfgsb_work(plan, LBFGSB_FORCE, slot), vec3_splat(0, 0, 0));
    }
    for (int simple = 1; simple >= 0; simple--) {
        for (int t = 0; t < plan->task_count; t++) {
            const ik_task *task = &plan->tasks[t];
            if (joint_task_is_simple(task) != simple) continue;
            vec3 row = vec3_scale(rows_scale(plan, c, t), rows_at(rows, step, task->row, ik_task_rows(task)));
            if (!simple) {
                rows_pull_any(plan, c, t, row);
                continue;
            }
            const int slot = plan->nodes[task->node].slot;
            rows_add(c, task->kind == IK_TURN ? step_own(plan, slot) : lbfgsb_work(plan, LBFGSB_FORCE, slot), row);
        }
        if (simple) lbfgsb_sweep(plan, c);
    }
}

/* ---- coordinates */

/* Sets the units: one over the root of the number of tasks that see a joint. All lanes are equal. */
ik_outline void lbfgsb_choose_units(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        int seen = 0;
        for (int t = 0; t < plan->task_count && !plan->job->options.textbook; t++)
            seen += task_side(plan, t, slot) != 0;
        *column(c, lbfgsb_unit(plan, slot)) = real_splat(1) / real_sqrt(real_splat((number)(seen ? seen : 1)));
    }
}

ik_inline real lbfgsb_scale(const ik_plan *plan, columns c, int k, int axis) {
    return *column(c, lbfgsb_unit(plan, plan->nodes[k].slot)) * real_sqrt(rows_willing(plan, c, k, axis));
}

/* Transforms from world axes to the coordinates of a joint. Pulls are multiplied by the mobility's root, rotations
 * divided by it. */
static vec3 lbfgsb_inwards(const ik_plan *plan, columns c, int k, vec3 v, int is_turn) {
    const int slot = plan->nodes[k].slot, axes = plan->nodes[k].axes;
    real x[3] = {real_splat(0), real_splat(0), real_splat(0)};
    if (!axes) {
        real unit = *column(c, lbfgsb_unit(plan, slot));
        v = vec3_scale(is_turn ? real_splat(1) / unit : unit, v);
        return quat_rotate(quat_conjugate(column_quat(c, joint_rotation(slot))), v);
    }
    for (int i = 0; i < axes; i++) {
        real scale = lbfgsb_scale(plan, c, k, i), along = vec3_dot(column_vec3(c, step_axis(plan, slot) + 3 * i), v);
        mask some = mask_less(real_splat(0), scale);
        real over = is_turn ? real_splat(1) / real_select(some, scale, real_splat(1)) : scale;
        x[i] = real_select(some, along * over, real_splat(0));
    }
    return (vec3){x[0], x[1], x[2]};
}

/* The inverse transform: a joint's own rotation (turns.h). */
static vec3 lbfgsb_outwards(const ik_plan *plan, columns c, int k, vec3 x) {
    const int slot = plan->nodes[k].slot, axes = plan->nodes[k].axes;
    const real along[3] = {x.x, x.y, x.z};
    vec3 sum = vec3_splat(0, 0, 0);
    x = axes ? x : vec3_scale(*column(c, lbfgsb_unit(plan, slot)), x);
    if (!axes) return quat_rotate(column_quat(c, joint_rotation(slot)), x);
    if (axes == 1) return (vec3){lbfgsb_scale(plan, c, k, 0) * x.x, real_splat(0), real_splat(0)};
    for (int i = 0; i < axes; i++) {
        vec3 axis = column_vec3(c, step_axis(plan, slot) + 3 * i);
        sum = vec3_add(sum, vec3_scale(lbfgsb_scale(plan, c, k, i) * along[i], axis));
    }
    return sum;
}

/* ---- bounds */

/* The closed direction of a joint: the part of a small rotation along its pull that its limit removes. */
static vec3 lbfgsb_closed(const ik_plan *plan, columns c, int k, vec3 pull) {
    if (!joint_is_limited(plan, k)) return vec3_splat(0, 0, 0);
    vec3 turn = lbfgsb_outwards(plan, c, k, pull);
    turn = vec3_scale(real_splat(LBFGSB_NEAR) / (vec3_length(turn) + real_splat(TINY_LENGTH)), turn);
    vec3 allowed = turn;
    mask over = IK_NAME(turns_allow)(plan, c, k, &allowed);
    vec3 off = turns_vector(plan, c, k, vec3_sub(turn, allowed));
    off = vec3_direction(lbfgsb_inwards(plan, c, k, off, 0)).unit;
    return vec3_select(over, off, vec3_splat(0, 0, 0));
}

/* The component of a vector outside the closed direction. */
ik_inline vec3 lbfgsb_open(const ik_plan *plan, columns c, int slot, vec3 v) {
    if (!plan->limited) return v;
    vec3 closed = column_vec3(c, lbfgsb_work(plan, LBFGSB_CLOSED, slot));
    return vec3_sub(v, vec3_scale(vec3_dot(closed, v), closed));
}

ik_inline vec3 lbfgsb_open_of(const ik_plan *plan, columns c, int vector, int slot) {
    return lbfgsb_open(plan, c, slot, column_vec3(c, lbfgsb_vector(plan, vector, slot)));
}

/* ---- the direction */

/* Stores the last step and the decrease of the pulls over it. In lanes that restart, the memory is cleared. */
static void lbfgsb_remember(const ik_plan *plan, columns c, mask taken, mask anew) {
    const vec3 none = vec3_splat(0, 0, 0);
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 now = column_vec3(c, lbfgsb_work(plan, LBFGSB_NOW, slot));
        vec3 s = column_vec3(c, lbfgsb_vector(plan, LBFGSB_STEP, slot));
        vec3 y = vec3_sub(column_vec3(c, lbfgsb_vector(plan, LBFGSB_PULL, slot)), now);
        column_set_vec3(c, lbfgsb_vector(plan, LBFGSB_PULL, slot), now);
        for (int pair = 0; pair < plan->job->options.memory; pair++) {
            const int at_s = lbfgsb_vector(plan, lbfgsb_s(pair), slot),
                      at_y = lbfgsb_vector(plan, lbfgsb_y(pair), slot);
            vec3 was_s = column_vec3(c, at_s), was_y = column_vec3(c, at_y);
            column_set_vec3(c, at_s, vec3_select(anew, none, vec3_select(taken, s, was_s)));
            column_set_vec3(c, at_y, vec3_select(anew, none, vec3_select(taken, y, was_y)));
            s = was_s, y = was_y;
        }
    }
}

/* Dot product of a vector with the search direction in the open subspace. */
static real lbfgsb_along(const ik_plan *plan, columns c, int vector) {
    real sum = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 towards = column_vec3(c, lbfgsb_work(plan, LBFGSB_TOWARDS, slot));
        sum = sum + vec3_dot(lbfgsb_open_of(plan, c, vector, slot), towards);
    }
    return sum;
}

/* 1 / (s . y) of a pair in the open subspace; 0 if the pulls grew over it, or fell by no more than round-off. */
static real lbfgsb_over(const ik_plan *plan, columns c, int pair) {
    const real zero = real_splat(0), one = real_splat(1);
    real fell = zero, square = zero;
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 y = lbfgsb_open_of(plan, c, lbfgsb_y(pair), slot);
        fell = fell + vec3_dot(column_vec3(c, lbfgsb_vector(plan, lbfgsb_s(pair), slot)), y);
        square = square + vec3_dot(y, y);
    }
    mask counts = mask_less(real_splat(EPSILON) * square + real_splat(SMALLEST), fell);
    return real_select(counts, one / real_select(counts, fell, one), zero);
}

/* Adds a multiple of a vector to the search direction. */
static void lbfgsb_add(const ik_plan *plan, columns c, real much, int vector) {
    for (int slot = 0; slot < plan->slots; slot++)
        rows_add(c, lbfgsb_work(plan, LBFGSB_TOWARDS, slot), vec3_scale(much, lbfgsb_open_of(plan, c, vector, slot)));
}

/* The two-loop recursion over all pairs, on the open pulls. `scale` is the step length without a memory. */
static void lbfgsb_direct(const ik_plan *plan, columns c, real scale) {
    const int pairs = plan->job->options.memory;
    for (int pair = 0; pair < pairs; pair++) {
        real *of = column(c, lbfgsb_over_of(plan, pair));
        of[0] = lbfgsb_over(plan, c, pair);
        of[c.step] = of[0] * lbfgsb_along(plan, c, lbfgsb_s(pair));
        lbfgsb_add(plan, c, -of[c.step], lbfgsb_y(pair));
    }
    for (int slot = 0; slot < plan->slots; slot++) {
        const int at = lbfgsb_work(plan, LBFGSB_TOWARDS, slot);
        column_set_vec3(c, at, vec3_scale(scale, column_vec3(c, at)));
    }
    for (int pair = pairs - 1; pair >= 0; pair--) {
        const real *of = column(c, lbfgsb_over_of(plan, pair));
        real back = of[0] * lbfgsb_along(plan, c, lbfgsb_y(pair));
        lbfgsb_add(plan, c, of[c.step] - back, lbfgsb_s(pair));
    }
}

/* ---- a step */

/* Computes the pulls in coordinates, the closed directions, and the open part of the pulls. */
static void lbfgsb_look(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        vec3 pull = vec3_splat(0, 0, 0), closed = pull;
        if (plan->nodes[k].turns) {
            pull = lbfgsb_inwards(plan, c, k, column_vec3(c, step_own(plan, slot)), 0);
            closed = lbfgsb_closed(plan, c, k, pull);
        }
        column_set_vec3(c, lbfgsb_work(plan, LBFGSB_NOW, slot), pull);
        column_set_vec3(c, lbfgsb_work(plan, LBFGSB_CLOSED, slot), closed);
        column_set_vec3(c, lbfgsb_work(plan, LBFGSB_TOWARDS, slot), lbfgsb_open(plan, c, slot, pull));
    }
}

/* Converts the search direction to own rotations. */
static void lbfgsb_turn(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        vec3 towards = column_vec3(c, lbfgsb_work(plan, LBFGSB_TOWARDS, slot));
        if (plan->nodes[k].turns) column_set_vec3(c, step_own(plan, slot), lbfgsb_outwards(plan, c, k, towards));
    }
}

/* The optimal step length along the open pulls for linear motion, and the decrease of the squared error. */
static real lbfgsb_linear(const ik_plan *plan, columns c, real *gain) {
    const rows_moves moves = {step_own, NULL};
    real seen = real_splat(0), square = real_splat(0);
    lbfgsb_turn(plan, c);
    for (int t = 0; t < plan->task_count; t++) {
        vec3 row = vec3_scale(rows_scale(plan, c, t), rows_seen(plan, c, t, moves));
        seen = seen + vec3_dot(row, row);
    }
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 towards = column_vec3(c, lbfgsb_work(plan, LBFGSB_TOWARDS, slot));
        square = square + vec3_dot(towards, towards);
    }
    mask some = mask_less(real_splat(SMALLEST), seen);
    real length = real_select(some, square / real_select(some, seen, real_splat(1)), real_splat(0));
    *gain = length * square;
    return length;
}

/* Adds the pull along closed directions, which takes joints exactly to their limits. */
static void lbfgsb_add_closed(const ik_plan *plan, columns c, real scale) {
    for (int slot = 0; slot < plan->slots && plan->limited; slot++) {
        vec3 closed = column_vec3(c, lbfgsb_work(plan, LBFGSB_CLOSED, slot));
        real along = vec3_dot(closed, column_vec3(c, lbfgsb_work(plan, LBFGSB_NOW, slot)));
        rows_add(c, lbfgsb_work(plan, LBFGSB_TOWARDS, slot), vec3_scale(scale * along, closed));
    }
}

/* The trial rotations: scaled down as a whole, then projected onto limits. Returns the decrease that the pulls
 * predict. */
static real lbfgsb_try(const ik_plan *plan, columns c, real length) {
    const real one = real_splat(1), most = real_splat((number)plan->job->options.max_step);
    real largest = real_splat(0), promised = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++)
        largest = real_max(vec3_length(column_vec3(c, step_own(plan, slot))), largest);
    length = length * real_min(one, most / (largest + real_splat(TINY_LENGTH)));
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        vec3 turn = vec3_scale(length, column_vec3(c, step_own(plan, slot))), step = vec3_splat(0, 0, 0);
        if (plan->nodes[k].turns) {
            IK_NAME(turns_allow)(plan, c, k, &turn);
            step = lbfgsb_inwards(plan, c, k, turns_vector(plan, c, k, turn), 1);
        }
        column_set_vec3(c, step_own(plan, slot), turn);
        column_set_vec3(c, lbfgsb_vector(plan, LBFGSB_STEP, slot), step);
        promised = promised + vec3_dot(step, column_vec3(c, lbfgsb_work(plan, LBFGSB_NOW, slot)));
    }
    return promised;
}

typedef struct {
    dls_outlook outlook;
    real promised; /* half of the predicted decrease of the squared error */
} lbfgsb_trial;

static lbfgsb_trial lbfgsb_solve(const ik_plan *plan, columns c) {
    rows_system s = rows_system_of(plan, c);
    const real zero = real_splat(0), one = real_splat(1), length = *column(c, dls_state(plan, DLS_DAMPING));
    mask anew = mask_less(length, zero), taken = mask_equal(length, one),
         forgets = mask_less(length, real_splat(LBFGSB_FORGET));
    real gain;
    IK_NAME(turns_start)(plan, c);
    rows_start(plan, c);
    errors now = IK_NAME(errors_measure)(plan, c, IN_POSE, one, s.y, s.step);
    lbfgsb_pull(plan, c, s.y, s.step);
    lbfgsb_choose_units(plan, c);
    lbfgsb_look(plan, c);
    real scale = lbfgsb_linear(plan, c, &gain);
    lbfgsb_remember(plan, c, taken, forgets);
    lbfgsb_direct(plan, c, scale);
    lbfgsb_add_closed(plan, c, scale);
    lbfgsb_turn(plan, c);
    real promised = lbfgsb_try(plan, c, real_select(anew, one, length));
    return (lbfgsb_trial){{now, now.square - gain}, promised};
}

/* The step length for the next iteration: 1, or the minimum of a parabola. */
static void lbfgsb_adapt(const ik_plan *plan, columns c, mask better, real promised, real fell) {
    const real one = real_splat(1), half = real_splat((number)0.5), tenth = real_splat((number)0.1);
    real *length = column(c, dls_state(plan, DLS_DAMPING));
    real was = real_select(mask_less(*length, real_splat(0)), one, *length);
    real bent = promised - half * fell;
    mask some = mask_less(real_splat(SMALLEST), bent);
    real share = real_select(some, half * promised / real_select(some, bent, one), half);
    *length = real_select(better, one, was * real_max(tenth, real_min(half, share)));
}

static void lbfgsb_conclude(const ik_plan *plan, real *bundle, int g, lbfgsb_trial trial, errors e) {
    columns c = columns_of_bundle(bundle, g);
    errors now = trial.outlook.now;
    real *error = column(c, ERROR), fell = now.square - e.square, zero = real_splat(0);
    mask better = mask_less(real_splat(2 * LBFGSB_ENOUGH) * real_max(trial.promised, zero), fell);
    lbfgsb_adapt(plan, c, better, trial.promised, fell);
    *error = real_select(better, e.largest, *error);
    IK_NAME(turns_accept)(plan, c, better);
    rows_release(plan, c, ~mask_splat(0));
    if (plan->job->options.textbook) return;
    e.square = real_select(better, e.square, now.square);
    e.strict = real_select(better, e.strict, now.strict);
    dls_watch(plan, bundle, g, mask_splat(0), e, &trial.outlook);
}

static void lbfgsb_step(const ik_plan *plan, real *bundle, int groups) {
    lbfgsb_trial trial[GROUPS];
    for (int g = 0; g < groups; g++)
        trial[g] = lbfgsb_solve(plan, columns_of_bundle(bundle, g));
    IK_NAME(turns_try)(plan, bundle, groups, 0, plan->slots);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        errors e = IK_NAME(errors_measure)(plan, c, AFTER_STEP, real_splat(1), NULL, 1);
        lbfgsb_conclude(plan, bundle, g, trial[g], e);
    }
}

static record_size lbfgsb_size(const ik_plan *plan) {
    return (record_size){lbfgsb_end(plan), joint_results(plan),
                         lbfgsb_over_of(plan, plan->job->options.memory) - plan->work};
}

static const method lbfgsb_any = {lbfgsb_size, dls_begin, lbfgsb_step, IK_NAME(joint_place), 1};
static const method *lbfgsb_method(const ik_plan *plan) { return (void)plan, &lbfgsb_any; }

SOLVE_METHOD(lbfgsb)
