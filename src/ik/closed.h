/* Closed forms on skeletons, limbs and aims, for one type of number. The contracts are at IK_CLOSED_FORMS in ik.h.
 *
 * Idea. Items are done a block at a time: forward kinematics; the form of one goal, for which its joints turn; the next
 * goal, those nearer to the root first; then forward kinematics again and a look at what is missed. Each of these is a
 * kernel that runs over the block, so that what is here says which, and takes the sum.
 *
 * closed_f32.c and closed_f64.c include this one, and define IK_BITS. */
#define IK_BYTES 0

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fpmode.h"
#include "goals.h"
#include "solvers.h"

#include "lanes/real.h"

#define JOINED(name, bits) ik_##name##_f##bits
#define JOIN(name, bits)   JOINED(name, bits)
#define TYPED(name)        JOIN(name, IK_BITS)

/* Items of a block: many enough that calls cost nothing, few enough for the nearest memory. */
enum { BLOCK = 64 };

/* A row of every item of a block. */
typedef number single[BLOCK], vector[BLOCK][3], turn[BLOCK][4];
typedef char choice[BLOCK];

/* A goal and, of a limb, the rotation of its tip. */
typedef struct {
    const ik_goal *goal, *rotation; /* NULL: none */
    int depth;                      /* how many joints are above */
} wish;

/* A chain of joints, all at one place, and a point of the last one: see arm_of. */
typedef struct {
    ik_skeleton skeleton;
    ik_lists rotations, scales, positions, world;
} line;

typedef struct {
    ik_solve_job job;              /* its rows start at the first item of the block */
    int count;                     /* of items */
    ik_lists positions, rotations; /* in the world */
    ik_lists kept;                 /* local rotations, where there are scales */
    line line;                     /* likewise */
    void *forward;                 /* scratch memory of ik_forward */
    ik_goal *goals;                /* those of the job */
    wish *wishes;
    int wish_count;
    int32_t status[BLOCK];
    single error, angle;
} block;

/* --- rows ----------------------------------------------------------------------------------------------------------
 */

/* An array of the block as rows; one row for all items; the rows of a joint; those of items from one on. */
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
    return (number *)((char *)rows->data + item * rows->stride + column * rows->step);
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

/* --- kernels -------------------------------------------------------------------------------------------------------
 */

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

/* Where all joints are now. */
static void place(block *b) {
    ik_forward_job job = {b->job.skeleton,      b->job.solved, b->job.translations,
                          b->job.scales,        b->positions,  .world_rotations = b->rotations,
                          .scratch = b->forward};
    TYPED(forward)(&job, b->count);
}

/* --- numbers -------------------------------------------------------------------------------------------------------
 */

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

static number distance(const ik_rows *from, const ik_rows *to, int item) {
    number v[3];
    way(from, to, item, v);
    return size(v);
}

/* The larger; NaN where one of them is. */
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

/* The weights of a goal: 1 where they are not given, 0 in place of what is below. */
static void weights_of(const block *b, const ik_goal *goal, single weight) {
    for (int i = 0; i < b->count; i++) {
        number w = goal && goal->weight.data ? *number_at(&goal->weight, i, 0) : 1;
        weight[i] = isfinite(w) && w < 0 ? 0 : w;
    }
}

/* --- skeletons -----------------------------------------------------------------------------------------------------
 */

static int depth_of(const ik_skeleton *skeleton, int joint) {
    int depth = 0;
    while ((joint = skeleton->parents[joint]) >= 0)
        depth++;
    return depth;
}

/* The way in the world from a joint to a point fixed to it, scaled as a child of the joint would be: from the root down
 * all joints at one place, so that it is not lost in where they are. */
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

/* Where the point of a goal is. `out` has it where it is not the joint. */
static ik_rows point_of(block *b, const ik_goal *goal, vector out) {
    ik_rows at = of_joint(&b->positions, goal->joint);
    if (!has_offset(goal)) return at;
    arm_of(b, goal->joint, goal->offset, out);
    for (int i = 0; i < b->count; i++)
        for (int k = 0; k < 3; k++)
            out[i][k] = *number_at(&at, i, k) + out[i][k];
    return ROWS(out);
}

