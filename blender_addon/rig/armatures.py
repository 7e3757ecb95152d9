# SPDX-License-Identifier: GPL-3.0-or-later
"""Animation of an armature, and the reasons why it, or one of its bones, cannot be baked."""

from functools import cached_property
from typing import Any

import bpy
import numpy as np

from ..animation import actions, scene_frames

ALONG = 0.01  # relative to the motion of a bone: a bone whose motion differs by less moves with it


class CannotBakeError(Exception):
    """The reason why something cannot be baked, as a sentence."""


class Rig:
    """The animation of an armature and its bones, or of an object, read once. Invalid after any change."""

    def __init__(self, armature):
        self.object = armature
        self.bones: Any = armature.pose.bones if armature.pose else ()
        self.animation = armature.animation_data

    @cached_property
    def chains(self):
        """(bone, constraint, chain), all by name, of each enabled IK and Spline IK constraint."""
        return [
            (bone.name, constraint.name, chain_of(bone, constraint))
            for bone in self.bones
            for constraint in bone.constraints
            if constraint.type in {"IK", "SPLINE_IK"} and not constraint.mute
        ]

    @cached_property
    def curves(self):
        """The active curves by data path."""
        return actions.by_path(actions.curves(self.animation))

    @cached_property
    def drivers(self):
        """The drivers by data path."""
        return actions.by_path(self.animation.drivers if self.animation else ())

    @cached_property
    def _driven_paths(self):
        """The owners of driven properties, as the starts of their data paths."""
        return {path.rpartition(".")[0] for path in self.drivers}

    def drives(self, bone, prefix):
        """True if drivers move properties of a pose bone whose paths start so."""
        own = actions.path_of(bone, "")[:-1]
        return own in self._driven_paths and any(path.startswith(prefix) for path in self.drivers)

    @cached_property
    def animated_constraints(self):
        """The data paths of curves and drivers that animate constraints."""
        return [path for path in (*self.curves, *self.drivers) if ".constraints[" in path]

    @cached_property
    def muted_groups(self):
        """The names of the muted channel groups."""
        return actions.muted_groups(self.animation)


def chain_of(bone, constraint):
    """The names of the bones that an IK or Spline IK constraint on this bone moves, root first."""
    tip = bone
    if constraint.type == "IK" and not constraint.use_tail and bone.parent is not None:
        tip = bone.parent
    bones = [tip, *tip.parent_recursive]
    if constraint.chain_count:
        bones = bones[: constraint.chain_count]
    return tuple(reversed([b.name for b in bones]))


def copied_bone(bone):
    """The pose bone that constraints make this one identical to, whatever its channels say, or None."""
    acting = [each for each in bone.constraints if not each.mute]
    if len(acting) != 1 or acting[0].type != "COPY_TRANSFORMS" or acting[0].target != bone.id_data:
        return None
    (each,) = acting
    plain = (each.influence, each.head_tail, each.mix_mode) == (1.0, 0.0, "REPLACE")
    same = each.owner_space == each.target_space == "WORLD"
    return bone.id_data.pose.bones.get(each.subtarget) if plain and same else None


def hung_on(bone, copies):
    """The effective parent of a pose bone: for a parent in `copies`, {name: original}, the original; or None."""
    if bone.parent is None or not copies:
        return bone.parent
    return bone.id_data.pose.bones[copies.get(bone.parent.name, bone.parent.name)]


def above(bone, copies):
    """All its ancestors in this sense, the nearest first."""
    found = []
    while bone := hung_on(bone, copies):
        found.append(bone)
    return found


def character_objects(armature):
    """The objects of the character: its children, and all objects that it deforms with theirs."""
    roots = [armature, *skins(armature)]
    return {*roots, *(child for item in roots for child in item.children_recursive)}


def skins(armature):
    """The objects that the armature deforms."""
    return [item for item in bpy.data.objects if any(_deforms(modifier, armature) for modifier in item.modifiers)]


def _deforms(modifier, armature):
    return modifier.type == "ARMATURE" and modifier.object == armature


def not_editable(armature):
    """The reason why the armature or its action cannot be changed, or None."""
    animation = armature.animation_data
    action = animation.action if animation else None
    if armature.override_library and armature.override_library.is_system_override:
        how = "make it editable (Outliner: Library Override)"
        return f"{armature.name} is a library override that cannot be edited: {how}"
    if armature.library:
        return f"{armature.name} is linked from another file: make it local to bake it"
    if action and action.override_library:
        return f"Action {action.name} is a library override: make it local first"
    if action and action.library:
        return f"Action {action.name} is linked from another file: make it local first"
    return None


def playback_problem(armature, known=()):
    """The reason why the armature does not simply play its action, or None. `known` are NLA tracks that may play."""
    animation = armature.animation_data
    if armature.type == "ARMATURE" and armature.data.pose_position == "REST":
        return f"{armature.name} is in Rest Position: switch it to Pose Position"
    if animation is None:
        return None
    if animation.use_tweak_mode:
        return f"{armature.name} is in NLA tweak mode: leave it first"
    if animation.use_nla and any(plays(track, animation) for track in animation.nla_tracks if track not in known):
        if animation.action is None:
            return f"{armature.name} plays tracks of the NLA and has no action: bake the NLA into one first"
        return f"{armature.name} has NLA tracks that play below or above its action: mute them or bake the NLA first"
    if len(actions.layers_and_strips(animation.action)) > 1:
        return f"Action {animation.action.name} has several layers: use an action with one layer"
    return None


