/* Clips: 16-byte vectors of doubles (SSE2 on x86-64, NEON on aarch64). */
#define IK_BITS   64
#define IK_BYTES  16
#define IK_FAMILY "instances/clips.h"
#include "../kernels.h"
