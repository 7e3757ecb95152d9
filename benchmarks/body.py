"""All methods on a whole body: the human of a published benchmark, tests/human.py, with 70 hinges and slides.

Five ends have targets from random poses within limits. Set A starts with a free root, and B with the root in place. C
is A with target rotations and restarts. Frame sequences follow paths of B. Known poses are tested on B too: as starts
in place of rest, and as estimates of joint mobility. Poses are judged by matrices of their angles, as by the published
reference solver. Prints Markdown, for docs/records/figures.md and docs/guide/postures.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from time import process_time
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
BUDGET, LEAST = 6.0, 2 if QUICK else 4  # CPU seconds per set and method, and the smallest number of poses
KNOWN = (20,) if QUICK else (200, 1000, 4000)  # number of known poses
NEAR = 32  # number of nearest known poses used per target
# Tolerances in metres and radians; solvers get smaller ones, relative to the reach.
PLACE, TURN = 1e-3, 1e-3 * np.pi
OPTIONS: dict[str, Any] = {"tolerance": 2e-4, "rotation_tolerance": TURN}
RESTARTS: dict[str, Any] = {"iterations": 100, "restarts": 1 if QUICK else 12}

HUMAN = Human()
Array = NDArray[np.float64]


def main() -> None:
    """Print a table of all methods, and one of known poses."""
    parser_of(__doc__).parse_args()
    load, sets = load_now(), list[Set](["A", "B", "C"])
    names = {which: takers(*problem(which, HUMAN.truths(1))) for which in sets}
    rows = []
    for name in dict.fromkeys(name for which in sets for name in names[which]):
        cells = [set_cell(which, name) if name in names[which] else ("refuses it", 0.0) for which in sets]
        over = max(over for _, over in cells)
        exact = "none" if over <= 1e-12 else significant(over)
        rows.append(
            [f"`{name}`", *(text for text, _ in cells), exact, *(path_cells(name) if name in names["B"] else [])]
        )
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(
        f"- {ITEMS} targets a set, fewer where they take over {BUDGET:g} s; one thread, doubles, seconds of a processor"
    )
    print(f"- {PATHS} paths of {FRAMES} frames of B\n")
    header = ["method", *sets, "over limits", "frames solved", "iterations", "largest step", "jerk"]
    print("\n".join(table(header, rows)))
    print()
    header = ["method", "poses known", "off at first", "solved", "iterations", "or from rest", "as willing: solved"]
    print("\n".join(table([*header, "iterations"], list(start_rows()))))


# --- sets


def problem(which: Set, truths: Array) -> tuple[ik.Skeleton, ik.Pose, list[ik.Reach]]:
    """The skeleton, the start and the goals of a set."""
    start = HUMAN.pose(HUMAN.starts(truths, which))
    if which == "B":
        return HUMAN.skeleton, start, HUMAN.goals(truths)
    if which == "C":
        return HUMAN.sliding(), start, HUMAN.goals_of_poses(truths)
    return HUMAN.sliding(), start, [replace(goal, chain=None) for goal in HUMAN.goals(truths)]


def set_cell(which: Set, name: str) -> tuple[str, float]:
    """Share solved, mean iterations and milliseconds of these; and the violation of limits."""
    options = {**OPTIONS, **(RESTARTS if which == "C" else {})}

    def timed(count: int) -> tuple[ik.Solution, float]:
        asked, begun = problem(which, HUMAN.truths(count)), process_time()
        found = ik.solve(*asked, name, **options)
        return found, (process_time() - begun) / count

    count = int(np.clip(BUDGET / timed(2)[1], LEAST, ITEMS))
    found, time = timed(count)
    there, states = reached(which, HUMAN.truths(count), found.pose), HUMAN.states(found.pose)
    low, high = HUMAN.linkage.limits
    mean = f"{found.iterations[there].mean():.1f}, " if there.any() else ""
    text = f"{there.sum()} of {count}, {mean}{significant(time * 1e3)} ms"
    return text, max((low - states).max(), (states - high).max(), 0.0)


def takers(skeleton: ik.Skeleton, start: ik.Pose, goals: list[ik.Reach]) -> list[str]:
    """The methods of the core that accept all of it; those composed in Python take no sequences."""
    names = []
    for name, method in ik.methods().items():
        if method.run:
            continue
        try:
            ik.solve(skeleton, start, goals, name, iterations=1)
        except ValueError:
            continue
        except TypeError:  # a closed form
            continue
        names.append(name)
    return names


def reached(which: Set, truths: Array, pose: ik.Pose) -> NDArray[np.bool_]:
    """True where all five ends are at their targets, by matrices."""
    wanted, found = textbook.forward(HUMAN.linkage, truths), textbook.forward(HUMAN.linkage, HUMAN.states(pose))
    there = np.linalg.norm(found.ends - wanted.ends, axis=-1) <= PLACE
    if which == "C":
        off = np.swapaxes(found.turned, -1, -2) @ wanted.turned
        there &= np.linalg.norm(textbook.rotation_vector(off), axis=-1) <= TURN
    return np.asarray(there.all(axis=-1))


# --- paths


def path_cells(name: str) -> list[str]:
    """Frames solved, and their iterations, from one pose of B to another with the root in place.

    Also the largest joint rotation per frame in the 95th percentile of paths, and its change from frame to frame.
    """
    truths = HUMAN.truths(PATHS + 1)
    share = np.linspace(0, 1, FRAMES)[:, None, None]
    states = (1 - share) * truths[:-1] + share * truths[1:]
    states[..., :6] = truths[:-1, :6]  # the root stays
    flat = states.reshape(-1, states.shape[-1])
    goals = [replace(g, position=np.asarray(g.position).reshape(FRAMES, PATHS, 3)) for g in HUMAN.goals(flat)]
    start = HUMAN.pose(np.tile(truths[:-1], (FRAMES, 1, 1)))
    found = ik.solve(HUMAN.skeleton, start, goals, name, sequence=True, fps=60, **OPTIONS)
    there = reached("B", flat, ik.Pose(*(x.reshape(len(flat), *x.shape[2:]) for x in parts_of(found.pose))))
    angles = HUMAN.states(found.pose)
    steps = np.degrees(np.abs(np.diff(angles, axis=0)))
    jerk = np.degrees(np.abs(np.diff(angles, n=2, axis=0))).mean()
    largest = np.percentile(steps.max(axis=(0, 2)), 95)
    return [f"{100 * there.mean():.1f} %", f"{found.iterations.mean():.1f}", f"{largest:.1f}°", f"{jerk:.3f}°"]


def parts_of(pose: ik.Pose) -> tuple[Array, Array]:
    """The rotations and the translations of a pose."""
    assert pose.translations is not None
    return pose.rotations, pose.translations


# --- starts


def start_rows() -> Iterator[list[str]]:
    """Half of B from rest, and from the nearest of random poses.

    `or from rest` repeats failures from rest. `as willing` uses the mobility of joints in these poses; the last row of
    a method uses that of the poses nearest to each target.
    """
    truths = HUMAN.truths(ITEMS)[: max(ITEMS // 2, 1)]
    skeleton, rest, goals = problem("B", truths)
    wanted = textbook.forward(HUMAN.linkage, truths).ends
    low, high = HUMAN.linkage.limits
    draw = generator(4711)
    drawn = low + (high - low) * np.array([[next(draw) for _ in low] for _ in range(max(KNOWN))])
    for name in ("dls", "sdls"):
        plain = reached("B", truths, ik.solve(skeleton, rest, goals, name, **OPTIONS).pose)
        for count in (0, *KNOWN):
            seen = HUMAN.pose(drawn[: count or max(KNOWN)])
            start = nearest(seen, goals, rest) if count else rest
            off = np.linalg.norm(textbook.forward(HUMAN.linkage, HUMAN.states(start)).ends - wanted, axis=-1).mean()
            row = [f"`{name}`", str(count or "none"), f"{off:.3f} m"]
            for body in (skeleton, ik.learned.fit_skeleton(skeleton, seen)):
                found = ik.solve(body, start, goals, name, **OPTIONS)
                there = reached("B", truths, found.pose)
                row += [str(there.sum()), f"{found.iterations[there].mean():.1f}" if there.any() else ""]
                row += [str((there | plain).sum())] if body is skeleton else []
            yield row
        yield [f"`{name}`", f"{NEAR} of {count}", f"{off:.3f} m", "", "", "", *near_cells(name, drawn, truths, start)]


def nearest(seen: ik.Pose, goals: list[ik.Reach], rest: ik.Pose) -> ik.Pose:
    """The nearest of these poses for every target."""
    asked = [replace(goal, position=...) for goal in goals]
    return ik.learned.Postures(HUMAN.skeleton, seen, asked).nearest(rest, *(goal.position for goal in goals))[0]


def near_cells(name: str, drawn: Array, truths: Array, start: ik.Pose) -> list[str]:
    """Solved, and iterations, with mobility and bounds for every target from the poses nearest to it."""
    wanted, there, iterations = textbook.forward(HUMAN.linkage, truths).ends, [], []
    for item, truth in enumerate(truths):
        here = drawn.copy()
        here[:, :6] = truth[:6]  # the root of the poses is in place
        off = textbook.forward(HUMAN.linkage, here).ends - wanted[item]
        seen = HUMAN.pose(drawn[np.argsort((off**2).sum(axis=(-2, -1)))[:NEAR]])
        one = ik.Pose(*(x[item] for x in parts_of(start)))
        found = ik.solve(ik.learned.fit_skeleton(HUMAN.skeleton, seen), one, HUMAN.goals(truth), name, **OPTIONS)
        there.append(bool(reached("B", truth, found.pose)))
        iterations.append(int(found.iterations))
    return [str(sum(there)), f"{np.mean(np.array(iterations)[there]):.1f}" if any(there) else ""]


if __name__ == "__main__":
    main()
