/* Soles from poses in which feet stand flat. Of finding feet alone. Rows are frames, doubles in one block. */
#ifndef IK_SOLES_H
#define IK_SOLES_H

#include <stddef.h>

/* Frames in which a foot is flat, ascending: of the lower half those in which it moves the least, in whole numbers of
 * `least`; of frames in which it moves as little the lower ones. NaN is the most. */
typedef struct {
    ptrdiff_t frames, wanted; /* at most half of the frames, rounded up, are found */
    const double *steps;      /* (frames + 1): how far it goes between frames, and before and after all */
    int floats;               /* whether these were floats, and are divided as such */
    const double *heights;    /* added over its joints */
    double least;
    void *work;        /* ik_flat_frames_work bytes */
    ptrdiff_t *chosen; /* (wanted) */
} ik_flat_frames_job;

size_t ik_flat_frames_work(ptrdiff_t frames);

/* Returns how many are found. */
ptrdiff_t ik_flat_frames(const ik_flat_frames_job *job);

/* A foot that stands flat: ankle, ball and toe (frames, joints, 3), those that there are. */
typedef struct {
    ptrdiff_t frames;
    int joints, ball, toe;   /* which of the joints is the ball, and which the tip of the toe; 0: none */
    int floats;              /* whether joints were floats, so that ways between them are */
    const double (*at)[3];   /* (frames, joints, 3) */
    const double (*up)[3];   /* off the ground there */
    const double *front;     /* (3) where a foot points that is a point */
    double depth, tiny;      /* how far the ground is below the lowest joint; a foot no longer than that is a point */
    double to_ball;          /* of the way from ankle to tip over the ground, where the ball is */
    double side;             /* -1 of a right foot, else 1 */
    double *height, *length; /* found: of the ground; from ankle to tip */
    double (*ahead)[3];      /* found: over the ground, of unit length */
    double (*inner)[3];      /* found: to the other foot */
    int point;               /* found: whether it is one */
} ik_flat_foot;

void ik_stand_flat(ik_flat_foot *foot);

/* Of the foot, in ways from ankle to tip over the ground. */
typedef struct {
    double heel, wide; /* how far the heel is behind the ankle, and the sides beside the ball */
    double steep;      /* higher than so many ways from ankle to ball the ankle is of a foot on its toes */
} ik_proportions;

enum { IK_AT_HEEL, IK_AT_BALL, IK_AT_TOE, IK_AT_INNER, IK_AT_OUTER, IK_SOLES };

/* The points on the ground in one frame, of a foot that is found to stand. NaN are those that there are not: the heel
 * of a foot on its toes, and of a point all but the ball. */
void ik_flat_soles(const ik_flat_foot *foot, const ik_proportions *of, ptrdiff_t frame, double places[IK_SOLES][3]);

/* What a way is along three axes, rows, by Cramer's rule. */
void ik_within(const double axes[3][3], const double way[3], double along[3]);

#endif
