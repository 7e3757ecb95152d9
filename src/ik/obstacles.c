/* What feet in swing have to get over, and what toes bend for (obstacles.h).
 *
 *   points    of the sole, in every frame one after the other, where the foot puts them
 *   above     how high each is in the clip above where it stands
 *   heights   of the ground under each; NaN where there is none */
#include "ik.h"
#if !defined(IK_NO_CLIPS) && !defined(IK_NO_RAYS)
#include "obstacles.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "surface.h"
#include "three.h"

typedef double vector[3];

/* Some frames, and those beside them. */
typedef struct {
    const ik_lack_job *job;
    const ptrdiff_t *frames;
    ptrdiff_t count, each;
    vector *points, *off, *ways, *met, *starts; /* (count * each): `off` is how far points were moved; then memory */
    double *above, *heights, *more;
    int32_t *sides;
    char *hit;
    ik_ray_body *bodies;
    void *rest;
} part;

static const double TOUCHES = 1e-6; /* of `within`: what is nearer is touched */

enum {
    AT_ONCE = 62, /* frames, as many as stay in the cache with those beside them */
    PER_POINT = 5 * sizeof(vector) + 3 * sizeof(double) + sizeof(int32_t) + sizeof(char) /* beside ik_surface_scratch */
};

/* Points that there is memory for: in eights, so that all of it is aligned. */
static ptrdiff_t points_of(const ik_lack_job *job) { return ((AT_ONCE + 2) * job->foot->points + 7) / 8 * 8; }

size_t ik_lack_scratch(const ik_lack_job *job) {
    const ptrdiff_t points = points_of(job);
    return (size_t)job->body_count * sizeof(ik_ray_body) + ik_surface_scratch(points) + (size_t)points * PER_POINT;
}

static part part_of(const ik_lack_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    const ptrdiff_t points = points_of(job), from = first > 0 ? first - 1 : 0;
    part p = {job, job->frames + from, (last < job->count ? last + 1 : last) - from, job->foot->points};
    p.bodies = scratch, p.points = (vector *)(p.bodies + job->body_count), p.off = p.points + points;
    p.ways = p.off + points, p.met = p.ways + points, p.starts = p.met + points,
    p.above = (double *)(p.starts + points);
    p.heights = p.above + points, p.more = p.heights + points, p.rest = p.more + points;
    p.sides = (int32_t *)((char *)p.rest + ik_surface_scratch(points)), p.hit = (char *)(p.sides + points);
    return p;
}

static ik_rows block_of(const void *data, ptrdiff_t columns) {
    const ptrdiff_t number = (ptrdiff_t)sizeof(double);
    return (ik_rows){.data = (void *)data, .stride = columns * number, .step = number};
}

static double number_at(const ik_rows *rows, ptrdiff_t frame, int column) {
    return *(const double *)((const char *)rows->data + frame * rows->stride + column * rows->step);
}

/* The bodies as they are from a frame on. */
static void place_bodies(const part *p, const ptrdiff_t *frame) {
    const ptrdiff_t from = frame - p->job->frames;
    for (int k = 0; k < p->job->body_count; k++) {
        ik_rows *rows[] = {&p->bodies[k].translation, &p->bodies[k].to_local};
        p->bodies[k] = p->job->bodies[k];
        for (int at = 0; at < 2; at++)
            if (rows[at]->data) rows[at]->data = (char *)rows[at]->data + from * rows[at]->stride;
    }
}

/* Moves points horizontally away from the reference of the foot, or to it where `by` is negative: some, or all. */
static void move_away(const part *p, const unsigned char *which, double by) {
    const ik_foot *foot = p->job->foot;
    const double least = by < 0 ? -by : by;
    for (ptrdiff_t k = 0; k < p->count; k++)
        for (ptrdiff_t n = 0; n < p->each; n++) {
            double *at = p->points[k * p->each + n], arm[3], far;
            if (which && !which[n]) continue;
            for (int side = 0; side < 3; side++) {
                const double origin = number_at(&foot->reference, p->frames[k], side);
                arm[side] = side == foot->axis ? 0 : at[side] - (origin + p->job->stood->shift[p->frames[k]][side]);
            }
            far = three_size(arm);
            for (int side = 0; side < 3; side++)
                at[side] += arm[side] * (by / (far < least ? least : far));
        }
}

