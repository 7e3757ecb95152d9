/* Numbers by their order, none of which is NaN. */
#ifndef IK_ORDER_H
#define IK_ORDER_H

#include <stddef.h>

/* The one that has so many before it when they ascend, 0 to count - 1. Changes their order: none before that place is
 * larger, none after it smaller. */
double ik_ranked(double *values, ptrdiff_t count, ptrdiff_t rank);

/* The mean of the two in the middle; and straight between two, 0 % being the least. Both likewise, of one at least. */
double ik_median(double *values, ptrdiff_t count);
double ik_percentile(double *values, ptrdiff_t count, double percent);

#endif
