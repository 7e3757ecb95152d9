/* The methods that go by what is easily seen: each joint, or each bone, by itself. */
#include "../frame/method.h"

#include "fabrik.h"
#include "fabrik_bodies.h"
#include "fabrik_search.h"
#include "fabrik_frames.h"
