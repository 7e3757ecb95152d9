/* Transfers between rows in memory and the lanes of a real. Row first + k of a group goes to lane k.
 *
 *   lanes_load_real _vec3 _quat _mat3               one row for all lanes, packed rows, or rows with any stride
 *   lanes_store_real _vec3 _3_vec3 _quat _status    packed rows, or rows with any stride
 *   lanes_load_joint_quat _vec3, store_joint_...    the row of one joint of every pose; its memory must exist
 *   lanes_prefetch                                  requests the memory of one joint of the next group
 *   lanes_column, lanes_list_row                    rows without their first columns; row k of every list
 *
 * The last group of a batch may have fewer rows than lanes. Its last row is repeated in the remaining lanes, so no lane
 * computes on undefined memory. Only the group's own rows are written. */

/* Rows [first, first + count) of a batch, 1 <= count <= LANES; or the rows listed in `items`. */
typedef struct {
    ptrdiff_t first;
    int count;
    const ptrdiff_t *items; /* NULL: consecutive */
} group;

ik_inline group lanes_group(ptrdiff_t first, ptrdiff_t last) {
    return (group){first, last - first < LANES ? (int)(last - first) : LANES, NULL};
}

ik_inline ptrdiff_t lanes_item(group at, int lane) { return at.items ? at.items[lane] : at.first + lane; }

#define EACH_GROUP(at, first, last)                                                                                    \
    for (group at = lanes_group(first, last); at.count > 0; at = lanes_group(at.first + LANES, last))

/* Bytes between two consecutive numbers of a row. */
ik_inline ptrdiff_t lanes_step(const ik_rows *rows) { return ik_step(rows, sizeof(number)); }

ik_inline ik_rows lanes_column(const ik_rows *rows, int column) {
    return (ik_rows){(char *)rows->data + column * lanes_step(rows), rows->stride, rows->step};
}

ik_inline ik_rows lanes_list_row(const ik_lists *lists, ptrdiff_t k) {
    return (ik_rows){(char *)lists->rows.data + k * lists->next, lists->rows.stride, lists->rows.step};
}

ik_inline char *lanes_row(const ik_rows *rows, group at, int lane) {
    return (char *)rows->data + lanes_item(at, lane) * rows->stride;
}

/* Sets the strides to those of packed rows. Returns true if they already were, or if the rows are not given. */
ik_inline int lanes_take_packed(ik_rows *rows, int columns) {
    const ptrdiff_t stride = rows->stride, step = lanes_step(rows);
    rows->stride = columns * (ptrdiff_t)sizeof(number), rows->step = sizeof(number);
    return rows->data == NULL || (stride == rows->stride && (columns == 1 || step == rows->step));
}

/* True if a whole group of rows of `columns` numbers is contiguous in memory. */
ik_inline int lanes_packed(const ik_rows *rows, group at, int columns) {
    return at.count == LANES && !at.items && rows->stride == columns * (ptrdiff_t)sizeof(number) &&
           (columns == 1 || lanes_step(rows) == sizeof(number));
}

ik_inline real real_load(const void *from) {
    real x;
    memcpy(&x, from, sizeof x);
    return x;
}

ik_inline void real_store(void *to, real x) { memcpy(to, &x, sizeof x); }

/* Four numbers for each row, in memory order. */
typedef struct {
    real part[4];
} quads;

#if LANES > 1

/* x y z x y z ... -> x x ..., y y ..., z z ... The number of lanes is not a multiple of three. In three consecutive
 * vectors, no two x are therefore in the same lane: two blends collect them, and a permutation sorts them. */
