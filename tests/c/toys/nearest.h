/* A toy: the pose of a table whose tip is nearest to the target. It shows how a method takes a model. */
#include "nearest_model.h"

enum { NEAREST_ROW = OWN };

static record_size nearest_size(const ik_plan *plan) {
    return (void)plan, (record_size){.columns = OWN + 1, .results = OWN + 1};
}

static void nearest_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    const nearest_model *model = solve_model(plan, "poses by their tips");
    const int tip = plan->tasks->node;
    real weight, least = real_splat(LARGEST);
    vec3 target = solve_target(plan, at, start, tip, start->positions[tip], &weight);
    *column(record, ERROR) = real_splat(0);
    *column(record, NEAREST_ROW) = real_splat(-1);
    for (int row = 0; model && row < model->rows; row++) {
        vec3 off = vec3_sub(vec3_scale(start->scale, vec3_of(model->tips + 3 * row)), target);
        mask nearer = mask_less(vec3_dot(off, off), least);
        least = real_select(nearer, vec3_dot(off, off), least);
        *column(record, NEAREST_ROW) = real_select(nearer, real_splat((number)row), *column(record, NEAREST_ROW));
    }
}

static void nearest_step(const ik_plan *plan, real *bundle, int groups) { (void)plan, (void)bundle, (void)groups; }

static void nearest_place(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local) {
    const nearest_model *model = solve_model(plan, "poses by their tips");
    number found[LANES], q[4][LANES];
    (void)at, (void)world;
    memcpy(found, column(record, NEAREST_ROW), sizeof found);
    for (int lane = 0; model && lane < LANES; lane++)
        for (int i = 0; i < 4; i++) {
            const ptrdiff_t joint = (ptrdiff_t)found[lane] * plan->job->skeleton->count + plan->nodes[k].joint;
            q[i][lane] = found[lane] < 0 ? i == 0 : (number)model->rotations[4 * joint + i];
        }
    if (model) local->rotation = (quat){real_load(q[0]), {real_load(q[1]), real_load(q[2]), real_load(q[3])}};
}

static const method nearest_pose = {nearest_size, nearest_begin, nearest_step, nearest_place, 0};
static const method *nearest_method(const ik_plan *plan) { return (void)plan, &nearest_pose; }

SOLVE_METHOD(nearest)
