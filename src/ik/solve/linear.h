/* Small symmetric systems, one a lane: the lower triangle row by row, in columns `step` apart.
 *
 *   packed           where an element is
 *   ldl_factor       L D L^T of a matrix and some damping, in place, with the reciprocals of D on the diagonal
 *   ldl_solve        with that
 *   ldl_eliminate    subtracts the part of a block that earlier rows explain
 *   ldl_truncate     factors that block without damping; rows that depend on earlier rows drop out
 *   eigen_of         eigenvalues and eigenvectors
 *   bounded_solve    least squares with bounds
 *
 * The last two work on a lane until it is done; further rounds for other lanes do not change its bits. For 3
 * and 6 rows all of this is compiled once more with the number known, so that loops unroll. */

/* How often a part is compiled: part(rows, arguments). */
#define LINEAR_BY_ROWS(part, rows, ...)                                                                                \
    (rows == 3 ? part(3, __VA_ARGS__) : rows == 6 ? part(6, __VA_ARGS__) : part(rows, __VA_ARGS__))

ik_inline int packed(int row, int column) { return row * (row + 1) / 2 + column; }

typedef struct {
    real sum, largest;
} diagonal;

ik_inline diagonal diagonal_of(const real *a, int step, int rows) {
    diagonal d = {real_splat(0), real_splat(0)};
    for (int i = 0; i < rows; i++) {
        real x = a[packed(i, i) * step];
        d.sum = d.sum + x;
        d.largest = real_max(x, d.largest);
    }
    return d;
}

ik_inline real square_of(const real *rows, int step, int count) {
    real sum = real_splat(0);
    for (int i = 0; i < count; i++)
        sum = sum + rows[i * step] * rows[i * step];
    return sum;
}

/* D is never less than the damping, except by rounding. */
ik_inline void ldl_factor_by_rows(int rows, real *a, int step, real damping) {
    for (int i = 0; i < rows; i++) {
        real pivot = a[packed(i, i) * step] + damping;
        for (int j = 0; j < i; j++) {
            real sum = a[packed(i, j) * step];
            for (int k = 0; k < j; k++)
                sum = sum - a[packed(i, k) * step] * a[packed(j, k) * step];
            a[packed(i, j) * step] = sum; /* of L D */
        }
        for (int j = 0; j < i; j++) {
            real sum = a[packed(i, j) * step], l = sum * a[packed(j, j) * step];
            a[packed(i, j) * step] = l;
            pivot = pivot - l * sum;
        }
        a[packed(i, i) * step] = real_splat(1) / real_max(pivot, damping);
    }
}

static inline void ldl_factor(real *a, int step, int rows, real damping) {
    LINEAR_BY_ROWS(ldl_factor_by_rows, rows, a, step, damping);
}

ik_inline void ldl_solve_by_rows(int rows, const real *a, int step, real *y) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < i; j++)
            y[i * step] = y[i * step] - a[packed(i, j) * step] * y[j * step];
    for (int i = rows - 1; i >= 0; i--) {
        y[i * step] = y[i * step] * a[packed(i, i) * step];
        for (int j = i + 1; j < rows; j++)
            y[i * step] = y[i * step] - a[packed(j, i) * step] * y[j * step];
    }
}

static inline void ldl_solve(const real *a, int step, int rows, real *y) {
    LINEAR_BY_ROWS(ldl_solve_by_rows, rows, a, step, y);
}

/* Subtracts the part of rows [first, last) that rows before `first` explain, which leaves the Schur complement in their
 * block. The rows before are done. */
static inline void ldl_eliminate(real *a, int step, int first, int last) {
    for (int i = first; i < last; i++) {
        for (int j = 0; j < first; j++)
            for (int k = 0; k < j; k++)
                a[packed(i, j) * step] = a[packed(i, j) * step] - a[packed(i, k) * step] * a[packed(j, k) * step];
        for (int j = first; j < i; j++)
            for (int k = 0; k < first; k++)
                a[packed(i, j) * step] = a[packed(i, j) * step] - a[packed(i, k) * step] * a[packed(j, k) * step];
        for (int k = 0; k < first; k++) {
            real sum = a[packed(i, k) * step], l = sum * a[packed(k, k) * step];
            a[packed(i, i) * step] = a[packed(i, i) * step] - l * sum;
            a[packed(i, k) * step] = l;
        }
    }
}

/* A row depends on those before if less than this share of its square is left. */
#define LDL_DEPENDENT (number)(256 * EPSILON)

