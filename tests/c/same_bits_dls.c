/* same_bits.c for damped least squares. It prints, for every instruction set of this processor, hashes of all bytes
 * that are written. The skeletons are a free chain, chains of hinges, and trees with limits of every kind. The cases
 * include target rotations, posture, given damping and non-uniform scales, goals of every kind, levels, sliding joints,
 * a capsule and restarts. Targets are ordinary, out of reach and not finite. */
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "ik.h"

#include "problems.h"
#include "isas.h"

enum {
    ITEMS = 120 / FEWER,
    JOINTS = 9,
    GOALS = 2,
    KINDS = 9,
    ITERATIONS = 40,
    FEW_ITEMS = ITEMS < 20 ? ITEMS : 20,
    FEW_ITERATIONS = 12
};

static const int chain[JOINTS] = {-1, 0, 1, 2, 3, 4, 5, 6, 7}, tree[JOINTS] = {-1, 0, 1, 2, 3, 4, 2, 6, 7};
static int order[JOINTS], ranks[JOINTS];
static double offsets[3 * JOINTS], rests[4 * JOINTS];
static ik_limit limits[JOINTS];
static ik_joint weights[JOINTS];

/* A problem. The limits begin with the kind of the first joint, and the next joint has the next kind; 0 and step 0:
 * none. */
typedef struct {
    const char *name;
    const int *parents;
    int first_kind, kind_step;
    int goals, turned, scaled; /* turned: the last goal has a rotation too */
    double damping, posture;
    int kinds; /* goals of every kind in place of those; from 2 on two levels, from 3 on joints slide, with 4 one is
                  an OUTSIDE */
    int restarts;
} scene;

static const scene scenes[] = {
    {"dls_chain", chain, 0, 0, 1, 0, 0, 0, 0, 0},
    {"dls_hinges", chain, IK_HINGE, 0, 1, 1, 0, 0, 0, 0},
    {"dls_tree", tree, IK_FREE, 1, 2, 1, 0, 0, 0, 0},
    {"dls_posture", tree, IK_BALL, 1, 2, 1, 0, 0, 0.5, 0},
    {"dls_damping", tree, 0, 0, 2, 1, 0, 0.25, 0, 0},
    {"dls_scales", chain, 0, 0, 1, 1, 1, 0, 0, 0},
    {"dls_kinds", tree, 0, 0, 0, 0, 0, 0, 0, 1},
    {"dls_levels", tree, IK_FREE, 1, 0, 0, 0, 0, 0, 2},
    {"dls_slides", tree, IK_LOCKED, 1, 0, 0, 0, 0, 0, 3},
    {"dls_outside", tree, IK_LOCKED, 1, 0, 0, 0, 0, 0, 4},
    {"dls_restarts", tree, IK_FREE, 1, 2, 1, 0, 0, 0, 0, 2},
};

static ik_skeleton random_skeleton(const scene *scene) {
    for (int joint = 0; joint < JOINTS; joint++) {
        for (int i = 0; i < 3; i++)
            offsets[3 * joint + i] = random_number();
        rests[4 * joint] = 1;
        limits[joint] = random_limit((scene->first_kind + scene->kind_step * joint) % 5, 1);
        limits[joint].slides = scene->kinds >= 3 && joint % 3 == 0;
        weights[joint] = (ik_joint){joint % 4, {0.25 * (joint % 3), 0, 0.125}, {1, 0, 0, 0}};
    }
    ik_skeleton_order(JOINTS, scene->parents, order, ranks);
    int limited = scene->first_kind || scene->kind_step;
    return (ik_skeleton){
        JOINTS, scene->parents, order, ranks, offsets, rests, limited ? limits : NULL, scene->kinds ? weights : NULL};
}

