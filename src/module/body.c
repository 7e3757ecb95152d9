/* How legs move the body, as functions of Python (ikcore/bake/body.py). */
#include "body.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include <limits.h>
#include <stdlib.h>

#include "../ik/body.h"
#include "arrays.h"

/* Doubles in one block, (frames, columns), or (frames) where columns is 0; -1: any number of frames. A list holds
 * the array until the call is done. NULL with an exception set. */
static const double *take(PyObject *held, const char *name, PyObject *object, npy_intp frames, npy_intp columns) {
    PyObject *found = PyArray_FROMANY(object, NPY_DOUBLE, 1, 2, NPY_ARRAY_CARRAY_RO);
    PyArrayObject *array = (PyArrayObject *)found;
    const int kept = found && PyList_Append(held, found) == 0;
    Py_XDECREF(found);
    if (!kept) return NULL;
    if (PyArray_NDIM(array) == (columns ? 2 : 1) && (frames < 0 || PyArray_DIM(array, 0) == frames) &&
        (!columns || PyArray_DIM(array, 1) == columns))
        return PyArray_DATA(array);
    PyErr_Format(PyExc_TypeError, "%s: an array does not fit the job", name);
    return NULL;
}

/* How many frames an array has; -1: it is none. */
static npy_intp frames_of(PyObject *object) {
    return PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) > 0 ? PyArray_DIM((PyArrayObject *)object, 0)
                                                                              : -1;
}

static PyObject *until(PyObject *module, PyObject *args) {
    PyObject *hip, *ankle, *length, *side = Py_None;
    ik_until_job job = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOi|O", &hip, &ankle, &length, &job.axis, &side)) return NULL;
    npy_intp frames = job.frames = frames_of(hip);
    if (frames < 0 || job.axis < 0 || job.axis > 2) {
        PyErr_SetString(PyExc_TypeError, "until: expected hips, and an axis");
        return NULL;
    }
    PyObject *up = NULL, *held = PyList_New(0);
    if (held && (job.hip = (const double (*)[3])take(held, "until", hip, frames, 3)) &&
        (job.ankle = (const double (*)[3])take(held, "until", ankle, frames, 3)) &&
        (job.length = take(held, "until", length, frames, 0)) &&
        (side == Py_None || (job.side = take(held, "until", side, frames, 0))) &&
        (up = PyArray_SimpleNew(1, &frames, NPY_DOUBLE))) {
        job.up = PyArray_DATA((PyArrayObject *)up);
        ik_until(&job);
    }
    Py_XDECREF(held);
    return up;
}

static int take_wish(PyObject *held, ik_wish *wish, PyObject *given, npy_intp frames, int axes) {
    PyObject *wanted, *stands, *hip, *ankle;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "OOOOd", &wanted, &stands, &hip, &ankle, &wish->size)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "agreed: expected what each leg wants");
        return -1;
    }
    const int read = (wish->wanted = take(held, "agreed", wanted, frames, axes)) &&
                     (wish->stands = take(held, "agreed", stands, frames, 0)) &&
                     (wish->hip = (const double (*)[3])take(held, "agreed", hip, frames, 3)) &&
                     (wish->ankle = (const double (*)[3])take(held, "agreed", ankle, frames, 3));
    return read ? 0 : -1;
}

/* What comes out: (together, stands, heeded). NULL with an exception set. */
static PyObject *agree(ik_agree_job *job) {
    npy_intp shape[2] = {job->frames, job->axes};
    PyObject *together = PyArray_SimpleNew(2, shape, NPY_DOUBLE), *stands = PyArray_SimpleNew(1, shape, NPY_DOUBLE);
    PyObject *heeded = PyArray_SimpleNew(1, shape, NPY_DOUBLE), *found = NULL;
    if (together && stands && heeded) {
        job->together = PyArray_DATA((PyArrayObject *)together), job->stands = PyArray_DATA((PyArrayObject *)stands);
        job->heeded = PyArray_DATA((PyArrayObject *)heeded);
        ik_agree(job);
        found = PyTuple_Pack(3, together, stands, heeded);
    }
    Py_XDECREF(together);
    Py_XDECREF(stands);
    Py_XDECREF(heeded);
    return found;
}

static PyObject *agreed(PyObject *module, PyObject *args) {
    PyObject *legs, *found = NULL;
    ik_agree_job job = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!(dddd)", &PyTuple_Type, &legs, &job.least, &job.bent, &job.straight, &job.anyway))
        return NULL;
    const Py_ssize_t count = PyTuple_Size(legs);
    PyObject *first = count > 0 && count <= INT_MAX ? PyTuple_GetItem(legs, 0) : NULL;
    PyArrayObject *wanted =
        first && PyTuple_Check(first) && PyTuple_Size(first) == 5 && PyArray_Check(PyTuple_GetItem(first, 0))
            ? (PyArrayObject *)PyTuple_GetItem(first, 0)
            : NULL;
    if (!wanted || PyArray_NDIM(wanted) != 2 || PyArray_DIM(wanted, 1) < 1 || PyArray_DIM(wanted, 1) > 3) {
        PyErr_SetString(PyExc_TypeError, "agreed: expected legs, and what each wants (frames, 1 to 3)");
        return NULL;
    }
    job.legs = (int)count, job.frames = PyArray_DIM(wanted, 0), job.axes = (int)PyArray_DIM(wanted, 1);
    PyObject *held = PyList_New(0);
    ik_wish *wishes = malloc((size_t)count * sizeof *wishes);
    job.leg = wishes, job.weights = malloc((size_t)count * 2 * sizeof *job.weights);
    if (held && (!wishes || !job.weights)) PyErr_NoMemory();
    for (int leg = 0; leg < count && !PyErr_Occurred(); leg++)
        take_wish(held, &wishes[leg], PyTuple_GetItem(legs, leg), job.frames, job.axes);
    if (!PyErr_Occurred()) found = agree(&job);
    Py_XDECREF(held);
    free(wishes);
    free(job.weights);
    return found;
}

static PyObject *jerk(PyObject *module, PyObject *args) {
    PyObject *places, *sizes = NULL;
    Py_ssize_t apart;
    (void)module;
    if (!PyArg_ParseTuple(args, "On", &places, &apart)) return NULL;
    const npy_intp frames = frames_of(places);
    if (frames < 0 || apart < 1) {
        PyErr_SetString(PyExc_TypeError, "jerk: expected places, and how many frames apart");
        return NULL;
    }
    PyObject *held = PyList_New(0);
    const double (*at)[3] = held ? (const double (*)[3])take(held, "jerk", places, frames, 3) : NULL;
    npy_intp count = apart <= frames / 3 ? frames - 3 * apart : 0;
    if (at && (sizes = PyArray_SimpleNew(1, &count, NPY_DOUBLE)) && count)
        ik_jerk(at, frames, apart, PyArray_DATA((PyArrayObject *)sizes));
    Py_XDECREF(held);
    return sizes;
}

static PyMethodDef functions[] = {
    {"until", until, METH_VARARGS,
     "until(hip, ankle, length, axis, side=None, /)\n--\n\nHow far up hips are moved until they are so far from "
     "ankles, above them or on a side, 1 or -1."},
    {"agreed", agreed, METH_VARARGS,
     "agreed(((wanted, stands, hip, ankle, size), ...), (least, bent, straight, anyway), /)\n--\n\nWhat legs want "
     "together, how much one stands, and how much of that is heeded."},
    {"jerk", jerk, METH_VARARGS,
     "jerk(places, apart, /)\n--\n\nHow large third differences are, of places so many frames apart."},
    {NULL, NULL, 0, NULL},
};

int add_body(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
