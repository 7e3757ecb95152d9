/* Checks of a job. Each returns a sentence with the first error (missing rows of goals, features that a method does not
 * support), or NULL. */
#include "../ik.h"
#ifndef IK_NO_SKELETON
#include "goals.h"

/* Whether a goal is about a joint or one of its descendants. */
static int hangs_from(const ik_skeleton *skeleton, const ik_goal *goal, int joint) {
    return is_weighed(goal) || is_ancestor(skeleton, joint, goal->joint) ||
           (goal->relative && is_ancestor(skeleton, joint, goal->other));
}

static const char *check_pole(const ik_solve_job *job, const ik_goal *goal) {
    const ik_skeleton *skeleton = job->skeleton;
    int base = pole_base(job, goal);
    int last = pole_ends_beside(job, goal) || goal->joint == base ? goal->joint : skeleton->parents[goal->joint];
    if (goal->relative || base < 0 || base == last) return "a goal's pole needs a chain of two bones or more";
    if (kind_of(skeleton, base) != IK_FREE) return "a goal's pole needs a chain whose first joint has no limit";
    for (const ik_goal *other = job->goals; other < job->goals + job->goal_count; other++) {
        int same = other == goal || goes_with(other, goal);
        if (!same && hangs_from(skeleton, other, base))
            return "a goal's pole needs a chain that no other goal hangs from";
    }
    return NULL;
}

/* One sentence for each unsupported feature. */
#define SENTENCE(name, doc) static const char refused_##name[] = doc ", which the method does not take";
IK_TAKES(SENTENCE)
#undef SENTENCE

static const char *refused(unsigned takes, unsigned what, const char *sentence) {
    return takes & what ? NULL : sentence;
}

/* Checks that the method supports the joints that move for a goal. */
static const char *check_chain(const ik_solve_job *job, const ik_goal *goal, unsigned takes, int joint, int chain) {
    const ik_skeleton *skeleton = job->skeleton;
    const char *wrong = NULL;
    int gap = 0; /* a joint below may not turn */
    for (int end = chain < 0 ? -1 : skeleton->parents[chain]; joint != end && joint >= 0 && !wrong;
         joint = skeleton->parents[joint]) {
        const int turns = may_turn(job, joint), slides = may_slide(job, joint);
        if (slides) {
            wrong = refused(takes, IK_TAKES_SLIDES, refused_SLIDES);
            if (!wrong && job->scales.rows.data)
                wrong = "a joint of a goal's chain slides, which needs poses without scales";
            if (!wrong && !job->moved.rows.data)
                wrong = "a joint of a goal's chain slides, and its translation has no place";
        }
        if (!wrong && job->frames > 1 && !(job->fps > 0) &&
            ((turns && has_speed(limit_of(skeleton, joint), 0)) || (slides && has_speed(limit_of(skeleton, joint), 1))))
            wrong = "a limit in a goal's chain has a speed or an acceleration, which needs frames in a second";
        if (joint == goal->joint && !turns_itself(goal)) continue;
        gap |= !turns;
        if (!turns) continue;
        if (!wrong && gap)
            wrong = refused(takes, IK_TAKES_LIMITS,
                            "a joint between those that turn may not, which a method without limits does not take");
        if (!wrong && kind_of(skeleton, joint) != IK_FREE) wrong = refused(takes, IK_TAKES_LIMITS, refused_LIMITS);
        if (!wrong && is_stiff(limit_of(skeleton, joint)))
            wrong = refused(takes, IK_TAKES_STIFFNESS, refused_STIFFNESS);
        if (!wrong && has_cap(skeleton, joint)) wrong = refused(takes, IK_TAKES_CAP, refused_CAP);
        if (!wrong && has_compliance(skeleton, joint)) wrong = refused(takes, IK_TAKES_COMPLIANCE, refused_COMPLIANCE);
    }
    return wrong;
}

enum { NEEDS_POSITION = 1, NEEDS_ROTATION = 2, NEEDS_NORMAL = 4, NEEDS_DISTANCE = 8, NEEDS_END = 16, MAY_SHIFT = 5 };

