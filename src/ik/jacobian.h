/* Damped least squares, for joints that turn about all axes. */

enum dls_state { DLS_BONE, DLS_DAMPING, DLS_GROWTH, DLS_STATE };
enum { DLS_TARGET = 0, DLS_WEIGHT = 4, DLS_UNIT, DLS_TASK };

typedef struct {
    int plain; /* one place to reach, and joints that turn freely: all sizes are known to the compiler */
} dls_shape;

ik_inline int dls_tasks(const ik_plan *plan, dls_shape shape) { return shape.plain ? 1 : plan->task_count; }

ik_inline int dls_rotation(int slot) { return OWN + 4 * slot; }
ik_inline int dls_position(const ik_plan *plan, int slot) { return dls_rotation(plan->slots) + 3 * slot; }
ik_inline int dls_task(const ik_plan *plan, int task) { return dls_position(plan, plan->slots) + DLS_TASK * task; }
ik_inline int dls_state(const ik_plan *plan, enum dls_state what) { return dls_task(plan, plan->task_count) + what; }
ik_inline int dls_columns(const ik_plan *plan) { return dls_state(plan, DLS_STATE); }
ik_inline int dls_turn(const ik_plan *plan, int slot) { return dls_columns(plan) + 4 * slot; }
ik_inline int dls_trial_rotation(const ik_plan *plan, int slot) { return dls_turn(plan, plan->slots) + 4 * slot; }
ik_inline int dls_trial_position(const ik_plan *plan, int slot) {
    return dls_trial_rotation(plan, plan->slots) + 3 * slot;
}
ik_inline int dls_delta(const ik_plan *plan, int slot) { return dls_trial_position(plan, plan->slots) + 3 * slot; }
ik_inline int dls_rows(const ik_plan *plan) { return dls_delta(plan, plan->slots); }
ik_inline int dls_end(const ik_plan *plan) {
    int rows = 3 * plan->task_count;
    return dls_rows(plan) + rows + rows * (rows + 1) / 2;
}

static record_size dls_size(const ik_plan *plan) {
    return (record_size){dls_columns(plan), dls_rotation(plan->slots), dls_end(plan) - dls_columns(plan)};
}

ik_inline quat column_quat(columns c, int i) { return (quat){*column(c, i), column_vec3(c, i + 1)}; }
ik_inline void column_set_quat(columns c, int i, quat q) {
    *column(c, i) = q.w;
    column_set_vec3(c, i + 1, q.v);
}

/* ---- errors */

/* Where things are: in the pose, or in the trial. */
typedef struct {
    int rotation, position;
} dls_at;

ik_inline dls_at dls_pose(const ik_plan *plan) { return (dls_at){dls_rotation(0), dls_position(plan, 0)}; }
ik_inline dls_at dls_trial(const ik_plan *plan) { return (dls_at){dls_trial_rotation(plan, 0), dls_trial_position(plan, 0)}; }

ik_inline vec3 dls_off(const ik_plan *plan, columns c, dls_at at, int task, dls_shape shape) {
    const ik_task *t = &plan->tasks[task];
    int slot = plan->nodes[t->node].slot, target = dls_task(plan, task);
    if (shape.plain || !t->rotation)
        return vec3_sub(column_vec3(c, target), column_vec3(c, at.position + 3 * slot));
    quat off = quat_multiply(column_quat(c, target), quat_conjugate(column_quat(c, at.rotation + 4 * slot)));
    turn by = turn_of_quat(off);
    return vec3_scale(by.half + by.half, by.axis);
}

/* By which the rows of a task are multiplied. */
ik_inline real dls_scale(const ik_plan *plan, columns c, int task, dls_shape shape) {
    real weight = *column(c, dls_task(plan, task) + DLS_WEIGHT);
    if (shape.plain || !plan->tasks[task].rotation) return weight;
    return weight * *column(c, dls_state(plan, DLS_BONE));
}

typedef struct {
    real square; /* of all rows */
    real largest; /* as it is judged */
} dls_error;

ik_inline dls_error dls_measure(const ik_plan *plan, columns c, dls_at at, real *rows, int step, dls_shape shape) {
    dls_error e = {real_splat(0), real_splat(0)};
    for (int t = 0; t < dls_tasks(plan, shape); t++) {
        vec3 off = dls_off(plan, c, at, t, shape), row = vec3_scale(dls_scale(plan, c, t, shape), off);
        real size = vec3_length(off) * *column(c, dls_task(plan, t) + DLS_UNIT);
        e.square = e.square + vec3_dot(row, row);
        e.largest = real_max(size, e.largest);
        if (!rows) continue;
        rows[3 * t * step] = row.x, rows[(3 * t + 1) * step] = row.y, rows[(3 * t + 2) * step] = row.z;
    }
    return e;
}

