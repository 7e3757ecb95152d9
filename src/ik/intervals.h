/* Frames in which something holds, and the intervals of these. Of contacts and bakes: ik.h has what is for all. Masks
 * are bytes, 0 or 1, one a frame. */
#ifndef IK_INTERVALS_H
#define IK_INTERVALS_H

#include <stddef.h>

/* How many intervals there are; of each its first frame, and the first one after it, if `edges` is not NULL. */
ptrdiff_t ik_intervals(const unsigned char *mask, ptrdiff_t count, ptrdiff_t (*edges)[2]);

/* A contact is from the first to the last frame of `enters` in each interval of `stays`. An interval that the clip's
 * end cuts reaches to there, but for what is shorter than a gap; a short one is a contact even without such a frame.
 * Gaps of fewer than `gap` frames are closed, then contacts of fewer than `least` dropped, unless they reach an end
 * of the clip. */
typedef struct ik_contact_job {
    ptrdiff_t count;
    const unsigned char *stays, *enters;
    double gap, least; /* frames */
    unsigned char *held;
} ik_contact_job;

void ik_contact(const ik_contact_job *job);

#endif
