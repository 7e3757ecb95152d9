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
 * Unless `textbook`:
 * - A hinge turns about its own axis as far as is best, where the published rule takes what its limit leaves of the
 *   shortest arc.
 * - A body that has a limit, and a child with one, does not look at that child in the forward pass, which could not go
 *   on from wherever it is brought. It looks at the ends of the chains below, which it carries along as the backward
 *   pass has arranged them: as in CCD, but from the base on. Hinges that turn the same way are no such case.
 * - Limits can hold a chain in a pose that both passes leave as it is. Where progress is poor all joints are turned by
 *   some angles, the same ones for every item, within their limits. After some such kicks the best pose so far goes on
 *   for as long as it makes any progress. The best of all poses is the result. */

/* What a body's own place weighs beside its children, when it is fitted to them: it says how a body of two children
 * is turned about the line through them. */
#ifndef SWEEP
#define SWEEP 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define FRAMES_ANCHOR (number)0.2

/* The steps of a fit. It starts from the fit before, so that few are enough. */
enum { FRAMES_FIT_STEPS = 2 };

/* Poor progress takes less than this share off the error in so many iterations. */
#define FRAMES_POOR (number)0.1
enum { FRAMES_PATIENCE = 6, FRAMES_KICKS = 12 };

/* The tangent of the angle by which the first kick turns a joint, at most; the next ones turn by more. */
#define FRAMES_KICK (number)0.5

/* The columns of a record. The best rotations come first: they are the result. */
ik_inline int frames_best(int slot) { return OWN + 4 * slot; }
ik_inline int frames_rotation(const ik_plan *plan, int slot) { return OWN + 4 * plan->slots + 4 * slot; }
/* The rotation of its parent, in the space of what carries it; of what does not turn, its own. */
ik_inline int frames_socket(const ik_plan *plan, int slot) { return OWN + 8 * plan->slots + 4 * slot; }
ik_inline int frames_point(const ik_plan *plan, int slot) { return OWN + 12 * plan->slots + 3 * slot; }
/* Where it is in the space of what carries it; of a base, its place. */
ik_inline int frames_bone(const ik_plan *plan, int slot) { return OWN + 15 * plan->slots + 3 * slot; }
ik_inline int frames_share(const ik_plan *plan, int slot) { return OWN + 18 * plan->slots + slot; }
ik_inline int frames_target(const ik_plan *plan, int goal) { return OWN + 19 * plan->slots + 10 * goal; }
ik_inline int frames_target_share(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 3; }
ik_inline int frames_turned(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 4; }
ik_inline int frames_turned_weight(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 8; }
/* What the distance to the target counts for: more where the chain is shorter than the longest. */
ik_inline int frames_per_distance(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 9; }
ik_inline int frames_per_radian(const ik_plan *plan) { return frames_target(plan, plan->job->goal_count); }
ik_inline int frames_least(const ik_plan *plan) { return frames_per_radian(plan) + 1; }
ik_inline int frames_reference(const ik_plan *plan) { return frames_per_radian(plan) + 2; }
ik_inline int frames_idle(const ik_plan *plan) { return frames_per_radian(plan) + 3; }
ik_inline int frames_kicks(const ik_plan *plan) { return frames_per_radian(plan) + 4; }
ik_inline int frames_held(const ik_plan *plan) { return frames_per_radian(plan) + 5; }
ik_inline int frames_best_held(const ik_plan *plan) { return frames_per_radian(plan) + 6; }
ik_inline int frames_lever(const ik_plan *plan) { return frames_per_radian(plan) + 7; }
ik_inline int frames_square(const ik_plan *plan) { return frames_per_radian(plan) + 8; }
ik_inline int frames_weight_of(const ik_plan *plan, int goal) { return frames_per_radian(plan) + 9 + goal; }
ik_inline int frames_columns(const ik_plan *plan) { return frames_weight_of(plan, plan->job->goal_count); }
/* Of a sweep: where goals' points and rotations are. */
ik_inline int frames_end(const ik_plan *plan, int goal) { return frames_columns(plan) + 7 * goal; }
ik_inline int frames_before(const ik_plan *plan, int slot) { return frames_end(plan, plan->job->goal_count) + 4 * slot; }

