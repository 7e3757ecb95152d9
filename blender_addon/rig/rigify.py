# SPDX-License-Identifier: GPL-3.0-or-later
"""Limbs of Rigify's rigs and of Mixamo's control rig: their FK bones, IK bones and controls.

Only the switch is found by name. Its FK and IK bones are read from constraints. A paw stands on its toe, which is one
bone for FK and IK. Above it a heel, parent of the whole leg, rotates the foot. A hoof is such a toe, with one more bone
above it, the pastern.
"""

from dataclasses import dataclass
from itertools import pairwise

import bpy

from ..animation import actions
from ..limbs.ik_constraints import is_selected
from .armatures import Rig, chain_of

SWITCHES = ("IK_FK", "ik_fk_switch")  # of Rigify; of Mixamo's control rig and Auto-Rig Pro
NEAR = 1e-3  # relative to its length: tolerance for bones with the same head
COPIES = ("COPY_TRANSFORMS", "COPY_ROTATION")


@dataclass(frozen=True)
class Paw:
    """Additional bones of a limb with three bones, or four, by name."""

    toe: str
    hanging: str  # the toe's parent: the foot in FK; in IK, the foot's socket
    foot: str  # the toe's parent in FK
    socket: str
    heel: str  # the control that rotates the IK target about the toe
    pastern: str  # the control that rotates a fourth bone about the toe, below the heel; "" if there is none


@dataclass(frozen=True)
class SwitchedLimb:
    """A limb with FK and IK bones in pairs, root first, all by name."""

    object: bpy.types.Object
    switch: str  # the bone that has the switch
    fk: tuple[str, ...]
    turned: tuple[str, ...]  # the FK controls: the bones themselves, or ancestors
    ik: tuple[str, ...]
    shown: tuple[str, ...]  # the bones that copy one of both
    target: str  # the IK target: the IK foot, or the target of its constraint
    control: str  # the control of that
    pole: str
    rest: tuple[str, ...]  # controls between it and the IK target
    thigh: str  # the control of the first IK bone
    paw: Paw | None

    @property
    def bones(self):
        """The pose bones of the armature."""
        return self.object.pose.bones

    @property
    def word(self):
        """The name of its switch."""
        return next(name for name in SWITCHES if name in self.bones[self.switch])

    @property
    def path(self):
        """The data path of its switch."""
        return f'{actions.path_of(self.bones[self.switch], "")[:-1]}["{self.word}"]'

    def pole_sets_bend(self):
        """True if its pole defines the bend direction, not the twist of its first bone."""
        return bool(self.bones[self.switch].get("pole_vector", True))

    def ik_bones(self):
        """The bones that IK rotates; a heel may have more of them as children."""
        above = {bone.name for bone in self.bones[self.paw.heel].parent_recursive} if self.paw else set()
        for bone in self.bones if self.paw else ():
            for chain in (chain_of(bone, each) for each in bone.constraints if each.type == "IK"):
                above |= {*chain} if above & {*chain} else set()
        return [self.bones[name] for name in (*self.ik[:2], *sorted(above.difference(self.ik)))]

    def controls(self):
        """The bones that may have keys, by name."""
        names = [*self.fk, *self.turned, *self.ik, self.control, self.pole, *self.rest, self.thigh]
        return names + ([name for name in (self.paw.toe, self.paw.heel, self.paw.pastern) if name] if self.paw else [])

    def fk_control(self, name):
        """The FK control that moves the same part as one of its bones; that of the end for the IK target."""
        pairs = zip((*self.turned, *self.fk, *self.ik), (*self.turned, *self.turned, *self.turned), strict=True)
        return dict(pairs).get(name, self.turned[2])

    def is_selected(self):
        """True if one of its bones is selected."""
        return any(is_selected(self.bones[name]) for name in self.controls())


def switch_of(armature):
    """The switch of a bone of an armature, for limbs of any kind, by name; or None."""
    return next((name for bone in armature.pose.bones for name in SWITCHES if name in bone), None)


def limbs(armature):
    """All switched limbs of an armature whose IK rotates two bones."""
    found = (_limb(armature, armature.path_resolve(above), bones) for above, bones in _switched_chains(armature))
    return [limb for limb in found if limb]


