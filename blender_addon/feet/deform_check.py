# SPDX-License-Identifier: GPL-3.0-or-later
"""Check that the visible parts of a character follow the bones of its legs.

In rigs, control bones are moved and deforming bones follow them: fully, in part, or not at all while a switch selects
others. Names do not reveal this. Thighs are therefore rotated slightly, and the response is measured as Blender
evaluates it.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

import bpy
import numpy as np
from mathutils import Matrix

from ..animation import actions, scene_frames
from ..rig import rigify
from ..rig import rotations as rot
from ..rig.armatures import CannotBakeError, Rig, evaluation_problem, skins

FEW = 5  # frames to test, besides those where a switch changes
MOST = 20  # largest number of the latter
NEAR = 0.35  # relative to the leg length: search radius for the bone that shows a foot
TURN = 0.1  # radians: test rotation of a thigh
STILL = 1e-3  # relative to the leg length: a foot that moves less is held by something else, and gives no result
FOLLOWS = 0.95  # relative to the foot's motion: a bone that moves as far follows it
PROPERTY = re.compile(r'(?:pose\.bones\["(?P<bone>(?:[^"\\]|\\.)*)"\])?\["(?P<name>(?:[^"\\]|\\.)*)"\]')


@dataclass
class _Pair:
    """A leg, and the bone that shows its foot."""

    hip: str
    foot: str
    bone: str
    size: float  # of the leg


def check(context, armature, legs, frames):
    """Refuse legs whose bones move no visible part: a generator that yields progress."""
    pairs = [pair for pair in (_pair(armature, leg) for leg in legs) if pair]
    if not pairs:
        return
    few = _few(armature, pairs, frames)
    with scene_frames.restore_after(context, [armature], poses=True):
        if reason := evaluation_problem(context, armature, followers=[pair.bone for pair in pairs]):
            raise CannotBakeError(reason)
        for number, frame in enumerate(few):
            scene_frames.go(context.scene, frame)
            turned = _poses_with_rotated_thighs(context, armature, pairs)
            for pair in pairs:
                if _share(pair, pair.bone, *turned) < FOLLOWS:
                    raise CannotBakeError(_sentence(context, armature, pair, turned, frame))
            yield (number + 1) / len(few)


def _pair(armature, leg):
    """A leg whose foot is shown by another bone at the same rest position; or None, as for free feet."""
    if leg.free:
        return None
    bones = armature.data.bones
    deforming = {bone.name for bone in bones if bone.use_deform}
    seen = deforming & {group.name for skin in skins(armature) for group in skin.vertex_groups} or deforming
    foot = [joint for joint in leg.bones if joint in bones][-1]  # other joints are tails
    if not seen or foot in seen:
        return None
    at = bones[foot].head_local
    size = (at - bones[leg.hip].head_local).length
    bone = min(seen, key=lambda name: ((bones[name].head_local - at).length, name))
    return _Pair(leg.hip, foot, bone, size) if (bones[bone].head_local - at).length <= NEAR * size else None


def _poses_with_rotated_thighs(context, armature, pairs):
    """The poses before and after all thighs are rotated slightly."""
    pose, before = scene_frames.read_pose(armature), _poses(context, armature)
    for pair in pairs:
        _turn(armature.pose.bones, pair)
    context.view_layer.update()
    after = _poses(context, armature)
    scene_frames.write_pose(armature, pose)
    context.view_layer.update()
    return before, after


def _turn(bones, pair):
    """Rotate a thigh about an axis perpendicular to the line to its foot."""
    thigh = bones[pair.hip]
    way = thigh.bone.matrix_local.inverted().to_3x3() @ (bones[pair.foot].bone.head_local - thigh.bone.head_local)
    thigh.matrix_basis = thigh.matrix_basis @ Matrix.Rotation(TURN, 4, way.orthogonal())


def _poses(context, armature):
    """All bones as Blender evaluates them, by name."""
    shown = armature.evaluated_get(context.evaluated_depsgraph_get())
    return {bone.name: np.array(bone.matrix) for bone in shown.pose.bones}


def _share(pair, bone, before, after):
    """Motion of a bone relative to the motion that the foot would give it; 1 if the foot does not move."""
    carried = after[pair.foot] @ rot.inverse(before[pair.foot])
    start = before[bone]
    way, gone = (moved[:3, 3] - start[:3, 3] for moved in (carried @ start, after[bone]))
    size = float(way @ way)
    return float(way @ gone) / size if size > (STILL * pair.size) ** 2 else 1.0


# --- reasons ---------------------------------------------------------------------------------------------------------


def _few(armature, pairs, frames):
    """Frames to test: a sample, and those where the value of a switch of a leg changes."""
    rig, switched = Rig(armature), set()
    for path in {path for pair in pairs for path in _switches(rig, pair)}:
        for curve in rig.curves.get(path, ()):
            changes = (both for both in pairwise(key.co for key in curve.keyframe_points) if both[0].y != both[1].y)
            switched |= {round(key.x) for both in changes for key in both}
    inside = sorted(switched.intersection(frames.tolist()))
    few = frames[np.linspace(0, len(frames) - 1, FEW).astype(int)].tolist()
    return sorted({*few, *inside[:: len(inside) // MOST + 1]})


def _sentence(context, armature, pair, turned, frame):
    share = _share(pair, pair.bone, *turned)
    some = f"Only {share:.0%} of the motion would reach the mesh"
    text = "Baking these bones would not move the mesh" if share < 1 - FOLLOWS else some
    text = f"{text}: {pair.bone} does not follow {pair.foot} at frame {frame}"
    cause = _cause(armature, pair, turned)
    if cause is None:
        return f"{text}. Choose the bones that move it in the list of feet"
    owner, constraint = cause
    paths = _driving_properties(Rig(armature), owner, constraint)
    for path in paths:
        value, better = scene_frames.value(armature, path), _better(context, armature, pair, path)
        if better is not None:
            how = f"animate {pair.hip} and its children, and set that to {better:g}"
            return f"{text}, because {_label(path)} is {value:g}: {how}"
    state = "is muted" if constraint.mute else f"has influence {constraint.influence:.2g}"
    driven = f", driven by {_label(paths[0])}" if paths else ""
    how = "change that, or choose other bones in the list of feet"
    return f"{text}, because {constraint.name} of {owner} {state}{driven}: {how}"


def _cause(armature, pair, turned):
    """The cause that keeps the visible bone from following the leg: (bone, constraint), or None.

    On the path there is a bone that does not follow either, with a constraint to one that does. The constraint is off,
    or a later one overrides it.
    """
    for bone in _above(armature, pair.bone):
        constraints = list(bone.constraints) if _share(pair, bone.name, *turned) < FOLLOWS else []
        for number, constraint in enumerate(constraints):
            if any(_share(pair, target, *turned) >= FOLLOWS for target in _targets(armature, constraint)):
                if constraint.mute or constraint.influence < FOLLOWS:
                    return bone.name, constraint
                later = [each for each in constraints[number + 1 :] if _acts(each)]
                if later:
                    return bone.name, later[-1]
    return None


def _acts(constraint):
    return not constraint.mute and constraint.influence > 1 - FOLLOWS


def _above(armature, name):
    """The bones on which a bone depends by parents and constraints, the nearest first, itself included: a generator."""
    names = [name]
    for found in names:  # the list grows while it is read
        bone = armature.pose.bones[found]
        yield bone
        more = [bone.parent.name] if bone.parent else []
        more += [target for each in bone.constraints if not each.mute for target in _targets(armature, each)]
        names += [each for each in dict.fromkeys(more) if each not in names]


def _targets(armature, constraint):
    """The bones of the same armature that a constraint refers to."""
    items = [*(getattr(constraint, "targets", None) or [constraint])]
    mine = [item.subtarget for item in items if getattr(item, "target", None) == armature]
    return [name for name in mine if name in armature.pose.bones]


def _switches(rig, pair):
    """The data paths that may switch constraints between the leg and the visible bone."""
    found = [(bone.name, each) for bone in _above(rig.object, pair.bone) for each in bone.constraints]
    return {path for at in found for path in (*_own_switches(rig, *at), *_driving_properties(rig, *at))}


def _own_switches(rig, owner, constraint):
    base = actions.path_of(rig.bones[owner], f'constraints["{bpy.utils.escape_identifier(constraint.name)}"]')
    return [f"{base}.{name}" for name in ("influence", "mute", "enabled")]


def _driving_properties(rig, owner, constraint):
    """The custom properties of the armature that drive a constraint."""
    drivers = [driver for path in _own_switches(rig, owner, constraint) for driver in rig.drivers.get(path, ())]
    targets = [
        target
        for driver in drivers
        for variable in driver.driver.variables
        for target in variable.targets
        if variable.type == "SINGLE_PROP"
    ]
    paths = [target.data_path for target in targets if target.id is not None and target.id.original == rig.object]
    return [path for path in dict.fromkeys(paths) if PROPERTY.fullmatch(path)]


def _label(path):
    """A custom property in words."""
    parts = {key: bpy.utils.unescape_identifier(part) for key, part in PROPERTY.fullmatch(path).groupdict("").items()}
    return f"{parts['name']} of {parts['bone']}" if parts["bone"] else parts["name"]


def _better(context, armature, pair, path):
    """The end of a property's range at which the visible bone follows the leg, or None."""
    now = scene_frames.value(armature, path)
    if not isinstance(now, int | float):
        return None
    above, _, name = path[:-2].rpartition('["')
    ends = scene_frames.owner(armature, above).id_properties_ui(bpy.utils.unescape_identifier(name)).as_dict()
    others = [not now] if isinstance(now, bool) else [ends[key] for key in ("max", "min") if ends.get(key) != now]
    try:
        for other in others:
            _switch(context, armature, path, other)
            if _share(pair, pair.bone, *_poses_with_rotated_thighs(context, armature, [pair])) >= FOLLOWS:
                return other
        return None
    finally:
        _switch(context, armature, path, now)


