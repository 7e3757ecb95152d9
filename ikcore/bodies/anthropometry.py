"""Measures of the human body: lengths, segment masses, ranges of the trunk, strength of joints. Each names its source.

Lengths are shares of stature, masses shares of body mass, centres and radii of gyration shares of segment length,
angles degrees, torques N m.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Sex = Literal["male", "female", "average"]

# Lengths over stature. R. Drillis, R. Contini: Body segment parameters, 1966; as printed in D. A. Winter: Biomechanics
# and motor control of human movement, figure 4.1. Heights are above the ground, breadths from side to side.
HEIGHT = {"shoulder": 0.818, "hip": 0.530, "knee": 0.285, "ankle": 0.039, "chin": 0.870}
BREADTH = {"shoulders": 0.259, "hips": 0.191, "foot": 0.055}
LENGTH = {"upper arm": 0.186, "forearm": 0.146, "hand": 0.108, "thigh": 0.245, "shank": 0.246, "foot": 0.152}

# Shares of foot length from the heel to the ankle and to the ball. Chosen; the sources above do not have them.
ANKLE_FROM_HEEL = 0.25
BALL_FROM_HEEL = 0.70


class Segment(NamedTuple):
    """Mass, centre and radii of gyration of one segment."""

    mass: float  # share of body mass
    centre: float  # share of segment length, from the end named first
    sagittal: float  # radius of gyration about the axis from back to front
    transverse: float  # about the axis from side to side
    longitudinal: float  # about the axis from end to end


# P. de Leva: Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters. J. Biomechanics 29, 1996, table 4.
# The head is from vertex to mid-gonion, the foot from heel to toe tip, the hand from wrist to third knuckle. The trunk
# has its parts from suprasternale to xiphion, from there to omphalion, and to the middle of the hips. Other segments
# are between joint centres.
SEGMENTS: dict[str, dict[str, Segment]] = {
    "male": {
        "head": Segment(0.0694, 0.5976, 0.362, 0.376, 0.312),
        "upper trunk": Segment(0.1596, 0.2999, 0.716, 0.454, 0.659),
        "middle trunk": Segment(0.1633, 0.4502, 0.482, 0.383, 0.468),
        "lower trunk": Segment(0.1117, 0.6115, 0.615, 0.551, 0.587),
        "upper arm": Segment(0.0271, 0.5772, 0.285, 0.269, 0.158),
        "forearm": Segment(0.0162, 0.4574, 0.276, 0.265, 0.121),
        "hand": Segment(0.0061, 0.7900, 0.628, 0.513, 0.401),
        "thigh": Segment(0.1416, 0.4095, 0.329, 0.329, 0.149),
        "shank": Segment(0.0433, 0.4395, 0.251, 0.246, 0.102),
        "foot": Segment(0.0137, 0.4415, 0.257, 0.245, 0.124),
    },
    "female": {
        "head": Segment(0.0668, 0.5894, 0.330, 0.359, 0.318),
        "upper trunk": Segment(0.1545, 0.2077, 0.746, 0.502, 0.718),
        "middle trunk": Segment(0.1465, 0.4512, 0.433, 0.354, 0.415),
        "lower trunk": Segment(0.1247, 0.4920, 0.433, 0.402, 0.444),
        "upper arm": Segment(0.0255, 0.5754, 0.278, 0.260, 0.148),
        "forearm": Segment(0.0138, 0.4559, 0.261, 0.257, 0.094),
        "hand": Segment(0.0056, 0.7474, 0.531, 0.454, 0.335),
        "thigh": Segment(0.1478, 0.3612, 0.369, 0.364, 0.162),
        "shank": Segment(0.0481, 0.4352, 0.267, 0.263, 0.092),
        "foot": Segment(0.0129, 0.4014, 0.299, 0.279, 0.139),
    },
}

# Lengths in mm of the same table, for stature 1741 mm (male) and 1735 mm (female). The trunk is measured from the
# middle of the shoulders to that of the hips. Its three parts begin at the suprasternale, a little higher.
LENGTHS_OF_SEGMENTS: dict[str, dict[str, float]] = {
    "male": {
        "head": 203.3,
        "trunk": 515.5,
        "upper trunk": 170.7,
        "middle trunk": 215.5,
        "lower trunk": 145.7,
        "forearm": 268.9,
        "hand": 86.2,
    },
    "female": {
        "head": 200.2,
        "trunk": 497.9,
        "upper trunk": 142.5,
        "middle trunk": 205.3,
        "lower trunk": 181.5,
        "forearm": 264.3,
        "hand": 78.0,
    },
}

# Ranges in degrees from standing upright, of the whole spine and the whole neck. American Academy of Orthopaedic
# Surgeons: Joint Motion, 1965. Arms and legs: `ikcore.limits.human_arm` and `human_leg`, from the same source.
SPINE = {"flexion": 80.0, "extension": 25.0, "to the side": 35.0, "rotation": 45.0}
NECK = {"flexion": 45.0, "extension": 45.0, "to the side": 45.0, "rotation": 60.0}

# Ranges in degrees of the inner end of the collarbone, rounded from V. T. Inman, J. B. Saunders, L. C. Abbott:
# Observations on the function of the shoulder joint. J. Bone Joint Surgery 26, 1944. The ranges of the Academy for the
# shoulder include them.
COLLARBONE = {"up": 30.0, "down": 10.0, "forwards": 20.0, "backwards": 20.0}

# Largest static torque in N m, in the direction that carries weight, of a man of 75 kg and 1.75 m. Orders of magnitude,
# no thresholds: people differ by a factor of two. Compare D. B. Chaffin, G. B. J. Andersson: Occupational Biomechanics.
STRENGTH = {
    "spine": 250.0,
    "neck": 40.0,
    "shoulder": 80.0,
    "elbow": 70.0,
    "wrist": 12.0,
    "hip": 200.0,
    "knee": 200.0,
    "ankle": 150.0,
}

# Strength of women relative to men of the same mass and height, about the middle of the 54 to 68 % of B. Danneskiold-
# Samsoe et al.: Isokinetic and isometric muscle strength in a healthy population. Acta Physiologica 197, 2009. Their
# figures are of men and women as they are; those of equal size differ less, so 0.75 is chosen.
STRENGTH_OF = {"male": 1.0, "female": 0.75, "average": 0.875}


def segment(name: str, sex: Sex) -> Segment:
    """The segment of one sex, or the mean of both. Masses of all segments sum to 1 with 2 of each limb's."""
    tables = [SEGMENTS[one] for one in of_sex(sex)]
    whole = [sum(part.mass * (2 if key in PAIRED else 1) for key, part in table.items()) for table in tables]
    rows = [table[name]._replace(mass=table[name].mass / all_of) for table, all_of in zip(tables, whole, strict=True)]
    return Segment(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


def length(name: str, of: str, sex: Sex) -> float:
    """The length of a segment over that of another one."""
    tables = [LENGTHS_OF_SEGMENTS[one] for one in of_sex(sex)]
    return sum(table[name] / table[of] for table in tables) / len(tables)


def of_sex(sex: Sex) -> tuple[str, ...]:
    """The tables of a sex."""
    if sex not in ("male", "female", "average"):
        raise ValueError(f"sex: expected 'male', 'female' or 'average', got {sex!r}")
    return ("male", "female") if sex == "average" else (sex,)


PAIRED = ("upper arm", "forearm", "hand", "thigh", "shank", "foot")