/* What its limit allows in place of the local rotations of a joint; `limited` where they were something else. */
static void bring_back(block *b, int joint, choice limited) {
    const ik_limit *limit = limit_of(b->job.skeleton, joint);
    if (!limit || limit->kind == IK_FREE) return;
    number rest[4], to_rest[4], kind = (number)limit->kind, frame[4], twist[2], swing[4], axes[3], lowest[3],
                                highest[3];
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
    turn q, projected, allowed;
    single outside;
    ik_rows local = of_joint(&b->job.solved, joint);
    multiply(b, only(to_rest), local, q);
    ik_limit_project_job job = {ROWS(q),    only(&kind),  only(frame),   only(twist),     only(swing),
                                only(axes), only(lowest), only(highest), ROWS(projected), ROWS(outside)};
    TYPED(limit_project)(&job, b->count);
    multiply(b, only(rest), ROWS(projected), allowed);
    for (int i = 0; i < b->count; i++) {
        if (!(outside[i] > 0)) continue;
        put(&local, i, allowed[i], 4);
        limited[i] = 1;
    }
}

/* Turns a joint in the space of its parent where it is chosen, as far as its limit allows. */
static void turn_joint(block *b, int joint, turn delta, const choice chosen, choice limited) {
    ik_rows local = of_joint(&b->job.solved, joint);
    turn unit, turned;
    normalize(b, local, unit);
    multiply(b, ROWS(delta), ROWS(unit), turned);
    for (int i = 0; i < b->count; i++)
        if (chosen[i]) put(&local, i, turned[i], 4);
    bring_back(b, joint, limited);
}

/* --- the limb ------------------------------------------------------------------------------------------------------
 */

/* A rotation of the world in the space of a joint's parent. */
static void bring_within_parent(block *b, int joint, turn delta) {
    int parent = b->job.skeleton->parents[joint];
    if (parent < 0) return;
    ik_rows outer = of_joint(&b->rotations, parent);
    turn product, inverse;
    multiply(b, ROWS(delta), outer, product);
    conjugate(b, outer, inverse);
    multiply(b, ROWS(inverse), ROWS(product), delta);
}

/* The axis, in the world, about which a joint with the limit of a hinge bends the way it has more room. */
static int hinge_of(block *b, int joint, vector out) {
    if (kind_of(b->job.skeleton, joint) != IK_HINGE) return 0;
    const ik_limit *limit = limit_of(b->job.skeleton, joint);
    const double whole_turn = 6.283185307179586, low = limit->twist[0], high = limit->twist[1];
    int more = high >= -low || high - low >= whole_turn; /* or as much: there are no ends */
    double x[3] = {more ? 1 : -1, 0, 0}, axis[3];
    ik_rows frame = {(void *)limit->frame, 0, sizeof(double), 0}, along = {x, 0, sizeof(double), 0};
    ik_quat_rotate_f64(&(ik_quat_rotate_job){frame, along, {axis, 0, sizeof(double), 0}}, 1);
    number narrow[3];
    narrowed(axis, narrow, 3);
    rotate(b, of_joint(&b->rotations, joint), only(narrow), out);
    return 1;
}

/* The targets of a limb: NaN where the rotation of its tip is not finite, which makes the item unusable. */
static void targets_of(block *b, const wish *w, const single weight, vector out) {
    ik_rows to = ROWS(out);
    copy_rows(&to, &w->goal->position, 3, b->count);
    for (int i = 0; w->rotation && i < b->count; i++) {
        int finite = is_finite(&w->rotation->rotation, i, 4) && isfinite(weight[i]);
        if (!finite && weight[i] != 0) out[i][0] = out[i][1] = out[i][2] = (number)NAN;
    }
}

