/* Rays to the nearest triangle of a tree (ray_tree.h).
 *
 * The lanes are the eight children of a node, or the eight triangles of a block. They are floats, with a margin for
 * what floats are off by: what they rule out is out. A triangle that is left is tested in doubles, and what it says
 * counts, so that neither the instruction set nor the way through the tree makes a difference.
 *
 * Triangles as in Woop, Benthin, Wald, "Watertight Ray/Triangle Intersection" (2013): seen along the ray, from its
 * origin, the corners are points in a plane, and the ray hits if the origin of that plane is on the same side of all
 * three edges. Two triangles with a common edge compute the same number for it, but for the sign, and rounding is
 * monotonic, so that a difference of two products never has the wrong sign: no ray gets between. */

enum { RAYS = 3 }; /* that are on their way at a time */

/* A node or block that a ray goes into, and where it does. */
typedef struct {
    float enter;
    int32_t child;
} ray_visit;

/* What of a ray the boxes and the triangles need, in the tree's space. The largest coordinate of its direction is 1. It
 * starts where it comes near the tree, so that its numbers are about 1, however far away the origin was. */
typedef struct {
    number origin[3], direction[3];
    number skipped; /* the way to its start, and as all ways below in units of the direction */
    number unit;    /* the length of one unit */
    int front;
    /* boxes, in floats: it goes in through rows near and out through rows far of a node */
    int near[3], far[3];
    float near_origin[3], far_origin[3], inverse[3], end;
    /* triangles: the axes to the right, up and along the ray, and how far the first two lean with it */
    int axes[3];
    number shear[2], sign;
    /* the nearest hit so far */
    number nearest;
    int32_t triangle, side;
    number normal[3];
    /* where it is in the tree, and what waits */
    ptrdiff_t item;
    int32_t child;
    int top;
    ray_visit stack[TREE_STACK];
} ray;

/* The coordinates of a tree are less than this. */
static const number RAY_SPACE = 4;

/* How much earlier a ray goes into a box and later out of it: more than floats of up to 4 * RAY_SPACE are off. */
static const number RAY_SLACK = 0x1p-17;

/* The smallest coordinate of a direction, so that its inverse is a number; and the largest inverse in floats, which
 * over the few units within the tree makes no difference. */
static const number RAY_FLATTEST = 0x1p-600, RAY_STEEPEST = 0x1p40;

ik_inline number number_abs(number x) { return x < 0 ? -x : x; }
ik_inline int number_is_finite(number x) { return x - x == 0; }

/* --- boxes ---------------------------------------------------------------------------------------------------------
 */

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

/* As many floats as there are bytes for, but no more than children. */
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

/* In loops compilers see that each is one instruction. */
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

/* Bit k says whether lane k is true. */
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

/* Where a ray ends for boxes. */
ik_inline float ray_end(number nearest) { return (float)(nearest + nearest * RAY_SLACK + RAY_SLACK); }

/* Starts the ray where it comes near the tree. 0: nowhere. */
ik_inline int ray_approach(ray *ray) {
    const number space = RAY_SPACE + RAY_SLACK;
    number in = 0, out = (number)INFINITY;
    for (int axis = 0; axis < 3; axis++) {
        int back = ray->direction[axis] < 0;
        number sign = (number)(1 - 2 * back), along = number_abs(ray->direction[axis]);
        number inverse = sign / (along < RAY_FLATTEST ? RAY_FLATTEST : along);
        number near = (-space * sign - ray->origin[axis]) * inverse;
        number far = (space * sign - ray->origin[axis]) * inverse;
        in = near > in ? near : in;
        out = far < out ? far : out;
        ray->near[axis] = back;
        ray->far[axis] = !back;
        ray->inverse[axis] = (float)(number_abs(inverse) > RAY_STEEPEST ? RAY_STEEPEST * sign : inverse);
    }
    ray->skipped = in;
    for (int axis = 0; axis < 3; axis++) {
        number slack = RAY_SLACK * (number)(1 - 2 * ray->near[axis]);
        ray->origin[axis] += in * ray->direction[axis];
        ray->near_origin[axis] = (float)(ray->origin[axis] + slack);
        ray->far_origin[axis] = (float)(ray->origin[axis] - slack);
    }
    return in <= out;
}

/* The children of a node that the ray goes into before its end, as bits, and where it does. */
ik_inline unsigned ray_enter(const ray *ray, const tree_node *node, float enter[TREE_WIDTH]) {
    unsigned found = 0;
    for (int k = 0; k < TREE_WIDTH; k += FLOATS) {
        floats in = floats_splat(0), out = floats_splat(ray->end);
        for (int axis = 0; axis < 3; axis++) {
            floats inverse = floats_splat(ray->inverse[axis]);
            floats near = floats_load(&node->bounds[ray->near[axis]][axis][k]) - floats_splat(ray->near_origin[axis]);
            floats far = floats_load(&node->bounds[ray->far[axis]][axis][k]) - floats_splat(ray->far_origin[axis]);
            in = floats_max(near * inverse, in);
            out = floats_min(far * inverse, out);
        }
        memcpy(enter + k, &in, sizeof in);
        found |= floats_bits(floats_not_more(in, out)) << k;
    }
    return found & ((1u << node->count) - 1);
}

