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
 * The best of all poses is the result. A body whose rotation is given starts from that, whatever its children want, and
 * then limits have their say.
 *
 * Unless `textbook`:
 * - A hinge turns about its own axis as far as is best, where the published rule takes what its limit leaves of the
 *   shortest arc.
 * - A child that has a limit cannot go on from wherever it is brought. So a body with a limit, and one that carries a
 *   hinge, looks in the forward pass at the ends of the chains below such a child, which it carries along as the
 *   backward pass has arranged them. An elbow (a hinge on what is none, with one end below it) is first bent by how far
 *   that end is to be from the shoulder, as in two_bone: from a straight arm no pass would bend it.
 * - The passes can take the ends farther away. Where that is much, they are taken back. Then all joints turn once, one
 *   after the other from the tips, each as is best for all ends below it by their weights (as in CCD): with the passes,
 *   whose steps are long, it finds out of corners, and it ends where weighted squares are least, which passes do not
 *   where goals pull a tree apart.
 * - Then every joint goes on as it turned in this step, by a stride that doubles as long as that helps; and before the
 *   next step by a share of that, for momentum (see fabrik.h).
 * - Limits can hold a chain in a pose that all of this leaves as it is. Where progress is poor all joints are turned by
 *   some angles, the same ones for every item, within their limits. After some such kicks the best pose so far goes on
 *   for as long as it makes any progress. */

/* What a body's own place weighs beside its children, when it is fitted to them: it says how a body of two children
 * is turned about the line through them. */
#define FRAMES_ANCHOR (number)0.2

/* The steps of a fit. It starts from the fit before, so that few are enough. */
enum { FRAMES_FIT_STEPS = 2 };

/* Poor progress takes less than this share off the error in so many iterations. */
#define FRAMES_POOR (number)0.1
enum { FRAMES_PATIENCE = 6, FRAMES_KICKS = 12 };

/* Passes are taken back that make the sum of squares this many times as large. */
#define FRAMES_HARM (number)4

/* The longest stride, in steps. */
#define FRAMES_STRIDE (number)256

/* So many good steps come before momentum. */
#define FRAMES_WAITS (number)5

/* A better pose has a sum of squares of no more than this times the best so far. */
#define FRAMES_BETTER (number)(1 - 1e-6)

/* The tangent of half the angle by which the first kick turns a joint, at most, about each of three axes; the next ones
 * turn by more. */
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
ik_inline int frames_target(const ik_plan *plan, int goal) { return OWN + 19 * plan->slots + 11 * goal; }
ik_inline int frames_target_share(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 3; }
ik_inline int frames_target_weight(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 4; }
ik_inline int frames_turned(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 5; }
ik_inline int frames_turned_weight(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 9; }
/* What the distance to the target counts for: more where the chain is shorter than the longest. */
ik_inline int frames_per_distance(const ik_plan *plan, int goal) { return frames_target(plan, goal) + 10; }
ik_inline int frames_per_radian(const ik_plan *plan) { return frames_target(plan, plan->job->goal_count); }
ik_inline int frames_least(const ik_plan *plan) { return frames_per_radian(plan) + 1; }
ik_inline int frames_reference(const ik_plan *plan) { return frames_per_radian(plan) + 2; }
ik_inline int frames_idle(const ik_plan *plan) { return frames_per_radian(plan) + 3; }
ik_inline int frames_kicks(const ik_plan *plan) { return frames_per_radian(plan) + 4; }
ik_inline int frames_squared(const ik_plan *plan) { return frames_per_radian(plan) + 5; }
/* The length that makes angles distances: the mean bone. */
ik_inline int frames_lever(const ik_plan *plan) { return frames_per_radian(plan) + 6; }
/* Steps in a row that brought the ends nearer, what the last one came to, the stride, and how all joints were turned
 * before it. */
ik_inline int frames_run(const ik_plan *plan) { return frames_per_radian(plan) + 7; }
ik_inline int frames_previous(const ik_plan *plan) { return frames_per_radian(plan) + 8; }
ik_inline int frames_stride(const ik_plan *plan) { return frames_per_radian(plan) + 9; }
ik_inline int frames_before(const ik_plan *plan, int slot) { return frames_per_radian(plan) + 10 + 4 * slot; }
ik_inline int frames_columns(const ik_plan *plan) { return frames_before(plan, plan->slots); }

