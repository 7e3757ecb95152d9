/* ikcore: inverse kinematics for characters and chains, in C17 without dependencies.
 *
 * Add all .c files of this folder and its subfolders to a project and include this header. Results are right without
 * any compiler flags; README.md names flags for speed, and the few flags that must not be used. There is no allocation,
 * no printing, and no state except the instruction set in use.
 *
 * Contents
 *   ik_rows, ik_lists       rows of numbers in the caller's memory, and lists of them
 *   enum ik_status          status flags of an item; ik_status_flags for names and sentences
 *   ik_use_isa, ik_isa      the instruction set in use
 *   ik_two_bone_f32, _f64   closed-form limb
 *   ik_two_bone_2d_...      the same in a plane, as joint angles
 *   ik_aim_f32, _f64        one joint points at a target
 *   ik_look_f32, _f64       several joints do so together
 *   ik_spline_f32, _f64     a chain is laid along a curve
 *   ik_spread_twist_...     the twist between two joints is spread over those in between
 *   ik_quat_..._f32, _f64   rotations: multiply to best_fit
 *   ik_limit                the allowed rotations of a joint; ik_limit_project_..., the nearest allowed rotation
 *   ik_joint                mass, preferred rotation and largest step of a joint
 *   ik_skeleton             joints, their parents, rest pose and limits
 *   ik_forward_f32, _f64    forward kinematics: local pose to world
 *   ik_local_f32, _f64      the inverse: world to local pose
 *   ik_carried_f32, _f64    world positions of points carried by joints, and of some joints
 *   ik_goal                 a goal of a pose: position, rotation, distance, balance, in levels
 *   ik_solve_job            poses and goals; ik_solve_check, ik_fabrik_f32, _f64, ik_dls_..., their options;
 *                           ik_limbs_..., ik_aims_...: limb and aim on skeletons
 *   ik_ray_tree             triangles; ik_cast, nearest hits of rays with triangles and planes
 *   ik_table                rows of numbers; ik_nearest, the rows nearest to a query
 *   ik_smooth               smooth curves over whole clips, within bounds
 *   ik_place_feet           feet frame by frame, for crowds: in ik_feet.h, which this file includes
 *
 * Conventions: right-handed; quaternions (w, x, y, z), Hamilton, a*b applies b first; radians; any unit of length.
 * Every row that is not called optional must be given. A solver then never fails: it writes a status per item. status 0
 * means error <= tolerance * reach, judged by forward kinematics of the pose that is returned. The same input gives the
 * same bits on every instruction set, compiler, batch size and thread, whatever floating-point mode the calling thread
 * has set; that mode is restored.
 *
 * Switches: macros to define for all files alike (cc -DIK_NO_AVX512). Results have the same bits with each of them.
 *   IK_NO_F32, IK_NO_F64    leave out a type of number; limbs and aims on skeletons, clips and rays need doubles
 *   IK_NO_BASE              leaves out the kernels on 16-byte vectors (NEON; x86-64 has none)
 *   IK_NO_AVX2              leaves out those on 32-byte vectors
 *   IK_NO_AVX512            leaves out those on 64-byte vectors
 *   IK_NO_HEURISTIC         leaves out fabrik, follow, circle, spring and ccd
 *   IK_NO_JACOBIAN          leaves out dls and the methods after it in IK_METHODS
 *   IK_NO_SKELETON          leaves out skeletons: forward kinematics, limits, all methods, limbs and aims on skeletons
 *   IK_NO_CLIPS             leaves out clips: ik_smooth, and what baking of feet needs
 *   IK_NO_RAYS              leaves out triangles and rays
 *   IK_ONLY_LIMB            leaves out all but ik_two_bone and ik_two_bone_2d
 *   IK_QUICK                for development: compiles in half the time, runs at about half the speed
 * A function that is left out is an undefined reference where it is called. */
#ifndef IK_H
#define IK_H

#include <stddef.h>
#include <stdint.h>

#ifdef IK_ONLY_LIMB
#undef IK_NO_SKELETON
#define IK_NO_SKELETON
#endif
#ifdef IK_NO_SKELETON
#undef IK_NO_HEURISTIC
#undef IK_NO_JACOBIAN
#define IK_NO_HEURISTIC
#define IK_NO_JACOBIAN
#endif
#if defined(IK_ONLY_LIMB) || defined(IK_NO_F64)
#undef IK_NO_CLIPS
#undef IK_NO_RAYS
#define IK_NO_CLIPS
#define IK_NO_RAYS
#endif
#if defined(IK_NO_F32) && defined(IK_NO_F64)
#error "IK_NO_F32 and IK_NO_F64: expected at most one of them, for there has to be a type of number"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of numbers. Row i of item `data` starts i * stride bytes after it; neighbouring numbers of a row are `step`
 * bytes apart. A step of 0 means packed (the size of a number). A stride of 0 gives every item the same row. A NULL
 * `data` means that an optional input is not given, or that an output is not wanted. Every number must be aligned for
 * its type. Inputs are never written. In a job with frames, the rows of a frame start `frame` bytes after those of the
 * frame before. */
typedef struct ik_rows {
    void *data;
    ptrdiff_t stride;
    ptrdiff_t step;
    ptrdiff_t frame;
} ik_rows;

/* Bytes from one number of a row to the next; a number has `size` bytes. */
static inline ptrdiff_t ik_step(const ik_rows *rows, size_t size) { return rows->step ? rows->step : (ptrdiff_t)size; }

/* A list of `count` rows for every item: row k of an item starts k * next bytes after its first, which is in `rows`. */
typedef struct ik_lists {
    ik_rows rows;
    ptrdiff_t next;
    ptrdiff_t count;
} ik_lists;

/* Status flags, one 32-bit integer per item. Several flags below IK_UNUSABLE may be set together; the item then has a
 * valid pose. A flag from IK_UNUSABLE up means that the input cannot be used; the pose is then that of the input.
 * X(name, value, sentence) */
#define IK_STATUS_FLAGS(X)                                                                                             \
    X(TOO_FAR, 1 << 0, "the target is beyond the reach of the chain")                                                  \
    X(TOO_NEAR, 1 << 1, "the target is nearer to the root than the chain can fold")                                    \
    X(POLE_UNDEFINED, 1 << 2,                                                                                          \
      "the pole (or bend, or the pose, if that is all there is) does not say which way to bend, so the next best did") \
    X(AT_LIMIT, 1 << 3, "a limit of a joint keeps the chain from the target")                                          \
    X(SOFTENED, 1 << 4, "the target is in the soft zone near full reach, so the chain stays a little short of it")     \
    X(PARTIAL_INFLUENCE, 1 << 5, "an influence is below 1, so the pose is between the one without and the solution")   \
    X(STALLED, 1 << 6, "the iterations came to a standstill short of the target")                                      \
    X(ITERATION_LIMIT, 1 << 7, "the iterations ended before the target was reached, or the best curve found")          \
    X(CONFLICT, 1 << 8, "goals (or bounds) contradict each other, so the result is between them, by what they weigh")  \
    X(LEVEL, 1 << 9, "a goal gives way to goals of a level before its own")                                            \
    X(OFF_BALANCE, 1 << 10, "the centre of mass is outside of where it should be")                                     \
    X(TOO_FAST, 1 << 11, "a joint may not move as fast as the target asks for")                                        \
    X(TOO_SHORT, 1 << 12, "the curve is shorter than the chain, whose rest goes straight on")                          \
    X(INPUT_OUTSIDE, 1 << 13, "the pose that came in breaks the limit of a joint, which was moved into its limit")     \
    X(NOT_FINITE, 1 << 16, "an input is NaN, infinite or too large to compute with, so what came in is not changed")   \
    X(NO_LENGTH, 1 << 17, "the chain, its curve or a plane's normal has no length, so the input pose is returned")

#define IK_STATUS_MEMBER(name, value, sentence) IK_##name = value,
enum ik_status { IK_STATUS_FLAGS(IK_STATUS_MEMBER) IK_UNUSABLE = 1 << 16 };
#undef IK_STATUS_MEMBER

typedef struct ik_status_flag {
    const char *name;
    const char *sentence;
    int32_t value;
} ik_status_flag;

/* Every flag in ascending order of value, ended by a flag without a name. */
extern const ik_status_flag ik_status_flags[];

/* The instruction set in use: "scalar", "base" (16-byte vectors: SSE2, NEON), "avx2" or "avx512". All give the same
 * bits. The best one is chosen on first use. A call of ik_use_isa("avx2") chooses avx2, or the next lower one that is
 * compiled and that this processor has. NULL returns to the best. Returns the name now in use, or NULL for an unknown
 * name, which changes nothing. Safe from any thread. A running batch keeps its instruction set; for curves, those that
 * are solved together keep theirs. */
const char *ik_use_isa(const char *name);
const char *ik_isa(void);

/* The limb: two bones, root-mid and mid-end, reach for a target by turning at root and mid. Closed form, exact wherever
 * the target can be reached; elsewhere the limb stretches straight or folds towards it.
 *
 * The limb bends towards `pole`, a point; if there is none, or it is on the line through root and target, towards
 * `bend`, a direction. Otherwise it keeps its present bend, carried along by the shortest arc from the old root-end
 * line to the new one. A straight limb without any of these bends in a fixed direction.
 *
 * root_delta and mid_delta are world-space rotations to apply to the input pose. Let W be the world rotation of a
 * joint's parent in that pose. The joint's local rotation becomes (W^-1 delta W) local. The mid bone has then turned by
 * root_delta * mid_delta. The mid joint turns about the limb's own hinge, so the bones keep their twist; a straight
 * limb has no hinge yet and the root takes the shortest arc. Deltas have w >= 0.
 *
 * A degenerate input still has one answer: a target on the root is approached along the old root-end line, a bone of
 * length zero leaves a limb of one bone. A limb of two such bones is NO_LENGTH.
 *
 * The options are (1) each; one that is not given has its default and costs nothing. Order: the bones stretch, the
 * distance to the target is softened, then kept within the bend limits; the limb is solved, twisted, and its influence
 * applied. */
