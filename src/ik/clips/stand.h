/* Where a foot goes that stands (stances.h), one stance at a time: a real is a number here.
 *
 *   stand_turn_foot   to the slope, and back by what it turns on the spot without meaning to
 *   stand_lay_toes    toes lie as they do while the foot stands flat
 *   stand_rise_of     how high the point that it turns about is above its place
 *   stand_raise_heel  which is not in the ground then
 *   stand_put         phase by phase, from the main one outwards, how far it is moved */

static const double STAND_SOFT = 0.01; /* of the way from ball to heel: by what is less deep it is hardly raised */
static const double STAND_MEANT = 0.94,
                    STAND_FAR = 0.1; /* cosines: of what it turns that is meant to, and at its ends */

typedef struct {
    const ik_foot *foot;
    const ik_stance *stance;
    const ik_stood *found;
    double *rise;
    vec3 *ways;
} stand;

/* --- words -------------------------------------------------------------------------------------------------------- */

static double stand_number_at(const ik_rows *rows, ptrdiff_t frame, int column) {
    return *(const double *)((const char *)rows->data + frame * rows->stride + column * rows->step);
}

static vec3 stand_vector_at(const ik_rows *rows, ptrdiff_t frame) {
    return (vec3){stand_number_at(rows, frame, 0), stand_number_at(rows, frame, 1), stand_number_at(rows, frame, 2)};
}

static quat stand_quat_at(const ik_rows *rows, ptrdiff_t frame) {
    return (quat){stand_number_at(rows, frame, 0),
                  {stand_number_at(rows, frame, 1), stand_number_at(rows, frame, 2), stand_number_at(rows, frame, 3)}};
}

static vec3 stand_vector_of(const double *a) { return (vec3){a[0], a[1], a[2]}; }

static quat stand_quat_of(const double *q) { return (quat){q[0], {q[1], q[2], q[3]}}; }

static void stand_set_quat(double *to, quat q) { to[0] = q.w, to[1] = q.v.x, to[2] = q.v.y, to[3] = q.v.z; }

static void stand_set_vector(double *to, vec3 a) { to[0] = a.x, to[1] = a.y, to[2] = a.z; }

static double stand_height_of(const stand *s, vec3 a) {
    const double each[3] = {a.x, a.y, a.z};
    return each[s->foot->axis];
}

static vec3 stand_with_height(const stand *s, vec3 a, double height) {
    double each[3] = {a.x, a.y, a.z};
    each[s->foot->axis] = height;
    return stand_vector_of(each);
}

/* From 0 to 1 with no speed and no acceleration at either end. */
static double stand_eased(double share) { return share * share * share * (10 + share * (6 * share - 15)); }

/* What carries the points of a sole in a frame: the foot as it is moved and turned, and its toes. */
typedef struct {
    vec3 origin, place;
    quat turn, toes;
} stand_carrier;

static stand_carrier stand_foot_at(const stand *s, ptrdiff_t frame) {
    const vec3 origin = stand_vector_at(&s->foot->reference, frame), shift = stand_vector_of(s->found->shift[frame]);
    const quat turn = stand_quat_of(s->found->turn[frame]);
    const quat toes = bake_multiply(stand_quat_of(s->found->toes[frame]), turn);
    return (stand_carrier){origin, vec3_add(origin, shift), turn, toes};
}

static vec3 stand_point_of(const stand *s, const stand_carrier *put, int point, ptrdiff_t frame) {
    vec3 arm = vec3_sub(stand_vector_at(&s->foot->soles[point], frame), put->origin);
    if (s->foot->on_toes[point] || s->foot->turns)
        arm = bake_rotate(s->foot->on_toes[point] ? put->toes : put->turn, arm);
    return vec3_add(put->place, arm);
}

/* Where the foot puts a point of its sole in a frame. */
static vec3 stand_sole_at(const stand *s, int point, ptrdiff_t frame) {
    const stand_carrier put = stand_foot_at(s, frame);
    return stand_point_of(s, &put, point, frame);
}

