/* Goals as written by users, taken apart for one item.
 *
 * Code that solves pose by pose writes the same goals each time with other arrays. Therefore goals are split into their
 * arrays and points, and everything else, the structure, which is the key of a Prepared made for it. */

/* The fields of a kind of goal: (names of those that are arrays, of points and axes of joints, of all others). */
typedef struct {
    PyObject *arrays, *points, *others;
} goal_kind;

static int find_kind(goal_kind *kind, PyObject *kinds, PyObject *goal) {
    PyObject *found = PyDict_GetItemWithError(kinds, (PyObject *)Py_TYPE(goal));
    return found && PyArg_ParseTuple(found, "O!O!O!", &PyTuple_Type, &kind->arrays, &PyTuple_Type, &kind->points,
                                     &PyTuple_Type, &kind->others);
}

/* (kind, and the fields that are no arrays) */
static PyObject *others_of(PyObject *goal, PyObject *names) {
    PyObject *kind = (PyObject *)Py_TYPE(goal), *others = PyTuple_New(PyTuple_Size(names) + 1);
    int failed = !others || PyTuple_SetItem(others, 0, Py_NewRef(kind)) < 0;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(names); i++) {
        PyObject *value = PyObject_GetAttr(goal, PyTuple_GetItem(names, i));
        failed = !value || PyTuple_SetItem(others, i + 1, value) < 0;
    }
    if (failed) Py_CLEAR(others);
    return others;
}

/* The code of an array or a point in the structure. A point of zeros is another structure: it is the joint, and an axis
 * of zeros is refused. A point that is not finite, or not three numbers, is UNKNOWN. */
enum { UNKNOWN = -1, LACKS, HAS, HAS_ZEROS };

static int look_at(PyObject *value, int is_point) {
    double p[4];
    int is_float;
    if (value == Py_None) return LACKS;
    if (!is_point) return HAS;
    if (!read_row(value, 3, p, &is_float) || !isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2])) return UNKNOWN;
    return p[0] != 0 || p[1] != 0 || p[2] != 0 ? HAS : HAS_ZEROS;
}

/* Appends the given arrays or points to the arguments, and to `given` their codes, a digit each. 1: done; 0: left to
 * Python; -1: failed. */
static int add_given(PyObject *goal, PyObject *names, int is_point, PyObject *arguments, unsigned long *given) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++) {
        PyObject *value = PyObject_GetAttr(goal, PyTuple_GetItem(names, i));
        if (!value) return -1;
        int what = look_at(value, is_point);
        int failed = what > LACKS && PyList_Append(arguments, value) < 0;
        Py_DECREF(value);
        if (failed || what == UNKNOWN) return failed ? -1 : 0;
        *given = 3 * *given + (unsigned long)what;
    }
    return 1;
}

static int append_new(PyObject *list, PyObject *item) {
    int failed = !item || PyList_Append(list, item) < 0;
    Py_XDECREF(item);
    return failed ? -1 : 0;
}

/* Appends to the structure everything that decides how goals are solved, and to the arguments their arrays and points.
 * 1: done; 0: left to Python; -1: failed. */
static int take_apart(PyObject *goals, PyObject *kinds, PyObject *structure, PyObject *arguments) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(goals); i++) {
        PyObject *goal = PyTuple_GetItem(goals, i);
        unsigned long given = 0;
        goal_kind kind;
        if (!find_kind(&kind, kinds, goal)) return PyErr_Occurred() ? -1 : 0;
        int done = add_given(goal, kind.arrays, 0, arguments, &given);
        if (done > 0) done = add_given(goal, kind.points, 1, arguments, &given);
        if (done <= 0) return done;
        if (append_new(structure, others_of(goal, kind.others)) < 0 ||
            append_new(structure, PyLong_FromUnsignedLong(given)) < 0)
            return -1;
    }
    return 1;
}

/* The Prepared for a structure, or None; `prepare` makes a new one, which is then kept. */
static PyObject *prepared_for(PyObject *kept, PyObject *structure, PyObject *prepare, PyObject *skeleton,
                              PyObject *goals) {
    PyObject *found = PyDict_GetItemWithError(kept, structure);
    if (found) return Py_NewRef(found);
    if (PyErr_Occurred()) return NULL;
    return PyObject_CallFunctionObjArgs(prepare, skeleton, goals, structure, NULL);
}

static PyObject *solve_structure(PyObject *prepared, PyObject *arguments) {
    if (prepared == Py_None) Py_RETURN_NONE;
    PyObject *given = PyList_AsTuple(arguments), *found = given ? PyObject_CallObject(prepared, given) : NULL;
    Py_XDECREF(given);
    return found;
}

static PyObject *solve_single(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *method, *asked, *goals, *rotations, *translations, *scales, *kinds, *kept, *prepare, *skeleton;
    if (!PyArg_ParseTuple(args, "OOO!OOOO!O!OO", &method, &asked, &PyTuple_Type, &goals, &rotations, &translations,
                          &scales, &PyDict_Type, &kinds, &PyDict_Type, &kept, &prepare, &skeleton))
        return NULL;
    PyObject *structure = Py_BuildValue("[OO]", method, asked), *found = NULL;
    PyObject *arguments = Py_BuildValue("[OOO]", rotations, translations, scales);
    int apart = structure && arguments ? take_apart(goals, kinds, structure, arguments) : -1;
    PyObject *key = apart > 0 ? PyList_AsTuple(structure) : NULL;
    PyObject *prepared = key ? prepared_for(kept, key, prepare, skeleton, goals) : NULL;
    if (prepared) found = solve_structure(prepared, arguments);
    if (apart == 0) found = Py_NewRef(Py_None);
    Py_XDECREF(prepared);
    Py_XDECREF(key);
    Py_XDECREF(arguments);
    Py_XDECREF(structure);
    return found;
}
