/* Triangles as a Python object, immutable, and rays against them.
 *
 * Everything is checked when the object is made: finite numbers of moderate size, vertices that exist. Any argument
 * ends in an object or an exception. `cast` takes NumPy arrays of the right shape and refuses all others;
 * ikcore/grounds makes them. Building and casting run without the GIL. */
#include "mesh_object.h"

#include "ik.h"
#include "module.h"
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
    Py_XDECREF((PyObject *)self->vertices);
    Py_XDECREF((PyObject *)self->faces);
    free(self->memory);
    free_object(object);
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

#include "mesh_rays.h"

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
    *type = add_type(module, "ikcore._core.Mesh", sizeof(mesh_object), slots);
    return *type ? PyModule_AddFunctions(module, functions) : -1;
}