/* How high a point is in the clip above where it stands. */
static double stand_above_at(const stand *s, int point, ptrdiff_t frame) {
    return stand_number_at(&s->foot->soles[point], frame, s->foot->axis) -
           stand_number_at(&s->foot->stood[point], frame, 0);
}

/* --- how it is turned --------------------------------------------------------------------------------------------- */

/* Where something points in a frame that points ahead in another one, as far as the foot turns about a normal between:
 * not as it rolls and bends, which depends on what points of it one looks at. */
static vec3 stand_pointing(const stand *s, vec3 ahead, vec3 normal, quat then, ptrdiff_t frame) {
    const quat turn = quat_multiply(stand_quat_at(&s->foot->turning, frame), quat_conjugate(then));
    const double w = turn.w, p = vec3_dot(turn.v, normal), both = w * w + p * p;
    if (!(both > 0)) return ahead;
    const vec3 aside = vec3_scale(2 * w * p / both, vec3_cross(normal, ahead));
    return vec3_add(vec3_scale((w * w - p * p) / both, ahead), aside);
}

/* Finds where the foot points in the plane of its floor, and where it should all the time. 0: it is to turn as it does,
 * as it is a point, turns far, or may. */
static int stand_find_ways(const stand *s, vec3 *wanted) {
    const ik_stance *stance = s->stance;
    const ptrdiff_t count = stance->stop - stance->start;
    const ptrdiff_t cut = s->foot->ends < count / 5 ? s->foot->ends : count / 5;
    const vec3 normal = stand_vector_of(stance->floor);
    double inner = INFINITY, least = INFINITY;
    if (!s->foot->front.data || !s->foot->back.data || !s->foot->turning.data || !s->foot->locked) return 0;
    const ptrdiff_t middle = stance->flat[stance->flats / 2];
    const quat then = stand_quat_at(&s->foot->turning, middle);
    vec3 ahead = vec3_sub(stand_vector_at(&s->foot->front, middle), stand_vector_at(&s->foot->back, middle));
    ahead = bake_unit(vec3_sub(ahead, vec3_scale(vec3_dot(ahead, normal), normal)));
    for (ptrdiff_t k = 0; k < count; k++)
        s->ways[k] = stand_pointing(s, ahead, normal, then, stance->start + k);
    vec3 sum = s->ways[stance->flat[0] - stance->start];
    for (ptrdiff_t k = 1; k < stance->flats; k++)
        sum = vec3_add(sum, s->ways[stance->flat[k] - stance->start]);
    const double flats = (double)stance->flats;
    *wanted = bake_unit((vec3){sum.x / flats, sum.y / flats, sum.z / flats});
    for (ptrdiff_t k = 0; k < count; k++) {
        const double along = vec3_dot(s->ways[k], *wanted);
        if (!(along >= least)) least = along;
        if (k >= cut && k < count - cut && !(along >= inner)) inner = along;
    }
    return !(inner < STAND_MEANT || least < STAND_FAR);
}

static void stand_turn_foot(const stand *s) {
    const quat tilt = bake_arc(stand_vector_of(s->stance->floor), stand_vector_of(s->stance->normal));
    vec3 wanted;
    const int turns = !s->stance->clean && stand_find_ways(s, &wanted);
    for (ptrdiff_t frame = s->stance->start; frame < s->stance->stop; frame++) {
        quat turn = tilt;
        if (turns) turn = bake_multiply(tilt, bake_arc(s->ways[frame - s->stance->start], wanted));
        stand_set_quat(s->found->turn[frame], turn);
    }
}

/* How toes are turned in the world with the foot. */
static quat stand_toes_at(const stand *s, ptrdiff_t frame) {
    return bake_multiply(stand_quat_of(s->found->turn[frame]), stand_quat_at(&s->foot->toe_turn, frame));
}

