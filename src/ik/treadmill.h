/* The velocity of the ground under a clip, from how points of soles move along it while they are low: of one that walks
 * on the spot, or goes farther, or less far, than its strides. */
#ifndef IK_TREADMILL_H
#define IK_TREADMILL_H

#include <stddef.h>

/* How fast points with velocities (frames, points) are on ground with velocities (frames): (points, frames). */
void ik_speeds(const double (*velocities)[3], const double (*ground)[3], ptrdiff_t frames, ptrdiff_t points,
               double *speeds);

typedef struct {
    ptrdiff_t frames, points;
    const double (*velocities)[3]; /* (frames, points), along the ground */
    const unsigned char *low;      /* (points, frames): when they are low, and neither rise nor sink */
    const double *limits;    /* (points): velocities that are nearer to each other are the same, slower ones none */
    const double (*body)[3]; /* (frames): where it is along the ground, or how fast */
    double *work;            /* 8 frames points numbers */
} ik_treadmill_job;

/* The velocity that points have most when they are low, in some frames, of a body that is where it is said; 0 if they
 * stand, or the body goes along. */
void ik_belt(const ik_treadmill_job *job, ptrdiff_t first, ptrdiff_t frames, double fps, double belt[3]);

/* By which share of the way of the body, whose velocity is given, feet slide that are low and slow, and hardly in any
 * other way; 0 if they do not. */
double ik_slide(const ik_treadmill_job *job);

#endif
