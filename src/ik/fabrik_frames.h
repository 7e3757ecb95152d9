/* FABRIK with frames: for limits, trees, and rotations that are given. A. Aristidou, Y. Chrysanthou, J. Lasenby,
 * "Extending FABRIK with model constraints", Computer Animation and Virtual Worlds 27 (2016); on limits, differently.
 *
 * Idea. A point does not know how its joint is turned, so every joint that turns carries its rotation W in the world as
 * well: it is a rigid body, and holds its children at o, constant in its own space. What does not turn is a part of the
 * body that carries it.
 *
 *   backward   W[j] turns so that its bones point from where it is to where its children now are: by the shortest arc;
 *              several children are fitted like the points of a rigid body. The rotation of an only child relative to
 *              it is then brought into the child's limit, the child staying, and
 *              p[j] <- sum of share[c] (p[c] - W[j] o[c]), by the weights of the goals below each child
 *   forward    p[c] <- p[j] + W[j] o[c]; W[c] turns towards its own children, and then into its limit
 *
 * So after the forward pass all bones have their length and all limits hold: that is the pose the error is judged by.
 * A rotation that is given is taken as it is, in both passes.
 *
 * Unless `textbook`: limits can hold a chain in a pose that both passes leave as it is. Where there is no more progress
 * all joints are turned by some angles, the same ones for every item, within their limits, and the best of all poses
 * is the result. */

/* What a body's own place weighs beside its children, when it is fitted to them: it says how a body of two children
 * is turned about the line through them. */
#define FRAMES_ANCHOR (number)0.2

/* The steps of a fit. It starts from the fit before, so that few are enough. */
enum { FRAMES_FIT_STEPS = 2 };

enum { FRAMES_PATIENCE = 4, FRAMES_KICKS = 8 };

/* The columns of a record. The best rotations come first: they are the result. */
ik_inline int frames_best(int slot) { return OWN + 4 * slot; }
ik_inline int frames_rotation(const ik_plan *plan, int slot) { return OWN + 4 * plan->slots + 4 * slot; }
/* The rotation of its parent, in the space of what carries it; of what does not turn, its own. */
ik_inline int frames_socket(const ik_plan *plan, int slot) { return OWN + 8 * plan->slots + 4 * slot; }
ik_inline int frames_point(const ik_plan *plan, int slot) { return OWN + 12 * plan->slots + 3 * slot; }
/* Where it is in the space of what carries it. */
ik_inline int frames_bone(const ik_plan *plan, int slot) { return OWN + 15 * plan->slots + 3 * slot; }
ik_inline int frames_share(const ik_plan *plan, int slot) { return OWN + 18 * plan->slots + slot; }
ik_inline int frames_target(const ik_plan *plan, int goal) { return OWN + 19 * plan->slots + 9 * goal; }
ik_inline int frames_target_share(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 3; }
ik_inline int frames_turned(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 4; }
ik_inline int frames_turned_weight(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 8; }
ik_inline int frames_per_radian(const ik_plan *plan) { return frames_target(plan, plan->job->goal_count); }
ik_inline int frames_least(const ik_plan *plan) { return frames_per_radian(plan) + 1; }
ik_inline int frames_reference(const ik_plan *plan) { return frames_per_radian(plan) + 2; }
ik_inline int frames_idle(const ik_plan *plan) { return frames_per_radian(plan) + 3; }
ik_inline int frames_kicks(const ik_plan *plan) { return frames_per_radian(plan) + 4; }
ik_inline int frames_held(const ik_plan *plan) { return frames_per_radian(plan) + 5; }
ik_inline int frames_best_held(const ik_plan *plan) { return frames_per_radian(plan) + 6; }

static record_size frames_size(int slots, int goals) {
    return (record_size){OWN + 19 * slots + 9 * goals + 7, OWN + 4 * slots};
}

ik_inline quat column_quat(columns c, int i) { return (quat){*column(c, i), column_vec3(c, i + 1)}; }
ik_inline void column_set_quat(columns c, int i, quat q) {
    *column(c, i) = q.w;
    column_set_vec3(c, i + 1, q.v);
}

/* ---- turns of a body */

/* The best turn about the axis of `torque`, where `along` is what the sum of all dot products comes to in the plane at
 * right angles to it. Without a torque and beyond a right angle, about something across `bone`. */