/* Whether a frame is among those in which it stands flat, less a quarter of them at either end. */
static int stand_is_flat(const ik_stance *stance, ptrdiff_t frame) {
    ptrdiff_t first = stance->flats / 4, last = stance->flats - stance->flats / 4;
    while (first < last) {
        const ptrdiff_t middle = first + (last - first) / 2;
        if (stance->flat[middle] == frame) return 1;
        if (stance->flat[middle] < frame)
            first = middle + 1;
        else
            last = middle;
    }
    return 0;
}

/* The mean of how toes are turned while the foot turns about its ball and is flat, or, if it never is, all the time.
 * Returns of how many frames that is. */
static ptrdiff_t stand_lain_of(const stand *s, int flat, quat *mean) {
    quat first = quat_identity(), sum = {0};
    ptrdiff_t count = 0;
    for (int k = 0; k < s->stance->phases; k++) {
        const ik_phase *phase = &s->stance->phase[k];
        if (phase->point != s->foot->ball) continue;
        for (ptrdiff_t frame = phase->start; frame < phase->stop; frame++) {
            if (flat && !stand_is_flat(s->stance, frame)) continue;
            quat turn = stand_toes_at(s, frame);
            if (!count) first = turn;
            if (quat_dot(turn, first) < 0) turn = quat_scale(-1, turn);
            sum = count ? (quat){sum.w + turn.w, vec3_add(sum.v, turn.v)} : turn;
            count++;
        }
    }
    const double by = (double)count;
    *mean = bake_normalize((quat){sum.w / by, {sum.v.x / by, sum.v.y / by, sum.v.z / by}});
    return count;
}

/* How toes are made to lie. 0: they are not. */
static int stand_find_lain(const stand *s, quat *lain) {
    if (!s->foot->toe_turn.data || !s->foot->locked || s->stance->clean) return 0;
    return stand_lain_of(s, 1, lain) || stand_lain_of(s, 0, lain);
}

/* As long as the foot turns about the ball; then they turn with it. */
static void stand_lay_toes(const stand *s, quat lain) {
    const ik_phase *last = &s->stance->phase[s->stance->phases - 1];
    for (int k = 0; k < s->stance->phases; k++) {
        const ik_phase *phase = &s->stance->phase[k];
        for (ptrdiff_t frame = phase->start; phase->point == s->foot->ball && frame < phase->stop; frame++) {
            stand_set_quat(s->found->toes[frame], bake_multiply(lain, bake_conjugate(stand_toes_at(s, frame))));
            s->found->lies[frame] = 1;
        }
    }
    for (ptrdiff_t frame = last->start; last->point == s->foot->toe && frame < last->stop; frame++) {
        memcpy(s->found->toes[frame], s->found->toes[last->start - 1], sizeof *s->found->toes);
        s->found->lies[frame] = 1;
    }
}

/* --- whether it stands still -------------------------------------------------------------------------------------- */

/* Where a point of the sole is, horizontally; of a clip on the spot had it gone its way. */
static vec3 stand_gone(const stand *s, int point, ptrdiff_t frame) {
    const vec3 at = stand_with_height(s, stand_vector_at(&s->foot->soles[point], frame), 0);
    if (!s->foot->way.data) return at;
    return vec3_add(at, stand_with_height(s, stand_vector_at(&s->foot->way, frame), 0));
}

/* The frame nearest to a phase of that next to it, nearer to the main one: the foot turns about both points between. */
static ptrdiff_t stand_beside(const ik_stance *stance, int number) {
    const ik_phase *phase = &stance->phase[number];
    return number < stance->main ? phase->stop : phase->start - 1;
}

/* The place of a point that is kept: its mean in the main phase, in others where it is in the frame beside. */
static vec3 stand_kept(const stand *s, int number) {
    const ik_phase *phase = &s->stance->phase[number];
    if (number != s->stance->main) return stand_gone(s, phase->point, stand_beside(s->stance, number));
    const ptrdiff_t cut = (phase->stop - phase->start) / 8;
    vec3 sum = stand_gone(s, phase->point, phase->start + cut);
    for (ptrdiff_t frame = phase->start + cut + 1; frame < phase->stop - cut; frame++)
        sum = vec3_add(sum, stand_gone(s, phase->point, frame));
    const double by = (double)(phase->stop - phase->start - 2 * cut);
    return (vec3){sum.x / by, sum.y / by, sum.z / by};
}

