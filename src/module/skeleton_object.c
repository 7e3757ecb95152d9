/* The skeleton as an immutable Python object, and forward kinematics.
 *
 * Everything is checked when the object is made, so that a kernel never sees a bad index: parents, finite numbers,
 * kinds and axes of limits, masses. Any argument ends in an object or an exception. Functions take NumPy arrays of the
 * right shape and refuse all others; ikcore/skeleton.py makes them. They run without the GIL. */
#include "skeleton_object.h"

#include "module.h"
#include "state.h"

#include "numpy_api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD ik_skeleton skeleton; /* its arrays are one block, which `parents` starts */
} skeleton_object;

/* --- construction ------------------------------------------------------------------------------------------------- */

/* The numbers of an ik_limit in the order of its fields, without the first cone, as a row of the argument `limits`. */
enum { LIMIT_NUMBERS = 35 };

/* An argument as an array of doubles, or of integers, with `columns` numbers a joint (0: one); count -1: any. */
static PyArrayObject *array_of(PyObject *object, const char *name, int type, npy_intp count, npy_intp columns) {
    PyArrayObject *array =
        (PyArrayObject *)PyArray_FROMANY(object, type, columns ? 2 : 1, columns ? 2 : 1, NPY_ARRAY_CARRAY_RO);
    if (!array) return NULL;
    npy_intp rows = PyArray_DIM(array, 0);
    if ((count < 0 || rows == count) && (!columns || PyArray_DIM(array, 1) == columns)) return array;
    if (rows != count && count >= 0)
        PyErr_Format(PyExc_ValueError, "%s: expected one for each of the %zd joints, got %zd", name, (Py_ssize_t)count,
                     (Py_ssize_t)rows);
    else
        PyErr_Format(PyExc_ValueError, "%s: expected rows of %zd numbers, got %zd", name, (Py_ssize_t)columns,
                     (Py_ssize_t)PyArray_DIM(array, 1));
    Py_DECREF(array);
    return NULL;
}

/* The numbers of an ik_joint, in the same way, of the argument `joints`. */
enum { JOINT_NUMBERS = sizeof(ik_joint) / sizeof(double) };

/* The numbers of an ik_cone, of the argument `cones`. */
enum { CONE_NUMBERS = sizeof(ik_cone) / sizeof(double) };

/* One block for all arrays, the widest type first. */
static int allocate(ik_skeleton *skeleton, npy_intp count, int with_limits, int with_joints, npy_intp cones) {
    size_t numbers_each = 7 + (with_joints ? (size_t)JOINT_NUMBERS : 0);
    size_t joint = sizeof(ik_limit) * (size_t)with_limits + numbers_each * sizeof(double) + 3 * sizeof(int);
    if (count > INT32_MAX / (npy_intp)joint || cones > IK_CONES * count) {
        PyErr_Format(PyExc_ValueError, "expected at most %zd joints, and %d cones for each, got %zd and %zd",
                     (Py_ssize_t)(INT32_MAX / joint), IK_CONES, (Py_ssize_t)count, (Py_ssize_t)cones);
        return -1;
    }
    char *block = calloc(1, (size_t)count * joint + (size_t)cones * sizeof(ik_cone));
    if (!block) {
        PyErr_NoMemory();
        return -1;
    }
    double *numbers = (double *)(block + sizeof(ik_limit) * (size_t)with_limits * (size_t)count);
    ik_cone *kept = (ik_cone *)(numbers + numbers_each * (size_t)count);
    int *indices = (int *)(kept + cones);
    *skeleton = (ik_skeleton){
        .count = (int)count,
        .limits = with_limits ? (ik_limit *)block : NULL,
        .cones = kept,
        .cone_count = (int)cones,
        .offsets = numbers,
        .rests = numbers + 3 * count,
        .joints = with_joints ? (ik_joint *)(numbers + 7 * count) : NULL,
        .parents = indices,
        .order = indices + count,
        .rank = indices + 2 * count,
    };
    return 0;
}

/* The start of a skeleton's block. */
static void *block_of(const ik_skeleton *skeleton) {
    return skeleton->limits ? (void *)skeleton->limits : (void *)skeleton->offsets;
}

