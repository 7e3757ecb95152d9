"""How long a bake takes, and what of it: `python benchmarks/bake.py [--quick] [--workers N]`.

A walk over uneven ground, 10,000 and 100,000 frames of two legs on 100,000 triangles. Beside it the time in which NumPy
copies the same clip and transforms it once, every joint to the world. And a short walk on a plane, whose time is mostly
that of calls: cmu_12_01_walk.bvh where IKCORE_MOCAP says in which folder that is, else a made one. Seconds are those of
a processor, which other processes spoil least. Prints Markdown, for docs/records/figures.md.
"""

from __future__ import annotations

import json
import os
import platform
import time
import tracemalloc
from datetime import date
from pathlib import Path
from typing import Any

import clips
import numpy as np
from numpy.typing import NDArray
from run import processor, significant, table
from timing import QUICK, load_now, parser_of

import ikcore as ik
from ikcore import _core, samples

Array = NDArray[Any]

FRAMES, TRIANGLES = ((100, 200), 1_000) if QUICK else ((10_000, 100_000), 100_000)
ROUNDS, REPEATS = (1, 3) if QUICK else (3, 50)
CAPTURED = "cmu_12_01_walk.bvh"
BOUND = 60
STAGES = {  # and the share of the bake that `progress` is told at their end
    "feet and contacts": 0.1,
    "joints of legs": 0.3,
    "stances, footing, ways": 0.6,
    "body": 0.7,
    "legs": 0.9,
    "pose": 1.0,
}


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    load = load_now()
    long = [samples.walk((frames - 1) / 60).clip for frames in FRAMES]
    jobs = [(short_clip(), ik.Ground.plane(), REPEATS), *((clip, strip(clip, TRIANGLES), ROUNDS) for clip in long)]
    stages = [
        np.min([seconds(clip, ground, given.workers) for _ in range(rounds)], axis=0) for clip, ground, rounds in jobs
    ]
    clip, ground, _ = jobs[-1]
    plain = min(timed(lambda: transformed(clip)) for _ in range(ROUNDS))
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {platform.system()}, ikcore {_core.__version__}, NumPy {np.__version__}, the best of {ROUNDS} rounds")
    print(f"- {len(clip):,} frames of {len(clip.skeleton)} joints, {ground}, {given.workers} worker")
    print("- microseconds a frame; the short clip on a plane\n")
    each = [1e6 * took / len(clip) for took, (clip, *_) in zip(stages, jobs, strict=True)]
    rows = [[name, *map(significant, row)] for name, row in zip(STAGES, np.transpose(each), strict=True)]
    rows.append(["all", *(significant(took.sum()) for took in each)])
    rows.append(["all, ms", *(significant(1e3 * took.sum()) for took in stages)])
    rows.append(["most memory beside the clip, bytes a frame", *(memory(clip, ground) for clip, ground, _ in jobs)])
    rows.append(["the clip itself", *(f"{clip_bytes(clip) / len(clip):.0f}" for clip, *_ in jobs)])
    print("\n".join(table(["stage", *(f"{len(clip):,} frames" for clip, *_ in jobs)], rows)))
    print(
        f"\nNumPy copies and transforms the longest in {significant(plain)} s; a bake takes "
        f"{stages[-1].sum() / plain:.0f} x as long\n(bound: {BOUND}). The memory is with the result.\n"
    )
    print(short())


def memory(clip: ik.Clip, ground: ik.Ground) -> str:
    """Bytes a frame, with the result."""
    return f"{peak(clip, ground) / len(clip):.0f}"


def short_clip() -> ik.Clip:
    """A captured one, if it is there."""
    path = Path(os.environ.get("IKCORE_MOCAP", "none")) / CAPTURED
    if not path.exists():
        return samples.walk(4).clip
    entries = json.loads((path.parent / "clips.json").read_text(encoding="utf-8"))["clips"]
    return clips.read(str(path), None, next(entry for entry in entries if entry["file"] == CAPTURED))


def strip(clip: ik.Clip, triangles: int) -> ik.Ground:
    """Uneven ground along the way of a clip, five cells wide."""
    cells = triangles // 10
    spacing = float(np.asarray(clip.pose.translations)[-1, 0, 2] + 6) / cells
    along = np.arange(cells + 1) * spacing
    heights = 0.04 * np.sin(1.7 * along)[:, np.newaxis] + 0.02 * np.sin(2.1 * np.arange(6))
    return ik.Ground.heights(heights, spacing, [-2.5 * spacing, 0, -3])


def short() -> str:
    """How long a few seconds take, and their measures, with what has to be found of them."""
    clip, plane = short_clip(), ik.Ground.plane()
    baked = ik.bake_feet(clip, plane)
    each = {
        "a bake": lambda: ik.bake_feet(clip, plane),
        "of that feet": lambda: ik.Feet.detect(clip.skeleton, clip=clip),
        "and contacts": lambda: ik.Contacts.detect(clip, baked.feet),
        "to measure it": lambda: ik.feet.measure(baked.clip, feet=baked.feet, ground=plane, contacts=baked.contacts),
        "that and its source": baked.measured,
    }
    took = {name: min(timed(run) for _ in range(REPEATS)) for name, run in each.items()}
    said = ", ".join(f"{name} {significant(1e3 * best)} ms" for name, best in took.items())
    return f"{len(clip)} frames on a plane: {said}."


def seconds(clip: ik.Clip, ground: ik.Ground, workers: int) -> list[float]:
    """The time of every stage."""
    told = [(0.0, time.process_time())]
    ik.bake_feet(clip, ground, progress=lambda share: told.append((share, time.process_time())), workers=workers)
    ends = [next(when for share, when in told if share > end - 1e-9) for end in (0.0, *STAGES.values())]
    return np.diff(ends).tolist()


def timed(run: Any) -> float:
    """Seconds of a processor."""
    start = time.process_time()
    run()
    return time.process_time() - start


def transformed(clip: ik.Clip) -> tuple[Array, Array]:
    """All joints in the world, with NumPy alone."""
    turned, moved = clip.pose.rotations.copy(), np.asarray(clip.pose.translations).copy()
    for joint, parent in enumerate(clip.skeleton.parents.tolist()):
        if parent >= 0:
            moved[:, joint] = moved[:, parent] + rotated(turned[:, parent], moved[:, joint])
            turned[:, joint] = multiplied(turned[:, parent], turned[:, joint])
    return turned, moved


def rotated(turn: Array, points: Array) -> Array:
    """Points by quaternions."""
    twice = 2 * np.cross(turn[:, 1:], points)
    return np.asarray(points + turn[:, :1] * twice + np.cross(turn[:, 1:], twice))


def multiplied(a: Array, b: Array) -> Array:
    """Quaternions, first the second one."""
    scalar = a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(axis=1)
    vector = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.concatenate([scalar[:, np.newaxis], vector], axis=1)


def clip_bytes(clip: ik.Clip) -> int:
    """The bytes of its pose."""
    return clip.pose.rotations.nbytes + np.asarray(clip.pose.translations).nbytes


def peak(clip: ik.Clip, ground: ik.Ground) -> int:
    """The most memory in use at a time beside what was before."""
    tracemalloc.start()
    try:
        ik.bake_feet(clip, ground)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    main()
