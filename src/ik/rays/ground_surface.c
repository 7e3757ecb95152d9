/* Points on the ground: rays from the top of each window down, and up from where these came upon something from behind
 * (ground_surface.h). */
#include "../ik.h"
#ifndef IK_NO_RAYS
#include "ground_surface.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../fpmode.h"

#define IK_BITS  64
#define IK_BYTES 0
#include "../lanes/real.h"

/* Bytes of scratch memory per point. */
enum { PER_POINT = 4 * sizeof(double) + 2 * sizeof(int32_t) + sizeof(char) };

size_t ik_surface_scratch(ptrdiff_t points) { return (size_t)points * PER_POINT; }

static double number_at(const ik_rows *rows, ptrdiff_t item, int column) {
    return *(const double *)((const char *)rows->data + item * rows->stride + column * ik_step(rows, sizeof(double)));
}

/* Rows of memory that holds some items alone, so that these keep their numbers; none before them is asked for. */
static ik_rows rows_from(const void *memory, ptrdiff_t first, ptrdiff_t stride, ptrdiff_t step) {
    const uintptr_t data = (uintptr_t)memory - (uintptr_t)(first * stride);
    return (ik_rows){.data = (void *)data, .stride = stride, .step = step};
}

/* Rays that began within a body, which is what they come out of upwards as well, find what faces up. */
static void leave_bodies(ik_cast_job *down, const double *up, char *chosen, const int32_t *out, ptrdiff_t first,
                         ptrdiff_t last) {
    const ptrdiff_t word = (ptrdiff_t)sizeof *out;
    ik_cast_job upwards = {.bodies = down->bodies, .count = down->count, .each = down->each, .origin = down->origin};
    upwards.direction = (ik_rows){.data = (void *)up, .step = (ptrdiff_t)sizeof *up};
    upwards.side = rows_from(out, first, word, 0);
    upwards.chosen = down->chosen = rows_from(chosen, first, 1, 0);
    ik_cast(&upwards, first, last);
    for (ptrdiff_t k = 0; k < last - first; k++)
        chosen[k] = chosen[k] && out[k] < 0;
    down->front = 1;
    ik_cast(down, first, last);
}

void ik_surface(const ik_surface_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    const ptrdiff_t count = last - first, number = (ptrdiff_t)sizeof(double), word = (ptrdiff_t)sizeof(int32_t);
    double *origins = scratch, *lengths = origins + 3 * count;
    int32_t *sides = (int32_t *)(lengths + count), *out = sides + count;
    char *behind = (char *)(out + count);
    double up[3] = {0}, way[3];
    const ik_fpmode before = ik_fpmode_enter();
    up[job->axis] = 1;
    for (int axis = 0; axis < 3; axis++)
        way[axis] = -up[axis];
    for (ptrdiff_t k = 0; k < count; k++) {
        const double above = number_at(&job->above, first + k, 0);
        for (int axis = 0; axis < 3; axis++)
            origins[3 * k + axis] = number_at(&job->point, first + k, axis);
        origins[3 * k + job->axis] += above;
        lengths[k] = above + number_at(&job->below, first + k, 0);
    }
    ik_cast_job down = {.bodies = job->bodies, .count = job->count, .each = job->each};
    down.origin = rows_from(origins, first, 3 * number, number);
    down.direction = (ik_rows){.data = way, .step = number};
    down.length = rows_from(lengths, first, number, 0);
    down.side = rows_from(sides, first, word, 0);
    down.point = job->found, down.normal = job->normal, down.body = job->body;
    ik_cast(&down, first, last);
    int any = 0;
    for (ptrdiff_t k = 0; k < count; k++)
        any |= behind[k] = sides[k] < 0;
    if (any) leave_bodies(&down, up, behind, out, first, last);
    for (ptrdiff_t k = first; k < last; k++)
        *((char *)job->hit.data + k * job->hit.stride) = sides[k - first] != 0;
    ik_fpmode_leave(before);
}

/* --- footholds ---------------------------------------------------------------------------------------------------- */

/* The rows of a block of doubles, three to a row. */
static ik_rows block_of(double (*data)[3]) {
    return (ik_rows){.data = data, .stride = 3 * (ptrdiff_t)sizeof(double), .step = (ptrdiff_t)sizeof(double)};
}

/* The mean of all points. */
static void middle_of(const ik_foothold_job *job, double middle[3]) {
    for (int axis = 0; axis < 3; axis++) {
        double sum = job->point[0][axis];
        for (ptrdiff_t k = 1; k < job->points; k++)
            sum += job->point[k][axis];
        middle[axis] = sum / (double)job->points;
    }
}

/* How many steps one takes; 0: too many. */
static ptrdiff_t steps_of(const ik_foothold_job *job) {
    double far = 0, to[3];
    middle_of(job, to);
    for (int axis = 0; axis < 3; axis++) {
        const double way = to[axis] - job->last[axis];
        if (axis != job->axis) far += way * way;
    }
    far = sqrt(far) / job->step;
    return far < (double)(PTRDIFF_MAX / 1024) ? 1 + (ptrdiff_t)far : 0;
}

