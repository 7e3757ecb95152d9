/* Numbers out of text. */
#ifndef IKCORE_NUMBERS_H
#define IKCORE_NUMBERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the function parse_numbers to the module. 0, or -1 with an exception set. */
int add_numbers(PyObject *module);

#endif
