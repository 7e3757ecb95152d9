/* The closed forms on skeletons, of doubles. */
#define IK_BITS 64
#include "closed.h"
