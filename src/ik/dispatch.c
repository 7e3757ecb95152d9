/* Chooses the instruction set and runs batches on it.
 *
 * ik_use_isa and ik_isa manage the choice. The public function of every solver is generated from the list in solvers.h.
 * It picks the kernel for its batch and enters the default floating-point mode around it. */
#include <stdatomic.h>
#include <string.h>

#include "fpmode.h"
#include "curves/smooth.h"
#include "solvers.h"

enum { f32, f64 };

/* The names a user may ask for on any processor, whatever is compiled: each includes those before it. */
enum isa { SCALAR, BASE, AVX2, AVX512, ISAS };
static const char *const names[ISAS] = {"scalar", "base", "avx2", "avx512"};

typedef struct {
    enum isa isa;
    const ik_kernels *kernels[2]; /* f32, f64 */
} isa_level;

#ifdef IK_NO_F32
#define IK_PAIR(isa) {NULL, &ik_kernels_##isa##_f64}
#elif defined(IK_NO_F64)
#define IK_PAIR(isa) {&ik_kernels_##isa##_f32, NULL}
#else
#define IK_PAIR(isa) {&ik_kernels_##isa##_f32, &ik_kernels_##isa##_f64}
#endif

/* The compiled instruction sets, ascending. */
static const isa_level levels[] = {
    {SCALAR, IK_PAIR(scalar)},
#ifdef IK_HAS_BASE
    {BASE, IK_PAIR(base)},
#endif
#ifdef IK_HAS_AVX2
    {AVX2, IK_PAIR(avx2)},
#endif
#ifdef IK_HAS_AVX512
    {AVX512, IK_PAIR(avx512)},
#endif
};
enum { LEVELS = sizeof levels / sizeof *levels };

static atomic_int level_in_use = -1; /* -1: not chosen yet */

static enum isa isa_of_processor(void) {
#ifdef IK_HAS_AVX2
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return AVX512;
    if (__builtin_cpu_supports("avx2")) return AVX2;
#endif
    return BASE;
}

/* The best level up to `isa` that this processor has. */
static int level_up_to(enum isa isa) {
    enum isa has = isa_of_processor();
    int level = LEVELS - 1;
    while (level > 0 && (levels[level].isa > isa || levels[level].isa > has))
        level--;
    return level;
}

static int best_level(void) { return level_up_to(AVX512); }

static int current_level(void) {
    int level = atomic_load_explicit(&level_in_use, memory_order_relaxed);
    if (level < 0) {
        level = best_level();
        atomic_store_explicit(&level_in_use, level, memory_order_relaxed);
    }
    return level;
}

const char *ik_isa(void) { return names[levels[current_level()].isa]; }

const char *ik_use_isa(const char *name) {
    int wanted = ISAS - 1;
    while (name && wanted >= 0 && strcmp(names[wanted], name) != 0)
        wanted--;
    if (wanted < 0) return NULL;
    atomic_store_explicit(&level_in_use, level_up_to((enum isa)wanted), memory_order_relaxed);
    return ik_isa();
}

/* The narrowest vectors that hold the whole batch at once, or else the widest: few items on wide vectors would pay for
 * lanes without work. Results do not depend on it. */
static int level_at(int level, int type, ptrdiff_t count) {
    while (level > 0 && count <= levels[level - 1].kernels[type]->lanes)
        level--;
    return level;
}

static int level_for(int type, ptrdiff_t count) { return level_at(current_level(), type, count); }

/* From a level on down to the first that has a kernel. Scalar code has every one. */
#define IK_DESCEND(level, type, kernel)                                                                                \
    while (!levels[level].kernels[type]->kernel)                                                                       \
        (level)--;

#ifdef IK_NO_F32
#define IK_TYPES(X, name) X(name, f64)
#elif defined(IK_NO_F64)
#define IK_TYPES(X, name) X(name, f32)
#else
#define IK_TYPES(X, name) X(name, f32) X(name, f64)
#endif

#define IK_SOLVER_FUNCTION(name, type)                                                                                 \
    void ik_##name##_##type(const ik_##name##_job *job, ptrdiff_t count) {                                             \
        int level = level_for(type, count);                                                                            \
        IK_DESCEND(level, type, forms->name)                                                                           \
        ik_fpmode before = ik_fpmode_enter();                                                                          \
        levels[level].kernels[type]->forms->name(job, 0, count);                                                       \
        ik_fpmode_leave(before);                                                                                       \
    }
