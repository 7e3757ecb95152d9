"""The choice of ``method="auto"``, compared with `fabrik` and `dls`: the share of targets that each reaches.

The problems are the chains of which.py, two arms on a chest, limbs with poles, and heads that look. The chains of
mechanisms.py and the robots of robots.py start from random poses. Prints Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from mechanisms import MECHANISMS
from robots import ROBOTS
from run import processor, table
from timing import QUICK, parser_of
from which import CASES, ITEMS, TOLERANCE, Z, hinges, largest_step

import ikcore as ik

COMPARED = ("fabrik", "dls")
SEED = 20261128


class Problem(NamedTuple):
    """Goals that some allowed pose reaches, solved from rest."""

    name: str
    skeleton: ik.Skeleton
    goals: Sequence[ik.Goal]
    options: dict[str, Any]
    start: ik.Pose | None = None  # default: rest


def problems() -> Iterator[Problem]:
    """All of them."""
    for case in CASES:
        yield Problem(case.name, case.skeleton, case.goals(case.poses(ITEMS, 0)), {})
        paths = case.paths()[:: 4 if QUICK else 1]
        yield Problem(f"{case.name}, on paths", case.skeleton, case.goals(paths), {"sequence": True})
    random = np.random.default_rng(SEED)
    leg = ik.Skeleton.chain([[0, 0.9, 0], [0, 0.5, 0.05], [0, 0.1, 0]])
    yield Problem("leg with a pole", leg, [ik.Reach(2, ends(leg, random)[:, 2], chain=2, pole=[0, 0.5, 9])], {})
    foot = ik.Skeleton.chain([[0, 0.9, 0], [0, 0.5, 0.05], [0, 0.1, 0], [0, 0, 0.2]])
    world = foot.forward(ik.Pose(poses(foot, random)))
    placed = ik.Reach(2, world.positions[:, 2], world.rotations[:, 2], chain=2, pole=[0, 0.5, 9])
    yield Problem("leg with a pole, foot turned", foot, [placed], {})
    turned = ik.Reach(3, world.positions[:, 3], world.rotations[:, 3])
    yield Problem("chain of 3, tip turned", foot, [turned], {})
    yield Problem("head that looks", foot, [ik.Look(2, Z, 5 * random.normal(size=(ITEMS, 3)), chain=0)], {})
    for limits in ([None] * 7, [None, *hinges(*[Z] * 6)]):
        chest = ik.Skeleton(
            [-1, 0, 1, 2, 0, 4, 5],
            [[0.0, 0, 0], [0.2, 0.5, 0], [0.3, 0, 0], [0.3, 0, 0], [-0.2, 0.5, 0], [-0.3, 0, 0], [-0.3, 0, 0]],
            limits=limits,
        )
        hands = chest.forward(chest_poses(chest, random)).positions
        name = f"two arms on a chest{', hinges' * any(limits)}"
        yield Problem(name, chest, [ik.Reach(joint, hands[:, joint]) for joint in (3, 6)], {})
    for mechanism in MECHANISMS:
        angles, targets = mechanism.problems(ITEMS)
        skeleton = mechanism.skeleton()
        yield Problem(mechanism.name, skeleton, [ik.Reach(len(skeleton) - 1, targets)], {}, mechanism.pose(angles))
    for robot in ROBOTS:
        skeleton, (angles, wanted) = robot.skeleton(), robot.problems()
        start = ik.rotations.multiply(skeleton.rest.rotations, ik.rotations.from_axis_angle(Z, angles))
        hand = ik.Reach(len(skeleton) - 1, wanted[:, :3, 3], ik.rotations.from_matrix(wanted[:, :3, :3]))
        yield Problem(robot.name, skeleton, [hand], {}, ik.Pose(start))


def poses(skeleton: ik.Skeleton, random: np.random.Generator) -> Any:
    """Random rotations of about 40 degrees a joint."""
    return ik.rotations.exp(0.4 * random.normal(size=(ITEMS, len(skeleton), 3)))


def chest_poses(skeleton: ik.Skeleton, random: np.random.Generator) -> ik.Pose:
    """The same within limits."""
    turned = poses(skeleton, random)
    for joint, limit in enumerate(skeleton.limits):
        if limit is not None:
            turned[:, joint] = limit.project(turned[:, joint])
    return ik.Pose(turned)


def ends(skeleton: ik.Skeleton, random: np.random.Generator) -> Any:
    """Positions of the joints."""
    return skeleton.forward(ik.Pose(poses(skeleton, random))).positions


def tolerances(method: str) -> dict[str, float]:
    """A tenth of the judged tolerances, as far as the method has them."""
    names = ("tolerance", "rotation_tolerance")
    own = names if method == "auto" else [name for name in names if name in ik.methods()[method].options]
    return dict.fromkeys(own, TOLERANCE / 10)


def reached(problem: Problem, method: str) -> tuple[str, float, float] | None:
    """Method, share of reached goals, and the largest step between frames; None where it does not take the goals."""
    _, skeleton, goals, options, start = problem
    try:
        given = tolerances("aim" if isinstance(goals[0], ik.Look) and method == "auto" else method)
        found = ik.solve(skeleton, start or skeleton.rest, goals, method, **given, **options)
    except (TypeError, ValueError):
        return None
    step = largest_step(found.pose.rotations) if options else np.nan
    return found.method, float(np.mean(found.reached)), step


def main() -> None:
    """The table, ready for Markdown."""
    parser_of(__doc__).parse_args()
    rows = []
    for problem in problems():
        results = [reached(problem, method) for method in ("auto", *COMPARED)]
        assert results[0]
        shown = [shares(result) for result in results]
        rows.append([problem.name, f"`{results[0][0]}`", *shown])
    print("\n".join(table(["problem", "auto takes", "auto reaches", *(f"`{name}`" for name in COMPARED)], rows)))
    print(f"\n- {date.today()}, {processor()}; {ITEMS:,} targets; on paths also the largest step between frames")


def shares(result: tuple[str, float, float] | None) -> str:
    """A result as text."""
    if result is None:
        return "not taken"
    _, share, step = result
    return f"{100 * share:.2f} %" + (f", {step:.0f}°" if np.isfinite(step) else "")


if __name__ == "__main__":
    main()
