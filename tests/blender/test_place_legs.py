"""Place Legs on Ground: feet of any number of legs stand on uneven ground, in the pose or in an animation."""

import dataclasses
import importlib
from types import SimpleNamespace

import bpy
import crawlers
import numpy as np
import pytest
import rigs
import walks
from conftest import EXTENSION
from test_panel import Layout
from test_rigify import generated, switches

NEAR = 3e-3  # metres: the ground is made of flat faces of 10 cm
RIGS = {
    "FK": crawlers.spider,
    "IK": lambda: crawlers.spider(ik=True),
    "IK under one bone": lambda: crawlers.spider(ik=True, under="targets"),
}
HILL = {"ground": "OBJECTS", "ground_objects": [{"name": "Hill"}]}


def place(**options):
    return bpy.ops.ikcore.place_legs(**HILL | options)


def steps(addon, armature, **options):
    """The operator as the interface runs it, step by step; its last item is what it reported."""
    placement = addon.feet.placement_options
    defaults = {
        prop.identifier: getattr(prop, "default", None)
        for prop in bpy.ops.ikcore.place_legs.get_rna_type().properties
        if prop.identifier not in ("rna_type", "plane_normal")
    }
    request = SimpleNamespace(**defaults, plane_normal=(0, 0, 1))
    request.__dict__.update(ground="OBJECTS", ground_objects=[SimpleNamespace(name="Hill")])
    request.__dict__.update(options)
    job = addon.feet.placement_job.make_job(bpy.context, armature, request, placement.options(request))
    return addon.feet.placement_bake.bake(bpy.context, job)


def report(addon, armature, **options):
    return addon.animation.scene_frames.run(steps(addon, armature, **options))


def above_hill(places):
    return places[:, 2] - crawlers.height(places[:, 0], places[:, 1])


def up_of(armature, name):
    """The world rotation of a displayed bone."""
    shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return (shown.matrix_world @ shown.pose.bones[name].matrix).to_quaternion()


def on_hill(armature):
    armature.location, armature.rotation_euler = (0.3, 0.2, 0.1), (0, 0, 0.5)
    crawlers.hill()
    bpy.context.view_layer.objects.active = armature
    bpy.context.view_layer.update()
    return armature


@pytest.fixture(params=RIGS)
def spider(request):
    return on_hill(RIGS[request.param]())


# --- the current pose -------------------------------------------------------------------------------------------------


def test_eight_feet_stand_and_the_body_tilts(spider):
    assert np.abs(above_hill(crawlers.tips(spider))).max() > 0.1
    before = up_of(spider, "body")
    assert place() == {"FINISHED"}
    assert np.abs(above_hill(crawlers.tips(spider))).max() < NEAR
    tilt = np.degrees(before.rotation_difference(up_of(spider, "body")).angle)
    assert 10 < tilt < 30  # the slope is 20 degrees, with waves
    assert not spider.animation_data or not spider.animation_data.action


def test_what_was_done_is_said(addon, spider):
    told = report(addon, spider)
    assert told.legs == [f"{side} {n}" for n in range(1, 5) for side in ("left", "right")]
    assert not told.has_problems()
    assert told.sentence().startswith("Placed 8 legs (left 1, right 1, left 2")
    assert ". Body 4.6 cm up, tilted 17°" in told.sentence()


def test_feet_of_a_dog_take_the_slope():
    dog = on_hill(crawlers.dog())
    feet = ("foot.L", "foot.R", "paw.L", "paw.R")
    place(cross_radius=10)
    for name in feet:
        turned, bone = up_of(dog, name), dog.pose.bones[name]
        at = dog.matrix_world @ bone.head
        rest = (dog.matrix_world.to_quaternion() @ bone.bone.matrix_local.to_quaternion()).inverted()
        normal = turned @ rest @ rigs.Vector((0, 0, 1))
        sole = np.array(at - 0.06 * normal)  # the ankle is 6 cm above the floor at rest
        assert abs(above_hill(sole[np.newaxis])[0]) < NEAR, name
        slopes = [
            (crawlers.height(*(sole[:2] + step)) - crawlers.height(*(sole[:2] - step))) / 0.1
            for step in np.eye(2) * 0.05
        ]
        wanted = rigs.Vector((-slopes[0], -slopes[1], 1)).normalized()
        assert np.degrees(normal.angle(wanted)) < 6, name  # of faces of 10 cm


