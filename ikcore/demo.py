"""What ``ikcore demo`` does: solve many random limbs, and draw a leg that follows a target out of its reach."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore.solvers import Limb, two_bone
from ikcore.status import Status

_GREY = "#7c7c7c"  # reads on light and on dark


def run(items: int, output: str) -> None:
    """Solve `items` limbs, print rate and counts, write the picture to `output`."""
    problem = random_limbs(items)
    limb = Limb.empty(items, np.float32)
    seconds = min(_seconds_to_solve(problem, limb) for _ in range(3))
    print(f"two_bone on {_core.isa()}, float32: {items} limbs in {seconds * 1e3:.1f} ms,", end=" ")
    print(f"{items / seconds / 1e6:.1f} million a second on one core")
    print(limb.summary())
    Path(output).write_text(picture(), encoding="utf-8")
    print(f"a leg that follows a target through and beyond its reach: {Path(output).resolve()}")


def _seconds_to_solve(problem: dict[str, Any], limb: Limb) -> float:
    start = time.perf_counter()
    two_bone(**problem, out=limb)
    return time.perf_counter() - start


def random_limbs(items: int) -> dict[str, Any]:
    """Limbs of random bones, with targets out to 1.1 times their reach in every direction and poles anywhere."""
    rng = np.random.default_rng(1)

    def vectors() -> NDArray[np.float32]:
        return rng.standard_normal((items, 3), np.float32)

    root, bone1, bone2, towards = vectors(), vectors(), vectors(), vectors()
    reach = np.linalg.norm(bone1, axis=1) + np.linalg.norm(bone2, axis=1)
    distance = reach * rng.uniform(0.2, 1.1, items).astype(np.float32) / np.linalg.norm(towards, axis=1)
    mid = root + bone1
    target = root + towards * distance[:, np.newaxis]
    return {"root": root, "mid": mid, "end": mid + bone2, "target": target, "pole": root + vectors()}


def following_leg(frames: int = 25) -> tuple[Limb, NDArray[np.float64]]:
    """A leg, seen from its side (x forward, y up), and a target that passes below, ahead and out of reach."""
    t = np.linspace(0, 1, frames)
    target = np.stack([-0.45 + 1.35 * t, 0.12 + 0.1 * t + 0.75 * t**3, 0 * t], axis=-1)
    hip, knee, ankle = [0, 0.9, 0], [0.03, 0.48, 0], [0, 0.06, 0]
    return two_bone(hip, knee, ankle, target, bend=[1, 0.2, 0]), target


def picture() -> str:
    """Draw `following_leg` as SVG: older frames paler, the target's path dashed, missed targets red."""
    limb, target = following_leg()
    shapes = [_line(target, _GREY, 'stroke-dasharray="3 4"')]
    for frame, (joints, goal, status) in enumerate(zip(limb.positions, target, limb.status, strict=True)):
        reached = status == 0
        opacity = 0.15 + 0.85 * frame / len(target)
        shapes.append(_line(joints, "#2a6fb0" if reached else "#c0392b", f'opacity="{opacity:.2f}" stroke-width="3"'))
        shapes.append(_dot(goal, 4, "#2a9d5c" if reached else "#c0392b"))
        shapes += [_dot(joint, 2.5, _GREY, opacity) for joint in joints[1:]]
    shapes.append(_dot(limb.positions[0, 0], 6, _GREY))
    missed = int(np.count_nonzero(limb.status & Status.TOO_FAR))
    caption = f"A leg follows a target: {len(target) - missed} frames in reach (blue), {missed} beyond it (red)"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 420" width="640" height="420" '
        'font-family="sans-serif">\n'
        f'<text x="20" y="30" font-size="16" fill="{_GREY}">{caption}</text>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


def _pixel(point: NDArray[Any]) -> tuple[float, float]:
    """From metres, y up, to pixels, y down."""
    return 240 + 330 * float(point[0]), 390 - 330 * float(point[1])


def _line(points: NDArray[Any], color: str, style: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(_pixel, points))
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-linejoin="round" {style}/>'


def _dot(point: NDArray[Any], radius: float, color: str, opacity: float = 1.0) -> str:
    x, y = _pixel(point)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}" opacity="{opacity:.2f}"/>'
