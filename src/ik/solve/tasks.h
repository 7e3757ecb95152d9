/* Tasks: the demands of goals as rows of numbers that should become 0, and their derivatives by motions of joints.
 * Shared by all code that judges a pose or improves it.
 *
 * A motion of one joint moves the point of a task by `shift` and rotates its descendants by `turn`. Let r be the vector
 * from the joint to the point. A rotation d of the joint gives (d x r, d), and a slide u gives (u, 0). On side 1 the
 * joint carries what the task is about, on side -1 its reference joint. Relative to the reference, the task moves the
 * opposite way. The rows of a relative task, in world axes, are therefore
 *
 *   PLACE            e = wanted - p             side shift
 *   TURN             e = log(wanted R^-1)       side turn
 *   LOOK             e = the turn from the axis a to the direction t of the target, at distance D
 *                                               turn - (a . turn) a + t x shift / D, or from the other side
 *                                               - t x shift / D
 *   DISTANCE         e = wanted - |p - q|       n . side shift, where n is the direction from q to p
 *   CENTRE_OF_MASS   e = wanted - p             shift
 *   INSIDE           e = height - n . p         n . shift; only values above 0 count
 *   OUTSIDE          e = wanted - |p - q|       n . shift; likewise. p is the point of the bone and q the point of the
 * axis which are nearest to each other, n the direction from q to p
 *
 * For a PLACE the shift of side -1 is that of p itself, for a LOOK or a DISTANCE that of q. */

/* On 64-byte vectors methods solve plain jobs only. Goals are positions and rotations in the world, all of one level.
 * There are no scales, poles, speeds or postures; solve.h checks that. Other jobs go to 32-byte vectors. */
#define IS_WIDE (IK_BYTES == 64)

/* Tasks in the world that are only a position or a rotation. */
ik_inline int task_is_plain(const ik_task *task) {
    return task->other < 0 && (task->kind == IK_PLACE || task->kind == IK_TURN);
}

/* Tells the compiler so. */
ik_inline void task_assume_plain(const ik_task *task) {
#if IS_WIDE && defined(__GNUC__)
    if (!task_is_plain(task)) __builtin_unreachable();
#endif
    (void)task;
}

/* The wanted values: for a TURN the rotation; for all others a position or a normal, and a number. */
typedef union {
    quat rotation;
    struct {
        vec3 place;
        real number; /* the distance; the height of a plane along its normal */
        vec3 end;    /* for an OUTSIDE */
    };
} task_wanted;

/* Positions of the joints of a task; only those that its kind needs. For an OUTSIDE the ends of the bone are given, and
 * task_meet replaces them by the nearest points, on the bone (with its share) and on the axis. */
typedef struct {
    vec3 place;
    quat rotation;
    vec3 other_place;
    quat other_rotation;
    vec3 apart;
    real share;
} task_view;

typedef struct {
    vec3 shift, turn;
} motion;

/* Whether the node in a slot carries what the task is about (1), its reference (-1), or both or neither, so that it
 * changes nothing (0). */
ik_inline int task_side(const ik_plan *plan, int task, int slot) {
    return plan->sides[(ptrdiff_t)task * plan->slots + slot];
}

ik_inline vec3 task_scalar(real x) { return (vec3){x, real_splat(0), real_splat(0)}; }

/* Whether it is one-sided: only an error above 0 counts. */
ik_inline int task_is_one_sided(const ik_task *task) {
    return !IS_WIDE && (task->kind == IK_INSIDE || task->kind == IK_OUTSIDE);
}

/* Whether its rows are angles. */
ik_inline int task_is_angle(const ik_task *task) {
    task_assume_plain(task);
    return task->kind == IK_TURN || task->kind == IK_LOOK;
}

/* The axis of a LOOK in the world. */
ik_inline vec3 task_axis(const ik_plan *plan, const ik_task *task, const task_view *v) {
    return quat_rotate(v->rotation, vec3_direction_of_any(vec3_of(plan->job->goals[task->goal].axis)).unit);
}

/* The end of a LOOK or a DISTANCE. */
ik_inline vec3 task_end(const ik_task *task, const task_wanted *wanted, const task_view *v) {
    return task->other >= 0 ? v->other_place : wanted->place;
}

ik_inline vec3 rotation_vector(quat q) {
    turn by = turn_of_quat(q);
    return vec3_scale(by.half + by.half, by.axis);
}

/* The rotation from the axis to the direction of the target; none for a target on the joint. */
static inline vec3 task_look(const ik_plan *plan, const ik_task *task, const task_wanted *wanted, const task_view *v) {
    const real zero = real_splat(0);
    vec3 axis = task_axis(plan, task, v), way = vec3_sub(task_end(task, wanted, v), v->place);
    direction to = vec3_direction_of_any(way);
    quat arc = quat_shortest_arc(axis, to.unit, vec3_perpendicular(axis));
    vec3 off = vec3_select(mask_less(zero, to.length), rotation_vector(arc), vec3_splat(0, 0, 0));
    return vec3_poisoned(off, vec3_poison(way));
}

ik_inline real task_within(real x, real most) { return real_max(real_min(x, most), real_splat(0)); }

