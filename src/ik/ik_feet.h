/* Foot placement frame by frame, for one character or a crowd. Part of ik.h, which includes this file.
 *
 * A frame takes two calls. The first, ik_foot_rays, writes the vertical rays of every foot. The caller casts them, with
 * ik_cast or its own engine. The second, ik_place_feet, reads the hits and advances the state by one frame. It writes
 * the pose: an offset of the pelvis, and a rotation for the hip, the knee and the foot of every leg.
 *
 * Stages, per character:
 *   1. Stride: ankles and toes are scaled about the hips along the direction of travel.
 *   2. Contact: a foot is planted when its toe is slow and low, and released when it is fast, high, dragged too far or
 *      out of reach. The thresholds have hysteresis. A contact curve of the caller replaces speed and height. Events
 * are located between frames, so that the result is nearly the same at every frame rate.
 *   3. Support: the height of the ground under the foot, compared with the floor of the animation. A planted foot has
 *      that of its foothold. A swinging foot follows the upper convex hull of the ground between its last foothold and
 *      the next one. The hull is raised by the clearance where the ground is above the line between both. Without
 * ground in reach a foot keeps to the animation: its leg bends as it does there.
 *   4. Pelvis: a critically damped spring follows the supports of the feet, and sinks so that they stay within reach.
 *   5. Foot: the sole is turned to the slope, about the toe; then ik_two_bone.
 *
 * Lengths and speeds of the settings are for a leg of 0.87 m (hip to ankle) and scale with the leg. `floor` is the
 * height of the ground in the animation, above the origin of the character. Points of a character are relative to its
 * origin, which is in doubles: so floats are exact enough anywhere in the world. Rays, hits and the state are doubles
 * in world space. */
#ifndef IK_FEET_H
#define IK_FEET_H

#include "ik.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, default, sentence) */
#define IK_FOOT_SETTINGS(X)                                                                                            \
    X(plant_speed, 0.15, "m/s: a toe slower than this may be planted")                                                 \
    X(plant_height, 0.05, "m above the floor: a toe lower than this may be planted")                                   \
    X(release_speed, 0.30, "m/s: a planted toe faster than this is released")                                          \
    X(release_height, 0.08, "m: a planted toe higher than this is released")                                           \
    X(release_radius, 0.20, "m: a planted toe is released if the animation is farther away than this, horizontally")   \
    X(release_half_life, 0.04, "s: half-life of the horizontal offset of a released foot")                             \
    X(swing_half_life, 0.05, "s: half-life of changes of the planned swing, and of errors at landing")                 \
    X(clearance, 0.07, "m between the toe's path and obstacles; values below 0.03 count as 0.03")                      \
    X(max_step, 0.50, "m: ground farther above or below the current support is ignored")                               \
    X(max_slope, 0.8726646259971648, "radians: steeper ground is ignored")                                             \
    X(align, 1.0, "0 to 1: share of the slope that the sole takes")                                                    \
    X(max_pitch, 0.6981317007977318, "radians: greatest slope of the sole from heel to toe")                           \
    X(max_roll, 0.3490658503988659, "radians: greatest slope of the sole across")                                      \
    X(pelvis_half_life, 0.075, "s: half-life of the pelvis spring")                                                    \
    X(pelvis_max_offset, 1e9, "m: greatest offset of the pelvis up or down")                                           \
    X(max_extension, 0.999, "share of the leg's length within which the pelvis keeps the feet")                        \
    X(stride_uphill, 0.0, "share by which strides shorten on a slope of 45 degrees up")                                \
    X(stride_downhill, 0.0, "share by which strides shorten on a slope of 45 degrees down")                            \
    X(lean_uphill, 0.3, "share of an ascent by which the body leans forwards")                                         \
    X(lean_downhill, 0.5, "share of a descent by which the body leans backwards")                                      \
    X(lean_half_life, 0.20, "s: half-life of the lean, and of the estimated velocity")

