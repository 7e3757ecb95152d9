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

enum { PARTS = 3, BLOCK = 64 }; /* rotations, translations, scales; items that are walked at a time */

static const int columns_of[PARTS] = {4, 3, 3};
static const double none_of[PARTS][4] = {{1, 0, 0, 0}, {0}, {1, 1, 1}}; /* of a point; translations are its offset */

typedef struct {
    PyArrayObject *parts[PARTS], *joints, *offsets, *places, *wanted, *at, *turns; /* parts, wanted, ...: or NULL */
    npy_intp items, points;
    int type, size;   /* of a number: NPY_FLOAT or NPY_DOUBLE, and its bytes */
    ik_skeleton tree; /* joints that carry, then the points, which hang on them; its arrays are one block */
    int *kept, *rank; /* which joints of the skeleton those are, and the other way round */
    int count;        /* of these */
} call;

static PyArrayObject *refused(const char *name) {
    PyErr_Format(PyExc_TypeError, "carried: %s does not fit the job", name);
    return NULL;
}

/* An array of so many rows of numbers a place; -1: any. */
static PyArrayObject *array_of(const char *name, PyObject *object, int type, npy_intp first, npy_intp second,
                               npy_intp third) {
    const npy_intp shape[3] = {first, second, third};
    PyArrayObject *array = (PyArrayObject *)object;
    const int axes = third ? 3 : second ? 2 : 1;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != axes || !holds(array, type) || !PyArray_ISBEHAVED_RO(array))
        return refused(name);
    for (int axis = 0; axis < axes; axis++)
        if (shape[axis] >= 0 && PyArray_DIM(array, axis) != shape[axis]) return refused(name);
    return array;
}

/* Likewise, in one block: what is written, or read as such. */
static PyArrayObject *block_of(const char *name, PyObject *object, int type, npy_intp first, npy_intp second,
                               npy_intp third, int written) {
    PyArrayObject *array = array_of(name, object, type, first, second, third);
    if (array && PyArray_IS_C_CONTIGUOUS(array) && (!written || PyArray_ISWRITEABLE(array))) return array;
    return array ? refused(name) : NULL;
}

static int are_joints(const ik_skeleton *skeleton, PyArrayObject *joints) {
    const npy_intp *joint = PyArray_DATA(joints);
    for (npy_intp k = 0; k < PyArray_SIZE(joints); k++)
        if (joint[k] < 0 || joint[k] >= skeleton->count) return refused("joints") != NULL;
    return 1;
}

static int take(call *c, const ik_skeleton *skeleton, PyObject *const *args) {
    static const char *names[PARTS] = {"rotations", "translations", "scales"};
    PyObject *joints, *offsets, *places, *wanted = NULL, *at, *turns;
    if (!PyArg_ParseTuple(args[4], "OOO", &joints, &offsets, &places) ||
        (args[5] != Py_None && !PyArg_ParseTuple(args[5], "OOO", &wanted, &at, &turns)))
        return -1;
    c->type = PyArray_Check(args[1]) && PyArray_TYPE((PyArrayObject *)args[1]) == NPY_FLOAT ? NPY_FLOAT : NPY_DOUBLE;
    c->size = c->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    for (int part = 0; part < PARTS; part++) {
        if (part && args[1 + part] == Py_None) continue;
        const npy_intp items = part ? c->items : -1;
        if (!(c->parts[part] =
                  array_of(names[part], args[1 + part], c->type, items, skeleton->count, columns_of[part])))
            return -1;
        c->items = PyArray_DIM(c->parts[part], 0);
    }
    if (!(c->joints = block_of("joints", joints, NPY_INTP, -1, 0, 0, 0)) || !are_joints(skeleton, c->joints)) return -1;
    c->points = PyArray_SIZE(c->joints);
    if (!(c->offsets = block_of("offsets", offsets, NPY_DOUBLE, c->points, 3, 0, 0)) ||
        !(c->places = block_of("places", places, c->type, c->items, c->points, 3, 1)))
        return -1;
    if (!wanted) return 0;
    if (!(c->wanted = block_of("wanted", wanted, NPY_INTP, -1, 0, 0, 0)) || !are_joints(skeleton, c->wanted)) return -1;
    const npy_intp many = PyArray_SIZE(c->wanted);
    if (!(c->at = block_of("at", at, c->type, c->items, many, 3, 1)) ||
        !(c->turns = block_of("turns", turns, c->type, c->items, many, 4, 1)))
        return -1;
    return 0;
}

