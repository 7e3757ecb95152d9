# SPDX-License-Identifier: GPL-3.0-or-later
"""The two-bone limbs of rigs that Rigify makes: which of their bones are FK and which IK, and keys on one by the other.

Nothing goes by names but IK_FK: what that switches between is read from constraints. Controls between the foot and what
IK reaches for, such as those of the roll, are set to rest, and what hangs on the foot is put after it is there.
"""

import contextlib
from dataclasses import dataclass

import bpy
import numpy as np

from . import actions, bridge, hang, stage
from . import rotations as rot
from .armatures import CannotBakeError, Rig, chain_of, not_writable
from .controls import Control, Handle
from .from_fk import STRAIGHT, Report, here, level_pole, reader, set_first, worst, written
from .limbs import is_selected

SWITCH = "IK_FK"
ROUNDS = 4  # in which the twist of a thigh is found that has no pole
NEAR = 1e-5  # radians of that twist which are near enough
TITLES = {True: "IK from FK", False: "FK from IK"}


@dataclass(frozen=True)
class SwitchedLimb:
    """A limb with FK and IK bones in pairs, root first, all by name."""

    object: bpy.types.Object
    switch: str  # the bone with IK_FK
    fk: tuple[str, ...]
    ik: tuple[str, ...]
    control: str  # what an animator moves for what IK reaches for
    pole: str
    rest: tuple[str, ...]  # controls between that and what IK reaches for

    @property
    def bones(self):
        """The pose bones of the armature."""
        return self.object.pose.bones

    @property
    def path(self):
        """The data path of its switch."""
        return f'{actions.path_of(self.bones[self.switch], "")[:-1]}["{SWITCH}"]'

    def poled(self):
        """Whether its pole says where it bends to, not the twist of its first bone."""
        return bool(self.bones[self.switch].get("pole_vector", True))

    def selected(self):
        """Whether a bone of it is selected."""
        return any(is_selected(self.bones[name]) for name in (*self.fk, *self.ik, self.control, self.pole, *self.rest))


def is_switched(armature):
    """Whether a bone of an armature has IK_FK, for limbs of any kind."""
    return any(SWITCH in bone for bone in armature.pose.bones)


def limbs(armature):
    """All limbs of an armature that IK_FK switches, and whose IK has two bones."""
    pairs = {}
    for path, drivers in Rig(armature).drivers.items():
        for variable in drivers[0].driver.variables if ".constraints[" in path else ():
            above, _, name = variable.targets[0].data_path.rpartition("[")
            if name == f'"{SWITCH}"]' and variable.targets[0].id == armature:
                pairs.setdefault(above, []).append(armature.path_resolve(path.partition(".constraints[")[0]))
    found = (_limb(armature, armature.path_resolve(above), bones) for above, bones in pairs.items())
    return [limb for limb in found if limb]


def _limb(armature, switch, bones):
    """The limb of bones that copy one of two each, or None."""
    bones = sorted(dict.fromkeys(bones), key=lambda bone: len(bone.parent_recursive))
    copies = [[each.subtarget for each in bone.constraints if each.type == "COPY_TRANSFORMS"] for bone in bones]
    if len(copies) < 3 or any(len(both) != 2 for both in copies):
        return None
    fk, ik = zip(*copies, strict=True)
    pose = armature.pose.bones
    solving = [each for each in pose[ik[1]].constraints if each.type == "IK"]
    poles = [each.pole_subtarget for each in solving if each.pole_subtarget]
    if not poles or any((chain_of(pose[ik[1]], each), each.subtarget) != (ik[:2], ik[2]) for each in solving):
        return None
    above = [bone.name for bone in pose[ik[2]].parent_recursive if not all(bone.lock_location)]
    if not above:
        return None
    below = [bone.name for bone in pose[above[-1]].children_recursive if not all(bone.lock_rotation)]
    rest = tuple(name for name in below if name not in ik and name != poles[0])
    return SwitchedLimb(armature, switch.name, fk, ik, above[-1], poles[0], rest)


def snap(context, chosen, frames, *, to_ik, still=False, switch=True, rigid=True):
    """Key IK controls where FK has limbs, or the other way round; `still`: as all is now, in the actions that play.

    IK that may stretch its bones also shortens them where a target is in reach: if it is to be `rigid`, no longer.
    A generator that yields the share that is done, and returns a report of each armature.
    """
    look, taken = (here if still else stage.visit), [_Taken(limb, len(frames), to_ik) for limb in chosen]

    def again():
        return look(context, frames, reader(taken))

    armatures = list(dict.fromkeys(limb.object for limb in chosen))
    with (
        _unstretched(chosen if to_ik and rigid else ()) as eased,
        contextlib.nullcontext() if still else stage.restored(context, armatures),
    ):
        yield from stage.between(again(), 0.0, 0.2)
        work = _joined(taken, lambda each: each.first(switch))
        rest = _hung(taken, frames, again, still) if to_ik else again()
        yield from written(work, frames, rest, TITLES[to_ik], still=still)
    for limb in chosen if switch else ():
        stage.set_value(limb.object, limb.path, type(stage.value(limb.object, limb.path))(not to_ik))
        limb.object.update_tag()
    return [_report(armature, taken, frames, TITLES[to_ik], eased) for armature in armatures]


