/* Where a foot goes that stands. Of the bake alone: ik.h has what is for all. All numbers are doubles; rows are frames
 * of the clip. */
#ifndef IK_STANCES_H
#define IK_STANCES_H

#include "ik.h"

/* A foot in the clip. Points of its sole are known by number; -1: it has no such. */
typedef struct ik_foot {
    ptrdiff_t frames;
    int axis;             /* which coordinate is height */
    int points;           /* of the sole */
    const ik_rows *soles; /* (3) where each is */
    const ik_rows *stood; /* (1) how high each is when it stands */
    const double *thick;  /* how far above the floor that is */
    const int *under;     /* of each the one that touches the ground where the foot stands on it */
    const char *on_toes;  /* whether each goes with the toes */
    int ball, toe, heel;  /* which points these are; a heel that is to be kept out of the ground */
    ik_rows reference;    /* (3) the point about which the foot turns */
    ik_rows front, back;  /* (3) optional: it points from back to front; else it is a point */
    ik_rows turning;      /* (4) optional: how it is turned in the world */
    ik_rows way;          /* (3) optional: how far the clip should have come that walks on the spot, and stays there */
    ik_rows toe_turn;     /* (4) optional: how its toes are turned, if they bend */
    int turns;            /* whether it has an ankle to turn about */
    int locked;           /* whether planted points stand still */
    double ramp;          /* frames in which a foot that arrives comes to the ground, and one that leaves from it */
    ptrdiff_t ends;       /* frames in which a foot still arrives, or leaves already: at most a fifth */
} ik_foot;

/* A part of a stance in which a foot turns about one point of its sole. */
typedef struct ik_phase {
    int point;
    ptrdiff_t start, stop;
} ik_phase;

/* One stay on the ground. The place and the planes are those of the point of the main phase. */
typedef struct ik_stance {
    ptrdiff_t start, stop;
    int phases, main;         /* at least one phase; which one's place counts */
    const ik_phase *phase;    /* one after the other, from start to stop */
    ptrdiff_t flats;          /* at least 1 */
    const ptrdiff_t *flat;    /* frames in which it stands flat, ascending */
    int clean;                /* whether it stands still as it is */
    const double (*slips)[3]; /* how far the point it turns about is moved to stand still, in every frame of it */
    double aside[3], place[3], lift, normal[3], floor[3];
} ik_stance;

/* How a foot stands in the clip: in the inside of its stance, without the time in which it arrives and leaves. */
typedef struct ik_stays {
    double slid; /* how far the points slide that it turns about, phase by phase */
    double spun; /* how far it turns on the spot that should not, a tangent; 0: it is to turn as it does */
    double flat; /* how far the best of those is from where it stands, in the middle of where the foot is flat */
    double off;  /* the same in the worst frame */
    double sunk; /* how deep any of these is */
} ik_stays;

/* Of a stance that is known up to where it stands flat; floor: up. Writes how far the point that it turns about is
 * moved to stand still, horizontally: in the main phase from where it is, in others from where it is in the frame of
 * the phase next to it that is beside. `scratch` as for ik_stand. */
ik_stays ik_stay(const ik_foot *foot, const ik_stance *stance, double (*slips)[3], void *scratch);

/* What is written, frames of the stance alone: how far the reference is moved, and how the foot turns about it; how
 * toes turn beside that, and whether they are made to lie. */
typedef struct ik_stood {
    double (*shift)[3], (*turn)[4], (*toes)[4];
    unsigned char *lies;
} ik_stood;

/* What a foot turns about is on the ground, and the next such point where that puts it. `scratch` is as large as
 * ik_stand_scratch says for the frames of the stance, and aligned as doubles are. */
size_t ik_stand_scratch(ptrdiff_t frames);
void ik_stand(const ik_foot *foot, const ik_stance *stance, const ik_stood *found, void *scratch);

/* Where a foot that is moved and turned like that puts the points of its sole, and how high each is in the clip above
 * where it stands, in `count` frames: of every frame one point after the other. */
void ik_soles(const ik_foot *foot, const ik_stood *found, const ptrdiff_t *frames, ptrdiff_t count, double (*places)[3],
              double *above);

/* How high the lowest point of the sole is in the clip above where it stands, in every frame; NaN where one is. */
void ik_sole_height(const ik_foot *foot, double *above);

/* How much a foot stands in every frame: 1 in its stances, of some from a first frame to before a last one, and less
 * and less for `ramp` frames before and after; then, or without any, 0. */
void ik_standing(const ptrdiff_t (*stances)[2], ptrdiff_t count, ptrdiff_t frames, double ramp, double *stands);

#endif