/* Parents, and the order derived from them. */
static int take_parents(const ik_skeleton *skeleton, PyArrayObject *array) {
    const int64_t *given = PyArray_DATA(array);
    int *parents = (int *)skeleton->parents, count = skeleton->count;
    for (int joint = 0; joint < count; joint++) {
        if (given[joint] < -1 || given[joint] >= count) {
            PyErr_Format(PyExc_ValueError,
                         "parents: joint %d has parent %lld; expected a joint, 0 to %d, or -1 for none", joint,
                         (long long)given[joint], count - 1);
            return -1;
        }
        parents[joint] = (int)given[joint];
    }
    int found = ik_skeleton_order(count, parents, (int *)skeleton->order, (int *)skeleton->rank);
    if (found == count) return 0;
    PyErr_Format(PyExc_ValueError, "parents: joint %d is its own %s; expected a tree, whose root has parent -1", found,
                 parents[found] == found ? "parent" : "ancestor");
    return -1;
}

static int take_offsets(const ik_skeleton *skeleton, PyArrayObject *array) {
    const double *given = PyArray_DATA(array);
    for (npy_intp i = 0; i < 3 * (npy_intp)skeleton->count; i++)
        if (!isfinite(given[i])) {
            PyErr_Format(PyExc_ValueError, "offsets: that of joint %d is not finite", (int)(i / 3));
            return -1;
        }
    memcpy((double *)skeleton->offsets, given, 3 * (size_t)skeleton->count * sizeof(double));
    return 0;
}

static int check_rotation(const char *name, int joint, const double *q) {
    if (!isfinite(q[0]) || !isfinite(q[1]) || !isfinite(q[2]) || !isfinite(q[3])) {
        PyErr_Format(PyExc_ValueError, "%s: the rotation of joint %d is not finite", name, joint);
        return -1;
    }
    if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0) {
        PyErr_Format(PyExc_ValueError,
                     "%s: the rotation of joint %d is zero, which is none; expected (1, 0, 0, 0) for that", name,
                     joint);
        return -1;
    }
    return 0;
}

static int take_rests(const ik_skeleton *skeleton, PyArrayObject *array) {
    const double *given = PyArray_DATA(array);
    for (int joint = 0; joint < skeleton->count; joint++)
        if (check_rotation("rest", joint, given + 4 * (npy_intp)joint) < 0) return -1;
    ik_quat_normalize_job job = {.q = {(void *)given, 4 * sizeof(double), sizeof(double)},
                                 .out = {(void *)skeleton->rests, 4 * sizeof(double), sizeof(double)}};
    ik_quat_normalize_f64(&job, skeleton->count);
    return 0;
}

/* A whole number in [0, end). */
static int is_index(double x, int end) { return x >= 0 && x < end && x == floor(x); }

static int take_limits(const ik_skeleton *skeleton, PyArrayObject *array) {
    int cone = 0;
    for (int joint = 0; joint < skeleton->count; joint++) {
        const double *given = (const double *)PyArray_DATA(array) + LIMIT_NUMBERS * (npy_intp)joint, *axes = given + 11;
        ik_limit *limit = (ik_limit *)&skeleton->limits[joint];
        int valid =
            is_index(given[0], IK_KUSUDAMA + 1) && is_index(axes[0], 3) && is_index(axes[1], 3) && is_index(axes[2], 3);
        for (int i = 0; i < LIMIT_NUMBERS; i++)
            valid &= !isnan(given[i]);
        valid &= given[0] == IK_KUSUDAMA ? is_index(given[34] - 1, IK_CONES) : given[34] == 0;
        valid = valid && given[34] <= skeleton->cone_count - cone;
        if (!valid) {
            PyErr_Format(PyExc_ValueError, "limits: that of joint %d is not one", joint);
            return -1;
        }
        limit->kind = (enum ik_limit_kind)(int)given[0];
        memcpy(limit->frame, given + 1, sizeof limit->frame);
        memcpy(limit->twist, given + 5, sizeof limit->twist);
        memcpy(limit->swing, given + 7, sizeof limit->swing);
        for (int i = 0; i < 3; i++)
            limit->axes[i] = (int)axes[i];
        memcpy(limit->angles, given + 14, sizeof limit->angles);
        memcpy(limit->stiffness, given + 20, sizeof limit->stiffness);
        limit->slides = given[23] != 0;
        memcpy(limit->position, given + 24, sizeof limit->position);
        memcpy(limit->speed, given + 30, sizeof limit->speed);
        memcpy(limit->acceleration, given + 32, sizeof limit->acceleration);
        limit->first_cone = cone, limit->cones = (int)given[34];
        cone += limit->cones;
    }
    return 0;
}

