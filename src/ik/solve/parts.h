/* The building blocks of iterative methods, besides the interface to the loop (method.h). A part uses those before it,
 * and costs nothing if it is not used. Long functions are in shared.h, compiled once.
 *
 *   random.h       numbers without a pattern. The loop uses them as well, so pose.h includes it.
 *   progress.h     detects stalls
 *   rigid_fit.h    pulls at a rigid body, and the best turn
 *   effectors.h    effectors, while joints turn one after the other
 *   joints.h       columns of turning and sliding joints and their tasks, and how they are loaded and read
 *   free_chain.h   a free chain with a position out of its reach
 *   turns.h        the effect of a step on joints: try, limits, accept, perturb
 *   errors.h       errors of tasks
 *   kicks.h        perturbation of joints that are stuck
 *   linear.h       small symmetric systems
 *   jacobian.h     the Jacobian
 *   levels.h       strict priorities
 *   postures.h     preferred rotations
 *   acceleration.h  steps that are repeated: strides, and the best combination of the last ones */
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
