/* How a foot stands, and where it goes then, as functions of Python. ikcore/bake/stances.py makes what they are called
 * with: doubles, one row a frame of the clip. */
#include "stances.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ndarrayobject.h>

#include <string.h>

#include "../ik/phases.h"
#include "arrays.h"
#include "foot.h"

enum { MOST_PHASES = 1000 };

/* A foot, and everything that an ik_stance points to. */
typedef struct {
    foot_over_time given;
    ik_stance stance;
    ik_stood found;
    ik_phase *phases; /* to be freed */
    void *scratch;    /* likewise */
} job;

static int take_vector(double *vector, const char *name, PyObject *object) {
    PyArrayObject *array = array_of_rows(object, NPY_DOUBLE, 3, 0, 1);
    if (!array) return refused_foot(name);
    memcpy(vector, PyArray_DATA(array), 3 * sizeof *vector);
    return 0;
}

/* A phase is (point, start, stop); they follow on each other. */
static int take_phases(job *j, PyObject *phases) {
    ik_stance *stance = &j->stance;
    ptrdiff_t stop = stance->start;
    stance->phases = (int)PyTuple_Size(phases);
    if (stance->phases < 1 || stance->phases > MOST_PHASES) return refused_foot("phases");
    stance->phase = j->phases = PyMem_Malloc((size_t)stance->phases * sizeof *j->phases);
    if (!j->phases) return PyErr_NoMemory(), -1;
    for (int k = 0; k < stance->phases; k++) {
        ik_phase *phase = &j->phases[k];
        if (!PyTuple_Check(PyTuple_GetItem(phases, k))) return refused_foot("phases");
        if (!PyArg_ParseTuple(PyTuple_GetItem(phases, k), "inn", &phase->point, &phase->start, &phase->stop)) return -1;
        if (phase->point < 0 || phase->point >= j->given.foot.points || phase->start != stop ||
            phase->stop <= phase->start)
            return refused_foot("phases");
        stop = phase->stop;
    }
    return stop == stance->stop ? 0 : refused_foot("phases");
}

static int take_flat(ik_stance *stance, PyObject *flat) {
    if (!PyArray_Check(flat) || PyArray_NDIM((PyArrayObject *)flat) != 1) return refused_foot("flat");
    stance->flats = PyArray_DIM((PyArrayObject *)flat, 0);
    PyArrayObject *frames = array_of_rows(flat, NPY_INTP, stance->flats, 0, 1);
    if (!frames || stance->flats < 1) return refused_foot("flat");
    stance->flat = PyArray_DATA(frames);
    for (ptrdiff_t k = 0; k < stance->flats; k++)
        if (stance->flat[k] < stance->start || stance->flat[k] >= stance->stop) return refused_foot("flat");
    return 0;
}

/* When a foot does what: (start, stop, phases, main, flat). */
static int take_when(job *j, PyObject *given) {
    PyObject *phases, *flat;
    ik_stance *stance = &j->stance;
    if (!PyArg_ParseTuple(given, "nnO!iO", &stance->start, &stance->stop, &PyTuple_Type, &phases, &stance->main, &flat))
        return -1;
    if (stance->start < 0 || stance->stop > j->given.foot.frames) return refused_foot("start or stop");
    if (take_phases(j, phases) < 0) return -1;
    if (stance->main < 0 || stance->main >= stance->phases) return refused_foot("main");
    return take_flat(stance, flat);
}

/* Where it stands: (clean, slips, aside, place, lift, normal, floor). */
static int take_where(ik_stance *stance, PyObject *given) {
    PyObject *slips, *aside, *place, *normal, *floor;
    if (!PyArg_ParseTuple(given, "pOOOdOO", &stance->clean, &slips, &aside, &place, &stance->lift, &normal, &floor))
        return -1;
    PyArrayObject *slid = array_of_rows(slips, NPY_DOUBLE, stance->stop - stance->start, 3, 1);
    if (!slid) return refused_foot("slips");
    stance->slips = PyArray_DATA(slid);
    if (take_vector(stance->aside, "aside", aside) < 0 || take_vector(stance->place, "place", place) < 0) return -1;
    if (take_vector(stance->normal, "normal", normal) < 0) return -1;
    return take_vector(stance->floor, "floor", floor);
}