/* One goal of every kind, some of them as seen from another joint. */
static int goals_of_every_kind(ik_goal *goals, const ik_goal *place, const ik_goal *turn, int levels) {
    const ik_rows at = place->position, turned = turn->rotation;
    const ik_goal all[KINDS] = {
        {.kind = IK_PLACE, .joint = 8, .position = at, .weight = place->weight},
        {.kind = IK_TURN, .joint = 5, .relative = 1, .other = 7, .other_chain = 6, .rotation = turned},
        {.kind = IK_PLACE,
         .joint = 4,
         .offset = {0, 1, 0},
         .relative = 1,
         .other = 8,
         .other_chain = -1,
         .position = at},
        {.kind = IK_LOOK, .joint = 3, .offset = {1, 0, 0}, .axis = {0, 2, 1}, .position = at},
        {.kind = IK_LOOK, .joint = 5, .axis = {1, 0, 0}, .relative = 1, .other = 2, .other_chain = -1},
        {.kind = IK_DISTANCE, .joint = 7, .chain = 2, .position = at, .distance = place->weight},
        {.kind = IK_CENTRE_OF_MASS, .joint = -1, .chain = -1, .position = at},
        {.kind = IK_INSIDE, .joint = -1, .chain = 1, .position = at, .normal = at},
        {.kind = IK_POSTURE, .joint = 2, .chain = 2, .rotation = turned},
    };
    for (int i = 0; i < KINDS; i++) {
        goals[i] = all[i];
        goals[i].level = levels ? i % 3 : 0;
    }
    return KINDS;
}

#define DEFINE_HASH(number, name)                                                                                      \
    static uint64_t hash_##name(const scene *scene) {                                                                  \
        static number pose[ITEMS][JOINTS][4], solved[ITEMS][JOINTS][4], targets[GOALS][ITEMS][3], turned[ITEMS][4];    \
        static number scales[ITEMS][JOINTS][3], weight[ITEMS], error[ITEMS], angle[ITEMS];                             \
        static number moved[ITEMS][JOINTS][3], errors[ITEMS][KINDS];                                                   \
        static int32_t status[ITEMS], iterations[ITEMS];                                                               \
        const ptrdiff_t size = sizeof(number), joint = 4 * size, item = JOINTS * joint;                                \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        ik_skeleton skeleton = random_skeleton(scene);                                                                 \
        FILL(number, pose, random_number() + (i % 4 ? 0 : 2));                                                         \
        FILL(number, scales, 1 + 0.125 * random_number());                                                             \
        FILL(number, targets, 2 * coordinate(i / 3, 8, 5, 1e30));                                                      \
        FILL(number, turned, random_number());                                                                         \
        FILL(number, weight, 2 * coordinate(i, 8, 8, 1e30) + 1);                                                       \
        const ik_goal place = {.joint = 8, .position = {targets[0], 3 * size, size}, .weight = {weight, size, 0}};     \
        const ik_goal turn = {.kind = IK_TURN, .joint = 8, .rotation = {turned, 4 * size, size}};                      \
        const ik_goal second = {.joint = 5, .position = {targets[1], 3 * size, size}};                                 \
        ik_goal goals[KINDS] = {place, scene->turned ? turn : second, second};                                         \
        ik_solve_job job = {.skeleton = &skeleton,                                                                     \
                            .goals = goals,                                                                            \
                            .goal_count = scene->kinds ? goals_of_every_kind(goals, &place, &turn, scene->kinds > 1)   \
                                                       : scene->goals + scene->turned,                                 \
                            .options = {.iterations = scene->kinds ? FEW_ITERATIONS : ITERATIONS,                      \
                                        .tolerance = 1e-4,                                                             \
                                        .rotation_tolerance = 1e-3,                                                    \
                                        .damping = scene->damping,                                                     \
                                        .max_step = 1,                                                                 \
                                        .posture = scene->posture,                                                     \
                                        .restarts = scene->restarts},                                                  \
                            .moved = {{moved, JOINTS * 3 * size, size}, 3 * size, JOINTS},                             \
                            .goal_errors = {{errors, KINDS * size, 0}, size, KINDS},                                   \
                            JOB_ROWS};                                                                                 \
        if (scene->kinds > 3)                                                                                          \
            goals[7] = (ik_goal){.kind = IK_OUTSIDE,                                                                   \
                                 .joint = 6,                                                                           \
                                 .position = place.position,                                                           \
                                 .end = second.position,                                                               \
                                 .distance = place.weight};                                                            \
        if (scene->scaled) job.scales = (ik_lists){{scales, JOINTS * 3 * size, size}, 3 * size, JOINTS};               \
        const ptrdiff_t items = scene->kinds ? FEW_ITEMS : ITEMS;                                                      \
        solve_in_batches(&job, items, ik_dls_scratch_##name(&job), ik_dls_##name);                                     \
        if (scene->kinds) hash = hash_bytes(hash_bytes(hash, moved, sizeof moved), errors, sizeof errors);             \
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
