# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D102
"""The panel FK <-> IK: both directions, for the animation and for the current frame."""

from ..limbs.panels import ForArmature, Problems
from . import ik_from_fk
from .fk_operators import IKCORE_OT_fk_to_ik, IKCORE_OT_ik_to_fk


class IKCORE_PT_fk_ik(ForArmature):
    """Matches IK targets to FK animation, and FK controls to IK animation."""

    bl_idname = "IKCORE_PT_fk_ik"
    bl_label = "FK <-> IK"

    def draw(self, context):
        for operator in (IKCORE_OT_fk_to_ik, IKCORE_OT_ik_to_fk):
            row = self.layout.row(align=True)
            row.operator(operator.bl_idname, icon="CON_KINEMATIC").frame_range = "ACTION"
            row.operator(operator.bl_idname, text="This Frame", icon="KEY_HLT").frame_range = "FRAME"


class IKCORE_PT_fk_ik_problems(Problems):
    """Frames on which FK and IK differ."""

    bl_parent_id = "IKCORE_PT_fk_ik"
    bl_idname = "IKCORE_PT_fk_ik_problems"
    latest = staticmethod(ik_from_fk.latest)


CLASSES = (IKCORE_PT_fk_ik, IKCORE_PT_fk_ik_problems)
