"""A walk through Blender's importer, ground for it, and what a bake should make of it."""

import dataclasses
import importlib

import bpy
import numpy as np
import rigs
from conftest import EXTENSION

import ikcore as ik

clips, skin, stage = (
    importlib.import_module(f"{EXTENSION}.{name}")
    for name in ("animation.clip_reader", "rig.skin", "animation.scene_frames")
)
LEGS = ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase", "RightUpLeg", "RightLeg", "RightFoot", "RightToeBase")


def walk(folder, *, slide=1.1, seconds=2, fps=30, shakes=0.0):
    """The armature of a walk of one metre a second along -Y that starts at the origin, and slides. Frames 1 to 61.

    Its hips shake by so many metres.
    """
    clip = ik.samples.walk(seconds=seconds, fps=fps).clip
    moved = clip.pose.translations.copy()
    moved[:, 0, 2] *= slide
    moved[:, 0] += np.random.default_rng(0).normal(0, shakes, (len(clip), 3))
    clip = dataclasses.replace(clip, pose=ik.Pose(clip.pose.rotations, moved))
    clip.write(folder / "walk.bvh")
    return imported(folder / "walk.bvh")


def closed(armature, *, ahead=True):
    """Make the played action end as it begins, except for the travel of its root; without `ahead` it is in place.

    Returns its curves, and whether each is of a place.
    """
    animation, found = armature.animation_data, []
    for (path, index), curve in rigs.curves_of(animation.action, animation.action_slot).items():
        values = np.array([key.co.y for key in curve.keyframe_points])
        if not (ahead and path.endswith("location") and index == 2):  # where the importer has the way
            values -= np.linspace(0.0, values[-1] - values[0], len(values))
        for key, value in zip(curve.keyframe_points, values, strict=True):
            key.co.y = value
        curve.update()
        found.append((curve, path.endswith("location")))
    return found


def in_rounds(armature, *, ahead=True):
    """Let that go on in rounds by modifiers."""
    for curve, is_place in closed(armature, ahead=ahead):
        cycles = curve.modifiers.new("CYCLES")
        if ahead and is_place:
            cycles.mode_before = cycles.mode_after = "REPEAT_OFFSET"


def imported(path, **options):
    """The armature of a BVH file, alone selected, in Object Mode."""
    bpy.ops.import_anim.bvh(filepath=str(path), update_scene_fps=True, update_scene_duration=True, **options)
    return bpy.context.object


def slab(name, low, high):
    """A box between two corners."""
    ends = np.array([low, high], float)
    corners = [[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    mesh = bpy.data.meshes.new(name)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    mesh.from_pydata(corners, [], faces)
    active = bpy.context.view_layer.objects.active
    item = rigs.add_object(name, mesh)
    bpy.context.view_layer.objects.active = active
    bpy.context.view_layer.update()
    return item


def steps():
    """A floor, and steps of 0.15 m from one metre ahead on. Returns their names."""
    made = [slab("Floor", (-2, -6, -1), (2, 2, 0))]
    made += [slab(f"Step {n}", (-2, -6, -1), (2, -1 - 0.35 * n, 0.15 * (n + 1))) for n in range(6)]
    return [item.name for item in made]


def ground_of(names):
    """The same as ikcore has it, made without the extension."""
    ground = ik.Ground((), "z")
    for name in names:
        item = bpy.data.objects[name]
        vertices = [item.matrix_world @ vertex.co for vertex in item.data.vertices]
        faces = [
            [f.vertices[0], *f.vertices[n : n + 2]] for f in item.data.polygons for n in range(1, len(f.vertices) - 1)
        ]
        ground += ik.Ground.mesh(np.array(vertices), np.array(faces), up="z")
    return ground


def read(armature):
    """An armature's action as a clip, read by the bridge, whose agreement with Blender's display is tested there."""
    first, last = armature.animation_data.action.curve_frame_range
    return stage.run(clips.read(bpy.context, armature, np.arange(round(first), round(last) + 1))).clip


def prepared_and_baked(clip, ground, feet=None, **options):
    """As the extension does it, with soles that are measured before the preparation."""
    feet = ik.Feet.detect(clip.skeleton, clip=clip) if feet is None else feet
    ready = ik.prepare.prepare(clip, ground, feet=feet, **options)
    settings = ik.BakeSettings(unlock=0.2 + ready.drag)
    contacts = None if ready.clip is clip else ready.contacts
    return ik.bake_feet(ready.clip, ground, feet=feet, contacts=contacts, settings=settings)


def positions(armature, feet, frames):
    """Displayed world positions of the sole points, from the scene: {(leg, point): (frames, 3)}."""
    scene, found = bpy.context.scene, {}
    for frame in frames:
        scene.frame_set(int(frame))
        shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for leg in feet:
            for point, sole in leg.soles.items():
                found.setdefault((leg.name, point), []).append(_place(shown, sole))
    return {key: np.array(rows) for key, rows in found.items()}


def _place(shown, sole):
    bone = shown.pose.bones.get(sole.joint)
    at = np.array(sole.offset) / np.linalg.norm(np.array(shown.matrix_world)[:3, 0])
    if bone is None:  # the tail of one
        bone = shown.pose.bones[sole.joint.removesuffix("_end")]
        at[1] += bone.bone.length
    matrix = np.array(shown.matrix_world @ bone.matrix)
    return matrix[:3, :3] @ at + matrix[:3, 3]


def assert_feet(armature, baked, frames, tolerance=1e-4):
    """Blender shows the feet where a bake of these frames has them."""
    wanted = baked.feet.positions(baked.clip.skeleton, baked.clip.pose)
    for key, places in positions(armature, baked.feet, frames).items():
        away = np.abs(places - wanted[key]).max()
        assert away < tolerance, (key, away)


def assert_feet_at(armature, baked, frame):
    """The same in one frame of a clip that starts with frame 1."""
    wanted = baked.feet.positions(baked.clip.skeleton, baked.clip.pose)
    for key, places in positions(armature, baked.feet, [frame]).items():
        assert np.abs(places[0] - wanted[key][frame - 1]).max() < 1e-4, key