@pytest.mark.parametrize("frames", ["CURRENT", "CUSTOM"])
def test_targets_move_with_feet_and_poles_with_the_body(addon, frames):
    dog = on_hill(crawlers.dog_in_ik())

    def seen(*names):
        bpy.context.view_layer.update()
        return np.array([dog.matrix_world @ dog.pose.bones[name].matrix for name in names])

    feet = ("foot.L", "foot.R", "paw.L", "paw.R")
    poles, targets = ([f"{kind}_{name}" for name in feet] for kind in ("pole", "ik"))
    before = [seen("hips"), seen(*poles), seen(*feet), seen(*targets)]
    told = report(addon, dog, cross_radius=10.0, frame_range=frames, frame_start=1, frame_end=3)
    assert bool(dog.animation_data and dog.animation_data.action) == (frames == "CUSTOM")
    assert (len(told.legs), told.problems) == (4, [])
    after = [seen("hips"), seen(*poles), seen(*feet), seen(*targets)]
    back = [np.linalg.inv(each[0]) @ each[1] for each in (before, after)]
    np.testing.assert_allclose(*back, atol=1e-4)
    np.testing.assert_allclose(*(np.linalg.inv(each[2]) @ each[3] for each in (before, after)), atol=2e-3)
    ankles = after[2][:, :3, 3]
    assert np.abs(above_hill(ankles) - 0.06).max() < 0.01  # along the normal


@pytest.mark.parametrize("listed", [False, True])
def test_a_cat_stands_on_its_toes(listed):
    """As legs are found, and with the high ankle named as the foot."""
    cat = on_hill(crawlers.dog(crawlers.CAT_LEGS))
    if listed:
        bpy.ops.ikcore.detect_feet()
        for item in cat.ikcore_feet.legs:
            side = item.hip[-2:]
            item.ankle, item.ball = ("paw", "claw") if "front" in item.name else ("foot", "toe")
            item.ankle, item.ball, item.toe = item.ankle + side, item.ball + side, ""
            while len(item.knees) > 1:
                item.knees.remove(1)
    place()
    for name in ("toe.L", "toe.R", "claw.L", "claw.R"):
        turned, bone = up_of(cat, name), cat.pose.bones[name]
        rest = (cat.matrix_world.to_quaternion() @ bone.bone.matrix_local.to_quaternion()).inverted()
        normal = turned @ rest @ rigs.Vector((0, 0, 1))
        sole = np.array(cat.matrix_world @ bone.head - 0.03 * normal)
        assert abs(above_hill(sole[np.newaxis])[0]) < NEAR, name


def test_bones_above_legs_that_do_not_inherit_rotation():
    """They get keys too, so that feet are where they are put."""
    spider = on_hill(crawlers.spider())
    for side in (".L", ".R"):
        spider.data.bones[f"coxa_2{side}"].use_inherit_rotation = False
    bpy.context.view_layer.update()
    place()
    assert np.abs(above_hill(crawlers.tips(spider))).max() < NEAR


def test_again_from_another_place_it_starts_from_the_pose_before(spider):
    """Also after undo; the pose of the first ground is not carried to the second."""
    spider.location.x += 0.5
    place()
    wanted = crawlers.tips(spider)
    for bone in spider.pose.bones:
        bone.matrix_basis = rigs.Matrix()
    spider.location.x -= 0.5
    bpy.context.view_layer.update()
    place()
    spider.location.x += 0.5
    bpy.context.view_layer.update()
    place()
    np.testing.assert_allclose(crawlers.tips(spider), wanted, atol=1e-5)


def test_a_pose_that_stands_on_the_ground_keeps_its_body(addon):
    spider = on_hill(crawlers.spider())
    place()
    body = spider.pose.bones["body"]
    body.location.y += 0.06
    spider.pose.bones["tibia_1.L"].rotation_quaternion = (1, 0.1, 0, 0)
    bpy.context.view_layer.update()
    before = body.matrix.copy()
    told = report(addon, spider)
    assert told.on_ground
    assert "The pose stands on this ground, so the body stays" in told.sentence()
    assert np.abs(above_hill(crawlers.tips(spider))).max() < NEAR
    np.testing.assert_allclose(np.array(body.matrix), np.array(before), atol=1e-6)


