/* Articulated rigid bodies: one for every joint that turns or slides, with the joints that are fixed to it. The points
 * of a body are its own joint, the joints and the points of goals that it carries. Its centre is their mean. Without
 * masses in the skeleton, the mass is twice the distance from the centre to the farthest point. The inertia is that of
 * a solid sphere of that radius, times the option `inertia`.
 *
 * The pose that comes in stays in the columns of joints.h until bodies_store replaces it. */

enum body_columns {
    BODY_TURNED = 0,   /* rotation in the world */
    BODY_PLACE = 4,    /* the centre in the world */
    BODY_BONE = 7,     /* the joint in its parent's space; of a joint that hangs on none, in the world */
    BODY_CENTRE = 10,  /* from the joint to the centre, in the space of the body */
    BODY_LIGHT = 13,   /* 1 / mass */
    BODY_WILLING = 14, /* 1 / inertia */
    BODY_COLUMNS = 15,
};

ik_inline int body_column(const ik_plan *plan, int slot, enum body_columns which) {
    return joint_columns(plan) + DLS_STATE + BODY_COLUMNS * slot + (int)which;
}
ik_inline int bodies_columns(const ik_plan *plan) { return body_column(plan, plan->slots, (enum body_columns)0); }

ik_inline int body_is(const ik_plan *plan, int k) { return plan->nodes[k].turns || plan->nodes[k].slides; }

/* The body that carries node k: its own, or the nearest above; -1: none. */
ik_inline int body_of(const ik_plan *plan, int k) {
    while (k >= 0 && !body_is(plan, k))
        k = plan->nodes[k].moves ? plan->nodes[k].parent : -1;
    return k;
}

/* ---- positions of joints by the present bodies */

typedef struct {
    quat turned;
    vec3 place;
} body_frame;

static body_frame bodies_frame(const ik_plan *plan, columns c, int k) {
    const int slot = plan->nodes[k].slot;
    if (body_is(plan, k)) {
        const quat turned = column_quat(c, body_column(plan, slot, BODY_TURNED));
        const vec3 arm = quat_rotate(turned, column_vec3(c, body_column(plan, slot, BODY_CENTRE)));
        return (body_frame){turned, vec3_sub(column_vec3(c, body_column(plan, slot, BODY_PLACE)), arm)};
    }
    const quat stands = column_quat(c, joint_rotation(slot));
    if (!plan->nodes[k].moves) return (body_frame){stands, column_vec3(c, joint_position(plan, slot))};
    const int parent = plan->nodes[k].parent, above = plan->nodes[parent].slot;
    const quat was = quat_conjugate(column_quat(c, joint_rotation(above)));
    const quat local = quat_multiply(was, stands);
    const body_frame from = bodies_frame(plan, c, parent);
    const vec3 bone = column_vec3(c, body_column(plan, slot, BODY_BONE));
    return (body_frame){quat_multiply(from.turned, local), vec3_add(from.place, quat_rotate(from.turned, bone))};
}

/* The rotation of bodies_frame alone. */
static quat bodies_turned(const ik_plan *plan, columns c, int k) {
    const int slot = plan->nodes[k].slot;
    if (body_is(plan, k)) return column_quat(c, body_column(plan, slot, BODY_TURNED));
    return bodies_frame(plan, c, k).turned;
}

/* The space in which the joint of node k slides and is limited. A joint below no moving joint has the world's origin,
 * for its bone ends in the world. */
ik_inline body_frame bodies_above(const ik_plan *plan, columns c, int k) {
    if (plan->nodes[k].moves) return bodies_frame(plan, c, plan->nodes[k].parent);
    return (body_frame){plan->rests ? joint_parent(plan, c, k) : quat_identity(), vec3_splat(0, 0, 0)};
}

ik_inline quat bodies_above_turned(const ik_plan *plan, columns c, int k) {
    return plan->nodes[k].moves ? bodies_turned(plan, c, plan->nodes[k].parent) : bodies_above(plan, c, k).turned;
}

ik_inline vec3 bodies_bone(const ik_plan *plan, columns c, int k, body_frame above) {
    const vec3 bone = column_vec3(c, body_column(plan, plan->nodes[k].slot, BODY_BONE));
    return plan->nodes[k].moves ? vec3_add(above.place, quat_rotate(above.turned, bone)) : bone;
}

