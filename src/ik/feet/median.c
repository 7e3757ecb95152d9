/* Numbers by their order, found without sorting all of them (median.h). */
#include "../ik.h"
#ifndef IK_NO_CLIPS
#include "median.h"

/* Brings those from one place to before another that are below a number, or also those that equal it, to the front;
 * returns where the others begin. Without a branch, as no processor guesses which way one goes. */
static ptrdiff_t bring_below(double *values, ptrdiff_t first, ptrdiff_t stop, double most, int equal) {
    for (ptrdiff_t k = first; k < stop; k++) {
        const double value = values[k];
        values[k] = values[first], values[first] = value;
        first += equal ? !(most < value) : value < most;
    }
    return first;
}

/* The middle one of three, so that what ascends or descends already is no worse than what does not. */
static double middle_of(double a, double b, double c) {
    const double least = a < b ? a : b, most = a < b ? b : a;
    return c < least ? least : c < most ? c : most;
}

/* C. A. R. Hoare, "Algorithm 65: find", 1961; those that equal the one it is parted at are never looked at again. Comes
 * to an end even of NaN. The one that has `rank` before it when they ascend; none before that place is larger. */
static double ranked(double *values, ptrdiff_t count, ptrdiff_t rank) {
    ptrdiff_t first = 0, stop = count;
    while (stop - first > 1) {
        const double pivot = middle_of(values[first], values[first + (stop - first - 1) / 2], values[stop - 1]);
        const ptrdiff_t low = bring_below(values, first, stop, pivot, 0);
        if (rank < low) {
            stop = low;
            continue;
        }
        first = bring_below(values, low, stop, pivot, 1);
        if (rank < first) break;
    }
    return values[rank];
}

/* The least of those after a place that is ranked. */
static double next_of(const double *values, ptrdiff_t count, ptrdiff_t rank) {
    double least = values[rank + 1];
    for (ptrdiff_t k = rank + 2; k < count; k++)
        least = values[k] < least ? values[k] : least;
    return least;
}

double ik_median(double *values, ptrdiff_t count) {
    const double below = ranked(values, count, (count - 1) / 2);
    return (below + (count % 2 ? below : next_of(values, count, (count - 1) / 2))) / 2;
}
#endif