typedef struct ik_foot_settings {
    double up[3]; /* unit vector */
#define IK_FOOT_SETTING(name, value, sentence) double name;
    IK_FOOT_SETTINGS(IK_FOOT_SETTING)
#undef IK_FOOT_SETTING
} ik_foot_settings;

/* The defaults; up is +Y. */
ik_foot_settings ik_foot_settings_default(void);

/* The state of a foot, and of a character: plain numbers, all 0 before the first frame. Copies save and restore it.
 * Positions are in world space, heights along up. ONE(name), SOME(name, count) */
#define IK_FOOT_STATE(ONE, SOME)                                                                                       \
    ONE(planted)      /* 1: planted */                                                                                 \
    ONE(waits)        /* 1: was released while in contact, so it is planted again only after it was lifted */          \
    SOME(foothold, 3) /* planted: place of the toe; swinging: where it was before */                                   \
    SOME(tilt, 3)     /* gradient of the sole there: rise per length, as a horizontal vector */                        \
    ONE(ray_height)   /* height of the hit below the foothold */                                                       \
    SOME(offset, 3)   /* horizontal offset of a released foot, which fades */                                          \
    SOME(offset_speed, 3)                                                                                              \
    SOME(plan, 4)     /* planned support height and gradient of the last frame */                                      \
    SOME(residual, 4) /* what is added to the plan, and fades */                                                       \
    SOME(residual_speed, 4)                                                                                            \
    ONE(elapsed)     /* s since the swing began */                                                                     \
    SOME(landing, 3) /* the caller's, in the last frame */                                                             \
    ONE(due)         /* and the seconds until then; 0: none */                                                         \
    ONE(slowest)     /* m/s: least speed of the toe since it was planted */                                            \
    ONE(swing_time)  /* s that the last swing took; 0: not known */                                                    \
    ONE(ahead)       /* m from the hip to the toe at the last landing, along the direction of travel */                \
    ONE(beside)      /* and across it */                                                                               \
    SOME(toe, 3)     /* of the animation in the last frame */                                                          \
    SOME(toe_velocity, 3)                                                                                              \
    ONE(height)        /* of the toe above the floor in the last frame */                                              \
    ONE(height_before) /* and half a frame before it */                                                                \
    ONE(contact)       /* the caller's, in the last frame */
#define IK_BODY_STATE(ONE, SOME)                                                                                       \
    ONE(started) /* 1: there was a frame before */                                                                     \
    ONE(support) /* height of the pelvis spring: the floor that the body stands on */                                  \
    ONE(support_speed)                                                                                                 \
    ONE(support_target)                                                                                                \
    ONE(drop) /* what the pelvis sinks below that, so that legs reach */                                               \
    ONE(drop_speed)                                                                                                    \
    ONE(drop_target)                                                                                                   \
    ONE(shown)        /* support - drop */                                                                             \
    SOME(hips, 3)     /* mean of the hips in the last frame */                                                         \
    ONE(moves)        /* 1: the velocity is known */                                                                   \
    SOME(velocity, 3) /* horizontal */                                                                                 \
    SOME(slope, 3)    /* gradient of the ground under the feet */                                                      \
    SOME(slope_speed, 3)                                                                                               \
    SOME(slope_target, 3)                                                                                              \
    ONE(dt) /* of the last frame */

#define IK_STATE_NUMBER(name)         double name;
#define IK_STATE_NUMBERS(name, count) double name[count];
typedef struct ik_foot_state {
    IK_FOOT_STATE(IK_STATE_NUMBER, IK_STATE_NUMBERS)
} ik_foot_state;
typedef struct ik_body_state {
    IK_BODY_STATE(IK_STATE_NUMBER, IK_STATE_NUMBERS)
} ik_body_state;
#undef IK_STATE_NUMBER
#undef IK_STATE_NUMBERS

