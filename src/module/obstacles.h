/* What a foot that swings has to get over, and what its toes bend for. */
#ifndef IKCORE_MODULE_OBSTACLES_H
#define IKCORE_MODULE_OBSTACLES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the functions lack, toe_lack, raise_arms and nearer to the module. 0, or -1 with an exception set. */
int add_obstacles(PyObject *module);

#endif
