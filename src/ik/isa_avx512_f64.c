/* The solvers over 64-byte vectors of doubles: AVX-512. */
#include "solvers.h"
#ifdef IK_HAS_X86
#define IK_BITS  64
#define IK_BYTES 64
#define IK_TABLE ik_kernels_avx512_f64
#include "kernels.h"
#endif
