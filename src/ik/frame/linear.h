/* Small symmetric systems, one a lane: the lower triangle row by row, in columns `step` apart.
 *
 *   packed           where an element is
 *   ldl_factor       L D L^T of a matrix and some damping, in place, with the reciprocals of D on the diagonal
 *   ldl_solve        with that
 *   ldl_eliminate    likewise without damping, block by block: rows that depend on those before them drop out, so that
 *   ldl_truncate     what is left is the projection onto the others */

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

/* Rounding cannot make D less than the damping, which it never is. */
ik_inline void ldl_factor(real *a, int step, int rows, real damping) {
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

ik_inline void ldl_solve(const real *a, int step, int rows, real *y) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < i; j++)
            y[i * step] = y[i * step] - a[packed(i, j) * step] * y[j * step];
    for (int i = rows - 1; i >= 0; i--) {
        y[i * step] = y[i * step] * a[packed(i, i) * step];
        for (int j = i + 1; j < rows; j++)
            y[i * step] = y[i * step] - a[packed(j, i) * step] * y[j * step];
    }
}

/* Takes what rows before `first` explain off rows [first, last), which leaves the Schur complement in their block. The
 * rows before are done. */
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

/* A row of which less than this is left, of its square, depends on those before. */
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
