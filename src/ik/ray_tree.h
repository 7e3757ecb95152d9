/* How the ray tree lies in memory: eight children a node, eight triangles a block, both by coordinate so that a vector
 * takes as many as it has lanes. ray_tree.c builds it, ray_cast.h reads it. Numbers are in the tree's space, where the
 * triangles are about the origin and up to 4 away: (p - centre) * scale, scale being a power of two.
 *
 * Floats say what a ray may hit, which takes half the time and memory of doubles; what they leave is tested in doubles.
 */
#ifndef IK_RAY_TREE_H
#define IK_RAY_TREE_H

#include "ik.h"

enum {
    TREE_WIDTH = 8,
    TREE_DEPTH = 16, /* below it splits are in the middle: those at the best place might all be lopsided */
    /* The most children that wait while a ray goes on with another: 7 a level and one, and 2^31 triangles are halved
       in 28. */
    TREE_STACK = (TREE_DEPTH + 28) * (TREE_WIDTH - 1) + 1,
};

typedef struct {
    float bounds[2][3][TREE_WIDTH]; /* lowest and highest, by axis, of every child, rounded outwards */
    int32_t child[TREE_WIDTH];      /* a node; or ~ of a block */
    int32_t count;                  /* of children, the first of them */
    int32_t unused[7];
} tree_node;

/* The triangles of a leaf. Each coordinate is the sum of two floats. */
typedef struct {
    float high[3][3][TREE_WIDTH]; /* vertex, axis, triangle */
    int32_t triangle[TREE_WIDTH];
    float low[TREE_WIDTH][3][3]; /* triangle, vertex, axis */
    int32_t count;               /* of triangles, the first of them */
    int32_t unused[7];
} tree_block;

/* A square root where one number has to do: a vector of them takes longer, and kernels have no others. */
double ik_tree_root(double x);

#endif
