"""Throws made-up rigs at every operator: `python tests/blender/fuzz_rigs.py ZIP [SECONDS [SEED]]`.

The python is one with the `bpy` wheel. A turn is a number: it makes a scene, presses a button, and lets it end, cancels
it somewhere or undoes it. Invariants: no operator ends in a Python error. An operation that is refused, cancelled or
undone leaves the file unchanged, to the digit. The pose after Bake IK and Bake Tracking as shown is the displayed one;
otherwise the report says so, and `nla.bake` of the same constraints deviates too. Turns go on from SEED until their
time is over; with 0 SECONDS it is that one alone. A test takes some of them.
"""

import importlib
import itertools
import os
import pathlib
import sys
import tempfile
import time

import numpy as np

FRAMES = range(1, 13)
NEAR, TURNED = 1e-4, np.radians(0.05)  # in metres, and radians
NAMES = ("böne", "a.b", 'x "y"', "[0]", "Bone.001.L", "\\", "骨", "thigh.L", "IK", " ")
WAYS = {
    "bake_ik": ("DISPLAYED", "DISPLAYED", "DISPLAYED", "TWO_BONE", "LIBRARY"),
    "bake_tracking": ("DISPLAYED", "LIBRARY"),
}
CONSTRAINED = {"bake_ik": ["IK"], "bake_tracking": ["DAMPED_TRACK", "TRACK_TO", "LOCKED_TRACK"], "fk_to_ik": ["IK"]}
CONSTRAINED["ik_to_fk"] = OTHERS = ["COPY_ROTATION", "LIMIT_SCALE"]
OPERATORS = ["bake_ik"] * 6 + ["bake_tracking"] * 2 + ["fk_to_ik"] * 2 + ["bake_pins"] * 3 + ["bake_feet"] * 2
OPERATORS += ["ik_to_fk", "detect_feet", "detect_contacts", "bake_feet_actions"] + ["place_legs"] * 3


class FoundError(AssertionError):
    """Something that must not be."""