/* Of a step: how all joints were turned before they turn on, and in its sweep where the ends are. */
ik_inline int frames_after(const ik_plan *plan, int slot) { return frames_columns(plan) + 4 * slot; }
ik_inline int frames_end(const ik_plan *plan, int goal) { return frames_after(plan, plan->slots) + 7 * goal; }
ik_inline int frames_end_turned(const ik_plan *plan, int goal) { return frames_end(plan, goal) + 3; }

static record_size frames_size(const ik_plan *plan) {
    int columns = frames_columns(plan);
    return (record_size){columns, frames_best(plan->slots), frames_end(plan, plan->job->goal_count) - columns};
}

/* ---- turns of a body */

/* The shortest turn that makes the bone of a body point somewhere. */
ik_inline quat frames_aim(quat rotation, vec3 bone, vec3 towards) {
    vec3 now = quat_rotate(rotation, bone);
    quat turn = pull_turn_by(vec3_cross(now, towards), vec3_dot(now, towards), now);
    return quat_polished(quat_multiply(turn, rotation));
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
        s = pull_turned(turn, &s);
    }
}

/* ---- limits */

ik_inline int frames_is_limited(const ik_plan *plan, int k) {
    const limit *limits = plan->limits;
    return limits && plan->nodes[k].turns && limits[k].kind != IK_FREE;
}

/* The rotation that the joint of node k starts from, where rotations are in columns from `first` on. */
ik_inline quat frames_above_in(const ik_plan *plan, columns c, int first, int k) {
    const ik_node *node = &plan->nodes[k];
    quat socket = column_quat(c, frames_socket(plan, node->slot));
    if (node->owner < 0) return socket;
    quat owner = column_quat(c, first + 4 * plan->nodes[node->owner].slot);
    return node->owner == node->parent ? owner : quat_multiply(owner, socket);
}
ik_inline quat frames_above(const ik_plan *plan, columns c, int k) {
    return frames_above_in(plan, c, frames_rotation(plan, 0), k);
}