static int take_cones(const ik_skeleton *skeleton, PyArrayObject *array) {
    const double *given = PyArray_DATA(array);
    for (npy_intp i = 0; i < CONE_NUMBERS * (npy_intp)skeleton->cone_count; i++)
        if (!isfinite(given[i])) {
            PyErr_Format(PyExc_ValueError, "cones: that at %d is not finite", (int)(i / CONE_NUMBERS));
            return -1;
        }
    memcpy((ik_cone *)skeleton->cones, given, (size_t)skeleton->cone_count * sizeof(ik_cone));
    return 0;
}

static int take_joints(const ik_skeleton *skeleton, PyArrayObject *array) {
    const ik_joint *given = PyArray_DATA(array);
    ik_joint *joints = (ik_joint *)skeleton->joints;
    for (int joint = 0; joint < skeleton->count; joint++) {
        const double mass = given[joint].mass, *centre = given[joint].centre;
        if (!(mass >= 0) || isinf(mass)) {
            PyErr_Format(PyExc_ValueError, "masses: that of joint %d is negative or not finite", joint);
            return -1;
        }
        if (!isfinite(centre[0]) || !isfinite(centre[1]) || !isfinite(centre[2])) {
            PyErr_Format(PyExc_ValueError, "centres: that of joint %d is not finite", joint);
            return -1;
        }
        for (int i = 0; i < 6; i++)
            if (!isfinite(given[joint].inertia[i])) {
                PyErr_Format(PyExc_ValueError, "inertias: that of joint %d is not finite", joint);
                return -1;
            }
        if (!(given[joint].compliance >= 0) || isinf(given[joint].compliance)) {
            PyErr_Format(PyExc_ValueError, "compliances: that of joint %d is negative or not finite", joint);
            return -1;
        }
        if (!(given[joint].cap >= 0)) {
            PyErr_Format(PyExc_ValueError, "caps: that of joint %d is negative or not a number", joint);
            return -1;
        }
        if (check_rotation("preferred", joint, given[joint].preferred) < 0) return -1;
        joints[joint] = given[joint];
    }
    ik_rows preferred = {joints->preferred, sizeof *joints, sizeof(double)};
    ik_quat_normalize_f64(&(ik_quat_normalize_job){.q = preferred, .out = preferred}, skeleton->count);
    return 0;
}

/* One argument: converted to an array, checked and copied. */
static int take_argument(const ik_skeleton *skeleton, PyObject *object, const char *name, int columns,
                         int (*taken)(const ik_skeleton *, PyArrayObject *)) {
    PyArrayObject *array = array_of(object, name, NPY_DOUBLE, skeleton->count, columns);
    if (!array) return -1;
    int failed = taken(skeleton, array);
    Py_DECREF(array);
    return failed;
}

static PyObject *skeleton_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"parents", "offsets", "rests", "limits", "joints", "cones", NULL};
    PyObject *parents, *offsets, *rests, *limits = Py_None, *joints = Py_None, *cones = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOO|OOO", names, &parents, &offsets, &rests, &limits, &joints,
                                     &cones))
        return NULL;
    PyArrayObject *given = array_of(parents, "parents", NPY_INT64, -1, 0), *kept = NULL;
    if (!given) return NULL;
    if (cones != Py_None && !(kept = array_of(cones, "cones", NPY_DOUBLE, -1, CONE_NUMBERS))) {
        Py_DECREF(given);
        return NULL;
    }
    const npy_intp cone_count = kept ? PyArray_DIM(kept, 0) : 0;
    skeleton_object *self = (skeleton_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    int failed = !self;
    if (!failed && PyArray_DIM(given, 0) == 0) {
        PyErr_SetString(PyExc_ValueError, "parents: expected at least one joint, got none");
        failed = 1;
    }
    failed = failed ||
             allocate(&self->skeleton, PyArray_DIM(given, 0), limits != Py_None, joints != Py_None, cone_count) < 0 ||
             take_parents(&self->skeleton, given) < 0 ||
             take_argument(&self->skeleton, offsets, "offsets", 3, take_offsets) < 0 ||
             take_argument(&self->skeleton, rests, "rest", 4, take_rests) < 0 ||
             (limits != Py_None && take_argument(&self->skeleton, limits, "limits", LIMIT_NUMBERS, take_limits) < 0) ||
             (joints != Py_None && take_argument(&self->skeleton, joints, "joints", JOINT_NUMBERS, take_joints) < 0) ||
             (kept && take_cones(&self->skeleton, kept) < 0);
    Py_DECREF(given);
    Py_XDECREF((PyObject *)kept);
    if (!failed) return (PyObject *)self;
    Py_XDECREF((PyObject *)self);
    return NULL;
}

