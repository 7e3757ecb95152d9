"""spline: a chain laid along a curve, beside a slow one that finds every joint as a root of a polynomial."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import reference as ref
from conftest import instruction_sets
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore import Status, _core

X, Y, Z = np.eye(3)
NO_TURN = [1.0, 0, 0, 0]
ATOL = {np.float32: 2e-5, np.float64: 1e-12}
FIELDS = ("deltas", "positions", "stretches", "status", "error")

LINE = np.outer(np.arange(4.0), X)  # a chain of three bones, at rest along x


OPTIONS: list[dict[str, Any]] = [
    {},
    {"stretch": "bones"},
    {"tilts": [0, 1, 2, 3]},
    {"start_axis": X, "start_up": Y, "end_axis": Y, "end_up": Z, "root_weight": 0.5},
]


def pieces_of(curve: Any) -> list[Any]:
    """The coefficients (4, 3) of every piece, those of the highest power first."""
    bernstein = np.array([[-1, 3, -3, 1], [3, -6, 3, 0], [-3, 3, 0, 0], [1, 0, 0, 0]])
    return [bernstein @ np.asarray(curve[k : k + 4], float) for k in range(0, len(curve) - 1, 3)]


def at(piece: Any, t: Any) -> Any:
    return np.stack([np.polyval(piece[:, axis], t) for axis in range(3)], axis=-1)


def roots_of(polynomial: Any) -> Any:
    """The real ones, each brought as near as can be: with next to no leading term NumPy's are off by 1e-8."""
    roots = np.roots(polynomial)
    roots = np.sort(roots[abs(roots.imag) < 1e-6].real)
    slope = np.polyder(polynomial)
    for _ in range(3):
        roots = roots - np.polyval(polynomial, roots) / np.polyval(slope, roots)
    return roots


def off_curve(curve: Any, point: Any) -> float:
    """The distance from a point to a curve: by the places where it is at right angles to that."""
    found = []
    for piece in pieces_of(curve):
        normal = np.zeros(6)
        for axis in range(3):
            away = piece[:, axis] - [0, 0, 0, point[axis]]
            normal = np.polyadd(normal, np.polymul(away, np.polyder(piece[:, axis])))
        places = np.clip(roots_of(normal), 0, 1)
        found.append(np.linalg.norm(at(piece, np.append(places, [0, 1])) - point, axis=-1).min())
    return float(min(found))


def slow(curve: Any, lengths: Any) -> Any:
    """Joint by joint the first place after the last where the curve is a bone's length away; NaN beyond its end."""
    pieces, here = pieces_of(curve), np.array(curve[0], float)
    places, first, since = [here], 0, 0.0
    for length in lengths:
        for index in range(first, len(pieces)):
            squares = np.zeros(7)
            for axis in range(3):
                away = pieces[index][:, axis] - [0, 0, 0, here[axis]]
                squares = np.polyadd(squares, np.polymul(away, away))
            squares[-1] -= length**2
            roots = roots_of(squares)
            ahead = roots[(roots > (since + 1e-9 if index == first else 0)) & (roots <= 1)]
            if len(ahead):
                first, since = index, float(ahead[0])
                here = at(pieces[index], since)
                break
        else:
            here = np.full(3, np.nan)
        places.append(here)
    return np.stack(places)


def random(dtype: Any, items: int = 40, joints: int = 9, bone: float = 0.15, points: int = 4) -> tuple[Any, Any]:
    """Chains of bones of that size, and curves through points some way apart."""
    rng = np.random.default_rng(joints)
    bones = bone * rng.uniform(0.5, 1, (items, joints, 1)) * ref.unit(rng.standard_normal((items, joints, 3)))
    through = np.cumsum(rng.standard_normal((items, points, 3)), axis=1)
    return np.cumsum(bones, axis=1).astype(dtype), ik.closed_forms.curve_through(through.astype(dtype))


def turned_by(deltas: Any) -> Any:
    """How far every joint has turned altogether."""
    turned = [np.asarray(deltas, float)[..., 0, :]]
    for k in range(1, deltas.shape[-2]):
        turned.append(ref.multiply(turned[-1], deltas[..., k, :]))
    return np.stack(turned, axis=-2)


