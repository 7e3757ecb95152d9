/* Prints a hash of every byte ik_look writes for random and degenerate joints, on every instruction set. The same
 * program must print the same hashes whatever it was compiled with. Options are given by turns. */
#include <stdio.h>

#include "hash.h"
#include "ik.h"
#include "isas.h"

enum { ITEMS = 1024 / FEWER, JOINTS = 3, BATCH = 37 };

#define DEFINE_HASH(number, name, huge)                                                                                \
    static ik_rows name##_rows(void *data, int columns) {                                                              \
        return (ik_rows){data, columns * (ptrdiff_t)sizeof(number), sizeof(number)};                                   \
    }                                                                                                                  \
    static ik_lists name##_lists(void *data, int columns) {                                                            \
        const ptrdiff_t next = columns * (ptrdiff_t)sizeof(number);                                                    \
        return (ik_lists){{data, JOINTS * next, sizeof(number)}, next, JOINTS};                                        \
    }                                                                                                                  \
    static void name##_solve(int first, int count, int given, uint64_t *hash) {                                        \
        static number joints[BATCH][JOINTS][3], rotation[BATCH][4], vectors[6][BATCH][3], weights[BATCH][JOINTS];      \
        static number options[3][BATCH], deltas[BATCH][JOINTS][4], positions[BATCH][JOINTS][3], error[BATCH];          \
        static int32_t status[BATCH];                                                                                  \
        for (int i = 0; i < count; i++) {                                                                              \
            number *rows[] = {joints[i][0],  joints[i][1],  joints[i][2],  vectors[0][i], vectors[1][i],               \
                              vectors[2][i], vectors[3][i], vectors[4][i], vectors[5][i]};                             \
            for (int k = 0; k < 27; k++)                                                                               \
                rows[k / 3][k % 3] = (number)coordinate(first + i, 8, 5, huge);                                        \
            for (int k = 0; k < 4; k++)                                                                                \
                rotation[i][k] = (number)coordinate(first + i, 8, 5, huge);                                            \
            for (int k = 0; k < 3; k++) {                                                                              \
                weights[i][k] = (number)coordinate(first + i, 8, 5, huge);                                             \
                options[k][i] = (number)coordinate(first + i, 8, 5, huge);                                             \
            }                                                                                                          \
        }                                                                                                              \
        ik_look_job job = {.joints = name##_lists(joints, 3),                                                          \
                           .rotation = name##_rows(rotation, 4),                                                       \
                           .target = name##_rows(vectors[0], 3),                                                       \
                           .forward = name##_rows(vectors[1], 3)};                                                     \
        if (given & 1) job.weights = name##_lists(weights, 1);                                                         \
        if (given & 2) job.offset = name##_rows(vectors[2], 3);                                                        \
        if (given & 4) job.up = name##_rows(vectors[3], 3), job.pole = name##_rows(vectors[4], 3);                     \
        if (given & 8) job.reference = name##_rows(vectors[5], 3), job.clamp = name##_rows(options[0], 1);             \
        if (given & 16) job.clamp_start = name##_rows(options[1], 1), job.influence = name##_rows(options[2], 1);      \
        job.deltas = name##_lists(deltas, 4);                                                                          \
        job.positions = name##_lists(positions, 3);                                                                    \
        job.status = (ik_rows){status, sizeof *status, 0};                                                             \
        job.error = name##_rows(error, 1);                                                                             \
        ik_look_##name(&job, count);                                                                                   \
        *hash = hash_bytes(*hash, deltas, (size_t)count * sizeof *deltas);                                             \
        *hash = hash_bytes(*hash, positions, (size_t)count * sizeof *positions);                                       \
        *hash = hash_bytes(*hash, status, (size_t)count * sizeof *status);                                             \
        *hash = hash_bytes(*hash, error, (size_t)count * sizeof *error);                                               \
    }                                                                                                                  \
    static uint64_t look_##name(void) {                                                                                \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 4;                                                                                              \
        for (int given = 0; given < 32; given++)                                                                       \
            for (int first = 0; first < ITEMS; first += BATCH)                                                         \
                name##_solve(first, ITEMS - first < BATCH ? ITEMS - first : BATCH, given, &hash);                      \
        return hash;                                                                                                   \
    }

DEFINE_HASH(float, f32, 1e30)
DEFINE_HASH(double, f64, 1e250)

int main(void) {
    EACH_ISA(isa) { print_hashes(isa, "look", look_f32(), look_f64()); }
    return 0;
}
