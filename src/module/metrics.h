/* How well feet stand: what measures make of many numbers in one pass. */
#ifndef IKCORE_MODULE_METRICS_H
#define IKCORE_MODULE_METRICS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the functions angles, arcs, flips, highest and lowest to the module. 0, or -1 with an exception set. */
int add_metrics(PyObject *module);

#endif
