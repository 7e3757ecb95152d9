"""How well `ikcore.bake_feet` puts feet on the ground: `python benchmarks/protocols.py [--only N] [--clip NAME]`.

Captured clips are put on flat floors, ramps, stairs and bumps, written as BVH, and read back. judge.py measures them;
it shares no code with ikcore's feet. IKCORE_MOCAP is the folder of the clips and their clips.json, IKCORE_TERRAIN that
of the grounds. Prints Markdown: the worst value of each measure, for docs.

--cases             one line for each case. A case passes if all its values are within their bounds
--rows, --failed    every value; every value outside its bound
--json              all as JSON
--pieces SEED       judges 144 pieces of clips instead, cut anywhere by a seed
--method identity   judges the unchanged clips, which shows what the bounds find
--method standin    judges the bake of standin.py, which knows the contacts

The results of protocols 1 to 3, 5, 8 and 9 are baked again on the same ground: the second pass, a case of its own, in
which nothing may change.

Every clip is turned to walk along +z, its own floor y = 0, the middle of its way above the origin, where ramps and low
stairs begin. Clips on the spot are given the travel that makes their feet stand.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import judge
import numpy as np
import standin
from judge import BOUNDS, FLAT, GENTLE, STAIRS, UP, Array, Motion, Names, On, Source, size, through_bvh
from run import table
from timing import QUICK, parser_of

import ikcore as ik

SEED = 7
DIGITS = 1e-3  # what those of a BVH file do to jerks
SOLE = 0.015  # leg lengths: by how much soles of a piece are a matter of opinion, at most
STANDING = [name for name in BOUNDS if name.startswith(("stance", "penetration", "float"))]


@dataclass(frozen=True)
class Row:
    """A measure of a clip on a ground."""

    protocol: int
    clip: str
    ground: str
    kind: str
    metric: str
    value: float
    bound: float | None
    note: str = ""

    @property
    def ok(self) -> bool:
        """Within its bound, if it has one; what could not be measured is not."""
        return not self.note and (self.bound is None or self.value <= self.bound + 1e-9)


# --- clips -----------------------------------------------------------------------------------------------------------

# File and animation, as clips.json has them, and how high its floor is: 0 where they were captured or made so.
CLIPS = {
    "pab_walk": ("pab_walk.bvh", "walk", 0.0),
    "Woman": ("Woman.gltf", "Walking", 0.0),
    "12_01": ("cmu_12_01_walk.bvh", "walk", 0.0),
    "zombie": ("fair1_zombie.bvh", "zombie", 0.0),
    "03_01": ("cmu_03_01_uneven_daz.bvh", "uneven", -0.16),
    "pab_run": ("pab_run.bvh", "run", 0.0),
    "Woman run": ("Woman.gltf", "Running", 0.0),
    "Fox": ("Fox.glb", "Walk", 0.0),
    "Fox run": ("Fox.glb", "Run", 0.0),
    "Spider": ("Spider.glb", "Walk-loop", 0.0),
}
WALKS = ("pab_walk", "Woman", "12_01", "zombie")


@functools.cache
def _listed() -> dict[tuple[str, str], Any]:
    text = (Path(os.environ["IKCORE_MOCAP"]) / "clips.json").read_text()
    return {(clip["file"], clip["clip"]): clip for clip in json.loads(text)["clips"]}


@functools.cache
def on_the_spot(name: str) -> ik.Clip:
    """A clip as it comes, in metres, Y up, without the frames that are to be left out, floor at 0."""
    file, animation, floor = CLIPS[name]
    about = _listed()[file, animation]
    path = Path(os.environ["IKCORE_MOCAP"]) / file
    clip = ik.Clip.read(
        path, animation if about["format"] == "gltf" else None, up=about["up"], unit=about["metres_per_unit"]
    )
    return moved(clip.convert(up="Y", unit=1.0)[about["skip_first_frames"] :], shift=-floor * UP)


@functools.cache
def clip_of(name: str) -> ik.Clip:
    """The clip, with travel if it has none, walking along +z, with the middle of its path above the origin."""
    clip, legs = on_the_spot(name), legs_of(name)
    if _listed()[CLIPS[name][:2]]["in_place"]:
        clip = travelling(clip, stance_velocity(Motion(clip, legs)))
    pelvis = Motion(clip, legs).pelvis * [1, 0, 1]
    way = pelvis[np.argmax(size(pelvis - pelvis[0]))] - pelvis[0]
    clip = moved(clip, shift=-(pelvis[0] + way / 2))
    return moved(clip, turn=ik.rotations.from_axis_angle(UP, -np.arctan2(way[0], way[2])))


@functools.cache
def legs_of(name: str) -> list[Names]:
    """The legs of clips.json; the end of a chain in a BVH file is called after its joint."""
    legs = []
    for leg in _listed()[CLIPS[name][:2]]["legs"]:
        ball = f"{leg['ankle']}_end" if leg["ball"] == "End Site" else leg["ball"]
        toe = leg["toe_end"]
        if toe == "End Site":
            toe = None if leg["ball"] == "End Site" else f"{leg['ball']}_end"
        legs.append(Names(leg["name"], leg["hip"], leg["knee"], leg["ankle"], ball, toe))
    if name == "Spider":  # its ankles are targets that nothing hangs on: the tips of the shins are there
        motion = Motion(on_the_spot(name), legs)
        legs = [dataclasses.replace(leg, ankle=motion.carried(leg.knee, motion.at(leg.ankle))) for leg in legs]
    return legs


@functools.cache
def source_of(name: str) -> Source:
    """Measured as results are, after a way through a file."""
    return Source(Motion(through_bvh(clip_of(name)), legs_of(name)))


@functools.cache
def level_of(name: str) -> Array:
    """How high the soles of judge.py are where the bake lets feet stand on their own floor."""
    return level_in(clip_of(name), source_of(name))


def level_in(clip: ik.Clip, source: Source) -> Array:
    """The same of another clip: of a piece less is known of soles, and of how a captured floor slopes."""
    motion = Motion(through_bvh(bake(clip, own_floor(), source).clip), source.motion.legs)
    return judge.level(On.ground(motion, source, own_floor()), source)


def stance_velocity(motion: Motion) -> Array:
    """The velocity at which feet that are low move, which the ground has under a clip on the spot."""
    foot = motion.foot
    low = foot[..., 1] < foot[..., 1].min(axis=0) + 0.03 * motion.length
    velocities = judge.velocity(foot, motion.fps)[low] * [1, 0, 1]
    usual = np.median(velocities, axis=0)
    near = size(velocities - usual) <= 0.2 * size(usual) + 1e-9
    return velocities[near].mean(axis=0) if near.any() else usual


def travelling(clip: ik.Clip, ground: Array) -> ik.Clip:
    """The clip on ground that stands, where it had this velocity."""
    return moved(clip, shift=-ground * (np.arange(len(clip)) / clip.fps)[:, np.newaxis])


def moved(clip: ik.Clip, turn: Array | None = None, shift: Array | None = None) -> ik.Clip:
    """Turned about the origin, then shifted, all frames alike or each of its own."""
    roots = np.flatnonzero(clip.skeleton.parents < 0)
    rotations, shape = clip.pose.rotations.copy(), (len(clip), len(clip.skeleton), 3)
    at = np.array(
        np.broadcast_to(clip.skeleton.offsets, shape) if clip.pose.translations is None else clip.pose.translations
    )
    for root in roots:
        if turn is not None:
            rotations[:, root] = ik.rotations.multiply(turn, rotations[:, root])
            at[:, root] = ik.rotations.rotate(turn, at[:, root])
        if shift is not None:
            at[:, root] += shift
    return dataclasses.replace(clip, pose=ik.Pose(rotations, at, clip.pose.scales))


# --- the bake --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Identity:
    """The result of `--method identity`: the clip itself."""

    clip: ik.Clip
    contacts: ik.Contacts | None = None


METHODS: dict[str, Callable[[ik.Clip, ik.Ground, Source], Any]] = {
    "bake": lambda clip, ground, truth: ik.bake_feet(clip, ground),
    "identity": lambda clip, ground, truth: Identity(clip),
    "standin": lambda clip, ground, truth: Identity(standin.put(clip, ground, truth)),
}
_method = METHODS["bake"]


def use(name: str) -> None:
    """The method that is judged, in this process."""
    global _method
    _method = METHODS[name]


def bake(clip: ik.Clip, ground: ik.Ground, truth: Source) -> Any:
    """Clip and contacts that the method makes; the stand-in is told the truth about its contacts."""
    return _method(clip, ground, truth)


@dataclass(frozen=True, eq=False)
class Subject:
    """The subject of a case: a clip, its true contacts, and the height that the bake takes as level."""

    name: str
    clip: ik.Clip
    source: Source
    level: Array

    @functools.cached_property
    def before(self) -> Motion:
        """The input after it was written to a file and read again."""
        return Motion(through_bvh(self.clip), self.source.motion.legs)

    def on(self, ground: ik.Ground) -> Motion:
        """The clip on a ground, as another program reads it."""
        return self.again(bake(self.clip, ground, self.source).clip)

    def again(self, clip: ik.Clip) -> Motion:
        """A clip as another program reads it."""
        return Motion(through_bvh(clip), self.source.motion.legs)

    def measured(self, result: Motion, ground: ik.Ground) -> On:
        """A result on its ground."""
        return On.ground(result, self.source, ground, self.level)


def subject_of(name: str) -> Subject:
    """A clip as it is."""
    return Subject(name, clip_of(name), source_of(name), level_of(name))


# --- grounds ---------------------------------------------------------------------------------------------------------

WIDE, LONG = 8.0, 12.0  # metres: more than any clip walks


@dataclass(frozen=True)
class Place:
    """A ground, its name, its class of bounds, and whether walking on it is climbing."""

    name: str
    kind: str
    ground: ik.Ground
    climbs: bool = False


def own_floor() -> ik.Ground:
    """Every clip's."""
    return ik.Ground.plane()


