# SPDX-License-Identifier: GPL-3.0-or-later
"""FK/IK matching of limbs in Rigify's rigs and Mixamo's control rig, by keys, in both directions.

Controls between the foot and the IK target, such as those of the roll, are reset, and children of the foot are placed
after it. Controls that rotate both knee and foot, such as thighs without a pole and heels of paws, are found by
iteration.
"""

import contextlib

import numpy as np

from .. import bridge
from ..animation import actions, scene_frames
from ..rig import inheritance
from ..rig import rotations as rot
from ..rig.armatures import CannotBakeError, Rig, not_writable
from .controls import Control, Handle
from .ik_from_fk import STRAIGHT, Report, here, level_pole, reader, set_first, store_reports, worst, write_keys

ROUNDS = 10  # iterations for thighs and heels
NEAR = 1e-5  # radians: tolerance of their rotation
STEP = 0.5  # radians: largest rotation per iteration
TITLES = {True: "FK to IK", False: "IK to FK"}
WHY = {  # known reasons for deviations of some bones
    TITLES[True]: "IK gets no closer",
    TITLES[False]: "IK is stretched or out of reach",
}


def snap(context, chosen, frames, *, to_ik, still=False, switch=True, rigid=True):
    """Key IK controls to match FK limbs, or the other way round; `still`: the current pose, in active actions.

    IK that may stretch its bones also shortens them for a near target. If it is to be `rigid`, stretching is disabled.
    A generator that yields progress, and returns a report of each armature.
    """
    look, taken = (here if still else scene_frames.visit), [LimbFrames(limb, len(frames), to_ik) for limb in chosen]

    def again():
        return look(context, frames, reader(taken))

    armatures = list(dict.fromkeys(limb.object for limb in chosen))
    with (
        _disable_stretch(chosen if to_ik and rigid else ()) as eased,
        contextlib.nullcontext() if still else scene_frames.restore_after(context, armatures),
    ):
        yield from scene_frames.run_part(again(), 0.0, 0.2)
        work = channels_by_armature(taken, lambda each: each.first(switch))
        rest = hung(taken, frames, again, still) if to_ik else again()
        yield from write_keys(work, frames, rest, TITLES[to_ik], still=still)
    for limb in chosen if switch else ():
        scene_frames.set_value(limb.object, limb.path, type(scene_frames.value(limb.object, limb.path))(not to_ik))
        limb.object.update_tag()
    return store_reports(armatures, [_report(armature, taken, frames, TITLES[to_ik], eased) for armature in armatures])


@contextlib.contextmanager
def _disable_stretch(chosen):
    """Disable stretching of the limbs' IK bones.

    If the following code fails, it is restored.
    """
    bones = [bone for limb in chosen for bone in limb.ik_bones() if bone.ik_stretch > 0]
    before = [bone.ik_stretch for bone in bones]
    try:
        for bone in bones:
            bone.ik_stretch = 0.0
        yield bones
    except BaseException:
        for bone, stretch in zip(bones, before, strict=True):
            bone.ik_stretch = stretch
        raise


def hung(taken, frames, again, still):
    """Key the children of feet that are in place now: toes, poles, the twist of thighs without one."""
    yield from scene_frames.run_part(again(), 0.0, 0.2)
    work = channels_by_armature(taken, lambda each: each.second())
    with set_first(work) if still else contextlib.nullcontext():
        yield from actions.overwrite(work, frames, 0.2, _iterate_twist(taken, frames, again, still))


def _iterate_twist(taken, frames, again, still):
    """Iterate heels of paws, and thighs without a pole, until everything is in place; then verify once more."""
    free = [each for each in taken if each.turns]
    for number in range(ROUNDS if free else 0):
        yield from scene_frames.run_part(again(), 0.2 + 0.7 * number / ROUNDS, 0.2 + 0.7 * (number + 1) / ROUNDS)
        if max([each.turns.go_on() for each in free]) < NEAR:
            break
        for armature, channels in channels_by_armature(free, lambda each: each.turns.channels()):
            _, action, slot = actions.assignment(armature)
            for channel in channels:
                actions.write_keys(actions.ensure_bag(action, slot), channel, frames)
                if still:
                    armature.path_resolve(channel.path)[channel.index] = channel.values[0]
    yield from scene_frames.run_part(again(), 0.9, 1.0)


