# SPDX-License-Identifier: GPL-3.0-or-later
"""Re-solve chains of any length by a method of the library. Chains that share bones are solved together.

A chain with a pole starts from its channels, is rotated to its pole as in Blender, and is solved by damped least
squares, as Blender's own solver does. A chain without a pole starts from its displayed pose. Every frame is solved
independently, so twist does not accumulate. Bones have the limits of Blender's own solver. An influence below 1 places
the goal between the unconstrained end and the target, as in Blender.
"""

import dataclasses
import functools

import numpy as np

from .. import bridge
from ..animation import clip_reader, scene_frames
from ..feet.foot_report import in_degrees, off
from ..pins import full_body
from ..rig import rotations as rot
from ..rig.ik_limits import Freedom
from ..rig.joints import Parts
from ..ui.background import in_thread
from . import unconstrained
from .effect_check import twists
from .two_bone import STRAIGHT, to_pole

BEND = 0.02  # radians: initial bend of a straight chain


def prepare(context, limbs, frames, method):
    """Prepare the bake of these limbs: a generator that yields progress and returns a `PreparedBake`."""
    return unconstrained.prepare(context, limbs, frames, lambda *some: _Chains(method, *some))


class _Chains(unconstrained.UnconstrainedBones):
    """The chains of an armature over some frames."""

    settings = ("influence", "pole_angle")

    def __init__(self, method, armature, limbs, frames):
        super().__init__(armature, limbs, sorted({name for limb in limbs for name in limb.chain}), frames)
        self.method = method
        self.twisted = np.zeros(len(frames))  # largest twist between the start of chains and their solution

    def what(self):
        return f"{len(self.limbs)} IK"

    def goes_on_from_shown(self):
        return len(self.poled) < len(self.limbs)

    def channels(self, context):
        made = yield from scene_frames.run_part(super().channels(context), 0.0, 0.9)
        chains, worst = [limb.chain for limb in self.limbs], self.twisted.argmax()
        steps = twists(context, self.armature, self.bones, chains, self.frames, self.put, worst)
        for bone, angle, frame in (yield from scene_frames.run_part(steps, 0.9, 1.0)):
            told = f"{bone}: twisted {in_degrees(angle)} from the displayed pose at frame {frame}"
            self.problems.append((frame, told))
        return made

    def solve(self, clip):
        bones, scale = self.armature.pose.bones, clip_reader.scale_of(self.armature, self.world)
        self.tails = [np.array((0.0, limb.mid.bone.length * scale, 0.0)) for limb in self.limbs]
        freedoms = {name: Freedom.of(bones[name]) for name in self.names}
        every = self._together()
        for done, trees in enumerate(every):
            start, middle, end = ((done + share) / len(every) for share in (0.0, 0.2, 1.0))
            problems, free = [], clip.skeleton.forward(clip.pose)
            for number, (numbers, names) in enumerate(trees):
                ends = (start + (middle - start) * (number + share) / len(trees) for share in (0, 1))
                goals = yield from scene_frames.run_part(self._goals(free, numbers), *ends)
                problems.append((numbers, goals, {name: freedoms[name] for name in names}))
            steps = in_thread(functools.partial(self._solve_trees, clip, problems))
            clip, missed = yield from scene_frames.run_part(steps, middle, end)
            for numbers, errors in missed:
                self._note(numbers, clip, errors)
        return clip

    def _solve_trees(self, free, problems, progress):
        """Solve independent trees of a clip. Returns the clip, and the goals that it misses. Without bpy."""
        every = [n for numbers, *_ in problems for n in numbers]
        start = clip = self._to_poles(self._as_shown(free, every), every)
        missed = []
        for done, (numbers, goals, allowed) in enumerate(problems):
            if self.poled.keys() & numbers:  # bends them as Blender does: other methods would flip some of them
                clip, _ = full_body.solve_clip(clip, goals, allowed, "dls")
            clip, errors = full_body.solve_clip(clip, goals, allowed, self.method)
            missed.append((numbers, errors))
            progress((done + 1) / len(problems))
        self._note_twists(every, start, clip)
        return self._blend(free, clip, every), missed

    def _together(self):
        """The trees in groups for successive solves: trees of one group do not depend on each other."""
        every, bones = [], self.armature.pose.bones
        for tree in self._trees():
            above = {each.name for name in tree[1] for each in bones[name].parent_recursive} - tree[1]
            if not every or any(above & names for _, names in every[-1]):
                every.append([])
            every[-1].append(tree)
        return every

    def _trees(self):
        """Limbs that share bones, by number, and their bones: each is one problem, ancestors first."""
        trees = []
        for n, limb in enumerate(self.limbs):
            mine = [n], {*limb.chain}
            for other in [tree for tree in trees if tree[1] & mine[1]]:
                trees.remove(other)
                mine = sorted(mine[0] + other[0]), mine[1] | other[1]
            trees.append(mine)
        bones = self.armature.pose.bones
        return sorted(trees, key=lambda tree: min(len(bones[name].parent_recursive) for name in tree[1]))

    def _as_shown(self, clip, numbers):
        """The clip with the displayed pose of chains without poles."""
        turned = np.array(clip.pose.rotations)
        for joint in {joint for n in numbers if n not in self.poled for joint in self._joints(n)}:
            above = self.bones.parents[joint]
            space = self.world if above < 0 else rot.inverse(self.shown[above])
            turned[:, joint] = Parts.of(space @ self.shown[joint]).turned
        return _with_rotations(clip, turned)

    def _to_poles(self, clip, numbers):
        """The clip with chains rotated as a whole to their poles, as Blender does before it solves."""
        poled = [n for n in numbers if n in self.poled]
        if not poled:
            return clip
        clip = self._bend_straight_chains(clip, poled)
        world, turned = clip.skeleton.forward(clip.pose), np.array(clip.pose.rotations)
        for n in poled:
            base, line, up = self._sides(n, world)
            turn, _ = to_pole(rot.unit(line)[0], up, self.places[:, n, :3, 3] - base, self.poles[:, n] - base)
            _turn(turned, self._joints(n)[0], turn, world)
        return _with_rotations(clip, turned)

    def _bend_straight_chains(self, clip, poled):
        """The clip with straight chains bent by BEND towards their pole axis; no method chooses a side."""
        world, turned = clip.skeleton.forward(clip.pose), np.array(clip.pose.rotations)
        for n in poled:
            first, *others = self._joints(n)
            base, line, up = self._sides(n, world)
            along, length = rot.unit(line)
            off = rot.across(world.positions[:, others] - base[:, np.newaxis], along[:, np.newaxis])
            straight = rot.lengths_of(off).max(axis=1) <= STRAIGHT * length
            axis = rot.unit(np.cross(along, up))[0]
            for joint, angle in ((first, BEND), *((joint, -2.0 * BEND / len(others)) for joint in others)):
                _turn(turned, joint, bridge.rotations.from_axis_angle(axis, np.where(straight, angle, 0.0)), world)
        return _with_rotations(clip, turned)

    def _sides(self, n, world):
        """The base of a chain, the vector to its end, and the axis of its first bone that the pole angle defines."""
        first, angle = self._joints(n)[0], self.values["pole_angle"][:, n]
        base = world.positions[:, first]
        axis = np.stack([np.cos(angle), np.zeros(len(angle)), np.sin(angle)], axis=-1)
        return base, self._end(n, world) - base, bridge.rotations.rotate(world.rotations[:, first], axis)

    def _joints(self, n):
        """The joints of a chain, first to last."""
        return [self.bones.names.index(name) for name in self.limbs[n].chain]

    def _end(self, n, world):
        """The tail of a chain, in the world."""
        tip = self._joints(n)[-1]
        return world.positions[:, tip] + bridge.rotations.rotate(world.rotations[:, tip], self.tails[n])

    def _goals(self, free, numbers):
        """World-space goals of limbs: their targets, blended by influence with the ends of the `free` pose.

        A generator that yields progress.
        """
        quat, goals = bridge.rotations, []
        for done, (n, limb) in enumerate((n, self.limbs[n]) for n in numbers):
            ik, tip = limb.ik, self._joints(n)[-1]
            wanted, turned = self.places[:, n, :3, 3], Parts.of(self.places[:, n]).turned if ik.use_rotation else None
            share = self.values["influence"][:, n]
            if not ik.pole_target and (share < 1.0).any():  # with a pole see `_blended`
                end = self._end(n, free)
                wanted = end + share[:, np.newaxis] * (wanted - end)
                turned = quat.slerp(free.rotations[:, tip], turned, share) if ik.use_rotation else None
            goals.append(
                bridge.library.Reach(
                    limb.chain[-1],
                    wanted,
                    turned,
                    weight=ik.weight,
                    rotation_weight=ik.orient_weight,
                    offset=self.tails[n],
                    chain=limb.chain[0],
                )
            )
            yield (done + 1) / len(numbers)
        return goals

    def _blend(self, free, solved, numbers):
        """The solved clip.

        Chains with a pole are blended with the free pose by their influence, as in Blender.
        """
        turned = np.array(solved.pose.rotations)
        for n in numbers:
            share = self.values["influence"][:, n]
            for joint in self._joints(n) if n in self.poled and (share < 1.0).any() else ():
                turned[:, joint] = bridge.rotations.slerp(free.pose.rotations[:, joint], turned[:, joint], share)
        return _with_rotations(solved, turned)

    def _note_twists(self, numbers, start, solved):
        """Record the world-space twist of bones between start and solution of some limbs."""
        joints = [joint for n in numbers for joint in self._joints(n)]
        was, now = (clip.skeleton.forward(clip.pose).rotations[:, joints] for clip in (start, solved))
        self.twisted = np.maximum(self.twisted, rot.twists(was, now).max(axis=1))

    def _note(self, numbers, clip, errors):
        """Record missed targets above the report threshold."""
        names = [f"{limb.constraint} of {limb.owner}" for limb in (self.limbs[n] for n in numbers)]
        for *each, at in full_body.missed_goals(names, clip, errors):
            frame = int(self.frames[at])
            self.problems.append((frame, f"{off('target', *each)} at frame {frame}"))


def _turn(rotations, joint, turn, world):
    """Rotate a joint, and all joints below it, by rotations in the world."""
    quat, now = bridge.rotations, world.rotations[:, joint]
    own = quat.multiply(quat.multiply(quat.conjugate(now), turn), now)
    rotations[:, joint] = quat.multiply(rotations[:, joint], own)


def _with_rotations(clip, rotations):
    """A clip with other rotations."""
    pose = bridge.library.Pose(rotations, clip.pose.translations, clip.pose.scales)
    return dataclasses.replace(clip, pose=pose)
