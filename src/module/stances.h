/* How a foot stands, and where it goes then. */
#ifndef IKCORE_MODULE_STANCES_H
#define IKCORE_MODULE_STANCES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the functions still and stand to the module. 0, or -1 with an exception set. */
int add_stances(PyObject *module);

#endif
