/* One free chain, from its base to the joint with the target: shared by the methods that find directions of bones. In
 * the plan of such a chain every slot but the first hangs from the one before. */

/* The chain that ends at node k, and where its target is. */
typedef struct {
    int base, end;
    vec3 line; /* unit, from base to target; where they are one point, along the chain */
    real distance;
    chain_reach reach;
} aimed_chain;

static aimed_chain chain_of(const ik_plan *plan, const pose *start, int k, vec3 target) {
    aimed_chain chain = {.base = solve_base(plan, k), .end = k, .reach = solve_reach(plan, start, k)};
    direction to_target = vec3_direction(vec3_sub(target, start->positions[chain.base]));
    vec3 along = vec3_direction(vec3_sub(start->positions[k], start->positions[chain.base])).unit;
    mask apart = mask_less(real_splat(TINY_SINE) * chain.reach.sum, to_target.length);
    chain.line = vec3_select(apart, to_target.unit, along);
    chain.distance = to_target.length;
    return chain;
}

/* Joint k as it has to turn, by the shortest arc, to bring the bone to its child from where it is onto `to`. */
ik_inline quat chain_turned(const ik_plan *plan, group at, const pose *world, int k, const local_joint *local,
                            vec3 to) {
    const int child = plan->nodes[k].child;
    vec3 bone = vec3_scale(world->scale, vec3_multiply(local->scale, solve_offset(plan, at, child)));
    vec3 wanted = solve_direction(plan, world, k, to);
    return quat_multiply(quat_arc_between(quat_rotate(local->rotation, bone), wanted), local->rotation);
}

/* ---- bones as vectors, which come first of a method's columns: they are the result */

/* The bone that ends at a slot; of slot 0 there is none. */
ik_inline int chain_bone(int slot) { return OWN + 3 * slot; }

ik_inline int chain_length(const ik_plan *plan, int slot) { return OWN + 3 * plan->slots + slot; }
ik_inline int chain_columns(const ik_plan *plan) { return OWN + 4 * plan->slots; }

static void chain_load_bones(const ik_plan *plan, const pose *start, columns record) {
    for (int slot = 1; slot < plan->slots; slot++) {
        vec3 bone = solve_bone(plan, start, plan->node_of_slot[slot]);
        column_set_vec3(record, chain_bone(slot), bone);
        *column(record, chain_length(plan, slot)) = vec3_length(bone);
    }
}

/* The target of the chain's end relative to its base; the end itself if the goal has a weight of 0. */
static vec3 chain_target(const ik_plan *plan, group at, const pose *start, mask *counts) {
    const int k = plan->node_of_slot[plan->slots - 1];
    real weight;
    vec3 target = solve_nearer(plan, start, k, solve_target(plan, at, start, k, start->positions[k], &weight));
    *counts = ~mask_equal(weight, real_splat(0));
    return vec3_sub(target, start->positions[solve_base(plan, k)]);
}

static void chain_set_bone(columns record, int slot, mask chosen, vec3 bone) {
    vec3 before = column_vec3(record, chain_bone(slot));
    column_set_vec3(record, chain_bone(slot), vec3_select(chosen, bone, before));
}

/* Shares of the reach. CHAIN_FLAT: the largest distance of joints from the line to the target that counts as in line.
 * CHAIN_WIDE: the least base-target distance on which an arc is built. */
#define CHAIN_FLAT (number)1e-6
#define CHAIN_WIDE (number)0.125

/* A chain in line with its target starts as an arc towards it. Its height is about that of a triangle with the chain's
 * length. CHAIN_WIDE keeps it an arc if the target is at the base. */
