/* The closed-form solvers as NumPy gufuncs: NumPy broadcasts, casts and makes the outputs; one loop serves all solvers.
 *
 * A solver's job in C consists of ik_rows and ik_lists, and its gufunc has the same operands in the same order. A row
 * of the table below is therefore complete: name, signature and types. The loop follows the signature:
 *   ()        one ik_rows
 *   (3)       one ik_rows
 *   (3,3)     three ik_rows, one for each row of the matrix
 *   (name3)   optional: size 3 if given, otherwise size 0 with NULL data. Two of one name are given together.
 *   (n,3)     one ik_lists: any number of rows
 *   (n)       one ik_lists of single numbers
 * A loop runs without the GIL and cannot raise; errors are in the status operand. */
#include "gufuncs.h"

#include "numpy_api.h"

#include <numpy/ufuncobject.h>

#include <string.h>

#include "solvers.h"

/* Jobs are filled in like arrays of words. */
_Static_assert(sizeof(ik_rows) == 4 * sizeof(ptrdiff_t) && sizeof(ik_lists) == 6 * sizeof(ptrdiff_t),
               "ik_rows or ik_lists has gaps");

#define SOLVER_CALLS(name)                                                                                             \
    static void name##_f32(const void *words, ptrdiff_t count) {                                                       \
        ik_##name##_job job;                                                                                           \
        memcpy(&job, words, sizeof job);                                                                               \
        ik_##name##_f32(&job, count);                                                                                  \
    }                                                                                                                  \
    static void name##_f64(const void *words, ptrdiff_t count) {                                                       \
        ik_##name##_job job;                                                                                           \
        memcpy(&job, words, sizeof job);                                                                               \
        ik_##name##_f64(&job, count);                                                                                  \
    }
IK_SOLVERS(SOLVER_CALLS)

#define SOLVER(name_, signature_, types_, doc_)                                                                        \
    {                                                                                                                  \
        .name = #name_, .signature = signature_, .types = types_, .doc = doc_, .job_size = sizeof(ik_##name_##_job),   \
        .solve = {name_##_f32, name_##_f64}                                                                            \
    }
#define NUMBERS(name_, signature_, doc_) SOLVER(name_, signature_, NULL, doc_)

static gufunc gufuncs[] = {
    SOLVER(two_bone,
           "(3),(3),(3),(3),(pole3),(bend3),(hinge3),(twist1),(influence1),(soften1),(stretchstart1),(stretchmax1),"
           "(minbend1),(maxbend1)->(4),(4),(3,3),(),(),(),()",
           "rrrrrrrrrrrrrrrrrirrr",
           "root, mid, end, target, pole, bend, hinge, twist, influence, soften, stretch_start, stretch_max, min_bend, "
           "max_bend -> root delta, mid delta, positions, status, error, flip, stretch"),
    SOLVER(two_bone_2d, "(),(),(2)->(2,2),(),()", "rrrrir", "length1, length2, target -> angles, status, error"),
    SOLVER(aim, "(3),(4),(3),(3),(offset3),(upright3),(upright3),(twist1),(influence1)->(4),(),()", "rrrrrrrrrrir",
           "position, rotation, target, forward, offset, up, pole, twist, influence -> delta, status, error"),
    SOLVER(
        look,
        "(n,3),(4),(3),(3),(weights),(offset3),(up3),(pole3),(reference3),(clamp1),(clampstart1),(influence1)->(n,4),"
        "(n,3),(),()",
        "rrrrrrrrrrrrrrir",
        "joints, rotation, target, forward, weights, offset, up, pole, reference, clamp, clamp_start, influence -> "
        "deltas, positions, status, error"),
    SOLVER(spline, "(n,3),(m,3),(shares),(tilts),(rootweight1),(start3),(start3),(end3),(end3)->(n,4),(n,3),(n),(),()",
           "rrrrrrrrrrrrir",
           "joints, curve, shares, tilts, root_weight, start_axis, start_up, end_axis, end_up -> deltas, positions, "
           "stretches, status, error"),
    SOLVER(spread_twist, "(n,4),(n,4),(n,3),(weights)->(n,4),(n),()", "rrrrrri",
           "rotations, rests, axes, weights -> solved, twists, status"),
    NUMBERS(quat_multiply, "(4),(4)->(4)", "a, b -> a b"),
    NUMBERS(quat_conjugate, "(4)->(4)", "q -> conjugate"),
    NUMBERS(quat_normalize, "(4)->(4)", "q -> with unit length"),
    NUMBERS(quat_canonical, "(4)->(4)", "q -> with unit length and w >= 0"),
    NUMBERS(quat_rotate, "(4),(3)->(3)", "q, v -> v turned"),
    NUMBERS(quat_shortest_arc, "(3),(3),(axis3)->(4)", "a, b, axis -> q"),
    NUMBERS(quat_exp, "(3)->(4)", "rotation vector -> q"),
    NUMBERS(quat_log, "(4)->(3)", "q -> rotation vector"),
    NUMBERS(quat_slerp, "(4),(4),()->(4)", "a, b, t -> q"),
    NUMBERS(quat_swing_twist, "(4),(3)->(4),(4)", "q, axis -> swing, twist"),
    NUMBERS(quat_to_matrix, "(4)->(3,3)", "q -> matrix"),
    NUMBERS(quat_from_matrix, "(3,3)->(4)", "matrix -> q"),
    NUMBERS(quat_to_axis_angle, "(4)->(3),()", "q -> axis, angle"),
    NUMBERS(quat_from_axis_angle, "(3),()->(4)", "axis, angle -> q"),
    NUMBERS(quat_to_6d, "(4)->(6)", "q -> two columns"),
    NUMBERS(quat_from_6d, "(6)->(4)", "two columns -> q"),
    NUMBERS(quat_to_euler, "(4),(3,3)->(3)", "q, axes -> angles"),
    NUMBERS(quat_from_euler, "(3),(3,3)->(4)", "angles, axes -> q"),
    NUMBERS(quat_best_fit, "(n,3),(n,3),(weights)->(4),()", "points, targets, weights -> q, rmsd"),
    NUMBERS(limit_project, "(4),(),(4),(2),(4),(3),(3),(3),(n,4)->(4),()",
            "q, kind, frame, twist, swing, axes, lowest, highest, cones -> projected, violation"),
};

static void loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const struct loop_data *chosen = data;
    const gufunc *solver = chosen->solver;
    const npy_intp *core_steps = steps + solver->operand_count;
    job_words job;
    ptrdiff_t *next = job;
    for (int i = 0; i < solver->operand_count; i++) {
        const operand *op = &solver->operands[i];
        int columns = op->core_dims - op->is_list; /* 0: single numbers */
        int given = columns == 0 || dimensions[op->size_at] == op->expected;
        ptrdiff_t step = columns ? core_steps[op->core_dims - 1] : 0;
        int repeats = columns == 2 ? op->expected : 1;
        for (int k = 0; k < repeats; k++)
            next = append_rows(next, (ik_rows){given ? args[i] + (k ? k * core_steps[0] : 0) : NULL, steps[i], step});
        if (op->is_list) {
            *next++ = core_steps[0];
            *next++ = dimensions[op->count_at];
        }
        core_steps += op->core_dims;
    }
    chosen->solve(job, dimensions[0]);
}