/* The rotation of node k as its limit has it. */
ik_inline quat frames_limited(const ik_plan *plan, columns c, int k, quat rotation) {
    if (!frames_is_limited(plan, k)) return rotation;
    quat above = frames_above(plan, c, k), local = quat_multiply(quat_conjugate(above), rotation);
    quat allowed = solve_allowed(plan, k, local);
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

/* ---- a body within its limit */

ik_inline int frames_is_hinge(const ik_plan *plan, int k) {
    const limit *limits = plan->limits;
    return frames_is_limited(plan, k) && limits[k].kind == IK_HINGE && !plan->job->options.textbook;
}

ik_inline vec3 frames_axis(const ik_plan *plan, int k, quat rotation) {
    return quat_rotate(rotation, limit_axis((const limit *)plan->limits + k, 0));
}

/* A body, and what pulls at it from where it turns. */
typedef struct {
    vec3 place;
    quat rotation;
    pull s;
} frames_body;

ik_inline frames_body frames_body_of(const ik_plan *plan, columns c, int k, quat rotation) {
    return (frames_body){column_vec3(c, frames_point(plan, plan->nodes[k].slot)), rotation, pull_none()};
}

/* Turned to what pulls, a hinge about its axis; as far as its limit lets it, if that brings it nearer. */
ik_outline void frames_follow(const ik_plan *plan, columns c, int k, frames_body *body) {
    quat turn = frames_is_hinge(plan, k) ? pull_turn_about(&body->s, frames_axis(plan, k, body->rotation))
                                         : pull_turn(&body->s, quat_rotate(body->rotation, vec3_splat(0, 1, 0)));
    quat rotation = frames_limited(plan, c, k, quat_polished(quat_multiply(turn, body->rotation)));
    mask nearer = pull_is_nearer(&body->s, quat_multiply(rotation, quat_conjugate(body->rotation)));
    body->rotation = quat_select(nearer, rotation, body->rotation);
}

/* ---- ends below a body */

/* How what the backward pass has arranged goes along with a body: `from` comes to `to`, seen from where the body turns,
 * and all else turns about it. */
typedef struct {
    vec3 from, to;
    quat turn;
} carried;

/* The points of goals at node k and below, each drawn to where the backward pass has it. */
static void frames_add_ends(const ik_plan *plan, columns c, int k, real weight, const carried *by, frames_body *body) {
    const ik_node *node = &plan->nodes[k];
    if (node->point >= 0) {
        vec3 end = column_vec3(c, frames_point(plan, node->slot));
        vec3 now = vec3_add(by->to, quat_rotate(by->turn, vec3_sub(end, by->from)));
        real share = *column(c, frames_target_share(plan, node->point)) * weight;
        pull_add(&body->s, share, now, vec3_sub(end, body->place));
        weight = weight - share;
    }
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
        frames_add_ends(plan, c, child, weight * *column(c, frames_share(plan, plan->nodes[child].slot)), by, body);
}

/* The only point of a goal at node k and below; -1: there are several, or none. */
static int frames_only_end(const ik_plan *plan, int k) {
    const ik_node *nodes = plan->nodes;
    while (nodes[k].point < 0 && nodes[k].child >= 0 && nodes[nodes[k].child].sibling < 0)
        k = nodes[k].child;
    return nodes[k].child < 0 && nodes[k].point >= 0 ? k : -1;
}

/* A hinge that bends: what it turns is at `lever` from it, and it is at `bone` from what carries it. */
typedef struct {
    vec3 axis, bone, lever;
} frames_elbow;

/* The two angles at which the end is at a distance from what carries the hinge, or as near to that as can be:
 *
 *   |bone + R lever|^2 = distance^2   is   cosine cos(angle) + sine sin(angle) = want */
typedef struct {
    cosine_sine angle[2];
} frames_bends;

ik_inline frames_bends frames_bends_of(const frames_elbow *e, real distance) {
    real along = vec3_dot(e->bone, e->axis) * vec3_dot(e->lever, e->axis);
    real squares = vec3_dot(e->bone, e->bone) + vec3_dot(e->lever, e->lever);
    real want = real_splat((number)0.5) * (distance * distance - squares) - along;
    cosine_sine middle = {vec3_dot(e->bone, e->lever) - along, vec3_dot(e->bone, vec3_cross(e->axis, e->lever))};
    real size = turn_length(middle), x = real_max(real_min(want, size), -size), y = real_sqrt(size * size - x * x);
    cosine_sine off = {x, y};
    return (frames_bends){{turn_unit(turn_multiply(middle, off)), turn_unit(turn_divide(middle, off))}};
}

/* The turn of the hinge k, within its limit, that takes its end as far from what carries it as it should be. Of two
 * the one that does it better. */
ik_outline quat frames_bend(const ik_plan *plan, columns c, int k, const frames_elbow *elbow, real distance) {
    quat now = column_quat(c, frames_rotation(plan, plan->nodes[k].slot)), above = frames_above(plan, c, k);
    frames_bends bends = frames_bends_of(elbow, distance);
    quat best = quat_identity();
    real least = real_splat(LARGEST);
    for (int i = 0; i < 2; i++) {
        quat bent = quat_multiply(quat_about(bends.angle[i].cosine, bends.angle[i].sine, elbow->axis), now);
        bent = quat_multiply(above, solve_allowed(plan, k, quat_multiply(quat_conjugate(above), bent)));
        quat turn = quat_multiply(bent, quat_conjugate(now));
        real off = real_abs(vec3_length(vec3_add(elbow->bone, quat_rotate(turn, elbow->lever))) - distance);
        mask better = mask_less(off, least);
        best = quat_select(better, turn, best);
        least = real_select(better, off, least);
    }
    return best;
}

/* A hinge bends by how far its end should be from a body that can turn to wherever that is. */
static carried frames_carried_by_hinge(const ik_plan *plan, columns c, int k, int child, int end,
                                       const frames_body *body, quat turn) {
    int slot = plan->nodes[child].slot;
    vec3 at = column_vec3(c, frames_point(plan, slot)), bone = column_vec3(c, frames_bone(plan, slot));
    vec3 tip = column_vec3(c, frames_point(plan, plan->nodes[end].slot));
    frames_elbow elbow = {.axis = frames_axis(plan, child, column_quat(c, frames_rotation(plan, slot))),
                          .bone = quat_rotate(column_quat(c, frames_rotation(plan, plan->nodes[k].slot)), bone),
                          .lever = vec3_sub(tip, at)};
    quat bend = frames_bend(plan, c, child, &elbow, vec3_length(vec3_sub(tip, body->place)));
    return (carried){at, quat_rotate(body->rotation, bone), quat_multiply(turn, bend)};
}

/* A child that has a limit cannot go on from wherever it is brought, so the ends below it pull in its place, which the
 * body takes along as the backward pass has arranged them. */
static void frames_add_child(const ik_plan *plan, columns c, int k, int child, vec3 from, frames_body *body) {
    int slot = plan->nodes[child].slot, end = frames_only_end(plan, child);
    real share = *column(c, frames_share(plan, slot));
    if (!frames_is_limited(plan, child)) {
        vec3 now = quat_rotate(body->rotation, column_vec3(c, frames_bone(plan, slot)));
        pull_add(&body->s, share, now, vec3_sub(column_vec3(c, frames_point(plan, slot)), body->place));
        return;
    }
    quat before = column_quat(c, frames_rotation(plan, plan->nodes[k].slot));
    carried by = {from, vec3_splat(0, 0, 0), quat_multiply(body->rotation, quat_conjugate(before))};
    if (end >= 0 && frames_is_hinge(plan, child) && !frames_is_hinge(plan, k))
        by = frames_carried_by_hinge(plan, c, k, child, end, body, by.turn);
    frames_add_ends(plan, c, child, share, &by, body);
}

/* Whether a body should look at the ends below it. */
static int frames_looks_at_ends(const ik_plan *plan, int k) {
    const ik_node *node = &plan->nodes[k];
    if (node->rotation >= 0 || plan->job->options.textbook) return 0;
    if (frames_is_hinge(plan, k)) return node->child >= 0;
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
        if (frames_is_limited(plan, child) && (frames_is_limited(plan, k) || frames_is_hinge(plan, child))) return 1;
    return 0;
}

/* In the forward pass: the body is in its place by now, and was at `from`. */
static quat frames_to_ends(const ik_plan *plan, columns c, int k, vec3 from, quat rotation) {
    frames_body body = frames_body_of(plan, c, k, rotation);
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling)
        frames_add_child(plan, c, k, child, from, &body);
    frames_follow(plan, c, k, &body);
    return body.rotation;
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
    if (frames_looks_at_ends(plan, k)) rotation = frames_to_ends(plan, c, k, before, rotation);
    column_set_quat(c, frames_rotation(plan, node->slot), rotation);
}

