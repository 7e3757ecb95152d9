/* FABRIK: forward and backward reaching. A. Aristidou, J. Lasenby, "FABRIK: a fast, iterative solver for the inverse
 * kinematics problem", Graphical Models 73 (2011).
 *
 * Idea. Forget the rotations and move points. Backward, from the tip: put the tip on its target, then every joint on
 * the line to the one below it, at its bone's length. Forward, from the base, the same the other way round. Both passes
 * keep all lengths, so what the target gains is never lost. Rotations follow from the points at the end: each bone
 * turns by the shortest arc, so that it keeps its twist.
 *
 *   backward   p[i] <- p[i+1] + l[i] dir(p[i] - p[i+1])
 *   forward    p[i+1] <- p[i] + l[i] dir(p[i+1] - p[i])
 *
 * The goal of an inner joint moves the position that the backward pass gives it towards the goal's position, by the
 * share w / (w + sum of the weights below).
 *
 * Unless `textbook`:
 * - A target out of reach is answered at once, by the straight chain or the folded one (chain.h).
 * - A chain in line with its target starts as an arc, because passes would only fold it back onto that line. If the
 *   target is just within reach, the arc ends at the target.
 * - A chain that makes no more progress is bent a little.
 * - Before a pass every point repeats its last step, scaled by k / (k + 3) after k steps that brought the tip nearer.
 *   This is Nesterov's momentum; it restarts when it overshoots. It takes a sixth of the steps or less near full
 *   reach, where each pass removes a small share of the error. Y. Nesterov, "A method of solving a convex programming
 *   problem with convergence rate O(1/k^2)", 1983; B. O'Donoghue, E. Candes, "Adaptive restart for accelerated gradient
 *   schemes", 2015. */

/* As a share of the reach: a chain that is this flat counts as in line with its target. */
#define FABRIK_FLAT (number)1e-6

/* Distances from the edge of reach, as shares of the reach. Within them the chain is nearly straight, and passes move
 * it very little. */
static const chain_edge fabrik_edge = {.drawn = (number)0.05, .arched = (number)2e-3};

/* An iteration that takes less than this share off the error is no progress; after so many of them the chain is bent,
 * and after so many bends given up. */
#define FABRIK_PROGRESS (number)1e-3
#define FABRIK_SHOVE    (number)0.1 /* of the error */
enum { FABRIK_PATIENCE = 5, FABRIK_KICKS = 3 };

/* The columns of a record. The points come first: they are the result. */
ik_inline int fabrik_point(int slot) { return OWN + 3 * slot; }
ik_inline int fabrik_length(const ik_plan *plan, int slot) { return OWN + 3 * plan->slots + slot; }
ik_inline int fabrik_target(const ik_plan *plan, int goal) { return OWN + 4 * plan->slots + 5 * goal; }
ik_inline int fabrik_share(const ik_plan *plan, int goal) { return fabrik_target(plan, goal) + 3; }
/* The weight of the distance to the target: larger for chains that are shorter than the longest. */
ik_inline int fabrik_per_distance(const ik_plan *plan, int goal) { return fabrik_target(plan, goal) + 4; }
ik_inline int fabrik_watched(const ik_plan *plan) { return fabrik_target(plan, plan->job->goal_count); }

/* How many steps in a row brought the tip nearer, and where the points were before the last. */
ik_inline int fabrik_run(const ik_plan *plan) { return fabrik_watched(plan) + WATCH_COLUMNS; }
ik_inline int fabrik_before(const ik_plan *plan, int slot) { return fabrik_run(plan) + 1 + 3 * slot; }

static record_size fabrik_points_size(const ik_plan *plan) {
    return (record_size){.columns = fabrik_before(plan, plan->slots), .results = fabrik_point(plan->slots)};
}

/* Added to x so that two points never coincide; elsewhere it is below rounding. It would also bend a straight chain in
 * line with its target; with `textbook` such a chain stays straight. */
ik_inline real fabrik_aside(const ik_plan *plan) { return real_splat(plan->job->options.textbook ? 0 : TINY_LENGTH); }

/* The point at a distance from `from` towards `to`; along x if they coincide. It is `from` if `aside` is 0 or just
 * their distance, as on a bone without length that a pass has moved before. */
