# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes in its own way:
# ruff: noqa: N801
"""The list of legs of an armature object: as properties in Blender, and as ikcore's Feet."""

import dataclasses

import bpy
import numpy as np
from bpy.props import BoolProperty, CollectionProperty, FloatVectorProperty

from .. import bridge
from ..animation import clip_reader, scene_frames
from ..animation.frame_range import animated_range, scene_range
from ..rig import rigify
from ..rig.armatures import CannotBakeError, skins
from ..ui.properties import choice, text
from . import choices

PARTS = ("hip", "ankle", "ball", "toe", "pole")
ENOUGH = 60  # frames to search for legs


def overridable(cls):
    """Make the properties of a class library-overridable."""
    bases = [base for base in reversed(cls.__mro__) if hasattr(base, "__annotations__")]
    kept = {name: prop for base in bases for name, prop in base.__annotations__.items()}
    cls.__annotations__ = {
        name: prop.function(**prop.keywords, override=_override(prop)) for name, prop in kept.items()
    }
    return cls


def _override(prop):
    return {"LIBRARY_OVERRIDABLE", "USE_INSERTION"} if prop.function is CollectionProperty else {"LIBRARY_OVERRIDABLE"}


@overridable
class IKCORE_PG_name(bpy.types.PropertyGroup):
    """A name in a list of names."""

    name: text("Name", "Of a bone, an object or a leg")


@overridable
class IKCORE_PG_sole(bpy.types.PropertyGroup):
    """A point of the sole of a leg, named as in ikcore: heel, ball, toe, inner, outer."""

    name: text("Point", "Heel, ball or toe. Inner and outer are the sides at the ball")
    bone: text("Bone", "The bone that carries the point")
    place: FloatVectorProperty(
        name="Place",
        description="Location of the point relative to the head of its bone, along the axes of the bone, in the units "
        "of Edit Mode",
        subtype="TRANSLATION",
        precision=4,
    )


@overridable
class IKCORE_PG_leg(bpy.types.PropertyGroup):
    """A leg, by the names of its bones."""

    name: text("Name", "The name of the leg, such as left")
    use: BoolProperty(name="Bake", description="Bake this leg. The pelvis moves if all legs are baked", default=True)
    side: choice("Side", "The side of the character that the leg is on", choices.SIDES, default="middle")
    mode: choice("Contact", "When the foot counts as planted", choices.CONTACT_MODES)
    hip: text("Thigh", "The first bone of the leg. Empty, with no shin: a foot without a leg")
    knees: CollectionProperty(name="Shins", description="The bones below the knee", type=IKCORE_PG_name)
    ankle: text("Foot", "The foot bone. Empty for legs that end in a point")
    ball: text("Toes", "The toe bone. Empty without one")
    toe: text("Toe Tip", "A bone at the tip of the toes. Empty: the tail of the last bone")
    pole: text("Pole", "A bone that the knee points at. Empty: the knee keeps its bend direction")
    soles: CollectionProperty(
        name="Sole",
        description="Points of the sole that touch the ground. Empty: every bake detects them",
        type=IKCORE_PG_sole,
    )


def legs_in_list(armature, bare=None):
    """The legs of an armature's list, as in ikcore, with their own soles except for the leg named `bare`.

    Legs without feet always have a sole.
    """
    return [_leg(armature, item, () if item.name == bare else item.soles) for item in armature.ikcore_feet.legs]


def fill(armature, legs):
    """Add legs to an armature's list."""
    for leg in legs:
        item = armature.ikcore_feet.legs.add()
        item.name, item.side = leg.name, leg.side
        for knee in leg.knees:
            item.knees.add().name = knee
        for part in PARTS:
            joint = getattr(leg, part) or ""
            setattr(item, part, joint if joint in armature.pose.bones else "")  # a joint that is no bone is a tail
        own_sole(armature, item, leg.soles)


def own_sole(armature, item, soles):
    """Store these sole points, given as in ikcore, for a leg of an armature's list."""
    item.soles.clear()
    for name, sole in soles.items():
        point = item.soles.add()
        point.name, point.bone = name, sole.joint
        point.place = [number / _scale(armature) for number in sole.offset]