/* ---- errors */

ik_inline real frames_distance(const ik_plan *plan, columns c, int k) {
    int goal = plan->nodes[k].point;
    vec3 at = column_vec3(c, frames_point(plan, plan->nodes[k].slot));
    real off = vec3_length(vec3_sub(column_vec3(c, frames_target(plan, goal)), at));
    mask counts = ~mask_equal(*column(c, frames_target_weight(plan, goal)), real_splat(0));
    return real_select(counts, off, real_splat(0));
}

ik_inline real frames_position_error(const ik_plan *plan, columns c, int k) {
    return *column(c, frames_per_distance(plan, plan->nodes[k].point)) * frames_distance(plan, c, k);
}

/* How node k is turned. */
ik_inline quat frames_now(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    if (node->turns) return column_quat(c, frames_rotation(plan, node->slot));
    quat owner = column_quat(c, frames_rotation(plan, plan->nodes[node->owner].slot));
    return quat_multiply(owner, column_quat(c, frames_socket(plan, node->slot)));
}

/* What a rotation weighs, as a point at the lever. */
ik_inline real frames_rotation_weight(const ik_plan *plan, columns c, int goal) {
    real lever = *column(c, frames_lever(plan));
    return lever * lever * *column(c, frames_turned_weight(plan, goal));
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

/* ---- the sweep */

/* Where all ends are, from now on apart from their nodes. */
static void frames_find_ends(const ik_plan *plan, columns c) {
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++)
        if (task->rotation)
            column_set_quat(c, frames_end_turned(plan, task->goal), frames_now(plan, c, task->node));
        else
            column_set_vec3(c, frames_end(plan, task->goal),
                            column_vec3(c, frames_point(plan, plan->nodes[task->node].slot)));
}

