/* The iterative methods as Python functions: `solve`, which takes the name of the method, and `Prepared`, which takes
 * one item per call and has everything else prepared.
 *
 * Arrays must have one number type, and one item per row or a single item as a whole. ikcore/solving makes them and has
 * the error messages. An array that is refused here is a bug there. Structure is checked before a kernel sees it. Runs
 * without the GIL, and ends soon after Ctrl-C. */
#include "module.h"

#include "numpy_api.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ik.h"
#include "interrupt.h"
#include "row.h"
#include "skeleton_object.h"

#include "solve_job.h"

static PyObject *solve(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *skeleton, *goals, *rotations, *translations, *scales, *options, *outputs, *stop = NULL, *moving = Py_None;
    double fps = 0, release = 0;
    int judge = 0;
    if (!PyArg_ParseTuple(args, "sOO!OOOO!O!|O!dpOd", &name, &skeleton, &PyTuple_Type, &goals, &rotations,
                          &translations, &scales, &PyTuple_Type, &options, &PyTuple_Type, &outputs, &PyByteArray_Type,
                          &stop, &fps, &judge, &moving, &release))
        return NULL;
    const char *byte = stop && PyByteArray_Size(stop) > 0 ? PyByteArray_AsString(stop) : NULL;
    const method *method = find_method(name);
    call call = {
        .job.skeleton = skeleton_of(module, skeleton), .job.fps = fps, .job.release = release, .job.judge = judge};
    if (!method || !call.job.skeleton) return NULL;
    int failed = add_options(&call.job.options, method, options) < 0 || add_moving(&call.job, moving) < 0 ||
                 add_pose(&call, rotations, translations, scales) < 0 ||
                 parse_goals(&call.job, goals, take_array, &call) < 0 || add_outputs(&call, outputs) < 0 ||
                 run(method, &call, byte) < 0;
    free((void *)call.job.goals);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

#include "solve_prepared.h"
#include "solve_single.h"

static PyMethodDef functions[] = {
    {"solve", solve, METH_VARARGS,
     "solve(method, skeleton, goals, rotations, translations, scales, options, outputs, stop=..., fps=..., judge=..., "
     "moving=..., /)\n--\n\n"
     "Arrays of one item, of items, or of frames that follow each other and items. "
     "Writes outputs: (rotations, status, error, rotation_error, iterations, history, translations, goal_errors), the"
     " last three where they are not None. Ends before all is done"
     " where the first byte of stop, a bytearray, is set meanwhile."},
    {"solve_single", solve_single, METH_VARARGS,
     "solve_single(method, asked, goals, rotations, translations, scales, kinds, kept, prepare, skeleton, /)\n--\n\n"
     "Solves one item by the Prepared that is kept for goals of this structure, or that prepare(skeleton, goals,"
     " structure) makes, a structure being (method, asked, ...); returns what that does. kinds: the names of the "
     "fields of a kind of goal that are arrays, of"
     " those that are points or axes of joints, and of all others."},
    {NULL, NULL, 0, NULL},
};

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* A tuple of what `append` adds to a list. */
static int add_list(PyObject *module, const char *name, int (*append)(PyObject *list)) {
    PyObject *list = PyList_New(0);
    PyObject *tuple = list && append(list) == 0 ? PyList_AsTuple(list) : NULL;
    int failed = !tuple || PyModule_AddObjectRef(module, name, tuple) < 0;
    Py_XDECREF(tuple);
    Py_XDECREF(list);
    return failed ? -1 : 0;
}

static int append_some(PyObject *list, const method *first, const method *last) {
    for (const method *method = first; method < last && method->name; method++)
        if (append_new(list, Py_BuildValue("(ssI)", method->name, method->doc, method->takes)) < 0) return -1;
    return 0;
}

static int append_methods(PyObject *list) { return append_some(list, methods, methods + ITERATIVE); }
static int append_forms(PyObject *list) {
    return append_some(list, methods + ITERATIVE, methods + sizeof methods / sizeof *methods);
}

static int append_goal_kinds(PyObject *list) {
#define GOAL_KIND(name, numbers, doc)                                                                                  \
    if (append_new(list, Py_BuildValue("(ss)", #name, doc)) < 0) return -1;
    IK_GOAL_KINDS(GOAL_KIND)
    return 0;
}

static int append_goal_rows(PyObject *list) {
    for (int k = 0; k < GOAL_ROWS; k++)
        if (append_new(list, Py_BuildValue("(sis)", goal_fields[k].name, goal_fields[k].columns, goal_fields[k].doc)) <
            0)
            return -1;
    return 0;
}

/* The words and bits of goals and limits that only some methods take; kinds of goals are among them. */
static int append_takes(PyObject *list) {
#define TAKES(name, doc)                                                                                               \
    if (append_new(list, Py_BuildValue("(sI)", #name, (unsigned)IK_TAKES_##name)) < 0) return -1;
#define TAKES_KIND(name, numbers, doc) TAKES(name, doc)
    IK_TAKES(TAKES)
    IK_GOAL_KINDS(TAKES_KIND)
    return 0;
}

#define OPTION_NAME(name, type)                                                                                        \
    if (append_new(list, PyUnicode_FromString(#name)) < 0) return -1;
static int append_options(PyObject *list) {
    IK_OPTIONS(OPTION_NAME)
    return 0;
}

static int append_method_options(PyObject *list) {
    for (const method *method = methods; method->name; method++)
        for (const option *o = method->options; o->name; o++)
            if (append_new(list, Py_BuildValue("(sssddds)", method->name, o->name, o->type, o->default_, o->lowest,
                                               o->highest, o->doc)) < 0)
                return -1;
    return 0;
}

int add_solve(PyObject *module) {
    if (add_list(module, "METHODS", append_methods) < 0 || add_list(module, "CLOSED_FORMS", append_forms) < 0 ||
        add_list(module, "OPTIONS", append_options) < 0 ||
        add_list(module, "METHOD_OPTIONS", append_method_options) < 0 ||
        add_list(module, "GOAL_KINDS", append_goal_kinds) < 0 || add_list(module, "GOAL_ROWS", append_goal_rows) < 0 ||
        add_list(module, "TAKES", append_takes) < 0)
        return -1;
    if (PyModule_AddIntConstant(module, "REACHES", IK_REACHES) < 0) return -1;
    if (PyModule_AddIntConstant(module, "ALL_JOINTS", IK_ALL_JOINTS) < 0) return -1;
    return add_prepared(module) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