def ramp(degrees: float) -> ik.Ground:
    """Begins at the origin and goes up, or down."""
    return ik.terrain.ramp(LONG, float(np.tan(np.radians(degrees))) * LONG, width=WIDE, landing=LONG)


def across(degrees: float) -> ik.Ground:
    """A slope whose left side, +x, is high."""
    return ik.Ground.plane([-np.sin(np.radians(degrees)), np.cos(np.radians(degrees)), 0])


def low_stairs(leg: float, sign: int) -> ik.Ground:
    """Each 0.1 leg high, up or down."""
    return ik.terrain.stairs(20, rise=sign * 0.1 * leg, run=0.35, width=WIDE, landing=LONG)


def bumpy(seed: int) -> ik.Ground:
    """Waves of many directions, 0.6 to 2 m long, 60 mm from the deepest to the highest, on a grid of 50 mm."""
    random = np.random.default_rng((SEED, seed))
    along, across = np.meshgrid(*[np.arange(0, LONG, 0.05) - LONG / 2] * 2, indexing="ij")
    heights = np.zeros_like(along)
    for length, direction, phase in zip(
        random.uniform(0.6, 2, 12), *random.uniform(0, 2 * np.pi, (2, 12)), strict=True
    ):
        way = along * np.cos(direction) + across * np.sin(direction)
        heights += length * np.sin(2 * np.pi * way / length + phase)
    return ik.Ground.heights(0.06 * heights / np.ptp(heights), 0.05, [-LONG / 2, 0, -LONG / 2])


