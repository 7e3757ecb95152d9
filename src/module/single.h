/* Calls on a single item. */
#ifndef IKCORE_SINGLE_H
#define IKCORE_SINGLE_H

#include "result.h"

/* The solvers whose functions take a single item by themselves. X(name) */
#define SINGLE_SOLVERS(X) X(two_bone) X(two_bone_2d) X(aim)

#define SINGLE_INDEX(name) single_##name,
enum { SINGLE_SOLVERS(SINGLE_INDEX) SINGLE_COUNT, MAX_ARGUMENTS = MAX_OPERANDS };
#undef SINGLE_INDEX

/* The data of a function. */
typedef struct {
    PyMethodDef method;
    const gufunc *solver;
    PyObject *function; /* of Python: takes everything else */
    PyObject *found;    /* the class of the result */
    PyObject *text;     /* signature and docstring */
    PyObject *names;    /* tuple of the arguments: the solver's inputs, `out` if there is one, `workers`, `strict` */
    PyObject *name[MAX_ARGUMENTS]; /* its items */
    int argument_count;
    int positional;            /* so many arguments need no name */
    int partner[MAX_OPERANDS]; /* the first input that must be given where this one is */
    int pose;                  /* so many inputs decide the type of number */
    int workers_at, out_at;    /* among the arguments; out_at is -1 where there is none */
    int status_at;             /* among the numbers of a result */
} single;

/* single(name, function, found, names, positional, pose, text, home): the function of a solver in C, for `home`, the
 * name of its module. */
PyObject *make_single(PyObject *module, PyObject *args);

void free_singles(void *module);

#endif