@contextlib.contextmanager
def _unstretched(chosen):
    """The IK bones of limbs that may not stretch any more; if what follows fails, they may again."""
    bones = [limb.bones[name] for limb in chosen for name in limb.ik[:2] if limb.bones[name].ik_stretch > 0]
    before = [bone.ik_stretch for bone in bones]
    try:
        for bone in bones:
            bone.ik_stretch = 0.0
        yield bones
    except BaseException:
        for bone, stretch in zip(bones, before, strict=True):
            bone.ik_stretch = stretch
        raise


def _hung(taken, frames, again, still):
    """Key what hangs on feet that are in their places now: toes, poles, the twist of thighs without one."""
    yield from stage.between(again(), 0.0, 0.2)
    work = _joined(taken, _Taken.second)
    with set_first(work) if still else contextlib.nullcontext():
        yield from actions.overwrite(work, frames, 0.2, _twisted(taken, frames, again, still))


def _twisted(taken, frames, again, still):
    """Turn thighs without a pole on, until their knees are where they should be; then look at all once more."""
    free = [each for each in taken if not each.limb.poled()]
    for number in range(ROUNDS if free else 0):
        yield from stage.between(again(), 0.2 + 0.7 * number / ROUNDS, 0.2 + 0.7 * (number + 1) / ROUNDS)
        if max([each.turn_on() for each in free]) < NEAR:
            break
        for armature, channels in _joined(free, _Taken.twisted):
            _, action, slot = actions.assigned(armature)
            for channel in channels:
                actions.write_keys(actions.ensure_bag(action, slot), channel, frames)
                if still:
                    armature.path_resolve(channel.path)[channel.index] = channel.values[0]
    yield from stage.between(again(), 0.9, 1.0)


def _joined(taken, channels):
    """What to write of each armature, as (armature, channels)."""
    joined = {}
    for each in taken:
        joined.setdefault(each.limb.object, []).extend(channels(each))
    return list(joined.items())


