# SPDX-License-Identifier: GPL-3.0-or-later
"""Legs that a rig switches between FK and IK. A bake treats such a leg as the bones that copy one of both."""

import dataclasses
from dataclasses import dataclass

from ..animation import scene_frames
from ..rig import rigify
from ..rig.armatures import Rig


@dataclass(frozen=True)
class SwitchedLeg:
    """A switched leg with IK influence, or a paw."""

    limb: rigify.SwitchedLimb
    fk: bool  # True if FK has influence on any frame
    ik: bool  # True if IK has


def switched_legs(armature, legs, frames, few):
    """The switched legs that have FK bones, and IK influence on any of these frames, by name.

    Paws in FK are included, because their toes are children of switched bones, unless keys are to be reduced.
    """
    rig, limbs, switched = Rig(armature), rigify.limbs(armature), {}
    for leg in legs:
        bones = leg.bones
        if limb := next((each for each in limbs if len(bones) > 2 and each.turned[: len(bones)] == bones), None):
            fk, ik = _says(rig, limb, frames)
            switched |= {leg.name: SwitchedLeg(limb, fk, ik)} if ik or (limb.paw and not few) else {}
    return switched


def _says(rig, limb, frames):
    """True if FK has influence, and True if IK has."""
    if limb.path in rig.drivers:
        return True, True
    values = [float(scene_frames.value(rig.object, limb.path))]
    for curve in rig.curves.get(limb.path, ()):
        values = values if curve.mute else [curve.evaluate(frame) for frame in frames]
    return max(values) > 0.0, min(values) < 1.0


def visible_leg(leg, switched):
    """A leg by its visible bones, if it is switched.

    A paw then includes its toe, which is their child.
    """
    if switched is None:
        return leg
    limb = switched.limb
    names, hip = dict(zip(limb.turned, limb.shown, strict=True)), limb.shown[0]
    parts = {part: names.get(getattr(leg, part), getattr(leg, part)) for part in ("ankle", "ball", "toe")}
    if limb.paw and not leg.ball and not leg.soles:
        parts |= {"ball": limb.paw.toe, "toe": None}
    soles = {point: (names.get(sole.joint, sole.joint), sole.offset) for point, sole in leg.soles.items()}
    knees = tuple(names[knee] for knee in leg.knees)
    return dataclasses.replace(leg, hip=hip, knees=knees, soles=soles, **parts)
