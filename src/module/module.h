/* The parts of ikcore._core that other files do not use: module.c adds them. */
#ifndef IKCORE_MODULE_H
#define IKCORE_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyMethodDef carried_functions[];
extern PyMethodDef footing_functions[];
extern PyMethodDef legs_functions[];
extern PyMethodDef numbers_functions[];
extern PyMethodDef smooth_functions[];
extern PyMethodDef soles_functions[];
extern PyMethodDef vectors_functions[];

/* Adds an immutable type, named "ikcore._core.Name", whose objects have `size` bytes. A new reference, or NULL with an
 * exception set. */
PyTypeObject *add_type(PyObject *module, const char *name, size_t size, PyType_Slot *slots);

/* Frees an object of such a type, at the end of its dealloc. */
void free_object(PyObject *object);

/* Adds solve and the tables of methods. 0, or -1 with an exception set. */
int add_solve(PyObject *module);

/* Adds the type Table. 0, or -1 with an exception set. */
int add_table(PyObject *module);

/* Adds the functions and tables of the foot placer. 0, or -1 with an exception set. */
int add_foot_placer(PyObject *module);

#endif
