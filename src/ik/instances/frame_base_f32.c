/* The frame of methods and the table of kernels: 16-byte vectors of floats (SSE2 on x86-64, NEON on aarch64). */
#define IK_BITS   32
#define IK_BYTES  16
#define IK_FAMILY "solve/solve.h"
#include "../kernels.h"
