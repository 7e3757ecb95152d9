/* ik_limit_project, row by row: reads limits from numbers and projects rotations onto them. */

ik_inline number row_number(const ik_rows *rows, ptrdiff_t item, int column) {
    return *(const number *)((const char *)rows->data + item * rows->stride + column * lanes_step(rows));
}

/* An integer below count; any other value counts as 0. */
ik_inline int row_choice(const ik_rows *rows, ptrdiff_t item, int column, int count) {
    number x = row_number(rows, item, column);
    while (--count > 0 && x != (number)count) {
    }
    return count;
}

static ik_limit limit_load(const ik_limit_project_job *job, ptrdiff_t item) {
    ik_limit l = {.kind = (enum ik_limit_kind)row_choice(&job->kind, item, 0, IK_KUSUDAMA + 1)};
    for (int i = 0; i < 4; i++) {
        l.frame[i] = row_number(&job->frame, item, i);
        l.swing[i] = row_number(&job->swing, item, i);
    }
    for (int i = 0; i < 2; i++)
        l.twist[i] = row_number(&job->twist, item, i);
    for (int i = 0; i < 3; i++) {
        l.axes[i] = row_choice(&job->axes, item, i, 3);
        l.angles[i][0] = row_number(&job->lowest, item, i);
        l.angles[i][1] = row_number(&job->highest, item, i);
    }
    l.cones = job->cones.count < IK_CONES ? (int)job->cones.count : IK_CONES;
    return l;
}

static void limit_load_cones(const ik_limit_project_job *job, ptrdiff_t item, ik_cone *cones) {
    for (int k = 0; k < IK_CONES && k < job->cones.count; k++) {
        ik_rows cone = lanes_list_row(&job->cones, k);
        for (int i = 0; i < 3; i++)
            cones[k].axis[i] = row_number(&cone, item, i);
        cones[k].angle = row_number(&cone, item, 3);
    }
}

/* End of the run of items from `first`, at most `last`, that share one row of limits: all items, or one. */
static ptrdiff_t limit_shared(const ik_limit_project_job *job, ptrdiff_t first, ptrdiff_t last) {
    ptrdiff_t strides = job->kind.stride | job->frame.stride | job->twist.stride | job->swing.stride |
                        job->axes.stride | job->lowest.stride | job->highest.stride | job->cones.rows.stride;
    return strides ? first + 1 : last;
}

static void limit_project_rows(const ik_limit_project_job *job, ptrdiff_t first, ptrdiff_t last) {
    for (ptrdiff_t next; first < last; first = next) {
        next = limit_shared(job, first, last);
        ik_limit given = limit_load(job, first);
        limit ready;
        ik_cone cones[IK_CONES];
        limit_cone cones_ready[IK_CONES];
        limit_load_cones(job, first, cones);
        IK_NAME(limit_prepare)(&ready, &given, cones, cones_ready);
        EACH_GROUP (at, first, next) {
            quat q = lanes_load_quat(&job->q, at), unit = quat_unit(q);
            real poison = quat_poison(q);
            quat projected = IK_NAME(limit_project)(&ready, unit);
            lanes_store_quat(&job->projected, at, quat_written(projected, poison));
            lanes_store_real(&job->violation, at, real_written(limit_violation(unit, projected), poison));
        }
    }
}
