# SPDX-License-Identifier: GPL-3.0-or-later
"""As few keys as a tolerance allows: smooth curves through some of the numbers of a bake, in columns. Without bpy.

Between two Bezier keys whose handles are a third of the way to each other Blender plays a cubic with known slopes at
its ends. So all that it will play is known here, frame by frame, and how far that is from the bake is measured on the
limb itself. Arrays have frames along axis 0; keys are numbers of frames; slopes are changes a frame.
"""

from dataclasses import dataclass

import numpy as np

from . import bridge
from . import rotations as rot

ORDER = 4  # a cubic departs from a smooth curve with this power of its length
ALONE = 1e-9  # what is left of the neighbours of a row that is solved
BETWEEN = 4.0  # how much farther off curves may be half a frame after each
TIP = 0.25  # of the length of a limb: how far from a joint something counts whose turns are measured
FIRM = 0.01  # how firmly slopes keep to those of the bake: enough for those that frames between keys say little about


@dataclass
class Bone:
    """A bone, as the bake on every frame has it."""

    place: np.ndarray  # (frames, 3), in the world
    turn: np.ndarray  # (frames, 4), likewise
    inherits: bool = True  # whether it turns with what it hangs on
    mode: str = ""  # of its rotation channels, if it has some
    rotation: np.ndarray | None = None  # (frames, 3 or 4): their numbers; those count that no curve has
    axes: np.ndarray | None = None  # (frames, 3, 3): where its location channels lead in the world, if it has some
    above: int | None = None  # the number of what it hangs on; None: the one before it


@dataclass
class Curve:
    """A channel of a bone."""

    bone: int
    kind: str  # "rotation" or "location"
    index: int
    values: np.ndarray  # (frames,)


class Limb:
    """Bones, each below one before it, and the channels of theirs that share their keys."""

    def __init__(self, bones, curves):
        self.bones, self.curves = bones, curves
        self.numbers = np.stack([curve.values for curve in curves], axis=1)
        conjugate, multiply = bridge.rotations.conjugate, bridge.rotations.multiply
        self._hung, self._back = {}, {}  # by bone that turns: from its channels to the world, and back
        for at, bone in enumerate(bones):
            if bone.mode:
                self._hung[at] = multiply(bone.turn, conjugate(self._own(at, self.numbers)))
                self._back[at] = conjugate(bone.turn)

    def moved(self, numbers):
        """By how much bones are shifted and turned in the world if these are their numbers; None is not turned."""
        shifts, turns = [], []
        for at, bone in enumerate(self.bones):
            shift, turn = np.zeros_like(bone.place), None
            if at > 0:
                above = at - 1 if bone.above is None else bone.above
                shift = carried(shifts[above], turns[above], bone.place - self.bones[above].place)
                turn = turns[above] if bone.inherits else None
            if bone.axes is not None:
                shift = shift + np.einsum("fij,fj->fi", bone.axes, self._way(at, numbers))
            if bone.mode:
                multiply = bridge.rotations.multiply
                own = multiply(multiply(self._hung[at], self._own(at, numbers)), self._back[at])
                turn = own if turn is None else multiply(turn, own)
            shifts.append(shift)
            turns.append(turn)
        return shifts, turns

    def _own(self, at, numbers):
        """What the rotation channels of a bone say."""
        values = self.bones[at].rotation.copy()
        for column, curve in enumerate(self.curves):
            if (curve.bone, curve.kind) == (at, "rotation"):
                values[:, curve.index] = numbers[:, column]
        return rot.quaternions(self.bones[at].mode, values)

    def _way(self, at, numbers):
        """By how much the numbers of the location of a bone are others."""
        values = np.zeros((len(numbers), 3))
        for column, curve in enumerate(self.curves):
            if (curve.bone, curve.kind) == (at, "location"):
                values[:, curve.index] = numbers[:, column] - curve.values
        return values


def carried(shift, turn, arm):
    """How far something is shifted that is an arm away from what is shifted and turned."""
    return shift if turn is None else shift + bridge.rotations.rotate(turn, arm) - arm


def size(vectors):
    """The lengths of vectors (..., 3)."""
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))


def angle(turn):
    """Of turns by little, in radians."""
    return 0.0 if turn is None else 2 * np.linalg.norm(turn[:, 1:], axis=1)