/* --- triangles -----------------------------------------------------------------------------------------------------
 */

/* How far off a corner is that is seen along the ray in floats. */
static const float RAY_BLUR = 0x1p-17f;

ik_inline void ray_meet_triangles(ray *ray) {
    const number *direction = ray->direction;
    int along = 0;
    for (int axis = 1; axis < 3; axis++)
        if (number_abs(direction[axis]) > number_abs(direction[along])) along = axis;
    int back = direction[along] < 0; /* seen from the other side right is left */
    ray->axes[0] = (along + 1 + back) % 3;
    ray->axes[1] = (along + 2 - back) % 3;
    ray->axes[2] = along;
    ray->sign = back ? -1 : 1;
    ray->shear[0] = direction[ray->axes[0]] * ray->sign;
    ray->shear[1] = direction[ray->axes[1]] * ray->sign;
}

/* The triangles of a block that the ray may hit, as bits. */
ik_inline unsigned ray_may_hit(const ray *ray, const tree_block *block) {
    unsigned found = 0;
    floats at[3], lean[2] = {floats_splat((float)ray->shear[0]), floats_splat((float)ray->shear[1])};
    for (int axis = 0; axis < 3; axis++)
        at[axis] = floats_splat((float)ray->origin[ray->axes[axis]]);
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
    return found & ((1u << block->count) - 1);
}

/* Tests one triangle; a hit that is nearer than all before becomes the nearest. */
ik_inline void ray_test(ray *ray, const tree_block *block, int k) {
    number corner[3][3], x[3], y[3], z[3];
    for (int i = 0; i < 3; i++) {
        for (int axis = 0; axis < 3; axis++)
            corner[i][axis] = (number)block->high[i][axis][k] + (number)block->low[k][i][axis];
        z[i] = corner[i][ray->axes[2]] - ray->origin[ray->axes[2]];
        x[i] = corner[i][ray->axes[0]] - ray->origin[ray->axes[0]] - ray->shear[0] * z[i];
        y[i] = corner[i][ray->axes[1]] - ray->origin[ray->axes[1]] - ray->shear[1] * z[i];
    }
    number u = x[2] * y[1] - y[2] * x[1], v = x[0] * y[2] - y[0] * x[2], w = x[1] * y[0] - y[1] * x[0];
    number sum = u + v + w;
    int front = u >= 0 && v >= 0 && w >= 0, back = u <= 0 && v <= 0 && w <= 0;
    if (sum == 0 || !(front || (back && !ray->front))) return;
    number at = (u * z[0] + v * z[1] + w * z[2]) * ray->sign / sum;
    if (at < 0 || at > ray->nearest || (at == ray->nearest && block->triangle[k] > ray->triangle)) return;
    ray->nearest = at;
    ray->end = ray_end(at);
    ray->triangle = block->triangle[k];
    ray->side = front ? 1 : -1;
    for (int axis = 0; axis < 3; axis++) {
        int next = (axis + 1) % 3, last = (axis + 2) % 3;
        ray->normal[axis] = (corner[1][next] - corner[0][next]) * (corner[2][last] - corner[0][last]) -
                            (corner[1][last] - corner[0][last]) * (corner[2][next] - corner[0][next]);
    }
}

/* --- the way through the tree --------------------------------------------------------------------------------------
 */

/* Children go onto the stack the farthest first. */
ik_inline void ray_push(ray *ray, const tree_node *node, unsigned found, const float *enter) {
    for (int bottom = ray->top; found; found &= found - 1) {
        int k = lowest_bit(found), at = ray->top++;
        for (; at > bottom && ray->stack[at - 1].enter < enter[k]; at--)
            ray->stack[at] = ray->stack[at - 1];
        ray->stack[at] = (ray_visit){enter[k], node->child[k]};
    }
}

/* Takes what lies nearest of all that waits. 0: nothing is left. */
ik_inline int ray_pop(ray *ray) {
    while (ray->top) {
        ray_visit next = ray->stack[--ray->top];
        ray->child = next.child;
        if (next.enter <= ray->end) return 1;
    }
    return 0;
}

/* One node or block further. 0: that was the last. */
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
    unsigned found = ray_enter(ray, node, enter);
    if (found && !(found & (found - 1))) { /* as a rule */
        ray->child = node->child[lowest_bit(found)];
        return 1;
    }
    ray_push(ray, node, found, enter);
    return ray_pop(ray);
}

/* --- rows ----------------------------------------------------------------------------------------------------------
 */

