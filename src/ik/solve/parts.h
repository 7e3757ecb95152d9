/* The building blocks of iterative methods, besides the interface of the frame (method.h). A part uses those
 * before it, and costs nothing if it is not used; long functions are in shared.h, compiled once.
 *
 *   random       numbers without a pattern: the frame has them too, so pose.h includes it
 *   watch        detects stalls
 *   pull         pulls at a rigid body, and the best turn
 *   ends         effectors, while joints turn one after the other
 *   joints       columns for turned and sliding joints and their tasks, and how they are loaded and read
 *   plain        a free chain with a position out of its reach
 *   turns        the effect of a step on joints: try, limits, accept, perturb
 *   errors       errors of tasks
 *   kicks        perturbation of joints that are stuck
 *   linear       small symmetric systems
 *   rows         the Jacobian
 *   levels       strict priorities
 *   postures     preferred rotations
 *   acceleration steps that go on: strides, and the best of the last ones */
#include "method.h"

#include "progress.h"
#include "rigid_fit.h"
#include "effectors.h"
#include "joints.h"
#include "free_chain.h"
#include "turns.h"
#include "errors.h"
#include "kicks.h"
#include "linear.h"
#include "jacobian.h"
#include "levels.h"
#include "postures.h"
#include "acceleration.h"
