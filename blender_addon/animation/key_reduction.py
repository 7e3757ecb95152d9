# SPDX-License-Identifier: GPL-3.0-or-later
"""Key reduction within a tolerance: smooth curves through some rows of a bake's numbers. Without bpy.

Between two Bezier keys with handles a third of the way to each other, Blender plays a cubic with known end slopes. The
playback is therefore known exactly, per frame, and its error is measured on the limb itself. Arrays have frames along
axis 0. Keys are frame numbers. Slopes are changes per frame.
"""

from dataclasses import dataclass

import numpy as np

from .. import bridge
from ..rig import rotations as rot

ORDER = 4  # the error of a cubic grows with this power of its length
ALONE = 1e-9  # band elimination cut-off: largest remaining coupling to neighbouring rows
BETWEEN = 4.0  # larger tolerance half a frame after each frame
TIP = 0.25  # relative to the limb length: distance from a joint at which rotation errors are measured
FIRM = 0.01  # Tikhonov weight of the baked slopes, for slopes that the frames between keys barely determine


@dataclass
class Bone:
    """A bone, as baked on every frame."""

    place: np.ndarray  # (frames, 3), in the world
    turn: np.ndarray  # (frames, 4), in the world
    inherits: bool = True  # True if it rotates with its parent
    mode: str = ""  # of its rotation channels, if it has any
    rotation: np.ndarray | None = None  # (frames, 3 or 4): their numbers; used for channels without a curve
    axes: np.ndarray | None = None  # (frames, 3, 3): world directions of its location channels, if it has any
    above: int | None = None  # the number of its parent; None: the previous bone


@dataclass
class Curve:
    """A channel of a bone."""

    bone: int
    kind: str  # "rotation" or "location"
    index: int
    values: np.ndarray  # (frames,)


class Limb:
    """Bones, each below an earlier one, and their channels with common keys."""

    def __init__(self, bones, curves):
        self.bones, self.curves = bones, curves
        self.numbers = np.stack([curve.values for curve in curves], axis=1)
        conjugate, multiply = bridge.rotations.conjugate, bridge.rotations.multiply
        self._hung, self._back = {}, {}  # by rotating bone: from its channels to the world, and back
        for at, bone in enumerate(bones):
            if bone.mode:
                self._hung[at] = multiply(bone.turn, conjugate(self._rotation_values(at, self.numbers)))
                self._back[at] = conjugate(bone.turn)

    def bone_transforms(self, numbers):
        """World-space translations and rotations of bones for these numbers; None for no rotation."""
        shifts, turns = [], []
        for at, bone in enumerate(self.bones):
            shift, turn = np.zeros_like(bone.place), None
            if at > 0:
                above = at - 1 if bone.above is None else bone.above
                shift = tip_translation(shifts[above], turns[above], bone.place - self.bones[above].place)
                turn = turns[above] if bone.inherits else None
            if bone.axes is not None:
                shift = shift + np.einsum("fij,fj->fi", bone.axes, self._way(at, numbers))
            if bone.mode:
                multiply = bridge.rotations.multiply
                own = multiply(multiply(self._hung[at], self._rotation_values(at, numbers)), self._back[at])
                turn = own if turn is None else multiply(turn, own)
            shifts.append(shift)
            turns.append(turn)
        return shifts, turns

    def _rotation_values(self, at, numbers):
        """The values of a bone's rotation channels."""
        values = self.bones[at].rotation.copy()
        for column, curve in enumerate(self.curves):
            if (curve.bone, curve.kind) == (at, "rotation"):
                values[:, curve.index] = numbers[:, column]
        return rot.quaternions(self.bones[at].mode, values)

    def _way(self, at, numbers):
        """The changes of a bone's location channels."""
        values = np.zeros((len(numbers), 3))
        for column, curve in enumerate(self.curves):
            if (curve.bone, curve.kind) == (at, "location"):
                values[:, curve.index] = numbers[:, column] - curve.values
        return values


def tip_translation(shift, turn, arm):
    """Translation of a point at the end of an arm from something translated and rotated."""
    return shift if turn is None else shift + bridge.rotations.rotate(turn, arm) - arm


def size(vectors):
    """The lengths of vectors (..., 3)."""
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))


def angle(turn):
    """The angle of small rotations, in radians."""
    return 0.0 if turn is None else 2 * np.linalg.norm(turn[:, 1:], axis=1)


def reduce_keys(numbers, excess, fixed=(), *, cycle=False, check=lambda: None):
    """The sufficient keys, and the slopes at them.

    Between frames, where the bake has no data, a larger tolerance from smooth curves through all frames applies.

    Parameters
    ----------
    numbers : (frames, channels) array
        The bake on every frame.
    excess : callable
        Returns, for other numbers, the error of each frame relative to its tolerance.
    fixed : array of int
        Keys that stay, besides the first and the last.
    cycle : bool
        True if the end is followed by the beginning.
    check : callable
        Called repeatedly. An exception from it ends the work.
    """
    every = np.arange(len(numbers))
    between = playback(numbers, every, slopes(numbers, every, cycle=cycle), 0.5)

    def worst(keys):
        """Error of each span: on its frames and, if these are good, half a frame after each.

        The latter is the larger error relative to the poses of the previous and of the next frame.
        """
        check()
        if len(keys) == 1:
            return np.zeros(0)
        found = slopes(numbers, keys, cycle=cycle)
        off = np.maximum.reduceat(excess(playback(numbers, keys, found)), keys[:-1])
        if (off > 1).any():
            return off
        later = playback(numbers, keys, found, 0.5) - between
        before, after = excess(numbers + later), excess(numbers + np.concatenate([0 * later[:1], later[:-1]]))
        return np.maximum.reduceat(np.maximum(before[:-1], after[1:]), keys[:-1]) / BETWEEN

    fixed = np.unique(np.r_[0, np.asarray(fixed, int), len(numbers) - 1])
    keys = _fewest(worst, _enough(worst, fixed), fixed)
    return keys, slopes(numbers, keys, cycle=cycle)


