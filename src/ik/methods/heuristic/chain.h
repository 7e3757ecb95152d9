/* One free chain, from its base to the joint that is to be somewhere: what methods have in common that find how its
 * bones lie. In the plan of such a chain every slot but the first hangs from the one before. */

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

/* Where the end of the chain should be, seen from its base; where the goal counts for nothing, where it is. */
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

/* Of the reach: a chain as flat as this is in line with its target. */
#define CHAIN_FLAT (number)1e-6
#define CHAIN_WIDE (number)0.125

/* A chain in line with its target starts as an arc to it, about as high as a triangle of its length; of some width,
 * were the target its base, or it would be another line. */
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
 * Near full reach what steps gain grows ever less, and where they put bends turns joints far: the sine of a bend goes
 * as the root of what the target is short of the reach. But there the answer is known. How bones lean off the line from
 * base to target adds up to nothing, whatever their lengths; so it does drawn out or in, all by one factor, and one
 * number is left to be found. What comes in bent stays as it is bent, or nearly so; what is straight becomes an arc. */

/* The unit vector across `line` to the side where a chain is bent, carried along from the line to its end as it is; of
 * a straight one to where it lies. The second argument is the sum of the joints relative to the base. */
static vec3 chain_side(const ik_plan *plan, vec3 belly, vec3 end, real reach, vec3 line) {
    const real tiny = real_splat(TINY_SINE) * reach;
    direction now = vec3_direction(end);
    vec3 from = vec3_select(mask_less(tiny, now.length), now.unit, line);
    direction across = vec3_direction(vec3_sub(belly, vec3_scale(vec3_dot(belly, from), from)));
    mask is_bent = mask_less(real_splat((number)plan->slots) * tiny, across.length);
    direction lies = vec3_direction(vec3_sub(from, vec3_scale(vec3_dot(from, line), line)));
    mask is_beside = mask_less(real_splat(TINY_SINE), lies.length);
    vec3 straight = vec3_select(is_beside, vec3_across(lies.unit, line), vec3_perpendicular(line));
    return vec3_select(is_bent, vec3_across(vec3_carried(across.unit, from, line), line), straight);
}

/* Of the reach, by how much a target is short of it where a chain is drawn out or in that starts near, and where one is
 * laid on an arc wherever it starts: the first is more. */
typedef struct {
    number drawn, arched;
} chain_edge;

/* Of the reach: how far from its target a chain is that starts near it. Bones that lean by less than this sine have no
 * shape, and by more than that the chain is not nearly straight. */
#define CHAIN_NEAR     (number)0.25
#define CHAIN_STRAIGHT (number)0x1p-8
#define CHAIN_STEEP    (number)0.9

enum { CHAIN_ROUNDS = 5 };

/* How the bones of a chain lean off the line to its target, in shares of their length: by so much of how they lean off
 * the line to the end of the chain now, and so much of an arc's leans, which are evenly less along the chain and then
 * to the other side. */
typedef struct {
    vec3 from, both, side; /* the line now; that and the line to the target, for what is carried along */
    real own, arc;
} chain_form;

/* Where a bone is on its chain: 1 were it all at the base, -1 at the end. */
ik_inline real chain_share(const aimed_chain *chain, real at, real length) {
    return real_splat(1) - (at + at + length) / chain->reach.sum;
}

/* Of a bone whose start is so far along its chain. */
ik_inline vec3 chain_lean(const aimed_chain *chain, const chain_form *form, vec3 bone, real length, real at) {
    vec3 off = vec3_sub(bone, vec3_scale(vec3_dot(bone, form->from), form->from));
    vec3 carried = vec3_sub(off, vec3_scale(vec3_dot(off, chain->line), form->both));
    vec3 own = vec3_scale(form->own / (length + real_splat(TINY_LENGTH)), carried);
    return vec3_add(own, vec3_scale(form->arc * chain_share(chain, at, length), form->side));
}

/* Of leans that are drawn out to `square` of their square: by how much the chain is shorter than its reach, what that
 * changes by with `square`, and the square of the largest. */
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

/* By how much the square of all leans is drawn out for the chain to end at its target: what they go across adds up to
 * nothing whatever that is, and along the line they lose what the target is short of the reach:
 *
 *   sum of length (1 - sqrt(1 - square lean^2)) = reach - distance
 *
 * It is convex, and all but a line while leans are small: Newton's method comes down to the root from the line's. */
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

/* A chain that is drawn out becomes the more of an arc, the less of what it was short of the reach is left: or a single
 * bend, which takes up all of that, would close at once in the end. Drawn in it stays as it is bent. */
static void chain_blend(const aimed_chain *chain, vec3 end, chain_form *form) {
    const real one = real_splat(1), sum = chain->reach.sum, tiny = real_splat(TINY_LENGTH) * sum;
    real now = real_max(sum - vec3_length(end), tiny), then = real_max(sum - chain->distance, tiny);
    form->own = real_min(real_sqrt(then / now), one);
    form->arc = (one - form->own) * real_sqrt(real_splat(6) * now / sum); /* that of many bones */
}

/* Of the lanes at the edge those in which a chain starts near its target, and is nearly straight there and here: of all
 * that brings it there drawing out how it is bent changes least, and joints turn as the target moves. In all others,
 * and where it is straight, so that there is nothing to draw out, it is an arc. */
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

/* In lanes that are `off`, and nearly straight where their target is, the chain is bent just so that it ends there: in
 * its own shape; or where it has none, or the target is short of the reach by less than a share of that, on an arc to
 * the side where it is bent. Its bones are in columns from `bones` on. Returns these lanes. */
static mask chain_curve(const ik_plan *plan, const aimed_chain *chain, mask off, chain_edge edge, int bones,
                        columns record) {
    const real one = real_splat(1);
    const mask drawn = off & chain_at_edge(chain, edge.drawn);
    if (!mask_any(drawn)) return drawn;
    vec3 end = vec3_splat(0, 0, 0), belly = end;
    for (int slot = 1; slot < plan->slots; slot++) {
        end = vec3_add(end, column_vec3(record, bones + 3 * slot));
        belly = vec3_add(belly, end);
    }
    chain_form form = {.from = vec3_direction(end).unit};
    real closeness = real_max(one + vec3_dot(form.from, chain->line), real_splat(TINY_SINE));
    form.both = vec3_scale(one / closeness, vec3_add(form.from, chain->line));
    form.side = chain_side(plan, belly, end, chain->reach.sum, chain->line);
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

/* A bone as it is drawn along, and what it hands on. */
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
