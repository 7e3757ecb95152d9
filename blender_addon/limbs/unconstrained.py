# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyed poses of bones without their constraints, to be re-solved: reading, writing and comparing.

Base of chains (chains.py) and aim constraints (aim_constraints.py). Curves are read if nothing else animates anything,
which a few frames of the scene must confirm. Otherwise the scene is evaluated on every frame.
"""

from dataclasses import dataclass, field

import numpy as np

from ..animation import actions, clip_reader, scene_frames
from ..animation.fcurves import Reader, bases
from ..feet.foot_report import length
from ..rig import inheritance
from ..rig import rotations as rot
from ..rig.joints import Bones, Parts, pieces
from .effect_check import COMPARED, besides_keys
from .sampling import read_bones, same, unread
from .two_bone_bake import Counts, PreparedBake

SEEN, SOLVED = 0.6, 0.9  # progress after all frames are read, and after they are solved
TURNED = 5e-6  # tolerance of a rotation, in quaternions
NEAR = 1e-3  # relative to the length of all bones: larger deviations are reported


@dataclass
class Report(Counts):
    """Results of the bake of an armature."""

    problems: list[tuple[int, str]]  # frames, and sentences about targets missed there
    away: list[str] = field(default_factory=list)  # sentences about bones that are not displayed where they were put
    keys: str = ""  # their number, if not one on every frame

    def has_problems(self):
        """True if there is something to look at."""
        return bool(self.problems or self.away or not self.bones)

    def sentence(self):
        """The report in one line."""
        bones = "1 bone" if self.bones == 1 else f"{self.bones} bones"
        text = f"Baked {self.what}, {bones}, {self.frames} frames{self.keys} with the library solver"
        if not self.bones:
            text += "; nothing has changed: the keys already reach the targets"
        return "; ".join([text, *(sentence for _, sentence in self.problems), *self.away])


def prepare(context, limbs, frames, make):
    """Prepare the bake of these limbs: a generator that yields progress and returns a `PreparedBake`.

    `make` makes the Freed bones of an armature from some limbs and frames.
    """
    armatures = list({limb.object.name: limb.object for limb in limbs}.values())

    def of(some):
        return [make(each, [limb for limb in limbs if limb.object == each], some) for each in armatures]

    every, work = of(frames), []
    if not (yield from scene_frames.run_part(_by_curves(context, every, of, limbs, frames), 0.0, SEEN)):
        yield from scene_frames.run_part(_by_scene(context, every, frames), 0.0, 0.9 * SEEN)
        for number, each in enumerate(every):
            ends = (SEEN * (0.9 + 0.1 * (number + n) / len(every)) for n in (0, 1))
            yield from scene_frames.run_part(each.settle(), *ends)
    for number, each in enumerate(every):
        ends = (SEEN + (1 - SEEN) * (number + n) / len(every) for n in (0, 1))
        work.append((each.armature, (yield from scene_frames.run_part(each.channels(context), *ends))))

    def reports(slack):
        return [each.report(context, slack) for each in every]

    muted = [(limb.object, limb.owner, limb.constraint) for limb in limbs]
    work = [each for each in work if each[1]]
    return PreparedBake(work, muted, lambda: {each.armature.name: each.poses() for each in every}, reports)


def _by_scene(context, every, frames):
    """Read by evaluating the scene."""

    def look(depsgraph, number):
        for each in every:
            each.read(depsgraph, number)

    yield from scene_frames.visit(context, frames, look)
    for each in every:
        each.take()


def _by_curves(context, every, of, limbs, frames):
    """Read from curves alone. Returns whether these suffice, which a few frames of the scene must confirm."""
    reader = Reader(frames)
    if any(each.goes_on_from_shown() for each in every) or any(unread(reader, limb) for limb in limbs):
        return False
    for number, each in enumerate(every):
        steps = each.read_curves(reader)
        yield from scene_frames.run_part(steps, *(0.9 * (number + n) / len(every) for n in (0, 1)))
    few = np.unique(np.linspace(0, len(frames) - 1, COMPARED).astype(int))
    seen = of(frames[few])
    yield from scene_frames.run_part(_by_scene(context, seen, frames[few]), 0.9, 1.0)
    pairs = zip(every, seen, strict=True)
    return all(same(a, b) for one, two in pairs for a, b in zip(one.said_on(few), two.evaluated_values(), strict=True))


class UnconstrainedBones:
    """Some bones of an armature over frames without the constraints of some limbs, and the targets of these."""

    settings: tuple[str, ...] = ("influence",)  # of the constraints; may be animated

    def __init__(self, armature, limbs, names, frames):
        self.armature, self.limbs, self.names, self.frames = armature, limbs, names, frames
        self.bones, count = Bones(armature, names), len(frames)  # the operator has checked that they can be released
        self.shown = scene_frames.Matrices(armature, self.bones.rows, count)
        self.basis = scene_frames.Matrices(armature, self.bones.rows, count, "matrix_basis")
        each = [limb.ik for limb in limbs]
        self.targets = [(ik.target, ik.subtarget) for ik in each]
        handles = [(getattr(ik, "pole_target", None), getattr(ik, "pole_subtarget", "")) for ik in each]
        self.poled = {n: handle for n, handle in enumerate(handles) if handle[0]}
        self.seen = scene_frames.Places([*self.targets, *self.poled.values()], count)
        self.constraints = [(limb.owner, limb.constraint) for limb in limbs]
        self.world, self.places = np.empty((count, 4, 4)), np.empty((count, len(limbs), 4, 4))
        self.values = {name: np.empty((count, len(limbs))) for name in self.settings}
        self.poles = np.zeros((count, len(limbs), 3))
        self.turned = None  # rotations of their channels, (frames, bones, 4)
        self.local = None  # transforms without constraints, in the space of their parents: Parts
        self.problems, self.moved = [], 0

    def goes_on_from_shown(self):
        """True if the displayed pose is needed on every frame."""
        return False

    def read(self, depsgraph, number):
        """Read this frame."""
        bones = read_bones(self, depsgraph, number)
        self.seen.read(depsgraph, number)
        each = [bones[owner].constraints[name] for owner, name in self.constraints]
        for name, values in self.values.items():
            values[number] = [getattr(constraint, name) for constraint in each]

    def take(self):
        """Store the targets of constraints on all frames."""
        self.places = self.seen.of(self.targets)
        self.poles[:, [*self.poled]] = self.seen.of(self.poled.values())[..., :3, 3]

    def settle(self):
        """Compute the displayed pose without constraints: a generator that yields progress."""
        bones = self.bones
        self.turned = np.empty((len(self.frames), len(bones), 4))
        for some, share in pieces(range(len(bones)), len(self.frames)):
            said = self.basis[some]
            clip_reader.check_size([bones.names[n] for n in some], rot.volumes(said))
            self.turned[:, some] = Parts.of(said).turned
            yield 0.3 * share
        poses = yield from scene_frames.run_part(self.keyed_poses(), 0.3, 0.6)
        self.local = yield from scene_frames.run_part(bones.locals(poses), 0.6, 1.0)

    def read_curves(self, reader):
        """Read from curves: a generator that yields progress."""
        bones = self.bones
        steps = bases(reader.rig(self.armature).curves, bones.pose, self.frames)
        basis = yield from scene_frames.run_part(steps, 0.0, 0.6)
        clip_reader.check_size(bones.names, basis.volumes())
        self.turned, self.world = basis.turned, reader.world(self.armature)
        self.local = yield from scene_frames.run_part(bones.hung(basis), 0.6, 1.0)
        for n, (target, constraint) in enumerate(zip(self.targets, self.constraints, strict=True)):
            self.places[:, n] = reader.place(*target)
            for name, values in self.values.items():
                values[:, n] = reader.constraint_values(self.armature, *constraint, name)
        for n, pole in self.poled.items():
            self.poles[:, n] = reader.place(*pole)[:, :3, 3]

    def said_on(self, some):
        """The values of curves on some frames, to be compared."""
        poses = scene_frames.run(self.bones.poses(self.local.at(some)))
        world = np.broadcast_to(self.world, (len(self.frames), 4, 4))
        return poses, *(values[some] for values in (world, self.places, *self.values.values(), self.poles))

    def evaluated_values(self):
        """The same values of the evaluated scene."""
        return scene_frames.run(self.keyed_poses()), self.world, self.places, *self.values.values(), self.poles

    def keyed_poses(self):
        """Poses of bones from their keys alone, in armature space; others move with their parents.

        A generator that yields progress.
        """
        bones = self.bones
        poses = np.empty((len(self.frames), len(bones), 4, 4))
        for n, (name, parent) in enumerate(zip(bones.names, bones.parents, strict=True)):
            if name in self.names:
                poses[:, n] = inheritance.pose_matrices(
                    bones.rest[n], poses[:, parent], self.basis[n]
                )  # the parent of a root is ignored
            elif parent < 0:
                poses[:, n] = self.shown[n]
            else:
                poses[:, n] = poses[:, parent] @ rot.inverse(self.shown[parent]) @ self.shown[n]
            yield (n + 1) / len(bones)
        return poses

    def channels(self, context):
        """The channels to write: a generator that yields progress."""
        bones = self.bones
        steps = clip_reader.read_bones(context, self.armature, bones, self.frames, self.local, self.world)
        reading = yield from scene_frames.run_part(steps, 0.0, 0.2)
        clip = yield from scene_frames.run_part(self.solve(reading.clip), 0.2, SOLVED)
        self.put = yield from scene_frames.run_part(reading.locals(clip), SOLVED, 0.95)
        numbers = [bones.names.index(name) for name in self.names]
        basis = yield from scene_frames.run_part(bones.channel_values(self.put, numbers), 0.95, 1.0)
        return [channel for row, n in enumerate(numbers) for channel in self._channels(bones.pose[n], n, basis[row])]

    def solve(self, clip):
        """The solved clip of these bones: a generator that yields progress."""
        raise NotImplementedError

    def poses(self):
        """The resulting poses, as in Found."""
        bones = self.bones
        poses = scene_frames.run(bones.poses(self.put))
        return {name: (poses[:, bones.names.index(name)], None) for name in self.names}

    def _channels(self, bone, n, basis):
        """The rotation channels of a bone, if it rotates."""
        was = self.turned[:, n]
        if np.minimum(np.abs(basis.turned - was), np.abs(basis.turned + was)).max() <= TURNED:
            return []
        self.moved += 1
        start = np.array(getattr(bone, actions.rotation_of(bone)))
        return actions.channels(bone, "rotation", rot.numbers(bone.rotation_mode, basis.turned, start))

    def what(self):
        """The kind of constraints baked, in words."""
        raise NotImplementedError

    def report(self, context, slack):
        """The report, when all is written; keys may deviate by a slack."""
        away = list(self._away(context, slack)) if self.moved else []
        return Report(self.armature.name, self.what(), self.moved, len(self.frames), self.problems, away[:1])

    def _away(self, context, slack):
        """Sentences about bones that are not displayed where they were put, checked on some frames."""
        bones = self.bones
        some = np.unique(np.linspace(0, len(self.frames) - 1, COMPARED).astype(int))
        put = scene_frames.run(bones.poses(self.put.at(some)))
        seen = scene_frames.Matrices(self.armature, bones.rows, len(some))

        def look(depsgraph, number):
            seen.read(self.armature.evaluated_get(depsgraph).pose.bones, number)

        scene_frames.run(scene_frames.visit(context, self.frames[some], look))
        far = np.linalg.norm((seen[:] - put)[..., :3, 3], axis=-1)
        for n, name in enumerate(bones.names):
            allowed = slack / self.armature.matrix_world.median_scale
            if not far[:, n].max() <= allowed + NEAR * sum(bone.length for bone in bones.rest):
                away = length(far[:, n].max() * self.armature.matrix_world.median_scale)
                why = besides_keys(self.armature, self.names)
                yield f"{name} is displayed {away} from its baked place, because {why}"
