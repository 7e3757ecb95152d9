"""A rig as Mixamo's control rig makes it, of two legs and two arms, by what that has: nothing of it is loaded.

Deforming bones copy those of IK and FK. The IK foot targets a bone that rolls with heel and toe. Its control and the
poles are children by constraints, and the FK foot is a child of its control.
"""

import math

import bpy
import rigs
from mathutils import Vector

SIDES = (("Left", 1), ("Right", -1))
LEG = (
    ("UpLeg", (0.1, 0, 0.9), (0.1, -0.03, 0.5)),
    ("Leg", (0.1, -0.03, 0.5), (0.1, 0.02, 0.1)),
    ("Foot", (0.1, 0.02, 0.1), (0.1, -0.12, 0.03)),
    ("ToeBase", (0.1, -0.12, 0.03), (0.1, -0.2, 0.03)),
)
ARM = (
    ("Shoulder", (0.03, 0, 1.4), (0.15, 0, 1.4)),
    ("Arm", (0.15, 0, 1.4), (0.42, 0.03, 1.4)),
    ("ForeArm", (0.42, 0.03, 1.4), (0.68, 0, 1.4)),
    ("Hand", (0.68, 0, 1.4), (0.8, 0, 1.4)),
)
KEYED = {"leg": ("UpLeg_FK", "Leg_FK", "Foot_FK", "Toe_FK"), "arm": ("Arm_FK", "ForeArm_FK", "Hand_FK")}
MIXAMO = "mixamorig:{}{}"


def control_rig():
    """The armature, in Pose Mode, all limbs in IK."""
    armature = rigs.add_object("Mixamo", bpy.data.armatures.new("Mixamo"))
    made = rigs.edit_bones(armature)
    hips, chest = ((0, 0, 0.95), (0, 0, 1.1)), ((0, 0, 1.1), (0, 0, 1.4))
    _bone(made, "Ctrl_Master", None, (0, 0, 0), (0, 0.3, 0))
    for pattern, above in (("Ctrl_{}", "Ctrl_Master"), ("mixamorig:{}", None)):
        _bone(made, pattern.format("Hips"), above, *hips)
        _bone(made, pattern.format("Spine"), pattern.format("Hips"), *chest)
    for side, sign in SIDES:
        _leg(made, side, sign)
        _arm(made, side, sign)
    bpy.ops.object.mode_set(mode="POSE")
    _bound(armature)
    return armature


def _bone(made, name, above, head, tail, z=(0, -1, 0)):
    bone = made.new(name)
    bone.head, bone.tail, bone.parent = Vector(head), Vector(tail), made[above] if above else None
    bone.align_roll(Vector(z))
    return bone


def _ends(parts, sign):
    return {part: [Vector((sign * x, y, z)) for x, y, z in ends] for part, *ends in parts}


