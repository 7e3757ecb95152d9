/* The ground under a foot, and the plan of a swing over it. */
#ifndef IK_PLACER_GROUND_H
#define IK_PLACER_GROUND_H

#include "placer_contact.h"

/* Height along up, and gradient: rise per length, as a horizontal vector. */
typedef struct {
    int known;
    double height;
    vec3 gradient;
} support;

typedef struct {
    int known;
    vec3 at, gradient;
    double height;
} ground_hit;

/* The sines and tangents of the settings, once a call. */
typedef struct {
    double least_upward, pitch, roll;
} slopes;

static slopes slopes_of(const ik_foot_settings *settings) {
    const cosine_sine steep = real_sincos(settings->max_slope), pitch = real_sincos(settings->max_pitch),
                      roll = real_sincos(settings->max_roll);
    return (slopes){steep.cosine, pitch.sine / pitch.cosine, roll.sine / roll.cosine};
}

/* A hit that a foot may stand on: within max_step of a height, and not too steep. Not a number is neither. */
static inline ground_hit hit_of(const ik_feet_job *job, const character *c, const slopes *most, ptrdiff_t item, int k,
                                int ray, double about) {
    const ptrdiff_t row = (item * c->legs + k) * IK_FOOT_RAYS + ray;
    ground_hit hit = {0};
    if (!*((const char *)job->ray_chosen.data + row * job->ray_chosen.stride)) return hit;
    const vec3 normal = vec3_of_row(&job->hit_normal, row, 0);
    const double upward = vec3_dot(normal, c->up), reach = c->settings->max_step * c->leg[k].scale;
    hit.at = vec3_of_row(&job->hit_point, row, 0);
    hit.height = vec3_dot(hit.at, c->up);
    hit.known = fabs(upward) >= most->least_upward && fabs(upward) <= LARGEST_INPUT &&
                fabs(hit.height - about) <= reach * (1 + 1e-9) && upward != 0;
    if (hit.known) hit.gradient = vec3_scale(-1 / upward, vec3_flat(normal, c->up));
    return hit;
}

/* Height of the plane of a hit at another place. */
static double height_at(const ground_hit *hit, vec3 place) {
    return hit->height + vec3_dot(hit->gradient, vec3_sub(place, hit->at));
}

/* How a sole rests on the ground under toe and heel: its height at the toe, and its gradient. A difference of heights
 * beyond max_pitch is an edge: the sole then lies as flat as the ground under the toe, on the higher of the two. */
static support rest_on(const character *c, const slopes *most, const ground_hit *under_toe,
                       const ground_hit *under_heel, vec3 toe, vec3 heel) {
    if (!under_toe->known && !under_heel->known) return (support){0};
    const int both = under_toe->known && under_heel->known;
    const ground_hit *main = under_toe->known ? under_toe : under_heel;
    const vec3 flat = vec3_flat(vec3_sub(toe, heel), c->up);
    const double length = vec3_length(flat);
    const vec3 forward = length > 1e-9 ? vec3_scale(1 / length, flat) : (vec3){0, 0, 0};
    const double at_toe = height_at(under_toe, toe), at_heel = height_at(under_heel, heel);
    vec3 gradient = main->gradient;
    if (both) gradient = vec3_scale(0.5, vec3_add(under_toe->gradient, under_heel->gradient));
    double along = vec3_dot(main->gradient, forward);
    vec3 across = vec3_along(gradient, forward, -vec3_dot(gradient, forward));
    if (both && length > 1e-9 && fabs(at_toe - at_heel) <= most->pitch * length) along = (at_toe - at_heel) / length;
    along = clamped(along, -most->pitch, most->pitch);
    const double limit = length > 1e-9 ? most->roll : most->pitch, side = vec3_length(across);
    if (side > limit) across = vec3_scale(limit / side, across);
    support found = {1, 0, vec3_scale(c->settings->align, vec3_along(across, forward, along))};
    const double from_heel = at_heel + c->settings->align * along * length;
    found.height = both ? real_max(at_toe, from_heel) : under_toe->known ? at_toe : from_heel;
    return found;
}

/* --- the plan of a swing ------------------------------------------------------------------------------------------ */

enum { PATH_NODES = IK_PATH_RAYS + 3 };
static const double ROUNDING = 1e-9;   /* m */
static const double LANDING = 0.15;    /* m */
static const double FIRST_NODE = 0.15; /* of a cell: how soon a foot may have to be over an edge at its toe */

/* Heights along the path of the toe; the upper convex hull of what was added. */
typedef struct {
    double x[PATH_NODES], height[PATH_NODES];
    int count;
} hull;

/* Adds a point to the right of those that are there, and takes out what is not above the hull by more than rounding. */
static void hull_add(hull *h, double x, double height) {
    while (h->count > 1) {
        const int a = h->count - 2, b = h->count - 1;
        const double chord = h->height[a] + (height - h->height[a]) * ((h->x[b] - h->x[a]) / (x - h->x[a]));
        if (h->height[b] - chord > ROUNDING) break;
        h->count--;
    }
    h->x[h->count] = x, h->height[h->count++] = height;
}

