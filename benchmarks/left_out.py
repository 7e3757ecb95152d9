"""Known methods that are not included, compared with those that are: triangulation, and FABRIK with passed-on energy.

They are written in NumPy, and run on the chain of ten bones of which.py, with its targets and paths. Prints Markdown,
for docs/methods/which.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from run import share, significant, table
from timing import QUICK, parser_of
from which import CASES, ITEMS, PATHS, TOLERANCE, halves, largest_step

import ikcore as ik

Array = NDArray[np.float64]
# From current bones (..., n, 3) and targets to new bones and iterations.
Step = Callable[[Array, Array], tuple[Array, Array]]
# From targets, each solved from rest or from the previous frame, to rotations and iterations.
Way = Callable[[Array, bool], tuple[Array, Array]]

CASE = CASES[0]
LENGTHS = np.array(CASE.lengths)
X, Y = np.eye(3)[:2]
NEAR = TOLERANCE / 10 * LENGTHS.sum()
MOST = 20 if QUICK else 3000
HEADER = ["chain of 10", "solved", "iterations", "root half, tip half", "on paths", "largest step"]


def main() -> None:
    """The table, ready for Markdown."""
    parser_of(__doc__).parse_args()
    print("\n".join(table(HEADER, list(rows()))))
    print(f"\n- {ITEMS:,} targets from rest and {PATHS} paths, as in which.py; {MOST:,} iterations at most")


def rows() -> Iterator[list[str]]:
    """Methods in NumPy, then those of ikcore."""
    all_of_it, falling = np.ones(len(LENGTHS)), np.linspace(0.5, 1, len(LENGTHS))
    yield row("triangulation", by_frames(triangulated))
    yield row("FABRIK as published", by_frames(fabrik(all_of_it, MOST)))
    yield row("half at the root to all at the tip", by_frames(fabrik(falling, MOST)))
    yield row("... in the first ten iterations", by_frames(fabrik(falling, 10)))
    yield row("... in the first three", by_frames(fabrik(falling, 3)))
    yield row("nine tenths everywhere", by_frames(fabrik(0.9 * all_of_it, MOST)))
    for name in ("fabrik", "circle", "dls", "ccd"):
        yield row(f"`{name}`", of_ikcore(name))
    yield row("`ccd` from the root", of_ikcore("ccd", start_from_tail=False))


def row(name: str, way: Way) -> list[str]:
    """One method: from rest, and along the paths."""
    targets, paths = (np.asarray(CASE.goals(poses)[0].position) for poses in (CASE.poses(ITEMS, 0), CASE.paths()))
    (turned, iterations), (moving, _) = way(targets, False), way(paths, True)
    root, tip = halves(turned)
    return [
        name,
        share(met(turned, targets)),
        significant(float(np.mean(iterations))),
        f"{root:.0f}°, {tip:.0f}°",
        share(met(moving, paths)),
        f"{largest_step(moving):.0f}°",
    ]


def met(rotations: Array, targets: Array) -> float:
    """The share reached, by forward kinematics."""
    tips = CASE.skeleton.forward(ik.Pose(rotations)).positions[..., -1, :]
    return float(np.mean(np.linalg.norm(tips - targets, axis=-1) <= TOLERANCE * LENGTHS.sum()))


def of_ikcore(method: str, **options: bool) -> Way:
    """A method of ikcore."""

    def way(targets: Array, sequence: bool) -> tuple[Array, Array]:
        skeleton, goals = CASE.skeleton, [ik.Reach(len(LENGTHS), targets)]
        found = ik.solve(skeleton, skeleton.rest, goals, method, tolerance=TOLERANCE / 10, sequence=sequence, **options)
        return found.pose.rotations, found.iterations.astype(float)

    return way


def by_frames(step: Step) -> Way:
    """A method in NumPy: from rest, or each frame from the previous one."""

    def way(targets: Array, sequence: bool) -> tuple[Array, Array]:
        bones = np.broadcast_to(LENGTHS[:, None] * X, (*targets.shape[-2:-1], len(LENGTHS), 3))
        if not sequence:
            after, iterations = step(bones, targets)
            return rotations_of(after), iterations
        frames = []
        for frame in targets:
            bones, _ = step(bones, frame)
            frames.append(rotations_of(bones))
        return np.stack(frames), np.zeros(0)

    return way


def rotations_of(bones: Array) -> Array:
    """Local rotations by the shortest arc from bone to bone."""
    above = np.broadcast_to([1.0, 0, 0, 0], (*bones.shape[:-2], 4))
    found = []
    for bone in range(bones.shape[-2]):
        now = ik.rotations.multiply(
            ik.rotations.shortest_arc(ik.rotations.rotate(above, X), bones[..., bone, :]), above
        )
        found.append(ik.rotations.multiply(ik.rotations.conjugate(above), now))
        above = now
    return np.stack([*found, np.broadcast_to([1.0, 0, 0, 0], above.shape)], axis=-2)


def unit(vectors: Array) -> Array:
    """Vectors scaled to length 1."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300))


