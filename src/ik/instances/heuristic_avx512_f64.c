/* Heuristic methods: 64-byte vectors of doubles (AVX-512). */
#define IK_BITS   64
#define IK_BYTES  64
#define IK_FAMILY "instances/heuristic.h"
#include "../kernels.h"
