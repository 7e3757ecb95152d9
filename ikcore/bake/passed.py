"""What a foot passes before its first stance and after its last one: the ground under it, though it does not stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ikcore.bake.filters import spread
from ikcore.bake.floors import Floor
from ikcore.bake.footing import Footing
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Scene
from ikcore.bake.stances import Foot, Phase, Stance
from ikcore.feet.rules import LOW

_APART = 0.3  # seconds from one such place to the next


def passed_by(
    motion: LegMotion, mine: list[Stance], stances: list[Stance], floor: Floor, feet: Mapping[str, Foot], scene: Scene
) -> list[Stance]:
    """Stances of one frame in which a foot has ground under it and keeps its own height above that.

    They are in the first frame of the clip and in the last one, if the foot does not stand there; and between these and
    its stances where it comes down, in case it stands unseen. The ground is found as one walks there from its nearest
    stance, or from the first one of any leg.
    """
    if not stances:
        return []
    first, last = (mine[0], mine[-1]) if mine else (stances[0], stances[0])
    before, after = (first.start, last.stop) if mine else (first.middle, first.middle)
    low, found, footing = _low(motion, floor, scene), [], Footing(scene, feet)
    ways = ((first, _backwards(low, before, scene)), (last, _forwards(low, after, scene)))
    for stance, frames in ways:
        for number, frame in enumerate(frames):
            if number == 0:
                footing.go_on_from(stance, frame)
            found.append(_passed(motion, stance.leg, frame))
            footing.pass_over(motion, found[-1], floor)
    return sorted(found, key=lambda stance: stance.start)


def _low(motion: LegMotion, floor: Floor, scene: Scene) -> Array:
    """How high the lowest point of a sole is above the floor of the clip; infinite where it is not as low as around."""
    above = np.stack([at[:, scene.axis] - floor.stood[name] for name, at in motion.soles.items()]).min(axis=0)
    lowest = -spread(-above, _APART / 2, scene.fps)
    return np.where((above <= lowest) & (above < LOW * motion.scale), above, np.inf)


def _backwards(low: Array, until: int, scene: Scene) -> Iterator[int]:
    """From before a frame to the first one."""
    count = len(low)
    return (count - 1 - frame for frame in _forwards(low[::-1], count - until, scene))


def _forwards(low: Array, start: int, scene: Scene) -> Iterator[int]:
    """From a frame to the last one: where a foot comes down, none near another, the last one in any case."""
    end, apart, at = len(low) - 1, _APART * scene.fps, start - 1
    if start > end:
        return
    comes_down: NDArray[np.intp] = start + np.flatnonzero(np.isfinite(low[start:]))
    for frame in comes_down.tolist():
        if frame - at >= apart and end - frame >= apart:
            at = frame
            yield frame
    yield end


def _passed(motion: LegMotion, leg: int, frame: int) -> Stance:
    point = motion.ball if motion.ball in motion.soles else "heel"
    here = np.array([frame])
    return Stance(leg, frame, frame + 1, [Phase(point, frame, frame + 1)], 0, here, slips=np.zeros((1, 3)))
