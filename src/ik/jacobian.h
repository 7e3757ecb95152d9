/* Damped least squares. C. W. Wampler, "Manipulator inverse kinematic solutions based on vector formulations and damped
 * least-squares methods", IEEE Trans. SMC 16 (1986); the choice of damping: H. B. Nielsen, "Damping parameter in
 * Marquardt's method", report IMM-REP-1999-05 (1999); limits as in P. Baerlocher, R. Boulic, "An inverse kinematics
 * architecture enforcing an arbitrary number of strict priority levels", The Visual Computer 20 (2004).
 *
 * Idea. A small turn d of a joint moves a point at r from it by d x r, and turns what hangs from the joint by d. These
 * are the columns of the Jacobian J. Of all turns that would take away the error e, if motion were linear, take short
 * ones, since it is not: those that make |e - J d|^2 + damping |d|^2 least.
 *
 *   A = J W J^T            symmetric, three rows for every task: the place of a goal's point, or a joint's rotation
 *   (A + damping) y = e    L D L^T
 *   d = W J^T y            for every joint: W (r x y), summed over what hangs from it
 *
 * J is never stored. A block of A for two tasks is a sum over the joints that move both; of a ball joint, with r and s
 * from it to the two points, (r . s) I - s r^T. W is how willingly a joint turns, 1 - stiffness.
 *
 * All joints turn at once, each about where it was: with D the turns, S[j] = S[parent] D[j] is what all of them do to
 * joint j, and a bone from j turns by S[j].
 *
 *   damping   Nielsen's trust region: starts at a tenth of A's largest diagonal element; falls as far as the error fell
 *             as foreseen, to a third at most; a step that makes it worse is taken back, and damping grows. With the
 *             option `damping` it is constant, every step is kept, and shortened as a whole to max_step.
 *   limits    Of the joints that a step would take over their limits the one with the least way to go is set to its
 *             limit, what that does is taken off the error, and the rest is solved again without it, until no more are
 *             over. One such solve is one step of the frame, which does not count as an iteration.
 *   posture   d = J^+ e + (I - J^+ J) z, where z turns joints back towards rest: as J^+ (e - J z) + z
 *   weights   of goals: rows are multiplied by their roots; rotations count by the mean bone as length.
 *
 * Unless `textbook`: a joint chain without limits whose only target is out of reach is laid towards it at once; one
 * that makes no progress is shaken, the same way for every item, and the best pose found is what stays. */

/* A step that takes less than this share off the error is no progress; after so many of them the chain is shaken, and
 * after so many times given up. */
#define DLS_PROGRESS (number)1e-3
#define DLS_HOPELESS (number)1e-8 /* foreseen to take less: it is at rest, and need not wait */
enum { DLS_PATIENCE = 5, DLS_SHAKES = 8 };

/* ---- columns */

enum dls_state {
    DLS_BONE,    /* mean length */
    DLS_DAMPING, /* negative: not chosen yet */
    DLS_GROWTH,  /* of the damping when a step is taken back */
    DLS_LEAST,   /* squared error since the last shake */
    DLS_IDLE,    /* steps without progress on that */
    DLS_SHAKEN,  /* how often */
    DLS_BEST,    /* the error of the pose that is kept aside */
    DLS_STATE
};

enum dls_task { DLS_TARGET, DLS_WEIGHT = 4, DLS_UNIT, DLS_TASK };

/* What the compiler should know. */
typedef struct {
    int plain; /* one place to reach, and joints that turn freely */
} dls_shape;

ik_inline int dls_tasks(const ik_plan *plan, dls_shape shape) { return shape.plain ? 1 : plan->task_count; }

/* Whether what joints hang from matters. */
ik_inline int dls_knows_rest(const ik_plan *plan) { return plan->limited || plan->job->options.posture > 0; }

/* Of an item: rotations first, they are the result. */
ik_inline int dls_rotation(int slot) { return OWN + 4 * slot; }
ik_inline int dls_position(const ik_plan *plan, int slot) { return dls_rotation(plan->slots) + 3 * slot; }
ik_inline int dls_task(const ik_plan *plan, int task) { return dls_position(plan, plan->slots) + DLS_TASK * task; }
ik_inline int dls_state(const ik_plan *plan, enum dls_state what) { return dls_task(plan, plan->task_count) + what; }
/* Of a hinge, from rest; and, of a joint that does not move, its parent's rotation in the world. */
ik_inline int dls_angle(const ik_plan *plan, int slot) { return dls_state(plan, DLS_STATE) + slot; }
ik_inline int dls_above(const ik_plan *plan, int slot) { return dls_angle(plan, plan->slots) + 4 * slot; }

/* Of a step, of which none outlives an iteration: what all turns together do to a joint, and where they take it; what
 * pulls at it, and then its own turn, as rotation vector, a hinge's as angle; its axes; whether it is held, and by
 * which turn; the turn that its limit would allow; the turn towards rest. */
