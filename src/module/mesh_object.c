/* Triangles as a Python object, immutable, and rays against them.
 *
 * Everything is checked when the object is made: finite numbers of moderate size, vertices that exist. Any argument
 * ends in an object or an exception. `cast` takes NumPy arrays of the right shape and refuses all others;
 * ikcore/grounds makes them. Building and casting run without the GIL. */
#include "mesh_object.h"

#include "ik.h"
#include "state.h"

#include "numpy_api.h"

#include <math.h>
#include <stdlib.h>

#include "rays/ground_surface.h"

typedef struct {
    PyObject_HEAD PyArrayObject *vertices; /* (3) doubles each */
    PyArrayObject *faces;                  /* (3) int32_t each */
    ik_ray_tree tree;
    void *memory; /* of the tree, before it is aligned */
} mesh_object;

/* --- construction ------------------------------------------------------------------------------------------------- */

enum { ALIGNMENT = 64 };
static const double LARGEST_COORDINATE = 1e100;

static void *aligned(void *memory) { return (char *)memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT); }

/* A copy of an argument as an array of rows of three. */
static PyArrayObject *rows_of(PyObject *object, const char *name, int type) {
    int flags = NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY;
    PyArrayObject *array = (PyArrayObject *)PyArray_FROMANY(object, type, 2, 2, flags);
    if (!array || PyArray_DIM(array, 1) == 3) return array;
    PyErr_Format(PyExc_ValueError, "%s: expected rows of 3 numbers, got %zd", name, (Py_ssize_t)PyArray_DIM(array, 1));
    Py_DECREF(array);
    return NULL;
}

static int check_vertices(PyArrayObject *array) {
    const double *given = PyArray_DATA(array);
    for (npy_intp i = 0; i < 3 * PyArray_DIM(array, 0); i++) {
        if (fabs(given[i]) <= LARGEST_COORDINATE) continue;
        PyErr_Format(PyExc_ValueError, "vertices: vertex %zd is %s", (Py_ssize_t)(i / 3),
                     isfinite(given[i]) ? "too far away to compute with" : "not finite");
        return -1;
    }
    return 0;
}

static int check_faces(PyArrayObject *array, npy_intp vertices) {
    const int32_t *given = PyArray_DATA(array);
    if (PyArray_DIM(array, 0) > INT32_MAX / 8) {
        PyErr_Format(PyExc_ValueError, "faces: expected at most %d, got %zd", INT32_MAX / 8,
                     (Py_ssize_t)PyArray_DIM(array, 0));
        return -1;
    }
    for (npy_intp i = 0; i < 3 * PyArray_DIM(array, 0); i++) {
        if (given[i] >= 0 && given[i] < vertices) continue;
        PyErr_Format(PyExc_ValueError, "faces: face %zd has vertex %d; there are %zd", (Py_ssize_t)(i / 3), given[i],
                     (Py_ssize_t)vertices);
        return -1;
    }
    return 0;
}

/* 0, or -1 if out of memory. */
static int build(mesh_object *self) {
    const double *vertices = PyArray_DATA(self->vertices);
    const int32_t *faces = PyArray_DATA(self->faces);
    int triangles = (int)PyArray_DIM(self->faces, 0);
    void *scratch;
    Py_BEGIN_ALLOW_THREADS;
    scratch = malloc(ik_ray_tree_scratch(triangles) + ALIGNMENT);
    if (scratch) {
        size_t bytes = ik_ray_tree_plan(&self->tree, vertices, faces, triangles, aligned(scratch));
        self->memory = malloc(bytes + ALIGNMENT);
        if (self->memory)
            ik_ray_tree_fill(&self->tree, vertices, faces, triangles, aligned(scratch), aligned(self->memory));
    }
    free(scratch);
    Py_END_ALLOW_THREADS;
    return self->memory ? 0 : -1;
}

