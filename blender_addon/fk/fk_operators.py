# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes, calls methods and shows docstrings as tooltips in its own way:
# ruff: noqa: N801, D102, D400
"""The operators FK -> IK and IK -> FK: limbs, new targets and poles, frames."""

import contextlib

import bpy
import numpy as np
from bpy.props import BoolProperty

from ..animation import actions, scene_frames
from ..animation.frame_range import RANGES, FrameRange, chosen_range, draw_range, frames_choice, scene_range
from ..feet.foot_report import summary_line
from ..limbs.ik_constraints import CHAIN, Limb, check_cycle, check_target, is_selected, selected_limbs
from ..limbs.operators import ProgressOperator, chosen_armatures, item_description, no_armature
from ..rig import rigify
from ..rig.armatures import CannotBakeError, Rig, evaluation_problem, not_editable, playback_problem
from ..ui.properties import selected_or_all
from . import ik_from_fk, switching

EMPTY = 0.05  # of the chain length: display size of new empties


class SnapOperator(FrameRange, ProgressOperator):
    """Matches one kind of limb animation to the other."""

    of_switches: tuple[str, ...] = ("switch",)  # options for rigs with IK/FK switches

    frame_range: frames_choice(
        *RANGES, ("FRAME", "This Frame", "Key the displayed pose at the current frame, in the current actions")
    )
    limbs: selected_or_all(
        "Which limbs to key", "Limbs with a selected bone: in the chain, the target or the pole", "All limbs"
    )
    switch: BoolProperty(
        name="Set Switch",
        description="Set the IK/FK switch of the rig to the keyed controls. An animated switch gets keys",
        default=True,
    )

    @classmethod
    def description(cls, context, properties):
        return item_description(properties, "frame_range") if properties.frame_range == "FRAME" else cls.__doc__

    def invoke(self, context, event):
        if not self.properties.is_property_set("frame_start") and not self.properties.is_property_set("frame_end"):
            self.frame_start, self.frame_end = scene_range(context.scene)
        return super().invoke(context, event)

    def report_results(self, reports):
        """Report the result."""
        troubled = any(report.has_problems() for report in reports)
        self.report(
            {"WARNING" if troubled else "INFO"}, summary_line([(report.armature, report) for report in reports])
        )

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "limbs")
        draw_range(layout, self)
        if any(map(rigify.switch_of, chosen_armatures(context))):
            for name in self.of_switches:
                layout.prop(self, name)

    def _switched_limbs(self, context):
        """The chosen limbs with FK and IK controls, and all armatures with switches."""
        rigs = [armature for armature in chosen_armatures(context) if rigify.switch_of(armature)]
        found = [limb for armature in rigs for limb in rigify.limbs(armature)]
        everything = self.limbs == "ALL" or context.object.mode == "OBJECT"
        limbs = [limb for limb in found if everything or limb.is_selected()]
        for armature in dict.fromkeys(limb.object for limb in limbs):
            _check(context, armature)
        if rigs and not found:
            raise CannotBakeError(
                f"{rigs[0].name} has {rigify.switch_of(rigs[0])}, but no limb that switches between FK and IK as in "
                "Rigify's rigs or Mixamo's control rig: generate the rig again, or key its controls by hand"
            )
        return limbs, rigs

    def _chosen_limbs(self, context, armatures):
        """The limbs with IK, and (armature, chain) of limbs that get IK where no IK is selected."""
        limbs = [limb for armature in armatures for limb in ik_from_fk.every_limb(armature)]
        if self.limbs == "ALL" or context.object.mode == "OBJECT":
            return limbs, []
        chosen = selected_limbs(limbs)
        return chosen, [] if chosen else [(item, chain) for item in armatures for chain in _selected_chains(item)]

    def _frames(self, context, armatures):
        """The frames to key."""
        if self.frame_range == "FRAME":
            return np.array([context.scene.frame_current])
        ends, reason = chosen_range(self, context.scene, dict.fromkeys(armatures))
        if reason:
            raise CannotBakeError(reason)
        return np.arange(ends[0], ends[1] + 1)


