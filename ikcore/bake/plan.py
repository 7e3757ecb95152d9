"""From a clip and a ground to where feet and body are to be: what is done in order, before any joint turns."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ikcore.bake import floors as floor
from ikcore.bake import loops, notes, partial, quaternions
from ikcore.bake.body import Body, body_of
from ikcore.bake.floors import Floor
from ikcore.bake.footing import Footing
from ikcore.bake.legs import hinges_of, nearer_of
from ikcore.bake.motion import LegMotion, legs_of, place_of, with_tips
from ikcore.bake.partial import Part
from ikcore.bake.passed import passed_by
from ikcore.bake.progress import Progress, Told
from ikcore.bake.scene import UNTURNED, Array, Mask, Scene
from ikcore.bake.provenance import Known
from ikcore.bake.settings import BakeSettings
from ikcore.bake.source import made_on
from ikcore.bake.stances import Stance, copy, foot_of, stances_of
from ikcore.bake.toes import toes_of
from ikcore.bake.way import Steps, Way, ways_of
from ikcore.bake.write import pelvis_of
from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.feet.detect import Feet
from ikcore.feet.human import EXACT
from ikcore.feet.intervals import blocks
from ikcore.feet.note import Note
from ikcore.grounds.ground import Ground
from ikcore.prepare.denoise import noise_of


@dataclass(slots=True, eq=False)
class Start:
    """What is baked: a clip, its legs over time, and when they stand.

    Attributes
    ----------
    clip, feet, contacts
        As they were given or found.
    motions : list of LegMotion
        The legs over all of `whole`.
    whole, held
        The clip and its contacts; of a loop three rounds, each of which gets `round` ahead.
    scene : Scene
        Where.
    noise : float
        How much the hips shake from frame to frame, where that was looked for.
    known : Known, optional
        What an earlier bake on this ground has left.
    """

    clip: Clip
    feet: Feet
    contacts: Contacts
    motions: list[LegMotion]
    whole: Clip
    held: Contacts
    round: Array | None
    scene: Scene
    noise: float
    known: Known | None

    @property
    def in_place(self) -> bool:
        """Whether the clip walks in place."""
        return self.scene.way is not None


@dataclass(slots=True, eq=False)
class Plan:
    """Where feet and body are to be, before joints turn for it.

    Attributes
    ----------
    pelvis : int
        The joint that is moved with the body.
    ways : list of Way
        Where feet go.
    toes : list of (frames, 4) array
        And how they turn their toes.
    hinges : list of (knees, 3) array
        How the knees of each leg bend.
    body : Body
        Where that goes.
    held : dict of str to (frames,) array
        By how much feet are held back under a body that stays.
    feet : Feet or None
        The legs, where what they do was let go and is to be found again, some frames at a time.
    scale : float
        How long the longest leg is beside that of a human.
    stances : list of Stance
        Of all legs; of a loop in three rounds.
    notes, missed
        What is to be said of it.
    """

    pelvis: int
    ways: list[Way]
    toes: list[Array]
    hinges: list[Array]
    body: Body
    held: dict[str, Array]
    feet: Feet | None
    scale: float
    stances: list[Stance]
    notes: tuple[Note, ...]
    missed: str | None

    def forget(self) -> None:
        """Let go of what joints were turned for: of long clips it takes as much memory as the result."""
        self.ways, self.toes, self.body = [], [], Body(np.empty((0, 3)), None, np.empty((0, 3)))


def start_of(
    clip: Clip,
    ground: Ground,
    feet: Feet | None,
    contacts: Contacts | None,
    settings: BakeSettings,
    workers: int,
    say: Progress,
    *,
    legs: Collection[str] | None,
    frames: tuple[int, int] | None,
    known: Known | None,
) -> Start:
    """Legs and contacts as given, as an earlier bake says, or found."""
    if feet is None:
        feet = Feet.detect(clip.skeleton, clip=clip)
        feet = feet if known is None else known.feet(feet)
    complete = partial.whole(clip, feet, legs, frames)
    if contacts is None:
        contacts = Contacts.detect(clip, feet) if known is None else known.contacts(clip.fps)
    say(0.1)
    whole, ahead = (loops.unrolled(clip), loops.travel(clip)) if clip.loop and len(clip) > 1 else (clip, None)
    motions, axis = legs_of(whole, with_tips(feet, clip)), "XYZ".index(clip.up)
    held = contacts if ahead is None else loops.unrolled_contacts(contacts)
    way = held.travel if contacts.treadmill.any() else None
    on_ground = known is not None or made_on(motions, held, ground, axis)
    say(0.3)
    scene = Scene(ground, clip.fps, axis, settings, workers, on_ground, way)
    noise = noise_of(clip, feet) if complete and known is None else 0.0
    return Start(clip, feet, contacts, motions, whole, held, ahead, scene, noise, known if ahead is None else None)


def planned(start: Start, part: Part, pelvis: str | None, say: Progress) -> Plan:
    """Where feet stand, how they go there, and what the body does so that legs reach."""
    clip, motions, scene = start.clip, start.motions, start.scene
    stances, ways, under = _ways(start, Told(say, 0.3, 0.6))
    joint, scale = pelvis_of(clip, start.feet, motions[0].size, pelvis), max(motion.scale for motion in motions)
    hinges = [hinges_of(motion) for motion in motions]
    long = part.whole and start.round is None and len(list(blocks(len(clip)))) > 1
    if long:
        for motion in motions:
            motion.forget_turns()
    body = body_of(place_of(start.whole, joint), ways, scene, rounds=start.round is not None)
    if start.round is not None:
        ways, under, body = _middle_round(motions, ways, under, body)
        hinges = [hinges_of(way.motion) for way in ways]
    toes = [way.toes for way in ways]
    if stances:
        toes = [toes_of(way, floors, scene, loop=clip.loop) for way, floors in zip(ways, under, strict=True)]
    _weigh(ways, toes, body, scene.settings.weight)
    # of the ground where feet are to go: that a body holds them back has a note of its own
    said = notes.of(clip, stances, ways, scene, start.noise)
    missed = notes.missed(stances, motions, scene)
    held: dict[str, Array] = {}
    if part.still:
        body = partial.body_of(part.earlier, clip, joint)
        held = partial.held_back(ways, body)
    for way in ways:
        way.nearer = nearer_of(way.motion, body, way.ankle, way.reach, scene.fps, loop=clip.loop)
    if long:
        for way in ways:
            way.forget()
    feet = with_tips(start.feet, clip) if long else None
    return Plan(joint, ways, toes, hinges, body, held, feet, scale, stances, said, missed)


def _ways(start: Start, told: Told) -> tuple[list[Stance], list[Way], list[Floor]]:
    """The ways of all feet over the ground; over three rounds of a loop."""
    motions, contacts, scene, way = start.motions, start.held, start.scene, start.round
    planted = [floor.planted_of(motion, contacts) for motion in motions]
    under = floor.floors_of(motions, planted, contacts, scene)
    known = {motion.leg.name: foot_of(motion, floors, scene) for motion, floors in zip(motions, under, strict=True)}
    spans = {} if start.known is None else {motion.leg.name: start.known.spans(motion.leg.name) for motion in motions}
    stances = stances_of(motions, known, planted, scene, spans)
    footing = Footing(scene, known)
    if way is None:
        for stance in told.part(0.2, 0.5).over(stances):
            footing.place(motions[stance.leg], stance, under[stance.leg])
    else:
        loops.place_rounds(footing, motions, stances, under, way)
    for stance in stances:
        copy(stance, scene.settings.tolerance * motions[stance.leg].scale)
    if stances and all(stance.part < 0 for stance in stances):
        raise ValueError(notes.nowhere(motions, scene))
    feet, stays = [], all(stance.copied for stance in stances)
    for at, (motion, floors) in enumerate(zip(motions, under, strict=True)):
        mine = [stance for stance in stances if stance.leg == at]
        passed = [] if stays else passed_by(motion, mine, stances, footing)
        feet.append(Steps(motion, mine, passed, floors, known[motion.leg.name], _copied(start, motion)))
    return stances, ways_of(feet, scene, way is not None, told.part(0.5, 1.0)), under


def _copied(start: Start, motion: LegMotion) -> Mask:
    """When a foot stays exactly where an earlier bake has put it."""
    return np.zeros(len(start.whole), bool) if start.known is None else start.known.copied(motion.leg.name)


def _middle_round(
    motions: list[LegMotion], ways: list[Way], under: list[Floor], body: Body
) -> tuple[list[Way], list[Floor], Body]:
    """The second one of three."""
    last = (len(body.pivot) - 1) // 3
    own = slice(last, 2 * last + 1)
    ways = [way.part(motion.part(own), own) for motion, way in zip(motions, ways, strict=True)]
    return ways, [floors.part(own) for floors in under], body.part(own)


def _weigh(ways: list[Way], toes: list[Array], body: Body, weight: float) -> None:
    """Take some of what is done. Toes go with their feet from here on."""
    if weight < 1:
        share = np.full(len(body.pivot), weight)
        for at, way in enumerate(ways):
            way.shift *= weight
            way.turn, toes[at] = (quaternions.slerp(UNTURNED, turn, share) for turn in (way.turn, toes[at]))
        body.shift *= weight
        if body.tilt is not None:
            body.tilt = quaternions.slerp(UNTURNED, body.tilt, share)
    for at, way in enumerate(ways):
        toes[at] = quaternions.multiply(toes[at], way.turn)
