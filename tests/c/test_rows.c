/* Rows with step 0 are packed: they give the bytes that rows with the size of a number as their step give. On every
 * instruction set, for one item, for a full vector and for a rest. Exit status 0 = passed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ik.h"
#include "check.h"

enum { ITEMS = 19, JOINTS = 4, LIMB = 3, MOST = 7 };

static double inputs[MOST][ITEMS * JOINTS * 4], outputs[2][MOST][ITEMS * JOINTS * 4];
static int32_t status[2][ITEMS];

static void start(void) {
    memset(outputs, 0, sizeof outputs);
    memset(status, 0, sizeof status);
    for (size_t i = 0; i < sizeof inputs / sizeof(double); i++)
        ((double *)inputs)[i] = rand() / (RAND_MAX / 2.0) - 1;
}

/* Rows with step 0 if `packed`. */
static ik_rows rows(double *data, int columns, int packed) {
    return (ik_rows){data, columns * (ptrdiff_t)sizeof *data, packed ? 0 : sizeof *data, 0};
}
static ik_rows row(double *data, int packed) { return (ik_rows){data, 0, packed ? 0 : sizeof *data, 0}; }
static ik_lists lists(double *data, int columns, int packed) {
    const ptrdiff_t size = columns * (ptrdiff_t)sizeof *data;
    return (ik_lists){{data, JOINTS * size, packed ? 0 : sizeof *data, 0}, size, JOINTS};
}

static void check_same(const char *what) {
    if (memcmp(outputs[0], outputs[1], sizeof *outputs) == 0 && memcmp(status[0], status[1], sizeof *status) == 0)
        return;
    fprintf(stderr, "%s: step 0 gives other bytes than packed rows (%s)\n", what, ik_isa());
    exit(1);
}

static void limbs(ptrdiff_t count) {
    start();
    for (int packed = 0; packed < 2; packed++) {
        double (*out)[ITEMS * JOINTS * 4] = outputs[packed];
        ik_two_bone_job job = {row(inputs[0], packed), rows(inputs[1], 3, packed), rows(inputs[2], 3, packed)};
        job.target = rows(inputs[3], 3, packed);
        job.root_delta = rows(out[0], 4, packed), job.mid_delta = rows(out[1], 4, packed);
        for (int joint = 0; joint < LIMB; joint++)
            job.positions[joint] = rows(out[2 + joint], 3, packed);
        job.status = (ik_rows){status[packed], sizeof **status, 0, 0}, job.error = rows(out[5], 1, packed);
        ik_two_bone_f64(&job, count);
    }
    check_same("ik_two_bone");
    CHECK(count == 0 || (outputs[0][0][0] != 0 && outputs[0][4][1] != outputs[0][4][0]));
}

static void planes(ptrdiff_t count) {
    start();
    for (int packed = 0; packed < 2; packed++) {
        ik_two_bone_2d_job job = {rows(inputs[0], 1, packed), rows(inputs[1], 1, packed), rows(inputs[2], 2, packed)};
        job.angles[0] = rows(outputs[packed][0], 2, packed), job.angles[1] = rows(outputs[packed][1], 2, packed);
        job.status = (ik_rows){status[packed], sizeof **status, 0, 0}, job.error = rows(outputs[packed][2], 1, packed);
        ik_two_bone_2d_f64(&job, count);
    }
    check_same("ik_two_bone_2d");
}

static void allowed(ptrdiff_t count) {
    double kind = IK_BALL, frame[4] = {1, 0, 0, 0}, twist[2] = {-0.2, 0.1}, swing[4] = {0.1, 0.2, 0.3, 0.4};
    double axes[3] = {0, 1, 2}, bounds[3] = {0, 0, 0};
    start();
    for (int packed = 0; packed < 2; packed++) {
        ik_limit_project_job job = {.q = rows(inputs[0], 4, packed), .kind = row(&kind, packed)};
        job.frame = row(frame, packed), job.twist = row(twist, packed), job.swing = row(swing, packed);
        job.axes = row(axes, packed), job.lowest = row(bounds, packed), job.highest = row(bounds, packed);
        job.projected = rows(outputs[packed][0], 4, packed), job.violation = rows(outputs[packed][1], 1, packed);
        ik_limit_project_f64(&job, count);
    }
    check_same("ik_limit_project");
}

/* An arm and where its hand should be: forward kinematics, an iterative method, and the limb as a closed form. */
static void skeletons(ptrdiff_t count) {
    int parents[JOINTS] = {-1, 0, 1, 2}, order[JOINTS], ranks[JOINTS];
    double offsets[JOINTS * 3], rests[JOINTS * 4] = {0};
    ik_skeleton skeleton = {JOINTS, parents, order, ranks, offsets, rests, NULL, NULL, NULL, 0};
    start();
    CHECK(ik_skeleton_order(JOINTS, parents, order, ranks) == JOINTS);
    for (int i = 0; i < JOINTS * 3; i++)
        offsets[i] = inputs[6][i];
    for (int joint = 0; joint < JOINTS; joint++)
        rests[4 * joint] = 1;
    for (int packed = 0; packed < 2; packed++) {
        double (*out)[ITEMS * JOINTS * 4] = outputs[packed];
        ik_forward_job forward = {&skeleton, lists(inputs[0], 4, packed), lists(inputs[1], 3, packed)};
        forward.positions = lists(out[0], 3, packed), forward.world_rotations = lists(out[1], 4, packed);
        forward.scratch = malloc(ik_forward_scratch(JOINTS));
        ik_forward_f64(&forward, count);
        free(forward.scratch);
        ik_goal goal = {.kind = IK_PLACE, .joint = 3, .chain = 1, .position = rows(inputs[2], 3, packed)};
        ik_solve_job job = {&skeleton, &goal, 1, ik_dls_options()};
        job.rotations = lists(inputs[0], 4, packed), job.translations = lists(inputs[1], 3, packed);
        job.solved = lists(out[2], 4, packed);
        job.status = (ik_rows){status[packed], sizeof **status, 0, 0}, job.error = rows(out[3], 1, packed);
        job.rotation_error = rows(out[4], 1, packed);
        job.iterations = (ik_rows){out[5], sizeof(int32_t), 0, 0};
        CHECK(ik_solve_check(&job, ~(unsigned)IK_ALL_JOINTS) == NULL);
        size_t bytes = ik_dls_scratch_f64(&job), limb = ik_limbs_scratch_f64(&job);
        char *memory = malloc((bytes > limb ? bytes : limb) + 64);
        void *scratch = memory + (64 - (uintptr_t)memory % 64);
        ik_dls_f64(&job, 0, count, scratch);
        job.options = ik_limbs_options();
        job.solved = lists(out[6], 4, packed);
        ik_limbs_f64(&job, 0, count, scratch);
        free(memory);
    }
    check_same("ik_forward, ik_dls or ik_limbs");
    CHECK(outputs[0][2][0] != 0 && outputs[0][6][0] != 0 && outputs[0][0][1] != outputs[0][0][0]);
}

int main(void) {
    const char *isas[] = {"scalar", "base", "avx2", "avx512"};
    const ptrdiff_t counts[] = {1, 8, ITEMS};
    for (int i = 0; i < 4; i++) {
        CHECK(ik_use_isa(isas[i]) != NULL);
        for (int k = 0; k < 3; k++) {
            limbs(counts[k]);
            planes(counts[k]);
            allowed(counts[k]);
            skeletons(counts[k]);
        }
    }
    return 0;
}