class IKCORE_OT_fk_to_ik(SnapOperator):
    """Match the IK targets and poles to the FK animation. Adds IK to selected limbs that have none"""

    bl_idname = "ikcore.fk_to_ik"
    bl_label = "FK -> IK"

    @staticmethod
    def reason(context):
        return no_armature(context) or _without_limbs(context)

    of_switches = ("switch", "disable_stretch")

    disable_stretch: BoolProperty(
        name="Disable IK Stretch",
        description="Set IK Stretch of the IK bones to 0, so that IK matches FK. With IK Stretch Blender also shortens "
        "bones where a target is near. Without it IK does not stretch to far targets either",
        default=True,
    )

    def make_job(self, context):
        switched, rigs = self._switched_limbs(context)
        limbs, bare = self._chosen_limbs(context, [item for item in chosen_armatures(context) if item not in rigs])
        if switched:
            if limbs or bare:
                name = rigify.switch_of(rigs[0])
                raise CannotBakeError(f"{rigs[0].name} has {name}, others do not: select one kind of rig at a time")
            return switched, None, self._frames(context, [limb.object for limb in switched])
        if not limbs and not bare and rigs:
            raise CannotBakeError("No limb selected: select an FK or IK control of one")
        if not limbs and not bare:
            raise CannotBakeError(
                "No IK selected: select a bone of its chain, or the bones of a limb without IK to add it"
            )
        for limb in limbs:
            _check(context, limb.object)
            _check_limb(limb)
        for armature in dict.fromkeys(armature for armature, _ in bare):
            _check(context, armature)
        frames = self._frames(context, [*(limb.object for limb in limbs), *(armature for armature, _ in bare)])
        for armature, chain in [*((limb.object, limb.chain) for limb in limbs), *bare]:
            if self.frame_range != "FRAME" and not _has_keys(Rig(armature), chain):
                raise CannotBakeError(f"{' and '.join(chain)} have no keys: there is no FK animation to match")
        return limbs, bare, frames

    def steps(self, context, job):
        limbs, bare, frames = job
        still = self.frame_range == "FRAME"
        if bare is None:
            self.report_results(
                (
                    yield from switching.snap(
                        context, limbs, frames, to_ik=True, still=still, switch=self.switch, rigid=self.disable_stretch
                    )
                )
            )
            return
        with _complete_limbs(context, limbs, bare) as (every, fresh):
            self.report_results((yield from ik_from_fk.bake(context, every, frames, fresh, still=still)))


class IKCORE_OT_ik_to_fk(SnapOperator):
    """Match the FK controls to the IK animation"""

    bl_idname = "ikcore.ik_to_fk"
    bl_label = "IK -> FK"

    @staticmethod
    def reason(context):
        return no_armature(context) or _without_switch(chosen_armatures(context))

    def make_job(self, context):
        limbs, _ = self._switched_limbs(context)
        if not limbs:
            raise CannotBakeError("No limb selected: select an FK or IK control of one")
        return limbs, self._frames(context, [limb.object for limb in limbs])

    def steps(self, context, job):
        limbs, frames = job
        still = self.frame_range == "FRAME"
        self.report_results(
            (yield from switching.snap(context, limbs, frames, to_ik=False, still=still, switch=self.switch))
        )


def _without_limbs(context):
    """The reason why there is no IK to key and no bone to add it to, or None."""
    armatures = chosen_armatures(context)
    if not all(map(_without_ik, armatures)):
        return None
    if context.object.mode == "POSE" and any(is_selected(bone) for item in armatures for bone in item.pose.bones):
        return None
    return f"{_names(armatures)} has no IK: in Pose Mode select the bones of a limb to add it"


