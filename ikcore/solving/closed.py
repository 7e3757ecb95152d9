"""Closed forms as methods of skeletons: one goal after another turns its joints, and the pose is judged at the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, rotations
from ikcore._arrays import call, dot, optional_number, optional_rows
from ikcore.forms import Aim, Limb
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World, ancestors, path
from ikcore.solving.batch import Found, checked_tasks, items_of
from ikcore.solving.placed import angle_between, arm_of, chain_points, from_rest, off_ray, point_of
from ikcore.solving.solution import Solution
from ikcore.solving.table import METHODS, Option, closed_form, options_of
from ikcore.span import distance, span_of
from ikcore.status import Status
from ikcore.tasks import Point, Task

# Tolerances are those of iterative methods.
_OPTIONS = {name: options_of("dls")[name] for name in ("tolerance", "rotation_tolerance")} | {
    option.name: option
    for option in (
        Option("twist", 0.0, -math.inf, math.inf, "radians of turning about the line to the target"),
        Option("soften", 1.0, 0, 1, "the share of the reach where a limb starts to give"),
        Option("min_bend", 0.0, 0, math.pi, "the least angle between the bones, 0 being straight"),
        Option("max_bend", math.pi, 0, math.pi, "the largest angle between the bones"),
    )
}


@closed_form(
    "the limb in closed form: every goal has a chain of two bones, and a pole where wanted",
    ("PLACE", "TURN", "POLE", "LIMITS", "ENDS"),
    _OPTIONS,
)
def two_bone(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    twist: float = 0.0,
    soften: float = 1.0,
    min_bend: float = 0.0,
    max_bend: float = math.pi,
    workers: int = 1,
    strict: bool = False,
) -> Solution:
    """Solve the limbs of a skeleton, those nearer to the root first.

    A goal's weight is the share of the limb's rotation to apply, its rotation_weight that of the tip's. Without a
    rotation the tip follows the limb.
    """
    return _solve(_LIMB, **locals())


@closed_form(
    "one joint a goal turns in closed form, until an axis of it points at a place",
    ("LOOK", "POLE", "LIMITS", "ENDS"),
    {
        "rotation_tolerance": replace(
            _OPTIONS["rotation_tolerance"], sentence="angle to the target that counts as reached"
        ),
        "twist": _OPTIONS["twist"],
    },
)
def aim(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    rotation_tolerance: float = 1e-4,
    twist: float = 0.0,
    workers: int = 1,
    strict: bool = False,
) -> Solution:
    """Aim joints of a skeleton, each alone: the ray from it along the axis of its `Look` meets the position.

    Those nearer to the root turn first, so that eyes see where their head has turned to. A goal's weight is the share
    of the turn to apply. With a pole the joint rolls as well, until its axis `up` is on the pole's side; a joint whose
    limit is a hinge turns about that alone, as near to the position as it can. Scales turn an axis as they do a child
    that is on it.

    The rotation_error is the angle at the joint between ray and position, the error how far the position is from the
    ray. A position on the joint itself is met by every ray.

    Examples
    --------
    >>> import ikcore as ik
    >>> body = ik.Skeleton([-1, 0], [[0, 1.4, 0], [0, 0.2, 0]], names=["neck", "head"])
    >>> gaze = ik.Look("head", [0, 0, 1], [2, 1.6, 2], chain=0)
    >>> found = ik.solve(body, body.rest, [gaze], "aim")
    >>> ik.rotations.rotate(found.pose.rotations[1], [0, 0, 1]).round(4)
    array([0.7071, 0.    , 0.7071])
    """
    return _solve(_RAY, **locals())


class Wish(NamedTuple):
    """What a closed form takes of a goal: where a joint should be, and how turned; or where to look."""

    goal: int
    joint: int
    chain: int
    offset: Point  # the limb's end; or what the ray goes through, the axis
    position: NDArray[Any]
    weight: NDArray[Any]
    rotation: NDArray[Any] | None
    rotation_weight: NDArray[Any]
    pole: NDArray[Any] | None
    up: Point

    def path(self, skeleton: Skeleton) -> list[int]:
        """The joints from the start of the chain down to the joint."""
        return path(skeleton, self.chain, self.joint)


class Miss(NamedTuple):
    """How far one goal is from being reached."""

    error: NDArray[Any]
    angle: NDArray[Any]
    off: NDArray[np.bool_]  # beyond tolerance


class Form(NamedTuple):
    """A closed form on a skeleton, goal by goal."""

    name: str
    joints: Callable[[Skeleton, Wish, str], list[int]]  # that turn for a goal; an error where it is for none
    turn: Callable[[Skeleton, Pose, Wish, dict[str, float], int, Found], NDArray[np.bool_]]  # where limits held
    miss: Callable[[Skeleton, Pose, World, Wish, dict[str, float]], Miss]


def _solve(
    form: Form, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], *, workers: int, strict: bool, **options: float
) -> Solution:
    """What every closed form does: the joints of one goal after another turn, those nearer to the root first."""
    asked = checked_tasks(form.name, skeleton, pose, goals)
    tasks = _checked(form, skeleton, asked)
    found = Found.empty(items_of(pose, asked), pose.rotations)
    found.rotations[...] = pose.rotations
    found.iterations[...] = 0
    with np.errstate(all="ignore"):  # what is not finite is said in the status
        again = _solve_once(form, skeleton, pose, tasks, options, workers, found)
        again &= _bones_change(pose, tasks, options["twist"])
        for _ in range(_ROUNDS):
            if not again.any():
                break
            before = found.map(np.copy)
            off = _solve_once(form, skeleton, pose, tasks, options, workers, found)
            for now, array in zip(found[:4], before[:4], strict=True):
                np.copyto(now, array, where=~again.reshape(again.shape + (1,) * (now.ndim - again.ndim)))
            again &= off & (found.error < _GAIN * before.error)
    return Solution.of(form.name, skeleton, pose, goals, found, strict=strict)


def _solve_once(
    form: Form,
    skeleton: Skeleton,
    pose: Pose,
    tasks: tuple[Wish, ...],
    options: dict[str, float],
    workers: int,
    found: Found,
) -> NDArray[np.bool_]:
    """Turn the joints of all goals; where something is off after."""
    limited = np.zeros(found.status.shape, bool)
    found.status[...] = found.error[...] = found.rotation_error[...] = 0
    for task in sorted(tasks, key=lambda task: len(ancestors(skeleton, task.joint))):
        limited |= form.turn(skeleton, pose, task, options, workers, found)
    unusable = found.status >= _core.UNUSABLE
    if unusable.any():  # as a rule none is: to look for them by index takes as long as the limb
        found.rotations[unusable] = np.broadcast_to(pose.rotations, found.rotations.shape)[unusable]
    off = _judge(form, skeleton, pose, tasks, options, found) & ~unusable
    if off.any():
        found.status[off & limited] |= Status.AT_LIMIT
        found.status[off & (found.status == 0)] = Status.STALLED
    return off


# Uneven scales change the bones as limbs turn: they are read again, at most so many times, while the error falls by a
# share.
_ROUNDS, _GAIN = 40, 0.95


def _bones_change(pose: Pose, tasks: tuple[Wish, ...], twist: float) -> NDArray[np.bool_]:
    """Whether solving again from the solution brings a pose nearer: not where that adds to what was done before."""
    if pose.scales is None or twist != 0:
        return np.zeros((), bool)
    uneven = np.asarray((pose.scales != pose.scales[..., :1]).any(axis=(-2, -1)))
    for task in tasks:
        for weight in (task.weight, task.rotation_weight):
            uneven = uneven & ((weight == 0) | (weight >= 1))
    return uneven


def _wishes(form: Form, asked: tuple[Task, ...]) -> Iterator[Wish]:
    """The goals of tasks, which are places and rotations. A negative weight counts as 0."""
    for goal in range(asked[-1].goal + 1):
        given = {task.kind: task for task in asked if task.goal == goal}
        place, turn = given.get("LOOK") or given.get("PLACE"), given.get("TURN")
        if place is None or place.position is None:
            raise ValueError(f"goals[{goal}]: {form.name} needs a position")
        if place.kind == "LOOK" and any(place.offset):
            raise ValueError(f"goals[{goal}].offset: {form.name} takes none, the axis starts at the joint; use dls")
        rotation = turn.rotation if turn else None
        weights = [_weight_of(task, place.position.dtype) for task in (place, turn)]
        yield Wish(
            goal,
            place.joint,
            place.chain,
            place.axis if place.kind == "LOOK" else place.offset,
            place.position,
            weights[0],
            rotation,
            weights[1],
            place.pole,
            place.up,
        )


def _weight_of(task: Task | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    given = np.ones((), dtype) if task is None or task.weight is None else task.weight
    negative = given < 0
    return np.where(np.isfinite(given) & negative, 0, given) if negative.any() else given


def _checked(form: Form, skeleton: Skeleton, asked: tuple[Task, ...]) -> tuple[Wish, ...]:
    """The goals, no two for one joint."""
    wishes = tuple(_wishes(form, asked))
    turned: dict[int, int] = {}
    for index, wish in enumerate(wishes):
        for joint in form.joints(skeleton, wish, f"goals[{index}]: {form.name}"):
            if (other := turned.setdefault(joint, index)) != index:
                raise ValueError(f"goals[{other}] and goals[{index}] both turn joint {skeleton.names[joint]!r}")
    return wishes


def _turn(
    skeleton: Skeleton, joint: int, delta: NDArray[Any], where: NDArray[np.bool_], found: Found
) -> NDArray[np.bool_]:
    """Turn a joint in the space of its parent, as far as its limit allows; where that held it."""
    local = found.rotations[..., joint, :]
    np.copyto(local, rotations.multiply(delta, rotations.normalize(local)), where=where[..., np.newaxis])
    return _bring_back(skeleton, joint, local)


def _bring_back(skeleton: Skeleton, joint: int, local: NDArray[Any]) -> NDArray[np.bool_]:
    """Make local rotations of a joint what its limit allows; where they were not."""
    limit = skeleton.limits[joint]
    if limit is None:
        return np.zeros(local.shape[:-1], bool)
    q = from_rest(skeleton, joint, local)
    outside = limit.violation(q) > 0
    rest = skeleton.rest.rotations[joint].astype(local.dtype)
    np.copyto(local, rotations.multiply(rest, limit.project(q)), where=outside[..., np.newaxis])
    return outside


def _judge(
    form: Form, skeleton: Skeleton, pose: Pose, tasks: tuple[Wish, ...], options: dict[str, float], found: Found
) -> NDArray[np.bool_]:
    """Errors by forward kinematics of the pose that is returned; which items are off."""
    after = pose.turned(found.rotations)
    world, off = skeleton.forward(after), np.zeros(found.status.shape, bool)
    for task in tasks:
        miss = form.miss(skeleton, after, world, task, options)
        np.maximum(found.error, miss.error, out=found.error)
        np.maximum(found.rotation_error, miss.angle, out=found.rotation_error)
        off |= miss.off
    return off


def judged(
    method: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], options: Mapping[str, float]
) -> list[Miss]:
    """How far each goal of a closed form is from being reached in a pose, as it is."""
    form = next(form for form in (_LIMB, _RAY) if form.name == method)
    tasks = _checked(form, skeleton, checked_tasks(method, skeleton, pose, goals))
    world = skeleton.forward(pose)
    known = {name: option.default for name, option in METHODS[method].options.items()} | dict(options)
    with np.errstate(all="ignore"):
        return [form.miss(skeleton, pose, world, task, known) for task in tasks]


# --- the limb ---------------------------------------------------------------------------------------------------------


def _limb_joints(skeleton: Skeleton, task: Wish, where: str) -> list[int]:
    """Root and mid, and the tip where it has a rotation."""
    joints = task.path(skeleton)
    if (bones := len(joints) - 1) != 2:
        raise ValueError(f"{where} needs a chain of two bones, chain=2; this one has {bones}")
    if task.rotation is not None and any(task.offset):
        raise ValueError(f"{where} takes an offset or a rotation, not both")
    return joints[: 2 if task.rotation is None else 3]


def _turn_limb(
    skeleton: Skeleton, pose: Pose, task: Wish, options: dict[str, float], workers: int, found: Found
) -> NDArray[np.bool_]:
    now = pose.turned(found.rotations)
    world = skeleton.forward(now, workers=workers)
    root, mid, tip = task.path(skeleton)
    end = point_of(skeleton, now, world, task)
    limb = _limb_of(world, task, root, mid, end, _hinge_of(skeleton, world, mid), options, workers)
    found.status[...] |= limb.status
    usable = np.less(limb.status, _core.UNUSABLE)
    moved = usable & (task.weight != 0)
    turns = [(root, limb.root, moved), (mid, limb.mid, moved)]
    if task.rotation is not None:
        rule = limb.tip(
            "take", rotation=world.rotations[..., tip, :], target=task.rotation, weight=task.rotation_weight
        )
        turns.append((tip, rule, usable & (task.rotation_weight != 0)))
    limited = np.zeros(found.status.shape, bool)
    for joint, delta, where in turns:
        limited |= _turn(skeleton, joint, _within_parent(skeleton, world, joint, delta), where, found)
    return limited


def _within_parent(skeleton: Skeleton, world: World, joint: int, delta: NDArray[Any]) -> NDArray[Any]:
    """A rotation of the world in the space of a joint's parent."""
    parent = int(skeleton.parents[joint])
    if parent < 0:
        return delta
    outer = world.rotations[..., parent, :]
    return rotations.multiply(rotations.conjugate(outer), rotations.multiply(delta, outer))


