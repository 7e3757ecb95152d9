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
    static uint64_t hash_##name(void) {                                                                                \
        static number in[6][ITEMS][3], deltas[2][ITEMS][4], positions[ITEMS][3][3], error[ITEMS];                      \
        static int32_t status[ITEMS];                                                                                  \
        uint64_t hash = 14695981039346656037u;                                                                         \
        random_state = 1;                                                                                              \
        for (int i = 0; i < ITEMS; i++)                                                                                \
            for (int k = 0; k < 18; k++)                                                                               \
                in[k / 3][i][k % 3] = (number)coordinate(i, huge);                                                     \
        for (ptrdiff_t first = 0, count = 1; first < ITEMS; first += count, count = count % 70 + 1) {                  \
            if (count > ITEMS - first) count = ITEMS - first;                                                          \
            ik_rows rows[12];                                                                                          \
            for (int k = 0; k < 6; k++)                                                                                \
                rows[k] = (ik_rows){in[k][first], sizeof in[k][0], sizeof(number)};                                    \
            for (int k = 0; k < 2; k++)                                                                                \
                rows[6 + k] = (ik_rows){deltas[k][first], sizeof deltas[k][0], sizeof(number)};                        \
            for (int k = 0; k < 3; k++)                                                                                \
                rows[8 + k] = (ik_rows){positions[first][k], sizeof positions[0], sizeof(number)};                     \
            rows[11] = (ik_rows){error + first, sizeof(number), 0};                                                    \
            ik_two_bone_job job = {rows[0],                                                                            \
                                   rows[1],                                                                            \
                                   rows[2],                                                                            \
                                   rows[3],                                                                            \
                                   rows[4],                                                                            \
                                   rows[5],                                                                            \
                                   rows[6],                                                                            \
                                   rows[7],                                                                            \
                                   {rows[8], rows[9], rows[10]},                                                       \
                                   {status + first, sizeof *status, 0},                                                \
                                   rows[11]};                                                                          \
            ik_two_bone_##name(&job, count);                                                                           \
        }                                                                                                              \
        hash = hash_bytes(hash, deltas, sizeof deltas);                                                                \
        hash = hash_bytes(hash, positions, sizeof positions);                                                          \
        hash = hash_bytes(hash, status, sizeof status);                                                                \
        return hash_bytes(hash, error, sizeof error);                                                                  \
    }

DEFINE_HASH(float, f32, 1e30)
DEFINE_HASH(double, f64, 1e250)

int main(void) {
    const char *isas[] = {"scalar", "base", "avx2", "avx512"};
    for (int i = 0; i < 4; i++)
        if (strcmp(ik_use_isa(isas[i]), isas[i]) == 0)
            printf("%s f32 %016llx f64 %016llx\n", isas[i], (unsigned long long)hash_f32(),
                   (unsigned long long)hash_f64());
    return 0;
}