def lengths_of(joints: Any) -> Any:
    return np.linalg.norm(np.diff(np.asarray(joints, float), axis=-2), axis=-1)


def raw(found: ik.closed_forms.SplineSolution) -> list[bytes]:
    return [getattr(found, name).tobytes() for name in FIELDS]


# --- where the joints are -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("joints", "bone"), [(2, 0.4), (9, 0.15), (30, 0.03)])
def test_the_slow_one(joints: int, bone: float, dtype: Any, isa: str) -> None:
    chain, curve = random(dtype, items=120 // joints, joints=joints, bone=bone)
    found = ik.spline(chain, curve)
    assert (found.status == 0).all()
    for item in range(len(chain)):
        places = slow(curve[item], lengths_of(chain[item]))
        assert_allclose(found.positions[item], places, rtol=0, atol=1e-9 if dtype is np.float64 else 3e-4)


@pytest.mark.parametrize("bone", [0.01, 0.15, 0.5])
def test_bones_keep_their_lengths_and_joints_are_on_the_curve(bone: float, dtype: Any, isa: str) -> None:
    chain, curve = random(dtype, bone=bone, points=7)
    found = ik.spline(chain, curve)
    assert_allclose(lengths_of(found.positions), lengths_of(chain), rtol=0, atol=ATOL[dtype])
    assert (found.positions[:, 0] == curve[:, 0]).all()
    assert (found.stretches == 1).all()
    on = found.status == 0
    assert on.sum() > 20
    some = np.flatnonzero(on)[:6]
    off = np.array([[off_curve(curve[i], joint) for joint in found.positions[i]] for i in some])
    assert off.max() < ATOL[dtype] * 5
    assert (found.error[on] < ATOL[dtype] * 5).all()


def test_the_deltas_bring_the_joints_where_it_says(dtype: Any, isa: str) -> None:
    chain, curve = random(dtype)
    for options in ({}, {"stretch": "even"}, {"tilts": [0, 1, -2, 9]}, {"root_weight": 0.5}):
        found = ik.spline(chain, curve, **options)
        turned = turned_by(found.deltas)
        bones = ref.rotate(turned[:, :-1], np.diff(chain.astype(float), axis=1)) * found.stretches[:, :-1, None]
        places = found.positions[:, :1] + np.cumsum(bones, axis=1)
        assert_allclose(found.positions[:, 1:], places, rtol=0, atol=ATOL[dtype])
        assert (found.deltas[..., 0] >= 0).all()
        assert_allclose(np.linalg.norm(found.deltas, axis=-1), 1, rtol=0, atol=1e-6 if dtype is np.float32 else 1e-15)
        assert (found.deltas[:, -1] == NO_TURN).all()


def test_a_curve_of_straight_lines(isa: str) -> None:
    """Round the corner at (2, 0, 0): the sphere about x = 1.5 of radius 1 meets the line x = 2 at y = sqrt(0.75)."""
    corners = np.array([[0, 0, 0], [2, 0, 0], [2, 5, 0]], float)
    curve = np.concatenate(
        [ik.closed_forms.curve_through(corners[:2])[:-1], ik.closed_forms.curve_through(corners[1:])]
    )
    found = ik.spline(LINE * [[1], [1.5], [1.25], [1.5]] / 1, curve)
    lengths = lengths_of(LINE * [[1], [1.5], [1.25], [1.5]])
    assert_allclose(found.positions[1], [lengths[0], 0, 0], rtol=0, atol=1e-14)
    across = np.sqrt(lengths[1] ** 2 - (2 - lengths[0]) ** 2)
    assert_allclose(found.positions[2:], [[2, across, 0], [2, across + lengths[2], 0]], rtol=0, atol=1e-14)


@pytest.mark.parametrize("points", [2, 3, 6])
def test_a_chain_longer_than_its_curve_goes_straight_on(points: int, dtype: Any, isa: str) -> None:
    chain, curve = random(dtype, joints=12, bone=3, points=points)
    found = ik.spline(chain, curve)
    assert (found.status == Status.TOO_SHORT).all()
    assert_allclose(lengths_of(found.positions), lengths_of(chain), rtol=0, atol=100 * ATOL[dtype])
    end, along = curve[:, -1].astype(float), ref.unit((curve[:, -1] - curve[:, -2]).astype(float))
    way = found.positions[:, -1] - end
    assert_allclose(np.cross(along, way), 0, rtol=0, atol=200 * ATOL[dtype])
    assert_allclose(np.sum(along * way, axis=-1), found.error, rtol=1e-5 if dtype is np.float32 else 1e-12)


def test_a_curve_without_length_or_with_points_twice(dtype: Any, isa: str) -> None:
    chain = (LINE @ ref.turn(np.eye(3), Y, 0.3)).astype(dtype)
    found = ik.spline(chain, np.ones((7, 3), dtype))
    assert found.status == Status.TOO_SHORT
    assert_allclose(found.positions, chain + 1, rtol=0, atol=1e-6)
    twice = np.repeat(np.array([[0, 0, 0], [0, 2, 0]], dtype), 5, axis=0)
    found = ik.spline(chain, twice)
    assert found.status == Status.TOO_SHORT
    assert_allclose(found.positions[:, 1], [0, 1, 2, 3], rtol=0, atol=1e-6)
    assert_allclose(found.error, 1, rtol=1e-6)


@pytest.mark.parametrize("stretch", ["bones", "even"])
def test_nothing_is_stretched_over_a_curve_without_length(stretch: Any, dtype: Any, isa: str) -> None:
    chain, curves = random(dtype, items=3)
    curves[1] = curves[1, :1]
    with pytest.warns(ik.UnusableWarning, match="its curve .* has no length"):
        found = ik.spline(chain, curves, stretch=stretch)
    assert found.status.tolist() == [0, Status.NO_LENGTH, 0]
    assert_array_equal(found.positions[1], chain[1])
    assert np.isnan(found.error[1])


def test_handles_on_their_points(dtype: Any, isa: str) -> None:
    """The curve stands still at corners, and joints come to stand just there."""
    corners = np.array([[0, 0, 0], [2, 0, 0], [2, 4, 0]], dtype)
    curve = np.repeat(corners, 3, axis=0)[1:-1]
    found = ik.spline(2 * LINE.astype(dtype), curve)
    assert found.status == 0
    assert_allclose(found.positions, [[0, 0, 0], [2, 0, 0], [2, 2, 0], [2, 4, 0]], rtol=0, atol=ATOL[dtype])


def test_bones_without_length(dtype: Any, isa: str) -> None:
    chain, curve = random(dtype)
    short = chain[:, [0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 8]]
    whole, found = ik.spline(chain, curve), ik.spline(short, curve)
    assert_allclose(found.positions, whole.positions[:, [0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 8]], rtol=0, atol=1e-6)
    assert (found.status == whole.status).all()


# --- stretched ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stretch", ["bones", "even"])
def test_a_stretched_chain_shares_the_length_of_the_curve(stretch: Any, dtype: Any, isa: str) -> None:
    chain, curve = random(dtype, items=6)
    found = ik.spline(chain, curve, stretch=stretch)
    assert (found.status == 0).all()
    assert_allclose(found.positions[:, -1], curve[:, -1], rtol=0, atol=ATOL[dtype])
    assert_allclose(lengths_of(found.positions) / lengths_of(chain), found.stretches[:, :-1], rtol=2e-4)
    for item in range(len(chain)):
        fine = np.concatenate([at(piece, np.linspace(0, 1, 20_001)) for piece in pieces_of(curve[item])])
        so_far = np.append(0, np.cumsum(lengths_of(fine)))
        shares = lengths_of(chain[item]) if stretch == "bones" else np.ones(chain.shape[1] - 1)
        wanted = so_far[-1] * np.append(0, np.cumsum(shares)) / shares.sum()
        places = np.stack([np.interp(wanted, so_far, fine[:, axis]) for axis in range(3)], axis=-1)
        assert_allclose(found.positions[item], places, rtol=0, atol=5e-5)


def test_shares_in_the_core(isa: str) -> None:
    """Any numbers: a bone that has none is folded up, a negative one counts as none."""
    none, curve = np.empty(0), ik.closed_forms.curve_through(np.array([[0, 0, 0], [0, 8, 0]]))
    found = _core.spline(LINE, curve, np.array([3.0, -1, 1, 99]), none, none, none, none, none, none)
    assert_allclose(found[1][:, 1], [0, 6, 6, 8], rtol=0, atol=1e-14)
    assert_allclose(found[2], [6, 0, 2, 1], rtol=0, atol=1e-14)
    assert found[3] == 0


# --- the roll -------------------------------------------------------------------------------------------------------


def test_no_joint_twists(dtype: Any, isa: str) -> None:
    """From bone to bone of a straight chain the turn is about an axis at right angles to both."""
    _, curve = random(dtype, points=6)
    chain = np.outer(np.arange(15), [0.1, 0, 0]).astype(dtype)
    found = ik.spline(chain, curve)
    along = ref.unit(np.diff(found.positions.astype(float), axis=1))
    turned = turned_by(found.deltas)
    between = ref.multiply(turned[:, 1:-1], ref.conjugate(turned[:, :-2]))
    assert_allclose(np.sum(between[..., 1:] * along[:, 1:], axis=-1), 0, rtol=0, atol=1e-5)
    assert_allclose(np.sum(between[..., 1:] * along[:, :-1], axis=-1), 0, rtol=0, atol=1e-5)
    assert_allclose(np.sum(turned[:, 0, 1:] * X, axis=-1), 0, rtol=0, atol=1e-6)


def rolled(found: ik.closed_forms.SplineSolution, plain: ik.closed_forms.SplineSolution) -> Any:
    """By how much every bone rolls beside another result with the same places."""
    along = ref.unit(np.diff(plain.positions.astype(float), axis=-2))
    more = ref.multiply(turned_by(found.deltas), ref.conjugate(turned_by(plain.deltas)))[..., :-1, :]
    angle = 2 * np.arctan2(np.sum(more[..., 1:] * along, axis=-1), more[..., 0])
    return (angle + np.pi) % (2 * np.pi) - np.pi


def test_tilts_roll_the_bones_about_the_curve(isa: str) -> None:
    chain, curve = random(np.float64, points=2)
    plain, found = ik.spline(chain, curve), ik.spline(chain, curve, tilts=[0.5, 2.5])
    assert_allclose(found.positions, plain.positions, rtol=0, atol=1e-14)
    way = np.linalg.norm(found.positions - curve[:, :1], axis=-1) / np.linalg.norm(
        curve[:, -1:] - curve[:, :1], axis=-1
    )
    assert_allclose(rolled(found, plain), 0.5 + 2 * np.minimum(way[:, :-1], 1), rtol=0, atol=1e-12)
    found = ik.spline(300 * chain, curve, tilts=[0.5, 2.5])  # and beyond the end as there
    assert_allclose(rolled(found, ik.spline(300 * chain, curve))[:, 1:], 2.5, rtol=0, atol=1e-12)


def side(direction: Any, along: Any) -> Any:
    return ref.unit(direction - along * np.sum(direction * along, axis=-1, keepdims=True))


@pytest.mark.parametrize("given", ["start", "end", "both"])
def test_axes_come_to_the_side_of_up(given: str, dtype: Any, isa: str) -> None:
    chain, curve = random(dtype)
    start, end = {"start_axis": X, "start_up": [1, 2, 0]}, {"end_axis": 3 * Z, "end_up": Y}
    options: dict[str, Any] = start if given == "start" else end if given == "end" else start | end
    plain, found = ik.spline(chain, curve), ik.spline(chain, curve, **options)
    along, turned = ref.unit(np.diff(found.positions.astype(float), axis=-2)), turned_by(found.deltas)
    if given != "end":
        has = side(ref.rotate(turned[:, 0], X), along[:, 0])
        assert_allclose(has, side([1, 2, 0], along[:, 0]), rtol=0, atol=50 * ATOL[dtype])
    if given != "start":
        has = side(ref.rotate(turned[:, -2], Z), along[:, -1])
        assert_allclose(has, side(Y, along[:, -1]), rtol=0, atol=50 * ATOL[dtype])
    roll, lengths = rolled(found, plain), lengths_of(chain)
    share = np.cumsum(lengths, axis=-1) - lengths
    share = share / share[:, -1:]
    more = (roll[:, -1:] - roll[:, :1] + np.pi) % (2 * np.pi) - np.pi
    expected = roll[:, :1] + share * more
    off = (roll - expected + np.pi) % (2 * np.pi) - np.pi
    assert_allclose(off, 0, rtol=0, atol=50 * ATOL[dtype])
    assert given != "start" or abs(more).max() < 50 * ATOL[dtype]
    assert given != "end" or abs(roll[:, 0]).max() < 50 * ATOL[dtype]


def test_an_axis_along_the_bone_says_nothing(isa: str) -> None:
    curve = ik.closed_forms.curve_through(np.array([[0, 0, 0], [9, 0, 0]]))
    for axis, up in ((X, Y), (Y, X), (0 * Y, Z)):
        found = ik.spline(LINE, curve, start_axis=axis, start_up=up)
        assert found.status == Status.POLE_UNDEFINED
        assert_allclose(found.deltas, np.tile(NO_TURN, (4, 1)), rtol=0, atol=1e-15)
    found = ik.spline(LINE[:2], curve, start_axis=Y, start_up=Z, end_axis=Y, end_up=-Y)  # a single bone
    assert_allclose(abs(found.deltas[0]), [0, 1, 0, 0], rtol=0, atol=1e-15)


def test_straight_back_is_half_a_turn(dtype: Any, isa: str) -> None:
    found = ik.spline(LINE.astype(dtype), -LINE.astype(dtype)[[0, 1, 2, 3]])
    assert found.status == 0
    assert_allclose(found.positions, -LINE, rtol=0, atol=1e-6)
    assert_allclose(found.deltas[0, 0], 0, rtol=0, atol=1e-6)
    assert_allclose(found.deltas[1:], np.tile(NO_TURN, (3, 1)), rtol=0, atol=1e-6)


# --- the root, and the contract -------------------------------------------------------------------------------------


def test_the_curve_comes_to_the_root(dtype: Any, isa: str) -> None:
    chain, curve = random(dtype)
    whole = ik.spline(chain, curve)
    for weight in (0, 0.25, 1, -3, 7):
        found, share = ik.spline(chain, curve, root_weight=weight), np.clip(weight, 0, 1)
        root = chain[:, 0] + share * (curve[:, 0] - chain[:, 0])
        assert_allclose(found.positions[:, 0], root, rtol=0, atol=1e-6 if dtype is np.float32 else 1e-15)
        moved = whole.positions + (root - curve[:, 0])[:, None]
        assert_allclose(found.positions, moved, rtol=0, atol=ATOL[dtype])
        assert_allclose(found.deltas, whole.deltas, rtol=0, atol=50 * ATOL[dtype])
    far = curve + dtype(1000)
    assert_allclose(ik.spline(chain, far, root_weight=0).positions[:, 0], chain[:, 0], rtol=0, atol=0)


@pytest.mark.parametrize("scale", [-60, -30, 30, 60])
def test_the_unit_of_length_does_not_matter(scale: int, dtype: Any, isa: str) -> None:
    chain, curve = random(dtype)
    size = dtype(2.0**scale)
    for options in OPTIONS[:2]:
        one, other = ik.spline(chain, curve, **options), ik.spline(chain * size, curve * size, **options)
        assert other.deltas.tobytes() == one.deltas.tobytes()
        assert other.positions.tobytes() == (one.positions * size).tobytes()
        assert other.error.tobytes() == (one.error * size).tobytes()
        assert other.status.tobytes() == one.status.tobytes()


def test_a_bad_item_disturbs_no_other(dtype: Any, isa: str) -> None:
    chain, curve = random(dtype, items=19)
    good = ik.spline(chain, curve, tilts=np.zeros((19, 4)))
    for spoil in range(5):
        joints, points, tilts = chain.copy(), curve.copy(), np.zeros((19, 4))
        weight = np.ones(19)
        (joints[7, 3], points[7, 5], tilts[7], weight[7:8], joints[7])[spoil][...] = np.nan
        if spoil == 4:
            joints[7] = 1
        with pytest.warns(ik.UnusableWarning, match=r"spline: 1 of 19 items"), np.errstate(all="raise"):
            found = ik.spline(joints, points, tilts=tilts, root_weight=weight)
        assert found.status[7] == (Status.NO_LENGTH if spoil == 4 else Status.NOT_FINITE)
        assert np.isnan(found.error[7])
        assert (found.deltas[7] == NO_TURN).all()
        assert (found.stretches[7] == 1).all()
        np.testing.assert_array_equal(found.positions[7], joints[7])
        for name in FIELDS:
            assert np.delete(getattr(found, name), 7, 0).tobytes() == np.delete(getattr(good, name), 7, 0).tobytes()
    with pytest.raises(ik.UnusableError):
        ik.spline(np.zeros((3, 3)), curve[0], strict=True)
    huge = ik.spline(chain[0].astype(float) * 1e200, curve[0].astype(float) * 1e200)
    assert huge.status == 0


def test_the_core_without_bones_or_curve(isa: str) -> None:
    none, curve = np.empty(0), np.zeros((4, 3))
    for joints, points in ((np.ones((2, 1, 3)), curve), (np.ones((2, 5, 3)), curve[:3]), (np.ones((2, 0, 3)), curve)):
        deltas, positions, stretches, status, error = _core.spline(joints, points, *(none,) * 7)
        assert (status == Status.NO_LENGTH).all()
        assert np.isnan(error).all()
        assert (deltas == NO_TURN).all()
        assert (positions == joints).all()
        assert (stretches == 1).all()


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "stretched", "tilted", "rolled"])
def test_the_same_bits(options: dict[str, Any], dtype: Any) -> None:
    """On all instruction sets, alone and in batches of any size, on threads; whatever else is in the batch."""
    chain, curve = random(dtype, items=37, bone=0.5)
    chain[5], curve[9, 2], chain[11, 4] = 1, np.nan, chain[11, 5]
    before, expected = _core.isa(), None
    try:
        for name in instruction_sets():
            _core.use_isa(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ik.UnusableWarning)
                found = ik.spline(chain, curve, **options)
                expected = expected or raw(found)
                assert raw(found) == expected
                for first, last in ((0, 1), (3, 20), (8, 37)):
                    part = ik.spline(chain[first:last], curve[first:last], **options)
                    assert raw(part) == [getattr(found, field)[first:last].tobytes() for field in FIELDS]
    finally:
        _core.use_isa(before)


