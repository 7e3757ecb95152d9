/* The plan of a solve: the joints between the roots and the goals, compacted. It is made once for a batch, and is the
 * same for every item and every width of vector.
 *
 * A node is such a joint, or a point fixed to one: the point of a goal, or the centre of a joint's mass. Parents come
 * first. Methods work on the nodes with a slot: those that turn, slide or are moved by others, that goals are about, or
 * that have a mass in use. Slots are numbered from 0 in the order of nodes. */
#ifndef IK_PLAN_H
#define IK_PLAN_H

#include "../ik.h"

typedef struct ik_node {
    int joint;             /* of the skeleton; -1: a point fixed to its parent */
    const double *offset;  /* of a fixed point, in the space of its parent */
    int parent;            /* a node; -1: none */
    int turns;             /* the method may turn it */
    const ik_limit *limit; /* of one that turns; NULL: none */
    int axes;   /* number of own axes with different mobility; 0: all axes are alike, and those of the world are used */
    int locked; /* the method could turn it, but its limit is LOCKED */
    int slides; /* the method may move it, within its travel */
    const double (
        *travel)[2]; /* of a sliding node: lowest and highest along each axis of its parent, from its offset */
    int moves;       /* a node above it turns or slides */
    int slot;        /* -1: none */
    int owner;       /* the nearest ancestor that turns, which carries it as a rigid part; -1: none */
    int child;       /* the first of the nodes that it owns and that turn or have a goal; -1: none. The others follow as
                        siblings */
    int sibling;
    int point;    /* its PLACE in the world; -1: none */
    int rotation; /* its TURN in the world; -1: none */
    int posture;  /* its POSTURE; -1: none */
    int ties;     /* number of ties (see ik_plan) of this node */
    int place;    /* some task needs its position */
    double mass;  /* at this node; 0 if no goal is about the centre of mass */
    double heavy; /* of this node and its descendants */
} ik_node;

/* A demand that should become 0: the error of nodes for a goal. */
typedef struct ik_task {
    enum ik_goal_kind kind;
    int goal;
    int node;     /* -1: the centre of mass */
    int other;    /* the node that it is relative to; -1: the world */
    int level;    /* from 0, without gaps */
    int row;      /* index of its first row among all rows; it has ik_task_rows of them */
    int moves[2]; /* whether a joint that turns or slides carries only its subject, or only its reference */
    int held; /* of a task that no joint can change: the first locked joint that could without its limit; -1: none */
} ik_task;

/* A chain with a pole: it turns about the line from node to node. */
typedef struct ik_bend {
    int goal;
    int base, end;
} ik_bend;

/* Successive joints that keep their rotation. */
typedef struct ik_still {
    int first, count;
} ik_still;

/* For the kernel: the frames before the present one. */
typedef struct ik_past {
    int frame;
    int follows;      /* poses start from the correction of the last solution */
    ptrdiff_t first;  /* the first item in `frames` */
    int (*frames)[2]; /* by item: the last two frames that were solved, the latest first; -1: none */
    int steady;       /* for all items of the present group these are the two frames before */
} ik_past;

/* For the kernel: whether the caller has asked to stop. */
typedef struct ik_stop {
    long long worked; /* since it was last asked */
    int stopped;
} ik_stop;

typedef struct ik_plan {
    const ik_solve_job *job;
    int count; /* of nodes */
    int slots;
    int bases;     /* slots that do not move: chains start there */
    int branches;  /* some node has several children */
    int limited;   /* some node that turns has a limit */
    int rigid;     /* some node has children below others that only move */
    int slides;    /* some node slides */
    int weighed;   /* some goal is about the centre of mass: all masses are nodes */
    double mass;   /* sum of all masses */
    int one_sided; /* some task is one-sided: see task_is_one_sided */
    int outside;   /* some goal is an OUTSIDE */
    int ties;      /* some task is a tie: to another joint, or of one number */
    int postures;  /* some goal is a POSTURE */
    int timed;     /* some node that turns or slides has a limit of speed or acceleration */
    int rests;     /* rotations of parents are needed: for limits, slides or postures */
    int columns_of_slides, columns_of_postures; /* number of slots; 0 if nothing slides, or there are no postures */
    ik_node *nodes;
    int *node_of_slot;
    ik_task *tasks; /* in the order of levels, then of goals. Tasks that no joint can change come last: they are only
                       judged */
    int task_count;
    int judged; /* number of tasks, including those that are only judged */
    int rows;   /* rows of the first task_count tasks */
    int levels; /* 1, if there is any task */
    ik_bend *bends;
    int bend_count;
    int *slot_of_point; /* by goal; -1: not a PLACE in the world, or its node neither turns nor moves */
    ik_still *still;
    int still_count;
    signed char *sides; /* by task and slot: see task_side */
    int work;           /* first work column of the method: set by the loop */
    const void *limits; /* of every node, prepared by the kernel; NULL if nothing is limited */
    const void *pose;   /* for the kernel: the pose of the present group */
    ik_past past;
    int elsewhere;       /* for the kernel: solves start from another pose than the given one, by past or attempts */
    const int *attempts; /* for the kernel, by lane: numbers of restarts, which have random start poses; NULL: the given
                            pose */
    ik_stop *stop;       /* for the kernel */
} ik_plan;

size_t ik_plan_bytes(const ik_solve_job *job);

/* The most nodes that it can have. */
size_t ik_plan_nodes(const ik_solve_job *job);

/* Makes a plan in memory of ik_plan_bytes, aligned for pointers, for a method that supports `takes`. */
ik_plan *ik_plan_make(const ik_solve_job *job, unsigned takes, void *memory);

/* An upper bound of all plans of a job, with counts only: used to compute the size of memory. */
ik_plan ik_plan_largest(const ik_solve_job *job);

/* How many numbers a task has: one, or three. */
int ik_task_rows(const ik_task *task);

/* The node where the bone of an OUTSIDE starts; its own where nothing is above. */
int ik_task_start(const ik_plan *plan, const ik_task *task);

/* Whether a task is about node k: one about the centre of mass is about all masses. */
int ik_is_about(const ik_plan *plan, const ik_task *task, int k);

/* Whether node `below` is node k, or below it. */
int ik_carries(const ik_plan *plan, int k, int below);

#endif
