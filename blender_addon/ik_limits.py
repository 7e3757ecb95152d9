# SPDX-License-Identifier: GPL-3.0-or-later
"""What the IK locks, limits and stiffness of bones let them do, as limits of the library.

Blender's own solver has angles about x and z as leaning of the bone, within an ellipse, and that about y as its twist.
"""

import math
from dataclasses import dataclass

from . import bridge

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class Freedom:
    """What a bone may do, by value: lowest and highest angle about each axis, None for any; and how stiff it is."""

    ranges: tuple
    stiffness: tuple[float, ...]

    @classmethod
    def of(cls, bone):
        """What the settings of a pose bone say."""
        return cls(
            tuple(_range(bone, axis) for axis in AXES), tuple(getattr(bone, f"ik_stiffness_{axis}") for axis in AXES)
        )

    @property
    def unset(self):
        """Whether nothing keeps the bone from anything."""
        return self.ranges == (None,) * 3 and not any(self.stiffness)

    def bend(self, along):
        """The axis about which the bone may bend farthest, in its own space, or None; `along` is where it points."""
        farthest, found = 0.0, None
        for axis, each, stiff in zip(AXES.values(), self.ranges, self.stiffness, strict=True):
            low, high = each or (-math.pi, math.pi)
            across = math.hypot(*(part for part, own in zip(along, axis, strict=True) if not own))
            if stiff < 1.0 and across * max(high, -low) > farthest:
                farthest, found = across * max(high, -low), tuple(math.copysign(n, high + low) for n in axis)
        return found

    def limit(self, position=None):
        """The ikcore.Limit of it; `position` is how far the bone may slide. None where all is free."""
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
    """The angles that a bone may have about an axis; None for all of them."""
    if getattr(bone, f"lock_ik_{axis}"):
        return (0.0, 0.0)
    if getattr(bone, f"use_ik_limit_{axis}"):  # half a turn in single precision is more than in double
        return max(getattr(bone, f"ik_min_{axis}"), -math.pi), min(getattr(bone, f"ik_max_{axis}"), math.pi)
    return None
