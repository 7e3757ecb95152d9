"""Clips: a skeleton and its pose over time."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore.clips.axes import TURNED, Turn
from ikcore.clips.mirror import Mirror, partners_of
from ikcore.clips.provenance import Origin
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton


class FormatError(ValueError):
    """A damaged file, or one of another format than its extension. The message has the file, line and reason."""


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A skeleton and its pose over time. Immutable: methods that change a clip return a new one.

    Parameters
    ----------
    skeleton : Skeleton
        The joints.
    pose : Pose
        The pose of every frame: one leading axis.
    fps : float
        Frames per second. Odd rates of files, such as 120.00048, are kept.
    loop : bool, default: False
        True if the clip repeats. The last frame of a loop equals its first one, except for the position of the root.
    up : {"Y", "Z"}
        The axis that points up.
    unit : float, default: 1
        Metres per unit of length.
    channels : sequence of str, optional
        The channels of every joint in a BVH file, in order: lower case letters are positions, capitals rotations.
        "xyzZXY" stands for ``Xposition Yposition Zposition Zrotation Xrotation Yrotation``. They are kept for writing.
    origin : Origin, optional
        Provenance: what `bake_feet` did, for the next bake on the same ground. A new pose with the same
        number of frames keeps it, and the bake finds the stances that were moved. Other frames, axes or units drop it.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0]])
    >>> bends = ik.rotations.from_axis_angle([0, 0, 1], np.linspace(0, 1, 31)[:, np.newaxis] * [1, 0])
    >>> clip = ik.Clip(arm, ik.Pose(bends), fps=30)
    >>> clip
    Clip(31 frames of 2 joints at 30 fps, 1 s, Y up)
    >>> clip[10:21].duration, len(clip.resample(60))
    (0.3333333333333333, 61)
    """

    skeleton: Skeleton
    pose: Pose
    fps: float
    loop: bool = False
    up: str = "Y"
    unit: float = 1.0
    channels: tuple[str, ...] | None = None
    origin: Origin | None = None

    def __post_init__(self) -> None:
        for name, kind in (("skeleton", Skeleton), ("pose", Pose)):
            if not isinstance(given := getattr(self, name), kind):
                raise TypeError(f"{name}: expected a {kind.__name__}, got {type(given).__name__}")
        if len(self.pose.shape) != 1 or len(self.pose) < 1:
            raise ValueError(f"pose: expected one leading axis, time, of one frame or more, got {self.pose.shape}")
        if self.pose.joints != len(self.skeleton):
            raise ValueError(f"pose: expected {len(self.skeleton)} joints as the skeleton has, got {self.pose.joints}")
        for name in ("fps", "unit"):
            object.__setattr__(self, name, _positive(name, getattr(self, name)))
        if self.up not in TURNED:
            raise ValueError(f"up: expected 'Y' or 'Z', got {self.up!r}")
        if self.channels is not None:
            object.__setattr__(self, "channels", _checked_channels(self.channels, len(self.skeleton)))
        if self.origin is not None and self.origin.frames != len(self):
            object.__setattr__(self, "origin", None)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        animation: str | None = None,
        *,
        up: str | None = "Y",
        unit: float | None = 1.0,
    ) -> Clip:
        """Read a .bvh, .gltf or .glb file, see `ikcore.bvh.read` and `ikcore.gltf.read`.

        Parameters
        ----------
        path : path
        animation : str, optional
            Name of the animation in a glTF file.
        up : {"Y", "Z", None}, default: "Y"
            The up axis of the file. BVH files do not contain it; most have Y, as glTF has. None: guessed from the
            direction of the legs.
        unit : float or None, default: 1
            Metres per unit of length: 0.01 for centimetres, 0.0254 for inches. BVH files do not contain it. None: the
            unit with which the leg length is most like a human's, of metres, centimetres, inches, millimetres, and
            the 0.0564 m of the CMU library.

        Returns
        -------
        Clip
            The clip in the axes and units of the file; `convert` changes them. Files do not say whether a clip is a
            loop: ``dataclasses.replace(clip, loop=True)`` makes it one.
        """
        from ikcore.clips import formats  # imported here: its modules import Clip

        return formats.read(path, animation, up=up, unit=unit)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a .bvh file, see `ikcore.bvh.write`.

        Parameters
        ----------
        path : path
            The file. If there is one it is replaced.
        """
        from ikcore.clips import formats

        formats.write(self, path)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (len(self) - 1) / self.fps

    def __len__(self) -> int:
        return len(self.pose)

    def __getitem__(self, frames: slice) -> Clip:
        """Some of the frames, selected like a slice of a list; `clip.pose` has single frames."""
        if not isinstance(frames, slice):
            raise TypeError(f"expected a slice such as clip[10:20], got {frames!r}; clip.pose[3] is a single pose")
        start, stop, step = frames.indices(len(self))
        if step < 0 or len(range(start, stop, step)) == 0:
            raise ValueError(f"expected frames among 0 to {len(self) - 1}, ascending, got {_text(frames)}")
        whole = (start, step) == (0, 1) and stop == len(self)
        loop, origin = self.loop and whole, self.origin if whole else None
        return dataclasses.replace(self, pose=self.pose[frames], fps=self.fps / step, loop=loop, origin=origin)

    def cut(self, start: float = 0.0, end: float | None = None) -> Clip:
        """The frames from one time to another, both included.

        Parameters
        ----------
        start : float, default: 0
            Start time in seconds. The frame nearest to it is the first one.
        end : float, optional
            End time in seconds. The frame nearest to it is the last one (default: the end).

        Examples
        --------
        >>> import ikcore as ik
        >>> walk = ik.samples.walk(seconds=2).clip
        >>> walk.cut(0.5, 1.5).duration
        1.0
        """
        end = self.duration if end is None else end
        if not -0.5 <= start * self.fps <= end * self.fps < len(self) - 0.5:
            raise ValueError(f"cut: expected 0 <= start <= end <= {self.duration:g} seconds, got {start:g} to {end:g}")
        return self[round(start * self.fps) : round(end * self.fps) + 1]

    def resample(self, fps: float) -> Clip:
        """The same motion at another frame rate: rotations are interpolated along the shorter arc, the rest linearly.

        Parameters
        ----------
        fps : float
            Frames per second. A loop keeps its first and last frame, and takes the nearest rate that allows this.

        Returns
        -------
        Clip
            As long as the old one, or shorter by less than a frame. Frames at the times of old ones are the same.

        Examples
        --------
        >>> import ikcore as ik
        >>> ik.samples.walk(seconds=2, fps=120).clip.resample(30)
        Clip(61 frames of 21 joints at 30 fps, 2 s, Y up)
        """
        fps, last = _positive("fps", fps), len(self) - 1
        if self.loop and last:
            steps = max(1, round(self.duration * fps))
            pose = self._interpolate(np.arange(steps + 1) * last / steps)
            return dataclasses.replace(self, pose=pose, fps=steps / self.duration, origin=None)
        steps = math.floor(last * fps / self.fps + 1e-6)  # a frame that rounding puts beyond the end is none
        return dataclasses.replace(
            self, pose=self._interpolate(np.arange(steps + 1) * self.fps / fps), fps=fps, origin=None
        )

    def _interpolate(self, frames: NDArray[Any]) -> Pose:
        """The poses at so many frames from the start, which may be fractions."""
        last = len(self) - 1
        share, whole = np.modf(np.minimum(frames, last))
        before = whole.astype(np.intp)
        after = np.minimum(before + 1, last)
        t = share.astype(self.pose.dtype)[:, np.newaxis]

        def straight(values: NDArray[Any] | None) -> NDArray[Any] | None:
            if values is None:
                return None
            moved: NDArray[Any] = values[before] + t[..., np.newaxis] * (values[after] - values[before])
            return moved

        pose = self.pose
        turned = rotations.slerp(pose.rotations[before], pose.rotations[after], t)
        return Pose(turned, straight(pose.translations), straight(pose.scales))

    def mirror(self, pairs: Mapping[str, str] | None = None) -> Clip:
        """The mirror image of the motion in the plane x = 0: left and right are exchanged.

        Every joint is exactly at the mirror image of its partner, so bones have the lengths of their partners. Rest
        rotations are kept, so limits and meshes need no change.

        Parameters
        ----------
        pairs : mapping of str to str, optional
            The joints of one side and their partners. The others are in the middle. Default: names that differ in Left
            and Right, or in one letter L and R, in any case.

        Examples
        --------
        >>> import ikcore as ik
        >>> walk = ik.samples.walk(seconds=2).clip
        >>> left, right = walk.skeleton.index("LeftFoot"), walk.skeleton.index("RightFoot")
        >>> mirrored = walk.mirror()
        >>> there = walk.skeleton.forward(walk.pose).positions[:, left]
        >>> here = mirrored.skeleton.forward(mirrored.pose).positions[:, right]
        >>> np.allclose(here, there * [-1, 1, 1])
        True
        """
        partner = partners_of(self.skeleton, pairs)
        facing = Mirror(self.skeleton, partner)
        pose = self.pose
        scales = None if pose.scales is None else facing.scales_of(pose.scales)
        moved = None if pose.translations is None else facing.translations_of(pose.translations)
        channels = None if self.channels is None else tuple(self.channels[joint] for joint in partner)
        skeleton = facing.skeleton(self.skeleton)
        pose = Pose(facing.rotations_of(pose.rotations), moved, scales)
        return dataclasses.replace(self, skeleton=skeleton, pose=pose, channels=channels, origin=None)

    def convert(self, *, up: str | None = None, unit: float | None = None) -> Clip:
        """The same motion with another axis up, or in another unit of length.

        Only the roots turn. All other local rotations stay, and so do the spaces of meshes and limits.

        Parameters
        ----------
        up : {"Y", "Z"}, optional
            The axis that points up; the x axis is kept.
        unit : float, optional
            Metres per unit of length.

        Examples
        --------
        >>> import ikcore as ik
        >>> walk = ik.samples.walk(seconds=2).clip
        >>> centimetres = walk.convert(up="Z", unit=0.01)
        >>> centimetres
        Clip(121 frames of 21 joints at 60 fps, 2 s, Z up, unit 0.01 m)
        >>> centimetres.skeleton.offsets[0]
        array([  0.,   0., 100.])
        """
        up, unit = self.up if up is None else up, self.unit if unit is None else unit
        changed = dataclasses.replace(self, up=up, unit=unit, origin=None)
        if any(limit and limit.position is not None for limit in self.skeleton.limits):
            raise ValueError("convert: limits of positions are not converted: make the skeleton without them")
        turn = Turn(self, changed)
        skeleton = turn.skeleton(self.skeleton)
        moved = None if self.pose.translations is None else turn.translations_of(self.pose.translations)
        pose = Pose(turn.rotations_of(self.pose.rotations), moved, self.pose.scales)
        return dataclasses.replace(changed, skeleton=skeleton, pose=pose)

    @staticmethod
    def concatenate(clips: Iterable[Clip]) -> Clip:
        """Join clips one after another, without blending or moving them: no loop, with the channels of the first.

        Parameters
        ----------
        clips : sequence of Clip
            Clips of one skeleton, rate, axis and unit.

        Examples
        --------
        >>> import ikcore as ik
        >>> walk = ik.samples.walk(seconds=2).clip
        >>> len(ik.Clip.concatenate([walk[:50], walk[50:]])) == len(walk)
        True
        """
        clips = list(clips)
        if not clips:
            raise ValueError("concatenate: expected at least one clip")
        for name in ("skeleton", "fps", "up", "unit"):
            values = [getattr(clip, name) for clip in clips]
            if any(value != values[0] for value in values):
                raise ValueError(f"concatenate: expected clips of one {name}, got {', '.join(map(str, values[:4]))}")
        return dataclasses.replace(clips[0], pose=_join(clips), loop=False, origin=None)

    def __repr__(self) -> str:
        unit = "" if self.unit == 1 else f", unit {self.unit:g} m"
        frames = f"{len(self)} frame{'s' * (len(self) != 1)} of {len(self.skeleton)} joints at {self.fps:g} fps"
        return f"Clip({frames}, {self.duration:g} s{', loop' * self.loop}, {self.up} up{unit})"


def _positive(name: str, value: float) -> float:
    number = float(value)
    if not 0 < number < math.inf:
        raise ValueError(f"{name}: expected a positive number, got {value!r}")
    return number


def _checked_channels(channels: Iterable[str], joints: int) -> tuple[str, ...]:
    each = tuple(channels)
    if len(each) != joints:
        raise ValueError(f"channels: expected one for each of the {joints} joints, got {len(each)}")
    strange = [letters for letters in each if not isinstance(letters, str)]
    strange = strange or [
        letters for letters in dict.fromkeys(each) if not {*letters} <= {*"xyzXYZ"} or len({*letters}) < len(letters)
    ]
    if strange:
        raise ValueError(f"channels: expected letters of 'xyzXYZ', none of them twice, got {strange[0]!r}")
    return each


def _text(frames: slice) -> str:
    ends = ["" if end is None else str(end) for end in (frames.start, frames.stop, frames.step)]
    return f"[{':'.join(ends if ends[2] else ends[:2])}]"


def _join(clips: list[Clip]) -> Pose:
    """All frames of poses of one skeleton."""
    poses = [clip.pose for clip in clips]

    def parts(values: list[NDArray[Any] | None], otherwise: NDArray[Any]) -> NDArray[Any] | None:
        if all(value is None for value in values):
            return None
        whole = [
            np.broadcast_to(otherwise.astype(pose.dtype), (len(pose), *otherwise.shape)) if value is None else value
            for pose, value in zip(poses, values, strict=True)
        ]
        return np.concatenate(whole)

    offsets = clips[0].skeleton.offsets
    translations = parts([pose.translations for pose in poses], offsets)
    scales = parts([pose.scales for pose in poses], np.ones_like(offsets))
    return Pose(np.concatenate([pose.rotations for pose in poses]), translations, scales)
