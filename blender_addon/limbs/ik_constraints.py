# SPDX-License-Identifier: GPL-3.0-or-later
"""IK limbs of an armature, and the reason in a sentence why a solver cannot bake one.

A limb refers to its bones and constraints by name, because Blender invalidates references on undo and mode switches.
"""

from dataclasses import dataclass

import bpy

from ..animation import actions
from ..rig.armatures import Rig, chain_of, not_editable, playback_problem
from ..rig.ik_limits import Freedom
from . import visual_pose

CHAIN = 2
AIMS = {"DAMPED_TRACK", "TRACK_TO", "LOCKED_TRACK"}  # kinds of constraints that aim bones
TRACKS = AIMS | {"SPLINE_IK"}  # or lay them
ONLY_DISPLAYED = "use the solver As Displayed"  # the end of sentences
HELD = "a bake cannot mute it permanently"


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
        """The last pose bone of the chain; of two bones, the one below the knee."""
        return self.bones[self.chain[-1]]

    def controls(self):
        """Names of the bones of this armature that an animator moves for this limb."""
        ik = self.ik
        handles = [(ik.target, getattr(ik, "subtarget", ""))]
        if ik.type == "IK":
            handles.append((ik.pole_target, ik.pole_subtarget))
        return [bone for target, bone in handles if target == self.object and bone]

    def sources(self):
        """The objects on which this limb depends by its bones' constraints."""
        return [thing for name in {self.owner, *self.chain} for thing, _ in constraint_sources(self.bones[name])]

    def label(self):
        """The bones of the chain, for the panel."""
        return " - ".join(self.chain)


def find_limbs(armature):
    """All enabled IK constraints, as limbs, including those that cannot be baked."""
    return [
        Limb(armature, bone.name, constraint.name, chain_of(bone, constraint))
        for bone in armature.pose.bones
        for constraint in bone.constraints
        if constraint.type == "IK" and not constraint.mute
    ]


def none_on(armatures):
    """The reason why armatures have no enabled IK."""
    names = " or ".join(armature.name for armature in armatures)
    constraints = (each for armature in armatures for bone in armature.pose.bones for each in bone.constraints)
    if any(each.type == "IK" for each in constraints):
        return f"All IK of {names} is muted, as after a bake: unmute it to bake it again"
    return f"{names} has no enabled IK constraint"


def find_tracks(armature):
    """All enabled constraints that aim bones, or place them along a spline, as limbs of their bones."""
    found = [(bone, each) for bone in armature.pose.bones for each in bone.constraints if each.type in TRACKS]
    return [
        Limb(armature, bone.name, each.name, chain_of(bone, each) if each.type == "SPLINE_IK" else (bone.name,))
        for bone, each in found
        if not each.mute
    ]


def limbs_with_target(limbs):
    """The limbs with a target, because rigs have IK without one for dragging only. All, if none has one."""
    return [limb for limb in limbs if limb.ik.target] or limbs


def together(limbs):
    """These limbs, and all whose chains share bones with theirs, including spline IK: Blender solves them together."""
    everything = {limb.object.name_full: _chains(limb.object) for limb in limbs}
    found = list(limbs)
    for limb in found:  # grows on the way
        others = (other for other in everything[limb.object.name_full] if set(other.chain) & set(limb.chain))
        found += [other for other in others if other not in found]
    return found


def aimed_together(limbs, sharing):
    """These limbs with all bones that share their rotations, and all other aims of those bones, in order."""
    every = [limb for item in dict.fromkeys(limb.object for limb in limbs) for limb in find_tracks(item)]
    found = [_shorten(limb, sharing) for limb in limbs]
    for limb in found:  # grows on the way
        others = (other for other in every if other.object == limb.object and other.owner in limb.chain)
        found += [other for other in (_shorten(each, sharing) for each in others) if other not in found]
    return found


def _shorten(limb, count):
    """A limb of at most so many bones that share its rotation; a lock rotates only one."""
    if limb.ik.type not in AIMS:
        return limb
    bone, most = limb.bones[limb.owner], 1 if limb.ik.type == "LOCKED_TRACK" else count
    chain = tuple(each.name for each in reversed([bone, *bone.parent_recursive][:most]))
    return Limb(limb.object, limb.owner, limb.constraint, chain)