/* The turn of the tip that gives it its rotation, after those of the limb. */
static void tip_of(block *b, const wish *w, turn root, turn mid, const single weight, turn delta) {
    const number follow[4] = {1, 0, 0, 0};
    turn after, before, product;
    single share;
    multiply(b, ROWS(root), ROWS(mid), product);
    conjugate(b, ROWS(product), delta);
    normalize(b, w->rotation->rotation, after);
    normalize(b, of_joint(&b->rotations, w->goal->joint), before);
    conjugate(b, ROWS(before), before);
    multiply(b, ROWS(after), ROWS(before), product);
    multiply(b, ROWS(delta), ROWS(product), delta);
    canonical(b, ROWS(delta), delta);
    for (int i = 0; i < b->count; i++)
        share[i] = weight[i] < 0 ? 0 : weight[i] > 1 ? 1 : weight[i];
    TYPED(quat_slerp)(&(ik_quat_slerp_job){only(follow), ROWS(delta), ROWS(share), ROWS(delta)}, b->count);
}

static void turn_limb(block *b, const wish *w, choice limited) {
    const ik_options *options = &b->job.options;
    number twist = (number)options->twist, soften = (number)options->soften;
    number min_bend = (number)options->min_bend, max_bend = (number)options->max_bend;
    int tip = w->goal->joint, mid = b->job.skeleton->parents[tip], root = b->job.skeleton->parents[mid];
    single weight, of_tip;
    vector end, target, hinge;
    turn at_root, at_mid, at_tip;
    int32_t status[BLOCK];
    single error;
    weights_of(b, w->goal, weight);
    weights_of(b, w->rotation, of_tip);
    place(b);
    ik_two_bone_job job = {of_joint(&b->positions, root), of_joint(&b->positions, mid), point_of(b, w->goal, end)};
    targets_of(b, w, of_tip, target);
    job.target = ROWS(target);
    job.pole = w->goal->pole;
    if (hinge_of(b, mid, hinge)) job.hinge = ROWS(hinge);
    job.twist = only(&twist), job.weight = ROWS(weight), job.soften = only(&soften);
    job.min_bend = only(&min_bend), job.max_bend = only(&max_bend);
    job.root_delta = ROWS(at_root), job.mid_delta = ROWS(at_mid);
    job.status = ROWS(status), job.error = ROWS(error);
    TYPED(two_bone)(&job, b->count);
    if (w->rotation) tip_of(b, w, at_root, at_mid, of_tip, at_tip);

    choice moved, turned;
    for (int i = 0; i < b->count; i++) {
        b->status[i] |= status[i];
        moved[i] = status[i] < IK_UNUSABLE && weight[i] != 0;
        turned[i] = status[i] < IK_UNUSABLE && of_tip[i] != 0;
    }
    bring_within_parent(b, root, at_root);
    turn_joint(b, root, at_root, moved, limited);
    bring_within_parent(b, mid, at_mid);
    turn_joint(b, mid, at_mid, moved, limited);
    if (!w->rotation) return;
    bring_within_parent(b, tip, at_tip);
    turn_joint(b, tip, at_tip, turned, limited);
}

/* How far the end of a limb and its tip are off; where that is more than allowed. */
static void miss_limb(block *b, const wish *w, choice off) {
    const ik_options *options = &b->job.options;
    int tip = w->goal->joint, mid = b->job.skeleton->parents[tip], root = b->job.skeleton->parents[mid];
    ik_rows joints[3] = {of_joint(&b->positions, root), of_joint(&b->positions, mid), of_joint(&b->positions, tip)};
    single weight, of_tip, angle;
    vector offset;
    ik_rows end = point_of(b, w->goal, offset);
    weights_of(b, w->goal, weight);
    for (int i = 0; i < b->count; i++) {
        number reach = distance(&joints[0], &joints[1], i) + distance(&joints[1], &joints[2], i);
        if (has_offset(w->goal)) reach = reach + distance(&joints[2], &end, i);
        number error = weight[i] == 0 ? 0 : distance(&end, &w->goal->position, i);
        b->error[i] = larger(b->error[i], error);
        off[i] |= error > (number)options->tolerance * reach;
    }
    if (!w->rotation) return;
    turn now, wanted;
    weights_of(b, w->rotation, of_tip);
    conjugate(b, of_joint(&b->rotations, tip), now);
    normalize(b, w->rotation->rotation, wanted);
    multiply(b, ROWS(now), ROWS(wanted), wanted);
    angle_of(b, ROWS(wanted), angle);
    for (int i = 0; i < b->count; i++) {
        number miss = of_tip[i] == 0 ? 0 : angle[i];
        b->angle[i] = larger(b->angle[i], miss);
        off[i] |= miss > (number)options->rotation_tolerance;
    }
}

