/* Points over time: rows of numbers, one row a frame, of clips that may be loops. */
#ifndef IK_PATHS_H
#define IK_PATHS_H

#include <stddef.h>

/* Rows (frames, columns), at least one. In a loop the last row is the first one, one cycle farther. */
typedef struct {
    const double *rows;
    ptrdiff_t frames, columns;
    int loop;
} ik_path;

/* Additional rows at both ends: a loop continues with its cycle, other paths as if rotated by half a turn about their
 * ends. wide: (frames + 2 more, columns). */
void ik_prolong(const ik_path *path, ptrdiff_t more, double *wide);

/* Linear interpolation of values (knots, columns) at ascending knots, at least one; constant before the first and after
 * the last. Ascending times are fastest. found: (count, columns). */
typedef struct {
    const double *knots, *values;
    ptrdiff_t many, columns;
} ik_knots;

void ik_straight(const ik_knots *through, const double *times, ptrdiff_t count, double *found);

/* Weights (count) of a mask: they rise and fall from 0 to 1 within a number of frames about its edges, which lie
 * between frames; above 0.5 where it holds. */
void ik_ramp(const unsigned char *held, ptrdiff_t count, int loop, double frames, double *weights);

#endif
