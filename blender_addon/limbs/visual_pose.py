# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake As Shown: the pose displayed by Blender's own solver becomes keys, for any chain and constraints.

Chain bones whose displayed pose differs from their channels get rotation keys. They also get location and scale keys if
these differ, as when IK stretches bones. The keys include the effect of everything else that moves these bones, so all
their constraints are muted, not only IK.
"""

from dataclasses import dataclass, field

import bpy
import numpy as np

from ..animation import actions, scene_frames
from ..animation.key_reduction import TIP
from ..feet.foot_report import deviation
from ..rig import inheritance
from ..rig import rotations as rot
from ..rig.armatures import CannotBakeError, Rig, not_writable
from ..rig.joints import Parts
from .effect_check import COMPARED, besides_keys
from .two_bone_bake import Counts, PreparedBake

SEEN = 0.8  # progress after all frames are read
# Tolerances, from single-precision rounding along a chain. TURNED: of a quaternion. MOVED: of a location, relative to
# the distance from the origin. SCALED: of a scale, because Blender's solver makes bones 2e-5 thicker.
TURNED, MOVED, SCALED = 5e-6, 3e-6, 5e-5
# Report thresholds: of a position, relative to the length of the chain's bones; of a direction, in radians.
FAR, ASKEW = 1e-4, np.radians(0.05)


@dataclass
class Report(Counts):
    """Results of the bake of an armature."""

    stretched: list[str]  # bones whose scale has keys
    muted: list[str]  # other constraints whose effect is in the keys
    idle: list[str]  # IK that moved nothing
    problems: list = field(default_factory=list)  # (frame, sentence) about bones not displayed as before
    keys: str = ""  # their number, if not one on every frame

    def has_problems(self):
        """True if there is something to look at."""
        return bool(self.idle or self.problems)

    def sentence(self):
        """The report in one line."""
        text = f"Baked {self.what}, {_many(self.bones, 'bone')}, {_many(self.frames, 'frame')}{self.keys} as displayed"
        if self.stretched:
            text += f"; scale is keyed for stretched bones: {', '.join(self.stretched)}"
        if self.muted:
            text += f"; also baked and muted: {', '.join(self.muted)}"
        if self.idle:
            text += f"; nothing is moved by {', '.join(self.idle)}"
        return "; ".join([text, *(sentence for _, sentence in self.problems)])


def _many(count, what):
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def prepare(context, limbs, frames):
    """Prepare the bake of these limbs: a generator that yields progress and returns a `PreparedBake`."""
    armatures = list({limb.object.name: limb.object for limb in limbs}.values())
    chains = [_Chains(armature, [limb for limb in limbs if limb.object == armature], frames) for armature in armatures]
    yield from scene_frames.run_part(_look(context, chains, frames), 0.0, SEEN)
    for number, each in enumerate(chains):
        yield from scene_frames.run_part(
            each.compute_channels(), *(SEEN + (1 - SEEN) * (number + n) / len(chains) for n in (0, 1))
        )

    def reports(slack):
        return [each.report(context, frames, slack) for each in chains]

    work = [(each.armature, each.channels) for each in chains if each.channels]
    muted = [(each.armature, *name) for each in chains for name in each.constraints]
    return PreparedBake(work, muted, lambda: {each.armature.name: each.poses() for each in chains}, reports)


def _look(context, chains, frames):
    def look(depsgraph, number):
        for each in chains:
            each.read(depsgraph, number)

    return scene_frames.visit(context, frames, look)


class _Chains:
    """The bones moved by some IK of an armature, parents first, with displayed poses and keys."""

    def __init__(self, armature, limbs, frames):
        bones = armature.pose.bones
        names = {name for limb in limbs for name in limb.chain}
        self.armature, self.limbs, self.frames = armature, limbs, frames
        self.names = sorted(names, key=lambda name: (len(bones[name].parent_recursive), name))
        self.rows = [bones.find(name) for name in self.names]
        above = [bones[name].parent for name in self.names]
        self.hung = [n for n, parent in enumerate(above) if parent]
        self.above = [bones.find(parent.name) for parent in above if parent]
        self.inside = [self.names.index(parent.name) if parent and parent.name in names else None for parent in above]
        self.constraints = _replaced_constraints(limbs, [bones[name] for name in self.names])
        self.flat = np.empty(16 * len(bones), np.float32)
        self.shown, self.said = np.empty((2, len(frames), len(names), 4, 4), np.float32)
        self.parents = np.tile(np.eye(4, dtype=np.float32), (len(frames), len(names), 1, 1))
        self.channels, self.made, self.off, self.stretched, self.moving = [], {}, [], [], set()

    def read(self, depsgraph, number):
        """Read the bones in this frame, and their channel values."""
        bones = self.armature.evaluated_get(depsgraph).pose.bones
        shown = self._matrices(bones, "matrix")
        self.shown[number], self.parents[number, self.hung] = shown[self.rows], shown[self.above]
        self.said[number] = self._matrices(bones, "matrix_basis")[self.rows]
        if number == 0:
            own = [self.armature.pose.bones[name] for name in self.names]
            self.start = [np.array(getattr(bone, actions.rotation_of(bone))) for bone in own]

    def _matrices(self, bones, name):
        bones.foreach_get(name, self.flat)
        return scene_frames.matrices(self.flat)

    def compute_channels(self):
        """Compute the channels of all bones: a generator that yields progress."""
        rig = Rig(self.armature)
        for n, name in enumerate(self.names):
            bone = self.armature.pose.bones[name]
            parents, shown = self.parents[:, n].astype(float), self.shown[:, n].astype(float)
            self._check_scale(name, parents, shown)
            wanted = inheritance.channel_matrices(bone.bone, parents, shown)
            self._check_scale(name, wanted)
            held = self._changed_channels(n, bone, rig, Parts.of(wanted))
            above = parents if self.inside[n] is None else self.made[self.inside[n]]
            self.made[n] = inheritance.pose_matrices(bone.bone, above, held.matrices())
            self.off.append(self._off(name, self.made[n], shown, self.frames, "keys cannot store it"))
            yield (n + 1) / len(self.names)

    def poses(self):
        """The resulting poses of bones, and those of their parents, as in `PreparedBake`."""
        above = [self.parents[:, n].astype(float) if at is None else self.made[at] for n, at in enumerate(self.inside)]
        return {name: (self.made[n], above[n]) for n, name in enumerate(self.names)}

    def _changed_channels(self, n, bone, rig, parts):
        """The new channels of a bone, where its values change."""
        said, start = self.said[:, n].astype(float), self.start[n]
        was, mirrored = Parts.of(said), (rot.volumes(said) < 0.0).any()  # mirroring, which parts cannot represent
        out = MOVED * max(bone.bone.length, np.abs(self.shown[:, n, :3, 3]).max())
        connected = bone.parent is not None and bone.bone.use_connect
        if connected:
            parts.moved[:] = 0.0
        turns = np.minimum(np.abs(parts.turned - was.turned), np.abs(parts.turned + was.turned)).max(axis=-1)
        for kind, differs, values in (
            (
                "rotation",
                mirrored or turns.max() > TURNED,
                lambda: rot.numbers(bone.rotation_mode, parts.turned, start),
            ),
            ("location", not connected and np.abs(parts.moved - was.moved).max() > out, lambda: parts.moved),
            ("scale", mirrored or np.abs(parts.scaled / was.scaled - 1).max() > SCALED, lambda: parts.scaled),
        ):
            if differs:
                if reason := unwritable(bone, rig, kind):
                    raise CannotBakeError(reason)
                self.channels += actions.channels(bone, kind, values())
                self.moving.add(bone.name)
                if kind == "scale":
                    self.stretched.append(bone.name)
        return parts

    def _check_scale(self, name, *matrices):
        """Refuse matrices without inverse or with mirroring."""
        for each in matrices:
            if not np.isfinite(each).all():
                raise CannotBakeError(f"{name} is not displayed on some frame: its IK has no solution there")
        if (rot.volumes(matrices[0]) < 1e-20).any():
            raise CannotBakeError(f"{name} has a zero or negative scale, or a parent with one, on some frame")

    def _off(self, name, made, shown, frames, why, slack=0.0):
        """Deviation of a bone from its displayed pose relative to the report threshold; its frame; and a sentence."""
        size, span = self.armature.data.bones[name].length, self._span()
        askew = np.linalg.norm(rot.axes(made) - rot.axes(shown), axis=-2).max(axis=-1)
        head = (made - shown)[:, :3, 3]
        tail = head + size * (made - shown)[:, :3, 1]
        far = np.linalg.norm([head, tail], axis=-1).max(axis=0)
        slack /= self.armature.matrix_world.median_scale
        times = np.maximum((askew - slack / (TIP * span)) / ASKEW, (far - slack) / (FAR * span))
        worst = np.argmax(times)
        where = deviation(far[worst] * self.armature.matrix_world.median_scale, askew[worst])
        return times[worst], int(frames[worst]), f"{name}: {where} off at frame {frames[worst]}, because {why}"

    def _span(self):
        """Total length of all bones."""
        return sum(self.armature.data.bones[name].length for name in self.names)

    def report(self, context, frames, slack):
        """The report, when all is written."""
        own = {(limb.owner, limb.constraint) for limb in self.limbs}
        return Report(
            self.armature.name,
            self._what(),
            len(self.moving),
            len(frames),
            self.stretched,
            [f"{name} of {bone}" for bone, name in self.constraints if (bone, name) not in own],
            [f"{limb.constraint} of {limb.owner}" for limb in self.limbs if not self.moving & set(limb.chain)],
            _worst(self.off) or _worst(self._away(context, slack)),
        )

    def _what(self):
        """The number of constraints, IK or others."""
        if any(limb.ik.type != "IK" for limb in self.limbs):
            return _many(len(self.limbs), "constraint")
        return f"{len(self.limbs)} IK"

    def _away(self, context, slack):
        """Deviations of bones from their former displayed poses, checked on some frames."""
        some = np.unique(np.linspace(0, len(self.frames) - 1, COMPARED).astype(int))
        was = self.shown[some].astype(float)
        scene_frames.run(_look(context, [self], self.frames[some]))
        seen, why = self.shown[: len(some)].astype(float), besides_keys(self.armature, self.names)
        frames = self.frames[some]
        return [self._off(name, seen[:, n], was[:, n], frames, why, slack) for n, name in enumerate(self.names)]


def _worst(off):
    """The message about the bone with the largest deviation, and its frame, if above the threshold."""
    times, *told = max(off, key=lambda each: each[0])
    return [] if times <= 1.0 else [tuple(told)]


def _replaced_constraints(limbs, bones):
    """The constraints that keys replace, as (bone, constraint): those of these limbs, and all others of their bones."""
    own = [(limb.owner, limb.constraint) for limb in limbs]
    others = [(bone.name, each.name) for bone in bones for each in bone.constraints if not each.mute]
    return list(dict.fromkeys([*own, *others]))


def unwritable(bone, rig, kind):
    """The reason why keys on a bone's rotation, location or scale would not play as written, or None."""
    reason = not_writable(bone, rig, kind)
    path = actions.rotation_path(bone) if kind == "rotation" else actions.path_of(bone, kind)
    # the modifier would apply to the baked keys again
    if reason is None and any(actions.has_modifier(curve) for curve in rig.curves.get(path, ())):
        reason = f"{bone.name} has a modifier on its {kind} curve: apply or remove it first"
    return reason


def switches(armature, bone, constraint):
    """The drivers that enable and disable a constraint."""
    drivers = armature.animation_data.drivers if armature.animation_data else ()
    return [driver for driver in drivers if driver.data_path in switch_paths(armature.pose.bones[bone], constraint)]


def switch_paths(bone, constraint):
    """The data paths that enable and disable a bone's constraint."""
    path = f'{actions.path_of(bone, "constraints")}["{bpy.utils.escape_identifier(constraint)}"]'
    return [f"{path}.{name}" for name in ("mute", "enabled")]
