/* Vectors and critically damped springs of the foot placer: doubles, one character at a time, in written order. */
#ifndef IK_PLACER_MATH_H
#define IK_PLACER_MATH_H

#include <float.h>
#include <math.h>
#include <string.h>

#define IK_BITS  64
#define IK_BYTES 0
#include "../lanes/real.h"
#include "../lanes/trig.h"

typedef struct {
    double x, y, z;
} vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline vec3 vec3_scale(vec3 a, double s) { return (vec3){a.x * s, a.y * s, a.z * s}; }
static inline vec3 vec3_along(vec3 a, vec3 b, double s) { return vec3_add(a, vec3_scale(b, s)); }
static inline double vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline double vec3_size(vec3 a) { return sqrt(vec3_dot(a, a)); }
static inline vec3 vec3_cross(vec3 a, vec3 b) {
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline vec3 vec3_of(const double a[3]) { return (vec3){a[0], a[1], a[2]}; }
static inline void vec3_to(vec3 a, double out[3]) { out[0] = a.x, out[1] = a.y, out[2] = a.z; }

/* The part of a vector that is perpendicular to up. */
static inline vec3 vec3_flat(vec3 a, vec3 up) { return vec3_along(a, up, -vec3_dot(a, up)); }

static const double LARGEST_INPUT = 1e30;

/* True if a number is finite and small enough to compute with. */
static inline int is_usable(double x) { return fabs(x) <= LARGEST_INPUT; }
static inline int vec3_is_usable(vec3 a) { return is_usable(a.x) && is_usable(a.y) && is_usable(a.z); }

static inline double clamped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
static inline double larger_of(double a, double b) { return a > b ? a : b; }
static inline double smaller_of(double a, double b) { return a < b ? a : b; }
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
    const double stiff = LOG_4 / larger_of(half_life, 1e-9);
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

/* The shortest rotation from up to the normal of a plane with a gradient (a horizontal vector), as (w, x, y, z). */
static inline void tilt_of(vec3 up, vec3 gradient, double out[4]) {
    const vec3 normal = vec3_sub(up, gradient), axis = vec3_cross(up, normal);
    const double size = vec3_size(normal), w = size + vec3_dot(up, normal);
    const double whole = sqrt(w * w + vec3_dot(axis, axis));
    out[0] = w / whole, out[1] = axis.x / whole, out[2] = axis.y / whole, out[3] = axis.z / whole;
}

static inline vec3 vec3_turned(vec3 a, const double q[4]) {
    const vec3 axis = {q[1], q[2], q[3]}, twice = vec3_scale(vec3_cross(axis, a), 2);
    return vec3_add(vec3_along(a, twice, q[0]), vec3_cross(axis, twice));
}

#endif