/* --- the ray -------------------------------------------------------------------------------------------------------
 */

/* A limit may take the ray off its way where another roll would let it pass, as the limit of an eye that never rolls
 * does. But turned again and again, each time by the least that will do, the joint gets nearer: such an eye as near as
 * it can, in up to 20 passes; one whose limit is a ball about another axis than the ray may end somewhere short of
 * that. */
enum { PASSES = 64 };

/* The way from a joint to a point, in the space of its parent; of some length where that is scaled. */
static void seen_by_parent(block *b, int joint, const ik_rows *point, vector out) {
    int parent = b->job.skeleton->parents[joint];
    ik_rows at = of_joint(&b->positions, joint);
    for (int i = 0; i < b->count; i++)
        way(&at, point, i, out[i]);
    if (parent < 0) return;
    if (!b->job.scales.rows.data) {
        turn inverse;
        conjugate(b, of_joint(&b->rotations, parent), inverse);
        rotate(b, ROWS(inverse), ROWS(out), out);
        return;
    }
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    vector x, y, z;
    scaled_arm(b, parent, axes[0], x);
    scaled_arm(b, parent, axes[1], y);
    scaled_arm(b, parent, axes[2], z);
    for (int i = 0; i < b->count; i++) {
        number inverse[3][3], seen[3]; /* times the determinant */
        cross(y[i], z[i], inverse[0]);
        cross(z[i], x[i], inverse[1]);
        cross(x[i], y[i], inverse[2]);
        number volume = dot(x[i], inverse[0]), sign = volume > 0 ? 1 : volume < 0 ? -1 : volume == 0 ? 0 : volume;
        for (int k = 0; k < 3; k++)
            seen[k] = sign * dot(inverse[k], out[i]);
        memcpy(out[i], seen, sizeof seen);
    }
}

/* A point of a joint as its own scale puts it. */
static ik_rows scaled(block *b, int joint, const double *point, vector out) {
    narrowed(point, out[0], 3);
    if (!b->job.scales.rows.data) return only(out[0]);
    const number x = out[0][0], y = out[0][1], z = out[0][2];
    ik_rows scale = of_joint(&b->job.scales, joint);
    for (int i = 0; i < b->count; i++) {
        out[i][0] = *number_at(&scale, i, 0) * x;
        out[i][1] = *number_at(&scale, i, 1) * y;
        out[i][2] = *number_at(&scale, i, 2) * z;
    }
    return ROWS(out);
}

/* Where the joint of a goal should point, and what it takes for that; all in the space of its parent. */
typedef struct {
    ik_rows forward, up, target, pole; /* up and pole: not given where there is none */
    vector of_forward, of_up, of_target, of_pole;
    number hinge[3];
    int has_hinge; /* its axis is what is up, and stays so */
    single weight; /* 1 for a share, which is taken at the end */
} sight;

static void look(block *b, const ik_goal *goal, const single weight, sight *s) {
    seen_by_parent(b, goal->joint, &goal->position, s->of_target);
    s->target = ROWS(s->of_target);
    s->forward = scaled(b, goal->joint, goal->axis, s->of_forward);
    s->pole = s->up = (ik_rows){NULL, 0, 0, 0};
    if (goal->pole.data) {
        seen_by_parent(b, goal->joint, &goal->pole, s->of_pole);
        s->pole = ROWS(s->of_pole);
        s->up = scaled(b, goal->joint, goal->up, s->of_up);
    }
    s->has_hinge = kind_of(b->job.skeleton, goal->joint) == IK_HINGE;
    if (s->has_hinge) {
        double x[3] = {1, 0, 0}, axis[3];
        ik_rows frame = {(void *)limit_of(b->job.skeleton, goal->joint)->frame, 0, sizeof(double), 0};
        ik_quat_rotate_f64(&(ik_quat_rotate_job){frame, {x, 0, sizeof(double), 0}, {axis, 0, sizeof(double), 0}}, 1);
        narrowed(axis, s->hinge, 3);
    }
    for (int i = 0; i < b->count; i++)
        s->weight[i] = weight[i] > 0 ? 1 : weight[i];
}

