/* All that this processor has: EACH_ISA(isa) { what is done with each in use, by its name }. */
#include <string.h>

static const char *const isas[] = {"scalar", "base", "avx2", "avx512"};

#define EACH_ISA(isa)                                                                                                  \
    for (const char *const *at = isas, *isa; at < isas + 4 && (isa = *at); at++)                                       \
        if (strcmp(ik_use_isa(isa), isa) == 0)
