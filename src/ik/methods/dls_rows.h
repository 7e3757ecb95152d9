/* The Jacobian of dls, which is never stored: how far tasks are from what they want, the matrix of all tasks by blocks,
 * what pulls at joints, and what tasks see of their turns. Places and rotations in the world have closed forms; any
 * other task goes by its changes (frame/tasks.h). */

/* ---- errors */

/* Whether it is about the pose or about where the step takes it. */
typedef enum { DLS_POSE, DLS_TRIAL } dls_when;

ik_inline task_wanted dls_wanted(const ik_plan *plan, columns c, int task) {
    quat all = column_quat(c, dls_task(plan, task) + DLS_TARGET);
    if (plan->tasks[task].kind == IK_TURN) return (task_wanted){.rotation = all};
    return (task_wanted){.place = {all.w, all.v.x, all.v.y}, .number = all.v.z};
}

ik_inline vec3 dls_place_of(const ik_plan *plan, columns c, dls_when when, int slot) {
    return column_vec3(c, when == DLS_TRIAL ? dls_moved(plan, slot) : dls_position(plan, slot));
}

ik_inline quat dls_rotation_of(const ik_plan *plan, columns c, dls_when when, int slot) {
    quat now = column_quat(c, dls_rotation(slot));
    return when == DLS_TRIAL ? quat_multiply(column_quat(c, dls_turn(plan, slot)), now) : now;
}

static vec3 dls_centre(const ik_plan *plan, columns c, dls_when when) {
    vec3 sum = vec3_splat(0, 0, 0);
    for (int slot = 0; slot < plan->slots; slot++) {
        double mass = plan->nodes[plan->node_of_slot[slot]].mass;
        if (mass == 0) continue;
        vec3 place = dls_place_of(plan, c, when, slot);
        sum = vec3_add(sum, vec3_scale(real_splat((number)(mass / plan->mass)), place));
    }
    return sum;
}

ik_inline task_view dls_view(const ik_plan *plan, columns c, dls_when when, const ik_task *task) {
    const int slot = task->node < 0 ? -1 : plan->nodes[task->node].slot;
    task_view view = {.place = vec3_splat(0, 0, 0)};
    if (task->kind != IK_TURN) view.place = slot < 0 ? dls_centre(plan, c, when) : dls_place_of(plan, c, when, slot);
    if (task->kind == IK_TURN || task->kind == IK_LOOK) view.rotation = dls_rotation_of(plan, c, when, slot);
    if (task->other < 0) return view;
    view.other_place = dls_place_of(plan, c, when, plan->nodes[task->other].slot);
    view.other_rotation = dls_rotation_of(plan, c, when, plan->nodes[task->other].slot);
    return view;
}

ik_inline vec3 dls_off(const ik_plan *plan, columns c, dls_when when, int task, dls_shape shape) {
    const ik_task *t = &plan->tasks[task];
    if (shape.plain) {
        vec3 place = dls_place_of(plan, c, when, plan->nodes[t->node].slot);
        return vec3_sub(column_vec3(c, dls_task(plan, task)), place);
    }
    task_wanted wanted = dls_wanted(plan, c, task);
    task_view view = dls_view(plan, c, when, t);
    return task_error(plan, t, &wanted, &view);
}

/* By which the rows of a task are multiplied. */
ik_inline real dls_scale(const ik_plan *plan, columns c, int task, dls_shape shape) {
    real weight = *column(c, dls_task(plan, task) + DLS_WEIGHT);
    if (shape.plain || !task_is_angle(&plan->tasks[task])) return weight;
    return weight * *column(c, dls_state(plan, DLS_BONE));
}

typedef struct {
    real square;  /* of all rows, as levels count */
    real strict;  /* of all rows, as they count for the best pose; the same where there is one level */
    real largest; /* as it is judged */
} dls_error;

/* Rows of one number or three. */
ik_inline void dls_set_row(real *rows, int step, int first, int count, vec3 v) {
    rows[first * step] = v.x;
    if (count > 1) rows[(first + 1) * step] = v.y, rows[(first + 2) * step] = v.z;
}
ik_inline vec3 dls_row(const real *rows, int step, int first, int count) {
    if (count == 1) return task_scalar(rows[first * step]);
    return (vec3){rows[first * step], rows[(first + 1) * step], rows[(first + 2) * step]};
}