def test_a_lifted_foot_stays_lifted(spider):
    name = "ik_2.L" if "ik_2.L" in spider.pose.bones else "femur_2.L"
    bone = spider.pose.bones[name]
    if name.startswith("ik"):
        bone.location = (0, 0.2, 0)  # up
    else:
        bone.rotation_quaternion = (0.97, 0.24, 0, 0)
    bpy.context.view_layer.update()
    lifted = crawlers.tips(spider)[:, 2] - 0.1
    assert lifted.max() > 0.1
    place(source_floor="LEVEL")
    np.testing.assert_allclose(above_hill(crawlers.tips(spider)), lifted, atol=NEAR)


def test_undo_takes_all_of_it_back(spider):
    bpy.ops.ed.undo_push(message="before")
    before = rigs.state()
    place()
    assert rigs.state() != before
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert rigs.state() == before


def test_auto_keying_keys_the_frame(addon):
    spider = on_hill(crawlers.spider())
    bpy.context.scene.frame_set(7)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    place()
    animation = spider.animation_data
    curves = rigs.curves_of(animation.action, animation.action_slot)
    assert {path.split('"')[1] for path, _ in curves} == {"body"} | {
        f"{part}_{n}{side}" for part in crawlers.SPIDER[1:] for n in range(1, 5) for side in (".L", ".R")
    }
    assert {key.co.x for curve in curves.values() for key in curve.keyframe_points} == {7.0}


def test_two_legs_stay_upright():
    armature = rigs.mixamo_like()
    crawlers.hill(waves=0)
    bpy.context.view_layer.objects.active = armature
    before = up_of(armature, "mixamorig:Hips")
    assert place() == {"FINISHED"}
    assert before.rotation_difference(up_of(armature, "mixamorig:Hips")).angle < 1e-4
    for side in ("Left", "Right"):
        foot = armature.matrix_world @ armature.pose.bones[f"mixamorig:{side}Foot"].head
        normal = rigs.Vector((-0.2, -0.3, 1)).normalized()
        assert (
            abs((foot.z - crawlers.height(foot.x, foot.y, waves=0)) * normal.z - 0.1) < 5e-3
        )  # the ankle is 10 cm high


@pytest.mark.parametrize("ik_fk", [0.0, 1.0])
def test_rigify(addon, ik_fk):
    """IK by the foot controls, FK by its own; feet are displayed where they were put, or the report says so."""
    horse = generated("horse")
    for bone in switches(horse):
        bone["IK_FK"] = ik_fk
    crawlers.hill(waves=0.02)
    bpy.context.view_layer.objects.active = horse
    bpy.context.view_layer.update()
    before = {bone.name: bone.matrix_basis.copy() for bone in horse.pose.bones}
    told = report(addon, horse)
    assert told.legs == ["front left", "front right", "hind left", "hind right"]
    assert not told.problems
    assert told.tilt > 0.2
    moved = {bone.name for bone in horse.pose.bones if bone.matrix_basis != before[bone.name]}
    controls = {f"{name}_ik{side}" for name in ("forefoot", "hind_foot") for side in (".L", ".R")}
    assert "torso" in moved
    assert moved == {"torso", *controls} if ik_fk == 0 else not moved & controls and "thigh_fk.L" in moved


# --- a range of frames ------------------------------------------------------------------------------------------------


def walking(armature):
    """The root goes ahead, and each foot is lifted once. Frames 1 to 20."""
    root = armature.pose.bones["root"]
    for frame, ahead in ((1, 0.0), (20, 0.5)):
        root.location = (0, -ahead, 0)
        root.keyframe_insert("location", frame=frame)
    for n in range(1, 5):
        bone = armature.pose.bones[f"femur_{n}.L"]
        for frame, lift in ((4 * n - 3, 0.0), (4 * n - 1, 0.24), (4 * n + 1, 0.0)):
            bone.rotation_quaternion = ((1 - lift**2) ** 0.5, lift, 0, 0)
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    return armature


