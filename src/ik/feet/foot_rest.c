/* Rest pose of a rigid foot on the ground. The foot starts on the slope of the ground. It then sinks, tilting about its
 * points of support below the weight, until a point on either side supports it: first along its direction, then across.
 *
 *   slope    of the ground under heel and ball
 *   gives    how far the ground may rise into the foot: under the arch, and at the toe joint
 *   sunk     the slope of the lowest line over all points, measured below the weight */
#include "../ik.h"
#ifndef IK_NO_CLIPS
#include <float.h>
#include <math.h>
#include <string.h>

#include "../fpmode.h"

#define IK_BITS  64
#define IK_BYTES 0
#include "../lanes/real.h"

#include "constants.h"
#include "foot_rest.h"
#include "vec3d.h"

static const double SAME = 1e-9; /* heights that are so near to each other are the same */

enum { BESIDE = 4 }; /* slopes that are tried side by side */

/* The largest number of trial slopes, in whole blocks: one for each pair of points, the usual slope and the bounds. */
static int slopes_of(int count) { return (count * (count - 1) / 2 + 3 + BESIDE - 1) / BESIDE * BESIDE; }

static void away(const double *to, const double *from, double *way) {
    for (int axis = 0; axis < 3; axis++)
        way[axis] = to[axis] - from[axis];
}

/* The slope of a plane along each axis. */
static void slope_of(const double *normal, int up, double *slope) {
    const double upward = normal[up] > IK_STEEPEST ? normal[up] : IK_STEEPEST;
    for (int axis = 0; axis < 3; axis++)
        slope[axis] = axis == up ? 0.0 : -normal[axis] / upward;
}

/* --- from below --------------------------------------------------------------------------------------------------- */

/* Whether the ground rises or falls from heel to ball by more than its slopes explain. */
static int has_edge(const ik_rest_job *job) {
    const int heel = job->heel, ball = job->ball;
    if (!job->hit[heel] || !job->hit[ball]) return 1;
    double way[3], first[3], second[3];
    away(job->points[ball], job->points[heel], way);
    way[job->axis] = 0;
    slope_of(job->normals[heel], job->axis, first);
    slope_of(job->normals[ball], job->axis, second);
    const double a = three_dot(first, way), b = three_dot(second, way), more = IK_EDGE * job->scale;
    const double rises = job->ground[ball][job->axis] - job->ground[heel][job->axis];
    return !((a < b ? a : b) - more < rises && rises < (a > b ? a : b) + more);
}

/* Ground heights at the points relative to the place, minus the allowed rise: below the arch, and by the bend of the
 * toes. There is no allowance at heel and ball, on which a foot stands; the ball may be a little ahead of the toe
 * joint. */
static void rises_of(const ik_rest_job *job, double *rise) {
    const int arched = job->heel >= 0 && job->ball >= 0 && !has_edge(job);
    double toes[3] = {0};
    if (job->toe >= 0) {
        away(job->points[job->toe], job->points[job->joint], toes);
        toes[job->axis] = 0;
        const double length = three_size(toes), by = length > 0 ? length : 1;
        for (int axis = 0; axis < 3; axis++)
            toes[axis] = toes[axis] / by;
    }
    for (int k = 0; k < job->count; k++) {
        double gives = 0, beyond[3];
        const int part = k - job->between + 1;
        if (arched && part > 0 && part < job->parts) {
            const double share = part / (double)job->parts;
            gives = IK_EDGE * job->scale * 4 * share * (1 - share);
        }
        if (job->toe >= 0) {
            away(job->points[k], job->points[job->joint], beyond);
            const double far = three_dot(beyond, toes), bent = (far > 0 ? far : 0) * job->bends,
                         most = job->step * job->scale;
            gives = gives + (bent < most ? bent : most);
        }
        if (k == job->heel || k == job->ball) gives = 0;
        rise[k] = job->hit[k] ? job->ground[k][job->axis] - job->place[job->axis] - gives : -INFINITY;
    }
}

/* --- how it sinks ------------------------------------------------------------------------------------------------- */

/* A foot from the side: points (at, rise), of which those count that are finite. */
typedef struct {
    const double *at, *rise;
    int count;
    double usual, same;
} outline;

