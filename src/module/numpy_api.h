/* NumPy's headers. All files share one table of its API, which module.c imports: it defines IKCORE_IMPORT_NUMPY. */
#ifndef IKCORE_NUMPY_API_H
#define IKCORE_NUMPY_API_H

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ikcore_numpy_api
#ifndef IKCORE_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/ndarraytypes.h>

#include <numpy/ndarrayobject.h>

/* Whether the numbers have this type, under any name. NumPy has a type for every C type: int32 is int on one system and
 * long on another; on Windows both have 32 bits. Types are therefore named by their size, and compared with this. */
static inline int holds(PyArrayObject *array, int type) {
    return PyArray_TYPE(array) == type || PyArray_EquivTypenums(PyArray_TYPE(array), type);
}

#endif
