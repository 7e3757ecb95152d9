/* Smooth curves (ik_smooth_job): channels with intervals of pinned frames are solved part by part.
 *
 * Two neighbouring pinned frames separate a channel into two independent parts. A part is the interval between two such
 * pairs, with one pinned pair at either end. Each part takes only its own iterations. A constant part within its bounds
 * is copied, and pinned frames between parts cost nothing. Parts of similar length are solved together. They are padded
 * with pinned frames to a length that depends on the part alone, so its bits do not depend on its neighbours. A long
 * part is solved in place, alone. */
#include "../ik.h"
#ifndef IK_NO_CLIPS
#include "smooth.h"

#include "../fpmode.h"

#include <math.h>
#include <string.h>

static const double FAR = 1e100; /* as in curves/smooth_kernel.h: larger numbers are not computed with */

enum {
    CHANNELS = 16, /* solved at a time */
    ABREAST = 4,   /* parts solved together: the lanes of AVX2, the widest vectors on which curves are solved */
    FILLED = 32,   /* lengths are padded to a multiple of this */
    LONG = 2048,   /* largest number of frames solved together; memory is reserved for as many */
    GIVEN = 5,     /* input arrays: wanted, lower, upper, pull, start */
};

/* Default values of arrays that are not given. */
static const double OTHERWISE[GIVEN] = {0, -INFINITY, INFINITY, 0, 0};

/* The input arrays of one channel. */
typedef struct {
    const char *data[GIVEN];
    ptrdiff_t next[GIVEN]; /* bytes between frames */
} column;

typedef struct {
    ptrdiff_t channel, first, count, length; /* length: with padding */
    int done;
} part;

/* The channels in progress, and memory: of parts, and of what is solved together, one row per frame. */
typedef struct {
    const ik_smooth_job *given_job,
        *job; /* job: a copy that asks given_job whether to stop, and remembers the answer */
    int stopped;
    ptrdiff_t first, count, parts;
    part *part;
    column column[CHANNELS];
    double *given[GIVEN], *values;
    int32_t status[CHANNELS], iterations[CHANNELS];
    void *rest;
} work;

/* Numbers stored side by side: one, or the lanes of a vector. */
static ptrdiff_t width_of(ptrdiff_t count) { return count > 1 ? ABREAST : 1; }

static column column_of(const ik_smooth_job *job, ptrdiff_t channel) {
    const ik_lists *given[GIVEN] = {&job->wanted, &job->lower, &job->upper, &job->pull, &job->start};
    column found;
    for (int array = 0; array < GIVEN; array++) {
        const ik_rows *rows = &given[array]->rows;
        found.data[array] = rows->data ? (char *)rows->data + channel * rows->stride : (char *)&OTHERWISE[array];
        found.next[array] = rows->data ? given[array]->next : 0;
    }
    return found;
}

static inline double number_at(const column *c, int array, ptrdiff_t frame) {
    return *(const double *)(c->data[array] + frame * c->next[array]);
}

