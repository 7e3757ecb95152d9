/* Legs over all frames of a clip as Python functions. ikcore/bake/legs.py and write.py make their arguments: doubles,
 * frames first. Runs without the GIL. */
#include "module.h"

#include "numpy_api.h"

#include "../ik/feet/legs.h"

/* The expected shape of an argument: (frames, count, columns), with fewer axes if these are 0. */
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
    enum { CHAIN, TURNS, PIVOT, TILT, HIP, FOOT, REACH, NEARER, HINGES, LENGTH, BENT, DELTAS, SHORT, ARGUMENTS };
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
        {REACH, &job.reach, {name, "reach", NPY_DOUBLE, 0, 0, 0, 0}},
        {NEARER, &job.nearer, {name, "nearer", NPY_DOUBLE, 1, 0, 0, 0}},
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

/* --- rotations of joints ------------------------------------------------------------------------------------------ */

/* A call of turn_leg: the rows of every joint. Floats are converted to doubles, which are in memory. */
typedef struct {
    npy_intp frames, joints;
    PyArrayObject *rotations; /* (frames, all joints, 4), floats or doubles */
    const npy_intp *joint;    /* which of all */
    ik_rows *world, *deltas, *locals, *units;
    double *memory; /* locals, units, and one joint of floats */
} turning;

static int refuse_turns(const char *what) {
    PyErr_Format(PyExc_TypeError, "turn_leg: %s do not fit the job", what);
    return -1;
}

/* The rows of joints: parts (frames, n, 4), or (frames, 4) of one, one after the other. */
static int take_parts(const turning *t, ik_rows *rows, PyObject *parts, const char *what) {
    npy_intp known = 0;
    if (!PyTuple_Check(parts)) return refuse_turns(what);
    for (Py_ssize_t k = 0; k < PyTuple_Size(parts); k++) {
        PyObject *object = PyTuple_GetItem(parts, k);
        PyArrayObject *part = (PyArrayObject *)object;
        const int axes = PyArray_Check(object) ? PyArray_NDIM(part) : 0;
        if (axes < 2 || axes > 3 || !holds(part, NPY_DOUBLE) || !PyArray_ISBEHAVED_RO(part) ||
            PyArray_DIM(part, 0) != t->frames || PyArray_DIM(part, axes - 1) != 4)
            return refuse_turns(what);
        const npy_intp *strides = PyArray_STRIDES(part), many = axes == 3 ? PyArray_DIM(part, 1) : 1;
        if (many > t->joints - known) return refuse_turns(what);
        for (npy_intp joint = 0; joint < many; joint++)
            rows[known++] = (ik_rows){.data = PyArray_BYTES(part) + (axes == 3 ? joint * strides[1] : 0),
                                      .stride = strides[0],
                                      .step = strides[axes - 1]};
    }
    return known == t->joints ? 0 : refuse_turns(what);
}

/* The rows of a joint as given. */
static ik_rows own_rows(const turning *t, npy_intp joint) {
    const npy_intp *strides = PyArray_STRIDES(t->rotations);
    return (ik_rows){
        .data = PyArray_BYTES(t->rotations) + t->joint[joint] * strides[1], .stride = strides[0], .step = strides[2]};
}

static ik_rows double_rows(const turning *t, npy_intp at) {
    return (ik_rows){.data = t->memory + 4 * t->frames * at, .stride = 4 * sizeof(double), .step = sizeof(double)};
}

static float *float_at(const ik_rows *rows, npy_intp frame, int column) {
    return (float *)((char *)rows->data + frame * rows->stride + column * rows->step);
}

static void widen(const turning *t, const ik_rows *from, const ik_rows *to) {
    for (npy_intp frame = 0; frame < t->frames; frame++)
        for (int column = 0; column < 4; column++)
            ((double *)to->data)[4 * frame + column] = *float_at(from, frame, column);
}

static void narrow(const turning *t, const ik_rows *from, const ik_rows *to) {
    for (npy_intp frame = 0; frame < t->frames; frame++)
        for (int column = 0; column < 4; column++)
            *float_at(to, frame, column) = (float)((const double *)from->data)[4 * frame + column];
}

