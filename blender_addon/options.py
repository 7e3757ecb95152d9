# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes in its own way:
# ruff: noqa: N801
"""What can be chosen about Bake Foot IK: the same options for the operator and for the panel."""

import math

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from . import bridge
from .legs import IKCORE_PG_leg, IKCORE_PG_name, overridable
from .ranges import FrameRange


class FootOutput:
    """Where a bake goes."""

    output: EnumProperty(
        name="Write To",
        description="Where the keys go",
        items=[
            ("NEW", "New Action", "A copy of the action in the same slot; the original is kept"),
            ("OVERWRITE", "This Action", "The action itself: keys of the legs and the pelvis are replaced"),
            (
                "NLA",
                "NLA Strip",
                "A new action that only has the legs and the pelvis, as a strip above the original, which goes into a "
                "track of its own. Mute the upper track to see the original",
            ),
        ],
        default="NEW",
    )


class FootOptions(FrameRange):
    """The options of a bake, by value."""

    ground: EnumProperty(
        name="Ground",
        description="What the feet stand on",
        items=[
            ("FLOOR", "Own Floor", "A level floor as high as the feet stand: to mend feet that slide and sink"),
            ("PLANE", "Plane", "A plane without end"),
            ("OBJECTS", "Objects", "Objects with faces, with their modifiers, such as stairs and terrain"),
            ("COLLECTION", "Collection", "All objects with faces in a collection, with their modifiers"),
        ],
        default="FLOOR",
    )
    plane_height: FloatProperty(
        name="Height", description="How far the plane is from the origin, along its normal", subtype="DISTANCE"
    )
    plane_normal: FloatVectorProperty(
        name="Normal", description="Which way the plane faces", subtype="DIRECTION", default=(0, 0, 1)
    )
    ground_moves: BoolProperty(
        name="Moving Ground",
        description="The ground moves, as objects do, frame by frame: takes a look at the scene on every frame. "
        "What changes its shape keeps that of the first frame, and the report says so",
    )
    restart: BoolProperty(
        name="From the Original",
        description="What was baked before is baked again from its original. Otherwise on top of what it is now",
        default=True,
    )
    keyed_contacts: BoolProperty(
        name="Use Contact Curves",
        description="Where the armature has contact curves they say when a foot is planted; else this is found afresh",
        default=True,
    )
    lock: BoolProperty(
        name="Lock Feet",
        description="Planted feet stand still. Otherwise they only follow the height and the slope of the ground",
        default=True,
    )
    tolerance: FloatProperty(
        name="Tolerance (m)",
        description="How far a planted foot may slide and be left as it is, for a leg of 0.87 m",
        default=0.0015,
        min=0,
        max=1,
        precision=4,
        step=0.1,
    )
    unlock: FloatProperty(
        name="Unlock Beyond (m)",
        description="A foot that slides farther from where it is planted is planted anew, for a leg of 0.87 m",
        default=0.2,
        min=0.01,
        soft_max=1,
        precision=3,
    )
    root_motion: BoolProperty(
        name="Add Forward Motion",
        description="In-place walks move forward at the speed of their feet. Off: they stay in place",
        default=True,
    )
    denoise: BoolProperty(
        name="Remove Jitter",
        description="Remove capture noise from the root and the legs before the feet are planted",
        default=False,
    )
    fit_strides: FloatProperty(
        name="Fit Strides",
        description="How much step length may change to land on the treads. 0 leaves it as it is",
        subtype="FACTOR",
        default=0,
        min=0,
        max=0.9,
        soft_max=0.5,
    )
    blend: FloatProperty(
        name="Blend",
        description="How long it takes a foot to come from where it was planted to its own way, and to the next place. "
        "Also how long the bake of a part of the animation fades in and out",
        subtype="TIME_ABSOLUTE",
        default=0.3,
        min=0,
        max=10,
        soft_max=1,
        precision=2,
    )
    clearance: FloatProperty(
        name="Clearance (m)",
        description="How far above the ground a foot swings at least, for a leg of 0.87 m",
        default=0.02,
        min=0,
        max=1,
        precision=3,
    )
    align: FloatProperty(
        name="Follow Slope",
        description="How much feet turn to the slope of the ground",
        subtype="FACTOR",
        default=1,
        min=0,
        max=1,
    )
    pitch: FloatProperty(
        name="Pitch",
        description="The most that a foot turns up and down to the slope",
        subtype="ANGLE",
        default=math.radians(45),
        min=0,
        max=math.radians(80),
    )
    roll: FloatProperty(
        name="Roll",
        description="The most that a foot turns to its sides to the slope",
        subtype="ANGLE",
        default=math.radians(20),
        min=0,
        max=math.radians(80),
    )
    toe: FloatProperty(
        name="Toe Bend",
        description="The most that toes bend up on the ground",
        subtype="ANGLE",
        default=math.radians(40),
        min=0,
        max=math.radians(90),
    )
    pelvis: EnumProperty(
        name="Pelvis",
        description="How high the pelvis goes",
        items=[
            (
                "balanced",
                "Balanced",
                "Where knees bend as they did, straight ones first, no higher than legs reach",
            ),
            ("lowest", "Lowest Foot", "As much lower as the lowest foot is"),
        ],
        default="balanced",
    )
    pelvis_bone: StringProperty(
        name="Pelvis Bone", description="The bone that moves the body; none: the one that carries all legs"
    )
    limit_pelvis: BoolProperty(name="Limit Height", description="Limit how far the pelvis goes up and down")
    lift: FloatProperty(
        name="Up (m)",
        description="The most that the pelvis goes up, for a leg of 0.87 m",
        default=0.3,
        min=0,
        soft_max=1,
    )
    drop: FloatProperty(
        name="Down (m)",
        description="The most that the pelvis goes down, for a leg of 0.87 m",
        default=0.3,
        min=0,
        soft_max=1,
    )
    shift: FloatProperty(
        name="Sideways (m)",
        description="The most that the pelvis goes to the side where a leg would not reach, for a leg of 0.87 m",
        default=0.1,
        min=0,
        soft_max=1,
    )
    auto_tilt: BoolProperty(
        name="Auto Tilt",
        description="The body follows the slope under all feet with more than two legs, and stays upright with two",
        default=True,
    )
    tilt: FloatProperty(
        name="Tilt",
        description="How much the body follows the slope under all feet",
        subtype="FACTOR",
        default=1,
        min=0,
        max=1,
    )
    straight: FloatProperty(
        name="Straightest Leg",
        description="How straight a leg may be, as a share of its length, where it is not straighter already",
        subtype="FACTOR",
        default=0.985,
        min=0.5,
        max=1,
        precision=3,
    )
    weight: FloatProperty(
        name="Amount", description="How much of it all is done", subtype="FACTOR", default=1, min=0, max=1
    )
    keys: EnumProperty(
        name="Keys",
        description="How many keys there are",
        items=[
            ("EVERY", "Every Frame", "A key on every frame"),
            ("STEP", "Every Few Frames", "A key on every so many frames, and on the last"),
            ("TOLERANCE", "As Few as Needed", "Smooth curves with as few keys as keep the legs where they are"),
        ],
        default="EVERY",
    )
    key_step: IntProperty(
        name="Step", description="From a key to the next one, in frames", default=2, min=1, soft_max=10
    )
    key_tolerance: FloatProperty(
        name="Off by at Most",
        description="How far the pelvis, a knee or a foot may be from where a key on every frame has it. "
        "Planted feet no more than a tenth of it. A foot turns by no more than moves its tip by so much",
        subtype="DISTANCE",
        default=0.002,
        min=0.00001,
        soft_max=0.1,
        precision=4,
        step=0.1,
    )
    mark: BoolProperty(
        name="Mark Problems", description="Put timeline markers where feet still slide, sink, float or do not reach"
    )