def _hinge_of(skeleton: Skeleton, world: World, joint: int) -> NDArray[Any] | None:
    """The axis, in the world, about which a joint with the limit of a hinge bends the way it has more room."""
    limit = skeleton.limits[joint]
    if limit is None or limit.kind != "hinge":
        return None
    low, high = limit.twist
    more = high >= -low or high - low >= 2 * math.pi  # or as much: there are no ends
    axis = rotations.rotate(limit.frame, [1 if more else -1, 0, 0])
    return rotations.rotate(world.rotations[..., joint, :], axis.astype(world.rotations.dtype))


def _limb_of(
    world: World,
    task: Wish,
    root: int,
    mid: int,
    end: NDArray[Any],
    hinge: NDArray[Any] | None,
    options: dict[str, float],
    workers: int,
) -> Limb:
    """The limb between points of the world. A rotation that is not finite makes its item unusable."""
    dtype, target = world.positions.dtype, task.position
    assert target is not None
    if task.rotation is not None:
        finite = np.isfinite(task.rotation).all(axis=-1) & np.isfinite(task.rotation_weight)
        lost = ~finite & (task.rotation_weight != 0)
        target = np.where(lost[..., np.newaxis], np.nan, target)
    inputs = {
        "root": world.positions[..., root, :],
        "mid": world.positions[..., mid, :],
        "end": end,
        "target": target,
        "pole": optional_rows("pole", task.pole, dtype, 3),
        "bend": optional_rows("bend", None, dtype, 3),
        "hinge": optional_rows("hinge", hinge, dtype, 3),
        "twist": optional_number("twist", options["twist"], dtype),
        "weight": optional_number("weight", task.weight, dtype),
        "soften": optional_number("soften", options["soften"], dtype),
        "stretch_start": optional_number("stretch_start", None, dtype),
        "stretch_max": optional_number("stretch_max", None, dtype),
        "min_bend": optional_number("min_bend", options["min_bend"], dtype),
        "max_bend": optional_number("max_bend", options["max_bend"], dtype),
    }
    return Limb(*call(_core.two_bone, inputs, (), workers))