def all_tips(armature):
    found = []
    for frame in range(1, 21):
        bpy.context.scene.frame_set(frame)
        found.append(crawlers.tips(armature))
    return np.array(found)


def test_every_frame_is_placed_in_a_copy_of_the_action():
    spider = walking(on_hill(crawlers.spider()))
    source = spider.animation_data.action
    before, keyed = all_tips(spider), rigs.action_by_value(source)[2]
    bpy.context.scene.frame_set(7)
    assert place(frame_range="ACTION") == {"FINISHED"}
    assert bpy.context.scene.frame_current == 7
    shown, after = crawlers.tips(spider), all_tips(spider)
    np.testing.assert_allclose(shown, after[6], atol=1e-5)
    lifted = before[..., 2] - 0.1
    np.testing.assert_allclose(np.array([above_hill(each) for each in after]), np.maximum(lifted, 0), atol=2 * NEAR)
    np.testing.assert_allclose(after[..., :2], before[..., :2], atol=NEAR)
    action = spider.animation_data.action
    assert (action.name, rigs.action_by_value(source)[2]) == (f"{source.name} Legs on Ground", keyed)
    new = rigs.curves_of(action, spider.animation_data.action_slot)
    bones = {path.split('"')[1] for path, _ in new}
    moving = {name for name, _ in spider.pose.bones.items() if name.startswith(crawlers.SPIDER[1:])}
    assert bones == {"root", "body", *moving}
    root = [curve for (path, _), curve in new.items() if '"root"' in path]
    assert {len(curve.keyframe_points) for curve in root} == {2}


def test_again_it_starts_from_the_original():
    spider = walking(on_hill(crawlers.spider()))
    place(frame_range="ACTION", pitch_weight=0.0)
    place(frame_range="ACTION")
    wanted = all_tips(spider)
    assert [action.name for action in bpy.data.actions if "Legs" in action.name] == ["SpiderAction Legs on Ground"]
    spider.animation_data.action = bpy.data.actions["SpiderAction"]
    for bone in spider.pose.bones:
        bone.matrix_basis = rigs.Matrix()
    place(frame_range="ACTION")
    np.testing.assert_allclose(all_tips(spider), wanted, atol=1e-5)


@pytest.mark.parametrize("frame_range", ["CURRENT", "ACTION"])
def test_cancelled_at_any_time_nothing_has_changed(addon, frame_range, monkeypatch):
    monkeypatch.setattr(addon.feet.placement, "BLOCK", 7)
    spider = walking(on_hill(crawlers.spider()))
    bpy.context.scene.frame_set(5)
    spider.pose.bones["coxa_1.R"].rotation_quaternion = (0.99, 0, 0.1, 0)  # posed, not keyed
    bpy.context.view_layer.update()
    before, later, ended = rigs.state(), 1, False
    while not ended:
        going, ended = steps(addon, spider, frame_range=frame_range), True
        for n, share in enumerate(going):
            assert 0 <= share <= 1
            if n == later:
                going.close()
                assert rigs.state() == before
                later, ended = later + 11, False
                break
    assert later > 3
    assert rigs.state() != before


def test_again_without_an_action_it_starts_from_the_pose():
    spider = on_hill(crawlers.spider())
    options = {"frame_range": "CUSTOM", "frame_start": 1, "frame_end": 3}
    place(**options)
    wanted = crawlers.tips(spider)
    place(**options)
    np.testing.assert_allclose(crawlers.tips(spider), wanted, atol=1e-5)
    assert len(bpy.data.actions) == 1


def test_moving_ground():
    spider = on_hill(crawlers.spider())
    hill = bpy.data.objects["Hill"]
    for frame, z in ((1, 0.0), (20, 0.2)):
        hill.location.z = z
        hill.keyframe_insert("location", frame=frame)
    place(frame_range="CUSTOM", frame_start=1, frame_end=20, ground_moves=True)
    tips = all_tips(spider)
    assert np.abs(above_hill(tips[0])).max() < NEAR
    assert np.abs(above_hill(tips[-1]) - 0.2).max() < NEAR


