/* What a foot turns about while it stands, and where its sole is (phases.h). */
#include "phases.h"

#include <math.h>
#include <string.h>

static double number_at(const ik_rows *rows, ptrdiff_t frame, int column) {
    return *(const double *)((const char *)rows->data + frame * rows->stride + column * rows->step);
}

/* The frame of the contact that a frame of the stance is as. */
static ptrdiff_t seen(const ik_phases_job *job, ptrdiff_t frame) {
    return frame < job->contact ? job->contact : frame < job->end ? frame : job->end - 1;
}

/* How high a point is above where it stands. */
static double above(const ik_foot *foot, int point, ptrdiff_t frame) {
    return number_at(&foot->soles[point], frame, foot->axis) - number_at(&foot->stood[point], frame, 0);
}

static int is_on_ball(const ik_phases_job *job, ptrdiff_t frame) {
    const ik_foot *foot = job->foot;
    if (job->heel < 0 || (job->ball_on && job->ball_on[frame])) return 1;
    return job->ball_on && job->heel_on && above(foot, foot->ball, frame) < above(foot, job->heel, frame);
}

/* Where something is along an axis; of a clip on the spot, had it gone its way. */
static double gone(const ik_foot *foot, const ik_rows *rows, ptrdiff_t frame, int axis) {
    const double at = number_at(rows, frame, axis);
    return foot->way.data ? at + number_at(&foot->way, frame, axis) : at;
}

/* How far apart a point is over the ground in two frames. */
static double apart(const ik_foot *foot, int point, ptrdiff_t a, ptrdiff_t b) {
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        if (axis == foot->axis) continue;
        const double way = gone(foot, &foot->soles[point], b, axis) - gone(foot, &foot->soles[point], a, axis);
        sum += way * way;
    }
    return sqrt(sum);
}

/* The last frame of a phase in which the heel is down; its first one if it never is. */
static ptrdiff_t heel_down(const ik_phases_job *job, const ik_phase *last) {
    ptrdiff_t there = last->stop - 1;
    while (there > last->start && !(job->heel_on && job->heel_on[seen(job, there)]))
        there--;
    return there;
}

/* The frame from which the ball moves away until the end of its phase while the toes stay; else the end. A foot whose
 * heel is down does not roll. */
static ptrdiff_t leaves(const ik_phases_job *job, const ik_phase *last) {
    const ik_foot *foot = job->foot;
    const ptrdiff_t half = last->start + (last->stop - last->start) / 2, flat = heel_down(job, last);
    const ptrdiff_t middle = flat > half ? flat : half;
    ptrdiff_t there = last->stop - 1;
    while (there > middle && !(apart(foot, foot->ball, middle, there) <= job->rolls))
        there--;
    const double moves = apart(foot, foot->ball, there, last->stop - 1);
    return apart(foot, foot->toe, there, last->stop - 1) < job->stays * moves ? there + 1 : last->stop;
}

static void find_phases(ik_phases_job *job) {
    const ik_foot *foot = job->foot;
    job->phases = 0;
    for (ptrdiff_t frame = job->start; frame < job->stop; frame++) {
        const int point = is_on_ball(job, seen(job, frame)) ? foot->ball : job->heel;
        if (!job->phases || job->phase[job->phases - 1].point != point)
            job->phase[job->phases++] = (ik_phase){point, frame, frame};
        job->phase[job->phases - 1].stop = frame + 1;
    }
    ik_phase *last = &job->phase[job->phases - 1];
    if (last->point != foot->ball || foot->toe < 0) return;
    const ptrdiff_t stop = last->stop;
    last->stop = leaves(job, last);
    if (last->stop < stop) job->phase[job->phases++] = (ik_phase){foot->toe, last->stop, stop};
}

/* Whether one phase counts rather than another. */
static int counts_more(const ik_foot *foot, const ik_phase *a, const ik_phase *b) {
    const int on_ball = a->point == foot->ball, other = b->point == foot->ball;
    return on_ball != other ? on_ball : a->stop - a->start > b->stop - b->start;
}

