"""Time per ray and per tree build, compared with Embree: `python benchmarks/ground.py [--quick]`.

Embree's single rays come from `pip install embreex`; without it, its columns are empty. It computes in floats, ikcore
in doubles. Prints Markdown, for docs/records/figures.md. As in run.py, all variants of a row run in turn in one
process, and the minimum is kept.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import platform
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import best_isa, isas, processor, significant, table
from timing import QUICK, Variant, load_now, parser_of, round_robin

import ikcore as ik
from ikcore import Ground, _core

RAYS = 64 if QUICK else 16_384
CELLS = (3, 5) if QUICK else (71, 224, 707)
BALLS = (3, 4) if QUICK else (200, 13)  # number of balls, and rows of triangles in each
ROUNDS = 1 if QUICK else 25
SEED = 20261121
Rays = tuple[NDArray[Any], NDArray[Any]]


def main() -> None:
    """Measure and print."""
    parser_of(__doc__).parse_args()
    load = load_now()
    meshes = {f"terrain, {2 * cells**2:,} triangles": terrain(cells) for cells in CELLS}
    some = balls(*BALLS)
    meshes[f"{BALLS[0]} balls, {len(some[1]):,} triangles"] = some
    rows = [row for name, mesh in meshes.items() for row in rows_of(name, *mesh)]
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {platform.system()}, ikcore {_core.__version__}, NumPy {np.__version__}, {ROUNDS} rounds, seed {SEED}")
    print(f"- {RAYS:,} rays; nanoseconds a ray, milliseconds a tree\n")
    header = ["mesh", "rays", *isas(), "`Ground.cast`", "`Ground.at`", "Embree", "of Embree"]
    print("\n".join(table(header, rows)))
    print(f"\n`Ground.at`, {RAYS:,} points, 4 a frame where the ground moves; nanoseconds a point\n")
    print("\n".join(table(["ground", "`Ground.at`"], rows_of_grounds())))


def rows_of(name: str, vertices: NDArray[Any], faces: NDArray[Any]) -> list[list[str]]:
    """One row for the build, one for each kind of rays."""
    corners = faces.astype(np.int32)
    ground, mesh = Ground.mesh(vertices, faces), _core.Mesh(vertices, corners)
    variants = {"build": Variant(functools.partial(_core.Mesh, vertices, corners))}
    embree = embree_of(vertices, corners)
    if embree:
        variants["Embree"] = Variant(lambda: embree_of(vertices, corners))
    built = {name: timing.best * 1e3 for name, timing in round_robin(variants, ROUNDS).items()}
    lines = [line(name, "build", [], None, None, built["build"], built.get("Embree"))]
    for kind, (origins, directions) in rays_of(vertices).items():
        lines.append(row_of(name, kind, ground, mesh, embree, origins, directions))
    return lines


def rows_of_grounds() -> list[list[str]]:
    """Time per point on several kinds of grounds, along the paths of feet."""
    numbers = np.random.default_rng(SEED)
    frames = RAYS // 4
    turns, shifts = numbers.normal([1, 0, 0, 0], 0.01, (frames, 4)), numbers.normal(0, 0.01, (frames, 3))
    hilly = terrain(224)
    floor, stairs, hills = Ground.plane(), ik.terrain.stairs(5, rise=0.2, run=0.3), Ground.mesh(*hilly)
    grounds = {
        "plane": floor,
        "stairs": stairs,
        "plane, stairs": floor + stairs,
        "plane, stairs, terrain of 100,352 triangles": floor + stairs + hills,
        "plane that shifts": floor.moved(translations=shifts),
        "stairs that turn and shift": stairs.moved(turns, shifts),
    }
    points = rays_of(hilly[0])["down, walking"][0].reshape(frames, 4, 3)
    variants = {
        name: Variant(functools.partial(ground.at, points, above=0, below=100)) for name, ground in grounds.items()
    }
    timings = round_robin(variants, ROUNDS)
    return [[name, significant(timings[name].best / RAYS * 1e9)] for name in grounds]


def row_of(name: str, kind: str, ground: Ground, mesh: Any, embree: Any, origins: Any, directions: Any) -> list[str]:
    """The kernel by instruction set with results reused, the functions as users call them, and Embree."""
    whole = [np.empty(RAYS, np.int32) for _ in range(4)]
    outputs: Any = (np.empty(RAYS), np.empty((RAYS, 3)), np.empty((RAYS, 3)), *whole)
    inputs: Any = (((mesh, None, None),), 1, False, 0, RAYS, origins, directions, np.full(RAYS, np.inf), None)
    kernel = functools.partial(_core.cast, *inputs, *outputs)
    variants = {isa: Variant(kernel, functools.partial(_core.use_isa, isa)) for isa in isas()}
    variants["cast"] = Variant(functools.partial(ground.cast, origins, directions), best_isa)
    if kind != "any direction":
        variants["at"] = Variant(functools.partial(ground.at, origins, above=0, below=100))
    if embree:
        narrow = (origins.astype(np.float32), directions.astype(np.float32))
        kernel()
        check(whole[0], embree(*narrow))
        variants["Embree"] = Variant(functools.partial(embree, *narrow))
    timings = {name: timing.best / RAYS * 1e9 for name, timing in round_robin(variants, ROUNDS).items()}
    best_isa()
    kernels = [timings[isa] for isa in isas()]
    return line(name, kind, kernels, timings["cast"], timings.get("at"), kernels[-1], timings.get("Embree"))


def line(
    name: str,
    kind: str,
    kernels: list[float],
    cast: float | None,
    at: float | None,
    ours: float,
    embree: float | None,
) -> list[str]:
    """Figures as text."""
    shown = kernels or [None] * (len(isas()) - 1) + [ours]
    ratio = f"{ours / embree:.2f}" if embree else ""
    return [name, kind, *("" if x is None else significant(x) for x in (*shown, cast, at, embree)), ratio]


def terrain(cells: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Hills, 20 m by 20 m."""
    at = np.arange(cells + 1) * (20 / cells)
    noise = np.random.default_rng(SEED).uniform(0, 0.02, (cells + 1, cells + 1))
    hills = 0.5 * np.sin(1.3 * at)[:, np.newaxis] + 0.4 * np.sin(2.1 * at + at[:, np.newaxis]) + noise
    body: Any = Ground.heights(hills, 20 / cells).parts[0].body
    return body.vertices, body.faces


