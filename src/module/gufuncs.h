/* The closed-form solvers as NumPy gufuncs. */
#ifndef IKCORE_GUFUNCS_H
#define IKCORE_GUFUNCS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the gufuncs to the module. 0, or -1 with an exception set. */
int add_gufuncs(PyObject *module);

#endif
