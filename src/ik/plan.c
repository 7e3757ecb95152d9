/* From a skeleton and goals to the nodes that a solve works on. */
#include "plan.h"

#include <math.h>

static int has_offset(const ik_goal *goal) {
    return goal->offset[0] != 0 || goal->offset[1] != 0 || goal->offset[2] != 0;
}

/* The last joint that turns for a goal: its own only where that changes something. */
static int last_turning(const ik_skeleton *skeleton, const ik_goal *goal) {
    return has_offset(goal) || goal->rotation.data ? goal->joint : skeleton->parents[goal->joint];
}

static int is_ancestor(const ik_skeleton *skeleton, int joint, int below) {
    while (below >= 0 && below != joint)
        below = skeleton->parents[below];
    return below >= 0;
}

/* The joint that a chain with a pole turns about, and the one it leads to; what lies between is what bends. */
static int pole_base(const ik_skeleton *skeleton, const ik_goal *goal) {
    int base = -1, end = skeleton->parents[goal->chain];
    for (int joint = goal->joint; joint != end; joint = skeleton->parents[joint])
        if (!skeleton->limits || skeleton->limits[joint].kind != IK_LOCKED) base = joint;
    return base;
}

static int pole_ends_beside(const ik_goal *goal) { return has_offset(goal) && !goal->rotation.data; }

static const char *check_pole(const ik_solve_job *job, const ik_goal *goal) {
    const ik_skeleton *skeleton = job->skeleton;
    int base = pole_base(skeleton, goal);
    int last = pole_ends_beside(goal) || goal->joint == base ? goal->joint : skeleton->parents[goal->joint];
    if (!goal->position.data || base < 0 || base == last) return "a goal's pole needs a chain of two bones or more";
    if (skeleton->limits && skeleton->limits[base].kind != IK_FREE)
        return "a goal's pole needs a chain whose first joint has no limit";
    for (const ik_goal *other = job->goals; other < job->goals + job->goal_count; other++)
        if (other != goal && is_ancestor(skeleton, base, other->joint))
            return "a goal's pole needs a chain that no other goal hangs from";
    return NULL;
}

static int has_position(const ik_limit *limit) {
    int some = 0;
    for (int i = 0; i < 3; i++)
        some |= limit->position[i][0] > -INFINITY || limit->position[i][1] < INFINITY;
    return some;
}

static int is_stiff(const ik_limit *limit) {
    const double *stiffness = limit->stiffness;
    return limit->kind != IK_LOCKED && (stiffness[0] != 0 || stiffness[1] != 0 || stiffness[2] != 0);
}

/* Limits of a goal's chain that nobody would keep. */
static const char *check_limits(const ik_skeleton *skeleton, const ik_goal *goal, unsigned takes) {
    const int *parents = skeleton->parents, end = parents[goal->chain];
    for (int joint = goal->joint; joint != end; joint = parents[joint])
        if (has_position(&skeleton->limits[joint]))
            return "a limit in a goal's chain has a position, which no method takes";
    for (int joint = last_turning(skeleton, goal); joint != end && joint >= 0; joint = parents[joint])
        if (is_stiff(&skeleton->limits[joint]) && !(takes & IK_TAKES_STIFFNESS))
            return "a limit in a goal's chain has stiffness, which the method does not take";
    return NULL;
}

const char *ik_solve_check(const ik_solve_job *job, unsigned takes) {
    const ik_skeleton *skeleton = job->skeleton;
    if (job->goal_count < 1) return "there is no goal";
    for (int g = 0; g < job->goal_count; g++) {
        const ik_goal *goal = &job->goals[g];
        if (goal->joint < 0 || goal->joint >= skeleton->count) return "a goal's joint does not exist";
        if (!goal->position.data && !goal->rotation.data) return "a goal has neither position nor rotation";
        if (!is_ancestor(skeleton, goal->chain, goal->joint)) return "a goal's chain does not lead to its joint";
        const char *wrong = goal->pole.data ? check_pole(job, goal) : NULL;
        if (!wrong && skeleton->limits) wrong = check_limits(skeleton, goal, takes);
        if (wrong) return wrong;
        for (int other = 0; other < g; other++) {
            const ik_goal *before = &job->goals[other];
            if (before->joint != goal->joint) continue;
            if (before->rotation.data && goal->rotation.data) return "a joint has two rotations to reach";
            if (before->position.data && goal->position.data && !has_offset(before) && !has_offset(goal))
                return "a joint has two positions to reach";
        }
    }
    return NULL;
}

static size_t most_nodes(const ik_solve_job *job) { return (size_t)(job->skeleton->count + job->goal_count); }

size_t ik_plan_bytes(const ik_solve_job *job) {
    return sizeof(ik_plan) + most_nodes(job) * (sizeof(ik_node) + sizeof(ik_still) + 3 * sizeof(int)) +
           (size_t)job->goal_count * (2 * sizeof(ik_task) + sizeof(ik_bend));
}

