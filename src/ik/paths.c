/* Points over time (paths.h). */
#include "ik.h"
#ifndef IK_NO_CLIPS
#include "paths.h"

#include <math.h>
#include <string.h>

/* --- prolonged ---------------------------------------------------------------------------------------------------- */

static void go_round(const ik_path *path, ptrdiff_t more, double *wide) {
    const ptrdiff_t last = path->frames - 1, columns = path->columns;
    for (ptrdiff_t at = -more; at <= last + more; at++, wide += columns) {
        ptrdiff_t times = at / last, frame = at % last;
        if (frame < 0) frame += last, times--;
        if (at == last) frame = last, times = 0;
        for (ptrdiff_t k = 0; k < columns; k++) {
            const double gone = path->rows[last * columns + k] - path->rows[k];
            wide[k] = path->rows[frame * columns + k] + (double)times * gone;
        }
    }
}

/* About ends, as often as there are rows for. */
static void turn(const ik_path *path, ptrdiff_t more, double *wide) {
    const ptrdiff_t columns = path->columns;
    ptrdiff_t frames = path->frames;
    double *start = wide + more * columns;
    memcpy(start, path->rows, (size_t)(frames * columns) * sizeof *wide);
    while (more > 0) {
        const ptrdiff_t now = more < frames - 1 ? more : frames - 1;
        double *end = start + (frames - 1) * columns;
        for (ptrdiff_t row = 1; row <= now; row++)
            for (ptrdiff_t k = 0; k < columns; k++) {
                start[k - row * columns] = 2 * start[k] - start[k + row * columns];
                end[k + row * columns] = 2 * end[k] - end[k - row * columns];
            }
        start -= now * columns, frames += 2 * now, more -= now;
    }
}

void ik_prolong(const ik_path *path, ptrdiff_t more, double *wide) {
    if (path->frames > 1) {
        (path->loop ? go_round : turn)(path, more, wide);
        return;
    }
    for (ptrdiff_t row = 0; row <= 2 * more; row++)
        memcpy(wide + row * path->columns, path->rows, (size_t)path->columns * sizeof *wide);
}

/* --- between knots ------------------------------------------------------------------------------------------------ */

void ik_straight(const ik_knots *through, const double *times, ptrdiff_t count, double *found) {
    const double *knots = through->knots;
    const ptrdiff_t columns = through->columns, last = through->many - 1;
    ptrdiff_t next = 0; /* the first knot after a time */
    for (ptrdiff_t at = 0; at < count; at++, found += columns) {
        while (next <= last && !(times[at] < knots[next]))
            next++;
        while (next > 0 && times[at] < knots[next - 1])
            next--;
        const ptrdiff_t before = next > 0 ? next - 1 : 0, after = next < last ? next : last;
        const double span = knots[after] - knots[before];
        double share = (times[at] - knots[before]) / (span > 0 ? span : 1);
        share = share < 0 ? 0 : share > 1 ? 1 : share;
        for (ptrdiff_t k = 0; k < columns; k++) {
            const double from = through->values[before * columns + k];
            found[k] = from + share * (through->values[after * columns + k] - from);
        }
    }
}

/* --- ramps -------------------------------------------------------------------------------------------------------- */

void ik_ramp(const unsigned char *held, ptrdiff_t count, int loop, double frames, double *weights) {
    const ptrdiff_t period = count - 1;
    ptrdiff_t first = 0, last = 0; /* edges; there is none at 0 */
    for (ptrdiff_t k = 1; k < count; k++)
        if (held[k] != held[k - 1]) first = first ? first : k, last = k;
    const double far = first ? INFINITY : 0;
    double edge = !first ? 0 : loop ? (double)(last - period) : -far;
    for (ptrdiff_t k = 0; k < count; k++) {
        if (k && held[k] != held[k - 1]) edge = (double)k;
        weights[k] = (double)k + 0.5 - edge;
    }
    edge = !first ? 0 : loop ? (double)(first + period) : far;
    for (ptrdiff_t k = count - 1; k >= 0; k--) {
        const double after = edge - ((double)k + 0.5), away = (after < weights[k] ? after : weights[k]) / frames;
        double share = held[k] ? 0.5 + away : 0.5 - away;
        share = share < 0 ? 0 : share > 1 ? 1 : share;
        weights[k] = first ? share * share * (3 - 2 * share) : held[k] ? 1 : 0;
        if (k && held[k] != held[k - 1]) edge = (double)k;
    }
}
#endif
