"""The figures of the page Results and of README: `python benchmarks/results.py [--quick]`, about a minute.

One thread. Processor time, which other processes change least, and the minimum over the rounds. Packages that are not
installed are left out: roboticstoolbox-python for arms, numba for legs. Prints Markdown, for docs/records/results.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import date

import numpy as np
from problems import Problems, arrays_of, random_problems
from rivals import closed_form_numba, conventional_numpy, results_like
from robot_packages import installed
from robots import OPTIONS, ROBOTS, TOLERANCE, Robot
from run import processor, share, significant, table
from timing import QUICK, Variant, load_now, parser_of, round_robin

import ikcore as ik
from ikcore.command import demo

LEGS, POSES, ARMS, ONE_CALL = (256, 20, 10, 3) if QUICK else (100_000, 2_000, 1_000, 100)
ROUNDS = 9
ARM_NAMES = ("Panda", "LBR iiwa 14")
POINTS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")

Row = list[str]


def main() -> None:
    """One table, ready for Markdown."""
    parser_of(__doc__).parse_args()
    load = load_now()
    rows = [*legs(), *(row for robot in ROBOTS if robot.name in ARM_NAMES for row in arms(robot)), *bodies(), *bakes()]
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- ikcore {ik.__version__} ({ik.solvers.isa()}), NumPy {np.__version__}, one thread, processor time\n")
    print("\n".join(table(["task", "solver", "solved", "time"], rows)))


def seconds(**variants: Callable[[], object]) -> dict[str, float]:
    """Seconds of processor time a run, of each."""
    timed = round_robin({name: Variant(run) for name, run in variants.items()}, ROUNDS, clock=time.process_time)
    return {name: took.best for name, took in timed.items()}


def legs() -> Iterator[Row]:
    """Limbs with a pole, all in one call: also in NumPy by acos, and in numba."""
    for dtype in ("float32", "float64"):
        problems = random_problems(LEGS, dtype)
        status = ik.two_bone(*arrays_of(problems)[:4], pole=problems.pole).status
        in_reach = (status & (ik.Status.TOO_FAR | ik.Status.TOO_NEAR)) == 0
        solved = f"{share(float(np.mean((status & ~ik.Status.POLE_UNDEFINED)[in_reach] == 0)))} in reach"
        for solver, spent in seconds(**leg_solvers(problems)).items():
            said = solved if solver == "`two_bone`" else ""
            yield [f"a leg with a pole, {dtype}", solver, said, f"{significant(spent / LEGS * 1e9)} ns"]


def leg_solvers(problems: Problems) -> dict[str, Callable[[], object]]:
    """Each solves all of them into arrays that are there."""
    root, mid, end, target, pole = arrays_of(problems)
    out = ik.closed_forms.LimbSolution.empty(LEGS, root.dtype)
    solvers: dict[str, Callable[[], object]] = {
        "`two_bone`": lambda: ik.two_bone(root, mid, end, target, pole=pole, out=out),
        "law of cosines in NumPy": lambda: conventional_numpy(problems, out),
    }
    if numba := closed_form_numba():
        results = results_like(problems)
        solvers["law of cosines in numba"] = lambda: numba(problems, results)
    return solvers


def arms(robot: Robot) -> Iterator[Row]:
    """Arms of seven hinges: position and rotation of the hand to 1e-6, from random poses."""
    skeleton, (start, wanted) = robot.skeleton(), robot.problems()
    start, wanted = start[:ARMS], wanted[:ARMS]
    turns = ik.rotations.from_axis_angle([0, 0, 1], start)
    pose = ik.Pose(ik.rotations.multiply(skeleton.rest.rotations, turns))
    goal = ik.Reach(len(skeleton) - 1, wanted[:, :3, 3], ik.rotations.from_matrix(wanted[:, :3, :3]))

    def batch() -> ik.Solution:
        return ik.dls(skeleton, pose, [goal], **OPTIONS)

    moved = ik.rotations.multiply(ik.rotations.conjugate(skeleton.rest.rotations), batch().pose.rotations)
    solved = robot.solved(2 * np.arctan2(moved[..., 3], moved[..., 0]), wanted)
    solver = ik.Solver(skeleton, [ik.Reach(len(skeleton) - 1, position=..., rotation=...)], "dls", **OPTIONS)
    items = list(zip(pose.rotations, wanted[:, :3, 3], np.asarray(goal.rotation), strict=True))[:ONE_CALL]

    def single() -> None:
        for item in items:
            solver(*item)

    task, spent = f"{robot.name}, hand to 1e-6", seconds(batch=batch, single=single)
    yield [
        task,
        f"`dls`, {len(wanted)} in a call",
        share(solved),
        f"{significant(spent['batch'] / len(wanted) * 1e6)} µs",
    ]
    yield [task, "`dls`, one a call", share(solved), f"{significant(spent['single'] / len(items) * 1e6)} µs"]
    start, wanted = start[:ONE_CALL], wanted[:ONE_CALL]
    for name, solve in installed(robot.parameters, robot.ranges, TOLERANCE).items():

        def each(solve: Callable[..., object] = solve) -> np.ndarray:
            return np.array([solve(angles, at) for angles, at in zip(start, wanted, strict=True)])

        solved, took = robot.solved(each(), wanted), seconds(each=each)["each"] / len(wanted)
        yield [task, f"{name}, one a call", share(solved), f"{significant(took * 1e6)} µs"]


def bodies() -> Iterator[Row]:
    """A walking body of 21 joints: hands, feet and head go where 6 degrees more of every joint bring them."""
    clip = demo.walk()
    frames = np.arange(POSES) % len(clip)
    pose = ik.Pose(clip.pose.rotations[frames], np.asarray(clip.pose.translations)[frames])
    turns = ik.rotations.exp(0.06 * np.random.default_rng(1).normal(size=(*pose.shape, pose.joints, 3)))
    turned = ik.Pose(ik.rotations.multiply(pose.rotations, turns), pose.translations)
    skeleton, at = clip.skeleton, clip.skeleton.forward(turned).positions
    goals = [ik.Reach(name, at[:, skeleton.index(name)]) for name in POINTS]
    for method in (ik.dls, ik.fabrik):

        def batch(method: Callable[..., ik.Solution] = method) -> ik.Solution:
            return method(skeleton, pose, goals)

        solved, spent = float(np.mean(batch().reached)), seconds(batch=batch)["batch"] / POSES
        yield ["a body, five goals", f"`{method.__name__}`", share(solved), f"{significant(spent * 1e6)} µs"]


def bakes() -> Iterator[Row]:
    """The walk of `ikcore demo`, put on stairs: contacts found, feet planted, legs solved."""
    clip, stairs = demo.walk(), demo.stairs()
    spent = seconds(run=lambda: ik.bake_feet(clip, stairs))["run"] / len(clip)
    yield ["a frame of a walk put on stairs", "`bake_feet`", "", f"{significant(spent * 1e6)} µs"]


if __name__ == "__main__":
    main()