ik_inline int dls_work(const ik_plan *plan) {
    return dls_knows_rest(plan) ? dls_above(plan, plan->bases) : dls_angle(plan, 0);
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
/* Right sides, then the matrix. */
ik_inline int dls_rows(const ik_plan *plan) { return dls_kept(plan) + 8 * plan->slots; }
ik_inline int dls_end(const ik_plan *plan) {
    int rows = 3 * plan->task_count;
    return dls_rows(plan) + 2 * rows + rows * (rows + 1);
}

static record_size dls_size(const ik_plan *plan) {
    return (record_size){dls_work(plan), dls_rotation(plan->slots), dls_end(plan) - dls_work(plan)};
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

/* ---- errors */

/* Whether it is about the pose or about where the step takes it. */
typedef enum { DLS_POSE, DLS_TRIAL } dls_when;

ik_inline vec3 dls_off(const ik_plan *plan, columns c, dls_when when, int task, dls_shape shape) {
    const ik_task *t = &plan->tasks[task];
    int slot = plan->nodes[t->node].slot, target = dls_task(plan, task);
    if (shape.plain || !t->rotation) {
        int at = when == DLS_TRIAL ? dls_moved(plan, slot) : dls_position(plan, slot);
        return vec3_sub(column_vec3(c, target), column_vec3(c, at));
    }
    quat now = column_quat(c, dls_rotation(slot));
    if (when == DLS_TRIAL) now = quat_multiply(column_quat(c, dls_turn(plan, slot)), now);
    turn by = turn_of_quat(quat_multiply(column_quat(c, target), quat_conjugate(now)));
    return vec3_scale(by.half + by.half, by.axis);
}

/* By which the rows of a task are multiplied. */
ik_inline real dls_scale(const ik_plan *plan, columns c, int task, dls_shape shape) {
    real weight = *column(c, dls_task(plan, task) + DLS_WEIGHT);
    if (shape.plain || !plan->tasks[task].rotation) return weight;
    return weight * *column(c, dls_state(plan, DLS_BONE));
}

typedef struct {
    real square;  /* of all rows */
    real largest; /* as it is judged */
} dls_error;

ik_inline void dls_set_row(real *rows, int step, int first, vec3 v) {
    rows[first * step] = v.x, rows[(first + 1) * step] = v.y, rows[(first + 2) * step] = v.z;
}
ik_inline vec3 dls_row(const real *rows, int step, int first) {
    return (vec3){rows[first * step], rows[(first + 1) * step], rows[(first + 2) * step]};
}

/* rows: NULL where nobody wants them. */
ik_inline dls_error dls_measure(const ik_plan *plan, columns c, dls_when when, real *rows, int step, dls_shape shape) {
    dls_error e = {real_splat(0), real_splat(0)};
    for (int t = 0; t < dls_tasks(plan, shape); t++) {
        vec3 off = dls_off(plan, c, when, t, shape), row = vec3_scale(dls_scale(plan, c, t, shape), off);
        e.square = e.square + vec3_dot(row, row);
        e.largest = real_max(vec3_length(off) * *column(c, dls_task(plan, t) + DLS_UNIT), e.largest);
        if (rows) dls_set_row(rows, step, 3 * t, row);
    }
    e.largest = e.largest + real_poison(e.square);
    return e;
}

/* ---- the normal matrix */

/* The lower triangle of a symmetric matrix, row by row. */
ik_inline int dls_place(int row, int column) { return row * (row + 1) / 2 + column; }

/* The next node up whose turning moves what turns or moves with k; -1: none. */
ik_inline int dls_next(const ik_plan *plan, int k) { return plan->nodes[k].moves ? plan->nodes[k].parent : -1; }

/* The lowest node that is above both, or one of them; nodes stand parents first. */
static int dls_common(const ik_plan *plan, int a, int b) {
    while (a != b)
        if (a > b)
            a = dls_next(plan, a);
        else
            b = dls_next(plan, b);
    return a;
}

ik_inline mat3 mat3_add(mat3 a, mat3 b) { return (mat3){vec3_add(a.x, b.x), vec3_add(a.y, b.y), vec3_add(a.z, b.z)}; }

/* What a joint at the origin adds to the block of two tasks, at a and b or, if their turning counts, anywhere: about
 * all axes, or one. */
ik_inline mat3 dls_all_axes(vec3 a, int a_turns, vec3 b, int b_turns) {
    const real zero = real_splat(0), one = real_splat(1);
    if (a_turns && b_turns) return (mat3){{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
    if (a_turns) return (mat3){{zero, -b.z, b.y}, {b.z, zero, -b.x}, {-b.y, b.x, zero}};
    if (b_turns) return (mat3){{zero, a.z, -a.y}, {-a.z, zero, a.x}, {a.y, -a.x, zero}};
    real dot = vec3_dot(a, b);
    return (mat3){{dot - b.x * a.x, -(b.x * a.y), -(b.x * a.z)},
                  {-(b.y * a.x), dot - b.y * a.y, -(b.y * a.z)},
                  {-(b.z * a.x), -(b.z * a.y), dot - b.z * a.z}};
}

ik_inline mat3 dls_one_axis(vec3 axis, vec3 a, int a_turns, vec3 b, int b_turns) {
    vec3 s = a_turns ? axis : vec3_cross(axis, a), t = b_turns ? axis : vec3_cross(axis, b);
    return (mat3){vec3_scale(s.x, t), vec3_scale(s.y, t), vec3_scale(s.z, t)};
}

ik_inline mat3 mat3_scale(real s, mat3 m) { return (mat3){vec3_scale(s, m.x), vec3_scale(s, m.y), vec3_scale(s, m.z)}; }

/* The block of two tasks, over all joints that move both. */
ik_inline mat3 dls_block(const ik_plan *plan, columns c, int task, int other, dls_shape shape) {
    const ik_task *s = &plan->tasks[task], *t = &plan->tasks[other];
    int a_turns = !shape.plain && s->rotation, b_turns = !shape.plain && t->rotation;
    vec3 p = column_vec3(c, dls_position(plan, plan->nodes[s->node].slot));
    vec3 q = column_vec3(c, dls_position(plan, plan->nodes[t->node].slot));
    mat3 sum = {vec3_splat(0, 0, 0), vec3_splat(0, 0, 0), vec3_splat(0, 0, 0)};
    for (int k = dls_common(plan, s->node, t->node); k >= 0; k = dls_next(plan, k)) {
        if (!plan->nodes[k].turns) continue;
        int slot = plan->nodes[k].slot, axes = shape.plain ? 0 : dls_axes(plan, k);
        vec3 at = column_vec3(c, dls_position(plan, slot)), a = vec3_sub(p, at), b = vec3_sub(q, at);
        if (!axes) sum = mat3_add(sum, dls_all_axes(a, a_turns, b, b_turns));
        for (int i = 0; i < axes; i++) {
            mat3 one = dls_one_axis(column_vec3(c, dls_axis(plan, slot) + 3 * i), a, a_turns, b, b_turns);
            sum = mat3_add(sum, mat3_scale(dls_willing(plan, c, k, i), one));
        }
    }
    return sum;
}

ik_inline void dls_set_block(real *a, int step, int row, int column, vec3 v, int count) {
    a[dls_place(row, column) * step] = v.x;
    if (count > 1) a[dls_place(row, column + 1) * step] = v.y;
    if (count > 2) a[dls_place(row, column + 2) * step] = v.z;
}

ik_inline void dls_assemble(const ik_plan *plan, columns c, real *a, int step, dls_shape shape) {
    for (int t = 0; t < dls_tasks(plan, shape); t++)
        for (int u = 0; u <= t; u++) {
            real scale = dls_scale(plan, c, t, shape) * dls_scale(plan, c, u, shape);
            mat3 block = mat3_scale(scale, dls_block(plan, c, t, u, shape));
            dls_set_block(a, step, 3 * t, 3 * u, block.x, t == u ? 1 : 3);
            dls_set_block(a, step, 3 * t + 1, 3 * u, block.y, t == u ? 2 : 3);
            dls_set_block(a, step, 3 * t + 2, 3 * u, block.z, 3);
        }
}

typedef struct {
    real sum, largest;
} dls_diagonal;

ik_inline dls_diagonal dls_diagonal_of(const real *a, int step, int rows) {
    dls_diagonal d = {real_splat(0), real_splat(0)};
    for (int i = 0; i < rows; i++) {
        real x = a[dls_place(i, i) * step];
        d.sum = d.sum + x;
        d.largest = real_max(x, d.largest);
    }
    return d;
}

/* ---- the linear solve */

/* L D L^T of a + damping, in place, with the reciprocals of D on the diagonal. Rounding cannot make D less than the
 * damping, which it never is. */
ik_inline void dls_factor(real *a, int step, int rows, real damping) {
    for (int i = 0; i < rows; i++) {
        real pivot = a[dls_place(i, i) * step] + damping;
        for (int j = 0; j < i; j++) {
            real sum = a[dls_place(i, j) * step];
            for (int k = 0; k < j; k++)
                sum = sum - a[dls_place(i, k) * step] * a[dls_place(j, k) * step];
            a[dls_place(i, j) * step] = sum; /* of L D */
        }
        for (int j = 0; j < i; j++) {
            real sum = a[dls_place(i, j) * step], l = sum * a[dls_place(j, j) * step];
            a[dls_place(i, j) * step] = l;
            pivot = pivot - l * sum;
        }
        a[dls_place(i, i) * step] = real_splat(1) / real_max(pivot, damping);
    }
}

ik_inline void dls_substitute(const real *a, int step, int rows, real *y) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < i; j++)
            y[i * step] = y[i * step] - a[dls_place(i, j) * step] * y[j * step];
    for (int i = rows - 1; i >= 0; i--) {
        y[i * step] = y[i * step] * a[dls_place(i, i) * step];
        for (int j = i + 1; j < rows; j++)
            y[i * step] = y[i * step] - a[dls_place(j, i) * step] * y[j * step];
    }
}

/* ---- turns */

/* y pulls at every joint that moves a task. */
ik_inline void dls_pull(const ik_plan *plan, columns c, int task, vec3 y) {
    const ik_task *t = &plan->tasks[task];
    y = vec3_scale(dls_scale(plan, c, task, (dls_shape){0}), y);
    vec3 p = column_vec3(c, dls_position(plan, plan->nodes[t->node].slot));
    for (int k = t->node; k >= 0; k = dls_next(plan, k)) {
        if (!plan->nodes[k].turns) continue;
        int slot = plan->nodes[k].slot, delta = dls_delta(plan, slot);
        vec3 r = vec3_sub(p, column_vec3(c, dls_position(plan, slot)));
        column_set_vec3(c, delta, vec3_add(column_vec3(c, delta), t->rotation ? y : vec3_cross(r, y)));
    }
}

/* What a joint does that is pulled at: W pull. */
ik_inline vec3 dls_turn_by(const ik_plan *plan, columns c, int k, vec3 pull) {
    int axes = dls_axes(plan, k), axis = dls_axis(plan, plan->nodes[k].slot);
    vec3 sum = vec3_splat(0, 0, 0);
    if (!axes) return pull;
    for (int i = 0; i < axes; i++) {
        vec3 u = column_vec3(c, axis + 3 * i);
        real by = dls_willing(plan, c, k, i) * vec3_dot(u, pull);
        if (axes == 1) return (vec3){by, real_splat(0), real_splat(0)};
        sum = vec3_add(sum, vec3_scale(by, u));
    }
    return sum;
}

/* rows less what the turns in some columns do to them. */
static void dls_take_off(const ik_plan *plan, columns c, int (*turns)(const ik_plan *plan, int slot), real *rows,
                         int step) {
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        vec3 p = column_vec3(c, dls_position(plan, plan->nodes[task->node].slot)), sum = vec3_splat(0, 0, 0);
        for (int k = task->node; k >= 0; k = dls_next(plan, k)) {
            if (!plan->nodes[k].turns) continue;
            int slot = plan->nodes[k].slot;
            vec3 by = column_vec3(c, turns(plan, slot));
            mask some = ~mask_equal(vec3_size(by), real_splat(0));
            if (!mask_any(some)) continue;
            by = dls_as_vector(plan, c, k, by);
            vec3 r = vec3_sub(p, column_vec3(c, dls_position(plan, slot)));
            sum = vec3_add(sum, task->rotation ? by : vec3_cross(by, r));
        }
        vec3 row = vec3_scale(dls_scale(plan, c, t, (dls_shape){0}), sum);
        dls_set_row(rows, step, 3 * t, vec3_sub(dls_row(rows, step, 3 * t), row));
    }
}

/* The rotation by a rotation vector, cut to an angle. */
ik_inline quat dls_exp(vec3 v, real most) {
    const real half = real_splat(0.5f);
    real angle = vec3_length(v);
    cosine_sine at = real_sincos(half * real_min(angle, most));
    return (quat){at.cosine, vec3_scale(at.sine / (angle + real_splat(TINY_LENGTH)), v)};
}

ik_inline vec3 dls_log(quat q) {
    turn by = turn_of_quat(q);
    return vec3_scale(by.half + by.half, by.axis);
}

ik_inline vec3 dls_cut(vec3 v, real most) {
    real length = vec3_length(v);
    return vec3_scale(real_min(real_splat(1), most / (length + real_splat(TINY_LENGTH))), v);
}

/* Unit length again, where rounding took it off. */
ik_inline quat dls_renew(quat q) { return quat_scale(real_splat(1.5f) - real_splat(0.5f) * quat_dot(q, q), q); }

/* ---- limits */

/* The rotation in the world of what node k hangs from. */
static quat dls_parent(const ik_plan *plan, columns c, int k) {
    if (plan->nodes[k].moves) return column_quat(c, dls_rotation(plan->nodes[plan->nodes[k].parent].slot));
    int base = 0;
    for (int slot = 0; slot < plan->nodes[k].slot; slot++)
        base += !plan->nodes[plan->node_of_slot[slot]].moves;
    return column_quat(c, dls_above(plan, base));
}

/* A hinge that turns all the way round has no ends. */
static int dls_is_round(const ik_limit *limit) {
    return range_is_whole((number)limit->twist[0], (number)limit->twist[1]);
}

/* A hinge's angle in its range; of one without ends, the same rotation by half a turn or less. */
ik_inline real dls_within(const ik_limit *limit, real angle) {
    if (dls_is_round(limit)) {
        const real half = real_splat(4 * eighth_turn[0]), turn = half + half;
        angle = real_select(mask_less(half, angle), angle - turn, angle);
        return real_select(mask_less(angle, -half), angle + turn, angle);
    }
    return real_max(real_min(real_splat((number)limit->twist[1]), angle), real_splat((number)limit->twist[0]));
}

/* The allowed turn nearest to the one node k wants, and whether they differ. */
static mask dls_allow(const ik_plan *plan, columns c, int k, vec3 *turn) {
    const ik_limit *limit = dls_limit(plan, k);
    if (limit->kind == IK_HINGE) {
        if (dls_is_round(limit)) return mask_splat(0);
        real angle = *column(c, dls_angle(plan, plan->nodes[k].slot));
        real wanted = angle + turn->x, allowed = dls_within(limit, wanted);
        turn->x = allowed - angle;
        return mask_less(real_splat(LIMIT_TOLERANCE), real_abs(wanted - allowed));
    }
    quat now = column_quat(c, dls_rotation(plan->nodes[k].slot)), above = dls_parent(plan, c, k);
    quat wanted = quat_multiply(dls_exp(*turn, real_splat(LARGEST)), now);
    quat local = quat_unit(quat_multiply(quat_conjugate(above), wanted)), allowed = solve_allowed(plan, k, local);
    quat off = {allowed.w - local.w, vec3_sub(allowed.v, local.v)};
    mask over = mask_less(real_splat(LIMIT_TOLERANCE), real_max(real_abs(off.w), vec3_largest(off.v)));
    vec3 instead = dls_log(quat_multiply(quat_multiply(above, allowed), quat_conjugate(now)));
    *turn = vec3_select(over, instead, *turn);
    return over;
}

/* In lanes where joints would go over their limits, the one with the least way to go is held from now on. Returns
 * those lanes. */
static mask dls_hold(const ik_plan *plan, columns c) {
    real least = real_splat(LARGEST), which = real_splat(-1);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!dls_is_limited(plan, k)) continue;
        vec3 turn = column_vec3(c, dls_delta(plan, slot));
        mask over = dls_allow(plan, c, k, &turn) & mask_equal(*column(c, dls_fixed(plan, slot)), real_splat(0));
        column_set_vec3(c, dls_allowed(plan, slot), turn);
        real way = vec3_length(turn);
        mask first = over & mask_less(way, least);
        least = real_select(first, way, least);
        which = real_select(first, real_splat((number)slot), which);
    }
    mask waits = ~mask_less(which, real_splat(0));
    if (!mask_any(waits)) return waits;
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!dls_is_limited(plan, plan->node_of_slot[slot])) continue;
        mask held = mask_equal(which, real_splat((number)slot));
        real *fixed = column(c, dls_fixed(plan, slot));
        *fixed = real_select(held, real_splat(1), *fixed);
        vec3 allowed = column_vec3(c, dls_allowed(plan, slot)), before = column_vec3(c, dls_held(plan, slot));
        column_set_vec3(c, dls_held(plan, slot), vec3_select(held, allowed, before));
    }
    return waits;
}

