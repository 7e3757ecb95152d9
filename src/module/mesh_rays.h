/* cast, surface and foothold: rays on meshes and planes. */

/* An argument of cast: an array (items, columns) or (items); None if it is optional. */
typedef struct {
    const char *name;
    int type, columns, optional, written;
} array_role;

static int take_rows(ik_rows *rows, PyObject *object, const array_role *role, npy_intp items) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (role->optional && object == Py_None) return 0;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != (role->columns > 1 ? 2 : 1) ||
        PyArray_DIM(array, 0) != items || (role->columns > 1 && PyArray_DIM(array, 1) != role->columns) ||
        !holds(array, role->type) || !(role->written ? PyArray_ISBEHAVED(array) : PyArray_ISBEHAVED_RO(array))) {
        PyErr_Format(PyExc_TypeError, "cast: %s does not fit the job", role->name);
        return -1;
    }
    *rows = (ik_rows){PyArray_DATA(array), PyArray_STRIDE(array, 0), role->columns > 1 ? PyArray_STRIDE(array, 1) : 0};
    return 0;
}

/* One row for all items, or one for `each` of them. */
static int take_placement(ik_rows *rows, PyObject *object, const array_role *role, npy_intp each, npy_intp items) {
    int one = PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) == 2 &&
              PyArray_DIM((PyArrayObject *)object, 0) == 1;
    if (take_rows(rows, object, role, one ? 1 : items / each) < 0) return -1;
    if (one) rows->stride = 0;
    return 0;
}

/* A body is (mesh, translation, to_local) or (plane, ...), a plane (x, y, z, height). */
static int take_body(ik_ray_body *body, PyObject *given, PyTypeObject *mesh_type, npy_intp each, npy_intp items) {
    static const array_role translation_role = {"translation", NPY_DOUBLE, 3, 1, 0};
    static const array_role to_local_role = {"to_local", NPY_DOUBLE, 9, 1, 0};
    PyObject *what, *translation, *to_local;
    *body = (ik_ray_body){0};
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "cast: a body does not fit the job");
        return -1;
    }
    if (!PyArg_ParseTuple(given, "OOO", &what, &translation, &to_local)) return -1;
    if (PyObject_TypeCheck(what, mesh_type)) {
        body->tree = &((mesh_object *)what)->tree;
    } else if (!PyTuple_Check(what)) {
        PyErr_SetString(PyExc_TypeError, "cast: a body is neither a mesh nor a plane");
        return -1;
    } else if (!PyArg_ParseTuple(what, "dddd", &body->normal[0], &body->normal[1], &body->normal[2], &body->height)) {
        return -1;
    }
    if (take_placement(&body->translation, translation, &translation_role, each, items) < 0) return -1;
    return take_placement(&body->to_local, to_local, &to_local_role, each, items);
}

static int take_bodies(ik_ray_body *bodies, PyObject *given, PyTypeObject *mesh_type, npy_intp each, npy_intp items) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(given); i++)
        if (take_body(&bodies[i], PyTuple_GetItem(given, i), mesh_type, each, items) < 0) return -1;
    return 0;
}

static int take_arrays(ik_cast_job *job, PyObject *const *args, npy_intp items) {
    static const array_role roles[] = {
        {"origins", NPY_DOUBLE, 3, 0, 0}, {"directions", NPY_DOUBLE, 3, 0, 0}, {"lengths", NPY_DOUBLE, 1, 0, 0},
        {"chosen", NPY_BOOL, 1, 1, 0},    {"distances", NPY_DOUBLE, 1, 1, 1},  {"points", NPY_DOUBLE, 3, 1, 1},
        {"normals", NPY_DOUBLE, 3, 1, 1}, {"triangles", NPY_INT32, 1, 1, 1},   {"sides", NPY_INT32, 1, 1, 1},
        {"parts", NPY_INT32, 1, 1, 1},    {"status", NPY_INT32, 1, 1, 1}};
    ik_rows *rows[] = {&job->origin, &job->direction, &job->length, &job->chosen, &job->distance, &job->point,
                       &job->normal, &job->triangle,  &job->side,   &job->body,   &job->status};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (take_rows(rows[i], args[i], &roles[i], items) < 0) return -1;
    return 0;
}

ik_ray_body *bodies_of(PyObject *module, PyObject *given, ptrdiff_t each, ptrdiff_t items) {
    ik_ray_body *bodies = PyMem_Calloc((size_t)PyTuple_Size(given) + 1, sizeof *bodies);
    PyTypeObject *mesh_type = ((core_state *)PyModule_GetState(module))->mesh_type;
    if (!bodies) PyErr_NoMemory();
    if (!bodies || take_bodies(bodies, given, mesh_type, each, items) == 0) return bodies;
    PyMem_Free(bodies);
    return NULL;
}

