/* Frequent operations on vectors. */
#ifndef IKCORE_VECTORS_H
#define IKCORE_VECTORS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds dot, cross, size, unit, mean, filtered and widest to the module. 0, or -1 with an exception set. */
int add_vectors(PyObject *module);

#endif
