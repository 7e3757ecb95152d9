/* Sweeps over bodies (bodies.h): goals, joints and limits are satisfied one after the other. Each moves the two bodies
 * that it connects, the lighter one more. M. Macklin, M. Mueller, "XPBD" (2016), and with N. Chentanez, S. Jeschke, T.
 * Kim, "Detailed rigid body simulation with extended position based dynamics" (2020); no velocities, no compliance.
 *
 *   a pin     two points of two bodies should coincide. Let d be the vector from the first to the second, r from the
 *             centre to the point, and w = |d|^2 / m + |r x d|^2 / I. An impulse p = d |d|^2 / (w1 + w2) moves the
 *             first body by p / m and turns it by r x p / I. The other one moves back.
 *   a turn    a rotation should be another. The turn between them is shared in proportion to 1 / I. */

/* Half of a small turn as the vector of a quaternion: to first order, of unit length afterwards. */
static void sweep_turn(const ik_plan *plan, columns c, int slot, vec3 by) {
    const int column = body_column(plan, slot, BODY_TURNED);
    const real most = real_splat((number)plan->job->options.max_angle);
    const mask over = mask_less(most * most, vec3_dot(by, by));
    if (mask_any(over)) by = vec3_select(over, vec3_cut(by, most), by);
    by = vec3_scale(real_splat((number)0.5), by);
    const quat turned = quat_multiply((quat){real_splat(1), by}, column_quat(c, column));
    column_set_quat(c, column, quat_scale(real_splat(1) / real_sqrt(quat_dot(turned, turned)), turned));
}

/* A point of a body, seen from its centre. */
typedef struct {
    int slot; /* -1: of the world */
    vec3 arm;
} body_point;

ik_inline body_point sweep_point(const ik_plan *plan, columns c, int body, vec3 place) {
    if (body < 0) return (body_point){-1, place};
    const int slot = plan->nodes[body].slot;
    return (body_point){slot, vec3_sub(place, column_vec3(c, body_column(plan, slot, BODY_PLACE)))};
}

/* How far an impulse `off` moves a point along it, times the length of `off`; `square` is that length squared. */
ik_inline real sweep_gives(const ik_plan *plan, columns c, body_point p, vec3 off, real square) {
    if (p.slot < 0) return real_splat(0);
    const vec3 cross = vec3_cross(p.arm, off);
    return *column(c, body_column(plan, p.slot, BODY_LIGHT)) * square +
           *column(c, body_column(plan, p.slot, BODY_WILLING)) * vec3_dot(cross, cross);
}

ik_inline void sweep_push(const ik_plan *plan, columns c, body_point p, vec3 impulse) {
    if (p.slot < 0) return;
    const int place = body_column(plan, p.slot, BODY_PLACE);
    const real light = *column(c, body_column(plan, p.slot, BODY_LIGHT));
    const real willing = *column(c, body_column(plan, p.slot, BODY_WILLING));
    column_set_vec3(c, place, vec3_add(column_vec3(c, place), vec3_scale(light, impulse)));
    sweep_turn(plan, c, p.slot, vec3_scale(willing, vec3_cross(p.arm, impulse)));
}

/* Moves points a and b towards each other, by a share of their distance. */
static void sweep_pin(const ik_plan *plan, columns c, body_point a, body_point b, vec3 off, real share) {
    const real square = vec3_dot(off, off);
    const real gives = sweep_gives(plan, c, a, off, square) + sweep_gives(plan, c, b, off, square);
    const vec3 impulse = vec3_scale(share * square / real_max(gives, real_splat(SMALLEST)), off);
    sweep_push(plan, c, a, impulse);
    sweep_push(plan, c, b, vec3_scale(real_splat(-1), impulse));
}

/* The parent body of the body of node k; -1: none. */
ik_inline int sweep_parent(const ik_plan *plan, int k) {
    return plan->nodes[k].moves ? body_of(plan, plan->nodes[k].parent) : -1;
}

ik_inline real sweep_relaxation(const ik_plan *plan) { return real_splat((number)plan->job->options.relaxation); }

/* Pins a body to its parent at their joint. */
static void sweep_joint(const ik_plan *plan, columns c, int k) {
    const vec3 here = bodies_frame(plan, c, k).place, there = bodies_hung(plan, c, k, here);
    const int above = sweep_parent(plan, k);
    const body_point a = sweep_point(plan, c, k, here), b = sweep_point(plan, c, above, there);
    sweep_pin(plan, c, a, b, vec3_sub(there, here), sweep_relaxation(plan));
}

/* Twice the vector of the rotation between two: the rotation vector, to first order. */
ik_inline vec3 sweep_between(quat from, quat to) {
    const quat off = quat_multiply(to, quat_conjugate(from));
    return vec3_scale(real_splat(2), quat_negate_if(mask_less(off.w, real_splat(0)), off).v);
}

