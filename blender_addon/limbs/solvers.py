# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes in its own way:
# ruff: noqa: N801
"""The solvers of Bake IK and Bake Tracking: options of the operators, and of the panel."""

import bpy
from bpy.props import EnumProperty

from ..feet.legs import overridable
from ..pins.full_body import METHODS

DISPLAYED = (
    "DISPLAYED",
    "As Displayed",
    "The result of Blender's own solver on every frame, for any chain and constraint. Chains that share bones are "
    "baked together",
)
IK_SOLVERS = [
    DISPLAYED,
    (
        "TWO_BONE",
        "Exact Two-Bone",
        "Closed form for chains of two bones: exactly on the target wherever it is in reach",
    ),
    (
        "LIBRARY",
        "Library Solver",
        "Chains of any length by a method of the library, starting from the displayed pose. Bones keep their twist, "
        "and IK limits hold. Chains that share bones are solved together",
    ),
]
TRACKING_SOLVERS = [
    DISPLAYED,
    (
        "LIBRARY",
        "Library Solver",
        "Damped Track, Track To and Locked Track in closed form, starting from the keys of the bones. Several bones "
        "may share the rotation",
    ),
]


class IKSolver:
    """The options of Bake IK about its solver."""

    solver: EnumProperty(name="Solver", description="How IK is solved", items=IK_SOLVERS, default="DISPLAYED")
    method: EnumProperty(name="Method", description="Method of the Library Solver", items=METHODS, default="dls")


class TrackingSolver:
    """The options of Bake Tracking about its solver."""

    solver: EnumProperty(
        name="Solver", description="How tracking is solved", items=TRACKING_SOLVERS, default="DISPLAYED"
    )


@overridable
class IKCORE_PG_ik(IKSolver, bpy.types.PropertyGroup):
    """Stored with an armature object: the solvers of the next bake."""

    tracking_solver: EnumProperty(
        name="Solver", description="How tracking is solved", items=TRACKING_SOLVERS, default="DISPLAYED"
    )


CLASSES = (IKCORE_PG_ik,)
