"""Feet on the ground: a clip and a ground in, a grounded clip out."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ikcore import rotations
from ikcore.bake import floors as floor
from ikcore.bake import loops, notes, partial, strides
from ikcore.bake.body import Body, body_of
from ikcore.bake.floors import Floor
from ikcore.bake.footing import Footing
from ikcore.bake.legs import Bent, hinges_of, pointed, reached
from ikcore.bake.made import made_on, made_there
from ikcore.bake.motion import LegMotion, legs_of, place_of, with_tips
from ikcore.bake.notes import Note
from ikcore.bake.passed import passed_by
from ikcore.bake.progress import Progress, Told
from ikcore.bake.scene import UNTURNED, Array, Scene
from ikcore.bake.settings import BakeSettings
from ikcore.bake.stances import Stance, stances_of
from ikcore.bake.toes import toes_of
from ikcore.bake.way import Way, clear, way_of
from ikcore.bake.write import Move, Turn, moves_of, pelvis_of, turns_of, written
from ikcore.clips.clip import Clip
from ikcore.feet.contacts import Contacts
from ikcore.feet.detect import Feet
from ikcore.feet.measured import Measured, before_and_after
from ikcore.grounds.ground import Ground
from ikcore.pages import report


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Baked:
    """What `bake_feet` makes.

    Attributes
    ----------
    clip : Clip
        The motion on the ground.
    source : Clip
        What it was made of: the clip that came in, on its way if it walked on the spot, with its strides as they were
        fitted to the ground.
    ground : Ground
        What it stands on.
    feet : Feet
        Its legs.
    contacts : Contacts
        When they stand.
    rise : (frames,) array
        How far up the pelvis was moved.
    short : dict of str to (frames,) array
        By how much each leg falls short of where its foot should be: too far away, or so near that it would fold up.
        Zeros as a rule.
    stances : int
        How many contacts with the ground there are.
    notes : tuple of Note
        Sentences, which are str: that a clip on the spot was sent on its way; why nothing has changed, if so, or ground
        is missing or seems to be in another unit. Their `setting` names what of `BakeSettings` would have it otherwise.
    strides : (strides,) array
        How long each is beside what it was, where `stride` of the settings had them fitted to the ground.
    on_the_spot : bool
        Whether it walks on the spot and has stayed there: it is measured as if it went its way.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=4).clip
    >>> ik.bake_feet(walk, ik.Ground.plane([0, 1, -0.1]))
    Baked(241 frames, 9 stances, pelvis moved -0.062 to 0.46, all feet in reach)
    """

    clip: Clip
    source: Clip
    ground: Ground
    feet: Feet
    contacts: Contacts
    rise: Array
    short: dict[str, Array]
    stances: int
    notes: tuple[Note, ...] = ()
    strides: Array = field(default_factory=lambda: np.zeros(0))
    on_the_spot: bool = False

    def measured(self) -> tuple[Measured, Measured]:
        """How the source does on the ground, and how the result does, by the contacts of the source."""
        source, clip, feet, ground = self.source, self.clip, self.feet, self.ground
        return before_and_after(source, clip, feet, ground, self.contacts, on_the_spot=self.on_the_spot)

    def report(self, path: str | os.PathLike[str], title: str = "Bake") -> None:
        """Write a page of pictures: the feet before and after, contacts, knees and measures.

        Parameters
        ----------
        path : path
            The HTML file.
        title : str, optional
            Its heading.
        """
        before, after = self.measured()
        report.write(path, title, after, before, notes=self.notes)

    def __repr__(self) -> str:
        frames = f"{len(self.clip)} frame{'s' * (len(self.clip) != 1)}"
        moved = f"pelvis moved {self.rise.min():.2g} to {self.rise.max():.2g}"
        out = {leg: int(np.count_nonzero(short)) for leg, short in self.short.items()}
        reach = ", ".join(f"{leg} out of reach in {count} frames" for leg, count in out.items() if count)
        return f"Baked({frames}, {self.stances} stances, {moved}, {reach or 'all feet in reach'})"


def bake_feet(
    clip: Clip,
    ground: Ground,
    *,
    feet: Feet | None = None,
    contacts: Contacts | None = None,
    settings: BakeSettings | None = None,
    legs: Collection[str] | None = None,
    frames: tuple[int, int] | None = None,
    pelvis: str | None = None,
    earlier: Clip | None = None,
    progress: Progress | None = None,
    workers: int = 1,
) -> Baked:
    """Put the feet of a clip on the ground: planted feet stand still on it, those that swing clear it.

    A clip that walks on level ground follows the ground with its feet and its body, stairs and slopes alike. One that
    was made on this ground is mended where its feet slide, sink and float. Feet that stand as they should are left as
    they are, to the bit.

    Parameters
    ----------
    clip : Clip
        The motion. If it walks on the spot, it is sent on its way first, unless `travelling` of the settings is False.
    ground : Ground
        What to stand on, with the axis and the unit of the clip. If it moves, over as many frames as the clip.
    feet : Feet, optional
        The legs (default: `Feet.detect` of this clip).
    contacts : Contacts, optional
        When they stand (default: `Contacts.detect` of this clip, on this ground if it was made on it).
    settings : BakeSettings, optional
        What can be chosen.
    legs : collection of str, optional
        The legs that change, by name (default: all). If only some do, the pelvis stays where it is.
    frames : (int, int), optional
        The first frame that changes, and the first one after; at both ends what is changed fades in and out.
    pelvis : str, optional
        The joint that is moved with the body (default: the one that carries all legs, as far up as joints are about
        where the hips are; of feet without legs the one beside them that carries most joints).
    earlier : Clip, optional
        What a bake has made of the clip before: legs, frames and a pelvis that do not change are as they are there
        (default: as they are in the clip).
    progress : callable, optional
        Called with the share that is done, 0 to 1. What it raises ends the bake; nothing is changed then.
    workers : int, optional
        How many threads, -1 for all cores. The result is the same to the bit.

    Returns
    -------
    Baked

    Raises
    ------
    ValueError
        If there are no legs, the pelvis does not carry them, ground and clip do not fit each other, there is no ground
        under any foot, or a pose is not finite.

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
    _check(clip, ground, frames, legs, settings, earlier)
    settings = settings or BakeSettings()
    told, feet = feet, Feet.detect(clip.skeleton, clip=clip) if feet is None else feet
    given, contacts = contacts, Contacts.detect(clip, feet) if contacts is None else contacts
    lacks = contacts.way
    clip = contacts.travelling(clip) if settings.travelling else clip
    say(0.1)
    whole, way = (loops.unrolled(clip), loops.travel(clip)) if clip.loop and len(clip) > 1 else (clip, None)
    feet, motions, made = _standing(clip, whole, feet, ground, told is not None, workers)
    axis = "XYZ".index(clip.up)
    say(0.3)
    if made and given is None:
        contacts = Contacts.detect(clip, feet, ground)
    held = contacts if way is None else loops.unrolled_contacts(contacts)
    stays = lacks.any() and not settings.travelling
    scene = Scene(ground, clip.fps, axis, settings, workers, made, held.way if stays else None)
    strided = strides.fitted(clip, motions, contacts, scene) if settings.stride and not made else strides.left(clip)
    if strided.clip is not clip:
        clip, motions = strided.clip, legs_of(strided.clip, with_tips(feet, clip), workers)
        scene = dataclasses.replace(scene, settings=_unlocked(settings, strided.slides, motions))
    stances, ways, under = _ways(motions, held, scene, way, Told(say, 0.3, 0.6))
    joint = pelvis_of(clip, feet, motions[0].size, pelvis)
    chosen = _chosen(feet, legs)
    body = body_of(place_of(whole, joint), ways, scene)
    if way is not None:
        ways, under, body = _middle_round(motions, ways, under, body)
    toes = [toes_of(foot, floors, scene, loop=clip.loop) for foot, floors in zip(ways, under, strict=True)]
    _weigh(ways, toes, body, scene.settings.weight)
    earlier, still = earlier or clip, len(chosen) < len(ways)
    if still:
        body = partial.body_of(earlier, clip, joint)
    say(0.7)
    turns, moves, short = _solved(ways, toes, body, scene)
    say(0.9)
    baked, rise = written(clip, joint, body, turns, moves), body.shift[:, axis].copy()
    if clip.loop:
        baked = loops.closed(baked, clip)
    share = partial.share_of(clip, frames, scene)
    if still or share.min() < 1:
        baked, short = partial.changed(earlier, baked, ways, toes, chosen, share, scene)
        rise = (place_of(baked, joint) - body.pivot)[:, axis]
    say(1.0)
    said = notes.of(baked, earlier, lacks, stances, motions, scene, strided.shares)
    return Baked(baked, clip, ground, feet, contacts, rise, short, len(stances), said, strided.shares, bool(stays))


