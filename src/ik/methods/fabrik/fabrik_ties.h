/* FABRIK with frames, its ties. A tie holds an end at another joint, at a distance, or on one side of a plane. It also
 * holds a bone out of a capsule. fabrik_frames.h explains the method.
 *
 * A tie has an own end and, seen from another joint, a far end: the position that this joint gives the own end. Each is
 * pulled to the other; in the passes, if both can move, they meet half-way. Ties thus close a loop that is cut.
 * The target is the nearest position that satisfies the tie. A joint that turns optimally towards it
 * (solve/rigid_fit.h) therefore never makes the error larger:
 *
 *   PLACE      the own end is drawn to the far one, or the far one to the own
 *   TURN       likewise their rotations
 *   DISTANCE   to the nearest place at that distance from the other end
 *   INSIDE     to the nearest place of the plane, from beyond it
 *   OUTSIDE    the point of its bone that is nearest to the axis, straight out of the capsule. Passes leave it alone */

ik_inline int frames_is_tie(const ik_task *task) { return !joint_task_is_simple(task); }

ik_inline task_wanted frames_tie_wanted(const ik_plan *plan, columns c, int task) {
    quat all = column_quat(c, frames_turned(plan, plan->tasks[task].goal));
    if (plan->tasks[task].kind == IK_TURN) return (task_wanted){.rotation = all};
    task_wanted wanted = {.place = {all.w, all.v.x, all.v.y}, .number = all.v.z};
    if (plan->tasks[task].kind == IK_OUTSIDE) wanted.end = column_vec3(c, frames_target(plan, plan->tasks[task].goal));
    return wanted;
}

/* ---- where the ends are */

ik_inline vec3 frames_place_of(const void *of, const ik_plan *plan, int k) {
    return column_vec3(*(const columns *)of, frames_point(plan, plan->nodes[k].slot));
}
ik_inline quat frames_rotation_of(const void *of, const ik_plan *plan, int k) {
    return frames_now(plan, *(const columns *)of, k);
}
ik_inline whereabouts frames_whereabouts(const columns *c) {
    return (whereabouts){frames_place_of, frames_rotation_of, c};
}

/* For OUTSIDE: the nearest points of the bone and of the axis, and the vector from the axis to the bone. */
typedef struct {
    vec3 own, far, apart;
} tie_ends;

static tie_ends frames_tie_ends(const ik_plan *plan, columns c, int task) {
    const ik_task *t = &plan->tasks[task];
    task_wanted wanted = frames_tie_wanted(plan, c, task);
    task_view view = view_of(frames_whereabouts(&c), plan, t);
    task_meet(t, &wanted, &view);
    if (t->kind == IK_OUTSIDE) return (tie_ends){view.place, view.other_place, view.apart};
    if (t->kind == IK_INSIDE) return (tie_ends){.own = view.place, .far = view.place};
    if (t->kind == IK_DISTANCE) return (tie_ends){.own = view.place, .far = task_end(t, &wanted, &view)};
    vec3 far = vec3_add(view.other_place, quat_rotate(view.other_rotation, wanted.place));
    return (tie_ends){.own = view.place, .far = far};
}

/* How the far end of a TURN is turned. */
static quat frames_far_turned(const ik_plan *plan, columns c, int task) {
    quat wanted = frames_tie_wanted(plan, c, task).rotation;
    return quat_multiply(frames_now(plan, c, plan->tasks[task].other), wanted);
}

/* Which way a place is from another; along x where they are one. */
ik_inline vec3 frames_apart(vec3 from, vec3 to) {
    direction way = vec3_direction_of_any(vec3_sub(to, from));
    return vec3_select(mask_less(real_splat(0), way.length), way.unit, vec3_splat(1, 0, 0));
}

/* How far an end is beyond its plane, or within its capsule; and the way out. */
typedef struct {
    real deep;
    vec3 out;
} tie_depth;

static tie_depth frames_beyond(const ik_task *task, const task_wanted *wanted, vec3 end) {
    const real zero = real_splat(0);
    if (task->kind == IK_INSIDE)
        return (tie_depth){real_max(wanted->number - vec3_dot(wanted->place, end), zero), wanted->place};
    direction axis = vec3_direction_of_any(vec3_sub(wanted->end, wanted->place));
    real along = task_within(vec3_dot(axis.unit, vec3_sub(end, wanted->place)), axis.length);
    vec3 from = vec3_add(wanted->place, vec3_scale(along, axis.unit));
    real far = vec3_direction_of_any(vec3_sub(end, from)).length;
    return (tie_depth){real_max(wanted->number - far, zero), frames_apart(from, end)};
}

