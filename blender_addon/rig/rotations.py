# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors, and quaternions as continuous values of Blender's rotation channels. No bpy.

Quaternions are (..., 4) as (w, x, y, z), angles in radians, as in the library's rotation algebra, on which this builds.
The functions `continuous_*` take quaternions with time along axis 0.
"""

import functools

import numpy as np

from .. import bridge

# Matrix columns whose lengths, or angles, deviate by less than this cannot be distinguished from the single-precision
# rounding of a few parents.
UNEVEN = 1e-4


def unit(vectors):
    """Unit vectors and their former lengths; a zero vector stays zero."""
    lengths = lengths_of(vectors)
    safe = np.where(lengths > 0.0, lengths, 1.0)
    return vectors / safe[..., None], lengths


def across(vectors, axes):
    """The components of `vectors` perpendicular to the unit vectors `axes`."""
    return vectors - dot(vectors, axes)[..., np.newaxis] * axes


def dot(a, b):
    """Dot products of vectors (..., n): np.sum takes several times as long on so few numbers."""
    return np.einsum("...i,...i->...", a, b)


def lengths_of(vectors):
    """The lengths of vectors (..., n), likewise."""
    return np.sqrt(dot(vectors, vectors))


def numbers(mode, q, start):
    """Rotations as continuous numbers of a rotation mode; `start` is the value on the first frame."""
    if mode == "QUATERNION":
        return continuous_quaternions(q, start)
    if mode == "AXIS_ANGLE":
        return continuous_axis_angles(q, start)
    return continuous_eulers(q, mode, start)


def quaternions(mode, values):
    """The quaternions for the numbers of a rotation mode."""
    if mode == "QUATERNION":
        return bridge.rotations.normalize(values)
    if mode == "AXIS_ANGLE":
        return bridge.rotations.from_axis_angle(unit(values[..., 1:])[0], values[..., 0])
    axes = ["XYZ".index(letter) for letter in mode]
    return bridge.rotations.from_euler(values[..., axes], mode.lower())


def twists(some, others):
    """The angles between bone rotations (..., 4) about y, the axis of bones: 0 to half a turn."""
    turns = bridge.rotations.multiply(bridge.rotations.conjugate(some), others)
    return 2.0 * np.arctan2(np.abs(turns[..., 2]), np.abs(turns[..., 0]))


def axes(matrices):
    """The rotations in matrices without shear, as matrices."""
    return matrices[..., :3, :3] / sizes(matrices)[..., np.newaxis, :]


def sizes(matrices):
    """The column lengths of matrices, (..., 3): np.linalg.norm takes six times as long on so few numbers."""
    columns = matrices[..., :3, :3]
    return np.sqrt(np.einsum("...ij,...ij->...j", columns, columns))


def inverse(matrices):
    """The inverses of affine matrices (..., 4, 4), infinite if there is none."""
    made = np.zeros(matrices.shape)
    made[..., :3, :3] = inverse_axes(matrices[..., :3, :3])
    made[..., :3, 3] = -np.einsum("...ij,...j->...i", made[..., :3, :3], matrices[..., :3, 3])
    made[..., 3, 3] = 1.0
    return made


def inverse_axes(matrices):
    """The inverses of matrices (..., 3, 3), infinite if there is none.

    np.linalg.inv takes ten times as long on many. On one matrix it may take milliseconds, like all calls of LAPACK,
    because it wakes threads.
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


def is_uneven(sizes):
    """Mask of sizes (..., 3) that are non-uniform, mirror or flatten."""
    least = -largest(-sizes)
    return ~((least > 0.0) & (largest(sizes) - least <= UNEVEN * least))


def largest(values):
    """The largest of each few numbers (..., n): np.max takes ten times as long on so few."""
    return functools.reduce(np.maximum, np.moveaxis(values, -1, 0))


def volumes(matrices):
    """Volume factors of matrices, negative for mirroring."""
    (a, b, c), (d, e, f), (g, h, i) = ([matrices[..., row, n] for n in range(3)] for row in range(3))
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def unsheared_inverse(matrices):
    """The inverses of the rotations and scales in matrices without shear: 3 by 3."""
    return np.swapaxes(matrices[..., :3, :3] / sizes(matrices)[..., np.newaxis, :] ** 2, -1, -2)


def continuous_quaternions(q, start):
    """The same rotations, each with the sign nearer to the previous one; the first nearer to `start`."""
    return bridge.rotations.continuous(np.concatenate([np.asarray(start, dtype=float)[None], q]))[1:]


