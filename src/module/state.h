/* The state of the module. */
#ifndef IKCORE_STATE_H
#define IKCORE_STATE_H

#include "single.h"

typedef struct {
    PyTypeObject *skeleton_type, *mesh_type;
    single singles[SINGLE_COUNT];
} core_state;

#endif
