"""Time of `FootPlacer` per character and frame: `python benchmarks/foot_placer.py [--quick]`.

Crowds of people with two legs walk over a terrain of 100,000 triangles, each at its own place and phase of the walk.
Prints Markdown: the step alone, on hits that are given; rays, and their casting, beside it. One thread.
"""

from __future__ import annotations

import functools
import platform
import time
from collections.abc import Callable
from datetime import date

import numpy as np
from run import isas, processor, table
from timing import QUICK, load_now, parser_of

import ikcore as ik
from ikcore import _core, feet

COUNTS = (4, 16) if QUICK else (1, 100, 1_000, 10_000)
FRAMES = 3 if QUICK else 20
CELLS = 20 if QUICK else 223  # 2 triangles each
SEED = 20261128
DT = 1 / 60


def terrain() -> ik.Ground:
    """Hills of 60 m across, with bumps."""
    rng = np.random.default_rng(SEED)
    x = np.linspace(0, 6 * np.pi, CELLS + 1)
    heights = 0.3 * np.sin(x)[:, np.newaxis] * np.cos(x) + rng.normal(0, 0.01, (CELLS + 1, CELLS + 1))
    at = np.linspace(-30, 30, CELLS + 1)
    z, x = np.meshgrid(at, at, indexing="ij")
    vertices = np.stack([x, heights, z], axis=-1).reshape(-1, 3)
    corner = (np.arange(CELLS)[:, np.newaxis] * (CELLS + 1) + np.arange(CELLS)).reshape(-1, 1)
    halves = np.array([[0, CELLS + 1, 1], [1, CELLS + 1, CELLS + 2]])
    faces = np.concatenate([corner + half for half in halves])
    return ik.Ground.mesh(vertices, faces)


def walks(count: int) -> np.ndarray:
    """Points of the legs (frames, count, legs, 5, 3)."""
    walk = ik.samples.walk(seconds=4).clip
    points = feet.leg_points(walk.skeleton, walk.pose, ik.Feet.detect(walk.skeleton).with_soles(walk))
    starts = np.random.default_rng(SEED).integers(0, len(points) - FRAMES - 1, count)
    return np.stack([points[starts + frame] for frame in range(FRAMES + 1)])


def timed(work: Callable[[], object]) -> float:
    """The seconds that it takes."""
    """Seconds of processor time."""
    start = time.process_time()
    work()
    return time.process_time() - start


def row(ground: ik.Ground, count: int, dtype: type) -> list[str]:
    """Least microseconds a character, over all frames."""
    points: np.ndarray = walks(count).astype(dtype)
    origins = np.random.default_rng(SEED).uniform(-25, 20, (count, 3)) * [1, 0, 1]
    placer = ik.FootPlacer(count)
    best = dict.fromkeys(("step", "rays", "cast", "whole"), np.inf)
    cast = 0
    for frame in range(FRAMES + 1):
        job = placer._job(points[frame], DT, origins=origins)
        took = {"rays": timed(functools.partial(placer._run, _core.foot_rays, job, 1))}
        start = time.process_time()
        job["hit_point"], job["hit_normal"] = placer._hits(ground, None, 1)
        took["cast"] = time.process_time() - start
        cast = int(placer._rays[2].sum())
        job.update(placer._results(np.dtype(dtype)))
        saved = placer.state
        took["step"] = timed(functools.partial(placer._run, _core.place_feet, job, 1))
        placer.state = saved
        took["whole"] = timed(functools.partial(placer.step, points[frame], DT, ground=ground, origins=origins))
        if frame:
            best = {name: min(best[name], took[name]) for name in best}
    numbers = [f"{best[name] / count * 1e6:.2f}" for name in ("step", "rays", "cast", "whole")]
    return [f"{count:,}", np.dtype(dtype).name, *numbers, f"{cast / count:.1f}"]


def main() -> None:
    """Measure and print."""
    parser_of(__doc__).parse_args()
    load, ground = load_now(), terrain()
    rows = [row(ground, count, dtype) for count in COUNTS for dtype in (np.float32, np.float64)]
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {platform.system()}, {isas()[-1]}, NumPy {np.__version__}, {FRAMES} frames, {2 * CELLS**2:,} triangles")
    print("- microseconds a character and frame, one thread; `step` without rays, `whole` as called from Python\n")
    print("\n".join(table(["characters", "type", "step", "rays", "casting", "whole", "rays a character"], rows)))


if __name__ == "__main__":
    main()