def fabrik(shares: Array, first: int) -> Step:
    """FABRIK whose backward pass corrects only a share of each bone's length error, in the first iterations.

    The rest stays in the bone and is passed on to the root; 1 is the published method.
    """

    def step(bones: Array, targets: Array) -> tuple[Array, Array]:
        points = np.concatenate([np.zeros((len(bones), 1, 3)), np.cumsum(bones, axis=1)], axis=1)
        count = np.zeros(len(bones))
        for iteration in range(MOST):
            open_ = np.linalg.norm(points[:, -1] - targets, axis=-1) > NEAR
            if not open_.any():
                break
            points[open_] = passed(points[open_], targets[open_], shares if iteration < first else np.ones(len(shares)))
            count += open_
        return np.diff(points, axis=1), count

    return step


def passed(points: Array, targets: Array, shares: Array) -> Array:
    """One backward and forward pass."""
    after = points.copy()
    after[:, -1] = targets
    for bone in range(len(LENGTHS) - 1, -1, -1):
        way = after[:, bone + 1] - after[:, bone]
        too_long = np.linalg.norm(way, axis=-1, keepdims=True) - LENGTHS[bone]
        after[:, bone] += shares[bone] * too_long * unit(way)
    after[:, 0] = 0
    for bone in range(len(LENGTHS)):
        after[:, bone + 1] = after[:, bone] + LENGTHS[bone] * unit(after[:, bone + 1] - after[:, bone])
    return after


def triangulated(bones: Array, targets: Array) -> tuple[Array, Array]:
    """From the root, each bone and the straight rest of the chain form a triangle over the line to the target.

    R. Mueller-Cajar, R. Mukundan, "Triangulation: a new algorithm for inverse kinematics", IVCNZ 2007.
    """
    after, at = np.empty(bones.shape), np.zeros(targets.shape)
    for bone, length in enumerate(LENGTHS):
        rest, way = LENGTHS[bone + 1 :].sum(), targets - at
        distance = np.linalg.norm(way, axis=-1, keepdims=True)
        towards, now = unit(way), bones[:, bone]
        aside = now - np.sum(now * towards, axis=-1, keepdims=True) * towards
        is_bent = np.linalg.norm(aside, axis=-1, keepdims=True) > 1e-9
        aside = unit(np.where(is_bent, aside, Y - np.sum(Y * towards, axis=-1, keepdims=True) * towards))
        cosine = (length**2 + distance**2 - rest**2) / np.maximum(2 * length * distance, 1e-300)
        cosine = np.clip(cosine, -1, 1)  # towards the target if it is too far, away from it if it is too near
        after[:, bone] = length * (cosine * towards + np.sqrt(1 - cosine**2) * aside)
        at = at + after[:, bone]
    return after, np.ones(len(bones))


if __name__ == "__main__":
    main()
