/* The processor's floating-point mode: rounding, flush-to-zero and the exception flags.
 *
 * A host may have set any mode (audio and game engines flush denormals to zero), which would change results. A batch
 * enters the default mode (round to nearest, keep denormals, raise nothing) and leaves with everything as it was, so no
 * exception flag leaks out either. The register is written directly: fesetenv(FE_DFL_ENV) leaves flush-to-zero on in
 * the C libraries of Windows. */
#ifndef IK_FPMODE_H
#define IK_FPMODE_H

#include <fenv.h>
#include <stdint.h>

#if defined(__GNUC__) && defined(__x86_64__)

typedef unsigned int ik_fpmode; /* MXCSR */

static inline ik_fpmode ik_fpmode_enter(void) {
    ik_fpmode before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1F80); /* all exceptions masked, everything else 0 */
    return before;
}

static inline void ik_fpmode_leave(ik_fpmode before) { __builtin_ia32_ldmxcsr(before); }

#elif defined(__GNUC__) && defined(__aarch64__)

typedef struct {
    uint64_t control, status; /* FPCR, FPSR */
} ik_fpmode;

static inline ik_fpmode ik_fpmode_enter(void) {
    ik_fpmode before;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr\n\tmsr fpcr, xzr"
                     : "=&r"(before.control), "=&r"(before.status)
                     :
                     : "memory");
    return before;
}

static inline void ik_fpmode_leave(ik_fpmode before) {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(before.control), "r"(before.status) : "memory");
}

#else /* the C library's best, which suffices on other systems with IEEE 754 arithmetic */

typedef fenv_t ik_fpmode;

static inline ik_fpmode ik_fpmode_enter(void) {
    ik_fpmode before;
    fegetenv(&before);
    fesetenv(FE_DFL_ENV);
    return before;
}

static inline void ik_fpmode_leave(ik_fpmode before) { fesetenv(&before); }

#endif

#endif
