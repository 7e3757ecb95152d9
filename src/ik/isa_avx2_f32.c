/* The solvers over 32-byte vectors of floats: AVX2. */
#include "solvers.h"
#ifdef IK_HAS_X86
#define IK_BITS  32
#define IK_BYTES 32
#define IK_TABLE ik_kernels_avx2_f32
#include "kernels.h"
#endif
