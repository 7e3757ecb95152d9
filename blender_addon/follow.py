# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what is seen of a character goes where the bones of its legs go.

Rigs have bones to be moved, those that deform follow them: all the way, in part, or not at all while a switch is set
to other ones. No names tell; so thighs are turned a little and what follows is measured, as Blender evaluates it.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

import bpy
import numpy as np
from mathutils import Matrix

from . import actions, stage
from .armatures import CannotBakeError, Rig, skins

FEW = 5  # frames to look at, besides those where something is switched
MOST = 20  # of those
NEAR = 0.35  # of the length of a leg: where the bone is looked for that a foot is seen by
TURN = 0.1  # radians that a thigh is turned
STILL = 1e-3  # of the length of a leg: a foot that goes no farther is held by something else, which says nothing
FOLLOWS = 0.95  # of the way of the foot: what goes as far follows it
PROPERTY = re.compile(r'(?:pose\.bones\["(?P<bone>(?:[^"\\]|\\.)*)"\])?\["(?P<name>(?:[^"\\]|\\.)*)"\]')


@dataclass
class _Pair:
    """A leg, and the bone that its foot is seen by."""

    leg: object  # ikcore.Leg
    bone: str
    size: float  # of the leg


def check(context, armature, legs, frames):
    """Refuse legs whose bones move nothing that is seen: a generator that yields the share that is done."""
    pairs = [pair for pair in (_pair(armature, leg) for leg in legs) if pair]
    if not pairs:
        return
    few = _few(armature, pairs, frames)
    with stage.restored(context, [armature], poses=True):
        for number, frame in enumerate(few):
            stage.go(context.scene, frame)
            for pair, share in zip(pairs, _shares(context, armature, pairs), strict=True):
                if share < FOLLOWS:
                    raise CannotBakeError(_sentence(context, armature, pair, share, frame))
            yield (number + 1) / len(few)


def _pair(armature, leg):
    """A leg whose foot is seen by another bone, one where it is at rest; or None."""
    bones = armature.data.bones
    deforming = {bone.name for bone in bones if bone.use_deform}
    seen = deforming & {group.name for skin in skins(armature) for group in skin.vertex_groups} or deforming
    if not seen or leg.foot in seen:
        return None
    foot = bones[leg.foot].head_local
    size = (foot - bones[leg.hip].head_local).length
    bone = min(seen, key=lambda name: ((bones[name].head_local - foot).length, name))
    return _Pair(leg, bone, size) if (bones[bone].head_local - foot).length <= NEAR * size else None


def _shares(context, armature, pairs):
    """How much of the way of each foot what it is seen by goes too, when all thighs are turned a little."""
    pose, before = stage.read_pose(armature), _poses(context, armature)
    for pair in pairs:
        _turn(armature.pose.bones, pair.leg)
    context.view_layer.update()
    after = _poses(context, armature)
    stage.write_pose(armature, pose)
    context.view_layer.update()
    return [_share(pair, before, after) for pair in pairs]


def _turn(bones, leg):
    """Turn a thigh across the line to its foot."""
    thigh = bones[leg.hip]
    way = thigh.bone.matrix_local.inverted().to_3x3() @ (bones[leg.foot].bone.head_local - thigh.bone.head_local)
    thigh.matrix_basis = thigh.matrix_basis @ Matrix.Rotation(TURN, 4, way.orthogonal())


def _poses(context, armature):
    """All bones as Blender evaluates them, by name."""
    shown = armature.evaluated_get(context.evaluated_depsgraph_get())
    return {bone.name: np.array(bone.matrix) for bone in shown.pose.bones}


def _share(pair, before, after):
    carried = after[pair.leg.foot] @ np.linalg.inv(before[pair.leg.foot])
    start = before[pair.bone]
    way, gone = (moved[:3, 3] - start[:3, 3] for moved in (carried @ start, after[pair.bone]))
    size = float(way @ way)
    return float(way @ gone) / size if size > (STILL * pair.size) ** 2 else 1.0


# --- why not ---------------------------------------------------------------------------------------------------------


