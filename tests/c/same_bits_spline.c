/* Prints a hash of every byte ik_spline and ik_spread_twist write for random and degenerate joints, on every
 * instruction set. The same program must print the same hashes whatever it was compiled with. Options are given by
 * turns. */
#include <stdio.h>

#include "hash.h"
#include "ik.h"
#include "isas.h"

enum { ITEMS = 512 / FEWER, JOINTS = 5, POINTS = 7, BATCH = 37 };

#define DEFINE_HASH(number, name, huge)                                                                                \
    static ik_rows name##_rows(void *data, int columns) {                                                              \
        return (ik_rows){data, columns * (ptrdiff_t)sizeof(number), sizeof(number)};                                   \
    }                                                                                                                  \
    static ik_lists name##_lists(void *data, int columns, int count) {                                                 \
        const ptrdiff_t next = columns * (ptrdiff_t)sizeof(number);                                                    \
        return (ik_lists){{data, count * next, sizeof(number)}, next, count};                                          \
    }                                                                                                                  \
    static void name##_fill(number *numbers, int count, int item) {                                                    \
        for (int k = 0; k < count; k++)                                                                                \
            numbers[k] = (number)coordinate(item, 8, 5, huge);                                                         \
    }                                                                                                                  \
    static void name##_lay(int first, int count, int given, uint64_t *hash) {                                          \
        static number joints[BATCH][JOINTS][3], curve[BATCH][POINTS][3], shares[BATCH][JOINTS], tilts[BATCH][3];       \
        static number vectors[4][BATCH][3], weight[BATCH], deltas[BATCH][JOINTS][4], positions[BATCH][JOINTS][3];      \
        static number stretches[BATCH][JOINTS], error[BATCH];                                                          \
        static int32_t status[BATCH];                                                                                  \
        for (int i = 0; i < count; i++) {                                                                              \
            name##_fill(joints[i][0], 3 * JOINTS, first + i);                                                          \
            name##_fill(curve[i][0], 3 * POINTS, first + i);                                                           \
            name##_fill(shares[i], JOINTS, first + i);                                                                 \
            name##_fill(tilts[i], 3, first + i);                                                                       \
            for (int k = 0; k < 4; k++)                                                                                \
                name##_fill(vectors[k][i], 3, first + i);                                                              \
            name##_fill(&weight[i], 1, first + i);                                                                     \
        }                                                                                                              \
        ik_spline_job job = {.joints = name##_lists(joints, 3, JOINTS), .curve = name##_lists(curve, 3, POINTS)};      \
        if (given & 1) job.shares = name##_lists(shares, 1, JOINTS);                                                   \
        if (given & 2) job.tilts = name##_lists(tilts, 1, 3);                                                          \
        if (given & 4) job.root_weight = name##_rows(weight, 1);                                                       \
        if (given & 8) job.start_axis = name##_rows(vectors[0], 3), job.start_up = name##_rows(vectors[1], 3);         \
        if (given & 16) job.end_axis = name##_rows(vectors[2], 3), job.end_up = name##_rows(vectors[3], 3);            \
        job.deltas = name##_lists(deltas, 4, JOINTS);                                                                  \
        job.positions = name##_lists(positions, 3, JOINTS);                                                            \
        job.stretches = name##_lists(stretches, 1, JOINTS);                                                            \
        job.status = (ik_rows){status, sizeof *status, 0};                                                             \
        job.error = name##_rows(error, 1);                                                                             \
        ik_spline_##name(&job, count);                                                                                 \
        *hash = hash_bytes(*hash, deltas, (size_t)count * sizeof *deltas);                                             \
        *hash = hash_bytes(*hash, positions, (size_t)count * sizeof *positions);                                       \
        *hash = hash_bytes(*hash, stretches, (size_t)count * sizeof *stretches);                                       \
        *hash = hash_bytes(*hash, status, (size_t)count * sizeof *status);                                             \
        *hash = hash_bytes(*hash, error, (size_t)count * sizeof *error);                                               \
    }                                                                                                                  \
    static void name##_spread(int first, int count, int given, uint64_t *hash) {                                       \
        static number turned[BATCH][JOINTS][4], rests[BATCH][JOINTS][4], axes[BATCH][JOINTS][3];                       \
        static number weights[BATCH][JOINTS], twists[BATCH][JOINTS];                                                   \
        static int32_t status[BATCH];                                                                                  \
        for (int i = 0; i < count; i++) {                                                                              \
            name##_fill(turned[i][0], 4 * JOINTS, first + i);                                                          \
            name##_fill(rests[i][0], 4 * JOINTS, first + i);                                                           \
            name##_fill(axes[i][0], 3 * JOINTS, first + i);                                                            \
            name##_fill(weights[i], JOINTS, first + i);                                                                \
        }                                                                                                              \
        ik_spread_twist_job job = {.rotations = name##_lists(turned, 4, JOINTS),                                       \
                                   .rests = name##_lists(rests, 4, JOINTS),                                            \
                                   .axes = name##_lists(axes, 3, JOINTS),                                              \
                                   .solved = name##_lists(turned, 4, JOINTS),                                          \
                                   .status = {status, sizeof *status, 0}};                                             \
        if (given & 1) job.weights = name##_lists(weights, 1, JOINTS);                                                 \
        job.twists = name##_lists(twists, 1, JOINTS);                                                                  \
        ik_spread_twist_##name(&job, count);                                                                           \
        *hash = hash_bytes(*hash, turned, (size_t)count * sizeof *turned);                                             \
        *hash = hash_bytes(*hash, twists, (size_t)count * sizeof *twists);                                             \
        *hash = hash_bytes(*hash, status, (size_t)count * sizeof *status);                                             \
    }                                                                                                                  \
    static uint64_t name##_hash(void (*solve)(int, int, int, uint64_t *), int options) {                               \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 6;                                                                                              \
        for (int given = 0; given < options; given++)                                                                  \
            for (int first = 0; first < ITEMS; first += BATCH)                                                         \
                solve(first, ITEMS - first < BATCH ? ITEMS - first : BATCH, given, &hash);                             \
        return hash;                                                                                                   \
    }

DEFINE_HASH(float, f32, 1e30)
DEFINE_HASH(double, f64, 1e250)

int main(void) {
    EACH_ISA(isa) {
        printf("%s spline f32 %016llx\n", isa, (unsigned long long)f32_hash(f32_lay, 32));
        printf("%s spline f64 %016llx\n", isa, (unsigned long long)f64_hash(f64_lay, 32));
        printf("%s spread_twist f32 %016llx\n", isa, (unsigned long long)f32_hash(f32_spread, 2));
        printf("%s spread_twist f64 %016llx\n", isa, (unsigned long long)f64_hash(f64_spread, 2));
    }
    return 0;
}