def ozz_stairs(sign: int) -> ik.Ground:
    """Stairs of 0.2 x 0.3 m along +z, up or down, ten steps of them; the rest of that floor lies about them.

    In the file they go up along +x, 2 m wide about z = -3.05, from x = 0.1 to a platform 2 m high at x = 3.
    """
    floor = ik.Ground.read(Path(os.environ["IKCORE_TERRAIN"]) / "ozz_foot_ik_floor.obj")
    start, height = (0.7, 0.0) if sign > 0 else (2.6, -2.0)
    turn = ik.rotations.from_axis_angle(UP, -sign * np.pi / 2)
    return floor.moved(translations=[-start, height, 3.05]).moved(rotations=turn)


@functools.cache
def places(leg: float) -> list[Place]:
    """All grounds of protocol 3 for legs of so many metres."""
    ways = [("up", 1), ("down", -1)]
    found = [Place("own floor", FLAT, own_floor())]
    for degrees in (5, 10, 15, 20):
        found += [Place(f"ramp {degrees:2} {way}", GENTLE, ramp(sign * degrees), climbs=True) for way, sign in ways]
        found.append(Place(f"ramp {degrees:2} across", GENTLE, across(degrees)))
    found += [Place(f"low stairs {way}", GENTLE, low_stairs(leg, sign), climbs=True) for way, sign in ways]
    found += [Place(f"bumps {seed}", GENTLE, bumpy(seed)) for seed in range(3)]
    return found + [Place(f"stairs {way}", STAIRS, ozz_stairs(sign), climbs=True) for way, sign in ways]


def places_of(name: str) -> dict[str, Place]:
    """Those for a clip."""
    return {place.name: place for place in places(round(float(source_of(name).motion.length.mean()), 3))}


# --- protocols: each yields rows -------------------------------------------------------------------------------------


def rows(protocol: int, name: str, place: Place, figures: dict[str, float]) -> Iterator[Row]:
    """Figures of the table beside the bounds of the ground."""
    column = (FLAT, GENTLE, STAIRS).index(place.kind)
    for metric, value in figures.items():
        yield Row(protocol, name, place.name, place.kind, metric, value, BOUNDS[metric][column])


def single(protocol: int, name: str, ground: str, **figures: tuple[float, float | None]) -> Iterator[Row]:
    """Figures with bounds of their own; of the name, underscores are blanks."""
    for metric, (value, bound) in figures.items():
        yield Row(protocol, name, ground, "own", metric.replace("_", " "), float(value), bound)


def trial(protocol: int, what: str, subject: Subject, place: Place) -> Iterator[Row]:
    """All measures of a clip on a ground, of which `what` says more; then the second pass."""
    result = subject.on(place.ground)
    if not np.isfinite(result.clip.skeleton.forward(result.clip.pose).positions).all():
        raise ValueError("the result is not finite")
    found = judge.measure(subject.source, subject.measured(result, place.ground), subject.before, climbs=place.climbs)
    yield from rows(protocol, subject.name, dataclasses.replace(place, name=what), found)
    yield from second_pass(protocol, what, subject, result, place.ground)


def second_pass(protocol: int, what: str, subject: Subject, first: Motion, ground: ik.Ground) -> Iterator[Row]:
    """The result baked again with contacts detected again: digits of the file change, nothing else."""
    second = Motion(bake(first.clip, ground, subject.source).clip, first.legs)
    yield from single(
        protocol,
        subject.name,
        f"{what}, second pass",
        **{
            "joint change, degrees": (judge.highest(joint_angles(first.clip, second.clip)), 1e-3),
            "joint moved, mm": (1000 * joints_apart(first.clip, second.clip), 0.01),
        },
    )


def identity(name: str) -> Iterator[Row]:
    """1: a clean clip stays what it is where it neither slides nor dips."""
    subject, ground = subject_of(name), own_floor()
    source, first = subject.source, subject.on(ground)
    angles = np.stack([leg_angles(source.motion.clip, first.clip, leg) for leg in legs_of(name)], axis=1)
    ankles = 1000 * size(first.ankle - source.motion.ankle)
    clean = clean_frames(source)
    for part, frames in (("contact", clean & source.contact), ("swing", clean & ~source.contact)):
        yield from single(
            1,
            name,
            "own floor",
            **{
                f"joint change in clean {part}, degrees": (judge.highest(angles[frames]), 0.1),
                f"ankle change in clean {part}, mm": (judge.highest(ankles[frames]), 1),
                f"clean frames of legs in {part}": (float(frames.sum()), None),
            },
        )
    yield from second_pass(1, "own floor", subject, first, ground)


def leg_angles(a: ik.Clip, b: ik.Clip, leg: Names) -> Array:
    """The most by which a joint of a leg is turned (frames,)."""
    joints = {judge.joint_of(place) for place in (leg.hip, leg.knee, leg.ankle, leg.foot)}
    return joint_angles(a, b)[:, [a.skeleton.index(joint) for joint in joints]].max(axis=1)


def clean_frames(source: Source) -> Array:
    """Frames in which a leg neither slides nor dips (frames, legs): its sole above -1 mm, and still or 10 mm high."""
    lowest = source.heights.min(axis=2)
    speed = size(judge.velocity(source.sole, source.fps) * [1, 0, 1]).min(axis=2)
    return (lowest > -0.001) & ((speed < 0.02 * source.motion.length) | (lowest > 0.01))


def joint_angles(a: ik.Clip, b: ik.Clip) -> Array:
    """Degrees by which local rotations differ (frames, joints)."""
    order = [b.skeleton.index(name) for name in a.skeleton.names]
    between = ik.rotations.multiply(ik.rotations.conjugate(a.pose.rotations), b.pose.rotations[:, order])
    return np.degrees(2 * np.arctan2(size(between[..., 1:]), np.abs(between[..., 0])))


def joints_apart(a: ik.Clip, b: ik.Clip) -> float:
    """The farthest that a joint is from where it is in another clip."""
    places = [clip.skeleton.forward(clip.pose).positions for clip in (a, b)]
    order = [b.skeleton.index(name) for name in a.skeleton.names]
    return judge.highest(size(places[0] - places[1][:, order]))


