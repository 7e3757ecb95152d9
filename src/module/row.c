/* Reading rows. Each function returns 0 for types it does not handle. */
#include "row.h"

#include "numpy_api.h"

#include <string.h>

/* Larger integers are rounded differently by different types. */
static const long long exact_integers = 1LL << 53;

int read_python_number(PyObject *value, double *number) {
    if (PyFloat_CheckExact(value) || Py_IS_TYPE(value, &PyDoubleArrType_Type)) {
        *number = PyFloat_AsDouble(value);
        return 1;
    }
    if (!PyLong_CheckExact(value) && !PyBool_Check(value)) return 0;
    int overflow;
    long long integer = PyLong_AsLongLongAndOverflow(value, &overflow);
    *number = (double)integer;
    return !overflow && -exact_integers <= integer && integer <= exact_integers;
}

static int read_array(PyArrayObject *array, int columns, double *row, int *is_float) {
    int size = 1, type = PyArray_TYPE(array);
    npy_intp step = 0;
    if (PyArray_NDIM(array) != (columns > 1) || !PyArray_ISBEHAVED_RO(array)) return 0;
    if (columns > 1) size = columns, step = PyArray_STRIDE(array, 0);
    if (columns > 1 && PyArray_DIM(array, 0) != columns) return 0;
    if (type != NPY_DOUBLE && type != NPY_FLOAT) return 0;
    const char *data = PyArray_DATA(array);
    for (int k = 0; k < size; k++, data += step)
        row[k] = type == NPY_DOUBLE ? *(const double *)data : *(const float *)data;
    *is_float = type == NPY_FLOAT;
    return 1;
}

static int read_number(PyObject *value, double *number, int *is_float) {
    if (read_python_number(value, number)) return 1;
    if (PyArray_CheckExact(value)) return read_array((PyArrayObject *)value, 1, number, is_float);
    if (!Py_IS_TYPE(value, &PyFloatArrType_Type)) return 0;
    float narrow;
    PyArray_ScalarAsCtype(value, &narrow);
    *number = narrow;
    *is_float = 1;
    return 1;
}

static int read_tuple(PyObject *tuple, int columns, double *row) {
    int known = PyTuple_Size(tuple) == columns;
    for (int k = 0; known && k < columns; k++)
        known = read_python_number(PyTuple_GetItem(tuple, k), &row[k]);
    return known;
}

/* Another thread may change a list, so each item is held while it is read. */
static int read_list(PyObject *list, int columns, double *row) {
    int known = PyList_Size(list) == columns;
    for (int k = 0; known && k < columns; k++) {
        PyObject *item = PySequence_GetItem(list, k);
        if (!item) PyErr_Clear();
        known = item && read_python_number(item, &row[k]);
        Py_XDECREF(item);
    }
    return known;
}

int read_row(PyObject *value, int columns, double *row, int *is_float) {
    *is_float = 0;
    if (columns == 1) return read_number(value, row, is_float);
    if (PyTuple_CheckExact(value)) return read_tuple(value, columns, row);
    if (PyArray_CheckExact(value)) return read_array((PyArrayObject *)value, columns, row, is_float);
    return PyList_CheckExact(value) && read_list(value, columns, row);
}

void narrow_row(double *row, int columns) {
    for (int k = 0; k < columns; k++) {
        float narrow = (float)row[k];
        memcpy((char *)row + k * sizeof narrow, &narrow, sizeof narrow);
    }
}