/* In lanes where `done`, no joint is held from now on. */
static void dls_release(const ik_plan *plan, columns c, mask done) {
    const real zero = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!dls_is_limited(plan, plan->node_of_slot[slot])) continue;
        real *fixed = column(c, dls_fixed(plan, slot));
        *fixed = real_select(done, zero, *fixed);
        vec3 held = column_vec3(c, dls_held(plan, slot));
        column_set_vec3(c, dls_held(plan, slot), vec3_select(done, vec3_splat(0, 0, 0), held));
    }
}

/* ---- posture */

/* The turns towards rest, cut so that what they do to the error beyond the first order is at most half of it. */
static void dls_turn_to_rest(const ik_plan *plan, columns c, real error) {
    const real share = real_splat((number)plan->job->options.posture), zero = real_splat(0);
    real sum = zero;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        quat rest = quat_multiply(dls_parent(plan, c, k), solve_allowed(plan, k, solve_rest(plan, k)));
        vec3 turn = dls_log(quat_multiply(rest, quat_conjugate(column_quat(c, dls_rotation(slot)))));
        if (dls_is_hinge(plan, k))
            turn = (vec3){dls_within(dls_limit(plan, k), zero) - *column(c, dls_angle(plan, slot)), zero, zero};
        turn = dls_turn_by(plan, c, k, dls_as_vector(plan, c, k, vec3_scale(share, turn)));
        sum = sum + vec3_length(turn);
        column_set_vec3(c, dls_wish(plan, slot), turn);
    }
    real length = *column(c, dls_state(plan, DLS_BONE)) * real_splat((number)plan->slots);
    real most = real_sqrt(error / (length + real_splat(TINY_LENGTH)));
    real cut = real_min(real_splat(1), most / (sum + real_splat(TINY_LENGTH)));
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 turn = column_vec3(c, dls_wish(plan, slot));
        column_set_vec3(c, dls_wish(plan, slot), vec3_scale(cut, turn));
    }
}

