/* FABRIK with frames, its passes: what slides, backward and forward, and how far off the pose is then. fabrik_frames.h
 * has the idea. */

/* ---- what slides */

/* The bone of node k, by how far it and what lies between have slid. */
static void frames_stretch(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    vec3 bone = column_vec3(c, frames_link(plan, node->slot));
    if (node->moves && node->owner != node->parent)
        bone = vec3_add(column_vec3(c, frames_bone(plan, plan->nodes[node->parent].slot)), bone);
    if (node->slides) {
        quat track = column_quat(c, frames_track(plan, node->slot));
        bone = vec3_add(bone, quat_rotate(track, column_vec3(c, frames_slid(plan, node->slot))));
    }
    column_set_vec3(c, frames_bone(plan, node->slot), bone);
}

/* How far node k may slide, of how far it should. */
static vec3 frames_within_travel(const ik_plan *plan, columns c, int k, vec3 slid) {
    vec3 low = column_vec3(c, frames_travel(plan, plan->nodes[k].slot));
    vec3 high = column_vec3(c, frames_travel(plan, plan->nodes[k].slot) + 3);
    return (vec3){real_max(low.x, real_min(high.x, slid.x)), real_max(low.y, real_min(high.y, slid.y)),
                  real_max(low.z, real_min(high.z, slid.z))};
}

/* Node k slides on, seen from what carries it, as far as it may; returns by how much. */
static vec3 frames_slide(const ik_plan *plan, columns c, int k, vec3 by) {
    const int slot = plan->nodes[k].slot;
    quat track = column_quat(c, frames_track(plan, slot));
    vec3 before = column_vec3(c, frames_slid(plan, slot));
    vec3 slid = vec3_add(before, quat_rotate(quat_conjugate(track), by));
    slid = frames_within_travel(plan, c, k, slid);
    column_set_vec3(c, frames_slid(plan, slot), slid);
    return quat_rotate(track, vec3_sub(slid, before));
}

/* A weighted sum to its mean; where nothing weighs it is 0. */
ik_inline vec3 frames_mean(vec3 sum, real all) {
    const real one = real_splat(1);
    return vec3_scale(one / real_select(mask_equal(all, real_splat(0)), one, all), sum);
}

/* Mean vector from the joints that node k carries as it slides to their positions in the passes, in the world. All are
 * of the same body, which is placed. Only joints on the way to a goal count. */
static vec3 frames_away(const ik_plan *plan, columns c, int k, vec3 place, quat rotation) {
    vec3 sum = vec3_splat(0, 0, 0);
    real all = real_splat(0);
    for (int slot = plan->nodes[k].slot; slot < plan->slots; slot++) {
        const int part = plan->node_of_slot[slot];
        const ik_node *node = &plan->nodes[part];
        if (node->owner != plan->nodes[k].owner || (!node->turns && node->point < 0 && !node->ties)) continue;
        if (!ik_carries(plan, k, part)) continue;
        real weight = *column(c, frames_drawn(plan, slot));
        vec3 now = vec3_add(place, quat_rotate(rotation, column_vec3(c, frames_bone(plan, slot))));
        sum = vec3_add(sum, vec3_scale(weight, vec3_sub(column_vec3(c, frames_point(plan, slot)), now)));
        all = all + weight;
    }
    return frames_mean(sum, all);
}

/* Moves the slides in the body of node `owner` (-1: in no body), which is placed. They move as near as their travel
 * allows to the positions of the passes for the joints below. A bone that can stretch then has the length between its
 * points. */
static void frames_slide_body(const ik_plan *plan, columns c, int owner, vec3 place, quat rotation) {
    for (int slot = plan->slots - 1; slot >= 0; slot--) {
        const int k = plan->node_of_slot[slot];
        if (!plan->nodes[k].slides || plan->nodes[k].owner != owner) continue;
        frames_slide(plan, c, k, quat_rotate(quat_conjugate(rotation), frames_away(plan, c, k, place, rotation)));
        for (int below = slot; below < plan->slots; below++)
            if (plan->nodes[plan->node_of_slot[below]].owner == owner)
                frames_stretch(plan, c, plan->node_of_slot[below]);
    }
}

/* ---- the passes */

/* The position of a body by its children. */
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
        if (plan->slides) frames_slide_body(plan, c, k, p, rotation);
        if (node->child >= 0) p = frames_pulled(plan, c, k, rotation);
    }
    if (node->point >= 0) {
        real share = *column(c, frames_target_share(plan, node->point));
        vec3 target = column_vec3(c, frames_target(plan, node->point));
        p = vec3_add(vec3_scale(real_splat(1) - share, p), vec3_scale(share, target));
    }
    if (node->ties) p = frames_tied(plan, c, k, p);
    column_set_vec3(c, frames_point(plan, node->slot), p);
}

