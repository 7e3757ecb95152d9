/* The ground under a clip that walks on the spot, as functions of Python (ikcore/feet/treadmill.py). */
#include "treadmill.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include <stdlib.h>

#include "../ik/treadmill.h"
#include "arrays.h"

static int fits(PyArrayObject *array, int type, int axes, const npy_intp *shape) {
    return holds(array, type) && PyArray_NDIM(array) == axes &&
           PyArray_CompareLists(PyArray_DIMS(array), shape, axes) && PyArray_ISBEHAVED_RO(array) &&
           PyArray_IS_C_CONTIGUOUS(array);
}

static PyObject *speeds(PyObject *module, PyObject *args) {
    PyArrayObject *velocities, *ground;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &velocities, &PyArray_Type, &ground)) return NULL;
    const npy_intp *shape = PyArray_NDIM(velocities) == 3 ? PyArray_DIMS(velocities) : (npy_intp[]){0, 0, 0};
    const npy_intp under[2] = {shape[0], 3}, sizes[2] = {shape[1], shape[0]};
    if (shape[2] != 3 || !fits(velocities, NPY_DOUBLE, 3, shape) || !fits(ground, NPY_DOUBLE, 2, under)) {
        PyErr_SetString(PyExc_TypeError,
                        "speeds: expected velocities (frames, points, 3), and of the ground (frames, 3)");
        return NULL;
    }
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(2, sizes, NPY_DOUBLE);
    if (found) ik_speeds(PyArray_DATA(velocities), PyArray_DATA(ground), shape[0], shape[1], PyArray_DATA(found));
    return (PyObject *)found;
}

/* Velocities, low, limits, body. Its memory is to be freed. 0, or -1 with an exception set. */
static int take_job(PyObject *const given[4], ik_treadmill_job *job) {
    PyArrayObject *arrays[4];
    for (int k = 0; k < 4; k++)
        arrays[k] = (PyArrayObject *)given[k];
    const npy_intp *shape = PyArray_NDIM(arrays[0]) == 3 ? PyArray_DIMS(arrays[0]) : (npy_intp[]){0, 0, 0};
    const npy_intp low[2] = {shape[1], shape[0]}, body[2] = {shape[0], 3};
    if (shape[2] != 3 || !fits(arrays[0], NPY_DOUBLE, 3, shape) || !fits(arrays[1], NPY_BOOL, 2, low) ||
        !fits(arrays[2], NPY_DOUBLE, 1, low) || !fits(arrays[3], NPY_DOUBLE, 2, body)) {
        PyErr_SetString(PyExc_TypeError,
                        "treadmill: expected velocities (frames, points, 3), when they are low (points, "
                        "frames), limits, and the body (frames, 3)");
        return -1;
    }
    job->frames = shape[0], job->points = shape[1];
    job->velocities = PyArray_DATA(arrays[0]), job->low = PyArray_DATA(arrays[1]);
    job->limits = PyArray_DATA(arrays[2]), job->body = PyArray_DATA(arrays[3]);
    job->work = malloc(((size_t)(shape[0] * shape[1]) * 8 + 1) * sizeof *job->work);
    if (job->work) return 0;
    PyErr_NoMemory();
    return -1;
}

static PyObject *belts(PyObject *module, PyObject *args) {
    PyObject *given[4], *firsts;
    ik_treadmill_job job = {0};
    Py_ssize_t frames;
    double fps;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!O!dOn", &PyArray_Type, &given[0], &PyArray_Type, &given[1], &PyArray_Type,
                          &given[2], &PyArray_Type, &given[3], &fps, &firsts, &frames) ||
        take_job(given, &job) < 0)
        return NULL;
    PyArrayObject *starts = (PyArrayObject *)PyArray_FROMANY(firsts, NPY_INTP, 1, 1, NPY_ARRAY_CARRAY_RO);
    npy_intp shape[2] = {starts ? PyArray_DIM(starts, 0) : 0, 3};
    PyArrayObject *found = starts ? (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_DOUBLE) : NULL;
    for (npy_intp k = 0; found && k < shape[0]; k++) {
        const npy_intp first = ((const npy_intp *)PyArray_DATA(starts))[k];
        if (frames < 1 || first < 0 || first > job.frames - frames) {
            PyErr_SetString(PyExc_ValueError, "belts: expected frames of those there are");
            Py_CLEAR(found);
        } else
            ik_belt(&job, first, frames, fps, (double *)PyArray_DATA(found) + 3 * k);
    }
    free(job.work);
    Py_XDECREF((PyObject *)starts);
    return (PyObject *)found;
}

static PyObject *slide(PyObject *module, PyObject *args) {
    PyObject *given[4];
    ik_treadmill_job job = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyArray_Type, &given[0], &PyArray_Type, &given[1], &PyArray_Type,
                          &given[2], &PyArray_Type, &given[3]) ||
        take_job(given, &job) < 0)
        return NULL;
    const double share = ik_slide(&job);
    free(job.work);
    return PyFloat_FromDouble(share);
}

static PyMethodDef functions[] = {
    {"speeds", speeds, METH_VARARGS,
     "speeds(velocities, ground, /)\n--\n\nHow fast points are relative to ground with velocities, (points, frames)."},
    {"belts", belts, METH_VARARGS,
     "belts(velocities, low, limits, body, fps, starts, frames, /)\n--\n\nThe velocity that most points have that are "
     "low, in so many frames from each start, where the body does not go along; else 0."},
    {"slide", slide, METH_VARARGS,
     "slide(velocities, low, limits, ways, /)\n--\n\nBy which share of the way of the body what is low and slow goes "
     "along; 0 where it moves otherwise."},
    {NULL, NULL, 0, NULL},
};

int add_treadmill(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
