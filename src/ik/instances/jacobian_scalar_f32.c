/* Jacobian methods: single floats (any compiler; the reference for all others). */
#define IK_BITS   32
#define IK_BYTES  0
#define IK_FAMILY "instances/jacobian.h"
#include "../kernels.h"
