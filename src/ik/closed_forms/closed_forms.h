/* Closed forms on skeletons, limbs and aims, for one number type. The contracts are at IK_CLOSED_FORMS in ik.h.
 *
 * Idea. Items are solved in blocks. Each goal, those nearer to the root first, gets forward kinematics and then its
 * closed form, which turns its joints. A last forward pass measures the errors. Each of these steps is a kernel over
 * the block; this file selects the kernels and collects their results.
 *
 * closed_f32.c and closed_f64.c include this file and define IK_BITS. */
#include "limbs.h"

#include "aims.h"

typedef struct {
    void (*turn)(block *b, const wish *w, choice limited);
    void (*miss)(block *b, const wish *w, choice off);
} form;

static const form limb = {turn_limb, miss_limb}, ray = {turn_ray, miss_ray};

/* Restores the input translations where chosen. */
static void start_from_bones(block *b, const choice chosen) {
    for (int joint = 0; joint < b->job.skeleton->count && b->job.moved.rows.data; joint++) {
        number offset[3];
        narrowed(b->job.skeleton->offsets + 3 * joint, offset, 3);
        ik_rows came = b->job.translations.rows.data ? of_joint(&b->job.translations, joint) : only(offset);
        ik_rows moved = of_joint(&b->job.moved, joint);
        copy_chosen(&moved, &came, 3, chosen, b->count);
    }
}

/* Restores the input pose where chosen. */
static void start_from(block *b, const choice chosen) {
    for (int joint = 0; joint < b->job.skeleton->count; joint++) {
        ik_rows turned = of_joint(&b->job.rotations, joint), solved = of_joint(&b->job.solved, joint);
        copy_chosen(&solved, &turned, 4, chosen, b->count);
    }
    start_from_bones(b, chosen);
}

/* Restores the input pose of unusable items. */
static void restore(block *b, choice unusable) {
    for (int i = 0; i < b->count; i++)
        if ((unusable[i] = b->status[i] >= IK_UNUSABLE)) b->status[i] &= ~IK_INPUT_OUTSIDE;
    if (any_of(unusable, b->count)) start_from(b, unusable);
}

/* Solves all goals once. Sets `off` where an error exceeds its tolerance. */
static void solve_once(block *b, const form *form, choice off) {
    choice limited = {0}, unusable;
    memset(off, 0, BLOCK);
    for (int i = 0; i < b->count; i++)
        b->status[i] &= IK_INPUT_OUTSIDE, b->error[i] = b->angle[i] = 0;
    for (int w = 0; w < b->wish_count && !b->job.judge; w++)
        form->turn(b, &b->wishes[w], limited);
    restore(b, unusable);
    place(b);
    for (int w = 0; w < b->wish_count; w++)
        form->miss(b, &b->wishes[w], off);
    for (int i = 0; i < b->count; i++) {
        off[i] &= !unusable[i];
        if (off[i] && limited[i]) b->status[i] |= IK_AT_LIMIT;
        if (off[i] && (b->status[i] & ~IK_INPUT_OUTSIDE) == 0) b->status[i] |= IK_STALLED;
    }
}

/* Non-uniform scales change bone lengths as a limb turns. Such items are solved again from the result, at most ROUNDS
 * times, while the error falls below `gain` of the previous one. */
enum { ROUNDS = 40 };
static const number gain = (number)0.95;

static int is_uneven(const block *b, int item) {
    int uneven = 0;
    for (int joint = 0; joint < b->job.skeleton->count; joint++) {
        ik_rows scale = of_joint(&b->job.scales, joint);
        const number x = *number_at(&scale, item, 0);
        uneven |= *number_at(&scale, item, 1) != x || *number_at(&scale, item, 2) != x || x != x;
    }
    return uneven;
}

/* Keeps the items in `again` that another round may improve: those with non-uniform scales. */
static void choose_again(const block *b, choice again) {
    if (!b->job.scales.rows.data) memset(again, 0, BLOCK);
    for (int i = 0; any_of(again, b->count) && i < b->count; i++)
        again[i] &= is_uneven(b, i);
}

