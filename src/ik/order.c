/* Numbers by their order, found without sorting all of them (order.h). */
#include "order.h"

static void exchange(double *values, ptrdiff_t a, ptrdiff_t b) {
    const double value = values[a];
    values[a] = values[b], values[b] = value;
}

/* The middle one of three, so that what ascends or descends already is no worse than what does not. */
static double middle_of(double a, double b, double c) {
    const double least = a < b ? a : b, most = a < b ? b : a;
    return c < least ? least : c < most ? c : most;
}

/* C. A. R. Hoare, "Algorithm 65: find", 1961. */
double ik_ranked(double *values, ptrdiff_t count, ptrdiff_t rank) {
    ptrdiff_t first = 0, last = count - 1;
    while (first < last) {
        const double pivot = middle_of(values[first], values[first + (last - first) / 2], values[last]);
        ptrdiff_t low = first, high = last;
        while (low <= high) {
            while (values[low] < pivot)
                low++;
            while (pivot < values[high])
                high--;
            if (low <= high) exchange(values, low++, high--);
        }
        if (rank <= high)
            last = high;
        else if (rank >= low)
            first = low;
        else
            break;
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
    const double below = ik_ranked(values, count, (count - 1) / 2);
    return (below + (count % 2 ? below : next_of(values, count, (count - 1) / 2))) / 2;
}

double ik_percentile(double *values, ptrdiff_t count, double percent) {
    const double at = (double)(count - 1) * (percent / 100);
    const ptrdiff_t rank = (ptrdiff_t)at;
    const double share = at - (double)rank, below = ik_ranked(values, count, rank);
    const double above = share > 0 ? next_of(values, count, rank) : below, span = above - below;
    return share < 0.5 ? below + span * share : above - span * (1 - share);
}
