/* The solver of smooth curves as a whole. smooth.c calls it for the parts between pinned frames. */
#ifndef IK_SMOOTH_H
#define IK_SMOOTH_H

#include "../solvers.h"

ik_hidden size_t ik_smooth_whole_scratch(const ik_smooth_job *job, ptrdiff_t count);
ik_hidden void ik_smooth_whole(const ik_smooth_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);

#endif
