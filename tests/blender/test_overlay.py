"""Foot trails: they are where Blender shows the feet, only while that is true, and nothing of them is left behind."""

import contextlib
import importlib
import sys
import time
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import rigs
import walks
from conftest import EXTENSION

import ikcore as ik

overlay, trails = (importlib.import_module(f"{EXTENSION}.{name}") for name in ("feet.overlay", "feet.trails"))
FRAMES = range(1, 62)
HANDLERS = ("load_pre", "undo_post", "redo_post", "depsgraph_update_post")


def bake(**options):
    assert bpy.ops.ikcore.bake_feet(**{"ground": "PLANE", "plane_height": 0.1, **options}) == {"FINISHED"}


def shown(armature):
    """The trails that are drawn, or None."""
    kept = overlay.current(armature)
    return kept and kept.trails


def curves(armature):
    return rigs.curves_of(armature.animation_data.action, armature.animation_data.action_slot)


def curve(armature, path, index=0):
    return curves(armature)[path, index]


@pytest.fixture
def walker(tmp_path):
    return walks.walk(tmp_path)


@pytest.fixture
def switched(monkeypatch):
    """The overlay as with a window; switched off in the end."""
    monkeypatch.setattr(overlay, "_windowless", lambda: False)
    yield bpy.context.window_manager
    overlay.switch(False)


# --- where they are --------------------------------------------------------------------------------------------------


def test_paths_before_and_after_are_where_blender_shows_the_feet(walker):
    names = walks.steps()
    wanted = ik.bake_feet(walks.read(walker), walks.ground_of(names))
    before = walks.positions(walker, wanted.feet, FRAMES)
    bake(ground="OBJECTS", ground_objects=[{"name": name} for name in names])
    after, found = walks.positions(walker, wanted.feet, FRAMES), shown(walker)
    assert [leg.name for leg in found.legs] == ["left", "right"]
    assert np.abs(after["left", "ball"] - before["left", "ball"]).max() > 0.3
    for leg in found.legs:
        assert np.abs(leg.before - before[leg.name, "ball"]).max() < 1e-4
        assert np.abs(leg.path - after[leg.name, "ball"]).max() < 1e-4
        for point, places in leg.points.items():
            assert np.abs(places - after[leg.name, point]).max() < 1e-4
        planted = wanted.contacts.planted(leg.name)
        np.testing.assert_array_equal(found.planted(leg), planted)
        np.testing.assert_array_equal(found.planted(leg, "toe"), wanted.contacts.planted(leg.name, "ball"))
        np.testing.assert_array_equal(found.planted(leg, "heel"), wanted.contacts.planted(leg.name, "heel"))
        assert len(trails.pieces(leg.path)) == 60
        assert len(trails.pieces(leg.path, planted)) == sum(planted[n] and planted[n + 1] for n in range(60))
        locked, slid = (trails.pieces(path, found.planted(leg, "ball")) for path in (leg.path, leg.before))
        assert np.median(np.abs(np.diff(locked, axis=1)).max(axis=(1, 2))) < 1e-6
        assert np.median(np.abs(np.diff(slid, axis=1)).max(axis=(1, 2))) > 1e-3


def test_footprints_are_as_long_and_wide_as_the_sole_and_lie_on_the_steps(walker):
    names = walks.steps()
    wanted = ik.bake_feet(walks.read(walker), walks.ground_of(names))
    bake(ground="OBJECTS", ground_objects=[{"name": name} for name in names])
    after, found = walks.positions(walker, wanted.feet, FRAMES), shown(walker)
    for leg in found.legs:
        prints, spans = found.footprints(leg), wanted.contacts.intervals(leg.name)
        assert prints.shape == (len(spans), trails.CORNERS, 3)
        for corners, (start, stop) in zip(prints, spans, strict=True):
            middle = (start + stop - 1) // 2
            if not all(wanted.contacts.planted(leg.name, point)[middle] for point in ("heel", "ball")):
                continue
            sole = np.array([after[leg.name, point][middle] for point in leg.points])
            for axis in (0, 1):
                np.testing.assert_allclose(corners[:, axis].min(), sole[:, axis].min(), atol=0.012)
                np.testing.assert_allclose(corners[:, axis].max(), sole[:, axis].max(), atol=0.012)
            np.testing.assert_allclose(corners[:, 2], np.median(sole[:, 2]), atol=0.01)


