/* The solvers over single floats: one item at a time, on any compiler, and the reference for all others. */
#include "solvers.h"

#define IK_BITS  32
#define IK_BYTES 0
#define IK_TABLE ik_kernels_scalar_f32
#include "kernels.h"
