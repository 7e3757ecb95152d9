/* The interface between a method and the loop (loop.h). The loop is compiled once, a method in its family. They are
 * connected by the two functions at the end. parts.h lists the building blocks of methods. */
#include "../forms/rotations.h"
#include "../forms/limits/limit.h"
#include "../forms/skeleton.h"
#include "pose.h"

#if LANES == 1
#define GROUPS 1
#else
#define GROUPS 4
#endif

/* The columns every method has. */
enum record {
    ERROR,      /* one number for all goals, of the pose after a step; set in begin and in every step, and compared with
                   TOLERANCE. NaN for an unusable item: max loses NaN, see real_poison */
    TOLERANCE,  /* ends the item: of the longest chain, scaled. Without any length, 0 or a share of the distance
                   that slides have to move; with rotations only, the method sets its own */
    UNSCALE,    /* the world length of 1 */
    ITERATIONS, /* so far */
    SAID,       /* status flags, as bits; any flag ends the item */
    OWN,        /* start of the method's columns */
};

typedef struct {
    int columns; /* of a record, including those of the loop */
    int results; /* of those, the number that finish needs */
    int work;    /* columns of a bundle only, after those, from plan->work on: no data of an item */
    int state; /* the last columns of the results that are kept from frame to frame of an item. They are 0 in the first
                  frame; `begin` finds them in the record, unchanged after a frame that cannot be used */
} record_size;

/* The columns of one vector of lanes: of a record, or of a bundle, where a column has GROUPS vectors. */
typedef struct {
    real *first;
    int step;
} columns;

ik_inline columns columns_of_record(real *record) { return (columns){record, 1}; }
ik_inline columns columns_of_bundle(real *bundle, int g) { return (columns){bundle + g, GROUPS}; }
ik_inline real *column(columns c, int i) { return c.first + (ptrdiff_t)i * c.step; }
ik_inline vec3 column_vec3(columns c, int i) {
    const real *x = column(c, i);
    return (vec3){x[0], x[c.step], x[2 * c.step]};
}
ik_inline void column_set_vec3(columns c, int i, vec3 a) {
    real *x = column(c, i);
    x[0] = a.x, x[c.step] = a.y, x[2 * c.step] = a.z;
}

ik_inline quat column_quat(columns c, int i) { return (quat){*column(c, i), column_vec3(c, i + 1)}; }
ik_inline void column_set_quat(columns c, int i, quat q) {
    *column(c, i) = q.w;
    column_set_vec3(c, i + 1, q.v);
}

/* Columns are allocated, and moved from lane to lane, so many at a time. */
enum { COLUMNS_AT_ONCE = 4 };

ik_inline int columns_allocated(int count) { return (count + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE * COLUMNS_AT_ONCE; }

/* A method. One that works on joints as such has all of this from parts.h. Others take targets from solve_target, which
 * knows weights of 0, through solve_nearer, so that squares are numbers; tolerances through solve_within; limits from
 * solve_allowed. */
typedef struct {
    /* By the counts of a plan alone: it is asked for the largest plan there can be as well, which has no nodes. */
    record_size (*size)(const ik_plan *plan);
    /* From the pose that comes in to records. `record` has no columns of work, and what the group before left in it. */
    void (*begin)(const ik_plan *plan, group at, const pose *start, columns record);
    /* One iteration of the first `groups` vectors of a bundle; lanes without an item are lanes like others. */
    void (*step)(const ik_plan *plan, real *bundle, int groups);
    /* Replaces the local pose of node k, which turns or slides, by that of the result. The ancestors of k already have
     * their final poses in `world`, not scaled. The loop then moves the node into its limit, and makes the rotation a
     * unit quaternion with the sign of the input. */
    void (*place)(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local);
    /* The method gives up slow items early if there are restarts. An item that no restart has solved is solved once
     * more from the given pose, with full patience. Restarts therefore never lose a solution that is found without
     * them. */
    int hurries;
} method;

/* Whether goals have strict priorities. */
ik_inline int plan_has_levels(const ik_plan *plan) { return !IS_WIDE && plan->levels > 1; }

/* The model of the job if it has that kind; otherwise NULL. */
ik_inline const void *solve_model(const ik_plan *plan, const char *kind) {
    const ik_model *model = plan->job->model;
    return model && strcmp(model->kind, kind) == 0 ? model : NULL;
}

/* The work between two calls of job->stop, in nodes times vectors: microseconds, or milliseconds for methods with much
 * work per node. */
enum { SOLVE_WORK = 1024 };

/* Whether the caller wants to stop, asked after `work` more. Once it is true it remains true: items at work are given
 * up, and a step may end anywhere. Long loops inside a step ask as well. */
ik_inline int solve_stops(const ik_plan *plan, long long work) {
    const ik_solve_job *job = plan->job;
    ik_stop *stop = plan->stop;
    stop->worked += work;
    if (stop->worked < SOLVE_WORK || stop->stopped || !job->stop) return stop->stopped;
    stop->worked = 0;
    return stop->stopped = job->stop(job->context) != 0;
}

/* The tolerance of methods: less than that of the judge by their rounding, at most by a quarter. */
ik_inline number solve_within(const ik_plan *plan, double tolerance) {
    number given = (number)tolerance, rounding = 4 * plan->slots * EPSILON;
    return given - (rounding < given / 4 ? rounding : given / 4);
}

/* The factor of a distance before it is compared with TOLERANCE, for a goal that is judged by its own reach. This reach
 * is the present length of its chain, which slides change. */
ik_inline real solve_counts_for(const ik_plan *plan, columns c, real reach) {
    const real zero = real_splat(0), one = real_splat(1), tolerance = *column(c, TOLERANCE);
    real own = real_splat(solve_within(plan, plan->job->options.tolerance)) * reach;
    own = real_max(own, real_splat(SMALLEST) + tolerance * real_splat(EPSILON));
    return real_select(mask_less(zero, reach) & mask_less(zero, tolerance), tolerance / own, one);
}

/* The two functions of every method, which SOLVE_METHOD(name) defines at the end of its header. If name_method does not
 * support the plan on these vectors it returns NULL; narrower vectors then do. */
#define METHOD_DOORS(name, takes, doc)                                                                                 \
    ik_hidden record_size IK_NAME(name##_size)(const ik_plan *plan);                                                   \
    ik_hidden const method *IK_NAME(name##_method)(const ik_plan *plan);
IK_METHODS(METHOD_DOORS)

#define SOLVE_METHOD(name)                                                                                             \
    record_size IK_NAME(name##_size)(const ik_plan *plan) { return name##_size(plan); }                                \
    const method *IK_NAME(name##_method)(const ik_plan *plan) { return name##_method(plan); }
