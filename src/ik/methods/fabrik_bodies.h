/* FABRIK with bodies: for limits, trees, and rotations that are given. A. Aristidou, Y. Chrysanthou, J. Lasenby,
 * "Extending FABRIK with model constraints", Computer Animation and Virtual Worlds 27 (2016); on limits, differently.
 *
 * Idea. A point does not know how its joint is turned, so every joint that turns is a rigid body: S[j] is its turn
 * since the step began, and b[c] the bone from it to a child as it was then. What does not turn is a part of the body
 * that carries it.
 *
 *   backward   S[j] turns by the shortest arc so that S[j] b[c] points from p[j] to p[c]; several children are fitted
 *              like the points of a rigid body. It is then brought to where the limit of an only child allows it, the
 *              child staying, and
 *              p[j] <- sum of share[c] (p[c] - S[j] b[c]), by the goals below each child
 *   forward    p[c] <- p[j] + S[j] b[c]; S[c] turns towards its own children, a hinge about its axis, and then into its
 *              limit. What slides does so as near as it may to where the backward pass has what it takes along
 *
 * So after the forward pass all bones have their length and all limits hold. A body whose rotation is given starts from
 * that, whatever its children want, and then limits have their say. Of a loop, a distance and a plane each end is drawn
 * to the nearest place that is right, half-way where both ends move. Looks and capsules are left to the finish.
 *
 * Passes come near fast, but creep where limits or goals hold them. So an iteration is either passes or a step of
 * damped least squares (dls.h), the finish (frame/finish.h): passes that leave more than BODIES_LITTLE of the sum
 * of squares leave the pose as it was, and the finish takes over until it is stuck and shakes the joints. Then passes
 * have their turn again. Frames that follow each other start near a solution, from which passes could lead away: there
 * the finish is first. Without a finish every pass is made, and the best of all poses is the result. */

/* A body is fitted to its children and, by this weight, to its own place: that says how a body of two children is
 * turned about the line through them. A fit is so many steps, from the fit before. */
#define BODIES_ANCHOR (number)0.2
enum { BODIES_FIT_STEPS = 2 };

/* Passes that leave more than this share of the sum of squares give way to the finish. */
#define BODIES_LITTLE (number)0.25

/* ---- columns */

/* Of a record: how often joints were shaken when passes last began; the steps of the finish that no iteration has
 * counted yet; what every task counts for in passes; and what all tasks count for that a slot carries. */
ik_inline int bodies_kicks(const ik_plan *plan) { return joint_columns(plan) + FINISH_MOST; }
ik_inline int bodies_made(const ik_plan *plan) { return bodies_kicks(plan) + 1; }
ik_inline int bodies_counts(const ik_plan *plan, int task) { return bodies_kicks(plan) + 2 + task; }
ik_inline int bodies_below(const ik_plan *plan, int slot) { return bodies_counts(plan, plan->task_count) + slot; }

/* Where a step has the ends of tasks drawn to, the own one (1) and that of the other joint (-1), and whether it does.
 */
ik_inline int bodies_drawn(const ik_plan *plan, int task, int side) {
    return bodies_below(plan, plan->slots) + 7 * task + (side < 0 ? 3 : 0);
}
ik_inline int bodies_bites(const ik_plan *plan, int task) { return bodies_drawn(plan, task, 1) + 6; }

/* What finishes; NULL: nothing. */
static const method *bodies_finish(const ik_plan *plan) {
#ifndef IK_NO_JACOBIAN
    if (!plan->job->options.textbook && plan->job->options.finish) return IK_NAME(dls_method)(plan);
#endif
    (void)plan;
    return NULL;
}

static record_size bodies_size(const ik_plan *plan) {
    record_size size = {bodies_drawn(plan, plan->task_count, 1), joint_results(plan), step_columns(plan) - plan->work};
#ifndef IK_NO_JACOBIAN
    size.work = IK_NAME(dls_size)(plan).work;
#endif
    return size;
}

/* ---- what draws at a node */

