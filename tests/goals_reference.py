"""The truth about goals of every kind: forward kinematics, central differences, and priorities one after another.

Slow and obvious, and nothing of ikcore in it. A goal is its residual: numbers that are 0 where it is met. The Jacobian,
in the methods' sense, is the reduction of residuals by a small change.

`solve` is what methods with strict priorities are measured by: each level is as near to its goals as those before it
leave it. P. Baerlocher, R. Boulic, "An inverse kinematics architecture enforcing an arbitrary number of strict priority
levels", The Visual Computer 20 (2004), for the step. A step is only accepted if all levels above are unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Levels = Sequence[Sequence["Goal"]]

DIFFERENCE = 1e-5  # half of what central differences are taken over
RANK = 1e-7  # of a whole Jacobian: what is below it is the error of differences, not a direction
TOUCHING = 1e-8  # a half-space nearer to its bound than this is at it


# --- bodies -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Body:
    """A tree of joints, parents first. All turn freely; along their parent's axes they slide where they have a travel.

    offsets, low and high are (n, 3) in the space of the parent, centres (n, 3) in that of the joint itself.
    """

    parents: Sequence[int]
    offsets: Array
    turns: Array  # (n,) of bools
    low: Array  # of the translation, from the offset
    high: Array
    masses: Array  # (n,)
    centres: Array  # where each joint's mass is


def body(
    parents: Sequence[int],
    offsets: Any,
    *,
    turns: Any = True,
    low: Any = 0.0,
    high: Any = 0.0,
    masses: Any = 1.0,
    centres: Any = 0.0,
) -> Body:
    """A single given value applies to all joints."""
    count, shape = len(parents), (len(parents), 3)
    return Body(
        parents,
        np.asarray(offsets, float),
        np.broadcast_to(turns, count),
        np.broadcast_to(np.asarray(low, float), shape),
        np.broadcast_to(np.asarray(high, float), shape),
        np.broadcast_to(np.asarray(masses, float), count),
        np.broadcast_to(np.asarray(centres, float), shape),
    )


@dataclass(frozen=True)
class Pose:
    """Local rotations (n, 3, 3), and where each joint is in its parent's space (n, 3)."""

    rotations: Array
    translations: Array


@dataclass(frozen=True)
class World:
    """Positions and rotations of all joints, and their masses."""

    of: Body
    pose: Pose
    positions: Array  # (n, 3)
    rotations: Array  # (n, 3, 3)

    def point(self, joint: int, offset: ArrayLike) -> Array:
        """World position of a point fixed to a joint."""
        place: Array = self.positions[joint] + self.rotations[joint] @ np.asarray(offset, float)
        return place

    def above(self, joint: int) -> Array:
        """The rotation of what a joint hangs from."""
        parent = self.of.parents[joint]
        turned: Array = self.rotations[parent] if parent >= 0 else np.eye(3)
        return turned

    def centre_of_mass(self) -> Array:
        places = np.array([self.point(joint, centre) for joint, centre in enumerate(self.of.centres)])
        centre: Array = (self.of.masses[:, None] * places).sum(axis=0) / self.of.masses.sum()
        return centre


def at_rest(of: Body) -> Pose:
    """Not turned, and not slid."""
    return Pose(np.tile(np.eye(3), (len(of.parents), 1, 1)), of.offsets.copy())


def forward(of: Body, pose: Pose) -> World:
    """Joint by joint, down from the root."""
    positions, rotations = np.zeros_like(pose.translations), np.zeros_like(pose.rotations)
    for joint, parent in enumerate(of.parents):
        positions[joint], rotations[joint] = pose.translations[joint], pose.rotations[joint]
        if parent >= 0:
            positions[joint] = positions[parent] + rotations[parent] @ pose.translations[joint]
            rotations[joint] = rotations[parent] @ pose.rotations[joint]
    return World(of, pose, positions, rotations)