def continuous_eulers(q, order, start):
    """Euler angles in Blender's `order` ('XZY': about X first), each triple nearest to the previous one."""
    axes = ["XYZ".index(letter) for letter in order]
    angles = np.empty((*q.shape[:-1], 3))
    angles[..., axes] = bridge.rotations.to_euler(q, order.lower())  # about the axes of the world
    # if the middle angle is a right angle, the others have one axis and only their combination is defined
    locked = np.abs(angles[..., axes[1]]) > np.pi / 2 - 1e-6
    before = np.asarray(start, dtype=float)
    for way in () if locked.any() else (angles, _other_way(angles, axes)):
        path = np.unwrap(np.concatenate([before[None], way]), axis=0)
        other = _unwind(_other_way(path[1:], axes), path[:-1])
        if (np.abs(path[1:] - path[:-1]).sum(axis=-1) <= np.abs(other - path[:-1]).sum(axis=-1)).all():
            return path[1:]  # usually the same choice on all frames
    if angles.ndim > 2:
        return np.stack([continuous_eulers(q[:, n], order, before[n]) for n in range(q.shape[1])], axis=1)
    ways = np.stack([angles, _other_way(angles, axes)], axis=1)
    if locked.any():
        _hold_in_gimbal_lock(ways, before, locked, axes)
    return np.unwrap(np.concatenate([before[None], _nearest(ways, before, locked)]), axis=0)[1:]


def _other_way(angles, axes):
    """The other three angles of the same rotation."""
    other = np.empty_like(angles)
    i, j, k = axes
    other[..., i], other[..., j], other[..., k] = angles[..., i] + np.pi, np.pi - angles[..., j], angles[..., k] + np.pi
    return other


def _hold_in_gimbal_lock(ways, before, locked, axes):
    """In gimbal lock, keep the last angle of both choices as before, and let the first compensate."""
    i, j, k = axes
    since = np.maximum.accumulate(np.where(locked, -1, np.arange(len(ways))))[locked]  # frames; before all of them -1
    kept = np.where(since[:, None] < 0, before[k], ways[since, :, k])
    triples = ways[locked, :1]
    by = (kept - triples[..., k]) * (1.0 if (j - i) % 3 == 1 else -1.0) * np.sign(triples[..., j])
    ways[locked] = triples
    ways[locked, :, i], ways[locked, :, k] = triples[..., i] + by, kept


def _nearest(ways, before, locked):
    """On each frame the choice nearer to the previous angles; in gimbal lock, the previous choice."""
    befores = np.concatenate([np.broadcast_to(before, (1, 2, 3)), ways[:-1]])
    apart = ways[:, np.newaxis] - befores[:, :, np.newaxis]  # (frames, from, to, 3)
    apart = np.abs(_unwind(apart, 0.0)).sum(axis=-1)
    to = np.where(locked[:, np.newaxis], (0, 1), apart[..., 1] < apart[..., 0])  # from either choice
    at, path = 0, []
    for first, second in zip(*to.T.tolist(), strict=True):
        at = second if at else first
        path.append(at)
    return ways[np.arange(len(ways)), path]


def _unwind(angles, before):
    """Angles with whole turns added, within half a turn of the previous ones."""
    return angles - 2.0 * np.pi * np.round((angles - before) / (2.0 * np.pi))


def continuous_axis_angles(q, start):
    """Angle and axis (w, x, y, z as Blender stores them), each nearest to the previous one."""
    axes, turns = bridge.rotations.to_axis_angle(q)
    start = np.array(start, dtype=float)
    axis, length = unit(start[..., 1:])
    axis = np.where(length[..., None] > 0.0, axis, [0.0, 1.0, 0.0])  # Y is Blender's default axis
    axes, turns = np.concatenate([axis[None], axes]), np.concatenate([start[None, ..., 0], turns])
    # without rotation there is no axis: keep the previous one
    frame = np.arange(len(turns)).reshape(-1, *(1,) * (turns.ndim - 1))
    last = np.maximum.accumulate(np.where(turns > 2e-7, frame, 0), axis=0)
    axes = np.take_along_axis(axes, last[..., None], axis=0)
    flips = np.cumprod(np.where(np.sum(axes[1:] * axes[:-1], axis=-1) < 0.0, -1.0, 1.0), axis=0)
    turns = np.unwrap(np.concatenate([turns[:1], turns[1:] * flips]), axis=0)[1:]
    return np.concatenate([turns[..., None], axes[1:] * flips[..., None]], axis=-1)
