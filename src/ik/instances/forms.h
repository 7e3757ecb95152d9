/* The closed forms, rotations, limits and forward kinematics. */
#include "../forms/two_bone.h"
#include "../forms/two_bone_rows.h"
#ifndef IK_ONLY_LIMB
#include "../forms/rotations.h"
#include "../forms/rotation_rows.h"
#include "../forms/aim.h"
#endif
#ifndef IK_NO_SKELETON
#include "../forms/limits/limit.h"
#include "../forms/limits/limit_kusudama.h"
#include "../forms/limits/limit_nearest.h"
#include "../forms/skeleton.h"
#include "../forms/forward.h"
#endif

#define FORM(name) .name = name##_rows,

#if IK_BYTES == 64
const ik_forms IK_NAME(forms) = {IK_WIDE_SOLVERS(FORM) IK_WIDE_SKELETON_SOLVERS(FORM)};
#else
#include "../forms/two_bone_2d.h"
#ifndef IK_ONLY_LIMB
#include "../forms/look_turns.h"
#include "../forms/look.h"
#include "../forms/spline_curve.h"
#include "../forms/spline.h"
#include "../forms/spread_twist.h"
#endif
#ifndef IK_NO_SKELETON
#include "../forms/limits/limit_rows.h"
#endif
const ik_forms IK_NAME(forms) = {IK_SOLVERS(FORM) IK_SKELETON_SOLVERS(FORM)};
#endif
