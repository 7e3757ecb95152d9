/* Leg IK in closed form (ik_bend_leg_job); lanes are frames. Also the hinge axes of legs (ik_hinges_job), the turns of
 * their joints (ik_turn_leg_job), and points that follow their parent joint (ik_displace_job).
 *
 *   bend_target  the end of the leg: no nearer to the hip than the folded leg, no farther than its reach
 *   bend_knee    the position of a knee, by the lengths of the sides, in the bend direction of the source
 *   bend_upper   the turn of the bone above it
 *
 * Knees are taken from the hip down: below each the rest of the leg is one bone. */

static const number BEND_STRAIGHT = 0.02; /* the sine of a bend below which its plane counts less and less */
static const number BEND_SOON = 9;        /* weight of pulling a backwards knee forwards, so that it crosses the line
                                             from hip to foot where it is nearly straight */
static const number BEND_ROUNDING = 1e-9; /* of the length of a leg */
static const number TURN_SAME = 1e-12;    /* a rotation by less is none */

/* Rows of one joint of every pose, as lists of joints have them. */
ik_inline quat bend_load_quat(const ik_rows *rows, group at) {
    return lanes_load_joint_quat(&(ik_lists){.rows = *rows}, at, 0);
}
ik_inline vec3 bend_load_vec3(const ik_rows *rows, group at) {
    return lanes_load_joint_vec3(&(ik_lists){.rows = *rows}, at, 0);
}
ik_inline void bend_store_quat(const ik_rows *rows, group at, quat q) {
    lanes_store_joint_quat(&(ik_lists){.rows = *rows}, at, 0, q);
}

/* --- a leg ----------------------------------------------------------------------------------------------------------
 */

typedef struct {
    const ik_bend_leg_job *job;
    group at;
    int points;
    vec3 pivot;
    quat tilt;
    vec3 upper, lower, end; /* after the pelvis offset: the ends of the present bone, and of the leg */
} bend;

/* The position of a joint after the tilt of the pelvis. */
ik_inline vec3 bend_point(const bend *b, int joint) {
    const vec3 point = lanes_load_joint_vec3(&b->job->chain, b->at, joint);
    return b->job->tilt.data ? vec3_add(b->pivot, bake_rotate(b->tilt, vec3_sub(point, b->pivot))) : point;
}

ik_inline vec3 bend_bone(const bend *b) { return vec3_sub(b->lower, b->upper); }

ik_inline vec3 bend_hinge(const bend *b, int bone) {
    quat turn = lanes_load_joint_quat(&b->job->turns, b->at, bone);
    if (b->job->tilt.data) turn = bake_multiply(b->tilt, turn);
    const double *hinge = b->job->hinges + 3 * bone;
    return bake_rotate(turn, (vec3){real_splat(hinge[0]), real_splat(hinge[1]), real_splat(hinge[2])});
}

ik_inline void bend_store(const bend *b, int bone, vec3 start, quat delta) {
    if (b->job->tilt.data) delta = bake_multiply(delta, b->tilt);
    lanes_store_joint_vec3(&b->job->bent, b->at, bone, start);
    lanes_store_joint_quat(&b->job->deltas, b->at, bone, delta);
}

/* The distance from a knee to the end of the leg: the length of the second of two bones; for more bones scaled in
 * proportion to the hip-end distance. */
static real bend_below(const bend *b, int bone, real far) {
    const real first = vec3_length(bend_bone(b));
    if (bone + 3 == b->points) return vec3_length(vec3_sub(b->end, b->lower));
    vec3 start = bend_point(b, bone + 2);
    real total = vec3_length(vec3_sub(start, b->lower)), longest = total;
    for (int lower = bone + 3; lower < b->points; lower++) {
        const vec3 stop = bend_point(b, lower);
        const real length = vec3_length(vec3_sub(stop, start));
        total = total + length, longest = real_max(longest, length), start = stop;
    }
    const real least = real_max(real_splat(2) * longest - total, real_splat(0));
    const real share = bake_over(far, vec3_length(vec3_sub(b->end, b->upper)));
    const real wanted = vec3_length(vec3_sub(b->end, b->lower)) * share;
    return bake_clip(wanted, real_max(least, real_abs(far - first)), real_min(total, far + first));
}

/* The position of a knee along the line from hip to end. */
ik_inline real bend_along(real first, real second, real far) {
    return (far + bake_over((first - second) * (first + second), far)) / real_splat(2);
}

/* The distance of the knee from that line. */
ik_inline real bend_height(real first, real along) {
    return real_sqrt(real_max(first * first - along * along, real_splat(0)));
}

