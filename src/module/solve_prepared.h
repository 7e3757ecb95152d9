/* Prepared: one item per call. As in single.c, anything but a single item is left to Python, which has all rules and
 * messages: the result is None.
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
    free((void *)self->call.job.goals);
    free(self->parts);
    free(self->places);
    Py_XDECREF(self->skeleton);
    Py_XDECREF(self->moving);
    free_object(object);
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

static int add_prepared(PyObject *module) {
    PyTypeObject *type = add_type(module, "ikcore._core.Prepared", sizeof(prepared), prepared_slots);
    Py_XDECREF((PyObject *)type);
    return type ? 0 : -1;
}
