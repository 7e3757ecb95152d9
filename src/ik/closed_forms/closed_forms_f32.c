/* Closed forms on skeletons, for floats. */
#include "../ik.h"
#if !defined(IK_NO_SKELETON) && !defined(IK_NO_F64) && !defined(IK_NO_F32)
#define IK_BITS 32
#include "closed_forms.h"
#endif