def main():
    archive, seconds = pathlib.Path(sys.argv[1]).resolve(), float((sys.argv[2:] or ["60"])[0])
    first = int((sys.argv[3:] or ["0"])[0])
    del sys.argv[1:]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    bad, told, until = 0, {}, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as profile:
        os.environ.setdefault("BLENDER_USER_RESOURCES", profile)
        import bpy

        bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)
        for seed in itertools.count(first):
            if time.monotonic() > until and seed > first:
                break
            try:
                end = turn(seed, pathlib.Path(profile))
                told[end] = told.get(end, 0) + 1
            except FoundError as error:
                bad += 1
                print(f"seed {seed}: {error}", file=sys.stderr, flush=True)
    for end, count in sorted(told.items()):
        print(f"{count:6} {end}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(bool(bad))


def turn(seed, folder):
    """A scene, an operator, an end: returns the last two in words, or raises what it has found."""
    import bpy
    import rigs

    rng = np.random.default_rng(seed)
    rigs.new_scene(FRAMES[-1])
    name = str(rng.choice(OPERATORS))
    armatures = scene(rng, name, folder)
    options = chosen(rng, name, armatures)
    bpy.context.scene.frame_set(int(rng.choice(FRAMES)))
    names = [armature.name for armature in armatures if armature.name in bpy.context.view_layer.objects]
    before = stood()
    if not settled(names):
        return "left alone: Blender shows now this, now that"
    watched = name in WAYS and options["solver"] == "DISPLAYED" and options["keys"] == "EVERY"
    was = seen(names) if watched else None
    end, what = str(rng.choice(["ends", "ends", "is cancelled", "is undone"])), f"{name}({options})"
    done = press(name, options, rng.integers(1, 60) if end == "is cancelled" else None)
    if "Traceback" in done:
        raise FoundError(f"{what}: {done}")
    if done != "done" and stood() != before:
        raise FoundError(f"{what} changes the file though {done}: {differs(before)}")
    if done == "done" and end == "is undone":
        bpy.ops.ed.undo()
        if stood() != before:
            raise FoundError(f"{what}, undone, has changed {differs(before)}")
    elif done == "done" and end == "ends" and watched:
        compare(what, names, was)
    return f"{name} {end if done == 'done' else done if done == 'cancelled' else 'refused'}"


def press(name, options, steps):
    """Press a button; how it ends: done, cancelled after so many steps, or a sentence."""
    import bpy

    operators = importlib.import_module("bl_ext.user_default.ikcore.limbs.operators")
    stage = operators.scene_frames

    class Cancelling:
        """The stage whose work ends early, as Esc has it."""

        def __getattr__(self, name):
            return getattr(stage, name)

        @staticmethod
        def finished(work):
            if sum(1 for _, _ in zip(range(steps), work, strict=False)) == steps:
                work.close()
                raise operators.CannotBakeError("cancelled")

    try:
        operators.scene_frames = Cancelling() if steps else stage
        getattr(bpy.ops.ikcore, name)("EXEC_DEFAULT", True, **options)
    except RuntimeError as error:
        text = str(error).strip().removeprefix("Error: ")
        return "cancelled" if text == "cancelled" else text
    finally:
        operators.scene_frames = stage
    return "done"


def settled(names):
    """Whether Blender itself shows the same again once all frames were seen, and after undo of something else."""
    import bpy

    before = stood(shown=True)
    seen(names)
    bpy.ops.ed.undo_push(message="before")
    for item in (bpy.context.view_layer.objects[name] for name in names):
        for constraint in (each for bone in item.pose.bones for each in bone.constraints if item.is_editable):
            constraint.mute = not constraint.mute
    bpy.ops.ed.undo_push(message="muted")
    bpy.ops.ed.undo()
    return stood(shown=True) == before


def compare(what, names, was):
    """Whether bones are where they were shown, or it is told that they are not and `nla.bake` is no better."""
    import bpy

    bake = importlib.import_module("bl_ext.user_default.ikcore.limbs.bake")
    off = {name: apart(was[name], now) for name, now in seen(names).items()}
    told = {name: bake.latest(bpy.context.view_layer.objects[name]) for name in names}
    bpy.ops.ed.undo()
    for name in names:
        if not off[name] > 1.0:
            continue
        item = bpy.context.view_layer.objects[name]
        if told[name] is None or not told[name].problems:
            raise FoundError(f"{what}: {name} is {off[name]:.3g} times as far off as it may be, and nothing is said")
        bpy.context.view_layer.objects.active = item
        bpy.ops.object.mode_set(mode="POSE")
        ends = {"frame_start": FRAMES[0], "frame_end": FRAMES[-1]}
        keys = {"only_selected": False, "visual_keying": True, "clear_constraints": True, "bake_types": {"POSE"}}
        bpy.ops.nla.bake(**ends, **keys)
        theirs = apart(was[name], seen([name])[name])
        if theirs <= 1.0:
            raise FoundError(f"{what}: {name} is {off[name]:.3g} times as far off as it may be, but not by nla.bake")


def stood(*, shown=False):
    """The whole file as text: numbers that are none are the same then. And where bones are shown."""
    import bpy
    import rigs

    bpy.context.view_layer.update()  # what is held live is bent by the first, and seen by the second
    bpy.context.view_layer.update()
    return repr(rigs.state(shown=shown))


def differs(before):
    """The part of the text where the file is another."""
    now = stood()
    at = next((n for n, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), 0)
    return f"...{before[max(at - 150, 0) : at + 60]!r} to {now[max(at - 20, 0) : at + 60]!r}"


def seen(names):
    """World transforms of bones on all frames, by armature: matrices, tails, and world units per armature unit."""
    import bpy
    import rigs

    found = {}
    for name in names:
        item = bpy.context.view_layer.objects[name]
        poses = rigs.sampled(item, FRAMES)
        tails = np.stack([rigs.tail(item, poses, bone.name) for bone in item.pose.bones], axis=1)
        found[name] = poses, tails, np.abs(item.matrix_world.to_scale()).max()
    return found


def apart(was, now):
    """How far poses are apart, in times of what they may be; of what is larger than a metre that is more."""
    import rigs

    size = max(1.0, float(np.abs(np.nan_to_num(was[1])).max()) * was[2])
    far = max(np.abs(was[0] - now[0])[..., :3, 3].max(), np.abs(was[1] - now[1]).max()) * was[2]
    return max(far / (NEAR * size), rigs.turn_between(was[0], now[0]).max() / TURNED)


# --- options ----------------------------------------------------------------------------------------------------------


def chosen(rng, name, armatures):
    """Options of an operator, and what is selected for it."""
    import bpy
    import rigs

    options = {}
    if name in WAYS:
        options = {"solver": str(rng.choice(WAYS[name])), "keys": str(rng.choice(["EVERY", "EVERY", "TOLERANCE"]))}
    if name == "bake_ik":
        options |= {"limbs": "ALL", "method": str(rng.choice(["dls", "fabrik", "ccd"]))}
    if name in ("bake_ik", "bake_tracking", "fk_to_ik", "ik_to_fk", "bake_pins"):
        options |= {"frame_range": "CUSTOM", "frame_start": FRAMES[0], "frame_end": FRAMES[-1]}
    if name in ("fk_to_ik", "ik_to_fk"):
        options["frame_range"] = str(rng.choice(["CUSTOM", "ACTION", "FRAME"]))
        options["limbs"] = str(rng.choice(["ALL", "SELECTED"]))
    if name in ("bake_feet", "bake_feet_actions"):
        options |= {"ground": str(rng.choice(["PLANE", "AUTO"]))}
    if name == "place_legs":
        ranges = {"frame_range": "CUSTOM", "frame_start": FRAMES[0], "frame_end": FRAMES[-1]}
        options |= {"ground": "PLANE", "plane_normal": (*rng.normal(0, 0.2, 2), 1), "trace_above": 1000.0}
        options |= {"trace_below": 1000.0, **(ranges if maybe(rng, 0.5) else {})}
    if name == "bake_feet":
        options |= {"output": str(rng.choice(["NEW", "NLA", "OVERWRITE"]))}
    shown = [armature for armature in armatures if armature.name in bpy.context.view_layer.objects]
    if not shown:
        return options
    bones = [bone.name for bone in shown[0].pose.bones]
    bpy.context.view_layer.objects.active = shown[0]
    if (
        not shown[0].visible_get()
        or shown[0].library
        or getattr(shown[0].override_library, "is_system_override", False)
    ):
        return options
    rigs.select(shown[0], *rng.choice(bones, min(3, len(bones)), replace=False).tolist())
    if name == "bake_pins" and press("pin", {}, None) == "done" and rng.random() < 0.7:
        for pin in shown[0].ikcore_pins.pins:
            pin.target.location.x += rng.normal(0, 0.3)
        press("live_pins", {}, None)
    if name != "bake_pins" and rng.random() < 0.3:
        bpy.ops.object.mode_set(mode="OBJECT")
        for armature in shown:
            armature.select_set(True)
    bpy.context.view_layer.update()
    return options


# --- scenes -----------------------------------------------------------------------------------------------------------


def maybe(rng, share):
    return bool(rng.random() < share)


def scene(rng, operator, folder):
    """Some armatures with what moves them, of which an operator has something to do."""
    import bpy

    people = 0.15 if operator in CONSTRAINED else 0.9
    armatures = [skeleton(rng, f"{rng.choice(NAMES)} {n}", people) for n in range(1 + maybe(rng, 0.25))]
    if operator == "place_legs" and maybe(rng, 0.5):
        armatures[0] = crawler(rng, armatures[0])
    for armature in armatures:
        place(rng, armature)
        kinds = CONSTRAINED.get(operator, OTHERS)
        for _ in range(int(rng.integers(1, 4)) if operator in CONSTRAINED else int(maybe(rng, 0.1))):
            constrain(
                rng, str(rng.choice(kinds if maybe(rng, 0.8) else ["IK", "DAMPED_TRACK", *OTHERS])), armature, armatures
            )
        animate(rng, armature)
    bpy.ops.object.mode_set(mode="OBJECT")
    if len(armatures) > 1 and maybe(rng, 0.5):
        share_action(*armatures)
    if maybe(rng, 0.15):
        hide(rng, armatures)
    if maybe(rng, 0.15):
        armatures = linked(rng, armatures, folder)
    bpy.context.view_layer.update()
    return armatures


def skeleton(rng, name, people):
    """A tree of bones, mostly chains; a share of them people of odd sizes."""
    import bpy
    import rigs
    from mathutils import Vector

    if maybe(rng, people):
        armature = rigs.person(size=float(rng.uniform(0.3, 3)))
        armature.name = name
    else:
        armature, made = rigs.add_object(name, bpy.data.armatures.new(name)), []
        bones = rigs.edit_bones(armature)
        for n in range(int(rng.integers(1, 10))):
            bone = bones.new(f"{rng.choice(NAMES)}{n}")
            bone.parent = made[-1 if maybe(rng, 0.7) else int(rng.integers(n))] if made and maybe(rng, 0.9) else None
            start = bone.parent.tail if bone.parent else Vector(rng.normal(0, 1, 3))
            apart = bone.parent and maybe(rng, 0.3)
            bone.head = start + (Vector(rng.normal(0, 0.2, 3)) if apart else Vector())
            bone.tail = bone.head + Vector(rng.normal(0, 0.15, 3)) + Vector((0, 0, rng.uniform(0.1, 0.5)))
            bone.use_connect, bone.roll = bool(bone.parent and not apart), rng.normal(0, 1)
            made.append(bone)
        bpy.ops.object.mode_set(mode="POSE")
    for bone in armature.pose.bones:
        set_up(rng, bone)
    return armature


def crawler(rng, other):
    """A spider, with or without IK, or a dog in place of another armature, whose name it gets."""
    import bpy
    import crawlers

    name = other.name
    bpy.data.objects.remove(other)
    ik, size = maybe(rng, 0.5), float(rng.uniform(0.1, 3))
    armature = (crawlers.dog_in_ik if ik else crawlers.dog)() if maybe(rng, 0.3) else crawlers.spider(ik=ik, size=size)
    armature.name = name
    for bone in armature.pose.bones:
        if maybe(rng, 0.2):
            set_up(rng, bone)
    return armature


def set_up(rng, bone):
    """Settings of a bone that few have."""
    import rigs

    bone.rotation_mode = rng.choice(rigs.MODES)
    if maybe(rng, 0.08):
        bone.scale = (rng.uniform(0.7, 1.3),) * 3 if maybe(rng, 0.8) else rng.uniform(0.7, 1.3, 3)
    if maybe(rng, 0.01):
        bone.scale.x = -bone.scale.x
    if maybe(rng, 0.2):
        bone.bone.inherit_scale = rng.choice(["FULL", "AVERAGE", "NONE", "ALIGNED", "FIX_SHEAR", "NONE_LEGACY"])
    bone.bone.use_inherit_rotation, bone.bone.use_local_location = not maybe(rng, 0.1), not maybe(rng, 0.1)
    bone.ik_stretch, bone.ik_stiffness_y = (rng.uniform(0, 1) * maybe(rng, 0.15) for _ in range(2))
    for axis in "xyz":
        setattr(bone, f"lock_ik_{axis}", maybe(rng, 0.05))
        setattr(bone, f"use_ik_limit_{axis}", maybe(rng, 0.08))
    bone.ik_min_x, bone.ik_max_z = -rng.uniform(0, 1), rng.uniform(0, 1)
    bone.lock_rotation[1], bone.lock_location[0] = maybe(rng, 0.05), maybe(rng, 0.05)


def place(rng, armature):
    """Put an armature somewhere, turned, scaled, under something or not."""
    import bpy
    import rigs

    armature.location, armature.rotation_euler = rng.normal(0, 2, 3), rng.normal(0, 1, 3)
    kind = rng.random()
    armature.scale = (rng.uniform(0.2, 3),) * 3 if kind < 0.6 else (1, 1, 1)
    if kind > 0.93:
        armature.scale = rng.uniform(0.5, 2, 3)
    elif kind > 0.9:
        armature.scale.y = -1
    if maybe(rng, 0.2):
        armature.parent = rigs.add_object("above")
        armature.parent.location, armature.parent.scale = rng.normal(0, 1, 3), (rng.uniform(0.5, 2),) * 3
        if maybe(rng, 0.3):
            armature.parent.keyframe_insert("location", frame=1)
            armature.parent.location.x += 1
            armature.parent.keyframe_insert("location", frame=FRAMES[-1])
    armature.delta_location = rng.normal(0, 1, 3) * maybe(rng, 0.1)
    bpy.context.view_layer.update()


def constrain(rng, kind, armature, armatures):
    """Put a constraint on some bone, mostly one with others above it.

    IK of a root alone Blender does not show the same after undo, whatever was undone.
    """
    bones = sorted(armature.pose.bones, key=lambda bone: -len(bone.parent_recursive))
    bones = [bone for bone in bones if bone.parent or kind != "IK"]
    if not bones:
        return
    bone = bones[int(len(bones) * rng.random() ** 2)]
    made = bone.constraints.new(kind)
    made.name = f'{rng.choice(NAMES)} "c"'
    if kind != "LIMIT_SCALE":
        made.target, made.subtarget = goal(rng, bone, armatures)
    if kind == "IK":
        set_up_ik(rng, made, bone, armatures)
    made.influence = rng.choice([1.0, 1.0, rng.uniform(0, 1)])
    made.mute = maybe(rng, 0.05)


def set_up_ik(rng, ik, bone, armatures):
    """Options of an IK constraint."""
    depth = len(bone.parent_recursive) + 1
    ik.chain_count = int(rng.choice([2, 2, 0, 1, int(rng.integers(0, depth + 1))]))
    ik.use_tail, ik.use_rotation, ik.use_stretch = not maybe(rng, 0.15), maybe(rng, 0.2), maybe(rng, 0.6)
    ik.iterations, ik.weight = int(rng.choice([500, 50, 3])), rng.uniform(0.1, 1)
    if maybe(rng, 0.4):
        ik.pole_target, ik.pole_subtarget = goal(rng, bone, armatures)
        ik.pole_angle = rng.normal(0, 1)


def goal(rng, bone, armatures):
    """Target of a bone's constraint: usually a moving empty; a bone; or none.

    Never a bone that may look at this one in turn: of such a circle Blender itself shows now this, now that.
    """
    import rigs

    armature, kind = bone.id_data, rng.random()
    if kind < 0.06:
        return None, ""
    if kind < 0.25:
        before = [*armatures[: armatures.index(armature)], armature]
        other = before[int(rng.integers(len(before)))]
        roots = [each for each in other.pose.bones if each.parent is None]
        if other == armature:
            roots = roots[: roots.index(([bone, *bone.parent_recursive])[-1])]
        if below := [each for root in roots for each in (root, *root.children_recursive)]:
            return other, below[int(rng.integers(len(below)))].name
    empty = rigs.add_object(str(rng.choice(NAMES)))
    if kind > 0.9:
        empty.parent = armature
        empty.scale = rng.uniform(-2, 2, 3)
    for frame in (1, 6, FRAMES[-1]) if maybe(rng, 0.8) else (1,):
        size = 1.0 if empty.parent else armature.scale.x
        base = empty.location * 0 if empty.parent else armature.location
        empty.location, empty.rotation_euler = base + base.__class__(rng.normal(0, abs(size), 3)), rng.normal(0, 1, 3)
        empty.keyframe_insert("location", frame=frame)
        empty.keyframe_insert("rotation_euler", frame=frame)
    return empty, ""


def animate(rng, armature):
    """Keys, and what reshapes, repeats, locks and mutes curves."""
    import rigs

    names = [bone.name for bone in armature.pose.bones if maybe(rng, 0.6)]
    if names:
        rigs.key_pose(armature, rng, (1, 5, FRAMES[-1]), bones=names, size=0.3)
    for name in names[:2]:
        bone = armature.pose.bones[name]
        for channel in ("location", "scale") if maybe(rng, 0.15) else ("location",):
            for frame in (1, FRAMES[-1]):
                setattr(bone, channel, rng.normal(channel == "scale", 0.1, 3))
                bone.keyframe_insert(channel, frame=frame)
        for constraint in bone.constraints:
            for value, frame in ((0.2, 1), (1.0, 7)) if maybe(rng, 0.3) else ():
                constraint.influence = value
                constraint.keyframe_insert("influence", frame=frame)
    if maybe(rng, 0.2):
        armature.keyframe_insert("location", frame=1)
        armature.location.x += 1
        armature.keyframe_insert("location", frame=FRAMES[-1])
    animation = armature.animation_data
    if animation is None:
        return
    curves = list(rigs.curves_of(animation.action, animation.action_slot).values())
    curve = curves[int(rng.integers(len(curves)))]
    if (kind := rng.random()) < 0.2:
        curve.modifiers.new(str(rng.choice(["CYCLES", "NOISE"])))
    elif kind < 0.25:
        curve.lock = True
    elif kind < 0.3:
        curve.mute = True
    elif kind < 0.35:
        (curve.group or curve).mute = True
    elif kind < 0.4:
        strip = animation.nla_tracks.new().strips.new("strip", 1, animation.action.copy())
        animation.nla_tracks[0].mute = maybe(rng, 0.5)
        strip.blend_type = "ADD"


def share_action(one, two):
    """Two armatures play an action by slots of their own, or by the same."""
    if not one.animation_data or not one.animation_data.action:
        return
    action = one.animation_data.action
    animation = two.animation_data or two.animation_data_create()
    animation.action = action
    animation.action_slot = action.slots[0] if len(two.name) % 2 else action.slots.new("OBJECT", two.name)


def hide(rng, armatures):
    """Put things into a collection that is not seen."""
    import bpy

    collection = bpy.data.collections.new("hidden")
    bpy.context.scene.collection.children.link(collection)
    everything = list(bpy.data.objects)
    for item in rng.choice(len(everything), max(1, len(everything) // 2), replace=False):
        everything[item].users_collection[0].objects.unlink(everything[item])
        collection.objects.link(everything[item])
    layer = bpy.context.view_layer.layer_collection.children["hidden"]
    how = int(rng.integers(4))
    collection.hide_viewport, layer.exclude, layer.hide_viewport = how == 0, how == 1, how == 2
    for item in armatures:
        item.hide_viewport = how == 3


def linked(rng, armatures, folder):
    """The first armature as it is linked from another file, or as an override of that with an action that is local."""
    import bpy

    path = folder / "linked.blend"
    name, animation = armatures[0].name, armatures[0].animation_data
    action = animation.action.copy() if animation and animation.action else None
    bpy.data.libraries.write(str(path), {armatures[0]}, fake_user=True)
    others = armatures[1:]
    bpy.data.objects.remove(armatures[0])
    with bpy.data.libraries.load(str(path), link=True) as (there, wanted):
        wanted.objects = there.objects
    for each in wanted.objects:
        bpy.context.scene.collection.objects.link(each)
    item = next(each for each in wanted.objects if each.name == name)
    if maybe(rng, 0.7):
        own = item.override_create(remap_local_usages=True)
        if action and own.animation_data and maybe(rng, 0.7):
            own.animation_data.action, own.animation_data.action_slot = action, action.slots[0]
        item = own
    bpy.context.view_layer.objects.active = item
    return [item, *others]


if __name__ == "__main__":
    main()
