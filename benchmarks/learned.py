"""Starts and priors learned from clips, for every iterative method, measured on clips left out.

The character has 76 clips (IKCORE_BODIES, tests/knight.py): 60 to learn from, 16 left out. Hips keep their place of the
clip, and five ends are the goals. Methods start from rest and from learned poses, with and without a learned prior.
The tables show iterations, and the mean angle in degrees between joints of the result and of the clip. Prints Markdown
for docs/guide/postures.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import processor, table
from timing import QUICK, load_now, parser_of

import ikcore as ik

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from knight import GOALS, INNER, ends_of, known

EVERY = 100 if QUICK else 2  # one of so many frames of the clips left out is judged
PARTICLES_EVERY = 400 if QUICK else 20  # the same for starts from particles, which take longer
EXAMPLES = 30 if QUICK else 300
OPTIONS: dict[str, Any] = {"tolerance": 1e-3}

Array = NDArray[Any]


def main() -> None:
    """Starts by themselves, then every method from each of them, then priors."""
    parser = parser_of(__doc__)
    parser.parse_args()
    if not os.environ.get("IKCORE_BODIES"):
        parser.error("set IKCORE_BODIES to the folder with Knight.glb")
    load = load_now()
    skeleton, poses, truth = known()
    problem = Problem(skeleton, truth[::EVERY])
    starts = starts_of(skeleton, poses, problem)
    header = ["start", "ends off, lengths", "joints off"]
    rows = [[name, f"{problem.ends_off(pose):.3f}", f"{problem.off(pose):.1f}°"] for name, pose in starts.items()]
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {len(poses)} poses to learn from, {len(problem.truth)} to judge by\n")
    print("\n".join(table(header, rows)))
    print()
    names = [name for name in ik.methods() if name != "particles" and takes(problem, name)]
    rows = [[f"`{name}`", *(cell(problem, pose, name) for pose in starts.values())] for name in names]
    print("\n".join(table(["method", *(f"from {name}" for name in starts)], rows)))
    print()
    print("\n".join(table(["prior", "from rest", "from rbf"], list(prior_rows(problem, skeleton, poses, starts)))))
    print()
    few = Problem(skeleton, truth[::PARTICLES_EVERY])
    searched = ik.solvers.particles(skeleton, few.rest, few.goals, count=100, iterations=30)
    rows = [[f"`{name}`", cell(few, few.rest, name), cell(few, searched.pose, name)] for name in names]
    print("\n".join(table([f"method, {len(few.truth)} poses", "from rest", "from particles"], rows)))


class Problem:
    """Poses that are looked for, and the goals that they meet."""

    def __init__(self, skeleton: ik.Skeleton, truth: ik.Pose) -> None:
        self.skeleton, self.truth = skeleton, truth
        self.ends = ends_of(skeleton, truth)
        self.goals = [replace(goal, position=at) for goal, at in zip(GOALS, self.ends, strict=True)]
        inner, rotations = [skeleton.index(joint) for joint in INNER], np.array(truth.rotations)
        rotations[:, inner] = skeleton.rest.rotations[inner]
        self.rest = truth.with_rotations(rotations)
        moved = ik.dls(skeleton, self.rest, self.goals, iterations=3).pose.rotations != rotations
        self.turned = np.flatnonzero(moved.any(axis=(0, 2)))

    def off(self, pose: ik.Pose) -> float:
        """Mean angle of the joints that goals turn, in degrees."""
        between = ik.rotations.multiply(ik.rotations.conjugate(pose.rotations), self.truth.rotations)
        return float(np.degrees(ik.rotations.to_axis_angle(between[:, self.turned])[1]).mean())

    def ends_off(self, pose: ik.Pose) -> float:
        """How far ends are away on average."""
        off = np.stack(ends_of(self.skeleton, pose)) - np.stack(self.ends)
        return float(np.linalg.norm(off, axis=-1).mean())


def starts_of(skeleton: ik.Skeleton, poses: ik.Pose, problem: Problem) -> dict[str, ik.Pose]:
    """The start poses of methods."""
    postures = ik.learned.Postures(skeleton, poses, GOALS)
    nodes = ik.learned.posture_map(skeleton, ik.Pose(poses.rotations), 2 if QUICK else 6, steps=100 if QUICK else 5000)
    moved = np.broadcast_to(skeleton.offsets, (*nodes.rotations.shape[:-1], 3))
    by_map = ik.learned.Postures(skeleton, ik.Pose(nodes.rotations, moved), GOALS)
    return {
        "rest": problem.rest,
        "the nearest": postures.nearest(problem.rest, *problem.ends)[0],
        "8 nearest": postures.blend(problem.rest, *problem.ends),
        "the map": by_map.nearest(problem.rest, *problem.ends)[0],
        "rbf": ik.learned.RbfPoses(skeleton, poses, GOALS, EXAMPLES).pose(problem.rest, *problem.ends),
    }


def takes(problem: Problem, name: str) -> bool:
    """Whether a method solves it at all."""
    one = [replace(goal, position=np.asarray(goal.position)[:1]) for goal in problem.goals]
    try:
        ik.solve(problem.skeleton, problem.rest[:1], one, name)
    except (TypeError, ValueError):
        return False
    return True


def cell(problem: Problem, start: ik.Pose, name: str, skeleton: ik.Skeleton | None = None, **options: Any) -> str:
    """Iterations, degrees, and how many of a hundred are reached where that is not all."""
    found = ik.solve(skeleton or problem.skeleton, start, problem.goals, name, **OPTIONS, **options)
    return said(problem, found)


def said(problem: Problem, found: ik.Solution) -> str:
    """A cell of a solution."""
    reached = 100 * np.mean(found.reached)
    missed = f", {reached:.0f} %" if reached < 100 else ""
    return f"{np.mean(found.iterations):.1f}, {problem.off(found.pose):.1f}°{missed}"


def prior_rows(
    problem: Problem, skeleton: ik.Skeleton, poses: ik.Pose, starts: dict[str, ik.Pose]
) -> Iterator[list[str]]:
    """Learned stiffness, and densities."""
    willing = ik.learned.fit_skeleton(skeleton, poses)
    ways: dict[str, Callable[[ik.Pose], str]] = {
        "none: `dls`": lambda start: cell(problem, start, "dls"),
        "`learned`, `dls`": lambda start: cell(problem, start, "dls", willing),
        "`learned`, `sdls`": lambda start: cell(problem, start, "sdls", willing),
        "`learned`, `dls`, `posture=0.3, settle=True`": lambda start: cell(
            problem, start, "dls", willing, posture=0.3, settle=True
        ),
    }
    rounds = 2 if QUICK else 50
    for count in (1, 2) if QUICK else (1, 8):
        density = ik.learned.PoseDensity(skeleton, poses, moving=INNER, components=count)
        ways[f"`PoseDensity`, {count}"] = lambda start, density=density: said(  # type: ignore[misc]
            problem, density.solve(start, problem.goals, rounds=rounds)
        )
    for name, way in ways.items():
        yield [name, way(starts["rest"]), way(starts["rbf"])]


if __name__ == "__main__":
    main()
