/* A fast path for a single item, without NumPy's work for batches, which takes ten times as long as the solve.
 *
 * `single` puts a C function in front of a Python function with the same arguments. If all of them are of one item
 * (numbers of Python or NumPy, tuples and lists of them, 1-D arrays of floats or doubles) it solves on the stack.
 * Everything else, including errors and unusable items, is left to the Python function, which has all rules and
 * messages. Nothing here raises, and a type that is not handled costs time but never changes a result. */
#include "single.h"

#include "row.h"
#include "state.h"

#include "numpy_api.h"

#include <stdint.h>
#include <string.h>

/* The inputs of one item. */
typedef struct {
    double rows[MAX_OPERANDS][MAX_COLUMNS]; /* of doubles, or packed floats */
    double *given[MAX_OPERANDS];            /* NULL: not given */
    int number;                             /* FLOATS or DOUBLES */
} item;

static int read_inputs(const single *self, PyObject *const *arguments, item *item) {
    const gufunc *solver = self->solver;
    int floats = 0;
    for (int i = 0; i < solver->input_count; i++) {
        PyObject *value = arguments[i] == Py_None ? NULL : arguments[i];
        item->given[i] = value ? item->rows[i] : NULL;
        int together = !item->given[self->partner[i]] == !value, is_float = 0;
        if (!together || (!value && !solver->operands[i].optional)) return 0;
        if (value && !read_row(value, size_of(&solver->operands[i]), item->rows[i], &is_float)) return 0;
        floats += is_float && i < self->pose;
    }
    item->number = floats == self->pose ? FLOATS : DOUBLES;
    for (int i = 0; item->number == FLOATS && i < solver->input_count; i++)
        if (item->given[i]) narrow_row(item->rows[i], size_of(&solver->operands[i]));
    return 1;
}

/* The call. Each function returns 0, or NULL without an exception, to leave the call to the Python function. */

/* Puts the arguments into the order of their names; NULL where one is not given. Names are interned, as those of a call
 * in source code are. */
static int sort_arguments(const single *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                          PyObject **sorted) {
    if (count > self->positional) return 0;
    memcpy(sorted, args, (size_t)count * sizeof *args);
    Py_ssize_t keyword_count = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t i = 0; i < keyword_count; i++) {
        PyObject *name = PyTuple_GetItem(keywords, i);
        int place = 0;
        while (place < self->argument_count && self->name[place] != name)
            place++;
        if (place == self->argument_count || sorted[place]) return 0;
        sorted[place] = args[count + i];
    }
    return 1;
}

/* Several workers do not help one item, but their number may be wrong. */
static int is_one(PyObject *workers) {
    double number;
    return !workers || (read_python_number(workers, &number) && number == 1);
}

static void solve(const gufunc *solver, item *item, double *numbers) {
    ptrdiff_t size = item->number == FLOATS ? sizeof(float) : sizeof(double);
    job_words job;
    ptrdiff_t *next = job;
    for (int i = 0; i < solver->input_count; i++)
        next = append_rows(next, (ik_rows){item->given[i], 0, size});
    for (int i = solver->input_count; i < solver->operand_count; i++) {
        const operand *output = &solver->operands[i];
        int repeats = output->core_dims == 2 ? output->expected : 1;
        for (int k = 0; k < repeats; k++)
            next = append_rows(next, (ik_rows){(char *)numbers + k * output->expected * size, 0, size});
        numbers += size_of(output);
    }
    solver->solve[item->number](job, 1);
}

static int is_usable(const single *self, const double *numbers) {
    int32_t status;
    memcpy(&status, numbers + self->status_at, sizeof status);
    return status < IK_UNUSABLE;
}

static PyObject *solve_on_stack(const single *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    PyObject *arguments[MAX_ARGUMENTS] = {NULL};
    item item;
    item_numbers numbers;
    if (!sort_arguments(self, args, count, keywords, arguments) || !is_one(arguments[self->workers_at])) return NULL;
    if (!read_inputs(self, arguments, &item)) return NULL;
    solve(self->solver, &item, numbers);
    if (!is_usable(self, numbers)) return NULL;
    PyObject *out = self->out_at < 0 ? NULL : arguments[self->out_at];
    if (!out || out == Py_None) return make_result((PyTypeObject *)self->found, self->solver, item.number, numbers);
    if (!Py_IS_TYPE(out, (PyTypeObject *)self->found) || !write_result(out, self->solver, item.number, numbers))
        return NULL;
    return Py_NewRef(out);
}

/* The limited API of Python 3.11 has no other way to pass keywords on. */
static PyObject *call_function(PyObject *function, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    PyObject *positional = PyTuple_New(count), *named = keywords ? PyDict_New() : NULL, *found = NULL;
    int failed = !positional || (keywords && !named);
    for (Py_ssize_t i = 0; !failed && i < count; i++)
        failed = PyTuple_SetItem(positional, i, Py_NewRef(args[i])) < 0;
    for (Py_ssize_t i = 0; !failed && named && i < PyTuple_Size(keywords); i++)
        failed = PyDict_SetItem(named, PyTuple_GetItem(keywords, i), args[count + i]) < 0;
    if (!failed) found = PyObject_Call(function, positional, named);
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return found;
}

