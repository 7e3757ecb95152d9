/* What a NumPy array holds. Include after NumPy's headers. */
#ifndef IKCORE_ARRAYS_H
#define IKCORE_ARRAYS_H

/* Whether its numbers are of a type, by whichever name: NumPy has a type for every one of C, and int32 is int here,
 * long there, which Windows has both at 32 bits. So types are named by their size, and compared with this. */
static inline int holds(PyArrayObject *array, int type) {
    return PyArray_TYPE(array) == type || PyArray_EquivTypenums(PyArray_TYPE(array), type);
}

#endif
