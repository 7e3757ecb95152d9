/* From a skeleton and goals to the nodes that a solve works on. */
#include "plan.h"

#include <math.h>

static int is_vector(const double *v) { return v[0] != 0 || v[1] != 0 || v[2] != 0; }
static int has_offset(const ik_goal *goal) { return is_vector(goal->offset); }

/* Whether it is about the centre of mass. */
static int is_weighed(const ik_goal *goal) {
    return goal->kind == IK_CENTRE_OF_MASS || (goal->kind == IK_INSIDE && goal->joint < 0);
}

/* Whether its error changes as the joint itself turns. */
static int turns_itself(const ik_goal *goal) {
    return has_offset(goal) || goal->kind == IK_TURN || goal->kind == IK_LOOK;
}
static int turns_other(const ik_goal *goal) {
    return is_vector(goal->other_offset) || goal->kind == IK_TURN || goal->kind == IK_PLACE;
}

static int is_ancestor(const ik_skeleton *skeleton, int joint, int below) {
    while (below >= 0 && below != joint)
        below = skeleton->parents[below];
    return below >= 0;
}

static const ik_limit *limit_of(const ik_skeleton *skeleton, int joint) {
    return skeleton->limits ? &skeleton->limits[joint] : NULL;
}
static int kind_of(const ik_skeleton *skeleton, int joint) {
    return skeleton->limits ? skeleton->limits[joint].kind : IK_FREE;
}
static int is_sliding(const ik_skeleton *skeleton, int joint) {
    return skeleton->limits && skeleton->limits[joint].slides;
}
/* Whether it turns (0) or slides (1) only so fast. */
static int has_speed(const ik_limit *limit, int slides) {
    return limit && (limit->speed[slides] > 0 || limit->acceleration[slides] > 0);
}
static int has_mass(const ik_skeleton *skeleton, int joint) {
    return skeleton->joints && skeleton->joints[joint].mass > 0;
}

/* ---- what is wrong with a job ---- */

/* The joint that a chain with a pole turns about, and the one it leads to; what lies between is what bends. */
static int pole_base(const ik_skeleton *skeleton, const ik_goal *goal) {
    int base = -1, end = skeleton->parents[goal->chain];
    for (int joint = goal->joint; joint != end; joint = skeleton->parents[joint])
        if (kind_of(skeleton, joint) != IK_LOCKED) base = joint;
    return base;
}

/* Whether a goal is the rotation that goes with a place. */
static int goes_with(const ik_goal *turn, const ik_goal *place) {
    return turn->kind == IK_TURN && turn->joint == place->joint && !turn->relative &&
           turn->offset[0] == place->offset[0] && turn->offset[1] == place->offset[1] &&
           turn->offset[2] == place->offset[2];
}

static int is_turned(const ik_solve_job *job, const ik_goal *goal) {
    for (const ik_goal *other = job->goals; other < job->goals + job->goal_count; other++)
        if (goes_with(other, goal)) return 1;
    return 0;
}

static int pole_ends_beside(const ik_solve_job *job, const ik_goal *goal) {
    return has_offset(goal) && !is_turned(job, goal);
}

/* Whether a goal is about something below a joint, or the joint. */
static int hangs_from(const ik_skeleton *skeleton, const ik_goal *goal, int joint) {
    return is_weighed(goal) || is_ancestor(skeleton, joint, goal->joint) ||
           (goal->relative && is_ancestor(skeleton, joint, goal->other));
}

