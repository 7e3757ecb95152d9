/* Mass-spring method: joints are points between springs, and the tip is held at its target. Strengths and ratios are
 * those of SpringIK in Unreal Engine. There is no time integration: every point moves to the rest position of its
 * springs.
 *
 * Idea. A spring of strength k and rest length l has the energy k (length - l)^2 / 2. Base and tip stay fixed. Every
 * other joint in turn, from the tip to the base and back, moves through the position w that its springs want:
 *
 *   along the bones   the bones are two sides of a triangle over the line between both neighbours, on the joint's side.
 *                     If that line is too long or too short, both bones have the same length error.
 *
 *   to tip and base   the point on the line to the joint, at the rest length
 *
 *   together          w is the mean of these by strength; the position along the bones counts as two springs
 *
 *   swing             p <- p + 2 (1 - damping) (w - p)
 *
 * Without damping, a joint comes to rest as far beyond w as it was before it, where a spring has the same energy. At
 * 1/2 it stops at w. If there are only springs along the bones, this never adds energy.
 *
 * Springs along the bones are all at rest if the target is reached: soon for few bones, after about n^2 iterations for
 * n of them. Springs to tip and base, absent by default, draw joints away from there and shape the chain. The target is
 * then missed, usually by some hundredths of the reach, whatever the number of iterations.
 *
 * Bone lengths are restored at the end of each iteration by the forward half of a FABRIK pass. From the base, every
 * bone points at its end joint with its own length. The tip is the end of that chain.
 *
 * Except with `textbook`, a chain in line with its target starts as an arc, because its joints could not leave that
 * line. */

/* Columns of a record, after the bones and their lengths. Joint positions are relative to the base; the last is the
 * target. */
ik_inline int spring_point(const ik_plan *plan, int slot) { return chain_columns(plan) + 3 * slot; }
ik_inline int spring_target(const ik_plan *plan) { return spring_point(plan, plan->slots - 1); }
ik_inline int spring_to_tip(const ik_plan *plan, int slot) {
    return spring_point(plan, plan->slots) + slot;
} /* at rest */
ik_inline int spring_to_base(const ik_plan *plan, int slot) { return spring_to_tip(plan, plan->slots) + slot; }

static record_size spring_size(const ik_plan *plan) {
    return (record_size){.columns = spring_to_base(plan, plan->slots), .results = chain_bone(plan->slots)};
}

/* ---- begin */

/* Loads joint positions from the bones. Returns the position of the tip. */
static vec3 spring_load_points(const ik_plan *plan, columns record) {
    vec3 at = vec3_splat(0, 0, 0);
    column_set_vec3(record, spring_point(plan, 0), at);
    for (int slot = 1; slot < plan->slots; slot++) {
        at = vec3_add(at, column_vec3(record, chain_bone(slot)));
        column_set_vec3(record, spring_point(plan, slot), at);
    }
    return at;
}

/* Sets the rest lengths of the springs to tip and base. */
static void spring_load_rests(const ik_plan *plan, vec3 tip, columns record) {
    const ik_options *options = &plan->job->options;
    const real effector = real_splat((number)options->effector_ratio), root = real_splat((number)options->root_ratio);
    for (int slot = 1; slot < plan->slots; slot++) {
        vec3 point = column_vec3(record, spring_point(plan, slot));
        *column(record, spring_to_tip(plan, slot)) = effector * vec3_length(vec3_sub(tip, point));
        *column(record, spring_to_base(plan, slot)) = root * vec3_length(point);
    }
}

static void spring_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    mask counts;
    *column(record, ERROR) = real_splat(0);
    if (!plan->slots) return;
    const int end = plan->node_of_slot[plan->slots - 1];
    vec3 target = chain_target(plan, at, start, &counts);
    chain_load_bones(plan, start, record);
    if (!plan->job->options.textbook) {
        aimed_chain chain = chain_of(plan, start, end, vec3_add(start->positions[solve_base(plan, end)], target));
        chain_unlock(plan, &chain, record);
    }
    vec3 tip = spring_load_points(plan, record);
    spring_load_rests(plan, tip, record);
    column_set_vec3(record, spring_target(plan), target);
    *column(record, ERROR) = vec3_length(vec3_sub(target, tip));
}