ik_inline quat frames_turn(vec3 torque, real along, vec3 bone) {
    const real zero = real_splat(0), least = real_splat(TINY_LENGTH);
    real across = vec3_length(torque), size = real_sqrt(across * across + along * along);
    mask beyond = mask_less(along, zero);
    quat turn = {size + real_abs(along) + least, torque};
    if (mask_any(beyond)) {
        direction axis = vec3_direction(torque);
        mask opposite = mask_less(across, real_splat(TINY_SINE) * size);
        axis.unit = vec3_select(opposite, vec3_perpendicular(vec3_direction(bone).unit), axis.unit);
        turn = quat_select(beyond, (quat){across, vec3_scale(turn.w, axis.unit)}, turn);
    }
    return quat_scale(real_splat(1) / real_sqrt(quat_dot(turn, turn)), turn);
}

/* The shortest turn that makes the bone of a body point somewhere. */
ik_inline quat frames_aim(quat rotation, vec3 bone, vec3 towards) {
    vec3 now = quat_rotate(rotation, bone);
    quat turn = frames_turn(vec3_cross(now, towards), vec3_dot(now, towards), now);
    return quat_polished(quat_multiply(turn, rotation));
}

/* Sums of weight * a b^T; a column for each coordinate of b. */
typedef struct {
    vec3 x, y, z;
} correlation;

ik_inline void correlation_add(correlation *sum, real weight, vec3 a, vec3 b) {
    a = vec3_scale(weight, a);
    sum->x = vec3_add(sum->x, vec3_scale(b.x, a));
    sum->y = vec3_add(sum->y, vec3_scale(b.y, a));
    sum->z = vec3_add(sum->z, vec3_scale(b.z, a));
}

/* One step towards the best fit: about the axis of the torque as far as is best. */
ik_inline quat correlation_turn(const correlation *s, vec3 bone) {
    vec3 torque = {s->z.y - s->y.z, s->x.z - s->z.x, s->y.x - s->x.y}, n = vec3_direction(torque).unit;
    vec3 about = {vec3_dot(s->x, n), vec3_dot(s->y, n), vec3_dot(s->z, n)};
    return frames_turn(torque, s->x.x + s->y.y + s->z.z - vec3_dot(about, n), bone);
}

/* The best turn about a unit vector. */
ik_inline quat correlation_turn_about(const correlation *s, vec3 n) {
    const real zero = real_splat(0);
    vec3 torque = {s->z.y - s->y.z, s->x.z - s->z.x, s->y.x - s->x.y};
    vec3 about = {vec3_dot(s->x, n), vec3_dot(s->y, n), vec3_dot(s->z, n)};
    real across = vec3_dot(torque, n), along = s->x.x + s->y.y + s->z.z - vec3_dot(about, n);
    real size = real_sqrt(across * across + along * along), more = size + real_abs(along) + real_splat(TINY_LENGTH);
    mask beyond = mask_less(along, zero);
    real w = real_select(beyond, real_abs(across), more), v = real_select(beyond, more, real_abs(across));
    real inverse = real_splat(1) / real_sqrt(w * w + v * v);
    return (quat){inverse * w, vec3_scale(real_negate_if(mask_less(across, zero), inverse * v), n)};
}

/* A body with several children turned to where they are. It stays where it is, or is fitted as a whole. */
ik_outline void frames_fit(const ik_plan *plan, columns c, int k, int stays, quat *rotation) {
    const vec3 nothing = vec3_splat(0, 0, 0);
    vec3 place = column_vec3(c, frames_point(plan, plan->nodes[k].slot)), middle = nothing, target = place;
    if (!stays) {
        real all = real_splat(1 / (1 + FRAMES_ANCHOR));
        target = vec3_scale(real_splat(FRAMES_ANCHOR), place);
        for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling) {
            int slot = plan->nodes[child].slot;
            real share = *column(c, frames_share(plan, slot));
            middle = vec3_add(middle, vec3_scale(share, column_vec3(c, frames_bone(plan, slot))));
            target = vec3_add(target, vec3_scale(share, column_vec3(c, frames_point(plan, slot))));
        }
        middle = vec3_scale(all, middle), target = vec3_scale(all, target);
    }
    correlation s = {nothing, nothing, nothing};
    vec3 first = quat_rotate(*rotation, vec3_sub(nothing, middle));
    correlation_add(&s, real_splat(FRAMES_ANCHOR), first, vec3_sub(place, target));
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling) {
        int slot = plan->nodes[child].slot;
        vec3 bone = vec3_sub(column_vec3(c, frames_bone(plan, slot)), middle);
        first = quat_rotate(*rotation, bone);
        correlation_add(&s, *column(c, frames_share(plan, slot)), first,
                        vec3_sub(column_vec3(c, frames_point(plan, slot)), target));
    }
    for (int step = 0; step < FRAMES_FIT_STEPS; step++) {
        quat turn = correlation_turn(&s, first);
        *rotation = quat_polished(quat_multiply(turn, *rotation));
        s = (correlation){quat_rotate(turn, s.x), quat_rotate(turn, s.y), quat_rotate(turn, s.z)};
    }
}

