"""Animations of a glTF file: key frames and their interpolation."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ikcore import _files, rotations
from ikcore.clips import provenance
from ikcore.clips.clip import FormatError
from ikcore.clips.gltf_file import Array, File, name_list, unique_names
from ikcore.clips.provenance import Origin

_Track = tuple[Array, Array, str]  # times of the keys, their values, interpolation


def animation_of(file: File, animation: str | None) -> tuple[dict[str, Any], str]:
    """An animation and its name."""
    given = file.json.get("animations", [])
    names = unique_names(given)
    if animation is None and len(names) != 1:
        found = f"{len(names)}: {name_list(names)}; name one with `animation`" if names else "none"
        raise FormatError(f"expected one animation, got {found}")
    if animation is not None and animation not in names:
        raise FormatError(f"there is no animation {animation!r} among {name_list(names) or 'none'}")
    at = 0 if animation is None else names.index(animation)
    return given[at], names[at]


def origin_of(chosen: dict[str, Any]) -> Origin | None:
    """The origin in the extras of an animation, as text or as an object."""
    extras = chosen.get("extras")
    said = extras.get(provenance.NAME) if isinstance(extras, dict) else None
    return None if said is None else Origin.from_json(said if isinstance(said, str) else json.dumps(said))


def tracks_of(file: File, chosen: dict[str, Any], name: str, place: dict[int, int]) -> dict[tuple[int, str], _Track]:
    """The keys of every joint's translation, rotation and scale that moves."""
    tracks = {}
    for channel in chosen["channels"]:
        node, part = channel["target"].get("node"), channel["target"]["path"]
        if node in place and part in ("translation", "rotation", "scale"):
            sampler = chosen["samplers"][channel["sampler"]]
            tracks[place[node], part] = _track(file, sampler, 4 if part == "rotation" else 3)
    if not tracks:
        raise FormatError(f"expected an animation of joints, got none in {_files.quote(name)}")
    return tracks


def _track(file: File, sampler: dict[str, Any], size: int) -> _Track:
    keys, values = file.numbers(sampler["input"])[:, 0], file.numbers(sampler["output"])
    how = sampler.get("interpolation", "LINEAR")
    each = 3 if how == "CUBICSPLINE" else 1  # each key includes the tangents before and after it
    if how not in ("STEP", "LINEAR", "CUBICSPLINE") or not len(keys) or values.shape != (each * len(keys), size):
        raise FormatError(f"a damaged glTF file: {len(keys)} keys of {values.shape} numbers, {_files.shorten(how)}")
    if not (np.isfinite(keys).all() and np.isfinite(values).all() and (np.diff(keys) > 0).all()):
        raise FormatError("a damaged glTF file: keys that are not finite, or whose times do not ascend")
    values = values.reshape(len(keys), each, size)
    return keys, rotations.from_xyzw(values) if size == 4 else values, how


def times_of(tracks: list[Array]) -> tuple[Array, float]:
    """Times of the frames, and frames per second."""
    start, end = min(keys[0] for keys in tracks), max(keys[-1] for keys in tracks)
    most = max(tracks, key=len)
    fps = 30.0 if len(most) < 2 else float(1 / np.median(np.diff(most)))
    whole = round(fps)  # the times are single precision
    fps = float(whole) if whole and abs(fps - whole) < 0.01 else fps
    frames = np.ceil((end - start) * fps - 0.01) + 1
    if frames > 1e6:
        raise FormatError(f"expected times in seconds, got {end - start:g} of them at {fps:g} a second")
    return start + np.arange(frames) / fps, fps


def sample(keys: Array, values: Array, how: str, times: Array, rotation: bool) -> Array:
    """The values at these times, constant before the first key and after the last."""
    before = np.clip(np.searchsorted(keys, times + 1e-5, "right") - 1, 0, len(keys) - 1)
    after = np.minimum(before + 1, len(keys) - 1)
    if how == "STEP":
        held: Array = values[before, 0]
        return held
    apart = np.where(after > before, keys[after] - keys[before], 1)
    share = np.clip((times - keys[before]) / apart, 0, 1)
    if how == "CUBICSPLINE":
        found = _cubic(values[before], values[after], apart[:, np.newaxis], share[:, np.newaxis])
        return rotations.normalize(found) if rotation else found
    if rotation:
        return rotations.slerp(values[before, 0], values[after, 0], share)
    straight: Array = values[before, 0] + share[:, np.newaxis] * (values[after, 0] - values[before, 0])
    return straight


def _cubic(before: Array, after: Array, apart: Array, share: Array) -> Array:
    """Cubic interpolation between keys: each has the tangent before it, its value, and the tangent after it."""
    start, end = before[:, 1], after[:, 1]
    leaving, arriving = before[:, 2] * apart, after[:, 0] * apart
    square, cube = 3 * (end - start) - 2 * leaving - arriving, 2 * (start - end) + leaving + arriving
    found: Array = start + share * (leaving + share * (square + share * cube))
    return found
