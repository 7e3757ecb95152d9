/* The closed-form solvers, each named once: X(name). From this list come the tables of kernels (solve.h), the public
 * functions (dispatch.c) and the calls the Python module makes (gufuncs.c). A solver `name` has a job ik_name_job in
 * ik.h, which consists of ik_rows and ik_lists only. A header defines name_rows (rotation_rows.h for all quat_
 * solvers), and a gufunc has its name. */
#ifndef IK_SOLVERS_H
#define IK_SOLVERS_H

#include "ik.h"
#include "feet/legs.h"

#define IK_SOLVERS(X) IK_WIDE_SOLVERS(X) IK_OTHER_SOLVERS(X)

/* Solvers with kernels on 64-byte vectors, which are faster for these. The others use 32-byte vectors. */
#ifdef IK_ONLY_LIMB
#define IK_WIDE_SOLVERS(X)  X(two_bone)
#define IK_OTHER_SOLVERS(X) X(two_bone_2d)
#else
#define IK_WIDE_SOLVERS(X)                                                                                             \
    X(two_bone)                                                                                                        \
    X(aim)                                                                                                             \
    X(quat_multiply)                                                                                                   \
    X(quat_conjugate)                                                                                                  \
    X(quat_normalize)                                                                                                  \
    X(quat_canonical)                                                                                                  \
    X(quat_rotate)                                                                                                     \
    X(quat_shortest_arc)                                                                                               \
    X(quat_exp)                                                                                                        \
    X(quat_log)                                                                                                        \
    X(quat_slerp)                                                                                                      \
    X(quat_swing_twist)                                                                                                \
    X(quat_to_matrix)                                                                                                  \
    X(quat_from_matrix)                                                                                                \
    X(quat_to_axis_angle)                                                                                              \
    X(quat_from_axis_angle)                                                                                            \
    X(quat_to_6d)                                                                                                      \
    X(quat_from_6d)                                                                                                    \
    X(quat_to_euler)                                                                                                   \
    X(quat_from_euler)                                                                                                 \
    X(quat_best_fit)
#define IK_FREE_SOLVERS(X)                                                                                             \
    X(two_bone_2d)                                                                                                     \
    X(look)                                                                                                            \
    X(spline)                                                                                                          \
    X(spread_twist)
#ifdef IK_NO_SKELETON
#define IK_OTHER_SOLVERS(X) IK_FREE_SOLVERS(X)
#else
#define IK_OTHER_SOLVERS(X) IK_FREE_SOLVERS(X) X(limit_project)
#endif
#endif

/* The same for functions on a skeleton: their jobs have more than rows, and Python calls them from skeleton_object.c.
 */
#ifdef IK_NO_SKELETON
#define IK_WIDE_SKELETON_SOLVERS(X)
#define IK_SKELETON_SOLVERS(X)
#else
#define IK_WIDE_SKELETON_SOLVERS(X) X(forward)
#define IK_SKELETON_SOLVERS(X)      IK_WIDE_SKELETON_SOLVERS(X) X(local) X(carried)
#endif

/* Methods with kernels on 64-byte vectors. */
#ifdef IK_NO_HEURISTIC
#define IK_WIDE_HEURISTIC_METHODS(X)
#else
#define IK_WIDE_HEURISTIC_METHODS(X) X(fabrik, , ) X(follow, , ) X(circle, , ) X(ccd, , )
#endif
#ifdef IK_NO_JACOBIAN
#define IK_WIDE_JACOBIAN_METHODS(X)
#else
#define IK_WIDE_JACOBIAN_METHODS(X) X(dls, , )
#endif

/* The goals and limits of a method, by its name. */
#define IK_TAKEN_BY(name, takes, doc) IK_TAKEN_BY_##name = (takes),
enum ik_taken_by { IK_METHODS(IK_TAKEN_BY) IK_TAKEN_BY_NONE };
#undef IK_TAKEN_BY

/* The most numbers that ik_forward keeps of a joint (skeleton.h checks it), and the bytes of the widest vector. */
enum { IK_FORWARD_NUMBERS = 17, IK_WIDEST = 64 };

/* The solvers compiled for one instruction set and one type of number. rows [first, last) of a job. A kernel that is
 * NULL is not compiled for this one: the next lower instruction set that has it is used. */
typedef struct ik_forms {
#define IK_SOLVER_KERNEL(name) void (*name)(const ik_##name##_job *job, ptrdiff_t first, ptrdiff_t last);
    IK_SOLVERS(IK_SOLVER_KERNEL)
    IK_SKELETON_SOLVERS(IK_SOLVER_KERNEL)
#undef IK_SOLVER_KERNEL
} ik_forms;

typedef struct ik_kernels {
    int lanes;
    const ik_forms *forms;
#define IK_METHOD_KERNEL(name, takes, doc)                                                                             \
    size_t (*name##_scratch)(const ik_solve_job *job);                                                                 \
    int (*name)(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch); /* 0: not of such a job */
    IK_METHODS(IK_METHOD_KERNEL)
#undef IK_METHOD_KERNEL
    /* of doubles only */
    void (*cast)(const ik_cast_job *job, ptrdiff_t first, ptrdiff_t last);
    size_t (*smooth_scratch)(const ik_smooth_job *job);
    void (*smooth)(const ik_smooth_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);
    void (*bend_leg)(const ik_bend_leg_job *job, ptrdiff_t first, ptrdiff_t last);
    void (*turn_leg)(const ik_turn_leg_job *job, ptrdiff_t first, ptrdiff_t last);
    void (*displace)(const ik_displace_job *job, ptrdiff_t first, ptrdiff_t last);
    void (*hinges)(const ik_hinges_job *job, ptrdiff_t first, ptrdiff_t last);
} ik_kernels;

/* The instruction sets that are compiled besides scalar code: what the compiler has vectors for, without those that
 * switches of ik.h leave out. AVX-512 has some kernels only, so it needs AVX2. On x86-64 16-byte vectors are left out:
 * processors without AVX2 are rare, and kernels for them are a quarter of the code. */
#if defined(__GNUC__)
#if !defined(__x86_64__) && !defined(IK_NO_BASE)
#define IK_HAS_BASE
#endif
#if defined(__x86_64__) && !defined(IK_NO_AVX2)
#define IK_HAS_AVX2
#endif
#if defined(IK_HAS_AVX2) && !defined(IK_NO_AVX512)
#define IK_HAS_AVX512
#endif
#endif

/* Visible only within the core. */
#if defined(__GNUC__) && !defined(_WIN32)
#define ik_hidden __attribute__((visibility("hidden")))
#else
#define ik_hidden
#endif

extern ik_hidden const ik_kernels ik_kernels_scalar_f32, ik_kernels_scalar_f64;
#ifdef IK_HAS_BASE
extern ik_hidden const ik_kernels ik_kernels_base_f32, ik_kernels_base_f64;
#endif
#ifdef IK_HAS_AVX2
extern ik_hidden const ik_kernels ik_kernels_avx2_f32, ik_kernels_avx2_f64;
#endif
#ifdef IK_HAS_AVX512
extern ik_hidden const ik_kernels ik_kernels_avx512_f32, ik_kernels_avx512_f64;
#endif

#endif
