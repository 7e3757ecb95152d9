/* The operations that every solver uses: + - * / sqrt, compare and select over `real`.
 *
 *   number   float or double                                             (IK_BITS 32 or 64)
 *   real     one number, or a vector of LANES numbers of IK_BYTES bytes  (IK_BYTES 0, 16, 32 or 64)
 *   mask     as many integers as a real has numbers: all bits set = true, none = false; combine with & | ~
 *
 * The solver source is compiled once per instruction set (instances/). Each operation is rounded exactly as IEEE 754
 * requires and happens in written order, so every instance gives the same bits. Contraction to fused multiply-add,
 * estimates, reassociation and libm are therefore excluded. */

/* -std=c17 disables contraction in gcc, but a plain `cc` must be correct too. gcc ignores the standard pragma. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#if IK_BYTES == 0 /* gcc 12 still contracts when it vectorizes a complex product */
#pragma GCC optimize("no-tree-slp-vectorize,no-tree-loop-vectorize")
#endif
#if defined(__x86_64__)
/* Interleaves long computations to fill their latencies. On other targets, gcc does so by default. */
#pragma GCC optimize("schedule-insns", "sched-pressure")
#endif
#endif

/* The predefined macros that reveal flags which would change results. None reveals -ffp-contract=fast (clang) or
 * -frounding-math. */
#if FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2
#error "ikcore needs arithmetic in the declared type: on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || __FINITE_MATH_ONLY__
#error "ikcore needs IEEE 754 arithmetic: compile without -ffast-math, -Ofast and their parts"
#endif

#ifdef __has_builtin
#if __has_builtin(__builtin_elementwise_sqrt)
#define ELEMENTWISE_SQRT
#endif
#endif

#if defined(__GNUC__) && defined(IK_QUICK)
#define ik_inline  static inline __attribute__((unused))
#define ik_outline static __attribute__((noinline, unused))
#elif defined(__GNUC__)
#define ik_inline  static inline __attribute__((always_inline, unused))
/* Long code that runs seldom: compiled once and shared by all solvers. */
#define ik_outline static __attribute__((noinline, unused))
#else
#define ik_inline  static inline
#define ik_outline static
#endif

/* A loop with few steps and a constant count. gcc unrolls it at -O2 too. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH_UNROLLED(i, count) _Pragma("GCC unroll 16") for (int i = 0; i < (count); i++)
#else
#define EACH_UNROLLED(i, count) for (int i = 0; i < (count); i++)
#endif

#if IK_BITS == 32
typedef float number;
typedef int32_t integer;
#define number_sqrt    sqrtf
#define EXPONENT_SHIFT 23
#define EXPONENT_MAX   255
#define SIGN_BIT       INT32_MIN
#define EPSILON        FLT_EPSILON
#define SMALLEST       FLT_MIN
#define LARGEST        FLT_MAX
#else
typedef double number;
typedef int64_t integer;
#define number_sqrt    sqrt
#define EXPONENT_SHIFT 52
#define EXPONENT_MAX   2047
#define SIGN_BIT       INT64_MIN
#define EPSILON        DBL_EPSILON
#define SMALLEST       DBL_MIN
#define LARGEST        DBL_MAX
#endif

#if IK_BYTES == 0

#define LANES 1
typedef number real;
typedef integer mask;

ik_inline real real_splat(number x) { return x; }
ik_inline mask mask_splat(integer x) { return x; }
ik_inline mask mask_less(real a, real b) { return -(mask)(a < b); }
ik_inline mask mask_equal(real a, real b) { return -(mask)(a == b); }
ik_inline mask mask_zero(mask m) { return -(mask)(m == 0); }
ik_inline int mask_any(mask m) { return m != 0; }
ik_inline real real_sqrt(real x) { return number_sqrt(x); }

ik_inline mask real_bits(real x) {
    mask bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

ik_inline real real_from_bits(mask bits) {
    real x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#else

/* EACH_LANE(f): f(0), f(1), ... for every lane. */
#if IK_BYTES * 8 == 2 * IK_BITS
#define LANES        2
#define EACH_LANE(f) f(0), f(1)
#elif IK_BYTES * 8 == 4 * IK_BITS
#define LANES        4
#define EACH_LANE(f) f(0), f(1), f(2), f(3)
#elif IK_BYTES * 8 == 8 * IK_BITS
#define LANES        8
#define EACH_LANE(f) f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)
#else
#define LANES 16
#define EACH_LANE(f)                                                                                                   \
    f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)
