# SPDX-License-Identifier: GPL-3.0-or-later
"""Solved anew by a method of the library: all chains of an armature, however long, as one problem.

It starts from what the channels say without IK, and goes from frame to frame, so that nothing flips. What bones may do
is what Blender's own solver lets them; an influence below 1 puts the goal between there and the target, as there.
"""

import dataclasses
from dataclasses import dataclass, field

import numpy as np

from . import actions, bent, bridge, clips, hang, stage
from . import rotations as rot
from .anew import Found
from .background import in_thread
from .curves import Reader
from .effect import COMPARED, besides_keys
from .ik_limits import Freedom
from .joints import Bones, Parts
from .report import length, off
from .sample import same, unread
from .solve import STRAIGHT

SEEN, SOLVED = 0.6, 0.9  # the shares that are done when all frames were seen, and solved
TURNED = 5e-6  # what is no change of a rotation, in quaternions
NEAR = 1e-3  # of the length of all chains: what is farther from where it was put is told of


@dataclass
class Report:
    """How the bake of an armature went."""

    armature: str
    count: int  # of constraints
    bones: int  # those that got keys
    frames: int
    missed: list[str]  # sentences about targets that are not reached
    away: list[str] = field(default_factory=list)  # and about bones that are not seen where they were put

    def troubled(self):
        """Whether there is something to look at."""
        return bool(self.missed or self.away or not self.bones)

    def sentence(self):
        """The report in one line."""
        bones = "1 bone" if self.bones == 1 else f"{self.bones} bones"
        text = f"Baked {self.count} IK, {bones}, {self.frames} frames, solved anew"
        if not self.bones:
            text += "; nothing has changed: bones are on their targets without IK"
        return "; ".join([text, *self.missed, *self.away])


def found(context, limbs, frames, method):
    """What to write of these limbs: a generator that yields the share that is done, and returns what was Found."""
    armatures = list({limb.object.name: limb.object for limb in limbs}.values())
    all_chains = _of_armatures(armatures, limbs, frames)
    if not (yield from stage.between(_by_curves(context, all_chains, limbs, frames), 0.0, SEEN)):
        yield from stage.between(_by_scene(context, all_chains, frames), 0.0, SEEN)
    work = []
    for number, chains in enumerate(all_chains):
        ends = (SEEN + (1 - SEEN) * (number + n) / len(all_chains) for n in (0, 1))
        work.append((chains.armature, (yield from stage.between(chains.solved(context, method), *ends))))

    def reports():
        return [chains.report(context) for chains in all_chains]

    return Found(
        [each for each in work if each[1]], [(limb.object, limb.owner, limb.constraint) for limb in limbs], reports
    )


def _of_armatures(armatures, limbs, frames):
    return [_Chains(armature, [limb for limb in limbs if limb.object == armature], frames) for armature in armatures]


def _by_scene(context, all_chains, frames):
    """Read all chains as Blender evaluates the scene."""

    def look(depsgraph, number):
        for chains in all_chains:
            chains.read(depsgraph, number)

    yield from stage.visit(context, frames, look)
    for chains in all_chains:
        chains.free = chains.without_ik()


def _by_curves(context, all_chains, limbs, frames):
    """Read all chains by curves alone; whether these say it all, which a few frames of the scene must confirm."""
    reader = Reader(frames)
    if any(unread(reader, limb) for limb in limbs):
        return False
    for number, chains in enumerate(all_chains):
        steps = chains.read_curves(reader)
        yield from stage.between(steps, *(0.9 * (number + n) / len(all_chains) for n in (0, 1)))
    few = np.unique(np.linspace(0, len(frames) - 1, COMPARED).astype(int))
    seen = _of_armatures([chains.armature for chains in all_chains], limbs, frames[few])
    yield from stage.between(_by_scene(context, seen, frames[few]), 0.9, 1.0)
    pairs = zip(all_chains, seen, strict=True)
    return all(same(a[few], b) for one, two in pairs for a, b in zip(one.all(), two.all(), strict=True))