/* Turns a joint that stands at 0 once; those that are going on where it moved. */
static void aim_once(block *b, int joint, sight *s, number twist, int rolls, choice going, choice limited) {
    const number origin[3] = {0, 0, 0}, least = (number)(0.01 * b->job.options.rotation_tolerance);
    ik_rows local = of_joint(&b->job.solved, joint);
    turn came, delta;
    vector pole;
    single error;
    int32_t status[BLOCK];
    choice moved;
    copy_rows(&ROWS(came), &local, 4, b->count);
    ik_aim_job job = {only(origin), ROWS(came), s->target, s->forward};
    if (rolls) job.up = s->up, job.pole = s->pole;
    if (s->has_hinge) {
        rotate(b, ROWS(came), only(s->hinge), pole);
        job.up = only(s->hinge), job.pole = ROWS(pole);
    }
    job.twist = only(&twist), job.weight = ROWS(s->weight);
    job.delta = ROWS(delta), job.status = ROWS(status), job.error = ROWS(error);
    TYPED(aim)(&job, b->count);
    for (int i = 0; i < b->count; i++) {
        b->status[i] |= rolls ? status[i] : status[i] & ~IK_POLE_UNDEFINED;
        moved[i] = going[i] && status[i] < IK_UNUSABLE && s->weight[i] != 0;
    }
    turn_joint(b, joint, delta, moved, limited);
    for (int i = 0; i < b->count; i++) {
        number most = 0;
        for (int k = 0; k < 4; k++) {
            number change = *number_at(&local, i, k) - came[i][k];
            most = larger(most, change < 0 ? -change : change);
        }
        going[i] &= most > least;
    }
}

static int any_of(const choice chosen, int count) { return memchr(chosen, 1, (size_t)count) != NULL; }

/* Where the weight is below 1, that share of the turn. */
static void take_share(block *b, int joint, turn before, const single weight, choice limited) {
    choice part, held = {0};
    for (int i = 0; i < b->count; i++)
        part[i] = weight[i] > 0 && weight[i] < 1;
    if (!any_of(part, b->count)) return;
    ik_rows local = of_joint(&b->job.solved, joint), start = ROWS(before);
    turn change;
    conjugate(b, start, change);
    multiply(b, ROWS(change), local, change);
    canonical(b, ROWS(change), change);
    for (int i = 0; i < b->count; i++)
        for (int k = 0; k < 4; k++)
            change[i][k] = (k ? 0 : 1) + weight[i] * (change[i][k] - (k ? 0 : 1));
    normalize(b, ROWS(change), change);
    multiply(b, start, ROWS(change), change);
    for (int i = 0; i < b->count; i++)
        if (part[i]) put(&local, i, change[i], 4), b->status[i] |= IK_PARTIAL_WEIGHT;
    bring_back(b, joint, held);
    for (int i = 0; i < b->count; i++)
        limited[i] |= part[i] & held[i];
}

/* In the space of the parent, where the joint turns as a rigid body, whatever the scales above it. */
static void turn_ray(block *b, const wish *w, choice limited) {
    int joint = w->goal->joint, free = kind_of(b->job.skeleton, joint) == IK_FREE;
    ik_rows local = of_joint(&b->job.solved, joint);
    choice going, held = {0};
    turn before, left;
    vector pointed;
    single weight, missed;
    sight s;
    weights_of(b, w->goal, weight);
    place(b);
    look(b, w->goal, weight, &s);
    normalize(b, local, before);
    memset(going, 1, sizeof going);
    for (int pass = 0; pass < (free ? 1 : PASSES) && any_of(going, b->count); pass++) /* the first one rolls it */
        aim_once(b, joint, &s, pass ? 0 : (number)b->job.options.twist, !pass && w->goal->pole.data, going, held);
    if (!free) {
        rotate(b, local, s.forward, pointed);
        shortest_arc(b, ROWS(pointed), s.target, left);
        angle_of(b, ROWS(left), missed);
        for (int i = 0; i < b->count; i++)
            limited[i] |= missed[i] > (number)b->job.options.rotation_tolerance;
    }
    take_share(b, joint, before, weight, limited);
}