static void find_flat(ik_phases_job *job) {
    const ik_phase *main = &job->phase[job->main];
    job->flats = 0;
    for (ptrdiff_t frame = job->start; frame < job->stop; frame++) {
        const ptrdiff_t at = seen(job, frame);
        if (job->heel_on && job->ball_on && job->heel_on[at] && job->ball_on[at]) job->flat[job->flats++] = frame;
    }
    if (job->flats) return;
    for (ptrdiff_t frame = main->start; frame < main->stop; frame++)
        job->flat[job->flats++] = frame;
}

void ik_phases(ik_phases_job *job) {
    find_phases(job);
    job->main = 0;
    for (int k = 1; k < job->phases; k++)
        if (counts_more(job->foot, &job->phase[k], &job->phase[job->main])) job->main = k;
    find_flat(job);
}

void ik_exact(const ik_foot *foot, int heel, const unsigned char *ball_on, double least, unsigned char *exact) {
    const int points[] = {heel, foot->ball < 0 ? -1 : foot->under[foot->ball], foot->toe};
    memset(exact, foot->frames == 1 && foot->locked, (size_t)foot->frames); /* a pose that is all there is stays */
    for (int which = 0; which < 3; which++) {
        if (points[which] < 0 || !foot->locked) continue;
        for (ptrdiff_t frame = 1; frame < foot->frames; frame++)
            if (!(which == 0 && ball_on && ball_on[frame]) && apart(foot, points[which], frame - 1, frame) <= least)
                exact[frame - 1] = exact[frame] = 1;
    }
}

double ik_strayed(const ik_foot *foot, ptrdiff_t start, ptrdiff_t stop) {
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        double least = INFINITY, most = -INFINITY;
        if (axis == foot->axis) continue;
        for (ptrdiff_t frame = start; frame < stop; frame++) {
            const double at = gone(foot, &foot->reference, frame, axis);
            if (at < least) least = at;
            if (at > most) most = at;
        }
        sum += (most - least) * (most - least);
    }
    return sqrt(sum);
}

/* The mean of a point, added frame after frame; less that of another one where there is one. */
static double mean_of(const ik_tread_job *job, const ik_rows *rows, const ik_rows *less, int axis) {
    double sum = 0;
    for (ptrdiff_t k = 0; k < job->flats; k++) {
        double at = number_at(rows, job->flat[k], axis);
        if (less) at -= number_at(less, job->flat[k], axis);
        sum = k ? sum + at : at;
    }
    return sum / (double)job->flats;
}

static void find_ahead(ik_tread_job *job) {
    const ik_foot *foot = job->foot;
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        job->ahead[axis] = axis == foot->axis ? 0 : mean_of(job, &foot->front, &foot->back, axis);
        sum += job->ahead[axis] * job->ahead[axis];
    }
    for (int axis = 0; axis < 3; axis++)
        job->ahead[axis] /= sum > 0 ? sqrt(sum) : 1;
}

void ik_tread(ik_tread_job *job) {
    const ik_foot *foot = job->foot;
    double (*to)[3] = job->points + foot->points;
    for (int point = 0; point < foot->points; point++)
        for (int axis = 0; axis < 3; axis++)
            job->points[point][axis] = axis == foot->axis
                                           ? number_at(&foot->stood[point], job->middle, 0) - foot->thick[point]
                                           : mean_of(job, &foot->soles[point], NULL, axis) + job->slip[axis];
    for (int line = 0; line < job->lines; line++)
        for (int part = 1; part < job->parts; part++, to++)
            for (int axis = 0; axis < 3; axis++) {
                const double first = job->points[job->line[line][0]][axis],
                             last = job->points[job->line[line][1]][axis];
                (*to)[axis] = first + (last - first) * ((double)part / job->parts);
            }
    if (foot->front.data && foot->back.data) find_ahead(job);
}