static PyObject *mesh_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"vertices", "faces", NULL};
    PyObject *vertices, *faces;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", names, &vertices, &faces)) return NULL;
    mesh_object *self = (mesh_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    int failed = !(self->vertices = rows_of(vertices, "vertices", NPY_DOUBLE)) ||
                 !(self->faces = rows_of(faces, "faces", NPY_INT32)) || check_vertices(self->vertices) < 0 ||
                 check_faces(self->faces, PyArray_DIM(self->vertices, 0)) < 0;
    if (!failed) {
        PyArray_CLEARFLAGS(self->vertices, NPY_ARRAY_WRITEABLE);
        PyArray_CLEARFLAGS(self->faces, NPY_ARRAY_WRITEABLE);
        failed = build(self) < 0;
        if (failed) PyErr_NoMemory();
    }
    if (!failed) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

static void mesh_dealloc(PyObject *object) {
    mesh_object *self = (mesh_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF((PyObject *)self->vertices);
    Py_XDECREF((PyObject *)self->faces);
    free(self->memory);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* --- attributes --------------------------------------------------------------------------------------------------- */

static PyObject *get_vertices(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)((mesh_object *)self)->vertices);
}

static PyObject *get_faces(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)((mesh_object *)self)->faces);
}

static PyObject *reduce(PyObject *object, PyObject *unused) {
    (void)unused;
    mesh_object *self = (mesh_object *)object;
    return Py_BuildValue("O(OO)", Py_TYPE(object), self->vertices, self->faces);
}

static PyGetSetDef properties[] = {
    {"vertices", get_vertices, NULL, "(3) each.", NULL},
    {"faces", get_faces, NULL, "(3) each: the vertices of every triangle.", NULL},
    {0},
};

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, "Pickles as vertices and faces."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Mesh(vertices, faces)\n--\n\nTriangles; checked and sorted for rays once, immutable."},
    {Py_tp_new, mesh_new},
    {Py_tp_dealloc, mesh_dealloc},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "ikcore._core.Mesh",
    .basicsize = sizeof(mesh_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* --- rays --------------------------------------------------------------------------------------------------------- */

/* An argument of cast: an array (items, columns) or (items); None if it is optional. */
typedef struct {
    const char *name;
    int type, columns, optional, written;
} array_role;

static int take_rows(ik_rows *rows, PyObject *object, const array_role *role, npy_intp items) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (role->optional && object == Py_None) return 0;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != (role->columns > 1 ? 2 : 1) ||
        PyArray_DIM(array, 0) != items || (role->columns > 1 && PyArray_DIM(array, 1) != role->columns) ||
        !holds(array, role->type) || !(role->written ? PyArray_ISBEHAVED(array) : PyArray_ISBEHAVED_RO(array))) {
        PyErr_Format(PyExc_TypeError, "cast: %s does not fit the job", role->name);
        return -1;
    }
    *rows = (ik_rows){PyArray_DATA(array), PyArray_STRIDE(array, 0), role->columns > 1 ? PyArray_STRIDE(array, 1) : 0};
    return 0;
}

/* One row for all items, or one for `each` of them. */
static int take_placement(ik_rows *rows, PyObject *object, const array_role *role, npy_intp each, npy_intp items) {
    int one = PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) == 2 &&
              PyArray_DIM((PyArrayObject *)object, 0) == 1;
    if (take_rows(rows, object, role, one ? 1 : items / each) < 0) return -1;
    if (one) rows->stride = 0;
    return 0;
}

/* A body is (mesh, translation, to_local) or (plane, ...), a plane (x, y, z, height). */
static int take_body(ik_ray_body *body, PyObject *given, PyTypeObject *mesh_type, npy_intp each, npy_intp items) {
    static const array_role translation_role = {"translation", NPY_DOUBLE, 3, 1, 0};
    static const array_role to_local_role = {"to_local", NPY_DOUBLE, 9, 1, 0};
    PyObject *what, *translation, *to_local;
    *body = (ik_ray_body){0};
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "cast: a body does not fit the job");
        return -1;
    }
    if (!PyArg_ParseTuple(given, "OOO", &what, &translation, &to_local)) return -1;
    if (PyObject_TypeCheck(what, mesh_type)) {
        body->tree = &((mesh_object *)what)->tree;
    } else if (!PyTuple_Check(what)) {
        PyErr_SetString(PyExc_TypeError, "cast: a body is neither a mesh nor a plane");
        return -1;
    } else if (!PyArg_ParseTuple(what, "dddd", &body->normal[0], &body->normal[1], &body->normal[2], &body->height)) {
        return -1;
    }
    if (take_placement(&body->translation, translation, &translation_role, each, items) < 0) return -1;
    return take_placement(&body->to_local, to_local, &to_local_role, each, items);
}