static int add_node(ik_plan *plan, int joint, int parent) {
    ik_node *node = &plan->nodes[plan->count];
    *node = (ik_node){joint, parent, 0, 0, 0, -1, -1, -1, -1, -1, -1};
    return plan->count++;
}

enum { AWAY, ON_THE_WAY, TURNS };

/* What every joint is to the goals. */
static void mark(const ik_solve_job *job, int *marks) {
    const int *parents = job->skeleton->parents;
    for (int joint = 0; joint < job->skeleton->count; joint++)
        marks[joint] = AWAY;
    for (int g = 0; g < job->goal_count; g++) {
        const ik_goal *goal = &job->goals[g];
        for (int joint = goal->joint; joint >= 0 && marks[joint] == AWAY; joint = parents[joint])
            marks[joint] = ON_THE_WAY;
    }
    for (int g = 0; g < job->goal_count; g++) {
        const ik_goal *goal = &job->goals[g];
        int end = parents[goal->chain];
        for (int joint = last_turning(job->skeleton, goal); joint != end && joint >= 0; joint = parents[joint])
            marks[joint] = TURNS;
    }
}

/* Replaces the mark of every joint on the way by its node. */
static void add_joints(ik_plan *plan, int *marks) {
    const ik_skeleton *skeleton = plan->job->skeleton;
    for (int place = 0; place < skeleton->count; place++) {
        int joint = skeleton->order[place], parent = skeleton->parents[joint];
        if (marks[joint] == AWAY) continue;
        int turns = marks[joint] == TURNS, kind = skeleton->limits ? skeleton->limits[joint].kind : IK_FREE;
        int node = add_node(plan, joint, parent < 0 ? -1 : marks[parent]);
        plan->nodes[node].turns = turns && kind != IK_LOCKED;
        plan->nodes[node].locked = turns && kind == IK_LOCKED;
        plan->limited |= turns && kind != IK_FREE;
        marks[joint] = node;
    }
}

static void add_task(ik_plan *plan, int node, int goal, int rotation) {
    plan->tasks[plan->task_count++] = (ik_task){node, goal, rotation};
}

static void add_goals(ik_plan *plan, const int *node_of_joint) {
    for (int g = 0; g < plan->job->goal_count; g++) {
        const ik_goal *goal = &plan->job->goals[g];
        int joint = node_of_joint[goal->joint], point = has_offset(goal) ? add_node(plan, -1, joint) : joint;
        if (goal->position.data) plan->nodes[point].point = g, add_task(plan, point, g, 0);
        if (goal->rotation.data) plan->nodes[joint].rotation = g, add_task(plan, joint, g, 1);
        if (goal->pole.data) {
            int base = node_of_joint[pole_base(plan->job->skeleton, goal)];
            plan->bends[plan->bend_count++] = (ik_bend){g, base, pole_ends_beside(goal) ? point : joint};
        }
    }
}

static void connect(ik_plan *plan) {
    for (int k = 0; k < plan->count; k++) {
        ik_node *node = &plan->nodes[k], *parent = node->parent < 0 ? NULL : &plan->nodes[node->parent];
        node->moves = parent && (parent->moves || parent->turns);
        if (node->moves || node->turns) {
            plan->node_of_slot[plan->slots] = k;
            node->slot = plan->slots++;
            plan->bases += !node->moves;
        }
        if (!node->moves) continue;
        node->owner = parent->turns ? node->parent : parent->owner;
        if (!node->turns && node->point < 0 && node->rotation < 0) continue;
        ik_node *owner = &plan->nodes[node->owner];
        plan->branches |= owner->child >= 0;
        plan->rigid |= owner != parent;
        node->sibling = owner->child;
        owner->child = k;
    }
}

/* What nothing moves or turns is nobody's to do. */
static void drop_tasks(ik_plan *plan) {
    int count = 0;
    for (int t = 0; t < plan->task_count; t++)
        if (plan->nodes[plan->tasks[t].node].slot >= 0) plan->tasks[count++] = plan->tasks[t];
    plan->task_count = count;
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

ik_plan *ik_plan_make(const ik_solve_job *job, void *memory) {
    ik_plan *plan = memory;
    const size_t most = most_nodes(job);
    *plan = (ik_plan){.job = job, .nodes = (ik_node *)(plan + 1)};
    plan->still = (ik_still *)(plan->nodes + most);
    plan->node_of_slot = (int *)(plan->still + most);
    plan->slot_of_point = plan->node_of_slot + most;
    int *marks = plan->slot_of_point + most;
    plan->tasks = (ik_task *)(marks + most);
    plan->bends = (ik_bend *)(plan->tasks + 2 * job->goal_count);
    mark(job, marks);
    add_joints(plan, marks);
    add_goals(plan, marks);
    connect(plan);
    drop_tasks(plan);
    find_points(plan);
    find_still(plan, marks);
    return plan;
}