/* ---- a step: solve */

/* What a step comes from and should come to. */
typedef struct {
    real before, foreseen; /* the squared error, and what should be left of it */
    vec3 pull;             /* of the plain case */
} dls_outlook;

/* The damping of this step; the first is chosen by the matrix. */
ik_inline real dls_damping(const ik_plan *plan, columns c, dls_diagonal d) {
    real *damping = column(c, dls_state(plan, DLS_DAMPING));
    *damping = real_select(mask_less(*damping, real_splat(0)), real_splat(0.1f) * d.largest, *damping);
    return real_max(*damping, real_splat(8 * EPSILON) * d.sum + real_splat(TINY_LENGTH));
}

ik_inline void dls_cut_error(const ik_plan *plan, columns c, real *rows, int step, int count, real square) {
    number most = (number)plan->job->options.max_error;
    if (most <= 0) return;
    real bone = *column(c, dls_state(plan, DLS_BONE)), size = real_sqrt(square) + real_splat(TINY_LENGTH);
    real cut = real_min(real_splat(1), real_splat(most) * bone / size);
    for (int i = 0; i < count; i++)
        rows[i * step] = cut * rows[i * step];
}

ik_inline real dls_square(const real *rows, int step, int count) {
    real sum = real_splat(0);
    for (int i = 0; i < count; i++)
        sum = sum + rows[i * step] * rows[i * step];
    return sum;
}

