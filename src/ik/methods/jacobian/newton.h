/* Newton's method with exact second derivatives. K. Erleben, S. Andrews, "Solving inverse kinematics using exact
 * Hessian matrices", Computers & Graphics 78 (2019). Trust region: H. B. Nielsen, "Damping parameter in Marquardt's
 * method", report IMM-REP-1999-05 (1999).
 *
 * Idea. Half the squared error changes by -g . d + d . H d / 2 with small rotations and slides d of all joints. Its
 * minimum is at H d = g. Let e be the errors of all rows and J_i their derivative by coordinate i. Then
 *
 *   g_i  = J_i . e
 *   H_ij = J_j . (J_i - e x a_i)    i turns about a_i, above j; within a ball joint, the mean of both orders
 *
 * Gauss-Newton and Levenberg-Marquardt, and dls with them, omit e x a_i: a rotation above also rotates the effect of
 * one below. It matters where an error remains, beyond reach or with contradictory goals. Position tasks include it;
 * all other tasks omit it.
 *
 *   solve     H is never assembled. Its element for i above j is u_i . v_j, with u_i = J_i - e x a_i and v_j = J_j.
 * Elimination from the tips preserves that form: it subtracts P u from v. P has the size of the rows and grows by w w^T
 * / pivot for every eliminated w = v - P u. The cost is the number of joints times the square of the rows, as for dls.
 *
 *   damping   H + damping, chosen as by dls. If that is not positive definite, because the error has negative
 *             curvature, the step is that of dls, without e x a_i.
 *
 *   limits    as in dls (dls_limits.h)
 *
 * Coordinates are angles, and slides in mean bone lengths, each scaled by the square root of its mobility. */

/* Arrays of the solve. For every coordinate: v, u and x (one number per row), pull and answer. w of the coordinates of
 * one joint, the matrix P, and a sum over rows. */
typedef struct {
    real *v, *u, *x, *pull, *answer, *w, *matrix, *sum;
    int rows, step;
} newton_system;

ik_inline int newton_ways(const ik_node *node) {
    return (node->turns ? node->axes ? node->axes : 3 : 0) + 3 * node->slides;
}

static int newton_count(const ik_plan *plan) {
    int count = 0;
    if (!plan->nodes) return 3 * (plan->slots + plan->columns_of_slides);
    for (int slot = 0; slot < plan->slots; slot++)
        count += newton_ways(&plan->nodes[plan->node_of_slot[slot]]);
    return count;
}

static record_size newton_size(const ik_plan *plan) {
    const int rows = plan->rows, count = newton_count(plan);
    record_size size = dls_size(plan);
    size.work += count * (3 * rows + 2) + ROWS_WAYS * rows + packed(rows, 0) + rows;
    return size;
}

static newton_system newton_system_of(const ik_plan *plan, columns c) {
    const int rows = plan->rows, step = c.step, all = newton_count(plan) * step;
    real *v = column(c, dls_columns(plan)), *u = v + all * rows, *x = u + all * rows;
    real *pull = x + all * rows, *answer = pull + all, *w = answer + all, *matrix = w + ROWS_WAYS * rows * step;
    return (newton_system){v, u, x, pull, answer, w, matrix, matrix + packed(rows, 0) * step, rows, step};
}

ik_inline real newton_along(const real *a, const real *b, int step, int rows) {
    real sum = real_splat(0);
    for (int i = 0; i < rows; i++)
        sum = sum + a[i * step] * b[i * step];
    return sum;
}

/* ---- coordinates */

/* Derivatives of a task by all coordinates. For a position task, u also has the second-order term e x a; `bent` is 0 to
 * omit it. */
static void newton_see(const ik_plan *plan, columns c, newton_system n, int task, const real *e, real bent) {
    const rows_task seen = rows_see(plan, c, task);
    const real scale = rows_scale(plan, c, task);
    const int first = seen.task->row, count = ik_task_rows(seen.task), simple = joint_task_is_simple(seen.task);
    const vec3 off = vec3_scale(bent, rows_at(e, n.step, first, count));
    int at = 0;
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot], side = task_side(plan, task, slot);
        rows_way ways[ROWS_WAYS];
        const int here = rows_ways(plan, c, k, ways);
        for (int i = 0; i < here; i++, at++) {
            vec3 v = vec3_splat(0, 0, 0), u = v;
            const real root = real_sqrt(ways[i].willing);
            if (side) u = v = vec3_scale(scale * root, rows_change_by(plan, c, &seen, k, &ways[i]));
            if (side && simple && seen.task->kind == IK_PLACE && !ways[i].slides)
                u = vec3_sub(v, vec3_cross(off, vec3_scale(root, ways[i].axis)));
            rows_set(n.v + at * n.rows * n.step, n.step, first, count, v);
            rows_set(n.u + at * n.rows * n.step, n.step, first, count, u);
        }
    }
}

