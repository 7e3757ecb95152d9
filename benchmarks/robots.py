"""Robots whose hand should be somewhere and turned some way: `dls` with restarts, beside roboticstoolbox if installed.

Every problem starts from a random pose within limits and has its hand where another such pose has it, to 1e-6 in metres
and radians. Prints Markdown, for docs/figures.md.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import processor, share, significant, table
from timing import QUICK, Variant, load_now, parser_of, round_robin

import ikcore as ik

SEED = 20261122
ITEMS = 20 if QUICK else 2000
SINGLE = 3 if QUICK else 500  # problems that are solved one a call
ROUNDS = 1 if QUICK else 5
TOLERANCE = 1e-6
# Of dls: a share of the reach, which is below 2; and radians.
OPTIONS: dict[str, Any] = {"tolerance": 5e-7, "rotation_tolerance": 9e-7, "restarts": 300}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Robot:
    """As its maker gives it: a, d, alpha of every joint (modified Denavit and Hartenberg), and its range, degrees."""

    name: str
    parameters: tuple[tuple[float, float, float], ...]
    ranges: tuple[tuple[float, float], ...]

    def skeleton(self) -> ik.Skeleton:
        """Each joint turns about z of its own frame, which stands at the end of the bone."""
        a, d, alpha = np.array(self.parameters).T
        zero = np.zeros_like(a)
        rests = ik.rotations.from_axis_angle([1, 0, 0], np.radians(alpha))
        offsets = np.stack([a, zero, zero], axis=-1) + ik.rotations.rotate(rests, np.stack([zero, zero, d], axis=-1))
        limits = [ik.Limit.hinge([0, 0, 1], *np.radians(span)) for span in self.ranges]
        return ik.Skeleton(np.arange(len(a)) - 1, offsets, rests, limits=limits)

    def problems(self) -> tuple[Floats, Floats]:
        """Angles to start from, and where the hand should be, as matrices."""
        low, high = np.radians(self.ranges).T
        start, there = np.random.default_rng(SEED).uniform(low, high, (2, ITEMS, len(low)))
        return start, self.hands(there)

    def hands(self, angles: Floats) -> Floats:
        """Where angles put the hand, by matrices: nothing here is a solver's own."""
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
        """The share whose hand is there, with all angles in range but for whole turns."""
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


PUMA = Robot(
    "Puma 560",
    ((0, 0, 0), (0, 0, -90), (0.4318, -0.15005, 0), (0.0203, 0.4318, -90), (0, 0, 90), (0, 0, -90)),
    ((-160, 160), (-45, 225), (-225, 45), (-110, 170), (-100, 100), (-266, 266)),
)
PANDA = Robot(
    "Panda",
    ((0, 0.333, 0), (0, 0, -90), (0, 0.316, 90), (0.0825, 0, 90), (-0.0825, 0.384, -90), (0, 0, 90), (0.088, 0, 90)),
    ((-166, 166), (-101, 101), (-166, 166), (-176, -4), (-166, 166), (-1, 215), (-166, 166)),
)


def main() -> None:
    """All tables, ready for Markdown."""
    parser_of(__doc__).parse_args()
    load = load_now()
    rows = [row for robot in (PUMA, PANDA) for row in [*own_rows(robot), *peer_rows(robot)]]
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(
        f"- {ITEMS:,} problems in a batch, {SINGLE:,} one a call; one thread, doubles, {ROUNDS} rounds, seed {SEED}\n"
    )
    print("\n".join(table(["robot", "solver", "solved", "us, one a call", "us, in a batch"], rows)))


def own_rows(robot: Robot) -> list[list[str]]:
    """`dls`, by a solver that is made once and in a batch."""
    skeleton, (start, wanted) = robot.skeleton(), robot.problems()
    turns = ik.rotations.from_axis_angle([0, 0, 1], start)
    pose = ik.Pose(ik.rotations.multiply(skeleton.rest.rotations, turns))
    hand, at, turned = len(skeleton) - 1, wanted[:, :3, 3], ik.rotations.from_matrix(wanted[:, :3, :3])
    solver = ik.solver(skeleton, [ik.Reach(hand, position=..., rotation=...)], "dls", **OPTIONS)

    def batch() -> ik.Solution:
        return ik.dls(skeleton, pose, [ik.Reach(hand, at, turned)], **OPTIONS)

    def single() -> None:
        for item in range(SINGLE):
            solver(pose.rotations[item], at[item], turned[item])

    moved = ik.rotations.multiply(ik.rotations.conjugate(skeleton.rest.rotations), batch().pose.rotations)
    angles = 2 * np.arctan2(moved[..., 3], moved[..., 0])
    timings = round_robin({"batch": Variant(batch), "single": Variant(single)}, ROUNDS)
    times = [timings["single"].best / SINGLE, timings["batch"].best / ITEMS]
    return [[robot.name, "ikcore `dls`", share(robot.solved(angles, wanted)), *(significant(t * 1e6) for t in times)]]


def peer_rows(robot: Robot) -> list[list[str]]:
    """Its `ik_LM`, in C++, which starts again from random angles; its tolerance is half the square of the error."""
    try:
        turn: Any = importlib.import_module("roboticstoolbox").ET
    except ImportError:
        return []
    chain = None
    for (a, d, alpha), span in zip(robot.parameters, robot.ranges, strict=True):
        for part in (turn.tx(a), turn.Rx(np.radians(alpha)), turn.tz(d), turn.Rz(qlim=list(np.radians(span)))):
            chain = part if chain is None else chain * part
    start, wanted = (given[:SINGLE] for given in robot.problems())
    solve: Callable[..., Any] = functools.partial(chain.ik_LM, tol=TOLERANCE**2 / 2)  # type: ignore[union-attr]

    def single() -> list[Any]:
        return [solve(at, q0=angles)[0] for at, angles in zip(wanted, start, strict=True)]

    solved = robot.solved(np.array(single()), wanted)
    time = round_robin({"single": Variant(single)}, ROUNDS)["single"].best / SINGLE
    name = f"roboticstoolbox-python {version('roboticstoolbox-python')}"
    return [[robot.name, name, share(solved), significant(time * 1e6), ""]]


if __name__ == "__main__":
    main()
