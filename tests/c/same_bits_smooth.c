/* same_bits.c for curves over whole clips. It prints, for every instruction set of this processor, a hash of all bytes
 * that are written for the same problems. These have few or many frames, loops, bounds and pins, and tiny, huge or
 * non-finite numbers. Channels are of any number, contiguous or apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ik.h"
#include "isas.h"

enum { MOST = 130, CHANNELS = 37, PROBLEMS = 60 / FEWER, OPERANDS = 5 };

static double numbers[OPERANDS][MOST][CHANNELS];
static int32_t said[2][CHANNELS];

/* Wanted, the bounds and the pull; a bound in two is none, and one frame in eight is pinned. */
static void make(int problem, int frames) {
    double level[CHANNELS] = {0};
    for (int k = 0; k < frames; k++)
        for (int i = 0; i < CHANNELS; i++) {
            double (*at)[MOST][CHANNELS] = numbers;
            int special = problem % 5 == 4 && i % 6 == 0;
            level[i] += random_number();
            at[0][k][i] = problem % 2 ? level[i] : random_number();
            double below = random_number(), above = random_number(), middle = level[i] / 2;
            at[1][k][i] = below > 0 ? middle - below : -INFINITY;
            at[2][k][i] = above > 0 ? middle + above : INFINITY;
            at[3][k][i] = random_number() > -0.5 ? 1000 * (1 + random_number()) : 0;
            if (random_number() > 0.75) at[1][k][i] = at[2][k][i] = middle;
            for (int operand = 0; operand < 4 && special && k % 7 == 3; operand++)
                at[operand][k][i] = coordinate(0, 1, 5, 1e120);
        }
}

static ik_lists lists(int operand, int frames, int across) {
    const ptrdiff_t size = sizeof(double);
    ptrdiff_t stride = across ? MOST * size : size, next = across ? size : CHANNELS * size;
    return (ik_lists){.rows = {.data = numbers[operand], .stride = stride}, .next = next, .count = frames};
}

static void *aligned(size_t size) {
    static void *memory;
    free(memory);
    memory = malloc(size + 64);
    if (!memory) exit(1);
    return (char *)memory + (64 - (uintptr_t)memory % 64);
}

static uint64_t hash_problem(uint64_t hash, int problem) {
    const int frames = problem % 3 ? problem % 11 : MOST - problem % 13, across = problem % 7 == 6;
    make(problem, MOST);
    ik_smooth_job job = {.frames = frames,
                         .fps = 30,
                         .tension = problem % 4 ? 0 : 50,
                         .loop = problem % 5 == 2,
                         .wanted = lists(0, frames, across),
                         .lower = lists(1, frames, across),
                         .upper = lists(2, frames, across),
                         .pull = lists(3, frames, across),
                         .values = lists(4, frames, across),
                         .status = {.data = said[0], .stride = sizeof(int32_t)},
                         .iterations = {.data = said[1], .stride = sizeof(int32_t)}};
    void *scratch = aligned(ik_smooth_scratch(&job, CHANNELS));
    for (int first = 0, count = 1 + problem % 9; first < CHANNELS; first += count)
        ik_smooth(&job, first, first + count < CHANNELS ? first + count : CHANNELS, scratch);
    for (int k = 0; k < frames; k++)
        for (int i = 0; i < CHANNELS; i++)
            hash = hash_bytes(hash, (double *)numbers[4] + (across ? i * MOST + k : k * CHANNELS + i), sizeof(double));
    return hash_bytes(hash, said, sizeof said);
}

static uint64_t hash_problems(void) {
    uint64_t hash = HASH_START;
    random_state = 1;
    for (int problem = 0; problem < PROBLEMS; problem++)
        hash = hash_problem(hash, problem);
    return hash;
}

int main(void) {
    EACH_ISA(isa)
    printf("%s smooth f64 %016llx\n", isa, (unsigned long long)hash_problems());
    return 0;
}
