/* The floating-point mode of this thread, as a host program may have set it: a library for tests. */
#include <xmmintrin.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT
#endif

EXPORT unsigned get(void) { return _mm_getcsr(); }
EXPORT void set(unsigned mode) { _mm_setcsr(mode); }
