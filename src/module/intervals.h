/* Frames in which something holds. */
#ifndef IKCORE_MODULE_INTERVALS_H
#define IKCORE_MODULE_INTERVALS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the functions intervals and contact to the module. 0, or -1 with an exception set. */
int add_intervals(PyObject *module);

#endif
