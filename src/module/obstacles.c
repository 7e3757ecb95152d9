/* What a foot that swings has to get over, and what its toes bend for, as functions of Python (ikcore/bake/way.py and
 * toes.py). Arrays are doubles, in one block if not said otherwise. */
#include "obstacles.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include "../ik/obstacles.h"
#include "arrays.h"
#include "foot.h"
#include "mesh_object.h"

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

/* What the frames are looked at for: (made, ends, margin, grazes, above, below, riser, within, clearance, dips, toe,
 * bends). */
static int take_limits(ik_lack_job *job, PyObject *given) {
    PyObject *ends;
    if (!PyArg_ParseTuple(given, "pOddddddddid", &job->made, &ends, &job->margin, &job->grazes, &job->above,
                          &job->below, &job->riser, &job->within, &job->clearance, &job->dips, &job->toe, &job->bends))
        return -1;
    if (!(job->ends = numbers_of("lack", ends, NPY_BOOL, job->foot->points, 0, 0))) return -1;
    if (job->margin > 0 && job->grazes > 0 && job->toe >= -1 && job->toe < job->foot->points) return 0;
    PyErr_SetString(PyExc_TypeError, "lack: margin, grazes or toe do not fit the job");
    return -1;
}

static int take_result(ik_lack_job *job, PyObject *found, npy_intp first, npy_intp last) {
    if (!(job->found = numbers_of("lack", found, NPY_DOUBLE, job->count, 0, 0))) return -1;
    if (PyArray_ISWRITEABLE((PyArrayObject *)found) && first >= 0 && first <= last && last <= job->count) return 0;
    PyErr_SetString(PyExc_TypeError, "lack: first, last or what is found do not fit the job");
    return -1;
}

static PyObject *lack(PyObject *module, PyObject *args) {
    PyObject *foot, *given, *shift, *turn, *toes, *frames, *limits, *found;
    npy_intp first, last;
    ik_stood stood = {0};
    foot_over_time over_time = {0};
    ik_lack_job job = {.foot = &over_time.foot, .stood = &stood};
    if (!PyArg_ParseTuple(args, "O!OOOO!OO!nnO", &PyTuple_Type, &foot, &shift, &turn, &toes, &PyTuple_Type, &given,
                          &frames, &PyTuple_Type, &limits, &first, &last, &found) ||
        take_foot(&over_time, foot) < 0 || take_stood(&stood, job.foot, shift, turn, toes) < 0 ||
        (job.count = take_frames(&job.frames, "frames", frames, job.foot->frames)) < 0 ||
        take_limits(&job, limits) < 0 || take_result(&job, found, first, last) < 0)
        return NULL;
    job.body_count = (int)PyTuple_Size(given);
    ik_ray_body *bodies = bodies_of(module, given, job.foot->points, job.count * job.foot->points);
    void *scratch = bodies ? PyMem_Malloc(ik_lack_scratch(&job)) : NULL;
    if (bodies && !scratch) PyErr_NoMemory();
    job.bodies = bodies;
    if (scratch) {
        Py_BEGIN_ALLOW_THREADS;
        ik_lack(&job, first, last, scratch);
        Py_END_ALLOW_THREADS;
    }
    const int done = scratch != NULL;
    PyMem_Free(scratch);
    PyMem_Free(bodies);
    if (!done) return NULL;
    Py_RETURN_NONE;
}

/* Rows of (frames, 3), or (frames) where columns is 0. */
static int take_rows(ik_rows *rows, PyObject *object, npy_intp frames, int columns) {
    PyArrayObject *array = array_of_rows(object, NPY_DOUBLE, frames, columns, 0);
    if (!array) return PyErr_SetString(PyExc_TypeError, "toe_lack: an array does not fit the job"), -1;
    *rows = (ik_rows){.data = PyArray_DATA(array), .stride = PyArray_STRIDE(array, 0)};
    if (columns) rows->step = PyArray_STRIDE(array, 1);
    return 0;
}

static PyObject *toe_lack(PyObject *module, PyObject *args) {
    PyObject *tip, *there, *stood, *ground, *lies;
    ik_toe_job job = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOddi", &tip, &there, &stood, &ground, &lies, &job.thick, &job.least, &job.axis))
        return NULL;
    npy_intp frames = job.frames = size_of(tip, 0);
    if (job.axis < 0 || job.axis > 2) return PyErr_SetString(PyExc_TypeError, "toe_lack: there is no such axis"), NULL;
    if (take_rows(&job.tip, tip, frames, 3) < 0 || take_rows(&job.there, there, frames, 3) < 0 ||
        take_rows(&job.stood, stood, frames, 0) < 0 || take_rows(&job.ground, ground, frames, 0) < 0 ||
        !(job.lies = numbers_of("toe_lack", lies, NPY_BOOL, frames, 0, 0)))
        return NULL;
    PyObject *lack = PyArray_SimpleNew(1, &frames, NPY_DOUBLE);
    if (!lack || ik_toe_lack(&job, PyArray_DATA((PyArrayObject *)lack))) return lack;
    Py_DECREF(lack);
    Py_RETURN_NONE;
}

static PyObject *raise_arms(PyObject *module, PyObject *args) {
    PyObject *arms, *raised;
    double most;
    int axis;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOdi", &arms, &raised, &most, &axis)) return NULL;
    const npy_intp frames = size_of(arms, 0);
    double (*at)[3] = numbers_of("raise_arms", arms, NPY_DOUBLE, frames, 3, 0);
    const double *by = at ? numbers_of("raise_arms", raised, NPY_DOUBLE, frames, 0, 0) : NULL;
    if (!by) return NULL;
    if (axis < 0 || axis > 2 || !PyArray_ISWRITEABLE((PyArrayObject *)arms)) {
        PyErr_SetString(PyExc_TypeError, "raise_arms: expected arms to write, and an axis");
        return NULL;
    }
    ik_raise(at, by, frames, axis, most);
    Py_RETURN_NONE;
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
    {"lack", lack, METH_VARARGS,
     "lack(foot, shift, turn, toes, bodies, frames, (made, ends, margin, grazes, above, below, riser, within, "
     "clearance, dips, toe, bends), first, last, found, /)\n--\n\nWrites some of the last: how much too low a foot is "
     "in each of the frames, by the point that is so the most; NaN over no ground. See still."},
    {"toe_lack", toe_lack, METH_VARARGS,
     "toe_lack(tip, there, stood, ground, lies, thick, least, axis, /)\n--\n\nHow much too low the tips of toes are, "
     "but for what they are in the floor of the clip; None if they are nowhere."},
    {"raise_arms", raise_arms, METH_VARARGS,
     "raise_arms(arms, raised, most, axis, /)\n--\n\nRaises the ends of arms (frames, 3), but no farther than toes "
     "bend."},
    {"nearer", nearer, METH_VARARGS,
     "nearer(swings, frames, fps, beyond, /)\n--\n\nHow many seconds frames are from the nearer end of their swing."},
    {NULL, NULL, 0, NULL},
};

int add_obstacles(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
