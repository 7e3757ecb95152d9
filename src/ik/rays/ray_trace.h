/* One ray through one tree of triangles (ray_tree.h).
 *
 * Each ray is traced alone. The lanes are the eight children of a node, or the eight triangles of a block. They are
 * floats, with a margin above their round-off, so a rejected box or triangle is certainly not hit. The remaining
 * triangles are tested in doubles, and only this test decides. The result therefore depends neither on the instruction
 * set nor on the order of the traversal.
 *
 * Triangle test: Woop, Benthin, Wald, "Watertight Ray/Triangle Intersection" (2013). Projected along the ray, the
 * corners are points in a plane with the ray at its origin. The ray hits if the origin is on the same side of all three
 * edges. Two triangles with a common edge compute the same number for it, with opposite signs. Rounding is monotonic,
 * so a difference of two products never has the wrong sign: no ray passes between the triangles. */

/* A node or block that a ray enters, and the distance at which it does. */
typedef struct {
    float enter;
    int32_t child;
} ray_visit;

/* The data of a ray for the box and triangle tests, in the tree's space. The largest coordinate of its direction is 1.
 * It starts where it enters the tree's space, so its coordinates are about 1 however distant the origin is. */
typedef struct {
    int item; /* index in its block */
    /* boxes, in floats: indices of the bounds through which the ray enters and leaves a node */
    ptrdiff_t near[3], far[3];
    float at[3], inverse[3], end;
    /* triangles: the axes to the right, up and along the ray; shear of the first two along it */
    int front, axes[3];
    number origin[3], shear[2], sign;
    /* the nearest hit so far: a triangle of a block */
    number nearest;
    int32_t triangle, side;
    const tree_block *block;
    int place;
    /* current node or block, and those that wait */
    int32_t child;
    int top;
    ray_visit stack[TREE_STACK];
} ray;

/* --- boxes -------------------------------------------------------------------------------------------------------- */

ik_inline int lowest_bit(unsigned bits) {
#if defined(__GNUC__)
    return __builtin_ctz(bits);
#else
    int k = 0;
    for (; !(bits >> k & 1); k++) {
    }
    return k;
#endif
}

/* As many floats as fit into IK_BYTES, but at most the number of children. */
#if IK_BYTES == 0
typedef float floats;
typedef int32_t floats_mask;
#elif IK_BYTES == 16
typedef float floats __attribute__((vector_size(16)));
typedef int32_t floats_mask __attribute__((vector_size(16)));
#else
typedef float floats __attribute__((vector_size(32)));
typedef int32_t floats_mask __attribute__((vector_size(32)));
#endif
enum { FLOATS = sizeof(floats) / sizeof(float) };

ik_inline floats floats_splat(float x) {
#if IK_BYTES == 0
    return x;
#else
    return x - (floats){0};
#endif
}

ik_inline floats floats_load(const float *from) {
    floats x;
    memcpy(&x, from, sizeof x);
    return x;
}

