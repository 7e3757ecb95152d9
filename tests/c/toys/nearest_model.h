/* The model of the method `nearest`: poses of a skeleton whose root is at the origin. */
#ifndef NEAREST_MODEL_H
#define NEAREST_MODEL_H
#include "ik.h"

typedef struct nearest_model {
    ik_model start; /* of kind "poses by their tips" */
    int rows;
    const double *tips;      /* (3) of every pose */
    const double *rotations; /* (4) of every joint of every pose */
} nearest_model;
#endif