static int take_bodies(ik_ray_body *bodies, PyObject *given, PyTypeObject *mesh_type, npy_intp each, npy_intp items) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(given); i++)
        if (take_body(&bodies[i], PyTuple_GetItem(given, i), mesh_type, each, items) < 0) return -1;
    return 0;
}

static int take_arrays(ik_cast_job *job, PyObject *const *args, npy_intp items) {
    static const array_role roles[] = {
        {"origins", NPY_DOUBLE, 3, 0, 0}, {"directions", NPY_DOUBLE, 3, 0, 0}, {"lengths", NPY_DOUBLE, 1, 0, 0},
        {"chosen", NPY_BOOL, 1, 1, 0},    {"distances", NPY_DOUBLE, 1, 1, 1},  {"points", NPY_DOUBLE, 3, 1, 1},
        {"normals", NPY_DOUBLE, 3, 1, 1}, {"triangles", NPY_INT32, 1, 1, 1},   {"sides", NPY_INT32, 1, 1, 1},
        {"parts", NPY_INT32, 1, 1, 1},    {"status", NPY_INT32, 1, 1, 1}};
    ik_rows *rows[] = {&job->origin, &job->direction, &job->length, &job->chosen, &job->distance, &job->point,
                       &job->normal, &job->triangle,  &job->side,   &job->body,   &job->status};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (take_rows(rows[i], args[i], &roles[i], items) < 0) return -1;
    return 0;
}

ik_ray_body *bodies_of(PyObject *module, PyObject *given, ptrdiff_t each, ptrdiff_t items) {
    ik_ray_body *bodies = PyMem_Calloc((size_t)PyTuple_Size(given) + 1, sizeof *bodies);
    PyTypeObject *mesh_type = ((core_state *)PyModule_GetState(module))->mesh_type;
    if (!bodies) PyErr_NoMemory();
    if (!bodies || take_bodies(bodies, given, mesh_type, each, items) == 0) return bodies;
    PyMem_Free(bodies);
    return NULL;
}

/* How many rays share a row of a placement, and which rays are cast: first and last. */
static int take_range(const char *what, PyObject *const *each, PyObject *const *range, npy_intp items, ptrdiff_t *rays,
                      npy_intp *first, npy_intp *last) {
    *rays = PyLong_AsSsize_t(*each), *first = PyLong_AsSsize_t(range[0]), *last = PyLong_AsSsize_t(range[1]);
    if (PyErr_Occurred()) return -1;
    if (*rays >= 1 && items % *rays == 0 && *first >= 0 && *last >= *first && items >= *last) return 0;
    PyErr_Format(PyExc_TypeError, "%s: each, first or last do not fit the job", what);
    return -1;
}

static PyObject *cast(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { BODIES, EACH, FRONT, FIRST, LAST, ARRAYS, ARGUMENTS = ARRAYS + 11 };
    if (given != ARGUMENTS || !PyTuple_Check(args[BODIES]) || !PyArray_Check(args[ARRAYS]) ||
        PyArray_NDIM((PyArrayObject *)args[ARRAYS]) != 2) {
        PyErr_SetString(PyExc_TypeError, "cast: expected bodies, each, front, first, last and 11 arrays");
        return NULL;
    }
    npy_intp items = PyArray_DIM((PyArrayObject *)args[ARRAYS], 0), first, last;
    ik_cast_job job = {.count = (int)PyTuple_Size(args[BODIES]), .front = PyObject_IsTrue(args[FRONT])};
    if (take_range("cast", args + EACH, args + FIRST, items, &job.each, &first, &last) < 0) return NULL;
    if (take_arrays(&job, args + ARRAYS, items) < 0) return NULL;
    ik_ray_body *bodies = bodies_of(module, args[BODIES], job.each, items);
    if (!bodies) return NULL;
    job.bodies = bodies;
    Py_BEGIN_ALLOW_THREADS;
    ik_cast(&job, first, last);
    Py_END_ALLOW_THREADS;
    PyMem_Free(bodies);
    Py_RETURN_NONE;
}

