/* Foot placement frame by frame (ik_feet.h). Characters are independent: all of it is scalar and in doubles, except the
 * legs, which are solved by ik_two_bone a block at a time. */
#include "../ik.h"
#if !defined(IK_NO_F64) && !defined(IK_ONLY_LIMB)
#include "../fpmode.h"

#include "placer_contact.h"
#include "placer_ground.h"

ik_foot_settings ik_foot_settings_default(void) {
#define SETTING_DEFAULT(name, value, sentence) .name = (value),
    return (ik_foot_settings){.up = {0, 1, 0}, IK_FOOT_SETTINGS(SETTING_DEFAULT)};
#undef SETTING_DEFAULT
}

/* Results of a foot in one frame. */
typedef struct {
    int is_free;    /* no ground: keeps to the animation */
    double support; /* of the plan, without obstacles and residual */
    vec3 toe;       /* place of the toe; horizontal, until goal_of */
    vec3 ankle;
    double tilt[4]; /* rotation of the sole */
} foot_frame;

typedef struct {
    character c;
    slopes most;
    ik_body_state *body;
    foot_frame foot[IK_LEGS_MOST];
} placing;

/* --- rays --------------------------------------------------------------------------------------------------------- */

/* A vertical ray through a place, from max_step above a height to max_step below it. */
static void write_ray(const ik_feet_job *job, const character *c, ptrdiff_t row, vec3 place, double about,
                      double window) {
    char *origin = (char *)job->ray_origin.data + row * job->ray_origin.stride;
    const ptrdiff_t step = ik_step(&job->ray_origin, sizeof(double));
    const vec3 at = vec3_along(place, c->up, about + window - vec3_dot(place, c->up));
    *(double *)origin = at.x, *(double *)(origin + step) = at.y, *(double *)(origin + 2 * step) = at.z;
    *(double *)((char *)job->ray_length.data + row * job->ray_length.stride) = 2 * window;
    *((char *)job->ray_chosen.data + row * job->ray_chosen.stride) = 1;
}

static void write_swing_rays(const ik_feet_job *job, const character *c, ptrdiff_t row, int k,
                             const ik_foot_state *foot, double span, double about, double window) {
    const leg_frame *leg = &c->leg[k];
    const vec3 toe = toe_now(c, k, foot, span), heel = vec3_sub(leg->heel, leg->toe);
    write_ray(job, c, row + IK_RAY_TOE, toe, about, window);
    write_ray(job, c, row + IK_RAY_HEEL, vec3_add(toe, heel), about, window);
    if (c->starts) return;
    const swing_path path = path_of(c, k, foot, toe, span);
    write_ray(job, c, row + IK_RAY_LANDING, path.to, about, window);
    write_ray(job, c, row + IK_RAY_LANDING_HEEL, vec3_add(path.to, heel), about, window);
    for (int j = 0; j < IK_PATH_RAYS && !is_short(c, k, &path); j++) {
        const vec3 place = vec3_along(path.from, path.way, path.length * (j + 1) / (IK_PATH_RAYS + 1));
        write_ray(job, c, row + IK_RAY_PATH + j, place, about, window);
    }
}

