/* Cyclic coordinate descent: extrapolation after a sweep. ccd.h has the idea.
 *
 * Sweeps are slow along valleys of the sum of squares. A stride repeats the turns of the sweep; its length doubles as
 * long as it reduces the errors. When a stride fails, the directions of the sweep and of each of the last steps are
 * combined. Their effect on the errors is known, because they have been made. If errors were linear in turns, the best
 * combination would be the solution of a least squares problem with a few unknowns (D. G. Anderson, "Iterative
 * procedures for nonlinear integral equations", Journal of the ACM 12, 1965). Joints take that step until it no longer
 * reduces the errors. Then strides are used again. */

/* The directions: the turns of the sweep, then those of the last steps, the latest first. The number of steps is that
 * of the tasks, within these bounds. A single task needs strides only; their result is nearer to the start pose. */
enum { CCD_LEAST_PAST = 4, CCD_PAST = 12, CCD_WAYS = 1 + CCD_PAST, CCD_PRODUCTS = CCD_WAYS * (CCD_WAYS + 1) / 2 };

ik_inline int ccd_pasts(const ik_plan *plan) {
    const int tasks = plan->task_count;
    if (tasks < 2) return 0;
    return tasks < CCD_LEAST_PAST ? CCD_LEAST_PAST : tasks > CCD_PAST ? CCD_PAST : tasks;
}

/* If all directions together would reduce the sum of squares by less than this share (goals in conflict, for example),
 * only strides are used. */
#define CCD_LITTLE (number)0.1

/* Directions are treated as one below this squared sine of the angle between their changes of the errors. */
#define CCD_ALIKE (number)(IK_BITS == 64 ? 1e-8 : 1e-4)

/* Columns of a record: the errors, then the data of each of the last steps. These are its turns (in the world), its
 * slides (along the axes of the parents) and its change of the errors. */
ik_inline int ccd_rows(const ik_plan *plan) { return ccd_state(plan, CCD_STATE); }
ik_inline int ccd_past(const ik_plan *plan, int past) {
    return ccd_rows(plan) + plan->rows + past * (3 * (plan->slots + plan->columns_of_slides) + plan->rows);
}
ik_inline int ccd_turned(const ik_plan *plan, int past, int slot) { return ccd_past(plan, past) + 3 * slot; }
ik_inline int ccd_slid(const ik_plan *plan, int past, int slot) { return ccd_turned(plan, past, plan->slots + slot); }
ik_inline int ccd_change(const ik_plan *plan, int past) { return ccd_slid(plan, past, plan->columns_of_slides); }

/* Columns of a step: turns and slides of the sweep; the errors after it, and after the extrapolation. */
ik_inline int ccd_swept(const ik_plan *plan, int slot) { return ccd_height(plan, plan->slots) + 3 * slot; }
ik_inline int ccd_swept_along(const ik_plan *plan, int slot) { return ccd_swept(plan, plan->slots + slot); }
ik_inline int ccd_rows_swept(const ik_plan *plan) { return ccd_swept_along(plan, plan->columns_of_slides); }
ik_inline int ccd_rows_then(const ik_plan *plan) { return ccd_rows_swept(plan) + plan->rows; }

static errors ccd_measure(const ik_plan *plan, columns c, enum errors_when when, int rows) {
    return IK_NAME(errors_measure)(plan, c, when, real_splat(1), column(c, rows), (int)c.step);
}

/* ---- how far along each way */

/* The change of one row of the errors by each direction. */
static void ccd_find_changes(const ik_plan *plan, columns c, int row, real changes[CCD_WAYS]) {
    changes[0] = *column(c, ccd_rows_swept(plan) + row) - *column(c, ccd_rows(plan) + row);
    for (int past = 0; past < ccd_pasts(plan); past++)
        changes[1 + past] = *column(c, ccd_change(plan, past) + row);
}

/* The inner products of these changes with each other and with the errors. */
static void ccd_find_products(const ik_plan *plan, columns c, real products[CCD_PRODUCTS], real with[CCD_WAYS]) {
    const int ways = 1 + ccd_pasts(plan);
    real changes[CCD_WAYS];
    for (int i = 0; i < packed(ways, 0); i++)
        products[i] = real_splat(0);
    for (int i = 0; i < ways; i++)
        with[i] = real_splat(0);
    for (int row = 0; row < plan->rows; row++) {
        const real off = *column(c, ccd_rows_swept(plan) + row);
        ccd_find_changes(plan, c, row, changes);
        for (int i = 0; i < ways; i++) {
            with[i] = with[i] - changes[i] * off;
            for (int j = 0; j <= i; j++)
                products[packed(i, j)] = products[packed(i, j)] + changes[i] * changes[j];
        }
    }
}