/* A number for all points, or an array of one for each. */
static int take_distance(ik_rows *rows, PyObject *object, const char *name, double *number, npy_intp items) {
    const array_role role = {name, NPY_DOUBLE, 1, 0, 0};
    if (!PyFloat_Check(object)) return take_rows(rows, object, &role, items);
    *number = PyFloat_AsDouble(object);
    *rows = (ik_rows){.data = number};
    return 0;
}

static PyObject *surface(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { BODIES, EACH, AXIS, FIRST, LAST, POINTS, ABOVE, BELOW, HIT, FOUND, NORMALS, PARTS, ARGUMENTS };
    static const array_role points_role = {"points", NPY_DOUBLE, 3, 0, 0};
    static const array_role roles[] = {{"hit", NPY_BOOL, 1, 0, 1},
                                       {"found", NPY_DOUBLE, 3, 0, 1},
                                       {"normals", NPY_DOUBLE, 3, 1, 1},
                                       {"parts", NPY_INT32, 1, 1, 1}};
    if (given != ARGUMENTS || !PyTuple_Check(args[BODIES]) || !PyArray_Check(args[POINTS]) ||
        PyArray_NDIM((PyArrayObject *)args[POINTS]) != 2) {
        PyErr_SetString(PyExc_TypeError, "surface: expected bodies, each, axis, first, last, a window and 5 arrays");
        return NULL;
    }
    npy_intp items = PyArray_DIM((PyArrayObject *)args[POINTS], 0), first, last;
    ik_surface_job job = {.count = (int)PyTuple_Size(args[BODIES]), .axis = (int)PyLong_AsLong(args[AXIS])};
    ik_rows *rows[] = {&job.hit, &job.found, &job.normal, &job.body};
    double above, below;
    if (take_range("surface", args + EACH, args + FIRST, items, &job.each, &first, &last) < 0) return NULL;
    if (job.axis < 0 || job.axis > 2) {
        PyErr_SetString(PyExc_TypeError, "surface: axis does not fit the job");
        return NULL;
    }
    if (take_rows(&job.point, args[POINTS], &points_role, items) < 0 ||
        take_distance(&job.above, args[ABOVE], "above", &above, items) < 0 ||
        take_distance(&job.below, args[BELOW], "below", &below, items) < 0)
        return NULL;
    for (int i = 0; i < 4; i++)
        if (take_rows(rows[i], args[HIT + i], &roles[i], items) < 0) return NULL;
    ik_ray_body *bodies = bodies_of(module, args[BODIES], job.each, items);
    void *scratch = bodies ? PyMem_Malloc(ik_surface_scratch(last - first) + 1) : NULL;
    job.bodies = bodies;
    if (scratch) {
        Py_BEGIN_ALLOW_THREADS;
        ik_surface(&job, first, last, scratch);
        Py_END_ALLOW_THREADS;
    } else if (bodies) {
        PyErr_NoMemory();
    }
    const int done = scratch != NULL;
    PyMem_Free(scratch);
    PyMem_Free(bodies);
    if (!done) return NULL;
    Py_RETURN_NONE;
}

/* The numbers of an array in one block, (rows) or (rows, columns); NULL with an exception set. */
static const double *block_of(PyObject *object, const char *name, npy_intp rows, int columns) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_Check(object) && holds(array, NPY_DOUBLE) && PyArray_NDIM(array) == (columns ? 2 : 1) &&
        PyArray_DIM(array, 0) == rows && (!columns || PyArray_DIM(array, 1) == columns) &&
        PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array))
        return PyArray_DATA(array);
    PyErr_Format(PyExc_TypeError, "foothold: %s does not fit the job", name);
    return NULL;
}