/* The distance of the first knee from the line if the end were nearer to the hip by `nearer`. */
ik_inline real bend_soon(const bend *b, real first, real second, vec3 source) {
    const real far = vec3_length(source) - lanes_load_real(&b->job->nearer, b->at);
    return bend_height(first, bend_along(first, second, bake_clip(far, real_abs(first - second), first + second)));
}

/* The position of a knee. A straight leg, or one bent slightly backwards, is bent forwards. */
static vec3 bend_knee(const bend *b, int bone, vec3 hip, vec3 foot) {
    const real zero = real_splat(0), one = real_splat(1), two = real_splat(2);
    const vec3 upper = bend_bone(b), source = vec3_sub(b->end, b->upper), way = vec3_sub(foot, hip);
    const quat arc = bake_arc(source, way);
    const vec3 line = bake_unit(way), before = bake_rotate(arc, upper);
    const vec3 off = vec3_sub(before, vec3_scale(vec3_dot(before, line), line));
    const vec3 forward = bake_unit(vec3_cross(line, bake_rotate(arc, bend_hinge(b, bone))));
    const real far = vec3_length(way), first = vec3_length(upper), second = bend_below(b, bone, far);
    const real along = bend_along(first, second, far), height = bend_height(first, along), was = vec3_length(off);
    const real back = bake_over(real_max(-vec3_dot(off, forward), zero), was);
    const real wrong =
        real_select(mask_less(zero, back), bake_share(bake_over(was, real_splat(IK_HINGED) * first)), zero);
    const real soon = one + real_splat(BEND_SOON) * back;
    const real about = b->job->nearer.data && bone == 0 ? bend_soon(b, first, second, source) - was : zero;
    const real more = soon * real_max(height - was, back * real_max(about, zero)) *
                      (one - two * wrong * wrong * (real_splat(3) - two * wrong));
    const vec3 side = bake_unit(vec3_add(off, vec3_scale(more, forward)));
    return vec3_add(vec3_add(hip, vec3_scale(along, line)), vec3_scale(height, side));
}

/* The turn of the upper bone: the shortest arc, then about itself with the plane of the leg, if that is bent. The knee
 * remains a hinge and does not twist against the thigh. */
static quat bend_upper(const bend *b, vec3 hip, vec3 knee, vec3 foot) {
    const vec3 upper = bend_bone(b), low = vec3_sub(b->end, b->lower);
    const vec3 first = vec3_sub(knee, hip), second = vec3_sub(foot, knee);
    const quat arc = bake_arc(upper, first);
    const vec3 was = bake_rotate(arc, vec3_cross(upper, low)), now = vec3_cross(first, second);
    const real sine = bake_over(vec3_length(was), vec3_length(upper) * vec3_length(low));
    const real alike =
        bake_over(vec3_dot(was, now), vec3_length(was) * vec3_length(now)); /* none of it from 90 degrees */
    const real bent = bake_over(vec3_length(now), vec3_length(first) * vec3_length(second)); /* straight: no plane */
    const real share = bake_share(sine / real_splat(IK_HINGED)) * bake_share(bent / real_splat(BEND_STRAIGHT)) *
                       bake_share(real_splat(2) * alike);
    return bake_multiply(bake_slerp(bake_arc(was, now), bake_eased(share)), arc);
}

/* Keeps the foot ahead of the hip by the length of the folded leg, or by its distance in the clip if that is less. A
 * foot lifted past the hip would turn the leg over. */
static vec3 bend_unfolded(const bend *b, vec3 line) {
    const vec3 source = vec3_sub(b->end, b->upper), ahead = bake_unit(source);
    const real least = real_min(vec3_length(source), real_splat(IK_FOLDED * b->job->length));
    return vec3_add(line, vec3_scale(real_max(least - vec3_dot(line, ahead), real_splat(0)), ahead));
}

/* The end of the leg: the foot's target, within reach. */
static vec3 bend_target(const bend *b, vec3 hip, vec3 foot) {
    vec3 line = vec3_sub(foot, hip);
    if (b->job->length > 0) line = bend_unfolded(b, line);
    const real within = bake_over(lanes_load_real(&b->job->reach, b->at), vec3_length(line));
    return vec3_add(hip, vec3_scale(real_min(within, real_splat(1)), line));
}