typedef struct ik_two_bone_job {
    ik_rows root, mid, end; /* (3) positions of the pose that comes in */
    ik_rows target;         /* (3) where the end should go */
    ik_rows pole;           /* (3) optional: the point the limb bends towards */
    ik_rows bend;           /* (3) optional: the direction it bends towards where pole does not say; any length */
    ik_rows hinge;         /* (3) optional: the axis it bends about, any length: turning bone 2 about it bends the limb.
                              Tells forwards from backwards, and which way a limb bends that is straight (within 0.06
                              degrees) */
    ik_rows twist;         /* 0: radians that the limb turns about the line from root to target, after the pole */
    ik_rows influence;     /* 1: the share of the rotations and of the stretch that is applied, 0 to 1, by (normalised)
                              linear interpolation from none. At 0 nothing moves, whatever the target, pole or bend, and
                              these need not be finite */
    ik_rows soften;        /* 1: the share of the reach where it starts to give, 0 to 1: beyond, the limb approaches
                              full extension smoothly and never reaches it, so that the knee does not snap */
    ik_rows stretch_start; /* 1: the share of the reach from which the bones lengthen */
    ik_rows stretch_max;   /* 1: the most they lengthen by; 1 = not at all. At this multiple of the reach the limb is
                              straight */
    ik_rows min_bend;      /* 0: the angle between bone 1 and bone 2 (0 = straight) is at least this, radians */
    ik_rows max_bend;      /* pi: and at most this */
    ik_rows root_delta;    /* (4) */
    ik_rows mid_delta;     /* (4) */
    ik_rows positions[3];  /* (3) each: root, mid and end afterwards, by forward kinematics from the deltas */
    ik_rows status;        /* int32_t */
    ik_rows error;         /* distance from end to target afterwards; NaN where an input is not finite */
    ik_rows flip;    /* 0 to pi/2: the angle from the line through root and target to the pole or bend in use. At 0 the
                        limb would flip. pi/2 if neither is given, NaN if an input is not finite */
    ik_rows stretch; /* the factor of the bone lengths */
} ik_two_bone_job;

/* Solve `count` items of doubles, or floats. Tolerance of status 0: 1e-12 of the reach, or 1e-5. An output may be the
 * very rows of an input, but must not overlap one in any other way. */
void ik_two_bone_f64(const ik_two_bone_job *job, ptrdiff_t count);
void ik_two_bone_f32(const ik_two_bone_job *job, ptrdiff_t count);

/* The limb in its plane, as joint angles: the first turns bone 1 from the x axis, the second bone 2 from bone 1, both
 * counter-clockwise. There are two branches: angles[0] bends counter-clockwise (second angle 0 to pi), angles[1] the
 * other way; a straight or folded limb has both in one. A target on the root counts as lying along x. */
typedef struct ik_two_bone_2d_job {
    ik_rows length1, length2; /* 0 or more; a sign is ignored */
    ik_rows target;           /* (2) from the root */
    ik_rows angles[2];        /* (2) each, radians; NaN where the input cannot be used */
    ik_rows status;           /* int32_t */
    ik_rows error;            /* distance from the end to the target */
} ik_two_bone_2d_job;

/* Tolerance of status 0 as for ik_two_bone. */
void ik_two_bone_2d_f64(const ik_two_bone_2d_job *job, ptrdiff_t count);
void ik_two_bone_2d_f32(const ik_two_bone_2d_job *job, ptrdiff_t count);

/* Aiming: one joint turns so that an axis of it points at the target, as a head, an eye or a gun does. The axis is a
 * ray from `offset`, which need not be the joint's position, along `forward`; both are in the joint's own space, as
 * `up` is.
 *
 * The joint turns by the shortest arc. If `up` and `pole` (a point) are given, it also turns about the line from joint
 * to target, until up is on the pole's side of it. If either is on that line, it does not (POLE_UNDEFINED).
 *
 * A target nearer to the joint than the distance of the ray cannot be hit (TOO_NEAR). A ray that comes towards the
 * joint then passes the target as near as it can; a ray that leads away has the target behind it. For a target on the
 * joint every ray counts as pointing: only pole and twist turn it. A forward axis of length zero is NO_LENGTH.
 *
 * delta is the world-space rotation to apply: with W the joint's world rotation, that becomes delta W. w >= 0. */
typedef struct ik_aim_job {
    ik_rows position;  /* (3) of the joint, in the world */
    ik_rows rotation;  /* (4) of the joint, in the world; of any length, zero is none */
    ik_rows target;    /* (3) a point in the world */
    ik_rows forward;   /* (3) the axis to aim, in the joint's space, any length */
    ik_rows offset;    /* (3) optional: where the axis starts, in the joint's space */
    ik_rows up;        /* (3) optional: the axis to keep towards the pole, in the joint's space, any length */
    ik_rows pole;      /* (3) optional, with up: a point in the world */
    ik_rows twist;     /* 0: radians that the joint turns about the line from joint to target, after the pole */
    ik_rows influence; /* 1: as in ik_two_bone_job */
    ik_rows delta;     /* (4) */
    ik_rows status;    /* int32_t */
    ik_rows error;     /* the angle left between the ray and the direction from its start to the target, radians */
} ik_aim_job;

/* Tolerance of status 0: 1e-12 radians, or 1e-5, where the ray starts nearer to the joint than a tenth of the target's
 * distance; growing with that. */
void ik_aim_f64(const ik_aim_job *job, ptrdiff_t count);
void ik_aim_f32(const ik_aim_job *job, ptrdiff_t count);

/* Aiming over several joints: spine, neck and head turn together so that an axis of the last joint points at the
 * target. The axis is a ray as in ik_aim_job: `rotation`, `forward`, `offset` and `up` belong to the last joint.
 *
 * `joints` are listed from the root to the tip; joints between two of them move along with the first. Each takes a
 * share of the turn by its weight, by the shortest arc. If `up` and `pole` are given, it also takes a share of a roll
 * about the line to the target from the last joint with a weight. The roll brings up to the pole's side (POLE_UNDEFINED
 * as in ik_aim_job). The ray then meets the target exactly, except if the target is nearer to that last joint than the
 * ray is (TOO_NEAR). One joint alone turns as ik_aim turns it.
 *
 * Given `reference`, the ray stays within a cone about it, of (1 - clamp) pi to each side. A target outside is looked
 * at as far as the cone allows (AT_LIMIT); a clamp_start below 1 lets the ray give way smoothly before (SOFTENED) and
 * never reach the cone. Exactly opposite the reference it goes to one side: about up, if that is given, else always the
 * same.
 *
 * A forward axis of length zero, or no joint, is NO_LENGTH. If no joint has a weight nothing moves
 * (PARTIAL_INFLUENCE).
 *
 * Every delta is a world-space rotation for the pose that came in, as in ik_two_bone_job: joint k, with all that hangs
 * on it, has then turned by delta 0 * delta 1 * ... * delta k. w >= 0. */
typedef struct ik_look_job {
    ik_lists joints;   /* (3) positions in the world */
    ik_rows rotation;  /* (4) of the last joint, in the world; of any length, zero is none */
    ik_rows target;    /* (3) a point in the world */
    ik_rows forward;   /* (3) the axis to aim, in the last joint's space, any length */
    ik_lists weights;  /* numbers, as many as joints; count 0: all 1. A negative one counts as 0 */
    ik_rows offset;    /* (3) optional: where the axis starts, in the last joint's space */
    ik_rows up;        /* (3) optional: the axis to keep towards the pole, in the last joint's space, any length */
    ik_rows pole;      /* (3) optional, with up: a point in the world */
    ik_rows reference; /* (3) optional: the middle of the cone, a direction in the world; zero: no cone */
    ik_rows clamp;     /* 0: how narrow the cone is, 0 to 1: 0 is free, 0.5 a quarter turn each side, 1 the reference */
    ik_rows clamp_start; /* 1: the share of the cone's angle where the ray starts to give, 0 to 1 */
    ik_rows influence;   /* 1: as in ik_two_bone_job, for each delta */
    ik_lists deltas;     /* (4) must be given, and overlap no input: the solver's memory */
    ik_lists positions;  /* (3) afterwards, by forward kinematics from the deltas */
    ik_rows status;      /* int32_t */
    ik_rows error;       /* the angle left between the ray and the direction from its start to the target, radians */
} ik_look_job;

/* Tolerance of status 0 as for ik_aim, growing with the chain's length over the distance from the ray to the target. */
void ik_look_f64(const ik_look_job *job, ptrdiff_t count);
void ik_look_f32(const ik_look_job *job, ptrdiff_t count);

/* A chain laid along a curve: a tail, a spine, a rope. The root stands at the curve's start, and every other joint at
 * the first place further on where the curve is a bone's length away from the joint before. If the curve is shorter
 * than the chain, the other bones continue straight along its end (TOO_SHORT).
 *
 * The curve is a chain of cubic Bezier pieces that share their ends: start, two handles, end and so on, 1 + 3 pieces
 * points. It is searched in sixteen steps per piece. A crossing out of and back into range within one step is not
 * found.
 *
 * From bone to bone the chain turns by the shortest arc, so that it never rolls of itself. The roll about the bones is
 * that of the first, that of the last less it shared out by the length in between, and the tilt where a bone begins. An
 * axis is a direction fixed to the first or to the last bone, in the world of the input pose. The roll of that bone
 * brings it to the side of `up`, a direction in the world. If that is undefined (either may be along the bone) the axis
 * counts as not given (POLE_UNDEFINED). The last without the first rolls from 0 on, the first without the last rolls
 * all bones alike, a single bone has the roll of the last.
 *
 * Given shares, the chain is stretched over the whole curve instead, measured along it: bone k gets the share that its
 * number has in their sum. A bone that has no length keeps none.
 *
 * Every delta is a world-space rotation for the pose that came in, as in ik_look_job: joint k, with all that hangs on
 * it, has then turned by delta 0 * delta 1 * ... * delta k. w >= 0. The last joint follows the last bone: its delta is
 * none. A chain without length is NO_LENGTH, and so is one that is to be stretched over a curve without. */
