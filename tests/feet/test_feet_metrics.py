"""Measures of feet: a walk known to be clean is, and one made bad by a known amount reads that amount."""

from __future__ import annotations

import functools
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import ikcore as ik
from ikcore import samples
from ikcore.feet import metrics
from ikcore.feet.metrics import Measure, Track, arguments, geometry, measure_leg

Array = NDArray[Any]
RATES = [30.0, 60.0, 120.0]
SPEED = 1.3
SOLE = ("Heel", "Ball", "Toe")


@functools.cache
def walk(fps: float = 60.0) -> samples.Sample:
    return samples.walk(seconds=4, speed=SPEED, fps=fps)


@functools.cache
def joints(fps: float = 60.0) -> dict[str, Array]:
    clip = walk(fps).clip
    found = clip.skeleton.forward(clip.pose).positions
    return {name: found[:, at] for at, name in enumerate(clip.skeleton.names)}


@functools.cache
def sole(fps: float = 60.0, side: str = "Left") -> Array:
    """Heel, ball and toe."""
    clip = walk(fps).clip
    world, found = clip.skeleton.forward(clip.pose), []
    for name in SOLE:
        joint, offset = walk(fps).soles[side + name]
        at = clip.skeleton.index(joint)
        found.append(world.positions[:, at] + ik.rotations.rotate(world.rotations[:, at], offset))
    return np.stack(found, axis=1)


@functools.cache
def chain(fps: float = 60.0, side: str = "Left") -> Array:
    return np.stack([joints(fps)[f"{side}{name}"] for name in ("UpLeg", "Leg", "Foot")], axis=1)


@functools.cache
def planted(fps: float = 60.0, side: str = "Left") -> Array:
    return np.stack([walk(fps).planted(side + name) for name in SOLE], axis=1)


def soles_up(fps: float = 60.0, side: str = "Left") -> Array:
    """Normals of the sole; the foot of the walk has no rotation where it is flat."""
    clip = walk(fps).clip
    turned = clip.skeleton.forward(clip.pose).rotations[:, clip.skeleton.index(f"{side}Foot")]
    return ik.rotations.rotate(turned, [0, 1, 0])


def leg(fps: float = 60.0, moved: Any = 0.0, **given: Any) -> Track:
    """The left one, all of it moved."""
    moved = np.asarray(moved, float)
    moved = moved[:, np.newaxis] if moved.ndim == 2 else moved
    hips = joints(fps)["Hips"] + (moved[:, 0] if moved.ndim == 3 else moved)
    return Track.on(chain(fps) + moved, sole(fps) + moved, soles=soles_up(fps), pelvis=hips, **given)


def seconds(fps: float) -> Array:
    return np.arange(len(walk(fps).clip)) / fps


# --- intervals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", []), ("...", []), ("xxx", [(0, 3)]), ("x.xx.", [(0, 1), (2, 4)]), (".x", [(1, 2)])],
)
def test_runs_are_first_frames_and_the_first_ones_after(text: str, expected: list[tuple[int, int]]) -> None:
    found = metrics.runs(np.array([letter == "x" for letter in text], bool))
    assert found.tolist() == [list(pair) for pair in expected]


# --- sliding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fps", RATES)
def test_plants_of_the_walk_do_not_drift(fps: float) -> None:
    for side in ("Left", "Right"):
        for point in range(3):
            stances = metrics.runs(planted(fps, side)[:, point])
            assert len(stances) >= 3
            assert metrics.drift(sole(fps, side)[:, point], stances, fps=fps).max() < 1e-9