/* Where ends are drawn to before passes. */
static void bodies_aim(const ik_plan *plan, columns c, int task) {
    const ik_task *t = &plan->tasks[task];
    const real one = real_splat(1), zero = real_splat(0);
    task_wanted wanted = joint_wanted(plan, c, task);
    task_view view = errors_view(plan, c, IN_POSE, t);
    vec3 off = task_miss(t, task_error(plan, t, &wanted, &view)), far = vec3_splat(0, 0, 0);
    real bites = one;
    if (t->kind == IK_INSIDE)
        bites = real_select(mask_less(zero, off.x), one, zero), off = vec3_scale(off.x, wanted.place);
    if (t->kind == IK_DISTANCE) {
        direction apart = vec3_direction_of_any(vec3_sub(view.place, task_end(t, &wanted, &view)));
        off = vec3_scale(off.x, vec3_select(mask_less(zero, apart.length), apart.unit, vec3_splat(1, 0, 0)));
    }
    if (t->other >= 0) far = column_vec3(c, joint_position(plan, plan->nodes[t->other].slot));
    const real share = real_splat(t->moves[0] && t->moves[1] ? (number)0.5 : 1);
    off = vec3_scale(share, off);
    column_set_vec3(c, bodies_drawn(plan, task, 1), vec3_add(view.place, off));
    column_set_vec3(c, bodies_drawn(plan, task, -1), vec3_sub(far, off));
    *column(c, bodies_bites(plan, task)) = bites * *column(c, bodies_counts(plan, task));
}

/* Whether passes draw an end of a task at node k: 1, its own, -1, the other; else 0. */
static int bodies_draws(const ik_plan *plan, int task, int k) {
    const ik_task *t = &plan->tasks[task];
    if (t->kind != IK_PLACE && t->kind != IK_DISTANCE && t->kind != IK_INSIDE) return 0;
    if (t->node == k) return 1;
    return t->other == k && t->moves[1] ? -1 : 0;
}

/* The place of node k between where its children have it, all of which count for `below`, and where its tasks do. */
static vec3 bodies_drawn_place(const ik_plan *plan, columns c, int k, real below, vec3 p) {
    vec3 sum = vec3_scale(below, p);
    real all = below;
    for (int t = 0; t < plan->task_count; t++) {
        const int side = bodies_draws(plan, t, k);
        if (!side) continue;
        const real counts = *column(c, bodies_bites(plan, t));
        sum = vec3_add(sum, vec3_scale(counts, column_vec3(c, bodies_drawn(plan, t, side))));
        all = all + counts;
    }
    const mask none = mask_equal(all, real_splat(0));
    return vec3_select(none, p, vec3_scale(real_splat(1) / real_select(none, real_splat(1), all), sum));
}

/* The rotation that a body is given, itself or a part of it, as a turn since the step began. */
static quat bodies_given(const ik_plan *plan, columns c, int k, quat turn) {
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        if (task->kind != IK_TURN || task->other >= 0) continue;
        if ((plan->nodes[task->node].turns ? task->node : plan->nodes[task->node].owner) != k) continue;
        quat now = column_quat(c, joint_rotation(plan->nodes[task->node].slot));
        quat given = quat_multiply(joint_wanted(plan, c, t).rotation, quat_conjugate(now));
        turn = quat_select(mask_equal(*column(c, bodies_counts(plan, t)), real_splat(0)), turn, given);
    }
    return turn;
}

/* ---- where a body turns */

/* The bone from a body to a child, before the step. */
ik_inline vec3 bodies_bone(const ik_plan *plan, columns c, int k, int child) {
    return vec3_sub(column_vec3(c, joint_position(plan, plan->nodes[child].slot)),
                    column_vec3(c, joint_position(plan, plan->nodes[k].slot)));
}

/* What a child counts for beside its siblings; where none count all do alike. */
ik_inline real bodies_share(const ik_plan *plan, columns c, int k, int child) {
    const ik_node *nodes = plan->nodes;
    real all = real_splat(0), count = all;
    if (nodes[nodes[k].child].sibling < 0) return real_splat(1);
    for (int other = nodes[k].child; other >= 0; other = nodes[other].sibling, count = count + real_splat(1))
        all = all + *column(c, bodies_below(plan, nodes[other].slot));
    mask none = mask_equal(all, real_splat(0));
    real own = real_select(none, real_splat(1), *column(c, bodies_below(plan, nodes[child].slot)));
    return own / real_select(none, count, all);
}