def _limb_miss(skeleton: Skeleton, pose: Pose, world: World, task: Wish, options: dict[str, float]) -> Miss:
    assert task.position is not None
    points = chain_points(skeleton, pose, world, task)
    error = np.where(task.weight == 0, 0, distance(points[..., -1, :], task.position))
    off = error > options["tolerance"] * span_of(points).outer
    if task.rotation is None:
        return Miss(error, np.zeros_like(error), off)
    angle = angle_between(world.rotations[..., task.joint, :], task.rotation)
    angle = np.where(task.rotation_weight == 0, 0, angle)
    return Miss(error, angle, off | (angle > options["rotation_tolerance"]))


_LIMB = Form("two_bone", _limb_joints, _turn_limb, _limb_miss)


# --- the ray ----------------------------------------------------------------------------------------------------------


def _ray_joints(skeleton: Skeleton, task: Wish, where: str) -> list[int]:
    """The joint itself."""
    joints = task.path(skeleton)
    if len(joints) != 1:
        raise ValueError(f"{where} turns one joint, chain=0; this chain has {len(joints)}")
    return joints


# A limit may take the ray off its way where another roll would let it pass, as the limit of an eye that never rolls
# does. But turned again and again, each time by the least that will do, the joint gets nearer: such an eye as near as
# it can, in up to 20 passes; one whose limit is a ball about another axis than the ray may end somewhere short of that.
_PASSES = 64