ik_inline vec3 fabrik_towards(vec3 from, vec3 to, real length, real aside) {
    vec3 d = vec3_sub(to, from);
    d.x = d.x + aside;
    return vec3_add(from, vec3_scale(length / (vec3_length(d) + real_splat(0x1p-120f)), d));
}

/* Slot `slot` of every group on the line from slot `from` to where it was, at the length of a bone. */
ik_inline void fabrik_pull(real *bundle, int groups, int from, int slot, int length, real aside) {
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        vec3 start = column_vec3(c, fabrik_point(from)), towards = column_vec3(c, fabrik_point(slot));
        column_set_vec3(c, fabrik_point(slot), fabrik_towards(start, towards, *column(c, length), aside));
    }
}

/* Towards the target of its goal, by its share. */
ik_inline void fabrik_aim(const ik_plan *plan, real *bundle, int groups, int slot, int goal) {
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        real share = *column(c, fabrik_share(plan, goal));
        vec3 target = vec3_scale(share, column_vec3(c, fabrik_target(plan, goal)));
        vec3 stays = vec3_scale(real_splat(1) - share, column_vec3(c, fabrik_point(slot)));
        column_set_vec3(c, fabrik_point(slot), vec3_add(stays, target));
    }
}

/* Tip to base. */
ik_inline void fabrik_backward(const ik_plan *plan, real *bundle, int groups) {
    const real aside = fabrik_aside(plan);
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        if (!node->moves) continue;
        if (node->child >= 0) {
            int child = plan->nodes[node->child].slot;
            fabrik_pull(bundle, groups, child, slot, fabrik_length(plan, child), aside);
        }
        if (node->point >= 0) fabrik_aim(plan, bundle, groups, slot, node->point);
    }
}

/* Base to tip. */
ik_inline void fabrik_forward(const ik_plan *plan, real *bundle, int groups) {
    const real aside = fabrik_aside(plan);
    for (int slot = 0; slot < plan->slots; slot++) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        if (!node->moves) continue;
        fabrik_pull(bundle, groups, plan->nodes[node->parent].slot, slot, fabrik_length(plan, slot), aside);
    }
}

/* The largest distance to a target: unless `textbook`, of the reach of its own chain. One without weight does not
 * count. */
ik_inline real fabrik_error(const ik_plan *plan, columns c) {
    real most = real_splat(0), zero = real_splat(0);
    for (int goal = 0; goal < plan->job->goal_count; goal++) {
        int slot = plan->slot_of_point[goal];
        if (slot < 0) continue;
        vec3 off = vec3_sub(column_vec3(c, fabrik_target(plan, goal)), column_vec3(c, fabrik_point(slot)));
        mask counts = ~mask_equal(*column(c, fabrik_share(plan, goal)), zero);
        off = vec3_scale(*column(c, fabrik_per_distance(plan, goal)), off);
        most = real_max(real_select(counts, vec3_dot(off, off), zero), most);
    }
    return real_sqrt(most);
}

/* ---- chains that a step would not move */

/* Whether nothing else pulls at the chain, so that its own target is all there is to say. */
static int fabrik_is_alone(const ik_plan *plan, int k) {
    if (plan->nodes[k].child >= 0) return 0;
    if (!plan->nodes[k].moves) return 1;
    for (k = plan->nodes[k].parent; plan->nodes[k].moves; k = plan->nodes[k].parent)
        if (plan->nodes[k].point >= 0) return 0;
    return 1;
}

/* Points along the line: all bones forwards; or, where the target is too near, all but a longest one backwards. */
static void fabrik_lay(const ik_plan *plan, const aimed_chain *chain, mask chosen, mask near, columns record) {
    real inner = chain_inner(chain->reach), sum = chain->reach.sum;
    vec3 base = column_vec3(record, fabrik_point(plan->nodes[chain->base].slot));
    real at = real_select(near, inner, sum); /* of the point, along the line; from the tip up */
    mask waiting = near;
    for (int k = chain->end; k != chain->base; k = plan->nodes[k].parent) {
        int slot = plan->nodes[k].slot;
        vec3 point = vec3_add(base, vec3_scale(at, chain->line));
        vec3 before = column_vec3(record, fabrik_point(slot));
        column_set_vec3(record, fabrik_point(slot), vec3_select(chosen, point, before));
        real length = *column(record, fabrik_length(plan, slot));
        mask longest = waiting & ~mask_less(length, chain->reach.longest);
        waiting &= ~longest;
        at = real_select(near & ~longest, at + length, at - length);
    }
}