def _chains(armature):
    limbs = (Limb(armature, *chain) for chain in Rig(armature).chains)
    return [limb for limb in limbs if limb.ik.target]


def is_selected(bone):
    """True if a pose bone is selected: Blender 5.0 moved the flag from the bone to the pose bone."""
    return bone.select if hasattr(bone, "select") else bone.bone.select


def selected_limbs(limbs):
    """The limbs whose owner, chain bone, target or pole bone is selected."""
    chosen = []
    for limb in limbs:
        whole = limb.ik.type == "IK" and not limb.ik.chain_count
        own = () if whole else limb.chain  # not the whole body, where a chain goes up to its root
        names = {limb.owner, *own, *limb.controls()}
        if any(name in limb.bones and is_selected(limb.bones[name]) for name in names):
            chosen.append(limb)
    return chosen


def refusals(limbs, ways=("DISPLAYED", "TWO_BONE", "LIBRARY")):
    """For each limb the reasons why a solver cannot bake it: {solver: sentence or None}."""
    rigs = {limb.object.name_full: Rig(limb.object) for limb in limbs}
    return [{way: _refusal(limb, rigs[limb.object.name_full], way) for way in ways} for limb in limbs]


def _refusal(limb, rig, way):
    reasons = (check(limb) for check in CHECKS[way])
    rig_reasons = (check(limb, rig) for check in RIG_CHECKS[way])
    return next(filter(None, reasons), None) or next(filter(None, rig_reasons), None)


def _check_editable(limb):
    return not_editable(limb.object)


def _check_animation_data(limb):
    return playback_problem(limb.object)


def _check_solver(limb):
    if limb.object.pose.ik_solver != "LEGACY":
        return f"{limb.object.name} uses the iTaSC solver: {ONLY_DISPLAYED}"
    return None


def _check_chain(limb):
    ik = limb.ik
    if ik.chain_count != CHAIN:
        length = f"{ik.chain_count} bones" if ik.chain_count else f"the whole chain of {len(limb.chain)} bones"
        length = "1 bone" if ik.chain_count == 1 else length
        return f"IK of {limb.owner} moves {length}: Exact Two-Bone needs a chain length of 2"
    if len(limb.chain) < CHAIN:
        return f"IK of {limb.owner} has only one bone, {limb.chain[0]}: Exact Two-Bone needs a parent bone"
    return None


def _check_targets(limb):
    ik = limb.ik
    if ik.type != "IK":
        return f"{ik.name} of {limb.owner} has no target" if ik.type in TRACKS and ik.target is None else None
    reason = check_target(limb, ik.target, ik.subtarget, "target")
    if reason is None and ik.pole_target is not None:
        reason = check_target(limb, ik.pole_target, ik.pole_subtarget, "pole target")
    if reason is None and not ik.is_valid:
        reason = f"IK of {limb.owner} is not valid (red in Blender): complete its settings"
    return reason


def check_target(limb, target, bone, what):
    """The reason why IK cannot use this target, or None."""
    if target is None:
        return f"{_kind(limb.ik)} of {limb.owner} has no {what}"
    if target.type == "ARMATURE":
        if not bone:
            return f"{_kind(limb.ik)} of {limb.owner} has armature {target.name} as its {what}, but no bone of it"
        if bone not in target.pose.bones:
            return f"{_kind(limb.ik)} of {limb.owner} names {bone} as its {what}, but {target.name} has no such bone"
    elif bone:
        return f"{_kind(limb.ik)} of {limb.owner} has a vertex group as its {what}: use an object or a bone"
    return None


def _check_goals(limb):
    ik = limb.ik
    if not ik.use_location:
        return f"IK of {limb.owner} does not follow the position of its target: turn Position on"
    if ik.use_rotation:
        return f"IK of {limb.owner} also follows the target's rotation: turn Rotation off, or {ONLY_DISPLAYED}"
    if ik.use_stretch and (limb.root.ik_stretch > 0.0 or limb.mid.ik_stretch > 0.0):
        return f"IK of {limb.owner} stretches its bones: turn Stretch off or set IK Stretch to 0"
    return None