#define IK_SOLVER_FUNCTIONS(name) IK_TYPES(IK_SOLVER_FUNCTION, name)
IK_SOLVERS(IK_SOLVER_FUNCTIONS)
IK_SKELETON_SOLVERS(IK_SOLVER_FUNCTIONS)

#define IK_METHOD_FUNCTION(name, type)                                                                                 \
    size_t ik_##name##_scratch_##type(const ik_solve_job *job) {                                                       \
        int level = best_level();                                                                                      \
        IK_DESCEND(level, type, name##_scratch)                                                                        \
        return levels[level].kernels[type]->name##_scratch(job);                                                       \
    }                                                                                                                  \
    void ik_##name##_##type(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {                 \
        int level = level_for(type, last - first);                                                                     \
        ik_fpmode before = ik_fpmode_enter();                                                                          \
        for (int done = 0; !done; level--) {                                                                           \
            IK_DESCEND(level, type, name)                                                                              \
            done = levels[level].kernels[type]->name(job, first, last, scratch);                                       \
        }                                                                                                              \
        ik_fpmode_leave(before);                                                                                       \
    }
#define IK_DEFAULT(option, default_, lowest, highest, doc) .option = default_,
#define IK_DEFAULTS(name, function)                                                                                    \
    ik_options ik_##function##_options(void) { return (ik_options){IK_OPTIONS_OF_##name(IK_DEFAULT)}; }
#define IK_METHOD_FUNCTIONS(name, takes, doc)                                                                          \
    IK_DEFAULTS(name, name)                                                                                            \
    IK_TYPES(IK_METHOD_FUNCTION, name)
IK_METHODS(IK_METHOD_FUNCTIONS)
#define IK_FORM_FUNCTION(name, function, takes, doc) IK_DEFAULTS(name, function)
IK_CLOSED_FORMS(IK_FORM_FUNCTION) /* their functions are in closed_forms.h */

#ifndef IK_NO_RAYS
void ik_cast(const ik_cast_job *job, ptrdiff_t first, ptrdiff_t last) {
    int level = current_level();
    IK_DESCEND(level, f64, cast)
    ik_fpmode before = ik_fpmode_enter();
    levels[level].kernels[f64]->cast(job, first, last);
    ik_fpmode_leave(before);
}
#endif

#ifndef IK_NO_CLIPS
static const ik_kernels *smoothers_at(int level, ptrdiff_t count) {
    level = level_at(level, f64, count);
    IK_DESCEND(level, f64, smooth)
    return levels[level].kernels[f64];
}

size_t ik_smooth_whole_scratch(const ik_smooth_job *job, ptrdiff_t count) { /* enough at whatever level it will be */
    return smoothers_at(best_level(), count)->smooth_scratch(job);
}

void ik_smooth_whole(const ik_smooth_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    ik_fpmode before = ik_fpmode_enter();
    while (first < last) {
        const ik_kernels *kernels = smoothers_at(current_level(), last - first);
        ptrdiff_t count = last - first;
        if (count > kernels->lanes) count -= count % kernels->lanes; /* a rest of a few on narrower vectors */
        kernels->smooth(job, first, first + count, scratch);
        first += count;
    }
    ik_fpmode_leave(before);
}

/* Legs, an item a frame: in legs.h. */
#define IK_LEG_FUNCTION(name)                                                                                          \
    void ik_##name(const ik_##name##_job *job, ptrdiff_t first, ptrdiff_t last) {                                      \
        int level = level_for(f64, last - first);                                                                      \
        IK_DESCEND(level, f64, name)                                                                                   \
        ik_fpmode before = ik_fpmode_enter();                                                                          \
        levels[level].kernels[f64]->name(job, first, last);                                                            \
        ik_fpmode_leave(before);                                                                                       \
    }
IK_LEG_FUNCTION(bend_leg)
IK_LEG_FUNCTION(turn_leg)
IK_LEG_FUNCTION(displace)
IK_LEG_FUNCTION(hinges)
#endif
