/* Vectors of three doubles in memory, one at a time, for what runs on no lanes; in written order. */
#ifndef IK_THREE_H
#define IK_THREE_H

#include <math.h>

static inline double three_dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline double three_size(const double a[3]) { return sqrt(three_dot(a, a)); }

static inline void three_cross(const double a[3], const double b[3], double found[3]) {
    found[0] = a[1] * b[2] - a[2] * b[1];
    found[1] = a[2] * b[0] - a[0] * b[2];
    found[2] = a[0] * b[1] - a[1] * b[0];
}

#endif
