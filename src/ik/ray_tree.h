/* How the ray tree lies in memory: eight children a node, eight triangles a block, both by coordinate so that a vector
 * takes as many as it has lanes. ray_tree.c builds it, ray_cast.h reads it. Numbers are in the tree's space, where the
 * triangles are about the origin and about 1 in size: (p - centre) * scale, scale being a power of two. */
#ifndef IK_RAY_TREE_H
#define IK_RAY_TREE_H

#include "ik.h"

enum {
    TREE_WIDTH = 8,
    TREE_DEPTH = 16, /* below it splits are in the middle: those at the best place might all be lopsided */
    /* The most children that wait while a ray goes on with another: 7 a level, and 2^31 triangles are halved in 28. */
    TREE_STACK = (TREE_DEPTH + 28) * (TREE_WIDTH - 1),
};

typedef struct {
    double bounds[2][3][TREE_WIDTH]; /* lowest and highest, by axis, of every child */
    int32_t child[TREE_WIDTH];       /* a node; or ~ of a block */
    int32_t count;                   /* of children, the first of them */
    int32_t unused[7];
} tree_node;

/* The triangles of a leaf, fewer than eight followed by ones without area, which no ray hits. */
typedef struct {
    double vertices[3][3][TREE_WIDTH]; /* vertex, axis, triangle */
    int32_t triangle[TREE_WIDTH];
    int32_t unused[8];
} tree_block;

#endif
