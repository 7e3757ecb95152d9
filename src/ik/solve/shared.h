/* Long functions that all methods use, compiled once, with the loop. They are described at their declarations. */

/* ---- loading tasks (joints.h) */

static vec3 joint_tamed(vec3 place, real most) {
    direction off = vec3_direction_of_any(place);
    return vec3_select(mask_less(most, off.length), vec3_scale(most, off.unit), place);
}

/* Moves a far target nearer, so that its squares do not overflow. */
static void joint_tame(const ik_task *task, task_wanted *wanted, real reach) {
    real most = real_splat(SOLVE_FAR * SOLVE_FAR) * real_select(mask_equal(reach, real_splat(0)), real_splat(1), reach);
    if (task->kind == IK_TURN) return;
    if (task->kind != IK_INSIDE) wanted->place = joint_tamed(wanted->place, most);
    if (task->kind == IK_OUTSIDE) wanted->end = joint_tamed(wanted->end, most);
    real number = real_select(mask_less(most, wanted->number), most, wanted->number);
    wanted->number = real_select(mask_less(number, -most), -most, number);
}

/* Converts a value relative to another joint to the product of local rotations there, for poses with scales. */
static void joint_see_product(const pose *start, const ik_task *task, task_wanted *wanted) {
    quat back = quat_conjugate(solve_apart(start, task->other));
    if (task->kind == IK_PLACE) wanted->place = quat_rotate(back, wanted->place);
    if (task->kind == IK_TURN)
        wanted->rotation = quat_multiply(quat_multiply(back, wanted->rotation), solve_apart(start, task->node));
}

real IK_NAME(joint_load_any)(const ik_plan *plan, group at, const pose *start, const ik_task *task, task_wanted *wanted,
                             real *weight) {
    const ik_options *options = &plan->job->options;
    *wanted = solve_wanted(plan, at, start, task, weight);
    if (solve_scaled(start) && task->other >= 0) joint_see_product(start, task, wanted);
    joint_tame(task, wanted, start->reach);
    if (task_is_angle(task)) return real_splat(solve_within(plan, options->rotation_tolerance));
    return solve_task_slack(start, task, solve_within(plan, options->tolerance), solve_task_reach(plan, start, task));
}

static void joint_load_task(const ik_plan *plan, group at, const pose *start, int task, columns record) {
    const ik_task *t = &plan->tasks[task];
    int to = joint_task(plan, task), slot = t->node < 0 ? -1 : plan->nodes[t->node].slot;
    real weight, most = *column(record, TOLERANCE), own;
    if (!joint_task_is_simple(t)) {
        task_wanted wanted;
        own = IK_NAME(joint_load_any)(plan, at, start, t, &wanted, &weight);
        joint_set_wanted(record, to + TASK_TARGET, t, &wanted);
        if (t->kind == IK_OUTSIDE) column_set_vec3(record, joint_end(plan, task), wanted.end);
    } else if (t->kind == IK_TURN) {
        quat now = column_quat(record, joint_rotation(slot));
        column_set_quat(record, to + TASK_TARGET, solve_target_rotation(plan, at, t->node, now, &weight));
        own = real_splat(solve_within(plan, plan->job->options.rotation_tolerance));
    } else {
        vec3 now = column_vec3(record, joint_position(plan, slot));
        column_set_quat(record, to + TASK_TARGET, (quat){real_splat(0), now});
        real reach = solve_reach(plan, start, t->node).sum;
        vec3 target = solve_target(plan, at, start, t->node, now, &weight);
        column_set_vec3(record, to + TASK_TARGET, solve_nearer(plan, start, t->node, target));
        own = real_splat(solve_within(plan, plan->job->options.tolerance)) * reach;
        own = real_select(mask_equal(reach, real_splat(0)), most, own);
    }
    const real zero = real_splat(0);
    mask counts = ~mask_equal(weight, zero);
    weight = weight / (t->level ? solve_heaviest(plan, at, t->level) : start->heaviest);
    real unit = most / real_max(own, real_splat(SMALLEST) + most * real_splat(EPSILON));
    *column(record, to + TASK_WEIGHT) = real_select(counts, real_sqrt(weight), zero);
    *column(record, to + TASK_UNIT) = real_select(counts, unit, zero);
}

