# SPDX-License-Identifier: GPL-3.0-or-later
"""An armature and its action as a clip in world space.

Joints are bones, with their names and axes. If no skin shows where a body ends, the tails of bones without children are
joints too, such as "toe_end": motion files have them, while importers of characters invent them. The object is no
joint: its motion is in the roots, and its scale in the offsets, so that lengths are those of the world.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from mathutils import Matrix

from .. import bridge
from ..rig import rotations as rot
from ..rig.armatures import CannotBakeError, Rig, constraint_problem, evaluation_problem, playback_problem
from ..rig.joints import Bones, Parts, pieces
from . import actions, cycles, scene_frames
from .fcurves import AGREES, PLACE, SETTINGS, bases
from .fcurves import basis as basis_of

# Largest deviation of a scale from 1 that counts as rounding. Blender's rest matrices of bones along -Y, such as the
# spine of a quadruped, deviate by 2.4e-5.
UNSCALED = 1e-4
UPRIGHT = 1.0 - 1e-9  # cosine of a tilt of an object that is rounding


@dataclass
class Reading:
    """The motion of an armature on some frames. It has no reference into the file, so it may be kept through undo."""

    clip: Any  # ikcore.Clip
    frames: np.ndarray  # of the action, those of keys
    world: np.ndarray  # (frames, 4, 4): the object; one frame if it is static
    bones: list  # the names of the joints that are bones, in order
    through_scene: str | None  # why the scene had to be evaluated on every frame; None if curves sufficed
    basis: object = None  # channel values, from curves or of one frame: Parts
    copies: dict | None = None  # bones identical to others, whose children are attached to those instead
    rounds: bool = False  # True if it is marked as cyclic, or if curves repeat with this length

    @cached_property
    def scale(self):
        """World units per unit of the armature, on the first frame."""
        return float(np.linalg.norm(self.world[0, :3, 0]))

    @property
    def loop_problem(self):
        """The reason why a repeating action is no loop, as a sentence, or None."""
        joint = cycles.open_joint(self.clip.skeleton, self.clip.pose) if self.rounds and not self.clip.loop else None
        return joint and (
            f"The animation is cyclic, but {joint} differs between frame {self.frames[0]} and frame {self.frames[-1]}: "
            "feet may slide and jump there. Give both frames the same keys"
        )

    def locals(self, clip):
        """The bones of another clip of this skeleton, in the space of their parents or the armature.

        A generator that yields progress, and returns Parts.
        """
        count, pose, back = len(self.bones), clip.pose, rot.inverse(self.world)
        local, parents = Parts.room(len(clip), count), clip.skeleton.parents[:count]
        moved = clip.skeleton.offsets[np.newaxis] if pose.translations is None else pose.translations
        for some, share in pieces(range(count), len(clip)):
            turned = bridge.rotations.normalize(pose.rotations[:, some])
            scaled = np.ones(3) if pose.scales is None else pose.scales[:, some]
            local.replace(some, Parts(turned, moved[:, some] / self.scale, scaled))
            yield 0.9 * share
        roots = np.flatnonzero(parents < 0)
        local.moved[:, roots] = moved[:, roots]
        local.scaled[:, roots] *= self.scale
        local.replace(roots, Parts.of(back[:, np.newaxis] @ local[roots].matrices()))
        yield 1.0
        return local


def skeleton(armature, bones=None, stretched=(), copies=None):
    """Bones at rest, as `read` has them, in an object at the origin that stands upright and faces as modelled.

    The axis of the object that is nearest to the vertical is made vertical, so that a tilted object does not matter.
    """
    world = np.array(armature.matrix_world)
    axes, turned = rot.axes(world), np.eye(4)
    axis = int(np.abs(axes[2]).argmax())
    up = np.sign(axes[2, axis]) * axes[:, axis]
    tilt = bridge.rotations.shortest_arc(up, [0.0, 0.0, 1.0] if up[2] < UPRIGHT else up)
    turned[:3, :3] = bridge.rotations.to_matrix(tilt) @ world[:3, :3]
    turn = Matrix.Rotation(-Matrix(turned.tolist()).to_euler("XYZ").z, 4, "Z")
    chosen = Bones(armature, bones, stretched, copies)
    return _skeleton(chosen, (np.array(turn) @ turned)[np.newaxis], scale_of(armature, world[np.newaxis]))


def bones_of(armature, feet):
    """The names of the bones of legs, and of the poles of their knees; for free feet, of all bones."""
    if any(leg.free for leg in feet):  # their leg length is estimated from the whole body
        return set(armature.pose.bones.keys())
    joints = {joint for leg in feet for joint in (*leg.chain, leg.pole or leg.hip)}
    return joints & set(armature.pose.bones.keys())


def read(context, armature, frames, bones=None, stretched=(), copies=None):
    """Read an armature on evenly spaced frames of its action: a generator that yields progress.

    Returns a Reading of these bones and their ancestors, by default of all bones. Curves are read if nothing else moves
    the bones, which a few frames of the scene must confirm. Otherwise the scene is evaluated on every frame. Bones that
    may be `stretched` along themselves are not scaled: the next bone is moved instead. `copies` are as in Bones.
    """
    rig, chosen = Rig(armature), Bones(armature, bones, stretched, copies)
    if reason := playback_problem(armature):
        raise CannotBakeError(reason)
    with scene_frames.restore_after(context, [armature], poses=True):
        if reason := evaluation_problem(context, armature, bones or ()):
            raise CannotBakeError(reason)
        reason = not_from_curves(armature, chosen, rig)
        rounds = cycles.is_marked(armature, frames) or cycles.repeats(rig, chosen.pose, frames)
        if reason is None:
            basis, local, world = yield from scene_frames.run_part(
                _from_curves(armature, chosen, rig, frames), 0.0, 0.8
            )
            few = np.unique(np.linspace(0, len(frames) - 1, 3).astype(int))
            shown = yield from scene_frames.run_part(
                _displayed_matrices(context, armature, chosen, frames[few]), 0.8, 0.9
            )
            if _agree(chosen, local.at(few), world[few] if len(world) > 1 else world, *shown):
                steps = _clip(context, armature, chosen, frames, local, world, rounds)
                clip = yield from scene_frames.run_part(steps, 0.9, 1.0)
                return Reading(clip, frames, world, chosen.names, None, basis, copies, rounds)
            reason = f"something other than its curves moves {armature.name}"
        poses, world = yield from scene_frames.run_part(
            _displayed_matrices(context, armature, chosen, frames), 0.0, 0.8
        )
        local = yield from scene_frames.run_part(chosen.locals(poses), 0.8, 0.9)
        steps = _clip(context, armature, chosen, frames, local, world, rounds)
        clip = yield from scene_frames.run_part(steps, 0.9, 1.0)
        return Reading(clip, frames, world, chosen.names, reason, copies=copies, rounds=rounds)


def now(context, depsgraph, armature, bones=None, stretched=(), copies=None):
    """The present evaluated pose, a Reading of one frame, with bones as in `read`."""
    chosen, number = Bones(armature, bones, stretched, copies), np.array([context.scene.frame_current])
    seen, world = _frame_matrices(depsgraph, armature, chosen)
    check_size(chosen.names, rot.volumes(seen[np.newaxis]))
    local = scene_frames.run(chosen.locals(seen[np.newaxis].astype(float)))
    found = scene_frames.run(read_bones(context, armature, chosen, number, local, world[np.newaxis]))
    local = scene_frames.run(found.locals(found.clip))
    found.copies, found.basis = copies, scene_frames.run(chosen.channel_values(local, range(len(chosen))))
    return found


def read_bones(context, armature, bones, frames, local, world):
    """A Reading of bones in the space of their parents: a generator that yields progress."""
    clip = yield from _clip(context, armature, bones, frames, local, world)
    return Reading(clip, frames, world, bones.names, None)


def _agree(bones, local, world, poses, shown_world):
    """True if bones, given in the space of their parents, and the object are where they are displayed."""
    here, there = world[:, np.newaxis] @ scene_frames.run(bones.poses(local)), shown_world[:, np.newaxis] @ poses
    lengths, apart = np.linalg.norm(there[..., :3, :3], axis=-2, keepdims=True), np.abs(here - there)
    size = max(np.ptp(there[0, :, :3, 3], axis=0).max(), max(bone.length for bone in bones.rest) * lengths.max())
    return bool(apart[..., :3, 3].max() <= AGREES * size and (apart[..., :3, :3] <= AGREES * lengths).all())


# --- through the scene -----------------------------------------------------------------------------------------------


def _displayed_matrices(context, armature, bones, frames):
    """The bones in armature space, and the object, as matrices: exactly as Blender evaluates them."""
    poses, world = np.empty((len(frames), len(bones), 4, 4)), np.empty((len(frames), 4, 4))

    def look(depsgraph, f):
        poses[f], world[f] = _frame_matrices(depsgraph, armature, bones)

    yield from scene_frames.visit(context, frames, look)
    check_size(bones.names, rot.volumes(poses))
    return poses, world


def _frame_matrices(depsgraph, armature, bones):
    """The bones in armature space, and the object, of one frame."""
    evaluated = armature.evaluated_get(depsgraph)
    flat = np.empty(16 * len(armature.pose.bones), np.float32)
    evaluated.pose.bones.foreach_get("matrix", flat)
    poses = scene_frames.matrices(flat)[bones.rows]
    if bones.stretched:
        axes = poses[bones.stretched, :3, :3]
        lengths = np.linalg.norm(axes, axis=-2, keepdims=True)
        poses[bones.stretched, :3, :3] = axes / lengths * np.median(lengths, axis=-1, keepdims=True)
    return poses, np.array(evaluated.matrix_world)


# --- from curves -----------------------------------------------------------------------------------------------------


def not_from_curves(armature, bones, rig):
    """The reason why curves do not determine the motion of these bones, as a sentence, or None."""
    for bone in bones.pose:
        path = actions.path_of(bone, "")
        if reason := constraint_problem(bone, rig):
            return reason
        if any(driven.startswith(path) for driven in rig.drivers):
            return f"{bone.name} has a driver"
        if path + "rotation_mode" in rig.curves or any(item.startswith(path) for item in rig.animated_constraints):
            return f"{bone.name} has an animated rotation mode or constraint"
    return _not_from_curves(armature, rig)


def _not_from_curves(armature, rig):
    """The same for the object: its own curves count if nothing moves its parents."""
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
            return f"{above.name} is parented to a part of {above.parent.name}"
        above = above.parent
    return None


def _from_curves(armature, bones, rig, frames):
    """The values of curves: Parts of channels, Parts of bones in the space of their parents, and the object."""
    basis = yield from scene_frames.run_part(bases(rig.curves, bones.pose, frames), 0.0, 0.8)
    check_size(bones.names, basis.volumes())
    local = yield from scene_frames.run_part(bones.hung(basis), 0.8, 1.0)
    return basis, local, _object(armature, rig, frames)


def _object(armature, rig, frames):
    """The object in the world, from its own curves and its parent, if any."""
    world = np.array(armature.matrix_world)
    if not any(path in PLACE for path in rig.curves):
        return world[np.newaxis]
    held = world @ rot.inverse(np.array(armature.matrix_basis))
    return held @ basis_of(rig.curves, armature, "", frames).matrices()


# --- to a clip -------------------------------------------------------------------------------------------------------


def _clip(context, armature, bones, frames, local, world, rounds=False):
    """The clip of bones given in the space of their parents; a loop if it repeats and can be one."""
    scale = scale_of(armature, world)
    skeleton = _skeleton(bones, world, scale)
    joints = yield from _in_world(bones, local, world, scale)
    scales = None if np.abs(joints.scaled - 1.0).max() <= UNSCALED else joints.scaled
    pose = bridge.library.Pose(joints.turned, joints.moved, scales)
    step = float(frames[1] - frames[0]) if len(frames) > 1 else 1.0
    rate = scene_frames.rate(context.scene) / step
    loop = rounds and cycles.open_joint(skeleton, pose) is None
    return bridge.library.Clip(skeleton, pose, rate, loop, up="Z")


def _in_world(bones, local, world, scale):
    """Bones and tips as joints in the world: roots include the object's motion, lengths are in world units."""
    joints = Parts.room(len(local), len(bones) + len(bones.tips))
    for some, share in pieces(range(len(bones)), len(local)):
        joints.replace(some, local[some])
        joints.moved[:, some] *= scale
        yield 0.9 * share
    roots = np.flatnonzero(bones.parents < 0)
    placed = world[:, np.newaxis] @ local[roots].matrices()
    placed[..., :3, :3] /= scale
    joints.replace(roots, bones.parts_without_shear(placed, roots))
    tails = [[0.0, bones.rest[tip].length * scale, 0.0] for tip in bones.tips]
    joints.replace(slice(len(bones), None), Parts(np.array([1.0, 0, 0, 0]), np.reshape(tails, (-1, 3)), np.ones(3)))
    yield 1.0
    return joints


