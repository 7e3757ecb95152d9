/* The first motion of bodies (bodies.h), before the sweeps: all follow the goals together, limbs turn towards theirs,
 * and compressed limbs bend to their preferred side. */

/* Turns body k and its descendants about a point. */
static void first_turn(const ik_plan *plan, columns c, int k, vec3 about, quat turn) {
    for (int slot = plan->nodes[k].slot; slot < plan->slots; slot++) {
        const int node = plan->node_of_slot[slot];
        if (!body_is(plan, node) || !ik_carries(plan, k, node)) continue;
        const int turned = body_column(plan, slot, BODY_TURNED), place = body_column(plan, slot, BODY_PLACE);
        const vec3 arm = vec3_sub(column_vec3(c, place), about);
        column_set_quat(c, turned, quat_polished(quat_multiply(turn, column_quat(c, turned))));
        column_set_vec3(c, place, vec3_add(about, quat_rotate(turn, arm)));
    }
}

/* The mean position of the effectors that a base carries, and the mean wanted position. */
typedef struct {
    vec3 now, wanted;
    real weight;
} first_mean;

static first_mean first_mean_of(const ik_plan *plan, columns c, int base) {
    first_mean mean = {vec3_splat(0, 0, 0), vec3_splat(0, 0, 0), real_splat(0)};
    for (int task = 0; task < plan->task_count; task++) {
        if (!sweep_is_place(plan, task) || !ik_carries(plan, base, plan->tasks[task].node)) continue;
        const real weight = sweep_strength(plan, c, task);
        const vec3 now = bodies_frame(plan, c, plan->tasks[task].node).place;
        mean.now = vec3_add(mean.now, vec3_scale(weight, now));
        mean.wanted = vec3_add(mean.wanted, vec3_scale(weight, joint_wanted(plan, c, task).place));
        mean.weight = mean.weight + weight;
    }
    const real over = real_splat(1) / real_max(mean.weight, real_splat(SMALLEST));
    return (first_mean){vec3_scale(over, mean.now), vec3_scale(over, mean.wanted), mean.weight};
}

/* One step towards the best turn of all ends about their mean. */
static void first_turn_base(const ik_plan *plan, columns c, int base) {
    const first_mean mean = first_mean_of(plan, c, base);
    pull sum = pull_none();
    for (int task = 0; task < plan->task_count; task++) {
        if (!sweep_is_place(plan, task) || !ik_carries(plan, base, plan->tasks[task].node)) continue;
        const vec3 now = bodies_frame(plan, c, plan->tasks[task].node).place;
        pull_add(&sum, sweep_strength(plan, c, task), vec3_sub(now, mean.now),
                 vec3_sub(joint_wanted(plan, c, task).place, mean.wanted));
    }
    const quat turn = quat_canonical(pull_turn(&sum, vec3_splat(1, 0, 0)));
    const real share = real_splat((number)plan->job->options.pre_pull_turn);
    first_turn(plan, c, base, mean.now, quat_weighted(turn, share));
}

/* Moves all bodies below a base by the mean offset to their goals. */
static void first_pull(const ik_plan *plan, columns c, int base) {
    const first_mean mean = first_mean_of(plan, c, base);
    const real share = real_splat((number)plan->job->options.pre_pull);
    const vec3 by = vec3_scale(share, vec3_sub(mean.wanted, mean.now));
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot], place = body_column(plan, slot, BODY_PLACE);
        if (body_is(plan, k) && ik_carries(plan, base, k))
            column_set_vec3(c, place, vec3_add(column_vec3(c, place), by));
    }
}

/* Turns a limb about its branching joint, towards its goal. */
static void first_aim(const ik_plan *plan, columns c, int task) {
    const int top = sweep_limb(plan, task);
    if (!plan->nodes[top].turns) return;
    const vec3 about = bodies_frame(plan, c, top).place;
    const vec3 from = vec3_sub(bodies_frame(plan, c, plan->tasks[task].node).place, about);
    const vec3 to = vec3_sub(joint_wanted(plan, c, task).place, about);
    const quat arc = quat_shortest_arc(from, to, vec3_perpendicular(vec3_direction(from).unit));
    const real share = real_splat((number)plan->job->options.pull_chain) * sweep_strength(plan, c, task);
    first_turn(plan, c, top, about, quat_weighted(quat_canonical(arc), share));
}

/* Whether a joint prefers another rotation than that at rest. */
static int first_prefers(const ik_plan *plan, int k) {
    const ik_joint *joint = body_joint(plan, k);
    const double *rest = plan->job->skeleton->rests + 4 * (ptrdiff_t)plan->nodes[k].joint;
    return joint && plan->nodes[k].turns && memcmp(joint->preferred, rest, sizeof joint->preferred) != 0;
}

/* Bends a limb whose goal is nearer than its end. Its joints turn from rest towards their preferred
 * rotation, by the share of its length that the limb loses, on top of the pose. */
static void first_bend(const ik_plan *plan, columns c, int task) {
    const real zero = real_splat(0), one = real_splat(1);
    const int node = plan->tasks[task].node;
    int prefers = 0;
    for (int k = body_of(plan, node); k >= 0; k = sweep_parent(plan, k))
        prefers |= first_prefers(plan, k);
    if (!prefers) return;
    const int top = sweep_limb(plan, task);
    const vec3 about = bodies_frame(plan, c, top).place;
    const real now = vec3_length(vec3_sub(bodies_frame(plan, c, node).place, about));
    const real wanted = vec3_length(vec3_sub(joint_wanted(plan, c, task).place, about));
    const real squashed = one - wanted / real_max(now, real_splat(SMALLEST));
    const real share = sweep_strength(plan, c, task) * real_max(zero, squashed);
    for (int k = body_of(plan, node); k >= 0; k = k == top ? -1 : sweep_parent(plan, k)) {
        if (!first_prefers(plan, k)) continue;
        const body_frame own = bodies_frame(plan, c, k);
        const quat way = quat_multiply(quat_conjugate(solve_rest(plan, k)), solve_preferred(plan, k));
        const quat part = quat_weighted(quat_canonical(way), share);
        first_turn(plan, c, k, own.place, quat_multiply(quat_multiply(own.turned, part), quat_conjugate(own.turned)));
    }
}

static void first_move(const ik_plan *plan, columns c) {
    const ik_options *options = &plan->job->options;
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].slides || plan->nodes[k].moves) continue;
        if (options->pre_pull > 0) first_pull(plan, c, k);
        if (options->pre_pull_turn > 0 && plan->nodes[k].turns) first_turn_base(plan, c, k);
    }
    for (int task = 0; task < plan->task_count; task++) {
        if (!sweep_is_place(plan, task)) continue;
        if (options->pull_chain > 0) first_aim(plan, c, task);
        first_bend(plan, c, task);
    }
}