static int take_scratch(job *j) {
    j->scratch = PyMem_Malloc(ik_stand_scratch(j->stance.stop - j->stance.start));
    return j->scratch ? 0 : (PyErr_NoMemory(), -1);
}

static void give_back(job *j) {
    PyMem_Free(j->phases);
    PyMem_Free(j->scratch);
}

static PyObject *still(PyObject *module, PyObject *args) {
    PyObject *foot, *when;
    PyArrayObject *slips = NULL;
    job j = {0};
    ik_stays stays;
    (void)module;
    if (PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &foot, &PyTuple_Type, &when) && take_foot(&j.given, foot) == 0 &&
        take_when(&j, when) == 0 && take_scratch(&j) == 0) {
        const npy_intp shape[2] = {j.stance.stop - j.stance.start, 3};
        slips = (PyArrayObject *)PyArray_ZEROS(2, shape, NPY_DOUBLE, 0);
    }
    if (slips) {
        j.stance.floor[j.given.foot.axis] = 1;
        stays = ik_stay(&j.given.foot, &j.stance, PyArray_DATA(slips), j.scratch);
    }
    give_back(&j);
    return slips ? Py_BuildValue("(Nddddd)", slips, stays.slid, stays.spun, stays.flat, stays.off, stays.sunk) : NULL;
}

static PyObject *stand(PyObject *module, PyObject *args) {
    PyObject *foot, *when, *where, *shift, *turn, *toes, *lies;
    job j = {0};
    (void)module;
    const int ready = PyArg_ParseTuple(args, "O!O!O!OOOO", &PyTuple_Type, &foot, &PyTuple_Type, &when, &PyTuple_Type,
                                       &where, &shift, &turn, &toes, &lies) &&
                      take_foot(&j.given, foot) == 0 && take_when(&j, when) == 0 && take_where(&j.stance, where) == 0 &&
                      take_stood(&j.found, &j.given.foot, shift, turn, toes) == 0 &&
                      (j.found.lies = take_found("lies", lies, NPY_BOOL, j.given.foot.frames, 0)) &&
                      take_scratch(&j) == 0;
    if (ready) ik_stand(&j.given.foot, &j.stance, &j.found, j.scratch);
    give_back(&j);
    if (!ready) return NULL;
    Py_RETURN_NONE;
}

/* When a point is in contact. */
static int take_mask(const unsigned char **mask, PyObject *object, npy_intp frames) {
    if (object == Py_None) return 0;
    PyArrayObject *array = array_of_rows(object, NPY_BOOL, frames, 0, 1);
    if (!array) return refused_foot("heel_on or ball_on");
    *mask = PyArray_DATA(array);
    return 0;
}

static int take_span(ik_phases_job *job) {
    const int spans = job->start >= 0 && job->start < job->stop && job->stop <= job->foot->frames;
    const int meets = job->contact >= 0 && job->contact < job->end && job->end <= job->foot->frames;
    const int both = job->heel >= 0 ? job->heel < job->foot->points : !job->heel_on;
    return spans && meets && both && (!job->ball_on || job->foot->ball >= 0) ? 0 : refused_foot("stance");
}

/* (phases, main, flat) */
static PyObject *phases_found(const ik_phases_job *job) {
    npy_intp count = job->flats;
    PyObject *flat = PyArray_SimpleNew(1, &count, NPY_INTP), *phases = PyTuple_New(job->phases);
    if (flat) memcpy(PyArray_DATA((PyArrayObject *)flat), job->flat, (size_t)count * sizeof *job->flat);
    for (int k = 0; phases && k < job->phases; k++) {
        const ik_phase *phase = &job->phase[k];
        PyObject *one = Py_BuildValue("(inn)", phase->point, phase->start, phase->stop);
        if (!one || PyTuple_SetItem(phases, k, one) < 0) Py_CLEAR(phases);
    }
    if (flat && phases) return Py_BuildValue("(NiN)", phases, job->main, flat);
    Py_XDECREF(flat);
    Py_XDECREF(phases);
    return NULL;
}

