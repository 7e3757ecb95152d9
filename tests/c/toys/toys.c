/* Three kinds of methods that are not in the core: physical (xpbd.h), learned (nearest.h), and over a whole
 * clip. The test
 * tests/solving/test_contract.py adds the two headers to a copy of the core, as CONTRIBUTING says, and runs this.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ik.h"
#include "nearest_model.h"

enum { JOINTS = 5, ITEMS = 6, FRAMES = 40 };

static int failed;
#define CHECK(what)                                                                                                    \
    if (!(what)) failed = 1, printf("%s: line %d: expected %s\n", ik_isa(), __LINE__, #what)

static const int parents[JOINTS] = {-1, 0, 1, 2, 3};
static int order[JOINTS], rank[JOINTS];
static double offsets[JOINTS][3], rests[JOINTS][4];
static ik_joint joints[JOINTS];
static ik_skeleton skeleton = {JOINTS, parents, order, rank, &offsets[0][0], &rests[0][0], NULL, joints, NULL, 0};

static double rotations[FRAMES][ITEMS][JOINTS][4], solved[FRAMES][ITEMS][JOINTS][4], moved[FRAMES][ITEMS][JOINTS][3];
static double target[FRAMES][ITEMS][3], weight[FRAMES][ITEMS], error[FRAMES][ITEMS], angle[FRAMES][ITEMS];
static int32_t status[FRAMES][ITEMS], iterations[FRAMES][ITEMS];
static ik_goal goal = {.kind = IK_PLACE, .joint = JOINTS - 1};

#define ROWS(array, numbers) {&(array)[0][0], sizeof(array)[0][0], sizeof(double), sizeof(array)[0]}
#define LISTS(array, numbers)                                                                                          \
    {{&(array)[0][0][0][0], sizeof(array)[0][0], sizeof(double), sizeof(array)[0]}, (numbers) * sizeof(double), JOINTS}

static ik_solve_job job_of(ik_options options, int frames) {
    goal.position = (ik_rows){&target[0][0][0], sizeof target[0][0], sizeof(double), sizeof target[0]};
    goal.weight = (ik_rows)ROWS(weight, 1);
    return (ik_solve_job){.skeleton = &skeleton,
                          .goals = &goal,
                          .goal_count = 1,
                          .options = options,
                          .frames = frames,
                          .fps = 30,
                          .rotations = LISTS(rotations, 4),
                          .solved = LISTS(solved, 4),
                          .moved = LISTS(moved, 3),
                          .status = ROWS(status, 1),
                          .error = ROWS(error, 1),
                          .rotation_error = ROWS(angle, 1),
                          .iterations = ROWS(iterations, 1)};
}

static void solve(const ik_solve_job *job, size_t (*scratch_of)(const ik_solve_job *),
                  void (*method)(const ik_solve_job *, ptrdiff_t, ptrdiff_t, void *)) {
    const size_t bytes = (scratch_of(job) + 63) / 64 * 64;
    void *scratch = aligned_alloc(64, bytes);
    method(job, 0, ITEMS, scratch);
    free(scratch);
}

/* Positions of the joints in a solved pose. */
static void places_of(int frame, int item, double (*places)[3]) {
    double turns[JOINTS][4], scratch[4096];
    const ik_lists local = {
        {&solved[frame][item][0][0], sizeof solved[0][0], sizeof(double), 0}, 4 * sizeof(double), JOINTS};
    const ik_lists at = {
        {&moved[frame][item][0][0], sizeof moved[0][0], sizeof(double), 0}, 3 * sizeof(double), JOINTS};
    const ik_lists to = {{places, 0, sizeof(double), 0}, 3 * sizeof(double), JOINTS};
    const ik_lists turned = {{turns, 0, sizeof(double), 0}, 4 * sizeof(double), JOINTS};
    CHECK(ik_forward_scratch(JOINTS) <= sizeof scratch);
    ik_forward_f64(&(ik_forward_job){&skeleton, local, at, {{0}}, to, turned, scratch}, 1);
}

static void centre_of_mass(int frame, int item, double *centre) {
    double places[JOINTS][3], total = 0;
    places_of(frame, item, places);
    memset(centre, 0, 3 * sizeof *centre);
    for (int joint = 0; joint < JOINTS; joint++) {
        total += joints[joint].mass;
        for (int i = 0; i < 3; i++)
            centre[i] += joints[joint].mass * places[joint][i];
    }
    for (int i = 0; i < 3; i++)
        centre[i] /= total;
}

static double largest_of(const double *v) { return fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2]))); }

