/* The skeleton as a Python object, and what runs on it. */
#ifndef IKCORE_SKELETON_OBJECT_H
#define IKCORE_SKELETON_OBJECT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "ik.h"

/* Adds the type Skeleton and the functions on skeletons to the module. 0, or -1 with an exception set. */
int add_skeleton(PyObject *module);

/* The skeleton in a Skeleton of this module, which the caller must keep alive; for anything else NULL and a
 * TypeError. */
const ik_skeleton *skeleton_of(PyObject *module, PyObject *object);

#endif
