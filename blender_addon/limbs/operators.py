# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes, calls methods and shows docstrings as tooltips in its own way:
# ruff: noqa: N801, D102, D400, RUF012
"""The operators Bake IK and Bake Tracking, and common parts of all operators: refusal, progress, cancelling."""

import time

import bpy
import numpy as np
from bpy.props import IntProperty

from .. import bridge
from ..animation import scene_frames
from ..animation.frame_range import FrameRange, chosen_range, draw_range, scene_range
from ..feet.foot_report import summary_line
from ..rig.armatures import CannotBakeError, evaluation_problem
from ..ui.properties import selected_or_all
from .bake import bake
from .ik_constraints import (
    CHAIN,
    aimed_together,
    find_limbs,
    find_tracks,
    limbs_with_target,
    none_on,
    refusals,
    selected_limbs,
    together,
)
from .key_fitting import Keys, draw_keys
from .solvers import IKSolver, TrackingSolver

TICK = 0.05  # s of work between two events
SHOWN = 0.05  # share of the work between two updates of the status bar, as each redraws the window


def no_armature(context):
    """The reason why the active object cannot be baked, or None."""
    return not_usable(context.object)


def not_usable(armature):
    """The reason why this is no armature to work on, or None."""
    if bridge.problem():
        return bridge.problem()
    if armature is None or armature.type != "ARMATURE":
        return "Select an armature"
    if armature.mode not in {"POSE", "OBJECT"}:
        return "Switch to Pose Mode or Object Mode"
    return None


def item_description(properties, name):
    """The description of the chosen item of an option: the tooltip of a button that sets it."""
    option = properties.bl_rna.properties[name]
    return option.enum_items[getattr(properties, name)].description


class CheckedOperator(bpy.types.Operator):
    """An operator that says why its button is grey, and why it did nothing."""

    @staticmethod
    def reason(context):
        return no_armature(context)

    @classmethod
    def poll(cls, context):
        reason = cls.reason(context)
        if reason:
            cls.poll_message_set(reason)
        return reason is None

    def refuse(self, sentence):
        self.report({"ERROR"}, str(sentence))
        return {"CANCELLED"}


class ProgressOperator(CheckedOperator):
    """An operator with progress: at once from scripts, with Esc to cancel from the interface."""

    bl_options = {"REGISTER", "UNDO"}

    def make_job(self, context):
        """The job, by value, or a CannotBakeError."""
        raise NotImplementedError

    def steps(self, context, job):
        """Do the job: a generator that yields progress, and reports at its end."""
        raise NotImplementedError

    def execute(self, context):
        try:
            scene_frames.run(self.steps(context, self.make_job(context)))
        except CannotBakeError as error:
            return self.refuse(error)
        return {"FINISHED"}

    def invoke(self, context, event):
        if bpy.app.background or context.window is None:
            return self.execute(context)
        try:
            self._work, self._shown = self.steps(context, self.make_job(context)), None
        except CannotBakeError as error:
            return self.refuse(error)
        self._timer = context.window_manager.event_timer_add(0.01, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" and event.value == "PRESS":
            self.cancel(context)
            self.report({"INFO"}, "Cancelled: nothing has changed")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        done = {"CANCELLED"}
        try:
            done = self._tick(context)
        except CannotBakeError as error:
            self.refuse(error)
        finally:
            if done != {"RUNNING_MODAL"}:
                self.cancel(context)
        return done

    def cancel(self, context):
        """End the work and restore everything: also called by Blender when it closes the window."""
        self._work.close()
        context.window_manager.event_timer_remove(self._timer)
        context.workspace.status_text_set(None)

    def _tick(self, context):
        """Work for one tick."""
        until = time.monotonic() + TICK
        try:
            while time.monotonic() < until:
                share = next(self._work)
        except StopIteration:
            return {"FINISHED"}
        text = f"{self.bl_label}: {SHOWN * int(share / SHOWN):.0%}    Esc: Cancel"
        if text != self._shown:
            self._shown = text
            context.workspace.status_text_set(text)
        return {"RUNNING_MODAL"}


class _SolverOperator(Keys, FrameRange, ProgressOperator):
    """Bakes constraints by a solver."""

    solver: str
    stored: str  # the name of the stored solver

    def invoke(self, context, event):
        if not self.properties.is_property_set("frame_start") and not self.properties.is_property_set("frame_end"):
            self.frame_start, self.frame_end = scene_range(context.scene)
        return super().invoke(context, event)

    def execute(self, context):
        done = ProgressOperator.execute(self, context)
        if self.options.is_repeat and done == {"FINISHED"}:  # options were changed in the redo panel
            setattr(context.object.ikcore_ik, self.stored, self.solver)
        return done

    def tell(self, reports):
        """Report the result."""
        troubled = any(report.has_problems() for report in reports)
        self.report(
            {"WARNING" if troubled else "INFO"}, summary_line([(report.armature, report) for report in reports])
        )


class IKCORE_OT_bake_ik(IKSolver, _SolverOperator):
    """Key the IK motion on the bones of its chains, in a copy of the action. The IK constraints are muted"""

    bl_idname = "ikcore.bake_ik"
    bl_label = "Bake IK"
    stored = "solver"

    limbs: selected_or_all(
        "Which IK to bake",
        "IK with a selected bone: in its chain, its target or its pole",
        "All IK. With Exact Two-Bone all chains of two bones",
    )

    def make_job(self, context):
        limbs, reason = self._chosen_limbs(context)
        frames, range_reason = _frames_of(self, context, limbs)
        if reason or range_reason:
            raise CannotBakeError(reason or range_reason)
        return limbs, frames

    def steps(self, context, job):
        limbs, frames = job
        self.tell((yield from bake(context, limbs, frames, self.solver, self.method, tolerance=self.tolerance())))

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "solver")
        if self.solver == "LIBRARY":
            layout.prop(self, "method")
        layout.prop(self, "limbs")
        draw_range(layout, self)
        draw_keys(layout, self)

    def _chosen_limbs(self, context):
        """The limbs to bake, or a reason if there are none."""
        armatures = chosen_armatures(context)
        everything = self.limbs == "ALL" or context.object.mode == "OBJECT"
        if everything:
            found = limbs_with_target([limb for armature in armatures for limb in find_limbs(armature)])
            # without any, the refusal of a longer chain gives the reason
            limbs = (self.solver == "TWO_BONE" and [limb for limb in found if limb.ik.chain_count == CHAIN]) or found
            nothing = none_on(armatures)
        else:
            limbs = [limb for armature in armatures for limb in selected_limbs(find_limbs(armature))]
            nothing = "No IK selected: select a bone of its chain, its target or its pole"
        if not limbs:
            return [], nothing
        if self.solver != "TWO_BONE":
            limbs = together(limbs)
        if reason := next(filter(None, (evaluation_problem(context, limb.object) for limb in limbs)), None):
            return [], reason
        return limbs, next(filter(None, (reasons[self.solver] for reasons in refusals(limbs))), None)


