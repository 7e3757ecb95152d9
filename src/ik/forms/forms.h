/* The closed forms, rotations, limits and forward kinematics. */
#include "two_bone.h"
#include "two_bone_2d.h"
#include "rotations.h"
#include "rotation_rows.h"
#include "limit.h"
#include "limit_kusudama.h"
#include "limit_nearest.h"
#include "limit_rows.h"
#include "aim.h"
#include "look.h"
#include "spline.h"
#include "spread_twist.h"
#include "skeleton.h"
#include "forward.h"

#define FORM(name) name##_rows,
const ik_forms IK_NAME(forms) = {IK_SOLVERS(FORM) IK_SKELETON_SOLVERS(FORM)};
