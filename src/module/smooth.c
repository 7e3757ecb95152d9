/* Smooth curves over whole clips as a Python function.
 *
 * Arrays must have the right shape: doubles, a channel per row, a number per frame. Inputs may have one row or one
 * frame for all. ikcore/clips/smoothing.py makes them. Runs without the GIL, and ends soon after Ctrl-C. */
#include "module.h"

#include "numpy_api.h"

#include <stdlib.h>

#include "ik.h"
#include "interrupt.h"

static void *refused(const char *name) {
    PyErr_Format(PyExc_TypeError, "smooth: %s does not fit the job", name);
    return NULL;
}

static PyArrayObject *array_of(PyObject *object, int type, int axes) {
    PyArrayObject *array = (PyArrayObject *)object;
    int fits =
        PyArray_Check(object) && PyArray_NDIM(array) == axes && holds(array, type) && PyArray_ISBEHAVED_RO(array);
    return fits ? array : NULL;
}

/* Numbers of (channels, frames); if `shared`, an axis of length 1 is for all. */
static int take_lists(ik_lists *lists, const char *name, PyObject *object, const npy_intp *shape, int shared) {
    if (object == Py_None) return 0;
    PyArrayObject *array = array_of(object, NPY_DOUBLE, 2);
    ptrdiff_t strides[2];
    for (int axis = 0; array && axis < 2; axis++) {
        const int one = shared && PyArray_DIM(array, axis) == 1;
        strides[axis] = one ? 0 : PyArray_STRIDE(array, axis);
        if (!one && PyArray_DIM(array, axis) != shape[axis]) array = NULL;
    }
    if (!array) return refused(name), -1;
    *lists =
        (ik_lists){.rows = {.data = PyArray_DATA(array), .stride = strides[0]}, .next = strides[1], .count = shape[1]};
    return 0;
}

static int take_rows(ik_rows *rows, const char *name, PyObject *object, const npy_intp *shape) {
    PyArrayObject *array = array_of(object, NPY_INT32, 1);
    if (!array || PyArray_DIM(array, 0) != shape[0]) return refused(name), -1;
    *rows = (ik_rows){.data = PyArray_DATA(array), .stride = PyArray_STRIDE(array, 0)};
    return 0;
}

/* byte: see listener. */
static int run(ik_smooth_job *job, npy_intp channels, const char *byte) {
    char *memory = malloc(ik_smooth_scratch(job, channels) + 64);
    if (!memory) {
        PyErr_NoMemory();
        return -1;
    }
    listener ear = {.byte = byte};
    job->stop = listener_ask, job->context = &ear;
    ear.thread = PyEval_SaveThread();
    ik_smooth(job, 0, channels, memory + (64 - (uintptr_t)memory % 64));
    PyEval_RestoreThread(ear.thread);
    free(memory);
    return ear.raised ? -1 : 0;
}

static PyObject *smooth(PyObject *module, PyObject *args) {
    PyObject *wanted, *lower, *upper, *pull, *values, *status, *iterations, *stop = Py_None, *start = Py_None;
    ik_smooth_job job = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OOOddpO!O!O!|OO", &PyArray_Type, &wanted, &lower, &upper, &pull, &job.fps,
                          &job.tension, &job.loop, &PyArray_Type, &values, &PyArray_Type, &status, &PyArray_Type,
                          &iterations, &stop, &start))
        return NULL;
    const npy_intp *shape = PyArray_DIMS((PyArrayObject *)values);
    if (PyArray_NDIM((PyArrayObject *)values) != 2 || !(job.fps > 0) || !(job.tension >= 0) ||
        !PyArray_ISWRITEABLE((PyArrayObject *)values) || !PyArray_ISWRITEABLE((PyArrayObject *)status) ||
        !PyArray_ISWRITEABLE((PyArrayObject *)iterations)) {
        PyErr_SetString(PyExc_TypeError, "smooth: wanted, fps, tension or an output does not fit the job");
        return NULL;
    }
    job.frames = shape[1];
    if (take_lists(&job.wanted, "wanted", wanted, shape, 1) < 0 ||
        take_lists(&job.lower, "lower", lower, shape, 1) < 0 || take_lists(&job.upper, "upper", upper, shape, 1) < 0 ||
        take_lists(&job.pull, "pull", pull, shape, 1) < 0 || take_lists(&job.start, "start", start, shape, 1) < 0 ||
        take_lists(&job.values, "values", values, shape, 0) < 0 ||
        take_rows(&job.status, "status", status, shape) < 0 ||
        take_rows(&job.iterations, "iterations", iterations, shape) < 0)
        return NULL;
    if (stop != Py_None && !PyByteArray_Check(stop)) return refused("stop");
    const int stoppable = stop != Py_None && PyByteArray_Size(stop) > 0;
    if (run(&job, shape[0], stoppable ? PyByteArray_AsString(stop) : NULL) < 0) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef smooth_functions[] = {
    {"smooth", smooth, METH_VARARGS,
     "smooth(wanted, lower, upper, pull, fps, tension, loop, values, status, iterations, stop=..., start=..., "
     "/)\n--\n\n"
     "Writes values, status and iterations. Ends before all is done where the first byte of stop, a bytearray, is set "
     "meanwhile. start: a curve that is like the answer; the answer is the same."},
    {NULL, NULL, 0, NULL},
};