# Measures that no bake can keep if the path has another length, because strides have too.
STRIDE = ("knee straightness lost, degrees", "pelvis lowered beyond its feet p95, mm")

DEFECTS: dict[str, Callable[[str], ik.Clip]] = {
    "path x 0.9": lambda name: scaled_path(clip_of(name), 0.9),
    "path x 1.1": lambda name: scaled_path(clip_of(name), 1.1),
    "sunk 30 mm": lambda name: moved(clip_of(name), shift=-0.03 * UP),
    "lifted 30 mm": lambda name: moved(clip_of(name), shift=0.03 * UP),
    "noise 3 mm": lambda name: noisy(name, 0.003),
}


def scaled_path(clip: ik.Clip, scale: float) -> ik.Clip:
    """The root goes so much of its way."""
    root = int(np.flatnonzero(clip.skeleton.parents < 0)[0])
    at = clip.skeleton.forward(clip.pose).positions[:, root]
    return moved(clip, shift=(scale - 1) * (at - at[0]) * [1, 0, 1])


def noisy(name: str, deviation: float) -> ik.Clip:
    """Root, knees, ankles and balls are off by noise; bones keep their lengths, so that their joints turn."""
    clip, random = clip_of(name), np.random.default_rng(SEED)
    motion, turned = Motion(clip, legs_of(name)), clip.pose.rotations.copy()
    for at, leg in enumerate(legs_of(name)):
        for joint, length in zip(
            (leg.hip, leg.knee, judge.joint_of(leg.ankle)), np.median(motion.bones[:, at], axis=0), strict=True
        ):
            wobble = ik.rotations.exp(random.normal(0, deviation / max(length, 0.05), (len(clip), 3)))
            index = clip.skeleton.index(joint)
            turned[:, index] = ik.rotations.multiply(turned[:, index], wobble)
    shaken = dataclasses.replace(clip, pose=ik.Pose(turned, clip.pose.translations, clip.pose.scales))
    return moved(shaken, shift=random.normal(0, deviation, (len(clip), 3)))


def defect(name: str, what: str) -> Iterator[Row]:
    """2: the clean clip says where feet stand, and how; how smooth the result is, the bad one."""
    subject = Subject(name, DEFECTS[what](name), source_of(name), level_of(name))
    for row in trial(2, what, subject, Place(what, FLAT, own_floor())):
        stride = what.startswith("path") and row.metric in STRIDE
        yield dataclasses.replace(row, bound=None) if stride else row
    contacts = bake(subject.clip, own_floor(), subject.source).contacts
    if contacts is not None:
        true = subject.source.contact.T
        late = [late_frames(on, held_by(contacts, leg.name)) for on, leg in zip(true, legs_of(name), strict=True)]
        yield from single(2, name, what, contacts_off_in_frames=(max(late), 2))


def held_by(contacts: ik.Contacts, leg: str) -> Array:
    """Frames in which the bake says that the leg's ball is down."""
    legs = {known for known, _ in contacts.weights}
    name = leg if leg in legs else " ".join(leg.split("_"))
    point = "ball" if (name, "ball") in contacts.weights else None
    return np.asarray(contacts.planted(name, point))


def late_frames(true: Array, said: Array) -> float:
    """Largest error in frames of a contact's ends, except at the ends of the clip; infinite if one is missed."""
    off = 0
    for shift in (1, -1):
        edges, others = (np.flatnonzero(np.diff(mask.astype(int)) == shift) for mask in (true, said))
        if len(edges) and not len(others):
            return np.inf
        off = max([off, *(int(np.abs(others - edge).min()) for edge in edges)])
    return float(off)


def on_ground(name: str, place: str) -> Iterator[Row]:
    """3: walks on all grounds."""
    found = places_of(name)[place]
    yield from trial(3, place, subject_of(name), found)
    if found.kind == FLAT:
        yield from single(3, name, place, **{"own floor: soles moved, mm": (1000 * np.abs(level_of(name)).max(), None)})


def on_the_spot_too(name: str) -> Iterator[Row]:
    """3: a clip on the spot gets the travel that its stances miss."""
    clip, legs = on_the_spot(name), legs_of(name)
    expected = Motion(travelling(clip, stance_velocity(Motion(clip, legs))), legs)
    result = Motion(through_bvh(bake(clip, own_floor(), source_of(name)).clip), legs)
    away = (result.pelvis - result.pelvis[0] - expected.pelvis + expected.pelvis[0]) * [1, 0, 1]
    off = judge.p95(size(away)) / float(expected.length.mean())
    yield from single(3, name, "own floor", **{"on the spot: root path off, legs": (off, 0.1)})


def dirty(name: str) -> Iterator[Row]:
    """4: whatever comes, it ends, and does not make it worse."""
    subject = subject_of(name)
    source, result = subject.source, subject.on(own_floor())
    finite = np.isfinite(result.clip.skeleton.forward(result.clip.pose).positions).all()
    smooth = judge.smooth(result, source.motion, climbs=False)
    yield from single(
        4,
        name,
        "own floor",
        **{
            "frames not finite": (float(not finite), 0),
            "knee flips": (float(judge.flips(result, source.motion).sum()), 0),
            "ankle jerk ratio": (smooth["ankle jerk ratio"], 1 + DIGITS),
            "pelvis jerk ratio": (smooth["pelvis jerk ratio"], 1 + DIGITS),
        },
    )


