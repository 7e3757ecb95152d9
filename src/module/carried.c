/* Where points are that joints carry, and these joints, as a function of Python: forward kinematics of what is above
 * them alone. ikcore/feet/soles.py makes what it is called with. Runs without the GIL. */
#include "carried.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "skeleton_object.h"

enum { PARTS = 3 }; /* rotations, translations, scales */

typedef struct {
    ik_carried_job job;
    ik_skeleton tree; /* the joints that are walked, in an order of its own */
    npy_intp items;
    int type; /* of a number: NPY_FLOAT or NPY_DOUBLE */
} call;

static int refused(const char *name) {
    PyErr_Format(PyExc_TypeError, "carried: %s does not fit the job", name);
    return -1;
}

/* An array of so many rows of numbers an item. */
static int take_lists(const call *c, const char *name, PyObject *object, npy_intp count, npy_intp columns, int written,
                      ik_lists *lists) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != 3 || !holds(array, c->type) ||
        PyArray_DIM(array, 0) != c->items || PyArray_DIM(array, 1) != count || PyArray_DIM(array, 2) != columns ||
        !(written ? PyArray_ISBEHAVED(array) : PyArray_ISBEHAVED_RO(array)))
        return refused(name);
    const npy_intp *strides = PyArray_STRIDES(array);
    *lists = (ik_lists){.rows = {.data = PyArray_DATA(array), .stride = strides[0], .step = strides[2]},
                        .next = strides[1],
                        .count = count};
    return 0;
}

/* Joints of the skeleton, in one block; how many, -1 with an exception set. */
static npy_intp take_joints(const ik_skeleton *skeleton, const char *name, PyObject *object, const npy_intp **joints) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != 1 || !holds(array, NPY_INTP) || !PyArray_ISBEHAVED_RO(array) ||
        !PyArray_IS_C_CONTIGUOUS(array))
        return refused(name);
    *joints = PyArray_DATA(array);
    for (npy_intp k = 0; k < PyArray_SIZE(array); k++)
        if ((*joints)[k] < 0 || (*joints)[k] >= skeleton->count) return refused(name);
    return PyArray_SIZE(array);
}

static int take_pose(call *c, const ik_skeleton *skeleton, PyObject *const *parts) {
    static const char *names[PARTS] = {"rotations", "translations", "scales"};
    ik_lists *lists[PARTS] = {&c->job.forward.rotations, &c->job.forward.translations, &c->job.forward.scales};
    PyArrayObject *first = (PyArrayObject *)parts[0];
    if (!PyArray_Check(parts[0]) || PyArray_NDIM(first) != 3) return refused(names[0]);
    c->items = PyArray_DIM(first, 0);
    c->type = holds(first, NPY_FLOAT) ? NPY_FLOAT : NPY_DOUBLE;
    for (int part = 0; part < PARTS; part++)
        if ((!part || parts[part] != Py_None) &&
            take_lists(c, names[part], parts[part], skeleton->count, part ? 3 : 4, 0, lists[part]) < 0)
            return -1;
    return 0;
}

static int take_points(call *c, const ik_skeleton *skeleton, PyObject *points) {
    PyObject *joints, *offsets, *places;
    if (!PyTuple_Check(points)) return refused("points");
    if (!PyArg_ParseTuple(points, "OOO", &joints, &offsets, &places)) return -1;
    const npy_intp count = take_joints(skeleton, "joints", joints, &c->job.carriers);
    if (count < 0 || take_lists(c, "places", places, count, 3, 1, &c->job.places) < 0) return -1;
    PyArrayObject *array = (PyArrayObject *)offsets;
    if (!PyArray_Check(offsets) || PyArray_NDIM(array) != 2 || !holds(array, NPY_DOUBLE) ||
        PyArray_DIM(array, 0) != count || PyArray_DIM(array, 1) != 3 || !PyArray_ISBEHAVED_RO(array) ||
        !PyArray_IS_C_CONTIGUOUS(array))
        return refused("offsets");
    c->job.offsets = PyArray_DATA(array);
    return 0;
}

static int take_wanted(call *c, const ik_skeleton *skeleton, PyObject *wanted) {
    PyObject *joints, *at, *turns;
    if (!PyTuple_Check(wanted)) return refused("wanted");
    if (!PyArg_ParseTuple(wanted, "OOO", &joints, &at, &turns)) return -1;
    const npy_intp count = take_joints(skeleton, "wanted", joints, &c->job.wanted);
    return count < 0 || take_lists(c, "at", at, count, 3, 1, &c->job.forward.positions) < 0 ||
                   take_lists(c, "turns", turns, count, 4, 1, &c->job.forward.world_rotations) < 0
               ? -1
               : 0;
}

static void keep_above(const ik_skeleton *skeleton, const npy_intp *joints, npy_intp count, char *kept) {
    for (npy_intp k = 0; k < count; k++)
        for (int above = (int)joints[k]; above >= 0 && !kept[above]; above = skeleton->parents[above])
            kept[above] = 1;
}

/* The joints that are walked: those that carry points, those that are wanted, and all above them. */
static void keep(call *c, const ik_skeleton *skeleton, int *order, char *kept) {
    memset(kept, 0, (size_t)skeleton->count);
    keep_above(skeleton, c->job.carriers, c->job.places.count, kept);
    keep_above(skeleton, c->job.wanted, c->job.forward.positions.count, kept);
    c->tree = *skeleton, c->tree.order = order, c->tree.count = 0;
    for (int place = 0; place < skeleton->count; place++)
        if (kept[skeleton->order[place]]) order[c->tree.count++] = skeleton->order[place];
}

/* -1: no memory. */
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
    if (given != 6) {
        PyErr_SetString(PyExc_TypeError, "carried: expected 6 arguments");
        return NULL;
    }
    const ik_skeleton *skeleton = skeleton_of(module, args[0]);
    if (!skeleton || take_pose(&c, skeleton, args + 1) < 0 || take_points(&c, skeleton, args[4]) < 0 ||
        take_wanted(&c, skeleton, args[5]) < 0)
        return NULL;
    int failed;
    Py_BEGIN_ALLOW_THREADS;
    failed = walk(&c, skeleton) < 0;
    Py_END_ALLOW_THREADS;
    if (failed) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"carried", (PyCFunction)(void (*)(void))carried, METH_FASTCALL,
     "carried(skeleton, rotations, translations, scales, (joints, offsets, places), (joints, positions, rotations), "
     "/)\n--\n\nWrites the places of points that joints carry, and positions and rotations of joints; "
     "translations and scales may be None."},
    {NULL, NULL, 0, NULL},
};

int add_carried(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