ik_inline floats floats_abs(floats x) {
    floats_mask bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= INT32_MAX;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Written as loops, so that compilers turn each into one instruction. */
ik_inline floats floats_min(floats a, floats b) {
    float x[FLOATS], y[FLOATS];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (int k = 0; k < FLOATS; k++)
        x[k] = x[k] < y[k] ? x[k] : y[k];
    return floats_load(x);
}

ik_inline floats floats_max(floats a, floats b) {
    float x[FLOATS], y[FLOATS];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (int k = 0; k < FLOATS; k++)
        x[k] = x[k] > y[k] ? x[k] : y[k];
    return floats_load(x);
}

ik_inline floats_mask floats_not_more(floats a, floats b) {
#if IK_BYTES == 0
    return -(floats_mask)(a <= b);
#else
    return a <= b;
#endif
}

/* Bit k is set if lane k is true. */
ik_inline unsigned floats_bits(floats_mask found) {
#if IK_BYTES == 0
    return (unsigned)found & 1;
#else
    typedef uint64_t half __attribute__((vector_size(16)));
    static const int32_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    half part[sizeof found / 16], any = {0};
    floats_mask bit;
    memcpy(&bit, bits, sizeof bit);
    found &= bit;
    memcpy(part, &found, sizeof found);
    for (unsigned i = 0; i < sizeof found / 16; i++)
        any |= part[i];
    uint64_t both = any[0] | any[1];
    return (unsigned)(both | both >> 32);
#endif
}

/* The distance at which a ray ends for the box tests. */
ik_inline float ray_end(number nearest) { return (float)(nearest + nearest * TREE_SLACK + TREE_SLACK); }

/* The children of a node that the ray enters before its end, as bits, and the distances at which it enters them. */
ik_inline unsigned ray_enter(const ray *ray, const tree_node *node, float enter[TREE_WIDTH]) {
    unsigned found = 0;
    for (int k = 0; k < TREE_WIDTH; k += FLOATS) {
        floats in = floats_splat(0), out = floats_splat(ray->end);
        for (int axis = 0; axis < 3; axis++) {
            floats at = floats_splat(ray->at[axis]), inverse = floats_splat(ray->inverse[axis]);
            floats near = floats_load(node->bounds[ray->near[axis]] + k) - at;
            floats far = floats_load(node->bounds[ray->far[axis]] + k) - at;
            in = floats_max(near * inverse, in);
            out = floats_min(far * inverse, out);
        }
        memcpy(enter + k, &in, sizeof in);
        found |= floats_bits(floats_not_more(in, out)) << k;
    }
    return found;
}

/* --- triangles ---------------------------------------------------------------------------------------------------- */

/* Largest relative error of a corner projected along the ray in floats. */
static const float RAY_BLUR = 0x1p-17f;

/* The triangles of a block that the ray may hit, as bits. */
ik_inline unsigned ray_may_hit(const ray *ray, const tree_block *block) {
    unsigned found = 0;
    floats at[3], lean[2] = {floats_splat((float)ray->shear[0]), floats_splat((float)ray->shear[1])};
    for (int axis = 0; axis < 3; axis++)
        at[axis] = floats_splat((float)ray->origin[axis]);
    for (int k = 0; k < TREE_WIDTH; k += FLOATS) {
        floats x[3], y[3], size = floats_splat(RAY_BLUR);
        for (int i = 0; i < 3; i++) {
            floats z = floats_load(&block->high[i][ray->axes[2]][k]) - at[2];
            x[i] = floats_load(&block->high[i][ray->axes[0]][k]) - at[0] - lean[0] * z;
            y[i] = floats_load(&block->high[i][ray->axes[1]][k]) - at[1] - lean[1] * z;
            size += floats_abs(x[i]) + floats_abs(y[i]);
        }
        floats u = x[2] * y[1] - y[2] * x[1], v = x[0] * y[2] - y[0] * x[2], w = x[1] * y[0] - y[1] * x[0];
        floats blur = size * floats_splat(RAY_BLUR);
        floats_mask front = floats_not_more(u, blur) & floats_not_more(v, blur) & floats_not_more(w, blur);
        floats_mask back = floats_not_more(-u, blur) & floats_not_more(-v, blur) & floats_not_more(-w, blur);
        found |= floats_bits(front | back) << k;
    }
    return found;
}

/* Tests one triangle. A hit nearer than all earlier ones becomes the nearest. The sides of the edges are unpredictable,
 * so everything is computed and one branch decides. */
ik_inline void ray_test(ray *ray, const tree_block *block, int k) {
    number at[3][3], x[3], y[3], *z = at[2];
    for (int axis = 0; axis < 3; axis++) {
        const float *high = &block->high[0][ray->axes[axis]][k], *low = block->low[k][ray->axes[axis]];
        for (int i = 0; i < 3; i++)
            at[axis][i] = (number)high[i * 3 * TREE_WIDTH] + (number)low[i] - ray->origin[axis];
    }
    for (int i = 0; i < 3; i++) {
        x[i] = at[0][i] - ray->shear[0] * z[i];
        y[i] = at[1][i] - ray->shear[1] * z[i];
    }
    number u = x[2] * y[1] - y[2] * x[1], v = x[0] * y[2] - y[0] * x[2], w = x[1] * y[0] - y[1] * x[0];
    number sum = u + v + w;
    int front = (u >= 0) & (v >= 0) & (w >= 0), back = (u <= 0) & (v <= 0) & (w <= 0) & !ray->front;
    number way = (u * z[0] + v * z[1] + w * z[2]) * ray->sign / sum;
    int first = (way < ray->nearest) | ((way == ray->nearest) & (block->triangle[k] < ray->triangle));
    if (!((front | back) & (sum != 0) & (way >= 0) & first)) return;
    ray->nearest = way;
    ray->end = ray_end(way);
    ray->triangle = block->triangle[k];
    ray->side = front ? 1 : -1;
    ray->block = block;
    ray->place = k;
}

/* --- traversal of the tree ---------------------------------------------------------------------------------------- */

/* Pushes children onto the stack, the farthest first. */
ik_inline void ray_push(ray *ray, const tree_node *node, unsigned found, const float *enter) {
    for (int bottom = ray->top; found; found &= found - 1) {
        int k = lowest_bit(found), at = ray->top++;
        for (; at > bottom && ray->stack[at - 1].enter < enter[k]; at--)
            ray->stack[at] = ray->stack[at - 1];
        ray->stack[at] = (ray_visit){enter[k], node->child[k]};
    }
}

/* Takes the nearest waiting node or block. Returns 0 if none is left. */
ik_inline int ray_pop(ray *ray) {
    while (ray->top) {
        ray_visit next = ray->stack[--ray->top];
        ray->child = next.child;
        if (next.enter <= ray->end) return 1;
    }
    return 0;
}

/* Continues with the nearer of one or two children, without a branch on which it is. */
ik_inline void ray_descend(ray *ray, const tree_node *node, unsigned found, const float *enter) {
    unsigned rest = found & (found - 1);
    int one = lowest_bit(found), other = rest ? lowest_bit(rest) : one, turned = enter[other] < enter[one];
    int near = turned ? other : one, far = turned ? one : other;
    ray->child = node->child[near];
    ray->stack[ray->top] = (ray_visit){enter[far], node->child[far]};
    ray->top += rest != 0;
}

/* Visits one node or block. Returns 0 after the last one. */
ik_inline int ray_step(ray *ray, const ik_ray_tree *tree) {
    const tree_node *nodes = tree->memory;
    if (ray->child < 0) {
        const tree_block *block = (const tree_block *)(nodes + tree->nodes) + ~ray->child;
        for (unsigned found = ray_may_hit(ray, block); found; found &= found - 1)
            ray_test(ray, block, lowest_bit(found));
        return ray_pop(ray);
    }
    const tree_node *node = &nodes[ray->child];
    float enter[TREE_WIDTH];
    unsigned found = ray_enter(ray, node, enter), rest = found & (found - 1);
    if (found && !(rest & (rest - 1))) { /* usually one or two children */
        ray_descend(ray, node, found, enter);
        return 1;
    }
    ray_push(ray, node, found, enter);
    return ray_pop(ray);
}
