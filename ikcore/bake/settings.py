"""The settings of a bake."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class BakeSettings:
    """The settings of `bake_feet`. The defaults are for people and animals that walk and run.

    Lengths are metres for a leg of 0.87 m, and in proportion for others; angles are degrees.

    Parameters
    ----------
    lock : bool, default: True
        Whether planted points stand still. Without, feet only follow the height and the slope of the ground.
    tolerance : float, default: 0.0015
        How far a planted point may slide and be left as it is. On ground that is not one level what slides by less than
        0.0015 stands still even so, by which a second bake knows what the first has put there.
    unlock : float, default: 0.2
        How far a plant may be from where the clip has the foot: a foot that slides farther is planted again.
    blend : float, default: 0.3
        Seconds in which a foot comes from a plant back to its own way, and to the next. Swings of less than twice that
        go from plant to plant; those that the end of the clip cuts go on to there beside their own way.
    clearance : float, default: 0.02
        How far above the ground a sole is in swing, at least, where it is that high in the clip.
    align : float, default: 1
        The share of the slope of the ground that soles follow.
    pitch, roll : float, default: 45, 20
        The most that a sole is turned to the slope, up and down, and to the sides.
    toe : float, default: 40
        The most that toes bend up on the ground.
    pelvis : {"balanced", "lowest"}, default: "balanced"
        Height of the pelvis. "balanced": the knees of standing legs bend as in the clip, straight ones first, with
        little more jerk of the pelvis than in the clip, within the reach of legs. "lowest": as much lower as the
        lowest foot.
    lift, drop : float, optional
        The most that the pelvis goes up and down with respect to the feet that stand (default: unlimited).
    shift : float, default: 0.1
        The most that the pelvis goes over the ground: half of it along with feet that are moved, all of it where a leg
        would not reach otherwise.
    straight : float, default: 0.985
        How straight a leg may be, as a share of its length, where it is not straighter in the clip.
    tilt : float, optional
        The share of the slope under all feet that the body follows, by `pitch` degrees at most (default: 0 for two
        legs, 1 for more).
    weight : float, default: 1
        How much of it all is done.

    Examples
    --------
    >>> BakeSettings(clearance=0.05).clearance
    0.05
    >>> BakeSettings.preset("heights").lock
    False
    """

    lock: bool = True
    tolerance: float = 0.0015
    unlock: float = 0.2
    blend: float = 0.3
    clearance: float = 0.02
    align: float = 1.0
    pitch: float = 45.0
    roll: float = 20.0
    toe: float = 40.0
    pelvis: Literal["balanced", "lowest"] = "balanced"
    lift: float | None = None
    drop: float | None = None
    shift: float = 0.1
    straight: float = 0.985
    tilt: float | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if value is None and name in ("tilt", "lift", "drop"):
                continue
            if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
                raise TypeError(f"{name}: expected a number, got {value!r}")
            if not low <= value <= high or math.isinf(value):
                expected = f"{low:g} to {high:g}" if math.isfinite(high) else f"a finite number, {low:g} or more"
                raise ValueError(f"{name}: expected {expected}, got {value!r}")
        if not isinstance(self.lock, (bool, np.bool_)):
            raise TypeError(f"lock: expected True or False, got {self.lock!r}")
        if self.pelvis not in ("balanced", "lowest"):
            raise ValueError(f"pelvis: expected 'balanced' or 'lowest', got {self.pelvis!r}")

    @property
    def _values(self) -> dict[str, Any]:
        """All of them by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def preset(cls, name: str) -> BakeSettings:
        """Settings by name.

        Parameters
        ----------
        name : str
            "default"; "heights", feet follow the ground and may slide; "lock", feet stand still and keep their
            angles; "book", the pelvis as low as the lowest foot.
        """
        if name not in PRESETS:
            raise ValueError(f"preset: expected one of {', '.join(PRESETS)}, got {name!r}")
        return PRESETS[name]


_RANGES = {
    "tolerance": (0, 1),
    "unlock": (0.01, math.inf),
    "blend": (0, 10),
    "clearance": (0, 1),
    "align": (0, 1),
    "pitch": (0, 80),
    "roll": (0, 80),
    "toe": (0, 90),
    "lift": (0, math.inf),
    "drop": (0, math.inf),
    "shift": (0, math.inf),
    "straight": (0.5, 1),
    "tilt": (0, 1),
    "weight": (0, 1),
}

PRESETS = {
    "default": BakeSettings(),
    "heights": BakeSettings(lock=False),
    "lock": BakeSettings(align=0),
    "book": BakeSettings(pelvis="lowest"),
}
assert set(_RANGES) <= {item.name for item in fields(BakeSettings)}
