/* Points over time: rows of numbers, one row a frame, of clips that may be loops. */
#ifndef IK_PATHS_H
#define IK_PATHS_H

#include <stddef.h>

/* Rows (frames, columns), at least one. In a loop the last row is where the first one has got to. */
typedef struct {
    const double *rows;
    ptrdiff_t frames, columns;
    int loop;
} ik_path;

/* So many rows more at both ends: a loop goes on from where it has got to, others as if turned about their ends.
 * wide: (frames + 2 more, columns). */
void ik_prolong(const ik_path *path, ptrdiff_t more, double *wide);

/* Values (knots, columns) between knots that ascend, of which there is one at least, straight in time; before the first
 * knot and after the last as there. Times that ascend are found fastest. found: (count, columns). */
typedef struct {
    const double *knots, *values;
    ptrdiff_t many, columns;
} ik_knots;

void ik_straight(const ik_knots *through, const double *times, ptrdiff_t count, double *found);

/* Weights (count), from 0 to 1 within so many frames about the edges of a mask, which are between frames; more than 0.5
 * where it holds. */
void ik_ramp(const unsigned char *held, ptrdiff_t count, int loop, double frames, double *weights);

#endif
