/* How legs move the body (body.h). */
#include "ik.h"
#ifndef IK_NO_CLIPS
#include "body.h"

#include <math.h>
#include <string.h>

#include "filters.h"

/* One number of the mean that is so weighed. */
static double mean_of(const ik_agree_job *job, const double *weights, ptrdiff_t at) {
    double sum = weights[0] * job->leg[0].wanted[at], all = weights[0];
    for (int leg = 1; leg < job->legs; leg++) {
        sum += weights[leg] * job->leg[leg].wanted[at];
        all += weights[leg];
    }
    return sum / all;
}

/* About how little a leg bends. */
static double lacks(const ik_agree_job *job, const ik_wish *leg, ptrdiff_t frame) {
    const double *hip = leg->hip[frame], *ankle = leg->ankle[frame];
    const double x = hip[0] - ankle[0], y = hip[1] - ankle[1], z = hip[2] - ankle[2];
    const double found = 1 - (x * x + y * y + z * z) / (leg->size * leg->size);
    return found < job->straight ? job->straight : found;
}

void ik_agree(const ik_agree_job *job) {
    double *stands = job->weights, *heeds = stands + job->legs;
    for (ptrdiff_t k = 0; k < job->frames; k++) {
        double *usual = job->together + k * job->axes, most = 0, heeded = 0;
        for (int leg = 0; leg < job->legs; leg++) {
            const double own = job->leg[leg].stands[k];
            stands[leg] = own < job->least ? job->least : own;
            most = !leg || most < stands[leg] ? stands[leg] : most;
        }
        for (int axis = 0; axis < job->axes; axis++)
            usual[axis] = mean_of(job, stands, k * job->axes + axis);
        for (int leg = 0; leg < job->legs; leg++) {
            const ik_wish *own = &job->leg[leg];
            const double much = job->anyway * own->size, by = job->bent / (much * much);
            double far = 0, bent;
            for (int axis = 0; axis < job->axes; axis++) {
                const double off = own->wanted[k * job->axes + axis] - usual[axis];
                far = axis ? far + off * off : off * off;
            }
            bent = lacks(job, own, k) + by * far;
            heeds[leg] = stands[leg] * (job->bent / (bent < job->bent ? bent : job->bent));
            heeded = !leg || heeded < heeds[leg] ? heeds[leg] : heeded;
        }
        for (int axis = 0; axis < job->axes; axis++)
            usual[axis] = mean_of(job, heeds, k * job->axes + axis);
        job->stands[k] = most, job->heeded[k] = heeded / most;
    }
}

/* --- up and down -------------------------------------------------------------------------------------------------- */

static double smaller(double a, double b) { return b < a ? b : a; }
static double larger(double a, double b) { return a < b ? b : a; }

static double size_of(double x, double y, double z) { return sqrt(x * x + y * y + z * z); }

static double length_of(const double *from, const double *to) {
    return size_of(to[0] - from[0], to[1] - from[1], to[2] - from[2]);
}

/* From a hip to where its leg should end; its part upwards is 0. */
static void flat_of(const ik_hung_legs *hung, const ik_hung_leg *leg, ptrdiff_t frame, double flat[3]) {
    for (int axis = 0; axis < 3; axis++)
        flat[axis] = axis == hung->axis ? 0 : leg->ankle[frame][axis] - leg->hip[frame][axis];
}

/* How high the foot would be but for obstacles. */
static double plain_of(const ik_hung_legs *hung, const ik_hung_leg *leg, ptrdiff_t frame) {
    return leg->ankle[frame][hung->axis] - leg->over[frame];
}

/* A leg that stands far aside, as a spider's do, is hardly nearer to its foot when its hip comes down: for that hips
 * keep so much of how high they are over their ankles. */
#define KEPT_HEIGHT 0.5

/* How far up a hip is moved until it is as far from an ankle of some height as `length`, above it, or below where
 * `side` is -1. */
static double until(const ik_hung_legs *hung, const ik_hung_leg *leg, ptrdiff_t frame, double height, double length,
                    double side) {
    double flat[3];
    flat_of(hung, leg, frame, flat);
    const double aside = size_of(flat[0], flat[1], flat[2]), up = length * length - aside * aside;
    const double over = larger(sqrt(up < 0 ? 0 : up), KEPT_HEIGHT * side * leg->high[frame]);
    return height - leg->hip[frame][hung->axis] + side * over;
}