#define FROM_SECOND(p, c) ((LANES + p) % 3 == c ? LANES + p : p)
#define FROM_THIRD(p, c)  ((2 * LANES + p) % 3 == c ? LANES + p : p)
#define ORDER(i, c)       ((3 * i + c) % LANES)
#define X_FROM_SECOND(p)  FROM_SECOND(p, 0)
#define Y_FROM_SECOND(p)  FROM_SECOND(p, 1)
#define Z_FROM_SECOND(p)  FROM_SECOND(p, 2)
#define X_FROM_THIRD(p)   FROM_THIRD(p, 0)
#define Y_FROM_THIRD(p)   FROM_THIRD(p, 1)
#define Z_FROM_THIRD(p)   FROM_THIRD(p, 2)
#define X_ORDER(i)        ORDER(i, 0)
#define Y_ORDER(i)        ORDER(i, 1)
#define Z_ORDER(i)        ORDER(i, 2)

ik_inline vec3 lanes_load_packed_vec3(const char *from) {
    real a = real_load(from), b = real_load(from + sizeof a), c = real_load(from + 2 * sizeof a);
    real x = __builtin_shufflevector(a, b, EACH_LANE(X_FROM_SECOND));
    real y = __builtin_shufflevector(a, b, EACH_LANE(Y_FROM_SECOND));
    real z = __builtin_shufflevector(a, b, EACH_LANE(Z_FROM_SECOND));
    x = __builtin_shufflevector(x, c, EACH_LANE(X_FROM_THIRD));
    y = __builtin_shufflevector(y, c, EACH_LANE(Y_FROM_THIRD));
    z = __builtin_shufflevector(z, c, EACH_LANE(Z_FROM_THIRD));
    return (vec3){__builtin_shufflevector(x, x, EACH_LANE(X_ORDER)), __builtin_shufflevector(y, y, EACH_LANE(Y_ORDER)),
                  __builtin_shufflevector(z, z, EACH_LANE(Z_ORDER))};
}

/* a b a b ... -> a a ..., b b ... */
#define UNZIP_EVEN(i) (2 * i)
#define UNZIP_ODD(i)  (2 * i + 1)

/* w x y z w x y z ... -> w w ..., x x ..., y y ..., z z ... */
ik_inline quat lanes_load_packed_quat(const char *from) {
    real a = real_load(from), b = real_load(from + sizeof a);
    real c = real_load(from + 2 * sizeof a), d = real_load(from + 3 * sizeof a);
    real wy = __builtin_shufflevector(a, b, EACH_LANE(UNZIP_EVEN)),
         wy2 = __builtin_shufflevector(c, d, EACH_LANE(UNZIP_EVEN));
    real xz = __builtin_shufflevector(a, b, EACH_LANE(UNZIP_ODD)),
         xz2 = __builtin_shufflevector(c, d, EACH_LANE(UNZIP_ODD));
    return (quat){__builtin_shufflevector(wy, wy2, EACH_LANE(UNZIP_EVEN)),
                  {__builtin_shufflevector(xz, xz2, EACH_LANE(UNZIP_EVEN)),
                   __builtin_shufflevector(wy, wy2, EACH_LANE(UNZIP_ODD)),
                   __builtin_shufflevector(xz, xz2, EACH_LANE(UNZIP_ODD))}};
}

/* a a ..., b b ... -> a b a b ...: the lower half of the lanes, and the upper. */
#define ZIP_LOW(i)  (i / 2 + i % 2 * LANES)
#define ZIP_HIGH(i) (i / 2 + i % 2 * LANES + LANES / 2)
/* ab ab ..., cd cd ... -> abcd abcd ...: likewise, in pairs. */
#define PAIR_LOW(i)  (i % 2 + i / 4 * 2 + i / 2 % 2 * LANES)
#define PAIR_HIGH(i) (i % 2 + i / 4 * 2 + i / 2 % 2 * LANES + LANES / 2)