typedef struct ik_spline_job {
    ik_lists joints;     /* (3) positions in the world, from the root to the tip */
    ik_lists curve;      /* (3) its points, 4 or more */
    ik_lists shares;     /* numbers, as many as joints, the last of which counts for nothing; count 0: bones keep their
                            lengths. A negative one counts as 0 */
    ik_lists tilts;      /* radians, one for every end of a piece; count 0: 0. Between them as the curve's parameter */
    ik_rows root_weight; /* 1: the share of the way to the curve's start that the root goes, 0 to 1. For the rest the
                            curve comes to the root */
    ik_rows start_axis;  /* (3) optional: a direction in the world, any length */
    ik_rows start_up;    /* (3) optional, with start_axis; any length */
    ik_rows end_axis;    /* (3) likewise of the last bone */
    ik_rows end_up;      /* (3) */
    ik_lists deltas;     /* (4) these three must be given, and overlap no input: the solver's memory */
    ik_lists positions;  /* (3) afterwards, by forward kinematics from deltas, the root's place and stretches */
    ik_lists stretches;  /* numbers: of every bone the factor of its length; of the last joint 1 */
    ik_rows status;      /* int32_t */
    ik_rows error; /* largest distance from a joint to its point on the moved curve, or to the curve's end for joints
                      beyond it */
} ik_spline_job;

/* Tolerance of status 0: 1e-12 of the size of chain and curve, the larger of the two, or 1e-5. */
void ik_spline_f64(const ik_spline_job *job, ptrdiff_t count);
void ik_spline_f32(const ik_spline_job *job, ptrdiff_t count);

/* Twist spread along a chain, as in forearms and spines: the total twist of the joints after the first about their
 * bones is distributed among them by their weights. The first and the last joint keep their world rotation, and every
 * bone its direction: the joints in between only roll about their bones.
 *
 * A joint's twist is that of rest^-1 local about its own bone, from -pi to pi; beyond pi it jumps to -pi. After a swing
 * of half a turn the twist is 0. Bones in line at rest get exactly the distributed twists, to rounding. Other bones get
 * them approximately, the better the straighter the chain is. */
typedef struct ik_spread_twist_job {
    ik_lists rotations; /* (4) local, of joints each the child of the one before, from the root on; of any length */
    ik_lists rests;     /* (4) the same at rest */
    ik_lists axes; /* (3) direction of each joint's bone, in its own space, of any length. A zero one, usually the last,
                      continues the bone before; if all are zero the item has NO_LENGTH */
    ik_lists weights; /* numbers, as many; the first is ignored. count 0: equal weights. A negative one counts as 0. If
                         all are 0 nothing moves (PARTIAL_INFLUENCE) */
    ik_lists solved;  /* (4) local; may be the very rows of rotations */
    ik_lists twists;  /* numbers: the twist given to each joint, radians; 0 for the first */
    ik_rows status;   /* int32_t */
} ik_spread_twist_job;

void ik_spread_twist_f64(const ik_spread_twist_job *job, ptrdiff_t count);
void ik_spread_twist_f32(const ik_spread_twist_job *job, ptrdiff_t count);

/* Rotations, as quaternions (w, x, y, z) of any length; zero stands for no rotation. A quaternion whose squared length
 * is 1 within a few roundings is used unchanged; any other is normalised first. Only multiply and conjugate are the
 * plain products. Results have unit length. An item with a NaN or infinity in any of its inputs has NaN in all of its
 * outputs. A direction that the input does not define is always the same one.
 *
 * "canonical" below: w >= 0; if w is 0, the first nonzero one of x, y, z is positive. */

/* Two quaternions: a * b, which applies b first. */
typedef struct ik_quat_multiply_job {
    ik_rows a, b, product; /* (4) */
} ik_quat_multiply_job;

/* Conjugate: the inverse of a unit quaternion. Normalize: the same rotation with unit length. Canonical: normalised and
 * canonical. */
typedef struct ik_quat_conjugate_job {
    ik_rows q, out; /* (4) */
} ik_quat_conjugate_job;
typedef ik_quat_conjugate_job ik_quat_normalize_job, ik_quat_canonical_job;

/* The vector turned. */
typedef struct ik_quat_rotate_job {
    ik_rows q;      /* (4) */
    ik_rows v, out; /* (3) */
} ik_quat_rotate_job;

/* The smallest rotation that takes the direction a to b; the identity for a zero vector. Opposite directions are half a
 * turn about `axis`, made perpendicular to a. If that is impossible, or no axis is given, it is about any
 * perpendicular. */
typedef struct ik_quat_shortest_arc_job {
    ik_rows a, b; /* (3) */
    ik_rows axis; /* (3) optional */
    ik_rows q;    /* (4) w >= 0 */
} ik_quat_shortest_arc_job;

/* Rotation vector (axis times angle) to quaternion: w < 0 beyond half a turn. The inverse gives at most half a turn;
 * for exactly half a turn the canonical one of the two. */
typedef struct ik_quat_exp_job {
    ik_rows v; /* (3) */
    ik_rows q; /* (4) */
} ik_quat_exp_job;
typedef struct ik_quat_log_job {
    ik_rows q; /* (4) */
    ik_rows v; /* (3) */
} ik_quat_log_job;

/* From a (t = 0) to b (t = 1) the shorter way at constant speed, and on beyond; at 0 and 1 exactly a, and b or -b. */
typedef struct ik_quat_slerp_job {
    ik_rows a, b; /* (4) */
    ik_rows t;    /* one number */
    ik_rows q;    /* (4) */
} ik_quat_slerp_job;

/* q = swing * twist or its negative: the twist turns about `axis`, the swing's axis is perpendicular to it. Both have
 * w >= 0. After a swing of half a turn any twist would do, and there is none. */
typedef struct ik_quat_swing_twist_job {
    ik_rows q;            /* (4) */
    ik_rows axis;         /* (3) of any length; zero: no twist */
    ik_rows swing, twist; /* (4) */
} ik_quat_swing_twist_job;

/* A rotation matrix by its rows; it multiplies column vectors. From: canonical; a matrix that is no rotation gives some
 * unit quaternion. */
typedef struct ik_quat_to_matrix_job {
    ik_rows q;         /* (4) */
    ik_rows matrix[3]; /* (3) each */
} ik_quat_to_matrix_job;
typedef struct ik_quat_from_matrix_job {
    ik_rows matrix[3]; /* (3) each */
    ik_rows q;         /* (4) */
} ik_quat_from_matrix_job;

/* Unit axis and angle in [0, pi], about x where there is no rotation; an axis of any length and an angle. */
typedef struct ik_quat_to_axis_angle_job {
    ik_rows q;     /* (4) */
    ik_rows axis;  /* (3) */
    ik_rows angle; /* one number */
} ik_quat_to_axis_angle_job;
typedef struct ik_quat_from_axis_angle_job {
    ik_rows axis;  /* (3) */
    ik_rows angle; /* one number */
    ik_rows q;     /* (4) */
} ik_quat_from_axis_angle_job;

/* The first two columns of the matrix, one after the other (Zhou et al., "On the continuity of rotation representations
 * in neural networks", 2019). From: any two vectors, made perpendicular by Gram and Schmidt; canonical. */
typedef struct ik_quat_to_6d_job {
    ik_rows q;       /* (4) */
    ik_rows columns; /* (6) */
} ik_quat_to_6d_job;
typedef struct ik_quat_from_6d_job {
    ik_rows columns; /* (6) */
    ik_rows q;       /* (4) */
} ik_quat_from_6d_job;

/* Three turns: about axes[0] by the first angle, then about axes[1] as that turn has left it, then so about axes[2].
 * The axes are unit vectors, each perpendicular to its neighbours, so the third is the first again (or its opposite),
 * or perpendicular to both. The angles of a rotation: the outer ones in [-pi, pi], the middle one in [0, pi] where the
 * third axis is the first, else in [-pi/2, pi/2]. If the middle one makes first and third axis coincide (gimbal lock),
 * the third angle is 0. */
typedef struct ik_quat_to_euler_job {
    ik_rows q;       /* (4) */
    ik_rows axes[3]; /* (3) each */
    ik_rows angles;  /* (3) */
} ik_quat_to_euler_job;
typedef struct ik_quat_from_euler_job {
    ik_rows angles;  /* (3) */
    ik_rows axes[3]; /* (3) each */
    ik_rows q;       /* (4) */
} ik_quat_from_euler_job;

/* The rotation about the origin that brings a list of points nearest to its targets: least sum of weight times squared
 * distance, and that distance's weighted root mean square. Never a reflection. If several rotations are equally good
 * (points on a line through the origin, no points at all, a mirror image), it is the smallest of them; canonical. */
typedef struct ik_quat_best_fit_job {
    ik_lists points, targets; /* (3) each; lists of the same count */
    ik_lists weights;         /* numbers, as many; count 0: all 1. A negative one counts as 0 */
    ik_rows q;                /* (4) */
    ik_rows rmsd;             /* one number */
} ik_quat_best_fit_job;

