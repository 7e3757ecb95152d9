"""Figures for the pages of the geometric methods: rolling and long chains, springs, accuracy of a circle.

Prints Markdown, for the pages ccd, spring and circle in docs/methods, and the behaviour near full reach for
docs/records/figures.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import share, significant, table
from timing import QUICK, Variant, parser_of, round_robin
from which import angles

import ikcore as ik

Array = NDArray[np.float64]
SEED = 20261123
ITEMS = 20 if QUICK else 200
TOLERANCE = 1e-5
TOUCH = 0.1  # in bone lengths
SWEEPS, ROUNDS = 20, 5
BONES = (5, 10) if QUICK else (5, 10, 20, 40)


def main() -> None:
    """The tables, ready for Markdown."""
    parser_of(__doc__).parse_args()
    head = ["ten links", "solved", "iterations", "bones that touch", "root turns", "last joint turns"]
    print("\n".join(table(head, list(rolled()))))
    print()
    head = [
        "`ccd`, bones",
        "",
        "anywhere: solved",
        "sweeps",
        "near full reach: solved",
        "sweeps",
        "ns a sweep and bone",
    ]
    print("\n".join(table(head, list(lengthened()))))
    print()
    print("\n".join(table(["spring", "iterations, mean"], list(sprung()))))
    print()
    print("\n".join(table(["circle, bones", "numbers", "iterations, mean / most", "largest error"], list(circled()))))
    print()
    print("\n".join(table(["short of the reach by", "bones", "`fabrik`", "`follow`"], list(edges()))))


def rope(bones: int, dtype: Any = np.float64) -> tuple[ik.Skeleton, ik.Pose]:
    """Unit links along y, each rotated by slightly over a degree, as in papers."""
    skeleton = ik.Skeleton.chain(np.outer(np.arange(bones + 1), [0, 1, 0]))
    turn = ik.rotations.from_axis_angle([0, 0, 1], -0.02)
    return skeleton, ik.Pose(np.tile(turn, (bones + 1, 1)).astype(dtype))


def targets(bones: int, near: float, far: float) -> Array:
    """Targets in all directions, at distances that fill the shell uniformly."""
    random = np.random.default_rng(SEED)
    ways = random.normal(size=(ITEMS, 3))
    radius = bones * np.cbrt(random.uniform(near**3, far**3, (ITEMS, 1)))
    return np.asarray(radius * ways / np.linalg.norm(ways, axis=-1, keepdims=True))


def rolled() -> Iterator[list[str]]:
    """CCD in both directions, compared with other methods."""
    skeleton, start = rope(10)
    ways: list[tuple[str, str, dict[str, bool]]] = [
        ("textbook", "ccd", {"textbook": True}),
        ("from the tip", "ccd", {}),
        ("from the root", "ccd", {"start_from_tail": False}),
        ("`fabrik`", "fabrik", {}),
        ("`dls`", "dls", {}),
    ]
    for where, near, far in (("anywhere", 0, 0.95), ("near full reach", 0.95, 0.999)):
        for name, method, options in ways:
            goals = [ik.Reach(10, targets(10, near, far))]
            found = ik.solve(skeleton, start, goals, method, tolerance=TOLERANCE, iterations=1000, **options)
            turned = np.degrees(angles(start.rotations, found.pose.rotations))
            yield [
                f"{where}: {name}",
                share(float(np.mean(found.status == 0))),
                significant(float(np.mean(found.iterations))),
                share(float(np.mean(touching(skeleton, found.pose)))),
                f"{turned[:, 0].mean():.0f}°",
                f"{turned[:, 9].mean():.0f}°",
            ]


def lengthened() -> Iterator[list[str]]:
    """CCD on chains of any length, with its default iterations, and the cost of a sweep."""
    for bones in (10, 30) if QUICK else (10, 30, 100, 300, 1000):
        skeleton, start = rope(bones)
        for way, from_tail in (("from the tip", True), ("from the root", False)):
            cells = []
            for near, far in ((0.2, 0.95), (0.98, 0.9999)):
                goals = [ik.Reach(bones, targets(bones, near, far))]
                found = ik.ccd(skeleton, start, goals, tolerance=TOLERANCE, start_from_tail=from_tail)
                cells += [share(float(np.mean(found.status == 0))), significant(float(np.mean(found.iterations)))]
            goals = [ik.Reach(bones, targets(bones, 0.2, 0.95))]  # targets without a limit of iterations
            endless = partial(ik.ccd, skeleton, start, goals, tolerance=0, iterations=SWEEPS, start_from_tail=from_tail)
            best = round_robin({"": Variant(endless)}, ROUNDS)[""].best
            yield [str(bones), way, *cells, significant(1e9 * best / (ITEMS * SWEEPS * bones))]


def touching(skeleton: ik.Skeleton, pose: ik.Pose) -> NDArray[np.bool_]:
    """True for every chain in which two bones that are not neighbours come closer than a tenth of their length."""
    joints = skeleton.forward(pose).positions
    shares = np.linspace(0, 1, 11)[:, None]
    along = joints[:, :-1, None] * (1 - shares) + joints[:, 1:, None] * shares  # (items, bones, points, 3)
    found = np.zeros(len(joints), bool)
    for first in range(10):
        for second in range(first + 2, 10):
            apart = along[:, first, :, None] - along[:, second, None]
            found |= (np.linalg.norm(apart, axis=-1) < TOUCH).any(axis=(1, 2))
    return found


def sprung() -> Iterator[list[str]]:
    """Results by number of bones, and by damping."""
    for bones in BONES:
        yield [f"{bones} bones", sweeps(bones)]
    for damping in (0.1, 0.25, 0.75):
        yield [f"10 bones, damping {damping}", sweeps(10, damping=damping)]


def sweeps(bones: int, damping: float = 0.4) -> str:
    """Iterations to the tolerance, with the same damping unless another is given."""
    skeleton, start = rope(bones)
    goals = [ik.Reach(bones, targets(bones, 0, 0.95))]
    found = ik.solvers.spring(skeleton, start, goals, iterations=100_000, damping=damping)
    assert not np.any(found.status)
    return significant(float(np.mean(found.iterations)))


def circled() -> Iterator[list[str]]:
    """Error relative to the reach, by forward kinematics in doubles."""
    for bones in (10, 100) if QUICK else (10, 100, 1000):
        for dtype in (np.float32, np.float64):
            skeleton, start = rope(bones, dtype)
            wanted = targets(bones, 0, 1).astype(dtype)
            found = ik.solvers.circle(skeleton, start, [ik.Reach(bones, wanted)])
            tips = skeleton.forward(ik.Pose(found.pose.rotations.astype(float))).positions[:, -1]
            off = np.linalg.norm(tips - wanted, axis=-1).max() / bones
            counts = found.iterations
            yield [str(bones), np.dtype(dtype).name, f"{counts.mean():.1f} / {counts.max()}", f"{off:.0e}"]


def edges() -> Iterator[list[str]]:
    """Iterations, and the share solved where it is below 1."""
    for short in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        for bones in (10, 100):
            skeleton, start = rope(bones)
            goals = [ik.Reach(bones, targets(bones, 1 - short, 1 - short))]
            found = [ik.solve(skeleton, start, goals, method) for method in ("fabrik", "follow")]
            cells = [
                significant(float(np.mean(each.iterations))) + (f", {share(solved)} solved" if solved < 1 else "")
                for each in found
                for solved in [float(np.mean(each.status == 0))]
            ]
            yield [f"{short:.0e}", str(bones), *cells]


if __name__ == "__main__":
    main()
