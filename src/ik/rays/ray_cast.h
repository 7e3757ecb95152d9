/* Ray casting: the nearest hit among several bodies, which are trees of triangles (ray_tree.h) and planes.
 *
 * Rays are prepared in blocks, in lanes of doubles, and tested against one body after the other. The hits are stored in
 * lanes again. A matrix places each body. It changes neither the order of points along a ray nor their distance in
 * units of its direction. All distances are therefore in these units and compare across bodies. Rays in a tree are
 * traced one by one (ray_trace.h). */

enum {
    RAY_BLOCK = 64, /* rays prepared together: a multiple of the lanes, and small enough for the L1 cache */
    RAYS = 3,       /* rays traced through a tree at the same time, interleaved */
};

typedef number ray_row[RAY_BLOCK];

/* Some rays of a job and their nearest hits so far, stored by coordinate for vector loads. */
typedef struct {
    int count, chosen;
    ptrdiff_t first, listed[RAY_BLOCK]; /* consecutive rays from `first`; or, if chosen, the listed ones */
    ray_row origin[3], direction[3];    /* in the world; the largest coordinate of a direction is 1 */
    ray_row unit;                       /* the length of a direction: `way` is in this unit */
    integer status[RAY_BLOCK];
    ray_row way, side, triangle, body, normal[3]; /* way: distance to the hit or, if side is 0, to the end */
} ray_block;

/* The same rays in the space of a body; after `approach`, in the space of its tree. */
typedef struct {
    const ik_ray_tree *tree;
    int front, next; /* next: the first ray not started */
    ray_row origin[3], direction[3], inverse[3];
    ray_row stretch;         /* ratio of the direction's scale in this space to that in the world */
    ray_row skipped, length; /* distance to the tree's space, and from there to the ray's end; negative: not near */
} ray_local;

/* Upper bound of the absolute coordinates in a tree. */
static const number RAY_SPACE = 4;

/* Largest distance of a ray's origin from a tree, in its space. */
static const number RAY_FARTHEST = 1e100;

/* The smallest coordinate of a direction, so that its inverse is finite; and the largest inverse in floats. Within a
 * tree, which is a few units wide, the latter changes no result. */
static const number RAY_FLATTEST = 0x1p-600, RAY_STEEPEST = 0x1p40;

/* --- blocks of rays ----------------------------------------------------------------------------------------------- */

#define EACH_LANES(at, block) for (int at = 0; at < (block)->count; at += LANES)

ik_inline vec3 rays_vec3(const ray_row rows[3], int at) {
    return (vec3){real_load(rows[0] + at), real_load(rows[1] + at), real_load(rows[2] + at)};
}

ik_inline void rays_set_vec3(ray_row rows[3], int at, vec3 a) {
    real_store(rows[0] + at, a.x);
    real_store(rows[1] + at, a.y);
    real_store(rows[2] + at, a.z);
}

ik_inline mask rays_status(const ray_block *block, int at) {
    mask status;
    memcpy(&status, block->status + at, sizeof status);
    return status;
}

ik_inline void rays_set_status(ray_block *block, int at, mask status) {
    memcpy(block->status + at, &status, sizeof status);
}

ik_inline vec3 vec3_over(vec3 a, real b) { return (vec3){a.x / b, a.y / b, a.z / b}; }

/* The rows of the job that belong to the rays of some lanes. */
ik_inline group rays_group(const ray_block *block, int at) {
    int left = block->count - at;
    return (group){block->first + at, left < LANES ? left : LANES, block->chosen ? block->listed + at : NULL};
}

/* Fills the block with the next rays. Returns the first one that is left. */
ik_inline ptrdiff_t rays_take(ray_block *block, const ik_cast_job *job, ptrdiff_t first, ptrdiff_t last) {
    block->first = first;
    block->chosen = job->chosen.data != NULL;
    block->count = last - first < RAY_BLOCK ? (int)(last - first) : RAY_BLOCK;
    if (!block->chosen) return first + block->count;
    for (block->count = 0; first < last && block->count < RAY_BLOCK; first++) {
        block->listed[block->count] = first;
        block->count += *((const char *)job->chosen.data + first * job->chosen.stride) != 0;
    }
    return first;
}