void ik_quat_multiply_f64(const ik_quat_multiply_job *job, ptrdiff_t count);
void ik_quat_multiply_f32(const ik_quat_multiply_job *job, ptrdiff_t count);
void ik_quat_conjugate_f64(const ik_quat_conjugate_job *job, ptrdiff_t count);
void ik_quat_conjugate_f32(const ik_quat_conjugate_job *job, ptrdiff_t count);
void ik_quat_normalize_f64(const ik_quat_normalize_job *job, ptrdiff_t count);
void ik_quat_normalize_f32(const ik_quat_normalize_job *job, ptrdiff_t count);
void ik_quat_canonical_f64(const ik_quat_canonical_job *job, ptrdiff_t count);
void ik_quat_canonical_f32(const ik_quat_canonical_job *job, ptrdiff_t count);
void ik_quat_rotate_f64(const ik_quat_rotate_job *job, ptrdiff_t count);
void ik_quat_rotate_f32(const ik_quat_rotate_job *job, ptrdiff_t count);
void ik_quat_shortest_arc_f64(const ik_quat_shortest_arc_job *job, ptrdiff_t count);
void ik_quat_shortest_arc_f32(const ik_quat_shortest_arc_job *job, ptrdiff_t count);
void ik_quat_exp_f64(const ik_quat_exp_job *job, ptrdiff_t count);
void ik_quat_exp_f32(const ik_quat_exp_job *job, ptrdiff_t count);
void ik_quat_log_f64(const ik_quat_log_job *job, ptrdiff_t count);
void ik_quat_log_f32(const ik_quat_log_job *job, ptrdiff_t count);
void ik_quat_slerp_f64(const ik_quat_slerp_job *job, ptrdiff_t count);
void ik_quat_slerp_f32(const ik_quat_slerp_job *job, ptrdiff_t count);
void ik_quat_swing_twist_f64(const ik_quat_swing_twist_job *job, ptrdiff_t count);
void ik_quat_swing_twist_f32(const ik_quat_swing_twist_job *job, ptrdiff_t count);
void ik_quat_to_matrix_f64(const ik_quat_to_matrix_job *job, ptrdiff_t count);
void ik_quat_to_matrix_f32(const ik_quat_to_matrix_job *job, ptrdiff_t count);
void ik_quat_from_matrix_f64(const ik_quat_from_matrix_job *job, ptrdiff_t count);
void ik_quat_from_matrix_f32(const ik_quat_from_matrix_job *job, ptrdiff_t count);
void ik_quat_to_axis_angle_f64(const ik_quat_to_axis_angle_job *job, ptrdiff_t count);
void ik_quat_to_axis_angle_f32(const ik_quat_to_axis_angle_job *job, ptrdiff_t count);
void ik_quat_from_axis_angle_f64(const ik_quat_from_axis_angle_job *job, ptrdiff_t count);
void ik_quat_from_axis_angle_f32(const ik_quat_from_axis_angle_job *job, ptrdiff_t count);
void ik_quat_to_6d_f64(const ik_quat_to_6d_job *job, ptrdiff_t count);
void ik_quat_to_6d_f32(const ik_quat_to_6d_job *job, ptrdiff_t count);
void ik_quat_from_6d_f64(const ik_quat_from_6d_job *job, ptrdiff_t count);
void ik_quat_from_6d_f32(const ik_quat_from_6d_job *job, ptrdiff_t count);
void ik_quat_to_euler_f64(const ik_quat_to_euler_job *job, ptrdiff_t count);
void ik_quat_to_euler_f32(const ik_quat_to_euler_job *job, ptrdiff_t count);
void ik_quat_from_euler_f64(const ik_quat_from_euler_job *job, ptrdiff_t count);
void ik_quat_from_euler_f32(const ik_quat_from_euler_job *job, ptrdiff_t count);
void ik_quat_best_fit_f64(const ik_quat_best_fit_job *job, ptrdiff_t count);
void ik_quat_best_fit_f32(const ik_quat_best_fit_job *job, ptrdiff_t count);

/* The allowed rotations of a joint relative to rest, rest^-1 local, as a swing after a twist about the x axis of the
 * limit's own frame. A hinge has no swing, a ball has both; an Euler box bounds three angles instead. Limits are
 * relative to rest, never to the start pose. A range of angles may lie anywhere; a range of a whole turn has no effect.
 */
enum ik_limit_kind {
    IK_FREE,
    IK_LOCKED,   /* stays at rest */
    IK_HINGE,    /* twist in its range, no swing */
    IK_BALL,     /* twist in its range; sine of half the swing within an ellipse in each quadrant */
    IK_EULER,    /* angles about three axes, each in its range */
    IK_KUSUDAMA, /* twist in its range; the x axis within a sequence of cones, or on the path from one to the next */
};

/* The most cones of a kusudama. */
enum { IK_CONES = 16 };

/* The directions about an axis. A path connects neighbouring cones of which neither contains the other. On either side
 * it ends at a circle that touches both, with the radius (pi - the sum of their angles) / 2. The path between opposite
 * axes is undefined. */
typedef struct ik_cone {
    double axis[3]; /* of any length */
    double angle;   /* from that to the side, 0 to pi */
} ik_cone;

typedef struct ik_limit {
    enum ik_limit_kind kind;
    double frame[4];       /* of all but LOCKED: the rotation from limit space to the joint's own space at rest */
    double twist[2];       /* HINGE, BALL, KUSUDAMA: lowest and highest angle about x, radians, within [-2 pi, 2 pi] */
    double swing[4];       /* BALL: the most the x axis may lean towards +y, -y, +z, -z of the frame, 0 to pi */
    int axes[3];           /* EULER: 0, 1, 2 for x, y, z; the first turns first, about fixed axes */
    double angles[3][2];   /* EULER: lowest and highest about each of those axes */
    double stiffness[3];   /* about the axes of the frame: 0 moves freely, 1 not at all */
    int slides;            /* not 0: the joint may move along the axes of its parent's space, as far as */
    double position[3][2]; /* lowest and highest say, relative to its offset; infinite: any way. The translation of a
                              root is from offset + lowest to offset + highest, whatever the input pose is. A joint that
                              does not slide keeps its translation */
    double speed[2]; /* largest speed of turns, radians a second, and of slides, lengths a second, in jobs with frames;
                        0: no limit */
    double acceleration[2]; /* largest change of these speeds in a second; 0: no limit */
    int first_cone, cones;  /* KUSUDAMA: its first of the skeleton's cones, whose axes are in the frame, and how many:
                               1 to IK_CONES */
} ik_limit;

/* The allowed rotation nearest to q, of the same sign, and the angle between them. For a ball and a kusudama, twist and
 * swing are each the nearest. A q that is allowed, or outside by no more than rounding, is returned to the bit. A limit
 * is given by its numbers, as in ik_limit; kind and axes are whole numbers. Frame, q and the axes of cones have any
 * length; bounds that are not in order give some rotation. */
typedef struct ik_limit_project_job {
    ik_rows q;               /* (4) relative to rest */
    ik_rows kind;            /* one number */
    ik_rows frame;           /* (4) */
    ik_rows twist;           /* (2) */
    ik_rows swing;           /* (4) */
    ik_rows axes;            /* (3) */
    ik_rows lowest, highest; /* (3) */
    ik_lists cones;          /* (4) axis and angle; those beyond IK_CONES do not count */
    ik_rows projected;       /* (4) */
    ik_rows violation;       /* one number, radians */
} ik_limit_project_job;

void ik_limit_project_f64(const ik_limit_project_job *job, ptrdiff_t count);
void ik_limit_project_f32(const ik_limit_project_job *job, ptrdiff_t count);

/* Properties of a joint that do not move it by themselves. */
typedef struct ik_joint {
    double mass;         /* of the body fixed to this joint, without joints below; any unit, 0: none */
    double centre[3];    /* of that mass, in the joint's space */
    double inertia[6];   /* of that mass about its centre, along the axes of the joint: xx yy zz xy xz yz, in mass times
                            length squared; 0: a point mass */
    double preferred[4]; /* the local rotation that it turns to in the null space of goals, of unit length */
    double compliance; /* how far the joint opens under a force that pulls it apart, length per unit of force; 0: not at
                          all. For methods with masses */
    double cap; /* its largest turn per visit of a method that turns one joint after the other, radians; 0: unlimited */
} ik_joint;

/* A skeleton: joints with parents, in any order. Everything is in the space of the joint's parent; that of a root in
 * the world. A pose gives every joint a local rotation, and optionally a translation (in place of the offset) and a
 * scale. */
typedef struct ik_skeleton {
    int count;
    const int *parents;     /* -1: a root */
    const int *order;       /* the joints, every parent before its children, as ik_skeleton_order finds them, */
    const int *rank;        /* and the index of every joint in that */
    const double *offsets;  /* (3) each: position of the joint at rest */
    const double *rests;    /* (4) each: its local rotation at rest, of unit length */
    const ik_limit *limits; /* one each; NULL: all free */
    const ik_joint *joints; /* one each; NULL: no masses, no caps, and rest is preferred */
    const ik_cone *cones;   /* of all limits that are kusudamas, */
    int cone_count;         /* and how many */
} ik_skeleton;

/* Fills in `order` and `rank`: every parent before its children, otherwise ascending. Returns `count`, or else a joint
 * that has no place, because its parent is not a joint or it is an ancestor of itself. */
int ik_skeleton_order(int count, const int *parents, int *order, int *rank);

/* Forward kinematics. A list has a row for every joint of the skeleton, whatever its count says. As in glTF a joint's
 * matrix is that of its parent times translation, rotation and scale, so a child of a joint with uneven scale may be
 * sheared. Its position is the image of the origin. Its rotation is the product of the local rotations. In poses with
 * scales it is the rotation nearest to the matrix (the polar factor). If several are equally near, as for a mirrored or
 * flattened joint, it is the one nearest to the parent's rotation times the local one.
 *
 * World rotations have unit length. Local ones may have any; zero is none. A NaN or infinity makes NaN of everything
 * that depends on it: the joint's own rotation or position, and all of its descendants. */
typedef struct ik_forward_job {
    const ik_skeleton *skeleton;
    ik_lists rotations;       /* (4) local */
    ik_lists translations;    /* (3) optional: in place of the offsets */
    ik_lists scales;          /* (3) optional: 1 */
    ik_lists positions;       /* (3) in the world */
    ik_lists world_rotations; /* (4) */
    void *scratch;            /* ik_forward_scratch bytes that no other thread uses meanwhile */
} ik_forward_job;

/* The bytes of scratch memory for a skeleton of so many joints. */
size_t ik_forward_scratch(int count);

/* The inverse of forward kinematics: the local rotations and translations that, without scales, give these world
 * rotations and positions. A NaN or infinity makes NaN of a joint and of its children where they depend on it. */
typedef struct ik_local_job {
    const ik_skeleton *skeleton;
    ik_lists world_rotations; /* (4) of any length, zero is none */
    ik_lists positions;       /* (3) in the world */
    ik_lists rotations;       /* (4) local */
    ik_lists translations;    /* (3) */
} ik_local_job;

