/* The result of a solver, as an object whose fields become arrays when they are first read. */
#ifndef IKCORE_RESULT_H
#define IKCORE_RESULT_H

#include "gufuncs.h"

enum { FLOATS, DOUBLES };                  /* the two types of number, in the order of a gufunc's loops */
enum { MAX_FIELDS = 8, MAX_NUMBERS = 24 }; /* of a result that is one item */

/* The outputs of one item one after the other; each starts at a double of its own and holds floats, doubles or, the
 * status, an int32. */
typedef double item_numbers[MAX_NUMBERS];

/* Adds Result and its subclasses, the bases of the classes of ikcore. 0, or -1 with an exception set. */
int add_results(PyObject *module);

/* A new object of a subclass of Result: its fields are the numbers. NULL with an exception set. */
PyObject *make_result(PyTypeObject *type, const gufunc *solver, int number, const item_numbers numbers);

/* Writes the numbers into the arrays of an object of a subclass of Result. Returns 0, and writes nothing, unless its
 * fields are plain arrays with the shapes and types of a single item. */
int write_result(PyObject *out, const gufunc *solver, int number, const item_numbers numbers);

#endif
