/* The arrays of one result in one block of memory. */
#ifndef IKCORE_BLOCK_H
#define IKCORE_BLOCK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* empty(((shape, type), ...)): uninitialised arrays, type being 'f', 'd' or 'i' (int32). */
PyObject *make_empty(PyObject *module, PyObject *parts);

/* Frees the memory that waits for the next result. */
void free_blocks(void);

#endif