/* How many rays share a row of a placement, and which rays are cast: first and last. */
static int take_range(const char *what, PyObject *const *each, PyObject *const *range, npy_intp items, ptrdiff_t *rays,
                      npy_intp *first, npy_intp *last) {
    *rays = PyLong_AsSsize_t(*each), *first = PyLong_AsSsize_t(range[0]), *last = PyLong_AsSsize_t(range[1]);
    if (PyErr_Occurred()) return -1;
    if (*rays >= 1 && items % *rays == 0 && *first >= 0 && *last >= *first && items >= *last) return 0;
    PyErr_Format(PyExc_TypeError, "%s: each, first or last do not fit the job", what);
    return -1;
}

static PyObject *cast(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { BODIES, EACH, FRONT, FIRST, LAST, ARRAYS, ARGUMENTS = ARRAYS + 11 };
    if (given != ARGUMENTS || !PyTuple_Check(args[BODIES]) || !PyArray_Check(args[ARRAYS]) ||
        PyArray_NDIM((PyArrayObject *)args[ARRAYS]) != 2) {
        PyErr_SetString(PyExc_TypeError, "cast: expected bodies, each, front, first, last and 11 arrays");
        return NULL;
    }
    npy_intp items = PyArray_DIM((PyArrayObject *)args[ARRAYS], 0), first, last;
    ik_cast_job job = {.count = (int)PyTuple_Size(args[BODIES]), .front = PyObject_IsTrue(args[FRONT])};
    if (take_range("cast", args + EACH, args + FIRST, items, &job.each, &first, &last) < 0) return NULL;
    if (take_arrays(&job, args + ARRAYS, items) < 0) return NULL;
    ik_ray_body *bodies = bodies_of(module, args[BODIES], job.each, items);
    if (!bodies) return NULL;
    job.bodies = bodies;
    Py_BEGIN_ALLOW_THREADS;
    ik_cast(&job, first, last);
    Py_END_ALLOW_THREADS;
    PyMem_Free(bodies);
    Py_RETURN_NONE;
}

/* A number for all points, or an array of one for each. */
static int take_distance(ik_rows *rows, PyObject *object, const char *name, double *number, npy_intp items) {
    const array_role role = {name, NPY_DOUBLE, 1, 0, 0};
    if (!PyFloat_Check(object)) return take_rows(rows, object, &role, items);
    *number = PyFloat_AsDouble(object);
    *rows = (ik_rows){.data = number};
    return 0;
}

static PyObject *surface(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { BODIES, EACH, AXIS, FIRST, LAST, POINTS, ABOVE, BELOW, HIT, FOUND, NORMALS, PARTS, ARGUMENTS };
    static const array_role points_role = {"points", NPY_DOUBLE, 3, 0, 0};
    static const array_role roles[] = {{"hit", NPY_BOOL, 1, 0, 1},
                                       {"found", NPY_DOUBLE, 3, 0, 1},
                                       {"normals", NPY_DOUBLE, 3, 1, 1},
                                       {"parts", NPY_INT32, 1, 1, 1}};
    if (given != ARGUMENTS || !PyTuple_Check(args[BODIES]) || !PyArray_Check(args[POINTS]) ||
        PyArray_NDIM((PyArrayObject *)args[POINTS]) != 2) {
        PyErr_SetString(PyExc_TypeError, "surface: expected bodies, each, axis, first, last, a window and 5 arrays");
        return NULL;
    }
    npy_intp items = PyArray_DIM((PyArrayObject *)args[POINTS], 0), first, last;
    ik_surface_job job = {.count = (int)PyTuple_Size(args[BODIES]), .axis = (int)PyLong_AsLong(args[AXIS])};
    ik_rows *rows[] = {&job.hit, &job.found, &job.normal, &job.body};
    double above, below;
    if (take_range("surface", args + EACH, args + FIRST, items, &job.each, &first, &last) < 0) return NULL;
    if (job.axis < 0 || job.axis > 2) {
        PyErr_SetString(PyExc_TypeError, "surface: axis does not fit the job");
        return NULL;
    }
    if (take_rows(&job.point, args[POINTS], &points_role, items) < 0 ||
        take_distance(&job.above, args[ABOVE], "above", &above, items) < 0 ||
        take_distance(&job.below, args[BELOW], "below", &below, items) < 0)
        return NULL;
    for (int i = 0; i < 4; i++)
        if (take_rows(rows[i], args[HIT + i], &roles[i], items) < 0) return NULL;
    ik_ray_body *bodies = bodies_of(module, args[BODIES], job.each, items);
    void *scratch = bodies ? PyMem_Malloc(ik_surface_scratch(last - first) + 1) : NULL;
    job.bodies = bodies;
    if (scratch) {
        Py_BEGIN_ALLOW_THREADS;
        ik_surface(&job, first, last, scratch);
        Py_END_ALLOW_THREADS;
    } else if (bodies) {
        PyErr_NoMemory();
    }
    const int done = scratch != NULL;
    PyMem_Free(scratch);
    PyMem_Free(bodies);
    if (!done) return NULL;
    Py_RETURN_NONE;
}

