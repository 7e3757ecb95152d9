/* Builds the tree of triangles that ray_cast.h traverses.
 *
 * The tree is built from the top. The range of triangles of a node is split until it has eight parts. The part with the
 * largest cost, surface area times number of blocks, is split next. A split separates the triangles by their centres
 * along one axis. It minimizes the sum of both costs over 3 times 15 candidates. This is the surface area heuristic of
 * MacDonald and Booth, "Heuristics for ray tracing using space subdivision", 1990. It is binned as by Wald, "On fast
 * construction of SAH-based bounding volume hierarchies", 2007. A part of at most eight triangles is a leaf. */
#include "../ik.h"
#ifndef IK_NO_RAYS
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../fpmode.h"

#define IK_BITS  64
#define IK_BYTES 0
#include "../lanes/real.h"

#include "ray_tree.h"

enum {
    BINS = 16,
    FEWEST = 4, /* triangles in a leaf, unless the mesh has fewer: bounds the memory */
};

typedef struct {
    double low[3], high[3];
} box;

/* A range of triangles: `count` of them from `first` in the order. */
typedef struct {
    int first, count, depth;
    box bounds;
} range;

/* Results of the planning step for the filling step, in the scratch memory. */
typedef struct {
    const double *vertices;
    const int32_t *faces;
    tree_node *nodes;
    range *waiting; /* by node */
    range *leaves;  /* by block */
    box *boxes;     /* by triangle, in the tree's space */
    int32_t *order; /* the triangles, those of a range consecutive */
} plan;

/* --- boxes -------------------------------------------------------------------------------------------------------- */

static const box nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a < b ? b : a; }

static inline void grow(box *all, const box *one) {
    for (int axis = 0; axis < 3; axis++) {
        all->low[axis] = smaller(all->low[axis], one->low[axis]);
        all->high[axis] = larger(all->high[axis], one->high[axis]);
    }
}

/* A float not above x, with margin TREE_SLACK; the rounding is much smaller. */
static float below(double x) { return (float)(x - TREE_SLACK); }

/* Half the surface area. */
static double surface(const box *bounds) {
    double x = bounds->high[0] - bounds->low[0], y = bounds->high[1] - bounds->low[1];
    double z = bounds->high[2] - bounds->low[2];
    return x * y + y * z + z * x;
}

/* Twice the centre along an axis. */
static inline double middle(const box *bounds, int axis) { return bounds->low[axis] + bounds->high[axis]; }

static box bounds_of(const plan *plan, int first, int count) {
    box bounds = nothing;
    for (int i = first; i < first + count; i++)
        grow(&bounds, &plan->boxes[plan->order[i]]);
    return bounds;
}

/* --- splits ------------------------------------------------------------------------------------------------------- */

/* Bins of the centres of a range: `BINS` equal intervals along an axis. factor 0: all centres coincide. */
typedef struct {
    int axis;
    double low, factor;
} bins;

/* The best split so far: the bins, the first bin of the right side (0: none found), and the cost. */
typedef struct {
    bins bins;
    int right;
    double cost;
} place;

static inline int bin_of(const bins *bins, const box *bounds) {
    int bin = (int)((middle(bounds, bins->axis) - bins->low) * bins->factor);
    return bin < BINS ? bin : BINS - 1;
}

static void find_bins(const plan *plan, const range *all, bins found[3]) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = all->first; i < all->first + all->count; i++)
        for (int axis = 0; axis < 3; axis++) {
            double at = middle(&plan->boxes[plan->order[i]], axis);
            low[axis] = smaller(low[axis], at);
            high[axis] = larger(high[axis], at);
        }
    for (int axis = 0; axis < 3; axis++) {
        double width = high[axis] - low[axis];
        found[axis] = (bins){axis, low[axis], width > 0x1p-50 ? BINS / width : 0};
    }
}

static double cost(const box *bounds, int count) {
    return count ? surface(bounds) * ((count + TREE_WIDTH - 1) / TREE_WIDTH) : 0;
}

/* Searches for a cheaper split that leaves at least FEWEST triangles on both sides. */
static void try_bins(const plan *plan, const range *all, const bins *bins, place *best) {
    box bounds[BINS], side = nothing;
    int counts[BINS] = {0}, count = 0;
    double right[BINS];
    for (int bin = 0; bin < BINS; bin++)
        bounds[bin] = nothing;
    for (int i = all->first; i < all->first + all->count; i++) {
        const box *one = &plan->boxes[plan->order[i]];
        int bin = bin_of(bins, one);
        counts[bin]++;
        grow(&bounds[bin], one);
    }
    for (int bin = BINS - 1; bin > 0; bin--) {
        grow(&side, &bounds[bin]);
        right[bin] = cost(&side, count += counts[bin]);
    }
    side = nothing, count = 0;
    for (int bin = 1; bin < BINS; bin++) {
        grow(&side, &bounds[bin - 1]);
        count += counts[bin - 1];
        double both = cost(&side, count) + right[bin];
        if (count >= FEWEST && all->count - count >= FEWEST && both < best->cost) *best = (place){*bins, bin, both};
    }
}

