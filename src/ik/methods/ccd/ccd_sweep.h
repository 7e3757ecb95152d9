/* A sweep of ccd.h: pulls at a joint, the turn or slide of the joint within its limit, one joint after the other. */

/* ---- pulls at a joint */

/* The target of an effector. A rotation is pulled at three axes, which counts its angle twice. */
static ends_wanted ccd_wanted(const ik_plan *plan, columns c, int task) {
    task_wanted wanted = joint_wanted(plan, c, task);
    real scale = errors_scale(plan, c, task), weight = scale * scale;
    if (plan->tasks[task].kind == IK_TURN)
        return (ends_wanted){.rotation = wanted.rotation, .weight = real_splat((number)0.5) * weight};
    return (ends_wanted){.place = wanted.place, .weight = weight};
}

/* The number of effectors that node k carries; a rotation counts as several. */
static int ccd_ends_below(const ik_plan *plan, int k) {
    int count = 0;
    for (int t = 0; t < plan->task_count; t++)
        if (task_side(plan, t, plan->nodes[k].slot)) count += plan->tasks[t].kind == IK_TURN ? 2 : 1;
    return count;
}

/* Position of a joint after the joints before it in a sweep have turned, and the rotation that these have applied to
 * it. */
typedef struct {
    vec3 place;
    quat above;
} ccd_place;

static ccd_place ccd_place_of(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    ccd_place at = {column_vec3(c, joint_position(plan, node->slot)), quat_identity()};
    if (plan->job->options.start_from_tail || !node->moves) return at;
    const int parent = plan->nodes[node->parent].slot;
    at.above = column_quat(c, step_turn(plan, parent));
    vec3 bone = vec3_sub(at.place, column_vec3(c, joint_position(plan, parent)));
    at.place = vec3_add(column_vec3(c, step_place(plan, parent)), quat_rotate(at.above, bone));
    return at;
}

/* The best turn for one effector; a half turn is about an axis perpendicular to the bone. */
ik_outline quat ccd_fit_one(const pull *s, const vec3 *bone) { return pull_turn(s, *bone); }

/* The best turn of a ball for all its effectors; the axis of a half turn is perpendicular to the y axis of `above`. */
static quat ccd_fit(const ik_plan *plan, int k, const pull *s, quat above) {
    vec3 across = quat_rotate(above, vec3_splat(0, 1, 0));
    if (ccd_ends_below(plan, k) < 2) return ccd_fit_one(s, &across);
    mat3 m = mat3_transposed((mat3){s->x, s->y, s->z});
    real rounding = real_splat(32 * EPSILON) * (vec3_size(m.x) + vec3_size(m.y) + vec3_size(m.z));
    return IK_NAME(quat_of_correlation)(&m, &rounding);
}

/* ---- how far a joint turns */

/* The cap of a joint, its largest turn per visit; 0: unlimited. */
static double ccd_own_cap(const ik_plan *plan, int k) {
    const ik_joint *joints = plan->job->skeleton->joints;
    return joints ? joints[plan->nodes[k].joint].cap : 0;
}

/* The largest turn by the cap and by `max_step`; 0: unlimited. */
static number ccd_cap(const ik_plan *plan, int k) {
    double own = ccd_own_cap(plan, k), all = plan->job->options.max_step;
    return (number)(own == 0 || (all > 0 && all < own) ? all : own);
}

/* Whether `feedback`, `max_step` or a cap restrict the steps. */
static int ccd_is_held(const ik_plan *plan) {
    int held = plan->job->options.max_step > 0 || plan->job->options.feedback > 0;
    for (int k = 0; k < plan->count; k++)
        held |= plan->nodes[k].turns && ccd_own_cap(plan, k) > 0;
    return held;
}

/* The mobility of a joint about an axis of its limit. */
static real ccd_willing(const ik_limit *limit, int axis) { return real_splat((number)(1 - limit->stiffness[axis])); }

/* A turn of node k times its mobility about the axes of its limit, in the axes before its ancestors turn. */
static vec3 ccd_resisted(const ik_plan *plan, columns c, int k, vec3 turn) {
    const ik_limit *limit = plan->nodes[k].limit;
    vec3 sum = vec3_splat(0, 0, 0);
    if (!limit || (limit->stiffness[0] == 0 && limit->stiffness[1] == 0 && limit->stiffness[2] == 0)) return turn;
    for (int axis = 0; axis < 3; axis++) {
        vec3 about = column_vec3(c, step_axis(plan, plan->nodes[k].slot) + 3 * axis);
        sum = vec3_add(sum, vec3_scale(ccd_willing(limit, axis) * vec3_dot(about, turn), about));
    }
    return sum;
}

