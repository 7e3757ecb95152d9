/* How legs move the body, as functions of Python (ikcore/bake/body.py). */
#include "body.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include <limits.h>
#include <stdlib.h>

#include "../ik/body.h"
#include "arrays.h"

/* Doubles in one block, (frames, columns), or (frames) where columns is 0; -1: any number of frames. A list holds
 * the array until the call is done. NULL with an exception set. */
static const double *take(PyObject *held, const char *name, PyObject *object, npy_intp frames, npy_intp columns) {
    PyObject *found = PyArray_FROMANY(object, NPY_DOUBLE, 1, 2, NPY_ARRAY_CARRAY_RO);
    PyArrayObject *array = (PyArrayObject *)found;
    const int kept = found && PyList_Append(held, found) == 0;
    Py_XDECREF(found);
    if (!kept) return NULL;
    if (PyArray_NDIM(array) == (columns ? 2 : 1) && (frames < 0 || PyArray_DIM(array, 0) == frames) &&
        (!columns || PyArray_DIM(array, 1) == columns))
        return PyArray_DATA(array);
    PyErr_Format(PyExc_TypeError, "%s: an array does not fit the job", name);
    return NULL;
}

static int take_wish(PyObject *held, ik_wish *wish, PyObject *given, npy_intp frames, int axes) {
    PyObject *wanted, *stands, *hip, *ankle;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "OOOOd", &wanted, &stands, &hip, &ankle, &wish->size)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "agreed: expected what each leg wants");
        return -1;
    }
    const int read = (wish->wanted = take(held, "agreed", wanted, frames, axes)) &&
                     (wish->stands = take(held, "agreed", stands, frames, 0)) &&
                     (wish->hip = (const double (*)[3])take(held, "agreed", hip, frames, 3)) &&
                     (wish->ankle = (const double (*)[3])take(held, "agreed", ankle, frames, 3));
    return read ? 0 : -1;
}

/* What comes out: (together, stands, heeded). NULL with an exception set. */
static PyObject *agree(ik_agree_job *job) {
    npy_intp shape[2] = {job->frames, job->axes};
    PyObject *together = PyArray_SimpleNew(2, shape, NPY_DOUBLE), *stands = PyArray_SimpleNew(1, shape, NPY_DOUBLE);
    PyObject *heeded = PyArray_SimpleNew(1, shape, NPY_DOUBLE), *found = NULL;
    if (together && stands && heeded) {
        job->together = PyArray_DATA((PyArrayObject *)together), job->stands = PyArray_DATA((PyArrayObject *)stands);
        job->heeded = PyArray_DATA((PyArrayObject *)heeded);
        ik_agree(job);
        found = PyTuple_Pack(3, together, stands, heeded);
    }
    Py_XDECREF(together);
    Py_XDECREF(stands);
    Py_XDECREF(heeded);
    return found;
}

static PyObject *agreed(PyObject *module, PyObject *args) {
    PyObject *legs, *found = NULL;
    ik_agree_job job = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!(dddd)", &PyTuple_Type, &legs, &job.least, &job.bent, &job.straight, &job.anyway))
        return NULL;
    const Py_ssize_t count = PyTuple_Size(legs);
    PyObject *first = count > 0 && count <= INT_MAX ? PyTuple_GetItem(legs, 0) : NULL;
    PyArrayObject *wanted =
        first && PyTuple_Check(first) && PyTuple_Size(first) == 5 && PyArray_Check(PyTuple_GetItem(first, 0))
            ? (PyArrayObject *)PyTuple_GetItem(first, 0)
            : NULL;
    if (!wanted || PyArray_NDIM(wanted) != 2 || PyArray_DIM(wanted, 1) < 1 || PyArray_DIM(wanted, 1) > 3) {
        PyErr_SetString(PyExc_TypeError, "agreed: expected legs, and what each wants (frames, 1 to 3)");
        return NULL;
    }
    job.legs = (int)count, job.frames = PyArray_DIM(wanted, 0), job.axes = (int)PyArray_DIM(wanted, 1);
    PyObject *held = PyList_New(0);
    ik_wish *wishes = malloc((size_t)count * sizeof *wishes);
    job.leg = wishes, job.weights = malloc((size_t)count * 2 * sizeof *job.weights);
    if (held && (!wishes || !job.weights)) PyErr_NoMemory();
    for (int leg = 0; leg < count && !PyErr_Occurred(); leg++)
        take_wish(held, &wishes[leg], PyTuple_GetItem(legs, leg), job.frames, job.axes);
    if (!PyErr_Occurred()) found = agree(&job);
    Py_XDECREF(held);
    free(wishes);
    free(job.weights);
    return found;
}