static PyObject *phases(PyObject *module, PyObject *args) {
    PyObject *foot, *heel_on, *ball_on, *found = NULL;
    foot_over_time given = {0};
    ik_phases_job job = {.foot = &given.foot};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!iOO(nn)(nn)dd", &PyTuple_Type, &foot, &job.heel, &heel_on, &ball_on, &job.start,
                          &job.stop, &job.contact, &job.end, &job.rolls, &job.stays) ||
        take_foot(&given, foot) < 0 || take_mask(&job.heel_on, heel_on, given.foot.frames) < 0 ||
        take_mask(&job.ball_on, ball_on, given.foot.frames) < 0 || take_span(&job) < 0)
        return NULL;
    const size_t frames = (size_t)(job.stop - job.start);
    job.phase = PyMem_Malloc((frames + 1) * sizeof *job.phase);
    job.flat = PyMem_Malloc(frames * sizeof *job.flat);
    if (job.phase && job.flat) {
        ik_phases(&job);
        found = phases_found(&job);
    } else
        PyErr_NoMemory();
    PyMem_Free(job.phase);
    PyMem_Free(job.flat);
    return found;
}

static PyObject *exact(PyObject *module, PyObject *args) {
    PyObject *foot, *ball_on, *found = NULL;
    foot_over_time given = {0};
    const unsigned char *mask = NULL;
    double least;
    int heel;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!iOd", &PyTuple_Type, &foot, &heel, &ball_on, &least) ||
        take_foot(&given, foot) < 0 || take_mask(&mask, ball_on, given.foot.frames) < 0)
        return NULL;
    if (heel < -1 || heel >= given.foot.points) return refused_foot("heel"), NULL;
    npy_intp frames = given.foot.frames;
    found = PyArray_SimpleNew(1, &frames, NPY_BOOL);
    if (found) ik_exact(&given.foot, heel, mask, least, PyArray_DATA((PyArrayObject *)found));
    return found;
}

static PyObject *strayed(PyObject *module, PyObject *args) {
    PyObject *foot;
    npy_intp start, stop;
    foot_over_time given = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!nn", &PyTuple_Type, &foot, &start, &stop) || take_foot(&given, foot) < 0)
        return NULL;
    if (start < 0 || stop <= start || stop > given.foot.frames) return refused_foot("start or stop"), NULL;
    return PyFloat_FromDouble(ik_strayed(&given.foot, start, stop));
}

static int take_trodden(ik_tread_job *job, PyObject *object) {
    job->flats = take_frames(&job->flat, "flat", object, job->foot->frames);
    if (job->flats < 0) return -1;
    return job->flats > 0 && job->middle >= 0 && job->middle < job->foot->frames ? 0 : refused_foot("flat");
}

static int take_lines(ik_tread_job *job, PyObject *object) {
    const npy_intp count = PyArray_Check(object) ? PyArray_SIZE((PyArrayObject *)object) / 2 : 0;
    PyArrayObject *lines = array_of_rows(object, NPY_INTP, count, 2, 1);
    if (!lines || count > MOST_POINTS || job->parts < 1 || job->parts > MOST_PHASES) return refused_foot("lines");
    job->line = PyArray_DATA(lines), job->lines = (int)count;
    for (npy_intp k = 0; k < 2 * count; k++)
        if (job->line[k / 2][k % 2] < 0 || job->line[k / 2][k % 2] >= job->foot->points) return refused_foot("lines");
    return 0;
}

static PyObject *tread(PyObject *module, PyObject *args) {
    PyObject *foot, *flat, *slip, *lines, *points, *ahead = NULL;
    foot_over_time given = {0};
    ik_tread_job job = {.foot = &given.foot};
    npy_intp three = 3;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OnOOi", &PyTuple_Type, &foot, &flat, &job.middle, &slip, &lines, &job.parts) ||
        take_foot(&given, foot) < 0 || take_trodden(&job, flat) < 0 || take_vector(job.slip, "slip", slip) < 0 ||
        take_lines(&job, lines) < 0)
        return NULL;
    npy_intp shape[2] = {job.foot->points + job.lines * (job.parts - 1), 3};
    const int is_point = !given.foot.front.data || !given.foot.back.data;
    points = PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    ahead = is_point ? Py_NewRef(Py_None) : PyArray_SimpleNew(1, &three, NPY_DOUBLE);
    if (points && ahead) {
        job.points = PyArray_DATA((PyArrayObject *)points);
        ik_tread(&job);
        if (!is_point) memcpy(PyArray_DATA((PyArrayObject *)ahead), job.ahead, sizeof job.ahead);
        return Py_BuildValue("(NN)", points, ahead);
    }
    Py_XDECREF(points);
    Py_XDECREF(ahead);
    return NULL;
}