/* One place to reach, and joints that turn freely. */
ik_inline dls_outlook dls_solve_plain(const ik_plan *plan, columns c) {
    const dls_shape shape = {1};
    real y[3], a[6];
    dls_error e = dls_measure(plan, c, DLS_POSE, y, 1, shape);
    dls_cut_error(plan, c, y, 1, 3, e.square);
    dls_assemble(plan, c, a, 1, shape);
    real damping = dls_damping(plan, c, dls_diagonal_of(a, 1, 3));
    dls_factor(a, 1, 3, damping);
    dls_substitute(a, 1, 3, y);
    real foreseen = damping * damping * dls_square(y, 1, 3);
    return (dls_outlook){e.square, foreseen, vec3_scale(dls_scale(plan, c, 0, shape), dls_row(y, 1, 0))};
}

static int dls_count(const ik_plan *plan) { return 3 * plan->task_count; }

/* J^+ J z is taken off y, with hardly any damping: what singular values below a thousandth of the largest would add. */
static void dls_project(const ik_plan *plan, columns c, real *y, const real *a, dls_diagonal d, real square) {
    int rows = dls_count(plan), size = rows * (rows + 1) / 2;
    real *z = y + rows * c.step, *again = z + (rows + size) * c.step;
    for (int i = 0; i < rows; i++)
        z[i * c.step] = real_splat(0);
    for (int i = 0; i < size; i++)
        again[i * c.step] = a[i * c.step];
    dls_turn_to_rest(plan, c, real_sqrt(square));
    dls_take_off(plan, c, dls_wish, z, c.step);
    dls_factor(again, c.step, rows, real_splat((number)1e-6) * d.largest + real_splat(TINY_LENGTH));
    dls_substitute(again, c.step, rows, z);
}

static dls_outlook dls_solve(const ik_plan *plan, columns c) {
    const dls_shape shape = {0};
    int rows = dls_count(plan), step = c.step, posture = plan->job->options.posture > 0;
    real *y = column(c, dls_rows(plan)), *z = y + rows * step, *a = z + rows * step;
    dls_turn_axes(plan, c);
    dls_error e = dls_measure(plan, c, DLS_POSE, y, step, shape);
    dls_cut_error(plan, c, y, step, rows, e.square);
    if (plan->limited) dls_take_off(plan, c, dls_held, y, step);
    dls_assemble(plan, c, a, step, shape);
    dls_diagonal d = dls_diagonal_of(a, step, rows);
    real damping = dls_damping(plan, c, d);
    if (posture) dls_project(plan, c, y, a, d, e.square);
    dls_factor(a, step, rows, damping);
    dls_substitute(a, step, rows, y);
    real foreseen = damping * damping * dls_square(y, step, rows);
    for (int i = 0; i < rows && posture; i++)
        y[i * step] = y[i * step] + z[i * step];
    for (int slot = 0; slot < plan->slots; slot++)
        column_set_vec3(c, dls_delta(plan, slot), vec3_splat(0, 0, 0));
    for (int t = 0; t < plan->task_count; t++)
        dls_pull(plan, c, t, dls_row(y, step, 3 * t));
    return (dls_outlook){.before = e.square, .foreseen = foreseen};
}

/* From pulls to turns. Those that are held come on top; so does the way to rest. */
static void dls_turns(const ik_plan *plan, columns c) {
    const ik_options *options = &plan->job->options;
    const real one = real_splat(1), most = real_splat((number)options->max_step);
    real largest = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        vec3 turn = dls_turn_by(plan, c, k, column_vec3(c, dls_delta(plan, slot)));
        if (options->posture > 0) turn = vec3_add(turn, column_vec3(c, dls_wish(plan, slot)));
        if (options->damping == 0) turn = dls_cut(turn, most);
        largest = real_max(vec3_length(turn), largest);
        column_set_vec3(c, dls_delta(plan, slot), turn);
    }
    real cut = real_min(one, most / (largest + real_splat(TINY_LENGTH)));
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 turn = column_vec3(c, dls_delta(plan, slot));
        if (options->damping > 0) turn = vec3_scale(cut, turn);
        if (plan->limited) turn = vec3_add(turn, column_vec3(c, dls_held(plan, slot)));
        column_set_vec3(c, dls_delta(plan, slot), turn);
    }
}

/* The plain case: all turns are cut alike by cutting the pull. */
ik_inline vec3 dls_shorten(const ik_plan *plan, columns c, vec3 pull) {
    if (plan->job->options.damping == 0) return pull;
    vec3 tip = column_vec3(c, dls_position(plan, plan->nodes[plan->tasks[0].node].slot));
    real largest = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        vec3 r = vec3_sub(tip, column_vec3(c, dls_position(plan, slot)));
        largest = real_max(vec3_length(vec3_cross(r, pull)), largest);
    }
    real most = real_splat((number)plan->job->options.max_step);
    return vec3_scale(real_min(real_splat(1), most / (largest + real_splat(TINY_LENGTH))), pull);
}

/* ---- a step: try and judge */

ik_inline quat dls_turn_of(const ik_plan *plan, columns c, int slot, vec3 pull, dls_shape shape) {
    real most = real_splat((number)plan->job->options.max_step);
    if (!shape.plain) {
        vec3 turn = column_vec3(c, dls_delta(plan, slot));
        return dls_exp(dls_as_vector(plan, c, plan->node_of_slot[slot], turn), real_splat(LARGEST));
    }
    vec3 tip = column_vec3(c, dls_position(plan, plan->nodes[plan->tasks[0].node].slot));
    return dls_exp(vec3_cross(vec3_sub(tip, column_vec3(c, dls_position(plan, slot))), pull), most);
}