static place best_place(const plan *plan, const range *all) {
    place best = {.cost = INFINITY};
    bins bins[3];
    find_bins(plan, all, bins);
    for (int axis = 0; axis < 3; axis++)
        if (bins[axis].factor > 0) try_bins(plan, all, &bins[axis], &best);
    return best;
}

/* Moves the triangles of the left side to the front. Returns their number. */
static int part(const plan *plan, const range *all, const place *split) {
    int left = all->first, right = all->first + all->count;
    while (left < right) {
        int32_t one = plan->order[left];
        if (bin_of(&split->bins, &plan->boxes[one]) < split->right) {
            left++;
        } else {
            plan->order[left] = plan->order[--right];
            plan->order[right] = one;
        }
    }
    return left - all->first;
}

/* Splits a range in two: `all` keeps the left part, and the right part is returned. */
static range cut(const plan *plan, range *all) {
    int count = all->count / 2;
    if (all->depth < TREE_DEPTH) {
        place split = best_place(plan, all);
        if (split.right) count = part(plan, all, &split);
    }
    range rest = {all->first + count, all->count - count, all->depth, nothing};
    all->count = count;
    all->bounds = bounds_of(plan, all->first, count);
    rest.bounds = bounds_of(plan, rest.first, rest.count);
    return rest;
}

