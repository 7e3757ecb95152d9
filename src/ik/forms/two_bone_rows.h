/* two_bone.h on the rows of a job; jobs with a pole and no options take a shorter path. */

ik_inline void two_bone_load(const ik_two_bone_job *job, group at, two_bone_in *in) {
    in->root = lanes_load_vec3(&job->root, at);
    in->mid = lanes_load_vec3(&job->mid, at);
    in->end = lanes_load_vec3(&job->end, at);
    in->target = lanes_load_vec3(&job->target, at);
    if (in->pole_given) in->pole = lanes_load_vec3(&job->pole, at);
    if (in->bend_given) in->bend = lanes_load_vec3(&job->bend, at);
    if (in->hinge_given) in->hinge = lanes_load_vec3(&job->hinge, at);
    if (in->twist_given) in->twist = lanes_load_option(&job->twist, at, 0);
    if (in->influence_given) in->influence = lanes_load_option(&job->influence, at, 1);
    if (in->soften_given) in->soften = lanes_load_option(&job->soften, at, 1);
    if (in->stretch_given) {
        in->stretch_start = lanes_load_option(&job->stretch_start, at, 1);
        in->stretch_max = lanes_load_option(&job->stretch_max, at, 1);
    }
    if (in->limits_given) {
        in->min_bend = lanes_load_option(&job->min_bend, at, 0);
        in->max_bend = lanes_load_option(&job->max_bend, at, HALF_TURN);
    }
}

ik_inline void two_bone_store(const ik_two_bone_job *job, group at, const two_bone_out *out) {
    lanes_store_quat(&job->root_delta, at, out->root);
    lanes_store_quat(&job->mid_delta, at, out->mid);
    lanes_store_3_vec3(job->positions, at, out->positions);
    lanes_store_status(&job->status, at, out->status);
    lanes_store_real(&job->error, at, out->error);
    lanes_store_real(&job->flip, at, out->flip);
    lanes_store_real(&job->stretch, at, out->stretch);
}

/* Solves groups of the most common job: a pole, no options, all outputs requested, all rows packed. Its conditions are
 * compile-time constants here. Returns the first row not solved, which may begin a group with rare lanes. */
static ptrdiff_t two_bone_ordinary_rows(const ik_two_bone_job *job, const two_bone_in *given, ptrdiff_t first,
                                        ptrdiff_t last) {
    ik_two_bone_job packed = *job;
    int ordinary = given->pole_given & !given->bend_given & !given->hinge_given & !given->twist_given &
                   !given->influence_given & !given->soften_given & !given->stretch_given & !given->limits_given &
                   given->flip_wanted & (job->positions[0].data != NULL);
    ordinary &= lanes_take_packed(&packed.root, 3) & lanes_take_packed(&packed.mid, 3) &
                lanes_take_packed(&packed.end, 3) & lanes_take_packed(&packed.target, 3) &
                lanes_take_packed(&packed.pole, 3) & lanes_take_packed(&packed.root_delta, 4) &
                lanes_take_packed(&packed.mid_delta, 4) & lanes_take_packed(&packed.positions[0], 9) &
                lanes_take_packed(&packed.error, 1) & lanes_take_packed(&packed.flip, 1) &
                lanes_take_packed(&packed.stretch, 1);
    if (!ordinary) return first;
    packed.positions[1] = lanes_column(&packed.positions[0], 3);
    packed.positions[2] = lanes_column(&packed.positions[0], 6);
    if (memcmp(&packed.positions, &job->positions, sizeof job->positions) != 0) return first;

    for (; last - first >= LANES; first += LANES) {
        two_bone_in in = {.pole_given = 1, .flip_wanted = 1, .ordinary = 1, .rare = mask_splat(0)};
        group at = lanes_group(first, last);
        two_bone_load(&packed, at, &in);
        two_bone_out out = two_bone(&in);
        if (mask_any(in.rare)) break;
        two_bone_store(&packed, at, &out);
    }
    return first;
}

/* Number of groups solved in full before the ordinary path is tried again. */
enum { TWO_BONE_RETRY = 8 };

static void two_bone_rows(const ik_two_bone_job *job, ptrdiff_t first, ptrdiff_t last) {
    two_bone_in in = {
        .pole_given = job->pole.data != NULL,
        .bend_given = job->bend.data != NULL,
        .hinge_given = job->hinge.data != NULL,
        .twist_given = job->twist.data != NULL,
        .influence_given = job->influence.data != NULL,
        .soften_given = job->soften.data != NULL,
        .stretch_given = job->stretch_start.data != NULL || job->stretch_max.data != NULL,
        .limits_given = job->min_bend.data != NULL || job->max_bend.data != NULL,
        .flip_wanted = job->flip.data != NULL,
    };
    while (first < last) {
        first = two_bone_ordinary_rows(job, &in, first, last);
        ptrdiff_t until = first + TWO_BONE_RETRY * LANES < last ? first + TWO_BONE_RETRY * LANES : last;
        EACH_GROUP (at, first, until) {
            two_bone_load(job, at, &in);
            two_bone_out out = two_bone(&in);
            two_bone_store(job, at, &out);
        }
        first = until;
    }
}
