"""Guide to the methods: all of them on chains, hinges, cones, a leg, an arm, a spine, a tail and a tentacle.

Targets come from random allowed poses. Each is solved from rest, and along paths from one to another, frame by frame.
Prints Markdown, for docs/methods/which.md.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import processor, share, significant, table
from timing import QUICK, Variant, load_now, parser_of, round_robin

import ikcore as ik

SEED = 20261123
ITEMS = 16 if QUICK else 1000
PATHS, FRAMES = (2, 20) if QUICK else (50, 200)
ROUNDS = 1 if QUICK else 5
TOLERANCE = 1e-4  # relative to the reach: tolerance, by forward kinematics
X, Y, Z = np.eye(3)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A chain along x with joint limits, and the share of a random allowed pose that defines a target."""

    name: str
    limits: tuple[ik.Limit | None, ...]
    lengths: tuple[float, ...]
    spread: float = 1.0
    turned: bool = False  # the tip has a target rotation too

    @property
    def skeleton(self) -> ik.Skeleton:
        """A joint for every limit, and the tip."""
        offsets = np.zeros((len(self.lengths) + 1, 3))
        offsets[1:, 0] = self.lengths
        return ik.Skeleton(np.arange(len(offsets)) - 1, offsets, limits=[*self.limits, None])

    def poses(self, count: int, seed: int) -> Array:
        """Allowed poses; joints without limits turn by about 40 degrees."""
        random = np.random.default_rng([SEED, seed])
        joints = [
            ik.rotations.exp(0.4 * random.normal(size=(count, 3)))
            if limit is None
            else limit.sample(count, seed=int(random.integers(2**31)))
            for limit in self.limits
        ]
        rest = np.tile([1.0, 0, 0, 0], (count, 1))
        return np.stack([*(ik.rotations.slerp(rest, joint, self.spread) for joint in joints), rest], axis=1)

    def goals(self, poses: Array) -> list[ik.Reach]:
        """Goals of the tip in these poses."""
        world = self.skeleton.forward(ik.Pose(poses))
        tip = len(self.lengths)
        at, turned = world.positions[..., tip, :], world.rotations[..., tip, :]
        return [ik.Reach(tip, at, turned if self.turned else None, chain=tip)]

    def paths(self) -> Array:
        """Paths (FRAMES, PATHS, joints, 4) from one pose to another, slow at both ends."""
        ends = self.poses(2 * PATHS, 1).reshape(2, PATHS, -1, 4)
        share = (1 - np.cos(np.linspace(0, np.pi, FRAMES))) / 2
        moved = ik.rotations.slerp(ends[0], ends[1], share[:, None, None])
        held = [
            moved[:, :, joint] if limit is None else limit.project(moved[:, :, joint])
            for joint, limit in enumerate([*self.limits, None])
        ]
        return np.stack(held, axis=2)


def hinges(*axes: Array, bound: float = 2.0) -> tuple[ik.Limit, ...]:
    """One hinge limit for every axis."""
    return tuple(ik.Limit.hinge(axis, -bound, bound) for axis in axes)


CASES = [
    Case("chain of 10", (None,) * 10, (0.1,) * 10),
    Case("10 hinges", hinges(*[Y, Z] * 5), (0.1,) * 10),
    Case("10 cones of 45°", (ik.Limit.cone(X, np.pi / 4, twist=(-0.5, 0.5)),) * 10, (0.1,) * 10),
    Case("leg", (ik.Limit.cone(X, 1.2, twist=(-0.7, 0.7)), ik.Limit.hinge(Z, 0.05, 2.5)), (0.45, 0.45)),
    Case(
        "arm, hand turned",
        (
            ik.Limit.euler("xyz", [-0.2, -0.3, -0.4], [0.2, 0.3, 0.4]),
            ik.Limit.cone(X, 1.6, twist=(-1.5, 1.5)),
            ik.Limit.hinge(Z, 0.02, 2.5),
            ik.Limit.cone(X, 1.0, twist=(-1.5, 1.5)),
        ),
        (0.15, 0.3, 0.27, 0.1),
        turned=True,
    ),
    Case("spine, head turned", (ik.Limit.cone(X, 0.35, twist=(-0.3, 0.3)),) * 6, (0.1,) * 6, 0.8, turned=True),
    Case("tail", (ik.Limit.cone(X, 0.6, twist=(-0.2, 0.2)),) * 12, (0.08,) * 12, 0.9),
    Case("tentacle of 100", (None,) * 100, (0.02,) * 100),
]
HEADER = ["of what", "method", "solved", "iterations", "us", "root half, tip half", "on paths", "largest step"]


