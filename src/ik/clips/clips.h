/* Problems over whole clips: an item is all frames of a channel. */
#include "smooth_system.h"
#include "smooth.h"

size_t IK_NAME(smooth_scratch)(const ik_smooth_job *job) { return (size_t)smooth_frames(job) * sizeof(smooth_frame); }

void IK_NAME(smooth)(const ik_smooth_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    smooth_rows(job, first, last, scratch);
}
