"""Speed of `Skeleton.forward`, compared with NumPy level by level and with a copy of as many bytes.

`python benchmarks/skeleton.py [--quick]` prints Markdown, for docs/records/figures.md. As in run.py, all variants
of a row run in turn in one process, and the minimum is kept.
"""

from __future__ import annotations

import functools
import itertools
import platform
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import DTYPES, best_isa, copy_of, isas, processor, significant, table
from timing import QUICK, Variant, load_now, parser_of, round_robin

import ikcore as ik
from ikcore import _core

ITEMS = 64 if QUICK else 16_384
ROUNDS = 1 if QUICK else 15
JOINTS = (30, 100)
SEED = 20261121


def main() -> None:
    """Measure and print."""
    parser_of(__doc__).parse_args()
    load = load_now()
    cases = itertools.product(JOINTS, DTYPES, (False, True))
    rows = [row_of(joints, dtype, translated) for joints, dtype, translated in cases]
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {platform.system()}, ikcore {_core.__version__}, NumPy {np.__version__}, {ROUNDS} rounds")
    print(f"- {ITEMS:,} poses of a random tree, seed {SEED}; nanoseconds a joint\n")
    header = ["joints", "numbers", "pose", *isas(), "`forward`", "NumPy", "copy", "bytes a joint"]
    print("\n".join(table(header, rows)))


def row_of(joints: int, dtype: str, translated: bool) -> list[str]:
    """One row: the kernel by instruction set with reused results, the public function, and its competitors."""
    skeleton, pose = random_tree(joints), random_poses(joints, dtype, translated)
    found = skeleton.forward(pose)
    positions, rotations = by_level(skeleton, pose)
    if not (np.allclose(found.positions, positions, atol=1e-3) and np.allclose(found.rotations, rotations, atol=1e-3)):
        raise SystemExit("NumPy does not solve the same problem")
    arrays = (pose.rotations, pose.translations, None, found.positions, found.rotations)
    kernel = functools.partial(_core.forward, skeleton._data, *arrays)
    moved = sum(array.nbytes for array in arrays if array is not None)
    variants = {isa: Variant(kernel, functools.partial(_core.use_isa, isa)) for isa in isas()}
    variants["forward"] = Variant(functools.partial(skeleton.forward, pose), best_isa)
    variants["NumPy"] = Variant(functools.partial(by_level, skeleton, pose))
    variants["copy"] = Variant(copy_of(moved))
    timings = round_robin(variants, ROUNDS)
    best_isa()
    each = [significant(timing.best / (ITEMS * joints) * 1e9) for timing in timings.values()]
    given = "rotations, translations" if translated else "rotations"
    return [str(joints), dtype, given, *each, str(moved // (ITEMS * joints))]


def random_tree(joints: int) -> ik.Skeleton:
    """A tree of chains with occasional branches."""
    random = np.random.default_rng(SEED)
    parents = [max(-1, joint - 1 - int(random.choice(4, p=[0.7, 0.1, 0.1, 0.1]))) for joint in range(joints)]
    parents[1:] = [max(0, parent) for parent in parents[1:]]
    return ik.Skeleton(parents, random.uniform(-1, 1, (joints, 3)))


def random_poses(joints: int, dtype: str, translated: bool) -> ik.Pose:
    """Random rotations."""
    random = np.random.default_rng(SEED)
    rotations = ik.rotations.normalize(random.normal(size=(ITEMS, joints, 4)).astype(dtype))
    return ik.Pose(rotations, random.uniform(-1, 1, (ITEMS, joints, 3)).astype(dtype) if translated else None)


def by_level(skeleton: ik.Skeleton, pose: ik.Pose) -> tuple[NDArray[Any], NDArray[Any]]:
    """Forward kinematics in typical NumPy: all joints of one depth at a time."""
    parents = skeleton.parents
    local = skeleton.offsets.astype(pose.dtype) if pose.translations is None else pose.translations
    local = np.broadcast_to(local, (*pose.rotations.shape[:2], 3))
    positions, rotations = local.copy(), pose.rotations.copy()
    level = np.flatnonzero(np.isin(parents, np.flatnonzero(parents < 0)))
    while level.size:
        above = rotations[:, parents[level]]
        t = 2 * np.cross(above[..., 1:], local[:, level])
        turned = local[:, level] + above[..., :1] * t + np.cross(above[..., 1:], t)
        positions[:, level] = positions[:, parents[level]] + turned
        rotations[:, level] = multiply(above, pose.rotations[:, level])
        level = np.flatnonzero(np.isin(parents, level))
    return positions, rotations


def multiply(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Products of quaternions (w, x, y, z)."""
    product = np.empty_like(a)
    product[..., 0] = a[..., 0] * b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(-1)
    product[..., 1:] = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return product


if __name__ == "__main__":
    main()