static void bend_rows(const ik_bend_leg_job *job, ptrdiff_t first, ptrdiff_t last) {
    bend b = {.job = job, .points = (int)job->chain.count, .pivot = vec3_splat(0, 0, 0), .tilt = quat_identity()};
    EACH_GROUP (at, first, last) {
        b.at = at;
        if (job->tilt.data) b.pivot = lanes_load_vec3(&job->pivot, at), b.tilt = lanes_load_quat(&job->tilt, at);
        b.upper = bend_point(&b, 0), b.end = bend_point(&b, b.points - 1);
        b.lower = b.points > 2 ? bend_point(&b, 1) : b.end;
        const vec3 foot = lanes_load_vec3(&job->foot, at);
        vec3 hip = lanes_load_vec3(&job->hip, at), end = b.points > 1 ? bend_target(&b, hip, foot) : foot;
        quat delta = quat_identity();
        int bone = 0;
        for (; bone + 2 < b.points; bone++) {
            const vec3 knee = bend_knee(&b, bone, hip, end);
            delta = bend_upper(&b, hip, knee, end);
            bend_store(&b, bone, hip, delta);
            hip = knee, b.upper = b.lower;
            b.lower = bone + 3 < b.points ? bend_point(&b, bone + 2) : b.end;
        }
        if (b.points == 2) bend_store(&b, 0, hip, bake_arc(bend_bone(&b), vec3_sub(end, hip)));
        if (b.points > 2) {
            const vec3 carried = bake_rotate(delta, bend_bone(&b));
            bend_store(&b, bone, hip, bake_multiply(bake_arc(carried, vec3_sub(end, hip)), delta));
        }
        lanes_store_joint_vec3(&job->bent, at, b.points - 1, end);
        const real off = vec3_length(vec3_sub(foot, end)), rounding = real_splat(BEND_ROUNDING * job->length);
        if (job->short_by.data)
            lanes_store_real(&job->short_by, at, real_select(mask_less(rounding, off), off, real_splat(0)));
    }
}

/* --- its joints -----------------------------------------------------------------------------------------------------
 */

/* The chosen frames; all by default. */
ik_inline mask turn_chosen(const ik_turn_leg_job *job, group at) {
    number chosen[LANES] = {0};
    if (!job->chosen.data) return ~mask_splat(0);
    for (int k = 0; k < at.count; k++)
        chosen[k] = *lanes_row(&job->chosen, at, k);
    return ~mask_equal(real_load(chosen), real_splat(0));
}

static void turn_rows(const ik_turn_leg_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        const mask chosen = turn_chosen(job, at);
        quat carrier = quat_identity();
        if (job->above.data) carrier = lanes_load_quat(&job->above, at);
        for (int joint = 0; joint < job->joints; joint++) {
            const quat world = bend_load_quat(&job->world[joint], at), delta = bend_load_quat(&job->deltas[joint], at);
            const quat local = bend_load_quat(&job->locals[joint], at);
            const quat unit = job->units ? bend_load_quat(&job->units[joint], at) : bake_normalize(local);
            const int alone = joint == 0 && !job->above.data;
            const quat relative = alone ? delta : bake_multiply(bake_conjugate(carrier), delta);
            const quat parent = bake_multiply(world, bake_conjugate(unit));
            const quat now = bake_multiply(bake_conjugate(parent), bake_multiply(relative, world));
            const mask changes = chosen & mask_less(real_splat(TURN_SAME), vec3_largest(relative.v));
            bend_store_quat(&job->locals[joint], at, quat_select(changes, now, local));
            carrier = delta;
        }
    }
}

/* --- its knees ------------------------------------------------------------------------------------------------------
 */

/* Frames are added one after the other, so that the sum does not depend on the lanes. */
static void hinge_rows(const ik_hinges_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        for (int knee = 0; knee < job->turns.count; knee++) {
            const vec3 bone = lanes_load_joint_vec3(&job->chain, at, knee + 1);
            const vec3 upper = vec3_sub(bone, lanes_load_joint_vec3(&job->chain, at, knee));
            const vec3 lower = vec3_sub(lanes_load_joint_vec3(&job->chain, at, knee + 2), bone);
            const quat turn = lanes_load_joint_quat(&job->turns, at, knee);
            const vec3 normal = bake_rotate(bake_conjugate(turn), vec3_cross(upper, lower));
            number each[3][LANES];
            real_store(each[0], normal.x), real_store(each[1], normal.y), real_store(each[2], normal.z);
            for (int k = 0; k < at.count; k++)
                for (int axis = 0; axis < 3; axis++)
                    job->sums[3 * knee + axis] += (double)each[axis][k];
        }
    }
}

/* --- what carries it ------------------------------------------------------------------------------------------------
 */

static void displace_rows(const ik_displace_job *job, ptrdiff_t first, ptrdiff_t last) {
    EACH_GROUP (at, first, last) {
        const vec3 origin = lanes_load_vec3(&job->origin, at), shift = lanes_load_vec3(&job->shift, at);
        vec3 arm = vec3_sub(bend_load_vec3(&job->points, at), origin);
        if (job->turn.data) arm = bake_rotate(lanes_load_quat(&job->turn, at), arm);
        lanes_store_vec3(&job->places, at, vec3_add(vec3_add(origin, shift), arm));
    }
}
