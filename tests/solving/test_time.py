"""Frames that follow each other: what one starts from, and how fast joints may move from one to the next.

Steps are judged by `reference`, in NumPy alone: rotation vectors from frame to frame.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore import Limit, Status, _core

FPS = 30.0
METHODS = [name for name, _, _ in _core.METHODS]
every = pytest.mark.parametrize("method", METHODS)


def chain(*limits: Limit | None) -> ik.Skeleton:
    """A bone of length 1 for every limit, along x."""
    count = len(limits)
    return ik.Skeleton(
        np.arange(count + 1) - 1, np.c_[np.arange(count + 1) > 0, np.zeros((count + 1, 2))], limits=[*limits, None]
    )


def limits_of(kind: str, **bounds: Any) -> list[Limit | None]:
    free = Limit.free(**bounds)
    if kind == "free":
        return [free] * 4
    if kind == "hinge":
        axes = ([0, 0, 1], [0, 1, 0], [0, 0, 1], [0, 1, 0])
        return [Limit.hinge(axis, -2.9, 2.9, **bounds) for axis in axes]
    if kind == "slide":
        return [Limit.locked(position=[[-9, -9, -9], [9, 9, 9]], **bounds), free, free, free]
    return [free, *[Limit.cone([1, 0, 0], 1.2, **bounds)] * 3]


def jumps() -> Any:
    """A target that rests at three places."""
    return np.repeat([[3.0, 1, 0], [1, 2.5, 1], [-1, 2, -1]], [20, 60, 60], axis=0)


def turns(pose: ik.Pose) -> Any:
    """Rotation vectors from frame to frame, (frames - 1, ..., joints, 3)."""
    q = pose.rotations.astype(float)
    way = ref.multiply(ref.conjugate(q[:-1]), q[1:])
    way = way * np.where(way[..., :1] < 0, -1, 1)
    length = np.linalg.norm(way[..., 1:], axis=-1, keepdims=True)
    half = np.arctan2(length, way[..., :1])
    return 2 * half * way[..., 1:] / np.where(length == 0, 1, length)


def fastest(steps: Any) -> Any:
    """A second, of speed and of acceleration, by joint."""
    speed = np.linalg.norm(steps, axis=-1) * FPS
    change = np.linalg.norm(np.diff(steps, axis=0), axis=-1) * FPS**2
    return speed.max(axis=0), change.max(axis=0)


def follow(skeleton: ik.Skeleton, path: Any, method: str, dtype: type = np.float64, **options: Any) -> ik.Solution:
    pose = ik.Pose(skeleton.rest.rotations.astype(dtype))
    goals = [ik.Reach(len(skeleton) - 1, path)]
    return ik.solve(skeleton, pose, goals, method, sequence=True, fps=FPS, **options)


@every
@pytest.mark.parametrize("release", [np.inf, 0.5, 0])
def test_a_frame_starts_from_what_is_kept_of_the_last_correction(method: str, release: float, everywhere: None) -> None:
    """Some goals count only in the first frame, so the others show where they start."""
    rng = np.random.default_rng(4)
    animated = rng.normal(size=(1, 5, 4)) + np.cumsum(0.1 * rng.normal(size=(6, 5, 4)), axis=0)
    skeleton = chain(None, None, None, None)
    goal = ik.Reach(4, [1.0, 2, 1], chain=3, weight=[1.0, 0, 0, 0, 0, 0])
    found = ik.solve(skeleton, ik.Pose(animated), [goal], method, sequence=True, release=release).pose.rotations
    kept = 10 ** (-1 / (release * 30)) if release else 0.0
    unit = animated / np.linalg.norm(animated, axis=-1, keepdims=True)
    assert np.abs(found[0, 1:4] - unit[0, 1:4]).max() > 0.1
    for frame in range(1, 6):
        correction = ref.multiply(found[frame - 1], ref.conjugate(unit[frame - 1]))
        correction *= np.where(correction[:, :1] < 0, -1, 1)
        start = ref.unit(kept * correction + (1 - kept) * np.array([1.0, 0, 0, 0]))
        expected = ref.multiply(start, unit[frame])
        expected *= np.where(np.sum(expected * found[frame], axis=-1, keepdims=True) < 0, -1, 1)
        assert_allclose(found[frame, 1:4], expected[1:4], atol=1e-14)
    assert_array_equal(found[:, [0, 4]], animated[:, [0, 4]])


@pytest.mark.drawn(14)
@pytest.mark.slow
@every
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_items_that_cannot_be_used_now_and_then_do_not_disturb_the_others(
    method: str, dtype: type, everywhere: None
) -> None:
    """More items than are taken at a time, each as if it were alone."""
    rng = np.random.default_rng(5)
    skeleton = chain(*limits_of("cone", speed=3, acceleration=20))
    path = np.array([2.0, 1, 0]) + np.cumsum(0.1 * rng.normal(size=(4, 4200, 3)), axis=0)
    path[rng.random((4, 4200)) < 0.01] = np.nan
    with pytest.warns(ik.UnusableWarning):
        found = follow(skeleton, path, method, dtype)
    for item in [*range(0, 4200, 150), 4095, 4096, 4199, *np.flatnonzero(np.isnan(path).any(axis=(0, 2)))[:3]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ik.UnusableWarning)
            alone = follow(skeleton, path[:, item], method, dtype)
        assert alone.pose.rotations.tobytes() == found.pose.rotations[:, item].tobytes()
        assert alone.status.tobytes() == found.status[:, item].tobytes()


@every
def test_after_a_frame_that_cannot_be_used_a_joint_goes_on_from_the_last_that_could(method: str) -> None:
    skeleton, path = chain(*limits_of("free", speed=3)), jumps()
    path[22:24] = np.nan
    with pytest.warns(ik.UnusableWarning):
        found = follow(skeleton, path, method)
    assert_array_equal(found.pose.rotations[22:24, :4], np.tile([1.0, 0, 0, 0], (2, 4, 1)))
    used = ik.Pose(found.pose.rotations[found.status < Status.NOT_FINITE])
    assert fastest(turns(used))[0].max() < 3 * (1 + 1e-9)


@every
@pytest.mark.parametrize("kind", ["free", "hinge", "cone", "slide"])
@pytest.mark.parametrize("bounds", [{"speed": 2.0}, {"acceleration": 6.0}, {"speed": 2.0, "acceleration": 6.0}])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_joint_exceeds_its_speed_or_acceleration(
    method: str, kind: str, bounds: dict[str, float], dtype: type, everywhere: None
) -> None:
    skeleton = chain(*limits_of(kind, **bounds))
    found = follow(skeleton, jumps(), method, dtype)
    steps = [turns(found.pose)]
    if found.pose.translations is not None:
        steps.append(np.diff(found.pose.translations.astype(float), axis=0))
    rounding = 1e-12 if dtype == np.float64 else 4e-6
    for speed, change in map(fastest, steps):
        assert speed.max() <= bounds.get("speed", np.inf) + rounding * FPS
        assert change.max() <= bounds.get("acceleration", np.inf) + rounding * FPS**2
    late = np.r_[20:24, 80:84]
    assert np.all(found.status[late] & Status.TOO_FAST)
    assert np.all(found.status[[0, 1, 79, 139]] == 0)
    assert not np.any((found.status == 0) & (found.error > 1e-4))


@every
@pytest.mark.parametrize("kind", ["free", "hinge", "slide"])
def test_a_target_that_jumps_is_followed_at_full_speed_and_not_passed(method: str, kind: str) -> None:
    """Some joint moves at the most that speed and braking allow until it is there, and the target comes nearer."""
    if method == "full_body" and kind == "slide":
        pytest.skip("its bodies share the motion with the slide, so that some steps are slower")
    skeleton = chain(*limits_of(kind, speed=2.0))
    found = follow(skeleton, jumps(), method)
    sizes = np.linalg.norm(turns(found.pose), axis=-1) * FPS
    if found.pose.translations is not None:
        sizes = np.maximum(sizes, np.linalg.norm(np.diff(found.pose.translations, axis=0), axis=-1) * FPS)
    held = found.status[1:] & Status.TOO_FAST != 0
    assert 5 < np.count_nonzero(held) < 80
    assert_allclose(sizes[held].max(axis=1), 2.0, rtol=1e-9)
    rises = np.flatnonzero(np.diff(found.error) > 1e-4)
    assert_array_equal(rises, [19, 79])


@every
def test_a_joint_that_may_not_change_its_speed_much_brakes_in_time(method: str) -> None:
    """A door opens to its limit and closes again, and overshoots neither the limit nor its targets."""
    door = chain(Limit.hinge([0, 0, 1], 0, 2, speed=3, acceleration=5))
    angle = np.repeat([0.0, 2, 0.5, 1.2], [1, 40, 40, 40])
    path = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
    found = follow(door, path, method, tolerance=1e-9)
    turned = 2 * np.arctan2(found.pose.rotations[:, 0, 3], found.pose.rotations[:, 0, 0])
    speed, change = fastest(turns(found.pose))
    assert change[0] <= 5 + 1e-9
    assert 2.5 < speed[0] <= 3 + 1e-9
    assert_allclose(turned[[40, 80, 120]], [2, 0.5, 1.2], atol=1e-8)
    legs = [turned[:41], turned[40:81], turned[80:]]
    for leg, sign in zip(legs, (1, -1, 1), strict=True):
        assert np.all(sign * np.diff(leg) > -1e-8)


SPEED, ACCELERATION = 1.5, 4.0
ENDS = np.array([[-1, -0.1, -0.4], [0.8, 0.1, np.inf]])


def held(kind: str) -> Limit:
    """A limit with ends that a joint meets: slides are along so many axes."""
    bounds: dict[str, Any] = {"speed": SPEED, "acceleration": ACCELERATION}
    if kind.startswith("slide"):
        return Limit.locked(position=np.where(np.arange(3) < int(kind[-1]), ENDS, 0), **bounds)
    if kind == "flat":
        return Limit.cone([1, 0, 0], 1, twist=(0, 0), **bounds)
    if kind == "cone":
        return Limit.cone([1, 2, 0], 1, twist=(-0.5, 0.5), **bounds)
    if kind == "ball":
        return Limit.ball([0, 1, 0], (2.1, 0.5, 0.1, 0.8), side=[0, 0, 1], twist=(-0.8, 0.8), **bounds)
    if kind == "kusudama":
        return Limit.kusudama(
            [1, 0, 0], [([1, 0, 0], 0.4), ([0, 1, 0], 0.3), ([0, 0, 1], 0.2)], twist=(-0.5, 0.5), **bounds
        )
    if kind == "box":
        return Limit.euler("xyz", [-0.5, -0.6, -0.8], [0.9, 0.4, 1.2], **bounds)
    if kind == "universal":
        return Limit.euler("zxy", [-0.9, 0, -1.2], [1, 0, 0.8], **bounds)
    return Limit.hinge([1, 2, 3], -2, 1.5, **bounds)


KINDS = ["hinge", "slide1", "slide2", "slide3", "cone", "flat", "ball", "kusudama", "box", "universal"]


def wild(rng: np.random.Generator, frames: int, items: int) -> Any:
    """Vectors that jump, swing, go far and stop, or wave: a quarter of the items each. (frames, items, 3)."""
    times = np.arange(frames)[:, np.newaxis, np.newaxis] / FPS
    first, second = rng.normal(size=(2, items, 3))
    pace, phase = rng.uniform(0.5, 8, (items, 1)), rng.uniform(0, 6, (4, items, 1))
    jumps = rng.normal(size=(frames, items, 3))[np.arange(frames) // rng.integers(3, 30) * 3 % frames]
    swings = 0.5 * first + np.sin(pace * times) * second
    leaves = first + np.minimum(pace * times, 3) * second
    waves = first + sum(np.cos((1 + k) * pace * times + phase[k]) * second[:, [k % 3, 0, 1]] / 2 for k in range(4))
    return np.choose(np.arange(items)[:, np.newaxis] % 4, [jumps, swings, leaves, waves])


def rotation(vectors: Any) -> Any:
    angle = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * vectors / angle], axis=-1)


def led(limit: Limit, wishes: Any, frame: Any, dtype: type = np.float64) -> ik.Solution:
    """One joint, turned at rest, that should be turned or be moved by vectors, or be turned by quaternions."""
    rest = np.array([frame, [1, 0, 0, 0]])
    skeleton = ik.Skeleton([-1, 0], [[3.0, -2, 1], [0.5, 0, 0]], rest, limits=[limit, None])
    pose = ik.Pose(rest.astype(dtype))
    if limit.position is not None:
        end = skeleton.forward(ik.Pose(rest)).positions[1]
        goal = ik.Reach(1, end + wishes)
    else:
        relative = rotation(wishes) if wishes.shape[-1] == 3 else wishes
        goal = ik.Reach(0, rotation=ref.multiply(rest[0], relative), chain=0)
    return ik.dls(skeleton, pose, [goal], sequence=True, fps=FPS, iterations=8)


def assert_bounds(found: ik.Solution, limit: Limit, rounding: float = 0) -> None:
    moved = found.pose.translations
    if moved is None or limit.position is None:
        steps = turns(found.pose)[..., 0, :]
    else:
        steps = np.diff(moved[..., 0, :].astype(float), axis=0)
    speed, change = fastest(steps)
    assert speed.max() <= SPEED * (1 + 1e-9) + rounding * FPS
    assert change.max() <= ACCELERATION * (1 + 1e-9) + rounding * FPS**2
    assert change.max() > 0.9 * ACCELERATION


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold_whatever_targets_do(kind: str, everywhere: None) -> None:
    """Bounds and limits hold near limits too, and joints do move."""
    rng, limit = np.random.default_rng(11), held(kind)
    frame = ref.unit(rng.normal(size=4))
    found = led(limit, wild(rng, 90, 120), frame)
    assert_bounds(found, limit)
    if limit.position is None:
        relative = ref.multiply(ref.conjugate(frame), found.pose.rotations[:, :, 0])
        assert limit.violation(relative).max() < 1e-13
        assert np.linalg.norm(turns(found.pose), axis=-1)[..., 0].mean() * FPS > 0.2
    else:
        assert found.pose.translations is not None
        moved = found.pose.translations[:, :, 0] - [3, -2, 1]
        assert np.all((moved >= np.array(limit.position[0]) - 1e-15) & (moved <= np.array(limit.position[1]) + 1e-15))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_floats_keep_bounds_but_for_their_rounding(kind: str, everywhere: None) -> None:
    rng = np.random.default_rng(12)
    frame = ref.unit(rng.normal(size=4))
    assert_bounds(led(held(kind), wild(rng, 90, 60), frame, np.float32), held(kind), 4e-6)


@pytest.mark.parametrize("kind", ["slide3", "cone", "flat", "ball", "box", "universal"])
def test_a_joint_gets_from_end_to_end_of_its_limit(kind: str) -> None:
    """Room to rest keeps it from no place, and it takes no more than a second longer than the straight way would."""
    rng, limit = np.random.default_rng(13), held(kind)
    if kind == "slide3":
        places = rng.uniform(np.clip(ENDS[0], -1, 1), np.clip(ENDS[1], -1, 1), size=(2, 40, 3))
        places = np.where(rng.random(places.shape) < 0.5, np.clip(ENDS[0], -1, 1), places)
        ways = np.linalg.norm(places[1] - places[0], axis=-1)
    else:
        places = limit.project(rotation(2 * rng.normal(size=(2, 40, 3))))
        cosine = np.abs(np.sum(places[0] * places[1], axis=-1))
        ways = 2 * np.arccos(np.minimum(cosine, 1))
    found = led(limit, np.repeat(places, [1, 150], axis=0), ref.unit(rng.normal(size=4)))
    needed = ways / SPEED + SPEED / ACCELERATION
    assert np.all(found.status[-1] == 0)
    late = np.argmax(found.status[1:] == 0, axis=0) / FPS - needed
    assert late.max() < 1


@pytest.mark.parametrize(("limit", "share"), [("hinge", 1.0), ("free", 1.0), ("cone", 0.8)])
def test_a_joint_stays_behind_what_moves_by_the_way_that_braking_takes(limit: str, share: float) -> None:
    bounds: dict[str, Any] = {"speed": 3, "acceleration": 2}
    made = {"hinge": Limit.hinge([0, 0, 1], -3, 3, **bounds), "free": Limit.free(**bounds)}
    skeleton = chain(made.get(limit, Limit.cone([1, 0, 0], 3, **bounds)))
    angle = np.arange(5 * FPS) / FPS - 2.5
    path = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
    found = follow(skeleton, path, "dls", tolerance=1e-9)
    turned = 2 * np.arctan2(found.pose.rotations[:, 0, 3], found.pose.rotations[:, 0, 0])
    assert_allclose((angle - turned)[-10:], 1 / (2 * share * 2) - 1 / (2 * FPS), atol=1e-3)
    assert np.all(found.status[-10:] == Status.TOO_FAST)


@every
@pytest.mark.parametrize(
    ("wishes", "steps"),
    [([0.0] * 2, (-1 / 180, 1 / 180)), ([0.0, *[1.9] * 14], (0.05 - 1 / 180, 0.05))],
    ids=["rests", "moves"],
)
def test_the_next_step_is_within_the_published_bounds_and_uses_them(
    method: str, wishes: list[float], steps: tuple[float, float]
) -> None:
    """An angle from -1 to 2 may change by 3 per second, and its rate by 20, at 60 frames per second."""
    door = chain(Limit.hinge([0, 0, 1], -1, 2, speed=3, acceleration=20))
    for wish, step in zip((-0.9, 1.9), steps, strict=True):
        angle = np.array([*wishes, wish])
        path = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
        found = ik.solve(door, door.rest, [ik.Reach(1, path)], method, sequence=True, fps=60, tolerance=1e-12)
        turned = 2 * np.arctan2(found.pose.rotations[:, 0, 3], found.pose.rotations[:, 0, 0])
        assert_allclose(turned[-1] - turned[-2], step, atol=1e-8)
        assert found.status[-1] & Status.TOO_FAST


@every
def test_a_door_goes_the_way_round_that_its_limit_leaves(method: str) -> None:
    """Through 0, though the other way round is shorter."""
    door = chain(Limit.hinge([0, 0, 1], -2.9, 2.9, speed=4))
    angle = np.repeat([2.8, -2.8], [1, 60])
    found = follow(door, np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1), method)
    turned = 2 * np.arctan2(found.pose.rotations[:, 0, 3], found.pose.rotations[:, 0, 0])
    turned = (turned + np.pi) % (2 * np.pi) - np.pi
    assert np.all(np.abs(turned) <= 2.9)
    assert_allclose(np.diff(turned)[:41], -4 / FPS, rtol=1e-9)
    assert_allclose(turned[-1], -2.8, atol=1e-4)


@every
@pytest.mark.parametrize("kind", ["free", "hinge", "cone", "slide"])
def test_wide_bounds_change_no_bit(method: str, kind: str) -> None:
    path = np.array([2.0, 1, 0]) + np.cumsum(0.1 * np.random.default_rng(6).normal(size=(30, 5, 3)), axis=0)
    found = [
        follow(chain(*limits_of(kind, **bounds)), path, method) for bounds in ({}, {"speed": 1e9, "acceleration": 1e9})
    ]
    assert found[0].pose.rotations.tobytes() == found[1].pose.rotations.tobytes()
    assert found[0].status.tobytes() == found[1].status.tobytes()


@every
def test_more_frames_a_second_are_the_same_motion(method: str) -> None:
    skeleton = chain(Limit.hinge([0, 0, 1], -2, 2, speed=3, acceleration=5))
    target = [np.cos(1.5), np.sin(1.5), 0]
    times = {}
    for fps in (30, 120):
        path = np.concatenate([[[1.0, 0, 0]], np.tile(target, (2 * fps, 1))])
        found = ik.solve(skeleton, skeleton.rest, [ik.Reach(1, path)], method, sequence=True, fps=fps)
        times[fps] = np.flatnonzero(found.status[1:] == 0)[0] / fps
    assert_allclose(times[30], times[120], atol=2 / 30)


@every
def test_bounds_hold_under_a_pole(method: str) -> None:
    """Which turns the chain as a whole, behind the method's back."""
    skeleton = chain(*[Limit.free(speed=2)] * 2)
    goal = ik.Reach(2, [[1.2, 0, 0]] * 40, pole=np.repeat([[1.0, 1, 0], [1, 0, 1]], 20, axis=0))
    with pytest.raises(ValueError, match="turns about its first joint, and '0' has a limit"):
        ik.solve(chain(Limit.cone([1, 0, 0], 2, speed=2), None), skeleton.rest, [goal], method, sequence=True, fps=FPS)
    found = ik.solve(skeleton, skeleton.rest, [goal], method, sequence=True, fps=FPS)
    assert fastest(turns(found.pose))[0].max() <= 2 + 1e-9
    elbow = skeleton.forward(found.pose).positions[:, 1]
    assert elbow[0, 1] > 0.5
    assert elbow[-1, 2] > 0.5