static void set(const ik_smooth_job *job, ptrdiff_t channel, ptrdiff_t frame, double x) {
    char *data = job->values.rows.data;
    *(double *)(data + channel * job->values.rows.stride + frame * job->values.next) = x;
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

typedef struct {
    double wanted, lower, upper, pull, start;
} frame_of;

static inline frame_of given_at(const column *c, ptrdiff_t frame) {
    return (frame_of){number_at(c, 0, frame), number_at(c, 1, frame), number_at(c, 2, frame), number_at(c, 3, frame),
                      number_at(c, 4, frame)};
}

/* step4: the duration of a frame in seconds, to the fourth power. */
static inline int is_plain(frame_of f, double step4) {
    return (fabs(f.wanted) < FAR) & (fabs(f.pull * step4) < FAR) & (f.lower < FAR) & (f.upper > -FAR);
}

static inline int is_pinned(frame_of f) { return f.lower >= f.upper; }

static inline double pin_of(frame_of f) { return f.lower == f.upper ? f.lower : 0.5 * f.lower + 0.5 * f.upper; }

static void add(work *w, ptrdiff_t channel, ptrdiff_t first, ptrdiff_t last) {
    const ptrdiff_t frames = w->job->frames, count = last - first;
    const ptrdiff_t filled = (count + FILLED - 1) / FILLED * FILLED;
    w->part[w->parts++] = (part){channel, first, count, count > LONG ? count : filled < frames ? filled : frames, 0};
}

/* Finds the parts of a channel, each with a frame that is not pinned. If a number is not finite or too large, the whole
 * channel is one part. */
static void find_parts(work *w, ptrdiff_t channel) {
    const ptrdiff_t frames = w->job->frames, before = w->parts;
    const double step = 1 / w->job->fps, squared = step * step, step4 = squared * squared;
    const column c = w->column[channel - w->first];
    ptrdiff_t first = 0, pinned = 0; /* start of the current part, and the number of consecutive pinned frames so far */
    for (ptrdiff_t k = 0; k < frames; k++) {
        const frame_of f = given_at(&c, k);
        if (!is_plain(f, step4)) {
            w->parts = before;
            add(w, channel, 0, frames);
            return;
        }
        pinned = is_pinned(f) ? pinned + 1 : 0;
        if (pinned == 2 && k - 1 > first) add(w, channel, first, k + 1);
        if (pinned >= 2) first = k - 1;
    }
    if (pinned < 2) add(w, channel, first, frames);
}

static int is_whole(const work *w, const part *p) { return p->count == w->job->frames; }

/* Copies a part whose wanted values are one number within all bounds. Returns 0 if it is not such a part. */
static int leave(const work *w, const part *p) {
    const column c = w->column[p->channel - w->first];
    const double wanted = given_at(&c, p->first).wanted;
    for (ptrdiff_t k = p->first; k < p->first + p->count; k++) {
        const frame_of f = given_at(&c, k);
        if (f.wanted != wanted || !(f.lower <= wanted && wanted <= f.upper)) return 0;
    }
    for (ptrdiff_t k = p->first; k < p->first + p->count; k++)
        set(w->job, p->channel, k, wanted);
    return 1;
}

static void set_pins(work *w, ptrdiff_t channel) {
    const column c = w->column[channel - w->first];
    for (ptrdiff_t k = 0; k < w->job->frames; k++) {
        const frame_of f = given_at(&c, k);
        if (is_pinned(f)) set(w->job, channel, k, pin_of(f));
        if (f.lower > f.upper) w->status[channel - w->first] |= IK_CONFLICT;
    }
}

/* --- solving parts together --------------------------------------------------------------------------------------- */

/* Number of padding frames before a part: all of them if it ends with the clip, else 0 and they follow it. */
static ptrdiff_t filled_before(const work *w, const part *p) {
    return p->first + p->count == w->job->frames ? p->length - p->count : 0;
}

/* Gathers parts into the input arrays. The wanted value of a pinned frame is its pin, because a neighbouring part may
 * already have written a frame that both share. */
static void pack(work *w, part *const *some, ptrdiff_t count) {
    for (ptrdiff_t at = 0; at < count; at++) {
        const part *p = some[at];
        const ptrdiff_t before = filled_before(w, p);
        const column c = w->column[p->channel - w->first];
        const int whole = is_whole(w, p);
        for (ptrdiff_t k = 0; k < p->length; k++) {
            const ptrdiff_t to = k * count + at;
            frame_of f = {0};
            if (k >= before && k < before + p->count) f = given_at(&c, p->first + k - before);
            if (!whole && is_pinned(f)) f.wanted = f.lower = f.upper = pin_of(f);
            w->given[0][to] = f.wanted, w->given[1][to] = f.lower, w->given[2][to] = f.upper;
            w->given[3][to] = f.pull;
            if (w->job->start.rows.data) w->given[4][to] = f.start;
        }
    }
}

static ik_lists lists_of(const double *numbers, ptrdiff_t count, ptrdiff_t length) {
    const ptrdiff_t number = (ptrdiff_t)sizeof(double);
    return (ik_lists){.rows = {.data = (void *)numbers, .stride = number}, .next = count * number, .count = length};
}

/* Solves some parts of equal length. */
static void solve(work *w, part *const *some, ptrdiff_t count) {
    const ptrdiff_t length = some[0]->length, number = (ptrdiff_t)sizeof(int32_t);
    int32_t status[ABREAST], iterations[ABREAST];
    ik_smooth_job job = *w->job;
    pack(w, some, count);
    job.frames = length;
    job.wanted = lists_of(w->given[0], count, length), job.lower = lists_of(w->given[1], count, length);
    job.upper = lists_of(w->given[2], count, length), job.pull = lists_of(w->given[3], count, length);
    if (job.start.rows.data) job.start = lists_of(w->given[4], count, length);
    job.values = lists_of(w->values, count, length);
    job.status = (ik_rows){.data = status, .stride = number};
    job.iterations = (ik_rows){.data = iterations, .stride = number};
    ik_smooth_whole(&job, 0, count, w->rest);
    for (ptrdiff_t at = 0; at < count && !w->stopped; at++) {
        const part *p = some[at];
        const ptrdiff_t before = filled_before(w, p), mine = p->channel - w->first;
        for (ptrdiff_t k = 0; k < p->count; k++)
            set(w->job, p->channel, p->first + k, w->values[(before + k) * count + at]);
        w->status[mine] |= status[at];
        if (iterations[at] > w->iterations[mine]) w->iterations[mine] = iterations[at];
    }
}

static ik_lists after(ik_lists lists, ptrdiff_t frames) {
    if (lists.rows.data) lists.rows.data = (char *)lists.rows.data + frames * lists.next;
    return lists;
}

/* Solves a long part in place. */
static void solve_there(work *w, part *p) {
    const ptrdiff_t mine = p->channel - w->first;
    int32_t status = 0, iterations = 0;
    ik_smooth_job job = *w->job;
    job.frames = p->count;
    job.wanted = after(job.wanted, p->first), job.pull = after(job.pull, p->first);
    job.lower = after(job.lower, p->first), job.upper = after(job.upper, p->first);
    job.start = after(job.start, p->first), job.values = after(job.values, p->first);
    job.status = (ik_rows){.data = &status}, job.iterations = (ik_rows){.data = &iterations};
    ik_smooth_whole(&job, p->channel, p->channel + 1, w->rest);
    w->status[mine] |= status, p->done = 1;
    if (iterations > w->iterations[mine]) w->iterations[mine] = iterations;
}

static ptrdiff_t together(const ik_smooth_job *job) { return job->frames < LONG ? job->frames : LONG; }

/* Collects this part and others of its length that are left, as many as memory is reserved for. */
static ptrdiff_t alike(work *w, ptrdiff_t at, part **some) {
    const ptrdiff_t length = w->part[at].length, room = together(w->job) * width_of(w->count);
    const ptrdiff_t most = ABREAST * length > room ? 1 : ABREAST;
    ptrdiff_t count = 1;
    some[0] = &w->part[at];
    for (at++; at < w->parts && count < most; at++)
        if (!w->part[at].done && w->part[at].length == length) some[count++] = &w->part[at];
    for (ptrdiff_t k = 0; k < count; k++)
        some[k]->done = 1;
    return count;
}

/* --- whole jobs --------------------------------------------------------------------------------------------------- */

/* Loops and curves without bounds have no parts. */
static int may_part(const ik_smooth_job *job) {
    const double step = 1 / job->fps;
    return !job->loop && job->lower.rows.data && job->upper.rows.data && job->tension * (step * step) < FAR;
}

/* Finishes the frames that need no solving. */
static void begin(work *w) {
    ptrdiff_t at = 0;
    for (ptrdiff_t channel = w->first; channel < w->first + w->count; channel++) {
        w->status[channel - w->first] = 0;
        const int whole = at < w->parts && w->part[at].channel == channel && is_whole(w, &w->part[at]);
        w->iterations[channel - w->first] = !whole;
        if (!whole) set_pins(w, channel);
        for (; at < w->parts && w->part[at].channel == channel; at++)
            w->part[at].done = !whole && leave(w, &w->part[at]);
    }
}

static void tell(const work *w, const ik_rows *rows, const int32_t *numbers) {
    for (ptrdiff_t k = 0; k < w->count && rows->data; k++)
        *(int32_t *)((char *)rows->data + (w->first + k) * rows->stride) = numbers[k];
}

static void smooth_some(work *w) {
    ptrdiff_t whole = 0;
    w->parts = 0;
    for (ptrdiff_t k = 0; k < w->count; k++) {
        w->column[k] = column_of(w->job, w->first + k);
        find_parts(w, w->first + k);
    }
    for (ptrdiff_t at = 0; at < w->parts; at++)
        whole += is_whole(w, &w->part[at]);
    if (whole == w->count) {
        ik_smooth_whole(w->job, w->first, w->first + w->count, w->rest);
        return;
    }
    begin(w);
    for (ptrdiff_t at = 0; at < w->parts && !w->stopped; at++) {
        part *some[ABREAST];
        if (w->part[at].done) continue;
        if (w->part[at].count > LONG)
            solve_there(w, &w->part[at]);
        else
            solve(w, some, alike(w, at, some));
    }
    if (w->stopped) return;
    tell(w, &w->job->status, w->status);
    tell(w, &w->job->iterations, w->iterations);
}

static size_t in_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t ik_smooth_scratch(const ik_smooth_job *job, ptrdiff_t count) {
    const size_t rest = in_lines(ik_smooth_whole_scratch(job, count)), frames = (size_t)job->frames;
    if (!may_part(job)) return rest;
    const size_t some = (size_t)(count < CHANNELS ? count : CHANNELS);
    const size_t numbers = (GIVEN + 1) * (size_t)(together(job) * width_of((ptrdiff_t)some)) * sizeof(double);
    return rest + in_lines(numbers) + some * (frames / 3 + 2) * sizeof(part);
}

/* The stop function of a job that stops when another job does. */
static int asks(void *context) {
    work *w = context;
    const ik_smooth_job *given = w->given_job;
    if (!w->stopped && given->stop) w->stopped = given->stop(given->context) != 0;
    return w->stopped;
}

static void smooth_parts(work *w, ptrdiff_t last) {
    const ptrdiff_t channels = last - w->first, some = channels < CHANNELS ? channels : CHANNELS;
    const ptrdiff_t block = together(w->job) * width_of(some);
    double *numbers = (double *)((char *)w->rest + in_lines(ik_smooth_whole_scratch(w->job, some)));
    for (int array = 0; array < GIVEN; array++, numbers += block)
        w->given[array] = numbers;
    w->values = numbers;
    w->part = (part *)((char *)w->given[0] + in_lines((size_t)((GIVEN + 1) * block) * sizeof(double)));
    for (; w->first < last && !w->stopped; w->first += CHANNELS) {
        w->count = last - w->first < CHANNELS ? last - w->first : CHANNELS;
        smooth_some(w);
    }
}

void ik_smooth(const ik_smooth_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    const ik_fpmode before = ik_fpmode_enter();
    work w = {.given_job = job, .first = first, .rest = scratch};
    ik_smooth_job own = *job;
    w.job = &own, own.stop = asks, own.context = &w;
    if (may_part(job))
        smooth_parts(&w, last);
    else
        ik_smooth_whole(&own, first, last, scratch);
    ik_fpmode_leave(before);
}
#endif
