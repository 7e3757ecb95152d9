/* The ground below a foot at a point. For grounds only: ik.h has the public interface. */
#ifndef IK_SURFACE_H
#define IK_SURFACE_H

#include "../ik.h"

/* The highest surface of the bodies within a vertical window about each point. Surfaces count from both sides. If the
 * window begins inside a body, which is then seen from behind both downwards and upwards, only upward-facing surfaces
 * count. */
typedef struct ik_surface_job {
    const ik_ray_body *bodies;
    int count;            /* of bodies */
    ptrdiff_t each;       /* as in ik_cast_job */
    int axis;             /* the coordinate that is height */
    ik_rows point;        /* (3) */
    ik_rows above, below; /* extent of the window */
    ik_rows hit;          /* char: whether there is ground */
    ik_rows found;        /* (3) the point of it; NaN where there is none */
    ik_rows normal;       /* (3) optional: of unit length, of the side that is seen from above; NaN likewise */
    ik_rows body;         /* int32_t, optional: its index; -1: none */
} ik_surface_job;

/* Points [first, last). `scratch` has so many bytes for as many points, and is aligned as doubles are. */
size_t ik_surface_scratch(ptrdiff_t points);
void ik_surface(const ik_surface_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);

/* The ground below a foot that walks from its last foothold in equal steps. At every step the ground is searched within
 * a window about the last height; without ground the height is kept. Or the ground where the foot jumps to, if that is
 * higher. A point in the side of a pit, after a descent into it, is placed above its rim. */
typedef struct ik_foothold_job {
    const ik_ray_body *bodies; /* none of which moves */
    int count, axis;
    ptrdiff_t points;         /* at least one */
    const double (*point)[3]; /* of the foot, anywhere above or below */
    const double *last;       /* (3) the last foothold */
    int jumps;                /* whether the foot may jump from there */
    double step;              /* about the largest step: above 0 */
    double window[2];         /* extent of the search above and below */
    double same;              /* heights that are nearer to each other count as equal */
    char *hit;                /* written, as in ik_surface_job: one row a point */
    double (*found)[3], (*normal)[3];
    int32_t *body;
} ik_foothold_job;

/* `scratch` has so many bytes and is aligned as doubles are; 0: that is more than can be counted. */
size_t ik_foothold_scratch(const ik_foothold_job *job);
void ik_foothold(const ik_foothold_job *job, void *scratch);

#endif
