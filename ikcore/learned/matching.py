"""Motion matching: the frame of a library of clips with which to continue, given the present pose and the path ahead.

S. Clavet, "Motion matching and the road to next-gen animation", Game Developers Conference (2016). Features as in D.
Holden, O. Kanoun, M. Perepichka and T. Popa, "Learned motion matching", ACM Transactions on Graphics 39 (2020).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core, rotations
from ikcore._arrays import as_text, rows
from ikcore._call import broadcast_axes
from ikcore._threads import in_blocks
from ikcore.clips.clip import Clip

Array = NDArray[Any]


class MotionMatching:
    """The frames of clips as rows of features: the present motion of the body, and its path in the next second.

    Everything is relative to the position of the root on the ground and its heading. The features are the positions of
    some joints, their velocities, the velocity of the root, its future positions and its future headings. Each of these
    groups is divided by its standard deviation over all clips and multiplied by its weight.

    Parameters
    ----------
    clips : list of Clip
        Clips of one skeleton, frame rate and up axis.
    joints : list of str or int
        The joints whose positions and velocities count, for example the feet.
    root : str or int, optional
        The joint whose path and heading count. Default: the first of the skeleton.
    times : list of float, optional
        Times ahead, in seconds, at which the path counts. Frames too near to the end of their clip have no row.
    weights : dict, optional
        Weights of "positions", "velocities", "travel", "path" and "facing" (default: 1 each).
    transition : float, optional
        The cost of a jump: how much nearer than the present row another row must be, as squared distances.

    Attributes
    ----------
    clip, frame : (rows,) array
        For every row its clip, and its frame in that clip.

    Examples
    --------
    >>> import ikcore as ik
    >>> slow, fast = (ik.samples.walk(speed=speed, fps=30).clip for speed in (0.8, 1.6))
    >>> library = ik.learned.MotionMatching([slow, fast], ["LeftFoot", "RightFoot"], times=[0.2, 0.4])
    >>> now = 20  # in the slow walk
    >>> path, facing = library.ahead(now)
    >>> row, _ = library.search(now, path, facing)
    >>> int(row)  # its own path: it stays there
    20
    >>> row, _ = library.search(now, 2 * path, facing)
    >>> int(library.clip[row])  # twice as far: in the fast walk
    1
    """

    __slots__ = ("_ahead", "_facing", "_given", "_scales", "_table", "clip", "clips", "frame")

    clips: tuple[Clip, ...]
    clip: NDArray[np.intp]
    frame: NDArray[np.intp]

    def __init__(
        self,
        clips: Sequence[Clip],
        joints: Sequence[str | int],
        *,
        root: str | int | None = None,
        times: Sequence[float] = (1 / 3, 2 / 3, 1.0),
        weights: Mapping[str, float] | None = None,
        transition: float = 0.0,
    ) -> None:
        self.clips = _check_alike(clips)
        skeleton, fps = self.clips[0].skeleton, self.clips[0].fps
        self._given = (tuple(joints), root, tuple(times), dict(weights or {}), _not_negative("transition", transition))
        ends = [skeleton.index(joint) for joint in joints]
        later = [_frames_ahead(time, fps) for time in times]
        if not ends or not later:
            raise ValueError("joints, times: expected one or more of each")
        at = 0 if root is None else skeleton.index(root)
        seen = [_features(clip, at, ends, later) for clip in self.clips]
        counts = [len(groups["path"]) for groups in seen]
        if not sum(counts):
            raise ValueError(f"clips: expected some frame with {max(times):g} s ahead of it, got none")
        whole = {name: np.concatenate([groups[name] for groups in seen]) for name in _GROUPS}
        self._scales = _scales(whole, self._given[3])
        self._table = _core.Table(self._row(whole))
        self._ahead, self._facing = whole["path"], whole["facing"]
        self.clip = np.repeat(np.arange(len(counts)), counts)
        self.frame = np.concatenate([np.arange(count) for count in counts])

    def ahead(self, row: ArrayLike) -> tuple[Array, Array]:
        """The paths of rows in their clips: positions (..., times, 2) and headings (..., times) in radians.

        Positions are along the first and the last axis that is not up: x and z if Y is up, x and y if Z is up. Headings
        are counterclockwise as seen from above. Both are relative to the root at the row.
        """
        at = self._check_row(row)
        path, facing = self._ahead[at], self._facing[at]
        shape = (*at.shape, path.shape[-1] // 2, 2)
        cosines = facing.reshape(shape)
        return path.reshape(shape).copy(), np.arctan2(cosines[..., 1], cosines[..., 0])

    def next(self, row: ArrayLike) -> NDArray[np.intp]:
        """The row after each row in its clip; at the end of a clip the row itself, so that a jump is due."""
        at = self._check_row(row)
        after = np.minimum(at + 1, len(self) - 1)
        return np.where(self.clip[after] == self.clip[at], after, at)

    def search(
        self, row: ArrayLike, path: ArrayLike, facing: ArrayLike, *, workers: int | None = 1
    ) -> tuple[Any, NDArray[np.float64]]:
        """The best rows for bodies that move like the given rows and have the given paths ahead.

        Parameters
        ----------
        row : (...) array_like of int
            The present rows.
        path : (..., times, 2) array_like
            Wanted positions, as in `ahead`.
        facing : (..., times) array_like
            Wanted headings there, in radians.
        workers : int or None, optional
            Number of threads, None for all cores.

        Returns
        -------
        ((...) array of int, (...) array)
            The rows to continue with, and their distances. The present row is kept unless another one is nearer by more
            than the cost of a jump. For input that is not finite, the present row and NaN. Leading axes broadcast.
        """
        at, times = self._check_row(row), len(self._given[2])
        places = rows("path", path, _DOUBLE, times, 2)
        headings = rows("facing", facing, _DOUBLE, times)
        leading = {"row": at.shape, "path": places.shape[:-2], "facing": headings.shape[:-1]}
        shape = broadcast_axes("search", leading, leading)
        at = np.broadcast_to(at, shape)
        wanted = {
            "path": places.reshape(*places.shape[:-2], -1),
            "facing": np.stack([np.cos(headings), np.sin(headings)], axis=-1).reshape(*headings.shape[:-1], -1),
        }
        query = self._queries(at, wanted).reshape(-1, self._table.keys.shape[-1])
        found, distance = np.empty(len(query), np.int32), np.empty(len(query))
        in_blocks(len(query), _LOOK_UP, workers, lambda b: self._table.nearest(query, found, distance, b.start, b.stop))
        here = np.sqrt(((query - self._table.keys[at.reshape(-1)]) ** 2).sum(axis=-1))
        jumps = (here**2 > distance**2 + self._given[4]) & (found >= 0)
        chosen, far = np.where(jumps, found, at.reshape(-1)), np.where(jumps, distance, here)
        return chosen.reshape(shape)[()], far.reshape(shape)[()]

    def _queries(self, at: Array, wanted: dict[str, Array]) -> Array:
        """The rows with their path and headings replaced."""
        start = self._table.keys.shape[-1] - 2 * self._ahead.shape[-1]
        parts = [self._table.keys[at][..., :start]]
        parts += [wanted[name] * self._scales[name] for name in ("path", "facing")]
        return np.concatenate([np.broadcast_to(part, (*at.shape, part.shape[-1])) for part in parts], axis=-1)

    def _row(self, groups: Mapping[str, Array]) -> Array:
        return np.concatenate([groups[name] * self._scales[name] for name in _GROUPS], axis=-1)

    def _check_row(self, row: ArrayLike) -> NDArray[np.intp]:
        at = np.asarray(row)
        if at.dtype.kind not in "iu":
            raise TypeError(f"row: expected whole numbers, got {at.dtype}")
        if at.size and not (at.min() >= 0 and at.max() < len(self)):
            raise IndexError(f"row: expected 0 to {len(self) - 1}, got {at.min()} to {at.max()}")
        return at.astype(np.intp)

    def __len__(self) -> int:
        return len(self._table.keys)

    def __repr__(self) -> str:
        columns = self._table.keys.shape[-1]
        return f"MotionMatching({len(self)} frames of {len(self.clips)} clips, {columns} numbers each)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _matching_of, (self.clips, *self._given)


def _matching_of(
    clips: Sequence[Clip], joints: Any, root: Any, times: Any, weights: Any, transition: float
) -> MotionMatching:
    return MotionMatching(clips, joints, root=root, times=times, weights=weights, transition=transition)


_DOUBLE = np.dtype(float)
_LOOK_UP = 200  # cost of a look-up compared with an item of a closed form

# The groups of a row, in this order; a search replaces the last two, path and headings.
_GROUPS = ("positions", "velocities", "travel", "path", "facing")


def _check_alike(clips: Sequence[Clip]) -> tuple[Clip, ...]:
    given = tuple(clips)
    if not given:
        raise ValueError("clips: expected one or more, got none")
    for index, clip in enumerate(given):
        if not isinstance(clip, Clip):
            raise TypeError(f"clips[{index}]: expected a Clip, got {type(clip).__name__}")
        if clip.skeleton.names != given[0].skeleton.names or (clip.fps, clip.up) != (given[0].fps, given[0].up):
            raise ValueError(f"clips[{index}]: expected the joints, the frame rate and the up axis of clips[0]")
    return given


def _not_negative(name: str, value: float) -> float:
    number = float(value)
    if not 0 <= number < np.inf:
        raise ValueError(f"{name}: expected 0 or more, got {as_text(value)}")
    return number


def _frames_ahead(time: float, fps: float) -> int:
    frames = round(float(time) * fps)
    if frames < 1:
        raise ValueError(f"times: expected at least a frame each, {1 / fps:g} s, got {as_text(time)}")
    return frames


def _features(clip: Clip, root: int, joints: list[int], later: list[int]) -> dict[str, Array]:
    """The groups of all frames of a clip with enough frames ahead of them, (frames, n) each."""
    count = max(len(clip) - max(later), 0)
    ground, up = ([0, 2], [0, 1, 0]) if clip.up == "Y" else ([0, 1], [0, 0, 1])
    world, at_rest = clip.skeleton.forward(clip.pose), clip.skeleton.forward(clip.skeleton.rest)
    turned = rotations.multiply(world.rotations[:, root], rotations.conjugate(at_rest.rotations[root]))
    heading = rotations.swing_twist(turned, up)[1]
    base = world.positions[:, root].copy()
    base[:, up.index(1)] = 0
    back = rotations.conjugate(heading)[:count]

    def in_heading(vectors: Array) -> Array:
        return rotations.rotate(back[:, np.newaxis], vectors)

    points = world.positions[:, joints]
    groups = {
        "positions": in_heading(points[:count] - base[:count, np.newaxis]),
        "velocities": in_heading(_velocity(points, clip.fps)[:count]),
        "travel": in_heading(_velocity(base, clip.fps)[:count, np.newaxis])[..., ground],
        "path": in_heading(np.stack([base[n : n + count] - base[:count] for n in later], axis=1))[..., ground],
    }
    turns = [rotations.multiply(back, heading[n : n + count]) for n in later]
    angles = [rotations.log(turn)[:, up.index(1)] for turn in turns]
    groups["facing"] = np.stack([np.stack([np.cos(a), np.sin(a)], axis=-1) for a in angles], axis=1)
    return {name: np.asarray(group, float).reshape(count, math.prod(group.shape[1:])) for name, group in groups.items()}


def _velocity(points: Array, fps: float) -> Array:
    """Central differences; one-sided at the ends."""
    return np.asarray(np.gradient(points, axis=0) * fps) if len(points) > 1 else np.zeros_like(points)


def _scales(whole: Mapping[str, Array], weights: Mapping[str, float]) -> dict[str, float]:
    """The factor of each group."""
    if unknown := set(weights) - set(_GROUPS):
        raise ValueError(f"weights: expected names of {', '.join(_GROUPS)}, got {', '.join(sorted(unknown))}")
    spread = {name: float(np.sqrt(group.var(axis=0).mean())) for name, group in whole.items()}
    given = {name: _not_negative(f"weights[{name!r}]", weights.get(name, 1.0)) for name in _GROUPS}
    return {name: weight / (spread[name] if spread[name] > _FLAT else 1) for name, weight in given.items()}


_FLAT = 1e-9  # a group that varies less counts as constant and is not divided