/* A body of several children turned to where they are, about its own place where it `stays`, else about the middle. */
static quat bodies_fit(const ik_plan *plan, columns c, int k, int stays, quat turn) {
    const ik_node *nodes = plan->nodes;
    const vec3 none = vec3_splat(0, 0, 0), place = column_vec3(c, step_place(plan, nodes[k].slot));
    const real anchor = real_splat(BODIES_ANCHOR), all = real_splat(1 / (1 + BODIES_ANCHOR));
    vec3 bone = none, middle = stays ? place : vec3_scale(anchor, place);
    for (int child = nodes[k].child; child >= 0 && !stays; child = nodes[child].sibling) {
        real share = bodies_share(plan, c, k, child);
        bone = vec3_add(bone, vec3_scale(share, bodies_bone(plan, c, k, child)));
        middle = vec3_add(middle, vec3_scale(share, column_vec3(c, step_place(plan, nodes[child].slot))));
    }
    if (!stays) bone = vec3_scale(all, bone), middle = vec3_scale(all, middle);
    vec3 now = quat_rotate(turn, vec3_sub(none, bone));
    pull s = pull_none();
    pull_add(&s, anchor, now, vec3_sub(place, middle));
    for (int child = nodes[k].child; child >= 0; child = nodes[child].sibling) {
        now = quat_rotate(turn, vec3_sub(bodies_bone(plan, c, k, child), bone));
        vec3 to = vec3_sub(column_vec3(c, step_place(plan, nodes[child].slot)), middle);
        pull_add(&s, bodies_share(plan, c, k, child), now, to);
    }
    for (int step = 0; step < BODIES_FIT_STEPS; step++) {
        quat by = pull_turn(&s, now);
        turn = quat_multiply(by, turn);
        s = pull_turned(by, &s);
    }
    return quat_polished(turn);
}

/* A body turned towards its children. */
static quat bodies_towards(const ik_plan *plan, columns c, int k, int stays, quat turn) {
    const int child = plan->nodes[k].child, slot = plan->nodes[k].slot;
    if (child < 0) return turn;
    if (plan->nodes[child].sibling >= 0) return bodies_fit(plan, c, k, stays, turn);
    vec3 to =
        vec3_sub(column_vec3(c, step_place(plan, plan->nodes[child].slot)), column_vec3(c, step_place(plan, slot)));
    vec3 now = quat_rotate(turn, bodies_bone(plan, c, k, child));
    return quat_polished(quat_multiply(pull_turn_by(vec3_cross(now, to), vec3_dot(now, to), now), turn));
}

/* How a node is turned in the middle of a step. */
ik_inline quat bodies_now(const ik_plan *plan, columns c, int k) {
    const int slot = plan->nodes[k].slot;
    return quat_multiply(column_quat(c, step_turn(plan, slot)), column_quat(c, joint_rotation(slot)));
}

/* What a limited joint hangs from turned as the limit allows it, the joint staying. */
static quat bodies_allow_above(const ik_plan *plan, columns c, int child, quat turn) {
    if (!joint_is_limited(plan, child) || !plan->nodes[child].turns) return turn;
    const quat now = bodies_now(plan, c, child), before = joint_parent(plan, c, child);
    quat local = quat_multiply(quat_conjugate(quat_multiply(turn, before)), now);
    quat above = quat_multiply(now, quat_conjugate(solve_allowed(plan, child, local)));
    return quat_polished(quat_multiply(above, quat_conjugate(before)));
}

/* ---- the passes */

