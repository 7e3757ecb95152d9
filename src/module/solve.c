/* The iterative methods as functions of Python: one, `solve`, which takes the name of the method.
 *
 * Arrays must fit: one kind of number, one item a row, or all of a single item. ikcore/solve.py makes them fit and says
 * what does not; what is refused here is a mistake there. Structure is checked before a kernel sees it. Runs without
 * the GIL. */
#include "solve.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarrayobject.h>

#include <stdlib.h>
#include <string.h>

#include "ik.h"
#include "skeleton_object.h"

typedef struct {
    const char *name, *doc;
    size_t (*scratch[2])(const ik_solve_job *job); /* float, double */
    void (*solve[2])(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);
} method;

#define METHOD(name, doc)                                                                                              \
    {#name, doc, {ik_##name##_scratch_f32, ik_##name##_scratch_f64}, {ik_##name##_f32, ik_##name##_f64}},
static const method methods[] = {IK_METHODS(METHOD){0}};

/* One call: the job, and what all its arrays have in common. */
typedef struct {
    ik_solve_job job;
    npy_intp items;
    int first; /* the axis that rows start at: 1 after that of items, 0 where all arrays are a single item's */
    int type;  /* NPY_FLOAT or NPY_DOUBLE */
} call;

/* An array with so many axes for an item, the last of `columns` numbers; without axes, columns is 1. */
static PyArrayObject *fitting(const call *call, PyObject *object, const char *name, int type, int axes, int columns,
                              int written) {
    PyArrayObject *array = (PyArrayObject *)object;
    int first = call->first, last = first + axes - 1;
    if (PyArray_Check(object) && PyArray_NDIM(array) == first + axes && PyArray_TYPE(array) == type &&
        (first == 0 || PyArray_DIM(array, 0) == call->items) && (axes == 0 || PyArray_DIM(array, last) == columns) &&
        (axes < 2 || PyArray_DIM(array, first) == call->job.skeleton->count) &&
        (written ? PyArray_ISBEHAVED(array) : PyArray_ISBEHAVED_RO(array)))
        return array;
    PyErr_Format(PyExc_TypeError, "solve: %s does not fit the job", name);
    return NULL;
}

/* From item to item. */
static npy_intp step(const call *call, PyArrayObject *array) { return call->first ? PyArray_STRIDE(array, 0) : 0; }

/* From one to the next along an axis of the item. */
static npy_intp stride(const call *call, PyArrayObject *array, int axis) {
    return PyArray_STRIDE(array, call->first + axis);
}

/* Rows of an item; None leaves them not given. */
static int add_rows(const call *call, ik_rows *rows, PyObject *object, const char *name, int columns) {
    if (object == Py_None) return 0;
    PyArrayObject *array = fitting(call, object, name, call->type, columns > 1, columns, 0);
    if (!array) return -1;
    *rows = (ik_rows){PyArray_DATA(array), step(call, array), columns > 1 ? stride(call, array, 0) : 0};
    return 0;
}

static int add_output(const call *call, ik_rows *rows, PyObject *object, const char *name, int type) {
    PyArrayObject *array = fitting(call, object, name, type, 0, 1, 1);
    if (!array) return -1;
    *rows = (ik_rows){PyArray_DATA(array), step(call, array), 0};
    return 0;
}

/* A row of every joint of an item. */
static int add_joints(const call *call, ik_lists *lists, PyObject *object, const char *name, int columns, int written) {
    if (object == Py_None) return 0;
    PyArrayObject *array = fitting(call, object, name, call->type, 2, columns, written);
    if (!array) return -1;
    *lists = (ik_lists){{PyArray_DATA(array), step(call, array), stride(call, array, 1)},
                        stride(call, array, 0),
                        call->job.skeleton->count};
    return 0;
}

static int add_history(call *call, PyObject *object) {
    if (object == Py_None) return 0;
    PyArrayObject *array = fitting(call, object, "history", call->type, 1, call->job.options.iterations + 1, 1);
    if (!array) return -1;
    call->job.history = (ik_lists){
        {PyArray_DATA(array), step(call, array), 0}, stride(call, array, 0), call->job.options.iterations + 1};
    return 0;
}

/* (joint, chain, offset, position, rotation, weight, rotation_weight) */
static int add_goal(const call *call, ik_goal *goal, PyObject *given) {
    PyObject *position, *rotation, *weight, *rotation_weight;
    if (!PyArg_ParseTuple(given, "ii(ddd)OOOO", &goal->joint, &goal->chain, &goal->offset[0], &goal->offset[1],
                          &goal->offset[2], &position, &rotation, &weight, &rotation_weight))
        return -1;
    return add_rows(call, &goal->position, position, "position", 3) < 0 ||
                   add_rows(call, &goal->rotation, rotation, "rotation", 4) < 0 ||
                   add_rows(call, &goal->weight, weight, "weight", 1) < 0 ||
                   add_rows(call, &goal->rotation_weight, rotation_weight, "rotation_weight", 1) < 0
               ? -1
               : 0;
}

static int add_goals(call *call, PyObject *given) {
    Py_ssize_t count = PyTuple_Size(given);
    if (count < 0) return -1;
    ik_goal *goals = calloc((size_t)count + 1, sizeof *goals);
    if (!goals) {
        PyErr_NoMemory();
        return -1;
    }
    call->job.goals = goals;
    call->job.goal_count = (int)count;
    for (Py_ssize_t i = 0; i < count; i++)
        if (add_goal(call, &goals[i], PyTuple_GetItem(given, i)) < 0) return -1;
    return 0;
}

static int to_int(PyObject *object, int *x) {
    long value = PyLong_AsLong(object);
    *x = value < 0 ? 0 : value > 1000000 ? 1000000 : (int)value;
    return value == -1 && PyErr_Occurred() ? -1 : 0;
}

static int to_double(PyObject *object, double *x) {
    *x = PyFloat_AsDouble(object);
    return *x == -1 && PyErr_Occurred() ? -1 : 0;
}

/* In the order of OPTIONS. */
static int add_options(ik_options *options, PyObject *given) {
    Py_ssize_t at = 0;
#define OPTION(name, type, default_, low, high, methods_, doc)                                                         \
    {                                                                                                                  \
        PyObject *value = PyTuple_GetItem(given, at++);                                                                \
        if (!value || to_##type(value, &options->name) < 0) return -1;                                                 \
    }
    IK_OPTIONS(OPTION)
#undef OPTION
    return 0;
}

/* (rotations, status, error, rotation_error, iterations, history) */
static int add_outputs(call *call, PyObject *given) {
    PyObject *solved, *status, *error, *rotation_error, *iterations, *history;
    ik_solve_job *job = &call->job;
    if (!PyArg_ParseTuple(given, "OOOOOO", &solved, &status, &error, &rotation_error, &iterations, &history)) return -1;
    return add_joints(call, &job->solved, solved, "solved", 4, 1) < 0 ||
                   add_output(call, &job->status, status, "status", NPY_INT) < 0 ||
                   add_output(call, &job->error, error, "error", call->type) < 0 ||
                   add_output(call, &job->rotation_error, rotation_error, "rotation_error", call->type) < 0 ||
                   add_output(call, &job->iterations, iterations, "iterations", NPY_INT) < 0 ||
                   add_history(call, history) < 0
               ? -1
               : 0;
}

static int add_pose(call *call, PyObject *rotations, PyObject *translations, PyObject *scales) {
    int axes = PyArray_Check(rotations) ? PyArray_NDIM((PyArrayObject *)rotations) : 0;
    if (axes != 2 && axes != 3) {
        PyErr_SetString(PyExc_TypeError, "solve: rotations does not fit the job");
        return -1;
    }
    call->first = axes == 3;
    call->items = call->first ? PyArray_DIM((PyArrayObject *)rotations, 0) : 1;
    call->type = PyArray_TYPE((PyArrayObject *)rotations) == NPY_FLOAT ? NPY_FLOAT : NPY_DOUBLE;
    return add_joints(call, &call->job.rotations, rotations, "rotations", 4, 0) < 0 ||
                   add_joints(call, &call->job.translations, translations, "translations", 3, 0) < 0 ||
                   add_joints(call, &call->job.scales, scales, "scales", 3, 0) < 0
               ? -1
               : 0;
}

static const method *find_method(const char *name) {
    const method *found = methods;
    while (found->name && strcmp(found->name, name) != 0)
        found++;
    if (found->name) return found;
    PyErr_Format(PyExc_ValueError, "solve: there is no method '%s'", name);
    return NULL;
}

static int run(const method *method, const call *call) {
    const char *wrong = ik_solve_check(&call->job);
    if (wrong) {
        PyErr_Format(PyExc_ValueError, "solve: %s", wrong);
        return -1;
    }
    int wide = call->type == NPY_DOUBLE;
    char *memory = malloc(method->scratch[wide](&call->job) + 64);
    if (!memory) {
        PyErr_NoMemory();
        return -1;
    }
    void *scratch = memory + (64 - (uintptr_t)memory % 64);
    Py_BEGIN_ALLOW_THREADS;
    method->solve[wide](&call->job, 0, call->items, scratch);
    Py_END_ALLOW_THREADS;
    free(memory);
    return 0;
}

static PyObject *solve(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *skeleton, *goals, *rotations, *translations, *scales, *options, *outputs;
    if (!PyArg_ParseTuple(args, "sOO!OOOO!O!", &name, &skeleton, &PyTuple_Type, &goals, &rotations, &translations,
                          &scales, &PyTuple_Type, &options, &PyTuple_Type, &outputs))
        return NULL;
    const method *method = find_method(name);
    call call = {.job.skeleton = skeleton_of(module, skeleton)};
    if (!method || !call.job.skeleton) return NULL;
    int failed = add_options(&call.job.options, options) < 0 || add_pose(&call, rotations, translations, scales) < 0 ||
                 add_goals(&call, goals) < 0 || add_outputs(&call, outputs) < 0 || run(method, &call) < 0;
    free((void *)call.job.goals);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"solve", solve, METH_VARARGS,
     PyDoc_STR("solve(method, skeleton, goals, rotations, translations, scales, options, outputs, /)\n--\n\n"
               "Writes outputs: (rotations, status, error, rotation_error, iterations, history).")},
    {NULL, NULL, 0, NULL},
};

/* A tuple of what `append` adds to a list. */
static int add_table(PyObject *module, const char *name, int (*append)(PyObject *list)) {
    PyObject *list = PyList_New(0);
    PyObject *tuple = list && append(list) == 0 ? PyList_AsTuple(list) : NULL;
    int failed = !tuple || PyModule_AddObjectRef(module, name, tuple) < 0;
    Py_XDECREF(tuple);
    Py_XDECREF(list);
    return failed ? -1 : 0;
}

static int append_row(PyObject *list, PyObject *row) {
    int failed = !row || PyList_Append(list, row) < 0;
    Py_XDECREF(row);
    return failed ? -1 : 0;
}

static int append_methods(PyObject *list) {
    for (const method *method = methods; method->name; method++)
        if (append_row(list, Py_BuildValue("(ss)", method->name, method->doc)) < 0) return -1;
    return 0;
}

#define int_FORMAT    "i"
#define double_FORMAT "d"
#define OPTION_ROW(name, type, default_, low, high, methods_, doc)                                                     \
    if (append_row(list, Py_BuildValue("(ss" type##_FORMAT type##_FORMAT type##_FORMAT "ss)", #name, #type,            \
                                       (type)(default_), (type)(low), (type)(high), methods_, doc)) < 0)               \
        return -1;

static int append_options(PyObject *list) {
    IK_OPTIONS(OPTION_ROW)
    return 0;
}

int add_solve(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    if (add_table(module, "METHODS", append_methods) < 0 || add_table(module, "OPTIONS", append_options) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