/* Floats are normalised as floats. */
static void run_floats(const turning *t, ik_turn_leg_job *job) {
    const ik_rows floats = {
        .data = double_rows(t, 2 * t->joints).data, .stride = 4 * sizeof(float), .step = sizeof(float)};
    for (npy_intp joint = 0; joint < t->joints; joint++) {
        const ik_rows own = own_rows(t, joint);
        t->locals[joint] = double_rows(t, joint), t->units[joint] = double_rows(t, t->joints + joint);
        ik_quat_normalize_f32(&(ik_quat_normalize_job){.q = own, .out = floats}, t->frames);
        widen(t, &own, &t->locals[joint]);
        widen(t, &floats, &t->units[joint]);
    }
    job->units = t->units;
    ik_turn_leg(job, 0, t->frames);
    for (npy_intp joint = 0; joint < t->joints; joint++) {
        const ik_rows own = own_rows(t, joint);
        narrow(t, &t->locals[joint], &own);
    }
}

static void run_doubles(const turning *t, const ik_turn_leg_job *job) {
    for (npy_intp joint = 0; joint < t->joints; joint++)
        t->locals[joint] = own_rows(t, joint);
    ik_turn_leg(job, 0, t->frames);
}

static int take_rotations(turning *t, PyObject *object, PyArrayObject *joints) {
    PyArrayObject *array = t->rotations = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != 3 || PyArray_DIM(array, 2) != 4 ||
        !(holds(array, NPY_FLOAT) || holds(array, NPY_DOUBLE)) || !PyArray_ISBEHAVED(array))
        return refuse_turns("rotations");
    t->frames = PyArray_DIM(array, 0), t->joints = PyArray_SIZE(joints), t->joint = PyArray_DATA(joints);
    for (npy_intp k = 0; k < t->joints; k++)
        if (t->joint[k] < 0 || t->joint[k] >= PyArray_DIM(array, 1)) return refuse_turns("joints");
    return t->joints > 0 && t->joints < 1000 ? 0 : refuse_turns("joints");
}

static PyObject *turn_leg(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { ROTATIONS, JOINTS, WORLD, DELTAS, ABOVE, CHOSEN, ARGUMENTS };
    const role above = {"turn_leg", "above", NPY_DOUBLE, 1, 0, 0, 4}, chosen = {"turn_leg", "chosen", NPY_BOOL, 1};
    ik_turn_leg_job job = {0};
    turning t = {0};
    (void)module;
    if (given != ARGUMENTS) {
        PyErr_SetString(PyExc_TypeError, "turn_leg: expected 6 arguments");
        return NULL;
    }
    PyArrayObject *joints = (PyArrayObject *)PyArray_FROMANY(args[JOINTS], NPY_INTP, 1, 1, NPY_ARRAY_CARRAY_RO);
    int ready = joints && take_rotations(&t, args[ROTATIONS], joints) == 0;
    const int single = ready && holds(t.rotations, NPY_FLOAT);
    ik_rows *rows = ready ? PyMem_Calloc(4 * (size_t)t.joints, sizeof *rows) : NULL;
    if (single) t.memory = PyMem_Malloc((size_t)(4 * t.frames * (2 * t.joints + 1)) * sizeof *t.memory);
    if (ready && (!rows || (single && !t.memory))) PyErr_NoMemory(), ready = 0;
    if (ready) {
        t.world = rows, t.deltas = rows + t.joints, t.locals = t.deltas + t.joints, t.units = t.locals + t.joints;
        job = (ik_turn_leg_job){(int)t.joints, .world = t.world, .deltas = t.deltas, .locals = t.locals};
        ready = take_parts(&t, t.world, args[WORLD], "turns") == 0 &&
                take_parts(&t, t.deltas, args[DELTAS], "deltas") == 0 &&
                take_rows(&job.above, args[ABOVE], &above, t.frames) == 0 &&
                take_rows(&job.chosen, args[CHOSEN], &chosen, t.frames) == 0;
    }
    if (ready) {
        Py_BEGIN_ALLOW_THREADS;
        if (single)
            run_floats(&t, &job);
        else
            run_doubles(&t, &job);
        Py_END_ALLOW_THREADS;
    }
    PyMem_Free(t.memory);
    PyMem_Free(rows);
    Py_XDECREF((PyObject *)joints);
    if (!ready) return NULL;
    Py_RETURN_NONE;
}

