"""Steady: clips that shake from frame to frame, as badly captured ones do, without that.

How much a body shakes is known from what it does against its own way: from the fourth differences of where its hips
are, which a body that moves hardly has. Every joint that legs hang on, or are made of, and every root is smoothed on
its own, for as long a time as makes the error least that is to be expected, by C. Stein, "Estimation of the Mean of a
Multivariate Normal Distribution", 1981.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ikcore import _core
from ikcore._arrays import dot, size
from ikcore.bake import loops
from ikcore.bake.curves import smooth
from ikcore.bake.motion import places_of, size_at_first
from ikcore.bake.scene import Array, mean
from ikcore.clips.clip import Clip
from ikcore.feet import free
from ikcore.feet.detect import Feet
from ikcore.feet.human import BRIEF, LEG, TRACE
from ikcore.pose import Pose
from ikcore.skeleton import ancestors

_FOURTH = 70.0  # the variance of fourth differences beside that of what shakes
_DEVIATION = 0.6745  # the median of what shakes, beside its deviation
_ARM = 0.15  # of a leg: joints turn by no more than what shakes as much at its end
_ROUGHER = 3.0  # so many times as bad is what goes on shaking as being off as much
_RATIO = 1.25  # of times that joints may be smoothed for: one frame to the briefest contact
_FEWEST = 24  # frames: of less, or farther apart than half the briefest contact, nothing can be said


@dataclass(frozen=True, slots=True, eq=False)
class Steadied:
    """What `steadied` makes.

    Attributes
    ----------
    clip : Clip
        As it came if it does not shake.
    shakes : float
        By how much it did, a deviation along each axis; else 0.
    """

    clip: Clip
    shakes: float


def steadied(clip: Clip, feet: Feet) -> Steadied:
    """Take from a clip what its body and its legs shake."""
    if len(clip) < _FEWEST or BRIEF / 2 * clip.fps < 1:
        return Steadied(clip, 0.0)
    joints = free.hips(clip.skeleton, feet)
    hips = mean(np.moveaxis(places_of(clip, joints), 1, 0).reshape(len(joints), -1)).reshape(-1, 3)
    shakes, scale = _deviation(hips), size_at_first(clip, feet.legs[0]) / LEG
    if shakes < TRACE * scale:
        return Steadied(clip, 0.0)
    steps = np.sort(size(np.diff(hips, axis=0)))
    if steps[len(steps) // 4] < shakes:  # in poses that stay for some frames each
        return Steadied(clip, 0.0)
    return Steadied(_steady(clip, feet, shakes, shakes / (_ARM * LEG * scale)), shakes)


def _deviation(values: Array) -> float:
    """Of what shakes along each of some axes, of values (frames, axes)."""
    usual = _core.usual_difference(values, 4) / _DEVIATION
    return float(np.sqrt(mean((usual * usual)[:, np.newaxis])[0] / _FOURTH))


def _steady(clip: Clip, feet: Feet, shakes: float, turns: float) -> Clip:
    """Without what roots shake, and what joints do, which turn by no more than so many radians for that."""
    skeleton, shape = clip.skeleton, (len(clip), len(clip.skeleton), 3)
    turned, moved = clip.pose.rotations.copy(), clip.pose.translations
    moved = np.array(np.broadcast_to(skeleton.offsets if moved is None else moved, shape), turned.dtype)
    gone = loops.climb(clip, moved[:, np.flatnonzero(skeleton.parents < 0)[0]].astype(np.float64))
    for root in np.flatnonzero(skeleton.parents < 0):
        moved[:, root] = gone + _best(moved[:, root] - gone, shakes, clip)
    for joint in _joints(clip, feet):
        turned[:, joint] = _turning(turned[:, joint].astype(np.float64), turns, clip)
    return dataclasses.replace(clip, pose=Pose(turned, moved, clip.pose.scales))


def _joints(clip: Clip, feet: Feet) -> list[int]:
    """What legs are made of, and what they hang on."""
    skeleton = clip.skeleton
    own = {skeleton.index(joint) for leg in feet for joint in (*leg.bones, leg.ball) if joint is not None}
    return sorted({joint for each in own for joint in ancestors(skeleton, each)})


def _turning(turns: Array, most: float, clip: Clip) -> Array:
    """Rotations (frames, 4) that turn without shaking."""
    signs = np.where(dot(turns[1:], turns[:-1]) < 0, -1.0, 1.0)
    turns = turns * np.multiply.accumulate(np.concatenate([np.ones(1), signs]))[:, np.newaxis]
    found = _best(turns, min(_deviation(turns), most / 2), clip)
    return np.asarray(found / size(found)[:, np.newaxis])


def _best(values: Array, shakes: float, clip: Clip) -> Array:
    """Values (frames, axes) smoothed for the time that is best if they shake so much."""
    fps, time, least, found = clip.fps, 1 / clip.fps, np.inf, values
    while shakes > 0 and time < BRIEF:
        curve = smooth(values, fps=fps, pull=1 / (time * time * time * time), loop=clip.loop)
        off = curve - values
        risk = mean(mean(off * off)[:, np.newaxis])[0] + 2 * _ROUGHER * shakes * shakes * _kept(time * fps)
        if risk < least:
            least, found = risk, curve
        time *= _RATIO
    return np.asarray(found)


def _kept(time: float) -> float:
    """How much of what it is each value keeps when smoothed for so many frames."""
    waves = np.arange(0.5, 64) * (3.141592653589793 / 64) * time
    steep = waves * waves
    return float(mean(1 / (1 + steep * steep)[:, np.newaxis])[0])