ik_inline int frames_is_limited(const ik_plan *plan, int k) {
    const limit *limits = plan->limits;
    return limits && limits[k].kind != IK_FREE;
}

/* The rotation that the joint of node k starts from. */
ik_inline quat frames_above(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    quat socket = column_quat(c, frames_socket(plan, node->slot));
    if (node->owner < 0) return socket;
    quat owner = column_quat(c, frames_rotation(plan, plan->nodes[node->owner].slot));
    return node->owner == node->parent ? owner : quat_multiply(owner, socket);
}

/* The rotation of node k as its limit has it. */
ik_inline quat frames_limited(const ik_plan *plan, columns c, int k, quat rotation) {
    if (!frames_is_limited(plan, k)) return rotation;
    quat above = frames_above(plan, c, k), local = quat_multiply(quat_conjugate(above), rotation);
    quat allowed = solve_allowed(plan, k, local);
    quat off = {allowed.w - local.w, vec3_sub(allowed.v, local.v)};
    real *held = column(c, frames_held(plan));
    mask changed = mask_less(real_splat(16 * LIMIT_TOLERANCE), real_max(real_abs(off.w), vec3_largest(off.v)));
    *held = real_select(changed, real_splat(1), *held);
    return quat_polished(quat_multiply(above, allowed));
}

/* The rotation that what carries node k must have for its limit, if k stays as it is. */
ik_inline quat frames_limited_owner(const ik_plan *plan, columns c, int k, quat owner) {
    if (!plan->nodes[k].turns || !frames_is_limited(plan, k)) return owner;
    int rigid = plan->nodes[k].owner != plan->nodes[k].parent, slot = plan->nodes[k].slot;
    quat socket = column_quat(c, frames_socket(plan, slot)), rotation = column_quat(c, frames_rotation(plan, slot));
    quat above = rigid ? quat_multiply(owner, socket) : owner;
    quat allowed = solve_allowed(plan, k, quat_multiply(quat_conjugate(above), rotation));
    above = quat_multiply(rotation, quat_conjugate(allowed));
    return quat_polished(rigid ? quat_multiply(above, quat_conjugate(socket)) : above);
}

ik_inline int frames_is_hinge(const ik_plan *plan, int k) {
    return plan->nodes[k].turns && frames_is_limited(plan, k) && ((const limit *)plan->limits)[k].kind == IK_HINGE;
}

/* A hinge turned towards its children about its own axis, since the nearest it can do to a shortest arc is too little.
 */
ik_inline quat frames_hinged(const ik_plan *plan, columns c, int k, quat rotation) {
    const vec3 nothing = vec3_splat(0, 0, 0);
    vec3 place = column_vec3(c, frames_point(plan, plan->nodes[k].slot));
    correlation s = {nothing, nothing, nothing};
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling) {
        int slot = plan->nodes[child].slot;
        correlation_add(&s, *column(c, frames_share(plan, slot)),
                        quat_rotate(rotation, column_vec3(c, frames_bone(plan, slot))),
                        vec3_sub(column_vec3(c, frames_point(plan, slot)), place));
    }
    vec3 axis = quat_rotate(rotation, limit_axis(&((const limit *)plan->limits)[k], 0));
    return quat_polished(quat_multiply(correlation_turn_about(&s, axis), rotation));
}