/* ---- loading the pose (joints.h) */

static vec3 joint_load_slid(const ik_plan *plan, group at, const pose *start, int k) {
    if (!plan->nodes[k].slides) return vec3_splat(0, 0, 0);
    vec3 offset = vec3_of(plan->job->skeleton->offsets + 3 * (ptrdiff_t)plan->nodes[k].joint);
    return vec3_scale(start->scale, vec3_sub(solve_slid(plan, k, solve_offset(plan, at, k)), offset));
}

static void joint_load_posture(const ik_plan *plan, group at, int k, columns record) {
    const real zero = real_splat(0), one = real_splat(1);
    const ik_node *node = &plan->nodes[k];
    real share = zero;
    quat wanted = quat_identity();
    if (node->posture >= 0) {
        share = solve_weight(&plan->job->goals[node->posture].weight, at);
        share = real_select(mask_less(one, share), one, share);
        wanted = quat_select(mask_equal(share, zero), wanted, solve_posture(plan, at, k));
    }
    column_set_quat(record, joint_posture(plan, node->slot), wanted);
    *column(record, joint_posture(plan, node->slot) + 4) = share;
}

/* The start pose, moved into its limits. */
static void joint_load_pose(const ik_plan *plan, group at, const pose *start, columns record) {
    int base = 0;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], parent = plan->nodes[k].parent;
        quat above = parent < 0 ? quat_identity() : start->rotations[parent], rotation = start->rotations[k];
        vec3 position = start->positions[k];
        if (plan->rests) {
            if (!plan->nodes[k].moves) column_set_quat(record, joint_above(plan, base++), above);
            quat local = quat_multiply(quat_conjugate(above), rotation);
            if (plan->nodes[k].moves) {
                int slot_above = plan->nodes[parent].slot;
                quat turned = column_quat(record, joint_rotation(slot_above));
                vec3 bone = quat_rotate(quat_conjugate(above), vec3_sub(position, start->positions[parent]));
                position = vec3_add(column_vec3(record, joint_position(plan, slot_above)), quat_rotate(turned, bone));
                above = turned;
            }
            if (plan->nodes[k].turns) local = quat_unit(solve_allowed(plan, k, local));
            rotation = quat_unit(quat_multiply(above, local));
            *column(record, joint_angle(plan, slot)) =
                joint_is_hinge(plan, k) ? joint_angle_of(plan, k, local) : real_splat(0);
        }
        if (plan->slides) column_set_vec3(record, joint_slid(plan, slot), joint_load_slid(plan, at, start, k));
        if (!IS_WIDE && plan->postures) joint_load_posture(plan, at, k, record);
        column_set_quat(record, joint_rotation(slot), rotation);
        column_set_vec3(record, joint_position(plan, slot), position);
    }
}

void IK_NAME(joint_load)(const ik_plan *plan, group at, const pose *start, columns record) {
    const real turned = real_splat(solve_within(plan, plan->job->options.rotation_tolerance));
    real *most = column(record, TOLERANCE);
    joint_load_pose(plan, at, start, record);
    *column(record, joint_lever(plan)) = solve_mean_bone(plan, start);
    *most = real_select(mask_equal(start->reach + *most, real_splat(0)), turned, *most);
    *most = real_max(*most, real_splat(SMALLEST));
    for (int task = 0; task < plan->task_count; task++)
        joint_load_task(plan, at, start, task, record);
}

/* ---- a free chain with a place out of its reach (free_chain.h) */