/* An INSIDE counts where it is violated, or would be by the step; but not where it would hold back. */
ik_inline mask dls_is_active(const ik_plan *plan, columns c, int task) {
    return mask_equal(*column(c, dls_active(plan, task)), real_splat(1));
}

/* What a level counts beside the one before, of squared errors. In whether a step is taken: at first so much that long
 * steps are, though they bend away a little from what the level before wants; and less as long as that is why they are
 * not. In which pose is best: next to nothing. */
#define DLS_LEVEL_FIRST (number)1e-2
#define DLS_LEVEL_LAST  (number)1e-10

static real dls_power(real x, int exponent) {
    real power = real_splat(1);
    while (exponent-- > 0)
        power = power * x;
    return power;
}

/* The reach of the chain to node k. */
static real dls_reach(const ik_plan *plan, columns c, dls_when when, int k) {
    real sum = real_splat(0);
    for (; plan->nodes[k].moves; k = plan->nodes[k].parent) {
        vec3 from = dls_place_of(plan, c, when, plan->nodes[plan->nodes[k].parent].slot);
        sum = sum + vec3_length(vec3_sub(dls_place_of(plan, c, when, plan->nodes[k].slot), from));
    }
    return sum;
}

/* What the error of a task counts for. */
ik_inline real dls_unit(const ik_plan *plan, columns c, dls_when when, int t) {
    const ik_task *task = &plan->tasks[t];
    real unit = *column(c, dls_task(plan, t) + DLS_UNIT), reach = real_splat(0);
    if (!plan->slides || task_is_angle(task) || task->node < 0) return unit;
    reach = dls_reach(plan, c, when, task->node);
    if (task->other >= 0) reach = real_max(reach, dls_reach(plan, c, when, task->other));
    return real_select(mask_equal(unit, real_splat(0)), unit, solve_counts_for(plan, c, reach));
}

ik_inline dls_error dls_measure(const ik_plan *plan, columns c, dls_when when, real *rows, int step, dls_shape shape) {
    dls_error e = {real_splat(0), real_splat(0), real_splat(0)};
    for (int t = 0; t < dls_tasks(plan, shape); t++) {
        const ik_task *task = &plan->tasks[t];
        real scale = dls_scale(plan, c, t, shape);
        vec3 off = dls_off(plan, c, when, t, shape), row = vec3_scale(scale, off);
        if (rows) dls_set_row(rows, step, shape.plain ? 0 : task->row, shape.plain ? 3 : ik_task_rows(task), row);
        if (!shape.plain && task->kind == IK_INSIDE) off = task_miss(task, off), row = vec3_scale(scale, off);
        real square = vec3_dot(row, row);
        if (!shape.plain && plan->levels > 1) {
            e.strict = e.strict + dls_power(real_splat(DLS_LEVEL_LAST), task->level) * square;
            square = dls_power(*column(c, dls_state(plan, DLS_LEVEL)), task->level) * square;
        }
        e.square = e.square + square;
        real unit = shape.plain ? *column(c, dls_task(plan, t) + DLS_UNIT) : dls_unit(plan, c, when, t);
        e.largest = real_max(vec3_length(off) * unit, e.largest);
    }
    e.largest = e.largest + real_poison(e.square);
    return e;
}

/* ---- the normal matrix */

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

/* Tasks in the world whose blocks have a closed form. */
ik_inline int dls_is_simple(const ik_task *task) {
    return task->other < 0 && (task->kind == IK_PLACE || task->kind == IK_TURN);
}

