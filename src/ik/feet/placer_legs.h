/* The legs of characters, solved as blocks of two-bone limbs, and the output of a character. */

enum { BLOCK_LEGS = 32 };

/* Legs of some characters, relative to their origins: the problems of ik_two_bone, and its answers. */
typedef struct {
    double root[BLOCK_LEGS][3], mid[BLOCK_LEGS][3], end[BLOCK_LEGS][3], target[BLOCK_LEGS][3], hinge[BLOCK_LEGS][3],
        toe[BLOCK_LEGS][3], tilt[BLOCK_LEGS][4], root_delta[BLOCK_LEGS][4], mid_delta[BLOCK_LEGS][4],
        found[3][BLOCK_LEGS][3];
    int32_t status[BLOCK_LEGS];
} leg_block;

static void write_numbers(const ik_rows *rows, ptrdiff_t item, int narrow, const double *numbers, int count) {
    if (!rows->data) return;
    char *at = (char *)rows->data + item * rows->stride;
    const ptrdiff_t step = ik_step(rows, narrow ? sizeof(float) : sizeof(double));
    for (int i = 0; i < count; i++, at += step)
        if (narrow)
            *(float *)at = (float)numbers[i];
        else
            *(double *)at = numbers[i];
}

static void write_leg(const ik_lists *lists, ptrdiff_t item, int k, int narrow, const double *numbers, int count) {
    const ik_rows rows = of_leg(lists, k);
    write_numbers(&rows, item, narrow, numbers, count);
}

/* The problem of a leg; of an unusable character any that can be solved. */
static void pose_leg(const placing *p, const ik_feet_job *job, ptrdiff_t item, int k, int narrow, leg_block *b,
                     int row) {
    static const double some[3][3] = {{0, 1, 0}, {0, 0.5, 0.1}, {0, 0, 0}};
    const leg_frame *leg = &p->c.leg[k];
    memcpy(b->root[row], some[0], sizeof some[0]), memcpy(b->mid[row], some[1], sizeof some[1]);
    memcpy(b->end[row], some[2], sizeof some[2]), memcpy(b->target[row], some[2], sizeof some[2]);
    memset(b->hinge[row], 0, sizeof b->hinge[row]);
    if (p->c.unusable) return;
    const vec3 lift = vec3_scale(p->body->shown - p->c.floor, p->c.up), from = vec3_sub(lift, p->c.origin);
    memcpy(b->tilt[row], p->foot[k].tilt, sizeof b->tilt[row]);
    vec3_to(vec3_add(leg->hip, from), b->root[row]);
    vec3_to(vec3_add(leg->knee, from), b->mid[row]);
    vec3_to(vec3_add(leg->end, from), b->end[row]);
    vec3_to(vec3_sub(p->foot[k].ankle, p->c.origin), b->target[row]);
    vec3_to(vec3_sub(p->foot[k].toe, p->c.origin), b->toe[row]);
    if (job->hinge.rows.data) vec3_to(vec3_of_leg(&job->hinge, item, k, narrow), b->hinge[row]);
}

static void solve_legs(leg_block *b, int count, int has_hinge) {
    enum { THREE = 3 * sizeof(double), FOUR = 4 * sizeof(double) };
    ik_two_bone_job job = {{b->root, THREE}, {b->mid, THREE}, {b->end, THREE}, {b->target, THREE}};
    if (has_hinge) job.hinge = (ik_rows){b->hinge, THREE};
    job.root_delta = (ik_rows){b->root_delta, FOUR}, job.mid_delta = (ik_rows){b->mid_delta, FOUR};
    for (int i = 0; i < 3; i++)
        job.positions[i] = (ik_rows){b->found[i], THREE};
    job.status = (ik_rows){b->status, sizeof *b->status};
    ik_two_bone_f64(&job, count);
}

/* Rotation of the foot from its pose after both deltas to its tilt. */
static quat foot_turn(const double *root, const double *mid, const double *tilt) {
    const quat bent = quat_multiply(quat_from(root), quat_from(mid));
    return quat_canonical(quat_multiply(quat_conjugate(bent), quat_from(tilt)));
}

/* The pose of an unusable character stays as it came. */
static void keep_leg(const ik_feet_job *job, ptrdiff_t item, int k, int narrow, leg_block *b, int row) {
    const ik_lists *given[4] = {&job->hip, &job->knee, &job->ankle, &job->toe};
    double *kept[4] = {b->found[0][row], b->found[1][row], b->found[2][row], b->toe[row]};
    for (int i = 0; i < 4; i++)
        vec3_to(vec3_of_leg(given[i], item, k, narrow), kept[i]);
    for (int i = 0; i < 4; i++)
        b->root_delta[row][i] = b->mid_delta[row][i] = b->tilt[row][i] = i == 0;
}

static void write_character(const placing *p, const ik_feet_job *job, ptrdiff_t item, int narrow, leg_block *b,
                            int row) {
    double pelvis[3] = {0, 0, 0}, lean[4] = {1, 0, 0, 0}, foot[4];
    if (!p->c.unusable) {
        vec3_to(vec3_scale(p->body->shown - p->c.floor, p->c.up), pelvis);
        quat_to(lean_of(p), lean);
    }
    write_numbers(&job->pelvis, item, narrow, pelvis, 3);
    write_numbers(&job->lean, item, narrow, lean, 4);
    for (int k = 0; k < p->c.legs; k++, row++) {
        if (p->c.unusable) keep_leg(job, item, k, narrow, b, row);
        quat_to(foot_turn(b->root_delta[row], b->mid_delta[row], b->tilt[row]), foot);
        write_leg(&job->root_delta, item, k, narrow, b->root_delta[row], 4);
        write_leg(&job->mid_delta, item, k, narrow, b->mid_delta[row], 4);
        write_leg(&job->foot_delta, item, k, narrow, foot, 4);
        write_leg(&job->hip_out, item, k, narrow, b->found[0][row], 3);
        write_leg(&job->knee_out, item, k, narrow, b->found[1][row], 3);
        write_leg(&job->ankle_out, item, k, narrow, b->found[2][row], 3);
        write_leg(&job->toe_out, item, k, narrow, b->toe[row], 3);
        const ik_rows planted = of_leg(&job->planted, k), status = of_leg(&job->status, k);
        if (planted.data) *((char *)planted.data + item * planted.stride) = foot_of(job, item, k)->planted > 0;
        if (status.data)
            *(int32_t *)((char *)status.data + item * status.stride) = p->c.unusable ? p->c.unusable : b->status[row];
    }
}
