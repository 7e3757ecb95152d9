/* Inner loops of the measures of feet, as Python functions (ikcore/feet/metrics): one pass, fixed order of operations,
 * doubles. */
#include "module.h"

#include "numpy_api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ik/order.h"
#include "../ik/three.h"

/* A new reference to doubles in one block; NULL with an exception set. */
static PyArrayObject *doubles_of(PyObject *object) {
    return (PyArrayObject *)PyArray_FROMANY(object, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO);
}

/* --- angles ------------------------------------------------------------------------------------------------------- */

/* A rotation about the first axis by twice the angle whose tangent is y / x: half of it needs no difference of nearly
 * equal numbers. */
static void turn_by(double y, double x, double turn[4]) {
    const double far = sqrt(x * x + y * y);
    turn[0] = x >= 0 ? far + x : fabs(y);
    turn[1] = x >= 0 ? y : copysign(far - x, y);
    turn[2] = turn[3] = 0;
}

/* Two arrays of rows. NULL with an exception set if their shapes differ, or their rows have another length. */
static PyArrayObject *turns_for(const char *name, PyArrayObject *const rows[2], int row) {
    const int axes = PyArray_NDIM(rows[0]);
    npy_intp shape[2] = {PyArray_SIZE(rows[0]) / row, 4};
    if (axes == PyArray_NDIM(rows[1]) && PyArray_CompareLists(PyArray_DIMS(rows[0]), PyArray_DIMS(rows[1]), axes) &&
        (row == 1 || (axes && PyArray_DIM(rows[0], axes - 1) == row)))
        return (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    PyErr_Format(PyExc_TypeError, "%s: expected two arrays of one shape", name);
    return NULL;
}

static PyObject *turns(const char *name, PyObject *args, int row,
                       void (*of)(const double *, const double *, double *)) {
    PyObject *given[2];
    if (!PyArg_ParseTuple(args, "OO", &given[0], &given[1])) return NULL;
    PyArrayObject *rows[2] = {doubles_of(given[0]), NULL}, *found = NULL;
    if (rows[0]) rows[1] = doubles_of(given[1]);
    if (rows[1]) found = turns_for(name, rows, row);
    for (npy_intp k = 0; found && k < PyArray_DIM(found, 0); k++) {
        const double *a = PyArray_DATA(rows[0]), *b = PyArray_DATA(rows[1]);
        of(a + k * row, b + k * row, (double *)PyArray_DATA(found) + 4 * k);
    }
    Py_XDECREF((PyObject *)rows[0]);
    Py_XDECREF((PyObject *)rows[1]);
    return (PyObject *)found;
}

static void turn_of_arc(const double *y, const double *x, double *turn) { turn_by(*y, *x, turn); }

static void turn_between(const double *a, const double *b, double *turn) {
    double across[3];
    three_cross(a, b, across);
    turn_by(three_size(across), three_dot(a, b), turn);
}

static PyObject *arcs(PyObject *module, PyObject *args) {
    (void)module;
    return turns("arcs", args, 1, turn_of_arc);
}

static PyObject *angles(PyObject *module, PyObject *args) {
    (void)module;
    return turns("angles", args, 3, turn_between);
}

/* --- knees -------------------------------------------------------------------------------------------------------- */

/* One joint of a chain, whose rows are that far apart: it is bent if the sine of its angle is large enough. */
static void flips_of(const double (*joint)[3], npy_intp step, npy_intp frames, double least, npy_bool *found) {
    double side[3], last[3];
    int known = 0;
    for (npy_intp frame = 0; frame < frames; frame++, joint += step, found += step - 2) {
        double above[3], below[3];
        for (int axis = 0; axis < 3; axis++) {
            above[axis] = joint[0][axis] - joint[-1][axis];
            below[axis] = joint[1][axis] - joint[0][axis];
        }
        three_cross(above, below, side);
        *found = 0;
        if (!(three_size(side) > least * three_size(above) * three_size(below))) continue;
        *found = known && three_dot(side, last) < 0;
        memcpy(last, side, sizeof last);
        known = 1;
    }
}

static PyObject *flips(PyObject *module, PyObject *args) {
    PyObject *given;
    double least;
    (void)module;
    if (!PyArg_ParseTuple(args, "Od", &given, &least)) return NULL;
    PyArrayObject *chain = doubles_of(given);
    if (!chain) return NULL;
    PyArrayObject *found = NULL;
    const int fits = PyArray_NDIM(chain) == 3 && PyArray_DIM(chain, 2) == 3;
    const npy_intp frames = fits ? PyArray_DIM(chain, 0) : 0, joints = fits ? PyArray_DIM(chain, 1) : 0;
    npy_intp shape[2] = {frames, joints > 2 ? joints - 2 : 0};
    if (fits)
        found = (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_BOOL);
    else
        PyErr_SetString(PyExc_TypeError, "flips: expected a chain (frames, joints, 3)");
    for (npy_intp k = 0; found && k < shape[1]; k++)
        flips_of((const double (*)[3])PyArray_DATA(chain) + k + 1, joints, frames, least,
                 (npy_bool *)PyArray_DATA(found) + k);
    Py_DECREF((PyObject *)chain);
    return (PyObject *)found;
}

/* --- maximum and minimum ------------------------------------------------------------------------------------------ */

static PyObject *highest(PyObject *module, PyObject *args) {
    PyObject *given;
    double percent;
    (void)module;
    if (!PyArg_ParseTuple(args, "Od", &given, &percent)) return NULL;
    if (!(percent >= 0 && percent <= 100)) {
        PyErr_SetString(PyExc_ValueError, "highest: expected 0 to 100");
        return NULL;
    }
    PyArrayObject *array = doubles_of(given);
    if (!array) return NULL;
    const double *values = PyArray_DATA(array);
    double *known = malloc(((size_t)PyArray_SIZE(array) + 1) * sizeof *known), found = NAN;
    npy_intp count = 0;
    for (npy_intp k = 0; known && k < PyArray_SIZE(array); k++)
        if (!isnan(values[k])) known[count++] = values[k];
    if (count) {
        const double at = (double)(count - 1) * (percent / 100);
        const npy_intp rank = (npy_intp)at;
        found = ik_ranked(known, count, (double)rank < at ? rank + 1 : rank);
    }
    Py_DECREF((PyObject *)array);
    if (!known) return PyErr_NoMemory();
    free(known);
    return PyFloat_FromDouble(found);
}

static PyObject *lowest(PyObject *module, PyObject *given) {
    PyArrayObject *heights = doubles_of(given);
    (void)module;
    if (!heights) return NULL;
    const int axes = PyArray_NDIM(heights);
    PyArrayObject *found = NULL;
    if (axes)
        found = (PyArrayObject *)PyArray_SimpleNew(axes - 1, PyArray_DIMS(heights), NPY_DOUBLE);
    else
        PyErr_SetString(PyExc_TypeError, "lowest: expected heights (..., points)");
    const npy_intp points = axes ? PyArray_DIM(heights, axes - 1) : 0;
    const double *height = PyArray_DATA(heights);
    for (npy_intp k = 0; found && k < PyArray_SIZE(found); k++) {
        double least = INFINITY;
        for (npy_intp point = 0; point < points; point++, height++)
            if (*height < least) least = *height;
        ((double *)PyArray_DATA(found))[k] = least;
    }
    Py_DECREF((PyObject *)heights);
    return (PyObject *)found;
}

PyMethodDef metrics_functions[] = {
    {"angles", angles, METH_VARARGS,
     "angles(a, b, /)\n--\n\nRotations (n, 4) by the angles between vectors (..., 3) of one shape."},
    {"arcs", arcs, METH_VARARGS,
     "arcs(y, x, /)\n--\n\nRotations (n, 4) by the angles whose tangents are y / x, arrays of one shape."},
    {"flips", flips, METH_VARARGS,
     "flips(chain, least, /)\n--\n\nWhen joints inside of a chain (frames, joints, 3) are bent to another side than "
     "when they were last bent, the sine being more than least."},
    {"highest", highest, METH_VARARGS,
     "highest(values, percent, /)\n--\n\nOf those that are no NaN, a percentile that is one of them; NaN of none."},
    {"lowest", lowest, METH_O, "lowest(heights, /)\n--\n\nOf points (..., points), where known; infinite of none."},
    {NULL, NULL, 0, NULL},
};
