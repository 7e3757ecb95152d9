/* Soles from poses in which feet are flat, as Python functions (ikcore/feet/soles.py). */
#include "module.h"

#include "numpy_api.h"

#include <stdlib.h>

#include "../ik/feet/median.h"
#include "../ik/feet/sole_fit.h"

static int is_float(PyObject *object) { return PyArray_Check(object) && holds((PyArrayObject *)object, NPY_FLOAT); }

/* Doubles of some shape in one block, as a new reference; axes of -1 may have any size. NULL with an exception set. */
static PyArrayObject *block_of(const char *name, PyObject *object, int axes, const npy_intp *shape) {
    PyArrayObject *array = (PyArrayObject *)PyArray_FROMANY(object, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO);
    int fits = array && PyArray_NDIM(array) == axes;
    for (int axis = 0; fits && axis < axes; axis++)
        fits = shape[axis] < 0 || PyArray_DIM(array, axis) == shape[axis];
    if (fits || !array) return array;
    PyErr_Format(PyExc_TypeError, "soles: %s does not fit the job", name);
    Py_DECREF((PyObject *)array);
    return NULL;
}

/* --- flat frames -------------------------------------------------------------------------------------------------- */

/* Frames of a job with matching arrays. */
static PyObject *frames_of(ik_flat_frames_job *job, PyArrayObject *steps, PyArrayObject *heights) {
    const npy_intp joints = PyArray_DIM(heights, 1);
    const double *height = PyArray_DATA(heights);
    npy_intp most = job->wanted < (job->frames + 1) / 2 ? job->wanted : (job->frames + 1) / 2;
    double *sums = calloc((size_t)job->frames + 1, sizeof *sums);
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(1, &most, NPY_INTP);
    job->work = malloc(ik_flat_frames_work(job->frames));
    if (sums && job->work && found) {
        for (npy_intp k = 0; k < job->frames; k++)
            for (npy_intp joint = 0; joint < joints; joint++)
                sums[k] += *height++;
        job->steps = PyArray_DATA(steps), job->heights = sums, job->chosen = PyArray_DATA(found);
        ik_flat_frames(job);
    } else {
        Py_CLEAR(found);
        PyErr_NoMemory();
    }
    free(sums);
    free(job->work);
    return (PyObject *)found;
}

static PyObject *flat_frames(PyObject *module, PyObject *args) {
    PyObject *given[2], *found = NULL;
    ik_flat_frames_job job = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOdn", &given[0], &given[1], &job.least, &job.wanted)) return NULL;
    static const npy_intp any[2] = {-1, -1};
    PyArrayObject *heights = block_of("heights", given[1], 2, any), *steps = NULL;
    if (heights) {
        job.frames = PyArray_DIM(heights, 0), job.floats = is_float(given[0]);
        const npy_intp count = job.frames + 1;
        steps = block_of("steps", given[0], 1, &count);
    }
    if (job.wanted < 0) job.wanted = 0;
    if (steps) found = frames_of(&job, steps, heights);
    Py_XDECREF((PyObject *)steps);
    Py_XDECREF((PyObject *)heights);
    return found;
}

/* --- points ------------------------------------------------------------------------------------------------------- */

typedef struct {
    ik_flat_foot foot;
    PyArrayObject *at, *up, *front;
} stands;

static void release(stands *s) {
    Py_XDECREF((PyObject *)s->at);
    Py_XDECREF((PyObject *)s->up);
    Py_XDECREF((PyObject *)s->front);
}

/* The arguments of a foot: (at, up, front, (ball, toe, side), (depth, tiny, to_ball)). -1 with an exception set. */
static int take(stands *s, PyObject *args) {
    PyObject *at, *up, *front;
    ik_flat_foot *foot = &s->foot;
    if (!PyTuple_Check(args) || !PyArg_ParseTuple(args, "OOO(ppd)(ddd)", &at, &up, &front, &foot->ball, &foot->toe,
                                                  &foot->side, &foot->depth, &foot->tiny, &foot->to_ball)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "soles: expected a foot first");
        return -1;
    }
    foot->joints = 1 + foot->ball + foot->toe, foot->floats = is_float(at);
    foot->toe *= foot->joints - 1;
    const npy_intp joints[3] = {-1, foot->joints, 3}, three = 3;
    if (!(s->at = block_of("at", at, 3, joints))) return -1;
    foot->frames = PyArray_DIM(s->at, 0);
    const npy_intp ways[2] = {foot->frames, 3};
    if (!(s->up = block_of("up", up, 2, ways)) || !(s->front = block_of("front", front, 1, &three))) return -1;
    foot->at = PyArray_DATA(s->at), foot->up = PyArray_DATA(s->up), foot->front = PyArray_DATA(s->front);
    return 0;
}