def _standing(
    clip: Clip, whole: Clip, feet: Feet, ground: Ground, told: bool, workers: int
) -> tuple[Feet, list[LegMotion], bool]:
    """Legs over time, and whether the clip was made on this ground: then soles are measured on it, unless told."""
    motions, axis = legs_of(whole, with_tips(feet, clip), workers), "XYZ".index(clip.up)
    made = made_on(motions, ground, clip.fps, axis)
    if floor.height_of(ground) is not None:
        return feet, motions, made
    if told:
        return feet, motions, made or made_there(motions, motions, ground, clip.fps, axis)
    there = Feet.detect(clip.skeleton, clip=clip, ground=ground)
    on_it = legs_of(whole, with_tips(there, clip), workers)
    if made or made_there(motions, on_it, ground, clip.fps, axis):
        return there, on_it, True
    return feet, motions, False


def feet_on(
    clip: Clip, feet: Feet, ground: Ground, *, vertices: Mapping[str, ArrayLike] | None = None, workers: int = 1
) -> Feet:
    """Legs with soles: measured on the ground, if the clip was made on it, as `bake_feet` does that has to find them.

    Legs that have soles keep them.

    Parameters
    ----------
    clip : Clip
        The motion.
    feet : Feet
        The legs.
    ground : Ground
        What it is to be baked on.
    vertices : mapping of str to (n, 3) array_like, optional
        The skin of the feet, as for `Feet.detect`.
    workers : int, optional
        How many threads, -1 for all cores.

    Returns
    -------
    Feet
    """
    level = feet.with_soles(clip, vertices=vertices)
    if floor.height_of(ground) is not None:
        return level
    there = feet.with_soles(clip, vertices=vertices, ground=ground)
    motions, on_it = (legs_of(clip, with_tips(each, clip), workers) for each in (level, there))
    axis = "XYZ".index(clip.up)
    made = made_on(motions, ground, clip.fps, axis) or made_there(motions, on_it, ground, clip.fps, axis)
    return there if made else level


