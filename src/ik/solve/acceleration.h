/* Acceleration of a fixed-point method: after each of its steps all joints go on.
 *
 * Steps creep along valleys of the sum of squares. Therefore all joints first repeat the turns of the step, times a
 * stride that doubles as long as the errors decrease. If they do not, the turns of the last steps are more directions,
 * and the change of the errors by each is known. To first order this gives the point of the least sum of squares along
 * all of them, a least squares problem of a few unknowns (D. G. Anderson, "Iterative procedures for nonlinear integral
 * equations", Journal of the ACM 12, 1965). Joints move to this point, as long as the errors decrease. Then strides
 * are used again.
 *
 *   acceleration         the first columns that a method has for this: of a record, and of a step
 *   accelerate_columns   how many of a record
 *   accelerate_work      how many of a step
 *   accelerate_start     fills a record; returns the errors of its pose
 *   accelerate_measure   the errors after a step of the method, whose own turns are still in the columns of turns.h
 *   accelerate           then goes on; returns the errors of where all joints are
 *   accelerate_forget    where something else has moved the joints */

/* The ways: what the step has turned, then what the last steps have, the latest first: as many steps as there are
 * tasks, within these bounds. A single task has no need of them: strides are enough, and stay nearer to where it
 * started. */
enum {
    ACCELERATE_LEAST_PAST = 4,
    ACCELERATE_PAST = 12,
    ACCELERATE_WAYS = 1 + ACCELERATE_PAST,
    ACCELERATE_PRODUCTS = ACCELERATE_WAYS * (ACCELERATE_WAYS + 1) / 2
};

ik_inline int accelerate_pasts(const ik_plan *plan) {
    const int tasks = plan->task_count;
    if (tasks < 2) return 0;
    return tasks < ACCELERATE_LEAST_PAST ? ACCELERATE_LEAST_PAST : tasks > ACCELERATE_PAST ? ACCELERATE_PAST : tasks;
}

/* If all directions together would reduce the sum of squares by less than this share (goals in conflict, for example),
 * only strides are used. */
#define ACCELERATE_LITTLE (number)0.1

/* The longest stride, in steps. */
#define ACCELERATE_STRIDE_MOST (number)256

/* Directions are treated as one below this squared sine of the angle between their changes of the errors. */
#define ACCELERATE_ALIKE (number)(IK_BITS == 64 ? 1e-8 : 1e-4)

typedef struct {
    int record, work;
} acceleration;

/* Columns of a record: the stride in steps, negative while all directions are in use; the errors; then the data of
 * each of the last steps. These are its turns (in the world), its slides (along the axes of the parents) and its change
 * of the errors. */
ik_inline int accelerate_stride(acceleration x) { return x.record; }
ik_inline int accelerate_rows(acceleration x) { return x.record + 1; }
ik_inline int accelerate_past(const ik_plan *plan, acceleration x, int past) {
    return accelerate_rows(x) + plan->rows + past * (3 * (plan->slots + plan->columns_of_slides) + plan->rows);
}
ik_inline int accelerate_turned(const ik_plan *plan, acceleration x, int past, int slot) {
    return accelerate_past(plan, x, past) + 3 * slot;
}
ik_inline int accelerate_slid(const ik_plan *plan, acceleration x, int past, int slot) {
    return accelerate_turned(plan, x, past, plan->slots + slot);
}
ik_inline int accelerate_change(const ik_plan *plan, acceleration x, int past) {
    return accelerate_slid(plan, x, past, plan->columns_of_slides);
}
ik_inline int accelerate_columns(const ik_plan *plan) {
    return accelerate_past(plan, (acceleration){0, 0}, accelerate_pasts(plan));
}

