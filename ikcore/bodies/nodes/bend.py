"""Which way a limb bends: from its rest pose, its hinge, or a side that is given; carried along to its target."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import cross, dot, size
from ikcore.skeleton import Skeleton, World

Array = NDArray[Any]

BENT_AT_REST = 0.01  # distance of the middle joint from the line root to tip, as share of that line: 1.1 degrees a side
STRAIGHT = 1e-4  # weight of the hinge against the present bend, so that a straight limb has a direction


class Joints(NamedTuple):
    """The joints of a limb, and the joint above it (-1: none)."""

    above: int
    root: int
    mid: int
    tip: int


class RestBend(NamedTuple):
    """How a limb bends in the rest pose: directions in world space there."""

    line: Array  # from root to tip
    out: Array  # where the middle joint goes, perpendicular to the line
    hinge: Array  # the axis about which that happens


def joints_of(skeleton: Skeleton, tip: str | int) -> Joints:
    """The two joints above a tip, and the one above them."""
    end = skeleton.index(tip)
    mid = int(skeleton.parents[end])
    root = int(skeleton.parents[mid]) if mid >= 0 else -1
    if root < 0:
        raise ValueError(f"tip: expected a joint with two joints above it, got {skeleton.names[end]!r}")
    return Joints(int(skeleton.parents[root]), root, mid, end)


def rest_bend(skeleton: Skeleton, limb: Joints, side: ArrayLike | None) -> RestBend | None:
    """The bend at rest: towards `side`, else as the limb is bent, else by the hinge of the middle joint.

    None if nothing of that is known.
    """
    world = skeleton.forward(skeleton.rest)
    root, mid, tip = (world.positions[joint] for joint in limb[1:])
    line, out = tip - root, None
    if side is not None:
        out = perpendicular(np.asarray(side, float), line)
    elif float(size(off := perpendicular(mid - root, line))) > BENT_AT_REST * float(size(line)):
        out = off
    else:
        axis = _hinge_axis(skeleton, limb.mid)
        if axis is not None:
            out = cross(line, rotations.rotate(world.rotations[limb.mid], axis))
    if out is None or not float(size(out)) > 0:
        return None
    out = out / size(out)
    return RestBend(line, out, cross(out, line / size(line)))


def _hinge_axis(skeleton: Skeleton, joint: int) -> Array | None:
    """The axis of the hinge of a joint, with the sign that bends more."""
    limit = skeleton.limits[joint]
    if limit is None or limit.kind != "hinge":
        return None
    axis = rotations.rotate(np.asarray(limit.frame), [1.0, 0, 0])
    return axis if sum(limit.twist) >= 0 else -axis


def present_bend(skeleton: Skeleton, limb: Joints, world: World, rest: RestBend | None, *, hinged: bool) -> Array:
    """The offset of the middle joint from the line root to tip; by the hinge if `hinged` or if the limb is straight."""
    root, mid, tip = (world.positions[..., joint, :] for joint in limb[1:])
    line = tip - root
    off = perpendicular(mid - root, line)
    if rest is None:
        return off
    back = rotations.conjugate(skeleton.forward(skeleton.rest).rotations[limb.root])
    axis = rotations.rotate(back, rest.hinge).astype(line.dtype)
    about = cross(line, rotations.rotate(world.rotations[..., limb.root, :], axis))
    return about if hinged else off + line.dtype.type(STRAIGHT) * about


def rest_direction(skeleton: Skeleton, limb: Joints, world: World, rest: RestBend, line: Array | None) -> Array:
    """The bend of the rest pose as the joint above has turned since; with `line`, carried on to that line."""
    dtype = world.rotations.dtype
    out, turn = rest.out.astype(dtype), _rotation_since_rest(skeleton, limb.above, world)
    if line is None:
        return rotations.rotate(turn, out)
    inner = rotations.rotate(rotations.conjugate(turn), line)
    carried = rotations.rotate(rotations.shortest_arc(rest.line.astype(dtype), inner), out)
    return rotations.rotate(turn, carried)


def tip_direction(skeleton: Skeleton, limb: Joints, rest: RestBend, rotation: Array) -> Array:
    """The bend of the rest pose as the tip has turned since, to this world rotation."""
    before = skeleton.forward(skeleton.rest).rotations[limb.tip].astype(rotation.dtype)
    turn = rotations.multiply(rotations.normalize(rotation), rotations.conjugate(before))
    return rotations.rotate(turn, rest.out.astype(rotation.dtype))


def _rotation_since_rest(skeleton: Skeleton, joint: int, world: World) -> Array:
    """World rotation of a joint since rest."""
    if joint < 0:
        return np.broadcast_to(np.array([1, 0, 0, 0], world.rotations.dtype), (*world.rotations.shape[:-2], 4))
    rest = skeleton.forward(skeleton.rest).rotations[joint].astype(world.rotations.dtype)
    return rotations.multiply(world.rotations[..., joint, :], rotations.conjugate(rest))


def carry_direction(direction: Array, line: Array, new: Array) -> Array:
    """A direction perpendicular to a line, turned with it by the shortest arc."""
    return rotations.rotate(rotations.shortest_arc(line, new, direction), direction)


def mix_directions(a: Array, b: Array, line: Array, share: float) -> Array:
    """A direction perpendicular to a line, at a share of the way about it from a to b."""
    first, second = perpendicular(a, line), perpendicular(b, line)
    if share == 1:
        return second
    arc = rotations.shortest_arc(first, second, line)
    identity = np.zeros_like(arc)
    identity[..., 0] = 1
    return rotations.rotate(rotations.slerp(identity, arc, np.full(arc.shape[:-1], share, arc.dtype)), first)


def perpendicular(a: Array, line: Array) -> Array:
    """The component of a vector perpendicular to a line."""
    square = np.asarray(dot(line, line))
    along = np.asarray(dot(a, line)) / np.where(square > 0, square, 1)
    return np.asarray(a - along[..., np.newaxis] * line)
