/* Points over time, and numbers by their order, as functions of Python (ikcore/feet/paths.py and those beside it). */
#include "paths.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ik/order.h"
#include "../ik/paths.h"
#include "../ik/three.h"
#include "arrays.h"

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

/* Points (..., n, 3) of floats or doubles, as a new reference; NULL with an exception set. */
static PyArrayObject *points_of(const char *name, PyObject *object, int axes) {
    PyArrayObject *array = (PyArrayObject *)PyArray_FROMANY(object, NPY_NOTYPE, 2, 3, NPY_ARRAY_ALIGNED);
    if (!array) return NULL;
    const int known = holds(array, NPY_FLOAT) || holds(array, NPY_DOUBLE), least = axes ? axes : 2;
    if (known && PyArray_NDIM(array) >= least && PyArray_DIM(array, PyArray_NDIM(array) - 1) == 3) return array;
    PyErr_Format(PyExc_TypeError, "%s: expected points (..., n, 3)", name);
    Py_DECREF((PyObject *)array);
    return NULL;
}

static inline double number_at(const char *at, int single) {
    return single ? (double)*(const float *)at : *(const double *)at;
}

/* The result is of the type of the points: a difference of two floats has the same bits by way of doubles. */
static void put(PyArrayObject *array, npy_intp at, double value, int single) {
    if (single)
        ((float *)PyArray_DATA(array))[at] = (float)value;
    else
        ((double *)PyArray_DATA(array))[at] = value;
}

/* Which of n points: all, or those that are named. NULL with an exception set. */
static npy_intp *which_of(PyObject *object, npy_intp n, npy_intp *count) {
    PyArrayObject *names =
        object == Py_None ? NULL : (PyArrayObject *)PyArray_FROMANY(object, NPY_INTP, 1, 1, NPY_ARRAY_CARRAY_RO);
    if (object != Py_None && !names) return NULL;
    *count = names ? PyArray_SIZE(names) : n;
    npy_intp *which = malloc(((size_t)*count + 1) * sizeof *which);
    int fits = *count > 0;
    for (npy_intp k = 0; which && k < *count; k++) {
        which[k] = names ? ((const npy_intp *)PyArray_DATA(names))[k] : k;
        fits &= which[k] >= 0 && which[k] < n;
    }
    Py_XDECREF((PyObject *)names);
    if (which && fits) return which;
    if (which)
        PyErr_SetString(PyExc_ValueError, "extent: expected one point at least, of those there are");
    else
        PyErr_NoMemory();
    free(which);
    return NULL;
}

/* Of a group of points, along each axis; NaN where one is. */
static inline void reach(const char *first, const npy_intp strides[2], const npy_intp *which, npy_intp count,
                         int single, double found[3]) {
    double least[3], most[3];
    int odd[3] = {0};
    for (int axis = 0; axis < 3; axis++)
        least[axis] = most[axis] = number_at(first + which[0] * strides[0] + axis * strides[1], single);
    for (npy_intp k = 0; k < count; k++)
        for (int axis = 0; axis < 3; axis++) {
            const double value = number_at(first + which[k] * strides[0] + axis * strides[1], single);
            least[axis] = value < least[axis] ? value : least[axis];
            most[axis] = most[axis] < value ? value : most[axis];
            odd[axis] |= value != value;
        }
    for (int axis = 0; axis < 3; axis++)
        found[axis] = odd[axis] ? NAN : most[axis] - least[axis];
}

static PyObject *extent(PyObject *module, PyObject *args) {
    PyObject *given, *names = Py_None;
    npy_intp count = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "O|O", &given, &names)) return NULL;
    PyArrayObject *points = points_of("extent", given, 0);
    if (!points) return NULL;
    const int axes = PyArray_NDIM(points), single = holds(points, NPY_FLOAT);
    const npy_intp *shape = PyArray_DIMS(points), *strides = PyArray_STRIDES(points);
    npy_intp *which = which_of(names, shape[axes - 2], &count), sizes[2] = {axes > 2 ? shape[0] : 3, 3};
    PyArrayObject *found = NULL;
    if (which) found = (PyArrayObject *)PyArray_SimpleNew(axes - 1, sizes, PyArray_TYPE(points));
    for (npy_intp group = 0; found && group < (axes > 2 ? shape[0] : 1); group++) {
        const char *first = PyArray_BYTES(points) + (axes > 2 ? group * strides[0] : 0);
        double far[3];
        if (single)
            reach(first, strides + axes - 2, which, count, 1, far);
        else
            reach(first, strides + axes - 2, which, count, 0, far);
        for (int axis = 0; axis < 3; axis++)
            put(found, 3 * group + axis, far[axis], single);
    }
    free(which);
    Py_DECREF((PyObject *)points);
    return (PyObject *)found;
}

