"""Stances: when a foot stands, what it turns about, and how it has to be moved to stand still."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import size
from ikcore.bake.floors import Floor
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import UNTURNED, Array, Mask, Scene
from ikcore.feet.human import BRIEF, EXACT, MOMENT, SOLE, TRACE
from ikcore.feet.intervals import runs

_STAYS = 0.6  # as a share of how far the ball moves then: toes that move less stay
_ARRIVING = 0.06  # seconds, at most a fifth: at both ends of a stance a foot still arrives, or leaves already
_SPIN = 0.02  # the tangent of what a foot may turn on the spot and be left

_NOWHERE = np.zeros((1, 3))
_NOWHERE.flags.writeable = False

Foot = tuple[Any, ...]
Span = tuple[int, int]

# The number of the heel, -1 if there is none; when that and the ball have contacts, if any are known.
Held = tuple[int, Mask | None, Mask | None]

# A part of a stance in which a foot turns about one point of its sole: its number, and as of a span.
Phase = tuple[int, int, int]


@dataclass(slots=True, eq=False)
class Stance:
    """One stay of a foot on the ground.

    Attributes
    ----------
    leg : int
        Which one.
    start, stop : int
        Its first frame and the one after its last.
    phases : tuple of Phase
        What the foot turns about, one after the other: heel, ball, toe.
    main : int
        The number of the phase whose place on the ground counts.
    flat : (n,) array of int
        Frames in which the foot stands flat, or those of the main phase.
    planted : bool
        Whether the foot stands still as it is, within the plant tolerance: nothing but `lift`, `normal` and `aside`
        moves it.
    copied : bool
        Whether it is within the plant tolerance of its foothold: nothing moves it.
    slips : (frames, 3) array
        Horizontally, how far the point it turns about is moved so that it stands still: in the main phase from where it
        is, in others from where it is in the frame of the phase next to it that is beside.
    aside : (3,) array
        Horizontally, how far all of the foot is moved, off an edge.
    place : (3,) array
        Where the point of the main phase is, on the floor of the clip.
    lift : float
        How much higher the ground is there.
    normal, floor : (3,) arrays
        Of the ground, as far as the sole follows it, and of what it stands on in the clip.
    part : int
        Which part of the ground it stands on; -1 if there is none.
    middle : int
        The frame in which it is at its place.
    """

    leg: int
    start: int
    stop: int
    phases: tuple[Phase, ...]
    main: int
    flat: NDArray[np.intp]
    planted: bool = False
    slips: Array = field(default_factory=lambda: _NOWHERE[:0])
    aside: Array = field(default_factory=lambda: _NOWHERE[0])
    place: Array = field(default_factory=lambda: _NOWHERE[0])
    lift: float = 0.0
    normal: Array = field(default_factory=lambda: UNTURNED[:3])
    floor: Array = field(default_factory=lambda: UNTURNED[:3])
    part: int = -1
    copied: bool = False
    middle: int = field(init=False)

    def __post_init__(self) -> None:
        self.flat = np.asarray(self.flat, np.intp)  # as the core takes them; NumPy 1 makes narrower ones on Windows
        self.middle = int(self.flat[len(self.flat) // 2])

    @property
    def point(self) -> int:
        """The number of the point of its main phase."""
        return self.phases[self.main][0]

    @property
    def when(self) -> tuple[Any, ...]:
        """When the foot does what, as the core takes it."""
        return self.start, self.stop, self.phases, self.main, self.flat


def stances_of(
    legs: list[LegMotion],
    feet: Mapping[str, Foot],
    planted: list[dict[str, Mask]],
    scene: Scene,
    known: Mapping[str, list[Span]],
) -> list[Stance]:
    """All stances of all legs, by their middle, of when points of their soles are planted.

    A contact with stances that an earlier bake is known to have planted has these.
    """
    found = []
    for number, (motion, held) in enumerate(zip(legs, planted, strict=True)):
        foot, heel = feet[motion.leg.name], list(motion.soles).index("heel") if "heel" in motion.soles else -1
        spans = known.get(motion.leg.name, [])
        for start, stop in runs(functools.reduce(np.logical_or, held.values())).tolist():
            stays = [span for span in spans if span[0] < stop and span[1] > start]
            for span in stays or _pieces(motion, foot, *_settled(start, stop, len(motion.chain), scene), scene):
                stance = _stance(number, motion, foot, (heel, held.get("heel"), held.get("ball")), span, (start, stop))
                _still(motion, stance, foot, scene, known=bool(stays))
                found.append(stance)
    return sorted(found, key=lambda stance: (stance.middle, stance.leg))


def inside(start: int, stop: int, fps: float) -> slice:
    """A stance without the time in which a foot arrives, and leaves. Never empty."""
    cut = min(round(_ARRIVING * fps), (stop - start) // 5)
    return slice(start + cut, stop - cut)


def _settled(start: int, stop: int, frames: int, scene: Scene) -> Span:
    """A contact without half of the time in which a foot arrives, or leaves, where the clip has it so."""
    inner = inside(start, stop, scene.fps)
    first = start if start == 0 else start + (inner.start - start) // 2
    last = stop if stop == frames else stop - (stop - inner.stop) // 2
    return first, last


def _pieces(motion: LegMotion, foot: Foot, start: int, stop: int, scene: Scene) -> list[Span]:
    """A stance in which the foot slides too far is several, with a gap between them to step."""
    far = scene.settings.unlock * motion.scale
    if not scene.settings.lock or _core.strayed(foot, start, stop) <= far:
        return [(start, stop)]
    at, step, first = scene.gone(motion.reference, slice(start, stop)), max(1, round(scene.fps * MOMENT)), 0
    found: list[Span] = []
    while first < len(at):
        beyond = np.flatnonzero(size(at[first:] - at[first]) > far)
        last = first + int(beyond[0]) if len(beyond) else len(at)
        found.append((start + first, start + max(last - (step if len(beyond) else 0), first + 1)))
        first = last + step
    return found


def _stance(leg: int, motion: LegMotion, foot: Foot, held: Held, span: Span, contact: Span) -> Stance:
    """What a foot does in a stance; frames beyond its contact are as the first, or the last one, that it has.

    It turns about the heel while the ball is in the air, else about the ball, and at the end about the toes if they
    stay where that leaves.
    """
    phases, main, flat = _core.phases(foot, *held, span, contact, TRACE * motion.scale, _STAYS)
    return Stance(leg, *span, phases, main, flat)


def _still(motion: LegMotion, stance: Stance, foot: Foot, scene: Scene, *, known: bool) -> None:
    """Find how the foot is moved so that it stands still, and whether it does so as it is."""
    stance.slips, slid, spun, _, off, _ = _core.still(foot, stance.when)
    most = scene.settings.tolerance * motion.scale
    stance.planted = known or (slid <= most and off <= most and spun < _SPIN)
    if stance.planted:
        stance.slips[:] = 0


def copy(stance: Stance, most: float) -> None:
    """Leave a planted foot that is within the plant tolerance of its foothold exactly where it is."""
    turned = bool((np.abs(stance.normal - stance.floor) > EXACT).any())
    stance.copied = stance.planted and abs(stance.lift) <= most and not turned and not stance.aside.any()
    if stance.copied:
        stance.lift, stance.normal = 0.0, stance.floor


def foot_of(motion: LegMotion, floor: Floor, scene: Scene) -> Foot:
    """A foot as the core takes it (`ikcore._core.still`)."""
    number = {name: at for at, name in enumerate(motion.soles)}
    points = tuple(
        (places, floor.stood[name], floor.thick[name], motion.on_toes(name), number[motion.under(name)])
        for name, places in motion.soles.items()
    )
    front, back = _ends_of(motion) or (None, None)
    heel = number["heel"] if scene.settings.align > 0 and _heel_is_known(motion, floor) else -1
    which = scene.axis, number.get(motion.ball, -1), number.get("toe", -1), heel
    turning = motion.foot_turn if motion.leg.ankle else None
    rows = motion.reference, front, back, scene.way, turning, motion.toe_turn
    ramp, ends = scene.fps * BRIEF, round(_ARRIVING * scene.fps)
    return points, *which, *rows, motion.leg.ankle is not None, scene.settings.lock, ramp, ends


def _heel_is_known(motion: LegMotion, floor: Floor) -> bool:
    """Whether the height at which a heel stands is: it is not of feet that roll over their balls all the time."""
    thick = floor.thick
    return {"heel", "ball"} <= thick.keys() and thick["heel"] - thick["ball"] <= SOLE * motion.scale


def headings(motion: LegMotion, frames: slice | NDArray[np.intp], scene: Scene) -> Array | None:
    """Where a foot points in some frames, horizontally; None if it is a point."""
    ahead = _ahead(motion, frames)
    return None if ahead is None else scene.level(ahead)


def _ends_of(motion: LegMotion) -> tuple[Array, Array] | None:
    """The tip of a foot, or where it bends, and its back; None if it is a point."""
    soles = motion.soles
    ahead = next((soles[name] for name in ("toe", motion.ball) if name in soles), None)
    back = soles.get("heel", motion.ankle if motion.leg.ankle else None)
    return None if ahead is None or back is None or ahead is back else (ahead, back)


def _ahead(motion: LegMotion, frames: slice | NDArray[np.intp]) -> Array | None:
    """From its back to its tip."""
    ends = _ends_of(motion)
    return None if ends is None else np.asarray(ends[0][frames] - ends[1][frames])
