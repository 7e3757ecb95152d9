/* Compares the small systems of linear.h with slow and simple methods in higher precision. Solutions are compared with
 * elimination, and eigenvectors with the matrix they compose. Bounded numbers are compared with every choice of active
 * bounds. Compiled with -DIK_BITS=32 or 64, and -DIK_BYTES=0 for a number at a time, 16 for several: then each lane
 * must be, to the bit, as if it were alone. Exit status 1 where something is off. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lanes/real.h"

#include "solve/linear.h"

enum { MOST = 8, ITEMS = 400, SIZE = MOST * (MOST + 1) / 2, STEP = 2, ROOM = SIZE + 2 * MOST };

static uint64_t random_state = 1;

/* In [-1, 1). */
static double random_number(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)random_state * 0x1p-63;
}

static int wrong;

static void expect(int right, const char *what, int rows, double value) {
    if (!right) printf("%s, %d rows: %g\n", what, rows, value);
    wrong |= !right;
}

/* A lane of columns that lie STEP apart. */
static double lane_of(const real *x, int i, int lane) {
    number lanes[LANES];
    memcpy(lanes, &x[i * STEP], sizeof lanes);
    return lanes[lane];
}
static void set_lane(real *x, int i, int lane, double value) {
    const number set = (number)value;
    memcpy((char *)&x[i * STEP] + (size_t)lane * sizeof set, &set, sizeof set);
}

static long double element(const real *a, int i, int j, int lane) {
    return lane_of(a, i > j ? packed(i, j) : packed(j, i), lane);
}

/* A matrix by kind: general; singular, from few rows; diagonal; nearly equal to another; zero. */
static void random_matrix(real *a, int rows, int kind, double scale, int lane) {
    double part[MOST][MOST];
    int rank = kind == 1 ? 1 + rows / 3 : rows;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rank; j++)
            part[i][j] = random_number();
    for (int i = 0; i < rows; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < rank && kind < 2; k++)
                sum += part[i][k] * part[j][k];
            if (kind == 0) sum = part[i][j];
            if (kind == 2) sum = i == j ? part[i][0] : 0;
            if (kind == 3) sum = (i == j) + 1e-5 * part[i][j];
            set_lane(a, packed(i, j), lane, scale * sum);
        }
}

/* A square of full rank, and a little more on its diagonal. */
static void definite_matrix(real *a, int rows, double damping, int lane) {
    random_matrix(a, rows, 1, 1, lane);
    for (int i = 0; i < rows; i++)
        set_lane(a, packed(i, i), lane, lane_of(a, packed(i, i), lane) + damping);
}

/* Elimination with pivots. */
static void eliminate(int rows, long double a[MOST][MOST + 1], long double *x) {
    for (int i = 0; i < rows; i++) {
        int pivot = i;
        for (int k = i + 1; k < rows; k++)
            if (fabsl(a[k][i]) > fabsl(a[pivot][i])) pivot = k;
        for (int j = 0; j <= rows; j++) {
            long double swapped = a[i][j];
            a[i][j] = a[pivot][j], a[pivot][j] = swapped;
        }
        for (int k = 0; k < rows; k++) {
            long double share = k == i ? 0 : a[k][i] / a[i][i];
            for (int j = i; j <= rows; j++)
                a[k][j] -= share * a[i][j];
        }
    }
    for (int i = 0; i < rows; i++)
        x[i] = a[i][rows] / a[i][i];
}

