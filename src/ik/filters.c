/* Filters over time (filters.h). */
#include "ik.h"
#ifndef IK_NO_CLIPS
#include "filters.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* How many frames count before each, and after it. */
static ptrdiff_t most_of(const ik_filter_job *job) {
    const double most = -floor(-job->reach) - 1;
    return most < 0 ? 0 : (ptrdiff_t)most;
}

ptrdiff_t ik_filter_work(const ik_filter_job *job) {
    const double largest = (double)(PTRDIFF_MAX / 64);
    if (!(job->reach >= 0 && job->reach < largest)) return -1;
    const ptrdiff_t most = most_of(job), columns = job->columns > 1 ? job->columns : 1;
    const double all = ((double)job->frames + 2 * (double)most) * (double)columns + 2 * (double)most;
    return all < largest ? (job->frames + 2 * most) * columns + 2 * most + 1 : -1;
}

/* The rows, and so many more at both ends. */
static void prolong(const ik_filter_job *job, ptrdiff_t most, double *wide) {
    const ptrdiff_t columns = job->columns;
    for (ptrdiff_t row = -most; row < job->frames + most; row++) {
        const ptrdiff_t from = row < 0 ? 0 : row < job->frames ? row : job->frames - 1;
        memcpy(wide + (row + most) * columns, job->rows + from * columns, (size_t)columns * sizeof *wide);
    }
}

/* The factors of the kernel, whose sum is 1. */
static void bell(double reach, ptrdiff_t most, double *factors) {
    double total = 0;
    for (ptrdiff_t tap = -most; tap <= most; tap++) {
        const double t = (double)tap / reach, root = 1 - t * t;
        factors[tap + most] = root * root;
        total += root * root;
    }
    for (ptrdiff_t tap = 0; tap <= 2 * most; tap++)
        factors[tap] /= total;
}

/* Adds to every value what some rows differ from it, each times its factor: several rows at a time, one after the
 * other, so that sums stay where they are computed. */
static void add_rows(const double *rows, ptrdiff_t apart, const double *factors, ptrdiff_t taps, const double *own,
                     ptrdiff_t count, double *off) {
    ptrdiff_t tap = 0;
    for (; tap + 4 <= taps; tap += 4) {
        const double *a = rows + tap * apart, *b = a + apart, *c = b + apart, *d = c + apart, *f = factors + tap;
        for (ptrdiff_t k = 0; k < count; k++)
            off[k] = (((off[k] + (a[k] - own[k]) * f[0]) + (b[k] - own[k]) * f[1]) + (c[k] - own[k]) * f[2]) +
                     (d[k] - own[k]) * f[3];
    }
    for (; tap < taps; tap++)
        for (ptrdiff_t k = 0; k < count; k++)
            off[k] += (rows[tap * apart + k] - own[k]) * factors[tap];
}

/* To every value the sum of what those about it differ from it, each times its factor. */
void ik_filter_bell(const ik_filter_job *job, double *work, double *found) {
    enum { AT_ONCE = 512 }; /* which stay in the fastest cache */
    const ptrdiff_t most = most_of(job), columns = job->columns, size = job->frames * columns;
    double off[AT_ONCE], *wide = work, *factors = wide + (job->frames + 2 * most) * columns;
    if (!size) return;
    prolong(job, most, wide);
    bell(most ? job->reach : 1, most, factors);
    for (ptrdiff_t start = 0; start < size; start += AT_ONCE) {
        const ptrdiff_t count = size - start < AT_ONCE ? size - start : AT_ONCE;
        const double *own = wide + start + most * columns;
        for (ptrdiff_t k = 0; k < count; k++)
            off[k] = 0;
        add_rows(wide + start, columns, factors, 2 * most + 1, own, count, off);
        for (ptrdiff_t k = 0; k < count; k++)
            found[start + k] = own[k] + off[k];
    }
}

/* The larger one of values so far apart, the first of equal ones; NaN where one is. */
static void take_larger(const double *from, ptrdiff_t size, ptrdiff_t apart, double *found) {
    for (ptrdiff_t k = 0; k < size; k++) {
        const double first = from[k], second = from[k + apart];
        found[k] = second <= first || first != first ? first : second;
    }
}

/* Of every value and those after it: of twice as many each time, from two of half. */
void ik_filter_largest(const ik_filter_job *job, double *work, double *found) {
    const ptrdiff_t most = most_of(job), columns = job->columns, size = job->frames * columns, rows = 2 * most + 1;
    ptrdiff_t done = 1;
    if (!size) return;
    prolong(job, most, work);
    for (; 2 * done <= rows; done *= 2)
        take_larger(work, size + (rows - 2 * done) * columns, done * columns, work);
    take_larger(work, size, (rows - done) * columns, found);
}
#endif
