/* The closed forms, rotations, limits and forward kinematics. */
#include "two_bone.h"
#ifndef IK_ONLY_LIMB
#include "rotations.h"
#include "rotation_rows.h"
#include "aim.h"
#endif
#ifndef IK_NO_SKELETON
#include "limit.h"
#include "limit_kusudama.h"
#include "limit_nearest.h"
#include "skeleton.h"
#include "forward.h"
#endif

#define FORM(name) .name = name##_rows,

#if IK_BYTES == 64
const ik_forms IK_NAME(forms) = {IK_WIDE_SOLVERS(FORM) IK_WIDE_SKELETON_SOLVERS(FORM)};
#else
#include "two_bone_2d.h"
#ifndef IK_ONLY_LIMB
#include "look.h"
#include "spline.h"
#include "spread_twist.h"
#endif
#ifndef IK_NO_SKELETON
#include "limit_rows.h"
#endif
const ik_forms IK_NAME(forms) = {IK_SOLVERS(FORM) IK_SKELETON_SOLVERS(FORM)};
#endif
