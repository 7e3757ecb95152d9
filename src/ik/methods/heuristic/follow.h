/* Follow the leader: a chain that is pulled by its tip, like a rope. J. Brown, J.-C. Latombe, K. Montgomery, "Real-time
 * knot-tying simulation", The Visual Computer 20 (2004), for a rope whose other end is free; here the base stays.
 *
 * Idea. The tip moves by its error. Every bone, from the tip to the base, then follows the joint at its outer end. A
 * bone whose outer end is pulled by d keeps its length, and passes the rest of d on to the next bone:
 *
 *   pull        v <- bone + d
 *   the bone    bone <- length v / |v|
 *   the rest    d <- v - bone
 *
 * The rest at the base would move the base. The base is fixed, so the whole chain is moved back to it, and the rest is
 * the next error of the tip. By the triangle inequality |d| never grows from bone to bone, and the error never grows
 * from iteration to iteration. An iteration is the first half of an iteration of FABRIK; the second half is not needed.
 *
 * Unless `textbook` is set: the straight or the folded chain is the answer to a target out of reach. A chain in line
 * with its target starts as an arc, because it could not leave that line. A chain whose target is just within reach is
 * curved so that it ends there (chain.h). Near full reach, bones take up little of the pull. Therefore d starts as a
 * multiple of the error, the stride. It triples after an iteration that leaves more than half of the error, halves
 * after one that leaves less, and is 1 after the error has grown. The tip moves by at most a fifth of the reach that
 * way, and by at most eight times its first error. Longer moves would change chains of few bones, and sequences, too
 * much. Each time the error has grown, this bound falls by a tenth. The best of all poses is the result. */

/* FOLLOW_SLOW: the stride grows if an iteration leaves more than this share of the error. FOLLOW_MOST: the longest
 * stride, in errors. FOLLOW_AHEAD, FOLLOW_NEAR: the longest move of the tip at first, in reaches and in first errors.
 * FOLLOW_LEARNS: the factor of that after the error has grown. */
#define FOLLOW_SLOW   (number)0.5
#define FOLLOW_MOST   (number)1024
#define FOLLOW_AHEAD  (number)0.2
#define FOLLOW_NEAR   (number)8
#define FOLLOW_LEARNS (number)0.9

/* Nearer than this to full reach, a chain is so straight that steps have nearly no effect. Farther away, bones near
 * the tip are bent so much more than others that an arc would be another pose. */
static const chain_edge follow_edge = {.drawn = (number)0.02, .arched = (number)3e-4};

/* The columns of a record. The bones that were off least, and by how much, are part of the result. */
ik_inline int follow_best(const ik_plan *plan, int slot) { return chain_columns(plan) + 3 * slot; }
ik_inline int follow_least(const ik_plan *plan) { return follow_best(plan, plan->slots); }
ik_inline int follow_target(const ik_plan *plan) { return follow_least(plan) + 1; } /* from the base */
ik_inline int follow_stride(const ik_plan *plan) { return follow_target(plan) + 3; }
ik_inline int follow_ahead(const ik_plan *plan) { return follow_stride(plan) + 1; } /* the farthest, by a stride */
ik_inline int follow_off(const ik_plan *plan) { return follow_ahead(plan) + 1; }    /* what the tip is off, a vector */

static record_size follow_size(const ik_plan *plan) {
    return (record_size){.columns = follow_off(plan) + 3, .results = follow_least(plan) + 1};
}

/* The vector from the tip to the target. */
static vec3 follow_miss(const ik_plan *plan, columns c) {
    vec3 tip = vec3_splat(0, 0, 0);
    for (int slot = 1; slot < plan->slots; slot++)
        tip = vec3_add(tip, column_vec3(c, chain_bone(slot)));
    return vec3_sub(column_vec3(c, follow_target(plan)), tip);
}

/* ---- a target that is answered at once */

/* A target out of reach becomes the nearest point in reach: all bones forwards along the line; or, if it is too near,
 * all except a longest one backwards. A target within half the tolerance of the straight chain is treated alike,
 * because steps would converge slowly; the other half is for rounding. */
static void follow_answer(const ik_plan *plan, const aimed_chain *chain, columns record) {
    const real share = real_splat((number)(1 - 0.5 * plan->job->options.tolerance));
    mask far = mask_less(share * chain->reach.sum, chain->distance);
    mask near = mask_less(chain->distance, chain_inner(chain->reach)), waiting = near;
    if (!mask_any(far | near)) return;
    for (int slot = 1; slot < plan->slots; slot++) {
        real length = *column(record, chain_length(plan, slot));
        mask longest = waiting & ~mask_less(length, chain->reach.longest);
        waiting &= ~longest;
        vec3 bone = vec3_scale(real_negate_if(near & ~longest, length), chain->line);
        chain_set_bone(record, slot, far | near, bone);
    }
    real end = real_select(near, chain_inner(chain->reach), chain->reach.sum);
    vec3 target = vec3_select(far | near, vec3_scale(end, chain->line), column_vec3(record, follow_target(plan)));
    column_set_vec3(record, follow_target(plan), target);
}

