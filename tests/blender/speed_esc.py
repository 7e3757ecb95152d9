"""How long Esc waits at most while operators work: `python tests/blender/speed_esc.py ZIP [FRAMES]`.

The python is one with the `bpy` wheel. Prints milliseconds of the longest step of each, as wall time and as CPU time,
which is independent of other load. It also prints the time before the first step, during which Esc is not checked, and
the total. The clip has 10,000 frames unless stated otherwise.
"""

import importlib
import itertools
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def main():
    archive, frames = pathlib.Path(sys.argv[1]).resolve(), int((sys.argv[2:] or ["10000"])[0])
    del sys.argv[1:]
    sys.path.insert(0, str(HERE))
    with tempfile.TemporaryDirectory() as profile:
        os.environ.setdefault("BLENDER_USER_RESOURCES", profile)
        import bpy

        bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)
        for name, make in cases(bpy, frames, pathlib.Path(profile)).items():
            call = make()
            with Watched() as times:
                call()
            before, longest, busy, whole = (1000 * seconds for seconds in times)
            step = f"{longest:7.1f} ms, {busy:7.1f} of the processor"
            print(f"{name:24} {step}, before {before:7.1f} ms, of {whole:9.1f} ms", flush=True)
    os._exit(0)


class Watched:
    """Seconds before the first step of an operator, of its longest step, twice, and of all of it."""

    def __enter__(self):
        self.operators = importlib.import_module("bl_ext.user_default.ikcore.limbs.operators")
        self.stage, self.times, self.start = self.operators.scene_frames, [], time.perf_counter()
        self.operators.scene_frames = self
        return self.times

    def __exit__(self, *_):
        self.operators.scene_frames = self.stage

    def __getattr__(self, name):
        return getattr(self.stage, name)

    def finished(self, steps):
        """As stage.run."""
        ticks = [(time.perf_counter(), time.thread_time())]
        ticks += [(time.perf_counter(), time.thread_time()) for _ in steps]
        ticks.append((time.perf_counter(), time.thread_time()))
        steps = [[after - before for before, after in itertools.pairwise(each)] for each in zip(*ticks, strict=True)]
        longest, busy = map(max, steps)
        self.times[:] = ticks[0][0] - self.start, longest, busy, ticks[-1][0] - self.start


def cases(bpy, frames, folder):
    """Scenes by name, as what makes one and returns a call of an operator."""
    import numpy as np
    import rigs
    import test_pins
    import walks

    def walk(**options):
        rigs.new_scene(frames)
        armature = walks.walk(folder, seconds=(frames - 1) / 30)
        steps = walks.steps()

        def bake():
            if options.pop("objects", False):
                ground = [{"name": name} for name in steps]
                return bpy.ops.ikcore.bake_feet(ground="OBJECTS", ground_objects=ground, **options)
            return bpy.ops.ikcore.bake_feet(ground="PLANE", **options)

        bpy.context.view_layer.objects.active = armature
        return bake

    def contacts():
        walk()
        return lambda: bpy.ops.ikcore.detect_contacts(ground="PLANE")

    def limbs(pole=True, bones=False, **options):
        rigs.new_scene(frames)
        armature = rigs.leg(frames=frames, pole=pole)
        for n in range(1, 4):
            rigs.add_limb(armature, f".{n}", at=(n, 0, 0))
            goal = bpy.data.objects["Leg pole"] if pole else None
            rigs.add_ik(armature, f".{n}", target=bpy.data.objects["Leg target"], pole=goal)
        if bones:  # a driver: curves do not say it all
            armature.pose.bones["hips"].driver_add("location", 0)
        for bone in armature.pose.bones:
            for constraint in bone.constraints:
                constraint.iterations = 50
        return lambda: bpy.ops.ikcore.bake_ik(limbs="ALL", **options)

    def fk_to_ik():
        limbs()
        armature = bpy.context.object
        rigs.key_pose(armature, np.random.default_rng(1), (1, frames))
        rigs.select(armature, "lower")
        return lambda: bpy.ops.ikcore.fk_to_ik(frame_range="CUSTOM", frame_start=1, frame_end=frames)

    def tracking(solver):
        rigs.new_scene(frames)
        armature = rigs.leg(frames=frames)
        limb = armature.pose.bones["lower"]
        aim = limb.constraints.new("DAMPED_TRACK")
        aim.target = limb.constraints["IK"].target
        limb.constraints.remove(limb.constraints["IK"])
        return lambda: bpy.ops.ikcore.bake_tracking(
            solver=solver, frame_range="CUSTOM", frame_start=1, frame_end=frames
        )

    def pins():
        rigs.new_scene(frames)
        targets = test_pins.pinned(rigs.person(), *test_pins.HELD)
        for frame in (1, frames):
            targets["hand.L"].location.z += 0.1
            targets["hand.L"].keyframe_insert("location", frame=frame)
        return lambda: bpy.ops.ikcore.bake_pins(frame_range="CUSTOM", frame_start=1, frame_end=frames)

    return {
        "Bake Foot IK": walk,
        "on steps": lambda: walk(objects=True),
        "few keys": lambda: walk(keys="TOLERANCE"),
        "as a strip": lambda: walk(output="NLA"),
        "overwriting": lambda: walk(output="OVERWRITE"),
        "Detect Contacts": contacts,
        "Bake IK, As Displayed": lambda: limbs(solver="DISPLAYED"),
        "few keys of it": lambda: limbs(solver="DISPLAYED", keys="TOLERANCE"),
        "Exact Two-Bone": lambda: limbs(solver="TWO_BONE"),
        "through the scene": lambda: limbs(solver="TWO_BONE", bones=True),
        "without poles": lambda: limbs(solver="TWO_BONE", pole=False),
        "Library Solver": lambda: limbs(solver="LIBRARY"),
        "by fabrik": lambda: limbs(solver="LIBRARY", method="fabrik"),
        "by ccd": lambda: limbs(solver="LIBRARY", method="ccd"),
        "Library Solver through the scene": lambda: limbs(solver="LIBRARY", bones=True),
        "FK to IK": fk_to_ik,
        "Bake Tracking, As Displayed": lambda: tracking("DISPLAYED"),
        "Bake Tracking, Library Solver": lambda: tracking("LIBRARY"),
        "Bake Pins": pins,
    }


main()
