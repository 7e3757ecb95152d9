/* Result: the fields of Limb, PlanarLimb and Aim.
 *
 * A batch gives its arrays. A single item gives its numbers, and a field becomes an array or NumPy scalar when it is
 * first asked for: seven of them cost more than the solve. A field is set once, so that threads always see the same
 * array. */
#include "result.h"

#include "numpy_api.h"

#include <stdatomic.h>
#include <string.h>

typedef struct {
    PyObject_HEAD _Atomic(PyObject *) fields[MAX_FIELDS]; /* NULL: not made yet, or not given */
    const gufunc *solver; /* the numbers are its outputs; NULL: there are only the fields */
    int number;           /* FLOATS or DOUBLES */
    item_numbers numbers;
} result;

static int output_count(const gufunc *solver) { return solver->operand_count - solver->input_count; }

static const operand *output_of(const gufunc *solver, int index) {
    return &solver->operands[solver->input_count + index];
}

static int type_of(const gufunc *solver, int number, int index) {
    return solver->loop_types[number * solver->operand_count + solver->input_count + index];
}

static size_t bytes_of(const gufunc *solver, int number, int index) {
    size_t one = type_of(solver, number, index) == NPY_DOUBLE ? sizeof(double) : sizeof(float);
    return (size_t)size_of(output_of(solver, index)) * one;
}

static const double *place_of(const gufunc *solver, int index, const double *numbers) {
    for (int k = 0; k < index; k++)
        numbers += size_of(output_of(solver, k));
    return numbers;
}

PyObject *make_result(PyTypeObject *type, const gufunc *solver, int number, const item_numbers numbers) {
    result *self = (result *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    self->solver = solver;
    self->number = number;
    memcpy(self->numbers, numbers, sizeof self->numbers);
    return (PyObject *)self;
}

static PyObject *make_field(const result *self, int index) {
    const operand *output = output_of(self->solver, index);
    const double *numbers = place_of(self->solver, index, self->numbers);
    int type = type_of(self->solver, self->number, index);
    if (output->core_dims == 0) {
        PyArray_Descr *description = PyArray_DescrFromType(type);
        PyObject *scalar = PyArray_Scalar((void *)numbers, description, NULL);
        Py_DECREF(description);
        return scalar;
    }
    npy_intp shape[2] = {output->expected, output->expected};
    PyObject *array = PyArray_SimpleNew(output->core_dims, shape, type);
    if (array) memcpy(PyArray_DATA((PyArrayObject *)array), numbers, bytes_of(self->solver, self->number, index));
    return array;
}

/* Returns the final value of the field, borrowed: another thread may have set it meanwhile. */
static PyObject *set_once(result *self, int index, PyObject *value) {
    PyObject *there = NULL;
    if (!atomic_compare_exchange_strong(&self->fields[index], &there, value)) return there;
    Py_INCREF(value);
    return value;
}

static PyObject *get_field(PyObject *object, void *closure) {
    result *self = (result *)object;
    int index = (int)(intptr_t)closure;
    PyObject *there = atomic_load(&self->fields[index]);
    if (there) return Py_NewRef(there);
    if (!self->solver) return PyErr_Format(PyExc_AttributeError, "%R has not been initialised", Py_TYPE(object));
    PyObject *made = make_field(self, index);
    if (!made) return NULL;
    there = Py_NewRef(set_once(self, index, made));
    Py_DECREF(made);
    return there;
}

/* For __init__ only: the classes are frozen. */
static int set_field(PyObject *object, PyObject *value, void *closure) {
    result *self = (result *)object;
    if (value && !self->solver && set_once(self, (int)(intptr_t)closure, value) == value) return 0;
    PyErr_SetString(PyExc_AttributeError, "a field of a result is set once");
    return -1;
}

/* No support for garbage collection: arrays have none either. */
static void deallocate(PyObject *object) {
    result *self = (result *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < MAX_FIELDS; i++)
        Py_XDECREF(atomic_load_explicit(&self->fields[i], memory_order_relaxed));
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* The array of a field if it fits a single item, or NULL. */
static PyArrayObject *array_for(const result *out, const gufunc *solver, int number, int index) {
    PyObject *field = atomic_load(&((result *)out)->fields[index]);
    if (!field || !PyArray_CheckExact(field)) return NULL;
    PyArrayObject *array = (PyArrayObject *)field;
    const operand *output = output_of(solver, index);
    int fits = PyArray_NDIM(array) == output->core_dims && PyArray_ISCARRAY(array) &&
               holds(array, type_of(solver, number, index));
    for (int k = 0; fits && k < output->core_dims; k++)
        fits = PyArray_DIM(array, k) == output->expected;
    return fits ? array : NULL;
}

int write_result(PyObject *object, const gufunc *solver, int number, const item_numbers numbers) {
    const result *out = (const result *)object;
    PyArrayObject *arrays[MAX_FIELDS];
    int count = output_count(solver);
    for (int i = 0; i < count; i++)
        if (!(arrays[i] = array_for(out, solver, number, i))) return 0;
    for (int i = 0; i < count; i++) {
        memcpy(PyArray_DATA(arrays[i]), numbers, bytes_of(solver, number, i));
        numbers += size_of(output_of(solver, i));
    }
    return 1;
}

/* Pickled and copied as a call of the class with its fields. */
static PyObject *reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *type = (PyObject *)Py_TYPE(self), *names = PyObject_GetAttrString(type, "__match_args__");
    PyObject *fields = names ? PyTuple_New(PyTuple_Size(names)) : NULL;
    int failed = !fields;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(names); i++) {
        PyObject *field = PyObject_GetAttr(self, PyTuple_GetItem(names, i));
        failed = !field || PyTuple_SetItem(fields, i, field) < 0;
    }
    PyObject *found = failed ? NULL : PyTuple_Pack(2, type, fields);
    Py_XDECREF(names);
    Py_XDECREF(fields);
    return found;
}

