"""A character with 76 clips (IKCORE_BODIES): what is learned from most of them is judged by those left out."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ikcore as ik

BODIES = Path(os.environ.get("IKCORE_BODIES", "none"))
needs_bodies = pytest.mark.skipif(not BODIES.is_dir(), reason="IKCORE_BODIES names no folder of bodies")

# Indices among the 76 clips, in their order in the file.
LEFT_OUT = (5, 64, 61, 16, 58, 39, 35, 71, 45, 8, 47, 30, 72, 62, 4, 70)
# The joints below the hips that animators turn.
INNER = [
    *("spine", "chest", "head"),
    *(f"{part}.{side}" for part in ("upperarm", "lowerarm", "wrist", "hand") for side in "lr"),
    *(f"{part}.{side}" for part in ("upperleg", "lowerleg", "foot", "toes") for side in "lr"),
]
ENDS = {"hand.l": "spine", "hand.r": "spine", "foot.l": "upperleg.l", "foot.r": "upperleg.r", "head": "spine"}
GOALS = [ik.Reach(end, position=..., chain=chain) for end, chain in ENDS.items()]


@functools.cache
def clips() -> tuple[list[ik.Clip], list[ik.Clip]]:
    """Those to learn from, and those left out."""
    path = BODIES / "Knight.glb"
    read = [ik.gltf.read(path, name) for name in ik.gltf.animations(path)]
    return [clip for i, clip in enumerate(read) if i not in LEFT_OUT], [read[i] for i in sorted(LEFT_OUT)]


def joined(chosen: list[ik.Clip]) -> ik.Pose:
    """All frames as poses of one skeleton, that of the first."""
    turned = np.concatenate([clip.pose.rotations for clip in chosen])
    moved = [clip.skeleton.offsets if clip.pose.translations is None else clip.pose.translations for clip in chosen]
    shapes = [(len(clip), len(clip.skeleton), 3) for clip in chosen]
    return ik.Pose(turned, np.concatenate([np.broadcast_to(m, s) for m, s in zip(moved, shapes, strict=True)]))


def known() -> tuple[ik.Skeleton, ik.Pose, ik.Pose]:
    """The skeleton, 2371 poses to learn from, 447 left out."""
    learn, left_out = clips()
    return learn[0].skeleton, joined(learn), joined(left_out)


def ends_of(skeleton: ik.Skeleton, pose: ik.Pose) -> list[NDArray[Any]]:
    """Positions of the effectors in poses."""
    at = skeleton.forward(pose).positions
    return [at[..., skeleton.index(end), :] for end in ENDS]


def off(skeleton: ik.Skeleton, poses: ik.Pose, truth: ik.Pose) -> NDArray[Any]:
    """By how many degrees the inner joints of each pose are turned otherwise, on average."""
    inner = [skeleton.index(joint) for joint in INNER]
    between = ik.rotations.multiply(ik.rotations.conjugate(poses.rotations), truth.rotations)[..., inner, :]
    return np.asarray(np.degrees(ik.rotations.to_axis_angle(between)[1]).mean(axis=-1))