/* How far a place is from its ray, and the angle between them at the joint. */
static void miss_ray(block *b, const wish *w, choice off) {
    ik_rows at = of_joint(&b->positions, w->goal->joint);
    vector along, to;
    turn arc;
    single weight, angle;
    weights_of(b, w->goal, weight);
    arm_of(b, w->goal->joint, w->goal->axis, along);
    for (int i = 0; i < b->count; i++)
        way(&at, &w->goal->position, i, to[i]);
    shortest_arc(b, ROWS(along), ROWS(to), arc);
    for (int i = 0; i < b->count; i++) {
        const number *v = along[i];
        for (int k = 0; k < 4 && v[0] == 0 && v[1] == 0 && v[2] == 0; k++)
            arc[i][k] = (number)NAN;
    }
    angle_of(b, ROWS(arc), angle);
    for (int i = 0; i < b->count; i++) {
        number cosine = arc[i][0], sine = size(arc[i] + 1); /* of half the angle */
        number away = size(to[i]) * (cosine > sine ? 2 * sine * cosine : 1);
        number miss = weight[i] == 0 ? 0 : angle[i];
        b->error[i] = larger(b->error[i], weight[i] == 0 ? 0 : away);
        b->angle[i] = larger(b->angle[i], miss);
        off[i] |= miss > (number)b->job.options.rotation_tolerance;
    }
}

/* --- what both do --------------------------------------------------------------------------------------------------
 */

typedef struct {
    void (*turn)(block *b, const wish *w, choice limited);
    void (*miss)(block *b, const wish *w, choice off);
} form;

static const form limb = {turn_limb, miss_limb}, ray = {turn_ray, miss_ray};

/* Items that cannot be used keep the pose that came in. */
static void restore(block *b, choice unusable) {
    for (int i = 0; i < b->count; i++)
        unusable[i] = b->status[i] >= IK_UNUSABLE;
    for (int joint = 0; any_of(unusable, b->count) && joint < b->job.skeleton->count; joint++) {
        ik_rows from = of_joint(&b->job.rotations, joint), to = of_joint(&b->job.solved, joint);
        for (int i = 0; i < b->count; i++)
            for (int k = 0; unusable[i] && k < 4; k++)
                *number_at(&to, i, k) = *number_at(&from, i, k);
    }
}

/* Turns the joints of all goals; says where something is off after. */
static void solve_once(block *b, const form *form, choice off) {
    choice limited = {0}, unusable;
    memset(off, 0, BLOCK);
    for (int i = 0; i < b->count; i++)
        b->status[i] = 0, b->error[i] = b->angle[i] = 0;
    for (int w = 0; w < b->wish_count; w++)
        form->turn(b, &b->wishes[w], limited);
    restore(b, unusable);
    place(b);
    for (int w = 0; w < b->wish_count; w++)
        form->miss(b, &b->wishes[w], off);
    for (int i = 0; i < b->count; i++) {
        off[i] &= !unusable[i];
        if (off[i] && limited[i]) b->status[i] |= IK_AT_LIMIT;
        if (off[i] && b->status[i] == 0) b->status[i] = IK_STALLED;
    }
}

/* Uneven scales change the bones as limbs turn: they are read again, at most so many times, while the error falls by a
 * share. */
enum { ROUNDS = 40 };
static const number gain = (number)0.95;

static int is_uneven(const block *b, int item) {
    int uneven = 0;
    for (int joint = 0; joint < b->job.skeleton->count; joint++) {
        ik_rows scale = of_joint(&b->job.scales, joint);
        const number x = *number_at(&scale, item, 0);
        uneven |= *number_at(&scale, item, 1) != x || *number_at(&scale, item, 2) != x || x != x;
    }
    return uneven;
}