def test_a_footprint_shows_what_stands():
    """On the toes: nothing around the heel. A point: a disc."""
    points = np.array([[[0.0, 0, 0], [0, 1, 0], [0, 2, 0]]])
    toes = trails._round_outlines(points, np.array([[False, True, True]]), 0.1)
    assert (toes[0, :, 1].min().round(3), toes[0, :, 1].max().round(3)) == (1, 2)
    disc = trails._round_outlines(points, np.array([[True, False, False]]), 0.1)
    np.testing.assert_allclose(np.linalg.norm(disc[0], axis=-1), 0.1, rtol=1e-6)
    assert trails._round_outlines(points[:0], np.zeros((0, 3), bool), 0.1).shape == (0, trails.CORNERS, 3)


def test_points_of_the_moment(walker):
    bake()
    found = shown(walker)
    leg, feet = found.legs[0], walks.read(walker)
    heel = ik.Feet.detect(feet.skeleton, clip=feet)["left"].soles["heel"]
    for moment in (1, 20, 30.5, 61):
        places, held = found.at(leg, moment)
        assert places.shape == (3, 3)
        early, late = int(moment) - 1, int(np.ceil(moment)) - 1
        middle = (leg.path[early] + leg.path[late]) / 2
        np.testing.assert_allclose(places[0], middle, atol=1e-6)
        assert list(held) == [found.planted(leg, point)[early] for point in ("ball", "heel", "toe")]
    bpy.context.scene.frame_set(20)
    np.testing.assert_allclose(found.at(leg, 20)[0][1], walks._place(walker, heel), atol=1e-4)
    for moment in (0, 0.9, 61.1, 1000):
        assert len(found.at(leg, moment)[0]) == 0


def test_parts_legs_and_scaled_objects(walker):
    """In lengths of the world, of all legs, on all frames, whatever was baked."""
    walker.scale, walker.rotation_euler, walker.location = (0.5,) * 3, (0, 0, 1), (1, 2, 0)
    bpy.context.view_layer.update()
    bake(plane_height=0.05, legs=[{"name": "left"}], frame_range="CUSTOM", frame_start=10, frame_end=40)
    found = shown(walker)
    feet = ik.Feet.detect(walks.read(walker).skeleton, clip=walks.read(walker))
    there = walks.positions(walker, feet, FRAMES)
    for leg in found.legs:
        assert np.abs(leg.path - there[leg.name, "ball"]).max() < 1e-4
        assert leg.size == pytest.approx(0.425, abs=1e-3)
    np.testing.assert_array_equal(found.legs[1].path, found.legs[1].before)


# --- before a bake, and edited contacts ------------------------------------------------------------------------------


def test_detected_contacts_show_before_the_bake(walker):
    feet = ik.Feet.detect(walks.read(walker).skeleton, clip=walks.read(walker))
    there = walks.positions(walker, feet, FRAMES)
    assert shown(walker) is None
    bpy.ops.ikcore.detect_contacts()
    for leg in (found := shown(walker)).legs:
        assert leg.before is None
        assert np.abs(leg.path - there[leg.name, "ball"]).max() < 1e-4
        for point in ("heel", "ball"):
            keyed = curve(walker, f'["contact {leg.name} {point}"]')
            assert list(found.planted(leg, point)) == [keyed.evaluate(frame) > 0.5 for frame in FRAMES]


def test_edited_contacts_show_at_once_and_make_nothing_untrue(walker):
    bpy.ops.ikcore.detect_contacts()
    before = shown(walker).held["left", "heel"].copy()
    bake()
    keyed = curve(walker, '["contact left heel"]')
    for key in keyed.keyframe_points:
        key.co.y = 1 - key.co.y
    keyed.update()
    np.testing.assert_array_equal(shown(walker).held["left", "heel"], ~before)
    assert shown(walker).legs[0].before is not None


def test_contacts_that_do_not_count_do_not_show(walker):
    bpy.ops.ikcore.detect_feet()
    walker.ikcore_feet.legs["left"].mode = "always"
    bpy.ops.ikcore.detect_contacts()
    for path in ('["contact left ball"]', '["contact right ball"]'):
        for key in curve(walker, path).keyframe_points:
            key.co.y = 0
    assert shown(walker).held["left", "ball"].all()
    assert not shown(walker).held["right", "ball"].any()
    bake(contacts="AUTO")
    assert shown(walker).held["right", "ball"].any()


# --- only what is true -----------------------------------------------------------------------------------------------


def test_of_what_plays_now(walker):
    source = walker.animation_data.action
    bake()
    made = walker.animation_data.action
    walker.animation_data.action = source
    assert shown(walker) is None
    walker.animation_data.action = made
    assert shown(walker) is not None
    walker.animation_data_clear()
    assert shown(walker) is None