/* The nearest place that is right for an end, where the other one is. */
static vec3 frames_tie_to(const ik_plan *plan, columns c, int task, vec3 end, vec3 other) {
    const task_wanted wanted = frames_tie_wanted(plan, c, task);
    if (task_is_one_sided(&plan->tasks[task])) {
        tie_depth d = frames_beyond(&plan->tasks[task], &wanted, end);
        return vec3_add(end, vec3_scale(d.deep, d.out));
    }
    if (plan->tasks[task].kind == IK_DISTANCE)
        return vec3_add(other, vec3_scale(wanted.number, frames_apart(other, end)));
    return other;
}

/* The weight of a tie: 0 for an end on the right side of its plane, or outside of its capsule. */
static real frames_tie_bites(const ik_plan *plan, columns c, int task, vec3 end, real counts) {
    const real zero = real_splat(0);
    if (!task_is_one_sided(&plan->tasks[task])) return counts;
    const task_wanted wanted = frames_tie_wanted(plan, c, task);
    return real_select(mask_less(zero, frames_beyond(&plan->tasks[task], &wanted, end).deep), counts, zero);
}

/* How far off it is; of rotations twice the sine of half the angle. */
static real frames_tie_miss(const ik_plan *plan, columns c, int task) {
    const ik_task *t = &plan->tasks[task];
    const real zero = real_splat(0);
    real miss;
    if (t->kind == IK_TURN) {
        quat off = quat_multiply(frames_far_turned(plan, c, task), quat_conjugate(frames_now(plan, c, t->node)));
        miss = vec3_length(off.v) + vec3_length(off.v);
    } else {
        tie_ends ends = frames_tie_ends(plan, c, task);
        miss = vec3_length(vec3_sub(frames_tie_to(plan, c, task, ends.own, ends.far), ends.own));
    }
    return real_select(mask_equal(frames_weight_in_level(plan, c, t), zero), zero, miss);
}

/* ---- in the passes */

/* Before the passes: where they have the ends. */
static void frames_aim_ties(const ik_plan *plan, columns c) {
    for (int t = 0; t < plan->task_count; t++) {
        if (!frames_is_tie(&plan->tasks[t]) || plan->tasks[t].kind == IK_TURN) continue;
        if (plan->tasks[t].kind == IK_OUTSIDE) continue;
        const int both = plan->tasks[t].moves[0] && plan->tasks[t].moves[1];
        const real share = real_splat(both ? (number)0.5 : 1);
        tie_ends ends = frames_tie_ends(plan, c, t);
        vec3 own = vec3_sub(frames_tie_to(plan, c, t, ends.own, ends.far), ends.own);
        vec3 far = vec3_sub(frames_tie_to(plan, c, t, ends.far, ends.own), ends.far);
        column_set_vec3(c, frames_tied_to(plan, t, 1), vec3_add(ends.own, vec3_scale(share, own)));
        column_set_vec3(c, frames_tied_to(plan, t, -1), vec3_add(ends.far, vec3_scale(share, far)));
        real counts = *column(c, frames_target_share(plan, plan->tasks[t].goal));
        *column(c, frames_tie_counts(plan, t)) = frames_tie_bites(plan, c, t, ends.own, counts);
    }
}

/* Whether a tie has an end at node k that the passes move: 1, its own, -1, the far one; else 0. */
static int frames_tied_side(const ik_plan *plan, int task, int k) {
    const ik_task *t = &plan->tasks[task];
    if (!frames_is_tie(t) || t->kind == IK_OUTSIDE || (t->node != k && t->other != k)) return 0;
    int side = t->node == k ? 1 : -1;
    return t->moves[side < 0] ? side : 0;
}

/* The weight of all ties of positions at node k, if the passes move it. */
static real frames_ties_count(const ik_plan *plan, columns c, int k) {
    real sum = real_splat(0);
    for (int t = 0; t < plan->task_count && plan->nodes[k].ties; t++)
        if (plan->tasks[t].kind != IK_TURN && frames_tied_side(plan, t, k))
            sum = sum + *column(c, frames_tie_counts(plan, t));
    return sum;
}

/* In the backward pass: from where all else has node k to where its ties have it, by what they count for. */
static vec3 frames_tied(const ik_plan *plan, columns c, int k, vec3 p) {
    const real zero = real_splat(0);
    real all = *column(c, frames_below(plan, plan->nodes[k].slot));
    vec3 sum = vec3_scale(all, p);
    for (int t = 0; t < plan->task_count; t++) {
        int side = frames_tied_side(plan, t, k);
        if (!side || plan->tasks[t].kind == IK_TURN) continue;
        real counts = *column(c, frames_tie_counts(plan, t));
        vec3 to = column_vec3(c, frames_tied_to(plan, t, side));
        if (side < 0 && plan->tasks[t].kind == IK_PLACE)
            to = vec3_sub(to, quat_rotate(frames_now(plan, c, k), frames_tie_wanted(plan, c, t).place));
        sum = vec3_add(sum, vec3_scale(counts, to));
        all = all + counts;
    }
    mask none = mask_equal(all, zero);
    return vec3_select(none, p, vec3_scale(real_splat(1) / real_select(none, real_splat(1), all), sum));
}

