# SPDX-License-Identifier: GPL-3.0-or-later
"""FK -> IK: keys on targets and poles, so that IK reproduces the pose of its bones' own keys.

Keys of the bones are kept. Blender's solver starts from their pose, and stays there if target and pole match it. It
also takes from there what a target alone leaves undefined, such as twist.
"""

import contextlib
from dataclasses import dataclass, field

import numpy as np

from ..animation import actions, nla, scene_frames
from ..feet.foot_report import deviation, turned_within, within
from ..limbs import visual_pose
from ..limbs.ik_constraints import Limb
from ..rig import rotations as rot
from ..rig.armatures import CannotBakeError, Rig, chain_of
from ..ui.last_report import Last
from .controls import Control, Handle

# progress after all frames are read, after the channels are computed, and after they are written
READ, PUT, WRITTEN = 0.5, 0.55, 0.6
TITLE = "FK to IK"
# Report thresholds: of a position, as a share of the chain length; of a direction, in radians.
FAR, ASKEW = 1e-4, np.radians(0.05)
_reports = Last()
FLAT = 1e-20  # determinant of a bone's matrix below which it counts as flat
STRAIGHT = 1e-3  # relative to its length: a chain bent less at rest has no bend direction


@dataclass
class Report:
    """Results for the limbs of an armature."""

    title: str  # of the operation
    armature: str
    count: int  # of limbs
    frames: int
    far: float  # largest distance of a bone from its keyed pose, in scene units
    askew: float  # degrees
    problems: list = field(default_factory=list)  # (frame, sentence) about bones that deviate from their keyed pose
    switched: list[str] = field(default_factory=list)  # IK whose influence is animated or driven
    notes: list[str] = field(default_factory=list)  # sentences about other changes

    def has_problems(self):
        """True if there is something to look at."""
        return bool(self.problems)

    def sentence(self):
        """The report in one line."""
        limbs = "1 limb" if self.count == 1 else f"{self.count} limbs"
        frames = "1 frame" if self.frames == 1 else f"{self.frames} frames"
        near = f"all bones within {within(self.far)} and {turned_within(self.askew)} of {self.title[:2]}"
        text = f"{self.title}: {limbs}, {frames}" + ("" if self.problems else f", {near}")
        if self.switched:
            text += f"; influence is animated, so IK shows only where it is 1: {', '.join(self.switched)}"
        return "; ".join([text, *self.notes, *(sentence for _, sentence in self.problems)])


def every_limb(armature):
    """A limb for each bone with IK: the enabled constraint, or else the first disabled one."""
    found = []
    for bone in armature.pose.bones:
        ik = sorted((each for each in bone.constraints if each.type == "IK"), key=lambda each: each.mute)
        found += [Limb(armature, bone.name, each.name, chain_of(bone, each)) for each in ik[:1]]
    return found


def bake(context, limbs, frames, fresh, *, still=False):
    """Key the targets and poles of limbs on these frames; `still`: the current pose, in active actions.

    Limbs whose pole is `fresh` get a pole angle too.

    A generator that yields progress, and returns a report of each armature.
    """
    look, chains = (here if still else scene_frames.visit), [_Chain(limb, len(frames)) for limb in limbs]
    again = [_Poses(limb, len(frames)) for limb in limbs]

    def check_displayed():
        with _switch_ik(context, limbs, on=True):
            yield from scene_frames.run_part(look(context, frames, reader(again)), WRITTEN, 1.0)
        for each in again:
            each.check()

    with contextlib.nullcontext() if still else scene_frames.restore_after(context, [limb.object for limb in limbs]):
        with _switch_ik(context, limbs, on=False):
            yield from scene_frames.run_part(look(context, frames, reader(chains)), 0.0, READ)
        for chain in chains:
            chain.check()
            if chain.limb in fresh:
                chain.limb.ik.pole_angle = chain.pole_angle()
        work = yield from scene_frames.run_part(_work(chains), READ, PUT)
        yield from write_keys(work, frames, check_displayed(), TITLE, still=still)
    armatures = list(dict.fromkeys(limb.object for limb in limbs))
    reports = [_report(armature, chains, again, frames) for armature in armatures]
    for limb in limbs:
        limb.ik.mute, limb.ik.influence = False, 1.0
    return store_reports(armatures, reports)


