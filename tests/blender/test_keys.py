"""As few keys as needed: what Blender plays then, on and between frames, beside a key on every frame."""

import bpy
import numpy as np
import pytest
import rigs
import walks
from test_feet import CLIPS, SIZES, TERRAIN, bake, curves, imported, needs_files

import ikcore as ik


def shown(armature, feet, frames):
    """Where points of soles and leg bones are, (frames, points, 3), and how leg bones stand."""
    scene, soles, bones = bpy.context.scene, [], []
    names = [joint for leg in feet for joint in leg.chain if joint in armature.pose.bones]
    for frame in frames:
        scene.frame_set(int(frame // 1), subframe=float(frame % 1))
        now = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        soles.append([walks._place(now, sole) for leg in feet for sole in leg.soles.values()])
        bones.append([np.array(now.matrix_world @ now.pose.bones[name].matrix) for name in names])
    return np.array(soles), np.array(bones)


def compare(armature, tolerance, **options):
    clip = walks.read(armature)
    first, last = armature.animation_data.action.curve_frame_range
    frames = np.arange(first, last + 0.25, 0.5)
    source = armature.animation_data.action
    pose = [bone.matrix_basis.copy() for bone in armature.pose.bones]
    assert bake(**options) == {"FINISHED"}
    module = walks.importlib.import_module(walks.EXTENSION + ".feet")
    feet = module._last[1].feet
    full = shown(armature, feet, frames)
    armature.animation_data.action = source
    for bone, was in zip(armature.pose.bones, pose, strict=True):
        bone.matrix_basis = was
    import time; t0=time.perf_counter()
    K=walks.importlib.import_module(walks.EXTENSION + ".keys"); real=K._few
    def timed(*a):
        t=time.perf_counter(); r=yield from real(*a); print("few took",time.perf_counter()-t,r.counts); return r
    K._few=timed
    assert bake(keys="TOLERANCE", key_tolerance=tolerance, **options) == {"FINISHED"}
    K._few=real
    few = shown(armature, feet, frames)
    return feet, full, few


def test_proto(tmp_path):
    armature = walks.walk(tmp_path)
    for tolerance in (0.001, 0.002, 0.005):
        armature.animation_data.action = bpy.data.actions["walk"]
        feet, full, few = compare(armature, tolerance, ground="PLANE", plane_height=0.1)
        away = np.linalg.norm(full[0] - few[0], axis=-1)
        places = np.linalg.norm(full[1][..., :3, 3] - few[1][..., :3, 3], axis=-1)
        print(
            tolerance,
            "frames",
            away[::2].max(),
            "half",
            away[1::2].max(),
            "bones",
            places[::2].max(),
            places[1::2].max(),
        )
        print({at[0][12:30]: len(c.keyframe_points) for at, c in curves(armature).items() if at[1] == 0})


@needs_files
@pytest.mark.parametrize("file", ["cmu_12_01_walk.bvh", "fair1_zombie.bvh", "Fox.glb"])
def test_proto_files(file):
    armature = imported(file, CLIPS[file])
    size = SIZES.get(file, 1.0)
    bpy.ops.wm.obj_import(filepath=str(TERRAIN / "ozz_foot_ik_floor.obj"))
    floor = bpy.context.object
    floor.scale = (size,) * 3
    bpy.context.view_layer.objects.active = armature
    source = armature.animation_data.action
    for tolerance in (0.001, 0.002, 0.005):
        armature.animation_data.action = source
        feet, full, few = compare(armature, tolerance * size, ground="OBJECTS", ground_objects=[{"name": floor.name}])
        away = np.linalg.norm(full[0] - few[0], axis=-1) / size
        places = np.linalg.norm(full[1][..., :3, 3] - few[1][..., :3, 3], axis=-1) / size
        print(
            file,
            tolerance,
            "frames",
            away[::2].max(),
            "half",
            away[1::2].max(),
            "bones",
            places[::2].max(),
            places[1::2].max(),
        )
