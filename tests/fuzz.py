"""Files, motions and problems at random, under sanitizers: `python tests/fuzz.py [SECONDS] [--only TARGET [NUMBER]]`.

Builds the module with AddressSanitizer and UndefinedBehaviorSanitizer, all its widths of vectors, and calls what reads
files, the bake and the solvers for so many seconds, a minute unless told. The input of a call is derived from its
target and number only, so `--only` reproduces a failure. A call may end in a ValueError or an OSError and in nothing
else, and within a minute.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path += [str(ROOT / folder) for folder in ("benchmarks", "tests/project", "tests/clips")]

import test_core  # noqa: E402

SEED = 20261122
LONGEST = 60  # seconds of a call; then the stacks are printed and the process ends


def main() -> int:
    """Build, and run the calls in a process that the sanitizers watch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=60)
    parser.add_argument("--only", nargs="+", metavar=("TARGET", "NUMBER"), help="this target, or this call of it")
    parser.add_argument("--built", type=Path, help=argparse.SUPPRESS)  # the process that is watched has this
    given = parser.parse_args()
    if given.built:
        return call_all(given.seconds, given.only or [], given.built)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        done = watched(folder, [*sys.argv[1:], "--built", name])
        if done:
            print(f"fuzz: status {done} in {(folder / 'call').read_text()}; --only repeats it", file=sys.stderr)
        return 1 if done else 0


def build(folder: Path) -> None:
    """The package with a module that is watched."""
    (folder / "call").write_text("what was not called yet")
    gcc = test_core.compiler("gcc")
    python = [f"-I{ROOT / 'src/ik'}", f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
    (folder / "module").mkdir()
    command = (gcc, *test_core.SANITIZED, *test_core.MODULE_MACROS, *python)
    objects = [*test_core.watched_objects(), *test_core.compile_all(command, test_core.MODULE, str(folder / "module"))]
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "ikcore", folder / "ikcore", ignore=ignored)
    module = folder / "ikcore/_core.abi3.so"
    test_core.run(gcc, *test_core.SANITIZED, "-shared", *objects, "-o", str(module))


def watched(folder: Path, arguments: list[str]) -> int:
    """The status of this program with the sanitizers loaded before Python."""
    libraries = [test_core.run("gcc", f"-print-file-name={name}").strip() for name in ("libasan.so", "libubsan.so")]
    env = {
        **os.environ,
        "LD_PRELOAD": ":".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "tests"), str(ROOT / "benchmarks")]),
        "PYTHONSAFEPATH": "1",
    }
    return subprocess.run([sys.executable, __file__, *arguments], env=env, cwd=folder, check=False).returncode


def call_all(seconds: float, only: list[str], folder: Path) -> int:
    """Always the target that has had the least time."""
    from ikcore import _core

    assert _core.isa() == _core.use_isa(os.environ.get("IKCORE_ISA") or None)
    targets = {name: target for name, target in TARGETS.items() if not only or name == only[0]}
    counts, refused = dict.fromkeys(targets, 0), dict.fromkeys(targets, 0)
    spent = dict.fromkeys(targets, 0.0)
    numbers = {name: iter(map(int, only[1:])) if only[1:] else itertools.count() for name in targets}
    warnings.simplefilter("ignore")
    start = time.monotonic()
    while (now := time.monotonic()) < start + seconds:
        name = min(spent, key=lambda target: spent[target])
        number = next(numbers[name], None)
        if number is None:
            break
        (folder / "call").write_text(f"{name} {number}")
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            targets[name](np.random.default_rng((SEED, *name.encode(), number)), folder)
        except (ValueError, OSError):
            refused[name] += 1
        counts[name] += 1
        spent[name] += time.monotonic() - now
    faulthandler.cancel_dump_traceback_later()
    said = ", ".join(f"{name} {counts[name]:,} ({refused[name]:,} refused)" for name in targets)
    print(f"{sum(counts.values()):,} calls on {_core.isa()}: {said}")
    return 0 if only or all(counts.values()) else 1


# --- what is called ---------------------------------------------------------------------------------------------------

WORDS = [*b"nan -1 0 1e308 -1e-320 99999 2147483648 { } [".split(), b'"', b"\n", b"\0", b"\xff"]


def damaged(random: np.random.Generator, data: bytes) -> bytes:
    """The data with some bytes or words changed, inserted, removed, doubled or truncated; sometimes unchanged."""
    for _ in range(random.integers(0, 6)):
        at, end = sorted(random.integers(0, len(data) + 1, 2).tolist())
        end = min(end, at + int(random.integers(0, 20)))
        word = WORDS[random.integers(len(WORDS))]
        change = random.integers(0, 12)
        if change == 0:
            data = data[:at]
        elif change == 1:
            data = data[:end] + data[at:]
        elif change < 6:
            data = data[:at] + word + data[end:]
        else:
            data = data[:at] + random.bytes(1) + data[at + 1 :]
    return data