#endif

typedef number real __attribute__((vector_size(IK_BYTES)));
typedef integer mask __attribute__((vector_size(IK_BYTES)));

ik_inline real real_splat(number x) { return x - (real){0}; }
ik_inline mask mask_splat(integer x) { return x - (mask){0}; }
ik_inline mask mask_less(real a, real b) { return a < b; }
ik_inline mask mask_equal(real a, real b) { return a == b; }
ik_inline mask mask_zero(mask m) { return m == 0; } /* lanes in which no bit is set */
ik_inline mask real_bits(real x) { return (mask)x; }
ik_inline real real_from_bits(mask bits) { return (real)bits; }

/* True if any lane is true. Code for rare lanes is guarded by this, and never changes another lane. */
ik_inline int mask_any(mask m) {
    typedef uint64_t half __attribute__((vector_size(16)));
    half part[IK_BYTES / 16], any = {0};
    memcpy(part, &m, sizeof m);
    for (int i = 0; i < IK_BYTES / 16; i++)
        any |= part[i];
    return __builtin_expect((any[0] | any[1]) != 0, 0);
}

ik_inline real real_sqrt(real x) {
#ifdef ELEMENTWISE_SQRT
    return __builtin_elementwise_sqrt(x);
#else
    number lane[LANES];
    memcpy(lane, &x, sizeof x);
    for (int k = 0; k < LANES; k++) /* gcc makes one packed instruction of it, given -fno-math-errno */
        lane[k] = number_sqrt(lane[k]);
    memcpy(&x, lane, sizeof x);
    return x;
#endif
}

#endif

/* Both values are computed, so neither may trap, or be slow when it is not selected. */
ik_inline mask mask_select(mask choose, mask a, mask b) { return (choose & a) | (~choose & b); }
ik_inline real real_select(mask choose, real a, real b) {
    return real_from_bits(mask_select(choose, real_bits(a), real_bits(b)));
}

#if IK_BYTES == 0 /* one instruction; mask arithmetic would take several */
ik_inline real real_min(real a, real b) { return a < b ? a : b; }
ik_inline real real_max(real a, real b) { return a < b ? b : a; }
#else
ik_inline real real_min(real a, real b) { return real_select(mask_less(a, b), a, b); }
ik_inline real real_max(real a, real b) { return real_select(mask_less(a, b), b, a); }
#endif
ik_inline real real_abs(real x) { return real_from_bits(real_bits(x) & mask_splat(~SIGN_BIT)); }
ik_inline real real_negate_if(mask choose, real x) {
    return real_from_bits(real_bits(x) ^ (choose & mask_splat(SIGN_BIT)));
}

ik_inline mask mask_is_number(real x) { return mask_equal(x, x); }
ik_inline mask mask_is_finite(real x) { return mask_equal(x - x, real_splat(0)); }

/* The only NaN that is ever written: the bits of a computed NaN depend on the vector width. */
ik_inline real real_nan(void) {
    return real_from_bits(mask_splat((integer)(EXPONENT_MAX * 2 + 1) << (EXPONENT_SHIFT - 1)));
}
ik_inline real real_canonical_nan(real x) { return real_select(mask_is_number(x), x, real_nan()); }

/* A power of two that brings |x| near 1. Multiplying by it is exact. A solver that scales its input by it returns the
 * same bits as without scaling, and neither overflows nor underflows. */
ik_inline real real_unit_scale(real x) {
    mask exponents = mask_splat((integer)EXPONENT_MAX << EXPONENT_SHIFT);
    x = real_abs(x) + real_splat(SMALLEST); /* the exponent field of a subnormal is 0 */
    x = real_min(x, real_splat(LARGEST));   /* a sum of huge numbers may have overflowed to infinity */
    return real_from_bits(exponents - (real_bits(x) & exponents));
}

/* The exact reciprocal of a power of two. */
ik_inline real real_unscale(real scale) {
    return real_from_bits(mask_splat((integer)(EXPONENT_MAX - 1) << EXPONENT_SHIFT) - real_bits(scale));
}
