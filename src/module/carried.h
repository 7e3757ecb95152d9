/* World positions of points carried by joints. */
#ifndef IKCORE_MODULE_CARRIED_H
#define IKCORE_MODULE_CARRIED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the function carried to the module. 0, or -1 with an exception set. */
int add_carried(PyObject *module);

#endif
