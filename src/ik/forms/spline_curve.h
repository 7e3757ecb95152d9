/* The curve of a spline job, and measures of curve and chain that are needed before joints are placed (spline.h). */

enum { SPLINE_STEPS = 16, SPLINE_ROUNDS = 40 };

/* A cubic piece of the curve, ((a t + b) t + c) t + d, and the tilt at its ends. */
typedef struct {
    vec3 a, b, c, d;
    real tilts[2];
} spline_piece;

/* Measures of an item before its joints are placed. */
typedef struct {
    vec3 from;          /* the first input point of the curve */
    vec3 root;          /* final position of the root, in the world */
    real scale, size;   /* of chain and curve, scaled */
    vec3 end, along;    /* the curve's end, and its direction there */
    vec3 chain;         /* direction of the chain, root to tip, for a curve without one */
    real length, total; /* length of the chain; sum of the shares */
    real until_last;    /* length of the chain up to its last bone */
    real curve;         /* length of the curve, if there are shares */
    real poison;
    ptrdiff_t steps; /* of the whole curve */
} spline_plan;

/* --- the curve ---------------------------------------------------------------------------------------------------- */

ik_inline vec3 spline_control(const ik_spline_job *job, const spline_plan *plan, group at, ptrdiff_t k) {
    ik_rows row = lanes_list_row(&job->curve, k);
    return vec3_scale(plan->scale, vec3_sub(lanes_load_vec3(&row, at), plan->from));
}

/* Entry k of a list: the last one if the list is shorter, 0 if it is empty. */
ik_inline real spline_number(const ik_lists *list, group at, ptrdiff_t k) {
    if (!list->count) return real_splat(0);
    ik_rows row = lanes_list_row(list, k < list->count ? k : list->count - 1);
    return lanes_load_real(&row, at);
}

ik_inline spline_piece spline_piece_at(const ik_spline_job *job, const spline_plan *plan, group at, ptrdiff_t k) {
    const real three = real_splat(3);
    vec3 p[4];
    for (int i = 0; i < 4; i++)
        p[i] = spline_control(job, plan, at, 3 * k + i);
    vec3 c = vec3_scale(three, vec3_sub(p[1], p[0])), b = vec3_sub(vec3_scale(three, vec3_sub(p[2], p[1])), c);
    vec3 a = vec3_sub(vec3_sub(vec3_sub(p[3], p[0]), c), b);
    return (spline_piece){a, b, c, p[0], {spline_number(&job->tilts, at, k), spline_number(&job->tilts, at, k + 1)}};
}

ik_inline spline_piece spline_piece_select(mask choose, const spline_piece *a, const spline_piece *b) {
    return (spline_piece){
        vec3_select(choose, a->a, b->a),
        vec3_select(choose, a->b, b->b),
        vec3_select(choose, a->c, b->c),
        vec3_select(choose, a->d, b->d),
        {real_select(choose, a->tilts[0], b->tilts[0]), real_select(choose, a->tilts[1], b->tilts[1])}};
}

ik_inline vec3 spline_point(const spline_piece *p, real t) {
    vec3 sum = vec3_add(vec3_scale(t, p->a), p->b);
    return vec3_add(vec3_scale(t, vec3_add(vec3_scale(t, sum), p->c)), p->d);
}

/* Derivative by the parameter. */
ik_inline vec3 spline_slope(const spline_piece *p, real t) {
    vec3 sum = vec3_add(vec3_scale(real_splat(3) * t, p->a), vec3_add(p->b, p->b));
    return vec3_add(vec3_scale(t, sum), p->c);
}

/* Arc length of the curve between two parameters. */
ik_inline real spline_length(const spline_piece *p, real from, real to) {
    const real node = real_splat((number)0.774596669241483377), half = real_splat(0.5f) * (to - from);
    real middle = from + half, off = node * half;
    real sides = vec3_length(spline_slope(p, middle - off)) + vec3_length(spline_slope(p, middle + off));
    return half *
           (real_splat((number)(5. / 9)) * sides + real_splat((number)(8. / 9)) * vec3_length(spline_slope(p, middle)));
}

/* --- survey ------------------------------------------------------------------------------------------------------- */

ik_inline vec3 spline_joint(const ik_spline_job *job, group at, ptrdiff_t k) {
    ik_rows row = lanes_list_row(&job->joints, k);
    return lanes_load_vec3(&row, at);
}

