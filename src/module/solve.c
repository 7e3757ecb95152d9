/* The iterative methods as functions of Python: `solve`, which takes the name of the method, and `Prepared`, which
 * takes one item a call and knows everything else before.
 *
 * Arrays must fit: one kind of number, one item a row, or all of a single item. ikcore/solving makes them fit and says
 * what does not; what is refused here is a mistake there. Structure is checked before a kernel sees it. Runs without
 * the GIL, and ends soon after Ctrl-C. */
#include "solve.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarrayobject.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _WIN32
#define NOGDI /* which has names of its own for common words */
#include <windows.h>
#endif

#include "arrays.h"
#include "ik.h"
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
IK_FORM_OPTIONS(OPTION_TYPE)
#define OPTION(name, default_, lowest, highest, doc) {#name, type_of_##name, default_, lowest, highest, doc},
#define OPTIONS_OF(name, takes, doc) static const option options_of_##name[] = {IK_OPTIONS_OF_##name(OPTION){0}};
IK_METHODS(OPTIONS_OF)
IK_FORMS(OPTIONS_OF)

typedef struct {
    const char *name, *doc;
    unsigned takes;
    const option *options;
    ik_options (*defaults)(void);                  /* this and the rest: NULL of a form */
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

#define FORM(name, takes, doc) {#name, doc, takes, options_of_##name, NULL, {NULL, NULL}, {NULL, NULL}},
static const method forms[] = {IK_FORMS(FORM){0}};

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

/* How a solve hears that it should end: by a signal, which Python knows of once it is asked in its main thread; or by a
 * bytearray of which the first byte is set meanwhile. */
typedef struct {
    PyThreadState *thread;     /* that solves, without the GIL */
    const volatile char *byte; /* NULL: none */
    double asked;              /* when, in seconds; 0: not yet */
    int deaf;                  /* a thread that Python tells nothing */
    int raised;                /* what the signal has raised is set */
} listener;

/* To ask takes the GIL, for which another thread may let this one wait for 5 ms. */
#define ASKED_EVERY 0.05

static double seconds(void) {
#ifdef _WIN32 /* whose C library may lack what C has had since 2011 */
    return 1e-3 * (double)GetTickCount64();
#else
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#endif
}

static int is_main_thread(void) {
    PyObject *name = PyUnicode_FromString("threading"), *threading = name ? PyImport_GetModule(name) : NULL;
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    int is = !ident || PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();
    PyErr_Clear();
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    Py_XDECREF(name);
    return is;
}

static int ask(void *context) {
    listener *ear = context;
    if (ear->byte && *ear->byte) return 1;
    if (ear->deaf) return 0;
    double now = seconds(), since = now - ear->asked;
    if (ear->asked == 0) since = 0, ear->asked = now;
    if (since >= 0 && since < ASKED_EVERY) return 0; /* clocks are set back, too */
    ear->asked = now;
    PyEval_RestoreThread(ear->thread);
    ear->raised = PyErr_CheckSignals() < 0;
    ear->deaf = !ear->raised && !is_main_thread();
    ear->thread = PyEval_SaveThread();
    return ear->raised;
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
    job.stop = ask, job.context = &ear;
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

static PyMethodDef functions[] = {
    {"solve", solve, METH_VARARGS,
     "solve(method, skeleton, goals, rotations, translations, scales, options, outputs, stop=..., fps=..., /)\n--\n\n"
     "Arrays of one item, of items, or of frames that follow each other and items. "
     "Writes outputs: (rotations, status, error, rotation_error, iterations, history, translations, goal_errors), the"
     " last three where they are not None. Ends before all is done"
     " where the first byte of stop, a bytearray, is set meanwhile."},
    {NULL, NULL, 0, NULL},
};

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
    int translated; /* whether translations follow the rotations */
    int arguments;
} prepared;

/* As `parse_goal` has it; a row is None, a whole number, which says the argument of the call, or numbers. */
static int prepare_goal(prepared *self, ik_goal *goal, goal_row *rows, PyObject *given) {
    PyObject *values = parse_goal(goal, given);
    for (int k = 0; values && k < GOAL_ROWS; k++) {
        PyObject *value = PyTuple_GetItem(values, k);
        int is_float, columns = goal_fields[k].columns;
        rows[k].state = value == Py_None ? ABSENT : PyLong_CheckExact(value) ? OPEN : FIXED;
        if (rows[k].state == OPEN) {
            rows[k].argument = 1 + self->translated + (int)PyLong_AsLong(value);
            self->arguments++;
        }
        if (rows[k].state != FIXED || read_row(value, columns, rows[k].row, &is_float)) continue;
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
    self->arguments = 1 + self->translated;
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
    int translated;
    if (keywords || !PyArg_ParseTuple(args, "sOO!O!p", &name, &skeleton, &PyTuple_Type, &goals, &PyTuple_Type, &options,
                                      &translated))
        return NULL;
    prepared *self = (prepared *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    self->skeleton = Py_NewRef(skeleton);
    self->translated = translated;
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
        }
    return 1;
}

static PyObject *scalar(const void *number, int type) {
    PyArray_Descr *description = PyArray_DescrFromType(type);
    PyObject *made = PyArray_Scalar((void *)number, description, NULL);
    Py_DECREF(description);
    return made;
}

/* (rotations, error, status), or NULL: with an exception, or without for what is left to Python. */
static PyObject *solve_item(const prepared *self, call *call) {
    double error, rotation_error; /* or a float in the same place */
    int32_t status, iterations;
    npy_intp shape[2] = {call->job.skeleton->count, 4};
    PyObject *solved = PyArray_SimpleNew(2, shape, call->type), *found = NULL;
    if (!solved) return NULL;
    call->job.error = (ik_rows){&error, 0, 0};
    call->job.rotation_error = (ik_rows){&rotation_error, 0, 0};
    call->job.status = (ik_rows){&status, 0, 0};
    call->job.iterations = (ik_rows){&iterations, 0, 0};
    if (add_joints(call, &call->job.solved, solved, "rotations", 4, 1) == 0 && run(self->method, call, NULL) == 0 &&
        status < IK_UNUSABLE) {
        PyArray_CLEARFLAGS((PyArrayObject *)solved, NPY_ARRAY_WRITEABLE); /* as those of a pose are */
        found = Py_BuildValue("ONN", solved, scalar(&error, call->type), scalar(&status, NPY_INT32));
    }
    Py_DECREF(solved);
    return found;
}

static PyObject *call_prepared(PyObject *object, PyObject *args, PyObject *keywords) {
    const prepared *self = (const prepared *)object;
    if (keywords || PyTuple_Size(args) != self->arguments) Py_RETURN_NONE;
    PyObject *rotations = PyTuple_GetItem(args, 0), *translations = self->translated ? PyTuple_GetItem(args, 1) : NULL;
    if (!PyArray_CheckExact(rotations) || PyArray_NDIM((PyArrayObject *)rotations) != 2 ||
        (translations && !PyArray_CheckExact(translations)))
        Py_RETURN_NONE;
    call call = self->call;
    if (add_pose(&call, rotations, translations ? translations : Py_None, Py_None) < 0) {
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
    {Py_tp_doc, "Prepared(method, skeleton, goals, options, translated)\n--\n\n"
                "Called with the arrays of one item: (rotations, error, status), or None for what is more than that."},
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

/* --- tables --------------------------------------------------------------------------------------------------------
 */

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

static int append_rows(PyObject *list, const method *method) {
    for (; method->name; method++)
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
    if (append_row(list, Py_BuildValue("(sIs)", #name, (unsigned)IK_TAKES_##name, doc)) < 0) return -1;
#define TAKES_KIND(name, numbers, doc) TAKES(name, doc)
    IK_TAKES(TAKES)
    IK_GOAL_KINDS(TAKES_KIND)
    return 0;
}

static int append_methods(PyObject *list) { return append_rows(list, methods); }
static int append_forms(PyObject *list) { return append_rows(list, forms); }

#define OPTION_NAME(name, type)                                                                                        \
    if (append_row(list, PyUnicode_FromString(#name)) < 0) return -1;
static int append_options(PyObject *list) {
    IK_OPTIONS(OPTION_NAME)
    return 0;
}

static int append_options_of(PyObject *list, const method *method) {
    for (; method->name; method++)
        for (const option *o = method->options; o->name; o++)
            if (append_row(list, Py_BuildValue("(sssddds)", method->name, o->name, o->type, o->default_, o->lowest,
                                               o->highest, o->doc)) < 0)
                return -1;
    return 0;
}

static int append_method_options(PyObject *list) {
    return append_options_of(list, forms) < 0 ? -1 : append_options_of(list, methods);
}

int add_solve(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    if (add_table(module, "METHODS", append_methods) < 0 || add_table(module, "FORMS", append_forms) < 0 ||
        add_table(module, "OPTIONS", append_options) < 0 ||
        add_table(module, "METHOD_OPTIONS", append_method_options) < 0 ||
        add_table(module, "GOAL_KINDS", append_goal_kinds) < 0 ||
        add_table(module, "GOAL_ROWS", append_goal_rows) < 0 || add_table(module, "TAKES", append_takes) < 0)
        return -1;
    return add_prepared(module) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
