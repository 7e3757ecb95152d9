/* What feet in swing have to get over, and what toes bend for. Of the bake alone; all numbers are doubles. */
#ifndef IK_OBSTACLES_H
#define IK_OBSTACLES_H

#include "stances.h"

/* A foot over ground, in some frames of the clip. Where the clip was made on this ground it has found its own way: else
 * what is between two frames counts in both, and at a step its upper side is there before; not in the first of the two
 * if the point, were it not kept off, gets there later. */
typedef struct ik_lack_job {
    const ik_foot *foot;
    const ik_stood *stood;     /* where it is moved and turned to */
    const ptrdiff_t *frames;   /* that are looked at */
    ptrdiff_t count;           /* how many: each is taken to be beside the one before */
    const ik_ray_body *bodies; /* of the ground, with a placement for each of these frames where it moves */
    int body_count;
    int made;                  /* whether the clip was made on this ground */
    const unsigned char *ends; /* (points) which are kept off steps */
    double margin;             /* how far those are */
    double grazes;             /* how far points may be into an edge of what the clip was made on */
    double above, below;       /* how far from a foot ground is looked for */
    double riser;     /* what is higher than this between two frames is a step, more and more up to twice that */
    double within;    /* how far behind the side of something its upper side is looked for */
    double clearance; /* of the height above where they stand, what points keep at most */
    double dips;      /* what is deeper than this is not deep in its floor, but on its way to another */
    int toe;          /* which point may be `bends` lower; -1: none */
    double bends;
    double *found; /* (count) how much too low it is, by the point that is so the most; NaN over no ground */
} ik_lack_job;

/* Of frames [first, last). `scratch` is as large as ik_lack_scratch says, and aligned as doubles are. */
size_t ik_lack_scratch(const ik_lack_job *job);
void ik_lack(const ik_lack_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);

/* Toes over ground that rises before the foot, in every frame. */
typedef struct ik_toe_job {
    ptrdiff_t frames;
    int axis;
    ik_rows tip, there;        /* (3) where their tips are, and where they are in the clip */
    ik_rows stood, ground;     /* (1) how high they are in the clip when they stand; the ground under tips, NaN: none */
    const unsigned char *lies; /* when they are made to lie */
    double thick;              /* how high they stand above ground */
    double least;              /* what they lack at least */
} ik_toe_job;

/* How much too low tips are, but for what they are in the floor of the clip. Returns whether any is. */
int ik_toe_lack(const ik_toe_job *job, double *lack);

/* Where tips go on arms (frames, 3) that are raised, but no farther than toes bend, of which `most` is the tangent. */
void ik_raise(double (*arms)[3], const double *raised, ptrdiff_t frames, int axis, double most);

/* How many seconds frames are from the nearer end of the swing that they are in, of some from a first frame to before a
 * last one; 0 in none. What the clip's end cuts goes on beyond it for `beyond` seconds. */
void ik_nearer(const ptrdiff_t (*swings)[2], ptrdiff_t count, ptrdiff_t frames, double fps, double beyond,
               double *near);

#endif
