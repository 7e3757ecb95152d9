/* Properties of goals and joints, shared by the checks of a job (check.c) and its plan (plan.c). */
#ifndef IK_GOALS_H
#define IK_GOALS_H

#include "../ik.h"

static inline int is_vector(const double *v) { return v[0] != 0 || v[1] != 0 || v[2] != 0; }
static inline int has_offset(const ik_goal *goal) { return is_vector(goal->offset); }

/* Whether it is about the centre of mass. */
static inline int is_weighed(const ik_goal *goal) {
    return goal->kind == IK_CENTRE_OF_MASS || (goal->kind == IK_INSIDE && goal->joint < 0);
}

/* Whether its error changes as the joint itself turns. */
static inline int turns_itself(const ik_goal *goal) {
    return has_offset(goal) || goal->kind == IK_TURN || goal->kind == IK_LOOK;
}
static inline int turns_other(const ik_goal *goal) {
    return is_vector(goal->other_offset) || goal->kind == IK_TURN || goal->kind == IK_PLACE;
}

static inline int is_ancestor(const ik_skeleton *skeleton, int joint, int below) {
    while (below >= 0 && below != joint)
        below = skeleton->parents[below];
    return below >= 0;
}

static inline const ik_limit *limit_of(const ik_skeleton *skeleton, int joint) {
    return skeleton->limits ? &skeleton->limits[joint] : NULL;
}
static inline int kind_of(const ik_skeleton *skeleton, int joint) {
    return skeleton->limits ? skeleton->limits[joint].kind : IK_FREE;
}
static inline int is_sliding(const ik_skeleton *skeleton, int joint) {
    return skeleton->limits && skeleton->limits[joint].slides;
}
/* Whether a solve may turn or slide a joint of a goal's chain. */
static inline int may_move(const ik_solve_job *job, int joint, int how) {
    return !job->moving || (job->moving[joint] & how);
}
static inline int may_turn(const ik_solve_job *job, int joint) { return may_move(job, joint, IK_MAY_TURN); }
static inline int may_slide(const ik_solve_job *job, int joint) {
    return is_sliding(job->skeleton, joint) && may_move(job, joint, IK_MAY_SLIDE);
}

/* Whether it turns (0) or slides (1) only so fast. */
static inline int has_speed(const ik_limit *limit, int slides) {
    return limit && (limit->speed[slides] > 0 || limit->acceleration[slides] > 0);
}
static inline int has_mass(const ik_skeleton *skeleton, int joint) {
    return skeleton->joints && skeleton->joints[joint].mass > 0;
}
static inline int has_cap(const ik_skeleton *skeleton, int joint) {
    return skeleton->joints && skeleton->joints[joint].cap > 0 && kind_of(skeleton, joint) != IK_LOCKED;
}
static inline int has_compliance(const ik_skeleton *skeleton, int joint) {
    return skeleton->joints && skeleton->joints[joint].compliance > 0;
}
static inline int is_stiff(const ik_limit *limit) {
    return limit && limit->kind != IK_LOCKED && is_vector(limit->stiffness);
}

/* The joint that a chain with a pole turns about, and the one it leads to; what lies between is what bends. */
static inline int pole_base(const ik_solve_job *job, const ik_goal *goal) {
    const ik_skeleton *skeleton = job->skeleton;
    int base = -1, end = skeleton->parents[goal->chain];
    for (int joint = goal->joint; joint != end; joint = skeleton->parents[joint])
        if (kind_of(skeleton, joint) != IK_LOCKED && may_turn(job, joint)) base = joint;
    return base;
}

/* Whether a goal is the rotation that goes with a place. */
static inline int goes_with(const ik_goal *turn, const ik_goal *place) {
    return turn->kind == IK_TURN && turn->joint == place->joint && !turn->relative &&
           turn->offset[0] == place->offset[0] && turn->offset[1] == place->offset[1] &&
           turn->offset[2] == place->offset[2];
}

static inline int is_turned(const ik_solve_job *job, const ik_goal *goal) {
    for (const ik_goal *other = job->goals; other < job->goals + job->goal_count; other++)
        if (goes_with(other, goal)) return 1;
    return 0;
}

static inline int pole_ends_beside(const ik_solve_job *job, const ik_goal *goal) {
    return has_offset(goal) && !is_turned(job, goal);
}

#endif