def _switch(context, armature, path, value):
    scene_frames.set_value(armature, path, value)
    armature.update_tag()
    context.view_layer.update()


# --- bones without effect --------------------------------------------------------------------------------------------


def idle(context, armature, names):
    """Sentences about bones that cannot be pinned: they move nothing visible, or are goals of IK.

    Visible are bones that deform, objects parented to bones, and all children of bones that move these.
    """
    seen = _seen_bones(armature)
    asked = [name for name in names if name not in seen]
    if not asked or not seen:
        return []
    pose, before, found = scene_frames.read_pose(armature), _poses(context, armature), []
    try:
        for name in asked:
            bone = armature.pose.bones[name]
            both = [each for each in (bone, bone.parent) if each]
            moves = any(_moves(context, armature, each, before, seen) for each in both)
            if reason := _of_ik(armature, name) if moves else _instead(armature, name):
                found.append(reason)
        return found
    finally:
        scene_frames.write_pose(armature, pose)
        context.view_layer.update()


def _seen_bones(armature):
    """The names of visible bones: those that deform a mesh, else those that may, and those with child objects."""
    deforming = {bone.name for bone in armature.data.bones if bone.use_deform}
    with_skin = deforming & {group.name for skin in skins(armature) for group in skin.vertex_groups}
    return (with_skin or deforming) | {item.parent_bone for item in armature.children if item.parent_type == "BONE"}