def reduced(numbers, excess, fixed=(), *, cycle=False, check=lambda: None):
    """The keys that are enough, and the slopes at them.

    Between frames, where the bake says nothing, they are held less strictly against smooth curves through all frames.

    Parameters
    ----------
    numbers : (frames, channels) array
        The bake on every frame.
    excess : callable
        Of other numbers: how far each frame is off, as a share of what is allowed.
    fixed : array of int
        Keys that stay, besides the first and the last.
    cycle : bool
        Whether what comes after the end is the beginning.
    check : callable
        Called now and then. What it raises ends the work.
    """
    every = np.arange(len(numbers))
    between = played(numbers, every, slopes(numbers, every, cycle=cycle), 0.5)

    def worst(keys):
        """How far each span is off: on its frames, and if they are fine half a frame after each.

        There as it is in the pose of the frame before and in that of the next one, the farther of the two.
        """
        check()
        if len(keys) == 1:
            return np.zeros(0)
        found = slopes(numbers, keys, cycle=cycle)
        off = np.maximum.reduceat(excess(played(numbers, keys, found)), keys[:-1])
        if (off > 1).any():
            return off
        later = played(numbers, keys, found, 0.5) - between
        before, after = excess(numbers + later), excess(numbers + np.concatenate([0 * later[:1], later[:-1]]))
        return np.maximum.reduceat(np.maximum(before[:-1], after[1:]), keys[:-1]) / BETWEEN

    fixed = np.unique(np.r_[0, np.asarray(fixed, int), len(numbers) - 1])
    keys = _fewest(worst, _enough(worst, fixed), fixed)
    return keys, slopes(numbers, keys, cycle=cycle)


def _enough(worst, keys):
    """More and more keys, until no frame between them is off by too much. With a key on every frame none is."""
    while True:
        off, gaps = worst(keys), np.diff(keys)
        stuck = np.pad((off > 1) & (gaps == 1), 1)  # what is wrong there is the slope that a span beside it gives
        bad = np.flatnonzero(((off > 1) | stuck[:-2] | stuck[2:]) & (gaps > 1))
        if not len(bad):
            return keys
        parts = np.clip(np.ceil(np.maximum(off[bad], 1) ** (1 / ORDER)), 2, gaps[bad]).astype(int)
        new = [keys[at] + gaps[at] * np.arange(1, many) // many for at, many in zip(bad, parts, strict=True)]
        keys = np.union1d(keys, np.concatenate(new))


def _fewest(worst, keys, fixed):
    """Those of these keys that are needed: every third is tried to do without, then the next ones."""
    for turn in range(3):
        trial = np.setdiff1d(keys, fixed)[turn::3]
        while len(trial):
            fewer = np.setdiff1d(keys, trial)
            bad = np.pad(worst(fewer) > 1, 1)
            if not bad.any():
                keys = fewer
                break
            span = np.searchsorted(fewer, trial)  # where they were is bad, or beside that, or farther off
            here, beside = bad[span], bad[span - 1] | bad[span + 1]
            trial = trial[~here] if here.any() else trial[~beside] if beside.any() else trial[:0]
    return keys


def played(numbers, keys, slopes, later=0.0):
    """What Blender plays on every frame if there are these keys only, or some of a frame later."""
    if len(keys) == 1:
        return numbers.copy()
    span, (one, out, two, back) = _cubics(keys, later)
    start, end = keys[span], keys[span + 1]
    values = one * numbers[start] + out * slopes[span] + two * numbers[end] + back * slopes[span + 1]
    return np.concatenate([values, numbers[-1:]])


def slopes(numbers, keys, *, cycle=False):
    """Those with which curves through these keys come nearest to all numbers, by least squares."""
    if len(keys) == 1:
        return np.zeros((1, numbers.shape[1]))
    span, (one, out, two, back) = _cubics(keys)
    left = numbers[:-1] - one * numbers[keys[span]] - two * numbers[keys[span + 1]]
    total = np.add.reduceat(np.concatenate([out * out, back * back, out * back, out * left, back * left], 1), keys[:-1])
    count, wide = len(keys), numbers.shape[1]
    along, firm = np.gradient(numbers, axis=0)[keys], np.full((count, 1), FIRM)
    if cycle:  # both ends have the same
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
    """The span that each frame but the last is in, and there the weights of both values and both slopes."""
    gap = np.diff(keys)
    span = np.repeat(np.arange(len(gap)), gap)
    long = gap[span][:, np.newaxis]
    u = (np.arange(keys[-1]) + later - keys[span])[:, np.newaxis] / long
    v = 1 - u
    return span, ((1 + 2 * u) * v * v, long * u * v * v, u * u * (3 - 2 * u), -long * u * u * v)


def _tridiagonal(below, middle, above, right):
    """Solve it for all columns: each row is rid of its neighbours, then of those twice as far, until it is alone."""
    step = 1
    while step < len(middle):
        lower, upper = (-side / _shifted(middle, by, 1.0) for side, by in ((below, step), (above, -step)))
        if max(np.abs(lower).max(), np.abs(upper).max()) < ALONE:
            break
        right = right + lower * _shifted(right, step) + upper * _shifted(right, -step)
        middle = middle + lower * _shifted(above, step) + upper * _shifted(below, -step)
        below, above = lower * _shifted(below, step), upper * _shifted(above, -step)
        step *= 2
    return right / middle


def _shifted(rows, by, fill=0.0):
    """Rows, each in the place of one `by` rows further on."""
    result = np.full_like(rows, fill)
    if by > 0:
        result[by:] = rows[:-by]
    else:
        result[:by] = rows[-by:]
    return result