static void bodies_backward(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    real below = real_splat(0);
    vec3 p = column_vec3(c, step_place(plan, node->slot)), sum = vec3_splat(0, 0, 0);
    if (node->turns && node->child >= 0) {
        const int only = plan->nodes[node->child].sibling < 0;
        quat turn = bodies_given(plan, c, k, bodies_towards(plan, c, k, 0, quat_identity()));
        if (only) turn = bodies_allow_above(plan, c, node->child, turn);
        column_set_quat(c, step_turn(plan, node->slot), turn);
        for (int child = node->child; child >= 0; child = plan->nodes[child].sibling) {
            vec3 to = column_vec3(c, step_place(plan, plan->nodes[child].slot));
            vec3 at = vec3_sub(to, quat_rotate(turn, bodies_bone(plan, c, k, child)));
            sum = vec3_add(sum, vec3_scale(bodies_share(plan, c, k, child), at));
            below = below + *column(c, bodies_below(plan, plan->nodes[child].slot));
        }
        p = sum;
    }
    if (node->point >= 0 || node->ties) p = bodies_drawn_place(plan, c, k, below, p);
    column_set_vec3(c, step_place(plan, node->slot), p);
}

/* The turn of a hinge about its axis, as what is above has turned, that is best for its children or the rotation that
 * it is given; and its angle. */
static quat bodies_turn_hinge(const ik_plan *plan, columns c, int k, quat above) {
    const ik_node *node = &plan->nodes[k];
    const vec3 axis = quat_rotate(above, column_vec3(c, step_axis(plan, node->slot)));
    const vec3 place = column_vec3(c, step_place(plan, node->slot));
    pull s = pull_none();
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling) {
        vec3 to = vec3_sub(column_vec3(c, step_place(plan, plan->nodes[child].slot)), place);
        pull_add(&s, bodies_share(plan, c, k, child), quat_rotate(above, bodies_bone(plan, c, k, child)), to);
    }
    real angle = turns_hinge_within(plan, c, k, pull_angle_about(&s, axis), real_splat(0));
    *column(c, step_own(plan, node->slot)) = angle;
    return quat_multiply(quat_of_turn((turn){axis, real_splat((number)0.5) * angle}), above);
}

/* A body turned into its limit, as what is above has turned. */
static quat bodies_allow(const ik_plan *plan, columns c, int k, quat above, quat turn) {
    if (!joint_is_limited(plan, k)) return turn;
    const quat before = column_quat(c, joint_rotation(plan->nodes[k].slot));
    above = quat_multiply(above, joint_parent(plan, c, k));
    quat local = quat_multiply(quat_conjugate(above), quat_multiply(turn, before));
    return quat_polished(quat_multiply(quat_multiply(above, solve_allowed(plan, k, local)), quat_conjugate(before)));
}

/* How far what node k takes along as it slides is from where the backward pass has it, on the whole. */
static vec3 bodies_away(const ik_plan *plan, columns c, int k, vec3 place, quat turn) {
    vec3 sum = vec3_splat(0, 0, 0);
    real all = real_splat(TINY_LENGTH);
    for (int slot = plan->nodes[k].slot; slot < plan->slots; slot++) {
        const int part = plan->node_of_slot[slot];
        const ik_node *node = &plan->nodes[part];
        if (node->owner != plan->nodes[k].owner || (!node->turns && node->point < 0 && !node->ties)) continue;
        if (!ik_carries(plan, k, part)) continue;
        vec3 now = vec3_add(place, quat_rotate(turn, bodies_bone(plan, c, k, part)));
        real counts = *column(c, bodies_below(plan, slot));
        sum = vec3_add(sum, vec3_scale(counts, vec3_sub(column_vec3(c, step_place(plan, slot)), now)));
        all = all + counts;
    }
    return vec3_scale(real_splat(1) / all, sum);
}

/* Node k slides, seen from what is above; returns by how much. */
static vec3 bodies_slide(const ik_plan *plan, columns c, int k, vec3 place, quat above) {
    const int slot = plan->nodes[k].slot;
    const quat track = quat_multiply(above, joint_parent(plan, c, k));
    vec3 by = quat_rotate(quat_conjugate(track), bodies_away(plan, c, k, place, above));
    column_set_vec3(c, step_slide(plan, slot), by);
    for (int axis = 0; axis < 3; axis++)
        turns_allow_slide(plan, c, k, axis, column(c, step_slide(plan, slot) + axis));
    return quat_rotate(track, column_vec3(c, step_slide(plan, slot)));
}

