/* From a skeleton and goals to the nodes that a solve works on. */
#include "../ik.h"
#ifndef IK_NO_SKELETON
#include "plan.h"

#include <math.h>

#include "goals.h"

int ik_carries(const ik_plan *plan, int k, int below) {
    while (below > k)
        below = plan->nodes[below].parent;
    return below == k;
}

/* ---- marks: how joints take part in goals */

enum { ON_THE_WAY = 1, TURNS = 2, SLIDES = 4 };

static void mark_way(const ik_skeleton *skeleton, int *marks, int joint) {
    for (; joint >= 0; joint = skeleton->parents[joint])
        marks[joint] |= ON_THE_WAY;
}

static void mark_chain(const ik_solve_job *job, int *marks, int joint, int itself, int chain) {
    const ik_skeleton *skeleton = job->skeleton;
    for (int end = chain < 0 ? -1 : skeleton->parents[chain], last = joint; joint != end && joint >= 0;
         joint = skeleton->parents[joint]) {
        if ((joint != last || itself) && may_turn(job, joint)) marks[joint] |= TURNS;
        if (may_slide(job, joint)) marks[joint] |= SLIDES;
    }
}

/* Marks every joint from the chain on that moves the centre of mass. */
static void mark_weighed(const ik_solve_job *job, int *marks, int chain) {
    const ik_skeleton *skeleton = job->skeleton;
    for (int joint = 0; joint < skeleton->count; joint++) {
        if (!has_mass(skeleton, joint)) continue;
        mark_way(skeleton, marks, joint);
        if (chain < 0 || is_ancestor(skeleton, chain, joint))
            mark_chain(job, marks, joint, is_vector(skeleton->joints[joint].centre), chain);
    }
}

/* Marks every joint; roots slide, whatever their limits. */
static void mark_all(const ik_solve_job *job, int *marks) {
    const ik_skeleton *skeleton = job->skeleton;
    for (int joint = 0; joint < skeleton->count; joint++) {
        const int is_free = skeleton->parents[joint] < 0 && may_move(job, joint, IK_MAY_SLIDE);
        marks[joint] = ON_THE_WAY | (may_turn(job, joint) ? TURNS : 0);
        if (is_free || may_slide(job, joint)) marks[joint] |= SLIDES;
    }
}

static void mark(const ik_solve_job *job, unsigned takes, int *marks) {
    const ik_skeleton *skeleton = job->skeleton;
    if (takes & IK_ALL_JOINTS) {
        mark_all(job, marks);
        return;
    }
    for (int joint = 0; joint < skeleton->count; joint++)
        marks[joint] = 0;
    for (const ik_goal *goal = job->goals; goal < job->goals + job->goal_count; goal++) {
        if (is_weighed(goal)) {
            mark_weighed(job, marks, goal->chain);
            continue;
        }
        mark_way(skeleton, marks, goal->joint);
        if (goal->kind == IK_POSTURE) continue;
        mark_chain(job, marks, goal->joint, turns_itself(goal), goal->chain);
        if (!goal->relative) continue;
        mark_way(skeleton, marks, goal->other);
        if (goal->other_chain >= 0) mark_chain(job, marks, goal->other, turns_other(goal), goal->other_chain);
    }
}

/* ---- nodes */

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

/* The number of own axes with different mobility about which a joint turns; 0: all axes are alike. */
static int axes_of(const ik_limit *limit) {
    if (!limit || (limit->kind == IK_FREE && !is_stiff(limit))) return 0;
    return limit->kind == IK_HINGE ? 1 : 3;
}

/* Whether a node has a limit of speed or acceleration. */
static int is_timed(const ik_skeleton *skeleton, const ik_node *node) {
    const ik_limit *limit = limit_of(skeleton, node->joint);
    return (node->turns && has_speed(limit, 0)) || (node->slides && has_speed(limit, 1));
}

/* The travel of a joint: that of its limit, otherwise unlimited. */
static const double (*travel_of(const ik_skeleton *skeleton, int joint))[2] {
    static const double anywhere[3][2] = {{-HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, HUGE_VAL}};
    return is_sliding(skeleton, joint) ? skeleton->limits[joint].position : anywhere;
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
        node->travel = node->slides ? travel_of(skeleton, joint) : NULL;
        node->limit = node->turns ? limit_of(skeleton, joint) : NULL;
        node->axes = axes_of(node->limit);
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

/* Adds nodes for masses, and the total mass that every node carries. */
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
    plan->tasks[plan->task_count++] = (ik_task){plan->job->goals[goal].kind, goal, node, other, 0, 0, {0, 0}, -1};
}

/* Counts the ties of nodes: goals relative to another joint, distances, sides of planes, capsules to stay clear of. */
static void add_tie(ik_plan *plan, enum ik_goal_kind kind, int node, int other) {
    if (other < 0 && kind != IK_DISTANCE && kind != IK_INSIDE && kind != IK_OUTSIDE) return;
    plan->ties = 1;
    if (kind == IK_TURN || kind == IK_OUTSIDE) return; /* which hold no end */
    if (node >= 0) plan->nodes[node].ties++;
    if (other >= 0) plan->nodes[other].ties++;
}

