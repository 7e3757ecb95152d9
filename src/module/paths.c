/* Points over time and order statistics, as Python functions (ikcore/feet/paths.py and others there). */
#include "module.h"

#include "numpy_api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ik/order.h"
#include "../ik/paths.h"
#include "../ik/three.h"

static PyArrayObject *doubles_of(PyObject *object) {
    return (PyArrayObject *)PyArray_FROMANY(object, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO);
}

/* A new reference to doubles in one block, of one row at least; NULL with an exception set. */
static PyArrayObject *rows_of(PyObject *object, int loop, ik_path *path) {
    PyArrayObject *array = doubles_of(object);
    if (array && (PyArray_NDIM(array) < 1 || PyArray_SIZE(array) < 1)) {
        PyErr_SetString(PyExc_TypeError, "expected numbers (frames, ...), of one frame at least");
        Py_CLEAR(array);
    }
    if (!array) return NULL;
    const npy_intp frames = PyArray_DIM(array, 0);
    *path = (ik_path){PyArray_DATA(array), frames, PyArray_SIZE(array) / frames, loop};
    return array;
}

static PyObject *prolonged(PyObject *module, PyObject *args) {
    PyObject *rows;
    Py_ssize_t more;
    ik_path path;
    (void)module;
    int loop;
    if (!PyArg_ParseTuple(args, "Onp", &rows, &more, &loop)) return NULL;
    PyArrayObject *array = rows_of(rows, loop, &path);
    if (!array) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    for (int axis = 0; axis < PyArray_NDIM(array); axis++)
        shape[axis] = PyArray_DIM(array, axis) + (axis ? 0 : 2 * more);
    PyArrayObject *wide = NULL;
    if (more < 0 || more > PY_SSIZE_T_MAX / 64)
        PyErr_SetString(PyExc_TypeError, "prolonged: expected a number of rows, 0 or more");
    else
        wide = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(array), shape, NPY_DOUBLE);
    if (wide) ik_prolong(&path, more, PyArray_DATA(wide));
    Py_DECREF((PyObject *)array);
    return (PyObject *)wide;
}

static PyObject *straight(PyObject *module, PyObject *args) {
    PyObject *given[3];
    PyArrayObject *arrays[3] = {0}, *found = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO", &given[0], &given[1], &given[2])) return NULL;
    int fit = 1;
    for (int k = 0; k < 3 && fit; k++)
        fit = (arrays[k] = doubles_of(given[k])) != NULL;
    PyArrayObject *times = arrays[0], *knots = arrays[1], *values = arrays[2];
    if (fit && (PyArray_NDIM(times) != 1 || PyArray_NDIM(knots) != 1 || PyArray_NDIM(values) < 1 ||
                PyArray_DIM(values, 0) != PyArray_SIZE(knots) || !PyArray_SIZE(knots))) {
        PyErr_SetString(PyExc_TypeError, "straight: expected times, and a knot at least, each with its value");
        fit = 0;
    }
    if (fit) {
        npy_intp shape[NPY_MAXDIMS] = {PyArray_SIZE(times)};
        for (int axis = 1; axis < PyArray_NDIM(values); axis++)
            shape[axis] = PyArray_DIM(values, axis);
        found = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(values), shape, NPY_DOUBLE);
    }
    if (found) {
        const ik_knots through = {PyArray_DATA(knots), PyArray_DATA(values), PyArray_SIZE(knots),
                                  PyArray_SIZE(values) / PyArray_SIZE(knots)};
        ik_straight(&through, PyArray_DATA(times), PyArray_SIZE(times), PyArray_DATA(found));
    }
    for (int k = 0; k < 3; k++)
        Py_XDECREF((PyObject *)arrays[k]);
    return (PyObject *)found;
}

static PyObject *ramp(PyObject *module, PyObject *args) {
    PyObject *mask;
    double frames;
    int loop;
    (void)module;
    if (!PyArg_ParseTuple(args, "Odp", &mask, &frames, &loop)) return NULL;
    PyArrayObject *held = (PyArrayObject *)mask;
    const int axes = PyArray_Check(mask) ? PyArray_NDIM(held) : 0;
    if (axes < 1 || axes > 2 || !holds(held, NPY_BOOL) || !(frames > 0)) {
        PyErr_SetString(PyExc_TypeError, "ramp: expected True and False, one a frame, and a number of frames");
        return NULL;
    }
    held = (PyArrayObject *)PyArray_FROMANY(mask, NPY_BOOL, 1, 2, NPY_ARRAY_CARRAY_RO);
    PyArrayObject *weights = held ? (PyArrayObject *)PyArray_SimpleNew(axes, PyArray_DIMS(held), NPY_DOUBLE) : NULL;
    const npy_intp count = PyArray_DIM((PyArrayObject *)mask, axes - 1);
    for (npy_intp at = 0; weights && at < PyArray_SIZE(held); at += count)
        ik_ramp((npy_bool *)PyArray_DATA(held) + at, count, loop, frames, (double *)PyArray_DATA(weights) + at);
    Py_XDECREF((PyObject *)held);
    return (PyObject *)weights;
}

/* --- groups of points --------------------------------------------------------------------------------------------- */

/* --- order statistics --------------------------------------------------------------------------------------------- */

/* Copies the finite values, and returns their number. */
static npy_intp take_finite(const double *values, npy_intp count, double *found) {
    npy_intp kept = 0;
    for (npy_intp k = 0; k < count; k++)
        found[kept] = values[k], kept += isfinite(values[k]) != 0;
    return kept;
}

/* A copy of the finite values. NULL with an exception set. */
static double *finite_of(PyObject *object, npy_intp *count) {
    PyArrayObject *array = doubles_of(object);
    if (!array) return NULL;
    double *found = malloc(((size_t)PyArray_SIZE(array) + 1) * sizeof *found);
    if (found)
        *count = take_finite(PyArray_DATA(array), PyArray_SIZE(array), found);
    else
        PyErr_NoMemory();
    Py_DECREF((PyObject *)array);
    return found;
}

static int is_percent(double percent) {
    if (percent >= 0 && percent <= 100) return 1;
    PyErr_SetString(PyExc_ValueError, "percentile: expected 0 to 100");
    return 0;
}

static PyObject *percentile(PyObject *module, PyObject *args) {
    PyObject *values;
    double percent;
    npy_intp count;
    (void)module;
    if (!PyArg_ParseTuple(args, "Od", &values, &percent) || !is_percent(percent)) return NULL;
    double *known = finite_of(values, &count);
    if (!known) return NULL;
    const double found = count ? ik_percentile(known, count, percent) : NAN;
    free(known);
    return PyFloat_FromDouble(found);
}

/* The values (n) of every interval. */
PyMethodDef paths_functions[] = {
    {"prolonged", prolonged, METH_VARARGS,
     "prolonged(rows, more, loop, /)\n--\n\nSo many rows more at both ends: a loop goes on, others turn about there."},
    {"straight", straight, METH_VARARGS,
     "straight(times, knots, values, /)\n--\n\nValues between knots that ascend, beyond them as at the last one."},
    {"ramp", ramp, METH_VARARGS,
     "ramp(held, frames, loop, /)\n--\n\nFrom 0 to 1 within so many frames about the edges of a mask, or of each "
     "of several."},
    {"percentile", percentile, METH_VARARGS,
     "percentile(values, percent, /)\n--\n\nOf those that are finite; NaN of none."},
    {NULL, NULL, 0, NULL},
};
