/* What a foot turns about while it stands: its heel, its ball, its toes; and where its sole is while it stands flat. Of
 * the bake alone; plain, one stance at a time. */
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

/* In which frames what a foot stands on is where it is in a frame beside, but for `least`: its ball, or what touches
 * the ground for that, its toes, and its heel while the ball has no contact; in none if planted points do not stand
 * still. The one frame of a pose is. As a heel is not known exactly, what turns about any point that is nearer to it
 * than to the ball stands exactly, too. `heel` and `ball_on` as above. */
void ik_exact(const ik_foot *foot, int heel, const unsigned char *ball_on, double least, unsigned char *exact);

/* How far apart the places are where the reference of a foot is over the ground from `start` to before `stop`, along
 * both axes; of a clip on the spot, had it gone its way. */
double ik_strayed(const ik_foot *foot, ptrdiff_t start, ptrdiff_t stop);

/* Where points of a sole are on the floor of the clip, the mean of some frames, and where the foot points then. */
typedef struct {
    const ik_foot *foot;
    const ptrdiff_t *flat; /* those frames, at least one */
    ptrdiff_t flats, middle;
    double slip[3];             /* what is added */
    const ptrdiff_t (*line)[2]; /* between which points there are others */
    int lines, parts;           /* how many of these, and in how many parts they cut each */
    double (*points)[3];        /* written: those of the sole, then parts - 1 of each line */
    double ahead[3];            /* written: from back to front over the ground, of length 1; nothing of a point */
} ik_tread_job;

void ik_tread(ik_tread_job *job);

#endif