# --- options ----------------------------------------------------------------------------------------------------------


def test_every_parameter_of_the_node_is_an_option(addon, monkeypatch):
    """Named as there; those about bones come from the armature, the height of a foot from its sole."""
    on_hill(crawlers.spider())
    given = {}
    node = addon.bridge.library.bodies.ManyLegsNode

    def spied(ground, legs, **parameters):
        given.update(parameters, ground=ground, legs=legs)
        return node(ground, legs, **parameters)

    monkeypatch.setattr(addon.bridge.library.bodies, "ManyLegsNode", spied)
    place(ceiling=20.0, max_pitch=0.3, dip=0.25, max_extension=90.0, trace_above=150.0)
    fields = {each.name for each in dataclasses.fields(node)}
    assert fields - given.keys() == {"foot_height", "sides", "iterations"}
    length = sum(np.linalg.norm(np.diff(crawlers.SHAPE, axis=0)[1:], axis=-1))
    assert given["ceiling"] == pytest.approx(0.2 * length, rel=1e-4)
    assert given["trace_above"] == pytest.approx(1.5 * length, rel=1e-4)
    assert [given[name] for name in ("max_pitch", "dip", "max_extension", "move")] == [0.3, 0.25, 0.9, True]


def test_defaults_are_those_of_the_node(addon):
    node, options = addon.bridge.library.bodies.ManyLegsNode, addon.feet.placement_options
    properties = bpy.ops.ikcore.place_legs.get_rna_type().properties
    theirs = {each.name: each.default for each in dataclasses.fields(node)}
    for name in options.OTHERS:
        assert properties[name].default == pytest.approx(theirs[name]), name
    for name in options.RATIOS:
        assert properties[name].default == pytest.approx(100 * theirs[name]), name


def test_the_redo_panel_has_every_option(addon):
    layout, operator = Layout(), addon.feet.placement_operators.IKCORE_OT_place_legs
    values = {each.identifier: None for each in bpy.ops.ikcore.place_legs.get_rna_type().properties}
    for ground in ("OBJECTS", "PLANE"):
        operator.draw(SimpleNamespace(layout=layout, **{**values, "ground": ground, "frame_range": "CUSTOM"}), None)
    hidden = {"rna_type", "ground_objects", "ground_collection"}
    assert values.keys() - set(layout.shown) == hidden


def test_influence_and_fixed_body():
    spider = on_hill(crawlers.spider())
    before = crawlers.tips(spider)
    place(influence=0.0)
    np.testing.assert_allclose(crawlers.tips(spider), before, atol=1e-6)
    at = spider.pose.bones["body"].matrix.copy()
    place(move=False, pitch_weight=0.0, roll_weight=0.0)
    np.testing.assert_allclose(np.array(spider.pose.bones["body"].matrix), np.array(at), atol=1e-6)
    assert np.abs(crawlers.tips(spider) - before).max() > 0.05


# --- the panel --------------------------------------------------------------------------------------------------------


def drawn():
    panels = importlib.import_module(EXTENSION + ".feet.foot_panels")
    context = SimpleNamespace(
        object=bpy.context.object, view_layer=bpy.context.view_layer, region=SimpleNamespace(width=300)
    )
    context.window_manager = bpy.context.window_manager
    shown = SimpleNamespace(layout=Layout())
    panels.IKCORE_PT_feet.draw(shown, context)
    return shown.layout


def test_the_button_needs_no_action():
    spider = on_hill(crawlers.spider())
    spider.ikcore_feet.ground = "OBJECTS"
    spider.ikcore_feet.objects.add().object = bpy.data.objects["Hill"]
    layout = drawn()
    assert ("ikcore.bake_feet", False) in layout.buttons
    assert layout.buttons.count(("ikcore.place_legs", True)) == 2
    given = layout.given["ikcore.place_legs"]
    assert ([item.name for item in given.ground_objects], given.frame_range) == (["Hill"], "ACTION")
    spider.data.pose_position = "REST"
    assert ("ikcore.place_legs", False) in drawn().buttons


# --- refusals ---------------------------------------------------------------------------------------------------------


