/* The methods that go by what is easily seen: each joint, or each bone, by itself. */
#include "../frame/parts.h"

#include "fabrik.h"
#include "ccd.h"