/* Rays of a foot, in this order. Rays that a frame does not need are not chosen. */
enum {
    IK_RAY_TOE,          /* below the toe, of a planted foot below its foothold */
    IK_RAY_HEEL,         /* below the heel */
    IK_RAY_LANDING,      /* below the toe where it is expected to land */
    IK_RAY_LANDING_HEEL, /* below the heel there */
    IK_RAY_PATH,         /* the first of those from the last foothold to the landing */
    IK_PATH_RAYS = 16,
    IK_FOOT_RAYS = IK_RAY_PATH + IK_PATH_RAYS,
    IK_LEGS_MOST = 16 /* of one character */
};

/* One frame of `count` characters with the same number of legs. An ik_lists has an item a character, and a row a leg:
 * the count of `hip` is that of legs, 1 to IK_LEGS_MOST. A character whose input is not finite is NOT_FINITE; with dt
 * of 0 or less, or a leg without length, it is NO_LENGTH. Its pose is then the animation's, and its state stays. */
typedef struct ik_feet_job {
    const ik_foot_settings *settings;
    ik_rows body;   /* ik_body_state of every character, read and written by ik_place_feet */
    ik_lists state; /* ik_foot_state of every leg, likewise */
    ik_rows dt;     /* seconds since the last frame */

    /* The animation. Each frame, in world axes, relative to the origin */
    ik_lists hip, knee, ankle; /* (3) */
    ik_lists toe;              /* (3) point of the sole below the toe joint, or below the ball: the foot pivots there */
    ik_lists heel;             /* (3) optional: point of the sole below the heel */
    ik_lists hinge;            /* (3) optional: axis of the knee, as in ik_two_bone_job */
    ik_lists contact;          /* (1) optional: contact curve, planted above 0.5. NaN: speed and height decide */
    ik_lists landing;      /* (3) optional: where the toe is planted next in the animation. NaN: from the velocity */
    ik_lists landing_time; /* (1) optional: seconds until then. NaN: likewise */

    /* The character */
    ik_rows origin;   /* (3) doubles, optional: world position of the origin */
    ik_rows floor;    /* (1) optional: height of the animation's ground above the origin, along up. Default: 0 */
    ik_rows velocity; /* (3) optional: of the character in world axes. Default: estimated from the hips */
    ik_rows stride;   /* (1) optional: scale of strides. Default: 1 */
    ik_rows grounded; /* char, optional: 0: in the air, feet keep to the animation. Default: 1 */

    /* The rays: rows in the order of characters, legs, rays. ik_foot_rays writes those of `count` characters here;
     * their direction is -up */
    ik_rows ray_origin; /* (3) doubles, world space */
    ik_rows ray_length; /* double */
    ik_rows ray_chosen; /* char */

    /* The hits, as ik_cast gives them. A hit whose point or normal is not finite is none */
    ik_rows hit_point;  /* (3) doubles, world space */
    ik_rows hit_normal; /* (3) doubles, of unit length */

    /* The pose. All outputs are optional */
    ik_rows pelvis;                             /* (3) offset of the pelvis and all that it carries */
    ik_rows lean;                               /* (4) world rotation for a joint above the pelvis, such as the spine */
    ik_lists root_delta, mid_delta, foot_delta; /* (4) as in ik_two_bone_job: local becomes (W^-1 delta W) local */
    ik_lists hip_out, knee_out, ankle_out;      /* (3) by forward kinematics */
    ik_lists toe_out;                           /* (3) the point of the sole */
    ik_lists planted;                           /* char */
    ik_lists status;                            /* int32_t: that of the leg; of the character where it is unusable */
} ik_feet_job;

/* Characters [first, last). Characters do not depend on each other, so ranges may run in several threads. Numbers of
 * the character are floats with _f32; results are computed in doubles. The state is changed by ik_place_feet only. */
void ik_foot_rays_f64(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last);
void ik_foot_rays_f32(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last);
void ik_place_feet_f64(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last);
void ik_place_feet_f32(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last);

#ifdef __cplusplus
}
#endif

#endif
