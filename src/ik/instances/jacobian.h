/* The methods that go by how every joint moves what should be reached, all joints at once. */
#ifndef IK_NO_JACOBIAN
#include "../solve/parts.h"

#include "../methods/dls/dls.h"

#if IK_BYTES < 64 /* wider vectors pay for dls alone */
#include "../methods/jacobian/eigen_answer.h"
#include "../methods/jacobian/transpose.h"

#include "../methods/jacobian/spectral.h"
#include "../methods/jacobian/pinv.h"
#include "../methods/jacobian/svf.h"
#include "../methods/jacobian/sdls.h"

#include "../methods/jacobian/gauss_seidel.h"
#include "../methods/jacobian/sns.h"

#include "../methods/jacobian/newton.h"

#include "../methods/jacobian/lbfgsb.h"

#include "../methods/bodies/full_body.h"
#endif
#endif
