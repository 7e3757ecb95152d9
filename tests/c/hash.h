/* Shared code of the programs that hash results: reproducible random and special numbers, and the hash. */
#include <math.h>
#include <stdint.h>

/* Programs take so many times fewer items, for a slow machine: their hashes are then others. */
#ifndef FEWER
#define FEWER 1
#endif

static uint32_t random_state;

/* An exact multiple of 2^-23 in [-1, 1). */
static double random_number(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return ((double)(random_state >> 8) - 8388608.0) / 8388608.0;
}

/* Most coordinates are ordinary; one item in `period` has special ones: aligned, equal, tiny, huge or not finite; every
 * other of those items only the first `tame`. */
static double coordinate(int item, int period, int tame, double huge) {
    double special[] = {0, 0, 1, -1, 0.5, 1 / huge, huge, -huge, NAN, INFINITY};
    double x = random_number();
    unsigned choice = random_state >> 20;
    if (item % period) return x;
    return special[choice % (unsigned)(item % (2 * period) ? tame : 10)];
}

#define HASH_START 14695981039346656037u

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}
