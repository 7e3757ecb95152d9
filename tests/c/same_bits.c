/* Prints, for every instruction set of this processor, a hash of all bytes that the solvers write for the same inputs.
 * These are ordinary, degenerate, tiny, huge and not finite, as floats and as doubles, in batches of many sizes.
 * Whatever compiler, optimisation or processor made the program, the hashes have to be the same. */
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "ik.h"
#include "isas.h"

enum { ITEMS = 5000 / FEWER };

/* The options of a two_bone job. */
enum { POLE, POLE_AND_BEND, ALL };

/* In every other 64 items nothing is special: whole vectors without anything rare take a way of their own. */
static double number_of(int item, double huge) { return coordinate(item / 64 % 2 ? 1 : item, 8, 6, huge); }

#define EACH_BATCH(first, count)                                                                                       \
    for (ptrdiff_t first = 0, count = 1; first < ITEMS;                                                                \
         first += count, count = count % 70 + 1 < ITEMS - first ? count % 70 + 1 : ITEMS - first)

#define DEFINE_HASH(number, name, huge)                                                                                \
    static ik_rows name##_rows(number *data, int columns) {                                                            \
        return (ik_rows){data, columns * (ptrdiff_t)sizeof *data, sizeof *data};                                       \
    }                                                                                                                  \
    static uint64_t two_bone_##name(int given) {                                                                       \
        static number in[7][ITEMS][3], option[7][ITEMS], deltas[2][ITEMS][4], positions[ITEMS][9], out[3][ITEMS];      \
        static int32_t status[ITEMS];                                                                                  \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        for (int i = 0; i < ITEMS; i++)                                                                                \
            for (int k = 0; k < 28; k++)                                                                               \
                *(k < 21 ? &in[k / 3][i][k % 3] : &option[k - 21][i]) = (number)number_of(i, huge);                    \
        EACH_BATCH(first, count) {                                                                                     \
            ik_rows *row, rows[7], values[7];                                                                          \
            for (int k = 0; k < 7; k++) {                                                                              \
                rows[k] = name##_rows(in[k][first], 3);                                                                \
                values[k] = given == ALL ? name##_rows(option[k] + first, 1) : (ik_rows){0};                           \
            }                                                                                                          \
            ik_two_bone_job job = {rows[0], rows[1], rows[2], rows[3], rows[4]};                                       \
            if (given != POLE) job.bend = rows[5];                                                                     \
            if (given == ALL) job.hinge = rows[6], row = &job.twist, memcpy(row, values, sizeof values);               \
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
    }                                                                                                                  \
    static uint64_t two_bone_2d_##name(void) {                                                                         \
        static number in[4][ITEMS], angles[ITEMS][4], error[ITEMS];                                                    \
        static int32_t status[ITEMS];                                                                                  \
        random_state = 2;                                                                                              \
        for (int i = 0; i < ITEMS; i++)                                                                                \
            for (int k = 0; k < 4; k++)                                                                                \
                in[k][i] = (number)number_of(i, huge);                                                                 \
        EACH_BATCH(first, count) {                                                                                     \
            ik_rows target = {in[2] + first, sizeof(number), sizeof in[0]};                                            \
            ik_rows angle = {angles[first], sizeof angles[0], sizeof(number)},                                         \
                    other = {angles[first] + 2, angle.stride, angle.step};                                             \
            ik_two_bone_2d_job job = {                                                                                 \
                name##_rows(in[0] + first, 1),       name##_rows(in[1] + first, 1), target, {angle, other},            \
                {status + first, sizeof *status, 0}, name##_rows(error + first, 1)};                                   \
            ik_two_bone_2d_##name(&job, count);                                                                        \
        }                                                                                                              \
        uint64_t hash = hash_bytes(hash_bytes(HASH_START, angles, sizeof angles), status, sizeof status);              \
        return hash_bytes(hash, error, sizeof error);                                                                  \
    }                                                                                                                  \
    static uint64_t aim_##name(void) {                                                                                 \
        static number in[6][ITEMS][3], rotation[ITEMS][4], option[2][ITEMS], delta[ITEMS][4], error[ITEMS];            \
        static int32_t status[ITEMS];                                                                                  \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 3;                                                                                              \
        for (int i = 0; i < ITEMS; i++)                                                                                \
            for (int k = 0; k < 24; k++)                                                                               \
                *(k < 18   ? &in[k / 3][i][k % 3]                                                                      \
                  : k < 22 ? &rotation[i][k - 18]                                                                      \
                           : &option[k - 22][i]) = (number)number_of(i, huge);                                         \
        for (int given = 0; given < 16; given++) { /* a bit for each option */                                         \
            EACH_BATCH(first, count) {                                                                                 \
                ik_aim_job job = {name##_rows(in[0][first], 3), name##_rows(rotation[first], 4),                       \
                                  name##_rows(in[1][first], 3), name##_rows(in[2][first], 3)};                         \
                if (given & 1) job.offset = name##_rows(in[3][first], 3);                                              \
                if (given & 2) job.up = name##_rows(in[4][first], 3), job.pole = name##_rows(in[5][first], 3);         \
                if (given & 4) job.twist = name##_rows(option[0] + first, 1);                                          \
                if (given & 8) job.influence = name##_rows(option[1] + first, 1);                                      \
                job.delta = name##_rows(delta[first], 4);                                                              \
                job.status = (ik_rows){status + first, sizeof *status, 0};                                             \
                job.error = name##_rows(error + first, 1);                                                             \
                ik_aim_##name(&job, count);                                                                            \
            }                                                                                                          \
            hash = hash_bytes(hash_bytes(hash, delta, sizeof delta), status, sizeof status);                           \
            hash = hash_bytes(hash, error, sizeof error);                                                              \
        }                                                                                                              \
        return hash;                                                                                                   \
    }

DEFINE_HASH(float, f32, 1e30)
DEFINE_HASH(double, f64, 1e250)

static void show(const char *isa, const char *what, uint64_t hash) {
    printf("%s %s %016llx\n", isa, what, (unsigned long long)hash);
}

int main(void) {
    EACH_ISA(isa) {
        show(isa, "two_bone f32", two_bone_f32(POLE));
        show(isa, "two_bone f64", two_bone_f64(POLE));
        show(isa, "two_bone_bend f32", two_bone_f32(POLE_AND_BEND));
        show(isa, "two_bone_bend f64", two_bone_f64(POLE_AND_BEND));
        show(isa, "two_bone_options f32", two_bone_f32(ALL));
        show(isa, "two_bone_options f64", two_bone_f64(ALL));
        show(isa, "two_bone_2d f32", two_bone_2d_f32());
        show(isa, "two_bone_2d f64", two_bone_2d_f64());
        show(isa, "aim f32", aim_f32());
        show(isa, "aim f64", aim_f64());
    }
    return 0;
}