/* The nearest points of the bone and the axis of an OUTSIDE, two segments. The nearest points of the whole lines are
 * computed first, then clamped to the axis and to the bone. Parallel lines take the middle of the bone. If bone and
 * axis meet, they separate at right angles to both. */
static inline void task_meet(const ik_task *task, const task_wanted *wanted, task_view *v) {
    if (IS_WIDE || task->kind != IK_OUTSIDE) return;
    const real zero = real_splat(0), half = real_splat(0.5f), one = real_splat(1);
    const direction bone = vec3_direction_of_any(vec3_sub(v->place, v->other_place));
    const direction axis = vec3_direction_of_any(vec3_sub(wanted->end, wanted->place));
    const vec3 between = vec3_sub(v->other_place, wanted->place), cross = vec3_cross(bone.unit, axis.unit);
    const real along_bone = vec3_dot(bone.unit, between), along_axis = vec3_dot(axis.unit, between);
    const real cosine = vec3_dot(bone.unit, axis.unit), square = vec3_dot(cross, cross);
    const mask beside = mask_less(square, real_splat(TINY_SINE * TINY_SINE));
    const real lines = (cosine * along_axis - along_bone) / real_select(beside, one, square);
    real s = task_within(real_select(beside, half * bone.length, lines), bone.length);
    const real t = task_within(cosine * s + along_axis, axis.length);
    const real nearest = task_within(cosine * t - along_bone, bone.length);
    s = real_select(mask_less(zero, bone.length), nearest, zero);
    v->place = vec3_add(v->other_place, vec3_scale(s, bone.unit));
    v->other_place = vec3_add(wanted->place, vec3_scale(t, axis.unit));
    v->share = real_select(mask_less(zero, bone.length), s / real_max(bone.length, real_splat(SMALLEST)), one);
    const direction apart = vec3_direction_of_any(vec3_sub(v->place, v->other_place));
    const vec3 across = vec3_select(beside, vec3_perpendicular(bone.unit), vec3_direction_of_any(cross).unit);
    v->apart = vec3_select(mask_less(zero, apart.length), apart.unit, across);
}

/* The error of the pose for the task, in world axes; numbers come first. */
ik_inline vec3 task_error(const ik_plan *plan, const ik_task *task, const task_wanted *wanted, const task_view *v) {
    vec3 place = wanted->place;
    quat rotation = wanted->rotation;
    task_assume_plain(task);
    switch (task->kind) {
    case IK_PLACE:
        if (task->other >= 0) place = vec3_add(v->other_place, quat_rotate(v->other_rotation, place));
        return vec3_sub(place, v->place);
    case IK_TURN:
        if (task->other >= 0) rotation = quat_multiply(v->other_rotation, rotation);
        return rotation_vector(quat_multiply(rotation, quat_conjugate(v->rotation)));
    case IK_LOOK:
        return task_look(plan, task, wanted, v);
    case IK_DISTANCE:
        return task_scalar(wanted->number - vec3_length(vec3_sub(v->place, task_end(task, wanted, v))));
    case IK_INSIDE:
        return task_scalar(wanted->number - vec3_dot(wanted->place, v->place));
    case IK_OUTSIDE:
        return task_scalar(wanted->number - vec3_direction_of_any(vec3_sub(v->place, v->other_place)).length);
    default:
        return vec3_sub(place, v->place);
    }
}

/* The point that motions of a joint on that side move. */
ik_inline vec3 task_lever(const ik_task *task, const task_wanted *wanted, const task_view *v, int side) {
    return !IS_WIDE && side < 0 && task->kind != IK_PLACE ? task_end(task, wanted, v) : v->place;
}

/* The change of the task by a small motion: its error is reduced by this. */
static inline vec3 task_change(const ik_plan *plan, const ik_task *task, const task_wanted *wanted, const task_view *v,
                               int side, motion by) {
    vec3 shift = side < 0 ? vec3_scale(real_splat(-1), by.shift) : by.shift;
    task_assume_plain(task);
    switch (task->kind) {
    case IK_TURN:
        return side < 0 ? vec3_scale(real_splat(-1), by.turn) : by.turn;
    case IK_LOOK: {
        vec3 axis = task_axis(plan, task, v);
        direction to = vec3_direction_of_any(vec3_sub(task_end(task, wanted, v), v->place));
        vec3 aside =
            vec3_scale(real_splat(1) / real_max(to.length, real_splat(TINY_LENGTH)), vec3_cross(to.unit, shift));
        if (side < 0) return aside;
        return vec3_add(vec3_sub(by.turn, vec3_scale(vec3_dot(axis, by.turn), axis)), aside);
    }
    case IK_DISTANCE: {
        direction apart = vec3_direction_of_any(vec3_sub(v->place, task_end(task, wanted, v)));
        vec3 along = vec3_select(mask_less(real_splat(0), apart.length), apart.unit, vec3_splat(1, 0, 0));
        return task_scalar(vec3_dot(along, shift));
    }
    case IK_INSIDE:
        return task_scalar(vec3_dot(wanted->place, shift));
    case IK_OUTSIDE:
        return task_scalar(vec3_dot(v->apart, shift));
    default:
        return shift;
    }
}

/* The part of an error that counts. */
ik_inline vec3 task_miss(const ik_task *task, vec3 error) {
    if (task_is_one_sided(task)) error.x = real_max(error.x, real_splat(0));
    return error;
}
