/* The solvers over 64-byte vectors of floats: AVX-512. */
#include "solvers.h"
#ifdef IK_HAS_X86
#define IK_BITS  32
#define IK_BYTES 64
#define IK_TABLE ik_kernels_avx512_f32
#include "kernels.h"
#endif
