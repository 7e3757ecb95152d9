/* Cyclic coordinate descent. L.-C. T. Wang, C. C. Chen, "A combined optimization method for solving the inverse
 * kinematics problem of mechanical manipulators", IEEE Trans. Robotics and Automation 7 (1991); C. Welman, "Inverse
 * kinematics and geometric constraints for articulated figure manipulation", Simon Fraser University (1993).
 *
 * Idea. One joint turns, all others are stiff: its descendants move as a rigid body. The turn that brings that body
 * nearest to its targets has a closed form (solve/rigid_fit.h). Then the next joint turns. Let u be the vector from the
 * joint to an effector, and g the vector to its target. For a single position, the joint turns by the shortest arc from
 * u to g. A hinge about the axis a turns by
 *
 *   atan2(sum weight a . (u x g), sum weight (u . g - (a . u) (a . g)))
 *
 * The axes of a rotation and the ray of a look count as effectors, too; the mean bone length converts angles to
 * distances. A slide moves by the mean of the remaining offsets. No visit increases the sum of squared errors.
 *
 *   sweep      an iteration: every joint once, from the tips (or, without `start_from_tail`, from the root). Only the
 *              effectors move during a sweep. The joints follow at its end, all at once (solve/turns.h).
 *   limits     the best turn that the limit allows. The next joints take the rest of the error.
 *   step       the best turn times the mobility (1 - stiffness, the bias of the sources), times a share that
 *              `feedback` derives from the remaining error. It is at most the joint's cap and `max_step`. (Inverse
 *              branch kinematics: B. Kenwright, "Inverse kinematics - cyclic coordinate descent", Journal of Graphics
 *              Tools 16, 2012.)
 *   bounce     only joints near the tips turn, as many as the target needs. A branch that makes no progress gets one
 *              more joint. The next sweep starts at the tips again.
 *   strides    after a sweep all joints repeat their last turns, and those of earlier sweeps (solve/acceleration.h).
 *              Caps, `feedback` and `max_step` switch this off.
 *
 * All of this is on unless `textbook` is set:
 *
 *   - strides;
 *   - a chain without limits and with one target out of reach is laid straight towards it;
 *   - a chain with its target just within reach is curved so that it ends there (chain.h), and a long chain is first
 *     turned towards its target as a whole. Both need an unrestricted step;
 *   - a straight chain in line with its target is bent first, because no joint could turn towards it;
 *   - joints of a chain that makes no progress are perturbed, as in solve/kicks.h;
 *   - a turn that a limit has changed is made only if it brings the effectors nearer. */

/* CCD_IN_LINE: a chain counts as straight if the sine between effector and target, seen from any joint, is below this.
 * CCD_BEND: the angle by which it is bent, in radians. */
#define CCD_IN_LINE (number)(1e-6 + 64 * EPSILON)
#define CCD_BEND    (number)1e-3

/* A sweep that reduces the error by less than the share CCD_PROGRESS is no progress. After CCD_PATIENCE of them the
 * joints are perturbed. */
#define CCD_PROGRESS (number)1e-3
#define CCD_HOPELESS (number)1e-8 /* below this share the joints are at rest, and are perturbed at once */
enum { CCD_PATIENCE = 5 };

/* A first branch is long enough if the target is nearer than this share of its reach. */
#define CCD_REACHES (number)0.98

enum ccd_state {
    CCD_STRAIGHT,  /* 1: to be bent first */
    CCD_PER_REACH, /* of the longest chain */
    CCD_BRANCH,    /* the number of joints that turn, from the tips */
    CCD_SQUARE,    /* the sum of squares after the sweep before */
    CCD_WATCH,
    CCD_STATE = CCD_WATCH + KICKS_COLUMNS
};

ik_inline int ccd_state(const ik_plan *plan, enum ccd_state what) { return joint_columns(plan) + what; }

/* Columns of a step: positions and rotations of the effectors; per slot, the number of turning joints from there to its
 * tips. */
ik_inline int ccd_ends(const ik_plan *plan) { return step_columns(plan); }
ik_inline int ccd_height(const ik_plan *plan, int slot) { return ends_place(ccd_ends(plan), plan->task_count) + slot; }

#include "ccd_sweep.h"

/* ---- strides */

/* Strides are used unless steps are restricted. */
static int ccd_strides(const ik_plan *plan) { return !plan->job->options.textbook && !ccd_is_held(plan); }

/* Whether the plan is a free chain without restrictions of the order, the joints or their steps: ccd_free_chain.h. */
static int ccd_is_plain(const ik_plan *plan) {
    const ik_options *options = &plan->job->options;
    return plain_is(plan) && options->start_from_tail && !options->bounce && !ccd_is_held(plan);
}

ik_inline acceleration ccd_acceleration(const ik_plan *plan) {
    return (acceleration){ccd_state(plan, CCD_STATE), ccd_height(plan, plan->slots)};
}

/* ---- what is in line with its target */