@every
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sequence": True}, "limits: '0' has a speed or an acceleration, which needs fps"),
        ({"fps": 30}, "fps: expected sequence=True with it"),
        ({"sequence": True, "fps": 0}, "fps: expected 1e-06 to 1e\\+06, got 0"),
    ],
)
def test_what_would_not_be_kept_is_refused(method: str, options: dict[str, Any], message: str) -> None:
    skeleton = chain(*limits_of("free", speed=2.0))
    with pytest.raises(ValueError, match=message):
        ik.solve(skeleton, skeleton.rest, [ik.Reach(4, jumps())], method, **options)


@every
def test_speeds_of_joints_that_do_not_move_need_nothing(method: str) -> None:
    skeleton = chain(Limit.free(speed=2.0), None, None)
    found = ik.solve(skeleton, skeleton.rest, [ik.Reach(3, [[2.0, 1, 0]] * 3, chain=2)], method, sequence=True)
    assert np.all(found.status == 0)


@pytest.mark.parametrize("method", [*METHODS, "two_bone", "aim"])
def test_speeds_say_nothing_of_poses_that_do_not_follow_each_other(method: str) -> None:
    """One alone, a batch, and one a call: the bits are those without speeds."""
    slow, free = (
        chain(Limit.free(**bounds), Limit.free(**bounds)) for bounds in ({"speed": 0.1, "acceleration": 1}, {})
    )
    targets = np.array([[1.0, 1, 0], [0.5, -1, 0.3], [-1, 0.5, 1]])

    def goals(at: Any) -> list[ik.Goal]:
        return [ik.Look(1, [1, 0, 0], at, chain=0)] if method == "aim" else [ik.Reach(2, at, chain=2)]

    for at in (targets, targets[0]):
        found = [ik.solve(skeleton, skeleton.rest, goals(at), method) for skeleton in (slow, free)]
        assert found[0].pose.rotations.tobytes() == found[1].pose.rotations.tobytes()
        assert np.all(found[0].error < 1e-4)
    rotations = ik.Solver(slow, goals(...), method)(slow.rest.rotations, targets[0])[0]
    assert rotations.tobytes() == found[0].pose.rotations.tobytes()


def test_closed_forms_keep_no_speeds_in_a_sequence() -> None:
    slow = chain(Limit.free(speed=1), None)
    limb = ik.solvers.Stage("two_bone", [ik.Reach(2, [[1.0, 1, 0]] * 3)])
    assert np.all(ik.solvers.stages(slow, slow.rest, [limb]).error < 1e-12)
    for fps in (None, 30):
        with pytest.raises(ValueError, match="'0' has a speed or an acceleration, which two_bone does not keep"):
            ik.solvers.stages(slow, slow.rest, [limb], sequence=True, fps=fps)


@pytest.mark.parametrize("value", [0, -1, np.nan, [1, 2, 3], [1, 0]])
def test_speeds_are_more_than_nothing(value: Any) -> None:
    for name in ("speed", "acceleration"):
        with pytest.raises(ValueError, match=f"{name}: expected more than 0, one number or a pair"):
            Limit.free(**{name: value})
    with pytest.raises(TypeError, match="speed"):
        Limit.free(speed="fast")