@pytest.mark.parametrize("output", ["NEW", "OVERWRITE"])
def test_undo_and_redo(walker, output, switched):
    switched.ikcore_foot_trails = True
    bpy.ops.ed.undo_push(message="before")
    bake(output=output)
    bpy.ops.ed.undo_push(message="after")
    assert shown(bpy.context.object) is not None
    bpy.ops.ed.undo()
    assert shown(bpy.context.object) is None
    bpy.ops.ed.redo()
    assert shown(bpy.context.object) is not None


@pytest.mark.parametrize("output", ["NEW", "NLA"])
def test_undo_to_an_earlier_bake_brings_its_box_and_trails_back(walker, output, switched):
    report = importlib.import_module(f"{EXTENSION}.feet.foot_report")
    switched.ikcore_foot_trails = True
    seen = []
    for height in (0.1, 0.2, 0.3):
        bake(output=output, plane_height=height)
        bpy.ops.ed.undo_push(message=f"{height}")
        seen.append((report.latest(bpy.context.object), shown(bpy.context.object)))
    assert len({id(box) for box, _ in seen}) == 3
    for step, number in ((bpy.ops.ed.undo, 1), (bpy.ops.ed.undo, 0), (bpy.ops.ed.redo, 1)):
        step()
        assert report.latest(bpy.context.object) is seen[number][0]
        assert shown(bpy.context.object) is seen[number][1]


@pytest.mark.parametrize("what", ["co", "handle_right"])
def test_edited_legs_have_no_trails_until_they_are_baked_again(walker, what):
    bake()
    edited = curve(walker, 'pose.bones["LeftLeg"].rotation_euler')
    if what == "handle_right":
        edited.keyframe_points[5].interpolation = "BEZIER"
    else:
        edited.keyframe_points[5].co.y += 0.1
    assert shown(walker) is None
    bake()
    assert shown(walker) is not None


def test_edited_arms_change_nothing(walker):
    bake()
    curve(walker, 'pose.bones["LeftArm"].rotation_euler').keyframe_points[5].co.y += 0.1
    assert shown(walker) is not None


def test_a_moved_object_has_no_trails(walker):
    bake()
    walker.location.x = 0.1
    bpy.context.view_layer.update()
    assert shown(walker) is None
    walker.location.x = 0
    bpy.context.view_layer.update()
    assert shown(walker) is not None


def test_strips_and_all_actions(walker):
    source, feet = walker.animation_data.action, ik.Feet.detect(walks.read(walker).skeleton, clip=walks.read(walker))
    bpy.ops.ikcore.bake_feet_actions(ground="PLANE", plane_height=0.1)
    assert walker.animation_data.action != source
    assert shown(walker).legs[0].before is not None
    walker.animation_data.action = source
    bpy.ops.ikcore.detect_contacts()
    bake(output="NLA")
    assert walker.animation_data.action is None
    found = shown(walker)
    there = walks.positions(walker, feet, FRAMES)
    for leg in found.legs:
        assert np.abs(leg.path - there[leg.name, "ball"]).max() < 1e-4
    walker.animation_data.nla_tracks[-1].mute = True
    keyed = walker.animation_data.nla_tracks[-2].strips[0].action
    bag = keyed.layers[0].strips[0].channelbag(walker.animation_data.nla_tracks[-2].strips[0].action_slot)
    for key in bag.fcurves.find('["contact left ball"]').keyframe_points:
        key.co.y = 1
    walker.animation_data.nla_tracks[-1].mute = False
    assert shown(walker).held["left", "ball"].all()


def test_what_is_kept_of_actions_that_are_gone_is_bounded(addon):
    actions = addon.animation.actions
    kept = {(1, -number): number for number in range(1, 100)}
    actions.forget_gone(kept)
    assert list(kept.values()) == list(range(100 - actions.UNDONE, 100))


# --- on and off ------------------------------------------------------------------------------------------------------


def registered():
    return [list(getattr(bpy.app.handlers, name)) for name in HANDLERS]


def test_nothing_without_a_window(walker):
    before = registered()
    bpy.context.window_manager.ikcore_foot_trails = True
    assert not bpy.context.window_manager.ikcore_foot_trails
    assert registered() == before
    bake()
    assert f"{EXTENSION}.feet.overlay_style" not in sys.modules


def test_on_and_off_leaves_nothing(switched):
    before = registered()
    assert not switched.ikcore_foot_trails
    for _ in range(3):
        for _ in range(2):
            switched.ikcore_foot_trails = True
            assert switched.ikcore_foot_trails
            assert [len(found) - len(old) for found, old in zip(registered(), before, strict=True)] == [1] * 4
        for _ in range(2):
            switched.ikcore_foot_trails = False
            assert not switched.ikcore_foot_trails
            assert registered() == before


