/* What a foot turns about while it stands, and where its sole is (phases.h). */
#include "ik.h"
#ifndef IK_NO_CLIPS
#include "phases.h"
#include "three.h"

#include <math.h>
#include <string.h>

static double number_at(const ik_rows *rows, ptrdiff_t frame, int column) {
    return *(const double *)((const char *)rows->data + frame * rows->stride + column * ik_step(rows, sizeof(double)));
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

/* --- about a heel that is known otherwise than it was put ---------------------------------------------------------
 *
 * A foot that turns keeps some point of itself where it is. */

enum { STEPS = 3, ROWS = 2 * STEPS }; /* that a point of three coordinates stays through so many is no chance */

/* What of its matrix puts points of a foot along one axis of the world. */
static void row_of_turn(const ik_foot *foot, ptrdiff_t frame, int axis, double row[3]) {
    double q[4];
    for (int k = 0; k < 4; k++)
        q[k] = number_at(&foot->turning, frame, k);
    const int next = (axis + 1) % 3, last = (axis + 2) % 3;
    row[axis] = 1 - 2 * (q[1 + next] * q[1 + next] + q[1 + last] * q[1 + last]);
    row[next] = 2 * (q[1 + axis] * q[1 + next] - q[0] * q[1 + last]);
    row[last] = 2 * (q[1 + axis] * q[1 + last] + q[0] * q[1 + next]);
}

/* How a point that is so far from the heel goes on over the ground in the steps from a frame on: the heel, and what of
 * each coordinate is added to that. Returns whether one that is within `reach` may stay, but for `least`. */
static int find_steps(const ik_foot *foot, int heel, ptrdiff_t first, double reach, double least, double way[ROWS],
                      double turned[ROWS][3]) {
    for (int row = 0; row < ROWS; row++) {
        const ptrdiff_t frame = first + row / 2;
        const int axis = (foot->axis + 1 + row % 2) % 3;
        double before[3];
        row_of_turn(foot, frame, axis, before);
        row_of_turn(foot, frame + 1, axis, turned[row]);
        for (int k = 0; k < 3; k++)
            turned[row][k] -= before[k];
        way[row] = gone(foot, &foot->soles[heel], frame + 1, axis) - gone(foot, &foot->soles[heel], frame, axis);
        if (fabs(way[row]) > least + reach * three_size(turned[row])) return 0;
    }
    return 1;
}

/* The point that goes the least, beside the heel by as little as that allows: the least of |way + turned at|^2 and of
 * loose^2 |at|^2. */
static void find_still(const double way[ROWS], double turned[ROWS][3], double loose, double at[3]) {
    double m[3][4] = {{loose * loose, 0, 0, 0}, {0, loose * loose, 0, 0}, {0, 0, loose * loose, 0}};
    for (int row = 0; row < ROWS; row++)
        for (int a = 0; a < 3; a++) {
            for (int b = 0; b < 3; b++)
                m[a][b] += turned[row][a] * turned[row][b];
            m[a][3] -= turned[row][a] * way[row];
        }
    for (int a = 0; a < 3; a++)
        for (int below = a + 1; below < 3; below++)
            for (int b = 3; b >= a; b--)
                m[below][b] -= m[a][b] * (m[below][a] / m[a][a]);
    for (int a = 2; a >= 0; a--) {
        at[a] = m[a][3];
        for (int b = a + 1; b < 3; b++)
            at[a] -= m[a][b] * at[b];
        at[a] /= m[a][a];
    }
}

/* Whether a foot turns, in some steps from a frame on, about a point that is nearer to its heel than to its ball. */
static int turns_at_heel(const ik_foot *foot, int heel, double half, double least, ptrdiff_t first) {
    double way[ROWS], turned[ROWS][3], at[3];
    if (!find_steps(foot, heel, first, half, least, way, turned)) return 0;
    find_still(way, turned, least / half, at);
    for (int row = 0; row < ROWS; row += 2) {
        const double a = way[row] + three_dot(turned[row], at), b = way[row + 1] + three_dot(turned[row + 1], at);
        if (!(sqrt(a * a + b * b) <= least)) return 0;
    }
    return three_size(at) <= half;
}

static void find_heel(const ik_foot *foot, int heel, const unsigned char *ball_on, double least, unsigned char *exact) {
    if (heel < 0 || foot->ball < 0 || !foot->turning.data || foot->on_toes[heel]) return;
    double apart_by[3];
    for (int axis = 0; axis < 3; axis++)
        apart_by[axis] = number_at(&foot->soles[heel], 0, axis) - number_at(&foot->soles[foot->ball], 0, axis);
    const double half = three_size(apart_by) / 2;
    for (ptrdiff_t first = 0; half > 0 && first + STEPS < foot->frames; first++) {
        const unsigned char *on = ball_on ? ball_on + first : NULL;
        if (on && (on[1] || on[2] || on[3])) continue;
        if (turns_at_heel(foot, heel, half, least, first)) memset(exact + first, 1, STEPS + 1);
    }
}

void ik_exact(const ik_foot *foot, int heel, const unsigned char *ball_on, double least, unsigned char *exact) {
    const int points[] = {heel, foot->ball < 0 ? -1 : foot->under[foot->ball], foot->toe};
    memset(exact, foot->frames == 1 && foot->locked, (size_t)foot->frames); /* a pose that is all there is stays */
    if (!foot->locked) return;
    for (int which = 0; which < 3; which++) {
        if (points[which] < 0) continue;
        for (ptrdiff_t frame = 1; frame < foot->frames; frame++)
            if (!(which == 0 && ball_on && ball_on[frame]) && apart(foot, points[which], frame - 1, frame) <= least)
                exact[frame - 1] = exact[frame] = 1;
    }
    find_heel(foot, heel, ball_on, least, exact);
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
#endif