void IK_NAME(plain_answer)(const ik_plan *plan, const pose *start, columns record) {
    if (!plain_is(plan)) return;
    const real one = real_splat(1);
    int end = plan->tasks[0].node, base = solve_base(plan, end), target = joint_task(plan, 0) + TASK_TARGET;
    chain_reach reach = solve_reach(plan, start, end);
    vec3 tip = start->positions[base], along = vec3_direction(vec3_sub(start->positions[end], tip)).unit;
    direction to_target = vec3_direction_of_any(vec3_sub(column_vec3(record, target), tip));
    mask near = mask_less(to_target.length, chain_inner(reach)), out = near | mask_less(reach.sum, to_target.length);
    if (!mask_any(out)) return;
    mask apart = mask_less(real_splat(TINY_SINE) * reach.sum, to_target.length), waiting = near;
    vec3 line = vec3_select(apart, to_target.unit, along);
    quat turn = quat_identity();
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], child = plan->nodes[k].child, rotation = joint_rotation(slot);
        int position = joint_position(plan, slot);
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

/* ---- the errors of all tasks (errors.h) */

errors IK_NAME(errors_measure)(const ik_plan *plan, columns c, enum errors_when when, real beside, real *rows,
                               int step) {
    errors e = {real_splat(0), real_splat(0), real_splat(0)};
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        real scale = errors_scale(plan, c, t);
        vec3 off = errors_off(plan, c, when, t), row = vec3_scale(scale, off);
        if (rows) rows_set(rows, step, task->row, ik_task_rows(task), row);
        if (task_is_one_sided(task)) off = task_miss(task, off), row = vec3_scale(scale, off);
        real square = vec3_dot(row, row);
        if (plan_has_levels(plan)) {
            e.strict = e.strict + level_counts(real_splat(LEVEL_LAST), task->level) * square;
            square = level_counts(beside, task->level) * square;
        }
        e.square = e.square + square;
        e.largest = real_max(vec3_length(off) * errors_unit(plan, c, when, t), e.largest);
    }
    if (!plan_has_levels(plan)) e.strict = e.square;
    e.largest = e.largest + real_poison(e.square);
    return e;
}

/* ---- the effect of a step (turns.h) */

void IK_NAME(turns_start)(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        if (!node->axes) continue;
        mat3 m = mat3_of_quat(quat_multiply(column_quat(c, joint_rotation(slot)), joint_frame(node->limit)));
        column_set_vec3(c, step_axis(plan, slot), (vec3){m.x.x, m.y.x, m.z.x});
        column_set_vec3(c, step_axis(plan, slot) + 3, (vec3){m.x.y, m.y.y, m.z.y});
        column_set_vec3(c, step_axis(plan, slot) + 6, (vec3){m.x.z, m.y.z, m.z.z});
    }
}

mask IK_NAME(turns_allow)(const ik_plan *plan, columns c, int k, vec3 *turn) {
    const ik_limit *limit = plan->nodes[k].limit;
    if (!joint_is_limited(plan, k)) return mask_splat(0);
    if (limit->kind == IK_HINGE) {
        if (joint_is_round(limit)) return mask_splat(0);
        real angle = *column(c, joint_angle(plan, plan->nodes[k].slot));
        real wanted = angle + turn->x, allowed = joint_within(limit, wanted);
        turn->x = allowed - angle;
        return mask_less(real_splat(LIMIT_TOLERANCE), real_abs(wanted - allowed));
    }
    quat now = column_quat(c, joint_rotation(plan->nodes[k].slot)), above = joint_parent(plan, c, k);
    quat wanted = quat_multiply(quat_of_vector(*turn, real_splat(LARGEST)), now);
    quat local = quat_unit(quat_multiply(quat_conjugate(above), wanted)), allowed = solve_allowed(plan, k, local);
    quat off = {allowed.w - local.w, vec3_sub(allowed.v, local.v)};
    mask over = mask_less(real_splat(LIMIT_TOLERANCE), real_max(real_abs(off.w), vec3_largest(off.v)));
    if (!mask_any(over)) return over;
    vec3 instead = rotation_vector(quat_multiply(quat_multiply(above, allowed), quat_conjugate(now)));
    *turn = vec3_select(over, instead, *turn);
    return over;
}

