/* Curves over whole clips as a function of Python. */
#ifndef IKCORE_SMOOTH_H
#define IKCORE_SMOOTH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the function smooth to the module. 0, or -1 with an exception set. */
int add_smooth(PyObject *module);

#endif