/* Input vector from joint k to the next, scaled. */
ik_inline vec3 spline_bone(const ik_spline_job *job, const spline_plan *plan, group at, ptrdiff_t k) {
    return vec3_scale(plan->scale, vec3_sub(spline_joint(job, at, k + 1), spline_joint(job, at, k)));
}

ik_inline real spline_share(const ik_spline_job *job, group at, ptrdiff_t k) {
    real share = spline_number(&job->shares, at, k);
    return real_max(share, real_splat(0)) + real_poison(share);
}

ik_inline vec3 spline_option(const ik_rows *rows, group at, real *poison) {
    if (!rows->data) return vec3_splat(0, 0, 0);
    vec3 given = lanes_load_vec3(rows, at);
    *poison = *poison + vec3_poison(given);
    return given;
}

/* Final position of the root. */
ik_inline vec3 spline_root(const ik_spline_job *job, const spline_plan *plan, group at, vec3 root, real *poison) {
    const real zero = real_splat(0), one = real_splat(1);
    real weight = lanes_load_option(&job->root_weight, at, 1);
    vec3 way = vec3_sub(plan->from, root);
    *poison = *poison + real_poison(weight) + vec3_poison(way);
    weight = real_min(real_max(weight, zero), one);
    vec3 there = vec3_add(root, vec3_scale(weight, way));
    return vec3_select(mask_less(weight, one), there, plan->from);
}

/* Measures the chain and the curve, and chooses the scale. */
ik_inline spline_plan spline_survey(const ik_spline_job *job, group at) {
    const ptrdiff_t points = (job->curve.count - 1) / 3 * 3 + 1;
    const ik_lists *tilts = &job->tilts;
    real size = real_splat(0), poison = size;
    spline_plan plan = {.scale = real_splat(1), .length = size, .total = size, .until_last = size, .curve = size};
    plan.steps = (points - 1) / 3 * SPLINE_STEPS;
    plan.from = vec3_splat(0, 0, 0);
    plan.from = spline_control(job, &plan, at, 0);
    for (ptrdiff_t k = 0; k < points; k++) {
        vec3 point = spline_control(job, &plan, at, k);
        size = real_max(size, vec3_size(point));
        poison = poison + vec3_poison(point);
    }
    for (ptrdiff_t k = 0; k < tilts->count; k++)
        poison = poison + real_poison(spline_number(tilts, at, k));
    vec3 root = spline_joint(job, at, 0);
    for (ptrdiff_t k = 0; k < job->joints.count; k++) {
        vec3 way = vec3_sub(spline_joint(job, at, k), root);
        size = real_max(size, vec3_size(way));
        poison = poison + vec3_poison(way);
        if (k + 1 < job->joints.count) plan.total = plan.total + spline_share(job, at, k);
    }
    plan.root = spline_root(job, &plan, at, root, &poison);
    plan.scale = real_unit_scale(size);
    plan.size = plan.scale * size;
    plan.poison = poison + real_poison(plan.total);

    for (ptrdiff_t k = 0; k + 1 < job->joints.count; k++) {
        plan.until_last = plan.length;
        plan.length = plan.length + vec3_length(spline_bone(job, &plan, at, k));
    }
    plan.chain = vec3_splat(1, 0, 0);
    for (ptrdiff_t k = 1; k < job->joints.count; k++) {
        direction way = vec3_direction(vec3_scale(plan.scale, vec3_sub(spline_joint(job, at, k), root)));
        plan.chain = vec3_select(mask_less(real_splat(TINY_LENGTH), way.length), way.unit, plan.chain);
    }
    plan.end = spline_control(job, &plan, at, points - 1);
    plan.along = plan.chain;
    for (ptrdiff_t k = 0; k + 1 < points; k++) { /* the last point that differs from the end */
        direction way = vec3_direction(vec3_sub(plan.end, spline_control(job, &plan, at, k)));
        plan.along = vec3_select(mask_less(real_splat(TINY_LENGTH), way.length), way.unit, plan.along);
    }
    spline_piece piece = spline_piece_at(job, &plan, at, 0);
    for (ptrdiff_t step = 0; job->shares.count && step < plan.steps; step++) {
        if (step % SPLINE_STEPS == 0) piece = spline_piece_at(job, &plan, at, step / SPLINE_STEPS);
        const number first = (number)(step % SPLINE_STEPS) / SPLINE_STEPS;
        real from = real_splat(first), to = real_splat(first + (number)1 / SPLINE_STEPS);
        plan.curve = plan.curve + spline_length(&piece, from, to);
    }
    return plan;
}