/* A target out of reach becomes the nearest point in reach, and the chain is laid there. */
static void fabrik_answer(const ik_plan *plan, const aimed_chain *chain, columns record) {
    mask far = mask_less(chain->reach.sum, chain->distance);
    mask near = mask_less(chain->distance, chain_inner(chain->reach)), chosen = far | near;
    if (!mask_any(chosen)) return;
    fabrik_lay(plan, chain, chosen, near, record);
    int target = fabrik_target(plan, plan->nodes[chain->end].point);
    vec3 end = column_vec3(record, fabrik_point(plan->nodes[chain->end].slot));
    column_set_vec3(record, target, vec3_select(chosen, end, column_vec3(record, target)));
}

/* Points between base and end move off a line, to and fro. */
static void fabrik_bend(const ik_plan *plan, int end, vec3 off, columns c) {
    if (!plan->nodes[end].moves) return;
    for (int k = plan->nodes[end].parent; plan->nodes[k].moves; k = plan->nodes[k].parent) {
        int point = fabrik_point(plan->nodes[k].slot);
        column_set_vec3(c, point, vec3_add(column_vec3(c, point), off));
        off = vec3_scale(real_splat(-1), off);
    }
}

/* Bends a chain that is in line with its target, as passes would only fold it back onto the line. It starts as an arc
 * to the target. The arc is about as high as a triangle of the chain's length. */
static void fabrik_unlock(const ik_plan *plan, const aimed_chain *chain, columns record) {
    vec3 base = column_vec3(record, fabrik_point(plan->nodes[chain->base].slot));
    real off = real_splat(0), sum = chain->reach.sum, distance = chain->distance;
    for (int k = chain->end; k != chain->base; k = plan->nodes[k].parent) {
        vec3 point = column_vec3(record, fabrik_point(plan->nodes[k].slot));
        off = real_max(off, vec3_size(vec3_cross(vec3_sub(point, base), chain->line)));
    }
    mask flat = mask_less(off, real_splat(FABRIK_FLAT) * sum) & mask_less(distance, sum) &
                ~mask_less(distance, chain_inner(chain->reach));
    if (!mask_any(flat) || chain->end == chain->base) return;
    vec3 across = vec3_perpendicular(chain->line);
    real height = real_sqrt(real_max((sum - distance) * (sum + distance), real_splat(0))), at = sum;
    for (int k = chain->end; plan->nodes[k].parent != chain->base; k = plan->nodes[k].parent) {
        at = at - *column(record, fabrik_length(plan, plan->nodes[k].slot));
        real share = at / sum, rise = real_splat(2) * height * share * (real_splat(1) - share);
        vec3 point = vec3_add(base, vec3_add(vec3_scale(share * distance, chain->line), vec3_scale(rise, across)));
        int above = fabrik_point(plan->nodes[plan->nodes[k].parent].slot);
        column_set_vec3(record, above, vec3_select(flat, point, column_vec3(record, above)));
    }
}

/* Lays the points of a single chain on an arc that ends at its target, if that is just within reach. */
static void fabrik_curve(const ik_plan *plan, const aimed_chain *chain, columns record) {
    if (plan->bases != 1 || plan->branches) return;
    const int tip = fabrik_point(plan->nodes[chain->end].slot), bones = fabrik_before(plan, 0); /* not in use yet */
    vec3 target = column_vec3(record, fabrik_target(plan, plan->nodes[chain->end].point));
    mask off = mask_less(*column(record, TOLERANCE), vec3_length(vec3_sub(target, column_vec3(record, tip))));
    if (!mask_any(off & chain_at_edge(chain, fabrik_edge.drawn))) return;
    for (int slot = 1; slot < plan->slots; slot++) {
        vec3 from = column_vec3(record, fabrik_point(slot - 1)), to = column_vec3(record, fabrik_point(slot));
        column_set_vec3(record, bones + 3 * slot, vec3_sub(to, from));
    }
    mask near = chain_curve(plan, chain, off, fabrik_edge, bones, record);
    for (int slot = 1; slot < plan->slots; slot++) {
        vec3 from = column_vec3(record, fabrik_point(slot - 1)), now = column_vec3(record, fabrik_point(slot));
        vec3 to = vec3_add(from, column_vec3(record, bones + 3 * slot));
        column_set_vec3(record, fabrik_point(slot), vec3_select(near, to, now));
    }
}

