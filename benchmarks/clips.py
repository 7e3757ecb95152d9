"""How well the feet of clips stand on their own ground: `python benchmarks/clips.py [FOLDER]`, or IKCORE_MOCAP.

All clips of a folder, on a floor found under their feet. The file `clips.json` in the folder is optional. It has the up
axis and the unit of each file, and the number of T-pose frames at its start. A clip that ends as it begins is a loop.
Prints Markdown, for docs/guide/metrics.md: of every measure the worst leg.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from run import table
from timing import QUICK, parser_of

import ikcore as ik
from ikcore.command import commands, many
from ikcore.feet import metrics, verdicts

COLUMNS = (
    ("drift", "drift"),
    ("drift_most", "most"),
    ("heading_drift", "turn"),
    ("skating", "skating"),
    ("penetration", "penetration"),
    ("penetration_swing", "in swing"),
    ("floating", "floating"),
    ("sole_angle", "sole angle"),
    ("extension", "extension"),
    ("knee_flips", "flips"),
    ("knee_pops", "pops"),
)


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("IKCORE_MOCAP"))
    folder = parser.parse_args().folder
    if not folder:
        parser.error("say which folder, or set IKCORE_MOCAP")
    header = ["clip", "legs", "seconds", "stands", "sure", *(head for _, head in COLUMNS)]
    shown = itertools.islice(clips(Path(folder)), 1 if QUICK else None)
    print("\n".join(table(header, [row(name, clip) for name, clip in shown])))


def clips(folder: Path) -> Iterator[tuple[str, ik.Clip]]:
    """Every animation of every file, in metres, and what it is called."""
    told = folder / "clips.json"
    entries = json.loads(told.read_text(encoding="utf-8"))["clips"] if told.exists() else []
    known = {entry["file"]: entry for entry in entries}
    for path in many.files([str(folder)], commands.ENDINGS):
        entry = known.get(Path(path).name, {})
        names = (None,) if path.endswith(".bvh") else ik.gltf.animations(path)
        for name in names:
            yield Path(path).name + (f", {name}" if name else ""), read(path, name, entry)


def read(path: str, animation: str | None, entry: dict[str, Any]) -> ik.Clip:
    """One clip, with Y up and in metres."""
    clip = ik.Clip.read(path, animation, up=entry.get("up", "Y"), unit=entry.get("metres_per_unit"))
    clip = clip[entry.get("skip_first_frames", 0) :]
    turned = metrics.turn(clip.pose.rotations[-1], clip.pose.rotations[0]).max()
    loop = len(clip) > 2 and bool(turned < math.radians(1))
    return dataclasses.replace(clip, loop=loop).convert(up="Y", unit=1)


def row(name: str, clip: ik.Clip) -> list[str]:
    """The row of a clip in the table."""
    measured = ik.feet.measure(clip)
    stands = np.mean([held.any(axis=1).mean() for held in measured.held.values()])
    sure = np.mean(list(measured.contacts.confidence.values()))
    first = [name, str(len(measured.feet)), f"{clip.duration:.1f}", f"{stands:.0%}", f"{sure:.0%}"]
    return first + [
        measured.measures[verdicts.worst(measured.measures, column)].texts()[column] for column, _ in COLUMNS
    ]


if __name__ == "__main__":
    main()