def in_file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def made(name: str) -> bytes:
    """A good file of this kind."""
    if name not in _made:
        _made.update(_corpus())
    return _made[name]


_made: dict[str, bytes] = {}


def _corpus() -> dict[str, bytes]:
    import test_gltf

    import ikcore as ik
    from ikcore import samples

    with tempfile.TemporaryDirectory() as name:
        folder, found = Path(name), {}
        clip = samples.walk(seconds=0.5).clip
        clip.write(folder / "walk.bvh")
        ik.Feet.detect(clip.skeleton, clip=samples.walk(seconds=2).clip).save(folder / "feet.json")
        for builder in (test_gltf.everything, test_gltf.all_there_is, test_gltf.scene):
            found[f"{builder.__name__}.gltf"] = test_gltf.gltf(builder(), folder).read_bytes()
            found[f"{builder.__name__}.glb"] = test_gltf.glb(builder(), folder).read_bytes()
        found |= {path.name: path.read_bytes() for path in (folder / "walk.bvh", folder / "feet.json")}
    found["stairs.obj"] = b"".join(
        f"v {x} {0.2 * step} {z}\n".encode() for step in range(6) for z in (step, step + 1) for x in (-1, 1)
    ) + b"".join(f"f {i}/1/1 {i + 1} {i + 3} {i + 2}\nf -1 -2 -4\n".encode() for i in range(1, 22))
    return found


def read_bvh(random: np.random.Generator, folder: Path) -> None:
    import ikcore as ik

    clip = ik.Clip.read(in_file(folder, "a.bvh", damaged(random, made("walk.bvh"))))
    clip.skeleton.forward(clip.pose)
    clip.write(folder / "b.bvh")


def read_gltf(random: np.random.Generator, folder: Path) -> None:
    import ikcore as ik

    name = f"{('everything', 'all_there_is', 'scene')[random.integers(3)]}.{('gltf', 'glb')[random.integers(2)]}"
    path = in_file(folder, f"a{Path(name).suffix}", damaged(random, made(name)))
    if random.integers(2):
        cast_rays(random, ik.Ground.read(path))
    else:
        clip = ik.Clip.read(path, next(iter(ik.gltf.animations(path)), None))
        clip.skeleton.forward(clip.pose)


def read_obj(random: np.random.Generator, folder: Path) -> None:
    import ikcore as ik

    cast_rays(random, ik.Ground.read(in_file(folder, "a.obj", damaged(random, made("stairs.obj")))))


def cast_rays(random: np.random.Generator, ground: Any) -> None:
    count = random.integers(1, 70)
    ground.cast(odd(random, (count, 3), np.float64), odd(random, (count, 3), np.float64))


def load_feet(random: np.random.Generator, folder: Path) -> None:
    import ikcore as ik
    from ikcore import samples

    feet = ik.Feet.load(in_file(folder, "a.json", damaged(random, made("feet.json"))))
    ik.Contacts.detect(samples.walk(seconds=0.5).clip, feet=feet)


def bake(random: np.random.Generator, folder: Path) -> None:
    """A short walk with noise in it, sometimes of numbers that are none, on a mesh with noise in it."""
    import dataclasses

    import ikcore as ik
    from ikcore import samples

    clip = samples.walk(seconds=float(random.uniform(0.1, 2))).clip
    turned, moved = np.array(clip.pose.rotations), np.array(clip.pose.translations)
    turned += random.normal(0, 10.0 ** random.uniform(-6, 0), turned.shape)
    if random.integers(8) == 0:
        moved[random.integers(len(moved))] = odd(random, moved.shape[1:], np.float64)
    heights = random.normal(0, 10.0 ** random.uniform(-3, 0), (6, 8))
    ground = ik.Ground.heights(heights, 0.5, [-1.5, 0, -1])
    ik.bake_feet(dataclasses.replace(clip, pose=ik.Pose(turned, moved)), ground, workers=int(random.integers(1, 3)))


def limits_of_kinds() -> list[Any]:
    """None of one that slides: that not all methods take."""
    import ikcore as ik

    cones = [([1, 0, 1], 0.4), ([1, 1, 0], 0.0), ([0, 0, 1], 0.6)]
    round_ones = [ik.Limit.cone([1, 0, 0], 0.6), ik.Limit.kusudama([1, 0, 0], cones, twist=(-1, 0.5))]
    return [None, ik.Limit.hinge([0, 0, 1], -1, 2), *round_ones, ik.Limit.locked()]


