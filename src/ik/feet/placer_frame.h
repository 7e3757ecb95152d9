/* The input of one character in one frame, in world space and doubles: what ik_foot_rays and ik_place_feet share. */
#ifndef IK_PLACER_FRAME_H
#define IK_PLACER_FRAME_H

#include "placer_math.h"

static const double LEG = 0.87;             /* m: the leg that lengths of the settings are for */
static const double FIRST_SWING = 0.4;      /* s: a swing, before one was measured */
static const double LONGEST_SWING = 1.5;    /* s: a longer one is no step */
static const double LEAST_TIME = 1e-9;      /* s: a shorter frame is none */
static const double LOOK_AHEAD = 0.15;      /* s */
static const double TOUCHDOWN = 0.1;        /* s */
static const double SHORT_STEP = 0.1;       /* m: a shorter swing is measured by time */
static const double SLOW = 0.3;             /* m/s: travel below this counts by its share */
static const double HEEL_SHARE = 0.75;      /* of the way from toe to heel: what lies behind may overhang an edge */
static const double LEAST_CLEARANCE = 0.03; /* m */

typedef struct {
    vec3 hip, knee, end;   /* of the animation: end is the ankle */
    vec3 ankle, toe, heel; /* after the stride; heel is HEEL_SHARE of the way to the heel */
    vec3 landing;
    double landing_time; /* NaN: landing is not known */
    double contact;      /* NaN: not given */
    double length, scale;
} leg_frame;

/* The springs of a frame: the same for all characters with the same dt. */
typedef struct {
    double dt, velocity; /* what is left of the velocity's error */
    spring release, swing, pelvis, lean;
} springs;

typedef struct {
    const ik_foot_settings *settings;
    springs springs;
    vec3 up, origin, hips, velocity, ahead; /* ahead: unit direction of travel, or 0 */
    double dt, last_dt, floor, travel;      /* floor: world height; travel: 0 standing to 1 */
    int legs, grounded, moves;
    int starts; /* no frame before, or the character is somewhere else */
    int32_t unusable;
    leg_frame leg[IK_LEGS_MOST];
} character;

/* A number of a row, of whichever type. */
static double number_of(const ik_rows *rows, ptrdiff_t item, int column, int narrow) {
    const char *at = (const char *)rows->data + item * rows->stride;
    if (narrow) return *(const float *)(at + column * ik_step(rows, sizeof(float)));
    return *(const double *)(at + column * ik_step(rows, sizeof(double)));
}

static vec3 vec3_of_row(const ik_rows *rows, ptrdiff_t item, int narrow) {
    const char *at = (const char *)rows->data + item * rows->stride;
    const ptrdiff_t step = ik_step(rows, narrow ? sizeof(float) : sizeof(double));
    if (narrow) return (vec3){*(const float *)at, *(const float *)(at + step), *(const float *)(at + 2 * step)};
    return (vec3){*(const double *)at, *(const double *)(at + step), *(const double *)(at + 2 * step)};
}

/* The rows of one leg. */
static ik_rows of_leg(const ik_lists *lists, int leg) {
    ik_rows rows = lists->rows;
    if (rows.data) rows.data = (char *)rows.data + leg * lists->next;
    return rows;
}

static vec3 vec3_of_leg(const ik_lists *lists, ptrdiff_t item, int leg, int narrow) {
    const ik_rows rows = of_leg(lists, leg);
    return vec3_of_row(&rows, item, narrow);
}

static double number_of_leg(const ik_lists *lists, ptrdiff_t item, int leg, int narrow) {
    const ik_rows rows = of_leg(lists, leg);
    return rows.data ? number_of(&rows, item, 0, narrow) : (double)NAN;
}

static ik_body_state *body_of(const ik_feet_job *job, ptrdiff_t item) {
    return (ik_body_state *)((char *)job->body.data + item * job->body.stride);
}

