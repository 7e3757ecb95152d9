/* What a foot turns about while it stands: its heel, its ball, its toes. Of the bake alone; plain, one stance at a
 * time. */
#ifndef IK_PHASES_H
#define IK_PHASES_H

#include "stances.h"

/* It is the heel while the ball is in the air, else the ball, and at the end the toes if they stay where it leaves. A
 * ball without a contact that is lower than the heel is not in the air: a foot that leaves turns about its ball. */
typedef struct {
    const ik_foot *foot;
    int heel;                               /* which point that is; -1: there is none */
    const unsigned char *heel_on, *ball_on; /* when each is in contact, a byte a frame; NULL: nothing is known of it */
    ptrdiff_t start, stop;                  /* of the stance */
    ptrdiff_t contact, end;                 /* of its contact: other frames are as the first of it, or the last */
    double rolls;                           /* a ball that moves farther at the end rolls over the toes */
    double stays;                           /* of how far it moves then: toes that move less stay */
    ik_phase *phase;                        /* written, at most one more than frames of the stance */
    int phases, main;                       /* written: how many, and the longest one about the ball, else of all */
    ptrdiff_t *flat, flats;                 /* written, at most the frames: in which heel and ball have contacts */
} ik_phases_job;

/* Frames of the main phase are flat if no others are. */
void ik_phases(ik_phases_job *job);

#endif