/* From the first of some points to the last of them, by way of all. */
static double length_of(const char *at, const npy_intp strides[2], npy_intp count) {
    double sum = 0;
    for (npy_intp k = 1; k < count; k++, at += strides[0]) {
        double way[3];
        for (int axis = 0; axis < 3; axis++)
            way[axis] = number_at(at + strides[0] + axis * strides[1], 0) - number_at(at + axis * strides[1], 0);
        sum += sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
    }
    return sum;
}

static PyObject *lengths(PyObject *module, PyObject *given) {
    PyArrayObject *points = (PyArrayObject *)PyArray_FROMANY(given, NPY_DOUBLE, 3, 3, NPY_ARRAY_ALIGNED);
    (void)module;
    if (!points) return NULL;
    PyArrayObject *found = NULL;
    const npy_intp *shape = PyArray_DIMS(points), *strides = PyArray_STRIDES(points);
    if (shape[2] == 3)
        found = (PyArrayObject *)PyArray_SimpleNew(1, shape, NPY_DOUBLE);
    else
        PyErr_SetString(PyExc_TypeError, "lengths: expected points (frames, n, 3)");
    for (npy_intp k = 0; found && k < shape[0]; k++)
        ((double *)PyArray_DATA(found))[k] = length_of(PyArray_BYTES(points) + k * strides[0], strides + 1, shape[1]);
    Py_DECREF((PyObject *)points);
    return (PyObject *)found;
}

/* How far the point goes that goes the farthest, from one row of points to the next. */
static double farthest_step(PyArrayObject *points, const char *from, int single) {
    const npy_intp *strides = PyArray_STRIDES(points);
    double most = 0;
    for (npy_intp n = 0; n < PyArray_DIM(points, 1); n++, from += strides[1]) {
        double far, way[3];
        for (int axis = 0; axis < 3; axis++) {
            const char *at = from + axis * strides[2];
            way[axis] = number_at(at + strides[0], single) - number_at(at, single);
        }
        if (single) { /* every product and sum is rounded, as arrays of these are */
            const float x = (float)way[0], y = (float)way[1], z = (float)way[2];
            far = sqrtf(x * x + y * y + z * z);
        } else
            far = sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
        most = far <= most || most != most ? most : far;
    }
    return most;
}

static PyObject *steps(PyObject *module, PyObject *given) {
    PyArrayObject *points = points_of("steps", given, 3);
    (void)module;
    if (!points) return NULL;
    const int single = holds(points, NPY_FLOAT);
    npy_intp frames = PyArray_DIM(points, 0), count = frames + 1;
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(1, &count, PyArray_TYPE(points));
    for (npy_intp k = 0; found && k < count; k++) {
        const npy_intp from = k == 0 ? 0 : k < frames ? k - 1 : frames - 2; /* before the first as after it */
        const char *row = PyArray_BYTES(points) + from * PyArray_STRIDE(points, 0);
        put(found, k, frames > 1 ? farthest_step(points, row, single) : 0, single);
    }
    Py_DECREF((PyObject *)points);
    return (PyObject *)found;
}

/* In how many frames a point has moved slowly since the one before, and those in which it has not moved along the
 * ground. */
static PyObject *rests(PyObject *module, PyObject *args) {
    PyObject *given;
    int axis;
    double fps, slow, exact;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oiddd", &given, &axis, &fps, &slow, &exact)) return NULL;
    PyArrayObject *points = doubles_of(given);
    if (!points) return NULL;
    if (PyArray_NDIM(points) != 2 || PyArray_DIM(points, 1) != 3 || axis < 0 || axis > 2) {
        PyErr_SetString(PyExc_TypeError, "rests: expected points (frames, 3), and which axis is up");
        Py_DECREF((PyObject *)points);
        return NULL;
    }
    const double (*at)[3] = PyArray_DATA(points);
    npy_intp many = 0, count = 0, most = PyArray_DIM(points, 0), *frames = malloc(((size_t)most + 1) * sizeof *frames);
    for (npy_intp k = 1; frames && k < most; k++) {
        double way[3] = {at[k][0] - at[k - 1][0], at[k][1] - at[k - 1][1], at[k][2] - at[k - 1][2]};
        const int slowly = three_size(way) * fps < slow;
        way[axis] = 0, many += slowly;
        if (slowly && three_size(way) <= exact) frames[count++] = k;
    }
    PyArrayObject *found = frames ? (PyArrayObject *)PyArray_SimpleNew(1, &count, NPY_INTP) : NULL;
    if (found && count) memcpy(PyArray_DATA(found), frames, (size_t)count * sizeof *frames);
    if (!frames) PyErr_NoMemory();
    free(frames);
    Py_DECREF((PyObject *)points);
    return found ? Py_BuildValue("(nN)", many, found) : NULL;
}

