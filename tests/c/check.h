/* CHECK(condition) ends a program with the line and the instruction set if a condition does not hold. ik.h comes
 * before. */
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold (%s)\n", __FILE__, __LINE__, #condition, ik_isa());               \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
