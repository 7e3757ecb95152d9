"""How often a second a body of 70 bones is bent for its pins: `python tests/blender/speed_pins.py ZIP`.

The python is one with the `bpy` wheel. Prints milliseconds and updates per second while a pin is dragged, the best of
several rounds: for the solver, for the whole extension, and including Blender's evaluation.
"""

import contextlib
import importlib
import os
import pathlib
import sys
import tempfile
import time

ROUNDS, STEPS = 5, 60
FINGERS, JOINTS = 5, 5  # of each hand: 20 + 2 * 5 * 5 bones


def main():
    archive = pathlib.Path(sys.argv[1]).resolve()
    del sys.argv[1:]
    with tempfile.TemporaryDirectory() as profile:
        os.environ.setdefault("BLENDER_USER_RESOURCES", profile)
        import bpy

        bpy.ops.extensions.package_install_files(filepath=str(archive), repo="user_default", enable_on_install=True)
        addon = importlib.import_module("bl_ext.user_default.ikcore")
        for method, balance in (("full_body", False), ("full_body", True), ("fabrik", False), ("ccd", False)):
            armature, target = held(bpy, method, balance=balance)
            print(f"{len(armature.pose.bones)} bones, 5 pins, {method}{', balanced' if balance else ''}:")
            for name, seconds in best(bpy, addon, target).items():
                print(f"  {name:10} {1000 * seconds:7.2f} ms, {1 / seconds:8,.0f} a second")
    sys.stdout.flush()
    os._exit(0)


def held(bpy, method, *, balance):
    """The body, held live by hands, feet and head, and the empty of its left hand."""
    import rigs
    import test_pins

    rigs.new_scene()
    bones = []
    for side, sign in ((".L", 1), (".R", -1)):
        for finger in range(FINGERS):
            above = "hand" + side
            for joint in range(JOINTS):
                ends = [(sign * (0.8 + 0.02 * (joint + n)), 0.02 * finger - 0.07, 1.39) for n in (0, 1)]
                bones.append((name := f"finger{finger}.{joint}{side}", above, *ends))
                above = name
    armature = rigs.person(bones)
    targets = test_pins.pinned(armature, *test_pins.HELD, "head")
    armature.ikcore_pins.method = method
    for name in ("foot.L", "foot.R"):
        armature.ikcore_pins.pins[name].supports_weight = True
    armature.ikcore_pins.balance = balance
    bpy.ops.ikcore.live_pins()
    bpy.context.view_layer.update()
    return armature, targets["hand.L"]


def best(bpy, addon, target):
    """Seconds of an update, the best of some drags: {part: seconds}."""
    rounds = []
    for _ in range(ROUNDS):
        with (
            timed(addon.pins.full_body.bridge.library, "solve") as solver,
            timed(addon.pins.interactive, "_follow") as extension,
        ):
            start = time.perf_counter()
            for step in range(STEPS):
                target.location.z -= 0.01 if step < STEPS / 2 else -0.01
                bpy.context.view_layer.update()
            whole = time.perf_counter() - start
        rounds.append((sum(solver) / STEPS, sum(extension) / STEPS, whole / STEPS))
    return dict(zip(("solver", "extension", "all of it"), map(min, zip(*rounds, strict=True)), strict=True))


@contextlib.contextmanager
def timed(module, name):
    """A list that gets the seconds of every call of a function."""
    function, seconds = getattr(module, name), []

    def call(*args, **options):
        start = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            seconds.append(time.perf_counter() - start)

    setattr(module, name, call)
    try:
        yield seconds
    finally:
        setattr(module, name, function)


sys.path.insert(0, str(pathlib.Path(__file__).parent))
main()
