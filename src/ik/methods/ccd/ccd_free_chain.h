/* ccd of a plain case: one chain of joints that turn freely, and one place to reach. Its turns are never angles, and
 * its end is all that a sweep and a stride look at; the joints follow once. */

/* The turn of a joint in a step, not of unit length; in place of its axes, which no joint here has. */
ik_inline int ccd_own(const ik_plan *plan, int slot) { return step_axis(plan, slot); }

/* One vector of lanes: the target, the end, and the end after turns that are longer by the factor `times` (of the
 * tangent of half the angle). */
typedef struct {
    vec3 target, end, far;
    real times;
} ccd_chain;

/* Two vectors count as opposite if w of the unnormalised turn between them is below this share of the product of their
 * lengths. */
#define CCD_OPPOSITE (number)0x1p-10

/* The turn if u and g are nearly opposite or one of them is 0; and u after it. */
ik_outline void ccd_turn_opposite(mask opposite, const vec3 *u, const vec3 *g, quat *turn, vec3 *turned) {
    pull s = pull_none();
    pull_add(&s, real_splat(1), *u, *g);
    quat about = ccd_fit_one(&s, u);
    *turn = quat_select(opposite, about, *turn);
    *turned = vec3_select(opposite, quat_rotate(about, *u), *turned);
}

/* A vector rotated by a turn, a quaternion of any length, with the tangent of half its angle multiplied by `times`. */
ik_inline vec3 ccd_farther(quat turn, real times, vec3 a) {
    real along = turn.w * turn.w, across = times * times * vec3_dot(turn.v, turn.v);
    turn.v = vec3_scale(times, turn.v);
    vec3 aside = vec3_cross(turn.v, a);
    vec3 by = vec3_add(vec3_scale(turn.w, aside), vec3_cross(turn.v, aside));
    return vec3_add(a, vec3_scale(real_splat(2) / (along + across), by));
}

/* The joint in a slot turns the end towards the target by the shortest arc; `far` follows the longer turns.
 */
ik_inline void ccd_turn_plain(const ik_plan *plan, columns c, int slot, ccd_chain *chain) {
    vec3 place = column_vec3(c, joint_position(plan, slot));
    vec3 u = vec3_sub(chain->end, place), g = vec3_sub(chain->target, place);
    real square = vec3_dot(u, u), sizes = real_sqrt(square * vec3_dot(g, g));
    quat turn = {sizes + vec3_dot(u, g), vec3_cross(u, g)};
    vec3 turned = vec3_scale(square / (sizes + real_splat(SMALLEST)), g);
    mask opposite = ~mask_less(real_splat(CCD_OPPOSITE) * sizes + real_splat(TINY_LENGTH), turn.w);
    if (mask_any(opposite)) ccd_turn_opposite(opposite, &u, &g, &turn, &turned);
    column_set_quat(c, ccd_own(plan, slot), turn);
    chain->end = vec3_add(place, turned);
    if (plan->job->options.textbook) return;
    chain->far = vec3_add(place, ccd_farther(turn, chain->times, vec3_sub(chain->far, place)));
}

/* The factor of all turns: longer if that brings the end nearer. */
ik_inline real ccd_stride_plain(const ik_plan *plan, columns c, const ccd_chain *chain) {
    real *stride = column(c, accelerate_stride(ccd_acceleration(plan)));
    if (plan->job->options.textbook) return real_splat(1);
    vec3 off = vec3_sub(chain->target, chain->end), then = vec3_sub(chain->target, chain->far);
    mask better = mask_less(vec3_dot(then, then), vec3_dot(off, off));
    *stride = accelerate_next_stride(*stride, better);
    return real_select(better, chain->times, real_splat(1));
}

/* The effect of the ancestors on a joint: position of the last one before and after, their total turn; and the factor
 * of all turns.
 */
typedef struct {
    vec3 before, place;
    quat turn;
    real times;
} ccd_link;

