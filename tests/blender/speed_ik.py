"""How long Bake IK takes beside `nla.bake`, on four limbs: `python tests/blender/speed_ik.py ZIP [FRAMES]`.

The python is one with the `bpy` wheel. Prints milliseconds, the best of some rounds, and the longest step, which is how
long Esc waits at most.
"""

import importlib
import itertools
import os
import pathlib
import sys
import tempfile
import time

ROUNDS = 3
LIMBS = 4
ITERATIONS = 50


def main():
    archive, frames = pathlib.Path(sys.argv[1]).resolve(), int((sys.argv[2:] or ["524"])[0])
    del sys.argv[1:]
    with tempfile.TemporaryDirectory() as profile:
        os.environ.setdefault("BLENDER_USER_RESOURCES", profile)
        import bpy

        bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)
        for what in (as_shown, anew, chains, nla_bake):
            rounds = [what(bpy, four_limbs(bpy, frames), frames) for _ in range(ROUNDS)]
            whole, step = (min(each) for each in zip(*rounds, strict=True))
            print(f"{what.__name__:10} {1000 * whole:8.1f} ms, longest step {1000 * step:6.1f} ms")
    sys.stdout.flush()
    os._exit(0)


def four_limbs(bpy, frames):
    """An armature of limbs with a target that moves."""
    import rigs

    rigs.new_scene(frames)
    armature = rigs.leg(frames=frames)
    for n in range(1, LIMBS):
        rigs.add_limb(armature, f".{n}", at=(n, 0, 0))
        rigs.add_ik(armature, f".{n}", target=bpy.data.objects["Leg target"], pole=bpy.data.objects["Leg pole"])
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            constraint.iterations = ITERATIONS
    return armature


def as_shown(bpy, armature, frames):
    """Bake IK, as shown."""
    return _bake(bpy, armature, frames, "SHOWN")


def anew(bpy, armature, frames):
    """Bake IK, solved anew."""
    return _bake(bpy, armature, frames, "ANEW")


def chains(bpy, armature, frames):
    """Bake IK, chains anew."""
    return _bake(bpy, armature, frames, "CHAINS")


def _bake(bpy, armature, frames, way):
    bake, limbs = (importlib.import_module(f"bl_ext.user_default.ikcore.{name}") for name in ("bake", "limbs"))
    import numpy as np

    steps = bake.bake(bpy.context, limbs.find_limbs(armature), np.arange(1, frames + 1), way, "dls")
    times = [time.perf_counter()]
    times += [time.perf_counter() for _ in steps]
    times.append(time.perf_counter())
    return times[-1] - times[0], max(after - before for before, after in itertools.pairwise(times))


def nla_bake(bpy, _, frames):
    """Blender's own, of all bones: one step."""
    bpy.ops.pose.select_all(action="SELECT")
    start = time.perf_counter()
    bpy.ops.nla.bake(frame_start=1, frame_end=frames, only_selected=True, visual_keying=True, bake_types={"POSE"})
    return (time.perf_counter() - start,) * 2


main()
