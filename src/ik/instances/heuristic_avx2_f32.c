/* Heuristic methods: 32-byte vectors of floats (AVX2). */
#define IK_BITS   32
#define IK_BYTES  32
#define IK_FAMILY "instances/heuristic.h"
#include "../kernels.h"
