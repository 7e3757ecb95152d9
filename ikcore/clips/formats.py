"""Which module reads and writes a file of motion: by its ending."""

from __future__ import annotations

import os
from pathlib import Path

from ikcore.clips import bvh, gltf
from ikcore.clips.clip import Clip


def read(path: str | os.PathLike[str], animation: str | None, *, up: str, unit: float) -> Clip:
    """The clip in a file, see `Clip.read`."""
    if _ending(path, ".bvh", ".gltf", ".glb") != ".bvh":
        return gltf.read(path, animation, up=up, unit=unit)
    if animation is not None:
        raise ValueError(f"{os.fspath(path)}: a BVH file has one animation, without a name, got {animation!r}")
    return bvh.read(path, up=up, unit=unit)


def write(clip: Clip, path: str | os.PathLike[str]) -> None:
    """Write a clip to a file, see `Clip.write`."""
    _ending(path, ".bvh")
    bvh.write(clip, path)


def _ending(path: str | os.PathLike[str], *known: str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise ValueError(f"{os.fspath(path)}: expected a file that ends in {' or '.join(known)}, got {ending!r}")
    return ending
