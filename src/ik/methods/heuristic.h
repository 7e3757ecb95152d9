/* The methods that go by what is easily seen: each joint, or each bone, by itself. */
#include "../frame/parts.h"

#include "chain.h"
#include "fabrik.h"
#include "follow.h"
#include "circle.h"
#include "spring.h"
#include "ccd.h"
