/* Intervals of frames in which something holds. For contacts and bakes: ik.h has the public interface. Masks are bytes,
 * 0 or 1, one per frame. */
#ifndef IK_INTERVALS_H
#define IK_INTERVALS_H

#include <stddef.h>

/* The number of intervals; if `edges` is not NULL, the first frame of each, and the first one after it. */
ptrdiff_t ik_intervals(const unsigned char *mask, ptrdiff_t count, ptrdiff_t (*edges)[2]);

/* A contact lasts from the first to the last frame of `enters` in each interval of `stays`. If the end of the clip cuts
 * an interval, the contact extends to there, unless that part is shorter than a gap; a short interval there is a
 * contact even without a frame of `enters`. Gaps of fewer than `gap` frames are closed, then contacts of fewer than
 * `least` are dropped, unless they reach an end of the clip. */
typedef struct ik_contact_job {
    ptrdiff_t count;
    const unsigned char *stays, *enters;
    double gap, least; /* frames */
    unsigned char *held;
} ik_contact_job;

void ik_contact(const ik_contact_job *job);

#endif
