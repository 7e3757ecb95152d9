/* same_bits.c for closed forms on skeletons. It prints, for every instruction set of this processor, a hash of all
 * bytes that limbs, aims and stretching limbs write. The tree has joints with limits of every kind, with and without
 * scales. Targets are ordinary, out of reach and not finite, with weights of all kinds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ik.h"

#include "tree.h"
#include "isas.h"

enum { ITEMS = 200 / FEWER, GOALS = 3, FORMS = 3 };
static const char *const forms[FORMS] = {"limbs", "aims", "stretched"};

/* 0 to 1, and some beyond. */
static double random_weight(int item) { return item % 3 ? 1 : 0.5 + random_number(); }

#define DEFINE_HASH(number, name)                                                                                      \
    typedef struct {                                                                                                   \
        number pose[ITEMS][JOINTS][4], scales[ITEMS][JOINTS][3], solved[ITEMS][JOINTS][4];                             \
        number moved[ITEMS][JOINTS][3];                                                                                \
        number targets[GOALS][ITEMS][3], poles[ITEMS][3], turned[ITEMS][4], weights[ITEMS];                            \
        number error[ITEMS], angle[ITEMS];                                                                             \
        int32_t status[ITEMS], iterations[ITEMS];                                                                      \
    } rows_##name;                                                                                                     \
                                                                                                                       \
    static uint64_t hash_solved_##name(uint64_t hash, rows_##name *rows, ik_solve_job *job,                            \
                                       size_t (*scratch_of)(const ik_solve_job *),                                     \
                                       void (*solve)(const ik_solve_job *, ptrdiff_t, ptrdiff_t, void *)) {            \
        const ptrdiff_t size = sizeof(number);                                                                         \
        job->rotations = (ik_lists){{rows->pose, 4 * JOINTS * size, size}, 4 * size, JOINTS};                          \
        job->solved = (ik_lists){{rows->solved, 4 * JOINTS * size, size}, 4 * size, JOINTS};                           \
        job->status = (ik_rows){rows->status, 4, 0}, job->iterations = (ik_rows){rows->iterations, 4, 0};              \
        job->error = (ik_rows){rows->error, size, 0}, job->rotation_error = (ik_rows){rows->angle, size, 0};           \
        void *memory = malloc(scratch_of(job) + 64);                                                                   \
        if (!memory) abort();                                                                                          \
        void *scratch = (void *)(((uintptr_t)memory + 63) / 64 * 64);                                                  \
        for (ptrdiff_t first = 0, count = 1; first < ITEMS; first += count, count = count % 70 + 1)                    \
            solve(job, first, first + count < ITEMS ? first + count : ITEMS, scratch);                                 \
        free(memory);                                                                                                  \
        hash = hash_bytes(hash_bytes(hash, rows->solved, sizeof rows->solved), rows->error, sizeof rows->error);       \
        hash = hash_bytes(hash_bytes(hash, rows->angle, sizeof rows->angle), rows->status, sizeof rows->status);       \
        if (job->moved.rows.data) hash = hash_bytes(hash, rows->moved, sizeof rows->moved);                            \
        return hash_bytes(hash, rows->iterations, sizeof rows->iterations);                                            \
    }                                                                                                                  \
                                                                                                                       \
    static void random_rows_##name(rows_##name *rows) {                                                                \
        for (int i = 0; i < ITEMS * JOINTS * 4; i++)                                                                   \
            (&rows->pose[0][0][0])[i] = (number)(random_number() + (i % 4 ? 0 : 2));                                   \
        for (int i = 0; i < ITEMS * JOINTS * 3; i++)                                                                   \
            (&rows->scales[0][0][0])[i] = (number)(1 + 0.5 * random_number());                                         \
        for (int i = 0; i < GOALS * ITEMS * 3; i++)                                                                    \
            (&rows->targets[0][0][0])[i] = (number)(2 * coordinate(i / 3, 8, 5, 1e30));                                \
        for (int i = 0; i < ITEMS * 3; i++)                                                                            \
            (&rows->poles[0][0])[i] = (number)(2 * coordinate(i / 3, 8, 5, 1e30));                                     \
        for (int i = 0; i < ITEMS * 4; i++)                                                                            \
            (&rows->turned[0][0])[i] = (number)random_number();                                                        \
        for (int i = 0; i < ITEMS; i++)                                                                                \
            rows->weights[i] = (number)random_weight(i);                                                               \
    }                                                                                                                  \
                                                                                                                       \
    static uint64_t hash_##name(int form) {                                                                            \
        const int aims = form == 1, stretched = form == 2;                                                             \
        static rows_##name rows;                                                                                       \
        const ptrdiff_t size = sizeof(number);                                                                         \
        const ik_rows weights = {rows.weights, size, 0}, poles = {rows.poles, 3 * size, size};                         \
        ik_rows at[GOALS];                                                                                             \
        uint64_t hash = HASH_START;                                                                                    \
        random_state = 1;                                                                                              \
        for (int g = 0; g < GOALS; g++)                                                                                \
            at[g] = (ik_rows){rows.targets[g], 3 * size, size};                                                        \
        for (int kind = 0; kind < 10; kind++) {                                                                        \
            ik_skeleton skeleton = random_skeleton(kind % 5);                                                          \
            random_rows_##name(&rows);                                                                                 \
            ik_goal limbs[GOALS] = {                                                                                   \
                {.joint = 8, .chain = 6, .position = at[0], .weight = weights},                                        \
                {.kind = IK_TURN, .joint = 8, .chain = 6, .rotation = {rows.turned, 4 * size, size}},                  \
                {.joint = 3, .chain = 1, .position = at[1], .pole = poles, .offset = {0.25, 0, 0.125}}};               \
            ik_goal looks[GOALS] = {                                                                                   \
                {.kind = IK_LOOK, .joint = 5, .chain = 5, .axis = {0, 0, 2}, .position = at[0], .weight = weights},    \
                {.kind = IK_LOOK, .joint = 1, .chain = 1, .axis = {1, 0, 1}, .position = at[1]},                       \
                {.kind = IK_LOOK, .joint = 7, .chain = 7, .axis = {0, 1, 0}, .up = {0, 0, 1}, .position = at[2]}};     \
            looks[2].pole = poles;                                                                                     \
            ik_solve_job job = {.skeleton = &skeleton, .goals = aims ? looks : limbs, .goal_count = GOALS};            \
            job.options = aims ? ik_aims_options() : ik_limbs_options();                                               \
            if (kind % 3 == 1) job.options.twist = 0.5;                                                                \
            if (stretched) {                                                                                           \
                limbs[2].offset[0] = limbs[2].offset[2] = 0;                                                           \
                job.options.stretch_start = 0.75, job.options.stretch_max = 1.5;                                       \
                job.moved = (ik_lists){{rows.moved, 3 * JOINTS * size, size}, 3 * size, JOINTS};                       \
            }                                                                                                          \
            if (kind % 2) job.scales = (ik_lists){{rows.scales, 3 * JOINTS * size, size}, 3 * size, JOINTS};           \
            const char *wrong = aims ? ik_aims_check(&job, IK_TAKES_ALL) : ik_limbs_check(&job, IK_TAKES_ALL);         \
            if (wrong) puts(wrong), exit(1);                                                                           \
            hash = aims ? hash_solved_##name(hash, &rows, &job, ik_aims_scratch_##name, ik_aims_##name)                \
                        : hash_solved_##name(hash, &rows, &job, ik_limbs_scratch_##name, ik_limbs_##name);             \
        }                                                                                                              \
        return hash;                                                                                                   \
    }

FLOAT_AND_DOUBLE(DEFINE_HASH)

int main(void) {
    EACH_ISA(isa) {
        for (int form = 0; form < FORMS; form++) {
            print_hashes(isa, forms[form], hash_f32(form), hash_f64(form));
        }
    }
    return 0;
}