/* Where all turns take the nodes. */
ik_inline void dls_try(const ik_plan *plan, real *bundle, int groups, const dls_outlook *outlook, dls_shape shape) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        int parent = node->moves ? plan->nodes[node->parent].slot : -1;
        for (int g = 0; g < groups; g++) {
            columns c = columns_of_bundle(bundle, g);
            quat turn = quat_identity();
            vec3 moved = column_vec3(c, dls_position(plan, slot));
            if (parent >= 0) {
                turn = column_quat(c, dls_turn(plan, parent));
                vec3 bone = vec3_sub(moved, column_vec3(c, dls_position(plan, parent)));
                moved = vec3_add(column_vec3(c, dls_moved(plan, parent)), quat_rotate(turn, bone));
            }
            if (node->turns) {
                quat own = dls_turn_of(plan, c, slot, outlook[g].pull, shape);
                turn = dls_renew(quat_multiply(turn, own));
            }
            column_set_vec3(c, dls_moved(plan, slot), moved);
            column_set_quat(c, dls_turn(plan, slot), turn);
        }
    }
}

ik_inline void dls_accept(const ik_plan *plan, columns c, mask accept) {
    for (int slot = 0; slot < plan->slots; slot++) {
        quat before = column_quat(c, dls_rotation(slot));
        quat turned = dls_renew(quat_multiply(column_quat(c, dls_turn(plan, slot)), before));
        column_set_quat(c, dls_rotation(slot), quat_select(accept, turned, before));
        vec3 p = column_vec3(c, dls_position(plan, slot)), moved = column_vec3(c, dls_moved(plan, slot));
        column_set_vec3(c, dls_position(plan, slot), vec3_select(accept, moved, p));
        int k = plan->node_of_slot[slot];
        if (!plan->limited || !dls_is_hinge(plan, k)) continue;
        real *angle = column(c, dls_angle(plan, slot)), turn = *column(c, dls_delta(plan, slot));
        *angle = real_select(accept, dls_within(dls_limit(plan, k), *angle + turn), *angle);
    }
}

/* Nielsen's rule: the damping falls as far as the error fell as foreseen. */
ik_inline void dls_adapt(const ik_plan *plan, columns c, mask waits, mask better, real gain) {
    const real one = real_splat(1), two = real_splat(2);
    real *damping = column(c, dls_state(plan, DLS_DAMPING)), *growth = column(c, dls_state(plan, DLS_GROWTH));
    real x = two * gain - one, less = real_max(real_splat((number)(1.0 / 3)), one - x * x * x);
    *damping = real_select(waits, *damping, *damping * real_select(better, less, *growth));
    *growth = real_select(waits, *growth, real_select(better, two, two * *growth));
}

/* ---- what is stuck */

/* The same sequence for every item: between -1 and 1, and every other time the opposite. */
static number dls_random(int shake, int slot, int axis) {
    uint32_t x = (uint32_t)(shake / 2 * 8191 + slot * 127 + axis + 1);
    for (int i = 0; i < 3; i++) {
        x = (x ^ (x >> 15)) * 0x2c1b3c6du;
        x = (x ^ (x >> 12)) * 0x297a2d39u;
    }
    number random = (number)((double)(x >> 8) / 8388608.0 - 1);
    return shake % 2 ? -random : random;
}

/* The turns of one shake: of a hinge to somewhere in its range, of others by up to a radian. */
static void dls_shake_turns(const ik_plan *plan, columns c, int shake) {
    number share = shake ? 1 : (number)0.1;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        vec3 turn = vec3_splat(share * dls_random(shake, slot, 0), share * dls_random(shake, slot, 1),
                               share * dls_random(shake, slot, 2));
        if (dls_is_hinge(plan, k)) {
            const double half = 4 * eighth_turn[0], round[2] = {-half, half};
            const double *range = dls_is_round(dls_limit(plan, k)) ? round : dls_limit(plan, k)->twist;
            real to =
                real_splat((number)(0.5 * (range[0] + range[1] + (range[1] - range[0]) * dls_random(shake, slot, 0))));
            turn.x = real_splat(share) * (to - *column(c, dls_angle(plan, slot)));
        }
        if (dls_is_limited(plan, k)) dls_allow(plan, c, k, &turn);
        column_set_vec3(c, dls_delta(plan, slot), turn);
    }
}

static void dls_exchange(columns c, int here, int aside, int count, mask keep, mask back) {
    for (int i = 0; i < count; i++) {
        real *now = column(c, here + i), *kept = column(c, aside + i), before = *now;
        *now = real_select(back, *kept, before);
        *kept = real_select(keep, before, *kept);
    }
}

/* The pose is kept aside in lanes `keep`, and what was kept is taken back in lanes `back`. */
static void dls_aside(const ik_plan *plan, columns c, mask keep, mask back) {
    int numbers = 7 * plan->slots;
    dls_exchange(c, dls_rotation(0), dls_kept(plan), numbers, keep, back);
    if (plan->limited) dls_exchange(c, dls_angle(plan, 0), dls_kept(plan) + numbers, plan->slots, keep, back);
}

/* A shaken chain starts anew. */
static void dls_shake(const ik_plan *plan, real *bundle, int g, mask stuck) {
    columns c = columns_of_bundle(bundle, g);
    const dls_outlook none = {0};
    real *shaken = column(c, dls_state(plan, DLS_SHAKEN)), *error = column(c, ERROR);
    real *damping = column(c, dls_state(plan, DLS_DAMPING)), *growth = column(c, dls_state(plan, DLS_GROWTH));
    dls_turn_axes(plan, c);
    for (int shake = 0; shake < DLS_SHAKES; shake++) {
        mask now = stuck & mask_equal(*shaken, real_splat((number)shake));
        if (!mask_any(now)) continue;
        dls_shake_turns(plan, c, shake);
        dls_try(plan, bundle + g, 1, &none, (dls_shape){0});
        dls_accept(plan, c, now);
    }
    *shaken = real_select(stuck, *shaken + real_splat(1), *shaken);
    if (plan->job->options.damping == 0) *damping = real_select(stuck, real_splat(-1), *damping);
    *growth = real_select(stuck, real_splat(2), *growth);
    *error = real_select(stuck, dls_measure(plan, c, DLS_POSE, NULL, 1, (dls_shape){0}).largest, *error);
}

