/* Earlier frames of a sequence: earlier rows of an item, and the start pose of a frame.
 *
 * Rows of a frame are found from the present ones: they are `frame` bytes apart. An item that could not be used in some
 * frame looks back to its last usable one; usually all items of a group look back to the same frame. */

enum { PAST_LAST, PAST_BEFORE };

/* Sets the present group: see ik_past. */
ik_inline void past_look(ik_past *past, group at) {
    past->steady = 1;
    for (int lane = 0; lane < at.count; lane++) {
        const int *frames = past->frames[lanes_item(at, lane) - past->first];
        past->steady &= frames[PAST_LAST] == past->frame - 1 && frames[PAST_BEFORE] == past->frame - 2;
    }
}

/* The frame that a lane looks back to; -1: none. */
ik_inline int past_frame(const ik_past *past, group at, int lane, int which) {
    return past->frames[lanes_item(at, lane < at.count ? lane : at.count - 1) - past->first][which];
}

/* Lanes that look back to a frame. */
static mask past_known(const ik_past *past, group at, int which) {
    integer known[LANES];
    mask all = mask_splat(past->frame > which ? -1 : 0);
    if (past->steady) return all;
    for (int lane = 0; lane < LANES; lane++)
        known[lane] = past_frame(past, at, lane, which) < 0 ? 0 : -1;
    memcpy(&all, known, sizeof all);
    return all;
}

/* Numbers of the row that a joint had then; 0 in lanes without such a frame. */
ik_outline void past_gather(const ik_past *past, const ik_lists *lists, group at, int joint, int which, int columns,
                            number (*lane)[LANES]) {
    const ik_rows *rows = &lists->rows;
    for (int k = 0; k < LANES; k++) {
        const int frame = past_frame(past, at, k, which);
        const char *row = lanes_row(rows, at, k < at.count ? k : at.count - 1) + joint * lists->next;
        if (frame >= 0) row += (frame - past->frame) * rows->frame;
        for (int column = 0; column < columns; column++)
            lane[column][k] = frame < 0 ? 0 : *(const number *)(row + column * lanes_step(rows));
    }
}

/* A list as it was a number of frames ago. */
ik_inline ik_lists past_list(const ik_lists *lists, int ago) {
    ik_lists then = *lists;
    then.rows.data = (char *)then.rows.data - ago * then.rows.frame;
    return then;
}

static quat past_quat(const ik_past *past, const ik_lists *lists, group at, int joint, int which) {
    ik_lists then = past_list(lists, which + 1);
    if (past->steady) return lanes_load_joint_quat(&then, at, joint);
    number lane[4][LANES];
    past_gather(past, lists, at, joint, which, 4, lane);
    return (quat){real_load(lane[0]), {real_load(lane[1]), real_load(lane[2]), real_load(lane[3])}};
}

static vec3 past_vec3(const ik_past *past, const ik_lists *lists, group at, int joint, int which) {
    ik_lists then = past_list(lists, which + 1);
    if (past->steady) return lanes_load_joint_vec3(&then, at, joint);
    number lane[3][LANES];
    past_gather(past, lists, at, joint, which, 3, lane);
    return (vec3){real_load(lane[0]), real_load(lane[1]), real_load(lane[2])};
}

/* The translation of a joint in the input pose. */
ik_inline vec3 given_translation(const ik_solve_job *job, group at, int joint) {
    if (!job->translations.rows.data) return vec3_of(job->skeleton->offsets + 3 * (ptrdiff_t)joint);
    return lanes_load_joint_vec3(&job->translations, at, joint);
}

/* ---- the start pose of a frame: the input pose, of unit length, with the kept part of the last correction */

/* The share that is kept; the rest is released. */
ik_inline real past_kept(const ik_plan *plan) { return real_splat((number)(1 - plan->job->release)); }

/* The kept share of a correction, by linear interpolation from the identity; not of unit length. */
static quat past_correction(const ik_plan *plan, quat correction) {
    if (plan->job->release == 0) return correction;
    const real kept = past_kept(plan);
    correction = quat_negate_if(mask_less(correction.w, real_splat(0)), correction);
    return (quat){kept * correction.w + (real_splat(1) - kept), vec3_scale(kept, correction.v)};
}

static quat past_turned(const ik_plan *plan, group at, int joint, quat now) {
    const ik_past *past = &plan->past;
    quat solved = past_quat(past, &plan->job->solved, at, joint, PAST_LAST);
    quat came = quat_unit(past_quat(past, &plan->job->rotations, at, joint, PAST_LAST));
    quat start = quat_multiply(past_correction(plan, quat_multiply(solved, quat_conjugate(came))), now);
    start = quat_poisoned(quat_unit(start), quat_poison(start));
    return past->steady ? start : quat_select(past_known(past, at, PAST_LAST), start, now);
}

static vec3 past_slid(const ik_plan *plan, group at, int joint, vec3 now) {
    const ik_past *past = &plan->past;
    const ik_lists *given = &plan->job->translations;
    vec3 came = now; /* an offset, unless */
    if (given->rows.data) came = past_vec3(past, given, at, joint, PAST_LAST);
    vec3 moved = past_vec3(past, &plan->job->moved, at, joint, PAST_LAST);
    vec3 correction = vec3_sub(moved, came);
    if (plan->job->release > 0) correction = vec3_scale(past_kept(plan), correction);
    vec3 start = vec3_add(now, correction);
    return past->steady ? start : vec3_select(past_known(past, at, PAST_LAST), start, now);
}