static void bodies_forward(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    quat above = quat_identity(), turn = column_quat(c, step_turn(plan, node->slot));
    vec3 place = column_vec3(c, joint_position(plan, node->slot));
    if (node->moves) {
        const int parent = plan->nodes[node->parent].slot;
        above = column_quat(c, step_turn(plan, parent));
        vec3 bone = quat_rotate(above, bodies_bone(plan, c, node->parent, k));
        place = vec3_add(column_vec3(c, step_place(plan, parent)), bone);
    }
    if (node->slides) place = vec3_add(place, bodies_slide(plan, c, k, place, above));
    column_set_vec3(c, step_place(plan, node->slot), place);
    if (!node->turns)
        turn = above;
    else if (joint_is_hinge(plan, k))
        turn = bodies_turn_hinge(plan, c, k, above);
    else
        turn = bodies_allow(plan, c, k, above, bodies_given(plan, c, k, bodies_towards(plan, c, k, 1, turn)));
    column_set_quat(c, step_turn(plan, node->slot), turn);
}

/* Both passes: where they take the joints. */
static void bodies_pass(const ik_plan *plan, columns c) {
    IK_NAME(turns_start)(plan, c);
    for (int slot = 0; slot < plan->slots; slot++) {
        column_set_vec3(c, step_place(plan, slot), column_vec3(c, joint_position(plan, slot)));
        column_set_quat(c, step_turn(plan, slot), quat_identity());
    }
    for (int t = 0; t < plan->task_count; t++)
        if (bodies_draws(plan, t, plan->tasks[t].node)) bodies_aim(plan, c, t);
    for (int slot = plan->slots - 1; slot >= 0; slot--)
        bodies_backward(plan, c, plan->node_of_slot[slot]);
    for (int slot = 0; slot < plan->slots; slot++)
        bodies_forward(plan, c, plan->node_of_slot[slot]);
}

/* ---- the step */

/* Lanes in which passes are at work make them, if they lead on; in others the finish takes over. */
static void bodies_try(const ik_plan *plan, columns c) {
    real *error = column(c, ERROR);
    const mask mine = finish_idle(plan, c);
    const real first = real_splat(LEVEL_FIRST);
    if (!mask_any(mine)) return;
    errors before = IK_NAME(errors_measure)(plan, c, IN_POSE, first, NULL, 1);
    bodies_pass(plan, c);
    errors after = IK_NAME(errors_measure)(plan, c, AFTER_STEP, first, NULL, 1);
    const mask helps = mask_less(after.square, real_splat(BODIES_LITTLE) * before.square), takes = mine & helps;
    IK_NAME(turns_accept)(plan, c, takes);
    *error = real_select(takes, after.largest, *error);
    finish_set(plan, c, FINISH_BEGINS, mine & ~helps);
}

/* Where the finish has shaken the joints passes have their turn again. */
static void bodies_take_over(const ik_plan *plan, columns c) {
    real *seen = column(c, bodies_kicks(plan));
    const real kicks = *column(c, finish_state(plan, FINISH_WATCH) + WATCH_KICKS);
    finish_set(plan, c, FINISH_IDLES, ~mask_equal(kicks, *seen));
    *seen = kicks;
}

static int bodies_is_busy(const ik_plan *plan, columns c) { return mask_any(~finish_idle(plan, c)); }

/* Goals of several nodes have so many steps of the finish in an iteration: two more cost less than the iterations that
 * they spare. */
enum { BODIES_STEPS = 3 };

static int bodies_steps(const ik_plan *plan) {
    for (int t = 1; t < plan->task_count; t++)
        if (plan->tasks[t].node != plan->tasks[0].node) return BODIES_STEPS;
    return plan->ties ? BODIES_STEPS : 1;
}

