/* Heuristic methods: 16-byte vectors of floats (SSE2 on x86-64, NEON on aarch64). */
#define IK_BITS   32
#define IK_BYTES  16
#define IK_FAMILY "instances/heuristic.h"
#include "../kernels.h"