def channels_by_armature(taken, channels):
    """The channels to write for each armature, as (armature, channels)."""
    joined = {}
    for each in taken:
        joined.setdefault(each.limb.object, []).extend(channels(each))
    return list(joined.items())


class LimbFrames:
    """A limb over frames: its FK and IK bones, in armature space, and the controls to key."""

    def __init__(self, limb, count, to_ik):
        self.limb, self.to_ik = limb, to_ik
        self.fk, self.ik = np.empty((2, len(limb.fk), count, 4, 4))
        self.spaces, self.parents = np.empty((count, 4, 4)), np.tile(np.eye(4), (count, 1, 1))
        self.toe, self.written = np.empty((count, 4, 4)), False  # matrices of a paw's toe before any change
        self.turns = None
        self.controls = {name: Control(Handle(limb.object, name), count, names) for name, names in self.key_channels()}
        self._check()

    def key_channels(self):
        """The controls to key, and their channels."""
        limb, both = self.limb, ["location", "rotation"]
        if not self.to_ik:
            fk = [(name, both[1:] if n < 3 else self.free(name)) for n, name in enumerate(limb.turned)]
            return fk + ([(limb.paw.toe, both)] if limb.paw else [])
        ik = [(limb.control, both), *((name, self.free(name)) for name in self.toes())]
        ik += [(limb.pole, both[:1])] if limb.pole_sets_bend() else []
        return ik + ([(name, both[1:]) for name in (limb.paw.heel, limb.paw.pastern) if name] if limb.paw else [])

    def free(self, name):
        """The channels of a toe: a connected one cannot be translated, and starts at its foot's tail."""
        return ["rotation"] if self.limb.bones[name].bone.use_connect else ["location", "rotation"]

    def _check(self):
        """Refuse bones that keys would not move, besides those of controls."""
        rig, limb = Rig(self.limb.object), self.limb
        names = (
            [*self.rest(), *([] if limb.pole_sets_bend() else [limb.thigh])] if limb.control in self.controls else []
        )
        if reason := next(filter(None, (not_writable(limb.bones[name], rig, "rotation") for name in names)), None):
            raise CannotBakeError(reason)

    def rest(self):
        """The controls that are reset."""
        return (*self.limb.rest, self.limb.paw.toe) if self.limb.paw else self.limb.rest

    def toes(self):
        """The IK bones that are children of the foot and have their own keys."""
        return () if self.limb.paw else self.limb.ik[3:]

    def read(self, depsgraph, number):
        """Read the bones in this frame."""
        armature = self.limb.object.evaluated_get(depsgraph)
        bones, self.spaces[number] = armature.pose.bones, armature.matrix_world
        self.read_fk(bones, number)
        self.ik[:, number] = [bones[name].matrix for name in self.limb.ik]
        self.parents[number] = bones[self.limb.thigh].parent.matrix
        if self.limb.paw and not self.written:
            self.toe[number] = bones[self.limb.paw.toe].matrix
        for control in self.controls.values():
            control.read(depsgraph, number)

    def read_fk(self, bones, number):
        """Read the FK bones."""
        self.fk[:, number] = [bones[name].matrix for name in self.limb.fk]

    def first(self, switch):
        """The channels that are written first."""
        limb, paw, channels = self.limb, self.limb.paw, []
        self.written = True
        if self.to_ik:
            stands = self.rigid_matrices(self.toe, paw.toe, paw.hanging) if paw else self.fk[2]
            channels += self.control_channels(
                limb.control, self.rigid_matrices(stands, paw.socket if paw else limb.ik[2], limb.control)
            )
            channels += self.pastern()
            channels += [channel for name in self.rest() for channel in self._at_rest(limb.bones[name])]
        else:
            above = None
            for name, copied, wanted in zip(limb.turned, limb.fk, self.ik, strict=True):
                channels += self.control_channels(name, self.rigid_matrices(wanted, copied, name), above)
                above = self.controls[name]
            if paw:
                self.controls[paw.toe].parents = self.rigid_matrices(self.ik[-1], paw.foot, paw.hanging)
                channels += self.control_channels(paw.toe, without_scale(self.toe))
        if switch and limb.path in Rig(limb.object).curves:
            values = np.full(len(self.spaces), 0.0 if self.to_ik else 1.0)
            channels.append(actions.Channel(limb.path, 0, limb.switch, values))
        return channels

    def second(self):
        """The channels of children of the foot, which is in place."""
        limb = self.limb
        toes = zip(self.toes(), self.fk[3:], strict=False)
        channels = [each for name, wanted in toes for each in self.control_channels(name, without_scale(wanted))]
        if limb.pole_sets_bend():
            pole = np.tile(np.eye(4), (len(self.spaces), 1, 1))
            angle = next(
                each.pole_angle
                for each in limb.bones[limb.ik[1]].constraints
                if each.type == "IK" and each.pole_subtarget
            )
            pole[:, :3, 3] = level_pole(self.fk[:3, :, :3, 3], self.fk[0], angle)
            channels += self.control_channels(limb.pole, pole)
        if self.is_turned():
            self.turns = _Turns(self)
            channels += self.turns.channels()
        return channels

    def is_turned(self):
        """True if a control must be iterated until knee and foot are in place."""
        return self.limb.paw or not self.limb.pole_sets_bend()

    def pastern(self):
        """The channels that rotate the bone above a hoof about it; the hoof is in place."""
        limb = self.limb
        if not limb.paw or not limb.paw.pastern:
            return []
        wanted = self.rigid_matrices(self.fk[3], limb.ik[3], limb.paw.pastern)
        return self.control_channels(limb.paw.pastern, wanted, self.controls[limb.control])

    def heel(self):
        """World matrices of a paw's heel with which the foot is in place."""
        return self.spaces @ self.rigid_matrices(self.fk[2], self.limb.ik[2], self.limb.paw.heel)

    def rigid_matrices(self, poses, name, other):
        """Matrices of a bone that moves rigidly with another, without scale, from their rest poses."""
        at, of = (np.array(self.limb.bones[each].bone.matrix_local) for each in (name, other))
        return without_scale(poses) @ rot.inverse(at) @ of

    def control_channels(self, name, poses, above=None):
        """The channels that move a control to matrices in the space of the armature."""
        return self.controls[name].channels_for(self.spaces @ poses, above)

    def _at_rest(self, bone):
        """The channels that reset a control, if its keys or its pose are different."""
        numbers = {"QUATERNION": (1, 0, 0, 0), "AXIS_ANGLE": (0, 0, 1, 0)}.get(bone.rotation_mode, (0, 0, 0))
        curves, channels = Rig(self.limb.object).curves, []
        for name, path, still in (
            ("rotation", actions.rotation_of(bone), numbers),
            ("location", "location", (0, 0, 0)),
        ):
            if actions.path_of(bone, path) in curves or tuple(getattr(bone, path)) != still:
                channels += actions.channels(bone, name, np.tile(np.array(still, float), (len(self.spaces), 1)))
        return channels