ik_inline void rays_load(ray_block *block, const ik_cast_job *job) {
    EACH_LANES(at, block) {
        group items = rays_group(block, at);
        vec3 origin = lanes_load_vec3(&job->origin, items), direction = lanes_load_vec3(&job->direction, items);
        mask finite = vec3_is_finite(origin) & vec3_is_finite(direction);
        real largest = vec3_largest(direction);
        mask flat = mask_equal(largest, real_splat(0));
        direction = vec3_over(direction, real_select(flat, real_splat(1), largest));
        real unit = vec3_length(direction), length = lanes_load_option(&job->length, items, (number)INFINITY);
        rays_set_status(block, at, mask_select(finite, flat & mask_splat(IK_NO_LENGTH), mask_splat(IK_NOT_FINITE)));
        rays_set_vec3(block->origin, at, origin);
        rays_set_vec3(block->direction, at, direction);
        real_store(block->unit + at, unit);
        real_store(block->way + at, length / unit);
        real_store(block->side + at, real_splat(0));
        real_store(block->triangle + at, real_splat(-1));
        real_store(block->body + at, real_splat(-1));
        rays_set_vec3(block->normal, at, vec3_splat(0, 0, 0));
    }
}

ik_inline void rays_store(const ray_block *block, const ik_cast_job *job) {
    EACH_LANES(at, block) {
        group items = rays_group(block, at);
        real way = real_load(block->way + at), side = real_load(block->side + at), minus = real_splat(-1);
        mask status = rays_status(block, at), none = mask_equal(side, real_splat(0)) | ~mask_zero(status);
        vec3 nowhere = {real_nan(), real_nan(), real_nan()}, normal = rays_vec3(block->normal, at);
        vec3 point = vec3_add(rays_vec3(block->origin, at), vec3_scale(way, rays_vec3(block->direction, at)));
        real distance = real_select(none, real_splat((number)INFINITY), way * real_load(block->unit + at));
        normal = vec3_over(normal, vec3_length(normal) * side);
        lanes_store_real(&job->distance, items, distance);
        lanes_store_vec3(&job->point, items, vec3_select(none, nowhere, point));
        lanes_store_vec3(&job->normal, items, vec3_select(none, nowhere, normal));
        lanes_store_count(&job->triangle, items, real_select(none, minus, real_load(block->triangle + at)));
        lanes_store_count(&job->side, items, real_select(none, real_splat(0), side));
        lanes_store_count(&job->body, items, real_select(none, minus, real_load(block->body + at)));
        lanes_store_status(&job->status, items, status);
    }
}

/* --- bodies ------------------------------------------------------------------------------------------------------- */

/* The row of the body's placement that applies to a ray. */
ik_inline ptrdiff_t ray_frame(const ray_block *block, const ik_cast_job *job, int at) {
    return (block->chosen ? block->listed[at] : block->first + at) / job->each;
}

ik_inline vec3 local_turned(const ik_rows *matrix, group frames, vec3 a) {
    ik_rows rows[3] = {*matrix, lanes_column(matrix, 3), lanes_column(matrix, 6)};
    mat3 m = lanes_load_mat3(rows, frames);
    return (vec3){vec3_dot(m.x, a), vec3_dot(m.y, a), vec3_dot(m.z, a)};
}

/* Transforms rays to the space of a body. */
ik_inline void local_load(ray_local *local, const ray_block *block, const ik_cast_job *job, const ik_ray_body *body) {
    int placed = body->translation.data || body->to_local.data;
    EACH_LANES(at, block) {
        vec3 origin = rays_vec3(block->origin, at), direction = rays_vec3(block->direction, at);
        real stretch = real_splat(1);
        ptrdiff_t rows[LANES];
        group frames = {0, LANES, rows};
        for (int k = 0; placed && k < LANES; k++)
            rows[k] = ray_frame(block, job, at + k < block->count ? at + k : block->count - 1);
        if (body->translation.data) origin = vec3_sub(origin, lanes_load_vec3(&body->translation, frames));
        if (body->to_local.data) {
            origin = local_turned(&body->to_local, frames, origin);
            direction = local_turned(&body->to_local, frames, direction);
            stretch = vec3_largest(direction);
            direction = vec3_over(direction, stretch);
        }
        rays_set_vec3(local->origin, at, origin);
        rays_set_vec3(local->direction, at, direction);
        real_store(local->stretch + at, stretch);
    }
}