/* Lanes that have made no progress for long; they get time again. */
static mask dls_is_stuck(const ik_plan *plan, columns c, mask counts, real square, dls_outlook o) {
    const real zero = real_splat(0), one = real_splat(1);
    mask hopeless = mask_less(o.before - o.foreseen, real_splat(DLS_HOPELESS) * o.before);
    real *idle = column(c, dls_state(plan, DLS_IDLE)), *least = column(c, dls_state(plan, DLS_LEAST));
    mask progress = mask_less(square, real_splat(1 - DLS_PROGRESS) * *least);
    real waited = real_select(progress, zero, *idle + one);
    mask stuck = counts & (hopeless | ~mask_less(waited, real_splat(DLS_PATIENCE)));
    *idle = real_select(counts, real_select(stuck, zero, waited), *idle);
    *least = real_select(counts & progress, square, *least);
    *least = real_select(stuck, real_splat(LARGEST), *least);
    return stuck;
}

/* Shakes lanes that are stuck; gives up those that were shaken often. At the end, the best pose is what stays. */
static void dls_watch(const ik_plan *plan, real *bundle, int g, mask waits, real square, dls_outlook o) {
    columns c = columns_of_bundle(bundle, g);
    real *best = column(c, dls_state(plan, DLS_BEST)), *said = column(c, SAID);
    mask off = mask_less(*column(c, TOLERANCE), *column(c, ERROR)) & ~waits;
    mask stuck = dls_is_stuck(plan, c, off, square, o);
    mask often = ~mask_less(*column(c, dls_state(plan, DLS_SHAKEN)), real_splat(DLS_SHAKES));
    real iterations = *column(c, ITERATIONS) + real_splat(1), most = real_splat((number)plan->job->options.iterations);
    mask ends = (stuck & often) | (off & ~mask_less(iterations, most)), better = mask_less(square, *best);
    if (!mask_any(stuck | ends)) return;
    *said = real_from_bits(real_bits(*said) | (stuck & often & mask_splat(IK_STALLED)));
    stuck &= ~ends;
    dls_aside(plan, c, stuck & better, ends & ~better);
    *best = real_select(stuck & better, square, *best);
    if (mask_any(stuck)) dls_shake(plan, bundle, g, stuck);
}

/* ---- a step */

ik_inline void dls_conclude(const ik_plan *plan, real *bundle, int g, mask waits, dls_outlook o, dls_shape shape) {
    columns c = columns_of_bundle(bundle, g);
    dls_error e = dls_measure(plan, c, DLS_TRIAL, NULL, 1, shape);
    real gained = o.before - e.square;
    mask better = mask_less(real_splat(0), gained), accept = ~waits;
    if (plan->job->options.damping == 0) {
        accept &= better;
        dls_adapt(plan, c, waits, better, gained / real_max(o.before - o.foreseen, real_splat(SMALLEST)));
    }
    real *error = column(c, ERROR);
    *error = real_select(accept, e.largest, *error);
    dls_accept(plan, c, accept);
    if (!shape.plain && plan->limited) {
        real *iterations = column(c, ITERATIONS);
        dls_release(plan, c, ~waits);
        *iterations = real_select(waits, *iterations - real_splat(1), *iterations);
    }
    if (plan->job->options.textbook) return;
    dls_watch(plan, bundle, g, waits, real_select(accept, e.square, o.before), o);
}

ik_inline void dls_pass(const ik_plan *plan, real *bundle, int groups, dls_shape shape) {
    dls_outlook outlook[GROUPS];
    mask waits[GROUPS] = {mask_splat(0)};
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        if (shape.plain) {
            outlook[g] = dls_solve_plain(plan, c);
            outlook[g].pull = dls_shorten(plan, c, outlook[g].pull);
            continue;
        }
        outlook[g] = dls_solve(plan, c);
        dls_turns(plan, c);
        if (plan->limited) waits[g] = dls_hold(plan, c);
    }
    dls_try(plan, bundle, groups, outlook, shape);
    for (int g = 0; g < groups; g++)
        dls_conclude(plan, bundle, g, waits[g], outlook[g], shape);
}

/* The compiler unrolls the whole bundle. */
static void dls_plain_step(const ik_plan *plan, real *bundle, int groups) {
    if (groups == GROUPS)
        dls_pass(plan, bundle, GROUPS, (dls_shape){1});
    else
        dls_pass(plan, bundle, 1, (dls_shape){1});
}
static void dls_step(const ik_plan *plan, real *bundle, int groups) { dls_pass(plan, bundle, groups, (dls_shape){0}); }

/* ---- the method */

/* A hinge's angle: of the two or three within two turns, one in its range. */
ik_inline real dls_angle_of(const ik_plan *plan, int k, quat local) {
    const ik_limit *limit = dls_limit(plan, k);
    const real turn = real_splat(16 * eighth_turn[0] / 2);
    quat q = quat_multiply(quat_conjugate(solve_rest(plan, k)), local);
    vec3 axis = quat_rotate(dls_frame(limit), vec3_splat(1, 0, 0));
    real half = real_atan2(vec3_dot(axis, q.v), q.w), angle = half + half;
    if (dls_is_round(limit)) return dls_within(limit, angle);
    angle = real_select(mask_less(real_splat((number)limit->twist[1]) + real_splat(LIMIT_TOLERANCE), angle),
                        angle - turn, angle);
    angle = real_select(mask_less(angle, real_splat((number)limit->twist[0]) - real_splat(LIMIT_TOLERANCE)),
                        angle + turn, angle);
    return dls_within(limit, angle);
}

/* The pose that comes in, made legal. */
static void dls_load_pose(const ik_plan *plan, const pose *start, columns record) {
    int base = 0;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], parent = plan->nodes[k].parent;
        quat above = parent < 0 ? quat_identity() : start->rotations[parent], rotation = start->rotations[k];
        vec3 position = start->positions[k];
        if (dls_knows_rest(plan)) {
            if (!plan->nodes[k].moves) column_set_quat(record, dls_above(plan, base++), above);
            quat local = quat_multiply(quat_conjugate(above), rotation);
            if (plan->nodes[k].moves) {
                int slot_above = plan->nodes[parent].slot;
                quat turned = column_quat(record, dls_rotation(slot_above));
                vec3 bone = quat_rotate(quat_conjugate(above), vec3_sub(position, start->positions[parent]));
                position = vec3_add(column_vec3(record, dls_position(plan, slot_above)), quat_rotate(turned, bone));
                above = turned;
            }
            if (plan->nodes[k].turns) local = quat_unit(solve_allowed(plan, k, local));
            rotation = quat_unit(quat_multiply(above, local));
            *column(record, dls_angle(plan, slot)) =
                dls_is_hinge(plan, k) ? dls_angle_of(plan, k, local) : real_splat(0);
        }
        column_set_quat(record, dls_rotation(slot), rotation);
        column_set_vec3(record, dls_position(plan, slot), position);
    }
}

