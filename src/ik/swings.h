/* How a foot goes from one stance to the next. Of the bake alone: ik.h has what is for all. All numbers are doubles;
 * rows are frames of the clip. */
#ifndef IK_SWINGS_H
#define IK_SWINGS_H

#include "ik.h"

/* The ground where a foot stands, or passes by, as those frames see it that follow it up and down. */
typedef struct ik_plane {
    int stands; /* else it passes by, in one frame */
    ptrdiff_t start, stop;
    double place[3];            /* on the floor of the clip */
    double lift;                /* how much higher the ground is there */
    double normal[3], floor[3]; /* of the ground, and of what it stands on in the clip */
} ik_plane;

typedef struct ik_swing_job {
    ptrdiff_t frames;
    int axis;          /* which coordinate is height */
    double far;        /* a foot that goes farther rises with its way, not with time */
    double brief;      /* frames: a swing of fewer that the clip's end cuts is one that soon ends */
    ik_rows reference; /* (3) the point of the foot whose way is followed */
    ptrdiff_t planes;
    const ik_plane *plane;      /* one after the other */
    double (*moved)[3];         /* what stances move the foot by beside what the ground does */
    double (*shift)[3];         /* how far the foot is moved */
    double (*turn)[4];          /* and how it is turned */
    unsigned char (*pinned)[3]; /* where that is known, along each axis */
} ik_swing_job;

/* Writes `moved` and `pinned` of stances, where `shift` is known; elsewhere they are 0. But a swing that the clip's end
 * soon cuts goes on beside its way along the ground: it would hurry back. */
void ik_release(const ik_swing_job *job);

/* What stances do to a foot, in all of their frames and of swings in those that are to be as smooth as can be. */
typedef struct ik_loose_job {
    ptrdiff_t frames;
    ptrdiff_t blend;             /* in so many frames what it does comes to nothing, or from it */
    double pull;                 /* what draws it there where the clip begins or ends before that */
    ik_rows values;              /* (3) where they are pinned */
    ik_rows pinned;              /* (3) bytes, 0 or 1 */
    ik_rows lower, upper, pulls; /* (3) written: bounds, and what draws it */
} ik_loose_job;

/* Lets go of what is not pinned, less than `blend` frames from where all axes are; farther off it is as it is. */
void ik_loosen(const ik_loose_job *job);

/* Writes `shift` and `turn` between stances, where `moved` is known. Of what the ground does, a foot follows the plane
 * it leaves less and less, and more and more the one it comes to; where it passes by one, that alone. Before the first
 * plane and after the last it follows none. */
void ik_swing(const ik_swing_job *job);

#endif
