# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors, and quaternions as Blender's rotation channels want them over time. No bpy.

Quaternions are (..., 4) as (w, x, y, z), angles in radians, as in the library's rotation algebra, on which this builds.
The functions `continuous_*` take quaternions with time along axis 0.
"""

import functools

import numpy as np

from . import bridge

# Columns of a matrix that differ in length, or are not perpendicular, by no more than this share cannot be told apart
# from single precision rounding through a few parents.
UNEVEN = 1e-4


def unit(vectors):
    """Unit vectors and their former lengths; a vector without length stays zero."""
    lengths = lengths_of(vectors)
    safe = np.where(lengths > 0.0, lengths, 1.0)
    return vectors / safe[..., None], lengths


def across(vectors, axes):
    """What is left of `vectors` perpendicular to the unit vectors `axes`."""
    return vectors - dot(vectors, axes)[..., np.newaxis] * axes


def dot(a, b):
    """The products of vectors (..., n): np.sum takes some times as long on so few numbers."""
    return np.einsum("...i,...i->...", a, b)


def lengths_of(vectors):
    """How long vectors (..., n) are, likewise."""
    return np.sqrt(dot(vectors, vectors))


def numbers(mode, q, start):
    """Rotations as the numbers of a rotation mode, without jumps; `start` is what stood on the first frame."""
    if mode == "QUATERNION":
        return continuous_quaternions(q, start)
    if mode == "AXIS_ANGLE":
        return continuous_axis_angles(q, start)
    return continuous_eulers(q, mode, start)


def quaternions(mode, values):
    """What the numbers of a rotation mode mean."""
    if mode == "QUATERNION":
        return bridge.rotations.normalize(values)
    if mode == "AXIS_ANGLE":
        return bridge.rotations.from_axis_angle(unit(values[..., 1:])[0], values[..., 0])
    axes = ["XYZ".index(letter) for letter in mode]
    return bridge.rotations.from_euler(values[..., axes], mode.lower())


def twists(some, others):
    """The angles by which rotations (..., 4) of bones differ about y, along which bones lie: 0 to half a turn."""
    turns = bridge.rotations.multiply(bridge.rotations.conjugate(some), others)
    return 2.0 * np.arctan2(np.abs(turns[..., 2]), np.abs(turns[..., 0]))


def axes(matrices):
    """The rotations in matrices that have no shear, as matrices."""
    return matrices[..., :3, :3] / sizes(matrices)[..., np.newaxis, :]


def sizes(matrices):
    """How long the columns of matrices are, (..., 3): np.linalg.norm takes six times as long on so few numbers."""
    columns = matrices[..., :3, :3]
    return np.sqrt(np.einsum("...ij,...ij->...j", columns, columns))


def inverse(matrices):
    """The inverses of matrices (..., 4, 4) of places: infinite where there is none."""
    made = np.zeros(matrices.shape)
    made[..., :3, :3] = inverse_axes(matrices[..., :3, :3])
    made[..., :3, 3] = -np.einsum("...ij,...j->...i", made[..., :3, :3], matrices[..., :3, 3])
    made[..., 3, 3] = 1.0
    return made


def inverse_axes(matrices):
    """The inverses of matrices (..., 3, 3), infinite where there is none.

    np.linalg.inv takes ten times as long on many; and, as do all its relatives that call LAPACK, milliseconds on one,
    where that wakes threads.
    """
    (a, b, c), (d, e, f), (g, h, i) = np.moveaxis(matrices, (-2, -1), (0, 1))
    rows = (
        (e * i - f * h, c * h - b * i, b * f - c * e),
        (f * g - d * i, a * i - c * g, c * d - a * f),
        (d * h - e * g, b * g - a * h, a * e - b * d),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.array(rows) / (a * rows[0][0] + b * rows[1][0] + c * rows[2][0])
    return np.moveaxis(found, (0, 1), (-2, -1))


def uneven(sizes):
    """Where sizes (..., 3) are not the same in all directions, or mirror or flatten."""
    least = -largest(-sizes)
    return ~((least > 0.0) & (largest(sizes) - least <= UNEVEN * least))


def largest(values):
    """The largest of each few numbers (..., n): np.max takes ten times as long on so few."""
    return functools.reduce(np.maximum, np.moveaxis(values, -1, 0))


def volumes(matrices):
    """By how much matrices enlarge what they move, negative where they mirror it."""
    (a, b, c), (d, e, f), (g, h, i) = ([matrices[..., row, n] for n in range(3)] for row in range(3))
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def unsheared_inverse(matrices):
    """What takes back the rotations and scales in matrices that have no shear: 3 by 3."""
    return np.swapaxes(matrices[..., :3, :3] / sizes(matrices)[..., np.newaxis, :] ** 2, -1, -2)


def continuous_quaternions(q, start):
    """The same rotations, each with the sign nearer to the one before; the first nearer to `start`."""
    return bridge.rotations.continuous(np.concatenate([np.asarray(start, dtype=float)[None], q]))[1:]


def continuous_eulers(q, order, start):
    """Euler angles in Blender's `order` ('XZY': about X first), each triple the one nearest to the one before."""
    axes = ["XYZ".index(letter) for letter in order]
    angles = np.empty((*q.shape[:-1], 3))
    angles[..., axes] = bridge.rotations.to_euler(q, order.lower())  # about the axes of the world
    # where the middle angle is a right angle the other two turn about one axis and only their combination is known
    locked = np.abs(angles[..., axes[1]]) > np.pi / 2 - 1e-6
    before = np.asarray(start, dtype=float)
    for way in () if locked.any() else (angles, _other_way(angles, axes)):
        path = np.unwrap(np.concatenate([before[None], way]), axis=0)
        other = _unwound(_other_way(path[1:], axes), path[:-1])
        if (np.abs(path[1:] - path[:-1]).sum(axis=-1) <= np.abs(other - path[:-1]).sum(axis=-1)).all():
            return path[1:]  # the same of the two ways on all frames, as a rule
    if angles.ndim > 2:
        return np.stack([continuous_eulers(q[:, n], order, before[n]) for n in range(q.shape[1])], axis=1)
    ways = np.stack([angles, _other_way(angles, axes)], axis=1)
    if locked.any():
        _hold(ways, before, locked, axes)
    return np.unwrap(np.concatenate([before[None], _nearest(ways, before, locked)]), axis=0)[1:]