/* Saves the pose, for the items that the next round must not change. */
static void keep(block *b) {
    for (int joint = 0; joint < b->job.skeleton->count; joint++) {
        ik_rows solved = of_joint(&b->job.solved, joint), kept = of_joint(&b->kept, joint);
        copy_rows(&kept, &solved, 4, b->count);
        if (!b->job.moved.rows.data) continue;
        ik_rows moved = of_joint(&b->job.moved, joint), kept_moved = of_joint(&b->kept_moved, joint);
        copy_rows(&kept_moved, &moved, 3, b->count);
    }
}

static void take_kept(block *b, const choice chosen) {
    for (int joint = 0; joint < b->job.skeleton->count; joint++) {
        ik_rows solved = of_joint(&b->job.solved, joint), kept = of_joint(&b->kept, joint);
        copy_chosen(&solved, &kept, 4, chosen, b->count);
        if (!b->job.moved.rows.data) continue;
        ik_rows moved = of_joint(&b->job.moved, joint), kept_moved = of_joint(&b->kept_moved, joint);
        copy_chosen(&moved, &kept_moved, 3, chosen, b->count);
    }
}

/* Solves again where chosen, from the current rotations and the input translations. All other items are unchanged. */
static void solve_again(block *b, const form *form, choice again) {
    int32_t status[BLOCK];
    single error, angle;
    choice off, others;
    memcpy(status, b->status, sizeof status);
    memcpy(error, b->error, sizeof error);
    memcpy(angle, b->angle, sizeof angle);
    keep(b);
    start_from_bones(b, again);
    b->again = 1;
    solve_once(b, form, off);
    for (int i = 0; i < b->count; i++) {
        others[i] = !again[i];
        if (!again[i]) b->status[i] = status[i], b->error[i] = error[i], b->angle[i] = angle[i];
        again[i] &= off[i] && b->error[i] < gain * error[i];
    }
    take_kept(b, others);
}

/* Writes outputs that are requested; NULL writes zeros. */
static void write_flags(const ik_rows *to, const int32_t *flags, int count) {
    for (int i = 0; i < count && to->data; i++)
        *(int32_t *)((char *)to->data + i * to->stride) = flags ? flags[i] : 0;
}

static void write_numbers(const ik_rows *to, const number *numbers, int count) {
    for (int i = 0; i < count && to->data; i++)
        *number_at(to, i, 0) = numbers[i] == numbers[i] ? numbers[i] : (number)NAN; /* the canonical NaN */
}

static void solve_block(block *b, const form *form) {
    choice again;
    memset(again, 1, sizeof again);
    b->again = 0;
    memset(b->status, 0, sizeof b->status);
    start_from(b, again);
    solve_once(b, form, again);
    if (b->job.judge) memset(again, 0, sizeof again);
    choose_again(b, again);
    for (int round = 0; round < ROUNDS && any_of(again, b->count); round++)
        solve_again(b, form, again);
    write_flags(&b->job.status, b->status, b->count);
    write_flags(&b->job.iterations, NULL, b->count);
    write_numbers(&b->job.error, b->error, b->count);
    write_numbers(&b->job.rotation_error, b->angle, b->count);
}

/* --- memory, and the whole batch ---------------------------------------------------------------------------------- */

/* Memory handed out in parts; NULL if only the size is computed. */
typedef struct {
    char *memory;
    size_t used;
} store;

static void *part_of(store *s, size_t bytes) {
    char *part = s->memory ? s->memory + s->used : NULL;
    s->used += (bytes + IK_WIDEST - 1) / IK_WIDEST * IK_WIDEST;
    return part;
}

/* Packed rows: for every joint, those of all items. */
static ik_lists lists_of(store *s, int joints, int columns) {
    const ptrdiff_t bytes = sizeof(number);
    void *memory = part_of(s, (size_t)joints * BLOCK * (size_t)columns * sizeof(number));
    return (ik_lists){{memory, columns * bytes, bytes, 0}, BLOCK * columns * bytes, joints};
}

