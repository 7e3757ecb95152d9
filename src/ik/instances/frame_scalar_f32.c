/* The frame of methods and the table of kernels: single floats (any compiler; the reference for all others). */
#define IK_BITS   32
#define IK_BYTES  0
#define IK_FAMILY "solve/solve.h"
#include "../kernels.h"
