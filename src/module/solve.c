/* The iterative methods as functions of Python: `solve`, which takes the name of the method, and `Prepared`, which
 * takes one item a call and knows everything else before.
 *
 * Arrays must fit: one kind of number, one item a row, or all of a single item. ikcore/solving makes them fit and says
 * what does not; what is refused here is a mistake there. Structure is checked before a kernel sees it. Runs without
 * the GIL, and ends soon after Ctrl-C. */
#include "solve.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarrayobject.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
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

typedef struct {
    const char *name, *doc;
    unsigned takes;
    const option *options;
    ik_options (*defaults)(void);
    size_t (*scratch[2])(const ik_solve_job *job); /* float, double */
    void (*solve[2])(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);
} method;

#define METHOD(name, takes, doc)                                                                                       \
    {#name,                                                                                                            \
     doc,                                                                                                              \
     takes,                                                                                                            \
     options_of_##name,                                                                                                \
     ik_##name##_options,                                                                                              \
     {ik_##name##_scratch_f32, ik_##name##_scratch_f64},                                                               \
     {ik_##name##_f32, ik_##name##_f64}},
static const method methods[] = {IK_METHODS(METHOD){0}};

/* One call: the job, and what all its arrays have in common. */
typedef struct {
    ik_solve_job job;
    npy_intp items;
    int first; /* the axis that rows start at: 0 where all arrays are a single item's, 1 after the axis of items, 2
                  after those of frames and of items */
    int type;  /* NPY_FLOAT or NPY_DOUBLE */
} call;

/* An array with so many axes for an item, the last of `columns` numbers; without axes, columns is 1. */
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

/* Rows of an array with so many bytes from number to number. */
static ik_rows rows_of(const call *call, PyArrayObject *array, npy_intp step) {
    return (ik_rows){PyArray_DATA(array), call->first ? PyArray_STRIDE(array, call->first - 1) : 0, step,
                     call->first == 2 ? PyArray_STRIDE(array, 0) : 0};
}

/* From one to the next along an axis of the item. */
static npy_intp stride(const call *call, PyArrayObject *array, int axis) {
    return PyArray_STRIDE(array, call->first + axis);
}

/* Rows of an item; None leaves them not given. */
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

/* The rows that a goal may have. */
typedef struct {
    const char *name, *doc;
    int columns;
    size_t at; /* in an ik_goal */
} goal_field;

#define GOAL_FIELD(name, columns, doc) {#name, doc, columns, offsetof(ik_goal, name)},
static const goal_field goal_fields[] = {IK_GOAL_ROWS(GOAL_FIELD)};
enum { GOAL_ROWS = sizeof goal_fields / sizeof *goal_fields };

static ik_rows *goal_rows(ik_goal *goal, int field) { return (ik_rows *)((char *)goal + goal_fields[field].at); }

/* (kind, joint, chain, relative, other, other_chain, level, offset, other_offset, axis, rows): all but the rows, of
 * which there are as many as fields. */
static PyObject *parse_goal(ik_goal *goal, PyObject *given) {
    int kind;
    PyObject *rows;
    double *offset = goal->offset, *other = goal->other_offset, *axis = goal->axis;
    if (!PyArg_ParseTuple(given, "iiiiiii(ddd)(ddd)(ddd)O!", &kind, &goal->joint, &goal->chain, &goal->relative,
                          &goal->other, &goal->other_chain, &goal->level, &offset[0], &offset[1], &offset[2], &other[0],
                          &other[1], &other[2], &axis[0], &axis[1], &axis[2], &PyTuple_Type, &rows))
        return NULL;
    goal->kind = (enum ik_goal_kind)kind;
    if (PyTuple_Size(rows) == GOAL_ROWS) return rows;
    PyErr_Format(PyExc_TypeError, "solve: expected %d rows of a goal", GOAL_ROWS);
    return NULL;
}

static int add_goal(const call *call, ik_goal *goal, PyObject *given) {
    PyObject *rows = parse_goal(goal, given);
    for (int k = 0; rows && k < GOAL_ROWS; k++) {
        PyObject *row = PyTuple_GetItem(rows, k);
        if (add_rows(call, goal_rows(goal, k), row, goal_fields[k].name, goal_fields[k].columns) < 0) return -1;
    }
    return rows ? 0 : -1;
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

/* byte: see listener. */
static int run(const method *method, const call *call, const char *byte) {
    const char *wrong = ik_solve_check(&call->job, method->takes);
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
    PyObject *skeleton, *goals, *rotations, *translations, *scales, *options, *outputs, *stop = NULL;
    double fps = 0;
    if (!PyArg_ParseTuple(args, "sOO!OOOO!O!|O!d", &name, &skeleton, &PyTuple_Type, &goals, &rotations, &translations,
                          &scales, &PyTuple_Type, &options, &PyTuple_Type, &outputs, &PyByteArray_Type, &stop, &fps))
        return NULL;
    const char *byte = stop && PyByteArray_Size(stop) > 0 ? PyByteArray_AsString(stop) : NULL;
    const method *method = find_method(name);
    call call = {.job.skeleton = skeleton_of(module, skeleton), .job.fps = fps};
    if (!method || !call.job.skeleton) return NULL;
    int failed = add_options(&call.job.options, method, options) < 0 ||
                 add_pose(&call, rotations, translations, scales) < 0 || add_goals(&call, goals) < 0 ||
                 add_outputs(&call, outputs) < 0 || run(method, &call, byte) < 0;
    free((void *)call.job.goals);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

/* --- one item a call ------------------------------------------------------------------------------------------------
 *
 * As in single.c, what is not a single item is left to Python, which has all the rules and words: None says so. */

typedef struct {
    enum { ABSENT, FIXED, OPEN } state;
    int argument; /* of the call, where open */
    double row[MAX_COLUMNS];
} goal_row;

typedef struct {
    PyObject_HEAD PyObject *skeleton;
    const method *method;
    call call;      /* without arrays */
    goal_row *rows; /* GOAL_ROWS for every goal */
    int arguments;  /* after those of the pose */
    int moves;      /* whether joints slide */
} prepared;

/* The arguments of a call that are its pose: rotations, translations and scales. */
enum { POSE_ARGUMENTS = 3 };

/* As `parse_goal` has it; a row is None, a whole number, which says the argument of the call, or numbers. */
static int prepare_goal(prepared *self, ik_goal *goal, goal_row *rows, PyObject *given) {
    PyObject *values = parse_goal(goal, given);
    for (int k = 0; values && k < GOAL_ROWS; k++) {
        PyObject *value = PyTuple_GetItem(values, k);
        int is_float, columns = goal_fields[k].columns;
        rows[k].state = value == Py_None ? ABSENT : PyLong_CheckExact(value) ? OPEN : FIXED;
        if (rows[k].state == OPEN) {
            long argument = PyLong_AsLong(value);
            rows[k].argument = POSE_ARGUMENTS + (int)argument;
            if (argument >= 0 && argument < self->arguments) continue;
            PyErr_Format(PyExc_ValueError, "Prepared: there is no argument %R", value);
            return -1;
        }
        if (rows[k].state == ABSENT || read_row(value, columns, rows[k].row, &is_float)) continue;
        PyErr_Format(PyExc_TypeError, "Prepared: %R is not a row of %d numbers", value, columns);
        return -1;
    }
    return values ? 0 : -1;
}

static int prepare(prepared *self, PyObject *module, const char *name, PyObject *goals, PyObject *options) {
    size_t count = (size_t)PyTuple_Size(goals);
    ik_solve_job *job = &self->call.job;
    job->skeleton = skeleton_of(module, self->skeleton);
    self->method = find_method(name);
    if (!job->skeleton || !self->method || add_options(&job->options, self->method, options) < 0) return -1;
    ik_goal *made = calloc(count + 1, sizeof *made);
    job->goals = made;
    job->goal_count = (int)count;
    self->rows = calloc(count + 1, GOAL_ROWS * sizeof *self->rows);
    if (!made || !self->rows) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (prepare_goal(self, &made[i], self->rows + GOAL_ROWS * i, PyTuple_GetItem(goals, (Py_ssize_t)i)) < 0)
            return -1;
    return 0;
}

static PyObject *prepared_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    const char *name;
    PyObject *skeleton, *goals, *options;
    int arguments, moves;
    if (keywords || !PyArg_ParseTuple(args, "sOO!O!ip", &name, &skeleton, &PyTuple_Type, &goals, &PyTuple_Type,
                                      &options, &arguments, &moves))
        return NULL;
    prepared *self = (prepared *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    self->skeleton = Py_NewRef(skeleton);
    self->arguments = arguments;
    self->moves = moves;
    if (prepare(self, PyType_GetModule(type), name, goals, options) == 0) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

static void prepared_dealloc(PyObject *object) {
    prepared *self = (prepared *)object;
    PyTypeObject *type = Py_TYPE(object);
    free((void *)self->call.job.goals);
    free(self->rows);
    Py_XDECREF(self->skeleton);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* Gives the goals their rows, those of this call included. 0 for what is left to Python. */
static int fill_goals(const prepared *self, PyObject *args, int type, ik_goal *goals, goal_row *rows) {
    ptrdiff_t size = type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    for (int i = 0; i < self->call.job.goal_count; i++, rows += GOAL_ROWS)
        for (int k = 0; k < GOAL_ROWS; k++) {
            int is_float, columns = goal_fields[k].columns;
            if (rows[k].state == ABSENT) continue;
            if (rows[k].state == OPEN &&
                !read_row(PyTuple_GetItem(args, rows[k].argument), columns, rows[k].row, &is_float))
                return 0;
            if (type == NPY_FLOAT) narrow_row(rows[k].row, columns);
            *goal_rows(&goals[i], k) = (ik_rows){rows[k].row, 0, size};
            if (goals[i].kind == IK_DISTANCE && goal_fields[k].at == offsetof(ik_goal, distance) && rows[k].row[0] < 0)
                return 0; /* Python refuses it */
        }
    return 1;
}

static PyObject *scalar(const void *number, int type) {
    PyArray_Descr *description = PyArray_DescrFromType(type);
    PyObject *made = PyArray_Scalar((void *)number, description, NULL);
    Py_DECREF(description);
    return made;
}

/* A row of every joint, as a pose has it: nobody writes into it afterwards. */
static PyObject *joints_array(const call *call, int columns) {
    npy_intp shape[2] = {call->job.skeleton->count, columns};
    return PyArray_SimpleNew(2, shape, call->type);
}

static PyObject *frozen(PyObject *array) {
    if (array != Py_None) PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    return array;
}

/* The outputs, or NULL: with an exception, or without for what is left to Python. */
static PyObject *solve_item(const prepared *self, call *call) {
    double error, rotation_error; /* or a float in the same place */
    int32_t status, iterations;
    PyObject *solved = joints_array(call, 4), *moved = self->moves ? joints_array(call, 3) : Py_NewRef(Py_None);
    PyObject *found = NULL;
    call->job.error = (ik_rows){&error, 0, 0};
    call->job.rotation_error = (ik_rows){&rotation_error, 0, 0};
    call->job.status = (ik_rows){&status, 0, 0};
    call->job.iterations = (ik_rows){&iterations, 0, 0};
    if (solved && moved && add_joints(call, &call->job.solved, solved, "rotations", 4, 1) == 0 &&
        add_joints(call, &call->job.moved, moved, "translations", 3, 1) == 0 &&
        !ik_solve_check(&call->job, self->method->takes) && /* of what is refused Python says what */
        run(self->method, call, NULL) == 0 && status < IK_UNUSABLE)
        found = Py_BuildValue("OONNNN", frozen(solved), frozen(moved), scalar(&error, call->type),
                              scalar(&rotation_error, call->type), scalar(&iterations, NPY_INT32),
                              scalar(&status, NPY_INT32));
    Py_XDECREF(solved);
    Py_XDECREF(moved);
    return found;
}

static PyObject *call_prepared(PyObject *object, PyObject *args, PyObject *keywords) {
    const prepared *self = (const prepared *)object;
    if (keywords || PyTuple_Size(args) != POSE_ARGUMENTS + self->arguments) Py_RETURN_NONE;
    PyObject *pose[POSE_ARGUMENTS];
    for (int i = 0; i < POSE_ARGUMENTS; i++) {
        pose[i] = PyTuple_GetItem(args, i);
        if (!PyArray_CheckExact(pose[i]) && (i == 0 || pose[i] != Py_None)) Py_RETURN_NONE;
    }
    if (PyArray_NDIM((PyArrayObject *)pose[0]) != 2) Py_RETURN_NONE;
    call call = self->call;
    if (add_pose(&call, pose[0], pose[1], pose[2]) < 0) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    size_t count = (size_t)call.job.goal_count, bytes = count * sizeof(ik_goal);
    size_t bytes_of_rows = count * GOAL_ROWS * sizeof(goal_row);
    char *memory = malloc(bytes + bytes_of_rows + 1);
    if (!memory) return PyErr_NoMemory();
    ik_goal *goals = memcpy(memory, self->call.job.goals, bytes);
    goal_row *rows = memcpy(memory + bytes, self->rows, bytes_of_rows);
    call.job.goals = goals;
    PyObject *found = fill_goals(self, args, call.type, goals, rows) ? solve_item(self, &call) : NULL;
    free(memory);
    return found || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}

static PyType_Slot prepared_slots[] = {
    {Py_tp_doc,
     "Prepared(method, skeleton, goals, options, arguments, moves)\n--\n\n"
     "Called with rotations, translations and scales of one item and so many arguments: rotations, "
     "translations where joints move, error, rotation error, iterations and status; or None for what is more "
     "than one item."},
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

/* --- goals as they are written --------------------------------------------------------------------------------------
 *
 * Who solves pose by pose writes the same goals each time with other arrays in them. So goals are taken apart: their
 * arrays, and all else, by which the Prepared is found that was made for just that. */

/* The fields of a kind of goal: (names of those that are arrays, names of all others). */
typedef struct {
    PyObject *arrays, *others;
} goal_kind;

static int find_kind(goal_kind *kind, PyObject *kinds, PyObject *goal) {
    PyObject *found = PyDict_GetItemWithError(kinds, (PyObject *)Py_TYPE(goal));
    return found && PyArg_ParseTuple(found, "O!O!", &PyTuple_Type, &kind->arrays, &PyTuple_Type, &kind->others);
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

/* Appends the arrays that are given to the arguments, and returns which they are, as the bits of a number. */
static PyObject *given_of(PyObject *goal, PyObject *names, PyObject *arguments) {
    unsigned long given = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++) {
        PyObject *value = PyObject_GetAttr(goal, PyTuple_GetItem(names, i));
        int failed = !value || (value != Py_None && PyList_Append(arguments, value) < 0);
        if (value != Py_None) given |= 1UL << i;
        Py_XDECREF(value);
        if (failed) return NULL;
    }
    return PyLong_FromUnsignedLong(given);
}

/* Appends what decides how goals are solved to the structure, and their arrays to the arguments. 1: done; 0: some goal
 * is of no known kind; -1: failed. */
static int take_apart(PyObject *goals, PyObject *kinds, PyObject *structure, PyObject *arguments) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(goals); i++) {
        PyObject *goal = PyTuple_GetItem(goals, i);
        goal_kind kind;
        if (!find_kind(&kind, kinds, goal)) return PyErr_Occurred() ? -1 : 0;
        PyObject *others = others_of(goal, kind.others);
        PyObject *given = others ? given_of(goal, kind.arrays, arguments) : NULL;
        int failed = !others || !given || PyList_Append(structure, others) < 0 || PyList_Append(structure, given) < 0;
        Py_XDECREF(others);
        Py_XDECREF(given);
        if (failed) return -1;
    }
    return 1;
}

/* The Prepared for a structure, or None; `prepare` makes one that is not kept yet, and keeps it. */
static PyObject *prepared_for(PyObject *kept, PyObject *structure, PyObject *prepare, PyObject *skeleton,
                              PyObject *goals) {
    PyObject *found = PyDict_GetItemWithError(kept, structure);
    if (found) return Py_NewRef(found);
    PyErr_Clear(); /* what cannot be looked up, an array in place of a point, is left to Python, too */
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
    PyObject *method, *options, *goals, *rotations, *translations, *scales, *kinds, *kept, *prepare, *skeleton;
    if (!PyArg_ParseTuple(args, "OOO!OOOO!O!OO", &method, &options, &PyTuple_Type, &goals, &rotations, &translations,
                          &scales, &PyDict_Type, &kinds, &PyDict_Type, &kept, &prepare, &skeleton))
        return NULL;
    PyObject *structure = Py_BuildValue("[OO]", method, options), *found = NULL;
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
     "solve(method, skeleton, goals, rotations, translations, scales, options, outputs, stop=..., fps=..., /)\n--\n\n"
     "Arrays of one item, of items, or of frames that follow each other and items. "
     "Writes outputs: (rotations, status, error, rotation_error, iterations, history, translations, goal_errors), the"
     " last three where they are not None. Ends before all is done"
     " where the first byte of stop, a bytearray, is set meanwhile."},
    {"solve_single", solve_single, METH_VARARGS,
     "solve_single(method, options, goals, rotations, translations, scales, kinds, kept, prepare, skeleton, /)\n--\n\n"
     "Solves one item by the Prepared that is kept for goals of this structure, or that prepare(skeleton, goals,"
     " structure) makes; returns what that does. kinds: the names of the fields of a kind of goal that are arrays, and"
     " of all others."},
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

static int append_row(PyObject *list, PyObject *row) {
    int failed = !row || PyList_Append(list, row) < 0;
    Py_XDECREF(row);
    return failed ? -1 : 0;
}

static int append_methods(PyObject *list) {
    for (const method *method = methods; method->name; method++)
        if (append_row(list, Py_BuildValue("(ssI)", method->name, method->doc, method->takes)) < 0) return -1;
    return 0;
}

static int append_goal_kinds(PyObject *list) {
#define GOAL_KIND(name, numbers, doc)                                                                                  \
    if (append_row(list, Py_BuildValue("(ss)", #name, doc)) < 0) return -1;
    IK_GOAL_KINDS(GOAL_KIND)
    return 0;
}

static int append_goal_rows(PyObject *list) {
    for (int k = 0; k < GOAL_ROWS; k++)
        if (append_row(list, Py_BuildValue("(sis)", goal_fields[k].name, goal_fields[k].columns, goal_fields[k].doc)) <
            0)
            return -1;
    return 0;
}

/* Of what not every method takes the word and its bit; kinds of goals are among them. */
static int append_takes(PyObject *list) {
#define TAKES(name, doc)                                                                                               \
    if (append_row(list, Py_BuildValue("(sI)", #name, (unsigned)IK_TAKES_##name)) < 0) return -1;
#define TAKES_KIND(name, numbers, doc) TAKES(name, doc)
    IK_TAKES(TAKES)
    IK_GOAL_KINDS(TAKES_KIND)
    return 0;
}

#define OPTION_NAME(name, type)                                                                                        \
    if (append_row(list, PyUnicode_FromString(#name)) < 0) return -1;
static int append_options(PyObject *list) {
    IK_OPTIONS(OPTION_NAME)
    return 0;
}

static int append_method_options(PyObject *list) {
    for (const method *method = methods; method->name; method++)
        for (const option *o = method->options; o->name; o++)
            if (append_row(list, Py_BuildValue("(sssddds)", method->name, o->name, o->type, o->default_, o->lowest,
                                               o->highest, o->doc)) < 0)
                return -1;
    return 0;
}

int add_solve(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    if (add_list(module, "METHODS", append_methods) < 0 || add_list(module, "OPTIONS", append_options) < 0 ||
        add_list(module, "METHOD_OPTIONS", append_method_options) < 0 ||
        add_list(module, "GOAL_KINDS", append_goal_kinds) < 0 || add_list(module, "GOAL_ROWS", append_goal_rows) < 0 ||
        add_list(module, "TAKES", append_takes) < 0)
        return -1;
    if (PyModule_AddIntConstant(module, "REACHES", IK_REACHES) < 0) return -1;
    return add_prepared(module) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
