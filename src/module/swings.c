/* How a foot goes from one stance to the next, as functions of Python. ikcore/bake/way.py makes what they are called
 * with: doubles, one row a frame of the clip. */
#include "swings.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include <string.h>

#include "../ik/swings.h"
#include "arrays.h"

static int refused(const char *name) {
    PyErr_Format(PyExc_TypeError, "swing: %s does not fit the job", name);
    return -1;
}

/* (frames, columns) in one block, (frames) where columns is 0. */
static void *block_of(const char *name, PyObject *object, int type, npy_intp frames, int columns) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_Check(object) && PyArray_NDIM(array) == (columns ? 2 : 1) && holds(array, type) &&
        PyArray_DIM(array, 0) == frames && (!columns || PyArray_DIM(array, 1) == columns) && PyArray_ISBEHAVED(array) &&
        PyArray_IS_C_CONTIGUOUS(array))
        return PyArray_DATA(array);
    refused(name);
    return NULL;
}

static int take_vector(double *vector, const char *name, PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != 3 || !holds(array, NPY_DOUBLE) ||
        !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISBEHAVED_RO(array))
        return refused(name);
    memcpy(vector, PyArray_DATA(array), 3 * sizeof *vector);
    return 0;
}

/* (frames, 3), in any order; one column stands for all three unless it is written. Frames below 0: as many as it has.
 */
static int take_rows(ik_rows *rows, const char *name, PyObject *object, int type, ptrdiff_t *frames, int written) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != 2 || !holds(array, type) ||
        !(written ? PyArray_ISBEHAVED(array) : PyArray_ISBEHAVED_RO(array)))
        return refused(name);
    const npy_intp *shape = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
    if (*frames < 0) *frames = shape[0];
    if (shape[0] != *frames || !(shape[1] == 3 || (shape[1] == 1 && !written))) return refused(name);
    *rows = (ik_rows){.data = PyArray_DATA(array), .stride = strides[0], .step = shape[1] > 1 ? strides[1] : 0};
    return 0;
}

/* A plane is (stands, start, stop, place, lift, normal, floor). */
static int take_planes(const ik_swing_job *job, ik_plane *planes, PyObject *given) {
    for (ptrdiff_t k = 0; k < job->planes; k++) {
        PyObject *place, *normal, *floor;
        ik_plane *plane = &planes[k];
        if (!PyTuple_Check(PyTuple_GetItem(given, k))) return refused("planes");
        if (!PyArg_ParseTuple(PyTuple_GetItem(given, k), "pnnOdOO", &plane->stands, &plane->start, &plane->stop, &place,
                              &plane->lift, &normal, &floor))
            return -1;
        if (plane->start < 0 || plane->stop <= plane->start || plane->stop > job->frames) return refused("planes");
        if (take_vector(plane->place, "place", place) < 0 || take_vector(plane->normal, "normal", normal) < 0 ||
            take_vector(plane->floor, "floor", floor) < 0)
            return -1;
    }
    return 0;
}

static PyObject *run(PyObject *args, void (*function)(const ik_swing_job *)) {
    PyObject *reference, *given, *moved, *shift, *other;
    ik_swing_job job = {.frames = -1};
    double *limit = function == ik_swing ? &job.far : &job.brief;
    if (!PyArg_ParseTuple(args, "OidO!OOO", &reference, &job.axis, limit, &PyTuple_Type, &given, &moved, &shift,
                          &other))
        return NULL;
    if (job.axis < 0 || job.axis > 2) return refused("axis"), NULL;
    job.planes = PyTuple_Size(given);
    ik_plane *planes = PyMem_Calloc((size_t)job.planes + 1, sizeof *planes);
    if (!planes) return PyErr_NoMemory();
    job.plane = planes;
    int done = take_rows(&job.reference, "reference", reference, NPY_DOUBLE, &job.frames, 0) == 0 &&
               take_planes(&job, planes, given) == 0 &&
               (job.moved = block_of("moved", moved, NPY_DOUBLE, job.frames, 3)) &&
               (job.shift = block_of("shift", shift, NPY_DOUBLE, job.frames, 3));
    if (done && function == ik_swing)
        done = (job.turn = block_of("turn", other, NPY_DOUBLE, job.frames, 4)) != NULL;
    else if (done)
        done = (job.pinned = block_of("pinned", other, NPY_BOOL, job.frames, 3)) != NULL;
    if (done) function(&job);
    PyMem_Free(planes);
    if (!done) return NULL;
    Py_RETURN_NONE;
}

static PyObject *release(PyObject *module, PyObject *args) {
    (void)module;
    return run(args, ik_release);
}

static PyObject *swing(PyObject *module, PyObject *args) {
    (void)module;
    return run(args, ik_swing);
}

static PyObject *loosen(PyObject *module, PyObject *args) {
    PyObject *values, *pinned, *lower, *upper, *pulls;
    ik_loose_job job = {.frames = -1};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOndOOO", &values, &pinned, &job.blend, &job.pull, &lower, &upper, &pulls) ||
        take_rows(&job.values, "values", values, NPY_DOUBLE, &job.frames, 0) < 0 ||
        take_rows(&job.pinned, "pinned", pinned, NPY_BOOL, &job.frames, 0) < 0 ||
        take_rows(&job.lower, "lower", lower, NPY_DOUBLE, &job.frames, 1) < 0 ||
        take_rows(&job.upper, "upper", upper, NPY_DOUBLE, &job.frames, 1) < 0 ||
        take_rows(&job.pulls, "pulls", pulls, NPY_DOUBLE, &job.frames, 1) < 0)
        return NULL;
    if (job.blend < 0) return refused("blend"), NULL;
    if (job.blend > job.frames) job.blend = job.frames; /* which frame is that far off can be counted */
    ik_loosen(&job);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"release", release, METH_VARARGS,
     "release(reference, axis, brief, planes, moved, shift, pinned, /)\n--\n\nWrites what stances move a foot by "
     "beside "
     "what the ground does, and where that is pinned. A plane is (stands, start, stop, place, lift, normal, floor)."},
    {"loosen", loosen, METH_VARARGS,
     "loosen(values, pinned, blend, pull, lower, upper, pulls, /)\n--\n\nWrites the last three: bounds of what stances "
     "do to a foot, and what draws it to nothing."},
    {"swing", swing, METH_VARARGS,
     "swing(reference, axis, far, planes, moved, shift, turn, /)\n--\n\nWrites shift and turn between stances; see "
     "release."},
    {NULL, NULL, 0, NULL},
};

int add_swings(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