ik_inline number ray_number(const ik_rows *rows, ptrdiff_t item, int column) {
    return *(const number *)((const char *)rows->data + item * rows->stride + column * rows->step);
}

ik_inline void ray_write(const ik_rows *rows, ptrdiff_t item, int column, number x) {
    if (rows->data) *(number *)((char *)rows->data + item * rows->stride + column * rows->step) = x;
}

ik_inline void ray_write_whole(const ik_rows *rows, ptrdiff_t item, int32_t x) {
    if (rows->data) *(int32_t *)((char *)rows->data + item * rows->stride) = x;
}

/* Takes a ray to the tree's space; its status. */
ik_inline int32_t ray_load(ray *ray, const ik_cast_job *job, ptrdiff_t item) {
    const ik_ray_tree *tree = job->tree;
    const number farthest = 1e100;
    number most = 0, squares = 0;
    int usable = 1;
    ray->front = job->front;
    ray->triangle = INT32_MAX;
    for (int axis = 0; axis < 3; axis++) {
        ray->origin[axis] = (ray_number(&job->origin, item, axis) - tree->centre[axis]) * tree->scale;
        ray->direction[axis] = ray_number(&job->direction, item, axis);
        usable &= number_abs(ray->origin[axis]) <= farthest && number_is_finite(ray->direction[axis]);
        most = number_abs(ray->direction[axis]) > most ? number_abs(ray->direction[axis]) : most;
    }
    if (!usable) return IK_NOT_FINITE;
    if (most == 0) return IK_NO_LENGTH;
    for (int axis = 0; axis < 3; axis++) {
        ray->direction[axis] /= most;
        squares += ray->direction[axis] * ray->direction[axis];
    }
    ray->unit = ik_tree_root(squares);
    return 0;
}

/* Sets out for the triangles within the length. 0: there are none. */
ik_inline int ray_start(ray *ray, const ik_ray_tree *tree, number length) {
    if (!tree->blocks || !ray_approach(ray)) return 0;
    ray->nearest = length * tree->scale / ray->unit - ray->skipped;
    if (!(ray->nearest >= 0)) return 0;
    ray->end = ray_end(ray->nearest);
    ray->child = tree->nodes ? 0 : ~0;
    ray->top = 0;
    ray_meet_triangles(ray);
    return 1;
}

ik_inline void ray_store(const ray *ray, const ik_cast_job *job, ptrdiff_t item) {
    number squares = 0;
    for (int axis = 0; axis < 3; axis++)
        squares += ray->normal[axis] * ray->normal[axis];
    number length = ik_tree_root(squares) * ray->side, way = (ray->skipped + ray->nearest) / job->tree->scale;
    ray_write(&job->distance, item, 0, way * ray->unit);
    for (int axis = 0; axis < 3; axis++) {
        number origin = ray_number(&job->origin, item, axis);
        ray_write(&job->point, item, axis, origin + way * ray->direction[axis]);
        ray_write(&job->normal, item, axis, ray->normal[axis] / length);
    }
    ray_write_whole(&job->triangle, item, ray->triangle);
    ray_write_whole(&job->side, item, ray->side);
}

ik_inline void ray_store_none(const ik_cast_job *job, ptrdiff_t item) {
    ray_write(&job->distance, item, 0, (number)INFINITY);
    for (int axis = 0; axis < 3; axis++) {
        ray_write(&job->point, item, axis, (number)NAN);
        ray_write(&job->normal, item, axis, (number)NAN);
    }
    ray_write_whole(&job->triangle, item, -1);
    ray_write_whole(&job->side, item, 0);
}

/* Begins with the next ray that has any way to go; those before it hit nothing. 0: there is none. */
ik_inline int ray_begin(ray *ray, const ik_cast_job *job, ptrdiff_t *next, ptrdiff_t last) {
    for (; *next < last; ++*next) {
        number length = job->length.data ? ray_number(&job->length, *next, 0) : (number)INFINITY;
        int32_t status = ray_load(ray, job, *next);
        ray_write_whole(&job->status, *next, status);
        if (!status && ray_start(ray, job->tree, length)) {
            ray->item = (*next)++;
            return 1;
        }
        ray_store_none(job, *next);
    }
    return 0;
}

/* Several rays go by turns, as each waits for memory and for its own last result most of the time. */
static void cast_rows(const ik_cast_job *job, ptrdiff_t first, ptrdiff_t last) {
    ray rays[RAYS];
    int count = 0;
    while (count < RAYS && ray_begin(&rays[count], job, &first, last))
        count++;
    while (count)
        for (int i = 0; i < count; i++) {
            if (ray_step(&rays[i], job->tree)) continue;
            if (rays[i].triangle != INT32_MAX)
                ray_store(&rays[i], job, rays[i].item);
            else
                ray_store_none(job, rays[i].item);
            if (!ray_begin(&rays[i], job, &first, last)) rays[i] = rays[--count];
        }
}
