/* The iterative methods as Python functions: `solve`, which takes the name of the method, and `Prepared`, which takes
 * one item per call and has everything else prepared.
 *
 * Arrays must have the right shape: one number type, one item per row, or all of a single item. ikcore/solving makes
 * them and has the error messages; whatever is refused here is a bug there. Structure is checked before a kernel sees
 * it. Runs without the GIL, and ends soon after Ctrl-C. */
#include "module.h"

#include "numpy_api.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ik.h"
#include "listener.h"
#include "row.h"
#include "skeleton_object.h"

/* An option of a method: a row of METHOD_OPTIONS. */
typedef struct {
    const char *name, *type;
    double default_, lowest, highest;
    const char *doc;
} option;

#define OPTION_TYPE(name, type) static const char type_of_##name[] = #type;
IK_OPTIONS(OPTION_TYPE)
#define OPTION(name, default_, lowest, highest, doc) {#name, type_of_##name, default_, lowest, highest, doc},
#define OPTIONS_OF(name, takes, doc) static const option options_of_##name[] = {IK_OPTIONS_OF_##name(OPTION){0}};
IK_METHODS(OPTIONS_OF)
#define OPTIONS_OF_FORM(name, function, takes, doc) OPTIONS_OF(name, takes, doc)
IK_CLOSED_FORMS(OPTIONS_OF_FORM)

typedef struct {
    const char *name, *doc;
    unsigned takes;
    const option *options;
    ik_options (*defaults)(void);
    const char *(*check)(const ik_solve_job *job, unsigned takes);
    size_t (*scratch[2])(const ik_solve_job *job); /* float, double */
    void (*solve[2])(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);
} method;

