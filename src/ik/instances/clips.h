/* Clips: problems over all frames, an item being a channel; and legs, an item being a frame. */
#ifndef IK_NO_CLIPS
#include "../feet/constants.h"
#include "../curves/smooth_system.h"
#include "../curves/smooth_kernel.h"
#include "../forms/rotations.h"
#include "../feet/leg_math.h"
#include "../feet/leg_ik.h"

size_t IK_NAME(smooth_scratch)(const ik_smooth_job *job) { return smooth_bytes(job); }

void IK_NAME(smooth)(const ik_smooth_job *job, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    smooth_rows(job, first, last, scratch);
}

void IK_NAME(bend_leg)(const ik_bend_leg_job *job, ptrdiff_t first, ptrdiff_t last) { bend_rows(job, first, last); }
void IK_NAME(turn_leg)(const ik_turn_leg_job *job, ptrdiff_t first, ptrdiff_t last) { turn_rows(job, first, last); }
void IK_NAME(displace)(const ik_displace_job *job, ptrdiff_t first, ptrdiff_t last) { displace_rows(job, first, last); }
void IK_NAME(hinges)(const ik_hinges_job *job, ptrdiff_t first, ptrdiff_t last) { hinge_rows(job, first, last); }
#endif
