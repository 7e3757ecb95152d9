/* Soles from poses in which feet are flat, for detecting feet. Rows are frames, doubles in one block. */
#ifndef IK_SOLES_H
#define IK_SOLES_H

#include <stddef.h>

/* Frames in which a foot is flat, ascending. Among the lower half of the frames, those with the least motion are
 * chosen, in whole multiples of `least`; among equal motions the lower ones. NaN counts as the largest. */
typedef struct {
    ptrdiff_t frames, wanted; /* at most half of the frames, rounded up, are found */
    const double *steps;      /* (frames + 1): its motion between frames, and before and after all */
    int floats;               /* whether these were floats, and are divided as such */
    const double *heights;    /* sums over its joints */
    double least;
    void *work;        /* ik_flat_frames_work bytes */
    ptrdiff_t *chosen; /* (wanted) */
} ik_flat_frames_job;

size_t ik_flat_frames_work(ptrdiff_t frames);

/* Returns their number. */
ptrdiff_t ik_flat_frames(const ik_flat_frames_job *job);

/* A flat foot: ankle, ball and toe (frames, joints, 3), as far as it has them. */
typedef struct {
    ptrdiff_t frames;
    int joints, ball, toe;   /* indices of the ball and of the tip of the toe among the joints; 0: none */
    int floats;              /* whether joints were floats, so that differences are, too */
    const double (*at)[3];   /* (frames, joints, 3) */
    const double (*up)[3];   /* up direction in each frame */
    const double *front;     /* (3) direction of a foot that is a point */
    double depth, tiny;      /* depth of the ground below the lowest joint; a foot no longer than `tiny` is a point */
    double to_ball;          /* position of the ball, as share of the horizontal distance from ankle to tip */
    double side;             /* -1 for a right foot, else 1 */
    double *height, *length; /* output: height of the ground; distance from ankle to tip */
    double (*ahead)[3];      /* output: horizontal direction, of unit length */
    double (*inner)[3];      /* output: direction of the other foot */
    int point;               /* output: whether it is a point */
} ik_flat_foot;

void ik_stand_flat(ik_flat_foot *foot);

/* Proportions of the foot, as shares of the horizontal distance from ankle to tip. */
typedef struct {
    double heel, wide; /* the heel behind the ankle, and the sides beside the ball */
    double steep;      /* a foot is on its toes if its ankle is higher than this share of the distance to the ball */
} ik_proportions;

enum { IK_AT_HEEL, IK_AT_BALL, IK_AT_TOE, IK_AT_INNER, IK_AT_OUTER, IK_SOLES };

/* The sole points on the ground in one frame of a flat foot. Missing points are NaN: the heel of a foot on its toes,
 * and all but the ball of a point. */
void ik_flat_soles(const ik_flat_foot *foot, const ik_proportions *of, ptrdiff_t frame, double places[IK_SOLES][3]);

/* Coordinates of a vector along three axes, rows, by Cramer's rule. */
void ik_within(const double axes[3][3], const double way[3], double along[3]);

#endif