def detect_legs(context, armature):
    """Detect legs: switched ones of a rig, else by name or by structure, at rest or in motion."""
    if standing := rigify.fk_legs(armature):
        return _in_order(armature, standing)
    try:
        feet = bridge.library.Feet.detect(clip_reader.skeleton(armature), up="Z")
    except ValueError:
        feet = _found_moving(context, armature)
    # soles detected at rest may be wrong: only the end of a leg without a foot is kept
    return [dataclasses.replace(leg, soles={}) if leg.ankle else leg for leg in feet]


def _in_order(armature, standing):
    """Legs as in ikcore, from front to back, the left one first, from (thigh, shins, foot, toes)."""
    rest, sides = armature.data.bones, {}
    for parts in sorted(standing, key=lambda parts: rest[parts[0]].head_local.y):  # characters face -Y
        said = bridge.library.feet.names.side_of(parts[0])
        sides.setdefault(said or ("left" if rest[parts[0]].head_local.x > 0 else "right"), []).append(parts)
    rows, found = max(map(len, sides.values())), []
    for side, mine in sides.items():
        for row, (hip, knees, ankle, ball) in enumerate(mine):
            name = f"{('front', 'hind')[row]} {side}" if rows == 2 else f"{side} {row + 1}" if rows > 2 else side
            leg = bridge.library.Leg(name, side, hip, knees, ankle, ball, _tail(armature, ball or ankle))
            found.append((row, side != "left", leg))
    return [leg for *_, leg in sorted(found, key=lambda each: each[:2])]


def _found_moving(context, armature):
    first, last = animated_range([armature]) or scene_range(context.scene)
    frames = np.arange(first, last + 1, max(1, (last - first) // ENOUGH))
    clip = scene_frames.run(clip_reader.read(context, armature, frames)).clip
    try:
        return bridge.library.Feet.detect(clip.skeleton, clip=clip)
    except ValueError as error:
        raise CannotBakeError(
            f"No legs found in {armature.name}, by bone names or by the hierarchy: add them to its list of feet"
        ) from error


def _leg(armature, item, points):
    bones, knees = armature.pose.bones, tuple(knee.name for knee in item.knees)
    free = item.ankle and not item.hip and not knees
    for part, name in () if free else (("thigh", item.hip), *(("shin", knee) for knee in knees or ("",))):
        if not name:
            raise CannotBakeError(f"The leg {item.name} has no {part}: choose its bone in the list of feet")
    for name in filter(None, (item.hip, *knees, item.ankle, item.ball, item.toe, item.pole)):
        if name not in bones:
            raise CannotBakeError(f"{armature.name} has no bone {name} of the leg {item.name}: press Detect Feet again")
    toe = item.toe or _tail(armature, item.ball or item.ankle)
    parts = [item.name, item.side, item.hip or None, knees, item.ankle or None, item.ball or None, toe]
    leg = bridge.library.Leg(*parts, pole=item.pole or None)
    soles = {point.name: (point.bone, _place(armature, item, leg, point)) for point in points}
    if item.ankle:
        return dataclasses.replace(leg, soles=soles)
    end = (0.0, armature.data.bones[knees[-1]].length * _scale(armature), 0.0)
    return dataclasses.replace(leg, toe=None, soles={"ball": (knees[-1], end), **soles})


def _place(armature, item, leg, point):
    """Position of a sole point in the space of its bone, in world units."""
    if point.name not in bridge.library.feet.leg.POINTS:
        raise CannotBakeError(f"The sole of {item.name} has no {point.name}: press Detect Sole again")
    if point.bone not in leg.chain:
        raise CannotBakeError(f"The {point.name} of {item.name} is not on a bone of that leg: press Detect Sole again")
    if not np.isfinite(point.place).all():
        raise CannotBakeError(f"The {point.name} of {item.name} has no finite location: press Detect Sole again")
    return tuple(number * _scale(armature) for number in point.place)


def _tail(armature, name):
    """The joint name of a bone's tail in a clip, if it has one."""
    bone = armature.data.bones.get(name)
    return f"{name}_end" if bone and not bone.children and not skins(armature) else None


def _scale(armature):
    return clip_reader.scale_of(armature, np.array(armature.matrix_world)[np.newaxis])


CLASSES = (IKCORE_PG_name, IKCORE_PG_sole, IKCORE_PG_leg)