class _Turns:
    """Controls of a limb that rotate both knee and foot: the twist of a poleless thigh, and the heel of a paw."""

    def __init__(self, taken):
        self.taken, self.limb = taken, taken.limb
        self.thigh = None if self.limb.pole_sets_bend() else self.limb.bones[self.limb.thigh]
        self.heel = taken.controls[self.limb.paw.heel] if self.limb.paw else None
        self.search = _Search()
        if self.thigh:
            basis = rot.axes(inheritance.channel_matrices(self.thigh.bone, taken.parents, taken.fk[0]))
            turned = bridge.rotations.from_matrix(basis)
            self.twist = 2 * np.arctan2(turned[:, 2], turned[:, 0])
            self.start = np.array(getattr(self.thigh, actions.rotation_of(self.thigh)))
        if self.heel:
            self.turned = self.heel.basis(taken.heel()).turned

    def go_on(self):
        """One iteration for both, from the errors of knee and foot.

        Returns the largest error in radians.
        """
        off = np.concatenate([each for each in (self._knee_off(), self._heel_off()) if each is not None], axis=-1)
        step = self.search.step(off)
        if self.thigh:
            self.twist += step[:, 0]
        if self.heel:
            self.turned = rot.unit(self.turned + step[:, -4:])[0]
        return np.abs(off).max()

    def channels(self):
        """The channels of both."""
        channels = []
        if self.heel:
            basis = self.heel.basis(self.taken.heel())
            basis.turned = self.turned
            channels += self.heel.channels(basis)
        if self.thigh:
            turned = bridge.rotations.from_axis_angle(np.tile([0.0, 1.0, 0.0], (len(self.twist), 1)), self.twist)
            values = rot.numbers(self.thigh.rotation_mode, turned, self.start)
            free = ~np.array(self.thigh.lock_rotation) if values.shape[1] == 3 else None
            channels += actions.channels(self.thigh, "rotation", values, free)
        return channels

    def _knee_off(self):
        """Angle error of the knee about the line from hip to foot, (frames, 1)."""
        if not self.thigh:
            return None
        (hip, knee, foot), ik = self.taken.fk[:3, :, :3, 3], self.taken.ik[:, :, :3, 3]
        way, size = rot.unit(foot - hip)
        now, wanted = rot.across(ik[1] - ik[0], way), rot.across(knee - hip, way)
        angle = np.arctan2(np.sum(way * np.cross(now, wanted), axis=-1), np.sum(now * wanted, axis=-1))
        angle[np.linalg.norm(wanted, axis=-1) < STRAIGHT * size] = 0.0  # a straight leg has no knee direction
        return angle[:, np.newaxis]

    def _heel_off(self):
        """Quaternion error of the heel, (frames, 4)."""
        if not self.heel:
            return None
        wanted = self.heel.basis(self.taken.heel()).turned
        return wanted * np.where(np.sum(wanted * self.turned, axis=-1) < 0, -1, 1)[:, np.newaxis] - self.turned