class ActionNames:
    """Which actions to bake, where there are many."""

    pattern: StringProperty(
        name="Names", description="Bake only actions with such names, * being anything, as in Walk*; empty: all of them"
    )


@overridable
class IKCORE_PG_object(bpy.types.PropertyGroup):
    """An object in a list of objects."""

    object: PointerProperty(name="Object", description="An object to stand on", type=bpy.types.Object)


@overridable
class IKCORE_PG_feet(FootOptions, FootOutput, ActionNames, bpy.types.PropertyGroup):
    """What the panel keeps with an armature object: its legs, what they stand on, and the options of the next bake."""

    legs: CollectionProperty(name="Feet", description="The legs of the armature", type=IKCORE_PG_leg)
    active_leg: IntProperty(name="Leg", description="The leg whose bones are shown")
    objects: CollectionProperty(name="Ground Objects", description="What to stand on", type=IKCORE_PG_object)
    collection: PointerProperty(
        name="Collection", description="All objects with faces in it are the ground", type=bpy.types.Collection
    )


class FootRequest(FootOptions):
    """What is asked of an operator: the options, and by name what the panel keeps otherwise."""

    ground_objects: CollectionProperty(
        name="Ground Objects",
        description="The names of the objects to stand on",
        type=IKCORE_PG_name,
        options={"SKIP_PRESET"},
    )
    ground_collection: StringProperty(
        name="Ground Collection", description="The name of the collection to stand on", options={"SKIP_PRESET"}
    )
    legs: CollectionProperty(
        name="Legs",
        description="The names of the legs to bake; none: those that are ticked in the list of feet",
        type=IKCORE_PG_name,
        options={"SKIP_PRESET"},
    )


def names():
    """The names of all options of a bake."""
    return [name for cls in (FrameRange, FootOptions, FootOutput) for name in cls.__annotations__]


def hand_over(feet, request):
    """Give an operator what the panel keeps with an armature, as far as it has such options."""
    for name in names():
        if hasattr(request, name):
            setattr(request, name, getattr(feet, name))
    for item in feet.objects:
        if item.object is not None:
            request.ground_objects.add().name = item.object.name
    request.ground_collection = feet.collection.name if feet.collection else ""


def hand_back(feet, request):
    """Let the panel keep what was chosen of an operator, as far as it has such options: what `hand_over` does, back."""
    for name in names():
        if hasattr(request, name):
            setattr(feet, name, getattr(request, name))


def settings(options):
    """The options as ikcore has them."""
    steps = ("tolerance", "unlock", "blend", "clearance", "align", "shift", "straight", "weight")
    chosen = {name: _plain(getattr(options, name)) for name in steps}
    chosen |= {name: _plain(math.degrees(getattr(options, name))) for name in ("pitch", "roll", "toe")}
    if options.limit_pelvis:
        chosen |= {name: _plain(getattr(options, name)) for name in ("lift", "drop")}
    if not options.auto_tilt:
        chosen["tilt"] = _plain(options.tilt)
    chosen |= {name: getattr(options, name) for name in ("lock", "pelvis")}
    return bridge.library.BakeSettings(**chosen)


def preparation(options):
    """What `ikcore.prepare.prepare` does to a clip before it is baked."""
    return {
        "root_motion": options.root_motion,
        "noise": options.denoise,
        "stride": _plain(options.fit_strides),
    }


def _plain(number):
    """The number that was typed in: Blender keeps it in single precision."""
    return round(number, 5)


CLASSES = (IKCORE_PG_object, IKCORE_PG_feet)