/* Pulls on all coordinates, and the diagonal of J W J^T. */
static diagonal newton_pull(const ik_plan *plan, newton_system n, const real *e) {
    const int rows = n.rows, step = n.step;
    diagonal d = {real_splat(0), real_splat(0)};
    for (int i = 0; i < rows; i++)
        n.sum[i * step] = real_splat(0);
    for (int at = 0; at < newton_count(plan); at++) {
        const real *v = n.v + at * rows * step;
        n.pull[at * step] = newton_along(v, e, step, rows);
        for (int i = 0; i < rows; i++)
            n.sum[i * step] = n.sum[i * step] + v[i * step] * v[i * step];
    }
    for (int i = 0; i < rows; i++)
        d.sum = d.sum + n.sum[i * step], d.largest = real_max(n.sum[i * step], d.largest);
    return d;
}

/* ---- elimination, from the tips */

/* w = v - P u for the coordinates of a joint, starting at `at`. */
static void newton_reduce(newton_system n, int at, int count) {
    const int rows = n.rows, step = n.step;
    for (int i = 0; i < count; i++) {
        const real *u = n.u + (at + i) * rows * step, *v = n.v + (at + i) * rows * step;
        for (int r = 0; r < rows; r++) {
            real sum = v[r * step];
            for (int q = 0; q < rows; q++)
                sum = sum - n.matrix[(r > q ? packed(r, q) : packed(q, r)) * step] * u[q * step];
            n.w[(i * rows + r) * step] = sum;
        }
    }
}

/* The joint's own block of the reduced matrix. A rotation of a joint does not rotate its slide. */
static void newton_block(newton_system n, int at, int count, int turns, real *block) {
    const int rows = n.rows, step = n.step;
    const real half = real_splat(0.5f);
    for (int i = 0; i < count; i++)
        for (int j = 0; j <= i; j++) {
            const real *u = n.u + at * rows * step;
            real sum = newton_along(u + i * rows * step, n.w + j * rows * step, step, rows);
            real other = newton_along(u + j * rows * step, n.w + i * rows * step, step, rows);
            block[packed(i, j)] = i < turns ? half * (sum + other) : sum;
        }
}

/* Relative to the damping: a smaller pivot counts as not positive. */
#define NEWTON_LEAST (number)0.1

/* As ldl_factor. Returns the lanes in which the block is not positive definite. */
static mask newton_factor(real *block, int count, real damping) {
    mask bad = mask_splat(0);
    for (int i = 0; i < count; i++) {
        real pivot = block[packed(i, i)] + damping;
        for (int j = 0; j < i; j++)
            for (int k = 0; k < j; k++)
                block[packed(i, j)] = block[packed(i, j)] - block[packed(i, k)] * block[packed(j, k)];
        for (int j = 0; j < i; j++) {
            real sum = block[packed(i, j)], l = sum * block[packed(j, j)];
            block[packed(i, j)] = l;
            pivot = pivot - l * sum;
        }
        mask none = mask_less(pivot, real_splat(NEWTON_LEAST) * damping);
        bad |= none;
        block[packed(i, i)] = real_splat(1) / real_select(none, damping, pivot);
    }
    return bad;
}

/* Computes x and the partial answer of those coordinates, and their contributions to P and to the sum. */
static void newton_take(newton_system n, int at, int count, const real *block) {
    const int rows = n.rows, step = n.step;
    real column[ROWS_WAYS];
    for (int r = 0; r <= rows; r++) {
        for (int i = 0; i < count; i++) {
            const real *u = n.u + (at + i) * rows * step;
            column[i] =
                r < rows ? n.w[(i * rows + r) * step] : n.pull[(at + i) * step] - newton_along(u, n.sum, step, rows);
        }
        ldl_solve_by_rows(count, block, 1, column);
        for (int i = 0; i < count; i++)
            *(r < rows ? &n.x[((at + i) * rows + r) * step] : &n.answer[(at + i) * step]) = column[i];
    }
    for (int i = 0; i < count; i++) {
        const real *w = n.w + i * rows * step, *x = n.x + (at + i) * rows * step;
        for (int r = 0; r < rows; r++) {
            n.sum[r * step] = n.sum[r * step] + w[r * step] * n.answer[(at + i) * step];
            for (int q = 0; q <= r; q++)
                n.matrix[packed(r, q) * step] = n.matrix[packed(r, q) * step] + w[r * step] * x[q * step];
        }
    }
}

