/* Closed forms on skeletons, for doubles. */
#include "../ik.h"
#if !defined(IK_NO_SKELETON) && !defined(IK_NO_F64)
#define IK_BITS 64
#include "closed_forms.h"
#endif
