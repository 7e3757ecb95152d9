/* All solvers for one instruction set and one type of number. Each isa_*.c defines these and includes this file:
 *   IK_BITS    32 or 64, the size of a number
 *   IK_BYTES   0 (scalar), 16, 32 or 64, the size of a vector of them
 *   IK_TABLE   the name of the table of kernels that comes out
 * System headers come first: what follows the target pragma is compiled for that instruction set. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan.h"
#include "ray_tree.h"
#include "solvers.h"

/* gcc and clang each have their own way to say which instructions the functions below may use; neither needs a flag.
 * fma is never among them: a fused multiply-add rounds once where the other instruction sets round twice. */
#if IK_BYTES == 32
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#elif IK_BYTES == 64
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")
#endif
#endif

/* On 64-bit Windows gcc aligns the stack to 16 bytes at most, whatever lies on it, for functions with tables to unwind
 * them by (its bug 54412); without them to what wider vectors need. Nothing unwinds a kernel. */
#if defined(_WIN64) && IK_BYTES > 16 && !defined(__clang__)
#pragma GCC optimize("no-asynchronous-unwind-tables", "no-unwind-tables")
#endif

#include "real.h"
#include "trig.h"
#include "vec.h"
#include "quat.h"
#include "lanes.h"

#include "two_bone.h"
#include "two_bone_2d.h"
#include "rotations.h"
#include "limit.h"
#include "aim.h"
#include "look.h"
#include "skeleton.h"

#include "pose.h"
#include "judge.h"
#include "pull.h"
#include "solve.h"

#include "fabrik.h"
#include "fabrik_bodies.h"
#include "fabrik_search.h"
#include "fabrik_frames.h"
#include "jacobian.h"

#if IK_BITS == 64
#include "ray_cast.h"
#else
#define cast_rows NULL
#endif

const ik_kernels IK_TABLE = {
    LANES,
#define IK_SOLVER_ROWS(name) name##_rows,
    IK_SOLVERS(IK_SOLVER_ROWS) IK_SKELETON_SOLVERS(IK_SOLVER_ROWS)
#undef IK_SOLVER_ROWS
#define IK_METHOD_ITEMS(name, takes, doc) name##_scratch, name##_items,
        IK_METHODS(IK_METHOD_ITEMS) cast_rows,
#undef IK_METHOD_ITEMS
};

#if defined(__clang__) && IK_BYTES >= 32
#pragma clang attribute pop
#endif
