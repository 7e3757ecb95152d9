"""Jacobian-based and gradient methods: success, tracking accuracy, and speed-up by vector instructions.

Prints Markdown, for docs/methods/jacobians.md, docs/methods/lbfgsb.md and docs/records/figures.md.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
from heuristics import rope, targets
from methods import chain
from numpy.typing import NDArray
from run import DTYPES, best_isa, isas, share, significant, table
from timing import QUICK, Variant, parser_of, round_robin

import ikcore as ik

Array = NDArray[np.float64]
METHODS = ("transpose", "pinv", "svf", "sdls", "dls")  # lbfgsb stores steps, and newton has curvature
STEPS = 50 if QUICK else 600
LAST = STEPS // 2
WIDE = 64 if QUICK else 4096  # chains
MANY = ("dls", "pinv", "svf", "sdls", "sns")
CROWDED, EACH = 64, 6  # ropes, and iterations of each


def main() -> None:
    """The tables, ready for Markdown."""
    parser_of(__doc__).parse_args()
    head = ["ten links", "solved", "iterations", "as published: solved", "iterations", "us"]
    print("\n".join(table(head, list(reached()))))
    print()
    head = ["a target on a circle", "within reach: behind", "largest turn", "beyond: behind", "largest turn"]
    print("\n".join(table(head, list(followed()))))
    print()
    print("\n".join(table(["ten bones", "numbers", *isas()], list(widened()))))
    print()
    print("\n".join(table(["an iteration with", *(f"`{name}`" for name in MANY)], list(crowded()))))


def reached() -> Iterator[list[str]]:
    """From nearly straight, to 1e-5 of the reach; microseconds per batch, on one thread."""
    skeleton, start = rope(10)
    for where, near, far in (("anywhere", 0, 0.95), ("near full reach", 0.95, 0.999)):
        goals = [ik.Reach(10, targets(10, near, far))]
        calls = {
            name: Variant(functools.partial(ik.solve, skeleton, start, goals, name))
            for name in (*METHODS, "newton", "lbfgsb")
        }
        times = round_robin(calls, 5, clock=process_time)
        for name in calls:
            row = [f"{where}: `{name}`"]
            for options in ({}, {"textbook": True}):
                found = ik.solve(skeleton, start, goals, name, **options)
                row += [share(float(np.mean(found.status == 0))), significant(float(np.mean(found.iterations)))]
            yield [*row, significant(1e6 * times[name].best / found.status.size)]


def followed() -> Iterator[list[str]]:
    """Distances and the largest joint rotation of a chain of four, with one update per frame, as published."""
    given: dict[str, dict[str, Any]] = {"dls": {"damping": 1}}
    for name in METHODS:
        row = [f"`{name}`"]
        for reach in (3.0, 4.5):
            off, turned = path(name, reach, given.get(name, {}))
            row += [significant(off), f"{np.degrees(turned):.2g}°"]
        yield row


def path(method: str, reach: float, options: dict[str, Any]) -> tuple[float, float]:
    """Mean error of the tip, and the largest rotation in one frame, over the second half of a circle."""
    skeleton, pose = rope(4)
    off, turned = [], []
    for frame in range(STEPS):
        angle = 2 * np.pi * frame / 600
        goal = ik.Reach(4, [reach * np.sin(angle), reach * np.cos(angle), 0.3])
        found = ik.solve(skeleton, pose, [goal], method, iterations=1, textbook=True, **options)
        turns = ik.rotations.multiply(ik.rotations.conjugate(pose.rotations), found.pose.rotations)
        off.append(float(found.error) - max(0, np.hypot(reach, 0.3) - 4))
        turned.append(np.linalg.norm(ik.rotations.log(turns), axis=-1).max())
        pose = found.pose
    return float(np.mean(off[LAST:])), float(np.max(turned[LAST:]))


def widened() -> Iterator[list[str]]:
    """Nanoseconds per solve by every instruction set, and the speed-up over scalar code."""
    for name in (*METHODS, "sns", "gauss_seidel", "lbfgsb"):
        for dtype in DTYPES:
            case = chain(10, dtype)
            times = round_robin({isa: case.variant(name, isa, WIDE) for isa in isas()}, 9, clock=process_time)
            best_isa()
            cells = [
                f"{times[isa].best / WIDE * 1e9:.0f} ({times['scalar'].best / times[isa].best:.1f}x)" for isa in isas()
            ]
            yield [f"`{name}`", dtype, *cells]


def crowded() -> Iterator[list[str]]:
    """Microseconds per iteration of a rope of sixty bones with several goals of three rows each."""
    rng = np.random.default_rng(0)
    skeleton = ik.Skeleton.chain(np.c_[np.arange(61.0), np.zeros((61, 2))])
    there = skeleton.forward(ik.Pose(ik.rotations.exp(rng.normal(scale=0.15, size=(CROWDED, 61, 3))))).positions
    start = ik.Pose(ik.rotations.exp(np.tile([0, 0, 0.02], (CROWDED, 61, 1))))
    for count in (1, 2, 4, 8, 16):
        ends = np.linspace(60 // count, 60, count).astype(int)
        goals = [ik.Reach(int(end), there[:, end]) for end in ends]
        given: dict[str, Any] = {"iterations": EACH, "tolerance": 0, "textbook": True}
        calls = {name: Variant(functools.partial(ik.solve, skeleton, start, goals, name, **given)) for name in MANY}
        times = round_robin(calls, 5, clock=process_time)
        yield [f"{3 * count} rows", *(significant(1e6 * times[name].best / CROWDED / EACH) for name in MANY)]


if __name__ == "__main__":
    main()