/* Steps that wait for another do not count. */
static void bodies_finish_off(const ik_plan *plan, const method *finish, real *bundle, int g) {
    columns c = columns_of_bundle(bundle, g);
    const real steps = real_splat((number)bodies_steps(plan)), zero = real_splat(0);
    real *iterations = column(c, ITERATIONS), *made = column(c, bodies_made(plan));
    const real before = *iterations;
    for (int time = 0; time < bodies_steps(plan); time++)
        finish->step(plan, bundle + g, 1);
    *made = *made + steps - (before - *iterations);
    const mask whole = ~mask_less(*made, steps) | finish_idle(plan, c);
    *iterations = real_select(whole, before, before - real_splat(1));
    *made = real_select(whole, real_max(*made - steps, zero), *made);
}

static void bodies_step(const ik_plan *plan, real *bundle, int groups) {
    const method *finish = bodies_finish(plan);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        bodies_try(plan, c);
        if (!bodies_is_busy(plan, c)) continue;
        bodies_finish_off(plan, finish, bundle, g);
        bodies_take_over(plan, c);
    }
}

/* Passes alone: each is made, and the best of all poses is left in the end. */
static void bodies_step_alone(const ik_plan *plan, real *bundle, int groups) {
    const real first = real_splat(LEVEL_FIRST), most = real_splat((number)plan->job->options.iterations);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        real *best = column(c, finish_state(plan, FINISH_WATCH) + KICKS_BEST);
        real now = IK_NAME(errors_measure)(plan, c, IN_POSE, first, NULL, 1).strict;
        const mask better = mask_less(now, *best), ends = ~mask_less(*column(c, ITERATIONS) + real_splat(1), most);
        *best = real_select(better, now, *best);
        IK_NAME(turns_aside)(plan, c, better, mask_splat(0));
        bodies_pass(plan, c);
        errors then = IK_NAME(errors_measure)(plan, c, AFTER_STEP, first, NULL, 1);
        const mask off = mask_less(*column(c, TOLERANCE), then.largest);
        IK_NAME(turns_accept)(plan, c, ~mask_splat(0));
        IK_NAME(turns_aside)(plan, c, mask_splat(0), ends & off & mask_less(*best, then.strict));
        *column(c, ERROR) = then.largest;
    }
}

/* ---- the method */

/* What a task counts for in passes: as much as any other of its level, where a finish sees to weights. */
static void bodies_weigh(const ik_plan *plan, columns record) {
    const real zero = real_splat(0), one = real_splat(1);
    for (int t = 0; t < plan->task_count; t++) {
        real root = *column(record, joint_task(plan, t) + TASK_WEIGHT), counts = root * root;
        if (bodies_finish(plan)) counts = real_select(mask_equal(root, zero), zero, one);
        *column(record, bodies_counts(plan, t)) = level_counts(real_splat(LEVEL_FIRST), plan->tasks[t].level) * counts;
    }
    for (int slot = 0; slot < plan->slots; slot++) {
        real sum = zero;
        for (int t = 0; t < plan->task_count; t++)
            if (task_side(plan, t, slot)) sum = sum + *column(record, bodies_counts(plan, t));
        *column(record, bodies_below(plan, slot)) = sum;
    }
}

static void bodies_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    const method *finish = bodies_finish(plan);
    if (finish)
        finish->begin(plan, at, start, record);
    else {
        IK_NAME(joint_load)(plan, at, start, record);
        kicks_start(record, finish_state(plan, FINISH_WATCH));
        *column(record, ERROR) =
            IK_NAME(errors_measure)(plan, record, IN_POSE, real_splat(LEVEL_FIRST), NULL, 1).largest;
    }
    finish_set(plan, record, finish && plan->past.follows ? FINISH_BEGINS : FINISH_IDLES, ~mask_splat(0));
    *column(record, bodies_kicks(plan)) = *column(record, bodies_made(plan)) = real_splat(0);
    bodies_weigh(plan, record);
}

static const method fabrik_bodies = {bodies_size, bodies_begin, bodies_step, IK_NAME(joint_place), 1};
static const method fabrik_alone = {bodies_size, bodies_begin, bodies_step_alone, IK_NAME(joint_place), 0};

static const method *bodies_method(const ik_plan *plan) { return bodies_finish(plan) ? &fabrik_bodies : &fabrik_alone; }