def solve(random: np.random.Generator, folder: Path) -> None:
    """A tree with limits, a few goals, numbers of all kinds, as many items as fill some lanes and not others.

    Every item has its own pose, and many start again.
    """
    import ikcore as ik
    from ikcore import _core

    joints, items = int(random.integers(2, 14)), int(random.integers(1, 70))
    dtype = (np.float32, np.float64)[random.integers(2)]
    parents = [-1, *(int(random.integers(max(0, joint - 3), joint)) for joint in range(1, joints))]
    method = ik.methods()[_core.METHODS[random.integers(len(_core.METHODS))][0]]
    kinds = limits_of_kinds()
    kinds = kinds if "limit" in method.takes else [None]
    limits = [kinds[random.integers(len(kinds))] for _ in range(joints)]
    skeleton = ik.Skeleton(parents, random.normal(size=(joints, 3)) * (random.random((joints, 1)) > 0.1), limits=limits)
    pose = ik.Pose(odd(random, (items, joints, 4), dtype))
    goals = [
        ik.Reach(int(random.integers(1, joints)), odd(random, (items, 3), dtype), weight=odd(random, (items,), dtype))
        for _ in range(random.integers(1, 3) if "second end" in method.takes else 1)
    ]
    options = {"iterations": int(random.integers(0, 30))}
    if "restarts" in method.options:
        options["restarts"] = int(random.integers(0, 4))
    ik.solve(skeleton, pose, goals, method.name, **options)


def closed(random: np.random.Generator, folder: Path) -> None:
    """Limbs and aims on a rope with limits, with scales and without, one item or as many as fill a block and more."""
    import ikcore as ik

    joints, dtype = int(random.integers(6, 9)), (np.float32, np.float64)[random.integers(2)]
    items = [(), (1,), (int(random.integers(2, 150)),)][random.integers(3)]
    kinds = limits_of_kinds()
    limits = [kinds[random.integers(len(kinds))] for _ in range(joints)]
    skeleton = ik.Skeleton(range(-1, joints - 1), random.normal(size=(joints, 3)), limits=limits)
    scales = odd(random, (*items, joints, 3), dtype) if random.integers(2) else None
    pose = ik.Pose(odd(random, (*items, joints, 4), dtype), None, scales)
    at, pole, turned = (odd(random, (*items, size), dtype) for size in (3, 3, 4))
    weight = odd(random, items, dtype)
    if random.integers(2):
        limbs = [
            ik.Reach(2, at, turned, chain=2, weight=weight),
            ik.Reach(5, pole, chain=2, pole=at, offset=[0.1, 0, 0]),
        ]
        ik.solve(skeleton, pose, limbs, "two_bone", twist=float(random.normal()), soften=0.9)
    else:
        rays = [ik.Look(4, [1, 0, 0], at, chain=0, up=[0, 1, 0], pole=pole), ik.Look(1, [0, 1, 1], pole, chain=0)]
        ik.solve(skeleton, pose, rays, "aim")


def forms(random: np.random.Generator, folder: Path) -> None:
    """Solvers in closed form, arrays with and without gaps."""
    import ikcore as ik

    count, dtype = int(random.integers(1, 70)), (np.float32, np.float64)[random.integers(2)]
    arrays = [odd(random, (count, 7), dtype)[:, at : at + 3] for at in random.integers(0, 4, 5)]
    ik.two_bone(*arrays[:4], pole=arrays[4])
    ik.rotations.slerp(odd(random, (count, 4), dtype), odd(random, (count, 4), dtype), 0.3)
    kind = ik.Limit.euler("XYZ", [-1, -0.5, 0], [1, 0.5, 0.2])
    kind.project(odd(random, (count, 4), dtype))


def smooth(random: np.random.Generator, folder: Path) -> None:
    """Curves of all kinds of numbers, bounds that cross among them."""
    import ikcore as ik

    frames, channels = int(random.integers(0, 90)), int(random.integers(1, 20))
    dtype = (np.float32, np.float64)[random.integers(2)]
    wanted, lower, upper = (odd(random, (frames, channels), dtype) for _ in range(3))
    pull = np.abs(odd(random, (frames, 1), dtype)) * 10.0 ** random.uniform(-9, 9)
    fps, tension = 10.0 ** random.uniform(-1, 4), random.choice([0, 10.0 ** random.uniform(-3, 6)])
    given = {"fps": fps, "pull": pull, "tension": tension, "loop": bool(random.integers(2))}
    found = ik.smooth(wanted, lower=lower - 1, upper=upper + random.uniform(-1, 9), **given)
    assert np.isfinite(found.values[:, found.status < ik.Status.NOT_FINITE]).all()


def odd(random: np.random.Generator, shape: Any, dtype: Any) -> Any:
    """Ordinary numbers with a few among them that are not."""
    rare = np.array([0, -0.0, 1e-40, 1e30, -1e30, np.inf, -np.inf, np.nan, 1], dtype)
    plain = random.normal(size=shape).astype(dtype)
    return np.where(random.random(shape) < random.choice([0, 0.01, 0.2]), random.choice(rare, shape), plain)


TARGETS: dict[str, Callable[[np.random.Generator, Path], None]] = {
    "bvh": read_bvh,
    "gltf": read_gltf,
    "obj": read_obj,
    "feet": load_feet,
    "bake": bake,
    "solve": solve,
    "closed": closed,
    "forms": forms,
    "smooth": smooth,
}

if __name__ == "__main__":
    sys.exit(main())
