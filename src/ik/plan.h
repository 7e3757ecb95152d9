/* What a solve needs of a skeleton's structure: the joints on the way from the roots to the goals, compacted. Made once
 * for a batch, the same for every item and every width of vector.
 *
 * A node is such a joint, or the point a goal has beside its joint. Nodes stand parents first. Those that turn or move
 * are what a method works on: they have a slot each, 0 to `slots`, in the same order. */
#ifndef IK_PLAN_H
#define IK_PLAN_H

#include "ik.h"

typedef struct ik_node {
    int joint;  /* of the skeleton; -1: the point of a goal beside its joint */
    int parent; /* a node; -1: none */
    int turns;  /* the method may turn it */
    int locked; /* the method might, but its limit holds it at rest */
    int moves;  /* a node above it turns */
    int slot;   /* -1: neither */
    int owner;  /* the nearest node above that turns, -1: none: that one carries it, like a part of itself */
    int child;  /* the first of those it carries that matter: nodes that turn, points and rotations of goals. -1: none;
                   the others follow as siblings */
    int sibling;
    int point;    /* the goal whose point this is, -1: none */
    int rotation; /* the goal whose rotation is for this, -1: none */
} ik_node;

/* What a node should reach: the place of a goal's point, or the rotation of its joint. */
typedef struct ik_task {
    int node;
    int goal;
    int rotation; /* 0: a place */
} ik_task;

/* A chain with a pole: it turns about the line from node to node. */
typedef struct ik_bend {
    int goal;
    int base, end;
} ik_bend;

/* Joints that follow each other and keep their rotation. */
typedef struct ik_still {
    int first, count;
} ik_still;

typedef struct ik_plan {
    const ik_solve_job *job;
    int count; /* of nodes */
    int slots;
    int bases;    /* slots that turn without moving: chains start there */
    int branches; /* some node has several children */
    int limited;  /* some node that turns has a limit */
    int rigid;    /* some node has children beyond others that only move */
    ik_node *nodes;
    int *node_of_slot;
    ik_task *tasks; /* of nodes with a slot, by goals; of one, the place first */
    int task_count;
    ik_bend *bends;
    int bend_count;
    int *slot_of_point; /* by goal; -1: it has no point, or one that neither turns nor moves */
    ik_still *still;
    int still_count;
    const void *limits; /* of every node, made ready by the kernel; NULL where nothing is limited */
    const void *pose;   /* of the kernel: where the nodes are, of the group at work */
} ik_plan;

size_t ik_plan_bytes(const ik_solve_job *job);

/* In memory of that size, aligned for pointers. */
ik_plan *ik_plan_make(const ik_solve_job *job, void *memory);

#endif
