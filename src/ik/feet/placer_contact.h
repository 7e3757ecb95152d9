/* When a foot is planted and released: thresholds with hysteresis, passed at times between the frames. */
#ifndef IK_PLACER_CONTACT_H
#define IK_PLACER_CONTACT_H

#include "placer_frame.h"

/* How far a foot is from a threshold: planted below 1, released above 1. `before` is that of the last sample. */
typedef struct {
    double before, now;
    double time_before, time_now; /* s; this frame is 0 */
} signal;

/* Seconds, 0 or less, at which a signal passed 1. */
static double time_of(const signal *s) {
    const double change = s->before - s->now;
    double share = 1;
    if (change != 0) share = clamped((s->before - 1) / change, 0, 1);
    return s->time_before + share * (s->time_now - s->time_before);
}

static double flat_speed(const character *c, vec3 velocity) { return vec3_length(vec3_flat(velocity, c->up)); }

/* Speeds belong to the middle between two frames; heights are taken there too. */
static signal signal_of(const character *c, int k, const ik_foot_state *foot, double speed, double height) {
    const leg_frame *leg = &c->leg[k];
    const double now = vec3_dot(leg->toe, c->up) - c->floor, most = leg->scale;
    if (isfinite(leg->contact)) {
        const double curve = 1.5 - leg->contact;
        return c->starts ? (signal){curve, curve, 0, 0} : (signal){1.5 - foot->contact, curve, -c->dt, 0};
    }
    if (c->starts) return (signal){now / (height * most), now / (height * most), 0, 0};
    const vec3 velocity = vec3_scale(1 / c->dt, vec3_sub(leg->toe, vec3_of(foot->toe)));
    const double middle = 0.5 * (now + foot->height);
    return (signal){
        real_max(flat_speed(c, vec3_of(foot->toe_velocity)) / speed, foot->height_before / height) / most,
        real_max(flat_speed(c, velocity) / speed, middle / height) / most,
        -c->dt - 0.5 * c->last_dt,
        -0.5 * c->dt,
    };
}

/* Place and velocity of the animation's toe at a time up to now: the velocity is linear between the middles of the last
 * two frames. */
static vec3 toe_at(const character *c, int k, const ik_foot_state *foot, double time, vec3 *velocity) {
    const double dt = c->dt, before = c->last_dt;
    const vec3 now = c->leg[k].toe, last = vec3_of(foot->toe), earlier = vec3_of(foot->toe_velocity);
    *velocity = (vec3){0, 0, 0};
    if (c->starts) return now;
    const vec3 recent = vec3_scale(1 / dt, vec3_sub(now, last));
    const vec3 rate = vec3_scale(2 / (dt + real_max(before, dt * 1e-3)), vec3_sub(recent, earlier));
    *velocity = vec3_along(recent, rate, time + 0.5 * dt);
    return vec3_along(now, vec3_along(*velocity, rate, -0.5 * time), time);
}

static void fade(spring s, double *x, double *speed, int count) {
    for (int i = 0; i < count; i++)
        spring_fade(s, &x[i], &speed[i]);
}

/* --- planted feet ------------------------------------------------------------------------------------------------- */

/* The greatest distance of hip and ankle: a share of the leg's length, or that of the animation. */
static double longest_leg(const character *c, int k) {
    const leg_frame *leg = &c->leg[k];
    return real_max(c->settings->max_extension * leg->length, vec3_length(vec3_sub(leg->end, leg->hip)));
}

/* True if the animation has left the foothold behind, or the leg cannot reach it at any height of the pelvis. */
static int is_dragged(const character *c, int k, const ik_foot_state *foot) {
    const leg_frame *leg = &c->leg[k];
    const vec3 off = vec3_flat(vec3_sub(vec3_of(foot->foothold), leg->toe), c->up);
    const double apart = vec3_length(vec3_flat(vec3_add(vec3_sub(leg->ankle, leg->hip), off), c->up));
    return vec3_length(off) > c->settings->release_radius * leg->scale || apart > longest_leg(c, k);
}

/* Starts a swing, at a time up to now. The offset of the toe from the animation fades from then on, starting at rest.
 */
static void release(const character *c, int k, ik_foot_state *foot, double time) {
    vec3 velocity;
    const vec3 at = toe_at(c, k, foot, time, &velocity), up = c->up;
    vec3_to(vec3_flat(vec3_sub(vec3_of(foot->foothold), at), up), foot->offset);
    vec3_to(vec3_scale(-1, vec3_flat(velocity, up)), foot->offset_speed);
    foot->planted = 0;
    foot->elapsed = 0;
    if (foot->swing_time > 0) return;
    const vec3 from_hip = vec3_sub(vec3_of(foot->foothold), c->leg[k].hip); /* as far ahead as it was behind */
    foot->ahead = -vec3_dot(from_hip, c->ahead);
    foot->beside = vec3_dot(from_hip, vec3_cross(up, c->ahead));
}

/* Releases a planted foot if this frame asks for it. Returns the seconds that the foot swings in this frame. */
static double release_if_due(const character *c, int k, ik_foot_state *foot) {
    if (!(foot->planted > 0)) return c->dt;
    const signal leaves = signal_of(c, k, foot, c->settings->release_speed, c->settings->release_height);
    const int dragged = is_dragged(c, k, foot);
    if (!(leaves.now > 1) && !dragged) return 0;
    const double time = leaves.now > 1 ? time_of(&leaves) : 0;
    if (!(leaves.now > 1)) foot->waits = 1;
    release(c, k, foot, time);
    return -time;
}

#endif