def moved(world: World, change: Array) -> Pose:
    """All joints at once, by (n, 6): a rotation vector in the world, and a way along the axes of the parent."""
    of, change, local = world.of, change.reshape(-1, 6), world.pose.rotations.copy()
    for joint in np.flatnonzero(change[:, :3].any(axis=1)).tolist():
        above = world.above(joint)
        local[joint] = above.T @ exp(change[joint, :3]) @ above @ local[joint]
    slid = np.clip(world.pose.translations + change[:, 3:] - of.offsets, of.low, of.high)
    return Pose(local, of.offsets + slid)


# --- rotations --------------------------------------------------------------------------------------------------------


def exp(vector: ArrayLike) -> Array:
    """Rodrigues: the matrix of a rotation vector."""
    vector = np.asarray(vector, float)
    angle = float(np.linalg.norm(vector))
    x, y, z = vector
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    # sinc(x) is sin(pi x) / (pi x), and so 1 at 0.
    half = np.sinc(angle / 2 / np.pi)
    turn: Array = np.eye(3) + np.sinc(angle / np.pi) * cross + half**2 / 2 * (cross @ cross)
    return turn


def log(matrix: Array) -> Array:
    """The rotation vector of a matrix, no longer than pi; of half a turn, one of its two."""
    skew = np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]) / 2
    sine, cosine = float(np.linalg.norm(skew)), (np.trace(matrix) - 1) / 2
    if cosine < 0 and sine < 1e-4:
        # The axis is the longest column of the symmetric part, turned the way of the other part.
        symmetric = matrix + matrix.T + (1 - np.trace(matrix)) * np.eye(3)
        axis = symmetric[:, np.argmax(np.diag(symmetric))]
        axis = axis / np.linalg.norm(axis) * (-1 if axis @ skew < 0 else 1)
        return np.asarray(np.arctan2(sine, cosine) * axis)
    return np.asarray(skew if sine == 0 else skew * (np.arctan2(sine, cosine) / sine))