static record_size frames_size(const ik_plan *plan) {
    return (record_size){.columns = frames_columns(plan), .results = frames_best(plan->slots), .work = 7 * plan->job->goal_count + 4 * plan->slots};
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

/* What pulls at a body: the sum of weight * a b^T, where a is drawn to b. A column for each coordinate of b. */
typedef struct {
    vec3 x, y, z;
} pull;

ik_inline pull pull_none(void) { return (pull){vec3_splat(0, 0, 0), vec3_splat(0, 0, 0), vec3_splat(0, 0, 0)}; }

ik_inline void pull_add(pull *s, real weight, vec3 a, vec3 b) {
    a = vec3_scale(weight, a);
    s->x = vec3_add(s->x, vec3_scale(b.x, a));
    s->y = vec3_add(s->y, vec3_scale(b.y, a));
    s->z = vec3_add(s->z, vec3_scale(b.z, a));
}

/* How near all of it is: the sum of the dot products. */
ik_inline real pull_near(const pull *s) { return s->x.x + s->y.y + s->z.z; }

ik_inline vec3 pull_torque(const pull *s) { return (vec3){s->z.y - s->y.z, s->x.z - s->z.x, s->y.x - s->x.y}; }

/* The sum of the dot products at right angles to a unit vector. */
ik_inline real pull_along(const pull *s, vec3 axis) {
    vec3 about = {vec3_dot(s->x, axis), vec3_dot(s->y, axis), vec3_dot(s->z, axis)};
    return s->x.x + s->y.y + s->z.z - vec3_dot(about, axis);
}

/* One step towards the best turn: about the axis of the torque as far as is best. */
ik_inline quat pull_turn(const pull *s, vec3 bone) {
    vec3 torque = pull_torque(s);
    return frames_turn(torque, pull_along(s, vec3_direction(torque).unit), bone);
}

/* The best turn about a unit vector. */
ik_inline quat pull_turn_about(const pull *s, vec3 axis) {
    real sine = vec3_dot(pull_torque(s), axis);
    return frames_turn(vec3_scale(sine, axis), pull_along(s, axis), vec3_perpendicular(axis));
}

/* The middle of a body, in its own space, and where its children would have it. */
typedef struct {
    vec3 bone, place;
} body_middle;

static body_middle frames_middle(const ik_plan *plan, columns c, int k) {
    body_middle sum = {vec3_splat(0, 0, 0), column_vec3(c, frames_point(plan, plan->nodes[k].slot))};
    sum.place = vec3_scale(real_splat(FRAMES_ANCHOR), sum.place);
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling) {
        int slot = plan->nodes[child].slot;
        real share = *column(c, frames_share(plan, slot));
        sum.bone = vec3_add(sum.bone, vec3_scale(share, column_vec3(c, frames_bone(plan, slot))));
        sum.place = vec3_add(sum.place, vec3_scale(share, column_vec3(c, frames_point(plan, slot))));
    }
    real all = real_splat(1 / (1 + FRAMES_ANCHOR));
    return (body_middle){vec3_scale(all, sum.bone), vec3_scale(all, sum.place)};
}

/* A body with several children turned to where they are. It stays where it is, or is fitted as a whole. */
ik_outline void frames_fit(const ik_plan *plan, columns c, int k, int stays, quat *rotation) {
    vec3 place = column_vec3(c, frames_point(plan, plan->nodes[k].slot)), none = vec3_splat(0, 0, 0);
    body_middle middle = {none, place};
    if (!stays) middle = frames_middle(plan, c, k);
    pull s = pull_none();
    vec3 now = quat_rotate(*rotation, vec3_sub(none, middle.bone));
    pull_add(&s, real_splat(FRAMES_ANCHOR), now, vec3_sub(place, middle.place));
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling) {
        int slot = plan->nodes[child].slot;
        now = quat_rotate(*rotation, vec3_sub(column_vec3(c, frames_bone(plan, slot)), middle.bone));
        pull_add(&s, *column(c, frames_share(plan, slot)), now,
                 vec3_sub(column_vec3(c, frames_point(plan, slot)), middle.place));
    }
    for (int step = 0; step < FRAMES_FIT_STEPS; step++) {
        quat turn = pull_turn(&s, now);
        *rotation = quat_polished(quat_multiply(turn, *rotation));
        s = (pull){quat_rotate(turn, s.x), quat_rotate(turn, s.y), quat_rotate(turn, s.z)};
    }
}

