/* Rows of numbers as an immutable Python object, for nearest rows. Everything is checked when the object is made. */
#include "module.h"

#include "ik.h"

#include "numpy_api.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    PyObject_HEAD PyArrayObject *keys; /* (rows, columns) doubles */
    ik_table table;
} table_object;

static int check_keys(PyArrayObject *keys) {
    const npy_intp rows = PyArray_DIM(keys, 0), columns = PyArray_DIM(keys, 1);
    if (rows < 1 || rows > INT32_MAX / 2 || columns < 1 || columns > IK_TABLE_COLUMNS) {
        PyErr_Format(PyExc_ValueError, "keys: expected one or more rows of 1 to %d numbers, got %zd of %zd",
                     (int)IK_TABLE_COLUMNS, (Py_ssize_t)rows, (Py_ssize_t)columns);
        return -1;
    }
    const double *given = PyArray_DATA(keys);
    for (npy_intp i = 0; i < rows * columns; i++) {
        if (isfinite(given[i])) continue;
        PyErr_Format(PyExc_ValueError, "keys: row %zd is not finite", (Py_ssize_t)(i / columns));
        return -1;
    }
    return 0;
}

static int build(table_object *self) {
    const int rows = (int)PyArray_DIM(self->keys, 0), columns = (int)PyArray_DIM(self->keys, 1);
    void *memory = malloc(ik_table_bytes(rows, columns));
    if (!memory) {
        PyErr_NoMemory();
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS;
    ik_table_build(&self->table, PyArray_DATA(self->keys), rows, columns, memory);
    Py_END_ALLOW_THREADS;
    return 0;
}

static PyObject *table_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"keys", NULL};
    PyObject *given;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &given)) return NULL;
    table_object *self = (table_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    self->keys = (PyArrayObject *)PyArray_FROMANY(given, NPY_DOUBLE, 2, 2, NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY);
    if (self->keys) PyArray_CLEARFLAGS(self->keys, NPY_ARRAY_WRITEABLE);
    if (self->keys && check_keys(self->keys) == 0 && build(self) == 0) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

static void table_dealloc(PyObject *object) {
    table_object *self = (table_object *)object;
    Py_XDECREF((PyObject *)self->keys);
    free(self->table.memory);
    free_object(object);
}

static PyObject *get_keys(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)((table_object *)self)->keys);
}

static PyObject *reduce(PyObject *object, PyObject *unused) {
    (void)unused;
    return Py_BuildValue("O(O)", Py_TYPE(object), ((table_object *)object)->keys);
}

/* An array (items, columns) of some type, or (items) where columns is 0; behaved: readable, or writeable as well. */
static int take_array(ik_rows *rows, PyObject *object, const char *name, int type, npy_intp items, npy_intp columns,
                      int behaved) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != (columns ? 2 : 1) || PyArray_DIM(array, 0) != items ||
        (columns && PyArray_DIM(array, 1) != columns) || !holds(array, type) || !PyArray_FLAGSWAP(array, behaved)) {
        PyErr_Format(PyExc_TypeError, "nearest: %s does not fit", name);
        return -1;
    }
    *rows = (ik_rows){PyArray_DATA(array), PyArray_STRIDE(array, 0), columns ? PyArray_STRIDE(array, 1) : 0};
    return 0;
}

static PyObject *nearest(PyObject *object, PyObject *args) {
    table_object *self = (table_object *)object;
    PyObject *query, *row, *distance;
    Py_ssize_t first, last;
    if (!PyArg_ParseTuple(args, "OOOnn", &query, &row, &distance, &first, &last)) return NULL;
    ik_nearest_job job = {.table = &self->table};
    const npy_intp items =
        PyArray_Check(query) && PyArray_NDIM((PyArrayObject *)query) == 2 ? PyArray_DIM((PyArrayObject *)query, 0) : 0;
    const npy_intp count =
        PyArray_Check(row) && PyArray_NDIM((PyArrayObject *)row) == 2 ? PyArray_DIM((PyArrayObject *)row, 1) : 0;
    if (take_array(&job.query, query, "query", NPY_DOUBLE, items, self->table.columns, NPY_ARRAY_ALIGNED) < 0 ||
        take_array(&job.row, row, "row", NPY_INT32, items, count, NPY_ARRAY_BEHAVED) < 0 ||
        take_array(&job.distance, distance, "distance", NPY_DOUBLE, items, count, NPY_ARRAY_BEHAVED) < 0)
        return NULL;
    if (count > IK_TABLE_NEAREST) {
        PyErr_Format(PyExc_TypeError, "nearest: row does not fit, which has more than %d", (int)IK_TABLE_NEAREST);
        return NULL;
    }
    job.count = (int)count;
    if (first < 0 || last < first || items < last) {
        PyErr_SetString(PyExc_TypeError, "nearest: first or last does not fit");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    ik_nearest(&job, first, last);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyGetSetDef properties[] = {
    {"keys", get_keys, NULL, "(rows, columns), as given.", NULL},
    {0},
};

static PyMethodDef methods[] = {
    {"nearest", nearest, METH_VARARGS,
     "nearest(query, row, distance, first, last, /)\n--\n\nWrites row and distance of some items."},
    {"__reduce__", reduce, METH_NOARGS, "Pickles as its keys."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Table(keys)\n--\n\nRows of numbers; checked and sorted once, immutable."},
    {Py_tp_new, table_new},
    {Py_tp_dealloc, table_dealloc},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {0, NULL},
};

int add_table(PyObject *module) {
    PyTypeObject *type = add_type(module, "ikcore._core.Table", sizeof(table_object), slots);
    Py_XDECREF((PyObject *)type);
    return type ? 0 : -1;
}
