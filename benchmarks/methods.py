"""Speed and success of the iterative methods: `python benchmarks/methods.py [--quick]`.

`--scoreboard` compares them with installed packages instead (mechanisms.py). As in run.py, all variants of a row run in
turn in one process, and the minimum is kept: only ratios within a row are meaningful. Prints Markdown, for
docs/records/figures.md. The build that counts lanes needs a C compiler and two minutes; `--quick` does not count.
"""

from __future__ import annotations

import functools
import itertools
import platform
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from instructions import build
from mechanisms import MECHANISMS, SEED, TOLERANCE, Floats, Mechanism, Solve, installed
from run import DTYPES, best_isa, isas, processor, share, significant, table
from timing import QUICK, Timing, Variant, load_now, parser_of, round_robin

import ikcore as ik
from ikcore import _core
from ikcore._threads import thread_count

ITEMS = 64 if QUICK else 16_384
BONES = (4,) if QUICK else (4, 10, 30)
FEW = 16 if QUICK else 4096  # number of problems from which two workers should help
SINGLE = 2 if QUICK else 100  # problems for packages, solved one per call
ROUNDS = 1 if QUICK else 9
METHODS = [name for name, *_ in _core.METHODS]


@dataclass(frozen=True)
class Case:
    """A skeleton, start poses and goals."""

    name: str
    skeleton: ik.Skeleton
    pose: ik.Pose
    goals: list[ik.Reach]

    def is_for(self, method: str) -> bool:
        """True if the method supports its limits and all its goals."""
        words = {"limit"} if any(self.skeleton.limits) else set()
        return ik.methods()[method].takes >= words | ({"second end"} if len(self.goals) > 1 else set())

    def solve(self, method: str, count: int = ITEMS, workers: int = 1) -> ik.Solution:
        """Solve the first `count` items as a user does."""
        pose = ik.Pose(self.pose.rotations[:count])
        goals = [ik.Reach(goal.joint, np.asarray(goal.position)[:count]) for goal in self.goals]
        return ik.solve(self.skeleton, pose, goals, method, tolerance=TOLERANCE, workers=workers)

    def variants(self, method: str) -> dict[str, Variant]:
        """Every instruction set, and two workers."""
        found = {isa: self.variant(method, isa) for isa in isas()}
        for count in (FEW, ITEMS):
            found[f"{count} by 1"] = self.variant(method, None, count)
            found[f"{count} by 2"] = self.variant(method, None, count, workers=2)
        return found

    def variant(self, method: str, isa: str | None, count: int = ITEMS, workers: int = 1) -> Variant:
        """One variant."""
        return Variant(functools.partial(self.solve, method, count, workers), functools.partial(_core.use_isa, isa))


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--scoreboard", action="store_true", help="beside packages, on chains, limbs and arms")
    arguments = parser.parse_args()
    load = load_now()
    tables = [scoreboard()] if arguments.scoreboard else [speed_table(), cost_table()]
    best_isa()
    print(f"- {date.today()}, {processor()}, {thread_count(None)} cores, load {load:.1f} before and ", end="")
    print(f"{load_now():.1f} after")
    print(f"- {platform.system()}, ikcore {_core.__version__}, NumPy {np.__version__}, {ROUNDS} rounds, seed {SEED}")
    print("\n".join(itertools.chain.from_iterable(["", *lines] for lines in tables)))


# Speed