/* A body, carried by its only child k whose hinge is the only way that it can turn. */
ik_inline quat frames_hinged_owner(const ik_plan *plan, columns c, int k, quat owner) {
    const ik_node *node = &plan->nodes[k];
    const vec3 nothing = vec3_splat(0, 0, 0);
    correlation s = {nothing, nothing, nothing};
    vec3 off = vec3_sub(column_vec3(c, frames_point(plan, node->slot)),
                        column_vec3(c, frames_point(plan, plan->nodes[node->owner].slot)));
    correlation_add(&s, real_splat(1), quat_rotate(owner, column_vec3(c, frames_bone(plan, node->slot))), off);
    vec3 axis = quat_rotate(column_quat(c, frames_rotation(plan, node->slot)),
                            limit_axis(&((const limit *)plan->limits)[k], 0));
    return quat_polished(quat_multiply(correlation_turn_about(&s, axis), owner));
}

/* A body whose rotation is given, or that of a part of it. */
ik_inline quat frames_given(const ik_plan *plan, columns c, int k, quat rotation) {
    const ik_node *node = &plan->nodes[k];
    if (node->rotation >= 0) {
        mask counts = ~mask_equal(*column(c, frames_turned_weight(plan, node->rotation)), real_splat(0));
        rotation = quat_select(counts, column_quat(c, frames_turned(plan, node->rotation)), rotation);
    }
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling) {
        int goal = plan->nodes[child].rotation;
        if (goal < 0 || plan->nodes[child].turns) continue;
        mask counts = ~mask_equal(*column(c, frames_turned_weight(plan, goal)), real_splat(0));
        quat socket = column_quat(c, frames_socket(plan, plan->nodes[child].slot));
        quat given = quat_multiply(column_quat(c, frames_turned(plan, goal)), quat_conjugate(socket));
        rotation = quat_select(counts, given, rotation);
    }
    return rotation;
}

/* A body turned towards its children. */
ik_inline quat frames_towards(const ik_plan *plan, columns c, int k, int stays) {
    const ik_node *node = &plan->nodes[k];
    quat rotation = column_quat(c, frames_rotation(plan, node->slot));
    if (node->child < 0) return rotation;
    if (plan->nodes[node->child].sibling >= 0) {
        frames_fit(plan, c, k, stays, &rotation);
        return rotation;
    }
    int child = plan->nodes[node->child].slot;
    vec3 to = column_vec3(c, frames_point(plan, child)), from = column_vec3(c, frames_point(plan, node->slot));
    return frames_aim(rotation, column_vec3(c, frames_bone(plan, child)), vec3_sub(to, from));
}

/* ---- the passes */

/* Where the children would have a body. */
ik_inline vec3 frames_pulled(const ik_plan *plan, columns c, int k, quat rotation) {
    vec3 sum = vec3_splat(0, 0, 0);
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling) {
        int slot = plan->nodes[child].slot;
        vec3 bone = quat_rotate(rotation, column_vec3(c, frames_bone(plan, slot)));
        vec3 place = vec3_sub(column_vec3(c, frames_point(plan, slot)), bone);
        sum = vec3_add(sum, vec3_scale(*column(c, frames_share(plan, slot)), place));
    }
    return sum;
}

static void frames_backward(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    vec3 p = column_vec3(c, frames_point(plan, node->slot));
    if (node->turns) {
        quat rotation = frames_given(plan, c, k, frames_towards(plan, c, k, 0));
        if (node->child >= 0) {
            if (plan->nodes[node->child].sibling < 0) rotation = frames_limited_owner(plan, c, node->child, rotation);
            if (plan->nodes[node->child].sibling < 0 && frames_is_hinge(plan, node->child))
                rotation =
                    frames_limited_owner(plan, c, node->child, frames_hinged_owner(plan, c, node->child, rotation));
            p = frames_pulled(plan, c, k, rotation);
        }
        column_set_quat(c, frames_rotation(plan, node->slot), rotation);
    }
    if (node->point >= 0) {
        real share = *column(c, frames_target_share(plan, node->point));
        vec3 target = column_vec3(c, frames_target(plan, node->point));
        p = vec3_add(vec3_scale(real_splat(1) - share, p), vec3_scale(share, target));
    }
    column_set_vec3(c, frames_point(plan, node->slot), p);
}