/* To where what carries it holds it; what nothing that turns carries to its place. */
ik_inline void frames_hang(const ik_plan *plan, columns c, int k) {
    const ik_node *node = &plan->nodes[k];
    if (plan->slides) frames_stretch(plan, c, k);
    vec3 p = column_vec3(c, frames_bone(plan, node->slot));
    if (node->owner >= 0) {
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
    if (plan->slides) frames_slide_body(plan, c, k, column_vec3(c, frames_point(plan, node->slot)), rotation);
}

/* ---- errors */

ik_inline real frames_distance(const ik_plan *plan, columns c, int k) {
    int goal = plan->nodes[k].point;
    vec3 at = column_vec3(c, frames_point(plan, plan->nodes[k].slot));
    real off = vec3_length(vec3_sub(column_vec3(c, frames_target(plan, goal)), at));
    mask counts = ~mask_equal(*column(c, frames_target_weight(plan, goal)), real_splat(0));
    return real_select(counts, off, real_splat(0));
}

/* The weight of the distance to the target of node k. */
static real frames_counts_for(const ik_plan *plan, columns c, int k) {
    real reach = real_splat(0);
    if (!plan->slides) return *column(c, frames_per_distance(plan, plan->nodes[k].point));
    for (int above; plan->nodes[k].moves; k = above) {
        above = plan->nodes[k].parent;
        vec3 from = column_vec3(c, frames_point(plan, plan->nodes[above].slot));
        reach = reach + vec3_length(vec3_sub(column_vec3(c, frames_point(plan, plan->nodes[k].slot)), from));
    }
    return solve_counts_for(plan, c, reach);
}

ik_inline real frames_position_error(const ik_plan *plan, columns c, int k) {
    return frames_counts_for(plan, c, k) * frames_distance(plan, c, k);
}

/* Twice the sine of half the angle. */
ik_inline real frames_rotation_error(const ik_plan *plan, columns c, int k) {
    int goal = plan->nodes[k].rotation;
    quat off = quat_multiply(column_quat(c, frames_turned(plan, goal)), quat_conjugate(frames_now(plan, c, k)));
    mask counts = ~mask_equal(*column(c, frames_turned_weight(plan, goal)), real_splat(0));
    real half = vec3_length(off.v);
    return real_select(counts, half + half, real_splat(0));
}

/* How far a task is off. */
static real frames_miss(const ik_plan *plan, columns c, const ik_task *task) {
    if (frames_is_tie(task)) return frames_tie_miss(plan, c, (int)(task - plan->tasks));
    return task->kind == IK_TURN ? frames_rotation_error(plan, c, task->node) : frames_distance(plan, c, task->node);
}

/* The error of a tie, as that of a goal in the world. */
static real frames_tie_error(const ik_plan *plan, columns c, int t) {
    const ik_task *task = &plan->tasks[t];
    real miss = frames_tie_miss(plan, c, t), unit = *column(c, frames_per_distance(plan, task->goal));
    if (task->kind == IK_TURN) return *column(c, frames_per_radian(plan)) * miss;
    if (!plan->slides) return unit * miss;
    real reach = reach_of(frames_whereabouts(&c), plan, task->node).sum;
    if (task->other >= 0) reach = real_max(reach, reach_of(frames_whereabouts(&c), plan, task->other).sum);
    return real_select(mask_equal(reach, real_splat(0)), unit, solve_counts_for(plan, c, reach)) * miss;
}

/* The largest turn of a joint in a step, by how far the ends are from where they should be. */
static real frames_turn_for_error(const ik_plan *plan, columns c) {
    real most = *column(c, frames_lowest(plan)), per_reach = *column(c, frames_per_reach(plan));
    for (const ik_task *task = plan->tasks; task < plan->tasks + plan->task_count; task++)
        if (task->kind == IK_TURN)
            most = real_max(most, real_splat(FRAMES_PER_ANGLE / 2) * frames_miss(plan, c, task));
        else
            most = real_max(most, real_splat(FRAMES_PER_WAY / 2) * (per_reach * frames_miss(plan, c, task)));
    return real_min(most, real_splat(1));
}

/* The largest error of all goals, angles as the distances that weigh as much. */
static real frames_error(const ik_plan *plan, columns c) {
    real most = real_splat(0), per_radian = *column(c, frames_per_radian(plan));
    for (int slot = 0; slot < plan->slots; slot++) {
        int k = plan->node_of_slot[slot];
        if (plan->nodes[k].point >= 0) most = real_max(frames_position_error(plan, c, k), most);
        if (plan->nodes[k].rotation >= 0) most = real_max(per_radian * frames_rotation_error(plan, c, k), most);
    }
    for (int t = 0; t < plan->task_count && plan->ties; t++)
        if (frames_is_tie(&plan->tasks[t])) most = real_max(frames_tie_error(plan, c, t), most);
    return most;
}