/* The node at which the bone to a node starts: its parent, or the node itself if it has none. */
static int start_of(const ik_plan *plan, int node) {
    const int above = plan->nodes[node].parent;
    return above < 0 ? node : above;
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
    plan->one_sided |= goal->kind == IK_INSIDE || goal->kind == IK_OUTSIDE;
    plan->outside |= goal->kind == IK_OUTSIDE;
    if (goal->kind == IK_POSTURE) {
        plan->nodes[joint].posture = g, plan->postures = 1;
        return;
    }
    if (goal->kind == IK_PLACE && !goal->relative) plan->nodes[node].point = g;
    if (goal->kind == IK_TURN && !goal->relative) plan->nodes[node].rotation = g;
    add_task(plan, g, node, other);
    add_tie(plan, goal->kind, node, other);
    if (node >= 0 && goal->kind != IK_TURN) plan->nodes[node].place = 1;
    if (other >= 0) plan->nodes[other].place = 1;
    if (goal->kind == IK_OUTSIDE) plan->nodes[start_of(plan, node)].place = 1;
    if (!goal->pole.data) return;
    int base = node_of_joint[pole_base(plan->job, goal)];
    plan->bends[plan->bend_count++] = (ik_bend){g, base, pole_ends_beside(plan->job, goal) ? node : joint};
}

/* Whether node k turns or slides, or one above it. */
static int can_move(const ik_plan *plan, int k) {
    return k >= 0 && (plan->nodes[k].turns || plan->nodes[k].slides || plan->nodes[k].moves);
}

int ik_is_about(const ik_plan *plan, const ik_task *task, int k) {
    return k == task->node || k == task->other || (task->node < 0 && plan->nodes[k].mass > 0);
}

static int is_moved(const ik_plan *plan, const ik_task *task) {
    for (int k = 0; k < plan->count; k++)
        if (ik_is_about(plan, task, k) && can_move(plan, k)) return 1;
    return 0;
}

/* The first locked joint that carries something that a task is about. Nodes stand below their parents. */
static int locked_above(const ik_plan *plan, const ik_task *task) {
    for (int held = 0; held < plan->count; held++)
        for (int k = held; plan->nodes[held].locked && k < plan->count; k++)
            if (ik_is_about(plan, task, k) && ik_carries(plan, held, k)) return held;
    return -1;
}

/* Moves tasks that no joint can change behind the others: they are judged, but methods skip them. The judge needs the
 * positions of the bones that carry them. */
static void separate_fixed_tasks(ik_plan *plan) {
    plan->judged = plan->task_count;
    plan->task_count = 0;
    for (int t = 0; t < plan->judged; t++) {
        ik_task task = plan->tasks[t];
        if (!is_moved(plan, &task)) {
            plan->tasks[t].held = locked_above(plan, &task);
            for (int k = 0; k < plan->count && plan->tasks[t].held >= 0; k++)
                plan->nodes[k].place |= !can_move(plan, k);
            continue;
        }
        for (int u = t; u > plan->task_count; u--)
            plan->tasks[u] = plan->tasks[u - 1];
        plan->tasks[plan->task_count++] = task;
    }
}

static void find_moves(ik_plan *plan) {
    for (ik_node *node = plan->nodes; node < plan->nodes + plan->count; node++)
        node->moves = can_move(plan, node->parent);
}

/* Numbers the slots: nodes that move, and other nodes with tasks. */
static void add_slots(ik_plan *plan) {
    for (int k = 0; k < plan->count; k++)
        plan->nodes[k].slot = can_move(plan, k) || plan->nodes[k].mass > 0 ? 0 : -1;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        if (task->node >= 0) plan->nodes[task->node].slot = 0;
        if (task->other >= 0) plan->nodes[task->other].slot = 0;
        if (task->kind == IK_OUTSIDE) plan->nodes[ik_task_start(plan, task)].slot = 0;
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
        if (node->owner < 0 || (!node->turns && node->point < 0 && node->rotation < 0 && !node->ties)) continue;
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

/* ---- tasks */

int ik_task_rows(const ik_task *task) {
#define ROWS(name, numbers, doc) numbers,
    static const int rows[] = {IK_GOAL_KINDS(ROWS)};
#undef ROWS
    return rows[task->kind];
}

int ik_task_start(const ik_plan *plan, const ik_task *task) { return start_of(plan, task->node); }

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

/* Numbers the levels from 0 without gaps, and sorts tasks by level, stably. */
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

static void find_sides(ik_plan *plan) {
    signed char *side = plan->sides;
    for (ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++)
        for (int slot = 0; slot < plan->slots; slot++, side++) {
            int k = plan->node_of_slot[slot], here = task->node < 0 || ik_carries(plan, k, task->node);
            *side = (signed char)(here - (task->other >= 0 && ik_carries(plan, k, task->other)));
            if (*side && (plan->nodes[k].turns || plan->nodes[k].slides)) task->moves[*side < 0] = 1;
        }
}

ik_plan *ik_plan_make(const ik_solve_job *job, unsigned takes, void *memory) {
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
    mark(job, takes, marks);
    add_joints(plan, marks);
    for (int g = 0; g < job->goal_count; g++)
        add_goal(plan, marks, g);
    if (plan->weighed) add_masses(plan, marks);
    find_moves(plan);
    separate_fixed_tasks(plan);
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

ik_plan ik_plan_largest(const ik_solve_job *job) {
    const int nodes = (int)ik_plan_nodes(job), goals = job->goal_count;
    ik_plan most = {.job = job, .count = nodes, .slots = nodes, .bases = nodes};
    most.branches = most.limited = most.rigid = most.slides = most.weighed = most.postures = most.ties = 1;
    most.one_sided = most.outside = 1;
    most.rests = 1, most.columns_of_slides = most.columns_of_postures = nodes;
    most.task_count = most.judged = goals, most.rows = 3 * goals, most.levels = 2;
    return most;
}
#endif
