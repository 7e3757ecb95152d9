/* Products and lengths of vectors (..., 3), in one pass and in a fixed order: NumPy needs four passes and as many
 * arrays. Also the largest distance between points.
 *
 * Vectors are contiguous doubles, as many on both sides, or one for all. For anything else the result is None, and
 * ikcore/_arrays.py uses NumPy, with the same bits. */
#include "module.h"

#include "numpy_api.h"

#include <stdlib.h>

#include "../ik/feet/sole_fit.h"

/* Contiguous vectors; the stride of a single one for all is 0. */
typedef struct {
    PyArrayObject *array;
    const char *at;
    npy_intp count, stride, step;
} vectors;

/* Whether C can iterate over it. */
static int read_vectors(PyObject *object, vectors *v) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || !holds(array, NPY_DOUBLE) || !PyArray_ISBEHAVED_RO(array)) return 0;
    int axes = PyArray_NDIM(array);
    if (axes < 1 || PyArray_DIM(array, axes - 1) != 3 || (axes > 2 && !PyArray_IS_C_CONTIGUOUS(array))) return 0;
    *v = (vectors){array, PyArray_BYTES(array), PyArray_SIZE(array) / 3, 0, PyArray_STRIDE(array, axes - 1)};
    if (axes == 2) v->stride = PyArray_STRIDE(array, 0);
    if (axes > 2) v->stride = 3 * v->step; /* an axis of length 1 may say anything */
    return 1;
}

