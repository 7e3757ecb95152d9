/* How a rigid foot rests on the ground. For the bake only: ik.h has the public interface. */
#ifndef IK_REST_H
#define IK_REST_H

#include <stddef.h>

/* The pose of a rigid foot on the ground. It starts on the plane of the ground below its heel and its ball. It then
 * tilts, along its direction and across it, about the points that it stands on, until a point on either side supports
 * it. It is nowhere steeper than the ground below it. All numbers are doubles, in one block; lengths are in the unit of
 * the clip. */
typedef struct ik_rest_job {
    int count;                 /* of points: those of the sole, then those between them */
    int axis;                  /* the coordinate that is height */
    int heel, ball;            /* indices of these points; -1: none */
    int toe, joint;            /* the tip of toes that bend, and their joint; -1: they do not */
    int between, parts;        /* the first of the parts - 1 points from heel to ball, below which a foot has an arch */
    int points_ahead;          /* whether it has a direction: a foot that is a point lies as the ground does */
    const double (*points)[3]; /* of the sole, on the floor of the clip */
    const double (*ground)[3]; /* below them */
    const double (*normals)[3];
    const unsigned char *hit; /* whether there is ground; below at least one of them there must be */
    double place[3];          /* the point that comes down onto its height */
    double ahead[3];          /* its direction, a horizontal unit vector */
    double scale;             /* leg length over 0.87 m */
    double align;             /* the share of the slope that it follows */
    double pitch, roll;       /* tangents of the largest tilts */
    double bends, step;       /* largest bend of toes, a tangent; highest step that they bend over, in metres for a leg
                                 of 0.87 m */
} ik_rest_job;

typedef struct ik_rested {
    double normal[3]; /* of the sole */
    double lift;      /* how much higher the place is, so that no point is in the ground */
    int point;        /* the point that touches the ground */
} ik_rested;

/* `scratch` has the size of ik_rest_scratch, and is aligned for doubles. */
size_t ik_rest_scratch(int count);
ik_rested ik_rest(const ik_rest_job *job, void *scratch);

#endif