static void write_rays(const ik_feet_job *job, ptrdiff_t item, int narrow, springs *known) {
    character c;
    load_character(&c, job, item, narrow, known);
    const ik_body_state *body = body_of(job, item);
    for (int k = 0; k < c.legs; k++) {
        const ptrdiff_t row = (item * c.legs + k) * IK_FOOT_RAYS;
        const ik_foot_state *foot = foot_of(job, item, k);
        for (int ray = 0; ray < IK_FOOT_RAYS; ray++)
            *((char *)job->ray_chosen.data + (row + ray) * job->ray_chosen.stride) = 0;
        if (c.unusable || !c.grounded) continue;
        const double window = c.settings->max_step * c.leg[k].scale, about = c.starts ? c.floor : body->shown;
        ik_foot_state after = *foot;
        const double span = c.starts ? 0 : release_if_due(&c, k, &after);
        if (c.starts || !(after.planted > 0)) write_swing_rays(job, &c, row, k, &after, span, about, window);
        if (c.starts || !(foot->planted > 0)) continue;
        const vec3 place = vec3_of(foot->foothold);
        write_ray(job, &c, row + IK_RAY_TOE, place, vec3_dot(place, c.up), window);
    }
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

static void keep_plan(ik_foot_state *foot, double height, vec3 gradient) {
    foot->plan[0] = height;
    vec3_to(gradient, foot->plan + 1);
}

/* Goes over to another plan, which has these values now: the difference becomes a residual, and fades. */
static void change_plan(ik_foot_state *foot, double height, vec3 gradient) {
    double before[4];
    memcpy(before, foot->plan, sizeof before);
    keep_plan(foot, height, gradient);
    for (int i = 0; i < 4; i++)
        foot->residual[i] += before[i] - foot->plan[i];
}

/* --- planted feet ---------------------------------------------------------------------------------------------- */

/* While the toe of the animation still comes to rest, the foothold moves with it: it ends where the toe is slowest. */
static void come_to_rest(placing *p, int k, ik_foot_state *foot) {
    const vec3 moved = vec3_flat(vec3_sub(p->c.leg[k].toe, vec3_of(foot->toe)), p->c.up);
    const double speed = vec3_length(moved) / p->c.dt;
    if (!(speed < foot->slowest)) return;
    foot->slowest = speed;
    const double rise = vec3_dot(vec3_of(foot->tilt), moved);
    vec3_to(vec3_along(vec3_add(vec3_of(foot->foothold), moved), p->c.up, rise), foot->foothold);
    foot->ray_height += rise;
}

/* A planted foot stays, with ground that rises or falls. */
static void go_on_standing(placing *p, int k, ik_foot_state *foot, const ground_hit *hit) {
    vec3_to(vec3_along(vec3_of(foot->foothold), p->c.up, hit->height - foot->ray_height), foot->foothold);
    foot->ray_height = hit->height;
    come_to_rest(p, k, foot);
    fade(p->c.springs.swing, foot->residual, foot->residual_speed, 4);
    keep_plan(foot, vec3_dot(vec3_of(foot->foothold), p->c.up), vec3_of(foot->tilt));
    p->foot[k].support = foot->plan[0];
}

/* --- swinging feet ------------------------------------------------------------------------------------------------ */

/* The ground under the toe and the heel now. */
static support ground_below(const placing *p, const ik_feet_job *job, ptrdiff_t item, int k, vec3 toe) {
    const leg_frame *leg = &p->c.leg[k];
    const double about = p->c.starts ? p->c.floor : p->body->shown;
    const ground_hit at_toe = hit_of(job, &p->c, &p->most, item, k, IK_RAY_TOE, about),
                     at_heel = hit_of(job, &p->c, &p->most, item, k, IK_RAY_HEEL, about);
    return rest_on(&p->c, &p->most, &at_toe, &at_heel, toe, vec3_add(toe, vec3_sub(leg->heel, leg->toe)));
}

/* The plan of this frame from the hits; 0 if there is no ground to land on. */
static int plan_swing(const placing *p, const ik_feet_job *job, ptrdiff_t item, int k, const ik_foot_state *foot,
                      vec3 toe, double span, swing_plan *plan) {
    const character *c = &p->c;
    const leg_frame *leg = &c->leg[k];
    const double about = p->body->shown, clearance = real_max(c->settings->clearance, LEAST_CLEARANCE) * leg->scale;
    const vec3 heel = vec3_sub(leg->heel, leg->toe);
    *plan = (swing_plan){.path = path_of(c, k, foot, toe, span)};
    const swing_path *path = &plan->path;
    const ground_hit at_toe = hit_of(job, c, &p->most, item, k, IK_RAY_LANDING, about),
                     at_heel = hit_of(job, c, &p->most, item, k, IK_RAY_LANDING_HEEL, about);
    plan->end = rest_on(c, &p->most, &at_toe, &at_heel, path->to, vec3_add(path->to, heel));
    if (!plan->end.known && !(leg->landing_time >= 0)) plan->end = ground_below(p, job, item, k, toe);
    if (!plan->end.known) return 0;
    plan->start = (support){1, vec3_dot(path->from, c->up), vec3_of(foot->tilt)};
    plan->is_short = is_short(c, k, path);
    plan->whole = foot->elapsed + span + path->remaining;
    if (plan->is_short && path->remaining <= 0) plan->whole = 0;
    if (plan->is_short) return 1;
    obstacle all[IK_PATH_RAYS];
    for (int j = 0; j < IK_PATH_RAYS; j++) {
        const ground_hit hit = hit_of(job, c, &p->most, item, k, IK_RAY_PATH + j, about);
        const double x = path->length * (j + 1) / (IK_PATH_RAYS + 1);
        all[j] = hit.known ? obstacle_of(plan, clearance, x, hit.height) : (obstacle){0};
    }
    plan_over(plan, all, -vec3_dot(heel, path->way), clearance, leg->scale);
    return 1;
}

/* Plants the foot where it is; it began to stand at a time up to now. */
static void plant(placing *p, int k, ik_foot_state *foot, double time, vec3 toe, support ground, double ray_height) {
    const character *c = &p->c;
    vec3 velocity;
    toe_at(c, k, foot, time, &velocity);
    vec3_to(vec3_along(vec3_flat(toe, c->up), c->up, ground.height), foot->foothold);
    vec3_to(ground.gradient, foot->tilt);
    change_plan(foot, ground.height, ground.gradient);
    p->foot[k].support = ground.height;
    foot->ray_height = ray_height;
    foot->planted = 1;
    foot->slowest = vec3_length(vec3_flat(velocity, c->up));
    memset(foot->offset, 0, sizeof foot->offset);
    memset(foot->offset_speed, 0, sizeof foot->offset_speed);
    if (c->starts || foot->elapsed + time > LONGEST_SWING) return;
    const vec3 from_hip = vec3_sub(toe, c->leg[k].hip);
    foot->swing_time = real_max(foot->elapsed + time, 0);
    foot->ahead = vec3_dot(from_hip, c->ahead);
    foot->beside = vec3_dot(from_hip, vec3_cross(c->up, c->ahead));
}

/* Stands in the air: the next swing starts here. */
static void stand_on_nothing(placing *p, ik_foot_state *foot, vec3 toe) {
    const vec3 flat = vec3_flat(toe, p->c.up);
    vec3_to(vec3_along(flat, p->c.up, p->body->shown), foot->foothold);
    memset(foot->tilt, 0, sizeof foot->tilt);
    foot->elapsed = 0;
}

/* The support of a foot that has swung for `span` seconds of this frame, from `before` to `toe`. */
static void follow_plan(placing *p, const ik_feet_job *job, ptrdiff_t item, int k, ik_foot_state *foot, double span,
                        vec3 before, vec3 toe) {
    const character *c = &p->c;
    swing_plan plan;
    double share = 0;
    p->foot[k].is_free = !c->grounded || !plan_swing(p, job, item, k, foot, toe, span, &plan);
    if (p->foot[k].is_free) {
        change_plan(foot, p->body->shown, (vec3){0, 0, 0});
        fade(c->springs.swing, foot->residual, foot->residual_speed, 4);
        return;
    }
    const support last = plan_at(&plan, before, foot->elapsed, &share);
    change_plan(foot, last.height, last.gradient);
    fade(c->springs.swing, foot->residual, foot->residual_speed, 4);
    const support now = plan_at(&plan, toe, foot->elapsed + span, &share);
    keep_plan(foot, now.height, now.gradient);
    const double u = smooth_step(share);
    p->foot[k].support = plan.start.height * (1 - u) + plan.end.height * u;
}

/* Plants a foot that is slow and low, where there is ground. */
static void land_if_due(placing *p, const ik_feet_job *job, ptrdiff_t item, int k, ik_foot_state *foot, vec3 toe) {
    const character *c = &p->c;
    const signal lands = signal_of(c, k, foot, c->settings->plant_speed, c->settings->plant_height);
    if (lands.now > 1) foot->waits = 0;
    if (!(lands.now < 1) || foot->waits > 0 || !c->grounded) return;
    const ground_hit at_toe = hit_of(job, c, &p->most, item, k, IK_RAY_TOE, p->body->shown);
    if (!at_toe.known) {
        stand_on_nothing(p, foot, toe);
        return;
    }
    plant(p, k, foot, time_of(&lands), toe, ground_below(p, job, item, k, toe), at_toe.height);
    p->foot[k].is_free = 0;
}

static void go_on(placing *p, const ik_feet_job *job, ptrdiff_t item, int k, ik_foot_state *foot) {
    const character *c = &p->c;
    const int stood = foot->planted > 0;
    const vec3 place = vec3_of(foot->foothold);
    vec3 before = vec3_add(vec3_of(foot->toe), vec3_of(foot->offset));
    double span = release_if_due(c, k, foot);
    if (foot->planted > 0) {
        const ground_hit hit = hit_of(job, c, &p->most, item, k, IK_RAY_TOE, vec3_dot(place, c->up));
        if (hit.known && c->grounded) {
            go_on_standing(p, k, foot, &hit);
            return;
        }
        release(c, k, foot, 0);
        span = 0;
    }
    if (stood) before = place;
    const vec3 toe = toe_now(c, k, foot, span);
    follow_plan(p, job, item, k, foot, span, before, toe);
    fade(release_over(c, span), foot->offset, foot->offset_speed, 3);
    foot->elapsed += span;
    if (!stood) land_if_due(p, job, item, k, foot, toe);
}

/* --- the first frame ---------------------------------------------------------------------------------------------- */

static void start_foot(placing *p, const ik_feet_job *job, ptrdiff_t item, int k, ik_foot_state *foot) {
    const character *c = &p->c;
    const leg_frame *leg = &c->leg[k];
    const ground_hit at_toe = hit_of(job, c, &p->most, item, k, IK_RAY_TOE, c->floor),
                     at_heel = hit_of(job, c, &p->most, item, k, IK_RAY_HEEL, c->floor);
    const signal lands = signal_of(c, k, foot, c->settings->plant_speed, c->settings->plant_height);
    support ground = rest_on(c, &p->most, &at_toe, &at_heel, leg->toe, leg->heel);
    *foot = (ik_foot_state){0};
    p->foot[k].is_free = !c->grounded || !ground.known;
    if (p->foot[k].is_free) ground = (support){0, c->floor, {0, 0, 0}};
    if (at_toe.known && c->grounded && lands.now < 1) {
        plant(p, k, foot, 0, leg->toe, ground, at_toe.height);
    } else {
        vec3_to(vec3_along(vec3_flat(leg->toe, c->up), c->up, ground.height), foot->foothold);
        vec3_to(ground.gradient, foot->tilt);
        p->foot[k].support = ground.height;
    }
    keep_plan(foot, ground.height, ground.gradient);
    memset(foot->residual, 0, sizeof foot->residual);
}

static void advance_foot(placing *p, const ik_feet_job *job, ptrdiff_t item, int k) {
    ik_foot_state *foot = foot_of(job, item, k);
    if (p->c.starts)
        start_foot(p, job, item, k, foot);
    else
        go_on(p, job, item, k, foot);
    const vec3 free_toe = vec3_add(p->c.leg[k].toe, vec3_of(foot->offset));
    p->foot[k].toe = vec3_flat(foot->planted > 0 ? vec3_of(foot->foothold) : free_toe, p->c.up);
}

#include "placer_pelvis.h"

/* --- a frame ------------------------------------------------------------------------------------------------------ */

static void keep_frame(const placing *p, const ik_feet_job *job, ptrdiff_t item) {
    const character *c = &p->c;
    ik_body_state *body = p->body;
    for (int k = 0; k < c->legs; k++) {
        ik_foot_state *foot = foot_of(job, item, k);
        const vec3 toe = c->leg[k].toe, moved = vec3_sub(toe, vec3_of(foot->toe));
        const double height = vec3_dot(toe, c->up) - c->floor;
        vec3_to(c->starts ? (vec3){0, 0, 0} : vec3_scale(1 / c->dt, moved), foot->toe_velocity);
        foot->height_before = c->starts ? height : 0.5 * (height + foot->height);
        foot->height = height;
        foot->contact = isfinite(c->leg[k].contact) ? c->leg[k].contact : 0;
        foot->due = c->leg[k].landing_time >= 0 ? c->leg[k].landing_time : 0;
        vec3_to(c->leg[k].landing, foot->landing);
        vec3_to(toe, foot->toe);
    }
    body->moves = c->moves;
    vec3_to(c->velocity, body->velocity);
    vec3_to(c->hips, body->hips);
    body->dt = c->dt;
    body->started = 1;
}

static void advance(placing *p, const ik_feet_job *job, ptrdiff_t item, int narrow, springs *known) {
    load_character(&p->c, job, item, narrow, known);
    if (p->c.unusable) return;
    p->body = body_of(job, item);
    if (p->c.starts) *p->body = (ik_body_state){.shown = p->c.floor};
    for (int k = 0; k < p->c.legs; k++)
        advance_foot(p, job, item, k);
    settle_pelvis(p, job, item);
    settle_slope(p, job, item);
    keep_frame(p, job, item);
}

#include "placer_legs.h"

/* As many characters at a time as their legs fit a block. */
static void place_all(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last, int narrow) {
    const ik_fpmode before = ik_fpmode_enter();
    const int legs = (int)job->hip.count, most = BLOCK_LEGS / legs;
    const slopes limits = slopes_of(job->settings);
    placing all[BLOCK_LEGS];
    springs known = {0};
    leg_block b;
    for (ptrdiff_t item = first; item < last; item += most) {
        const int count = (int)(last - item < most ? last - item : most);
        for (int i = 0; i < count; i++) {
            all[i].most = limits;
            advance(&all[i], job, item + i, narrow, &known);
            for (int k = 0; k < legs; k++)
                pose_leg(&all[i], job, item + i, k, narrow, &b, i * legs + k);
        }
        solve_legs(&b, count * legs, job->hinge.rows.data != NULL);
        for (int i = 0; i < count; i++)
            write_character(&all[i], job, item + i, narrow, &b, i * legs);
    }
    ik_fpmode_leave(before);
}

static void rays_of_all(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last, int narrow) {
    const ik_fpmode before = ik_fpmode_enter();
    springs known = {0};
    for (ptrdiff_t item = first; item < last; item++)
        write_rays(job, item, narrow, &known);
    ik_fpmode_leave(before);
}

void ik_foot_rays_f64(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last) { rays_of_all(job, first, last, 0); }
void ik_foot_rays_f32(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last) { rays_of_all(job, first, last, 1); }
void ik_place_feet_f64(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last) { place_all(job, first, last, 0); }
void ik_place_feet_f32(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last) { place_all(job, first, last, 1); }
#endif
