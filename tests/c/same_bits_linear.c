/* same_bits.c for transpose, pinv, svf, sdls, gauss_seidel, sns, newton, lbfgsb and full_body. They solve a free chain,
 * one of hinges with a target rotation of its tip, and a tree with limits of every kind. It prints, for every
 * instruction set of this processor, a hash of all bytes that are written. Targets are ordinary, near, out of reach and
 * not finite. */
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "ik.h"

#include "problems.h"
#include "isas.h"

enum { ITEMS = 200 / FEWER, JOINTS = 8, SCENES = 3 };

static const int parents[SCENES][JOINTS] = {
    {-1, 0, 1, 2, 3, 4, 5, 6}, {-1, 0, 1, 2, 3, 4, 5, 6}, {-1, 0, 1, 2, 3, 2, 5, 6}};
static int order[JOINTS], ranks[JOINTS];
static double offsets[3 * JOINTS], rests[4 * JOINTS];
static ik_limit limits[JOINTS];

static ik_skeleton random_skeleton(int scene) {
    for (int joint = 0; joint < JOINTS; joint++) {
        rests[4 * joint] = 1;
        for (int i = 0; i < 3; i++)
            offsets[3 * joint + i] = random_number();
        limits[joint] = random_limit(scene == 1 ? IK_HINGE : joint % 5, 1);
    }
    ik_skeleton_order(JOINTS, parents[scene], order, ranks);
    return (ik_skeleton){JOINTS, parents[scene], order, ranks, offsets, rests, scene ? limits : NULL};
}

#define DEFINE_HASH(method, number, name)                                                                              \
    static uint64_t hash_##method##_##name(void) {                                                                     \
        static number pose[ITEMS][JOINTS][4], solved[ITEMS][JOINTS][4], target[2][ITEMS][3], turned[ITEMS][4];         \
        static number error[ITEMS], angle[ITEMS];                                                                      \
        static int32_t status[ITEMS], iterations[ITEMS];                                                               \
        const ptrdiff_t size = sizeof(number), joint = 4 * size, item = JOINTS * joint;                                \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        for (int scene = 0; scene < SCENES; scene++) {                                                                 \
            ik_skeleton skeleton = random_skeleton(scene);                                                             \
            FILL(number, pose, random_number() + (i % 4 ? 0 : 2));                                                     \
            FILL(number, target, 2 * coordinate(i / 3, 8, 5, 1e30));                                                   \
            FILL(number, turned, random_number());                                                                     \
            const ik_goal goals[SCENES][2] = {{{.joint = 7, .position = {target[0], 3 * size, size}}},                 \
                                              {{.joint = 7, .position = {target[0], 3 * size, size}},                  \
                                               {.kind = IK_TURN, .joint = 7, .rotation = {turned, 4 * size, size}}},   \
                                              {{.joint = 7, .position = {target[0], 3 * size, size}},                  \
                                               {.joint = 4, .position = {target[1], 3 * size, size}}}};                \
            ik_solve_job job = {.skeleton = &skeleton,                                                                 \
                                .goals = goals[scene],                                                                 \
                                .goal_count = scene ? 2 : 1,                                                           \
                                .options = ik_##method##_options(),                                                    \
                                JOB_ROWS};                                                                             \
            job.options.iterations = 60;                                                                               \
            job.options.posture = scene > 1 && job.options.truncation > 0 ? 0.25 : 0;                                  \
            solve_in_batches(&job, ITEMS, ik_##method##_scratch_##name(&job), ik_##method##_##name);                   \
            hash = HASH_RESULTS(hash);                                                                                 \
        }                                                                                                              \
        return hash;                                                                                                   \
    }

#define BOTH(method)                                                                                                   \
    DEFINE_HASH(method, float, f32)                                                                                    \
    DEFINE_HASH(method, double, f64)
#define PRINT(method) print_hashes(isa, #method, hash_##method##_f32(), hash_##method##_f64());

BOTH(transpose)
BOTH(pinv)
BOTH(svf)
BOTH(sdls)
BOTH(gauss_seidel)
BOTH(sns)
BOTH(newton)
BOTH(lbfgsb)
BOTH(full_body)

int main(void) {
    EACH_ISA(isa) {
        PRINT(transpose)
        PRINT(pinv)
        PRINT(svf)
        PRINT(sdls)
        PRINT(gauss_seidel)
        PRINT(sns)
        PRINT(newton)
        PRINT(lbfgsb)
        PRINT(full_body)
    }
    return 0;
}
