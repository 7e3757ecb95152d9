/* FABRIK with frames: for limits, trees, and goals of rotation. A. Aristidou, Y. Chrysanthou, J. Lasenby, "Extending
 * FABRIK with model constraints", Computer Animation and Virtual Worlds 27 (2016). Limits are treated differently.
 *
 * Points alone do not tell the rotations of their joints. Every joint that turns is therefore a rigid body: it has a
 * rotation W in the world and holds its children at offsets o, constant in its own space. Joints that do not turn are
 * parts of the body that carries them.
 *
 *   backward   W[j] turns so that its bones point from its position to those of its children, by the shortest arc.
 *              Several children are fitted like the points of a rigid body. W[j] is then turned so that the relative
 *              rotation of an only child is within the child's limit. The shares come from the goals below each child:
 *              p[j] <- sum of share[c] (p[c] - W[j] o[c])
 *   forward    p[c] <- p[j] + W[j] o[c]; W[c] turns towards its own children, and then into its limit
 *
 * After the forward pass all bones have their length and all limits hold. The error is that of this pose, and the best
 * of all poses is the result. A body with a goal of rotation starts from that rotation, whatever its children need.
 * Limits are applied after that.
 *
 * Sliding joints move in the passes whenever a body has turned, and at the base of the forward pass. They move as near
 * as their travel allows to the positions of the pass: o[c] <- the nearest to W[j]^-1 (p[c] - p[j]). A bone that can
 * stretch gets the distance between its points, within its limits. After the passes a joint slides once to the exact
 * optimum for all ends below it: along an axis v of its parent by
 *
 *   v . sum of weight (target - end) / sum of weight
 *
 * within its travel. The papers do not treat sliding joints. They move in the same way with `textbook`.
 *
 * A tie holds an end to another joint, at a distance or to a plane. Before the passes it sets the target of the end to
 * the nearest position that satisfies it; if the other end can move as well, both meet half-way (fabrik_ties.h).
 *
 * The passes ignore capsules that a bone must avoid. The steps after them pull the point of the bone that is deepest in
 * a capsule straight out, like an end that is beyond its plane. Nothing else follows with `textbook`: the joints turn
 * once, one after the other.
 *
 * Unless `textbook`:
 * - A hinge turns about its own axis by the best angle. The published rule takes the part of the shortest arc that its
 *   limit allows.
 * - A child with a limit cannot follow its body everywhere. A body with a limit, or one that carries a hinge, therefore
 *   turns in the forward pass towards the ends of the chains below such a child. It carries these chains as the
 *   backward pass has arranged them. An elbow is a hinge below a joint that is none, with one end below it. It is first
 *   bent by the distance between that end and the shoulder, as in two_bone, because passes do not bend a straight arm.
 * - The passes can take the ends farther away. Passes that do so by much are taken back. Then all joints turn once, one
 *   after the other from the tips, each by the optimum for all ends below it by their weights (as in CCD). The long
 *   steps of the passes and these turns together leave dead ends. The turns converge to the least weighted squares;
 *   passes do not if goals pull a tree apart.
 * - With goals for several nodes, all joints then turn together towards them (fabrik_together.h), because turns one
 *   after the other gain the last digits slowly. Goals that can all be met are met faster with equal weights: weights
 *   are equal in the passes, and in the later steps until they are stuck.
 * - With levels, a goal weighs a hundredth, squared, beside one of the level before. In stuck lanes this share falls
 *   until it is close to 0. The best pose is chosen with the smallest share from the start (solve/levels.h).
 * - Then every joint repeats its turn and slide of this step, times a stride that doubles as long as the error falls.
 *   Before the next step it repeats a share of that, for momentum (see fabrik.h).
 * - Limits can hold a chain in a pose that none of these steps changes. If progress is poor, all joints turn by some
 *   angles within their limits, a kick, the same for every item. After the last kick the best pose so far goes on for
 *   as long as it makes any progress.
 * - Consecutive frames start near their targets, and should end near their start. No joint turns by much more in a step
 *   than the remaining error: passes that do are taken back, all other turns are shortened. Otherwise a joint with a
 *   short lever would turn far for little. Kicks then start from the best pose, each twice as large as the one before:
 *   near poses are tried first. */

/* ---- the method */

static int frames_level(const ik_plan *plan, int goal) {
    for (int t = 0; t < plan->task_count && plan->levels > 1; t++)
        if (plan->tasks[t].goal == goal) return plan->tasks[t].level;
    return 0;
}

/* A weight beside the heaviest of its level. */
static real frames_of_heaviest(const ik_plan *plan, group at, const pose *start, int goal, real weight) {
    const int level = frames_level(plan, goal);
    return weight / (level ? solve_heaviest(plan, at, level) : start->heaviest);
}