def _leg(made, side, sign):
    ends, above = _ends(LEG, sign), "mixamorig:Hips"
    for part, (head, tail) in ends.items():
        _bone(made, MIXAMO.format(side, part), above, head, tail, z=(0.3, -1, 0.2))  # rolled in another way
        above = MIXAMO.format(side, part)
    (foot, ball), (_, tip) = ends["Foot"], ends["ToeBase"]
    for kind, prefix in (("IK", ""), ("FK", "Ctrl_")):
        _bone(made, f"{prefix}UpLeg_{kind}_{side}", "Ctrl_Hips", *ends["UpLeg"])
        _bone(made, f"{prefix}Leg_{kind}_{side}", f"{prefix}UpLeg_{kind}_{side}", *ends["Leg"])
    up, floor = (0, 0, 1), Vector((foot.x, foot.y, ball.z))
    _bone(made, f"Ctrl_Foot_FK_{side}", f"Ctrl_Leg_FK_{side}", foot, (*ball[:2], foot.z), up)
    _bone(made, f"Foot_FK_{side}", f"Ctrl_Foot_FK_{side}", foot, ball, up)
    _bone(made, f"Ctrl_Toe_FK_{side}", f"Ctrl_Foot_FK_{side}", ball, tip, up)
    _bone(made, f"Ctrl_Foot_IK_{side}", None, foot, (*ball[:2], foot.z), up)
    _bone(made, f"Foot_IK_{side}", f"Ctrl_Foot_IK_{side}", foot, ball, up)
    for name, above in (("FootHeelOut", "Ctrl_Foot_IK"), ("FootHeelIn", "FootHeelOut"), ("FootHeelMid", "FootHeelIn")):
        _bone(made, f"{name}_{side}", f"{above}_{side}", floor, (floor + ball) / 2, up)
    _bone(made, f"ToeEnd_{side}", f"FootHeelMid_{side}", tip, 2 * tip - ball, up)
    _bone(made, f"Ctrl_Foot_01_{side}", f"ToeEnd_{side}", ball, 2 * ball - foot, up)
    pole = made[f"Ctrl_Foot_01_{side}"].z_axis
    _bone(made, f"Foot_01_Pole_{side}", f"Ctrl_Foot_01_{side}", ball + 0.3 * pole, ball + 0.4 * pole)
    _bone(made, f"Foot_IK_target_{side}", f"Ctrl_Foot_01_{side}", foot, foot - 0.25 * (ball - foot), up)
    _bone(made, f"Ctrl_Toe_IK_{side}", f"ToeEnd_{side}", ball, tip, up)
    _bone(made, f"Ctrl_FootRoll_Cursor_{side}", f"Ctrl_Foot_IK_{side}", foot + Vector((0, 0.2, 0)), foot, up)
    _bone(made, f"Ctrl_LegPole_IK_{side}", None, (foot.x, -1, 0.5), (foot.x, -1, 0.6))


def _arm(made, side, sign):
    ends, above = _ends(ARM, sign), "mixamorig:Spine"
    for part, (head, tail) in ends.items():
        _bone(made, MIXAMO.format(side, part), above, head, tail, z=(0, 0.3, 1))
        above = MIXAMO.format(side, part)
    _bone(made, f"Ctrl_Shoulder_{side}", "Ctrl_Spine", *ends["Shoulder"])
    _bone(made, f"Arm_IK_{side}", f"Ctrl_Shoulder_{side}", *ends["Arm"])
    _bone(made, f"ForeArm_IK_{side}", f"Arm_IK_{side}", *ends["ForeArm"])
    _bone(made, f"Ctrl_Arm_FK_{side}", "Ctrl_Spine", *ends["Arm"])
    _bone(made, f"Ctrl_ForeArm_FK_{side}", f"Ctrl_Arm_FK_{side}", *ends["ForeArm"])
    _bone(made, f"Ctrl_Hand_FK_{side}", f"Ctrl_ForeArm_FK_{side}", *ends["Hand"])
    _bone(made, f"Ctrl_Hand_IK_{side}", None, *ends["Hand"])
    _bone(made, f"Ctrl_ArmPole_IK_{side}", None, (sign * 0.42, 0.8, 1.4), (sign * 0.42, 0.8, 1.5))