/* ---- the method */

/* The position of a joint at which both bones have their length, on the joint's side; otherwise both have the same
 * length error. */
ik_inline vec3 spring_between(vec3 before, vec3 after, real length, real next_length, vec3 joint) {
    const real zero = real_splat(0), half = real_splat(0.5f);
    direction line = vec3_direction(vec3_sub(after, before));
    real sum = length + next_length, difference = length - next_length;
    mask far = mask_less(sum, line.length), near = mask_less(line.length, real_abs(difference));
    real beyond = real_select(near, real_negate_if(mask_less(difference, zero), sum), difference);
    beyond = real_select(far | near, beyond, sum * difference * line.inverse);
    real along = half * (line.length + beyond);
    real height = real_sqrt(real_max((length - along) * (length + along), zero));
    vec3 off = vec3_sub(joint, before);
    vec3 side = vec3_direction(vec3_sub(off, vec3_scale(vec3_dot(off, line.unit), line.unit))).unit;
    vec3 way = vec3_scale(real_select(far | near, zero, height), side);
    return vec3_add(before, vec3_add(vec3_scale(along, line.unit), way));
}

/* The position of a joint at which its spring to another point is at rest. */
ik_inline vec3 spring_from(vec3 point, real rest, vec3 joint) {
    return vec3_add(point, vec3_scale(rest, vec3_direction(vec3_sub(joint, point)).unit));
}

static void spring_swing(const ik_plan *plan, columns c, int slot) {
    const ik_options *options = &plan->job->options;
    const double bones = 2 * options->hierarchy_strength, effector = options->effector_strength;
    const double root = options->root_strength, swing = 2 * (1 - options->damping) / (bones + effector + root);
    vec3 joint = column_vec3(c, spring_point(plan, slot)), base = column_vec3(c, spring_point(plan, 0));
    vec3 tip = column_vec3(c, spring_target(plan));
    vec3 before = column_vec3(c, spring_point(plan, slot - 1)), after = column_vec3(c, spring_point(plan, slot + 1));
    real length = *column(c, chain_length(plan, slot)), next_length = *column(c, chain_length(plan, slot + 1));
    vec3 between = spring_between(before, after, length, next_length, joint);
    vec3 to_tip = spring_from(tip, *column(c, spring_to_tip(plan, slot)), joint);
    vec3 to_base = spring_from(base, *column(c, spring_to_base(plan, slot)), joint);
    vec3 by = vec3_scale(real_splat((number)(swing * bones)), vec3_sub(between, joint));
    by = vec3_add(by, vec3_scale(real_splat((number)(swing * effector)), vec3_sub(to_tip, joint)));
    by = vec3_add(by, vec3_scale(real_splat((number)(swing * root)), vec3_sub(to_base, joint)));
    column_set_vec3(c, spring_point(plan, slot), vec3_add(joint, by));
}

/* Restores bone lengths, as near to the springs' positions as possible. */
static void spring_lay(const ik_plan *plan, columns c) {
    vec3 left = vec3_splat(0, 0, 0);
    for (int slot = 1; slot < plan->slots; slot++) {
        vec3 before = column_vec3(c, spring_point(plan, slot - 1));
        vec3 spring = vec3_sub(column_vec3(c, spring_point(plan, slot)), before);
        column_set_vec3(c, chain_bone(slot), chain_swing(spring, *column(c, chain_length(plan, slot)), &left));
    }
    *column(c, ERROR) = vec3_length(left);
}

static void spring_step(const ik_plan *plan, real *bundle, int groups) {
    for (int slot = plan->slots - 2; slot > 0; slot--)
        for (int g = 0; g < groups; g++)
            spring_swing(plan, columns_of_bundle(bundle, g), slot);
    for (int slot = 1; slot < plan->slots - 1; slot++)
        for (int g = 0; g < groups; g++)
            spring_swing(plan, columns_of_bundle(bundle, g), slot);
    for (int g = 0; g < groups; g++)
        spring_lay(plan, columns_of_bundle(bundle, g));
}

static const method springs = {spring_size, spring_begin, spring_step, chain_place};

static const method *spring_method(const ik_plan *plan) {
    (void)plan;
    return &springs;
}

SOLVE_METHOD(spring)