/* Lanes to quads. */
ik_inline quads lanes_interleave(real a, real b, real c, real d) {
    real ab = __builtin_shufflevector(a, b, EACH_LANE(ZIP_LOW)),
         ab2 = __builtin_shufflevector(a, b, EACH_LANE(ZIP_HIGH));
    real cd = __builtin_shufflevector(c, d, EACH_LANE(ZIP_LOW)),
         cd2 = __builtin_shufflevector(c, d, EACH_LANE(ZIP_HIGH));
#if LANES == 2
    return (quads){{ab, cd, ab2, cd2}};
#else
    return (quads){{__builtin_shufflevector(ab, cd, EACH_LANE(PAIR_LOW)),
                    __builtin_shufflevector(ab, cd, EACH_LANE(PAIR_HIGH)),
                    __builtin_shufflevector(ab2, cd2, EACH_LANE(PAIR_LOW)),
                    __builtin_shufflevector(ab2, cd2, EACH_LANE(PAIR_HIGH))}};
#endif
}

#else

ik_inline vec3 lanes_load_packed_vec3(const char *from) {
    return (vec3){real_load(from), real_load(from + sizeof(real)), real_load(from + 2 * sizeof(real))};
}

ik_inline quat lanes_load_packed_quat(const char *from) {
    return (quat){real_load(from), lanes_load_packed_vec3(from + sizeof(real))};
}

ik_inline quads lanes_interleave(real a, real b, real c, real d) { return (quads){{a, b, c, d}}; }

#endif

#include "transpose.h"

/* Some columns of rows with any stride. */
ik_outline void lanes_gather(const ik_rows *rows, group at, int columns, number (*lane)[LANES]) {
    if (columns >= 3 && lanes_solid(rows, at)) {
        real r[4];
        columns == 3 ? lanes_load_solid(rows, at, 3, r) : lanes_load_solid(rows, at, 4, r);
        memcpy(lane, r, (size_t)columns * sizeof *r);
        return;
    }
    for (int k = 0; k < LANES; k++) {
        const char *row = lanes_row(rows, at, k < at.count ? k : at.count - 1);
        for (int column = 0; column < columns; column++)
            lane[column][k] = *(const number *)(row + column * lanes_step(rows));
    }
}

/* One column of the row that all lanes share. */
ik_inline real lanes_only(const ik_rows *rows, int column) {
    return real_splat(*(const number *)((const char *)rows->data + column * lanes_step(rows)));
}

ik_inline real lanes_load_real(const ik_rows *rows, group at) {
    if (lanes_packed(rows, at, 1)) return real_load(lanes_row(rows, at, 0));
    if (rows->stride == 0) return lanes_only(rows, 0);
    number lane[1][LANES];
    lanes_gather(rows, at, 1, lane);
    return real_load(lane[0]);
}

/* An option, or its default if it is not given. */
ik_inline real lanes_load_option(const ik_rows *rows, group at, number otherwise) {
    return rows->data ? lanes_load_real(rows, at) : real_splat(otherwise);
}

ik_inline vec3 lanes_load_vec3(const ik_rows *rows, group at) {
    if (lanes_packed(rows, at, 3)) return lanes_load_packed_vec3(lanes_row(rows, at, 0));
    if (rows->stride == 0) return (vec3){lanes_only(rows, 0), lanes_only(rows, 1), lanes_only(rows, 2)};
    number lane[3][LANES];
    lanes_gather(rows, at, 3, lane);
    return (vec3){real_load(lane[0]), real_load(lane[1]), real_load(lane[2])};
}

ik_inline quat lanes_load_quat(const ik_rows *rows, group at) {
    if (lanes_packed(rows, at, 4)) return lanes_load_packed_quat(lanes_row(rows, at, 0));
    if (rows->stride == 0)
        return (quat){lanes_only(rows, 0), {lanes_only(rows, 1), lanes_only(rows, 2), lanes_only(rows, 3)}};
    number lane[4][LANES];
    lanes_gather(rows, at, 4, lane);
    return (quat){real_load(lane[0]), {real_load(lane[1]), real_load(lane[2]), real_load(lane[3])}};
}

ik_inline mat3 lanes_load_mat3(const ik_rows rows[3], group at) {
    return (mat3){lanes_load_vec3(&rows[0], at), lanes_load_vec3(&rows[1], at), lanes_load_vec3(&rows[2], at)};
}

