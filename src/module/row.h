/* One row of numbers out of an argument, without what NumPy does for batches. */
#ifndef IKCORE_ROW_H
#define IKCORE_ROW_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { MAX_COLUMNS = 4 };

/* Reads a number (1 column), or a tuple, list or 1-D array of so many. 0, without an exception, for anything else: it
 * is left to NumPy. */
int read_row(PyObject *value, int columns, double *row, int *is_float);

/* Likewise a number of Python, or a double of NumPy. */
int read_python_number(PyObject *value, double *number);

/* Makes packed floats of a row of doubles. */
void narrow_row(double *row, int columns);

#endif
