# SPDX-License-Identifier: GPL-3.0-or-later
"""The job of a foot bake, by value, or a sentence on why it is impossible."""

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector

from ..animation import actions, nla
from ..animation.frame_range import animated_range, chosen_range
from ..rig.armatures import (
    CannotBakeError,
    Rig,
    above,
    carries,
    constraint_problem,
    copied_bone,
    movable,
    not_editable,
    playback_problem,
)
from . import foot_switches, legs, options

ABOUT = 0.35  # of the leg length: bones nearer to the hips than this may be the pelvis


@dataclass
class Job:
    """A job, by value."""

    armature: bpy.types.Object
    frames: np.ndarray  # of the action: all frames to read
    part: tuple[int, int]  # the first frame to change, and the one after the last, as indices
    legs: list  # ikcore.Leg, in the order of the list
    switched: dict  # by name: legs that a rig switches between FK and IK, as foot_switches.SwitchedLeg
    modes: dict[str, str]
    chosen: list[str] | None  # names of the legs to change; None for all
    ground: str
    objects: list
    moves: bool
    plane: tuple
    keyed: bool
    source: bpy.types.Action | None  # the action from which the active one was made, if the bake starts from it
    copies: dict[str, str]  # bones above the legs that copy others, which are moved in their place
    pelvis: str | None
    carrier: tuple[str, str] | None  # a root that cannot move, and the bone below it that moves in its place
    held: str | None  # what prevents such a root from moving, as a sentence, if there is no such bone
    settings: object  # ikcore.BakeSettings
    preparation: dict  # of `ikcore.prepare.prepare`
    source_floor: str | None  # of `ikcore.bake_feet`

    @property
    def key(self):
        """The settings on which the scene reading depends, by value."""
        names = [item.name_full for item in self.objects]
        action = self.armature.animation_data.action
        source = self.source and self.source.session_uid
        place = (self.armature.session_uid, action.session_uid, source, tuple(self.frames), self.keyed)
        return (*place, self.legs, self.pelvis, self.ground, names, self.moves)


def refusal(armature):
    """The reason why feet cannot be baked, as far as known before the scene is read, or None."""
    animation = armature.animation_data
    tracks = nla.bake_tracks(animation)
    if reason := not_editable(armature) or playback_problem(armature, tracks or ()):
        return reason
    playing = tracks[0].strips[0] if tracks else animation
    if playing is None or playing.action is None:
        return f"{armature.name} has no action: assign an animation first"
    bag = actions.played_bag(playing)
    if bag is None or not len(bag.fcurves):
        return f"Action {playing.action.name} has no keys for {armature.name}: choose another action or slot"
    return None


def make_job(context, armature, request, bare=None):
    """The job of an operator with FootRequest. The sole of a leg named `bare` is ignored."""
    if nla.bake_tracks(armature.animation_data) and not request.from_original:
        raise CannotBakeError(f"{armature.name} plays a baked strip: turn on Rebake from Original")
    with nla.taken_down(armature):
        return _make_job(context, armature, request, bare)


def _make_job(context, armature, request, bare):
    if reason := refusal(armature):
        raise CannotBakeError(reason)
    ends, reason = chosen_range(request, context.scene, [armature])
    if reason:
        raise CannotBakeError(reason)
    whole = animated_range([armature]) or ends
    frames = np.arange(min(ends[0], whole[0]), max(ends[1], whole[1]) + 1)
    part = int(ends[0] - frames[0]), int(ends[1] - frames[0]) + 1
    items = armature.ikcore_feet.legs
    known = legs.legs_in_list(armature, bare) if items else legs.detect_legs(context, armature)
    few = request.keys == "TOLERANCE"
    switched = foot_switches.switched_legs(armature, known, frames[slice(*part)], few) if bare is None else {}
    known = [foot_switches.visible_leg(leg, switched.get(leg.name)) for leg in known]
    own = request if armature == context.object else armature.ikcore_feet  # a bone's name is for one armature
    copies = copies_above(armature, known)
    pelvis = pelvis_of(context, armature, own, known, copies)
    carrier, held = _carrier(armature, known, pelvis, copies)
    return Job(
        armature=armature,
        frames=frames,
        part=part,
        legs=known,
        switched=switched,
        modes={item.name: item.mode for item in items},
        chosen=_leg_names(request, known, [item.name for item in items if not item.use]),
        ground=request.ground,
        objects=ground_objects(request),
        moves=request.ground_moves,
        plane=(tuple(request.plane_normal), request.plane_height),
        keyed=request.contacts == "CURVES",
        source=actions.source(armature.animation_data) if request.from_original else None,
        copies=copies,
        pelvis=pelvis,
        carrier=carrier,
        held=held,
        settings=options.settings(request),
        preparation=options.preparation(request),
        source_floor=options.source_floor(request),
    )