/* For several slopes: the height at 0 of the lowest line above all points. Slopes are processed in parallel. */
static void heights_at(const outline *foot, const double *slopes, double *heights) {
    double most[BESIDE];
    for (int side = 0; side < BESIDE; side++)
        most[side] = -INFINITY;
    for (int k = 0; k < foot->count; k++)
        for (int side = 0; side < BESIDE; side++) {
            const double height = foot->rise[k] - slopes[side] * foot->at[k];
            if (height > most[side]) most[side] = height;
        }
    for (int side = 0; side < BESIDE; side++)
        heights[side] = most[side];
}

/* Among the slopes that bring the foot lowest, the one nearest to the usual slope. `heights` is scratch memory of the
 * same count. */
static double lowest_of(const outline *foot, double *slopes, int count, double *heights) {
    double least = INFINITY, near = INFINITY, found = foot->usual;
    for (int k = count; k % BESIDE; k++)
        slopes[k] = foot->usual;
    for (int k = 0; k < count; k += BESIDE)
        heights_at(foot, slopes + k, heights + k);
    for (int k = 0; k < count; k++)
        if (heights[k] < least) least = heights[k];
    for (int k = 0; k < count; k++) {
        const double far = fabs(slopes[k] - foot->usual);
        if (heights[k] <= least + foot->same && far < near) near = far, found = slopes[k];
    }
    return found;
}

/* The slope of the line over all points that is lowest at 0: a point on either side supports it. If the slope is
 * outside `low` to `high`, the range of the ground's slopes, by more than `margin`, the foot is over an edge and stays
 * on the higher side. */
