/* same_bits.c for damped least squares: prints, for every instruction set of this processor, hashes of all bytes that
 * are written for a free chain, chains of hinges and trees with limits of every kind, with rotations to reach, posture,
 * given damping and uneven scales; targets ordinary, out of reach and not finite. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ik.h"

enum { ITEMS = 120, JOINTS = 9, GOALS = 2, ITERATIONS = 40 };

static const int chain[JOINTS] = {-1, 0, 1, 2, 3, 4, 5, 6, 7}, tree[JOINTS] = {-1, 0, 1, 2, 3, 4, 2, 6, 7};
static int order[JOINTS], ranks[JOINTS];
static double offsets[3 * JOINTS], rests[4 * JOINTS];
static ik_limit limits[JOINTS];

/* What is solved: of limits the kind of the first joint, the next has the next kind; 0 and step 0: none. */
typedef struct {
    const char *name;
    const int *parents;
    int first_kind, kind_step;
    int goals, turned, scaled; /* turned: the last goal has a rotation too */
    double damping, posture;
} scene;

static const scene scenes[] = {
    {"dls_chain", chain, 0, 0, 1, 0, 0, 0, 0},     {"dls_hinges", chain, IK_HINGE, 0, 1, 1, 0, 0, 0},
    {"dls_tree", tree, IK_FREE, 1, 2, 1, 0, 0, 0}, {"dls_posture", tree, IK_BALL, 1, 2, 1, 0, 0, 0.5},
    {"dls_damping", tree, 0, 0, 2, 1, 0, 0.25, 0}, {"dls_scales", chain, 0, 0, 1, 1, 1, 0, 0},
};

static ik_limit random_limit(int kind) {
    ik_limit limit = {.kind = (enum ik_limit_kind)kind, .twist = {-1, 0.75}, .axes = {0, 1, 2}};
    for (int i = 0; i < 4; i++) {
        limit.frame[i] = random_number();
        limit.swing[i] = 0.75 + 0.5 * random_number();
    }
    for (int i = 0; i < 3; i++) {
        limit.angles[i][0] = -0.75, limit.angles[i][1] = 0.5;
        limit.stiffness[i] = 0.25 + 0.25 * random_number();
    }
    return limit;
}

static ik_skeleton random_skeleton(const scene *scene) {
    for (int joint = 0; joint < JOINTS; joint++) {
        for (int i = 0; i < 3; i++)
            offsets[3 * joint + i] = random_number();
        rests[4 * joint] = 1;
        limits[joint] = random_limit((scene->first_kind + scene->kind_step * joint) % 5);
    }
    ik_skeleton_order(JOINTS, scene->parents, order, ranks);
    int limited = scene->first_kind || scene->kind_step;
    return (ik_skeleton){JOINTS, scene->parents, order, ranks, offsets, rests, limited ? limits : NULL};
}

#define DEFINE_HASH(number, name)                                                                                      \
    static uint64_t hash_##name(const scene *scene) {                                                                  \
        static number pose[ITEMS][JOINTS][4], solved[ITEMS][JOINTS][4], targets[GOALS][ITEMS][3], turned[ITEMS][4];    \
        static number scales[ITEMS][JOINTS][3], weight[ITEMS], error[ITEMS], angle[ITEMS];                             \
        static int32_t status[ITEMS], iterations[ITEMS];                                                               \
        const ptrdiff_t size = sizeof(number), joint = 4 * size, item = JOINTS * joint;                                \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        ik_skeleton skeleton = random_skeleton(scene);                                                                 \
        for (int i = 0; i < ITEMS * JOINTS * 4; i++)                                                                   \
            (&pose[0][0][0])[i] = (number)(random_number() + (i % 4 ? 0 : 2));                                         \
        for (int i = 0; i < ITEMS * JOINTS * 3; i++)                                                                   \
            (&scales[0][0][0])[i] = (number)(1 + 0.125 * random_number());                                             \
        for (int i = 0; i < GOALS * ITEMS * 3; i++)                                                                    \
            (&targets[0][0][0])[i] = (number)(2 * coordinate(i / 3, 8, 5, 1e30));                                      \
        for (int i = 0; i < ITEMS * 4; i++)                                                                            \
            (&turned[0][0])[i] = (number)random_number();                                                              \
        for (int i = 0; i < ITEMS; i++)                                                                                \
            weight[i] = (number)(2 * coordinate(i, 8, 8, 1e30) + 1);                                                   \
        ik_goal goals[GOALS] = {{.joint = 8, .position = {targets[0], 3 * size, size}, .weight = {weight, size, 0}},   \
                                {.joint = 5, .position = {targets[1], 3 * size, size}}};                               \
        if (scene->turned) goals[0].rotation = (ik_rows){turned, 4 * size, size};                                      \
        ik_solve_job job = {.skeleton = &skeleton,                                                                     \
                            .goals = goals,                                                                            \
                            .goal_count = scene->goals,                                                                \
                            .options = {.iterations = ITERATIONS,                                                      \
                                        .tolerance = 1e-4,                                                             \
                                        .rotation_tolerance = 1e-3,                                                    \
                                        .damping = scene->damping,                                                     \
                                        .max_step = 1,                                                                 \
                                        .posture = scene->posture},                                                    \
                            .rotations = {{pose, item, size}, joint, JOINTS},                                          \
                            .solved = {{solved, item, size}, joint, JOINTS},                                           \
                            .status = {status, 4, 0},                                                                  \
                            .error = {error, size, 0},                                                                 \
                            .rotation_error = {angle, size, 0},                                                        \
                            .iterations = {iterations, 4, 0}};                                                         \
        if (scene->scaled) job.scales = (ik_lists){{scales, JOINTS * 3 * size, size}, 3 * size, JOINTS};               \
        size_t bytes = (ik_dls_scratch_##name(&job) + 63) / 64 * 64;                                                   \
        void *memory = malloc(bytes + 64);                                                                             \
        if (!memory) abort();                                                                                          \
        void *scratch = (void *)(((uintptr_t)memory + 63) / 64 * 64);                                                  \
        for (ptrdiff_t first = 0, count = 1; first < ITEMS; first += count, count = count % 70 + 1)                    \
            ik_dls_##name(&job, first, first + count < ITEMS ? first + count : ITEMS, scratch);                        \
        free(memory);                                                                                                  \
        hash = hash_bytes(hash_bytes(hash, solved, sizeof solved), error, sizeof error);                               \
        hash = hash_bytes(hash_bytes(hash, angle, sizeof angle), status, sizeof status);                               \
        return hash_bytes(hash, iterations, sizeof iterations);                                                        \
    }

DEFINE_HASH(float, f32)
DEFINE_HASH(double, f64)

int main(void) {
    const char *isas[] = {"scalar", "base", "avx2", "avx512"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(ik_use_isa(isas[i]), isas[i]) != 0) continue;
        for (size_t k = 0; k < sizeof scenes / sizeof scenes[0]; k++) {
            printf("%s %s f32 %016llx\n", isas[i], scenes[k].name, (unsigned long long)hash_f32(&scenes[k]));
            printf("%s %s f64 %016llx\n", isas[i], scenes[k].name, (unsigned long long)hash_f64(&scenes[k]));
        }
    }
    return 0;
}