def matrix_of(quaternion: ArrayLike) -> Array:
    """Matrices of unit quaternions (w, x, y, z); any number of them."""
    w, x, y, z = np.moveaxis(np.asarray(quaternion, float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def arc(start: Array, end: Array) -> Array:
    """The rotation vector that takes one direction to another the short way; of opposite ones, one of many."""
    start, end = start / np.linalg.norm(start), end / np.linalg.norm(end)
    cross = np.cross(start, end)
    sine, cosine = float(np.linalg.norm(cross)), float(start @ end)
    if sine == 0:
        across = np.cross(start, np.eye(3)[np.argmin(np.abs(start))])
        return np.asarray(across / np.linalg.norm(across) * (0 if cosine > 0 else np.pi))
    return np.asarray(cross * (np.arctan2(sine, cosine) / sine))


# --- goals ------------------------------------------------------------------------------------------------------------

ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Goal:
    """Base of all goals: a weight among those of its level, and a residual."""

    weight: float = 1.0

    def residual(self, world: World) -> Array:
        raise NotImplementedError

    @property
    def is_angle(self) -> bool:
        """Whether its residual is angles, which count by a length."""
        return isinstance(self, Turn | Look | RelativeTurn | Posture)


@dataclass(frozen=True)
class Place(Goal):
    """A point fixed to a joint is somewhere: the way there."""

    joint: int
    target: ArrayLike
    offset: ArrayLike = ORIGIN

    def residual(self, world: World) -> Array:
        way: Array = np.asarray(self.target, float) - world.point(self.joint, self.offset)
        return way


@dataclass(frozen=True)
class Turn(Goal):
    """A joint is turned some way: the rotation vector, in the world, that is missing."""

    joint: int
    target: Array  # (3, 3)

    def residual(self, world: World) -> Array:
        return log(self.target @ world.rotations[self.joint].T)


@dataclass(frozen=True)
class Look(Goal):
    """The ray along an axis of a joint, from a point fixed to it, meets the target: the arc that is missing.

    Three numbers, as long as the angle between the two.
    """

    joint: int
    axis: ArrayLike
    target: ArrayLike
    offset: ArrayLike = ORIGIN

    def residual(self, world: World) -> Array:
        ray = world.rotations[self.joint] @ np.asarray(self.axis, float)
        return arc(ray, np.asarray(self.target, float) - world.point(self.joint, self.offset))


@dataclass(frozen=True)
class Distance(Goal):
    """A point fixed to a joint is so far from another, or, without an `other` joint, from one in the world: how much
    too far."""

    joint: int
    length: float
    point: ArrayLike = ORIGIN  # the other: of its joint or in the world
    other: int | None = None
    offset: ArrayLike = ORIGIN

    def residual(self, world: World) -> Array:
        far = np.asarray(self.point, float) if self.other is None else world.point(self.other, self.point)
        return np.array([np.linalg.norm(world.point(self.joint, self.offset) - far) - self.length])


@dataclass(frozen=True)
class RelativePlace(Goal):
    """A point fixed to a joint is somewhere in the space of another: the way there, in that space."""

    joint: int
    other: int
    target: ArrayLike
    offset: ArrayLike = ORIGIN

    def residual(self, world: World) -> Array:
        seen = world.rotations[self.other].T @ (world.point(self.joint, self.offset) - world.positions[self.other])
        way: Array = np.asarray(self.target, float) - seen
        return way


@dataclass(frozen=True)
class RelativeTurn(Goal):
    """A joint is turned some way in the space of another: the rotation vector that is missing, in that space."""

    joint: int
    other: int
    target: Array  # (3, 3)

    def residual(self, world: World) -> Array:
        return log(self.target @ world.rotations[self.joint].T @ world.rotations[self.other])


@dataclass(frozen=True)
class CentreOfMass(Goal):
    """The centre of all masses is somewhere: the way there."""

    target: ArrayLike

    def residual(self, world: World) -> Array:
        way: Array = np.asarray(self.target, float) - world.centre_of_mass()
        return way


class OneSided(Goal):
    """A goal with a one-sided bound."""

    def below(self, world: World) -> float:
        """How far beyond the bound it is; less than 0 where it is right."""
        raise NotImplementedError

    def residual(self, world: World) -> Array:
        return np.array([max(0.0, self.below(world))])


@dataclass(frozen=True)
class Inside(OneSided):
    """A point fixed to a joint, or the centre of mass, is above a plane by a margin: how far below that it is.

    The plane goes through `point`; `normal`, of length 1, says where above is.
    """

    normal: ArrayLike
    point: ArrayLike
    margin: float = 0.0
    joint: int | None = None  # none: the centre of mass
    offset: ArrayLike = ORIGIN

    def below(self, world: World) -> float:
        """How far; less than 0 above it."""
        place = world.centre_of_mass() if self.joint is None else world.point(self.joint, self.offset)
        return self.margin - float((place - np.asarray(self.point, float)) @ np.asarray(self.normal, float))


@dataclass(frozen=True)
class Outside(OneSided):
    """The bone to a joint, or from it to a point fixed to it, is so far from all of a straight axis.

    Points of the bone are tried, ever more closely: how far one is from the axis is convex along the bone.
    """

    joint: int
    start: ArrayLike  # of the axis
    end: ArrayLike
    distance: float
    offset: ArrayLike = ORIGIN

    def below(self, world: World) -> float:
        place = world.point(self.joint, self.offset)
        above = self.joint if np.any(self.offset) else max(world.of.parents[self.joint], 0)
        low, high = np.zeros(1), np.ones(1)
        for _ in range(30):
            shares = np.linspace(low, high, 9)
            off = off_axis(world.positions[above] + shares * (place - world.positions[above]), self.start, self.end)
            best = int(np.argmin(off))
            low, high = shares[max(best - 1, 0)], shares[min(best + 1, 8)]
        return self.distance - float(off.min())


def off_axis(points: Array, start: ArrayLike, end: ArrayLike) -> Array:
    """How far points (n, 3) are from a straight axis."""
    start, way = np.asarray(start, float), np.asarray(end, float) - np.asarray(start, float)
    along = np.clip((points - start) @ way / (way @ way or 1.0), 0, 1)
    off: Array = np.linalg.norm(points - start - along[:, None] * way, axis=1)
    return off


@dataclass(frozen=True)
class Posture(Goal):
    """Joints are turned from their parents as they are at rest: the rotation vectors that are missing, in the world."""

    joints: Sequence[int]
    rest: Array = field(default_factory=lambda: np.eye(3))  # (3, 3), or for each of the joints

    def residual(self, world: World) -> Array:
        rest = np.broadcast_to(self.rest, (len(self.joints), 3, 3))
        wanted = [world.above(joint) @ turned for joint, turned in zip(self.joints, rest, strict=True)]
        return np.concatenate([log(to @ world.rotations[j].T) for j, to in zip(self.joints, wanted, strict=True)])


def over_polygon(corners: ArrayLike, up: ArrayLike = (0.0, 1.0, 0.0), margin: float = 0.0) -> list[Goal]:
    """The centre of mass is above a convex polygon of corners (k, 3), anticlockwise from above, by a margin."""
    corners, up = np.asarray(corners, float), np.asarray(up, float)
    goals: list[Goal] = []
    for corner, following in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        inwards = np.cross(up, following - corner)
        goals.append(Inside(inwards / np.linalg.norm(inwards), corner, margin))
    return goals


# --- Jacobians --------------------------------------------------------------------------------------------------------


def jacobian(of: Body, pose: Pose, goal: Goal, columns: Array | None = None) -> Array:
    """How much of a goal's residual a small change takes away: (rows, 6 n), by central differences.

    Six columns a joint: turns about the axes of the world, ways along those of the parent, whatever its travel. A
    half-space counts as a plane. `columns` says which are wanted; the others are 0.
    """
    boundless = replace(of, low=np.full_like(of.low, -np.inf), high=np.full_like(of.high, np.inf))
    world, size = forward(boundless, pose), 6 * len(of.parents)
    found = np.zeros((signed(goal, world).size, size))
    for i in np.flatnonzero(np.ones(size) if columns is None else columns):
        change = DIFFERENCE * np.eye(size)[i]
        ahead, behind = (signed(goal, forward(boundless, moved(world, by))) for by in (change, -change))
        found[:, i] = (behind - ahead) / (2 * DIFFERENCE)
    return found


def signed(goal: Goal, world: World) -> Array:
    """The residual; of what is one-sided also where it is met."""
    return np.array([goal.below(world)]) if isinstance(goal, OneSided) else goal.residual(world)


# --- priorities -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Residuals of a body's levels of goals; an angle counts as the motion at a `lever`."""

    of: Body
    lever: float = 1.0

    def scale(self, goal: Goal) -> float:
        return float(np.sqrt(goal.weight)) * (self.lever if goal.is_angle else 1.0)

    def square(self, pose: Pose, level: Sequence[Goal]) -> float:
        """The squared residual that a level minimizes."""
        world = forward(self.of, pose)
        return sum(float(((self.scale(goal) * goal.residual(world)) ** 2).sum()) for goal in level)

    def may(self) -> Array:
        """Which of 6 n changes there may be."""
        turns = np.repeat(self.of.turns[:, None], 3, axis=1)
        return np.concatenate([turns, self.of.low < self.of.high], axis=1).ravel()

    def rows(self, pose: Pose, level: Sequence[Goal]) -> tuple[Array, Array]:
        """Jacobian and residual of a level, without half-spaces that are satisfied or only just violated."""
        world, may = forward(self.of, pose), self.may()
        parts: list[tuple[Array, Array]] = [(np.zeros((0, may.size)), np.zeros(0))]
        for goal in level:
            if isinstance(goal, OneSided) and goal.below(world) <= TOUCHING:
                continue
            scale = self.scale(goal)
            parts.append((scale * jacobian(self.of, pose, goal, may), scale * goal.residual(world)))
        return np.concatenate([j for j, _ in parts]), np.concatenate([r for _, r in parts])

    def bounds(self, pose: Pose, levels: Levels) -> tuple[Array, Array]:
        """Rows of what a step may not take too far, and how far it may: half-spaces that are met, and travels."""
        world, may = forward(self.of, pose), self.may()
        halves = [goal for level in levels for goal in level if isinstance(goal, OneSided)]
        met = [goal for goal in halves if goal.below(world) <= TOUCHING]
        rows = [np.zeros((0, may.size)), *(-jacobian(self.of, pose, goal, may) for goal in met)]
        room = [np.array([max(0.0, -goal.below(world)) for goal in met])]
        ways, slid = np.eye(may.size)[may], pose.translations - self.of.offsets
        for sign, to_end in ((1, self.of.high - slid), (-1, slid - self.of.low)):
            left = np.concatenate([np.full_like(to_end, np.inf), to_end], axis=1).ravel()[may]
            rows.append(sign * ways[np.isfinite(left)])
            room.append(left[np.isfinite(left)])
        return np.concatenate(rows), np.concatenate(room)


def inverse(j: Array, whole: Array) -> Array:
    """The pseudoinverse of `j`, a projection of the Jacobian `whole`.

    A singular value counts above a share of the norm of `whole`. A share of the norm of `j` would let rounding count.
    """
    u, s, v = np.linalg.svd(j, full_matrices=False)
    counts = s > RANK * np.linalg.norm(whole)
    return np.asarray((v[counts].T / s[counts]) @ u[:, counts].T)


def projector(levels: Sequence[Array], size: int) -> Array:
    """The projector onto the null space of all Jacobians of `levels`."""
    left = np.eye(size)
    for whole in levels:
        seen = whole @ left
        left = left - inverse(seen, whole) @ seen
    return left


def solve(problem: Problem, pose: Pose, levels: Levels) -> Pose:
    """Level by level: each as near as those before it leave it, at the end of the way down from the pose."""
    if not levels:
        return pose
    *above, last = levels
    pose, damping = solve(problem, pose, above), -1.0
    square = problem.square(pose, last)
    while square > 1e-18:
        before = square
        pose, square, damping = descend(problem, pose, levels, square, damping)
        if before - square <= 1e-11 * before:
            break
    return pose


def descend(problem: Problem, pose: Pose, levels: Levels, square: float, damping: float) -> tuple[Pose, float, float]:
    """One step that makes the last level better and none above worse, by Nielsen's rule; the same pose: there is none.

    Comes with the square of the last level, and the damping of the next step; less than 0: not chosen yet.
    """
    *above, last = levels
    j, residual = problem.rows(pose, last)
    upper, bounds = [problem.rows(pose, level)[0] for level in above], problem.bounds(pose, above)
    size, world = float(np.square(j).sum()) + 1e-300, forward(problem.of, pose)
    limits = [tolerated(problem.square(pose, level)) for level in above]
    damping, growth = max(damping, 1e-14 * size) if damping >= 0 else 1e-3 * size, 2.0
    step = next_step(upper, bounds, j, residual, damping)
    while np.linalg.norm(step) > 1e-9:
        trial = solve(problem, moved(world, step), above)
        gained = square - problem.square(trial, last)
        if gained > 0 and all(problem.square(trial, level) <= most for level, most in zip(above, limits, strict=True)):
            foreseen = float(residual @ residual - np.square(residual - j @ step).sum())
            share = min(gained / foreseen, 1.0) if foreseen > 0 else 0.0
            return trial, square - gained, damping * max(1 / 3, 1 - (2 * share - 1) ** 3)
        damping, growth = damping * growth, 2 * growth
        step = next_step(upper, bounds, j, residual, damping)
    return pose, square, damping


def tolerated(square: float) -> float:
    """The largest residual of a level above that counts as unchanged."""
    return square * (1 + 1e-10) + 1e-14


def next_step(above: Sequence[Array], bounds: tuple[Array, Array], j: Array, residual: Array, damping: float) -> Array:
    """The damped step of a level that changes nothing for those above. The bound that it would exceed most is met and
    fixed, and the rest is solved again, until there is none."""
    rows, room = bounds
    held, untouched = np.zeros(len(rows), bool), projector(above, j.shape[1])
    while True:
        to_bounds = inverse(rows[held] @ untouched, rows[held]) @ room[held]
        free = j @ projector([*above, rows[held]], j.shape[1])
        left = np.linalg.solve(free @ free.T + damping * np.eye(len(j)), residual - j @ to_bounds)
        step = np.asarray(to_bounds + free.T @ left)
        beyond = np.where(held, 0, rows @ step - room)
        if not beyond.size or beyond.max() <= 1e-12:
            return step
        held[beyond.argmax()] = True
