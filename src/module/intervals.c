/* Intervals of frames, as Python functions: masks are contiguous arrays (frames,) of bool, or those of several points,
 * one after the other. */
#include "module.h"

#include "numpy_api.h"

#include "../ik/intervals.h"

static PyArrayObject *mask_of(PyObject *object, int axes) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_Check(object) && holds(array, NPY_BOOL) && PyArray_NDIM(array) >= 1 && PyArray_NDIM(array) <= axes &&
        PyArray_IS_C_CONTIGUOUS(array))
        return array;
    PyErr_SetString(PyExc_TypeError, "expected True and False, one a frame, in one block");
    return NULL;
}

static PyObject *intervals(PyObject *module, PyObject *object) {
    PyArrayObject *mask = mask_of(object, 1);
    (void)module;
    if (!mask) return NULL;
    npy_intp shape[2] = {ik_intervals(PyArray_DATA(mask), PyArray_DIM(mask, 0), NULL), 2};
    PyArrayObject *edges = (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_INTP);
    if (edges) ik_intervals(PyArray_DATA(mask), PyArray_DIM(mask, 0), PyArray_DATA(edges));
    return (PyObject *)edges;
}

static PyObject *contact(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { STAYS, ENTERS, GAP, LEAST, ARGUMENTS };
    ik_contact_job job = {0};
    (void)module;
    if (given != ARGUMENTS) {
        PyErr_SetString(PyExc_TypeError, "contact: expected two masks and two numbers of frames");
        return NULL;
    }
    PyArrayObject *stays = mask_of(args[STAYS], 2), *enters = stays ? mask_of(args[ENTERS], 2) : NULL;
    if (!enters) return NULL;
    const int axes = PyArray_NDIM(stays);
    job.gap = PyFloat_AsDouble(args[GAP]), job.least = PyFloat_AsDouble(args[LEAST]);
    if (PyErr_Occurred()) return NULL;
    if (PyArray_NDIM(enters) != axes || !PyArray_CompareLists(PyArray_DIMS(enters), PyArray_DIMS(stays), axes)) {
        PyErr_SetString(PyExc_TypeError, "contact: expected as many points and frames in both masks");
        return NULL;
    }
    PyArrayObject *held = (PyArrayObject *)PyArray_SimpleNew(axes, PyArray_DIMS(stays), NPY_BOOL);
    if (!held) return NULL;
    job.count = PyArray_DIM(stays, axes - 1);
    for (npy_intp at = 0; at < PyArray_SIZE(stays); at += job.count) {
        job.stays = (const npy_bool *)PyArray_DATA(stays) + at,
        job.enters = (const npy_bool *)PyArray_DATA(enters) + at;
        job.held = (npy_bool *)PyArray_DATA(held) + at;
        ik_contact(&job);
    }
    return (PyObject *)held;
}

PyMethodDef intervals_functions[] = {
    {"intervals", intervals, METH_O, "intervals(mask, /)\n--\n\nOf each its first frame, and the first one after it."},
    {"contact", (PyCFunction)(void (*)(void))contact, METH_FASTCALL,
     "contact(stays, enters, gap, least, /)\n--\n\nFrom the first to the last frame of the second in each interval of "
     "the first; no short gaps, then no short contacts."},
    {NULL, NULL, 0, NULL},
};
