/* The iterative methods as functions of Python. */
#ifndef IKCORE_SOLVE_H
#define IKCORE_SOLVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds solve and the tables of methods to the module. 0, or -1 with an exception set. */
int add_solve(PyObject *module);

#endif