/* Legs that hang on the body, with what is made for a call: what holds their arrays, memory to work in, the result. */
typedef struct {
    const char *name;
    PyObject *held, *found;
    ik_hung_leg *leg;
    ik_hung_legs all;
    double *work;
} hung_legs;

static const double *take_numbers(const hung_legs *hung, PyObject *object) {
    return take(hung->held, hung->name, object, hung->all.frames, 0);
}

static const double (*take_points(const hung_legs *hung, PyObject *object))[3] {
    return (const double (*)[3])take(hung->held, hung->name, object, hung->all.frames, 3);
}

static int take_leg(const hung_legs *hung, ik_hung_leg *leg, PyObject *given) {
    PyObject *from_hip, *from_ankle, *hip, *ankle, *high, *over, *reach, *stands;
    return PyArg_ParseTuple(given, "OOOOOOOOd", &from_hip, &from_ankle, &hip, &ankle, &high, &over, &reach, &stands,
                            &leg->size) &&
           (leg->from_hip = take_points(hung, from_hip)) && (leg->from_ankle = take_points(hung, from_ankle)) &&
           (leg->hip = take_points(hung, hip)) && (leg->ankle = take_points(hung, ankle)) &&
           (leg->high = take_numbers(hung, high)) && (leg->over = take_numbers(hung, over)) &&
           (leg->reach = take_numbers(hung, reach)) && (leg->stands = take_numbers(hung, stands));
}

/* The first of its arrays; NULL: it is no leg. */
static PyArrayObject *hips_of(PyObject *leg) {
    PyObject *hips = PyTuple_Check(leg) && PyTuple_Size(leg) ? PyTuple_GetItem(leg, 0) : NULL;
    return hips && PyArray_Check(hips) && PyArray_NDIM((PyArrayObject *)hips) == 2 ? (PyArrayObject *)hips : NULL;
}