/* And until it is as far from its ankle as in the clip; of one far aside that is no higher than it is kept low. */
static double as_in_clip(const ik_hung_legs *hung, const ik_hung_leg *leg, ptrdiff_t frame) {
    const double side = leg->high[frame] < 0 ? -1 : 1, height = plain_of(hung, leg, frame);
    const double own = length_of(leg->from_ankle[frame], leg->from_hip[frame]);
    const double most = height - leg->hip[frame][hung->axis] + leg->high[frame] / KEPT_HEIGHT;
    const double found = until(hung, leg, frame, height, own, side);
    return side < 0 ? larger(found, most) : smaller(found, most);
}

static ptrdiff_t work_of(ptrdiff_t frames, double reach) {
    const ik_filter_job filter = {NULL, frames, 1, reach};
    const ptrdiff_t numbers = ik_filter_work(&filter);
    return numbers < 0 ? -1 : numbers + 2 * frames;
}

ptrdiff_t ik_rises_work(const ik_rises_job *job) { return work_of(job->hung.frames, job->moment); }

void ik_rises(const ik_rises_job *job, double *work) {
    const ik_hung_legs *hung = &job->hung;
    double *reached = work, *least = reached + hung->frames;
    const ik_filter_job moment = {least, hung->frames, 1, job->moment};
    for (int at = 0; at < hung->legs; at++) {
        const ik_hung_leg *leg = &hung->leg[at];
        double *wanted = job->wanted + at * hung->frames;
        for (ptrdiff_t k = 0; k < hung->frames; k++) {
            wanted[k] = as_in_clip(hung, leg, k);
            reached[k] = until(hung, leg, k, leg->ankle[k][hung->axis], leg->reach[k], 1);
            least[k] = -reached[k];
        }
        ik_filter_largest(&moment, least + hung->frames, least);
        for (ptrdiff_t k = 0; k < hung->frames; k++) {
            const double most = larger(-least[k], smaller(reached[k], wanted[k]));
            job->highest[k] = at ? smaller(job->highest[k], most) : most;
        }
    }
}

/* About the sine of half of what the knee of a leg bends. */
static double bends(const ik_hung_leg *leg, double x, double y, double z) {
    return sqrt(larger(1 - (x * x + y * y + z * z) / (leg->size * leg->size), 0));
}

static double bends_in_clip(const ik_hung_leg *leg, ptrdiff_t frame) {
    const double *hip = leg->from_hip[frame], *ankle = leg->from_ankle[frame];
    return bends(leg, ankle[0] - hip[0], ankle[1] - hip[1], ankle[2] - hip[2]);
}

/* Now that its hip has risen, and its ankle is so high. */
static double bends_now(const ik_hung_legs *hung, const ik_hung_leg *leg, double height, double rise, ptrdiff_t frame) {
    double way[3];
    flat_of(hung, leg, frame, way);
    way[hung->axis] = height - leg->hip[frame][hung->axis] - rise;
    return bends(leg, way[0], way[1], way[2]);
}

/* How much more than by itself, over obstacles. */
static double bends_over(const ik_hung_legs *hung, const ik_hung_leg *leg, double now, double rise, ptrdiff_t frame) {
    if (!(leg->over[frame] > 0)) return 0;
    return larger(bends_now(hung, leg, leg->ankle[frame][hung->axis], rise, frame) - now, 0);
}

ptrdiff_t ik_eased_work(const ik_eased_job *job) { return work_of(job->hung.frames, job->moment); }

void ik_eased(const ik_eased_job *job, double *work) {
    const ik_hung_legs *hung = &job->hung;
    double *now = work, *more = now + hung->frames;
    const ik_filter_job moment = {more, hung->frames, 1, job->moment};
    for (ptrdiff_t k = 0; k < hung->frames; k++)
        job->most[k] = INFINITY;
    for (int at = 0; at < hung->legs; at++) {
        const ik_hung_leg *leg = &hung->leg[at];
        for (ptrdiff_t k = 0; k < hung->frames; k++) {
            now[k] = bends_now(hung, leg, plain_of(hung, leg, k), job->rise[k], k);
            more[k] = smaller(larger(now[k] - bends_in_clip(leg, k), 0), job->soft);
            more[k] += bends_over(hung, leg, now[k], job->rise[k], k);
        }
        ik_filter_bell(&moment, more + hung->frames, more);
        for (ptrdiff_t k = 0; k < hung->frames; k++) {
            const double least = smaller(bends_in_clip(leg, k) + more[k] - job->trace, job->soft);
            if (!(now[k] < least && leg->stands[k] > 0)) continue;
            const double far = leg->size * sqrt(1 - least * least);
            job->most[k] = smaller(job->most[k], until(hung, leg, k, plain_of(hung, leg, k), far, 1));
        }
    }
}

/* The middle of hips in the clip, how much of it there is along an axis. */
static double middle_of(const ik_hung_legs *hung, ptrdiff_t frame, int axis) {
    double sum = hung->leg[0].from_hip[frame][axis];
    for (int leg = 1; leg < hung->legs; leg++)
        sum += hung->leg[leg].from_hip[frame][axis];
    return sum / hung->legs;
}

