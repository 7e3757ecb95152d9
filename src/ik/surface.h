/* The ground that a foot at a point stands on. Of grounds alone: ik.h has what is for all. */
#ifndef IK_SURFACE_H
#define IK_SURFACE_H

#include "ik.h"

/* The highest that the bodies have within a vertical window about each point. Surfaces count from both sides; but where
 * the window begins within a body, which is seen from behind both downwards and upwards, only what faces up does. */
typedef struct ik_surface_job {
    const ik_ray_body *bodies;
    int count;            /* of bodies */
    ptrdiff_t each;       /* as in ik_cast_job */
    int axis;             /* which coordinate is height */
    ik_rows point;        /* (3) */
    ik_rows above, below; /* how far the window reaches up and down */
    ik_rows hit;          /* char: whether there is ground */
    ik_rows found;        /* (3) the point of it; NaN where there is none */
    ik_rows normal;       /* (3) optional: of unit length, of the side that is seen from above; NaN likewise */
    ik_rows body;         /* int32_t, optional: which; -1: none */
} ik_surface_job;

/* Points [first, last). `scratch` has so many bytes for as many points, and is aligned as doubles are. */
size_t ik_surface_scratch(ptrdiff_t points);
void ik_surface(const ik_surface_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);

/* The ground under a foot where one walks to from the last foothold, in steps as long as each other: at every step it
 * is looked for within a window about the last, and where there is none one stays as high. Or where one jumps to, if
 * that is higher. A point that would be in the side of a pit that one has come down into is over its rim. */
typedef struct ik_foothold_job {
    const ik_ray_body *bodies; /* none of which moves */
    int count, axis;
    ptrdiff_t points;         /* at least one */
    const double (*point)[3]; /* of the foot, anywhere above or below */
    const double *last;       /* (3) the last foothold */
    int jumps;                /* whether one may jump from there */
    double step;              /* how long one is at most, about: above 0 */
    double window[2];         /* how far above and below ground is looked for */
    double same;              /* heights that are so near to each other are the same */
    char *hit;                /* written, as in ik_surface_job: one row a point */
    double (*found)[3], (*normal)[3];
    int32_t *body;
} ik_foothold_job;

/* `scratch` has so many bytes and is aligned as doubles are; 0: that is more than can be counted. */
size_t ik_foothold_scratch(const ik_foothold_job *job);
void ik_foothold(const ik_foothold_job *job, void *scratch);

#endif