static mask newton_eliminate(const ik_plan *plan, newton_system n, real damping) {
    mask bad = mask_splat(0);
    int at = newton_count(plan);
    for (int i = 0; i < packed(n.rows, 0); i++)
        n.matrix[i * n.step] = real_splat(0);
    for (int i = 0; i < n.rows; i++)
        n.sum[i * n.step] = real_splat(0);
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        const int count = newton_ways(node);
        real block[ROWS_WAYS * (ROWS_WAYS + 1) / 2];
        at -= count;
        newton_reduce(n, at, count);
        newton_block(n, at, count, count - 3 * node->slides, block);
        bad |= newton_factor(block, count, damping);
        newton_take(n, at, count, block);
    }
    return bad;
}

/* Back substitution from the root. Returns the predicted decrease of the squared error. */
static real newton_finish(const ik_plan *plan, newton_system n, real damping) {
    const int rows = n.rows, step = n.step;
    real fall = real_splat(0);
    int at = 0;
    for (int i = 0; i < rows; i++)
        n.sum[i * step] = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int first = at, count = newton_ways(&plan->nodes[plan->node_of_slot[slot]]);
        for (; at < first + count; at++) {
            real *answer = &n.answer[at * step];
            *answer = *answer - newton_along(n.x + at * rows * step, n.sum, step, rows);
            fall = fall + *answer * (n.pull[at * step] + damping * *answer);
        }
        for (int i = first; i < at; i++)
            for (int r = 0; r < rows; r++)
                n.sum[r * step] = n.sum[r * step] + n.u[(i * rows + r) * step] * n.answer[i * step];
    }
    return fall;
}

/* ---- a step */

/* Converts answers to rotations and slides. Returns the largest, as an angle. */
static real newton_move(const ik_plan *plan, columns c, newton_system n) {
    const real unit = *column(c, joint_lever(plan));
    real largest = real_splat(0);
    int at = 0;
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        rows_way ways[ROWS_WAYS];
        const int count = rows_ways(plan, c, k, ways);
        vec3 turn = vec3_splat(0, 0, 0);
        for (int i = 0; i < count; i++, at++) {
            real by = real_sqrt(ways[i].willing) * n.answer[at * n.step];
            if (!ways[i].slides) turn = vec3_add(turn, vec3_scale(by, ways[i].axis));
            if (!ways[i].slides && joint_is_hinge(plan, k)) turn = task_scalar(by);
            if (ways[i].slides) *(column(c, step_slide(plan, slot) + i - (count - 3))) = by;
        }
        column_set_vec3(c, step_own(plan, slot), turn);
        largest = real_max(vec3_length(turn), largest);
        if (plan->nodes[k].slides)
            largest = real_max(vec3_length(column_vec3(c, step_slide(plan, slot))) / unit, largest);
    }
    return largest;
}

static dls_outlook newton_solve(const ik_plan *plan, columns c) {
    rows_system s = rows_system_of(plan, c);
    newton_system n = newton_system_of(plan, c);
    const real zero = real_splat(0), one = real_splat(1);
    errors now = dls_look(plan, c, s);
    for (int task = 0; task < plan->task_count; task++)
        newton_see(plan, c, n, task, s.y, one);
    const real damping = dls_damping(plan, c, newton_pull(plan, n, s.y));
    mask bad = newton_eliminate(plan, n, damping);
    if (mask_any(bad)) {
        for (int task = 0; task < plan->task_count; task++)
            newton_see(plan, c, n, task, s.y, real_select(bad, zero, one));
        newton_eliminate(plan, n, damping);
    }
    real left = square_of(s.y, s.step, s.rows) - newton_finish(plan, n, damping);
    dls_shorten_turns(plan, c, newton_move(plan, c, n), 1);
    if (plan->one_sided) rows_take_off(plan, c, dls_all, s.y, s.step);
    return (dls_outlook){now, left};
}

static void newton_step(const ik_plan *plan, real *bundle, int groups) {
    dls_step_by(plan, bundle, groups, newton_solve);
}

static const method newton_any = {newton_size, dls_begin, newton_step, IK_NAME(joint_place), 1};
static const method *newton_method(const ik_plan *plan) { return (void)plan, &newton_any; }

SOLVE_METHOD(newton)
