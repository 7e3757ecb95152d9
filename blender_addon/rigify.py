# SPDX-License-Identifier: GPL-3.0-or-later
"""The limbs of Rigify's rigs and of Mixamo's control rig: which bones are FK, which IK, and which are moved.

Nothing goes by names but that of the switch: what that switches between is read from constraints. A paw stands on its
toe, which is one bone for FK and IK; over it a heel, which hangs on all of the leg, turns the foot. A hoof is such a
toe, and has a bone more above it, the pastern.
"""

from dataclasses import dataclass
from itertools import pairwise

import bpy

from . import actions
from .armatures import Rig, chain_of
from .limbs import is_selected

SWITCHES = ("IK_FK", "ik_fk_switch")  # of Rigify; of Mixamo's control rig and Auto-Rig Pro
NEAR = 1e-3  # of its length: a bone that starts as near to where another does starts there
COPIES = ("COPY_TRANSFORMS", "COPY_ROTATION")


@dataclass(frozen=True)
class Paw:
    """What a limb of three bones has besides, or one of four, by name."""

    toe: str
    hanging: str  # what the toe hangs on: on the foot in FK, in IK where that stands on its socket
    foot: str  # what that hangs on in FK
    socket: str
    heel: str  # the control that turns what IK reaches for about the toe
    pastern: str  # the control that turns a fourth bone about the toe, on which the heel stands; "" if there is none


@dataclass(frozen=True)
class SwitchedLimb:
    """A limb with FK and IK bones in pairs, root first, all by name."""

    object: bpy.types.Object
    switch: str  # the bone that has the switch
    fk: tuple[str, ...]
    turned: tuple[str, ...]  # what an animator turns for these: themselves, or what they hang on
    ik: tuple[str, ...]
    shown: tuple[str, ...]  # what copies one of both
    target: str  # what IK reaches for: the IK foot, or what that looks at
    control: str  # what an animator moves for that
    pole: str
    rest: tuple[str, ...]  # controls between that and what IK reaches for
    thigh: str  # what an animator turns for the first IK bone
    paw: Paw | None

    @property
    def bones(self):
        """The pose bones of the armature."""
        return self.object.pose.bones

    @property
    def word(self):
        """What its switch is called."""
        return next(name for name in SWITCHES if name in self.bones[self.switch])

    @property
    def path(self):
        """The data path of its switch."""
        return f'{actions.path_of(self.bones[self.switch], "")[:-1]}["{self.word}"]'

    def poled(self):
        """Whether its pole says where it bends to, not the twist of its first bone."""
        return bool(self.bones[self.switch].get("pole_vector", True))

    def solved(self):
        """The bones that IK turns; a heel may hang on more of them."""
        above = {bone.name for bone in self.bones[self.paw.heel].parent_recursive} if self.paw else set()
        for bone in self.bones if self.paw else ():
            for chain in (chain_of(bone, each) for each in bone.constraints if each.type == "IK"):
                above |= {*chain} if above & {*chain} else set()
        return [self.bones[name] for name in (*self.ik[:2], *sorted(above.difference(self.ik)))]

    def controls(self):
        """The bones that may have keys, by name."""
        names = [*self.fk, *self.turned, *self.ik, self.control, self.pole, *self.rest, self.thigh]
        return names + ([name for name in (self.paw.toe, self.paw.heel, self.paw.pastern) if name] if self.paw else [])

    def selected(self):
        """Whether a bone of it is selected."""
        return any(is_selected(self.bones[name]) for name in self.controls())


def switch_of(armature):
    """The switch that a bone of an armature has, for limbs of any kind, by name; or None."""
    return next((name for bone in armature.pose.bones for name in SWITCHES if name in bone), None)


def limbs(armature):
    """All limbs of an armature that IK_FK switches, and whose IK turns two bones."""
    found = (_limb(armature, armature.path_resolve(above), bones) for above, bones in _switched(armature))
    return [limb for limb in found if limb]


def standing(armature):
    """The FK bones of the limbs that have toes, by name, as (thigh, shins, foot, toes): toes hang on a paw's foot."""
    found, pose = [], armature.pose.bones
    for _, bones in _switched(armature):
        fk, _, _, hanging = _copies(armature, bones)
        fk = _turned(pose, fk)
        if not all(pose[one] in pose[other].parent_recursive for one, other in pairwise(fk)):
            continue  # those hang on others, which are to be found
        if hanging and len(fk) > 2:
            found.append((fk[0], fk[1:-1], fk[-1], None))
        elif len(fk) > 3:
            found.append((fk[0], fk[1:-2], fk[-2], fk[-1]))
    return found


