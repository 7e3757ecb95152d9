"""The reader and writer of a motion file, chosen by its file name extension."""

from __future__ import annotations

import os
from pathlib import Path

from ikcore.clips import bvh, gltf
from ikcore.clips.clip import Clip
from ikcore.feet.guess_units import guess_units


def read(path: str | os.PathLike[str], animation: str | None, *, up: str | None, unit: float | None) -> Clip:
    """The clip in a file, see `Clip.read`."""
    if isinstance(unit, str):
        raise ValueError(f"unit: expected metres in one unit, or None, got {unit!r}")
    clip = _read(path, animation, up="Y" if up is None else up, unit=1.0 if unit is None else unit)
    if up is not None and unit is not None:
        return clip
    return guess_units(clip, up=up is None, unit=unit is None, says_axes=Path(path).suffix.lower() != ".bvh")


def _read(path: str | os.PathLike[str], animation: str | None, *, up: str, unit: float) -> Clip:
    if _extension(path, ".bvh", ".gltf", ".glb") != ".bvh":
        return gltf.read(path, animation, up=up, unit=unit)
    if animation is not None:
        raise ValueError(f"{os.fspath(path)}: a BVH file has one animation, without a name, got {animation!r}")
    return bvh.read(path, up=up, unit=unit)


def write(clip: Clip, path: str | os.PathLike[str]) -> None:
    """Write a clip to a file, see `Clip.write`."""
    _extension(path, ".bvh")
    bvh.write(clip, path)


def _extension(path: str | os.PathLike[str], *known: str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise ValueError(f"{os.fspath(path)}: expected a file that ends in {' or '.join(known)}, got {ending!r}")
    return ending