def _few(armature, pairs, frames):
    """Frames to look at: some, and those where what may switch a leg has another value than before."""
    found, curves = set(frames[np.linspace(0, len(frames) - 1, FEW).astype(int)].tolist()), Rig(armature).curves
    switched = set()
    for path in {path for pair in pairs for path in _properties(armature, pair)}:
        for curve in curves.get(path, ()):
            changes = (pair for pair in pairwise(key.co for key in curve.keyframe_points) if pair[0].y != pair[1].y)
            switched |= {round(key.x) for change in changes for key in change}
    inside = sorted(switched.intersection(frames.tolist()))
    return sorted(found.union(inside[:: -(-len(inside) // MOST) or 1]))


def _sentence(context, armature, pair, share, frame):
    much = "Nothing" if share < 1 - FOLLOWS else f"Only {share:.0%}"
    text = f"{much} of a bake would be seen: {pair.bone} does not follow {pair.leg.foot} in frame {frame}"
    cause = _cause(armature, pair)
    if cause is None:
        return f"{text}: pick the bones that move it in the list of feet"
    owner, constraint = cause
    paths = _driving(Rig(armature), owner, constraint)
    for path in paths:
        value, better = stage.value(armature, path), _better(context, armature, pair, path)
        if better is not None:
            how = f"animate {pair.leg.hip} and the bones below it, and set that to {better:g}"
            return f"{text}, as {_label(path)} is {value:g}: {how}"
    state = "is muted" if constraint.mute else f"has influence {constraint.influence:.2g}"
    driven = f", driven by {_label(paths[0])}" if paths else ""
    how = "change that, or pick other bones in the list of feet"
    return f"{text}, as {constraint.name} of {owner} {state}{driven}: {how}"


def _cause(armature, pair):
    """What keeps the bone that is seen from following the leg: (bone, constraint), or None.

    On its way to the leg there is a bone that a constraint ties to it: that one is off, or one after it has more say.
    """
    for bone in _above(armature, pair.bone):
        constraints = list(bone.constraints)
        for number, constraint in enumerate(constraints):
            if any(subtarget in pair.leg.chain for subtarget in _targets(armature, constraint)):
                if constraint.mute or constraint.influence < FOLLOWS:
                    return bone.name, constraint
                later = [each for each in constraints[number + 1 :] if _acts(each)]
                if later:
                    return bone.name, later[-1]
    return None


def _acts(constraint):
    return not constraint.mute and constraint.influence > 1 - FOLLOWS


def _above(armature, name):
    """The bones that a bone hangs on and looks at, the nearest first, itself included: a generator."""
    bones, names = armature.pose.bones, [name]
    for name in names:  # more are added on the way
        bone = bones[name]
        yield bone
        more = [bone.parent.name] if bone.parent else []
        more += [target for each in bone.constraints if not each.mute for target in _targets(armature, each)]
        names += [target for target in dict.fromkeys(more) if target in bones and target not in names]


def _targets(armature, constraint):
    """The bones of the same armature that a constraint looks at."""
    items = [*(getattr(constraint, "targets", None) or [constraint])]
    return [item.subtarget for item in items if getattr(item, "target", None) == armature and item.subtarget]


def _properties(armature, pair):
    """The custom properties that drive constraints on the way from the bone that is seen."""
    rig = Rig(armature)
    return {
        path
        for bone in _above(armature, pair.bone)
        for constraint in bone.constraints
        for path in _driving(rig, bone.name, constraint)
    }


def _driving(rig, owner, constraint):
    """The custom properties of the armature that a constraint is switched by."""
    base = actions.path_of(rig.bones[owner], f'constraints["{bpy.utils.escape_identifier(constraint.name)}"]')
    drivers = [driver for name in ("influence", "mute", "enabled") for driver in rig.drivers.get(f"{base}.{name}", ())]
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
    """The end of the range of a property with which what is seen follows the leg, or None."""
    owner, _, name = path[:-2].rpartition('["')
    now = stage.value(armature, path)
    ends = stage.owner(armature, owner).id_properties_ui(bpy.utils.unescape_identifier(name)).as_dict()
    try:
        for end in (end for end in (ends.get("max"), ends.get("min")) if end not in (None, now)):
            _switch(context, armature, path, type(now)(end))
            if _shares(context, armature, [pair])[0] >= FOLLOWS:
                return end
        return None
    finally:
        _switch(context, armature, path, now)


def _switch(context, armature, path, value):
    stage.set_value(armature, path, value)
    armature.update_tag()
    context.view_layer.update()
