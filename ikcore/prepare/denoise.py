"""Remove frame-to-frame capture noise from the roots and the legs.

The noise is estimated from fourth differences of the hip positions: for smooth motion they are near 0. Every root,
every leg joint and every joint that carries legs is smoothed on its own. The filter width minimises the expected error,
by C. Stein, "Estimation of the Mean of a Multivariate Normal Distribution", 1981.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import dot, mean_in_order, path_lengths, size
from ikcore._joints import ancestors
from ikcore.clips.clip import Clip
from ikcore.clips.smoothing import smooth
from ikcore.feet import free_feet
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg
from ikcore.feet.soles import points_and_joints
from ikcore.feet.thresholds import LEG_LENGTH, PLANT_TOLERANCE, SHORTEST_STANCE
from ikcore.pose import Pose

Array = NDArray[np.float64]

_FOURTH_VARIANCE = 70.0  # variance of the fourth differences of white noise, relative to that of the noise
_MEDIAN_TO_DEVIATION = 0.6745  # median of |x| of a normal distribution, relative to its standard deviation
_ARM = 0.15  # share of the leg length: lever by which a position noise becomes the largest rotation noise of a joint
_ROUGHNESS_WEIGHT = 3.0  # cost of remaining noise relative to that of bias
_WIDTH_RATIO = 1.25  # between the filter widths that are tried, from one frame to the shortest contact
_MIN_FRAMES = 24  # fewer frames, or fewer than two in half of the shortest contact, show no noise


def denoise(clip: Clip, feet: Feet | None = None) -> Clip:
    """Remove the noise that shakes a captured clip from frame to frame.

    Only the roots, the legs and the joints that carry them are smoothed. Arms and head stay as they are.

    Parameters
    ----------
    clip : Clip
    feet : Feet, optional
        Its legs (default: `Feet.detect(clip.skeleton, clip=clip)`).

    Returns
    -------
    Clip
        The same object if its hips shake by less than 1.5 mm, for a leg of 0.87 m.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=2).clip
    >>> denoise(walk) is walk
    True
    """
    feet = Feet.detect(clip.skeleton, clip=clip) if feet is None else feet
    noise = noise_of(clip, feet)
    if not noise:
        return clip
    leg_length = _leg_length(clip, feet.legs[0])
    return _denoise(clip, feet, noise, noise / (_ARM * leg_length))


def noise_of(clip: Clip, feet: Feet) -> float:
    """How much the hips shake: the standard deviation along each axis, in the unit of the clip; 0 if not visibly.

    Parameters
    ----------
    clip : Clip
    feet : Feet
        Its legs.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=3).clip
    >>> noise_of(walk, ik.Feet.detect(walk.skeleton, clip=walk))
    0.0
    """
    if len(clip) < _MIN_FRAMES or SHORTEST_STANCE / 2 * clip.fps < 1 or not len(feet):
        return 0.0
    each = points_and_joints(clip.skeleton, clip.pose, [], free_feet.hips(clip.skeleton, feet))[1]
    hips = mean_in_order([each[:, hip] for hip in range(each.shape[1])])
    noise = _deviation(hips)
    if noise < PLANT_TOLERANCE / LEG_LENGTH * _leg_length(clip, feet.legs[0]):
        return 0.0
    steps = np.sort(size(np.diff(hips, axis=0)))
    if steps[len(steps) // 4] < noise:  # poses held for several frames, as in animation on twos
        return 0.0
    return noise


def _leg_length(clip: Clip, leg: Leg) -> float:
    """In the first frame."""
    if leg.free:
        return free_feet.length_in(clip[:1], leg)
    tip = [] if leg.ankle else [leg.soles["ball"]]
    end, joints = points_and_joints(clip.skeleton, clip.pose[:1], tip, leg.bones)
    return float(path_lengths(np.concatenate([joints, end], axis=1))[0])


def _mean(values: Array) -> Array:
    """Over the first axis, summed in order, so that the bits are the same everywhere."""
    return np.asarray(np.add.accumulate(values, axis=0)[-1] / len(values))


def _deviation(values: Array) -> float:
    """Standard deviation of the noise along each axis, of values (frames, axes)."""
    rough = np.abs(np.diff(np.ascontiguousarray(values.T), n=4))
    middle = rough.shape[1] // 2
    usual = np.partition(rough, middle)[:, middle] / _MEDIAN_TO_DEVIATION
    return float(np.sqrt(_mean((usual * usual)[:, np.newaxis])[0] / _FOURTH_VARIANCE))


def _denoise(clip: Clip, feet: Feet, noise: float, most_turn: float) -> Clip:
    """Smooth roots that shake by `noise`, and joints that shake by at most `most_turn` radians."""
    skeleton, shape = clip.skeleton, (len(clip), len(clip.skeleton), 3)
    turned, moved = clip.pose.rotations.copy(), clip.pose.translations
    moved = np.array(np.broadcast_to(skeleton.offsets if moved is None else moved, shape), turned.dtype)
    for root in np.flatnonzero(skeleton.parents < 0):
        drift = _loop_drift(clip, moved[:, root].astype(np.float64))
        moved[:, root] = drift + _smooth(moved[:, root] - drift, noise, clip)
    for joint in _leg_joints(clip, feet):
        turned[:, joint] = _smoothed_rotations(turned[:, joint].astype(np.float64), most_turn, clip)
    return dataclasses.replace(clip, pose=Pose(turned, moved, clip.pose.scales))


def _loop_drift(clip: Clip, path: Array) -> Array:
    """The steady travel of a loop's root, which ends where it began without it; zeros for other clips."""
    if not clip.loop:
        return np.zeros_like(path)
    share = np.arange(len(clip)) / max(len(clip) - 1, 1)
    return np.asarray((path[-1] - path[0]) * share[:, np.newaxis])


def _leg_joints(clip: Clip, feet: Feet) -> list[int]:
    """The joints of legs, and those that carry legs."""
    skeleton = clip.skeleton
    own = {skeleton.index(joint) for leg in feet for joint in (*leg.bones, leg.ball) if joint is not None}
    return sorted({joint for each in own for joint in ancestors(skeleton, each)})


def _smoothed_rotations(turns: Array, most_turn: float, clip: Clip) -> Array:
    signs = np.where(dot(turns[1:], turns[:-1]) < 0, -1.0, 1.0)
    turns = turns * np.multiply.accumulate(np.concatenate([np.ones(1), signs]))[:, np.newaxis]
    found = _smooth(turns, min(_deviation(turns), most_turn / 2), clip)
    return np.asarray(found / size(found)[:, np.newaxis])


def _smooth(values: Array, noise: float, clip: Clip) -> Array:
    """Values (frames, axes) by the filter width of least expected error."""
    fps, width, least, found = clip.fps, 1 / clip.fps, np.inf, values
    while noise > 0 and width < SHORTEST_STANCE:
        curve = smooth(values, fps=fps, pull=1 / (width * width * width * width), loop=clip.loop).values
        bias = curve - values
        risk = _mean(_mean(bias * bias)[:, np.newaxis])[0] + 2 * _ROUGHNESS_WEIGHT * noise * noise * _self_weight(
            width * fps
        )
        if risk < least:
            least, found = risk, curve
        width *= _WIDTH_RATIO
    return np.asarray(found)


def _self_weight(width: float) -> float:
    """The share of its own value that a sample keeps, smoothed over `width` frames."""
    waves = np.arange(0.5, 64) * (3.141592653589793 / 64) * width
    steep = waves * waves
    return float(_mean((1 / (1 + steep * steep))[:, np.newaxis])[0])