def _check(
    clip: Clip,
    ground: Ground,
    frames: tuple[int, int] | None,
    legs: Collection[str] | None,
    settings: BakeSettings | None,
    earlier: Clip | None,
) -> None:
    if not isinstance(clip, Clip):
        raise TypeError(f"clip: expected a Clip, got {type(clip).__name__}; ik.Clip.read reads one")
    if not isinstance(ground, Ground):
        raise TypeError(f"ground: expected a Ground, got {type(ground).__name__}; ik.Ground.read reads one")
    if settings is not None and not isinstance(settings, BakeSettings):
        raise TypeError(f"settings: expected BakeSettings, got {type(settings).__name__}: ik.BakeSettings(lock=False)")
    if earlier is not None and not isinstance(earlier, Clip):
        raise TypeError(f"earlier: expected a Clip, got {type(earlier).__name__}: what bake_feet made is in its .clip")
    if ground.up != clip.up.lower():
        raise ValueError(f"ground: expected {clip.up} up as in the clip, got {ground.up.upper()}; see Clip.convert")
    if not ground.parts:
        raise ValueError("ground: expected something to stand on, got nothing")
    if settings is not None and settings.stride:
        _check_stride(clip, ground, settings, part=frames is not None or legs is not None)
    if clip.loop and ground.moves:
        raise ValueError("ground: a loop cannot be baked on ground that moves: unset its loop flag")
    for name in ("rotations", "translations", "scales"):
        values = getattr(clip.pose, name)
        if values is not None and not np.isfinite(values).all():
            frame = int(np.flatnonzero(~np.isfinite(values).all(axis=(1, 2)))[0])
            raise ValueError(f"clip: expected finite numbers, got others in its {name}, first in frame {frame}")
    if frames is not None and not all(isinstance(frame, (int, np.integer)) for frame in frames):
        raise TypeError(f"frames: expected two whole numbers, got {frames!r}")
    if frames is not None and not 0 <= frames[0] < frames[1] <= len(clip):
        raise ValueError(f"frames: expected some among 0 to {len(clip)}, got {frames[0]} to {frames[1]}")
    if earlier is not None and (earlier.skeleton, len(earlier), earlier.up) != (clip.skeleton, len(clip), clip.up):
        raise ValueError("earlier: expected what was baked of this clip, got one of other joints, frames or axes")


def _check_stride(clip: Clip, ground: Ground, settings: BakeSettings, *, part: bool) -> None:
    """Fitted strides move all of a clip, over ground that is at rest, and a loop would end elsewhere."""
    what = {
        "a loop": clip.loop,
        "ground that moves": ground.moves,
        "what stays on the spot": not settings.travelling,
        "some legs or frames alone": part,
    }
    for name, applies in what.items():
        if applies:
            raise ValueError(f"stride: expected 0 for {name}, got {settings.stride:g}; strides are fitted as a whole")