def _check_two_bone(limb):
    ik = limb.ik
    if ik.type != "IK":
        return _spline(limb)
    if not ik.use_location:
        return f"IK of {limb.owner} does not follow the position of its target: turn Position on"
    if ik.pole_target is not None and (reason := _check_bends(limb)):
        return reason
    stretched = [name for name in limb.chain if limb.bones[name].ik_stretch > 0.0] if ik.use_stretch else []
    if stretched:
        return f"IK of {limb.owner} stretches {stretched[0]}: turn Stretch off or set IK Stretch to 0"
    return None


def _spline(limb):
    """Spline IK puts every joint on the curve, so another solver has nothing to choose."""
    keeps = "with Y Scale Mode None bones keep their lengths"
    return f"{limb.ik.name} of {limb.owner} lays bones along a curve: {ONLY_DISPLAYED}, {keeps}"


def _check_bends(limb):
    """The reason why a chain cannot be rotated to its pole as a whole, or None."""
    if limb.ik.use_rotation:
        return f"IK of {limb.owner} has a pole and also follows the target's rotation: {ONLY_DISPLAYED}"
    if len(limb.chain) < CHAIN:
        return f"IK of {limb.owner} has a pole, but only one bone: {ONLY_DISPLAYED}"
    if Freedom.of(limb.root).ranges != (None,) * 3:
        kept = f"{limb.root.name}, which turns towards the pole, has an IK limit or lock"
        return f"IK of {limb.owner} has a pole, and {kept}: remove one of both, or {ONLY_DISPLAYED}"
    return None


def _check_joints(limb):
    for bone in (limb.root, limb.mid):
        if any(getattr(bone, f"lock_ik_{axis}") for axis in "xyz"):
            return f"{bone.name} has a locked IK axis: unlock it, or {ONLY_DISPLAYED}"
        if any(getattr(bone, f"use_ik_limit_{axis}") for axis in "xyz"):
            return f"{bone.name} has an IK limit: turn it off, or {ONLY_DISPLAYED}"
        if any(getattr(bone, f"ik_stiffness_{axis}") > 0.0 for axis in "xyz"):
            return f"{bone.name} has IK stiffness: set it to 0, or {ONLY_DISPLAYED}"
    return None


def _check_other_constraints(limb):
    for bone in (limb.bones[name] for name in limb.chain):
        for constraint in bone.constraints:
            if constraint.mute or (bone.name == limb.owner and constraint.name == limb.constraint):
                continue
            if constraint.type not in {"IK", "SPLINE_IK"}:
                # it would act a second time, on the baked keys
                return f"{bone.name} also has constraint {constraint.name}: mute or apply it first"
    return None


def _check_aim(limb):
    ik = limb.ik
    if ik.type not in AIMS:
        return _spline(limb)
    if reason := check_target(limb, ik.target, ik.subtarget, "target"):
        return reason
    if ik.subtarget and ik.head_tail:
        return f"{ik.name} of {limb.owner} looks along {ik.subtarget}: set Head/Tail to 0, or {ONLY_DISPLAYED}"
    other = {"TRACK_TO": "up_axis", "LOCKED_TRACK": "lock_axis"}.get(ik.type)
    if other and getattr(ik, other)[-1] == ik.track_axis[-1]:
        return f"{ik.name} of {limb.owner} has the same axis twice and does nothing: choose another one"
    return None


def _check_aims_alone(limb):
    for bone in (limb.bones[name] for name in limb.chain):
        for each in bone.constraints:
            if not each.mute and each.type not in AIMS | {"IK", "SPLINE_IK"}:
                return f"{bone.name} also has constraint {each.name}: mute or apply it first"
    return None


def _check_other_ik(limb, rig):
    for bone, constraint, chain in rig.chains:
        shared = set(chain) & set(limb.chain)
        if shared and (bone, constraint) != (limb.owner, limb.constraint):
            return f"{sorted(shared)[0]} is also moved by {constraint} of {bone}: mute one of the two"
    return None