class _Taken:
    """A limb over frames: where its FK and IK bones are, in the space of the armature, and the controls to key."""

    def __init__(self, limb, count, to_ik):
        self.limb, self.to_ik = limb, to_ik
        self.fk, self.ik = np.empty((2, len(limb.fk), count, 4, 4))
        self.spaces, self.parents = np.empty((count, 4, 4)), np.tile(np.eye(4), (count, 1, 1))
        self.start = np.array(getattr(limb.bones[limb.ik[0]], actions.rotation_of(limb.bones[limb.ik[0]])))
        both = ["location", "rotation"]
        if to_ik:
            wanted = [(limb.control, both), *((name, both) for name in limb.ik[3:])]
            wanted += [(limb.pole, both[:1])] if limb.poled() else []
        else:
            wanted = [(name, both[1:] if n < 3 else both) for n, name in enumerate(limb.fk)]
        self.controls = {name: Control(Handle(limb.object, name), count, names) for name, names in wanted}
        self._check()

    def _check(self):
        """Refuse what keys of a bone, besides those of controls, would not move."""
        rig, limb = Rig(self.limb.object), self.limb
        names = [*limb.rest, *(() if limb.poled() else limb.ik[:1])] if self.to_ik else []
        if reason := next(filter(None, (not_writable(limb.bones[name], rig, "rotation") for name in names)), None):
            raise CannotBakeError(reason)

    def read(self, depsgraph, number):
        """Where the bones are in this frame."""
        armature = self.limb.object.evaluated_get(depsgraph)
        bones, self.spaces[number] = armature.pose.bones, armature.matrix_world
        self.fk[:, number] = [bones[name].matrix for name in self.limb.fk]
        self.ik[:, number] = [bones[name].matrix for name in self.limb.ik]
        self.parents[number] = bones[self.limb.ik[0]].parent.matrix
        for control in self.controls.values():
            control.read(depsgraph, number)

    def first(self, switch):
        """The channels to write before anything else."""
        limb, channels = self.limb, []
        if self.to_ik:
            reached, control = (np.array(limb.bones[name].bone.matrix_local) for name in (limb.ik[2], limb.control))
            channels += self._put(limb.control, _rigid(self.fk[2]) @ np.linalg.inv(reached) @ control)
            channels += [channel for name in limb.rest for channel in self._at_rest(limb.bones[name])]
        else:
            above = None
            for name, wanted in zip(limb.fk, self.ik, strict=True):
                channels += self._put(name, _rigid(wanted), above)
                above = self.controls[name]
        if switch and limb.path in Rig(limb.object).curves:
            values = np.full(len(self.spaces), 0.0 if self.to_ik else 1.0)
            channels.append(actions.Channel(limb.path, 0, limb.switch, values))
        return channels

    def second(self):
        """Those of what hangs on the foot, which is in its place."""
        limb = self.limb
        channels = [each for n, name in enumerate(limb.ik) if n > 2 for each in self._put(name, _rigid(self.fk[n]))]
        if limb.poled():
            pole = np.tile(np.eye(4), (len(self.spaces), 1, 1))
            angle = next(
                each.pole_angle
                for each in limb.bones[limb.ik[1]].constraints
                if each.type == "IK" and each.pole_subtarget
            )
            pole[:, :3, 3] = level_pole(self.fk[:3, :, :3, 3], self.fk[0], angle)
            return channels + self._put(limb.pole, pole)
        bone = limb.bones[limb.ik[0]].bone
        basis = bridge.rotations.from_matrix(rot.axes(hang.based(bone, self.parents, self.fk[0])))
        self.twist = 2 * np.arctan2(basis[:, 2], basis[:, 0])
        return channels + self.twisted()

    def twisted(self):
        """Those of the twist of a thigh without a pole."""
        bone = self.limb.bones[self.limb.ik[0]]
        turned = bridge.rotations.from_axis_angle(np.tile([0.0, 1.0, 0.0], (len(self.twist), 1)), self.twist)
        values = rot.numbers(bone.rotation_mode, turned, self.start)
        free = ~np.array(bone.lock_rotation) if values.shape[1] == 3 else None
        return actions.channels(bone, "rotation", values, free)

    def turn_on(self):
        """Take the twist on by as much as the knee is off, about the line from hip to foot: how much at most."""
        hip, knee, foot = self.fk[:3, :, :3, 3]
        way, size = rot.unit(foot - hip)
        now, wanted = rot.across(self.ik[1, :, :3, 3] - self.ik[0, :, :3, 3], way), rot.across(knee - hip, way)
        angle = np.arctan2(np.sum(way * np.cross(now, wanted), axis=-1), np.sum(now * wanted, axis=-1))
        angle[np.linalg.norm(wanted, axis=-1) < STRAIGHT * size] = 0.0  # no knee that could be off
        self.twist += angle
        return np.abs(angle).max()

    def _put(self, name, poses, above=None):
        return self.controls[name].put(self.spaces @ poses, above)

    def _at_rest(self, bone):
        """The channels that put a control to rest, if keys or its pose have it elsewhere."""
        numbers = {"QUATERNION": (1, 0, 0, 0), "AXIS_ANGLE": (0, 0, 1, 0)}.get(bone.rotation_mode, (0, 0, 0))
        curves, channels = Rig(self.limb.object).curves, []
        for name, path, still in (
            ("rotation", actions.rotation_of(bone), numbers),
            ("location", "location", (0, 0, 0)),
        ):
            if actions.path_of(bone, path) in curves or tuple(getattr(bone, path)) != still:
                channels += actions.channels(bone, name, np.tile(np.array(still, float), (len(self.spaces), 1)))
        return channels


def _rigid(matrices):
    """Matrices without their scale."""
    made = matrices.copy()
    made[:, :3, :3] = rot.axes(matrices)
    return made


def _report(armature, taken, frames, title, eased):
    """How near FK and IK of the limbs of an armature are to each other."""
    mine = [each for each in taken if each.limb.object == armature]
    sizes = [np.linalg.norm(np.diff(each.fk[:3, 0, :3, 3], axis=0), axis=-1).sum() for each in mine]
    far = [np.linalg.norm((each.fk - each.ik)[..., :3, 3], axis=-1) for each in mine]
    askew = [np.linalg.norm(rot.axes(each.fk) - rot.axes(each.ik), axis=-2).max(axis=-1) for each in mine]
    scale, off = armature.matrix_world.median_scale, []
    for each, away, turned, size in zip(mine, far, askew, sizes, strict=True):
        off += worst(each.limb.fk, away * scale, turned, frames, size * scale, "as near as IK comes")
    most = [float(max(values.max() for values in found)) for found in (far, askew)]
    names = [bone.name for bone in eased if bone.id_data == armature]
    told = [f"IK Stretch is 0 now, or IK would shorten them: {', '.join(names)}"] if names else []
    turned = float(np.degrees(most[1]))
    return Report(title, armature.name, len(mine), len(frames), most[0] * scale, turned, off, notes=told)