def _moves(context, armature, bone, before, seen):
    """True if something visible moves when a bone is rotated and moved slightly."""
    if bone.name in seen:
        return True
    own = bone.matrix_basis.copy()
    step = Matrix.Translation((STILL * bone.bone.length,) * 3)
    bone.matrix_basis = own @ step @ Matrix.Rotation(TURN, 4, (1.0, 1.0, 1.0))
    context.view_layer.update()
    after = _poses(context, armature)
    bone.matrix_basis = own
    least = STILL**2 * bone.bone.length
    return any(np.abs(after[name] - before[name]).max() > least for name in seen if name in after)


def _of_ik(armature, name):
    """A sentence if a control is the target of a switched limb's IK, or None."""
    limb = next((limb for limb in rigify.limbs(armature) if name == limb.control), None)
    if limb is None:
        return None
    return f"{name} is an IK target and needs no pin: move it, or press IK -> FK and pin {limb.turned[2]}"


def _instead(armature, name):
    """A sentence that a bone moves nothing, and the remedy if it is known."""
    text = f"{name} moves no mesh"
    limb = next((limb for limb in rigify.limbs(armature) if name in limb.controls()), None)
    if limb is None:
        return f"{text}: pin a bone that moves the mesh"
    text += f", because {limb.word} of {limb.switch} is {scene_frames.value(armature, limb.path):g}"
    if name in (*limb.fk, *limb.turned):
        return f"{text}: press IK -> FK to switch, then pin it, or move {limb.control}"
    other = dict(zip(limb.ik, limb.turned, strict=True)).get(name, limb.turned[2])
    return f"{text}: pin {other}"
