/* How legs move the body: what each asks for, and what all get. Of the bake alone. Rows are frames, doubles in one
 * block. */
#ifndef IK_BODY_H
#define IK_BODY_H

#include <stddef.h>

/* What a leg wants of the body, so many numbers a frame, how much it stands, and where it is in the clip. */
typedef struct {
    const double *wanted, *stands, (*hip)[3], (*ankle)[3];
    double size; /* how long it is */
} ik_wish;

/* What legs want together: their mean, as each stands, at least a trace, and as its knee bends for being moved, which
 * is about 1 / (1 - (far / size)^2), but no more than that of one that is bent; it bends too for what is far from what
 * all want. Written: that mean (frames, axes); how much the one stands that does so the most; and how much of that is
 * heeded, 1 if a leg is bent. */
typedef struct {
    ptrdiff_t frames;
    int legs, axes;
    const ik_wish *leg;
    double least;          /* how much a leg stands at least */
    double bent, straight; /* what (far / size)^2 lacks to 1 of a leg that counts as bent, and of any at least */
    double anyway;         /* of its size: others that want so much else bend a leg */
    double *together, *stands, *heeded;
    double *weights; /* (2, legs), to work in */
} ik_agree_job;

void ik_agree(const ik_agree_job *job);

/* A leg that hangs on the body. */
typedef struct {
    const double (*from_hip)[3], (*from_ankle)[3]; /* where it is in the clip */
    const double (*hip)[3], (*ankle)[3];           /* where it is carried to, and where it should end */
    const double *high;   /* how high its hip is over its ankle in the clip, as the body tilts */
    const double *over;   /* how much of that, upwards, is for obstacles alone */
    const double *reach;  /* how far from its hip it may end */
    const double *stands; /* how much it stands */
    double size;          /* how long it is */
} ik_hung_leg;

typedef struct {
    ptrdiff_t frames;
    int axis; /* which coordinate is height */
    int legs; /* one at least */
    const ik_hung_leg *leg;
} ik_hung_legs;

/* Filters in what follows reach so many frames; each function says how many doubles it works in, -1: there are no such
 * numbers. */

/* How far up each leg has its hip moved, to be as far from its ankle as in the clip, above it or below, where that
 * would be but for obstacles (legs, frames); and how far up they may go, as far as all legs reach: one that is about to
 * be at its limit gives before it is, for so many frames. Hips come down to half of their height over ankles at
 * most: what legs still need that are far aside the body goes aside for. */
typedef struct {
    ik_hung_legs hung;
    double moment;
    double *wanted, *highest;
} ik_rises_job;

ptrdiff_t ik_rises_work(const ik_rises_job *job);
void ik_rises(const ik_rises_job *job, double *work);

/* How far up hips may go that have risen by so much, lest a leg be straight for a moment: legs that stand bend less
 * than in the clip by no more than a trace of what they do about then, over obstacles as well, or bend softly. As sines
 * of half of what knees bend. Infinite where no leg asks for less. */
typedef struct {
    ik_hung_legs hung;
    const double *rise;
    double moment, trace, soft;
    double *most;
} ik_eased_job;

ptrdiff_t ik_eased_work(const ik_eased_job *job);
void ik_eased(const ik_eased_job *job, double *work);

/* How far the body goes aside (frames, 3): along with feet, and in frames that are nearer than it reaches to one in
 * which feet are out of reach, as hips have risen by so much, towards these; no farther than most. */
typedef struct {
    ik_hung_legs hung;
    const double *rise, (*along)[3];
    double reach, most;
    double (*found)[3];
} ik_aside_job;

ptrdiff_t ik_aside_work(const ik_aside_job *job);
void ik_aside(const ik_aside_job *job, double *work);

/* How much the middle of hips jerks as it is in the clip and has risen by so much, NULL for not at all: how large third
 * differences are of places so many frames apart, through a filter, about every frame. 0 in clips that are too short.
 */
typedef struct {
    ik_hung_legs hung;
    const double *rise;
    ptrdiff_t apart;
    double reach;
    double *found;
} ik_jerk_job;

ptrdiff_t ik_jerk_work(const ik_jerk_job *job);
void ik_jerk(const ik_jerk_job *job, double *work);

#endif
