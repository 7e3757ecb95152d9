/* The methods that go by what is easily seen: each joint, or each bone, by itself. */
#ifndef IK_NO_HEURISTIC
#include "../solve/parts.h"

#include "../methods/heuristic/chain.h"
#include "../methods/fabrik/fabrik.h"
#include "../methods/heuristic/follow.h"
#include "../methods/heuristic/circle.h"
#include "../methods/ccd/ccd.h"
#if IK_BYTES < 64
#include "../methods/heuristic/spring.h"
#endif
#endif
