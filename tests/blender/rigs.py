"""Rigs for the tests, made from numbers: nothing is loaded from a file.

A limb consists of `upper`, `lower` and `tip` under `hips`; the child `tip` shows the rotation of the lower bone. It has
a target and a pole, as empties or as bones of the same armature.
"""

import contextlib

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
MODES = ("QUATERNION", "AXIS_ANGLE", *ORDERS)


def new_scene(frames=20):
    """An empty file with a frame range."""
    # not read_factory_settings: that would switch the extension off
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, frames


def add_object(name, data=None):
    item = bpy.data.objects.new(name, data)
    bpy.context.collection.objects.link(item)
    return item


def edit_bones(armature):
    """Enter Edit Mode on an armature and return its edit bones."""
    if bpy.context.object and bpy.context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    for item in bpy.context.view_layer.objects:
        item.select_set(item == armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    return armature.data.edit_bones


def add_limb(armature, suffix="", *, at=(0, 0, 0), bend=0.12, rolls=(0.0, 0.0), gap=(0, 0, 0), connect=True):
    """Add hips, upper, lower, tip: a leg of about two units, the knee `bend` in front (-Y). Leaves Edit Mode."""
    bones = edit_bones(armature)
    at, gap = Vector(at), Vector(gap)
    points = [at + Vector(p) for p in ((0, 0, 2.4), (0, 0, 2), (0, -bend, 1), (0, 0, 0), (0, -0.3, 0))]
    parent = None
    for index, name in enumerate(("hips", "upper", "lower", "tip")):
        bone = bones.new(name + suffix)
        shift = gap if index >= 2 else Vector()
        bone.head, bone.tail, bone.parent = points[index] + shift, points[index + 1] + shift, parent
        bone.use_connect = connect and parent is not None and gap.length == 0
        bone.roll = rolls[index - 1] if index in (1, 2) else 0.0
        parent = bone
    bpy.ops.object.mode_set(mode="POSE")


def add_control(armature, name, at):
    """Add a parentless bone, as a target or a pole. Leaves Edit Mode."""
    bone = edit_bones(armature).new(name)
    bone.head, bone.tail = Vector(at), Vector(at) + Vector((0, 0, 0.2))
    bpy.ops.object.mode_set(mode="POSE")


def add_ik(armature, suffix="", *, target=None, bone="", pole=None, pole_bone="", angle=-np.pi / 2, iterations=500):
    """Put a two-bone IK constraint on the lower bone."""
    ik = armature.pose.bones["lower" + suffix].constraints.new("IK")
    ik.target, ik.subtarget = target, bone
    ik.pole_target, ik.pole_subtarget = pole, pole_bone
    ik.pole_angle, ik.chain_count, ik.iterations = angle, 2, iterations
    return ik


def leg(name="Leg", *, pole=True, frames=20, **shape):
    """A leg with target and pole empties; the target is keyed on a path within reach. In Pose Mode, lower selected."""
    armature = add_object(name, bpy.data.armatures.new(name))
    add_limb(armature, **shape)
    at = Vector(shape.get("at", (0, 0, 0)))
    target, goal = add_object(name + " target"), add_object(name + " pole") if pole else None
    add_ik(armature, target=target, pole=goal)
    if goal:
        goal.location = at + Vector((0, -3, 1))
    for frame, place in zip(
        (1, frames // 2, frames), ((0.1, -0.5, 0.3), (0.2, 0.1, 0.5), (-0.2, 0.5, 0.2)), strict=True
    ):
        target.location = at + Vector(place)
        target.keyframe_insert("location", frame=frame)
    select(armature, "lower")
    return armature


def select(armature, *names):
    """Select these bones, and no other, in Pose Mode."""
    bpy.context.view_layer.objects.active = armature
    if armature.mode != "POSE":
        bpy.ops.object.mode_set(mode="POSE")
    for bone in armature.pose.bones:
        holder = bone if hasattr(bone, "select") else bone.bone
        holder.select = bone.name in names


def key_pose(armature, rng, frames, bones=("hips", "upper", "lower"), size=0.4):
    """Key random rotations, in whatever mode each bone has, on these frames."""
    for frame in frames:
        for name in bones:
            bone = armature.pose.bones[name]
            turn = Euler(rng.normal(0, size, 3)).to_quaternion()
            if bone.rotation_mode == "QUATERNION":
                bone.rotation_quaternion = turn
                bone.keyframe_insert("rotation_quaternion", frame=frame)
            elif bone.rotation_mode == "AXIS_ANGLE":
                axis, angle = turn.to_axis_angle()
                bone.rotation_axis_angle = (angle, *axis)
                bone.keyframe_insert("rotation_axis_angle", frame=frame)
            else:
                bone.rotation_euler = turn.to_euler(bone.rotation_mode)
                bone.keyframe_insert("rotation_euler", frame=frame)


def sampled(armature, frames):
    """The evaluated matrices of all bones, (frames, bones, 4, 4), in armature space."""
    scene = bpy.context.scene
    now = scene.frame_current
    poses = []
    for frame in frames:
        scene.frame_set(frame)
        flat = np.empty(16 * len(armature.pose.bones), np.float32)
        armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones.foreach_get("matrix", flat)
        poses.append(flat.reshape(-1, 4, 4).transpose(0, 2, 1))
    scene.frame_set(now)
    return np.array(poses, dtype=float)


def tail(armature, poses, name):
    """The tail of a bone in sampled poses."""
    bone = armature.pose.bones[name]
    matrices = poses[:, armature.pose.bones.find(name)]
    return matrices[:, :3, 3] + matrices[:, :3, 1] * bone.bone.length


def turn_between(a, b):
    """The angle in radians between the rotations of two stacks of matrices."""
    a, b = (m[..., :3, :3] / np.linalg.norm(m[..., :3, :3], axis=-2, keepdims=True) for m in (a, b))
    # the chord of the rotation is exact where the cosine has lost its digits
    return 2 * np.arcsin(np.clip(np.linalg.norm(a - b, axis=(-2, -1)) / np.sqrt(8), 0, 1))


KEY = ("co", "handle_left", "handle_right", "interpolation", "easing", "handle_left_type", "handle_right_type", "type")


def curves_of(action, slot):
    """The curves of one slot: {(path, index): curve}."""
    bags = [strip.channelbag(slot) for layer in action.layers for strip in layer.strips]
    return {(curve.data_path, curve.array_index): curve for bag in bags if bag for curve in bag.fcurves}


def keys_of(curve):
    """All keys of a curve by value."""
    return [
        tuple(tuple(v) if hasattr(v := getattr(key, name), "__len__") and not isinstance(v, str) else v for name in KEY)
        for key in curve.keyframe_points
    ]


def action_by_value(action):
    slots = {}
    for slot in action.slots:
        curves = curves_of(action, slot)
        slots[slot.identifier] = {
            at: (keys_of(curve), curve.group and curve.group.name) for at, curve in curves.items()
        }
    return action.users, action.use_fake_user, slots


STRIP = ("name", "frame_start", "frame_end", "action_frame_start", "action_frame_end", "extrapolation", "blend_type")


def tracks_by_value(animation):
    """The tracks of the NLA, from below: name, mute and strips."""
    return [
        (
            track.name,
            track.mute,
            [(*(getattr(strip, name) for name in STRIP), strip.action and strip.action.name) for strip in track.strips],
        )
        for track in (animation.nla_tracks if animation else ())
    ]


def state(*, shown=True):
    """Everything that a refusal, a failure or an undo must leave as it was: the whole file, as values.

    And where bones are shown, which of the same file Blender's own IK may answer now so, now otherwise.
    """
    scene, view_layer = bpy.context.scene, bpy.context.view_layer
    found = {
        "frame": (scene.frame_current, scene.frame_subframe),
        "active": view_layer.objects.active and view_layer.objects.active.name,
        "actions": {action.name: action_by_value(action) for action in bpy.data.actions},
    }
    for item in view_layer.objects:
        animation = item.animation_data
        action = animation.action if animation else None
        slot = animation.action_slot if animation else None
        found[item.name] = (
            item.mode,
            item.select_get(),
            action and action.name,
            slot and slot.identifier,
            bool(animation),
        )
        found[item.name, "nla"] = tracks_by_value(animation)
        for bone in item.pose.bones if item.pose else ():
            channels = (
                bone.location,
                bone.rotation_quaternion,
                bone.rotation_euler,
                bone.rotation_axis_angle,
                bone.scale,
            )
            holder = bone if hasattr(bone, "select") else bone.bone
            settings = [(c.name, c.mute, c.influence) for c in bone.constraints]
            values = [tuple(channel) for channel in channels]
            matrix = np.array(bone.matrix).tolist() if shown else None
            found[item.name, bone.name] = (values, matrix, holder.select, settings)
    return found


# A figure that stands: bones as (name, parent, head, tail), in metres with Z up, facing -Y.
TRUNK = [
    ("hips", None, (0, 0, 0.95), (0, 0, 1.1)),
    ("spine", "hips", (0, 0, 1.1), (0, 0, 1.5)),
    ("head", "spine", (0, 0, 1.5), (0, 0, 1.75)),
]
LEG = [
    ("thigh", "hips", (0.1, 0, 0.9), (0.1, -0.03, 0.5)),
    ("shin", "thigh", (0.1, -0.03, 0.5), (0.1, 0.02, 0.1)),
    ("foot", "shin", (0.1, 0.02, 0.1), (0.1, -0.12, 0.03)),
    ("toe", "foot", (0.1, -0.12, 0.03), (0.1, -0.2, 0.03)),
]
MIXAMO = {"hips": "Hips", "spine": "Spine", "head": "Head"}
MIXAMO |= {"thigh": "{}UpLeg", "shin": "{}Leg", "foot": "{}Foot", "toe": "{}ToeBase"}


def figure(bones, *, name="Figure", size=1.0, turn=None):
    """An armature of bones as above, its axes turned by a matrix, `size` of its units being a metre. In Pose Mode."""
    armature = add_object(name, bpy.data.armatures.new(name))
    made = edit_bones(armature)
    for bone_name, parent, head, tail in bones:
        bone = made.new(bone_name)
        bone.head, bone.tail = (size * (turn @ Vector(p) if turn else Vector(p)) for p in (head, tail))
        bone.parent = made[parent] if parent else None
        bone.use_connect = parent is not None and (bone.head - bone.parent.tail).length < 1e-6 * size
    bpy.ops.object.mode_set(mode="POSE")
    return armature


def mixamo_like():
    """Centimetres with Y up in an object that makes them metres with Z up, as FBX files come."""
    bones = [(MIXAMO[n], p and MIXAMO[p], h, t) for n, p, h, t in TRUNK]
    for side, sign in (("Left", 1), ("Right", -1)):
        names = {**MIXAMO, **{n: MIXAMO[n].format(side) for n, _, _, _ in LEG}}
        bones += [(names[n], names[p], (sign * h[0], *h[1:]), (sign * t[0], *t[1:])) for n, p, h, t in LEG]
    bones = [(f"mixamorig:{n}", p and f"mixamorig:{p}", h, t) for n, p, h, t in bones]
    armature = figure(bones, name="Armature", size=100.0, turn=Matrix.Rotation(-np.pi / 2, 3, "X"))
    armature.scale, armature.rotation_euler = (0.01,) * 3, (np.pi / 2, 0, 0)
    bpy.context.view_layer.update()
    return armature


ARM = ("Shoulder", "Arm", "ForeArm", "Hand")
FINGERS = ("Thumb", "Index", "Middle", "Ring", "Pinky")


def mixamo_person():
    """The 65 bones of Mixamo's people, arms straight out, in the same kind of object. In Pose Mode."""
    body = ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Head", "HeadTop_End")
    heights = (0.98, 1.08, 1.2, 1.34, 1.5, 1.58, 1.76, 1.8)
    bones = [
        (name, body[n - 1] if n else None, (0, 0, low), (0, 0, high))
        for n, (name, low, high) in enumerate(zip(body, heights, heights[1:], strict=False))
    ]
    for side, sign in (("Left", 1), ("Right", -1)):
        leg = [("UpLeg", (0.09, -0.01, 0.52)), ("Leg", (0.09, 0.02, 0.1)), ("Foot", (0.09, -0.12, 0.02))]
        toes = [("ToeBase", (0.09, -0.2, 0.02)), ("Toe_End", (0.09, -0.23, 0.02))]
        arm = [(part, (x, 0.03, 1.45)) for part, x in zip(ARM, (0.17, 0.45, 0.72, 0.8), strict=True)]
        chains = {"Hips": [(0.09, 0, 0.93), *leg, *toes], "Spine2": [(0.06, 0.03, 1.46), *arm]}
        for n, finger in enumerate(FINGERS):
            ends = [(0.8 + 0.03 * k, 0.07 - 0.025 * n, 1.45) for k in range(5)]
            chains[side + "Hand", finger] = [ends[0], *((f"Hand{finger}{k}", ends[k]) for k in range(1, 5))]
        for above, (start, *parts) in chains.items():
            parent, head = above[0] if isinstance(above, tuple) else above, start
            for part, tail in parts:
                bones.append((side + part, parent, *((sign * x, y, z) for x, y, z in (head, tail))))
                parent, head = side + part, tail
    bones = [(f"mixamorig:{n}", p and f"mixamorig:{p}", h, t) for n, p, h, t in bones]
    armature = figure(bones, name="Armature", size=100.0, turn=Matrix.Rotation(-np.pi / 2, 3, "X"))
    armature.scale, armature.rotation_euler = (0.01,) * 3, (np.pi / 2, 0, 0)
    bpy.context.view_layer.update()
    return armature


def rigify_like():
    """A deform chain: limbs in two parts, the second of which takes its scale in another way."""
    bones = [("DEF-spine", None, *TRUNK[0][2:]), ("DEF-spine.001", "DEF-spine", *TRUNK[1][2:])]
    for side, sign in ((".L", 1), (".R", -1)):
        above = "DEF-spine"
        for part, _, head, tail in LEG:
            ends = [Vector((sign * p[0], *p[1:])) for p in (head, tail)]
            middle = [ends[0].lerp(ends[1], 0.5)] if part in ("thigh", "shin") else []
            points = [ends[0], *middle, ends[1]]
            for number in range(len(points) - 1):
                bone = f"DEF-{part}{side}" + (".001" if number else "")
                bones.append((bone, above, points[number], points[number + 1]))
                above = bone
    armature = figure(bones, name="rig")
    for bone in armature.data.bones:
        if bone.name.endswith("001"):
            bone.inherit_scale = "NONE"
    return armature


def control_rig():
    """Legs of FK bones, of others that stand still, and of what deforms, which IK_FK of hips puts between both."""
    kinds = {"fk": "{}_fk{}", "other": "MCH-{}{}", "deform": "DEF-{}{}"}
    bones = list(TRUNK)
    for side, sign in ((".L", 1), (".R", -1)):
        for pattern in kinds.values():
            for part, above, head, tail in LEG:
                ends = [(sign * p[0], *p[1:]) for p in (head, tail)]
                bones.append(
                    (pattern.format(part, side), "hips" if above == "hips" else pattern.format(above, side), *ends)
                )
    armature = figure(bones, name="rig")
    pose = armature.pose.bones
    pose["hips"]["IK_FK"] = 1.0
    pose["hips"].id_properties_ui("IK_FK").update(min=0.0, max=1.0)
    for side in (".L", ".R"):
        for part, *_ in LEG:
            for kind in ("fk", "other"):
                armature.data.bones[kinds[kind].format(part, side)].use_deform = False
                copy = pose[kinds["deform"].format(part, side)].constraints.new("COPY_TRANSFORMS")
                copy.name, copy.target, copy.subtarget = kind, armature, kinds[kind].format(part, side)
            driver = copy.driver_add("influence").driver  # of the second
            variable = driver.variables.new()
            variable.name, driver.expression = "fk", "1 - fk"
            variable.targets[0].id, variable.targets[0].data_path = armature, 'pose.bones["hips"]["IK_FK"]'
    return armature


def unreal_like():
    """As its FBX files come: centimetres, bones that point aside, a root on the floor, twists, IK bones, a skin."""
    words = {"hips": "pelvis", "spine": "spine_01", "head": "head", "shin": "calf", "toe": "ball"}
    bones = [("root", None, (0, 0, 0))] + [(words[n], words.get(p, "root"), h) for n, p, h, _ in TRUNK]
    for side, sign in (("_l", 1), ("_r", -1)):
        for part, above, head, _ in LEG:
            name, above = words.get(part, part), words.get(above, above)
            head = (sign * head[0], *head[1:])
            bones.append((name + side, above if above == "pelvis" else above + side, head))
            if part in ("thigh", "shin"):
                bones.append((f"{name}_twist_01{side}", name + side, (head[0], head[1], head[2] - 0.2)))
        bones += [(f"ik_foot{side}", "root", (sign * 0.1, 0.02, 0.1))]
    armature = figure([(n, p, h, (h[0] + 0.05, *h[1:])) for n, p, h in bones], name="Armature", size=100.0)
    armature.scale = (0.01,) * 3
    for side, sign in (("l", 1), ("r", -1)):
        shoe(armature, {f"foot_{side}": (-0.12, 0.06), f"ball_{side}": (-0.2, -0.12)}, 0.1 * sign)
    bpy.context.view_layer.update()
    return armature


def shoe(armature, parts, x):
    """A skin: a box on the floor for each bone, 8 cm wide at x, from one y to another; lengths in metres."""
    corners = [(x + w, y, z) for ends in parts.values() for w in (-0.04, 0.04) for y in ends for z in (0.0, 0.06)]
    faces = [tuple(8 * n + k for k in quad) for n in range(len(parts)) for quad in ((0, 2, 6, 4), (1, 5, 7, 3))]
    mesh = bpy.data.meshes.new("Shoe")
    mesh.from_pydata([Vector(corner) * 100 for corner in corners], [], faces)
    active = bpy.context.view_layer.objects.active
    item = add_object("Shoe", mesh)
    item.parent = armature
    for n, name in enumerate(parts):
        item.vertex_groups.new(name=name).add(range(8 * n, 8 * n + 8), 1.0, "REPLACE")
    item.modifiers.new("Armature", "ARMATURE").object = armature
    bpy.context.view_layer.objects.active = active


def move(armature, frames, seed=1, size=0.4):
    """Key random rotations of all bones, and places of the roots."""
    rng = np.random.default_rng(seed)
    key_pose(armature, rng, frames, bones=armature.pose.bones.keys(), size=size)
    for bone in armature.pose.bones:
        if bone.parent is None:
            for frame in frames:
                bone.location = rng.normal(0, bone.bone.length, 3)
                bone.keyframe_insert("location", frame=frame)


def places(armature, frames):
    """World positions of the heads and tails of all bones, by name: {name: (frames, 2, 3)}."""
    scene, found = bpy.context.scene, {bone.name: [] for bone in armature.pose.bones}
    for frame in frames:
        scene.frame_set(int(frame), subframe=float(frame) % 1)
        shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for bone in shown.pose.bones:
            found[bone.name].append([shown.matrix_world @ bone.head, shown.matrix_world @ bone.tail])
    return {name: np.array(rows) for name, rows in found.items()}


ARM_AND_LEG = (  # of the left
    ("clavicle", "chest", (0.02, 0, 1.42), (0.15, 0, 1.45)),
    ("upper_arm", "clavicle", (0.15, 0, 1.45), (0.42, 0.03, 1.42)),
    ("forearm", "upper_arm", (0.42, 0.03, 1.42), (0.67, -0.02, 1.4)),
    ("hand", "forearm", (0.67, -0.02, 1.4), (0.8, -0.03, 1.39)),
    ("thigh", "hips", (0.1, 0, 0.95), (0.11, -0.03, 0.5)),
    ("shin", "thigh", (0.11, -0.03, 0.5), (0.11, 0.02, 0.08)),
    ("foot", "shin", (0.11, 0.02, 0.08), (0.12, -0.12, 0.02)),
    ("toes", "foot", (0.12, -0.12, 0.02), (0.12, -0.2, 0.02)),
)
BODY = (
    ("hips", None, (0, 0, 0.98), (0, 0, 1.1)),
    ("spine", "hips", (0, 0, 1.1), (0, 0.02, 1.25)),
    ("chest", "spine", (0, 0.02, 1.25), (0, 0, 1.48)),
    ("head", "chest", (0, 0, 1.48), (0, 0, 1.7)),
)


def person(more=(), **options):
    """A person of 1.7 units, arms out, with more bones if wanted, as `figure` takes them. In Pose Mode."""
    bones = list(BODY)
    for side, sign in ((".L", 1), (".R", -1)):
        for name, above, *ends in ARM_AND_LEG:
            above = above if above in ("chest", "hips") else above + side
            bones.append((name + side, above, *((sign * x, y, z) for x, y, z in ends)))
    return figure([*bones, *more], name="Body", **options)


def to_nla(armature):
    """Play its action by a new NLA strip."""
    animation = armature.animation_data
    animation.nla_tracks.new().strips.new("walk", 1, animation.action)


def tweak(armature):
    """Edit the action of its NLA strip."""
    animation = armature.animation_data
    animation.action = None
    track = animation.nla_tracks[0]
    track.select, animation.nla_tracks.active, track.strips[0].select = True, track, True
    animation.use_tweak_mode = True
    assert animation.use_tweak_mode


def linked(path, kind, name):
    """Save this file, begin a new one, and link what has this name from there."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    new_scene()
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        setattr(wanted, kind, [name])
    return getattr(wanted, kind)[0]


def link_action(armature, path):
    """Give it its own action, linked from a file written for that. Returns the action."""
    action = armature.animation_data.action
    bpy.data.libraries.write(str(path), {action})
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.actions = [action.name]
    armature.animation_data.action = wanted.actions[0]
    return wanted.actions[0]


@contextlib.contextmanager
def refused(sentence):
    """Expect that the code within is refused with this sentence and changes nothing."""
    before = state()
    with pytest.raises(RuntimeError, match=sentence):
        yield
    assert state() == before


def chain_on(armature, count, *, connected=False):
    """Add bones c0, c1, ... in a row, which branch off at the end of b2."""
    bones = edit_bones(armature)
    above, first = bones["b2"], bones["b2"]
    for n in range(count):
        bone = bones.new(f"c{n}")
        bone.head, bone.tail = above.tail, above.tail + (first.tail - first.head).cross((0, 1, 0))
        bone.parent, bone.use_connect, above = above, connected, bone
    bpy.ops.object.mode_set(mode="POSE")
