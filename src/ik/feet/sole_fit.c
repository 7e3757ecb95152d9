/* Soles from poses in which feet stand flat (sole_fit.h). */
#include "../ik.h"
#ifndef IK_NO_CLIPS
#include "sole_fit.h"

#include <math.h>
#include <string.h>

#include "vec3d.h"

/* --- when -----------------------------------------------------------------------------------------------------------
 */

typedef struct {
    double moves, height;
    ptrdiff_t frame;
} seen;

/* -1, 0 or 1; NaN is the most. */
static int compared(double a, double b) { return a < b ? -1 : b < a ? 1 : (a != a) - (b != b); }

static int before(const seen *a, const seen *b) {
    const int moves = compared(a->moves, b->moves), height = moves ? moves : compared(a->height, b->height);
    return height ? height < 0 : a->frame < b->frame;
}

static void exchange(seen *all, ptrdiff_t a, ptrdiff_t b) {
    const seen one = all[a];
    all[a] = all[b], all[b] = one;
}

/* Moves the `wanted` smallest to the front. No two are equal. */
static void put_first(seen *all, ptrdiff_t count, ptrdiff_t wanted) {
    ptrdiff_t first = 0, last = count - 1;
    while (first < last) {
        const seen pivot = all[first + (last - first) / 2];
        ptrdiff_t low = first, high = last;
        while (low <= high) {
            while (before(&all[low], &pivot))
                low++;
            while (before(&pivot, &all[high]))
                high--;
            if (low <= high) exchange(all, low++, high--);
        }
        if (wanted <= high)
            last = high;
        else if (wanted >= low)
            first = low;
        else
            break;
    }
}

/* The larger; NaN where one is. */
static double larger(double a, double b) { return a >= b || a != a ? a : b; }

static double moves_of(const ik_flat_frames_job *job, ptrdiff_t frame) {
    const double far = larger(job->steps[frame], job->steps[frame + 1]);
    return floor(job->floats ? (double)((float)far / (float)job->least) : far / job->least);
}

size_t ik_flat_frames_work(ptrdiff_t frames) { return (size_t)frames * (sizeof(seen) + 1) + 1; }

ptrdiff_t ik_flat_frames(const ik_flat_frames_job *job) {
    const ptrdiff_t half = (job->frames + 1) / 2, wanted = job->wanted < half ? job->wanted : half;
    seen *all = job->work;
    char *chosen = (char *)(all + job->frames);
    for (ptrdiff_t k = 0; k < job->frames; k++)
        all[k] = (seen){0, job->heights[k], k};
    put_first(all, job->frames, half);
    for (ptrdiff_t k = 0; k < half; k++)
        all[k].moves = moves_of(job, all[k].frame);
    put_first(all, half, wanted);
    memset(chosen, 0, (size_t)job->frames);
    for (ptrdiff_t k = 0; k < wanted; k++)
        chosen[all[k].frame] = 1;
    ptrdiff_t found = 0;
    for (ptrdiff_t k = 0; k < job->frames; k++)
        if (chosen[k]) job->chosen[found++] = k;
    return found;
}

/* --- where ----------------------------------------------------------------------------------------------------------
 */

/* Removes the component along `up`. */
static void level(double way[3], const double up[3]) {
    const double rise = three_dot(way, up);
    for (int axis = 0; axis < 3; axis++)
        way[axis] = way[axis] - up[axis] * rise;
}

static const double *joint_of(const ik_flat_foot *foot, ptrdiff_t frame, int joint) {
    return foot->at[frame * foot->joints + joint];
}

/* From the ankle to another joint. */
static void way_to(const ik_flat_foot *foot, ptrdiff_t frame, int joint, double way[3]) {
    const double *from = joint_of(foot, frame, 0), *to = joint_of(foot, frame, joint);
    for (int axis = 0; axis < 3; axis++)
        way[axis] = foot->floats ? (double)(float)(to[axis] - from[axis]) : to[axis] - from[axis];
}

static double lowest(const ik_flat_foot *foot, ptrdiff_t frame) {
    double least = three_dot(joint_of(foot, frame, 0), foot->up[frame]);
    for (int joint = 1; joint < foot->joints; joint++) {
        const double height = three_dot(joint_of(foot, frame, joint), foot->up[frame]);
        least = least <= height || least != least ? least : height;
    }
    return least;
}