/* The slide of a node's joint relative to its offset, within its travel. */
static vec3 bodies_slid(const ik_plan *plan, columns c, int k, body_frame above, vec3 place) {
    const vec3 off = vec3_sub(place, bodies_bone(plan, c, k, above));
    vec3 slid = quat_rotate(quat_conjugate(above.turned), off);
    real *along[3] = {&slid.x, &slid.y, &slid.z};
    for (int axis = 0; axis < 3; axis++) {
        const real most = turns_end_of_slide(plan, c, k, axis, 1), least = turns_end_of_slide(plan, c, k, axis, 0);
        *along[axis] = real_max(real_min(*along[axis], most), least);
    }
    return slid;
}

/* The position of the joint of node k, as the body above it has it. */
ik_inline vec3 bodies_hung(const ik_plan *plan, columns c, int k, vec3 place) {
    const body_frame above = bodies_above(plan, c, k);
    const vec3 bone = bodies_bone(plan, c, k, above);
    if (!plan->nodes[k].slides) return bone;
    return vec3_add(bone, quat_rotate(above.turned, bodies_slid(plan, c, k, above, place)));
}

/* ---- from the pose in the columns of joints.h to bodies */

static void bodies_load_bones(const ik_plan *plan, columns c) {
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        vec3 bone = column_vec3(c, joint_position(plan, slot));
        quat above = plan->rests && !plan->nodes[k].moves ? joint_parent(plan, c, k) : quat_identity();
        if (plan->nodes[k].moves) {
            const int parent = plan->nodes[plan->nodes[k].parent].slot;
            above = column_quat(c, joint_rotation(parent));
            bone = quat_rotate(quat_conjugate(above), vec3_sub(bone, column_vec3(c, joint_position(plan, parent))));
        }
        if (plan->nodes[k].slides) {
            const vec3 slid = column_vec3(c, joint_slid(plan, slot));
            bone = vec3_sub(bone, plan->nodes[k].moves ? slid : quat_rotate(above, slid));
        }
        column_set_vec3(c, body_column(plan, slot, BODY_BONE), bone);
    }
}

/* Whether node `point` is a point of body k beside its joint. */
ik_inline int bodies_has_point(const ik_plan *plan, int k, int point) {
    if (point == k || plan->nodes[point].slot < 0 || !plan->nodes[point].moves) return 0;
    return body_of(plan, plan->nodes[point].parent) == k && (body_is(plan, point) || plan->nodes[point].place);
}

/* The centre of body k, scaled, and the distance of its farthest point from that. */
static real bodies_find_centre(const ik_plan *plan, columns c, int k, vec3 *centre) {
    const vec3 joint = column_vec3(c, joint_position(plan, plan->nodes[k].slot));
    vec3 sum = joint;
    int count = 1;
    for (int slot = plan->nodes[k].slot + 1; slot < plan->slots; slot++) {
        if (!bodies_has_point(plan, k, plan->node_of_slot[slot])) continue;
        sum = vec3_add(sum, column_vec3(c, joint_position(plan, slot)));
        count++;
    }
    *centre = vec3_scale(real_splat((number)(1.0 / count)), sum);
    real farthest = vec3_length(vec3_sub(joint, *centre));
    for (int slot = plan->nodes[k].slot + 1; slot < plan->slots; slot++)
        if (bodies_has_point(plan, k, plan->node_of_slot[slot]))
            farthest = real_max(farthest, vec3_length(vec3_sub(column_vec3(c, joint_position(plan, slot)), *centre)));
    return farthest;
}

/* 1 - the mean stiffness of its limit. */
ik_inline number body_freedom(const ik_node *node) {
    if (!node->turns) return 0;
    if (!node->limit) return 1;
    const double *stiffness = node->limit->stiffness;
    return (number)(1 - (stiffness[0] + stiffness[1] + stiffness[2]) / 3);
}

ik_inline const ik_joint *body_joint(const ik_plan *plan, int k) {
    const ik_joint *joints = plan->job->skeleton->joints;
    return joints ? &joints[plan->nodes[k].joint] : NULL;
}

/* Mass per length, for joints without a mass in skeletons that have some. */
static real bodies_density(const ik_plan *plan, columns c) {
    real sum = real_splat(0), given = sum;
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (!body_is(plan, k) || !body_joint(plan, k) || !(body_joint(plan, k)->mass > 0)) continue;
        given = given + real_splat((number)body_joint(plan, k)->mass);
        sum = sum + *column(c, body_column(plan, slot, BODY_LIGHT));
    }
    return real_select(mask_less(real_splat(0), sum), given / real_max(sum, real_splat(SMALLEST)), real_splat(1));
}