/* In the passes the first level has nearly all the say. */
static real frames_of_level(int level, real weight) {
    return level ? level_counts(real_splat(LEVEL_FIRST), level) * weight : weight;
}

/* The weight of a goal in the passes: 1 for any weight if goals are about several nodes. */
static real frames_goal_counts(const ik_plan *plan, group at, const pose *start, int goal) {
    const real zero = real_splat(0), one = real_splat(1);
    real weight = solve_weight(&plan->job->goals[goal].weight, at) / start->heaviest;
    if (!frames_several(plan)) return weight;
    return real_select(mask_equal(weight, zero), zero, frames_of_level(frames_level(plan, goal), one));
}

/* The weight of all goals at node k and below. */
static real frames_weight(const ik_plan *plan, group at, const pose *start, int k) {
    const ik_node *node = &plan->nodes[k];
    real sum = real_splat(0);
    if (node->point >= 0) sum = sum + frames_goal_counts(plan, at, start, node->point);
    if (node->rotation >= 0) sum = sum + frames_goal_counts(plan, at, start, node->rotation);
    for (int t = 0; t < plan->task_count && plan->ties; t++)
        if (frames_tied_side(plan, t, k)) sum = sum + frames_goal_counts(plan, at, start, plan->tasks[t].goal);
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
        sum = sum + frames_weight(plan, at, start, child);
    return sum;
}

/* The children of a node share it by their weights; equally where they have none. */
static void frames_load_shares(const ik_plan *plan, group at, const pose *start, int k, columns record) {
    real all = real_splat(0);
    int count = 0;
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling, count++)
        all = all + frames_weight(plan, at, start, child);
    mask none = mask_equal(all, real_splat(0));
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling) {
        real share = frames_weight(plan, at, start, child) / real_select(none, real_splat(1), all);
        *column(record, frames_share(plan, plan->nodes[child].slot)) =
            real_select(none, real_splat(1) / real_splat((number)count), share);
    }
}

static void frames_load_goals(const ik_plan *plan, group at, const pose *start, int k, columns record) {
    const ik_node *node = &plan->nodes[k];
    real weight;
    if (node->point >= 0) {
        vec3 target = solve_target(plan, at, start, k, start->positions[k], &weight);
        target = solve_nearer(plan, start, k, target);
        weight = frames_of_heaviest(plan, at, start, node->point, weight);
        real counts = frames_goal_counts(plan, at, start, node->point), all = counts;
        for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
            all = all + frames_weight(plan, at, start, child);
        column_set_vec3(record, frames_target(plan, node->point), target);
        *column(record, frames_target_weight(plan, node->point)) = weight;
        *column(record, frames_per_distance(plan, node->point)) = solve_per_distance(plan, start, k);
        *column(record, frames_target_share(plan, node->point)) =
            counts / real_select(mask_equal(all, real_splat(0)), real_splat(1), all);
    }
    if (node->rotation >= 0) {
        quat turned = solve_target_rotation(plan, at, k, start->rotations[k], &weight);
        column_set_quat(record, frames_turned(plan, node->rotation), turned);
        weight = frames_of_heaviest(plan, at, start, node->rotation, weight);
        *column(record, frames_turned_weight(plan, node->rotation)) = weight;
    }
}

/* The weight of all goals below node k and of its own position. */
static real frames_weight_below(const ik_plan *plan, group at, const pose *start, int k) {
    const ik_node *node = &plan->nodes[k];
    real sum = node->point >= 0 ? frames_goal_counts(plan, at, start, node->point) : real_splat(0);
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
        sum = sum + frames_weight(plan, at, start, child);
    return sum;
}

/* The wanted positions of a tie, and its weight. */
static void frames_load_tie(const ik_plan *plan, group at, const pose *start, int task, columns record) {
    const ik_task *t = &plan->tasks[task];
    const real most = *column(record, TOLERANCE);
    task_wanted wanted;
    real weight, own = IK_NAME(joint_load_any)(plan, at, start, t, &wanted, &weight);
    int counts = t->kind == IK_TURN ? frames_turned_weight(plan, t->goal) : frames_target_weight(plan, t->goal);
    joint_set_wanted(record, frames_turned(plan, t->goal), t, &wanted);
    if (t->kind == IK_OUTSIDE) column_set_vec3(record, frames_target(plan, t->goal), wanted.end);
    *column(record, counts) = frames_of_heaviest(plan, at, start, t->goal, weight);
    *column(record, frames_target_share(plan, t->goal)) = frames_goal_counts(plan, at, start, t->goal);
    if (t->kind == IK_TURN) return;
    *column(record, frames_per_distance(plan, t->goal)) =
        most / real_max(own, real_splat(SMALLEST) + most * real_splat(EPSILON));
}

