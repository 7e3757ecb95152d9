/* What dls keeps of an item and of a step, column by column, and what it knows of a joint: about which axes it turns,
 * along which it slides, and how willingly. */

enum dls_state {
    DLS_BONE,    /* mean length */
    DLS_DAMPING, /* negative: not chosen yet */
    DLS_GROWTH,  /* of the damping when a step is taken back */
    DLS_LEAST,   /* squared error since the last shake */
    DLS_IDLE,    /* steps without progress on that */
    DLS_SHAKEN,  /* how often */
    DLS_BEST,    /* the error of the pose that is kept aside */
    DLS_LEVEL,   /* what a level counts beside the one before, in whether a step is better */
    DLS_STATE
};

enum dls_task { DLS_TARGET, DLS_WEIGHT = 4, DLS_UNIT, DLS_TASK };

/* What the compiler should know. */
typedef struct {
    int plain; /* one place to reach, and joints that turn freely */
} dls_shape;

ik_inline int dls_tasks(const ik_plan *plan, dls_shape shape) { return shape.plain ? 1 : plan->task_count; }

ik_inline int dls_has_posture(const ik_plan *plan) { return plan->postures || plan->job->options.posture > 0; }

/* Of an item: rotations and slides first, they are the result. */
ik_inline int dls_rotation(int slot) { return OWN + 4 * slot; }
/* Of a node that slides: how far from its offset, in its parent's space. */
ik_inline int dls_slid(const ik_plan *plan, int slot) { return dls_rotation(plan->slots) + 3 * slot; }
ik_inline int dls_results(const ik_plan *plan) { return dls_slid(plan, plan->columns_of_slides); }
ik_inline int dls_position(const ik_plan *plan, int slot) { return dls_results(plan) + 3 * slot; }
ik_inline int dls_task(const ik_plan *plan, int task) { return dls_position(plan, plan->slots) + DLS_TASK * task; }
ik_inline int dls_state(const ik_plan *plan, enum dls_state what) { return dls_task(plan, plan->task_count) + what; }
/* Of a hinge, from rest; and, of a joint that does not move, its parent's rotation in the world. */
ik_inline int dls_angle(const ik_plan *plan, int slot) { return dls_state(plan, DLS_STATE) + slot; }
ik_inline int dls_above(const ik_plan *plan, int slot) { return dls_angle(plan, plan->slots) + 4 * slot; }
/* Of a node that a posture is for: the local rotation, and its share. */
ik_inline int dls_posture(const ik_plan *plan, int slot) { return dls_above(plan, plan->bases) + 5 * slot; }

/* Of a step, of which none outlives an iteration: what all turns together do to a joint, and where they take it; what
 * pulls at it, and then its own turn, as rotation vector, a hinge's as angle; its axes; whether it is held, and by
 * which turn; the turn that its limit would allow; the turn towards what it prefers. */
ik_inline int dls_work(const ik_plan *plan) {
    return plan->rests ? dls_posture(plan, plan->columns_of_postures) : dls_angle(plan, 0);
}
ik_inline int dls_turn(const ik_plan *plan, int slot) { return dls_work(plan) + 4 * slot; }
ik_inline int dls_moved(const ik_plan *plan, int slot) { return dls_turn(plan, plan->slots) + 3 * slot; }
ik_inline int dls_delta(const ik_plan *plan, int slot) { return dls_moved(plan, plan->slots) + 3 * slot; }
ik_inline int dls_axis(const ik_plan *plan, int slot) { return dls_delta(plan, plan->slots) + 9 * slot; }
ik_inline int dls_fixed(const ik_plan *plan, int slot) { return dls_axis(plan, plan->slots) + slot; }
ik_inline int dls_held(const ik_plan *plan, int slot) { return dls_fixed(plan, plan->slots) + 3 * slot; }
ik_inline int dls_allowed(const ik_plan *plan, int slot) { return dls_held(plan, plan->slots) + 3 * slot; }
ik_inline int dls_wish(const ik_plan *plan, int slot) { return dls_allowed(plan, plan->slots) + 3 * slot; }
/* The best pose so far, as in the record, once a chain was shaken. */
ik_inline int dls_kept(const ik_plan *plan) { return dls_wish(plan, plan->slots); }
/* Of nodes that slide: how far they go in this step, in units of a turn; whether they are held along an axis, and by
 * how much; how far they would have to go to be allowed. */
ik_inline int dls_shift(const ik_plan *plan, int slot) {
    return dls_kept(plan) + (plan->slides ? 11 : 8) * plan->slots + 3 * slot;
}
ik_inline int dls_pinned(const ik_plan *plan, int slot) { return dls_shift(plan, plan->slots) + 3 * slot; }
ik_inline int dls_pinned_by(const ik_plan *plan, int slot) { return dls_pinned(plan, plan->slots) + 3 * slot; }
/* Mass times place of what every node carries, in shares of the whole. */
ik_inline int dls_moment(const ik_plan *plan, int slot) {
    return dls_shift(plan, plan->slides ? 3 * plan->slots : 0) + 3 * slot;
}
/* Of an INSIDE: 1: it counts in this step, 2: it does not any more. */
ik_inline int dls_active(const ik_plan *plan, int task) {
    return dls_moment(plan, plan->weighed ? plan->slots : 0) + task;
}
/* Right sides, then the matrix. */
ik_inline int dls_rows(const ik_plan *plan) { return dls_active(plan, plan->inside ? plan->task_count : 0); }
ik_inline int dls_end(const ik_plan *plan) {
    int rows = plan->rows, levels = plan->levels > 1;
    return dls_rows(plan) + (levels ? 4 : 2) * rows + (levels ? 3 : 2) * (rows * (rows + 1) / 2);
}

