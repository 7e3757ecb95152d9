"""Sharpest bend of a free tail by each method: the largest angle between two bones, from a straight rest.

The tail has 20 bones of equal length and no limits. Targets are at 20 to 95 % of its reach, in random directions. A
circular arc bends most evenly: `circle` is that row.

    python benchmarks/shapes.py [--quick]
"""

from __future__ import annotations

import sys

import numpy as np

import ikcore as ik

BONES = 20
METHODS = (
    "circle",
    "transpose",
    "sdls",
    "dls",
    "newton",
    "lbfgsb",
    "svf",
    "gauss_seidel",
    "follow",
    "spring",
    "fabrik",
    "ccd",
)
ITERATIONS = {"spring": 2000}  # others: their default


def sharpest(method: str, targets: np.ndarray) -> tuple[np.ndarray, float]:
    """The sharpest bend of each pose, in degrees, and the share of targets reached."""
    tail = ik.Skeleton.chain([[x, 0, 0] for x in range(BONES + 1)])
    options = {"iterations": ITERATIONS[method]} if method in ITERATIONS else {}
    found = ik.solve(tail, tail.rest, [ik.Reach(BONES, targets)], method, **options)
    bones = np.diff(tail.forward(found.pose).positions, axis=1)
    cosine = np.sum(bones[:, 1:] * bones[:, :-1], axis=-1)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1))).max(axis=1), float(np.mean(found.status == 0))


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    count = 20 if "--quick" in sys.argv else 1000
    way = rng.normal(size=(count, 3))
    targets = way / np.linalg.norm(way, axis=1, keepdims=True) * BONES * rng.uniform(0.2, 0.95, (count, 1))
    print("| method | solved | sharpest bend, median | 19 of 20 below | over 90 degrees |")
    print("| --- | --- | --- | --- | --- |")
    for method in METHODS:
        bend, solved = sharpest(method, targets)
        middle, high = np.quantile(bend, [0.5, 0.95])
        print(f"| `{method}` | {solved:.1%} | {middle:.0f}° | {high:.0f}° | {np.mean(bend > 90):.0%} |")


if __name__ == "__main__":
    main()