def _turn_ray(
    skeleton: Skeleton, pose: Pose, task: Wish, options: dict[str, float], workers: int, found: Found
) -> NDArray[np.bool_]:
    """In the space of the parent, where the joint turns as a rigid body, whatever the scales above it."""
    joint, limit, local = task.joint, skeleton.limits[task.joint], found.rotations[..., task.joint, :]
    now = pose.turned(found.rotations)
    world = skeleton.forward(now, workers=workers)
    assert task.position is not None
    target = _seen_by_parent(skeleton, now, world, joint, task.position)
    pole = None if task.pole is None else _seen_by_parent(skeleton, now, world, joint, task.pole)
    before, going = rotations.normalize(local), np.ones(found.status.shape, bool)
    twist = options["twist"]
    for _ in range(1 if limit is None else _PASSES):
        came = local.copy()
        aimed = _aimed(skeleton, pose, task, came, target, pole, twist, workers)
        found.status[...] |= aimed.status if pole is not None else aimed.status & ~Status.POLE_UNDEFINED
        where = going & np.less(aimed.status, _core.UNUSABLE) & (task.weight != 0)
        _turn(skeleton, joint, aimed.delta, where, found)
        going &= np.max(np.abs(local - came), axis=-1) > 0.01 * options["rotation_tolerance"]
        if not going.any():
            break
        twist, pole = 0, None  # the first pass has rolled the joint
    left = rotations.shortest_arc(rotations.rotate(local, _scaled(pose, joint, task.offset)), target)
    missed = rotations.to_axis_angle(left)[1] > options["rotation_tolerance"]
    return (limit is not None) & missed | _share(skeleton, task, before, found)


