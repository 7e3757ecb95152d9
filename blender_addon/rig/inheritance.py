# SPDX-License-Identifier: GPL-3.0-or-later
"""Bone inheritance: conversion between a bone's channel matrix and its armature-space matrix."""

import numpy as np
from mathutils import Matrix

from . import rotations as rot


def pose_matrices(bone, parents, bases):
    """The armature-space matrices, (frames, 4, 4), of a bone from its channels' matrices and those of its parent."""
    if is_plain(bone):
        rest = np.array(bone.matrix_local)
        return rest @ bases if bone.parent is None else parents @ to_parent(bone) @ bases
    return _convert(bone, parents, bases)


def channel_matrices(bone, parents, poses):
    """The channels' matrices that give a bone these armature-space matrices: the inverse of `posed`."""
    if is_plain(bone):
        above = np.array(bone.matrix_local) if bone.parent is None else parents @ to_parent(bone)
        return rot.inverse(above) @ poses
    return _convert(bone, parents, poses, invert=True)


def leads(bone, parents):
    """Armature-space directions of a bone's location channels, as columns (frames, 3, 3)."""
    places, bases = [], np.tile(np.eye(4), (len(parents), 1, 1))
    for way in np.concatenate([np.zeros((1, 3)), np.eye(3)]):
        bases[:, :3, 3] = way
        places.append(pose_matrices(bone, parents, bases)[:, :3, 3])
    return np.stack([place - places[0] for place in places[1:]], axis=-1)


def is_plain(bone):
    """True if a bone's matrix is the product of its parent's, its rest and its channels' matrices."""
    full = bone.parent is None or (bone.use_inherit_rotation and bone.inherit_scale == "FULL")
    return bone.use_local_location and full


def to_parent(bone):
    """A bone's rest matrix in the space of its parent; a root's in that of the armature."""
    rest = np.array(bone.matrix_local)
    return rest if bone.parent is None else rot.inverse(np.array(bone.parent.matrix_local)) @ rest


def _convert(bone, parents, matrices, *, invert=False):
    """Blender's own conversion, for all kinds of inheritance: one call per frame, with the parent at the origin.

    Blender computes in single precision, which is inaccurate far from the origin.
    """
    hung, rest = bone.parent is not None, bone.matrix_local
    options = {"parent_matrix_local": bone.parent.matrix_local} if hung else {}
    given = _add_translations(matrices, -parents) if invert and hung else matrices
    if hung:
        above = parents.copy()
        above[:, :3, 3] = 0.0
        above = above.tolist()
    rows = []
    for f, matrix in enumerate(given.tolist()):
        if hung:
            options["parent_matrix"] = Matrix(above[f])
        made = bone.convert_local_to_pose(Matrix(matrix), rest, invert=invert, **options)
        rows.append([row[:] for row in made])  # numpy takes longer to read a Matrix
    result = np.array(rows)
    return _add_translations(result, parents) if hung and not invert else result


def _add_translations(matrices, by):
    """Matrices with the translations of others added."""
    moved = matrices.copy()
    moved[:, :3, 3] += by[:, :3, 3]
    return moved
