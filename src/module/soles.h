/* Soles from poses in which feet stand flat. */
#ifndef IKCORE_MODULE_SOLES_H
#define IKCORE_MODULE_SOLES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds its functions to the module. 0, or -1 with an exception set. */
int add_soles(PyObject *module);

#endif