/* The rows that a goal must have, as bits, and in the bits above them those it may have. */
static int rows_of(const ik_goal *goal) {
    switch (goal->kind) {
    case IK_PLACE:
    case IK_CENTRE_OF_MASS:
        return NEEDS_POSITION;
    case IK_TURN:
        return NEEDS_ROTATION;
    case IK_LOOK:
        return goal->relative ? 0 : NEEDS_POSITION;
    case IK_DISTANCE:
        return NEEDS_DISTANCE | (goal->relative ? 0 : NEEDS_POSITION);
    case IK_INSIDE:
        return NEEDS_POSITION | NEEDS_NORMAL | NEEDS_DISTANCE << MAY_SHIFT;
    case IK_OUTSIDE:
        return NEEDS_POSITION | NEEDS_DISTANCE | NEEDS_END << MAY_SHIFT;
    case IK_POSTURE:
        return NEEDS_ROTATION << MAY_SHIFT;
    default:
        return -1;
    }
}

static const char *check_rows(const ik_goal *goal) {
    int given = (goal->position.data ? NEEDS_POSITION : 0) | (goal->rotation.data ? NEEDS_ROTATION : 0) |
                (goal->normal.data ? NEEDS_NORMAL : 0) | (goal->distance.data ? NEEDS_DISTANCE : 0) |
                (goal->end.data ? NEEDS_END : 0);
    int rows = rows_of(goal), needed = rows & ((1 << MAY_SHIFT) - 1);
    if (rows < 0) return "a goal is of no kind that there is";
    if ((given & needed) != needed) return "a goal lacks what its kind needs";
    if (given & ~(needed | rows >> MAY_SHIFT)) return "a goal has what its kind does not take";
    if (goal->pole.data && goal->kind != IK_PLACE && goal->kind != IK_LOOK)
        return "a goal has a pole, which belongs to a place";
    if (goal->kind == IK_LOOK && !is_vector(goal->axis)) return "a goal's axis has no length";
    if (goal->relative && (goal->kind == IK_CENTRE_OF_MASS || goal->kind == IK_INSIDE || goal->kind == IK_OUTSIDE ||
                           goal->kind == IK_POSTURE))
        return "a goal of its kind is in the world, not relative to a joint";
    return NULL;
}

static const char *check_joints(const ik_skeleton *skeleton, const ik_goal *goal) {
    if (is_weighed(goal)) {
        if (goal->chain < -1 || goal->chain >= skeleton->count) return "a goal's chain starts at no joint";
        for (int joint = 0; joint < skeleton->count; joint++)
            if (has_mass(skeleton, joint)) return NULL;
        return "a goal is about the centre of mass, and no joint has a mass";
    }
    if (goal->joint < 0 || goal->joint >= skeleton->count) return "a goal's joint does not exist";
    if (!is_ancestor(skeleton, goal->chain, goal->joint)) return "a goal's chain does not lead to its joint";
    if (!goal->relative) return NULL;
    if (goal->other < 0 || goal->other >= skeleton->count || goal->other == goal->joint)
        return "a goal is relative to a joint that does not exist, or to its own";
    if (goal->other_chain >= 0 && !is_ancestor(skeleton, goal->other_chain, goal->other))
        return "a goal's other chain does not lead to its joint";
    return NULL;
}

/* Returns a sentence if two goals are for the same thing. */
static const char *check_pair(const ik_goal *before, const ik_goal *goal) {
    if (before->kind != goal->kind || before->joint != goal->joint || before->relative || goal->relative) return NULL;
    if (goal->kind == IK_TURN) return "a joint has two rotations to reach";
    if (goal->kind == IK_POSTURE) return "a joint has two postures";
    const double *a = before->offset, *b = goal->offset;
    if (goal->kind == IK_PLACE && a[0] == b[0] && a[1] == b[1] && a[2] == b[2])
        return "a joint has two positions to reach for one point";
    return NULL;
}

/* The same for all joints that move the centre of mass. */
static const char *check_weighed(const ik_solve_job *job, const ik_goal *goal, unsigned takes) {
    const ik_skeleton *skeleton = job->skeleton;
    const char *wrong = NULL;
    for (int joint = 0; joint < skeleton->count && !wrong; joint++)
        if (has_mass(skeleton, joint) && (goal->chain < 0 || is_ancestor(skeleton, goal->chain, joint)))
            wrong = check_chain(job, goal, takes, joint, goal->chain);
    return wrong;
}

