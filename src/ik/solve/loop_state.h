/* The state of a solve: the group loaded last, lanes at work, results, and waiting items. */

/* Data of an item that starts again: its best attempt. */
enum kept {
    KEPT_ERROR,      /* in the world */
    KEPT_ITERATIONS, /* of all attempts */
    KEPT_ATTEMPT,    /* the number of the one at work, from 0 */
    KEPT_RESULTS = COLUMNS_AT_ONCE,
};

/* Those that wait while fewer than LANES do, and those that come while a loaded group is taken. */
enum { MOST_WAITING = 3 * LANES };

/* A solve under way. */
typedef struct {
    const ik_solve_job *job; /* of the frame at work, */
    ik_plan *plan;
    const method *how;
    record_size size;
    int round;            /* 0, and then from the poses that were found */
    int wants;            /* some item gains by another */
    ptrdiff_t next, last; /* items not loaded yet */
    ik_stop stop;
    pose world;
    quat *solved;  /* local rotations of the group that ends */
    vec3 *moved;   /* and translations, of nodes that slide */
    number *state; /* what a method keeps of items from frame to frame, size.state of each; NULL: nothing */
    real *ready;   /* records of the group loaded last */
    group loaded;
    integer wanted[LANES]; /* which of those gain, in rounds after the first */
    int taken;             /* of those */
    real *bundle;
    ptrdiff_t item[GROUPS * LANES]; /* in every lane; NONE */
    real *results;
    ptrdiff_t result_item[LANES];
    int result_count;
    int kept;      /* columns that restarts add to a record, see enum kept */
    real *waiting; /* of items that start again, as soon as there are LANES of them or no others */
    ptrdiff_t waiting_item[MOST_WAITING];
    int waiting_count;
    int attempts[LANES];           /* of the group loaded last, */
    ptrdiff_t loaded_items[LANES]; /* where that is of items that start again */
} solve;

enum { NONE = -1 };
