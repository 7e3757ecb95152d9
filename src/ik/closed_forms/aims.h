/* The aim goal: rotates a joint so that one of its axes meets a position, as ik_aim does, and measures the residual
 * error. */

/* Largest number of passes. A limit may deflect the ray where another roll would let it pass, as for an eye that never
 * rolls. Each further pass turns the joint by the shortest arc and brings it nearer. Such an eye takes up to 20 passes
 * to its closest rotation. A ball limit about another axis than the ray may stop short of it. */
enum { PASSES = 64 };

/* Vector from a joint to a point, in the space of its parent. If there are scales, only its direction is
 * meaningful. */
static void seen_by_parent(block *b, int joint, const ik_rows *point, vector out) {
    int parent = b->job.skeleton->parents[joint];
    ik_rows at = of_joint(&b->positions, joint);
    for (int i = 0; i < b->count; i++)
        way(&at, point, i, out[i]);
    if (parent < 0) return;
    if (!b->job.scales.rows.data) {
        turn inverse;
        conjugate(b, of_joint(&b->rotations, parent), inverse);
        rotate(b, ROWS(inverse), ROWS(out), out);
        return;
    }
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    vector x, y, z;
    scaled_arm(b, parent, axes[0], x);
    scaled_arm(b, parent, axes[1], y);
    scaled_arm(b, parent, axes[2], z);
    for (int i = 0; i < b->count; i++) {
        number inverse[3][3], seen[3]; /* the inverse times the determinant */
        cross(y[i], z[i], inverse[0]);
        cross(z[i], x[i], inverse[1]);
        cross(x[i], y[i], inverse[2]);
        number volume = dot(x[i], inverse[0]), sign = volume > 0 ? 1 : volume < 0 ? -1 : volume == 0 ? 0 : volume;
        for (int k = 0; k < 3; k++)
            seen[k] = sign * dot(inverse[k], out[i]);
        memcpy(out[i], seen, sizeof seen);
    }
}

/* A point of a joint, scaled by the joint's own scale. */
static ik_rows scaled(block *b, int joint, const double *point, vector out) {
    narrowed(point, out[0], 3);
    if (!b->job.scales.rows.data) return only(out[0]);
    const number x = out[0][0], y = out[0][1], z = out[0][2];
    ik_rows scale = of_joint(&b->job.scales, joint);
    for (int i = 0; i < b->count; i++) {
        out[i][0] = *number_at(&scale, i, 0) * x;
        out[i][1] = *number_at(&scale, i, 1) * y;
        out[i][2] = *number_at(&scale, i, 2) * z;
    }
    return ROWS(out);
}

/* The target direction of a goal's joint and the axes used to reach it, all in the space of its parent. */
typedef struct {
    ik_rows forward, up, target, pole; /* up and pole: empty if not given */
    vector of_forward, of_up, of_target, of_pole;
    number hinge[3];
    int has_hinge; /* the hinge axis serves as up and stays fixed */
    single weight;
} sight;

static void look(block *b, const ik_goal *goal, sight *s) {
    seen_by_parent(b, goal->joint, &goal->position, s->of_target);
    s->target = ROWS(s->of_target);
    s->forward = scaled(b, goal->joint, goal->axis, s->of_forward);
    s->pole = s->up = (ik_rows){NULL, 0, 0, 0};
    if (goal->pole.data) {
        seen_by_parent(b, goal->joint, &goal->pole, s->of_pole);
        s->pole = ROWS(s->of_pole);
        s->up = scaled(b, goal->joint, goal->up, s->of_up);
    }
    s->has_hinge = kind_of(b->job.skeleton, goal->joint) == IK_HINGE;
    if (s->has_hinge) {
        double x[3] = {1, 0, 0}, axis[3];
        ik_rows frame = {(void *)limit_of(b->job.skeleton, goal->joint)->frame, 0, sizeof(double), 0};
        ik_quat_rotate_f64(&(ik_quat_rotate_job){frame, {x, 0, sizeof(double), 0}, {axis, 0, sizeof(double), 0}}, 1);
        narrowed(axis, s->hinge, 3);
    }
    weights_of(b, goal, s->weight);
}

