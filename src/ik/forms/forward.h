/* Forward kinematics: local poses to world space and back. The contracts are at ik_forward_job, ik_local_job and
 * ik_carried_job in ik.h.
 *
 * Idea. Each lane is one pose. All lanes traverse the tree together, parents before children, so no lane waits. The
 * data that children need of a joint (skeleton.h) stay in scratch memory as lanes. */

ik_inline void forward_store(const ik_forward_job *job, group at, int joint, const world_joint *found) {
    const real none = real_splat(0);
    lanes_store_joint_vec3(&job->positions, at, joint, vec3_written(found->position, none));
    lanes_store_joint_quat(&job->world_rotations, at, joint, quat_written(found->rotation, none));
}

/* The first address of the scratch memory that is aligned for a vector. */
ik_inline void *forward_scratch(const ik_forward_job *job) {
    return (char *)job->scratch + (IK_WIDEST - (uintptr_t)job->scratch % IK_WIDEST) % IK_WIDEST;
}

ik_inline void forward_prefetch(const ik_forward_job *job, group at, int place) {
    const int joints = job->skeleton->count;
    lanes_prefetch(&job->rotations, at, place, joints);
    lanes_prefetch(&job->translations, at, place, joints);
    lanes_prefetch(&job->scales, at, place, joints);
    lanes_prefetch(&job->positions, at, place, joints);
    lanes_prefetch(&job->world_rotations, at, place, joints);
}

ik_inline void forward_group(const ik_forward_job *job, group at, world_joint *world) {
    const ik_skeleton *skeleton = job->skeleton;
    for (int place = 0; place < skeleton->count; place++) {
        int joint = skeleton->order[place], parent = skeleton->parents[joint];
        forward_prefetch(job, at, place);
        world[joint] = world_of_local(parent < 0 ? NULL : &world[parent], forward_load(job, at, joint));
        forward_store(job, at, joint, &world[joint]);
    }
}

ik_inline void forward_scaled_group(const ik_forward_job *job, group at, scaled_joint *world) {
    const ik_skeleton *skeleton = job->skeleton;
    for (int place = 0; place < skeleton->count; place++) {
        int joint = skeleton->order[place], parent = skeleton->parents[joint];
        forward_prefetch(job, at, place);
        local_joint local = forward_load(job, at, joint);
        world[joint] = scaled_of_local(parent < 0 ? NULL : &world[parent], &local);
        forward_store(job, at, joint, &world[joint].joint);
    }
}

static void forward_rows(const ik_forward_job *job, ptrdiff_t first, ptrdiff_t last) {
    void *scratch = forward_scratch(job);
    EACH_GROUP (at, first, last) {
        if (job->scales.rows.data)
            forward_scaled_group(job, at, scratch);
        else
            forward_group(job, at, scratch);
    }
}

#if IK_BYTES < 64 /* see IK_WIDE_SKELETON_SOLVERS */

/* --- a selection of joints, and points fixed to joints -------------------------------------------------------------
 */

ik_inline vec3 carried_offset(const ik_carried_job *job, ptrdiff_t point) {
    const double *offset = job->offsets + 3 * point;
    vec3 way = vec3_splat((number)offset[0], (number)offset[1], (number)offset[2]);
    return vec3_poisoned(way, vec3_poison(way));
}

ik_inline void carried_store(const ik_carried_job *job, group at, ptrdiff_t point, vec3 from, vec3 way) {
    lanes_store_joint_vec3(&job->places, at, (int)point, vec3_written(vec3_add(from, way), real_splat(0)));
}

ik_inline void carried_group(const ik_carried_job *job, group at, world_joint *world) {
    const ik_skeleton *skeleton = job->forward.skeleton;
    for (int place = 0; place < skeleton->count; place++) {
        int joint = skeleton->order[place], parent = skeleton->parents[joint];
        world[joint] = world_of_local(parent < 0 ? NULL : &world[parent], forward_load(&job->forward, at, joint));
    }
    for (ptrdiff_t k = 0; k < job->forward.positions.count; k++)
        forward_store(&job->forward, at, (int)k, &world[job->wanted[k]]);
    for (ptrdiff_t k = 0; k < job->places.count; k++) {
        const world_joint *carrier = &world[job->carriers[k]];
        carried_store(job, at, k, carrier->position, quat_rotate(carrier->rotation, carried_offset(job, k)));
    }
}

ik_inline void carried_scaled_group(const ik_carried_job *job, group at, scaled_joint *world) {
    const ik_skeleton *skeleton = job->forward.skeleton;
    for (int place = 0; place < skeleton->count; place++) {
        int joint = skeleton->order[place], parent = skeleton->parents[joint];
        local_joint local = forward_load(&job->forward, at, joint);
        world[joint] = scaled_of_local(parent < 0 ? NULL : &world[parent], &local);
    }
    for (ptrdiff_t k = 0; k < job->forward.positions.count; k++)
        forward_store(&job->forward, at, (int)k, &world[job->wanted[k]].joint);
    for (ptrdiff_t k = 0; k < job->places.count; k++) {
        const scaled_joint *carrier = &world[job->carriers[k]];
        carried_store(job, at, k, carrier->joint.position, mat3_apply(carrier->matrix, carried_offset(job, k)));
    }
}

static void carried_rows(const ik_carried_job *job, ptrdiff_t first, ptrdiff_t last) {
    void *scratch = forward_scratch(&job->forward);
    EACH_GROUP (at, first, last) {
        if (job->forward.scales.rows.data)
            carried_scaled_group(job, at, scratch);
        else
            carried_group(job, at, scratch);
    }
}

/* --- world space to local ----------------------------------------------------------------------------------------- */

/* One joint relative to its parent. The parent is processed later, so its world pose is still unchanged. */
ik_inline void local_joint_of(const ik_local_job *job, group at, int joint, int parent) {
    quat rotation = lanes_load_joint_quat(&job->world_rotations, at, joint), to_parent = quat_identity();
    vec3 position = lanes_load_joint_vec3(&job->positions, at, joint);
    real poison = quat_poison(rotation), away = vec3_poison(position), above = real_splat(0);
    rotation = quat_unit(rotation);
    if (parent >= 0) {
        quat of_parent = lanes_load_joint_quat(&job->world_rotations, at, parent);
        vec3 from = lanes_load_joint_vec3(&job->positions, at, parent);
        above = quat_poison(of_parent);
        away = away + vec3_poison(from) + above;
        to_parent = quat_conjugate(quat_unit(of_parent));
        rotation = quat_polished(quat_multiply(to_parent, rotation));
        position = quat_rotate(to_parent, vec3_sub(position, from));
    }
    lanes_store_joint_quat(&job->rotations, at, joint, quat_written(rotation, poison + above));
    lanes_store_joint_vec3(&job->translations, at, joint, vec3_written(position, away));
}

/* Children come before parents, so the local pose may overwrite the world pose. */
static void local_rows(const ik_local_job *job, ptrdiff_t first, ptrdiff_t last) {
    const ik_skeleton *skeleton = job->skeleton;
    const int joints = skeleton->count;
    EACH_GROUP (at, first, last) {
        for (int place = joints - 1; place >= 0; place--) {
            int joint = skeleton->order[place];
            lanes_prefetch(&job->world_rotations, at, place, joints);
            lanes_prefetch(&job->positions, at, place, joints);
            lanes_prefetch(&job->rotations, at, place, joints);
            lanes_prefetch(&job->translations, at, place, joints);
            local_joint_of(job, at, joint, skeleton->parents[joint]);
        }
    }
}

#endif
