/* Numbers without a pattern that are the same for every item, on every machine. */

/* 24 bits of a number in another order, between 0 and 1. */
static inline double random_share_of(uint32_t x) {
    for (int i = 0; i < 3; i++) {
        x = (x ^ (x >> 15)) * 0x2c1b3c6du;
        x = (x ^ (x >> 12)) * 0x297a2d39u;
    }
    return (double)(x >> 8) / 16777216.0;
}

/* Between -1 and 1, by what it is for; every other time the opposite, so that what does not help is tried the other way
 * round. */
static inline number random_number(int time, int slot, int axis) {
    number random = (number)(2 * random_share_of((uint32_t)(time / 2 * 8191 + slot * 127 + axis + 1)) - 1);
    return time % 2 ? -random : random;
}