/* The block of two such tasks, over all joints that move both. */
ik_inline mat3 dls_block(const ik_plan *plan, columns c, int task, int other, dls_shape shape) {
    const ik_task *s = &plan->tasks[task], *t = &plan->tasks[other];
    int a_turns = !shape.plain && s->kind == IK_TURN, b_turns = !shape.plain && t->kind == IK_TURN;
    vec3 p = column_vec3(c, dls_position(plan, plan->nodes[s->node].slot));
    vec3 q = column_vec3(c, dls_position(plan, plan->nodes[t->node].slot));
    mat3 sum = {vec3_splat(0, 0, 0), vec3_splat(0, 0, 0), vec3_splat(0, 0, 0)};
    for (int k = dls_common(plan, s->node, t->node); k >= 0; k = dls_next(plan, k)) {
        if (!shape.plain && plan->nodes[k].slides && !a_turns && !b_turns)
            sum = mat3_add(sum, dls_slide_block(plan, c, k));
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

/* What a node may do: turn about an axis, or slide along it, and how willingly. */
typedef struct {
    vec3 axis;
    real willing;
    int slides;
} dls_way;

enum { DLS_WAYS = 6 };

static int dls_ways(const ik_plan *plan, columns c, int k, dls_way *ways) {
    const int slot = plan->nodes[k].slot, axes = plan->nodes[k].turns ? dls_axes(plan, k) : 0;
    const real one = real_splat(1), zero = real_splat(0);
    const vec3 world[3] = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
    int count = 0;
    for (int i = 0; i < axes; i++)
        ways[count++] = (dls_way){column_vec3(c, dls_axis(plan, slot) + 3 * i), dls_willing(plan, c, k, i), 0};
    for (int i = 0; i < 3 && plan->nodes[k].turns && !axes; i++)
        ways[count++] = (dls_way){world[i], one, 0};
    for (int i = 0; i < 3 && plan->nodes[k].slides; i++)
        ways[count++] = (dls_way){quat_rotate(dls_parent(plan, c, k), world[i]), dls_slides(plan, c, slot, i), 1};
    return count;
}

/* A task as it stands. */
typedef struct {
    const ik_task *task;
    int index;
    task_wanted wanted;
    task_view view;
} dls_seen;

static dls_seen dls_see(const ik_plan *plan, columns c, int task) {
    const ik_task *t = &plan->tasks[task];
    return (dls_seen){t, task, dls_wanted(plan, c, task), dls_view(plan, c, DLS_POSE, t)};
}

/* What a task sees of a turn about, and of a slide along axes of node k. */
static vec3 dls_change(const ik_plan *plan, columns c, const dls_seen *seen, int k, vec3 turn, vec3 slide) {
    const int slot = plan->nodes[k].slot, side = task_side(plan, seen->index, slot);
    vec3 at = column_vec3(c, dls_position(plan, slot));
    vec3 arm = vec3_sub(task_lever(seen->task, &seen->wanted, &seen->view, side), at);
    if (seen->task->node < 0) {
        real share = real_splat((number)(plan->nodes[k].heavy / plan->mass));
        arm = vec3_sub(column_vec3(c, dls_moment(plan, slot)), vec3_scale(share, at));
        slide = vec3_scale(share, slide);
    }
    motion by = {vec3_add(vec3_cross(turn, arm), slide), turn};
    return task_change(plan, seen->task, &seen->wanted, &seen->view, side, by);
}

static vec3 dls_change_by(const ik_plan *plan, columns c, const dls_seen *seen, int k, const dls_way *way) {
    const vec3 none = vec3_splat(0, 0, 0);
    return dls_change(plan, c, seen, k, way->slides ? none : way->axis, way->slides ? way->axis : none);
}

/* The block of any two tasks. */
static mat3 dls_any_block(const ik_plan *plan, columns c, int task, int other) {
    dls_seen s = dls_see(plan, c, task), t = dls_see(plan, c, other);
    mat3 sum = {vec3_splat(0, 0, 0), vec3_splat(0, 0, 0), vec3_splat(0, 0, 0)};
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!task_side(plan, task, slot) || !task_side(plan, other, slot)) continue;
        dls_way ways[DLS_WAYS];
        int k = plan->node_of_slot[slot], count = dls_ways(plan, c, k, ways);
        for (int i = 0; i < count; i++) {
            vec3 a = dls_change_by(plan, c, &s, k, &ways[i]), b = dls_change_by(plan, c, &t, k, &ways[i]);
            a = vec3_scale(ways[i].willing, a);
            sum = mat3_add(sum, (mat3){vec3_scale(a.x, b), vec3_scale(a.y, b), vec3_scale(a.z, b)});
        }
    }
    return sum;
}

ik_inline void dls_set_block(real *a, int step, int row, int column, vec3 v, int count) {
    a[packed(row, column) * step] = v.x;
    if (count > 1) a[packed(row, column + 1) * step] = v.y;
    if (count > 2) a[packed(row, column + 2) * step] = v.z;
}