/* Columns of a step: its turns and slides; the errors after it, and after the extrapolation. */
ik_inline int accelerate_swept(acceleration x, int slot) { return x.work + 3 * slot; }
ik_inline int accelerate_swept_along(const ik_plan *plan, acceleration x, int slot) {
    return accelerate_swept(x, plan->slots + slot);
}
ik_inline int accelerate_rows_swept(const ik_plan *plan, acceleration x) {
    return accelerate_swept_along(plan, x, plan->columns_of_slides);
}
ik_inline int accelerate_rows_then(const ik_plan *plan, acceleration x) {
    return accelerate_rows_swept(plan, x) + plan->rows;
}
ik_inline int accelerate_work(const ik_plan *plan) {
    return accelerate_rows_then(plan, (acceleration){0, 0}) + plan->rows;
}

static inline errors accelerate_measure_into(const ik_plan *plan, columns c, enum errors_when when, int rows) {
    return IK_NAME(errors_measure)(plan, c, when, real_splat(1), column(c, rows), (int)c.step);
}
static inline errors accelerate_measure(const ik_plan *plan, acceleration x, columns c) {
    return accelerate_measure_into(plan, c, IN_POSE, accelerate_rows_swept(plan, x));
}

/* It doubles where it was better, and else is a quarter. */
ik_inline real accelerate_next_stride(real stride, mask better) {
    real longer = real_min(stride + stride, real_splat(ACCELERATE_STRIDE_MOST));
    return real_select(better, longer, real_max(stride * real_splat((number)0.25), real_splat((number)0.5)));
}

/* ---- how far along each way */

/* The change of one row of the errors by each direction. */
static inline void accelerate_find_changes(const ik_plan *plan, acceleration x, columns c, int row,
                                           real changes[ACCELERATE_WAYS]) {
    changes[0] = *column(c, accelerate_rows_swept(plan, x) + row) - *column(c, accelerate_rows(x) + row);
    for (int past = 0; past < accelerate_pasts(plan); past++)
        changes[1 + past] = *column(c, accelerate_change(plan, x, past) + row);
}

/* The inner products of these changes with each other and with the errors. */
static inline void accelerate_find_products(const ik_plan *plan, acceleration x, columns c,
                                            real products[ACCELERATE_PRODUCTS], real with[ACCELERATE_WAYS]) {
    const int ways = 1 + accelerate_pasts(plan);
    real changes[ACCELERATE_WAYS];
    for (int i = 0; i < packed(ways, 0); i++)
        products[i] = real_splat(0);
    for (int i = 0; i < ways; i++)
        with[i] = real_splat(0);
    for (int row = 0; row < plan->rows; row++) {
        const real off = *column(c, accelerate_rows_swept(plan, x) + row);
        accelerate_find_changes(plan, x, c, row, changes);
        for (int i = 0; i < ways; i++) {
            with[i] = with[i] - changes[i] * off;
            for (int j = 0; j <= i; j++)
                products[packed(i, j)] = products[packed(i, j)] + changes[i] * changes[j];
        }
    }
}

/* The best factors of all directions, scaled to unit vectors because older steps are longer. Returns the decrease of
 * the sum of squares that they predict. */
static inline real accelerate_find_best(const ik_plan *plan, acceleration x, columns c, real times[ACCELERATE_WAYS]) {
    const real zero = real_splat(0), one = real_splat(1);
    const int ways = 1 + accelerate_pasts(plan);
    real products[ACCELERATE_PRODUCTS], with[ACCELERATE_WAYS], per[ACCELERATE_WAYS], gain = zero;
    accelerate_find_products(plan, x, c, products, with);
    for (int i = 0; i < ways; i++) {
        real square = products[packed(i, i)];
        mask some = mask_less(real_splat(SMALLEST), square);
        per[i] = real_select(some, one / real_sqrt(real_select(some, square, one)), zero);
        times[i] = per[i] * with[i];
        for (int j = 0; j <= i; j++)
            products[packed(i, j)] = per[i] * per[j] * products[packed(i, j)];
    }
    ldl_factor(products, 1, ways, real_splat(ACCELERATE_ALIKE));
    ldl_solve(products, 1, ways, times);
    for (int i = 0; i < ways; i++) {
        times[i] = per[i] * times[i];
        gain = gain + times[i] * with[i];
    }
    return gain;
}

/* The factors of the next extrapolation: a stride, or all directions, whichever helped last. A single task has just
 * strides, which steps for it seldom need more than, and which are nearer to where it started. */
