# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the two-bone IK limbs of an armature and says, in a sentence, why one cannot be baked.

A limb knows its bones and constraints by name, not by reference: Blender frees them on undo and mode switches.
"""

from dataclasses import dataclass
from functools import cached_property

import bpy

from . import actions

CHAIN = 2


@dataclass(frozen=True)
class Limb:
    """One IK constraint and the bones it moves, from the root to the tip of the chain."""

    object: bpy.types.Object
    owner: str  # the bone that carries the constraint
    constraint: str
    chain: tuple[str, ...]  # one name if the chain is cut short by a missing parent; all if it has no set length

    @property
    def bones(self):
        """The pose bones of the armature."""
        return self.object.pose.bones

    @property
    def ik(self):
        """The constraint."""
        return self.bones[self.owner].constraints[self.constraint]

    @property
    def root(self):
        """The first pose bone of the chain."""
        return self.bones[self.chain[0]]

    @property
    def mid(self):
        """The last pose bone of the chain: of two, the one below the knee."""
        return self.bones[self.chain[-1]]

    def controls(self):
        """Names of the bones of this armature that an animator moves for this limb."""
        ik = self.ik
        handles = ((ik.target, ik.subtarget), (ik.pole_target, ik.pole_subtarget))
        return [bone for target, bone in handles if target == self.object and bone]

    def label(self):
        """The bones of the chain, for the panel."""
        return " - ".join(self.chain)


class Rig:
    """What the limbs of one armature share, read once for all of them. To be dropped before anything changes."""

    def __init__(self, armature):
        self.bones = armature.pose.bones
        self.animation = armature.animation_data

    @cached_property
    def chains(self):
        """(bone, constraint, chain), all by name, of each IK and Spline IK that is switched on."""
        return [
            (bone.name, constraint.name, chain_of(bone, constraint))
            for bone in self.bones
            for constraint in bone.constraints
            if constraint.type in {"IK", "SPLINE_IK"} and not constraint.mute
        ]

    @cached_property
    def curves(self):
        """The curves that play, by data path."""
        return actions.by_path(actions.curves(self.animation))

    @cached_property
    def drivers(self):
        """The drivers, by data path."""
        return actions.by_path(self.animation.drivers if self.animation else ())

    @cached_property
    def animated_constraints(self):
        """The data paths of curves and drivers that lead into a constraint."""
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


def find_limbs(armature):
    """All IK constraints that are switched on, as limbs: also those that cannot be baked."""
    return [
        Limb(armature, bone.name, constraint.name, chain_of(bone, constraint))
        for bone in armature.pose.bones
        for constraint in bone.constraints
        if constraint.type == "IK" and not constraint.mute
    ]


def is_selected(bone):
    """Whether a pose bone is selected: Blender 5.0 moved the flag from the bone to the pose bone."""
    return bone.select if hasattr(bone, "select") else bone.bone.select


def selected_limbs(limbs):
    """Those limbs of which the owner, a bone of the chain, the target or the pole bone is selected."""
    chosen = []
    for limb in limbs:
        own = limb.chain if len(limb.chain) <= CHAIN else ()
        names = {limb.owner, *own, *limb.controls()}
        if any(name in limb.bones and is_selected(limb.bones[name]) for name in names):
            chosen.append(limb)
    return chosen


def refusals(limbs):
    """Why each limb cannot be baked, as a sentence, or None: one for each limb, in order."""
    rigs = {limb.object.name_full: Rig(limb.object) for limb in limbs}
    return [_refusal(limb, rigs[limb.object.name_full]) for limb in limbs]


def _refusal(limb, rig):
    for check in CHECKS:
        reason = check(limb)
        if reason:
            return reason
    for rig_check in RIG_CHECKS:
        reason = rig_check(limb, rig)
        if reason:
            return reason
    return None


def _check_editable(limb):
    armature = limb.object
    animation = armature.animation_data
    action = animation.action if animation else None
    if armature.override_library:
        return f"{armature.name} is a library override: make it local to bake it (Object > Relations > Make Local)"
    if armature.library:
        return f"{armature.name} is linked from another file: make it local to bake its limbs"
    if action and action.override_library:
        return f"Action {action.name} is a library override: make it local first"
    if action and action.library:
        return f"Action {action.name} is linked from another file: make it local first"
    return None


def _check_animation_data(limb):
    armature = limb.object
    animation = armature.animation_data
    if armature.data.pose_position == "REST":
        return f"{armature.name} is in Rest Position: switch it to Pose Position"
    if animation is None:
        return None
    if animation.use_tweak_mode:
        return f"{armature.name} is in NLA tweak mode: leave it first"
    if animation.use_nla and any(_plays(track, animation) for track in animation.nla_tracks):
        return f"{armature.name} has NLA tracks that play below or above its action: mute them or bake the NLA first"
    if len(actions.layers_and_strips(animation.action)) > 1:
        return f"Action {animation.action.name} has several layers: this can only write to an action with one"
    return None


def _plays(track, animation):
    solo = any(other.is_solo for other in animation.nla_tracks)
    return len(track.strips) > 0 and not track.mute and (track.is_solo or not solo)


def _check_solver(limb):
    if limb.object.pose.ik_solver != "LEGACY":
        return f"{limb.object.name} uses the iTaSC solver: only the standard IK solver can be baked"
    return None


def _check_chain(limb):
    ik = limb.ik
    if ik.chain_count != CHAIN:
        length = f"{ik.chain_count} bones" if ik.chain_count else f"the whole chain of {len(limb.chain)} bones"
        length = "1 bone" if ik.chain_count == 1 else length
        return f"IK of {limb.owner} moves {length}: only a chain length of 2 can be baked"
    if len(limb.chain) < CHAIN:
        return f"IK of {limb.owner} finds only one bone, {limb.chain[0]}: it has no parent to bend against"
    return None


def _check_targets(limb):
    ik = limb.ik
    reason = _check_target(limb, ik.target, ik.subtarget, "target")
    if reason is None and ik.pole_target is not None:
        reason = _check_target(limb, ik.pole_target, ik.pole_subtarget, "pole target")
    if reason is None and not ik.is_valid:
        reason = f"IK of {limb.owner} is not valid: Blender shows it in red"
    return reason


def _check_target(limb, target, bone, what):
    if target is None:
        return f"IK of {limb.owner} has no {what}"
    if target.type == "ARMATURE":
        if not bone:
            return f"IK of {limb.owner} has armature {target.name} as its {what}, but no bone of it"
        if bone not in target.pose.bones:
            return f"IK of {limb.owner} names {bone} as its {what}, but {target.name} has no such bone"
    elif bone:
        return f"IK of {limb.owner} has a vertex group as its {what}: use an object or a bone"
    return None


def _check_goals(limb):
    ik = limb.ik
    if not ik.use_location:
        return f"IK of {limb.owner} does not reach for a position: switch Position on"
    if ik.use_rotation:
        return f"IK of {limb.owner} also follows the target's rotation: switch Rotation off to bake it"
    if ik.use_stretch and (limb.root.ik_stretch > 0.0 or limb.mid.ik_stretch > 0.0):
        return f"IK of {limb.owner} stretches its bones: switch Stretch off or set IK Stretch to 0"
    return None


def _check_joints(limb):
    for bone in (limb.root, limb.mid):
        if any(getattr(bone, f"lock_ik_{axis}") for axis in "xyz"):
            return f"{bone.name} has a locked IK axis: unlock it to bake this limb"
        if any(getattr(bone, f"use_ik_limit_{axis}") for axis in "xyz"):
            return f"{bone.name} has an IK limit: switch it off to bake this limb"
        if any(getattr(bone, f"ik_stiffness_{axis}") > 0.0 for axis in "xyz"):
            return f"{bone.name} has IK stiffness: set it to 0 to bake this limb"
    return None


def _check_other_constraints(limb):
    for bone in (limb.root, limb.mid):
        for constraint in bone.constraints:
            if constraint.mute or (bone.name == limb.owner and constraint.name == limb.constraint):
                continue
            if constraint.type not in {"IK", "SPLINE_IK"}:
                # it would act a second time, on the baked keys
                return f"{bone.name} also has constraint {constraint.name}: mute or apply it first"
    return None


def _check_other_ik(limb, rig):
    for bone, constraint, chain in rig.chains:
        shared = set(chain) & set(limb.chain)
        if shared and (bone, constraint) != (limb.owner, limb.constraint):
            return f"{sorted(shared)[0]} is also moved by {constraint} of {bone}: mute one of the two"
    return None


def _check_channels(limb, rig):
    for bone in (limb.root, limb.mid):
        prefix = actions.path_of(bone, "rotation")
        curves = rig.curves.get(actions.rotation_path(bone), ())
        if any(path.startswith(prefix) for path in rig.drivers):
            return f"{bone.name} has a driver on its rotation: remove it first"
        if actions.path_of(bone, "rotation_mode") in rig.curves:
            return f"{bone.name} has an animated rotation mode: this can only bake into one mode"
        # the keys go where the curves are, and new curves into the group of the bone's name
        if rig.muted_groups & {bone.name, *(curve.group.name for curve in curves if curve.group)}:
            return f"{bone.name} has a muted channel group: unmute it, or the baked keys would not play"
        reason = _check_curves(bone, curves)
        if reason:
            return reason
    return None


def _check_curves(bone, curves):
    for curve in curves:
        if curve.lock or (curve.group and curve.group.lock):
            return f"{bone.name} has a locked rotation curve: unlock it in the Graph Editor"
        if curve.mute:
            return f"{bone.name} has a muted rotation curve: unmute or delete it"
        if len(curve.sampled_points):
            return f"{bone.name} has a rotation curve of samples: convert it to keyframes first"
        # Cycles repeats what is outside the keys, the others change every frame: the bake would be changed twice
        if any(not modifier.mute and modifier.type != "CYCLES" for modifier in curve.modifiers):
            return f"{bone.name} has a modifier on its rotation curve: apply or remove it first"
    return None


def _check_animated_settings(limb, rig):
    name = bpy.utils.escape_identifier(limb.constraint)
    prefix = f'{actions.path_of(limb.bones[limb.owner], "constraints")}["{name}"].'
    for path in rig.animated_constraints:
        setting = path.removeprefix(prefix)
        if setting == path or setting in {"influence", "pole_angle"}:
            continue
        if setting in {"mute", "enabled"}:
            return f"IK of {limb.owner} is switched on and off by animation: the bake could not keep it off"
        return f"IK of {limb.owner} has an animated setting, {setting}: only influence and pole angle may be animated"
    return None


def _check_cycle(limb):
    ik = limb.ik
    for target, bone, what in ((ik.target, ik.subtarget, "target"), (ik.pole_target, ik.pole_subtarget, "pole target")):
        if target is not None and _follows(target, bone, limb, set()):
            return f"IK of {limb.owner} has a {what} that follows the limb itself: a dependency cycle"
    return None


def _follows(thing, bone, limb, seen):
    """Whether an object, or a bone of it, is moved by the limb: through parents and constraints, not drivers."""
    if thing is None or (thing, bone) in seen:
        return False
    seen.add((thing, bone))
    sources = [(thing.parent, thing.parent_bone if thing.parent_type == "BONE" else "")]
    if bone and thing.type == "ARMATURE" and bone in thing.pose.bones:
        pose_bone = thing.pose.bones[bone]
        names = {bone, *(parent.name for parent in pose_bone.parent_recursive)}
        if thing == limb.object and names & set(limb.chain):
            return True
        for name in names:
            sources += _constraint_sources(thing.pose.bones[name])
        sources.append((thing, ""))
    sources += _constraint_sources(thing)
    return any(_follows(source, name, limb, seen) for source, name in sources)


def _constraint_sources(owner):
    """The objects and bones that the working constraints of an object or a bone look at."""
    sources = []
    for constraint in owner.constraints:
        if constraint.mute:
            continue
        items = getattr(constraint, "targets", None) or [constraint]
        sources += [(getattr(item, "target", None), getattr(item, "subtarget", "")) for item in items]
        sources.append((getattr(constraint, "pole_target", None), getattr(constraint, "pole_subtarget", "")))
    return sources


# In this order: what is wrong with the whole armature comes before what is wrong with one limb.
CHECKS = (
    _check_editable,
    _check_animation_data,
    _check_solver,
    _check_chain,
    _check_targets,
    _check_goals,
    _check_joints,
    _check_other_constraints,
    _check_cycle,
)
RIG_CHECKS = (_check_other_ik, _check_channels, _check_animated_settings)
