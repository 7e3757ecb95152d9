"""Damped least squares on hinges and slides, as textbooks have it: slow and obvious, and nothing of ikcore in it.

This is the reference solver of the published benchmark of a human (human.py). It has a geometric Jacobian and constant
damping. The error of each end is clamped to a length, and the whole step to its largest element. Limits follow one of
two rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

TOLERANCE = 1e-12  # beyond its range is what is further than this


@dataclass(frozen=True)
class Linkage:
    """Degrees of freedom, parents first: each turns about an axis of its own space or slides along it."""

    parents: list[int]
    offsets: Array  # (n, 3), from the parent
    axes: Array  # (n, 3), of length 1
    slides: Array  # (n,) of bools; the others turn
    limits: Array  # (2, n), lowest and highest: angles and lengths
    ends: list[tuple[int, Array]]  # what is to reach: which of them moves it, and where it is in that one's space


class World(NamedTuple):
    """World-space geometry for any number of states."""

    origins: Array  # (..., n, 3)
    axes: Array  # (..., n, 3)
    ends: Array  # (..., ends, 3)
    turned: Array  # (..., ends, 3, 3)


class Found(NamedTuple):
    states: Array  # (items, n)
    iterations: Array  # (items,), updates made before all ends were there
    reached: Array  # (items,)


def forward(linkage: Linkage, states: Array) -> World:
    """Link by link, down from the root."""
    shape = np.shape(states)
    origins, axes, frames = np.zeros((*shape, 3)), np.zeros((*shape, 3)), np.zeros((*shape, 3, 3))
    for i, parent in enumerate(linkage.parents):
        above = frames[..., parent, :, :] if parent >= 0 else np.eye(3)
        origins[..., i, :] = above @ linkage.offsets[i]
        if parent >= 0:
            origins[..., i, :] += origins[..., parent, :]
        axes[..., i, :] = above @ linkage.axes[i]
        if linkage.slides[i]:
            origins[..., i, :] += states[..., i, None] * axes[..., i, :]
            frames[..., i, :, :] = above
        else:
            frames[..., i, :, :] = above @ about(linkage.axes[i], states[..., i])
    on = [i for i, _ in linkage.ends]
    turned = frames[..., on, :, :]
    at = origins[..., on, :] + np.einsum("...eij,ej->...ei", turned, np.array([offset for _, offset in linkage.ends]))
    return World(origins, axes, at, turned)


def about(axis: Array, angle: Array) -> Array:
    """Rodrigues: the matrix (..., 3, 3) of a turn about an axis of length 1."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.asarray(angle)[..., None, None]
    turn: Array = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return turn


def rotation_vector(matrix: Array) -> Array:
    """The axis of a rotation, times its angle; of no half turns."""
    skew = matrix - np.swapaxes(matrix, -1, -2)
    double = np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)  # the axis times twice the sine
    sine = np.linalg.norm(double, axis=-1) / 2
    angle = np.arctan2(sine, (np.trace(matrix, axis1=-2, axis2=-1) - 1) / 2)
    vector: Array = double / 2 * (angle / np.where(sine == 0, 1, sine))[..., None]
    return np.where(sine[..., None] == 0, double / 2, vector)


def jacobian(linkage: Linkage, world: World) -> tuple[Array, Array]:
    """How each of n moves the ends, and how it turns them: two of (..., ends, 3, n)."""
    places, turns = [], []
    for e, (end, _) in enumerate(linkage.ends):
        above = np.zeros(len(linkage.parents), bool)
        while end >= 0:
            above[end] = True
            end = linkage.parents[end]
        around = np.cross(world.axes, world.ends[..., e, None, :] - world.origins)
        moves = np.where(linkage.slides[:, None], world.axes, around)
        rotates = np.where(linkage.slides[:, None], 0, world.axes)
        places.append(np.swapaxes(moves * above[:, None], -1, -2))
        turns.append(np.swapaxes(rotates * above[:, None], -1, -2))
    return np.stack(places, axis=-3), np.stack(turns, axis=-3)