ik_inline void lanes_store_packed_quads(void *to, quads q) {
    EACH_UNROLLED (i, 4)
        real_store((char *)to + i * (int)sizeof(real), q.part[i]);
}

ik_outline void lanes_scatter(const ik_rows *rows, group at, int columns, number (*quad)[4]) {
    for (int k = 0; k < LANES && k < at.count; k++) {
        char *to = lanes_row(rows, at, k);
        if (lanes_step(rows) == sizeof(number))
            memcpy(to, quad[k], (size_t)columns * sizeof(number));
        else
            for (int i = 0; i < columns; i++)
                *(number *)(to + i * lanes_step(rows)) = quad[k][i];
    }
}

/* Stores quads to rows with any stride, and as many of their numbers as the rows have columns. */
ik_inline void lanes_store_quads(const ik_rows *rows, group at, int columns, quads q) {
    number quad[LANES][4];
    lanes_store_packed_quads(quad, q);
    lanes_scatter(rows, at, columns, quad);
}

ik_inline void lanes_store_vec3(const ik_rows *rows, group at, vec3 a) {
    if (!rows->data) return;
    lanes_store_quads(rows, at, 3, lanes_interleave(a.x, a.y, a.z, a.z));
}

ik_inline void lanes_store_quat(const ik_rows *rows, group at, quat q) {
    if (!rows->data) return;
    quads rotations = lanes_interleave(q.w, q.v.x, q.v.y, q.v.z);
    if (lanes_packed(rows, at, 4))
        lanes_store_packed_quads(lanes_row(rows, at, 0), rotations);
    else
        lanes_store_quads(rows, at, 4, rotations);
}

ik_inline void lanes_store_pair(const ik_rows *rows, group at, real a, real b) {
    if (!rows->data) return;
    lanes_store_quads(rows, at, 2, lanes_interleave(a, b, a, b));
}

/* Three vectors to three rows. If these form one row of nine numbers, two quads and one number are stored. */
ik_inline void lanes_store_3_vec3(const ik_rows rows[3], group at, const vec3 a[3]) {
    const ptrdiff_t size = sizeof(number);
    const char *first = rows[0].data;
    int one_row = first && rows[1].data == first + 3 * size && rows[2].data == first + 6 * size &&
                  lanes_packed(&rows[0], at, 9) && rows[1].stride == 9 * size && rows[2].stride == 9 * size;
    if (!one_row) {
        lanes_store_vec3(&rows[0], at, a[0]);
        lanes_store_vec3(&rows[1], at, a[1]);
        lanes_store_vec3(&rows[2], at, a[2]);
        return;
    }
    quads low = lanes_interleave(a[0].x, a[0].y, a[0].z, a[1].x);
    quads high = lanes_interleave(a[1].y, a[1].z, a[2].x, a[2].y);
    EACH_UNROLLED (k, LANES) {
        char *to = lanes_row(rows, at, k);
        memcpy(to, (char *)&low + k * 4 * size, 4 * sizeof(number));
        memcpy(to + 4 * size, (char *)&high + k * 4 * size, 4 * sizeof(number));
        memcpy(to + 8 * size, (char *)&a[2].z + k * size, sizeof(number));
    }
}

ik_inline void lanes_store_real(const ik_rows *rows, group at, real x) {
    if (!rows->data) return;
    if (lanes_packed(rows, at, 1)) {
        memcpy(lanes_row(rows, at, 0), &x, sizeof x);
        return;
    }
    number lane[LANES];
    memcpy(lane, &x, sizeof x);
    for (int k = 0; k < LANES && k < at.count; k++)
        *(number *)lanes_row(rows, at, k) = lane[k];
}