static PyObject *call(const single *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    PyObject *found = solve_on_stack(self, args, count, keywords);
    if (found || PyErr_Occurred()) return found;
    return call_function(self->function, args, count, keywords);
}

/* Making the functions. Self is the module, as for any of its functions, so that they are pickled by name. */

static single *single_at(PyObject *module, int index) {
    return &((core_state *)PyModule_GetState(module))->singles[index];
}

#define SINGLE_FUNCTION(name)                                                                                          \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {             \
        return call(single_at(module, single_##name), args, count, keywords);                                          \
    }
SINGLE_SOLVERS(SINGLE_FUNCTION)

#define SINGLE_METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS, NULL},
static const PyMethodDef methods[] = {SINGLE_SOLVERS(SINGLE_METHOD)};

static int index_of(PyObject *name) {
    int index = SINGLE_COUNT - 1;
    while (index >= 0 && PyUnicode_CompareWithASCIIString(name, methods[index].ml_name) != 0)
        index--;
    return index;
}

/* Assumptions of the call. */
static int fits(const single *self, PyTypeObject *base) {
    const gufunc *solver = self->solver;
    int inputs = solver->input_count, outputs = solver->operand_count - inputs, numbers = 0, rows = 1;
    for (int i = 0; i < inputs; i++)
        rows = rows && solver->operands[i].core_dims < 2 && size_of(&solver->operands[i]) <= MAX_COLUMNS;
    for (int i = inputs; i < solver->operand_count; i++)
        numbers += size_of(&solver->operands[i]);
    return rows && outputs <= MAX_FIELDS && numbers <= MAX_NUMBERS && self->argument_count <= MAX_ARGUMENTS &&
           self->workers_at == inputs + (self->out_at >= 0) && PyType_IsSubtype((PyTypeObject *)self->found, base);
}

static void retain(single *self) {
    Py_INCREF(self->function);
    Py_INCREF(self->found);
    Py_INCREF(self->names);
    Py_INCREF(self->text);
}

static void release(single *self) {
    Py_XDECREF(self->function);
    Py_XDECREF(self->found);
    Py_XDECREF(self->names);
    Py_XDECREF(self->text);
}

static int status_place(const gufunc *solver) {
    int place = 0;
    for (int i = solver->input_count; solver->types[i] != 'i'; i++)
        place += size_of(&solver->operands[i]);
    return place;
}

/* The first input of the same optional size, possibly the input itself. */
static int partner_of(const gufunc *solver, int input) {
    const operand *operands = solver->operands;
    int first = 0;
    while (!operands[first].optional || operands[first].size_at != operands[input].size_at)
        first++;
    return first;
}

/* Data derived from the solver and the names. */
static void derive(single *self) {
    self->solver = gufunc_named(self->method.ml_name);
    self->argument_count = (int)PyTuple_Size(self->names);
    self->workers_at = self->argument_count - 2;
    self->out_at = self->workers_at > self->solver->input_count ? self->workers_at - 1 : -1;
    self->status_at = status_place(self->solver);
    for (int i = 0; i < self->solver->input_count; i++)
        self->partner[i] = self->solver->operands[i].optional ? partner_of(self->solver, i) : i;
    for (int i = 0; i < self->argument_count && i < MAX_ARGUMENTS; i++)
        self->name[i] = PyTuple_GetItem(self->names, i);
}

PyObject *make_single(PyObject *module, PyObject *args) {
    PyObject *solver, *home;
    single new = {0};
    if (!PyArg_ParseTuple(args, "UOO!O!iiUO:single", &solver, &new.function, &PyType_Type, &new.found, &PyTuple_Type,
                          &new.names, &new.positional, &new.pose, &new.text, &home))
        return NULL;
    int index = index_of(solver);
    if (index < 0) return PyErr_Format(PyExc_ValueError, "single.c knows no solver %R", solver);
    new.method = methods[index];
    if (!(new.method.ml_doc = PyUnicode_AsUTF8AndSize(new.text, NULL))) return NULL;
    derive(&new);
    PyObject *base = PyObject_GetAttrString(module, "Result");
    if (!base) return NULL;
    int good = fits(&new, (PyTypeObject *)base);
    Py_DECREF(base);
    if (!good) return PyErr_Format(PyExc_SystemError, "single.c: %R does not fit its function or its result", solver);

    single *self = single_at(module, index), old = *self;
    *self = new;
    retain(self);
    release(&old); /* if forms.py is reloaded */
    return PyCFunction_NewEx(&self->method, module, home);
}

void free_singles(void *module) {
    core_state *state = PyModule_GetState(module);
    for (int i = 0; state && i < SINGLE_COUNT; i++)
        release(&state->singles[i]);
}
