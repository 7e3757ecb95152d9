# SPDX-License-Identifier: GPL-3.0-or-later
"""Visits frames of the scene, and restores frame and poses afterwards."""

import contextlib
import math

import bpy
import numpy as np

POSE_CHANNELS = {"location": 3, "rotation_quaternion": 4, "rotation_euler": 3, "rotation_axis_angle": 4, "scale": 3}


def rate(scene):
    """Frames of actions per second, with time remapping."""
    return scene.render.fps / scene.render.fps_base / _stretch(scene)


def go(scene, frame):
    """Evaluate the scene at a frame of actions; time remapping maps it to another frame of the scene."""
    whole = math.floor(time := float(frame) * _stretch(scene))
    scene.frame_set(whole, subframe=time - whole)


def shown_range(scene):
    """The frames of actions in the scene's own range."""
    return scene.frame_start / _stretch(scene), scene.frame_end / _stretch(scene)


def visit(context, frames, look):
    """Call `look` with the evaluated scene and the number of each frame; yields progress."""
    for number, frame in enumerate(frames):
        go(context.scene, frame)
        look(context.evaluated_depsgraph_get(), number)
        yield (number + 1) / len(frames)


def add_empty(context, beside, name, shape, size):
    """A new empty in the collection of an object, or in the scene's if that is linked or overridden."""
    own = [each for each in beside.users_collection if not each.library and not each.override_library]
    empty = bpy.data.objects.new(name, None)
    empty.empty_display_type, empty.empty_display_size = shape, size
    (*own, context.scene.collection)[0].objects.link(empty)
    return empty


def world_matrix(target, bone, depsgraph):
    """The world matrix of an object, or of a bone of it."""
    target = target.evaluated_get(depsgraph)
    return target.matrix_world @ target.pose.bones[bone].matrix if bone else target.matrix_world


def matrices(flat):
    """Numbers from Blender, in column-major order, as matrices."""
    return flat.reshape(-1, 4, 4).transpose(0, 2, 1)


class Matrices:
    """Matrices of some bones over frames; those of all bones of an armature are read in one call per frame."""

    def __init__(self, armature, rows, count, name="matrix"):
        self.name, self.rows = name, np.array(rows, int)
        self.flat = np.empty((len(armature.pose.bones), 16), np.float32)
        self.found = np.empty((count, len(rows), 16), np.float32)

    def read(self, bones, number):
        """Read this frame from evaluated pose bones."""
        bones.foreach_get(self.name, self.flat.reshape(-1))
        self.found[number] = self.flat[self.rows]

    def __getitem__(self, bones):
        """Those of one bone or some, by number among the rows, (frames, ..., 4, 4)."""
        columns = self.found[:, bones]
        return (
            columns.reshape(*columns.shape[:-1], 4, 4).swapaxes(-1, -2).astype(float)
        )  # stored transposed, as in Blender


class Places:
    """World matrices of (object, bone or "") over frames; each is read once per frame."""

    def __init__(self, handles, count):
        self.handles = list(dict.fromkeys(handles))
        self.found = np.empty((count, len(self.handles), 4, 4))

    def read(self, depsgraph, number):
        """Read this frame."""
        for row, (target, bone) in enumerate(self.handles):
            self.found[number, row] = world_matrix(target, bone, depsgraph)

    def of(self, handles):
        """The matrices of these, (frames, handles, 4, 4)."""
        return self.found[:, [self.handles.index(handle) for handle in handles]]


def run(steps):
    """Run a generator to its end, and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def run_part(steps, start, end):
    """Run a generator as one part of a larger one, with progress between `start` and `end`, and return its result."""
    try:
        while True:
            yield start + (end - start) * next(steps)
    except StopIteration as ended:
        return ended.value
    finally:
        steps.close()


@contextlib.contextmanager
def restore_after(context, armatures, *, poses=False):
    """Restore the frame and, after a failure or if requested, poses, whose unkeyed channels a frame change resets."""
    scene = context.scene
    frame, subframe = scene.frame_current, scene.frame_subframe
    before = [read_pose(armature) for armature in armatures]
    try:
        yield
    except BaseException:
        poses = True
        raise
    finally:
        scene.frame_set(frame, subframe=subframe)
        if poses:
            for armature, pose in zip(armatures, before, strict=True):
                write_pose(armature, pose)
            context.view_layer.update()


def _stretch(scene):
    """Frames of the scene per frame of actions."""
    return scene.render.frame_map_new / scene.render.frame_map_old


def read_pose(armature):
    """All channels of all pose bones."""
    bones = armature.pose.bones
    pose = {name: np.empty(len(bones) * width, np.float32) for name, width in POSE_CHANNELS.items()}
    for name, values in pose.items():
        bones.foreach_get(name, values)
    return pose


def write_pose(armature, pose):
    """Set all channels of all pose bones."""
    for name, values in pose.items():
        armature.pose.bones.foreach_set(name, values)
    armature.update_tag(refresh={"DATA"})


# --- properties by their data paths ----------------------------------------------------------------------------------


def value(armature, path):
    """The value of a property; None if there is no such property."""
    try:
        found = armature.path_resolve(path)
    except ValueError:
        return None
    return found if isinstance(found, str) or not hasattr(found, "__len__") else tuple(found)


def set_value(armature, path, new):
    """Set the value of a property."""
    if path.endswith('"]'):  # a custom property
        above, _, name = path[:-2].rpartition('["')
        owner(armature, above)[bpy.utils.unescape_identifier(name)] = new
    else:
        above, _, name = path.rpartition(".")
        setattr(owner(armature, above), name, new)


def owner(armature, path):
    """The object at a path; the armature itself if it is empty."""
    return armature.path_resolve(path) if path else armature