/* Converts the size in BODY_LIGHT to mass and inertia. */
static void bodies_weigh(const ik_plan *plan, columns c, int k, real density) {
    const ik_joint *joint = body_joint(plan, k);
    real *light = column(c, body_column(plan, plan->nodes[k].slot, BODY_LIGHT));
    const real radius = real_splat((number)0.5) * *light, scale = real_splat(1) / *column(c, UNSCALE);
    real mass = density * *light;
    if (joint && joint->mass > 0) mass = real_splat((number)joint->mass);
    real inertia = real_splat((number)0.4) * mass * radius * radius;
    if (joint && joint->inertia[0] + joint->inertia[1] + joint->inertia[2] > 0)
        inertia = real_splat((number)((joint->inertia[0] + joint->inertia[1] + joint->inertia[2]) / 3)) * scale * scale;
    inertia = real_splat((number)plan->job->options.inertia) * inertia;
    *light = real_splat(1) / mass;
    *column(c, body_column(plan, plan->nodes[k].slot, BODY_WILLING)) =
        real_splat(body_freedom(&plan->nodes[k])) / inertia;
}

/* A body without length is as large as a tenth of the mean bone. */
#define BODY_LEAST (number)0.1

static void bodies_load(const ik_plan *plan, columns c) {
    const real least = real_splat(BODY_LEAST) * *column(c, joint_lever(plan));
    bodies_load_bones(plan, c);
    for (int slot = 0; slot < plan->slots; slot++) {
        const int k = plan->node_of_slot[slot];
        if (!body_is(plan, k)) continue;
        const quat turned = column_quat(c, joint_rotation(slot));
        vec3 centre;
        const real radius = real_max(bodies_find_centre(plan, c, k, &centre), least);
        const vec3 arm = vec3_sub(centre, column_vec3(c, joint_position(plan, slot)));
        column_set_quat(c, body_column(plan, slot, BODY_TURNED), turned);
        column_set_vec3(c, body_column(plan, slot, BODY_PLACE), centre);
        column_set_vec3(c, body_column(plan, slot, BODY_CENTRE), quat_rotate(quat_conjugate(turned), arm));
        *column(c, body_column(plan, slot, BODY_LIGHT)) = radius + radius;
    }
    const real density = bodies_density(plan, c);
    for (int slot = 0; slot < plan->slots; slot++)
        if (body_is(plan, plan->node_of_slot[slot])) bodies_weigh(plan, c, plan->node_of_slot[slot], density);
}

/* ---- from bodies to the pose: rotations within limits, bones of their old lengths */

static void bodies_store_slot(const ik_plan *plan, columns c, int slot) {
    const int k = plan->node_of_slot[slot], parent = plan->nodes[k].moves ? plan->nodes[k].parent : -1;
    body_frame above = {plan->rests && parent < 0 ? joint_parent(plan, c, k) : quat_identity(), vec3_splat(0, 0, 0)};
    quat local = column_quat(c, body_column(plan, slot, BODY_TURNED));
    if (parent >= 0) {
        above.turned = column_quat(c, joint_rotation(plan->nodes[parent].slot));
        above.place = column_vec3(c, joint_position(plan, plan->nodes[parent].slot));
    }
    vec3 place = bodies_bone(plan, c, k, above);
    if (plan->nodes[k].slides) {
        const vec3 slid = column_vec3(c, joint_slid(plan, slot));
        place = vec3_add(place, quat_rotate(above.turned, slid));
    }
    if (plan->nodes[k].turns) local = quat_unit(solve_allowed(plan, k, local));
    column_set_quat(c, joint_rotation(slot), quat_unit(quat_multiply(above.turned, local)));
    column_set_vec3(c, joint_position(plan, slot), place);
    if (plan->rests && joint_is_hinge(plan, k)) *column(c, joint_angle(plan, slot)) = joint_angle_of(plan, k, local);
}

/* Local rotations first, then they become the pose from the roots down. */
static void bodies_store(const ik_plan *plan, columns c) {
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const int k = plan->node_of_slot[slot];
        const body_frame above = bodies_above(plan, c, k);
        quat turned;
        if (body_is(plan, k)) {
            const body_frame own = bodies_frame(plan, c, k);
            turned = own.turned;
            if (plan->nodes[k].slides)
                column_set_vec3(c, joint_slid(plan, slot), bodies_slid(plan, c, k, above, own.place));
        } else
            turned = bodies_frame(plan, c, k).turned;
        column_set_quat(c, body_column(plan, slot, BODY_TURNED), quat_multiply(quat_conjugate(above.turned), turned));
    }
    for (int slot = 0; slot < plan->slots; slot++)
        bodies_store_slot(plan, c, slot);
}