/* The weight of all places to reach at node k and below. */
static real frames_place_weight(const ik_plan *plan, group at, const pose *start, int k) {
    real sum = real_splat(0);
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        if (task->kind == IK_TURN) continue;
        if (!ik_carries(plan, k, task->node) && (task->other < 0 || !ik_carries(plan, k, task->other))) continue;
        real weight = solve_weight(&plan->job->goals[task->goal].weight, at);
        weight = frames_of_heaviest(plan, at, start, task->goal, weight);
        sum = sum + frames_of_level(task->level, weight);
    }
    return sum;
}

/* How a node slides, seen from what carries it; until now it has not. */
static void frames_load_slide(const ik_plan *plan, group at, const pose *start, int k, columns record) {
    const ik_node *node = &plan->nodes[k];
    const vec3 none = vec3_splat(0, 0, 0);
    const vec3 from = node->moves && node->owner != node->parent ? start->positions[node->parent] : none;
    quat track = node->parent < 0 ? quat_identity() : start->rotations[node->parent];
    vec3 link = vec3_sub(start->positions[k], from);
    if (node->owner >= 0) {
        quat back = quat_conjugate(start->rotations[node->owner]);
        if (node->owner == node->parent) link = vec3_sub(link, start->positions[node->owner]);
        link = quat_rotate(back, link);
        track = node->owner == node->parent ? quat_identity() : quat_polished(quat_multiply(back, track));
    }
    column_set_vec3(record, frames_link(plan, node->slot), link);
    column_set_quat(record, frames_track(plan, node->slot), track);
    column_set_vec3(record, frames_slid(plan, node->slot), none);
    *column(record, frames_drawn(plan, node->slot)) = frames_place_weight(plan, at, start, k);
    if (!node->slides) return;
    vec3 now = solve_slid(plan, k, solve_offset(plan, at, k));
    for (int end = 0; end < 2; end++) {
        vec3 way = vec3_sub(solve_end_of_travel(plan, k, end), now);
        column_set_vec3(record, frames_travel(plan, node->slot) + 3 * end, vec3_scale(start->scale, way));
    }
}

/* A node as the pose that comes in has it, but within its limit. */
static void frames_load_node(const ik_plan *plan, const pose *start, int k, columns record) {
    const ik_node *node = &plan->nodes[k];
    quat above = node->parent < 0 ? quat_identity() : start->rotations[node->parent], rotation = start->rotations[k];
    quat socket = node->turns ? above : rotation;
    vec3 bone = start->positions[k];
    if (node->owner >= 0) {
        quat back = quat_conjugate(start->rotations[node->owner]);
        socket = quat_polished(quat_multiply(back, socket));
        bone = quat_rotate(back, vec3_sub(bone, start->positions[node->owner]));
    }
    column_set_vec3(record, frames_bone(plan, node->slot), bone);
    column_set_quat(record, frames_socket(plan, node->slot), socket);
    frames_hang(plan, record, k);
    if (!node->turns) return;
    quat local = solve_allowed(plan, k, quat_multiply(quat_conjugate(above), rotation));
    if (plan->limited) rotation = quat_polished(quat_multiply(frames_above(plan, record, k), local));
    column_set_quat(record, frames_rotation(plan, node->slot), rotation);
}

/* The tolerance for rotations as their errors are: twice the sine of half the angle. */
static real frames_tolerance(const ik_plan *plan) {
    const number turn = 8 * eighth_turn[0];
    number angle = solve_within(plan, plan->job->options.rotation_tolerance) + EPSILON;
    return real_splat(2) * real_sincos(real_splat(angle < turn / 2 ? angle / 2 : turn / 4)).sine;
}

/* The error of a tie counts as an angle if nothing has a length. */
static real frames_tolerance_of_ties(const pose *start, real tolerance, real angle) {
    mask none = mask_equal(start->reach + tolerance, real_splat(0));
    return real_max(real_select(none, angle, tolerance), real_splat(SMALLEST));
}

/* The result is near the start if that is near the targets: the errors bound the turns of a step. A start so far away
 * that the bound allows any turn never has one. */
static void frames_stay_near(const ik_plan *plan, const pose *start, columns record) {
    const real zero = real_splat(0), one = real_splat(1);
    mask has_reach = mask_less(zero, start->reach);
    *column(record, frames_per_reach(plan)) = real_select(has_reach, one / start->reach, zero);
    *column(record, frames_lowest(plan)) = zero;
    *column(record, frames_largest(plan)) = one; /* as `textbook` leaves it */
    mask near = mask_less(frames_turn_for_error(plan, record), one);
    if (plan->ties) near &= has_reach; /* what is to go is no share of it */
    *column(record, frames_lowest(plan)) = real_select(near, zero, one);
}

