/* The foot placer as functions of Python. */
#ifndef IKCORE_FOOT_PLACER_H
#define IKCORE_FOOT_PLACER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

int add_foot_placer(PyObject *module);

#endif