static double hull_rise(const hull *h, int k) { return (h->height[k + 1] - h->height[k]) / (h->x[k + 1] - h->x[k]); }

/* Slope at a corner: the weighted harmonic mean of those of its two sides, 0 at a summit. The cubic is monotone
 * between two corners, and on or above the hull. */
static double hull_slope(const hull *h, int k) {
    if (k == 0) return hull_rise(h, 0);
    if (k == h->count - 1) return hull_rise(h, k - 1);
    const double before = hull_rise(h, k - 1), after = hull_rise(h, k);
    if (!(before * after > 0)) return 0;
    const double left = h->x[k] - h->x[k - 1], right = h->x[k + 1] - h->x[k];
    return 3 * (left + right) / ((2 * right + left) / before + (right + 2 * left) / after);
}

/* The cubic through the corners of the hull, which is smooth and nowhere below it. */
static double hull_at(const hull *h, double x) {
    int k = 0;
    while (k < h->count - 2 && x > h->x[k + 1])
        k++;
    const double width = h->x[k + 1] - h->x[k], u = clamped((x - h->x[k]) / width, 0, 1), v = 1 - u;
    return h->height[k] * v * v * (1 + 2 * u) + h->height[k + 1] * u * u * (1 + 2 * v) +
           width * u * v * (hull_slope(h, k) * v - hull_slope(h, k + 1) * u);
}

typedef struct {
    swing_path path;
    support start, end;
    hull over;
    int is_short;
    double whole; /* s, of a short swing */
} swing_plan;

/* Ground on the path: `share` is 0 on the line between both footholds or below it, 1 where it is well above that. */
typedef struct {
    double height, share;
} obstacle;

static double line_at(const swing_plan *plan, double x) {
    return plan->start.height + (plan->end.height - plan->start.height) * (x / plan->path.length);
}

static obstacle obstacle_of(const swing_plan *plan, double clearance, double x, double ground) {
    return (obstacle){ground, clamped(2 * (ground - line_at(plan, x)) / clearance, 0, 1)};
}

/* Adds a corner above some obstacles, by the one that rises most above the line. The clearance fades over the last part
 * of the swing, LANDING long, in which the foot has to come down. */
static void add_obstacles(swing_plan *plan, double clearance, double scale, double x, const obstacle *all, int count) {
    const double line = line_at(plan, x), left = (plan->path.length - x) / (LANDING * scale);
    const double above = clearance * real_min(left, 1) - line;
    double most = 0;
    for (int k = 0; k < count; k++)
        most = real_max(most, all[k].share * (all[k].height + above));
    if (most > 0) hull_add(&plan->over, x, line + most);
}

/* The hull over the obstacles below the rays of the path. Each counts from one cell before its ray to one cell and the
 * length of the foot behind it, because edges lie anywhere between two rays. */
static void plan_over(swing_plan *plan, const obstacle *all, double foot_length, double clearance, double scale) {
    const double cell = plan->path.length / (IK_PATH_RAYS + 1);
    const int behind = (int)real_min(fabs(foot_length) / cell + 1.999, IK_PATH_RAYS);
    const int from = foot_length < 0 ? 1 : behind, to = foot_length < 0 ? behind : 1;
    double highest = 0;
    for (int ray = 0; ray < IK_PATH_RAYS; ray++)
        highest = real_max(highest, all[ray].share);
    hull_add(&plan->over, 0, plan->start.height);
    add_obstacles(plan, clearance, scale, FIRST_NODE * cell, all, 1);
    for (int node = 0; node < IK_PATH_RAYS && highest > 0; node++) {
        const int first = node > from ? node - from : 0, last = node + to < IK_PATH_RAYS ? node + to : IK_PATH_RAYS - 1;
        add_obstacles(plan, clearance, scale, (node + 1) * cell, all + first, last - first + 1);
    }
    hull_add(&plan->over, plan->path.length, plan->end.height);
}

/* How far the swing is, 0 to its length, for a place of the toe. */
static double progress_of(const swing_plan *plan, vec3 toe) {
    return clamped(vec3_dot(vec3_sub(toe, plan->path.from), plan->path.way), 0, plan->path.length);
}

/* The planned support, `elapsed` seconds after the start. Also the share of the swing, 0 to 1. */
static support plan_at(const swing_plan *plan, vec3 toe, double elapsed, double *share) {
    const double x = progress_of(plan, toe);
    if (plan->is_short)
        *share = plan->whole > 0 ? clamped(elapsed / plan->whole, 0, 1) : 1;
    else
        *share = x / plan->path.length;
    const double u = smooth_step(*share), v = 1 - u;
    support found = {1, plan->start.height * v + plan->end.height * u,
                     vec3_add(vec3_scale(v, plan->start.gradient), vec3_scale(u, plan->end.gradient))};
    if (!plan->is_short) found.height = hull_at(&plan->over, x);
    return found;
}

#endif