static PyObject *sole_height(PyObject *module, PyObject *foot) {
    foot_over_time given = {0};
    (void)module;
    if (!PyTuple_Check(foot)) return refused_foot("foot"), NULL;
    if (take_foot(&given, foot) < 0) return NULL;
    npy_intp frames = given.foot.frames;
    PyObject *above = PyArray_SimpleNew(1, &frames, NPY_DOUBLE);
    if (above) ik_sole_height(&given.foot, PyArray_DATA((PyArrayObject *)above));
    return above;
}

static PyObject *standing(PyObject *module, PyObject *args) {
    PyObject *given;
    npy_intp frames, count;
    double ramp;
    (void)module;
    if (!PyArg_ParseTuple(args, "Ond", &given, &frames, &ramp)) return NULL;
    count = PyArray_Check(given) ? PyArray_SIZE((PyArrayObject *)given) / 2 : 0;
    PyArrayObject *array = array_of_rows(given, NPY_INTP, count, 2, 1);
    if (!array || frames < 0 || !(ramp > 0)) return refused_foot("stances, frames or ramp"), NULL;
    const ptrdiff_t (*stances)[2] = PyArray_DATA(array);
    for (npy_intp k = 0; k < count; k++)
        if (stances[k][0] < 0 || stances[k][1] > frames) return refused_foot("stances"), NULL;
    PyObject *found = PyArray_SimpleNew(1, &frames, NPY_DOUBLE);
    if (found) ik_standing(stances, count, frames, ramp, PyArray_DATA((PyArrayObject *)found));
    return found;
}

static PyMethodDef functions[] = {
    {"sole_height", sole_height, METH_O,
     "sole_height(foot, /)\n--\n\nHow high the lowest point of a sole is above where it stands, in every frame; see "
     "still."},
    {"standing", standing, METH_VARARGS,
     "standing(stances, frames, ramp, /)\n--\n\nHow much a foot stands in every frame, of stances (start, stop)."},
    {"tread", tread, METH_VARARGS,
     "tread(foot, flat, middle, slip, lines, parts, /)\n--\n\nWhere points of a sole are on the floor of the clip, "
     "the mean of some frames, and others between those of each line; and where the foot points; see still."},
    {"phases", phases, METH_VARARGS,
     "phases(foot, heel, heel_on, ball_on, (start, stop), (contact, end), rolls, stays, /)\n--\n\nWhat a foot turns "
     "about from start to stop, the main of these, and the frames in which it stands flat; see still. Masks may be "
     "None."},
    {"exact", exact, METH_VARARGS,
     "exact(foot, heel, ball_on, least, /)\n--\n\nIn which frames what a foot stands on is where it is in a frame "
     "beside; see still. ball_on may be None."},
    {"strayed", strayed, METH_VARARGS,
     "strayed(foot, start, stop, /)\n--\n\nHow far apart the places are where a foot is over the ground; see still."},
    {"still", still, METH_VARARGS,
     "still(foot, (start, stop, phases, main, flat), /)\n--\n\nHow far what it turns about is moved, how far it "
     "slides, how far it spins, how far what it turns about is from where it stands, in the middle of where the foot "
     "is flat and in the worst frame, and how deep.\n\n"
     "A foot is (points, axis, ball, toe, heel, reference, front, back, way, turning, toe_turn, turns, locked, ramp, "
     "ends), a "
     "point "
     "(places, heights, thickness, whether it goes with the toes, the one that touches the ground), a phase (point, "
     "start, stop)."},
    {"stand", stand, METH_VARARGS,
     "stand(foot, (start, stop, phases, main, flat), (clean, slips, aside, place, lift, normal, floor), shift, turn, "
     "toes, lies, /)\n--\n\nWrites the last four; see still."},
    {NULL, NULL, 0, NULL},
};

int add_stances(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0 || prepare_feet() < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