static inline void accelerate_find_times(const ik_plan *plan, acceleration x, columns c, real square,
                                         real times[ACCELERATE_WAYS]) {
    real *stride = column(c, accelerate_stride(x));
    times[0] = *stride;
    if (!accelerate_pasts(plan)) return;
    real best[ACCELERATE_WAYS], gain = accelerate_find_best(plan, x, c, best);
    mask little = mask_less(gain, real_splat(ACCELERATE_LITTLE) * square);
    *stride = real_select(little, real_abs(*stride), *stride);
    mask strides = mask_less(real_splat(0), *stride);
    times[0] = real_select(strides, *stride, best[0]);
    for (int i = 1; i <= accelerate_pasts(plan); i++)
        times[i] = real_select(strides, real_splat(0), best[i]);
}

/* ---- the way */

/* A turn of a joint, carried along by what has just turned. */
ik_inline vec3 accelerate_carried(const ik_plan *plan, columns c, int k, vec3 turn) {
    return joint_is_hinge(plan, k) ? turn : quat_rotate(column_quat(c, step_turn(plan, plan->nodes[k].slot)), turn);
}

static inline void accelerate_set_out_turn(const ik_plan *plan, acceleration x, columns c, int k,
                                           const real times[ACCELERATE_WAYS]) {
    const int slot = plan->nodes[k].slot;
    vec3 swept = accelerate_carried(plan, c, k, column_vec3(c, step_own(plan, slot))),
         turn = vec3_scale(times[0], swept);
    column_set_vec3(c, accelerate_swept(x, slot), swept);
    for (int past = 0; past < accelerate_pasts(plan); past++) {
        const int i = accelerate_turned(plan, x, past, slot);
        vec3 turned = accelerate_carried(plan, c, k, column_vec3(c, i));
        column_set_vec3(c, i, turned);
        turn = vec3_add(turn, vec3_scale(times[1 + past], turned));
    }
    IK_NAME(turns_allow)(plan, c, k, &turn);
    column_set_vec3(c, step_own(plan, slot), turn);
}

static inline void accelerate_set_out_slide(const ik_plan *plan, acceleration x, columns c, int k,
                                            const real times[ACCELERATE_WAYS]) {
    const int slot = plan->nodes[k].slot;
    vec3 swept = column_vec3(c, step_slide(plan, slot)), slide = vec3_scale(times[0], swept);
    column_set_vec3(c, accelerate_swept_along(plan, x, slot), swept);
    for (int past = 0; past < accelerate_pasts(plan); past++)
        slide = vec3_add(slide, vec3_scale(times[1 + past], column_vec3(c, accelerate_slid(plan, x, past, slot))));
    column_set_vec3(c, step_slide(plan, slot), slide);
    for (int axis = 0; axis < 3; axis++)
        turns_allow_slide(plan, c, k, axis, column(c, step_slide(plan, slot) + axis));
}

static inline void accelerate_set_out(const ik_plan *plan, acceleration x, columns c, real square) {
    real times[ACCELERATE_WAYS];
    accelerate_find_times(plan, x, c, square, times);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (plan->nodes[k].turns) accelerate_set_out_turn(plan, x, c, k, times);
        if (plan->nodes[k].slides) accelerate_set_out_slide(plan, x, c, k, times);
    }
}

/* ---- what is remembered */

/* The latest way in lanes that went on, which carries along the others. */
static inline void accelerate_remember_turn(const ik_plan *plan, acceleration x, columns c, int k, mask went) {
    const int slot = plan->nodes[k].slot;
    vec3 swept = column_vec3(c, accelerate_swept(x, slot)),
         both = vec3_add(swept, column_vec3(c, step_own(plan, slot)));
    vec3 turned = vec3_select(went, both, swept);
    for (int past = 0; past < accelerate_pasts(plan); past++) {
        const int i = accelerate_turned(plan, x, past, slot);
        vec3 older = column_vec3(c, i);
        column_set_vec3(c, i, vec3_select(went, accelerate_carried(plan, c, k, turned), turned));
        turned = older;
    }
}

