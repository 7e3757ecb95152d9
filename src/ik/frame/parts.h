/* What iterative methods are made of, besides what the frame is to all of them (method.h). A part stands on those
 * before it, and costs a method that does not use it nothing; what is long of them is in shared.h, compiled once.
 *
 *   random       numbers without a pattern: the frame has them too, so pose.h includes it
 *   watch        who makes no progress
 *   pull         what draws a rigid body, and the best turn for that
 *   ends         joints that turn one after the other, and what they carry
 *   joints       columns for turned and sliding joints and their tasks, and how they are loaded and read
 *   plain        a free chain with a place out of its reach
 *   turns        what a step does to joints: try, limits, accept, shake
 *   errors       how far tasks are off
 *   kicks        joints that are stuck
 *   finish       one method that takes over from another
 *   linear       small symmetric systems
 *   extrapolate  steps that go on: strides, and the best of the last ones
 *   rows         the Jacobian
 *   levels       strict priorities
 *   postures     what joints prefer */
#include "method.h"

#include "watch.h"
#include "pull.h"
#include "ends.h"
#include "joints.h"
#include "plain.h"
#include "turns.h"
#include "errors.h"
#include "kicks.h"
#include "finish.h"
#include "linear.h"
#include "extrapolate.h"
#include "rows.h"
#include "levels.h"
#include "postures.h"
