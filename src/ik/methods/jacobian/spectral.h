/* Common part of pinv, svf and sdls: eigenvectors u of A = J W J^T, which are the left singular vectors of J. The roots
 * of its eigenvalues are the singular values. Along a right singular vector, joints turn by W J^T u, which moves the
 * effectors along u. The answer is y = sum of gain (u . e) u; the pseudo-inverse has gain = 1 / eigenvalue. */

/* Relative to the sum of eigenvalues: a smaller one counts as 0. On lower levels the threshold is higher. An eigenvalue
 * there may be only round-off of the levels above, whose errors its answer would change. */
#define SPECTRAL_ROUNDING (number)(64 * EPSILON)
#define SPECTRAL_LEFT     (number)(IK_BITS == 64 ? 1e-9 : 64 * EPSILON)

/* Columns of a step, after those of dls: the vectors, and u . e of each. */
ik_inline int spectral_vectors(const ik_plan *plan) { return dls_columns(plan); }
ik_inline int spectral_along(const ik_plan *plan) { return spectral_vectors(plan) + plan->rows * plan->rows; }

static record_size spectral_size(const ik_plan *plan) {
    record_size size = dls_size(plan);
    size.work = spectral_along(plan) + plan->rows - plan->work;
    return size;
}

/* One singular vector of a level, or of all rows. Its numbers are `step` apart. */
typedef struct {
    const levels_part *level;
    const real *vector;
    int step;
    real value, largest; /* eigenvalues: its own, and the largest of all */
    real along;          /* u . e */
} spectral_part;

/* The gain of a singular vector in the answer. Called if the eigenvalue is above round-off. */
typedef real (*spectral_gain)(const ik_plan *plan, columns c, const spectral_part *part);

static void spectral_find(const ik_plan *plan, columns c, const levels_part *level) {
    const int rows = level->rows, step = level->step;
    real *vectors = column(c, spectral_vectors(plan)), *along = column(c, spectral_along(plan));
    eigen_of(level->matrix, vectors, step, rows);
    for (int i = 0; i < rows; i++) {
        along[i * step] = real_splat(0);
        for (int k = 0; k < rows; k++)
            along[i * step] = along[i * step] + vectors[(k * rows + i) * step] * level->y[k * step];
    }
}

static void spectral_sum(const ik_plan *plan, columns c, const levels_part *level, spectral_gain gain) {
    const int rows = level->rows, step = level->step;
    const real *vectors = column(c, spectral_vectors(plan)), *along = column(c, spectral_along(plan));
    const diagonal values = diagonal_of(level->matrix, step, rows);
    const real damping = level->damping * values.largest;
    const number least = level->first ? SPECTRAL_LEFT : SPECTRAL_ROUNDING;
    const real rounding = real_splat(least) * level->size + real_splat(SMALLEST);
    for (int i = 0; i < rows; i++)
        level->y[i * step] = real_splat(0);
    for (int i = 0; i < rows; i++) {
        real value = level->matrix[packed(i, i) * step];
        mask counts = mask_less(rounding, value);
        value = real_select(counts, value, real_splat(1));
        const spectral_part part = {level, vectors + i * step, rows * step, value, values.largest, along[i * step]};
        real by = real_select(counts, answer_damped(gain(plan, c, &part), damping) * part.along, real_splat(0));
        for (int k = 0; k < rows; k++)
            level->y[k * step] = level->y[k * step] + by * part.vector[k * part.step];
    }
}

static void spectral_answer(const ik_plan *plan, columns c, const levels_part *level, spectral_gain gain) {
    spectral_find(plan, c, level);
    spectral_sum(plan, c, level, gain);
}
