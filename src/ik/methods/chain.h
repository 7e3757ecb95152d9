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

/* ---- a chain that is nearly straight */

/* The unit vector across `line` to the side where a chain is bent, carried along from the line to its end as it is; of
 * a straight one to where it lies. The belly of a chain is the sum of its joints, seen from its base. */
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

enum { CHAIN_ROUNDS = 4 };

/* Where a bone is on its chain: 1 were it all at the base, -1 at the end. */
ik_inline real chain_share(const aimed_chain *chain, real at, real length) {
    return real_splat(1) - (at + at + length) / chain->reach.sum;
}

/* The square of the sine by which bones lean off the line at the base of an arc on which the chain ends at its target.
 * If the sine falls evenly along the chain, from s at its base to -s, what the bones go across adds up to nothing,
 * whatever their lengths, and along the line they lose what the target is short of the reach:
 *
 *   sum of length (1 - sqrt(1 - s^2 share^2)) = reach - distance
 *
 * which is all but a line in s^2 while that is small. */
static real chain_arc(const ik_plan *plan, const aimed_chain *chain, columns record) {
    const real one = real_splat(1), zero = real_splat(0), missing = chain->reach.sum - chain->distance;
    real square = real_splat(6) * missing / (chain->reach.sum + real_splat(TINY_LENGTH)); /* of many bones */
    for (int round = 0; round < CHAIN_ROUNDS; round++) {
        real at = zero, lost = real_splat(TINY_LENGTH);
        for (int slot = 1; slot < plan->slots; slot++) {
            real length = *column(record, chain_length(plan, slot)), share = chain_share(chain, at, length);
            real sine_square = real_min(square * share * share, one);
            lost = lost + length * sine_square / (one + real_sqrt(one - sine_square));
            at = at + length;
        }
        square = real_min(square * missing / lost, real_splat(4)); /* no sine of the longest bone is above 1 */
    }
    return square;
}

/* Where the target is within reach, but by less than a share of it. */
ik_inline mask chain_at_edge(const aimed_chain *chain, number share) {
    const real sum = chain->reach.sum, missing = sum - chain->distance;
    return ~mask_less(missing, real_splat(0)) & mask_less(missing, real_splat(share) * sum);
}

/* In the chosen lanes the chain is laid on that arc, to the side where it is bent. Its bones are in columns from
 * `bones` on. */
static void chain_curve(const ik_plan *plan, const aimed_chain *chain, mask chosen, int bones, columns record) {
    const real one = real_splat(1);
    if (!mask_any(chosen)) return;
    vec3 end = vec3_splat(0, 0, 0), belly = end;
    for (int slot = 1; slot < plan->slots; slot++) {
        end = vec3_add(end, column_vec3(record, bones + 3 * slot));
        belly = vec3_add(belly, end);
    }
    vec3 side = chain_side(plan, belly, end, chain->reach.sum, chain->line);
    real steepest = real_sqrt(chain_arc(plan, chain, record)), at = real_splat(0);
    for (int slot = 1; slot < plan->slots; slot++) {
        real length = *column(record, chain_length(plan, slot));
        real sine = real_max(real_min(steepest * chain_share(chain, at, length), one), real_splat(-1));
        vec3 way = vec3_add(vec3_scale(real_sqrt(one - sine * sine), chain->line), vec3_scale(sine, side));
        vec3 before = column_vec3(record, bones + 3 * slot);
        column_set_vec3(record, bones + 3 * slot, vec3_select(chosen, vec3_scale(length, way), before));
        at = at + length;
    }
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
