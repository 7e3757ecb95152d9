/* What a foot that swings has to get over. Of the bake alone. Points of a sole (frames, points), doubles in one block.
 */
#ifndef IK_OBSTACLES_H
#define IK_OBSTACLES_H

#include <stddef.h>

/* Moves some points of every frame away from its origin, horizontally, or to it where `by` is negative. */
void ik_farther(double (*points)[3], const double (*origins)[3], ptrdiff_t frames, ptrdiff_t each,
                const ptrdiff_t *which, ptrdiff_t count, double by, int axis);

/* The ground under points on their way from one frame to the next: what is higher than `riser` in a frame beside is
 * there already. NaN: there is none. */
void ik_swept(const double *heights, ptrdiff_t frames, ptrdiff_t each, double riser, double *found);

typedef struct {
    ptrdiff_t frames, each;
    int axis;
    const double *heights;     /* of the ground under points; NaN where there is none */
    const double (*points)[3]; /* where they are */
    const double *above;       /* how high they are in the clip above where they stand */
    const double *thick;       /* (each) how high they stand above the ground */
    double clearance;          /* of the height above where they stand, what they keep at most */
    double dips;               /* what is deeper than this is not deep in its floor, but on its way to another */
    ptrdiff_t toe;             /* which point may be `bends` lower; -1: none */
    double bends;
    double *found; /* (frames) */
} ik_lack_job;

/* How much too low a foot is in every frame, by the point that is so the most; NaN over no ground. */
void ik_lack(const ik_lack_job *job);

/* How many seconds frames are from the nearer end of the swing that they are in, of some from a first frame to before a
 * last one; 0 in none. What the clip's end cuts goes on beyond it for `beyond` seconds. */
void ik_nearer(const ptrdiff_t (*swings)[2], ptrdiff_t count, ptrdiff_t frames, double fps, double beyond,
               double *near);

#endif
