/* ikcore._core: the C core as a Python module. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "../ik/feet/constants.h"
#include "result_memory.h"
#include "gufuncs.h"
#include "ik.h"
#include "mesh_object.h"
#include "module.h"
#include "result.h"
#include "row.h"
#include "single.h"
#include "skeleton_object.h"
#include "state.h"

#define IKCORE_IMPORT_NUMPY
#include "numpy_api.h"

static PyObject *isa(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyUnicode_FromString(ik_isa());
}

static PyObject *use_isa(PyObject *module, PyObject *name) {
    (void)module;
    const char *wanted = NULL;
    if (name != Py_None && !(wanted = PyUnicode_AsUTF8AndSize(name, NULL))) return NULL;
    const char *used = ik_use_isa(wanted);
    if (!used)
        return PyErr_Format(PyExc_ValueError, "expected 'scalar', 'base', 'avx2', 'avx512' or None, got %R", name);
    return PyUnicode_FromString(used);
}

static PyMethodDef functions[] = {
    {"isa", isa, METH_NOARGS, "isa()\n--\n\nThe instruction set in use: 'scalar', 'base', 'avx2' or 'avx512'."},
    {"use_isa", use_isa, METH_O,
     "use_isa(name, /)\n--\n\nLower the instruction set to `name`, or None for the best; return its name."},
    {"empty", make_empty, METH_O,
     "empty(parts, /)\n--\n\nUninitialised arrays in one block of memory: of every part its shape and its type, 'f', "
     "'d' "
     "or 'i'."},
    {"single", make_single, METH_VARARGS,
     "single(name, function, found, names, positional, pose, text, home, /)\n--\n\n"
     "The function of a solver in C; `function` takes what is not a single item."},
    {NULL, NULL, 0, NULL},
};

/* IKCORE_ISA lowers the instruction set. A name that does not exist is worth a warning only. */
static int use_isa_of_environment(void) {
    const char *wanted = getenv("IKCORE_ISA");
    if (wanted && *wanted && !ik_use_isa(wanted))
        return PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                "IKCORE_ISA is '%s'; expected scalar, base, avx2 or avx512. Using %s.", wanted,
                                ik_isa());
    return 0;
}

PyTypeObject *add_type(PyObject *module, const char *name, size_t size, PyType_Slot *slots) {
    PyType_Spec spec = {name, (int)size, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (type && PyModule_AddType(module, type) == 0) return type;
    Py_XDECREF((PyObject *)type);
    return NULL;
}

void free_object(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* STATUS_FLAGS: ((name, value, sentence), ...) */
static int add_status_flags(PyObject *module) {
    PyObject *flags = PyList_New(0);
    if (!flags) return -1;
    int failed = 0;
    for (const ik_status_flag *flag = ik_status_flags; flag->name && !failed; flag++) {
        PyObject *row = Py_BuildValue("(sis)", flag->name, (int)flag->value, flag->sentence);
        failed = !row || PyList_Append(flags, row) < 0;
        Py_XDECREF(row);
    }
    PyObject *tuple = failed ? NULL : PyList_AsTuple(flags);
    Py_DECREF(flags);
    failed = !tuple || PyModule_AddObjectRef(module, "STATUS_FLAGS", tuple) < 0;
    Py_XDECREF(tuple);
    return failed ? -1 : 0;
}

static int add_bake_numbers(PyObject *module) {
    static const struct {
        const char *name;
        double value;
    } all[] = {{"STEEPEST", IK_STEEPEST}, {"EDGE", IK_EDGE}, {"HINGED", IK_HINGED}, {"FOLDED", IK_FOLDED}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        PyObject *value = PyFloat_FromDouble(all[k].value);
        const int failed = !value || PyModule_AddObjectRef(module, all[k].name, value) < 0;
        Py_XDECREF(value);
        if (failed) return -1;
    }
    return 0;
}

static int add_functions(PyObject *module) {
    PyMethodDef *const all[] = {carried_functions, footing_functions, legs_functions,   numbers_functions,
                                smooth_functions,  soles_functions,   vectors_functions};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (PyModule_AddFunctions(module, all[k]) < 0) return -1;
    return 0;
}

static int execute(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    if (add_gufuncs(module) < 0 || add_results(module) < 0 || add_skeleton(module) < 0 || add_solve(module) < 0 ||
        add_mesh(module) < 0 || add_table(module) < 0 || add_functions(module) < 0 || add_foot_placer(module) < 0)
        return -1;
    if (add_bake_numbers(module) < 0 || add_status_flags(module) < 0 || use_isa_of_environment() < 0) return -1;
    if (PyModule_AddIntConstant(module, "UNUSABLE", IK_UNUSABLE) < 0) return -1;
    return PyModule_AddStringConstant(module, "__version__", IKCORE_VERSION);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_multiple_interpreters /* NumPy does not support them */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static int traverse(PyObject *module, visitproc visit, void *arg) {
    core_state *state = PyModule_GetState(module);
    Py_VISIT(state->skeleton_type);
    Py_VISIT(state->mesh_type);
    return 0;
}

static int clear(PyObject *module) {
    core_state *state = PyModule_GetState(module);
    Py_CLEAR(state->skeleton_type);
    Py_CLEAR(state->mesh_type);
    return 0;
}

static void release(void *module) {
    free_singles(module);
    free_blocks();
}

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ikcore._core",
    .m_doc = "The C core. Private: use the functions of ikcore.",
    .m_size = sizeof(core_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