static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

#define FIELD(name, index) {name, get_field, set_field, NULL, (void *)(intptr_t)(index)}

static PyGetSetDef limb_fields[] = {
    FIELD("root", 0),  FIELD("mid", 1),  FIELD("positions", 2), FIELD("status", 3),
    FIELD("error", 4), FIELD("flip", 5), FIELD("stretch", 6),   {NULL, NULL, NULL, NULL, NULL}};
static PyGetSetDef planar_limb_fields[] = {
    FIELD("angles", 0), FIELD("status", 1), FIELD("error", 2), {NULL, NULL, NULL, NULL, NULL}};
static PyGetSetDef aim_fields[] = {
    FIELD("delta", 0), FIELD("status", 1), FIELD("error", 2), {NULL, NULL, NULL, NULL, NULL}};

static int add_type(PyObject *module, const char *name, PyType_Slot *slots, int size, PyObject *base) {
    PyType_Spec spec = {
        .name = name, .basicsize = size, .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .slots = slots};
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, base);
    int failed = !type || PyModule_AddObjectRef(module, strrchr(name, '.') + 1, type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

int add_results(PyObject *module) {
    PyType_Slot slots[] = {{Py_tp_dealloc, deallocate}, {Py_tp_methods, methods}, {0, NULL}};
    if (add_type(module, "ikcore._core.Result", slots, sizeof(result), NULL) < 0) return -1;
    PyObject *base = PyObject_GetAttrString(module, "Result");
    if (!base) return -1;
    PyType_Slot limb[] = {{Py_tp_getset, limb_fields}, {0, NULL}};
    PyType_Slot planar_limb[] = {{Py_tp_getset, planar_limb_fields}, {0, NULL}};
    PyType_Slot aim[] = {{Py_tp_getset, aim_fields}, {0, NULL}};
    int failed = add_type(module, "ikcore._core.Limb", limb, 0, base) < 0 ||
                 add_type(module, "ikcore._core.PlanarLimb", planar_limb, 0, base) < 0 ||
                 add_type(module, "ikcore._core.Aim", aim, 0, base) < 0;
    Py_DECREF(base);
    return failed ? -1 : 0;
}