def test_many_on_threads(dtype: Any) -> None:
    chain, curve = random(dtype, items=3000)
    assert raw(ik.spline(chain, curve, workers=3)) == raw(ik.spline(chain, curve))


def test_a_curve_that_moves_a_little_moves_the_chain_a_little(isa: str) -> None:
    chain, curve = random(np.float64, items=1, joints=20, bone=0.1)
    step = np.linspace(0, 1, 1001)[:, None, None] * np.random.default_rng(4).standard_normal(curve.shape)
    found = ik.spline(chain, curve + 0.3 * step)
    assert np.linalg.norm(np.diff(found.positions, axis=0), axis=-1).max() < 0.01


def test_shapes_and_what_is_refused() -> None:
    curve = ik.closed_forms.curve_through(np.zeros((5, 2, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ik.spline(np.tile(LINE, (4, 1, 1, 1)), curve)
    assert (found.deltas.shape, found.positions.shape, found.stretches.shape, found.status.shape) == (
        (4, 5, 4, 4),
        (4, 5, 4, 3),
        (4, 5, 4),
        (4, 5),
    )
    assert ik.spline(np.empty((0, 4, 3)), curve[0]).status.shape == (0,)
    assert ik.spline(LINE.astype("f"), curve[0].astype("f")).deltas.dtype == np.float32
    for wrong, what in (
        ({"joints": LINE[:1]}, "joints: expected an array of shape"),
        ({"curve": np.zeros((6, 3))}, r"curve: expected .* curve_through"),
        ({"curve": np.zeros((3, 3))}, r"curve: expected"),
        ({"tilts": [1, 2, 3]}, r"tilts: expected"),
        ({"stretch": "odd"}, "stretch: expected 'bones' or 'even'"),
        ({"start_up": X}, "start_axis and start_up: expected both"),
        ({"end_axis": X}, "end_axis and end_up: expected both"),
        ({"joints": np.zeros((3, 4, 3)), "curve": curve}, "spline: leading axes do not broadcast"),
    ):
        with pytest.raises(ValueError, match=what):
            ik.spline(**({"joints": LINE, "curve": curve[0]} | wrong))


def test_a_curve_through_points(dtype: Any) -> None:
    points = np.random.default_rng(2).standard_normal((6, 5, 3)).astype(dtype)
    curve = ik.closed_forms.curve_through(points)
    assert curve.dtype == dtype
    assert (curve[:, ::3] == points).all()
    for k in (1, 2, 3):
        along = (points[:, k + 1] - points[:, k - 1]) / 6
        assert_allclose(curve[:, 3 * k + 1] - points[:, k], along, rtol=0, atol=1e-6)
        assert_allclose(points[:, k] - curve[:, 3 * k - 1], along, rtol=0, atol=1e-6)
    first, last = pieces_of(curve[0])[0], pieces_of(curve[0])[-1]
    assert_allclose([first[0], last[0]], 0, rtol=0, atol=1e-5 if dtype is np.float32 else 1e-14)  # no third power
    with pytest.raises(ValueError, match="points: expected"):
        ik.closed_forms.curve_through([[0, 0, 0]])


# --- on a skeleton --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moves", [False, True], ids=["offsets", "translations"])
def test_a_pose_of_a_skeleton(moves: bool, dtype: Any) -> None:
    """hips, a tail of five joints below them that has a leaf, and a leg."""
    rng = np.random.default_rng(1)
    body = ik.Skeleton([-1, 0, 1, 2, 3, 4, 3, 0], rng.standard_normal((8, 3)), names=list("htuvwxlg"))
    came = ik.Pose(
        rng.standard_normal((6, 8, 4)).astype(dtype), rng.standard_normal((6, 8, 3)).astype(dtype) if moves else None
    )
    names = list("tuvwx")
    joints = [body.index(name) for name in names]
    before = body.forward(came)
    for options in ({}, {"stretch": "even"}, {"root_weight": 0, "tilts": [1, 2, 3, 4]}):
        curve = ik.closed_forms.curve_through(rng.standard_normal((6, 4, 3)).astype(dtype))
        found = ik.spline(before.positions[:, joints], curve, **options)
        pose = found.pose(body, came, names)
        after = body.forward(pose)
        assert pose.dtype == dtype
        assert_allclose(after.positions[:, joints], found.positions, rtol=0, atol=20 * ATOL[dtype])
        turned = ref.multiply(turned_by(found.deltas), before.rotations[:, joints])
        same = np.sum(turned * after.rotations[:, joints], axis=-1)
        assert_allclose(abs(same), 1, rtol=0, atol=1e-5)
        others = [0, 6, 7]
        assert (pose.rotations[:, others] == came.rotations[:, others]).all()
    one = ik.spline(before.positions[0, joints], curve).pose(body, came[0], names)
    assert one.shape == (6,)


def test_what_a_pose_is_not_made_of() -> None:
    body = ik.Skeleton.chain(LINE)
    found = ik.spline(LINE, ik.closed_forms.curve_through(2 * LINE))
    for joints, what in (([0, 1, 2], "expected 4"), ([0, 2, 3, 1], r"joints\[1\]: expected a child of")):
        with pytest.raises(ValueError, match=what):
            found.pose(body, body.rest, joints)
    with pytest.raises(ValueError, match="without scales"):
        found.pose(body, ik.Pose(body.rest.rotations, scales=np.ones((4, 3))), [0, 1, 2, 3])
    with pytest.raises(ValueError, match=r"joints\[1\]: no joint is called"):
        found.pose(body, body.rest, [0, "b", 2, 3])
    assert "1 of 1 chains reached" in found.summary() or "reached" in found.summary()
