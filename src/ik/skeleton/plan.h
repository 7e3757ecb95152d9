/* The plan of a solve: the joints between the roots and the goals, compacted. It is made once for a batch, and is the
 * same for every item and every width of vector.
 *
 * A node is such a joint, or a point fixed to one: of a goal, or the centre of a joint's mass. Parents come first. A
 * method works on the nodes that turn, slide or are moved by others, that goals are about, or that have a mass which
 * counts. Each of these has a slot, from 0 to less than `slots`, in the same order. */
#ifndef IK_PLAN_H
#define IK_PLAN_H

#include "../ik.h"

typedef struct ik_node {
    int joint;             /* of the skeleton; -1: a point beside its parent */
    const double *offset;  /* of such a point, in the space of its parent */
    int parent;            /* a node; -1: none */
    int turns;             /* the method may turn it */
    const ik_limit *limit; /* of one that turns; NULL: none */
    int axes;              /* about so many of its own one turns, which differ; 0: about all of the world's alike */
    int locked;            /* the method might, but its limit holds it at rest */
    int slides;            /* the method may move it, within its travel */
    const double (
        *travel)[2]; /* of one that slides: lowest and highest along each axis of its parent, from its offset */
    int moves;       /* a node above it turns or slides */
    int slot;        /* -1: none */
    int owner;       /* the nearest node above that turns, -1: none: that one carries it, like a part of itself */
    int child;       /* the first of those it carries that matter: nodes that turn, places and rotations of goals.
                        -1: none; the others follow as siblings */
    int sibling;
    int point;    /* the PLACE in the world that is about this, -1: none */
    int rotation; /* the TURN in the world that is about this, -1: none */
    int posture;  /* the POSTURE of this, -1: none */
    int ties;     /* so many ties (see below) hold it somewhere, or another to it */
    int place;    /* where it is matters to some task */
    double mass;  /* here; 0 where no goal asks for the centre of mass */
    double heavy; /* here and in what it carries */
} ik_node;

/* A demand that should become 0: the error of nodes for a goal. */
typedef struct ik_task {
    enum ik_goal_kind kind;
    int goal;
    int node;     /* -1: the centre of mass */
    int other;    /* the node that it is relative to; -1: the world */
    int level;    /* from 0, without gaps */
    int row;      /* its first of all rows of a plan; it has ik_task_rows */
    int moves[2]; /* something that turns or slides carries what it is about, or what that is relative to, alone */
    int held; /* of one that nothing moves: the first of the joints that might, if limits did not lock them; -1: none */
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
    ptrdiff_t first;  /* the first of the items at work, */
    int (*frames)[2]; /* and of each the last two frames that were solved, the last first; -1: none */
    int steady;       /* of all items of the group at work these are the two frames before */
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
    int bases;                                  /* slots that do not move: chains start there */
    int branches;                               /* some node has several children */
    int limited;                                /* some node that turns has a limit */
    int rigid;                                  /* some node has children beyond others that only move */
    int slides;                                 /* some node slides */
    int weighed;                                /* some goal is about the centre of mass: all masses are nodes, */
    double mass;                                /* of this sum */
    int one_sided;                              /* some goal is right on one side: see task_is_one_sided */
    int outside;                                /* some goal is an OUTSIDE */
    int ties;                                   /* some task is a tie: to another joint, or of one number */
    int postures;                               /* some goal is a POSTURE */
    int timed;                                  /* some node that turns or slides may do so only so fast */
    int rests;                                  /* what joints hang from matters: for limits, slides or postures */
    int columns_of_slides, columns_of_postures; /* slots, or 0 where there are none */
    ik_node *nodes;
    int *node_of_slot;
    ik_task *tasks; /* by levels, and then by goals; behind those to work on some that nothing moves, to be judged */
    int task_count;
    int judged; /* with those */
    int rows;   /* numbers that should come to 0, of all tasks to work on */
    int levels; /* 1, if there is any task */
    ik_bend *bends;
    int bend_count;
    int *slot_of_point; /* by goal; -1: it is no PLACE in the world, or of a node that neither turns nor moves */
    ik_still *still;
    int still_count;
    signed char *sides; /* by task and slot: see task_side */
    int work;           /* where a method's columns of work start: set by the frame */
    const void *limits; /* of every node, made ready by the kernel; NULL where nothing is limited */
    const void *pose;   /* of the kernel: where the nodes are, of the group at work */
    ik_past past;
    int elsewhere;       /* of the kernel: solves start from another pose than the one given, by past or attempts */
    const int *attempts; /* of the kernel, by lane: random poses come in; NULL: the pose that is given */
    ik_stop *stop;       /* of the kernel */
} ik_plan;

size_t ik_plan_bytes(const ik_solve_job *job);

/* The most nodes that it can have. */
size_t ik_plan_nodes(const ik_solve_job *job);

/* In memory of that size, aligned for pointers, for a method that takes that. */
ik_plan *ik_plan_make(const ik_solve_job *job, unsigned takes, void *memory);

/* None has more nodes, tasks or rows, or other parts: for asking how much memory is enough. It has counts alone. */
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
