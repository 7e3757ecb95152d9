# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes in its own way:
# ruff: noqa: N801
"""The list of legs that an armature object keeps: as Blender stores and edits it, and as ikcore has it."""

import dataclasses

import bpy
import numpy as np
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, FloatVectorProperty, StringProperty

from . import bridge, clips, stage
from .armatures import CannotBakeError, skins
from .ranges import animated_range, scene_range

PARTS = ("hip", "ankle", "ball", "toe", "pole")
ENOUGH = 60  # frames in which to look for legs


class IKCORE_PG_name(bpy.types.PropertyGroup):
    """A name in a list of names."""

    name: StringProperty(name="Name", description="Of a bone, an object or a leg")


class IKCORE_PG_leg(bpy.types.PropertyGroup):
    """A leg, by the names of its bones."""

    name: StringProperty(name="Name", description="What the leg is called, such as left")
    use: BoolProperty(name="Bake", description="Bake this leg. If only some are, the pelvis stays", default=True)
    side: EnumProperty(
        name="Side",
        description="The side of the character that the leg is on",
        items=[
            ("left", "Left", "The character's left"),
            ("right", "Right", "The character's right"),
            ("middle", "Middle", "Neither"),
        ],
        default="middle",
    )
    mode: EnumProperty(
        name="Contact",
        description="When the foot counts as planted",
        items=[
            ("auto", "Auto", "As the contact curves say, and where there are none, as its height and its speed say"),
            ("always", "Always", "On all frames"),
            ("never", "Never", "On no frame: the foot only keeps off the ground"),
            ("ground", "By Height", "Where it is low, however fast it is"),
        ],
        default="auto",
    )
    hip: StringProperty(name="Thigh", description="The bone that the leg starts with")
    knees: CollectionProperty(name="Shins", description="The bones that start at the knees", type=IKCORE_PG_name)
    ankle: StringProperty(name="Foot", description="The bone of the foot; none for legs that end in a point")
    ball: StringProperty(name="Toes", description="The bone of the toes, if there is one")
    toe: StringProperty(name="Toe Tip", description="A bone at the tip of the toes; none: the tail of the last bone")
    pole: StringProperty(
        name="Pole", description="A bone that the knee points at; none: it keeps the side that it is bent to"
    )
    tip: FloatVectorProperty(
        name="Tip",
        description="For a leg without a foot: where it touches the ground, in the space of the last shin",
        subtype="TRANSLATION",
    )


def listed(armature):
    """The legs of an armature's list, as ikcore has them: without soles, but for legs without feet."""
    return [_leg(armature, item) for item in armature.ikcore_feet.legs]


def fill(armature, legs):
    """Add legs to an armature's list."""
    for leg in legs:
        item = armature.ikcore_feet.legs.add()
        item.name, item.side = leg.name, leg.side
        for knee in leg.knees:
            item.knees.add().name = knee
        for part in PARTS:
            joint = getattr(leg, part) or ""
            setattr(item, part, joint if joint in armature.pose.bones else "")  # what is no bone is a tail
        if leg.ankle is None:
            item.tip = [number / _scale(armature) for number in leg.soles["ball"].offset]


def found(context, armature):
    """The legs that are there, by name or by structure, at rest or else as the armature moves."""
    try:
        feet = bridge.library.Feet.detect(clips.skeleton(armature), up="Z")
    except ValueError:
        feet = _found_moving(context, armature)
    # what a sole is like at rest may lie: only where a leg without a foot ends is kept
    return [dataclasses.replace(leg, soles={}) if leg.ankle else leg for leg in feet]


def _found_moving(context, armature):
    first, last = animated_range([armature]) or scene_range(context.scene)
    frames = np.arange(first, last + 1, max(1, (last - first) // ENOUGH))
    clip = stage.finished(clips.read(context, armature, frames)).clip
    try:
        return bridge.library.Feet.detect(clip.skeleton, clip=clip)
    except ValueError as error:
        raise CannotBakeError(
            f"No legs found in {armature.name}, by names or by how bones hang: add them to its list of feet"
        ) from error


def _leg(armature, item):
    bones, knees = armature.pose.bones, tuple(knee.name for knee in item.knees)
    for part, name in (("thigh", item.hip), *(("shin", knee) for knee in knees or ("",))):
        if not name:
            raise CannotBakeError(f"The leg {item.name} has no {part}: pick its bone in the list of feet")
    for name in filter(None, (item.hip, *knees, item.ankle, item.ball, item.toe, item.pole)):
        if name not in bones:
            raise CannotBakeError(f"{armature.name} has no bone {name}, of the leg {item.name}: detect the feet again")
    toe = item.toe or _tail(armature, item.ball or item.ankle)
    parts = [item.name, item.side, item.hip, knees, item.ankle or None, item.ball or None, toe]
    leg = bridge.library.Leg(*parts, pole=item.pole or None)
    return leg if item.ankle else dataclasses.replace(leg, toe=None, soles={"ball": (knees[-1], _tip(armature, item))})


def _tail(armature, name):
    """What a clip calls the tail of a bone, where it has it."""
    bone = armature.data.bones.get(name)
    return f"{name}_end" if bone and not bone.children and not skins(armature) else None


def _tip(armature, item):
    """Where a leg without a foot ends, in lengths of the world: at the tail of its last bone if nothing is said."""
    length = armature.data.bones[item.knees[-1].name].length
    local = tuple(item.tip) if any(item.tip) else (0.0, length, 0.0)
    return tuple(number * _scale(armature) for number in local)


def _scale(armature):
    return clips.scale_of(armature, np.array(armature.matrix_world)[np.newaxis])


CLASSES = (IKCORE_PG_name, IKCORE_PG_leg)
