# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of Place Legs on Ground: the parameters of ManyLegsNode, by their names."""

import math

from ..animation.frame_range import RANGES, FrameRange
from ..ui.properties import angle, choice, factor, percentage, toggle
from .placement import Options

FAR = {"max": 1000, "soft_max": 200}  # percent of the leg length


class PlacementOptions(FrameRange):
    """The options of Place Legs on Ground. Percentages are of the mean length of the legs."""

    frame_range: choice(
        "Frames",
        "Which frames to place",
        [
            ("CURRENT", "Current Frame", "Only the pose of the current frame. It is keyed if Auto Keying is on"),
            *((name, label, f"{text}. Keys go into a copy of the action") for name, label, text in RANGES),
        ],
    )
    source_floor: choice(
        "Made On",
        "The floor that the pose was made on",
        [
            ("AUTO", "Auto", "The ground if feet stand more evenly above it than above a level floor"),
            ("LEVEL", "Level Floor", "A level floor: the body follows the ground, lifted feet stay lifted"),
            ("GROUND", "This Ground", "This ground: the body stays, and all feet go to the ground"),
        ],
    )
    influence: factor("Influence", "Blend between the original pose, 0, and the placed pose, 1", 1)
    move: toggle("Move Body", "The body moves up and down with the ground. Off: it only turns", True)
    pitch_weight: factor("Pitch", "How much the body pitches with the slope. On two legs it stays upright", 1)
    roll_weight: factor("Roll", "How much the body rolls with the slope. On two legs it stays upright", 1)
    max_pitch: angle("Max Pitch", "Largest angle by which the body pitches", math.degrees(0.6), 89)
    max_roll: angle("Max Roll", "Largest angle by which the body rolls", math.degrees(0.35), 89)
    dip: factor("Dip", "How far the body sinks, as a share of the mean height difference between feet of a pair", 0)
    ceiling: percentage(
        "Ceiling",
        "Smallest distance of the body from a ceiling, as a percentage of the leg length. 0: ignore ceilings",
        0,
        **FAR,
    )
    foot_weight: factor("Foot Height", "How much feet follow the height of the ground", 1)
    foot_rotation_weight: factor("Follow Slope", "How much feet turn to match the slope of the ground", 1)
    max_foot_angle: angle("Max Foot Angle", "Largest slope that feet match", 40, 89)
    reference_pose: toggle(
        "Reference Pose", "Feet have their rotation at rest on the ground, not that of the animation"
    )
    min_extension: percentage(
        "Min Leg Extension", "Smallest hip to foot distance, as a percentage of the leg length", 30
    )
    max_extension: percentage(
        "Max Leg Extension",
        "Largest hip to foot distance, as a percentage of the leg length. A straighter leg may stay so",
        97,
    )
    trace_above: percentage(
        "Trace Above", "How far above the floor the ground is searched, as a percentage of the leg length", 100, **FAR
    )
    trace_below: percentage(
        "Trace Below", "How far below the floor the ground is searched, as a percentage of the leg length", 100, **FAR
    )
    cross_radius: percentage(
        "Cross Radius",
        "Radius about pelvis and chest in which the slope is measured, as a percentage of the leg length",
        25,
        **FAR,
    )
    foot_length: percentage("Foot Length", "Length over which a foot measures the slope. 0: at one point", 0, **FAR)
    foot_width: percentage("Foot Width", "Width over which a foot measures the slope. 0: at one point", 0, **FAR)


LENGTHS = ("trace_above", "trace_below", "cross_radius", "foot_length", "foot_width", "ceiling")
RATIOS = ("min_extension", "max_extension")
OTHERS = (
    *("influence", "move", "pitch_weight", "roll_weight", "max_pitch", "max_roll", "dip"),
    *("foot_weight", "foot_rotation_weight", "max_foot_angle", "reference_pose"),
)
GROUPS = {
    "Body": ("move", "pitch_weight", "roll_weight", "max_pitch", "max_roll", "dip", "ceiling"),
    "Legs": (
        *("foot_weight", "foot_rotation_weight", "max_foot_angle", "reference_pose"),
        *RATIOS,
    ),
    "Ground Search": ("trace_above", "trace_below", "cross_radius", "foot_length", "foot_width"),
}


def options(request):
    """The parameters of an operator as placement.Options. Blender stores single precision, so numbers are rounded."""
    lengths = {name: round(getattr(request, name), 5) / 100 for name in LENGTHS}
    ratios = {name: round(getattr(request, name), 5) / 100 for name in RATIOS}
    ratios["min_extension"] = min(ratios.values())
    others = {name: getattr(request, name) for name in OTHERS}
    plain = {name: round(value, 6) if isinstance(value, float) else value for name, value in others.items()}
    return Options(lengths, plain | ratios)
