/* A toy: extended position based dynamics (Macklin et al. 2016) of a chain, joints being particles with masses. It
 * shows what a physical method uses of the frame. These are all joints, a root that moves, masses and compliances of
 * joints, and a state (positions and velocities) from frame to frame. No gravity, a frame is a unit of time. */

/* Columns: places, scaled, and the origin are the result; then the state, in the world; then what else an item has. */
ik_inline int xpbd_place_of(int slot) { return OWN + 3 * slot; }
ik_inline int xpbd_origin(const ik_plan *plan) { return xpbd_place_of(plan->slots); }
ik_inline int xpbd_was(const ik_plan *plan, int slot) { return xpbd_origin(plan) + 3 + 3 * slot; }
ik_inline int xpbd_velocity(const ik_plan *plan, int slot) { return xpbd_was(plan, plan->slots + slot); }
ik_inline int xpbd_before(const ik_plan *plan, int slot) { return xpbd_velocity(plan, plan->slots + slot); }
ik_inline int xpbd_target(const ik_plan *plan) { return xpbd_before(plan, plan->slots); }
ik_inline int xpbd_pulls(const ik_plan *plan) { return xpbd_target(plan) + 3; }
ik_inline int xpbd_length(const ik_plan *plan, int slot) { return xpbd_pulls(plan) + 1 + slot; }
ik_inline int xpbd_multiplier(const ik_plan *plan, int slot) { return xpbd_length(plan, plan->slots + slot); }

static record_size xpbd_size(const ik_plan *plan) {
    return (record_size){
        .columns = xpbd_multiplier(plan, plan->slots), .results = xpbd_before(plan, 0), .state = 6 * plan->slots};
}

static void xpbd_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    const int tip = plan->node_of_slot[plan->slots - 1];
    real weight;
    vec3 target = solve_target(plan, at, start, tip, start->positions[tip], &weight);
    column_set_vec3(record, xpbd_target(plan), solve_nearer(plan, start, tip, target));
    *column(record, xpbd_pulls(plan)) = real_select(mask_equal(weight, real_splat(0)), real_splat(0), real_splat(1));
    column_set_vec3(record, xpbd_origin(plan), start->origin);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        vec3 place = start->positions[k];
        *column(record, xpbd_multiplier(plan, slot)) = real_splat(0);
        *column(record, xpbd_length(plan, slot)) = slot ? vec3_length(solve_bone(plan, start, k)) : real_splat(0);
        if (plan->past.frame) { /* on from where it was, by its velocity */
            vec3 was = column_vec3(record, xpbd_was(plan, slot)), by = column_vec3(record, xpbd_velocity(plan, slot));
            place = vec3_scale(start->scale, vec3_sub(was, start->origin));
            column_set_vec3(record, xpbd_before(plan, slot), place);
            place = vec3_add(place, vec3_scale(start->scale, by));
        } else {
            column_set_vec3(record, xpbd_before(plan, slot), place);
        }
        column_set_vec3(record, xpbd_place_of(slot), place);
    }
    *column(record, ERROR) = real_splat(LARGEST);
}

/* One constraint: two places, each as willing to move as its inverse mass says, are so far apart. */
static void xpbd_project(columns c, int a, int b, real willing_a, real willing_b, real length, real compliance,
                         int multiplier) {
    vec3 from = column_vec3(c, a), to = column_vec3(c, b);
    direction way = vec3_direction(vec3_sub(to, from));
    real change = (length - way.length - compliance * *column(c, multiplier)) / (willing_a + willing_b + compliance);
    *column(c, multiplier) = *column(c, multiplier) + change;
    column_set_vec3(c, a, vec3_sub(from, vec3_scale(willing_a * change, way.unit)));
    column_set_vec3(c, b, vec3_add(to, vec3_scale(willing_b * change, way.unit)));
    *column(c, ERROR) =
        real_max(*column(c, ERROR), real_abs(compliance * *column(c, multiplier) + way.length - length));
}

static void xpbd_iterate(const ik_plan *plan, columns c) {
    const ik_joint *joints = plan->job->skeleton->joints;
    const int tip = xpbd_place_of(plan->slots - 1);
    *column(c, ERROR) =
        *column(c, xpbd_pulls(plan)) * vec3_length(vec3_sub(column_vec3(c, xpbd_target(plan)), column_vec3(c, tip)));
    vec3 pulled =
        vec3_scale(*column(c, xpbd_pulls(plan)), vec3_sub(column_vec3(c, xpbd_target(plan)), column_vec3(c, tip)));
    column_set_vec3(c, tip, vec3_add(column_vec3(c, tip), pulled));
    for (int slot = plan->slots - 1; slot > 0; slot--) {
        const ik_joint *above = &joints[plan->nodes[plan->node_of_slot[slot - 1]].joint];
        const ik_joint *here = &joints[plan->nodes[plan->node_of_slot[slot]].joint];
        real held = real_splat(1) - (slot == plan->slots - 1 ? *column(c, xpbd_pulls(plan)) : real_splat(0));
        xpbd_project(c, xpbd_place_of(slot - 1), xpbd_place_of(slot), real_splat((number)(1 / above->mass)),
                     held * real_splat((number)(1 / here->mass)), *column(c, xpbd_length(plan, slot)),
                     real_splat((number)here->compliance), xpbd_multiplier(plan, slot));
    }
    for (int slot = 0; slot < plan->slots; slot++) { /* what the next frame goes on from */
        vec3 now = column_vec3(c, xpbd_place_of(slot)), unscaled = vec3_scale(*column(c, UNSCALE), now);
        vec3 by = vec3_sub(now, column_vec3(c, xpbd_before(plan, slot)));
        column_set_vec3(c, xpbd_was(plan, slot), vec3_add(column_vec3(c, xpbd_origin(plan)), unscaled));
        column_set_vec3(c, xpbd_velocity(plan, slot), vec3_scale(*column(c, UNSCALE), by));
    }
}

static void xpbd_step(const ik_plan *plan, real *bundle, int groups) {
    for (int g = 0; g < groups; g++)
        xpbd_iterate(plan, columns_of_bundle(bundle, g));
}

static void xpbd_place(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local) {
    const int slot = plan->nodes[k].slot, child = plan->nodes[k].child;
    vec3 here = column_vec3(record, xpbd_place_of(slot));
    if (plan->nodes[k].slides)
        local->translation =
            vec3_add(column_vec3(record, xpbd_origin(plan)), vec3_scale(*column(record, UNSCALE), here));
    if (child < 0) return;
    vec3 to = vec3_sub(column_vec3(record, xpbd_place_of(plan->nodes[child].slot)), here);
    local->rotation = chain_turned(plan, at, world, k, local, to);
}

static const method xpbd_chain = {xpbd_size, xpbd_begin, xpbd_step, xpbd_place, 0};
static const method *xpbd_method(const ik_plan *plan) { return (void)plan, &xpbd_chain; }

SOLVE_METHOD(xpbd)
