"""Motion matching: in which frame of a library of clips to go on, by the pose now and the path ahead.

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
from ikcore._arrays import broadcast_axes, in_blocks, rows, shown
from ikcore.clips.clip import Clip

Array = NDArray[Any]


class MotionMatching:
    """The frames of clips as rows of numbers: how the body moves now, and where it goes in the next second.

    All is seen from the place of the root on the ground, turned by its heading. The numbers are the positions of some
    joints, their velocities, the velocity of the root, its places ahead and its headings there. Each of these groups is
    divided by its standard deviation over all clips, and counts by its weight.

    Parameters
    ----------
    clips : list of Clip
        Of one skeleton, one frame rate, and one axis that is up.
    joints : list of str or int
        The joints whose positions and velocities count: the feet, say.
    root : str or int, optional
        The joint whose path and heading count. Default: the first of the skeleton.
    times : list of float, optional
        Where the path counts, in seconds ahead. Frames with less ahead of them have no row.
    weights : dict, optional
        Of "positions", "velocities", "travel", "path" and "facing" (default: 1 each).
    transition : float, optional
        The cost of a jump: by how much another row has to be nearer than the present one, as squared distances.

    Attributes
    ----------
    clip, frame : (rows,) array
        Of every row the clip, and the frame in it.

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
        self.clips = _alike(clips)
        skeleton, fps = self.clips[0].skeleton, self.clips[0].fps
        self._given = (tuple(joints), root, tuple(times), dict(weights or {}), _not_negative("transition", transition))
        ends = [skeleton.index(joint) for joint in joints]
        later = [_frames_ahead(time, fps) for time in times]
        if not ends or not later:
            raise ValueError("joints, times: expected one or more of each")
        at = 0 if root is None else skeleton.index(root)
        seen = [_seen(clip, at, ends, later) for clip in self.clips]
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
        """The path of rows as it was: places (..., times, 2) and headings (..., times), radians.

        Places are along the first and the last of the two axes that are not up: x and z where Y is up, x and y where Z
        is. Headings turn counterclockwise as seen from above. Both are relative to the root at the row.
        """
        at = self._checked(row)
        path, facing = self._ahead[at], self._facing[at]
        shape = (*at.shape, path.shape[-1] // 2, 2)
        cosines = facing.reshape(shape)
        return path.reshape(shape).copy(), np.arctan2(cosines[..., 1], cosines[..., 0])

    def next(self, row: ArrayLike) -> NDArray[np.intp]:
        """The row that comes after rows in their clips; the same at the end of a clip, where a jump is due."""
        at = self._checked(row)
        after = np.minimum(at + 1, len(self) - 1)
        return np.where(self.clip[after] == self.clip[at], after, at)

    def search(
        self, row: ArrayLike, path: ArrayLike, facing: ArrayLike, *, workers: int | None = 1
    ) -> tuple[Any, NDArray[np.float64]]:
        """The rows nearest to bodies that move as rows do, and have such paths ahead.

        Parameters
        ----------
        row : (...) array_like of int
            The rows that bodies are at.
        path : (..., times, 2) array_like
            Where they should be, as `ahead` has it.
        facing : (..., times) array_like
            Their headings there, radians.
        workers : int or None, optional
            How many threads, None for all cores.

        Returns
        -------
        ((...) array of int, (...) array)
            The rows to be at instead, each the present one unless another is nearer by more than the cost of a jump;
            and the distances. Where something is not finite the present row, and NaN. Leading axes broadcast.
        """
        at, times = self._checked(row), len(self._given[2])
        places = rows("path", path, _DOUBLE, times, 2)
        headings = rows("facing", facing, _DOUBLE, times)
        leading = {"row": at.shape, "path": places.shape[:-2], "facing": headings.shape[:-1]}
        shape = broadcast_axes("search", leading, leading)
        at = np.broadcast_to(at, shape)
        wanted = {
            "path": places.reshape(*places.shape[:-2], -1),
            "facing": np.stack([np.cos(headings), np.sin(headings)], axis=-1).reshape(*headings.shape[:-1], -1),
        }
        query = self._asked(at, wanted).reshape(-1, self._table.keys.shape[-1])
        found, distance = np.empty(len(query), np.int32), np.empty(len(query))
        in_blocks(len(query), _LOOK_UP, workers, lambda b: self._table.nearest(query, found, distance, b.start, b.stop))
        here = np.sqrt(((query - self._table.keys[at.reshape(-1)]) ** 2).sum(axis=-1))
        jumps = (here**2 > distance**2 + self._given[4]) & (found >= 0)
        chosen, far = np.where(jumps, found, at.reshape(-1)), np.where(jumps, distance, here)
        return chosen.reshape(shape)[()], far.reshape(shape)[()]

    def _asked(self, at: Array, wanted: dict[str, Array]) -> Array:
        """Rows whose last two groups are replaced."""
        start = self._table.keys.shape[-1] - 2 * self._ahead.shape[-1]
        parts = [self._table.keys[at][..., :start]]
        parts += [wanted[name] * self._scales[name] for name in ("path", "facing")]
        return np.concatenate([np.broadcast_to(part, (*at.shape, part.shape[-1])) for part in parts], axis=-1)

    def _row(self, groups: Mapping[str, Array]) -> Array:
        return np.concatenate([groups[name] * self._scales[name] for name in _GROUPS], axis=-1)

    def _checked(self, row: ArrayLike) -> NDArray[np.intp]:
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
        return _made, (self.clips, *self._given)


def _made(clips: Sequence[Clip], joints: Any, root: Any, times: Any, weights: Any, transition: float) -> MotionMatching:
    return MotionMatching(clips, joints, root=root, times=times, weights=weights, transition=transition)


_DOUBLE = np.dtype(float)
_LOOK_UP = 200  # cost of a look-up compared with an item of a closed form

# What rows consist of, in this order; the path and the headings last, which a search replaces.
_GROUPS = ("positions", "velocities", "travel", "path", "facing")


def _alike(clips: Sequence[Clip]) -> tuple[Clip, ...]:
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
        raise ValueError(f"{name}: expected 0 or more, got {shown(value)}")
    return number


def _frames_ahead(time: float, fps: float) -> int:
    frames = round(float(time) * fps)
    if frames < 1:
        raise ValueError(f"times: expected at least a frame each, {1 / fps:g} s, got {shown(time)}")
    return frames


def _seen(clip: Clip, root: int, joints: list[int], later: list[int]) -> dict[str, Array]:
    """The groups of all frames of a clip that have enough ahead of them, (frames, n) each."""
    count = max(len(clip) - max(later), 0)
    ground, up = ([0, 2], [0, 1, 0]) if clip.up == "Y" else ([0, 1], [0, 0, 1])
    world, at_rest = clip.skeleton.forward(clip.pose), clip.skeleton.forward(clip.skeleton.rest)
    turned = rotations.multiply(world.rotations[:, root], rotations.conjugate(at_rest.rotations[root]))
    heading = rotations.swing_twist(turned, up)[1]
    base = world.positions[:, root].copy()
    base[:, up.index(1)] = 0
    back = rotations.conjugate(heading)[:count]

    def own(vectors: Array) -> Array:
        return rotations.rotate(back[:, np.newaxis], vectors)

    points = world.positions[:, joints]
    groups = {
        "positions": own(points[:count] - base[:count, np.newaxis]),
        "velocities": own(_velocity(points, clip.fps)[:count]),
        "travel": own(_velocity(base, clip.fps)[:count, np.newaxis])[..., ground],
        "path": own(np.stack([base[n : n + count] - base[:count] for n in later], axis=1))[..., ground],
    }
    turns = [rotations.multiply(back, heading[n : n + count]) for n in later]
    angles = [rotations.log(turn)[:, up.index(1)] for turn in turns]
    groups["facing"] = np.stack([np.stack([np.cos(a), np.sin(a)], axis=-1) for a in angles], axis=1)
    return {name: np.asarray(group, float).reshape(count, math.prod(group.shape[1:])) for name, group in groups.items()}


def _velocity(points: Array, fps: float) -> Array:
    """Central differences; at the ends to the neighbour."""
    return np.asarray(np.gradient(points, axis=0) * fps) if len(points) > 1 else np.zeros_like(points)


def _scales(whole: Mapping[str, Array], weights: Mapping[str, float]) -> dict[str, float]:
    """What each group is multiplied by."""
    if unknown := set(weights) - set(_GROUPS):
        raise ValueError(f"weights: expected names of {', '.join(_GROUPS)}, got {', '.join(sorted(unknown))}")
    spread = {name: float(np.sqrt(group.var(axis=0).mean())) for name, group in whole.items()}
    given = {name: _not_negative(f"weights[{name!r}]", weights.get(name, 1.0)) for name in _GROUPS}
    return {name: weight / (spread[name] if spread[name] > _FLAT else 1) for name, weight in given.items()}


_FLAT = 1e-9  # a group that varies less is the same in all frames, and is not divided