def _enough(worst, keys):
    """Add keys until no frame between them exceeds its tolerance. None does with a key on every frame."""
    while True:
        off, gaps = worst(keys), np.diff(keys)
        stuck = np.pad((off > 1) & (gaps == 1), 1)  # the cause there is the slope from a neighbouring span
        bad = np.flatnonzero(((off > 1) | stuck[:-2] | stuck[2:]) & (gaps > 1))
        if not len(bad):
            return keys
        parts = np.clip(np.ceil(np.maximum(off[bad], 1) ** (1 / ORDER)), 2, gaps[bad]).astype(int)
        new = [keys[at] + gaps[at] * np.arange(1, many) // many for at, many in zip(bad, parts, strict=True)]
        keys = np.union1d(keys, np.concatenate(new))


def _fewest(worst, keys, fixed):
    """Remove unneeded keys: every third is tried, then the next ones."""
    for turn in range(3):
        trial = np.setdiff1d(keys, fixed)[turn::3]
        while len(trial):
            fewer = np.setdiff1d(keys, trial)
            bad = np.pad(worst(fewer) > 1, 1)
            if not bad.any():
                keys = fewer
                break
            span = np.searchsorted(fewer, trial)  # where they were is bad, or a neighbour, or the error there has grown
            here, beside = bad[span], bad[span - 1] | bad[span + 1]
            trial = trial[~here] if here.any() else trial[~beside] if beside.any() else trial[:0]
    return keys


def playback(numbers, keys, slopes, later=0.0):
    """Playback in Blender on every frame with these keys only, or a fraction of a frame later."""
    if len(keys) == 1:
        return numbers.copy()
    span, (one, out, two, back) = _cubics(keys, later)
    start, end = keys[span], keys[span + 1]
    values = one * numbers[start] + out * slopes[span] + two * numbers[end] + back * slopes[span + 1]
    return np.concatenate([values, numbers[-1:]])


def slopes(numbers, keys, *, cycle=False):
    """The slopes that bring curves through these keys nearest to all numbers, by least squares."""
    if len(keys) == 1:
        return np.zeros((1, numbers.shape[1]))
    span, (one, out, two, back) = _cubics(keys)
    left = numbers[:-1] - one * numbers[keys[span]] - two * numbers[keys[span + 1]]
    total = np.add.reduceat(np.concatenate([out * out, back * back, out * back, out * left, back * left], 1), keys[:-1])
    count, wide = len(keys), numbers.shape[1]
    along, firm = np.gradient(numbers, axis=0)[keys], np.full((count, 1), FIRM)
    if cycle:  # both ends have the same slope
        along[[0, -1]] = (along[0] + along[-1]) / 2
        firm[[0, -1]] = (1 + total[:, :2].max()) / FIRM**3
    middle, right = firm.copy(), firm * along
    middle[:-1] += total[:, :1]
    middle[1:] += total[:, 1:2]
    right[:-1] += total[:, 3 : 3 + wide]
    right[1:] += total[:, 3 + wide :]
    none = np.zeros((1, 1))
    beside = total[:, 2:3]
    return _tridiagonal(np.concatenate([none, beside]), middle, np.concatenate([beside, none]), right)


def _cubics(keys, later=0.0):
    """The span of each frame except the last, and the weights of both values and both slopes there."""
    gap = np.diff(keys)
    span = np.repeat(np.arange(len(gap)), gap)
    long = gap[span][:, np.newaxis]
    u = (np.arange(keys[-1]) + later - keys[span])[:, np.newaxis] / long
    v = 1 - u
    return span, ((1 + 2 * u) * v * v, long * u * v * v, u * u * (3 - 2 * u), -long * u * u * v)


def _tridiagonal(below, middle, above, right):
    """Solve for all columns by cyclic reduction: neighbours of each row are eliminated at doubling distances."""
    step = 1
    while step < len(middle):
        lower, upper = (-side / _shift_rows(middle, by, 1.0) for side, by in ((below, step), (above, -step)))
        if max(np.abs(lower).max(), np.abs(upper).max()) < ALONE:
            break
        right = right + lower * _shift_rows(right, step) + upper * _shift_rows(right, -step)
        middle = middle + lower * _shift_rows(above, step) + upper * _shift_rows(below, -step)
        below, above = lower * _shift_rows(below, step), upper * _shift_rows(above, -step)
        step *= 2
    return right / middle


def _shift_rows(rows, by, fill=0.0):
    """Rows shifted by `by` places."""
    result = np.full_like(rows, fill)
    if by > 0:
        result[by:] = rows[:-by]
    else:
        result[:by] = rows[-by:]
    return result
