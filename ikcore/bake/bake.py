"""Feet on the ground: a clip and a ground in, a grounded clip out."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ikcore._arrays import plain
from ikcore.bake import loops, notes, partial, quaternions
from ikcore.bake.legs import SolvedLeg, point_knee, solve_leg
from ikcore.bake.motion import legs_of, place_of
from ikcore.bake.paths import FootPath
from ikcore.bake.pelvis import Body
from ikcore.bake.plan import LegPlan, Plan, Progress, make_plan, start_of
from ikcore.bake.provenance import origin_of
from ikcore.bake.scene import Array, Scene
from ikcore.bake.settings import BakeSettings
from ikcore.bake.source import SourceFloor, check_source_floor
from ikcore.bake.write import Move, Turn, bend, join_moves, moves_of, moves_with_body, tilt_of, turns_of, write_pose
from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.contacts.earlier_bake import EarlierStances, earlier_stances_of
from ikcore.contacts.intervals import blocks
from ikcore.feet.detect import Feet
from ikcore.feet.leg_measures import Measured, before_and_after
from ikcore.feet.note import Note
from ikcore.feet.penetration import MeasuredLeg, Penetration
from ikcore.grounds.ground import Ground
from ikcore.reports import report


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Baked:
    """The result of `bake_feet`.

    Attributes
    ----------
    clip : Clip
        The motion on the ground.
    source : Clip
        The clip before the bake.
    ground : Ground
        The ground.
    feet : Feet
        Its legs.
    contacts : Contacts
        The contacts of its feet.
    pelvis_offset : (frames,) array
        Upward displacement of the pelvis.
    shortfall : dict of str to (frames,) array
        Distance of each leg's end from the wanted position of its foot, usually 0. It is not 0 if the foot is out of
        reach, or so near the hip that the leg would have to fold up.
    stances : int
        Number of contacts with the ground.
    notes : tuple of Note
        Sentences (a `Note` is a str) about remaining problems, for example missing ground, a wall in the path of a
        foot, or a foothold out of reach. They also say why nothing has changed. Some have a `remedy`: a function of
        `ikcore.prepare` that should prepare the clip first.
    in_place : bool
        True for an in-place clip: it is measured as if it travelled.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=4).clip
    >>> ik.bake_feet(walk, ik.Ground.plane([0, 1, -0.1]))
    Baked(241 frames, 9 stances, pelvis moved -0.064 to 0.48, all feet in reach)
    """

    clip: Clip
    source: Clip
    ground: Ground
    feet: Feet
    contacts: Contacts
    pelvis_offset: Array
    shortfall: dict[str, Array]
    stances: int
    notes: tuple[Note, ...] = ()
    in_place: bool = False

    def measured(self) -> tuple[Measured, Measured]:
        """Measures of the source and of the result on the ground, both with the contacts of the source."""
        source, clip, feet, ground = self.source, self.clip, self.feet, self.ground
        return before_and_after(source, clip, feet, ground, self.contacts, in_place=self.in_place)

    def report(self, path: str | os.PathLike[str], title: str = "Bake") -> None:
        """Write a page of pictures: the feet before and after, contacts, knees and measures.

        Parameters
        ----------
        path : path
            The HTML file.
        title : str, optional
            The heading of the page.
        """
        before, after = self.measured()
        report.write(path, title, after, before, notes=self.notes)

    def __repr__(self) -> str:
        frames = f"{len(self.clip)} frame{'s' * (len(self.clip) != 1)}"
        moved = f"pelvis moved {plain(self.pelvis_offset.min())} to {plain(self.pelvis_offset.max())}"
        out = {leg: int(np.count_nonzero(short)) for leg, short in self.shortfall.items()}
        reach = ", ".join(f"{leg} out of reach in {count} frames" for leg, count in out.items() if count)
        return f"Baked({frames}, {self.stances} stances, {moved}, {reach or 'all feet in reach'})"


def bake_feet(
    clip: Clip,
    ground: Ground,
    *,
    feet: Feet | None = None,
    contacts: Contacts | None = None,
    settings: BakeSettings | None = None,
    source_floor: SourceFloor = None,
    legs: Collection[str] | None = None,
    frames: tuple[int, int] | None = None,
    pelvis: str | None = None,
    earlier: Clip | None = None,
    progress: Progress | None = None,
    workers: int | None = 1,
) -> Baked:
    """Put the feet of a clip on the ground: planted feet stand still, and swinging feet clear the ground.

    If the clip was made on a level floor, its feet and its pelvis follow the ground, stairs and slopes alike. If it was
    made on this ground, feet that slide, sink or float are corrected. Correct feet stay unchanged, bit for bit.

    Parameters
    ----------
    clip : Clip
        The motion. It is not prepared: `ikcore.prepare` removes capture noise, adds root motion to an in-place clip,
        and fits strides to stairs. A note of the result says if one of these would help.
    ground : Ground
        The ground, with the up axis and the unit of the clip. Moving ground has as many frames as the clip.
    feet : Feet, optional
        The legs (default: `Feet.detect(clip.skeleton, clip=clip)`).
    contacts : Contacts, optional
        The contacts (default: `Contacts.detect` of this clip, on this ground if it was made on it).
    settings : BakeSettings, optional
        The settings.
    source_floor : {None, "level", "ground"}, optional
        The floor for which the clip was made: a level floor, or this ground. None: this ground if feet stand at least
        twice as evenly above it as above a level floor. A note then says so.
    legs : collection of str, optional
        Names of the legs to bake (default: all). If some legs are left out, the pelvis does not move.
    frames : (int, int), optional
        The first frame to bake, and the first one after the range. The change fades in and out at both ends.
    pelvis : str, optional
        The joint that moves the body. Default: the highest joint near the hips that is above all legs. For feet without
        legs: the sibling of the feet with the most descendants.
    earlier : Clip, optional
        The result of an earlier bake of the clip. Legs, frames and a pelvis that do not change are taken from it
        (default: from the clip).
    progress : callable, optional
        Called with the share that is done, 0 to 1. An exception from it ends the bake without a change.
    workers : int or None, optional
        Number of threads, None for all cores. The result is the same to the bit.

    Raises
    ------
    ValueError
        If there are no legs, or the pelvis does not carry them. If ground and clip do not fit each other, or no foot
        has ground under it. If a pose is not finite.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=4).clip
    >>> stairs = ik.Ground.plane() + ik.terrain.stairs(8, rise=0.15, run=0.35).moved(translations=[0, 0, 1.2])
    >>> baked = ik.bake_feet(walk, stairs)
    >>> left = baked.feet.positions(baked.clip.skeleton, baked.clip.pose)["left", "ball"]
    >>> left[[20, 85, 150]].round(3) + 0  # it stands on the floor, then on the second step and on the sixth
    array([[0.06, 0.  , 0.18],
           [0.06, 0.3 , 1.58],
           [0.06, 0.9 , 2.98]])
    """
    say = progress or (lambda share: None)
    _check(clip, ground, feet, contacts, frames, settings, earlier)
    check_source_floor(source_floor)
    frames = None if frames is None else (int(frames[0]), int(frames[1]))
    settings = settings or BakeSettings()
    known = earlier_stances_of(clip, ground, settings._values, contacts)
    if known is not None and known.whole and earlier in (None, clip):
        return _unchanged_result(clip, ground, known, feet, contacts)
    start = start_of(clip, ground, feet, contacts, settings, workers, say, source_floor, known)
    part = partial.part_of(start.clip, start.feet, earlier, legs, frames, start.scene)
    plan = make_plan(start, part, pelvis, say)
    say(0.7)
    turned, moves, short = _solve_legs(start.clip, plan, start.scene)
    say(0.9)
    moves, shift = moves_with_body(start.clip, plan.pelvis, plan.body, moves), plan.body.shift
    plan = plan if plan.feet is None else plan.without_paths()
    baked = write_pose(start.clip, plan.pelvis, shift, turned, moves)
    baked = loops.close_loop(baked, clip) if clip.loop else baked
    rise = shift[:, start.scene.axis].copy()
    del turned, moves, shift
    if not part.whole:
        baked, short = partial.blend_part(part, baked, plan.legs, plan.held)
        rise = (place_of(baked, plan.pelvis) - plan.body.pivot)[:, start.scene.axis]
    say(1.0)
    changed = [MeasuredLeg(each.leg, each.size) for each in start.motions if each.leg.name in part.legs]
    depth = Penetration(clip, changed, start.contacts, ground, part.share == 1)
    said = notes.of_result(plan.notes, baked, part.earlier, plan.missed, short, depth, plan.scale, still=part.still)
    origin = origin_of(baked, start.motions, start.contacts, plan.holds, part, start.scene)
    baked, stances = dataclasses.replace(baked, origin=origin), len(plan.holds)
    return Baked(baked, clip, ground, start.feet, start.contacts, rise, short, stances, said, start.in_place)


def _unchanged_result(
    clip: Clip, ground: Ground, known: EarlierStances, feet: Feet | None, contacts: Contacts | None
) -> Baked:
    """The result of a clip that is unchanged: an earlier bake on this ground has planted all of its feet."""
    feet = known.feet(Feet.detect(clip.skeleton, clip=clip)) if feet is None else feet
    contacts = known.contacts(clip.fps) if contacts is None else contacts
    short, in_place = {leg.name: np.zeros(len(clip)) for leg in feet}, bool(contacts.treadmill.any())
    said = (Note("nothing has changed: all feet are where a bake on this ground has put them"),)
    count = len(known.origin.stances)
    return Baked(clip, clip, ground, feet, contacts, np.zeros(len(clip)), short, count, said, in_place)


def _check(
    clip: Clip,
    ground: Ground,
    feet: Feet | None,
    contacts: Contacts | None,
    frames: tuple[int, int] | None,
    settings: BakeSettings | None,
    earlier: Clip | None,
) -> None:
    for name, kind, value, needed, remedy in (
        ("clip", Clip, clip, True, "ik.Clip.read reads one"),
        ("ground", Ground, ground, True, "ik.Ground.read reads one"),
        ("settings", BakeSettings, settings, False, "ik.BakeSettings(lock=False)"),
        ("feet", Feet, feet, False, "Feet.detect finds them"),
        ("contacts", Contacts, contacts, False, "Contacts.detect finds them"),
        ("earlier", Clip, earlier, False, "the clip of an earlier Baked"),
    ):
        if not isinstance(value, kind) and (needed or value is not None):
            article = "" if kind.__name__.endswith("s") or kind is Feet else "a "
            raise TypeError(f"{name}: expected {article}{kind.__name__}, got {type(value).__name__}; {remedy}")
    if ground.up != clip.up.lower():
        raise ValueError(f"ground: expected {clip.up} up as in the clip, got {ground.up.upper()}; see Clip.convert")
    if not ground.parts:
        raise ValueError("ground: expected something to stand on, got nothing")
    ground._check_frames(len(clip))
    if clip.loop:
        loops.check(clip)
    if clip.loop and ground.moves:
        raise ValueError("ground: a loop cannot be baked on ground that moves: unset its loop flag")
    for name in ("rotations", "translations", "scales"):
        values = getattr(clip.pose, name)
        if values is not None and not np.isfinite(values).all():
            frame = int(np.flatnonzero(~np.isfinite(values).all(axis=(1, 2)))[0])
            raise ValueError(f"clip: expected finite numbers, got others in its {name}, first in frame {frame}")
    for known in () if contacts is None else (contacts.treadmill, *contacts.weights.values()):
        if not np.isfinite(known).all():
            raise ValueError("contacts: expected finite weights and velocities, got others; Contacts.detect finds them")
    if frames is not None:
        pair = isinstance(frames, (tuple, list, np.ndarray)) and len(frames) == 2
        if not pair or not all(isinstance(frame, (int, np.integer)) for frame in frames):
            raise TypeError(f"frames: expected two whole numbers, the first and the one after the last, got {frames!r}")
        if not 0 <= frames[0] < frames[1] <= len(clip):
            raise ValueError(f"frames: expected some among 0 to {len(clip)}, got {frames[0]} to {frames[1]}")
    if earlier is not None and (earlier.skeleton, len(earlier), earlier.up) != (clip.skeleton, len(clip), clip.up):
        raise ValueError("earlier: expected what was baked of this clip, got one of other joints, frames or axes")


def _solve_legs(clip: Clip, plan: Plan, scene: Scene) -> tuple[Array, list[Move], dict[str, Array]]:
    """World rotations of all joints, displacements of feet without legs, and the shortfall of each leg."""
    short = {leg.path.motion.leg.name: np.empty(len(clip)) for leg in plan.legs}
    moves: list[list[Move]] = []
    turned, tilt = clip.pose.rotations.copy(), tilt_of(plan.body)
    for frames in blocks(len(clip)):
        here = None if plan.feet is None else legs_of(clip[frames], plan.feet)
        turns: list[Turn] = []
        moves.append([])
        for at, leg in enumerate(plan.legs):
            motion = leg.path.motion.part(frames) if here is None else here[at]
            motion.size = leg.path.motion.size
            path = leg.path.part(motion, frames)
            bent, short[motion.leg.name][frames] = _solve_leg(leg, path, frames, plan.body.part(frames), scene)
            turns.append(turns_of(motion, bent.deltas, path.turn, leg.toes[frames]))
            moves[-1] += moves_of(motion, bent.chain[:, -1])
        bend(clip, frames, turned[frames], plan.pelvis, None if tilt is None else tilt[frames], turns)
    return turned, join_moves(moves), short


def _solve_leg(plan: LegPlan, path: FootPath, frames: slice, body: Body, scene: Scene) -> tuple[SolvedLeg, Array]:
    """A leg solved from its hip under the moved body to its foot path, and its shortfall."""
    motion = path.motion
    leg, short = solve_leg(motion, plan.hinges, body, path.ankle, plan.reach[frames], plan.nearer[frames])
    if motion.pole is not None and len(plan.hinges):
        hinge = quaternions.rotate(quaternions.multiply(leg.deltas[:, 0], motion.turns[:, 0]), plan.hinges[0])
        leg = point_knee(leg, hinge, body.new_positions(motion.pole), np.full(len(hinge), scene.settings.weight))
    return leg, short
