/* How a foot goes from one stance to the next (swings.h), one frame at a time: a real is a number here.
 *
 *   swing_followed   how far up a foot goes that follows a plane
 *   swing_cut        what is moved by in a swing that the clip's end soon cuts
 *   swing_progress   how far on its way it is
 *   swing_between    from one plane to the next
 *   swing_let_go     what is as smooth as can be, rather than as it is known */

static vec3 swing_slope(const ik_swing_job *job, const double *normal) {
    double slope[3], upward = real_max(normal[job->axis], IK_STEEPEST);
    for (int axis = 0; axis < 3; axis++)
        slope[axis] = axis == job->axis ? 0 : -normal[axis] / upward;
    return stand_vector_of(slope);
}

static vec3 swing_level(const ik_swing_job *job, vec3 a) {
    double each[3] = {a.x, a.y, a.z};
    each[job->axis] = 0;
    return stand_vector_of(each);
}

static double swing_followed(const ik_swing_job *job, const ik_plane *plane, vec3 source, vec3 moved) {
    const vec3 ground = swing_slope(job, plane->normal), floor = swing_slope(job, plane->floor);
    const vec3 place = stand_vector_of(plane->place);
    const double rises = vec3_dot(vec3_sub(vec3_add(source, moved), place), ground);
    return plane->lift + rises - vec3_dot(vec3_sub(source, place), floor);
}

/* As in the frame beside it, along the ground. */
static void swing_cut(const ik_swing_job *job, ptrdiff_t start, ptrdiff_t stop) {
    const ptrdiff_t beside = start == 0 ? stop : start - 1;
    if ((start == 0) == (stop == job->frames) || !((double)(stop - start) < job->brief)) return;
    for (ptrdiff_t frame = start; frame < stop; frame++)
        for (int axis = 0; axis < 3; axis++)
            if (axis != job->axis) job->moved[frame][axis] = job->moved[beside][axis], job->pinned[frame][axis] = 1;
}

void ik_release(const ik_swing_job *job) {
    const ik_fpmode before = ik_fpmode_enter();
    ptrdiff_t first = 0, last = job->frames;
    memset(job->moved, 0, (size_t)job->frames * sizeof *job->moved);
    memset(job->pinned, 0, (size_t)job->frames * sizeof *job->pinned);
    for (ptrdiff_t k = 0; k < job->planes; k++) {
        const ik_plane *plane = &job->plane[k];
        for (ptrdiff_t frame = plane->start; plane->stands && frame < plane->stop; frame++) {
            const vec3 source = stand_vector_at(&job->reference, frame), shift = stand_vector_of(job->shift[frame]);
            stand_set_vector(job->moved[frame], shift);
            job->moved[frame][job->axis] -= swing_followed(job, plane, source, swing_level(job, shift));
            memset(job->pinned[frame], 1, sizeof *job->pinned);
        }
    }
    while (first < last && !job->pinned[first][job->axis])
        first++;
    while (last > first && !job->pinned[last - 1][job->axis])
        last--;
    if (first < last) swing_cut(job, 0, first), swing_cut(job, last, job->frames);
    ik_fpmode_leave(before);
}

/* Where a foot is, horizontally. */
static vec3 swing_at(const ik_swing_job *job, ptrdiff_t frame) {
    const vec3 at = vec3_add(stand_vector_at(&job->reference, frame), stand_vector_of(job->shift[frame]));
    return swing_level(job, at);
}

/* From 0 to 1 in frames from `start` to `stop`; where it hardly travels, by time. */
static double swing_progress(vec3 way, vec3 chord, double travels, double timed) {
    const double far = vec3_length(chord);
    const double done = bake_share(vec3_dot(way, chord) / real_max(far * far, 1e-300));
    return timed + travels * (done - timed);
}