def _other_way(angles, axes):
    """The other three angles that make the same rotation."""
    other = np.empty_like(angles)
    i, j, k = axes
    other[..., i], other[..., j], other[..., k] = angles[..., i] + np.pi, np.pi - angles[..., j], angles[..., k] + np.pi
    return other


def _hold(ways, before, locked, axes):
    """At the lock let both ways keep the last angle as they had it before, and the first make up for it."""
    i, j, k = axes
    since = np.maximum.accumulate(np.where(locked, -1, np.arange(len(ways))))[locked]  # frames; before all of them -1
    kept = np.where(since[:, None] < 0, before[k], ways[since, :, k])
    triples = ways[locked, :1]
    by = (kept - triples[..., k]) * (1.0 if (j - i) % 3 == 1 else -1.0) * np.sign(triples[..., j])
    ways[locked] = triples
    ways[locked, :, i], ways[locked, :, k] = triples[..., i] + by, kept


def _nearest(ways, before, locked):
    """On each frame the way that is nearer to where it was; at the lock, that on which it was."""
    befores = np.concatenate([np.broadcast_to(before, (1, 2, 3)), ways[:-1]])
    apart = ways[:, np.newaxis] - befores[:, :, np.newaxis]  # (frames, from, to, 3)
    apart = np.abs(_unwound(apart, 0.0)).sum(axis=-1)
    to = np.where(locked[:, np.newaxis], (0, 1), apart[..., 1] < apart[..., 0])  # from either way
    at, path = 0, []
    for first, second in zip(*to.T.tolist(), strict=True):
        at = second if at else first
        path.append(at)
    return ways[np.arange(len(ways)), path]


def _unwound(angles, before):
    """Whole turns added so that each angle is within half a turn of the one before."""
    return angles - 2.0 * np.pi * np.round((angles - before) / (2.0 * np.pi))


def continuous_axis_angles(q, start):
    """Angle and axis (w, x, y, z as Blender stores them), each the one nearest to the one before."""
    axes, turns = bridge.rotations.to_axis_angle(q)
    start = np.array(start, dtype=float)
    axis, length = unit(start[..., 1:])
    axis = np.where(length[..., None] > 0.0, axis, [0.0, 1.0, 0.0])  # Y is Blender's default axis
    axes, turns = np.concatenate([axis[None], axes]), np.concatenate([start[None, ..., 0], turns])
    # no rotation, no axis: keep the one before
    frame = np.arange(len(turns)).reshape(-1, *(1,) * (turns.ndim - 1))
    last = np.maximum.accumulate(np.where(turns > 2e-7, frame, 0), axis=0)
    axes = np.take_along_axis(axes, last[..., None], axis=0)
    flips = np.cumprod(np.where(np.sum(axes[1:] * axes[:-1], axis=-1) < 0.0, -1.0, 1.0), axis=0)
    turns = np.unwrap(np.concatenate([turns[:1], turns[1:] * flips]), axis=0)[1:]
    return np.concatenate([turns[..., None], axes[1:] * flips[..., None]], axis=-1)