/* Bends the chains of lanes that make no more progress, on the step before; gives up those that were bent often. */
static void fabrik_watch(const ik_plan *plan, columns c) {
    const real zero = real_splat(0), one = real_splat(1), error = *column(c, ERROR);
    const int watch = fabrik_watched(plan);
    real *previous = column(c, watch + WATCH_LEAST), *run = column(c, fabrik_run(plan));
    *run = real_select(mask_less(error, *previous), *run + one, zero);
    mask off = mask_less(*column(c, TOLERANCE), error);
    mask stuck = watch_is_stuck(c, watch, off, error, real_splat(1 - FABRIK_PROGRESS), real_splat(FABRIK_PATIENCE),
                                mask_splat(0));
    *previous = error;
    if (!mask_any(stuck)) return;
    mask spent = stuck & watch_is_spent(c, watch, FABRIK_KICKS);
    watch_give_up(c, spent);
    watch_kicked(c, watch, stuck);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->nodes[k].point < 0) continue;
        vec3 base = column_vec3(c, fabrik_point(plan->nodes[solve_base(plan, k)].slot));
        vec3 line = vec3_direction(vec3_sub(column_vec3(c, fabrik_point(slot)), base)).unit;
        real by = real_select(stuck & ~spent, error, zero) * real_splat(FABRIK_SHOVE);
        fabrik_bend(plan, k, vec3_scale(by, vec3_perpendicular(line)), c);
    }
}

/* ---- the method */

/* The weight of all goals at node k and below. */
static real fabrik_weight(const ik_plan *plan, group at, const pose *start, int k) {
    const ik_goal *goals = plan->job->goals;
    real sum = real_splat(0);
    if (plan->nodes[k].point >= 0) sum = solve_weight(&goals[plan->nodes[k].point].weight, at) / start->heaviest;
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling)
        sum = sum + fabrik_weight(plan, at, start, child);
    return sum;
}

static void fabrik_load_goal(const ik_plan *plan, group at, const pose *start, int k, columns record) {
    int goal = plan->nodes[k].point;
    real weight, all = fabrik_weight(plan, at, start, k);
    vec3 target = solve_target(plan, at, start, k, start->positions[k], &weight);
    column_set_vec3(record, fabrik_target(plan, goal), target);
    *column(record, fabrik_per_distance(plan, goal)) =
        plan->job->options.textbook ? real_splat(1) : solve_per_distance(plan, start, k);
    *column(record, fabrik_share(plan, goal)) =
        weight / start->heaviest / real_select(mask_equal(all, real_splat(0)), real_splat(1), all);
    if (plan->job->options.textbook) return;
    aimed_chain chain = chain_of(plan, start, k, target);
    fabrik_unlock(plan, &chain, record);
    if (!fabrik_is_alone(plan, k)) return;
    fabrik_answer(plan, &chain, record);
    fabrik_curve(plan, &chain, record);
}

static void fabrik_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        column_set_vec3(record, fabrik_point(slot), start->positions[k]);
        *column(record, fabrik_length(plan, slot)) =
            plan->nodes[k].moves ? vec3_length(solve_bone(plan, start, k)) : real_splat(0);
    }
    for (int slot = 0; slot < plan->slots; slot++)
        if (plan->nodes[plan->node_of_slot[slot]].point >= 0)
            fabrik_load_goal(plan, at, start, plan->node_of_slot[slot], record);
    watch_start(record, fabrik_watched(plan));
    *column(record, ERROR) = *column(record, fabrik_watched(plan) + WATCH_LEAST) = fabrik_error(plan, record);
    *column(record, fabrik_run(plan)) = real_splat(0);
    for (int slot = 0; slot < plan->slots; slot++)
        column_set_vec3(record, fabrik_before(plan, slot), column_vec3(record, fabrik_point(slot)));
}