/* The joint in a slot follows, and turns. Parents first. */
ik_inline void ccd_follow_plain(const ik_plan *plan, columns c, int slot, ccd_link *link) {
    const int position = joint_position(plan, slot), rotation = joint_rotation(slot);
    vec3 before = column_vec3(c, position);
    link->place = vec3_add(link->place, quat_rotate(link->turn, vec3_sub(before, link->before)));
    link->before = before;
    column_set_vec3(c, position, link->place);
    if (plan->nodes[plan->node_of_slot[slot]].turns) {
        quat own = column_quat(c, ccd_own(plan, slot));
        own.v = vec3_scale(link->times, own.v);
        link->turn = quat_multiply(link->turn, own);
        link->turn = quat_scale(real_splat(1) / real_sqrt(quat_dot(link->turn, link->turn)), link->turn);
    }
    column_set_quat(c, rotation, quat_multiply(link->turn, column_quat(c, rotation)));
}

/* As errors_measure. */
ik_inline errors ccd_measure_plain(const ik_plan *plan, columns c) {
    const int task = joint_task(plan, 0), end = plan->nodes[plan->tasks[0].node].slot;
    real weight = *column(c, task + TASK_WEIGHT);
    vec3 off = vec3_sub(column_vec3(c, task + TASK_TARGET), column_vec3(c, joint_position(plan, end)));
    real square = weight * weight * vec3_dot(off, off);
    real largest = vec3_length(off) * *column(c, task + TASK_UNIT) + real_poison(square);
    return (errors){square, square, largest};
}

ik_outline void ccd_start_chain(const ik_plan *plan, columns c, ccd_chain *chain) {
    chain->target = column_vec3(c, joint_task(plan, 0) + TASK_TARGET);
    chain->end = chain->far = column_vec3(c, joint_position(plan, plan->nodes[plan->tasks[0].node].slot));
    chain->times = real_splat(1) + *column(c, accelerate_stride(ccd_acceleration(plan)));
}

ik_outline void ccd_start_link(const ik_plan *plan, columns c, const ccd_chain *chain, ccd_link *link) {
    link->before = link->place = column_vec3(c, joint_position(plan, 0));
    link->turn = quat_identity();
    link->times = ccd_stride_plain(plan, c, chain);
}

/* Groups side by side: the waits of one are filled by the others. */
static void ccd_sweep_plain(const ik_plan *plan, real *bundle, int groups) {
    ccd_chain chains[GROUPS];
    ccd_link links[GROUPS];
    for (int g = 0; g < groups; g++)
        ccd_start_chain(plan, columns_of_bundle(bundle, g), &chains[g]);
    for (int slot = plan->slots - 1; slot >= 0; slot--)
        for (int g = 0; g < groups && plan->nodes[plan->node_of_slot[slot]].turns; g++)
            ccd_turn_plain(plan, columns_of_bundle(bundle, g), slot, &chains[g]);
    for (int g = 0; g < groups; g++)
        ccd_start_link(plan, columns_of_bundle(bundle, g), &chains[g], &links[g]);
    for (int slot = 0; slot < plan->slots; slot++)
        for (int g = 0; g < groups; g++)
            ccd_follow_plain(plan, columns_of_bundle(bundle, g), slot, &links[g]);
}

/* ccd_step does sweeps from the root: later rounds, after bones have changed, use them (loop.h). */
static void ccd_step_plain(const ik_plan *plan, real *bundle, int groups) {
    if (!plan->job->options.start_from_tail) {
        ccd_step(plan, bundle, groups);
        return;
    }
    for (int g = 0; g < groups; g++)
        ccd_bend_straight(plan, bundle, g);
    ccd_sweep_plain(plan, bundle, groups);
    for (int g = 0; g < groups; g++)
        ccd_conclude(plan, bundle, g, ccd_measure_plain(plan, columns_of_bundle(bundle, g)));
}

/* ---- a target just within reach */

/* A target as near to full reach as this makes a chain so straight that sweeps are slow (chain.h). */
static const chain_edge ccd_edge = {.drawn = (number)0.05, .arched = (number)0.05};