size_t ik_foothold_scratch(const ik_foothold_job *job) {
    const ptrdiff_t steps = steps_of(job), most = steps > job->points ? steps : job->points;
    return steps ? (size_t)most * (12 * sizeof(double)) + ik_surface_scratch(most) : 0;
}

/* Ground within the window about points that are as high as one is. */
static ik_surface_job window_about(const ik_foothold_job *job, double (*at)[3]) {
    ik_surface_job under = {.bodies = job->bodies, .count = job->count, .each = 1, .axis = job->axis};
    under.point = block_of(at);
    under.above.data = (void *)&job->window[0], under.below.data = (void *)&job->window[1];
    return under;
}

/* How high the ground is where one walks to: all steps at once, from as high as it was before each of them the last
 * time, until it was so. */
static double walked(const ik_foothold_job *job, void *scratch) {
    const ptrdiff_t steps = steps_of(job);
    double (*at)[3] = scratch, (*found)[3] = at + steps, to[3], height, off;
    char *hit = (char *)(found + steps), *rest = (char *)(found + 2 * steps);
    middle_of(job, to);
    for (ptrdiff_t k = 0; k < steps; k++) {
        const double share = (double)(k + 1) / (double)steps;
        for (int axis = 0; axis < 3; axis++)
            at[k][axis] = job->last[axis] + (to[axis] - job->last[axis]) * share;
        at[k][job->axis] = job->last[job->axis];
    }
    ik_surface_job under = window_about(job, at);
    under.found = block_of(found), under.hit = (ik_rows){.data = hit, .stride = 1};
    do {
        ik_surface(&under, 0, steps, rest);
        height = job->last[job->axis], off = 0;
        for (ptrdiff_t k = 0; k < steps; k++) {
            const double moved = fabs(height - at[k][job->axis]);
            off = moved > off ? moved : off;
            at[k][job->axis] = height;
            if (hit[k]) height = found[k][job->axis];
        }
    } while (off > job->same);
    return height;
}

/* Lifts points that would be in the side of a pit to its rim; returns whether there are any. */
static int lift_to_rims(const ik_foothold_job *job, double (*near)[3], void *scratch) {
    const ptrdiff_t number = (ptrdiff_t)sizeof(double);
    double (*origins)[3] = scratch, (*above)[3] = origins + job->points, up[3] = {0};
    int32_t *sides = (int32_t *)(above + job->points);
    int lifted = 0;
    up[job->axis] = 1;
    memcpy(origins, near, (size_t)job->points * sizeof *origins);
    for (ptrdiff_t k = 0; k < job->points; k++)
        origins[k][job->axis] += job->window[0];
    ik_cast_job rays = {.bodies = job->bodies, .count = job->count, .each = 1};
    rays.origin = block_of(origins), rays.point = block_of(above);
    rays.direction = (ik_rows){.data = up, .step = number}, rays.length.data = (void *)&job->window[1];
    rays.side = (ik_rows){.data = sides, .stride = (ptrdiff_t)sizeof *sides};
    ik_cast(&rays, 0, job->points);
    for (ptrdiff_t k = 0; k < job->points; k++) {
        if (job->hit[k] || sides[k] >= 0) continue;
        near[k][job->axis] = above[k][job->axis], lifted = 1;
    }
    return lifted;
}

/* The ground about a height, and the highest of it. */
static double ground_about(const ik_foothold_job *job, double height, void *scratch) {
    double (*near)[3] = scratch, most = -INFINITY;
    void *rest = near + job->points;
    int all = 1;
    memcpy(near, job->point, (size_t)job->points * sizeof *near);
    for (ptrdiff_t k = 0; k < job->points; k++)
        near[k][job->axis] = height;
    ik_surface_job under = window_about(job, near);
    under.hit = (ik_rows){.data = job->hit, .stride = 1}, under.found = block_of(job->found);
    under.normal = block_of(job->normal);
    under.body = (ik_rows){.data = job->body, .stride = (ptrdiff_t)sizeof *job->body};
    ik_surface(&under, 0, job->points, rest);
    for (ptrdiff_t k = 0; k < job->points; k++)
        all &= job->hit[k];
    if (!all && lift_to_rims(job, near, rest)) ik_surface(&under, 0, job->points, rest);
    for (ptrdiff_t k = 0; k < job->points; k++)
        if (job->hit[k] && job->found[k][job->axis] > most) most = job->found[k][job->axis];
    return most;
}

void ik_foothold(const ik_foothold_job *job, void *scratch) {
    const ik_fpmode before = ik_fpmode_enter();
    const double start = walked(job, scratch), high = job->last[job->axis];
    const double most = ground_about(job, start, scratch);
    if (job->jumps && !(ground_about(job, high, scratch) > most)) ground_about(job, start, scratch);
    ik_fpmode_leave(before);
}
#endif
