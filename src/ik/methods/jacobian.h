/* The methods that go by how every joint moves what should be reached, all joints at once. */
#include "../frame/method.h"
#include "../frame/watch.h"
#include "../frame/joints.h"
#include "../frame/random.h"
#include "../frame/turns.h"
#include "../frame/errors.h"
#include "../frame/kicks.h"
#include "../frame/linear.h"
#include "../frame/rows.h"
#include "../frame/levels.h"
#include "../frame/postures.h"

#include "dls.h"
