/* How a foot lies on the ground. */
#ifndef IKCORE_FOOTING_H
#define IKCORE_FOOTING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the function rest to the module. 0, or -1 with an exception set. */
int add_footing(PyObject *module);

#endif