/* The squares of lengths of a row of points, where they are larger than what was found; NaN once one is. */
static inline void keep_longest(PyArrayObject *points, const char *from, int single, double *found) {
    const npy_intp *strides = PyArray_STRIDES(points);
    for (npy_intp n = 0; n < PyArray_DIM(points, 1); n++, from += strides[1]) {
        const double x = number_at(from, single), y = number_at(from + strides[2], single);
        const double z = number_at(from + 2 * strides[2], single);
        const float u = (float)x, v = (float)y, w = (float)z; /* as in farthest_step */
        const double square = single ? u * u + v * v + w * w : x * x + y * y + z * z;
        found[n] = square <= found[n] || found[n] != found[n] ? found[n] : square;
    }
}

static PyObject *longest(PyObject *module, PyObject *given) {
    PyArrayObject *points = points_of("longest", given, 3);
    (void)module;
    if (!points) return NULL;
    const int single = holds(points, NPY_FLOAT);
    npy_intp count = PyArray_DIM(points, 1);
    double *squares = calloc((size_t)count + 1, sizeof *squares);
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(1, &count, PyArray_TYPE(points));
    for (npy_intp k = 0; squares && k < PyArray_DIM(points, 0); k++) {
        const char *row = PyArray_BYTES(points) + k * PyArray_STRIDE(points, 0);
        if (single)
            keep_longest(points, row, 1, squares);
        else
            keep_longest(points, row, 0, squares);
    }
    for (npy_intp n = 0; squares && found && n < count; n++)
        put(found, n, single ? sqrtf((float)squares[n]) : sqrt(squares[n]), single);
    if (!squares) {
        PyErr_NoMemory();
        Py_CLEAR(found);
    }
    free(squares);
    Py_DECREF((PyObject *)points);
    return (PyObject *)found;
}

/* --- by their order ----------------------------------------------------------------------------------------------- */

/* Copies those that are finite, and returns how many these are. */
static npy_intp take_finite(const double *values, npy_intp count, double *found) {
    npy_intp kept = 0;
    for (npy_intp k = 0; k < count; k++)
        found[kept] = values[k], kept += isfinite(values[k]) != 0;
    return kept;
}

/* A copy of those that are finite. NULL with an exception set. */
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

/* Of values (n) those of every interval. */
static PyObject *medians(PyObject *module, PyObject *args) {
    PyObject *given[2];
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &given[0], &given[1])) return NULL;
    PyArrayObject *values = (PyArrayObject *)PyArray_FROMANY(given[0], NPY_DOUBLE, 1, 1, NPY_ARRAY_CARRAY_RO);
    PyArrayObject *edges =
        values ? (PyArrayObject *)PyArray_FROMANY(given[1], NPY_INTP, 2, 2, NPY_ARRAY_CARRAY_RO) : NULL;
    npy_intp count = values ? PyArray_SIZE(values) : 0, groups = edges ? PyArray_DIM(edges, 0) : 0;
    double *work = malloc(((size_t)count + 1) * sizeof *work);
    PyArrayObject *found = work && edges ? (PyArrayObject *)PyArray_SimpleNew(1, &groups, NPY_DOUBLE) : NULL;
    if (!work) PyErr_NoMemory();
    for (npy_intp k = 0; found && k < groups; k++) {
        const npy_intp *edge = (const npy_intp *)PyArray_DATA(edges) + 2 * k;
        if (PyArray_DIM(edges, 1) != 2 || edge[0] < 0 || edge[1] <= edge[0] || edge[1] > count) {
            PyErr_SetString(PyExc_ValueError, "medians: expected intervals of the values, none of them empty");
            Py_CLEAR(found);
            break;
        }
        const size_t many = (size_t)(edge[1] - edge[0]);
        memcpy(work, (const double *)PyArray_DATA(values) + edge[0], many * sizeof *work);
        ((double *)PyArray_DATA(found))[k] = ik_median(work, edge[1] - edge[0]);
    }
    free(work);
    Py_XDECREF((PyObject *)values);
    Py_XDECREF((PyObject *)edges);
    return (PyObject *)found;
}