def evaluation_problem(context, armature, names=(), followers=()):
    """The reason why Blender does not evaluate an armature, or these bones and their relatives; or None."""
    shown = armature.evaluated_get(context.evaluated_depsgraph_get())
    if not shown.matrix_world.median_scale:
        return f"{armature.name} has a scale of zero, so it is invisible: set another scale"
    if shown.is_evaluated and (armature.visible_get() or _follow_channels(context, armature, names, followers)):
        return None
    return f"{armature.name} or its collection is disabled in viewports: enable it in the Outliner"


def _follow_channels(context, armature, names, followers):
    """True if bones and their ancestors follow their channels.

    Blender evaluates disabled objects only if visible objects refer to them.
    """
    rig = Rig(armature)
    chosen = {bone.name for name in names for bone in (rig.bones[name], *rig.bones[name].parent_recursive)}
    free = [n for n, bone in enumerate(rig.bones) if movable(bone, rig)]
    asked = [n for n in free if rig.bones[n].name in chosen] + [rig.bones.find(name) for name in followers]
    pose, before = scene_frames.read_pose(armature), _places(context, armature)[asked]
    try:
        for n in free:
            rig.bones[n].location.x += rig.bones[n].bone.length
        return bool((np.abs(_places(context, armature)[asked] - before).max(axis=-1, initial=0.0) > 0.0).all())
    finally:
        scene_frames.write_pose(armature, pose)
        context.view_layer.update()


def carries(context, armature, bone, others):
    """True if other pose bones below a bone move fully with it. Constraints in between may prevent that."""
    rig = Rig(armature)
    between = {each.name: each for other in others for each in other.parent_recursive if bone in each.parent_recursive}
    if not any(constraint_problem(each, rig) for each in between.values()):
        return True
    rows = [rig.bones.find(each.name) for each in (bone, *others)]
    pose, before = scene_frames.read_pose(armature), _places(context, armature)[rows]
    try:
        bone.location.x += bone.bone.length
        gone = _places(context, armature)[rows] - before
        return bool(np.abs(gone - gone[0]).max() <= ALONG * np.abs(gone[0]).max())
    finally:
        scene_frames.write_pose(armature, pose)
        context.view_layer.update()


def _places(context, armature):
    """Head positions of all bones, (bones, 3)."""
    armature.update_tag(refresh={"DATA"})
    context.view_layer.update()
    return np.array([bone.head for bone in armature.evaluated_get(context.evaluated_depsgraph_get()).pose.bones])


def plays(track, animation):
    """True if an NLA track plays."""
    solo = any(other.is_solo for other in animation.nla_tracks)
    return len(track.strips) > 0 and not track.mute and (track.is_solo or not solo)


def constraint_problem(bone, rig, but=()):
    """A sentence about anything but its channels that moves a pose bone, except some constraints; or None."""
    for constraint in bone.constraints:
        if not constraint.mute and constraint not in but:
            return f"{bone.name} has constraint {constraint.name}"
    for owner, constraint, chain in rig.chains:
        if bone.name in chain:
            return f"{bone.name} is moved by {constraint} of {owner}, which Bake IK can key"
    return None


def movable(bone, rig):
    """True if location keys move a pose bone."""
    held = (bone.parent and bone.bone.use_connect) or all(bone.lock_location) or constraint_problem(bone, rig)
    return not held and not rig.drives(bone, actions.path_of(bone, "location"))


def not_writable(bone, rig, channel):
    """The reason why keys on a pose bone's channel, "rotation" or "location", would not play as written, or None."""
    path = actions.rotation_path(bone) if channel == "rotation" else actions.path_of(bone, channel)
    curves = rig.curves.get(path, ())
    prefix = actions.path_of(bone, channel)
    if rig.drives(bone, prefix):
        return f"{bone.name} has a driver on its {channel}: remove it first"
    if channel == "rotation" and actions.path_of(bone, "rotation_mode") in rig.curves:
        return f"{bone.name} has an animated rotation mode: remove its keys"
    # the keys go where the curves are, and new curves into the group of the bone's name
    if rig.muted_groups & {bone.name, *(curve.group.name for curve in curves if curve.group)}:
        return f"{bone.name} has a muted channel group: unmute it, or the baked keys would not play"
    for curve in curves:
        if curve.lock or (curve.group and curve.group.lock):
            return f"{bone.name} has a locked {channel} curve: unlock it in the Graph Editor"
        if curve.mute:
            return f"{bone.name} has a muted {channel} curve: unmute or delete it"
        if len(curve.sampled_points):
            return f"{bone.name} has a {channel} curve of samples: convert it to keyframes first"
    return None
