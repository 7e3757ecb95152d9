/* How legs move the body. */
#ifndef IKCORE_MODULE_BODY_H
#define IKCORE_MODULE_BODY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the functions agreed, rises, eased, jerk and aside to the module. 0, or -1 with an exception set. */
int add_body(PyObject *module);

#endif
