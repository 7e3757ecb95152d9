/* All that this processor has: EACH_ISA(isa) { what is done with each in use, by its name }. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const isas[] = {"scalar", "base", "avx2", "avx512"};

#define EACH_ISA(isa)                                                                                                  \
    for (const char *const *at = isas, *isa; at < isas + 4 && (isa = *at); at++)                                       \
        if (strcmp(ik_use_isa(isa), isa) == 0)

/* Prints the hashes of the results in float and in double. */
static inline void print_hashes(const char *isa, const char *name, uint64_t f32, uint64_t f64) {
    printf("%s %s f32 %016llx\n", isa, name, (unsigned long long)f32);
    printf("%s %s f64 %016llx\n", isa, name, (unsigned long long)f64);
}

/* Expands a macro that defines a function, once for float and once for double. */
#define FLOAT_AND_DOUBLE(define) define(float, f32) define(double, f64)