/* Where solving again from the solution brings a pose nearer: not where that adds to what was done before. */
static void choose_again(const block *b, choice again) {
    if (!b->job.scales.rows.data || b->job.options.twist != 0) memset(again, 0, BLOCK);
    for (int i = 0; any_of(again, b->count) && i < b->count; i++)
        again[i] &= is_uneven(b, i);
    for (int w = 0; any_of(again, b->count) && w < b->wish_count; w++) {
        single weight, of_tip;
        weights_of(b, b->wishes[w].goal, weight);
        weights_of(b, b->wishes[w].rotation, of_tip);
        for (int i = 0; i < b->count; i++)
            again[i] &= (weight[i] == 0 || weight[i] >= 1) && (of_tip[i] == 0 || of_tip[i] >= 1);
    }
}

/* Solves again where that is chosen; everything else stays as it is. */
static void solve_again(block *b, const form *form, choice again) {
    int32_t status[BLOCK];
    single error, angle;
    choice off;
    const int joints = b->job.skeleton->count;
    memcpy(status, b->status, sizeof status);
    memcpy(error, b->error, sizeof error);
    memcpy(angle, b->angle, sizeof angle);
    for (int joint = 0; joint < joints; joint++) {
        ik_rows from = of_joint(&b->job.solved, joint), to = of_joint(&b->kept, joint);
        copy_rows(&to, &from, 4, b->count);
    }
    solve_once(b, form, off);
    for (int i = 0; i < b->count; i++) {
        for (int joint = 0; !again[i] && joint < joints; joint++) {
            ik_rows from = of_joint(&b->kept, joint), to = of_joint(&b->job.solved, joint);
            put(&to, i, number_at(&from, i, 0), 4);
        }
        if (!again[i]) b->status[i] = status[i], b->error[i] = error[i], b->angle[i] = angle[i];
        again[i] &= off[i] && b->error[i] < gain * error[i];
    }
}

/* Outputs, where they are wanted; NULL: zeros. */
static void write_flags(const ik_rows *to, const int32_t *flags, int count) {
    for (int i = 0; i < count && to->data; i++)
        *(int32_t *)((char *)to->data + i * to->stride) = flags ? flags[i] : 0;
}

static void write_numbers(const ik_rows *to, const number *numbers, int count) {
    for (int i = 0; i < count && to->data; i++)
        *number_at(to, i, 0) = numbers[i] == numbers[i] ? numbers[i] : (number)NAN; /* always the same one */
}

static void solve_block(block *b, const form *form) {
    choice again;
    for (int joint = 0; joint < b->job.skeleton->count; joint++) {
        ik_rows from = of_joint(&b->job.rotations, joint), to = of_joint(&b->job.solved, joint);
        copy_rows(&to, &from, 4, b->count);
    }
    solve_once(b, form, again);
    choose_again(b, again);
    for (int round = 0; round < ROUNDS && any_of(again, b->count); round++)
        solve_again(b, form, again);
    write_flags(&b->job.status, b->status, b->count);
    write_flags(&b->job.iterations, NULL, b->count);
    write_numbers(&b->job.error, b->error, b->count);
    write_numbers(&b->job.rotation_error, b->angle, b->count);
}

/* --- memory, and the whole batch -----------------------------------------------------------------------------------
 */

/* Memory that is handed out part by part; NULL where only its size is asked for. */
typedef struct {
    char *memory;
    size_t used;
} store;

static void *part_of(store *s, size_t bytes) {
    char *part = s->memory ? s->memory + s->used : NULL;
    s->used += (bytes + IK_WIDEST - 1) / IK_WIDEST * IK_WIDEST;
    return part;
}

/* Rows without gaps, for every joint those of all items. */
static ik_lists lists_of(store *s, int joints, int columns) {
    const ptrdiff_t bytes = sizeof(number);
    void *memory = part_of(s, (size_t)joints * BLOCK * (size_t)columns * sizeof(number));
    return (ik_lists){{memory, columns * bytes, bytes, 0}, BLOCK * columns * bytes, joints};
}

