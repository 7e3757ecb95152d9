/* The least cost of a call from Python: functions of the limited API that take `two_bone`'s arguments as tuples of
 * floats. They do nothing, read the tuples, or read them and run the scalar kernel. one_call.py compiles this. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "solvers.h"

enum { INPUTS = 5 };

/* The kernels that a single item gets. */
extern const ik_forms ik_forms_scalar_f64;

static PyObject *nothing(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    (void)self, (void)args, (void)count, (void)keywords;
    return Py_NewRef(Py_None);
}

static void read_all(PyObject *const *args, double (*rows)[3]) {
    for (int i = 0; i < INPUTS; i++)
        for (int k = 0; k < 3; k++)
            rows[i][k] = PyFloat_AsDouble(PyTuple_GetItem(args[i], k));
}

static PyObject *unpack(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    (void)self, (void)count, (void)keywords;
    double rows[INPUTS][3];
    read_all(args, rows);
    __asm__ volatile("" : : "r"(rows) : "memory"); /* or the compiler leaves the reading out */
    return Py_NewRef(Py_None);
}

static PyObject *solve(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    (void)self, (void)count, (void)keywords;
    double rows[INPUTS][3], found[20];
    int32_t status;
    read_all(args, rows);
    const ptrdiff_t step = sizeof(double);
    ik_two_bone_job job = {
        .root = {rows[0], 0, step},
        .mid = {rows[1], 0, step},
        .end = {rows[2], 0, step},
        .target = {rows[3], 0, step},
        .pole = {rows[4], 0, step},
        .root_delta = {found, 0, step},
        .mid_delta = {found + 4, 0, step},
        .positions = {{found + 8, 0, step}, {found + 11, 0, step}, {found + 14, 0, step}},
        .status = {&status, 0, step},
        .error = {found + 17, 0, step},
        .flip = {found + 18, 0, step},
        .stretch = {found + 19, 0, step},
    };
    ik_forms_scalar_f64.two_bone(&job, 0, 1);
    return Py_NewRef(Py_None);
}

#define FUNCTION(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS, NULL}
static PyMethodDef functions[] = {FUNCTION(nothing), FUNCTION(unpack), FUNCTION(solve), {NULL, NULL, 0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "floor", .m_methods = functions};

PyMODINIT_FUNC PyInit_floor(void) { return PyModuleDef_Init(&definition); }
