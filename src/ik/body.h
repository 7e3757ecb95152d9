/* How legs move the body: what each asks for, and what all get. Of the bake alone. Rows are frames, doubles in one
 * block. */
#ifndef IK_BODY_H
#define IK_BODY_H

#include <stddef.h>

/* How far up hips (frames, 3) are moved until they are as far from ankles as `length`, above them, or below where
 * `side` is -1; where they are too far aside, level with them. side: NULL for above, else 1 or -1 a frame. */
typedef struct {
    ptrdiff_t frames;
    int axis; /* which coordinate is height */
    const double (*hip)[3], (*ankle)[3], *length, *side;
    double *up;
} ik_until_job;

void ik_until(const ik_until_job *job);

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

/* How large the third differences are of places (frames, 3) so many frames apart, frames - 3 apart of them. */
void ik_jerk(const double (*at)[3], ptrdiff_t frames, ptrdiff_t apart, double *sizes);

#endif
