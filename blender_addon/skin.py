# SPDX-License-Identifier: GPL-3.0-or-later
"""The skin of a character: which vertices follow which joint, for finding soles."""

import contextlib

import numpy as np

from .armatures import skins


def read(context, armature, reading):
    """The vertices that follow each joint most, by its name, in the space of the joint: what Feet.detect takes."""
    joint_of, found = _joints(armature, reading), {}
    with _at_rest(context, armature):
        depsgraph = context.evaluated_depsgraph_get()
        for item in {*skins(armature), *armature.children}:
            if followed := _followed(item, armature, joint_of):
                _collect(item.evaluated_get(depsgraph), armature, followed, found)
    return {
        name: reading.scale * _into(np.array(armature.data.bones[name].matrix_local), np.concatenate(parts))
        for name, parts in found.items()
    }


def _joints(armature, reading):
    """For every bone the joint that carries it: itself, or the nearest above it that was read."""
    known = set(reading.bones)
    chains = {bone.name: [bone, *bone.parent_recursive] for bone in armature.data.bones}
    return {name: next((bone.name for bone in chain if bone.name in known), None) for name, chain in chains.items()}


def _followed(item, armature, joint_of):
    """What vertices of an object follow: for each of its vertex groups a joint or None, or one joint for all."""
    if item.type != "MESH":
        return {}
    if item.parent == armature and item.parent_type == "BONE":
        return joint_of.get(item.parent_bone)
    bones = armature.data.bones
    deforms = {name: joint for name, joint in joint_of.items() if bones[name].use_deform}
    return {group.index: deforms[group.name] for group in item.vertex_groups if group.name in deforms}


def _collect(item, armature, followed, found):
    """Add the vertices of an evaluated mesh to those of their joints, in the space of the armature."""
    vertices = item.data.vertices
    points = np.empty((len(vertices), 3), np.float32)
    vertices.foreach_get("co", points.ravel())
    points = _into(np.array(armature.matrix_world), _outof(np.array(item.matrix_world), points))
    if isinstance(followed, str):
        found.setdefault(followed, []).append(points)
        return
    most = np.array([_most(vertex, followed) for vertex in vertices], object)
    for joint in set(followed.values()) - {None}:
        if (most == joint).any():
            found.setdefault(joint, []).append(points[most == joint])


def _most(vertex, followed):
    """The joint that a vertex follows most."""
    weights = {}
    for group in vertex.groups:
        if group.group in followed:
            joint = followed[group.group]
            weights[joint] = weights.get(joint, 0.0) + group.weight
    return max(weights, key=weights.get) if weights else None


def _into(matrix, points):
    return _outof(np.linalg.inv(matrix), points)


def _outof(matrix, points):
    return points @ matrix[:3, :3].T + matrix[:3, 3]


@contextlib.contextmanager
def _at_rest(context, armature):
    """The armature and what it deforms as they were bound."""
    before = armature.data.pose_position
    armature.data.pose_position = "REST"
    try:
        context.view_layer.update()
        yield
    finally:
        armature.data.pose_position = before
        context.view_layer.update()
