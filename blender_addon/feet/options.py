# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes in its own way:
# ruff: noqa: N801
"""The options of Bake Foot IK, shared by its operators and its panel."""

import math

import bpy
from bpy.props import (
    CollectionProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
)

from .. import bridge
from ..animation.frame_range import FrameRange
from ..ui.properties import angle, choice, factor, key_choice, leg_percentage, max_error, percentage, text, toggle
from . import choices
from .legs import IKCORE_PG_leg, IKCORE_PG_name, overridable


class FootOutput:
    """The target of a bake's keys."""

    output: choice("Write To", "Where the baked keys go", choices.OUTPUTS)


class GroundOptions:
    """The ground that feet stand on."""

    ground: choice("Ground", "What the feet stand on", choices.GROUNDS)
    plane_height: FloatProperty(
        name="Height", description="Distance from the origin to the plane, along its normal", subtype="DISTANCE"
    )
    plane_normal: FloatVectorProperty(
        name="Normal", description="Direction that the plane faces", subtype="DIRECTION", default=(0, 0, 1)
    )
    ground_moves: toggle(
        "Moving Ground",
        "Follow ground objects that move, frame by frame. This evaluates the scene on every frame. "
        "Deforming ground keeps its shape of the first frame, and the report says so",
    )


class FootOptions(FrameRange, GroundOptions):
    """The options of a bake, by value. Percentages are of the length of the leg."""

    contacts: choice("Contacts", "When a foot counts as planted", choices.CONTACTS)
    lock: toggle(
        "Lock Feet", "Hold planted feet still. Off: feet only follow the height and the slope of the ground", True
    )
    follow_slope: factor("Follow Slope", "How much feet turn to match the slope of the ground", 1)
    pelvis: choice("Pelvis", "How the height of the pelvis is chosen", choices.PELVIS_HEIGHTS)
    forward_motion: toggle(
        "Add Forward Motion", "In-place walks move forward at the speed of their feet. Off: they stay in place", True
    )
    from_original: toggle(
        "Rebake from Original",
        "Start again from the original action. Off: bake on top of the result of the last bake",
        True,
    )
    allowed_slide: leg_percentage(
        "Allowed Slide", "Leave a planted foot unchanged if it slides less", 0.0015, soft_max=5, precision=2
    )
    unlock_distance: leg_percentage(
        "Unlock Distance",
        "Release a planted foot and plant it again beyond this slide",
        0.2,
        min=1.2,
        max=1000,
        soft_max=100,
    )
    remove_jitter: toggle(
        "Remove Jitter", "Remove capture noise from the root and the legs before the feet are planted"
    )
    fit_strides: factor(
        "Fit Strides",
        "How much step length may change to land on the treads. 0 leaves it as it is",
        0,
        max=0.9,
        soft_max=0.5,
    )
    source_floor: choice("Made On", "The floor that the action was made on", choices.SOURCE_FLOORS)
    blend: FloatProperty(
        name="Blend",
        description="Time in which a foot blends from a foothold to its own path, and to the next foothold. "
        "Also how long the bake of a frame range fades in and out",
        subtype="TIME_ABSOLUTE",
        default=0.3,
        min=0,
        max=10,
        soft_max=1,
        precision=2,
    )
    swing_clearance: leg_percentage(
        "Swing Clearance", "Least height of a swinging foot above the ground", 0.02, soft_max=20
    )
    max_pitch: angle("Max Pitch", "Largest angle by which a foot pitches up or down to match the slope", 45, 80)
    max_roll: angle("Max Roll", "Largest angle by which a foot rolls sideways to match the slope", 20, 80)
    max_toe_bend: angle("Max Toe Bend", "Largest angle by which toes bend up on the ground", 40, 90)
    max_extension: percentage(
        "Max Leg Extension",
        "Largest hip to foot distance, as a percentage of the leg length. "
        "A leg that is straighter in the original may stay so",
        98.5,
        min=50,
    )
    pelvis_bone: text("Pelvis Bone", "The bone that moves the body. Empty: the bone that carries all legs")
    limit_pelvis: toggle("Limit Height", "Limit how far the pelvis moves up and down")
    max_raise: leg_percentage("Max Raise", "How far the pelvis may move up", 0.3, max=1000, soft_max=100)
    max_lower: leg_percentage("Max Lower", "How far the pelvis may move down", 0.3, max=1000, soft_max=100)
    max_shift: leg_percentage(
        "Max Shift",
        "How far the pelvis may move sideways for a leg that does not reach",
        0.1,
        max=1000,
        soft_max=100,
    )
    auto_tilt: toggle(
        "Auto Tilt",
        "With more than two legs the body follows the slope under all feet. With two it stays upright",
        True,
    )
    tilt: factor("Tilt", "How much the body follows the slope under all feet", 1)
    influence: factor("Influence", "Blend between the original, 0, and the bake, 1", 1)
    keys: key_choice(*choices.KEYS)
    key_step: IntProperty(name="Step", description="Frames from one key to the next", default=2, min=1, soft_max=10)
    max_error: max_error(
        "Largest distance of the pelvis, a knee or a foot from its place with a key on every frame. "
        "Planted feet stay within a tenth of it. It also limits how far the tip of a foot turns"
    )
    mark: toggle("Mark Problems", "Add timeline markers where feet still slide, sink, float or do not reach")