/* To where what carries it holds it. */
ik_inline void frames_hang(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    int owner = plan->nodes[node->owner].slot;
    vec3 bone =
        quat_rotate(column_quat(c, frames_rotation(plan, owner)), column_vec3(c, frames_bone(plan, node->slot)));
    column_set_vec3(c, frames_point(plan, node->slot), vec3_add(column_vec3(c, frames_point(plan, owner)), bone));
}

static void frames_forward(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    if (node->moves) frames_hang(plan, c, k);
    if (!node->turns) return;
    quat rotation = frames_given(plan, c, k, frames_towards(plan, c, k, 1));
    rotation = frames_limited(plan, c, k, rotation);
    if (frames_is_hinge(plan, k) && node->child >= 0)
        rotation = frames_limited(plan, c, k, frames_hinged(plan, c, k, rotation));
    column_set_quat(c, frames_rotation(plan, node->slot), rotation);
}

/* ---- errors */

ik_inline real frames_position_error(const ik_plan *plan, columns c, int k) {
    int goal = plan->nodes[k].point;
    vec3 at = column_vec3(c, frames_point(plan, plan->nodes[k].slot));
    real off = vec3_length(vec3_sub(column_vec3(c, frames_target(plan, goal)), at));
    mask counts = ~mask_equal(*column(c, frames_target_share(plan, goal)), real_splat(0));
    return real_select(counts, off, real_splat(0));
}

/* Twice the sine of half the angle. */
ik_inline real frames_rotation_error(const ik_plan *plan, columns c, int k) {
    int goal = plan->nodes[k].rotation, slot = plan->nodes[k].slot;
    quat now = plan->nodes[k].turns
                   ? column_quat(c, frames_rotation(plan, slot))
                   : quat_multiply(column_quat(c, frames_rotation(plan, plan->nodes[plan->nodes[k].owner].slot)),
                                   column_quat(c, frames_socket(plan, slot)));
    quat off = quat_multiply(column_quat(c, frames_turned(plan, goal)), quat_conjugate(now));
    mask counts = ~mask_equal(*column(c, frames_turned_weight(plan, goal)), real_splat(0));
    real half = vec3_length(off.v);
    return real_select(counts, half + half, real_splat(0));
}

/* The largest error of all goals, angles as the distances that weigh as much. */
static real frames_error(const ik_plan *plan, columns c) {
    real most = real_splat(0), per_radian = *column(c, frames_per_radian(plan));
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->nodes[k].point >= 0) most = real_max(frames_position_error(plan, c, k), most);
        if (plan->nodes[k].rotation >= 0) most = real_max(per_radian * frames_rotation_error(plan, c, k), most);
    }
    return most;
}

/* ---- what is stuck */

/* From -1 to 1, always the same ones. */
typedef struct {
    uint32_t state;
} frames_dice;

static real frames_throw(frames_dice *dice) {
    dice->state = 1664525u * dice->state + 1013904223u;
    return real_splat((number)(int32_t)(dice->state >> 8) * (number)0x1p-23f - 1);
}

#ifndef KICK_ANGLE
#define KICK_ANGLE (number)0.15
#endif

/* All joints of the chosen lanes turn a little, for the given time. */
static void frames_kick(const ik_plan *plan, columns c, mask chosen, int time) {
    frames_dice dice = {(uint32_t)time};
    for (int slot = plan->slots - 1; slot >= 0; slot--) { /* rotations become local ones */
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        int i = frames_rotation(plan, slot);
        quat rotation = column_quat(c, i);
        quat local = quat_multiply(quat_conjugate(frames_above(plan, c, k)), rotation);
        column_set_quat(c, i, quat_select(chosen, local, rotation));
    }
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], i = frames_rotation(plan, slot);
        if (plan->nodes[k].moves) frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        real x = frames_throw(&dice), y = frames_throw(&dice), z = frames_throw(&dice);
        real angle = real_splat(KICK_ANGLE * (number)(1 + time));
        quat local = column_quat(c, i), by = quat_unit((quat){real_splat(1), vec3_scale(angle, (vec3){x, y, z})});
        quat above = frames_above(plan, c, k);
        quat turned = quat_multiply(above, solve_allowed(plan, k, quat_multiply(local, by)));
        column_set_quat(c, i, quat_select(chosen, quat_unit(turned), local));
    }
}

