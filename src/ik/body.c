/* How legs move the body (body.h). */
#include "body.h"

#include <math.h>

void ik_until(const ik_until_job *job) {
    for (ptrdiff_t k = 0; k < job->frames; k++) {
        double way[3], aside, up;
        for (int axis = 0; axis < 3; axis++)
            way[axis] = axis == job->axis ? 0 : job->ankle[k][axis] - job->hip[k][axis];
        aside = sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
        up = job->length[k] * job->length[k] - aside * aside;
        up = (job->side ? job->side[k] : 1) * sqrt(up < 0 ? 0 : up);
        job->up[k] = job->ankle[k][job->axis] - job->hip[k][job->axis] + up;
    }
}

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

void ik_jerk(const double (*at)[3], ptrdiff_t frames, ptrdiff_t apart, double *sizes) {
    for (ptrdiff_t k = 0; k < frames - 3 * apart; k++) {
        double jerk[3];
        for (int axis = 0; axis < 3; axis++) {
            const double a = at[k][axis], b = at[k + apart][axis];
            const double c = at[k + 2 * apart][axis], d = at[k + 3 * apart][axis];
            jerk[axis] = ((d - c) - (c - b)) - ((c - b) - (b - a));
        }
        sizes[k] = sqrt(jerk[0] * jerk[0] + jerk[1] * jerk[1] + jerk[2] * jerk[2]);
    }
}
