/* The methods that go by how every joint moves what should be reached, all joints at once. */
#include "../frame/method.h"
#include "../frame/linear.h"

#include "dls.h"