/* Reads "(3),(pole3),(n,3)->(3,3),()" into operands. Sizes stand in `dimensions` once for every distinct name, in order
 * of first appearance, after the number of items. */
static void read_signature(gufunc *solver) {
    const char *names[MAX_OPERANDS];
    size_t lengths[MAX_OPERANDS];
    int distinct = 0;
    operand *op = solver->operands - 1;
    for (const char *at = solver->signature; *at;) {
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
        if (*at == '(') *++op = (operand){0};
        if (*at == '-') solver->input_count = (int)(op - solver->operands) + 1;
        if (length == 0) {
            at++;
            continue;
        }
        int known = 0;
        while (known < distinct && !(lengths[known] == length && strncmp(names[known], at, length) == 0))
            known++;
        if (known == distinct) {
            names[distinct] = at;
            lengths[distinct++] = length;
        }
        int is_size = at[length - 1] <= '9';
        if (!is_size) op->is_list = 1, op->count_at = 1 + known;
        if (is_size) op->expected = at[length - 1] - '0', op->size_at = 1 + known, op->optional = length > 1;
        op->core_dims++;
        at += length;
    }
    solver->operand_count = (int)(op - solver->operands) + 1;
}

/* If a signature does not fit its job, the solver would read rows that do not exist. */
static int check_layout(const gufunc *solver) {
    size_t words = 0;
    for (int i = 0; i < solver->operand_count; i++) {
        const operand *op = &solver->operands[i];
        int repeats = op->core_dims - op->is_list == 2 ? op->expected : 1;
        words += (size_t)repeats * sizeof(ik_rows) / sizeof(ptrdiff_t) + (op->is_list ? 2 : 0);
    }
    if (words * sizeof(ptrdiff_t) == solver->job_size &&
        (!solver->types || strlen(solver->types) == (size_t)solver->operand_count))
        return 0;
    PyErr_Format(PyExc_SystemError, "gufuncs.c: signature or types of %s do not fit its job in ik.h", solver->name);
    return -1;
}

static int add_gufunc(PyObject *module, gufunc *solver) {
    static PyUFuncGenericFunction loops[2] = {loop, loop};
    static const char number_types[2] = {NPY_FLOAT, NPY_DOUBLE};
    read_signature(solver);
    if (check_layout(solver) < 0) return -1;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < solver->operand_count; i++)
            solver->loop_types[k * solver->operand_count + i] =
                solver->types && solver->types[i] == 'i' ? NPY_INT32 : number_types[k];
        solver->loop_data[k] = (struct loop_data){solver, solver->solve[k]};
        solver->loop_data_pointers[k] = &solver->loop_data[k];
    }
    PyObject *made = PyUFunc_FromFuncAndDataAndSignature(
        loops, solver->loop_data_pointers, solver->loop_types, 2, solver->input_count,
        solver->operand_count - solver->input_count, PyUFunc_None, solver->name, solver->doc, 0, solver->signature);
    if (!made) return -1;
    int failed = PyModule_AddObjectRef(module, solver->name, made);
    Py_DECREF(made);
    return failed;
}

const gufunc *gufunc_named(const char *name) {
    for (size_t i = 0; i < sizeof gufuncs / sizeof *gufuncs; i++)
        if (strcmp(gufuncs[i].name, name) == 0) return &gufuncs[i];
    return NULL;
}

int add_gufuncs(PyObject *module) {
    if (PyUFunc_ImportUFuncAPI() < 0) return -1;
    for (size_t i = 0; i < sizeof gufuncs / sizeof *gufuncs; i++)
        if (add_gufunc(module, &gufuncs[i]) < 0) return -1;
    return 0;
}