/* The share of the last step to go on by, after so many steps in a row that brought the tip nearer. */
ik_inline real fabrik_momentum(real run) { return run / (run + real_splat(3)); }

/* Every point goes on as it went. */
ik_inline void fabrik_go_on(const ik_plan *plan, real *bundle, int groups) {
    real share[GROUPS];
    for (int g = 0; g < groups; g++)
        share[g] = fabrik_momentum(*column(columns_of_bundle(bundle, g), fabrik_run(plan)));
    for (int slot = 0; slot < plan->slots; slot++)
        for (int g = 0; g < groups; g++) {
            columns c = columns_of_bundle(bundle, g);
            vec3 now = column_vec3(c, fabrik_point(slot)), before = column_vec3(c, fabrik_before(plan, slot));
            column_set_vec3(c, fabrik_before(plan, slot), now);
            column_set_vec3(c, fabrik_point(slot), vec3_add(now, vec3_scale(share[g], vec3_sub(now, before))));
        }
}

ik_inline void fabrik_pass(const ik_plan *plan, real *bundle, int groups) {
    if (!plan->job->options.textbook) fabrik_go_on(plan, bundle, groups);
    fabrik_backward(plan, bundle, groups);
    fabrik_forward(plan, bundle, groups);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        *column(c, ERROR) = fabrik_error(plan, c);
        if (!plan->job->options.textbook) fabrik_watch(plan, c);
    }
}

/* The compiler unrolls the whole bundle. */
static void fabrik_step(const ik_plan *plan, real *bundle, int groups) {
    if (groups == GROUPS)
        fabrik_pass(plan, bundle, GROUPS);
    else
        fabrik_pass(plan, bundle, 1);
}

/* A joint turns its bone to where the points are, by the shortest arc. */
static void fabrik_place(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local) {
    const ik_node *node = &plan->nodes[k];
    quat turned = local->rotation, above = node->parent < 0 ? quat_identity() : world->rotations[node->parent];
    if (node->child >= 0) {
        vec3 from = column_vec3(record, fabrik_point(node->slot));
        vec3 to = column_vec3(record, fabrik_point(plan->nodes[node->child].slot));
        turned = chain_turned(plan, at, world, k, local, vec3_sub(to, from));
    }
    if (node->rotation >= 0) {
        real weight;
        quat target = solve_target_rotation(plan, at, k, quat_multiply(above, turned), &weight);
        turned = quat_multiply(quat_conjugate(above), target);
    }
    local->rotation = turned;
}

static const method fabrik_points = {fabrik_points_size, fabrik_begin, fabrik_step, fabrik_place};

#include "fabrik_columns.h"
#if IK_BYTES < 64 /* wider vectors pay for points alone */
#include "fabrik_ties.h"
#include "fabrik_bodies.h"
#include "fabrik_passes.h"
#include "fabrik_sweep.h"
#include "fabrik_together.h"
#include "fabrik_search.h"
#include "fabrik_frames.h"
static const method *const fabrik_with_frames = &fabrik_frames;
#else
static const method *const fabrik_with_frames = NULL;
#endif

/* Points are enough for a chain that is free everywhere and does not slide. */
static int fabrik_needs_frames(const ik_plan *plan) {
    if (plan->limited || plan->rigid || plan->branches || plan->slides || plan->ties || plan->levels > 1) return 1;
    for (int k = 0; k < plan->count; k++)
        if (plan->nodes[k].rotation >= 0 && plan->nodes[k].child >= 0) return 1;
    return 0;
}

static const method *fabrik_method(const ik_plan *plan) {
    return fabrik_needs_frames(plan) ? fabrik_with_frames : &fabrik_points;
}

/* For the larger of both. */
static record_size fabrik_size(const ik_plan *plan) { return frames_size(plan); }

SOLVE_METHOD(fabrik)