static const char *check_chains(const ik_solve_job *job, const ik_goal *goal, unsigned takes) {
    const char *wrong = NULL;
    if (goal->kind == IK_POSTURE) return NULL; /* moves nothing */
    if (is_weighed(goal)) return check_weighed(job, goal, takes);
    wrong = check_chain(job, goal, takes, goal->joint, goal->chain);
    if (!wrong && goal->relative && goal->other_chain >= 0)
        wrong = check_chain(job, goal, takes, goal->other, goal->other_chain);
    return wrong;
}

/* Whether all goals except postures are about one point of one joint, and no two are of one kind. */
static int has_one_end(const ik_solve_job *job) {
    const ik_goal *first = NULL;
    for (const ik_goal *goal = job->goals; goal < job->goals + job->goal_count; goal++) {
        if (goal->kind == IK_POSTURE) continue;
        if (first && (goal->joint != first->joint || goal->kind == first->kind)) return 0;
        first = goal;
    }
    return 1;
}

static const char *check_goal(const ik_solve_job *job, const ik_goal *goal, unsigned takes) {
    const ik_skeleton *skeleton = job->skeleton;
    const char *wrong = check_rows(goal);
    if (!wrong)
        wrong = refused(takes, 1u << (IK_TAKES_KINDS + goal->kind), "the method does not take goals of this kind");
    if (!wrong && is_weighed(goal))
        wrong = refused(takes, IK_TAKES_CENTRE_OF_MASS,
                        "a goal is about the centre of mass, which the method does not take");
    if (!wrong && goal->relative) wrong = refused(takes, IK_TAKES_RELATIVE, refused_RELATIVE);
    if (!wrong && goal->level != job->goals->level) wrong = refused(takes, IK_TAKES_LEVELS, refused_LEVELS);
    if (!wrong) wrong = check_joints(skeleton, goal);
    if (!wrong && goal->pole.data) wrong = refused(takes, IK_TAKES_POLE, refused_POLE);
    return wrong ? wrong : check_chains(job, goal, takes);
}

static const char *check_look(const ik_solve_job *job, const ik_goal *goal) {
    if (goal->kind != IK_LOOK) return NULL;
    if (goal->pole.data) return "a goal has a pole, which belongs to a place";
    return job->scales.rows.data ? "a goal looks, which needs poses without scales" : NULL;
}

/* For a method that moves all joints: checks its support for the limit of every joint, and the outputs for their
 * motion. */
static const char *check_all_joints(const ik_solve_job *job, unsigned takes) {
    const char *wrong = NULL;
    if (job->scales.rows.data) return "the method moves all joints, which needs poses without scales";
    if (!job->moved.rows.data) return "the method moves all joints, and their translations have no place";
    for (int joint = 0; joint < job->skeleton->count && !wrong; joint++) {
        const ik_goal itself = {.kind = IK_TURN, .joint = joint};
        wrong = check_chain(job, &itself, takes, joint, joint);
    }
    return wrong;
}

const char *ik_solve_check(const ik_solve_job *job, unsigned takes) {
    int postures = 0;
    if (job->options.restarts > 0 && (job->frames > 1 || job->scales.rows.data || job->history.rows.data))
        return "restarts need poses without scales that do not follow each other, and there is no history of them";
    if (!(job->release >= 0 && job->release <= 1)) return "release: expected 0 to 1, a share of the correction";
    if (job->frames > 1 && job->solved.rows.data == job->rotations.rows.data)
        return "frames that follow each other need a place of their own for what is solved";
    if (job->frames > 1 && job->moved.rows.data && job->moved.rows.data == job->translations.rows.data)
        return "frames that follow each other need a place of their own for what is moved";
    for (int g = 0; g < job->goal_count; g++)
        postures += job->goals[g].kind == IK_POSTURE;
    if (postures >= job->goal_count) return "there is no goal but for postures";
    if (!(takes & IK_TAKES_ENDS) && !has_one_end(job)) return refused_ENDS;
    for (const ik_goal *goal = job->goals; goal < job->goals + job->goal_count; goal++) {
        const char *wrong = check_goal(job, goal, takes);
        if (!wrong) wrong = check_look(job, goal);
        if (wrong) return wrong;
    }
    if (takes & IK_ALL_JOINTS) {
        const char *wrong = check_all_joints(job, takes);
        if (wrong) return wrong;
    }
    for (const ik_goal *goal = job->goals; goal < job->goals + job->goal_count; goal++) { /* now that all have joints */
        const char *wrong = goal->pole.data ? check_pole(job, goal) : NULL;
        for (const ik_goal *before = job->goals; before < goal && !wrong; before++)
            wrong = check_pair(before, goal);
        if (wrong) return wrong;
    }
    return NULL;
}