def _without_ik(armature):
    bones = armature.pose.bones
    return not rigify.switch_of(armature) and not any(each.type == "IK" for bone in bones for each in bone.constraints)


def _without_switch(armatures):
    """The reason why there are no FK controls to key, or None."""
    if any(map(rigify.switch_of, armatures)):
        return None
    switch = rigify.SWITCHES[0]
    return f"{_names(armatures)} has no IK/FK switch, such as {switch}: use Bake IK to key the bones"


def _names(armatures):
    return " or ".join(armature.name for armature in armatures)


def _selected_chains(armature):
    """The names of selected chains of bones, root first. A single bone comes with its parent."""
    chains = []
    for bone in armature.pose.bones:
        if is_selected(bone) and not any(map(is_selected, bone.children)):
            chain = [bone]
            while chain[0].parent and (is_selected(chain[0].parent) or len(chain) < CHAIN):
                chain.insert(0, chain[0].parent)
            chains.append(tuple(each.name for each in chain))
    shared = [name for n, chain in enumerate(chains) for name in chain if any(name in other for other in chains[:n])]
    if shared:
        raise CannotBakeError(f"{shared[0]} is in several selected chains: select the bones of one limb at a time")
    return chains


def _has_keys(rig, chain):
    """Whether keys move any of these bones."""
    return any(path.startswith(actions.path_of(rig.bones[name], "")) for path in rig.curves for name in chain)


def _check(context, armature):
    """Refuse an armature whose IK cannot be keyed."""
    reason = not_editable(armature) or playback_problem(armature) or evaluation_problem(context, armature)
    if reason is None and armature.pose.ik_solver != "LEGACY":
        reason = f"{armature.name} uses the iTaSC solver: FK -> IK needs the standard IK solver"
    if reason:
        raise CannotBakeError(reason)


def _check_limb(limb):
    """Refuse a limb whose target or pole cannot be keyed."""
    ik, reason = limb.ik, None
    for target, bone, what in ((ik.target, ik.subtarget, "target"), (ik.pole_target, ik.pole_subtarget, "pole target")):
        reason = reason or (target and check_target(limb, target, bone, what))
    if reason := reason or check_cycle(limb):
        raise CannotBakeError(reason)


@contextlib.contextmanager
def _complete_limbs(context, limbs, bare):
    """All limbs, with IK, targets and poles added where missing, and those of them whose pole is new.

    If the following code fails, they are removed again.
    """
    limbs, fresh, before, made = list(limbs), set(), [], []
    try:
        for armature, chain in bare:
            ik = armature.pose.bones[chain[-1]].constraints.new("IK")
            ik.chain_count = len(chain)
            limbs.append(Limb(armature, chain[-1], ik.name, chain))
        for limb in limbs:
            ik = limb.ik
            before.append((ik, ik.target, ik.pole_target, ik.pole_angle))
            if ik.target is None:
                made.append(_empty(context, limb, "target", "CUBE"))
                ik.target = made[-1]
            if ik.pole_target is None and len(limb.chain) == CHAIN:
                made.append(_empty(context, limb, "pole", "SPHERE"))
                ik.pole_target = made[-1]
                fresh.add(limb)
        yield limbs, fresh
    except BaseException:
        for ik, target, pole, angle in before:
            ik.target, ik.pole_target, ik.pole_angle = target, pole, angle
        for limb in limbs[len(limbs) - len(bare) :]:
            limb.bones[limb.owner].constraints.remove(limb.ik)
        for item in made:
            bpy.data.objects.remove(item)
        context.view_layer.update()
        raise


def _empty(context, limb, what, shape):
    """A new empty beside the armature of a limb."""
    size = sum(limb.bones[name].bone.length for name in limb.chain) * limb.object.matrix_world.median_scale
    return scene_frames.add_empty(context, limb.object, f"{limb.owner} {what}", shape, EMPTY * size)


CLASSES = (IKCORE_OT_fk_to_ik, IKCORE_OT_ik_to_fk)