static void swing_between(const ik_swing_job *job, const ik_plane *leaves, const ik_plane *comes) {
    const ptrdiff_t start = leaves->stop, stop = comes->start;
    if (stop <= start) return;
    const quat first = stand_quat_of(job->turn[start - 1]), last = stand_quat_of(job->turn[stop]);
    /* A foot that passes by goes on through that frame; one that stands has come, or leaves, in the one beside. */
    const vec3 from = swing_at(job, leaves->stands ? start : start - 1);
    const vec3 chord = vec3_sub(swing_at(job, comes->stands ? stop - 1 : stop), from);
    const double travels = stand_eased(bake_share(vec3_length(chord) / job->far));
    for (ptrdiff_t frame = start; frame < stop; frame++) {
        const vec3 source = stand_vector_at(&job->reference, frame), moved = stand_vector_of(job->shift[frame]);
        const double timed = stand_eased((double)(frame - start + 1) / (double)(stop - start + 1));
        const double share = swing_progress(vec3_sub(swing_at(job, frame), from), chord, travels, timed);
        const double low = swing_followed(job, leaves, source, moved), high = swing_followed(job, comes, source, moved);
        job->shift[frame][job->axis] += low + share * (high - low);
        stand_set_quat(job->turn[frame], bake_between(first, last, timed));
    }
}

/* In swing as it is moved there, and turned to the ground that it passes by. */
static void swing_begin(const ik_swing_job *job) {
    ptrdiff_t frame = 0;
    for (ptrdiff_t k = 0; k <= job->planes; k++) {
        const ik_plane *plane = k < job->planes ? &job->plane[k] : NULL;
        const ptrdiff_t until = !plane ? job->frames : plane->stands ? plane->start : plane->stop;
        for (; frame < until; frame++)
            memcpy(job->shift[frame], job->moved[frame], sizeof *job->shift);
        if (!plane) return;
        const quat turn = bake_arc(stand_vector_of(plane->floor), stand_vector_of(plane->normal));
        for (ptrdiff_t here = plane->start; !plane->stands && here < plane->stop; here++)
            stand_set_quat(job->turn[here], turn);
        frame = plane->stop;
    }
}

void ik_swing(const ik_swing_job *job) {
    const ik_fpmode before = ik_fpmode_enter();
    swing_begin(job);
    for (ptrdiff_t k = 1; k < job->planes; k++)
        swing_between(job, &job->plane[k - 1], &job->plane[k]);
    for (ptrdiff_t k = 0; k < job->planes; k++) {
        const ik_plane *plane = &job->plane[k];
        for (ptrdiff_t frame = plane->start; !plane->stands && frame < plane->stop; frame++)
            job->shift[frame][job->axis] +=
                swing_followed(job, plane, stand_vector_at(&job->reference, frame), stand_vector_of(job->shift[frame]));
    }
    ik_fpmode_leave(before);
}

/* --- as smoothly as can be ---------------------------------------------------------------------------------------- */

static void *swing_place(const ik_rows *rows, ptrdiff_t frame, int column) {
    return (char *)rows->data + frame * rows->stride + column * rows->step;
}

static int swing_is_pinned(const ik_loose_job *job, ptrdiff_t frame, int column) {
    return *(const unsigned char *)swing_place(&job->pinned, frame, column) != 0;
}

static int swing_all_pinned(const ik_loose_job *job, ptrdiff_t frame) {
    return swing_is_pinned(job, frame, 0) && swing_is_pinned(job, frame, 1) && swing_is_pinned(job, frame, 2);
}

/* Frames from one to before another, which are let go but for those that are known. */
static void swing_let_go(const ik_loose_job *job, ptrdiff_t start, ptrdiff_t stop, int known, double pull) {
    for (ptrdiff_t frame = start; frame < stop; frame++)
        for (int axis = 0; axis < 3; axis++) {
            const int held = known || swing_is_pinned(job, frame, axis);
            const double value = *(const double *)swing_place(&job->values, frame, axis);
            *(double *)swing_place(&job->lower, frame, axis) = held ? value : -INFINITY;
            *(double *)swing_place(&job->upper, frame, axis) = held ? value : INFINITY;
            *(double *)swing_place(&job->pulls, frame, axis) = pull;
        }
}

void ik_loosen(const ik_loose_job *job) {
    for (ptrdiff_t start = 0, stop; start < job->frames; start = stop) {
        const int known = swing_all_pinned(job, start);
        for (stop = start + 1; stop < job->frames && swing_all_pinned(job, stop) == known;)
            stop++;
        if (known) {
            swing_let_go(job, start, stop, 1, 0);
            continue;
        }
        const int begins = start == 0, ends = stop == job->frames;
        ptrdiff_t from = begins ? start : start + job->blend, to = ends ? stop : stop - job->blend;
        if (from >= to) from = to = stop;
        const double pull = begins || ends ? job->pull : 0;
        swing_let_go(job, start, from, 0, pull);
        swing_let_go(job, from, to, 1, pull);
        swing_let_go(job, to, stop, 0, pull);
    }
}