/* --- closed forms --------------------------------------------------------------------------------------------------
 */

/* How many bones the chain of a goal has. */
static int bones_of(const ik_skeleton *skeleton, const ik_goal *goal) {
    int bones = 0;
    for (int joint = goal->joint; joint != goal->chain; joint = skeleton->parents[joint])
        bones++;
    return bones;
}

/* Whether a TURN is the rotation of the limb before it. */
static int is_of_limb(const ik_solve_job *job, const ik_goal *goal) {
    return goal->kind == IK_TURN && goal > job->goals && goal[-1].kind == IK_PLACE && goal[-1].joint == goal->joint;
}

/* Whether a goal turns a joint itself. */
static int turns(const ik_skeleton *skeleton, const ik_goal *goal, int joint) {
    int parent = skeleton->parents[goal->joint];
    return goal->kind == IK_PLACE ? joint == parent || joint == skeleton->parents[parent] : joint == goal->joint;
}

/* Checks the goals of a closed form together: their number of bones, and that no two turn the same joint. */
static const char *check_form(const ik_solve_job *job, unsigned takes, int bones) {
    const ik_goal *end = job->goals + job->goal_count;
    if (job->frames > 1 || job->history.rows.data || job->goal_errors.rows.data)
        return "a closed form has no frames, no history, and no errors of goals";
    if (job->goal_count == 0) return "there is no goal";
    for (const ik_goal *goal = job->goals; goal < end; goal++) {
        const char *wrong = check_goal(job, goal, takes);
        if (wrong) return wrong;
        if (bones_of(job->skeleton, goal) != bones) return "a goal's chain is longer or shorter than the form";
        for (int joint = 0; joint < job->skeleton->count; joint++)
            if (turns(job->skeleton, goal, joint) && !may_turn(job, joint))
                return "a closed form turns a joint that may not turn";
    }
    for (const ik_goal *goal = job->goals; goal < end; goal++)
        for (const ik_goal *before = job->goals; before < goal; before++)
            for (int joint = 0; joint < job->skeleton->count; joint++)
                if (turns(job->skeleton, goal, joint) && turns(job->skeleton, before, joint))
                    return "two goals turn one joint";
    return NULL;
}

const char *ik_limbs_check(const ik_solve_job *job, unsigned takes) {
    const char *wrong = check_form(job, takes, 2);
    const int stretches = job->options.stretch_max > 1;
    if (!wrong && stretches && !job->moved.rows.data) wrong = "limbs that stretch need a place for what is moved";
    for (const ik_goal *goal = job->goals; !wrong && goal < job->goals + job->goal_count; goal++) {
        if (stretches && has_offset(goal)) wrong = "a limb that stretches has no offset";
        if (goal->kind != IK_TURN) continue;
        if (!is_of_limb(job, goal)) wrong = "a rotation comes right after the place of its limb";
        if (!wrong && has_offset(goal - 1)) wrong = "a limb has an offset or a rotation, not both";
    }
    return wrong;
}

const char *ik_aims_check(const ik_solve_job *job, unsigned takes) {
    const char *wrong = check_form(job, takes, 0);
    for (const ik_goal *goal = job->goals; !wrong && goal < job->goals + job->goal_count; goal++) {
        if (has_offset(goal)) wrong = "the axis of an aim starts at its joint";
        if (!wrong && goal->pole.data && !is_vector(goal->up)) wrong = "a goal's axis that is up has no length";
    }
    return wrong;
}
#endif
