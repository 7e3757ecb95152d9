# SPDX-License-Identifier: GPL-3.0-or-later
"""The items of the options of Bake Foot IK and of its legs: identifier, label, tooltip. Defaults come first."""

from ..ui.properties import EVERY_FRAME, FEW_KEYS

OUTPUTS = [
    ("NEW", "New Action", "A copy of the action in the same slot. The original is kept"),
    ("OVERWRITE", "This Action", "The action itself. Keys of the legs and the pelvis are replaced"),
    (
        "NLA",
        "NLA Strip",
        "A new action with only the legs and the pelvis, as a strip above the original, which becomes a strip "
        "too. Mute the upper track to see the original",
    ),
]
GROUNDS = [
    ("AUTO", "Auto Floor", "A level floor at the height of the planted feet. Removes sliding and sinking"),
    ("PLANE", "Plane", "Infinite plane"),
    ("OBJECTS", "Objects", "Mesh objects with their modifiers, such as stairs and terrain"),
    ("COLLECTION", "Collection", "All mesh objects in a collection, with their modifiers"),
]
CONTACTS = [
    ("CURVES", "Curves", "Use the contact curves. Without curves, contacts are detected"),
    ("AUTO", "Auto", "Detect contacts and ignore contact curves"),
]
PELVIS_HEIGHTS = [
    ("balanced", "Balanced", "Keep the original knee bend where legs reach"),
    ("lowest", "Lowest Foot", "Lower the pelvis as much as the lowest foot"),
]
SOURCE_FLOORS = [
    ("AUTO", "Auto", "The ground if feet stand more evenly above it than above a level floor"),
    ("LEVEL", "Level Floor", "A level floor: feet and pelvis follow the ground"),
    ("GROUND", "This Ground", "This ground: feet that slide, sink or float on it are corrected"),
]
KEYS = [EVERY_FRAME, ("STEP", "Every Few Frames", "A key on every n-th frame, and on the last"), FEW_KEYS]
SIDES = [
    ("left", "Left", "The character's left"),
    ("right", "Right", "The character's right"),
    ("middle", "Middle", "Neither"),
]
CONTACT_MODES = [
    ("auto", "Auto", "By the contact curves, or without curves by height and speed"),
    ("always", "Always", "On all frames"),
    ("never", "Never", "On no frame. The foot is only kept above the ground"),
    ("ground", "By Height", "Where the foot is low, at any speed"),
]