static const char *check_pole(const ik_solve_job *job, const ik_goal *goal) {
    const ik_skeleton *skeleton = job->skeleton;
    int base = pole_base(skeleton, goal);
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

static int is_stiff(const ik_limit *limit) { return limit && limit->kind != IK_LOCKED && is_vector(limit->stiffness); }

/* A method that does not take something says so. */
static const char *refused(unsigned takes, unsigned what, const char *sentence) {
    return takes & what ? NULL : sentence;
}

/* What a method must take of the joints that move for a goal. */
static const char *check_chain(const ik_solve_job *job, const ik_goal *goal, unsigned takes, int joint, int chain) {
    const ik_skeleton *skeleton = job->skeleton;
    const char *wrong = NULL;
    for (int end = chain < 0 ? -1 : skeleton->parents[chain]; joint != end && joint >= 0 && !wrong;
         joint = skeleton->parents[joint]) {
        if (is_sliding(skeleton, joint)) {
            wrong = refused(takes, IK_TAKES_SLIDES, "a joint of a goal's chain slides, which the method does not take");
            if (!wrong && job->scales.rows.data)
                wrong = "a joint of a goal's chain slides, which needs poses without scales";
            if (!wrong && !job->moved.rows.data)
                wrong = "a joint of a goal's chain slides, and its translation has no place";
        }
        if (!wrong && job->frames > 1 && !(job->fps > 0) &&
            (has_speed(limit_of(skeleton, joint), 0) || has_speed(limit_of(skeleton, joint), 1)))
            wrong = "a limit in a goal's chain has a speed or an acceleration, which needs frames in a second";
        if (!wrong && is_stiff(limit_of(skeleton, joint)) && (joint != goal->joint || turns_itself(goal)))
            wrong = refused(takes, IK_TAKES_STIFFNESS,
                            "a limit in a goal's chain has stiffness, which the method does not take");
    }
    return wrong;
}

enum { NEEDS_POSITION = 1, NEEDS_ROTATION = 2, NEEDS_NORMAL = 4, NEEDS_DISTANCE = 8, MAY_SHIFT = 4 };

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
    case IK_POSTURE:
        return NEEDS_ROTATION << MAY_SHIFT;
    default:
        return -1;
    }
}

