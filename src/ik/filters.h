/* Filters over time, of rows of numbers, one row a frame, that see before and after each. At the ends rows go on as the
 * first and the last are. */
#ifndef IK_FILTERS_H
#define IK_FILTERS_H

#include <stddef.h>

/* Rows (frames, columns), and how many frames before and after each count: those nearer than `reach`, 0 or more. */
typedef struct {
    const double *rows;
    ptrdiff_t frames, columns;
    double reach;
} ik_filter_job;

/* How many doubles a filter works in; -1: more than there can be, or it reaches no number of frames. */
ptrdiff_t ik_filter_work(const ik_filter_job *job);

/* Through a kernel (1 - t^2)^2 that comes to 0 at what it reaches. Where values are equal they stay so, to the bit. */
void ik_filter_bell(const ik_filter_job *job, double *work, double *found);

/* The largest; NaN where one is. */
void ik_filter_largest(const ik_filter_job *job, double *work, double *found);

#endif