static void chain_unlock(const ik_plan *plan, const aimed_chain *chain, columns record) {
    const real one = real_splat(1), sum = chain->reach.sum, distance = chain->distance;
    real off = real_splat(0), at = off;
    for (int slot = 1; slot < plan->slots; slot++)
        off = real_max(off, vec3_size(vec3_cross(column_vec3(record, chain_bone(slot)), chain->line)));
    mask flat = mask_less(off, real_splat(CHAIN_FLAT) * sum) & mask_less(distance, sum) &
                ~mask_less(distance, chain_inner(chain->reach));
    if (!mask_any(flat)) return;
    vec3 along = vec3_scale(real_max(distance, real_splat(CHAIN_WIDE) * sum), chain->line);
    vec3 across = vec3_perpendicular(chain->line);
    real height = real_sqrt(real_max((sum - distance) * (sum + distance), real_splat(0)));
    for (int slot = 1; slot < plan->slots; slot++) {
        real length = *column(record, chain_length(plan, slot)), middle = (at + at + length) / sum;
        vec3 way = vec3_add(along, vec3_scale(height * (one - middle), across));
        chain_set_bone(record, slot, flat, vec3_scale(length, vec3_direction(way).unit));
        at = at + length;
    }
}

/* ---- a chain that is nearly straight
 *
 * Near full reach steps converge slowly, and small steps turn joints far: the sine of a bend grows with the root of
 * (reach - distance of the target). But the answer has a simple form there. A bone's lean is its part perpendicular to
 * the line from base to target. The leans add up to 0, and still do so after scaling by one factor. This factor is the
 * only unknown. A bent chain keeps its shape, or nearly so; a straight chain becomes an arc. */

/* The bend direction, a unit vector perpendicular to `line`, carried along from the present line to the end. For a
 * straight chain it points to where the chain lies now. The second argument is the sum of the joint positions relative
 * to the base. */
static vec3 chain_side(const ik_plan *plan, vec3 joints, vec3 end, real reach, vec3 line) {
    const real tiny = real_splat(TINY_SINE) * reach;
    direction now = vec3_direction(end);
    vec3 from = vec3_select(mask_less(tiny, now.length), now.unit, line);
    direction across = vec3_direction(vec3_sub(joints, vec3_scale(vec3_dot(joints, from), from)));
    mask is_bent = mask_less(real_splat((number)plan->slots) * tiny, across.length);
    direction lies = vec3_direction(vec3_sub(from, vec3_scale(vec3_dot(from, line), line)));
    mask is_beside = mask_less(real_splat(TINY_SINE), lies.length);
    vec3 straight = vec3_select(is_beside, vec3_across(lies.unit, line), vec3_perpendicular(line));
    return vec3_select(is_bent, vec3_across(vec3_carried(across.unit, from, line), line), straight);
}

/* Shares of the reach by which a target is short of it. Below `drawn`, a chain that starts near the target has its
 * leans scaled. Below `arched`, which is less, any chain is laid on an arc. */
typedef struct {
    number drawn, arched;
} chain_edge;

/* CHAIN_NEAR, a share of the reach: a chain starts near its target below this distance. CHAIN_STRAIGHT and CHAIN_STEEP,
 * sines of leans: below the first a chain has no shape, above the second it is not nearly straight. */
#define CHAIN_NEAR     (number)0.25
#define CHAIN_STRAIGHT (number)0x1p-8
#define CHAIN_STEEP    (number)0.9

enum { CHAIN_ROUNDS = 5 };

/* The leans of bones off the line to the target, as shares of their length. They are `own` times the present leans off
 * the line to the chain's end, plus `arc` times the leans of an arc. The latter fall linearly along the chain, from 1
 * to -1. */
typedef struct {
    vec3 from, both, side; /* the line now; that and the line to the target, for what is carried along */
    real own, arc;
} chain_form;

/* The place of a bone's middle on its chain: 1 at the base, -1 at the end. */
ik_inline real chain_share(const aimed_chain *chain, real at, real length) {
    return real_splat(1) - (at + at + length) / chain->reach.sum;
}

/* The lean of a bone that starts at `at`, a length along its chain. */
ik_inline vec3 chain_lean(const aimed_chain *chain, const chain_form *form, vec3 bone, real length, real at) {
    vec3 off = vec3_sub(bone, vec3_scale(vec3_dot(bone, form->from), form->from));
    vec3 carried = vec3_sub(off, vec3_scale(vec3_dot(off, chain->line), form->both));
    vec3 own = vec3_scale(form->own / (length + real_splat(TINY_LENGTH)), carried);
    return vec3_add(own, vec3_scale(form->arc * chain_share(chain, at, length), form->side));
}

