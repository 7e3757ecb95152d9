/* The frame of methods and the table of kernels: 64-byte vectors of floats (AVX-512). */
#define IK_BITS   32
#define IK_BYTES  64
#define IK_FAMILY "solve/solve.h"
#include "../kernels.h"