ik_inline quat turns_own(const ik_plan *plan, columns c, int k) {
    vec3 turn = column_vec3(c, step_own(plan, plan->nodes[k].slot));
    return quat_of_vector(turns_vector(plan, c, k, turn), real_splat(LARGEST));
}

/* turns_carry with the own turn and slide of the node in a slot. */
ik_inline void turns_try_slot(const ik_plan *plan, columns c, int slot) {
    const int k = plan->node_of_slot[slot];
    vec3 place = column_vec3(c, joint_position(plan, slot));
    if (plan->nodes[k].slides) {
        vec3 slide = column_vec3(c, step_slide(plan, slot));
        place = vec3_add(place, quat_rotate(joint_parent(plan, c, k), slide));
    }
    turns_carry(plan, c, slot, place, plan->nodes[k].turns ? turns_own(plan, c, k) : quat_identity());
}

void IK_NAME(turns_try)(const ik_plan *plan, real *bundle, int groups, int first, int last) {
    for (int slot = first; slot < last; slot++)
        for (int g = 0; g < groups; g++)
            turns_try_slot(plan, columns_of_bundle(bundle, g), slot);
}

/* Accepts slides, clamped to the ends of the travel to the bit. */
static void turns_accept_slides(const ik_plan *plan, columns c, mask accept) {
    for (int slot = 0; slot < plan->slots; slot++)
        for (int axis = 0; axis < 3 && plan->nodes[plan->node_of_slot[slot]].slides; axis++) {
            real slide = *column(c, step_slide(plan, slot) + axis), *slid = column(c, joint_slid(plan, slot) + axis);
            turns_allow_slide(plan, c, plan->node_of_slot[slot], axis, &slide);
            *slid = real_select(accept, *slid + slide, *slid);
        }
}

void IK_NAME(turns_accept)(const ik_plan *plan, columns c, mask accept) {
    for (int slot = 0; slot < plan->slots; slot++) {
        quat before = column_quat(c, joint_rotation(slot));
        quat turned = quat_polished(quat_multiply(column_quat(c, step_turn(plan, slot)), before));
        column_set_quat(c, joint_rotation(slot), quat_select(accept, turned, before));
        vec3 place = column_vec3(c, joint_position(plan, slot)), moved = column_vec3(c, step_place(plan, slot));
        column_set_vec3(c, joint_position(plan, slot), vec3_select(accept, moved, place));
        int k = plan->node_of_slot[slot];
        if (!plan->limited || !joint_is_hinge(plan, k)) continue;
        real *angle = column(c, joint_angle(plan, slot)), turn = *column(c, step_own(plan, slot));
        *angle = real_select(accept, joint_within(plan->nodes[k].limit, *angle + turn), *angle);
    }
    if (plan->slides) turns_accept_slides(plan, c, accept);
}

/* ---- joints that are stuck (kicks.h) */

/* Perturbs a slide by up to the mean bone, within its travel. */
static void turns_shake_slide(const ik_plan *plan, columns c, int k, vec3 by) {
    const int slot = plan->nodes[k].slot;
    column_set_vec3(c, step_slide(plan, slot), vec3_scale(*column(c, joint_lever(plan)), by));
    for (int axis = 0; axis < 3; axis++)
        turns_allow_slide(plan, c, k, axis, column(c, step_slide(plan, slot) + axis));
}

/* Perturbs a hinge: any angle in its range. */
static real turns_shake_hinge(const ik_plan *plan, columns c, int k, int time) {
    const double half = 4 * eighth_turn[0], round[2] = {-half, half};
    const ik_limit *limit = plan->nodes[k].limit;
    const double *range = joint_is_round(limit) ? round : limit->twist;
    const int slot = plan->nodes[k].slot;
    double to = 0.5 * (range[0] + range[1] + (range[1] - range[0]) * random_number(time, slot, 0));
    return real_splat((number)to) - *column(c, joint_angle(plan, slot));
}