class _Chains:
    """The chains of an armature over some frames."""

    def __init__(self, armature, limbs, frames):
        self.armature, self.limbs, self.frames = armature, limbs, frames
        self.names = sorted({name for limb in limbs for name in limb.chain})
        bones = Bones(armature, self.names)
        self.rows = bones.rows
        count = len(frames), len(bones)
        self.shown, self.said = np.empty((2, *count, 4, 4))
        self.world, self.places = np.empty((len(frames), 4, 4)), np.empty((len(frames), len(limbs), 4, 4))
        self.influence, self.angles = np.empty((2, len(frames), len(limbs)))
        self.poles = np.zeros((len(frames), len(limbs), 3))
        self.free = None  # where bones are without IK, in armature space
        self.missed, self.moved = [], 0

    def read(self, depsgraph, number):
        """What this frame shows."""
        shown = self.armature.evaluated_get(depsgraph)
        self.world[number] = shown.matrix_world
        self.shown[number], self.said[number] = (self._matrices(shown, name) for name in ("matrix", "matrix_basis"))
        for n, limb in enumerate(self.limbs):
            ik = shown.pose.bones[limb.owner].constraints[limb.constraint]
            self.places[number, n] = stage.placed(limb.ik.target, limb.ik.subtarget, depsgraph)
            self.influence[number, n], self.angles[number, n] = ik.influence, ik.pole_angle
            if limb.ik.pole_target:
                pole = stage.placed(limb.ik.pole_target, limb.ik.pole_subtarget, depsgraph)
                self.poles[number, n] = pole.translation

    def read_curves(self, reader):
        """What curves say: a generator that yields the share that is done."""
        self.world[:], self.free = reader.world(self.armature), np.empty_like(self.said)
        names = Bones(self.armature, self.names).names
        for n, name in enumerate(names):
            self.said[:, n] = reader.basis(self.armature, name)
            self.free[:, n] = reader.pose(self.armature, name)
            yield (n + 1) / len(names)
        for n, limb in enumerate(self.limbs):
            ik = limb.ik
            self.places[:, n] = reader.place(ik.target, ik.subtarget)
            for name, values in (("influence", self.influence), ("pole_angle", self.angles)):
                values[:, n] = reader.setting(self.armature, limb.owner, limb.constraint, name)
            if ik.pole_target:
                self.poles[:, n] = reader.place(ik.pole_target, ik.pole_subtarget)[:, :3, 3]

    def all(self):
        """All that is read."""
        return self.free, self.said, self.world, self.places, self.influence, self.angles, self.poles

    def _matrices(self, shown, name):
        flat = np.empty(16 * len(shown.pose.bones), np.float32)
        shown.pose.bones.foreach_get(name, flat)
        return flat.reshape(-1, 4, 4)[self.rows].transpose(0, 2, 1)  # Blender hands out columns

    def without_ik(self):
        """Where bones are without IK, in armature space: what is no link of a chain goes with what it hangs on."""
        bones = Bones(self.armature, self.names)
        poses = np.empty_like(self.shown)
        for n, (name, parent) in enumerate(zip(bones.names, bones.parents, strict=True)):
            if name in self.names:
                poses[:, n] = hang.posed(bones.rest[n], poses[:, parent], self.said[:, n])  # a root looks at no parent
            elif parent < 0:
                poses[:, n] = self.shown[:, n]
            else:
                poses[:, n] = poses[:, parent] @ np.linalg.inv(self.shown[:, parent]) @ self.shown[:, n]
        return poses

    def solved(self, context, method):
        """The channels to write: a generator that yields the share that is done."""
        bones = Bones(self.armature, self.names)
        local = yield from stage.between(bones.locals(self.free), 0.0, 0.3)
        reading = yield from stage.between(
            clips.reading(context, self.armature, bones, self.frames, local, self.world), 0.3, 0.4
        )
        freedoms = {name: Freedom.of(self.armature.pose.bones[name]) for name in self.names}
        goals = self._goals(reading.clip)
        clip, errors = yield from stage.between(
            in_thread(lambda _: bent.solved(reading.clip, goals, freedoms, method, sequence=True)), 0.4, SOLVED
        )
        self._note(reading.clip, errors)
        clip = self._blended(reading.clip, clip)
        self.put = yield from stage.between(reading.locals(clip), SOLVED, 0.95)
        numbers = [bones.names.index(name) for name in self.names]
        basis = yield from stage.between(bones.based(self.put, numbers), 0.95, 1.0)
        return [channel for row, n in enumerate(numbers) for channel in self._channels(bones.pose[n], n, basis[row])]

    def _goals(self, clip):
        """What constraints ask for, in the world; between there and where bones are without IK by their influence."""
        quat, world = bridge.rotations, clip.skeleton.forward(clip.pose)
        goals = []
        for n, limb in enumerate(self.limbs):
            tip, ik = self.armature.pose.bones[limb.chain[-1]], limb.ik
            joint = clip.skeleton.names.index(tip.name)
            offset = (0.0, tip.bone.length * clips.scale_of(self.armature, self.world), 0.0)
            share = np.ones((len(self.frames), 1)) if ik.pole_target else self.influence[:, [n]]  # see `_blended`
            free = world.positions[:, joint] + quat.rotate(world.rotations[:, joint], np.array(offset))
            wanted = (1 - share) * free + share * self.places[:, n, :3, 3]
            turned = quat.slerp(world.rotations[:, joint], Parts.of(self.places[:, n]).turned, share[:, 0])
            goals.append(
                bridge.library.Reach(
                    tip.name,
                    wanted,
                    turned if ik.use_rotation else None,
                    weight=ik.weight,
                    rotation_weight=ik.orient_weight,
                    offset=offset,
                    chain=limb.chain[0],
                    pole=self._pole(n, clip.skeleton, world, free, wanted) if ik.pole_target else None,
                )
            )
        return goals

    def _pole(self, n, skeleton, world, end, goal):
        """What a chain bends towards: the pole, turned about the line to the goal as Blender's pole angle has it.

        There it is an axis of the first bone that the pole is beside, and how the chain bends beside that stays.
        """
        joints = [skeleton.names.index(name) for name in self.limbs[n].chain]
        base = world.positions[:, joints[0]]
        along = rot.unit(end - base)[0]
        way = np.stack([np.cos(self.angles[:, n]), np.zeros(len(end)), np.sin(self.angles[:, n])], axis=-1)
        up = rot.across(bridge.rotations.rotate(world.rotations[:, joints[0]], way), along)
        bends = rot.across((world.positions[:, joints[1:]] - base[:, np.newaxis]).sum(axis=1), along)
        straight = np.linalg.norm(bends, axis=-1) <= STRAIGHT * np.linalg.norm(end - base, axis=-1)
        bends = np.where(straight[:, np.newaxis], up, bends)
        angle = np.arctan2(np.sum(np.cross(up, bends) * along, axis=-1), np.sum(up * bends, axis=-1))
        turn = bridge.rotations.from_axis_angle(rot.unit(goal - base)[0], angle)
        return base + bridge.rotations.rotate(turn, self.poles[:, n] - base)

    def _blended(self, free, solved):
        """What is solved, where a chain has a pole between that and what keys say without IK, as Blender does."""
        turned = np.array(solved.pose.rotations)
        for n, limb in enumerate(self.limbs):
            for name in limb.chain if limb.ik.pole_target else ():
                row = solved.skeleton.names.index(name)
                turned[:, row] = bridge.rotations.slerp(
                    free.pose.rotations[:, row], turned[:, row], self.influence[:, n]
                )
        pose = bridge.library.Pose(turned, solved.pose.translations, solved.pose.scales)
        return dataclasses.replace(solved, pose=pose)

    def _channels(self, bone, n, basis):
        """The rotation channels of a bone, if IK turns it."""
        was = Parts.of(self.said[:, n]).turned
        if np.minimum(np.abs(basis.turned - was), np.abs(basis.turned + was)).max() <= TURNED:
            return []
        self.moved += 1
        start = np.array(getattr(bone, actions.rotation_of(bone)))
        return actions.channels(bone, "rotation", rot.numbers(bone.rotation_mode, basis.turned, start))

    def _note(self, clip, errors):
        """Keep how far targets are missed, where that is worth a word."""
        names = [f"{limb.constraint} of {limb.owner}" for limb in self.limbs]
        for *each, at in bent.missed(names, clip, errors):
            self.missed.append(f"{off('target', *each)} in frame {self.frames[at]}")

    def report(self, context):
        """How it went, when all is written."""
        away = list(self._away(context)) if self.moved else []
        return Report(self.armature.name, len(self.limbs), self.moved, len(self.frames), self.missed, away[:1])

    def _away(self, context):
        """Sentences about bones that are not seen where they were put, on some frames: nothing is taken for granted."""
        bones = Bones(self.armature, self.names)
        some = np.unique(np.linspace(0, len(self.frames) - 1, COMPARED).astype(int))
        put = stage.finished(bones.poses(self.put.at(some)))
        seen = np.empty_like(put)

        def look(depsgraph, number):
            seen[number] = self._matrices(self.armature.evaluated_get(depsgraph), "matrix")

        stage.finished(stage.visit(context, self.frames[some], look))
        far = np.linalg.norm((seen - put)[..., :3, 3], axis=-1)
        for n, name in enumerate(bones.names):
            if not far[:, n].max() <= NEAR * sum(bone.length for bone in bones.rest):
                away = length(far[:, n].max() * self.armature.matrix_world.median_scale)
                yield f"{name} is seen {away} from where it was put: {besides_keys(self.armature, self.names)}"
