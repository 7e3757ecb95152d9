/* How a foot rests on the ground, as a Python function. ikcore/bake/footholds.py makes its arguments. */
#include "module.h"

#include "numpy_api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ik/feet/foot_rest.h"

/* The numbers of an array of `count` rows in one block; NULL with an exception set. */
static const void *block_of(const char *name, PyObject *object, int type, npy_intp count, int columns) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_Check(object) && holds(array, type) && PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array) &&
        PyArray_NDIM(array) == (columns > 1 ? 2 : 1) && PyArray_DIM(array, 0) == count &&
        (columns == 1 || PyArray_DIM(array, 1) == columns))
        return PyArray_DATA(array);
    PyErr_Format(PyExc_TypeError, "rest: %s does not fit the job", name);
    return NULL;
}

static int take_vector(const char *name, PyObject *object, double *vector) {
    const double *given = block_of(name, object, NPY_DOUBLE, 3, 1);
    for (int axis = 0; given && axis < 3; axis++)
        vector[axis] = given[axis];
    return given ? 0 : -1;
}

/* Whether the selected points are among all points. */
static int fits(const ik_rest_job *job) {
    const int named[] = {job->heel, job->ball, job->toe, job->joint};
    for (int k = 0; k < 4; k++)
        if (named[k] < -1 || named[k] >= job->count) return 0;
    return job->axis >= 0 && job->axis < 3 && (job->toe < 0 || job->joint >= 0);
}

/* The ground below the points: (hit, ground, normals, parts). */
static int take_ground(ik_rest_job *job, const int32_t **parts, PyObject *given) {
    PyObject *hit, *ground, *normals, *numbers;
    if (!PyArg_ParseTuple(given, "OOOO", &hit, &ground, &normals, &numbers)) return -1;
    return (job->hit = block_of("hit", hit, NPY_BOOL, job->count, 1)) &&
                   (job->ground = block_of("ground", ground, NPY_DOUBLE, job->count, 3)) &&
                   (job->normals = block_of("normals", normals, NPY_DOUBLE, job->count, 3)) &&
                   (*parts = block_of("parts", numbers, NPY_INT32, job->count, 1))
               ? 0
               : -1;
}

static int take(ik_rest_job *job, const int32_t **parts, PyObject *args) {
    PyObject *points, *ground, *ahead;
    int main;
    if (!PyArg_ParseTuple(args, "OiO!O(iiiiiii)(dddddd)", &points, &main, &PyTuple_Type, &ground, &ahead, &job->axis,
                          &job->heel, &job->ball, &job->toe, &job->joint, &job->between, &job->parts, &job->scale,
                          &job->align, &job->pitch, &job->roll, &job->bends, &job->step))
        return -1;
    const npy_intp count = PyArray_Check(points) && PyArray_NDIM((PyArrayObject *)points) == 2
                               ? PyArray_DIM((PyArrayObject *)points, 0)
                               : 0;
    if (count < 1 || count > 1000) {
        PyErr_SetString(PyExc_TypeError, "rest: expected 1 to 1000 points");
        return -1;
    }
    job->count = (int)count;
    job->points_ahead = ahead != Py_None;
    if (!fits(job) || main < 0 || main >= job->count) {
        PyErr_SetString(PyExc_TypeError, "rest: the axis, or which points are meant, does not fit the job");
        return -1;
    }
    if (!(job->points = block_of("points", points, NPY_DOUBLE, count, 3)) || take_ground(job, parts, ground) < 0)
        return -1;
    memcpy(job->place, job->points[main], sizeof job->place);
    return job->points_ahead ? take_vector("ahead", ahead, job->ahead) : 0;
}

/* Height of the highest ground below the points; NaN if there is none. */
static double highest(const ik_rest_job *job) {
    double most = NAN;
    for (int k = 0; k < job->count; k++)
        if (job->hit[k] && (job->ground[k][job->axis] > most || isnan(most))) most = job->ground[k][job->axis];
    return most;
}

static PyObject *rest(PyObject *module, PyObject *args) {
    ik_rest_job job = {0};
    const int32_t *parts;
    npy_intp three = 3;
    (void)module;
    if (take(&job, &parts, args) < 0) return NULL;
    const double high = highest(&job);
    if (isnan(high)) Py_RETURN_NONE;
    void *scratch = malloc(ik_rest_scratch(job.count));
    if (!scratch) return PyErr_NoMemory();
    const ik_rested found = ik_rest(&job, scratch);
    free(scratch);
    PyArrayObject *normal = (PyArrayObject *)PyArray_SimpleNew(1, &three, NPY_DOUBLE);
    if (!normal) return NULL;
    memcpy(PyArray_DATA(normal), found.normal, sizeof found.normal);
    return Py_BuildValue("(Ndid)", normal, found.lift, (int)parts[found.point], high);
}

PyMethodDef footing_functions[] = {
    {"rest", rest, METH_VARARGS,
     "rest(points, main, (hit, ground, normals, parts), ahead, (axis, heel, ball, toe, joint, between, parts), (scale, "
     "align, pitch, roll, bends, step), /)\n--\n\nNormal, lift, the part that it touches, and how high the ground is; "
     "None where there is none. ahead may be None."},
    {NULL, NULL, 0, NULL},
};
