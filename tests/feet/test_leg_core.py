"""Legs in the core, all frames at once: beside the same in NumPy, step by step; and how their joints turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core, rotations
from ikcore.bake.write import Turn, rotate_joints

Array = NDArray[Any]

UNTURNED = np.array([1.0, 0, 0, 0])
DOWN, HIP = np.array([0.0, -1, 0]), np.array([0.1, 0.9, 0])
TINY = 1e-12

# --- the slow way ----------------------------------------------------------------------------------------------------


def dot(a: Array, b: Array) -> Array:
    return np.asarray((a * b).sum(axis=-1))


def size(a: Array) -> Array:
    return np.asarray(np.sqrt(dot(a, a)))


def unit(a: Array) -> Array:
    length = size(a)
    return np.asarray(a / np.where(length > 0, length, 1)[..., np.newaxis])


def share_of(x: Array) -> Array:
    return np.clip(x, 0, 1)


def slowly(
    chain: Array,
    turns: Array,
    hinges: list[Array],
    hip: Array,
    foot: Array,
    reach: Array,
    nearer: Any,
    length: float,
) -> tuple[Array, Array, Array]:
    """A leg whose body has turned it already: where it is, how its bones turn, and by how much it falls short."""
    line, source = foot - hip, chain[:, -1] - chain[:, 0]
    least = np.minimum(size(source), 0.25 * length)
    line = line + np.maximum(least - dot(line, unit(source)), 0)[:, np.newaxis] * unit(source)
    target = hip + line * np.minimum(reach / np.maximum(size(line), TINY), 1)[:, np.newaxis]
    short = size(foot - target)
    bent, deltas = bend(chain, turns, hinges, hip, target, nearer)
    return bent, deltas, np.where(short > 1e-9 * length, short, 0)


def bend(
    chain: Array, turns: Array, hinges: list[Array], hip: Array, target: Array, nearer: Any
) -> tuple[Array, Array]:
    if chain.shape[1] == 2:
        arc = rotations.shortest_arc(chain[:, 1] - chain[:, 0], target - hip)
        return np.stack([hip, target], axis=1), arc[:, np.newaxis]
    knee = knee_of(chain, hip, target, rotations.rotate(turns[:, 0], hinges[0]), nearer)
    upper = upper_of(chain, hip, knee, target)
    if chain.shape[1] > 3:
        bent, deltas = bend(chain[:, 1:], turns[:, 1:], hinges[1:], knee, target, None)
    else:
        carried = rotations.rotate(upper, chain[:, 2] - chain[:, 1])
        lower = rotations.multiply(rotations.shortest_arc(carried, target - knee), upper)
        bent, deltas = np.stack([knee, target], axis=1), lower[:, np.newaxis]
    return np.concatenate([hip[:, np.newaxis], bent], axis=1), np.concatenate([upper[:, np.newaxis], deltas], axis=1)


def knee_of(chain: Array, hip: Array, target: Array, hinge: Array, nearer: Any) -> Array:
    arc = rotations.shortest_arc(chain[:, -1] - chain[:, 0], target - hip)
    line, before = unit(target - hip), rotations.rotate(arc, chain[:, 1] - chain[:, 0])
    off = before - dot(before, line)[:, np.newaxis] * line
    forward = unit(np.cross(line, rotations.rotate(arc, hinge)))
    far = size(target - hip)
    first, second = size(chain[:, 1] - chain[:, 0]), below(chain, far)
    along, was = along_of(first, second, far), size(off)
    height, back = height_of(first, along), np.maximum(-dot(off, forward), 0) / np.maximum(was, TINY)
    about = np.zeros(len(far))
    if nearer is not None:
        far = np.clip(size(chain[:, -1] - chain[:, 0]) - nearer, np.abs(first - second), first + second)
        about = back * np.maximum(height_of(first, along_of(first, second, far)) - was, 0)
    wrong = np.where(dot(off, forward) < 0, share_of(was / np.maximum(0.26 * first, TINY)), 0)
    more = (1 + 9 * back) * np.maximum(height - was, about) * (1 - 2 * wrong**2 * (3 - 2 * wrong))
    side = unit(off + more[:, np.newaxis] * forward)
    return np.asarray(hip + along[:, np.newaxis] * line + height[:, np.newaxis] * side)


def along_of(first: Array, second: Array, far: Array) -> Array:
    return np.asarray((far + (first - second) * (first + second) / np.maximum(far, TINY)) / 2)


def height_of(first: Array, along: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(first**2 - along**2, 0)))


def below(chain: Array, far: Array) -> Array:
    bones = size(np.diff(chain, axis=1))
    if chain.shape[1] == 3:
        return np.asarray(bones[:, 1])
    total, least = bones[:, 1:].sum(axis=1), np.maximum(2 * bones[:, 1:].max(axis=1) - bones[:, 1:].sum(axis=1), 0)
    wanted = size(chain[:, -1] - chain[:, 1]) * far / np.maximum(size(chain[:, -1] - chain[:, 0]), TINY)
    return np.clip(wanted, np.maximum(least, np.abs(far - bones[:, 0])), np.minimum(total, far + bones[:, 0]))


def upper_of(chain: Array, hip: Array, knee: Array, target: Array) -> Array:
    bone, low, first, second = chain[:, 1] - chain[:, 0], chain[:, -1] - chain[:, 1], knee - hip, target - knee
    arc = rotations.shortest_arc(bone, first)
    was, now = rotations.rotate(arc, np.cross(bone, low)), np.cross(first, second)
    sine = size(was) / np.maximum(size(bone) * size(low), TINY)
    alike = dot(was, now) / np.maximum(size(was) * size(now), TINY)
    straight = size(now) / np.maximum(size(first) * size(second), TINY)
    share = share_of(sine / 0.26) * share_of(straight / 0.02) * share_of(2 * alike)
    return rotations.multiply(
        rotations.slerp(UNTURNED, rotations.shortest_arc(was, now), share**2 * (3 - 2 * share)), arc
    )


# --- legs ------------------------------------------------------------------------------------------------------------


def legs(points: int, frames: int, seed: int = 1) -> dict[str, Any]:
    """Legs that stand, step, are straight, folded and out of reach, under a body that leans."""
    random = np.random.default_rng(seed)
    bones = random.uniform(0.2, 0.5, points - 1) if points > 1 else np.zeros(0)
    shaken = random.choice([0.0, 0.05, 0.5], (frames, 1, 1))
    ways = unit(DOWN + random.normal(0, shaken, (frames, points - 1, 3)))
    chain = np.concatenate([np.zeros((frames, 1, 3)), np.cumsum(ways * bones[:, np.newaxis], axis=1)], axis=1)
    length = float(bones.sum())
    lift = random.choice([0.0, 0.05, 0.5], (frames, 1)) * random.uniform(0, 1, (frames, 1)) * [0, 1, 0]
    return {
        "chain": chain + HIP,
        "turns": rotations.normalize(random.normal(size=(frames, points, 4)))[:, : max(points - 2, 0)],
        "pivot": random.normal(0, 0.2, (frames, 3)),
        "tilt": rotations.from_axis_angle(random.normal(size=(frames, 3)), random.uniform(0, 0.2, frames)),
        "hip": random.normal(HIP, 0.05, (frames, 3)),
        "foot": chain[:, -1] + HIP + random.normal(0, 0.1, (frames, 3)) + lift,
        "reach": random.uniform(0.8, 1, frames) * length,
        "nearer": random.choice([0.0, 0.02, 0.2], frames),
        "hinges": unit(random.normal(size=(max(points - 2, 0), 3))),
        "length": length,
    }


def core(job: dict[str, Any]) -> tuple[Array, Array, Array]:
    frames, points = job["chain"].shape[:2]
    found = np.full((frames, points, 3), np.nan), np.full((frames, points - 1, 4), np.nan), np.full(frames, np.nan)
    bend_leg: Any = _core.bend_leg
    bend_leg(*job.values(), *found)
    return found


@pytest.mark.parametrize("points", [2, 3, 4, 6])
@pytest.mark.parametrize("bare", [False, True])
def test_legs_are_those_of_the_slow_way(points: int, bare: bool, isa: str) -> None:
    job = legs(points, 333)
    if bare:
        job |= dict.fromkeys(("pivot", "tilt", "nearer"))
    chain, turns, tilt = job["chain"], job["turns"], job["tilt"]
    if not bare:
        lean, about = tilt[:, np.newaxis], job["pivot"][:, np.newaxis]
        chain, turns = about + rotations.rotate(lean, chain - about), rotations.multiply(lean, turns)
    hinges, limits = list(job["hinges"]), (job["reach"], job["nearer"])
    bent, deltas, short = slowly(chain, turns, hinges, job["hip"], job["foot"], *limits, job["length"])
    if not bare:
        deltas = rotations.multiply(deltas, tilt[:, np.newaxis])
    found = core(job)
    np.testing.assert_allclose(
        found[0], bent, atol=1e-7
    )  # the root of rounding: knees of legs that are nearly straight
    np.testing.assert_allclose(np.abs(dot(found[1], deltas)), 1, atol=1e-9)
    np.testing.assert_allclose(found[2], short, atol=1e-12)
    assert short.any()


@pytest.mark.parametrize("frames", [0, 1, 7, 8, 9, 100])
@pytest.mark.parametrize("points", [1, 2, 3, 5])
def test_every_instruction_set_and_frame_alone_gives_the_same_bits(points: int, frames: int) -> None:
    job, before = legs(points, 100), _core.isa()
    job = {name: each[:frames] if np.ndim(each) and name != "hinges" else each for name, each in job.items()}
    expected = core(job)
    try:
        for name in ("scalar", "base", "avx2", "avx512"):
            _core.use_isa(name)
            assert [each.tobytes() for each in core(job)] == [each.tobytes() for each in expected]
    finally:
        _core.use_isa(before)
    for frame in range(0, frames, 13):
        one = {
            name: each[frame : frame + 1] if np.ndim(each) and name != "hinges" else each for name, each in job.items()
        }
        assert [each[0].tobytes() for each in core(one)] == [each[frame].tobytes() for each in expected]


def test_a_free_foot_goes_where_it_should() -> None:
    job = legs(1, 5) | {"length": 0.8}
    bent, _, short = core(job)
    np.testing.assert_array_equal(bent[:, 0], job["foot"])
    assert not short.any()


def test_what_is_not_finite_stays_in_its_frame() -> None:
    job = legs(3, 40)
    expected = core(job)
    job["foot"] = job["foot"].copy()
    job["foot"][[3, 20]] = [np.nan, np.inf, 0]
    found = core(job)
    others = np.setdiff1d(np.arange(40), [3, 20])
    for seen, was in zip(found, expected, strict=True):
        assert seen[others].tobytes() == was[others].tobytes()
    assert np.isnan(found[0][3, 2]).any()


def test_legs_without_length_end_finitely() -> None:
    """All joints in one place, a foot at its hip, and a leg that is straight and asked for more."""
    job = legs(3, 3)
    job["chain"] = job["chain"].copy()
    job["chain"][0] = job["chain"][0, 0]
    job["foot"] = job["hip"] + np.array([[0.1, 0, 0], [0, 0, 0], [0, -5, 0]])
    assert all(np.isfinite(each).all() for each in core(job))


@pytest.mark.parametrize("wrong", [None, 3, np.zeros(3), np.zeros((2, 3, 3), np.float32)])
def test_the_core_refuses_what_does_not_fit(wrong: Any) -> None:
    job = [*legs(3, 4).values(), np.zeros((4, 3, 3)), np.zeros((4, 2, 4)), np.zeros(4)]
    bend_leg: Any = _core.bend_leg
    bend_leg(*job)
    for place in range(len(job)):
        if (wrong is None and place in (7, 12)) or (isinstance(wrong, int) and place == 9):
            continue  # may be left out, is a number
        with pytest.raises(TypeError):
            bend_leg(*job[:place], wrong, *job[place + 1 :])
    with pytest.raises(TypeError):
        bend_leg(*job[:-1])


# --- joints ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_joints_turn_in_the_world_as_they_should(dtype: str, carried: bool, parts: int, isa: str) -> None:
    """Forward kinematics of what comes out, where it changes; the rest is left to the bit."""
    random, frames = np.random.default_rng(2), 50
    skeleton = ik.Skeleton([-1, 0, 1, 2], [[0, 1, 0]] * 4)
    local = rotations.normalize(random.normal(size=(frames, 4, 4))).astype(dtype) * 2
    world = rotations.normalize(skeleton.forward(ik.Pose(local)).rotations).astype("f8")
    deltas = rotations.normalize(random.normal(size=(frames, 4, 4)))
    where = random.uniform(size=frames) < 0.7
    deltas[:5, 1:] = deltas[:5, :1]  # nothing of their own
    turned = local.copy()
    above = deltas[:, 0] if carried else None
    joints = [1, 2, 3] if carried else [0, 1, 2, 3]
    if carried:
        turned[:, 0] = rotations.multiply(deltas[:, 0], world[:, 0])
    first, last = joints[:-1], joints[-1]
    given = [
        (each[:, joints],) if parts == 1 else (each[:, first], each[:, last]) for each in (world, deltas)
    ]  # at once, or the last by itself
    rotate_joints(turned, Turn(joints, *given), above=above, where=where)
    found = skeleton.forward(ik.Pose(turned)).rotations
    wanted = rotations.multiply(deltas, world)
    np.testing.assert_allclose(
        np.abs(dot(rotations.normalize(found), wanted))[where], 1, atol=1e-6 if dtype == "f4" else 1e-12
    )
    assert turned[~where][:, joints].tobytes() == local[~where][:, joints].tobytes()
    still = np.flatnonzero(where[:5])
    assert turned[still, 2:].tobytes() == local[still, 2:].tobytes()


def slow_turn(local: Array, world: Array, deltas: Array) -> Array:
    """The turns of joints in a chain."""
    units = rotations.normalize(local).astype("f8")
    before = np.concatenate([np.tile(UNTURNED, (len(local), 1, 1)), deltas[:, :-1]], axis=1)
    relative = rotations.multiply(rotations.conjugate(before), deltas)
    relative[:, 0] = deltas[:, 0]
    parents = rotations.multiply(world, rotations.conjugate(units))
    turned = rotations.multiply(rotations.conjugate(parents), rotations.multiply(relative, world))
    changes = np.abs(relative[..., 1:]).max(axis=-1) > 1e-12
    return np.asarray(np.where(changes[..., np.newaxis], turned, local), local.dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("frames", [0, 1, 70])
def test_joints_of_many_turn_as_the_slow_way_has_it(dtype: str, frames: int) -> None:
    random, joints = np.random.default_rng(frames), [4, 0, 2]
    local = random.normal(size=(frames, 6, 4)).astype(dtype)
    world, deltas = rotations.normalize(random.normal(size=(2, frames, 3, 4)))
    deltas[: frames // 3, 1] = deltas[: frames // 3, 0]
    local[5:6, 2], deltas[6:7, 0], world[7:8, 1] = 0, np.nan, np.inf
    turned, expected = local.copy(), local.copy()
    expected[:, joints] = slow_turn(local[:, joints], world, deltas)
    _core.turn_leg(turned, joints, (world,), (deltas,), None, None)
    np.testing.assert_array_equal(turned, expected)


def test_the_core_refuses_turns_that_do_not_fit() -> None:
    all_joints, two = np.tile(UNTURNED, (5, 3, 1)), np.tile(UNTURNED, (5, 2, 1))
    job = [all_joints, [2, 0], (two,), (two[:, 0], two[:, 1]), two[:, 0], np.ones(5, bool)]
    turn_leg: Any = _core.turn_leg
    turn_leg(*job)
    turn_leg(*job[:4], None, None)
    wrong = [3, "x", np.zeros(3), np.zeros((4, 3, 3)), (two, two), (two[:4],), (), [3, 0], [-1, 0], [], [0], [[2, 0]]]
    for place in range(6):
        for what in wrong:
            with pytest.raises((TypeError, ValueError)):
                turn_leg(*job[:place], what, *job[place + 1 :])
    still = all_joints.copy()
    still.flags.writeable = False
    with pytest.raises(TypeError):
        turn_leg(still, *job[1:])
    with pytest.raises(TypeError):
        turn_leg(*job[:-1])


# --- knees, and what carries points ----------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [1, 2, 3, 5])
@pytest.mark.parametrize("frames", [0, 1, 7, 70])
def test_hinges_are_what_knees_bend_about(points: int, frames: int, isa: str) -> None:
    job = legs(points, frames)
    chain, turns = job["chain"], job["turns"]
    expected = np.zeros((max(points - 2, 0), 3))
    for knee, total in enumerate(expected):
        upper, lower = chain[:, knee + 1] - chain[:, knee], chain[:, knee + 2] - chain[:, knee + 1]
        normals = rotations.rotate(rotations.conjugate(turns[:, knee]), np.cross(upper, lower))
        for normal in normals:
            total += normal
    np.testing.assert_array_equal(_core.hinges(chain, turns), expected)
    if frames and points > 2:
        chain[0, 1] = np.nan
        assert np.isnan(_core.hinges(chain, turns)[0]).all()


def test_hinges_of_what_does_not_fit_are_refused() -> None:
    job = legs(4, 5)
    for given in [(), (job["chain"],), (job["chain"], job["turns"][:, :1]), (job["chain"][:4], job["turns"]), (3, 4)]:
        with pytest.raises(TypeError):
            _core.hinges(*given)


@pytest.mark.parametrize("frames", [0, 1, 7, 70])
@pytest.mark.parametrize("same", [False, True])
def test_points_go_with_what_carries_them(frames: int, same: bool, isa: str) -> None:
    random = np.random.default_rng(frames)
    chain, origin, shift = random.normal(size=(frames, 4, 3)), *random.normal(size=(2, frames, 3))
    turn = np.broadcast_to(UNTURNED, (frames, 4)) if same else random.normal(size=(frames, 4))
    points = chain[:, 2]
    points[3:4] = np.nan
    expected = origin + shift + rotations.rotate(turn, points - origin)
    np.testing.assert_array_equal(_core.displaced(points, origin, shift, turn), expected)
    np.testing.assert_array_equal(_core.displaced(points, origin, shift, None), origin + shift + (points - origin))


def test_points_that_do_not_fit_are_refused() -> None:
    job = [np.zeros((5, 3)), np.zeros((5, 3)), np.zeros((5, 3)), np.tile(UNTURNED, (5, 1))]
    displaced: Any = _core.displaced
    for place in range(4):
        for wrong in (3, "x", np.zeros((4, 3)), np.zeros((5, 2)), np.zeros((5, 3), "f4"), np.zeros(5)):
            with pytest.raises(TypeError):
                displaced(*job[:place], wrong, *job[place + 1 :])
    with pytest.raises(TypeError):
        displaced(*job[:3])
