/* Rays to the nearest triangle of a tree (ray_tree.h).
 *
 * One ray at a time; the lanes are the eight children of a node, or the eight triangles of a block. All eight are always
 * tested, so that every instruction set goes the same way and finds the same.
 *
 * Triangles as in Woop, Benthin, Wald, "Watertight Ray/Triangle Intersection" (2013): seen along the ray, from its
 * origin, the corners are points in a plane, and the ray hits if the origin of that plane is on the same side of all
 * three edges. Two triangles with a common edge compute the same number for it, but for the sign, and rounding is
 * monotonic, so that a difference of two products never has the wrong sign: no ray gets between.
 *
 * Only doubles have it: where floats are given, that they become doubles costs nothing beside the tree. */

/* What of a ray the boxes and the triangles need, in the tree's space. The longest coordinate of the direction is 1. */
typedef struct {
    number origin[3];
    number longest; /* how far one unit of the direction is, in the tree */
    int front;
    /* boxes: where the ray comes in and goes out is behind rows near and far of a node, a little apart */
    int near[3], far[3];
    number near_origin[3], far_origin[3], inverse[3];
    /* triangles: the axes to the right, up, and along the ray; how far the first two lean with it */
    int right, up, along;
    number shear[2], sign;
    /* the nearest hit so far, at `nearest` units of the direction */
    number nearest;
    int32_t triangle, side;
    number normal[3];
} ray;

/* A step aside that no rounding on the way to a box exceeds, of the larger of the tree and the distance to it. */
static const number RAY_SLACK = 0x1p-44;

/* The smallest coordinate of a direction beside the largest, 1, whose inverse overflows with nothing. */
static const number RAY_FLATTEST = 0x1p-60;

ik_inline number number_abs(number x) { return x < 0 ? -x : x; }

ik_inline number number_root(number x) { /* packed, as everywhere: see test_square_roots_are_packed */
    number roots[LANES];
    real_store(roots, real_sqrt(real_splat(x)));
    return roots[0];
}

ik_inline int number_is_finite(number x) { return x - x == 0; }

/* The lesser, or b where either is not a number: one instruction, of compilers that see it. */
ik_inline real lanes_min(real a, real b) {
    number x[LANES], y[LANES];
    real_store(x, a);
    real_store(y, b);
    for (int k = 0; k < LANES; k++)
        x[k] = x[k] < y[k] ? x[k] : y[k];
    return real_load(x);
}

ik_inline real lanes_max(real a, real b) {
    number x[LANES], y[LANES];
    real_store(x, a);
    real_store(y, b);
    for (int k = 0; k < LANES; k++)
        x[k] = x[k] > y[k] ? x[k] : y[k];
    return real_load(x);
}

/* Bit k says whether lane k is true. */
ik_inline unsigned mask_to_bits(mask m) {
#if IK_BYTES == 0
    return (unsigned)m & 1;
#else
#define LANE_BIT(k) (integer)1 << (k)
    typedef uint64_t half __attribute__((vector_size(16)));
    half part[IK_BYTES / 16], any = {0};
    m &= (mask){EACH_LANE(LANE_BIT)};
    memcpy(part, &m, sizeof m);
    for (int i = 0; i < IK_BYTES / 16; i++)
        any |= part[i];
    return (unsigned)(any[0] | any[1]);
#undef LANE_BIT
#endif
}

/* --- boxes ---------------------------------------------------------------------------------------------------------
 */

ik_inline void ray_meet_boxes(ray *ray) {
    number size = 1;
    for (int axis = 0; axis < 3; axis++)
        size = number_abs(ray->origin[axis]) > size ? number_abs(ray->origin[axis]) : size;
    for (int axis = 0; axis < 3; axis++) {
        number slack = size * RAY_SLACK, along = ray->inverse[axis]; /* still the direction */
        int back = along < 0;
        if (number_abs(along) < RAY_FLATTEST) along = back ? -RAY_FLATTEST : RAY_FLATTEST;
        ray->inverse[axis] = 1 / along;
        ray->near[axis] = back;
        ray->far[axis] = !back;
        ray->near_origin[axis] = ray->origin[axis] + (back ? -slack : slack);
        ray->far_origin[axis] = ray->origin[axis] - (back ? -slack : slack);
    }
}