class _Search:
    """Broyden's method for a zero error, for every frame separately; the first step is the error itself."""

    def __init__(self):
        self.before = None  # the previous error and step

    def step(self, off):
        """The next step, (frames, numbers), given the error after the last one."""
        if self.before is None:
            self.inverse = np.tile(np.eye(off.shape[1]), (len(off), 1, 1))
        else:
            was, step = self.before
            self._learn(was, step, off)
        step = np.einsum("nij,nj->ni", self.inverse, off)
        way, size = rot.unit(step)
        step = way * np.minimum(size, STEP)[:, np.newaxis]
        self.before = off, step
        return step

    def _learn(self, was, step, off):
        """Update the inverse so that it predicts the last step from its error change, if that was large enough."""
        gone = np.einsum("nij,nj->ni", self.inverse, was - off)
        along = np.einsum("ni,nij->nj", step, self.inverse)
        size = np.sum(step * gone, axis=-1)
        fair = np.abs(size) > 1e-3 * np.sum(step * step, axis=-1)
        by = np.einsum("ni,nj->nij", step - gone, along)
        self.inverse += np.where(fair, 1 / np.where(fair, size, 1.0), 0.0)[:, np.newaxis, np.newaxis] * by


def without_scale(matrices):
    """Matrices without their scale."""
    made = matrices.copy()
    made[:, :3, :3] = rot.axes(matrices)
    return made


def _report(armature, taken, frames, title, eased):
    """The distance between FK and IK of the limbs of an armature."""
    mine = [each for each in taken if each.limb.object == armature]
    sizes = [np.linalg.norm(np.diff(each.fk[:3, 0, :3, 3], axis=0), axis=-1).sum() for each in mine]
    far = [np.linalg.norm((each.fk - each.ik)[..., :3, 3], axis=-1) for each in mine]
    askew = [np.linalg.norm(rot.axes(each.fk) - rot.axes(each.ik), axis=-2).max(axis=-1) for each in mine]
    scale, problems = armature.matrix_world.median_scale, []
    for each, away, turned, size in zip(mine, far, askew, sizes, strict=True):
        problems += worst(each.limb.fk, away * scale, turned, frames, size * scale, WHY[title])
    most = [float(max(values.max() for values in found)) for found in (far, askew)]
    names = [bone.name for bone in eased if bone.id_data == armature]
    many = f"{len(names)} {'bone' if len(names) == 1 else 'bones'}"
    told = [f"Set IK Stretch to 0 on {many} so that IK matches FK"] if names else []
    turned = float(np.degrees(most[1]))
    return Report(title, armature.name, len(mine), len(frames), most[0] * scale, turned, problems, notes=told)
