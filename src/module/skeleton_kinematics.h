/* forward and local: poses of a skeleton to the world and back. */

/* An argument after the skeleton: an array (items, joints, columns). */
typedef struct {
    const char *name;
    int columns;
    enum { INPUT, OPTIONAL, OUTPUT } role;
} array_role;

enum { MAX_ARRAYS = 5 };

/* A call: its skeleton, its arrays as lists of rows, and their common type and length. */
typedef struct {
    const ik_skeleton *skeleton;
    ik_lists lists[MAX_ARRAYS];
    npy_intp items;
    int type; /* NPY_FLOAT or NPY_DOUBLE */
} call;

/* The first array decides the number of items and the type; the others must match. */
static int add_array(call *call, int place, PyObject *object, const array_role *op) {
    if (object == Py_None && op->role == OPTIONAL) {
        call->lists[place] = (ik_lists){0};
        return 0;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    int is_array = PyArray_Check(object) && PyArray_NDIM(array) == 3;
    if (is_array && place == 0) {
        call->items = PyArray_DIM(array, 0);
        call->type = PyArray_TYPE(array) == NPY_FLOAT ? NPY_FLOAT : NPY_DOUBLE;
    }
    if (!is_array || PyArray_DIM(array, 0) != call->items || PyArray_DIM(array, 1) != call->skeleton->count ||
        PyArray_DIM(array, 2) != op->columns || !holds(array, call->type) || !PyArray_ISBEHAVED_RO(array) ||
        (op->role == OUTPUT && !PyArray_ISWRITEABLE(array))) {
        PyErr_Format(PyExc_TypeError, "%s: expected %s array (items, %d, %d) of float32 or float64, all the same",
                     op->name, op->role == OUTPUT ? "a writeable" : "an", call->skeleton->count, op->columns);
        return -1;
    }
    const npy_intp *strides = PyArray_STRIDES(array);
    call->lists[place] = (ik_lists){{PyArray_DATA(array), strides[0], strides[2]}, strides[1], call->skeleton->count};
    return 0;
}

static int unpack(call *call, PyObject *module, PyObject *const *args, Py_ssize_t given, const array_role *operands,
                  int count) {
    if (given != count + 1) {
        PyErr_Format(PyExc_TypeError, "expected %d arguments, got %zd", count + 1, given);
        return -1;
    }
    call->skeleton = skeleton_of(module, args[0]);
    if (!call->skeleton) return -1;
    for (int i = 0; i < count; i++)
        if (add_array(call, i, args[i + 1], &operands[i]) < 0) return -1;
    return 0;
}

static PyObject *forward(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    static const array_role operands[] = {{"rotations", 4, INPUT},
                                          {"translations", 3, OPTIONAL},
                                          {"scales", 3, OPTIONAL},
                                          {"positions", 3, OUTPUT},
                                          {"world_rotations", 4, OUTPUT}};
    call call;
    if (unpack(&call, module, args, given, operands, 5) < 0) return NULL;
    ik_forward_job job = {call.skeleton,
                          call.lists[0],
                          call.lists[1],
                          call.lists[2],
                          call.lists[3],
                          call.lists[4],
                          malloc(ik_forward_scratch(call.skeleton->count))};
    if (!job.scratch) return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS;
    (call.type == NPY_FLOAT ? ik_forward_f32 : ik_forward_f64)(&job, call.items);
    Py_END_ALLOW_THREADS;
    free(job.scratch);
    Py_RETURN_NONE;
}

static PyObject *local(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    static const array_role operands[] = {
        {"world_rotations", 4, INPUT}, {"positions", 3, INPUT}, {"rotations", 4, OUTPUT}, {"translations", 3, OUTPUT}};
    call call;
    if (unpack(&call, module, args, given, operands, 4) < 0) return NULL;
    ik_local_job job = {call.skeleton, call.lists[0], call.lists[1], call.lists[2], call.lists[3]};
    Py_BEGIN_ALLOW_THREADS;
    (call.type == NPY_FLOAT ? ik_local_f32 : ik_local_f64)(&job, call.items);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}