/* For leans whose squares are multiplied by `square`: how much shorter than its reach the chain is, the derivative of
 * that by `square`, and the largest squared lean, before scaling. */
typedef struct {
    real lost, change, most;
} chain_loss;

static chain_loss chain_loss_of(const ik_plan *plan, const aimed_chain *chain, const chain_form *form, int bones,
                                columns record, real square) {
    const real one = real_splat(1), half = real_splat((number)0.5);
    real at = real_splat(0);
    chain_loss sum = {at, real_splat(TINY_LENGTH), real_splat(SMALLEST)};
    for (int slot = 1; slot < plan->slots; slot++) {
        vec3 bone = column_vec3(record, bones + 3 * slot);
        real length = vec3_length(bone);
        vec3 lean = chain_lean(chain, form, bone, length, at);
        real own = vec3_dot(lean, lean), sine = real_min(square * own, one), cosine = real_sqrt(one - sine);
        sum.lost = sum.lost + length * sine / (one + cosine);
        sum.change = sum.change + half * length * own / (cosine + real_splat(EPSILON));
        sum.most = real_max(sum.most, own);
        at = at + length;
    }
    return sum;
}

/* The factor of all squared leans with which the chain ends at its target. Across the line leans add up to 0 for any
 * factor. Along the line the chain has to lose the missing length:
 *
 *   sum of length (1 - sqrt(1 - square lean^2)) = reach - distance
 *
 * The left side is convex, and nearly linear for small leans. Newton's method descends to the root from that of the
 * linear equation. */
static real chain_square(const ik_plan *plan, const aimed_chain *chain, const chain_form *form, int bones,
                         columns record) {
    const real zero = real_splat(0), missing = chain->reach.sum - chain->distance;
    chain_loss loss = chain_loss_of(plan, chain, form, bones, record, zero);
    const real most = real_splat(1) / loss.most;
    real square = real_min(missing / loss.change, most);
    for (int round = 0; round < CHAIN_ROUNDS; round++) {
        loss = chain_loss_of(plan, chain, form, bones, record, square);
        square = real_max(real_min(square + (missing - loss.lost) / loss.change, most), zero);
    }
    return square;
}

/* Whether the target is within reach, to rounding, by less than a share of it. */
ik_inline mask chain_at_edge(const aimed_chain *chain, number share) {
    const real sum = chain->reach.sum, missing = sum - chain->distance;
    return ~mask_less(missing, real_splat(-16 * EPSILON) * sum) & mask_less(missing, real_splat(share) * sum);
}

/* A chain that straightens becomes more of an arc the nearer it is to full reach. Otherwise a single bend, which takes
 * up all of the missing length, would close abruptly at the end. A chain that contracts keeps its shape. */
static void chain_blend(const aimed_chain *chain, vec3 end, chain_form *form) {
    const real one = real_splat(1), sum = chain->reach.sum, tiny = real_splat(TINY_LENGTH) * sum;
    real now = real_max(sum - vec3_length(end), tiny), then = real_max(sum - chain->distance, tiny);
    form->own = real_min(real_sqrt(then / now), one);
    form->arc = (one - form->own) * real_sqrt(real_splat(6) * now / sum); /* that of many bones */
}

/* Lanes at the edge in which a chain starts near its target and is nearly straight both now and there. Scaling its
 * leans changes its pose least, and joints follow the target smoothly. All other chains, and straight ones, which have
 * no leans to scale, become arcs. */