/* Memory for the results: (hit, points, normals, parts). */
static PyObject *new_foothold(ik_foothold_job *job) {
    static const int types[] = {NPY_BOOL, NPY_DOUBLE, NPY_DOUBLE, NPY_INT32};
    void *data[4];
    npy_intp shape[2] = {job->points, 3};
    PyObject *found = PyTuple_New(4);
    for (int k = 0; found && k < 4; k++) {
        PyObject *array = PyArray_SimpleNew(types[k] == NPY_DOUBLE ? 2 : 1, shape, types[k]);
        if (array) data[k] = PyArray_DATA((PyArrayObject *)array);
        if (!array || PyTuple_SetItem(found, k, array) < 0) Py_CLEAR(found);
    }
    if (found) job->hit = data[0], job->found = data[1], job->normal = data[2], job->body = data[3];
    return found;
}

static PyObject *foothold(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { BODIES, AXIS, POINTS, LAST, JUMPS, STEP, ABOVE, BELOW, SAME, ARGUMENTS };
    ik_foothold_job job = {0};
    if (given != ARGUMENTS || !PyTuple_Check(args[BODIES]) || !PyArray_Check(args[POINTS]) ||
        PyArray_NDIM((PyArrayObject *)args[POINTS]) != 2 || PyArray_DIM((PyArrayObject *)args[POINTS], 0) < 1) {
        PyErr_SetString(PyExc_TypeError, "foothold: expected bodies, the axis, points and the rest of the job");
        return NULL;
    }
    const npy_intp points = job.points = PyArray_DIM((PyArrayObject *)args[POINTS], 0);
    job.count = (int)PyTuple_Size(args[BODIES]), job.axis = (int)PyLong_AsLong(args[AXIS]);
    job.jumps = PyObject_IsTrue(args[JUMPS]), job.step = PyFloat_AsDouble(args[STEP]);
    job.window[0] = PyFloat_AsDouble(args[ABOVE]), job.window[1] = PyFloat_AsDouble(args[BELOW]);
    job.same = PyFloat_AsDouble(args[SAME]);
    if (PyErr_Occurred()) return NULL;
    if (job.axis < 0 || job.axis > 2 || !(job.step > 0) || !(job.same >= 0)) {
        PyErr_SetString(PyExc_TypeError, "foothold: axis, step or a distance do not fit the job");
        return NULL;
    }
    if (!(job.point = (const double (*)[3])block_of(args[POINTS], "points", points, 3)) ||
        !(job.last = block_of(args[LAST], "last", 3, 0)))
        return NULL;
    ik_ray_body *bodies = bodies_of(module, args[BODIES], 1, 1);
    if (!bodies) return NULL;
    job.bodies = bodies;
    const size_t bytes = ik_foothold_scratch(&job);
    void *scratch = bytes ? PyMem_Malloc(bytes) : NULL;
    PyObject *found = scratch ? new_foothold(&job) : PyErr_NoMemory();
    if (found) {
        Py_BEGIN_ALLOW_THREADS;
        ik_foothold(&job, scratch);
        Py_END_ALLOW_THREADS;
    }
    PyMem_Free(scratch);
    PyMem_Free(bodies);
    return found;
}

static PyMethodDef functions[] = {
    {"cast", (PyCFunction)(void (*)(void))cast, METH_FASTCALL,
     "cast(bodies, each, front, first, last, origins, directions, lengths, chosen, distances, points, "
     "normals, triangles, sides, parts, status, /)\n--\n\nWrites the last seven."},
    {"surface", (PyCFunction)(void (*)(void))surface, METH_FASTCALL,
     "surface(bodies, each, axis, first, last, points, above, below, hit, found, normals, parts, /)\n--\n\n"
     "Writes the last four; the last two may be None."},
    {"foothold", (PyCFunction)(void (*)(void))foothold, METH_FASTCALL,
     "foothold(bodies, axis, points, last, jumps, step, above, below, same, /)\n--\n\n"
     "Whether there is ground, where, its normals and parts."},
    {NULL, NULL, 0, NULL},
};

int add_mesh(PyObject *module) {
    PyTypeObject **type = &((core_state *)PyModule_GetState(module))->mesh_type;
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!*type || PyModule_AddType(module, *type) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