/* All ends at or below a body pull at it, by their weights. */
static void frames_add_all_ends(const ik_plan *plan, columns c, int k, frames_body *body) {
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        if (!solve_carries(plan, k, task->node)) continue;
        int goal = task->goal;
        if (task->rotation)
            pull_add_rotation(&body->s, frames_rotation_weight(plan, c, goal),
                              column_quat(c, frames_end_turned(plan, goal)), column_quat(c, frames_turned(plan, goal)));
        else
            pull_add(&body->s, *column(c, frames_target_weight(plan, goal)),
                     vec3_sub(column_vec3(c, frames_end(plan, goal)), body->place),
                     vec3_sub(column_vec3(c, frames_target(plan, goal)), body->place));
    }
}

static void frames_carry_ends(const ik_plan *plan, columns c, int k, vec3 place, quat turn) {
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        if (!solve_carries(plan, k, task->node)) continue;
        int end = frames_end(plan, task->goal), turned = frames_end_turned(plan, task->goal);
        if (task->rotation)
            column_set_quat(c, turned, quat_multiply(turn, column_quat(c, turned)));
        else
            column_set_vec3(c, end, vec3_add(place, quat_rotate(turn, vec3_sub(column_vec3(c, end), place))));
    }
}

/* One joint turns with all that is below it; what is above has not turned yet. Its rotation becomes a local one. */
static void frames_sweep_joint(const ik_plan *plan, columns c, int k) {
    int i = frames_rotation(plan, plan->nodes[k].slot);
    quat before = column_quat(c, i), above = frames_above(plan, c, k);
    frames_body body = frames_body_of(plan, c, k, before);
    frames_add_all_ends(plan, c, k, &body);
    frames_follow(plan, c, k, &body);
    frames_carry_ends(plan, c, k, body.place, quat_multiply(body.rotation, quat_conjugate(before)));
    column_set_quat(c, i, quat_multiply(quat_conjugate(above), body.rotation));
}

/* From the tips to the base. */
static void frames_sweep(const ik_plan *plan, columns c) {
    frames_find_ends(plan, c);
    for (int slot = plan->slots - 1; slot >= 0; slot--)
        if (plan->nodes[plan->node_of_slot[slot]].turns) frames_sweep_joint(plan, c, plan->node_of_slot[slot]);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], i = frames_rotation(plan, slot);
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        column_set_quat(c, i, quat_polished(quat_multiply(frames_above(plan, c, k), column_quat(c, i))));
    }
}

/* ---- what the sweep makes less */

/* The sum of the squares of all distances, by weight; angles count as at the lever. */
static real frames_square(const ik_plan *plan, columns c) {
    real sum = real_splat(0);
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++) {
        int goal = task->goal;
        real weight =
            task->rotation ? frames_rotation_weight(plan, c, goal) : *column(c, frames_target_weight(plan, goal));
        real off = task->rotation ? frames_rotation_error(plan, c, task->node) : frames_distance(plan, c, task->node);
        sum = sum + weight * (off * off);
    }
    return sum;
}

static void frames_measure(const ik_plan *plan, columns c) {
    *column(c, ERROR) = frames_error(plan, c);
    *column(c, frames_squared(plan)) = frames_square(plan, c);
}

/* How all joints are turned, kept from a column on. */
static void frames_keep(const ik_plan *plan, columns c, int kept) {
    for (int slot = 0; slot < plan->slots; slot++)
        if (plan->nodes[plan->node_of_slot[slot]].turns)
            column_set_quat(c, kept + 4 * slot, column_quat(c, frames_rotation(plan, slot)));
}