static void frames_keep_best(const ik_plan *plan, columns c) {
    real error = *column(c, ERROR), *least = column(c, frames_least(plan)), *held = column(c, frames_best_held(plan));
    mask better = mask_less(error, *least);
    *least = real_select(better, error, *least);
    *held = real_select(better, *column(c, frames_held(plan)), *held);
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!plan->nodes[plan->node_of_slot[slot]].turns) continue;
        quat now = column_quat(c, frames_rotation(plan, slot)), best = column_quat(c, frames_best(slot));
        column_set_quat(c, frames_best(slot), quat_select(better, now, best));
    }
}

static void frames_watch(const ik_plan *plan, columns c) {
    const real zero = real_splat(0), one = real_splat(1);
    real *idle = column(c, frames_idle(plan)), *kicks = column(c, frames_kicks(plan)), error = *column(c, ERROR);
    real *reference = column(c, frames_reference(plan));
    mask progress = mask_less(error, real_splat(1 - FABRIK_PROGRESS) * *reference);
    *reference = real_select(progress, error, *reference);
    *idle = real_select(progress, zero, *idle + one);
    mask stuck = mask_less(real_splat(FRAMES_PATIENCE), *idle) & mask_less(*column(c, TOLERANCE), error);
    if (!mask_any(stuck)) return;
    for (int time = 0; time < FRAMES_KICKS; time++) {
        mask chosen = stuck & mask_equal(*kicks, real_splat((number)time));
        if (mask_any(chosen)) frames_kick(plan, c, chosen, time);
    }
    mask spent = ~mask_less(*kicks, real_splat(FRAMES_KICKS)) & stuck;
    mask held = mask_less(zero, *column(c, frames_best_held(plan)));
    mask says = spent & (mask_splat(IK_STALLED) | (held & mask_splat(IK_AT_LIMIT)));
    *column(c, SAID) = real_from_bits(real_bits(*column(c, SAID)) | says);
    *idle = real_select(stuck, zero, *idle);
    *kicks = real_select(stuck, *kicks + one, *kicks);
    *reference = real_select(stuck, real_splat(LARGEST), *reference);
}

/* ---- the method */

/* The weight of all goals at node k and below. */
static real frames_weight(const ik_plan *plan, group at, int k) {
    const ik_node *node = &plan->nodes[k];
    real sum = real_splat(0);
    if (node->point >= 0) sum = sum + lanes_load_option(&plan->job->goals[node->point].weight, at, 1);
    if (node->rotation >= 0) sum = sum + lanes_load_option(&plan->job->goals[node->rotation].rotation_weight, at, 1);
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
        sum = sum + frames_weight(plan, at, child);
    return sum;
}

/* The children of a node share it by their weights; equally where they have none. */
static void frames_load_shares(const ik_plan *plan, group at, int k, columns record) {
    real all = real_splat(0);
    int count = 0;
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling, count++)
        all = all + frames_weight(plan, at, child);
    mask none = mask_equal(all, real_splat(0));
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling) {
        real share = frames_weight(plan, at, child) / real_select(none, real_splat(1), all);
        *column(record, frames_share(plan, plan->nodes[child].slot)) =
            real_select(none, real_splat(1) / real_splat((number)count), share);
    }
}

static void frames_load_goals(const ik_plan *plan, group at, const pose *start, int k, columns record) {
    const ik_node *node = &plan->nodes[k];
    real weight;
    if (node->point >= 0) {
        vec3 target = solve_target(plan, at, start, k, start->positions[k], &weight);
        real all = weight;
        for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
            all = all + frames_weight(plan, at, child);
        column_set_vec3(record, frames_target(plan, node->point), target);
        *column(record, frames_target_share(plan, node->point)) =
            weight / real_select(mask_equal(all, real_splat(0)), real_splat(1), all);
    }
    if (node->rotation >= 0) {
        quat turned = solve_target_rotation(plan, at, k, start->rotations[k], &weight);
        column_set_quat(record, frames_turned(plan, node->rotation), turned);
        *column(record, frames_turned_weight(plan, node->rotation)) = weight;
    }
}