static const char *check_rows(const ik_goal *goal) {
    int given = (goal->position.data ? NEEDS_POSITION : 0) | (goal->rotation.data ? NEEDS_ROTATION : 0) |
                (goal->normal.data ? NEEDS_NORMAL : 0) | (goal->distance.data ? NEEDS_DISTANCE : 0);
    int rows = rows_of(goal), needed = rows & ((1 << MAY_SHIFT) - 1);
    if (rows < 0) return "a goal is of no kind that there is";
    if ((given & needed) != needed) return "a goal lacks what its kind needs";
    if (given & ~(needed | rows >> MAY_SHIFT)) return "a goal has what its kind does not take";
    if (goal->pole.data && goal->kind != IK_PLACE) return "a goal has a pole, which belongs to a place";
    if (goal->kind == IK_LOOK && !is_vector(goal->axis)) return "a goal's axis has no length";
    if (goal->relative && (goal->kind == IK_CENTRE_OF_MASS || goal->kind == IK_INSIDE || goal->kind == IK_POSTURE))
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

/* Two goals that would be for the same. */
static const char *check_pair(const ik_goal *before, const ik_goal *goal) {
    if (before->kind != goal->kind || before->joint != goal->joint || before->relative || goal->relative) return NULL;
    if (goal->kind == IK_TURN) return "a joint has two rotations to reach";
    if (goal->kind == IK_POSTURE) return "a joint has two postures";
    if (goal->kind == IK_PLACE && !has_offset(before) && !has_offset(goal)) return "a joint has two positions to reach";
    return NULL;
}

/* Of what moves the centre of mass. */
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

static const char *check_goal(const ik_solve_job *job, const ik_goal *goal, unsigned takes) {
    const ik_skeleton *skeleton = job->skeleton;
    const char *wrong = check_rows(goal);
    if (!wrong)
        wrong = refused(takes, 1u << (IK_TAKES_KINDS + goal->kind), "the method does not take goals of this kind");
    if (!wrong && goal->relative)
        wrong = refused(takes, IK_TAKES_RELATIVE, "a goal is relative to a joint, which the method does not take");
    if (!wrong && goal->level != job->goals->level)
        wrong = refused(takes, IK_TAKES_LEVELS, "goals have levels, which the method does not take");
    if (!wrong) wrong = check_joints(skeleton, goal);
    if (!wrong && goal->pole.data)
        wrong = refused(takes, IK_TAKES_POLE, "a goal has a pole, which the method does not take");
    if (!wrong && goal->kind == IK_LOOK && job->scales.rows.data)
        wrong = "a goal looks, which needs poses without scales";
    return wrong ? wrong : check_chains(job, goal, takes);
}

const char *ik_solve_check(const ik_solve_job *job, unsigned takes) {
    int postures = 0;
    if (job->options.restarts > 0 && (job->frames > 1 || job->scales.rows.data || job->history.rows.data))
        return "restarts need poses without scales that do not follow each other, and there is no history of them";
    if (job->frames > 1 && job->solved.rows.data == job->rotations.rows.data)
        return "frames that follow each other need a place of their own for what is solved";
    if (job->frames > 1 && job->moved.rows.data && job->moved.rows.data == job->translations.rows.data)
        return "frames that follow each other need a place of their own for what is moved";
    for (int g = 0; g < job->goal_count; g++)
        postures += job->goals[g].kind == IK_POSTURE;
    if (postures >= job->goal_count) return "there is no goal but for postures";
    for (const ik_goal *goal = job->goals; goal < job->goals + job->goal_count; goal++) {
        const char *wrong = check_goal(job, goal, takes);
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

/* ---- what joints are to the goals ---- */

enum { ON_THE_WAY = 1, TURNS = 2, SLIDES = 4 };

static void mark_way(const ik_skeleton *skeleton, int *marks, int joint) {
    for (; joint >= 0; joint = skeleton->parents[joint])
        marks[joint] |= ON_THE_WAY;
}

static void mark_chain(const ik_skeleton *skeleton, int *marks, int joint, int itself, int chain) {
    for (int end = chain < 0 ? -1 : skeleton->parents[chain], last = joint; joint != end && joint >= 0;
         joint = skeleton->parents[joint]) {
        if (joint != last || itself) marks[joint] |= TURNS;
        if (is_sliding(skeleton, joint)) marks[joint] |= SLIDES;
    }
}

/* Every joint from the chain on that moves the centre of mass. */
static void mark_weighed(const ik_skeleton *skeleton, int *marks, int chain) {
    for (int joint = 0; joint < skeleton->count; joint++) {
        if (!has_mass(skeleton, joint)) continue;
        mark_way(skeleton, marks, joint);
        if (chain < 0 || is_ancestor(skeleton, chain, joint))
            mark_chain(skeleton, marks, joint, is_vector(skeleton->joints[joint].centre), chain);
    }
}

static void mark(const ik_solve_job *job, int *marks) {
    const ik_skeleton *skeleton = job->skeleton;
    for (int joint = 0; joint < skeleton->count; joint++)
        marks[joint] = 0;
    for (const ik_goal *goal = job->goals; goal < job->goals + job->goal_count; goal++) {
        if (is_weighed(goal)) {
            mark_weighed(skeleton, marks, goal->chain);
            continue;
        }
        mark_way(skeleton, marks, goal->joint);
        if (goal->kind == IK_POSTURE) continue;
        mark_chain(skeleton, marks, goal->joint, turns_itself(goal), goal->chain);
        if (!goal->relative) continue;
        mark_way(skeleton, marks, goal->other);
        if (goal->other_chain >= 0) mark_chain(skeleton, marks, goal->other, turns_other(goal), goal->other_chain);
    }
}

/* ---- nodes ---- */

size_t ik_plan_nodes(const ik_solve_job *job) {
    int joints = job->skeleton->joints ? 2 * job->skeleton->count : job->skeleton->count;
    return (size_t)(joints + 2 * job->goal_count);
}

size_t ik_plan_bytes(const ik_solve_job *job) {
    size_t nodes = ik_plan_nodes(job), goals = (size_t)job->goal_count;
    return sizeof(ik_plan) + nodes * (sizeof(ik_node) + sizeof(ik_still) + 3 * sizeof(int)) +
           goals * (sizeof(ik_task) + sizeof(ik_bend)) + goals * nodes;
}

static int add_node(ik_plan *plan, int joint, int parent, const double *offset) {
    ik_node *node = &plan->nodes[plan->count];
    *node = (ik_node){.joint = joint, .offset = offset, .parent = parent};
    node->slot = node->owner = node->child = node->sibling = node->point = node->rotation = node->posture = -1;
    return plan->count++;
}

/* Whether it may move only so fast. */
static int is_timed(const ik_skeleton *skeleton, const ik_node *node) {
    const ik_limit *limit = limit_of(skeleton, node->joint);
    return (node->turns && has_speed(limit, 0)) || (node->slides && has_speed(limit, 1));
}

/* Replaces the mark of every joint on the way by its node. */
static void add_joints(ik_plan *plan, int *marks) {
    const ik_skeleton *skeleton = plan->job->skeleton;
    for (int place = 0; place < skeleton->count; place++) {
        int joint = skeleton->order[place], parent = skeleton->parents[joint];
        if (!marks[joint]) continue;
        int turns = (marks[joint] & TURNS) != 0, kind = kind_of(skeleton, joint);
        ik_node *node = &plan->nodes[add_node(plan, joint, parent < 0 ? -1 : marks[parent], NULL)];
        node->turns = turns && kind != IK_LOCKED;
        node->locked = turns && kind == IK_LOCKED;
        node->slides = (marks[joint] & SLIDES) != 0;
        if (node->slides && node->parent >= 0) plan->nodes[node->parent].place = 1;
        plan->limited |= turns && kind != IK_FREE;
        plan->slides |= node->slides;
        plan->timed |= is_timed(skeleton, node);
        marks[joint] = (int)(node - plan->nodes);
    }
}

/* The node of a joint, or of a point beside it. */
static int point_of(ik_plan *plan, const int *node_of_joint, int joint, const double *offset) {
    return is_vector(offset) ? add_node(plan, -1, node_of_joint[joint], offset) : node_of_joint[joint];
}

/* Where masses are, and how much of them everything carries. */
static void add_masses(ik_plan *plan, const int *node_of_joint) {
    const ik_skeleton *skeleton = plan->job->skeleton;
    for (int joint = 0; joint < skeleton->count; joint++) {
        if (!has_mass(skeleton, joint)) continue;
        int k = point_of(plan, node_of_joint, joint, skeleton->joints[joint].centre);
        plan->nodes[k].place = 1;
        plan->nodes[k].mass = skeleton->joints[joint].mass;
        plan->mass += plan->nodes[k].mass;
    }
    for (int k = plan->count - 1; k >= 0; k--) {
        ik_node *node = &plan->nodes[k];
        node->heavy += node->mass;
        if (node->parent >= 0) plan->nodes[node->parent].heavy += node->heavy;
    }
}

static void add_task(ik_plan *plan, int goal, int node, int other) {
    plan->tasks[plan->task_count++] = (ik_task){plan->job->goals[goal].kind, goal, node, other, 0, 0};
}

static void add_goal(ik_plan *plan, const int *node_of_joint, int g) {
    const ik_goal *goal = &plan->job->goals[g];
    int joint = goal->joint < 0 ? -1 : node_of_joint[goal->joint], other = -1, node = joint;
    if (is_weighed(goal))
        plan->weighed = 1, node = -1;
    else if (goal->kind != IK_TURN && goal->kind != IK_POSTURE)
        node = point_of(plan, node_of_joint, goal->joint, goal->offset);
    if (goal->relative) {
        int beside = goal->kind == IK_LOOK || goal->kind == IK_DISTANCE;
        other = beside ? point_of(plan, node_of_joint, goal->other, goal->other_offset) : node_of_joint[goal->other];
    }
    plan->inside |= goal->kind == IK_INSIDE;
    if (goal->kind == IK_POSTURE) {
        plan->nodes[joint].posture = g, plan->postures = 1;
        return;
    }
    if (goal->kind == IK_PLACE && !goal->relative) plan->nodes[node].point = g;
    if (goal->kind == IK_TURN && !goal->relative) plan->nodes[node].rotation = g;
    add_task(plan, g, node, other);
    if (node >= 0 && goal->kind != IK_TURN) plan->nodes[node].place = 1;
    if (other >= 0) plan->nodes[other].place = 1;
    if (!goal->pole.data) return;
    int base = node_of_joint[pole_base(plan->job->skeleton, goal)];
    plan->bends[plan->bend_count++] = (ik_bend){g, base, pole_ends_beside(plan->job, goal) ? node : joint};
}

/* Whether node k turns or slides, or one above it. */
static int stirs(const ik_plan *plan, int k) {
    return k >= 0 && (plan->nodes[k].turns || plan->nodes[k].slides || plan->nodes[k].moves);
}

static int is_moved(const ik_plan *plan, const ik_task *task) {
    return task->node < 0 || stirs(plan, task->node) || stirs(plan, task->other);
}

/* What nothing moves is nobody's to do: it stands behind the others. */
static void part_tasks(ik_plan *plan) {
    plan->judged = plan->task_count;
    plan->task_count = 0;
    for (int t = 0; t < plan->judged; t++) {
        ik_task task = plan->tasks[t];
        if (!is_moved(plan, &task)) continue;
        for (int u = t; u > plan->task_count; u--)
            plan->tasks[u] = plan->tasks[u - 1];
        plan->tasks[plan->task_count++] = task;
    }
}

static void find_moves(ik_plan *plan) {
    for (ik_node *node = plan->nodes; node < plan->nodes + plan->count; node++)
        node->moves = stirs(plan, node->parent);
}

/* Slots for what moves, and for what else tasks are about. */
static void add_slots(ik_plan *plan) {
    for (int k = 0; k < plan->count; k++)
        plan->nodes[k].slot = stirs(plan, k) || plan->nodes[k].mass > 0 ? 0 : -1;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        if (task->node >= 0) plan->nodes[task->node].slot = 0;
        if (task->other >= 0) plan->nodes[task->other].slot = 0;
    }
    for (int k = 0; k < plan->count; k++) {
        if (plan->nodes[k].slot < 0) continue;
        plan->bases += !plan->nodes[k].moves;
        plan->node_of_slot[plan->slots] = k;
        plan->nodes[k].slot = plan->slots++;
    }
}

static void find_owners(ik_plan *plan) {
    for (int k = 0; k < plan->count; k++) {
        ik_node *node = &plan->nodes[k], *parent = node->parent < 0 ? NULL : &plan->nodes[node->parent];
        if (!node->moves) continue;
        node->owner = parent->turns ? node->parent : parent->owner;
        if (node->owner < 0 || (!node->turns && node->point < 0 && node->rotation < 0)) continue;
        ik_node *owner = &plan->nodes[node->owner];
        plan->branches |= owner->child >= 0;
        plan->rigid |= owner != parent;
        node->sibling = owner->child;
        owner->child = k;
    }
}

static void find_points(ik_plan *plan) {
    for (int g = 0; g < plan->job->goal_count; g++)
        plan->slot_of_point[g] = -1;
    for (int slot = 0; slot < plan->slots; slot++) {
        int goal = plan->nodes[plan->node_of_slot[slot]].point;
        if (goal >= 0) plan->slot_of_point[goal] = slot;
    }
}

static void find_still(ik_plan *plan, int *turns) {
    const int joints = plan->job->skeleton->count;
    for (int joint = 0; joint < joints; joint++)
        turns[joint] = 0;
    for (int k = 0; k < plan->count; k++)
        if (plan->nodes[k].turns || plan->nodes[k].locked) turns[plan->nodes[k].joint] = 1;
    for (int joint = 0; joint < joints; joint++) {
        if (turns[joint]) continue;
        if (joint == 0 || turns[joint - 1]) plan->still[plan->still_count++] = (ik_still){joint, 0};
        plan->still[plan->still_count - 1].count++;
    }
}

/* ---- tasks ---- */

int ik_task_rows(const ik_task *task) {
#define ROWS(name, numbers, doc) numbers,
    static const int rows[] = {IK_GOAL_KINDS(ROWS)};
#undef ROWS
    return rows[task->kind];
}

static int given_level(const ik_plan *plan, int task) { return plan->job->goals[plan->tasks[task].goal].level; }

/* How many lower levels there are. */
static int level_of(const ik_plan *plan, int task) {
    int lower = 0;
    for (int t = 0; t < plan->task_count; t++) {
        int counted = given_level(plan, t) >= given_level(plan, task);
        for (int before = 0; before < t && !counted; before++)
            counted = given_level(plan, before) == given_level(plan, t);
        lower += !counted;
    }
    return lower;
}

/* Numbers the levels from 0 without gaps, and brings tasks into their order, otherwise as they stand. */
static void order_levels(ik_plan *plan) {
    for (int t = 0; t < plan->task_count; t++) {
        ik_task *task = &plan->tasks[t];
        task->level = level_of(plan, t);
        if (plan->levels <= task->level) plan->levels = task->level + 1;
    }
    for (int t = 1; t < plan->task_count; t++)
        for (int u = t; u > 0 && plan->tasks[u - 1].level > plan->tasks[u].level; u--) {
            ik_task task = plan->tasks[u];
            plan->tasks[u] = plan->tasks[u - 1];
            plan->tasks[u - 1] = task;
        }
    for (ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        task->row = plan->rows;
        plan->rows += ik_task_rows(task);
    }
}

static int carries(const ik_plan *plan, int k, int below) {
    while (below > k)
        below = plan->nodes[below].parent;
    return below == k;
}

static void find_sides(ik_plan *plan) {
    signed char *side = plan->sides;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++)
        for (int slot = 0; slot < plan->slots; slot++) {
            int k = plan->node_of_slot[slot], here = task->node < 0 || carries(plan, k, task->node);
            *side++ = (signed char)(here - (task->other >= 0 && carries(plan, k, task->other)));
        }
}

ik_plan *ik_plan_make(const ik_solve_job *job, void *memory) {
    ik_plan *plan = memory;
    const size_t most = ik_plan_nodes(job), goals = (size_t)job->goal_count;
    *plan = (ik_plan){.job = job, .nodes = (ik_node *)(plan + 1)};
    plan->still = (ik_still *)(plan->nodes + most);
    plan->tasks = (ik_task *)(plan->still + most);
    plan->bends = (ik_bend *)(plan->tasks + goals);
    plan->node_of_slot = (int *)(plan->bends + goals);
    plan->slot_of_point = plan->node_of_slot + most;
    int *marks = plan->slot_of_point + most;
    plan->sides = (signed char *)(marks + most);
    mark(job, marks);
    add_joints(plan, marks);
    for (int g = 0; g < job->goal_count; g++)
        add_goal(plan, marks, g);
    if (plan->weighed) add_masses(plan, marks);
    find_moves(plan);
    part_tasks(plan);
    add_slots(plan);
    find_owners(plan);
    find_points(plan);
    order_levels(plan);
    find_sides(plan);
    plan->rests = plan->limited || plan->slides || plan->postures || job->options.posture > 0;
    plan->columns_of_slides = plan->slides ? plan->slots : 0;
    plan->columns_of_postures = plan->postures ? plan->slots : 0;
    find_still(plan, marks);
    return plan;
}
