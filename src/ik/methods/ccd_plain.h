/* ccd of a plain case: one chain of joints that turn freely, and one place to reach. Its turns are never angles, and
 * its end is all that a sweep and a stride look at; the joints follow once. */

/* Where nothing is said of which joints turn, in which order, and how far. */
static int ccd_is_plain(const ik_plan *plan) {
    const ik_options *options = &plan->job->options;
    return plain_is(plan) && options->start_from_tail && !options->bounce && !ccd_is_held(plan);
}

/* The turn of a joint in a step, and that which goes a stride farther: in place of its axes, which no joint here has.
 */
ik_inline int ccd_own(const ik_plan *plan, int slot) { return step_axis(plan, slot); }
ik_inline int ccd_far(const ik_plan *plan, int slot) { return step_axis(plan, slot) + 4; }

/* Of a vector of lanes: the target, and where the end is, and would be if all turned farther. */
typedef struct {
    vec3 target, end, far;
    real times;
} ccd_chain;

/* The shortest arc from u to g: beyond a right angle what would cancel is the square of the torque over what does not.
 * Where they are opposite, about something across. */
ik_inline quat ccd_arc(vec3 u, vec3 g) {
    vec3 torque = vec3_cross(u, g);
    real along = vec3_dot(u, g), across = vec3_dot(torque, torque), squares = vec3_dot(u, u) * vec3_dot(g, g);
    real size = real_sqrt(squares) + real_abs(along) + real_splat(TINY_LENGTH);
    mask beyond = mask_less(along, real_splat(0));
    mask opposite = beyond & ~mask_less(real_splat(TINY_SINE * TINY_SINE) * squares, across);
    quat arc = {real_select(beyond, across / size, size), torque};
    arc = quat_scale(real_splat(1) / real_sqrt(quat_dot(arc, arc)), arc);
    if (mask_any(opposite)) arc = quat_select(opposite, pull_turn_by(torque, along, u), arc);
    return arc;
}

/* A turn so many times as far, by the tangent of half the angle. */
ik_inline quat ccd_farther(quat turn, real times) {
    quat far = {turn.w, vec3_scale(times, turn.v)};
    return quat_scale(real_splat(1) / real_sqrt(quat_dot(far, far)), far);
}

/* The joint in a slot turns the end to the target; and, where all turn farther, the end is there. */
ik_inline void ccd_turn_plain(const ik_plan *plan, columns c, int slot, ccd_chain *chain) {
    vec3 place = column_vec3(c, joint_position(plan, slot));
    vec3 u = vec3_sub(chain->end, place), g = vec3_sub(chain->target, place);
    quat turn = ccd_arc(u, g);
    column_set_quat(c, ccd_own(plan, slot), turn);
    chain->end = vec3_add(place, quat_rotate(turn, u));
    if (plan->job->options.textbook) return;
    quat far = ccd_farther(turn, chain->times);
    column_set_quat(c, ccd_far(plan, slot), far);
    chain->far = vec3_add(place, quat_rotate(far, vec3_sub(chain->far, place)));
}

/* Whether all joints turn farther: where that brings the end nearer. */
ik_inline mask ccd_stride_plain(const ik_plan *plan, columns c, const ccd_chain *chain) {
    real *stride = column(c, ccd_state(plan, CCD_STRIDE));
    if (plan->job->options.textbook) return mask_splat(0);
    vec3 off = vec3_sub(chain->target, chain->end), then = vec3_sub(chain->target, chain->far);
    mask better = mask_less(vec3_dot(then, then), vec3_dot(off, off));
    *stride = ccd_next_stride(*stride, better);
    return better;
}

/* What those above do to a joint: where the last one was, where it is now, and how all has turned. */
typedef struct {
    vec3 before, place;
    quat turn;
} ccd_link;

/* The joint in a slot follows, and turns. Parents first. */
ik_inline void ccd_follow_plain(const ik_plan *plan, columns c, int slot, mask far, ccd_link *link) {
    const int position = joint_position(plan, slot), rotation = joint_rotation(slot);
    vec3 before = column_vec3(c, position);
    link->place = vec3_add(link->place, quat_rotate(link->turn, vec3_sub(before, link->before)));
    link->before = before;
    column_set_vec3(c, position, link->place);
    if (plan->nodes[plan->node_of_slot[slot]].turns) {
        quat own = column_quat(c, ccd_own(plan, slot));
        if (!plan->job->options.textbook) own = quat_select(far, column_quat(c, ccd_far(plan, slot)), own);
        link->turn = quat_polished(quat_multiply(link->turn, own));
    }
    column_set_quat(c, rotation, quat_polished(quat_multiply(link->turn, column_quat(c, rotation))));
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

ik_inline void ccd_sweep_plain(const ik_plan *plan, real *bundle, int groups) {
    const int end = plan->nodes[plan->tasks[0].node].slot;
    ccd_chain chains[GROUPS];
    ccd_link links[GROUPS];
    mask far[GROUPS];
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        vec3 at = column_vec3(c, joint_position(plan, end)), base = column_vec3(c, joint_position(plan, 0));
        real times = real_splat(1) + *column(c, ccd_state(plan, CCD_STRIDE));
        chains[g] = (ccd_chain){column_vec3(c, joint_task(plan, 0) + TASK_TARGET), at, at, times};
        links[g] = (ccd_link){base, base, quat_identity()};
    }
    for (int slot = plan->slots - 1; slot >= 0; slot--)
        for (int g = 0; g < groups && plan->nodes[plan->node_of_slot[slot]].turns; g++)
            ccd_turn_plain(plan, columns_of_bundle(bundle, g), slot, &chains[g]);
    for (int g = 0; g < groups; g++)
        far[g] = ccd_stride_plain(plan, columns_of_bundle(bundle, g), &chains[g]);
    for (int slot = 0; slot < plan->slots; slot++)
        for (int g = 0; g < groups; g++)
            ccd_follow_plain(plan, columns_of_bundle(bundle, g), slot, far[g], &links[g]);
}

/* The compiler unrolls the whole bundle. */
static void ccd_step_plain(const ik_plan *plan, real *bundle, int groups) {
    for (int g = 0; g < groups; g++)
        ccd_bend_straight(plan, bundle, g);
    if (groups == GROUPS)
        ccd_sweep_plain(plan, bundle, GROUPS);
    else
        ccd_sweep_plain(plan, bundle, 1);
    for (int g = 0; g < groups; g++)
        ccd_conclude(plan, bundle, g, ccd_measure_plain(plan, columns_of_bundle(bundle, g)));
}