static void begin(void) {
    for (int joint = 0; joint < JOINTS; joint++) {
        offsets[joint][0] = joint > 0, offsets[joint][1] = 3 * (joint == 0);
        rests[joint][0] = 1;
        joints[joint] = (ik_joint){.mass = 1 + joint % 2, .preferred = {1}};
    }
    CHECK(ik_skeleton_order(JOINTS, parents, order, rank) == JOINTS);
    memset(rotations, 0, sizeof rotations);
    for (int frame = 0; frame < FRAMES; frame++)
        for (int item = 0; item < ITEMS; item++) {
            for (int joint = 0; joint < JOINTS; joint++)
                rotations[frame][item][joint][0] = 1;
            weight[frame][item] = 1;
        }
}

/* Pulled by its tip for some frames, then released: its centre of mass moves along a line at constant speed. */
static void a_chain_keeps_its_momentum(void) {
    enum { PULLED = 6 };
    for (int frame = 0; frame < FRAMES; frame++)
        for (int item = 0; item < ITEMS; item++) {
            const double ends[3] = {4 + 0.01 * frame * (item + 1), 3 + 0.02 * frame, 0.01 * frame};
            memcpy(target[frame][item], ends, sizeof ends);
            weight[frame][item] = frame < PULLED;
        }
    ik_solve_job job = job_of(ik_xpbd_options(), FRAMES);
    job.release = 1;
    CHECK(!ik_solve_check(&job, IK_TAKES_PLACE | IK_ALL_JOINTS));
    solve(&job, ik_xpbd_scratch_f64, ik_xpbd_f64);
    for (int item = 0; item < ITEMS; item++) {
        double before[3], after[3], next[3], speed = 0;
        for (int frame = 1; frame < PULLED; frame++)
            CHECK(status[frame][item] == 0);
        for (int frame = PULLED; frame + 2 < FRAMES; frame++) {
            centre_of_mass(frame, item, before), centre_of_mass(frame + 1, item, after);
            centre_of_mass(frame + 2, item, next);
            for (int i = 0; i < 3; i++)
                next[i] = (next[i] - after[i]) - (after[i] - before[i]),
                speed = fmax(speed, fabs(after[i] - before[i]));
            CHECK(largest_of(next) < 2e-4);
        }
        CHECK(speed > 2e-3);
    }
}

/* The heavier end of a bone moves less, by the ratio of masses; a joint with compliance gives way. */
static void masses_and_compliances_count(void) {
    double rigid, soft;
    for (int joint = 0; joint < JOINTS; joint++)
        joints[joint].mass = joint == JOINTS - 1 ? 1 : 1e6;
    for (int item = 0; item < ITEMS; item++)
        memcpy(target[0][item], (double[3]){4.01, 3, 0}, sizeof target[0][0]);
    ik_options options = ik_xpbd_options();
    options.iterations = 3;
    ik_solve_job job = job_of(options, 0);
    solve(&job, ik_xpbd_scratch_f64, ik_xpbd_f64);
    rigid = moved[0][0][0][0];
    for (int joint = 0; joint < JOINTS; joint++)
        joints[joint].compliance = 1e-6;
    CHECK(ik_solve_check(&job, IK_TAKES_PLACE | IK_ALL_JOINTS) != NULL);
    CHECK(!ik_solve_check(&job, IK_TAKES_PLACE | IK_TAKES_COMPLIANCE | IK_ALL_JOINTS));
    solve(&job, ik_xpbd_scratch_f64, ik_xpbd_f64);
    soft = moved[0][0][0][0];
    CHECK(0 < soft && soft < 0.6 * rigid);
    for (int joint = 0; joint < JOINTS; joint++)
        joints[joint] = (ik_joint){.mass = 1 + joint % 2, .preferred = {1}};
}

/* The pose whose tip is nearest; without a model, or with one of another kind, the pose that comes in. */
static void a_table_answers(void) {
    enum { POSES = 30 };
    static double tips[POSES][3], poses[POSES][JOINTS][4];
    for (int pose = 0; pose < POSES; pose++) {
        for (int joint = 0; joint < JOINTS; joint++) {
            const double half = 0.02 * (pose - 10) * (joint + 1);
            memcpy(poses[pose][joint], (double[4]){cos(half), 0, 0, sin(half)}, sizeof poses[0][0]);
        }
        memcpy(solved[0][0], poses[pose], sizeof poses[pose]);
        memcpy(moved[0][0], offsets, sizeof offsets);
        double places[JOINTS][3];
        places_of(0, 0, places);
        for (int i = 0; i < 3; i++)
            tips[pose][i] = places[JOINTS - 1][i] - offsets[0][i];
    }
    for (int item = 0; item < ITEMS; item++)
        for (int i = 0; i < 3; i++)
            target[0][item][i] = offsets[0][i] + tips[5 * item][i] + 1e-3;
    nearest_model model = {{"poses by their tips"}, POSES, &tips[0][0], &poses[0][0][0]};
    ik_solve_job job = job_of(ik_nearest_options(), 0);
    job.model = &model.start;
    solve(&job, ik_nearest_scratch_f64, ik_nearest_f64);
    for (int item = 0; item < ITEMS; item++) {
        CHECK(fabs(error[0][item] - sqrt(3) * 1e-3) < 1e-9);
        for (int joint = 0; joint < JOINTS - 1; joint++)
            CHECK(fabs(solved[0][item][joint][3] - poses[5 * item][joint][3]) < 1e-15);
        CHECK(status[0][item] != 0 && status[0][item] < IK_UNUSABLE);
    }
    model.start.kind = "something else";
    solve(&job, ik_nearest_scratch_f64, ik_nearest_f64);
    CHECK(solved[0][0][0][3] == 0);
}

