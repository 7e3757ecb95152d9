/* same_bits.c for the limits: prints, for every instruction set of this processor, a hash of all bytes that are written
 * for the same rotations and limits of every kind. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "ik.h"
#include "isas.h"

enum { ITEMS = 200 / FEWER, LIMITS = 60, COLUMNS = 4 };

static double odd_number(int item) {
    double special[] = {0, 0, 1, -1, 0.5, 1e-30, 1e-7, -1e-4, NAN, INFINITY};
    double x = random_number();
    unsigned choice = random_state >> 20;
    if (item % 4) return x;
    return special[choice % (item % 8 ? 8 : 10)];
}

/* The numbers of a limit, in the order of the operands of its job: kind, frame, twist, swing, axes, lowest, highest. */
enum { KIND, FRAME, TWIST, SWING, AXES, LOWEST, HIGHEST, PARTS };

static void random_limit(int kind, double part[PARTS][COLUMNS]) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const double widths[] = {0, 1e-6, 0.5, 2, 3.5, 6.5};
    for (int i = 0; i < PARTS; i++)
        for (int k = 0; k < COLUMNS; k++)
            part[i][k] = random_number();
    double width = widths[(random_state >> 20) % 6];
    const int *order = orders[(random_state >> 16) % 6];
    part[KIND][0] = kind;
    part[TWIST][0] *= 3;
    part[TWIST][1] = part[TWIST][0] + width;
    for (int k = 0; k < 4; k++)
        part[SWING][k] = width < 0.4 && k < 2 ? width : 1.5 + 1.5 * part[SWING][k];
    for (int k = 0; k < 3; k++) {
        part[AXES][k] = order[k];
        part[LOWEST][k] *= 3;
        part[HIGHEST][k] = part[LOWEST][k] + width * (1 + part[HIGHEST][k]);
    }
}

/* From none to the most there can be, at random, near to each other, or opposite. */
static int random_cones(int limit, double cones[IK_CONES][COLUMNS]) {
    static const double angles[] = {0, 1e-6, 0.1, 0.5, 1.5, 3};
    for (int i = 0; i < IK_CONES; i++) {
        for (int k = 0; k < 3; k++) {
            double before = i ? cones[i - 1][k] : 0, x = random_number();
            cones[i][k] = limit % 3 == 0 || !i ? x : limit % 3 == 1 ? before + 0.125 * x : -before;
        }
        cones[i][3] = angles[(random_state >> 20) % 6];
    }
    return limit % (IK_CONES + 1);
}

#define DEFINE_HASH(number, name)                                                                                      \
    static uint64_t hash_##name(int kusudamas) {                                                                       \
        static number q[ITEMS][4], projected[ITEMS][4], violation[ITEMS], given[PARTS][COLUMNS],                       \
            given_cones[IK_CONES][COLUMNS];                                                                            \
        const size_t size = sizeof(number);                                                                            \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        for (int limit = 0; limit < LIMITS; limit++) {                                                                 \
            double part[PARTS][COLUMNS], cones[IK_CONES][COLUMNS] = {{0}};                                             \
            random_limit(kusudamas ? IK_KUSUDAMA : limit % 5, part);                                                   \
            for (int i = 0; i < PARTS * COLUMNS; i++)                                                                  \
                given[i / COLUMNS][i % COLUMNS] = (number)part[i / COLUMNS][i % COLUMNS];                              \
            int count_of_cones = kusudamas ? random_cones(limit, cones) : 0;                                           \
            for (int i = 0; i < IK_CONES * COLUMNS; i++)                                                               \
                given_cones[i / COLUMNS][i % COLUMNS] = (number)cones[i / COLUMNS][i % COLUMNS];                       \
            for (int i = 0; i < ITEMS * 4; i++)                                                                        \
                q[i / 4][i % 4] = (number)odd_number(i / 4);                                                           \
            for (ptrdiff_t first = 0, count = 1; first < ITEMS; first += count, count = count % 70 + 1) {              \
                if (count > ITEMS - first) count = ITEMS - first;                                                      \
                ik_limit_project_job job = {{q[first], sizeof q[0], size},                                             \
                                            {given[KIND], 0, size},                                                    \
                                            {given[FRAME], 0, size},                                                   \
                                            {given[TWIST], 0, size},                                                   \
                                            {given[SWING], 0, size},                                                   \
                                            {given[AXES], 0, size},                                                    \
                                            {given[LOWEST], 0, size},                                                  \
                                            {given[HIGHEST], 0, size},                                                 \
                                            {{given_cones, 0, size}, sizeof given_cones[0], count_of_cones},           \
                                            {projected[first], sizeof projected[0], size},                             \
                                            {&violation[first], size, size}};                                          \
                ik_limit_project_##name(&job, count);                                                                  \
            }                                                                                                          \
            hash = hash_bytes(hash_bytes(hash, projected, sizeof projected), violation, sizeof violation);             \
        }                                                                                                              \
        return hash;                                                                                                   \
    }

FLOAT_AND_DOUBLE(DEFINE_HASH)

int main(void) {
    EACH_ISA(isa) {
        for (int kusudamas = 0; kusudamas < 2; kusudamas++) {
            const char *what = kusudamas ? "kusudamas" : "limits";
            print_hashes(isa, what, hash_f32(kusudamas), hash_f64(kusudamas));
        }
    }
    return 0;
}
