"""BVH, the text format of most motion capture files: a hierarchy of joints, then numbers for every frame.

The format has no specification. As in most programs, positions replace a joint's offset, rotations multiply in the
order in which they are listed, and angles are degrees. An ``End Site``, which gives the length of the last bone of a
chain, becomes a joint. Its name comes from its parent, such as "LeftToeBase_end". One without length is dropped.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from ikcore import _files, rotations
from ikcore.clips.bvh_reader import (
    Words,
    check_room,
    decode,
    full_order,
    read_joints,
    read_motion,
    rotations_of,
    start_of_motion,
    translations_from,
)
from ikcore.clips.bvh_writer import (
    DIGITS,
    HALF_DIGIT,
    check_names,
    depth_first,
    euler_angles,
    frame_lines,
    frame_time_text,
    hierarchy_lines,
    translations_of,
    usual_channels,
    wide_enough,
    without_scales,
)
from ikcore.clips.clip import Clip
from ikcore.clips.provenance import Origin
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton


def read(path: str | os.PathLike[str], *, up: str = "Y", unit: float = 1.0) -> Clip:
    """Read a BVH file.

    Parameters
    ----------
    path : path
    up : {"Y", "Z"}
        The axis of the file that points up. The file does not say.
    unit : float, default: 1
        Metres per unit of length, which the file does not say either.

    Returns
    -------
    Clip
        A clip with the joints in the order of the file, float64, without rest rotations. It has translations if any
        joint has positions, and its origin if that is in the file beside it, `origin_path`.

    Raises
    ------
    FormatError
        If the file is damaged or not a BVH file: one sentence, with the line.
    """
    data = _files.read(path)
    start = start_of_motion(data)
    joints = read_joints(Words(os.fspath(path), decode(data[:start])))
    values, frame_time = read_motion(os.fspath(path), data, start, sum(len(joint.channels) for joint in joints))
    check_room(f"{os.fspath(path)}, line {data.count(10, 0, start) + 1}", joints, len(values), len(data))
    skeleton = Skeleton(
        [joint.parent for joint in joints], [joint.offset for joint in joints], names=[joint.name for joint in joints]
    )
    pose = Pose(rotations_of(values, joints), translations_from(values, joints))
    channels = tuple(joint.channels for joint in joints)
    origin = _read_origin(path)
    return Clip(skeleton, pose, 1 / frame_time, up=up, unit=unit, channels=channels, origin=origin)


def write(clip: Clip, path: str | os.PathLike[str]) -> None:
    """Write a BVH file, with six decimals.

    Joints have the channels listed in the clip, and more if those cannot hold the motion. By default a root has six
    channels and other joints three rotations, ZXY. Angles continue from frame to frame without jumps. A childless joint
    that does not move and is named as `read` names an ``End Site`` becomes one. Scales, which BVH lacks, are merged
    into the translations, so joint positions are kept. Rest rotations are lost, because BVH has none.
    The origin of the clip is written to a file beside it, `origin_path`, which is removed if there is none.

    Parameters
    ----------
    clip : Clip
        The clip.
    path : path
        The file. An existing one is replaced.
    """
    skeleton, pose = clip.skeleton, without_scales(clip)
    check_names(os.fspath(path), skeleton.names)
    given = clip.channels if clip.channels and any(clip.channels) else usual_channels(skeleton)
    orders = [full_order(letters) for letters in given]
    angles = euler_angles(pose, orders)
    translations = translations_of(skeleton, pose)
    if not (np.isfinite(angles).all() and np.isfinite(translations).all()):
        raise ValueError(f"{os.fspath(path)}: a BVH file cannot hold what is not finite: the pose has NaN or infinity")
    moves = np.abs(translations - skeleton.offsets.astype(pose.dtype)).max(axis=0) >= HALF_DIGIT
    turns = np.abs(angles).max(axis=0) >= HALF_DIGIT
    channels = [wide_enough(*row) for row in zip(given, orders, moves, turns, strict=True)]
    tree = depth_first(skeleton)
    columns = [
        translations[:, joint, "xyz".index(letter)]
        if letter.islower()
        else angles[:, joint, orders[joint].index(letter)]
        for joint, _ in tree
        for letter in channels[joint]
    ]
    values = np.round(np.stack(columns, axis=-1), DIGITS) + 0  # avoids -0
    head = "\n".join(hierarchy_lines(skeleton, channels, tree))
    head += f"\nMOTION\nFrames: {len(clip)}\nFrame Time: {frame_time_text(clip.fps)}\n"
    _files.write(path, chain([head], frame_lines(values)))
    _write_origin(clip, path)


def origin_path(path: str | os.PathLike[str]) -> Path:
    """The file beside a BVH file that holds the origin of its clip, as BVH has no place for it.

    Parameters
    ----------
    path : path
        The BVH file.

    Returns
    -------
    Path
        Its name with ``.ikcore.json`` after it.
    """
    return Path(f"{os.path.realpath(path)}.ikcore.json")


def _write_origin(clip: Clip, path: str | os.PathLike[str]) -> None:
    beside = origin_path(path)
    if clip.origin is not None:
        _files.write(beside, [_without_scales(clip.origin, clip).to_json(), "\n"])
    elif beside.is_file():  # it belongs to a clip that was replaced
        beside.unlink()


def _without_scales(origin: Origin, clip: Clip) -> Origin:
    """The origin with the points of soles in joint spaces without scales, where they are in the first frame."""
    skeleton, carriers, first = clip.skeleton, [joint for joint, _ in origin.soles.values()], clip.pose[0]
    if first.scales is None or not carriers or not set(carriers) <= set(skeleton.names):
        return origin
    joints = [skeleton.index(joint) for joint in carriers]
    offsets = np.array([offset for _, offset in origin.soles.values()])
    # each point is a joint of its own
    longer = Skeleton([*skeleton.parents.tolist(), *joints], np.concatenate([skeleton.offsets, offsets]))
    moved = None if first.translations is None else np.concatenate([first.translations, offsets])
    turned = np.concatenate([first.rotations, np.tile([1.0, 0, 0, 0], (len(joints), 1))])
    scales = np.concatenate([first.scales, np.ones_like(offsets)])
    world = longer.forward(Pose(turned, moved, scales))
    ways = world.positions[len(skeleton) :] - world.positions[joints]
    places = rotations.rotate(rotations.conjugate(world.rotations[joints]), ways)
    soles = {
        key: (joint, (float(x), float(y), float(z)))
        for (key, (joint, _)), (x, y, z) in zip(origin.soles.items(), places.tolist(), strict=True)
    }
    return replace(origin, soles=soles)


def _read_origin(path: str | os.PathLike[str]) -> Origin | None:
    beside = origin_path(path)
    return Origin.from_json(_files.read(beside).decode("utf-8", "replace")) if beside.is_file() else None


__all__ = ["read", "write"]


def __dir__() -> list[str]:
    return __all__
