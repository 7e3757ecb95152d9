"""Rigs with more than two legs, and uneven ground for them, made from numbers."""

import bpy
import numpy as np
import rigs
from mathutils import Vector

SPIDER = ("coxa", "femur", "tibia", "tarsus")  # a leg ends in the tail of the last
SHAPE = ((0.12, 0.3), (0.25, 0.3), (0.5, 0.55), (0.85, 0.3), (1.0, 0.0))  # along a leg: out, up
ANGLES = (35.0, 70.0, 105.0, 145.0)  # degrees of the legs from forward, on the left
DOG = (
    ("hips", None, (0, 0.3, 0.6), (0, 0.1, 0.62)),
    ("spine", "hips", (0, 0.1, 0.62), (0, -0.15, 0.62)),
    ("chest", "spine", (0, -0.15, 0.62), (0, -0.4, 0.62)),
    ("head", "chest", (0, -0.4, 0.62), (0, -0.6, 0.8)),
    ("tail", "hips", (0, 0.3, 0.6), (0, 0.55, 0.7)),
)


def chain(parent, names, *points):
    """Bones from point to point, each the child of the one before, the first of `parent`."""
    return tuple(zip(names, (parent, *names), points, points[1:], strict=False))


DOG_LEGS = {
    "hind": chain(
        "hips", ("thigh", "shin", "foot"), (0.12, 0.28, 0.58), (0.12, 0.18, 0.32), (0.12, 0.36, 0.06), (0.12, 0.24, 0.0)
    ),
    "front": chain(
        "chest",
        ("upper_leg", "lower_leg", "paw"),
        *((0.12, -0.32, 0.56), (0.12, -0.22, 0.32), (0.12, -0.3, 0.06), (0.12, -0.42, 0.0)),
    ),
}
CAT_LEGS = {  # on toes: the ankles are high
    "hind": chain(
        "hips",
        ("thigh", "shin", "foot", "toe"),
        *((0.12, 0.28, 0.58), (0.12, 0.14, 0.36), (0.12, 0.36, 0.2), (0.12, 0.3, 0.03), (0.12, 0.2, 0.0)),
    ),
    "front": chain(
        "chest",
        ("upper_leg", "lower_leg", "paw", "claw"),
        *((0.12, -0.32, 0.56), (0.12, -0.18, 0.36), (0.12, -0.36, 0.19), (0.12, -0.38, 0.03), (0.12, -0.46, 0.0)),
    ),
}


def spider(*, ik=False, size=1.0, under="root"):
    """A spider with eight legs of four bones, all under a body; with IK, targets of legs are `under` another bone."""
    bones = [("root", None, (0, 0, 0), (0, 0.2, 0)), ("targets", None, (0, 0, 0), (0, 0.1, 0))]
    bones.append(("body", "root", (0, 0.1, 0.3), (0, -0.3, 0.3)))
    for side, sign in ((".L", 1), (".R", -1)):
        for number, angle in enumerate(np.radians(ANGLES), 1):
            out = Vector((sign * np.sin(angle), -np.cos(angle), 0))
            ends = [far * out + Vector((0, 0, up)) for far, up in SHAPE]
            above = "body"
            for part, head, tail in zip(SPIDER, ends, ends[1:], strict=False):
                bones.append((f"{part}_{number}{side}", above, head, tail))
                above = bones[-1][0]
            if ik:
                bones.append((f"ik_{number}{side}", under, ends[-1], ends[-1] + Vector((0, 0, 0.1))))
    bones = [(name, above, *([size * part for part in end] for end in ends)) for name, above, *ends in bones]
    armature = rigs.figure(bones, name="Spider")
    for bone in armature.data.bones if ik else ():
        if bone.name.startswith(SPIDER[-1]):
            constrain(armature, bone.name, f"ik_{bone.name.partition('_')[2]}", 4)
    bpy.context.view_layer.update()
    return armature


def constrain(armature, name, target, count, pole=""):
    """IK of some bones, with a pole or without."""
    made = armature.pose.bones[name].constraints.new("IK")
    made.target, made.subtarget, made.chain_count, made.iterations = armature, target, count, 500
    if pole:
        made.pole_target, made.pole_subtarget, made.pole_angle = armature, pole, -np.pi / 2


def dog(legs=DOG_LEGS):
    """A dog whose front legs are on its chest; or a cat, by its legs."""
    bones = list(DOG)
    for parts in legs.values():
        for side, sign in ((".L", 1), (".R", -1)):
            for name, above, *ends in parts:
                above = above if above in ("hips", "chest") else above + side
                bones.append((name + side, above, *((sign * x, y, z) for x, y, z in ends)))
    return rigs.figure(bones, name="Dog")


def dog_in_ik():
    """The dog with targets and poles at the root; its feet turn by their own channels."""
    armature, controls = dog(), {}
    made = rigs.edit_bones(armature)
    for (_, _, hip, knee), (shin, *_), (foot, _, ankle, _) in DOG_LEGS.values():
        for side, sign in ((".L", 1), (".R", -1)):
            aside = 1.0 if knee[1] > hip[1] else -1.0
            places = {f"ik_{foot}{side}": ankle, f"pole_{foot}{side}": (knee[0], knee[1] + 0.5 * aside, knee[2])}
            for name, (x, y, z) in places.items():
                bone = made.new(name)
                bone.head, bone.tail = (sign * x, y, z), (sign * x, y, z + 0.1)
            controls[shin + side] = tuple(places)
    bpy.ops.object.mode_set(mode="POSE")
    for name, (target, pole) in controls.items():
        constrain(armature, name, target, 2, pole)
    bpy.context.view_layer.update()
    return armature


def tips(armature, prefix=SPIDER[-1]):
    """The displayed world positions of the tails of these bones, (bones, 3)."""
    bpy.context.view_layer.update()
    shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([shown.matrix_world @ bone.tail for bone in shown.pose.bones if bone.name.startswith(prefix)])


def hill(slope=(0.2, 0.3), *, waves=0.06, size=6.0, count=61, name="Hill"):
    """A mesh whose height is a slope along x and y, with waves. Returns its object."""
    across = np.linspace(-size / 2, size / 2, count)
    x, y = (each.ravel() for each in np.meshgrid(across, across, indexing="ij"))
    mesh = bpy.data.meshes.new(name)
    index = np.arange(count * count).reshape(count, count)
    faces = np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1).reshape(-1, 4)
    mesh.from_pydata(np.stack([x, y, height(x, y, slope, waves)], axis=-1), [], faces.tolist())
    active = bpy.context.view_layer.objects.active
    item = rigs.add_object(name, mesh)
    bpy.context.view_layer.objects.active = active
    bpy.context.view_layer.update()
    return item


def height(x, y, slope=(0.2, 0.3), waves=0.06):
    """The height of that ground; its mesh is lower by little."""
    return slope[0] * x + slope[1] * y + waves * np.sin(3 * x) * np.cos(4 * y)