/* The best factors of all directions, scaled to unit vectors because older steps are longer. Returns the decrease of
 * the sum of squares that they predict. */
static real ccd_find_best(const ik_plan *plan, columns c, real times[CCD_WAYS]) {
    const real zero = real_splat(0), one = real_splat(1);
    const int ways = 1 + ccd_pasts(plan);
    real products[CCD_PRODUCTS], with[CCD_WAYS], per[CCD_WAYS], gain = zero;
    ccd_find_products(plan, c, products, with);
    for (int i = 0; i < ways; i++) {
        real square = products[packed(i, i)];
        mask some = mask_less(real_splat(SMALLEST), square);
        per[i] = real_select(some, one / real_sqrt(real_select(some, square, one)), zero);
        times[i] = per[i] * with[i];
        for (int j = 0; j <= i; j++)
            products[packed(i, j)] = per[i] * per[j] * products[packed(i, j)];
    }
    ldl_factor(products, 1, ways, real_splat(CCD_ALIKE));
    ldl_solve(products, 1, ways, times);
    for (int i = 0; i < ways; i++) {
        times[i] = per[i] * times[i];
        gain = gain + times[i] * with[i];
    }
    return gain;
}

/* The factors of the next extrapolation: a stride, or all directions, whichever helped last. A single task uses strides
 * only. */
static void ccd_find_times(const ik_plan *plan, columns c, real square, real times[CCD_WAYS]) {
    real *stride = column(c, ccd_state(plan, CCD_STRIDE));
    times[0] = *stride;
    if (!ccd_pasts(plan)) return;
    real best[CCD_WAYS], gain = ccd_find_best(plan, c, best);
    mask little = mask_less(gain, real_splat(CCD_LITTLE) * square);
    *stride = real_select(little, real_abs(*stride), *stride);
    mask strides = mask_less(real_splat(0), *stride);
    times[0] = real_select(strides, *stride, best[0]);
    for (int i = 1; i <= ccd_pasts(plan); i++)
        times[i] = real_select(strides, real_splat(0), best[i]);
}

/* ---- the way */

/* A turn of a joint, carried along by what has just turned. */
ik_inline vec3 ccd_carried(const ik_plan *plan, columns c, int k, vec3 turn) {
    return joint_is_hinge(plan, k) ? turn : quat_rotate(column_quat(c, step_turn(plan, plan->nodes[k].slot)), turn);
}

static void ccd_set_out_turn(const ik_plan *plan, columns c, int k, const real times[CCD_WAYS]) {
    const int slot = plan->nodes[k].slot;
    vec3 swept = ccd_carried(plan, c, k, column_vec3(c, step_own(plan, slot))), turn = vec3_scale(times[0], swept);
    column_set_vec3(c, ccd_swept(plan, slot), swept);
    for (int past = 0; past < ccd_pasts(plan); past++) {
        const int i = ccd_turned(plan, past, slot);
        vec3 turned = ccd_carried(plan, c, k, column_vec3(c, i));
        column_set_vec3(c, i, turned);
        turn = vec3_add(turn, vec3_scale(times[1 + past], turned));
    }
    IK_NAME(turns_allow)(plan, c, k, &turn);
    column_set_vec3(c, step_own(plan, slot), turn);
}

static void ccd_set_out_slide(const ik_plan *plan, columns c, int k, const real times[CCD_WAYS]) {
    const int slot = plan->nodes[k].slot;
    vec3 swept = column_vec3(c, step_slide(plan, slot)), slide = vec3_scale(times[0], swept);
    column_set_vec3(c, ccd_swept_along(plan, slot), swept);
    for (int past = 0; past < ccd_pasts(plan); past++)
        slide = vec3_add(slide, vec3_scale(times[1 + past], column_vec3(c, ccd_slid(plan, past, slot))));
    column_set_vec3(c, step_slide(plan, slot), slide);
    for (int axis = 0; axis < 3; axis++)
        turns_allow_slide(plan, c, k, axis, column(c, step_slide(plan, slot) + axis));
}

