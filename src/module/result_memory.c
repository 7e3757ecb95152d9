/* The arrays of one result in one block of memory, which is kept for the next result when the last of them is freed.
 *
 * Separate arrays would be returned to the system with every result, and come back page by page, each page cleared. Ten
 * thousand limbs would spend twice the time of their solve on this. C libraries keep different amounts: glibc returns
 * two results that are freed together, those of Windows and musl return everything of this size. Therefore the module
 * keeps the last few blocks itself; their number and size are limited below. */
#include "result_memory.h"

#include "numpy_api.h"

#include <stdatomic.h>

/* A smaller block is kept by any C library; a larger one needs too much memory to keep. */
static const npy_intp smallest_kept = 1 << 16, largest_kept = 1 << 24;

/* Kept blocks, arrays of bytes. Every place is taken and filled atomically, so that threads need no lock. */
enum { PLACES = 4 };
static _Atomic(PyObject *) waiting[PLACES];
static atomic_uint next_place;

static int is_worth_keeping(npy_intp bytes) { return smallest_kept <= bytes && bytes <= largest_kept; }

static void keep(PyObject *block) {
    PyObject *none = NULL;
    for (int i = 0; i < PLACES; i++, none = NULL)
        if (atomic_compare_exchange_strong(&waiting[i], &none, block)) return;
    unsigned place = atomic_fetch_add(&next_place, 1) % PLACES; /* so that blocks of unused sizes are replaced */
    Py_XDECREF(atomic_exchange(&waiting[place], block));
}

/* A block of at least so many bytes, and at most twice as many. */
static PyObject *take_block(npy_intp bytes) {
    for (int i = 0; is_worth_keeping(bytes) && i < PLACES; i++) {
        PyObject *block = atomic_exchange(&waiting[i], NULL);
        if (!block) continue;
        npy_intp there = PyArray_DIM((PyArrayObject *)block, 0);
        if (bytes <= there && there / 2 <= bytes) return block;
        keep(block);
    }
    return PyArray_SimpleNew(1, &bytes, NPY_UINT8);
}

/* The base object of all arrays of a result: it is freed with the last of them. */
static void end_of_owner(PyObject *owner) {
    PyObject *block = PyCapsule_GetPointer(owner, NULL);
    if (is_worth_keeping(PyArray_DIM((PyArrayObject *)block, 0)))
        keep(block);
    else
        Py_DECREF(block);
}

static PyObject *owner_of(npy_intp bytes) {
    PyObject *block = take_block(bytes), *owner = block ? PyCapsule_New(block, NULL, end_of_owner) : NULL;
    if (block && !owner) Py_DECREF(block);
    return owner;
}

void free_blocks(void) {
    for (int i = 0; i < PLACES; i++)
        Py_XDECREF(atomic_exchange(&waiting[i], NULL));
}

/* The largest number of axes in any NumPy; a NumPy with fewer raises an error itself. */
enum { MAX_AXES = 64, MAX_PARTS = 8, ALIGNMENT = 64 };

/* An array to make. */
typedef struct {
    npy_intp shape[MAX_AXES], at; /* where in the block, in bytes */
    int axes, type;
} part;

static npy_intp aligned(npy_intp bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Returns how many bytes it has, or -1 with an exception set. */
static npy_intp read_part(part *part, PyObject *given) {
    PyObject *shape;
    int type;
    if (!PyArg_ParseTuple(given, "O!C:empty", &PyTuple_Type, &shape, &type)) return -1;
    if (type != 'f' && type != 'd' && type != 'i') {
        PyErr_SetString(PyExc_ValueError, "empty: expected a type 'f', 'd' or 'i'");
        return -1;
    }
    part->type = type == 'i' ? NPY_INT32 : type == 'f' ? NPY_FLOAT : NPY_DOUBLE;
    part->axes = (int)PyTuple_Size(shape);
    npy_intp bytes = type == 'd' ? sizeof(double) : sizeof(float);
    if (part->axes > MAX_AXES) {
        PyErr_Format(PyExc_ValueError, "expected %d axes at most, got %d", MAX_AXES, part->axes);
        return -1;
    }
    for (int i = 0; i < part->axes; i++) {
        npy_intp length = part->shape[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
        if (length < 0 && PyErr_Occurred()) return -1;
        if (length < 0 || (length > 0 && bytes > NPY_MAX_INTP / 2 / MAX_PARTS / length)) {
            PyErr_SetString(PyExc_MemoryError, "the result does not fit into memory");
            return -1;
        }
        bytes *= length;
    }
    return bytes;
}

static PyObject *array_in(PyObject *owner, const part *part) {
    PyArrayObject *block = PyCapsule_GetPointer(owner, NULL);
    char *data = PyArray_DATA(block);
    data += (npy_intp)(-(uintptr_t)data % ALIGNMENT) + part->at;
    PyObject *array = PyArray_SimpleNewFromData(part->axes, part->shape, part->type, data);
    if (!array) return NULL;
    if (PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(owner)) == 0) return array;
    Py_DECREF(array);
    return NULL;
}

PyObject *make_empty(PyObject *module, PyObject *parts) {
    (void)module;
    part made[MAX_PARTS];
    npy_intp bytes = 0, count = PyTuple_Check(parts) ? PyTuple_Size(parts) : MAX_PARTS + 1;
    if (count > MAX_PARTS) return PyErr_Format(PyExc_TypeError, "empty: expected a tuple of %d at most", MAX_PARTS);
    for (npy_intp i = 0; i < count; i++) {
        npy_intp size = read_part(&made[i], PyTuple_GetItem(parts, i));
        if (size < 0) return NULL;
        made[i].at = bytes;
        bytes += aligned(size);
    }
    PyObject *owner = owner_of(bytes + ALIGNMENT), *arrays = owner ? PyTuple_New(count) : NULL;
    for (npy_intp i = 0; arrays && i < count; i++) {
        PyObject *array = array_in(owner, &made[i]);
        if (!array || PyTuple_SetItem(arrays, i, array) < 0) Py_CLEAR(arrays);
    }
    Py_XDECREF(owner);
    return arrays;
}
