/* Contiguous rows of two to four numbers to lanes and back, by shuffles. */

/* Each row is contiguous, with any distance between rows, as for one joint of many poses. Rows are loaded in pieces of
 * 16 bytes. Shuffles within 16 bytes then transpose them into lanes. */
ik_inline int lanes_solid(const ik_rows *rows, group at) {
    return at.count == LANES && lanes_step(rows) == sizeof(number);
}

#if LANES > 1

typedef number piece __attribute__((vector_size(16)));
enum { PIECE = 16 / sizeof(number), PIECES = IK_BYTES / 16 };

#define SAME(i)       (i)
#define IN_PIECE_1(i) (i + PIECE)
#define IN_PIECE_2(i) (i + 2 * PIECE)
#define IN_PIECE_3(i) (i + 3 * PIECE)
#if IK_BITS == 32
#define EACH_OF_PIECE(f) f(0), f(1), f(2), f(3)
#define EACH_OF_TWO(f)   f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)
#else
#define EACH_OF_PIECE(f) f(0), f(1)
#define EACH_OF_TWO(f)   f(0), f(1), f(2), f(3)
#endif

ik_inline real lanes_join(const piece *p) {
#if IK_BYTES == 16
    return p[0];
#elif IK_BYTES == 32
    return __builtin_shufflevector(p[0], p[1], EACH_LANE(SAME));
#else
    typedef number two __attribute__((vector_size(32)));
    two low = __builtin_shufflevector(p[0], p[1], EACH_OF_TWO(SAME));
    two high = __builtin_shufflevector(p[2], p[3], EACH_OF_TWO(SAME));
    return __builtin_shufflevector(low, high, EACH_LANE(SAME));
#endif
}

ik_inline void lanes_split(real a, piece *p) {
    p[0] = __builtin_shufflevector(a, a, EACH_OF_PIECE(SAME));
#if IK_BYTES >= 32
    p[1] = __builtin_shufflevector(a, a, EACH_OF_PIECE(IN_PIECE_1));
#endif
#if IK_BYTES == 64
    p[2] = __builtin_shufflevector(a, a, EACH_OF_PIECE(IN_PIECE_2));
    p[3] = __builtin_shufflevector(a, a, EACH_OF_PIECE(IN_PIECE_3));
#endif
}

ik_inline piece piece_load(const char *from) {
    piece p;
    memcpy(&p, from, sizeof p);
    return p;
}

#if IK_BITS == 32

/* In every four lanes: number k of vector i becomes number i of vector k. */
#define UNPACK_LOW(i)  (i / 4 * 4 + i % 4 / 2 + i % 2 * LANES)
#define UNPACK_HIGH(i) (i / 4 * 4 + i % 4 / 2 + i % 2 * LANES + 2)
#define PAIRS_LOW(i)   (i / 4 * 4 + i % 2 + i % 4 / 2 * LANES)
#define PAIRS_HIGH(i)  (i / 4 * 4 + i % 2 + i % 4 / 2 * LANES + 2)
ik_inline void lanes_transpose(real r[4]) {
    real low = __builtin_shufflevector(r[0], r[1], EACH_LANE(UNPACK_LOW));
    real high = __builtin_shufflevector(r[0], r[1], EACH_LANE(UNPACK_HIGH));
    real low2 = __builtin_shufflevector(r[2], r[3], EACH_LANE(UNPACK_LOW));
    real high2 = __builtin_shufflevector(r[2], r[3], EACH_LANE(UNPACK_HIGH));
    r[0] = __builtin_shufflevector(low, low2, EACH_LANE(PAIRS_LOW));
    r[1] = __builtin_shufflevector(low, low2, EACH_LANE(PAIRS_HIGH));
    r[2] = __builtin_shufflevector(high, high2, EACH_LANE(PAIRS_LOW));
    r[3] = __builtin_shufflevector(high, high2, EACH_LANE(PAIRS_HIGH));
}

/* A double serves as a container that moves two floats in one instruction. */
typedef double two_pairs __attribute__((vector_size(16)));