/* World positions and rotations of some joints, and positions of points fixed to joints, as if they were children. Only
 * the joints that `order` lists, up to `count`, are read: they must include all ancestors of these joints. */
typedef struct ik_carried_job {
    ik_forward_job forward;    /* its positions and world_rotations have a row for each of `wanted`, */
    const ptrdiff_t *wanted;   /* as many joints as `positions.count` says */
    const ptrdiff_t *carriers; /* a joint for each point, as many as `places.count` says, */
    const double *offsets;     /* (3) each: where the point is in its space, */
    ik_lists places;           /* (3) and in the world */
} ik_carried_job;

/* An output may be the very rows of an input, but must not overlap one in any other way; those of ik_carried not at
 * all. */
void ik_forward_f64(const ik_forward_job *job, ptrdiff_t count);
void ik_forward_f32(const ik_forward_job *job, ptrdiff_t count);
void ik_local_f64(const ik_local_job *job, ptrdiff_t count);
void ik_local_f32(const ik_local_job *job, ptrdiff_t count);
void ik_carried_f64(const ik_carried_job *job, ptrdiff_t count);
void ik_carried_f32(const ik_carried_job *job, ptrdiff_t count);

/* Kinds of goals. X(name, numbers of its error, sentence) */
#define IK_GOAL_KINDS(X)                                                                                               \
    X(PLACE, 3, "a joint, or a point fixed to it, is somewhere")                                                       \
    X(TURN, 3, "a joint is turned some way")                                                                           \
    X(LOOK, 3, "an axis fixed to a joint points at a place")                                                           \
    X(DISTANCE, 1, "a point fixed to a joint is so far from another")                                                  \
    X(CENTRE_OF_MASS, 3, "the centre of mass of all joints is somewhere")                                              \
    X(INSIDE, 1, "a point fixed to a joint, or the centre of mass, is on one side of a plane")                         \
    X(OUTSIDE, 1, "the bone to a joint, or to a point fixed to it, is clear of a capsule")                             \
    X(POSTURE, 0, "a joint is turned some way, as far as all other goals leave that open")

#define IK_GOAL_MEMBER(name, numbers, doc) IK_##name,
enum ik_goal_kind { IK_GOAL_KINDS(IK_GOAL_MEMBER) IK_GOAL_KIND_COUNT };
#undef IK_GOAL_MEMBER

/* Rows that a goal has for every item. X(name, columns, sentence) */
#define IK_GOAL_ROWS(X)                                                                                                \
    X(position, 3, "where: the place, the point to look at or to be far from, or a point of the plane or capsule")     \
    X(rotation, 4, "how turned, of any length")                                                                        \
    X(normal, 3, "of the plane, towards the side to be on, of any length")                                             \
    X(end, 3, "where the axis of the capsule ends that starts at the position")                                        \
    X(distance, 1, "how far: from the other point (below 0 is never met), or at least from the plane or the axis")     \
    X(weight, 1,                                                                                                       \
      "1: how much it counts beside other goals of its level; only the ratio matters. 0: not at all, NaN or not, and " \
      "so a negative one; one that is not finite makes the item NOT_FINITE. Of a posture the share of the way there, " \
      "0 to 1, in an iteration")                                                                                       \
    X(pole, 3,                                                                                                         \
      "a point that the chain bends towards. The first joint that turns must do so freely, and nothing else hang "     \
      "from it: it turns about the line to the end")

/* A goal. Its kind says which rows it needs; rows in brackets are optional. All other rows must not be given, and other
 * fields are not read.
 *
 *   kind            rows                            and
 *   PLACE           position [weight pole]          joint chain offset level, relative other other_chain
 *   TURN            rotation [weight]               the same
 *   LOOK            position [weight]               the same, other_offset axis; needs poses without scales, but of
 *                                                   ik_aims, which alone takes its pole, with up
 *   DISTANCE        position distance [weight]      the same, other_offset
 *   CENTRE_OF_MASS  position [weight]               chain level
 *   INSIDE          position normal [distance weight]   joint chain offset level
 *   OUTSIDE         position distance [end weight]  the same; the bone is the straight line from the joint above, or,
 *                                                   with an offset, from the joint itself
 *   POSTURE         [rotation weight]               joint; chain must lead to it, but nothing moves
 *
 * A relative goal is seen from another joint. A PLACE has its position, and a TURN its rotation, in the space of
 * `other`. A LOOK or a DISTANCE has the point `other_offset` of that joint and no position. Defaults: 0 for the
 * distance of an INSIDE, the position for the end of an OUTSIDE, the preferred rotation of the joint for a POSTURE. A
 * distance of an OUTSIDE below 0 is always met. */
typedef struct ik_goal {
    enum ik_goal_kind kind;
    int joint;    /* -1: the centre of mass, of an INSIDE */
    int chain;    /* the first joint that may turn for it: an ancestor, or the joint itself. For the centre of mass, all
                     joints below it may turn as well; -1: all may */
    int relative; /* not 0: as seen from `other` */
    int other;    /* a joint */
    int other_chain;  /* the first joint that may turn for that one; -1: none does */
    int level;        /* goals of a level move nothing that those of levels before need */
    double offset[3]; /* the point, in the joint's space; 0: the joint. A TURN has none, but with the offset of a PLACE
                         of the same joint it forms one goal with it */
    double other_offset[3]; /* of a relative LOOK or DISTANCE */
    double axis[3];         /* of a LOOK: which axis, in the joint's space, of any length. It starts at the offset */
    double up[3];           /* of a LOOK with a pole: which axis, likewise, the pole is on the side of */
#define IK_GOAL_ROW(name, columns, doc) ik_rows name;
    IK_GOAL_ROWS(IK_GOAL_ROW)
#undef IK_GOAL_ROW
} ik_goal;

/* The options of methods, each once: one table for all layers. X(name, type); a switch is 0 or 1 */
#define IK_OPTIONS(X)                                                                                                  \
    X(iterations, int)                                                                                                 \
    X(tolerance, double)                                                                                               \
    X(rotation_tolerance, double)                                                                                      \
    X(textbook, switch)                                                                                                \
    X(restarts, int)                                                                                                   \
    X(damping, double)                                                                                                 \
    X(max_step, double)                                                                                                \
    X(max_error, double)                                                                                               \
    X(posture, double)                                                                                                 \
    X(manipulability, double)                                                                                          \
    X(settle, switch)                                                                                                  \
    X(project, switch)                                                                                                 \
    X(filtering, double)                                                                                               \
    X(gain, double)                                                                                                    \
    X(loops, int)                                                                                                      \
    X(sweeps, int)                                                                                                     \
    X(scaling, switch)                                                                                                 \
    X(truncation, double)                                                                                              \
    X(sigma0, double)                                                                                                  \
    X(nu, double)                                                                                                      \
    X(soft, switch)                                                                                                    \
    X(memory, int)                                                                                                     \
    X(start_from_tail, switch)                                                                                         \
    X(feedback, double)                                                                                                \
    X(bounce, switch)                                                                                                  \
    X(hierarchy_strength, double)                                                                                      \
    X(effector_strength, double)                                                                                       \
    X(effector_ratio, double)                                                                                          \
    X(root_strength, double)                                                                                           \
    X(root_ratio, double)                                                                                              \
    X(twist, double)                                                                                                   \
    X(soften, double)                                                                                                  \
    X(stretch_start, double)                                                                                           \
    X(stretch_max, double)                                                                                             \
    X(min_bend, double)                                                                                                \
    X(max_bend, double)                                                                                                \
    X(inertia, double)                                                                                                 \
    X(relaxation, double)                                                                                              \
    X(max_angle, double)                                                                                               \
    X(sub_sweeps, int)                                                                                                 \
    X(pre_pull, double)                                                                                                \
    X(pre_pull_turn, double)                                                                                           \
    X(pull_chain, double)

#define IK_OPTION_int                int
#define IK_OPTION_double             double
#define IK_OPTION_switch             int
#define IK_OPTION_MEMBER(name, type) IK_OPTION_##type name;
typedef struct ik_options {
    IK_OPTIONS(IK_OPTION_MEMBER)
} ik_options;
#undef IK_OPTION_MEMBER
#undef IK_OPTION_int
#undef IK_OPTION_double
#undef IK_OPTION_switch

/* The options of each method: IK_OPTIONS_OF_ and its name. X(option, default, lowest, highest, sentence) */
#define IK_COMMON_OPTIONS(X, most)                                                                                     \
    X(iterations, most, 0, 1000000, "largest number of iterations")                                                    \
    IK_TOLERANCES(X)                                                                                                   \
    X(textbook, 0, 0, 1, "as published, without the additions that prevent stalls")                                    \
    X(restarts, 0, 0, 10000,                                                                                           \
      "number of further attempts of an item that misses its goals; each starts from a random pose within limits, "    \
      "the same for every item. The result is the first attempt that reaches them, otherwise the nearest")
#define IK_TOLERANCES(X)                                                                                               \
    X(tolerance, 1e-5, 0, 1, "distance to the target that counts as reached, as share of the reach")                   \
    X(rotation_tolerance, 1e-4, 0, 4, "angle to the target rotation that counts as reached, in radians")

#define IK_OPTIONS_OF_fabrik(X) IK_COMMON_OPTIONS(X, 200)
#define IK_OPTIONS_OF_follow(X) IK_COMMON_OPTIONS(X, 200)
#define IK_OPTIONS_OF_circle(X)                                                                                        \
    X(iterations, 200, 0, 1000000, "largest number of iterations")                                                     \
    IK_TOLERANCES(X)