/* Goals of several nodes weigh alike at first, where they do not do so anyway. */
static void frames_load_alike(const ik_plan *plan, columns record) {
    const real zero = real_splat(0), one = real_splat(1);
    mask differ = mask_splat(0);
    for (int t = 0; t < plan->task_count && frames_several(plan); t++) {
        const int goal = plan->tasks[t].goal, turn = plan->tasks[t].kind == IK_TURN;
        real weight = *column(record, turn ? frames_turned_weight(plan, goal) : frames_target_weight(plan, goal));
        differ |= mask_less(zero, weight) & mask_less(weight, one);
    }
    *column(record, frames_alike(plan)) = real_select(differ, one, zero);
}

static void frames_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    const real zero = real_splat(0), angle = frames_tolerance(plan);
    real *tolerance = column(record, TOLERANCE);
    int points = 0;
    if (plan->ties) *tolerance = frames_tolerance_of_ties(start, *tolerance, angle);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->slides) frames_load_slide(plan, at, start, k, record);
        frames_load_node(plan, start, k, record);
        frames_load_goals(plan, at, start, k, record);
        frames_load_shares(plan, at, start, k, record);
        points += plan->nodes[k].point >= 0 || plan->nodes[k].ties;
        if (plan->ties) *column(record, frames_below(plan, slot)) = frames_weight_below(plan, at, start, k);
    }
    for (int t = 0; t < plan->task_count && plan->ties; t++)
        if (frames_is_tie(&plan->tasks[t])) frames_load_tie(plan, at, start, t, record);
    if (!points && !plan->outside) *tolerance = angle;
    *column(record, frames_per_radian(plan)) = real_select(mask_less(zero, *tolerance), *tolerance, angle) / angle;
    *column(record, frames_lever(plan)) = solve_mean_bone(plan, start);
    *column(record, frames_least(plan)) = real_splat(LARGEST);
    watch_start(record, frames_watched(plan));
    *column(record, frames_stride(plan)) = *column(record, frames_damping(plan)) = real_splat(1);
    *column(record, frames_beside(plan)) = real_splat(LEVEL_FIRST);
    frames_load_alike(plan, record);
    frames_stop(plan, record, ~mask_splat(0));
    frames_copy(plan, record, frames_best(0), frames_rotation(plan, 0), ~mask_splat(0));
    *column(record, ERROR) = frames_error(plan, record);
    *column(record, frames_squared(plan)) = frames_square(plan, record);
    frames_keep_best(plan, record);
    frames_stay_near(plan, start, record);
}

static void frames_step(const ik_plan *plan, real *bundle, int groups) {
    const int published = plan->job->options.textbook;
    for (int g = 0; g < groups && !published; g++) {
        columns c = columns_of_bundle(bundle, g);
        *column(c, frames_largest(plan)) = frames_turn_for_error(plan, c);
        frames_go_on(plan, c);
    }
    for (int g = 0; g < groups && plan->ties; g++)
        frames_aim_ties(plan, columns_of_bundle(bundle, g));
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        if (!node->turns && node->point < 0 && !node->ties) continue;
        for (int g = 0; g < groups; g++)
            frames_backward(plan, columns_of_bundle(bundle, g), plan->node_of_slot[slot]);
    }
    for (int g = 0; g < groups && plan->slides; g++)
        frames_slide_body(plan, columns_of_bundle(bundle, g), -1, vec3_splat(0, 0, 0), quat_identity());
    for (int slot = 0; slot < plan->slots; slot++)
        for (int g = 0; g < groups; g++)
            frames_forward(plan, columns_of_bundle(bundle, g), plan->node_of_slot[slot]);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        if (published && plan->outside) frames_sweep(plan, c);
        if (published && plan->slides) frames_just_slide(plan, c);
        if (published)
            *column(c, frames_squared(plan)) = frames_square(plan, c);
        else
            frames_search(plan, c);
        *column(c, ERROR) = frames_error(plan, c);
        frames_keep_best(plan, c);
        if (!published) frames_watch(plan, c);
    }
}

static void frames_place(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local) {
    (void)at;
    const ik_node *node = &plan->nodes[k];
    quat best = column_quat(record, frames_best(node->slot));
    if (node->slides) {
        vec3 slid = column_vec3(record, frames_slid_in(plan, frames_best(0), node->slot));
        local->translation = vec3_add(local->translation, vec3_scale(*column(record, UNSCALE), slid));
    }
    if (!node->turns) return;
    local->rotation = best;
    if (node->parent >= 0) local->rotation = quat_multiply(quat_conjugate(world->rotations[node->parent]), best);
}

static const method fabrik_frames = {frames_size, frames_begin, frames_step, frames_place};

/* ---- the choice */
