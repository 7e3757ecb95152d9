"""Speed of `ccd` relative to a typical CCD in numba: `pip install numba`, `python benchmarks/ccd_numba.py`.

Chains of ten bones, as in methods.py, from their own poses. Both are compiled and use one thread. Prints Markdown, for
docs/records/figures.md; without numba only the row of `ccd`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from mechanisms import TOLERANCE
from methods import ITEMS, chain
from numpy.typing import NDArray
from run import DTYPES, share, table
from timing import QUICK, Variant, parser_of, round_robin

import ikcore as ik

BONES, SWEEPS, ROUNDS = 10, 200, 3 if QUICK else 25
Array = NDArray[Any]
Ccd = Callable[[Array, Array, Array, float, int, Array, Array], None]


def main() -> None:
    """Print the table."""
    parser_of(__doc__).parse_args()
    rows = [row for dtype in DTYPES for row in rows_of(dtype)]
    print("\n".join(table(["numbers", "CCD", "solved", "sweeps, mean", "ns a solve", "times as fast"], rows)))


def rows_of(dtype: str) -> list[list[str]]:
    """Rows of one number type: numba, `ccd` with `textbook`, which makes the same sweeps, and `ccd` by default."""
    case, numba = chain(BONES, dtype), ccd_numba()
    skeleton, pose, (goal,) = case.skeleton, case.pose, case.goals
    target, tolerance = np.asarray(goal.position), TOLERANCE * float(skeleton.offsets[:, 0].sum())
    solved, sweeps = np.empty_like(pose.rotations), np.empty(ITEMS, np.int32)

    def by_ikcore(*, textbook: bool) -> ik.Solution:
        return ik.ccd(skeleton, pose, case.goals, tolerance=TOLERANCE, iterations=SWEEPS, textbook=textbook)

    found = {
        f"`ccd{'(textbook=True)' * textbook}`": partial(by_ikcore, textbook=textbook) for textbook in (True, False)
    }
    rows = {name: (float(np.mean(run().status == 0)), run().iterations.mean()) for name, run in found.items()}
    variants = {name: Variant(run) for name, run in found.items()}
    if numba:
        offsets = skeleton.offsets.astype(dtype)
        variants["numba"] = Variant(partial(numba, offsets, pose.rotations, target, tolerance, SWEEPS, solved, sweeps))
        variants["numba"].run()
        off = np.linalg.norm(skeleton.forward(ik.Pose(solved)).positions[:, BONES] - target, axis=-1)
        rows["numba"] = (float(np.mean(off <= tolerance * 1.01)), sweeps.mean())
    times = round_robin(variants, ROUNDS)
    rows_made = []
    for name in variants:
        faster = f"{times['numba'].best / times[name].best:.1f}x" if numba else ""
        nanoseconds = f"{times[name].best / ITEMS * 1e9:.0f}"
        rows_made.append([dtype, name, share(rows[name][0]), f"{rows[name][1]:.1f}", nanoseconds, faster])
    return rows_made


def ccd_numba() -> Ccd | None:
    """Sweeps from the tip that move only the tip, and all joints at the end; None without numba.

    Arguments: offsets of a chain, local rotations (items, joints, 4), targets, tolerance as a distance, largest number
    of sweeps; and arrays for the resulting rotations and numbers of sweeps.
    """
    try:
        numba: Any = import_module("numba")
    except ImportError:
        return None

    @numba.njit(error_model="numpy", inline="always")
    def multiply(a: Any, b: Any) -> Any:
        return (
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        )

    @numba.njit(error_model="numpy", inline="always")
    def rotate(q: Any, x: Any, y: Any, z: Any) -> Any:
        a, b, c = q[2] * z - q[3] * y, q[3] * x - q[1] * z, q[1] * y - q[2] * x
        a, b, c = a + a, b + b, c + c
        return (
            x + q[0] * a + q[2] * c - q[3] * b,
            y + q[0] * b + q[3] * a - q[1] * c,
            z + q[0] * c + q[1] * b - q[2] * a,
        )

    @numba.njit(error_model="numpy")
    def solve(offsets: Any, rotations: Any, target: Any, tolerance: float, most: int, solved: Any, sweeps: Any) -> None:
        kind = rotations.dtype.type
        joints, one, none = len(offsets), kind(1), kind(0)
        place, world, turn = np.empty((joints, 3), kind), np.empty((joints, 4), kind), np.empty((joints, 4), kind)
        within = kind(tolerance * tolerance)
        for i in range(len(rotations)):
            tx, ty, tz = target[i]
            q, x, y, z = (one, none, none, none), none, none, none
            for j in range(joints):
                dx, dy, dz = rotate(q, offsets[j, 0], offsets[j, 1], offsets[j, 2])
                x, y, z = x + dx, y + dy, z + dz
                q = multiply(q, rotations[i, j])
                place[j, 0], place[j, 1], place[j, 2] = x, y, z
                world[j, 0], world[j, 1], world[j, 2], world[j, 3] = q
            sweep = 0
            while sweep < most and (x - tx) ** 2 + (y - ty) ** 2 + (z - tz) ** 2 > within:
                for j in range(joints - 2, -1, -1):
                    px, py, pz = place[j, 0], place[j, 1], place[j, 2]
                    ux, uy, uz = x - px, y - py, z - pz
                    gx, gy, gz = tx - px, ty - py, tz - pz
                    w = np.sqrt((ux * ux + uy * uy + uz * uz) * (gx * gx + gy * gy + gz * gz))
                    w += ux * gx + uy * gy + uz * gz
                    a, b, c = uy * gz - uz * gy, uz * gx - ux * gz, ux * gy - uy * gx
                    scale = one / np.sqrt(w * w + a * a + b * b + c * c)
                    q = (w * scale, a * scale, b * scale, c * scale)
                    turn[j, 0], turn[j, 1], turn[j, 2], turn[j, 3] = q
                    dx, dy, dz = rotate(q, ux, uy, uz)
                    x, y, z = px + dx, py + dy, pz + dz
                q, x, y, z = (one, none, none, none), place[0, 0], place[0, 1], place[0, 2]
                bx, by, bz = x, y, z
                for j in range(joints):
                    dx, dy, dz = rotate(q, place[j, 0] - bx, place[j, 1] - by, place[j, 2] - bz)
                    bx, by, bz = place[j, 0], place[j, 1], place[j, 2]
                    x, y, z = x + dx, y + dy, z + dz
                    place[j, 0], place[j, 1], place[j, 2] = x, y, z
                    if j < joints - 1:
                        q = multiply(q, turn[j])
                    world[j, 0], world[j, 1], world[j, 2], world[j, 3] = multiply(q, world[j])
                sweep += 1
            sweeps[i] = sweep
            q = (one, none, none, none)
            for j in range(joints):
                r = multiply((q[0], -q[1], -q[2], -q[3]), world[j])
                scale = one / np.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
                for k in range(4):
                    solved[i, j, k] = r[k] * scale
                q = (world[j, 0], world[j, 1], world[j, 2], world[j, 3])

    return solve


if __name__ == "__main__":
    main()