/* By which a task's rows are multiplied in the equations. */
ik_inline real dls_row_scale(const ik_plan *plan, columns c, int task, dls_shape shape) {
    real scale = dls_scale(plan, c, task, shape);
    if (shape.plain || plan->tasks[task].kind != IK_INSIDE) return scale;
    return real_select(dls_is_active(plan, c, task), scale, real_splat(0));
}

ik_inline void dls_assemble(const ik_plan *plan, columns c, real *a, int step, dls_shape shape) {
    for (int t = 0; t < dls_tasks(plan, shape); t++)
        for (int u = 0; u <= t; u++) {
            const ik_task *task = &plan->tasks[t], *other = &plan->tasks[u];
            int simple = shape.plain || (dls_is_simple(task) && dls_is_simple(other));
            mat3 block = simple ? dls_block(plan, c, t, u, shape) : dls_any_block(plan, c, t, u);
            block = mat3_scale(dls_row_scale(plan, c, t, shape) * dls_row_scale(plan, c, u, shape), block);
            int row = shape.plain ? 0 : task->row, column = shape.plain ? 0 : other->row;
            int rows = simple ? 3 : ik_task_rows(task), numbers = simple ? 3 : ik_task_rows(other);
            dls_set_block(a, step, row, column, block.x, t == u ? 1 : numbers);
            if (rows > 1) dls_set_block(a, step, row + 1, column, block.y, t == u ? 2 : numbers);
            if (rows > 2) dls_set_block(a, step, row + 2, column, block.z, numbers);
        }
}

typedef struct {
    real sum, largest;
} dls_diagonal;

ik_inline dls_diagonal dls_diagonal_of(const real *a, int step, int rows) {
    dls_diagonal d = {real_splat(0), real_splat(0)};
    for (int i = 0; i < rows; i++) {
        real x = a[packed(i, i) * step];
        d.sum = d.sum + x;
        d.largest = real_max(x, d.largest);
    }
    return d;
}

/* ---- turns */

ik_inline void dls_add(columns c, int at, vec3 v) { column_set_vec3(c, at, vec3_add(column_vec3(c, at), v)); }

/* y pulls at every joint that moves a task. */
ik_inline void dls_pull_simple(const ik_plan *plan, columns c, int task, vec3 y) {
    const ik_task *t = &plan->tasks[task];
    vec3 p = column_vec3(c, dls_position(plan, plan->nodes[t->node].slot));
    for (int k = t->node; k >= 0; k = dls_next(plan, k)) {
        int slot = plan->nodes[k].slot;
        if (plan->nodes[k].slides && t->kind == IK_PLACE) dls_add(c, dls_shift(plan, slot), y);
        if (!plan->nodes[k].turns) continue;
        vec3 r = vec3_sub(p, column_vec3(c, dls_position(plan, slot)));
        dls_add(c, dls_delta(plan, slot), t->kind == IK_TURN ? y : vec3_cross(r, y));
    }
}

static void dls_pull_any(const ik_plan *plan, columns c, int task, vec3 y) {
    const real one = real_splat(1), zero = real_splat(0);
    const vec3 axes[3] = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}}, none = {zero, zero, zero};
    dls_seen seen = dls_see(plan, c, task);
    for (int slot = 0; slot < plan->slots; slot++) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        real turn[3], slide[3];
        if (!task_side(plan, task, slot) || (!node->turns && !node->slides)) continue;
        for (int i = 0; i < 3; i++) {
            turn[i] = vec3_dot(y, dls_change(plan, c, &seen, plan->node_of_slot[slot], axes[i], none));
            slide[i] = vec3_dot(y, dls_change(plan, c, &seen, plan->node_of_slot[slot], none, axes[i]));
        }
        if (node->turns) dls_add(c, dls_delta(plan, slot), (vec3){turn[0], turn[1], turn[2]});
        if (node->slides) dls_add(c, dls_shift(plan, slot), (vec3){slide[0], slide[1], slide[2]});
    }
}

