/* Legs over all frames of a clip. */
#ifndef IKCORE_MODULE_LEGS_H
#define IKCORE_MODULE_LEGS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the functions bend_leg, turn_leg, hinges and displaced to the module. 0, or -1 with an exception set. */
int add_legs(PyObject *module);

#endif