def balls(count: int, rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Closed bodies of all sizes, some above others."""
    numbers = np.random.default_rng(SEED)
    turn, lean = np.meshgrid(np.linspace(0, 2 * np.pi, 2 * rows + 1), np.linspace(0, np.pi, rows + 1), indexing="ij")
    ball = np.stack([np.cos(turn) * np.sin(lean), np.cos(lean), np.sin(turn) * np.sin(lean)], -1).reshape(-1, 3)
    corner = (np.arange(2 * rows)[:, np.newaxis] * (rows + 1) + np.arange(rows)).ravel()
    quads = [corner, corner + 1, corner + rows + 2, corner, corner + rows + 2, corner + rows + 1]
    faces = np.stack(quads, -1).reshape(-1, 3)
    bumpy = ball * numbers.uniform(0.97, 1.03, (count, len(ball), 1))
    where, size = numbers.uniform([0, 0, 0], [20, 2, 20], (count, 3)), numbers.uniform(0.1, 0.8, (count, 1, 1))
    shift = len(ball) * np.arange(count)[:, np.newaxis, np.newaxis]
    return (bumpy * size + where[:, np.newaxis]).reshape(-1, 3), (faces + shift).reshape(-1, 3)


def rays_of(vertices: NDArray[Any]) -> dict[str, Rays]:
    """Downward rays along the paths of two feet, downward rays anywhere, and random rays."""
    numbers = np.random.default_rng(SEED)
    step = np.arange(RAYS)
    feet = np.stack([2 + 16 * step / RAYS, np.full(RAYS, 4.0), 10 + 0.3 * np.sin(step * 0.01) + step % 2 * 0.2], -1)
    anywhere = numbers.uniform([0, 4, 0], [20, 4, 20], (RAYS, 3))
    down = np.tile([0, -1.0, 0], (RAYS, 1))
    within = numbers.uniform(vertices.min(0), vertices.max(0), (RAYS, 3))
    return {
        "down, walking": (feet, down),
        "down, anywhere": (anywhere, down),
        "any direction": (within, numbers.normal(size=(RAYS, 3))),
    }


def embree_of(vertices: NDArray[Any], faces: NDArray[Any]) -> Callable[[Any, Any], NDArray[Any]] | None:
    """The numbers of the triangles hit by rays, by Embree's rtcIntersect1."""
    if importlib.util.find_spec("embreex") is None:
        return None
    scene = importlib.import_module("embreex.rtcore_scene").EmbreeScene(robust=True)
    importlib.import_module("embreex.mesh_construction").TriangleMesh(scene, vertices[faces].astype(np.float32))
    scene.run(np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32))  # builds the tree

    def hit(origins: NDArray[Any], directions: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = scene.run(origins, directions)
        return found

    return hit


def check(ours: NDArray[Any], theirs: NDArray[Any]) -> None:
    """Check that both find the same triangles, except for a few on edges."""
    if np.mean(ours != theirs) > 1e-3:
        raise SystemExit(f"Embree finds other triangles: {np.mean(ours != theirs):.2%} differ")


if __name__ == "__main__":
    main()