/* The part of a node with the highest cost, to be split next; -1 if all are leaves. */
static int worst(const range *parts, int count) {
    int found = -1;
    double most = -1;
    for (int i = 0; i < count; i++) {
        double effort = cost(&parts[i].bounds, parts[i].count);
        if (parts[i].count <= TREE_WIDTH || !(effort > most)) continue;
        most = effort;
        found = i;
    }
    return found;
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

/* Builds the node of a waiting range. Its parts become leaves or wait in turn. */
static void make_node(const plan *plan, ik_ray_tree *tree, int at) {
    tree_node *node = &plan->nodes[at];
    range parts[TREE_WIDTH] = {plan->waiting[at]};
    int count = 1, next;
    while (count < TREE_WIDTH && (next = worst(parts, count)) >= 0)
        parts[count++] = cut(plan, &parts[next]);
    *node = (tree_node){0};
    for (int i = 0; i < TREE_WIDTH; i++) {
        const box *bounds = i < count ? &parts[i].bounds : &nothing;
        for (int axis = 0; axis < 3; axis++) {
            node->bounds[axis][i] = below(bounds->low[axis]);
            node->bounds[3 + axis][i] = -below(-bounds->high[axis]);
        }
    }
    for (int i = 0; i < count; i++) {
        parts[i].depth++;
        if (parts[i].count > TREE_WIDTH) {
            node->child[i] = tree->nodes;
            plan->waiting[tree->nodes++] = parts[i];
        } else {
            node->child[i] = ~tree->blocks;
            plan->leaves[tree->blocks++] = parts[i];
        }
    }
}

/* A coordinate as the sum of two floats, as blocks store it. */
typedef struct {
    float high, low;
} coordinate;

static coordinate coordinate_of(double x) {
    float high = (float)x;
    return (coordinate){high, (float)(x - high)};
}

static void corner(const plan *plan, const ik_ray_tree *tree, int triangle, int vertex, coordinate at[3]) {
    const double *given = plan->vertices + 3 * (ptrdiff_t)plan->faces[3 * (ptrdiff_t)triangle + vertex];
    for (int axis = 0; axis < 3; axis++)
        at[axis] = coordinate_of((given[axis] - tree->centre[axis]) * tree->scale);
}

/* True if a triangle has an area, and therefore a normal. */
static int is_solid(const double a[3], const double b[3], const double c[3]) {
    double u[3], v[3];
    for (int axis = 0; axis < 3; axis++)
        u[axis] = b[axis] - a[axis], v[axis] = c[axis] - a[axis];
    return u[1] * v[2] != u[2] * v[1] || u[2] * v[0] != u[0] * v[2] || u[0] * v[1] != u[1] * v[0];
}

/* Defines the tree's space: the centre of the bounds becomes the origin, half of their largest extent between 2 and
 * 4. */
static void centre(const plan *plan, ik_ray_tree *tree, int triangles) {
    box all = nothing;
    for (ptrdiff_t i = 0; i < 3 * (ptrdiff_t)triangles; i++) {
        box point;
        memcpy(point.low, plan->vertices + 3 * (ptrdiff_t)plan->faces[i], sizeof point.low);
        memcpy(point.high, point.low, sizeof point.high);
        grow(&all, &point);
    }
    double half = 0x1p-400; /* keeps the scale finite for a single point */
    for (int axis = 0; axis < 3 && triangles; axis++) {
        double at = all.low[axis] / 2 + all.high[axis] / 2;
        half = larger(half, larger(all.high[axis] - at, at - all.low[axis]));
        tree->centre[axis] = at;
    }
    tree->scale = real_unit_scale(half);
}

/* Computes boxes and order of the triangles that have an area. Returns their number. */
static int take_triangles(const plan *plan, const ik_ray_tree *tree, int triangles) {
    int taken = 0;
    for (int triangle = 0; triangle < triangles; triangle++) {
        box *bounds = &plan->boxes[triangle];
        double at[3][3];
        for (int vertex = 0; vertex < 3; vertex++) {
            coordinate point[3];
            corner(plan, tree, triangle, vertex, point);
            for (int axis = 0; axis < 3; axis++)
                at[vertex][axis] = (double)point[axis].high + (double)point[axis].low;
        }
        if (!is_solid(at[0], at[1], at[2])) continue;
        plan->order[taken++] = triangle;
        for (int axis = 0; axis < 3; axis++) {
            bounds->low[axis] = smaller(smaller(at[0][axis], at[1][axis]), at[2][axis]);
            bounds->high[axis] = larger(larger(at[0][axis], at[1][axis]), at[2][axis]);
        }
    }
    return taken;
}

/* The largest number of leaves: each has at least FEWEST triangles. And of nodes: a node with fewer than eight children
 * has only leaves, and more than eight triangles. */
static size_t most_blocks(int triangles) { return (size_t)triangles / FEWEST + 1; }
static size_t most_nodes(int triangles) { return (size_t)triangles / 7 + 1; }

static plan plan_in(void *scratch, int triangles) {
    plan plan = {.nodes = scratch};
    plan.boxes = (box *)(plan.nodes + most_nodes(triangles));
    plan.waiting = (range *)(plan.boxes + triangles);
    plan.leaves = plan.waiting + most_nodes(triangles);
    plan.order = (int32_t *)(plan.leaves + most_blocks(triangles));
    return plan;
}

size_t ik_ray_tree_scratch(int triangles) {
    return most_nodes(triangles) * (sizeof(tree_node) + sizeof(range)) + most_blocks(triangles) * sizeof(range) +
           (size_t)triangles * (sizeof(box) + sizeof(int32_t));
}

size_t ik_ray_tree_plan(ik_ray_tree *tree, const double *vertices, const int32_t *faces, int triangles, void *scratch) {
    ik_fpmode before = ik_fpmode_enter();
    plan plan = plan_in(scratch, triangles);
    plan.vertices = vertices;
    plan.faces = faces;
    *tree = (ik_ray_tree){0};
    centre(&plan, tree, triangles);
    int taken = take_triangles(&plan, tree, triangles);
    if (!taken) tree->scale = 1; /* the scale of a single point could make rays overflow */
    range all = {0, taken, 0, bounds_of(&plan, 0, taken)};
    if (taken > TREE_WIDTH)
        plan.waiting[tree->nodes++] = all;
    else if (taken)
        plan.leaves[tree->blocks++] = all;
    for (int at = 0; at < tree->nodes; at++)
        make_node(&plan, tree, at);
    ik_fpmode_leave(before);
    return (size_t)tree->nodes * sizeof(tree_node) + (size_t)tree->blocks * sizeof(tree_block);
}

void ik_ray_tree_fill(ik_ray_tree *tree, const double *vertices, const int32_t *faces, int triangles,
                      const void *scratch, void *memory) {
    ik_fpmode before = ik_fpmode_enter();
    plan plan = plan_in((void *)scratch, triangles);
    plan.vertices = vertices;
    plan.faces = faces;
    tree->memory = memory;
    if (tree->nodes) memcpy(memory, plan.nodes, (size_t)tree->nodes * sizeof(tree_node));
    tree_block *blocks = (tree_block *)((tree_node *)memory + tree->nodes);
    for (int at = 0; at < tree->blocks; at++) {
        blocks[at] = (tree_block){0};
        for (int i = 0; i < TREE_WIDTH; i++) {
            int there = i < plan.leaves[at].count;
            int triangle = there ? plan.order[plan.leaves[at].first + i] : -1;
            blocks[at].triangle[i] = triangle;
            for (int vertex = 0; vertex < 3; vertex++) {
                coordinate point[3] = {{NAN, 0}, {NAN, 0}, {NAN, 0}};
                if (there) corner(&plan, tree, triangle, vertex, point);
                for (int axis = 0; axis < 3; axis++) {
                    blocks[at].high[vertex][axis][i] = point[axis].high;
                    blocks[at].low[i][axis][vertex] = point[axis].low;
                }
            }
        }
    }
    ik_fpmode_leave(before);
}
#endif
