/* same_bits.c for methods on one free chain. It prints, for every instruction set of this processor, a hash of all
 * bytes that are written. Targets are ordinary, near, just within reach, out of reach and not finite. */
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "ik.h"

#include "problems.h"
#include "isas.h"

enum { ITEMS = 400 / FEWER, JOINTS = 8, SKELETONS = 6, STRAIGHT = 4 };

static int parents[JOINTS], order[JOINTS], ranks[JOINTS];
static double offsets[3 * JOINTS], rests[4 * JOINTS];

/* One bone is longer than all others together in every other one. From STRAIGHT on all lie along x. */
static ik_skeleton random_skeleton(int which) {
    for (int joint = 0; joint < JOINTS; joint++) {
        parents[joint] = joint - 1;
        rests[4 * joint] = 1;
        for (int i = 0; i < 3; i++) {
            double x = random_number();
            if (which >= STRAIGHT)
                offsets[3 * joint + i] = i || !joint ? 0 : 1 + x / 2;
            else
                offsets[3 * joint + i] = x * (which % 2 && joint == 4 ? 9 : 1);
        }
    }
    ik_skeleton_order(JOINTS, parents, order, ranks);
    return (ik_skeleton){JOINTS, parents, order, ranks, offsets, rests, NULL};
}

/* A coordinate of the target of an item; of straight chains about their reach along x. */
static double target_of(int which, int item, int axis) {
    double reach = 0, x;
    if (which < STRAIGHT) return 4 * coordinate(item, 8, 5, 1e30);
    for (int joint = 1; joint < JOINTS; joint++)
        reach += offsets[3 * joint];
    x = random_number();
    return reach * (axis ? x / 8 : 0.94 + 0.06 * x);
}

#define DEFINE_HASH(method, number, name)                                                                              \
    static uint64_t hash_##method##_##name(void) {                                                                     \
        static number pose[ITEMS][JOINTS][4], solved[ITEMS][JOINTS][4], target[ITEMS][3], pole[ITEMS][3];              \
        static number error[ITEMS], angle[ITEMS];                                                                      \
        static int32_t status[ITEMS], iterations[ITEMS];                                                               \
        const ptrdiff_t size = sizeof(number), joint = 4 * size, item = JOINTS * joint;                                \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        for (int which = 0; which < SKELETONS; which++) {                                                              \
            ik_skeleton skeleton = random_skeleton(which);                                                             \
            FILL(number, pose, random_number() + (i % 4 ? 0 : which < STRAIGHT ? 2 : 30));                             \
            for (int i = 0; i < ITEMS * 3; i++) {                                                                      \
                (&target[0][0])[i] = (number)target_of(which, i / 3, i % 3);                                           \
                (&pole[0][0])[i] = (number)random_number();                                                            \
            }                                                                                                          \
            ik_goal goal = {.joint = JOINTS - 1, .position = {target, 3 * size, size}};                                \
            if (which % 4 > 1) goal.pole = (ik_rows){pole, 3 * size, size};                                            \
            ik_solve_job job = {                                                                                       \
                .skeleton = &skeleton, .goals = &goal, .goal_count = 1, .options = ik_##method##_options(), JOB_ROWS}; \
            solve_in_batches(&job, ITEMS, ik_##method##_scratch_##name(&job), ik_##method##_##name);                   \
            hash = hash_bytes(hash_bytes(hash, solved, sizeof solved), error, sizeof error);                           \
            hash = hash_bytes(hash_bytes(hash, status, sizeof status), iterations, sizeof iterations);                 \
        }                                                                                                              \
        return hash;                                                                                                   \
    }

DEFINE_HASH(follow, float, f32)
DEFINE_HASH(follow, double, f64)
DEFINE_HASH(circle, float, f32)
DEFINE_HASH(circle, double, f64)
DEFINE_HASH(spring, float, f32)
DEFINE_HASH(spring, double, f64)
DEFINE_HASH(fabrik, float, f32)
DEFINE_HASH(fabrik, double, f64)
DEFINE_HASH(ccd, float, f32)
DEFINE_HASH(ccd, double, f64)

int main(void) {
    EACH_ISA(isa) {
        print_hashes(isa, "follow", hash_follow_f32(), hash_follow_f64());
        print_hashes(isa, "circle", hash_circle_f32(), hash_circle_f64());
        print_hashes(isa, "spring", hash_spring_f32(), hash_spring_f64());
        print_hashes(isa, "fabrik", hash_fabrik_f32(), hash_fabrik_f64());
        print_hashes(isa, "ccd", hash_ccd_f32(), hash_ccd_f64());
    }
    return 0;
}