/* The children of a node that the ray enters before its nearest hit, as bits, and where it does. */
ik_inline unsigned ray_enter(const ray *ray, const tree_node *node, number enter[TREE_WIDTH]) {
    unsigned found = 0;
    for (int k = 0; k < TREE_WIDTH; k += LANES) {
        real in = real_splat(0), out = real_splat(ray->nearest);
        for (int axis = 0; axis < 3; axis++) {
            real inverse = real_splat(ray->inverse[axis]);
            real near = real_load(&node->bounds[ray->near[axis]][axis][k]) - real_splat(ray->near_origin[axis]);
            real far = real_load(&node->bounds[ray->far[axis]][axis][k]) - real_splat(ray->far_origin[axis]);
            in = lanes_max(near * inverse, in);
            out = lanes_min(far * inverse, out);
        }
        real_store(enter + k, in);
        found |= mask_to_bits(~mask_less(out, in)) << k;
    }
    return found & ((1u << node->count) - 1);
}

/* --- triangles -----------------------------------------------------------------------------------------------------
 */

ik_inline void ray_meet_triangles(ray *ray, const number direction[3]) {
    int along = 0;
    for (int axis = 1; axis < 3; axis++)
        if (number_abs(direction[axis]) > number_abs(direction[along])) along = axis;
    int back = direction[along] < 0; /* seen from the other side right is left */
    ray->along = along;
    ray->right = (along + 1 + back) % 3;
    ray->up = (along + 2 - back) % 3;
    ray->sign = back ? -1 : 1;
    ray->shear[0] = direction[ray->right] * ray->sign;
    ray->shear[1] = direction[ray->up] * ray->sign;
}

/* The hit on one triangle becomes the nearest. Its normal is found here, as few hits are. */
ik_inline void ray_hit(ray *ray, const tree_block *block, int k, number at) {
    number u[3], v[3];
    for (int axis = 0; axis < 3; axis++) {
        u[axis] = block->vertices[1][axis][k] - block->vertices[0][axis][k];
        v[axis] = block->vertices[2][axis][k] - block->vertices[0][axis][k];
    }
    ray->nearest = at;
    ray->triangle = block->triangle[k];
    for (int axis = 0; axis < 3; axis++)
        ray->normal[axis] = u[(axis + 1) % 3] * v[(axis + 2) % 3] - u[(axis + 2) % 3] * v[(axis + 1) % 3];
}

ik_inline void ray_test(ray *ray, const tree_block *block) {
    const real zero = real_splat(0);
    for (int k = 0; k < TREE_WIDTH; k += LANES) {
        real x[3], y[3], z[3];
        for (int i = 0; i < 3; i++) {
            z[i] = real_load(&block->vertices[i][ray->along][k]) - real_splat(ray->origin[ray->along]);
            x[i] = real_load(&block->vertices[i][ray->right][k]) - real_splat(ray->origin[ray->right]) -
                   real_splat(ray->shear[0]) * z[i];
            y[i] = real_load(&block->vertices[i][ray->up][k]) - real_splat(ray->origin[ray->up]) -
                   real_splat(ray->shear[1]) * z[i];
        }
        real u = x[2] * y[1] - y[2] * x[1], v = x[0] * y[2] - y[0] * x[2], w = x[1] * y[0] - y[1] * x[0];
        real sum = u + v + w; /* its sign says which side is hit */
        mask back = mask_less(lanes_min(lanes_min(u, v), w), zero), front = mask_less(zero, lanes_max(lanes_max(u, v), w));
        mask found = ~(back & front) & ~mask_equal(sum, zero);
        if (ray->front) found &= ~front;
        if (!mask_any(found)) continue;
        real at = (u * z[0] + v * z[1] + w * z[2]) * real_splat(ray->sign) / sum;
        found &= ~mask_less(at, zero) & ~mask_less(real_splat(ray->nearest), at);
        number ats[LANES], sums[LANES];
        real_store(ats, at);
        real_store(sums, sum);
        for (unsigned left = mask_to_bits(found), lane = 0; left; left >>= 1, lane++) {
            if (!(left & 1) || ats[lane] > ray->nearest) continue;
            if (ats[lane] == ray->nearest && block->triangle[k + lane] > ray->triangle) continue;
            ray_hit(ray, block, k + (int)lane, ats[lane]);
            ray->side = sums[lane] < 0 ? 1 : -1;
        }
    }
}

