/* Numbers that bakes reckon with in more than one file, of C or of Python (ikcore._core has them by these names). */
#ifndef IK_BAKE_NUMBERS_H
#define IK_BAKE_NUMBERS_H

/* The upward part of a normal, at least as far as slopes are reckoned with. */
#define IK_STEEPEST 0.2

/* Metres for a leg of 0.87 m: by how much more than its slopes say ground may rise or fall before it is an edge. */
#define IK_EDGE 0.02

/* The sine of a bend from which the side of a knee is its own; below, more and more that of its hinge. A knee that is
 * bent backwards by more is meant to be. */
#define IK_HINGED 0.26

/* The least hip-ankle distance as a share of the leg length, unless it is less in the clip. */
#define IK_FOLDED 0.25

#endif