def _unlocked(settings: BakeSettings, slides: float, motions: list[LegMotion]) -> BakeSettings:
    """Feet may be as much farther from their plants as strides that were fitted drag them."""
    most = slides / min(motion.scale for motion in motions)
    return dataclasses.replace(settings, unlock=settings.unlock + most)


def _chosen(feet: Feet, legs: Collection[str] | None) -> set[str]:
    known = {leg.name for leg in feet}
    chosen = known if legs is None else {legs} if isinstance(legs, str) else set(legs)
    if strange := chosen - known:
        raise ValueError(f"legs: no leg is called {min(strange)!r}; there are {', '.join(leg.name for leg in feet)}")
    return chosen


def _ways(
    motions: list[LegMotion], contacts: Contacts, scene: Scene, way: Array | None, told: Told
) -> tuple[list[Stance], list[Way], list[Floor]]:
    """The ways of all feet over the ground; over three rounds of a loop that gets so far in each."""
    under = floor.floors_of(motions, contacts, scene)
    stances = stances_of(motions, under, contacts, scene)
    footing = Footing(scene)
    if way is None:
        for stance in told.part(0.2, 0.5).over(stances):
            footing.place(motions[stance.leg], stance, under[stance.leg])
    else:
        loops.place_rounds(footing, motions, stances, under, way)
    if stances and all(stance.part < 0 for stance in stances):
        raise ValueError(notes.nowhere(motions, scene))
    ways, legs = [], told.part(0.5, 1.0)
    for at, (motion, floors) in enumerate(zip(motions, under, strict=True)):
        mine = [stance for stance in stances if stance.leg == at]
        passed = passed_by(motion, mine, stances, floors, scene)
        part = legs.part(at / len(motions), (at + 1) / len(motions))
        ways.append(way_of(motion, mine, passed, floors, scene, way is not None, part))
    clear(ways, scene)
    return stances, [way for way, *_ in ways], under


def _middle_round(
    motions: list[LegMotion], ways: list[Way], under: list[Floor], body: Body
) -> tuple[list[Way], list[Floor], Body]:
    """The second one of three."""
    last = (len(body.pivot) - 1) // 3
    own = slice(last, 2 * last + 1)
    ways = [way.part(motion.part(own), own) for motion, way in zip(motions, ways, strict=True)]
    return ways, [floors.part(own) for floors in under], body.part(own)


def _weigh(ways: list[Way], toes: list[Array], body: Body, weight: float) -> None:
    """Take some of what is done."""
    share = np.full(len(body.pivot), weight)
    for at, way in enumerate(ways):
        way.shift *= share[:, np.newaxis]
        way.turn = rotations.slerp(UNTURNED, way.turn, share)
        toes[at] = rotations.multiply(rotations.slerp(UNTURNED, toes[at], share), way.turn)
    body.shift *= share[:, np.newaxis]
    body.tilt = rotations.slerp(UNTURNED, body.tilt, share)


def _solved(
    ways: list[Way], toes: list[Array], body: Body, scene: Scene
) -> tuple[list[list[Turn]], list[Move], dict[str, Array]]:
    """How the joints of all legs turn, how feet without legs move, and by how much each leg falls short."""
    turns, moves, short = [], [], {}
    for way, bent in zip(ways, toes, strict=True):
        leg, short[way.motion.leg.name] = _bent(way, body, scene)
        turns.append(turns_of(way.motion, leg.deltas, way.turn, bent))
        moves += moves_of(way.motion, leg.chain[:, -1])
    return turns, moves, short


def _bent(way: Way, body: Body, scene: Scene) -> tuple[Bent, Array]:
    """The leg under its hip as the body carries that, and by how much it falls short of where its foot should be."""
    motion, tilt, hinges = way.motion, body.tilt[:, np.newaxis], hinges_of(way.motion)
    tilted = body.pivot[:, np.newaxis] + rotations.rotate(tilt, motion.chain - body.pivot[:, np.newaxis])
    turned, hip = rotations.multiply(tilt, motion.turns), body.carried(motion.chain[:, 0])
    leg, short = reached(tilted, turned, hinges, hip, way.ankle, way.over(scene), way.reach, motion.size)
    if motion.pole is not None and len(hinges):
        hinge = rotations.rotate(rotations.multiply(leg.deltas[:, 0], turned[:, 0]), hinges[0])
        leg = pointed(leg, hinge, body.carried(motion.pole), np.full(len(hip), scene.settings.weight))
    leg.deltas = rotations.multiply(leg.deltas, tilt)
    return leg, short