def speed_table() -> list[str]:
    """Every method on free chains: time by instruction set, iterations, active lanes, workers."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = None if QUICK else build(Path(folder), "-DIK_LANE_STEPS=ik_lane_steps")
        for method, dtype, bones in itertools.product(METHODS, DTYPES, BONES):
            case = chain(bones, dtype)
            timings = round_robin(case.variants(method), ROUNDS)
            best_isa()
            working = lanes_at_work(program, method, dtype, bones) if program else ""
            rows.append([method, dtype, str(bones), *statistics(case.solve(method)), working, *times(timings)])
    header = ["method", "numbers", "bones", "solved", "iterations, mean / p99", "lanes at work", *isas()]
    return [
        f"{ITEMS:,} chains of unequal bones, gently bent, each its own way; targets in all directions at 0.2 to 0.95 "
        f"of the reach; to {TOLERANCE:.0e} of the reach in at most 200 iterations. Nanoseconds a solve, with the call "
        "from Python (times faster than `scalar`); `lanes at work`: the share of lanes that had an item when a step "
        f"was made, counted by {isas()[-1]} on chains of that kind; by how much two workers are faster than one.",
        "",
        *table([*header, f"2 workers, {FEW:,}", f"2 workers, {ITEMS:,}"], rows),
    ]


def chain(bones: int, dtype: str, limit: ik.Limit | None = None) -> Case:
    """A chain of unequal bones along x, gently bent."""
    random = np.random.default_rng(SEED)
    lengths = random.uniform(0.75, 1.25, bones)
    joints = bones + 1
    offsets = np.zeros((joints, 3))
    offsets[1:, 0] = lengths
    limits = [limit] * bones + [None]
    skeleton = ik.Skeleton(np.arange(joints) - 1, offsets, limits=limits)
    pose = gently_bent(random, joints, dtype)
    targets = (lengths.sum() * directions(random) * random.uniform(0.2, 0.95, (ITEMS, 1))).astype(dtype)
    return Case("", skeleton, pose, [ik.Reach(bones, targets)])


def gently_bent(random: np.random.Generator, joints: int, dtype: str) -> ik.Pose:
    """Poses with every joint rotated by a few degrees."""
    rotations = np.concatenate([np.ones((ITEMS, joints, 1)), random.uniform(-0.05, 0.05, (ITEMS, joints, 3))], -1)
    return ik.Pose(ik.rotations.normalize(rotations).astype(dtype))


def directions(random: np.random.Generator) -> Floats:
    """Unit vectors."""
    lines = random.normal(size=(ITEMS, 3))
    return np.asarray(lines / np.linalg.norm(lines, axis=1, keepdims=True))


def statistics(found: ik.Solution) -> list[str]:
    """The share solved, and the mean iterations."""
    return [
        share(float(np.mean(found.status == 0))),
        f"{found.iterations.mean():.1f} / {np.percentile(found.iterations, 99):.0f}",
    ]


def lanes_at_work(program: Path, method: str, dtype: str, bones: int) -> str:
    """The share of active lanes in the widest vectors."""
    command = [program, isas()[-1], f"f{dtype.removeprefix('float')}", method, str(bones), str(ITEMS)]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    iterations, lane_steps = map(int, done.stdout.split())
    return f"{iterations / lane_steps:.3f}"


def times(timings: dict[str, Timing]) -> list[str]:
    """Nanoseconds per solve, and ratios."""
    scalar = timings["scalar"].best
    cells = [f"{timings[isa].best / ITEMS * 1e9:.0f} ({scalar / timings[isa].best:.1f}x)" for isa in isas()]
    cells += [f"{timings[f'{n} by 1'].best / timings[f'{n} by 2'].best:.2f}x" for n in (FEW, ITEMS)]
    return cells


# Cost of limits, trees and single calls


def cost_table() -> list[str]:
    """Every method with limits and trees, and with one item per call."""
    rows = []
    for method, dtype in itertools.product(METHODS, DTYPES):
        cases = [case for case in costly(dtype) if case.is_for(method)]
        variants = {case.name: case.variant(method, None) for case in cases}
        variants["one a call"] = cases[0].variant(method, None, count=1)
        timings = round_robin(variants, ROUNDS)
        for case in cases:
            best = timings[case.name].best / ITEMS
            ratio = best / (timings[cases[0].name].best / ITEMS)
            numbers = statistics(case.solve(method))
            rows.append([method, dtype, case.name, *numbers, f"{best * 1e9:.0f}", f"{ratio:.1f}"])
        rows.append([method, dtype, "one free chain a call", "", "", f"{timings['one a call'].best * 1e9:.0f}", ""])
    header = ["method", "numbers", "problem", "solved", "iterations, mean / p99", "ns a solve", "of the free chain"]
    return [
        f"Batches of {ITEMS:,} with the widest vectors. Chains have ten bones; `hinges` turn about z and y in turn, by "
        "2 to either side, `cones` lean by 1 and twist by 0.5; the tree is a chest of four bones with two arms of "
        "three. Targets of the limited ones are where random poses within the limits have the tip.",
        "",
        *table(header, rows),
    ]


def costly(dtype: str) -> Iterable[Case]:
    """A free chain of ten, the same with limits, and two arms on a chest."""
    free = chain(10, dtype)
    yield Case("a free chain", free.skeleton, free.pose, free.goals)
    hinges = [ik.Limit.hinge([0, joint % 2, 1 - joint % 2], -2, 2) for joint in range(10)]
    yield limited("hinges", hinges, dtype)
    yield limited("cones", [ik.Limit.cone([1, 0, 0], 1, twist=(-0.5, 0.5))] * 10, dtype)
    parents = np.array([-1, 0, 1, 2, 3, 4, 5, 6, 4, 8, 9])
    offsets = np.zeros((11, 3))
    offsets[1:5, 0], offsets[5:8, 1], offsets[8:11, 1] = 1, 1, -1
    tree = ik.Skeleton(parents, offsets)
    yield reachable("two arms on a chest", tree, None, (7, 10), dtype)


def limited(name: str, limits: list[ik.Limit], dtype: str) -> Case:
    """Ten unit bones along x, every joint with a limit."""
    offsets = np.zeros((11, 3))
    offsets[1:, 0] = 1
    skeleton = ik.Skeleton(np.arange(11) - 1, offsets, limits=[*limits, None])
    return reachable(name, skeleton, limits, (10,), dtype)


def reachable(
    name: str, skeleton: ik.Skeleton, limits: list[ik.Limit] | None, tips: tuple[int, ...], dtype: str
) -> Case:
    """From a random pose within the limits, near rest, to the tips of another pose."""
    random = np.random.default_rng(SEED)
    there = ik.rotations.normalize(
        np.concatenate([np.ones((ITEMS, len(skeleton), 1)), random.uniform(-0.5, 0.5, (ITEMS, len(skeleton), 3))], -1)
    )
    start = gently_bent(random, len(skeleton), "float64").rotations.copy()
    for joint, limit in enumerate(limits or []):
        there[:, joint] = limit.sample(ITEMS, joint)
        start[:, joint] = limit.project(start[:, joint])
    positions = skeleton.forward(ik.Pose(there)).positions.astype(dtype)
    return Case(name, skeleton, ik.Pose(start.astype(dtype)), [ik.Reach(tip, positions[:, tip]) for tip in tips])


# Beside packages


def scoreboard() -> list[str]:
    """Every method and every package on every mechanism."""
    rows, absent = [], []
    for mechanism in MECHANISMS:
        peers, missing = installed(mechanism)
        absent = missing
        rows += own_rows(mechanism) + peer_rows(mechanism, peers)
    return [
        f"Position only, to {TOLERANCE:.0e} of the reach; every problem starts from a random pose within the limits "
        "and has its target where another such pose has the tip. `solved`: the tip is there by matrices of the angles, "
        "and all angles are in range up to whole turns. Doubles, one thread; microseconds a problem. Packages run "
        f"{SINGLE} problems one a call, once; ikcore the same ones that way, and {ITEMS:,} in a batch.",
        "",
        *table(["mechanism", "solver", "solved", "us, one a call", "us, in a batch"], rows),
        *(["", " ".join(absent)] if absent else []),
    ]


def own_rows(mechanism: Mechanism) -> list[list[str]]:
    """The methods of ikcore."""
    skeleton = mechanism.skeleton()
    start, targets = mechanism.problems(ITEMS)
    case = Case("", skeleton, mechanism.pose(start), [ik.Reach(len(skeleton) - 1, targets)])
    rows = []
    for method in filter(case.is_for, METHODS):
        found = case.solve(method)
        solved = share(mechanism.solved(mechanism.angles(found.pose), targets))
        one_a_call = Variant(functools.partial(one_by_one, case, method))
        timings = round_robin({"batch": case.variant(method, None), "single": one_a_call}, ROUNDS)
        single, batch = timings["single"].best / SINGLE, timings["batch"].best / ITEMS
        name = f"ikcore `{method}`"
        rows.append([mechanism.name, name, solved, significant(single * 1e6), significant(batch * 1e6)])
    return rows


def one_by_one(case: Case, method: str) -> None:
    """Solve one item per call."""
    (goal,) = case.goals
    for rotations, target in zip(case.pose.rotations[:SINGLE], np.asarray(goal.position), strict=False):
        ik.solve(case.skeleton, ik.Pose(rotations), [ik.Reach(goal.joint, target)], method, tolerance=TOLERANCE)


def peer_rows(mechanism: Mechanism, peers: dict[str, Solve]) -> list[list[str]]:
    """The packages, one problem per call."""
    start, targets = (array[:SINGLE] for array in mechanism.problems(ITEMS))
    rows = []
    for name, solve in peers.items():
        answers: list[Any] = []

        def run(solve: Solve = solve, answers: list[Any] = answers) -> None:
            answers[:] = [solve(angles, target) for angles, target in zip(start, targets, strict=True)]

        timing = round_robin({name: Variant(run)}, 1)[name]
        solved = share(mechanism.solved(np.array(answers), targets))
        rows.append([mechanism.name, name, solved, significant(timing.best / SINGLE * 1e6), ""])
    return rows


if __name__ == "__main__":
    main()
