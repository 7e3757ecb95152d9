/* The foot placer as functions of Python. ikcore/feet/foot_placer.py makes what they are called with: arrays in one
 * block, characters first. They run without the GIL. */
#include "module.h"

#include "numpy_api.h"

#include <stddef.h>
#include <string.h>

#include "ik.h"

/* NUMBER is float or double, by the job. */
enum { NUMBER = -1 };

/* A field of the job: its place there, what it holds, and how many rows a character has. */
typedef struct {
    const char *name;
    size_t field;
    int type, columns, written, required;
    enum { EACH, LEGS, RAYS } per;
} role;

#define ROLE(name, ...) {#name, offsetof(ik_feet_job, name), __VA_ARGS__}
enum { BODY = sizeof(ik_body_state) / sizeof(double), FOOT = sizeof(ik_foot_state) / sizeof(double) };
static const role roles[] = {
    ROLE(body, NPY_DOUBLE, BODY, 1, 1, EACH),
    ROLE(state, NPY_DOUBLE, FOOT, 1, 1, LEGS),
    ROLE(dt, NUMBER, 1, 0, 1, EACH),
    ROLE(hip, NUMBER, 3, 0, 1, LEGS),
    ROLE(knee, NUMBER, 3, 0, 1, LEGS),
    ROLE(ankle, NUMBER, 3, 0, 1, LEGS),
    ROLE(toe, NUMBER, 3, 0, 1, LEGS),
    ROLE(heel, NUMBER, 3, 0, 0, LEGS),
    ROLE(hinge, NUMBER, 3, 0, 0, LEGS),
    ROLE(contact, NUMBER, 1, 0, 0, LEGS),
    ROLE(landing, NUMBER, 3, 0, 0, LEGS),
    ROLE(landing_time, NUMBER, 1, 0, 0, LEGS),
    ROLE(origin, NPY_DOUBLE, 3, 0, 0, EACH),
    ROLE(floor, NUMBER, 1, 0, 0, EACH),
    ROLE(velocity, NUMBER, 3, 0, 0, EACH),
    ROLE(stride, NUMBER, 1, 0, 0, EACH),
    ROLE(grounded, NPY_BOOL, 1, 0, 0, EACH),
    ROLE(ray_origin, NPY_DOUBLE, 3, 1, 1, RAYS),
    ROLE(ray_length, NPY_DOUBLE, 1, 1, 1, RAYS),
    ROLE(ray_chosen, NPY_BOOL, 1, 1, 1, RAYS),
    ROLE(hit_point, NPY_DOUBLE, 3, 0, 1, RAYS),
    ROLE(hit_normal, NPY_DOUBLE, 3, 0, 1, RAYS),
    ROLE(pelvis, NUMBER, 3, 1, 0, EACH),
    ROLE(lean, NUMBER, 4, 1, 0, EACH),
    ROLE(root_delta, NUMBER, 4, 1, 0, LEGS),
    ROLE(mid_delta, NUMBER, 4, 1, 0, LEGS),
    ROLE(foot_delta, NUMBER, 4, 1, 0, LEGS),
    ROLE(hip_out, NUMBER, 3, 1, 0, LEGS),
    ROLE(knee_out, NUMBER, 3, 1, 0, LEGS),
    ROLE(ankle_out, NUMBER, 3, 1, 0, LEGS),
    ROLE(toe_out, NUMBER, 3, 1, 0, LEGS),
    ROLE(planted, NPY_BOOL, 1, 1, 0, LEGS),
    ROLE(status, NPY_INT32, 1, 1, 0, LEGS),
};

typedef struct {
    ik_feet_job job;
    ik_foot_settings settings;
    Py_ssize_t count, first, last;
    int legs, narrow;
} call;

/* Settings in the order of the table, after the three numbers of up. */
static int take_settings(call *what, PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    const npy_intp numbers = (npy_intp)(sizeof what->settings / sizeof(double));
    if (!PyArray_Check(object) || !holds(array, NPY_DOUBLE) || PyArray_NDIM(array) != 1 ||
        PyArray_DIM(array, 0) != numbers || !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISBEHAVED_RO(array)) {
        PyErr_SetString(PyExc_TypeError, "place_feet: settings do not fit the job");
        return -1;
    }
    memcpy(&what->settings, PyArray_DATA(array), sizeof what->settings);
    what->job.settings = &what->settings;
    return 0;
}