/* ---- the normal matrix */

/* The lower triangle of a symmetric matrix, row by row. */
ik_inline int dls_place(int row, int column) { return row * (row + 1) / 2 + column; }

ik_inline int dls_next(const ik_plan *plan, int k) { return plan->nodes[k].moves ? plan->nodes[k].parent : -1; }

/* The lowest node whose turning moves two tasks. */
static int dls_common(const ik_plan *plan, int a, int b) {
    while (a != b) {
        if (a > b) a = dls_next(plan, a);
        else b = dls_next(plan, b);
    }
    return a;
}

ik_inline mat3 mat3_add(mat3 a, mat3 b) { return (mat3){vec3_add(a.x, b.x), vec3_add(a.y, b.y), vec3_add(a.z, b.z)}; }

/* What a ball joint adds: turning by d moves a by d x a. */
ik_inline mat3 dls_ball(vec3 a, int a_turns, vec3 b, int b_turns) {
    const real zero = real_splat(0), one = real_splat(1);
    if (a_turns && b_turns) return (mat3){{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
    if (a_turns) return (mat3){{zero, -b.z, b.y}, {b.z, zero, -b.x}, {-b.y, b.x, zero}};
    if (b_turns) return (mat3){{zero, a.z, -a.y}, {-a.z, zero, a.x}, {a.y, -a.x, zero}};
    real dot = vec3_dot(a, b);
    return (mat3){{dot - b.x * a.x, -(b.x * a.y), -(b.x * a.z)},
                  {-(b.y * a.x), dot - b.y * a.y, -(b.y * a.z)},
                  {-(b.z * a.x), -(b.z * a.y), dot - b.z * a.z}};
}

ik_inline mat3 dls_block(const ik_plan *plan, columns c, int a, int b, dls_shape shape) {
    const ik_task *s = &plan->tasks[a], *t = &plan->tasks[b];
    int a_turns = !shape.plain && s->rotation, b_turns = !shape.plain && t->rotation;
    vec3 p = column_vec3(c, dls_position(plan, plan->nodes[s->node].slot));
    vec3 q = column_vec3(c, dls_position(plan, plan->nodes[t->node].slot));
    vec3 none = vec3_splat(0, 0, 0);
    mat3 sum = {none, none, none};
    for (int k = dls_common(plan, s->node, t->node); k >= 0; k = dls_next(plan, k)) {
        if (!plan->nodes[k].turns) continue;
        vec3 at = column_vec3(c, dls_position(plan, plan->nodes[k].slot));
        sum = mat3_add(sum, dls_ball(vec3_sub(p, at), a_turns, vec3_sub(q, at), b_turns));
    }
    return sum;
}

ik_inline void dls_set_row(real *a, int step, int row, int column, int count, vec3 v) {
    a[dls_place(row, column) * step] = v.x;
    if (count > 1) a[dls_place(row, column + 1) * step] = v.y;
    if (count > 2) a[dls_place(row, column + 2) * step] = v.z;
}

ik_inline void dls_assemble(const ik_plan *plan, columns c, real *a, int step, dls_shape shape) {
    for (int t = 0; t < dls_tasks(plan, shape); t++)
        for (int u = 0; u <= t; u++) {
            mat3 block = dls_block(plan, c, t, u, shape);
            real scale = dls_scale(plan, c, t, shape) * dls_scale(plan, c, u, shape);
            dls_set_row(a, step, 3 * t, 3 * u, t == u ? 1 : 3, vec3_scale(scale, block.x));
            dls_set_row(a, step, 3 * t + 1, 3 * u, t == u ? 2 : 3, vec3_scale(scale, block.y));
            dls_set_row(a, step, 3 * t + 2, 3 * u, 3, vec3_scale(scale, block.z));
        }
}

/* ---- the linear solve */

/* L D L^T in place: D's reciprocals on the diagonal. */
ik_inline void dls_factor(real *a, int step, int rows, real damping) {
    for (int i = 0; i < rows; i++) {
        real pivot = a[dls_place(i, i) * step] + damping;
        for (int j = 0; j < i; j++) {
            real sum = a[dls_place(i, j) * step];
            for (int k = 0; k < j; k++)
                sum = sum - a[dls_place(i, k) * step] * a[dls_place(j, k) * step];
            a[dls_place(i, j) * step] = sum; /* L D for now */
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

/* delta = J^T y, of one task. */
ik_inline void dls_pull(const ik_plan *plan, columns c, int task, vec3 y, dls_shape shape) {
    const ik_task *t = &plan->tasks[task];
    y = vec3_scale(dls_scale(plan, c, task, shape), y);
    vec3 p = column_vec3(c, dls_position(plan, plan->nodes[t->node].slot));
    for (int k = t->node; k >= 0; k = dls_next(plan, k)) {
        int slot = plan->nodes[k].slot, delta = dls_delta(plan, slot);
        vec3 r = vec3_sub(p, column_vec3(c, dls_position(plan, slot)));
        vec3 by = !shape.plain && t->rotation ? y : vec3_cross(r, y);
        column_set_vec3(c, delta, shape.plain ? by : vec3_add(column_vec3(c, delta), by));
    }
}

/* The rotation by a rotation vector, cut to an angle. */
ik_inline quat dls_exp(vec3 v, real most) {
    const real half = real_splat(0.5f);
    real angle = vec3_length(v);
    cosine_sine at = real_sincos(half * real_min(angle, most));
    return (quat){at.cosine, vec3_scale(at.sine / (angle + real_splat(TINY_LENGTH)), v)};
}

/* Unit length again, off by rounding. */
ik_inline quat dls_renew(quat q) {
    return quat_scale(real_splat(1.5f) - real_splat(0.5f) * quat_dot(q, q), q);
}

/* All joints turned. */
ik_inline void dls_place_trial(const ik_plan *plan, real *bundle, int groups, real most) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        int parent = node->moves ? plan->nodes[node->parent].slot : -1;
        for (int g = 0; g < groups; g++) {
            columns c = columns_of_bundle(bundle, g);
            quat turn = quat_identity();
            vec3 p = column_vec3(c, dls_position(plan, slot));
            if (parent >= 0) {
                turn = column_quat(c, dls_turn(plan, parent));
                vec3 bone = vec3_sub(p, column_vec3(c, dls_position(plan, parent)));
                p = vec3_add(column_vec3(c, dls_trial_position(plan, parent)), quat_rotate(turn, bone));
            }
            column_set_vec3(c, dls_trial_position(plan, slot), p);
            if (node->turns) {
                quat by = dls_exp(column_vec3(c, dls_delta(plan, slot)), most);
                turn = dls_renew(parent >= 0 ? quat_multiply(turn, by) : by);
            }
            column_set_quat(c, dls_turn(plan, slot), turn);
            quat turned = dls_renew(quat_multiply(turn, column_quat(c, dls_rotation(slot))));
            column_set_quat(c, dls_trial_rotation(plan, slot), turned);
        }
    }
}

/* ---- a step */

ik_inline void dls_solve(const ik_plan *plan, columns c, dls_shape shape, real *before, real *predicted) {
    real small[9];
    int step = shape.plain ? 1 : c.step, rows = 3 * dls_tasks(plan, shape);
    real *y = shape.plain ? small : column(c, dls_rows(plan)), *a = y + rows * step;
    dls_error e = dls_measure(plan, c, dls_pose(plan), y, step, shape);
    const ik_options *options = &plan->job->options;
    if (options->max_error > 0) {
        real most = real_splat((number)options->max_error) * *column(c, dls_state(plan, DLS_BONE));
        real size = real_sqrt(e.square);
        real cut = real_min(real_splat(1), most / (size + real_splat(TINY_LENGTH)));
        for (int i = 0; i < rows; i++)
            y[i * step] = cut * y[i * step];
    }
    dls_assemble(plan, c, a, step, shape);
    real trace = real_splat(0), largest = trace;
    for (int i = 0; i < rows; i++) {
        real x = a[dls_place(i, i) * step];
        trace = trace + x;
        largest = real_max(x, largest);
    }
    real *state = column(c, dls_state(plan, DLS_DAMPING));
    real damping = *state;
    damping = real_select(mask_less(damping, real_splat(0)), real_splat(0.1f) * largest, damping);
    *state = damping;
    damping = real_max(damping, real_splat(8 * EPSILON) * trace + real_splat(TINY_LENGTH));
    dls_factor(a, step, rows, damping);
    dls_substitute(a, step, rows, y);
    real left = real_splat(0);
    for (int i = 0; i < rows; i++)
        left = left + y[i * step] * y[i * step];
    *before = e.square;
    *predicted = e.square - damping * damping * left;
    if (!shape.plain)
        for (int slot = 0; slot < plan->slots; slot++)
            column_set_vec3(c, dls_delta(plan, slot), vec3_splat(0, 0, 0));
    for (int t = 0; t < dls_tasks(plan, shape); t++)
        dls_pull(plan, c, t, (vec3){y[3 * t * step], y[(3 * t + 1) * step], y[(3 * t + 2) * step]}, shape);
}

ik_inline void dls_pass(const ik_plan *plan, real *bundle, int groups, dls_shape shape) {
    real before[GROUPS], predicted[GROUPS];
    const ik_options *options = &plan->job->options;
    for (int g = 0; g < groups; g++)
        dls_solve(plan, columns_of_bundle(bundle, g), shape, &before[g], &predicted[g]);
    dls_place_trial(plan, bundle, groups, real_splat((number)options->max_step));
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        const real one = real_splat(1), two = real_splat(2);
        dls_error e = dls_measure(plan, c, dls_trial(plan), NULL, 1, shape);
        real actual = before[g] - e.square;
        mask accept = mask_less(real_splat(0), actual);
        if (options->damping > 0) accept = ~mask_splat(0);
        else {
            real *damping = column(c, dls_state(plan, DLS_DAMPING)), *growth = column(c, dls_state(plan, DLS_GROWTH));
            real ratio = actual / real_max(predicted[g], real_splat(SMALLEST)), x = two * ratio - one;
            real better = real_max(real_splat((number)(1.0 / 3)), one - x * x * x);
            *damping = *damping * real_select(accept, better, *growth);
            *growth = real_select(accept, two, two * *growth);
        }
        *column(c, ERROR) = real_select(accept, e.largest, *column(c, ERROR));
        for (int i = 0; i < 7 * plan->slots; i++) {
            real *to = column(c, OWN + i);
            *to = real_select(accept, *column(c, dls_trial_rotation(plan, 0) + i), *to);
        }
    }
}

static void dls_plain_step(const ik_plan *plan, real *bundle, int groups) {
    if (groups == GROUPS)
        dls_pass(plan, bundle, GROUPS, (dls_shape){1});
    else
        dls_pass(plan, bundle, 1, (dls_shape){1});
}
static void dls_step(const ik_plan *plan, real *bundle, int groups) {
    if (groups == GROUPS)
        dls_pass(plan, bundle, GROUPS, (dls_shape){0});
    else
        dls_pass(plan, bundle, 1, (dls_shape){0});
}

static void dls_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    real bone = real_splat(0), count = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        column_set_quat(record, dls_rotation(slot), start->rotations[k]);
        column_set_vec3(record, dls_position(plan, slot), start->positions[k]);
        if (plan->nodes[k].moves) {
            bone = bone + vec3_length(solve_bone(plan, start, k));
            count = count + real_splat(1);
        }
    }
    bone = bone / real_max(count, real_splat(1));
    *column(record, dls_state(plan, DLS_BONE)) = bone;
    number damping = (number)plan->job->options.damping;
    *column(record, dls_state(plan, DLS_DAMPING)) =
        damping > 0 ? real_splat(damping * damping) * bone * bone : real_splat(-1);
    *column(record, dls_state(plan, DLS_GROWTH)) = real_splat(2);
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        real weight;
        int to = dls_task(plan, t);
        if (task->rotation)
            column_set_quat(record, to, solve_target_rotation(plan, at, task->node, start->rotations[task->node], &weight));
        else
            column_set_vec3(record, to, solve_target(plan, at, start, task->node, start->positions[task->node], &weight)), *column(record, to+3) = real_splat(0);
        *column(record, to + DLS_WEIGHT) = real_sqrt(weight);
        *column(record, to + DLS_UNIT) = real_splat(1);
    }
    *column(record, ERROR) = dls_measure(plan, record, dls_pose(plan), NULL, 1, (dls_shape){0}).largest;
}

static void dls_finish(const ik_plan *plan, group at, columns record, pose *end) {
    (void)at;
    for (int slot = 0; slot < plan->slots; slot++)
        end->rotations[plan->node_of_slot[slot]] = column_quat(record, dls_rotation(slot));
}

static const method dls_plain = {dls_size, dls_begin, dls_plain_step, dls_finish};
static const method dls_any = {dls_size, dls_begin, dls_step, dls_finish};

static const method *dls_method(const ik_plan *plan) {
    if (plan->task_count == 1 && !plan->tasks[0].rotation && !plan->rigid && !plan->limited) return &dls_plain;
    return &dls_any;
}

SOLVE_METHOD(dls)