/* ---- the method */

static void follow_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    mask counts;
    *column(record, ERROR) = real_splat(0);
    if (!plan->slots) return;
    chain_load_bones(plan, start, record);
    column_set_vec3(record, follow_target(plan), chain_target(plan, at, start, &counts));
    *column(record, follow_least(plan)) = real_splat(LARGEST);
    *column(record, follow_stride(plan)) = real_splat(1);
    if (!plan->job->options.textbook) {
        const int end = plan->node_of_slot[plan->slots - 1];
        vec3 base = start->positions[solve_base(plan, end)];
        aimed_chain chain = chain_of(plan, start, end, vec3_add(base, column_vec3(record, follow_target(plan))));
        chain_unlock(plan, &chain, record);
        follow_answer(plan, &chain, record);
        mask misses = mask_less(*column(record, TOLERANCE), vec3_length(follow_miss(plan, record)));
        chain_curve(plan, &chain, misses, follow_edge, chain_bone(0), record);
    }
    vec3 off = follow_miss(plan, record);
    column_set_vec3(record, follow_off(plan), off);
    const real error = vec3_length(off), most = real_splat(FOLLOW_AHEAD) * start->reach;
    *column(record, ERROR) = error;
    *column(record, follow_ahead(plan)) = real_min(most, real_splat(FOLLOW_NEAR) * error);
}

/* The next stride, in errors; it is bounded more tightly each time it was too long. */
ik_inline void follow_stride_on(const ik_plan *plan, columns c, real before) {
    const real one = real_splat(1), error = *column(c, ERROR);
    real *stride = column(c, follow_stride(plan)), *ahead = column(c, follow_ahead(plan));
    mask less = mask_less(error, before), slow = mask_less(real_splat(FOLLOW_SLOW) * before, error);
    real longer = real_min(real_splat(3) * *stride, real_splat(FOLLOW_MOST));
    real next = real_select(slow, longer, real_splat(0.5f) * *stride);
    *ahead = real_select(less, *ahead, real_splat(FOLLOW_LEARNS) * *ahead);
    next = real_max(real_min(next, *ahead / (error + real_splat(TINY_LENGTH))), one);
    *stride = real_select(less, next, one);
}

/* Whether the bones as they are are the best so far. */
ik_inline mask follow_is_best(const ik_plan *plan, columns c) {
    real *least = column(c, follow_least(plan)), error = *column(c, ERROR);
    mask best = mask_less(error, *least);
    *least = real_select(best, error, *least);
    return best;
}

ik_inline void follow_pass(const ik_plan *plan, real *bundle, int groups) {
    const int published = plan->job->options.textbook;
    vec3 drawn[GROUPS], tip[GROUPS];
    mask best[GROUPS];
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        drawn[g] = vec3_scale(*column(c, follow_stride(plan)), column_vec3(c, follow_off(plan)));
        tip[g] = vec3_splat(0, 0, 0);
        best[g] = follow_is_best(plan, c);
    }
    for (int slot = plan->slots - 1; slot > 0; slot--)
        for (int g = 0; g < groups; g++) {
            columns c = columns_of_bundle(bundle, g);
            vec3 bone = column_vec3(c, chain_bone(slot)), kept = bone;
            if (mask_any(~best[g])) kept = vec3_select(best[g], bone, column_vec3(c, follow_best(plan, slot)));
            column_set_vec3(c, follow_best(plan, slot), kept);
            bone = chain_swing(bone, *column(c, chain_length(plan, slot)), &drawn[g]);
            tip[g] = vec3_add(tip[g], bone);
            column_set_vec3(c, chain_bone(slot), bone);
        }
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        vec3 off = vec3_sub(column_vec3(c, follow_target(plan)), tip[g]);
        const real before = *column(c, ERROR);
        column_set_vec3(c, follow_off(plan), off);
        *column(c, ERROR) = vec3_length(off);
        if (!published) follow_stride_on(plan, c, before);
    }
}

/* The compiler unrolls the whole bundle. */
static void follow_step(const ik_plan *plan, real *bundle, int groups) {
    if (groups == GROUPS)
        follow_pass(plan, bundle, GROUPS);
    else
        follow_pass(plan, bundle, 1);
}

/* The best bones are the result if the last iteration increased the error. */
static void follow_settle(const ik_plan *plan, columns record) {
    mask worse = mask_less(*column(record, follow_least(plan)), *column(record, ERROR));
    if (!mask_any(worse)) return;
    for (int slot = 1; slot < plan->slots; slot++)
        chain_set_bone(record, slot, worse, column_vec3(record, follow_best(plan, slot)));
}

static void follow_place(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local) {
    if (plan->nodes[k].slot == 0) follow_settle(plan, record);
    chain_place(plan, at, record, world, k, local);
}

static const method follow_the_leader = {follow_size, follow_begin, follow_step, follow_place};

static const method *follow_method(const ik_plan *plan) {
    (void)plan;
    return &follow_the_leader;
}

SOLVE_METHOD(follow)
