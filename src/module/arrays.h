/* Types of numbers in NumPy arrays. Include after NumPy's headers. */
#ifndef IKCORE_ARRAYS_H
#define IKCORE_ARRAYS_H

/* Whether the numbers have this type, under any name. NumPy has a type for every C type: int32 is int on one system and
 * long on another; on Windows both have 32 bits. Types are therefore named by their size, and compared with this. */
static inline int holds(PyArrayObject *array, int type) {
    return PyArray_TYPE(array) == type || PyArray_EquivTypenums(PyArray_TYPE(array), type);
}

#endif