/* Moves the points that are kept off steps. */
static void move_ends(const part *p) {
    const ptrdiff_t count = p->count * p->each;
    memcpy(p->off, p->points, (size_t)count * sizeof *p->off);
    move_away(p, p->job->ends, p->job->margin);
    for (ptrdiff_t k = 0; k < count; k++)
        for (int axis = 0; axis < 3; axis++)
            p->off[k][axis] = p->points[k][axis] - p->off[k][axis];
}

/* How high the ground is under some points, and where. */
static void find_ground(const part *p, vector *points, ptrdiff_t count, double below, vector *found, double *heights) {
    const ik_lack_job *job = p->job;
    ik_surface_job under = {.bodies = p->bodies, .count = job->body_count, .each = p->each, .axis = job->foot->axis};
    under.point = block_of(points, 3), under.found = block_of(found, 3);
    under.above.data = (void *)&job->above, under.below.data = &below;
    under.hit = (ik_rows){.data = p->hit, .stride = 1};
    ik_surface(&under, 0, count, p->rest);
    for (ptrdiff_t k = 0; k < count; k++)
        heights[k] = found[k][job->foot->axis];
}

/* Of two heights the higher one that is known. */
static double higher(double a, double b) { return isnan(b) || a >= b ? a : b; }

/* --- a clip that was made here ------------------------------------------------------------------------------------ */

/* Ground that points touch the edge of alone is not under them. */
static void leave_edges(const part *p) {
    const ptrdiff_t count = p->count * p->each;
    memcpy(p->ways, p->points, (size_t)count * sizeof *p->ways);
    move_away(p, NULL, -p->job->grazes);
    find_ground(p, p->points, count, p->job->below, p->met, p->more);
    memcpy(p->points, p->ways, (size_t)count * sizeof *p->ways);
    for (ptrdiff_t k = 0; k < count; k++)
        p->heights[k] = isnan(p->more[k]) || p->heights[k] <= p->more[k] ? p->heights[k] : p->more[k];
}

/* --- one that was not --------------------------------------------------------------------------------------------- */

/* What points would go through from each frame to the next: it may be thinner than they go in one. What they touch they
 * do not go through. */
static void cast_ways(const part *p, ptrdiff_t count) {
    for (ptrdiff_t k = 0; k < count; k++) {
        for (int axis = 0; axis < 3; axis++)
            p->ways[k][axis] = p->points[k + p->each][axis] - p->points[k][axis];
        memcpy(p->starts[k], p->points[k], sizeof *p->starts);
        p->starts[k][p->job->foot->axis] += TOUCHES * p->job->within;
        p->more[k] = three_size(p->ways[k]);
    }
    ik_cast_job rays = {.bodies = p->bodies, .count = p->job->body_count, .each = p->each};
    rays.origin = block_of(p->starts, 3), rays.direction = block_of(p->ways, 3), rays.length = block_of(p->more, 1);
    rays.point = block_of(p->met, 3);
    rays.side = (ik_rows){.data = p->sides, .stride = (ptrdiff_t)sizeof *p->sides};
    ik_cast(&rays, 0, count);
}

/* Whether a way from a frame to the next meets something that the point, were it not moved, meets after that. */
static int is_later(const part *p, ptrdiff_t k) {
    vector to;
    if (!p->sides[k]) return 0;
    for (int axis = 0; axis < 3; axis++)
        to[axis] = p->met[k][axis] - p->points[k][axis] + p->off[k][axis];
    return three_dot(to, p->ways[k]) > p->more[k] * p->more[k];
}

/* What is higher by a riser in a frame beside is there already: more and more, all of it from two of them on. Before a
 * step that a point does not get to until the next frame it is not. */
static void see_steps(const part *p) {
    const ptrdiff_t each = p->each, count = p->count * each;
    double *found = (double *)p->starts;
    for (ptrdiff_t k = 0; k < count; k++) {
        const double *at = p->heights + k, own = isfinite(*at) ? *at : -INFINITY;
        double most = own;
        if (k >= each && isfinite(at[-each]) && at[-each] > most) most = at[-each];
        if (k + each < count && !is_later(p, k) && isfinite(at[each]) && at[each] > most) most = at[each];
        const double share = (most - own) / p->job->riser - 1;
        found[k] = !(share > 0) ? *at : share < 1 ? own + share * (most - own) : most;
    }
    memcpy(p->heights, found, (size_t)count * sizeof *p->heights);
}

