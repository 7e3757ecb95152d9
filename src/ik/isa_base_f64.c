/* The solvers over 16-byte vectors of doubles: SSE2 on x86-64, NEON on aarch64. */
#include "solvers.h"
#ifdef IK_HAS_VECTORS
#define IK_BITS  64
#define IK_BYTES 16
#define IK_TABLE ik_kernels_base_f64
#include "kernels.h"
#endif
