/* A leg reaches for a point. -DIK_ONLY_LIMB and -DIK_NO_F32 exclude the parts of the
 * core that it does not use (see ik.h):
 *
 * cc -O2 -I src/ik examples/limb.c $(find src/ik -name '*.c') -lm && ./a.out */
#include <stdio.h>

#include "ik.h"

int main(void) {
    double hip[3] = {0, 0.9, 0}, knee[3] = {0, 0.5, 0.05}, ankle[3] = {0, 0.1, 0},
           target[3] = {0.1, 0.2, 0.1};
    int32_t status;
    ik_two_bone_job job = {.root = {hip, 0, 8},
                           .mid = {knee, 0, 8},
                           .end = {ankle, 0, 8},
                           .target = {target, 0, 8}};
    job.positions[2] = (ik_rows){ankle, 0, 8};
    job.status = (ik_rows){&status, 0, 0};
    ik_two_bone_f64(&job, 1);
    printf("ankle at (%.3f, %.3f, %.3f), status %d, on %s\n", ankle[0], ankle[1],
           ankle[2], status, ik_isa());
}
