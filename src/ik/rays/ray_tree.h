/* Memory layout of the ray tree: eight children per node, eight triangles per block. Both are stored by coordinate, so
 * a vector load fills all its lanes. ray_tree.c builds the tree, ray_cast.h reads it. Coordinates are in the tree's
 * space, (p - centre) * scale with a scale that is a power of two. The triangles there surround the origin, up to 4
 * away.
 *
 *
 * Floats select the triangles that a ray may hit, with half the time and memory of doubles. These candidates are then
 * tested in doubles. */
#ifndef IK_RAY_TREE_H
#define IK_RAY_TREE_H

#include "../ik.h"

enum {
    TREE_WIDTH = 8,
    TREE_DEPTH = 16, /* below this depth splits are at the median: all best splits could be lopsided */
    /* Capacity of the stack of children that wait: 7 per level, and one. Halving 2^31 triangles takes 28 levels. */
    TREE_STACK = (TREE_DEPTH + 28) * (TREE_WIDTH - 1) + 1,
};

/* Margin by which a child's bounds exceed its triangles. It is larger than the round-off of floats up to 16, so a ray
 * may be compared with the bounds in floats. */
#define TREE_SLACK 0x1p-17

typedef struct {
    float bounds[6][TREE_WIDTH]; /* lower and upper, by axis, of every child, with TREE_SLACK; no child: inverted */
    int32_t child[TREE_WIDTH];   /* a node; or ~index of a block */
    int32_t unused[8];
} tree_node;

/* The triangles of a leaf. Each coordinate is the sum of two floats. */
typedef struct {
    float high[3][3][TREE_WIDTH]; /* vertex, axis, triangle; NaN: no triangle */
    int32_t triangle[TREE_WIDTH];
    float low[TREE_WIDTH][3][3]; /* triangle, axis, vertex */
    int32_t unused[8];
} tree_block;

#endif
