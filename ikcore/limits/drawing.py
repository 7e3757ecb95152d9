"""A picture of a limit, for `Limit.draw`: the only module that needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore.limits import kusudama

if TYPE_CHECKING:
    from ikcore.limits.limit import Limit

Array = NDArray[Any]

ALLOWED, TWIST, SPHERE = "tab:blue", "tab:orange", "0.8"
TWIST_RADIUS = 0.35
STEPS = 49  # grid points of a patch, per side


def draw(limit: Limit, ax: Any = None) -> Any:
    """The allowed directions of the axis as a patch of a sphere, the twist as a fan about the axis at rest."""
    ax = _axes() if ax is None else ax
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    ax.plot_wireframe(np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v), color=SPHERE, linewidth=0.4)
    axis = _axis(limit)
    ax.plot(*np.stack([0 * axis, axis], axis=-1), color="black", linewidth=2)
    for patch in _patches(limit):
        ax.plot_surface(*np.moveaxis(patch, -1, 0), color=ALLOWED, alpha=0.5, linewidth=0, shade=False)
    if limit.kind != "locked":
        ax.plot(*_fan(limit).T, color=TWIST, linewidth=2)
    ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1), xlabel="x", ylabel="y", zlabel="z", box_aspect=(1, 1, 1))
    return ax


def _axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("drawing a limit needs matplotlib: pip install 'ikcore[plot]'") from error
    return plt.figure(figsize=(4.5, 4.5)).add_subplot(projection="3d")


def _axis(limit: Limit) -> Array:
    """The axis of the twist; for an Euler box, the axis that turns first."""
    return np.eye(3)[limit.axes[0]] if limit.kind == "euler" else rotations.rotate(limit.frame, [1, 0, 0])


def _patches(limit: Limit) -> list[Array]:
    if limit.kind == "kusudama":
        return [rotations.rotate(limit.frame, patch) for patch in kusudama.patches(limit.cones, STEPS)]
    return [_directions(limit)] if limit.kind in ("free", "ball", "euler") else []


def _directions(limit: Limit, steps: int = STEPS) -> Array:
    """A grid of allowed directions of the axis."""
    u, v = np.meshgrid(np.linspace(0, 1, steps), np.linspace(0, 1, steps))
    if limit.kind == "euler":
        (low, high), axes = np.array([limit.lowest, limit.highest])[:, 1:], limit.axes
        middle = rotations.from_axis_angle(np.eye(3)[axes[1]], low[0] + (high - low)[0] * u)
        outer = rotations.from_axis_angle(np.eye(3)[axes[2]], low[1] + (high - low)[1] * v)
        return rotations.rotate(rotations.multiply(outer, middle), _axis(limit))
    y, z = np.cos(2 * np.pi * v), np.sin(2 * np.pi * v)
    plus_y, minus_y, plus_z, minus_z = np.sin(np.array(limit.swing) / 2)
    y, z = u * y * np.where(y < 0, minus_y, plus_y), u * z * np.where(z < 0, minus_z, plus_z)
    across = 2 * np.sqrt(np.maximum(0, 1 - y**2 - z**2))  # from sines of half angles
    return rotations.rotate(limit.frame, np.stack([1 - 2 * (y**2 + z**2), across * y, across * z], axis=-1))


def _fan(limit: Limit) -> Array:
    """The twist range: an arc about the axis, with both ends joined to it."""
    axis = _axis(limit)
    low, high = (limit.lowest[0], limit.highest[0]) if limit.kind == "euler" else limit.twist
    turned = np.eye(3)[(limit.axes[0] + 1) % 3], rotations.rotate(limit.frame, [0, 1, 0])
    across = turned[limit.kind != "euler"]
    radius, centre = (1.0, 0 * axis) if limit.kind == "hinge" else (TWIST_RADIUS, axis)
    angles = np.linspace(low, min(high, low + 2 * np.pi), 60)
    arc = centre + radius * rotations.rotate(rotations.from_axis_angle(axis, angles), across)
    return arc if high - low >= 2 * np.pi else np.concatenate([[centre], arc, [centre]])