def test_off_in_another_file_and_without_the_extension(walker, addon, switched, tmp_path):
    before = registered()
    bake()
    switched.ikcore_foot_trails = True
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "on.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "on.blend"))
    assert not bpy.context.window_manager.ikcore_foot_trails
    assert registered() == before
    assert not overlay._kept
    bpy.context.window_manager.ikcore_foot_trails = True
    try:
        addon.unregister()
        assert overlay._handle is None
        assert registered() == before
    finally:
        addon.register()


# --- drawing ---------------------------------------------------------------------------------------------------------


class Card:
    """Stands in for Blender's module gpu: remembers what is drawn, and the state that it is left in."""

    def __init__(self):
        self.drawn, self.made, self.broken = 0, 0, False
        self.set = {"blend": "NONE", "depth_test": "NONE", "depth_mask": True, "program_point_size": False}
        self.shader = SimpleNamespace(from_builtin=lambda name: self)
        self.matrix = SimpleNamespace(push_pop=contextlib.nullcontext, translate=lambda _: None)
        self.state = SimpleNamespace(viewport_get=lambda: (0, 0, 100, 100))
        for name in self.set:
            setattr(self.state, f"{name}_get", lambda name=name: self.set[name])
            setattr(self.state, f"{name}_set", lambda value, name=name: self.set.update({name: value}))

    def bind(self):
        if self.broken:
            raise RuntimeError("broken by the test")

    def uniform_float(self, name, value):
        assert np.isfinite(value).all()

    def batch(self, shader, kind, content):
        self.made += 1
        assert content["pos"].dtype == np.float32
        assert content["pos"].shape[1:] == (3,)
        assert np.isfinite(content["pos"]).all()
        return SimpleNamespace(draw=self._draw)

    def _draw(self, shader):
        self.drawn += 1


@pytest.fixture
def card(monkeypatch, addon):
    """A graphics card that only remembers."""
    card, name = Card(), f"{EXTENSION}.feet.overlay_style"
    paint = importlib.import_module(name)
    monkeypatch.setattr(paint, "gpu", card)
    monkeypatch.setattr(paint, "batch_for_shader", card.batch)
    yield card
    del sys.modules[name], addon.feet.overlay_style


def redraw(*, overlays=True):
    """Draw as Blender does it in a 3D viewport."""
    space = next(area.spaces.active for area in bpy.data.screens["Layout"].areas if area.type == "VIEW_3D")
    space.overlay.show_overlays = overlays
    context = bpy.context
    overlay._draw_in(
        SimpleNamespace(
            space_data=space,
            scene=context.scene,
            view_layer=context.view_layer,
            preferences=context.preferences,
        )
    )


def test_batches_are_made_once(walker, card):
    redraw()
    assert card.made == card.drawn == 0
    bake()
    redraw()
    made, drawn = card.made, card.drawn
    assert 0 < made < drawn
    redraw()
    assert (card.made, card.drawn) == (made, 2 * drawn)
    bpy.context.scene.frame_set(30)
    redraw()
    assert 0 < card.made - made <= 8  # points of two feet, planted or not, with their rims


def test_state_is_put_back(walker, card):
    bake()
    before = dict(card.set)
    redraw()
    assert card.set == before
    card.broken = True
    with pytest.raises(RuntimeError):
        redraw()
    assert card.set == before


def test_nothing_is_drawn_of_what_is_hidden_or_gone(walker, card):
    bake()
    redraw(overlays=False)
    walker.hide_set(True)
    redraw()
    assert card.drawn == 0
    walker.hide_set(False)
    redraw()
    assert card.drawn > 0
    drawn = card.drawn
    bpy.data.objects.remove(walker)
    redraw()
    assert card.drawn == drawn


def test_edited_contacts_are_drawn_anew(walker, card, switched):
    bpy.ops.ikcore.detect_contacts()
    switched.ikcore_foot_trails = True
    redraw()
    made = card.made
    walker["contact left ball"] = 1.0
    walker.keyframe_insert('["contact left ball"]', frame=30)
    bpy.context.view_layer.update()
    redraw()
    assert card.made > made


def test_long_clips_take_no_time_to_redraw(tmp_path, card, switched):
    """Without what the graphics card takes: under 2 ms of Python for 10,000 frames."""
    walks.walk(tmp_path, seconds=334)
    bake()
    switched.ikcore_foot_trails = True
    redraw()
    took = []
    for frame in range(100, 120):
        bpy.context.scene.frame_set(frame)
        start = time.perf_counter()
        redraw()
        took.append(time.perf_counter() - start)
    assert min(took) < 0.002
