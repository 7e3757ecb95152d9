"""Every method on a whole body: the human of a published benchmark, tests/human.py, with 70 hinges and slides.

Its five ends should be where random poses within limits have them: A, from a root that may move; B, from one that is
where it should be; C, as A and turned as they should be, with restarts. Frame after frame, along paths of B. And B from
the nearest of poses that are known, instead of rest. What is said of poses is by matrices of their angles, as the
published reference solver has it. Prints Markdown, for docs/figures.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import processor, significant, table
from timing import QUICK, load_now, parser_of

import ikcore as ik

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import textbook
from chains import generator
from human import Human, Set

ITEMS = 2 if QUICK else 200
PATHS, FRAMES = (2, 5) if QUICK else (20, 50)
SLOW, FEW = ("transpose", "pinv", "sdls"), 10  # they take seconds for a pose of C: so many get tried
KNOWN = (20,) if QUICK else (200, 1000, 4000)  # poses that are known
# What counts as reached, metres and radians; solvers are asked for less, of the reach.
PLACE, TURN = 1e-3, 1e-3 * np.pi
OPTIONS: dict[str, Any] = {"tolerance": 2e-4, "rotation_tolerance": TURN}
RESTARTS: dict[str, Any] = {"iterations": 100, "restarts": 1 if QUICK else 12}

HUMAN = Human()
Array = NDArray[np.float64]


def main() -> None:
    """A table of sets, one of paths, and one of starts."""
    parser_of(__doc__).parse_args()
    load = load_now()
    sets: list[Set] = ["A", "B", "C"]
    rows = [row for which in sets for row in set_rows(which)]
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {ITEMS} targets a set, {PATHS} paths of {FRAMES} frames; one thread, doubles, timed once\n")
    print("\n".join(table(["set", "method", "solved", "iterations", "ms", "over limits"], rows)))
    print()
    print("\n".join(table(["method", "frames solved", "iterations", "largest step", "jerk"], list(path_rows()))))
    print()
    header = ["method", "poses known", "off at first", "solved", "iterations", "or from rest"]
    print("\n".join(table(header, list(start_rows()))))


# --- sets


def problem(which: Set, truths: Array) -> tuple[ik.Skeleton, ik.Pose, list[ik.Reach]]:
    """The skeleton of a set, where it starts, and its goals."""
    start = HUMAN.pose(HUMAN.starts(truths, which))
    if which == "B":
        return HUMAN.skeleton, start, HUMAN.goals(truths)
    if which == "C":
        return HUMAN.sliding(), start, HUMAN.goals_of_poses(truths)
    return HUMAN.sliding(), start, [replace(goal, chain=None) for goal in HUMAN.goals(truths)]


def set_rows(which: Set) -> Iterator[list[str]]:
    """One for each method that takes the set."""
    options = {**OPTIONS, **(RESTARTS if which == "C" else {})}
    for name in takers(*problem(which, HUMAN.truths(1))):
        truths = HUMAN.truths(min(FEW, ITEMS) if which == "C" and name in SLOW else ITEMS)
        asked = problem(which, truths)
        begun = perf_counter()
        found = ik.solve(*asked, name, **options)
        time = (perf_counter() - begun) / len(truths)
        there, states = reached(which, truths, found.pose), HUMAN.states(found.pose)
        low, high = HUMAN.linkage.limits
        over = max((low - states).max(), (states - high).max(), 0.0)
        mean = f"{found.iterations[there].mean():.1f}" if there.any() else ""
        exact = "none" if over <= 1e-12 else significant(over)
        solved = f"{there.sum()} of {len(truths)}"
        yield [which, f"`{name}`", solved, mean, significant(time * 1e3), exact]


def takers(skeleton: ik.Skeleton, start: ik.Pose, goals: list[ik.Reach]) -> list[str]:
    """The methods that refuse none of it."""
    names = []
    for name in ik.methods():
        try:
            ik.solve(skeleton, start, goals, name, iterations=1)
        except ValueError:
            continue
        except TypeError:  # a closed form
            continue
        names.append(name)
    return names


def reached(which: Set, truths: Array, pose: ik.Pose) -> NDArray[np.bool_]:
    """Whether all five ends are there, by matrices."""
    wanted, found = textbook.forward(HUMAN.linkage, truths), textbook.forward(HUMAN.linkage, HUMAN.states(pose))
    there = np.linalg.norm(found.ends - wanted.ends, axis=-1) <= PLACE
    if which == "C":
        off = np.swapaxes(found.turned, -1, -2) @ wanted.turned
        there &= np.linalg.norm(textbook.rotation_vector(off), axis=-1) <= TURN
    return np.asarray(there.all(axis=-1))


# --- paths


def path_rows() -> Iterator[list[str]]:
    """From one pose of B to another, its root in its place.

    How far a frame turns joints at most, in nineteen of twenty paths; and by how much that differs from frame to frame.
    """
    truths = HUMAN.truths(PATHS + 1)
    share = np.linspace(0, 1, FRAMES)[:, None, None]
    states = (1 - share) * truths[:-1] + share * truths[1:]
    states[..., :6] = truths[:-1, :6]  # the root stays
    flat = states.reshape(-1, states.shape[-1])
    goals = [replace(g, position=np.asarray(g.position).reshape(FRAMES, PATHS, 3)) for g in HUMAN.goals(flat)]
    start = HUMAN.pose(np.tile(truths[:-1], (FRAMES, 1, 1)))
    for name in takers(*problem("B", truths[:1])):
        found = ik.solve(HUMAN.skeleton, start, goals, name, sequence=True, fps=60, **OPTIONS)
        there = reached("B", flat, ik.Pose(*(x.reshape(len(flat), *x.shape[2:]) for x in parts_of(found.pose))))
        angles = HUMAN.states(found.pose)
        steps = np.degrees(np.abs(np.diff(angles, axis=0)))
        jerk = np.degrees(np.abs(np.diff(angles, n=2, axis=0))).mean()
        largest = np.percentile(steps.max(axis=(0, 2)), 95)
        mean = f"{found.iterations.mean():.1f}"
        yield [f"`{name}`", f"{100 * there.mean():.1f} %", mean, f"{largest:.1f}°", f"{jerk:.3f}°"]


def parts_of(pose: ik.Pose) -> tuple[Array, Array]:
    """Rotations and translations."""
    assert pose.translations is not None
    return pose.rotations, pose.translations


# --- starts


def start_rows() -> Iterator[list[str]]:
    """Half of B from rest, and from the nearest of random poses; `or from rest`: what of that fails starts there."""
    truths = HUMAN.truths(ITEMS)[: max(ITEMS // 2, 1)]
    skeleton, rest, goals = problem("B", truths)
    low, high = HUMAN.linkage.limits
    draw = generator(4711)
    drawn = np.array([[next(draw) for _ in low] for _ in range(max(KNOWN))])
    known = HUMAN.pose(low + (high - low) * drawn)
    for name in ("dls", "sdls", "lbfgsb"):
        plain = ik.solve(skeleton, rest, goals, name, **OPTIONS)
        yield start_row(name, "none", skeleton, rest, goals, truths, plain)
        for count in KNOWN:
            asked = [replace(goal, position=...) for goal in goals]
            seen = ik.Pose(known.rotations[:count], parts_of(known)[1][:count])
            start = ik.Postures(skeleton, seen, asked).nearest(rest, *(goal.position for goal in goals))[0]
            yield start_row(name, str(count), skeleton, start, goals, truths, plain)


def start_row(
    name: str,
    known: str,
    skeleton: ik.Skeleton,
    start: ik.Pose,
    goals: list[ik.Reach],
    truths: Array,
    plain: ik.Solution,
) -> list[str]:
    """`plain` is what comes out from rest."""
    wanted, first = (textbook.forward(HUMAN.linkage, states).ends for states in (truths, HUMAN.states(start)))
    found = ik.solve(skeleton, start, goals, name, **OPTIONS)
    there, anyway = reached("B", truths, found.pose), reached("B", truths, plain.pose)
    off = np.linalg.norm(first - wanted, axis=-1).mean()
    mean = f"{found.iterations[there].mean():.1f}" if there.any() else ""
    return [f"`{name}`", known, f"{off:.3f} m", f"{there.sum()}", mean, f"{(there | anyway).sum()}"]


if __name__ == "__main__":
    main()
