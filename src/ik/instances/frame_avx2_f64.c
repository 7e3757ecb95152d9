/* The frame of methods and the table of kernels: 32-byte vectors of doubles (AVX2). */
#define IK_BITS   64
#define IK_BYTES  32
#define IK_FAMILY "solve/solve.h"
#include "../kernels.h"
