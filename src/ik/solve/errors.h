/* Errors of the tasks of a method (joints.h): at the present pose, or at the pose to which a step would lead
 * (turns.h). */

enum errors_when { IN_POSE, AFTER_STEP };

typedef struct {
    columns c;
    enum errors_when when;
} errors_of;

ik_inline vec3 errors_place(const void *of, const ik_plan *plan, int k) {
    const errors_of *e = of;
    const int slot = plan->nodes[k].slot;
    return column_vec3(e->c, e->when == AFTER_STEP ? step_place(plan, slot) : joint_position(plan, slot));
}

ik_inline quat errors_rotation(const void *of, const ik_plan *plan, int k) {
    const errors_of *e = of;
    const int slot = plan->nodes[k].slot;
    quat now = column_quat(e->c, joint_rotation(slot));
    return e->when == AFTER_STEP ? quat_multiply(column_quat(e->c, step_turn(plan, slot)), now) : now;
}

ik_inline whereabouts errors_whereabouts(const errors_of *of) {
    return (whereabouts){errors_place, errors_rotation, of};
}

static inline task_view errors_view(const ik_plan *plan, columns c, enum errors_when when, const ik_task *task) {
    const errors_of of = {c, when};
    return view_of(errors_whereabouts(&of), plan, task);
}

/* The error of a task: of one number, or of three. */
ik_inline vec3 errors_off(const ik_plan *plan, columns c, enum errors_when when, int task) {
    const ik_task *t = &plan->tasks[task];
    task_wanted wanted = joint_wanted(plan, c, task);
    task_view view = errors_view(plan, c, when, t);
    task_meet(t, &wanted, &view);
    return task_error(plan, t, &wanted, &view);
}

/* The factor of its numbers: the square root of its weight; for angles times the lever. */
ik_inline real errors_scale(const ik_plan *plan, columns c, int task) {
    real weight = *column(c, joint_task(plan, task) + TASK_WEIGHT);
    return task_is_angle(&plan->tasks[task]) ? weight * *column(c, joint_lever(plan)) : weight;
}

/* Its factor compared with TOLERANCE. */
static inline real errors_unit(const ik_plan *plan, columns c, enum errors_when when, int task) {
    const ik_task *t = &plan->tasks[task];
    const errors_of of = {c, when};
    real unit = *column(c, joint_task(plan, task) + TASK_UNIT), reach = real_splat(0);
    if (!plan->slides || task_is_angle(t) || t->node < 0) return unit;
    reach = reach_of(errors_whereabouts(&of), plan, t->node).sum;
    if (t->other >= 0) reach = real_max(reach, reach_of(errors_whereabouts(&of), plan, t->other).sum);
    mask kept = mask_equal(unit, real_splat(0)); /* also if a chain of its own had no length when it was loaded */
    if (!joint_task_is_simple(t)) kept |= mask_equal(reach, real_splat(0));
    return real_select(kept, unit, solve_counts_for(plan, c, reach));
}

/* Rows of one number or three, of `step` columns each. */
ik_inline void rows_set(real *rows, int step, int first, int count, vec3 v) {
    rows[first * step] = v.x;
    if (count > 1) rows[(first + 1) * step] = v.y, rows[(first + 2) * step] = v.z;
}
ik_inline vec3 rows_at(const real *rows, int step, int first, int count) {
    if (count == 1) return task_scalar(rows[first * step]);
    return (vec3){rows[first * step], rows[(first + 1) * step], rows[(first + 2) * step]};
}

/* The factor of a level relative to the one before, for squared errors. To decide whether a step is better, it starts
 * at LEVEL_FIRST, which allows long steps despite their second-order effect on the level before. It falls as long as
 * that effect prevents progress. To decide which pose is best, it is LEVEL_LAST. */
#define LEVEL_FIRST (number)1e-2
#define LEVEL_LAST  (number)1e-10

static inline real level_counts(real beside, int level) {
    real counts = real_splat(1);
    while (level-- > 0)
        counts = counts * beside;
    return counts;
}

typedef struct {
    real square;  /* of all tasks, with the factors that decide whether a step is better */
    real strict;  /* likewise, with those that decide which pose is best */
    real largest; /* like ERROR; NaN if some number is */
} errors;

/* `beside` is the factor of a level relative to the one before. `rows`, unless NULL, gets the scaled errors. Compiled
 * once (shared.h). */
ik_hidden errors IK_NAME(errors_measure)(const ik_plan *plan, columns c, enum errors_when when, real beside, real *rows,
                                         int step);