/* Records a hit of a body if it is nearer than those of earlier bodies. */
ik_inline void ray_hit(ray_block *block, const ik_cast_job *job, int body, int item, number way, int side,
                       int32_t triangle, const number normal[3]) {
    if (block->side[item] != 0 && way >= block->way[item]) return;
    const ik_rows *matrix = &job->bodies[body].to_local;
    for (int axis = 0; axis < 3; axis++) {
        number turned = 0; /* normals are transformed back by the transpose of the matrix that transforms points */
        for (int k = 0; matrix->data && k < 3; k++) {
            const char *row = (const char *)matrix->data + ray_frame(block, job, item) * matrix->stride;
            turned += *(const number *)(row + (3 * k + axis) * lanes_step(matrix)) * normal[k];
        }
        block->normal[axis][item] = matrix->data ? turned : normal[axis];
    }
    block->way[item] = way;
    block->side[item] = side;
    block->triangle[item] = triangle;
    block->body[item] = body;
}

ik_inline void cast_at_plane(ray_block *block, const ray_local *local, const ik_cast_job *job, int body) {
    const ik_ray_body *plane = &job->bodies[body];
    vec3 normal = vec3_splat(plane->normal[0], plane->normal[1], plane->normal[2]);
    ray_row ways, slopes;
    EACH_LANES(at, block) {
        real slope = vec3_dot(rays_vec3(local->direction, at), normal);
        real height = real_splat(plane->height) - vec3_dot(rays_vec3(local->origin, at), normal);
        real_store(slopes + at, slope);
        real_store(ways + at, height / slope / real_load(local->stretch + at));
    }
    for (int i = 0; i < block->count; i++) {
        int front = slopes[i] < 0, reached = (ways[i] >= 0) & (ways[i] <= block->way[i]) & (ways[i] < (number)INFINITY);
        if (reached & (front | !job->front)) ray_hit(block, job, body, i, ways[i], front ? 1 : -1, -1, plane->normal);
    }
}

/* 1 / direction along an axis. Narrows the distances at which the ray enters and leaves the tree's space. */
ik_inline real approach_axis(real origin, real direction, real *in, real *out) {
    mask back = mask_less(direction, real_splat(0));
    real space = real_negate_if(back, real_splat(RAY_SPACE + TREE_SLACK));
    real inverse = real_negate_if(back, real_splat(1)) / real_max(real_abs(direction), real_splat(RAY_FLATTEST));
    *in = real_max((-space - origin) * inverse, *in);
    *out = real_min((space - origin) * inverse, *out);
    return real_max(real_min(inverse, real_splat(RAY_STEEPEST)), real_splat(-RAY_STEEPEST));
}

/* Transforms rays to the space of the tree, and moves their origins to where they enter it. */
ik_inline void approach(ray_local *local, ray_block *block) {
    const ray_local *from = local; /* ISO C does not convert a pointer to an array to one to a constant array */
    const number *centre = local->tree->centre;
    real scale = real_splat(local->tree->scale);
    EACH_LANES(at, block) {
        vec3 origin = vec3_sub(rays_vec3(from->origin, at), vec3_splat(centre[0], centre[1], centre[2]));
        vec3 direction = rays_vec3(from->direction, at), inverse;
        real in = real_splat(0), out = real_splat((number)INFINITY), stretch = real_load(local->stretch + at);
        origin = vec3_scale(scale, origin);
        inverse.x = approach_axis(origin.x, direction.x, &in, &out);
        inverse.y = approach_axis(origin.y, direction.y, &in, &out);
        inverse.z = approach_axis(origin.z, direction.z, &in, &out);
        real length = real_load(block->way + at) * (scale * stretch) - in;
        mask status = rays_status(block, at), far = ~mask_less(vec3_largest(origin), real_splat(RAY_FARTHEST));
        status |= mask_zero(status) & far & mask_splat(IK_NOT_FINITE);
        mask near =
            mask_zero(status) & ~mask_less(out, in) & mask_less(real_splat(0), stretch) & mask_is_number(length);
        rays_set_status(block, at, status);
        rays_set_vec3(local->origin, at, vec3_add(origin, vec3_scale(in, direction)));
        rays_set_vec3(local->inverse, at, inverse);
        real_store(local->skipped + at, in);
        real_store(local->length + at, real_select(near, length, real_splat(-1)));
    }
}

