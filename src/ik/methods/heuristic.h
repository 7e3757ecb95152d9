/* The methods that go by what is easily seen: each joint, or each bone, by itself. */
#ifndef IK_NO_HEURISTIC
#include "../frame/parts.h"

#include "chain.h"
#include "fabrik.h"
#include "follow.h"
#include "circle.h"
#include "ccd.h"
#if IK_BYTES < 64
#include "spring.h"
#endif
#endif
