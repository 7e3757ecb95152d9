# SPDX-License-Identifier: GPL-3.0-or-later
"""The job of placing legs on the ground, by value: which legs, by which bones, or why not."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from .. import bridge
from ..animation import clip_reader
from ..animation.frame_range import chosen_range
from ..rig import skin
from ..rig.armatures import CannotBakeError, Rig, constraint_problem, evaluation_problem, movable, not_editable
from . import foot_job, foot_switches, legs

FLAT_FOOT = 0.25  # of the leg length: an ankle above this height is no foot, its toes are
LEVEL = 0.1  # of the leg length: legs whose hips differ by less along the body are one pair


@dataclass(frozen=True)
class PlacedLeg:
    """A leg by the names of its bones."""

    leg: Any  # ikcore.Leg
    keyed: tuple[str, ...]  # its bones that get keys
    control: str | None = None  # the control of its IK, which moves with the foot
    pole: str | None = None  # the pole of its IK, which moves with the body

    @property
    def name(self):
        """The name of the leg."""
        return self.leg.name


@dataclass
class Job:
    """A job, by value."""

    armature: bpy.types.Object
    frames: np.ndarray  # of the action
    posed: bool  # True if the pose at the current frame is changed, without an action
    legs: list[PlacedLeg]
    left_out: list[str]  # sentences about legs that are left out
    pelvis: str
    copies: dict[str, str]  # bones above the legs that copy others, as in joints.Bones
    objects: list  # ground objects
    named: bool  # True if they were chosen one by one
    plane: tuple | None  # normal and height of the ground, if it is a plane
    moves: bool  # True if ground objects are followed
    source_floor: str
    options: object  # placement.Options

    @property
    def bones(self):
        """The names of the bones to read, to which their ancestors are added."""
        names = {name for each in self.legs for name in (*each.leg.chain, each.control, each.pole, *each.keyed)}
        return (names | {self.pelvis}) & set(self.armature.pose.bones.keys())


def refusal(armature):
    """The reason why legs cannot be placed, as far as known in advance, or None."""
    if armature.data.pose_position == "REST":
        return f"{armature.name} is in Rest Position: switch it to Pose Position"
    return not_editable(armature)


def make_job(context, armature, request, options):
    """The job of an operator with GroundRequest and frames."""
    if reason := refusal(armature):
        raise CannotBakeError(reason)
    if request.ground == "AUTO":
        raise CannotBakeError("Choose a ground: Plane, Objects or Collection")
    posed = request.frame_range == "CURRENT"
    frames, reason = np.array([context.scene.frame_current]), None
    if not posed:
        ends, reason = chosen_range(request, context.scene, [armature])
        frames = frames if reason else np.arange(ends[0], ends[1] + 1)
    if reason:
        raise CannotBakeError(reason)
    known, left_out = _usable(context, armature, frames)
    if not known:
        raise CannotBakeError(f"No leg of {armature.name} can be placed: {'; '.join(left_out)}")
    feet = [each.leg for each in known]
    copies = foot_job.copies_above(armature, feet)
    return Job(
        armature=armature,
        frames=frames,
        posed=posed,
        legs=known,
        left_out=left_out,
        pelvis=_pelvis(context, armature, feet, copies),
        copies=copies,
        objects=foot_job.ground_objects(request),
        named=request.ground == "OBJECTS",
        plane=(tuple(request.plane_normal), request.plane_height) if request.ground == "PLANE" else None,
        moves=request.ground_moves and not posed,
        source_floor=request.source_floor,
        options=options,
    )


def _usable(context, armature, frames):
    """The legs to place, and sentences about the others."""
    items = armature.ikcore_feet.legs
    known, unused = legs.legs_in_list(armature) if items else legs.detect_legs(context, armature), []
    off = {item.name for item in items if not item.use}
    switched, rig = foot_switches.switched_legs(armature, known, frames, few=True), Rig(armature)
    usable = []
    for leg in known:
        if leg.name in off:
            unused.append(f"{leg.name} is off in the list of feet")
            continue
        try:
            usable.append(_leg_to_place(rig, leg, switched.get(leg.name)))
        except CannotBakeError as error:
            unused.append(f"{leg.name}: {error}")
    return usable, unused


def _leg_to_place(rig, leg, switched):
    """A leg by its bones; a CannotBakeError if it cannot be placed."""
    if leg.free:
        raise CannotBakeError("it has no thigh and shin, so it cannot bend")
    if switched:
        limb = switched.limb
        if switched.fk:
            raise CannotBakeError(f"{limb.word} of {limb.switch} mixes IK and FK on these frames: set it to 0 or 1")
        pole = limb.pole if limb.pole_sets_bend() else None
        return PlacedLeg(
            foot_switches.visible_leg(leg, switched), (limb.control, *filter(None, [pole])), limb.control, pole
        )
    if not any(knee in rig.bones for knee in leg.knees):
        raise CannotBakeError(f"{leg.hip} is its only bone, so it cannot bend")
    chain = [name for name in (leg.hip, *leg.knees, leg.ankle) if name and name in rig.bones]
    solved = [
        (owner, rig.bones[owner].constraints[name], names) for owner, name, names in rig.chains if {*names} & {*chain}
    ]
    if solved:
        return _by_ik(rig, leg, chain, *solved[0])
    if reason := next(filter(None, (constraint_problem(rig.bones[name], rig) for name in chain)), None):
        raise CannotBakeError(reason)
    return PlacedLeg(leg, tuple(_free(rig, leg)))


def _free(rig, leg):
    """The bones of a leg that nothing but their channels moves."""
    bones = [name for name in (leg.hip, *leg.knees, leg.ankle, leg.ball) if name and name in rig.bones]
    return [name for name in bones if not constraint_problem(rig.bones[name], rig)]


def _by_ik(rig, leg, chain, owner, ik, solved):
    """A leg that one IK constraint bends."""
    armature, body = rig.object, {bone.name for bone in rig.bones[chain[0]].parent_recursive}
    if ik.type != "IK" or ik.target != armature or not ik.subtarget:
        raise CannotBakeError(
            f"{owner} has constraint {ik.name}, whose target is no bone of {armature.name}: press Bake IK first"
        )
    control = _control(rig, leg, ik.subtarget, body)
    pole = ik.pole_subtarget if ik.pole_target == armature else None
    if pole and (constraint_problem(rig.bones[pole], rig) or _hangs_on(rig, pole, {control})):
        pole = None
    return PlacedLeg(leg, (*_free(rig, leg), control, *filter(None, [pole])), control, pole)


def _control(rig, leg, target, body):
    """The topmost bone that moves an IK target, and neither the body nor targets of other legs."""
    others = _targets_of_others(rig, leg)
    up = (rig.bones[target], *rig.bones[target].parent_recursive)
    own = [bone for bone in up if bone.name not in body and others.isdisjoint(bone.children_recursive)]
    free = [bone.name for bone in own if movable(bone, rig)]
    if not free:
        raise CannotBakeError(constraint_problem(own[0], rig) or f"{target}, the target of its IK, cannot move")
    return free[-1]


def _targets_of_others(rig, leg):
    """The bones that IK outside of a leg targets."""
    hip = rig.bones[leg.hip]
    owners = (rig.bones[owner] for owner, *_ in rig.chains)
    outside = [owner for owner in owners if owner != hip and hip not in owner.parent_recursive]
    found = {each.subtarget for owner in outside for each in owner.constraints if each.type == "IK"}
    return {rig.bones[name] for name in found if name in rig.bones}


def _hangs_on(rig, name, others):
    """True if a bone is one of these, or a child of one."""
    return bool(others & {name, *(bone.name for bone in rig.bones[name].parent_recursive)})


def _pelvis(context, armature, feet, copies):
    """The bone that moves the body."""
    shared, free = foot_job.shared_bones(armature, feet, copies)
    if name := foot_job.pelvis_of(context, armature, armature.ikcore_feet, feet, copies):
        if name not in [bone.name for bone in shared]:
            raise CannotBakeError(f"{name} does not carry all legs: choose another Pelvis Bone")
        return name
    if not shared:
        raise CannotBakeError(f"No bone of {armature.name} carries all legs: parent them to one")
    if not free:
        reason = (
            constraint_problem(shared[0], Rig(armature)) or f"{shared[0].name} is connected or has locked locations"
        )
        raise CannotBakeError(f"The body of {armature.name} cannot move: {reason}")
    return free[0].name


def chest(skeleton, feet, pelvis):
    """The name of the joint that carries only the front legs, below the pelvis, or None."""
    world = np.asarray(skeleton.forward(skeleton.rest).positions)
    hips = np.array([skeleton.index(leg.hip) for leg in feet])
    along = world[hips] @ forward(skeleton, feet)
    size = np.mean([length(skeleton, leg) for leg in feet])
    front = [int(hip) for hip, far in zip(hips, along, strict=True) if far >= along.max() - LEVEL * size]
    if len(front) == len(hips):
        return None
    ways = [ancestors(skeleton, hip) for hip in front]
    common = next((joint for joint in ways[0] if all(joint in way for way in ways)), None)
    above_it = [] if common is None else ancestors(skeleton, common)
    return skeleton.names[common] if skeleton.index(pelvis) in above_it else None


def forward(skeleton, feet):
    """The forward direction of the character at rest: across the line from its right to its left hips."""
    world = np.asarray(skeleton.forward(skeleton.rest).positions)
    sides = {side: [world[skeleton.index(leg.hip)] for leg in feet if leg.side == side] for side in ("left", "right")}
    if not all(sides.values()):
        return np.array([0.0, -1.0, 0.0])
    way = np.cross(np.mean(sides["left"], axis=0) - np.mean(sides["right"], axis=0), [0.0, 0.0, 1.0])
    size = np.linalg.norm(way)
    return way / size if size > 0 else np.array([0.0, -1.0, 0.0])


def length(skeleton, leg):
    """The length of a leg at rest, from hip to foot."""
    joints = [name for name in (leg.hip, *leg.knees, leg.ankle) if name in skeleton.names]
    places = np.asarray(skeleton.forward(skeleton.rest).positions)[[skeleton.index(name) for name in joints]]
    tail = () if leg.ankle or "ball" not in leg.soles else leg.soles["ball"].offset
    return float(np.linalg.norm(np.diff(places, axis=0), axis=-1).sum() + np.linalg.norm(tail))


def ancestors(skeleton, joint):
    """The joints above one, the nearest first."""
    found = []
    while (joint := int(skeleton.parents[joint])) >= 0:
        found.append(joint)
    return found


def read(context, job):
    """The displayed motion as a Reading, and the bones at rest upright: a generator that yields progress."""
    parts = job.bones, (), job.copies
    if job.posed:
        if reason := evaluation_problem(context, job.armature, job.bones):
            raise CannotBakeError(reason)
        reading = clip_reader.now(context, context.evaluated_depsgraph_get(), job.armature, *parts)
    else:
        reading = yield from clip_reader.read(context, job.armature, job.frames, *parts)
    if reading.clip.pose.scales is not None:
        scaled = np.abs(np.asarray(reading.clip.pose.scales) - 1).max(axis=(0, 2))
        name = reading.clip.skeleton.names[int(scaled.argmax())]
        raise CannotBakeError(f"{name} is scaled: set the scale of all bones to 1")
    yield 1.0
    return reading, clip_reader.skeleton(job.armature, *parts)


def with_soles(context, job, skeleton):
    """The legs of a job with soles, measured at rest; legs without a sole get the ends of their bones."""
    rest = bridge.library.Pose(skeleton.rest.rotations[np.newaxis], skeleton.offsets[np.newaxis])
    clip = bridge.library.Clip(skeleton, rest, 30.0, up="Z")
    joints = {joint for each in job.legs for joint in each.leg.chain}
    vertices = skin.of_joints(job.armature, skin.read(context, job.armature), joints)
    known = [
        dataclasses.replace(each.leg, toe=each.leg.toe if each.leg.toe in skeleton.names else None) for each in job.legs
    ]
    try:
        return list(bridge.library.Feet(known).with_soles(clip, vertices=vertices or None))
    except ValueError as error:
        raise CannotBakeError(f"The soles of {job.armature.name} are unknown: {error}") from error