/* One row for all characters has stride 0. */
static int take_array(call *what, const role *r, PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    const int type = r->type != NUMBER ? r->type : what->narrow ? NPY_FLOAT : NPY_DOUBLE;
    const npy_intp rows = r->per == EACH ? 1 : r->per == LEGS ? what->legs : (npy_intp)what->legs * IK_FOOT_RAYS;
    const npy_intp wanted = rows * r->columns;
    const int fits = PyArray_Check(object) && holds(array, type) && PyArray_IS_C_CONTIGUOUS(array) &&
                     (r->written ? PyArray_ISBEHAVED(array) : PyArray_ISBEHAVED_RO(array));
    const int one = fits && r->per == EACH && !r->written && PyArray_SIZE(array) == wanted;
    if (!fits || (!one && PyArray_SIZE(array) != wanted * what->count)) {
        PyErr_Format(PyExc_TypeError, "place_feet: %s does not fit the job", r->name);
        return -1;
    }
    const npy_intp row = r->columns * PyArray_ITEMSIZE(array);
    char *field = (char *)&what->job + r->field;
    if (r->per == LEGS) {
        const ik_rows all = {.data = PyArray_DATA(array), .stride = row * what->legs};
        *(ik_lists *)field = (ik_lists){.rows = all, .next = row, .count = what->legs};
    } else {
        *(ik_rows *)field = (ik_rows){.data = PyArray_DATA(array), .stride = one && what->count > 1 ? 0 : row};
    }
    return 0;
}

static int take_call(call *what, PyObject *args) {
    PyObject *settings, *arrays;
    *what = (call){0};
    if (!PyArg_ParseTuple(args, "OO!inpnn", &settings, &PyDict_Type, &arrays, &what->legs, &what->count, &what->narrow,
                          &what->first, &what->last))
        return -1;
    if (what->legs < 1 || what->legs > IK_LEGS_MOST || what->count < 0 || what->first < 0 || what->last > what->count) {
        PyErr_SetString(PyExc_ValueError, "place_feet: legs or characters do not fit the job");
        return -1;
    }
    if (take_settings(what, settings) < 0) return -1;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        PyObject *array = PyDict_GetItemString(arrays, roles[i].name);
        if (array && array != Py_None) {
            if (take_array(what, &roles[i], array) < 0) return -1;
        } else if (roles[i].required) {
            PyErr_Format(PyExc_TypeError, "place_feet: %s is missing", roles[i].name);
            return -1;
        }
    }
    return 0;
}

typedef void (*of_feet)(const ik_feet_job *job, ptrdiff_t first, ptrdiff_t last);

static PyObject *run(PyObject *args, of_feet f32, of_feet f64) {
    call what;
    if (take_call(&what, args) < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    (what.narrow ? f32 : f64)(&what.job, what.first, what.last);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *foot_rays(PyObject *module, PyObject *args) {
    return (void)module, run(args, ik_foot_rays_f32, ik_foot_rays_f64);
}

static PyObject *place_feet(PyObject *module, PyObject *args) {
    return (void)module, run(args, ik_place_feet_f32, ik_place_feet_f64);
}

static PyMethodDef functions[] = {
    {"foot_rays", foot_rays, METH_VARARGS,
     "foot_rays(settings, arrays, legs, count, narrow, first, last, /)\n--\n\nWrites the rays of characters [first, "
     "last)."},
    {"place_feet", place_feet, METH_VARARGS,
     "place_feet(settings, arrays, legs, count, narrow, first, last, /)\n--\n\nAdvances characters [first, last) by a "
     "frame; writes state and pose."},
    {NULL, NULL, 0, NULL},
};

/* A constant made of (name, ...) rows, whose reference it takes. */
static int add_rows(PyObject *module, const char *name, PyObject *table) {
    const int failed = !table || PyModule_AddObjectRef(module, name, table) < 0;
    Py_XDECREF(table);
    return failed ? -1 : 0;
}

#define SETTING(name, value, sentence)     "(sds)"
#define SETTING_ROW(name, value, sentence) , #name, (double)(value), sentence
#define ONE_FORMAT(name)                   "(si)"
#define SOME_FORMAT(name, count)           "(si)"
#define ONE_ROW(name)                      , #name, 1
#define SOME_ROW(name, count)              , #name, count

int add_foot_placer(PyObject *module) {
    if (PyModule_AddFunctions(module, functions) < 0) return -1;
    if (PyModule_AddIntConstant(module, "FOOT_RAYS", IK_FOOT_RAYS) < 0 ||
        PyModule_AddIntConstant(module, "LEGS_MOST", IK_LEGS_MOST) < 0)
        return -1;
    if (add_rows(module, "FOOT_SETTINGS",
                 Py_BuildValue("(" IK_FOOT_SETTINGS(SETTING) ")" IK_FOOT_SETTINGS(SETTING_ROW))) < 0)
        return -1;
    if (add_rows(module, "FOOT_STATE",
                 Py_BuildValue("(" IK_FOOT_STATE(ONE_FORMAT, SOME_FORMAT) ")" IK_FOOT_STATE(ONE_ROW, SOME_ROW))) < 0)
        return -1;
    return add_rows(module, "BODY_STATE",
                    Py_BuildValue("(" IK_BODY_STATE(ONE_FORMAT, SOME_FORMAT) ")" IK_BODY_STATE(ONE_ROW, SOME_ROW)));
}