static void skeleton_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    free(block_of(&((skeleton_object *)self)->skeleton));
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* --- attributes --------------------------------------------------------------------------------------------------- */

/* A read-only array of its data, which keeps the object alive. */
static PyObject *view(PyObject *self, int type, int columns, const void *data) {
    npy_intp shape[2] = {((skeleton_object *)self)->skeleton.count, columns};
    PyObject *array = PyArray_SimpleNewFromData(columns ? 2 : 1, shape, type, (void *)data);
    if (!array) return NULL;
    PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    Py_INCREF(self);
    if (PyArray_SetBaseObject((PyArrayObject *)array, self) == 0) return array;
    Py_DECREF(array);
    return NULL;
}

#define VIEW(name, type, columns)                                                                                      \
    static PyObject *view_##name(PyObject *self, void *unused) {                                                       \
        (void)unused;                                                                                                  \
        return view(self, type, columns, ((skeleton_object *)self)->skeleton.name);                                    \
    }
VIEW(parents, NPY_INT32, 0)
VIEW(order, NPY_INT32, 0)
VIEW(offsets, NPY_DOUBLE, 3)
VIEW(rests, NPY_DOUBLE, 4)
VIEW(joints, NPY_DOUBLE, JOINT_NUMBERS)

static PyObject *view_joints_or_none(PyObject *self, void *unused) {
    return ((skeleton_object *)self)->skeleton.joints ? view_joints(self, unused) : Py_NewRef(Py_None);
}

static PyGetSetDef properties[] = {
    {"parents", view_parents, NULL, "Parent of every joint, -1 for a root.", NULL},
    {"order", view_order, NULL, "The joints, every parent before its children.", NULL},
    {"offsets", view_offsets, NULL, "(3) each.", NULL},
    {"rests", view_rests, NULL, "(4) each, of unit length.", NULL},
    {"joints", view_joints_or_none, NULL, "The numbers of an ik_joint of each, or None.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Skeleton(parents, offsets, rests, limits=None, joints=None, cones=None)\n--\n\nJoints; checked and "
                "sorted once, immutable."},
    {Py_tp_new, skeleton_new},
    {Py_tp_dealloc, skeleton_dealloc},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyTypeObject **skeleton_type(PyObject *module) {
    return &((core_state *)PyModule_GetState(module))->skeleton_type; /* an attribute could be replaced */
}

const ik_skeleton *skeleton_of(PyObject *module, PyObject *object) {
    if (PyObject_TypeCheck(object, *skeleton_type(module))) return &((skeleton_object *)object)->skeleton;
    PyErr_Format(PyExc_TypeError, "expected a Skeleton, got %R", (PyObject *)Py_TYPE(object));
    return NULL;
}

#include "skeleton_kinematics.h"

static PyMethodDef functions[] = {
    {"forward", (PyCFunction)(void (*)(void))forward, METH_FASTCALL,
     "forward(skeleton, rotations, translations, scales, positions, world_rotations, /)\n--\n\n"
     "Writes the last two; translations and scales may be None."},
    {"local", (PyCFunction)(void (*)(void))local, METH_FASTCALL,
     "local(skeleton, world_rotations, positions, rotations, translations, /)\n--\n\n"
     "Writes the last two."},
    {NULL, NULL, 0, NULL},
};

int add_skeleton(PyObject *module) {
    PyTypeObject **type = skeleton_type(module);
    *type = add_type(module, "ikcore._core.Skeleton", sizeof(skeleton_object), slots);
    return *type ? PyModule_AddFunctions(module, functions) : -1;
}
