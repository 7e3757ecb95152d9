"""Footholds, foot paths and the displacement of the body: all stages before joints are rotated."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ikcore.bake import floors, loops, notes, partial, quaternions
from ikcore.bake.foot import Foot, Stance
from ikcore.bake.footholds import Foothold, Footing, passing_footholds
from ikcore.bake.legs import approach_of, hinges_of
from ikcore.bake.motion import LegMotion, legs_of, place_of
from ikcore.bake.partial import Part
from ikcore.bake.paths import FootPath, Steps, paths_of
from ikcore.bake.pelvis import Body, body_of, reach_of
from ikcore.bake.scene import Array, Scene
from ikcore.bake.settings import BakeSettings
from ikcore.bake.source import SourceFloor, is_ground
from ikcore.bake.stances import stances_of
from ikcore.bake.toes import toes_of
from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.contacts.earlier_bake import EarlierStances
from ikcore.contacts.intervals import blocks
from ikcore.feet.detect import Feet
from ikcore.feet.find_pelvis import pelvis_of
from ikcore.feet.note import Note
from ikcore.feet.tips import with_tips
from ikcore.grounds.ground import Ground
from ikcore.prepare.denoise import noise_of

Progress = Callable[[float], object]  # called with the share that is done, 0 to 1


@dataclass(frozen=True, slots=True, eq=False)
class BakeInput:
    """The input of a bake: a clip, its legs over time, and their contacts."""

    # given, or detected
    clip: Clip
    feet: Feet
    contacts: Contacts
    motions: list[LegMotion]  # the legs over all frames of `whole`
    # the clip and its contacts; of a loop three rounds, each of which travels by `round`
    whole: Clip
    held: Contacts
    round: Array | None
    scene: Scene  # the ground and the settings
    known: EarlierStances | None  # what an earlier bake on this ground has left

    @property
    def in_place(self) -> bool:
        """True for an in-place clip."""
        return self.scene.way is not None


@dataclass(frozen=True, slots=True, eq=False)
class LegPlan:
    """The wanted motion of a leg."""

    path: FootPath  # the foot path
    toes: Array  # (frames, 4): world rotations of the toes, with the foot
    hinges: Array  # (knees, 3): axes of the knees
    reach: Array  # (frames,): largest hip-ankle distance
    nearer: Array  # (frames,): `nearer_of`


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Targets of feet and body, before joints are rotated."""

    pelvis: int  # the joint that is moved with the body
    legs: list[LegPlan]  # targets of the legs
    body: Body  # displacement of the body
    held: dict[str, Array]  # (frames,): distances by which feet are held back under a body that stays
    feet: Feet | None  # the legs of a long clip, whose motion is computed again for some frames at a time
    scale: float  # length of the longest leg relative to a human's
    holds: list[Foothold]  # footholds of all legs; of a loop those of three rounds
    # the notes
    notes: tuple[Note, ...]
    missed: str | None

    def without_paths(self) -> Plan:
        """The notes and footholds alone, because the paths of long clips take as much memory as the result."""
        none = np.empty((0, 3))
        holds = [dataclasses.replace(hold, stance=dataclasses.replace(hold.stance, slips=none)) for hold in self.holds]
        return dataclasses.replace(self, legs=[], body=Body(none, None, none), holds=holds)


def start_of(
    clip: Clip,
    ground: Ground,
    feet: Feet | None,
    contacts: Contacts | None,
    settings: BakeSettings,
    workers: int | None,
    say: Progress,
    source_floor: SourceFloor,
    known: EarlierStances | None,
) -> BakeInput:
    """Legs and contacts: given, from an earlier bake, or detected."""
    if feet is None:
        feet = Feet.detect(clip.skeleton, clip=clip)
        feet = feet if known is None else known.feet(feet)
    if contacts is None:
        contacts = Contacts.detect(clip, feet) if known is None else known.contacts(clip.fps)
    say(0.1)
    whole, held, ahead = clip, contacts, None
    if clip.loop and len(clip) > 1:
        whole, held, ahead = loops.unroll(clip), loops.unroll_contacts(contacts), loops.travel(clip)
    motions, axis = legs_of(whole, with_tips(feet, clip)), "XYZ".index(clip.up)
    way = held.travel if contacts.treadmill.any() else None
    on_ground = known is not None or is_ground(source_floor, motions, held, ground, axis)
    say(0.3)
    scene = Scene(ground, clip.fps, axis, settings, workers, on_ground, way)
    return BakeInput(clip, feet, contacts, motions, whole, held, ahead, scene, known)


