/* Legs over all frames of a clip. For the bake only: ik.h has the public interface. All numbers are doubles; items are
 * frames. */
#ifndef IK_LEGS_H
#define IK_LEGS_H

#include "../ik.h"

/* Leg IK for n bones after a pelvis offset, starting from the bend of the clip. Solved as two bones: the first, and the
 * rest as one rigid segment scaled to fit; then again below. Every joint takes its share, and a leg without offset
 * stays unchanged. Additional knee flexion is about the knee's hinge. A first knee that is bent backwards in the clip
 * bends forwards as soon as its end comes nearer in neighbouring frames; otherwise it would alternate between frames.
 */
typedef struct ik_bend_leg_job {
    ik_lists chain;        /* (3) positions of its joints in the clip: one for a free foot, else one more than bones */
    ik_lists turns;        /* (4) world rotations of the bones */
    ik_rows pivot, tilt;   /* (3), (4) optional: the body turns by tilt about pivot, and the leg with it */
    ik_rows hip;           /* (3) wanted start */
    ik_rows foot;          /* (3) wanted end */
    ik_rows reach;         /* (1) its largest reach */
    ik_rows nearer;        /* (1) optional: how much nearer its end comes to the hip in neighbouring frames */
    const double *hinges;  /* the axis (3) of every knee in the space of the bone above it */
    double length;         /* leg length, which limits folding to a share of it; 0: no limit */
    ik_lists bent, deltas; /* (3) positions of joints, (4) world rotations added to bones */
    ik_rows short_by;      /* (1) optional: distance by which it does not reach */
} ik_bend_leg_job;

/* Local rotations of joints, each the parent of the next, for wanted world rotations. Every joint has its own rows. */
typedef struct ik_turn_leg_job {
    int joints;
    const ik_rows *world;  /* (4) world rotations of joints */
    const ik_rows *deltas; /* (4) rotations added to them */
    ik_rows above;         /* (4) optional: rotation added to the parent of the first */
    const ik_rows *locals; /* (4) local rotations; those that change are written */
    const ik_rows *units;  /* (4) the same at unit length; NULL: they are normalised */
    ik_rows chosen;        /* char, optional: frames where it is 0 stay */
} ik_turn_leg_job;

/* Points carried by a body, or a foot, that turns about an origin and is shifted. */
typedef struct ik_displace_job {
    ik_rows points, origin, shift; /* (3) */
    ik_rows turn;                  /* (4) optional */
    ik_rows places;                /* (3) */
} ik_displace_job;

/* The hinge axis of each knee of a leg in the space of the bone above it, weighted by its bend and summed over frames.
 */
typedef struct ik_hinges_job {
    ik_lists chain; /* (3) positions of its joints, one more than bones */
    ik_lists turns; /* (4) world rotations of the bones above knees */
    double *sums;   /* of every knee (3), to which is added frame by frame */
} ik_hinges_job;

void ik_bend_leg(const ik_bend_leg_job *job, ptrdiff_t first, ptrdiff_t last);
void ik_turn_leg(const ik_turn_leg_job *job, ptrdiff_t first, ptrdiff_t last);
void ik_displace(const ik_displace_job *job, ptrdiff_t first, ptrdiff_t last);
void ik_hinges(const ik_hinges_job *job, ptrdiff_t first, ptrdiff_t last);

#endif