void ik_stand_flat(ik_flat_foot *foot) {
    foot->point = 1;
    for (ptrdiff_t k = 0; k < foot->frames; k++) {
        double *ahead = foot->ahead[k];
        foot->height[k] = lowest(foot, k) - foot->depth;
        way_to(foot, k, foot->joints - 1, ahead);
        level(ahead, foot->up[k]);
        const double length = three_size(ahead);
        foot->point &= length <= foot->tiny;
        for (int axis = 0; axis < 3; axis++)
            ahead[axis] = ahead[axis] / (length > 0 ? length : 1);
        foot->length[k] = foot->toe ? length : length / foot->to_ball;
    }
    for (ptrdiff_t k = 0; k < foot->frames; k++) {
        double *a = foot->ahead[k], *inner = foot->inner[k];
        const double *up = foot->up[k];
        for (int axis = 0; foot->point && axis < 3; axis++)
            a[axis] = foot->front[axis];
        inner[0] = (a[1] * up[2] - a[2] * up[1]) * foot->side;
        inner[1] = (a[2] * up[0] - a[0] * up[2]) * foot->side;
        inner[2] = (a[0] * up[1] - a[1] * up[0]) * foot->side;
    }
}

/* The point on the ground below another one. */
static void put_down(const ik_flat_foot *foot, ptrdiff_t frame, const double from[3], double place[3]) {
    const double *up = foot->up[frame], rise = foot->height[frame] - three_dot(from, up);
    for (int axis = 0; axis < 3; axis++)
        place[axis] = from[axis] + up[axis] * rise;
}

/* The ankle is high above the ball, and not far behind it. */
static int on_toes(const ik_flat_foot *foot, ptrdiff_t frame, const double ball[3], double steep) {
    const double *ankle = joint_of(foot, frame, 0), *up = foot->up[frame];
    double over[3];
    for (int axis = 0; axis < 3; axis++)
        over[axis] = ball[axis] - ankle[axis];
    if (foot->ball) way_to(foot, frame, foot->ball, over);
    level(over, up);
    return three_dot(ankle, up) - foot->height[frame] > steep * three_size(over);
}

/* Positions of the points, without their heights. */
static void points_of(const ik_flat_foot *foot, const ik_proportions *of, ptrdiff_t frame, double at[IK_SOLES][3]) {
    const double *ankle = joint_of(foot, frame, 0), *ahead = foot->ahead[frame], length = foot->length[frame];
    const double *ball = joint_of(foot, frame, foot->ball), *toe = joint_of(foot, frame, foot->toe);
    for (int axis = 0; axis < 3; axis++) {
        const double wide = of->wide * length * foot->inner[frame][axis];
        at[IK_AT_HEEL][axis] = ankle[axis] - of->heel * length * ahead[axis];
        at[IK_AT_BALL][axis] = foot->ball ? ball[axis] : ankle[axis] + foot->to_ball * length * ahead[axis];
        at[IK_AT_TOE][axis] = foot->toe ? toe[axis] : ankle[axis] + length * ahead[axis];
        at[IK_AT_INNER][axis] = at[IK_AT_BALL][axis] + wide;
        at[IK_AT_OUTER][axis] = at[IK_AT_BALL][axis] - wide;
    }
}

void ik_flat_soles(const ik_flat_foot *foot, const ik_proportions *of, ptrdiff_t frame, double places[IK_SOLES][3]) {
    double at[IK_SOLES][3];
    for (int sole = 0; sole < IK_SOLES; sole++)
        for (int axis = 0; axis < 3; axis++)
            places[sole][axis] = NAN;
    if (foot->point) {
        put_down(foot, frame, joint_of(foot, frame, 0), places[IK_AT_BALL]);
        return;
    }
    points_of(foot, of, frame, at);
    for (int sole = on_toes(foot, frame, at[IK_AT_BALL], of->steep) ? IK_AT_HEEL + 1 : IK_AT_HEEL; sole < IK_SOLES;
         sole++)
        put_down(foot, frame, at[sole], places[sole]);
}

void ik_within(const double axes[3][3], const double way[3], double along[3]) {
    double across[3][3];
    for (int side = 0; side < 3; side++)
        three_cross(axes[(side + 1) % 3], axes[(side + 2) % 3], across[side]);
    const double volume = three_dot(axes[0], across[0]);
    for (int side = 0; side < 3; side++)
        along[side] = three_dot(way, across[side]) / volume;
}
#endif