def _switched(armature):
    """Chains of bones that copy others as a switch says, as (data path of the bone that has it, bones root first)."""
    drivers, found = Rig(armature).drivers, {}
    for path, (driver, *_) in drivers.items():
        for variable in driver.driver.variables if ".constraints[" in path else ():
            above, _, name = variable.targets[0].data_path.rpartition("[")
            if name[1:-2] in SWITCHES and variable.targets[0].id == armature:
                found.setdefault(above, []).append(armature.path_resolve(path.partition(".constraints[")[0]))
    return [(above, chain) for above, bones in found.items() for chain in _chains(bones)]


def _chains(bones):
    """Bones by what they hang on, root first: one switch may be for both legs."""
    chains = []
    for bone in sorted(dict.fromkeys(bones), key=lambda bone: len(bone.parent_recursive)):
        mine = next((chain for chain in chains if chain[0] in bone.parent_recursive), None)
        if mine is None:
            chains.append(mine := [])
        mine.append(bone)
    return chains


def _copies(armature, bones):
    """The names of what bones copy, (FK, IK), of these bones, and the others, which copy but one: paws stand on that.

    No names if it is not one of two each.
    """
    copies = {bone: [each.subtarget for each in bone.constraints if each.type in COPIES] for bone in bones}
    hanging = [bone for bone in bones if len(copies[bone]) == 1]
    pairs = [copies[bone] for bone in bones if bone not in hanging]
    if not pairs or any(len(both) != 2 for both in pairs):
        return (), (), (), hanging
    one, other = zip(*pairs, strict=True)
    solved = {
        name
        for bone in armature.pose.bones
        for each in bone.constraints
        if each.type == "IK"
        for name in chain_of(bone, each)
    }
    fk, ik = (other, one) if solved & {*one} else (one, other)
    return fk, ik, tuple(bone.name for bone in bones if bone not in hanging), hanging


def _turned(pose, fk):
    """What an animator turns for FK bones: a bone itself, or else the nearest above it on which the next one hangs."""
    turned = []
    for name, below in zip(fk, (*fk[1:], None), strict=True):
        above = [pose[name], *pose[name].parent_recursive]
        found = (bone.name for bone in above if below is None or bone in pose[below].parent_recursive)
        turned.append(next(found, name))
    return tuple(turned)


def _same(pose, name, other):
    """Whether one bone is another, or both start at one place at rest: IK may reach for what the foot looks at."""
    one, two = (pose[each].bone for each in (name, other))
    return (one.head_local - two.head_local).length <= NEAR * two.length


def _limb(armature, switch, bones):
    """The limb of bones that copy one of two each, or None; one more may copy where a paw stands."""
    fk, ik, shown, hanging = _copies(armature, bones)
    if len(fk) < 3 or len(hanging) > 1:
        return None
    pose = armature.pose.bones
    solving = [each for each in pose[ik[1]].constraints if each.type == "IK"]
    poles = [each.pole_subtarget for each in solving if each.pole_subtarget]
    if not poles or any(chain_of(pose[ik[1]], each) != ik[:2] for each in solving):
        return None
    if not all(each.subtarget and _same(pose, each.subtarget, ik[2]) for each in solving):
        return None
    socket = next(each.subtarget for each in hanging[0].constraints if each.type in COPIES) if hanging else ik[2]
    paw = _paw(pose, hanging[0], socket, ik) if hanging else None
    body = pose[ik[0]].parent_recursive  # what carries the hip too moves more than the foot
    stands = [bone for bone in (pose[socket], *pose[socket].parent_recursive) if bone not in body]
    above = [bone.name for bone in stands if not all(bone.lock_location)]
    thigh = [bone.name for bone in (pose[ik[0]], *pose[ik[0]].parent_recursive) if not all(bone.lock_rotation)]
    if not above or not thigh or (hanging and not paw):
        return None
    below = [
        bone.name for bone in pose[above[-1]].children_recursive if not all((*bone.lock_location, *bone.lock_rotation))
    ]
    rest = () if paw else tuple(name for name in below if name not in ik and name != poles[0])
    turned = _turned(pose, fk)
    names = solving[0].subtarget, above[-1], poles[0], rest, thigh[0]
    return SwitchedLimb(armature, switch.name, fk, turned, ik, shown, *names, paw)


def _paw(pose, hanging, socket, ik):
    """What a limb has besides of which one bone hangs on its foot, or stands on a socket; or None."""
    toes = [bone.name for bone in hanging.children if not all(bone.lock_rotation)]
    heels = [bone.name for bone in pose[ik[2]].parent_recursive if not all(bone.lock_rotation)]
    turning = [bone.name for bone in pose[ik[-1]].parent_recursive if not all(bone.lock_rotation)]
    pastern = turning[0] if len(ik) == 4 and turning else ""
    if len(ik) - bool(pastern) != 3 or len(toes) != 1 or not heels or not hanging.parent:
        return None
    return Paw(toes[0], hanging.name, hanging.parent.name, socket, heels[0], pastern)
