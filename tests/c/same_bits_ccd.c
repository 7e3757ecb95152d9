/* same_bits.c for cyclic coordinate descent: prints hashes of all output bytes for every instruction set of this
 * processor. The problems are a free chain, trees with limits of every kind and stiffness, and joints that slide.
 * Sweeps go from the tips and from the root. Goals have rotations and looks; `feedback`, caps and `bounce` are on in
 * some. Targets are ordinary, out of reach and not finite. */
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "ik.h"

#include "problems.h"
#include "isas.h"

enum { ITEMS = 120 / FEWER, JOINTS = 9, GOALS = 3, ITERATIONS = 30 };

static const int chain[JOINTS] = {-1, 0, 1, 2, 3, 4, 5, 6, 7}, tree[JOINTS] = {-1, 0, 1, 2, 3, 4, 2, 6, 7};
static int order[JOINTS], ranks[JOINTS];
static double offsets[3 * JOINTS], rests[4 * JOINTS];
static ik_limit limits[JOINTS];
static ik_joint caps[JOINTS];

/* A problem. The first goal is a position. A second goal is another position, or a rotation; a third is a look. */
typedef struct {
    const char *name;
    const int *parents;
    int limited, slides, goals, turned, from_root, held;
} scene;

static const scene scenes[] = {
    {"ccd_chain", chain, 0, 0, 1, 0, 0, 0}, {"ccd_pose", chain, 0, 0, 2, 1, 0, 0},
    {"ccd_tree", tree, 1, 0, 3, 0, 0, 0},   {"ccd_root", tree, 1, 0, 3, 1, 1, 0},
    {"ccd_slides", tree, 1, 1, 3, 0, 0, 0}, {"ccd_held", chain, 0, 0, 1, 0, 0, 1},
};

static ik_skeleton random_skeleton(const scene *scene) {
    for (int joint = 0; joint < JOINTS; joint++) {
        for (int i = 0; i < 3; i++)
            offsets[3 * joint + i] = random_number();
        rests[4 * joint] = 1;
        limits[joint] = random_limit(joint % 5, 1);
        limits[joint].slides = scene->slides && joint % 3 == 0;
        caps[joint] = (ik_joint){.preferred = {1, 0, 0, 0}, .cap = 0.25 * (joint % 4)};
    }
    ik_skeleton_order(JOINTS, scene->parents, order, ranks);
    return (ik_skeleton){JOINTS,
                         scene->parents,
                         order,
                         ranks,
                         offsets,
                         rests,
                         scene->limited ? limits : NULL,
                         scene->held ? caps : NULL};
}

#define DEFINE_HASH(number, name)                                                                                      \
    static uint64_t hash_##name(const scene *scene) {                                                                  \
        static number pose[ITEMS][JOINTS][4], solved[ITEMS][JOINTS][4], moved[ITEMS][JOINTS][3];                       \
        static number targets[GOALS][ITEMS][3], turned[ITEMS][4], error[ITEMS], angle[ITEMS];                          \
        static int32_t status[ITEMS], iterations[ITEMS];                                                               \
        const ptrdiff_t size = sizeof(number), joint = 4 * size, item = JOINTS * joint;                                \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        ik_skeleton skeleton = random_skeleton(scene);                                                                 \
        FILL(number, pose, random_number() + (i % 4 ? 0 : 2));                                                         \
        FILL(number, targets, 2 * coordinate(i / 3, 8, 5, 1e30));                                                      \
        FILL(number, turned, random_number());                                                                         \
        const ik_goal turn = {.kind = IK_TURN, .joint = 8, .rotation = {turned, 4 * size, size}};                      \
        const ik_goal second = {.joint = 5, .position = {targets[1], 3 * size, size}};                                 \
        const ik_goal look = {.kind = IK_LOOK,                                                                         \
                              .joint = 4,                                                                              \
                              .offset = {0.5, 0, 0},                                                                   \
                              .axis = {0, 2, 1},                                                                       \
                              .position = {targets[2], 3 * size, size}};                                               \
        const ik_goal goals[GOALS] = {                                                                                 \
            {.joint = 8, .position = {targets[0], 3 * size, size}}, scene->turned ? turn : second, look};              \
        ik_solve_job job = {.skeleton = &skeleton,                                                                     \
                            .goals = goals,                                                                            \
                            .goal_count = scene->goals,                                                                \
                            .options = ik_ccd_options(),                                                               \
                            .moved = {{moved, JOINTS * 3 * size, size}, 3 * size, JOINTS},                             \
                            JOB_ROWS};                                                                                 \
        job.options.iterations = ITERATIONS;                                                                           \
        job.options.start_from_tail = !scene->from_root;                                                               \
        job.options.feedback = 2 * scene->held;                                                                        \
        job.options.bounce = scene->held;                                                                              \
        solve_in_batches(&job, ITEMS, ik_ccd_scratch_##name(&job), ik_ccd_##name);                                     \
        if (scene->slides) hash = hash_bytes(hash, moved, sizeof moved);                                               \
        return HASH_RESULTS(hash);                                                                                     \
    }

FLOAT_AND_DOUBLE(DEFINE_HASH)

int main(void) {
    EACH_ISA(isa) {
        for (size_t k = 0; k < sizeof scenes / sizeof scenes[0]; k++) {
            print_hashes(isa, scenes[k].name, hash_f32(&scenes[k]), hash_f64(&scenes[k]));
        }
    }
    return 0;
}
