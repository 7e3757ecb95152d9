/* same_bits.c for the rotations. It prints, for every instruction set of this processor, a hash of all bytes that they
 * write for the same inputs. These are ordinary, degenerate, tiny, huge and not finite. */
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "ik.h"
#include "isas.h"

enum { ITEMS = 2000 / FEWER, COLUMNS = 16, OPERANDS = 5 };

/* X(function, columns of its operands, results last, how many of them are results). to_matrix and the like see their
 * three rows as operands of their own. */
#define ROTATIONS(X)                                                                                                   \
    X(quat_multiply, "444", 1)                                                                                         \
    X(quat_conjugate, "44", 1)                                                                                         \
    X(quat_normalize, "44", 1)                                                                                         \
    X(quat_canonical, "44", 1)                                                                                         \
    X(quat_rotate, "433", 1)                                                                                           \
    X(quat_shortest_arc, "3334", 1)                                                                                    \
    X(quat_exp, "34", 1)                                                                                               \
    X(quat_log, "43", 1)                                                                                               \
    X(quat_slerp, "4414", 1)                                                                                           \
    X(quat_swing_twist, "4344", 2)                                                                                     \
    X(quat_to_matrix, "4333", 3)                                                                                       \
    X(quat_from_matrix, "3334", 1)                                                                                     \
    X(quat_to_axis_angle, "431", 2)                                                                                    \
    X(quat_from_axis_angle, "314", 1)                                                                                  \
    X(quat_to_6d, "46", 1)                                                                                             \
    X(quat_from_6d, "64", 1)                                                                                           \
    X(quat_to_euler, "43333", 1)                                                                                       \
    X(quat_from_euler, "33334", 1)

#define RUN(function, columns_, results_)                                                                              \
    {                                                                                                                  \
        ik_##function##_job job;                                                                                       \
        ik_rows rows[OPERANDS];                                                                                        \
        const char *columns = columns_;                                                                                \
        int operands = (int)strlen(columns);                                                                           \
        for (int k = 0; k < operands; k++)                                                                             \
            rows[k] = (ik_rows){k < operands - results_ ? in[k][first] : out[k][first], sizeof in[0][0], size};        \
        memcpy(&job, rows, sizeof job);                                                                                \
        CALL(function)(&job, count);                                                                                   \
        for (int k = operands - results_; k < operands; k++)                                                           \
            for (ptrdiff_t i = first; i < first + count; i++)                                                          \
                hash = hash_bytes(hash, out[k][i], (size_t)(columns[k] - '0') * size);                                 \
    }

#define DEFINE_HASH(number, name, huge)                                                                                \
    static uint64_t hash_##name(void) {                                                                                \
        static number in[OPERANDS][ITEMS][COLUMNS], out[OPERANDS][ITEMS][COLUMNS];                                     \
        const size_t size = sizeof(number);                                                                            \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        for (int i = 0; i < ITEMS; i++)                                                                                \
            for (int k = 0; k < OPERANDS * COLUMNS; k++)                                                               \
                in[k / COLUMNS][i][k % COLUMNS] = (number)coordinate(i, 4, 5, huge);                                   \
        for (ptrdiff_t first = 0, count = 1; first < ITEMS; first += count, count = count % 70 + 1) {                  \
            if (count > ITEMS - first) count = ITEMS - first;                                                          \
            ROTATIONS(RUN)                                                                                             \
            ik_lists lists[3];                                                                                         \
            for (int k = 0; k < 3; k++)                                                                                \
                lists[k] = (ik_lists){{in[k][first], sizeof in[0][0], size}, (k < 2 ? 3 : 1) * (ptrdiff_t)size, 5};    \
            ik_rows results[2] = {{out[0][first], sizeof in[0][0], size}, {out[1][first], sizeof in[0][0], 0}};        \
            ik_quat_best_fit_job fit = {lists[0], lists[1], lists[2], results[0], results[1]};                         \
            CALL(quat_best_fit)(&fit, count);                                                                          \
            for (ptrdiff_t i = first; i < first + count; i++)                                                          \
                hash = hash_bytes(hash_bytes(hash, out[0][i], 4 * size), out[1][i], size);                             \
        }                                                                                                              \
        return hash;                                                                                                   \
    }

#define CALL(function) ik_##function##_f32
DEFINE_HASH(float, f32, 1e30)
#undef CALL
#define CALL(function) ik_##function##_f64
DEFINE_HASH(double, f64, 1e250)

int main(void) {
    EACH_ISA(isa) { print_hashes(isa, "rotations", hash_f32(), hash_f64()); }
    return 0;
}
