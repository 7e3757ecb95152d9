/* How a foot goes from one stance to the next (swings.h), one frame at a time: a real is a number here.
 *
 *   swing_followed   how far up a foot goes that follows a plane
 *   swing_progress   how far on its way it is
 *   swing_between    from one plane to the next */

static vec3 swing_slope(const ik_swing_job *job, const double *normal) {
    double slope[3], upward = real_max(normal[job->axis], STAND_STEEPEST);
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

void ik_release(const ik_swing_job *job) {
    const ik_fpmode before = ik_fpmode_enter();
    for (ptrdiff_t k = 0; k < job->planes; k++) {
        const ik_plane *plane = &job->plane[k];
        for (ptrdiff_t frame = plane->start; plane->stands && frame < plane->stop; frame++) {
            const vec3 source = stand_vector_at(&job->reference, frame), shift = stand_vector_of(job->shift[frame]);
            stand_set_vector(job->moved[frame], shift);
            job->moved[frame][job->axis] -= swing_followed(job, plane, source, swing_level(job, shift));
            job->pinned[frame] = 1;
        }
    }
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
    const vec3 from = swing_at(job, start), chord = vec3_sub(swing_at(job, stop - 1), from);
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