static mask chain_draws(const ik_plan *plan, const aimed_chain *chain, mask edge, chain_form *form, vec3 end, int bones,
                        columns record) {
    const real sum = chain->reach.sum, zero = real_splat(0), one = real_splat(1);
    const real steep = real_splat(CHAIN_STEEP * CHAIN_STEEP), straight = real_splat(CHAIN_STRAIGHT * CHAIN_STRAIGHT);
    vec3 off = vec3_sub(vec3_scale(chain->distance, chain->line), end);
    mask draws = edge & mask_less(vec3_length(off), real_splat(CHAIN_NEAR) * sum);
    for (int slot = 1; slot < plan->slots && mask_any(draws); slot++)
        draws &= ~mask_less(vec3_dot(column_vec3(record, bones + 3 * slot), form->from), zero);
    form->own = zero, form->arc = one;
    if (!mask_any(draws)) return draws;
    form->own = one, form->arc = zero;
    mask bent = ~mask_less(chain_loss_of(plan, chain, form, bones, record, zero).most, straight);
    chain_blend(chain, end, form);
    real most = chain_loss_of(plan, chain, form, bones, record, zero).most;
    chain_loss loss = chain_loss_of(plan, chain, form, bones, record, steep / most);
    mask kept = draws & bent & ~mask_less(loss.lost, sum - chain->distance);
    form->own = real_select(kept, form->own, zero);
    form->arc = real_select(kept, form->arc, one);
    return kept | (draws & ~bent);
}

/* In lanes that are `off`, and whose target is near full reach, the chain is curved so that it ends at its target. It
 * keeps its own shape if it starts near and has one. Otherwise it becomes an arc in its bend direction if the target is
 * within `edge.arched` of full reach. Its bones are in columns from `bones` on. Returns the changed lanes. */
static mask chain_curve(const ik_plan *plan, const aimed_chain *chain, mask off, chain_edge edge, int bones,
                        columns record) {
    const real one = real_splat(1);
    const mask drawn = off & chain_at_edge(chain, edge.drawn);
    if (!mask_any(drawn)) return drawn;
    vec3 end = vec3_splat(0, 0, 0), joints = end;
    for (int slot = 1; slot < plan->slots; slot++) {
        end = vec3_add(end, column_vec3(record, bones + 3 * slot));
        joints = vec3_add(joints, end);
    }
    chain_form form = {.from = vec3_direction(end).unit};
    real closeness = real_max(one + vec3_dot(form.from, chain->line), real_splat(TINY_SINE));
    form.both = vec3_scale(one / closeness, vec3_add(form.from, chain->line));
    form.side = chain_side(plan, joints, end, chain->reach.sum, chain->line);
    const mask draws = chain_draws(plan, chain, drawn, &form, end, bones, record);
    const mask chosen = draws | (off & chain_at_edge(chain, edge.arched));
    real steepness = real_sqrt(chain_square(plan, chain, &form, bones, record)), at = real_splat(0);
    for (int slot = 1; slot < plan->slots; slot++) {
        vec3 before = column_vec3(record, bones + 3 * slot);
        real length = vec3_length(before);
        vec3 lean = vec3_scale(steepness, chain_lean(chain, &form, before, length, at));
        real cosine = real_sqrt(real_max(one - vec3_dot(lean, lean), real_splat(0)));
        vec3 bone = vec3_scale(length, vec3_add(vec3_scale(cosine, chain->line), lean));
        column_set_vec3(record, bones + 3 * slot, vec3_select(chosen, bone, before));
        at = at + length;
    }
    return chosen;
}

/* ---- from bones to joints */

/* A bone after its outer end was pulled by `drawn`, and the pull that it passes on. */
ik_inline vec3 chain_swing(vec3 bone, real length, vec3 *drawn) {
    vec3 v = vec3_add(bone, *drawn);
    v.x = v.x + real_splat(TINY_LENGTH); /* for one that is drawn onto its joint */
    vec3 swung = vec3_scale(length / (vec3_length(v) + real_splat(0x1p-120f)), v);
    *drawn = vec3_sub(v, swung);
    return swung;
}

static void chain_place(const ik_plan *plan, group at, columns record, const pose *world, int k, local_joint *local) {
    const int child = plan->nodes[k].child;
    if (child < 0) return;
    vec3 to = column_vec3(record, chain_bone(plan->nodes[child].slot));
    local->rotation = chain_turned(plan, at, world, k, local, to);
}
