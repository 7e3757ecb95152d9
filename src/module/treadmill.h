/* The ground under a clip that walks on the spot. */
#ifndef IKCORE_MODULE_TREADMILL_H
#define IKCORE_MODULE_TREADMILL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the functions speeds, belts and slide to the module. 0, or -1 with an exception set. */
int add_treadmill(PyObject *module);

#endif
