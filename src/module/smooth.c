/* Curves over whole clips as a function of Python.
 *
 * Arrays must fit: doubles, one channel a row, a number of every frame in it. ikcore/clips/smoothing.py makes them fit
 * and says what does not. Runs without the GIL, and ends soon after Ctrl-C. */
#include "smooth.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include <stdlib.h>

#include "arrays.h"
#include "ik.h"
#include "listener.h"

/* An array with so many axes: (channels, frames) or (channels). NULL with an exception set. */
static PyArrayObject *channels_of(const char *name, PyObject *object, int type, int axes, const npy_intp *shape) {
    PyArrayObject *array = (PyArrayObject *)object;
    int fits =
        PyArray_Check(object) && PyArray_NDIM(array) == axes && holds(array, type) && PyArray_ISBEHAVED_RO(array);
    for (int axis = 0; fits && axis < axes; axis++)
        fits = PyArray_DIM(array, axis) == shape[axis];
    if (fits) return array;
    PyErr_Format(PyExc_TypeError, "smooth: %s does not fit the job", name);
    return NULL;
}

static int take_lists(ik_lists *lists, const char *name, PyObject *object, const npy_intp *shape) {
    if (object == Py_None) return 0;
    PyArrayObject *array = channels_of(name, object, NPY_DOUBLE, 2, shape);
    if (!array) return -1;
    *lists = (ik_lists){.rows = {.data = PyArray_DATA(array), .stride = PyArray_STRIDE(array, 0)},
                        .next = PyArray_STRIDE(array, 1),
                        .count = shape[1]};
    return 0;
}

static int take_rows(ik_rows *rows, const char *name, PyObject *object, const npy_intp *shape) {
    PyArrayObject *array = channels_of(name, object, NPY_INT32, 1, shape);
    if (!array) return -1;
    *rows = (ik_rows){.data = PyArray_DATA(array), .stride = PyArray_STRIDE(array, 0)};
    return 0;
}

/* byte: see listener. */
static int run(ik_smooth_job *job, npy_intp channels, const char *byte) {
    char *memory = malloc(ik_smooth_scratch(job) + 64);
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
    PyObject *wanted, *lower, *upper, *pull, *values, *status, *iterations, *stop = NULL;
    ik_smooth_job job = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OOOddpO!O!O!|O!", &PyArray_Type, &wanted, &lower, &upper, &pull, &job.fps,
                          &job.tension, &job.loop, &PyArray_Type, &values, &PyArray_Type, &status, &PyArray_Type,
                          &iterations, &PyByteArray_Type, &stop))
        return NULL;
    const npy_intp *shape = PyArray_DIMS((PyArrayObject *)wanted);
    if (PyArray_NDIM((PyArrayObject *)wanted) != 2 || !(job.fps > 0) || !(job.tension >= 0) ||
        !PyArray_ISWRITEABLE((PyArrayObject *)values) || !PyArray_ISWRITEABLE((PyArrayObject *)status) ||
        !PyArray_ISWRITEABLE((PyArrayObject *)iterations)) {
        PyErr_SetString(PyExc_TypeError, "smooth: wanted, fps, tension or an output does not fit the job");
        return NULL;
    }
    job.frames = shape[1];
    if (take_lists(&job.wanted, "wanted", wanted, shape) < 0 || take_lists(&job.lower, "lower", lower, shape) < 0 ||
        take_lists(&job.upper, "upper", upper, shape) < 0 || take_lists(&job.pull, "pull", pull, shape) < 0 ||
        take_lists(&job.values, "values", values, shape) < 0 || take_rows(&job.status, "status", status, shape) < 0 ||
        take_rows(&job.iterations, "iterations", iterations, shape) < 0)
        return NULL;
    if (run(&job, shape[0], stop && PyByteArray_Size(stop) > 0 ? PyByteArray_AsString(stop) : NULL) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"smooth", smooth, METH_VARARGS,
     "smooth(wanted, lower, upper, pull, fps, tension, loop, values, status, iterations, stop=..., /)\n--\n\n"
     "Writes the last three arrays. Ends before all is done where the first byte of stop, a bytearray, is set "
     "meanwhile."},
    {NULL, NULL, 0, NULL},
};

int add_smooth(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
