/* Measures the sine, cosine and angle of trig.h against the C library in a wider type. It prints the largest error of
 * each in units of the last place of the result; for sine and cosine below 1/2, of 1/2. Compiled once with -DIK_BITS=64
 * and once with 32. Exit status 1 where an error is above the one that trig.h states. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define IK_BYTES 0
#include "lanes/real.h"
#include "lanes/trig.h"

#if IK_BITS == 64
typedef long double wide;
#define wide_sin   sinl
#define wide_cos   cosl
#define wide_atan2 atan2l
#else
typedef double wide;
#define wide_sin   sin
#define wide_cos   cos
#define wide_atan2 atan2
#endif

enum { ITEMS = 4000000 };

static uint64_t random_state = 1;

/* In [-1, 1). */
static double random_number(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)random_state * 0x1p-63;
}

static double last_places(number value, wide truth, wide least) {
    int exponent;
    wide size = truth < 0 ? -truth : truth;
    frexp((double)(size < least ? least : size), &exponent);
    wide error = value - truth;
    return (double)((error < 0 ? -error : error) / ldexp(EPSILON, exponent - 1));
}

static int report(const char *what, double error, double bound) {
    printf("%s %.3f\n", what, error);
    return !(error <= bound);
}

int main(void) {
    double sine = 0, cosine = 0, angle = 0, tiny = 0;
    for (int i = 0; i < ITEMS; i++) {
        double range = i % 4 == 0 ? TURN_LIMIT : i % 4 == 1 ? 100 : i % 4 == 2 ? 3.2 : 1e-3;
        number x = (number)(range * random_number());
        if (i % 16 < 4) x = (number)(nearbyint(x / 1.5707963267948966) * 1.5707963267948966);
        cosine_sine at = real_sincos(x);
        sine = fmax(sine, last_places(at.sine, wide_sin(x), 0.5));
        cosine = fmax(cosine, last_places(at.cosine, wide_cos(x), 0.5));
        if (fabs(x) < 0.7) tiny = fmax(tiny, last_places(at.sine, wide_sin(x), SMALLEST));
        number across = (number)(random_number() * (i % 4 ? 1 : 1e-6)), along = (number)(random_number());
        if (i % 5 == 0) along = (number)(across * (1 + 1e-3 * random_number()));
        angle = fmax(angle, last_places(real_atan2(across, along), wide_atan2(across, along), SMALLEST));
    }
    int wrong = report("sine", sine, 1.4) | report("cosine", cosine, 1.4);
    wrong |= report("sine of small angles, of the result", tiny, 1.0);
    return wrong | report("angle", angle, 2.4);
}
