"""How long Bake Foot IK takes beside `nla.bake` of two IK constraints.

`python tests/blender/speed.py ZIP BVH [FRAMES]`, with the `bpy` wheel; short clips are repeated. Prints milliseconds,
the best of several rounds, for a thousand frames. Listed are the whole operator, first and best run; its stages, from
the report; and a redo, as after a changed option. Times of the processor do not mind what else runs.
"""

import importlib
import os
import pathlib
import sys
import tempfile
import time

LONG = 1000  # frames
ROUNDS, FEW, MANY = 7, 2, 5000  # few of clips with many frames
OF_PROCESSOR = ", of the processor"


def main():
    archive, clip = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as profile:
        os.environ.setdefault("BLENDER_USER_RESOURCES", profile)
        import bpy

        bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)
        if len(sys.argv) > 3:
            clip = longer(clip, pathlib.Path(profile) / "asked.bvh", int(sys.argv[3]))
        ours, theirs = best(bpy, clip, bake_feet), best(bpy, clip, nla_bake)
        again = best(bpy, longer(clip, pathlib.Path(profile) / "long.bvh", LONG), redo)
    for stage, seconds in {**ours, **theirs, **again}.items():
        print(f"{stage:36} {1000 * seconds:8.1f} ms")
    for clock in ("", OF_PROCESSOR):
        ratio = theirs[f"nla.bake{clock}"] / ours[f"bake_feet{clock}"]
        print(f"bake_feet is {ratio:.1f} times as fast as nla.bake{clock}")
    sys.stdout.flush()
    os._exit(0)


def best(bpy, clip, measure):
    """The least time of each stage."""
    rounds = []
    for _ in range(FEW if clip.read_text(encoding="utf-8").count("\n") > MANY else ROUNDS):
        bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
        bpy.ops.import_anim.bvh(
            filepath=str(clip), global_scale=0.0564444, update_scene_fps=True, update_scene_duration=True
        )
        rounds.append(measure(bpy, bpy.context.object))
    first = {f"{stage}, first": seconds for stage, seconds in rounds[0].items() if stage.startswith("bake_feet")}
    return first | {stage: min(each[stage] for each in rounds) for stage in rounds[0]}


def longer(clip, path, frames):
    """The same clip over and over."""
    head, motion = clip.read_text(encoding="utf-8").split("MOTION")
    _, step, *rows = motion.strip().splitlines()
    many = (rows * (frames // len(rows) + 1))[:frames]
    path.write_text("\n".join([f"{head}MOTION", f"Frames: {frames}", step, *many, ""]), encoding="utf-8")
    return path


def extension(*names):
    return [importlib.import_module(f"bl_ext.user_default.ikcore.{name}") for name in names]


def bake_feet(bpy, armature):
    """The operator as a whole, and its stages."""
    (report,) = extension("feet.foot_report")
    whole = timed("bake_feet", lambda: bpy.ops.ikcore.bake_feet(ground="PLANE"))
    stages = report.latest(armature).times
    return {**whole, **{f"  {stage}": seconds for stage, seconds in stages.items()}}


def redo(bpy, armature):
    """The operation of the redo panel, without the undo before it."""
    feet, foot_job, keys, stage = extension("feet.foot_bake", "feet.foot_job", "feet.keys", "animation.scene_frames")
    request = armature.ikcore_feet
    request.ground = "PLANE"
    stage.run(feet.work(bpy.context, foot_job.make_job(bpy.context, armature, request)))

    def again():
        job = foot_job.make_job(bpy.context, armature, request)
        worked = stage.run(feet.work(bpy.context, job, again=True))
        made = stage.run(keys.make_keys(bpy.context, job, *worked, request))
        stage.run(feet.write(bpy.context, [feet.BakeResult(job, worked[1], *made, worked[-1])], request))

    return timed(f"redo of {LONG} frames", again)


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
    return timed("nla.bake", lambda: bpy.ops.nla.bake(bake_types={"POSE"}, **options))


def timed(name, call):
    """The seconds a call takes, by the clock and of the processor."""
    start, busy = time.perf_counter(), time.process_time()
    call()
    return {name: time.perf_counter() - start, name + OF_PROCESSOR: time.process_time() - busy}


main()