/* Status flags are int32_t in memory whatever a number is. */
ik_inline void lanes_store_status(const ik_rows *rows, group at, mask flags) {
    if (!rows->data) return;
    int32_t lane[LANES];
#if LANES > 1
    typedef int32_t narrow __attribute__((vector_size(sizeof lane)));
    narrow status = __builtin_convertvector(flags, narrow);
    if (at.count == LANES && !at.items && rows->stride == sizeof(int32_t)) {
        memcpy(lanes_row(rows, at, 0), &status, sizeof status);
        return;
    }
    memcpy(lane, &status, sizeof lane);
#else
    lane[0] = (int32_t)flags;
#endif
    for (int k = 0; k < LANES && k < at.count; k++)
        *(int32_t *)lanes_row(rows, at, k) = lane[k];
}

/* Loads the flags that lanes_store_status has stored, or the counts of lanes_store_count; 0 if not requested. */
ik_inline mask lanes_load_status(const ik_rows *rows, group at) {
    integer lane[LANES] = {0};
    mask flags;
    for (int k = 0; k < LANES && k < at.count && rows->data; k++)
        lane[k] = *(const int32_t *)lanes_row(rows, at, k);
    memcpy(&flags, lane, sizeof flags);
    return flags;
}

ik_inline real lanes_load_count(const ik_rows *rows, group at) {
    number lane[LANES] = {0};
    real x;
    for (int k = 0; k < LANES && k < at.count && rows->data; k++)
        lane[k] = (number)((const int32_t *)lanes_row(rows, at, k))[0];
    memcpy(&x, lane, sizeof x);
    return x;
}

/* Whole numbers to int32_t. */
ik_inline void lanes_store_count(const ik_rows *rows, group at, real x) {
    if (!rows->data) return;
    number lane[LANES];
    memcpy(lane, &x, sizeof x);
    for (int k = 0; k < LANES && k < at.count; k++)
        *(int32_t *)lanes_row(rows, at, k) = (int32_t)lane[k];
}

/* The row of one joint of every pose. It is seldom packed, so the code outlined above is inline here. */
ik_inline quat lanes_load_joint_quat(const ik_lists *lists, group at, int joint) {
    ik_rows rows = lanes_list_row(lists, joint);
    if (!lanes_solid(&rows, at)) return lanes_load_quat(&rows, at);
    real r[4];
    lanes_load_solid(&rows, at, 4, r);
    return (quat){r[0], {r[1], r[2], r[3]}};
}

ik_inline vec3 lanes_load_joint_vec3(const ik_lists *lists, group at, int joint) {
    ik_rows rows = lanes_list_row(lists, joint);
    if (!lanes_solid(&rows, at)) return lanes_load_vec3(&rows, at);
    real r[4];
    lanes_load_solid(&rows, at, 3, r);
    return (vec3){r[0], r[1], r[2]};
}

ik_inline void lanes_store_joint_quat(const ik_lists *lists, group at, int joint, quat q) {
    ik_rows rows = lanes_list_row(lists, joint);
    real r[4] = {q.w, q.v.x, q.v.y, q.v.z};
    if (rows.data && lanes_solid(&rows, at))
        lanes_store_solid(&rows, at, 4, r);
    else
        lanes_store_quat(&rows, at, q);
}

ik_inline void lanes_store_joint_vec3(const ik_lists *lists, group at, int joint, vec3 a) {
    ik_rows rows = lanes_list_row(lists, joint);
    real r[4] = {a.x, a.y, a.z, a.z};
    if (rows.data && lanes_solid(&rows, at))
        lanes_store_solid(&rows, at, 3, r);
    else
        lanes_store_vec3(&rows, at, a);
}

/* The rows of one joint are far apart, so the processor cannot predict the next access. If poses are contiguous, so is
 * the memory of the next group. The joint at each place in the order then prefetches one share of it. */
ik_inline void lanes_prefetch(const ik_lists *lists, group at, int place, int joints) {
#ifdef __GNUC__
    if (!lists->rows.data || lists->rows.stride != joints * lists->next) return;
    const char *next = lanes_row(&lists->rows, at, LANES) + place * LANES * lists->next;
    for (ptrdiff_t line = 0; line < LANES * lists->next; line += 64)
        __builtin_prefetch(next + line);
#endif
}
