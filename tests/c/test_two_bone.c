/* The C core alone, to be built with address and undefined-behaviour sanitizers. It covers every instruction set,
 * batches of any size, heap rows of exactly the promised length, and inputs of every kind. Exit status 0 = passed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ik.h"
#include "check.h"

static double distance(const double *a, const double *b) { return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]); }

static ik_rows rows_of(double *data, int columns) {
    return (ik_rows){data, columns * (ptrdiff_t)sizeof *data, sizeof *data};
}

static double *numbers(ptrdiff_t count) { return malloc((size_t)count * sizeof(double)); }

/* Solve `count` limbs whose memory ends where the rows do, and check what every caller relies on. */
static void check_batch(ptrdiff_t count) {
    double *in[6], *delta[2], *positions = numbers(9 * count), *error = numbers(count);
    int32_t *status = malloc((size_t)count * sizeof *status);
    for (int k = 0; k < 6; k++) {
        in[k] = numbers(3 * count);
        for (ptrdiff_t i = 0; i < 3 * count; i++)
            in[k][i] = rand() / (RAND_MAX / 2.0) - 1;
    }
    for (int k = 0; k < 2; k++)
        delta[k] = numbers(4 * count);
    ik_two_bone_job job = {rows_of(in[0], 3), rows_of(in[1], 3), rows_of(in[2], 3),
                           rows_of(in[3], 3), rows_of(in[4], 3), rows_of(in[5], 3)};
    job.root_delta = rows_of(delta[0], 4);
    job.mid_delta = rows_of(delta[1], 4);
    job.status = (ik_rows){status, 4, 0};
    job.error = rows_of(error, 1);
    for (int joint = 0; joint < 3; joint++)
        job.positions[joint] = (ik_rows){positions + 3 * joint, 72, 8};
    ik_two_bone_f64(&job, count);

    for (ptrdiff_t i = 0; i < count; i++) {
        const double *now = positions + 9 * i, *root = in[0] + 3 * i, *mid = in[1] + 3 * i, *end = in[2] + 3 * i;
        double reach = distance(root, mid) + distance(mid, end);
        CHECK(distance(now, root) == 0);
        CHECK(fabs(distance(now, now + 3) - distance(root, mid)) < 1e-14 * reach);
        CHECK(fabs(distance(now + 3, now + 6) - distance(mid, end)) < 1e-14 * reach);
        CHECK(fabs(distance(now + 6, in[3] + 3 * i) - error[i]) < 1e-14 * reach);
        CHECK((status[i] == 0) == (error[i] <= 1e-12 * reach));
    }
    for (int k = 0; k < 6; k++)
        free(in[k]);
    free(delta[0]), free(delta[1]), free(positions), free(error), free(status);
}

/* Absent inputs and outputs, one row for all items, results over their own inputs. */
static void check_rows(void) {
    double root[3] = {0, 0, 0}, mid[3] = {0, -1, 0.1}, ends[3][3], targets[3][3] = {{1, -1, 0}, {0, 0, 9}, {NAN, 0, 0}};
    int32_t status[3];
    for (int i = 0; i < 3; i++)
        memcpy(ends[i], (double[3]){0, -2, 0}, sizeof ends[i]);
    ik_two_bone_job job = {.root = {root, 0, 8}, .mid = {mid, 0, 8}, .end = {ends, 24, 8}, .target = {targets, 24, 8}};
    job.positions[2] = (ik_rows){ends, 24, 8};
    job.status = (ik_rows){status, 4, 0};
    ik_two_bone_f64(&job, 3);
    CHECK(status[0] == 0 && distance(ends[0], targets[0]) < 1e-15);
    CHECK(status[1] == IK_TOO_FAR && fabs(ends[1][2] - 2 * hypot(1, 0.1)) < 1e-15);
    CHECK(status[2] == IK_NOT_FINITE && ends[2][1] == -2);
    ik_two_bone_f64(&job, 0);
}

static void check_status(void) {
    int32_t seen = 0;
    for (const ik_status_flag *flag = ik_status_flags; flag->name; flag++) {
        CHECK(flag->value > seen && (flag->value & (flag->value - 1)) == 0 && strlen(flag->sentence) > 10);
        seen = flag->value;
    }
}

int main(void) {
    const char *isas[] = {"scalar", "base", "avx2", "avx512"};
    for (int i = 0; i < 4; i++) {
        CHECK(ik_use_isa(isas[i]) != NULL);
        for (ptrdiff_t count = 0; count < 70; count++)
            check_batch(count);
        check_batch(1000);
        check_rows();
    }
    CHECK(ik_use_isa("sse9") == NULL);
    CHECK(strcmp(ik_use_isa(NULL), ik_isa()) == 0);
    check_status();
    return 0;
}