/* Three numbers of a piece. The fourth may lie outside the array, so it is not read. */
ik_inline piece piece_load_three(const char *from) {
    double pair;
    memcpy(&pair, from, sizeof pair);
    piece p = (piece)(two_pairs){pair, 0};
    p[2] = ((const number *)from)[2];
    return p;
}

ik_inline void piece_store_three(char *to, piece p) {
    double pair = ((two_pairs)p)[0];
    memcpy(to, &pair, sizeof pair);
    ((number *)to)[2] = p[2];
}

ik_inline void lanes_load_solid(const ik_rows *rows, group at, int columns, real r[4]) {
    EACH_UNROLLED (i, 4) {
        piece p[PIECES];
        EACH_UNROLLED (k, PIECES) {
            const char *row = lanes_row(rows, at, 4 * k + i);
            p[k] = columns == 4 ? piece_load(row) : piece_load_three(row);
        }
        r[i] = lanes_join(p);
    }
    lanes_transpose(r);
}

ik_inline void lanes_store_solid(const ik_rows *rows, group at, int columns, real r[4]) {
    lanes_transpose(r);
    EACH_UNROLLED (i, 4) {
        piece p[PIECES];
        lanes_split(r[i], p);
        EACH_UNROLLED (k, PIECES) {
            char *row = lanes_row(rows, at, 4 * k + i);
            if (columns == 4)
                memcpy(row, &p[k], sizeof p[k]);
            else
                piece_store_three(row, p[k]);
        }
    }
}

#else

/* In every two lanes: number k of vector i becomes number i of vector k. */
#define UNPACK_LOW(i)  (i / 2 * 2 + i % 2 * LANES)
#define UNPACK_HIGH(i) (i / 2 * 2 + i % 2 * LANES + 1)
ik_inline void lanes_transpose(real r[2]) {
    real low = __builtin_shufflevector(r[0], r[1], EACH_LANE(UNPACK_LOW));
    r[1] = __builtin_shufflevector(r[0], r[1], EACH_LANE(UNPACK_HIGH));
    r[0] = low;
}

/* Loads two numbers of every row at a time. */
ik_inline void lanes_load_solid(const ik_rows *rows, group at, int columns, real r[4]) {
    EACH_UNROLLED (half, columns / 2) {
        EACH_UNROLLED (i, 2) {
            piece p[PIECES];
            EACH_UNROLLED (k, PIECES)
                p[k] = piece_load(lanes_row(rows, at, 2 * k + i) + half * 16);
            r[2 * half + i] = lanes_join(p);
        }
        lanes_transpose(r + 2 * half);
    }
    if (columns == 4) return;
    piece p[PIECES];
    EACH_UNROLLED (k, PIECES)
        p[k] = (piece){((const number *)lanes_row(rows, at, 2 * k))[2],
                       ((const number *)lanes_row(rows, at, 2 * k + 1))[2]};
    r[2] = lanes_join(p);
}

ik_inline void lanes_store_solid(const ik_rows *rows, group at, int columns, real r[4]) {
    piece p[PIECES];
    EACH_UNROLLED (half, columns / 2) {
        lanes_transpose(r + 2 * half);
        EACH_UNROLLED (i, 2) {
            lanes_split(r[2 * half + i], p);
            EACH_UNROLLED (k, PIECES)
                memcpy(lanes_row(rows, at, 2 * k + i) + half * 16, &p[k], sizeof p[k]);
        }
    }
    if (columns == 4) return;
    lanes_split(r[2], p);
    EACH_UNROLLED (k, PIECES)
        EACH_UNROLLED (i, 2)
            ((number *)lanes_row(rows, at, 2 * k + i))[2] = p[k][i];
}

#endif

#else

ik_inline void lanes_load_solid(const ik_rows *rows, group at, int columns, real r[4]) {
    memcpy(r, lanes_row(rows, at, 0), (size_t)columns * sizeof(number));
}
ik_inline void lanes_store_solid(const ik_rows *rows, group at, int columns, const real r[4]) {
    memcpy(lanes_row(rows, at, 0), r, (size_t)columns * sizeof(number));
}

#endif
