# SPDX-License-Identifier: GPL-3.0-or-later
"""The skin of a character: vertices by bone, for detecting soles and estimating masses."""

import contextlib

import numpy as np

from ..animation.clip_reader import scale_of
from . import rotations as rot
from .armatures import skins

NEAR = 0.01  # relative to the bone length: tolerance for the head of another bone that coincides
ENOUGH = 20000  # vertices of a mesh that suffice to estimate masses


def read(context, armature):
    """The vertices by their most influential bone's name, in the space of its joint, as used by Feet.detect."""
    found, bones = {}, armature.data.bones
    following = {item: _group_bones(item, armature) for item in {*skins(armature), *armature.children}}
    if not any(following.values()):
        return found
    with _at_rest(context, armature):
        depsgraph = context.evaluated_depsgraph_get()
        for item, followed in following.items():
            if followed:
                _collect(item.evaluated_get(depsgraph), armature, followed, found)
    scale = scale_of(armature, np.array(armature.matrix_world)[np.newaxis])
    return {
        name: scale * _into(np.array(bones[name].matrix_local), np.concatenate(parts)) for name, parts in found.items()
    }


def of_joints(armature, vertices, joints):
    """The vertices of some joints, or of coinciding bones, because rigs have separate control and deform bones."""
    bones, found = armature.data.bones, {name: points for name, points in vertices.items() if name in joints}
    scale = scale_of(armature, np.array(armature.matrix_world)[np.newaxis])
    for joint in (bones[name] for name in joints if name in bones and name not in found):
        near = NEAR * joint.length
        for name in vertices.keys() - joints:
            if (bones[name].head_local - joint.head_local).length <= near:
                points = _outof(np.array(bones[name].matrix_local), vertices[name] / scale)
                found[joint.name] = scale * _into(np.array(joint.matrix_local), points)
    return found


def weights(armature):
    """Masses of bones, with centres in their own space, from the bounding box of their vertices as bound.

    If no vertices follow any of them, their lengths are used.
    """
    found, bones = {}, armature.data.bones
    for item in {*skins(armature), *armature.children}:
        if followed := _group_bones(item, armature):
            _collect(item, armature, followed, found, every=1 + len(item.data.vertices) // ENOUGH)
    if not found:
        return {bone.name: (bone.length, (0.0, bone.length / 2, 0.0)) for bone in bones}
    boxes = {}
    for name, parts in found.items():
        points = _into(np.array(bones[name].matrix_local), np.concatenate(parts))
        low, high = points.min(axis=0), points.max(axis=0)
        boxes[name] = float(np.prod(high - low)), tuple(((low + high) / 2).tolist())
    return boxes


def _group_bones(item, armature):
    """The bones that vertices of an object follow: one per vertex group, or one for all."""
    if item.type != "MESH":
        return {}
    if item.parent == armature and item.parent_type == "BONE":
        return item.parent_bone
    deforming = {bone.name for bone in armature.data.bones if bone.use_deform}
    return {group.index: group.name for group in item.vertex_groups if group.name in deforming}


def _collect(item, armature, followed, found, every=1):
    """Add the vertices of a mesh, or every n-th, to those of their bones, in the space of the armature at rest."""
    vertices = item.data.vertices
    points = np.empty((len(vertices), 3), np.float32)
    vertices.foreach_get("co", points.ravel())
    points = _into(np.array(armature.matrix_world), _outof(np.array(item.matrix_world), points[::every]))
    if isinstance(followed, str):
        bone = armature.pose.bones[followed]
        points = _outof(np.array(bone.bone.matrix_local), _into(np.array(bone.matrix), points))
        found.setdefault(followed, []).append(points)
        return
    most = np.array([_heaviest_group(vertices[n], followed) for n in range(0, len(vertices), every)])
    for index, name in followed.items():
        if (most == index).any():
            found.setdefault(name, []).append(points[most == index])


def _heaviest_group(vertex, followed):
    """The vertex group of the bone with the largest weight at a vertex, -1 for none."""
    groups = [group for group in vertex.groups if group.group in followed and group.weight > 0.0]
    return max(groups, key=lambda group: group.weight).group if groups else -1


def _into(matrix, points):
    return _outof(rot.inverse(matrix), points)


def _outof(matrix, points):
    return points @ matrix[:3, :3].T + matrix[:3, 3]


@contextlib.contextmanager
def _at_rest(context, armature):
    """Put the armature and the objects it deforms into rest position temporarily."""
    before = armature.data.pose_position
    armature.data.pose_position = "REST"
    try:
        context.view_layer.update()
        yield
    finally:
        armature.data.pose_position = before
        context.view_layer.update()
