/* A foot over all frames of a clip, as Python hands it over (the docstring of still). Include after NumPy's headers. */
#ifndef IKCORE_MODULE_FOOT_H
#define IKCORE_MODULE_FOOT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../ik/stances.h"

enum { MOST_POINTS = 16 };

/* Everything that an ik_foot points to. */
typedef struct {
    ik_foot foot;
    ik_rows soles[MOST_POINTS], stood[MOST_POINTS];
    double thick[MOST_POINTS];
    char on_toes[MOST_POINTS];
    int under[MOST_POINTS];
} foot_over_time;

/* To be called once before all else here. 0, or -1 with an exception set. */
int prepare_feet(void);

/* Likewise. */
int take_foot(foot_over_time *taken, PyObject *given);

/* Where that is to be moved and turned to, which is written or read. Likewise. */
int take_stood(ik_stood *stood, const ik_foot *foot, PyObject *shift, PyObject *turn, PyObject *toes);

/* Frames of the clip, in any order; how many, or -1 with an exception set. */
npy_intp take_frames(const ptrdiff_t **frames, const char *name, PyObject *object, npy_intp most);

/* An array of so many rows, of one number each where columns is 0; in one block if whole. NULL: it is something else.
 */
PyArrayObject *array_of_rows(PyObject *object, int type, npy_intp rows, int columns, int whole);

/* The numbers of one that is written, in one block; NULL with an exception set. */
void *take_found(const char *name, PyObject *object, int type, npy_intp rows, int columns);

/* -1 with an exception set. */
int refused_foot(const char *name);

#endif
