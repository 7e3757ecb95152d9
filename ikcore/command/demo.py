"""The command ``ikcore demo``: puts the feet of a walk on stairs, and draws it."""

from __future__ import annotations

import time
from pathlib import Path

from ikcore.bake import Baked, bake_feet
from ikcore.clips import samples
from ikcore.clips.clip import Clip
from ikcore.command import commands
from ikcore.grounds import terrain
from ikcore.grounds.ground import Ground


def run(folder: str) -> None:
    """Bake the walk, print the rate and the changes, and write the clip and a report page."""
    to = Path(folder)
    commands.make_folder(to)
    baked, seconds = time_bake(walk(), stairs())
    frames = len(baked.clip)
    print(f"a walk of {frames} frames put on stairs in {seconds * 1e3:.0f} ms, {frames / seconds:.0f} frames a second")
    print(baked)
    baked.clip.write(to / "walk_on_stairs.bvh")
    baked.report(to / "walk_on_stairs.html", "A walk on stairs")
    commands.say(f"the clip: {(to / 'walk_on_stairs.bvh').resolve()}")
    commands.say(f"pictures, for a browser: {(to / 'walk_on_stairs.html').resolve()}")


def walk() -> Clip:
    """A walk on level ground, with steps as short as those of the stairs."""
    return samples.walk(8, speed=0.7, step=0.35).clip


def stairs() -> Ground:
    """Level ground, nine steps, and level ground above."""
    return terrain.stairs(9, rise=0.16, run=0.35, landing=10).moved(translations=[0, 0, 1.4])


def time_bake(clip: Clip, ground: Ground) -> tuple[Baked, float]:
    """The bake, and the shortest time that it took, in seconds."""
    spent = []
    for _ in range(3):
        start = time.perf_counter()
        baked = bake_feet(clip, ground)
        spent.append(time.perf_counter() - start)
    return baked, min(spent)
