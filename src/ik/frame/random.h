/* Numbers without a pattern that are the same for every item, on every machine. */

/* Between -1 and 1, by what it is for; every other time the opposite, so that what does not help is tried the other way
 * round. */
static inline number random_number(int time, int slot, int axis) {
    uint32_t x = (uint32_t)(time / 2 * 8191 + slot * 127 + axis + 1);
    for (int i = 0; i < 3; i++) {
        x = (x ^ (x >> 15)) * 0x2c1b3c6du;
        x = (x ^ (x >> 12)) * 0x297a2d39u;
    }
    number random = (number)((double)(x >> 8) / 8388608.0 - 1);
    return time % 2 ? -random : random;
}
