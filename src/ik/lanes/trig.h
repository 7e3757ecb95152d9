/* Sine and cosine, and the angle of a point: the only functions of the kernels that are not algebraic.
 *
 * Both reduce their argument to less than an eighth of a turn and evaluate a polynomial. The coefficients are minimax
 * fits (Remez exchange in 50 digits, then rounded to the type). Relative errors before the sums are rounded: sine 2^-56
 * (floats 2^-26), cosine 2^-59 (2^-30), arc tangent 2^-57 (2^-25).
 *
 * Largest errors in units of the last place (sine and cosine below 1/2: of 1/2), measured by tests/c/test_trig.c over
 * four million arguments:
 *                                     doubles   floats
 *   real_sincos, |x| <= TURN_LIMIT      1.4       1.1
 *   real_atan2                          2.4       2.2
 * Beyond TURN_LIMIT, sine and cosine lose accuracy but remain finite and reproducible. */

#if IK_BITS == 64
#define TURN_LIMIT 1.6e6 /* 2^20 quarter turns: multiples up to this of the parts of pi / 2 are exact */
static const double quarter_turn[3] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};
static const double eighth_turn[2] = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
static const double sine_terms[6] = {-0x1.5555555555548p-3, 0x1.111111110f7dp-7,    -0x1.a01a019bfdee9p-13,
                                     0x1.71de3567d221cp-19, -0x1.ae5e5a903837fp-26, 0x1.5d8fd1376cb94p-33};
static const double cosine_terms[6] = {0x1.555555555554cp-5,   -0x1.6c16c16c15184p-10, 0x1.a01a019cb271p-16,
                                       -0x1.27e4f80a7795dp-22, 0x1.1ee9ec486ed1ep-29,  -0x1.8faecf874d2b8p-37};
static const double arc_terms[11] = {-0x1.555555555553dp-2, 0x1.99999999957cfp-3,  -0x1.24924922aa546p-3,
                                     0x1.c71c70e5101bfp-4,  -0x1.745cf8c39d222p-4, 0x1.3b1117976346dp-4,
                                     -0x1.10eba8dcb33a7p-4, 0x1.df0e811850231p-5,  -0x1.9ccf8252d6557p-5,
                                     0x1.37ce26f9cd3e4p-5,  -0x1.255b4b83f8097p-6};
#else
#define TURN_LIMIT 6e3f /* 2^12 quarter turns */
static const float quarter_turn[3] = {0x1.92p+0f, 0x1.fb4p-12f, 0x1.4442d2p-24f};
static const float eighth_turn[2] = {0x1.921fbp-1f, 0x1.5110b4p-23f};
static const float sine_terms[3] = {-0x1.555546p-3f, 0x1.11073ap-7f, -0x1.9943ep-13f};
static const float cosine_terms[3] = {0x1.55554ap-5f, -0x1.6c0c8cp-10f, 0x1.9a025ap-16f};
static const float arc_terms[4] = {-0x1.555454p-2f, 0x1.9924bcp-3f, -0x1.1c3702p-3f, 0x1.49e16ap-4f};
#endif

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

/* terms[0] + terms[1] x + ... */
ik_inline real real_polynomial(const number *terms, int count, real x) {
    real sum = real_splat(terms[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        sum = sum * x + real_splat(terms[i]);
    return sum;
}

typedef struct {
    real cosine, sine;
} cosine_sine;

/* Cody and Waite: subtracts a whole number of quarter turns from x. pi / 2 is the sum of three parts. The first two
 * have so many trailing zeros that their multiples are exact. Adding 1.5 * 2^52 rounds to that whole number and leaves
 * its lowest bits at the end. */
ik_inline cosine_sine real_sincos(real x) {
    const real one = real_splat(1), half = real_splat(0.5f), bound = real_splat(0.79f);
    const real rounder = real_splat(IK_BITS == 64 ? (number)0x1.8p52 : (number)0x1.8p23);
    x = real_max(real_min(real_splat(LARGEST), x), real_splat(-LARGEST));
    real shifted = x * real_splat((number)0x1.45f306dc9c883p-1) + rounder, turns = shifted - rounder;
    real r = x - turns * real_splat(quarter_turn[0]);
    r = r - turns * real_splat(quarter_turn[1]) - turns * real_splat(quarter_turn[2]);
    r = real_max(real_min(bound, r), -bound); /* limits the argument beyond TURN_LIMIT; a NaN remains one */

    real square = r * r, drop = half * square, most = one - drop;
    real sine = r + r * (square * real_polynomial(sine_terms, COUNT_OF(sine_terms), square));
    real rest = square * square * real_polynomial(cosine_terms, COUNT_OF(cosine_terms), square);
    real cosine = most + ((one - most - drop) + rest);

    mask quarter = real_bits(shifted), zero = mask_splat(0), bit1 = mask_splat(2);
    mask odd = zero - (quarter & mask_splat(1));
    return (cosine_sine){real_negate_if(zero - ((quarter + mask_splat(1)) & bit1), real_select(odd, sine, cosine)),
                         real_negate_if(zero - (quarter & bit1), real_select(odd, cosine, sine))};
}

/* The angle of the point (x, y) in (-pi, pi]; 0 for (0, 0). The sum of the coordinates must not overflow.
 *
 * The angle is base + sign * atan(t), where base is a multiple of pi / 4 and |t| <= tan(pi / 8). */
ik_inline real real_atan2(real y, real x) {
    const real zero = real_splat(0), one = real_splat(1), two = real_splat(2);
    real across = real_abs(y), along = real_abs(x);
    mask steep = mask_less(along, across), backwards = mask_less(x, zero);
    real small = real_select(steep, along, across), large = real_select(steep, across, along);
    mask near_eighth = mask_less(real_splat(0.41421356f) * large, small);
    real above = real_select(near_eighth, small - large, small), below = real_select(near_eighth, small + large, large);
    real t = above / real_select(mask_equal(large, zero), one, below);
    real square = t * t, arc = t + t * (square * real_polynomial(arc_terms, COUNT_OF(arc_terms), square));

    mask decreasing = steep ^ backwards;
    real eighths = real_select(steep, two, real_select(backwards, real_splat(4), zero));
    eighths = eighths + real_negate_if(decreasing, real_select(near_eighth, one, zero));
    real rest = real_negate_if(decreasing, arc) + eighths * real_splat(eighth_turn[1]);
    return real_negate_if(mask_less(y, zero), eighths * real_splat(eighth_turn[0]) + rest);
}