/* The rotations that are kept from a column on, in the chosen lanes; all joints hang from them. */
static void frames_return(const ik_plan *plan, columns c, int kept, mask chosen) {
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot], i = frames_rotation(plan, slot);
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        column_set_quat(c, i, quat_select(chosen, column_quat(c, kept + 4 * slot), column_quat(c, i)));
    }
}

/* Passes that took the ends much farther away are taken back. */
static void frames_take_back(const ik_plan *plan, columns c) {
    real most = real_splat(FRAMES_HARM) * *column(c, frames_squared(plan));
    mask worse = ~mask_less(frames_square(plan, c), most);
    if (mask_any(worse)) frames_return(plan, c, frames_before(plan, 0), worse);
}

/* ---- momentum and strides */

/* The local rotation of node k, where rotations are kept from a column on. */
ik_inline quat frames_local(const ik_plan *plan, columns c, int kept, int k) {
    quat rotation = column_quat(c, kept + 4 * plan->nodes[k].slot);
    return quat_multiply(quat_conjugate(frames_above_in(plan, c, kept, k)), rotation);
}

/* Turned so many times as far; of small turns, that is. */
ik_inline quat frames_farther(quat turn, real times) {
    real by = real_negate_if(mask_less(turn.w, real_splat(0)), times);
    return quat_unit((quat){real_abs(turn.w), vec3_scale(by, turn.v)});
}

/* Every joint turns on, by so many times what it has turned since `before`. How it was until now is kept in `after`. */
static void frames_turn_on(const ik_plan *plan, columns c, real times) {
    const int before = frames_before(plan, 0), after = frames_after(plan, 0);
    frames_keep(plan, c, after);
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        frames_hang(plan, c, k);
        if (!plan->nodes[k].turns) continue;
        quat local = frames_local(plan, c, after, k), turned = quat_conjugate(frames_local(plan, c, before, k));
        turned = frames_farther(quat_multiply(turned, local), times);
        local = solve_allowed(plan, k, quat_multiply(local, turned));
        column_set_quat(c, frames_rotation(plan, slot), quat_polished(quat_multiply(frames_above(plan, c, k), local)));
    }
}

/* As in fabrik_go_on: k / (k + 3) of the step before. A chain with one thing to reach is fast enough without at first;
 * where several pull against each other it is never too early. */
static void frames_go_on(const ik_plan *plan, columns c) {
    const real zero = real_splat(0), waits = real_splat(plan->task_count > 1 ? 0 : FRAMES_WAITS);
    real run = real_max(*column(c, frames_run(plan)) - waits, zero);
    frames_turn_on(plan, c, run / (run + real_splat(3)));
    for (int slot = 0; slot < plan->slots; slot++)
        if (plan->nodes[plan->node_of_slot[slot]].turns)
            column_set_quat(c, frames_before(plan, slot), column_quat(c, frames_after(plan, slot)));
}

/* After a step all turn on by a stride, which doubles where that brings the ends nearer; where it does not, they stay.
 * Steps that creep along a valley, each a little shorter than the last, are made at once. */
static void frames_walk_on(const ik_plan *plan, columns c) {
    real *stride = column(c, frames_stride(plan)), *squared = column(c, frames_squared(plan));
    *squared = frames_square(plan, c);
    frames_turn_on(plan, c, *stride);
    real walked = frames_square(plan, c);
    mask nearer = mask_less(walked, *squared);
    if (mask_any(~nearer)) frames_return(plan, c, frames_after(plan, 0), ~nearer);
    *squared = real_select(nearer, walked, *squared);
    real longer = real_min(*stride + *stride, real_splat(FRAMES_STRIDE));
    *stride = real_select(nearer, longer, real_max(*stride * real_splat((number)0.25), real_splat((number)0.5)));
}

/* How many steps in a row brought the ends nearer. */
static void frames_count(const ik_plan *plan, columns c) {
    real *run = column(c, frames_run(plan)), *previous = column(c, frames_previous(plan));
    real squared = *column(c, frames_squared(plan));
    *run = real_select(mask_less(squared, *previous), *run + real_splat(1), real_splat(0));
    *previous = squared;
}

