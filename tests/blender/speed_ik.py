"""How long Bake IK takes beside `nla.bake`, on four limbs: `python tests/blender/speed_ik.py ZIP [FRAMES]`.

The python is one with the `bpy` wheel. Prints milliseconds, the best of several rounds, as wall time and as CPU time,
which is independent of other load. It also prints the longest step, which bounds the delay of Esc, and the speed-up
over `nla.bake` in CPU time. Then the same where a driver has all be read through the scene.
"""

import importlib
import itertools
import os
import pathlib
import sys
import tempfile
import time

ROUNDS, FEW, MANY = 9, 2, 2000  # few of many frames
LIMBS = 4
ITERATIONS = 50


def main():
    archive, frames = pathlib.Path(sys.argv[1]).resolve(), int((sys.argv[2:] or ["524"])[0])
    del sys.argv[1:]
    with tempfile.TemporaryDirectory() as profile:
        os.environ.setdefault("BLENDER_USER_RESOURCES", profile)
        import bpy

        bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)
        for driven in (False, True):
            print("through the scene:" if driven else "by curves:")
            theirs, count = None, FEW if frames > MANY else ROUNDS
            for what in (nla_bake, as_shown, anew, chains):
                rounds = [what(bpy, four_limbs(bpy, frames, driven=driven), frames) for _ in range(count)]
                whole, busy, step = (1000 * min(each) for each in zip(*rounds, strict=True))
                theirs = theirs or busy
                ratio = f"{theirs / busy:5.1f} times nla.bake"
                print(f"  {what.__name__:10} {whole:8.1f} ms, {busy:8.1f} of the processor, step {step:7.1f}, {ratio}")
    sys.stdout.flush()
    os._exit(0)


def four_limbs(bpy, frames, *, driven):
    """An armature of limbs with a target that moves, and if that is asked for a driver above one."""
    import rigs

    rigs.new_scene(frames)
    armature = rigs.leg(frames=frames)
    for n in range(1, LIMBS):
        rigs.add_limb(armature, f".{n}", at=(n, 0, 0))
        rigs.add_ik(armature, f".{n}", target=bpy.data.objects["Leg target"], pole=bpy.data.objects["Leg pole"])
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            constraint.iterations = ITERATIONS
    if driven:
        armature.pose.bones["hips"].driver_add("location", 0)
    return armature


def as_shown(bpy, armature, frames):
    """Bake IK, As Displayed."""
    return _bake(bpy, armature, frames, "DISPLAYED")


def anew(bpy, armature, frames):
    """Bake IK, Exact Two-Bone."""
    return _bake(bpy, armature, frames, "TWO_BONE")


def chains(bpy, armature, frames):
    """Bake IK, Library Solver."""
    return _bake(bpy, armature, frames, "LIBRARY")


def _bake(bpy, armature, frames, way):
    bake, limbs = (
        importlib.import_module(f"bl_ext.user_default.ikcore.{name}") for name in ("limbs.bake", "limbs.ik_constraints")
    )
    import numpy as np

    steps = bake.bake(bpy.context, limbs.find_limbs(armature), np.arange(1, frames + 1), way, "dls")
    times, busy = [time.perf_counter()], time.process_time()
    times += [time.perf_counter() for _ in steps]
    times.append(time.perf_counter())
    longest = max(after - before for before, after in itertools.pairwise(times))
    return times[-1] - times[0], time.process_time() - busy, longest


def nla_bake(bpy, _, frames):
    """Blender's own, of all bones: one step."""
    bpy.ops.pose.select_all(action="SELECT")
    start, busy = time.perf_counter(), time.process_time()
    bpy.ops.nla.bake(frame_start=1, frame_end=frames, only_selected=True, visual_keying=True, bake_types={"POSE"})
    return (whole := time.perf_counter() - start), time.process_time() - busy, whole


main()