def _skeleton(bones, world, scale):
    """Bones at rest with the object of the first frame, and the tails of bones without children."""
    rest = scene_frames.run(_in_world(bones, bones.at_rest, world[:1], scale))
    names = list(bones.names)
    for tip in bones.tips:
        names.append(_free_name(f"{bones.names[tip]}_end", names))
    parents = np.concatenate([bones.parents, np.array(bones.tips, int)])
    return bridge.library.Skeleton(parents, rest.moved[0], rest.turned[0], names)


def _free_name(name, names):
    return name if name not in names else next(new for n in range(2, 99999) if (new := f"{name}{n}") not in names)


def check_size(names, sizes):
    """Refuse transforms without inverse or with mirroring, given their volume factors (frames, bones)."""
    flat = sizes < 1e-20
    if flat.any():
        raise CannotBakeError(f"{names[int(np.argmax(flat.any(axis=0)))]} has a zero or negative scale on some frame")


def scale_of(armature, world):
    """The uniform scale of the object on the first frame, if it has one."""
    lengths = np.linalg.norm(world[:, :3, :3], axis=-2)
    axes = world[:, :3, :3] / np.where(lengths > 0.0, lengths, 1.0)[:, np.newaxis, :]
    uneven = np.ptp(lengths, axis=-1) > rot.UNEVEN * lengths.mean(axis=-1)
    sheared = np.abs(np.swapaxes(axes, -1, -2) @ axes - np.eye(3)).max(axis=(-2, -1)) > rot.UNEVEN
    if (uneven | sheared | ~(rot.volumes(axes) > 0)).any():
        raise CannotBakeError(
            f"{armature.name} has a scale that is uneven, negative or zero: apply it (Object > Apply > Scale)"
        )
    return float(lengths[0, 0])
