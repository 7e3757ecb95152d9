/* Operations of the closed forms on skeletons over a block of items: rows, calls of the kernels, and rotations of
 * joints within their limits. */
#define IK_BYTES 0

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../fpmode.h"
#include "../skeleton/goals.h"
#include "../solvers.h"

#include "../lanes/real.h"

#define JOINED(name, bits) ik_##name##_f##bits
#define JOIN(name, bits)   JOINED(name, bits)
#define TYPED(name)        JOIN(name, IK_BITS)

/* Items of a block: enough to make the cost of calls negligible, few enough for the L1 cache. */
enum { BLOCK = 64 };

/* One row for every item of a block. */
typedef number single[BLOCK], vector[BLOCK][3], turn[BLOCK][4];
typedef char choice[BLOCK];

/* A goal and, for a limb, the rotation goal of its tip. */
typedef struct {
    const ik_goal *goal, *rotation; /* NULL: none */
    int depth;                      /* number of joints above it */
} wish;

/* A chain of joints at the same position, and a point fixed to the last one: see scaled_arm. */
typedef struct {
    ik_skeleton skeleton;
    ik_lists rotations, scales, positions, world;
} line;

typedef struct {
    ik_solve_job job;              /* its rows start at the first item of the block */
    int count;                     /* number of items */
    ik_lists positions, rotations; /* in the world */
    ik_lists kept, kept_moved;     /* copies of local rotations and translations, if there are scales */
    int again;                     /* further rounds: options relative to the input pose have been applied */
    line line;                     /* only if there are scales */
    void *forward;                 /* scratch memory of ik_forward */
    ik_goal *goals;                /* copies of the job's goals */
    wish *wishes;
    int wish_count;
    int32_t status[BLOCK];
    single error, angle;
} block;

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* An array of the block as rows. Below: one row for all items; the rows of a joint; rows from a given item on. */
#define ROWS(array) ((ik_rows){(array), sizeof *(array), sizeof(number), 0})

static ik_rows only(const number *row) { return (ik_rows){(void *)row, 0, sizeof(number), 0}; }

static ik_rows of_joint(const ik_lists *lists, int joint) {
    return (ik_rows){(char *)lists->rows.data + joint * lists->next, lists->rows.stride, lists->rows.step, 0};
}

static ik_rows from_item(ik_rows rows, ptrdiff_t first) {
    if (rows.data) rows.data = (char *)rows.data + first * rows.stride;
    return rows;
}

static number *number_at(const ik_rows *rows, int item, int column) {
    return (number *)((char *)rows->data + item * rows->stride + column * ik_step(rows, sizeof(number)));
}

static void put(const ik_rows *to, int item, const number *row, int columns) {
    for (int k = 0; k < columns; k++)
        *number_at(to, item, k) = row[k];
}

static void copy_rows(const ik_rows *to, const ik_rows *from, int columns, int count) {
    for (int i = 0; i < count; i++)
        for (int k = 0; k < columns; k++)
            *number_at(to, i, k) = *number_at(from, i, k);
}

static void copy_chosen(const ik_rows *to, const ik_rows *from, int columns, const choice chosen, int count) {
    for (int i = 0; i < count; i++)
        for (int k = 0; chosen[i] && k < columns; k++)
            *number_at(to, i, k) = *number_at(from, i, k);
}

/* --- kernels ------------------------------------------------------------------------------------------------------ */

static void multiply(const block *b, ik_rows p, ik_rows q, turn product) {
    TYPED(quat_multiply)(&(ik_quat_multiply_job){p, q, ROWS(product)}, b->count);
}
static void conjugate(const block *b, ik_rows q, turn out) {
    TYPED(quat_conjugate)(&(ik_quat_conjugate_job){q, ROWS(out)}, b->count);
}
static void normalize(const block *b, ik_rows q, turn out) {
    TYPED(quat_normalize)(&(ik_quat_normalize_job){q, ROWS(out)}, b->count);
}
static void canonical(const block *b, ik_rows q, turn out) {
    TYPED(quat_canonical)(&(ik_quat_canonical_job){q, ROWS(out)}, b->count);
}
static void rotate(const block *b, ik_rows q, ik_rows v, vector out) {
    TYPED(quat_rotate)(&(ik_quat_rotate_job){q, v, ROWS(out)}, b->count);
}
static void shortest_arc(const block *b, ik_rows from, ik_rows to, turn out) {
    TYPED(quat_shortest_arc)(&(ik_quat_shortest_arc_job){.a = from, .b = to, .q = ROWS(out)}, b->count);
}
static void angle_of(const block *b, ik_rows q, single angle) {
    vector axis;
    TYPED(quat_to_axis_angle)(&(ik_quat_to_axis_angle_job){q, ROWS(axis), ROWS(angle)}, b->count);
}