/* --- knee axes, and joints that carry points ---------------------------------------------------------------------- */

static PyObject *hinges(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    npy_intp frames, points, shape[2] = {0, 3};
    ik_hinges_job job = {0};
    (void)module;
    if (given != 2) PyErr_SetString(PyExc_TypeError, "hinges: expected 2 arguments");
    if (given != 2 || size_of("hinges", args[0], &frames, &points) < 0) return NULL;
    shape[0] = points > 2 ? points - 2 : 0;
    const role chain = {"hinges", "chain", NPY_DOUBLE, 0, 0, points, 3};
    const role turns = {"hinges", "turns", NPY_DOUBLE, 0, 0, shape[0], 4};
    if (shape[0] &&
        (take_lists(&job.chain, args[0], &chain, frames) < 0 || take_lists(&job.turns, args[1], &turns, frames) < 0))
        return NULL;
    PyObject *sums = PyArray_ZEROS(2, shape, NPY_DOUBLE, 0);
    if (!sums || !shape[0]) return sums;
    job.sums = PyArray_DATA((PyArrayObject *)sums);
    ik_hinges(&job, 0, frames);
    return sums;
}

static PyObject *displaced(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { POINTS, ORIGIN, SHIFT, TURN, ARGUMENTS };
    static const role vector = {"displaced", "a point, origin or shift", NPY_DOUBLE, 0, 0, 0, 3};
    static const role rotation = {"displaced", "turn", NPY_DOUBLE, 1, 0, 0, 4};
    ik_displace_job job = {0};
    (void)module;
    if (given != ARGUMENTS || !PyArray_Check(args[POINTS]) || PyArray_NDIM((PyArrayObject *)args[POINTS]) != 2) {
        PyErr_SetString(PyExc_TypeError, "displaced: expected points (frames, 3), their origin, shift and turn");
        return NULL;
    }
    npy_intp shape[2] = {PyArray_DIM((PyArrayObject *)args[POINTS], 0), 3};
    if (take_rows(&job.points, args[POINTS], &vector, shape[0]) < 0 ||
        take_rows(&job.origin, args[ORIGIN], &vector, shape[0]) < 0 ||
        take_rows(&job.shift, args[SHIFT], &vector, shape[0]) < 0 ||
        take_rows(&job.turn, args[TURN], &rotation, shape[0]) < 0)
        return NULL;
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    if (!places) return NULL;
    job.places = (ik_rows){.data = PyArray_DATA(places), .stride = 3 * sizeof(double), .step = sizeof(double)};
    ik_displace(&job, 0, shape[0]);
    return (PyObject *)places;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

PyMethodDef legs_functions[] = {
    {"bend_leg", FAST(bend_leg),
     "bend_leg(chain, turns, pivot, tilt, hip, foot, reach, nearer, hinges, length, bent, deltas, short, /)\n--\n\n"
     "Writes the last three; pivot with tilt, nearer and short may be None."},
    {"turn_leg", FAST(turn_leg),
     "turn_leg(rotations, joints, world, deltas, above, chosen, /)\n--\n\nWrites the local rotations of some joints; "
     "world and deltas are parts of one or more of these, above and chosen may be None."},
    {"hinges", FAST(hinges),
     "hinges(chain, turns, /)\n--\n\nAbout what knees bend, and how much, added over frames: (knees, 3)."},
    {"displaced", FAST(displaced),
     "displaced(points, origin, shift, turn, /)\n--\n\nWhere points (frames, 3) go with what turns about an origin and "
     "is shifted; turn may be None."},
    {NULL, NULL, 0, NULL},
};
