/* World positions of points carried by joints, and of joints, as a Python function: forward kinematics of their
 * ancestors only (ikcore/feet/soles.py). Runs without the GIL. */
#include "module.h"

#include "numpy_api.h"

#include <stdlib.h>
#include <string.h>

#include "skeleton_object.h"

enum { PARTS = 3 }; /* rotations, translations, scales */

typedef struct {
    ik_carried_job job;
    ik_skeleton tree; /* the joints that are walked, in an order of its own */
    npy_intp items;
    int type;                                          /* of a number: NPY_FLOAT or NPY_DOUBLE */
    PyArrayObject *parts[PARTS];                       /* of the pose, all leading axes made one */
    PyArrayObject *carriers, *offsets, *wanted;        /* as they are read */
    PyArrayObject *places, *positions, *turns, *first; /* as they are written; the rotations as given */
} call;

static void release(call *c) {
    PyArrayObject *held[] = {c->parts[0], c->parts[1], c->parts[2],  c->carriers, c->offsets,
                             c->wanted,   c->places,   c->positions, c->turns};
    for (size_t k = 0; k < sizeof held / sizeof *held; k++)
        Py_XDECREF((PyObject *)held[k]);
}

static int refused(const char *name) {
    PyErr_Format(PyExc_TypeError, "carried: %s does not fit the job", name);
    return -1;
}

/* The rows of an array (items, count, numbers). */
static ik_lists lists_of(PyArrayObject *array) {
    const npy_intp *strides = PyArray_STRIDES(array);
    return (ik_lists){.rows = {.data = PyArray_DATA(array), .stride = strides[0], .step = strides[2]},
                      .next = strides[1],
                      .count = PyArray_DIM(array, 1)};
}

/* Joints of the skeleton. A new reference; NULL with an exception set. */
static PyArrayObject *take_joints(const ik_skeleton *skeleton, const char *name, PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)PyArray_FROMANY(object, NPY_INTP, 0, 0, NPY_ARRAY_CARRAY_RO);
    if (!array) return NULL;
    const npy_intp *joints = PyArray_DATA(array);
    int fits = PyArray_NDIM(array) == 1;
    for (npy_intp k = 0; fits && k < PyArray_SIZE(array); k++)
        fits = joints[k] >= 0 && joints[k] < skeleton->count;
    if (fits) return array;
    Py_DECREF((PyObject *)array);
    refused(name);
    return NULL;
}

static int take_pose(call *c, const ik_skeleton *skeleton, PyObject *const *parts) {
    static const char *names[PARTS] = {"rotations", "translations", "scales"};
    ik_lists *lists[PARTS] = {&c->job.forward.rotations, &c->job.forward.translations, &c->job.forward.scales};
    npy_intp shape[3] = {1, skeleton->count, 4};
    PyArray_Dims rows = {shape, 3};
    for (int part = 0; part < PARTS; part++, shape[2] = 3) {
        PyArrayObject *array = (PyArrayObject *)parts[part];
        const int axes = PyArray_Check(parts[part]) ? PyArray_NDIM(array) : 0;
        if (part && parts[part] == Py_None) continue;
        if (axes < 2 || axes > NPY_MAXDIMS || PyArray_DIM(array, axes - 2) != shape[1] ||
            PyArray_DIM(array, axes - 1) != shape[2] || !PyArray_ISBEHAVED_RO(array))
            return refused(names[part]);
        if (!part) {
            c->first = array, c->type = holds(array, NPY_FLOAT) ? NPY_FLOAT : NPY_DOUBLE;
            shape[0] = c->items = PyArray_MultiplyList(PyArray_DIMS(array), axes - 2);
        }
        if (!holds(array, c->type) || PyArray_MultiplyList(PyArray_DIMS(array), axes - 2) != c->items)
            return refused(names[part]);
        if (!(c->parts[part] = (PyArrayObject *)PyArray_Newshape(array, &rows, NPY_CORDER))) return -1;
        *lists[part] = lists_of(c->parts[part]);
    }
    return 0;
}

static int take_points(call *c, const ik_skeleton *skeleton, PyObject *joints, PyObject *offsets, PyObject *wanted) {
    if (!(c->carriers = take_joints(skeleton, "joints", joints)) ||
        !(c->offsets = (PyArrayObject *)PyArray_FROMANY(offsets, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO)) ||
        !(c->wanted = take_joints(skeleton, "wanted", wanted)))
        return -1;
    if (PyArray_NDIM(c->offsets) != 2 || PyArray_DIM(c->offsets, 0) != PyArray_SIZE(c->carriers) ||
        PyArray_DIM(c->offsets, 1) != 3)
        return refused("offsets");
    c->job.carriers = PyArray_DATA(c->carriers), c->job.wanted = PyArray_DATA(c->wanted);
    c->job.offsets = PyArray_DATA(c->offsets);
    return 0;
}

