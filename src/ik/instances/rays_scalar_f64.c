/* Rays: single doubles (any compiler; the reference for all others). */
#define IK_BITS   64
#define IK_BYTES  0
#define IK_FAMILY "instances/rays.h"
#include "../kernels.h"