/* Starts the next ray that may reach the tree. Returns 0 if there is none. */
ik_inline int ray_begin(ray *ray, ray_local *local, int count) {
    static const int axes[3][2][3] = {{{1, 2, 0}, {2, 1, 0}}, {{2, 0, 1}, {0, 2, 1}}, {{0, 1, 2}, {1, 0, 2}}};
    while (local->next < count && !(local->length[local->next] >= 0))
        local->next++;
    if (local->next == count) return 0;
    int i = local->next++, along = 2, back[3];
    for (int axis = 2; axis >= 0; axis--) {
        number direction = local->direction[axis][i];
        along = direction == 1 || direction == -1 ? axis : along;
        back[axis] = direction < 0;
        ray->near[axis] = axis + 3 * back[axis];
        ray->far[axis] = axis + 3 * !back[axis];
        ray->at[axis] = (float)local->origin[axis][i];
        ray->inverse[axis] = (float)local->inverse[axis][i];
    }
    memcpy(ray->axes, axes[along][back[along]], sizeof ray->axes); /* seen from the opposite side, right becomes left */
    ray->sign = back[along] ? -1 : 1;
    for (int k = 0; k < 3; k++)
        ray->origin[k] = local->origin[ray->axes[k]][i];
    for (int k = 0; k < 2; k++)
        ray->shear[k] = local->direction[ray->axes[k]][i] * ray->sign;
    ray->nearest = local->length[i];
    ray->end = ray_end(ray->nearest);
    ray->triangle = INT32_MAX;
    ray->front = local->front;
    ray->child = local->tree->nodes ? 0 : ~0;
    ray->item = i;
    ray->top = 0;
    return 1;
}

ik_inline void ray_end_at(const ray *ray, const ray_local *local, ray_block *block, const ik_cast_job *job, int body) {
    if (ray->triangle == INT32_MAX) return;
    const tree_block *from = ray->block;
    int k = ray->place;
    number edge[2][3], normal[3];
    for (int axis = 0; axis < 3; axis++)
        for (int i = 0; i < 2; i++)
            edge[i][axis] = ((number)from->high[i + 1][axis][k] + (number)from->low[k][axis][i + 1]) -
                            ((number)from->high[0][axis][k] + (number)from->low[k][axis][0]);
    for (int axis = 0; axis < 3; axis++) {
        int next = (axis + 1) % 3, last = (axis + 2) % 3;
        normal[axis] = edge[0][next] * edge[1][last] - edge[0][last] * edge[1][next];
    }
    number way = (local->skipped[ray->item] + ray->nearest) / local->tree->scale / local->stretch[ray->item];
    ray_hit(block, job, body, ray->item, way, ray->side, ray->triangle, normal);
}

/* Interleaves several rays: each mostly waits for memory and for its own last result. */
ik_inline void cast_at_tree(ray_block *block, ray_local *local, const ik_cast_job *job, int body) {
    ray rays[RAYS];
    int count = 0;
    approach(local, block);
    while (count < RAYS && ray_begin(&rays[count], local, block->count))
        count++;
    while (count)
        for (int i = 0; i < count; i++) {
            if (ray_step(&rays[i], local->tree)) continue;
            ray_end_at(&rays[i], local, block, job, body);
            if (!ray_begin(&rays[i], local, block->count)) rays[i] = rays[--count];
        }
}

static void cast_rows(const ik_cast_job *job, ptrdiff_t first, ptrdiff_t last) {
    ray_block block;
    ray_local local;
    while (first < last) {
        first = rays_take(&block, job, first, last);
        rays_load(&block, job);
        for (int body = 0; body < job->count; body++) {
            const ik_ray_tree *tree = job->bodies[body].tree;
            local.tree = tree, local.front = job->front, local.next = 0;
            local_load(&local, &block, job, &job->bodies[body]);
            if (!tree)
                cast_at_plane(&block, &local, job, body);
            else if (tree->blocks)
                cast_at_tree(&block, &local, job, body);
        }
        rays_store(&block, job);
    }
}
