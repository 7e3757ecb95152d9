/* A tree of nine joints that programs share which hash results: two ends, 5 and 8, and limits of every kind. hash.h and
 * ik.h come before. */
#include "problems.h"

enum { JOINTS = 9 };

static const int parents[JOINTS] = {-1, 0, 1, 2, 3, 4, 2, 6, 7};
static int order[JOINTS], ranks[JOINTS];
static double offsets[3 * JOINTS], rests[4 * JOINTS];
static ik_limit limits[JOINTS];

static ik_skeleton random_skeleton(int first_kind) {
    for (int joint = 0; joint < JOINTS; joint++) {
        for (int i = 0; i < 3; i++)
            offsets[3 * joint + i] = random_number();
        rests[4 * joint] = 1;
        limits[joint] = random_limit((first_kind + joint) % 5, 0);
    }
    ik_skeleton_order(JOINTS, parents, order, ranks);
    return (ik_skeleton){JOINTS, parents, order, ranks, offsets, rests, first_kind ? limits : NULL};
}
