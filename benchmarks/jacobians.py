"""The figures on the page of the methods that go by the Jacobian: what they reach, and how closely they follow.

Prints Markdown, for docs/jacobians.md.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from heuristics import rope, targets
from numpy.typing import NDArray
from run import share, significant, table
from timing import QUICK, Variant, parser_of, round_robin

import ikcore as ik

Array = NDArray[np.float64]
METHODS = ("transpose", "pinv", "svf", "sdls", "dls")  # a step is all that they know: lbfgsb remembers some
STEPS = 50 if QUICK else 600
LAST = STEPS // 2


def main() -> None:
    """The tables, ready for Markdown."""
    parser_of(__doc__).parse_args()
    head = ["ten links", "solved", "iterations", "as published: solved", "iterations", "us"]
    print("\n".join(table(head, list(reached()))))
    print()
    head = ["a target on a circle", "within reach: behind", "largest turn", "beyond: behind", "largest turn"]
    print("\n".join(table(head, list(followed()))))


def reached() -> Iterator[list[str]]:
    """From almost straight, to 1e-5 of the reach; microseconds of a batch, on one thread."""
    skeleton, start = rope(10)
    for where, near, far in (("anywhere", 0, 0.95), ("near full reach", 0.95, 0.999)):
        goals = [ik.Reach(10, targets(10, near, far))]
        calls = {
            name: Variant(functools.partial(ik.solve, skeleton, start, goals, name)) for name in (*METHODS, "lbfgsb")
        }
        times = round_robin(calls, 5)
        for name in calls:
            row = [f"{where}: `{name}`"]
            for options in ({}, {"textbook": True}):
                found = ik.solve(skeleton, start, goals, name, **options)
                row += [share(float(np.mean(found.status == 0))), significant(float(np.mean(found.iterations)))]
            yield [*row, significant(1e6 * times[name].best / found.status.size)]


def followed() -> Iterator[list[str]]:
    """One update a frame, as published, of a chain of four; distances of all frames and the largest turn of a joint."""
    given: dict[str, dict[str, Any]] = {"dls": {"damping": 1}}
    for name in METHODS:
        row = [f"`{name}`"]
        for reach in (3.0, 4.5):
            off, turned = path(name, reach, given.get(name, {}))
            row += [significant(off), f"{np.degrees(turned):.2g}°"]
        yield row


def path(method: str, reach: float, options: dict[str, Any]) -> tuple[float, float]:
    """How far the tip is off, on the average, and the largest turn in one frame, over the second half of a circle."""
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


if __name__ == "__main__":
    main()
