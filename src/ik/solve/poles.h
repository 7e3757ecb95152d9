/* Poles: chains of a solved group are turned about the line to their end, so that they bend towards their pole. */

/* The part of a vector perpendicular to a unit vector. */
ik_inline direction solve_across(vec3 a, vec3 along) {
    direction off = vec3_direction_of_any(vec3_sub(a, vec3_scale(vec3_dot(a, along), along)));
    off.length = real_select(mask_less(real_splat(TINY_SINE) * vec3_size(a), off.length), off.length, real_splat(0));
    return off;
}

/* The centroid of a chain's joints relative to its first one: its side of the line is the bend direction. */
static vec3 solve_bend_centroid(const ik_plan *plan, const ik_bend *bend, const pose *world) {
    vec3 sum = vec3_splat(0, 0, 0), base = world->positions[bend->base];
    for (int k = plan->nodes[bend->end].parent; k != bend->base; k = plan->nodes[k].parent)
        sum = vec3_add(sum, vec3_sub(world->positions[k], base));
    return sum;
}

/* The turn of a chain about the line to its end that brings its bend direction to the side of the pole. A straight
 * chain has no bend direction, and a goal with weight 0 no line. */
static quat solve_to_pole(const ik_plan *plan, group at, const ik_bend *bend, pose *world) {
    const real zero = real_splat(0);
    const ik_goal *goal = &plan->job->goals[bend->goal];
    vec3 base = world->positions[bend->base], pole = lanes_load_vec3(&goal->pole, at);
    mask counts = ~mask_equal(solve_weight(&goal->weight, at), zero);
    direction line = vec3_direction_of_any(vec3_sub(world->positions[bend->end], base));
    vec3 along = line.unit;
    direction now = solve_across(solve_bend_centroid(plan, bend, world), along);
    direction wanted = solve_across(vec3_sub(pole, base), along);
    mask bent = mask_less(zero, now.length);
    mask defined = mask_less(zero, wanted.length) & mask_less(real_splat(TINY_SINE) * now.length, line.length);
    int above = plan->nodes[bend->base].parent;
    if (solve_scaled(world) && above >= 0)
        defined &= world->scaled[above].even; /* otherwise it cannot turn as a whole */
    world->given &= vec3_is_finite(pole) | ~counts;
    world->undefined |= counts & bent & ~defined;
    real sine = vec3_dot(vec3_cross(now.unit, wanted.unit), along);
    quat turn = quat_about(vec3_dot(now.unit, wanted.unit), sine, along);
    return quat_select(counts & bent & defined, turn, quat_identity());
}

/* Turns the chain as a whole; a target rotation stays. */
static void solve_turn_chain(const ik_plan *plan, group at, const ik_bend *bend, quat turn, quat *solved,
                             const vec3 *moved, pose *world) {
    for (int k = bend->base; k < plan->count; k++) {
        if (!ik_carries(plan, bend->base, k)) continue;
        const ik_node *node = &plan->nodes[k];
        quat above = node->parent < 0 ? quat_identity() : world->rotations[node->parent];
        if (k == bend->base) solved[k] = quat_multiply(quat_multiply(quat_conjugate(above), turn), world->rotations[k]);
        if (node->turns && node->rotation >= 0 && k != bend->base) {
            real weight = solve_weight(&plan->job->goals[node->rotation].weight, at);
            quat kept = quat_multiply(quat_conjugate(above), world->rotations[k]);
            solved[k] = quat_select(mask_equal(weight, real_splat(0)), solved[k], kept);
        }
        if (node->turns) solved[k] = quat_polished(solved[k]);
        solve_place_solved(plan, at, k, solved, moved, world);
    }
}

/* `solved` and `moved` are the local rotations and translations of all nodes. */
static void solve_to_poles(const ik_plan *plan, group at, quat *solved, const vec3 *moved, pose *world) {
    world->undefined = mask_splat(0);
    for (const ik_bend *bend = plan->bends; bend < plan->bends + plan->bend_count; bend++)
        solve_turn_chain(plan, at, bend, solve_to_pole(plan, at, bend, world), solved, moved, world);
}
