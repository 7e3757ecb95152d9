/* How the ray tree lies in memory: eight children a node, eight triangles a block, both by coordinate so that a vector
 * takes as many as it has lanes. ray_tree.c builds it, ray_cast.h reads it. Numbers are in the tree's space, where the
 * triangles are about the origin and up to 4 away: (p - centre) * scale, scale being a power of two.
 *
 * Floats say what a ray may hit, which takes half the time and memory of doubles; what they leave is tested in doubles.
 */
#ifndef IK_RAY_TREE_H
#define IK_RAY_TREE_H

#include "../ik.h"

enum {
    TREE_WIDTH = 8,
    TREE_DEPTH = 16, /* below it splits are in the middle: those at the best place might all be lopsided */
    /* The most children that wait while a ray goes on with another: 7 a level and one, and 2^31 triangles are halved
       in 28. */
    TREE_STACK = (TREE_DEPTH + 28) * (TREE_WIDTH - 1) + 1,
};

/* How much farther out than its triangles a child's bounds are: more than floats of up to 16 are off, so that a ray can
 * be compared with them in floats. */
#define TREE_SLACK 0x1p-17

typedef struct {
    float bounds[6][TREE_WIDTH]; /* lowest and highest, by axis, of every child: see TREE_SLACK; none: inside out */
    int32_t child[TREE_WIDTH];   /* a node; or ~ of a block */
    int32_t unused[8];
} tree_node;

/* The triangles of a leaf. Each coordinate is the sum of two floats. */
typedef struct {
    float high[3][3][TREE_WIDTH]; /* vertex, axis, triangle; NaN: none */
    int32_t triangle[TREE_WIDTH];
    float low[TREE_WIDTH][3][3]; /* triangle, axis, vertex */
    int32_t unused[8];
} tree_block;

#endif