/* Forward kinematics of the current pose. */
static void place(block *b) {
    ik_forward_job job = {
        b->job.skeleton,      b->job.solved, b->job.moved.rows.data ? b->job.moved : b->job.translations,
        b->job.scales,        b->positions,  .world_rotations = b->rotations,
        .scratch = b->forward};
    TYPED(forward)(&job, b->count);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static number dot(const number *a, const number *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const number *a, const number *b, number *out) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static number size(const number *v) { return number_sqrt(dot(v, v)); }

static void way(const ik_rows *from, const ik_rows *to, int item, number *out) {
    for (int k = 0; k < 3; k++)
        out[k] = *number_at(to, item, k) - *number_at(from, item, k);
}

/* Squares within these bounds are accurate enough. Otherwise the vector is first scaled by a power of two. */
#define LEAST_SQUARE (number)(IK_BITS == 64 ? 0x1p-960 : 0x1p-100)
#define MOST_SQUARE  (number)(IK_BITS == 64 ? 0x1p1020 : 0x1p120)
#define FAR_SCALE    (number)(IK_BITS == 64 ? 0x1p514 : 0x1p66)

static number distance(const ik_rows *from, const ik_rows *to, int item) {
    number v[3];
    way(from, to, item, v);
    const number square = dot(v, v);
    if (square >= LEAST_SQUARE && square <= MOST_SQUARE) return number_sqrt(square);
    const number scale = square < 1 ? FAR_SCALE : 1 / FAR_SCALE;
    for (int k = 0; k < 3; k++)
        v[k] *= scale;
    return size(v) / scale;
}

/* The larger number; NaN if one of them is. */
static number larger(number a, number b) { return a >= b || a != a ? a : b; }

static int is_finite(const ik_rows *rows, int item, int columns) {
    int finite = 1;
    for (int k = 0; k < columns; k++)
        finite &= isfinite(*number_at(rows, item, k)) != 0;
    return finite;
}

static void narrowed(const double *from, number *to, int count) {
    for (int k = 0; k < count; k++)
        to[k] = (number)from[k];
}

/* Goals of a closed form do not compete, so a weight only switches a goal on or off: 1, or 0 if it is 0 or negative. A
 * weight that is not finite stays so. */
static void weights_of(const block *b, const ik_goal *goal, single weight) {
    for (int i = 0; i < b->count; i++) {
        number w = goal && goal->weight.data ? *number_at(&goal->weight, i, 0) : 1;
        weight[i] = isfinite(w) ? (number)(w > 0) : w;
    }
}

/* --- skeletons ---------------------------------------------------------------------------------------------------- */

static int depth_of(const ik_skeleton *skeleton, int joint) {
    int depth = 0;
    while ((joint = skeleton->parents[joint]) >= 0)
        depth++;
    return depth;
}

/* World-space vector from a joint to a point fixed to it, scaled as a child of the joint would be. It is computed from
 * the root down with all joints at the origin, so distant positions cost no accuracy. */
static void scaled_arm(block *b, int joint, const double *point, vector out) {
    const ik_skeleton *skeleton = b->job.skeleton;
    line *l = &b->line;
    int last = depth_of(skeleton, joint) + 1;
    l->skeleton.count = last + 1;
    memset((double *)l->skeleton.offsets, 0, 3 * (size_t)last * sizeof(double));
    memcpy((double *)l->skeleton.offsets + 3 * last, point, 3 * sizeof *point);
    const number none[4] = {1, 0, 0, 0}, whole[3] = {1, 1, 1};
    ik_rows turned = only(none), scale = only(whole);
    for (int k = last; k >= 0; k--) {
        ik_rows to = of_joint(&l->rotations, k), scaled = of_joint(&l->scales, k);
        copy_rows(&to, &turned, 4, b->count);
        copy_rows(&scaled, &scale, 3, b->count);
        if (k == 0) break;
        turned = of_joint(&b->job.solved, joint), scale = of_joint(&b->job.scales, joint);
        joint = skeleton->parents[joint];
    }
    ik_forward_job job = {
        &l->skeleton,         l->rotations, .scales = l->scales, .positions = l->positions, .world_rotations = l->world,
        .scratch = b->forward};
    TYPED(forward)(&job, b->count);
    ik_rows end = of_joint(&l->positions, last), to = ROWS(out);
    copy_rows(&to, &end, 3, b->count);
}

static void arm_of(block *b, int joint, const double *point, vector out) {
    if (b->job.scales.rows.data) {
        scaled_arm(b, joint, point, out);
        return;
    }
    number p[3];
    narrowed(point, p, 3);
    rotate(b, of_joint(&b->rotations, joint), only(p), out);
}

/* World position of a goal's point. `out` holds it if it is not the joint itself. */
static ik_rows point_of(block *b, const ik_goal *goal, vector out) {
    ik_rows at = of_joint(&b->positions, goal->joint);
    if (!has_offset(goal)) return at;
    arm_of(b, goal->joint, goal->offset, out);
    for (int i = 0; i < b->count; i++)
        for (int k = 0; k < 3; k++)
            out[i][k] = *number_at(&at, i, k) + out[i][k];
    return ROWS(out);
}

/* The cones of a kusudama limit, axis and angle of each; an empty list for other limits. */
static ik_lists cones_of(const ik_skeleton *skeleton, const ik_limit *limit, number cones[IK_CONES][4]) {
    ik_lists list = {only(cones[0]), sizeof cones[0], limit->kind == IK_KUSUDAMA ? limit->cones : 0};
    for (ptrdiff_t i = 0; i < list.count; i++) {
        const ik_cone *cone = &skeleton->cones[limit->first_cone + i];
        narrowed(cone->axis, cones[i], 3);
        narrowed(&cone->angle, cones[i] + 3, 1);
    }
    return list;
}

/* Projects the local rotations of a joint onto its limit, and returns the angles of violation. Returns 0 if the joint
 * has no limit. */
static int allow(block *b, int joint, turn allowed, single outside) {
    const ik_limit *limit = limit_of(b->job.skeleton, joint);
    if (!limit || limit->kind == IK_FREE) return 0;
    number rest[4], to_rest[4], kind = (number)limit->kind, frame[4], twist[2], swing[4], axes[3], lowest[3],
                                highest[3], cones[IK_CONES][4];
    narrowed(b->job.skeleton->rests + 4 * joint, rest, 4);
    narrowed(limit->frame, frame, 4);
    narrowed(limit->twist, twist, 2);
    narrowed(limit->swing, swing, 4);
    for (int k = 0; k < 4; k++)
        to_rest[k] = k ? -rest[k] : rest[k];
    for (int k = 0; k < 3; k++) {
        axes[k] = (number)limit->axes[k];
        lowest[k] = (number)limit->angles[k][0], highest[k] = (number)limit->angles[k][1];
    }
    turn q, projected;
    ik_rows local = of_joint(&b->job.solved, joint);
    multiply(b, only(to_rest), local, q);
    ik_limit_project_job job = {.q = ROWS(q),
                                .kind = only(&kind),
                                .frame = only(frame),
                                .twist = only(twist),
                                .swing = only(swing),
                                .axes = only(axes),
                                .lowest = only(lowest),
                                .highest = only(highest),
                                .cones = cones_of(b->job.skeleton, limit, cones),
                                .projected = ROWS(projected),
                                .violation = ROWS(outside)};
    TYPED(limit_project)(&job, b->count);
    multiply(b, only(rest), ROWS(projected), allowed);
    return 1;
}

/* Brings a joint into its limit. Sets `limited` where it was outside. */
static void bring_back(block *b, int joint, choice limited) {
    turn allowed;
    single outside;
    ik_rows local = of_joint(&b->job.solved, joint);
    if (!allow(b, joint, allowed, outside)) return;
    for (int i = 0; i < b->count; i++) {
        if (!(outside[i] > 0)) continue;
        put(&local, i, allowed[i], 4);
        limited[i] = 1;
    }
}

/* Sets IK_INPUT_OUTSIDE where the input pose has a joint outside its limit that is about to be brought into it. */
static void note_outside(block *b, int joint) {
    turn allowed;
    single outside;
    if (b->again || !allow(b, joint, allowed, outside)) return;
    for (int i = 0; i < b->count; i++)
        if (outside[i] > (number)b->job.options.rotation_tolerance) b->status[i] |= IK_INPUT_OUTSIDE;
}

/* The twist of a goal. If there is a pole, the twist is relative to the pole's plane and every round applies it.
 * Otherwise it is relative to the pose, so only the first round does. */
static number twist_of(const block *b, const ik_goal *goal) {
    return b->again && !goal->pole.data ? 0 : (number)b->job.options.twist;
}

/* Lengthens the bone that ends at a joint. */
static void stretch_bone(block *b, int joint, const single by) {
    ik_rows local = of_joint(&b->job.moved, joint);
    for (int i = 0; i < b->count; i++)
        for (int k = 0; k < 3; k++)
            *number_at(&local, i, k) = by[i] * *number_at(&local, i, k);
}

/* Rotates a joint in its parent's space where chosen, as far as its limit allows. */
static void turn_joint(block *b, int joint, turn delta, const choice chosen, choice limited) {
    ik_rows local = of_joint(&b->job.solved, joint);
    turn unit, turned;
    normalize(b, local, unit);
    multiply(b, ROWS(delta), ROWS(unit), turned);
    for (int i = 0; i < b->count; i++)
        if (chosen[i]) put(&local, i, turned[i], 4);
    bring_back(b, joint, limited);
}
