# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground of a character: objects of the scene with their modifiers and instances, in world space."""

from dataclasses import dataclass, field

import numpy as np

from .. import bridge
from ..animation import scene_frames
from ..rig import rotations as rot
from ..rig.armatures import CannotBakeError, character_objects

SOLID = {"MESH", "CURVE", "SURFACE", "FONT", "META"}
STILL = 1e-6  # tolerance of motion, in world units and of scale; and of shapes, relative to their size


@dataclass
class _Body:
    """The triangles of an object or an instance in its own space, and its matrix on every frame."""

    name: str
    vertices: np.ndarray
    faces: np.ndarray
    matrices: list = field(default_factory=list)
    reshaped: bool = False  # True if its shape changes on a later frame

    def moves(self):
        return np.ptp(self.matrices, axis=0).max() > STILL

    def follow(self, later):
        """Add its matrices on a later frame, and check that its shape is unchanged."""
        self.matrices += later.matrices
        if not (self.reshaped or np.array_equal(self.vertices, later.vertices)):
            size = STILL * np.ptp(self.vertices, axis=0).max(initial=0)
            same = len(self.vertices) == len(later.vertices)
            self.reshaped = not same or bool(np.abs(self.vertices - later.vertices).max(initial=0) > size)


def read(context, objects, armature, frames=None):
    """The ground made by these objects, without the armature's own: a generator that yields progress.

    If `frames` are given, it moves with the objects, in the shape of the first frame; otherwise it has their present
    state. Returns an ikcore.Ground, and sentences about objects that change shape later.
    """
    mine, bodies = character_objects(armature), {}
    chosen = set(objects) - mine
    if frames is None:
        return _ground(_bodies(context.evaluated_depsgraph_get(), chosen, mine), armature), []

    def look(depsgraph, f):
        found = _bodies(depsgraph, chosen, mine, faces=f == 0)
        if f == 0:
            bodies.update(found)
        for key in bodies.keys() ^ found.keys():
            name = (bodies.get(key) or found[key]).name
            raise CannotBakeError(f"{name} does not exist on all frames: make it visible on all frames, or remove it")
        for key, body in found.items() if f else ():
            bodies[key].follow(body)

    with scene_frames.restore_after(context, [armature], poses=True):
        yield from scene_frames.visit(context, frames, look)
    names = dict.fromkeys(body.name for body in bodies.values() if body.reshaped)
    return _ground(bodies, armature), [f"{name} deforms: its shape at frame {frames[0]} is used" for name in names]


def hidden_objects(context, objects, armature):
    """Sentences about objects that were picked as ground but are not visible."""
    mine = character_objects(armature)
    seen = {key[0] for key in _bodies(context.evaluated_depsgraph_get(), set(objects), mine, faces=False)}
    left_out = [item.name for item in objects if item not in mine and item.name_full not in seen]
    return [f"{name} is hidden or has no faces: it is not used as ground" for name in left_out]


def _bodies(depsgraph, chosen, mine, faces=True):
    """All visible instances of these objects, by a key that identifies them on all frames."""
    found = {}
    for instance in depsgraph.object_instances:
        item = instance.object
        source = instance.parent if instance.is_instance else item
        if source.original not in chosen or item.original in mine or item.type not in SOLID:
            continue
        body = _Body(item.name, *_shape(item, faces))
        body.matrices.append(np.array(instance.matrix_world))
        found[source.name_full, item.name_full, tuple(instance.persistent_id)] = body
    return found


def _shape(item, faces):
    """Vertices of an evaluated object in its own space, and triangles if requested."""
    mesh = item.data if item.type == "MESH" else item.to_mesh()
    vertices = np.empty((len(mesh.vertices), 3), np.float32)
    mesh.vertices.foreach_get("co", vertices.ravel())
    triangles = _triangles(mesh) if faces else None
    if item.type != "MESH":
        item.to_mesh_clear()
    return vertices, triangles


def _triangles(mesh):
    mesh.calc_loop_triangles()
    triangles = np.empty((len(mesh.loop_triangles), 3), np.int32)
    mesh.loop_triangles.foreach_get("vertices", triangles.ravel())
    return triangles


def _ground(bodies, armature):
    bodies = [body for body in bodies.values() if len(body.faces)]
    if not bodies:
        raise CannotBakeError(f"There is no ground: choose visible mesh objects that are not part of {armature.name}")
    moving = [body for body in bodies if body.moves()]
    parts = [_moving_mesh(body) for body in moving]
    if len(moving) < len(bodies):
        parts.append(_still([body for body in bodies if body not in moving]))
    ground = parts[0]
    for part in parts[1:]:
        ground += part
    return ground


def _still(bodies):
    """One mesh of all static bodies."""
    starts = np.cumsum([0, *(len(body.vertices) for body in bodies)])
    vertices = [_transform_points(body.matrices[0], body.vertices) for body in bodies]
    faces = [body.faces + start for body, start in zip(bodies, starts, strict=False)]
    return bridge.library.Ground.mesh(np.concatenate(vertices), np.concatenate(faces), up="z")


def _transform_points(matrix, points):
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def _moving_mesh(body):
    """A mesh that moves with its object."""
    matrices = np.array(body.matrices)
    scales = np.linalg.norm(matrices[:, :3, :3], axis=-2)
    turned = bridge.rotations.from_matrix(rot.axes(matrices))
    rebuilt = bridge.rotations.to_matrix(turned) * scales[:, np.newaxis, :]
    if not np.abs(rebuilt - matrices[:, :3, :3]).max() <= 1e-4 * scales.max():
        raise CannotBakeError(f"{body.name} moves with a scale that mirrors or shears it: apply its scale")
    return bridge.library.Ground.mesh(body.vertices, body.faces, up="z").moved(turned, matrices[:, :3, 3], scales)
