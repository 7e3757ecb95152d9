"""What ``ikcore demo`` does: put the feet of a walk on stairs, and draw it."""

from __future__ import annotations

import time
from pathlib import Path

from ikcore import samples, terrain
from ikcore.bake import Baked, bake_feet
from ikcore.ground import Ground

SECONDS = 8.0


def run(folder: str) -> None:
    """Bake the walk, print the rate and what has changed, write the clip and its page."""
    walk, ground = samples.walk(SECONDS).clip, stairs()
    baked = bake_feet(walk, ground)
    seconds = min(_seconds_to_bake(baked) for _ in range(3))
    print(f"a walk of {len(walk)} frames put on stairs in {seconds * 1e3:.0f} ms:", end=" ")
    print(
        f"{len(walk) / seconds:.0f} frames a second on one core, {walk.duration / seconds:.0f} times as fast as it is"
    )
    print(baked)
    Path(folder).mkdir(parents=True, exist_ok=True)
    baked.clip.write(Path(folder) / "walk_on_stairs.bvh")
    page = Path(folder) / "walk_on_stairs.html"
    baked.report(page, "A walk on stairs")
    print(f"the walk is in {Path(folder).resolve()}; pictures of it, to open in a browser: {page.resolve()}")


def stairs() -> Ground:
    """Level ground, nine steps, and level ground above."""
    steps = terrain.stairs(9, rise=0.16, run=0.35, landing=20)
    return steps.moved(translations=[0, 0, 2.5])


def _seconds_to_bake(baked: Baked) -> float:
    start = time.perf_counter()
    bake_feet(baked.source, baked.ground)
    return time.perf_counter() - start