/* ---- limits */

ik_inline int frames_is_limited(const ik_plan *plan, int k) {
    const limit *limits = plan->limits;
    return limits && plan->nodes[k].turns && limits[k].kind != IK_FREE;
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
    if (!frames_is_limited(plan, k)) return owner;
    int rigid = plan->nodes[k].owner != plan->nodes[k].parent, slot = plan->nodes[k].slot;
    quat socket = column_quat(c, frames_socket(plan, slot)), rotation = column_quat(c, frames_rotation(plan, slot));
    quat above = rigid ? quat_multiply(owner, socket) : owner;
    quat allowed = solve_allowed(plan, k, quat_multiply(quat_conjugate(above), rotation));
    above = quat_multiply(rotation, quat_conjugate(allowed));
    return quat_polished(rigid ? quat_multiply(above, quat_conjugate(socket)) : above);
}

/* ---- limited chains */

ik_inline int frames_is_hinge(const ik_plan *plan, int k) {
    const limit *limits = plan->limits;
    return frames_is_limited(plan, k) && limits[k].kind == IK_HINGE && !plan->job->options.textbook;
}

ik_inline vec3 frames_axis(const ik_plan *plan, int k, quat rotation) {
    return quat_rotate(rotation, limit_axis((const limit *)plan->limits + k, 0));
}

/* How what the backward pass has arranged is taken along: `from` to `to`, all else about it. */
typedef struct {
    vec3 from, to;
    quat turn;
} carried;

ik_inline vec3 carried_point(const carried *by, vec3 p) {
    return vec3_add(by->to, quat_rotate(by->turn, vec3_sub(p, by->from)));
}

/* A body turned into its limit, and on from there. */
typedef struct {
    carried as; /* relative to its place */
    vec3 place;
    quat rotation;
    pull s;
} frames_body;

/* The points of goals at node k and below, carried along. */
static void frames_add_ends(const ik_plan *plan, columns c, int k, real weight, const carried *as, frames_body *body) {
    const ik_node *node = &plan->nodes[k];
    if (node->point >= 0) {
        vec3 end = column_vec3(c, frames_point(plan, node->slot));
        real share = *column(c, frames_target_share(plan, node->point)) * weight;
        pull_add(&body->s, share, carried_point(as, end), vec3_sub(end, body->place));
        weight = weight - share;
    }
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
        frames_add_ends(plan, c, child, weight * *column(c, frames_share(plan, plan->nodes[child].slot)), as, body);
}

/* A child that has a limit cannot go on from wherever it is brought, so the ends below it count in its place; but of a
 * hinge on a hinge only by as much as their axes differ. */
ik_inline real frames_share_of_ends(const ik_plan *plan, columns c, int k, int child, const frames_body *body) {
    if (!frames_is_limited(plan, child)) return real_splat(0);
    if (!frames_is_hinge(plan, k) || !frames_is_hinge(plan, child)) return real_splat(1);
    quat turned = quat_multiply(body->as.turn, column_quat(c, frames_rotation(plan, plan->nodes[child].slot)));
    real same = vec3_dot(frames_axis(plan, k, body->rotation), frames_axis(plan, child, turned));
    return real_max(real_splat(1) - same * same, real_splat(0));
}

/* The only point of a goal at node k and below; -1: there are several, or none. */
static int frames_only_end(const ik_plan *plan, int k) {
    while (plan->nodes[k].point < 0 && plan->nodes[k].child >= 0 && plan->nodes[plan->nodes[k].child].sibling < 0)
        k = plan->nodes[k].child;
    return plan->nodes[k].child < 0 && plan->nodes[k].point >= 0 ? k : -1;
}

/* The rotation of the hinge k, as the backward pass has it, that a turn about its axis makes of it within its limit. */
ik_inline quat frames_bent(const ik_plan *plan, columns c, int k, vec3 axis, cosine_sine angle) {
    real half = real_sqrt(real_max(real_splat(0.5f) * (real_splat(1) + angle.cosine), real_splat(0)));
    real other = real_sqrt(real_max(real_splat(0.5f) * (real_splat(1) - angle.cosine), real_splat(0)));
    quat turn = {half, vec3_scale(real_negate_if(mask_less(angle.sine, real_splat(0)), other), axis)};
    return frames_limited(plan, c, k, quat_multiply(turn, column_quat(c, frames_rotation(plan, plan->nodes[k].slot))));
}