def _seen_by_parent(skeleton: Skeleton, pose: Pose, world: World, joint: int, point: NDArray[Any]) -> NDArray[Any]:
    """The way from a joint to a point, in the space of its parent; of some length where that is scaled."""
    parent = int(skeleton.parents[joint])
    way: NDArray[Any] = point - world.positions[..., joint, :]
    if parent < 0:
        return way
    if pose.scales is None:
        return rotations.rotate(rotations.conjugate(world.rotations[..., parent, :]), way)
    x, y, z = (arm_of(skeleton, pose, world, parent, axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    inverse = np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)], axis=-2)  # times the determinant
    sign = np.sign(dot(x, inverse[..., 0, :]))[..., np.newaxis]
    return np.asarray(sign * dot(inverse, way[..., np.newaxis, :]))


def _aimed(
    skeleton: Skeleton,
    pose: Pose,
    task: Wish,
    local: NDArray[Any],
    target: NDArray[Any],
    pole: NDArray[Any] | None,
    twist: float,
    workers: int,
) -> Aim:
    """All of the turn of a joint that stands at 0. What is up for one with a hinge is its axis, which stays so."""
    forward, up = (_scaled(pose, task.joint, axis) for axis in (task.offset, task.up))
    limit = skeleton.limits[task.joint]
    if limit is not None and limit.kind == "hinge":
        up = rotations.rotate(limit.frame, [1, 0, 0]).astype(local.dtype)
        pole = rotations.rotate(local, up)
    inputs = {
        "position": np.zeros(3, local.dtype),
        "rotation": local,
        "target": target,
        "forward": forward,
        "offset": optional_rows("offset", None, local.dtype, 3),
        "up": optional_rows("up", None if pole is None else up, local.dtype, 3),
        "pole": optional_rows("pole", pole, local.dtype, 3),
        "twist": optional_number("twist", twist, local.dtype),
        "weight": optional_number("weight", np.where(task.weight > 0, 1, task.weight), local.dtype),
    }
    return Aim(*call(_core.aim, inputs, (), workers))


def _scaled(pose: Pose, joint: int, point: tuple[float, float, float]) -> NDArray[Any]:
    """A point of a joint as its own scale puts it."""
    at = np.asarray(point, pose.dtype)
    return at if pose.scales is None else np.asarray(pose.scales[..., joint, :] * at)


def _share(skeleton: Skeleton, task: Wish, before: NDArray[Any], found: Found) -> NDArray[np.bool_]:
    """Where the weight is below 1, that share of the turn, as `ikcore.aim` takes it; where a limit held it."""
    part = np.broadcast_to((task.weight > 0) & (task.weight < 1), found.status.shape)
    if not part.any():
        return part
    local, none = found.rotations[..., task.joint, :], np.array([1, 0, 0, 0], before.dtype)
    turn = rotations.canonical(rotations.multiply(rotations.conjugate(before), local))
    share = rotations.normalize(none + task.weight[..., np.newaxis] * (turn - none))
    np.copyto(local, rotations.multiply(before, share), where=part[..., np.newaxis])
    found.status[part] |= Status.PARTIAL_WEIGHT
    return part & _bring_back(skeleton, task.joint, local)


def _ray_miss(skeleton: Skeleton, pose: Pose, world: World, task: Wish, options: dict[str, float]) -> Miss:
    error, angle = (np.where(task.weight == 0, 0, miss) for miss in off_ray(skeleton, pose, world, task))
    return Miss(error, angle, angle > options["rotation_tolerance"])


_RAY = Form("aim", _ray_joints, _turn_ray, _ray_miss)
