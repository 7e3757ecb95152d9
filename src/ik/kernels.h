/* A family of kernels for one instruction set and one type of number. Each file of instances/ includes this one and
 * defines these:
 *   IK_BITS    32 or 64, the size of a number
 *   IK_BYTES   0 (scalar), 16, 32 or 64, the size of a vector of them
 *   IK_FAMILY  the header of the family: a change of it, or of its includes, compiles this family again
 * If the compiler has no such vectors, or a switch of ik.h excludes them, the file is empty. System headers come
 * first: what follows the target pragma is compiled for that instruction set. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "skeleton/plan.h"
#include "solvers.h"

#if (IK_BITS == 32 && defined(IK_NO_F32)) || (IK_BITS == 64 && defined(IK_NO_F64))
#elif IK_BYTES == 0 || (IK_BYTES == 16 && defined(IK_HAS_BASE)) || (IK_BYTES == 32 && defined(IK_HAS_AVX2)) ||         \
    (IK_BYTES == 64 && defined(IK_HAS_AVX512))

/* gcc and clang have different pragmas for the instructions that the functions below may use. No compiler flag is
 * needed. fma is never among them, because a fused multiply-add rounds once and the other instruction sets round
 * twice. */
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

/* On 64-bit Windows gcc aligns the stack to 16 bytes at most for functions with unwind tables (gcc bug 54412). Without
 * these tables it aligns it for wider vectors. Nothing unwinds a kernel. */
#if defined(_WIN64) && IK_BYTES > 16 && !defined(__clang__)
#pragma GCC optimize("no-asynchronous-unwind-tables", "no-unwind-tables")
#endif

/* Names shared between families carry their instance: ik_forms_avx2_f32. */
#if IK_BYTES == 0
#define IK_ISA scalar
#elif IK_BYTES == 16
#define IK_ISA base
#elif IK_BYTES == 32
#define IK_ISA avx2
#else
#define IK_ISA avx512
#endif
#define IK_JOINED(name, isa, bits) ik_##name##_##isa##_f##bits
#define IK_JOIN(name, isa, bits)   IK_JOINED(name, isa, bits)
#define IK_NAME(name)              IK_JOIN(name, IK_ISA, IK_BITS)

extern ik_hidden const ik_forms IK_NAME(forms);
ik_hidden void IK_NAME(cast)(const ik_cast_job *job, ptrdiff_t first, ptrdiff_t last);
ik_hidden size_t IK_NAME(smooth_scratch)(const ik_smooth_job *job);
ik_hidden void IK_NAME(smooth)(const ik_smooth_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);
ik_hidden void IK_NAME(bend_leg)(const ik_bend_leg_job *job, ptrdiff_t first, ptrdiff_t last);
ik_hidden void IK_NAME(turn_leg)(const ik_turn_leg_job *job, ptrdiff_t first, ptrdiff_t last);
ik_hidden void IK_NAME(displace)(const ik_displace_job *job, ptrdiff_t first, ptrdiff_t last);
ik_hidden void IK_NAME(hinges)(const ik_hinges_job *job, ptrdiff_t first, ptrdiff_t last);

#include "lanes/real.h"
#include "lanes/trig.h"
#include "lanes/vec.h"
#include "lanes/quat.h"
#include "lanes/lanes.h"

#include IK_FAMILY

#if defined(__clang__) && IK_BYTES >= 32
#pragma clang attribute pop
#endif

#endif