/* Factors that block; `whole` has the diagonal of the matrix as it was. */
static inline void ldl_truncate(real *a, int step, int first, int last, const real *whole) {
    const real zero = real_splat(0);
    for (int i = first; i < last; i++) {
        for (int j = first; j < i; j++)
            for (int k = first; k < j; k++)
                a[packed(i, j) * step] = a[packed(i, j) * step] - a[packed(i, k) * step] * a[packed(j, k) * step];
        real pivot = a[packed(i, i) * step], least = real_splat(LDL_DEPENDENT) * whole[packed(i, i) * step];
        for (int j = first; j < i; j++) {
            real sum = a[packed(i, j) * step], l = sum * a[packed(j, j) * step];
            a[packed(i, j) * step] = l;
            pivot = pivot - l * sum;
        }
        mask counts = mask_less(least + real_splat(SMALLEST), pivot);
        a[packed(i, i) * step] = real_select(counts, real_splat(1) / real_select(counts, pivot, real_splat(1)), zero);
    }
}

/* ---- eigenvectors
 *
 * Jacobi's method, by rows: each turn of two coordinates makes the element that they share 0, and others of its row and
 * column less on the whole (H. Rutishauser, "The Jacobi method for real symmetric matrices", Numerische Mathematik 9,
 * 1966). For few rows it is as fast as any, and it has no case that others do not have. */

/* Sweeps: six rows need 5 to 7, and 12 rows 8. */
enum { EIGEN_SWEEPS = 16 };

/* Above this number of rows, the last sweeps skip turns that would change nothing. */
enum { EIGEN_FEW = 6 };

/* One turn of coordinates p < q; `vectors` has the coordinates so far as columns. */
ik_inline void eigen_turn(int rows, real *a, real *vectors, int step, int p, int q) {
    const real zero = real_splat(0), one = real_splat(1), two = real_splat(2);
    real *shared = &a[packed(q, p) * step], *first = &a[packed(p, p) * step], *second = &a[packed(q, q) * step];
    mask counts = mask_less(real_splat((number)0.125 * EPSILON), real_abs(*shared));
    if (rows > EIGEN_FEW && !mask_any(counts)) { /* for few rows the test costs more than the turn */
        *shared = zero;
        return;
    }
    real apart = *second - *first, across = two * *shared, size = real_sqrt(apart * apart + across * across);
    real below = apart + real_negate_if(mask_less(apart, zero), size);
    real tangent = real_select(counts, across / real_select(counts, below, one), zero);
    real cosine = one / real_sqrt(one + tangent * tangent), sine = tangent * cosine, half = sine / (one + cosine);
    *first = *first - tangent * *shared, *second = *second + tangent * *shared, *shared = zero;
    for (int k = 0; k < rows; k++) {
        real *v = &vectors[(k * rows + p) * step], *w = &vectors[(k * rows + q) * step], before = *v;
        *v = before - sine * (*w + half * before), *w = *w + sine * (before - half * *w);
        if (k == p || k == q) continue;
        real *x = &a[(k > p ? packed(k, p) : packed(p, k)) * step];
        real *y = &a[(k > q ? packed(k, q) : packed(q, k)) * step], was = *x;
        *x = was - sine * (*y + half * was), *y = *y + sine * (was - half * *y);
    }
}

ik_inline void eigen_by_rows(int rows, real *a, real *vectors, int step) {
    real size = real_splat(0), scale;
    for (int i = 0; i < packed(rows, 0); i++)
        size = size + real_abs(a[i * step]);
    scale = real_unit_scale(size);
    for (int i = 0; i < packed(rows, 0); i++)
        a[i * step] = scale * a[i * step];
    for (int i = 0; i < rows * rows; i++)
        vectors[i * step] = real_splat(i % (rows + 1) == 0);
    for (int sweep = 0; sweep < EIGEN_SWEEPS; sweep++) {
        mask some = mask_splat(0);
        for (int q = 1; q < rows; q++)
            for (int p = 0; p < q; p++)
                some |= ~mask_equal(a[packed(q, p) * step], real_splat(0));
        if (!mask_any(some)) break;
        for (int q = 1; q < rows; q++)
            for (int p = 0; p < q; p++)
                eigen_turn(rows, a, vectors, step, p, q);
    }
    for (int i = 0; i < rows; i++)
        a[packed(i, i) * step] = real_unscale(scale) * a[packed(i, i) * step];
}

/* Replaces the matrix by its eigenvalues, on the diagonal and in no order. Column i of `vectors`, stored by rows, is
 * the unit eigenvector of the i-th. Errors are rounding errors relative to the largest eigenvalue. */
static inline void eigen_of(real *a, real *vectors, int step, int rows) {
    LINEAR_BY_ROWS(eigen_by_rows, rows, a, vectors, step);
}

/* ---- bounds
 *
 * Minimises x^T A x / 2 - b^T x for x between low and high, by active sets: numbers at a bound are fixed, the others
 * are solved for exactly. If the solution exceeds bounds, the numbers move towards it up to the first bound, which then
 * fixes one more number. Otherwise the number that its bound holds back most is freed. Every round decreases the sum,
 * so that no set occurs twice. (J. Nocedal, S. Wright, "Numerical Optimization", 16.5.) Projected Gauss-Seidel has
 * cheaper rounds, but converges slowly if A is badly conditioned: J W J^T is nearly singular for stretched chains. */

enum { BOUNDED_ROUNDS = 8 }; /* rounds per row */