/* The turn of the hinge k that brings its end as far from what carries it, at `owner`, as it should be. */
ik_outline quat frames_bend(const ik_plan *plan, columns c, int k, vec3 owner, vec3 end, real distance) {
    vec3 at = column_vec3(c, frames_point(plan, plan->nodes[k].slot)), bone = vec3_sub(at, owner), lever = vec3_sub(end, at);
    quat now = column_quat(c, frames_rotation(plan, plan->nodes[k].slot));
    vec3 axis = frames_axis(plan, k, now);
    real along = vec3_dot(bone, axis) * vec3_dot(lever, axis);
    real cosine = vec3_dot(bone, lever) - along, sine = vec3_dot(bone, vec3_cross(axis, lever));
    real want = real_splat(0.5f) * (distance * distance - vec3_dot(bone, bone) - vec3_dot(lever, lever)) - along;
    real size = real_sqrt(cosine * cosine + sine * sine), least = real_splat(SMALLEST);
    real x = real_max(real_min(want, size), -size), y = real_sqrt(size * size - x * x);
    real over = real_splat(1) / real_max(size * size, least);
    cosine_sine plus = {over * (x * cosine - y * sine), over * (x * sine + y * cosine)};
    cosine_sine minus = {over * (x * cosine + y * sine), over * (x * sine - y * cosine)};
    quat best = quat_identity();
    real least_off = real_splat(LARGEST);
    for (int i = 0; i < 2; i++) {
        quat turn = quat_multiply(frames_bent(plan, c, k, axis, i ? minus : plus), quat_conjugate(now));
        vec3 reach = vec3_add(bone, quat_rotate(turn, lever));
        real off = real_abs(vec3_length(reach) - distance);
        mask better = mask_less(off, least_off);
        best = quat_select(better, turn, best);
        least_off = real_select(better, off, least_off);
    }
    return best;
}

static void frames_add_child(const ik_plan *plan, columns c, int k, int child, frames_body *body) {
    int slot = plan->nodes[child].slot, end = frames_only_end(plan, child);
    real share = *column(c, frames_share(plan, slot)), ends = share * frames_share_of_ends(plan, c, k, child, body);
    carried as = body->as;
    if (frames_is_hinge(plan, child) && !frames_is_hinge(plan, k) && end >= 0) {
        vec3 at = column_vec3(c, frames_point(plan, slot)), tip = column_vec3(c, frames_point(plan, plan->nodes[end].slot));
        vec3 owner = vec3_sub(at, quat_rotate(column_quat(c, frames_rotation(plan, plan->nodes[k].slot)), column_vec3(c, frames_bone(plan, slot))));
        quat bend = frames_bend(plan, c, child, owner, tip, vec3_length(vec3_sub(tip, body->place)));
        as = (carried){at, quat_rotate(body->rotation, column_vec3(c, frames_bone(plan, slot))), quat_multiply(as.turn, bend)};
    }
    if (frames_is_limited(plan, child)) frames_add_ends(plan, c, child, ends, &as, body);
    vec3 now = quat_rotate(body->rotation, column_vec3(c, frames_bone(plan, slot)));
    pull_add(&body->s, share - ends, now, vec3_sub(column_vec3(c, frames_point(plan, slot)), body->place));
}

/* Whether a body within its limit should turn again. */
static int frames_swings(const ik_plan *plan, int k) {
    const ik_node *node = &plan->nodes[k];
    if (node->rotation >= 0 || plan->job->options.textbook) return 0;
    if (frames_is_hinge(plan, k)) return node->child >= 0;
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
        if (frames_is_limited(plan, child) && (frames_is_limited(plan, k) || frames_is_hinge(plan, child))) return 1;
    return 0;
}

