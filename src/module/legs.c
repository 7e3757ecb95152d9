/* Legs over all frames of a clip as functions of Python. ikcore/bake/legs.py and write.py make what they are called
 * with: doubles, frames first. Runs without the GIL. */
#include "legs.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include "../ik/legs.h"
#include "arrays.h"

/* What an argument has to be: an array (frames, count, columns), or of fewer axes where these are 0. */
typedef struct {
    const char *function, *name;
    int type, optional, written;
    npy_intp count, columns;
} role;

static PyArrayObject *array_of(PyObject *object, const role *what, npy_intp frames) {
    PyArrayObject *array = (PyArrayObject *)object;
    const npy_intp shape[3] = {frames, what->count ? what->count : what->columns, what->columns};
    const int axes = what->count ? 3 : what->columns ? 2 : 1;
    int fits = PyArray_Check(object) && PyArray_NDIM(array) == axes && holds(array, what->type) &&
               (what->written ? PyArray_ISBEHAVED(array) : PyArray_ISBEHAVED_RO(array));
    for (int axis = 0; fits && axis < axes; axis++)
        fits = PyArray_DIM(array, axis) == shape[axis];
    if (fits) return array;
    PyErr_Format(PyExc_TypeError, "%s: %s does not fit the job", what->function, what->name);
    return NULL;
}

static int take_rows(ik_rows *rows, PyObject *object, const role *what, npy_intp frames) {
    if (what->optional && object == Py_None) return 0;
    PyArrayObject *array = array_of(object, what, frames);
    if (!array) return -1;
    *rows = (ik_rows){.data = PyArray_DATA(array), .stride = PyArray_STRIDE(array, 0)};
    if (what->columns) rows->step = PyArray_STRIDE(array, 1);
    return 0;
}

static int take_lists(ik_lists *lists, PyObject *object, const role *what, npy_intp frames) {
    PyArrayObject *array = array_of(object, what, frames);
    if (!array) return -1;
    const npy_intp *strides = PyArray_STRIDES(array);
    *lists = (ik_lists){.rows = {.data = PyArray_DATA(array), .stride = strides[0], .step = strides[2]},
                        .next = strides[1],
                        .count = what->count};
    return 0;
}

/* The first two axes of an array of three; -1 with an exception set. */
static int size_of(const char *function, PyObject *object, npy_intp *frames, npy_intp *count) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_Check(object) && PyArray_NDIM(array) == 3 && PyArray_DIM(array, 1) > 0 &&
        PyArray_DIM(array, 1) < 1000) {
        *frames = PyArray_DIM(array, 0), *count = PyArray_DIM(array, 1);
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s: expected an array (frames, joints, ...) first", function);
    return -1;
}

