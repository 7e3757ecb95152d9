"""How long a bake takes, and what of it: `python benchmarks/bake.py [--quick] [--workers N]`.

A walk over uneven ground, 100,000 frames of two legs on 100,000 triangles. Beside it the time in which NumPy copies the
same clip and transforms it once, every joint to the world. And a short walk on a plane, whose time is mostly that of
calls. Prints Markdown, for docs/figures.md.
"""

from __future__ import annotations

import platform
import time
import tracemalloc
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import processor, significant, table
from timing import QUICK, load_now, parser_of

import ikcore as ik
from ikcore import _core, samples

Array = NDArray[Any]

FRAMES, TRIANGLES = (200, 1_000) if QUICK else (100_000, 100_000)
ROUNDS = 1 if QUICK else 3
BOUND = 60
STAGES = {  # and the share of the bake that `progress` is told at their end
    "contacts": 0.1,
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
    clip = samples.walk((FRAMES - 1) / 60).clip
    ground = strip(clip, TRIANGLES)
    stages = np.min([seconds(clip, ground, given.workers) for _ in range(ROUNDS)], axis=0)
    plain = min(timed(lambda: transformed(clip)) for _ in range(ROUNDS))
    whole, size = float(stages.sum()), clip_bytes(clip)
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {platform.system()}, ikcore {_core.__version__}, NumPy {np.__version__}, the best of {ROUNDS} rounds")
    print(f"- {len(clip):,} frames of {len(clip.skeleton)} joints, {ground}, {given.workers} worker\n")
    rows = [[name, significant(part), f"{100 * part / whole:.0f} %"] for name, part in zip(STAGES, stages, strict=True)]
    print("\n".join(table(["stage", "seconds", "share"], [*rows, ["all", significant(whole), "100 %"]])))
    print(
        f"\nNumPy copies and transforms the clip in {significant(plain)} s; a bake takes {whole / plain:.0f} x as long"
    )
    print(f"(bound: {BOUND}), {significant(1e6 * whole / len(clip))} us a frame.")
    most = peak(clip, ground)
    print(f"Most memory beside the clip, of {size / len(clip):.0f} bytes a frame, with the result: {most / size:.2f} x")
    print(f"as much, {most / len(clip):.0f} bytes a frame.\n")
    print(short())


def strip(clip: ik.Clip, triangles: int) -> ik.Ground:
    """Uneven ground along the way of a clip, five cells wide."""
    cells = triangles // 10
    spacing = float(np.asarray(clip.pose.translations)[-1, 0, 2] + 6) / cells
    along = np.arange(cells + 1) * spacing
    heights = 0.04 * np.sin(1.7 * along)[:, np.newaxis] + 0.02 * np.sin(2.1 * np.arange(6))
    return ik.Ground.heights(heights, spacing, [-2.5 * spacing, 0, -3])


def short() -> str:
    """How long a few seconds take, and their measures, with what has to be found of them."""
    clip, plane = samples.walk(4).clip, ik.Ground.plane([0, 1, -0.1])
    baked = ik.bake_feet(clip, plane)
    each = {
        "a bake": lambda: ik.bake_feet(clip, plane),
        "of that feet": lambda: ik.Feet.detect(clip.skeleton, clip=clip),
        "and contacts": lambda: ik.Contacts.detect(clip, baked.feet),
        "to measure it": baked.measured,
    }
    took = {name: min(timed(run) for _ in range(3 if QUICK else 50)) for name, run in each.items()}
    said = ", ".join(f"{name} {significant(1e3 * best)} ms" for name, best in took.items())
    return f"{len(clip)} frames on a plane: {said}."


def seconds(clip: ik.Clip, ground: ik.Ground, workers: int) -> list[float]:
    """What every stage takes."""
    told = [(0.0, time.perf_counter())]
    ik.bake_feet(clip, ground, progress=lambda share: told.append((share, time.perf_counter())), workers=workers)
    ends = [next(when for share, when in told if share > end - 1e-9) for end in (0.0, *STAGES.values())]
    return np.diff(ends).tolist()


def timed(run: Any) -> float:
    """Seconds."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


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
    """Of its pose."""
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
