/* same_bits.c for skeletons. It prints, for every instruction set of this processor, a hash of all bytes that forward
 * and local write for the same poses. These are ordinary, scaled, flattened, huge and not finite. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ik.h"
#include "isas.h"

enum { ITEMS = 700 / FEWER, JOINTS = 11 };

/* Every 8th item has odd numbers, every 16th also some that are not finite. */
static double odd_number(int item, double huge) {
    double special[] = {0, 0, 1, -1, 0.5, 1 / huge, huge, -huge, NAN, INFINITY};
    double x = random_number();
    unsigned choice = random_state >> 20;
    if (item % 8 || choice % 3) return x;
    return special[choice % (item % 16 ? 5 : 10)];
}

static ik_lists list(void *data, ptrdiff_t columns, ptrdiff_t size) {
    return (ik_lists){{data, JOINTS * columns * size, size}, columns * size, JOINTS};
}

#define DEFINE_HASH(number, name, huge)                                                                                \
    static uint64_t hash_##name(const ik_skeleton *skeleton, void *scratch) {                                          \
        static number in[3][ITEMS][JOINTS][4], rotations[ITEMS][JOINTS][4], positions[ITEMS][JOINTS][3];               \
        const ptrdiff_t size = sizeof(number);                                                                         \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        for (int i = 0; i < 3 * ITEMS * JOINTS * 4; i++)                                                               \
            (&in[0][0][0][0])[i] = (number)odd_number(i / (JOINTS * 4), huge);                                         \
        for (ptrdiff_t first = 0, count = 1; first < ITEMS; first += count, count = count % 37 + 1) {                  \
            if (count > ITEMS - first) count = ITEMS - first;                                                          \
            for (int given = 0; given < 3; given++) {                                                                  \
                ik_forward_job job = {skeleton, list(in[0][first], 4, size), .scratch = scratch};                      \
                if (given > 0) job.translations = list(in[1][first], 3, size);                                         \
                if (given > 1) job.scales = list(in[2][first], 3, size);                                               \
                job.positions = list(positions[first], 3, size);                                                       \
                job.world_rotations = list(rotations[first], 4, size);                                                 \
                ik_forward_##name(&job, count);                                                                        \
                hash = hash_bytes(hash, positions[first], (size_t)count * sizeof positions[0]);                        \
                hash = hash_bytes(hash, rotations[first], (size_t)count * sizeof rotations[0]);                        \
            }                                                                                                          \
            ik_local_job back = {skeleton, list(rotations[first], 4, size), list(positions[first], 3, size),           \
                                 list(rotations[first], 4, size), list(positions[first], 3, size)};                    \
            ik_local_##name(&back, count);                                                                             \
            hash = hash_bytes(hash, positions[first], (size_t)count * sizeof positions[0]);                            \
            hash = hash_bytes(hash, rotations[first], (size_t)count * sizeof rotations[0]);                            \
        }                                                                                                              \
        return hash;                                                                                                   \
    }

DEFINE_HASH(float, f32, 1e30)
DEFINE_HASH(double, f64, 1e250)

int main(void) {
    const int parents[JOINTS] = {3, 0, 1, -1, 3, 4, 5, 6, 3, -1, 9};
    static int order[JOINTS], rank[JOINTS];
    static double offsets[JOINTS * 3], rests[JOINTS * 4];
    void *scratch = malloc(ik_forward_scratch(JOINTS));
    if (!scratch || ik_skeleton_order(JOINTS, parents, order, rank) != JOINTS) return 1;
    for (int i = 0; i < JOINTS * 3; i++)
        offsets[i] = (double)(i * 7 % 16 - 8) / 8;
    for (int i = 0; i < JOINTS; i++)
        rests[4 * i] = 1;
    const ik_skeleton skeleton = {JOINTS, parents, order, rank, offsets, rests, NULL, NULL};
    EACH_ISA(isa) { print_hashes(isa, "skeleton", hash_f32(&skeleton, scratch), hash_f64(&skeleton, scratch)); }
    free(scratch);
    return 0;
}