/* 0 with an exception set. */
static int take_legs(hung_legs *hung, const char *name, PyObject *given, int axis) {
    const Py_ssize_t count = PyTuple_Check(given) ? PyTuple_Size(given) : 0;
    PyArrayObject *hips = count > 0 && count <= INT_MAX ? hips_of(PyTuple_GetItem(given, 0)) : NULL;
    *hung = (hung_legs){.name = name};
    if (!hips || axis < 0 || axis > 2) {
        PyErr_Format(PyExc_TypeError, "%s: expected legs, and an axis", name);
        return 0;
    }
    hung->leg = PyMem_Calloc((size_t)count, sizeof *hung->leg), hung->held = PyList_New(0);
    hung->all = (ik_hung_legs){PyArray_DIM(hips, 0), axis, (int)count, hung->leg};
    if (!hung->leg) PyErr_NoMemory();
    int taken = hung->leg && hung->held;
    for (Py_ssize_t k = 0; taken && k < count; k++)
        taken = hips_of(PyTuple_GetItem(given, k)) && take_leg(hung, &hung->leg[k], PyTuple_GetItem(given, k));
    if (!taken && !PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s: expected what each leg is", name);
    return taken;
}

/* So many doubles to work in, as a function says, and the result. NULL with an exception set. */
static double *make(hung_legs *hung, ptrdiff_t numbers, int axes, npy_intp *shape) {
    if (numbers < 0) {
        PyErr_Format(PyExc_TypeError, "%s: expected a number of frames that a filter reaches", hung->name);
        return NULL;
    }
    if (!(hung->work = PyMem_Malloc((size_t)numbers * sizeof *hung->work))) PyErr_NoMemory();
    hung->found = hung->work ? PyArray_SimpleNew(axes, shape, NPY_DOUBLE) : NULL;
    return hung->found ? PyArray_DATA((PyArrayObject *)hung->found) : NULL;
}

/* The result, or NULL; the rest is let go. */
static PyObject *done(hung_legs *hung) {
    if (PyErr_Occurred()) Py_CLEAR(hung->found);
    Py_XDECREF(hung->held);
    PyMem_Free(hung->leg);
    PyMem_Free(hung->work);
    return hung->found;
}

static PyObject *rises(PyObject *module, PyObject *args) {
    PyObject *legs, *highest = NULL, *both = NULL;
    ik_rises_job job = {0};
    hung_legs hung;
    int axis;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oid", &legs, &axis, &job.moment)) return NULL;
    if (take_legs(&hung, "rises", legs, axis)) {
        job.hung = hung.all;
        npy_intp shape[2] = {hung.all.legs, hung.all.frames};
        if ((job.wanted = make(&hung, ik_rises_work(&job), 2, shape)) &&
            (highest = PyArray_SimpleNew(1, shape + 1, NPY_DOUBLE))) {
            job.highest = PyArray_DATA((PyArrayObject *)highest);
            ik_rises(&job, hung.work);
        }
    }
    PyObject *wanted = done(&hung);
    if (wanted) both = PyTuple_Pack(2, wanted, highest);
    Py_XDECREF(wanted);
    Py_XDECREF(highest);
    return both;
}

static PyObject *eased(PyObject *module, PyObject *args) {
    PyObject *legs, *rise;
    ik_eased_job job = {0};
    hung_legs hung;
    int axis;
    (void)module;
    if (!PyArg_ParseTuple(args, "OiOddd", &legs, &axis, &rise, &job.moment, &job.trace, &job.soft)) return NULL;
    if (take_legs(&hung, "eased", legs, axis) && (job.rise = take_numbers(&hung, rise))) {
        job.hung = hung.all;
        if ((job.most = make(&hung, ik_eased_work(&job), 1, &(npy_intp){hung.all.frames}))) ik_eased(&job, hung.work);
    }
    return done(&hung);
}

static PyObject *jerk(PyObject *module, PyObject *args) {
    PyObject *legs, *rise;
    ik_jerk_job job = {0};
    hung_legs hung;
    Py_ssize_t apart;
    int axis;
    (void)module;
    if (!PyArg_ParseTuple(args, "OiOnd", &legs, &axis, &rise, &apart, &job.reach)) return NULL;
    if (take_legs(&hung, "jerk", legs, axis) && (rise == Py_None || (job.rise = take_numbers(&hung, rise)))) {
        job.hung = hung.all, job.apart = apart;
        if (apart < 1)
            PyErr_SetString(PyExc_TypeError, "jerk: expected how many frames apart");
        else if ((job.found = make(&hung, ik_jerk_work(&job), 1, &(npy_intp){hung.all.frames})))
            ik_jerk(&job, hung.work);
    }
    return done(&hung);
}

static PyObject *aside(PyObject *module, PyObject *args) {
    PyObject *legs, *rise, *along;
    ik_aside_job job = {0};
    hung_legs hung;
    int axis;
    (void)module;
    if (!PyArg_ParseTuple(args, "OiOOdd", &legs, &axis, &rise, &along, &job.reach, &job.most)) return NULL;
    if (take_legs(&hung, "aside", legs, axis) && (job.rise = take_numbers(&hung, rise)) &&
        (job.along = take_points(&hung, along))) {
        job.hung = hung.all;
        npy_intp shape[2] = {hung.all.frames, 3};
        if ((job.found = (double (*)[3])make(&hung, ik_aside_work(&job), 2, shape))) ik_aside(&job, hung.work);
    }
    return done(&hung);
}

static PyMethodDef functions[] = {
    {"agreed", agreed, METH_VARARGS,
     "agreed(((wanted, stands, hip, ankle, size), ...), (least, bent, straight, anyway), /)\n--\n\nWhat legs want "
     "together, how much one stands, and how much of that is heeded."},
    {"rises", rises, METH_VARARGS,
     "rises(legs, axis, moment, /)\n--\n\nHow far up each leg has its hip moved (legs, frames), and how far up hips "
     "may "
     "go. A leg is (hip, ankle, carried hip, ankle that should be, over, reach, stands, size)."},
    {"eased", eased, METH_VARARGS,
     "eased(legs, axis, rise, moment, trace, soft, /)\n--\n\nHow far up hips may go, lest legs be straight for a "
     "moment; see rises."},
    {"jerk", jerk, METH_VARARGS,
     "jerk(legs, axis, rise, apart, reach, /)\n--\n\nHow much hips jerk, about every frame; rise may be None; see "
     "rises."},
    {"aside", aside, METH_VARARGS,
     "aside(legs, axis, rise, along, reach, most, /)\n--\n\nHow far the body goes aside (frames, 3): along, and "
     "towards "
     "feet that are out of reach; see rises."},
    {NULL, NULL, 0, NULL},
};

int add_body(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
