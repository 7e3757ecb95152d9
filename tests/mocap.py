"""Clips that others made, in the folder that IKCORE_MOCAP names: what is known of them, and how they are read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ikcore as ik

MOCAP = Path(os.environ.get("IKCORE_MOCAP", "none"))
CLIPS = json.loads((MOCAP / "clips.json").read_text())["clips"] if (MOCAP / "clips.json").exists() else []

needs_clips = pytest.mark.skipif(not CLIPS, reason="IKCORE_MOCAP names no folder of clips")


def each_clip(function: Callable[..., None]) -> Any:
    """Run a test for every clip: its argument `given` is what is known of one."""
    names = [f"{given['file']}-{given['clip']}" for given in CLIPS]
    return needs_clips(pytest.mark.parametrize("given", CLIPS, ids=names)(function))


def read(given: dict[str, Any]) -> ik.Clip:
    """A clip of the folder."""
    animation = given["clip"] if given["format"] == "gltf" else None
    return ik.Clip.read(MOCAP / given["file"], animation, up=given["up"], unit=given["metres_per_unit"])