/* The numbers of an array in one block, (rows) or (rows, columns); NULL with an exception set. */
static const double *block_of(PyObject *object, const char *name, npy_intp rows, int columns) {
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_Check(object) && holds(array, NPY_DOUBLE) && PyArray_NDIM(array) == (columns ? 2 : 1) &&
        PyArray_DIM(array, 0) == rows && (!columns || PyArray_DIM(array, 1) == columns) &&
        PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array))
        return PyArray_DATA(array);
    PyErr_Format(PyExc_TypeError, "foothold: %s does not fit the job", name);
    return NULL;
}

/* Memory for the results: (hit, points, normals, parts). */
static PyObject *new_foothold(ik_foothold_job *job) {
    static const int types[] = {NPY_BOOL, NPY_DOUBLE, NPY_DOUBLE, NPY_INT32};
    void *data[4];
    npy_intp shape[2] = {job->points, 3};
    PyObject *found = PyTuple_New(4);
    for (int k = 0; found && k < 4; k++) {
        PyObject *array = PyArray_SimpleNew(types[k] == NPY_DOUBLE ? 2 : 1, shape, types[k]);
        if (array) data[k] = PyArray_DATA((PyArrayObject *)array);
        if (!array || PyTuple_SetItem(found, k, array) < 0) Py_CLEAR(found);
    }
    if (found) job->hit = data[0], job->found = data[1], job->normal = data[2], job->body = data[3];
    return found;
}

static PyObject *foothold(PyObject *module, PyObject *const *args, Py_ssize_t given) {
    enum { BODIES, AXIS, POINTS, LAST, JUMPS, STEP, ABOVE, BELOW, SAME, ARGUMENTS };
    ik_foothold_job job = {0};
    if (given != ARGUMENTS || !PyTuple_Check(args[BODIES]) || !PyArray_Check(args[POINTS]) ||
        PyArray_NDIM((PyArrayObject *)args[POINTS]) != 2 || PyArray_DIM((PyArrayObject *)args[POINTS], 0) < 1) {
        PyErr_SetString(PyExc_TypeError, "foothold: expected bodies, the axis, points and the rest of the job");
        return NULL;
    }
    const npy_intp points = job.points = PyArray_DIM((PyArrayObject *)args[POINTS], 0);
    job.count = (int)PyTuple_Size(args[BODIES]), job.axis = (int)PyLong_AsLong(args[AXIS]);
    job.jumps = PyObject_IsTrue(args[JUMPS]), job.step = PyFloat_AsDouble(args[STEP]);
    job.window[0] = PyFloat_AsDouble(args[ABOVE]), job.window[1] = PyFloat_AsDouble(args[BELOW]);
    job.same = PyFloat_AsDouble(args[SAME]);
    if (PyErr_Occurred()) return NULL;
    if (job.axis < 0 || job.axis > 2 || !(job.step > 0) || !(job.same >= 0)) {
        PyErr_SetString(PyExc_TypeError, "foothold: axis, step or a distance do not fit the job");
        return NULL;
    }
    if (!(job.point = (const double (*)[3])block_of(args[POINTS], "points", points, 3)) ||
        !(job.last = block_of(args[LAST], "last", 3, 0)))
        return NULL;
    ik_ray_body *bodies = bodies_of(module, args[BODIES], 1, 1);
    if (!bodies) return NULL;
    job.bodies = bodies;
    const size_t bytes = ik_foothold_scratch(&job);
    void *scratch = bytes ? PyMem_Malloc(bytes) : NULL;
    PyObject *found = scratch ? new_foothold(&job) : PyErr_NoMemory();
    if (found) {
        Py_BEGIN_ALLOW_THREADS;
        ik_foothold(&job, scratch);
        Py_END_ALLOW_THREADS;
    }
    PyMem_Free(scratch);
    PyMem_Free(bodies);
    return found;
}
