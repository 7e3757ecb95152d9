/* What a foot that swings has to get over, as functions of Python (ikcore/bake/way.py). Arrays are doubles in one
 * block. */
#include "obstacles.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include "../ik/obstacles.h"
#include "arrays.h"

/* The numbers of an array of a shape, of which -1 is any and what comes after a 0 is not there; NULL with an exception
 * set. */
static void *numbers_of(const char *name, PyObject *object, int type, npy_intp a, npy_intp b, npy_intp c) {
    PyArrayObject *array = (PyArrayObject *)object;
    const npy_intp shape[3] = {a, b, c};
    const int axes = c ? 3 : b ? 2 : 1;
    int fits = PyArray_Check(object) && holds(array, type) && PyArray_NDIM(array) == axes &&
               PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array);
    for (int axis = 0; fits && axis < axes; axis++)
        fits = shape[axis] < 0 || PyArray_DIM(array, axis) == shape[axis];
    if (fits) return PyArray_DATA(array);
    PyErr_Format(PyExc_TypeError, "%s: an array does not fit the job", name);
    return NULL;
}

static npy_intp size_of(PyObject *object, int axis) {
    return PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) > axis
               ? PyArray_DIM((PyArrayObject *)object, axis)
               : 0;
}

static PyObject *farther(PyObject *module, PyObject *args) {
    PyObject *points, *origins, *which;
    double by;
    int axis;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOdi", &points, &origins, &which, &by, &axis)) return NULL;
    const npy_intp frames = size_of(points, 0), each = size_of(points, 1), count = size_of(which, 0);
    double (*at)[3] = numbers_of("farther", points, NPY_DOUBLE, -1, -1, 3);
    const double (*from)[3] = at ? numbers_of("farther", origins, NPY_DOUBLE, frames, 3, 0) : NULL;
    const npy_intp *those = from ? numbers_of("farther", which, NPY_INTP, -1, 0, 0) : NULL;
    if (!those) return NULL;
    int fits = axis >= 0 && axis < 3 && by != 0 && PyArray_ISWRITEABLE((PyArrayObject *)points);
    for (npy_intp k = 0; k < count; k++)
        fits &= those[k] >= 0 && those[k] < each;
    if (!fits) {
        PyErr_SetString(PyExc_TypeError, "farther: expected points that there are, some way, and an axis");
        return NULL;
    }
    ik_farther(at, from, frames, each, those, count, by, axis);
    Py_RETURN_NONE;
}

static PyObject *swept(PyObject *module, PyObject *args) {
    PyObject *heights;
    double riser;
    (void)module;
    if (!PyArg_ParseTuple(args, "Od", &heights, &riser)) return NULL;
    npy_intp shape[2] = {size_of(heights, 0), size_of(heights, 1)};
    const double *high = numbers_of("swept", heights, NPY_DOUBLE, -1, shape[1] ? shape[1] : -1, 0);
    PyObject *found = high ? PyArray_SimpleNew(2, shape, NPY_DOUBLE) : NULL;
    if (found) ik_swept(high, shape[0], shape[1], riser, PyArray_DATA((PyArrayObject *)found));
    return found;
}

static PyObject *lack(PyObject *module, PyObject *args) {
    PyObject *heights, *points, *above, *thick;
    ik_lack_job job = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOiddnd", &heights, &points, &above, &thick, &job.axis, &job.clearance, &job.dips,
                          &job.toe, &job.bends))
        return NULL;
    npy_intp frames = job.frames = size_of(points, 0);
    job.each = size_of(points, 1);
    if (job.axis < 0 || job.axis > 2 || job.toe < -1 || job.toe >= job.each || !job.each) {
        PyErr_SetString(PyExc_TypeError, "lack: the points, the axis or the toe do not fit the job");
        return NULL;
    }
    if (!(job.points = numbers_of("lack", points, NPY_DOUBLE, frames, job.each, 3)) ||
        !(job.heights = numbers_of("lack", heights, NPY_DOUBLE, frames, job.each, 0)) ||
        !(job.above = numbers_of("lack", above, NPY_DOUBLE, frames, job.each, 0)) ||
        !(job.thick = numbers_of("lack", thick, NPY_DOUBLE, job.each, 0, 0)))
        return NULL;
    PyObject *found = PyArray_SimpleNew(1, &frames, NPY_DOUBLE);
    if (!found) return NULL;
    job.found = PyArray_DATA((PyArrayObject *)found);
    ik_lack(&job);
    return found;
}

static PyObject *nearer(PyObject *module, PyObject *args) {
    PyObject *swings;
    Py_ssize_t frames;
    double fps, beyond;
    (void)module;
    if (!PyArg_ParseTuple(args, "Ondd", &swings, &frames, &fps, &beyond)) return NULL;
    const npy_intp count = size_of(swings, 0);
    const npy_intp(*each)[2] = numbers_of("nearer", swings, NPY_INTP, -1, 2, 0);
    if (!each) return NULL;
    int fits = frames >= 0 && fps > 0;
    for (npy_intp k = 0; k < count; k++)
        fits &= each[k][0] >= 0 && each[k][0] <= each[k][1] && each[k][1] <= frames;
    if (!fits) {
        PyErr_SetString(PyExc_TypeError, "nearer: expected swings within the frames");
        return NULL;
    }
    npy_intp shape = frames;
    PyObject *near = PyArray_SimpleNew(1, &shape, NPY_DOUBLE);
    if (near) ik_nearer(each, count, frames, fps, beyond, PyArray_DATA((PyArrayObject *)near));
    return near;
}

static PyMethodDef functions[] = {
    {"farther", farther, METH_VARARGS,
     "farther(points, origins, which, by, axis, /)\n--\n\nMoves some of the points (frames, n, 3) away from the origin "
     "of each frame, horizontally."},
    {"swept", swept, METH_VARARGS,
     "swept(heights, riser, /)\n--\n\nHeights (frames, n); what is higher by so much in a frame beside is there "
     "already."},
    {"lack", lack, METH_VARARGS,
     "lack(heights, points, above, thick, axis, clearance, dips, toe, bends, /)\n--\n\nHow much too low a foot is in "
     "every frame, by the point that is so the most; NaN over no ground."},
    {"nearer", nearer, METH_VARARGS,
     "nearer(swings, frames, fps, beyond, /)\n--\n\nHow many seconds frames are from the nearer end of their swing."},
    {NULL, NULL, 0, NULL},
};

int add_obstacles(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