#define ENTRY(name, function, check, takes, doc)                                                                       \
    {#name,                                                                                                            \
     doc,                                                                                                              \
     takes,                                                                                                            \
     options_of_##name,                                                                                                \
     ik_##function##_options,                                                                                          \
     check,                                                                                                            \
     {ik_##function##_scratch_f32, ik_##function##_scratch_f64},                                                       \
     {ik_##function##_f32, ik_##function##_f64}},
#define METHOD(name, takes, doc)         ENTRY(name, name, ik_solve_check, takes, doc)
#define FORM(name, function, takes, doc) ENTRY(name, function, ik_##function##_check, takes, doc)

/* The iterative methods, then the closed forms. */
static const method methods[] = {IK_METHODS(METHOD) IK_CLOSED_FORMS(FORM){0}};
#define ONE(...) +1
enum { ITERATIVE = IK_METHODS(ONE) };

/* One call: the job, and the common properties of its arrays. */
typedef struct {
    ik_solve_job job;
    npy_intp items;
    int first;   /* the axis that rows start at: 0 where all arrays are a single item's, 1 after the axis of items, 2
                    after those of frames and of items */
    int type;    /* NPY_FLOAT or NPY_DOUBLE */
    int leading; /* of a single item: how many axes of length 1 come before its own */
} call;

/* An array with this number of axes per item, the last of length `columns`; without axes, columns is 1. */
static PyArrayObject *fitting(const call *call, PyObject *object, const char *name, int type, int axes, int columns,
                              int written) {
    PyArrayObject *array = (PyArrayObject *)object;
    int first = call->first, last = first + axes - 1;
    if (PyArray_Check(object) && PyArray_NDIM(array) == first + axes && holds(array, type) &&
        (first == 0 || PyArray_DIM(array, first - 1) == call->items) &&
        (first < 2 || PyArray_DIM(array, 0) == call->job.frames) &&
        (axes == 0 || PyArray_DIM(array, last) == columns) &&
        (axes < 2 || PyArray_DIM(array, first) == call->job.skeleton->count) &&
        (written ? PyArray_ISBEHAVED(array) : PyArray_ISBEHAVED_RO(array)))
        return array;
    PyErr_Format(PyExc_TypeError, "solve: %s does not fit the job", name);
    return NULL;
}

/* Rows of an array with this distance in bytes between numbers. */
static ik_rows rows_of(const call *call, PyArrayObject *array, npy_intp step) {
    return (ik_rows){PyArray_DATA(array), call->first ? PyArray_STRIDE(array, call->first - 1) : 0, step,
                     call->first == 2 ? PyArray_STRIDE(array, 0) : 0};
}

/* The distance between neighbours along an axis of the item. */
static npy_intp stride(const call *call, PyArrayObject *array, int axis) {
    return PyArray_STRIDE(array, call->first + axis);
}

/* Rows of an item; None means not given. */
static int add_rows(const call *call, ik_rows *rows, PyObject *object, const char *name, int columns) {
    if (object == Py_None) return 0;
    PyArrayObject *array = fitting(call, object, name, call->type, columns > 1, columns, 0);
    if (!array) return -1;
    *rows = rows_of(call, array, columns > 1 ? stride(call, array, 0) : 0);
    return 0;
}

static int add_output(const call *call, ik_rows *rows, PyObject *object, const char *name, int type) {
    PyArrayObject *array = fitting(call, object, name, type, 0, 1, 1);
    if (!array) return -1;
    *rows = rows_of(call, array, 0);
    return 0;
}

/* A row of every joint of an item. */
static int add_joints(const call *call, ik_lists *lists, PyObject *object, const char *name, int columns, int written) {
    if (object == Py_None) return 0;
    PyArrayObject *array = fitting(call, object, name, call->type, 2, columns, written);
    if (!array) return -1;
    *lists =
        (ik_lists){rows_of(call, array, stride(call, array, 1)), stride(call, array, 0), call->job.skeleton->count};
    return 0;
}

static int add_history(call *call, PyObject *object) {
    if (object == Py_None) return 0;
    PyArrayObject *array = fitting(call, object, "history", call->type, 1, call->job.options.iterations + 1, 1);
    if (!array) return -1;
    call->job.history = (ik_lists){rows_of(call, array, 0), stride(call, array, 0), call->job.options.iterations + 1};
    return 0;
}

/* The arrays of a goal are its parts, numbered in this order. Rows have one an item; points and axes of joints are the
 * same for all items. */
typedef struct {
    const char *name, *doc;
    int columns;
    size_t at; /* in an ik_goal */
} goal_field;

#define GOAL_FIELD(name, columns, doc) {#name, doc, columns, offsetof(ik_goal, name)},
#define GOAL_ROW(...)                  +1
enum { GOAL_ROWS = IK_GOAL_ROWS(GOAL_ROW), GOAL_POINTS = 4, GOAL_PARTS = GOAL_ROWS + GOAL_POINTS };
static const goal_field goal_fields[GOAL_PARTS] = {IK_GOAL_ROWS(GOAL_FIELD) GOAL_FIELD(offset, 3, "") GOAL_FIELD(
    other_offset, 3, "") GOAL_FIELD(axis, 3, "") GOAL_FIELD(up, 3, "")};

/* The address of a part: ik_rows, or the numbers of a point. */
static void *goal_part_of(ik_goal *goal, int part) { return (char *)goal + goal_fields[part].at; }

/* Takes a part of goal number `index`. 0, or -1 with an exception. */
typedef int take_part(void *taker, int index, int part, PyObject *value);

/* A goal: (kind, joint, chain, relative, other, other_chain, level, points, rows), of the last two as many as there
 * are. */
static int parse_goal(ik_goal *goal, int index, PyObject *given, take_part *take, void *taker) {
    int kind;
    PyObject *points, *rows;
    if (!PyArg_ParseTuple(given, "iiiiiiiO!O!", &kind, &goal->joint, &goal->chain, &goal->relative, &goal->other,
                          &goal->other_chain, &goal->level, &PyTuple_Type, &points, &PyTuple_Type, &rows))
        return -1;
    goal->kind = (enum ik_goal_kind)kind;
    if (PyTuple_Size(points) != GOAL_POINTS || PyTuple_Size(rows) != GOAL_ROWS) {
        PyErr_Format(PyExc_TypeError, "solve: expected %d points and %d rows of a goal", GOAL_POINTS, GOAL_ROWS);
        return -1;
    }
    for (int part = 0; part < GOAL_PARTS; part++) {
        PyObject *value = part < GOAL_ROWS ? PyTuple_GetItem(rows, part) : PyTuple_GetItem(points, part - GOAL_ROWS);
        if (take(taker, index, part, value) < 0) return -1;
    }
    return 0;
}

/* The goals of a job, which the caller frees; their parts go to `take`. 0, or -1 with an exception. */
static int parse_goals(ik_solve_job *job, PyObject *given, take_part *take, void *taker) {
    const int count = (int)PyTuple_Size(given);
    ik_goal *goals = calloc((size_t)count + 1, sizeof *goals);
    if (!goals) {
        PyErr_NoMemory();
        return -1;
    }
    job->goals = goals;
    job->goal_count = count;
    for (int i = 0; i < count; i++)
        if (parse_goal(&goals[i], i, PyTuple_GetItem(given, i), take, taker) < 0) return -1;
    return 0;
}

/* A part as an array of the call. */
static int take_array(void *taker, int index, int part, PyObject *value) {
    call *call = taker;
    const goal_field *field = &goal_fields[part];
    void *into = goal_part_of((ik_goal *)&call->job.goals[index], part);
    if (part < GOAL_ROWS) return add_rows(call, into, value, field->name, field->columns);
    double *point = into;
    return PyArg_ParseTuple(value, "ddd", &point[0], &point[1], &point[2]) ? 0 : -1;
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

static int to_switch(PyObject *object, int *x) { return to_int(object, x); }

/* In the order of OPTIONS; None: the default of the method. */
static int add_options(ik_options *options, const method *method, PyObject *given) {
    Py_ssize_t at = 0;
    *options = method->defaults();
#define TAKE_OPTION(name, type)                                                                                        \
    {                                                                                                                  \
        PyObject *value = PyTuple_GetItem(given, at++);                                                                \
        if (!value || (value != Py_None && to_##type(value, &options->name) < 0)) return -1;                           \
    }
    IK_OPTIONS(TAKE_OPTION)
    return 0;
}

/* A number of every goal of an item. */
static int add_goal_errors(call *call, PyObject *object) {
    if (object == Py_None) return 0;
    PyArrayObject *array = fitting(call, object, "goal_errors", call->type, 1, call->job.goal_count, 1);
    if (!array) return -1;
    call->job.goal_errors = (ik_lists){rows_of(call, array, 0), stride(call, array, 0), call->job.goal_count};
    return 0;
}

/* (rotations, status, error, rotation_error, iterations, history, translations, goal_errors) */
static int add_outputs(call *call, PyObject *given) {
    PyObject *solved, *status, *error, *rotation_error, *iterations, *history, *moved, *goal_errors;
    ik_solve_job *job = &call->job;
    if (!PyArg_ParseTuple(given, "OOOOOOOO", &solved, &status, &error, &rotation_error, &iterations, &history, &moved,
                          &goal_errors))
        return -1;
    return add_joints(call, &job->solved, solved, "solved", 4, 1) < 0 ||
                   add_output(call, &job->status, status, "status", NPY_INT32) < 0 ||
                   add_output(call, &job->error, error, "error", call->type) < 0 ||
                   add_output(call, &job->rotation_error, rotation_error, "rotation_error", call->type) < 0 ||
                   add_output(call, &job->iterations, iterations, "iterations", NPY_INT32) < 0 ||
                   add_history(call, history) < 0 || add_joints(call, &job->moved, moved, "translations", 3, 1) < 0 ||
                   add_goal_errors(call, goal_errors) < 0
               ? -1
               : 0;
}

static int add_pose(call *call, PyObject *rotations, PyObject *translations, PyObject *scales) {
    int axes = PyArray_Check(rotations) ? PyArray_NDIM((PyArrayObject *)rotations) : 0;
    if (axes < 2 || axes > 4) {
        PyErr_SetString(PyExc_TypeError, "solve: rotations does not fit the job");
        return -1;
    }
    call->first = axes - 2;
    call->items = call->first ? PyArray_DIM((PyArrayObject *)rotations, call->first - 1) : 1;
    call->job.frames = call->first == 2 ? (int)PyArray_DIM((PyArrayObject *)rotations, 0) : 1;
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

/* A byte per joint: whether it may move; None: as goals ask. The object is kept alive. */
static int add_moving(ik_solve_job *job, PyObject *moving) {
    if (moving == Py_None) return 0;
    if (PyBytes_Check(moving) && PyBytes_Size(moving) == job->skeleton->count) {
        job->moving = (const unsigned char *)PyBytes_AsString(moving);
        return 0;
    }
    PyErr_SetString(PyExc_TypeError, "solve: moving: expected a byte for every joint, or None");
    return -1;
}

/* byte: see listener. */
static int run(const method *method, const call *call, const char *byte) {
    const char *wrong = method->check(&call->job, method->takes);
    if (wrong) {
        PyErr_Format(PyExc_ValueError, "solve: %s", wrong);
        return -1;
    }
    if (call->job.frames == 0) return 0;
    int wide = call->type == NPY_DOUBLE;
    char *memory = malloc(method->scratch[wide](&call->job) + 64);
    if (!memory) {
        PyErr_NoMemory();
        return -1;
    }
    void *scratch = memory + (64 - (uintptr_t)memory % 64);
    listener ear = {.byte = byte};
    ik_solve_job job = call->job;
    job.stop = listener_ask, job.context = &ear;
    ear.thread = PyEval_SaveThread();
    method->solve[wide](&job, 0, call->items, scratch);
    PyEval_RestoreThread(ear.thread);
    free(memory);
    return ear.raised ? -1 : 0;
}

static PyObject *solve(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *skeleton, *goals, *rotations, *translations, *scales, *options, *outputs, *stop = NULL, *moving = Py_None;
    double fps = 0, release = 0;
    int judge = 0;
    if (!PyArg_ParseTuple(args, "sOO!OOOO!O!|O!dpOd", &name, &skeleton, &PyTuple_Type, &goals, &rotations,
                          &translations, &scales, &PyTuple_Type, &options, &PyTuple_Type, &outputs, &PyByteArray_Type,
                          &stop, &fps, &judge, &moving, &release))
        return NULL;
    const char *byte = stop && PyByteArray_Size(stop) > 0 ? PyByteArray_AsString(stop) : NULL;
    const method *method = find_method(name);
    call call = {
        .job.skeleton = skeleton_of(module, skeleton), .job.fps = fps, .job.release = release, .job.judge = judge};
    if (!method || !call.job.skeleton) return NULL;
    int failed = add_options(&call.job.options, method, options) < 0 || add_moving(&call.job, moving) < 0 ||
                 add_pose(&call, rotations, translations, scales) < 0 ||
                 parse_goals(&call.job, goals, take_array, &call) < 0 || add_outputs(&call, outputs) < 0 ||
                 run(method, &call, byte) < 0;
    free((void *)call.job.goals);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

/* --- one item per call ----------------------------------------------------------------------------------------------
 *
 * As in single.c, anything but a single item is left to Python, which has all rules and messages: the result is None.
 */

/* A row or a point of a goal. */
typedef struct {
    enum { ABSENT, FIXED, OPEN } state;
    int argument; /* of the call, where open */
    double row[MAX_COLUMNS];
} goal_part;

typedef struct {
    PyObject_HEAD PyObject *skeleton, *moving; /* kept for the call */
    const method *method;
    call call;        /* without arrays */
    goal_part *parts; /* GOAL_PARTS for every goal */
    int arguments;    /* after those of the pose */
    int moves;        /* whether it returns translations */
    int history;      /* whether it returns a history, */
    int *places;      /* and errors of goals: the index of each; NULL: not */
} prepared;

/* The arguments of a call for its pose: rotations, translations and scales. */
enum { POSE_ARGUMENTS = 3 };

/* A part as None, a whole number, which says the argument of the call, or numbers. */
static int take_prepared(void *taker, int index, int part, PyObject *value) {
    const prepared *self = taker;
    goal_part *into = &self->parts[GOAL_PARTS * index + part];
    const int columns = goal_fields[part].columns;
    int is_float;
    into->state = value == Py_None ? ABSENT : PyLong_CheckExact(value) ? OPEN : FIXED;
    if (into->state == OPEN) {
        long argument = PyLong_AsLong(value);
        into->argument = POSE_ARGUMENTS + (int)argument;
        if (argument >= 0 && argument < self->arguments) return 0;
        PyErr_Format(PyExc_ValueError, "Prepared: there is no argument %R", value);
        return -1;
    }
    if (into->state == ABSENT || read_row(value, columns, into->row, &is_float)) return 0;
    PyErr_Format(PyExc_TypeError, "Prepared: %R is not a row of %d numbers", value, columns);
    return -1;
}

static int prepare(prepared *self, PyObject *module, const char *name, PyObject *goals, PyObject *options) {
    ik_solve_job *job = &self->call.job;
    job->skeleton = skeleton_of(module, self->skeleton);
    self->method = find_method(name);
    if (!job->skeleton || !self->method || add_options(&job->options, self->method, options) < 0) return -1;
    self->parts = calloc((size_t)PyTuple_Size(goals) + 1, GOAL_PARTS * sizeof *self->parts);
    if (self->parts) return parse_goals(job, goals, take_prepared, self);
    PyErr_NoMemory();
    return -1;
}

/* An index for every goal, ascending; None for none. */
static int prepare_places(prepared *self, PyObject *places) {
    const int count = self->call.job.goal_count;
    if (places == Py_None) return 0;
    if (!(self->places = calloc((size_t)count + 1, sizeof *self->places))) {
        PyErr_NoMemory();
        return -1;
    }
    int right = PyTuple_Check(places) && PyTuple_Size(places) == count;
    for (int i = 0, least = 0; right && i < count; i++, least = self->places[i - 1] + 1) {
        if (to_int(PyTuple_GetItem(places, i), &self->places[i]) < 0) return -1;
        right = self->places[i] >= least;
    }
    if (!right) PyErr_SetString(PyExc_ValueError, "Prepared: expected a place for every goal, in ascending order");
    return right ? 0 : -1;
}

static PyObject *prepared_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    const char *name;
    PyObject *skeleton, *goals, *options, *places = Py_None, *moving = Py_None;
    int arguments, moves, history = 0, judge = 0;
    if (keywords || !PyArg_ParseTuple(args, "sOO!O!ip|pOpO", &name, &skeleton, &PyTuple_Type, &goals, &PyTuple_Type,
                                      &options, &arguments, &moves, &history, &places, &judge, &moving))
        return NULL;
    prepared *self = (prepared *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    self->skeleton = Py_NewRef(skeleton);
    self->moving = Py_NewRef(moving);
    self->arguments = arguments;
    self->moves = moves;
    self->history = history;
    self->call.job.judge = judge;
    if (prepare(self, PyType_GetModule(type), name, goals, options) == 0 && prepare_places(self, places) == 0 &&
        add_moving(&self->call.job, moving) == 0)
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

static void prepared_dealloc(PyObject *object) {
    prepared *self = (prepared *)object;
    PyTypeObject *type = Py_TYPE(object);
    free((void *)self->call.job.goals);
    free(self->parts);
    free(self->places);
    Py_XDECREF(self->skeleton);
    Py_XDECREF(self->moving);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* A view of an array without its leading axes, if these have length 1; else the array. */
static PyObject *squeezed(PyArrayObject *array, int axes) {
    int leading = PyArray_NDIM(array) - axes;
    for (int k = 0; k < leading; k++)
        if (PyArray_DIM(array, k) != 1) return Py_NewRef((PyObject *)array);
    if (leading <= 0) return Py_NewRef((PyObject *)array);
    PyArray_Dims own = {PyArray_DIMS(array) + leading, axes};
    return PyArray_Newshape(array, &own, NPY_CORDER);
}

static void count_axes(int *leading, int found) { *leading = found > *leading ? found : *leading; }

/* The value without leading axes of length 1, each a list or an axis of an array, and their number. NULL, with or
 * without an exception, if there is none. */
static PyObject *without_axes(PyObject *value, int columns, int *leading) {
    int axes = columns > 1, found = 0;
    PyObject *item = Py_NewRef(value);
    while ((PyList_CheckExact(item) || PyTuple_CheckExact(item)) && PySequence_Size(item) == 1) {
        PyObject *inner = PySequence_GetItem(item, 0);
        Py_DECREF(item);
        if (!inner) PyErr_Clear(); /* another thread has changed the list */
        if (!inner) return NULL;
        item = inner;
        found++;
    }
    if (PyArray_CheckExact(item) && PyArray_NDIM((PyArrayObject *)item) > axes) {
        found += PyArray_NDIM((PyArrayObject *)item) - axes;
        PyObject *own = squeezed((PyArrayObject *)item, axes);
        Py_DECREF(item);
        item = own;
    }
    count_axes(leading, found);
    return item;
}

/* Reads a row of a single item, and raises the number of its leading axes of length 1. */
static int read_item(PyObject *value, int columns, double *row, int *leading) {
    int is_float;
    PyObject *item = without_axes(value, columns, leading);
    int known = item && read_row(item, columns, row, &is_float);
    Py_XDECREF(item);
    return known;
}

/* Fills the parts of the goals, including those of this call. 0 to leave the call to Python. */
static int fill_goals(const prepared *self, PyObject *args, call *call, ik_goal *goals, goal_part *parts) {
    ptrdiff_t size = call->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    for (int i = 0; i < self->call.job.goal_count; i++, parts += GOAL_PARTS) {
        for (int k = 0; k < GOAL_PARTS; k++) {
            goal_part *part = &parts[k];
            int columns = goal_fields[k].columns;
            void *into = goal_part_of(&goals[i], k);
            if (part->state == OPEN &&
                !read_item(PyTuple_GetItem(args, part->argument), columns, part->row, &call->leading))
                return 0;
            if (part->state == ABSENT) continue;
            if (k >= GOAL_ROWS) {
                memcpy(into, part->row, 3 * sizeof *part->row);
                continue;
            }
            if (call->type == NPY_FLOAT) narrow_row(part->row, columns);
            *(ik_rows *)into = (ik_rows){part->row, 0, size};
            if (goals[i].kind == IK_DISTANCE && goal_fields[k].at == offsetof(ik_goal, distance) && part->row[0] < 0)
                return 0; /* Python refuses it */
        }
    }
    return 1;
}

/* More leading axes than this are left to Python. */
enum { MOST_LEADING = 8 };

/* A new array with the leading axes of the call, and some axes of its own. */
static PyObject *new_array(const call *call, int axes, const npy_intp *own, int type) {
    npy_intp shape[MOST_LEADING + 2];
    for (int k = 0; k < call->leading + axes; k++)
        shape[k] = k < call->leading ? 1 : own[k - call->leading];
    return PyArray_SimpleNew(call->leading + axes, shape, type);
}

/* A number of the item, as a NumPy scalar. */
static PyObject *number_of(const call *call, const void *number, int type) {
    if (call->leading) {
        PyObject *array = new_array(call, 0, NULL, type);
        if (array) memcpy(PyArray_DATA((PyArrayObject *)array), number, (size_t)PyArray_NBYTES((PyArrayObject *)array));
        return array;
    }
    PyArray_Descr *description = PyArray_DescrFromType(type);
    PyObject *made = PyArray_Scalar((void *)number, description, NULL);
    Py_DECREF(description);
    return made;
}

/* A row for every joint, as in a pose, and its address. */
static PyObject *joints_array(const call *call, int columns, ik_lists *lists) {
    npy_intp shape[2] = {call->job.skeleton->count, columns};
    PyObject *array = new_array(call, 2, shape, call->type);
    if (!array) return NULL;
    ptrdiff_t size = call->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    *lists = (ik_lists){{PyArray_DATA((PyArrayObject *)array), 0, size}, columns * size, shape[0]};
    return array;
}

/* The array of a pose is read-only. */
static PyObject *frozen(PyObject *array) {
    if (array != Py_None) PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    return array;
}

/* An array of so many axes of its own, all NaN. */
static PyObject *nan_array(const call *call, int axes, const npy_intp *own) {
    PyObject *array = new_array(call, axes, own, call->type);
    if (!array) return NULL;
    void *numbers = PyArray_DATA((PyArrayObject *)array);
    for (npy_intp i = 0; i < PyArray_SIZE((PyArrayObject *)array); i++)
        call->type == NPY_FLOAT ? (((float *)numbers)[i] = (float)NAN) : (((double *)numbers)[i] = (double)NAN);
    return array;
}

/* The history, if it is wanted. */
static PyObject *history_of(const prepared *self, call *call) {
    if (!self->history) return Py_NewRef(Py_None);
    const npy_intp count = call->job.options.iterations + 1;
    PyObject *array = nan_array(call, 1, &count);
    if (!array) return NULL;
    ptrdiff_t size = call->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    call->job.history = (ik_lists){{PyArray_DATA((PyArrayObject *)array), 0, size}, size, count};
    return array;
}

/* The errors of goals as in a Solution, a distance and an angle each, if they are wanted. */
static PyObject *errors_of(const prepared *self, const call *call) {
    const int count = call->job.goal_count;
    if (!self->places) return Py_NewRef(Py_None);
    const npy_intp shape[2] = {self->places[count - 1] / 2 + 1, 2};
    PyObject *array = nan_array(call, 2, shape);
    size_t size = call->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    const char *missed = call->job.goal_errors.rows.data;
    for (int i = 0; array && i < count; i++)
        memcpy((char *)PyArray_DATA((PyArrayObject *)array) + (size_t)self->places[i] * size, missed + i * size, size);
    return array;
}

/* The outputs, or NULL: with an exception, or without one to leave the call to Python. */
static PyObject *solve_item(const prepared *self, call *call) {
    double error, rotation_error; /* or a float in the same place */
    int32_t status, iterations;
    PyObject *solved = joints_array(call, 4, &call->job.solved);
    PyObject *moved = self->moves ? joints_array(call, 3, &call->job.moved) : Py_NewRef(Py_None);
    PyObject *history = history_of(self, call), *found = NULL;
    call->job.error = (ik_rows){&error, 0, 0};
    call->job.rotation_error = (ik_rows){&rotation_error, 0, 0};
    call->job.status = (ik_rows){&status, 0, 0};
    call->job.iterations = (ik_rows){&iterations, 0, 0};
    if (solved && moved && history &&
        !self->method->check(&call->job, self->method->takes) && /* Python says what is refused */
        run(self->method, call, NULL) == 0 && status < IK_UNUSABLE)
        found = Py_BuildValue("OONNNNON", frozen(solved), frozen(moved), number_of(call, &error, call->type),
                              number_of(call, &rotation_error, call->type), number_of(call, &iterations, NPY_INT32),
                              number_of(call, &status, NPY_INT32), history, errors_of(self, call));
    Py_XDECREF(solved);
    Py_XDECREF(moved);
    Py_XDECREF(history);
    return found;
}

/* Reads the pose of a single item, which the views keep alive. 0 to leave the call to Python. */
static int take_pose(call *call, PyObject *args, PyObject **views) {
    for (int i = 0; i < POSE_ARGUMENTS; i++) {
        PyObject *value = PyTuple_GetItem(args, i);
        int is_array = PyArray_CheckExact(value);
        if (is_array ? PyArray_NDIM((PyArrayObject *)value) < 2 : i == 0 || value != Py_None) return 0;
        if (is_array) count_axes(&call->leading, PyArray_NDIM((PyArrayObject *)value) - 2);
        if (!(views[i] = is_array ? squeezed((PyArrayObject *)value, 2) : Py_NewRef(value))) return 0;
    }
    if (PyArray_NDIM((PyArrayObject *)views[0]) != 2) return 0;
    if (add_pose(call, views[0], views[1], views[2]) == 0) return 1;
    PyErr_Clear();
    return 0;
}

/* Like solve_item, for the arguments of a call. */
static PyObject *solve_arguments(const prepared *self, call *call, PyObject *args) {
    size_t count = (size_t)call->job.goal_count, bytes = count * sizeof(ik_goal);
    size_t bytes_of_parts = count * GOAL_PARTS * sizeof(goal_part);
    char *memory = malloc(bytes + bytes_of_parts + count * sizeof(double) + 1);
    if (!memory) return PyErr_NoMemory();
    ik_goal *goals = memcpy(memory, self->call.job.goals, bytes);
    goal_part *parts = memcpy(memory + bytes, self->parts, bytes_of_parts);
    call->job.goals = goals;
    if (self->places) {
        ptrdiff_t size = call->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
        call->job.goal_errors = (ik_lists){{memory + bytes + bytes_of_parts, 0, size}, size, (ptrdiff_t)count};
    }
    int known = fill_goals(self, args, call, goals, parts) && call->leading <= MOST_LEADING;
    PyObject *found = known ? solve_item(self, call) : NULL;
    free(memory);
    return found;
}

static PyObject *call_prepared(PyObject *object, PyObject *args, PyObject *keywords) {
    const prepared *self = (const prepared *)object;
    if (keywords || PyTuple_Size(args) != POSE_ARGUMENTS + self->arguments) Py_RETURN_NONE;
    PyObject *views[POSE_ARGUMENTS] = {NULL};
    call call = self->call;
    PyObject *found = take_pose(&call, args, views) ? solve_arguments(self, &call, args) : NULL;
    for (int i = 0; i < POSE_ARGUMENTS; i++)
        Py_XDECREF(views[i]);
    return found || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}

static PyType_Slot prepared_slots[] = {
    {Py_tp_doc,
     "Prepared(method, skeleton, goals, options, arguments, moves, history=False, places=None, judge=False, "
     "moving=None)\n--\n\n"
     "Called with rotations, translations and scales of one item and so many arguments: rotations, "
     "translations where joints move, error, rotation error, iterations, status, history where wanted, and the errors "
     "of goals where their places are given: twice the number of a goal, and 1 more for an angle. Or None for what is "
     "more than one item."},
    {Py_tp_new, prepared_new},
    {Py_tp_dealloc, prepared_dealloc},
    {Py_tp_call, call_prepared},
    {0, NULL},
};

static PyType_Spec prepared_spec = {
    .name = "ikcore._core.Prepared",
    .basicsize = sizeof(prepared),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = prepared_slots,
};

static int add_prepared(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &prepared_spec, NULL);
    int failed = !type || PyModule_AddType(module, (PyTypeObject *)type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

/* --- goals as written by users --------------------------------------------------------------------------------------
 *
 * Code that solves pose by pose writes the same goals each time with other arrays. Therefore goals are split into their
 * arrays and points, and everything else, the structure, which is the key of a Prepared made for it. */

/* The fields of a kind of goal: (names of those that are arrays, of points and axes of joints, of all others). */
typedef struct {
    PyObject *arrays, *points, *others;
} goal_kind;

static int find_kind(goal_kind *kind, PyObject *kinds, PyObject *goal) {
    PyObject *found = PyDict_GetItemWithError(kinds, (PyObject *)Py_TYPE(goal));
    return found && PyArg_ParseTuple(found, "O!O!O!", &PyTuple_Type, &kind->arrays, &PyTuple_Type, &kind->points,
                                     &PyTuple_Type, &kind->others);
}

/* (kind, and the fields that are no arrays) */
static PyObject *others_of(PyObject *goal, PyObject *names) {
    PyObject *kind = (PyObject *)Py_TYPE(goal), *others = PyTuple_New(PyTuple_Size(names) + 1);
    int failed = !others || PyTuple_SetItem(others, 0, Py_NewRef(kind)) < 0;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(names); i++) {
        PyObject *value = PyObject_GetAttr(goal, PyTuple_GetItem(names, i));
        failed = !value || PyTuple_SetItem(others, i + 1, value) < 0;
    }
    if (failed) Py_CLEAR(others);
    return others;
}

/* The code of an array or a point in the structure. A point of zeros is another structure: it is the joint, and an axis
 * of zeros is refused. A point that is not finite, or not three numbers, is UNKNOWN. */
enum { UNKNOWN = -1, LACKS, HAS, HAS_ZEROS };

static int look_at(PyObject *value, int is_point) {
    double p[4];
    int is_float;
    if (value == Py_None) return LACKS;
    if (!is_point) return HAS;
    if (!read_row(value, 3, p, &is_float) || !isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2])) return UNKNOWN;
    return p[0] != 0 || p[1] != 0 || p[2] != 0 ? HAS : HAS_ZEROS;
}

/* Appends the given arrays or points to the arguments, and to `given` their codes, a digit each. 1: done; 0: left to
 * Python; -1: failed. */
static int add_given(PyObject *goal, PyObject *names, int is_point, PyObject *arguments, unsigned long *given) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++) {
        PyObject *value = PyObject_GetAttr(goal, PyTuple_GetItem(names, i));
        if (!value) return -1;
        int what = look_at(value, is_point);
        int failed = what > LACKS && PyList_Append(arguments, value) < 0;
        Py_DECREF(value);
        if (failed || what == UNKNOWN) return failed ? -1 : 0;
        *given = 3 * *given + (unsigned long)what;
    }
    return 1;
}

static int append_new(PyObject *list, PyObject *item) {
    int failed = !item || PyList_Append(list, item) < 0;
    Py_XDECREF(item);
    return failed ? -1 : 0;
}

/* Appends to the structure everything that decides how goals are solved, and to the arguments their arrays and points.
 * 1: done; 0: left to Python; -1: failed. */
static int take_apart(PyObject *goals, PyObject *kinds, PyObject *structure, PyObject *arguments) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(goals); i++) {
        PyObject *goal = PyTuple_GetItem(goals, i);
        unsigned long given = 0;
        goal_kind kind;
        if (!find_kind(&kind, kinds, goal)) return PyErr_Occurred() ? -1 : 0;
        int done = add_given(goal, kind.arrays, 0, arguments, &given);
        if (done > 0) done = add_given(goal, kind.points, 1, arguments, &given);
        if (done <= 0) return done;
        if (append_new(structure, others_of(goal, kind.others)) < 0 ||
            append_new(structure, PyLong_FromUnsignedLong(given)) < 0)
            return -1;
    }
    return 1;
}

/* The Prepared for a structure, or None; `prepare` makes a new one, which is then kept. */
static PyObject *prepared_for(PyObject *kept, PyObject *structure, PyObject *prepare, PyObject *skeleton,
                              PyObject *goals) {
    PyObject *found = PyDict_GetItemWithError(kept, structure);
    if (found) return Py_NewRef(found);
    if (PyErr_Occurred()) return NULL;
    return PyObject_CallFunctionObjArgs(prepare, skeleton, goals, structure, NULL);
}

static PyObject *solve_structure(PyObject *prepared, PyObject *arguments) {
    if (prepared == Py_None) Py_RETURN_NONE;
    PyObject *given = PyList_AsTuple(arguments), *found = given ? PyObject_CallObject(prepared, given) : NULL;
    Py_XDECREF(given);
    return found;
}

static PyObject *solve_single(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *method, *asked, *goals, *rotations, *translations, *scales, *kinds, *kept, *prepare, *skeleton;
    if (!PyArg_ParseTuple(args, "OOO!OOOO!O!OO", &method, &asked, &PyTuple_Type, &goals, &rotations, &translations,
                          &scales, &PyDict_Type, &kinds, &PyDict_Type, &kept, &prepare, &skeleton))
        return NULL;
    PyObject *structure = Py_BuildValue("[OO]", method, asked), *found = NULL;
    PyObject *arguments = Py_BuildValue("[OOO]", rotations, translations, scales);
    int apart = structure && arguments ? take_apart(goals, kinds, structure, arguments) : -1;
    PyObject *key = apart > 0 ? PyList_AsTuple(structure) : NULL;
    PyObject *prepared = key ? prepared_for(kept, key, prepare, skeleton, goals) : NULL;
    if (prepared) found = solve_structure(prepared, arguments);
    if (apart == 0) found = Py_NewRef(Py_None);
    Py_XDECREF(prepared);
    Py_XDECREF(key);
    Py_XDECREF(arguments);
    Py_XDECREF(structure);
    return found;
}

static PyMethodDef functions[] = {
    {"solve", solve, METH_VARARGS,
     "solve(method, skeleton, goals, rotations, translations, scales, options, outputs, stop=..., fps=..., judge=..., "
     "moving=..., /)\n--\n\n"
     "Arrays of one item, of items, or of frames that follow each other and items. "
     "Writes outputs: (rotations, status, error, rotation_error, iterations, history, translations, goal_errors), the"
     " last three where they are not None. Ends before all is done"
     " where the first byte of stop, a bytearray, is set meanwhile."},
    {"solve_single", solve_single, METH_VARARGS,
     "solve_single(method, asked, goals, rotations, translations, scales, kinds, kept, prepare, skeleton, /)\n--\n\n"
     "Solves one item by the Prepared that is kept for goals of this structure, or that prepare(skeleton, goals,"
     " structure) makes, a structure being (method, asked, ...); returns what that does. kinds: the names of the "
     "fields of a kind of goal that are arrays, of"
     " those that are points or axes of joints, and of all others."},
    {NULL, NULL, 0, NULL},
};

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* A tuple of what `append` adds to a list. */
static int add_list(PyObject *module, const char *name, int (*append)(PyObject *list)) {
    PyObject *list = PyList_New(0);
    PyObject *tuple = list && append(list) == 0 ? PyList_AsTuple(list) : NULL;
    int failed = !tuple || PyModule_AddObjectRef(module, name, tuple) < 0;
    Py_XDECREF(tuple);
    Py_XDECREF(list);
    return failed ? -1 : 0;
}

static int append_some(PyObject *list, const method *first, const method *last) {
    for (const method *method = first; method < last && method->name; method++)
        if (append_new(list, Py_BuildValue("(ssI)", method->name, method->doc, method->takes)) < 0) return -1;
    return 0;
}

static int append_methods(PyObject *list) { return append_some(list, methods, methods + ITERATIVE); }
static int append_forms(PyObject *list) {
    return append_some(list, methods + ITERATIVE, methods + sizeof methods / sizeof *methods);
}

static int append_goal_kinds(PyObject *list) {
#define GOAL_KIND(name, numbers, doc)                                                                                  \
    if (append_new(list, Py_BuildValue("(ss)", #name, doc)) < 0) return -1;
    IK_GOAL_KINDS(GOAL_KIND)
    return 0;
}

static int append_goal_rows(PyObject *list) {
    for (int k = 0; k < GOAL_ROWS; k++)
        if (append_new(list, Py_BuildValue("(sis)", goal_fields[k].name, goal_fields[k].columns, goal_fields[k].doc)) <
            0)
            return -1;
    return 0;
}

/* The words and bits of goals and limits that only some methods take; kinds of goals are among them. */
static int append_takes(PyObject *list) {
#define TAKES(name, doc)                                                                                               \
    if (append_new(list, Py_BuildValue("(sI)", #name, (unsigned)IK_TAKES_##name)) < 0) return -1;
#define TAKES_KIND(name, numbers, doc) TAKES(name, doc)
    IK_TAKES(TAKES)
    IK_GOAL_KINDS(TAKES_KIND)
    return 0;
}

#define OPTION_NAME(name, type)                                                                                        \
    if (append_new(list, PyUnicode_FromString(#name)) < 0) return -1;
static int append_options(PyObject *list) {
    IK_OPTIONS(OPTION_NAME)
    return 0;
}

static int append_method_options(PyObject *list) {
    for (const method *method = methods; method->name; method++)
        for (const option *o = method->options; o->name; o++)
            if (append_new(list, Py_BuildValue("(sssddds)", method->name, o->name, o->type, o->default_, o->lowest,
                                               o->highest, o->doc)) < 0)
                return -1;
    return 0;
}

int add_solve(PyObject *module) {
    if (add_list(module, "METHODS", append_methods) < 0 || add_list(module, "CLOSED_FORMS", append_forms) < 0 ||
        add_list(module, "OPTIONS", append_options) < 0 ||
        add_list(module, "METHOD_OPTIONS", append_method_options) < 0 ||
        add_list(module, "GOAL_KINDS", append_goal_kinds) < 0 || add_list(module, "GOAL_ROWS", append_goal_rows) < 0 ||
        add_list(module, "TAKES", append_takes) < 0)
        return -1;
    if (PyModule_AddIntConstant(module, "REACHES", IK_REACHES) < 0) return -1;
    if (PyModule_AddIntConstant(module, "ALL_JOINTS", IK_ALL_JOINTS) < 0) return -1;
    return add_prepared(module) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
