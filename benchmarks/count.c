/* What benchmarks/instructions.py counts: `counted` solves ITEMS random limbs with one instruction set, or brings poses
 * with as many joints in all to the world.
 *
 *   count scalar|base|avx2|avx512 f32|f64 rotations|all|forward      exit 2: this processor has no such instruction set
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ik.h"

enum { ITEMS = 16384, INPUTS = 5, JOINTS = 32 };

/* Numbers in [-1, 1), the same everywhere. */
static double next(void) {
    static uint64_t state = 20261121;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

static ik_rows rows(void *data, size_t columns, size_t size) {
    return (ik_rows){data, (ptrdiff_t)(columns * size), (ptrdiff_t)size};
}

static ik_rows output(size_t columns, size_t size) { return rows(calloc(ITEMS * columns, size), columns, size); }

/* Joints about one apart from each other, targets mostly in reach, poles anywhere. */
static ik_rows input(int which, size_t size) {
    static const double offset[INPUTS] = {0, 1, 2, 1, 0};
    ik_rows made = output(3, size);
    for (int i = 0; i < ITEMS * 3; i++) {
        double x = (i % 3 == 0 ? offset[which] : 0) + next() * 0.5;
        if (size == sizeof(float))
            ((float *)made.data)[i] = (float)x;
        else
            ((double *)made.data)[i] = x;
    }
    return made;
}

/* The counter is on in here and nowhere else. */
__attribute__((noinline)) void counted(const void *job, size_t size, int forward) {
    if (forward)
        (size == sizeof(float) ? ik_forward_f32 : ik_forward_f64)(job, ITEMS / JOINTS);
    else
        (size == sizeof(float) ? ik_two_bone_f32 : ik_two_bone_f64)(job, ITEMS);
}

/* The numbers of rows that lie in memory without gaps, as rows for every joint. */
static ik_lists joints(ik_rows rows) {
    return (ik_lists){{rows.data, JOINTS * rows.stride, rows.step}, rows.stride, JOINTS};
}

static int count_forward(size_t size) {
    int parents[JOINTS], order[JOINTS], rank[JOINTS];
    double offsets[JOINTS * 3], rests[JOINTS * 4] = {0}; /* rests are for limits: not read */
    for (int i = 0; i < JOINTS; i++)
        parents[i] = i % 5 ? i - 1 : i / 2 - 1;
    for (int i = 0; i < JOINTS * 3; i++)
        offsets[i] = next();
    if (ik_skeleton_order(JOINTS, parents, order, rank) != JOINTS) return 1;
    const ik_skeleton skeleton = {JOINTS, parents, order, rank, offsets, rests, NULL};
    ik_rows rotations = output(4, size);
    for (int i = 0; i < ITEMS * 4; i++) {
        double x = i % 4 ? 0.5 : -0.5; /* of unit length exactly, as most that come are to rounding */
        if (size == sizeof(float))
            ((float *)rotations.data)[i] = (float)x;
        else
            ((double *)rotations.data)[i] = x;
    }
    ik_forward_job job = {.skeleton = &skeleton, .rotations = joints(rotations)};
    job.positions = joints(output(3, size));
    job.world_rotations = joints(output(4, size));
    job.scratch = malloc(ik_forward_scratch(JOINTS));
    counted(&job, size, 1);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return 1;
    const char *isa = ik_use_isa(argv[1]);
    if (!isa || strcmp(isa, argv[1]) != 0) return 2;
    size_t size = strcmp(argv[2], "f32") == 0 ? sizeof(float) : sizeof(double);
    if (strcmp(argv[3], "forward") == 0) return count_forward(size);
    ik_two_bone_job job = {.root = input(0, size), .mid = input(1, size), .end = input(2, size)};
    job.target = input(3, size);
    job.pole = input(4, size);
    job.root_delta = output(4, size);
    job.mid_delta = output(4, size);
    job.status = output(1, sizeof(int32_t));
    if (strcmp(argv[3], "all") == 0) {
        ik_rows positions = output(9, size);
        for (size_t i = 0; i < 3; i++)
            job.positions[i] = (ik_rows){(char *)positions.data + i * 3 * size, positions.stride, positions.step};
        job.error = output(1, size);
        job.flip = output(1, size);
        job.stretch = output(1, size);
    }
    counted(&job, size, 0);
    int32_t seen = 0;
    for (int i = 0; i < ITEMS; i++)
        seen |= ((const int32_t *)job.status.data)[i];
    return seen >= IK_UNUSABLE; /* nothing of the above is unusable */
}