/* One joint, smoothed over all frames at once; then the frames are judged, within the speed of its limit. */
static void a_clip_is_smoothed_and_judged(void) {
    static ik_limit limits[JOINTS];
    double bends[FRAMES], smooth[FRAMES], most = 0;
    for (int frame = 0; frame < FRAMES; frame++)
        bends[frame] = 0.3 * sin(0.2 * frame) + 0.05 * (frame % 2);
    for (int frame = 0; frame < FRAMES; frame++) { /* the smoother: the mean of neighbours */
        const double before = bends[frame ? frame - 1 : 0], after = bends[frame < FRAMES - 1 ? frame + 1 : frame];
        smooth[frame] = (before + 2 * bends[frame] + after) / 4;
        for (int item = 0; item < ITEMS; item++) {
            const double half = smooth[frame] / 2;
            memcpy(rotations[frame][item][1], (double[4]){cos(half), 0, 0, sin(half)}, sizeof rotations[0][0][0]);
            memcpy(target[frame][item], (double[3]){4, 3, 0}, sizeof target[0][0]);
            weight[frame][item] = 1;
        }
        most = frame ? fmax(most, fabs(smooth[frame] - smooth[frame - 1])) : most;
    }
    for (int joint = 0; joint < JOINTS; joint++)
        limits[joint] = (ik_limit){.kind = IK_FREE, .frame = {1}, .speed = {joint == 1 ? 30 * most / 2 : 0}};
    ik_solve_job job = job_of(ik_ccd_options(), FRAMES);
    job.judge = 1;
    CHECK(!ik_solve_check(&job, IK_TAKES_ALL));
    solve(&job, ik_ccd_scratch_f64, ik_ccd_f64);
    for (int frame = 0; frame < FRAMES; frame++) { /* as the clip job left it, whatever the goal */
        double places[JOINTS][3], off = 0;
        memcpy(moved[frame], moved[0], sizeof moved[0]);
        memcpy(moved[frame][0], offsets, sizeof offsets);
        places_of(frame, 0, places);
        for (int i = 0; i < 3; i++)
            off += (places[JOINTS - 1][i] - target[frame][0][i]) * (places[JOINTS - 1][i] - target[frame][0][i]);
        CHECK(fabs(solved[frame][0][1][3] - sin(smooth[frame] / 2)) < 1e-15);
        CHECK(fabs(error[frame][0] - sqrt(off)) < 1e-12 && iterations[frame][0] == 0);
        CHECK((status[frame][0] == 0) == (sqrt(off) <= 4e-5));
    }
    skeleton.limits = limits;
    solve(&job, ik_ccd_scratch_f64, ik_ccd_f64);
    int too_fast = 0;
    for (int frame = 1; frame < FRAMES; frame++) {
        const double now = asin(solved[frame][0][1][3]), before = asin(solved[frame - 1][0][1][3]);
        CHECK(2 * fabs(now - before) <= most / 2 * (1 + 1e-12));
        too_fast += (status[frame][0] & IK_TOO_FAST) != 0;
    }
    CHECK(too_fast > 3);
    skeleton.limits = NULL;
}

/* A hash of the last results. */
static void print_bits(const char *what) {
    uint64_t hash = 14695981039346656037u;
    const unsigned char *parts[] = {(unsigned char *)solved, (unsigned char *)moved, (unsigned char *)error};
    const size_t sizes[] = {sizeof solved, sizeof moved, sizeof error};
    for (int part = 0; part < 3; part++)
        for (size_t i = 0; i < sizes[part]; i++)
            hash = (hash ^ parts[part][i]) * 1099511628211u;
    printf("%s %s %016llx\n", what, ik_isa(), (unsigned long long)hash);
}

int main(void) {
    static const char *isas[] = {"scalar", "base", "avx2"};
    for (int isa = 0; isa < 3; isa++) {
        if (strcmp(ik_use_isa(isas[isa]), isas[isa]) != 0) continue;
        begin();
        a_chain_keeps_its_momentum();
        print_bits("momentum");
        masses_and_compliances_count();
        print_bits("masses");
        a_table_answers();
        print_bits("table");
        a_clip_is_smoothed_and_judged();
        print_bits("clip");
    }
    return failed;
}