/* The system of the free numbers, with the held ones fixed. */
ik_inline void bounded_reduce(int rows, const real *a, const real *b, const real *x, const real *held, real *factor,
                              real *y, int step) {
    const real zero = real_splat(0), one = real_splat(1);
    for (int i = 0; i < rows; i++) {
        mask free = mask_equal(held[i * step], zero);
        y[i * step] = b[i * step];
        for (int j = 0; j < rows; j++) {
            mask other = mask_equal(held[j * step], zero);
            real element = a[(i > j ? packed(i, j) : packed(j, i)) * step];
            y[i * step] = y[i * step] - real_select(other, zero, element * x[j * step]);
            if (j <= i) factor[packed(i, j) * step] = real_select(free & other, element, i == j ? one : zero);
        }
        y[i * step] = real_select(free, y[i * step], x[i * step]);
    }
}

/* From x to y, or to the first bound on the way, which is held from then on. Returns the lanes that went to the end.
 */
ik_inline mask bounded_go(int rows, const real *y, const real *low, const real *high, real *x, real *held, int step) {
    const real one = real_splat(1);
    real share = one, which = real_splat(-1), side = real_splat(0);
    for (int i = 0; i < rows; i++) {
        mask under = mask_less(y[i * step], low[i * step]), over = mask_less(high[i * step], y[i * step]);
        real end = real_select(under, low[i * step], high[i * step]), way = y[i * step] - x[i * step];
        real part = (end - x[i * step]) / real_select(under | over, way, one);
        mask first = (under | over) & mask_less(part, share);
        share = real_select(first, part, share);
        which = real_select(first, real_splat((number)i), which);
        side = real_select(first, real_select(under, real_splat(-1), one), side);
    }
    mask all = mask_less(which, real_splat(0));
    for (int i = 0; i < rows; i++) {
        mask stops = mask_equal(which, real_splat((number)i));
        real to = x[i * step] + share * (y[i * step] - x[i * step]);
        to = real_max(real_min(high[i * step], real_select(all, y[i * step], to)), low[i * step]);
        real end = real_select(mask_less(side, real_splat(0)), low[i * step], high[i * step]);
        x[i * step] = real_select(stops, end, to);
        held[i * step] = real_select(stops, side, held[i * step]);
    }
    return all;
}

/* Frees the number that its bound holds back most, in lanes of `may`; returns the lanes with such a number. */
ik_inline mask bounded_let_go(int rows, const real *a, const real *b, const real *x, real *held, mask may, int step) {
    const real zero = real_splat(0);
    real most = zero, which = real_splat(-1);
    for (int i = 0; i < rows; i++) {
        real pull = b[i * step], size = real_abs(pull);
        for (int j = 0; j < rows; j++) {
            real part = a[(i > j ? packed(i, j) : packed(j, i)) * step] * x[j * step];
            pull = pull - part, size = size + real_abs(part);
        }
        real back = -(held[i * step] * pull);
        mask more = mask_less(real_splat(4 * EPSILON) * size, back) & mask_less(most, back);
        most = real_select(more, back, most);
        which = real_select(more, real_splat((number)i), which);
    }
    for (int i = 0; i < rows; i++)
        held[i * step] = real_select(may & mask_equal(which, real_splat((number)i)), zero, held[i * step]);
    return may & ~mask_less(which, zero);
}

ik_inline mask bounded_by_rows(int rows, const real *a, const real *b, const real *low, const real *high, real *x,
                               real *room, int step) {
    real *factor = room, *y = factor + packed(rows, 0) * step, *held = y + rows * step;
    mask at_work = ~mask_splat(0);
    for (int i = 0; i < rows; i++) {
        x[i * step] = real_max(real_min(high[i * step], x[i * step]), low[i * step]);
        real side = real_select(mask_equal(x[i * step], high[i * step]), real_splat(1), real_splat(0));
        held[i * step] = real_select(mask_equal(x[i * step], low[i * step]), real_splat(-1), side);
    }
    for (int round = 0; round < BOUNDED_ROUNDS * rows && mask_any(at_work); round++) {
        bounded_reduce(rows, a, b, x, held, factor, y, step);
        ldl_factor(factor, step, rows, real_splat(SMALLEST));
        ldl_solve(factor, step, rows, y);
        mask all = bounded_go(rows, y, low, high, x, held, step);
        at_work = ~all | bounded_let_go(rows, a, b, x, held, all, step); /* else it stays as it is */
    }
    return ~at_work;
}

/* A is positive definite (a little damping ensures it); x starts anywhere, best near the answer, and `room` has
 * packed(rows, 0) + 2 rows columns. Returns the lanes that are done; others are within their bounds, too. */
static inline mask bounded_solve(const real *a, const real *b, const real *low, const real *high, real *x, real *room,
                                 int step, int rows) {
    return LINEAR_BY_ROWS(bounded_by_rows, rows, a, b, low, high, x, room, step);
}
