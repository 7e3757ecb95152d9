/* The methods that go by how every joint moves what should be reached, all joints at once. */
#include "../frame/parts.h"

#include "dls.h"
