/* What a rigid foot rests on. Of the bake alone: ik.h has what is for all. */
#ifndef IK_REST_H
#define IK_REST_H

#include <stddef.h>

/* How a rigid foot lies that has come down on the ground: on as steep a plane as the ground under its heel and its
 * ball, from which it sinks along its way and across about what it stands on, until it rests on a point to either side,
 * no steeper than the ground is anywhere under it. All numbers are doubles, in one block; lengths are in the unit of
 * the clip. */
typedef struct ik_rest_job {
    int count;                 /* of points: some of the sole, then what is between those */
    int axis;                  /* which coordinate is height */
    int heel, ball;            /* which points these are; -1: none */
    int toe, joint;            /* the tip of toes that bend, and where they do; -1: they do not */
    int between, parts;        /* the first of the parts - 1 points from heel to ball, under which a foot has an arch */
    int points_ahead;          /* whether it has a way: a foot that is a point lies as the ground does */
    const double (*points)[3]; /* of the sole, on the floor of the clip */
    const double (*ground)[3]; /* under them */
    const double (*normals)[3];
    const unsigned char *hit; /* whether there is ground; under one of them there must be */
    double place[3];          /* the one that the foot is to come down by */
    double ahead[3];          /* where it points, a horizontal unit vector */
    double scale;             /* how long the leg is beside one of 0.87 m */
    double align;             /* the share of the slope that it takes */
    double pitch, roll;       /* tangents: how far it turns to the slope at most */
    double bends, step; /* how far toes bend up, a tangent, and over what at most, in metres for a leg of 0.87 m */
} ik_rest_job;

typedef struct ik_rested {
    double normal[3]; /* of the sole */
    double lift;      /* how much higher the place comes, so that no point is in the ground */
    int point;        /* which one touches it */
} ik_rested;

/* `scratch` is as large as ik_rest_scratch says, and aligned as doubles are. */
size_t ik_rest_scratch(int count);
ik_rested ik_rest(const ik_rest_job *job, void *scratch);

#endif