def store_reports(armatures, reports):
    """Store the reports of these armatures for the panel."""
    for armature, report in zip(armatures, reports, strict=True):
        _reports.keep(armature, nla.current_action(armature.animation_data), report)
    return reports


def latest(armature):
    """The report of an armature's active action, or None."""
    return _reports.of(armature)


def here(context, frames, look):
    """Like scene_frames.visit, for the current frame only, including values without keys."""
    look(context.evaluated_depsgraph_get(), 0)
    yield 1.0


def reader(items):
    """A function for scene_frames.visit that reads all of these items."""

    def look(depsgraph, number):
        for each in items:
            each.read(depsgraph, number)

    return look


class _Poses:
    """The bones of a chain over frames, in the space of their armature."""

    def __init__(self, limb, count):
        self.limb, self.poses = limb, np.empty((len(limb.chain), count, 4, 4))
        self.spaces = np.empty((count, 4, 4))

    def read(self, depsgraph, number):
        """Read the bones in this frame."""
        armature = self.limb.object.evaluated_get(depsgraph)
        self.spaces[number] = armature.matrix_world
        self.poses[:, number] = [armature.pose.bones[name].matrix for name in self.limb.chain]

    def check(self):
        """Refuse bones that are not displayed, since their values are not finite."""
        for name, poses in zip(self.limb.chain, self.poses, strict=True):
            if not np.isfinite(poses).all():
                raise CannotBakeError(f"{name} is not displayed on some frame: its IK has no solution there")
            if (np.abs(rot.volumes(self.spaces @ poses)) < FLAT).any():
                raise CannotBakeError(f"{name} has a scale of zero, or a parent with one, on some frame")

    @property
    def lengths(self):
        """Rest lengths of the bones."""
        return np.array([self.limb.bones[name].bone.length for name in self.limb.chain])

    def ends(self):
        """Heads of the bones, and the tail of the last one."""
        tip = self.poses[-1, :, :3, 3] + self.poses[-1, :, :3, 1] * self.lengths[-1]
        return np.concatenate([self.poses[:, :, :3, 3], tip[np.newaxis]])