/* Whether a tie gives the rotation of node k: that of its own end, or else, where that cannot turn, of the far one. */
static int frames_tie_gives(const ik_plan *plan, int task, int k) {
    if (!plan->nodes[k].turns || plan->tasks[task].kind != IK_TURN) return 0;
    int side = frames_tied_side(plan, task, k);
    return side > 0 || (side < 0 && !plan->tasks[task].moves[0]);
}

static int frames_is_given(const ik_plan *plan, int k) {
    int given = plan->nodes[k].rotation >= 0;
    for (int t = 0; t < plan->task_count && plan->ties; t++)
        given |= frames_tie_gives(plan, t, k);
    return given;
}

/* The rotation that ties give it; without any the one that it has. */
static quat frames_tied_rotation(const ik_plan *plan, columns c, int k, quat rotation) {
    for (int t = 0; t < plan->task_count; t++) {
        if (!frames_tie_gives(plan, t, k)) continue;
        quat given = frames_far_turned(plan, c, t);
        if (plan->tasks[t].other == k) {
            quat back = quat_conjugate(frames_tie_wanted(plan, c, t).rotation);
            given = quat_multiply(frames_now(plan, c, plan->tasks[t].node), back);
        }
        mask counts = ~mask_equal(*column(c, frames_turned_weight(plan, plan->tasks[t].goal)), real_splat(0));
        rotation = quat_select(counts, quat_polished(given), rotation);
    }
    return rotation;
}

/* ---- in the sweep */

/* Stores the positions of the far ends apart from their nodes, like those of the own ends (solve/effectors.h). */
static void frames_find_far(const ik_plan *plan, columns c) {
    const int far = frames_far(plan);
    for (int t = 0; t < plan->task_count; t++) {
        if (!frames_is_tie(&plan->tasks[t])) continue;
        if (plan->tasks[t].kind == IK_TURN)
            column_set_quat(c, ends_rotation(far, t), frames_far_turned(plan, c, t));
        else
            column_set_vec3(c, ends_place(far, t), frames_tie_ends(plan, c, t).far);
    }
}

/* The target of the end of a tie on one side. */
static ends_wanted frames_end_wanted(const ik_plan *plan, columns c, int task, int side) {
    const int ends = side < 0 ? frames_far(plan) : frames_ends(plan);
    const int others = side < 0 ? frames_ends(plan) : frames_far(plan);
    real weight = frames_weight_of(plan, c, &plan->tasks[task]);
    if (plan->tasks[task].kind == IK_TURN)
        return (ends_wanted){.rotation = column_quat(c, ends_rotation(others, task)), .weight = weight};
    vec3 end = column_vec3(c, ends_place(ends, task)), other = column_vec3(c, ends_place(others, task));
    return (ends_wanted){.place = frames_tie_to(plan, c, task, end, other),
                         .weight = frames_tie_bites(plan, c, task, end, weight)};
}
static ends_wanted frames_far_wanted(const ik_plan *plan, columns c, int task) {
    return frames_end_wanted(plan, c, task, -1);
}

/* ---- all joints together */

/* How far a tie is off; and of what is a number, the way along which that changes. */
static vec3 frames_tie_off(const ik_plan *plan, columns c, int task) {
    const ik_task *t = &plan->tasks[task];
    if (t->kind == IK_TURN)
        return frames_vector(
            quat_multiply(frames_far_turned(plan, c, task), quat_conjugate(frames_now(plan, c, t->node))));
    tie_ends ends = frames_tie_ends(plan, c, task);
    const task_wanted wanted = frames_tie_wanted(plan, c, task);
    vec3 to = vec3_sub(frames_tie_to(plan, c, task, ends.own, ends.far), ends.own), along = wanted.place;
    if (t->kind == IK_OUTSIDE) to = vec3_scale(vec3_length(to), along = ends.apart);
    if (t->kind == IK_DISTANCE || t->kind == IK_PLACE) along = frames_apart(ends.far, ends.own);
    along = vec3_scale(frames_tie_bites(plan, c, task, ends.own, real_splat(1)), along);
    column_set_vec3(c, frames_along(plan, task), along);
    return to;
}

/* The part of a change that counts. */
ik_inline vec3 frames_tie_change(const ik_plan *plan, columns c, int task, vec3 change) {
    if (plan->tasks[task].kind != IK_DISTANCE && !task_is_one_sided(&plan->tasks[task])) return change;
    vec3 along = column_vec3(c, frames_along(plan, task));
    return vec3_scale(vec3_dot(along, change), along);
}