class ActionNames:
    """The actions to bake, if there are several."""

    pattern: text("Names", "Bake only actions with matching names, such as Walk*. Empty: all actions")


@overridable
class IKCORE_PG_object(bpy.types.PropertyGroup):
    """An object in a list of objects."""

    object: PointerProperty(name="Object", description="A mesh object that the feet stand on", type=bpy.types.Object)


@overridable
class IKCORE_PG_feet(FootOptions, FootOutput, ActionNames, bpy.types.PropertyGroup):
    """Stored with an armature object: its legs, the ground objects, and the options of the next bake."""

    legs: CollectionProperty(name="Feet", description="The legs of the armature", type=IKCORE_PG_leg)
    active_leg: IntProperty(name="Leg", description="The leg whose bones are displayed")
    objects: CollectionProperty(
        name="Ground Objects", description="Objects that the feet stand on", type=IKCORE_PG_object
    )
    collection: PointerProperty(
        name="Collection", description="All mesh objects in it are the ground", type=bpy.types.Collection
    )


class GroundRequest(GroundOptions):
    """The ground of an operator, with objects and collection by name."""

    ground_objects: CollectionProperty(
        name="Ground Objects", description="The names of the objects that the feet stand on", type=IKCORE_PG_name
    )
    ground_collection: text("Ground Collection", "The name of the collection that the feet stand on")


class FootRequest(GroundRequest, FootOptions):
    """The options of an operator, with ground objects, collection and legs by name."""

    legs: CollectionProperty(
        name="Legs",
        description="The names of the legs to bake. Empty: all legs enabled in the list of feet",
        type=IKCORE_PG_name,
    )


def names():
    """The names of all options of a bake."""
    return [name for cls in (FrameRange, GroundOptions, FootOptions, FootOutput) for name in cls.__annotations__]


def hand_over(feet, request):
    """Copy the options stored with an armature to an operator, as far as it has them."""
    for name in names():
        if hasattr(request, name):
            setattr(request, name, getattr(feet, name))
    _hand_over_objects(feet, request)


def hand_over_ground(feet, request):
    """Copy the ground stored with an armature, and the floor of its animation, to an operator."""
    for name in (*GroundOptions.__annotations__, "source_floor"):
        setattr(request, name, getattr(feet, name))
    _hand_over_objects(feet, request)


def _hand_over_objects(feet, request):
    for item in feet.objects:
        if item.object is not None:
            request.ground_objects.add().name = item.object.name
    request.ground_collection = feet.collection.name if feet.collection else ""


def hand_back(feet, request):
    """Copy the options of an operator back to those stored with an armature."""
    for name in names():
        if hasattr(request, name):
            setattr(feet, name, getattr(request, name))


LENGTHS = {  # options in percent of the leg length, by the names of ikcore.BakeSettings
    "tolerance": "allowed_slide",
    "unlock": "unlock_distance",
    "clearance": "swing_clearance",
    "shift": "max_shift",
}
HEIGHTS = {"lift": "max_raise", "drop": "max_lower"}
ANGLES = {"pitch": "max_pitch", "roll": "max_roll", "toe": "max_toe_bend"}


def settings(options):
    """The options as ikcore.BakeSettings: lengths in metres for a leg of 0.87 m, angles in degrees."""
    lengths = LENGTHS | (HEIGHTS if options.limit_pelvis else {})
    chosen = {name: bridge.leg_length(getattr(options, option)) for name, option in lengths.items()}
    chosen |= {name: _plain(math.degrees(getattr(options, option))) for name, option in ANGLES.items()}
    if not options.auto_tilt:
        chosen["tilt"] = _plain(options.tilt)
    return bridge.library.BakeSettings(
        lock=options.lock,
        pelvis=options.pelvis,
        blend=_plain(options.blend),
        align=_plain(options.follow_slope),
        straight=_plain(options.max_extension) / 100,
        weight=_plain(options.influence),
        **chosen,
    )


def preparation(options):
    """The options of `ikcore.prepare.prepare`."""
    return {
        "root_motion": options.forward_motion,
        "noise": options.remove_jitter,
        "stride": _plain(options.fit_strides),
    }


def source_floor(options):
    """The option `source_floor` of `bake_feet`."""
    return None if options.source_floor == "AUTO" else options.source_floor.lower()


def _plain(number):
    """A number as it was typed: Blender stores single precision."""
    return round(number, 5)


CLASSES = (IKCORE_PG_object, IKCORE_PG_feet)