def _check_pole_alone(limb, rig):
    if limb.ik.type == "IK" and limb.ik.pole_target and (reason := _check_other_ik(limb, rig)):
        return f"IK of {limb.owner} has a pole, and {reason}"
    return None


def _check_channels(limb, rig):
    bones = (limb.bones[name] for name in limb.chain)
    aims = limb.ik.type in AIMS
    turned = (bone for bone in bones if aims or not all(getattr(bone, f"lock_ik_{axis}") for axis in "xyz"))
    return next(filter(None, (visual_pose.unwritable(bone, rig, "rotation") for bone in turned)), None)


def _kind(constraint):
    """The name of a constraint in sentences."""
    return "IK" if constraint.type == "IK" else constraint.name


def _check_animated_settings(limb, rig):
    name = bpy.utils.escape_identifier(limb.constraint)
    prefix = f'{actions.path_of(limb.bones[limb.owner], "constraints")}["{name}"].'
    for path in rig.animated_constraints:
        setting = path.removeprefix(prefix)
        if setting == path or setting in {"influence", "pole_angle"}:
            continue
        if setting in {"mute", "enabled"}:
            return f"{_kind(limb.ik)} of {limb.owner} is turned on and off by animation: {HELD}"
        may = "influence and pole angle" if limb.ik.type == "IK" else "influence"
        return f"{_kind(limb.ik)} of {limb.owner} has an animated setting, {setting}: only {may} may be animated"
    return None


def _check_switches(limb, rig):
    for name in limb.chain:
        for constraint in limb.bones[name].constraints:
            if any(path in rig.curves for path in visual_pose.switch_paths(limb.bones[name], constraint.name)):
                return f"{constraint.name} of {name} is turned on and off by keys: {HELD}"
    return None


def check_cycle(limb):
    """The reason why IK that depends on its own chain cannot be baked, or None."""
    ik = limb.ik
    handles = [(ik.target, ik.subtarget, "target")]
    if ik.type == "IK":
        handles.append((ik.pole_target, ik.pole_subtarget, "pole target"))
    for target, bone, what in handles:
        if target is not None and _follows(target, bone, limb, set()):
            return f"{_kind(ik)} of {limb.owner} has a {what} that follows the limb itself: a dependency cycle"
    return None


def _follows(thing, bone, limb, seen):
    """True if the limb moves an object or a bone of it, through parents and constraints, not drivers."""
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
            sources += constraint_sources(thing.pose.bones[name])
        sources.append((thing, ""))
    sources += constraint_sources(thing)
    return any(_follows(source, name, limb, seen) for source, name in sources)


def constraint_sources(owner):
    """The objects and bones to which the enabled constraints of an object or a bone refer."""
    sources = []
    for constraint in owner.constraints:
        if constraint.mute:
            continue
        items = getattr(constraint, "targets", None) or [constraint]
        sources += [(getattr(item, "target", None), getattr(item, "subtarget", "")) for item in items]
        sources.append((getattr(constraint, "pole_target", None), getattr(constraint, "pole_subtarget", "")))
    return sources


# In this order: problems of the whole armature come before those of one limb.
CHECKS = {
    "DISPLAYED": (_check_editable, _check_animation_data, _check_targets),
    "TWO_BONE": (
        _check_editable,
        _check_animation_data,
        _check_solver,
        _check_chain,
        _check_targets,
        _check_goals,
        _check_joints,
        _check_other_constraints,
        check_cycle,
    ),
    "LIBRARY": (
        _check_editable,
        _check_animation_data,
        _check_solver,
        _check_targets,
        _check_two_bone,
        _check_other_constraints,
        check_cycle,
    ),
    "TRACKING": (_check_editable, _check_animation_data, _check_targets, _check_aim, _check_aims_alone, check_cycle),
}
RIG_CHECKS = {
    "DISPLAYED": (_check_channels, _check_switches),
    "TWO_BONE": (_check_other_ik, _check_channels, _check_animated_settings),
    "LIBRARY": (_check_pole_alone, _check_channels, _check_animated_settings),
    "TRACKING": (_check_other_ik, _check_channels, _check_animated_settings),
}