/* A new array (items, count, columns), stored as (count, items, columns). NULL with an exception set. */
static PyArrayObject *made(const call *c, npy_intp count, npy_intp columns, ik_lists *lists) {
    npy_intp shape[3] = {count, c->items, columns};
    PyArrayObject *whole = (PyArrayObject *)PyArray_SimpleNew(3, shape, c->type);
    PyArrayObject *found = whole ? (PyArrayObject *)PyArray_SwapAxes(whole, 0, 1) : NULL;
    Py_XDECREF((PyObject *)whole);
    if (found) *lists = lists_of(found);
    return found;
}

static int make_results(call *c) {
    const npy_intp points = PyArray_SIZE(c->carriers), joints = PyArray_SIZE(c->wanted);
    return (c->places = made(c, points, 3, &c->job.places)) &&
                   (c->positions = made(c, joints, 3, &c->job.forward.positions)) &&
                   (c->turns = made(c, joints, 4, &c->job.forward.world_rotations))
               ? 0
               : -1;
}

/* The array with the leading axes of the pose. */
static PyObject *with_axes(const call *c, PyArrayObject *found) {
    npy_intp shape[NPY_MAXDIMS];
    const int axes = PyArray_NDIM(c->first);
    memcpy(shape, PyArray_DIMS(c->first), (size_t)axes * sizeof *shape);
    shape[axes - 2] = PyArray_DIM(found, 1), shape[axes - 1] = PyArray_DIM(found, 2);
    PyArray_Dims own = {shape, axes};
    return PyArray_Newshape(found, &own, NPY_CORDER);
}

static void keep_above(const ik_skeleton *skeleton, const npy_intp *joints, npy_intp count, char *kept) {
    for (npy_intp k = 0; k < count; k++)
        for (int above = (int)joints[k]; above >= 0 && !kept[above]; above = skeleton->parents[above])
            kept[above] = 1;
}

/* The joints that are computed: those that carry points, those that are wanted, and all their ancestors. */
static void keep(call *c, const ik_skeleton *skeleton, int *order, char *kept) {
    memset(kept, 0, (size_t)skeleton->count);
    keep_above(skeleton, c->job.carriers, c->job.places.count, kept);
    keep_above(skeleton, c->job.wanted, c->job.forward.positions.count, kept);
    c->tree = *skeleton, c->tree.order = order, c->tree.count = 0;
    for (int place = 0; place < skeleton->count; place++)
        if (kept[skeleton->order[place]]) order[c->tree.count++] = skeleton->order[place];
}

/* -1: out of memory. */
static int walk(call *c, const ik_skeleton *skeleton) {
    const size_t joints = (size_t)skeleton->count;
    int *order = malloc(joints * (sizeof *order + 1));
    void *scratch = malloc(ik_forward_scratch(skeleton->count));
    const int ready = order && scratch;
    if (ready) {
        keep(c, skeleton, order, (char *)(order + joints));
        c->job.forward.skeleton = &c->tree, c->job.forward.scratch = scratch;
        (c->type == NPY_FLOAT ? ik_carried_f32 : ik_carried_f64)(&c->job, c->items);
    }
    free(order);
    free(scratch);
    return ready ? 0 : -1;
}

static PyObject *carried(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    call c = {0};
    if (given != 7) {
        PyErr_SetString(PyExc_TypeError, "carried: expected 7 arguments");
        return NULL;
    }
    const ik_skeleton *skeleton = skeleton_of(module, args[0]);
    PyObject *found = NULL;
    if (skeleton && take_pose(&c, skeleton, args + 1) == 0 &&
        take_points(&c, skeleton, args[4], args[5], args[6]) == 0 && make_results(&c) == 0) {
        int failed;
        Py_BEGIN_ALLOW_THREADS;
        failed = walk(&c, skeleton) < 0;
        Py_END_ALLOW_THREADS;
        found = failed ? PyErr_NoMemory()
                       : Py_BuildValue("(NNN)", with_axes(&c, c.places), with_axes(&c, c.positions),
                                       with_axes(&c, c.turns));
    }
    release(&c);
    return found;
}

PyMethodDef carried_functions[] = {
    {"carried", (PyCFunction)(void (*)(void))carried, METH_FASTCALL,
     "carried(skeleton, rotations, translations, scales, joints, offsets, wanted, /)\n--\n\nThe places of points that "
     "joints carry, and the positions and rotations of joints that are wanted; translations and scales may be None."},
    {NULL, NULL, 0, NULL},
};