def run(name: str, place: str) -> Iterator[Row]:
    """5: feet stand, and the pelvis is not pulled down in flight."""
    found, subject = places_of(name)[place], subject_of(name)
    source, result = subject.source, subject.on(found.ground)
    figures = judge.stands(source, subject.measured(result, found.ground))
    yield from rows(5, name, found, {metric: figures[metric] for metric in STANDING})
    yield from single(5, name, place, stances=(float(len(list(source.stances()))), None))
    if found.kind == FLAT:
        flight = (source.heights.min(axis=2) > judge.LOW / 2 * source.motion.length).all(axis=1)
        sunk = (source.motion.pelvis - result.pelvis)[flight, 1] + subject.level.min()
        yield from single(
            5, name, place, **{"pelvis down in flight, mm": (1000 * judge.highest(np.maximum(0, sunk)), 5)}
        )
    yield from second_pass(5, place, subject, result, found.ground)


def straight_knee(name: str) -> Iterator[Row]:
    """6: a pit under one foothold grows by 1 mm a step; knees must not jump from one to the next."""
    source = source_of(name)
    leg, part = max(source.stances(), key=lambda stance: source.motion.knee_angle[stance[1], stance[0]].max())
    middle = (part.start + part.stop) // 2 / source.fps
    clip = clip_of(name)
    first, last = max(0, middle - 0.6), min(clip.duration, middle + 0.6)
    piece = clip.cut(first, last)
    frames = slice(round(first * clip.fps), round(last * clip.fps) + 1)
    truth = source.cut(Motion(through_bvh(piece), legs_of(name)), frames)
    corners = source.sole[part, leg].reshape(-1, 3)
    pits = [pit(corners, depth / 1000) for depth in range(51)]
    motions = [Motion(through_bvh(bake(piece, ground, truth).clip), legs_of(name)) for ground in pits]
    knees = np.stack([motion.knee_angle for motion in motions])
    straightest = max(float(source.motion.knee_angle[part, leg].max()), 0)
    deep = motions[0].foot[..., 1] - motions[-1].foot[..., 1]
    bones = motions[0].bones
    yield from single(
        6,
        name,
        "pit 0 to 50 mm",
        **{
            "knee change per mm, degrees": (judge.highest(np.abs(np.diff(knees, axis=0))), 3),
            "reach violations": (float(sum(judge.overreached(motion, bones).sum() for motion in motions)), 0),
            "foot down in the 50 mm pit, short by mm": (1000 * (0.05 - float(deep[:, leg].max())), 10),
            "straightest knee of the stance, degrees": (straightest, None),
        },
    )


def pit(corners: Array, depth: float) -> ik.Ground:
    """A floor with a hole under these points and 80 mm about them, its walls 20 mm wide."""
    (left, _, back), (right, _, front) = corners.min(axis=0) - 0.08, corners.max(axis=0) + 0.08
    xs, zs = np.arange(-2, 2, 0.02), np.arange(-4, 4, 0.02)
    inside = ((zs >= back) & (zs <= front))[:, np.newaxis] & (xs >= left) & (xs <= right)
    return ik.Ground.heights(-depth * inside, 0.02, [-2, 0, -4])


def mirrored(name: str) -> Iterator[Row]:
    """7: a mirrored clip on mirrored ground."""
    ground, flipped, subject = across(10), across(-10), mirror_of(name)
    there = bake(clip_of(name), ground, source_of(name)).clip.mirror()
    here = bake(subject.clip, flipped, subject.source).clip
    yield from single(7, name, "ramp 10 across", **{"mirrored: joint off, mm": (1000 * joints_apart(there, here), 0.1)})


def turned(name: str, degrees: float) -> Iterator[Row]:
    """7: a clip on ground, both turned about the vertical."""
    ground, turn = bumpy(0), ik.rotations.from_axis_angle(UP, np.radians(degrees))
    clip, truth = moved(clip_of(name), turn=turn), source_of(name)
    there = moved(bake(clip_of(name), ground, truth).clip, turn=turn)
    here = bake(clip, ground.moved(rotations=turn), truth).clip
    metric = "turned: joint off, mm"
    yield from single(7, name, f"bumps 0, turned by {degrees:g}", **{metric: (1000 * joints_apart(there, here), 0.1)})


def z_up(name: str) -> Iterator[Row]:
    """7: the same with Z up, and in centimetres."""
    ground, turn = bumpy(0), ik.rotations.from_axis_angle([1, 0, 0], np.pi / 2)
    scale = 100
    there = bake(clip_of(name), ground, source_of(name)).clip
    standing = scaled(ground, scale).moved(rotations=turn)
    clip = clip_of(name).convert(up="Z", unit=0.01)
    baked = bake(clip, ik.Ground(standing.parts, "z"), source_of(name)).clip
    here = baked.convert(up="Y", unit=1.0)
    yield from single(
        7, name, "bumps 0, Z up", **{"Z up, in cm: joint off, mm": (1000 * joints_apart(there, here), 0.1)}
    )


def scaled(ground: ik.Ground, scale: float) -> ik.Ground:
    """A ground of one mesh, larger."""
    body: Any = ground.parts[0].body
    return ik.Ground.mesh(np.asarray(body.vertices) * scale, np.asarray(body.faces))


