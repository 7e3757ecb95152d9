# SPDX-License-Identifier: GPL-3.0-or-later
"""An armature and its action as a clip in world space.

Joints are bones, with their names and axes. Where no skin tells where a body ends, the tails of bones without children
are joints too, as "toe_end": files of motion mean them, while importers of characters make them up. The object is none:
what it does is in the roots, and its scale in the offsets, so that lengths are those of the world.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import actions, bridge, hang, stage
from . import rotations as rot
from .armatures import CannotBakeError, Rig, constrained, not_played
from .joints import Bones

UNSCALED = 1e-5  # a scale nearer to 1 than this is rounding too
AGREES = 1e-4  # how far curves and scene may be apart, in heights of the skeleton and in quaternions
PLACE = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
SETTINGS = ("rotation_mode", "delta_", "parent", "constraints")  # of an object, that its curves may change


@dataclass
class Reading:
    """What an armature does on some frames. Holds no reference into the file, so it may be kept through undo."""

    clip: object  # ikcore.Clip
    frames: np.ndarray  # of the action, where keys are
    world: np.ndarray  # (frames, 4, 4): the object
    bones: list  # the names of the joints that are bones, in order
    through_scene: str | None  # why the scene had to be evaluated on every frame, or None: curves said it all

    @cached_property
    def scale(self):
        """How many units of the world are one of the armature, on the first frame."""
        return float(np.linalg.norm(self.world[0, :3, 0]))

    def locals(self, clip):
        """The bones of another clip of this skeleton, in the space of their parents, roots in that of the armature."""
        count, pose = len(self.bones), clip.pose
        moved = clip.skeleton.offsets if pose.translations is None else pose.translations
        local = np.tile(np.eye(4), (len(clip), count, 1, 1))
        local[..., :3, :3] = bridge.rotations.to_matrix(bridge.rotations.normalize(pose.rotations[:, :count]))
        if pose.scales is not None:
            local[..., :3, :3] *= pose.scales[:, :count, np.newaxis, :]
        local[..., :3, 3] = moved[..., :count, :]
        roots = clip.skeleton.parents[:count] < 0
        local[:, roots, :3, :3] *= self.scale
        local[:, ~roots, :3, 3] /= self.scale
        local[:, roots] = np.linalg.inv(self.world)[:, np.newaxis] @ local[:, roots]
        return local


def skeleton(armature):
    """All bones at rest where the object is now: to find feet in before their bones are read."""
    world = np.array(armature.matrix_world)[np.newaxis]
    return _skeleton(Bones(armature), world, scale_of(armature, world))


def bones_of(armature, feet):
    """The names of the bones that legs consist of, and of those that their knees point at."""
    joints = {joint for leg in feet for joint in (*leg.chain, leg.pole or leg.hip)}
    return joints & set(armature.pose.bones.keys())


def read(context, armature, frames, bones=None):
    """Read an armature on evenly spaced frames of its action: a generator that yields how many frames are done.

    Returns a Reading of these bones and those above them, all of them by default. Curves are read where nothing else
    moves the bones, which a few frames of the scene must confirm; else the scene is evaluated on every frame.
    """
    rig, chosen = Rig(armature), Bones(armature, bones)
    if reason := not_played(armature):
        raise CannotBakeError(reason)
    with stage.restored(context, [armature], poses=True):
        reason = not_from_curves(armature, chosen, rig)
        if reason is None:
            local, world = _from_curves(armature, chosen, rig, frames)
            clip = _clip(context, armature, chosen, frames, local, world)
            few = np.unique(np.linspace(0, len(frames) - 1, 3).astype(int))
            truth = yield from _from_scene(context, armature, chosen, frames[few])
            if _agree(clip, few, _clip(context, armature, chosen, frames[few], *truth)):
                return Reading(clip, frames, world, chosen.names, None)
            reason = f"something else than its curves moves {armature.name}"
        local, world = yield from _from_scene(context, armature, chosen, frames)
        return Reading(_clip(context, armature, chosen, frames, local, world), frames, world, chosen.names, reason)


def _agree(clip, few, truth):
    """Whether a clip has the same bones in the same places on a few of its frames."""
    here, there = clip.skeleton.forward(clip.pose[few]), truth.skeleton.forward(truth.pose)
    size = np.ptp(there.positions[0], axis=0).max()
    turned = 1.0 - np.abs(np.sum(here.rotations * there.rotations, axis=-1))
    return bool(np.abs(here.positions - there.positions).max() <= AGREES * size and turned.max() <= AGREES**2)


# --- through the scene -----------------------------------------------------------------------------------------------


def _from_scene(context, armature, bones, frames):
    """The bones in the space of their parents, and the object, exactly as Blender evaluates them."""
    poses, world = np.empty((len(frames), len(bones), 4, 4)), np.empty((len(frames), 4, 4))
    flat = np.empty(16 * len(armature.pose.bones), np.float32)

    def look(depsgraph, f):
        evaluated = armature.evaluated_get(depsgraph)
        evaluated.pose.bones.foreach_get("matrix", flat)
        poses[f] = flat.reshape(-1, 4, 4)[bones.rows].transpose(0, 2, 1)  # Blender hands out columns
        world[f] = evaluated.matrix_world

    yield from stage.visit(context, frames, look)
    _check_size(bones.names, poses)
    return bones.locals(poses), world


# --- from curves -----------------------------------------------------------------------------------------------------


def not_from_curves(armature, bones, rig):
    """Why the curves of an armature do not say what these bones do, as a sentence, or None."""
    for bone in bones.pose:
        path = actions.path_of(bone, "")
        if reason := constrained(bone, rig):
            return reason
        if any(driven.startswith(path) for driven in rig.drivers):
            return f"{bone.name} has a driver"
        if path + "rotation_mode" in rig.curves or any(item.startswith(path) for item in rig.animated_constraints):
            return f"{bone.name} has an animated rotation mode or constraint"
    return _not_from_curves(armature, rig)


def _not_from_curves(armature, rig):
    """The same of the object: its own curves count where nothing moves what is above it."""
    if any(path.startswith((*PLACE, *SETTINGS)) for path in rig.drivers):
        return f"{armature.name} has a driver"
    if any(path.startswith(SETTINGS) for path in rig.curves):
        return f"{armature.name} has animated settings or delta transforms"
    above = armature
    while above is not None:
        if any(not constraint.mute for constraint in above.constraints):
            return f"{above.name} has a constraint"
        if above is not armature and above.animation_data is not None:
            return f"{above.name} may move {armature.name}"
        if above.parent is not None and above.parent_type != "OBJECT":
            return f"{above.name} hangs on a part of {above.parent.name}"
        above = above.parent
    return None


def _from_curves(armature, bones, rig, frames):
    """The bones in the space of their parents, and the object, by the numbers of their curves."""
    basis = np.tile(np.eye(4), (len(frames), len(bones), 1, 1))
    for n, bone in enumerate(bones.pose):
        basis[:, n] = _basis(rig.curves, bone, actions.path_of(bone, ""), frames)
        if bone.parent and bone.bone.use_connect:
            basis[:, n, :3, 3] = 0.0
    _check_size(bones.names, basis)
    return bones.hung(basis), _object(armature, rig, frames)


def _basis(curves, owner, path, frames):
    """The matrix that the channels of a bone or an object make."""
    mode = owner.rotation_mode
    name = actions.rotation_of(owner)
    turned, moved, scaled = (
        actions.numbers(curves, owner, path + part, part, frames) for part in (name, "location", "scale")
    )
    basis = np.tile(np.eye(4), (len(frames), 1, 1))
    basis[:, :3, :3] = bridge.rotations.to_matrix(rot.quaternions(mode, turned)) * scaled[:, np.newaxis, :]
    basis[:, :3, 3] = moved
    return basis


def _object(armature, rig, frames):
    """The object in the world, with its own curves under what holds it: its parent, if any."""
    world = np.array(armature.matrix_world)
    if not any(path in PLACE for path in rig.curves):
        return np.broadcast_to(world, (len(frames), 4, 4))
    held = world @ np.linalg.inv(np.array(armature.matrix_basis))
    return held @ _basis(rig.curves, armature, "", frames)


# --- to a clip -------------------------------------------------------------------------------------------------------


def _clip(context, armature, bones, frames, local, world):
    """The clip of bones in the space of their parents."""
    scale = scale_of(armature, world)
    skeleton = _skeleton(bones, world, scale)
    pose = _with_tips(bones, skeleton, *_parts(bones.names, _in_world(bones, local, world, scale)))
    step = float(frames[1] - frames[0]) if len(frames) > 1 else 1.0
    rate = stage.rate(context.scene) / step
    return bridge.library.Clip(skeleton, pose, rate, is_cycle(armature, frames), up="Z")


def _in_world(bones, local, world, scale):
    """Bones as joints of the world: roots with what the object does, all in lengths of the world."""
    roots, joints = bones.parents < 0, local.copy()
    joints[:, roots] = world[:, np.newaxis] @ joints[:, roots]
    joints[:, roots, :3, :3] /= scale
    joints[:, ~roots, :3, 3] *= scale
    return joints


def is_cycle(armature, frames):
    """Whether these frames are the whole of an action that its author marked as cyclic."""
    _, action, _ = actions.assigned(armature)
    if action is None or not (action.use_frame_range and action.use_cyclic):
        return False
    return [frames[0], frames[-1]] == [action.frame_start, action.frame_end]


def _skeleton(bones, world, scale):
    """Bones at rest where the object is on the first frame, and the tails of those without children."""
    rest = np.stack([hang.to_parent(bone) for bone in bones.rest])[np.newaxis]
    turned, offsets, _ = _parts(bones.names, _in_world(bones, rest, world[:1], scale))
    names = list(bones.names)
    for tip in bones.tips:
        names.append(_unused(f"{bones.names[tip]}_end", names))
    tails = [[0.0, bones.rest[tip].length * scale, 0.0] for tip in bones.tips]
    return bridge.library.Skeleton(
        np.concatenate([bones.parents, np.array(bones.tips, int)]),
        np.concatenate([offsets[0], np.reshape(tails, (-1, 3))]),
        np.concatenate([turned[0], np.tile([1.0, 0, 0, 0], (len(tails), 1))]),
        names,
    )


def _unused(name, names):
    return name if name not in names else next(new for n in range(2, 99999) if (new := f"{name}{n}") not in names)


def _with_tips(bones, skeleton, turned, moved, scaled):
    """The pose of the bones, with their tips at rest."""
    frames, tips = len(turned), len(bones.tips)
    ones = np.ones((frames, tips, 3))
    tails = np.broadcast_to(skeleton.offsets[len(bones) :], (frames, tips, 3))
    still = np.broadcast_to([1.0, 0, 0, 0], (frames, tips, 4))
    scales = None if np.abs(scaled - 1.0).max() <= UNSCALED else np.concatenate([scaled, ones], axis=1)
    rotations = np.concatenate([turned, still], axis=1)
    return bridge.library.Pose(rotations, np.concatenate([moved, tails], axis=1), scales)


def _parts(names, matrices):
    """Rotations, translations and scales of (frames, bones, 4, 4) matrices, if that is what they consist of."""
    axes = matrices[..., :3, :3]
    scales = np.linalg.norm(axes, axis=-2)
    axes = axes / scales[..., np.newaxis, :]
    shear = np.abs(np.swapaxes(axes, -1, -2) @ axes - np.eye(3)).max(axis=(0, -2, -1))
    if (shear > rot.UNEVEN).any():
        raise CannotBakeError(
            f"{names[int(np.argmax(shear))]} is sheared by a scale above it that is not the same in all directions: "
            "even that scale out, or set Inherit Scale of the bone to Full"
        )
    turned = bridge.rotations.from_matrix(axes)
    return bridge.rotations.continuous(turned), matrices[..., :3, 3], scales


def _check_size(names, matrices):
    """Refuse what has no inverse or mirrors."""
    flat = np.linalg.det(matrices[..., :3, :3]) < 1e-20
    if flat.any():
        raise CannotBakeError(f"{names[int(np.argmax(flat.any(axis=0)))]} has a zero or negative scale on some frame")


def scale_of(armature, world):
    """Of the object on the first frame, if it has one that turning does not change."""
    lengths = np.linalg.norm(world[:, :3, :3], axis=-2)
    axes = world[:, :3, :3] / np.where(lengths > 0.0, lengths, 1.0)[:, np.newaxis, :]
    uneven = np.ptp(lengths, axis=-1) > rot.UNEVEN * lengths.mean(axis=-1)
    sheared = np.abs(np.swapaxes(axes, -1, -2) @ axes - np.eye(3)).max(axis=(-2, -1)) > rot.UNEVEN
    if (uneven | sheared | ~(np.linalg.det(axes) > 0)).any():
        raise CannotBakeError(
            f"{armature.name} has a scale that is uneven, negative or zero: apply it (Object > Apply > Scale)"
        )
    return float(lengths[0, 0])
