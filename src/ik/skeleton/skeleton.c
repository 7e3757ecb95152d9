/* The structure of a skeleton, apart from its numbers; and the memory that working on one takes. */
#include "../ik.h"
#ifndef IK_NO_SKELETON
#include "../solvers.h"

/* Ancestors that have no place yet wait at the end of `order`, the uppermost first: every joint waits once. */
int ik_skeleton_order(int count, const int *parents, int *order, int *rank) {
    enum { NONE = -1, WAITS = -2 };
    int placed = 0;
    for (int joint = 0; joint < count; joint++)
        rank[joint] = NONE;
    for (int joint = 0; joint < count; joint++) {
        int first = count;
        for (int at = joint; at >= 0 && rank[at] < 0; at = parents[at]) {
            if (rank[at] == WAITS || parents[at] < -1 || parents[at] >= count) return at;
            rank[at] = WAITS;
            order[--first] = at;
        }
        for (; first < count; first++) {
            rank[order[first]] = placed;
            order[placed++] = order[first];
        }
    }
    return count;
}

/* Scratch size for any instruction set: IK_FORWARD_NUMBERS of the widest vectors per joint, and one for alignment. */
size_t ik_forward_scratch(int count) { return ((size_t)count * IK_FORWARD_NUMBERS + 1) * IK_WIDEST; }
#endif