class IKCORE_OT_bake_tracking(TrackingSolver, _SolverOperator):
    """Key the motion of Damped Track, Track To, Locked Track and Spline IK. The constraints are muted"""

    bl_idname = "ikcore.bake_tracking"
    bl_label = "Bake Tracking"
    stored = "tracking_solver"

    sharing: IntProperty(
        name="Bones",
        description="How many bones share a rotation with the Library Solver: the bone with the constraint and its "
        "parents, such as neck and chest. A Locked Track turns one bone",
        min=1,
        soft_max=8,
        default=1,
    )

    def make_job(self, context):
        found = [limb for armature in chosen_armatures(context) for limb in find_tracks(armature)]
        if context.object.mode == "POSE":
            found = selected_limbs(found)
        if not found:
            where = "of a selected bone " if context.object.mode == "POSE" else ""
            raise CannotBakeError(f"No Damped Track, Track To, Locked Track or Spline IK {where}is enabled")
        limbs = together(found) if self.solver == "DISPLAYED" else aimed_together(found, self.sharing)
        frames, reason = _frames_of(self, context, limbs)
        reasons = (evaluation_problem(context, limb.object) for limb in limbs)
        refused = (each[self._way] for each in refusals(limbs, [self._way]))
        if reason := reason or next(filter(None, reasons), None) or next(filter(None, refused), None):
            raise CannotBakeError(reason)
        return limbs, frames

    @property
    def _way(self):
        """The solver as `bake` names it."""
        return "TRACKING" if self.solver == "LIBRARY" else self.solver

    def steps(self, context, job):
        limbs, frames = job
        self.tell((yield from bake(context, limbs, frames, self._way, None, "Baked Tracking", self.tolerance())))

    def draw(self, context):
        self.layout.use_property_split = True
        self.layout.prop(self, "solver")
        if self.solver == "LIBRARY":
            self.layout.prop(self, "sharing")
        draw_range(self.layout, self)
        draw_keys(self.layout, self)


def _frames_of(options, context, limbs):
    """The frames to bake, or a reason if there are none."""
    objects = dict.fromkeys(item for limb in limbs for item in (limb.object, *limb.sources()))
    ends, reason = chosen_range(options, context.scene, objects)
    return (None, reason) if reason else (np.arange(ends[0], ends[1] + 1), None)


def chosen_armatures(context):
    """The active armature and all other selected ones; in Pose Mode all armatures in that mode."""

    def is_chosen(item):
        return item.mode == "POSE" if context.object.mode == "POSE" else item.select_get()

    armatures = [item for item in context.view_layer.objects if item.type == "ARMATURE" and is_chosen(item)]
    return [context.object, *(item for item in armatures if item != context.object)]