/* How many third differences there are. */
static ptrdiff_t jerks_of(const ik_jerk_job *job) {
    return job->apart <= job->hung.frames / 3 ? job->hung.frames - 3 * job->apart : 0;
}

ptrdiff_t ik_jerk_work(const ik_jerk_job *job) { return work_of(job->hung.frames, job->reach); }

void ik_jerk(const ik_jerk_job *job, double *work) {
    const ik_hung_legs *hung = &job->hung;
    const ptrdiff_t apart = job->apart, count = jerks_of(job);
    double *squares = work, *at = squares + hung->frames;
    const ik_filter_job filter = {squares, count, 1, job->reach};
    for (ptrdiff_t k = 0; k < count; k++)
        squares[k] = 0;
    for (int axis = 0; axis < 3; axis++) {
        for (ptrdiff_t k = 0; k < hung->frames; k++)
            at[k] = middle_of(hung, k, axis) + (job->rise && axis == hung->axis ? job->rise[k] : 0);
        for (ptrdiff_t k = 0; k < count; k++) {
            const double a = at[k], b = at[k + apart], c = at[k + 2 * apart], d = at[k + 3 * apart];
            const double jerk = ((d - c) - (c - b)) - ((c - b) - (b - a));
            squares[k] += jerk * jerk;
        }
    }
    for (ptrdiff_t k = 0; k < count; k++)
        squares[k] = sqrt(squares[k]);
    ik_filter_bell(&filter, at, squares);
    for (ptrdiff_t k = 0; k < hung->frames; k++) {
        const ptrdiff_t near = k - (hung->frames - count) / 2;
        job->found[k] = !count ? 0 : squares[near < 0 ? 0 : near < count ? near : count - 1];
    }
}

/* --- aside ----------------------------------------------------------------------------------------------------------
 */

/* What legs, added up, lack to their feet, along one axis (frames). Whether they lack anything. */
static int lack_of(const ik_aside_job *job, int axis, double *lack) {
    const ik_hung_legs *hung = &job->hung;
    int any = 0;
    for (ptrdiff_t k = 0; k < hung->frames; k++) {
        lack[k] = 0;
        for (int at = 0; at < hung->legs; at++) {
            const ik_hung_leg *leg = &hung->leg[at];
            double flat[3];
            flat_of(hung, leg, k, flat);
            const double reach = leg->reach[k];
            const double up = leg->ankle[k][hung->axis] - (leg->hip[k][hung->axis] + job->rise[k]);
            const double square = larger(reach * reach - up * up, 0);
            if (flat[0] * flat[0] + flat[1] * flat[1] + flat[2] * flat[2] <= square) continue;
            const double far = size_of(flat[0], flat[1], flat[2]), may = sqrt(square);
            lack[k] += flat[axis] * smaller(larger(1 - may / larger(far, 1e-12), 0), 1);
        }
        any |= lack[k] != 0;
    }
    return any;
}

ptrdiff_t ik_aside_work(const ik_aside_job *job) { return work_of(job->hung.frames, job->reach); }

/* Ways to one side and to the other spread by themselves. */
void ik_aside(const ik_aside_job *job, double *work) {
    const ptrdiff_t frames = job->hung.frames;
    double *ahead = work, *back = ahead + frames, *more = back + frames;
    memcpy(job->found, job->along, (size_t)frames * sizeof *job->found);
    for (int axis = 0; axis < 3; axis++) {
        if (axis == job->hung.axis || !lack_of(job, axis, ahead)) continue;
        for (ptrdiff_t k = 0; k < frames; k++)
            back[k] = larger(-ahead[k], 0), ahead[k] = larger(ahead[k], 0);
        ik_filter_largest(&(ik_filter_job){ahead, frames, 1, job->reach}, more, ahead);
        ik_filter_largest(&(ik_filter_job){back, frames, 1, job->reach}, more, back);
        for (ptrdiff_t k = 0; k < frames; k++)
            ahead[k] -= back[k];
        ik_filter_bell(&(ik_filter_job){ahead, frames, 1, job->reach}, more, ahead);
        for (ptrdiff_t k = 0; k < frames; k++)
            job->found[k][axis] += ahead[k];
    }
    for (ptrdiff_t k = 0; k < frames; k++) {
        const double far = size_of(job->found[k][0], job->found[k][1], job->found[k][2]);
        const double share = smaller(far, job->most) / larger(far, 1e-12);
        for (int axis = 0; axis < 3; axis++)
            job->found[k][axis] *= share;
    }
}
#endif
