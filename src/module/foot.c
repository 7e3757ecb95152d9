/* A foot over all frames of a clip (foot.h). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include "arrays.h"
#include "foot.h"

int prepare_feet(void) { return PyArray_ImportNumPyAPI(); }

int refused_foot(const char *name) {
    PyErr_Format(PyExc_TypeError, "foot: %s does not fit the job", name);
    return -1;
}

PyArrayObject *array_of_rows(PyObject *object, int type, npy_intp rows, int columns, int whole) {
    PyArrayObject *array = (PyArrayObject *)object;
    const int axes = columns ? 2 : 1;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != axes || !holds(array, type) || !PyArray_ISBEHAVED_RO(array))
        return NULL;
    if (PyArray_DIM(array, 0) != rows || (columns && PyArray_DIM(array, 1) != columns)) return NULL;
    return !whole || PyArray_IS_C_CONTIGUOUS(array) ? array : NULL;
}

void *take_found(const char *name, PyObject *object, int type, npy_intp frames, int columns) {
    PyArrayObject *array = array_of_rows(object, type, frames, columns, 1);
    if (array && PyArray_ISWRITEABLE(array)) return PyArray_DATA(array);
    refused_foot(name);
    return NULL;
}

npy_intp take_frames(const ptrdiff_t **frames, const char *name, PyObject *object, npy_intp most) {
    const npy_intp count = PyArray_Check(object) ? PyArray_SIZE((PyArrayObject *)object) : 0;
    PyArrayObject *array = array_of_rows(object, NPY_INTP, count, 0, 1);
    if (!array) return refused_foot(name);
    *frames = PyArray_DATA(array);
    for (npy_intp k = 0; k < count; k++)
        if ((*frames)[k] < 0 || (*frames)[k] >= most) return refused_foot(name);
    return count;
}

static int take_rows(ik_rows *rows, const char *name, PyObject *object, npy_intp frames, int columns) {
    PyArrayObject *array = array_of_rows(object, NPY_DOUBLE, frames, columns, 0);
    if (!array) return refused_foot(name);
    *rows = (ik_rows){.data = PyArray_DATA(array), .stride = PyArray_STRIDE(array, 0)};
    if (columns) rows->step = PyArray_STRIDE(array, 1);
    return 0;
}

static int take_option(ik_rows *rows, const char *name, PyObject *object, npy_intp frames, int columns) {
    return object == Py_None ? 0 : take_rows(rows, name, object, frames, columns);
}

/* A point is (places, heights, thickness, whether it goes with the toes, the one that touches the ground). */
static int take_points(foot_over_time *taken, PyObject *points) {
    taken->foot.points = (int)PyTuple_Size(points);
    if (taken->foot.points < 1 || taken->foot.points > MOST_POINTS) return refused_foot("soles");
    for (int k = 0; k < taken->foot.points; k++) {
        PyObject *places, *heights, *point = PyTuple_GetItem(points, k);
        int with_toes;
        if (!PyTuple_Check(point)) return refused_foot("soles");
        if (!PyArg_ParseTuple(point, "OOdpi", &places, &heights, &taken->thick[k], &with_toes, &taken->under[k]))
            return -1;
        if (taken->under[k] < 0 || taken->under[k] >= taken->foot.points) return refused_foot("soles");
        if (!k && PyArray_Check(places) && PyArray_NDIM((PyArrayObject *)places) > 0)
            taken->foot.frames = PyArray_DIM((PyArrayObject *)places, 0);
        if (take_rows(&taken->soles[k], "soles", places, taken->foot.frames, 3) < 0 ||
            take_rows(&taken->stood[k], "stood", heights, taken->foot.frames, 0) < 0)
            return -1;
        taken->on_toes[k] = (char)with_toes;
    }
    taken->foot.soles = taken->soles, taken->foot.stood = taken->stood, taken->foot.thick = taken->thick,
    taken->foot.on_toes = taken->on_toes;
    taken->foot.under = taken->under;
    return 0;
}

int take_foot(foot_over_time *taken, PyObject *given) {
    PyObject *points, *reference, *front, *back, *way, *turning, *toes;
    ik_foot *foot = &taken->foot;
    if (!PyArg_ParseTuple(given, "O!iiiiOOOOOOppdn", &PyTuple_Type, &points, &foot->axis, &foot->ball, &foot->toe,
                          &foot->heel, &reference, &front, &back, &way, &turning, &toes, &foot->turns, &foot->locked,
                          &foot->ramp, &foot->ends))
        return -1;
    if (take_points(taken, points) < 0) return -1;
    if (foot->axis < 0 || foot->axis > 2 || foot->ball < -1 || foot->ball >= foot->points || foot->toe < -1 ||
        foot->toe >= foot->points || (foot->toe >= 0 && foot->toe == foot->ball) || foot->heel < -1 ||
        foot->heel >= foot->points || foot->ends < 0)
        return refused_foot("foot");
    if (take_rows(&foot->reference, "reference", reference, foot->frames, 3) < 0 ||
        take_option(&foot->front, "front", front, foot->frames, 3) < 0 ||
        take_option(&foot->back, "back", back, foot->frames, 3) < 0 ||
        take_option(&foot->way, "way", way, foot->frames, 3) < 0 ||
        take_option(&foot->turning, "turning", turning, foot->frames, 4) < 0)
        return -1;
    return take_option(&foot->toe_turn, "toe_turn", toes, foot->frames, 4);
}

int take_stood(ik_stood *stood, const ik_foot *foot, PyObject *shift, PyObject *turn, PyObject *toes) {
    return (stood->shift = take_found("shift", shift, NPY_DOUBLE, foot->frames, 3)) &&
                   (stood->turn = take_found("turn", turn, NPY_DOUBLE, foot->frames, 4)) &&
                   (stood->toes = take_found("toes", toes, NPY_DOUBLE, foot->frames, 4))
               ? 0
               : -1;
}
