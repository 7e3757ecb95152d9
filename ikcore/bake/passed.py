"""What a foot passes before its first stance and after its last one: the ground under it, though it does not stand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ikcore import _core
from ikcore.bake.filters import spread
from ikcore.bake.footing import Footing
from ikcore.bake.motion import LegMotion
from ikcore.bake.stances import Foot, Stance
from ikcore.feet.human import LOW, WHILE


def passed_by(motion: LegMotion, mine: list[Stance], stances: list[Stance], footing: Footing) -> list[Stance]:
    """Stances of one frame in which a foot has ground under it and keeps its own height above that.

    They are in the first frame of the clip and in the last one, if the foot does not stand there; and between these and
    its stances where it comes down, in case it stands unseen. The ground is found as one walks there from its nearest
    stance, or from the first one of any leg.
    """
    if not stances:
        return []
    first, last = (mine[0], mine[-1]) if mine else (stances[0], stances[0])
    before, after = (first.start, last.stop) if mine else (first.middle, first.middle)
    fps, end, found = footing.scene.fps, len(motion.chain) - 1, list[Stance]()
    low = _low(footing.feet[motion.leg.name], LOW * motion.scale, fps)
    backwards = (end - frame for frame in _down([end - frame for frame in reversed(low)], end + 1 - before, end, fps))
    ways = ((first, backwards), (last, _down(low, after, end, fps)))
    for stance, frames in ways:
        for number, frame in enumerate(frames):
            if number == 0:
                footing.go_on_from(stance, frame)
            found.append(_passed(motion, stance.leg, frame))
            footing.pass_over(motion, found[-1])
    return sorted(found, key=lambda stance: stance.start)


def _low(foot: Foot, most: float, fps: float) -> list[int]:
    """Frames in which the lowest point of a sole is near the floor of the clip, and as low as around."""
    above = _core.sole_height(foot)
    found: list[int] = np.flatnonzero((above <= -spread(-above, WHILE / 2, fps)) & (above < most)).tolist()
    return found


def _down(low: list[int], start: int, end: int, fps: float) -> Iterator[int]:
    """From a frame to the last one: where a foot comes down, none near another, the last one in any case."""
    apart, at = WHILE * fps, start - 1
    if start > end:
        return
    for frame in low:
        if frame - at >= apart and end - frame >= apart:
            at = frame
            yield frame
    yield end


def _passed(motion: LegMotion, leg: int, frame: int) -> Stance:
    point = list(motion.soles).index(motion.ball if motion.ball in motion.soles else "heel")
    here = np.array([frame])
    return Stance(leg, frame, frame + 1, ((point, frame, frame + 1),), 0, here, slips=np.zeros((1, 3)))
