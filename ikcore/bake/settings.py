"""The settings of a bake."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class BakeSettings:
    """The settings of `bake_feet`. The defaults are for people and animals that walk and run.

    Lengths are in metres for a leg of 0.87 m, and scale with the leg length. Angles are in degrees.

    Parameters
    ----------
    lock : bool, default: True
        True: planted points stand still. False: feet only follow the height and the slope of the ground.
    tolerance : float, default: 0.0015
        Plant tolerance: a stance in which a point slides less than this is not changed. On ground with several levels
        slides below 0.0015 are removed even so, and a second bake recognises planted feet by that.
    unlock : float, default: 0.2
        Largest distance between a foothold and the foot in the clip: a foot that slides farther is planted again.
    blend : float, default: 0.3
        Time in seconds in which a foot moves from a foothold back to its path in the clip, and from there to the next
        foothold. Swings of less than twice this time lead from foothold to foothold. A swing that the end of the clip
        cuts keeps its offset to the end.
    clearance : float, default: 0.02
        Least height of a sole above the ground in swing, unless it is lower in the clip.
    align : float, default: 1
        Share of the slope of the ground that soles follow, 0 to 1.
    pitch, roll : float, default: 45, 20
        Largest angles by which a sole turns to match the slope: forwards or backwards, and sideways.
    toe : float, default: 40
        Largest angle by which toes bend up on the ground.
    pelvis : {"balanced", "lowest"}, default: "balanced"
        Height of the pelvis. "balanced": standing legs reach their footholds with the knee bend of the clip; legs that
        are straight have priority. The jerk of the pelvis is little more than in the clip. "lowest": the pelvis moves
        down as much as the lowest foot.
    lift, drop : float, optional
        Largest distances by which the pelvis moves up and down, relative to the feet that stand (default: unlimited).
    shift : float, default: 0.1
        Largest horizontal distance by which the pelvis moves. Half of it is for following feet that are moved; all of
        it is used if a leg would not reach otherwise.
    straight : float, default: 0.985
        Largest hip-ankle distance as a share of the leg length, unless the leg is straighter in the clip.
    tilt : float, optional
        Share of the slope under all feet that the body follows, `pitch` degrees at most (default: 0 for two legs, 1 for
        more).
    weight : float, default: 1
        Blend weight of the whole bake: 0 is the source, 1 is the bake.

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
        """All settings by name."""
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
