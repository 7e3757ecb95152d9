/* Numbers by their order, none of which is NaN. */
#ifndef IK_ORDER_H
#define IK_ORDER_H

#include <stddef.h>

/* The mean of the two in the middle, of one at least. Changes their order. */
double ik_median(double *values, ptrdiff_t count);

#endif