#define IK_OPTIONS_OF_spring(X)                                                                                        \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(damping, 0.4, 0, 1,                                                                                              \
      "a joint moves across the rest position of its springs: with 0 as far to the other side, with 0.5 onto it, "     \
      "with 1 not at all")                                                                                             \
    X(hierarchy_strength, 256, 1e-3, 1e6, "strength of the springs along the bones; only ratios of strengths count")   \
    X(effector_strength, 0, 0, 1e6, "strength of a spring from every joint to the tip; 0: none")                       \
    X(effector_ratio, 0.5, 0, 1, "rest length of these springs, as share of their length in the start pose")           \
    X(root_strength, 0, 0, 1e6, "strength of a spring from every joint to the base; 0: none")                          \
    X(root_ratio, 0.5, 0, 1, "rest length of these springs, as share of their length in the start pose")
#define IK_STEPS(X, most)                                                                                              \
    X(max_step, most, 1e-6, 4, "largest turn of a joint per iteration, in radians")                                    \
    X(max_error, 0, 0, 1e6, "largest weighted error per iteration, in mean bones: larger ones are cut; 0: no limit")
#define IK_GAIN(X) X(gain, 1, 1e-6, 1, "share of the errors that an iteration removes")
#define IK_PROJECT(X)                                                                                                  \
    X(project, 0, 0, 1,                                                                                                \
      "joints that would exceed a limit are clamped to it, as in most textbooks; otherwise the step is solved again "  \
      "with these joints fixed")
#define IK_POSTURE(X)                                                                                                  \
    X(posture, 0, 0, 1,                                                                                                \
      "share by which joints return to their preferred rotation (usually rest) per iteration, as far as goals leave "  \
      "them free")                                                                                                     \
    X(manipulability, 0, 0, 1,                                                                                         \
      "how far joints turn to increase manipulability, as far as goals leave them free: radians per unit slope "       \
      "of its logarithm")                                                                                              \
    X(settle, 0, 0, 1,                                                                                                 \
      "iterate until posture and manipulability converge too: closed paths of targets give closed paths of "           \
      "joints (extended Jacobian)")
#define IK_OPTIONS_OF_dls(X)                                                                                           \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(damping, 0, 0, 1e6, "damping, in mean bones; 0: chosen in every iteration (Nielsen)")                            \
    IK_STEPS(X, 1)                                                                                                     \
    IK_GAIN(X)                                                                                                         \
    IK_PROJECT(X)                                                                                                      \
    IK_POSTURE(X)
#define IK_OPTIONS_OF_transpose(X)                                                                                     \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(loops, 1, 1, 1000000, "number of times that residual errors are fed back before joints turn")                    \
    IK_STEPS(X, 0.5)                                                                                                   \
    IK_GAIN(X)                                                                                                         \
    IK_PROJECT(X)
#define IK_OPTIONS_OF_pinv(X)                                                                                          \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(truncation, 0.01, 0, 1, "singular values below this share of the largest are dropped, or damped")                \
    X(filtering, 0, 0, 1e6, "damping of the smallest singular values, in mean bones; 0: they are dropped")             \
    IK_STEPS(X, 0.5)                                                                                                   \
    IK_GAIN(X)                                                                                                         \
    IK_PROJECT(X)                                                                                                      \
    IK_POSTURE(X)
#define IK_OPTIONS_OF_svf(X)                                                                                           \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(sigma0, 0.01, 1e-6, 1e6, "replacement of a singular value of 0, in mean bones")                                  \
    X(nu, 10, 0, 1e6, "how fast the replacement fades for larger singular values")                                     \
    IK_STEPS(X, 0.5)                                                                                                   \
    IK_PROJECT(X)                                                                                                      \
    IK_POSTURE(X)
#define IK_OPTIONS_OF_sdls(X)                                                                                          \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(soft, 1, 0, 1,                                                                                                   \
      "steps along singular vectors approach their bound smoothly; otherwise they are cut, as published")              \
    IK_STEPS(X, 0.7853981633974483)                                                                                    \
    IK_PROJECT(X)                                                                                                      \
    IK_POSTURE(X)
#define IK_OPTIONS_OF_gauss_seidel(X)                                                                                  \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(sweeps, 20, 1, 1000000, "sweeps per iteration; each sets every turn to its best value, others fixed")            \
    X(damping, 0, 0, 1e6, "damping, in mean bones; 0: chosen in every iteration (Nielsen)")                            \
    IK_STEPS(X, 1)
#define IK_OPTIONS_OF_sns(X)                                                                                           \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(scaling, 1, 0, 1,                                                                                                \
      "if limits prevent the whole step, take a shorter step straight to the targets. Otherwise take the step that "   \
      "comes nearest (IKTC)")                                                                                          \
    IK_STEPS(X, 0.5)                                                                                                   \
    IK_POSTURE(X)
#define IK_OPTIONS_OF_newton(X)                                                                                        \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(damping, 0, 0, 1e6, "damping, in mean bones; 0: chosen in every iteration (Nielsen)")                            \
    IK_STEPS(X, 1)                                                                                                     \
    IK_PROJECT(X)
#define IK_OPTIONS_OF_lbfgsb(X)                                                                                        \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(memory, 6, 0, 50, "number of past steps used to estimate curvature; 0: gradient descent")                        \
    X(max_step, 1, 1e-6, 4, "largest turn of a joint per iteration, in radians")
#define IK_OPTIONS_OF_full_body(X)                                                                                     \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(sweeps, 20, 0, 1000000,                                                                                          \
      "number of sweeps over goals, joints and limits, before the finish by damped least squares")                     \
    X(sub_sweeps, 0, 0, 1000000,                                                                                       \
      "number of sweeps over every single limb, up to its branching joint, before each sweep")                         \
    X(relaxation, 1.3, 0.1, 1.9,                                                                                       \
      "share of its error that each goal, joint and limit removes at a time (over-relaxation above 1)")                \
    X(max_angle, 0.5235987755982988, 1e-6, 4, "largest turn of a body by a goal, joint or limit, in radians")          \
    X(inertia, 10, 1e-3, 1e6, "factor of the inertia of all bodies; chains become stiffer with it")                    \
    X(pre_pull, 1, 0, 1, "share of the mean offset to the goals by which a sliding root moves at first")               \
    X(pre_pull_turn, 0, 0, 1, "share of the turn that brings all effectors nearest to their goals, at first")          \
    X(pull_chain, 0, 0, 1, "share of the turn towards its goal that every limb makes at first")                        \
    IK_STEPS(X, 1)

#define IK_OPTIONS_OF_ccd(X)                                                                                           \
    IK_COMMON_OPTIONS(X, 200)                                                                                          \
    X(max_step, 0, 0, 4, "largest turn of a joint per sweep, in radians; 0: no limit")                                 \
    X(start_from_tail, 1, 0, 1, "sweep from the tips to the root; otherwise from the root to the tips")                \
    X(feedback, 0, 0, 1e6,                                                                                             \
      "near the target each turn is scaled by this number times the error, in reaches; 0: always the whole turn")      \
    X(bounce, 0, 0, 1, "turn only the joints nearest to the tips; after a sweep without progress, one joint more")

/* Options of closed forms. */
#define IK_TWIST(X) X(twist, 0, -HUGE_VAL, HUGE_VAL, "rotation about the line to the target, in radians")
#define IK_OPTIONS_OF_two_bone(X)                                                                                      \
    IK_TOLERANCES(X)                                                                                                   \
    IK_TWIST(X)                                                                                                        \
    X(soften, 1, 0, 1, "share of the reach at which softening starts")                                                 \
    X(stretch_start, 1, 0, 1, "share of the reach from which the bones lengthen")                                      \
    X(stretch_max, 1, 1, 1e6, "largest factor by which the bones lengthen; 1: none")                                   \
    X(min_bend, 0, 0, 3.141592653589793, "smallest angle between the bones, in radians; 0 is straight")                \
    X(max_bend, 3.141592653589793, 0, 3.141592653589793, "largest angle between the bones, in radians")
#define IK_OPTIONS_OF_aim(X)                                                                                           \
    X(rotation_tolerance, 1e-4, 0, 4, "angle to the target that counts as reached, in radians")                        \
    IK_TWIST(X)

/* Goals and limits that only some methods take; ik_solve_check refuses them for the others. Kinds of goals follow, a
 * bit each. X(name, what is refused) */
#define IK_TAKES(X)                                                                                                    \
    X(STIFFNESS, "a limit in a goal's chain has stiffness")                                                            \
    X(POLE, "a goal has a pole")                                                                                       \
    X(RELATIVE, "a goal is relative to another joint")                                                                 \
    X(LEVELS, "goals have levels")                                                                                     \
    X(SLIDES, "a joint of a goal's chain slides")                                                                      \
    X(LIMITS, "a joint of a goal's chain has a limit")                                                                 \
    X(ENDS, "goals are about several joints")                                                                          \
    X(CAP, "a joint of a goal's chain has a cap")                                                                      \
    X(COMPLIANCE, "a joint of a goal's chain has compliance")

#define IK_TAKES_MEMBER(name, doc) IK_TAKES_INDEX_##name,
enum ik_takes_index { IK_TAKES(IK_TAKES_MEMBER) IK_TAKES_KINDS };
#undef IK_TAKES_MEMBER
#define IK_TAKES_MEMBER(name, doc)        IK_TAKES_##name = 1 << IK_TAKES_INDEX_##name,
#define IK_TAKES_KIND(name, numbers, doc) IK_TAKES_##name = 1 << ((int)IK_TAKES_KINDS + (int)IK_##name),
enum ik_takes {
    IK_TAKES(IK_TAKES_MEMBER) IK_GOAL_KINDS(IK_TAKES_KIND) IK_TAKES_ALL =
            (1 << ((int)IK_TAKES_KINDS + (int)IK_GOAL_KIND_COUNT)) -
        1,
    /* Nothing that is taken: */
    IK_REACHES = 1 << 30, /* what can be reached is usually reached */
    IK_ALL_JOINTS = 1
        << 29, /* a solve works on all joints of the skeleton, in the chain of a goal or not: each that may
                  turn turns, and roots move. A root that has no limit with a position moves anywhere */
};
#undef IK_TAKES_MEMBER
#undef IK_TAKES_KIND

/* Properties that no Jacobian method takes. */
#define IK_TAKES_UNUSUAL (IK_TAKES_CAP | IK_TAKES_COMPLIANCE)

