/* Prints, for every instruction set of this processor, a hash of all bytes that the solvers write for the same inputs:
 * ordinary, degenerate, tiny, huge and not finite ones, as floats and as doubles, in batches of many sizes. Whatever
 * compiler, optimisation or processor made the program, the hashes have to be the same. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ik.h"

enum { ITEMS = 5000 };

static uint32_t random_state;

/* An exact multiple of 2^-23 in [-1, 1). */
static double random_number(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return ((double)(random_state >> 8) - 8388608.0) / 8388608.0;
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

/* Most coordinates are ordinary; one item in eight has special ones: aligned, equal, tiny, huge or not finite. */
static double coordinate(int item, double huge) {
    double special[] = {0, 0, 1, -1, 0.5, 1 / huge, huge, -huge, NAN, INFINITY};
    double x = random_number();
    unsigned choice = random_state >> 20;
    if (item % 8) return x;
    return special[choice % (item % 16 ? 6 : 10)];
}

#define DEFINE_HASH(number, name, huge)                                                                                \
    static ik_rows name##_rows(number *data, int columns) {                                                            \
        return (ik_rows){data, columns * (ptrdiff_t)sizeof *data, sizeof *data};                                       \
    }                                                                                                                  \
    static uint64_t hash_##name(int options) {                                                                         \
        static number in[7][ITEMS][3], option[7][ITEMS], deltas[2][ITEMS][4], positions[ITEMS][9], out[3][ITEMS];      \
        static int32_t status[ITEMS];                                                                                  \
        uint64_t hash = 14695981039346656037u;                                                                         \
        random_state = 1;                                                                                              \
        for (int i = 0; i < ITEMS; i++)                                                                                \
            for (int k = 0; k < 28; k++)                                                                               \
                *(k < 21 ? &in[k / 3][i][k % 3] : &option[k - 21][i]) = (number)coordinate(i, huge);                   \
        for (ptrdiff_t first = 0, count = 1; first < ITEMS; first += count, count = count % 70 + 1) {                  \
            if (count > ITEMS - first) count = ITEMS - first;                                                          \
            ik_rows *row, rows[7], values[7];                                                                          \
            for (int k = 0; k < 7; k++) {                                                                              \
                rows[k] = name##_rows(in[k][first], 3);                                                                \
                values[k] = options ? name##_rows(option[k] + first, 1) : (ik_rows){0};                                \
            }                                                                                                          \
            ik_two_bone_job job = {rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]};                              \
            if (options) job.hinge = rows[6], row = &job.twist, memcpy(row, values, sizeof values);                    \
            job.root_delta = name##_rows(deltas[0][first], 4);                                                         \
            job.mid_delta = name##_rows(deltas[1][first], 4);                                                          \
            for (int k = 0; k < 3; k++)                                                                                \
                job.positions[k] = (ik_rows){positions[first] + 3 * k, sizeof positions[0], sizeof(number)};           \
            job.status = (ik_rows){status + first, sizeof *status, 0};                                                 \
            job.error = name##_rows(out[0] + first, 1);                                                                \
            job.flip = name##_rows(out[1] + first, 1);                                                                 \
            job.stretch = name##_rows(out[2] + first, 1);                                                              \
            ik_two_bone_##name(&job, count);                                                                           \
        }                                                                                                              \
        hash = hash_bytes(hash, deltas, sizeof deltas);                                                                \
        hash = hash_bytes(hash, positions, sizeof positions);                                                          \
        hash = hash_bytes(hash, status, sizeof status);                                                                \
        return hash_bytes(hash, out, sizeof out);                                                                      \
    }

DEFINE_HASH(float, f32, 1e30)
DEFINE_HASH(double, f64, 1e250)

int main(void) {
    const char *isas[] = {"scalar", "base", "avx2", "avx512"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(ik_use_isa(isas[i]), isas[i]) != 0) continue;
        for (int options = 0; options < 2; options++) {
            const char *name = options ? "two_bone_options" : "two_bone";
            printf("%s %s f32 %016llx\n", isas[i], name, (unsigned long long)hash_f32(options));
            printf("%s %s f64 %016llx\n", isas[i], name, (unsigned long long)hash_f64(options));
        }
    }
    return 0;
}