ik_inline void dls_pull(const ik_plan *plan, columns c, int task, vec3 y) {
    y = vec3_scale(dls_row_scale(plan, c, task, (dls_shape){0}), y);
    if (dls_is_simple(&plan->tasks[task]))
        dls_pull_simple(plan, c, task, y);
    else
        dls_pull_any(plan, c, task, y);
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

/* How a pulled node slides, along the axes of its parent. */
static vec3 dls_slide_by(const ik_plan *plan, columns c, int k, vec3 pull) {
    const int slot = plan->nodes[k].slot;
    pull = quat_rotate(quat_conjugate(dls_parent(plan, c, k)), pull);
    return (vec3){dls_slides(plan, c, slot, 0) * pull.x, dls_slides(plan, c, slot, 1) * pull.y,
                  dls_slides(plan, c, slot, 2) * pull.z};
}

/* Where the turns and slides of all nodes are, of a step: what is held, what is wished for, or all of it. */
typedef struct {
    int (*turns)(const ik_plan *plan, int slot);
    int (*slides)(const ik_plan *plan, int slot); /* NULL: none */
} dls_moves;

static const dls_moves dls_all = {dls_delta, dls_shift}, dls_kept_back = {dls_held, dls_pinned_by},
                       dls_wished = {dls_wish, NULL};

/* What a simple task sees of them. */
static vec3 dls_sum_simple(const ik_plan *plan, columns c, const ik_task *task, dls_moves moves) {
    vec3 p = column_vec3(c, dls_position(plan, plan->nodes[task->node].slot)), sum = vec3_splat(0, 0, 0);
    for (int k = task->node; k >= 0; k = dls_next(plan, k)) {
        int slot = plan->nodes[k].slot;
        if (plan->nodes[k].slides && moves.slides && task->kind == IK_PLACE)
            sum = vec3_add(sum, quat_rotate(dls_parent(plan, c, k), column_vec3(c, moves.slides(plan, slot))));
        if (!plan->nodes[k].turns) continue;
        vec3 by = column_vec3(c, moves.turns(plan, slot));
        mask some = ~mask_equal(vec3_size(by), real_splat(0));
        if (!mask_any(some)) continue;
        by = dls_as_vector(plan, c, k, by);
        vec3 r = vec3_sub(p, column_vec3(c, dls_position(plan, slot)));
        sum = vec3_add(sum, task->kind == IK_TURN ? by : vec3_cross(by, r));
    }
    return sum;
}

static vec3 dls_sum_any(const ik_plan *plan, columns c, int task, dls_moves moves) {
    vec3 sum = vec3_splat(0, 0, 0);
    dls_seen seen = dls_see(plan, c, task);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        vec3 turn = vec3_splat(0, 0, 0), slide = turn;
        if (!task_side(plan, task, slot)) continue;
        if (plan->nodes[k].turns) turn = dls_as_vector(plan, c, k, column_vec3(c, moves.turns(plan, slot)));
        if (plan->nodes[k].slides && moves.slides)
            slide = quat_rotate(dls_parent(plan, c, k), column_vec3(c, moves.slides(plan, slot)));
        sum = vec3_add(sum, dls_change(plan, c, &seen, k, turn, slide));
    }
    return sum;
}

static vec3 dls_sum(const ik_plan *plan, columns c, int task, dls_moves moves) {
    const ik_task *t = &plan->tasks[task];
    return dls_is_simple(t) ? dls_sum_simple(plan, c, t, moves) : dls_sum_any(plan, c, task, moves);
}

/* rows less what these do to them. */
static void dls_take_off(const ik_plan *plan, columns c, dls_moves moves, real *rows, int step) {
    for (int t = 0; t < plan->task_count; t++) {
        int first = plan->tasks[t].row, count = ik_task_rows(&plan->tasks[t]);
        vec3 row = vec3_scale(dls_scale(plan, c, t, (dls_shape){0}), dls_sum(plan, c, t, moves));
        dls_set_row(rows, step, first, count, vec3_sub(dls_row(rows, step, first, count), row));
    }
}

/* The rotation by a rotation vector, cut to an angle. */
ik_inline quat dls_exp(vec3 v, real most) {
    const real half = real_splat(0.5f);
    real angle = vec3_length(v);
    cosine_sine at = real_sincos(half * real_min(angle, most));
    return (quat){at.cosine, vec3_scale(at.sine / (angle + real_splat(TINY_LENGTH)), v)};
}

ik_inline vec3 dls_cut(vec3 v, real most) {
    real length = vec3_length(v);
    return vec3_scale(real_min(real_splat(1), most / (length + real_splat(TINY_LENGTH))), v);
}
