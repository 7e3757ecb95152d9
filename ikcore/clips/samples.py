"""Clips made by procedure, of which everything is known: what finds contacts and judges feet is tested with them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore.clips.clip import Clip
from ikcore.clips.flights import hop, sprint
from ikcore.clips.sample_body import (
    ANKLE,
    FLAT,
    LATER,
    LEG,
    LIFT,
    OFF,
    SHIN,
    SOLES,
    THIGH,
    TOE,
    TOE_JOINT,
    TRACK,
    Plant,
    Sample,
    cosine_sine,
    frame_times,
    pitch_arm,
    skeleton_of_samples,
    soles_of_samples,
    world_rotations,
)
from ikcore.goals import Reach
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.solve import solve

Array = NDArray[np.float64]

__all__ = ["Plant", "Sample", "hop", "sprint", "walk"]


def walk(seconds: float = 4.0, *, speed: float = 1.3, step: float = 0.7, fps: float = 60.0) -> Sample:
    """A human walks straight ahead on level ground, on feet that do not slide.

    The motion is known, to rounding:

    - The ground is y = 0, forward is +z, left is +x; metres. The root moves ahead with exactly `speed`, sways towards
      the standing foot and bobs twice a stride.
    - A stride takes T = 2 step / speed seconds. The left heel strikes at k T where z = 2 k step, for every whole k, the
      right one half a stride later and a step ahead.
    - After its strike a heel stands still for 0.40 T. Ball and toe stand still from 0.12 T to 0.62 T. The foot is flat
      from 0.12 to 0.40 T. Before, it turns about the heel, and after, about the toe joint, with the toes flat.
    - At all other times these points are above the ground. They leave and meet it gently: for up to 0.036 T before and
      after a plant they are within a millimetre of it.
    - Ankles and feet have continuous accelerations. Knees bend forward and are never straight.

    Parameters
    ----------
    seconds : float, default: 4
        Duration of the clip, rounded down to whole frames.
    speed : float, default: 1.3
        Speed in metres per second.
    step : float, default: 0.7
        Step length in metres, from the strike of one heel to that of the other.
    fps : float, default: 60
        Frames a second.

    Returns
    -------
    Sample
        The clip (float64), the points of the soles, and when and where they are planted.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=2)
    >>> walk.clip
    Clip(121 frames of 21 joints at 60 fps, 2 s, Y up)
    >>> plant = next(plant for plant in walk.plants if plant.point == "LeftBall")
    >>> round(plant.start, 3), round(plant.end, 3), plant.position.round(3)
    (0.129, 0.668, array([0.06, 0.  , 0.18]))
    >>> joint, offset = walk.soles["LeftBall"]
    >>> world = walk.clip.skeleton.forward(walk.clip.pose[10])
    >>> at = walk.clip.skeleton.index(joint)
    >>> (world.positions[at] + ik.rotations.rotate(world.rotations[at], offset)).round(3) + 0
    array([0.06, 0.  , 0.18])
    """
    times = frame_times(seconds, fps, speed=speed, step=step)
    stride = 2 * step / speed
    skeleton, strides = skeleton_of_samples(), times / stride
    clip = Clip(skeleton, _pose(skeleton, strides, step), fps)
    return Sample(clip, soles_of_samples(), _plants(stride, step, times[-1]))


def _plants(stride: float, step: float, end: float) -> tuple[Plant, ...]:
    found = []
    for side, later in LATER.items():
        for number in range(-1, math.floor(end / stride) + 1):
            for name, (_, _, first, last, at) in SOLES.items():
                position = np.array([TRACK[side], 0, 2 * step * (number + later) + at])
                plant = Plant(
                    f"{side}{name}", (number + later + first) * stride, (number + later + last) * stride, position
                )
                if plant.start <= end and plant.end >= 0:
                    found.append(plant)
    return tuple(sorted(found, key=lambda plant: plant.start))


# --- the motion, over strides ----------------------------------------------------------------------------------------


def _pose(skeleton: Skeleton, strides: Array, step: float) -> Pose:
    """Trunk and arms swing, then the legs reach to where the feet are."""
    turned = np.tile([1.0, 0, 0, 0], (len(strides), len(skeleton), 1))
    moved = np.tile(skeleton.offsets, (len(strides), 1, 1))
    root, hips = _root(strides, step), _turn_hips(strides)
    moved[:, 0] = root + np.array([0, _height(step), 0])
    turned[:, 0] = hips
    for joint, rotation in _swings(strides).items():
        turned[:, skeleton.index(joint)] = rotation
    goals = []
    for side, later in LATER.items():
        foot = _foot(strides - later, step)
        turned[:, skeleton.index(f"{side}ToeBase")] = world_rotations("x", foot.toes)
        ankle = np.stack([np.full(len(strides), TRACK[side]), foot.y, foot.z + 2 * step * later], axis=-1)
        ahead = (moved[:, 0] + ankle) / 2 + [0, 0, 2]
        goals.append(Reach(f"{side}Foot", ankle, world_rotations("x", foot.pitch), chain=f"{side}UpLeg", pole=ahead))
    return solve(skeleton, Pose(turned, moved), goals, "two_bone").pose


def _wave(strides: Array, highest: float) -> Array:
    """A cosine that is highest at this part of the stride."""
    return cosine_sine(2 * np.pi * (strides - highest))[0]


_STANDING = (FLAT + OFF) / 2  # the middle of the left foot's stance


def _root(strides: Array, step: float) -> Array:
    """Horizontal position of the hips: they are lowest over both feet."""
    bob = -0.02 * (step / 0.7) * _wave(2 * strides, 2 * LIFT - 1)
    return np.stack([0.02 * _wave(strides, _STANDING), bob, 2 * step * strides - step / 2 + 0.04], axis=-1)


def _turn_hips(strides: Array) -> Array:
    """The leg that swings goes ahead, and its hip sinks."""
    return rotations.multiply(
        world_rotations("y", -0.1 * _wave(strides, 0)), world_rotations("z", 0.05 * _wave(strides, _STANDING))
    )


def _swings(strides: Array) -> dict[str, Array]:
    """Local rotations of trunk and arms: the chest turns against the hips, arms swing against legs."""
    found = {
        "Spine": world_rotations("z", -0.05 * _wave(strides, _STANDING)),
        "Chest": world_rotations("y", 0.2 * _wave(strides, 0)),
        "Head": world_rotations("y", -0.1 * _wave(strides, 0)),
    }
    for side, later in LATER.items():
        swing = _wave(strides - later, 0)
        found |= {
            f"{side}Arm": world_rotations("x", 0.35 * swing),
            f"{side}ForeArm": world_rotations("x", 0.2 * swing - 0.4),
        }
    return found


def _height(step: float) -> float:
    """As high as the hips can be without a leg being straighter than 99 % of its length at any time."""
    strides = np.linspace(0, 1, 1001)
    foot = _foot(strides, step)
    hip = _root(strides, step) + rotations.rotate(_turn_hips(strides), LEG["UpLeg"][1])
    across = (hip[:, 0] - TRACK["Left"]) ** 2 + (hip[:, 2] - foot.z) ** 2
    below = (0.99 * (THIGH + SHIN)) ** 2 - across
    highest = (foot.y - hip[:, 1] + np.sqrt(np.maximum(below, 0))).min()
    if below.min() < 0 or highest < 0.6:
        raise ValueError(f"step: expected one that legs of 0.85 m can take, got {step:g}")
    return float(highest)


# --- a foot, over strides since it struck ----------------------------------------------------------------------------

_STRIKE, _ROLL = math.radians(15), math.radians(45)  # how far the toes are up at the strike, the heel at the end


class _Foot(NamedTuple):
    y: Array  # the ankle
    z: Array  # ahead of where the heel struck first
    pitch: Array  # about x, toes down
    toes: Array  # likewise, relative to the foot


def _foot(strides: Array, step: float) -> _Foot:
    number = np.floor(strides)
    now = strides - number
    y, z, pitch, toes = np.select([now < OFF, now < LIFT], [_on_heel(now), _on_toes(now)], _swung(now, step))
    return _Foot(y, z + 2 * step * number, pitch, toes)


def _on_heel(now: Array) -> Array:
    """From the strike until it lifts; flat soon."""
    pitch = -_STRIKE * _ease(np.maximum(1 - now / FLAT, 0))
    return np.array([*(np.zeros((2, 1)) - pitch_arm(ANKLE, pitch)), pitch, 0 * pitch])


def _on_toes(now: Array) -> Array:
    """The foot turns about the toe joint, the toes stay flat."""
    pitch = _ROLL * _ease((now - OFF) / (LIFT - OFF))
    return np.array([*(TOE_JOINT[:, np.newaxis] - pitch_arm(TOE, pitch)), pitch, -pitch])


def _swung(now: Array, step: float) -> Array:
    """Polynomials that go on from one stance to the next with position, velocity and acceleration, and a hop."""
    share = 1 - LIFT
    s = (now - LIFT) / share
    at0, v0, a0 = _end(TOE_JOINT, TOE, _ROLL, 2 * _ROLL / (LIFT - OFF), -1, share)
    at1, v1, a1 = _end(np.array([0, 2 * step]), ANKLE, -_STRIKE, 2 * _STRIKE / FLAT, 0, share)
    way = at1 - at0
    coefficients = (
        *(at0, v0, a0 / 2, 10 * way - 6 * v0 - 4 * v1 - 1.5 * a0 + 0.5 * a1),
        *(-15 * way + 8 * v0 + 7 * v1 + 1.5 * a0 - a1, 6 * way - 3 * v0 - 3 * v1 - 0.5 * a0 + 0.5 * a1),
    )
    found = np.zeros((4, len(s)))
    for row in reversed(coefficients):
        found = found * s + row[:, np.newaxis]
    hop = 4 * s * (1 - s)
    return found + np.outer([0.03, 0, 0, 0], hop * hop * hop)


def _end(pivot: Array, arm: Array, pitch: float, rate: float, toes: float, share: float) -> Array:
    """Position, velocity and acceleration of (y, z, pitch, toes) where a swing begins or ends, in shares of it.

    There the foot turns about `pivot`, by `rate` a stride, and the toes in it `toes` times as much; a swing is this
    share of a stride.
    """
    y, z = pitch_arm(arm, pitch)
    rate *= share
    position, velocity = [*(pivot - [y, z]), pitch, toes * pitch], [rate * z, -rate * y, rate, toes * rate]
    return np.array([position, velocity, [rate * rate * y, rate * rate * z, 0, 0]])


def _ease(share: Array) -> Array:
    """From 0 to 1, where the slope is 2; no acceleration at either end."""
    return share * share * share * (2 - share)


def __dir__() -> list[str]:
    return __all__
