/* An arm of four joints reaches for a point, by damped least squares:
 * cc -O2 -I src/ik examples/arm.c $(find src/ik -name '*.c') -lm && ./a.out */
#include <stdio.h>
#include <stdlib.h>

#include "ik.h"

enum { JOINTS = 5, TIP = JOINTS - 1 };

/* The rows of every joint of one pose, numbers side by side. */
static ik_lists each_joint(double *numbers, int columns) {
    const ptrdiff_t size = (ptrdiff_t)sizeof(double);
    return (ik_lists){.rows = {.data = numbers, .step = size},
                      .next = columns * size,
                      .count = JOINTS};
}

int main(void) {
    const int parents[JOINTS] = {-1, 0, 1, 2, 3};
    const double offsets[JOINTS][3] = {{0, 1, 0},
                                       {0, 0.3, 0},
                                       {0, 0.3, 0},
                                       {0, 0.25, 0},
                                       {0, 0.2, 0}}; /* from the parent */
    double rests[4 * JOINTS], rotations[4 * JOINTS], positions[3 * JOINTS],
        target[3] = {0.4, 1.3, 0.2};
    double error, rotation_error;
    int order[JOINTS], rank[JOINTS];
    int32_t status, iterations;
    for (int i = 0; i < 4 * JOINTS; i++)
        rests[i] = rotations[i] = i % 4 == 0; /* (w, x, y, z): no rotation */
    if (ik_skeleton_order(JOINTS, parents, order, rank) != JOINTS) return 1;
    const ik_skeleton skeleton = {.count = JOINTS,
                                  .parents = parents,
                                  .order = order,
                                  .rank = rank,
                                  .offsets = offsets[0],
                                  .rests = rests};

    const ik_goal goal = {.kind = IK_PLACE,
                          .joint = TIP,
                          .chain = 0,
                          .position = {target, 0, sizeof(double), 0}};
    ik_solve_job job = {.skeleton = &skeleton,
                        .goals = &goal,
                        .goal_count = 1,
                        .options = ik_dls_options()};
    job.rotations = job.solved = each_joint(rotations, 4); /* in place */
    job.status = (ik_rows){.data = &status};
    job.iterations = (ik_rows){.data = &iterations};
    job.error = (ik_rows){.data = &error};
    job.rotation_error = (ik_rows){.data = &rotation_error};
    const char *refused = ik_solve_check(&job, IK_TAKES_ALL);
    if (refused) return fprintf(stderr, "%s\n", refused), 1;
    void *scratch = aligned_alloc(64, (ik_dls_scratch_f64(&job) + 63) / 64 * 64);
    ik_dls_f64(&job, 0, 1, scratch);
    free(scratch);

    ik_forward_job forward = {.skeleton = &skeleton,
                              .rotations = each_joint(rotations, 4)};
    forward.positions = each_joint(positions, 3);
    forward.scratch = malloc(ik_forward_scratch(JOINTS));
    ik_forward_f64(&forward, 1);
    free(forward.scratch);
    const double *tip = positions + 3 * TIP;
    printf("tip at (%.3f, %.3f, %.3f), status %d, %d iterations\n", tip[0], tip[1],
           tip[2], status, iterations);
}
