/* FABRIK with frames, its bodies: how a joint turns as a rigid body within its limit. fabrik_frames.h has the
 * idea. */

/* The weight of a body's own position when it is fitted to its children. It decides how a body of two children is
 * turned about the line through them. */
#define FRAMES_ANCHOR (number)0.2

/* Largest turn of a joint in a step, for items that start near their targets. It is this factor times
 * the distance of an end from its target, in reaches, or times the angle that is left. */
#define FRAMES_PER_WAY   (number)8
#define FRAMES_PER_ANGLE (number)3

/* The steps of a fit. It starts from the fit before, so that few are enough. */
enum { FRAMES_FIT_STEPS = 2 };

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

/* The local rotation of node k, where rotations are kept from a column on. */
ik_inline quat frames_local(const ik_plan *plan, columns c, int kept, int k) {
    quat rotation = column_quat(c, kept + 4 * plan->nodes[k].slot);
    return quat_multiply(quat_conjugate(frames_above_in(plan, c, kept, k)), rotation);
}

/* Node k takes the allowed rotation nearest to a local one. */
ik_inline void frames_take_local(const ik_plan *plan, columns c, int k, quat local) {
    quat rotation = quat_multiply(frames_above(plan, c, k), solve_allowed(plan, k, local));
    column_set_quat(c, frames_rotation(plan, plan->nodes[k].slot), quat_polished(rotation));
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

/* By no more than an angle, of which `largest` is the sine of half; 1 is any. */
ik_inline quat frames_shortened(quat turn, real largest) {
    const real one = real_splat(1);
    mask held = mask_less(largest, one);
    if (!mask_any(held)) return turn;
    real size = vec3_length(turn.v), cosine = real_sqrt(real_max(one - largest * largest, real_splat(0)));
    quat shorter = {cosine, vec3_scale(largest / real_max(size, real_splat(TINY_LENGTH)), turn.v)};
    return quat_select(held & mask_less(largest, size), shorter, turn);
}

/* The part of a turn of a body that the limit of node k allows. */
ik_inline quat frames_cut(const ik_plan *plan, columns c, int k, const frames_body *body, quat turn) {
    quat rotation = frames_limited(plan, c, k, quat_polished(quat_multiply(turn, body->rotation)));
    return quat_multiply(rotation, quat_conjugate(body->rotation));
}

/* A turn that its limit has cut short goes on along the limit. The allowed parts of this turn and of two turns beside
 * it end on the limit, so the plane through the three approximates it. The best turn in this plane is taken if it is
 * better. Near the targets only, where nothing but a kick would help otherwise: it costs three more limit tests. */
ik_outline quat frames_along_limit(const ik_plan *plan, columns c, int k, const frames_body *body, real largest,
                                   quat turn, quat left) {
    vec3 wanted = frames_vector(turn), from = frames_vector(left);
    vec3 out = vec3_direction(vec3_sub(wanted, from)).unit, aside = vec3_perpendicular(out), off[2];
    aside = vec3_scale(vec3_length(wanted), aside);
    for (int i = 0; i < 2; i++, aside = vec3_cross(out, aside)) {
        quat beside = frames_cut(plan, c, k, body, frames_small_turn(vec3_add(wanted, aside)));
        off[i] = vec3_sub(frames_vector(beside), from);
    }
    vec3 best = vec3_add(from, pull_best_in_plane(&body->s, from, off[0], off[1]));
    quat along = frames_cut(plan, c, k, body, frames_shortened(frames_small_turn(best), largest));
    return quat_select(mask_less(pull_gain(&body->s, left), pull_gain(&body->s, along)), along, left);
}

/* Turned to what pulls, a hinge about its axis; as far as its limit lets it, if that brings it nearer. */
ik_outline void frames_follow(const ik_plan *plan, columns c, int k, real largest, frames_body *body) {
    const int hinge = frames_is_hinge(plan, k);
    quat back = quat_conjugate(body->rotation);
    quat turn = hinge ? pull_turn_about(&body->s, frames_axis(plan, k, body->rotation))
                      : pull_turn(&body->s, quat_rotate(body->rotation, vec3_splat(0, 1, 0)));
    turn = frames_shortened(turn, largest);
    quat rotation = frames_limited(plan, c, k, quat_polished(quat_multiply(turn, body->rotation)));
    mask near = mask_less(largest, real_splat(1));
    if (frames_is_limited(plan, k) && !hinge && mask_any(near)) {
        quat left = quat_multiply(rotation, back);
        real much = real_splat((number)0.25) * vec3_dot(turn.v, turn.v);
        mask cut = near & mask_less(vec3_dot(left.v, left.v), much);
        if (mask_any(cut)) {
            quat along = frames_along_limit(plan, c, k, body, largest, turn, left);
            rotation = quat_select(cut, quat_polished(quat_multiply(along, body->rotation)), rotation);
        }
    }
    mask nearer = pull_is_nearer(&body->s, quat_multiply(rotation, back));
    body->rotation = quat_select(nearer, rotation, body->rotation);
}

/* ---- ends below a body */

/* How what the backward pass has arranged goes along with a body: `from` comes to `to`, seen from where the body turns,
 * and all else turns about it. */
typedef struct {
    vec3 from, to;
    quat turn;
} carried;

/* The share of the weight at node k and below it that is for its own position. */
static real frames_end_share(const ik_plan *plan, columns c, int k) {
    const real zero = real_splat(0), one = real_splat(1);
    const ik_node *node = &plan->nodes[k];
    real share = node->point >= 0 ? *column(c, frames_target_share(plan, node->point)) : zero;
    if (!node->ties) return share;
    real ties = frames_ties_count(plan, c, k), below = *column(c, frames_below(plan, node->slot)), all = below + ties;
    return (share * below + ties) / real_select(mask_equal(all, zero), one, all);
}

/* The points of goals at node k and below, each drawn to where the backward pass has it. */
static void frames_add_ends(const ik_plan *plan, columns c, int k, real weight, const carried *by, frames_body *body) {
    const ik_node *node = &plan->nodes[k];
    if (node->point >= 0 || node->ties) {
        vec3 end = column_vec3(c, frames_point(plan, node->slot));
        vec3 now = vec3_add(by->to, quat_rotate(by->turn, vec3_sub(end, by->from)));
        real share = frames_end_share(plan, c, k) * weight;
        pull_add(&body->s, share, now, vec3_sub(end, body->place));
        weight = weight - share;
    }
    for (int child = node->child; child >= 0; child = plan->nodes[child].sibling)
        frames_add_ends(plan, c, child, weight * *column(c, frames_share(plan, plan->nodes[child].slot)), by, body);
}

/* The only point of a goal at node k and below; -1: there are several, or none. */
static int frames_only_end(const ik_plan *plan, int k) {
    const ik_node *nodes = plan->nodes;
    while (nodes[k].point < 0 && !nodes[k].ties && nodes[k].child >= 0 && nodes[nodes[k].child].sibling < 0)
        k = nodes[k].child;
    return nodes[k].child < 0 && (nodes[k].point >= 0 || nodes[k].ties) ? k : -1;
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

/* A hinge bends by the smaller of two turns, unless its error is larger by this share of both bones. */
#define FRAMES_BEND_GAIN (number)1e-5

/* The turn of the hinge k, within its limit, that takes its end to the wanted distance from its carrier. The
 * better of two turns is taken, the smaller one if both are equally good: rounding picks no side. */
ik_outline quat frames_bend(const ik_plan *plan, columns c, int k, const frames_elbow *elbow, real distance) {
    quat now = column_quat(c, frames_rotation(plan, plan->nodes[k].slot)), above = frames_above(plan, c, k);
    frames_bends bends = frames_bends_of(elbow, distance);
    quat best = quat_identity();
    real least = real_splat(LARGEST),
         gain = real_splat(FRAMES_BEND_GAIN) * (vec3_length(elbow->bone) + vec3_length(elbow->lever));
    for (int i = 0; i < 2; i++) {
        quat bent = quat_multiply(quat_about(bends.angle[i].cosine, bends.angle[i].sine, elbow->axis), now);
        bent = quat_multiply(above, solve_allowed(plan, k, quat_multiply(quat_conjugate(above), bent)));
        quat turn = quat_multiply(bent, quat_conjugate(now));
        real off = real_abs(vec3_length(vec3_add(elbow->bone, quat_rotate(turn, elbow->lever))) - distance);
        mask smaller = mask_less(real_abs(best.w), real_abs(turn.w)) & mask_less(off, least + gain);
        mask better = mask_less(off + gain, least) | smaller;
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

/* Adds a child to the fit of a body. A child with a limit cannot continue from every position. The ends below it are
 * added in its place; the body carries them as the backward pass has arranged them. */
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
    if (plan->job->options.textbook || frames_is_given(plan, k)) return 0;
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
    frames_follow(plan, c, k, real_splat(1), &body);
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
    return plan->ties ? frames_tied_rotation(plan, c, k, rotation) : rotation;
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