static ik_foot_state *foot_of(const ik_feet_job *job, ptrdiff_t item, int leg) {
    return (ik_foot_state *)((char *)job->state.rows.data + item * job->state.rows.stride + leg * job->state.next);
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

/* A landing that was due within TOUCHDOWN, and is a later one now, is taken to be late: the foot is still to land
 * there. */
static void keep_landing(const character *c, const ik_foot_state *foot, leg_frame *leg) {
    if (!(leg->landing_time > foot->due) || foot->planted > 0 || !(foot->due > 0 && foot->due < TOUCHDOWN + c->dt))
        return;
    leg->landing = vec3_of(foot->landing);
    leg->landing_time = real_max(foot->due - c->dt, DBL_MIN);
}

static void load_leg(character *c, const ik_feet_job *job, ptrdiff_t item, int k, int narrow) {
    leg_frame *leg = &c->leg[k];
    const vec3 at = c->origin;
    leg->hip = vec3_add(at, vec3_of_leg(&job->hip, item, k, narrow));
    leg->knee = vec3_add(at, vec3_of_leg(&job->knee, item, k, narrow));
    leg->end = leg->ankle = vec3_add(at, vec3_of_leg(&job->ankle, item, k, narrow));
    leg->toe = vec3_add(at, vec3_of_leg(&job->toe, item, k, narrow));
    const vec3 heel = job->heel.rows.data ? vec3_add(at, vec3_of_leg(&job->heel, item, k, narrow)) : leg->toe;
    leg->heel = vec3_along(leg->toe, vec3_sub(heel, leg->toe), HEEL_SHARE);
    leg->length = vec3_length(vec3_sub(leg->knee, leg->hip)) + vec3_length(vec3_sub(leg->end, leg->knee));
    leg->scale = leg->length / LEG;
    leg->contact = number_of_leg(&job->contact, item, k, narrow);
    leg->landing_time = number_of_leg(&job->landing_time, item, k, narrow);
    leg->landing = job->landing.rows.data ? vec3_add(at, vec3_of_leg(&job->landing, item, k, narrow)) : leg->toe;
    if (!job->landing.rows.data || !vec3_is_usable(leg->landing) ||
        !(leg->landing_time >= 0 && is_usable(leg->landing_time)))
        leg->landing_time = (double)NAN, leg->landing = leg->toe;
    keep_landing(c, foot_of(job, item, k), leg);
    const int finite = vec3_is_usable(leg->hip) && vec3_is_usable(leg->knee) && vec3_is_usable(leg->end) &&
                       vec3_is_usable(leg->toe) && vec3_is_usable(leg->heel);
    if (!finite)
        c->unusable = IK_NOT_FINITE;
    else if (!c->unusable && !(leg->length > 0))
        c->unusable = IK_NO_LENGTH;
}

static void load_whole(character *c, const ik_feet_job *job, ptrdiff_t item, int narrow) {
    c->settings = job->settings;
    c->up = vec3_of(job->settings->up);
    c->legs = (int)job->hip.count;
    c->dt = number_of(&job->dt, item, 0, narrow);
    c->origin = job->origin.data ? vec3_of_row(&job->origin, item, 0) : (vec3){0, 0, 0};
    const double floor = job->floor.data ? number_of(&job->floor, item, 0, narrow) : 0;
    c->floor = vec3_dot(c->origin, c->up) + floor;
    c->grounded = !job->grounded.data || *((const char *)job->grounded.data + item * job->grounded.stride) != 0;
    c->unusable = is_usable(c->dt) && is_usable(c->floor) && vec3_is_usable(c->origin) ? 0 : IK_NOT_FINITE;
    c->last_dt = body_of(job, item)->dt;
    if (!c->unusable && !(c->dt >= LEAST_TIME)) c->unusable = IK_NO_LENGTH;
}

/* The mean of the hips, and whether this frame goes on from the one before. */
static void load_place(character *c, const ik_feet_job *job, ptrdiff_t item) {
    c->hips = (vec3){0, 0, 0};
    c->starts = !(body_of(job, item)->started > 0);
    for (int k = 0; k < c->legs; k++) {
        c->hips = vec3_along(c->hips, c->leg[k].hip, 1.0 / c->legs);
        const vec3 moved = vec3_sub(c->leg[k].toe, vec3_of(foot_of(job, item, k)->toe));
        c->starts |= !(vec3_length(moved) <= 2 * c->leg[k].length);
    }
}

/* Velocity: the caller's, or that of the hips, smoothed. */
static void load_velocity(character *c, const ik_feet_job *job, ptrdiff_t item, int narrow) {
    const ik_body_state *body = body_of(job, item);
    c->velocity = c->starts ? (vec3){0, 0, 0} : vec3_of(body->velocity);
    c->moves = !c->starts;
    if (job->velocity.data) {
        c->velocity = vec3_flat(vec3_of_row(&job->velocity, item, narrow), c->up);
        c->moves = 1;
    } else if (!c->starts) {
        const vec3 now = vec3_scale(1 / c->dt, vec3_flat(vec3_sub(c->hips, vec3_of(body->hips)), c->up));
        c->velocity = body->moves > 0 ? vec3_along(now, vec3_sub(c->velocity, now), c->springs.velocity) : now;
    }
    if (!vec3_is_usable(c->velocity)) c->unusable = IK_NOT_FINITE;
    const double speed = vec3_length(c->velocity);
    c->ahead = speed > 1e-9 ? vec3_scale(1 / speed, c->velocity) : (vec3){0, 0, 0};
    c->travel = clamped(speed / (SLOW * c->leg[0].scale), 0, 1);
}

/* Scales the strides about the hips, along the direction of travel. */
static void load_strides(character *c, const ik_feet_job *job, ptrdiff_t item, int narrow) {
    const double given = job->stride.data ? number_of(&job->stride, item, 0, narrow) : 1;
    const double climb = vec3_dot(vec3_of(body_of(job, item)->slope), c->ahead);
    const double shorter = climb > 0 ? c->settings->stride_uphill : c->settings->stride_downhill;
    const double longer = c->travel * (given * (1 - clamped(shorter * real_min(fabs(climb), 1), 0, 1)) - 1);
    if (!is_usable(longer)) c->unusable = IK_NOT_FINITE;
    if (c->unusable || longer == 0) return;
    for (int k = 0; k < c->legs; k++) {
        leg_frame *leg = &c->leg[k];
        const vec3 shift = vec3_scale(longer * vec3_dot(vec3_sub(leg->ankle, leg->hip), c->ahead), c->ahead);
        leg->ankle = vec3_add(leg->ankle, shift);
        leg->toe = vec3_add(leg->toe, shift);
        leg->heel = vec3_add(leg->heel, shift);
        if (!(leg->landing_time >= 0)) continue;
        const vec3 hip = vec3_along(leg->hip, c->velocity, leg->landing_time);
        leg->landing = vec3_along(leg->landing, c->ahead, longer * vec3_dot(vec3_sub(leg->landing, hip), c->ahead));
    }
}

static springs springs_over(const ik_foot_settings *set, double dt) {
    return (springs){
        .dt = dt,
        .velocity = exponential_decay(0.5 * LOG_4 * dt / real_max(set->lean_half_life, 1e-9)),
        .release = spring_over(set->release_half_life, dt),
        .swing = spring_over(set->swing_half_life, dt),
        .pelvis = spring_over(set->pelvis_half_life, dt),
        .lean = spring_over(set->lean_half_life, dt),
    };
}

/* `known` are the springs of the character before. */
static void load_character(character *c, const ik_feet_job *job, ptrdiff_t item, int narrow, springs *known) {
    load_whole(c, job, item, narrow);
    if (!c->unusable && known->dt != c->dt) *known = springs_over(c->settings, c->dt);
    c->springs = *known;
    for (int k = 0; k < c->legs; k++)
        load_leg(c, job, item, k, narrow);
    if (c->unusable) return;
    load_place(c, job, item);
    load_velocity(c, job, item, narrow);
    if (!c->unusable) load_strides(c, job, item, narrow);
}

/* --- the swing ahead ---------------------------------------------------------------------------------------------- */

typedef struct {
    vec3 from, to;    /* last foothold, next landing of the toe; only their horizontal parts count */
    vec3 way;         /* unit direction */
    double length;    /* horizontal */
    double remaining; /* s until the landing */
} swing_path;

/* The landing of a foot as far ahead of its hip as the last time. */
static vec3 landing_by_velocity(const character *c, int k, const ik_foot_state *foot, double remaining) {
    const vec3 hip = vec3_along(c->leg[k].hip, c->velocity, remaining);
    return vec3_along(vec3_along(hip, c->ahead, foot->ahead), vec3_cross(c->up, c->ahead), foot->beside);
}

/* From the clip; else from the velocity, but not nearer than the toe itself gets within LOOK_AHEAD. The foot has swung
 * for `span` seconds of this frame. */
static swing_path path_of(const character *c, int k, const ik_foot_state *foot, vec3 toe, double span) {
    const leg_frame *leg = &c->leg[k];
    swing_path path = {.from = vec3_of(foot->foothold)};
    if (leg->landing_time >= 0) {
        path.to = leg->landing, path.remaining = leg->landing_time;
    } else {
        const vec3 moved = vec3_flat(vec3_sub(leg->toe, vec3_of(foot->toe)), c->up);
        path.to = vec3_along(toe, moved, LOOK_AHEAD / c->dt);
        if (c->moves && c->travel >= 1) {
            const double whole = foot->swing_time > 0 ? foot->swing_time : FIRST_SWING;
            path.remaining = real_max(whole - (foot->elapsed + span), 0);
            const vec3 landing = landing_by_velocity(c, k, foot, path.remaining);
            if (vec3_dot(vec3_sub(landing, path.to), c->ahead) > 0) path.to = landing;
        }
    }
    const vec3 way = vec3_flat(vec3_sub(path.to, path.from), c->up);
    path.length = vec3_length(way);
    path.way = path.length > 0 ? vec3_scale(1 / path.length, way) : way;
    return path;
}

static inline int is_short(const character *c, int k, const swing_path *path) {
    return path->length < SHORT_STEP * c->leg[k].scale;
}

static spring release_over(const character *c, double span) {
    return span == c->dt ? c->springs.release : spring_over(c->settings->release_half_life, span);
}

/* The toe now, before its height is known: the animation's, and what is left of the offset after `span` seconds. */
static vec3 toe_now(const character *c, int k, const ik_foot_state *foot, double span) {
    vec3 offset = vec3_of(foot->offset), speed = vec3_of(foot->offset_speed);
    if (c->starts) return c->leg[k].toe;
    const spring s = release_over(c, span);
    spring_fade(s, &offset.x, &speed.x);
    spring_fade(s, &offset.y, &speed.y);
    spring_fade(s, &offset.z, &speed.z);
    return vec3_add(c->leg[k].toe, offset);
}

#endif
