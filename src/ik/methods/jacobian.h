/* The methods that go by how every joint moves what should be reached, all joints at once. */
#ifndef IK_NO_JACOBIAN
#include "../frame/parts.h"

#include "dls.h"

#if IK_BYTES < 64 /* wider vectors pay for dls alone */
#include "answer.h"
#include "transpose.h"

#include "spectral.h"
#include "pinv.h"
#include "svf.h"
#include "sdls.h"

#include "gauss_seidel.h"
#include "sns.h"

#include "newton.h"

#include "lbfgsb.h"

#include "bodies/full_body.h"
#endif
#endif
