/* ccd of a plain case: one chain of joints that turn freely, and one place to reach. Its turns are never angles, and
 * its end is all that a sweep and a stride look at; the joints follow once. */

/* Where nothing is said of which joints turn, in which order, and how far. */
static int ccd_is_plain(const ik_plan *plan) {
    const ik_options *options = &plan->job->options;
    return plain_is(plan) && options->start_from_tail && !options->bounce && !ccd_is_held(plan);
}

/* The turn of a joint in a step, in place of its axes, which no joint here has. */
ik_inline int ccd_own(const ik_plan *plan, int slot) { return step_axis(plan, slot); }

/* Of a vector of lanes. */
typedef struct {
    vec3 target, end, far;
} ccd_chain;

/* A turn so many times as far, by the tangent of half the angle. */
ik_inline quat ccd_farther(quat turn, real times) {
    quat far = {turn.w, vec3_scale(times, turn.v)};
    return quat_scale(real_splat(1) / real_sqrt(quat_dot(far, far)), far);
}

/* The joint in a slot turns the end to the target; and, of all that turn so much farther, where the end is then. */
ik_inline void ccd_turn_plain(const ik_plan *plan, columns c, int slot, real times, ccd_chain *chain) {
    vec3 place = column_vec3(c, joint_position(plan, slot));
    vec3 u = vec3_sub(chain->end, place), g = vec3_sub(chain->target, place);
    quat turn = pull_turn_by(vec3_cross(u, g), vec3_dot(u, g), u);
    column_set_quat(c, ccd_own(plan, slot), turn);
    chain->end = vec3_add(place, quat_rotate(turn, u));
    chain->far = vec3_add(place, quat_rotate(ccd_farther(turn, times), vec3_sub(chain->far, place)));
}

/* All joints turn by a stride more where that brings the end nearer; returns how many times as far they do. */
ik_inline real ccd_stride_plain(const ik_plan *plan, columns c, const ccd_chain *chain) {
    const real one = real_splat(1);
    real *stride = column(c, ccd_state(plan, CCD_STRIDE)), times = one + *stride;
    if (plan->job->options.textbook) return one;
    vec3 off = vec3_sub(chain->target, chain->end), then = vec3_sub(chain->target, chain->far);
    mask better = mask_less(vec3_dot(then, then), vec3_dot(off, off));
    *stride = ccd_next_stride(*stride, better);
    return real_select(better, times, one);
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
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        vec3 at = column_vec3(c, joint_position(plan, end));
        chains[g] = (ccd_chain){column_vec3(c, joint_task(plan, 0) + TASK_TARGET), at, at};
    }
    for (int slot = plan->slots - 1; slot >= 0; slot--)
        for (int g = 0; g < groups && plan->nodes[plan->node_of_slot[slot]].turns; g++) {
            columns c = columns_of_bundle(bundle, g);
            real times = real_splat(1) + *column(c, ccd_state(plan, CCD_STRIDE));
            ccd_turn_plain(plan, c, slot, times, &chains[g]);
        }
    real times[GROUPS];
    for (int g = 0; g < groups; g++)
        times[g] = ccd_stride_plain(plan, columns_of_bundle(bundle, g), &chains[g]);
    for (int slot = 0; slot < plan->slots; slot++)
        for (int g = 0; g < groups; g++) {
            columns c = columns_of_bundle(bundle, g);
            quat own = quat_identity();
            if (plan->nodes[plan->node_of_slot[slot]].turns)
                own = ccd_farther(column_quat(c, ccd_own(plan, slot)), times[g]);
            turns_carry(plan, c, slot, column_vec3(c, joint_position(plan, slot)), own);
        }
    for (int g = 0; g < groups; g++)
        turns_accept(plan, columns_of_bundle(bundle, g), ~mask_splat(0));
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