/* Turned, within the limit, where that is nearer to what it is for. */
ik_inline void frames_try(const ik_plan *plan, columns c, int k, quat turn, frames_body *body) {
    quat rotation = frames_limited(plan, c, k, quat_polished(quat_multiply(turn, body->rotation)));
    quat by = quat_multiply(rotation, quat_conjugate(body->rotation));
    pull s = {quat_rotate(by, body->s.x), quat_rotate(by, body->s.y), quat_rotate(by, body->s.z)};
    mask better = mask_less(pull_near(&body->s), pull_near(&s));
    body->rotation = quat_select(better, rotation, body->rotation);
    body->s.x = vec3_select(better, s.x, body->s.x);
    body->s.y = vec3_select(better, s.y, body->s.y);
    body->s.z = vec3_select(better, s.z, body->s.z);
}

/* A body within its limit turned by what it is for; a hinge about its axis. */
ik_outline void frames_swing(const ik_plan *plan, columns c, int k, vec3 from, quat *rotation) {
    int slot = plan->nodes[k].slot;
    quat before = column_quat(c, frames_rotation(plan, slot));
    carried as = {from, vec3_splat(0, 0, 0), quat_multiply(*rotation, quat_conjugate(before))};
    frames_body body = {as, column_vec3(c, frames_point(plan, slot)), *rotation, pull_none()};
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling)
        frames_add_child(plan, c, k, child, &body);
    vec3 across = quat_rotate(*rotation, vec3_splat(0, 1, 0));
    if (!frames_is_hinge(plan, k)) frames_try(plan, c, k, pull_turn(&body.s, across), &body);
    for (int r = 0; r < ROUNDS; r++)
    for (int axis = 0; axis < (frames_is_hinge(plan, k) ? 1 : 3); axis++)
        frames_try(plan, c, k, pull_turn_about(&body.s, quat_rotate(body.rotation, limit_axis((const limit *)plan->limits + k, axis))), &body);
    *rotation = body.rotation;
}

/* What carries the hinge k, turned about the axis of that. */
ik_outline void frames_swing_owner(const ik_plan *plan, columns c, int k, quat *owner) {
    const ik_node *node = &plan->nodes[k];
    vec3 from = column_vec3(c, frames_point(plan, plan->nodes[node->owner].slot));
    vec3 now = quat_rotate(*owner, column_vec3(c, frames_bone(plan, node->slot)));
    pull s = pull_none();
    pull_add(&s, real_splat(1), now, vec3_sub(column_vec3(c, frames_point(plan, node->slot)), from));
    vec3 axis = frames_axis(plan, k, column_quat(c, frames_rotation(plan, node->slot)));
    *owner = quat_polished(quat_multiply(pull_turn_about(&s, axis), *owner));
}

/* ---- where a body turns */

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

/* A body turned towards its children, in the backward pass. */
ik_inline quat frames_turned_back(const ik_plan *plan, columns c, int k) {
    quat rotation = frames_given(plan, c, k, frames_towards(plan, c, k, 0));
    int child = plan->nodes[k].child;
    if (child < 0 || plan->nodes[child].sibling >= 0) return rotation;
    rotation = frames_limited_owner(plan, c, child, rotation);
    if (!frames_is_hinge(plan, child)) return rotation;
    frames_swing_owner(plan, c, child, &rotation);
    return frames_limited_owner(plan, c, child, rotation);
}

static void frames_backward(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    vec3 p = column_vec3(c, frames_point(plan, node->slot));
    if (node->turns) {
        quat rotation = frames_turned_back(plan, c, k);
        column_set_quat(c, frames_rotation(plan, node->slot), rotation);
        if (node->child >= 0) p = frames_pulled(plan, c, k, rotation);
    }
    if (node->point >= 0) {
        real share = *column(c, frames_target_share(plan, node->point));
        vec3 target = column_vec3(c, frames_target(plan, node->point));
        p = vec3_add(vec3_scale(real_splat(1) - share, p), vec3_scale(share, target));
    }
    column_set_vec3(c, frames_point(plan, node->slot), p);
}

/* To where what carries it holds it; a base to its place. */
ik_inline void frames_hang(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    vec3 p = column_vec3(c, frames_bone(plan, node->slot));
    if (node->moves) {
        int owner = plan->nodes[node->owner].slot;
        p = quat_rotate(column_quat(c, frames_rotation(plan, owner)), p);
        p = vec3_add(column_vec3(c, frames_point(plan, owner)), p);
    }
    column_set_vec3(c, frames_point(plan, node->slot), p);
}

