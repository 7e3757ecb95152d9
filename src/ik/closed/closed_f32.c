/* The closed forms on skeletons, of floats. */
#define IK_BITS 32
#include "closed.h"
