/* Legs over all frames of a clip. Of the bake alone: ik.h has what is for all. All numbers are doubles; items are
 * frames. */
#ifndef IK_LEGS_H
#define IK_LEGS_H

#include "ik.h"

/* A leg of any number of bones under a body that has moved, bent as it is in the clip so that it ends where its foot
 * should be. All but the first bone count as one, as long as it has to be in proportion; then the same again below. So
 * every joint takes its share, and what is not moved stays as it is. What a knee is bent more than in the clip it bends
 * about its hinge. Its first knee, where it is bent backwards in the clip, does so already while that happens about
 * then: it would go to and fro between two frames. */
typedef struct ik_bend_leg_job {
    ik_lists chain;        /* (3) where its joints are in the clip: one of a free foot, else one more than bones */
    ik_lists turns;        /* (4) world rotations of the bones */
    ik_rows pivot, tilt;   /* (3), (4) optional: the body turns by tilt about pivot, and the leg with it */
    ik_rows hip;           /* (3) where it begins */
    ik_rows foot;          /* (3) where it should end */
    ik_rows reach;         /* (1) how far it reaches at most */
    ik_rows nearer;        /* (1) optional: by how much its end comes nearer to the hip about then */
    const double *hinges;  /* of every knee the axis (3) in the space of the bone above it */
    double length;         /* of the leg, which folds up to a share of it; 0: as far as it likes */
    ik_lists bent, deltas; /* (3) of joints, (4) of bones: where they are, and how each has turned in the world */
    ik_rows short_by;      /* (1) optional: by how much it falls short of where it should end */
} ik_bend_leg_job;

/* The local rotations with which joints, each of which carries the next, turn in the world as they should. Of each
 * joint rows of their own. */
typedef struct ik_turn_leg_job {
    int joints;
    const ik_rows *world;  /* (4) how joints are turned */
    const ik_rows *deltas; /* (4) how they turn from there */
    ik_rows above;         /* (4) optional: how what carries the first turns */
    const ik_rows *locals; /* (4) local rotations as they come; those that change are written */
    const ik_rows *units;  /* (4) the same at unit length; NULL: they are brought to that */
    ik_rows chosen;        /* char, optional: frames where it is 0 stay */
} ik_turn_leg_job;

/* Points that something carries which turns about an origin and is shifted: a body, or a foot. */
typedef struct ik_displace_job {
    ik_rows points, origin, shift; /* (3) */
    ik_rows turn;                  /* (4) optional */
    ik_rows places;                /* (3) */
} ik_displace_job;

/* About what each knee of a leg bends, in the space of the bone above it, and how much, added over frames. */
typedef struct ik_hinges_job {
    ik_lists chain; /* (3) where its joints are, one more than bones */
    ik_lists turns; /* (4) world rotations of the bones above knees */
    double *sums;   /* of every knee (3), to which is added frame by frame */
} ik_hinges_job;

void ik_bend_leg(const ik_bend_leg_job *job, ptrdiff_t first, ptrdiff_t last);
void ik_turn_leg(const ik_turn_leg_job *job, ptrdiff_t first, ptrdiff_t last);
void ik_displace(const ik_displace_job *job, ptrdiff_t first, ptrdiff_t last);
void ik_hinges(const ik_hinges_job *job, ptrdiff_t first, ptrdiff_t last);

#endif