static void frames_forward(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    vec3 before = column_vec3(c, frames_point(plan, node->slot));
    frames_hang(plan, c, k);
    if (!node->turns) return;
    quat rotation = frames_limited(plan, c, k, frames_given(plan, c, k, frames_towards(plan, c, k, 1)));
    if (frames_swings(plan, k)) {
        frames_swing(plan, c, k, before, &rotation);
    }
    column_set_quat(c, frames_rotation(plan, node->slot), rotation);
}

/* ---- errors */

ik_inline real frames_position_error(const ik_plan *plan, columns c, int k) {
    int goal = plan->nodes[k].point;
    vec3 at = column_vec3(c, frames_point(plan, plan->nodes[k].slot));
    real off = vec3_length(vec3_sub(column_vec3(c, frames_target(plan, goal)), at));
    mask counts = ~mask_equal(*column(c, frames_target_share(plan, goal)), real_splat(0));
    return real_select(counts, *column(c, frames_per_distance(plan, goal)) * off, real_splat(0));
}

/* How node k is turned. */
ik_inline quat frames_now(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    if (node->turns) return column_quat(c, frames_rotation(plan, node->slot));
    quat owner = column_quat(c, frames_rotation(plan, plan->nodes[node->owner].slot));
    return quat_multiply(owner, column_quat(c, frames_socket(plan, node->slot)));
}

/* Twice the sine of half the angle. */
ik_inline real frames_rotation_error(const ik_plan *plan, columns c, int k) {
    int goal = plan->nodes[k].rotation;
    quat off = quat_multiply(column_quat(c, frames_turned(plan, goal)), quat_conjugate(frames_now(plan, c, k)));
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


/* ---- sweep */

static int frames_is_below(const ik_plan *plan, int k, int above) {
    while (k > above) k = plan->nodes[k].owner;
    return k == above;
}

static void frames_pull_ends(const ik_plan *plan, columns c, int k, pull *s) {
    vec3 at = column_vec3(c, frames_point(plan, plan->nodes[k].slot));
    real lever = *column(c, frames_lever(plan));
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        if (!frames_is_below(plan, task->node, k)) continue;
        int end = frames_end(plan, task->goal);
        if (task->rotation) {
            quat now = column_quat(c, end + 3), to = column_quat(c, frames_turned(plan, task->goal));
            real weight = lever * lever * *column(c, frames_turned_weight(plan, task->goal));
            mat3 a = mat3_of_quat(now), b = mat3_of_quat(to);
            pull_add(s, weight, (vec3){a.x.x, a.y.x, a.z.x}, (vec3){b.x.x, b.y.x, b.z.x});
            pull_add(s, weight, (vec3){a.x.y, a.y.y, a.z.y}, (vec3){b.x.y, b.y.y, b.z.y});
            pull_add(s, weight, (vec3){a.x.z, a.y.z, a.z.z}, (vec3){b.x.z, b.y.z, b.z.z});
        } else if (task->node != k) {
            vec3 target = column_vec3(c, frames_target(plan, task->goal));
            pull_add(s, *column(c, frames_weight_of(plan, task->goal)), vec3_sub(column_vec3(c, end), at), vec3_sub(target, at));
        }
    }
}

static void frames_carry_ends(const ik_plan *plan, columns c, int k, quat turn) {
    vec3 at = column_vec3(c, frames_point(plan, plan->nodes[k].slot));
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        if (!frames_is_below(plan, task->node, k)) continue;
        int end = frames_end(plan, task->goal);
        if (task->rotation)
            column_set_quat(c, end + 3, quat_multiply(turn, column_quat(c, end + 3)));
        else
            column_set_vec3(c, end, vec3_add(at, quat_rotate(turn, vec3_sub(column_vec3(c, end), at))));
    }
}

