/* Parts of random problems that programs share which hash results of methods. hash.h and ik.h come before. */
#include <stdlib.h>

static inline ik_limit random_limit(int kind, int stiff) {
    ik_limit limit = {.kind = (enum ik_limit_kind)kind, .twist = {-1, 0.75}, .axes = {0, 1, 2}};
    for (int i = 0; i < 4; i++) {
        limit.frame[i] = random_number();
        limit.swing[i] = 0.75 + 0.5 * random_number();
    }
    for (int i = 0; i < 3; i++) {
        limit.angles[i][0] = -0.75, limit.angles[i][1] = 0.5;
        if (stiff) limit.stiffness[i] = 0.25 + 0.25 * random_number();
        limit.position[i][0] = -0.25, limit.position[i][1] = 0.5;
    }
    return limit;
}

typedef void solve_function(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);

/* Solves all items in calls of 1, 2, 3 and more items, up to 70. */
static inline void solve_in_batches(const ik_solve_job *job, ptrdiff_t items, size_t scratch_bytes,
                                    solve_function *solve) {
    void *memory = malloc((scratch_bytes + 63) / 64 * 64 + 64);
    if (!memory) abort();
    void *scratch = (void *)(((uintptr_t)memory + 63) / 64 * 64);
    for (ptrdiff_t first = 0, count = 1; first < items; first += count, count = count % 70 + 1)
        solve(job, first, first + count < items ? first + count : items, scratch);
    free(memory);
}

/* Sets all numbers of an array to an expression of their index i. */
#define FILL(number, array, value)                                                                                     \
    for (int i = 0; i < (int)(sizeof array / sizeof(number)); i++)                                                     \
    ((number *)(array))[i] = (number)(value)

/* The rows of a job, in arrays of these names; `size`, `joint` and `item` are the bytes of a number, a joint, an item.
 */
#define JOB_ROWS                                                                                                       \
    .rotations = {{pose, item, size}, joint, JOINTS}, .solved = {{solved, item, size}, joint, JOINTS},                 \
    .status = {status, 4, 0}, .error = {error, size, 0}, .rotation_error = {angle, size, 0},                           \
    .iterations = {iterations, 4, 0}

/* The hash after all bytes that such a job writes. */
#define HASH_RESULTS(hash)                                                                                             \
    hash_bytes(hash_bytes(hash_bytes(hash_bytes(hash_bytes(hash, solved, sizeof solved), error, sizeof error), angle,  \
                                     sizeof angle),                                                                    \
                          status, sizeof status),                                                                      \
               iterations, sizeof iterations)
