"""Measures of feet: sliding, sinking, floating, knees that pop; and the difference of a result from its source.

They are functions of arrays whose first axis is time. Contacts are arguments; to judge a result, use those of its
source. Y is up, lengths are in metres, times in seconds, angles in radians; `Clip.convert` converts a clip. The frame
rate enters every derivative, so that 30 and 120 frames per second give the same values.

Thresholds in metres are for humans. For others, divide lengths by the leg length and multiply by 0.85.
"""

from ikcore.contacts.intervals import core, runs
from ikcore.feet.metrics.fidelity import agreement, deviation, onset_error, turn
from ikcore.feet.metrics.geometry import UP
from ikcore.feet.metrics.knees import (
    bends,
    extension,
    flips,
    leg_length,
    length_error,
    new_flips,
    pelvis_lowered,
    pops,
    straightness_lost,
)
from ikcore.feet.metrics.on_ground import (
    beyond,
    contact_cores,
    floating,
    lift_lost,
    off_ground,
    penetration,
    rests,
    sole_angle,
    undetected_contacts,
)
from ikcore.feet.metrics.one_leg import ALWAYS_BEYOND, BESIDE, BEYOND, Measure, measure_leg
from ikcore.feet.metrics.sliding import drift, heading_drift, skating_ratio, skating_speed
from ikcore.feet.metrics.smoothness import angular_speed, derivative, jerk, jerk_ratio
from ikcore.feet.metrics.track import Track

__all__ = [
    "ALWAYS_BEYOND",
    "BESIDE",
    "BEYOND",
    "UP",
    "Measure",
    "Track",
    "agreement",
    "angular_speed",
    "bends",
    "beyond",
    "contact_cores",
    "core",
    "derivative",
    "deviation",
    "drift",
    "extension",
    "flips",
    "floating",
    "heading_drift",
    "jerk",
    "jerk_ratio",
    "leg_length",
    "length_error",
    "lift_lost",
    "measure_leg",
    "new_flips",
    "off_ground",
    "onset_error",
    "pelvis_lowered",
    "penetration",
    "pops",
    "rests",
    "runs",
    "skating_ratio",
    "skating_speed",
    "sole_angle",
    "straightness_lost",
    "turn",
    "undetected_contacts",
]