static inline void accelerate_remember_slide(const ik_plan *plan, acceleration x, columns c, int slot, mask went) {
    vec3 swept = column_vec3(c, accelerate_swept_along(plan, x, slot));
    vec3 slid = vec3_select(went, vec3_add(swept, column_vec3(c, step_slide(plan, slot))), swept);
    for (int past = 0; past < accelerate_pasts(plan); past++) {
        vec3 older = column_vec3(c, accelerate_slid(plan, x, past, slot));
        column_set_vec3(c, accelerate_slid(plan, x, past, slot), slid);
        slid = older;
    }
}

static inline void accelerate_remember(const ik_plan *plan, acceleration x, columns c, mask went) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (plan->nodes[k].turns) accelerate_remember_turn(plan, x, c, k, went);
        if (plan->nodes[k].slides) accelerate_remember_slide(plan, x, c, slot, went);
    }
    for (int row = 0; row < plan->rows; row++) {
        real *rows = column(c, accelerate_rows(x) + row);
        real now = real_select(went, *column(c, accelerate_rows_then(plan, x) + row),
                               *column(c, accelerate_rows_swept(plan, x) + row));
        real change = now - *rows;
        *rows = now;
        for (int past = 0; past < accelerate_pasts(plan); past++) {
            real *at = column(c, accelerate_change(plan, x, past) + row), older = *at;
            *at = change;
            change = older;
        }
    }
}

/* The extrapolation that helped is kept; otherwise the other kind is used next. A negative stride means that all
 * directions are in use. */
static inline void accelerate_learn(const ik_plan *plan, acceleration x, columns c, mask better) {
    real *stride = column(c, accelerate_stride(x)), size = real_abs(*stride);
    mask strides = mask_less(real_splat(0), *stride);
    real next = real_select(strides, accelerate_next_stride(size, better), size);
    *stride = accelerate_pasts(plan) ? real_select(~(strides ^ better), next, -next) : next;
}

/* Deletes the last steps in the chosen lanes. */
static inline void accelerate_forget(const ik_plan *plan, acceleration x, columns c, mask chosen) {
    accelerate_measure_into(plan, c, IN_POSE, accelerate_rows_then(plan, x));
    for (int row = 0; row < plan->rows; row++) {
        real *rows = column(c, accelerate_rows(x) + row);
        *rows = real_select(chosen, *column(c, accelerate_rows_then(plan, x) + row), *rows);
    }
    for (int i = accelerate_past(plan, x, 0); i < accelerate_past(plan, x, accelerate_pasts(plan)); i++)
        *column(c, i) = real_select(chosen, real_splat(0), *column(c, i));
}

/* A record begins, without steps before. */
static inline errors accelerate_start(const ik_plan *plan, acceleration x, columns record) {
    *column(record, accelerate_stride(x)) = real_splat(1);
    for (int i = accelerate_past(plan, x, 0); i < accelerate_past(plan, x, accelerate_pasts(plan)); i++)
        *column(record, i) = real_splat(0);
    return accelerate_measure_into(plan, record, IN_POSE, accelerate_rows(x));
}

/* After a step, which left these errors; returns those of where all joints are then. */
static inline errors accelerate(const ik_plan *plan, acceleration x, real *bundle, int g, errors now) {
    columns c = columns_of_bundle(bundle, g);
    IK_NAME(turns_start)(plan, c);
    accelerate_set_out(plan, x, c, now.square);
    IK_NAME(turns_try)(plan, bundle + g, 1, 0, plan->slots);
    errors then = accelerate_measure_into(plan, c, AFTER_STEP, accelerate_rows_then(plan, x));
    mask better = mask_less(then.square, now.square);
    IK_NAME(turns_accept)(plan, c, better);
    accelerate_remember(plan, x, c, better);
    accelerate_learn(plan, x, c, better);
    return (errors){real_select(better, then.square, now.square), real_select(better, then.strict, now.strict),
                    real_select(better, then.largest, now.largest)};
}
