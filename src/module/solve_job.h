/* A job of the core from the arguments of a call: arrays, goals, options and outputs. */

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