/* The iterative methods. X(name, what it takes and whether it REACHES, sentence) */
#define IK_METHODS(X) IK_HEURISTIC_METHODS(X) IK_JACOBIAN_METHODS(X)

#ifdef IK_NO_HEURISTIC
#define IK_HEURISTIC_METHODS(X)
#else
#define IK_HEURISTIC_METHODS(X)                                                                                        \
    X(fabrik,                                                                                                          \
      IK_TAKES_PLACE | IK_TAKES_TURN | IK_TAKES_DISTANCE | IK_TAKES_INSIDE | IK_TAKES_OUTSIDE | IK_TAKES_RELATIVE |    \
          IK_TAKES_POLE | IK_TAKES_LEVELS | IK_TAKES_SLIDES | IK_TAKES_LIMITS | IK_TAKES_ENDS | IK_REACHES,            \
      "forward and backward reaching: moves joints along lines, two passes per iteration")                             \
    X(follow, IK_TAKES_PLACE | IK_TAKES_POLE | IK_REACHES,                                                             \
      "follow the leader: the tip moves ahead and pulls the bones along, one pass per iteration")                      \
    X(circle, IK_TAKES_PLACE | IK_TAKES_POLE | IK_REACHES,                                                             \
      "circular alignment: the chain lies on an arc from its base to the target, exactly")                             \
    X(spring, IK_TAKES_PLACE | IK_TAKES_POLE,                                                                          \
      "mass-spring: joints move to the rest position of springs along the bones, to the tip and to the base")          \
    X(ccd,                                                                                                             \
      IK_TAKES_PLACE | IK_TAKES_TURN | IK_TAKES_LOOK | IK_TAKES_POLE | IK_TAKES_SLIDES | IK_TAKES_STIFFNESS |          \
          IK_TAKES_LIMITS | IK_TAKES_ENDS | IK_TAKES_CAP | IK_REACHES,                                                 \
      "cyclic coordinate descent: one joint after the other turns its descendants to the target")
#endif

#ifdef IK_NO_JACOBIAN
#define IK_JACOBIAN_METHODS(X)
#else
#define IK_JACOBIAN_METHODS(X)                                                                                         \
    X(dls, (IK_TAKES_ALL & ~IK_TAKES_UNUSUAL) | IK_REACHES,                                                            \
      "damped least squares: turns all joints at once, in proportion to how much each one moves the targets")          \
    X(transpose, IK_TAKES_ALL & ~(IK_TAKES_UNUSUAL | IK_TAKES_LEVELS | IK_TAKES_POSTURE),                              \
      "Jacobian transpose: errors pull at joints like forces, with the best step length")                              \
    X(pinv, (IK_TAKES_ALL & ~IK_TAKES_UNUSUAL) | IK_REACHES,                                                           \
      "pseudo-inverse: the smallest turns that would remove the error if motion were linear")                          \
    X(svf, (IK_TAKES_ALL & ~IK_TAKES_UNUSUAL) | IK_REACHES,                                                            \
      "singular value filtering: a pseudo-inverse that is never singular")                                             \
    X(sdls, (IK_TAKES_ALL & ~IK_TAKES_UNUSUAL) | IK_REACHES,                                                           \
      "selectively damped least squares: each singular vector turns joints no farther than it helps")                  \
    X(gauss_seidel, (IK_TAKES_ALL & ~(IK_TAKES_UNUSUAL | IK_TAKES_LEVELS | IK_TAKES_POSTURE)) | IK_REACHES,            \
      "projected Gauss-Seidel: one turn after the other takes its best value within its bounds")                       \
    X(sns, (IK_TAKES_ALL & ~(IK_TAKES_UNUSUAL | IK_TAKES_LEVELS)) | IK_REACHES,                                        \
      "saturation in the null space: other joints replace those at their limits, else effectors move less")            \
    X(newton, (IK_TAKES_ALL & ~(IK_TAKES_UNUSUAL | IK_TAKES_LEVELS | IK_TAKES_POSTURE)) | IK_REACHES,                  \
      "Newton's method: like dls, with all second derivatives of the squared position error")                          \
    X(lbfgsb,                                                                                                          \
      (IK_TAKES_ALL & ~(IK_TAKES_UNUSUAL | IK_TAKES_LEVELS | IK_TAKES_SLIDES | IK_TAKES_POSTURE)) | IK_REACHES,        \
      "limited-memory BFGS within bounds: minimises the squared error, with curvature from the last steps")            \
    X(full_body, (IK_TAKES_ALL & ~IK_TAKES_UNUSUAL) | IK_REACHES,                                                      \
      "full body: goals pull at bodies with masses (XPBD), then damped least squares meet the goals exactly")
#endif

/* Closed forms as methods of skeletons. X(name, what its functions are called, what it takes, sentence) */
#if defined(IK_NO_SKELETON) || defined(IK_NO_F64)
#define IK_CLOSED_FORMS(X)
#else
#define IK_CLOSED_FORMS(X)                                                                                             \
    X(two_bone, limbs, IK_TAKES_PLACE | IK_TAKES_TURN | IK_TAKES_POLE | IK_TAKES_LIMITS | IK_TAKES_ENDS | IK_REACHES,  \
      "the limb in closed form: every goal has a chain of two bones, and optionally a pole")                           \
    X(aim, aims, IK_TAKES_LOOK | IK_TAKES_POLE | IK_TAKES_LIMITS | IK_TAKES_ENDS | IK_REACHES,                         \
      "one joint per goal turns in closed form, until its axis points at the target")
#endif

/* Whether a joint may move in a solve: bits of ik_solve_job.moving. */
enum { IK_MAY_TURN = 1, IK_MAY_SLIDE = 2 };

/* A batch of poses of one skeleton, and the goals of each. The joints that turn are those from the start of a goal's
 * chain to the goal's joint. The goal's joint itself is left out if its turn changes nothing (a PLACE without offset,
 * for example). A joint slides if its limit allows it. `moving` excludes joints for all goals at once. All other joints
 * keep their local rotation and translation to the bit. A method with IK_ALL_JOINTS moves all joints that `moving` does
 * not exclude; it needs `moved`, and takes no scales.
 *
 * A joint that moves is first moved into its limit. INPUT_OUTSIDE means that a joint of the start pose was outside:
 * turned by more than rotation_tolerance, or slid by more than the tolerance and rounding.
 *
 * A tolerance is relative to the reach of the goal's chain; a goal without a chain uses the longest reach of all.
 * AT_LIMIT means that some joint cannot turn towards the goals, though it can turn away, or that limits lock every
 * joint of a goal's chain. A goal whose chain has no length is reached if only rounding is missing; otherwise the item
 * has NO_LENGTH. Uneven scales change the bones of joints below as these turn. An item that misses for this reason is
 * solved again from the pose that was found, within `iterations` altogether.
 *
 * In a job with frames, a joint that turns or slides starts from the start pose of its frame plus a share, 1 -
 * `release`, of the last correction. A correction is the difference between a solution and its start pose. Corrections
 * that no goal asks for fade by that share per frame. Speeds and accelerations of limits bound the motion between
 * solutions, for every method. A joint moves as far towards the method's answer as they allow, and can always come to
 * rest there. The first frame is free. An item that cannot be used in a frame keeps its start pose; the next frame
 * continues from its last usable one.
 *
 * These bounds hold for any targets, to rounding, because every joint keeps room to come to rest within its limit and
 * its travel. A ball or an Euler box brakes with four fifths of its acceleration, because its limit may turn it aside.
 * It turns no faster than it can brake in 512 frames. Before the ends of its travel a joint brakes with its
 * acceleration over the square root of the number of axes that have ends.
 *
 * An item that misses its goals starts again up to `restarts` times. Each restart has another random pose within
 * limits, the same for every item. The first attempt that reaches them is the result, otherwise the nearest. Its
 * iterations are those of all attempts, each of which has up to `iterations`. Frames and poses with scales have no
 * restarts. */
typedef struct ik_model {
    const char *kind; /* of what follows it in memory. A method that needs another kind works without a model */
} ik_model;

typedef struct ik_solve_job {
    const ik_skeleton *skeleton;
    const ik_goal *goals;
    int goal_count;
    ik_options options; /* those of the method, as ik_..._options gives them */
    int frames;         /* 0: as 1. For more than 1, `solved` and `moved` share no rows with the inputs */
    double fps;         /* frames in a second; used by limits with a speed or an acceleration */
    double release; /* the share of the last correction that is removed before each frame, 0 to 1: of a slide by length,
                       of a turn by (normalised) linear interpolation */
    const unsigned char *moving; /* optional, of every joint: whether it may turn (IK_MAY_TURN), slide (IK_MAY_SLIDE) or
                                    both, where a goal's chain leads through it; NULL: all may. A method without limits
                                    takes no joint that may not turn between those that may; a closed form takes none
                                    that it turns */
    ik_lists rotations;          /* (4) local rotation of every joint, of any length */
    ik_lists translations;       /* (3) optional: of every joint, in place of its offset */
    ik_lists scales;             /* (3) optional */
    ik_lists solved;             /* (4) the local rotations afterwards; may be the very rows of `rotations` */
    ik_lists moved;              /* (3) the local translations afterwards; optional where no joint slides and no bone
                                    stretches. May be the very rows of `translations` */
    ik_rows status;              /* int32_t */
    ik_rows error;               /* the largest distance by which a goal is missed; NaN where not finite */
    ik_rows rotation_error;      /* the largest angle, of a TURN or LOOK, radians; likewise */
    int judge; /* not 0: nothing is solved, and the input pose is judged. For iterative methods it is first moved into
                  limits, and in frames into bounds of speed, each frame from its own pose. Poles turn nothing. Used at
                  the end of jobs on whole clips */
    const ik_model *model; /* optional: further input of a method: a table, weights */
    ik_lists goal_errors;  /* (1) optional: of every goal its own, a distance or an angle; of a POSTURE the angle */
    ik_rows iterations;    /* int32_t */
    ik_lists history; /* (1) optional, options.iterations + 1 of them: the distance the method sees before the first
                         iteration and after each; that of a chain times the longest reach over its own. Those
                         beyond the last are not written */
    int (*stop)(void *context); /* optional: called by the solving thread, at least every few milliseconds and up to
                                   every few microseconds, so it must be fast. If not 0, the solve ends, without more
                                   calls. Finished items are written, of the others only the history */
    void *context;
} ik_solve_job;

