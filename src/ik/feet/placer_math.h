/* Springs and a few vector functions of the foot placer, in doubles, one character at a time. */
#ifndef IK_PLACER_MATH_H
#define IK_PLACER_MATH_H

#include <float.h>
#include <math.h>
#include <string.h>

#define IK_BITS  64
#define IK_BYTES 0
#include "../lanes/real.h"
#include "../lanes/trig.h"
#include "../lanes/vec.h"
#include "../lanes/quat.h"

static inline vec3 vec3_along(vec3 a, vec3 b, double s) { return vec3_add(a, vec3_scale(s, b)); }

static inline void vec3_to(vec3 a, double out[3]) { out[0] = a.x, out[1] = a.y, out[2] = a.z; }

/* The part of a vector that is perpendicular to up. */
static inline vec3 vec3_flat(vec3 a, vec3 up) { return vec3_along(a, up, -vec3_dot(a, up)); }

static const double LARGEST_INPUT = 1e30;

/* True if a number is finite and small enough to compute with. */
static inline int is_usable(double x) { return fabs(x) <= LARGEST_INPUT; }
static inline int vec3_is_usable(vec3 a) { return is_usable(a.x) && is_usable(a.y) && is_usable(a.z); }

static inline double clamped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
static inline double smooth_step(double u) { return u * u * (3 - 2 * u); }

/* exp(-x) for x >= 0: the Taylor series at x / 2^k, squared k times. */
static double exponential_decay(double x) {
    static const double terms[] = {
        1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
        1.0 / 120,       1.0 / 24,       1.0 / 6,       1.0 / 2,      1.0,         1.0};
    if (x > 700) return 0;
    int squarings = 0;
    while (x > 0.25)
        x *= 0.5, squarings++;
    double sum = terms[0];
    for (int k = 1; k < 13; k++)
        sum = sum * -x + terms[k];
    while (squarings--)
        sum *= sum;
    return sum;
}

/* A critically damped spring over a time: exact for every dt. */
typedef struct {
    double stiff, time, decay;
} spring;

static const double LOG_4 = 1.3862943611198906;

static inline spring spring_over(double half_life, double time) {
    const double stiff = LOG_4 / real_max(half_life, 1e-9);
    return (spring){stiff, time, exponential_decay(stiff * time)};
}

/* One number fades to 0. */
static inline void spring_fade(spring s, double *x, double *speed) {
    const double drawn = *speed + s.stiff * *x;
    *x = s.decay * (*x + drawn * s.time);
    *speed = s.decay * (*speed - drawn * (s.stiff * s.time));
}

/* One number follows a target that moves from `before` to `after` at a steady speed meanwhile. */
static inline void spring_follow(spring s, double *x, double *speed, double before, double after) {
    const double pace = (after - before) / s.time, lag = 2 * pace / s.stiff;
    double error = *x - (before - lag), change = *speed - pace;
    spring_fade(s, &error, &change);
    *x = after - lag + error;
    *speed = pace + change;
}

/* The shortest rotation from up to the normal of a plane with a gradient (a horizontal vector). */
static inline quat tilt_of(vec3 up, vec3 gradient) {
    const vec3 normal = vec3_sub(up, gradient);
    return quat_canonical((quat){vec3_length(normal) + vec3_dot(up, normal), vec3_cross(up, normal)});
}

/* A quaternion in memory: w, x, y, z. */
static inline quat quat_from(const double q[4]) { return (quat){q[0], vec3_of(q + 1)}; }
static inline void quat_to(quat q, double out[4]) { out[0] = q.w, vec3_to(q.v, out + 1); }

#endif
