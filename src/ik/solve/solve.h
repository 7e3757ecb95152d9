/* The frame of the iterative methods, and the table of all kernels of an instance. */
#if IK_BYTES == 64
#define INSTANCE_METHODS(X) IK_WIDE_HEURISTIC_METHODS(X) IK_WIDE_JACOBIAN_METHODS(X)
#else
#define INSTANCE_METHODS(X) IK_METHODS(X)
#endif

#if !defined(IK_NO_HEURISTIC) || !defined(IK_NO_JACOBIAN)
#include "parts.h"
#include "shared.h"
#include "judge.h"
#include "poles.h"
#include "speed.h"
#include "loop.h"
#endif

/* Whether these vectors have what a plan needs: see IS_WIDE. */
#if IS_WIDE
static int frame_takes(const ik_plan *plan) {
    const ik_options *options = &plan->job->options;
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->judged; task++)
        if (!task_is_plain(task)) return 0;
    return !plan->job->scales.rows.data && !plan->job->judge && !plan->timed && !plan->bend_count && plan->levels < 2 &&
           !plan->postures && options->posture <= 0 && options->manipulability <= 0;
}
#else
static inline int frame_takes(const ik_plan *plan) { return (void)plan, 1; }
#endif

#define METHOD_KERNELS(name, takes, doc)                                                                               \
    static size_t name##_scratch(const ik_solve_job *job) { return solve_scratch(job, IK_NAME(name##_size)); }         \
    static int name##_items(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {                 \
        ik_plan *plan = ik_plan_make(job, IK_TAKEN_BY_##name, scratch);                                                \
        const method *how = !frame_takes(plan) ? NULL : job->judge ? &solve_nothing : IK_NAME(name##_method)(plan);    \
        if (how) solve_run(how, plan, first, last);                                                                    \
        return how != NULL;                                                                                            \
    }
#define METHOD_ROWS(name, takes, doc) .name##_scratch = name##_scratch, .name = name##_items,
INSTANCE_METHODS(METHOD_KERNELS)

#if IK_BITS == 64 && IK_BYTES < 64 && !defined(IK_NO_RAYS)
#define RAYS .cast = IK_NAME(cast),
#else
#define RAYS
#endif
#if IK_BITS == 64 && IK_BYTES < 64 && !defined(IK_NO_CLIPS)
#define CLIPS                                                                                                          \
    .smooth_scratch = IK_NAME(smooth_scratch), .smooth = IK_NAME(smooth), .bend_leg = IK_NAME(bend_leg),               \
    .turn_leg = IK_NAME(turn_leg), .displace = IK_NAME(displace), .hinges = IK_NAME(hinges),
#else
#define CLIPS
#endif

const ik_kernels IK_NAME(kernels) = {
    .lanes = LANES, .forms = &IK_NAME(forms), INSTANCE_METHODS(METHOD_ROWS) RAYS CLIPS};
