/* same_bits.c for rays. It prints, for every instruction set of this processor, a hash of all bytes that rays find.
 * Trees have few or many triangles: ordinary, without area, coincident, tiny and huge. Rays have every direction, along
 * edges and within faces, from far away, or are not finite. Chosen rays are also cast at such a tree and a plane placed
 * by rows of any matrix, and at another tree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ik.h"
#include "isas.h"

enum { MOST = 3000, RAYS_EACH = 1500 / FEWER, MESHES = 9 };

static double vertices[3 * MOST][3];
static int32_t faces[MOST][3];

/* A mesh in three is a soup, a grid with shared vertices, or one with many triangles in one place. */
static int make_mesh(int kind) {
    const int counts[MESHES] = {0, 1, 8, 9, 40, 300, 1000, 2048, MOST};
    int triangles = counts[kind];
    for (int i = 0; i < 3 * triangles; i++)
        for (int axis = 0; axis < 3; axis++) {
            int corner = i % 3, cell = i / 6;
            double shared[3] = {cell % 32 + (i / 3 % 2 ? corner > 0 : corner == 2), 0,
                                cell / 32 + (i / 3 % 2 ? corner != 1 : corner == 1)};
            double random = random_number();
            vertices[i][axis] = kind % 3 == 0   ? random * (i % 9 ? 1 : 1000)
                                : kind % 3 == 1 ? shared[axis] / 16 - 1
                                                : (i / 3 % 5 ? random / 8 + (double)(i / 3 % 7) / 8 : (corner == axis));
        }
    for (int i = 0; i < 3 * triangles; i++)
        faces[i / 3][i % 3] = i % 97 ? i : i / 2;
    return triangles;
}

static uint64_t hash_rays(const ik_ray_tree *tree, uint64_t hash) {
    static double origins[RAYS_EACH][3], directions[RAYS_EACH][3], lengths[RAYS_EACH], distances[RAYS_EACH];
    static double points[RAYS_EACH][3], normals[RAYS_EACH][3];
    static double shifts[RAYS_EACH][3], matrices[RAYS_EACH][9];
    static int32_t triangles[RAYS_EACH], sides[RAYS_EACH], status[RAYS_EACH], hit[RAYS_EACH];
    static char chosen[RAYS_EACH];
    for (int i = 0; i < RAYS_EACH; i++) {
        for (int axis = 0; axis < 3; axis++) {
            origins[i][axis] = i % 4 ? coordinate(i, 64, 6, 1e150) : (double)(int)(random_number() * 16) / 16;
            directions[i][axis] = i % 3 ? coordinate(i, 50, 6, 1e150) : (axis == 1) * -2.0;
        }
        lengths[i] = i % 7 ? INFINITY : 1 + random_number();
    }
    for (int i = 0; i < RAYS_EACH; i++) {
        for (int k = 0; k < 9; k++)
            matrices[i][k] = coordinate(i, 50, 6, 1e150);
        for (int axis = 0; axis < 3; axis++)
            shifts[i][axis] = coordinate(i, 30, 6, 1e150);
        chosen[i] = i % 11 != 0;
    }
    for (int placed = 0; placed < 2; placed++)
        for (ptrdiff_t first = 0, count = 1; first < RAYS_EACH; first += count, count = count % 41 + 1) {
            if (count > RAYS_EACH - first) count = RAYS_EACH - first;
            ik_rows shift = {shifts[first], sizeof shifts[0], sizeof(double)};
            ik_rows matrix = {matrices[first], first % 5 ? (ptrdiff_t)sizeof matrices[0] : 0, sizeof(double)};
            ik_ray_body alone = {.tree = tree};
            ik_ray_body several[] = {{.tree = tree, .translation = shift, .to_local = matrix},
                                     {.normal = {0.6, 0, 0.8}, .height = 0.25, .to_local = matrix},
                                     {.tree = tree, .translation = shift},
                                     {.normal = {0, 1, 0}}};
            ik_cast_job job = {.bodies = placed ? several : &alone, .count = placed ? 4 : 1, .front = first % 2 == 0};
            job.each = 1 + first % 3;
            if (placed) job.chosen = (ik_rows){chosen + first, 1, 0};
            job.origin = (ik_rows){origins[first], sizeof origins[0], sizeof(double)};
            job.direction = (ik_rows){directions[first], sizeof directions[0], sizeof(double)};
            if (first % 3) job.length = (ik_rows){lengths + first, sizeof(double), 0};
            job.distance = (ik_rows){distances + first, sizeof(double), 0};
            job.point = (ik_rows){points[first], sizeof points[0], sizeof(double)};
            job.normal = (ik_rows){normals[first], sizeof normals[0], sizeof(double)};
            job.triangle = (ik_rows){triangles + first, sizeof(int32_t), 0};
            job.side = (ik_rows){sides + first, sizeof(int32_t), 0};
            job.body = (ik_rows){hit + first, sizeof(int32_t), 0};
            job.status = (ik_rows){status + first, sizeof(int32_t), 0};
            ik_cast(&job, 0, count);
        }
    hash = hash_bytes(hash, distances, sizeof distances);
    hash = hash_bytes(hash, points, sizeof points);
    hash = hash_bytes(hash, normals, sizeof normals);
    hash = hash_bytes(hash, triangles, sizeof triangles);
    hash = hash_bytes(hash, sides, sizeof sides);
    hash = hash_bytes(hash, hit, sizeof hit);
    return hash_bytes(hash, status, sizeof status);
}

static uint64_t hash_meshes(void) {
    uint64_t hash = HASH_START;
    random_state = 1;
    for (int kind = 0; kind < MESHES; kind++) {
        int count = make_mesh(kind);
        ik_ray_tree tree;
        void *scratch = malloc(ik_ray_tree_scratch(count));
        size_t bytes = scratch ? ik_ray_tree_plan(&tree, vertices[0], faces[0], count, scratch) : 0;
        void *memory = malloc(bytes + 1);
        if (!scratch || !memory) exit(1);
        ik_ray_tree_fill(&tree, vertices[0], faces[0], count, scratch, memory);
        free(scratch);
        hash = hash_rays(&tree, hash);
        free(memory);
    }
    return hash;
}

int main(void) {
    EACH_ISA(isa)
    printf("%s rays f64 %016llx\n", isa, (unsigned long long)hash_meshes());
    return 0;
}