def rates(name: str, fps: float) -> Iterator[Row]:
    """7: at a lower rate the measures agree with the full rate within 15 % of the larger of value and bound."""
    place, full = places_of(name)["ramp 10 up"], clip_of(name)
    full = full[: (len(full) - 1) // 4 * 4 + 1]  # which ends with a frame of all rates
    slow = full.resample(fps)
    frames = np.rint(np.arange(len(slow)) * full.fps / fps).astype(int)
    expected, found = (
        judged_at(name, place, clip, source_of(name).contact[at])
        for clip, at in ((full, np.arange(len(full))), (slow, frames))
    )
    for metric, value in found.items():
        bound = BOUNDS[metric][1]
        if bound:
            off = abs(value - expected[metric]) / max(abs(expected[metric]), bound)
            yield from single(7, name, f"{place.name}, {fps:g} fps", **{f"{metric}: off": (off, 0.15)})


def judged_at(name: str, place: Place, clip: ik.Clip, contact: Array) -> dict[str, float]:
    """All measures of the clip at another rate, with the contacts of the full rate."""
    source = Source(Motion(through_bvh(clip), legs_of(name)), contact)
    subject = Subject(name, clip, source, level_of(name))
    return judge.measure(source, subject.measured(subject.on(place.ground), place.ground), climbs=place.climbs)


def same_bits(names: tuple[str, ...]) -> Iterator[Row]:
    """7: clips baked in another order, and again, are the same to the bit."""
    ground = bumpy(0)
    first, again = (
        {name: bake(clip_of(name), ground, source_of(name)).clip.pose for name in order}
        for order in (names, names[::-1])
    )
    differ = sum(
        first[name].rotations.tobytes() != again[name].rotations.tobytes()
        or first[name].translations.tobytes() != again[name].translations.tobytes()
        for name in names
    )
    yield from single(7, "all walks", "bumps 0", **{"again, in another order: clips that differ": (float(differ), 0)})


def many_legs(name: str, place: str) -> Iterator[Row]:
    """8: all feet that stand do so on the slope."""
    ground = {"up": slope(15), "down": slope(-15), "across": across(15)}[place]
    subject = subject_of(name)
    baked = bake(subject.clip, ground, subject.source).clip
    source, motion = subject.source, subject.again(baked)
    result = subject.measured(motion, ground)
    off = [np.abs(result.heights[part, leg].min(axis=-1)).max() for leg, part in source.stances()]
    figures = judge.stands(source, result)
    yield from single(
        8,
        name,
        f"slope 15 {place}",
        **{
            "stance feet off the ground, mm": (1000 * judge.highest(off), 5),
            "stances": (float(len(off)), None),
            "stance drift p95, mm": (figures["stance drift p95, mm"], None),
            "knee flips": (float(judge.flips(motion, source.motion).sum()), 0),
        },
    )
    same = Motion(baked, source.motion.legs)  # a BVH file has no rest pose, by which paws and tips are known
    yield from second_pass(8, f"slope 15 {place}", subject, same, ground)


def slope(degrees: float) -> ik.Ground:
    """A plane that goes up, or down, along +z."""
    return ik.Ground.plane([0, np.cos(np.radians(degrees)), -np.sin(np.radians(degrees))])


def mirror_of(name: str) -> Subject:
    """In a mirror, where the left leg is the right one's image."""
    clip = clip_of(name).mirror()
    return Subject(name, clip, Source(Motion(through_bvh(clip), legs_of(name))), level_of(name)[::-1])


def resampled(name: str, fps: float) -> Subject:
    """The clip at a frame rate, with the contacts of all frames."""
    full = clip_of(name)
    clip = full.resample(fps)
    frames = np.minimum(np.rint(np.arange(len(clip)) * full.fps / fps).astype(int), len(full) - 1)
    motion = Motion(through_bvh(clip), legs_of(name))
    return Subject(name, clip, Source(motion, source_of(name).contact[frames]), level_of(name))


def backwards(name: str) -> Subject:
    """From its last frame to its first."""
    pose = clip_of(name).pose
    clip = dataclasses.replace(clip_of(name), pose=pose[::-1])
    motion = Motion(through_bvh(clip), legs_of(name))
    return Subject(name, clip, Source(motion, source_of(name).contact[::-1]), level_of(name))


def shaken(name: str) -> Subject:
    """All joints off by noise of 3 mm; the truth is that of the clean clip."""
    return Subject(name, noisy(name, 0.003), source_of(name), level_of(name))


def cut(name: str, begins: str) -> Subject:
    """Some frames of a clip, a second to four if there is so much, the first and the last of a kind; seeded."""
    return piece_of(name, begins, (SEED, *begins.encode()))


def piece_of(name: str, begins: str, seed: tuple[int, ...]) -> Subject:
    """Those of one seed."""
    source, clip = source_of(name), clip_of(name)
    down = source.contact.sum(axis=1)
    kinds = {"standing": down == down.max(), "in the air": down == down.min(), "anywhere": down >= 0}
    least, most = min(round(0.4 * len(clip)), round(clip.fps)), round(4 * clip.fps)
    found = np.flatnonzero(kinds[begins])
    pairs = [(a, b) for a, b in itertools.product(found, found) if least <= b - a <= most and b - a < len(clip) - 1]
    first, last = pairs[np.random.default_rng(seed).integers(len(pairs))]
    frames = slice(int(first), int(last) + 1)
    piece = clip[frames]
    truth = source.cut(Motion(through_bvh(piece), legs_of(name)), frames)
    thick = SOLE * source.motion.length
    return Subject(name, piece, truth, np.clip(level_in(piece, truth), -thick, thick))


VARIANTS: dict[str, Callable[[str], Subject]] = {
    "as it is": subject_of,
    "mirrored": mirror_of,
    "25 fps": lambda name: resampled(name, 25.0),
    "48 fps": lambda name: resampled(name, 48.0),
    "50 fps": lambda name: resampled(name, 50.0),
    "100 fps": lambda name: resampled(name, 100.0),
    "backwards": backwards,
    "shaken": shaken,
    "cut standing": lambda name: cut(name, "standing"),
    "cut in the air": lambda name: cut(name, "in the air"),
    "cut anywhere": lambda name: cut(name, "anywhere"),
}


def unseen(name: str, variant: str, place: str) -> Iterator[Row]:
    """9: clips begun, ended, mirrored, sampled and shaken otherwise, and holes: what nothing is made for."""
    found = holes_of(name).get(place) or places_of(name)[place]
    yield from known(trial(9, f"{variant}, {place}", VARIANTS[variant](name), found))


def piece(name: str, seed: int, number: int, place: str) -> Iterator[Row]:
    """9: a clip cut anywhere."""
    subject = piece_of(name, "anywhere", (seed, number))
    yield from known(trial(9, f"piece {number}, {place}", subject, places_of(name)[place]))


def known(found: Iterable[Row]) -> Iterator[Row]:
    """Without what a piece cannot say that has no stance, or no swing."""
    return (row for row in found if not np.isnan(row.value))


@functools.cache
def holes_of(name: str) -> dict[str, Place]:
    """Grounds with holes where this clip treads, a level that is not its own, and stairs as they are indoors."""
    source = source_of(name)
    stances = sorted(source.stances(), key=lambda stance: stance[1].start)
    leg, part = stances[len(stances) // 2]
    stairs = [ik.terrain.stairs(14, rise=sign * 0.17, run=0.29, width=WIDE, landing=LONG) for sign in (1, -1)]
    return {
        "hole": Place("hole", STAIRS, pit(source.sole[part, leg].reshape(-1, 3), 0.06)),
        "hollows": Place("hollows", GENTLE, hollows([source.sole[part, leg, 1].mean(axis=0) for leg, part in stances])),
        "level 0.2 m up": Place("level 0.2 m up", FLAT, ik.Ground.plane(height=0.2)),
        "high stairs up": Place("high stairs up", STAIRS, stairs[0], climbs=True),
        "high stairs down": Place("high stairs down", STAIRS, stairs[1], climbs=True),
    }


def hollows(spots: list[Array]) -> ik.Ground:
    """Round ones of 60 mm, a metre wide, about every other spot, which they do not overlap."""
    xs, zs = np.meshgrid(*[np.arange(-LONG / 2, LONG / 2, 0.05)] * 2)
    heights = np.zeros_like(xs)
    for x, _, z in spots[::2]:
        away = np.hypot(xs - x, zs - z) / 0.5
        heights = np.minimum(heights, np.where(away < 1, -0.03 * (1 + np.cos(np.pi * np.minimum(away, 1))), 0))
    return ik.Ground.heights(heights, 0.05, [-LONG / 2, 0, -LONG / 2])


# --- all of them -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A protocol's function and what it is called with, first the clip's name."""

    protocol: int
    judge: Callable[..., Iterable[Row]]
    arguments: tuple[Any, ...]

    @property
    def clip(self) -> str:
        """The name, or that of all."""
        return self.arguments[0] if isinstance(self.arguments[0], str) else "all walks"

    @property
    def ground(self) -> str:
        """Its other arguments."""
        return ", ".join(str(argument) for argument in self.arguments[1:])


def cases() -> list[Case]:
    """All that are judged; to be quick, one of each kind."""
    found = all_cases()
    return list({case.judge: case for case in reversed(found)}.values()) if QUICK else found


def all_cases() -> list[Case]:
    """Clip by clip, so that a process reads it once."""
    found = [Case(1, identity, ("pab_walk",)), *(Case(2, defect, ("pab_walk", what)) for what in DEFECTS)]
    grounds = [place.name for place in places(0.9)]
    found += [Case(3, on_ground, (name, place)) for name in WALKS for place in grounds]
    found += [Case(3, on_the_spot_too, ("Woman",)), *(Case(4, dirty, (name,)) for name in ("03_01", "Fox run"))]
    found += [
        Case(5, run, each)
        for each in itertools.product(("pab_run", "Woman run"), ("own floor", "ramp 10 up", "ramp 10 down"))
    ]
    found += [Case(6, straight_knee, (name,)) for name in ("pab_walk", "12_01", "zombie")]
    found += [
        *(Case(7, mirrored, (name,)) for name in ("Woman", "12_01")),
        *(Case(7, turned, ("pab_walk", angle)) for angle in (90.0, 37.0)),
    ]
    found += [Case(7, z_up, ("pab_walk",)), *(Case(7, rates, ("12_01", fps)) for fps in (60.0, 30.0))]
    found.append(Case(7, same_bits, (WALKS,)))
    found += [Case(8, many_legs, each) for each in itertools.product(("Fox", "Spider"), ("up", "down", "across"))]
    treads = ("hole", "hollows", "level 0.2 m up", "high stairs up", "high stairs down")
    walks = [
        *(("as it is", place) for place in treads),
        *itertools.product(("50 fps",), ("own floor", "ramp 10 down")),
        *itertools.product(("25 fps", "48 fps", "100 fps", "backwards"), ("low stairs up", "bumps 1")),
        *itertools.product(("shaken",), ("own floor", "bumps 0")),
        *itertools.product(("cut standing", "cut in the air", "cut anywhere"), ("own floor", "low stairs down")),
    ]
    found += [Case(9, unseen, (name, *each)) for name in WALKS for each in walks]
    mirrors = itertools.product(
        WALKS[1:], ("mirrored",), ("own floor", "ramp 10 across")
    )  # pab has fingers on one side
    found += [Case(9, unseen, each) for each in mirrors]
    runs = itertools.product(("pab_run", "Woman run"), ("cut standing", "cut in the air"), ("own floor",))
    return found + [Case(9, unseen, each) for each in runs]


PIECES, UNDER = range(6), ("own floor", "ramp 10 up", "ramp 10 across", "low stairs down", "bumps 0", "stairs up")


def pieces(seed: int) -> list[Case]:
    """Clips cut anywhere, on grounds of every kind."""
    return [Case(9, piece, (name, seed, number, place)) for name in WALKS for number in PIECES for place in UNDER]


@dataclass(frozen=True)
class Tried:
    """The result of a case, and its time in seconds."""

    case: Case
    rows: list[Row]
    seconds: float


def tried(case: Case) -> Tried:
    """Measured; or the error it ends with."""
    start = time.perf_counter()
    found: list[Row] = []
    try:
        found.extend(case.judge(*case.arguments))
    except Exception as error:  # a bake that fails is a result
        note = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        ground = f"{case.ground}, second pass" if found else case.ground
        found.append(Row(case.protocol, case.clip, ground, "own", case.judge.__name__, np.nan, None, note))
    return Tried(case, found, time.perf_counter() - start)


def measured(chosen: list[Case], method: str, workers: int) -> list[Tried]:
    """All cases, in their order; neighbours share a process, as they share a clip. A quick run needs no other one."""
    if QUICK:
        use(method)
        return [tried(case) for case in chosen]
    with ProcessPoolExecutor(workers, initializer=use, initargs=(method,)) as pool:
        chunk = max(1, min(8, len(chosen) // (2 * workers)))
        return list(pool.map(tried, chosen, chunksize=chunk))


def case_table(found: list[Row]) -> list[str]:
    """Every case: what of it is not within its bound; then how many pass, and which measures fail most."""
    together: dict[tuple[int, str, str], list[Row]] = {}
    for row in found:
        together.setdefault((row.protocol, row.clip, row.ground), []).append(row)
    lines, counts, failing = [], Counter[tuple[str, bool]](), Counter[tuple[str, str]]()
    for (protocol, clip, ground), group in together.items():
        bad = [row for row in group if not row.ok]
        said = "; ".join(row.note or f"{row.metric} {number(row.value)} > {number(row.bound)}" for row in bad)
        lines.append([str(protocol), clip, ground, said or "passes"])
        kind = f"{protocol}, second pass" if ground.endswith("second pass") else str(protocol)
        counts[kind, not bad] += 1
        failing.update((kind, row.note or row.metric) for row in bad)
    kinds = sorted({kind for kind, _ in counts})
    summary = [
        [kind, f"{counts[kind, True]} of {counts[kind, True] + counts[kind, False]}", _most(failing, kind)]
        for kind in kinds
    ]
    passed = sum(counts[kind, True] for kind in kinds)
    return [
        *table(["protocol", "clip", "ground", "what is not within its bound"], lines),
        "",
        *table(["protocol", "cases that pass", "what fails most"], summary),
        "",
        f"{passed} of {len(together)} cases pass.",
    ]


def _most(failing: Counter[tuple[str, str]], kind: str) -> str:
    """The measures that fail most in a protocol."""
    there = Counter({metric: count for (of, metric), count in failing.items() if of == kind})
    return "; ".join(f"{metric} ({count})" for metric, count in there.most_common(5))


def full_table(found: list[Row]) -> list[str]:
    """Every row."""
    header = ["protocol", "clip", "ground", "metric", "value", "bound", "ok"]
    lines = [
        [
            str(r.protocol),
            r.clip,
            r.ground,
            r.metric,
            r.note or number(r.value),
            number(r.bound),
            "yes" if r.ok else "**no**",
        ]
        for r in found
    ]
    return table(header, lines)


def worst_table(found: list[Row]) -> list[str]:
    """By protocol, class of ground and measure: the worst value, its clip and ground, and how many are within."""
    groups: dict[tuple[int, str, str], list[Row]] = {}
    for row in found:
        groups.setdefault((row.protocol, row.kind, row.metric), []).append(row)
    lines = []
    for (protocol, kind, metric), group in sorted(groups.items(), key=lambda item: _order(*item[0])):
        worst = max(group, key=lambda row: (not row.ok, -np.inf if np.isnan(row.value) else row.value))
        within = "" if worst.bound is None and not worst.note else f"{sum(row.ok for row in group)} of {len(group)}"
        where = f"{worst.clip}, {worst.ground}"
        lines.append(
            [str(protocol), kind, metric, worst.note or number(worst.value), where, number(worst.bound), within]
        )
    return table(["protocol", "ground", "metric", "worst", "where", "bound", "within"], lines)


def _order(protocol: int, kind: str, metric: str) -> tuple[int, int, int]:
    known = list(BOUNDS)
    return protocol, (FLAT, GENTLE, STAIRS, "own").index(kind), known.index(metric) if metric in known else len(known)


def number(value: float | None) -> str:
    """Three digits; a dash for none."""
    return "-" if value is None or np.isnan(value) else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--only", type=int, action="append", choices=range(1, 10), help="this protocol; may be repeated"
    )
    parser.add_argument("--clip", action="append", choices=CLIPS, help="this clip; may be repeated")
    parser.add_argument("--ground", help="those whose name contains this")
    parser.add_argument("--pieces", type=int, metavar="SEED", help="clips cut anywhere by this seed, and nothing else")
    parser.add_argument("--method", choices=METHODS, default="bake")
    parser.add_argument("--workers", type=int, default=2)
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--cases", action="store_true", help="every case, and what of it is not within its bounds")
    shape.add_argument("--rows", action="store_true", help="every value")
    shape.add_argument("--failed", action="store_true", help="every value that is not within its bound")
    shape.add_argument("--json", action="store_true", help="every value, as JSON")
    arguments = parser.parse_args()
    chosen = [
        case
        for case in (cases() if arguments.pieces is None else pieces(arguments.pieces))
        if (not arguments.only or case.protocol in arguments.only)
        and (not arguments.clip or case.clip in arguments.clip)
        and (not arguments.ground or arguments.ground in case.ground)
    ]
    done = measured(chosen, arguments.method, arguments.workers)
    found = [row for each in done for row in each.rows]
    bounded = [row for row in found if row.bound is not None or row.note]
    if arguments.json:
        print(json.dumps([asdict(row) | {"ok": row.ok} for row in found], indent=1))
        return
    if arguments.cases:
        print("\n".join(case_table(found)))
        slow = sorted(done, key=lambda each: -each.seconds)[:5]
        said = "; ".join(
            f"{each.case.clip}, {each.case.ground or each.case.protocol} {each.seconds:.1f} s" for each in slow
        )
        print(f"\nThe slowest: {said}.")
    elif arguments.rows or arguments.failed:
        print("\n".join(full_table([row for row in found if arguments.rows or not row.ok])))
    else:
        print("\n".join(worst_table(found)))
    print(f"\n{sum(row.ok for row in bounded)} of {len(bounded)} values are within their bounds.")


if __name__ == "__main__":
    main()