static void ccd_set_out(const ik_plan *plan, columns c, real square) {
    real times[CCD_WAYS];
    ccd_find_times(plan, c, square, times);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (plan->nodes[k].turns) ccd_set_out_turn(plan, c, k, times);
        if (plan->nodes[k].slides) ccd_set_out_slide(plan, c, k, times);
    }
}

/* ---- what is remembered */

/* The latest way in lanes that went on, which carries along the others. */
static void ccd_remember_turn(const ik_plan *plan, columns c, int k, mask went) {
    const int slot = plan->nodes[k].slot;
    vec3 swept = column_vec3(c, ccd_swept(plan, slot)), both = vec3_add(swept, column_vec3(c, step_own(plan, slot)));
    vec3 turned = vec3_select(went, both, swept);
    for (int past = 0; past < ccd_pasts(plan); past++) {
        const int i = ccd_turned(plan, past, slot);
        vec3 older = column_vec3(c, i);
        column_set_vec3(c, i, vec3_select(went, ccd_carried(plan, c, k, turned), turned));
        turned = older;
    }
}

static void ccd_remember_slide(const ik_plan *plan, columns c, int slot, mask went) {
    vec3 swept = column_vec3(c, ccd_swept_along(plan, slot));
    vec3 slid = vec3_select(went, vec3_add(swept, column_vec3(c, step_slide(plan, slot))), swept);
    for (int past = 0; past < ccd_pasts(plan); past++) {
        vec3 older = column_vec3(c, ccd_slid(plan, past, slot));
        column_set_vec3(c, ccd_slid(plan, past, slot), slid);
        slid = older;
    }
}

static void ccd_remember(const ik_plan *plan, columns c, mask went) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (plan->nodes[k].turns) ccd_remember_turn(plan, c, k, went);
        if (plan->nodes[k].slides) ccd_remember_slide(plan, c, slot, went);
    }
    for (int row = 0; row < plan->rows; row++) {
        real *rows = column(c, ccd_rows(plan) + row);
        real now = real_select(went, *column(c, ccd_rows_then(plan) + row), *column(c, ccd_rows_swept(plan) + row));
        real change = now - *rows;
        *rows = now;
        for (int past = 0; past < ccd_pasts(plan); past++) {
            real *at = column(c, ccd_change(plan, past) + row), older = *at;
            *at = change;
            change = older;
        }
    }
}

/* The extrapolation that helped is kept; otherwise the other kind is used next. A negative stride means that all
 * directions are in use. */
static void ccd_learn(const ik_plan *plan, columns c, mask better) {
    real *stride = column(c, ccd_state(plan, CCD_STRIDE)), size = real_abs(*stride);
    mask strides = mask_less(real_splat(0), *stride);
    real next = real_select(strides, ccd_next_stride(size, better), size);
    *stride = ccd_pasts(plan) ? real_select(~(strides ^ better), next, -next) : next;
}

/* Deletes the last steps in the chosen lanes. */
ik_outline void ccd_forget(const ik_plan *plan, columns c, mask chosen) {
    ccd_measure(plan, c, IN_POSE, ccd_rows_then(plan));
    for (int row = 0; row < plan->rows; row++) {
        real *rows = column(c, ccd_rows(plan) + row);
        *rows = real_select(chosen, *column(c, ccd_rows_then(plan) + row), *rows);
    }
    for (int i = ccd_past(plan, 0); i < ccd_past(plan, ccd_pasts(plan)); i++)
        *column(c, i) = real_select(chosen, real_splat(0), *column(c, i));
}

/* Extrapolates after a sweep that left these errors; returns the errors of the resulting pose. */
static errors ccd_go_on(const ik_plan *plan, real *bundle, int g, errors now) {
    columns c = columns_of_bundle(bundle, g);
    IK_NAME(turns_start)(plan, c);
    ccd_set_out(plan, c, now.square);
    IK_NAME(turns_try)(plan, bundle + g, 1, 0, plan->slots);
    errors then = ccd_measure(plan, c, AFTER_STEP, ccd_rows_then(plan));
    mask better = mask_less(then.square, now.square);
    IK_NAME(turns_accept)(plan, c, better);
    ccd_remember(plan, c, better);
    ccd_learn(plan, c, better);
    return (errors){real_select(better, then.square, now.square), real_select(better, then.strict, now.strict),
                    real_select(better, then.largest, now.largest)};
}