static PyObject *bend_leg(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { CHAIN, TURNS, PIVOT, TILT, HIP, FOOT, OVER, REACH, HINGES, LENGTH, BENT, DELTAS, SHORT, ARGUMENTS };
    static const char *name = "bend_leg";
    npy_intp frames, points;
    ik_bend_leg_job job = {0};
    (void)module;
    if (given != ARGUMENTS) {
        PyErr_SetString(PyExc_TypeError, "bend_leg: expected 13 arguments");
        return NULL;
    }
    if (size_of(name, args[CHAIN], &frames, &points) < 0) return NULL;
    const npy_intp bones = points - 1, knees = points > 2 ? points - 2 : 0;
    job.length = PyFloat_AsDouble(args[LENGTH]);
    if (PyErr_Occurred()) return NULL;
    const struct {
        int at;
        ik_rows *rows;
        role what;
    } rows[] = {
        {PIVOT, &job.pivot, {name, "pivot", NPY_DOUBLE, 1, 0, 0, 3}},
        {TILT, &job.tilt, {name, "tilt", NPY_DOUBLE, 1, 0, 0, 4}},
        {HIP, &job.hip, {name, "hip", NPY_DOUBLE, 0, 0, 0, 3}},
        {FOOT, &job.foot, {name, "foot", NPY_DOUBLE, 0, 0, 0, 3}},
        {OVER, &job.over, {name, "over", NPY_DOUBLE, 1, 0, 0, 3}},
        {REACH, &job.reach, {name, "reach", NPY_DOUBLE, 0, 0, 0, 0}},
        {SHORT, &job.short_by, {name, "short", NPY_DOUBLE, 1, 1, 0, 0}},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (take_rows(rows[k].rows, args[rows[k].at], &rows[k].what, frames) < 0) return NULL;
    const struct {
        int at;
        ik_lists *lists;
        role what;
    } lists[] = {
        {CHAIN, &job.chain, {name, "chain", NPY_DOUBLE, 0, 0, points, 3}},
        {TURNS, &job.turns, {name, "turns", NPY_DOUBLE, 0, 0, knees, 4}},
        {BENT, &job.bent, {name, "bent", NPY_DOUBLE, 0, 1, points, 3}},
        {DELTAS, &job.deltas, {name, "deltas", NPY_DOUBLE, 0, 1, bones, 4}},
    };
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        if (lists[k].what.count && take_lists(lists[k].lists, args[lists[k].at], &lists[k].what, frames) < 0)
            return NULL;
    static const role hinges_role = {"bend_leg", "hinges", NPY_DOUBLE, 0, 0, 0, 3};
    PyArrayObject *hinges = array_of(args[HINGES], &hinges_role, knees);
    if (!hinges) return NULL;
    if (!PyArray_IS_C_CONTIGUOUS(hinges) || !job.pivot.data != !job.tilt.data) {
        PyErr_SetString(PyExc_TypeError, "bend_leg: hinges or tilt do not fit the job");
        return NULL;
    }
    job.hinges = PyArray_DATA(hinges);
    Py_BEGIN_ALLOW_THREADS;
    ik_bend_leg(&job, 0, frames);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *turn_leg(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { WORLD, DELTAS, ABOVE, UNITS, CHOSEN, LOCALS, ARGUMENTS };
    static const char *name = "turn_leg";
    npy_intp frames, joints;
    ik_turn_leg_job job = {0};
    (void)module;
    if (given != ARGUMENTS) {
        PyErr_SetString(PyExc_TypeError, "turn_leg: expected 6 arguments");
        return NULL;
    }
    if (size_of(name, args[WORLD], &frames, &joints) < 0) return NULL;
    const role above = {name, "above", NPY_DOUBLE, 1, 0, 0, 4}, chosen = {name, "chosen", NPY_BOOL, 1, 0, 0, 0};
    const role world = {name, "world", NPY_DOUBLE, 0, 0, joints, 4},
               deltas = {name, "deltas", NPY_DOUBLE, 0, 0, joints, 4};
    const role units = {name, "units", NPY_DOUBLE, 0, 0, joints, 4},
               locals = {name, "locals", NPY_DOUBLE, 0, 1, joints, 4};
    if (take_lists(&job.world, args[WORLD], &world, frames) < 0 ||
        take_lists(&job.deltas, args[DELTAS], &deltas, frames) < 0 ||
        take_rows(&job.above, args[ABOVE], &above, frames) < 0 ||
        take_lists(&job.units, args[UNITS], &units, frames) < 0 ||
        take_rows(&job.chosen, args[CHOSEN], &chosen, frames) < 0 ||
        take_lists(&job.locals, args[LOCALS], &locals, frames) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    ik_turn_leg(&job, 0, frames);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

static PyMethodDef functions[] = {
    {"bend_leg", FAST(bend_leg),
     "bend_leg(chain, turns, pivot, tilt, hip, foot, over, reach, hinges, length, bent, deltas, short, /)\n--\n\n"
     "Writes the last three; pivot with tilt, over and short may be None."},
    {"turn_leg", FAST(turn_leg),
     "turn_leg(world, deltas, above, units, chosen, locals, /)\n--\n\nWrites the last; above and chosen may be None."},
    {NULL, NULL, 0, NULL},
};

int add_legs(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
