/* Frames in which something holds, as functions of Python: masks are arrays (frames,) of bool in one block. */
#include "intervals.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include "../ik/intervals.h"
#include "arrays.h"

static PyArrayObject *mask_of(PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_Check(object) && holds(array, NPY_BOOL) && PyArray_NDIM(array) == 1 && PyArray_IS_C_CONTIGUOUS(array))
        return array;
    PyErr_SetString(PyExc_TypeError, "expected True and False, one a frame, in one block");
    return NULL;
}

static PyObject *intervals(PyObject *module, PyObject *object) {
    PyArrayObject *mask = mask_of(object);
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
    PyArrayObject *stays = mask_of(args[STAYS]), *enters = stays ? mask_of(args[ENTERS]) : NULL;
    if (!enters) return NULL;
    npy_intp count = PyArray_DIM(stays, 0);
    job.count = count, job.gap = PyFloat_AsDouble(args[GAP]), job.least = PyFloat_AsDouble(args[LEAST]);
    if (PyErr_Occurred()) return NULL;
    if (PyArray_DIM(enters, 0) != count) {
        PyErr_SetString(PyExc_TypeError, "contact: expected as many frames in both masks");
        return NULL;
    }
    PyArrayObject *held = (PyArrayObject *)PyArray_SimpleNew(1, &count, NPY_BOOL);
    if (!held) return NULL;
    job.stays = PyArray_DATA(stays), job.enters = PyArray_DATA(enters), job.held = PyArray_DATA(held);
    ik_contact(&job);
    return (PyObject *)held;
}

static PyMethodDef functions[] = {
    {"intervals", intervals, METH_O, "intervals(mask, /)\n--\n\nOf each its first frame, and the first one after it."},
    {"contact", (PyCFunction)(void (*)(void))contact, METH_FASTCALL,
     "contact(stays, enters, gap, least, /)\n--\n\nFrom the first to the last frame of the second in each interval of "
     "the first; no short gaps, then no short contacts."},
    {NULL, NULL, 0, NULL},
};

int add_intervals(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