/* A chain of joints without offsets or rotations. */
static line line_of(store *s, int joints) {
    line made;
    size_t count = (size_t)joints;
    double *offsets = part_of(s, 3 * count * sizeof *offsets), *rests = part_of(s, 4 * count * sizeof *rests);
    int *parents = part_of(s, count * sizeof *parents), *order = part_of(s, count * sizeof *order);
    for (int joint = 0; joint < joints && s->memory; joint++) {
        parents[joint] = joint - 1;
        order[joint] = joint;
        memcpy(rests + 4 * joint, (double[4]){1, 0, 0, 0}, 4 * sizeof *rests);
    }
    made.skeleton = (ik_skeleton){joints, parents, order, order, offsets, rests, NULL, NULL};
    made.rotations = lists_of(s, joints, 4);
    made.scales = lists_of(s, joints, 3);
    made.positions = lists_of(s, joints, 3);
    made.world = lists_of(s, joints, 4);
    return made;
}

static void lay_out(block *b, const ik_solve_job *job, store *s) {
    const int joints = job->skeleton->count;
    b->goals = part_of(s, (size_t)job->goal_count * sizeof *b->goals);
    b->wishes = part_of(s, (size_t)job->goal_count * sizeof *b->wishes);
    b->positions = lists_of(s, joints, 3);
    b->rotations = lists_of(s, joints, 4);
    b->forward = part_of(s, ik_forward_scratch(joints + 1));
    if (!job->scales.rows.data) return;
    b->kept = lists_of(s, joints, 4);
    if (job->moved.rows.data) b->kept_moved = lists_of(s, joints, 3);
    b->line = line_of(s, joints + 1);
}

/* Collects the goals, those nearer to the root first. */
static void order_wishes(block *b) {
    const ik_goal *goals = b->goals;
    b->wish_count = 0;
    for (int g = 0; g < b->job.goal_count; g++) {
        int with_rotation = g + 1 < b->job.goal_count && goals[g + 1].kind == IK_TURN;
        wish made = {&goals[g], with_rotation ? &goals[g + 1] : NULL, depth_of(b->job.skeleton, goals[g].joint)};
        int at = b->wish_count++;
        for (; at > 0 && b->wishes[at - 1].depth > made.depth; at--)
            b->wishes[at] = b->wishes[at - 1];
        b->wishes[at] = made;
        g += with_rotation;
    }
}

/* Sets the job to start at item `first`. */
static void start_at(block *b, const ik_solve_job *job, ptrdiff_t first) {
    ik_lists *lists[] = {&b->job.rotations, &b->job.translations, &b->job.scales, &b->job.solved, &b->job.moved};
    ik_rows *rows[] = {&b->job.status, &b->job.error, &b->job.rotation_error, &b->job.iterations};
    b->job = *job;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        lists[k]->rows = from_item(lists[k]->rows, first);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        *rows[k] = from_item(*rows[k], first);
    for (int g = 0; g < job->goal_count; g++) {
        ik_goal *goal = &b->goals[g];
        *goal = job->goals[g];
#define START_ROW(name, columns, doc) goal->name = from_item(goal->name, first);
        IK_GOAL_ROWS(START_ROW)
    }
}

static void solve_all(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch, const form *form) {
    ik_fpmode before = ik_fpmode_enter();
    block b;
    lay_out(&b, job, &(store){scratch, 0});
    for (; first < last && !(job->stop && job->stop(job->context)); first += BLOCK) {
        b.count = last - first < BLOCK ? (int)(last - first) : BLOCK;
        start_at(&b, job, first);
        order_wishes(&b);
        solve_block(&b, form);
    }
    ik_fpmode_leave(before);
}

static size_t scratch_of(const ik_solve_job *job) {
    block b;
    store s = {NULL, 0};
    lay_out(&b, job, &s);
    return s.used;
}

size_t TYPED(limbs_scratch)(const ik_solve_job *job) { return scratch_of(job); }
size_t TYPED(aims_scratch)(const ik_solve_job *job) { return scratch_of(job); }

void TYPED(limbs)(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    solve_all(job, first, last, scratch, &limb);
}
void TYPED(aims)(const ik_solve_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    solve_all(job, first, last, scratch, &ray);
}