static void keep_above(const ik_skeleton *skeleton, int *rank, PyArrayObject *joints) {
    const npy_intp *joint = PyArray_DATA(joints);
    for (npy_intp k = 0; k < PyArray_SIZE(joints); k++)
        for (int above = (int)joint[k]; above >= 0 && rank[above] < 0; above = skeleton->parents[above])
            rank[above] = 0;
}

/* The tree of what is walked. -1: no memory. */
static int grow(call *c, const ik_skeleton *skeleton) {
    const size_t joints = (size_t)skeleton->count, most = joints + (size_t)c->points;
    double *offsets = malloc(most * 3 * sizeof *offsets + (2 * most + 2 * joints) * sizeof(int));
    if (!offsets) return -1;
    int *parents = (int *)(offsets + 3 * most), *order = parents + most;
    c->kept = order + most, c->rank = c->kept + joints;
    for (size_t joint = 0; joint < joints; joint++)
        c->rank[joint] = -1;
    keep_above(skeleton, c->rank, c->joints);
    if (c->wanted) keep_above(skeleton, c->rank, c->wanted);
    for (size_t place = 0; place < joints; place++) {
        const int joint = skeleton->order[place], parent = skeleton->parents[joint];
        if (c->rank[joint] < 0) continue;
        c->rank[joint] = c->count, c->kept[c->count] = joint;
        parents[c->count] = parent < 0 ? -1 : c->rank[parent];
        memcpy(offsets + 3 * c->count++, skeleton->offsets + 3 * (ptrdiff_t)joint, 3 * sizeof *offsets);
    }
    const npy_intp *joint = PyArray_DATA(c->joints);
    for (npy_intp k = 0; k < c->points; k++)
        parents[c->count + k] = c->rank[joint[k]];
    memcpy(offsets + 3 * c->count, PyArray_DATA(c->offsets), (size_t)c->points * 3 * sizeof *offsets);
    const int all = c->count + (int)c->points;
    for (int place = 0; place < all; place++)
        order[place] = place;
    c->tree = (ik_skeleton){.count = all, .parents = parents, .order = order, .rank = order, .offsets = offsets};
    return 0;
}

static void set(const call *c, char *to, const double *numbers, int columns) {
    for (int k = 0; k < columns; k++)
        if (c->type == NPY_FLOAT)
            ((float *)to)[k] = (float)numbers[k];
        else
            ((double *)to)[k] = numbers[k];
}

/* A row of numbers; compiled for every size and number of these, as it is for every joint of every item. */
static inline void copy(char *to, const char *from, ptrdiff_t stride, int columns, size_t size) {
    for (int k = 0; k < columns; k++)
        memcpy(to + (size_t)k * size, from + k * stride, size);
}

static inline void copy_row(const call *c, char *to, const char *from, ptrdiff_t stride, int columns) {
    if (c->type == NPY_FLOAT && columns == 3) copy(to, from, stride, 3, sizeof(float));
    if (c->type == NPY_FLOAT && columns == 4) copy(to, from, stride, 4, sizeof(float));
    if (c->type != NPY_FLOAT && columns == 3) copy(to, from, stride, 3, sizeof(double));
    if (c->type != NPY_FLOAT && columns == 4) copy(to, from, stride, 4, sizeof(double));
}