static PyObject *stood(PyObject *module, PyObject *args) {
    stands s = {0};
    (void)module;
    PyObject *found = NULL, *parts[4] = {NULL};
    if (take(&s, args) == 0) {
        const npy_intp shape[2] = {s.foot.frames, 3};
        for (int part = 0; part < 4; part++)
            parts[part] = PyArray_SimpleNew(part < 2 ? 1 : 2, shape, NPY_DOUBLE);
        if (parts[0] && parts[1] && parts[2] && parts[3]) {
            s.foot.height = PyArray_DATA((PyArrayObject *)parts[0]);
            s.foot.length = PyArray_DATA((PyArrayObject *)parts[1]);
            s.foot.ahead = PyArray_DATA((PyArrayObject *)parts[2]);
            s.foot.inner = PyArray_DATA((PyArrayObject *)parts[3]);
            ik_stand_flat(&s.foot);
            PyObject *point = s.foot.point ? Py_True : Py_False;
            found = Py_BuildValue("(OOOOO)", point, parts[0], parts[1], parts[2], parts[3]);
        }
    }
    for (int part = 0; part < 4; part++)
        Py_XDECREF(parts[part]);
    release(&s);
    return found;
}

/* Positions of the points in the spaces of foot and toes: the median over frames in which they are known, else None.
 * origins (frames, 2, 3), axes, rows (frames, 2, 3, 3). */
static PyObject *usual_of(const ik_flat_foot *foot, const ik_proportions *of, const double (*origins)[2][3],
                          const double (*axes)[2][3][3], double *work) {
    npy_intp known[IK_SOLES] = {0};
    for (npy_intp k = 0; k < foot->frames; k++) {
        double places[IK_SOLES][3];
        ik_flat_soles(foot, of, k, places);
        for (int sole = 0; sole < IK_SOLES; sole++) {
            const int carrier = !foot->point && (sole == IK_AT_BALL || sole == IK_AT_TOE);
            double *way = places[sole], along[3];
            for (int axis = 0; axis < 3; axis++)
                way[axis] = way[axis] - origins[k][carrier][axis];
            ik_within(axes[k][carrier], way, along);
            for (int axis = 0; axis < 3; axis++)
                work[(sole * 3 + axis) * foot->frames + known[sole]] = along[axis];
            known[sole] += along[0] == along[0] && along[1] == along[1] && along[2] == along[2];
        }
    }
    PyObject *found = PyTuple_New(IK_SOLES);
    for (int sole = 0; found && sole < IK_SOLES; sole++) {
        double usual[3];
        for (int axis = 0; known[sole] && axis < 3; axis++)
            usual[axis] = ik_median(work + (sole * 3 + axis) * foot->frames, known[sole]);
        PyObject *offset = known[sole] ? Py_BuildValue("(ddd)", usual[0], usual[1], usual[2]) : Py_BuildValue("");
        if (!offset || PyTuple_SetItem(found, sole, offset) < 0) Py_CLEAR(found);
    }
    return found;
}

static PyObject *offsets_of(ik_flat_foot *foot, const ik_proportions *of, PyArrayObject *origins, PyArrayObject *axes) {
    const size_t frames = (size_t)foot->frames;
    double *work = malloc((frames * (8 + 3 * IK_SOLES) + 1) * sizeof *work);
    if (!work) return PyErr_NoMemory();
    foot->height = work, foot->length = work + frames;
    foot->ahead = (double (*)[3])(work + 2 * frames), foot->inner = (double (*)[3])(work + 5 * frames);
    ik_stand_flat(foot);
    PyObject *found = usual_of(foot, of, PyArray_DATA(origins), PyArray_DATA(axes), work + 8 * frames);
    free(work);
    return found ? Py_BuildValue("(ON)", foot->point ? Py_True : Py_False, found) : NULL;
}

static PyObject *flat_soles(PyObject *module, PyObject *args) {
    PyObject *foot, *given[2], *found = NULL;
    PyArrayObject *origins = NULL, *axes = NULL;
    ik_proportions of;
    stands s = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO(ddd)", &foot, &given[0], &given[1], &of.heel, &of.wide, &of.steep)) return NULL;
    if (take(&s, foot) == 0) {
        const npy_intp shape[4] = {s.foot.frames, 2, 3, 3};
        origins = block_of("origins", given[0], 3, shape);
        axes = origins ? block_of("axes", given[1], 4, shape) : NULL;
    }
    if (axes) found = offsets_of(&s.foot, &of, origins, axes);
    Py_XDECREF((PyObject *)axes);
    Py_XDECREF((PyObject *)origins);
    release(&s);
    return found;
}

PyMethodDef soles_functions[] = {
    {"flat_frames", flat_frames, METH_VARARGS,
     "flat_frames(steps, heights, least, wanted, /)\n--\n\nOf the lower half of the frames those in which a foot moves "
     "the least; steps (frames + 1), heights (frames, joints)."},
    {"stood", stood, METH_VARARGS,
     "stood(at, up, front, (ball, toe, side), (depth, tiny, to_ball), /)\n--\n\nWhether a foot that stands flat is a "
     "point; and the height of the ground, how long it is, its ways ahead and inwards."},
    {"flat_soles", flat_soles, METH_VARARGS,
     "flat_soles(foot, origins, axes, (heel, wide, steep), /)\n--\n\nWhether a foot, as for stood, is a point; and of "
     "heel, ball, toe and sides where they usually are in the spaces of foot and toes, None where they are not."},
    {NULL, NULL, 0, NULL},
};
