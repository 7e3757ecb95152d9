# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes, calls methods and shows docstrings as tooltips in its own way:
# ruff: noqa: N801, D102, D400
"""The operator Place Legs on Ground, for the current pose or a range of frames."""

from ..animation.frame_range import draw_range
from ..limbs.operators import ProgressOperator, no_armature
from . import layouts, placement_bake, placement_job
from .options import GroundRequest
from .placement_options import GROUPS, PlacementOptions, options


def not_ready(context):
    """The reason why the legs of the active object cannot be placed, or None."""
    return no_armature(context) or placement_job.refusal(context.object)


class IKCORE_OT_place_legs(GroundRequest, PlacementOptions, ProgressOperator):
    """Put the feet on the ground and tilt the body with its slope, for any number of legs"""

    bl_idname = "ikcore.place_legs"
    bl_label = "Place Legs on Ground"

    @staticmethod
    def reason(context):
        return not_ready(context)

    @classmethod
    def description(cls, context, properties):
        if properties.frame_range == "CURRENT":
            return f"{cls.__doc__}. Changes the pose at the current frame"
        return f"{cls.__doc__}. Keys every frame in a copy of the action"

    def make_job(self, context):
        return placement_job.make_job(context, context.object, self, options(self))

    def steps(self, context, job):
        told = yield from placement_bake.bake(context, job)
        self.report({"WARNING" if told.has_problems() else "INFO"}, told.sentence())

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        draw_range(layout, self)
        layouts.ground(layout.column(), self)
        for name in ("source_floor", "influence"):
            layout.prop(self, name)
        for label, names in GROUPS.items():
            header, body = layout.panel(f"ikcore_place_{label.lower().replace(' ', '_')}", default_closed=True)
            header.label(text=label)
            for name in names if body else ():
                body.prop(self, name)


CLASSES = (IKCORE_OT_place_legs,)
