"""Cost of one limb or one pose per call, compared with the minimum: `python benchmarks/one_call.py [--quick]`.

Everything runs in one process, with all variants in turn every round, and the minimum is kept. Only ratios within a run
are meaningful. Prints Markdown, for docs/records/figures.md.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from instructions import cc
from problems import arrays_of, random_problems
from timing import Timing, Variant, parser_of, round_robin

import ikcore as ik
from ikcore import _core
from ikcore.solving.batch import CoreOutput, checked_tasks

LIMBS = 256  # different limbs, few enough to stay in the cache, as just-computed data does
NOT_GIVEN = 9  # optional operands of the gufunc after pole
GUFUNC = "the bare gufunc, arrays"
ROUNDS = 45
POSES, BONES = 32, 10  # fewer, because they take longer and must fit between two interruptions
KERNEL = "the solve alone: `fabrik` in the core, arrays made before"
FLAGS = ["-std=c17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-shared", "-fPIC"]


def main() -> None:
    """Measure and print."""
    parser_of(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        limbs = round_robin(variants(floor_module(folder)), ROUNDS)
    print_table("one limb in doubles a call, with a pole", "the bare gufunc", LIMBS, limbs, GUFUNC)
    poses = round_robin(pose_variants(), ROUNDS)
    print()
    print_table("one pose in doubles a call, one goal", "the solve alone", POSES, poses, KERNEL)


def print_table(what: str, beside: str, items: int, timings: dict[str, Timing], base: str) -> None:
    """One row per variant, for one item."""
    print(f"| {what} | ns | of {beside} | median / minimum |")
    print("| --- | --- | --- | --- |")
    for name, timing in timings.items():
        ns = timing.best / items * 1e9
        print(f"| {name} | {ns:.0f} | {timing.best / timings[base].best:.2f} | {timing.spread:.2f} |")


def floor_module(folder: str) -> ModuleType:
    """Compile floor.c with the scalar kernel and import it."""
    here, library = Path(__file__).parent, Path(folder) / "floor.so"
    core = here.parent / "src/ik"
    sources = [here / "floor.c", core / "instances/forms_scalar_f64.c"]
    include: list[str | Path] = ["-I", sysconfig.get_path("include"), "-I", core]
    subprocess.run([*cc(), *FLAGS, *include, *sources, "-o", library], check=True)
    spec = importlib.util.spec_from_file_location("floor", library)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def variants(floor: ModuleType) -> dict[str, Variant]:
    """All ways to solve the same limbs, one per call."""
    rows = list(zip(*arrays_of(random_problems(LIMBS, "float64")), strict=True))
    tuples = [[tuple(row.tolist()) for row in item] for item in rows]
    out = ik.closed_forms.LimbSolution.empty(())
    outputs = tuple(getattr(out, name) for name in ik.closed_forms.LimbSolution.__match_args__)
    names = {"ik": ik, "floor": floor, "nothing": nothing, "gufunc": _core.two_bone, "out": out}
    names |= {"none": (np.empty(0),) * NOT_GIVEN, "outputs": outputs}

    def calling(statement: str, items: list[Any]) -> Variant:
        """A loop over the items, as in user code."""
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


def pose_variants() -> dict[str, Variant]:
    """All ways to solve the same poses, one per call: of a gently bent chain, and of a limb with a pole."""
    random = np.random.default_rng(20261121)
    chain = ik.Skeleton.chain(np.cumsum(random.normal([1, 0, 0], 0.2, (BONES + 1, 3)), axis=0))
    limb = ik.Skeleton.chain([[0.0, 0, 0], [0, -0.5, 0.01], [0.0, -1, 0]])
    away = ik.rotations.rotate(random.normal(size=(POSES, 4)), [1, 0, 0]) * random.uniform(0.2, 0.95, (POSES, 1))
    span = chain.reach(BONES)
    targets, near = list(span.root + away * span.outer), list(away)
    rotations, pole = chain.rest.rotations, [0.0, 0, 9]
    solvers = {method: ik.Solver(chain, [ik.Reach(BONES, position=...)], method) for method in ("fabrik", "dls")}
    limb_solver = ik.Solver(limb, [ik.Reach(2, position=..., chain=2, pole=pole)], "two_bone")
    alone, operands = solve_alone(chain, targets)

    def calling(call: Callable[[Any], object], items: list[Any]) -> Variant:
        """A loop over the items."""
        return Variant(lambda: [call(item) for item in items])

    return {
        "`fabrik`, ten bones": calling(lambda at: ik.fabrik(chain, chain.rest, [ik.Reach(BONES, at)]), targets),
        "`dls`, ten bones": calling(lambda at: ik.dls(chain, chain.rest, [ik.Reach(BONES, at)]), targets),
        "`fabrik` by a `Solver`": calling(lambda at: solvers["fabrik"](rotations, at), targets),
        "`dls` by a `Solver`": calling(lambda at: solvers["dls"](rotations, at), targets),
        KERNEL: calling(alone, operands),
        "`two_bone` of a skeleton": calling(
            lambda at: ik.solve(limb, limb.rest, [ik.Reach(2, at, chain=2, pole=pole)], "two_bone"), near
        ),
        "`two_bone` by a `Solver`": calling(lambda at: limb_solver(limb.rest.rotations, at), near),
        "`skeleton.forward`, ten bones": calling(lambda _: chain.forward(chain.rest), targets),
        "`Pose`": calling(lambda _: ik.Pose(rotations), targets),
        "the loop alone": calling(lambda _: None, targets),
    }


def solve_alone(chain: ik.Skeleton, targets: list[Any]) -> tuple[Callable[[Any], None], list[Any]]:
    """The core's call for `fabrik`, and its operands for every target, prepared before."""
    reaches = [checked_tasks("fabrik", chain, chain.rest, [ik.Reach(BONES, at)]) for at in targets]
    found, options = CoreOutput.empty((), chain.rest.rotations), (None,) * len(_core.OPTIONS)

    def solve(goals: Any) -> None:
        _core.solve("fabrik", chain._data, goals, chain.rest.rotations, None, None, options, found)

    return solve, [tuple(task.for_core() for task in tasks) for tasks in reaches]


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
    influence: Any = None,
    soften: Any = None,
    stretch_start: Any = None,
    stretch_max: Any = None,
    min_bend: Any = None,
    max_bend: Any = None,
    out: Any = None,
    workers: int = 1,
    strict: bool = False,
) -> None:
    """The cost of a Python function with the signature of `two_bone`."""


if __name__ == "__main__":
    main()
