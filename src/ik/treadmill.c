/* The velocity of the ground under a clip (treadmill.h). */
#include "ik.h"
#ifndef IK_NO_CLIPS
#include "treadmill.h"

#include <math.h>
#include <string.h>

#include "order.h"
#include "three.h"

enum { ROUNDS = 8 };              /* to where most are, at most */
static const double SWINGS = 0.2; /* of its speed: a body that goes so fast where what is low goes is on its way */
static const double SLOW = 1.5;   /* limits: what is faster is no foot that slides */
static const double OFF = 0.05;   /* share of the way of the body by which feet slide at least */
static const double OTHERS = 0.5; /* of that share: what they move by otherwise, at most */

/* The first one if the second is no number. */
static double larger(double a, double b) { return b > a ? b : a; }

static double fastest_of(const ik_treadmill_job *job) {
    double most = 0;
    for (ptrdiff_t point = 0; point < job->points; point++)
        most = larger(most, job->limits[point]);
    return most;
}

void ik_speeds(const double (*velocities)[3], const double (*ground)[3], ptrdiff_t frames, ptrdiff_t points,
               double *speeds) {
    for (ptrdiff_t frame = 0; frame < frames; frame++)
        for (ptrdiff_t point = 0; point < points; point++) {
            const double *at = velocities[frame * points + point], *under = ground[frame];
            const double off[3] = {at[0] - under[0], at[1] - under[1], at[2] - under[2]};
            speeds[point * frames + frame] = three_size(off);
        }
}

/* --- a belt ------------------------------------------------------------------------------------------------------- */

/* What is low in some frames, one after the other: velocities, their limits, and whether they are near to the one that
 * is looked for. */
typedef struct {
    ptrdiff_t count;
    double (*velocities)[3], *limits, *columns;
    unsigned char *near;
} crowd;

static crowd crowd_of(const ik_treadmill_job *job, ptrdiff_t first, ptrdiff_t frames) {
    const ptrdiff_t all = job->points * frames;
    double *rest = job->work + 3 * all;
    crowd found = {0, (double (*)[3])job->work, rest, rest + all, (unsigned char *)(rest + 4 * all)};
    for (ptrdiff_t point = 0; point < job->points; point++)
        for (ptrdiff_t frame = first; frame < first + frames; frame++) {
            if (!job->low[point * job->frames + frame]) continue;
            memcpy(found.velocities[found.count], job->velocities[frame * job->points + point], sizeof(double[3]));
            found.limits[found.count++] = job->limits[point];
        }
    return found;
}

/* The median of those that are near. */
static void middle_of(const crowd *all, double found[3]) {
    for (int axis = 0; axis < 3; axis++) {
        ptrdiff_t count = 0;
        for (ptrdiff_t k = 0; k < all->count; k++)
            if (all->near[k]) all->columns[count++] = all->velocities[k][axis];
        found[axis] = ik_median(all->columns, count);
    }
}

/* The velocity that most of them have: the median of those that are as near to it as each has to be. Returns whether
 * any is. */
static int commonest(const crowd *all, double most[3]) {
    memset(all->near, 1, (size_t)all->count);
    if (all->count) middle_of(all, most);
    for (int round = 0; round < ROUNDS; round++) {
        ptrdiff_t near = 0, changed = 0;
        for (ptrdiff_t k = 0; k < all->count; k++) {
            const double *at = all->velocities[k], off[3] = {at[0] - most[0], at[1] - most[1], at[2] - most[2]};
            const unsigned char is_near = three_size(off) < all->limits[k];
            changed += is_near != all->near[k], near += is_near;
            all->near[k] = is_near;
        }
        if (!near) return 0;
        if (!changed) break;
        middle_of(all, most);
    }
    return 1;
}

void ik_belt(const ik_treadmill_job *job, ptrdiff_t first, ptrdiff_t frames, double fps, double belt[3]) {
    const crowd all = crowd_of(job, first, frames);
    const double *start = job->body[first], *stop = job->body[first + frames - 1];
    const double rate = fps / (double)(frames > 1 ? frames - 1 : 1);
    const double travel[3] = {(stop[0] - start[0]) * rate, (stop[1] - start[1]) * rate, (stop[2] - start[2]) * rate};
    if (commonest(&all, belt)) {
        const double speed = three_size(belt), square = speed * speed,
                     along = three_dot(travel, belt) / larger(square, 1e-300);
        if (speed > fastest_of(job) && three_size(travel) < speed / 2 && along < SWINGS) return;
    }
    memset(belt, 0, sizeof(double[3]));
}

/* --- a slide ------------------------------------------------------------------------------------------------------ */

double ik_slide(const ik_treadmill_job *job) {
    const double fastest = fastest_of(job);
    double (*slow)[2][3] = (double (*)[2][3])job->work; /* velocities, and those of the body then */
    double *ratios = job->work + 6 * job->points * job->frames;
    ptrdiff_t count = 0;
    for (ptrdiff_t frame = 0; frame < job->frames; frame++) {
        if (!(three_size(job->body[frame]) > fastest)) continue;
        for (ptrdiff_t point = 0; point < job->points; point++) {
            const double *velocity = job->velocities[frame * job->points + point];
            if (!job->low[point * job->frames + frame] || !(three_size(velocity) < SLOW * job->limits[point])) continue;
            memcpy(slow[count][0], velocity, sizeof *slow[count]);
            memcpy(slow[count++][1], job->body[frame], sizeof *slow[count]);
        }
    }
    if (!count) return 0;
    for (ptrdiff_t k = 0; k < count; k++)
        ratios[k] = three_dot(slow[k][0], slow[k][1]) / three_dot(slow[k][1], slow[k][1]);
    const double share = ik_median(ratios, count);
    for (ptrdiff_t k = 0; k < count; k++) {
        const double *at = slow[k][0], *way = slow[k][1];
        const double off[3] = {at[0] - share * way[0], at[1] - share * way[1], at[2] - share * way[2]};
        ratios[k] = three_size(off) / three_size(way);
    }
    const double others = ik_median(ratios, count) / OTHERS;
    return fabs(share) >= larger(OFF, others) ? share : 0;
}
#endif