def main() -> None:
    """The table, ready for Markdown."""
    parser_of(__doc__).parse_args()
    load = load_now()
    print("\n".join(table(HEADER, [row for case in CASES for row in rows(case)])))
    print(f"\n- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {ITEMS:,} targets from rest and {PATHS} paths of {FRAMES} frames")
    print(f"- one thread, doubles, {ROUNDS} rounds, time of a processor")


def rows(case: Case) -> Iterator[list[str]]:
    """One row for every method that supports the case."""
    skeleton, goals, path = case.skeleton, case.goals(case.poses(ITEMS, 0)), case.goals(case.paths())
    for name in ik.methods():
        options: dict[str, Any] = {"method": name} | tolerances(name)
        try:
            found = ik.solve(skeleton, skeleton.rest, goals, **options)
            moving = ik.solve(skeleton, skeleton.rest, path, **options, **in_sequence(name))
        except (TypeError, ValueError):  # it does not support these goals or limits
            continue
        again = functools.partial(ik.solve, skeleton, skeleton.rest, goals, **options)
        time = round_robin({name: Variant(again)}, ROUNDS, clock=process_time)
        root, tip = halves(found.pose.rotations)
        yield [
            case.name,
            f"`{name}`",
            share(met(case, found, goals)),
            significant(float(np.mean(found.iterations))),
            significant(time[name].best / ITEMS * 1e6),
            f"{root:.0f}°, {tip:.0f}°",
            share(met(case, moving, path)),
            f"{largest_step(moving.pose.rotations):.0f}°",
        ]


def tolerances(name: str) -> dict[str, float]:
    """A tenth of the judged tolerances."""
    own = ik.methods()[name].options
    return {option: TOLERANCE / 10 for option in ("tolerance", "rotation_tolerance") if option in own}


def in_sequence(name: str) -> dict[str, Any]:
    """Options for frame sequences; closed forms do not use a previous frame."""
    return {"sequence": True} if "iterations" in ik.methods()[name].options else {}


def met(case: Case, found: ik.Solution, goals: list[ik.Reach]) -> float:
    """The share reached, by forward kinematics."""
    world, (goal,) = case.skeleton.forward(found.pose), goals
    tip = len(case.lengths)
    there = np.linalg.norm(world.positions[..., tip, :] - goal.position, axis=-1) <= TOLERANCE * sum(case.lengths)
    if goal.rotation is not None:
        there &= angles(world.rotations[..., tip, :], np.asarray(goal.rotation)) <= TOLERANCE
    return float(np.mean(there))


def angles(a: Array, b: Array) -> Array:
    """Angles between rotations, in radians."""
    off = ik.rotations.multiply(ik.rotations.conjugate(a), b)
    return np.asarray(2 * np.arctan2(np.linalg.norm(off[..., 1:], axis=-1), np.abs(off[..., 0])))


def halves(rotations: Array) -> tuple[float, float]:
    """Mean joint rotation from rest in degrees, near the root and near the tip."""
    turned = np.degrees(angles(rotations, np.array([1.0, 0, 0, 0])))[..., :-1]
    middle = (turned.shape[-1] + 1) // 2
    return float(np.mean(turned[..., :middle])), float(np.mean(turned[..., middle:]))


def largest_step(rotations: Array) -> float:
    """Largest joint rotation from frame to frame in degrees; the 95th percentile of the paths."""
    steps = np.degrees(angles(rotations[1:], rotations[:-1]))
    return float(np.percentile(np.max(steps, axis=(0, -1)), 95))


if __name__ == "__main__":
    main()