def refused(**options):
    before = rigs.state()
    with pytest.raises(RuntimeError) as error:
        place(**options)
    assert rigs.state() == before
    return str(error.value).removeprefix("Error: ").strip()


def test_without_ground():
    spider = on_hill(crawlers.spider())
    assert refused(ground="AUTO") == "Choose a ground: Plane, Objects or Collection"
    assert refused(ground_objects=[]) == "There is no ground: choose ground objects"
    spider.location.z = 9
    bpy.context.view_layer.update()
    assert refused() == "There is no ground near the feet of Spider: move it, or raise Trace Above and Trace Below"
    place(trace_below=2000.0)
    assert np.abs(above_hill(crawlers.tips(spider))).max() < NEAR


def test_some_feet_without_ground(addon):
    spider = crawlers.spider()
    walks.slab("Hill", (0, -3, -1), (3, 3, 0.05))
    bpy.context.view_layer.objects.active = spider
    told = report(addon, spider)
    missing = [f"Right {n} has no ground: raise Trace Above and Below" for n in range(1, 5)]
    assert told.problems == missing


def test_without_legs():
    tail = rigs.figure([("a", None, (0, 0, 0), (0, 0, 1)), ("b", "a", (0, 0, 1), (0, 0, 2))])
    crawlers.hill()
    bpy.context.view_layer.objects.active = tail
    assert refused().startswith("No legs found in Figure, by bone names or by the hierarchy")


def test_legs_that_are_left_out_are_named(addon):
    spider = on_hill(crawlers.spider())
    bpy.ops.ikcore.detect_feet()
    spider.ikcore_feet.legs["left 1"].use = False
    held = spider.pose.bones["tibia_2.L"].constraints.new("LIMIT_ROTATION")
    target = rigs.add_object("Target")
    bpy.context.view_layer.objects.active = spider
    ik = spider.pose.bones["tarsus_3.R"].constraints.new("IK")
    ik.target, ik.chain_count = target, 3
    told = report(addon, spider)
    assert told.left_out == [
        "left 1 is off in the list of feet",
        f"left 2: tibia_2.L has constraint {held.name}",
        "right 3: tarsus_3.R has constraint IK, whose target is no bone of Spider: press Bake IK first",
    ]
    assert len(told.legs) == 5
    assert "Not placed: left 1 is off in the list of feet" in told.sentence()
    for item in spider.ikcore_feet.legs:
        item.use = False
    assert refused().startswith("No leg of Spider can be placed: left 1 is off in the list of feet; ")


def test_a_body_that_cannot_move():
    spider = on_hill(crawlers.spider())
    for name in ("root", "body"):
        spider.pose.bones[name].lock_location = (True,) * 3
    assert refused() == "The body of Spider cannot move: body is connected or has locked locations"
    spider.ikcore_feet.pelvis_bone = "coxa_1.L"
    assert refused() == "coxa_1.L does not carry all legs: choose another Pelvis Bone"


def test_a_hidden_armature():
    spider = on_hill(crawlers.spider())
    collection = bpy.data.collections.new("Hidden")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(spider)
    bpy.context.scene.collection.objects.unlink(spider)
    collection.hide_viewport = True
    bpy.context.view_layer.update()
    assert "disabled in viewports" in refused()


@pytest.mark.parametrize("tilt", [(0.3, 0.2, 0.5), (0.0, -0.4, 2.0)])
def test_a_tilted_object(addon, tilt):
    """Legs are found by how it stands as modelled; the object need not be upright."""
    spider = on_hill(crawlers.spider())
    spider.rotation_euler = tilt
    bpy.context.view_layer.update()
    told = report(addon, spider, trace_above=300.0, trace_below=300.0, source_floor="GROUND")
    assert len(told.legs) == 8
    reached = [name for name in told.legs if not any(name in text.lower() for text in told.problems)]
    assert len(reached) > 3
    off = np.abs(above_hill(crawlers.tips(spider)))
    assert np.count_nonzero(off < NEAR) >= len(reached)


def test_scaled_bones():
    spider = on_hill(crawlers.spider())
    spider.pose.bones["femur_1.L"].scale = (1, 1.5, 1)
    bpy.context.view_layer.update()
    assert refused() == "femur_1.L is scaled: set the scale of all bones to 1"
