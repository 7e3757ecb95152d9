/* The frame of the iterative methods, and the table of all kernels of an instance. */
#include "parts.h"
#include "shared.h"
#include "judge.h"
#include "poles.h"
#include "speed.h"
#include "solve.h"

#define METHOD_KERNELS(name, takes, doc)                                                                               \
    static size_t name##_scratch(const ik_solve_job *job) { return solve_scratch(job, IK_NAME(name##_size)); }         \
    static void name##_items(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {                \
        ik_plan *plan = ik_plan_make(job, scratch);                                                                    \
        solve_run(IK_NAME(name##_method)(plan), plan, first, last);                                                    \
    }
IK_METHODS(METHOD_KERNELS)

#if IK_BITS == 64
#define ROWS_OF_DOUBLES                                                                                                \
    IK_NAME(cast), IK_NAME(smooth_scratch), IK_NAME(smooth), IK_NAME(bend_leg), IK_NAME(turn_leg), IK_NAME(displace),  \
        IK_NAME(hinges)
#else
#define ROWS_OF_DOUBLES NULL, NULL, NULL, NULL, NULL, NULL, NULL
#endif
#define METHOD_ROWS(name, takes, doc) name##_scratch, name##_items,

const ik_kernels IK_NAME(kernels) = {LANES, &IK_NAME(forms), IK_METHODS(METHOD_ROWS) ROWS_OF_DOUBLES};
