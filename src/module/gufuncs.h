/* The closed-form solvers as NumPy gufuncs. */
#ifndef IKCORE_GUFUNCS_H
#define IKCORE_GUFUNCS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>
#include <string.h>

#include "ik.h"

enum { MAX_OPERANDS = 24, MAX_ROWS = 32 };

/* A job as an array of words. */
typedef ptrdiff_t job_words[MAX_ROWS * sizeof(ik_rows) / sizeof(ptrdiff_t)];

/* How one operand reads its share of a loop's dimensions and strides. */
typedef struct {
    int core_dims;
    int size_at;  /* where in `dimensions` the size of its last core dimension stands */
    int expected; /* that size */
    int is_list;  /* its first core dimension has any size, */
    int count_at; /* which stands here */
    int optional; /* that size may be 0 */
} operand;

typedef struct {
    const char *name;
    const char *signature;
    const char *types; /* r: float in one loop, double in the other; i: int32 status; NULL: all r */
    const char *doc;
    size_t job_size;
    void (*solve[2])(const void *job, ptrdiff_t count); /* float, double */
    /* filled in once, by add_gufunc */
    operand operands[MAX_OPERANDS]; /* inputs, then outputs */
    int operand_count, input_count;
    char loop_types[2 * MAX_OPERANDS];
    struct loop_data {
        const void *solver;
        void (*solve)(const void *job, ptrdiff_t count);
    } loop_data[2];
    void *loop_data_pointers[2];
} gufunc;

/* Adds the gufuncs to the module. 0, or -1 with an exception set. */
int add_gufuncs(PyObject *module);

/* The gufunc of that name, or NULL. */
const gufunc *gufunc_named(const char *name);

/* The numbers of an operand that is no list. */
static inline int size_of(const operand *op) {
    return op->core_dims == 0 ? 1 : op->core_dims == 1 ? op->expected : op->expected * op->expected;
}

/* Writes rows into a job and returns where the next ones go. */
static inline ptrdiff_t *append_rows(ptrdiff_t *words, ik_rows rows) {
    memcpy(words, &rows, sizeof rows);
    return words + sizeof rows / sizeof *words;
}

#endif
