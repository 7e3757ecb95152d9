/* Rows of numbers as a Python object, to find the nearest. */
#ifndef IKCORE_TABLE_OBJECT_H
#define IKCORE_TABLE_OBJECT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the type Table to the module. 0, or -1 with an exception set. */
int add_table(PyObject *module);

#endif