/* Solve items [first, last). The structure must be valid (joints that exist, chains that are ancestors, one goal per
 * point, only goals and limits that the method takes), as ik_solve_check says. `scratch` is as large as ik_..._scratch
 * says, aligned to 64 bytes, and used by one thread only. */
const char *ik_solve_check(const ik_solve_job *job, unsigned takes);

/* For every method: ik_..._options, its options at their defaults, to start from; ik_..._scratch_f32, _f64; and
 * ik_..._f32, _f64, which solve. */
#define IK_METHOD_PROTOTYPES(name, takes, doc)                                                                         \
    ik_options ik_##name##_options(void);                                                                              \
    size_t ik_##name##_scratch_f64(const ik_solve_job *job);                                                           \
    size_t ik_##name##_scratch_f32(const ik_solve_job *job);                                                           \
    void ik_##name##_f64(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);                     \
    void ik_##name##_f32(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);
IK_METHODS(IK_METHOD_PROTOTYPES)

/* Closed forms do that in no iterations: goal by goal, those nearer to the root first, and no two may turn one joint.
 * `solved` and `moved` share no rows with what comes in; there is no history, no goal_errors, and no frames.
 * ik_limbs_check and ik_aims_check say what they do not take.
 *
 * ik_limbs has a PLACE for every limb, whose chain starts two joints above; root and mid turn as ik_two_bone has it. A
 * TURN of the same joint right after it is the rotation that the joint takes then, which without one follows the limb.
 * Weights are shares, 0 to 1. A limb that stretches has longer bones in `moved`: the translations of mid and tip. A
 * PLACE with an offset cannot stretch and is refused then, because no bone leads to its point.
 *
 * ik_aims has a LOOK without offset for every joint; its chain is the joint alone. The joint turns as by ik_aim.
 * A pole needs the axis `up`. A joint whose limit is a hinge turns about its own axis only. `error` is the distance of
 * the position from the ray. */
#define IK_FORM_PROTOTYPES(name, function, taken, doc)                                                                 \
    IK_METHOD_PROTOTYPES(function, taken, doc)                                                                         \
    const char *ik_##function##_check(const ik_solve_job *job, unsigned takes);
IK_CLOSED_FORMS(IK_FORM_PROTOTYPES)
#undef IK_FORM_PROTOTYPES
#undef IK_METHOD_PROTOTYPES

/* A tree of triangles for rays. Once built it is only read, by any number of threads. Its numbers are relative to the
 * centre of the triangles, so that places far from the origin lose no precision. Triangles without area are left out.
 */
typedef struct ik_ray_tree {
    const void *memory;
    double centre[3], scale;
    int nodes, blocks;
} ik_ray_tree;

/* How one is built: vertices are rows of three numbers, finite and at most 1e100, faces rows of three vertices.
 * `scratch` has ik_ray_tree_scratch bytes; plan says how many bytes of memory the tree needs, and fill writes them.
 * Both are aligned to 64 bytes. The same arguments for both; then only `memory` is needed. */
size_t ik_ray_tree_scratch(int triangles);
size_t ik_ray_tree_plan(ik_ray_tree *tree, const double *vertices, const int32_t *faces, int triangles, void *scratch);
void ik_ray_tree_fill(ik_ray_tree *tree, const double *vertices, const int32_t *faces, int triangles,
                      const void *scratch, void *memory);

/* A body that rays may hit: triangles or a plane, with a placement for all rays or per row. */
typedef struct ik_ray_body {
    const ik_ray_tree *tree;  /* NULL: the plane of the points whose product with the normal is the height */
    double normal[3], height; /* the normal has unit length and is on the plane's front */
    ik_rows translation;      /* (3) optional: where the body's origin is in the world */
    ik_rows to_local; /* (9) optional: then, by rows, the matrix from the world's axes to the body's; any that has
                         an inverse */
} ik_ray_body;

/* Nearest hits of rays with bodies; among equally near ones the first. A ray hits both sides of triangles, and edges
 * and corners too: none gets through between triangles that share them. A ray in the plane of a triangle, or parallel
 * to a plane, misses it. All numbers are doubles.
 *
 * status: 0, NOT_FINITE (an input except the length is NaN, infinite or beyond 1e100 times the size of the
 * triangles) or NO_LENGTH (the direction has none); such a ray hits nothing. */
typedef struct ik_cast_job {
    const ik_ray_body *bodies;
    int count;         /* of bodies */
    ptrdiff_t each;    /* at least 1: so many rays have a row of translation and to_local, the next as many the next */
    ik_rows origin;    /* (3) */
    ik_rows direction; /* (3) of any length */
    ik_rows length;    /* optional: hits farther than this do not count. NaN: none does */
    ik_rows chosen;    /* char, optional: rays where it is 0 are left out, and nothing is written for them */
    int front;         /* 1: only the front counts, from where the vertices run counter-clockwise */
    ik_rows distance;  /* from the origin to the hit; infinite: there is none */
    ik_rows point;     /* (3) the hit; NaN where there is none */
    ik_rows normal;    /* (3) of unit length, of the side that is hit; NaN where nothing is */
    ik_rows triangle;  /* int32_t; -1: none, or a plane */
    ik_rows side;      /* int32_t: 1 where the front is hit, -1 the back, else 0 */
    ik_rows body;      /* int32_t: which; -1: none */
    ik_rows status;    /* int32_t */
} ik_cast_job;

void ik_cast(const ik_cast_job *job, ptrdiff_t first, ptrdiff_t last);

/* A table of rows of numbers, to find the rows nearest to a query, for example known poses to start from. Once built it
 * is only read, by any number of threads. */
typedef struct ik_table {
    void *memory;
    int rows, columns;
} ik_table;

enum { IK_TABLE_COLUMNS = 64, IK_TABLE_NEAREST = 64 };

/* How one is built: of keys that are finite, 1 to IK_TABLE_COLUMNS to a row, one row after the other, at least one.
 * `memory` has ik_table_bytes bytes, aligned for doubles; after that only it is needed. */
size_t ik_table_bytes(int rows, int columns);
void ik_table_build(ik_table *table, const double *keys, int rows, int columns, void *memory);

/* The rows nearest to every query, the nearest first; among equally near ones the first. All numbers are doubles. */
typedef struct ik_nearest_job {
    const ik_table *table;
    ik_rows query;    /* (table->columns) */
    ik_rows row;      /* (count) of int32_t; -1 where a number of the query is not finite, and beyond the last row */
    ik_rows distance; /* (count), optional; NaN where row is -1 */
    int count;        /* how many, 1 to IK_TABLE_NEAREST; 0 stands for 1 */
} ik_nearest_job;

void ik_nearest(const ik_nearest_job *job, ptrdiff_t first, ptrdiff_t last);

/* Curves over whole clips: an item is a channel with a number per frame. The result is the curve within the bounds with
 * the least
 *
 *   integral of (x'')^2 + tension (x')^2 + pull (x - wanted)^2
 *
 * over time in seconds: bent little, short, and near to what is wanted. The unit of tension is 1 / second^2, of pull 1
 * / second^4, and the result depends on the frame rate only through its sampling. A wave of frequency w (radians per
 * second) keeps pull / (pull + tension w^2 + w^4) of itself. The ends are free.
 *
 * Two frames with a pull or a pin determine a channel; in a loop or under tension one does. If there are fewer, every
 * frame gets a pull of 1 / duration^4, as the curve would be undetermined.
 *
 * Two neighbouring frames that are pinned split a channel into two independent ones. A part in which `wanted` is the
 * same in all frames and keeps all bounds is returned to the bit.
 *
 * status is 0 or one of these. CONFLICT: a lower bound is above the upper one; the curve passes half-way between them.
 * ITERATION_LIMIT: the curve is within the bounds, but may not be the best, because of rounding with a weak pull.
 * NOT_FINITE: wanted or pull is NaN or infinite, a bound is NaN or leaves nothing, or some number is beyond 1e100; the
 * values are `wanted`. Numbers are doubles: if a curve is free for n frames, rounding errors grow by n^4. */
typedef struct ik_smooth_job {
    ptrdiff_t frames;
    double fps;         /* frames a second; above 0 */
    double tension;     /* 0 or more */
    int loop;           /* 1: the last frame is the first again. Its bounds hold too, and nothing else of it counts */
    ik_lists wanted;    /* (1) of every frame */
    ik_lists lower;     /* (1) optional, -infinity: none there */
    ik_lists upper;     /* (1) optional, infinity: none there. Equal to lower: the curve is pinned */
    ik_lists pull;      /* (1) optional: 0, not wanted there. A negative one counts as 0 */
    ik_lists start;     /* (1) optional: a curve like the answer, which saves most of the systems if it is at the same
                           bounds, or beyond them. The answer is the same, except for rounding at bounds with
                           nearly no force */
    ik_lists values;    /* (1) the curve; may be the very rows of wanted */
    ik_rows status;     /* int32_t */
    ik_rows iterations; /* int32_t: number of banded systems that were factored: usually 1, or 10 to 30 for any number
                           of frames; if pins split the channel, the largest number of a part */
    int (*stop)(void *context); /* optional: asked before every system. Not 0: it ends, and of channels that are not
                                   done no status is written, and of their values those of some frames at most */
    void *context;
} ik_smooth_job;

/* Smooth channels [first, last). `scratch` has the size of ik_smooth_scratch for as many channels or more. It grows
 * with the frames, and with the channels up to some number. It is aligned to 64 bytes, and used by one thread only. */
size_t ik_smooth_scratch(const ik_smooth_job *job, ptrdiff_t count);
void ik_smooth(const ik_smooth_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);

#ifdef __cplusplus
}
#endif

#include "ik_feet.h"

#endif