/* The share of the best turn that node k makes: `feedback` times the largest error of its effectors, in longest
 * reaches; at most 1. */
static real ccd_share(const ik_plan *plan, columns c, int k) {
    const number feedback = (number)plan->job->options.feedback;
    real off = real_splat(0), lever = *column(c, joint_lever(plan));
    if (feedback == 0) return real_splat(1);
    for (int t = 0; t < plan->task_count; t++) {
        if (!task_side(plan, t, plan->nodes[k].slot)) continue;
        ends_wanted to = ccd_wanted(plan, c, t);
        vec3 way = vec3_sub(to.place, column_vec3(c, ends_place(ccd_ends(plan), t)));
        if (plan->tasks[t].kind == IK_LOOK)
            way = vec3_scale(lever, vec3_sub(vec3_direction(way).unit, ends_axis(plan, c, ccd_ends(plan), t)));
        if (plan->tasks[t].kind == IK_TURN) {
            quat now = column_quat(c, ends_rotation(ccd_ends(plan), t));
            way = vec3_scale(lever + lever, quat_multiply(to.rotation, quat_conjugate(now)).v);
        }
        off = real_max(off, vec3_length(way));
    }
    return real_min(real_splat(1), real_splat(feedback) * (*column(c, ccd_state(plan, CCD_PER_REACH)) * off));
}

/* The allowed turn of a hinge nearest to an angle, by its range and its cap, on the shorter way round. */
static real ccd_hinge_within(const ik_plan *plan, columns c, int k, real angle) {
    const ik_limit *limit = plan->nodes[k].limit;
    const real half = real_splat((number)0.5), most = real_splat(4 * eighth_turn[0]),
               cap = real_splat(ccd_cap(plan, k));
    real low = ccd_cap(plan, k) > 0 ? -cap : real_splat(-LARGEST), high = -low;
    if (!joint_is_round(limit)) {
        real now = *column(c, joint_angle(plan, plan->nodes[k].slot));
        low = real_max(low, real_splat((number)limit->twist[0]) - now);
        high = real_min(high, real_splat((number)limit->twist[1]) - now);
        real off = angle - half * (low + high);
        angle = real_select(mask_less(most, off), angle - (most + most), angle);
        angle = real_select(mask_less(off, -most), angle + (most + most), angle);
    }
    return real_max(low, real_min(high, angle));
}

/* The own turn of a hinge. */
static vec3 ccd_turn_hinge(const ik_plan *plan, columns c, int k, const pull *s, real share, vec3 axis) {
    real sine = vec3_dot(pull_torque(s), axis), cosine = pull_along(s, axis);
    real least = real_splat(PULL_ROUNDING) * (vec3_size(s->x) + vec3_size(s->y) + vec3_size(s->z));
    mask none = mask_less(real_abs(sine) + real_abs(cosine), least);
    real angle = real_select(none, real_splat(0), real_atan2(sine, cosine));
    return task_scalar(ccd_hinge_within(plan, c, k, share * ccd_willing(plan->nodes[k].limit, 0) * angle));
}

/* The own turn of any other joint, in the axes it has before its ancestors turn. */
static vec3 ccd_turn_ball(const ik_plan *plan, columns c, int k, const pull *s, real share, quat above) {
    vec3 turn = vec3_scale(share, rotation_vector(ccd_fit(plan, k, s, above)));
    turn = ccd_resisted(plan, c, k, quat_rotate(quat_conjugate(above), turn));
    return ccd_cap(plan, k) > 0 ? vec3_cut(turn, real_splat(ccd_cap(plan, k))) : turn;
}

/* ---- a sweep */

/* Lanes in which node k does not turn: it is above the branch in use, or its limit leaves a turn that moves the
 * effectors away. */
static mask ccd_stays(const ik_plan *plan, columns c, int k, const pull *s, mask over, quat turn) {
    mask stays = mask_splat(0);
    if (plan->job->options.bounce)
        stays = mask_less(*column(c, ccd_state(plan, CCD_BRANCH)), *column(c, ccd_height(plan, plan->nodes[k].slot)));
    if (!plan->job->options.textbook && mask_any(over)) stays |= over & ~pull_is_nearer(s, turn);
    return stays;
}