/* Momentum starts anew in the chosen lanes. */
static void frames_stop(const ik_plan *plan, columns c, mask chosen) {
    real *run = column(c, frames_run(plan)), *previous = column(c, frames_previous(plan));
    *run = real_select(chosen, real_splat(0), *run);
    *previous = real_select(chosen, real_splat(LARGEST), *previous);
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!plan->nodes[plan->node_of_slot[slot]].turns) continue;
        quat now = column_quat(c, frames_rotation(plan, slot)), before = column_quat(c, frames_before(plan, slot));
        column_set_quat(c, frames_before(plan, slot), quat_select(chosen, now, before));
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
        real half = real_splat(FRAMES_KICK * (number)(1 + time)); /* the tangent */
        quat local = column_quat(c, i), by = quat_unit((quat){real_splat(1), vec3_scale(half, (vec3){x, y, z})});
        quat above = frames_above(plan, c, k);
        quat turned = quat_multiply(above, solve_allowed(plan, k, quat_multiply(local, by)));
        column_set_quat(c, i, quat_select(chosen, quat_unit(turned), local));
    }
}

/* What is within tolerance is best, and then it ends. A little less than the least is rounding: without a reason to, a
 * kicked pose, which is all twisted, does not take the place of another. */
static void frames_keep_best(const ik_plan *plan, columns c) {
    real squared = *column(c, frames_squared(plan));
    real *least = column(c, frames_least(plan));
    mask better =
        mask_less(squared, real_splat(FRAMES_BETTER) * *least) | ~mask_less(*column(c, TOLERANCE), *column(c, ERROR));
    *least = real_select(better, squared, *least);
    for (int slot = 0; slot < plan->slots; slot++) {
        if (!plan->nodes[plan->node_of_slot[slot]].turns) continue;
        quat now = column_quat(c, frames_rotation(plan, slot)), best = column_quat(c, frames_best(slot));
        column_set_quat(c, frames_best(slot), quat_select(better, now, best));
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
            frames_return(plan, c, frames_best(0), chosen);
    }
    *kicks = real_select(stuck, *kicks + real_splat(1), *kicks);
    real *squared = column(c, frames_squared(plan));
    *squared = real_select(stuck, frames_square(plan, c), *squared);
    frames_stop(plan, c, stuck);
}

/* Kicks lanes that make poor progress, and gives up those that were kicked often and make none. */
static void frames_watch(const ik_plan *plan, columns c) {
    const real zero = real_splat(0), one = real_splat(1);
    real *idle = column(c, frames_idle(plan)), *reference = column(c, frames_reference(plan));
    real squared = *column(c, frames_squared(plan)), least = real_splat(FABRIK_PROGRESS);
    mask last = mask_less(real_splat(FRAMES_KICKS), *column(c, frames_kicks(plan)));
    real poor = plan->limited ? real_splat(FRAMES_POOR) : least; /* free chains are slow only near full reach */
    real less = one - real_select(last, least, poor);
    mask progress = mask_less(squared, less * less * *reference);
    *reference = real_select(progress, squared, *reference);
    *idle = real_select(progress, zero, *idle + one);
    mask stuck = mask_less(real_splat(FRAMES_PATIENCE), *idle) & mask_less(*column(c, TOLERANCE), *column(c, ERROR));
    if (!mask_any(stuck)) return;
    real *said = column(c, SAID);
    *said = real_from_bits(real_bits(*said) | (stuck & last & mask_splat(IK_STALLED)));
    *idle = real_select(stuck, zero, *idle);
    *reference = real_select(stuck, real_splat(LARGEST), *reference);
    frames_free(plan, c, stuck);
}

/* ---- the method */

/* The weight of all goals at node k and below. */
static real frames_weight(const ik_plan *plan, group at, const pose *start, int k) {
    const ik_node *node = &plan->nodes[k];
    const ik_goal *goals = plan->job->goals;
    real sum = real_splat(0);
    if (node->point >= 0) sum = sum + solve_weight(&goals[node->point].weight, at) / start->heaviest;
    if (node->rotation >= 0) sum = sum + solve_weight(&goals[node->rotation].rotation_weight, at) / start->heaviest;
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
        sum = sum + frames_weight(plan, at, start, child);
    return sum;
}