static void dls_load_task(const ik_plan *plan, group at, const pose *start, int task, columns record) {
    const ik_task *t = &plan->tasks[task];
    int to = dls_task(plan, task), slot = plan->nodes[t->node].slot;
    real weight, most = *column(record, TOLERANCE), own;
    if (t->rotation) {
        quat now = column_quat(record, dls_rotation(slot));
        column_set_quat(record, to + DLS_TARGET, solve_target_rotation(plan, at, t->node, now, &weight));
        own = real_splat(solve_within(plan, plan->job->options.rotation_tolerance));
    } else {
        vec3 now = column_vec3(record, dls_position(plan, slot));
        column_set_quat(record, to + DLS_TARGET, (quat){real_splat(0), now});
        real reach = solve_reach(plan, start, t->node).sum;
        vec3 target = solve_target(plan, at, start, t->node, now, &weight);
        column_set_vec3(record, to + DLS_TARGET, solve_nearer(plan, start, t->node, target));
        own = real_splat(solve_within(plan, plan->job->options.tolerance)) * reach;
        own = real_select(mask_equal(reach, real_splat(0)), most, own);
    }
    const real zero = real_splat(0);
    mask counts = ~mask_equal(weight, zero);
    weight = weight / start->heaviest;
    real unit = most / real_max(own, real_splat(SMALLEST) + most * real_splat(EPSILON));
    *column(record, to + DLS_WEIGHT) = real_select(counts, real_sqrt(weight), zero);
    *column(record, to + DLS_UNIT) = real_select(counts, unit, zero);
}

/* One chain of joints that turn freely, and one place to reach. */
static int dls_is_plain(const ik_plan *plan) {
    if (plan->task_count != 1 || plan->tasks[0].rotation || plan->rigid || plan->limited) return 0;
    for (int k = 0; k < plan->count; k++)
        if (plan->nodes[k].turns && dls_axes(plan, k)) return 0;
    return plan->job->options.posture == 0;
}

/* A plain chain is laid towards a target out of its reach, and its end is the target from now on: all bones forwards,
 * or where the target is too near, all but a longest one backwards. */
static void dls_answer(const ik_plan *plan, const pose *start, columns record) {
    const real one = real_splat(1);
    int end = plan->tasks[0].node, base = solve_base(plan, end), target = dls_task(plan, 0) + DLS_TARGET;
    chain_reach reach = solve_reach(plan, start, end);
    vec3 tip = start->positions[base], along = vec3_direction(vec3_sub(start->positions[end], tip)).unit;
    direction to_target = vec3_direction_of_any(vec3_sub(column_vec3(record, target), tip));
    mask near = mask_less(to_target.length, chain_inner(reach)), out = near | mask_less(reach.sum, to_target.length);
    if (!mask_any(out)) return;
    mask apart = mask_less(real_splat(TINY_SINE) * reach.sum, to_target.length), waiting = near;
    vec3 line = vec3_select(apart, to_target.unit, along);
    quat turn = quat_identity();
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], child = plan->nodes[k].child, rotation = dls_rotation(slot);
        int position = dls_position(plan, slot);
        column_set_vec3(record, position, vec3_select(out, tip, column_vec3(record, position)));
        if (child < 0) break;
        vec3 bone = quat_rotate(turn, solve_bone(plan, start, child));
        real length = vec3_length(solve_bone(plan, start, child));
        mask longest = waiting & ~mask_less(length, reach.longest);
        real way = real_select(near & ~longest, -one, one);
        waiting &= ~longest;
        turn = quat_multiply(quat_shortest_arc(bone, vec3_scale(way, line), vec3_perpendicular(line)), turn);
        quat before = column_quat(record, rotation);
        column_set_quat(record, rotation, quat_select(out, quat_multiply(turn, before), before));
        tip = vec3_add(tip, vec3_scale(way * length, line));
    }
    column_set_vec3(record, target, vec3_select(out, tip, column_vec3(record, target)));
}

static void dls_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    const real zero = real_splat(0);
    const ik_options *options = &plan->job->options;
    dls_load_pose(plan, start, record);
    real bone = solve_mean_bone(plan, start), damping = real_splat((number)options->damping) * bone;
    *column(record, dls_state(plan, DLS_BONE)) = bone;
    *column(record, dls_state(plan, DLS_DAMPING)) = options->damping > 0 ? damping * damping : real_splat(-1);
    *column(record, dls_state(plan, DLS_GROWTH)) = real_splat(2);
    *column(record, dls_state(plan, DLS_BEST)) = *column(record, dls_state(plan, DLS_LEAST)) = real_splat(LARGEST);
    *column(record, dls_state(plan, DLS_IDLE)) = *column(record, dls_state(plan, DLS_SHAKEN)) = zero;
    real *most = column(record, TOLERANCE);
    real turned = real_splat(solve_within(plan, options->rotation_tolerance));
    *most = real_max(real_select(mask_equal(start->reach, zero), turned, *most), real_splat(SMALLEST));
    for (int t = 0; t < plan->task_count; t++)
        dls_load_task(plan, at, start, t, record);
    if (dls_is_plain(plan) && !options->textbook) dls_answer(plan, start, record);
    *column(record, ERROR) = dls_measure(plan, record, DLS_POSE, NULL, 1, (dls_shape){0}).largest;
}

static quat dls_local(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint given) {
    const ik_node *node = &plan->nodes[k];
    quat above = node->parent < 0 ? quat_identity() : world->rotations[node->parent];
    (void)at, (void)given;
    return quat_unit(quat_multiply(quat_conjugate(above), column_quat(record, dls_rotation(node->slot))));
}

static const method dls_plain = {dls_size, dls_begin, dls_plain_step, dls_local};
static const method dls_any = {dls_size, dls_begin, dls_step, dls_local};

static const method *dls_method(const ik_plan *plan) { return dls_is_plain(plan) ? &dls_plain : &dls_any; }

SOLVE_METHOD(dls)
