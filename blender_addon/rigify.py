# SPDX-License-Identifier: GPL-3.0-or-later
"""The limbs of rigs that Rigify makes: which of their bones are FK, which IK, and which an animator moves for that.

Nothing goes by names but IK_FK: what that switches between is read from constraints. A paw stands on its toe, which is
one bone for FK and IK; over it a heel, which hangs on all of the leg, turns the foot.
"""

from dataclasses import dataclass

import bpy

from . import actions
from .armatures import Rig, chain_of
from .limbs import is_selected

SWITCH = "IK_FK"


@dataclass(frozen=True)
class Paw:
    """What a limb of three bones has besides, by name."""

    toe: str
    hanging: str  # what the toe hangs on: on the foot in FK, in IK where that stands on its socket
    foot: str  # what that hangs on in FK
    socket: str
    heel: str  # the control that turns what IK reaches for about the toe


@dataclass(frozen=True)
class SwitchedLimb:
    """A limb with FK and IK bones in pairs, root first, all by name."""

    object: bpy.types.Object
    switch: str  # the bone with IK_FK
    fk: tuple[str, ...]
    ik: tuple[str, ...]
    shown: tuple[str, ...]  # what copies one of both
    control: str  # what an animator moves for what IK reaches for
    pole: str
    rest: tuple[str, ...]  # controls between that and what IK reaches for
    thigh: str  # what an animator turns for the first IK bone
    paw: Paw | None

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

    def solved(self):
        """The bones that IK turns; a heel may hang on more of them."""
        above = self.bones[self.paw.heel].parent_recursive if self.paw else []
        return [*(self.bones[name] for name in self.ik[:2]), *above]

    def controls(self):
        """The bones that may have keys, by name."""
        names = [*self.fk, *self.ik, self.control, self.pole, *self.rest, self.thigh]
        return names + ([self.paw.toe, self.paw.heel] if self.paw else [])

    def selected(self):
        """Whether a bone of it is selected."""
        return any(is_selected(self.bones[name]) for name in self.controls())


def is_switched(armature):
    """Whether a bone of an armature has IK_FK, for limbs of any kind."""
    return any(SWITCH in bone for bone in armature.pose.bones)


def limbs(armature):
    """All limbs of an armature that IK_FK switches, and whose IK turns two bones."""
    pairs = {}
    for path, drivers in Rig(armature).drivers.items():
        for variable in drivers[0].driver.variables if ".constraints[" in path else ():
            above, _, name = variable.targets[0].data_path.rpartition("[")
            if name == f'"{SWITCH}"]' and variable.targets[0].id == armature:
                pairs.setdefault(above, []).append(armature.path_resolve(path.partition(".constraints[")[0]))
    found = (_limb(armature, armature.path_resolve(above), bones) for above, bones in pairs.items())
    return [limb for limb in found if limb]


def _limb(armature, switch, bones):
    """The limb of bones that copy one of two each, or None; one more may copy where a paw stands."""
    bones = sorted(dict.fromkeys(bones), key=lambda bone: len(bone.parent_recursive))
    copies = {bone: [each.subtarget for each in bone.constraints if each.type == "COPY_TRANSFORMS"] for bone in bones}
    hanging = [bone for bone in bones if len(copies[bone]) == 1]
    pairs = [copies[bone] for bone in bones if bone not in hanging]
    shown = tuple(bone.name for bone in bones if bone not in hanging)
    if len(pairs) < 3 or len(hanging) > 1 or any(len(both) != 2 for both in pairs):
        return None
    fk, ik = zip(*pairs, strict=True)
    pose = armature.pose.bones
    solving = [each for each in pose[ik[1]].constraints if each.type == "IK"]
    poles = [each.pole_subtarget for each in solving if each.pole_subtarget]
    if not poles or any((chain_of(pose[ik[1]], each), each.subtarget) != (ik[:2], ik[2]) for each in solving):
        return None
    paw = _paw(pose, hanging[0], copies[hanging[0]][0], ik) if hanging else None
    above = [bone.name for bone in pose[paw.socket if paw else ik[2]].parent_recursive if not all(bone.lock_location)]
    thigh = [bone.name for bone in (pose[ik[0]], *pose[ik[0]].parent_recursive) if not all(bone.lock_rotation)]
    if not above or not thigh or (hanging and not paw):
        return None
    below = [bone.name for bone in pose[above[-1]].children_recursive if not all(bone.lock_rotation)]
    rest = () if paw else tuple(name for name in below if name not in ik and name != poles[0])
    return SwitchedLimb(armature, switch.name, fk, ik, shown, above[-1], poles[0], rest, thigh[0], paw)


def _paw(pose, hanging, socket, ik):
    """What a limb has besides of which one bone hangs on its foot, or stands on a socket; or None."""
    toes = [bone.name for bone in hanging.children if not all(bone.lock_rotation)]
    heels = [bone.name for bone in pose[ik[2]].parent_recursive if not all(bone.lock_rotation)]
    if len(ik) != 3 or len(toes) != 1 or not heels or not hanging.parent:
        return None
    return Paw(toes[0], hanging.name, hanging.parent.name, socket, heels[0])