def check_strip(job):
    """Refuse to replace a baked strip by one with fewer legs or frames, which would be lost."""
    tracks = nla.bake_tracks(job.armature.animation_data)
    if tracks is None:
        return
    (strip,), bones = tracks[1].strips, job.armature.pose.bones
    chosen = {joint for leg in job.legs if job.chosen and leg.name in job.chosen for joint in leg.chain}
    own = tuple(actions.path_of(bones[joint], "") for joint in chosen if joint in bones)
    more = job.chosen and any(not curve.data_path.startswith(own) for curve in actions.curves(strip))
    first, last = job.frames[job.part[0]], job.frames[job.part[1] - 1]
    if more or strip.frame_start < first or strip.frame_end > last:
        raise CannotBakeError(
            f"{job.armature.name} plays a baked strip with more legs or frames, which would be lost: "
            "bake all legs and frames again, or write to a New Action first"
        )


def _leg_names(request, known, left_out):
    names = [leg.name for leg in known]
    chosen = [item.name for item in request.legs] or [name for name in names if name not in left_out]
    if strange := [name for name in chosen if name not in names]:
        raise CannotBakeError(f"There is no leg {strange[0]}: the legs are {', '.join(names)}")
    if not chosen:
        raise CannotBakeError("No leg to bake: enable one in the list of feet")
    return None if set(chosen) == set(names) else chosen


def ground_objects(request):
    """The ground objects of an operator with GroundRequest, or a CannotBakeError if there are none."""
    if request.ground == "OBJECTS":
        named = [item.name for item in request.ground_objects]
        if missing := [name for name in named if name not in bpy.data.objects]:
            raise CannotBakeError(f"There is no ground object {missing[0]}: choose another one")
        if not named:
            raise CannotBakeError("There is no ground: choose ground objects")
        return [bpy.data.objects[name] for name in named]
    if request.ground == "COLLECTION":
        collection = bpy.data.collections.get(request.ground_collection)
        if collection is None:
            raise CannotBakeError("There is no ground: choose a ground collection")
        return list(collection.all_objects)
    return []


def copies_above(armature, known):
    """The bones above all legs that copy others, {name: original}, if none of them can be moved itself."""
    shared, free = shared_bones(armature, known, {})
    originals = {} if free else {bone.name: copied_bone(bone) for bone in shared}
    return {name: original.name for name, original in originals.items() if original}


def pelvis_of(context, armature, request, known, copies):
    """The bone that moves the body; None to let ikcore choose, if all candidates can be moved.

    It is near the hips, or the first ancestor that carries them completely. Free feet have no hips.
    """
    bones = armature.pose.bones
    if request.pelvis_bone:
        if request.pelvis_bone not in bones:
            raise CannotBakeError(f"{armature.name} has no pelvis bone {request.pelvis_bone}: choose another one")
        return request.pelvis_bone
    hips, (shared, free) = [bones[leg.hip] for leg in known if not leg.free], shared_bones(armature, known, copies)
    if not hips or len(free) in (0, len(shared)):
        return None
    middle = sum((hip.bone.head_local for hip in hips), Vector()) / len(hips)
    foot = next(leg.foot for leg in known if not leg.free)
    end = bones[foot].bone.head_local if foot in bones else bones[foot.removesuffix("_end")].bone.tail_local
    size = (hips[0].bone.head_local - end).length
    near = [bone for bone in free if (bone.bone.head_local - middle).length <= ABOUT * size]
    at_hips = free[free.index((near or free[:1])[-1]) :]
    return next((bone for bone in at_hips if carries(context, armature, bone, hips)), at_hips[0]).name


def _carrier(armature, known, pelvis, copies):
    """The bone that moves in place of a root that cannot be moved, or the reason why that cannot."""
    shared, free = shared_bones(armature, known, copies)
    if not shared or shared[-1] in free or shared[-1].name == pelvis:
        return None, None
    if free:
        return (shared[-1].name, free[-1].name), None
    return None, constraint_problem(shared[-1], Rig(armature))


def shared_bones(armature, known, copies):
    """The bones that carry all legs and free feet, the nearest first; and the movable ones of them."""
    chains, rig = [above(armature.pose.bones[leg.bones[0]], copies) for leg in known], Rig(armature)
    shared = [bone for bone in chains[0] if all(bone in chain for chain in chains)]
    return shared, [bone for bone in shared if movable(bone, rig)]
