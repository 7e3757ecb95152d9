/* The limb goal: rotates root, mid and tip as ik_two_bone does, and measures the residual error of the tip. */
#include "block.h"

/* Transforms a world rotation to the space of a joint's parent. */
static void bring_within_parent(block *b, int joint, turn delta) {
    int parent = b->job.skeleton->parents[joint];
    if (parent < 0) return;
    ik_rows outer = of_joint(&b->rotations, parent);
    turn product, inverse;
    multiply(b, ROWS(delta), outer, product);
    conjugate(b, outer, inverse);
    multiply(b, ROWS(inverse), ROWS(product), delta);
}

/* World-space hinge axis of a joint with a hinge limit. Its sign makes the direction with the larger range forwards. */
static int hinge_of(block *b, int joint, vector out) {
    if (kind_of(b->job.skeleton, joint) != IK_HINGE) return 0;
    const ik_limit *limit = limit_of(b->job.skeleton, joint);
    const double whole_turn = 6.283185307179586, low = limit->twist[0], high = limit->twist[1];
    int more = high >= -low || high - low >= whole_turn; /* true also if both are equal, or the range is a whole turn */
    double x[3] = {more ? 1 : -1, 0, 0}, axis[3];
    ik_rows frame = {(void *)limit->frame, 0, sizeof(double), 0}, along = {x, 0, sizeof(double), 0};
    ik_quat_rotate_f64(&(ik_quat_rotate_job){frame, along, {axis, 0, sizeof(double), 0}}, 1);
    number narrow[3];
    narrowed(axis, narrow, 3);
    rotate(b, of_joint(&b->rotations, joint), only(narrow), out);
    return 1;
}

/* The targets of a limb. NaN if the tip's target rotation is not finite, which makes the item unusable. */
static void targets_of(block *b, const wish *w, const single weight, vector out) {
    ik_rows to = ROWS(out);
    copy_rows(&to, &w->goal->position, 3, b->count);
    for (int i = 0; w->rotation && i < b->count; i++) {
        int finite = is_finite(&w->rotation->rotation, i, 4) && isfinite(weight[i]);
        if (!finite && weight[i] != 0) out[i][0] = out[i][1] = out[i][2] = (number)NAN;
    }
}

/* The delta that gives the tip its target rotation after the limb has turned. */
static void tip_of(block *b, const wish *w, turn root, turn mid, turn delta) {
    turn after, before, product;
    multiply(b, ROWS(root), ROWS(mid), product);
    conjugate(b, ROWS(product), delta);
    normalize(b, w->rotation->rotation, after);
    normalize(b, of_joint(&b->rotations, w->goal->joint), before);
    conjugate(b, ROWS(before), before);
    multiply(b, ROWS(after), ROWS(before), product);
    multiply(b, ROWS(delta), ROWS(product), delta);
    canonical(b, ROWS(delta), delta);
}

static void turn_limb(block *b, const wish *w, choice limited) {
    const ik_options *options = &b->job.options;
    number twist = twist_of(b, w->goal), soften = (number)options->soften;
    number stretch_start = (number)options->stretch_start, stretch_max = (number)options->stretch_max;
    number min_bend = (number)options->min_bend, max_bend = (number)options->max_bend;
    int tip = w->goal->joint, mid = b->job.skeleton->parents[tip], root = b->job.skeleton->parents[mid];
    single weight, of_tip;
    vector end, target, hinge;
    turn at_root, at_mid, at_tip;
    int32_t status[BLOCK];
    single error, stretch;
    weights_of(b, w->goal, weight);
    weights_of(b, w->rotation, of_tip);
    place(b);
    ik_two_bone_job job = {of_joint(&b->positions, root), of_joint(&b->positions, mid), point_of(b, w->goal, end)};
    targets_of(b, w, of_tip, target);
    job.target = ROWS(target);
    job.pole = w->goal->pole;
    if (hinge_of(b, mid, hinge)) job.hinge = ROWS(hinge);
    job.twist = only(&twist), job.influence = ROWS(weight), job.soften = only(&soften);
    if (stretch_max > 1) job.stretch_start = only(&stretch_start), job.stretch_max = only(&stretch_max);
    job.min_bend = only(&min_bend), job.max_bend = only(&max_bend);
    job.root_delta = ROWS(at_root), job.mid_delta = ROWS(at_mid);
    job.status = ROWS(status), job.error = ROWS(error), job.stretch = ROWS(stretch);
    TYPED(two_bone)(&job, b->count);
    if (w->rotation) tip_of(b, w, at_root, at_mid, at_tip);

    choice moved, turned;
    for (int i = 0; i < b->count; i++) {
        b->status[i] |= status[i];
        moved[i] = status[i] < IK_UNUSABLE && weight[i] != 0;
        turned[i] = status[i] < IK_UNUSABLE && of_tip[i] != 0;
    }
    note_outside(b, root);
    note_outside(b, mid);
    bring_within_parent(b, root, at_root);
    turn_joint(b, root, at_root, moved, limited);
    bring_within_parent(b, mid, at_mid);
    turn_joint(b, mid, at_mid, moved, limited);
    if (stretch_max > 1) stretch_bone(b, mid, stretch), stretch_bone(b, tip, stretch);
    if (!w->rotation) return;
    note_outside(b, tip);
    bring_within_parent(b, tip, at_tip);
    turn_joint(b, tip, at_tip, turned, limited);
}

/* Position error of a limb's end and rotation error of its tip, and where they exceed the tolerances. */
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
