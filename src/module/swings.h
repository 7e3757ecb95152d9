/* How a foot goes from one stance to the next. */
#ifndef IKCORE_MODULE_SWINGS_H
#define IKCORE_MODULE_SWINGS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the functions release and swing to the module. 0, or -1 with an exception set. */
int add_swings(PyObject *module);

#endif