static double sunk(const outline *foot, double low, double high, double margin, double *slopes, double *heights) {
    int count = 0, kept = 0;
    for (int first = 0; first < foot->count; first++)
        for (int second = first + 1; second < foot->count; second++) {
            const double apart = foot->at[second] - foot->at[first];
            if (apart != 0) slopes[count++] = (foot->rise[second] - foot->rise[first]) / apart;
        }
    slopes[count] = foot->usual;
    const double found = lowest_of(foot, slopes, count + 1, heights);
    if (low - margin < found && found < high + margin) return found;
    for (int k = 0; k < count; k++)
        if (slopes[k] > low && slopes[k] < high) slopes[kept++] = slopes[k];
    slopes[kept] = foot->usual, slopes[kept + 1] = low, slopes[kept + 2] = high;
    return lowest_of(foot, slopes, kept + 3, heights);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

/* The mean over the points that a foot stands on: heel and ball if there is ground, otherwise the point over the
 * highest ground. */
static void mean_of(const ik_rest_job *job, const double (*rows)[3], const double *rise, double *mean) {
    const int heel = job->heel >= 0 && job->hit[job->heel], ball = job->ball >= 0 && job->hit[job->ball];
    int highest = 0;
    for (int k = 1; k < job->count; k++)
        if (rise[k] > rise[highest]) highest = k;
    const int one = heel ? job->heel : ball ? job->ball : highest;
    for (int axis = 0; axis < 3; axis++)
        mean[axis] = heel && ball ? (rows[job->heel][axis] + rows[job->ball][axis]) / 2 : rows[one][axis];
}

/* The range of the ground's slopes along a direction, of those no steeper than `most` or than the foot's own slope.
 * Returns the greatest steepness. */
static double range_of(const ik_rest_job *job, const double *own, const double *along, double most, double *low,
                       double *high) {
    double steepest = three_size(own);
    if (!(most > steepest)) most = steepest;
    *low = *high = three_dot(own, along);
    for (int k = 0; k < job->count; k++) {
        double slope[3];
        if (!job->hit[k]) continue;
        slope_of(job->normals[k], job->axis, slope);
        const double steep = three_size(slope), way = three_dot(slope, along);
        if (!(steep <= most)) continue;
        if (way < *low) *low = way;
        if (way > *high) *high = way;
        if (steep > steepest) steepest = steep;
    }
    return steepest;
}

/* The slope along a direction after the foot has sunk about `middle`. Above half of the greatest pitch that feet can
 * follow, the ground counts more and more as an edge, and the foot stays on its higher side. */
static double sunk_along(const ik_rest_job *job, const double *middle, const double *rise, const double *ground,
                         const double *slope, const double *along, double margin, double *memory) {
    double *at = memory, *over = at + job->count, *slopes = over + job->count, low, high, rest[3];
    outline foot = {at, over, 0, three_dot(slope, along), SAME * job->scale};
    for (int axis = 0; axis < 3; axis++)
        rest[axis] = slope[axis] - foot.usual * along[axis];
    for (int k = 0; k < job->count; k++) {
        double arm[3];
        away(job->points[k], middle, arm);
        at[foot.count] = three_dot(arm, along), over[foot.count] = rise[k] - three_dot(arm, rest);
        foot.count += isfinite(over[foot.count]) != 0;
    }
    const double steepest = range_of(job, ground, along, job->pitch, &low, &high);
    const double follows = sunk(&foot, low, high, margin, slopes, slopes + slopes_of(job->count));
    const double share = 2 * steepest / job->pitch - 1;
    if (!(share > 0)) return follows;
    range_of(job, ground, along, job->pitch / 2, &low, &high);
    const double stays = sunk(&foot, low, high, margin, slopes, slopes + slopes_of(job->count));
    return follows + (share < 1 ? share : 1) * (stays - follows);
}

/* The extent of the points along a direction. */
static double reach_along(const ik_rest_job *job, const double *middle, const double *way) {
    double least = INFINITY, most = -INFINITY;
    for (int k = 0; k < job->count; k++) {
        double arm[3];
        away(job->points[k], middle, arm);
        const double at = three_dot(arm, way);
        if (at < least) least = at;
        if (at > most) most = at;
    }
    return most - least;
}

static double within(double x, double most) { return x < -most ? -most : x > most ? most : x; }

/* The slope of the resting foot, within the limits of pitch and roll. */
static void slope_at_rest(const ik_rest_job *job, const double *rise, double *slope, double *memory) {
    double middle[3], normal[3], ground[3], up[3] = {0}, far;
    mean_of(job, job->points, rise, middle);
    mean_of(job, job->normals, rise, normal);
    slope_of(normal, job->axis, slope);
    up[job->axis] = 1;
    const double *way = job->ahead, edge = IK_EDGE * job->scale;
    const double aside[3] = {up[1] * way[2] - up[2] * way[1], up[2] * way[0] - up[0] * way[2],
                             up[0] * way[1] - up[1] * way[0]};
    const double *directions[2] = {way, aside};
    if (job->points_ahead) {
        far = reach_along(job, middle, way);
        for (int axis = 0; axis < 3; axis++)
            ground[axis] = slope[axis];
        for (int number = 0; number < 2; number++) {
            const double *along = directions[number], usual = three_dot(slope, along);
            const double tilt =
                sunk_along(job, middle, rise, ground, slope, along, edge / (far > edge ? far : edge), memory);
            for (int axis = 0; axis < 3; axis++)
                slope[axis] = slope[axis] + (tilt - usual) * along[axis];
        }
    }
    for (int axis = 0; axis < 3; axis++)
        slope[axis] = slope[axis] * job->align;
    if (!job->points_ahead) return;
    const double along = within(three_dot(slope, way), job->pitch), across = within(three_dot(slope, aside), job->roll);
    for (int axis = 0; axis < 3; axis++)
        slope[axis] = along * way[axis] + across * aside[axis];
}

size_t ik_rest_scratch(int count) { return (size_t)(3 * count + 2 * slopes_of(count)) * sizeof(double); }

ik_rested ik_rest(const ik_rest_job *job, void *scratch) {
    const ik_fpmode before = ik_fpmode_enter();
    double *rise = scratch, slope[3];
    ik_rested found = {.lift = -INFINITY};
    rises_of(job, rise);
    slope_at_rest(job, rise, slope, rise + job->count);
    for (int k = 0; k < job->count; k++) {
        double arm[3];
        away(job->points[k], job->place, arm);
        const double above = rise[k] - three_dot(arm, slope);
        if (above > found.lift) found.lift = above, found.point = k;
    }
    for (int axis = 0; axis < 3; axis++)
        found.normal[axis] = (axis == job->axis ? 1 : 0) - slope[axis];
    const double length = three_size(found.normal);
    for (int axis = 0; axis < 3; axis++)
        found.normal[axis] = found.normal[axis] / length;
    ik_fpmode_leave(before);
    return found;
}
#endif