def fk_legs(armature):
    """The FK bones of limbs with toes, by name, as (thigh, shins, foot, toes).

    A paw's toes are children of its foot.
    """
    found, pose = [], armature.pose.bones
    for _, bones in _switched_chains(armature):
        fk, _, _, hanging = _copies(armature, bones)
        fk = _fk_controls(pose, fk)
        if not all(pose[one] in pose[other].parent_recursive for one, other in pairwise(fk)):
            continue  # those have parents that are to be found
        if hanging and len(fk) > 2:
            found.append((fk[0], fk[1:-1], fk[-1], None))
        elif len(fk) > 3:
            found.append((fk[0], fk[1:-2], fk[-2], fk[-1]))
    return found


def _switched_chains(armature):
    """Chains of switched copying bones, as (data path of the bone with the switch, bones root first)."""
    drivers, found = Rig(armature).drivers, {}
    for path, (driver, *_) in drivers.items():
        for variable in driver.driver.variables if ".constraints[" in path else ():
            above, _, name = variable.targets[0].data_path.rpartition("[")
            if name[1:-2] in SWITCHES and variable.targets[0].id == armature:
                found.setdefault(above, []).append(armature.path_resolve(path.partition(".constraints[")[0]))
    return [(above, chain) for above, bones in found.items() for chain in _chains(bones)]


def _chains(bones):
    """Bones by hierarchy, root first: one switch may be for both legs."""
    chains = []
    for bone in sorted(dict.fromkeys(bones), key=lambda bone: len(bone.parent_recursive)):
        mine = next((chain for chain in chains if chain[0] in bone.parent_recursive), None)
        if mine is None:
            chains.append(mine := [])
        mine.append(bone)
    return chains


def _copies(armature, bones):
    """The names of the copied bones, (FK, IK), and the bones that copy only one: those on which paws stand.

    No names if they are not two each.
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


def _fk_controls(pose, fk):
    """The controls of FK bones: a bone itself, or the nearest ancestor that is a parent of the next one."""
    turned = []
    for name, below in zip(fk, (*fk[1:], None), strict=True):
        above = [pose[name], *pose[name].parent_recursive]
        found = (bone.name for bone in above if below is None or bone in pose[below].parent_recursive)
        turned.append(next(found, name))
    return tuple(turned)


def _same(pose, name, other):
    """True if two bones are the same or have the same head at rest: IK may target the foot's own target."""
    one, two = (pose[each].bone for each in (name, other))
    return (one.head_local - two.head_local).length <= NEAR * two.length


def _limb(armature, switch, bones):
    """The limb of bones that copy one of two each, or None. One more may copy, for a paw."""
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
    body = pose[ik[0]].parent_recursive  # ancestors of the hip move more than the foot
    stands = [bone for bone in (pose[socket], *pose[socket].parent_recursive) if bone not in body]
    above = [bone.name for bone in stands if not all(bone.lock_location)]
    thigh = [bone.name for bone in (pose[ik[0]], *pose[ik[0]].parent_recursive) if not all(bone.lock_rotation)]
    if not above or not thigh or (hanging and not paw):
        return None
    below = [
        bone.name for bone in pose[above[-1]].children_recursive if not all((*bone.lock_location, *bone.lock_rotation))
    ]
    rest = () if paw else tuple(name for name in below if name not in ik and name != poles[0])
    turned = _fk_controls(pose, fk)
    names = solving[0].subtarget, above[-1], poles[0], rest, thigh[0]
    return SwitchedLimb(armature, switch.name, fk, turned, ik, shown, *names, paw)


def _paw(pose, hanging, socket, ik):
    """The additional bones of a limb with a child bone on its foot or on a socket; or None."""
    toes = [bone.name for bone in hanging.children if not all(bone.lock_rotation)]
    heels = [bone.name for bone in pose[ik[2]].parent_recursive if not all(bone.lock_rotation)]
    turning = [bone.name for bone in pose[ik[-1]].parent_recursive if not all(bone.lock_rotation)]
    pastern = turning[0] if len(ik) == 4 and turning else ""
    if len(ik) - bool(pastern) != 3 or len(toes) != 1 or not heels or not hanging.parent:
        return None
    return Paw(toes[0], hanging.name, hanging.parent.name, socket, heels[0], pastern)