/* Rotates a joint at the origin once. Items stay in `going` if that moved the joint. */
static void aim_once(block *b, int joint, sight *s, number twist, int rolls, choice going, choice limited) {
    const number origin[3] = {0, 0, 0}, least = (number)(0.01 * b->job.options.rotation_tolerance);
    ik_rows local = of_joint(&b->job.solved, joint);
    turn came, delta;
    vector pole;
    single error;
    int32_t status[BLOCK];
    choice moved;
    copy_rows(&ROWS(came), &local, 4, b->count);
    ik_aim_job job = {only(origin), ROWS(came), s->target, s->forward};
    if (rolls) job.up = s->up, job.pole = s->pole;
    if (s->has_hinge) {
        rotate(b, ROWS(came), only(s->hinge), pole);
        job.up = only(s->hinge), job.pole = ROWS(pole);
    }
    job.twist = only(&twist), job.influence = ROWS(s->weight);
    job.delta = ROWS(delta), job.status = ROWS(status), job.error = ROWS(error);
    TYPED(aim)(&job, b->count);
    for (int i = 0; i < b->count; i++) {
        b->status[i] |= rolls ? status[i] : status[i] & ~IK_POLE_UNDEFINED;
        moved[i] = going[i] && status[i] < IK_UNUSABLE && s->weight[i] != 0;
    }
    turn_joint(b, joint, delta, moved, limited);
    for (int i = 0; i < b->count; i++) {
        number most = 0;
        for (int k = 0; k < 4; k++) {
            number change = *number_at(&local, i, k) - came[i][k];
            most = larger(most, change < 0 ? -change : change);
        }
        going[i] &= most > least;
    }
}

static int any_of(const choice chosen, int count) { return memchr(chosen, 1, (size_t)count) != NULL; }

/* Aims in the parent's space, where the joint turns as a rigid body whatever the scales above it. */
static void turn_ray(block *b, const wish *w, choice limited) {
    int joint = w->goal->joint, free = kind_of(b->job.skeleton, joint) == IK_FREE;
    ik_rows local = of_joint(&b->job.solved, joint);
    choice going, held = {0};
    turn left;
    vector pointed;
    single missed;
    sight s;
    place(b);
    look(b, w->goal, &s);
    note_outside(b, joint);
    memset(going, 1, sizeof going);
    for (int pass = 0; pass < (free ? 1 : PASSES) && any_of(going, b->count);
         pass++) /* only the first pass applies roll */
        aim_once(b, joint, &s, pass ? 0 : twist_of(b, w->goal), !pass && w->goal->pole.data, going, held);
    if (!free) {
        rotate(b, local, s.forward, pointed);
        shortest_arc(b, ROWS(pointed), s.target, left);
        angle_of(b, ROWS(left), missed);
        for (int i = 0; i < b->count; i++)
            limited[i] |= missed[i] > (number)b->job.options.rotation_tolerance;
    }
}

/* Distance of the target from the ray, and the angle between them at the joint. */
static void miss_ray(block *b, const wish *w, choice off) {
    ik_rows at = of_joint(&b->positions, w->goal->joint);
    vector along, to;
    turn arc;
    single weight, angle;
    weights_of(b, w->goal, weight);
    arm_of(b, w->goal->joint, w->goal->axis, along);
    for (int i = 0; i < b->count; i++)
        way(&at, &w->goal->position, i, to[i]);
    shortest_arc(b, ROWS(along), ROWS(to), arc);
    for (int i = 0; i < b->count; i++) {
        const number *v = along[i];
        for (int k = 0; k < 4 && v[0] == 0 && v[1] == 0 && v[2] == 0; k++)
            arc[i][k] = (number)NAN;
    }
    angle_of(b, ROWS(arc), angle);
    for (int i = 0; i < b->count; i++) {
        number cosine = arc[i][0], sine = size(arc[i] + 1); /* of half the angle */
        number away = size(to[i]) * (cosine > sine ? 2 * sine * cosine : 1);
        number miss = weight[i] == 0 ? 0 : angle[i];
        b->error[i] = larger(b->error[i], weight[i] == 0 ? 0 : away);
        b->angle[i] = larger(b->angle[i], miss);
        off[i] |= miss > (number)b->job.options.rotation_tolerance;
    }
}
