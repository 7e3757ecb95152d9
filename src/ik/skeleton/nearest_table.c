/* Rows of numbers in a tree, to find the nearest: J. L. Bentley, "Multidimensional binary search trees used for
 * associative searching", Communications of the ACM 18 (1975).
 *
 * A range of rows is halved across the column in which they spread most, until a part has a few. The distances from a
 * query to the column ranges of a part bound the distance to its rows. They are summed in the order of the distances
 * themselves, so that rounding cannot skip the nearest row. The result equals that of comparing all rows, to the
 * bit. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../fpmode.h"

#define IK_BITS  64
#define IK_BYTES 0
#include "../lanes/real.h"

#include "../ik.h"

enum { LEAF = 8 /* rows at most */ };

/* A split of a range across `column`: the left half ends at `left`, the right half starts at `right`. */
typedef struct {
    double left, right;
    int column;
} split;

/* The memory of a table: keys in the order of the tree, splits level by level, row numbers. */
typedef struct {
    double *keys;
    split *splits;
    int32_t *order;
} parts;

static int levels_of(int rows) {
    int levels = 0;
    while ((rows >> levels) + 1 > LEAF) /* the larger half, rounded up */
        levels++;
    return levels;
}

static size_t splits_of(int rows) { return ((size_t)1 << levels_of(rows)) - 1; }

size_t ik_table_bytes(int rows, int columns) {
    const size_t row = (size_t)columns * sizeof(double) + sizeof(int32_t);
    return (size_t)rows * row + splits_of(rows) * sizeof(split);
}

static parts parts_of(const ik_table *table) {
    parts p;
    p.keys = table->memory;
    p.splits = (split *)(p.keys + (size_t)table->rows * table->columns);
    p.order = (int32_t *)(p.splits + splits_of(table->rows));
    return p;
}

/* --- building ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const double *keys; /* as given */
    int columns;
    parts into;
} builder;

static double key(const builder *b, int32_t row, int column) { return b->keys[(ptrdiff_t)row * b->columns + column]; }

/* Rows with equal numbers are ordered by their index. */
static int is_before(const builder *b, int column, int32_t row, int32_t other) {
    double x = key(b, row, column), y = key(b, other, column);
    return x < y || (x == y && row < other);
}

/* The column with the largest spread; of equal ones the first. */
static int widest(const builder *b, const int32_t *order, int count) {
    int widest = 0;
    double most = -1;
    for (int column = 0; column < b->columns; column++) {
        double low = key(b, order[0], column), high = low;
        for (int i = 1; i < count; i++) {
            low = fmin(low, key(b, order[i], column));
            high = fmax(high, key(b, order[i], column));
        }
        if (high - low > most) most = high - low, widest = column;
    }
    return widest;
}

static void swap(int32_t *order, int i, int j) {
    int32_t row = order[i];
    order[i] = order[j], order[j] = row;
}

/* Quickselect (C. A. R. Hoare, "Find", 1961): moves the row of rank `wanted` to its place, and all smaller ones before
 * it. The pivot is pseudo-random, so no order of rows is systematically bad. */
static void find(const builder *b, int column, int32_t *order, int count, int wanted) {
    uint32_t random = 2463534242u;
    for (int first = 0, last = count - 1; first < last;) {
        random ^= random << 13, random ^= random >> 17, random ^= random << 5;
        int32_t pivot = order[first + (int)(random % (uint32_t)(last - first + 1))];
        int i = first, j = last;
        while (i <= j) {
            while (is_before(b, column, order[i], pivot))
                i++;
            while (is_before(b, column, pivot, order[j]))
                j--;
            if (i <= j) swap(order, i++, j--);
        }
        if (wanted <= j)
            last = j;
        else if (wanted >= i)
            first = i;
        else
            return;
    }
}

static double end_of(const builder *b, int column, const int32_t *order, int count, int greatest) {
    double end = key(b, order[0], column);
    for (int i = 1; i < count; i++)
        end = greatest ? fmax(end, key(b, order[i], column)) : fmin(end, key(b, order[i], column));
    return end;
}

static void halve(const builder *b, size_t node, int levels, int first, int count) {
    int32_t *order = b->into.order + first;
    if (!levels) return;
    const int column = widest(b, order, count), left = count / 2;
    find(b, column, order, count, left);
    b->into.splits[node] = (split){.left = end_of(b, column, order, left, 1),
                                   .right = end_of(b, column, order + left, count - left, 0),
                                   .column = column};
    halve(b, 2 * node + 1, levels - 1, first, left);
    halve(b, 2 * node + 2, levels - 1, first + left, count - left);
}