static void frames_sweep(const ik_plan *plan, columns c) {
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        if (task->rotation) column_set_quat(c, frames_end(plan, task->goal) + 3, frames_now(plan, c, task->node));
        else column_set_vec3(c, frames_end(plan, task->goal), column_vec3(c, frames_point(plan, plan->nodes[task->node].slot)));
    }
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].turns) continue;
        quat before = column_quat(c, frames_rotation(plan, slot));
        frames_body body = {{vec3_splat(0,0,0),vec3_splat(0,0,0),quat_identity()}, column_vec3(c, frames_point(plan, slot)), before, pull_none()};
        frames_pull_ends(plan, c, k, &body.s);
        if (!frames_is_hinge(plan, k)) frames_try(plan, c, k, pull_turn(&body.s, quat_rotate(before, vec3_splat(0, 1, 0))), &body);
        for (int axis = 0; frames_is_limited(plan, k) && axis < (frames_is_hinge(plan, k) ? 1 : 3); axis++)
            frames_try(plan, c, k, pull_turn_about(&body.s, quat_rotate(body.rotation, limit_axis((const limit *)plan->limits + k, axis))), &body);
        frames_carry_ends(plan, c, k, quat_multiply(body.rotation, quat_conjugate(before)));
        column_set_quat(c, frames_rotation(plan, slot), quat_multiply(quat_conjugate(frames_above(plan, c, k)), body.rotation));
    }
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        int i = frames_rotation(plan, slot);
        column_set_quat(c, i, quat_polished(quat_multiply(frames_above(plan, c, k), column_quat(c, i))));
    }
}

/* What the sweeps make less. */
static real frames_squares(const ik_plan *plan, columns c) {
    real sum = real_splat(0), lever = *column(c, frames_lever(plan));
    for (int t = 0; t < plan->task_count; t++) {
        const ik_task *task = &plan->tasks[t];
        if (task->rotation) {
            quat off = quat_multiply(column_quat(c, frames_turned(plan, task->goal)), quat_conjugate(frames_now(plan, c, task->node)));
            real weight = lever * lever * *column(c, frames_turned_weight(plan, task->goal));
            sum = sum + real_splat(8) * weight * vec3_dot(off.v, off.v);
        } else {
            vec3 off = vec3_sub(column_vec3(c, frames_target(plan, task->goal)), column_vec3(c, frames_point(plan, plan->nodes[task->node].slot)));
            sum = sum + *column(c, frames_weight_of(plan, task->goal)) * vec3_dot(off, off);
        }
    }
    return sum;
}

/* Passes that do not bring the ends nearer are taken back. */
static void frames_take_back(const ik_plan *plan, columns c) {
    mask worse = ~mask_less(frames_squares(plan, c), *column(c, frames_square(plan)));
    if (!mask_any(worse)) return;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], i = frames_rotation(plan, slot);
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        column_set_quat(c, i, quat_select(worse, column_quat(c, frames_before(plan, slot)), column_quat(c, i)));
    }
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
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        real x = frames_throw(&dice), y = frames_throw(&dice), z = frames_throw(&dice);
        real angle = real_splat(FRAMES_KICK * (number)(1 + time));
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

static void frames_back_to_best(const ik_plan *plan, columns c, mask chosen) {
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], i = frames_rotation(plan, slot);
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        column_set_quat(c, i, quat_select(chosen, column_quat(c, frames_best(slot)), column_quat(c, i)));
    }
}

/* The next kick of the lanes that are stuck; after the last one, the best pose. */
static void frames_free(const ik_plan *plan, columns c, mask stuck) {
    real *kicks = column(c, frames_kicks(plan));
    for (int time = 0; time <= FRAMES_KICKS; time++) {
        mask chosen = stuck & mask_equal(*kicks, real_splat((number)time));
        if (!mask_any(chosen)) continue;
        if (time < FRAMES_KICKS)
            frames_kick(plan, c, chosen, time);
        else
            frames_back_to_best(plan, c, chosen);
    }
    *kicks = real_select(stuck, *kicks + real_splat(1), *kicks);
    *column(c, frames_square(plan)) = real_select(stuck, frames_squares(plan, c), *column(c, frames_square(plan)));
}