def make_plan(start: BakeInput, part: Part, pelvis: str | None, say: Progress) -> Plan:
    """Plan footholds, foot paths, pelvis and toes, in this order."""
    clip, motions, scene, rounds = start.clip, start.motions, start.scene, start.round is not None
    noise = noise_of(clip, start.feet) if part.whole and start.known is None else 0.0
    feet, holds, paths = _paths(start, say)
    say(0.6)
    joint, scale = pelvis_of(clip, start.feet, motions[0].size, pelvis), max(motion.scale for motion in motions)
    hinges, under = [hinges_of(motion) for motion in motions], [foot.floor for foot in feet]
    long = part.whole and not rounds and len(list(blocks(len(clip)))) > 1
    if long:
        for motion in motions:
            motion.free_turns()
    reaches = [reach_of(path, scene) for path in paths]
    body = body_of(place_of(start.whole, joint), paths, reaches, scene, rounds=rounds)
    if rounds:
        own = loops.second_round(len(start.whole))
        paths = [path.part(path.motion.part(own), own) for path in paths]
        under, body, reaches = [floor.part(own) for floor in under], body.part(own), [each[own] for each in reaches]
        hinges = [hinges_of(path.motion) for path in paths]
    toes = [toes_of(*each, scene, loop=clip.loop) if holds else each[0].toes for each in zip(paths, under, strict=True)]
    if (weight := scene.settings.weight) < 1:
        paths, body = [path.with_weight(weight) for path in paths], body.with_weight(weight)
        toes = [quaternions.scale_rotations(each, weight) for each in toes]
    # for the ground at the foot targets; feet that a body holds back have a note of their own
    said, missed = notes.of(clip, holds, paths, scene, noise, start.contacts), notes.reason_off_ground(holds, scene)
    held: dict[str, Array] = {}
    if part.still:
        body = partial.body_of(part.earlier, clip, joint)
        paths, held = partial.hold_back(paths, body)
    nearer = [
        approach_of(path.motion, body, path.ankle, reach, scene.fps, loop=clip.loop)
        for path, reach in zip(paths, reaches, strict=True)
    ]
    toes = [quaternions.multiply(bent, path.turn) for bent, path in zip(toes, paths, strict=True)]
    paths = [path.without_source() for path in paths] if long else paths
    legs = [LegPlan(*each) for each in zip(paths, toes, hinges, reaches, nearer, strict=True)]
    return Plan(joint, legs, body, held, with_tips(start.feet, clip) if long else None, scale, holds, said, missed)


def _paths(start: BakeInput, say: Progress) -> tuple[list[Foot], list[Foothold], list[FootPath]]:
    """Footholds and foot paths; over three rounds of a loop."""
    motions, scene, known = start.motions, start.scene, start.known if start.round is None else None
    planted = [floors.planted_of(motion, start.held) for motion in motions]
    under = floors.floors_of(motions, planted, start.held, scene)
    feet = [Foot(motion, floor, scene) for motion, floor in zip(motions, under, strict=True)]
    spans = {} if known is None else {motion.leg.name: known.spans(motion.leg.name) for motion in motions}
    footing = Footing(scene, feet)
    holds = _place_stances(stances_of(feet, planted, scene, spans), footing, start, say)
    if holds and all(hold.part < 0 for hold in holds):
        raise ValueError(notes.NOWHERE)
    steps, stays = [], all(hold.copied for hold in holds)
    for leg, foot in enumerate(feet):
        mine = [hold for hold in holds if hold.stance.leg == leg]
        passed = [] if stays else passing_footholds(leg, footing, mine, holds)
        copied = np.zeros(len(start.whole), bool) if known is None else known.copied_frames(foot.motion.leg.name)
        steps.append(Steps(foot, mine, passed, copied))
    say(0.45)
    return feet, holds, paths_of(steps, scene, start.round is not None)


def _place_stances(stances: list[Stance], footing: Footing, start: BakeInput, say: Progress) -> list[Foothold]:
    """Footholds one after the other, each searched from the one before."""
    if start.round is not None:
        return loops.repeat_footholds(footing, stances, len(start.whole), start.round)
    holds = []
    for done, stance in enumerate(stances, 1):
        holds.append(footing.place(stance))
        say(0.35 + 0.05 * done / len(stances))
    return holds