/* The point that a straight chain may be in line with: its target. Sweeps from the root use its base, because their
 * first joint brings the chain into line with any target. */
static vec3 ccd_line_to(const ik_plan *plan, columns record, int task) {
    if (plan->job->options.start_from_tail) return joint_wanted(plan, record, task).place;
    const int base = solve_base(plan, plan->tasks[task].node); /* a walk of as many steps as there are bones */
    return column_vec3(record, joint_position(plan, plan->nodes[base].slot));
}

/* Whether all targets of node k are positions, and their effectors lie on the line from the node to that point. */
static mask ccd_is_in_line(const ik_plan *plan, columns record, int k) {
    mask in_line = ~mask_splat(0);
    for (int t = 0; t < plan->task_count; t++) {
        if (!task_side(plan, t, plan->nodes[k].slot)) continue;
        if (plan->tasks[t].kind != IK_PLACE) return mask_splat(0);
        vec3 at = column_vec3(record, joint_position(plan, plan->nodes[k].slot));
        vec3 end = column_vec3(record, joint_position(plan, plan->nodes[plan->tasks[t].node].slot));
        vec3 u = vec3_sub(end, at);
        vec3 g = vec3_sub(ccd_line_to(plan, record, t), at), across = vec3_cross(u, g);
        real most = real_splat(CCD_IN_LINE * CCD_IN_LINE) * (vec3_dot(u, u) * vec3_dot(g, g));
        in_line &= ~mask_less(most, vec3_dot(across, across));
    }
    return in_line;
}

static mask ccd_is_straight(const ik_plan *plan, columns record) {
    mask straight = ~mask_splat(0);
    for (int slot = 0; slot < plan->slots && mask_any(straight); slot++)
        if (plan->nodes[plan->node_of_slot[slot]].turns)
            straight &= ccd_is_in_line(plan, record, plan->node_of_slot[slot]);
    return straight;
}

/* A small turn, to alternate sides from joint to joint; to the other side if the limit does not allow it. */
static vec3 ccd_bent(const ik_plan *plan, columns c, int k, vec3 across) {
    const real by = real_splat(plan->nodes[k].slot & 1 ? -CCD_BEND : CCD_BEND);
    vec3 turn = vec3_scale(by, across), back = vec3_scale(-by, across);
    if (joint_is_hinge(plan, k)) turn = task_scalar(by), back = task_scalar(-by);
    mask over = IK_NAME(turns_allow)(plan, c, k, &turn);
    IK_NAME(turns_allow)(plan, c, k, &back);
    return vec3_select(over, back, turn);
}

static void ccd_bend(const ik_plan *plan, real *bundle, int g, mask straight) {
    columns c = columns_of_bundle(bundle, g);
    vec3 base = column_vec3(c, joint_position(plan, 0));
    vec3 end = column_vec3(c, joint_position(plan, plan->nodes[plan->tasks[0].node].slot));
    vec3 across = vec3_perpendicular(vec3_direction(vec3_sub(end, base)).unit);
    IK_NAME(turns_start)(plan, c);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (plan->nodes[k].slides) column_set_vec3(c, step_slide(plan, slot), vec3_splat(0, 0, 0));
        if (plan->nodes[k].turns) column_set_vec3(c, step_own(plan, slot), ccd_bent(plan, c, k, across));
    }
    IK_NAME(turns_try)(plan, bundle + g, 1, 0, plan->slots);
    IK_NAME(turns_accept)(plan, c, straight);
}

/* Bends straight chains before the first sweep. */
ik_inline void ccd_bend_straight(const ik_plan *plan, real *bundle, int g) {
    real *straight = column(columns_of_bundle(bundle, g), ccd_state(plan, CCD_STRAIGHT));
    mask bend = mask_equal(*straight, real_splat(1));
    if (mask_any(bend)) ccd_bend(plan, bundle, g, bend);
    *straight = real_splat(0);
}

/* ---- branches and stalls */

/* The number of joints, from the end, with which a chain reaches its target well: the smallest of two or more. */
static real ccd_branch(const ik_plan *plan, columns record, int task) {
    const real zero = real_splat(0);
    vec3 target = joint_wanted(plan, record, task).place;
    real joints = zero, sum = zero, longest = zero, enough = zero;
    for (int k = plan->tasks[task].node; plan->nodes[k].moves; k = plan->nodes[k].parent) {
        const int above = plan->nodes[k].parent;
        vec3 at = column_vec3(record, joint_position(plan, plan->nodes[above].slot));
        real bone = vec3_length(vec3_sub(column_vec3(record, joint_position(plan, plan->nodes[k].slot)), at));
        sum = sum + bone, longest = real_max(longest, bone);
        if (!plan->nodes[above].turns) continue;
        joints = joints + real_splat(1);
        real distance = vec3_length(vec3_sub(target, at));
        mask reaches = ~mask_less(real_splat(CCD_REACHES) * sum, distance) &
                       ~mask_less(distance, chain_inner((chain_reach){sum, longest}));
        mask first = reaches & mask_equal(enough, zero) & mask_less(real_splat(1), joints);
        enough = real_select(first, joints, enough);
    }
    return real_select(mask_equal(enough, zero), real_splat(LARGEST), enough);
}