/* A chain of so many joints without offsets or rotations. */
static line line_of(store *s, int joints) {
    line made;
    size_t count = (size_t)joints;
    double *offsets = part_of(s, 3 * count * sizeof *offsets), *rests = part_of(s, 4 * count * sizeof *rests);
    int *parents = part_of(s, count * sizeof *parents), *order = part_of(s, count * sizeof *order);
    for (int joint = 0; joint < joints && s->memory; joint++) {
        parents[joint] = joint - 1;
        order[joint] = joint;
        memcpy(rests + 4 * joint, (double[4]){1, 0, 0, 0}, 4 * sizeof *rests);
    }
    made.skeleton = (ik_skeleton){joints, parents, order, order, offsets, rests, NULL, NULL};
    made.rotations = lists_of(s, joints, 4);
    made.scales = lists_of(s, joints, 3);
    made.positions = lists_of(s, joints, 3);
    made.world = lists_of(s, joints, 4);
    return made;
}

static void lay_out(block *b, const ik_solve_job *job, store *s) {
    const int joints = job->skeleton->count;
    b->goals = part_of(s, (size_t)job->goal_count * sizeof *b->goals);
    b->wishes = part_of(s, (size_t)job->goal_count * sizeof *b->wishes);
    b->positions = lists_of(s, joints, 3);
    b->rotations = lists_of(s, joints, 4);
    b->forward = part_of(s, ik_forward_scratch(joints + 1));
    if (!job->scales.rows.data) return;
    b->kept = lists_of(s, joints, 4);
    b->line = line_of(s, joints + 1);
}

/* What the goals wish for, those nearer to the root first. */
static void order_wishes(block *b) {
    const ik_goal *goals = b->goals;
    b->wish_count = 0;
    for (int g = 0; g < b->job.goal_count; g++) {
        int with_rotation = g + 1 < b->job.goal_count && goals[g + 1].kind == IK_TURN;
        wish made = {&goals[g], with_rotation ? &goals[g + 1] : NULL, depth_of(b->job.skeleton, goals[g].joint)};
        int at = b->wish_count++;
        for (; at > 0 && b->wishes[at - 1].depth > made.depth; at--)
            b->wishes[at] = b->wishes[at - 1];
        b->wishes[at] = made;
        g += with_rotation;
    }
}

/* The job from an item on. */
static void start_at(block *b, const ik_solve_job *job, ptrdiff_t first) {
    ik_lists *lists[] = {&b->job.rotations, &b->job.translations, &b->job.scales, &b->job.solved};
    ik_rows *rows[] = {&b->job.status, &b->job.error, &b->job.rotation_error, &b->job.iterations};
    b->job = *job;
    for (int k = 0; k < 4; k++) {
        lists[k]->rows = from_item(lists[k]->rows, first);
        *rows[k] = from_item(*rows[k], first);
    }
    for (int g = 0; g < job->goal_count; g++) {
        ik_goal *goal = &b->goals[g];
        *goal = job->goals[g];
#define START_ROW(name, columns, doc) goal->name = from_item(goal->name, first);
        IK_GOAL_ROWS(START_ROW)
    }
}

static void solve_all(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch, const form *form) {
    ik_fpmode before = ik_fpmode_enter();
    block b;
    lay_out(&b, job, &(store){scratch, 0});
    for (; first < last && !(job->stop && job->stop(job->context)); first += BLOCK) {
        b.count = last - first < BLOCK ? (int)(last - first) : BLOCK;
        start_at(&b, job, first);
        order_wishes(&b);
        solve_block(&b, form);
    }
    ik_fpmode_leave(before);
}

static size_t scratch_of(const ik_solve_job *job) {
    block b;
    store s = {NULL, 0};
    lay_out(&b, job, &s);
    return s.used;
}

size_t TYPED(limbs_scratch)(const ik_solve_job *job) { return scratch_of(job); }
size_t TYPED(aims_scratch)(const ik_solve_job *job) { return scratch_of(job); }

void TYPED(limbs)(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    solve_all(job, first, last, scratch, &limb);
}
void TYPED(aims)(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    solve_all(job, first, last, scratch, &ray);
}
