"""How long Bake Foot IK takes beside `nla.bake` of two IK constraints: `python tests/blender/speed.py ZIP CLIP.bvh`.

The python is one with the `bpy` wheel. Prints milliseconds of each stage, the best of some rounds.
"""

import os
import pathlib
import sys
import tempfile
import time

ROUNDS = 5


def main():
    archive, clip = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as profile:
        os.environ.setdefault("BLENDER_USER_RESOURCES", profile)
        import bpy

        bpy.ops.extensions.package_install_files(filepath=archive, repo="user_default", enable_on_install=True)
        ours, theirs = best(bpy, clip, bake_feet), best(bpy, clip, nla_bake)
        for stage, seconds in {**ours, **theirs}.items():
            print(f"{stage:12} {1000 * seconds:8.1f} ms")
        print(f"{theirs['nla.bake'] / ours['bake_feet']:.0f} times as fast")
    sys.stdout.flush()
    os._exit(0)


def best(bpy, clip, measure):
    """The least time of each stage."""
    rounds = []
    for _ in range(ROUNDS):
        bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
        bpy.ops.import_anim.bvh(
            filepath=clip, global_scale=0.0564444, update_scene_fps=True, update_scene_duration=True
        )
        rounds.append(measure(bpy, bpy.context.object))
    return {stage: min(each[stage] for each in rounds) for stage in rounds[0]}


def bake_feet(bpy, armature):
    """The operator as a whole; then its stages, on what that has left."""
    import importlib

    names = ("feet", "foot_job", "keys", "stage")
    feet, foot_job, keys, stage = (importlib.import_module(f"bl_ext.user_default.ikcore.{name}") for name in names)
    armature.ikcore_feet.ground, options = "PLANE", {"ground": "PLANE"}
    source, took = armature.animation_data.action, {}
    took["bake_feet"] = timed(lambda: bpy.ops.ikcore.bake_feet(**options))[0]
    armature.animation_data.action = source
    job = foot_job.asked(bpy.context, armature, armature.ikcore_feet)
    took["  look"], _ = timed(lambda: stage.finished(feet._look(bpy.context, job)))
    took["  all again"], made = timed(lambda: stage.finished(feet.work(bpy.context, job)))
    took["  redo"], _ = timed(lambda: stage.finished(feet.work(bpy.context, job, again=True)))
    options, (_, _, told) = armature.ikcore_feet, made
    took["  keys"], found = timed(lambda: stage.finished(keys.made(job, *made, options)))
    took["  write"], _ = timed(lambda: feet.write(bpy.context, job, *found, told, options))
    return took


def nla_bake(bpy, armature):
    """Two IK constraints with targets that stand still, baked with visual keying."""
    for side in ("Left", "Right"):
        target = bpy.data.objects.new(side, None)
        bpy.context.collection.objects.link(target)
        constraint = armature.pose.bones[f"{side}Leg"].constraints.new("IK")
        constraint.target, constraint.chain_count = target, 2
    bpy.ops.object.mode_set(mode="POSE")
    first, last = (int(frame) for frame in armature.animation_data.action.curve_frame_range)
    options = {"frame_start": first, "frame_end": last, "only_selected": False, "visual_keying": True}
    return {"nla.bake": timed(lambda: bpy.ops.nla.bake(bake_types={"POSE"}, **options))[0]}


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


main()