static PyObject *middle(PyObject *module, PyObject *values) {
    npy_intp count;
    (void)module;
    double *known = finite_of(values, &count);
    if (!known) return NULL;
    const double found = count ? ik_ranked(known, count, count / 2) : 0;
    free(known);
    return PyFloat_FromDouble(found);
}

/* The size of the differences of some order between numbers that are so many apart, as many as they fill. */
static npy_intp differ(const double *first, npy_intp count, npy_intp apart, npy_intp order, double *found) {
    for (npy_intp k = 0; k < count; k++)
        found[k] = first[k * apart];
    for (npy_intp left = order; left > 0; left--, count--)
        for (npy_intp k = 1; k < count; k++)
            found[k - 1] = found[k] - found[k - 1];
    for (npy_intp k = 0; k < count; k++)
        found[k] = fabs(found[k]);
    return count;
}

static PyObject *usual_difference(PyObject *module, PyObject *args) {
    PyObject *given;
    Py_ssize_t order;
    ik_path path;
    (void)module;
    if (!PyArg_ParseTuple(args, "On", &given, &order)) return NULL;
    PyArrayObject *rows = rows_of(given, 0, &path);
    if (!rows) return NULL;
    npy_intp columns = path.columns;
    PyArrayObject *found = NULL;
    double *work = malloc((size_t)path.frames * sizeof *work);
    if (order < 0 || order >= path.frames)
        PyErr_SetString(PyExc_ValueError, "usual_difference: expected more rows than their differences have orders");
    else if (!work)
        PyErr_NoMemory();
    else
        found = (PyArrayObject *)PyArray_SimpleNew(1, &columns, NPY_DOUBLE);
    for (npy_intp k = 0; found && k < columns; k++) {
        const npy_intp count = differ(path.rows + k, path.frames, columns, order, work);
        ((double *)PyArray_DATA(found))[k] = ik_ranked(work, count, count / 2);
    }
    free(work);
    Py_DECREF((PyObject *)rows);
    return (PyObject *)found;
}

static PyMethodDef functions[] = {
    {"prolonged", prolonged, METH_VARARGS,
     "prolonged(rows, more, loop, /)\n--\n\nSo many rows more at both ends: a loop goes on, others turn about there."},
    {"straight", straight, METH_VARARGS,
     "straight(times, knots, values, /)\n--\n\nValues between knots that ascend, beyond them as at the last one."},
    {"ramp", ramp, METH_VARARGS,
     "ramp(held, frames, loop, /)\n--\n\nFrom 0 to 1 within so many frames about the edges of a mask, or of each "
     "of several."},
    {"extent", extent, METH_VARARGS,
     "extent(points, which=None, /)\n--\n\nHow far apart points (..., n, 3) are along each axis, or some of them."},
    {"lengths", lengths, METH_O,
     "lengths(points, /)\n--\n\nHow long chains of points (frames, n, 3) are, from the first one to the last."},
    {"steps", steps, METH_O,
     "steps(points, /)\n--\n\nOf points (frames, n, 3) how far the one goes that goes the farthest, from before the "
     "first frame, as after it, to after the last one; 0 in a single frame."},
    {"rests", rests, METH_VARARGS,
     "rests(points, axis, fps, slow, exact, /)\n--\n\nIn how many frames a point is slower than that; and those of "
     "them "
     "in which it has moved by no more than that since the one before, but along an axis."},
    {"longest", longest, METH_O,
     "longest(vectors, /)\n--\n\nOf vectors (frames, n, 3) how long each of n is at most; 0 in no frame, NaN where it "
     "is once."},
    {"percentile", percentile, METH_VARARGS,
     "percentile(values, percent, /)\n--\n\nOf those that are finite; NaN of none."},
    {"medians", medians, METH_VARARGS,
     "medians(values, edges, /)\n--\n\nOf the values of every interval, from its first one to that after it."},
    {"usual_difference", usual_difference, METH_VARARGS,
     "usual_difference(rows, order, /)\n--\n\nOf the sizes of differences of some order the one in the middle, of "
     "every "
     "column."},
    {"middle", middle, METH_O, "middle(values, /)\n--\n\nOf those that are finite; 0 of none. One of them."},
    {NULL, NULL, 0, NULL},
};

int add_paths(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
