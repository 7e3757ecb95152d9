/* The pelvis and the lean of the body: they follow the supports of the feet by springs. */

/* The toe and the ankle on their support, in world space; the rotation of the sole. */
static void goal_of(placing *p, int k, const ik_foot_state *foot) {
    const leg_frame *leg = &p->c.leg[k];
    foot_frame *goal = &p->foot[k];
    const vec3 up = p->c.up, plan = vec3_of(foot->plan + 1), residual = vec3_of(foot->residual + 1);
    const double above = vec3_dot(leg->toe, up) - p->c.floor;
    const quat tilt = tilt_of(up, vec3_add(plan, residual));
    quat_to(tilt, goal->tilt);
    goal->toe = vec3_along(goal->toe, up, above + foot->plan[0] + foot->residual[0]);
    goal->ankle = vec3_add(goal->toe, quat_rotate(tilt, vec3_sub(leg->ankle, leg->toe)));
}

/* The highest support of the pelvis with which a leg reaches the goal of its foot. */
static double reach_of(const placing *p, int k) {
    const leg_frame *leg = &p->c.leg[k];
    const vec3 ankle = p->foot[k].ankle, up = p->c.up, apart = vec3_flat(vec3_sub(ankle, leg->hip), up);
    const double most = longest_leg(&p->c, k);
    const double rise = sqrt(real_max(most * most - vec3_dot(apart, apart), 0));
    return vec3_dot(ankle, up) + rise - (vec3_dot(leg->hip, up) - p->c.floor);
}

/* Between the lowest support and the mean of all, as far as legs have room. */
static double pelvis_target(placing *p, const ik_feet_job *job, ptrdiff_t item, double *reach) {
    double lowest = DBL_MAX, sum = 0;
    int count = 0;
    *reach = DBL_MAX;
    for (int k = 0; k < p->c.legs; k++) {
        const ik_foot_state *foot = foot_of(job, item, k);
        if (p->foot[k].is_free) continue;
        goal_of(p, k, foot);
        *reach = real_min(*reach, reach_of(p, k));
        lowest = real_min(lowest, p->foot[k].support);
        sum += p->foot[k].support, count++;
    }
    if (!count) return p->c.floor;
    const double more = sum / count - lowest, room = *reach - lowest;
    if (!(more > 0)) return real_min(lowest, *reach);
    return room > 0 ? lowest + more * room / (more + room) : *reach;
}

static void settle_pelvis(placing *p, const ik_feet_job *job, ptrdiff_t item) {
    const ik_foot_settings *set = p->c.settings;
    ik_body_state *body = p->body;
    double reach;
    const double target = pelvis_target(p, job, item, &reach), most = set->pelvis_max_offset * p->c.leg[0].scale;
    const double bounded = clamped(target, p->c.floor - most, p->c.floor + most);
    if (p->c.starts) body->support = body->support_target = bounded;
    spring_follow(p->c.springs.pelvis, &body->support, &body->support_speed, body->support_target, bounded);
    body->support_target = bounded;
    const double drop = real_max(body->support - reach, 0);
    if (p->c.starts) body->drop = body->drop_target = drop;
    spring_follow(p->c.springs.swing, &body->drop, &body->drop_speed, body->drop_target, drop);
    body->drop_target = drop;
    body->shown = body->support - body->drop;
    for (int k = 0; k < p->c.legs; k++) {
        if (!p->foot[k].is_free) continue;
        keep_plan(foot_of(job, item, k), body->shown, (vec3){0, 0, 0});
        goal_of(p, k, foot_of(job, item, k));
    }
}

/* The gradient of the ground under the feet. */
static void settle_slope(placing *p, const ik_feet_job *job, ptrdiff_t item) {
    vec3 mean = {0, 0, 0};
    int count = 0;
    for (int k = 0; k < p->c.legs; k++)
        if (!p->foot[k].is_free) mean = vec3_add(mean, vec3_of(foot_of(job, item, k)->plan + 1)), count++;
    if (count) mean = vec3_scale(1.0 / count, mean);
    double target[3];
    vec3_to(mean, target);
    const spring s = p->c.springs.lean;
    for (int i = 0; i < 3; i++) {
        ik_body_state *body = p->body;
        if (p->c.starts)
            body->slope[i] = target[i], body->slope_speed[i] = 0;
        else
            spring_follow(s, &body->slope[i], &body->slope_speed[i], body->slope_target[i], target[i]);
        body->slope_target[i] = target[i];
    }
}

static quat lean_of(const placing *p) {
    const ik_foot_settings *set = p->c.settings;
    const double climb = vec3_dot(vec3_of(p->body->slope), p->c.ahead);
    const double lean = p->c.travel * climb * (climb > 0 ? set->lean_uphill : set->lean_downhill);
    return tilt_of(p->c.up, vec3_scale(-lean, p->c.ahead));
}