/* A branch without progress gets one more joint; returns the lanes that had one left. */
static mask ccd_grow(const ik_plan *plan, columns c, mask off, mask idle) {
    real *branch = column(c, ccd_state(plan, CCD_BRANCH));
    mask grows = off & idle & mask_less(*branch, *column(c, ccd_height(plan, 0)));
    *branch = real_select(grows, *branch + real_splat(1), *branch);
    return grows;
}

/* Perturbs lanes in which the sum of squares makes no progress; returns which. */
static mask ccd_watch(const ik_plan *plan, real *bundle, int g, errors now) {
    columns c = columns_of_bundle(bundle, g);
    const int watch = ccd_state(plan, CCD_WATCH);
    const real share = real_splat(1 - CCD_PROGRESS), hope = real_splat(1 - CCD_HOPELESS);
    real *square = column(c, ccd_state(plan, CCD_SQUARE)), before = *square;
    mask off = mask_less(*column(c, TOLERANCE), now.largest), hopeless = mask_less(hope * before, now.square);
    if (plan->job->options.bounce) hopeless &= ~ccd_grow(plan, c, off, mask_less(share * before, now.square));
    mask stuck = watch_is_stuck(c, watch, off, now.square, share, real_splat(CCD_PATIENCE), hopeless);
    mask kicked = IK_NAME(kicks_for_stuck)(plan, bundle, g, watch, off, stuck, mask_splat(0), now.strict);
    *square = real_select(kicked, real_splat(LARGEST), now.square);
    return kicked;
}

/* Ends a step that left these errors; returns the perturbed lanes. */
ik_inline mask ccd_conclude(const ik_plan *plan, real *bundle, int g, errors now) {
    *column(columns_of_bundle(bundle, g), ERROR) = now.largest;
    return plan->job->options.textbook ? mask_splat(0) : ccd_watch(plan, bundle, g, now);
}

static void ccd_step(const ik_plan *plan, real *bundle, int groups) {
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        ccd_bend_straight(plan, bundle, g);
        ccd_sweep(plan, bundle, g);
        errors now = accelerate_measure(plan, ccd_acceleration(plan), c);
        if (ccd_strides(plan)) now = accelerate(plan, ccd_acceleration(plan), bundle, g, now);
        mask shaken = ccd_conclude(plan, bundle, g, now);
        if (ccd_strides(plan) && accelerate_pasts(plan) && mask_any(shaken))
            accelerate_forget(plan, ccd_acceleration(plan), c, shaken);
    }
}

#include "ccd_free_chain.h"

/* ---- the method */

static record_size ccd_size(const ik_plan *plan) {
    const acceleration x = ccd_acceleration(plan);
    const int work = x.work + accelerate_work(plan) - plan->work;
    return (record_size){x.record + accelerate_columns(plan), joint_results(plan), work};
}

static void ccd_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    const real zero = real_splat(0), one = real_splat(1);
    const int textbook = plan->job->options.textbook;
    IK_NAME(joint_load)(plan, at, start, record);
    const int whole = ccd_strides(plan) && plain_is(plan) && !plan->job->options.bounce;
    if (!textbook) IK_NAME(plain_answer)(plan, start, record);
    if (whole) ccd_draw(plan, start, record);
    if (whole && plan->job->options.start_from_tail) ccd_swing(plan, start, record);
    kicks_start(record, ccd_state(plan, CCD_WATCH));
    *column(record, ccd_state(plan, CCD_SQUARE)) = real_splat(LARGEST);
    real branch = real_splat(2);
    for (int t = 0; t < plan->task_count && plan->job->options.bounce; t++)
        if (plan->tasks[t].kind == IK_PLACE) branch = real_max(branch, ccd_branch(plan, record, t));
    *column(record, ccd_state(plan, CCD_BRANCH)) = branch;
    *column(record, ccd_state(plan, CCD_PER_REACH)) =
        one / real_select(mask_equal(start->reach, zero), one, start->reach);
    mask straight = textbook ? mask_splat(0) : ccd_is_straight(plan, record);
    *column(record, ccd_state(plan, CCD_STRAIGHT)) = real_select(straight, one, zero);
    *column(record, ERROR) = accelerate_start(plan, ccd_acceleration(plan), record).largest;
}

static const method ccd_any = {ccd_size, ccd_begin, ccd_step, IK_NAME(joint_place), 0};
static const method ccd_plain = {ccd_size, ccd_begin, ccd_step_plain, IK_NAME(joint_place), 0};

static const method *ccd_method(const ik_plan *plan) { return ccd_is_plain(plan) ? &ccd_plain : &ccd_any; }

SOLVE_METHOD(ccd)