static record_size dls_size(const ik_plan *plan) {
    return (record_size){dls_work(plan), dls_results(plan), dls_end(plan) - dls_work(plan)};
}

/* ---- joints */

/* Of a node that turns; NULL: none. */
ik_inline const ik_limit *dls_limit(const ik_plan *plan, int k) {
    const ik_limit *limits = plan->job->skeleton->limits;
    return limits && plan->nodes[k].turns ? &limits[plan->nodes[k].joint] : NULL;
}

static int dls_is_stiff(const ik_limit *limit) {
    return limit->stiffness[0] != 0 || limit->stiffness[1] != 0 || limit->stiffness[2] != 0;
}

/* About how many axes of its own node k turns; 0: about all of the world's alike. */
static int dls_axes(const ik_plan *plan, int k) {
    const ik_limit *limit = dls_limit(plan, k);
    if (!limit || (limit->kind == IK_FREE && !dls_is_stiff(limit))) return 0;
    return limit->kind == IK_HINGE ? 1 : 3;
}

static int dls_is_limited(const ik_plan *plan, int k) {
    const ik_limit *limit = dls_limit(plan, k);
    return limit && limit->kind != IK_FREE;
}

static int dls_is_hinge(const ik_plan *plan, int k) {
    return dls_is_limited(plan, k) && dls_limit(plan, k)->kind == IK_HINGE;
}

/* How willingly node k turns about an axis, in lanes where it is not held. */
ik_inline real dls_willing(const ik_plan *plan, columns c, int k, int axis) {
    number willing = 1 - (number)dls_limit(plan, k)->stiffness[axis];
    return real_splat(willing) * (real_splat(1) - *column(c, dls_fixed(plan, plan->nodes[k].slot)));
}

/* The rotation in the world of what node k hangs from. */
static quat dls_parent(const ik_plan *plan, columns c, int k) {
    if (plan->nodes[k].moves) return column_quat(c, dls_rotation(plan->nodes[plan->nodes[k].parent].slot));
    int base = 0;
    for (int slot = 0; slot < plan->nodes[k].slot; slot++)
        base += !plan->nodes[plan->node_of_slot[slot]].moves;
    return column_quat(c, dls_above(plan, base));
}

/* How far a node slides as willingly as it turns by a radian. */
ik_inline real dls_slide_unit(const ik_plan *plan, columns c) { return *column(c, dls_state(plan, DLS_BONE)); }

/* How willingly a node slides along an axis of its parent, in lanes where it is not pinned. */
ik_inline real dls_slides(const ik_plan *plan, columns c, int slot, int axis) {
    real unit = dls_slide_unit(plan, c);
    return unit * unit * (real_splat(1) - *column(c, dls_pinned(plan, slot) + axis));
}

/* What sliding adds to the block of two places. */
static mat3 dls_slide_block(const ik_plan *plan, columns c, int k) {
    const real one = real_splat(1), zero = real_splat(0);
    const vec3 axes[3] = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
    quat above = dls_parent(plan, c, k);
    mat3 sum = {vec3_splat(0, 0, 0), vec3_splat(0, 0, 0), vec3_splat(0, 0, 0)};
    for (int i = 0; i < 3; i++) {
        vec3 axis = quat_rotate(above, axes[i]), a = vec3_scale(dls_slides(plan, c, plan->nodes[k].slot, i), axis);
        sum.x = vec3_add(sum.x, vec3_scale(a.x, axis));
        sum.y = vec3_add(sum.y, vec3_scale(a.y, axis));
        sum.z = vec3_add(sum.z, vec3_scale(a.z, axis));
    }
    return sum;
}

ik_inline quat dls_frame(const ik_limit *limit) {
    quat frame = {real_splat((number)limit->frame[0]), vec3_of(limit->frame + 1)};
    return quat_unit(frame);
}

/* The axes of all joints in the world. */
static void dls_turn_axes(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns || !dls_axes(plan, k)) continue;
        quat turned = quat_multiply(column_quat(c, dls_rotation(slot)), dls_frame(dls_limit(plan, k)));
        mat3 m = mat3_of_quat(turned);
        column_set_vec3(c, dls_axis(plan, slot), (vec3){m.x.x, m.y.x, m.z.x});
        column_set_vec3(c, dls_axis(plan, slot) + 3, (vec3){m.x.y, m.y.y, m.z.y});
        column_set_vec3(c, dls_axis(plan, slot) + 6, (vec3){m.x.z, m.y.z, m.z.z});
    }
}

/* A hinge's turn is an angle. */
ik_inline vec3 dls_as_vector(const ik_plan *plan, columns c, int k, vec3 turn) {
    return dls_is_hinge(plan, k) ? vec3_scale(turn.x, column_vec3(c, dls_axis(plan, plan->nodes[k].slot))) : turn;
}