static int same_shape(PyArrayObject *a, PyArrayObject *b) {
    return PyArray_NDIM(a) == PyArray_NDIM(b) &&
           PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

/* The operand whose shape the result has, NULL if neither has it. */
static vectors *wider(vectors *a, vectors *b) {
    if (PyArray_NDIM(b->array) == 1 || same_shape(a->array, b->array)) return a;
    return PyArray_NDIM(a->array) == 1 ? b : NULL;
}

static double part(const vectors *v, npy_intp row, int axis) {
    return *(const double *)(v->at + row * v->stride + axis * v->step);
}

static double product(const vectors *a, const vectors *b, npy_intp row) {
    double sum = part(a, row, 0) * part(b, row, 0) + part(a, row, 1) * part(b, row, 1);
    return sum + part(a, row, 2) * part(b, row, 2);
}

/* An array of the shape of the vectors, with some axes less. */
static PyArrayObject *empty(const vectors *shape, int less) {
    PyArrayObject *array = shape->array;
    return (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(array) - less, PyArray_DIMS(array), NPY_DOUBLE);
}

/* The wider of two vectors; NULL if these are no two vectors that fit each other. */
static vectors *read_both(PyObject *const *args, Py_ssize_t given, vectors *a, vectors *b) {
    return given == 2 && read_vectors(args[0], a) && read_vectors(args[1], b) ? wider(a, b) : NULL;
}

static PyObject *dot(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    (void)module;
    vectors a, b, *shape = read_both(args, given, &a, &b);
    if (!shape) Py_RETURN_NONE;
    PyArrayObject *found = empty(shape, 1);
    if (!found) return NULL;
    double *to = PyArray_DATA(found);
    for (npy_intp row = 0; row < shape->count; row++)
        to[row] = product(&a, &b, row);
    return PyArray_Return(found);
}

static PyObject *size(PyObject *module, PyObject *object) {
    vectors a;
    (void)module;
    if (!read_vectors(object, &a)) Py_RETURN_NONE;
    PyArrayObject *found = empty(&a, 1);
    if (!found) return NULL;
    double *to = PyArray_DATA(found);
    for (npy_intp row = 0; row < a.count; row++)
        to[row] = __builtin_sqrt(product(&a, &a, row));
    return PyArray_Return(found);
}

static PyObject *cross(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    (void)module;
    vectors a, b, *shape = read_both(args, given, &a, &b);
    if (!shape) Py_RETURN_NONE;
    PyArrayObject *found = empty(shape, 0);
    if (!found) return NULL;
    double *to = PyArray_DATA(found);
    for (npy_intp row = 0; row < shape->count; row++, to += 3) {
        const double x = part(&a, row, 0), y = part(&a, row, 1), z = part(&a, row, 2);
        const double u = part(&b, row, 0), v = part(&b, row, 1), w = part(&b, row, 2);
        to[0] = y * w - z * v, to[1] = z * u - x * w, to[2] = x * v - y * u;
    }
    return (PyObject *)found;
}

/* Coordinates of a vector along three axes, rows from `first` on. */
static void along(const vectors *axes, npy_intp first, const vectors *ways, npy_intp row, double to[3]) {
    double sides[3][3], way[3];
    for (int axis = 0; axis < 3; axis++) {
        way[axis] = part(ways, row, axis);
        for (int side = 0; side < 3; side++)
            sides[side][axis] = part(axes, first + side, axis);
    }
    ik_within((const double (*)[3])sides, way, to);
}

/* Whether these are vectors (n, 3) and three axes each, rows of (n, 3, 3), or of (3, 3) for all. */
static int read_axes(PyObject *const *args, Py_ssize_t given, vectors *axes, vectors *ways) {
    const int read = given == 2 && read_vectors(args[0], axes) && read_vectors(args[1], ways);
    const int three = read && PyArray_NDIM(axes->array) > 1 && PyArray_NDIM(axes->array) < 4 && axes->count % 3 == 0 &&
                      PyArray_DIM(axes->array, PyArray_NDIM(axes->array) - 2) == 3 &&
                      (axes->count == 3 || axes->count == 3 * ways->count);
    if (three && PyArray_NDIM(ways->array) < 3) return 1;
    PyErr_SetString(PyExc_TypeError, "expected axes (n, 3, 3), or one (3, 3), and ways (n, 3) of doubles");
    return 0;
}

static PyObject *within(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    vectors axes, ways;
    (void)module;
    if (!read_axes(args, given, &axes, &ways)) return NULL;
    PyArrayObject *found = empty(&ways, 0);
    double *to = found ? PyArray_DATA(found) : NULL;
    for (npy_intp row = 0; found && row < ways.count; row++)
        along(&axes, axes.count == 3 ? 0 : 3 * row, &ways, row, to + 3 * row);
    return (PyObject *)found;
}

/* Whether the volume of axes, columns of (..., 3, 3), is at least this share of the cube of the longest. */
static PyObject *solid(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    const double least = given == 2 ? PyFloat_AsDouble(args[1]) : 0;
    (void)module;
    if (given != 2) PyErr_SetString(PyExc_TypeError, "solid: expected axes, and a share");
    PyArrayObject *axes =
        PyErr_Occurred() ? NULL : (PyArrayObject *)PyArray_FROMANY(args[0], NPY_DOUBLE, 2, 0, NPY_ARRAY_CARRAY_RO);
    if (!axes) return NULL;
    const int many = PyArray_NDIM(axes);
    PyArrayObject *found = NULL;
    if (PyArray_DIM(axes, many - 1) != 3 || PyArray_DIM(axes, many - 2) != 3)
        PyErr_SetString(PyExc_TypeError, "solid: expected axes (..., 3, 3)");
    else
        found = (PyArrayObject *)PyArray_SimpleNew(many - 2, PyArray_DIMS(axes), NPY_BOOL);
    const double (*row)[3] = PyArray_DATA(axes);
    for (npy_intp k = 0; found && k < PyArray_SIZE(found); k++, row += 3) {
        const double *a = row[0], *b = row[1], *c = row[2]; /* of each axis the first number, the second, the third */
        double longest = 0;
        for (int axis = 0; axis < 3; axis++) {
            const double far = __builtin_sqrt(a[axis] * a[axis] + b[axis] * b[axis] + c[axis] * c[axis]);
            longest = far > longest ? far : longest;
        }
        const double volume = a[0] * (b[1] * c[2] - c[1] * b[2]) + b[0] * (c[1] * a[2] - a[1] * c[2]) +
                              c[0] * (a[1] * b[2] - b[1] * a[2]);
        ((npy_bool *)PyArray_DATA(found))[k] =
            longest > 0 && (volume < 0 ? -volume : volume) > least * longest * longest * longest;
    }
    Py_DECREF((PyObject *)axes);
    return found ? PyArray_Return(found) : NULL;
}

/* --- the largest distance ----------------------------------------------------------------------------------------- */

/* A point, and its distance from a centre near all of them. */
typedef struct {
    double radius, at[3];
} outlier;

static double apart(const double *a, const double *b) {
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return __builtin_sqrt(x * x + y * y + z * z);
}

static int outer_first(const void *a, const void *b) {
    const double first = ((const outlier *)a)->radius, second = ((const outlier *)b)->radius;
    return (first < second) - (first > second);
}

/* The largest distance between two of some points; NaN if one is NaN. Two points whose radii add up to no more than the
 * distance found so far need no test, so that usually few pairs are tested. */
static double widest_of(const double (*points)[3], npy_intp count, outlier *outer) {
    const double *middle = points[count / 2], *farthest = middle;
    double radius = 0, found = 0;
    npy_intp kept = 0;
    for (npy_intp k = 0; k < count; k++) {
        const double far = apart(points[k], middle);
        if (!(far >= 0)) return far;
        if (far > radius) radius = far, farthest = points[k];
    }
    for (npy_intp k = 0; k < count; k++) {
        const double far = apart(points[k], farthest);
        if (far > found) found = far;
    }
    for (npy_intp k = 0; k < count; k++) {
        const double far = apart(points[k], middle);
        if (far >= found - radius) outer[kept++] = (outlier){far, {points[k][0], points[k][1], points[k][2]}};
    }
    qsort(outer, (size_t)kept, sizeof *outer, outer_first);
    for (npy_intp first = 0; first < kept; first++) {
        for (npy_intp k = first + 1; k < kept && outer[k].radius >= found - outer[first].radius; k++) {
            const double far = apart(outer[k].at, outer[first].at);
            if (far > found) found = far;
        }
    }
    return found;
}

/* Points (n, 3) of several groups, one after the other, and where each ends. */
static PyObject *widest(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    vectors points;
    (void)module;
    if (given != 2 || !read_vectors(args[0], &points) || PyArray_NDIM(points.array) != 2 ||
        !PyArray_IS_C_CONTIGUOUS(points.array)) {
        PyErr_SetString(PyExc_TypeError, "widest: expected points (n, 3), doubles in one block, and where groups end");
        return NULL;
    }
    PyArrayObject *ends = (PyArrayObject *)PyArray_FROMANY(args[1], NPY_INTP, 1, 1, NPY_ARRAY_CARRAY_RO);
    if (!ends) return NULL;
    npy_intp groups = PyArray_DIM(ends, 0), start = 0;
    const npy_intp *end = PyArray_DATA(ends);
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(1, &groups, NPY_DOUBLE);
    outlier *outer = malloc((size_t)(points.count + 1) * sizeof *outer);
    if (found && !outer) PyErr_NoMemory();
    for (npy_intp k = 0; k < groups && found && outer; start = end[k++]) {
        if (end[k] <= start || end[k] > points.count) {
            PyErr_SetString(PyExc_ValueError, "widest: expected ends that ascend, within the points");
            Py_CLEAR(found);
            break;
        }
        const double (*at)[3] = PyArray_DATA(points.array);
        ((double *)PyArray_DATA(found))[k] = widest_of(at + start, end[k] - start, outer);
    }
    if (!outer) Py_CLEAR(found);
    free(outer);
    Py_DECREF(ends);
    return (PyObject *)found;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

PyMethodDef vectors_functions[] = {
    {"dot", FAST(dot), "dot(a, b, /)\n--\n\nProducts of vectors (..., 3); None where NumPy must do it."},
    {"size", size, METH_O, "size(a, /)\n--\n\nLengths of vectors (..., 3); None where NumPy must do it."},
    {"cross", FAST(cross), "cross(a, b, /)\n--\n\nVectors (..., 3) at right angles; None where NumPy must do it."},
    {"within", FAST(within),
     "within(axes, ways, /)\n--\n\nWhat ways (n, 3) are along axes (n, 3, 3), or the same (3, 3)."},
    {"solid", FAST(solid), "solid(axes, least, /)\n--\n\nWhether axes, columns of (..., 3, 3), span some volume."},
    {"widest", FAST(widest),
     "widest(points, ends, /)\n--\n\nThe largest distance between two points of a group, for every group: points (n, "
     "3) "
     "one group after the other, and where each ends."},
    {NULL, NULL, 0, NULL},
};
