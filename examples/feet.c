/* A walking person steps onto a box: the feet of one character, frame by frame.
 *
 * cc -O2 -I src/ik examples/feet.c $(find src/ik -name '*.c') -lm && ./a.out */
#include <math.h>
#include <stdio.h>

#include "ik.h"

enum { LEGS = 2, FPS = 60, RAYS = LEGS * IK_FOOT_RAYS };

/* The animation: each foot stands for 0.6 s and swings for 0.4 s, 1.2 m ahead. */
static void walk(double time, double legs[5][LEGS][3], double landing[LEGS][3],
                 double wait[LEGS]) {
    for (int k = 0; k < LEGS; k++) {
        const double cycle = time + 0.5 * k, begun = floor(cycle);
        const double share = fmax((cycle - begun - 0.6) / 0.4, 0);
        const double ahead = share * share * (3 - 2 * share);
        const double x = k ? -0.1 : 0.1, z = 1.2 * (begun + ahead - 0.5 * k) - 0.1;
        const double y = 0.3 * share * (1 - share), body = 1.2 * time;
        const double all[5][3] = {{x, 0.88, body},            /* hip */
                                  {x, 0.5, body / 2 + z / 2}, /* knee */
                                  {x, y + 0.1, z - 0.12},     /* ankle */
                                  {x, y, z},                  /* toe */
                                  {x, y, z - 0.2}};           /* heel */
        for (int point = 0; point < 5; point++)
            for (int i = 0; i < 3; i++)
                legs[point][k][i] = all[point][i];
        landing[k][0] = x, landing[k][1] = 0;
        landing[k][2] = 1.2 * (begun + 1 - 0.5 * k) - 0.1;
        wait[k] = 1 - (cycle - begun);
    }
}

int main(void) {
    const ptrdiff_t d = sizeof(double);
    const ik_foot_settings settings = ik_foot_settings_default();
    ik_body_state body = {0};
    ik_foot_state feet[LEGS] = {0};
    double legs[5][LEGS][3], landing[LEGS][3], wait[LEGS], dt = 1.0 / FPS;
    double origins[RAYS][3], lengths[RAYS], points[RAYS][3], normals[RAYS][3];
    double toes[LEGS][3], pelvis[3], clearance = 1;
    char chosen[RAYS];
#define EACH_LEG(array, numbers) {{array, 0, d, 0}, (numbers) * d, LEGS}
    ik_feet_job job = {.settings = &settings,
                       .body = {&body, 0, 0, 0},
                       .state = {{feet, 0, 0, 0}, sizeof *feet, LEGS},
                       .dt = {&dt, 0, 0, 0},
                       .hip = EACH_LEG(legs[0], 3),
                       .knee = EACH_LEG(legs[1], 3),
                       .ankle = EACH_LEG(legs[2], 3),
                       .toe = EACH_LEG(legs[3], 3),
                       .heel = EACH_LEG(legs[4], 3),
                       .landing = EACH_LEG(landing, 3),
                       .landing_time = EACH_LEG(wait, 1),
                       .ray_origin = {origins, 3 * d, 0, 0},
                       .ray_length = {lengths, d, 0, 0},
                       .ray_chosen = {chosen, 1, 0, 0},
                       .hit_point = {points, 3 * d, 0, 0},
                       .hit_normal = {normals, 3 * d, 0, 0},
                       .pelvis = {pelvis, 0, 0, 0},
                       .toe_out = EACH_LEG(toes, 3)};
    for (int frame = 0; frame <= 4.05 * FPS; frame++) {
        walk((double)frame / FPS, legs, landing, wait);
        ik_foot_rays_f64(&job, 0, 1);
        for (int ray = 0; ray < RAYS; ray++) { /* the engine's part: a box from z = 2 */
            if (!chosen[ray]) continue;
            points[ray][0] = origins[ray][0], points[ray][2] = origins[ray][2];
            points[ray][1] = origins[ray][2] < 2 ? 0 : 0.2;
            normals[ray][0] = normals[ray][2] = 0, normals[ray][1] = 1;
        }
        ik_place_feet_f64(&job, 0, 1);
        for (int k = 0; k < LEGS;
             k++) /* the toes above the box, while they pass its edge */
            if (fabs(toes[k][2] - 2) < 0.1)
                clearance = fmin(clearance, toes[k][1] - 0.2);
    }
    printf("toes at height %.3f and %.3f, pelvis raised by %.3f, clearance %.3f\n",
           toes[0][1], toes[1][1], pelvis[1], clearance);
}
