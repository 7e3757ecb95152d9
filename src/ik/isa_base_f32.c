/* The solvers over 16-byte vectors of floats: SSE2 on x86-64, NEON on aarch64. */
#include "solvers.h"
#ifdef IK_HAS_VECTORS
#define IK_BITS  32
#define IK_BYTES 16
#define IK_TABLE ik_kernels_base_f32
#include "kernels.h"
#endif
