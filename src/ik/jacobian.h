/* Damped least squares. C. W. Wampler, "Manipulator inverse kinematic solutions based on vector formulations and damped
 * least-squares methods", IEEE Trans. SMC 16 (1986); the choice of damping: H. B. Nielsen, "Damping parameter in
 * Marquardt's method", report IMM-REP-1999-05 (1999); limits as in P. Baerlocher, R. Boulic, "An inverse kinematics
 * architecture enforcing an arbitrary number of strict priority levels", The Visual Computer 20 (2004).
 *
 * Idea. A small turn d of a joint moves a point at r from it by d x r, and turns what hangs from the joint by d. These
 * are the columns of the Jacobian J. Of all turns that would take away the error e, if motion were linear, take short
 * ones, since it is not: those that make |e - J d|^2 + damping |d|^2 least.
 *
 *   A = J W J^T            symmetric, three rows for every task: the place of a goal's point, or a joint's rotation
 *   (A + damping) y = e    L D L^T
 *   d = W J^T y            for every joint: W (r x y), summed over what hangs from it
 *
 * J is never stored. A block of A for two tasks is a sum over the joints that move both; of a ball joint, with r and s
 * from it to the two points, (r . s) I - s r^T. W is how willingly a joint turns, 1 - stiffness.
 *
 * All joints turn at once, each about where it was: with D the turns, S[j] = S[parent] D[j] is what all of them do to
 * joint j, and a bone from j turns by S[j].
 *
 *   damping   Nielsen's trust region: starts at a tenth of A's largest diagonal element; falls as far as the error fell
 *             as foreseen, to a third at most; a step that makes it worse is taken back, and damping grows. With the
 *             option `damping` it is constant, every step is kept, and shortened as a whole to max_step.
 *   limits    Of the joints that a step would take over their limits the one with the least way to go is set to its
 *             limit, what that does is taken off the error, and the rest is solved again without it, until no more are
 *             over. One such solve is one step of the frame, which does not count as an iteration.
 *   posture   d = J^+ e + (I - J^+ J) z, where z turns joints back towards rest: as J^+ (e - J z) + z
 *   weights   of goals: rows are multiplied by their roots; rotations count by the mean bone as length.
 *
 * Unless `textbook`: a joint chain without limits whose only target is out of reach is laid towards it at once; one
 * that makes no progress is shaken, the same way for every item, and the best pose found is what stays. */

/* A step that takes less than this share off the error is no progress; after so many of them the chain is shaken, and
 * after so many times given up. */
#define DLS_PROGRESS (number)1e-3
enum { DLS_PATIENCE = 5, DLS_SHAKES = 6 };

/* ---- columns */

enum dls_state {
    DLS_BONE,    /* mean length */
    DLS_DAMPING, /* negative: not chosen yet */
    DLS_GROWTH,  /* of the damping when a step is taken back */
    DLS_IDLE,    /* steps without progress */
    DLS_SHAKEN,  /* how often */
    DLS_HELD,    /* joints that were held at their limits by the last step */
    DLS_BEST,    /* the error of the pose that is kept aside */
    DLS_STATE
};

enum dls_task { DLS_TARGET, DLS_WEIGHT = 4, DLS_UNIT, DLS_TASK };

/* What the compiler should know. */
typedef struct {
    int plain; /* one place to reach, and joints that turn freely */
} dls_shape;

ik_inline int dls_tasks(const ik_plan *plan, dls_shape shape) { return shape.plain ? 1 : plan->task_count; }

/* Of an item: rotations first, they are the result. */
ik_inline int dls_rotation(int slot) { return OWN + 4 * slot; }
ik_inline int dls_position(const ik_plan *plan, int slot) { return dls_rotation(plan->slots) + 3 * slot; }
ik_inline int dls_task(const ik_plan *plan, int task) { return dls_position(plan, plan->slots) + DLS_TASK * task; }
ik_inline int dls_state(const ik_plan *plan, enum dls_state what) { return dls_task(plan, plan->task_count) + what; }
/* Of a hinge, from rest; and, of a joint that does not move, its parent's rotation in the world. */
ik_inline int dls_angle(const ik_plan *plan, int slot) { return dls_state(plan, DLS_STATE) + slot; }
ik_inline int dls_above(const ik_plan *plan, int slot) { return dls_angle(plan, plan->slots) + 4 * slot; }