def cut(vectors: Array, most: float) -> Array:
    """None longer than `most`."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors * np.minimum(1, most / np.maximum(lengths, 1e-300)))


def step(
    linkage: Linkage,
    states: Array,
    rows: Array,
    error: Array,
    free: Array,
    limits: Literal["clamp", "lock"],
    damping: float,
    most: float,
    *,
    together: bool = False,
) -> Array:
    """The states after one: of those that are free, with J `rows`. Slides are clamped one by one, or `together`.

    clamp: joints past their limits are put back afterwards. lock: of these joints, the nearest to its limit is set to
    it. Its motion is subtracted from the error, and the others are solved again without it.
    """
    low, high = linkage.limits
    free, error = free.copy(), error.copy()
    change, set_to = np.zeros_like(states), np.zeros_like(states)
    normal = (rows * free[:, None, :]) @ np.swapaxes(rows, -1, -2) + damping**2 * np.eye(rows.shape[1])
    todo = np.arange(len(states))  # where something is still to be solved
    while todo.size:
        pulls = np.linalg.solve(normal[todo], error[todo, :, None])
        found = free[todo] * (np.swapaxes(pulls, -1, -2) @ rows[todo])[:, 0]
        largest = np.abs(found).max(axis=-1, keepdims=True)
        if together:
            largest = np.maximum(largest, np.linalg.norm(found[:, linkage.slides], axis=-1, keepdims=True))
        found *= np.minimum(1, most / np.maximum(largest, 1e-300))
        change[todo] = found
        if limits == "clamp":
            break
        wanted = states[todo] + found
        over = free[todo] & ((wanted < low - TOLERANCE) | (wanted > high + TOLERANCE))
        way = np.where(wanted < low, low, high) - states[todo]
        first, some = np.where(over, np.abs(way), np.inf).argmin(axis=-1), over.any(axis=-1)
        todo, first, by = todo[some], first[some], way[some, first[some]]
        set_to[todo, first], free[todo, first] = by, False
        column = rows[todo, :, first]
        error[todo] -= by[:, None] * column
        normal[todo] -= column[:, :, None] * column[:, None, :]
    return np.asarray(np.clip(states + change + set_to, low, high))


def solve(
    linkage: Linkage,
    states: Array,
    targets: Array,
    turns: Array | None = None,
    *,
    free: Array,
    limits: Literal["clamp", "lock"] = "lock",
    damping: float = 0.1,
    most_error: float = 0.2,
    most_step: float = np.pi / 4,
    lever: float = 0.3,
    tolerance: float = 1e-3,
    iterations: int = 200,
    slide: float | None = None,
    as_one: bool = False,
) -> Found:
    """Until all ends of an item are as near to its targets as the tolerance; with `turns`, turned so, too.

    The error of each end is cut, or those of all together, `as_one`. A turn counts by the lever, in the rows and where
    its error is cut; its tolerance is pi times as large. A slide by 1 counts as much as a turn by a radian; or one by
    `slide`, and then those of all axes are cut together.
    """
    units = np.where(linkage.slides, slide or 1.0, 1.0)
    in_units = replace(linkage, limits=linkage.limits / units)
    states, free = states.copy(), np.broadcast_to(free, states.shape)
    count, reached = np.zeros(len(states), int), np.zeros(len(states), bool)
    for iteration in range(iterations + 1):
        todo = np.flatnonzero(~reached)
        world = forward(linkage, states[todo])
        off = targets[todo] - world.ends
        there = (np.linalg.norm(off, axis=-1) <= tolerance).all(axis=-1)
        rows, turning = jacobian(linkage, world)
        error = cut(off.reshape(todo.size, -1), most_error).reshape(off.shape) if as_one else cut(off, most_error)
        if turns is not None:
            off = rotation_vector(turns[todo] @ np.swapaxes(world.turned, -1, -2))
            there &= (np.linalg.norm(off, axis=-1) <= np.pi * tolerance).all(axis=-1)
            error = np.concatenate([error, lever * cut(off, most_error / lever)], axis=-2)
            rows = np.concatenate([rows, lever * turning], axis=-3)
        reached[todo], count[todo] = there, iteration
        if iteration == iterations or there.all():
            break
        on = todo[~there]
        rows, error = rows[~there].reshape(on.size, -1, states.shape[1]), error[~there].reshape(on.size, -1)
        before, together = states[on] / units, slide is not None
        after = step(in_units, before, rows * units, error, free[on], limits, damping, most_step, together=together)
        states[on] = after * units
    return Found(states, count, reached)