/* Keeps the joint of a body within its limit: the body turns into it, and its parent turns the opposite way. */
static void sweep_limit(const ik_plan *plan, columns c, int k) {
    if (!joint_is_limited(plan, k)) return;
    const int slot = plan->nodes[k].slot, turned = body_column(plan, slot, BODY_TURNED);
    const quat was = column_quat(c, turned), rest = quat_multiply(bodies_above_turned(plan, c, k), solve_rest(plan, k));
    const quat local = quat_multiply(quat_conjugate(rest), was);
    const quat allowed = solve_clamped(plan, k, local);
    const vec3 off = vec3_sub(allowed.v, local.v);
    const mask over =
        mask_less(real_splat(LIMIT_TOLERANCE), real_max(vec3_largest(off), real_abs(allowed.w - local.w)));
    if (!mask_any(over)) return;
    const vec3 by = vec3_scale(sweep_relaxation(plan), sweep_between(was, quat_multiply(rest, allowed)));
    const int parent = sweep_parent(plan, k);
    real own = *column(c, body_column(plan, slot, BODY_WILLING)), other = real_splat(0);
    if (parent >= 0) other = *column(c, body_column(plan, plan->nodes[parent].slot, BODY_WILLING));
    const real share = own / real_max(own + other, real_splat(SMALLEST));
    sweep_turn(plan, c, slot, vec3_scale(share, by));
    column_set_quat(c, turned, quat_select(over, column_quat(c, turned), was));
    if (parent < 0) return;
    const int above_turned = body_column(plan, plan->nodes[parent].slot, BODY_TURNED);
    const quat stood = column_quat(c, above_turned);
    sweep_turn(plan, c, plan->nodes[parent].slot, vec3_scale(share - real_splat(1), by));
    column_set_quat(c, above_turned, quat_select(over, column_quat(c, above_turned), stood));
}

/* The weight of a goal relative to the largest, 0 to 1. */
ik_inline real sweep_strength(const ik_plan *plan, columns c, int task) {
    const real root = *column(c, joint_task(plan, task) + TASK_WEIGHT);
    return root * root;
}

/* Moves the subject of a goal to its wanted position, by the weight of the goal. Goals other than positions and
 * rotations in the world are left to the finish. */
static void sweep_goal(const ik_plan *plan, columns c, int task) {
    const ik_task *t = &plan->tasks[task];
    if (!joint_task_is_simple(t) || body_of(plan, t->node) < 0) return;
    const int body = body_of(plan, t->node);
    const body_frame now = bodies_frame(plan, c, t->node);
    const real share = sweep_relaxation(plan) * sweep_strength(plan, c, task);
    const task_wanted wanted = joint_wanted(plan, c, task);
    if (t->kind == IK_TURN) {
        if (plan->nodes[body].turns)
            sweep_turn(plan, c, plan->nodes[body].slot, vec3_scale(share, sweep_between(now.turned, wanted.rotation)));
        return;
    }
    const body_point a = sweep_point(plan, c, body, now.place), b = {-1, wanted.place};
    sweep_pin(plan, c, a, b, vec3_sub(wanted.place, now.place), share);
}

/* The number of positions that body k and its descendants have to reach. */
static int sweep_carried_goals(const ik_plan *plan, int k) {
    int count = 0;
    for (int task = 0; task < plan->task_count; task++)
        count += plan->tasks[task].kind == IK_PLACE && ik_carries(plan, k, plan->tasks[task].node);
    return count;
}

/* The highest body of a limb: from the one that carries the goal upwards, as long as no other goal is carried. */
static int sweep_limb(const ik_plan *plan, int task) {
    int top = body_of(plan, plan->tasks[task].node);
    const int goals = top < 0 ? 0 : sweep_carried_goals(plan, top);
    for (int above = top; above >= 0; above = sweep_parent(plan, above)) {
        if (sweep_carried_goals(plan, above) != goals) break;
        top = above;
    }
    return top;
}

ik_inline int sweep_is_place(const ik_plan *plan, int task) {
    const ik_task *t = &plan->tasks[task];
    return t->kind == IK_PLACE && joint_task_is_simple(t) && body_of(plan, t->node) >= 0;
}

static void sweep_sub(const ik_plan *plan, columns c, int task) {
    const int top = sweep_limb(plan, task);
    for (int sweep = 0; sweep < plan->job->options.sub_sweeps; sweep++) {
        sweep_goal(plan, c, task);
        for (int k = body_of(plan, plan->tasks[task].node); k != top; k = sweep_parent(plan, k)) {
            sweep_joint(plan, c, k);
            sweep_limit(plan, c, k);
        }
    }
}

static void sweep_once(const ik_plan *plan, columns c) {
    for (int task = 0; task < plan->task_count; task++)
        if (plan->job->options.sub_sweeps > 0 && sweep_is_place(plan, task)) sweep_sub(plan, c, task);
    for (int task = 0; task < plan->task_count; task++)
        sweep_goal(plan, c, task);
    for (int slot = plan->slots - 1; slot >= 0; slot--)
        if (body_is(plan, plan->node_of_slot[slot])) sweep_joint(plan, c, plan->node_of_slot[slot]);
    for (int slot = plan->slots - 1; slot >= 0; slot--)
        if (body_is(plan, plan->node_of_slot[slot])) sweep_limit(plan, c, plan->node_of_slot[slot]);
}