/* Lanes in which the pose is as it came, and off its target by more than a share of the reach or what is reached. */
static mask ccd_is_off(const ik_plan *plan, const pose *start, columns record, number share) {
    const int task = joint_task(plan, 0), end = plan->tasks[0].node;
    vec3 as_came = start->positions[end], now = column_vec3(record, joint_position(plan, plan->nodes[end].slot));
    real off = vec3_length(vec3_sub(column_vec3(record, task + TASK_TARGET), now));
    mask same = mask_equal(now.x, as_came.x) & mask_equal(now.y, as_came.y) & mask_equal(now.z, as_came.z);
    return same & mask_less(real_splat(share) * start->reach, off) &
           mask_less(*column(record, TOLERANCE), off * *column(record, task + TASK_UNIT));
}

/* A chain is bent just so that it ends there. Its bones are in the columns of its positions meanwhile. */
static void ccd_draw(const ik_plan *plan, const pose *start, columns record) {
    const int end = plan->tasks[0].node, bones = joint_position(plan, 0);
    vec3 target = column_vec3(record, joint_task(plan, 0) + TASK_TARGET),
         place = start->positions[plan->node_of_slot[0]];
    const real least = real_splat(1 - ccd_edge.drawn - (number)1e-4) * start->reach; /* and some more, for rounding */
    const mask off = ccd_is_off(plan, start, record, 0) & mask_less(least, vec3_length(vec3_sub(target, place)));
    if (!mask_any(off)) return;
    aimed_chain chain = chain_of(plan, start, end, target);
    for (int slot = 1; slot < plan->slots; slot++) {
        vec3 bone = solve_bone(plan, start, plan->node_of_slot[slot]), before = column_vec3(record, bones + 3 * slot);
        column_set_vec3(record, bones + 3 * slot, vec3_select(off, bone, before));
    }
    const mask chosen = chain_curve(plan, &chain, off, ccd_edge, bones, record);
    quat turn = quat_identity();
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot], child = plan->nodes[k].child, rotation = joint_rotation(slot);
        vec3 came = vec3_select(off, start->positions[k], column_vec3(record, bones + 3 * slot));
        column_set_vec3(record, bones + 3 * slot, vec3_select(chosen, place, came));
        if (child < 0) break;
        vec3 to = column_vec3(record, bones + 3 * (slot + 1));
        turn = quat_multiply(quat_arc_between(quat_rotate(turn, solve_bone(plan, start, child)), to), turn);
        quat before = column_quat(record, rotation);
        column_set_quat(record, rotation, quat_select(chosen, quat_multiply(turn, before), before));
        place = vec3_add(place, to);
    }
}

/* ---- a long chain */

/* From so many bones on the first sweep from the tip would roll the chain up, and all others would unroll it. */
enum { CCD_LONG = 24 };

/* One whose end is far from its target is turned towards it as a whole first, where nothing else has been done to it.
 */
static void ccd_swing(const ik_plan *plan, const pose *start, columns record) {
    const int bones = plan->slots - 1;
    if (bones < CCD_LONG) return;
    const mask far = ccd_is_off(plan, start, record, CHAIN_NEAR);
    vec3 base = start->positions[plan->node_of_slot[0]], now = start->positions[plan->tasks[0].node];
    vec3 target = column_vec3(record, joint_task(plan, 0) + TASK_TARGET);
    quat turn = quat_arc_between(vec3_sub(now, base), vec3_sub(target, base));
    for (int slot = 0; slot < plan->slots && mask_any(far); slot++) {
        const int position = joint_position(plan, slot), rotation = joint_rotation(slot);
        vec3 place = column_vec3(record, position);
        vec3 swung = vec3_add(base, quat_rotate(turn, vec3_sub(place, base)));
        column_set_vec3(record, position, vec3_select(far, swung, place));
        quat before = column_quat(record, rotation);
        column_set_quat(record, rotation, quat_select(far, quat_multiply(turn, before), before));
    }
}
