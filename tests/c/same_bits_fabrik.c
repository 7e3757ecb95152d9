/* same_bits.c for FABRIK with frames: prints a hash of all output bytes for every instruction set of this processor.
 * The problem is a tree with limits of every kind, and targets that are ordinary, out of reach and not finite. The last
 * one has two levels of goals. */
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "ik.h"

#include "tree.h"
#include "isas.h"

enum { ITEMS = 200 / FEWER, GOALS = 2, ITERATIONS = 40 };

#define DEFINE_HASH(number, name)                                                                                      \
    static uint64_t hash_##name(void) {                                                                                \
        static number pose[ITEMS][JOINTS][4], solved[ITEMS][JOINTS][4], targets[GOALS][ITEMS][3], turned[ITEMS][4];    \
        static number error[ITEMS], angle[ITEMS];                                                                      \
        static int32_t status[ITEMS], iterations[ITEMS];                                                               \
        const ptrdiff_t size = sizeof(number), joint = 4 * size, item = JOINTS * joint;                                \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        for (int kind = 0; kind < 6; kind++) {                                                                         \
            const int levels = kind == 5;                                                                              \
            ik_skeleton skeleton = random_skeleton(levels ? IK_CONES : kind);                                          \
            FILL(number, pose, random_number() + (i % 4 ? 0 : 2));                                                     \
            FILL(number, targets, 2 * coordinate(i / 3, 8, 5, 1e30));                                                  \
            FILL(number, turned, random_number());                                                                     \
            ik_goal goals[GOALS + 1] = {{.joint = 5, .level = levels, .position = {targets[0], 3 * size, size}},       \
                                        {.joint = 8, .position = {targets[1], 3 * size, size}},                        \
                                        {.kind = IK_TURN, .joint = 8, .rotation = {turned, 4 * size, size}}};          \
            ik_solve_job job = {.skeleton = &skeleton,                                                                 \
                                .goals = goals,                                                                        \
                                .goal_count = GOALS + 1,                                                               \
                                .options = {.iterations = ITERATIONS, .tolerance = 1e-4, .rotation_tolerance = 1e-3},  \
                                JOB_ROWS};                                                                             \
            solve_in_batches(&job, ITEMS, ik_fabrik_scratch_##name(&job), ik_fabrik_##name);                           \
            hash = HASH_RESULTS(hash);                                                                                 \
        }                                                                                                              \
        return hash;                                                                                                   \
    }

FLOAT_AND_DOUBLE(DEFINE_HASH)

int main(void) {
    EACH_ISA(isa) { print_hashes(isa, "fabrik", hash_f32(), hash_f64()); }
    return 0;
}
