/* Intervals of frames, and those in which a foot is in contact (intervals.h). */
#include "ik.h"
#ifndef IK_NO_CLIPS
#include "intervals.h"

#include <string.h>

static const double ROUNDING = 1e-6; /* frames */

/* The first frame of the next interval, and the first one after that; returns whether there is one. */
static int next_of(const unsigned char *mask, ptrdiff_t count, int value, ptrdiff_t *start, ptrdiff_t *stop) {
    ptrdiff_t k = *stop;
    while (k < count && mask[k] != value)
        k++;
    *start = k;
    while (k < count && mask[k] == value)
        k++;
    *stop = k;
    return *start < count;
}

ptrdiff_t ik_intervals(const unsigned char *mask, ptrdiff_t count, ptrdiff_t (*edges)[2]) {
    ptrdiff_t found = 0;
    for (ptrdiff_t start, stop = 0; next_of(mask, count, 1, &start, &stop); found++)
        if (edges) edges[found][0] = start, edges[found][1] = stop;
    return found;
}

/* What of an interval is a contact. */
static void hold(const ik_contact_job *job, ptrdiff_t start, ptrdiff_t stop) {
    const int at_start = start == 0, at_end = stop == job->count;
    ptrdiff_t first = start, last = stop;
    while (first < stop && !job->enters[first])
        first++;
    while (last > first && !job->enters[last - 1])
        last--;
    if (first == stop) {
        if ((at_start || at_end) && (double)(stop - start) < job->least)
            memset(job->held + start, 1, (size_t)(stop - start));
        return;
    }
    if (at_start && (double)(first - start) >= job->gap - ROUNDING) first = start;
    if (at_end && (double)(stop - last) >= job->gap - ROUNDING) last = stop;
    memset(job->held + first, 1, (size_t)(last - first));
}

/* Whether an interval is shorter than so many frames, and no end of the clip cuts it, beyond which it may go on. */
static int is_brief(const ik_contact_job *job, ptrdiff_t start, ptrdiff_t stop, double frames) {
    return start > 0 && stop < job->count && (double)(stop - start) < frames - ROUNDING;
}

void ik_contact(const ik_contact_job *job) {
    ptrdiff_t start, stop;
    memset(job->held, 0, (size_t)job->count);
    for (stop = 0; next_of(job->stays, job->count, 1, &start, &stop);)
        hold(job, start, stop);
    for (stop = 0; next_of(job->held, job->count, 0, &start, &stop);)
        if (is_brief(job, start, stop, job->gap)) memset(job->held + start, 1, (size_t)(stop - start));
    for (stop = 0; next_of(job->held, job->count, 1, &start, &stop);)
        if (is_brief(job, start, stop, job->least)) memset(job->held + start, 0, (size_t)(stop - start));
}
#endif