/* The lower of two; what is no number stays so. */
static double stand_lower(double a, double b) { return b < a || b != b ? b : a; }

/* How far what touches the ground in a phase slides from a frame on to another. */
static double stand_slid(const stand *s, int point, ptrdiff_t start, ptrdiff_t stop) {
    const vec3 first = stand_gone(s, s->foot->under[point], start);
    vec3 low = first, high = {-first.x, -first.y, -first.z};
    for (ptrdiff_t frame = start + 1; frame < stop; frame++) {
        const vec3 at = stand_gone(s, s->foot->under[point], frame);
        low = (vec3){stand_lower(low.x, at.x), stand_lower(low.y, at.y), stand_lower(low.z, at.z)};
        high = (vec3){stand_lower(high.x, -at.x), stand_lower(high.y, -at.y), stand_lower(high.z, -at.z)};
    }
    return vec3_length((vec3){-high.x - low.x, -high.y - low.y, -high.z - low.z});
}

/* How far a foot turns that should not. */
static double stand_spun(const stand *s, ptrdiff_t cut) {
    vec3 wanted, up = stand_vector_of(s->stance->floor);
    if (!stand_find_ways(s, &wanted)) return 0;
    const vec3 aside = vec3_cross(up, wanted);
    double low = INFINITY, high = INFINITY;
    for (ptrdiff_t k = cut; k < s->stance->stop - s->stance->start - cut; k++) {
        const double tangent = vec3_dot(s->ways[k], aside) / vec3_dot(s->ways[k], wanted);
        low = stand_lower(low, tangent), high = stand_lower(high, -tangent);
    }
    return -high - low;
}

/* Whether a foot turns about a point in its stance. */
static int stand_turns_about(const ik_stance *stance, int point) {
    for (int k = 0; k < stance->phases; k++)
        if (stance->phase[k].point == point) return 1;
    return 0;
}

/* How far the best of what it turns about is from where it stands. */
static double stand_off(const stand *s, ptrdiff_t frame) {
    double best = INFINITY;
    for (int point = 0; point < s->foot->points; point++)
        if (stand_turns_about(s->stance, point)) best = stand_lower(best, real_abs(stand_above_at(s, point, frame)));
    return best;
}

/* How high what it turns about is in the inside of the stance, and in the middle of where it is flat. */
static void stand_heights(const stand *s, ptrdiff_t cut, ik_stays *found) {
    double deepest = INFINITY, off = INFINITY;
    for (ptrdiff_t frame = s->stance->start + cut; frame < s->stance->stop - cut; frame++) {
        off = stand_lower(off, -stand_off(s, frame));
        for (int point = 0; point < s->foot->points; point++)
            if (stand_turns_about(s->stance, point)) deepest = stand_lower(deepest, stand_above_at(s, point, frame));
    }
    found->off = -off, found->sunk = -deepest;
    found->flat = stand_off(s, s->stance->flat[s->stance->flats / 2]);
}

ik_stays ik_stay(const ik_foot *foot, const ik_stance *stance, double (*slips)[3], void *scratch) {
    const ik_fpmode before = ik_fpmode_enter();
    const ptrdiff_t count = stance->stop - stance->start, cut = foot->ends < count / 5 ? foot->ends : count / 5;
    const stand s = {foot, stance, NULL, scratch, (vec3 *)((double *)scratch + count)};
    ik_stays found = {0};
    for (int number = 0; number < stance->phases; number++) {
        const ik_phase *phase = &stance->phase[number];
        const vec3 kept = stand_kept(&s, number);
        const ptrdiff_t first = stance->start + cut > phase->start ? stance->start + cut : phase->start;
        const ptrdiff_t last = stance->stop - cut < phase->stop ? stance->stop - cut : phase->stop;
        for (ptrdiff_t frame = phase->start; foot->locked && frame < phase->stop; frame++)
            stand_set_vector(slips[frame - stance->start], vec3_sub(kept, stand_gone(&s, phase->point, frame)));
        if (foot->locked && last > first) found.slid += stand_slid(&s, phase->point, first, last);
    }
    found.spun = stand_spun(&s, cut);
    stand_heights(&s, cut, &found);
    ik_fpmode_leave(before);
    return found;
}

