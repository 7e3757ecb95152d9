/* Points over time, and numbers by their order. */
#ifndef IKCORE_MODULE_PATHS_H
#define IKCORE_MODULE_PATHS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the functions prolonged, path, straight, ramp, extent, lengths, steps, percentile, percentiles, medians and
 * middle to the module. 0, or -1 with an exception set. */
int add_paths(PyObject *module);

#endif
