/* The closed forms: 64-byte vectors of doubles (AVX-512). */
#define IK_BITS   64
#define IK_BYTES  64
#define IK_FAMILY "instances/forms.h"
#include "../kernels.h"
