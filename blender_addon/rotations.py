# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation algebra on arrays: quaternions, matrices, and Blender's rotation channels. No bpy.

Quaternions are (..., 4) as (w, x, y, z), matrices (..., 3, 3) for column vectors, angles in radians.
The functions `continuous_*` take quaternions with time along axis 0.
"""

import numpy as np


def unit(vectors):
    """Unit vectors and their former lengths; a vector without length stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1)
    safe = np.where(lengths > 0.0, lengths, 1.0)
    return vectors / safe[..., None], lengths


def across(vectors, axes):
    """What is left of `vectors` perpendicular to the unit vectors `axes`."""
    return vectors - np.sum(vectors * axes, axis=-1, keepdims=True) * axes


def conjugate(q):
    """The inverse of unit quaternions."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def multiply(a, b):
    """Hamilton product: b is applied first."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def rotate(q, vectors):
    """Turn vectors by unit quaternions."""
    axis = q[..., 1:]
    twice = 2.0 * np.cross(axis, vectors)
    return vectors + q[..., :1] * twice + np.cross(axis, twice)


def from_matrix(m):
    """Unit quaternions with w >= 0 of rotation matrices.

    Each of the four columns below is the quaternion times four times one of its parts: the longest is taken,
    so that nothing cancels near a half turn.
    """
    m = np.asarray(m, dtype=float)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    wx, wy, wz = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    xy, xz, yz = m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 2] + m[..., 2, 1]
    candidates = np.stack(
        [
            np.stack([1.0 + xx + yy + zz, wx, wy, wz], axis=-1),
            np.stack([wx, 1.0 + xx - yy - zz, xy, xz], axis=-1),
            np.stack([wy, xy, 1.0 - xx + yy - zz, yz], axis=-1),
            np.stack([wz, xz, yz, 1.0 - xx - yy + zz], axis=-1),
        ],
        axis=-2,
    )
    diagonal = np.diagonal(candidates, axis1=-2, axis2=-1)
    longest = np.argmax(diagonal, axis=-1)[..., None, None]
    q, _ = unit(np.take_along_axis(candidates, longest, axis=-2)[..., 0, :])
    return np.where(q[..., :1] < 0.0, -q, q)


def to_matrix(q):
    """Rotation matrices of unit quaternions."""
    axes = np.broadcast_to(np.eye(3), (*q.shape[:-1], 3, 3))
    return np.swapaxes(rotate(q[..., None, :], axes), -1, -2)


def shortest_arc(a, b):
    """The smallest rotation that takes the unit vectors a to b; a half turn about any perpendicular if they oppose."""
    cosine = np.sum(a * b, axis=-1, keepdims=True)
    helper = np.where(np.abs(a[..., :1]) < 0.5, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    half_turn = np.concatenate([np.zeros_like(cosine), np.cross(a, helper)], axis=-1)
    q = np.concatenate([1.0 + cosine, np.cross(a, b)], axis=-1)
    return unit(np.where(cosine > -1.0 + 1e-9, q, half_turn))[0]


def part_of(q, weight):
    """A share of each rotation, from none (0) to the whole (1), along its shorter way."""
    q = np.where(q[..., :1] < 0.0, -q, q)
    axis, sine = unit(q[..., 1:])
    half = np.arctan2(sine, q[..., 0]) * weight
    return np.concatenate([np.cos(half)[..., None], np.sin(half)[..., None] * axis], axis=-1)


def continuous_quaternions(q, start):
    """The same rotations, each with the sign nearer to the one before; the first nearer to `start`."""
    before = np.concatenate([np.asarray(start, dtype=float)[None], q[:-1]])
    flips = np.where(np.sum(before * q, axis=-1) < 0.0, -1.0, 1.0)
    return q * np.cumprod(flips, axis=0)[..., None]


def continuous_eulers(q, order, start):
    """Euler angles in Blender's `order` ('XZY': about X first), each triple the one nearest to the one before."""
    i, j, k = ("XYZ".index(letter) for letter in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    m = to_matrix(q)
    middle_cosine = np.hypot(m[..., i, i], m[..., j, i])
    first = np.arctan2(sign * m[..., k, j], m[..., k, k])
    last = np.arctan2(sign * m[..., j, i], m[..., i, i])
    # where the middle angle is a right angle the other two turn about one axis and only their combination is known
    locked = middle_cosine < 1e-6
    first = np.where(locked, np.arctan2(-sign * m[..., j, k], m[..., j, j]), first)
    middle = np.arctan2(-sign * m[..., k, i], middle_cosine)

    angles = np.empty((*q.shape[:-1], 3))
    before = np.asarray(start, dtype=float)
    for t in range(len(q)):
        triple = np.empty_like(before)
        triple[..., i], triple[..., j], triple[..., k] = first[t], middle[t], np.where(locked[t], 0.0, last[t])
        before = angles[t] = _nearest_euler(triple, before, (i, j, k), sign, locked[t])
    return angles


def _nearest_euler(triple, before, axes, sign, locked):
    """Of all triples for the same rotation, the one nearest to `before`."""
    i, j, k = axes
    # at the lock, keep the last angle as it was and let the first make up for it
    held = np.where(locked, before[..., k], 0.0)
    triple = triple.copy()
    triple[..., k] += held
    triple[..., i] += held * sign * np.sign(triple[..., j])
    other = triple.copy()
    other[..., i] += np.pi
    other[..., j] = np.pi - other[..., j]
    other[..., k] += np.pi
    triple, other = _unwound(triple, before), _unwound(other, before)
    nearer = np.sum(np.abs(other - before), axis=-1) < np.sum(np.abs(triple - before), axis=-1)
    return np.where((nearer & ~locked)[..., None], other, triple)


def _unwound(angles, before):
    """Whole turns added so that each angle is within half a turn of the one before."""
    return angles - 2.0 * np.pi * np.round((angles - before) / (2.0 * np.pi))


def continuous_axis_angles(q, start):
    """Angle and axis (w, x, y, z as Blender stores them), each the one nearest to the one before."""
    axes, sines = unit(q[..., 1:])
    turns = 2.0 * np.arctan2(sines, q[..., 0])
    result = np.empty_like(q)
    before = np.array(start, dtype=float)
    axis, length = unit(before[..., 1:])
    before[..., 1:] = np.where(length[..., None] > 0.0, axis, [0.0, 1.0, 0.0])  # Y is Blender's default axis
    for t in range(len(q)):
        # no rotation, no axis: keep the one before
        axis = np.where(sines[t][..., None] > 1e-7, axes[t], before[..., 1:])
        flip = np.where(np.sum(axis * before[..., 1:], axis=-1) < 0.0, -1.0, 1.0)
        result[t, ..., 0] = _unwound(turns[t] * flip, before[..., 0])
        result[t, ..., 1:] = axis * flip[..., None]
        before = result[t]
    return result
