"""The body of the samples, and what is known of their feet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore.clips.clip import Clip
from ikcore.skeleton import Skeleton

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Plant:
    """A point of a foot that stands still on the ground for a while.

    Attributes
    ----------
    point : str
        Which one, a key of `Sample.soles`.
    start, end : float
        Seconds, both included. They may lie before the clip begins or after it ends.
    position : (3,) array
        Its position in the world.
    """

    point: str
    start: float
    end: float
    position: Array


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A walk and the truth about its feet.

    Attributes
    ----------
    clip : Clip
    soles : dict of str to (str, (3,) array)
        The points "LeftHeel", "LeftBall", "LeftToe" and those on the right: the joint that carries the point, and its
        position in the space of that joint.
    plants : tuple of Plant
        All that touch the time of the clip, by their start.
    """

    clip: Clip
    soles: dict[str, tuple[str, Array]]
    plants: tuple[Plant, ...]

    def planted(self, point: str) -> NDArray[np.bool_]:
        """In which frames a point is planted.

        Parameters
        ----------
        point : str
            A key of `soles`.

        Returns
        -------
        (frames,) array of bool
        """
        seconds = np.arange(len(self.clip)) / self.clip.fps
        found = np.zeros(len(seconds), bool)
        for plant in self.plants:
            if plant.point == point:
                found |= (plant.start - 1e-9 <= seconds) & (seconds <= plant.end + 1e-9)  # rounding
        return found


LATER = {"Left": 0.0, "Right": 0.5}  # strides
TRACK = {"Left": 0.06, "Right": -0.06}  # where the feet go
THIGH, SHIN = 0.43, 0.42
ANKLE = np.array([0.0, -0.09, -0.05])  # from the ankle to the heel's point on the ground
TOE = np.array([0.0, -0.065, 0.13])  # to the toe joint, in the air
FLAT, OFF, LIFT = 0.12, 0.40, 0.62  # when the ball comes down, the heel and the ball go up, in strides

# Joint, place in its space, first and last stride of the plant, how far ahead of the heel's point it is.
SOLES = {
    "Heel": ("Foot", ANKLE, 0.0, OFF, 0.0),
    "Ball": ("ToeBase", np.array([0, -0.025, 0]), FLAT, LIFT, 0.18),
    "Toe": ("ToeBase", np.array([0, -0.025, 0.07]), FLAT, LIFT, 0.25),
}

_TRUNK = {
    "Hips": (0, 1.0, 0),
    "Spine": (0, 0.12, 0),
    "Chest": (0, 0.18, 0),
    "Neck": (0, 0.25, 0),
    "Head": (0, 0.1, 0.02),
}
_ARM = {"Arm": ("Chest", (0.18, 0.2, 0)), "ForeArm": ("Arm", (0, -0.28, 0)), "Hand": ("ForeArm", (0, -0.25, 0))}
LEG = {
    "UpLeg": ("Hips", (0.09, -0.06, 0)),
    "Leg": ("UpLeg", (0, -THIGH, 0)),
    "Foot": ("Leg", (0, -SHIN, 0)),
    "ToeBase": ("Foot", tuple(TOE)),
    "ToeBase_end": ("ToeBase", (0, 0, 0.07)),
}


def skeleton_of_samples() -> Skeleton:
    """Without rotations at rest, where it stands upright with arms hanging."""
    names, offsets = list(_TRUNK), list(_TRUNK.values())
    parents = list(range(-1, len(names) - 1))
    for limb in (_ARM, LEG):
        for side, mirrored in (("Left", 1), ("Right", -1)):
            for name, (parent, (x, y, z)) in limb.items():
                parents.append(names.index(parent if parent in _TRUNK else f"{side}{parent}"))
                names.append(f"{side}{name}")
                offsets.append((mirrored * x, y, z))
    return Skeleton(parents, np.array(offsets), names=names)


def frame_times(seconds: float, fps: float, **others: float) -> Array:
    """The times of the frames, s; all of these have to be positive numbers."""
    for name, value in {"seconds": seconds, "fps": fps, **others}.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name}: expected a positive number, got {value!r}")
    return np.arange(math.floor(seconds * fps + 1e-6) + 1) / fps


def soles_of_samples() -> dict[str, tuple[str, Array]]:
    """For each point of both soles its joint and its offset from it."""
    return {f"{side}{name}": (f"{side}{joint}", at) for side in TRACK for name, (joint, at, *_) in SOLES.items()}


TOE_JOINT = np.array([0.025, 0.18])  # height, and how far ahead of the heel's point, of a flat foot


def world_rotations(axis: str, angle: Array) -> Array:
    """Rotations about an axis of the world."""
    return rotations.from_axis_angle(np.eye(3)["xyz".index(axis)], angle)


def pitch_arm(arm: Array, pitch: Any) -> Array:
    """Height and way ahead of a point of the foot from the ankle."""
    _, y, z = arm
    cosine, sine = cosine_sine(pitch)
    return np.array([y * cosine - z * sine, y * sine + z * cosine])


def cosine_sine(angle: Any) -> tuple[Array, Array]:
    """Those of the core, which are the same on every processor; NumPy's are not."""
    q = rotations.from_axis_angle([1, 0, 0], 2 * angle)
    return q[..., 0], q[..., 1]