/* --- the way through the tree --------------------------------------------------------------------------------------
 */

typedef struct {
    number enter;
    int32_t child;
} ray_visit;

/* Children go onto the stack the farthest first. */
ik_inline int ray_push(ray_visit *stack, int top, const tree_node *node, unsigned found, const number *enter) {
    int bottom = top;
    for (int k = 0; found; found >>= 1, k++) {
        if (!(found & 1)) continue;
        int at = top++;
        for (; at > bottom && stack[at - 1].enter < enter[k]; at--)
            stack[at] = stack[at - 1];
        stack[at] = (ray_visit){enter[k], node->child[k]};
    }
    return top;
}

ik_inline void ray_find(ray *ray, const ik_ray_tree *tree) {
    const tree_node *nodes = tree->memory;
    const tree_block *blocks = (const tree_block *)(nodes + tree->nodes);
    ray_visit stack[TREE_STACK];
    int top = 0;
    if (tree->blocks) stack[top++] = (ray_visit){0, tree->nodes ? 0 : ~0};
    while (top) {
        ray_visit next = stack[--top];
        if (next.enter > ray->nearest) continue;
        if (next.child < 0) {
            ray_test(ray, &blocks[~next.child]);
        } else {
            number enter[TREE_WIDTH];
            unsigned found = ray_enter(ray, &nodes[next.child], enter);
            top = ray_push(stack, top, &nodes[next.child], found, enter);
        }
    }
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
    number direction[3], most = 0, squares = 0;
    int usable = 1;
    for (int axis = 0; axis < 3; axis++) {
        ray->origin[axis] = (ray_number(&job->origin, item, axis) - tree->centre[axis]) * tree->scale;
        direction[axis] = ray_number(&job->direction, item, axis);
        usable &= number_abs(ray->origin[axis]) <= farthest && number_is_finite(direction[axis]);
        most = number_abs(direction[axis]) > most ? number_abs(direction[axis]) : most;
    }
    if (!usable) return IK_NOT_FINITE;
    if (most == 0) return IK_NO_LENGTH;
    for (int axis = 0; axis < 3; axis++) {
        direction[axis] /= most;
        squares += direction[axis] * direction[axis];
        ray->inverse[axis] = direction[axis];
    }
    ray->longest = number_root(squares);
    ray_meet_boxes(ray);
    ray_meet_triangles(ray, direction);
    number length = job->length.data ? ray_number(&job->length, item, 0) : (number)INFINITY;
    ray->nearest = length * tree->scale / ray->longest;
    return 0;
}

ik_inline void ray_store(const ray *ray, const ik_cast_job *job, ptrdiff_t item) {
    int hit = ray->triangle != INT32_MAX;
    number squares = 0, nan = (number)NAN;
    for (int axis = 0; axis < 3; axis++)
        squares += ray->normal[axis] * ray->normal[axis];
    number length = hit ? number_root(squares) * ray->side : 1;
    for (int axis = 0; axis < 3; axis++)
        ray_write(&job->normal, item, axis, hit ? ray->normal[axis] / length : nan);
    number distance = ray->nearest * ray->longest / job->tree->scale;
    ray_write(&job->distance, item, 0, hit ? distance : (number)INFINITY);
    ray_write_whole(&job->triangle, item, hit ? ray->triangle : -1);
    ray_write_whole(&job->side, item, hit ? ray->side : 0);
}

static void cast_rows(const ik_cast_job *job, ptrdiff_t first, ptrdiff_t last) {
    for (ptrdiff_t item = first; item < last; item++) {
        ray ray = {.front = job->front, .triangle = INT32_MAX};
        int32_t status = ray_load(&ray, job, item);
        if (!status && ray.nearest >= 0) ray_find(&ray, job->tree);
        ray_store(&ray, job, item);
        ray_write_whole(&job->status, item, status);
    }
}
