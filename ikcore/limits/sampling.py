"""Random rotations that are uniform in a range, with the same bits on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore.limits.kusudama import uniform_directions

if TYPE_CHECKING:
    from ikcore.limits.limit import Limit

Array = NDArray[Any]

_TURN = 2 * np.pi

# The largest number of samples with distinct counters.
MOST_SAMPLES = 2**32 // 3


def samples(limit: Limit, n: int, seed: int) -> Array:
    """Rotations relative to rest, uniform within a limit except for rounding."""
    if limit.kind == "locked":
        return np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    if limit.kind == "kusudama":
        return _from_frame(limit, _of_kusudama(limit, n, seed))
    u = uniform(n, seed)
    if limit.kind == "euler":
        return _of_euler(limit, u)
    local = rotation_about(0, within(limit.twist, u[0]))
    if limit.kind != "hinge":
        local = rotations.multiply(swings(limit.swing, u[1], u[2]), local)
    return _from_frame(limit, local)


def _from_frame(limit: Limit, q: Array) -> Array:
    return np.concatenate([q[..., :1], rotations.rotate(limit.frame, q[..., 1:])], axis=-1)


def _of_euler(limit: Limit, u: Array) -> Array:
    ranges = list(zip(limit.lowest, limit.highest, strict=True))
    inner, outer = (rotation_about(limit.axes[i], within(ranges[i], u[i])) for i in (0, 2))
    middle = rotation_about(limit.axes[1], middle_angles(ranges[1], u[1]))
    return rotations.multiply(outer, rotations.multiply(middle, inner))


def _of_kusudama(limit: Limit, n: int, seed: int) -> Array:
    candidates = n
    while True:
        candidates = 2 * candidates + 16
        u = uniform(2 * candidates, seed).T.reshape(-1, 6)
        directions, taken = uniform_directions(limit.cones, u)
        if np.count_nonzero(taken) >= n:
            break
    swung = rotations.shortest_arc([1, 0, 0], directions[taken][:n], [0, 0, 1])
    return rotations.multiply(swung, rotation_about(0, within(limit.twist, u[taken][:n, 5])))


def uniform(n: int, seed: int) -> Array:
    """Three rows of n numbers in [0, 1) by SplitMix64 (Steele, Lea and Flood 2014), with one counter per number."""
    counter = np.arange(1, 3 * n + 1, dtype=np.uint64) + np.uint64(seed % 2**32 << 32)
    x = counter * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    x ^= x >> np.uint64(31)
    return ((x >> np.uint64(11)) * 2.0**-53).reshape(n, 3).T


def rotation_about(axis: int, angle: Array) -> Array:
    """Rotations about x, y or z."""
    return rotations.from_axis_angle(np.eye(3)[axis], angle)


def within(bounds: tuple[float, ...], u: Array) -> Array:
    """Angles within bounds, for shares from 0 to 1; at most a whole turn."""
    low, high = bounds
    return low + min(high - low, _TURN) * u


def swings(swing: tuple[float, ...], u: Array, v: Array) -> Array:
    """Directions uniform on the sphere: sines of half angles uniform in the plane, quadrant by quadrant."""
    sines = np.maximum(rotation_about(0, np.array(swing))[:, 1], 1e-9)  # a line counts as a very thin ellipse
    y, z = sines[[0, 1, 1, 0]], sines[[2, 2, 3, 3]]
    edges = np.cumsum(y * z) / np.sum(y * z)
    quadrant = np.minimum(np.searchsorted(edges, v, side="right"), 3)
    width = np.diff(edges, prepend=0.0)[quadrant]
    angle = (quadrant + (v - edges[quadrant] + width) / width) * (np.pi / 2)
    circle = rotation_about(0, 2 * angle)[:, :2]
    radius = np.sqrt(u)[:, None]
    point = radius * circle * np.stack([y[quadrant], z[quadrant]], axis=-1)
    cosine = np.sqrt(np.maximum(0, 1 - point[:, 0] ** 2 - point[:, 1] ** 2))
    return np.stack([cosine, 0 * cosine, -point[:, 1], point[:, 0]], axis=-1)


def middle_angles(bounds: tuple[float, ...], u: Array) -> Array:
    """Angles of density |cos|: its integral from 0 is 2 k + sin(angle - k pi) in the k-th half turn."""
    low, high = bounds
    ends = np.array([low, min(high, low + _TURN)])
    k = np.round(ends / np.pi)
    sines = rotation_about(0, 2 * (ends - k * np.pi))[:, 1]
    first, last = 2 * k + sines
    area = first + (last - first) * u
    k = np.round(area / 2)
    sine = np.clip(area - 2 * k, -1, 1)
    arc = rotations.shortest_arc([1, 0, 0], np.stack([np.sqrt(1 - sine**2), sine, 0 * sine], axis=-1))
    angles: Array = np.clip(k * np.pi + rotations.log(arc)[:, 2], low, high)
    return angles
