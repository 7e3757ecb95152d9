/* Between rows in memory and lanes of a real: row first + k of a group goes to lane k.
 *
 * A group at the end of a batch may have fewer rows than lanes: its last row fills the rest, so that no lane ever
 * computes on garbage, and only its own rows are written. */

/* Rows [first, first + count) of a batch, 1 <= count <= LANES. */
typedef struct {
    ptrdiff_t first;
    int count;
} group;

ik_inline mask lanes_given(const ik_rows *rows) { return mask_splat(rows->data ? -1 : 0); }

ik_inline char *lanes_row(const ik_rows *rows, group at, int lane) {
    return (char *)rows->data + (at.first + (lane < at.count ? lane : at.count - 1)) * rows->stride;
}

ik_inline real lanes_load(const ik_rows *rows, group at, int column) {
    number lane[LANES];
    for (int k = 0; k < LANES; k++)
        lane[k] = *(const number *)(lanes_row(rows, at, k) + column * rows->step);
    real x;
    memcpy(&x, lane, sizeof x);
    return x;
}

ik_inline void lanes_store(const ik_rows *rows, group at, int column, real x) {
    number lane[LANES];
    memcpy(lane, &x, sizeof x);
    for (int k = 0; k < at.count; k++)
        *(number *)(lanes_row(rows, at, k) + column * rows->step) = lane[k];
}

ik_inline vec3 lanes_load_vec3(const ik_rows *rows, group at) {
    if (!rows->data) return vec3_splat(0, 0, 0);
    return (vec3){lanes_load(rows, at, 0), lanes_load(rows, at, 1), lanes_load(rows, at, 2)};
}

ik_inline void lanes_store_real(const ik_rows *rows, group at, real x) {
    if (rows->data) lanes_store(rows, at, 0, x);
}

ik_inline void lanes_store_vec3(const ik_rows *rows, group at, vec3 a) {
    if (!rows->data) return;
    lanes_store(rows, at, 0, a.x);
    lanes_store(rows, at, 1, a.y);
    lanes_store(rows, at, 2, a.z);
}

ik_inline void lanes_store_quat(const ik_rows *rows, group at, quat q) {
    if (!rows->data) return;
    lanes_store(rows, at, 0, q.w);
    lanes_store(rows, at, 1, q.v.x);
    lanes_store(rows, at, 2, q.v.y);
    lanes_store(rows, at, 3, q.v.z);
}

/* Status flags are int32_t in memory whatever a number is. */
ik_inline void lanes_store_status(const ik_rows *rows, group at, mask flags) {
    integer lane[LANES];
    memcpy(lane, &flags, sizeof flags);
    for (int k = 0; rows->data && k < at.count; k++)
        *(int32_t *)lanes_row(rows, at, k) = (int32_t)lane[k];
}