/* --- where it is -------------------------------------------------------------------------------------------------- */

/* How much of its own height a foot has: all of it where it arrives and leaves, none while it is flat. */
static double stand_free_at(const stand *s, ptrdiff_t frame, double ramp) {
    const ik_stance *stance = s->stance;
    double free = 0;
    if (stance->start > 0)
        free = real_max(free, 1 - stand_eased(bake_share((double)(frame - stance->start + 1) / ramp)));
    if (stance->stop < s->foot->frames) {
        const double rises = real_max(ramp, (double)(stance->stop - 1 - stance->flat[stance->flats - 1]));
        free = real_max(free, 1 - bake_share((double)(stance->stop - frame) / rises));
    }
    return free;
}

/* Frames in which it arrives, and leaves: a third of the stance at most. */
static double stand_ramp_of(const stand *s) {
    const double third = (double)(s->stance->stop - s->stance->start) / 3;
    return third < s->foot->ramp ? third : s->foot->ramp;
}

/* 1 where a phase begins, and nothing when the foot has gone over to its point. */
static double stand_over_at(const ik_phase *phase, ptrdiff_t frame, double ramp) {
    return 1 - stand_eased(bake_share((double)(frame - phase->start) / ramp));
}

/* How high the point of a phase is in a frame by itself: as in the clip where the foot arrives and leaves, and where it
 * comes down from its heel. */
static double stand_own_at(const stand *s, int number, ptrdiff_t frame, double ramp) {
    const ik_phase *phase = &s->stance->phase[number];
    const double above = stand_above_at(s, phase->point, frame);
    double free = stand_free_at(s, frame, ramp);
    if (s->stance->clean) return above;
    if (number > 0 && number <= s->stance->main) free = real_max(free, stand_over_at(phase, frame, ramp));
    return real_max(above, 0) * free;
}

/* By itself; and as high as the point before has left it, less and less. */
static void stand_rise_of(const stand *s) {
    const ik_stance *stance = s->stance;
    const double ramp = stand_ramp_of(s);
    for (int k = 0; k < stance->phases; k++) {
        const ik_phase *phase = &stance->phase[k];
        double *rise = s->rise + (phase->start - stance->start);
        for (ptrdiff_t frame = phase->start; frame < phase->stop; frame++)
            rise[frame - phase->start] = stand_own_at(s, k, frame, ramp);
        if (stance->clean || k == 0) continue;
        const double there = stand_above_at(s, phase->point, phase->start);
        const double left = rise[-1] + there - stand_above_at(s, stance->phase[k - 1].point, phase->start);
        const double more = left - rise[0];
        for (ptrdiff_t frame = phase->start; frame < phase->stop; frame++)
            rise[frame - phase->start] += more * stand_over_at(phase, frame, ramp);
    }
}

/* From ball to heel. */
static vec3 stand_arm_at(const stand *s, ptrdiff_t frame) {
    return vec3_sub(stand_vector_at(&s->foot->soles[s->foot->heel], frame),
                    stand_vector_at(&s->foot->soles[s->foot->ball], frame));
}

/* Turns a foot about its ball, so that its heel is so much higher. */
static void stand_raise(const stand *s, ptrdiff_t frame, double more) {
    const vec3 up = stand_with_height(s, vec3_splat(0, 0, 0), 1), arm = stand_arm_at(s, frame);
    const quat raised = bake_arc(arm, vec3_add(arm, vec3_scale(more, up)));
    stand_set_quat(s->found->turn[frame], bake_multiply(stand_quat_of(s->found->turn[frame]), raised));
}