/* Turns node k and the effectors below it. */
static void ccd_turn(const ik_plan *plan, columns c, int k, ccd_place at) {
    const int slot = plan->nodes[k].slot;
    pull s = ends_pull(plan, c, ccd_ends(plan), k, at.place, ccd_wanted);
    real share = ccd_share(plan, c, k);
    vec3 own;
    if (joint_is_hinge(plan, k))
        own = ccd_turn_hinge(plan, c, k, &s, share, quat_rotate(at.above, column_vec3(c, step_axis(plan, slot))));
    else
        own = ccd_turn_ball(plan, c, k, &s, share, at.above);
    mask over = IK_NAME(turns_allow)(plan, c, k, &own);
    quat turn = quat_of_vector(quat_rotate(at.above, turns_vector(plan, c, k, own)), real_splat(LARGEST));
    mask stays = ccd_stays(plan, c, k, &s, over, turn);
    column_set_vec3(c, step_own(plan, slot), vec3_select(stays, vec3_splat(0, 0, 0), own));
    ends_carry(plan, c, ccd_ends(plan), k, at.place, quat_select(stays, quat_identity(), turn));
}

/* The weighted mean offset of the positions below node k from their targets; for a look the distance of its ray. */
static vec3 ccd_way(const ik_plan *plan, columns c, int k) {
    const real zero = real_splat(0), one = real_splat(1);
    vec3 sum = vec3_splat(0, 0, 0);
    real all = zero;
    for (int t = 0; t < plan->task_count; t++) {
        if (!ends_moves(&plan->tasks[t]) || !task_side(plan, t, plan->nodes[k].slot)) continue;
        ends_wanted to = ccd_wanted(plan, c, t);
        vec3 way = vec3_sub(to.place, column_vec3(c, ends_place(ccd_ends(plan), t)));
        if (plan->tasks[t].kind == IK_LOOK) {
            vec3 axis = ends_axis(plan, c, ccd_ends(plan), t);
            real square = vec3_dot(way, way);
            way = vec3_sub(way, vec3_scale(vec3_dot(axis, way), axis));
            to.weight = to.weight / real_select(mask_equal(square, zero), one, square);
        }
        sum = vec3_add(sum, vec3_scale(to.weight, way));
        all = all + to.weight;
    }
    return vec3_scale(one / real_select(mask_equal(all, zero), one, all), sum);
}

/* Slides node k and the effectors below it. */
static void ccd_slide(const ik_plan *plan, columns c, int k, quat above) {
    const int slot = plan->nodes[k].slot;
    quat track = quat_multiply(above, joint_parent(plan, c, k));
    column_set_vec3(c, step_slide(plan, slot), quat_rotate(quat_conjugate(track), ccd_way(plan, c, k)));
    for (int axis = 0; axis < 3; axis++)
        turns_allow_slide(plan, c, k, axis, column(c, step_slide(plan, slot) + axis));
    ends_slide(plan, c, ccd_ends(plan), k, quat_rotate(track, column_vec3(c, step_slide(plan, slot))));
}

static void ccd_visit(const ik_plan *plan, columns c, int slot) {
    const int k = plan->node_of_slot[slot];
    ccd_place at = ccd_place_of(plan, c, k);
    if (plan->nodes[k].turns) ccd_turn(plan, c, k, at);
    if (plan->nodes[k].slides) ccd_slide(plan, c, k, at.above);
}

/* For every slot, the number of turning joints from there to its tips. */
static void ccd_measure_branches(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++)
        *column(c, ccd_height(plan, slot)) = real_splat(0);
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        real *height = column(c, ccd_height(plan, slot));
        if (node->turns) *height = *height + real_splat(1);
        if (!node->moves) continue;
        real *above = column(c, ccd_height(plan, plan->nodes[node->parent].slot));
        *above = real_max(*above, *height);
    }
}

static void ccd_sweep(const ik_plan *plan, real *bundle, int g) {
    columns c = columns_of_bundle(bundle, g);
    IK_NAME(turns_start)(plan, c);
    joint_find_ends(plan, c, ccd_ends(plan));
    if (plan->job->options.bounce) ccd_measure_branches(plan, c);
    for (int i = 0; i < plan->slots; i++) {
        const int slot = plan->job->options.start_from_tail ? plan->slots - 1 - i : i;
        ccd_visit(plan, c, slot);
        if (!plan->job->options.start_from_tail) IK_NAME(turns_try)(plan, bundle + g, 1, slot, slot + 1);
    }
    if (plan->job->options.start_from_tail) IK_NAME(turns_try)(plan, bundle + g, 1, 0, plan->slots);
    IK_NAME(turns_accept)(plan, c, ~mask_splat(0));
}
