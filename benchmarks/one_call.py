"""What one limb a call costs, beside what it must: `python benchmarks/one_call.py [--quick]`.

Everything in one process, all variants in turn every round, the minimum kept: only ratios within a run count. Prints
Markdown, for docs/figures.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from problems import arrays_of, random_problems
from timing import Variant, round_robin

import ikcore as ik
from ikcore import _core

LIMBS = 256  # different ones, few enough to stay in the cache, as what a caller has just computed does
NOT_GIVEN = 9  # optional operands of the gufunc after pole
GUFUNC = "the bare gufunc, arrays"
FLAGS = ["-std=c17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-shared", "-fPIC"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="9 rounds instead of 45")
    rounds = 9 if parser.parse_args().quick else 45
    with tempfile.TemporaryDirectory() as folder:
        timings = round_robin(variants(floor_module(folder)), rounds)
    gufunc = timings[GUFUNC].best
    print("| one limb in doubles a call, with a pole | ns | of the bare gufunc | median / minimum |")
    print("| --- | --- | --- | --- |")
    for name, timing in timings.items():
        ns = timing.best / LIMBS * 1e9
        print(f"| {name} | {ns:.0f} | {timing.best / gufunc:.2f} | {timing.spread:.2f} |")


def floor_module(folder: str) -> ModuleType:
    """Compile floor.c with the scalar kernel and import it."""
    here, library = Path(__file__).parent, Path(folder) / "floor.so"
    core = here.parent / "src/ik"
    sources = [here / "floor.c", core / "isa_scalar_f64.c"]
    include: list[str | Path] = ["-I", sysconfig.get_path("include"), "-I", core]
    subprocess.run([os.environ.get("CC", "cc"), *FLAGS, *include, *sources, "-o", library], check=True)
    spec = importlib.util.spec_from_file_location("floor", library)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def variants(floor: ModuleType) -> dict[str, Variant]:
    """Every way to solve the same limbs, one a call."""
    rows = list(zip(*arrays_of(random_problems(LIMBS, "float64")), strict=True))
    tuples = [[tuple(row.tolist()) for row in item] for item in rows]
    out = ik.Limb.empty(())
    outputs = tuple(getattr(out, name) for name in ik.Limb.__match_args__)
    names = {"ik": ik, "floor": floor, "nothing": nothing, "gufunc": _core.two_bone, "out": out}
    names |= {"none": (np.empty(0),) * NOT_GIVEN, "outputs": outputs}

    def calling(statement: str, items: list[Any]) -> Variant:
        """A loop over the items, as one writes it."""
        scope: dict[str, Any] = names | {"items": items}
        exec(f"def run():\n for root, mid, end, target, pole in items:\n  {statement}", scope)
        return Variant(scope["run"])

    arguments = "(root, mid, end, target, pole=pole)"
    return {
        "`two_bone`, tuples": calling(f"ik.two_bone{arguments}", tuples),
        "`two_bone`, lists": calling(f"ik.two_bone{arguments}", [list(map(list, item)) for item in tuples]),
        "`two_bone`, 1-D arrays": calling(f"ik.two_bone{arguments}", rows),
        "`two_bone`, tuples, `.positions` read": calling(f"ik.two_bone{arguments}.positions", tuples),
        "`two_bone`, tuples, `.root` and `.mid` read": calling(f"x = ik.two_bone{arguments}; x.root; x.mid", tuples),
        "`two_bone`, arrays, `out=`": calling("ik.two_bone(root, mid, end, target, pole=pole, out=out)", rows),
        GUFUNC: calling("gufunc(root, mid, end, target, pole, *none)", rows),
        "the bare gufunc, arrays and outputs": calling("gufunc(root, mid, end, target, pole, *none, *outputs)", rows),
        "a Python function of these arguments that does nothing": calling(f"nothing{arguments}", tuples),
        "floor: a C function that does nothing": calling(f"floor.nothing{arguments}", tuples),
        "floor: that reads the tuples": calling(f"floor.unpack{arguments}", tuples),
        "floor: that reads the tuples and runs the scalar kernel": calling(f"floor.solve{arguments}", tuples),
        "the loop alone": calling("pass", tuples),
    }


def nothing(
    root: Any,
    mid: Any,
    end: Any,
    target: Any,
    *,
    pole: Any = None,
    bend: Any = None,
    hinge: Any = None,
    twist: Any = None,
    weight: Any = None,
    soften: Any = None,
    stretch_start: Any = None,
    stretch_max: Any = None,
    min_bend: Any = None,
    max_bend: Any = None,
    out: Any = None,
    workers: int = 1,
    strict: bool = False,
) -> None:
    """What a function in Python with the signature of `two_bone` costs."""


if __name__ == "__main__":
    main()