/* By how much the heel of a foot that stands on its ball is to be raised so that it is hardly in the ground: not where
 * the foot arrives, more and more for twice as long, nor where it leaves. */
static double stand_sunk_at(const stand *s, ptrdiff_t frame, double ramp) {
    const ik_stance *stance = s->stance;
    const double above = stand_above_at(s, s->foot->heel, frame) - stand_above_at(s, s->foot->ball, frame);
    const double deep = -(above + s->rise[frame - stance->start]);
    if (!(deep > 0)) return 0;
    const double since = stance->start > 0 ? (double)(frame - stance->start + 1) : INFINITY;
    const double soft = deep * deep / (deep + STAND_SOFT * vec3_length(stand_arm_at(s, frame)));
    return soft * stand_eased(bake_share(since / (2 * ramp))) * (1 - stand_free_at(s, frame, ramp));
}

/* Raises the heel while the foot stands on its ball, and less and less when it has gone over to its toes. Not in a
 * brief stay at an end of the clip, of which hardly anything is known. */
static void stand_raise_heel(const stand *s) {
    const ik_stance *stance = s->stance;
    const int at_end = stance->start == 0 || stance->stop == s->foot->frames;
    const double ramp = stand_ramp_of(s);
    double last = 0;
    if (at_end && (double)(stance->stop - stance->start) < 2 * s->foot->ramp) return;
    for (int k = 0; k < stance->phases; k++) {
        const ik_phase *phase = &stance->phase[k];
        const int on_ball = phase->point == s->foot->ball;
        const double left = phase->point == s->foot->heel ? 0 : last;
        for (ptrdiff_t frame = phase->start; frame < phase->stop; frame++) {
            const double gone = stand_eased(bake_share((double)(frame - phase->start + 1) / ramp));
            last = on_ball ? stand_sunk_at(s, frame, ramp) : left * (1 - gone);
            if (last > 0) stand_raise(s, frame, last);
        }
    }
}

/* What brings the point of a phase to where the phase next to it, nearer to the main one, has put it. */
static vec3 stand_joined(const stand *s, int number) {
    const int point = s->stance->phase[number].point;
    const ptrdiff_t frame = stand_beside(s->stance, number);
    const vec3 moved = vec3_sub(stand_sole_at(s, point, frame), stand_vector_at(&s->foot->soles[point], frame));
    return stand_with_height(s, vec3_sub(moved, stand_vector_of(s->stance->aside)), 0);
}

/* How much the height of the ground changes along each axis. */
static vec3 stand_slope_of(const stand *s) {
    const vec3 normal = stand_vector_of(s->stance->normal);
    const double upward = real_max(stand_height_of(s, normal), IK_STEEPEST);
    return stand_with_height(s, (vec3){-normal.x / upward, -normal.y / upward, -normal.z / upward}, 0);
}

/* How high the point of a phase stands at a place. */
static double stand_standing(const stand *s, int number, vec3 there) {
    const vec3 place = stand_vector_of(s->stance->place);
    const double high = s->stance->place[s->foot->axis] + s->stance->lift;
    return high + vec3_dot(vec3_sub(there, place), stand_slope_of(s)) + s->foot->thick[s->stance->phase[number].point];
}

/* A phase after the main one begins as high as the foot has put its point by then: toes that lie are not as high beside
 * the ball as they are in the clip. */
static void stand_go_on(const stand *s, int number) {
    const ik_phase *phase = &s->stance->phase[number];
    const vec3 there = stand_sole_at(s, phase->point, phase->start - 1);
    const double left = stand_height_of(s, there) - stand_standing(s, number, there), ramp = stand_ramp_of(s);
    double *own = s->rise + (phase->start - s->stance->start);
    const double more = left - own[0];
    for (ptrdiff_t frame = phase->start; frame < phase->stop; frame++)
        own[frame - phase->start] += more * stand_over_at(phase, frame, ramp);
}