static void test_ldl(int rows) {
    real a[SIZE * STEP], factor[SIZE * STEP], y[MOST * STEP], b[MOST * STEP];
    for (int item = 0; item < ITEMS; item++) {
        for (int lane = 0; lane < LANES; lane++) {
            definite_matrix(a, rows, 0.25, lane);
            for (int i = 0; i < rows; i++)
                set_lane(b, i, lane, random_number());
        }
        memcpy(factor, a, sizeof a);
        memcpy(y, b, sizeof b);
        ldl_factor(factor, STEP, rows, real_splat((number)0.125));
        ldl_solve(factor, STEP, rows, y);
        for (int lane = 0; lane < LANES; lane++) {
            long double whole[MOST][MOST + 1], x[MOST], off = 0;
            for (int i = 0; i < rows; i++) {
                for (int j = 0; j < rows; j++)
                    whole[i][j] = element(a, i, j, lane) + (i == j ? 0.125L : 0);
                whole[i][rows] = lane_of(b, i, lane);
            }
            eliminate(rows, whole, x);
            for (int i = 0; i < rows; i++)
                off = fmaxl(off, fabsl(x[i] - lane_of(y, i, lane)));
            expect(off < 400 * EPSILON, "a solution is off", rows, (double)off);
        }
    }
}

/* How far the eigenvectors are from making the matrix, and from being at right angles and unit. */
static void check_eigen(const real *a, const real *values, const real *vectors, int rows, int lane) {
    long double size = 0, off = 0, skew = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            long double sum = 0, dot = 0;
            for (int k = 0; k < rows; k++) {
                long double vi = lane_of(vectors, i * rows + k, lane), vj = lane_of(vectors, j * rows + k, lane);
                sum += vi * vj * lane_of(values, packed(k, k), lane);
                dot += (long double)lane_of(vectors, k * rows + i, lane) * lane_of(vectors, k * rows + j, lane);
            }
            size = fmaxl(size, fabsl(element(a, i, j, lane)));
            off = fmaxl(off, fabsl(sum - element(a, i, j, lane)));
            skew = fmaxl(skew, fabsl(dot - (i == j)));
        }
    expect(off <= 16 * EPSILON * size, "eigenvectors make another matrix", rows, (double)(off / size));
    expect(skew < 16 * EPSILON, "eigenvectors are no rotation", rows, (double)skew);
}

static void test_eigen(int rows) {
    const double scales[] = {1, 0x1p-90, 0x1p90};
    real a[SIZE * STEP], values[SIZE * STEP], vectors[MOST * MOST * STEP];
    real alone[SIZE * STEP], alone_vectors[MOST * MOST * STEP];
    for (int item = 0; item < ITEMS; item++) {
        for (int lane = 0; lane < LANES; lane++)
            random_matrix(a, rows, (item + 3 * lane) % 5, scales[item / 5 % 3], lane);
        memcpy(values, a, sizeof a);
        eigen_of(values, vectors, STEP, rows);
        for (int lane = 0; lane < LANES; lane++) {
            check_eigen(a, values, vectors, rows, lane);
            for (int i = 0; i < packed(rows, 0); i++)
                alone[i * STEP] = real_splat((number)lane_of(a, i, lane));
            eigen_of(alone, alone_vectors, STEP, rows);
            for (int i = 0; i < rows * rows; i++)
                expect(lane_of(alone_vectors, i, 0) == lane_of(vectors, i, lane), "a lane minds others", rows, i);
        }
    }
}

/* x^T A x / 2 - b^T x */
static long double sum_of(const real *a, const real *b, int rows, const long double *x, int lane) {
    long double sum = 0;
    for (int i = 0; i < rows; i++) {
        sum -= x[i] * lane_of(b, i, lane);
        for (int j = 0; j < rows; j++)
            sum += 0.5L * x[i] * x[j] * element(a, i, j, lane);
    }
    return sum;
}

/* Every number at its lowest, its highest, or free: of the solutions that keep within bounds, the one of the least sum.
 */
