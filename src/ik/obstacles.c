/* What feet in swing have to get over (obstacles.h). */
#include "obstacles.h"

#include <math.h>

void ik_farther(double (*points)[3], const double (*origins)[3], ptrdiff_t frames, ptrdiff_t each,
                const ptrdiff_t *which, ptrdiff_t count, double by, int axis) {
    const double least = by < 0 ? -by : by;
    for (ptrdiff_t k = 0; k < frames; k++)
        for (ptrdiff_t n = 0; n < count; n++) {
            double *at = points[k * each + which[n]], arm[3], far;
            for (int side = 0; side < 3; side++)
                arm[side] = side == axis ? 0 : at[side] - origins[k][side];
            far = sqrt(arm[0] * arm[0] + arm[1] * arm[1] + arm[2] * arm[2]);
            for (int side = 0; side < 3; side++)
                at[side] += arm[side] * (by / (far < least ? least : far));
        }
}

void ik_swept(const double *heights, ptrdiff_t frames, ptrdiff_t each, double riser, double *found) {
    for (ptrdiff_t k = 0; k < frames; k++)
        for (ptrdiff_t n = 0; n < each; n++) {
            const double *at = heights + k * each + n, own = isfinite(*at) ? *at : -INFINITY;
            double most = own;
            if (k && isfinite(at[-each]) && at[-each] > most) most = at[-each];
            if (k + 1 < frames && isfinite(at[each]) && at[each] > most) most = at[each];
            found[k * each + n] = most > own + riser ? most : *at;
        }
}

void ik_lack(const ik_lack_job *job) {
    for (ptrdiff_t k = 0; k < job->frames; k++) {
        double most = NAN;
        for (ptrdiff_t n = 0; n < job->each; n++) {
            const ptrdiff_t at = k * job->each + n;
            const double beyond = -2 * job->dips - job->above[at], back = beyond < 0 ? beyond : 0;
            const double high = job->above[at] < back ? back : job->above[at];
            const double least = high < job->clearance ? high : job->clearance;
            double lack = job->heights[at] + job->thick[n] + least - job->points[at][job->axis];
            if (n == job->toe) lack -= job->bends;
            if (lack > most || isnan(most)) most = lack;
        }
        job->found[k] = most;
    }
}

void ik_nearer(const ptrdiff_t (*swings)[2], ptrdiff_t count, ptrdiff_t frames, double fps, double beyond,
               double *near) {
    for (ptrdiff_t k = 0; k < frames; k++)
        near[k] = 0;
    for (ptrdiff_t n = 0; n < count; n++) {
        const ptrdiff_t start = swings[n][0], stop = swings[n][1];
        const double first = start > 0 ? (double)(start - 1) : (double)start - beyond * fps;
        const double last = stop < frames ? (double)stop : (double)(stop - 1) + beyond * fps;
        for (ptrdiff_t k = start; k < stop; k++) {
            const double since = (double)k - first, until = last - (double)k;
            near[k] = (since < until ? since : until) / fps;
        }
    }
}