/* A node as the pose that comes in has it, but within its limit. */
static void frames_load_node(const ik_plan *plan, const pose *start, int k, columns record) {
    const ik_node *node = &plan->nodes[k];
    quat above = node->parent < 0 ? quat_identity() : start->rotations[node->parent], rotation = start->rotations[k];
    quat socket = node->turns ? above : rotation;
    column_set_vec3(record, frames_point(plan, node->slot), start->positions[k]);
    if (node->moves) {
        quat back = quat_conjugate(start->rotations[node->owner]);
        vec3 off = vec3_sub(start->positions[k], start->positions[node->owner]);
        socket = quat_polished(quat_multiply(back, socket));
        column_set_vec3(record, frames_bone(plan, node->slot), quat_rotate(back, off));
    }
    column_set_quat(record, frames_socket(plan, node->slot), socket);
    if (node->moves) frames_hang(plan, record, k);
    if (!node->turns) return;
    quat local = solve_allowed(plan, k, quat_multiply(quat_conjugate(above), rotation));
    if (plan->limited) rotation = quat_polished(quat_multiply(frames_above(plan, record, k), local));
    column_set_quat(record, frames_rotation(plan, node->slot), rotation);
}

static void frames_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    const real zero = real_splat(0), angle = real_splat((number)plan->job->options.rotation_tolerance + EPSILON);
    int points = 0;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        frames_load_node(plan, start, k, record);
        frames_load_goals(plan, at, start, k, record);
        frames_load_shares(plan, at, k, record);
        points += plan->nodes[k].point >= 0;
    }
    real *tolerance = column(record, TOLERANCE);
    if (!points) *tolerance = angle;
    *column(record, frames_per_radian(plan)) = real_select(mask_less(zero, *tolerance), *tolerance, angle) / angle;
    *column(record, frames_least(plan)) = real_splat(LARGEST);
    *column(record, frames_idle(plan)) = *column(record, frames_kicks(plan)) = *column(record, frames_held(plan)) =
        zero;
    *column(record, frames_best_held(plan)) = zero;
    *column(record, ERROR) = *column(record, frames_reference(plan)) = frames_error(plan, record);
    for (int slot = 0; slot < plan->slots; slot++)
        column_set_quat(record, frames_best(slot), column_quat(record, frames_rotation(plan, slot)));
    frames_keep_best(plan, record);
}

static void frames_step(const ik_plan *plan, real *bundle, int groups) {
    for (int g = 0; g < groups; g++)
        *column(columns_of_bundle(bundle, g), frames_held(plan)) = real_splat(0);
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        if (!node->moves || (!node->turns && node->point < 0)) continue;
        for (int g = 0; g < groups; g++)
            frames_backward(plan, columns_of_bundle(bundle, g), plan->node_of_slot[slot]);
    }
    for (int slot = 0; slot < plan->slots; slot++)
        for (int g = 0; g < groups; g++)
            frames_forward(plan, columns_of_bundle(bundle, g), plan->node_of_slot[slot]);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        *column(c, ERROR) = frames_error(plan, c);
        frames_keep_best(plan, c);
        if (!plan->job->options.textbook) frames_watch(plan, c);
    }
}

static void frames_finish(const ik_plan *plan, group at, columns record, pose *end) {
    (void)at;
    for (int slot = 0; slot < plan->slots; slot++)
        if (plan->nodes[plan->node_of_slot[slot]].turns)
            end->rotations[plan->node_of_slot[slot]] = column_quat(record, frames_best(slot));
}

static const method fabrik_frames = {frames_size, frames_begin, frames_step, frames_finish};

/* ---- the choice */

/* Points are enough for a chain that is free everywhere. */
static int fabrik_needs_frames(const ik_plan *plan) {
    if (plan->limited || plan->rigid || plan->branches) return 1;
    for (int k = 0; k < plan->count; k++)
        if (plan->nodes[k].rotation >= 0 && plan->nodes[k].child >= 0) return 1;
    return 0;
}

static const method *fabrik_method(const ik_plan *plan) {
    return fabrik_needs_frames(plan) ? &fabrik_frames : &fabrik_points;
}

/* For the larger of both. */
static record_size fabrik_size(int slots, int goals) { return frames_size(slots, goals); }

SOLVE_METHOD(fabrik)