class _Chain(_Poses):
    """A limb in its keyed pose, and the target and pole that reproduce it."""

    def __init__(self, limb, count):
        super().__init__(limb, count)
        ik = limb.ik
        names = ("location", "rotation") if ik.use_rotation else ("location",)
        self.target = Control(Handle(ik.target, ik.subtarget), count, names)
        self.pole = Control(Handle(ik.pole_target, ik.pole_subtarget), count, names[:1]) if ik.pole_target else None

    def read(self, depsgraph, number):
        super().read(depsgraph, number)
        for control in filter(None, (self.target, self.pole)):
            control.read(depsgraph, number)

    def wanted_matrices(self):
        """Wanted world matrices of the target and the pole, by control: a generator."""
        target = self.poses[-1].copy()
        target[:, :3, :3], target[:, :3, 3] = rot.axes(target), self.ends()[-1]
        yield self.target, self.spaces @ target
        if self.pole:
            pole = np.tile(np.eye(4), (len(target), 1, 1))
            pole[:, :3, 3] = level_pole(self.ends(), self.poses[0], self.limb.ik.pole_angle)
            yield self.pole, self.spaces @ pole

    def pole_angle(self):
        """The pole angle that puts the pole on the side of the middle joint, at rest or else on average."""
        rest = self.limb.object.data.bones[self.limb.chain[0]].matrix_local
        middle, tip = (self.limb.object.data.bones[self.limb.chain[n]] for n in (len(self.limb.chain) // 2, -1))
        joints = np.array([[rest.translation, middle.head_local, tip.tail_local]])
        axes = np.array(rest)[np.newaxis, :3, :3]
        if _bend(joints)[1] < STRAIGHT:
            ends, axes = self.ends(), rot.axes(self.poses[0])
            joints = np.stack([ends[0], ends[len(ends) // 2], ends[-1]], axis=1)
        way = np.einsum("fij,fi->j", axes, _bend(joints)[0])
        return float(np.arctan2(way[2], way[0]))


def level_pole(ends, first, angle):
    """A pole position: level with the middle joint, and a chain length away from the line between the ends.

    It is on the side that Blender expects, defined by the axes of the first bone rotated by the pole angle.
    """
    axes, way = rot.axes(first), rot.unit(ends[-1] - ends[0])[0]
    level = np.sum((ends[len(ends) // 2] - ends[0]) * way, axis=-1, keepdims=True)
    side, size = rot.unit(rot.across(np.cos(angle) * axes[..., 0] + np.sin(angle) * axes[..., 2], way))
    side = side[_latest(size > 1e-6)]  # a straight chain has no side: the previous one
    return ends[0] + level * way + np.linalg.norm(np.diff(ends, axis=0), axis=-1).sum(axis=0)[:, np.newaxis] * side


def _bend(joints):
    """Offsets of the middle joint from the line between the ends, and the largest, relative to that line."""
    way, size = rot.unit(joints[:, 2] - joints[:, 0])
    bend = rot.across(joints[:, 1] - joints[:, 0], way)
    return bend, np.max(np.linalg.norm(bend, axis=-1) / np.where(size > 0, size, 1.0))


def _latest(good):
    """For each frame the last good one so far, or else the first of all."""
    numbers = np.where(good, np.arange(len(good)), -1)
    first = np.argmax(good)
    return np.maximum(np.maximum.accumulate(numbers), first)


def _work(chains):
    """The channels to write, as (object, channels): parents first, so that they carry their children.

    A generator that yields progress.
    """
    asked = {}
    for done, chain in enumerate(chains):
        yield 0.5 * done / len(chains)
        for control, places in chain.wanted_matrices():
            handle = control.handle
            if handle in asked:
                raise CannotBakeError(
                    f"{handle} is a target or pole of two limbs at different places: bake one at a time"
                )
            asked[handle] = control, places
    work, put = {}, {}
    for handle in sorted(asked, key=lambda handle: len(list(handle.above()))):
        control, places = asked[handle]
        above = next((put[each] for each in handle.above() if each in put), None)
        yield 0.5 + 0.5 * len(put) / len(asked)
        work.setdefault(handle.object, []).extend(control.channels_for(places, above))
        put[handle] = control
    return list(work.items())


def write_keys(work, frames, seen, title, *, still):
    """Write keys and verify, completely or not at all: into copies of actions or, if still, into active ones."""
    playing = [each for each in work if still and all(actions.assignment(each[0]))]
    others = [each for each in work if each not in playing]
    plans = yield from scene_frames.run_part(actions.copy_actions(others, frames, title), PUT, WRITTEN)
    with actions.swap_actions(plans), set_first(work) if still else contextlib.nullcontext():
        yield from actions.overwrite(playing, frames, WRITTEN, seen)


@contextlib.contextmanager
def set_first(work):
    """Set the first values of channels for immediate display.

    If the following code fails, restore the old ones.
    """
    before = []
    try:
        for thing, channels in work:
            for channel in channels:
                before.append((thing, channel.path, scene_frames.value(thing, channel.path)))
                now = before[-1][-1]
                if isinstance(now, tuple):
                    new = (*now[: channel.index], channel.values[0], *now[channel.index + 1 :])
                else:  # a custom property, such as a switch
                    new = type(now)(channel.values[0])
                scene_frames.set_value(thing, channel.path, new)
        yield
    except BaseException:
        for thing, path, value in reversed(before):
            scene_frames.set_value(thing, path, value)
        raise


@contextlib.contextmanager
def _switch_ik(context, limbs, *, on):
    """Temporarily disable all IK of these bones, or enable that of the limbs, overriding animation."""
    before = []

    def override(item, name, value):
        before.append((item, name, getattr(item, name)))
        setattr(item, name, value)

    try:
        for limb in limbs:
            for each in limb.bones[limb.owner].constraints:
                if each.type == "IK":
                    for curve in _state_curves(limb.object, limb.owner, each.name):
                        override(curve, "mute", True)
                    override(each, "mute", not (on and each.name == limb.constraint))
                    override(each, "influence", 1.0)
        context.view_layer.update()
        yield
    finally:
        for item, name, value in reversed(before):
            setattr(item, name, value)
        context.view_layer.update()


def _state_curves(armature, bone, constraint):
    """The curves and drivers of a constraint's mute state and influence."""
    paths = visual_pose.switch_paths(armature.pose.bones[bone], constraint)
    paths.append(f"{paths[0].rpartition('.')[0]}.influence")
    rig = Rig(armature)
    return [curve for path in paths for curve in (*rig.curves.get(path, ()), *rig.drivers.get(path, ()))]


def _report(armature, chains, again, frames):
    """The report of one armature, from its chains as keyed and as IK displays them."""
    far, askew, problems, said = 0.0, 0.0, [], []
    for was, now in zip(chains, again, strict=True):
        if was.limb.object == armature:
            away = np.linalg.norm(was.spaces[:, :3, :3] @ (was.ends() - now.ends())[..., np.newaxis], axis=-2)[..., 0]
            turned = np.linalg.norm(rot.axes(was.poses) - rot.axes(now.poses), axis=-2).max(axis=-1)
            far, askew = max(far, away.max()), max(askew, turned.max())
            problems += _problem(was, away, turned, frames)
            if _state_curves(armature, was.limb.owner, was.limb.constraint):
                said.append(f"{was.limb.constraint} of {was.limb.owner}")
    mine = sum(chain.limb.object == armature for chain in chains)
    return Report(TITLE, armature.name, mine, len(frames), float(far), float(np.degrees(askew)), problems, said)


def _problem(chain, away, turned, frames):
    """A frame and a sentence about the limb if it deviates from its keyed pose."""
    away = np.maximum(away[:-1], away[1:])
    return worst(chain.limb.chain, away, turned, frames, _shown_size(chain), _why(chain.limb))


def _shown_size(chain):
    """Displayed length of a limb over frames, from joint to joint.

    Bones may be scaled, and drawn at any length.
    """
    ways = chain.spaces[:, :3, :3] @ np.diff(chain.ends(), axis=0)[..., np.newaxis]
    sizes, last = np.linalg.norm(ways, axis=(-2, -1)), chain.limb.mid.bone
    below = min(((child.head_local - last.head_local).length for child in last.children), default=last.length)
    return sizes[:-1].sum(axis=0) + sizes[-1] * min(below / last.length, 1.0)


def worst(names, away, turned, frames, size, why):
    """A frame and a sentence about the bone with the largest deviation, from (bones, frames) arrays, if large."""
    times = np.maximum(away / (FAR * size), turned / ASKEW)
    bone, frame = np.unravel_index(np.argmax(times), times.shape)
    if times[bone, frame] <= 1.0:
        return []
    where = deviation(away[bone, frame], turned[bone, frame])
    return [(int(frames[frame]), f"{names[bone]}: {where} off at frame {frames[frame]}, because {why}")]


def _why(limb):
    """The likely reason for it."""
    for name in limb.chain:
        bone = limb.bones[name]
        if any(getattr(bone, f"{kind}_{axis}") for kind in ("lock_ik", "use_ik_limit") for axis in "xyz"):
            return f"{name} has a locked IK axis or an IK limit"
    others = [each.name for name in limb.chain for each in limb.bones[name].constraints if not each.mute]
    others = [name for name in others if name != limb.constraint]
    return f"{others[0]} also moves its bones" if others else "IK gets no closer"