void ik_table_build(ik_table *table, const double *keys, int rows, int columns, void *memory) {
    *table = (ik_table){memory, rows, columns};
    const builder b = {keys, columns, parts_of(table)};
    for (int row = 0; row < rows; row++)
        b.into.order[row] = row;
    halve(&b, 0, levels_of(rows), 0, rows);
    for (int i = 0; i < rows; i++)
        memcpy(b.into.keys + (ptrdiff_t)i * columns, keys + (ptrdiff_t)b.into.order[i] * columns,
               (size_t)columns * sizeof *keys);
}

/* --- looking up --------------------------------------------------------------------------------------------------- */

typedef struct {
    double square; /* of its distance */
    int32_t row;
} near;

typedef struct {
    parts in;
    int columns, count, found;
    double query[IK_TABLE_COLUMNS];
    double gaps[IK_TABLE_COLUMNS];  /* to the part at hand */
    double most;                    /* squared distance above which rows are ignored */
    near nearest[IK_TABLE_NEAREST]; /* so far, in their order */
} search;

static double sum_of_squares(const double *numbers, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += numbers[i] * numbers[i];
    return sum;
}

static int comes_before(near one, near other) {
    return one.square < other.square || (one.square == other.square && one.row < other.row);
}

/* Inserts a row among the nearest, and drops the last one if there are enough. */
static void insert(search *s, near one) {
    if (s->found == s->count && !comes_before(one, s->nearest[s->count - 1])) return;
    int at = s->found < s->count ? s->found++ : s->count - 1;
    for (; at > 0 && comes_before(one, s->nearest[at - 1]); at--)
        s->nearest[at] = s->nearest[at - 1];
    s->nearest[at] = one;
    if (s->found == s->count) s->most = s->nearest[s->count - 1].square;
}

static void look_at(search *s, int first, int count) {
    for (int i = first; i < first + count; i++) {
        double off[IK_TABLE_COLUMNS];
        for (int column = 0; column < s->columns; column++)
            off[column] = s->query[column] - s->in.keys[(ptrdiff_t)i * s->columns + column];
        insert(s, (near){sum_of_squares(off, s->columns), s->in.order[i]});
    }
}

static void descend(search *s, size_t node, int levels, int first, int count);

static void descend_to(search *s, size_t node, int levels, int first, int count, int column, double gap) {
    const double before = s->gaps[column];
    s->gaps[column] = gap;
    if (!(sum_of_squares(s->gaps, s->columns) > s->most)) descend(s, node, levels, first, count);
    s->gaps[column] = before;
}

static void descend(search *s, size_t node, int levels, int first, int count) {
    if (!levels) {
        look_at(s, first, count);
        return;
    }
    const split *at = &s->in.splits[node];
    const int column = at->column, left = count / 2;
    const double x = s->query[column], gap = s->gaps[column];
    const double to_left = x > at->left ? x - at->left : gap, to_right = x < at->right ? at->right - x : gap;
    for (int turn = 0; turn < 2; turn++) {
        if ((to_left <= to_right) == (turn == 0))
            descend_to(s, 2 * node + 1, levels - 1, first, left, column, to_left);
        else
            descend_to(s, 2 * node + 2, levels - 1, first + left, count - left, column, to_right);
    }
}

/* Loads a query; returns whether its numbers are usable. */
static int load_query(search *s, const ik_rows *queries, ptrdiff_t item) {
    const char *row = (const char *)queries->data + item * queries->stride;
    for (int column = 0; column < s->columns; column++) {
        memcpy(&s->query[column], row + column * ik_step(queries, sizeof(double)), sizeof(double));
        if (!isfinite(s->query[column])) return 0;
    }
    return 1;
}

static void write_found(const search *s, const ik_nearest_job *job, ptrdiff_t item) {
    for (int i = 0; i < s->count; i++) {
        const near one = i < s->found ? s->nearest[i] : (near){NAN, -1};
        const double distance = sqrt(one.square);
        char *row = (char *)job->row.data + item * job->row.stride + i * ik_step(&job->row, sizeof one.row);
        memcpy(row, &one.row, sizeof one.row);
        if (!job->distance.data) continue;
        char *to =
            (char *)job->distance.data + item * job->distance.stride + i * ik_step(&job->distance, sizeof distance);
        memcpy(to, &distance, sizeof distance);
    }
}

void ik_nearest(const ik_nearest_job *job, ptrdiff_t first, ptrdiff_t last) {
    const ik_fpmode mode = ik_fpmode_enter();
    for (ptrdiff_t item = first; item < last; item++) {
        search s = {.in = parts_of(job->table), .columns = job->table->columns, .count = job->count ? job->count : 1};
        s.most = INFINITY;
        if (load_query(&s, &job->query, item)) descend(&s, 0, levels_of(job->table->rows), 0, job->table->rows);
        write_found(&s, job, item);
    }
    ik_fpmode_leave(mode);
}
