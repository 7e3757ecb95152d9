"""Robots with target positions and rotations of the hand: every method with restarts, and robotics packages.

Every problem starts from a random pose within limits, with the hand target from another such pose. The tolerance is
1e-6 in metres and radians. Packages that are not installed are left out (robot_packages.py). Prints Markdown, for
docs/records/figures.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from robot_packages import Solve, installed
from run import processor, share, significant, table
from timing import QUICK, Variant, load_now, parser_of, round_robin

import ikcore as ik

SEED = 20261122
ITEMS = 10 if QUICK else 600
FEW = 3 if QUICK else 60  # problems solved one per call, and for methods slower than a millisecond each
ROUNDS = 1 if QUICK else 2
TOLERANCE = 1e-6
# Relative to the reach, which is below 2; and radians.
OPTIONS: dict[str, Any] = {"tolerance": 5e-7, "rotation_tolerance": 9e-7, "restarts": 1 if QUICK else 100}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Robot:
    """A robot as its maker defines it: a, d, alpha (modified Denavit and Hartenberg) and range in degrees."""

    name: str
    parameters: tuple[tuple[float, float, float], ...]
    ranges: tuple[tuple[float, float], ...]

    def skeleton(self) -> ik.Skeleton:
        """A skeleton whose joints rotate about z of their own frame at the end of the bone."""
        a, d, alpha = np.array(self.parameters).T
        zero = np.zeros_like(a)
        rests = ik.rotations.from_axis_angle([1, 0, 0], np.radians(alpha))
        offsets = np.stack([a, zero, zero], axis=-1) + ik.rotations.rotate(rests, np.stack([zero, zero, d], axis=-1))
        limits = [ik.Limit.hinge([0, 0, 1], *np.radians(span)) for span in self.ranges]
        return ik.Skeleton(np.arange(len(a)) - 1, offsets, rests, limits=limits)

    def problems(self) -> tuple[Floats, Floats]:
        """Start angles, and hand targets as matrices."""
        low, high = np.radians(self.ranges).T
        start, there = np.random.default_rng(SEED).uniform(low, high, (2, ITEMS, len(low)))
        return start, self.hands(there)

    def hands(self, angles: Floats) -> Floats:
        """Hand transforms for these angles, by matrices, independent of any solver."""
        at = np.broadcast_to(np.eye(4), (len(angles), 4, 4))
        for (a, d, alpha), angle in zip(self.parameters, angles.T, strict=True):
            cos, sin, c, s = np.cos(angle), np.sin(angle), np.cos(np.radians(alpha)), np.sin(np.radians(alpha))
            zero, one = np.zeros_like(angle), np.ones_like(angle)
            rows = [
                [cos, -sin, zero, a * one],
                [c * sin, c * cos, -s * one, -s * d * one],
                [s * sin, s * cos, c * one, c * d * one],
                [zero, zero, zero, one],
            ]
            at = at @ np.moveaxis(np.array(rows), -1, 0)
        return np.asarray(at)

    def solved(self, angles: Floats, wanted: Floats) -> float:
        """The share with the hand at its target, and all angles in range except for whole turns."""
        found = self.hands(angles)
        away = np.linalg.norm(found[:, :3, 3] - wanted[:, :3, 3], axis=-1)
        off = np.swapaxes(wanted[:, :3, :3], -1, -2) @ found[:, :3, :3]
        skew = off - np.swapaxes(off, -1, -2)
        turned = np.linalg.norm([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=0) / 2  # the sine
        same = np.trace(off, axis1=-2, axis2=-1) > 0
        low, high = np.radians(self.ranges).T
        middle = (low + high) / 2
        wrapped = angles - 2 * np.pi * np.round((angles - middle) / (2 * np.pi))
        inside = ((wrapped >= low - 1e-9) & (wrapped <= high + 1e-9)).all(axis=-1)
        return float(np.mean((away <= TOLERANCE) & (turned <= TOLERANCE) & same & inside))


ROBOTS = (
    Robot(
        "Puma 560",
        ((0, 0, 0), (0, 0, -90), (0.4318, -0.15005, 0), (0.0203, 0.4318, -90), (0, 0, 90), (0, 0, -90)),
        ((-160, 160), (-45, 225), (-225, 45), (-110, 170), (-100, 100), (-266, 266)),
    ),
    Robot(
        "UR5",
        ((0, 0.08916, 0), (0, 0, 90), (-0.425, 0, 0), (-0.39225, 0.10915, 0), (0, 0.09465, 90), (0, 0.0823, -90)),
        ((-180, 180),) * 6,
    ),
    Robot(
        "Panda",
        (
            *((0, 0.333, 0), (0, 0, -90), (0, 0.316, 90), (0.0825, 0, 90), (-0.0825, 0.384, -90)),
            *((0, 0, 90), (0.088, 0, 90)),
        ),
        ((-166, 166), (-101, 101), (-166, 166), (-176, -4), (-166, 166), (-1, 215), (-166, 166)),
    ),
    Robot(
        "LBR iiwa 14",
        ((0, 0.36, 0), (0, 0, -90), (0, 0.42, 90), (0, 0, 90), (0, 0.4, -90), (0, 0, -90), (0, 0.126, 90)),
        (*((-170, 170), (-120, 120)) * 3, (-175, 175)),
    ),
    Robot(
        "LWR 4+",
        ((0, 0.31, 0), (0, 0, 90), (0, 0.4, -90), (0, 0, -90), (0, 0.39, 90), (0, 0, 90), (0, 0.078, -90)),
        (*((-170, 170), (-120, 120)) * 3, (-170, 170)),
    ),
    Robot(  # its arm hangs down when the maker's angles are 0 except for the second, which is 90
        "Fetch",
        (
            *((0, 0.06, 0), (0.117, 0, -90), (0, 0.352, 90), (0, 0, -90), (0, 0.3215, 90)),
            *((0, 0, -90), (0, 0.1385, 90)),
        ),
        ((-92, 92), (20, 177), (-180, 180), (-129, 129), (-180, 180), (-125, 125), (-180, 180)),
    ),
)


def main() -> None:
    """Print one table in Markdown."""
    parser_of(__doc__).parse_args()
    load, rows = load_now(), dict[str, list[str]]()
    for robot in ROBOTS:
        for solver, cell in [*own_cells(robot), *package_cells(robot)]:
            rows.setdefault(solver, [solver]).append(cell)
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(
        f"- {ITEMS:,} problems in a batch, {FEW} of what takes over a millisecond, and {FEW} one a call; one thread,"
        f" doubles, {ROUNDS} rounds, seed {SEED}\n"
    )
    print("Solved, microseconds one a call, and in brackets in a batch.\n")
    print("\n".join(table(["solver", *(robot.name for robot in ROBOTS)], list(rows.values()))))


def own_cells(robot: Robot) -> Iterator[tuple[str, str]]:
    """Results of every method that supports limits and hand rotations."""
    for name, method in ik.methods().items():
        if "restarts" in method.options and method.takes >= {"Reach rotation", "limit"}:
            yield f"`{name}`", own_cell(robot, name)


def own_cell(robot: Robot, name: str) -> str:
    """Results of a prepared solver, and of a batch."""
    skeleton, (start, wanted) = robot.skeleton(), robot.problems()
    turns = ik.rotations.from_axis_angle([0, 0, 1], start)
    rotations = ik.rotations.multiply(skeleton.rest.rotations, turns)
    hand, at, turned = len(skeleton) - 1, wanted[:, :3, 3], ik.rotations.from_matrix(wanted[:, :3, :3])
    solver = ik.Solver(skeleton, [ik.Reach(hand, position=..., rotation=...)], name, **OPTIONS)

    def batch(count: int) -> ik.Solution:
        goal = ik.Reach(hand, at[:count], turned[:count])
        return ik.solve(skeleton, ik.Pose(rotations[:count]), [goal], name, **OPTIONS)

    def single() -> None:
        for item in range(FEW):
            solver(rotations[item], at[item], turned[item])

    begun = perf_counter()
    batch(FEW)
    count = ITEMS if perf_counter() - begun < 1e-3 * FEW else FEW
    moved = ik.rotations.multiply(ik.rotations.conjugate(skeleton.rest.rotations), batch(count).pose.rotations)
    solved = robot.solved(2 * np.arctan2(moved[..., 3], moved[..., 0]), wanted[:count])
    timings = round_robin({"batch": Variant(lambda: batch(count)), "single": Variant(single)}, ROUNDS)
    one, many = (significant(t * 1e6) for t in (timings["single"].best / FEW, timings["batch"].best / count))
    return f"{share(solved)}, {one} ({many})"


def package_cells(robot: Robot) -> Iterator[tuple[str, str]]:
    """Results of installed packages, one problem per call."""
    start, wanted = (given[:FEW] for given in robot.problems())
    for name, solve in installed(robot.parameters, robot.ranges, TOLERANCE).items():

        def single(solve: Solve = solve) -> Floats:
            return np.array([solve(angles, at) for angles, at in zip(start, wanted, strict=True)])

        solved = robot.solved(single(), wanted)
        time = round_robin({"single": Variant(single)}, ROUNDS)["single"].best / FEW
        yield name, f"{share(solved)}, {significant(time * 1e6)}"


if __name__ == "__main__":
    main()
