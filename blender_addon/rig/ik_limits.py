# SPDX-License-Identifier: GPL-3.0-or-later
"""The IK locks, limits and stiffness of bones, as limits of the library.

In Blender's own solver, the angles about x and z are a swing of the bone within an ellipse, and that about y is its
twist.
"""

import math
from dataclasses import dataclass

from .. import bridge

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class Freedom:
    """Allowed motion of a bone: lowest and highest angle about each axis, None if unlimited; and its stiffness."""

    ranges: tuple
    stiffness: tuple[float, ...]

    @classmethod
    def of(cls, bone):
        """From the settings of a pose bone."""
        return cls(
            tuple(_range(bone, axis) for axis in AXES), tuple(getattr(bone, f"ik_stiffness_{axis}") for axis in AXES)
        )

    @property
    def is_free(self):
        """True if the bone is unrestricted."""
        return self.ranges == (None,) * 3 and not any(self.stiffness)

    def with_locked_axes(self):
        """The same with axes of stiffness 1, which do not move at all, kept at rest."""
        stiff = [each >= 1.0 for each in self.stiffness]
        ranges = ((0.0, 0.0) if lock else each for lock, each in zip(stiff, self.ranges, strict=True))
        return Freedom(tuple(ranges), tuple(0.0 if lock else s for lock, s in zip(stiff, self.stiffness, strict=True)))

    def bend(self, along):
        """The axis with the largest range, in the bone's own space, or None; `along` is the bone's direction."""
        farthest, found = 0.0, None
        for axis, each, stiff in zip(AXES.values(), self.ranges, self.stiffness, strict=True):
            low, high = each or (-math.pi, math.pi)
            across = math.hypot(*(part for part, own in zip(along, axis, strict=True) if not own))
            if stiff < 1.0 and across * max(high, -low) > farthest:
                farthest, found = across * max(high, -low), tuple(math.copysign(n, high + low) for n in axis)
        return found

    def limit(self, position=None):
        """The ikcore.Limit; `position` is the range of its sliding. None if everything is free."""
        limit, (x, y, z) = bridge.library.Limit, self.ranges
        free = [axis for axis, each in zip(AXES, self.ranges, strict=True) if each != (0.0, 0.0)]
        stiffness = self.stiffness if any(self.stiffness) else 0.0
        if not free:
            return limit.locked(position=position)
        if self.ranges == (None,) * 3:
            return limit.free(stiffness=stiffness, position=position) if stiffness or position else None
        if len(free) == 1:
            low, high = self.ranges[list(AXES).index(free[0])] or (-math.pi, math.pi)
            stiff = max(self.stiffness[list(AXES).index(free[0])], 0.0)
            return limit.hinge(AXES[free[0]], low, high, stiffness=stiff, position=position)
        leans = [each or (-math.pi, math.pi) for each in (x, z)]
        swing = (leans[0][1], -leans[0][0], -leans[1][0], leans[1][1])  # towards z, -z, x and -x
        return limit.ball(AXES["y"], swing, side=AXES["z"], twist=y, stiffness=stiffness, position=position)


def _range(bone, axis):
    """The allowed angles of a bone about an axis; None for all."""
    if getattr(bone, f"lock_ik_{axis}"):
        return (0.0, 0.0)
    if getattr(bone, f"use_ik_limit_{axis}"):  # half a turn in single precision exceeds that in double
        return max(getattr(bone, f"ik_min_{axis}"), -math.pi), min(getattr(bone, f"ik_max_{axis}"), math.pi)
    return None
