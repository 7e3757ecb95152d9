"""Trees whose ends all have targets: how many are reached, in how many iterations, and in what time.

Targets come from random allowed poses of thirty trees per group. In wide trees a joint's parent is any earlier joint,
in others one of the last four. All start at rest. The last row repeats the previous one with restarts from random
poses. Prints Markdown, for docs/records/figures.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import significant, table
from timing import QUICK, parser_of

import ikcore as ik

TREES, ITEMS = (2, 8) if QUICK else (30, 64)
SIZES = [(14, False), (24, False), (24, True), (40, True)]
LIMITS = ["free", "hinges", "boxes", "cones", "mixed"]
METHODS = ["fabrik", "ccd", "dls"]
HARDEST, RESTARTS = (40, True, "free"), 10
TURNED = (0.1, 0.3, 1.0)  # rotation of free joints, relative to the largest; a third of the trees each
NEAR = 4

Array = NDArray[np.float64]
Tree = tuple[ik.Skeleton, list[ik.Goal]]


def main() -> None:
    """Print the table in Markdown."""
    parser_of(__doc__).parse_args()
    head = ["joints", "limits", *(f"`{method}`: met, iterations, µs" for method in METHODS)]
    print("\n".join(table(head, list(groups()))))
    size, wide, kind = HARDEST
    again = cell(trees_of(size, wide, kind), "fabrik", restarts=RESTARTS)
    print(f"\n{size}, wide, {kind}, `fabrik` with {RESTARTS} restarts: {again}")


def groups() -> Iterator[list[str]]:
    """A row per size and kind of limits."""
    for joints, wide in SIZES:
        for kind in LIMITS:
            trees = trees_of(joints, wide, kind)
            yield [f"{joints}{', wide' if wide else ''}", kind, *(cell(trees, method) for method in METHODS)]


def trees_of(joints: int, wide: bool, kind: str) -> list[Tree]:
    """The trees of a group."""
    return [tree(seed, joints, wide, kind) for seed in range(TREES)]


def cell(trees: list[Tree], method: str, restarts: int = 0) -> str:
    """Number reached, mean iterations, and time per item."""
    met: list[Any] = []
    counts: list[Any] = []
    before = process_time()
    for skeleton, goals in trees:
        start = ik.Pose(skeleton.rest.rotations.astype(np.float32))
        found = ik.solve(skeleton, start, goals, method, restarts=restarts)
        met.append(found.status == 0)
        counts.append(found.iterations)
    spent = 1e6 * (process_time() - before) / (len(trees) * ITEMS)
    return f"{100 * np.mean(met):.2f} %, {significant(float(np.mean(counts)))}, {significant(spent)}"


def tree(seed: int, joints: int, wide: bool, kind: str) -> Tree:
    """Bones of 0.3 to 1 in random directions, and the target positions of the ends."""
    random = np.random.default_rng([seed, joints, wide])
    back = joints if wide else NEAR
    parents = [-1, *(int(random.integers(max(0, joint - back), joint)) for joint in range(1, joints))]
    offsets = unit(random.normal(size=(joints, 3))) * random.uniform(0.3, 1, (joints, 1))
    limits = [limit(random, kind) for _ in range(joints)]
    skeleton = ik.Skeleton(parents, offsets, limits=limits)
    turned = random.normal(0, TURNED[seed % 3], (ITEMS, joints, 4))
    turned[..., 0] = 1
    turned = unit(turned)
    for joint, allowed in enumerate(limits):
        if allowed is not None:
            turned[:, joint] = allowed.sample(ITEMS, seed=int(random.integers(2**31)))
    places = skeleton.forward(ik.Pose(turned)).positions
    return skeleton, [ik.Reach(end, places[:, end]) for end in sorted({*range(joints)} - {*parents})]


def limit(random: np.random.Generator, kind: str) -> ik.Limit | None:
    """The limit of a joint, which contains the rest pose."""
    if kind == "mixed":
        kind = LIMITS[random.integers(4)]
    low, high = random.uniform(0.2, 0.9, (2, 3))
    if kind == "hinges":
        return ik.Limit.hinge(unit(random.normal(size=3)), -1.5 * low[0], 1.5 * high[0])
    if kind == "boxes":
        return ik.Limit.euler("xyz", tuple(-low), tuple(high))
    if kind == "cones":
        return ik.Limit.cone(unit(random.normal(size=3)), random.uniform(0.3, 1), twist=(-low[0], high[0]))
    return None


def unit(v: Array) -> Array:
    """Vectors scaled to length 1."""
    return np.asarray(v / np.linalg.norm(v, axis=-1, keepdims=True))


if __name__ == "__main__":
    main()
