"""Time to read and write a BVH file: `python benchmarks/clips_reading.py [--quick]`.

The parser of `Clip.read`, `np.fromstring` and `float` per word parse the same bytes. Prints Markdown, for
docs/records/figures.md. As in run.py, all variants of a row run in turn in one process, and the minimum is kept.
"""

from __future__ import annotations

import functools
import platform
import tempfile
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import processor, significant, table
from timing import QUICK, Variant, load_now, parser_of, round_robin

from ikcore import Clip, Pose, Skeleton, _core, rotations

FRAMES, JOINTS = 50 if QUICK else 20_000, 20
ROUNDS = 1 if QUICK else 15
SEED = 20261121
FORMATS = {"4 decimals": "%.4f", "6 decimals": "%.6f", "17 digits": "%.17g"}


def main() -> None:
    """Measure and print."""
    parser_of(__doc__).parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy's text reader
    load = load_now()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row_of(name, form, Path(folder) / "clip.bvh") for name, form in FORMATS.items()]
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {platform.system()}, ikcore {_core.__version__}, NumPy {np.__version__}, {ROUNDS} rounds, seed {SEED}")
    print(f"- {FRAMES:,} frames of {JOINTS} joints; nanoseconds a number\n")
    header = [
        "numbers with",
        "parsed",
        "`np.fromstring`",
        "`float`",
        "of `np.fromstring`",
        "`Clip.read`",
        "`Clip.write`",
    ]
    print("\n".join(table(header, rows)))


def row_of(name: str, form: str, path: Path) -> list[str]:
    """A row for one number format."""
    clip = turning()
    clip.write(path)
    lines = path.read_bytes().splitlines(keepends=True)
    numbers = np.loadtxt(lines[-FRAMES:])
    text = "\n".join(" ".join([form] * numbers.shape[1]) % tuple(row) for row in numbers.tolist()).encode()
    path.write_bytes(b"".join(lines[:-FRAMES]) + text)
    variants = {
        "parsed": Variant(functools.partial(_core.parse_numbers, text, 0)),
        "NumPy": Variant(functools.partial(np.fromstring, text, sep=" ")),
        "float": Variant(lambda: [float(word) for word in text.split()]),
        "read": Variant(functools.partial(Clip.read, path)),
        "write": Variant(functools.partial(clip.write, path.with_name("other.bvh"))),
    }
    check(text)
    taken = {name: timing.best / numbers.size * 1e9 for name, timing in round_robin(variants, ROUNDS).items()}
    parsed, beside, plain, read, written = map(significant, taken.values())
    return [name, parsed, beside, plain, f"{taken['parsed'] / taken['NumPy']:.2f}", read, written]


def turning() -> Clip:
    """A chain with smooth random rotations."""
    numbers: NDArray[Any] = np.random.default_rng(SEED).normal(size=(FRAMES, JOINTS, 3))
    turned = rotations.from_euler(np.cumsum(0.02 * numbers, axis=0), "ZXY")
    return Clip(Skeleton.chain(np.arange(JOINTS)[:, np.newaxis] * [0, 0.1, 0]), Pose(turned), fps=60)


def check(text: bytes) -> None:
    """Check that all parsers give the same doubles."""
    ours = _core.parse_numbers(text, 0)
    if not np.array_equal(ours, [float(word) for word in text.split()]):
        raise SystemExit("other numbers than float() finds")


if __name__ == "__main__":
    main()
