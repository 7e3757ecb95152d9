/* Triangles as a Python object, and rays to them. */
#ifndef IKCORE_MESH_OBJECT_H
#define IKCORE_MESH_OBJECT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "ik.h"

/* Adds the type Mesh and the function cast to the module. 0, or -1 with an exception set. */
int add_mesh(PyObject *module);

/* The bodies of a tuple, placed for so many rays; NULL with an exception set. To be freed. */
ik_ray_body *bodies_of(PyObject *module, PyObject *given, ptrdiff_t each, ptrdiff_t items);

#endif