/* The children of a node share it by their weights; equally where they have none. */
static void frames_load_shares(const ik_plan *plan, group at, const pose *start, int k, columns record) {
    real all = real_splat(0);
    int count = 0;
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling, count++)
        all = all + frames_weight(plan, at, start, child);
    mask none = mask_equal(all, real_splat(0));
    for (int child = plan->nodes[k].child; child >= 0; child = plan->nodes[child].sibling) {
        real share = frames_weight(plan, at, start, child) / real_select(none, real_splat(1), all);
        *column(record, frames_share(plan, plan->nodes[child].slot)) =
            real_select(none, real_splat(1) / real_splat((number)count), share);
    }
}

static void frames_load_goals(const ik_plan *plan, group at, const pose *start, int k, columns record) {
    const ik_node *node = &plan->nodes[k];
    real weight;
    if (node->point >= 0) {
        vec3 target = solve_target(plan, at, start, k, start->positions[k], &weight);
        target = solve_nearer(plan, start, k, target);
        real all = weight = weight / start->heaviest;
        for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
            all = all + frames_weight(plan, at, start, child);
        column_set_vec3(record, frames_target(plan, node->point), target);
        *column(record, frames_target_weight(plan, node->point)) = weight;
        *column(record, frames_per_distance(plan, node->point)) = solve_per_distance(plan, start, k);
        *column(record, frames_target_share(plan, node->point)) =
            weight / real_select(mask_equal(all, real_splat(0)), real_splat(1), all);
    }
    if (node->rotation >= 0) {
        quat turned = solve_target_rotation(plan, at, k, start->rotations[k], &weight);
        column_set_quat(record, frames_turned(plan, node->rotation), turned);
        *column(record, frames_turned_weight(plan, node->rotation)) = weight / start->heaviest;
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

/* The tolerance for rotations as their errors are: twice the sine of half the angle. */
static real frames_tolerance(const ik_plan *plan) {
    const number turn = 8 * eighth_turn[0];
    number angle = solve_within(plan, plan->job->options.rotation_tolerance) + EPSILON;
    return real_splat(2) * real_sincos(real_splat(angle < turn / 2 ? angle / 2 : turn / 4)).sine;
}

static void frames_begin(const ik_plan *plan, group at, const pose *start, columns record) {
    const real zero = real_splat(0), angle = frames_tolerance(plan);
    int points = 0;
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        frames_load_node(plan, start, k, record);
        frames_load_goals(plan, at, start, k, record);
        frames_load_shares(plan, at, start, k, record);
        points += plan->nodes[k].point >= 0;
    }
    real *tolerance = column(record, TOLERANCE);
    if (!points) *tolerance = angle;
    *column(record, frames_per_radian(plan)) = real_select(mask_less(zero, *tolerance), *tolerance, angle) / angle;
    *column(record, frames_lever(plan)) = solve_mean_bone(plan, start);
    *column(record, frames_least(plan)) = *column(record, frames_reference(plan)) = real_splat(LARGEST);
    *column(record, frames_idle(plan)) = *column(record, frames_kicks(plan)) = zero;
    for (int slot = 0; slot < plan->slots; slot++)
        column_set_quat(record, frames_best(slot), column_quat(record, frames_rotation(plan, slot)));
    *column(record, frames_run(plan)) = zero;
    *column(record, frames_stride(plan)) = real_splat(1);
    *column(record, frames_previous(plan)) = real_splat(LARGEST);
    for (int slot = 0; slot < plan->slots; slot++)
        column_set_quat(record, frames_before(plan, slot), column_quat(record, frames_rotation(plan, slot)));
    frames_measure(plan, record);
    frames_keep_best(plan, record);
}

static void frames_step(const ik_plan *plan, real *bundle, int groups) {
    const int published = plan->job->options.textbook;
    for (int g = 0; g < groups && !published; g++)
        frames_go_on(plan, columns_of_bundle(bundle, g));
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
        if (!published) {
            frames_take_back(plan, c);
            frames_sweep(plan, c);
            frames_walk_on(plan, c);
        }
        frames_measure(plan, c);
        frames_keep_best(plan, c);
        if (published) continue;
        frames_count(plan, c);
        frames_watch(plan, c);
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
