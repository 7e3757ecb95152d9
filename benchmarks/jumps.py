"""Frequency of jumps: frames in which a joint turns far although the target has moved little.

Chains, limbs and a torso follow targets on arbitrary closed curves, in and out of reach, frame by frame. Among the
pairs of frames that are both reached, the table counts those with a joint rotation above 15 and 45 degrees. Another
seed gives other curves. Prints Markdown, for docs/records/figures.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from run import share, table
from timing import QUICK, parser_of
from which import CASES, Case, X, Y, Z, angles, hinges

import ikcore as ik

CURVES, FRAMES = (2, 20) if QUICK else (20, 400)
POSES = 400  # poses that define the region of the targets
METHODS = ["fabrik", "ccd", "dls", "pinv", "sdls"]
LEFT_OUT = ("tentacle of 100", "spine, head turned", "arm, hand turned")  # too long; need target rotations
ARM = next(case for case in CASES if case.name == "arm, hand turned")
MORE = [Case("arm", ARM.limits, ARM.lengths), Case("5 hinges", hinges(X, Z, Y, Z, Y), (0.2,) * 5)]

Array = NDArray[np.float64]


def main() -> None:
    """The table, ready for Markdown."""
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=901, help="of the curves")
    seed = parser.parse_args().seed
    rows = [[name, *cells(*case, seed)] for name, case in cases().items()]
    head = ["of what", *(f"`{method}`: reached, over 15°, 45°" for method in METHODS)]
    print("\n".join(table(head, rows)))


def cases() -> dict[str, tuple[ik.Skeleton, list[int]]]:
    """Skeletons, with the joints that have targets."""
    chains = [case for case in CASES + MORE if case.name not in LEFT_OUT]
    return {case.name: (case.skeleton, [len(case.lengths)]) for case in chains} | {"torso": torso()}


def torso() -> tuple[ik.Skeleton, list[int]]:
    """A spine with two arms, all joints with limits, and its hands."""
    parents, offsets, limits = [-1], [[0.0, 0, 0]], [ik.Limit.euler("xyz", [-0.2] * 3, [0.2] * 3)]

    def add(parent: int, offset: list[float], limit: ik.Limit) -> int:
        parents.append(parent)
        offsets.append(offset)
        limits.append(limit)
        return len(parents) - 1

    chest = 0
    for _ in range(3):
        chest = add(chest, [0, 0.15, 0], ik.Limit.euler("xyz", [-0.3] * 3, [0.3] * 3))
    hands = []
    for side in (1, -1):
        collar = add(chest, [0.03 * side, 0.12, 0], ik.Limit.euler("xyz", [-0.2, -0.3, -0.3], [0.2, 0.3, 0.3]))
        upper = add(collar, [0.15 * side, 0, 0], ik.Limit.cone([side, 0, 0], 1.6, twist=(-1.5, 1.5)))
        elbow = add(upper, [0.29 * side, 0, 0], ik.Limit.hinge([0, side, 0], -2.5, -0.02))
        hands.append(add(elbow, [0.26 * side, 0, 0], ik.Limit.free()))
    return ik.Skeleton(parents, offsets, limits=limits), hands


def cells(skeleton: ik.Skeleton, tips: list[int], seed: int) -> list[str]:
    """The results of every method on the same curves."""
    random = np.random.default_rng([seed, len(skeleton)])
    places = skeleton.forward(ik.Pose(poses(skeleton, random))).positions
    goals = [ik.Reach(tip, curves(places[:, tip], random)) for tip in tips]
    return [cell(ik.solve(skeleton, skeleton.rest, goals, method, sequence=True)) for method in METHODS]


def poses(skeleton: ik.Skeleton, random: np.random.Generator) -> Array:
    """Allowed poses; joints without limits turn by about 40 degrees."""
    turned = ik.rotations.exp(0.4 * random.normal(size=(POSES, len(skeleton), 3)))
    for joint, limit in enumerate(skeleton.limits):
        if limit is not None and limit.kind != "free":
            turned[:, joint] = limit.sample(POSES, seed=int(random.integers(2**31)))
    return turned


def curves(places: Array, random: np.random.Generator) -> Array:
    """Curves (FRAMES, CURVES, 3) about the middle of the positions, from half to twice as wide."""
    pace, phase = random.integers(1, 4, (CURVES, 3)), random.uniform(0, 2 * np.pi, (CURVES, 3))
    wide = random.uniform(0.5, 2, (CURVES, 3)) * places.std(axis=0)
    time = np.linspace(0, 2 * np.pi, FRAMES)[:, np.newaxis, np.newaxis]
    return np.asarray(places.mean(axis=0) + wide * np.sin(pace * time + phase))


def cell(found: ik.Solution) -> str:
    """The share of frames that are reached, and of pairs with such joint rotations."""
    reached, rotations = found.status == 0, found.pose.rotations
    steps = np.degrees(angles(rotations[1:], rotations[:-1])).max(axis=-1)[1:]
    pairs = steps[reached[2:] & reached[1:-1]]
    return f"{share(float(np.mean(reached)))}, {np.sum(pairs > 15)}, {np.sum(pairs > 45)}"


if __name__ == "__main__":
    main()