def _bound(armature):
    """The constraints, and the drivers that switch."""
    pose = armature.pose.bones
    for name in ("Hips", "Spine"):
        constrain(pose[f"mixamorig:{name}"], "COPY_TRANSFORMS", f"Ctrl_{name}")
    for side, _ in SIDES:
        foot, hand = f"Ctrl_Foot_IK_{side}", f"Ctrl_Hand_IK_{side}"
        for switch in (pose[foot], pose[hand]):
            switch["ik_fk_switch"] = 0.0
            switch.id_properties_ui("ik_fk_switch").update(min=0.0, max=1.0)
        _solved(armature, f"Leg_IK_{side}", f"Foot_IK_target_{side}", f"Ctrl_LegPole_IK_{side}")
        _solved(armature, f"ForeArm_IK_{side}", hand, f"Ctrl_ArmPole_IK_{side}")
        below = pose[f"Foot_IK_{side}"]
        constrain(below, "COPY_LOCATION", f"Leg_IK_{side}", head_tail=1.0)
        up = {"track_axis": "TRACK_Y", "up_axis": "UP_Z", "use_target_z": True}
        constrain(below, "TRACK_TO", f"Ctrl_Foot_01_{side}", **up)
        constrain(below, "LOCKED_TRACK", f"Foot_01_Pole_{side}", track_axis="TRACK_Z", lock_axis="LOCK_Y")
        _rolls(pose[f"FootHeelMid_{side}"], f"Ctrl_FootRoll_Cursor_{side}")
        for name, above in ((foot, "Ctrl_Master"), (f"Ctrl_LegPole_IK_{side}", foot), (hand, "Ctrl_Master")):
            adopt(pose[name], above)
        adopt(pose[f"Ctrl_ArmPole_IK_{side}"], "Ctrl_Hips")
        constrain(pose[f"Ctrl_Arm_FK_{side}"], "COPY_LOCATION", f"Ctrl_Shoulder_{side}", head_tail=1.0)
        constrain(pose[f"mixamorig:{side}Shoulder"], "COPY_TRANSFORMS", f"Ctrl_Shoulder_{side}")
        for part in ("UpLeg", "Leg"):
            _switched(armature, side, part, f"{part}_IK_{side}", f"Ctrl_{part}_FK_{side}", foot)
        _switched(armature, side, "Foot", f"Foot_IK_{side}", f"Foot_FK_{side}", foot)
        _switched(armature, side, "ToeBase", f"Ctrl_Toe_IK_{side}", f"Ctrl_Toe_FK_{side}", foot, "COPY_ROTATION")
        for part in ("Arm", "ForeArm"):
            _switched(armature, side, part, f"{part}_IK_{side}", f"Ctrl_{part}_FK_{side}", hand)
        _switched(armature, side, "Hand", hand, f"Ctrl_Hand_FK_{side}", hand, "COPY_ROTATION")
        for name in ("UpLeg", "Leg", "Foot"):
            pose[f"Ctrl_{name}_FK_{side}"].lock_location = (True,) * 3
        pose[f"Ctrl_FootRoll_Cursor_{side}"].lock_rotation = (True,) * 3
        pose[f"Ctrl_Foot_01_{side}"].lock_location = (True,) * 3
    for bone in armature.data.bones:
        bone.use_deform = bone.name.startswith("mixamorig:")
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ" if bone.name.startswith("Ctrl_") else "QUATERNION"


def constrain(bone, kind, name, **options):
    """A constraint that looks at another bone."""
    made = bone.constraints.new(kind)
    made.target, made.subtarget = bone.id_data, name
    for option, value in options.items():
        setattr(made, option, value)
    return made


def adopt(bone, name):
    """Make a bone the child of another by a constraint, where it is."""
    made = constrain(bone, "CHILD_OF", name)
    made.inverse_matrix = bone.id_data.data.bones[name].matrix_local.inverted()


def _solved(armature, name, target, pole):
    """IK of two bones whose pole is in front of the knee, or behind the elbow."""
    rest, bone = armature.data.bones, armature.pose.bones[name]
    upper = rest[name].parent
    way = upper.matrix_local.to_3x3().inverted() @ (rest[pole].head_local - upper.head_local)
    bone.lock_ik_y = True
    options = {"pole_target": armature, "pole_subtarget": pole, "pole_angle": math.atan2(way.z, way.x)}
    constrain(bone, "IK", target, chain_count=2, use_stretch=False, iterations=500, **options)


def _rolls(bone, cursor):
    """The heel rolls as the cursor goes up and down."""
    maps = {"owner_space": "LOCAL", "target_space": "LOCAL", "map_from": "LOCATION", "map_to": "ROTATION"}
    ends = {"from_min_z": -0.1, "from_max_z": 0.1, "map_to_x_from": "Z", "to_min_x_rot": 1.7, "to_max_x_rot": -1.7}
    constrain(bone, "TRANSFORM", cursor, mix_mode_rot="ADD", **maps, **ends)


def _switched(armature, side, part, ik, fk, switch, kind="COPY_TRANSFORMS"):
    """A deforming bone copies one bone and, by a switch, another."""
    bone = armature.pose.bones[MIXAMO.format(side, part)]
    constrain(bone, kind, ik)
    driver = constrain(bone, kind, fk).driver_add("influence").driver
    variable = driver.variables.new()
    driver.expression = variable.name = "var"
    variable.targets[0].id = armature
    variable.targets[0].data_path = f'pose.bones["{switch}"]["ik_fk_switch"]'
