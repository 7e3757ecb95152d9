# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors, and quaternions as Blender's rotation channels want them over time. No bpy.

Quaternions are (..., 4) as (w, x, y, z), angles in radians, as in the library's rotation algebra, on which this builds.
The functions `continuous_*` take quaternions with time along axis 0.
"""

import numpy as np

from . import bridge

# Columns of a matrix that differ in length, or are not perpendicular, by no more than this share cannot be told apart
# from single precision rounding through a few parents.
UNEVEN = 1e-4


def unit(vectors):
    """Unit vectors and their former lengths; a vector without length stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1)
    safe = np.where(lengths > 0.0, lengths, 1.0)
    return vectors / safe[..., None], lengths


def across(vectors, axes):
    """What is left of `vectors` perpendicular to the unit vectors `axes`."""
    return vectors - np.sum(vectors * axes, axis=-1, keepdims=True) * axes


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


def axes(matrices):
    """The rotations in matrices that have no shear, as matrices."""
    return matrices[..., :3, :3] / sizes(matrices)[..., np.newaxis, :]


def sizes(matrices):
    """How long the columns of matrices are, (..., 3): np.linalg.norm takes six times as long on so few numbers."""
    columns = matrices[..., :3, :3]
    return np.sqrt(np.einsum("...ij,...ij->...j", columns, columns))


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
    i, j, k = ("XYZ".index(letter) for letter in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    angles = np.empty((*q.shape[:-1], 3))
    angles[..., [i, j, k]] = bridge.rotations.to_euler(q, order.lower())  # about the axes of the world
    # where the middle angle is a right angle the other two turn about one axis and only their combination is known
    locked = np.abs(angles[..., j]) > np.pi / 2 - 1e-6
    before = np.asarray(start, dtype=float)
    for way in () if locked.any() else (angles, _other_way(angles, (i, j, k))):
        path = np.unwrap(np.concatenate([before[None], way]), axis=0)
        other = _unwound(_other_way(path[1:], (i, j, k)), path[:-1])
        if (np.abs(path[1:] - path[:-1]).sum(axis=-1) <= np.abs(other - path[:-1]).sum(axis=-1)).all():
            return path[1:]  # the same of the two ways on all frames, as a rule
    for t in range(len(q)):
        before = angles[t] = _nearest_euler(angles[t], before, (i, j, k), sign, locked[t])
    return angles


def _other_way(angles, axes):
    """The other three angles that make the same rotation."""
    other = np.empty_like(angles)
    i, j, k = axes
    other[..., i], other[..., j], other[..., k] = angles[..., i] + np.pi, np.pi - angles[..., j], angles[..., k] + np.pi
    return other


def _nearest_euler(triple, before, axes, sign, locked):
    """Of all triples for the same rotation, the one nearest to `before`."""
    i, j, k = axes
    # at the lock, keep the last angle as it was and let the first make up for it
    held = np.where(locked, before[..., k] - triple[..., k], 0.0)
    triple = triple.copy()
    triple[..., k] += held
    triple[..., i] += held * sign * np.sign(triple[..., j])
    other = _unwound(_other_way(triple, axes), before)
    triple = _unwound(triple, before)
    nearer = np.sum(np.abs(other - before), axis=-1) < np.sum(np.abs(triple - before), axis=-1)
    return np.where((nearer & ~locked)[..., None], other, triple)


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