/* Some items of a part of the pose, as the tree has it. */
static void gather(const call *c, int part, npy_intp first, npy_intp count, char *to) {
    PyArrayObject *array = c->parts[part];
    const npy_intp *strides = PyArray_STRIDES(array);
    const int columns = columns_of[part];
    for (npy_intp item = first; item < first + count; item++) {
        const char *from = PyArray_BYTES(array) + item * strides[0];
        for (int place = 0; place < c->count; place++, to += columns * c->size)
            copy_row(c, to, from + c->kept[place] * strides[1], strides[2], columns);
        for (npy_intp k = 0; k < c->points; k++, to += columns * c->size)
            set(c, to, part == 1 ? c->tree.offsets + 3 * (c->count + k) : none_of[part], columns);
    }
}

/* Rows of numbers, of some items from some place of the tree on. */
static void scatter(const call *c, const char *from, int place, npy_intp count, int columns, PyArrayObject *to,
                    npy_intp item) {
    const ptrdiff_t row = columns * c->size;
    const npy_intp many = PyArray_DIM(to, 1);
    const npy_intp *joint = place ? NULL : PyArray_DATA(c->wanted);
    char *next = PyArray_BYTES(to) + item * many * row;
    for (npy_intp k = 0; k < count; k++, from += c->tree.count * row)
        for (npy_intp n = 0; n < many; n++, next += row)
            copy_row(c, next, from + (joint ? c->rank[joint[n]] : place + n) * row, c->size, columns);
}

/* All items, some at a time. -1: no memory. */
static int walk(call *c) {
    static const int columns[PARTS + 2] = {4, 3, 3, 3, 4};
    const npy_intp block = c->items < BLOCK ? c->items : BLOCK;
    const size_t row = (size_t)c->tree.count * (size_t)c->size;
    char *memory = malloc((size_t)block * row * 17 + 1), *parts[PARTS + 2] = {memory};
    void *scratch = malloc(ik_forward_scratch(c->tree.count));
    ik_lists lists[PARTS + 2] = {{{0}}};
    for (int k = 0; k < PARTS + 2; k++) {
        if (k) parts[k] = parts[k - 1] + (size_t)block * row * (size_t)columns[k - 1];
        lists[k] = (ik_lists){{parts[k], (ptrdiff_t)row * columns[k], c->size}, columns[k] * c->size, c->tree.count};
        if (k < PARTS && !c->parts[k]) lists[k] = (ik_lists){{0}};
    }
    const ik_forward_job job = {&c->tree, lists[0], lists[1], lists[2], lists[3], lists[4], scratch};
    for (npy_intp first = 0; memory && scratch && first < c->items; first += block) {
        const npy_intp count = c->items - first < block ? c->items - first : block;
        for (int part = 0; part < PARTS; part++)
            if (c->parts[part]) gather(c, part, first, count, parts[part]);
        (c->type == NPY_FLOAT ? ik_forward_f32 : ik_forward_f64)(&job, count);
        scatter(c, parts[PARTS], c->count, count, 3, c->places, first);
        if (!c->wanted) continue;
        scatter(c, parts[PARTS], 0, count, 3, c->at, first);
        scatter(c, parts[PARTS + 1], 0, count, 4, c->turns, first);
    }
    const int done = memory && scratch;
    free(memory);
    free(scratch);
    return done ? 0 : -1;
}

static PyObject *carried(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    call c = {{NULL}};
    if (given != 6) {
        PyErr_SetString(PyExc_TypeError, "carried: expected 6 arguments");
        return NULL;
    }
    const ik_skeleton *skeleton = skeleton_of(module, args[0]);
    if (!skeleton || take(&c, skeleton, args) < 0) return NULL;
    int failed;
    Py_BEGIN_ALLOW_THREADS;
    failed = grow(&c, skeleton) < 0 || (c.tree.count && walk(&c) < 0);
    free((void *)c.tree.offsets);
    Py_END_ALLOW_THREADS;
    if (failed) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"carried", (PyCFunction)(void (*)(void))carried, METH_FASTCALL,
     "carried(skeleton, rotations, translations, scales, (joints, offsets, places), (joints, positions, rotations), "
     "/)\n--\n\nWrites the places of points that joints carry, and positions and rotations of joints; the last, "
     "translations and scales may be None."},
    {NULL, NULL, 0, NULL},
};

int add_carried(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
