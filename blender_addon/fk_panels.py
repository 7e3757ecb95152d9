# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D102
"""The panel IK from FK: for the range that is animated, and for the frame that is shown."""

from . import from_fk
from .fk_operators import IKCORE_OT_fk_from_ik, IKCORE_OT_ik_from_fk
from .panels import Problems, Sidebar


class IKCORE_PT_from_fk(Sidebar):
    """The way back from Bake IK, and both ways on rigs with IK_FK."""

    bl_idname = "IKCORE_PT_from_fk"
    bl_label = "IK from FK"

    def draw(self, context):
        for operator in (IKCORE_OT_ik_from_fk, IKCORE_OT_fk_from_ik):
            row = self.layout.row(align=True)
            row.operator(operator.bl_idname, icon="CON_KINEMATIC").frame_range = "ACTION"
            row.operator(operator.bl_idname, text="This Frame", icon="KEY_HLT").frame_range = "FRAME"


class IKCORE_PT_fk_problems(Problems):
    """Of limbs that are not where they are to be."""

    bl_parent_id = "IKCORE_PT_from_fk"
    bl_idname = "IKCORE_PT_fk_problems"
    latest = staticmethod(from_fk.latest)


CLASSES = (IKCORE_PT_from_fk, IKCORE_PT_fk_problems)