static void try_all(const real *a, const real *b, const real *low, const real *high, int rows, int lane,
                    long double *best) {
    long double least = INFINITY;
    int choices = 1;
    for (int i = 0; i < rows; i++)
        choices *= 3;
    for (int choice = 0; choice < choices; choice++) {
        long double whole[MOST][MOST + 1] = {{0}}, x[MOST], held[MOST];
        int free[MOST];
        for (int i = 0, rest = choice; i < rows; i++, rest /= 3) {
            free[i] = rest % 3 == 0;
            held[i] = rest % 3 == 1 ? lane_of(low, i, lane) : lane_of(high, i, lane);
        }
        for (int i = 0; i < rows; i++) {
            whole[i][i] = 1, whole[i][rows] = free[i] ? lane_of(b, i, lane) : held[i];
            for (int j = 0; j < rows && free[i]; j++) {
                if (free[j])
                    whole[i][j] = element(a, i, j, lane);
                else
                    whole[i][rows] -= element(a, i, j, lane) * held[j];
            }
        }
        eliminate(rows, whole, x);
        int within = 1;
        for (int i = 0; i < rows; i++)
            within &= x[i] >= lane_of(low, i, lane) && x[i] <= lane_of(high, i, lane);
        long double sum = sum_of(a, b, rows, x, lane);
        if (!within || sum >= least) continue;
        least = sum;
        memcpy(best, x, sizeof x);
    }
}

typedef struct {
    real a[SIZE * STEP], b[MOST * STEP], low[MOST * STEP], high[MOST * STEP], x[MOST * STEP];
} bounded;

/* Some bounds are closed, some far away, and some starts outside. */
static void random_bounded(bounded *p, int rows, int item, int lane) {
    definite_matrix(p->a, rows, item % 2 ? 0.25 : 0.01, lane);
    for (int i = 0; i < rows; i++) {
        double middle = random_number(), width = 0.5 + 0.5 * random_number();
        if (item % 7 == 0 && i == 0) width = 0;
        if (item % 5 == 0 && i == 1) width = 1e6;
        set_lane(p->b, i, lane, 2 * random_number());
        set_lane(p->low, i, lane, middle - width);
        set_lane(p->high, i, lane, middle + width);
        set_lane(p->x, i, lane, item % 3 ? 3 * random_number() : 0);
    }
}

static void test_bounded(int rows) {
    for (int item = 0; item < (rows > 5 ? ITEMS / 8 : ITEMS); item++) {
        bounded p, alone;
        real room[ROOM * STEP], start[MOST * STEP];
        for (int lane = 0; lane < LANES; lane++)
            random_bounded(&p, rows, item + lane, lane);
        memcpy(start, p.x, sizeof start);
        mask done = bounded_solve(p.a, p.b, p.low, p.high, p.x, room, STEP, rows);
        expect(!mask_any(~done), "some are not done", rows, item);
        for (int lane = 0; lane < LANES; lane++) {
            long double best[MOST], off = 0;
            try_all(p.a, p.b, p.low, p.high, rows, lane, best);
            for (int i = 0; i < rows; i++)
                off = fmaxl(off, fabsl(best[i] - lane_of(p.x, i, lane)));
            expect(off < 2e4 * EPSILON, "numbers with bounds are off", rows, (double)off);
            for (int i = 0; i < packed(rows, 0); i++)
                alone.a[i * STEP] = real_splat((number)lane_of(p.a, i, lane));
            for (int i = 0; i < rows; i++) {
                alone.b[i * STEP] = real_splat((number)lane_of(p.b, i, lane));
                alone.low[i * STEP] = real_splat((number)lane_of(p.low, i, lane));
                alone.high[i * STEP] = real_splat((number)lane_of(p.high, i, lane));
                alone.x[i * STEP] = real_splat((number)lane_of(start, i, lane));
            }
            bounded_solve(alone.a, alone.b, alone.low, alone.high, alone.x, room, STEP, rows);
            for (int i = 0; i < rows; i++)
                expect(lane_of(alone.x, i, 0) == lane_of(p.x, i, lane), "a lane minds others", rows, i);
        }
    }
}

int main(void) {
    for (int rows = 1; rows <= MOST; rows++) {
        test_ldl(rows);
        test_eigen(rows);
        if (rows <= 6) test_bounded(rows);
    }
    return wrong;
}