/* Kicks lanes that make poor progress, and gives up those that were kicked often and make none. */
static void frames_watch(const ik_plan *plan, columns c) {
    const real zero = real_splat(0), one = real_splat(1);
    real *idle = column(c, frames_idle(plan)), *reference = column(c, frames_reference(plan)),
         error = *column(c, ERROR);
    mask last = mask_less(real_splat(FRAMES_KICKS), *column(c, frames_kicks(plan)));
    real poor =
        real_splat(plan->limited ? FRAMES_POOR : FABRIK_PROGRESS); /* free chains are slow only near full reach */
    real less = real_splat(1) - real_select(last, real_splat(FABRIK_PROGRESS), poor);
    mask progress = mask_less(error, less * *reference);
    *reference = real_select(progress, error, *reference);
    *idle = real_select(progress, zero, *idle + one);
    mask stuck = mask_less(real_splat(FRAMES_PATIENCE), *idle) & mask_less(*column(c, TOLERANCE), error);
    if (!mask_any(stuck)) return;
    mask held = mask_less(zero, *column(c, frames_best_held(plan)));
    mask says = (stuck & last) & (mask_splat(IK_STALLED) | (held & mask_splat(IK_AT_LIMIT)));
    *column(c, SAID) = real_from_bits(real_bits(*column(c, SAID)) | says);
    *idle = real_select(stuck, zero, *idle);
    *reference = real_select(stuck, real_splat(LARGEST), *reference);
    frames_free(plan, c, stuck);
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
        *column(record, frames_weight_of(plan, node->point)) = weight;
        *column(record, frames_per_distance(plan, node->point)) = solve_per_distance(plan, start, k);
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
    vec3 bone = start->positions[k];
    if (node->moves) {
        quat back = quat_conjugate(start->rotations[node->owner]);
        socket = quat_polished(quat_multiply(back, socket));
        bone = quat_rotate(back, vec3_sub(bone, start->positions[node->owner]));
    }
    column_set_vec3(record, frames_bone(plan, node->slot), bone);
    column_set_quat(record, frames_socket(plan, node->slot), socket);
    frames_hang(plan, record, k);
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
    *column(record, frames_lever(plan)) = start->reach * real_splat((number)1 / (number)plan->slots);
    *column(record, frames_least(plan)) = real_splat(LARGEST);
    *column(record, frames_idle(plan)) = *column(record, frames_kicks(plan)) = *column(record, frames_held(plan)) =
        zero;
    *column(record, frames_best_held(plan)) = zero;
    *column(record, ERROR) = *column(record, frames_reference(plan)) = frames_error(plan, record);
    for (int slot = 0; slot < plan->slots; slot++)
        column_set_quat(record, frames_best(slot), column_quat(record, frames_rotation(plan, slot)));
    *column(record, frames_square(plan)) = frames_squares(plan, record);
    frames_keep_best(plan, record);
}

static void frames_step(const ik_plan *plan, real *bundle, int groups) {
    for (int g = 0; g < groups; g++)
    {
        columns c = columns_of_bundle(bundle, g);
        *column(c, frames_held(plan)) = real_splat(0);
        for (int slot = 0; slot < plan->slots; slot++)
            column_set_quat(c, frames_before(plan, slot), column_quat(c, frames_rotation(plan, slot)));
    }
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const ik_node *node = &plan->nodes[plan->node_of_slot[slot]];
        if (!node->turns && node->point < 0) continue;
        for (int g = 0; g < groups; g++)
            frames_backward(plan, columns_of_bundle(bundle, g), plan->node_of_slot[slot]);
    }
    for (int slot = 0; slot < plan->slots; slot++)
        for (int g = 0; g < groups; g++)
            frames_forward(plan, columns_of_bundle(bundle, g), plan->node_of_slot[slot]);
    for (int g = 0; g < groups; g++) {
        columns c = columns_of_bundle(bundle, g);
        if (!plan->job->options.textbook) {
            frames_take_back(plan, c);
            frames_sweep(plan, c);
            *column(c, frames_square(plan)) = frames_squares(plan, c);
        }
        *column(c, ERROR) = frames_error(plan, c);
        frames_keep_best(plan, c);
        if (!plan->job->options.textbook) frames_watch(plan, c);
    }
}

static quat frames_turn_joint(const ik_plan *plan, group at, columns record, const pose *world, int k,
                              local_joint given) {
    (void)at, (void)given;
    const ik_node *node = &plan->nodes[k];
    quat best = column_quat(record, frames_best(node->slot));
    return node->parent < 0 ? best : quat_multiply(quat_conjugate(world->rotations[node->parent]), best);
}

static const method fabrik_frames = {frames_size, frames_begin, frames_step, frames_turn_joint};

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
static record_size fabrik_size(const ik_plan *plan) { return frames_size(plan); }

SOLVE_METHOD(fabrik)