/* Perturbs all joints. Joints other than hinges turn by up to a radian; the first time every joint by a tenth. */
static void turns_shake(const ik_plan *plan, columns c, int time) {
    number share = time ? 1 : (number)0.1;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        vec3 turn = vec3_splat(share * random_number(time, slot, 0), share * random_number(time, slot, 1),
                               share * random_number(time, slot, 2));
        if (plan->nodes[k].slides) turns_shake_slide(plan, c, k, turn);
        if (!plan->nodes[k].turns) continue;
        if (joint_is_hinge(plan, k)) turn.x = real_splat(share) * turns_shake_hinge(plan, c, k, time);
        IK_NAME(turns_allow)(plan, c, k, &turn);
        column_set_vec3(c, step_own(plan, slot), turn);
    }
}

/* Perturbs the chosen lanes of a group for the given time, each time differently, but the same way for every item. */
static void turns_kick(const ik_plan *plan, real *bundle, int g, mask chosen, int time) {
    columns c = columns_of_bundle(bundle, g);
    IK_NAME(turns_start)(plan, c);
    turns_shake(plan, c, time);
    IK_NAME(turns_try)(plan, bundle + g, 1, 0, plan->slots);
    IK_NAME(turns_accept)(plan, c, chosen);
}

static void turns_exchange(columns c, int here, int aside, int count, mask keep, mask back) {
    for (int i = 0; i < count; i++) {
        real *now = column(c, here + i), *kept = column(c, aside + i), before = *now;
        *now = real_select(back, *kept, before);
        *kept = real_select(keep, before, *kept);
    }
}

/* Stores the pose in lanes `keep`, and restores the stored pose in lanes `back`. */
static void turns_aside(const ik_plan *plan, columns c, mask keep, mask back) {
    int numbers = joint_task(plan, 0) - joint_rotation(0), aside = step_aside(plan);
    turns_exchange(c, joint_rotation(0), aside, numbers, keep, back);
    if (plan->limited) turns_exchange(c, joint_angle(plan, 0), aside + numbers, plan->slots, keep, back);
}

mask IK_NAME(kicks_for_stuck)(const ik_plan *plan, real *bundle, int g, int watch, mask off, mask stuck, mask hurried,
                              real value) {
    columns c = columns_of_bundle(bundle, g);
    real *best = column(c, watch + KICKS_BEST), *error = column(c, ERROR);
    mask often = watch_is_spent(c, watch, KICKS) | hurried;
    real iterations = *column(c, ITERATIONS) + real_splat(1), most = real_splat((number)plan->job->options.iterations);
    mask ends = (stuck & often) | (off & ~mask_less(iterations, most));
    mask better = mask_less(value, real_splat(1 - kicks_gain(plan)) * *best);
    if (!mask_any(stuck | ends)) return mask_splat(0);
    watch_give_up(c, stuck & often);
    stuck &= ~ends;
    turns_aside(plan, c, stuck & better, ends & ~better);
    *best = real_select(stuck & better, value, *best);
    if (!mask_any(stuck)) return stuck;
    for (int time = 0; time < KICKS; time++) {
        mask now = watch_kick(c, watch, stuck, time);
        if (mask_any(now)) turns_kick(plan, bundle, g, now, time);
    }
    watch_kicked(c, watch, stuck);
    *error = real_select(stuck, IK_NAME(errors_measure)(plan, c, IN_POSE, real_splat(1), NULL, 1).largest, *error);
    return stuck;
}

/* ---- results (joints.h) */

void IK_NAME(joint_place)(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local) {
    const ik_node *node = &plan->nodes[k];
    quat above = node->parent < 0 ? quat_identity() : world->rotations[node->parent];
    (void)at;
    if (node->turns)
        local->rotation =
            quat_unit(quat_multiply(quat_conjugate(above), column_quat(record, joint_rotation(node->slot))));
    if (!node->slides) return;
    vec3 offset = vec3_of(plan->job->skeleton->offsets + 3 * (ptrdiff_t)node->joint);
    vec3 slid = column_vec3(record, joint_slid(plan, node->slot));
    local->translation = vec3_add(offset, vec3_scale(*column(record, UNSCALE), slid));
}
