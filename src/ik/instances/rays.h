/* Ray casting against triangles and planes. */
#ifndef IK_NO_RAYS
#include "../forms/rotations.h"
#include "../rays/ray_tree.h"
#include "../rays/ray_trace.h"
#include "../rays/ray_cast.h"

void IK_NAME(cast)(const ik_cast_job *job, ptrdiff_t first, ptrdiff_t last) { cast_rows(job, first, last); }
#endif