/* How high something is behind the place where a way meets it. */
static double top_of(const part *p, const double *place, const double *way, double far) {
    const double on = p->job->within / (far > 1e-12 ? far : 1e-12);
    vector inside, found;
    double top;
    for (int axis = 0; axis < 3; axis++)
        inside[axis] = place[axis] + way[axis] * on;
    find_ground(p, &inside, 1, p->job->within, &found, &top);
    return top;
}

/* What a point goes through counts in both frames, or in the one after, if it would not get there before. */
static void see_between(const part *p) {
    const ptrdiff_t count = (p->count - 1) * p->each;
    for (ptrdiff_t k = count - 1; k >= 0; k--) {
        if (!p->sides[k]) continue;
        place_bodies(p, p->frames + k / p->each);
        const double top = top_of(p, p->met[k], p->ways[k], p->more[k]);
        if (!is_later(p, k)) p->heights[k] = higher(p->heights[k], top);
        p->heights[k + p->each] = higher(p->heights[k + p->each], top);
    }
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

/* By the point of a frame that is too low the most. */
static double lack_at(const part *p, ptrdiff_t k) {
    const ik_lack_job *job = p->job;
    double most = NAN;
    for (ptrdiff_t n = 0; n < p->each; n++) {
        const ptrdiff_t at = k * p->each + n;
        const double beyond = -2 * job->dips - p->above[at], back = beyond < 0 ? beyond : 0;
        const double high = p->above[at] < back ? back : p->above[at];
        const double least = high < job->clearance ? high : job->clearance;
        double lack = p->heights[at] + job->foot->thick[n] + least - p->points[at][job->foot->axis];
        if (n == job->toe) lack -= job->bends;
        if (lack > most || isnan(most)) most = lack;
    }
    return most;
}

static void find_lacks(const ik_lack_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    const part p = part_of(job, first, last, scratch);
    place_bodies(&p, p.frames);
    ik_soles(job->foot, job->stood, p.frames, p.count, p.points, p.above);
    if (!job->made) move_ends(&p);
    find_ground(&p, p.points, p.count * p.each, job->below, p.met, p.heights);
    if (job->made) {
        leave_edges(&p);
    } else {
        cast_ways(&p, (p.count - 1) * p.each);
        see_steps(&p);
        see_between(&p);
    }
    for (ptrdiff_t k = first; k < last; k++)
        job->found[k] = lack_at(&p, job->frames + k - p.frames);
}

void ik_lack(const ik_lack_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    for (; first < last; first += AT_ONCE)
        find_lacks(job, first, first + AT_ONCE < last ? first + AT_ONCE : last, scratch);
}

/* --- toes --------------------------------------------------------------------------------------------------------- */

int ik_toe_lack(const ik_toe_job *job, double *lack) {
    int any = 0;
    for (ptrdiff_t k = 0; k < job->frames; k++) {
        const double in_floor = number_at(&job->there, k, job->axis) - number_at(&job->stood, k, 0);
        const double own = in_floor < 0 && !job->lies[k] ? in_floor : 0;
        const double lacks = number_at(&job->ground, k, 0) + job->thick + own - number_at(&job->tip, k, job->axis);
        lack[k] = lacks > 0 && lacks > job->least ? lacks : 0;
        any |= lack[k] > 0;
    }
    return any;
}

/* How far up the tip of an arm comes that bends as far as it may; to the vertical at most. */
static double bent(const double arm[3], int axis, double most) {
    double level[3] = {arm[0], arm[1], arm[2]};
    level[axis] = 0;
    const double far = three_size(level),
                 left = far - arm[axis] * most; /* in proportion to the cosine of where it is */
    return left > 0 ? (arm[axis] * arm[axis] + far * far) * most / left : INFINITY;
}

void ik_raise(double (*arms)[3], const double *raised, ptrdiff_t frames, int axis, double most) {
    for (ptrdiff_t k = 0; k < frames; k++) {
        const double up = bent(arms[k], axis, most);
        arms[k][axis] += raised[k] < up ? raised[k] : up;
    }
}

/* --- swings ------------------------------------------------------------------------------------------------------- */

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
#endif
