# SPDX-License-Identifier: GPL-3.0-or-later
"""Solved anew by a method of the library: chains of any length, those that share bones as one problem.

It starts from what the channels say without IK, and goes from frame to frame, so that nothing flips. What bones may do
is what Blender's own solver lets them; an influence below 1 puts the goal between there and the target, as there.
"""

import dataclasses
import functools

import numpy as np

from . import bent, bridge, clips, freed, stage
from . import rotations as rot
from .background import in_thread
from .ik_limits import Freedom
from .joints import Parts
from .report import off
from .solve import STRAIGHT


def found(context, limbs, frames, method):
    """What to write of these limbs: a generator that yields the share that is done, and returns what was Found."""
    return freed.found(context, limbs, frames, lambda *some: _Chains(method, *some))


class _Chains(freed.Freed):
    """The chains of an armature over some frames."""

    settings = ("influence", "pole_angle")

    def __init__(self, method, armature, limbs, frames):
        super().__init__(armature, limbs, sorted({name for limb in limbs for name in limb.chain}), frames)
        self.method = method

    def what(self):
        return f"{len(self.limbs)} IK"

    def solved(self, clip):
        freedoms = {name: Freedom.of(self.armature.pose.bones[name]) for name in self.names}
        every = self._together()
        for done, trees in enumerate(every):
            start, middle, end = ((done + share) / len(every) for share in (0.0, 0.2, 1.0))
            problems, world = [], clip.skeleton.forward(clip.pose)
            for number, (numbers, names) in enumerate(trees):
                ends = (start + (middle - start) * (number + share) / len(trees) for share in (0, 1))
                goals = yield from stage.between(self._goals(clip.skeleton, world, numbers), *ends)
                problems.append((numbers, goals, {name: freedoms[name] for name in names}))
            steps = in_thread(functools.partial(self._solved, clip, problems))
            clip, missed = yield from stage.between(steps, middle, end)
            for numbers, errors in missed:
                self._note(numbers, clip, errors)
        return clip

    def _solved(self, clip, problems, progress):
        """The clip with some trees solved that do not hang on each other, and what they miss. Without bpy."""
        missed = []
        for done, (numbers, goals, allowed) in enumerate(problems):
            made, errors = bent.solved(clip, goals, allowed, self.method, sequence=True)
            clip = self._blended(clip, made, numbers)
            missed.append((numbers, errors))
            progress((done + 1) / len(problems))
        return clip, missed

    def _together(self):
        """Trees by what they hang on: none of some that are solved at once hangs on another of them."""
        every, bones = [], self.armature.pose.bones
        for tree in self._trees():
            above = {each.name for name in tree[1] for each in bones[name].parent_recursive} - tree[1]
            if not every or any(above & names for _, names in every[-1]):
                every.append([])
            every[-1].append(tree)
        return every

    def _trees(self):
        """The limbs that share bones, by number, and the bones they turn: each is a problem, those above come first."""
        trees = []
        for n, limb in enumerate(self.limbs):
            mine = [n], {*limb.chain}
            for other in [tree for tree in trees if tree[1] & mine[1]]:
                trees.remove(other)
                mine = sorted(mine[0] + other[0]), mine[1] | other[1]
            trees.append(mine)
        bones = self.armature.pose.bones
        return sorted(trees, key=lambda tree: min(len(bones[name].parent_recursive) for name in tree[1]))

    def _goals(self, skeleton, world, numbers):
        """What constraints ask for, in the world; between there and where bones are without IK by their influence.

        A generator that yields the share that is done.
        """
        quat, goals, scale = bridge.rotations, [], clips.scale_of(self.armature, self.world)
        for done, (n, limb) in enumerate((n, self.limbs[n]) for n in numbers):
            tip, ik = self.armature.pose.bones[limb.chain[-1]], limb.ik
            joint = skeleton.names.index(tip.name)
            offset = (0.0, tip.bone.length * scale, 0.0)
            free = world.positions[:, joint] + quat.rotate(world.rotations[:, joint], np.array(offset))
            wanted, turned = self.places[:, n, :3, 3], Parts.of(self.places[:, n]).turned if ik.use_rotation else None
            share = self.values["influence"][:, n]
            if not ik.pole_target and (share < 1.0).any():  # with a pole see `_blended`
                wanted = (1 - share)[:, np.newaxis] * free + share[:, np.newaxis] * wanted
                turned = quat.slerp(world.rotations[:, joint], turned, share) if ik.use_rotation else None
            goals.append(
                bridge.library.Reach(
                    tip.name,
                    wanted,
                    turned,
                    weight=ik.weight,
                    rotation_weight=ik.orient_weight,
                    offset=offset,
                    chain=limb.chain[0],
                    pole=self._pole(n, skeleton, world, free, wanted) if ik.pole_target else None,
                )
            )
            yield (done + 1) / len(numbers)
        return goals

    def _pole(self, n, skeleton, world, end, goal):
        """What a chain bends towards: the pole, turned about the line to the goal as Blender's pole angle has it.

        There it is an axis of the first bone that the pole is beside, and how the chain bends beside that stays.
        """
        joints = [skeleton.names.index(name) for name in self.limbs[n].chain]
        base = world.positions[:, joints[0]]
        along = rot.unit(end - base)[0]
        way = np.stack(
            [np.cos(self.values["pole_angle"][:, n]), np.zeros(len(end)), np.sin(self.values["pole_angle"][:, n])],
            axis=-1,
        )
        up = rot.across(bridge.rotations.rotate(world.rotations[:, joints[0]], way), along)
        bends = rot.across((world.positions[:, joints[1:]] - base[:, np.newaxis]).sum(axis=1), along)
        straight = rot.lengths_of(bends) <= STRAIGHT * rot.lengths_of(end - base)
        bends = np.where(straight[:, np.newaxis], up, bends)
        angle = np.arctan2(rot.dot(np.cross(up, bends), along), rot.dot(up, bends))
        turn = bridge.rotations.from_axis_angle(rot.unit(goal - base)[0], angle)
        return base + bridge.rotations.rotate(turn, self.poles[:, n] - base)

    def _blended(self, free, solved, numbers):
        """What is solved, where a chain has a pole between that and what keys say without IK, as Blender does."""
        turned = np.array(solved.pose.rotations)
        for n in numbers:
            between = n in self.poled and (self.values["influence"][:, n] < 1.0).any()
            for name in self.limbs[n].chain if between else ():
                row = solved.skeleton.names.index(name)
                turned[:, row] = bridge.rotations.slerp(
                    free.pose.rotations[:, row], turned[:, row], self.values["influence"][:, n]
                )
        pose = bridge.library.Pose(turned, solved.pose.translations, solved.pose.scales)
        return dataclasses.replace(solved, pose=pose)

    def _note(self, numbers, clip, errors):
        """Keep how far targets are missed, where that is worth a word."""
        names = [f"{limb.constraint} of {limb.owner}" for limb in (self.limbs[n] for n in numbers)]
        for *each, at in bent.missed(names, clip, errors):
            frame = int(self.frames[at])
            self.problems.append((frame, f"{off('target', *each)} in frame {frame}"))