static void stand_put(const stand *s, int number) {
    const ik_stance *stance = s->stance;
    const ik_phase *phase = &stance->phase[number];
    const vec3 aside = stand_vector_of(stance->aside);
    const vec3 more = number == stance->main ? vec3_splat(0, 0, 0) : stand_joined(s, number);
    for (ptrdiff_t frame = phase->start; frame < phase->stop; frame++) {
        const ptrdiff_t own = frame - stance->start;
        vec3 there = stand_with_height(s, stand_vector_at(&s->foot->soles[phase->point], frame), 0);
        there = vec3_add(vec3_add(vec3_add(there, stand_vector_of(stance->slips[own])), aside), more);
        there = stand_with_height(s, there, stand_standing(s, number, there) + s->rise[own]);
        memset(s->found->shift[frame], 0, sizeof *s->found->shift);
        stand_set_vector(s->found->shift[frame], vec3_sub(there, stand_sole_at(s, phase->point, frame)));
    }
}

size_t ik_stand_scratch(ptrdiff_t frames) { return (size_t)frames * (sizeof(double) + sizeof(vec3)); }

void ik_stand(const ik_foot *foot, const ik_stance *stance, const ik_stood *found, void *scratch) {
    const ik_fpmode before = ik_fpmode_enter();
    stand s = {foot, stance, found, scratch, (vec3 *)((double *)scratch + (stance->stop - stance->start))};
    quat lain;
    if (foot->turns) stand_turn_foot(&s);
    const int lies = stand_find_lain(&s, &lain);
    stand_rise_of(&s);
    if (foot->turns && foot->heel >= 0 && foot->ball >= 0 && !stance->clean) stand_raise_heel(&s);
    if (lies) stand_lay_toes(&s, lain);
    for (int number = stance->main; number < stance->phases; number++) {
        if (number > stance->main && !stance->clean) stand_go_on(&s, number);
        stand_put(&s, number);
    }
    for (int number = stance->main - 1; number >= 0; number--)
        stand_put(&s, number);
    ik_fpmode_leave(before);
}

void ik_soles(const ik_foot *foot, const ik_stood *found, const ptrdiff_t *frames, ptrdiff_t count, double (*places)[3],
              double *above) {
    const ik_fpmode before = ik_fpmode_enter();
    const stand s = {.foot = foot, .found = found};
    for (ptrdiff_t k = 0; k < count; k++) {
        const stand_carrier put = stand_foot_at(&s, frames[k]);
        for (int point = 0; point < foot->points; point++) {
            stand_set_vector(*places++, stand_point_of(&s, &put, point, frames[k]));
            *above++ = stand_above_at(&s, point, frames[k]);
        }
    }
    ik_fpmode_leave(before);
}

void ik_sole_height(const ik_foot *foot, double *above) {
    const stand s = {.foot = foot};
    for (ptrdiff_t frame = 0; frame < foot->frames; frame++) {
        double least = INFINITY;
        for (int point = 0; point < foot->points; point++)
            least = stand_lower(least, stand_above_at(&s, point, frame));
        above[frame] = least;
    }
}

void ik_standing(const ptrdiff_t (*stances)[2], ptrdiff_t count, ptrdiff_t frames, double ramp, double *stands) {
    double away = INFINITY;
    for (ptrdiff_t frame = 0; frame < frames; frame++)
        stands[frame] = INFINITY;
    for (ptrdiff_t k = 0; k < count; k++)
        for (ptrdiff_t frame = stances[k][0]; frame < stances[k][1]; frame++)
            stands[frame] = 0;
    for (ptrdiff_t frame = 0; frame < frames; frame++)
        stands[frame] = away = stands[frame] < away + 1 ? stands[frame] : away + 1;
    away = INFINITY;
    for (ptrdiff_t frame = frames - 1; frame >= 0; frame--) {
        away = stands[frame] < away + 1 ? stands[frame] : away + 1;
        stands[frame] = 1 - stand_eased(bake_share(away / ramp));
    }
}