def test_a_slip_of_5_mm_reads_5_mm() -> None:
    ball = sole()[:, 1].copy()
    stances = metrics.runs(planted()[:, 1])
    start, stop = stances[1]
    ball[(start + stop) // 2 :] += [0.003, 0, -0.004]
    assert_allclose(metrics.drift(ball, stances, fps=60), np.eye(len(stances))[1] * 0.005, atol=1e-9)


def test_out_and_back_is_as_far_as_it_was_out() -> None:
    ball = sole()[:, 1].copy()
    stances = metrics.runs(planted()[:, 1])
    start, stop = stances[1]
    middle = (start + stop) // 2
    ball[middle : middle + 3] += [0, 0, 0.004]
    ball[middle + 3 : middle + 5] -= [0.003, 0, 0]
    assert_allclose(metrics.drift(ball, stances, fps=60)[1], 0.005, atol=1e-9)


@pytest.mark.parametrize("fps", [24.0, *RATES])
def test_a_path_too_short_drifts_by_what_is_lost_in_the_core(fps: float) -> None:
    """The root moves with exactly one speed, so what 1 % less of it does to a stance is known."""
    ball = sole(fps)[:, 1] - np.outer(0.01 * SPEED * seconds(fps), [0, 0, 1])
    stances = [pair for pair in metrics.runs(planted(fps)[:, 1]) if pair[0] > 0 and pair[1] < len(ball)]
    stride = 2 * 0.7 / SPEED
    core = 0.8 * 0.5 * stride - 2 / 30  # a ball stands for half a stride
    found = metrics.drift(ball, stances, fps=fps)
    assert_allclose(found, 0.01 * SPEED * core, atol=0.01 * SPEED * 3 / fps)  # of three frames it is not known


def test_drift_is_between_the_two_frames_that_are_farthest_apart() -> None:
    """On a circle all points are as far out, so all pairs are candidates."""
    angle = np.random.default_rng(4).uniform(0, 2 * np.pi, 2000)
    points = np.stack([np.sin(angle), 0 * angle, np.cos(angle)], axis=-1)
    core = points[201:1799]  # less 10 % and 1/30 s
    most = max(float(np.linalg.norm(core - point, axis=1).max()) for point in core)
    assert metrics.drift(points, [(0, 2000)], fps=30)[0] == pytest.approx(most, abs=1e-12)


def test_what_happens_as_a_foot_arrives_and_leaves_is_no_drift() -> None:
    points = np.zeros((40, 3))
    points[:5] = points[-5:] = [1, 0, 0]  # 10 % of 40 frames, and one for 1/30 s
    assert metrics.drift(points, [(0, 40)], fps=30) == 0
    points[5] = [1, 0, 0]
    assert metrics.drift(points, [(0, 40)], fps=30) == 1


@pytest.mark.parametrize("frames", range(1, 9))
def test_a_short_stance_keeps_its_middle(frames: int) -> None:
    points = np.zeros((frames, 3))
    points[:, 0] = np.arange(frames)
    assert metrics.drift(points, [(0, frames)], fps=120) == (frames + 1) % 2


def test_a_stance_is_judged_by_the_stillest_point() -> None:
    heel, toe = np.zeros((2, 20, 3))
    heel[10:, 0], toe[10:, 0] = 0.02, 0.007
    assert_allclose(metrics.drift(np.stack([heel, toe], axis=1), [(0, 20)], fps=30), 0.007)


@pytest.mark.parametrize("kind", ["cloud", "ring", "line", "two", "point", "large"])
def test_drift_is_the_largest_distance_of_all_pairs(kind: str) -> None:
    random = np.random.default_rng(5)
    for _ in range(30):
        points = random.normal(size=(23, 3)) * [1, 0, 1]
        if kind == "ring":
            points /= np.linalg.norm(points, axis=1, keepdims=True)
        elif kind == "line":
            points[:, 2] = 2 * points[:, 0]
        elif kind == "two":
            points = points[random.integers(0, 2, 23)]
        elif kind == "point":
            points[:] = points[0]
        elif kind == "large":
            points = points + np.array([1e6, 0, -1e6])
        core = points[3:-3]  # 10 % of 23 and 1/30 s are 3.3 frames at 30 a second
        expected = max(math.dist(a, b) for a, b in combinations(core, 2))
        assert_allclose(metrics.drift(points, [(0, 23)], fps=30), expected, rtol=1e-12)


def test_drift_goes_along_the_ground() -> None:
    """On a slope of 30 degrees; what moves off it is not a slide."""
    along, off = np.array([math.cos(math.pi / 6), math.sin(math.pi / 6), 0]), np.array([-0.5, math.sqrt(0.75), 0])
    points = np.outer(np.arange(20) >= 10, 0.005 * along + 0.02 * off)
    assert_allclose(metrics.drift(points, [(0, 20)], fps=30, normals=3 * off), 0.005)
    assert_allclose(metrics.drift(points, [(0, 20)], fps=30, normals=np.tile(off, (20, 1))), 0.005)
    level = math.hypot(*(0.005 * along + 0.02 * off)[[0, 2]])
    assert_allclose(metrics.drift(points, [(0, 20)], fps=30), level)
    assert_allclose(metrics.drift(points, [(0, 20)], fps=30, normals=np.full(3, np.nan)), level)  # no ground there


def test_a_long_stance_takes_no_square_of_its_frames() -> None:
    points = np.random.default_rng(1).normal(size=(200_000, 3))
    found = metrics.drift(points, [(0, len(points))], fps=60)
    core = points[20_002:-20_002, ::2]
    far = core[np.argmax(np.linalg.norm(core, axis=1))]
    assert found >= np.linalg.norm(core - far, axis=1).max() - 1e-12


def test_heading_drift_is_the_turn_in_the_core() -> None:
    stances = metrics.runs(planted().all(axis=1))
    headings = sole()[:, 2] - sole()[:, 0]
    assert metrics.heading_drift(headings, stances, fps=60).max() < 1e-9
    start, stop = stances[0]
    for behind in (0.0, math.pi):  # also where angles jump
        angle = behind + np.radians(4) * (np.arange(len(headings)) >= (start + stop) // 2)
        turned = ik.rotations.rotate(ik.rotations.from_axis_angle([0, 1, 0], angle), headings)
        found = metrics.heading_drift(turned, stances, fps=60)
        assert_allclose(np.degrees(found), 4 * np.eye(len(stances))[0], atol=1e-6)


def plain_skating_ratio(points: Array, heights: Array) -> float:
    """As published: 20 frames a second, a mean of 5 with zeros beyond the ends, 0.5 m/s, 0.05 m."""
    steps, feet = len(points) - 1, points.shape[1]
    speed = [[math.dist(points[k + 1, f, ::2], points[k, f, ::2]) * 20 for f in range(feet)] for k in range(steps)]
    count = 0
    for k in range(steps):
        skates = False
        for f in range(feet):
            mean = sum(speed[i][f] for i in range(k - 2, k + 3) if 0 <= i < steps) / 5
            low = heights[k, f] < 0.05 and heights[k + 1, f] < 0.05
            skates |= bool(low and speed[k][f] > 0.5 and mean > 0.5)
        count += skates
    return count / steps


def test_headings_turn_by_the_same_bits_wherever_they_lie() -> None:
    """np.arctan2 of NumPy 1.26 gives others in one call of a hundred."""
    random = np.random.default_rng(0)
    headings = np.stack([random.normal(size=240) * 6e-9, np.zeros(240), random.uniform(0.1, 0.2, 240)], axis=-1)
    stances = [(at, at + 9) for at in range(231)]
    found: set[bytes] = set()
    kept: list[Array] = []
    for turn in range(1000):
        kept = [*kept[-50:], np.empty(random.integers(1, 2000))]
        given = headings.copy() if turn % 2 else np.concatenate([headings, headings])[:240] * 1.0
        found.add(metrics.heading_drift(given, stances, fps=30).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_skating_ratio_is_the_published_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(size=(50, 2, 3)).cumsum(axis=0) * 0.03
    heights = np.abs(points[..., 1])
    expected = plain_skating_ratio(points, heights)
    assert 0 < expected < 1
    assert metrics.skating_ratio(points, heights < 0.05, fps=20) == pytest.approx(expected)


@pytest.mark.parametrize("fps", [20.0, *RATES])
def test_feet_that_slide_at_a_known_speed_skate_when_that_is_too_fast(fps: float) -> None:
    both = np.concatenate([sole(fps)[:, 1:], sole(fps, "Right")[:, 1:]], axis=1)
    held = np.concatenate([planted(fps)[:, 1:], planted(fps, "Right")[:, 1:]], axis=1)
    assert metrics.skating_ratio(both, held, fps=fps) == 0
    steps, half = held[1:] & held[:-1], int(fps / 8)
    inner = [steps[k - half : k + half + 1].all(axis=0).any() for k in range(half, len(steps) - half)]
    for speed, least, most in ((0.4, 0.0, 0.0), (0.6, sum(inner) / len(steps), steps.any(axis=1).mean())):
        slid = both - np.outer(speed * seconds(fps), [0, 0, 1])[:, np.newaxis]
        assert least <= metrics.skating_ratio(slid, held, fps=fps) <= most
    assert least > 0.4  # so much of the walk is far from where feet arrive and leave
    toes = np.stack([joints(fps)[f"{side}ToeBase"] for side in ("Left", "Right")], axis=1)
    by_height = metrics.skating_ratio(toes, toes[..., 1] < 0.05, fps=fps)
    assert 0.1 < by_height < 0.5  # as its docstring warns


@pytest.mark.parametrize("fps", [20.0, *RATES])
def test_the_skating_speed_is_the_slide_of_a_foot_on_the_ground(fps: float) -> None:
    points = np.zeros((round(2 * fps) + 1, 2, 3))
    points[:, :, 0] = np.linspace(0, 0.4, len(points))[:, np.newaxis]
    heights = np.array([0.0, 0.0125])
    found = metrics.skating_speed(points, np.tile(heights, (len(points), 1)), fps=fps)
    assert_allclose(found, [0.2, 0.2 * (2 - math.sqrt(2))])


def test_a_step_has_the_height_it_begins_at() -> None:
    points = np.zeros((3, 1, 3))
    points[1:, 0, 2] = 0.01  # one step, off the ground
    assert_allclose(metrics.skating_speed(points, [[0.0], [0.1], [0.1]], fps=30), 0.3 / 2)
    assert metrics.skating_speed(points, np.full((3, 1), np.nan), fps=30) == 0  # over no ground


# --- on the ground ---------------------------------------------------------------------------------------------------


def test_a_sunken_walk_is_as_deep_as_it_was_sunk() -> None:
    clean, down = sole()[..., 1], planted().any(axis=1)
    assert metrics.penetration(clean).max() < 1e-9
    assert metrics.floating(clean)[down].max() < 1e-9
    assert_allclose(metrics.penetration(clean - 0.03)[down], 0.03, atol=1e-9)
    assert_array_equal(metrics.floating(clean - 0.03)[down], 0)
    assert_allclose(metrics.floating(clean + 0.03)[down], 0.03, atol=1e-9)
    assert_array_equal(metrics.penetration(clean + 0.03), 0)


def test_the_angle_of_a_sole_is_to_the_ground() -> None:
    flat = planted().all(axis=1)
    assert metrics.sole_angle(soles_up()[flat]).max() < 1e-9
    slope = [0, math.cos(math.radians(12)), -math.sin(math.radians(12))]
    assert_allclose(np.degrees(metrics.sole_angle(soles_up()[flat], slope)), 12)
    assert_allclose(metrics.sole_angle([0, 1e-9, 1e-9]), math.pi / 4)


def test_the_lift_that_is_lost_is_a_share_of_the_source() -> None:
    height = sole()[:, 1, 1]
    down = planted()[:, 1]
    swings = metrics.runs(~down)
    lost = metrics.lift_lost(0.6 * height, height, down)
    assert len(lost) == len(swings) >= 3
    assert_allclose(lost, 0.4)
    assert_allclose(metrics.lift_lost(height, height, down), 0, atol=1e-12)
    assert metrics.lift_lost(height, 0 * height, down).size == 0  # nothing to lose


# --- knees -----------------------------------------------------------------------------------------------------------


def test_bends_are_interior_angles() -> None:
    at = np.radians([10, 90, 175])
    below = np.stack([np.sin(at), np.cos(at), 0 * at], axis=-1)  # from the knee, whose thigh is straight up
    legs = np.stack([np.tile([0.0, 2, 0], (3, 1)), np.zeros((3, 3)), 3 * below], axis=1)
    assert_allclose(metrics.bends(legs)[:, 0], at)
    assert metrics.bends(np.zeros((4, 5, 3))).shape == (4, 3)


@pytest.mark.parametrize("fps", RATES)
def test_a_knee_that_pops_is_found_where_it_pops(fps: float) -> None:
    knee = metrics.bends(chain(fps))
    assert not metrics.pops(knee, knee).any()
    frame = len(knee) // 3
    usual = np.percentile(np.abs(knee[2:] - 2 * knee[1:-1] + knee[:-2]), 99)
    much = 5 * max(usual, math.radians(2))
    spike, jump = knee.copy(), knee.copy()
    spike[frame] -= much
    jump[frame:] -= much
    assert np.flatnonzero(metrics.pops(spike, knee)).tolist() == [frame - 1, frame, frame + 1]
    assert np.flatnonzero(metrics.pops(jump, knee)).tolist() == [frame - 1, frame]
    small = knee.copy()
    small[frame] -= 0.1 * max(usual, math.radians(2))
    assert not metrics.pops(small, knee).any()


def test_a_pop_is_two_degrees_at_least() -> None:
    still = np.full((50, 1), 2.0)
    for size, expected in ((1.9, 0), (2.1, 2)):
        moved = still - np.radians(size) * (np.arange(50)[:, np.newaxis] >= 20)
        assert metrics.pops(moved, still).sum() == expected
    assert not metrics.pops(still[:2], still[:2]).any()


def test_knees_that_bend_to_the_other_side_are_found() -> None:
    assert not metrics.flips(chain()).any()
    mirrored = chain().copy()
    hip, knee, ankle = mirrored.transpose(1, 0, 2)
    line = (ankle - hip) / np.linalg.norm(ankle - hip, axis=1, keepdims=True)
    foot = hip + ((knee - hip) * line).sum(axis=1, keepdims=True) * line
    mirrored[100:150, 1] = (2 * foot - knee)[100:150]
    assert np.flatnonzero(metrics.flips(mirrored)).tolist() == [100, 150]


def test_a_straight_knee_has_no_side() -> None:
    """A knee that trembles about straight, by so many degrees."""

    def trembling(degrees: float) -> Array:
        off = 0.5 * math.tan(math.radians(degrees / 2))
        return np.stack([[[0, 1, 0], [0, 0.5, side * off], [0, 0, 0]] for side in (1, -1, 1, -1, 1)])

    assert not metrics.flips(trembling(4.9)).any()
    assert metrics.flips(trembling(5.1)).sum() == 4
    assert not metrics.flips(np.zeros((5, 3, 3))).any()


def test_extension_and_lengths() -> None:
    stretched = chain().copy()
    bones = np.linalg.norm(np.diff(chain(), axis=1), axis=-1)
    assert_allclose(bones, np.tile([0.43, 0.42], (len(bones), 1)))  # as the walk is made
    reach = metrics.extension(chain()[:, 0], chain()[:, 2], 0.85)
    assert_allclose(reach.max(), 0.99, atol=1e-3)
    assert metrics.length_error(chain(), chain()).max() == 0
    stretched[30, 2] += 0.05 * (stretched[30, 2] - stretched[30, 1])
    assert_allclose(metrics.length_error(stretched, chain()), 0.05 * (np.arange(len(bones)) == 30), atol=1e-12)
    assert_array_equal(metrics.length_error(np.zeros((2, 3, 3)), np.zeros((2, 3, 3))), 0)


# --- smoothness ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fps", [12.0, 24.0, 25.0, 120.00048, *RATES])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_powers_are_their_factorials(fps: float, order: int) -> None:
    times = np.arange(40) / fps
    found = metrics.derivative(times**order, order, fps=fps)
    assert len(found) == 40 - order * max(1, round(fps / 30))
    assert_allclose(found, math.factorial(order), rtol=1e-6)
    assert metrics.derivative(times[:order], order, fps=fps).size == 0


def test_the_jerk_of_a_walk_is_that_of_its_rate() -> None:
    means = [metrics.jerk(chain(fps)[:, 2], fps=fps).mean() for fps in RATES]
    assert_allclose(means, means[0], rtol=0.15)


def test_noise_makes_a_walk_jerky() -> None:
    noisy = chain() + np.random.default_rng(0).normal(scale=0.003, size=chain().shape)
    assert metrics.jerk(noisy, fps=60).mean() > 2 * metrics.jerk(chain(), fps=60).mean()


@pytest.mark.parametrize("fps", RATES)
def test_angular_speed_is_that_of_a_turn(fps: float) -> None:
    turned = ik.rotations.from_axis_angle([[1, 0, 0], [0, 0, 1]], np.arange(20)[:, np.newaxis] / fps * [2.0, 5.0])
    found = metrics.angular_speed(turned * np.where(np.arange(20) % 2, 1, -1)[:, np.newaxis, np.newaxis], fps=fps)
    assert_allclose(found, np.broadcast_to([2.0, 5.0], found.shape))


# --- fidelity and contacts -------------------------------------------------------------------------------------------


def test_turn_and_deviation_are_angles_and_distances() -> None:
    random = np.random.default_rng(3)
    source = ik.rotations.normalize(random.normal(size=(7, 4)))
    axes = random.normal(size=(7, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    angles = np.linspace(0, 3, 7)
    half = angles[:, np.newaxis] / 2
    by_hand = np.concatenate([np.cos(half), np.sin(half) * axes], axis=1)
    assert_allclose(metrics.turn(ik.rotations.multiply(by_hand, source), source), angles, atol=1e-7)
    assert_allclose(metrics.deviation([[1, 2, 3], [0, 0, 0]], [[1, 0, 3], [3, 9, 4]]), [2, math.sqrt(106)])
    assert_allclose(metrics.deviation([[1, 2, 3], [0, 0, 0]], [[1, 0, 3], [3, 9, 4]], level=True), [0, 5])


def test_agreement_is_f1() -> None:
    contact, truth = np.zeros((2, 20), bool)
    truth[2:10], contact[4:14] = True, True  # 6 right, 4 too many, 2 missing
    precision, recall = 6 / 10, 6 / 8
    assert metrics.agreement(contact, truth) == pytest.approx(2 * precision * recall / (precision + recall))
    assert metrics.agreement(truth, truth) == 1
    assert metrics.agreement(~truth, truth) == 0
    assert metrics.agreement(0 * truth > 0, 0 * truth > 0) == 1


@pytest.mark.parametrize("fps", RATES)
def test_onsets_are_late_by_what_they_were_made_late_by(fps: float) -> None:
    truth = planted(fps)[:, 1]
    frames = round(0.1 * fps)
    late = np.concatenate([np.full(frames, truth[0]), truth[:-frames]])
    for found, true in ((late, truth), (~late, ~truth)):
        error = metrics.onset_error(found, true, fps=fps)
        assert len(error) >= 3
        assert_allclose(error[:-1], 0.1)
    assert_array_equal(metrics.onset_error(truth & False, truth, fps=fps), np.inf)


def test_a_beginning_is_not_mistaken_for_an_end() -> None:
    truth, contact = np.arange(20) >= 10, (np.arange(20) < 10) & (np.arange(20) >= 4)
    assert_allclose(metrics.onset_error(contact, truth, fps=10), 0.6)
    assert_allclose(metrics.onset_error(truth, contact, fps=10), 0.6)
    assert metrics.onset_error(truth, np.arange(20) < 10, fps=10).size == 0


# --- all of a leg ----------------------------------------------------------------------------------------------------


SINK, RISE = np.array([0, -0.03, 0]), np.array([0, 0.03, 0])


def known(found: Measure) -> dict[str, float]:
    return {name: getattr(found, name) for name in Measure.__dataclass_fields__}


def test_the_record_says_all_it_has() -> None:
    said = repr(measure_leg(leg(moved=SINK), planted(), fps=60)).splitlines()
    assert [line.split()[0] for line in said[1:]] == list(Measure.__dataclass_fields__)
    assert "  penetration       30.0 mm" in said
    assert "  extension         99.0 %" in said


@pytest.mark.parametrize("fps", RATES)
def test_the_clean_walk_has_no_fault(fps: float) -> None:
    found = known(measure_leg(leg(fps), planted(fps), fps=fps))
    assert 0.9 < found.pop("extension") < 0.992
    assert all(math.isnan(found.pop(name)) for name in metrics.BESIDE)
    assert_allclose(list(found.values()), 0, atol=1e-9)


@pytest.mark.parametrize("fps", RATES)
def test_what_is_its_own_source_is_not_beside_it(fps: float) -> None:
    found = known(measure_leg(leg(fps), planted(fps), fps=fps, source=leg(fps)))
    assert 0.1 < found.pop("knee_acceleration") <= 1
    assert found.pop("ankle_jerk") == found.pop("pelvis_jerk") == 1
    assert_allclose([found[name] for name in metrics.BESIDE if name in found], 0, atol=1e-9)
    assert [found[name] for name in metrics.BEYOND] == [0] * len(metrics.BEYOND)


@pytest.mark.parametrize("fps", RATES)
@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        (SINK, {"penetration": 0.03, "penetration_swing": 0.03, "deviation": 0.03}),
        (RISE, {"floating": 0.03, "deviation": 0.03}),
    ],
)
def test_a_fault_reads_as_large_as_it_is_and_nothing_else_does(
    fps: float, moved: Array, expected: dict[str, float]
) -> None:
    clean = known(measure_leg(leg(fps), planted(fps), fps=fps, source=leg(fps)))
    assert clean["skating_by_height"] == 0
    found = known(measure_leg(leg(fps, moved), planted(fps), fps=fps, source=leg(fps)))
    assert found.pop("skating_by_height") <= 0.06 * (moved[1] < 0)  # what is lower is low for longer
    del clean["skating_by_height"]
    lifts = [sole(fps)[start:stop, :, 1].min(axis=1).max() for start, stop in metrics.runs(~planted(fps).any(axis=1))]
    assert found.pop("lift_lost") == pytest.approx(sorted(-moved[1] / lift for lift in lifts)[len(lifts) // 2])
    del clean["lift_lost"]
    loose = {"penetration_swing": 0.001}  # a foot in swing is that near the ground, as it leaves it gently
    for name, value in (clean | expected).items():
        assert found[name] == pytest.approx(value, abs=loose.get(name, 1e-9)), name


@pytest.mark.parametrize("fps", RATES)
def test_faults_of_the_source_are_not_those_of_the_result(fps: float) -> None:
    """A source that sinks, floats and tilts by itself, and a result that does the same, or more of it."""
    t = seconds(fps)
    wave = np.outer(0.02 * np.sin(9 * t), [0, 1, 0])
    bad = leg(fps, wave)
    same = measure_leg(bad, planted(fps), fps=fps, source=bad)
    assert (same.penetration, same.penetration_swing, same.floating, same.sole_angle, same.skating_by_height) == (
        0,
    ) * 5
    alone = measure_leg(bad, planted(fps), fps=fps)
    assert min(alone.penetration, alone.floating) > 0.01
    for down, name in ((-0.004, "penetration"), (0.004, "floating")):
        more = measure_leg(leg(fps, wave + np.array([0, down, 0])), planted(fps), fps=fps, source=bad)
        assert getattr(more, name) == pytest.approx(0.004)
    turned = ik.rotations.rotate(ik.rotations.from_axis_angle([1, 0, 0], 0.1), soles_up(fps))
    tilted = Track.on(chain(fps), sole(fps), soles=turned)
    assert measure_leg(tilted, planted(fps), fps=fps).sole_angle == pytest.approx(0.1)
    assert measure_leg(leg(fps), planted(fps), fps=fps, source=tilted).sole_angle == 0


def test_beside_a_source_without_what_is_beyond_it() -> None:
    """A result that is as bad as its source: all there is as without one, how it is beside it as with one."""
    wave = np.outer(0.02 * np.sin(9 * seconds(60)), [0, 1, 0])
    bad, worse = leg(60, wave), leg(60, 2 * wave)
    alone, beside = (measure_leg(worse, planted(60), fps=60, source=given) for given in (None, bad))
    found = measure_leg(worse, planted(60), fps=60, source=bad, beyond=False)
    assert beside.penetration < alone.penetration
    for name in (*metrics.BEYOND, *metrics.BESIDE):
        expected = beside if name in metrics.BESIDE else alone
        assert getattr(found, name) == getattr(expected, name), name
    assert found.knee_pops == beside.knee_pops


def test_a_foot_that_rolls_off_at_the_end_of_its_contact_does_not_float() -> None:
    """It rises by 20 mm in the frames that the core of a contact leaves out, and by 5 in one of the core."""
    down = planted().any(axis=1)
    late = down & ~metrics.contact_cores(down, fps=60)
    assert late.sum() > 0.2 * down.sum()
    assert measure_leg(leg(moved=np.outer(late, [0, 0.02, 0])), planted(), fps=60).floating == pytest.approx(
        0, abs=1e-9
    )
    assert measure_leg(leg(moved=np.outer(down, [0, 0.005, 0])), planted(), fps=60).floating == pytest.approx(0.005)


def test_a_stance_is_never_all_arriving_and_leaving() -> None:
    assert_array_equal(metrics.contact_cores([True] * 3, fps=120), [False, True, False])
    assert_array_equal(metrics.contact_cores([False] * 3, fps=120), [False] * 3)


def bent_back(first: int, stop: int) -> Track:
    """The walk, its knee on the other side of the line from hip to ankle in some frames."""
    bad = chain().copy()
    hip, knee, ankle = np.moveaxis(bad[first:stop], 1, 0)
    line = (ankle - hip) / np.linalg.norm(ankle - hip, axis=-1, keepdims=True)
    on = hip + ((knee - hip) * line).sum(axis=-1, keepdims=True) * line
    bad[first:stop, 1] = 2 * on - knee
    return Track.on(bad, sole())


@pytest.mark.parametrize("beyond", [True, False])
def test_knees_that_the_source_bends_backwards_are_no_flips_of_the_result(beyond: bool) -> None:
    """Nor if they come back 0.1 s later than there; later they are."""
    source, later, much_later = bent_back(200, 220), bent_back(203, 223), bent_back(200, 232)
    assert measure_leg(source, planted(), fps=60).knee_flips == 2
    for result, expected in ((source, 0), (later, 0), (much_later, 1)):
        assert measure_leg(result, planted(), fps=60, source=source, beyond=beyond).knee_flips == expected
    assert measure_leg(source, planted(), fps=60, source=leg(), beyond=beyond).knee_flips == 2


def test_knees_that_no_longer_straighten_read_in_the_record() -> None:
    knees = metrics.bends(chain())
    assert_allclose(metrics.straightness_lost(knees - 0.1, knees), 0.1)
    assert_allclose(metrics.straightness_lost(knees + 0.1, knees), 0)
    straight = np.percentile(knees, 95)
    assert_allclose(metrics.straightness_lost(np.minimum(knees, straight - 0.05), knees), 0.05)
    low = chain() * [1, 0.97, 1]
    found = measure_leg(Track.on(low, sole()), planted(), fps=60, source=leg()).straightness_lost
    assert found == pytest.approx(float(straight - np.percentile(metrics.bends(low), 95)))


def test_a_pelvis_that_is_lowered_over_its_feet_reads_in_the_record() -> None:
    """Not where a foot goes down with it, be it the other one."""
    hips, ankle, other = joints()["Hips"], chain()[:, -1], chain()[:, -1] + [0.2, 0, 0]
    both, down = np.stack([ankle, other], axis=1), np.array([0, -0.02, 0])

    def lowered(pelvis: Array, ankles: Array | None) -> float:
        result = Track.on(chain(), sole(), pelvis=pelvis, ankles=ankles)
        source = Track.on(chain(), sole(), pelvis=hips, ankles=None if ankles is None else both)
        return measure_leg(result, planted(), fps=60, source=source).pelvis_lowered

    assert lowered(hips + down, None) == lowered(hips + down, both) == pytest.approx(0.02)
    assert_allclose([lowered(hips + down, both + down), lowered(hips - down, both)], 0, atol=1e-12)
    assert lowered(hips + down, np.stack([ankle, other + down], axis=1)) == pytest.approx(0, abs=1e-12)
    assert math.isnan(measure_leg(Track.on(chain(), sole()), planted(), fps=60, source=leg()).pelvis_lowered)


def test_what_was_over_no_ground_in_the_source_is_not_beyond_it() -> None:
    assert_array_equal(
        metrics.beyond([np.inf, np.inf, 0.2, np.nan], [np.inf, 0.0, np.inf, 0.0]), [0, np.inf, 0, np.nan]
    )


def test_a_planted_foot_that_turns_reads_in_the_record() -> None:
    flat = metrics.runs(planted().all(axis=1))
    start, stop = flat[1]
    angle = np.radians(4) * (np.arange(len(sole())) >= (start + stop) // 2)
    turn, heel = ik.rotations.from_axis_angle([0, 1, 0], angle)[:, np.newaxis], sole()[:, :1]
    turned = heel + ik.rotations.rotate(turn, sole() - heel)
    found = measure_leg(Track.on(chain(), turned), planted(), fps=60)
    assert math.degrees(found.heading_drift) == pytest.approx(4)
    later = angle * (np.arange(len(sole())) >= stop)  # when the heel is up it may
    turn = ik.rotations.from_axis_angle([0, 1, 0], later)[:, np.newaxis]
    turned = heel + ik.rotations.rotate(turn, sole() - heel)
    assert measure_leg(Track.on(chain(), turned), planted(), fps=60).heading_drift == pytest.approx(0, abs=1e-9)
    assert math.isnan(measure_leg(Track.on(chain(), sole()[:, :1]), planted()[:, :1], fps=60).heading_drift)


def test_a_pelvis_off_its_path_and_a_jerky_one() -> None:
    aside = leg(moved=np.array([0.03, 0.5, 0.04]))
    found = measure_leg(aside, planted(), fps=60, source=leg())
    assert found.pelvis_path == pytest.approx(0.05 / 0.85)
    assert found.pelvis_jerk == pytest.approx(1)
    hips, ankle = joints()["Hips"], chain()[:, -1]
    shaken = hips + np.random.default_rng(0).normal(0, 0.01, hips.shape)
    jerky = measure_leg(Track.on(chain(), sole(), pelvis=shaken), planted(), fps=60, source=leg()).pelvis_jerk
    own = metrics.jerk(shaken, fps=60).mean()
    assert jerky == pytest.approx(own / metrics.jerk(hips, fps=60).mean())
    assert metrics.jerk_ratio(shaken, hips, ankle, fps=60) == pytest.approx(own / metrics.jerk(ankle, fps=60).mean())
    assert math.isnan(measure_leg(Track.on(chain(), sole()), planted(), fps=60, source=leg()).pelvis_path)
    gliding = np.linspace(0, 1, len(hips))[:, np.newaxis].astype(np.float32) * [0, 0, 1]
    assert metrics.jerk(gliding, fps=60).max() > 0  # by the digits of its numbers
    assert math.isnan(metrics.jerk_ratio(shaken, gliding, fps=60))
    bobs = gliding + 0.002 * np.sin(np.arange(len(hips)) / 10)[:, np.newaxis] * [0, 1, 0]
    assert metrics.jerk_ratio(hips + 1000 * (shaken - hips), bobs, fps=60) > 1e4  # however bad the result is


def test_ankles_out_of_the_reach_of_the_source_are_counted() -> None:
    far = chain().copy()
    far[50:53, 2] = far[50:53, 0] + 1.001 * 0.85 * np.array([0, -0.6, 0.8])
    far[60, 2] = far[60, 0] + 0.9999 * 0.85 * np.array([0, -0.6, 0.8])
    assert measure_leg(Track.on(far, sole()), planted(), fps=60, source=leg()).reach_violations == 3
    assert measure_leg(leg(), planted(), fps=60, source=leg()).reach_violations == 0


def test_a_lift_that_is_halved_reads_in_the_record() -> None:
    lower = sole() * [1, 0.5, 1]
    found = measure_leg(Track.on(chain(), lower), planted(), fps=60, source=leg())
    assert found.lift_lost == pytest.approx(0.5)


def test_fast_low_feet_skate_by_height() -> None:
    """All low points, whatever the contacts say; less what the source does."""
    slide = np.outer(seconds(60), [3.0, 0, 0])
    found = measure_leg(leg(moved=slide), planted() & False, fps=60, source=leg())
    assert found.skating == 0
    low = leg().heights < 0.05
    clean, fast = (metrics.skating_ratio(each.sole, low, fps=60) for each in (leg(), leg(moved=slide)))
    assert found.skating_by_height == pytest.approx(fast - clean)
    assert 0.2 < clean < 0.3  # toes that swing are low
    assert found.skating_by_height > 0.4
    high = leg(moved=np.array([0.0, 1, 0]))
    assert measure_leg(leg(), planted(), fps=60, source=high).skating_by_height == clean


def test_a_slide_in_the_middle_of_a_stance_reads_in_the_record() -> None:
    start, stop = metrics.runs(planted()[:, 0])[1]
    slid = np.outer(np.arange(len(chain())) >= (start + stop) // 2, [0, 0, 0.005])
    found = measure_leg(leg(moved=slid), planted(), fps=60, source=leg())
    assert found.drift_most == pytest.approx(0.005)
    assert found.ankle_jerk > 1.01


def test_a_slope_that_the_foot_does_not_follow() -> None:
    rise = math.tan(math.radians(10))
    normals = [0, 1, -rise]
    found = measure_leg(leg(ground=rise * sole()[..., 2], normals=normals), planted(), fps=60)
    assert math.degrees(found.sole_angle) == pytest.approx(10)
    climbing = leg(ground=rise * sole()[..., 2], normals=normals, moved=np.outer(chain()[:, 2, 2] * rise, [0, 1, 0]))
    assert measure_leg(climbing, planted(), fps=60).penetration < found.penetration


def test_ground_that_is_raised_is_sunk_into() -> None:
    down = np.any(planted(), axis=1)
    found = measure_leg(leg(ground=0.03 * down[:, np.newaxis]), planted(), fps=60)
    assert found.penetration == pytest.approx(0.03)
    assert found.penetration_swing == pytest.approx(0, abs=1e-9)


def test_a_foot_that_slides_down_a_slope() -> None:
    slope = np.array([0, -0.6, 0.8])
    stances = metrics.runs(planted()[:, 1])
    moved = np.outer(np.arange(len(chain())) >= sum(stances[1]) / 2, 0.005 * slope)
    found = measure_leg(leg(moved=moved, normals=[0, 0.8, 0.6]), planted(), fps=60)
    assert found.drift_most == pytest.approx(0.005)
    assert measure_leg(leg(moved=moved), planted(), fps=60).drift_most == pytest.approx(0.004)


def test_one_bad_stance_of_many_is_the_most_but_not_the_percentile() -> None:
    points = np.zeros((40 * 20, 1, 3))
    points[50:] = [0.005, 0, 0]  # in the third
    contact = np.tile(np.arange(20) < 18, 40)[:, np.newaxis]
    standing = np.tile([[0, 1, 0], [0, 0.5, 0.1], [0, 0, 0]], (800, 1, 1))
    found = measure_leg(Track.on(standing, points), contact, fps=30)
    assert (found.drift, found.drift_most) == (0, 0.005)


def test_a_knee_made_bad_reads_beside_the_source() -> None:
    clean, bad = leg(), chain().copy()
    bad[60, 2] += 0.1 * (bad[60, 2] - bad[60, 1])  # a shin too long, an ankle that jumps
    bad[120, 1] = bad[120, ::2].sum(axis=0) - bad[120, 1]  # a knee bent back, then forth
    bad[180, 1] += bad[180, 1] - bad[180, ::2].mean(axis=0)  # and one that pops
    spoilt = Track.on(bad, sole(), soles=soles_up())
    found = measure_leg(spoilt, planted(), fps=60, source=clean)
    assert found.knee_flips == 2
    assert found.length_error > 0.09
    assert found.ankle_jerk > 1.05
    assert found.knee_pops == 3
    other = measure_leg(clean, planted(), fps=60, source=spoilt)
    assert (other.knee_flips, other.knee_pops) == (0, 0)
    assert other.ankle_jerk == pytest.approx(1 / found.ankle_jerk)


def kicks(rate: float) -> Track:
    """A leg that turns by a rate in radians per second."""
    chain = np.tile([[0.0, 1, 0], [0, 0.5, 0.1], [0, 0, 0]], (60, 1, 1))
    chain[:, 2, 2] = 0.2 * np.sin(rate * np.arange(60) / 30)
    return Track.on(chain, chain[:, 2:])


def test_accelerations_of_knees_are_beside_the_source_or_7000_degrees() -> None:
    def highest(leg: Track) -> float:
        knee = metrics.bends(leg.chain)[:, 0]
        return sorted(math.degrees(abs(knee[k] - 2 * knee[k + 1] + knee[k + 2]) * 900) for k in range(58))[-1]

    still, slow, quick = kicks(0), kicks(4), kicks(40)
    assert highest(slow) < 7000 < highest(quick)
    for leg, source, beside in ((slow, still, 7000.0), (quick, slow, 7000.0), (slow, quick, highest(quick))):
        found = measure_leg(leg, np.full((60, 1), False), fps=30, source=source)
        assert found.knee_acceleration == pytest.approx(highest(leg) / beside)


def test_a_foot_over_no_ground_floats_infinitely_high() -> None:
    found = measure_leg(leg(ground=np.where(np.arange(len(sole())) < 120, np.nan, 0)[:, np.newaxis]), planted(), fps=60)
    assert found.floating == math.inf
    assert found.penetration == pytest.approx(0, abs=1e-9)


def test_where_there_is_nothing_to_judge_nothing_is_said() -> None:
    found = measure_leg(leg(), planted() & False, fps=60)
    assert all(map(math.isnan, [found.drift, found.drift_most, found.penetration, found.floating, found.sole_angle]))
    assert "drift             -\n" in repr(found)
    single = Track.on(chain()[:1], sole()[:1])
    assert math.isnan(measure_leg(single, planted()[:1], fps=60, source=single).ankle_jerk)


@pytest.mark.parametrize("angle", [0.7, 2.5])
def test_measures_do_not_depend_on_where_the_character_goes(angle: float) -> None:
    turn = ik.rotations.from_axis_angle([0, 1, 0], angle)
    noise = np.random.default_rng(0).normal(scale=0.003, size=(len(chain()), 3))

    def turned(points: Array) -> Array:
        moved: Array = ik.rotations.rotate(turn, points) + np.array([3, 0, -2])
        return moved

    noisy = leg(moved=noise)
    up = ik.rotations.rotate(turn, soles_up())
    other = Track.on(turned(noisy.chain), turned(noisy.sole), soles=up, pelvis=turned(noisy.pelvis))
    source = Track.on(turned(leg().chain), turned(leg().sole), soles=up, pelvis=turned(leg().pelvis))
    here = known(measure_leg(noisy, planted(), fps=60, source=leg()))
    there = known(measure_leg(other, planted(), fps=60, source=source))
    assert there == pytest.approx(here, rel=1e-6, abs=1e-9)
    assert here["drift"] > 0.003


@pytest.mark.parametrize("fps", [30.0, 60.0])
def test_measures_agree_at_other_rates(fps: float) -> None:
    """A walk whose feet slide, sway and sink by smooth known amounts, 120 times a second and less often."""

    def faulty(rate: float) -> Measure:
        t = seconds(rate)
        moved = np.stack([0.01 * np.sin(7 * t), 0.01 * np.sin(5 * t), 0.05 * t], axis=-1)
        return measure_leg(leg(rate, moved), planted(rate), fps=rate, source=leg(rate))

    at_120, found = known(faulty(120.0)), known(faulty(fps))
    for name in ("drift", "drift_most", "penetration", "penetration_swing", "floating", "extension", "deviation"):
        assert found[name] == pytest.approx(at_120[name], rel=0.15), name
    assert found["ankle_jerk"] == pytest.approx(at_120["ankle_jerk"], rel=0.15)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: metrics.runs([0.2, 0.9]), TypeError, "mask: expected True and False, got float64; of weights take"),
        (lambda: metrics.runs([[True]]), ValueError, r"mask: expected 1 axes, time first, got shape \(1, 1\)"),
        (
            lambda: metrics.drift(np.zeros((9, 2)), [], fps=30),
            ValueError,
            r"points: expected an array of shape \(..., 3",
        ),
        (lambda: metrics.drift(np.zeros((9, 3)), [(2, 10)], fps=30), ValueError, "stances: expected first frames"),
        (lambda: metrics.drift(np.zeros((9, 3)), [(2, 2)], fps=30), ValueError, "stances: expected first frames"),
        (lambda: metrics.jerk(np.zeros((9, 3)), fps=0), ValueError, "fps: expected a positive number, got 0"),
        (
            lambda: metrics.lift_lost([0, 1], [0, 1, 2], [True, False]),
            ValueError,
            r"source: expected shape \(2,\), got",
        ),
        (
            lambda: Track.on(chain(), sole(), soles=sole()),
            ValueError,
            r"soles: expected shape \(241, 3\), got \(241, 3, 3",
        ),
        (
            lambda: metrics.bends(np.zeros((9, 3))),
            ValueError,
            r"chain: expected shape \(frames, joints, 3\), got \(9, 3",
        ),
        (
            lambda: Track.on(chain(), sole()[1:]),
            ValueError,
            r"sole: expected shape \(241, points, 3\), got \(240, 3, 3\)",
        ),
        (
            lambda: Track.on(chain(), sole(), np.zeros((7, 3))),
            ValueError,
            r"ground: expected shape \(241, 3\), got \(7, 3",
        ),
        (
            lambda: measure_leg(leg(), planted()[1:], fps=60),
            ValueError,
            r"contact: expected shape \(241, 3\), got \(240, 3\)",
        ),
        (
            lambda: measure_leg(leg(), planted(), fps=60, source=leg(30.0)),
            ValueError,
            r"source: expected shape \(241, 3, 3\), got \(121, 3, 3\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


# --- pieces, one step at a time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (0, 3), (1, 3), (20, 3), (5, 4, 3)])
def test_angles_between_vectors(shape: tuple[int, ...]) -> None:
    a, b = np.random.default_rng(0).normal(size=(2, *shape))
    b[:1] = -a[:1]  # the other way
    expected = np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(axis=-1))
    np.testing.assert_allclose(geometry.angle(a, b), expected, rtol=1e-12, atol=1e-12)
    x, y = a[..., 0], b[..., 0]
    np.testing.assert_allclose(geometry.arc(y, x), np.arctan2(y, x), rtol=1e-12, atol=1e-12)
    assert np.isnan(geometry.arc(np.array([np.nan]), np.zeros(1))[0])


@pytest.mark.parametrize("frames", [0, 1, 2, 60])
def test_flips_compare_with_the_frame_in_which_a_joint_was_last_bent(frames: int) -> None:
    chain = np.random.default_rng(frames).normal(size=(frames, 4, 3))
    chain[frames // 2 :: 3, 1] = chain[frames // 2 :: 3, 0]  # no side
    chain[-1:, 2] = np.nan
    bones = np.diff(chain, axis=1)
    sides = np.cross(bones[:, :-1], bones[:, 1:])
    long = np.linalg.norm(bones, axis=-1)
    expected = np.zeros((frames, 2), bool)
    for joint in range(2):
        least = np.sin(np.radians(5)) * long[:, joint] * long[:, joint + 1]
        known = np.flatnonzero(np.linalg.norm(sides[:, joint], axis=-1) > least)
        expected[known[1:], joint] = (sides[known[1:], joint] * sides[known[:-1], joint]).sum(axis=-1) < 0
    assert_array_equal(metrics.flips(chain), expected)
    assert expected.any() == (frames > 2)


@pytest.mark.parametrize("count", [0, 1, 2, 21])
def test_the_highest_and_the_lowest_value(count: int) -> None:
    values = np.random.default_rng(count).normal(size=(count, 3))
    values[::2, 1], values[1::4, 0], values[1::4, 2] = np.nan, np.inf, -np.inf
    values[3::4] = np.nan
    known = sorted(value for value in values.ravel().tolist() if not math.isnan(value))
    for percent in (0, 50, 95, 99.9, 100):
        expected = known[math.ceil((len(known) - 1) * (percent / 100))] if count else np.nan
        assert_array_equal(arguments.highest(values, percent), expected)
    lowest = np.where(np.isnan(values), np.inf, values).min(axis=1)
    assert_array_equal(arguments.lowest(values), lowest)
    assert_array_equal(arguments.lowest(values[:, :0]), np.full(count, np.inf))
