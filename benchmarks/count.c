/* The program counted by benchmarks/instructions.py, for one instruction set. `counted` solves ITEMS random limbs, or
 * computes the world poses of as many joints in all, or solves chains by an iterative method.
 *
 *   count ISA f32|f64 rotations|all|forward    ISA: scalar, base, avx2 or avx512; exit 2: the processor lacks it
 *   count ISA f32|f64 METHOD [BONES [CHAINS [ITERATIONS]]]    prints the iterations of all chains together and, in
 *                                              builds that count them, the lane-steps. Chains make ITERATIONS each.
 *   count methods                              prints the names of the methods */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ik.h"

enum { ITEMS = 16384, INPUTS = 5, JOINTS = 32, BONES = 10, CHAINS = 2048 };

#ifdef IK_LANE_STEPS
long long IK_LANE_STEPS; /* solve.h counts */
#else
static const long long IK_LANE_STEPS = 0;
#endif

/* Numbers in [-1, 1), the same everywhere. */
static double next(void) {
    static uint64_t state = 20261121;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

static ik_rows rows(void *data, size_t columns, size_t size) {
    return (ik_rows){data, (ptrdiff_t)(columns * size), (ptrdiff_t)size};
}

static ik_rows output(size_t columns, size_t size) { return rows(calloc(ITEMS * columns, size), columns, size); }

static void put(ik_rows to, int i, size_t size, double x) {
    if (size == sizeof(float))
        ((float *)to.data)[i] = (float)x;
    else
        ((double *)to.data)[i] = x;
}

/* Joints about one apart from each other, targets mostly in reach, poles anywhere. */
static ik_rows input(int which, size_t size) {
    static const double offset[INPUTS] = {0, 1, 2, 1, 0};
    ik_rows made = output(3, size);
    for (int i = 0; i < ITEMS * 3; i++) {
        double x = (i % 3 == 0 ? offset[which] : 0) + next() * 0.5;
        put(made, i, size, x);
    }
    return made;
}

/* The iterative methods. */
typedef struct {
    const char *name;
    ik_options (*options)(void);
    size_t (*scratch[2])(const ik_solve_job *job); /* f32, f64 */
    void (*solve[2])(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch);
} method;
#define METHOD(name, takes, doc)                                                                                       \
    {#name,                                                                                                            \
     ik_##name##_options,                                                                                              \
     {ik_##name##_scratch_f32, ik_##name##_scratch_f64},                                                               \
     {ik_##name##_f32, ik_##name##_f64}},
static const method methods[] = {IK_METHODS(METHOD){0}};

/* The case to count; one is given. */
typedef struct {
    const ik_two_bone_job *limbs;
    const ik_forward_job *poses;
    const ik_solve_job *chains;
    const method *method;
    ptrdiff_t count;
    void *scratch;
} work;

/* The counter is on in here and nowhere else. */
__attribute__((noinline)) void counted(const work *w, size_t size) {
    const int is_double = size == sizeof(double);
    if (w->limbs) (is_double ? ik_two_bone_f64 : ik_two_bone_f32)(w->limbs, w->count);
    if (w->poses) (is_double ? ik_forward_f64 : ik_forward_f32)(w->poses, w->count);
    if (w->chains) w->method->solve[is_double](w->chains, 0, w->count, w->scratch);
}

/* The numbers of rows that lie in memory without gaps, as rows for every joint. */
static ik_lists lists(ik_rows rows, int count) {
    return (ik_lists){{rows.data, count * rows.stride, rows.step}, rows.stride, count};
}
static ik_lists joints(ik_rows rows) { return lists(rows, JOINTS); }

static int count_forward(size_t size) {
    int parents[JOINTS], order[JOINTS], rank[JOINTS];
    double offsets[JOINTS * 3], rests[JOINTS * 4] = {0}; /* rests are for limits: not read */
    for (int i = 0; i < JOINTS; i++)
        parents[i] = i % 5 ? i - 1 : i / 2 - 1;
    for (int i = 0; i < JOINTS * 3; i++)
        offsets[i] = next();
    if (ik_skeleton_order(JOINTS, parents, order, rank) != JOINTS) return 1;
    const ik_skeleton skeleton = {JOINTS, parents, order, rank, offsets, rests, NULL, NULL};
    ik_rows rotations = output(4, size);
    for (int i = 0; i < ITEMS * 4; i++) {
        double x = i % 4 ? 0.5 : -0.5; /* of unit length exactly, as most that come are to rounding */
        put(rotations, i, size, x);
    }
    ik_forward_job job = {.skeleton = &skeleton, .rotations = joints(rotations)};
    job.positions = joints(output(3, size));
    job.world_rotations = joints(output(4, size));
    job.scratch = malloc(ik_forward_scratch(JOINTS));
    counted(&(work){.poses = &job, .count = ITEMS / JOINTS}, size);
    return 0;
}

/* A point in a ball about the origin, but not near it. */
static void point(double radius, double p[3]) {
    double square;
    do {
        for (int i = 0; i < 3; i++)
            p[i] = next();
        square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    } while (square < 0.04 || square > 1);
    for (int i = 0; i < 3; i++)
        p[i] *= radius;
}

/* Unequal bones, gently bent, every chain differently; targets in a ball of 0.95 of the reach, except its inner
 * fifth. */
static int count_method(const method *method, size_t size, int bones, int chains, int iterations_each) {
    const int count = bones + 1, is_double = size == sizeof(double);
    int *parents = malloc(sizeof(int) * 3 * (size_t)count), *order = parents + count, *rank = order + count;
    double *offsets = calloc((size_t)count * 7, sizeof(double)), *rests = offsets + 3 * count, reach = 0;
    for (int i = 0; i < count; i++) {
        parents[i] = i - 1;
        rests[4 * i] = 1;
        if (i) reach += offsets[3 * i] = 1 + 0.25 * next();
    }
    if (ik_skeleton_order(count, parents, order, rank) != count) return 1;
    const ik_skeleton skeleton = {count, parents, order, rank, offsets, rests, NULL, NULL};
    ik_rows rotations = rows(calloc((size_t)(chains * count), 4 * size), 4, size);
    for (int i = 0; i < chains * count * 4; i++)
        put(rotations, i, size, i % 4 ? 0.05 * next() : 1);
    ik_rows targets = rows(calloc((size_t)chains, 3 * size), 3, size);
    for (int i = 0; i < chains; i++) {
        double p[3];
        point(0.95 * reach, p);
        for (int k = 0; k < 3; k++)
            put(targets, 3 * i + k, size, p[k]);
    }
    const ik_goal goal = {.joint = bones, .position = targets};
    ik_solve_job job = {.skeleton = &skeleton, .goals = &goal, .goal_count = 1, .options = method->options()};
    job.options.tolerance = iterations_each ? 0 : 1e-4;
    if (iterations_each) job.options.iterations = iterations_each;
    job.rotations = lists(rotations, count);
    job.solved = lists(rows(calloc((size_t)(chains * count), 4 * size), 4, size), count);
    job.status = rows(calloc((size_t)chains, sizeof(int32_t)), 1, sizeof(int32_t));
    job.iterations = rows(calloc((size_t)chains, sizeof(int32_t)), 1, sizeof(int32_t));
    job.error = rows(calloc((size_t)chains, size), 1, size);
    job.rotation_error = rows(calloc((size_t)chains, size), 1, size);
    void *scratch = aligned_alloc(64, (method->scratch[is_double](&job) + 63) / 64 * 64);
    counted(&(work){.chains = &job, .method = method, .count = chains, .scratch = scratch}, size);
    long long iterations = 0;
    for (int i = 0; i < chains; i++)
        iterations += ((const int32_t *)job.iterations.data)[i];
    printf("%lld %lld\n", iterations, IK_LANE_STEPS);
    return 0;
}

static int print_methods(void) {
    for (const method *m = methods; m->name; m++)
        puts(m->name);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "methods") == 0) return print_methods();
    if (argc < 4) return 1;
    const char *isa = ik_use_isa(argv[1]);
    if (!isa || strcmp(isa, argv[1]) != 0) return 2;
    size_t size = strcmp(argv[2], "f32") == 0 ? sizeof(float) : sizeof(double);
    if (strcmp(argv[3], "forward") == 0) return count_forward(size);
    for (const method *m = methods; m->name; m++)
        if (strcmp(argv[3], m->name) == 0)
            return count_method(m, size, argc > 4 ? atoi(argv[4]) : BONES, argc > 5 ? atoi(argv[5]) : CHAINS,
                                argc > 6 ? atoi(argv[6]) : 0);
    ik_two_bone_job job = {.root = input(0, size), .mid = input(1, size), .end = input(2, size)};
    job.target = input(3, size);
    job.pole = input(4, size);
    job.root_delta = output(4, size);
    job.mid_delta = output(4, size);
    job.status = output(1, sizeof(int32_t));
    if (strcmp(argv[3], "all") == 0) {
        ik_rows positions = output(9, size);
        for (size_t i = 0; i < 3; i++)
            job.positions[i] = (ik_rows){(char *)positions.data + i * 3 * size, positions.stride, positions.step};
        job.error = output(1, size);
        job.flip = output(1, size);
        job.stretch = output(1, size);
    }
    counted(&(work){.limbs = &job, .count = ITEMS}, size);
    int32_t seen = 0;
    for (int i = 0; i < ITEMS; i++)
        seen |= ((const int32_t *)job.status.data)[i];
    return seen >= IK_UNUSABLE; /* nothing of the above is unusable */
}
